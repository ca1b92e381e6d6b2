//! [`Source`]: lists skills and reads their files. A catalog treats all sources alike.

pub(crate) mod budget;
pub mod open;
pub mod spec;

#[cfg(feature = "archive")]
mod archive;
mod dir;
mod file;
#[cfg(feature = "http")]
mod http;
mod jsonl;
mod judge;
mod layer;
mod memory;
mod plugin;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use prowess_core::{Document, FileEntry, Found, Location, Manifest, Origin, Profile, RelPath, SourceSkill};

#[cfg(feature = "archive")]
pub use archive::ArchiveSource;
pub use dir::{DirSource, Policies};
#[cfg(feature = "http")]
pub use http::{HttpSource, INDEX_PATHS};
pub use jsonl::{JsonlLimits, JsonlSource};
pub(crate) use judge::{judge, reasons};
pub(crate) use layer::Labels;
pub use layer::{Layer, Mount, MountError};
pub use memory::MemorySource;
pub(crate) use memory::{Beside, Held};
pub use plugin::{PLUGIN_FILES, PluginSource};

use crate::error::{SourceError, SourceErrorKind};
pub use crate::fs::read::{Chunk, Slice};
use crate::fs::walk::ScanOptions;
use crate::registry::digests::DigestLimits;

/// The list of a source.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Listing {
    /// The skills, in the source's own order, the broken ones included: one bad skill never hides the others.
    // Boxed, since each is moved many times.
    pub skills: Vec<Box<Found>>,
    /// What could not be read.
    pub problems: Vec<SourceError>,
    /// Whether there may be more skills that the source passed over, as in folders that are deeper than a client looks.
    pub passed_over: bool,
}

impl Listing {
    /// Adds a skill.
    pub fn push(&mut self, found: Found) {
        self.skills.push(Box::new(found));
    }
}

/// The constant properties of a source.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct SourceTraits {
    /// Whether it lists and reads over a network or by another program, which may be slow or never respond.
    pub remote: bool,
    /// The folders whose changes may change what it lists or reads; none when it cannot say. They need not exist.
    pub folders: Vec<Watched>,
    /// Whether it is read only on the thread of the operation, because it runs code of the host: code that may belong to
    /// one thread, that may search the skills while it is read, and whose end of an operation ends the operation.
    pub calling_thread: bool,
}

/// Folders whose changes are watched.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Watched {
    /// This folder, and none below it.
    Folder(PathBuf),
    /// The folders that a walk visits, with those of the skills that it finds.
    Skills {
        /// Where the walk begins.
        root: PathBuf,
        /// Its options.
        options: ScanOptions,
    },
}

impl SourceTraits {
    /// A source on another machine or in another program.
    pub fn remote() -> Self {
        Self { remote: true, ..Self::default() }
    }

    /// A source whose skills change only when these folders do.
    pub fn watching(folders: Vec<Watched>) -> Self {
        Self { folders, ..Self::default() }
    }

    /// A source that runs code of the host, on the thread of the operation.
    pub fn calling_thread() -> Self {
        Self { calling_thread: true, ..Self::default() }
    }
}

impl Watched {
    /// One folder.
    pub fn folder(folder: impl AsRef<Path>) -> Self {
        Self::Folder(folder.as_ref().to_owned())
    }

    /// The current folders.
    #[cfg(feature = "watch")]
    pub(crate) fn folders(&self) -> Vec<PathBuf> {
        match self {
            Self::Folder(folder) => vec![folder.clone()],
            Self::Skills { root, options } => crate::fs::walk::folders(root, options),
        }
    }
}

/// A place that skills come from. The skills that a source lists are read through the same source.
///
/// Within a source, a skill is identified by the `location` of its origin, which must be unique. Keys,
/// virtual paths and labels belong to the registry, which also decides whether a skill is offered.
///
/// A source should not use the skills that it is part of. If `list` refreshes them, the inner refresh fails with
/// [`RegistryError::Nested`](crate::RegistryError::Nested); if `read` searches them while a search reads it, the inner
/// search fails, unless the source has [`SourceTraits::calling_thread`]. A source that does so on a thread of its own and
/// waits for it waits for ever.
pub trait Source: Send + Sync {
    /// Its name, for display.
    fn id(&self) -> &str;

    /// The skills it has now.
    fn list(&self) -> Result<Listing, SourceError>;

    /// The files of a skill it listed. By default, its SKILL.md and no others.
    fn files(&self, skill: SourceSkill<'_>) -> Result<Manifest, SourceError> {
        let path = skill_md()?;
        let size = self.read(skill, &path, Slice::first(0))?.size;
        Ok(Manifest::new(vec![FileEntry::new(path, size)]))
    }

    /// Bytes of a file of a skill it listed. `SKILL.md` is that skill's own file, whatever it is called.
    fn read(&self, skill: SourceSkill<'_>, path: &RelPath, slice: Slice) -> Result<Chunk, SourceError>;

    /// The file of a skill it listed, if that is a file on this machine. By default, the path of its location.
    fn file(&self, skill: SourceSkill<'_>) -> Option<PathBuf> {
        skill.location().path().map(PathBuf::from)
    }

    /// Its constant properties. By default, it is local, and no folders are watched.
    fn traits(&self) -> SourceTraits {
        SourceTraits::default()
    }

    /// All files of a skill it listed, each with the digest of its bytes. A skill above the limits is not read.
    ///
    /// By default, each file is read. A source overrides it to list and read beneath a single open folder, to have one
    /// timeout for all files, or because it knows the digests.
    fn manifest(&self, skill: SourceSkill<'_>, within: &DigestLimits) -> Result<Manifest, SourceError> {
        let mut manifest = self.files(skill)?;
        let at = skill.location();
        if let Some(unlisted) = manifest.left_out.first().filter(|_| within.refuse_unlisted) {
            return Err(SourceErrorKind::Uncovered.at_file(at, &unlisted.path));
        }
        let mut allowed = within.admit(&manifest, at)?;
        for file in &mut manifest.files {
            let mut offset = 0;
            let (digest, size) = allowed.digest(
                |kind| kind.at_file(at, file.path.as_str()),
                |running| {
                    let chunk = self.read(skill, &file.path, Slice { offset, limit: 1 << 20 })?;
                    running.update(&chunk.bytes);
                    offset += chunk.bytes.len() as u64;
                    Ok(!chunk.bytes.is_empty() && offset < chunk.size)
                },
            )?;
            (file.digest, file.size) = (Some(digest), size);
        }
        Ok(manifest)
    }
}

/// The path by which a skill's own file is requested.
pub(crate) fn skill_md() -> Result<RelPath, SourceError> {
    RelPath::parse("SKILL.md").map_err(SourceError::from)
}

/// The skill of a document: one that loads, or a broken one with the reasons.
pub fn found(document: &Document, at: &Origin) -> Found {
    Found::judged(document, at, lenient())
}

/// The skill of a document, at a known virtual path.
pub(crate) fn found_at(document: &Document, at: &Origin, virtual_path: String) -> Box<Found> {
    let mut found = Box::new(Found::placed(document.entry(at), virtual_path));
    found.judge(document, lenient());
    found
}

/// An error when a document is no longer the skill that was listed: it does not load, or has another name.
pub(crate) fn check_still(
    document: &Document,
    skill: SourceSkill<'_>,
    at: impl FnOnce() -> Location,
) -> Result<(), SourceError> {
    match document.skill(&skill.entry.origin) {
        Some(entry) if entry.name == skill.entry.name => Ok(()),
        Some(_) => Err(SourceErrorKind::Changed.at_location(at())),
        None => Err(SourceErrorKind::Broken.at_location(at())),
    }
}

/// Why a catalog does not offer the skill of a document, as `check` reports it; none when it does.
#[cfg(feature = "install")]
pub(crate) fn why_not_offered(document: &Document, at: &Origin) -> Option<String> {
    let problems = lenient().check_frontmatter(document, at);
    let broken = problems.iter().any(|problem| problem.severity == prowess_core::Severity::Error);
    broken.then(|| reasons(&problems))
}

/// The profile by which a catalog judges, made once.
fn lenient() -> &'static Profile {
    static LENIENT: OnceLock<Profile> = OnceLock::new();
    LENIENT.get_or_init(Profile::lenient)
}

/// A skill that exists and cannot be read, as a source lists it.
pub(crate) fn unread(problem: &SourceError, at: &Origin) -> Found {
    let document = Document::unread(problem.full_message(), problem.hint().to_string());
    let problems = lenient().judge(document.findings().to_vec());
    Found::broken(&document, at, problems)
}
