//! [`Trust`]: folders that the user trusts by their path, and skills by the digest of their files.
//!
//! Sources that the user or the host named, the user's own skills and built-in ones are trusted; an installed skill of
//! the user only with the files that were accepted. Skills that were found in a project are listed, and may be used
//! once the user trusts them. The same holds for the skills of a layer that requires approval.

use std::cell::OnceCell;
use std::collections::BTreeSet;
#[cfg(feature = "install")]
use std::ffi::OsStr;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess_core::assembly::{Accepted, Trusted};
use prowess_core::{Candidate, Digest, Location, Origin, Scope};
use serde::{Deserialize, Serialize};

use crate::env::{Environment, resolved};
use crate::error::{SourceError, SourceErrorKind};
use crate::fs::atomic::{self, Durability};
use crate::fs::location::{file_of, is_in};
use crate::fs::own;
use crate::fs::walk::is_never_entered;

/// The largest trust file that is read.
const MAX_BYTES: usize = 16 << 20;

/// What is trusted.
#[derive(Clone, Debug, Default)]
pub struct Trust {
    trusted: Trusted,
    approvals: Approvals,
    /// The folders of the skills that were approved by themselves.
    approved: Arc<BTreeSet<Box<str>>>,
    /// The last names of these folders.
    names: Arc<BTreeSet<OsString>>,
}

/// The user's approvals, as they are stored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approvals {
    version: u32,
    /// The number of changes: approvals that were changed and changed back count as changed.
    #[serde(default, skip_serializing_if = "never_changed")]
    revision: u64,
    /// Folders whose skills are trusted, including later ones.
    pub folders: Vec<PathBuf>,
    /// Skills that are trusted with the files they had.
    pub skills: Vec<Approval>,
}

/// One skill that is trusted with the files it had.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// Its name, for display.
    pub name: String,
    /// Its key, when that is not its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The place of its SKILL.md.
    pub location: Location,
    /// The digest of all its files, and of its frontmatter if a source announces that separately; none while the trust is
    /// withheld.
    #[serde(with = "digest_or_empty")]
    pub digest: Option<Digest>,
}

/// The stored form of a digest that may be withheld: then the text is empty.
mod digest_or_empty {
    use prowess_core::Digest;
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    #[expect(clippy::ref_option, reason = "serde calls it with a reference")]
    pub(super) fn serialize<S: Serializer>(
        digest: &Option<Digest>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&digest.map_or_else(String::new, String::from))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Digest>, D::Error> {
        let text = String::deserialize(from)?;
        if text.is_empty() { Ok(None) } else { text.parse().map(Some).map_err(D::Error::custom) }
    }
}

/// The records of the skills that are installed for the user.
pub(crate) trait InstalledRecords: Send + Sync {
    /// Reads which skills are installed.
    fn read(&self) -> InstalledFolders;

    /// Whether a skill is in a folder where users keep their own.
    fn is_in_own_folder(&self, location: &Location) -> bool;
}

/// The folders of skills that were installed for the user: where they are installed, and where clients look for them.
#[derive(Debug, Default)]
pub(crate) struct InstalledFolders {
    pub(crate) folders: BTreeSet<Box<str>>,
    /// Records that are not valid.
    pub(crate) problems: Vec<Arc<SourceError>>,
}

impl InstalledFolders {
    /// Whether a file is in the folder of an installed skill, at any depth.
    pub(crate) fn hold(&self, file: &str) -> bool {
        is_below_any(file, &self.folders)
    }
}

/// Whether a file is in one of these folders, at any depth.
fn is_below_any(file: &str, folders: &BTreeSet<Box<str>>) -> bool {
    let mut above = file.rmatch_indices(std::path::is_separator).filter_map(|(at, _)| file.get(..at));
    !folders.is_empty() && above.any(|folder| folders.contains(folder))
}

impl Approval {
    /// Whether this is its key, as far as that is known without its source, which may be unreachable.
    fn has_key(&self, key: &str) -> bool {
        let on_server = || {
            let Location::Mcp { label, uri } = &self.location else { return None };
            let name = uri.strip_suffix("/SKILL.md")?.rsplit('/').next()?;
            Some(key.strip_prefix(&**label)?.strip_prefix(':')? == name)
        };
        self.key.as_deref().unwrap_or(&self.name) == key || on_server().unwrap_or(false)
    }
}

impl Trust {
    /// Trust in all skills, also in those of a layer that requires approval, for a host that decides by other means
    /// which skills are used.
    pub fn everything() -> Self {
        Self { trusted: Trusted::Everything, ..Self::default() }
    }

    /// Trust in the skills of every scope, but not in those of a layer that requires approval.
    pub(crate) fn in_every_scope() -> Self {
        Self { trusted: Trusted::EveryScope, ..Self::default() }
    }

    /// Trusts what was approved, and what needs no approval.
    pub fn in_approved(mut approvals: Approvals) -> Self {
        approvals.skills.sort_by(|a, b| a.location.cmp(&b.location));
        let files = approvals.skills.iter().filter_map(|approval| approval.location.path());
        let folders: BTreeSet<Box<str>> =
            files.filter_map(|file| Path::new(file).parent()?.to_str().map(Box::from)).collect();
        let names = folders.iter().filter_map(|folder| Path::new(&**folder).file_name());
        Self {
            names: Arc::new(names.map(OsString::from).collect()),
            approved: Arc::new(folders),
            approvals,
            ..Self::default()
        }
    }

    /// Which skills need no approval.
    pub(crate) fn trusted(&self) -> Trusted {
        self.trusted
    }

    /// Whether the user approved the skill with this file by its digest, or one that it is inside of.
    pub(crate) fn has_approval_above(&self, file: &str) -> bool {
        is_below_any(file, &self.approved)
    }

    /// What the user accepted of a skill that is used only with an approval.
    pub fn accepted(&self, origin: &Origin) -> Accepted {
        let file = file_of(&origin.location).filter(|_| origin.scope == Scope::Project);
        if self.trusted == Trusted::Everything
            || file.is_some_and(|file| self.approvals.folder_of(file).is_some())
        {
            return Accepted::Anything;
        }
        Accepted::Digests(match self.approval_of(&origin.location) {
            Some(approval) => approval.digest.into_iter().collect(),
            // The user's own folders may have the skill once more, for another client: the same bytes were accepted. In
            // a project, only the user's decision about that project counts.
            None if origin.scope == Scope::User => {
                self.approvals.skills.iter().filter_map(|other| other.digest).collect()
            }
            None => Vec::new(),
        })
    }

    /// The approval of a skill, even if the skill has changed since: the one at its location, or else one of the same
    /// file by another path, since the folder of a client may be a link to that of another.
    pub(crate) fn approval_of(&self, location: &Location) -> Option<&Approval> {
        let skills = &self.approvals.skills;
        match skills.binary_search_by(|approval| approval.location.cmp(location)) {
            Ok(at) => skills.get(at),
            Err(_) => self.approvals_by_links(location).next(),
        }
    }

    /// The approvals of the file of a skill by other paths.
    pub(crate) fn approvals_by_links(&self, location: &Location) -> impl Iterator<Item = &Approval> {
        let named = own_file(location).and_then(Path::parent).and_then(Path::file_name);
        let same = named.filter(|named| self.names.contains(*named)).and_then(|_| same_file(location));
        let all = same.is_some().then_some(&self.approvals.skills).into_iter().flatten();
        all.filter(move |approval| same.as_ref().is_some_and(|same| same(&approval.location)))
    }
}

/// Whether other locations are those of the same file on this machine, by another path to its folder; none if this is no
/// path of its own, such as an entry of an archive. Only a location with the same last names is looked at on the disk.
fn same_file(location: &Location) -> Option<impl Fn(&Location) -> bool + use<>> {
    let file = own_file(location)?.to_owned();
    let folder_name = file.parent()?.file_name()?.to_owned();
    let real = OnceCell::new();
    Some(move |other: &Location| {
        let Some(other) = own_file(other) else { return false };
        let is_named_alike = other.file_name() == file.file_name()
            && other.parent().and_then(Path::file_name) == Some(&folder_name);
        if !is_named_alike || other == file {
            return is_named_alike;
        }
        let real = real.get_or_init(|| real_file(&file));
        real.is_some() && real_file(other) == *real
    })
}

/// The file of a location that is a file of its own, which an entry of an archive is not.
fn own_file(location: &Location) -> Option<&Path> {
    match location {
        Location::Path(path) => Some(Path::new(&**path)),
        _ => None,
    }
}

/// The path of a file of a skill without links in that of its folder, which may be gone.
fn real_file(file: &Path) -> Option<PathBuf> {
    Some(resolved(file.parent()?)?.join(file.file_name()?))
}

/// The real file of an approval.
fn real_file_of(approval: &Approval) -> Option<PathBuf> {
    own_file(&approval.location).and_then(real_file)
}

/// The path of a folder without links above it: the folder may be gone, or a link to that of another client with an
/// approval of its own.
#[cfg(feature = "install")]
fn entry_of(folder: &Path) -> Option<PathBuf> {
    Some(resolved(folder.parent()?)?.join(folder.file_name()?))
}

/// Whether approvals have no revision yet, as those of an older version.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn never_changed(revision: &u64) -> bool {
    *revision == 0
}

impl Approvals {
    /// The file that contains them: `prowess/trust.json` in the user's state folder.
    pub fn file(environment: &Environment) -> Option<PathBuf> {
        Some(environment.xdg("XDG_STATE_HOME", ".local/state")?.join("prowess/trust.json"))
    }

    /// Reads the approvals; empty when there is no file, or when another user wrote it or can. A file that cannot be
    /// parsed is an error.
    pub fn load(file: &Path) -> Result<Self, SourceError> {
        match own::or_missing(Self::load_judged(file)) {
            Err(SourceError { kind: SourceErrorKind::Missing, .. }) => {
                Ok(Self { version: 1, ..Self::default() })
            }
            approvals => approvals,
        }
    }

    /// Reads the approvals; empty when there is no file. Those that another user wrote, or can, are an error.
    pub(crate) fn load_judged(file: &Path) -> Result<Self, SourceError> {
        let bytes = match own::read_judged(atomic::folder_of(file), file, MAX_BYTES) {
            Ok(bytes) => bytes,
            Err(SourceError { kind: SourceErrorKind::Missing, .. }) => {
                return Ok(Self { version: 1, ..Self::default() });
            }
            Err(error) => return Err(error),
        };
        let damaged = |reason: String| SourceErrorKind::Damaged { reason }.at(file);
        let approvals: Self = serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
        if approvals.version != 1 {
            return Err(SourceErrorKind::OtherVersion { version: approvals.version }.at(file));
        }
        Ok(approvals)
    }

    /// Reads, changes and writes the approvals under a lock. If `change` fails, nothing is written.
    pub fn update<T, E: From<SourceError>>(
        file: &Path,
        change: impl FnOnce(&mut Self) -> Result<T, E>,
    ) -> Result<T, E> {
        let lock = atomic::lock_own(Some(atomic::folder_of(file)), &file.with_extension("lock")).map_err(
            |error| match error.kind() {
                ErrorKind::TimedOut => SourceErrorKind::Busy.at(file),
                _ => SourceErrorKind::Unwritable(error).at(file),
            },
        )?;
        let mut approvals = Self::load(file)?;
        let done = change(&mut approvals)?;
        approvals.revision = approvals.revision.wrapping_add(1);
        approvals.save(file)?;
        drop(lock);
        Ok(done)
    }

    /// Writes the approvals atomically, readable only by the user.
    pub fn save(&self, file: &Path) -> Result<(), SourceError> {
        let failed = |error| SourceErrorKind::Unwritable(error).at(file);
        let text = serde_json::to_string_pretty(&Self { version: 1, ..self.clone() })
            .map_err(|error| failed(std::io::Error::other(error)))?;
        atomic::write_own(Some(atomic::folder_of(file)), file, &[text.as_bytes(), b"\n"], Durability::Synced)
            .map_err(failed)
    }

    /// Trusts a folder with everything in it, now and later.
    pub fn trust_folder(&mut self, folder: PathBuf) {
        if !self.folders.contains(&folder) {
            self.folders.push(folder);
            self.folders.sort();
        }
    }

    /// Trusts a skill as long as it has the digest that [`Registry::approvable`] returns.
    ///
    /// [`Registry::approvable`]: crate::Registry::approvable
    pub fn trust_skill(&mut self, skill: &Candidate, digest: Digest) {
        let digest = Some(digest);
        let location = skill.entry.origin.location.clone();
        let (name, key) = (skill.entry.name.clone(), skill.entry.key.clone());
        // By another path, the files that were accepted before would be trusted still.
        let same = same_file(&location);
        let is_same = |other: &Location| *other == location || same.as_ref().is_some_and(|same| same(other));
        let mut is_known = false;
        for approval in self.skills.iter_mut().filter(|approval| is_same(&approval.location)) {
            is_known = true;
            approval.digest = digest;
            approval.name.clone_from(&name);
            approval.key = Some(key.clone()).filter(|key| *key != name);
        }
        if !is_known {
            self.skills.push(Approval { key: Some(key).filter(|key| *key != name), name, location, digest });
            self.skills.sort_by(|a, b| a.location.cmp(&b.location));
        }
    }

    /// Removes the approvals of all skills in these folders, by whatever path to the folder they were given, then adds new
    /// ones, as one change.
    #[cfg(feature = "install")]
    pub(crate) fn replace(&mut self, ended: &BTreeSet<Box<str>>, new: impl IntoIterator<Item = Approval>) {
        let new: Vec<Approval> = new.into_iter().collect();
        let folder_of = |approval: &Approval| own_file(&approval.location)?.parent().map(Path::to_owned);
        let entries: BTreeSet<PathBuf> = ended.iter().filter_map(|it| entry_of(Path::new(&**it))).collect();
        let names: BTreeSet<&OsStr> = entries.iter().filter_map(|entry| entry.file_name()).collect();
        let taken: BTreeSet<PathBuf> = new.iter().filter_map(|it| entry_of(&folder_of(it)?)).collect();
        // Only a path with the name of such a folder is looked at on the disk.
        let is_below = |folder: &Path| {
            let named =
                folder.ancestors().filter(|above| above.file_name().is_some_and(|it| names.contains(it)));
            named.filter_map(entry_of).any(|entry| entries.contains(&entry))
        };
        let is_ended = |approval: &Approval| {
            approval.location.path().is_some_and(|file| is_below_any(file, ended))
                || folder_of(approval).is_some_and(|folder| {
                    is_below(&folder) || entry_of(&folder).is_some_and(|entry| taken.contains(&entry))
                })
        };
        self.skills.retain(|approval| !is_ended(approval));
        self.skills.extend(new);
        self.skills.sort_by(|a, b| a.location.cmp(&b.location));
        self.skills.dedup_by(|a, b| a.location == b.location);
    }

    /// A number that differs after every change.
    #[cfg(feature = "install")]
    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    /// The trusted folder that covers a place, if there is one. What no walk enters, such as the folder `.git`, is never
    /// shown before a folder is trusted, and so it is not covered.
    pub fn folder_of(&self, place: &Path) -> Option<&Path> {
        let covers = |folder: &&Path| {
            let below = place.strip_prefix(folder).ok();
            below.is_some_and(|below| !below.iter().any(is_never_entered))
        };
        self.folders.iter().map(PathBuf::as_path).find(covers)
    }

    /// Revokes the trust in a folder, and in the folders and skills in it, by whatever path it was given. Returns how many
    /// there were.
    pub fn revoke_folder(&mut self, folder: &Path) -> usize {
        let real = resolved(folder);
        let is_within =
            |path: Option<PathBuf>| path.zip(real.as_ref()).is_some_and(|(it, real)| it.starts_with(real));
        let before = self.folders.len();
        self.folders.retain(|trusted| !trusted.starts_with(folder) && !is_within(resolved(trusted)));
        let ended = before - self.folders.len();
        ended + self.end(|approval| is_in(&approval.location, folder) || is_within(real_file_of(approval)))
    }

    /// The approved skills at a location, else with the same file by another path, else with a key, else with a name, which
    /// several may have.
    pub fn called(&self, what: &str) -> Vec<&Approval> {
        let file = Some(Path::new(what)).filter(|file| file.is_absolute()).and_then(real_file);
        let ways: [&dyn Fn(&Approval) -> bool; 4] = [
            &|approval| approval.location == what,
            &|approval| file.is_some() && real_file_of(approval) == file,
            &|approval| approval.has_key(what),
            &|approval| approval.name == what,
        ];
        let found = ways.map(|way| self.skills.iter().filter(|approval| way(approval)).collect());
        found.into_iter().find(|found: &Vec<_>| !found.is_empty()).unwrap_or_default()
    }

    /// Revokes the trust in the skills with this name or location, by whatever path it was given. Returns how many there
    /// were.
    pub fn revoke_skill(&mut self, what: &str) -> usize {
        self.end(|approval| approval.name == what || approval.location == what)
    }

    /// Ends approvals, and those of the same files by other paths: each of them would be found for the skill. Returns how
    /// many there were.
    fn end(&mut self, is_ended: impl Fn(&Approval) -> bool) -> usize {
        let before = self.skills.len();
        let ended: BTreeSet<PathBuf> =
            self.skills.iter().filter(|approval| is_ended(approval)).filter_map(real_file_of).collect();
        let is_same = |approval: &Approval| real_file_of(approval).is_some_and(|file| ended.contains(&file));
        self.skills.retain(|approval| !is_ended(approval) && (ended.is_empty() || !is_same(approval)));
        before - self.skills.len()
    }
}
