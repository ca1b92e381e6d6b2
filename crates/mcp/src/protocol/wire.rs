//! The skills extension (SEP-2640) as it is on the wire, and nothing else: rmcp 3.8 has no types for it.

use rmcp::model::CacheScope;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

/// The name of the extension among the capabilities.
pub(crate) const EXTENSION: &str = "io.modelcontextprotocol/skills";
/// Lists the skills of a server, in pages.
pub(crate) const LIST: &str = "skills/list";
/// One skill by the URI of its SKILL.md, listed or not.
pub(crate) const GET: &str = "skills/get";
/// The direct children of a folder.
pub(crate) const DIRECTORY: &str = "resources/directory/read";
/// What a folder is said to be.
pub(crate) const FOLDER_TYPE: &str = "inode/directory";

/// What every host must be able to take of one skill; a server should not serve more.
pub(crate) use prowess::limits::{MAX_SKILL_BYTES as MAX_BYTES, MAX_SKILL_FILES as MAX_RESOURCES};

/// One skill of a list.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Skill {
    /// The URI of its SKILL.md.
    pub(crate) uri: String,
    /// Its frontmatter, verbatim.
    pub(crate) frontmatter: Map<String, Value>,
    /// Its files.
    pub(crate) resources: Resources,
}

/// The files of a skill: all of them, or the word that they are made on demand.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Resources {
    /// Every file, SKILL.md included, each once.
    Files(Vec<File>),
    /// Nobody knows before reading.
    Dynamic,
}

/// One file of a skill. A strict reader takes these three members and no other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct File {
    pub(crate) uri: String,
    /// `sha256:` and 64 lower-case hexadecimal digits.
    pub(crate) digest: String,
    pub(crate) size: u64,
}

impl Serialize for Resources {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Files(files) => files.serialize(to),
            Self::Dynamic => to.serialize_str("dynamic"),
        }
    }
}

/// What `skills/list` is asked.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct ListParams {
    #[serde(default)]
    pub(crate) cursor: Option<String>,
}

/// What `skills/get` is asked.
#[derive(Debug, Deserialize)]
pub(crate) struct GetParams {
    pub(crate) uri: String,
}

/// What `resources/directory/read` is asked.
#[derive(Debug, Deserialize)]
pub(crate) struct DirectoryParams {
    pub(crate) uri: String,
    #[serde(default)]
    pub(crate) cursor: Option<String>,
}

/// What `skills/list` answers.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListResult {
    pub(crate) skills: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_cursor: Option<String>,
}

/// What `skills/get` answers.
#[derive(Debug, Serialize)]
pub(crate) struct GetResult {
    pub(crate) skill: Value,
}

/// What `resources/directory/read` answers.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DirectoryResult {
    pub(crate) resources: Vec<rmcp::model::Resource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_cursor: Option<String>,
}

/// Which members a result has beside its own: they exist from 2026-07-28 on, and strict older peers refuse them.
/// rmcp adds and strips them on its own results only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Era {
    /// Negotiated by `initialize`.
    Handshake,
    /// Said anew in each request.
    Sessionless,
}

/// Adds what the era wants. `ttl` is `None` for results that are not cacheable (`resources/directory/read`).
pub(crate) fn finish(
    result: &impl Serialize,
    era: Era,
    ttl: Option<(u64, CacheScope)>,
) -> Result<Value, serde_json::Error> {
    let mut value = serde_json::to_value(result)?;
    if let (Era::Sessionless, Some(map)) = (era, value.as_object_mut()) {
        map.insert("resultType".to_owned(), "complete".into());
        if let Some((ms, scope)) = ttl {
            map.insert("ttlMs".to_owned(), ms.into());
            map.insert("cacheScope".to_owned(), serde_json::to_value(scope)?);
        }
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_are_a_list_or_a_word() {
        assert_eq!(serde_json::to_string(&Resources::Dynamic).unwrap(), "\"dynamic\"");
        let file = File { uri: "skill://a/SKILL.md".to_owned(), digest: "sha256:00".to_owned(), size: 7 };
        let files = serde_json::to_string(&Resources::Files(vec![file])).unwrap();
        assert_eq!(files, r#"[{"uri":"skill://a/SKILL.md","digest":"sha256:00","size":7}]"#);
    }

    #[test]
    fn members_of_the_sessionless_era_are_only_there() {
        let result = ListResult::default();
        let old = finish(&result, Era::Handshake, Some((0, CacheScope::Private))).unwrap();
        assert_eq!(old.to_string(), r#"{"skills":[]}"#);
        let new = finish(&result, Era::Sessionless, Some((0, CacheScope::Private))).unwrap();
        assert_eq!(
            new.to_string(),
            r#"{"skills":[],"resultType":"complete","ttlMs":0,"cacheScope":"private"}"#
        );
    }
}
