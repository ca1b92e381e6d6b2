//! The one door in: a [`Source`] lists skills and reads their files. The catalog cannot tell sources apart.

pub(crate) mod budget;
pub mod open;
pub mod spec;

#[cfg(feature = "archive")]
mod archive;
mod dir;
#[cfg(feature = "http")]
mod http;
mod jsonl;
mod judge;
mod layer;
mod memory;
mod merged;
mod plugin;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use prowess_core::{Candidate, Document, FileEntry, Manifest, Origin, Profile, RelPath};
use serde_json::{Map, Value};

#[cfg(feature = "archive")]
pub use archive::ArchiveSource;
pub use dir::DirSource;
#[cfg(feature = "http")]
pub use http::{HttpSource, INDEX_PATHS};
pub use jsonl::{JsonlLimits, JsonlSource};
pub(crate) use judge::{judge, reasons};
pub(crate) use layer::Labels;
pub use layer::{Layer, Mount, MountError};
pub(crate) use memory::Beside;
pub use memory::MemorySource;
pub use merged::MergedSource;
pub use plugin::{PLUGIN_FILES, PluginSource, is_plugin};

use crate::error::{SourceError, SourceErrorKind};
use crate::fs::location::path_of;
use crate::registry::digests::DigestLimits;

/// What a source has to offer.
#[derive(Debug, Default)]
pub struct Offer {
    /// The skills, in the source's own order, the broken ones included: one bad skill never hides the others.
    pub candidates: Vec<Arc<Candidate>>,
    /// What could not be looked at.
    pub problems: Vec<SourceError>,
}

/// Which bytes of a file are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// The first byte.
    pub offset: u64,
    /// The most bytes.
    pub limit: usize,
}

impl Slice {
    /// The first bytes of a file.
    pub const fn first(limit: usize) -> Self {
        Self { offset: 0, limit }
    }

    /// These bytes of a file that is all at hand.
    pub fn of(self, bytes: &[u8]) -> Chunk {
        let start = usize::try_from(self.offset).unwrap_or(usize::MAX).min(bytes.len());
        let end = start.saturating_add(self.limit).min(bytes.len());
        Chunk { bytes: bytes.get(start..end).unwrap_or(&[]).to_vec(), size: bytes.len() as u64 }
    }
}

/// Bytes of a file, and the size of all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// The bytes that were asked for.
    pub bytes: Vec<u8>,
    /// The size of the whole file.
    pub size: u64,
}

/// Where skills come from. Everything that is listed by a source is read through the same source.
///
/// Within a source a skill is known by the `location` of its origin, which no other skill of the source has. Keys,
/// virtual paths and labels belong to the registry.
pub trait Source: Send + Sync {
    /// A name that people know it by.
    fn id(&self) -> &str;

    /// The skills it has now.
    fn list(&self) -> Result<Offer, SourceError>;

    /// Bytes of a file of a skill it listed. `SKILL.md` is that skill's own file, whatever it is called.
    fn read(&self, skill: &Candidate, path: &RelPath, slice: Slice) -> Result<Chunk, SourceError>;

    /// What a skill's frontmatter says, from a source whose files are read only when the skill is used; lists,
    /// searches and approvals make do with it. Nothing from a source that may be read at any time.
    fn announced(&self, _skill: &Candidate) -> Option<Map<String, Value>> {
        None
    }

    /// Whether it lists and reads over a network or by another program, which may take its time or never answer.
    fn is_far(&self) -> bool {
        false
    }

    /// The folders whose changes may change what it lists or reads; none when it cannot say. They need not exist.
    #[cfg(feature = "watch")]
    fn folders(&self) -> Vec<std::path::PathBuf> {
        Vec::new()
    }

    /// The files of a skill it listed. A source whose skills are a text and nothing else need not say so.
    fn files(&self, skill: &Candidate) -> Result<Manifest, SourceError> {
        let path = skill_md()?;
        let size = self.read(skill, &path, Slice::first(0))?.size;
        Ok(Manifest::new(vec![FileEntry::new(path, size)]))
    }

    /// What an approval of a skill is bound to: its manifest, or an error when the skill holds anything that is not in
    /// it. Every digest is made of the bytes that are there now.
    fn approvable(&self, skill: &Candidate, within: &DigestLimits) -> Result<Manifest, SourceError> {
        self.manifest(skill, within)
    }

    /// The files of a skill it listed, all of them or an error, each with the digest of its bytes. Nothing is read of a
    /// skill that is larger than the limits.
    fn manifest(&self, skill: &Candidate, within: &DigestLimits) -> Result<Manifest, SourceError> {
        let mut manifest = self.files(skill)?;
        let mut allowed = within.admit(&manifest, &path_of(&skill.entry.origin.location))?;
        for file in &mut manifest.files {
            let mut offset = 0;
            let (digest, size) = allowed.digest(Path::new(file.path.as_str()), |running| {
                let chunk = self.read(skill, &file.path, Slice { offset, limit: 1 << 20 })?;
                running.update(&chunk.bytes);
                offset += chunk.bytes.len() as u64;
                Ok(!chunk.bytes.is_empty() && offset < chunk.size)
            })?;
            (file.digest, file.size) = (Some(digest), size);
        }
        Ok(manifest)
    }
}

/// The path by which a skill's own file is asked for.
pub(crate) fn skill_md() -> Result<RelPath, SourceError> {
    RelPath::parse("SKILL.md").map_err(SourceError::from)
}

/// What a document makes in a catalog: a skill, or a broken one with the reasons.
pub fn candidate(document: &Document, at: &Origin) -> Candidate {
    Candidate::judged(document, at, lenient())
}

/// An error when a document is no longer the skill that was listed: it does not load, or goes by another name.
pub(crate) fn check_still(
    document: &Document,
    skill: &Candidate,
    at: impl FnOnce() -> PathBuf,
) -> Result<(), SourceError> {
    match document.skill(&skill.entry.origin) {
        Some(entry) if entry.name == skill.entry.name => Ok(()),
        Some(_) => Err(SourceErrorKind::Changed.at(at())),
        None => Err(SourceErrorKind::Broken.at(at())),
    }
}

/// The profile by which a catalog judges, made once.
fn lenient() -> &'static Profile {
    static LENIENT: OnceLock<Profile> = OnceLock::new();
    LENIENT.get_or_init(Profile::lenient)
}

/// What a skill makes in a catalog that is there and cannot be read.
pub(crate) fn unread(problem: &SourceError, at: &Origin) -> Candidate {
    let document = Document::unread(problem.with_cause(), problem.hint());
    let problems = lenient().judge(document.findings().to_vec());
    Candidate::broken(&document, at, problems)
}
