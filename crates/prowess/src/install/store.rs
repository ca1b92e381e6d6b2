//! [`Store`]: every fetched skill, by its digest, so that the same bytes can be installed again without a network.
//!
//! `trees/<sha256>` is a skill in one file: its listing, whose own digest is the name, an empty line, and the bytes of
//! its files in the order of the listing. It is written under another name and renamed, so that processes that write
//! the same skill do not disturb each other. Nothing in the store is trusted: a file without the requested digest is
//! removed and counts as missing. A file that cannot be read is kept.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use prowess_core::Manifest;

use super::tree::{InstallLimits, SkillTree, TreeFile};
use crate::error::SourceErrorKind;
use crate::fs::atomic::unused_name;
use crate::fs::read::read_small;
use crate::registry::digests;

/// The largest file that is read, in bytes: larger than any skill that is installed.
const MAX_BYTES: usize = 128 << 20;
/// The age after which an unfinished file cannot belong to a running process.
const LEFT_BEHIND: Duration = Duration::from_secs(3600);

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

    /// Stores a skill. A store that cannot be written only costs time later.
    pub(crate) fn put(&self, tree: &SkillTree) -> io::Result<()> {
        let damaged = || io::Error::from(io::ErrorKind::InvalidData);
        let mut bytes = digests::listing(tree.manifest()).ok_or_else(damaged)?.into_bytes();
        let place = self.place_of(tree.digest()).ok_or_else(damaged)?;
        bytes.push(b'\n');
        if has_size(&place, (bytes.len() as u64).saturating_add(tree.manifest().total_size())) {
            return Ok(());
        }
        // In one file, since creating a file costs more than writing it.
        for (_, contents) in tree.files() {
            bytes.extend_from_slice(contents);
        }
        self.write(&place, &bytes)
    }

    /// A skill, if all its bytes are stored.
    pub(crate) fn get(&self, digest: &str) -> Option<SkillTree> {
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
    pub(crate) fn listing(&self, digest: &str) -> Option<Manifest> {
        self.read(digest, |files, _| Some(files))
    }

    /// Reads a skill by its listing and the bytes after it. A file that is not valid is removed, so that the skill is
    /// stored again when it is fetched again.
    fn read<T>(&self, digest: &str, make: impl FnOnce(Manifest, &[u8]) -> Option<T>) -> Option<T> {
        let place = self.place_of(digest)?;
        let made = match read_small(&place, MAX_BYTES) {
            Ok(bytes) => split(&bytes, digest).and_then(|(files, rest)| make(files, rest)),
            Err(error) => match error.kind {
                SourceErrorKind::TooLarge { .. } | SourceErrorKind::NotRegular { .. } => None,
                // It may be readable the next time, and there may be no other copy of it.
                _ => return None,
            },
        };
        if made.is_none() {
            let _ = fs::remove_file(place);
        }
        made
    }

    fn place_of(&self, digest: &str) -> Option<PathBuf> {
        Some(self.folder.join("trees").join(name_of(digest)?))
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

/// The name of the file with this digest; none when the text is not a digest, so that no other text becomes a path.
fn name_of(digest: &str) -> Option<&str> {
    let name = digest.strip_prefix("sha256:")?;
    let plain = name.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    (name.len() == 64 && plain).then_some(name)
}

/// The listing at the beginning of a file, if it has this digest, and the bytes after it.
fn split<'b>(bytes: &'b [u8], digest: &str) -> Option<(Manifest, &'b [u8])> {
    let end = bytes.windows(2).position(|two| two == b"\n\n")?;
    let (listing, rest) = bytes.split_at_checked(end + 1)?;
    let files = digests::files_of(std::str::from_utf8(listing).ok()?)?;
    (digests::of_bytes(listing) == digest).then_some((files, rest.get(1..)?))
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
        let bytes = fs::read(store.place_of(tree.digest()).unwrap()).unwrap();
        let listing = digests::listing(tree.manifest()).unwrap();
        assert_eq!(digests::of_bytes(listing.as_bytes()), tree.digest());
        assert_eq!(bytes, format!("{listing}\nxecho").into_bytes());
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
        let place = store.place_of(tree.digest()).unwrap();
        assert_eq!((mode(&place), mode(store.folder())), (0o444, 0o700));
        assert_eq!(fs::metadata(&place).unwrap().nlink(), 1);
    }

    #[test]
    fn a_changed_byte_or_a_missing_file_counts_as_missing_and_is_repaired_by_the_next_put() {
        let (_folder, store) = store();
        let tree = tree("x");
        let place = &store.place_of(tree.digest()).unwrap();
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
        store.put(&tree).unwrap();
        let whole = fs::read(place).unwrap();
        let damaged = |change: &dyn Fn(&Path), what: &str| {
            change(place);
            assert_eq!(store.get(tree.digest()), None, "{what}");
            assert!(!place.exists(), "{what}");
            store.put(&tree).unwrap();
            assert_eq!(store.get(tree.digest()).as_ref(), Some(&tree), "{what}");
        };
        for (number, damage) in damages.iter().enumerate() {
            damaged(damage, &number.to_string());
        }
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            let replace = |bytes: &[u8]| {
                fs::remove_file(place).unwrap();
                fs::write(place, bytes).unwrap();
            };
            damaged(&|_| replace(&bytes), &format!("byte {at}"));
            damaged(&|_| replace(&whole[..at]), &format!("{at} bytes"));
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_cannot_be_read_this_time_is_kept_for_the_next() {
        let (_folder, store) = store();
        let tree = tree("x");
        store.put(&tree).unwrap();
        let (trees, away) = (store.folder().join("trees"), store.folder().join("away"));
        fs::rename(&trees, &away).unwrap();
        // A link to itself: the system cannot say what is there.
        std::os::unix::fs::symlink("trees", &trees).unwrap();
        assert_eq!(store.get(tree.digest()), None);
        fs::remove_file(&trees).unwrap();
        fs::rename(&away, &trees).unwrap();
        assert_eq!(store.get(tree.digest()).as_ref(), Some(&tree));
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
