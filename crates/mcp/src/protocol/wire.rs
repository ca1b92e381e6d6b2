//! The wire types of the skills extension (SEP-2640), for which rmcp 3.8 has none.

use prowess::Digest;
use rmcp::model::CacheScope;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

/// The name of the extension in the capabilities.
pub(crate) const EXTENSION: &str = "io.modelcontextprotocol/skills";
/// Lists the skills of a server, in pages.
pub(crate) const LIST: &str = "skills/list";
/// One skill by the URI of its SKILL.md, listed or not.
pub(crate) const GET: &str = "skills/get";
/// The direct children of a folder.
pub(crate) const DIRECTORY: &str = "resources/directory/read";
/// The MIME type of a folder.
pub(crate) const FOLDER_TYPE: &str = "inode/directory";

/// The limits that every host must accept for one skill; a server should not exceed them.
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

/// The files of a skill: a complete list, or `dynamic`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Resources {
    /// Every file, SKILL.md included, each once.
    Files(Vec<File>),
    /// The files are not known before they are read.
    Dynamic,
}

/// One file of a skill. Strict clients accept these three members and no others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct File {
    pub(crate) uri: String,
    pub(crate) digest: Digest,
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

/// The parameters of `skills/list`.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct ListParams {
    #[serde(default)]
    pub(crate) cursor: Option<String>,
}

/// The parameters of `skills/get`.
#[derive(Debug, Deserialize)]
pub(crate) struct GetParams {
    pub(crate) uri: String,
}

/// The parameters of `resources/directory/read`.
#[derive(Debug, Deserialize)]
pub(crate) struct DirectoryParams {
    pub(crate) uri: String,
    #[serde(default)]
    pub(crate) cursor: Option<String>,
}

/// The result of `skills/list`.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ListResult {
    pub(crate) skills: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_cursor: Option<String>,
}

/// The result of `skills/get`.
#[derive(Debug, Serialize)]
pub(crate) struct GetResult {
    pub(crate) skill: Value,
}

/// The result of `resources/directory/read`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DirectoryResult {
    pub(crate) resources: Vec<rmcp::model::Resource>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next_cursor: Option<String>,
}

/// How the protocol version of a request was chosen. Results have more members from 2026-07-28 on, which strict older
/// clients reject; rmcp adds and removes them on its own result types only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Era {
    /// Negotiated by `initialize`: versions before 2026-07-28.
    Handshake,
    /// Named in each request: 2026-07-28 and later.
    Sessionless,
}

/// Adds the members of the era. `ttl` is `None` for results that are not cacheable (`resources/directory/read`).
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
    fn resources_are_a_list_or_dynamic() {
        assert_eq!(serde_json::to_string(&Resources::Dynamic).unwrap(), "\"dynamic\"");
        let file = File { uri: "skill://a/SKILL.md".to_owned(), digest: [0xa5; 32].into(), size: 7 };
        let files = serde_json::to_string(&Resources::Files(vec![file])).unwrap();
        let digest = "a5".repeat(32);
        let expected = format!(r#"[{{"uri":"skill://a/SKILL.md","digest":"sha256:{digest}","size":7}}]"#);
        assert_eq!(files, expected);
    }

    #[test]
    fn only_sessionless_results_have_cache_members() {
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
