//! The validation of entries in the list of another server.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use prowess::digest::NoDigest;
use prowess::path::PathError;
use prowess::{Digest, Document, FileEntry, Manifest, RelPath, parse};
use serde_json::{Map, Value};

use crate::protocol::uri::decode;
use crate::source::McpLimits;

/// The end of the URI of every skill.
const OWN: &str = "/SKILL.md";
/// The maximum length of a URI.
const MAX_URI: usize = 2048;
/// The maximum size of a frontmatter, in bytes of JSON.
const MAX_FRONTMATTER: usize = prowess::limits::MAX_FILE_BYTES;

/// A skill in the list of another server.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::source) struct ListedSkill {
    /// The URI of its SKILL.md.
    pub(in crate::source) uri: String,
    /// Its whole frontmatter.
    pub(in crate::source) frontmatter: Map<String, Value>,
    /// Its files by path; `None` when they are dynamic.
    pub(in crate::source) files: Option<BTreeMap<String, ListedFile>>,
}

/// A file of a listed skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::source) struct ListedFile {
    /// Its URI as the server spells it, which is used in requests.
    pub(in crate::source) uri: String,
    path: RelPath,
    pub(in crate::source) size: u64,
    pub(in crate::source) digest: Digest,
}

/// Why an entry is rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::source) struct InvalidEntry {
    /// Its URI as the server spells it; may be empty.
    pub(in crate::source) uri: String,
    pub(in crate::source) reason: String,
}

impl ListedSkill {
    /// Validates an entry.
    pub(in crate::source) fn read(entry: &Value, limits: &McpLimits) -> Result<Self, InvalidEntry> {
        let uri = entry.get("uri").and_then(Value::as_str).unwrap_or_default();
        let bad = |reason: String| InvalidEntry { uri: uri.to_owned(), reason };
        let name =
            plain_uri(uri).and_then(|()| name_in(uri)).map_err(|reason| bad(format!("uri: {reason}")))?;
        let Some(Value::Object(frontmatter)) = entry.get("frontmatter") else {
            return Err(bad("frontmatter: an object is wanted".to_owned()));
        };
        if serde_json::to_vec(frontmatter).map_or(true, |text| text.len() > MAX_FRONTMATTER) {
            return Err(bad(format!("frontmatter: it has more than {MAX_FRONTMATTER} bytes")));
        }
        match frontmatter.get("name").and_then(Value::as_str) {
            Some(own) if own == name => {}
            _ => {
                let reason = "the name in the frontmatter is not the last segment of the uri before SKILL.md";
                return Err(bad(format!("{reason}: {}", crate::source::shown(&name))));
            }
        }
        let files = match entry.get("resources") {
            Some(Value::String(word)) if word == "dynamic" => None,
            Some(Value::Array(listed)) => {
                let read =
                    read_files(listed, uri, limits).map_err(|reason| bad(format!("resources: {reason}")))?;
                Some(read)
            }
            _ => return Err(bad("resources: a list or \"dynamic\" is wanted".to_owned())),
        };
        let mut frontmatter = frontmatter.clone();
        // In YAML, null would become a text.
        frontmatter.retain(|_, value| !value.is_null());
        Ok(Self { uri: uri.to_owned(), frontmatter, files })
    }

    /// The frontmatter as a document without a body, so that the same parser and rules apply as for a file.
    pub(in crate::source) fn document(&self) -> Document {
        crate::library::published::announced(&self.frontmatter)
    }

    /// The files, unless they are dynamic.
    pub(in crate::source) fn manifest(&self) -> Option<Manifest> {
        let file = |file: &ListedFile| {
            let mut entry = FileEntry::new(file.path.clone(), file.size);
            entry.digest = Some(file.digest);
            entry
        };
        Some(Manifest::new(self.files.as_ref()?.values().map(file).collect()))
    }

    /// Compares the received bytes of a file with the entry; returns how they differ.
    pub(in crate::source) fn mismatch(&self, path: &str, file: &ListedFile, bytes: &[u8]) -> Option<String> {
        let size = bytes.len() as u64;
        if size != file.size {
            return Some(format!("its size is not the listed one: {size} bytes, listed {}", file.size));
        }
        let digest = prowess::registry::digests::of_bytes(bytes);
        if digest != file.digest {
            return Some(format!("its digest is not the listed one: {digest}, listed {}", file.digest));
        }
        if path != "SKILL.md" {
            return None;
        }
        let field = differing(&parse(bytes).frontmatter_json(), &self.frontmatter)?;
        Some(format!("its frontmatter is not the listed one: {}", crate::source::shown(&field)))
    }
}

/// Checks that a URI has only valid characters, and no query or fragment.
fn plain_uri(uri: &str) -> Result<(), String> {
    let plain = |byte: u8| byte.is_ascii_graphic() && !b"?#\\\"<>^`{|}".contains(&byte);
    if uri.len() > MAX_URI {
        return Err(format!("it has more than {MAX_URI} bytes"));
    }
    if !uri.bytes().all(plain) {
        return Err("it has characters that a uri of a skill does not have".to_owned());
    }
    let scheme = uri.split_once("://").map(|(scheme, _)| scheme);
    let known = |scheme: &str| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    };
    if scheme.is_some_and(known) { Ok(()) } else { Err("skill://NAME/SKILL.md is wanted".to_owned()) }
}

/// The name of the skill in the URI of a SKILL.md.
fn name_in(uri: &str) -> Result<String, String> {
    let root = uri.strip_suffix(OWN).and_then(|root| root.split_once("://")).map(|(_, path)| path);
    let name = root.and_then(|path| path.rsplit('/').next()).and_then(decode);
    name.filter(|name| !name.is_empty()).ok_or_else(|| "it does not end in NAME/SKILL.md".to_owned())
}

fn read_files(
    listed: &[Value],
    own: &str,
    limits: &McpLimits,
) -> Result<BTreeMap<String, ListedFile>, String> {
    if listed.len() > limits.files {
        return Err(format!("it has {} files, at most {}", listed.len(), limits.files));
    }
    let root = own.strip_suffix("SKILL.md").unwrap_or(own);
    let mut files = BTreeMap::new();
    let mut total = 0u64;
    for (at, value) in listed.iter().enumerate() {
        let uri = value.get("uri").and_then(Value::as_str);
        let uri = uri.ok_or_else(|| format!("file [{at}] has no uri"))?;
        let shown = crate::source::shown(uri);
        plain_uri(uri).map_err(|reason| format!("{shown}: {reason}"))?;
        let path = segments_below(root, uri);
        let path = path.ok_or_else(|| format!("this is not a path in the skill: {shown}"))?;
        // All listed files must exist, so one invalid path rejects the whole skill.
        let refused = |error: PathError| format!("this path is refused: {shown}: {}", error.rule().problem());
        let path = RelPath::parse(&path).map_err(refused)?;
        let digest = value.get("digest").and_then(Value::as_str).unwrap_or_default();
        let digest = digest.parse().map_err(|error: NoDigest| format!("{shown}: digest: {error}"))?;
        let size = value.get("size").and_then(Value::as_u64);
        let size = size.ok_or_else(|| format!("{shown}: size: a number of bytes is wanted"))?;
        total = total.saturating_add(size);
        if total > limits.skill_bytes {
            return Err(format!("its files have more than {} bytes", limits.skill_bytes));
        }
        let file = ListedFile { uri: uri.to_owned(), path: path.clone(), size, digest };
        if files.insert(path.as_str().to_owned(), file).is_some() {
            return Err(format!("this file is listed twice: {shown}"));
        }
    }
    match files.get("SKILL.md") {
        Some(file) if file.uri == own => Ok(files),
        _ => Err("SKILL.md is missing".to_owned()),
    }
}

/// The decoded path of a URI below the folder of its skill, whose URI ends in a slash.
fn segments_below(root: &str, uri: &str) -> Option<String> {
    let segments = uri.strip_prefix(root)?.split('/');
    // Decoding must not add segments.
    let plain = |segment: &str| decode(segment).filter(|text| !text.contains(['/', '\\']));
    Some(segments.map(plain).collect::<Option<Vec<_>>>()?.join("/"))
}

/// The first field in which two frontmatters differ. A null field counts as absent.
fn differing(file: &Map<String, Value>, listed: &Map<String, Value>) -> Option<String> {
    let of = |map: &Map<String, Value>, key: &str| map.get(key).cloned().unwrap_or(Value::Null);
    let mut keys = listed.keys().chain(file.keys());
    keys.find(|key| !same(&of(file, key), &of(listed, key))).cloned()
}

/// Whether two JSON values are equal. Numbers are compared by value: many writers do not distinguish 1 and 1.0.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => {
            a == b || a.as_f64().partial_cmp(&b.as_f64()) == Some(Ordering::Equal)
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => differing(a, b).is_none(),
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn file(uri: &str) -> Value {
        json!({"uri": uri, "digest": format!("sha256:{}", "0a".repeat(32)), "size": 3})
    }

    fn entry(uri: &str, files: &[Value]) -> Value {
        json!({"uri": uri, "frontmatter": {"name": "pdf", "description": "D."}, "resources": files})
    }

    fn reason(entry: &Value) -> String {
        ListedSkill::read(entry, &McpLimits::default().with_files(3).with_skill_bytes(10)).unwrap_err().reason
    }

    #[test]
    fn a_valid_entry_is_accepted_with_any_scheme_and_folders() {
        for own in ["skill://pdf/SKILL.md", "skill://acme/a%20b/pdf/SKILL.md", "https://x.test/pdf/SKILL.md"]
        {
            let more = own.replace("SKILL.md", "sub/SKILL.md");
            let odd = own.replace("SKILL.md", "a%20b.md");
            let listed =
                ListedSkill::read(&entry(own, &[file(own), file(&more), file(&odd)]), &McpLimits::default())
                    .unwrap();
            let files = listed.manifest().unwrap();
            let paths: Vec<&str> = files.files.iter().map(|file| file.path.as_str()).collect();
            assert_eq!(paths, ["SKILL.md", "a b.md", "sub/SKILL.md"]);
        }
        let mut dynamic = entry("skill://pdf/SKILL.md", &[]);
        dynamic["resources"] = "dynamic".into();
        assert!(ListedSkill::read(&dynamic, &McpLimits::default()).unwrap().manifest().is_none());
    }

    #[test]
    fn an_invalid_entry_names_the_broken_rule() {
        let own = "skill://pdf/SKILL.md";
        for (uri, wanted) in [
            ("", "uri: skill://NAME"),
            ("pdf/SKILL.md", "uri: skill://NAME"),
            ("skill://pdf", "uri: it does not end in"),
            ("skill:///SKILL.md", "uri: it does not end in"),
            ("skill://pdf/SKILL.md?x", "uri: it has characters"),
            ("skill://p\u{1b}df/SKILL.md", "uri: it has characters"),
            ("skill://word/SKILL.md", "the name in the frontmatter is not"),
        ] {
            assert!(reason(&entry(uri, &[file(uri)])).starts_with(wanted), "{uri}");
        }
        for (bad, wanted) in [
            ("skill://other/x", "resources: this is not a path in the skill"),
            (
                "skill://pdf/../x",
                "resources: this path is refused: skill://pdf/../x: path steps out with `..`",
            ),
            ("skill://pdf/%2e%2e/x", "resources: this path is refused"),
            ("skill://pdf/a%2fb", "resources: this is not a path in the skill"),
            ("skill://pdf//x", "resources: this path is refused"),
            ("skill://pdf/", "resources: this path is refused"),
            (
                "skill://pdf/a%3F.txt",
                "resources: this path is refused: skill://pdf/a%3F.txt: path has a character that Windows forbids",
            ),
            (own, "resources: this file is listed twice"),
            ("skill://pdf/SKILL%2Emd", "resources: this file is listed twice"),
        ] {
            assert!(reason(&entry(own, &[file(own), file(bad)])).starts_with(wanted), "{bad}");
        }
        let files =
            |count: usize| (0..count).map(|at| file(&format!("skill://pdf/{at}"))).collect::<Vec<_>>();
        assert_eq!(reason(&entry(own, &files(4))), "resources: it has 4 files, at most 3");
        assert_eq!(reason(&entry(own, &files(3))), "resources: SKILL.md is missing");
        assert_eq!(reason(&entry(own, &[file(own), json!(7)])), "resources: file [1] has no uri");
        let mut large = file(own);
        large["size"] = 11.into();
        assert_eq!(reason(&entry(own, &[large])), "resources: its files have more than 10 bytes");
        for (member, value) in [("digest", json!("sha256:0A")), ("size", json!(-1)), ("size", Value::Null)] {
            let mut odd = file(own);
            odd[member] = value;
            assert!(reason(&entry(own, &[odd])).contains(&format!("{member}: ")), "{member}");
        }
        for resources in [Value::Null, json!("static"), json!({})] {
            let mut odd = entry(own, &[]);
            odd["resources"] = resources;
            assert_eq!(reason(&odd), "resources: a list or \"dynamic\" is wanted");
        }
    }

    #[test]
    fn frontmatter_is_compared_field_by_field_and_both_ways() {
        let of = |value: Value| value.as_object().cloned().unwrap();
        let listed = of(json!({"name": "a", "metadata": {"v": 1}, "x": null}));
        assert_eq!(differing(&of(json!({"metadata": {"v": 1.0}, "name": "a"})), &listed), None);
        assert_eq!(
            differing(&of(json!({"name": "b", "metadata": {"v": 1}})), &listed).as_deref(),
            Some("name")
        );
        assert_eq!(differing(&of(json!({"name": "a"})), &listed).as_deref(), Some("metadata"));
        let more = of(json!({"name": "a", "metadata": {"v": 1}, "allowed-tools": "Bash"}));
        assert_eq!(differing(&more, &listed).as_deref(), Some("allowed-tools"));
    }
}
