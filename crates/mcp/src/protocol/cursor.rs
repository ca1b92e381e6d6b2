//! Cursors of lists: the key after which the next page begins, with a checksum that rejects foreign cursors.
//!
//! A cursor names a key, not a position: when skills are added or removed between two pages, no skill appears twice and
//! none that stays is left out. The checksum protects no secret; it distinguishes the cursors of this process and list
//! from all others.

use prowess::text::uri_segment;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// The methods of lists whose params are read by rmcp.
const LISTS: [&str; 4] = ["prompts/list", "resources/list", "resources/templates/list", "tools/list"];

/// Makes a text of the cursor of a list that is none, so that it is refused as any other foreign one. rmcp would ignore it
/// and ask for the first page, again and again. True if the message has changed.
pub(crate) fn make_text(message: &mut Value) -> bool {
    let is_list = message.get("method").and_then(Value::as_str).is_some_and(|method| LISTS.contains(&method));
    let cursor = message.get_mut("params").filter(|_| is_list).and_then(|params| params.get_mut("cursor"));
    match cursor {
        None | Some(Value::Null | Value::String(_)) => false,
        Some(cursor) => {
            *cursor = cursor.to_string().into();
            true
        }
    }
}

/// Makes and reads the cursors of this process.
#[derive(Debug)]
pub(crate) struct Cursors {
    seed: [u8; 16],
}

impl Cursors {
    /// The seed of the checksums is the process id and the current time.
    pub(crate) fn new() -> Self {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let mut hash = Sha256::new();
        hash.update(now.as_nanos().to_le_bytes());
        hash.update(std::process::id().to_le_bytes());
        let mut seed = [0; 16];
        seed.iter_mut().zip(hash.finalize()).for_each(|(to, from)| *to = from);
        Self { seed }
    }

    /// The cursor for the page after the key `after` in a list such as `skills`, `prompts` or `folder skill://…`.
    pub(crate) fn make(&self, list: &str, after: &str) -> String {
        format!("{}.{}", self.checksum(list, after), uri_segment(after))
    }

    /// The key in a cursor; `None` when it was not made by this process for this list.
    pub(crate) fn read(&self, list: &str, cursor: &str) -> Option<String> {
        let (sum, after) = cursor.split_once('.')?;
        let after = crate::protocol::uri::decode(after)?;
        (sum == self.checksum(list, &after)).then_some(after)
    }

    fn checksum(&self, list: &str, after: &str) -> String {
        let mut hash = Sha256::new();
        hash.update(self.seed);
        hash.update((list.len() as u64).to_le_bytes());
        hash.update(list);
        hash.update(after);
        hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_valid_for_its_own_list_only() {
        let cursors = Cursors::new();
        let cursor = cursors.make("skills", "team:tidy up");
        assert_eq!(cursors.read("skills", &cursor).as_deref(), Some("team:tidy up"));
        assert_eq!(cursors.read("prompts", &cursor), None);
        for foreign in
            ["", ".", "x", "0123456789abcdef.tidy-up", &format!("{cursor}x"), &cursor.to_uppercase()]
        {
            assert_eq!(cursors.read("skills", foreign), None, "{foreign}");
        }
    }
}
