//! The limits on the number of JSON values in a request, and on requests that are kept.

use prowess::internal::json_values;

use crate::server::connection::{MAX_SUBSCRIBED_BYTES, MAX_SUBSCRIPTIONS};

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

/// The methods whose requests are kept, by a session or a stream to its end, with the most bytes and values of each. They
/// are far below those of other requests. An `initialize` of a real client has a few hundred bytes and a dozen values; a
/// subscription has the URIs that it names.
const KEPT: [(&str, usize, usize); 2] = [
    ("initialize", 16 * 1024, 256),
    ("subscriptions/listen", 2 * MAX_SUBSCRIBED_BYTES, 2 * MAX_SUBSCRIPTIONS),
];

/// The error in the response to a request that is kept and larger than its limit.
pub(crate) fn too_large_to_keep(method: &str, message: &[u8]) -> Option<rmcp::ErrorData> {
    let (method, bytes, values) = KEPT.into_iter().find(|(kept, ..)| *kept == method)?;
    (message.len() > bytes || json_values(message) > values).then(|| {
        let limit = format!("at most {bytes} bytes and {values} values");
        rmcp::ErrorData::invalid_request(format!("the request {method} is too large: {limit}"), None)
    })
}
