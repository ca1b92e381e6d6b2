//! The names of the selectors on the command line: one table for every command that ranks skills.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::{Error, ErrorKind};
use clap::{Arg, Command};
use prowess::CommandSelector;
use prowess::select::{All, Keyword, Selector, Tags};

/// What ranks skills.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SelectorName {
    All,
    Keyword,
    Tags,
    Bm25,
    Embedding,
    Fused,
    /// A program and its arguments.
    Command(Vec<String>),
}

/// The prefix of a program.
const COMMAND: &str = "command:";

/// The names and their summaries.
static TABLE: [(SelectorName, &str); 7] = [
    (SelectorName::Bm25, "Words in name, description and instructions"),
    (SelectorName::Keyword, "The share of the query's words that are in name and description"),
    (SelectorName::Tags, "Tags in common; the query is a list separated by commas"),
    (SelectorName::All, "Every skill, by name"),
    (SelectorName::Embedding, "The cosine of vectors"),
    (SelectorName::Fused, "Words and vectors together"),
    (
        SelectorName::Command(Vec::new()),
        "The ranking of this program: command:./rank --fast, or with spaces in words command:[\"./my rank\"]",
    ),
];

impl SelectorName {
    /// The name on the command line and in JSON.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Keyword => "keyword",
            Self::Tags => "tags",
            Self::Bm25 => "bm25",
            Self::Embedding => "embedding",
            Self::Fused => "fused",
            Self::Command(_) => "command",
        }
    }

    const fn needs_vectors(&self) -> bool {
        matches!(self, Self::Embedding | Self::Fused)
    }

    /// The selector, if it needs no index and no vectors.
    pub(crate) fn without_index(&self) -> Option<Box<dyn Selector>> {
        match self {
            Self::All => Some(Box::new(All)),
            Self::Keyword => Some(Box::new(Keyword::default())),
            Self::Tags => Some(Box::new(Tags)),
            Self::Command(argv) => Some(Box::new(CommandSelector::new(argv.clone()))),
            Self::Bm25 | Self::Embedding | Self::Fused => None,
        }
    }
}

/// Reads the name of a selector.
#[derive(Clone, Debug)]
pub(crate) struct SelectorParser {
    vectors: bool,
}

impl SelectorParser {
    /// For a command with vectors.
    pub(crate) fn all() -> Self {
        Self { vectors: true }
    }

    /// For a command without vectors.
    pub(crate) fn without_vectors() -> Self {
        Self { vectors: false }
    }

    fn known(&self) -> impl Iterator<Item = &'static (SelectorName, &'static str)> + use<> {
        let vectors = self.vectors;
        TABLE.iter().filter(move |(name, _)| vectors || !name.needs_vectors())
    }
}

fn possible((name, summary): &(SelectorName, &'static str)) -> PossibleValue {
    let shown = if matches!(name, SelectorName::Command(_)) { "command:PROGRAM" } else { name.name() };
    PossibleValue::new(shown).help(*summary)
}

impl TypedValueParser for SelectorParser {
    type Value = SelectorName;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<SelectorName, Error> {
        if let Some(program) = value.to_str().and_then(|value| value.strip_prefix(COMMAND)) {
            return argv(program).map(SelectorName::Command).ok_or_else(|| {
                let said =
                    "name a program after command:, as words separated by spaces or as a JSON list of strings\n";
                Error::raw(ErrorKind::ValueValidation, said).with_cmd(command)
            });
        }
        let names = PossibleValuesParser::new(self.known().map(possible));
        let name = names.parse_ref(command, arg, value)?;
        let found = self.known().find(|(known, _)| known.name() == name).map(|(known, _)| known.clone());
        found.ok_or_else(|| Error::raw(ErrorKind::ValueValidation, "name a program\n").with_cmd(command))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(self.known().map(possible)))
    }
}

/// A program and its arguments: words separated by spaces, or a JSON list. There is no shell, and quotes have no meaning.
fn argv(text: &str) -> Option<Vec<String>> {
    let words: Vec<String> = if text.trim_start().starts_with('[') {
        serde_json::from_str(text).ok()?
    } else {
        text.split_whitespace().map(str::to_owned).collect()
    };
    words.first().is_some_and(|program| !program.is_empty()).then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_words_or_a_list() {
        assert_eq!(argv("rank  --fast").unwrap(), ["rank", "--fast"]);
        assert_eq!(argv("[\"my rank\", \"\"]").unwrap(), ["my rank", ""]);
        for nothing in ["", " ", "[]", "[\"\"]", "[1]", "[\"a\""] {
            assert_eq!(argv(nothing), None, "{nothing}");
        }
    }
}
