//! [`Actual`]: what is in the folders of a place before a plan is carried out, and what is known about it.

use std::path::{Path, PathBuf};

use prowess_core::Digest;

use super::change::{Action, Change, LeftAlone};
use super::losses::unknown;
use super::protected::Protected;
use super::{AcceptedSkills, ApplyOptions, ClientFolder, Order, state};
use crate::fs::dir::Folder;
use crate::install::apply::{Placement, Placements, State};
use crate::install::error::InstallError;
use crate::install::records::{LockedSkill, SkillsLock};
use crate::install::verify::compare::is_unchanged;

/// A place as it is.
pub(super) struct Actual<'a> {
    pub(super) how: ApplyOptions<'a>,
    pub(super) orders: &'a [Order],
    /// The open folder of installed skills, if it exists.
    pub(super) dir: Option<Folder>,
    /// The lock before the plan.
    pub(super) lock: SkillsLock,
    /// The clients that got copies.
    pub(super) copied_for: Vec<String>,
    /// The folders that Prowess created.
    pub(super) placements: Placements,
    pub(super) accepted: AcceptedSkills,
    /// The user's sources, of which none is removed.
    pub(super) protected: Protected<'a>,
}

impl Actual<'_> {
    pub(super) fn change(&self, locked: &LockedSkill, action: Action) -> Change {
        Change::of(locked.clone(), self.how.place.skill(&locked.name), action)
    }

    pub(super) fn unknown(&self, name: &str) -> InstallError {
        unknown(self.how.place, name, &self.lock)
    }

    pub(super) fn state(&self, name: &str) -> Result<Option<State>, InstallError> {
        Ok(self.dir.as_ref().map(|dir| state(dir, name)).transpose()?.flatten())
    }

    /// Whether what is at a path are the files with a digest, perhaps with other line ends.
    pub(super) fn is_unchanged(&self, there: &State, path: &Path, digest: Option<Digest>) -> bool {
        is_unchanged(there, path, digest, self.how.listing)
    }

    /// Whether what is there under a name is the source of a skill that needs it.
    pub(super) fn is_source(&self, name: &str, there: &State) -> bool {
        let is_as_placed =
            |placed: Digest| self.is_unchanged(there, &self.how.place.skill(name), Some(placed));
        self.dir.as_ref().is_some_and(|dir| {
            let path = dir.path().join(name);
            self.protected.holds_source(&path, self.placements.digest(&path).is_some_and(is_as_placed))
        })
    }

    /// The digest of the files that Prowess placed under a name. Where that is not recorded, as in a project that was
    /// moved, it is the digest of files from a repository that the user accepted there. An approval alone is not enough,
    /// since a user may also trust files of his own.
    pub(super) fn placed(&self, name: &str) -> Option<Digest> {
        self.placements.digest(&self.dir.as_ref()?.path().join(name)).or_else(|| {
            let accepted = self.accepted.approval_in(&self.how.place.skill(name))?.digest?;
            self.is_from_repository(accepted).then_some(accepted)
        })
    }

    /// Whether a tree under a name is what was installed there last, by a lock that has changed since.
    pub(super) fn was_installed(&self, name: &str, there: Digest) -> bool {
        match self.placed(name) {
            Some(placed) => placed == there,
            None => {
                self.accepted.approval_in(&self.how.place.skill(name)).is_none()
                    && self.is_from_repository(there)
            }
        }
    }

    fn is_from_repository(&self, digest: Digest) -> bool {
        self.how.installer.fetch_log().is_from_repository(digest, self.how.listing)
    }

    /// What a client has under the name of a skill.
    pub(super) fn entry<'e>(
        &'e self,
        folder: &'e ClientFolder,
        name: &'e str,
    ) -> Result<ClientEntry<'e>, InstallError> {
        let (path, there) = (folder.folder.join(name), folder.state(name)?);
        Ok(ClientEntry { actual: self, folder, name, path, there })
    }
}

/// What a client has under the name of a skill, and what is known about it.
pub(super) struct ClientEntry<'e> {
    actual: &'e Actual<'e>,
    folder: &'e ClientFolder,
    name: &'e str,
    /// Where the client looks for it.
    pub(super) path: PathBuf,
    pub(super) there: Option<State>,
}

impl ClientEntry<'_> {
    /// The real path; none when the folder of the client does not exist.
    pub(super) fn real(&self) -> Option<PathBuf> {
        self.folder.open.as_ref().map(|open| open.path().join(self.name))
    }

    pub(super) fn left(&self, is_source: bool) -> LeftAlone {
        LeftAlone { client: self.folder.client.clone(), path: self.path.clone(), is_source }
    }

    fn is_link(&self) -> bool {
        matches!(self.there, Some(State::Link(_)))
    }

    /// Whether there are the files with a digest, perhaps with other line ends. A link is none.
    pub(super) fn is_unchanged(&self, digest: Option<Digest>) -> bool {
        self.there.as_ref().is_some_and(|there| self.actual.is_unchanged(there, &self.path, digest))
    }

    /// Whether it is the source of an installed skill, or contains it.
    pub(super) fn is_source(&self) -> bool {
        let is_known = self.is_link() || matches!(self.placement(), Some(Placement::Placed(_)));
        let is_placed = is_known && self.is_ours();
        self.real().is_some_and(|real| self.actual.protected.holds_source(&real, is_placed))
    }

    /// Whether Prowess placed the link or copy, and it was not edited since.
    pub(super) fn is_ours(&self) -> bool {
        match &self.there {
            Some(State::Link(to)) => *to == self.folder.target(self.actual.how.place, self.name),
            _ => self.placed().is_some_and(|placed| self.is_unchanged(Some(placed))),
        }
    }

    /// Whether Prowess placed a copy. It may have been edited since.
    pub(super) fn has_copy(&self) -> bool {
        self.there.is_some() && !self.is_link() && self.placed().is_some()
    }

    /// Whether the user created it, as far as it is known.
    pub(super) fn is_users(&self) -> bool {
        if self.is_link() { !self.is_ours() } else { self.there.is_some() && self.placed().is_none() }
    }

    /// Whether it was recorded that the user created it, and keeps it.
    pub(super) fn is_left(&self) -> bool {
        self.there.is_some() && matches!(self.placement(), Some(Placement::Users))
    }

    /// Whether it is a copy of which it is not known any more who created it: it stays.
    pub(super) fn is_forgotten(&self) -> bool {
        let is_lost = self.actual.placements.is_lost() && self.placement().is_none();
        is_lost && self.actual.lock.get(self.name).is_some_and(|locked| self.is_unchanged(locked.digest))
    }

    fn placement(&self) -> Option<&Placement> {
        self.folder.placement(self.name, &self.actual.placements)
    }

    /// The digest of the copy that Prowess placed. In a project that was cloned or moved nothing is known about it, and
    /// the records that came with it say which copies it has. Where the record was lost, they do not: it may have said
    /// that the user keeps the copy. A lock that alone names a skill is no evidence of who made its copies.
    pub(super) fn placed(&self) -> Option<Digest> {
        let Actual { orders, placements, copied_for, lock, .. } = self.actual;
        let is_dropped =
            || orders.iter().any(|order| matches!(order, Order::Drop(name) if name == self.name));
        match self.placement() {
            Some(Placement::Placed(digest)) => Some(*digest),
            None if !placements.is_lost() && !is_dropped() && copied_for.contains(&self.folder.client) => {
                lock.get(self.name)?.digest
            }
            Some(Placement::Users) | None => None,
        }
    }
}
