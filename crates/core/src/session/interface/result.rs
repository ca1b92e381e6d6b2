//! The result of a tool call: a [`ToolResult`], with a [`Reason`] when it was refused.

use std::borrow::Cow;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::text::{inline, visible};

macro_rules! reasons {
    ($($reason:ident $code:literal $meaning:literal;)+) => {
        /// Why a call was refused. The codes are stable, the words beside them are not.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Reason {
            $(#[doc = $meaning] $reason,)+
        }

        impl Reason {
            /// All reasons, in the order of the documentation.
            pub const ALL: &'static [Self] = &[$(Self::$reason,)+];

            /// The stable name.
            pub const fn code(self) -> &'static str {
                match self {
                    $(Self::$reason => $code,)+
                }
            }

            /// What it means, for the reference page.
            #[doc(hidden)]
            pub const fn meaning(self) -> &'static str {
                match self {
                    $(Self::$reason => $meaning,)+
                }
            }
        }
    };
}

reasons! {
    UnknownTool "unknown-tool" "the session has no tool of this name";
    BadCall "bad-call" "the call cannot be read: it is not JSON, or has no tool";
    BadArguments "bad-arguments" "an argument is missing, unknown, or not of its type";
    UnknownSkill "unknown-skill" "no skill of this name is visible; a hidden one is refused the same way";
    AmbiguousSkill "ambiguous-skill" "several skills have this name; each has a key of its own";
    MissingSkill "missing-skill" "the host allows a skill of this name, but it does not exist";
    TooManyActive "too-many-active" "the limit of active skills is reached";
    MemoryFull "memory-full" "the session, or all sessions of the host, keep as many bytes as they may";
    NotActive "not-active" "the skill is not active";
    NotInvocable "not-invocable" "the skill may not be started this way";
    NotApproved "not-approved" "the skill is not approved";
    Changed "changed" "the skill has changed since it was listed or approved";
    BrokenSkill "broken-skill" "the skill can no longer be loaded";
    BadPath "bad-path" "the path breaks a rule of paths, or leads out of the skill";
    MissingFile "missing-file" "the skill has no such file";
    TooLarge "too-large" "the file or the text of the skill is larger than its limit";
    ReadFailed "read-failed" "the host could not read";
    SearchFailed "search-failed" "the host could not search";
    RunRefused "run-refused" "scripts are not run here";
    UnknownTicket "unknown-ticket" "no call waits for this ticket";
    WrongOutcome "wrong-outcome" "the outcome is not of the kind that was asked for";
}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}

/// How a tool call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolOutcome {
    /// It did what was asked.
    Done,
    /// It ran, and the script it ran did not succeed.
    Failed,
    /// It was refused; [`ToolResult::reason`] says why.
    Refused,
}

/// The result of a tool call, in parts. [`ToolResult::full_text`] is what a model reads.
///
/// As JSON it is `{"ok", "text", "data", "reason"}`, where `text` is the full text.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ToolResult {
    /// How the call ended.
    pub outcome: ToolOutcome,
    /// The result, or the error when the call was refused.
    pub text: String,
    /// What to do next, when the call was refused.
    pub hint: Option<String>,
    /// The result as data, for programs.
    pub data: Value,
    /// Why the call was refused.
    pub reason: Option<Reason>,
}

impl ToolResult {
    /// The result of a call that did what was asked.
    pub fn done(text: impl Into<String>, data: Value) -> Self {
        Self { outcome: ToolOutcome::Done, text: text.into(), hint: None, data, reason: None }
    }

    /// The result of a call that ran something which did not succeed.
    pub fn failed(text: impl Into<String>, data: Value) -> Self {
        Self { outcome: ToolOutcome::Failed, ..Self::done(text, data) }
    }

    /// The result of a call that was refused: the error, and a hint that says what to do next. An empty hint is none.
    pub fn refused(reason: Reason, error: impl Into<String>, hint: impl Into<String>) -> Self {
        let hint = Some(hint.into()).filter(|hint| !hint.is_empty());
        let outcome = ToolOutcome::Refused;
        Self { outcome, text: error.into(), hint, data: Value::Null, reason: Some(reason) }
    }

    /// Sets the data.
    #[must_use]
    pub fn with_data(mut self, data: Value) -> Self {
        self.data = data;
        self
    }

    /// Whether the call did what was asked.
    pub fn is_ok(&self) -> bool {
        self.outcome == ToolOutcome::Done
    }

    /// What a model reads: the text, and the hint on a line of its own.
    ///
    /// ```
    /// use prowess_core::session::{Reason, ToolResult};
    ///
    /// let refused = ToolResult::refused(Reason::NotActive, "this skill is not active: pdf", "no skill is active");
    /// assert_eq!(refused.full_text(), "this skill is not active: pdf\nhint: no skill is active");
    /// ```
    pub fn full_text(&self) -> Cow<'_, str> {
        match &self.hint {
            None => Cow::Borrowed(&self.text),
            Some(hint) => format!("{}\nhint: {hint}", self.text).into(),
        }
    }

    /// The structured content of an MCP tool result: the reason of a refusal, or data that is an object. Hidden
    /// characters in its texts are [made visible](crate::text::visible), and names are on one line.
    pub fn into_structured_content(self) -> Option<Value> {
        match self.reason {
            Some(reason) => Some(json!({ "reason": reason })),
            None => Some(self.data).filter(Value::is_object).map(seen),
        }
    }
}

/// The members of data that have the name of a skill.
const NAMES: [&str; 2] = ["name", "skill"];

/// A value whose texts hide nothing.
fn seen(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(visible(&text).into_owned()),
        Value::Array(values) => values.into_iter().map(seen).collect(),
        Value::Object(members) => {
            let member = |(name, value): (String, Value)| match value {
                Value::String(text) if NAMES.contains(&&*name) => (name, inline(&text).into_owned().into()),
                value => (name, seen(value)),
            };
            members.into_iter().map(member).collect()
        }
        other => other,
    }
}

impl Serialize for ToolResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut members = serializer.serialize_struct("ToolResult", 4)?;
        members.serialize_field("ok", &self.is_ok())?;
        members.serialize_field("text", &self.full_text())?;
        members.serialize_field("data", &self.data)?;
        members.serialize_field("reason", &self.reason)?;
        members.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_kebab_case_and_each_once() {
        let mut codes: Vec<&str> = Reason::ALL.iter().map(|reason| reason.code()).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), Reason::ALL.len());
        assert!(codes.iter().all(|code| code.chars().all(|c| c.is_ascii_lowercase() || c == '-')));
    }
    #[test]
    fn a_result_as_json_has_the_hint_in_its_text() {
        let refused = ToolResult::refused(Reason::NotActive, "this skill is not active: a", "active are b");
        assert_eq!(
            serde_json::to_string(&refused).unwrap(),
            r#"{"ok":false,"text":"this skill is not active: a\nhint: active are b","data":null,"reason":"not-active"}"#
        );
        let failed = ToolResult::failed("out", json!({"code": 1}));
        assert_eq!(
            serde_json::to_string(&failed).unwrap(),
            r#"{"ok":false,"text":"out","data":{"code":1},"reason":null}"#
        );
        assert_eq!(ToolResult::refused(Reason::BadCall, "error", "").full_text(), "error");
    }
}
