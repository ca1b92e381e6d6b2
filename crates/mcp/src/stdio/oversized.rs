//! Finds the id of a message that is too long to be kept in memory.
//!
//! The id may be anywhere in the message, and nested objects have their own ids. So the bytes are scanned as JSON: only
//! a member of the outermost object counts.

use rmcp::model::RequestId;

/// The maximum length of an id that is sent back in an error response.
pub(crate) const MAX_ID: usize = 256;

/// Scans the bytes of an oversized message.
#[derive(Debug, Default)]
pub(crate) struct OversizedLine {
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// The string or bare value that is being read in the outermost object.
    word: Vec<u8>,
    /// The name of the member whose value comes next.
    member: Option<Vec<u8>>,
    id: Option<Vec<u8>>,
    /// Whether it is a response, whose id is one of ours.
    is_response: bool,
    /// Whether the message is not an object.
    not_an_object: bool,
}

impl OversizedLine {
    /// Scans the next bytes.
    pub(crate) fn scan(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.scan_byte(*byte);
        }
    }

    fn scan_byte(&mut self, byte: u8) {
        if self.in_string {
            self.keep(byte);
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => {
                self.in_string = true;
                self.keep(byte);
            }
            b'{' | b'[' => {
                self.not_an_object |= self.depth == 0 && byte == b'[';
                self.depth += 1;
                self.word.clear();
            }
            b':' if self.depth == 1 => self.member = Some(std::mem::take(&mut self.word)),
            b',' if self.depth == 1 => self.end_of_member(),
            b'}' | b']' => {
                if self.depth == 1 {
                    self.end_of_member();
                }
                self.depth = self.depth.saturating_sub(1);
            }
            byte if byte.is_ascii_whitespace() => {}
            byte => {
                self.not_an_object |= self.depth == 0;
                self.keep(byte);
            }
        }
    }

    fn keep(&mut self, byte: u8) {
        // One byte more than the maximum marks an id that is too long.
        if self.depth == 1 && self.word.len() <= MAX_ID {
            self.word.push(byte);
        }
    }

    fn end_of_member(&mut self) {
        let value = std::mem::take(&mut self.word);
        match self.member.take().as_deref() {
            Some(b"\"id\"") => self.id = Some(value),
            Some(b"\"result\"" | b"\"error\"") => self.is_response = true,
            _ => {}
        }
    }

    /// Whether it is a notification, which gets no response.
    pub(crate) fn is_notification(&self) -> bool {
        self.id.is_none() && !self.not_an_object
    }

    /// The id for the error response, if there is a valid one.
    pub(crate) fn id(&self) -> Option<RequestId> {
        let id = self.id.as_ref().filter(|id| id.len() <= MAX_ID && !self.is_response);
        id.and_then(|id| serde_json::from_slice(id).ok())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Map, Value};

    use super::*;

    fn scanned(text: &str) -> OversizedLine {
        let mut line = OversizedLine::default();
        // In pieces, as it is read.
        for piece in text.as_bytes().chunks(3) {
            line.scan(piece);
        }
        line
    }

    #[test]
    fn the_id_is_that_of_the_message_and_not_of_a_nested_object() {
        for text in [
            r#"{"id":7,"method":"x"}"#,
            r#"{ "params" : {"id": 8, "more": [{"id": 9}]} , "id" : 7 }"#,
            r#"{"x":"\"id\":8,","y":"}{\\","id":7}"#,
        ] {
            assert_eq!(scanned(text).id(), Some(RequestId::Number(7)), "{text}");
        }
        let text = r#"{"method":"x","id":"a \"b\""}"#;
        assert_eq!(scanned(text).id(), Some(RequestId::String("a \"b\"".into())));
    }

    #[test]
    fn a_notification_gets_no_response_and_an_invalid_message_has_no_id() {
        for text in [r#"{"method":"x","params":{"id":7}}"#, r#"{"x":"id","y":{"z":1}}"#] {
            assert!(scanned(text).is_notification(), "{text}");
        }
        let long = format!(r#"{{"id":"{}"}}"#, "x".repeat(MAX_ID + 1));
        for text in ["nonsense", r#"[{"id":7}]"#, long.as_str(), r#"{"id":null}"#] {
            let line = scanned(text);
            assert_eq!((line.is_notification(), line.id()), (false, None), "{text}");
        }
    }

    fn json(depth: u32) -> BoxedStrategy<Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<i64>().prop_map(Value::from),
            "[a-z\"\\\\{}\\[\\],: ]{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(depth, 24, 4, |inner| {
            let name = prop_oneof![Just("id".to_owned()), "[a-z\"\\\\:]{0,4}"];
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map(name, inner, 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
        .boxed()
    }

    proptest! {
        #[test]
        fn the_id_of_any_message_is_the_one_that_a_parser_finds(
            before in json(3), id in proptest::option::of(prop_oneof![any::<i64>().prop_map(Value::from), "[a-z\"\\\\]{0,9}".prop_map(Value::from)]),
            after in json(3), pretty in any::<bool>(),
        ) {
            let mut message = Map::new();
            message.insert("params".to_owned(), before);
            if let Some(id) = &id {
                message.insert("id".to_owned(), id.clone());
            }
            message.insert("more".to_owned(), after);
            let text = if pretty { serde_json::to_string_pretty(&message) } else { serde_json::to_string(&message) };
            let line = scanned(&text.unwrap());
            prop_assert_eq!(line.is_notification(), id.is_none());
            prop_assert_eq!(line.id(), id.map(|id| serde_json::from_value(id).unwrap()));
        }

        #[test]
        fn no_bytes_panic_and_memory_is_bounded(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut line = OversizedLine::default();
            line.scan(&bytes);
            let _ = (line.is_notification(), line.id());
            prop_assert!(line.word.len() <= MAX_ID + 1);
        }
    }
}
