//! Where skills are looked for, and which of them a command is about.

use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser};
use prowess::finding::Preset;
use prowess::path::Glob;
use prowess::session::Filter;
use prowess::{Duplicates, ScanChanges, SourceSpec};

use super::values::profiles;

/// The places to look for skills.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Places {
    /// Take skills from here instead of the folders where agents keep them: a folder, a .skill, .zip or .tar.gz file, a .jsonl
    /// file, an https:// address, or key=value pairs such as dir=./skills,prefix=team or mcp=https://example.com/mcp;
    /// may be given more than once
    #[arg(long = "in", value_name = "SPEC", value_parser = source_specs())]
    pub(crate) sources: Vec<SourceSpec>,
    /// A PEM file of certificates to trust for sites and MCP servers, instead of the usual ones
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,
    /// Use the folders of this client, such as codex or claude-code; list, prompt, search and why show exactly what it
    /// lists. list and why take several, and installed for those on this machine
    #[arg(long = "client", value_name = "CLIENT", value_delimiter = ',', value_parser = client, conflicts_with = "sources")]
    pub(crate) clients: Vec<String>,
    /// Read every skill again instead of using the cache
    #[arg(long)]
    pub(crate) no_cache: bool,
    #[command(flatten)]
    pub(crate) scan: Scan,
}

/// Which of the skills count.
#[derive(Debug, clap::Args)]
pub(crate) struct Subset {
    /// Only skills in or below this folder of virtual paths, which why shows
    #[arg(long, value_name = "FOLDER", default_value = "")]
    pub(crate) folder: String,
    /// Only skills that pass this filter, written as for replay
    #[arg(long, value_name = "GLOB")]
    pub(crate) filter: Option<Filter>,
}

/// Parses the value of `--in`; a value that is not UTF-8 can only be the path of a folder.
pub(super) fn source_specs() -> impl TypedValueParser<Value = SourceSpec> {
    OsStringValueParser::new().try_map(|text| match text.to_str() {
        Some(text) => {
            SourceSpec::parse(text).map_err(|error| format!("{}\n  hint: {}", error.reason, error.hint))
        }
        None => Ok(SourceSpec::dir(text)),
    })
}

/// Which skills are found and offered.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Scan {
    /// Offer only skills with these names; * matches any text
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = glob)]
    pub(crate) only: Vec<Glob>,
    /// Do not offer skills with these names; * matches any text
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = glob)]
    pub(crate) except: Vec<Glob>,
    /// Do not offer skills that have an error under this profile; without it, every skill that loads is offered
    #[arg(long, value_name = "PROFILE", value_parser = profiles())]
    pub(crate) strict: Option<Preset>,
    /// How many levels of folders to search
    #[arg(long, value_name = "N")]
    pub(crate) depth: Option<usize>,
    /// Skip folders whose name begins with this
    #[arg(long, value_name = "PREFIX", value_delimiter = ',')]
    pub(crate) skip: Vec<String>,
    /// Do not look for skills inside a skill, or beside a SKILL.md at the top of a source
    #[arg(long)]
    pub(crate) no_nested: bool,
    /// Which of two skills with one name is offered
    #[arg(long, value_name = "WHICH", value_enum)]
    pub(crate) duplicates: Option<Which>,
}

/// Which of two skills with one name is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Which {
    /// The first
    First,
    /// The last
    Last,
    /// Neither: the command fails and names both
    Error,
}

impl From<Which> for Duplicates {
    fn from(which: Which) -> Self {
        match which {
            Which::First => Self::First,
            Which::Last => Self::Last,
            Which::Error => Self::Error,
        }
    }
}

impl Scan {
    /// The changes to how folders are walked.
    pub(crate) fn changes(&self) -> ScanChanges {
        ScanChanges::default()
            .with_depth(self.depth)
            .with_nested(self.no_nested.then_some(false))
            .with_skip(self.skip.iter().filter(|prefix| !prefix.is_empty()).cloned().collect())
    }
}

/// Parses one of several names of clients.
pub(super) fn client(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("name a client, such as codex".to_owned()),
        name => Ok(name.to_owned()),
    }
}

fn glob(text: &str) -> Result<Glob, String> {
    Glob::parse(text).map_err(|error| error.to_string())
}
