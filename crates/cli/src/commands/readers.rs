//! The clients that look into a folder, in a few words.

use prowess::library::clients::{self, Client};

/// How many clients are named.
const NAMED: usize = 3;

/// Some clients by their ids, those on this machine first, such as `Codex, Cursor, Kilo and 29 more`.
pub(super) fn few<'i>(ids: impl IntoIterator<Item = &'i &'static str>, here: &[&Client]) -> String {
    let mut readers: Vec<&Client> = ids.into_iter().filter_map(|id| clients::client(id)).collect();
    readers.sort_by_key(|client| !here.iter().any(|other| other.id == client.id));
    let names: Vec<&str> = readers.iter().take(NAMED).map(|client| client.name).collect();
    match readers.len().saturating_sub(NAMED) {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    }
}
