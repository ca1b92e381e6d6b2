//! Digests of files and of whole skills, and a file that remembers them as long as the files stay as they are.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use prowess_core::{Candidate, Manifest, Stamp};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use crate::cache::{Index, is_settled};
use crate::error::SourceError;
use crate::handle::stamp_of;

/// The digest of some bytes: `sha256:` and 64 hexadecimal digits.
pub fn of_bytes(bytes: &[u8]) -> String {
    named(Sha256::digest(bytes).as_slice())
}

/// The digest of a skill: any change of a name, a byte or an executable bit changes it. Nothing when the digest of
/// one of its files is not known.
///
/// It is the SHA-256 of `agent-skill-tree 1`, then a line for each file in the order of its path: mode, SHA-256 of
/// the bytes, size, path.
pub fn of_tree(files: &Manifest) -> Option<String> {
    with_frontmatter(files, None)
}

/// What an approval is bound to: the digest of the files of a skill and, when its source announces the frontmatter apart
/// from them, of that too, since it is what a model is shown before anything is read.
///
/// Behind the files there is a line more then: `frontmatter`, and the SHA-256 of it.
pub fn of_skill(skill: &Candidate, files: &Manifest) -> Result<String, SourceError> {
    with_frontmatter(files, skill.announced.as_deref()).ok_or_else(|| SourceError::Damaged {
        path: PathBuf::from(&skill.entry.origin.location),
        reason: "its source gives no digests".to_owned(),
    })
}

fn with_frontmatter(files: &Manifest, announced: Option<&str>) -> Option<String> {
    let mut tree = Sha256::new();
    tree.update(b"agent-skill-tree 1\n");
    for file in &files.files {
        let digest = file.digest.as_deref()?.strip_prefix("sha256:")?;
        let mode = if file.executable { "100755" } else { "100644" };
        tree.update(format!("{mode} {digest} {} {}\n", file.size, file.path));
    }
    if let Some(frontmatter) = announced {
        tree.update(format!("frontmatter {}\n", frontmatter.strip_prefix("sha256:")?));
    }
    Some(named(&tree.finalize()))
}

/// The digest of a frontmatter: of its JSON without blanks and with the keys of every object in order.
pub fn of_frontmatter(frontmatter: &Map<String, Value>) -> String {
    let mut frontmatter = Value::Object(frontmatter.clone());
    frontmatter.sort_all_objects();
    of_bytes(frontmatter.to_string().as_bytes())
}

/// A digest that is made while bytes arrive.
#[derive(Debug, Default)]
pub(crate) struct Running {
    hasher: Sha256,
    size: u64,
}

impl Running {
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
        self.size += bytes.len() as u64;
    }

    /// The digest, and how many bytes it is of.
    pub(crate) fn finish(self) -> (String, u64) {
        (named(&self.hasher.finalize()), self.size)
    }
}

fn of_file(file: &mut File) -> std::io::Result<(String, u64)> {
    let mut running = Running::default();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(running.finish()),
            got => running.update(buffer.get(..got).unwrap_or(&[])),
        }
    }
}

fn named(hash: &[u8]) -> String {
    use std::fmt::Write as _;
    hash.iter().fold(String::from("sha256:"), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Digests of files by path and state, in a file that is safe to delete. What is new is written when the last user
/// is done with it.
#[derive(Debug, Default)]
pub struct Digests {
    file: Option<PathBuf>,
    known: Index,
    fresh: Mutex<BTreeMap<Vec<u8>, (Stamp, String)>>,
}

impl Digests {
    /// Reads what is remembered in a file. Without one, every digest is made anew.
    pub fn load(file: Option<PathBuf>) -> Self {
        let known = file.as_deref().map(Index::load).unwrap_or_default();
        Self { file, known, fresh: Mutex::default() }
    }

    /// The digest and size of an open file: those that are known of this state of it, or new ones.
    pub(crate) fn of(&self, path: &Path, file: &mut File) -> std::io::Result<(String, u64)> {
        let metadata = file.metadata()?;
        let stamp = stamp_of(&metadata);
        if let Some(at) = self.known.find(path, &stamp)
            && let Ok(digest) = std::str::from_utf8(self.known.head(at))
        {
            return Ok((digest.to_owned(), metadata.len()));
        }
        let path = path.as_os_str().as_encoded_bytes();
        let fresh = || self.fresh.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, digest)) = fresh().get(path).filter(|(known, _)| *known == stamp) {
            return Ok((digest.clone(), metadata.len()));
        }
        let (digest, size) = of_file(file)?;
        // A file that changed just now may change again without its stamp showing it.
        if is_settled(&stamp) {
            fresh().insert(path.to_vec(), (stamp, digest.clone()));
        }
        Ok((digest, size))
    }

    /// Writes down what is new; what is known of other files stays.
    pub fn save(&self) {
        let fresh = self.fresh.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(file) = self.file.as_deref().filter(|_| !fresh.is_empty()) else { return };
        let known = (0..self.known.len()).filter_map(|at| self.known.skill(at));
        let mut all: Vec<(&[u8], Stamp, &[u8])> =
            known.filter(|(path, ..)| !fresh.contains_key(*path)).collect();
        all.extend(fresh.iter().map(|(path, (stamp, digest))| (path.as_slice(), *stamp, digest.as_bytes())));
        all.sort_by(|a, b| a.0.cmp(b.0));
        // A cache that cannot be written costs time and nothing else.
        let _ = Index::save(all, file);
    }
}

impl Drop for Digests {
    fn drop(&mut self) {
        self.save();
    }
}
