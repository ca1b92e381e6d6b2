//! The limit on the number of JSON values in a request.

use prowess::internal::json_values;

/// The maximum number of values and member names in a request. Real requests have a few dozen.
pub(crate) const MAX_VALUES: usize = 10_000;

/// Whether a message has more values than the limit, if it is JSON at all.
pub(crate) fn too_many(message: &[u8]) -> bool {
    json_values(message) > MAX_VALUES
}

/// The error in the response to such a request.
pub(crate) fn too_many_error() -> rmcp::ErrorData {
    rmcp::ErrorData::invalid_request(format!("a message has more than {MAX_VALUES} values"), None)
}
