//! [`Failure`]: an operation that could not be performed, as packages throw it.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// An operation that could not be performed. The code decides the class of the error in each language.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// The stable name of the kind of failure.
    pub code: &'static str,
    /// What could not be done, and what to do about it.
    pub message: String,
    /// What to do about it, if the message does not say it.
    pub hint: Option<String>,
    /// The problems of a skill that does not load.
    pub problems: Option<Box<Value>>,
    /// What a callback of the host threw.
    pub cause: Option<Cause>,
}

/// A value of another language that a callback threw.
#[derive(Clone)]
pub struct Cause(pub Arc<dyn Any + Send + Sync>);

impl fmt::Debug for Cause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Cause")
    }
}

impl PartialEq for Cause {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Failure {
    /// A failure of this kind.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hint: None, problems: None, cause: None }
    }

    /// An argument that cannot be used.
    pub fn argument(message: impl Into<String>) -> Self {
        Self::new("invalid", message)
    }

    /// The failure as JSON text.
    pub fn to_json(&self) -> String {
        json!({"code": self.code, "message": self.message, "hint": self.hint, "problems": self.problems})
            .to_string()
    }
}

/// Reads the input of an operation.
pub fn read<T: DeserializeOwned>(input: &str) -> Result<T, Failure> {
    serde_json::from_str(input).map_err(|error| {
        let message = error.to_string();
        // JavaScript writes half of a surrogate pair as an escape, and a text of Unicode cannot have it.
        if message.contains("surrogate") || message.contains("hex escape") {
            return Failure::argument("a text has half of a surrogate pair, which is no character");
        }
        let message = without_types(&message);
        let place = if error.is_data() { place(input, error.line(), error.column()) } else { None };
        Failure::argument(place.map_or_else(|| message.clone(), |place| format!("`{place}`: {message}")))
    })
}

/// Members of an input that callers do not write: their contents are options by themselves.
const UNNAMED: [&str; 4] = ["asked", "judge", "narrowing", "place"];

/// The option in which reading stopped, such as `options.maxActive`. Inputs have one line; a column is a number of bytes.
fn place(input: &str, line: usize, column: usize) -> Option<String> {
    let read = input.get(..column).filter(|_| line == 1)?;
    // Of each object and list that is open, the name of the member, or the index.
    let mut open: Vec<Result<&str, usize>> = Vec::new();
    let (mut at, mut is_name) = (0, false);
    while let Some(mark) = read.get(at..)?.chars().next() {
        at += mark.len_utf8();
        match mark {
            '{' => open.push(Ok("")),
            '[' => open.push(Err(0)),
            '}' | ']' => drop(open.pop()),
            ',' => {
                if let Some(Err(index)) = open.last_mut() {
                    *index += 1;
                }
            }
            '"' => {
                let text = text_at(read.get(at..)?);
                if let Some(Ok(name)) = open.last_mut().filter(|_| is_name) {
                    *name = text;
                }
                at += text.len() + 1;
            }
            _ => {}
        }
        is_name = matches!(mark, '{' | ',') || (is_name && mark.is_whitespace());
    }
    let named =
        open.into_iter().filter(|one| one.map_or(true, |name| !name.is_empty() && !UNNAMED.contains(&name)));
    let mut path = String::new();
    for one in named {
        path = match one {
            Err(index) => format!("{path}[{index}]"),
            Ok(name) if path.is_empty() => name.to_owned(),
            Ok(name) => format!("{path}.{name}"),
        };
    }
    Some(path).filter(|path| !path.is_empty() && path.len() <= 100)
}

/// The text before the closing quote, as written.
fn text_at(json: &str) -> &str {
    let mut escaped = false;
    let end = json.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    json.get(..end.unwrap_or(json.len())).unwrap_or(json)
}

/// A message of `serde_json` without the names of Rust types and the place in a text that the caller never saw.
fn without_types(message: &str) -> String {
    let message = message.split(" at line ").next().unwrap_or(message);
    let mut words = message.split(' ');
    let mut plain = Vec::new();
    while let Some(word) = words.next() {
        match word {
            "struct" | "enum" => {
                words.next();
                plain.push(if word == "struct" { "an object" } else { "one of its words" });
            }
            "sequence" | "sequence," => plain.push("a list"),
            "map" | "map," => plain.push("an object"),
            "usize" | "u64" | "u32" => plain.push("a whole number"),
            "f32" | "f64" => plain.push("a number"),
            "null," => plain.push("nothing,"),
            word => plain.push(word),
        }
    }
    plain.join(" ").replace("expected a a ", "expected a ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::{GivenOptions, Judge};

    #[test]
    fn the_option_that_cannot_be_read_is_named() {
        let message = |input: &str| read::<GivenOptions>(input).map(|_| ()).unwrap_err().message;
        assert_eq!(
            message(r#"{"tools": ["load"], "naming": "a\"{", "maxActive": "x"}"#),
            "`maxActive`: invalid type: string \"x\", expected a whole number"
        );
        assert!(
            message(r#"{"maxActive":1,"zz":2}"#).starts_with("`zz`: unknown field `zz`, expected one of")
        );
        assert!(message(r#"{"activation":{"plain":"x"}}"#).starts_with("`activation.plain`: invalid type"));
        assert!(message(r#"{"tools":["load","dance"]}"#).starts_with("`tools[1]`: unknown variant `dance`"));
        assert!(message("7").starts_with("invalid type: integer"));
        let judged = read::<Judge>(r#"{"profile":"nope"}"#).map(|_| ()).unwrap_err().message;
        assert!(judged.starts_with("`profile`: unknown variant `nope`, expected one of"), "{judged}");
    }

    #[test]
    fn members_that_callers_do_not_write_are_not_named() {
        assert_eq!(place(r#"{"judge":{"profile":"nope"}}"#, 1, 26).as_deref(), Some("profile"));
        assert_eq!(place(r#"{"judge":7}"#, 1, 10), None);
        assert_eq!(place("", 1, 0), None);
    }
}
