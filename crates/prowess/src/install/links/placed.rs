//! [`Placed`]: what Prowess placed in the folders of clients, and what the user wrote there.

use std::collections::BTreeSet;

use prowess_core::Digest;

use super::folders::ClientFolder;
use crate::install::compare::{Listing, is_unchanged};
use crate::install::error::InstallError;
use crate::install::protected::Protected;
use crate::install::records::{InstallTarget, Records, SkillsLock};
use crate::install::target::{Placement, Placements, State};

/// A place as it was before the current command.
pub(in crate::install) struct Before {
    pub(in crate::install) lock: SkillsLock,
    /// The clients that got copies.
    copied_for: Vec<String>,
    /// The folders that Prowess created.
    pub(in crate::install) placements: Placements,
}

impl Before {
    pub(in crate::install) fn of(place: &InstallTarget, records: &Records) -> Result<Self, InstallError> {
        let copied_for =
            if records.wanted.link().copies() { records.wanted.clients().to_vec() } else { Vec::new() };
        Ok(Self { lock: records.lock.clone(), copied_for, placements: Placements::load(&place.books)? })
    }
}

/// What Prowess placed in the folders of clients.
pub(super) struct Placed<'p> {
    pub(super) place: &'p InstallTarget,
    pub(super) before: &'p Before,
    /// The user's sources, of which none is removed.
    pub(super) protected: &'p Protected<'p>,
    pub(super) listing: Listing<'p>,
    /// The skills that only the lock names. It is no evidence of who made their copies.
    pub(super) dropped: BTreeSet<&'p str>,
}

impl Placed<'_> {
    /// Whether what a client has under a name is the source of an installed skill, or contains it.
    pub(super) fn is_source(&self, folder: &ClientFolder, name: &str, there: Option<&State>) -> bool {
        let is_placed = there.is_some_and(|there| match (there, self.placement(folder, name)) {
            (State::Link(_), _) | (_, Some(Placement::Placed(_))) => self.is_ours(folder, name, there),
            _ => false,
        });
        folder.open.as_ref().is_some_and(|(real, _)| self.protected.holds_source(&real.join(name), is_placed))
    }

    /// Whether Prowess placed the link or copy that a client has under a name, and it was not edited since.
    pub(super) fn is_ours(&self, folder: &ClientFolder, name: &str, there: &State) -> bool {
        match there {
            State::Link(to) => *to == folder.target(self.place, name),
            there => self.digest(folder, name).is_some_and(|placed| {
                is_unchanged(there, &folder.folder.join(name), Some(placed), self.listing)
            }),
        }
    }

    /// Whether Prowess placed a copy under a name. It may have been edited since.
    pub(super) fn has_copy(&self, folder: &ClientFolder, name: &str, there: &State) -> bool {
        !matches!(there, State::Link(_)) && self.digest(folder, name).is_some()
    }

    /// Whether the user created what a client has under a name, as far as it is known.
    pub(super) fn is_users(&self, folder: &ClientFolder, name: &str, there: &State) -> bool {
        match there {
            State::Link(to) => *to != folder.target(self.place, name),
            _ => self.digest(folder, name).is_none(),
        }
    }

    /// Whether it was recorded that the user created what a client has under a name, and keeps it.
    pub(super) fn is_left(&self, folder: &ClientFolder, name: &str) -> bool {
        folder.is_left(name, &self.before.placements)
    }

    fn placement(&self, folder: &ClientFolder, name: &str) -> Option<&Placement> {
        folder.placement(name, &self.before.placements)
    }

    /// Whether it is not known any more who created the copy that a client has under a name: it stays.
    pub(super) fn is_forgotten(&self, folder: &ClientFolder, name: &str, there: &State) -> bool {
        let is_lost = self.before.placements.is_lost() && self.placement(folder, name).is_none();
        is_lost
            && !matches!(there, State::Link(_))
            && (self.before.lock.get(name)).is_some_and(|locked| {
                is_unchanged(there, &folder.folder.join(name), locked.digest, self.listing)
            })
    }

    /// The digest of the copy that Prowess placed under a name. In a project that was cloned or moved nothing is known
    /// about it, and the records that came with it say which copies it has. Where the record was lost, they do not: it
    /// may have said that the user keeps the copy.
    fn digest(&self, folder: &ClientFolder, name: &str) -> Option<Digest> {
        match self.placement(folder, name) {
            Some(Placement::Placed(digest)) => Some(*digest),
            None if !self.before.placements.is_lost()
                && !self.dropped.contains(name)
                && self.before.copied_for.contains(&folder.client) =>
            {
                self.before.lock.get(name)?.digest
            }
            Some(Placement::Users) | None => None,
        }
    }
}
