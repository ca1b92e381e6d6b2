//! What a person trusts: whole folders by their path, single skills by the digest of all their files.
//!
//! Sources named on purpose, the user's own skills and built-in ones are trusted. A project's skills that were found
//! by themselves, and remote ones, are seen but not used before somebody says so.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use prowess_core::{Candidate, Manifest, RelPath, Scope, Stamp};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::atomic::{self, Worth};
use crate::cache::Index;
use crate::env::Environment;
use crate::error::SourceError;
use crate::handle::stamp_of;
use crate::{beneath, files};

/// The largest trust file that is read.
const MAX_BYTES: usize = 16 << 20;

/// What is trusted.
#[derive(Clone, Debug, Default)]
pub struct Trust {
    everything: bool,
    approvals: Approvals,
    digests: Option<Arc<Digests>>,
}

/// What a person approved, as it is stored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approvals {
    version: u32,
    /// Folders whose skills are trusted, whatever is in them.
    pub folders: Vec<PathBuf>,
    /// Skills that are trusted as they were.
    pub skills: Vec<Approval>,
}

/// One skill that is trusted as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// Its name, for people.
    pub name: String,
    /// The place of its SKILL.md.
    pub location: String,
    /// The digest of all its files.
    pub digest: String,
}

/// Whether a skill may be used, and what that hangs on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nobody said that it may.
    No,
    /// It may, whatever is in it.
    Yes,
    /// It may as long as its files have this digest.
    AsApproved(String),
}

/// Whether skills of a scope are used only after somebody said so.
pub fn needs_trust(scope: Scope) -> bool {
    matches!(scope, Scope::Project | Scope::Remote)
}

impl Trust {
    /// Trust in all skills: the host has decided otherwise who may use what.
    pub fn everything() -> Self {
        Self { everything: true, ..Self::default() }
    }

    /// Trust in what was approved, and in what needs no approval.
    pub fn in_approved(approvals: Approvals) -> Self {
        Self { approvals, ..Self::default() }
    }

    /// Remembers the digests of files in a file, so that only what changed is read again. Safe to delete.
    #[must_use]
    pub fn with_digests(mut self, file: Option<PathBuf>) -> Self {
        self.digests = file.map(|file| Arc::new(Digests::load(file)));
        self
    }

    /// Writes down the digests that were computed.
    pub(crate) fn remember(&self) {
        if let Some(digests) = &self.digests {
            digests.save();
        }
    }

    /// Whether a skill may be used. Its files are listed only when that decides it.
    pub fn holds(&self, skill: &Candidate, files: impl FnOnce() -> Result<Manifest, SourceError>) -> bool {
        self.judge(skill, files) != Verdict::No
    }

    /// Whether a skill may be used, and what that hangs on.
    pub fn judge(&self, skill: &Candidate, files: impl FnOnce() -> Result<Manifest, SourceError>) -> Verdict {
        let origin = &skill.entry.origin;
        if self.everything || !needs_trust(origin.scope) {
            return Verdict::Yes;
        }
        let path = Path::new(&origin.location);
        if origin.scope == Scope::Project
            && self.approvals.folders.iter().any(|folder| path.starts_with(folder))
        {
            return Verdict::Yes;
        }
        let Some(approval) =
            self.approvals.skills.iter().find(|approval| approval.location == origin.location)
        else {
            return Verdict::No;
        };
        let folder = path.parent().unwrap_or(Path::new("."));
        match files().and_then(|files| digest_of(folder, &files, self.digests.as_deref())) {
            Ok(digest) if digest == approval.digest => Verdict::AsApproved(digest),
            _ => Verdict::No,
        }
    }
}

impl Approvals {
    /// The file that holds them: `prowess/trust.json` in the user's state folder.
    pub fn file(environment: &Environment) -> Option<PathBuf> {
        Some(environment.xdg("XDG_STATE_HOME", ".local/state")?.join("prowess/trust.json"))
    }

    /// Reads them; none when there is no file. A file that is not understood is an error, never nothing.
    pub fn load(file: &Path) -> Result<Self, SourceError> {
        let bytes = match files::read_small(file, MAX_BYTES) {
            Ok(bytes) => bytes,
            Err(SourceError::Missing { .. }) => return Ok(Self { version: 1, ..Self::default() }),
            Err(error) => return Err(error),
        };
        let damaged = |reason: String| SourceError::Damaged { path: file.to_owned(), reason };
        let approvals: Self = serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
        if approvals.version != 1 {
            return Err(damaged(format!("version {} is not known", approvals.version)));
        }
        Ok(approvals)
    }

    /// Writes them, whole or not at all, for the user alone.
    pub fn save(&self, file: &Path) -> Result<(), SourceError> {
        let failed = |error| SourceError::io(file, error);
        let text = serde_json::to_string_pretty(&Self { version: 1, ..self.clone() })
            .map_err(|error| failed(std::io::Error::other(error)))?;
        atomic::write_own(file, &[text.as_bytes(), b"\n"], Worth::Keeping).map_err(failed)
    }

    /// Trusts a folder, whatever is in it.
    pub fn trust_folder(&mut self, folder: PathBuf) {
        if !self.folders.contains(&folder) {
            self.folders.push(folder);
            self.folders.sort();
        }
    }

    /// Trusts a skill as it is now; returns the digest that says so.
    pub fn trust_skill(&mut self, skill: &Candidate, files: &Manifest) -> Result<String, SourceError> {
        let location = skill.entry.origin.location.clone();
        let folder = Path::new(&location).parent().unwrap_or(Path::new("."));
        let digest = tree_digest(folder, files)?;
        self.skills.retain(|approval| approval.location != location);
        self.skills.push(Approval { name: skill.entry.name.clone(), location, digest: digest.clone() });
        self.skills.sort_by(|a, b| a.location.cmp(&b.location));
        Ok(digest)
    }

    /// Takes trust back from a folder, or from the skills with this name or place; how many there were.
    pub fn revoke(&mut self, what: &str, folder: &Path) -> usize {
        let before = self.folders.len() + self.skills.len();
        self.folders.retain(|trusted| trusted != folder);
        self.skills.retain(|approval| {
            approval.name != what
                && approval.location != what
                && Path::new(&approval.location).parent() != Some(folder)
        });
        before - self.folders.len() - self.skills.len()
    }
}

/// The digest of a skill's files: any change of a name, a byte or an executable bit changes it.
///
/// It is the SHA-256 of `agent-skill-tree 1`, then a line for each file in the order of its path: mode, SHA-256 of
/// the bytes, size, path.
pub fn tree_digest(folder: &Path, files: &Manifest) -> Result<String, SourceError> {
    digest_of(folder, files, None)
}

/// Digests of files by path and state.
#[derive(Debug)]
struct Digests {
    file: PathBuf,
    known: Index,
    fresh: Mutex<Vec<(Vec<u8>, Stamp, String)>>,
}

impl Digests {
    fn load(file: PathBuf) -> Self {
        Self { known: Index::load(&file), file, fresh: Mutex::default() }
    }

    /// The digest of an open file: the one that is known of this state of it, or a new one.
    fn of(&self, path: &Path, file: &mut fs::File) -> std::io::Result<(String, u64)> {
        let metadata = file.metadata()?;
        let stamp = stamp_of(&metadata);
        if let Some(at) = self.known.find(path, &stamp)
            && let Ok(digest) = std::str::from_utf8(self.known.head(at))
        {
            return Ok((digest.to_owned(), metadata.len()));
        }
        let (digest, size) = hash(file)?;
        let mut fresh = self.fresh.lock().unwrap_or_else(PoisonError::into_inner);
        fresh.push((path.as_os_str().as_encoded_bytes().to_vec(), stamp, digest.clone()));
        Ok((digest, size))
    }

    /// Adds what is new to the file; what is known of other skills stays.
    fn save(&self) {
        let mut fresh = self.fresh.lock().unwrap_or_else(PoisonError::into_inner);
        if fresh.is_empty() {
            return;
        }
        fresh.sort();
        fresh.dedup_by(|a, b| a.0 == b.0);
        let is_new = |path: &[u8]| fresh.binary_search_by(|(new, ..)| new.as_slice().cmp(path)).is_ok();
        let kept =
            (0..self.known.len()).filter_map(|at| self.known.skill(at)).filter(|(path, ..)| !is_new(path));
        let mut all: Vec<(&[u8], Stamp, &[u8])> = kept.collect();
        all.extend(fresh.iter().map(|(path, stamp, digest)| (path.as_slice(), *stamp, digest.as_bytes())));
        all.sort_by(|a, b| a.0.cmp(b.0));
        // A cache that cannot be written costs time and nothing else.
        let _ = Index::save(all, &self.file);
    }
}

fn digest_of(folder: &Path, files: &Manifest, digests: Option<&Digests>) -> Result<String, SourceError> {
    let mut tree = Sha256::new();
    tree.update(b"agent-skill-tree 1\n");
    for file in &files.files {
        let shown = folder.join(file.path.as_str());
        let own = file.path.as_str() == "SKILL.md";
        let mut open = if own {
            beneath::open_skill_file(folder, "SKILL.md")?
        } else {
            beneath::open(folder, &file.path, "SKILL.md")?
        };
        let hashed = match digests {
            Some(digests) => digests.of(&shown, &mut open),
            None => hash(&mut open),
        };
        let (digest, size) = hashed.map_err(|error| SourceError::io(&shown, error))?;
        let mode = if file.executable { "100755" } else { "100644" };
        tree.update(format!("{mode} {digest} {size} {}\n", file.path));
    }
    Ok(format!("sha256:{}", hex(&tree.finalize())))
}

/// The same digest over bytes that `read` gives for each file: what a host returns of a file can then be the very
/// bytes that were digested.
pub(crate) fn digest_of_bytes(
    files: &Manifest,
    mut read: impl FnMut(&RelPath) -> Result<Vec<u8>, SourceError>,
) -> Result<String, SourceError> {
    let mut tree = Sha256::new();
    tree.update(b"agent-skill-tree 1\n");
    for file in &files.files {
        let bytes = read(&file.path)?;
        let mode = if file.executable { "100755" } else { "100644" };
        tree.update(format!("{mode} {} {} {}\n", hex(&Sha256::digest(&bytes)), bytes.len(), file.path));
    }
    Ok(format!("sha256:{}", hex(&tree.finalize())))
}

fn hash(file: &mut fs::File) -> std::io::Result<(String, u64)> {
    use std::io::Read as _;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    let mut size = 0;
    loop {
        let got = file.read(&mut buffer)?;
        if got == 0 {
            return Ok((hex(&hasher.finalize()), size));
        }
        hasher.update(buffer.get(..got).unwrap_or(&[]));
        size += got as u64;
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
