//! The tokens that clients send, and the file that lists them.
//!
//! The file has one token and nothing else, or is TOML with a table for each:
//!
//! ```toml
//! [[token]]
//! name = "laptop"
//! token = "0123456789abcdef"
//! filter = "billing"   # the skills that this client sees; "**" for all
//! metrics = true       # optional: whether it may read /metrics
//! ```
//!
//! A file that is cut off never gives more than the whole one: a table without a filter is refused, and a file that
//! changes while it is served must end with a line break. Such a file also keeps its form, and a token that looks like
//! TOML is refused: one line of a list must not become a token that sees everything.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use prowess::session::Filter;
use prowess::text::inline;
use prowess::{SourceError, SourceErrorKind, fs};
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
    form: Form,
    /// Whether the file ends with a line break.
    ended: bool,
}

/// What a token file contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// One token and nothing else.
    Single,
    /// A table for each token.
    List,
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
    /// The file changed and does not end with a line break, so it may be cut off.
    #[error(
        "this may be cut off, since it does not end with a line break: {}",
        inline(&.0.display().to_string())
    )]
    CutOff(PathBuf),
    /// The file changed from one token to a list, or from a list to one token.
    #[error(
        "this changed from {} while it was served: {}",
        if *.single { "a list of tokens to one token" } else { "one token to a list of tokens" },
        inline(&file.display().to_string())
    )]
    OtherForm {
        /// The file.
        file: PathBuf,
        /// Whether it now has one token and nothing else.
        single: bool,
    },
}

impl TokensError {
    /// What to do about it.
    pub fn hint(&self) -> Cow<'static, str> {
        match self {
            Self::Read(error) => match &error.kind {
                SourceErrorKind::NotRegular { .. } => {
                    "put the tokens into a regular file: it is read again when it changes".into()
                }
                SourceErrorKind::TooLarge { .. } => "leave out tokens that no client sends".into(),
                SourceErrorKind::Io(denied) if denied.kind() == io::ErrorKind::PermissionDenied => {
                    "make it readable for this user".into()
                }
                _ => error.hint().to_string().into(),
            },
            Self::Content { .. } => {
                "write one token, or a table [[token]] with a name, a token and a filter for each client"
                    .into()
            }
            Self::OtherForm { .. } => "restart the server if this is wanted".into(),
            Self::CutOff(_) => {
                "replace it as a whole: write another file that ends with a line break, and rename it".into()
            }
        }
    }
}

impl From<BearerToken> for Tokens {
    fn from(token: BearerToken) -> Self {
        let only = NamedToken { name: UNNAMED.to_owned(), token, filter: Filter::all(), metrics: true };
        Self { list: vec![only], file: None, form: Form::Single, ended: true }
    }
}

impl Tokens {
    /// Reads a token file. A server that has these tokens reads the file again when it changes.
    pub fn read(file: &Path) -> Result<Self, TokensError> {
        let bytes = fs::read::read_small(file, MAX_FILE)?;
        let (form, list) =
            parse(&bytes).map_err(|reason| TokensError::Content { file: file.to_owned(), reason })?;
        let ended = bytes.last() == Some(&b'\n');
        Ok(Self { list, file: Some(file.to_owned()), form, ended })
    }

    /// Reads the file again. A change counts only once the file ends with a line break: it may be cut off, and a part
    /// of a token would become one. A new file may be cut off too: it was renamed, or removed and written again. The form
    /// stays: one line of a list is not a token.
    pub(crate) fn read_after(file: &Path, form: Form, before: &[NamedToken]) -> Result<Self, TokensError> {
        let new = Self::read(file)?;
        if new.form != form {
            return Err(TokensError::OtherForm { file: file.to_owned(), single: new.form == Form::Single });
        }
        if new.list != before && !new.ended {
            return Err(TokensError::CutOff(file.to_owned()));
        }
        Ok(new)
    }

    /// Whether the file ends with a line break, as a change of it must.
    pub(crate) fn is_ended(&self) -> bool {
        self.ended
    }

    /// Whether the file has one token or a list.
    pub(crate) fn form(&self) -> Form {
        self.form
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
fn parse(bytes: &[u8]) -> Result<(Form, Vec<NamedToken>), String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    let text = text.trim_start_matches('\u{feff}');
    if text.trim().is_empty() {
        return Err("it is empty".to_owned());
    }
    // A table has spaces or line breaks, and a token has none.
    if !text.trim().contains(char::is_whitespace) {
        if looks_like_toml(text.trim()) {
            return Err("one line of TOML is not a token".to_owned());
        }
        let token = BearerToken::new(text);
        let short = || "a token is at least 16 visible characters without spaces".to_owned();
        return token.map(|token| (Form::Single, Tokens::from(token).list)).ok_or_else(short);
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
    Ok((Form::List, list))
}

/// Whether a line without spaces is a comment, a table or a key with its value. Base64 may end with `=`.
fn looks_like_toml(line: &str) -> bool {
    line.starts_with(['#', '[']) || line.trim_end_matches('=').contains(['=', '"', '\''])
}

/// What changes when a file is written or replaced; nothing, if it cannot be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp(Option<(SystemTime, u64, u64)>);

impl Stamp {
    /// The state of a file.
    pub(crate) fn of(file: &Path) -> Self {
        #[cfg(unix)]
        let inode = |found: &std::fs::Metadata| std::os::unix::fs::MetadataExt::ino(found);
        #[cfg(not(unix))]
        let inode = |_: &std::fs::Metadata| 0;
        let found = std::fs::metadata(file).ok();
        Self(found.and_then(|found| Some((found.modified().ok()?, found.len(), inode(&found)))))
    }
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
    // A file that is cut off before this line would let the client see everything.
    let filter = text("filter")?.ok_or_else(|| format!("{name} has no filter; \"**\" is every skill"))?;
    // As a filter, an empty text is every skill; here it is a value that is missing.
    if filter.trim().is_empty() {
        return Err(format!("the filter of {name} is empty; \"**\" is every skill"));
    }
    let filter: Filter = filter.parse().map_err(|error| format!("{name}: {error}"))?;
    let metrics = match value("metrics") {
        None => false,
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
        format!("[[token]]\nname = \"a\"\ntoken = \"{SECRET}\"\nfilter = \"**\"\n{rest}")
    }

    #[test]
    fn a_file_with_one_token_needs_no_table() {
        let (form, tokens) = parse(format!("\u{feff}{SECRET}\n").as_bytes()).unwrap();
        assert_eq!(form, Form::Single);
        assert_eq!(tokens, Tokens::from(BearerToken::new(SECRET).unwrap()).list);
        assert_eq!((tokens[0].name.as_str(), tokens[0].metrics), ("default", true));
    }

    #[test]
    fn metrics_are_granted_by_name() {
        for (rest, metrics) in [("", false), ("metrics = true", true), ("metrics = false", false)] {
            assert_eq!(parse(table(rest).as_bytes()).unwrap().1[0].metrics, metrics, "{rest}");
        }
    }

    #[test]
    fn a_file_that_is_cut_off_anywhere_gives_no_client_more() {
        let other =
            "[[token]]\nname = \"b\"\ntoken = \"fedcba9876543210\"\nfilter = \"billing\"\nmetrics = false\n";
        let text = table("metrics = true\n") + other;
        let (_, whole) = parse(text.as_bytes()).unwrap();
        for end in 0..text.len() {
            for token in parse(&text.as_bytes()[..end]).map(|(_, list)| list).unwrap_or_default() {
                let same =
                    whole.iter().find(|own| own.token == token.token && own.name == token.name).unwrap();
                assert_eq!(same.filter, token.filter, "{}", text.get(..end).unwrap());
                assert!(same.metrics || !token.metrics, "{}", text.get(..end).unwrap());
            }
        }
    }

    #[test]
    fn a_part_of_a_token_is_not_taken_for_one_also_in_a_new_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        let long = format!("{SECRET}{SECRET}");
        std::fs::write(&file, &long).unwrap();
        let before = Tokens::read(&file).unwrap();
        let again = || Tokens::read_after(&file, before.form(), before.list());
        assert_eq!(again().unwrap(), before);
        std::fs::write(&file, SECRET).unwrap();
        assert!(matches!(again(), Err(TokensError::CutOff(_))));
        std::fs::write(&file, format!("{SECRET}\n")).unwrap();
        assert_eq!(again().unwrap().list()[0].token, BearerToken::new(SECRET).unwrap());
        std::fs::remove_file(&file).unwrap();
        std::fs::write(&file, SECRET).unwrap();
        assert!(matches!(again(), Err(TokensError::CutOff(_))));
    }

    #[test]
    fn a_reload_never_changes_the_form_of_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        for (first, second) in [(table(""), format!("{SECRET}\n")), (format!("{SECRET}\n"), table(""))] {
            std::fs::write(&file, first).unwrap();
            let before = Tokens::read(&file).unwrap();
            std::fs::write(&file, second).unwrap();
            let again = Tokens::read_after(&file, before.form(), before.list());
            assert!(matches!(again, Err(TokensError::OtherForm { .. })), "{again:?}");
        }
    }

    #[test]
    fn one_line_of_a_list_is_not_a_token() {
        for line in [
            "#tokens-of-the-team",
            "token=\"0123456789abcdef\"",
            "[[token]]#0123456789",
            "filter='billing-team'",
        ] {
            assert_eq!(parse(format!("{line}\n").as_bytes()).unwrap_err(), "one line of TOML is not a token");
        }
        assert!(parse(b"MDEyMzQ1Njc4OWFiY2RlZg==\n").is_ok());
    }

    #[test]
    fn what_is_wrong_is_said_without_a_token() {
        let second = |name: &str, token: &str| {
            table("").replace("\"a\"", &format!("\"{name}\"")).replace(SECRET, token)
        };
        for (text, said) in [
            (String::new(), "it is empty"),
            (" \n".to_owned(), "it is empty"),
            ("short".to_owned(), "at least 16"),
            (format!("{SECRET} {SECRET}"), "line 1 is not valid TOML"),
            (format!("{SECRET}\n{SECRET}x\n"), "line 1 is not valid TOML"),
            (table("metrics = tr"), "line 5 is not valid TOML"),
            (
                format!("[[token]]\nname = \"a\"\ntoken = \"{SECRET}\"\n"),
                "a has no filter; \"**\" is every skill",
            ),
            (format!("[[token]]\nname = \"a\"\ntoken = \"{SECRET}"), "line 3 is not valid TOML"),
            ("[[token]]\nname = \"a\"\n".to_owned(), "a has no token"),
            (format!("[[token]]\ntoken = \"{SECRET}\"\n"), "token 1 has no name"),
            ("[[token]]\nname = \"a\"\ntoken = \"short\"\n".to_owned(), "the token of a is not at least 16"),
            ("[[token]]\nname = \"a b\"\n".to_owned(), "the name of token 1"),
            (format!("token = \"{SECRET}\"\n[x]\n"), "an unknown key: x"),
            (format!("token = \"{SECRET}\" "), "it has no table [[token]]"),
            ("# nothing yet\n".to_owned(), "it has no table [[token]]"),
            (table("filters = \"x\""), "unknown key: filters; there are name, token, filter, metrics"),
            (table("").replace("**", "["), "the filter is not a glob"),
            (table("").replace("**", ""), "the filter of a is empty; \"**\" is every skill"),
            (table("").replace("**", " \\t"), "the filter of a is empty"),
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
