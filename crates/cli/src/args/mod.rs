//! The grammar of the command line.

mod scan;
mod search;
mod serve;

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;
use clap::{ColorChoice, Parser, Subcommand, ValueEnum};
use prowess::SourceSpec;
use prowess::finding::rule::Preset;

pub(crate) use search::{Prompt, Search, Selection, Share};
pub(crate) use serve::{Log, Serve};

use crate::selector::{SelectorName, SelectorParser};
use prowess::session::{Dialect, Filter, NAMINGS, Naming};

/// Check, show and explain Agent Skills: folders with a SKILL.md that teach an agent how to do one thing.
#[derive(Debug, Parser)]
#[command(name = "prowess", version, disable_help_subcommand = false, after_help = FOOT)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Write JSON instead of text
    #[arg(long, global = true)]
    pub(crate) json: bool,
    // In an attribute, since the marks that Markdown wants would be shown to people.
    #[arg(help = "When to use colours; auto heeds NO_COLOR and CLICOLOR_FORCE")]
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: ColorChoice,
}

impl Args {
    /// Whether the result is to be JSON in an envelope of ours.
    pub(crate) fn wants_json(&self) -> bool {
        self.json || matches!(&self.command, Command::Check(check) if check.format == Some(Format::Json))
    }
}

/// What is said below the commands.
const FOOT: &str = "Exit codes: 0 fine, 1 problems were found, 2 could not do it or wrong usage\n\
                    Configuration: prowess.toml in the project or above, your own in ~/.config/prowess/prowess.toml";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Check(Check),
    New(New),
    Show(Show),
    Rule(Rule),
    Eval(Eval),
    Try(Try),
    List(List),
    Search(Search),
    Prompt(Prompt),
    Cat(Cat),
    Why(Why),
    Trust(Trust),
    Watch(Watch),
    Activate(Activate),
    Tools(Tools),
    Replay(Replay),
    Serve(Serve),
}

/// Check skills and show each problem at its place in the file
///
/// A path is a SKILL.md, the folder of a skill, or a folder with skills anywhere below it. Folders whose name
/// begins with a dot are skipped, except those where agents keep skills, such as .claude and .agents. Levels
/// of rules and paths to ignore may stand in a file prowess.toml, in the folder or above it.
#[derive(Debug, clap::Args)]
pub(crate) struct Check {
    /// What to check; - reads a SKILL.md from standard input [default: .]
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
    /// Where the text from standard input belongs: gives the folder's name, levels and ignores
    #[arg(long, value_name = "PATH")]
    pub(crate) path: Option<PathBuf>,
    /// Whose rules count
    #[arg(long, value_name = "PROFILE", value_parser = profiles())]
    pub(crate) profile: Option<Preset>,
    /// Turn a rule off
    #[arg(long, value_name = "CODE", value_delimiter = ',')]
    pub(crate) allow: Vec<String>,
    /// Make a rule a warning
    #[arg(long, value_name = "CODE", value_delimiter = ',')]
    pub(crate) warn: Vec<String>,
    /// Make a rule an error
    #[arg(long, value_name = "CODE", value_delimiter = ',')]
    pub(crate) deny: Vec<String>,
    /// How to write the problems [default: human]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<Format>,
    /// Do not show what is only worth knowing
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Apply the safe fixes and report what is left; of standard input, write the fixed text
    #[arg(long)]
    pub(crate) fix: bool,
    /// Apply all fixes, also those that rename, drop or change something
    #[arg(long)]
    pub(crate) unsafe_fixes: bool,
    /// Show what the fixes would change and change nothing; exit code 1 when something would change
    #[arg(long, conflicts_with_all = ["json", "format"])]
    pub(crate) diff: bool,
}

/// How problems are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people, with the place in the file
    Human,
    /// One JSON object
    Json,
    /// Workflow commands that GitHub shows beside the lines
    Github,
    /// SARIF 2.1.0, for code scanning and editors
    Sarif,
}

/// Make a new skill that has no problems under any profile
///
/// The folder is made complete or not at all, and nothing that is there is touched.
#[derive(Debug, clap::Args)]
pub(crate) struct New {
    /// The name: small letters, digits and single hyphens
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Where to make it; the folder must be there
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    pub(crate) dir: PathBuf,
    /// Which folders to begin with
    #[arg(long, value_name = "PARTS", value_delimiter = ',')]
    pub(crate) with: Vec<Part>,
    /// What the skill does and when to use it
    #[arg(long, value_name = "TEXT")]
    pub(crate) description: Option<String>,
}

/// A folder of a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Part {
    /// Programs the agent runs
    Scripts,
    /// Pages the agent reads when it needs them
    References,
    /// Files the agent uses, such as templates
    Assets,
}

/// Show how Prowess reads one skill
///
/// Whatever can be read is shown, also of a broken skill. With --in or --client, a name is that of a listed skill, also
/// where a file or folder is called so. The exit code is 1 when the skill does not load, or is listed as broken.
#[derive(Debug, clap::Args)]
pub(crate) struct Show {
    /// A SKILL.md, the folder of a skill, or the name of one that is listed; - reads standard input
    #[arg(value_name = "PATH|NAME")]
    pub(crate) path: PathBuf,
    /// Whose rules count for the problems [default: spec, or the profile by which a listed skill is broken]
    #[arg(long, value_name = "PROFILE", value_parser = profiles())]
    pub(crate) profile: Option<Preset>,
    #[command(flatten)]
    pub(crate) places: Places,
    /// Write the instructions only, byte for byte
    #[arg(long, conflicts_with_all = ["raw", "json"])]
    pub(crate) body: bool,
    /// Write the file, byte for byte
    #[arg(long, conflicts_with = "json")]
    pub(crate) raw: bool,
}

/// Explain a rule, or list all rules
#[derive(Debug, clap::Args)]
pub(crate) struct Rule {
    /// The code of the rule, such as name-too-long
    #[arg(value_name = "CODE")]
    pub(crate) code: Option<String>,
}

/// Measure how well skills are found
///
/// In a folder: runs the trigger queries that skills carry in evals/eval_queries.json against all skills below the
/// folder, and names the skill that comes first instead. The file is a list of objects, each with a "query" and with
/// "should_trigger": true or false. With --pool and --queries: ranks skills from a file for queries with known
/// answers. Nothing leaves the machine. The exit code is 1 when a query fails.
#[allow(clippy::doc_markdown, reason = "help that is shown in a terminal")]
#[derive(Debug, clap::Args)]
pub(crate) struct Eval {
    /// The folder with skills [default: .]
    #[arg(value_name = "DIR", conflicts_with_all = ["pool", "queries", "run"])]
    pub(crate) folder: Option<PathBuf>,
    /// Skills, one a line: {"id", "name", "description", "body"}
    #[arg(long, value_name = "FILE")]
    pub(crate) pool: Option<PathBuf>,
    // In an attribute, since brackets are links to the documentation.
    #[arg(help = r#"Queries, one a line: {"id", "query", "relevant": [ids]}"#)]
    #[arg(long, value_name = "FILE")]
    pub(crate) queries: Option<PathBuf>,
    #[arg(help = r#"Where to write the rankings, one a line: {"id", "ranked": [ids]}"#)]
    #[arg(long, value_name = "FILE")]
    pub(crate) run: Option<PathBuf>,
    /// What ranks the skills
    #[arg(long, value_name = "SELECTOR", default_value = "bm25", value_parser = SelectorParser::all())]
    pub(crate) selector: SelectorName,
    /// Vectors for embedding and fused, one a line: {"text", "vector"}
    #[arg(long, value_name = "FILE")]
    pub(crate) vectors: Option<PathBuf>,
    /// How much meaning counts beside words, for fused
    #[arg(long, value_name = "NUMBER")]
    pub(crate) weight: Option<f32>,
    /// Other settings of bm25, as JSON: {"pair": 0}
    #[arg(long, value_name = "JSON", value_parser = settings)]
    pub(crate) settings: Option<prowess::select::Settings>,
    /// A query that should find its skill passes when the skill is among the first K
    #[arg(long, value_name = "K", default_value = "1", conflicts_with_all = ["pool", "queries"])]
    pub(crate) top: std::num::NonZeroUsize,
    /// Also list skills that compete for the same queries
    #[arg(long, conflicts_with_all = ["pool", "queries"])]
    pub(crate) overlap: bool,
}

/// Take a task through the stages that exist, with two built-in skills
///
/// Shows what an agent sees of all skills, which skill fits the task, and what is loaded when it is used.
#[derive(Debug, clap::Args)]
pub(crate) struct Try {
    /// The task, in plain words
    #[arg(value_name = "TASK", required = true)]
    pub(crate) task: Vec<String>,
}

/// The words for a source; a name that is no text can only be that of a folder.
fn source_specs() -> impl clap::builder::TypedValueParser<Value = SourceSpec> {
    use clap::builder::{OsStringValueParser, TypedValueParser as _};
    OsStringValueParser::new().try_map(|text| match text.to_str() {
        Some(text) => {
            SourceSpec::parse(text).map_err(|error| format!("{}\n  hint: {}", error.reason, error.hint))
        }
        None => Ok(SourceSpec::dir(text)),
    })
}

/// Where skills are looked for.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Places {
    /// Take skills from here instead of where agents keep them: a folder, a .skill, .zip or .tar.gz file, a .jsonl
    /// file, an https:// address, or key=value pairs such as dir=./skills,prefix=team or mcp=https://example.com/mcp;
    /// may be given more than once
    #[arg(long = "in", value_name = "SPEC", value_parser = source_specs())]
    pub(crate) sources: Vec<SourceSpec>,
    /// Certificates, as PEM, to trust for sites and MCP servers instead of those of the web
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,
    /// See what this client would see, such as codex or claude-code
    #[arg(long, value_name = "CLIENT", conflicts_with = "sources")]
    pub(crate) client: Option<String>,
    /// Read every skill anew instead of what was remembered of it
    #[arg(long)]
    pub(crate) no_cache: bool,
    #[command(flatten)]
    pub(crate) scan: scan::Scan,
}

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
    /// Only skills in or below this folder, as filters see it
    #[arg(long, value_name = "FOLDER", default_value = "")]
    pub(crate) folder: String,
    /// Only skills that this filter lets through, as for replay
    #[arg(long, value_name = "GLOB", default_value = "")]
    pub(crate) filter: Filter,
    /// Only skills that ask for no other tools than these, with commas; "" for skills that ask for none
    #[arg(long, value_name = "TOOLS")]
    pub(crate) tools: Option<String>,
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
    /// How long the catalog of a prompt may be, as for prompt
    #[arg(long, value_name = "N", default_value = "2%", value_parser = search::share)]
    pub(crate) budget: Share,
    /// The tokens of the context window, for a budget in percent
    #[arg(long, value_name = "TOKENS", default_value_t = 200_000)]
    pub(crate) window: usize,
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
    /// Only skills at paths that match: billing or billing/** for all below a folder, billing/* for those directly in it,
    /// none for no skill
    #[arg(long, value_name = "GLOB")]
    pub(crate) filter: Option<Filter>,
    /// The most skills that are active at once; 0 for no limit
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub(crate) max_active: usize,
    /// What the tools are called
    #[arg(long, value_name = "NAMING", default_value = "default", value_parser = namings())]
    pub(crate) naming: Naming,
    /// The tools the host has, with commas; skills are granted no others; "" when it has none
    #[arg(long, value_name = "TOOLS")]
    pub(crate) tools: Option<String>,
    /// Refuse lines with "host" or "filter": for lines that a model writes
    #[arg(long)]
    pub(crate) model_only: bool,
    #[command(flatten)]
    pub(crate) places: Places,
}

/// The dialects, from the one table.
fn dialects() -> impl clap::builder::TypedValueParser<Value = Dialect> {
    use clap::builder::{PossibleValuesParser, TypedValueParser as _};
    PossibleValuesParser::new(Dialect::ALL.map(Dialect::name)).try_map(|name| name.parse::<Dialect>())
}

/// The namings with their summaries, from the one table.
fn namings() -> impl clap::builder::TypedValueParser<Value = Naming> {
    use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser as _};
    PossibleValuesParser::new(NAMINGS.each_ref().map(|row| PossibleValue::new(row.name).help(row.summary)))
        .try_map(|name| name.parse::<Naming>())
}

/// Settings as JSON; what is not said is as usual.
fn settings(text: &str) -> Result<prowess::select::Settings, serde_json::Error> {
    serde_json::from_str(text)
}

/// The profiles with their summaries, from the one table.
fn profiles() -> impl clap::builder::TypedValueParser<Value = Preset> {
    use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser as _};
    PossibleValuesParser::new(
        Preset::ALL.map(|preset| PossibleValue::new(preset.name()).help(preset.summary())),
    )
    .try_map(|name| name.parse::<Preset>())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_grammar_is_consistent() {
        super::Args::command().debug_assert();
    }
}
