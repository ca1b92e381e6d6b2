//! Which client a text probably means.

use prowess_core::text::similar;

use super::{CLIENTS, Client};

/// The ids of the clients that a text probably means: by another spelling of a name, by a part of an id, or by typos.
pub fn client_meant(text: &str) -> Vec<&'static str> {
    let lower = text.trim().to_lowercase();
    let ids = |is_meant: &dyn Fn(&Client) -> bool| -> Vec<&'static str> {
        CLIENTS.iter().filter(|client| is_meant(client)).map(|client| client.id).collect()
    };
    let same = ids(&|client| client.id == lower || client.name.to_lowercase() == lower);
    let part = || ids(&|client| !lower.is_empty() && client.id.split('-').any(|part| part == lower));
    let similar = || similar(&lower, CLIENTS.iter().map(|client| client.id));
    [same, part(), similar()].into_iter().find(|found| !found.is_empty()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_meant_by_its_name_by_a_part_of_its_id_and_with_typos() {
        assert_eq!(client_meant(" Claude Code "), ["claude-code"]);
        assert_eq!(client_meant("gemini"), ["gemini-cli"]);
        assert_eq!(client_meant("codx").first(), Some(&"codex"));
        assert_eq!(client_meant("nothing-of-the-kind"), Vec::<&str>::new());
    }
}
