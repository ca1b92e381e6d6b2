//! [`Difference`]: how an installed skill differs from what was installed.

use std::path::Path;

use prowess_core::{Digest, Manifest};

use super::unchanged::other_line_ends;
use super::{FileChange, Listing, changes, made_by_users};
use crate::install::target::manifest_of;

/// How a skill differs from the files with a digest.
pub(crate) enum Difference {
    /// These files have other line ends, and nothing else differs.
    LineEnds(Vec<String>),
    /// These files differ; none when it is not known what was installed.
    Edited(Option<Vec<(String, FileChange)>>),
}

impl Difference {
    /// The difference of the files that are at a path.
    pub(crate) fn of(path: &Path, there: &Manifest, wanted: Option<Digest>, listing: Listing<'_>) -> Self {
        match other_line_ends(path, there, wanted, listing) {
            Some(files) => Self::LineEnds(files),
            None => Self::Edited(
                wanted.and_then(listing).map(|before| made_by_users(changes(&before, there), path)),
            ),
        }
    }

    /// Each file with its change; none when it is not known what was installed.
    pub(crate) fn files(self) -> Option<Vec<(String, FileChange)>> {
        match self {
            Self::LineEnds(files) => {
                Some(files.into_iter().map(|file| (file, FileChange::LineEnds)).collect())
            }
            Self::Edited(files) => files,
        }
    }
}

/// The files at a path that differ from those with a digest; none when that is not known.
pub(crate) fn edits_of(
    path: &Path,
    wanted: Option<Digest>,
    listing: Listing<'_>,
) -> Option<Vec<(String, FileChange)>> {
    Difference::of(path, &manifest_of(path).ok()?, wanted, listing).files()
}
