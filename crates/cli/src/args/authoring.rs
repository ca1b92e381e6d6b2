//! The options of the commands for authors: `check`, `rule`, `new`, `show`, `eval` and `try`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::ValueEnum;
use prowess::finding::Preset;
use prowess::select::Settings;

use super::places::Places;
use super::values::profiles;
use crate::selector::{SelectorName, SelectorParser};

/// Check skills and show each problem at its place in the file
///
/// A path is a SKILL.md, the folder of a skill, or a folder with skills anywhere below it. Folders whose name
/// begins with a dot are skipped, except those where agents keep skills, such as .claude and .agents. A file
/// prowess.toml in the folder or above it can set the levels of rules and paths to ignore.
#[derive(Debug, clap::Args)]
pub(crate) struct Check {
    /// What to check: a path, or the name of a skill that is listed; - reads a SKILL.md from standard input [default: .]
    #[arg(value_name = "PATH|NAME")]
    pub(crate) paths: Vec<PathBuf>,
    /// The path of the text from standard input: decides the name of its folder, levels and ignored paths
    #[arg(long, value_name = "PATH")]
    pub(crate) path: Option<PathBuf>,
    /// Check the skills in the folders of this client, and say which of them it does not list
    #[arg(long, value_name = "CLIENT", conflicts_with_all = ["paths", "path"])]
    pub(crate) client: Option<String>,
    /// The profile to check by [default: spec, or that of prowess.toml]
    #[arg(long, value_name = "PROFILE", value_parser = profiles())]
    pub(crate) profile: Option<Preset>,
    /// Turn a rule off
    #[arg(long, value_name = "CODE", value_delimiter = ',')]
    pub(crate) allow: Vec<String>,
    /// Make a rule a warning
    #[arg(long, value_name = "CODE", value_delimiter = ',')]
    pub(crate) warn: Vec<String>,
    /// Make a rule an error; warnings makes every warning one
    #[arg(long, value_name = "CODE", value_delimiter = ',')]
    pub(crate) deny: Vec<String>,
    /// Check and fix by these rules only, and by those without which a skill is not loaded
    #[arg(long, value_name = "CODE", value_delimiter = ',')]
    pub(crate) select: Vec<String>,
    /// Do not check or fix by these rules; another word for --allow
    #[arg(long, value_name = "CODE", value_delimiter = ',')]
    pub(crate) ignore: Vec<String>,
    /// How to write the problems [default: human]
    #[arg(long, value_name = "FORMAT")]
    pub(crate) format: Option<Format>,
    /// Do not show notes, which are problems of severity info
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Show each note at its place in the file, instead of one line for all notes of a file
    #[arg(long, conflicts_with = "quiet")]
    pub(crate) notes: bool,
    /// Count the problems by rule instead of showing them
    #[arg(long, conflicts_with_all = ["json", "format", "diff"])]
    pub(crate) statistics: bool,
    /// Apply the safe fixes and report what is left; with -, write the fixed text
    #[arg(long)]
    pub(crate) fix: bool,
    /// Apply all fixes, including those that rename, drop or change something
    #[arg(long)]
    pub(crate) unsafe_fixes: bool,
    /// Show what the fixes would change, without changing it; exit code 1 when something would change
    #[arg(long, conflicts_with_all = ["json", "format"])]
    pub(crate) diff: bool,
}

/// The format of the problems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people, with the place in the file
    Human,
    /// One line for each problem
    Concise,
    /// One JSON object
    Json,
    /// Workflow commands that GitHub shows beside the lines
    Github,
    /// SARIF 2.1.0, for code scanning and editors
    Sarif,
}

/// Explain a rule, or list all rules
#[derive(Debug, clap::Args)]
pub(crate) struct Rule {
    /// The code of the rule, such as name-too-long
    #[arg(value_name = "CODE")]
    pub(crate) code: Option<String>,
}

/// Create a skill that has no errors or warnings under any profile
///
/// Notes of check say what is still to be written. The folder is created completely or not at all, and existing files are never changed.
#[derive(Debug, clap::Args)]
pub(crate) struct New {
    /// The name: lowercase letters, digits and single hyphens
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// The folder to create it in, which must exist
    #[arg(long, value_name = "FOLDER", default_value = ".")]
    pub(crate) dir: PathBuf,
    /// The folders to create in it
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
    /// Queries that should and should not find the skill, for eval
    Evals,
}

/// Show how Prowess reads one skill
///
/// Everything that can be read is shown, even of a broken skill. With --in or --client, a name means a listed skill,
/// even where a file or folder has that name. The exit code is 1 when the skill does not load, or is listed as broken.
#[derive(Debug, clap::Args)]
pub(crate) struct Show {
    /// A SKILL.md, the folder of a skill, or the name of one that is listed; - reads standard input
    #[arg(value_name = "PATH|NAME")]
    pub(crate) path: PathBuf,
    /// The profile to check by [default: spec, or the profile by which a listed skill is broken]
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

/// Measure how well skills are found
///
/// With a folder: runs the trigger queries that skills carry in evals/eval_queries.json against all skills below the
/// folder, and names the skill that comes first instead. The file is a list of objects, each with a "query" and with
/// "should_trigger": true or false. With --pool and --queries: ranks skills from a file for queries with known
/// answers. Nothing leaves the machine. The exit code is 1 when a query fails.
#[allow(clippy::doc_markdown, reason = "help that is shown in a terminal")]
#[derive(Debug, clap::Args)]
pub(crate) struct Eval {
    /// The folder with skills [default: .]
    #[arg(value_name = "DIR", conflicts_with_all = ["pool", "queries", "run"])]
    pub(crate) folder: Option<PathBuf>,
    /// Skills, one per line: {"id", "name", "description", "body"}
    #[arg(long, value_name = "FILE")]
    pub(crate) pool: Option<PathBuf>,
    // An attribute, because rustdoc would read the brackets as links.
    #[arg(help = r#"Queries, one per line: {"id", "query", "relevant": [ids]}"#)]
    #[arg(long, value_name = "FILE")]
    pub(crate) queries: Option<PathBuf>,
    #[arg(help = r#"Where to write the rankings, one per line: {"id", "ranked": [ids]}"#)]
    #[arg(long, value_name = "FILE")]
    pub(crate) run: Option<PathBuf>,
    /// What ranks the skills
    #[arg(long, value_name = "SELECTOR", default_value = "bm25", value_parser = SelectorParser::all())]
    pub(crate) selector: SelectorName,
    /// Vectors for embedding and fused, one per line: {"text", "vector"}
    #[arg(long, value_name = "FILE")]
    pub(crate) vectors: Option<PathBuf>,
    /// The weight of vectors relative to words, for fused
    #[arg(long, value_name = "NUMBER")]
    pub(crate) weight: Option<f32>,
    /// Other settings of bm25, as JSON: {"pair": 0}
    #[arg(long, value_name = "JSON", value_parser = settings)]
    pub(crate) settings: Option<Settings>,
    /// A query that should find its skill passes when the skill is among the first K
    #[arg(long, value_name = "K", default_value = "1", conflicts_with_all = ["pool", "queries"])]
    pub(crate) top: NonZeroUsize,
    /// Also list skills that compete for the same queries
    #[arg(long, conflicts_with_all = ["pool", "queries"])]
    pub(crate) overlap: bool,
}

/// Show how an agent finds and loads a skill for a task, from the first look to the last file
///
/// Uses your own skills and those that are built in. Shows what was found, what it costs in a prompt, which skill fits
/// the task and why, what is loaded when it is used, and what can be read after that. Nothing is changed, and no model
/// is asked.
#[derive(Debug, clap::Args)]
pub(crate) struct Try {
    /// The task, in plain words
    #[arg(value_name = "TASK", required = true)]
    pub(crate) task: Vec<String>,
    #[command(flatten)]
    pub(crate) places: Places,
}

/// Settings as JSON; missing ones have their default.
fn settings(text: &str) -> Result<Settings, serde_json::Error> {
    serde_json::from_str(text)
}
