//! The grammar of the command line: a file for each group of commands, and for the options that several share.

mod authoring;
mod catalog_size;
mod connect;
mod doctor;
pub(crate) mod help;
mod install;
mod places;
mod serve;
mod setup;
mod using;
mod values;

use clap::{ColorChoice, Parser, Subcommand};

pub(crate) use authoring::{Check, Eval, Format, New, Part, Rule, Show, Try};
pub(crate) use catalog_size::CatalogSize;
pub(crate) use connect::{Connect, ConnectTo, Disconnect};
pub(crate) use doctor::Doctor;
pub(crate) use install::{Add, Common, Remove, Sync, Verify};
pub(crate) use places::{Places, Scan};
pub(crate) use serve::{HttpAddress, Log, Serve};
pub(crate) use setup::{Completions, Config, ConfigAction, ConfigGet, ConfigOptions, ConfigPath, Man, Whose};
pub(crate) use using::{
    Activate, Cat, List, Prompt, Replay, Search, Selection, Sort, Tools, Trust, Watch, Why,
};

/// Use, install, write and serve Agent Skills: folders with a SKILL.md that teach an agent how to do one thing.
#[derive(Debug, Parser)]
#[command(name = "prowess", version, disable_help_subcommand = false, after_help = FOOT)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Write JSON instead of text
    #[arg(long, global = true)]
    pub(crate) json: bool,
    // An attribute, because the backticks that a doc comment needs would appear in the help.
    #[arg(help = "When to use colours; auto respects NO_COLOR and CLICOLOR_FORCE")]
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: ColorChoice,
}

impl Args {
    /// Whether the output is a JSON envelope.
    pub(crate) fn wants_json(&self) -> bool {
        self.json || matches!(&self.command, Command::Check(check) if check.format == Some(Format::Json))
    }
}

/// The text below the list of commands.
const FOOT: &str = "Exit codes: 0 fine, 1 problems were found, 2 the command failed or was called wrongly\n\
                    Configuration: prowess.toml in the project or above, your own in ~/.config/prowess/prowess.toml";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[command(visible_aliases = ["lint"])]
    Check(Check),
    New(New),
    #[command(visible_aliases = ["info"])]
    Show(Show),
    Rule(Rule),
    Eval(Eval),
    Try(Try),
    #[command(visible_aliases = ["ls"])]
    List(List),
    #[command(visible_aliases = ["find"])]
    Search(Search),
    Prompt(Prompt),
    Cat(Cat),
    Why(Why),
    Trust(Trust),
    Doctor(Doctor),
    #[command(visible_aliases = ["install"])]
    Add(Add),
    #[command(visible_aliases = ["uninstall", "rm"])]
    Remove(Remove),
    Sync(Sync),
    Verify(Verify),
    Watch(Watch),
    Activate(Activate),
    Tools(Tools),
    Replay(Replay),
    Serve(Serve),
    Connect(Connect),
    Disconnect(Disconnect),
    Config(Config),
    Completions(Completions),
    Man(Man),
}

impl Command {
    /// Whether the command reads skills before it has anything to show. Others say themselves what they do.
    pub(crate) fn reads_skills(&self) -> bool {
        use Command::{Activate, Cat, List, Prompt, Show, Tools, Trust, Try, Why};
        matches!(
            self,
            Activate(_) | Cat(_) | List(_) | Prompt(_) | Show(_) | Tools(_) | Trust(_) | Try(_) | Why(_)
        )
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_grammar_is_consistent() {
        super::Args::command().debug_assert();
    }
}
