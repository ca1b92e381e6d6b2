//! The options of the commands that set Prowess up: `config`, `completions` and `man`.

use clap::builder::NonEmptyStringValueParser;
use clap::builder::PossibleValuesParser;
use prowess::SourceSpec;
use prowess::finding::Preset;
use prowess::session::Filter;

use super::places::{Scan, source_specs};
use super::values::profiles;

/// Show the settings that are in force and where they come from, or change them
///
/// Every key of prowess.toml is shown with its value and its origin. An option has precedence, then your own file, then the
/// file of the project, then the default; lists of names count together. Options of other commands may be given, to see
/// what they change. Settings without effect come last, each with the reason.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
pub(crate) struct Config {
    #[command(subcommand)]
    pub(crate) action: Option<ConfigAction>,
    #[command(flatten)]
    pub(crate) with: ConfigOptions,
}

/// Options of other commands that have the meaning of a key.
#[derive(Debug, clap::Args)]
pub(crate) struct ConfigOptions {
    /// As with this source instead of those of the files; may be given more than once
    #[arg(long = "in", value_name = "SPEC", value_parser = source_specs())]
    pub(crate) sources: Vec<SourceSpec>,
    /// As with this profile for check
    #[arg(long, value_name = "PROFILE", value_parser = profiles())]
    pub(crate) profile: Option<Preset>,
    /// As with this filter of sessions
    #[arg(long, value_name = "GLOB")]
    pub(crate) filter: Option<Filter>,
    /// As with these tools of the host, separated by commas; "" for none
    #[arg(long, value_name = "TOOLS")]
    pub(crate) tools: Option<String>,
    #[command(flatten)]
    pub(crate) scan: Scan,
}

#[derive(Debug, clap::Subcommand)]
pub(crate) enum ConfigAction {
    /// Write the value of a key that is in force
    Get(ConfigGet),
    /// Set a key in your own file, or with --project in that of the project
    Set(ConfigSet),
    /// Remove a key from your own file, or with --project from that of the project
    Unset(ConfigUnset),
    /// Say where the files are
    Path(ConfigPath),
}

#[derive(Debug, clap::Args)]
pub(crate) struct ConfigGet {
    /// The key, such as scan.depth
    #[arg(value_name = "KEY")]
    pub(crate) key: String,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ConfigSet {
    /// The key, such as scan.depth, skills.disable or check.levels.name-too-long
    #[arg(value_name = "KEY")]
    pub(crate) key: String,
    /// The value: a text, a number, true or false, names with commas between them, or TOML for a list or a table
    #[arg(value_name = "VALUE", allow_negative_numbers = true)]
    pub(crate) value: String,
    #[command(flatten)]
    pub(crate) whose: Whose,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ConfigUnset {
    /// The key
    #[arg(value_name = "KEY", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) key: String,
    #[command(flatten)]
    pub(crate) whose: Whose,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ConfigPath {
    #[command(flatten)]
    pub(crate) whose: Whose,
}

/// Which file is meant.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct Whose {
    /// Your own file, which applies in every folder
    #[arg(long)]
    pub(crate) user: bool,
    /// The file of the project: the nearest in this folder or above, else a new one at its root
    #[arg(long, conflicts_with = "user")]
    pub(crate) project: bool,
}

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
