//! [`FileCache`]: some bytes for each of many files, valid as long as the file has the same state.
//!
//! A list of skills caches the frontmatter of each, so that the next list reads only what changed; digests are cached
//! the same way. It is one file: a line that names the format, a checksum, then for each file its path, its stamp and
//! the bytes. A cache that is damaged, of another version or missing counts as empty.

use std::io::Read as _;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::fs::atomic::{self, Durability};
use crate::fs::codec::{checksum, put_bytes, put_stamp, take_bytes, take_stamp};
use crate::fs::own;
use crate::fs::stamp::FileStamp;

const FORMAT: &[u8] = b"prowess index 3\n";

/// The largest cache that is read: a hundred thousand skills need about fifty megabytes.
const MAX_BYTES: usize = 512 << 20;

/// How much of a cache is read for its first path.
const HEAD_BYTES: u64 = 8 << 10;

/// A file that changed less than this before it was cached may change again without a change of its stamp.
const UNSETTLED: i64 = 50_000_000;

/// The time before which a change is settled.
pub(crate) fn settled() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    i64::try_from(now).unwrap_or(i64::MAX).saturating_sub(UNSETTLED)
}

/// Whether a file has been unchanged for long enough that every further change shows in its stamp.
pub(crate) fn is_settled(stamp: &FileStamp) -> bool {
    stamp.changed < settled()
}

/// The path with these bytes. Caches are written and read on one machine.
fn path_of(bytes: &[u8]) -> PathBuf {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt as _;
        PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
    }
    #[cfg(not(unix))]
    PathBuf::from(String::from_utf8_lossy(bytes).into_owned())
}

/// Bytes by the path and state of a file.
#[derive(Debug, Default)]
pub(crate) struct FileCache {
    bytes: Vec<u8>,
    /// Sorted by path.
    files: Vec<Cached>,
}

#[derive(Clone, Debug)]
struct Cached {
    path: Range<usize>,
    stamp: FileStamp,
    kept: Range<usize>,
}

impl FileCache {
    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.files.len()
    }

    fn slice(&self, range: &Range<usize>) -> &[u8] {
        self.bytes.get(range.clone()).unwrap_or(&[])
    }

    /// The place in the cache of a file in this state.
    pub(crate) fn find(&self, path: &Path, stamp: &FileStamp) -> Option<usize> {
        let path = path.as_os_str().as_encoded_bytes();
        let at = self.files.binary_search_by(|file| self.slice(&file.path).cmp(path)).ok()?;
        self.files.get(at).filter(|file| file.stamp == *stamp).map(|_| at)
    }

    /// The bytes at a place in the cache.
    pub(crate) fn kept(&self, at: usize) -> &[u8] {
        self.files.get(at).map_or(&[], |file| self.slice(&file.kept))
    }

    /// The path, state and bytes at a place in the cache.
    pub(crate) fn file(&self, at: usize) -> Option<(&[u8], FileStamp, &[u8])> {
        self.files.get(at).map(|file| (self.slice(&file.path), file.stamp, self.slice(&file.kept)))
    }

    /// Reads a cache; an empty one when there is none.
    pub(crate) fn load(file: &Path) -> Self {
        own::read_cached(file, MAX_BYTES).ok().and_then(|bytes| Self::decode(&bytes)).unwrap_or_default()
    }

    /// The files in a cache, or only the first if that one exists; `None` if the cache is damaged or of another version.
    pub(crate) fn paths_in(file: &Path) -> Option<Vec<PathBuf>> {
        let mut head = Vec::new();
        own::or_missing(own::open_cached(file)).ok()?.take(HEAD_BYTES).read_to_end(&mut head).ok()?;
        let mut rest = head.strip_prefix(FORMAT)?.get(8..)?;
        let first = take_bytes(&mut rest).map(path_of);
        if let Some(first) = first.filter(|first| first.symlink_metadata().is_ok()) {
            return Some(vec![first]);
        }
        let cache = own::read_cached(file, MAX_BYTES).ok().and_then(|bytes| Self::decode(&bytes))?;
        Some(cache.files.iter().map(|file| path_of(cache.slice(&file.path))).collect())
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(FORMAT)?;
        let (sum, mut rest) = rest.split_at_checked(8)?;
        if checksum(rest).to_le_bytes() != *sum {
            return None;
        }
        let start = bytes.len() - rest.len();
        let mut cache = Self { bytes: bytes.to_vec(), files: Vec::new() };
        let whole = rest.len();
        let place = |rest: &[u8], length: usize| {
            let end = start + whole - rest.len();
            end - length..end
        };
        while !rest.is_empty() {
            let length = take_bytes(&mut rest)?.len();
            let path = place(rest, length);
            let stamp = take_stamp(&mut rest)?.into();
            let length = take_bytes(&mut rest)?.len();
            cache.files.push(Cached { path, stamp, kept: place(rest, length) });
        }
        Some(cache)
    }

    /// Writes a cache of these files, whole or not at all. They are sorted by path.
    pub(crate) fn save<'h>(
        files: impl IntoIterator<Item = (&'h [u8], FileStamp, impl AsRef<[u8]>)>,
        to: &Path,
    ) -> std::io::Result<()> {
        let settled = settled();
        let mut body = Vec::new();
        for (path, stamp, kept) in files {
            if stamp.changed >= settled {
                continue;
            }
            put_bytes(&mut body, path);
            put_stamp(&mut body, stamp.into());
            put_bytes(&mut body, kept.as_ref());
        }
        atomic::write_own(None, to, &[FORMAT, &checksum(&body).to_le_bytes(), &body], Durability::Rebuilt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_survives_its_file_and_a_damaged_file_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("deep/index");
        let stamp = FileStamp { size: 1, modified: -5, changed: 7, inode: 9, device: 11 };
        let skills: [(&[u8], FileStamp, &[u8]); 3] = [
            (b"/a/SKILL.md", stamp, b"---\n---\n"),
            (b"/b", stamp, b""),
            (b"/new", FileStamp { changed: i64::MAX, ..stamp }, b""),
        ];
        FileCache::save(skills, &file).unwrap();
        let read = FileCache::load(&file);
        let at = read.find(Path::new("/a/SKILL.md"), &stamp).unwrap();
        assert_eq!(read.kept(at), b"---\n---\n".as_slice());
        assert!(read.find(Path::new("/a/SKILL.md"), &FileStamp { size: 2, ..stamp }).is_none());
        assert_eq!(read.len(), 2, "what changed just now is not trusted");
        let bytes = crate::fs::read::read_small(&file, MAX_BYTES).unwrap();
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x10;
            assert!(FileCache::decode(&damaged).is_none(), "{at}");
            assert!(FileCache::decode(&bytes[..at]).is_none_or(|cache| cache.is_empty()), "{at}");
        }
        assert_eq!(
            std::fs::read_dir(file.parent().unwrap()).unwrap().count(),
            1,
            "no temporary file is left"
        );
    }
}
