//! [`Packs`]: skills that were stored together, each batch in one file.
//!
//! Creating a file costs more than writing it, so the skills of one source share one. `packs/<sha256>` begins with its
//! table, whose SHA-256 is the name: a line for each skill with its digest and its length. After an empty line follow the
//! skills in the order of the table, each in the form that it has in a file of its own.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use prowess_core::Digest;

use crate::fs::read::open_regular;
use crate::internal::locked;
use crate::registry::digests;

/// The most skills in one file, so that a table has a bound.
pub(super) const MAX_SKILLS: usize = 500;
/// The most bytes of a table: a digest, a space, a length and a line break for each skill.
const MAX_TABLE: u64 = 96 * MAX_SKILLS as u64;
/// The most files that are searched.
const MAX_FILES: usize = 10_000;

/// Where a skill is.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Slice {
    file: PathBuf,
    start: u64,
    length: u64,
}

/// The packs in a folder. Their tables are read once, when a skill is first looked up.
#[derive(Debug)]
pub(super) struct Packs {
    folder: PathBuf,
    index: Mutex<Option<BTreeMap<Digest, Slice>>>,
}

impl Packs {
    pub(super) fn at(folder: PathBuf) -> Self {
        Self { folder, index: Mutex::default() }
    }

    /// The file that has a skill, if one had it when the tables were read.
    pub(super) fn file_of(&self, digest: Digest) -> Option<PathBuf> {
        self.slice(digest).map(|slice| slice.file)
    }

    /// The file that has a skill of this length, if it is still there.
    pub(super) fn file_with(&self, digest: Digest, length: u64) -> Option<PathBuf> {
        let is_there = |slice: &Slice| {
            let file = slice.file.symlink_metadata();
            file.is_ok_and(|file| file.is_file() && file.len() >= slice.start.saturating_add(length))
        };
        let slice = self.slice(digest).filter(|slice| slice.length == length && is_there(slice))?;
        Some(slice.file)
    }

    /// The bytes of a skill, unchecked.
    pub(super) fn read(&self, digest: Digest, most: usize) -> Option<Vec<u8>> {
        let slice = self.slice(digest).filter(|slice| slice.length <= most as u64)?;
        let mut file = open_regular(&slice.file).ok()?;
        file.seek(SeekFrom::Start(slice.start)).ok()?;
        let mut bytes = Vec::with_capacity(usize::try_from(slice.length).ok()?);
        file.take(slice.length).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    /// Removes the pack of a damaged skill. Its other skills are stored again when they are fetched again.
    pub(super) fn remove(&self, digest: Digest) {
        let Some(slice) = self.slice(digest) else { return };
        let _ = fs::remove_file(&slice.file);
        if let Some(index) = locked(&self.index).as_mut() {
            index.retain(|_, other| other.file != slice.file);
        }
    }

    /// The place and the bytes of a pack of these skills.
    pub(super) fn pack(&self, skills: &[(Digest, Vec<u8>)]) -> (PathBuf, Vec<u8>) {
        let mut table = String::new();
        for (digest, bytes) in skills {
            let _ = writeln!(table, "{digest} {}", bytes.len());
        }
        let name = digests::of_bytes(table.as_bytes());
        let mut bytes = table.into_bytes();
        bytes.push(b'\n');
        for (_, skill) in skills {
            bytes.extend_from_slice(skill);
        }
        (self.folder.join(format!("{name:x}")), bytes)
    }

    /// Makes a new pack known.
    pub(super) fn add(&self, file: &Path) {
        if let Some(index) = locked(&self.index).as_mut() {
            index.extend(table_of(file).unwrap_or_default());
        }
    }

    fn slice(&self, digest: Digest) -> Option<Slice> {
        let mut index = locked(&self.index);
        index.get_or_insert_with(|| self.tables()).get(&digest).cloned()
    }

    fn tables(&self) -> BTreeMap<Digest, Slice> {
        let files = fs::read_dir(&self.folder).into_iter().flatten().take(MAX_FILES).flatten();
        files.filter_map(|file| table_of(&file.path()).ok()).flatten().collect()
    }
}

/// The skills of a pack. A file whose table does not have the digest in its name is not one.
fn table_of(file: &Path) -> io::Result<Vec<(Digest, Slice)>> {
    let damaged = || io::Error::from(io::ErrorKind::InvalidData);
    let mut bytes = Vec::new();
    open_regular(file).map_err(|_| damaged())?.take(MAX_TABLE).read_to_end(&mut bytes)?;
    let end = bytes.windows(2).position(|two| two == b"\n\n").ok_or_else(damaged)? + 1;
    let table = bytes.get(..end).and_then(|table| std::str::from_utf8(table).ok()).ok_or_else(damaged)?;
    let name = digests::of_bytes(table.as_bytes());
    if file.file_name().and_then(|name| name.to_str()) != Some(&*format!("{name:x}")) {
        return Err(damaged());
    }
    let mut start = end as u64 + 1;
    let mut skills = Vec::new();
    for line in table.lines() {
        let (digest, length) = line.split_once(' ').ok_or_else(damaged)?;
        let length: u64 = length.parse().map_err(|_| damaged())?;
        skills.push((digest.parse().map_err(|_| damaged())?, Slice { file: file.to_owned(), start, length }));
        start = start.checked_add(length).ok_or_else(damaged)?;
    }
    Ok(skills)
}
