//! Messages in which an object has two members of one name: programs disagree about which of them counts.

use std::fmt;

use rmcp::model::RequestId;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

use prowess::internal::parse_json;

/// What a message is, also one with two members of one name. Its content is not kept: a parsed value takes many times its
/// bytes.
#[derive(Default)]
pub(crate) struct Outline {
    ids: Vec<Value>,
    has_method: bool,
    has_outcome: bool,
}

impl Outline {
    /// The outline of a message that is a JSON object.
    pub(crate) fn of(message: &[u8]) -> Option<Self> {
        serde_json::from_slice(message).ok()
    }

    /// Whether it is a response. A message with a method is none, whatever else it has: its id is one of the other side.
    pub(crate) fn is_response(&self) -> bool {
        self.has_outcome && !self.has_method
    }

    /// Its id; none of a message with two.
    pub(crate) fn only_id(&self) -> Option<RequestId> {
        let [id] = &*self.ids else { return None };
        RequestId::deserialize(id).ok()
    }
}

impl<'de> Deserialize<'de> for Outline {
    fn deserialize<D: Deserializer<'de>>(message: D) -> Result<Self, D::Error> {
        struct Members;

        impl<'de> Visitor<'de> for Members {
            type Value = Outline;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a message")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut members: M) -> Result<Outline, M::Error> {
                let mut outline = Outline::default();
                while let Some(name) = members.next_key::<String>()? {
                    match name.as_str() {
                        "id" => {
                            outline.ids.push(members.next_value()?);
                            continue;
                        }
                        "method" => outline.has_method = true,
                        "result" | "error" => outline.has_outcome = true,
                        _ => {}
                    }
                    members.next_value::<IgnoredAny>()?;
                }
                Ok(outline)
            }
        }

        message.deserialize_map(Members)
    }
}

/// Why a message is ambiguous, if it is JSON and ambiguous.
pub(crate) fn ambiguity(message: &[u8]) -> Option<serde_json::Error> {
    let error = parse_json(message).err()?;
    serde_json::from_slice::<Value>(message).is_ok().then_some(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_is_known_by_its_outline_and_its_only_id() {
        for (message, is_response, id) in [
            (r#"{"id":7,"result":{},"result":{}}"#, true, Some(7)),
            (r#"{"\u0069d":7,"result":{"a":[{"b":1,"\u0062":2}]}}"#, true, Some(7)),
            (r#"{"id":7,"error":{"code":1,"code":2}}"#, true, Some(7)),
            (r#"{"id":7,"id":7,"result":{}}"#, true, None),
            (r#"{"id":{},"result":{}}"#, true, None),
            (r#"{"id":7,"result":null}"#, true, Some(7)),
            (r#"{"id":7,"method":"x","result":{},"result":{}}"#, false, Some(7)),
            (r#"{"result":{},"result":{}}"#, true, None),
            (r#"{"id":7,"params":{"result":{},"id":8}}"#, false, Some(7)),
        ] {
            let outline = Outline::of(message.as_bytes()).unwrap();
            let found = (outline.is_response(), outline.only_id());
            assert_eq!(found, (is_response, id.map(RequestId::Number)), "{message}");
        }
        for message in [r#"{"id":7,"result":{},"result":{}"#, "[]", "7"] {
            assert!(Outline::of(message.as_bytes()).is_none(), "{message}");
        }
    }
}
