//! The methods of the protocol that are served, by the versions that have them.

use crate::protocol::wire::{DIRECTORY, GET, LIST};

/// Methods of every version, with types in rmcp.
pub(crate) const COMMON: [&str; 9] = [
    "completion/complete",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "tools/call",
    "tools/list",
    "server/discover",
];

/// Methods of the versions with a handshake. They were removed in 2026-07-28.
pub(crate) const HANDSHAKE: [&str; 4] =
    ["initialize", "ping", "resources/subscribe", "resources/unsubscribe"];

/// Methods of the versions without a handshake.
pub(crate) const SESSIONLESS: [&str; 1] = ["subscriptions/listen"];

/// Notifications of clients.
const NOTIFICATIONS: [&str; 2] = ["notifications/cancelled", "notifications/initialized"];

/// The name of a method, if it is served.
pub(crate) fn served(method: &str) -> Option<&'static str> {
    let all = [&COMMON[..], &HANDSHAKE, &SESSIONLESS, &NOTIFICATIONS, &[LIST, GET, DIRECTORY]];
    all.into_iter().flatten().copied().find(|served| *served == method)
}
