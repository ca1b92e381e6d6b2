//! Digests of files and of whole skills, and a cache that is valid as long as the files are unchanged.
//!
//! Sizes are checked before bytes are read, so a file of terabytes costs nothing. The cache saves time where a list
//! names digests. Trust never depends on it: an approval is compared with the current bytes.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use prowess_core::catalog::Announced;
use prowess_core::{Digest, Location, Manifest, SourceSkill, with_methods};
#[cfg(feature = "install")]
use prowess_core::{FileEntry, RelPath};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use crate::error::{Counted, SourceError, SourceErrorKind};
use crate::fs::dir::stamp_of;
use crate::fs::file_cache::{FileCache, is_settled};
use crate::fs::stamp::FileStamp;
use crate::internal::locked;

/// The first line of a listing.
const LISTING: &str = "agent-skill-tree 1\n";
/// The modes of files in a listing, as git writes them.
const EXECUTABLE: &str = "100755";
const PLAIN: &str = "100644";

/// The digest of some bytes.
pub fn of_bytes(bytes: &[u8]) -> Digest {
    Digest::from(<[u8; 32]>::from(Sha256::digest(bytes)))
}

/// The first half of the digits of the digest of some bytes, for the name of a file or a folder.
#[cfg(feature = "install")]
pub(crate) fn short_name(bytes: &[u8]) -> String {
    let mut name = format!("{:x}", of_bytes(bytes));
    name.truncate(32);
    name
}

/// The digest of a skill: any change of a name, a byte or an executable bit changes it. None when the digest of one of
/// its files is not known.
///
/// It is the SHA-256 of `agent-skill-tree 1`, then a line for each file in the order of its path: mode, SHA-256 of
/// the bytes, size, path.
pub fn of_tree(files: &Manifest) -> Option<Digest> {
    with_frontmatter(files, None)
}

/// The digest that an approval is bound to: of the files of a skill and, if its source announces the frontmatter
/// separately, of the frontmatter too, since a model sees it before any file is read.
///
/// In that case one more line follows the files: `frontmatter`, and its SHA-256.
pub fn of_skill(skill: SourceSkill<'_>, files: &Manifest) -> Result<Digest, SourceError> {
    let announced = skill.announced.map(|announced| announced.digest);
    with_frontmatter(files, announced).ok_or_else(|| {
        let reason = "its source gives no digests".to_owned();
        SourceErrorKind::Damaged { reason }.at_location(skill.location().clone())
    })
}

fn with_frontmatter(files: &Manifest, announced: Option<Digest>) -> Option<Digest> {
    let mut tree = listing(files)?;
    if let Some(frontmatter) = announced {
        let _ = writeln!(tree, "frontmatter {frontmatter:x}");
    }
    Some(of_bytes(tree.as_bytes()))
}

/// The text that the digest of a tree is computed from: a first line, then one for each file.
pub(crate) fn listing(files: &Manifest) -> Option<String> {
    let mut text = String::from(LISTING);
    for file in &files.files {
        let digest = file.digest?;
        let mode = if file.executable { EXECUTABLE } else { PLAIN };
        let _ = writeln!(text, "{mode} {digest:x} {} {}", file.size, file.path);
    }
    Some(text)
}

/// The files in a listing; none when the text is not a listing.
#[cfg(feature = "install")]
pub(crate) fn files_of(listing: &str) -> Option<Manifest> {
    let line = |line: &str| {
        let mut parts = line.splitn(4, ' ');
        let (mode, digest) = (parts.next()?, parts.next()?);
        let (size, path) = (parts.next()?.parse().ok()?, parts.next()?);
        let mut file = FileEntry::new(RelPath::parse(path).ok()?, size);
        file.digest = Some(Digest::from_hex(digest).ok()?);
        file.executable = match mode {
            EXECUTABLE => true,
            PLAIN => false,
            _ => return None,
        };
        Some(file)
    };
    let files = listing.strip_prefix(LISTING)?.lines().map(line).collect::<Option<Vec<FileEntry>>>()?;
    Some(Manifest::new(files))
}

/// The digest of a frontmatter: of its JSON without spaces and with sorted keys.
pub fn of_frontmatter(frontmatter: &Map<String, Value>) -> Digest {
    let mut frontmatter = Value::Object(frontmatter.clone());
    frontmatter.sort_all_objects();
    of_bytes(frontmatter.to_string().as_bytes())
}

/// The frontmatter that a source announces, with its digest.
pub fn announced(frontmatter: Map<String, Value>) -> Arc<Announced> {
    let digest = of_frontmatter(&frontmatter);
    Arc::new(Announced { frontmatter, digest })
}

/// The limits of computing the digests of one skill. A larger skill is refused before anything is read.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DigestLimits {
    /// The most files.
    pub files: usize,
    /// The most bytes in one file.
    pub file_bytes: u64,
    /// The most bytes in all files together.
    pub bytes: u64,
    /// Whether cached digests are used, as in a list. They are never used for a skill that is approved by its digest.
    pub remembered: bool,
    /// Whether a skill is refused if it contains anything that its manifest does not list, as for an approval.
    pub refuse_unlisted: bool,
    /// The time at which the work stops, finished or not.
    pub deadline: Option<Instant>,
    /// Stops the work when it is set.
    pub stop: Option<Arc<AtomicBool>>,
}

with_methods! { DigestLimits:
    with_files files: usize;
    with_file_bytes file_bytes: u64;
    with_bytes bytes: u64;
    with_remembered remembered: bool;
    with_refuse_unlisted refuse_unlisted: bool;
    with_deadline deadline: Option<Instant>;
    with_stop stop: Option<Arc<AtomicBool>>;
}

impl Default for DigestLimits {
    fn default() -> Self {
        Self::approving()
    }
}

impl DigestLimits {
    /// The limits for approvals: the maximum number of listed files, and 64 MiB.
    pub const fn approving() -> Self {
        const BYTES: u64 = 64 << 20;
        Self {
            files: crate::fs::read::MAX_LISTED_ENTRIES,
            file_bytes: BYTES,
            bytes: BYTES,
            remembered: false,
            refuse_unlisted: false,
            deadline: None,
            stop: None,
        }
    }

    /// The limits for skills that are served, for example over MCP: those for approvals, but cached digests are used.
    pub const fn publishing() -> Self {
        let mut limits = Self::approving();
        limits.remembered = true;
        limits
    }

    /// The limits for an approval: the current bytes, and all of them.
    #[must_use]
    pub(crate) fn binding(&self) -> Self {
        Self { remembered: false, refuse_unlisted: true, ..self.clone() }
    }

    /// Starts the work on a skill whose files have these sizes; an error when they are too many or too large.
    pub(crate) fn admit<'l>(
        &'l self,
        files: &Manifest,
        skill: &Location,
    ) -> Result<Allowance<'l>, SourceError> {
        let at = |kind: SourceErrorKind| kind.at_skill(skill);
        if files.files.len() > self.files {
            let limit = self.files;
            return Err(at(SourceErrorKind::TooMany { what: Counted::Files, limit }));
        }
        if let Some(file) = files.files.iter().find(|file| file.size > self.file_bytes) {
            let kind = SourceErrorKind::TooLarge { size: file.size, limit: self.file_bytes };
            return Err(kind.at_file(skill, file.path.as_str()));
        }
        let size = files.files.iter().fold(0, |sum: u64, file| sum.saturating_add(file.size));
        if size > self.bytes {
            return Err(at(SourceErrorKind::TooLarge { size, limit: self.bytes }));
        }
        let allowance = Allowance { limits: self, left: self.bytes };
        allowance.go_on(at)?;
        Ok(allowance)
    }
}

/// The digest and the size of a file, or why they are not known.
pub(crate) type DigestResult = Result<(Digest, u64), SourceError>;

/// The remaining limits while files are read: a file may grow after its size was checked.
#[derive(Debug)]
pub(crate) struct Allowance<'l> {
    limits: &'l DigestLimits,
    left: u64,
}

impl Allowance<'_> {
    /// An error when the work must stop.
    fn go_on(&self, at: impl FnOnce(SourceErrorKind) -> SourceError) -> Result<(), SourceError> {
        let stopped = self.limits.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed));
        if stopped || self.limits.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            return Err(at(SourceErrorKind::Stopped));
        }
        Ok(())
    }

    /// Digests a file that is given in parts; an empty part is its end. `at` makes an error about the file.
    pub(crate) fn digest(
        &mut self,
        at: impl Fn(SourceErrorKind) -> SourceError,
        mut next: impl FnMut(&mut Running) -> Result<bool, SourceError>,
    ) -> DigestResult {
        let mut running = Running::default();
        let most = self.left.min(self.limits.file_bytes);
        loop {
            self.go_on(&at)?;
            let more = next(&mut running)?;
            if running.size > most {
                return Err(at(SourceErrorKind::TooLarge { size: running.size, limit: most }));
            }
            if !more {
                self.left -= running.size;
                return Ok(running.finish());
            }
        }
    }
}

/// A digest that is computed while bytes arrive.
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

    /// The digest, and the number of bytes.
    pub(crate) fn finish(self) -> (Digest, u64) {
        (Digest::from(<[u8; 32]>::from(self.hasher.finalize())), self.size)
    }
}

/// Computes the digest of an open file, within the limits.
pub(crate) fn of_file(path: &Path, file: &mut File, allowed: &mut Allowance<'_>) -> DigestResult {
    // Its buffer is not zeroed, which for small files would cost more than reading them.
    let mut file = BufReader::with_capacity(64 * 1024, file);
    allowed.digest(
        |kind| kind.at(path),
        |running| {
            let part = file.fill_buf().map_err(|error| SourceError::io(path, error))?;
            running.update(part);
            let got = part.len();
            file.consume(got);
            Ok(got > 0)
        },
    )
}

/// A cache of digests by path and state of a file, in a file that is safe to delete. New digests are written when it is
/// dropped.
#[derive(Debug, Default)]
pub struct Digests {
    file: Option<PathBuf>,
    known: FileCache,
    fresh: Mutex<BTreeMap<Vec<u8>, (FileStamp, Digest)>>,
}

impl Digests {
    /// Reads the cache from a file. Without a file, every digest is computed.
    pub fn load(file: Option<PathBuf>) -> Self {
        let file = file.map(|file| crate::env::place(&file));
        let known = file.as_deref().map(FileCache::load).unwrap_or_default();
        Self { file, known, fresh: Mutex::default() }
    }

    /// The digest and size of an open file: cached ones for this state of the file, or new ones.
    ///
    /// A state is identified by its stamp, which writes through mapped memory do not change, and anyone may write the
    /// cache file. So this is for lists, never for decisions about trust.
    pub(crate) fn of(&self, path: &Path, file: &mut File, allowed: &mut Allowance<'_>) -> DigestResult {
        let metadata = file.metadata().map_err(|error| SourceError::io(path, error))?;
        let stamp = stamp_of(&metadata);
        if let Some(digest) = self.remembered(path, &stamp) {
            return Ok((digest, metadata.len()));
        }
        let (digest, size) = of_file(path, file, allowed)?;
        // A file that changed just now may change again without a change of its stamp.
        if is_settled(&stamp) {
            self.remember(path, stamp, digest);
        }
        Ok((digest, size))
    }

    /// The digest and size of the current bytes. If the cache has another digest for this state of the file, it is
    /// corrected, so that lists do not repeat it.
    pub(crate) fn anew(&self, path: &Path, file: &mut File, allowed: &mut Allowance<'_>) -> DigestResult {
        let stamp = stamp_of(&file.metadata().map_err(|error| SourceError::io(path, error))?);
        let (digest, size) = of_file(path, file, allowed)?;
        if self.remembered(path, &stamp).is_some_and(|remembered| remembered != digest) {
            self.remember(path, stamp, digest);
        }
        Ok((digest, size))
    }

    /// The cached digest for a state of a file. The latest one counts.
    fn remembered(&self, path: &Path, stamp: &FileStamp) -> Option<Digest> {
        let key = path.as_os_str().as_encoded_bytes();
        let fresh = locked(&self.fresh);
        if let Some((_, digest)) = fresh.get(key).filter(|(known, _)| known == stamp) {
            return Some(*digest);
        }
        let at = self.known.find(path, stamp)?;
        std::str::from_utf8(self.known.kept(at)).ok()?.parse().ok()
    }

    fn remember(&self, path: &Path, stamp: FileStamp, digest: Digest) {
        let mut fresh = locked(&self.fresh);
        fresh.insert(path.as_os_str().as_encoded_bytes().to_vec(), (stamp, digest));
    }

    /// Writes new digests to the cache; those of other files stay.
    pub fn save(&self) {
        let fresh = locked(&self.fresh);
        let Some(file) = self.file.as_deref().filter(|_| !fresh.is_empty()) else { return };
        let known = (0..self.known.len()).filter_map(|at| self.known.file(at));
        let known = known.filter(|(path, ..)| !fresh.contains_key(*path));
        let known = known.map(|(path, stamp, digest)| (path, stamp, digest.to_vec()));
        let text = |digest: &Digest| digest.to_string().into_bytes();
        let new = fresh.iter().map(|(path, (stamp, digest))| (path.as_slice(), *stamp, text(digest)));
        let mut all: Vec<_> = known.chain(new).collect();
        all.sort_by(|a, b| a.0.cmp(b.0));
        // A cache that cannot be written only costs time.
        let _ = FileCache::save(all, file);
    }
}

impl Drop for Digests {
    fn drop(&mut self) {
        self.save();
    }
}
