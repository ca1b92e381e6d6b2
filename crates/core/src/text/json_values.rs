//! How many values a JSON text has, counted before it is read.
//!
//! A digit and a comma are two bytes of text and about a hundred in memory once they are values. A limit on bytes alone
//! would allow a file to take fifty times its size.

/// An upper bound of the values and names of members in a text, if it is JSON at all.
///
/// ```
/// assert_eq!(prowess_core::text::json_values(br#"{"a": [1, "2, 3"]}"#), 5);
/// ```
pub fn json_values(text: &[u8]) -> usize {
    let (mut values, mut in_string, mut escaped) = (1, false, false);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            // Every value but the first follows one of these.
            b',' | b':' | b'[' | b'{' if !in_string => values += 1,
            _ => {}
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_and_what_strings_hold_is_not() {
        let list = |values: usize| format!("[{}]", vec!["0"; values].join(",")).into_bytes();
        assert_eq!(json_values(&list(99)), 100);
        let text = serde_json::to_vec(&"\\\",[{:".repeat(100)).unwrap();
        assert_eq!(json_values(&text), 1);
        assert_eq!(json_values("[".repeat(100).as_bytes()), 101);
        assert_eq!(json_values(&br#"{"":0}"#.repeat(100)), 201);
    }
}
