//! The one door in: a [`Source`] lists skills and reads their files. The catalog cannot tell sources apart.

mod dir;
mod memory;

use std::sync::Arc;

use prowess_core::{Candidate, Document, Manifest, Obstacle, Origin, Profile, RelPath};

pub use dir::DirSource;
pub use memory::MemorySource;

use crate::error::SourceError;

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
pub trait Source: Send + Sync {
    /// A name that is its own among all sources of a registry.
    fn id(&self) -> &str;

    /// The skills it has now.
    fn list(&self) -> Result<Offer, SourceError>;

    /// The files of a skill it listed.
    fn files(&self, skill: &Candidate) -> Result<Manifest, SourceError>;

    /// Bytes of a file of a skill it listed. `SKILL.md` is that skill's own file, whatever it is called.
    fn read(&self, skill: &Candidate, path: &RelPath, slice: Slice) -> Result<Chunk, SourceError>;
}

/// What a document makes in a catalog: a skill, or a broken one with the reasons.
fn candidate(document: &Document, at: &Origin) -> Candidate {
    match document.skill(at) {
        Some(entry) => Candidate::new(entry),
        None => {
            let mut candidate = Candidate::new(document.entry(at));
            let problems = Profile::lenient().check(document, None, at);
            candidate.obstacle = Some(Obstacle::Broken { problems });
            if candidate.entry.key.is_empty() {
                candidate.entry.key = at.folder.clone().unwrap_or_else(|| at.location.clone());
            }
            candidate
        }
    }
}
