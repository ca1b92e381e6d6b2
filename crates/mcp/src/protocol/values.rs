//! How many values a message may have, counted before it is read.
//!
//! A digit and a comma are two bytes on the wire and some two hundred in memory, so a message of 1 MiB could take a
//! hundred times its size.

/// The most values and names of members in a message. Real ones have a few dozen.
pub(crate) const MAX_VALUES: usize = 10_000;

/// Whether a text would have more values, if it is JSON at all.
pub(crate) fn too_many(message: &[u8]) -> bool {
    let (mut values, mut in_string, mut escaped) = (1, false, false);
    for byte in message {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            // Each value but the first stands behind one of these.
            b',' | b':' | b'[' | b'{' if !in_string => values += 1,
            _ => {}
        }
    }
    values > MAX_VALUES
}

/// What is said to such a message.
pub(crate) fn complaint() -> rmcp::ErrorData {
    rmcp::ErrorData::invalid_request(format!("a message has more than {MAX_VALUES} values"), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_and_what_strings_hold_is_not() {
        let list = |values: usize| format!("[{}]", vec!["0"; values].join(",")).into_bytes();
        assert!(!too_many(&list(MAX_VALUES - 1)) && too_many(&list(MAX_VALUES)));
        let text = serde_json::to_vec(&"\\\",[{:".repeat(MAX_VALUES)).unwrap();
        assert!(!too_many(&text));
        assert!(too_many("[".repeat(MAX_VALUES).as_bytes()) && too_many(&br#"{"":0}"#.repeat(MAX_VALUES)));
    }
}
