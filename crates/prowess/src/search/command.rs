//! The selector `command`: another program ranks, with JSON in and JSON out.

use std::time::Duration;

use prowess_core::Entry;
use prowess_core::select::{Field, Hit, HitReason, Query, SelectError, Selector, in_given_order};
use serde_json::{Value, json};

use crate::process::{ProcessLimits, run};

/// The default timeout of the program.
pub const SELECT_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_OUTPUT: usize = 16 * 1024 * 1024;

/// The selector `command`: a program that ranks skills.
///
/// The program reads `{"query", "limit", "candidates": [{"key", "name", "description", "tags"}]}` from standard input
/// and writes `{"selected": […]}`: keys, the best first, or objects with `key` and `score`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandSelector {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The timeout.
    pub timeout: Duration,
}

impl CommandSelector {
    /// A program and its arguments, with the default timeout.
    pub fn new(argv: Vec<String>) -> Self {
        Self { argv, timeout: SELECT_TIMEOUT }
    }

    fn failed(&self, reason: impl Into<String>) -> SelectError {
        SelectError::Command {
            program: self.argv.first().cloned().unwrap_or_default(),
            reason: reason.into(),
        }
    }
}

impl Selector for CommandSelector {
    fn select(&self, query: &Query, among: &[&Entry], limit: usize) -> Result<Vec<Hit>, SelectError> {
        let candidate = |entry: &&Entry| json!({ "key": entry.key, "name": entry.name, "description": entry.description, "tags": entry.tags });
        let candidates: Vec<Value> = among.iter().map(candidate).collect();
        let limit = limit.min(among.len());
        let input = json!({ "query": query.text, "limit": limit, "candidates": candidates }).to_string();
        let limits = ProcessLimits { timeout: self.timeout, max_output: MAX_OUTPUT, max_memory: None };
        let done =
            run(&self.argv, input.into_bytes(), limits).map_err(|error| self.failed(error.to_string()))?;
        if !done.status.success() {
            let said = String::from_utf8_lossy(&done.stderr);
            let said = said.trim().lines().next().unwrap_or_default();
            return Err(self.failed(format!("{}: {said}", done.status).trim_end_matches(": ")));
        }
        let output: Value = serde_json::from_slice(&done.stdout)
            .map_err(|error| self.failed(format!("its output is not JSON: {error}")))?;
        let selected = output.get("selected").and_then(Value::as_array);
        let selected = selected.ok_or_else(|| self.failed("its output has no list `selected`"))?;
        let mut keys: Vec<&str> = among.iter().map(|entry| entry.key.as_str()).collect();
        keys.sort_unstable();
        let mut hits = Vec::new();
        for (at, item) in selected.iter().enumerate() {
            let key = item.as_str().or_else(|| item.get("key")?.as_str());
            let key = key.ok_or_else(|| self.failed("an item of `selected` is not a key"))?;
            // A skill that may not be shown or does not exist cannot be selected.
            if keys.binary_search(&key).is_err() {
                continue;
            }
            #[expect(clippy::cast_possible_truncation, reason = "scores are 32-bit floats")]
            let given = match item.get("score") {
                None | Some(Value::Null) => None,
                Some(score) => {
                    let score = score.as_f64().map(|score| score as f32).filter(|score| score.is_finite());
                    Some(score.ok_or_else(|| self.failed(format!("a score is not a finite number: {key}")))?)
                }
            };
            let place = f32::from(u16::try_from(at).unwrap_or(u16::MAX - 1) + 1);
            let score = given.unwrap_or(1.0 / place);
            let why = vec![HitReason::new("command", Field::Skill, score)];
            hits.push(Hit::new(key, score, why));
        }
        Ok(in_given_order(hits, limit))
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;
    use prowess_core::{Origin, parse};

    fn select(script: &str) -> Result<Vec<String>, SelectError> {
        select_within(script, Duration::from_secs(60))
    }

    fn select_within(script: &str, timeout: Duration) -> Result<Vec<String>, SelectError> {
        let entries = ["one", "two"].map(|name| {
            let text = format!("---\nname: {name}\ndescription: d\n---\n");
            parse(text.as_bytes()).skill(&Origin::at(format!("{name}/SKILL.md"))).unwrap()
        });
        let argv = ["sh", "-c", script].map(str::to_owned).to_vec();
        let selector = CommandSelector { argv, timeout };
        let hits = selector.select(&Query::text("q"), &entries.each_ref(), 5)?;
        Ok(hits.into_iter().map(|hit| hit.key).collect())
    }

    #[test]
    fn the_order_that_a_program_gives_is_kept_with_and_without_scores() {
        assert_eq!(select(r#"echo '{"selected":["two","one","three","two"]}'"#).unwrap(), ["two", "one"]);
        let scored = r#"echo '{"selected":[{"key":"two","score":0.1},{"key":"one","score":0.9}]}'"#;
        assert_eq!(select(scored).unwrap(), ["two", "one"]);
        let reads =
            r#"grep -q '"query":"q","limit":2,"candidates":\[{"key":"one"' && echo '{"selected":["one"]}'"#;
        assert_eq!(select(reads).unwrap(), ["one"]);
        assert_eq!(select(r#"echo '{"selected":[]}'"#).unwrap(), [""; 0]);
    }

    #[test]
    fn a_program_that_hangs_fails_or_writes_garbage_is_an_error() {
        let error = select_within("sleep 600", Duration::from_millis(100)).unwrap_err().to_string();
        assert!(error.contains("it took more than 100 ms"), "{error}");
        for (script, said) in [
            ("echo no >&2; exit 4", "exit status: 4: no"),
            ("echo '{\"selected\"'", "its output is not JSON"),
            ("true", "its output is not JSON"),
            ("echo '[]'", "its output has no list `selected`"),
            (r#"echo '{"selected":[{"key":"one","score":"1"}]}'"#, "a score is not a finite number: one"),
            (r#"echo '{"selected":[{"key":"two","score":1e300}]}'"#, "a score is not a finite number: two"),
            ("echo '{\"selected\":[7]}'", "an item of `selected` is not a key"),
        ] {
            let error = select(script).unwrap_err().to_string();
            assert!(error.contains(said), "{script}: {error}");
        }
    }
}
