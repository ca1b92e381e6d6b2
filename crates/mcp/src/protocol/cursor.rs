//! Where a list goes on: the key after which the next page begins, sealed, so that a foreign cursor is told apart.
//!
//! A cursor names a key, not a position: when skills come and go between two pages, none is shown twice and none that
//! stays is left out. The seal protects no secret; it tells our cursors from others', and those of one list from
//! those of another.

use sha2::{Digest as _, Sha256};

/// Makes and reads cursors of this process.
#[derive(Debug)]
pub(crate) struct Cursors {
    seal: [u8; 16],
}

impl Cursors {
    /// With a seal of its own: what this process is, and when it began.
    pub(crate) fn new() -> Self {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        let mut hash = Sha256::new();
        hash.update(now.as_nanos().to_le_bytes());
        hash.update(std::process::id().to_le_bytes());
        let mut seal = [0; 16];
        seal.iter_mut().zip(hash.finalize()).for_each(|(to, from)| *to = from);
        Self { seal }
    }

    /// The cursor behind `after` in the list `list`: `skills`, `prompts`, `dir:skill://…`.
    pub(crate) fn make(&self, list: &str, after: &str) -> String {
        format!("{}.{}", self.sum(list, after), crate::protocol::uri::encode(after))
    }

    /// The key a cursor stands for, unless it is none of ours for this list.
    pub(crate) fn read(&self, list: &str, cursor: &str) -> Option<String> {
        let (sum, after) = cursor.split_once('.')?;
        let after = crate::protocol::uri::decode(after)?;
        (sum == self.sum(list, &after)).then_some(after)
    }

    fn sum(&self, list: &str, after: &str) -> String {
        let mut hash = Sha256::new();
        hash.update(self.seal);
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
    fn a_cursor_is_good_for_its_own_list_only() {
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
