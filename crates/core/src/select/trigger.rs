//! Trigger queries: what authors say should, and should not, lead to their skill.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Where skills keep them, beside SKILL.md.
pub const TRIGGER_FILES: [&str; 8] = [
    "evals/evals.json",
    "evals/eval_queries.json",
    "evals/trigger-evals.json",
    "evals/trigger_evals.json",
    "evals.json",
    "eval_queries.json",
    "trigger-evals.json",
    "trigger_evals.json",
];

/// One query of an author.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trigger {
    /// What a user says.
    pub query: String,
    /// Whether the skill should be used for it.
    pub should: bool,
}

/// The queries of a file: a list, or a list in a member such as `evals`. What is no query is left out.
///
/// An item is a text, or an object with a `query` or `prompt`, and `should_trigger`, which is true unless said.
pub fn triggers(json: &[u8]) -> Result<Vec<Trigger>, serde_json::Error> {
    let value: Value = serde_json::from_slice(json)?;
    let lists = ["evals", "queries", "eval_queries", "cases", "tests"];
    let items = value.as_array().or_else(|| lists.iter().find_map(|name| value.get(name)?.as_array()));
    Ok(items.into_iter().flatten().filter_map(trigger).collect())
}

fn trigger(item: &Value) -> Option<Trigger> {
    let texts = ["query", "prompt", "input"];
    let query = item.as_str().or_else(|| texts.iter().find_map(|name| item.get(name)?.as_str()))?.trim();
    let should = item.get("should_trigger").and_then(Value::as_bool).unwrap_or(true);
    (!query.is_empty()).then(|| Trigger { query: query.to_owned(), should })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_members_are_read_and_the_rest_is_left_out() {
        let found = |json: &str| -> Vec<(String, bool)> {
            triggers(json.as_bytes())
                .unwrap()
                .into_iter()
                .map(|trigger| (trigger.query, trigger.should))
                .collect()
        };
        let list = r#"[{"query":"a","should_trigger":false},{"query":"b","should_trigger":true},"c",{"id":1},7,{"query":" "}]"#;
        assert_eq!(found(list), [("a".into(), false), ("b".into(), true), ("c".into(), true)]);
        let named = r#"{"skill_name":"x","evals":[{"id":1,"prompt":"do it","expected_output":"done"}]}"#;
        assert_eq!(found(named), [("do it".into(), true)]);
        assert_eq!(found("3"), []);
        assert!(triggers(b"{").is_err());
    }
}
