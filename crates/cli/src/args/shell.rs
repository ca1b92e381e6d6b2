//! The options of the commands that set up a shell: `completions` and `man`.

use clap::builder::PossibleValuesParser;

/// The shells that have completions.
pub(crate) const SHELLS: [&str; 5] = ["bash", "elvish", "fish", "powershell", "zsh"];

/// Write the completions for a shell
///
/// The completions ask prowess itself, so they know your skills, clients, rules and installed skills.
#[derive(Debug, clap::Args)]
#[command(after_help = SETUP)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_name = "SHELL", value_parser = PossibleValuesParser::new(SHELLS))]
    pub(crate) shell: String,
}

/// The text below the options of `completions`.
const SETUP: &str = "Set up:\n  \
    bash        prowess completions bash >> ~/.bashrc\n  \
    zsh         prowess completions zsh >> ~/.zshrc, below compinit\n  \
    fish        prowess completions fish > ~/.config/fish/completions/prowess.fish\n  \
    powershell  prowess completions powershell >> $PROFILE\n  \
    elvish      prowess completions elvish >> ~/.config/elvish/rc.elv";

/// Write the manual page of prowess, or of one of its commands
#[derive(Debug, clap::Args)]
#[command(after_help = READING)]
pub(crate) struct Man {
    /// The command that the page is about
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Option<String>,
}

/// The text below the options of `man`.
const READING: &str = "Read a page:     prowess man list | man -l -\n\
                       Install a page:  prowess man list > ~/.local/share/man/man1/prowess-list.1";
