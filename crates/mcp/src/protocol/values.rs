//! The limits on the number of JSON values in a request, and on what begins a session.

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

/// The maximum size of the request that begins a session, in bytes, and of its number of values. The session keeps it to
/// its end, so it is far below that of other requests. Those of real clients have a few hundred bytes and a dozen values.
const MAX_HANDSHAKE_BYTES: usize = 16 * 1024;
const MAX_HANDSHAKE_VALUES: usize = 256;

/// Whether the request that begins a session is larger than its limit.
pub(crate) fn is_large_handshake(message: &[u8]) -> bool {
    message.len() > MAX_HANDSHAKE_BYTES || json_values(message) > MAX_HANDSHAKE_VALUES
}

/// The error in the response to such a request.
pub(crate) fn large_handshake_error() -> rmcp::ErrorData {
    let limit = format!("at most {MAX_HANDSHAKE_BYTES} bytes and {MAX_HANDSHAKE_VALUES} values");
    rmcp::ErrorData::invalid_request(format!("the initialize request is too large: {limit}"), None)
}
