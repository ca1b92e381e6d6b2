//! The tokens that clients send, and the file that lists them.
//!
//! The file has one token and nothing else, or is TOML with a table for each:
//!
//! ```toml
//! [[token]]
//! name = "laptop"
//! token = "0123456789abcdef"
//! filter = "billing"   # optional: the skills that this client sees
//! metrics = true       # optional: whether it may read /metrics
//! ```

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use prowess::session::Filter;
use prowess::text::inline;
use prowess::{SourceError, fs};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::http::options::BearerToken;

/// The maximum size of a token file, in bytes.
const MAX_FILE: usize = 64 * 1024;
/// The maximum number of tokens: every request is compared with all of them.
const MAX_TOKENS: usize = 256;
/// The maximum length of a name.
const MAX_NAME: usize = 64;
/// The name of a token that was given without one.
const UNNAMED: &str = "default";
/// The keys of a token.
const KEYS: [&str; 4] = ["name", "token", "filter", "metrics"];

/// A token with a name, and what its client may see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedToken {
    /// The name, which the log shows in place of the token.
    pub name: String,
    /// The token.
    pub token: BearerToken,
    /// The skills that the client sees, by their virtual paths, of those that the server offers.
    pub filter: Filter,
    /// Whether the client may read `/metrics`, which names skills.
    pub metrics: bool,
}

/// The tokens that a server accepts: at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tokens {
    list: Vec<NamedToken>,
    file: Option<PathBuf>,
}

/// Why a token file cannot be used. No message repeats a part of the file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TokensError {
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] SourceError),
    /// The file is neither a token nor a list of tokens.
    #[error("this is not a token, nor a list of tokens: {}: {reason}", inline(&file.display().to_string()))]
    Content {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

impl From<BearerToken> for Tokens {
    fn from(token: BearerToken) -> Self {
        let only = NamedToken { name: UNNAMED.to_owned(), token, filter: Filter::all(), metrics: true };
        Self { list: vec![only], file: None }
    }
}

impl Tokens {
    /// Reads a token file. A server that has these tokens reads the file again when it changes.
    pub fn read(file: &Path) -> Result<Self, TokensError> {
        let bytes = fs::read::read_small(file, MAX_FILE)?;
        let list = parse(&bytes).map_err(|reason| TokensError::Content { file: file.to_owned(), reason })?;
        Ok(Self { list, file: Some(file.to_owned()) })
    }

    /// The tokens, in the order of the file.
    pub fn list(&self) -> &[NamedToken] {
        &self.list
    }

    /// The file that lists them.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }
}

/// The tokens in the bytes of a file, or what is wrong with it.
fn parse(bytes: &[u8]) -> Result<Vec<NamedToken>, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    let text = text.trim_start_matches('\u{feff}');
    if text.trim().is_empty() {
        return Err("it is empty".to_owned());
    }
    // A table has spaces or line breaks, and a token has none.
    if !text.trim().contains(char::is_whitespace) {
        let token = BearerToken::new(text);
        let short = || "a token is at least 16 visible characters without spaces".to_owned();
        return token.map(|token| Tokens::from(token).list).ok_or_else(short);
    }
    let table = DeTable::parse(text).map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start));
        let line = before.map_or(1, |before| before.matches('\n').count() + 1);
        format!("line {line} is not valid TOML")
    })?;
    let table = table.get_ref();
    if let Some(other) = table.keys().find(|key| key.get_ref() != "token") {
        return Err(format!("an unknown key: {}; there are only tables [[token]]", inline(other.get_ref())));
    }
    let tables = match table.get("token").map(Spanned::get_ref) {
        Some(DeValue::Array(tables)) if !tables.is_empty() => tables,
        _ => return Err("it has no table [[token]]".to_owned()),
    };
    if tables.len() > MAX_TOKENS {
        return Err(format!("{} tokens, at most {MAX_TOKENS}", tables.len()));
    }
    let list = tables
        .iter()
        .enumerate()
        .map(|(at, table)| one(table.get_ref(), at + 1))
        .collect::<Result<Vec<_>, _>>()?;
    let mut names = BTreeSet::new();
    if let Some(twice) = list.iter().find(|token| !names.insert(token.name.as_str())) {
        return Err(format!("two tokens have this name: {}", twice.name));
    }
    for (at, token) in list.iter().enumerate() {
        if let Some(same) = list.iter().take(at).find(|other| other.token == token.token) {
            return Err(format!("two tokens are the same: {} and {}", same.name, token.name));
        }
    }
    Ok(list)
}

fn one(table: &DeValue<'_>, number: usize) -> Result<NamedToken, String> {
    let table = table.as_table().ok_or_else(|| format!("token {number} is not a table"))?;
    if let Some(other) = table.keys().find(|key| !KEYS.contains(&key.get_ref().as_ref())) {
        let (other, keys) = (inline(other.get_ref()), KEYS.join(", "));
        return Err(format!("token {number} has an unknown key: {other}; there are {keys}"));
    }
    let value = |key: &str| table.get(key).map(Spanned::get_ref);
    let text = |key: &str| match value(key) {
        None => Ok(None),
        Some(DeValue::String(text)) => Ok(Some(text.as_ref())),
        Some(_) => Err(format!("{key} of token {number} is not a text in quotes")),
    };
    let name = text("name")?.ok_or_else(|| format!("token {number} has no name"))?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "._@-".contains(c);
    if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(plain) {
        return Err(format!(
            "the name of token {number} is not 1 to {MAX_NAME} letters, digits and any of . _ @ -"
        ));
    }
    let token = text("token")?.ok_or_else(|| format!("{name} has no token"))?;
    let token = BearerToken::new(token)
        .ok_or_else(|| format!("the token of {name} is not at least 16 visible characters without spaces"))?;
    let filter: Filter = match text("filter")? {
        Some(filter) => filter.parse().map_err(|error| format!("{name}: {error}"))?,
        None => Filter::all(),
    };
    let metrics = match value("metrics") {
        // The page names skills that a filter hides.
        None => filter == Filter::all(),
        Some(DeValue::Boolean(metrics)) => *metrics,
        Some(_) => return Err(format!("metrics of {name} is neither true nor false")),
    };
    Ok(NamedToken { name: name.to_owned(), token, filter, metrics })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "0123456789abcdef";

    fn table(rest: &str) -> String {
        format!("[[token]]\nname = \"a\"\ntoken = \"{SECRET}\"\n{rest}")
    }

    #[test]
    fn a_file_with_one_token_needs_no_table() {
        let tokens = parse(format!("\u{feff}{SECRET}\n").as_bytes()).unwrap();
        assert_eq!(tokens, Tokens::from(BearerToken::new(SECRET).unwrap()).list);
        assert_eq!((tokens[0].name.as_str(), tokens[0].metrics), ("default", true));
    }

    #[test]
    fn a_filter_takes_the_metrics_away_unless_they_are_granted() {
        for (rest, metrics) in [
            ("", true),
            ("filter = \"\"", true),
            ("filter = \"billing\"", false),
            ("filter = \"none\"\nmetrics = true", true),
            ("metrics = false", false),
        ] {
            assert_eq!(parse(table(rest).as_bytes()).unwrap()[0].metrics, metrics, "{rest}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_without_a_token() {
        let second = |name: &str, token: &str| format!("[[token]]\nname = \"{name}\"\ntoken = \"{token}\"\n");
        for (text, said) in [
            (String::new(), "it is empty"),
            (" \n".to_owned(), "it is empty"),
            ("short".to_owned(), "at least 16"),
            (format!("{SECRET} {SECRET}"), "line 1 is not valid TOML"),
            (format!("{SECRET}\n{SECRET}x\n"), "line 1 is not valid TOML"),
            (table("filter = \"un"), "line 4 is not valid TOML"),
            (format!("[[token]]\nname = \"a\"\ntoken = \"{SECRET}"), "line 3 is not valid TOML"),
            ("[[token]]\nname = \"a\"\n".to_owned(), "a has no token"),
            (format!("[[token]]\ntoken = \"{SECRET}\"\n"), "token 1 has no name"),
            ("[[token]]\nname = \"a\"\ntoken = \"short\"\n".to_owned(), "the token of a is not at least 16"),
            ("[[token]]\nname = \"a b\"\n".to_owned(), "the name of token 1"),
            (format!("token = \"{SECRET}\"\n[x]\n"), "an unknown key: x"),
            (format!("token = \"{SECRET}\" "), "it has no table [[token]]"),
            ("# nothing yet\n".to_owned(), "it has no table [[token]]"),
            (table("filters = \"x\""), "unknown key: filters; there are name, token, filter, metrics"),
            (table("filter = \"[\""), "the filter is not a glob"),
            (table("metrics = 1"), "metrics of a is neither true nor false"),
            (table("") + &second("a", "fedcba9876543210"), "two tokens have this name: a"),
            (table("") + &second("b", SECRET), "two tokens are the same: a and b"),
        ] {
            let error = parse(text.as_bytes()).unwrap_err();
            assert!(error.contains(said) && !error.contains("0123"), "{text}: {error}");
        }
        assert_eq!(parse(b"\xff\xfe").unwrap_err(), "it is not UTF-8");
    }
}
