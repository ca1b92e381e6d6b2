//! The calls of a model in its response.

use prowess_core::internal::without_halves;
use prowess_core::session::{Dialect, ReceivedCall, Session};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::failure::{Failure, read};
use crate::session::dialect;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Message {
    dialect: String,
    message: Value,
}

/// A response of a model, or a part of it.
///
/// A model may write half of a surrogate pair anywhere, as an escape in valid JSON, and a text of Unicode cannot have it. It
/// does not matter outside the calls; a call with it gets arguments that the session refuses.
pub struct Response {
    dialect: Dialect,
    message: Value,
    /// The same with another character in place of each half, if there are any.
    twin: Option<Value>,
}

impl Response {
    /// Reads `{dialect, message}`.
    pub fn read(input: &str) -> Result<Self, Failure> {
        let (asked, twin) = match read::<Message>(input) {
            Ok(asked) => (asked, None),
            Err(failure) => {
                let Some(replaced) = without_halves(input, "\\ufffd") else { return Err(failure) };
                let twin = without_halves(input, "\\ufffc").unwrap_or_default();
                (read::<Message>(&replaced)?, Some(read::<Message>(&twin)?.message))
            }
        };
        Ok(Self { dialect: dialect(&asked.dialect)?, message: asked.message, twin })
    }

    /// The interface.
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The call that the whole message is.
    pub fn call(&self) -> Option<ReceivedCall> {
        self.usable(&self.message, self.twin.as_ref())
    }

    /// Every call in the message, also those that are not for the session.
    pub fn calls(&self) -> Vec<ReceivedCall> {
        let parts = self.dialect.calls(&self.message);
        let twins = self.twin.as_ref().map(|twin| self.dialect.calls(twin)).unwrap_or_default();
        let twins = twins.into_iter().map(Some).chain(std::iter::repeat(None));
        parts.into_iter().zip(twins).filter_map(|(part, twin)| self.usable(part, twin)).collect()
    }

    /// A call, with arguments that no session takes if they have half of a surrogate pair.
    fn usable(&self, part: &Value, twin: Option<&Value>) -> Option<ReceivedCall> {
        let mut received = self.dialect.call(part)?;
        let twin = twin.and_then(|twin| self.dialect.call(twin));
        if twin.is_some_and(|twin| twin.call.arguments != received.call.arguments) {
            received.call.arguments = "half of a surrogate pair is no character".into();
        }
        Some(received)
    }
}

/// The calls in a message that are for the session, each with the id of its result.
pub(crate) fn calls(session: &Session, input: &str) -> Result<Value, Failure> {
    let response = Response::read(input)?;
    let calls = response.calls().into_iter().filter(|received| session.owns(&received.call.tool));
    let call = |received: ReceivedCall| match (response.dialect(), &received.id) {
        // The interface finds the call of a result by its id.
        (Dialect::Anthropic | Dialect::OpenAi, None) => {
            Err(Failure::argument(format!("the call of {} has no id", received.call.tool)))
        }
        _ => Ok(json!({"id": received.id, "call": received.call})),
    };
    calls.map(call).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_with_half_of_a_surrogate_pair_hides_no_other() {
        let input = r#"{"dialect": "anthropic", "message": {"content": [
            {"type": "text", "text": "\ud83d"},
            {"type": "tool_use", "id": "1", "name": "load_skill", "input": {"name": "pdf"}},
            {"type": "tool_use", "id": "2", "name": "load_skill", "input": {"name": "\ud800"}},
            {"type": "tool_use", "id": "3", "name": "load_skill", "input": {"\udc00": 1}}
        ]}}"#;
        let calls = Response::read(input).unwrap().calls();
        let shown: Vec<_> =
            calls.iter().map(|one| (one.id.as_deref(), one.call.arguments.is_object())).collect();
        assert_eq!(shown, [(Some("1"), true), (Some("2"), false), (Some("3"), false)]);
        assert_eq!(Response::read("{").map(|_| ()).unwrap_err().code, "invalid");
    }
}
