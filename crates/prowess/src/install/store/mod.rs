//! [`Store`]: every fetched skill, by its digest, so that the same bytes can be installed again without a network.
//!
//! `trees/<sha256>` is a skill in one file: its listing, whose own digest is the name, an empty line, and the bytes of
//! its files in the order of the listing. A file is written under another name and renamed, so that processes that write
//! the same skill do not disturb each other. Nothing in the store is trusted: a file without the requested digest is
//! removed and counts as missing. A file that cannot be read is kept.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

use prowess_core::{Digest, Manifest};

use super::source::tree::{InstallLimits, SkillTree, TreeFile};
use super::source::{REPOSITORIES, UNACCEPTED};
use crate::error::SourceErrorKind;
use crate::fs::atomic::unused_name;
use crate::fs::own;
use crate::fs::read::{open_regular, read_small};
use crate::registry::digests;

/// The largest file that is read, in bytes: larger than any skill that is installed.
const MAX_BYTES: usize = 128 << 20;
/// The age after which an unfinished file cannot belong to a running process.
const LEFT_BEHIND: Duration = Duration::from_secs(3600);

/// The folder of a store whose files are skills. When one was last used is the time of its file.
pub(super) const TREES: &str = "trees";
/// The folder of files that are being written.
const UNFINISHED: &str = "tmp";

/// Skills by their digests, in a folder that is safe to delete.
#[derive(Debug)]
pub(crate) struct Store {
    folder: PathBuf,
    swept: OnceLock<()>,
}

impl Store {
    /// The store in a folder, which is created with the first skill.
    pub(crate) fn at(folder: PathBuf) -> Self {
        Self { folder, swept: OnceLock::new() }
    }

    /// Its folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Stores skills.
    #[cfg(test)]
    pub(crate) fn put<'t>(&self, trees: impl IntoIterator<Item = &'t SkillTree>) -> io::Result<()> {
        self.put_noting(trees, &mut |_, _| {})
    }

    /// Stores skills, and notes the file of each and whether it was there before, before it is written. A store that cannot
    /// be written only costs time later.
    pub(crate) fn put_noting<'t>(
        &self,
        trees: impl IntoIterator<Item = &'t SkillTree>,
        note: &mut dyn FnMut(&Path, bool),
    ) -> io::Result<()> {
        for tree in trees {
            let listing = digests::listing(tree.manifest()).ok_or(io::ErrorKind::InvalidData)?;
            let place = self.place_of(tree.digest());
            let length = (listing.len() as u64 + 1).saturating_add(tree.manifest().total_size());
            let is_there = has_size(&place, length);
            note(&place, is_there);
            if is_there {
                used_now(&place);
                continue;
            }
            // In one file, since creating a file costs more than writing it.
            let mut bytes = listing.into_bytes();
            bytes.push(b'\n');
            tree.files().for_each(|(_, contents)| bytes.extend_from_slice(contents));
            self.write(&place, &bytes)?;
        }
        Ok(())
    }

    /// A skill, if all its bytes are stored.
    pub(crate) fn get(&self, digest: Digest) -> Option<SkillTree> {
        self.read(digest, |files, mut rest| {
            let mut contents = Vec::with_capacity(files.files.len());
            for file in files.files {
                let (bytes, behind) = rest.split_at_checked(usize::try_from(file.size).ok()?)?;
                rest = behind;
                let (path, executable) = (file.path, file.executable);
                contents.push(TreeFile { path, executable, bytes: bytes.into() });
            }
            // This computes the digests of the bytes, so they are compared only here.
            SkillTree::new(contents, &InstallLimits::NONE)
                .ok()
                .filter(|tree| rest.is_empty() && tree.digest() == digest)
        })
    }

    /// The listing of a skill.
    pub(crate) fn listing(&self, digest: Digest) -> Option<Manifest> {
        self.read(digest, |files, _| Some(files))
    }

    /// Reads a skill by its listing and the bytes after it. A file that is not valid is removed, so that the skill is
    /// stored again when it is fetched again.
    fn read<T>(&self, digest: Digest, make: impl FnOnce(Manifest, &[u8]) -> Option<T>) -> Option<T> {
        let place = self.place_of(digest);
        let made = match read_small(&place, MAX_BYTES) {
            Ok(bytes) => split(&bytes, digest).and_then(|(files, rest)| make(files, rest)),
            Err(error) => match error.kind {
                SourceErrorKind::TooLarge { .. } | SourceErrorKind::NotRegular { .. } => None,
                // It is missing, or may be readable the next time, and there may be no other copy of it.
                _ => return None,
            },
        };
        match &made {
            Some(_) => used_now(&place),
            None => drop(fs::remove_file(place)),
        }
        made
    }

    fn place_of(&self, digest: Digest) -> PathBuf {
        self.folder.join(TREES).join(format!("{digest:x}"))
    }

    fn write(&self, place: &Path, bytes: &[u8]) -> io::Result<()> {
        let unfinished = self.unfinished()?;
        let written = create(&unfinished).and_then(|mut file| file.write_all(bytes)).and_then(|()| {
            fs::rename(&unfinished, place).or_else(|error| match (error.kind(), place.parent()) {
                (io::ErrorKind::NotFound, Some(folder)) => {
                    make_folder(folder)?;
                    fs::rename(&unfinished, place)
                }
                _ => Err(error),
            })
        });
        if written.is_err() {
            let _ = fs::remove_file(unfinished);
        }
        written
    }

    /// A new name for an unfinished file. The first call removes what killed processes left behind.
    fn unfinished(&self) -> io::Result<PathBuf> {
        let folder = self.folder.join(UNFINISHED);
        if self.swept.get().is_none() {
            if !is_own(&self.folder) {
                return Err(io::ErrorKind::PermissionDenied.into());
            }
            make_folder(&folder)?;
            for left in fs::read_dir(&folder)?.flatten() {
                let age = left.metadata().and_then(|metadata| metadata.modified()).map(|time| time.elapsed());
                if matches!(age, Ok(Ok(age)) if age > LEFT_BEHIND) {
                    let _ = fs::remove_file(left.path());
                }
            }
            let _ = self.swept.set(());
        }
        Ok(folder.join(unused_name()))
    }
}

/// The listing at the beginning of a file, if it has this digest, and the bytes after it.
fn split(bytes: &[u8], digest: Digest) -> Option<(Manifest, &[u8])> {
    let end = bytes.windows(2).position(|two| two == b"\n\n")?;
    let (listing, rest) = bytes.split_at_checked(end + 1)?;
    let files = digests::files_of(std::str::from_utf8(listing).ok()?)?;
    (digests::of_bytes(listing) == digest).then_some((files, rest.get(1..)?))
}

/// Notes that a file is used, so that others are removed before it. Without the right to that, it only goes sooner.
fn used_now(file: &Path) {
    let _ = open_regular(file).map(|file| file.set_modified(SystemTime::now()));
}

fn has_size(place: &Path, size: u64) -> bool {
    place.symlink_metadata().is_ok_and(|there| there.is_file() && there.len() == size)
}

/// Creates a file that is read-only once it is written.
fn create(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o444);
    }
    options.open(path)
}

/// The place of the user's store below the user's folder of caches.
pub(super) const USERS_STORE: &str = "prowess/store/v1";

/// The folder from which on a store must be this user's: the user's folder of Prowess, or the store itself if a host named
/// it.
pub(super) fn root_of_store(store: &Path) -> &Path {
    let above = store.ends_with(USERS_STORE).then(|| store.ancestors().nth(2));
    above.flatten().unwrap_or(store)
}

/// Whether a store is this user's, so that files in it may be removed by their names: what is in place of a folder of
/// another user could be any file.
pub(super) fn is_own(store: &Path) -> bool {
    let folders = [TREES, REPOSITORIES, UNACCEPTED, UNFINISHED].map(|folder| store.join(folder));
    std::iter::once(store.to_owned()).chain(folders).all(|folder| own::may_use(root_of_store(store), &folder))
}

/// Creates a folder for this user alone: fetched skills may be secret.
pub(super) fn make_folder(path: &Path) -> io::Result<()> {
    let mut folder = fs::DirBuilder::new();
    folder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        folder.mode(0o700);
    }
    folder.create(path)
}

#[cfg(test)]
mod tests;
