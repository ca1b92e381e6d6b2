//! The errors of requests.

use rmcp::ErrorData;
use rmcp::model::ErrorCode;
use serde_json::{Value, json};

/// The error for a method that is not served.
pub(crate) fn no_such_method(method: &str) -> ErrorData {
    let text = format!("no such method: {}", excerpt(method));
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, text, None)
}

/// The error for a URI that is not served, the same in every era, with the URI as data.
pub(crate) fn not_served(what: &str, uri: &str) -> ErrorData {
    ErrorData::invalid_params(format!("{what} {}", excerpt(uri)), Some(uri_data(uri)))
}

/// The data of an error about a URI.
pub(crate) fn uri_data(uri: &str) -> Value {
    json!({ "uri": beginning(uri, 4096) })
}

/// The beginning of a client's text for an error, on one line, with hidden characters made visible. What is cut ends with
/// `…`.
pub(crate) fn excerpt(text: &str) -> String {
    beginning(text, 200)
}

fn beginning(text: &str, most: usize) -> String {
    prowess::text::inline(&prowess::text::cut(text, Some(most))).into_owned()
}

/// The error for a result that could not be encoded.
pub(crate) fn internal(error: serde_json::Error) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_a_client_that_is_cut_says_so() {
        assert_eq!(excerpt(&"x".repeat(200)), "x".repeat(200));
        assert_eq!(excerpt(&"x".repeat(201)), format!("{}…", "x".repeat(199)));
        assert_eq!(uri_data(&"x".repeat(5000))["uri"], format!("{}…", "x".repeat(4095)));
    }
}
