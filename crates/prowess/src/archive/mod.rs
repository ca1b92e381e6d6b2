//! Unpacks archives in memory, within limits, and so strictly that no other program can find other files in them.
//!
//! An archive comes from outside, and two programs may read it differently: one then checks files that the other does
//! not see. So the readers here refuse an ambiguous archive instead of guessing. Links and special files are refused,
//! archives inside archives stay files, and nothing is written to disk.

mod tar;
mod zip;

use std::collections::BTreeMap;
use std::io::Read;

use prowess_core::RelPath;
use prowess_core::path::{PathError, first_collision};
use prowess_core::with_methods;

use crate::error::escape_control;

/// The limits of unpacking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArchiveLimits {
    /// The maximum size of the archive itself, in bytes.
    pub packed_bytes: u64,
    /// The maximum number of files and folders.
    pub entries: usize,
    /// The maximum size of all files, in bytes.
    pub bytes: u64,
    /// The maximum size of one file, in bytes.
    pub file_bytes: u64,
    /// The maximum depth of a file.
    pub depth: usize,
    /// The maximum ratio of the unpacked size to the packed size. A mebibyte of files is always allowed.
    pub ratio: u64,
}

with_methods! { ArchiveLimits:
    with_packed_bytes packed_bytes: u64;
    with_entries entries: usize;
    with_bytes bytes: u64;
    with_file_bytes file_bytes: u64;
    with_depth depth: usize;
    with_ratio ratio: u64;
}

impl ArchiveLimits {
    /// The maximum unpacked size of an archive of this size.
    pub(crate) fn most_unpacked(&self, packed: u64) -> u64 {
        self.bytes.min(packed.saturating_mul(self.ratio).max(1 << 20))
    }
}

impl Default for ArchiveLimits {
    fn default() -> Self {
        Self {
            packed_bytes: 25 << 20,
            entries: 1_000,
            bytes: 25 << 20,
            file_bytes: 10 << 20,
            depth: 16,
            ratio: 100,
        }
    }
}

/// The format of an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArchiveFormat {
    /// `.zip` and `.skill`.
    Zip,
    /// `.tar.gz` and `.tgz`.
    TarGz,
}

impl ArchiveFormat {
    /// The format that the first bytes show. Names and media types may be wrong; these bytes cannot be, or nothing
    /// could read the archive.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        if bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06") {
            Some(Self::Zip)
        } else if bytes.starts_with(&[0x1f, 0x8b]) {
            Some(Self::TarGz)
        } else {
            None
        }
    }
}

/// A file of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PackedFile {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Whether it is executable. Nothing else of its mode is kept.
    pub executable: bool,
}

/// Why an archive was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// It is not a valid archive, or it can be read in more than one way.
    #[error("{reason}")]
    Malformed {
        /// What is wrong.
        reason: String,
    },
    /// An entry is a link.
    #[error("it holds a link: {entry}")]
    Link {
        /// The entry.
        entry: String,
    },
    /// An entry is neither a file nor a folder.
    #[error("it holds something that is neither a file nor a folder: {entry}")]
    Special {
        /// The entry.
        entry: String,
    },
    /// The path of an entry breaks a rule of paths.
    #[error("it holds a path that is not allowed: {0}")]
    Path(#[from] PathError),
    /// Two entries are the same file on some system.
    #[error("it holds two entries of one name: {first} and {second}")]
    Twice {
        /// The first entry.
        first: String,
        /// The second entry.
        second: String,
    },
    /// A limit was reached.
    #[error("it is over a limit: {what}, at most {limit}")]
    TooMuch {
        /// What there is too much of.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
}

impl ArchiveError {
    fn malformed(reason: impl Into<String>) -> Self {
        Self::Malformed { reason: reason.into() }
    }
}

/// The files of an archive by path.
pub type Files = BTreeMap<RelPath, PackedFile>;

/// Unpacks an archive into memory, completely or not at all.
pub fn unpack(bytes: &[u8], limits: &ArchiveLimits) -> Result<Files, ArchiveError> {
    if bytes.len() as u64 > limits.packed_bytes {
        return Err(ArchiveError::TooMuch { what: "the archive's bytes", limit: limits.packed_bytes });
    }
    let mut unpacking = Unpacking::new(bytes.len() as u64, *limits);
    match ArchiveFormat::of(bytes) {
        Some(ArchiveFormat::Zip) => zip::unpack(bytes, &mut unpacking)?,
        Some(ArchiveFormat::TarGz) => tar::unpack(bytes, &mut unpacking)?,
        None => return Err(ArchiveError::malformed("it is neither a zip nor a gzip file")),
    }
    unpacking.finish()
}

/// What was unpacked so far, checked against the limits.
struct Unpacking {
    limits: ArchiveLimits,
    /// The maximum unpacked size by all limits together.
    budget: u64,
    entries: usize,
    unpacked: u64,
    files: Files,
    folders: Vec<RelPath>,
}

impl Unpacking {
    fn new(packed: u64, limits: ArchiveLimits) -> Self {
        let budget = limits.most_unpacked(packed);
        Self { limits, budget, entries: 0, unpacked: 0, files: Files::new(), folders: Vec::new() }
    }

    /// Counts one more entry.
    fn count(&mut self) -> Result<(), ArchiveError> {
        self.entries += 1;
        if self.entries > self.limits.entries {
            let limit = self.limits.entries as u64;
            return Err(ArchiveError::TooMuch { what: "entries", limit });
        }
        Ok(())
    }

    /// Counts unpacked bytes.
    fn spend(&mut self, bytes: u64) -> Result<(), ArchiveError> {
        self.unpacked = self.unpacked.saturating_add(bytes);
        if self.unpacked > self.limits.bytes {
            return Err(ArchiveError::TooMuch { what: "bytes", limit: self.limits.bytes });
        }
        if self.unpacked > self.budget {
            let what = "times as many bytes as the archive has";
            return Err(ArchiveError::TooMuch { what, limit: self.limits.ratio });
        }
        Ok(())
    }

    /// Reads a file of exactly this size.
    fn read(&mut self, reader: &mut dyn Read, size: u64, entry: &str) -> Result<Vec<u8>, ArchiveError> {
        if size > self.limits.file_bytes {
            return Err(ArchiveError::TooMuch { what: "bytes of a file", limit: self.limits.file_bytes });
        }
        self.spend(size)?;
        let mut bytes = Vec::new();
        // One byte more reveals a file that is larger.
        let read = reader.take(size + 1).read_to_end(&mut bytes);
        read.map_err(|error| ArchiveError::malformed(format!("{}: {error}", escape_control(entry))))?;
        if bytes.len() as u64 != size {
            let reason = format!("{}: its size is not the one in its header", escape_control(entry));
            return Err(ArchiveError::malformed(reason));
        }
        Ok(bytes)
    }

    fn path(&self, name: &[u8]) -> Result<RelPath, ArchiveError> {
        let path = RelPath::from_bytes(name)?;
        if path.components().count() > self.limits.depth {
            return Err(ArchiveError::TooMuch { what: "folders deep", limit: self.limits.depth as u64 });
        }
        Ok(path)
    }

    fn add_folder(&mut self, name: &[u8]) -> Result<(), ArchiveError> {
        let path = self.path(name)?;
        self.folders.push(path);
        Ok(())
    }

    fn add_file(&mut self, path: RelPath, file: PackedFile) -> Result<(), ArchiveError> {
        if self.files.contains_key(&path) {
            let (first, second) = (path.to_string(), path.to_string());
            return Err(ArchiveError::Twice { first, second });
        }
        self.files.insert(path, file);
        Ok(())
    }

    /// The files, if no two entries have the same path on any system and none is both a file and a folder.
    fn finish(self) -> Result<Files, ArchiveError> {
        if let Some((first, second)) = first_collision(self.files.keys()) {
            let (first, second) = (first.to_string(), second.to_string());
            return Err(ArchiveError::Twice { first, second });
        }
        let keys: BTreeMap<String, &RelPath> =
            self.files.keys().map(|path| (path.collision_key(), path)).collect();
        let above = self.files.keys().filter_map(RelPath::parent).chain(self.folders.iter().cloned());
        for folder in above {
            let mut at = Some(folder);
            while let Some(folder) = at {
                if let Some(file) = keys.get(&folder.collision_key()) {
                    let (first, second) = (file.to_string(), format!("{folder}/"));
                    return Err(ArchiveError::Twice { first, second });
                }
                at = folder.parent();
            }
        }
        Ok(self.files)
    }
}
