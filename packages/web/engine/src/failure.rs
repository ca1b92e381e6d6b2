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
        Failure::argument(without_types(&message))
    })
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
