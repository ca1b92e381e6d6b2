//! The options of the commands about what agents are offered and use: from `list` and `search` to `replay`.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use prowess::render::Shape;
use prowess::session::{Dialect, Filter, Naming};

use super::catalog_size::CatalogSize;
use super::places::{Places, Subset};
use super::values::{dialects, namings, shapes};
use crate::selector::{SelectorName, SelectorParser};

/// List the skills an agent would be offered here
///
/// Without options, these are the skills in every folder where a client looks: in this folder and those above it
/// up to the root of the git repository, and in the user's own. A project's skills are marked until they are
/// trusted: until then, an agent sees them but cannot use them.
#[derive(Debug, clap::Args)]
pub(crate) struct List {
    #[command(flatten)]
    pub(crate) places: Places,
    /// Also list what is broken, shadowed or turned off
    #[arg(long)]
    pub(crate) all: bool,
    /// List what skills.lock names, here and for the user, and whether it is as installed
    #[arg(long, conflicts_with_all = [
        "all", "cost", "clients", "sources", "only", "except", "strict", "folder", "filter", "tools", "depth", "skip",
        "no_nested", "duplicates",
    ])]
    pub(crate) installed: bool,
    /// With --installed, only your own skills
    #[arg(long, short, requires = "installed")]
    pub(crate) user: bool,
    /// Show about how many tokens each skill costs in every prompt
    #[arg(long)]
    pub(crate) cost: bool,
    /// The order [default: folder on a terminal, else name]
    #[arg(long, value_name = "BY", conflicts_with = "installed")]
    pub(crate) sort: Option<Sort>,
    #[command(flatten)]
    pub(crate) subset: Subset,
    /// Only skills that need no tools other than these, separated by commas; "" for skills that need none
    #[arg(long, value_name = "TOOLS")]
    pub(crate) tools: Option<String>,
}

/// The order of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Sort {
    /// By name
    Name,
    /// By the folder or other source, in the order of precedence
    Folder,
    /// The most tokens first; shows them, as --cost does
    Cost,
    /// Offered ones first, then those not trusted, broken, turned off, shadowed and not seen
    State,
}

/// Explain why a skill is offered or not
///
/// Shows every skill of that name that was found, where, how it was read, and what keeps it from being offered, from
/// passing a filter or from being in a prompt. The exit code is 1 unless a skill of that name is in the prompt or is
/// offered to users.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Why {
    /// The name of a skill that is listed, its SKILL.md or its folder
    #[arg(value_name = "PATH|NAME", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) name: String,
    /// A filter of the host, written as for replay
    #[arg(long, value_name = "GLOB")]
    pub(crate) filter: Option<Filter>,
    /// The task that a prompt is for
    #[arg(long, value_name = "QUERY")]
    pub(crate) query: Option<String>,
    #[command(flatten)]
    pub(crate) size: CatalogSize,
    #[command(flatten)]
    pub(crate) places: Places,
}

/// Trust skills of a project or of an MCP server, or revoke trust
///
/// A folder is trusted by its path, with everything that is in it now or later. A single skill is trusted with its
/// current files: any change of them ends the trust. A skill of an MCP server is named by its whole key, such as
/// team:refunds, or by its location, such as mcp:team:skill://refunds/SKILL.md. Without an argument, the current folder
/// is trusted. What is about to be trusted is shown first: names, files, scripts, tools, hooks and settings.
#[derive(Debug, clap::Args)]
pub(crate) struct Trust {
    /// The name of a skill, the path of its SKILL.md, or a folder
    #[arg(value_name = "NAME|FOLDER")]
    pub(crate) what: Option<String>,
    /// All skills of an MCP server, with their current files; LABEL is the part of their keys before the colon
    #[arg(long, value_name = "LABEL", conflicts_with_all = ["what", "list"], value_parser = NonEmptyStringValueParser::new())]
    pub(crate) server: Option<String>,
    /// Revoke trust
    #[arg(long, conflicts_with = "list")]
    pub(crate) revoke: bool,
    /// List what is trusted
    #[arg(long)]
    pub(crate) list: bool,
    /// Do not ask
    #[arg(long, short, conflicts_with = "list")]
    pub(crate) yes: bool,
    /// Only show what would be trusted
    #[arg(long, conflicts_with_all = ["list", "revoke", "yes"])]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) places: Places,
}

/// Report changes of the skills as they happen
///
/// The first line says how many skills there are. Then each change is a line, or with --json an object on its own line.
/// Changes in quick succession are reported together.
#[derive(Debug, clap::Args)]
pub(crate) struct Watch {
    #[command(flatten)]
    pub(crate) places: Places,
    /// Exit after the first change
    #[arg(long)]
    pub(crate) once: bool,
}

/// Write the instructions of a skill, or one of its files
#[derive(Debug, clap::Args)]
pub(crate) struct Cat {
    /// The name of a skill that is listed, its SKILL.md or its folder
    #[arg(value_name = "PATH|NAME", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) name: String,
    /// A file of the skill, relative to its folder
    #[arg(value_name = "RESOURCE")]
    pub(crate) resource: Option<String>,
    #[command(flatten)]
    pub(crate) places: Places,
}

/// Find the skills that fit a task
///
/// Ranks the skills that list shows by the words of the query in name, description and instructions. A skill that
/// is not trusted is marked, and its instructions are not read. Nothing leaves the machine, unless the program of a
/// selector sends it.
#[derive(Debug, clap::Args)]
pub(crate) struct Search {
    /// What to look for, in plain words; with the selector tags, a list separated by commas
    #[arg(value_name = "QUERY", required = true)]
    pub(crate) query: Vec<String>,
    #[command(flatten)]
    pub(crate) places: Places,
    #[command(flatten)]
    pub(crate) selection: Selection,
    /// Show where the words were found; twice for every part of each score
    #[arg(long, action = clap::ArgAction::Count)]
    pub(crate) why: u8,
}

/// What ranks skills, and which of them count.
#[derive(Debug, clap::Args)]
pub(crate) struct Selection {
    /// The maximum number of skills, or all
    #[arg(long, value_name = "K", default_value = "5", value_parser = limit)]
    pub(crate) limit: Limit,
    /// What ranks the skills
    #[arg(long, value_name = "SELECTOR", default_value = "bm25", value_parser = SelectorParser::without_vectors())]
    pub(crate) selector: SelectorName,
    /// Leave out skills with a lower score; each selector has its own scale
    #[arg(long, value_name = "X", value_parser = finite, allow_negative_numbers = true)]
    pub(crate) min_score: Option<f32>,
    /// Leave out skills that need tools other than these, with or without a query; "" for no tools
    #[arg(long, value_name = "TOOLS")]
    pub(crate) tools: Option<String>,
}

/// Parses a finite number.
fn finite(text: &str) -> Result<f32, String> {
    let number = text.parse().ok().filter(|number: &f32| number.is_finite());
    number.ok_or_else(|| "not a finite number".to_owned())
}

/// The maximum number of skills; `None` for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limit(pub(crate) Option<usize>);

/// Write the catalog that an agent would see in its prompt
///
/// It lists only skills that the model may use. With a query, it lists those that fit best, or all of them when none fits
/// or the selector fails. To stay within the budget, the longest descriptions are shortened first; skills are left out
/// only when not even their names fit. What was cut is reported on standard error.
#[derive(Debug, clap::Args)]
pub(crate) struct Prompt {
    /// The task, in plain words
    #[arg(long, value_name = "QUERY")]
    pub(crate) query: Option<String>,
    #[command(flatten)]
    pub(crate) size: CatalogSize,
    /// The layout
    #[arg(long, value_name = "FORMAT", default_value = "xml", value_parser = shapes())]
    pub(crate) format: Shape,
    /// Show the location of each SKILL.md
    #[arg(long)]
    pub(crate) location: bool,
    #[command(flatten)]
    pub(crate) subset: Subset,
    #[command(flatten)]
    pub(crate) places: Places,
    #[command(flatten)]
    pub(crate) selection: Selection,
}

/// Parses a number, or all.
fn limit(text: &str) -> Result<Limit, String> {
    match text {
        "all" => Ok(Limit(None)),
        number => match number.parse() {
            Ok(0) | Err(_) => Err("give a number, at least 1, or all".to_owned()),
            Ok(number) => Ok(Limit(Some(number))),
        },
    }
}

/// How a session behaves.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct SessionArgs {
    /// Only skills at paths that match: billing or billing/** for all below a folder, billing/* for those directly in it,
    /// none for no skill
    #[arg(long, value_name = "GLOB")]
    pub(crate) filter: Option<Filter>,
    /// The names of the tools
    #[arg(long, value_name = "NAMING", default_value = "default", value_parser = namings())]
    pub(crate) naming: Naming,
    /// The maximum number of active skills in a session; 0 for no limit
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub(crate) max_active: usize,
}

/// Write what a model gets when a user starts a skill
///
/// The words after the name are the arguments of the skill: they replace $ARGUMENTS, $0 and the like in its
/// instructions. Commands in instructions are never run.
#[derive(Debug, clap::Args)]
pub(crate) struct Activate {
    /// The name of a skill that is listed, its SKILL.md or its folder
    #[arg(value_name = "PATH|NAME", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) name: String,
    /// The arguments of the skill; after --, they may begin with a hyphen
    #[arg(value_name = "ARGS")]
    pub(crate) args: Vec<String>,
    /// Write only the instructions: without a wrapper, and without escaping anything in them
    #[arg(long)]
    pub(crate) plain: bool,
    /// Also start this skill, without arguments; may be given more than once
    #[arg(long, value_name = "PATH|NAME")]
    pub(crate) also: Vec<String>,
    /// Also write the text of the skill's files that are small enough
    #[arg(long)]
    pub(crate) inline: bool,
    #[command(flatten)]
    pub(crate) places: Places,
}

/// Write the tools with which a model uses skills, as JSON for its interface
///
/// With --json, the list is inside the usual envelope.
#[derive(Debug, clap::Args)]
pub(crate) struct Tools {
    /// The interface to write for
    #[arg(long, value_name = "DIALECT", default_value = "mcp", value_parser = dialects())]
    pub(crate) dialect: Dialect,
    /// The names of the tools
    #[arg(long, value_name = "NAMING", default_value = "default", value_parser = namings())]
    pub(crate) naming: Naming,
    #[command(flatten)]
    pub(crate) places: Places,
}

/// Answer tool calls from a file, one result per line
///
/// Each line is a call as a model makes it: {"tool": NAME, "arguments": OBJECT}. All are made in one session, and each
/// gets a line {"ok", "text", "data", "reason"}. Lines with "host" in place of "tool" are what a host does;
/// docs/embed/sessions.md lists them.
#[derive(Debug, clap::Args)]
pub(crate) struct Replay {
    /// The calls; - reads them from standard input
    #[arg(value_name = "CALLS.jsonl")]
    pub(crate) calls: PathBuf,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    /// The tools of the host, separated by commas; skills are granted no others; "" for none
    #[arg(long, value_name = "TOOLS")]
    pub(crate) tools: Option<String>,
    /// Refuse lines with "host" or "filter": for input that a model writes
    #[arg(long)]
    pub(crate) model_only: bool,
    #[command(flatten)]
    pub(crate) places: Places,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_number_from_one_on_or_all() {
        assert_eq!((limit("all"), limit("3")), (Ok(Limit(None)), Ok(Limit(Some(3)))));
        assert!(limit("few").is_err() && limit("0").is_err());
    }
}
