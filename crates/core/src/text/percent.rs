//! Percent escapes of RFC 3986.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// Everything but the unreserved characters.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
const PATH: &AsciiSet = &SEGMENT.remove(b'/');

/// One segment of a path in a URI: everything but unreserved characters is escaped.
pub fn uri_segment(text: &str) -> String {
    utf8_percent_encode(text, SEGMENT).to_string()
}

/// A path in a URI: everything but unreserved characters and `/` is escaped.
pub fn uri_path(text: &str) -> String {
    utf8_percent_encode(text, PATH).to_string()
}

/// A text with its escapes decoded. Anything else stays, and bytes that are not UTF-8 are replaced.
pub(crate) fn percent_decode(text: &str) -> Cow<'_, str> {
    percent_decode_str(text).decode_utf8_lossy()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_but_unreserved_characters_are_escaped() {
        assert_eq!(uri_path("a b/é:1~.md"), "a%20b/%C3%A9%3A1~.md");
        assert_eq!(uri_segment("a/b-_c"), "a%2Fb-_c");
        assert_eq!(percent_decode("a%20b%zz%+1%C3%A9%ff"), "a b%zz%+1é\u{fffd}");
    }
}
