//! The cache file of an index, which is safe to delete.
//!
//! It contains a line that names the format, the sizes of the blocks, a checksum of the state of the skills, then the
//! blocks: the skills, and the postings as they are in memory. A file that is damaged, of another version or missing
//! counts as empty.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use prowess_core::select::Postings;
use prowess_core::{Location, Stamp};

use super::Known;
use crate::fs::atomic::{self, Durability};
use crate::fs::codec::{checksum, put_bytes, put_stamp, take_bytes, take_stamp};
use crate::fs::own;

const FORMAT: &[u8] = b"prowess terms 2\n";

/// The largest file that is read: a hundred thousand skills with bodies need about three hundred megabytes.
const MAX_BYTES: u64 = 4 << 30;
/// The most blocks: the skills, the head of the postings and their parts.
const MAX_BLOCKS: usize = 1_024;

type Remembered = (Vec<String>, Vec<Known>, Postings);

/// Writes an index atomically.
pub(super) fn save(
    file: &Path,
    keys: &[String],
    known: &[Known],
    postings: &Postings,
) -> std::io::Result<()> {
    let mut skills = Vec::new();
    for (key, known) in keys.iter().zip(known) {
        put_bytes(&mut skills, key.as_bytes());
        put_bytes(&mut skills, known.location.text().as_bytes());
        put_stamp(&mut skills, known.stamp.unwrap_or_default());
        skills.push(u8::from(known.body));
    }
    let (head, shards) = postings.to_blocks();
    let mut blocks: Vec<&[u8]> = vec![&skills, &head];
    blocks.extend(shards);
    let mut front = FORMAT.to_vec();
    front.extend((blocks.len() as u64).to_le_bytes());
    front.extend(blocks.iter().flat_map(|block| (block.len() as u64).to_le_bytes()));
    front.extend(checksum(&skills).to_le_bytes());
    blocks.insert(0, &front);
    atomic::write_own(None, file, &blocks, Durability::Rebuilt)
}

/// Reads an index.
pub(super) fn load(path: &Path) -> Option<Remembered> {
    let mut file = own::or_missing(own::open_cached(path)).ok()?;
    let size = file.metadata().ok().map(|metadata| metadata.len()).filter(|size| *size <= MAX_BYTES)?;
    let (sizes, sum) = front(&mut file)?;
    let front = (FORMAT.len() + 8 * (sizes.len() + 2)) as u64;
    let whole = sizes.iter().try_fold(front, |sum, size| sum.checked_add(*size))?;
    if whole != size {
        return None;
    }
    // One by one: blocks are large, and merging frees one after the other.
    let blocks = sizes.iter().map(|size| read(&mut file, usize::try_from(*size).ok()?));
    let mut blocks = blocks.collect::<Option<Vec<_>>>()?.into_iter();
    let (skills, head) = (blocks.next()?, blocks.next()?);
    if checksum(&skills) != sum {
        return None;
    }
    let (keys, known) = decode(&skills)?;
    let postings = Postings::from_blocks(&head, blocks.collect())?;
    (postings.len() == known.len() && keys.is_sorted()).then_some((keys, known, postings))
}

/// The places of the skills in an index; `None` if it is damaged or of another version.
pub(super) fn places(path: &Path) -> Option<Vec<Location>> {
    let mut file = own::or_missing(own::open_cached(path)).ok()?;
    let whole = file.metadata().ok()?.len();
    let (sizes, sum) = front(&mut file)?;
    let size = usize::try_from(*sizes.first().filter(|size| **size <= whole)?).ok()?;
    let skills = read(&mut file, size).filter(|skills| checksum(skills) == sum)?;
    Some(decode(&skills)?.1.into_iter().map(|known| known.location).collect())
}

/// The sizes of the blocks that follow, and the checksum of the first one.
fn front(file: &mut File) -> Option<(Vec<u64>, u64)> {
    let begin = read(file, FORMAT.len() + 8)?;
    let mut begin = begin.strip_prefix(FORMAT)?;
    let count = usize::try_from(number(&mut begin)?).ok().filter(|count| *count <= MAX_BLOCKS)?;
    let numbers = read(file, 8 * (count + 1))?;
    let mut numbers = numbers.as_slice();
    let sizes = (0..count).map(|_| number(&mut numbers)).collect::<Option<Vec<u64>>>()?;
    Some((sizes, number(&mut numbers)?))
}

fn decode(mut rest: &[u8]) -> Option<(Vec<String>, Vec<Known>)> {
    let (mut keys, mut known) = (Vec::new(), Vec::new());
    while !rest.is_empty() {
        keys.push(std::str::from_utf8(take_bytes(&mut rest)?).ok()?.to_owned());
        let location = Location::parse(std::str::from_utf8(take_bytes(&mut rest)?).ok()?);
        let stamp = Some(take_stamp(&mut rest)?).filter(|stamp| *stamp != Stamp::default());
        let (body, after) = rest.split_first()?;
        rest = after;
        known.push(Known { location, stamp, body: *body != 0 });
    }
    Some((keys, known))
}

fn read(file: &mut File, length: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(length).ok()?;
    bytes.resize(length, 0);
    file.read_exact(&mut bytes).ok()?;
    Some(bytes)
}

fn number(bytes: &mut &[u8]) -> Option<u64> {
    let (number, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(u64::from_le_bytes(*number))
}
