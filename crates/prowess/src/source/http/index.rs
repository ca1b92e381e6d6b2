//! The index of a site: which skills it offers, in each format that is in use.

use prowess_core::digest::NoDigest;
use prowess_core::internal::json_values;
use prowess_core::path::PathError;
use prowess_core::{Digest, RelPath};
use serde_json::{Map, Value};

use crate::error::escape_control;
use crate::net::{HttpError, HttpLimits, below, resolved};

/// The `$schema` of an index of version 0.2.
const SCHEMA: &str = "https://schemas.agentskills.io/discovery/0.2.0/schema.json";

/// The longest description in an index.
const MAX_DESCRIPTION: usize = 1_024;

/// A skill that an index offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Listed {
    /// Its id: a part of its address, and what it is requested by.
    pub(super) id: String,
    /// Its display name, when the index has one beside the id.
    pub(super) name: Option<String>,
    /// Its description in the index; none when only its SKILL.md has one.
    pub(super) description: Option<String>,
    pub(super) content: Content,
}

/// Where the files of a skill are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// One SKILL.md with this digest.
    Text { url: String, digest: Digest },
    /// An archive with this digest, SKILL.md at its root.
    Archive { url: String, digest: Digest },
    /// These files below an address, without digests.
    Files { base: String, files: Vec<RelPath> },
}

impl Content {
    /// The address that is fetched first.
    pub(super) fn address(&self) -> String {
        match self {
            Self::Text { url, .. } | Self::Archive { url, .. } => url.clone(),
            Self::Files { base, .. } => format!("{base}/SKILL.md"),
        }
    }
}

/// The skills of an index, and the errors of invalid entries.
#[derive(Debug, Default)]
pub(super) struct Index {
    pub(super) skills: Vec<Listed>,
    pub(super) problems: Vec<String>,
}

impl Index {
    /// Reads an index that was fetched from this address.
    pub(super) fn read(bytes: &[u8], url: &str, limits: &HttpLimits) -> Result<Self, String> {
        if json_values(bytes) > limits.index_values {
            return Err(format!("it has more than {} values", limits.index_values));
        }
        let index: Value = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        let mut read = Self::default();
        let (entries, schema) = match &index {
            Value::Array(entries) => (entries, None),
            Value::Object(object) => match object.get("skills") {
                Some(Value::Array(entries)) => (entries, object.get("$schema")),
                _ => return Err("skills: a list is wanted".to_owned()),
            },
            _ => return Err("a list of skills is wanted".to_owned()),
        };
        let described = match schema {
            None => false,
            Some(Value::String(schema)) if schema == SCHEMA => true,
            Some(other) => {
                let other = escape_control(other.as_str().unwrap_or_default());
                return Err(format!("this $schema is not known, so nothing of it is read: {other}"));
            }
        };
        if entries.len() > limits.skills {
            return Err(format!("it has {} skills, at most {}", entries.len(), limits.skills));
        }
        for (number, entry) in entries.iter().enumerate() {
            let listed =
                if described { described_entry(entry, url) } else { plain_entry(entry, url, limits.files) };
            match listed {
                Ok(listed) => read.skills.push(listed),
                Err(reason) => {
                    let name =
                        entry.get("name").and_then(Value::as_str).map(escape_control).unwrap_or_default();
                    read.problems.push(format!("skills[{number}] {name}: {reason}"));
                }
            }
        }
        Ok(read)
    }
}

fn text<'e>(entry: &'e Map<String, Value>, key: &str) -> Result<&'e str, String> {
    match entry.get(key) {
        Some(Value::String(text)) if !text.trim().is_empty() => Ok(text),
        Some(_) => Err(format!("{key}: a text is wanted")),
        None => Err(format!("{key} is missing")),
    }
}

fn skill_name(name: &str) -> Result<String, String> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let edges = name.starts_with('-') || name.ends_with('-') || name.contains("--");
    if name.is_empty() || name.len() > 64 || !name.bytes().all(plain) || edges {
        return Err("name: 1 to 64 of a-z, 0-9 and single hyphens inside are wanted".to_owned());
    }
    Ok(name.to_owned())
}

/// The description in an entry. An empty text stays: the entry is valid, and the skill is a broken one.
fn description(entry: &Map<String, Value>) -> Result<Option<String>, String> {
    let description = match entry.get("description") {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::String(description)) => description,
        Some(_) => return Err("description: a text is wanted".to_owned()),
    };
    if description.chars().count() > MAX_DESCRIPTION {
        return Err(format!("description: more than {MAX_DESCRIPTION} characters"));
    }
    Ok(Some(description.clone()))
}

fn bad(error: HttpError) -> String {
    format!("url: {error}")
}

/// An entry of version 0.2: its content has an address, a type and a digest.
fn described_entry(entry: &Value, index: &str) -> Result<Listed, String> {
    let entry = entry.as_object().ok_or("an entry is a table")?;
    let id = skill_name(text(entry, "name")?)?;
    let kind = text(entry, "type")?;
    if !matches!(kind, "skill-md" | "archive") {
        return Err(format!("this type is not known, and is passed over: {}", escape_control(kind)));
    }
    let description = Some(description(entry)?.ok_or("description is missing")?);
    let url = resolved(index, text(entry, "url")?).map_err(bad)?;
    if entry.contains_key("sha256") && !entry.contains_key("digest") {
        return Err("digest is missing; it is under the wrong key, sha256".to_owned());
    }
    let digest = text(entry, "digest")?.parse().map_err(|error: NoDigest| format!("digest: {error}"))?;
    let content =
        if kind == "archive" { Content::Archive { url, digest } } else { Content::Text { url, digest } };
    Ok(Listed { id, name: None, description, content })
}

/// An entry of version 0.1 or of a plain list: files below the index, or below a path in the entry.
fn plain_entry(entry: &Value, index: &str, most: usize) -> Result<Listed, String> {
    let folder = resolved(index, ".").map_err(bad)?;
    let entry = match entry {
        Value::String(id) => return plain(id, None, None, vec![skill_md()?], &folder),
        Value::Object(entry) => entry,
        _ => return Err("an entry is a table".to_owned()),
    };
    let (id, name) = if entry.contains_key("id") {
        let name = entry.get("name").and_then(Value::as_str).filter(|name| !name.trim().is_empty());
        (text(entry, "id")?, name.map(str::to_owned))
    } else {
        (text(entry, "name")?, None)
    };
    let description = description(entry)?;
    let files = match entry.get("files") {
        None => vec![skill_md()?],
        Some(Value::Array(files)) if files.len() > most => {
            return Err(format!("files: there are {}, at most {most}", files.len()));
        }
        Some(Value::Array(files)) => {
            let path = |file: &Value| match file {
                Value::String(path) => {
                    RelPath::parse(path).map_err(|error: PathError| format!("files: {error}"))
                }
                _ => Err("files: a list of paths is wanted".to_owned()),
            };
            files.iter().map(path).collect::<Result<Vec<_>, _>>()?
        }
        Some(_) => return Err("files: a list of paths is wanted".to_owned()),
    };
    if !files.iter().any(|path| path.as_str() == "SKILL.md") {
        return Err("files: SKILL.md is missing".to_owned());
    }
    if entry.contains_key("path") && !entry.contains_key("files") {
        let base = resolved(index, text(entry, "path")?).map_err(bad)?;
        let base = base.trim_end_matches('/').to_owned();
        return Ok(Listed {
            id: skill_name(id)?,
            name,
            description,
            content: Content::Files { base, files },
        });
    }
    plain(id, name, description, files, &folder)
}

fn plain(
    id: &str,
    name: Option<String>,
    description: Option<String>,
    files: Vec<RelPath>,
    folder: &str,
) -> Result<Listed, String> {
    // The name becomes a part of an address, so it must not be able to leave the folder.
    let id = RelPath::from_name(id).map_err(|error| format!("name: {error}"))?;
    let base = below(folder, id.as_str()).map_err(bad)?;
    Ok(Listed { id: id.as_str().to_owned(), name, description, content: Content::Files { base, files } })
}

fn skill_md() -> Result<RelPath, String> {
    RelPath::parse("SKILL.md").map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: &str = "https://x.test/.well-known/agent-skills/index.json";

    fn limits(skills: usize) -> HttpLimits {
        HttpLimits { skills, files: 3, ..HttpLimits::default() }
    }

    fn digest() -> String {
        format!("sha256:{}", "0a".repeat(32))
    }

    #[test]
    fn every_form_of_index_is_read() {
        let described = serde_json::json!({"$schema": SCHEMA, "unknown": 1, "skills": [
            {"name": "a", "type": "skill-md", "description": "A.", "url": "a/SKILL.md", "digest": digest(), "more": 2},
            {"name": "b", "type": "archive", "description": "B.", "url": "//cdn.test/b.zip", "digest": digest()},
        ]});
        let index = Index::read(described.to_string().as_bytes(), AT, &limits(10)).unwrap();
        assert!(index.problems.is_empty(), "{:?}", index.problems);
        let places: Vec<String> = index.skills.iter().map(|skill| skill.content.address()).collect();
        assert_eq!(places, ["https://x.test/.well-known/agent-skills/a/SKILL.md", "https://cdn.test/b.zip"]);

        let plain = r#"[{"name":"c","description":"C.","files":["SKILL.md","references/x.md"]}, "d",
            {"id":"e","name":"E e","version":"2"}, {"name":"f","description":"F.","path":"/f-files/"}]"#;
        let index = Index::read(plain.as_bytes(), "https://x.test/s/index.json", &limits(10)).unwrap();
        assert!(index.problems.is_empty(), "{:?}", index.problems);
        let places: Vec<String> = index.skills.iter().map(|skill| skill.content.address()).collect();
        assert_eq!(
            places,
            [
                "https://x.test/s/c/SKILL.md",
                "https://x.test/s/d/SKILL.md",
                "https://x.test/s/e/SKILL.md",
                "https://x.test/f-files/SKILL.md"
            ]
        );
    }

    #[test]
    fn an_entry_that_is_wrong_is_named_and_the_others_stand() {
        let entry = |change: &dyn Fn(&mut Map<String, Value>)| {
            let mut entry = serde_json::json!({"name": "a", "type": "skill-md", "description": "A.", "url": "a", "digest": digest()});
            change(entry.as_object_mut().unwrap());
            entry
        };
        let set = |key: &'static str, value: Value| {
            entry(&move |entry| {
                entry.insert(key.to_owned(), value.clone());
            })
        };
        let entries = vec![
            set("name", "A".into()),
            set("type", "task".into()),
            set("description", "x".repeat(1_025).into()),
            set("url", "file:///etc/passwd".into()),
            set("digest", "sha256:0A".into()),
            entry(&|entry| {
                entry.remove("digest");
                entry.insert("sha256".to_owned(), "x".into());
            }),
            Value::Null,
            entry(&|_| {}),
        ];
        let index = serde_json::json!({"$schema": SCHEMA, "skills": entries});
        let index = Index::read(index.to_string().as_bytes(), AT, &limits(10)).unwrap();
        assert_eq!((index.skills.len(), index.problems.len()), (1, 7));
        assert!(index.problems[5].contains("wrong key, sha256"), "{:?}", index.problems);
        let plain = r#"[{"name":"../x","description":"d"},{"name":"a","files":["../SKILL.md"]},
            {"name":"a","files":["x"]},{"name":"a","files":["SKILL.md","a","b","c"]},{"name":"a","files":1},{"name":1},{"name":"a","path":"file:///x"}]"#;
        let index = Index::read(plain.as_bytes(), AT, &limits(10)).unwrap();
        assert_eq!((index.skills.len(), index.problems.len()), (0, 7));
    }

    #[test]
    fn what_is_no_index_is_not_read() {
        for text in ["", "{", "1", "{}", r#"{"skills":1}"#, r#"{"$schema":"https://x.test/9","skills":[]}"#] {
            assert!(Index::read(text.as_bytes(), AT, &limits(10)).is_err(), "{text}");
        }
        assert!(Index::read(br#"["a","b"]"#, AT, &limits(1)).is_err());
    }
}
