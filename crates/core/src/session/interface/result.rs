//! What a tool call comes to: a [`ToolResult`], with a [`Reason`] when it was refused.

use serde::{Serialize, Serializer};
use serde_json::Value;

macro_rules! reasons {
    ($($reason:ident $code:literal $meaning:literal;)+) => {
        /// Why a call was refused. The codes are stable, the words beside them are not.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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

            /// When it is given.
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
    BadCall "bad-call" "the call itself is no call: not JSON, or without a tool";
    BadArguments "bad-arguments" "an argument is missing, unknown, or not of its type";
    UnknownSkill "unknown-skill" "no skill of this name is visible; whether a hidden one has it is not told";
    AmbiguousSkill "ambiguous-skill" "several skills have this name; each has a key of its own";
    MissingSkill "missing-skill" "the host allows a skill of this name, and there is none";
    TooManyActive "too-many-active" "as many skills are active as may be";
    NotActive "not-active" "the skill is not active";
    NotInvocable "not-invocable" "the skill may not be started this way";
    NotApproved "not-approved" "nobody approved the skill";
    Changed "changed" "the skill is not what it was when it was listed or approved";
    BrokenSkill "broken-skill" "the skill can no longer be loaded";
    BadPath "bad-path" "the path breaks a rule of paths, or leads out of the skill";
    MissingFile "missing-file" "the skill has no such file";
    TooLarge "too-large" "the file is larger than what is read, or the text of the skill than may be given";
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

/// What a tool call comes to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToolResult {
    /// Whether it did what was asked.
    pub ok: bool,
    /// What the model reads.
    pub text: String,
    /// The same for programs.
    pub data: Value,
    /// Why it was refused.
    pub reason: Option<Reason>,
}

impl ToolResult {
    /// A call that did what was asked.
    pub fn done(text: impl Into<String>, data: Value) -> Self {
        Self { ok: true, text: text.into(), data, reason: None }
    }

    /// A call that was refused, in words that say what to do next.
    pub fn refused(reason: Reason, error: impl AsRef<str>, hint: impl AsRef<str>) -> Self {
        let (error, hint) = (error.as_ref(), hint.as_ref());
        let text = if hint.is_empty() { error.to_owned() } else { format!("{error}\nhint: {hint}") };
        Self { ok: false, text, data: Value::Null, reason: Some(reason) }
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
}
