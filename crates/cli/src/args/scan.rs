//! The options that say which skills are found and offered, for every command that looks for skills.

use prowess::finding::rule::Preset;
use prowess::path::glob::Glob;
use prowess::{Duplicates, ScanChanges};

/// Which skills are found and offered.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Scan {
    /// Offer only skills with these names; * stands for any text
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = glob)]
    pub(crate) only: Vec<Glob>,
    /// Do not offer skills with these names; * stands for any text
    #[arg(long, value_name = "NAME", value_delimiter = ',', value_parser = glob)]
    pub(crate) except: Vec<Glob>,
    /// Do not offer skills that have an error under this profile; all that can be loaded are, without it
    #[arg(long, value_name = "PROFILE", value_parser = super::profiles())]
    pub(crate) strict: Option<Preset>,
    /// How many folders below the start are looked into
    #[arg(long, value_name = "N")]
    pub(crate) depth: Option<usize>,
    /// Leave out folders whose name begins so
    #[arg(long, value_name = "PREFIX", value_delimiter = ',')]
    pub(crate) skip: Vec<String>,
    /// Do not look for skills inside a skill, or beside a SKILL.md right in a folder
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
    /// What is changed about how folders are walked.
    pub(crate) fn changes(&self) -> ScanChanges {
        ScanChanges {
            depth: self.depth,
            nested: self.no_nested.then_some(false),
            skip: self.skip.iter().filter(|prefix| !prefix.is_empty()).cloned().collect(),
        }
    }
}

fn glob(text: &str) -> Result<Glob, String> {
    Glob::parse(text).map_err(ToString::to_string)
}
