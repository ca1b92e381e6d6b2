//! A skill as plain data: to a dictionary in the specification's form, back from one, and to a SKILL.md.

use serde_json::{Map, Value};

use crate::document::{Document, markdown, parse, without_blank_lines};
use crate::skill::location::{Location, Origin};
use crate::skill::{CLIENT_FIELDS, Entry, FieldShape, known_keys, shape, tool_list};

/// A whole skill: its entry and its instructions.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct SkillData {
    /// The entry.
    pub entry: Entry,
    /// The instructions, without the blank lines around them.
    pub instructions: String,
}

/// Why a JSON object is not a skill.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JsonError {
    /// A required key is missing or empty.
    #[error("the skill has no {0}; give it one as text")]
    Missing(&'static str),
    /// A key holds something of the wrong shape.
    #[error("{key} must be {expected}")]
    WrongType {
        /// The key.
        key: String,
        /// What it should hold.
        expected: &'static str,
    },
    /// The tools are given under both `allowed-tools` and `allowed_tools`.
    #[error("allowed-tools and allowed_tools are the same; give one of them")]
    TwoTools,
    /// The fields cannot be written as frontmatter.
    #[error("the fields cannot be written as frontmatter: {0}")]
    NotWritable(String),
}

impl Entry {
    /// The fields in the specification's form: `allowed-tools` is one text, absent keys are absent.
    ///
    /// The six fields of the specification come first, then those of clients, then all others.
    ///
    /// ```
    /// use prowess_core::{Origin, parse};
    ///
    /// let document = parse(b"---\ndescription: d\nallowed-tools: [Read, Grep]\nname: a\n---\n");
    /// let entry = document.skill(&Origin::at("a/SKILL.md")).unwrap();
    /// let dict = serde_json::Value::Object(entry.to_dict());
    /// assert_eq!(dict.to_string(), r#"{"name":"a","description":"d","allowed-tools":"Read Grep"}"#);
    /// ```
    pub fn to_dict(&self) -> Map<String, Value> {
        let mut dict = Map::new();
        let mut put = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                dict.insert(key.to_owned(), value);
            }
        };
        let text = |text: &Option<String>| text.clone().map(Value::String);
        put("name", Some(self.name.clone().into()));
        put("description", Some(self.description.clone().into()));
        put("license", text(&self.license));
        put("compatibility", text(&self.compatibility));
        let metadata: Map<String, Value> =
            self.metadata.iter().map(|(key, value)| (key.clone(), value.clone().into())).collect();
        put("metadata", (!metadata.is_empty()).then_some(Value::Object(metadata)));
        put("allowed-tools", self.allowed_tools.as_ref().map(|tools| tools.to_spec_string().into()));
        for field in CLIENT_FIELDS {
            put(field.key, (field.json)(self));
        }
        for (key, value) in &self.extra {
            dict.insert(key.clone(), value.clone());
        }
        dict
    }
}

impl SkillData {
    /// A skill from an entry and its instructions.
    pub fn new(entry: Entry, instructions: &str) -> Self {
        Self { entry, instructions: without_blank_lines(instructions).to_owned() }
    }

    /// The skill of a document, unless something keeps it from loading.
    pub fn from_document(document: &Document, at: &Origin) -> Option<Self> {
        Some(Self { entry: document.skill(at)?, instructions: document.body().to_owned() })
    }

    /// The fields, then `instructions`, then `path` if the skill has one.
    pub fn to_dict(&self) -> Map<String, Value> {
        let mut dict = self.entry.to_dict();
        dict.insert("instructions".to_owned(), self.instructions.clone().into());
        if let Some(place) = self.entry.origin.place() {
            dict.insert("path".to_owned(), place.into());
        }
        dict
    }

    /// The skill of a dictionary. `allowed-tools` may also be called `allowed_tools`, and be a text or a list.
    /// `instructions` and `path` are optional.
    pub fn from_dict(dict: &Map<String, Value>) -> Result<Self, JsonError> {
        Self::read_dict(dict).map(|(skill, _)| skill)
    }

    /// The skill of a dictionary, and the document that it was read from.
    pub fn read_dict(dict: &Map<String, Value>) -> Result<(Self, Document), JsonError> {
        let mut fields = dict.clone();
        let instructions = take_text(&mut fields, "instructions")?.unwrap_or_default();
        let path = take_text(&mut fields, "path")?.unwrap_or_default();
        for key in ["name", "description"] {
            let text = match fields.get(key) {
                None | Some(Value::Null) => return Err(JsonError::Missing(key)),
                Some(Value::String(text)) => text,
                Some(_) => return Err(JsonError::WrongType { key: key.to_owned(), expected: "a text" }),
            };
            if text.trim().is_empty() {
                return Err(JsonError::Missing(key));
            }
        }
        if let Some(tools) = fields.shift_remove("allowed_tools")
            && fields.insert("allowed-tools".to_owned(), tools).is_some()
        {
            return Err(JsonError::TwoTools);
        }
        for key in known_keys().filter(|key| shape(key) == Some(FieldShape::Tools)) {
            if let Some(tools) = fields.get(key) {
                let expected = "a text or a list of texts";
                let wrong = || JsonError::WrongType { key: key.to_owned(), expected };
                let text = spec_tools(tools).ok_or_else(wrong)?;
                fields.insert(key.to_owned(), text.into());
            }
        }
        if fields.get("metadata").is_some_and(|metadata| !metadata.is_object() && !metadata.is_null()) {
            return Err(JsonError::WrongType { key: "metadata".to_owned(), expected: "keys and values" });
        }
        // Null in a known field means that the field is missing; in any other it is a value.
        fields.retain(|key, value| !value.is_null() || shape(key).is_none());

        let document = parse(markdown(&fields, &instructions).as_bytes());
        let at = Origin::at(Location::parse(&path));
        let refusal = || {
            let found = document.findings().iter().find(|finding| finding.rule.refuses());
            JsonError::NotWritable(
                found.map_or_else(|| "too large".to_owned(), |finding| finding.message.clone()),
            )
        };
        let entry = document.skill(&at).ok_or_else(refusal)?;
        let instructions = without_blank_lines(&instructions).to_owned();
        Ok((Self { entry, instructions }, document))
    }

    /// A SKILL.md that reads back as this skill.
    pub fn to_markdown(&self) -> String {
        markdown(&self.entry.to_dict(), &self.instructions)
    }
}

fn take_text(fields: &mut Map<String, Value>, key: &str) -> Result<Option<String>, JsonError> {
    match fields.shift_remove(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(JsonError::WrongType { key: key.to_owned(), expected: "a text" }),
    }
}

/// Tools as one text, from a text or a list.
fn spec_tools(tools: &Value) -> Option<String> {
    let yaml = match tools {
        Value::Null => return Some(String::new()),
        Value::String(text) => return Some(text.clone()),
        Value::Array(items) if items.iter().all(Value::is_string) => tools,
        _ => return None,
    };
    let document = parse(markdown(&Map::from_iter([("t".to_owned(), yaml.clone())]), "").as_bytes());
    document.field("t").map(|node| tool_list(node).to_spec_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn from(dict: Value) -> Result<SkillData, JsonError> {
        SkillData::from_dict(dict.as_object().unwrap())
    }

    #[test]
    fn a_dictionary_makes_a_valid_file() {
        let skill = from(json!({
            "name": "demo", "description": "Does: it", "allowed_tools": ["Read", "Bash(git add:*)"],
            "metadata": {"version": "1.0"}, "x": {"z": [1]}, "instructions": "# Do\n", "path": "skills/demo/SKILL.md",
        }))
        .unwrap();
        assert_eq!(skill.entry.version.as_deref(), Some("1.0"));
        assert_eq!(
            skill.to_markdown(),
            "---\nname: demo\ndescription: 'Does: it'\nmetadata:\n  version: '1.0'\nallowed-tools: Read Bash(git add:*)\nx:\n  z:\n    - 1\n---\n\n# Do\n"
        );
        let dict = skill.to_dict();
        assert_eq!(dict["allowed-tools"], "Read Bash(git add:*)");
        assert_eq!(
            (dict["path"].as_str(), dict["instructions"].as_str()),
            (Some("skills/demo/SKILL.md"), Some("# Do"))
        );
        assert_eq!(SkillData::from_dict(&dict).unwrap(), skill);
    }

    #[test]
    fn missing_keys_and_wrong_shapes_are_named() {
        assert_eq!(from(json!({"description": "d"})), Err(JsonError::Missing("name")));
        assert_eq!(from(json!({"name": "n", "description": " "})), Err(JsonError::Missing("description")));
        assert_eq!(
            from(json!({"name": "n", "description": "d", "allowed-tools": "", "allowed_tools": ""})),
            Err(JsonError::TwoTools)
        );
        let wrong = from(json!({"name": "n", "description": "d", "allowed_tools": [1]})).unwrap_err();
        assert_eq!(wrong.to_string(), "allowed-tools must be a text or a list of texts");
        assert!(from(json!({"name": 1, "description": "d"})).is_err());
        assert!(from(json!({"name": "n", "description": "d", "metadata": []})).is_err());
    }

    #[test]
    fn null_removes_a_known_field_and_stays_in_an_unknown_one() {
        let text = "---\nname: demo\ndescription: d\nlicense: null\nmetadata:\n  a: ~\n  b: c\nx: null\n---\n\n    code\n";
        let skill = SkillData::from_document(&parse(text.as_bytes()), &Origin::text("<text>")).unwrap();
        let dict = skill.to_dict();
        assert_eq!(
            Value::Object(dict.clone()).to_string(),
            r#"{"name":"demo","description":"d","metadata":{"b":"c"},"x":null,"instructions":"    code"}"#
        );
        assert_eq!(
            skill.to_markdown(),
            "---\nname: demo\ndescription: d\nmetadata:\n  b: c\nx: null\n---\n\n    code\n"
        );
        assert_eq!(SkillData::from_dict(&dict).unwrap().to_dict(), dict);
        assert_eq!(
            from(json!({"name": "n", "description": "d", "license": null})).unwrap().entry.license,
            None
        );
    }

    #[test]
    fn absent_and_empty_tools_stay_different() {
        assert_eq!(
            from(json!({"name": "n", "description": "d"})).unwrap().entry.to_dict().get("allowed-tools"),
            None
        );
        let empty = from(json!({"name": "n", "description": "d", "allowed-tools": []})).unwrap();
        assert_eq!(empty.entry.to_dict()["allowed-tools"], "");
    }

    proptest! {
        #![proptest_config(crate::text::testing::many())]

        #[test]
        fn any_texts_survive_the_way_to_markdown_and_back(name in "[^\\s]\\PC{0,20}", description in any::<String>(), key in any::<String>(), value in any::<String>(), body in any::<String>()) {
            prop_assume!(!description.trim().is_empty() && !name.trim().is_empty());
            let dict = json!({"name": name, "description": description, "metadata": {key: value}, "instructions": body});
            let skill = from(dict).unwrap();
            let document = parse(skill.to_markdown().as_bytes());
            prop_assert!(!document.repaired());
            let mut again = SkillData::from_document(&document, &Origin::default()).unwrap();
            // A name that normalising shortened moves the body.
            again.entry.body_offset = skill.entry.body_offset;
            prop_assert_eq!(again, skill);
        }
    }
}
