//! [`AcceptedSkills`]: the skills that the user accepted, by the paths of their files.

use std::collections::BTreeMap;
use std::path::Path;

use prowess_core::Digest;

use crate::fs::walk::FILE_NAMES;
use crate::install::apply::{Accepted, Transaction};
use crate::install::error::InstallError;
use crate::install::records::{InstallTarget, LockedSkill};
use crate::install::verify::compare::{Listing, is_tree};
use crate::registry::trust::{Approval, Approvals};

/// The user's approvals of skills in folders, by the paths of their files.
pub(crate) struct AcceptedSkills(BTreeMap<String, Approval>);

impl AcceptedSkills {
    pub(crate) fn of(place: &InstallTarget) -> Result<Self, InstallError> {
        Self::load(&place.books.approvals)
    }

    /// Those in a file of approvals.
    pub(crate) fn load(file: &Path) -> Result<Self, InstallError> {
        let approvals = Approvals::load(file)
            .map_err(|error| InstallError::approvals("read your approvals", file, error))?;
        let skills = approvals.skills.into_iter();
        let by_file = skills.filter_map(|approval| Some((approval.location.path()?.to_owned(), approval)));
        Ok(Self(by_file.collect()))
    }

    /// Whether the user accepted the skill in a folder with this digest, or as its file system shows these files.
    pub(crate) fn has(&self, folder: &Path, digest: Option<Digest>, listing: Listing<'_>) -> bool {
        self.approval_in(folder)
            .and_then(|own| own.digest)
            .is_some_and(|accepted| is_tree(accepted, digest, folder, listing))
    }

    /// The approval of the skill in a folder.
    pub(crate) fn approval_in(&self, folder: &Path) -> Option<&Approval> {
        let mut files = FILE_NAMES.iter().map(|name| folder.join(name).to_string_lossy().into_owned());
        files.find_map(|file| self.0.get(&file))
    }

    /// The folders outside of a project in which the user accepted the files of a skill, unless they are accepted in the
    /// project too.
    pub(crate) fn elsewhere(&self, base: &Path, locked: &LockedSkill) -> Vec<String> {
        let same = self.0.values().filter(|approval| approval.digest == locked.digest);
        let folders = same.filter_map(|approval| Path::new(approval.location.path()?).parent());
        let folders: Vec<&Path> = folders.collect();
        if folders.iter().any(|folder| folder.starts_with(base)) {
            return Vec::new();
        }
        folders.into_iter().map(|folder| folder.to_string_lossy().into_owned()).collect()
    }

    /// The approvals to record so that a skill in a client's folder is trusted like the installed one, which may be
    /// accepted by the same transaction: a client reaches the same skill by another path, and trust is bound to a path and
    /// a digest.
    pub(super) fn given_to(
        &self,
        here: &Path,
        (installed, digest): (&Path, Option<Digest>),
        listing: Listing<'_>,
        transaction: &Transaction<'_>,
    ) -> Vec<Accepted> {
        if self.has(here, digest, listing) {
            return Vec::new();
        }
        let new = transaction.accepted_in(installed).filter_map(|accepted| {
            let skill_file = here.join(accepted.skill_file.strip_prefix(installed).ok()?);
            Some(Accepted { skill_file, ..accepted.clone() })
        });
        let new: Vec<Accepted> = new.collect();
        if new.is_empty() && self.has(installed, digest, listing) {
            return self.moved(installed, here);
        }
        new
    }

    /// The approvals in a folder and below it, for another folder with the same files.
    fn moved(&self, from: &Path, to: &Path) -> Vec<Accepted> {
        let start = from.join("").to_string_lossy().into_owned();
        let below = self.0.range(start.clone()..).map_while(|(file, approval)| {
            let (name, key) = (approval.name.clone(), approval.key.clone());
            let skill_file = to.join(file.strip_prefix(&start)?);
            Some(Accepted { name, key, skill_file, digest: Some(approval.digest?) })
        });
        below.collect()
    }
}
