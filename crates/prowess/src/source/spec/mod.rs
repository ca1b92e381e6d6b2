//! [`SourceSpec`]: the one grammar of sources, for `--in` and for `prowess.toml`.
//!
//! A source names exactly one place, and may set how its skills appear:
//!
//! | key | what it is |
//! | --- | --- |
//! | `dir` | a folder with skills in and below it, or `@org/name`, an installed skill; `path` is another name of this key, and `dir` wins if both are given |
//! | `plugin` | the folder of an agent plugin: skills directly below its `skills/` |
//! | `archive` | a `.skill`, `.zip`, `.tar.gz` or `.tgz` file with skills in it |
//! | `jsonl` | a file with a skill on each line: `name`, `description` and optionally `id`, `body`, `metadata` |
//! | `url` | a site with an index of skills, or the index itself |
//! | `mcp` | another MCP server: its address, or the command line that starts it |
//! | `name`, `description`, `instructions` | a skill that is written in the source itself |
//! | `mount_as` | the folder of virtual paths in which filters see the skills |
//! | `prefix` | the prefix of every key, before a colon; for an `mcp` server, its label, which its keys always have |
//! | `key_from` | how each key is made: from the `name`, the `folder`, or the `id` of the skill in its source |
//! | `preload` | whether the skills are active from the start |
//! | `optional` | whether the file or folder may be absent |
//! | `ca_file` | certificates to trust, as PEM, for the site of a `url` or `mcp` |
//! | `token_file` | a file with the token that an `mcp` server requires |
//! | `unlisted` | whether files that the index does not list are requested from the site of a `url` |
//!
//! On the command line a source is a place alone (`./skills`, `https://example.com`, `tools.skill`, `team.jsonl`) or
//! `key=value` pairs separated by commas (`dir=./skills,prefix=team`). A value with a comma is written in double
//! quotes, and a double quote in it is doubled. The command line of an `mcp` server is split at spaces, with single or
//! double quotes around words that contain spaces; no shell is involved.

#[cfg(any(feature = "http", feature = "install"))]
pub(crate) mod hosts;
mod pairs;
#[cfg(any(feature = "http", feature = "install"))]
pub(crate) mod public_address;
mod server;

use std::fmt;
use std::path::{Path, PathBuf};

use prowess_core::catalog::KeyFrom;
use prowess_core::with_methods;
use serde::{Deserialize, Serialize};

pub(crate) use self::pairs::{FLAG_KEYS, Pairs, SOURCE_KEYS, TEXT_KEYS, Wrong, keys};
pub use self::server::Server;
use crate::error::escape_control;
use crate::source::Mount;

/// Where skills come from and how they appear.
///
/// ```
/// use prowess::source::spec::{Place, SourceSpec};
///
/// let spec = SourceSpec::parse("dir=./skills,prefix=team,preload=true")?;
/// assert_eq!(spec.place, Place::Dir("./skills".into()));
/// assert_eq!((spec.prefix.as_deref(), spec.preload), (Some("team"), true));
/// assert_eq!(SourceSpec::parse("tools.tar.gz")?.place, Place::Archive("tools.tar.gz".into()));
/// # Ok::<(), prowess::source::spec::SpecError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Pairs", into = "Pairs")]
#[non_exhaustive]
pub struct SourceSpec {
    /// Where they come from.
    pub place: Place,
    /// The folder of virtual paths in which filters see them.
    pub mount: Option<Mount>,
    /// The prefix of every key; a colon follows it.
    pub prefix: Option<String>,
    /// How their keys are made; by default, the source decides.
    pub key_from: Option<KeyFrom>,
    /// Whether they are active from the start.
    pub preload: bool,
    /// Whether the file or folder may be absent.
    pub optional: bool,
}

with_methods! { SourceSpec:
    with_mount mount: Option<Mount>;
    with_prefix prefix: Option<String>;
    with_key_from key_from: Option<KeyFrom>;
    with_preload preload: bool;
    with_optional optional: bool;
}

/// A place where skills come from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// A folder with skills in and below it.
    Dir(PathBuf),
    /// The folder of an agent plugin.
    Plugin(PathBuf),
    /// A file with skills packed into it.
    Archive(PathBuf),
    /// A file with a skill on each line.
    Jsonl(PathBuf),
    /// A site with an index of skills.
    Url {
        /// Its address.
        url: String,
        /// Certificates to trust, as PEM, instead of the usual ones.
        ca_file: Option<PathBuf>,
        /// Whether it is asked for files that its index does not list.
        unlisted: bool,
    },
    /// Another MCP server.
    Mcp(Server),
    /// A skill that is written in the spec itself.
    Inline {
        /// Its name.
        name: String,
        /// What it does and when to use it.
        description: String,
        /// Its body.
        instructions: String,
    },
}

impl Place {
    /// The file or folder, when it is one on this machine.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Dir(path) | Self::Plugin(path) | Self::Archive(path) | Self::Jsonl(path) => Some(path),
            Self::Url { .. } | Self::Mcp(_) | Self::Inline { .. } => None,
        }
    }

    /// The installed skill that the folder refers to, as `@org/name`. A folder whose name begins like this is written
    /// with `./` before it.
    pub fn reference(&self) -> Option<&str> {
        let Self::Dir(folder) = self else { return None };
        folder.to_str().filter(|text| is_reference(text))
    }
}

fn is_reference(text: &str) -> bool {
    text.starts_with('@') && text.contains('/')
}

/// Why a text or table is not a source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this names no source of skills: {entry}: {reason}")]
#[non_exhaustive]
pub struct SpecError {
    /// The entry, for display.
    pub entry: String,
    /// What is wrong with it.
    pub reason: String,
    /// What to do about it.
    pub hint: &'static str,
}

impl SpecError {
    /// The hint when no place is named, or none that is supported.
    pub const HINT: &'static str = "name one place: a folder, a .skill, .zip or .tar.gz file, a .jsonl file, an https:// address or mcp= and a server";
}

fn is_address(text: &str) -> bool {
    ["https://", "http://"].iter().any(|scheme| {
        text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
            && text.len() > scheme.len()
    })
}

impl SourceSpec {
    /// A folder with skills in and below it. `@org/name` is the installed skill of this name: see [`Place::reference`].
    pub fn dir(path: impl Into<PathBuf>) -> Self {
        Self::new(Place::Dir(path.into()))
    }

    /// A place, with default options.
    pub fn new(place: Place) -> Self {
        Self { place, mount: None, prefix: None, key_from: None, preload: false, optional: false }
    }

    /// The label of an MCP server.
    pub(crate) fn label_of(&self, server: &Server) -> String {
        self.prefix.clone().unwrap_or_else(|| server.label())
    }

    /// The spec with another place.
    pub(crate) fn at(&self, place: Place) -> Self {
        Self { place, ..self.clone() }
    }

    /// Reads a source from a command line: a place alone, or `key=value` pairs separated by commas.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        let wrong = |Wrong { reason, hint }| SpecError { entry: escape_control(text), reason, hint };
        let fail = |reason: String| wrong(Wrong::from(reason));
        let known = |key: &str| TEXT_KEYS.contains(&key) || FLAG_KEYS.contains(&key);
        let key = text.split_once('=').map(|(key, _)| key.trim());
        // A misspelt first key is recognized by the others.
        let word = key.is_some_and(|key| key.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'));
        let others =
            || text.split(',').skip(1).filter_map(|pair| pair.split_once('=')).any(|(key, _)| known(key));
        let pairs = key.is_some_and(known) || (word && others());
        if !pairs {
            return Ok(Self::new(place(text).map_err(fail)?));
        }
        let mut pairs = Pairs::default();
        for (key, value) in pairs_of(text).map_err(fail)? {
            if FLAG_KEYS.contains(&key.as_str()) {
                let flag = value.parse().map_err(|_| {
                    let reason = format!("{key}: true or false is wanted");
                    wrong(Wrong { reason, hint: "write true or false after the =" })
                })?;
                pairs.set_flag(&key, flag);
            } else if !TEXT_KEYS.contains(&key.as_str()) {
                return Err(fail(format!("no such key: {}; the keys are {}", escape_control(&key), keys())));
            } else if !pairs.set(&key, &value) {
                return Err(fail(format!("this key appears twice: {key}")));
            }
        }
        pairs.spec().map_err(wrong)
    }
}

impl fmt::Display for SourceSpec {
    /// The source as written on a command line: its place alone if nothing else is set.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pairs = serde_json::to_value(self).map_err(|_| fmt::Error)?;
        let pairs = pairs.as_object().ok_or(fmt::Error)?;
        let alone = pairs.values().next().and_then(|value| value.as_str());
        if let Some(place) = alone.filter(|place| Self::parse(place).is_ok_and(|spec| spec == *self)) {
            return f.write_str(place);
        }
        let pairs = pairs.iter().map(|(key, value)| match value.as_str() {
            Some(text) if text.contains([',', '"']) => format!("{key}=\"{}\"", text.replace('"', "\"\"")),
            Some(text) => format!("{key}={text}"),
            None => format!("{key}={value}"),
        });
        f.write_str(&pairs.collect::<Vec<_>>().join(","))
    }
}

/// The place that a text alone means, by its form.
fn place(text: &str) -> Result<Place, String> {
    let ends = |endings: &[&str]| {
        let lower = text.to_ascii_lowercase();
        endings.iter().any(|ending| lower.ends_with(ending))
    };
    if text.trim().is_empty() {
        return Err("it is empty".to_owned());
    }
    if text.contains("://") && !is_address(text) {
        return Err("an address begins with https:// or http://".to_owned());
    }
    if is_reference(text) {
        Ok(Place::Dir(text.into()))
    } else if is_address(text) {
        Ok(Place::Url { url: text.to_owned(), ca_file: None, unlisted: false })
    } else if ends(&[".jsonl", ".ndjson"]) {
        Ok(Place::Jsonl(text.into()))
    } else if ends(&[".skill", ".zip", ".tar.gz", ".tgz"]) {
        Ok(Place::Archive(text.into()))
    } else {
        Ok(Place::Dir(text.into()))
    }
}

/// The pairs of a text. A value in double quotes may contain commas; `""` in it is one quote.
fn pairs_of(text: &str) -> Result<Vec<(String, String)>, String> {
    let mut pairs = Vec::new();
    let mut rest = text;
    loop {
        let Some((key, after)) = rest.split_once('=') else {
            return Err(format!("key=value is wanted: {}", escape_control(rest)));
        };
        let (value, after) = match after.strip_prefix('"') {
            Some(quoted) => quoted_value(quoted)?,
            None => match after.split_once(',') {
                Some((value, after)) => (value.to_owned(), Some(after)),
                None => (after.to_owned(), None),
            },
        };
        pairs.push((key.trim().to_owned(), value));
        match after {
            Some(after) => rest = after,
            None => return Ok(pairs),
        }
    }
}

/// A value up to its closing quote, and the text after the next comma.
fn quoted_value(text: &str) -> Result<(String, Option<&str>), String> {
    let mut value = String::new();
    let mut rest = text;
    loop {
        let Some((part, after)) = rest.split_once('"') else {
            return Err("a quote is not closed".to_owned());
        };
        value.push_str(part);
        if let Some(more) = after.strip_prefix('"') {
            value.push('"');
            rest = more;
        } else if after.is_empty() {
            return Ok((value, None));
        } else if let Some(next) = after.strip_prefix(',') {
            return Ok((value, Some(next)));
        } else {
            return Err("a comma is wanted after a closing quote".to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_alone_is_known_by_its_form() {
        for (text, place) in [
            ("skills", Place::Dir("skills".into())),
            ("./a=b", Place::Dir("./a=b".into())),
            ("x=y", Place::Dir("x=y".into())),
            ("@acme/pdf.skill", Place::Dir("@acme/pdf.skill".into())),
            ("team.JSONL", Place::Jsonl("team.JSONL".into())),
            ("a.skill", Place::Archive("a.skill".into())),
            (
                "HTTPS://x.test/a",
                Place::Url { url: "HTTPS://x.test/a".into(), ca_file: None, unlisted: false },
            ),
        ] {
            assert_eq!(SourceSpec::parse(text).unwrap().place, place, "{text}");
        }
    }

    #[test]
    fn pairs_say_all_that_a_table_says() {
        let spec =
            SourceSpec::parse("path=a,dir=\"b, \"\"c\"\"\",mount_as=team/x,prefix=p,preload=true").unwrap();
        assert_eq!(spec.place, Place::Dir("b, \"c\"".into()), "dir wins over path");
        assert_eq!(spec.mount.as_ref().map(Mount::as_str), Some("team/x"));
        let json = serde_json::to_value(&spec).unwrap();
        assert_eq!(serde_json::from_value::<SourceSpec>(json).unwrap(), spec);
        assert_eq!(SourceSpec::parse(&spec.to_string()).unwrap(), spec);
        assert_eq!(SourceSpec::dir("a b, c").to_string(), "a b, c");
        let inline = SourceSpec::parse("name=a,description=Does a.,instructions=Do it.").unwrap();
        assert!(matches!(inline.place, Place::Inline { .. }));
        for text in [
            "mcp=https://x.test/mcp,ca_file=ca.pem,token_file=token,prefix=team",
            "mcp=\"prowess serve --in \"\"a, b\"\" 'c d'\"",
        ] {
            let server = SourceSpec::parse(text).unwrap();
            let json = serde_json::to_value(&server).unwrap();
            assert_eq!(serde_json::from_value::<SourceSpec>(json).unwrap(), server, "{text}");
        }
        let words = ["prowess", "serve", "--in", "a, b"].map(str::to_owned).to_vec();
        let server = SourceSpec::parse("mcp=\"prowess serve --in 'a, b'\"").unwrap();
        assert_eq!(server.place, Place::Mcp(Server::started(words)));
        let site = SourceSpec::parse("url=https://x.test,ca_file=ca.pem,unlisted=true").unwrap();
        let (url, ca_file) = ("https://x.test".to_owned(), Some("ca.pem".into()));
        assert_eq!(site.place, Place::Url { url, ca_file, unlisted: true });
        assert_eq!(SourceSpec::parse(&site.to_string()).unwrap(), site);
    }

    #[test]
    fn what_names_no_source_is_an_error_that_names_it() {
        for (text, reason) in [
            ("", "it is empty"),
            ("dir=", "dir: it is empty"),
            ("prefix=a", "no place is named"),
            ("dir=a,url=https://x.test", "more than one place is named: dir, url"),
            ("dir=a,name=b,description=c", "more than one place is named: dir, name"),
            ("name=a", "a skill that is written here has a name and a description"),
            ("name=a,description=b,mount_as=c", "mount_as: a skill that is written here"),
            ("dir=a,mount_as=../b", "mount_as: a mount is a plain path"),
            ("dir=a,mount_as=b*", "mount_as: a mount is a plain path"),
            ("dir=a,dir=b", "this key appears twice: dir"),
            ("dir=a,colour=b", "no such key: colour"),
            ("dir=a,key_from=path", "key_from: name, folder or id is wanted: path"),
            ("dir=a,preload=maybe", "preload: true or false is wanted"),
            ("dir=a,optional=maybe", "optional: true or false is wanted"),
            ("url=https://x.test,optional=true", "optional: it belongs to a file or folder"),
            ("dir=a,prefix=b:c", "prefix: a word without"),
            ("dir=a,b", "key=value is wanted: b"),
            ("dir=\"a", "a quote is not closed"),
            ("url=ftp://x", "url: an address begins with"),
            ("ftp://x", "an address begins with"),
            ("https://", "an address begins with"),
            ("mount=x,dir=y", "no such key: mount"),
            ("dir=a,prefix= ", "prefix: a word without"),
            ("name=../x,description=y", "name: "),
            ("dir=a,ca_file=b", "ca_file belongs to a url"),
            ("dir=a,unlisted=true", "unlisted belongs to a url"),
            ("url=https://x.test,unlisted=2", "unlisted: true or false is wanted"),
            ("url=https://x.test,token_file=b", "token_file belongs to an mcp server"),
            ("mcp=", "mcp: it is empty"),
            ("mcp=ftp://x.test", "mcp: an address begins with"),
            ("mcp=a 'b", "mcp: a quote is not closed"),
            ("mcp=a,token_file=b", "mcp: a program is started without"),
            ("mcp=a,dir=b", "more than one place is named: dir, mcp"),
        ] {
            let error = SourceSpec::parse(text).unwrap_err();
            assert!(error.reason.starts_with(reason), "{text}: {error}");
            assert_eq!(error.entry, escape_control(text));
        }
    }
}
