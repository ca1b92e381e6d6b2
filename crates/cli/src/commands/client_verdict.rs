//! What a client makes of a skill, in words, for `prowess why`.

use prowess::client::Fact;
use prowess::library::clients::Client;
use prowess::{Candidate, Entry, Registry, Standing};

use crate::prompt::{is_not_read, not_for_model};
use crate::ui::clean;

/// What a client makes of a skill.
pub(super) fn said_of_client(
    client: &Client,
    candidate: &Candidate,
    standing: &Standing,
    registry: &Registry,
) -> String {
    let name = client.name;
    let several = candidate.sighting.is_some_and(|sighting| sighting.facts.has(Fact::OneOfSeveral));
    match standing {
        Standing::Listed if is_not_read(candidate) => {
            format!("not read, so it is not known how {name} lists it: {}", Fact::NotRead.what())
        }
        Standing::Listed => match not_for_model(candidate, registry) {
            Some(fact) => format!("{name} lists it, but not to its model: {}", fact.what()),
            None if several => format!("{name} lists one skill with this name, not always this one"),
            None => format!("{name} lists it"),
        },
        Standing::Shadowed { .. } if several => {
            format!("{name} lists one skill with this name, not always the same one")
        }
        Standing::Shadowed { .. } => format!("{name} lists another skill with this name"),
        Standing::Unseen { reason, .. } => format!("{name} does not list it: {}", clean(reason)),
        Standing::Blocked { .. } => "left out by an option".to_owned(),
    }
}

/// The name under which a client shows a skill, and why it differs from the one in the file.
pub(super) fn seen_as(client: &Client, candidate: &Candidate) -> String {
    let Entry { key, name, .. } = &candidate.entry;
    if key == name {
        return key.clone();
    }
    let reads = client.reads();
    let facts = candidate.sighting.unwrap_or_default().facts.common(reads.folder_if);
    let because = if reads.by_folder {
        format!("{} takes the name of the folder", client.name)
    } else if let Some(fact) = facts.iter().next() {
        format!("{} takes the name of the folder, since {}", client.name, fact.what())
    } else {
        format!("{} {}", client.name, reads.rewrite.words())
    };
    format!("{key}; its file says {name}, and {because}")
}
