//! [`Store`]: every file that was fetched, by its digest, so that the same bytes can be installed again without a network.
//!
//! `blobs/ab/<sha256>` is a file, `trees/<sha256>` the listing of a skill whose own digest is its name. Both are written
//! under another name and renamed, so processes that write the same do not disturb each other. Nothing in it is believed:
//! what does not have the digest that it is asked for is removed, and counts as missing. What cannot be read is kept.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use prowess_core::Manifest;
use prowess_core::path::MAX_DEPTH;

use super::tree::{InstallLimits, SkillTree, TreeFile};
use crate::error::{SourceError, SourceErrorKind};
use crate::fs::atomic::unused_name;
use crate::fs::read::read_small;
use crate::registry::digests;

/// What was let in once is not measured again; its digest is asked for.
const ALL: InstallLimits =
    InstallLimits { files: usize::MAX, bytes: u64::MAX, file_bytes: u64::MAX, depth: MAX_DEPTH };
/// The largest listing that is read, in bytes.
const MAX_LISTING: usize = 64 << 20;
/// How old something unfinished is when no process can be working on it any more.
const LEFT_BEHIND: Duration = Duration::from_secs(3600);

/// Files and skills by their digests, in a folder that is safe to delete.
#[derive(Debug)]
pub(crate) struct Store {
    folder: PathBuf,
    swept: OnceLock<()>,
}

impl Store {
    /// The store in a folder, which is made when something is put into it.
    pub(crate) fn at(folder: PathBuf) -> Self {
        Self { folder, swept: OnceLock::new() }
    }

    /// Its folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Puts a skill into the store. A store that cannot be written costs time later and nothing else.
    pub(crate) fn put(&self, tree: &SkillTree) -> io::Result<()> {
        let damaged = || io::Error::from(io::ErrorKind::InvalidData);
        let listing = digests::listing(tree.manifest()).ok_or_else(damaged)?;
        let place = self.listing_of(tree.digest()).ok_or_else(damaged)?;
        if has_size(&place, listing.len()) {
            return Ok(());
        }
        for (file, bytes) in tree.files() {
            let digest = file.digest.as_deref().unwrap_or_default();
            self.write(&self.blob_of(digest).ok_or_else(damaged)?, bytes)?;
        }
        // Last, so that its files are there when it is.
        self.write(&place, listing.as_bytes())
    }

    /// A skill, when every byte of it is here.
    pub(crate) fn get(&self, digest: &str) -> Option<SkillTree> {
        let files = self.listing(digest)?;
        match self.read(&files) {
            Ok(Some(tree)) if tree.digest() == digest => Some(tree),
            Ok(_) => {
                // One that is fetched again is put here again.
                self.listing_of(digest).map(|place| fs::remove_file(place).ok());
                None
            }
            Err(_) => None,
        }
    }

    /// What a skill consists of.
    pub(crate) fn listing(&self, digest: &str) -> Option<Manifest> {
        let place = self.listing_of(digest)?;
        let bytes = bytes_at(&place, MAX_LISTING).ok()??;
        let files = if digests::of_bytes(&bytes) == digest {
            std::str::from_utf8(&bytes).ok().and_then(digests::files_of)
        } else {
            None
        };
        if files.is_none() {
            let _ = fs::remove_file(place);
        }
        files
    }

    /// Reads the files of a skill; nothing when one is missing or damaged.
    fn read(&self, files: &Manifest) -> Result<Option<SkillTree>, SourceError> {
        let mut contents = Vec::with_capacity(files.files.len());
        for file in &files.files {
            let blob = file.digest.as_deref().and_then(|digest| self.blob_of(digest));
            let (Some(blob), Ok(size)) = (blob, usize::try_from(file.size)) else { return Ok(None) };
            let Some(bytes) = bytes_at(&blob, size)?.filter(|bytes| bytes.len() == size) else {
                let _ = fs::remove_file(blob);
                return Ok(None);
            };
            let (path, executable) = (file.path.clone(), file.executable);
            contents.push(TreeFile { path, executable, bytes: bytes.into() });
        }
        // This makes the digests of the bytes, so they are compared here and nowhere else.
        let Ok(tree) = SkillTree::new(contents, &ALL) else { return Ok(None) };
        let damaged =
            tree.manifest().files.iter().zip(&files.files).filter(|(is, was)| is.digest != was.digest);
        for (_, was) in damaged {
            was.digest
                .as_deref()
                .and_then(|digest| self.blob_of(digest))
                .map(|blob| fs::remove_file(blob).ok());
        }
        Ok(Some(tree))
    }

    fn blob_of(&self, digest: &str) -> Option<PathBuf> {
        let name = name_of(digest)?;
        Some(self.folder.join("blobs").join(name.get(..2)?).join(name))
    }

    fn listing_of(&self, digest: &str) -> Option<PathBuf> {
        Some(self.folder.join("trees").join(name_of(digest)?))
    }

    fn write(&self, place: &Path, bytes: &[u8]) -> io::Result<()> {
        if has_size(place, bytes.len()) {
            return Ok(());
        }
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

    /// A new name for something unfinished. The first time, what killed processes left behind is removed.
    fn unfinished(&self) -> io::Result<PathBuf> {
        let folder = self.folder.join("tmp");
        if self.swept.get().is_none() {
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

/// The name of what has this digest; nothing when it is none, so that no other text ever becomes a path.
fn name_of(digest: &str) -> Option<&str> {
    let name = digest.strip_prefix("sha256:")?;
    let plain = name.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    (name.len() == 64 && plain).then_some(name)
}

/// The bytes of a file in the store; nothing when it is missing or cannot be what it should be. A file that could not be
/// read is neither: the next time it may be, and there may be no other copy of it.
fn bytes_at(place: &Path, limit: usize) -> Result<Option<Vec<u8>>, SourceError> {
    match read_small(place, limit) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) => match error.kind {
            SourceErrorKind::Missing
            | SourceErrorKind::TooLarge { .. }
            | SourceErrorKind::Folder
            | SourceErrorKind::NotRegular { .. } => Ok(None),
            _ => Err(error),
        },
    }
}

fn has_size(place: &Path, size: usize) -> bool {
    place.symlink_metadata().is_ok_and(|there| there.is_file() && there.len() == size as u64)
}

/// A new file that is not changed once it is written.
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

/// Makes a folder for this user alone: what is fetched may be secret.
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
mod tests {
    #![allow(clippy::disallowed_methods, reason = "these are tests")]

    use std::sync::Barrier;

    use prowess_core::RelPath;

    use super::*;

    fn tree(text: &str) -> SkillTree {
        let file = |path: &str, executable, text: &str| TreeFile {
            path: RelPath::parse(path).unwrap(),
            executable,
            bytes: text.as_bytes().into(),
        };
        let files =
            vec![file("SKILL.md", false, text), file("scripts/a b.sh", true, "echo"), file("e", false, "")];
        SkillTree::new(files, &InstallLimits::default()).unwrap()
    }

    fn store() -> (tempfile::TempDir, Store) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::at(folder.path().join("store/v1"));
        (folder, store)
    }

    #[test]
    fn what_is_put_is_what_is_got_and_the_listing_hashes_to_the_digest() {
        let (_folder, store) = store();
        let tree = tree("x");
        assert_eq!(store.get(tree.digest()), None);
        store.put(&tree).unwrap();
        store.put(&tree).unwrap();
        assert_eq!(store.get(tree.digest()).as_ref(), Some(&tree));
        assert_eq!(store.listing(tree.digest()).as_ref(), Some(tree.manifest()));
        let listing = fs::read(store.listing_of(tree.digest()).unwrap()).unwrap();
        assert_eq!(digests::of_bytes(&listing), tree.digest());
        assert_eq!(fs::read_dir(store.folder().join("tmp")).unwrap().count(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn files_in_the_store_are_read_only_and_their_folders_private() {
        use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
        let (_folder, store) = store();
        let tree = tree("x");
        store.put(&tree).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let blob = store.blob_of(tree.manifest().files[0].digest.as_deref().unwrap()).unwrap();
        assert_eq!((mode(&blob), mode(store.folder())), (0o444, 0o700));
        assert_eq!(fs::metadata(&blob).unwrap().nlink(), 1);
    }

    #[test]
    fn a_changed_byte_or_a_missing_file_counts_as_missing_and_is_repaired_by_the_next_put() {
        let (_folder, store) = store();
        let tree = tree("x");
        let places: Vec<PathBuf> = tree
            .manifest()
            .files
            .iter()
            .map(|file| store.blob_of(file.digest.as_deref().unwrap()).unwrap())
            .chain([store.listing_of(tree.digest()).unwrap()])
            .collect();
        let damages: [fn(&Path); 4] = [
            |path| fs::remove_file(path).unwrap(),
            |path| {
                let mut bytes = fs::read(path).unwrap();
                for byte in &mut bytes {
                    *byte ^= 1;
                }
                fs::remove_file(path).unwrap();
                fs::write(path, bytes).unwrap();
            },
            |path| {
                fs::remove_file(path).unwrap();
                fs::write(path, "longer than it was before, by far and for certain").unwrap();
            },
            |path| {
                fs::remove_file(path).unwrap();
                fs::write(path, "").unwrap();
            },
        ];
        for place in &places {
            for (number, damage) in damages.iter().enumerate() {
                store.put(&tree).unwrap();
                assert!(store.get(tree.digest()).is_some());
                let before = fs::read(place).unwrap();
                damage(place);
                let same = fs::read(place).is_ok_and(|bytes| bytes == before);
                assert_eq!(store.get(tree.digest()).is_some(), same, "{} {number}", place.display());
                store.put(&tree).unwrap();
                assert_eq!(store.get(tree.digest()).as_ref(), Some(&tree), "{} {number}", place.display());
            }
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_cannot_be_read_this_time_is_kept_for_the_next() {
        let (_folder, store) = store();
        let tree = tree("x");
        store.put(&tree).unwrap();
        for part in ["blobs", "trees"] {
            let (place, away) = (store.folder().join(part), store.folder().join("away"));
            fs::rename(&place, &away).unwrap();
            // A link to itself: the system cannot say what is there.
            std::os::unix::fs::symlink(part, &place).unwrap();
            assert_eq!(store.get(tree.digest()), None, "{part}");
            fs::remove_file(&place).unwrap();
            fs::rename(&away, &place).unwrap();
            assert_eq!(store.get(tree.digest()).as_ref(), Some(&tree), "{part}");
        }
    }

    #[test]
    fn a_text_that_is_no_digest_never_becomes_a_path() {
        let (_folder, store) = store();
        store.put(&tree("x")).unwrap();
        let long = format!("sha256:{}", "A".repeat(64));
        for digest in ["", "sha256:", "sha256:../../x", "sha256:..", "md5:00", long.as_str()] {
            assert!(store.get(digest).is_none() && store.listing(digest).is_none(), "{digest}");
        }
    }

    #[test]
    fn processes_that_put_the_same_do_not_disturb_each_other() {
        let (_folder, store) = store();
        let (tree, barrier) = (tree("x"), Barrier::new(8));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    barrier.wait();
                    Store::at(store.folder().to_owned()).put(&tree).unwrap();
                    assert_eq!(store.get(tree.digest()).as_ref(), Some(&tree));
                });
            }
        });
    }

    #[test]
    fn a_store_that_cannot_be_written_is_an_error_that_costs_nothing() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("file"), "").unwrap();
        let store = Store::at(folder.path().join("file/store"));
        assert!(store.put(&tree("x")).is_err());
        assert_eq!(store.get(tree("x").digest()), None);
    }
}
