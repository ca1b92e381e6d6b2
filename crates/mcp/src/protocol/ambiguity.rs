//! Messages in which an object has two members of one name: programs disagree about which of them counts.

use rmcp::model::RequestId;
use serde::Deserialize;
use serde_json::Value;

use prowess::internal::parse_json;

/// The id of a message, read without its other members; none of a message with two.
pub(crate) fn only_id(message: &[u8]) -> Option<Value> {
    #[derive(Deserialize)]
    struct OnlyId {
        id: Option<Value>,
    }
    serde_json::from_slice::<OnlyId>(message).ok()?.id
}

/// Why a message is ambiguous, if it is JSON and ambiguous.
pub(crate) fn ambiguity(message: &[u8]) -> Option<serde_json::Error> {
    let error = parse_json(message).err()?;
    serde_json::from_slice::<Value>(message).is_ok().then_some(error)
}

/// The id of a response that is ambiguous, and why it is. A message with a method is none, whatever else it has: its id is
/// one of the other side.
pub(crate) fn ambiguous_response(message: &[u8]) -> Option<(RequestId, serde_json::Error)> {
    let value = serde_json::from_slice::<Value>(message).ok()?;
    let is_response = value.get("result").is_some() || value.get("error").is_some();
    if !is_response || value.get("method").is_some() {
        return None;
    }
    Some((serde_json::from_value(only_id(message)?).ok()?, ambiguity(message)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ambiguous_response_is_known_by_its_only_id() {
        for (message, id) in [
            (r#"{"id":7,"result":{},"result":{}}"#, Some(7)),
            (r#"{"id":7,"result":{"a":[{"b":1,"\u0062":2}]}}"#, Some(7)),
            (r#"{"id":7,"error":{"code":1,"code":2}}"#, Some(7)),
            (r#"{"id":7,"id":7,"result":{}}"#, None),
            (r#"{"id":7,"method":"x","result":{},"result":{}}"#, None),
            (r#"{"id":7,"result":{}}"#, None),
            (r#"{"result":{},"result":{}}"#, None),
            (r#"{"id":7,"result":{},"result":{}"#, None),
            ("[]", None),
        ] {
            let found = ambiguous_response(message.as_bytes()).map(|(id, _)| id);
            assert_eq!(found, id.map(RequestId::Number), "{message}");
        }
    }
}
