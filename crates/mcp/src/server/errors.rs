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

/// Makes hidden characters visible in an error, and cuts long texts: rmcp quotes a client as it is. Its error for a method
/// that it knows and this server does not has only the name.
pub(crate) fn make_readable(error: &mut ErrorData) {
    if error.code == ErrorCode::METHOD_NOT_FOUND && !error.message.contains(' ') {
        *error = no_such_method(&error.message);
        return;
    }
    error.message = readable(&error.message).into();
    if let Some(data) = &mut error.data {
        make_texts_readable(data);
    }
}

fn make_texts_readable(data: &mut Value) {
    match data {
        Value::String(text) => *text = readable(text),
        Value::Array(items) => items.iter_mut().for_each(make_texts_readable),
        Value::Object(members) => members.values_mut().for_each(make_texts_readable),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A text of an error, which may have several lines.
fn readable(text: &str) -> String {
    prowess::text::visible(&prowess::text::cut(text, Some(4096))).into_owned()
}

/// The error for a result that could not be encoded.
pub(crate) fn internal(error: serde_json::Error) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_rmcp_is_readable_and_short() {
        let data = json!({"requested": "\u{202e}2026", "list": ["x".repeat(5000)], "n": 1});
        let mut error =
            ErrorData::invalid_params(format!("header \u{1b}[31m{}", "z".repeat(20_000)), Some(data));
        make_readable(&mut error);
        assert!(error.message.starts_with(r"header \u{1b}[31mzzz") && error.message.len() < 5000);
        let data = error.data.unwrap();
        assert_eq!((&data["requested"], &data["n"]), (&json!(r"\u{202e}2026"), &json!(1)));
        assert!(data["list"][0].as_str().unwrap().ends_with("x…"));
        let mut error = ErrorData::method_not_found::<rmcp::model::SetLevelRequestMethod>();
        make_readable(&mut error);
        assert_eq!(error.message, "no such method: logging/setLevel");
        make_readable(&mut error);
        assert_eq!(error.message, "no such method: logging/setLevel");
    }

    #[test]
    fn a_text_of_a_client_that_is_cut_says_so() {
        assert_eq!(excerpt(&"x".repeat(200)), "x".repeat(200));
        assert_eq!(excerpt(&"x".repeat(201)), format!("{}…", "x".repeat(199)));
        assert_eq!(uri_data(&"x".repeat(5000))["uri"], format!("{}…", "x".repeat(4095)));
    }
}
