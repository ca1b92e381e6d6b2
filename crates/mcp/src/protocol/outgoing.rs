//! An outgoing message, in which the bytes of a file are encoded as JSON piece by piece while they are sent.
//!
//! The response with a file is up to twice as large as the file. Encoded at once, it would be in memory a second time
//! for as long as the client takes to read it.

use std::collections::VecDeque;

use bytes::Bytes;
use rmcp::model::RequestId;

/// The number of bytes of a file that are encoded at once; a multiple of three for Base64.
const PIECE: usize = 48 * 1024;

/// A part of a message.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    /// JSON.
    Json(Bytes),
    /// Text inside the quotes of a JSON string, and its length when escaped.
    Text(Bytes, u64),
    /// Bytes inside the quotes of a JSON string, encoded as Base64.
    Base64(Bytes),
}

impl Part {
    /// Text, unless escaping makes it more than twice as long: most control characters take six bytes.
    pub(crate) fn text(text: Bytes) -> Result<Self, Bytes> {
        let length: u64 = text.iter().map(|byte| escaped(*byte).0).sum();
        if length > 2 * text.len() as u64 || text.contains(&0) {
            return Err(text);
        }
        Ok(Self::Text(text, length))
    }

    fn length(&self) -> u64 {
        match self {
            Self::Json(json) => json.len() as u64,
            Self::Text(_, length) => *length,
            Self::Base64(bytes) => bytes.len().div_ceil(3) as u64 * 4,
        }
    }

    /// The next encoded piece; `None` at the end.
    fn piece(&mut self) -> Option<Bytes> {
        let next = |bytes: &mut Bytes| bytes.split_to(bytes.len().min(PIECE));
        let piece = match self {
            Self::Json(json) => std::mem::take(json),
            Self::Text(text, _) => {
                let plain = next(text);
                let mut piece = Vec::with_capacity(plain.len() * 2);
                for byte in plain {
                    match escaped(byte).1 {
                        None => piece.push(byte),
                        Some(Escape::Short(letter)) => piece.extend([b'\\', letter]),
                        Some(Escape::Long) => piece.extend(format!("\\u{byte:04x}").bytes()),
                    }
                }
                piece.into()
            }
            Self::Base64(bytes) => prowess::internal::base64(&next(bytes)).into(),
        };
        (!piece.is_empty()).then_some(piece)
    }
}

enum Escape {
    Short(u8),
    Long,
}

/// The length of a byte of text in JSON, and its escape if it needs one.
fn escaped(byte: u8) -> (u64, Option<Escape>) {
    let letter = match byte {
        b'"' | b'\\' => byte,
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x08 => b'b',
        0x0c => b'f',
        0..0x20 => return (6, Some(Escape::Long)),
        _ => return (1, None),
    };
    (2, Some(Escape::Short(letter)))
}

/// A message, as an iterator over its pieces.
#[derive(Debug)]
pub(crate) struct OutgoingMessage {
    parts: VecDeque<Part>,
    remaining: u64,
}

impl OutgoingMessage {
    fn new(parts: VecDeque<Part>) -> Self {
        let remaining = parts.iter().map(Part::length).sum();
        Self { parts, remaining }
    }

    /// A message that is already encoded.
    pub(crate) fn encoded(message: Vec<u8>) -> Self {
        Self::new([Part::Json(message.into())].into())
    }

    /// The response to a request.
    pub(crate) fn response(id: &RequestId, result: &[Part]) -> Self {
        let id = serde_json::to_string(id).unwrap_or_default();
        let begin = Part::Json(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"#).into());
        let end = Part::Json(Bytes::from_static(b"}"));
        Self::new([begin].into_iter().chain(result.iter().cloned()).chain([end]).collect())
    }

    /// The number of bytes that remain.
    pub(crate) fn remaining(&self) -> u64 {
        self.remaining
    }
}

impl Iterator for OutgoingMessage {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(piece) = self.parts.front_mut()?.piece() {
                self.remaining = self.remaining.saturating_sub(piece.len() as u64);
                return Some(piece);
            }
            self.parts.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn whole(mut message: OutgoingMessage) -> Vec<u8> {
        let length = message.remaining();
        let bytes: Vec<u8> = message.by_ref().flatten().collect();
        assert_eq!((bytes.len() as u64, message.remaining()), (length, 0));
        bytes
    }

    #[test]
    fn text_that_json_would_more_than_double_is_not_sent_as_text() {
        let is_text = |text: &str| Part::text(text.to_owned().into()).is_ok();
        assert!(
            is_text("")
                && is_text("plain")
                && is_text("\"\\\n\r\t\u{8}\u{c}")
                && is_text("ä €\u{7f}\u{2028}")
        );
        assert!(is_text(&"colour \u{1b}[31mred\u{1b}[0m".repeat(100)));
        assert!(!is_text("\u{1}\u{1f}") && !is_text("a\u{1}") && !is_text("nothing\0"));
    }

    proptest! {
        #[test]
        fn a_file_encoded_in_pieces_equals_one_encoded_at_once(
            bytes in proptest::collection::vec(any::<u8>(), 0..40),
            times in prop_oneof![Just(1usize), Just(3000)],
        ) {
            let bytes = bytes.repeat(times);
            let part = match std::str::from_utf8(&bytes) {
                Ok(_) => Part::text(bytes.clone().into()).unwrap_or_else(Part::Base64),
                Err(_) => Part::Base64(bytes.clone().into()),
            };
            let expected = match &part {
                Part::Base64(_) => prowess::internal::base64(&bytes),
                _ => {
                    let text = serde_json::to_string(std::str::from_utf8(&bytes).unwrap()).unwrap();
                    text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap().to_owned()
                }
            };
            let message = OutgoingMessage::response(&RequestId::Number(7), &[part]);
            prop_assert_eq!(
                String::from_utf8(whole(message)).unwrap(),
                format!(r#"{{"jsonrpc":"2.0","id":7,"result":{expected}}}"#)
            );
        }
    }
}
