//! How many values a request may have.

use prowess::text::json_values;

/// The most values and names of members in a request. Real ones have a few dozen.
pub(crate) const MAX_VALUES: usize = 10_000;

/// Whether a text would have more values, if it is JSON at all.
pub(crate) fn too_many(message: &[u8]) -> bool {
    json_values(message) > MAX_VALUES
}

/// The error that answers such a request.
pub(crate) fn complaint() -> rmcp::ErrorData {
    rmcp::ErrorData::invalid_request(format!("a message has more than {MAX_VALUES} values"), None)
}
