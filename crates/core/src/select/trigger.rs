//! Trigger queries: queries for which the author says that a skill should, or should not, be used.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::limits::MAX_TRIGGERS;
use crate::text::typos;

/// Where a skill keeps its trigger queries, beside SKILL.md.
pub const TRIGGER_FILE: &str = "evals/eval_queries.json";

/// Other files in which skills keep trigger queries of the same format.
pub const OTHER_TRIGGER_FILES: [&str; 7] = [
    "evals/evals.json",
    "evals/trigger-evals.json",
    "evals/trigger_evals.json",
    "eval_queries.json",
    "evals.json",
    "trigger-evals.json",
    "trigger_evals.json",
];

/// One query of an author.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Trigger {
    /// What a user says.
    pub query: String,
    /// Whether the skill should be used for it.
    pub should: bool,
}

/// Why a file is not a list of trigger queries.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TriggerError {
    /// It is not JSON.
    #[error("it is not JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// It is JSON, but not a list.
    #[error("it is not a list")]
    NoList,
    /// It has tasks for an agent, each with an expected output.
    #[error("it has tasks with expected outputs for an agent, and no trigger queries")]
    Tasks,
    /// An item is not a query.
    #[error("item {number} {fault}")]
    Item {
        /// Which one, from 1.
        number: usize,
        /// What is wrong with it.
        fault: &'static str,
    },
    /// There are too many.
    #[error("it has {0} queries, at most {MAX_TRIGGERS}")]
    TooMany(usize),
}

impl TriggerError {
    /// What to do about it.
    pub const HINT: &'static str =
        r#"write a list of objects: [{"query": "a task", "should_trigger": true}]"#;
}

/// The queries of a file: a list of objects with a text `query`, and with `should_trigger`, which is true by default.
/// The list may also be the member `queries` or `evals` of an object.
///
/// ```
/// use prowess_core::select::triggers;
///
/// let found = triggers(br#"[{"query": "fill in a form"}, {"query": "bake", "should_trigger": false}]"#)?;
/// assert_eq!((found[0].should, found[1].should), (true, false));
/// # Ok::<(), prowess_core::select::TriggerError>(())
/// ```
pub fn triggers(json: &[u8]) -> Result<Vec<Trigger>, TriggerError> {
    // Some editors begin a file with a byte order mark.
    let value: Value = serde_json::from_slice(json.strip_prefix(b"\xef\xbb\xbf").unwrap_or(json))?;
    let inside = || ["queries", "evals"].iter().find_map(|name| value.get(name)?.as_array());
    let items = value.as_array().or_else(inside).ok_or(TriggerError::NoList)?;
    // The same folder may have tasks for an agent, whose prompts look like queries.
    let is_task = |item: &Value| item.get("query").is_none() && item.get("prompt").is_some();
    if items.iter().any(|item| is_task(item) || item.get("expected_output").is_some()) {
        return Err(TriggerError::Tasks);
    }
    if items.len() > MAX_TRIGGERS {
        return Err(TriggerError::TooMany(items.len()));
    }
    let numbered = (1..).zip(items);
    numbered
        .map(|(number, item)| trigger(item).map_err(|fault| TriggerError::Item { number, fault }))
        .collect()
}

fn trigger(item: &Value) -> Result<Trigger, &'static str> {
    let query = match item.get("query") {
        Some(Value::String(query)) => query.trim(),
        Some(_) => return Err("has a query that is not a text"),
        None => return Err("has no query"),
    };
    if query.is_empty() {
        return Err("has an empty query");
    }
    let should = match item.get("should_trigger") {
        None if has_misspelt(item, "should_trigger") => return Err("has a misspelt should_trigger"),
        None => true,
        Some(Value::Bool(should)) => *should,
        Some(_) => return Err("has a should_trigger that is neither true nor false"),
    };
    Ok(Trigger { query: query.to_owned(), should })
}

/// Whether an object has a member that is meant to be this one. Read as absent, it could turn a test into its opposite.
fn has_misspelt(item: &Value, member: &str) -> bool {
    let bare = |text: &str| text.to_lowercase().replace(['-', '_', ' '], "");
    let mut names = item.as_object().into_iter().flat_map(|members| members.keys());
    names.any(|name| typos(&bare(name), &bare(member), 2).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(json: &str) -> Result<Vec<(String, bool)>, String> {
        let pair = |trigger: Trigger| (trigger.query, trigger.should);
        triggers(json.as_bytes())
            .map(|list| list.into_iter().map(pair).collect())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn a_list_or_one_in_a_member_is_read() {
        let list =
            r#"[{"query":" a ","should_trigger":false},{"query":"b","should_trigger":true},{"query":"c"}]"#;
        let expected = Ok(vec![("a".into(), false), ("b".into(), true), ("c".into(), true)]);
        assert_eq!(found(list), expected);
        assert_eq!(found(&format!(r#"{{"skill_name":"x","queries":{list}}}"#)), expected);
        assert_eq!(found(&format!(r#"{{"evals":{list}}}"#)), expected);
        assert_eq!(found(&format!("\u{feff}{list}")), expected);
        assert_eq!(found("[]"), Ok(Vec::new()));
    }

    #[test]
    fn tasks_with_expected_outputs_are_not_taken_for_queries() {
        let tasks = r#"{"skill_name":"x","evals":[{"id":1,"prompt":"do it","expected_output":"done"}]}"#;
        assert!(matches!(triggers(tasks.as_bytes()), Err(TriggerError::Tasks)));
        assert!(matches!(triggers(br#"[{"prompt":"do it"}]"#), Err(TriggerError::Tasks)));
        let both = br#"[{"query":"do it","expected_output":"done"}]"#;
        assert!(matches!(triggers(both), Err(TriggerError::Tasks)));
    }

    #[test]
    fn an_item_that_is_not_a_query_is_named_by_its_number() {
        for (json, said) in [
            ("3", "it is not a list"),
            (r#"{"tests":[]}"#, "it is not a list"),
            (r#"["text"]"#, "item 1 has no query"),
            (r#"[{"query":"a"},{"id":1}]"#, "item 2 has no query"),
            (r#"[{"query":7}]"#, "item 1 has a query that is not a text"),
            (r#"[{"query":" "}]"#, "item 1 has an empty query"),
            (r#"[{"query":"a","shuold_trigger":false}]"#, "item 1 has a misspelt should_trigger"),
            (r#"[{"query":"a","shouldTrigger":false}]"#, "item 1 has a misspelt should_trigger"),
            (r#"[{"query":"a","should_trigger":"no"}]"#, "item 1 has a should_trigger that is neither"),
            (r#"[{"query":"a","should_trigger":null}]"#, "item 1 has a should_trigger that is neither"),
        ] {
            assert!(found(json).is_err_and(|error| error.starts_with(said)), "{json}: {:?}", found(json));
        }
        assert!(found("{").is_err_and(|error| error.starts_with("it is not JSON: ")));
        let many = format!("[{}]", vec![r#"{"query":"a"}"#; MAX_TRIGGERS + 1].join(","));
        assert_eq!(found(&many), Err(format!("it has {} queries, at most {MAX_TRIGGERS}", MAX_TRIGGERS + 1)));
    }
}
