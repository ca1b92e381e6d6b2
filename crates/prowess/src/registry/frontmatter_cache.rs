//! The persisted index: the frontmatter of every skill and the state of its file, so that a second look reads only
//! what changed. It holds bytes of the skills themselves, so what is made of them is the same as without it.
//!
//! One file: a line that names the format, a checksum, then for each skill its path, its stamp and its frontmatter.
//! A file that is damaged, of another version or gone is as good as none.

use std::ops::Range;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use prowess_core::Stamp;

use crate::fs::atomic::{self, Durability};
use crate::fs::read;
use crate::fs::stamp::FileStamp;

const FORMAT: &[u8] = b"prowess index 2\n";

/// The largest index that is read: a hundred thousand skills need about fifty megabytes.
const MAX_BYTES: usize = 512 << 20;

/// A file that changed this short before it was indexed may change again without its stamp showing it.
const UNSETTLED: i64 = 50_000_000;

/// The moment before which a change is settled.
pub(crate) fn settled() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    i64::try_from(now).unwrap_or(i64::MAX).saturating_sub(UNSETTLED)
}

/// Whether a file has been as it is for long enough that every further change shows in its stamp.
pub(crate) fn is_settled(stamp: &FileStamp) -> bool {
    stamp.changed < settled()
}

/// Frontmatter by path, as it lies in the file.
#[derive(Debug, Default)]
pub(crate) struct Index {
    bytes: Vec<u8>,
    /// Sorted by path.
    skills: Vec<Indexed>,
}

#[derive(Clone, Debug)]
struct Indexed {
    path: Range<usize>,
    stamp: FileStamp,
    head: Range<usize>,
}

impl Index {
    pub(crate) fn is_empty(&self) -> bool {
        self.skills.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.skills.len()
    }

    fn slice(&self, range: &Range<usize>) -> &[u8] {
        self.bytes.get(range.clone()).unwrap_or(&[])
    }

    /// The place in the index of a file in this state.
    pub(crate) fn find(&self, path: &Path, stamp: &FileStamp) -> Option<usize> {
        let path = path.as_os_str().as_encoded_bytes();
        let at = self.skills.binary_search_by(|skill| self.slice(&skill.path).cmp(path)).ok()?;
        self.skills.get(at).filter(|skill| skill.stamp == *stamp).map(|_| at)
    }

    /// The frontmatter at a place in the index.
    pub(crate) fn head(&self, at: usize) -> &[u8] {
        self.skills.get(at).map_or(&[], |skill| self.slice(&skill.head))
    }

    /// The path, state and frontmatter at a place in the index.
    pub(crate) fn skill(&self, at: usize) -> Option<(&[u8], FileStamp, &[u8])> {
        self.skills.get(at).map(|skill| (self.slice(&skill.path), skill.stamp, self.slice(&skill.head)))
    }

    /// Reads an index; an empty one when there is none.
    pub(crate) fn load(file: &Path) -> Self {
        read::read_small(file, MAX_BYTES).ok().and_then(|bytes| Self::decode(&bytes)).unwrap_or_default()
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let rest = bytes.strip_prefix(FORMAT)?;
        let (sum, mut rest) = rest.split_at_checked(8)?;
        if checksum(rest).to_le_bytes() != *sum {
            return None;
        }
        let start = bytes.len() - rest.len();
        let mut index = Self { bytes: bytes.to_vec(), skills: Vec::new() };
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
            index.skills.push(Indexed { path, stamp, head: place(rest, length) });
        }
        Some(index)
    }

    /// Writes an index of these skills, whole or not at all. They are sorted by path.
    pub(crate) fn save<'h>(
        skills: impl IntoIterator<Item = (&'h [u8], FileStamp, &'h [u8])>,
        file: &Path,
    ) -> std::io::Result<()> {
        let settled = settled();
        let mut body = Vec::new();
        for (path, stamp, head) in skills {
            if stamp.changed >= settled {
                continue;
            }
            put_bytes(&mut body, path);
            put_stamp(&mut body, stamp.into());
            put_bytes(&mut body, head);
        }
        atomic::write_own(file, &[FORMAT, &checksum(&body).to_le_bytes(), &body], Durability::Rebuilt)
    }
}

pub(crate) fn put_stamp(body: &mut Vec<u8>, stamp: Stamp) {
    body.extend_from_slice(&stamp.changed().to_le_bytes());
    body.extend(stamp.mark().iter().flat_map(|number| number.to_le_bytes()));
}

pub(crate) fn take_stamp(rest: &mut &[u8]) -> Option<Stamp> {
    let mut numbers = [0u64; 5];
    for number in &mut numbers {
        let (bytes, after) = rest.split_at_checked(8)?;
        *number = u64::from_le_bytes(bytes.try_into().ok()?);
        *rest = after;
    }
    let [changed, mark @ ..] = numbers;
    Some(Stamp::new(changed.cast_signed(), mark))
}

pub(crate) fn put_bytes(body: &mut Vec<u8>, bytes: &[u8]) {
    body.extend_from_slice(&u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes());
    body.extend_from_slice(bytes);
}

pub(crate) fn take_bytes<'b>(rest: &mut &'b [u8]) -> Option<&'b [u8]> {
    let (length, after) = rest.split_at_checked(4)?;
    let length = u32::from_le_bytes(length.try_into().ok()?);
    let (bytes, after) = after.split_at_checked(usize::try_from(length).ok()?)?;
    *rest = after;
    Some(bytes)
}

/// FNV-1a over words of eight bytes: enough to tell a torn file, and fast.
pub(crate) fn checksum(bytes: &[u8]) -> u64 {
    let step = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x0100_0000_01b3).rotate_left(23);
    let (words, rest) = bytes.as_chunks::<8>();
    let hash = words.iter().fold(0xcbf2_9ce4_8422_2325, |hash, word| step(hash, u64::from_le_bytes(*word)));
    rest.iter().fold(step(hash, bytes.len() as u64), |hash, byte| step(hash, u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_survives_its_file_and_a_damaged_file_is_no_index() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("deep/index");
        let stamp = FileStamp { size: 1, modified: -5, changed: 7, inode: 9, device: 11 };
        let skills: [(&[u8], FileStamp, &[u8]); 3] = [
            (b"/a/SKILL.md", stamp, b"---\n---\n"),
            (b"/b", stamp, b""),
            (b"/new", FileStamp { changed: i64::MAX, ..stamp }, b""),
        ];
        Index::save(skills, &file).unwrap();
        let read = Index::load(&file);
        let at = read.find(Path::new("/a/SKILL.md"), &stamp).unwrap();
        assert_eq!(read.head(at), b"---\n---\n".as_slice());
        assert!(read.find(Path::new("/a/SKILL.md"), &FileStamp { size: 2, ..stamp }).is_none());
        assert_eq!(read.len(), 2, "what changed just now is not trusted");
        let bytes = read::read_small(&file, MAX_BYTES).unwrap();
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x10;
            assert!(Index::decode(&damaged).is_none(), "{at}");
            assert!(Index::decode(&bytes[..at]).is_none_or(|index| index.is_empty()), "{at}");
        }
        assert_eq!(
            std::fs::read_dir(file.parent().unwrap()).unwrap().count(),
            1,
            "no temporary file is left"
        );
    }
}
