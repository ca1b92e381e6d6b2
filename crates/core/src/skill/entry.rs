//! [`Entry`]: the data of one skill in a catalog, made from the fields of a [`Document`].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use unicode_normalization::UnicodeNormalization as _;

use crate::document::{Document, Node, Pair};
use crate::skill::fields::{self, ClientFields, boolean, list_of_texts, plain_text, tool_list};
use crate::skill::location::Origin;
use crate::skill::tool_list::ToolList;

/// Who may start a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Invocation {
    /// The model may, on its own; `disable-model-invocation: true` forbids it.
    pub model: bool,
    /// The user may, by name; `user-invocable: false` forbids it.
    pub user: bool,
}

impl Default for Invocation {
    fn default() -> Self {
        Self { model: true, user: true }
    }
}

/// The data of one skill in a catalog: all of its fields, without its body and its files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Entry {
    /// Its identifier in a catalog: its name, or `prefix:name`.
    pub key: String,
    /// Its name, NFKC-normalised and without spaces around it.
    pub name: String,
    /// Its description without spaces around it.
    pub description: String,
    /// Its licence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub license: Option<String>,
    /// What it needs from its environment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compatibility: Option<String>,
    /// The author's keys and values, in the order of the file. A value that is not text is JSON text.
    #[serde(with = "crate::skill::pairs")]
    pub metadata: Vec<(String, String)>,
    /// The tools it asks to be granted; absent and empty are different.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_tools: Option<ToolList>,
    /// Who may start it.
    pub invocation: Invocation,
    /// Its tags, from the top level or from `metadata`.
    pub tags: Vec<String>,
    /// Its version, from the top level or from `metadata`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The fields that clients understand beyond the specification.
    pub client: ClientFields,
    /// Every other field, typed, in the order of the file; also known fields with a value of the wrong shape.
    pub extra: Map<String, Value>,
    /// Where it comes from.
    pub origin: Origin,
    /// The first byte of its body.
    pub body_offset: usize,
    /// Whether its frontmatter had to be repaired.
    pub repaired: bool,
}

impl Document {
    /// The skill, unless something keeps it from loading in every profile.
    ///
    /// A missing name is the folder's name. No profile loads a skill without frontmatter or description, with YAML that
    /// cannot be repaired or exceeds the limits, or with two names or descriptions.
    pub fn skill(&self, at: &Origin) -> Option<Entry> {
        let refused = self.findings().iter().any(|finding| finding.rule.refuses());
        let has_name = self.written_name().is_some() || at.folder.is_some();
        let loads = !refused && has_name && self.description().is_some();
        loads.then(|| self.entry(at))
    }

    /// The skill even when it is broken: missing texts are empty.
    pub fn entry(&self, at: &Origin) -> Entry {
        let name = self.name(at).unwrap_or_default();
        let metadata = self.field("metadata").and_then(Node::pairs).map(texts).unwrap_or_default();
        let nested = |key: &str| self.field("metadata").and_then(|node| node.get(key));
        let kept = |pair: &&Pair| fields::shape(&pair.key).is_none_or(|shape| !shape.fits(&pair.value));
        Entry {
            key: name.clone(),
            name,
            description: self.description().unwrap_or_default().to_owned(),
            license: fields::text(self, "license"),
            compatibility: fields::text(self, "compatibility"),
            allowed_tools: self.field("allowed-tools").map(tool_list),
            invocation: Invocation {
                model: !self.field("disable-model-invocation").and_then(boolean).unwrap_or(false),
                user: self.field("user-invocable").and_then(boolean).unwrap_or(true),
            },
            tags: self.field("tags").or_else(|| nested("tags")).map(list_of_texts).unwrap_or_default(),
            version: fields::text(self, "version").or_else(|| nested("version").and_then(plain_text)),
            client: ClientFields::read(self),
            extra: self
                .pairs()
                .iter()
                .filter(kept)
                .map(|pair| (pair.key.clone(), pair.value.to_json()))
                .collect(),
            metadata,
            origin: at.clone(),
            body_offset: self.body_offset(),
            repaired: self.repaired(),
        }
    }

    /// The name as the catalog knows it, or the folder's name when there is none.
    pub fn name(&self, at: &Origin) -> Option<String> {
        self.written_name().or(at.folder.as_deref()).map(normalize)
    }

    /// The name in the file; none when it is missing, empty, null or not text.
    fn written_name(&self) -> Option<&str> {
        self.field("name").and_then(Node::said).map(str::trim).filter(|name| !name.is_empty())
    }

    /// The description without the white space around it; none when it is missing, empty, null or not text.
    pub fn description(&self) -> Option<&str> {
        self.field("description").and_then(Node::said).map(str::trim).filter(|text| !text.is_empty())
    }
}

/// The form of a name that is stored and compared.
pub(crate) fn normalize(name: &str) -> String {
    if name.is_ascii() {
        return name.trim().to_owned();
    }
    // Normalising may produce spaces at the ends, so trim afterwards.
    let normal: String = name.nfkc().collect();
    normal.trim().to_owned()
}

/// Keys and values as text, in the order of the file; the last of two equal keys wins, and null is no value.
fn texts(pairs: &[Pair]) -> Vec<(String, String)> {
    let mut places = BTreeMap::new();
    let mut texts: Vec<(String, String)> = Vec::with_capacity(pairs.len());
    for pair in pairs.iter().filter(|pair| !pair.value.is_null()) {
        let place = *places.entry(pair.key.as_str()).or_insert(texts.len());
        match texts.get_mut(place) {
            Some((_, text)) => *text = pair.value.to_text(),
            None => texts.push((pair.key.clone(), pair.value.to_text())),
        }
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    fn entry(frontmatter: &str) -> Entry {
        let text = format!("---\nname: demo\ndescription: d\n{frontmatter}---\nbody\n");
        parse(text.as_bytes()).skill(&Origin::at("x/demo/SKILL.md")).unwrap()
    }

    #[test]
    fn texts_keep_their_source_and_the_rest_keeps_its_order() {
        let entry =
            entry("license: 1.0\nzeta: 1\nversion: 1.10\nmetadata:\n  b: 2.0\n  a: {x: 1}\nalpha: [yes]\n");
        assert_eq!(entry.license.as_deref(), Some("1.0"));
        assert_eq!(entry.version.as_deref(), Some("1.10"));
        assert_eq!(entry.metadata, [("b".into(), "2.0".into()), ("a".into(), r#"{"x":1}"#.into())]);
        assert_eq!(Value::Object(entry.extra).to_string(), r#"{"zeta":1,"alpha":["yes"]}"#);
    }

    #[test]
    fn of_two_equal_metadata_keys_the_last_wins_and_shapeless_metadata_is_kept() {
        let twice = entry("metadata:\n  a: 1\n  b: x\n  a: 2\n").metadata;
        assert_eq!(twice, [("a".into(), "2".into()), ("b".into(), "x".into())]);
        assert_eq!(Value::Object(entry("metadata: [a]\n").extra).to_string(), r#"{"metadata":["a"]}"#);
        assert!(entry("metadata:\n").extra.is_empty());
    }

    #[test]
    fn tags_and_version_are_found_at_the_top_or_in_metadata() {
        assert_eq!(entry("metadata:\n  tags: a, b c\n  version: 2\n").tags, ["a", "b c"]);
        assert_eq!(entry("tags: [x, y]\nmetadata:\n  tags: z\n").tags, ["x", "y"]);
        assert_eq!(entry("metadata:\n  tags: code review\n").tags, ["code review"]);
        assert_eq!(entry("tags:\n  - code review\n  - null\n  - 7\n").tags, ["code review", "7"]);
        assert!(entry("tags: null\n").tags.is_empty());
        assert_eq!(entry("metadata:\n  version: 2\n").version.as_deref(), Some("2"));
    }

    #[test]
    fn null_is_absence_in_every_field() {
        let nothing = entry(
            "license: null\ncompatibility: ~\nversion: Null\nwhen_to_use: NULL\nmodel:\npaths: null\narguments: ~\nargument-hint: null\nmetadata:\n  a: null\n  b: ~\n  c:\n  version: ~\n  d: 'null'\n",
        );
        assert_eq!((&nothing.license, &nothing.compatibility, &nothing.version), (&None, &None, &None));
        assert_eq!(nothing.client, ClientFields::default());
        assert_eq!(nothing.metadata, [("d".to_owned(), "null".to_owned())]);
        assert_eq!(entry("license: 'null'\n").license.as_deref(), Some("null"));
        let origin = Origin::at("x/demo/SKILL.md");
        assert_eq!(parse(b"---\nname: ~\ndescription: d\n---\n").skill(&origin).unwrap().name, "demo");
        assert!(parse(b"---\nname: demo\ndescription: null\n---\n").skill(&origin).is_none());
    }

    #[test]
    fn metadata_is_one_object_in_the_order_of_the_file() {
        let entry = entry("metadata:\n  z: 1\n  a: x\n");
        let json = serde_json::to_value(&entry).unwrap();
        assert_eq!(json["metadata"].to_string(), r#"{"z":"1","a":"x"}"#);
        assert_eq!(serde_json::from_value::<Entry>(json.clone()).unwrap(), entry);
        let mut pairs = json;
        pairs["metadata"] = serde_json::json!([["z", "1"], ["a", "x"]]);
        assert_eq!(serde_json::from_value::<Entry>(pairs).unwrap(), entry);
    }

    #[test]
    fn invocation_reads_the_words_that_clients_read() {
        let both = entry("disable-model-invocation: yes\nuser-invocable: 0\n").invocation;
        assert_eq!(both, Invocation { model: false, user: false });
        assert_eq!(entry("disable-model-invocation: maybe\n").invocation, Invocation::default());
    }

    #[test]
    fn absent_and_empty_tools_differ() {
        assert_eq!(entry("").allowed_tools, None);
        assert_eq!(entry("allowed-tools: \"\"\n").allowed_tools.unwrap().grants.len(), 0);
        assert_eq!(entry("allowed-tools:\n").allowed_tools.unwrap().grants.len(), 0);
        assert_eq!(
            entry("allowed-tools: [Read, 'Bash(git add:*)']\n").allowed_tools.unwrap().grants.len(),
            2
        );
    }

    #[test]
    fn an_argument_hint_in_brackets_is_text() {
        assert_eq!(
            entry("argument-hint: [file] [--all]\n").client.argument_hint.as_deref(),
            Some("[file] [--all]")
        );
        assert_eq!(entry("argument-hint: [file]\n").client.argument_hint.as_deref(), Some("[file]"));
    }

    #[test]
    fn a_missing_name_is_the_folder_and_a_missing_description_is_no_skill() {
        let origin = Origin::at("x/demo/SKILL.md");
        assert_eq!(parse(b"---\ndescription: d\n---\n").skill(&origin).unwrap().name, "demo");
        assert!(parse(b"---\ndescription: d\n---\n").skill(&Origin::text("<stdin>")).is_none());
        assert!(parse(b"---\nname: demo\ndescription: '  '\n---\n").skill(&origin).is_none());
    }
}
