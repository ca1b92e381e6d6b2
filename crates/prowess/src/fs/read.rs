//! Reads files of skills within a limit, without blocking; [`list`] lists them.

use std::fs::{self, File, FileType, Metadata};
use std::io::Read as _;
use std::path::Path;

use prowess_core::limits::MAX_FILE_BYTES;
use prowess_core::{Document, RelPath, parse_head};

use crate::error::{SourceError, SourceErrorKind, SpecialFile};
use crate::fs::sandbox::{self, SkillFolder};

#[cfg(feature = "watch")]
pub(crate) use crate::fs::listing::folders_below;
pub(crate) use crate::fs::listing::list_in;
pub use crate::fs::listing::{FileListing, MAX_LISTED_AGAIN, MAX_LISTED_ENTRIES, list};

/// The bytes of a SKILL.md, at most one more than the limit.
#[derive(Clone, Debug)]
pub struct Head {
    /// The first bytes; all of them unless the file is larger than [`MAX_FILE_BYTES`].
    pub bytes: Vec<u8>,
    /// The size of the whole file.
    pub size: u64,
}

impl Head {
    /// The head of a file that is completely in memory.
    pub fn whole(bytes: Vec<u8>) -> Self {
        let size = bytes.len() as u64;
        Self { bytes, size }
    }

    /// Parses these bytes.
    pub fn document(&self) -> Document {
        parse_head(&self.bytes, self.size)
    }

    /// Whether these are all bytes of the file.
    pub fn is_whole(&self) -> bool {
        self.size == self.bytes.len() as u64
    }
}

/// A range of bytes of a file.
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

    /// This range of a file that is in memory.
    pub fn of(self, bytes: &[u8]) -> Chunk {
        let start = usize::try_from(self.offset).unwrap_or(usize::MAX).min(bytes.len());
        let end = start.saturating_add(self.limit).min(bytes.len());
        Chunk { bytes: bytes.get(start..end).unwrap_or(&[]).to_vec(), size: bytes.len() as u64 }
    }
}

/// Bytes of a file, and the size of all of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// The requested bytes.
    pub bytes: Vec<u8>,
    /// The size of the whole file.
    pub size: u64,
}

/// Reads a SKILL.md: only a regular file, without blocking, and at most one byte more than the limit.
///
/// A SKILL.md that is a link out of its folder must lead to a file of that name, so that no other file is ever shown as
/// a skill.
pub fn read_skill(path: &Path) -> Result<Head, SourceError> {
    read_open(sandbox::open_skill_file(path)?, path, MAX_FILE_BYTES)
}

/// Reads a whole file of at most `limit` bytes.
pub fn read_small(path: &Path, limit: usize) -> Result<Vec<u8>, SourceError> {
    read_whole(open_regular(path)?, path, limit)
}

/// Reads a whole open file of at most `limit` bytes.
pub(crate) fn read_whole(file: File, path: &Path, limit: usize) -> Result<Vec<u8>, SourceError> {
    let too_large = |size| SourceErrorKind::TooLarge { size, limit: limit as u64 }.at(path);
    // The size is checked first, so that nothing is read of a file that is too large.
    let length = file.metadata().map_err(|error| SourceError::io(path, error))?.len();
    if length > limit as u64 {
        return Err(too_large(length));
    }
    let head = read_open(file, path, limit)?;
    if head.bytes.len() > limit { Err(too_large(head.size)) } else { Ok(head.bytes) }
}

/// Reads a whole file of a skill of at most `limit` bytes; `None` if it does not exist.
///
/// Links must not lead out of the skill: see [`SourceErrorKind::Outside`].
pub fn read_of_skill(
    skill: &crate::SkillFile,
    path: &RelPath,
    limit: usize,
) -> Result<Option<Vec<u8>>, SourceError> {
    let shown = skill.folder().join(path.as_str());
    let file = match SkillFolder::first_seen(skill.folder()).and_then(|folder| folder.file(path)) {
        Ok(file) => file,
        Err(SourceError { kind: SourceErrorKind::Missing, .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    let chunk = sandbox::read_slice(file, &shown, Slice::first(limit.saturating_add(1)))?;
    if chunk.bytes.len() > limit {
        return Err(SourceErrorKind::TooLarge { size: chunk.size, limit: limit as u64 }.at(shown));
    }
    Ok(Some(chunk.bytes))
}

/// The text of an open file, unless it is too large or not a regular file.
pub(crate) fn read_text(file: File, limit: usize) -> Option<String> {
    let metadata = file.metadata().ok()?;
    if !metadata.is_file() || metadata.len() > limit as u64 {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(limit as u64).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Opens a regular file, without blocking on a FIFO.
pub(crate) fn open_regular(path: &Path) -> Result<File, SourceError> {
    let failed = |error| SourceError::io(path, error);
    // Checked before opening, since opening a device can have an effect, and again after it, since the path may have
    // been replaced.
    regular(path, &fs::metadata(path).map_err(failed)?)?;
    let file = open(path).map_err(failed)?;
    regular(path, &file.metadata().map_err(failed)?)?;
    Ok(file)
}

fn read_open(file: File, path: &Path, limit: usize) -> Result<Head, SourceError> {
    let failed = |error| SourceError::io(path, error);
    let length = file.metadata().map_err(failed)?.len();
    // One byte more than expected, so that the end is seen without another buffer.
    let expected = usize::try_from(length).unwrap_or(limit).min(limit) + 1;
    let mut bytes = Vec::with_capacity(expected);
    file.take(limit as u64 + 1).read_to_end(&mut bytes).map_err(failed)?;
    // Files in /proc have no size, and others grow while they are read.
    let read = bytes.len() as u64;
    let size = if bytes.len() > limit { length.max(read) } else { read };
    Ok(Head { bytes, size })
}

fn open(path: &Path) -> std::io::Result<File> {
    let mut options = File::options();
    options.read(true);
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt as _;
        options.custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed());
    }
    options.open(path)
}

pub(crate) fn regular(path: &Path, metadata: &Metadata) -> Result<(), SourceError> {
    let kind = metadata.file_type();
    if kind.is_file() {
        Ok(())
    } else if kind.is_dir() {
        Err(SourceErrorKind::Folder.at(path))
    } else {
        Err(SourceErrorKind::NotRegular { found: special(kind) }.at(path))
    }
}

pub(crate) fn special(kind: FileType) -> SpecialFile {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        if kind.is_fifo() {
            return SpecialFile::Fifo;
        }
        if kind.is_socket() {
            return SpecialFile::Socket;
        }
        if kind.is_char_device() || kind.is_block_device() {
            return SpecialFile::Device;
        }
    }
    let _ = kind;
    SpecialFile::Other
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    #[test]
    fn a_huge_file_is_read_only_to_the_limit_and_keeps_its_true_size() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("SKILL.md");
        File::create(&path).unwrap().set_len(50 << 20).unwrap();
        let head = read_skill(&path).unwrap();
        assert_eq!((head.bytes.len(), head.size), (MAX_FILE_BYTES + 1, 50 << 20));
        assert!(!head.is_whole());
        assert!(head.document().findings()[0].message.contains("52428800"));
        assert!(matches!(
            read_small(&path, 10),
            Err(SourceError { kind: SourceErrorKind::TooLarge { size: 52_428_800, .. }, .. })
        ));
    }

    #[test]
    fn a_special_file_is_named_and_does_not_block() {
        let device = read_skill(Path::new("/dev/null")).unwrap_err();
        assert_eq!(device.to_string(), "this is a device, not a regular file: /dev/null");
        assert!(matches!(read_skill(Path::new("/")), Err(SourceError { kind: SourceErrorKind::Folder, .. })));
        assert!(matches!(
            read_skill(Path::new("/no/such")),
            Err(SourceError { kind: SourceErrorKind::Missing, .. })
        ));
    }
}
