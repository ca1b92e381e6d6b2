//! File systems that do not keep the executable bit: there, a skill is compared with its digest without it.
//!
//! Windows, FAT, exFAT, NTFS and the drives of Windows in WSL show every file as executable or none. The digest in the lock
//! has the bits of the source, so that it is the same everywhere.

use std::path::Path;

use prowess_core::Manifest;

use crate::registry::digests;

/// Whether a tree on the disk is the one with a digest. `listing` gives the files of a digest, when they are known.
pub(crate) fn is_tree(
    there: &str,
    wanted: &str,
    folder: &Path,
    listing: &dyn Fn(&str) -> Option<Manifest>,
) -> bool {
    there == wanted
        || (!holds_modes(folder) && listing(wanted).is_some_and(|files| is_modeless(there, files)))
}

/// Whether a digest is that of these files when all of them are executable, or none.
fn is_modeless(digest: &str, mut files: Manifest) -> bool {
    [false, true].into_iter().any(|executable| {
        for file in &mut files.files {
            file.executable = executable;
        }
        digests::of_tree(&files).as_deref() == Some(digest)
    })
}

/// Whether the file system of a folder keeps the executable bit.
#[cfg(target_os = "linux")]
pub(crate) fn holds_modes(folder: &Path) -> bool {
    use rustix::fs::FsWord;
    /// FAT, exFAT, NTFS by two drivers, and the drives of Windows in WSL 1 and 2.
    const WITHOUT: [FsWord; 6] = [0x4d44, 0x2011_bab0, 0x5346_544e, 0x7366_746e, 0x5346_4846, 0x0102_1997];
    rustix::fs::statfs(folder).map_or(true, |system| !WITHOUT.contains(&system.f_type))
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn holds_modes(_: &Path) -> bool {
    cfg!(unix)
}

#[cfg(test)]
mod tests {
    use prowess_core::{FileEntry, RelPath};

    use super::*;

    fn files(modes: [bool; 2], text: &str) -> Manifest {
        let file = |path: &str, executable: bool| {
            let mut file = FileEntry::new(RelPath::parse(path).unwrap(), 1);
            (file.executable, file.digest) = (executable, Some(digests::of_bytes(text.as_bytes())));
            file
        };
        Manifest::new(vec![file("SKILL.md", modes[0]), file("run.sh", modes[1])])
    }

    fn digest(modes: [bool; 2], text: &str) -> String {
        digests::of_tree(&files(modes, text)).unwrap()
    }

    #[test]
    fn without_modes_a_tree_is_compared_by_everything_else() {
        let installed = || files([false, true], "a");
        assert!(is_modeless(&digest([false, false], "a"), installed()));
        assert!(is_modeless(&digest([true, true], "a"), installed()));
        for other in [digest([false, false], "b"), digest([true, false], "a"), digest([false, true], "a")] {
            assert!(!is_modeless(&other, installed()), "{other}");
        }
    }

    #[test]
    fn where_modes_are_kept_another_mode_is_an_edit() {
        let folder = tempfile::tempdir().unwrap();
        if !holds_modes(folder.path()) {
            println!("skipped: this file system keeps no modes");
            return;
        }
        let (wanted, there) = (digest([false, true], "a"), digest([false, false], "a"));
        let listing = |_: &str| Some(files([false, true], "a"));
        assert!(is_tree(&wanted, &wanted, folder.path(), &listing));
        assert!(!is_tree(&there, &wanted, folder.path(), &listing));
    }
}
