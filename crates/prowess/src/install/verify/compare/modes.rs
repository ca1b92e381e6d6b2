//! File systems that do not keep the executable bit: there, a skill is compared with its digest without it.
//!
//! Windows, FAT, exFAT, NTFS and the drives of Windows in WSL show every file as executable or none. The digest in the lock
//! has the bits of the source, so that it is the same everywhere. An approval has the digest of the files as they are.

use std::path::Path;

use prowess_core::{Digest, Manifest};

use super::{FileChange, Listing};
use crate::fs::{listing, modes};
use crate::install::source::tree::SkillTree;
use crate::registry::digests;

/// Whether a tree on the disk is the one with a digest. `listing` gives the files of a digest, when they are known.
pub(crate) fn is_tree(there: Digest, wanted: Option<Digest>, folder: &Path, listing: Listing<'_>) -> bool {
    Some(there) == wanted
        || (!holds_modes(folder) && wanted.and_then(listing).is_some_and(|files| is_modeless(there, files)))
}

/// A tree as the files in a folder show it; none where the bits are kept.
pub(crate) fn as_kept(tree: &SkillTree, folder: &Path) -> Option<SkillTree> {
    let own = tree.manifest().own().filter(|_| !holds_modes(folder))?;
    let shown = folder.join(own.path.as_str()).symlink_metadata();
    Some(tree.with_modes(shown.is_ok_and(|file| listing::executable(&file))))
}

/// The changes in a folder without those that its file system makes.
pub(crate) fn made_by_users(
    mut changes: Vec<(String, FileChange)>,
    folder: &Path,
) -> Vec<(String, FileChange)> {
    if changes.iter().any(|(_, change)| *change == FileChange::Mode) && !holds_modes(folder) {
        changes.retain(|(_, change)| *change != FileChange::Mode);
    }
    changes
}

/// Whether a digest is that of these files when all of them are executable, or none.
fn is_modeless(digest: Digest, mut files: Manifest) -> bool {
    [false, true].into_iter().any(|executable| {
        for file in &mut files.files {
            file.executable = executable;
        }
        digests::of_tree(&files) == Some(digest)
    })
}

/// Whether the file system of a folder, or of the folder that it would be made in, keeps the executable bit.
pub(crate) fn holds_modes(folder: &Path) -> bool {
    #[cfg(all(test, unix))]
    if tests::WITHOUT_MODES.get() {
        return false;
    }
    modes::are_kept(folder)
}

#[cfg(unix)]
#[cfg(test)]
mod tests;
