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
/// trusted; an agent may see them and not use them.
#[derive(Debug, clap::Args)]
pub(crate) struct List {
    #[command(flatten)]
    pub(crate) places: Places,
    /// Also list what is broken, shadowed or turned off
    #[arg(long)]
    pub(crate) all: bool,
    /// Show about how many tokens each skill costs in every prompt
    #[arg(long)]
    pub(crate) cost: bool,
    #[command(flatten)]
    pub(crate) subset: Subset,
    /// Only skills that ask for no other tools than these, with commas; "" for skills that ask for none
    #[arg(long, value_name = "TOOLS")]
    pub(crate) tools: Option<String>,
}

/// Explain why a skill is offered or not
///
/// Shows every skill of that name that was found, where, how it was read, and what keeps it from being offered, from
/// passing a filter or from being in a prompt. The exit code is 1 when no skill of that name is in the prompt, or is
/// offered to users at least.
#[derive(Debug, clap::Args)]
pub(crate) struct Why {
    /// The name of the skill
    #[arg(value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) name: String,
    /// A filter of the host, as for replay
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

/// Trust skills of a project or of an MCP server, or take trust back
///
/// A folder is trusted by its path, whatever is in it later. A single skill is trusted as it is: any change of its
/// files takes the trust away. A skill of an MCP server is named by its whole key, such as team:refunds, or by its
/// place, such as mcp:team:skill://refunds/SKILL.md. Without an argument, the current folder is meant.
#[derive(Debug, clap::Args)]
pub(crate) struct Trust {
    /// The name of a skill, or a folder
    #[arg(value_name = "NAME|FOLDER")]
    pub(crate) what: Option<String>,
    /// Take the trust back
    #[arg(long, conflicts_with = "list")]
    pub(crate) revoke: bool,
    /// List what is trusted
    #[arg(long)]
    pub(crate) list: bool,
    #[command(flatten)]
    pub(crate) places: Places,
}

/// Say what changes among the skills, as it changes
///
/// The first line says how many skills there are; then each change is a line, or with --json an object on a line of
/// its own. Several changes in a short time are one.
#[derive(Debug, clap::Args)]
pub(crate) struct Watch {
    #[command(flatten)]
    pub(crate) places: Places,
    /// End after the first change
    #[arg(long)]
    pub(crate) once: bool,
}

/// Write the instructions of a skill, or one of its files
#[derive(Debug, clap::Args)]
pub(crate) struct Cat {
    /// The name of the skill
    #[arg(value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
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
/// is not trusted is marked, and its instructions are not read. Nothing leaves the machine, unless a program
/// that was named sends it.
#[derive(Debug, clap::Args)]
pub(crate) struct Search {
    /// What is looked for, in plain words; for the selector tags, a list with commas
    #[arg(value_name = "QUERY", required = true)]
    pub(crate) query: Vec<String>,
    #[command(flatten)]
    pub(crate) places: Places,
    #[command(flatten)]
    pub(crate) selection: Selection,
    /// Show what made each score
    #[arg(long)]
    pub(crate) why: bool,
}

/// What ranks skills, and which of them count.
#[derive(Debug, clap::Args)]
pub(crate) struct Selection {
    /// The most skills, or all
    #[arg(long, value_name = "K", default_value = "5", value_parser = limit)]
    pub(crate) limit: Limit,
    /// What ranks the skills
    #[arg(long, value_name = "SELECTOR", default_value = "bm25", value_parser = SelectorParser::without_vectors())]
    pub(crate) selector: SelectorName,
    /// Leave out skills with a lower score; each selector has a scale of its own
    #[arg(long, value_name = "X", value_parser = finite, allow_negative_numbers = true)]
    pub(crate) min_score: Option<f32>,
    /// Leave out skills that ask for other tools than these, with or without a query; "" when there are none
    #[arg(long, value_name = "TOOLS")]
    pub(crate) tools: Option<String>,
}

/// A number that others can be compared with.
fn finite(text: &str) -> Result<f32, String> {
    let number = text.parse().ok().filter(|number: &f32| number.is_finite());
    number.ok_or_else(|| "not a finite number".to_owned())
}

/// The most skills; none for all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limit(pub(crate) Option<usize>);

/// Write the catalog that an agent would see in its prompt
///
/// Only skills that the model may use are in it. With a query, those that fit best come first, and only they; when
/// none fits, or the selector fails, all of them. What does not fit into the budget is shortened: first the
/// longest descriptions, and only when not even the names fit are skills left out. What was cut is told on
/// standard error.
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
    /// Show where the SKILL.md of each skill lies
    #[arg(long)]
    pub(crate) location: bool,
    #[command(flatten)]
    pub(crate) subset: Subset,
    #[command(flatten)]
    pub(crate) places: Places,
    #[command(flatten)]
    pub(crate) selection: Selection,
}

/// A number, or all.
fn limit(text: &str) -> Result<Limit, String> {
    match text {
        "all" => Ok(Limit(None)),
        number => match number.parse() {
            Ok(0) | Err(_) => Err("give a number from 1 on, or all".to_owned()),
            Ok(number) => Ok(Limit(Some(number))),
        },
    }
}

/// How a session behaves.
#[derive(Debug, clap::Args)]
pub(crate) struct SessionArgs {
    /// Only skills at paths that match: billing or billing/** for all below a folder, billing/* for those directly in it,
    /// none for no skill
    #[arg(long, value_name = "GLOB")]
    pub(crate) filter: Option<Filter>,
    /// What the tools are called
    #[arg(long, value_name = "NAMING", default_value = "default", value_parser = namings())]
    pub(crate) naming: Naming,
    /// The most skills that are active at once in a session; 0 for no limit
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub(crate) max_active: usize,
}

/// Write what a model gets when a user starts a skill
///
/// The words behind the name are the skill's arguments: they take the place of $ARGUMENTS, $0 and their like in its
/// instructions. Commands in instructions are never run.
#[derive(Debug, clap::Args)]
pub(crate) struct Activate {
    /// The name of the skill
    #[arg(value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) name: String,
    /// The arguments of the skill; behind -- they may begin with a hyphen
    #[arg(value_name = "ARGS")]
    pub(crate) args: Vec<String>,
    /// Write the instructions alone: no wrapper, and nothing in them made harmless
    #[arg(long)]
    pub(crate) plain: bool,
    /// Also start this skill, without arguments; may be given more than once
    #[arg(long, value_name = "NAME")]
    pub(crate) also: Vec<String>,
    /// Write the text of the skill's files too, as far as it is short enough
    #[arg(long)]
    pub(crate) inline: bool,
    #[command(flatten)]
    pub(crate) places: Places,
}

/// Write the tools with which a model uses skills, as JSON for its interface
///
/// With --json, the list is inside an envelope of ours.
#[derive(Debug, clap::Args)]
pub(crate) struct Tools {
    /// The form of the interface
    #[arg(long, value_name = "DIALECT", default_value = "mcp", value_parser = dialects())]
    pub(crate) dialect: Dialect,
    /// What the tools are called
    #[arg(long, value_name = "NAMING", default_value = "default", value_parser = namings())]
    pub(crate) naming: Naming,
    #[command(flatten)]
    pub(crate) places: Places,
}

/// Answer tool calls from a file, one result a line
///
/// Each line is a call as a model makes it: {"tool": NAME, "arguments": OBJECT}. All are made in one session, and each
/// gets a line {"ok", "text", "data", "reason"}. Lines with "host" in place of "tool" are what a host does;
/// docs/sessions.md lists them.
#[derive(Debug, clap::Args)]
pub(crate) struct Replay {
    /// The calls; - reads them from standard input
    #[arg(value_name = "CALLS.jsonl")]
    pub(crate) calls: PathBuf,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    /// The tools the host has, with commas; skills are granted no others; "" when it has none
    #[arg(long, value_name = "TOOLS")]
    pub(crate) tools: Option<String>,
    /// Refuse lines with "host" or "filter": for lines that a model writes
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
