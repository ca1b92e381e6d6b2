//! How installed skills differ from what was installed: by their files, their modes and their line ends.
//!
//! With `core.autocrlf`, git writes CRLF into a committed skill when it checks a project out.

mod modes;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use prowess_core::{Digest, FileEntry, Manifest};

pub(crate) use self::modes::{as_kept, holds_modes, is_tree, made_by_users};
use crate::install::apply::{State, manifest_of, names_in, tree_of};
use crate::registry::digests;

/// The files of a tree by its digest, when they are known.
pub(crate) type Listing<'l> = &'l dyn Fn(Digest) -> Option<Manifest>;

/// How a file of an installed skill differs from the tree that was installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FileChange {
    /// Its bytes differ.
    Changed,
    /// Only its executable bit differs.
    Mode,
    /// Only its line ends differ: CRLF instead of LF, as git writes them if it is so configured.
    LineEnds,
    /// It was not installed.
    Added,
    /// It was installed and is missing.
    Missing,
}

/// The differences between the installed files and the present ones, by path.
pub(crate) fn changes(installed: &Manifest, there: &Manifest) -> Vec<(String, FileChange)> {
    let by_path = |manifest: &Manifest| -> BTreeMap<String, (Option<Digest>, bool)> {
        let files = manifest.files.iter();
        files.map(|file| (file.path.to_string(), (file.digest, file.executable))).collect()
    };
    let (before, after) = (by_path(installed), by_path(there));
    let mut changes: Vec<(String, FileChange)> = Vec::new();
    for (path, (digest, executable)) in &before {
        match after.get(path) {
            None => changes.push((path.clone(), FileChange::Missing)),
            Some((now, _)) if now != digest => changes.push((path.clone(), FileChange::Changed)),
            Some((_, now)) if now != executable => changes.push((path.clone(), FileChange::Mode)),
            Some(_) => {}
        }
    }
    let added = after.keys().filter(|path| !before.contains_key(*path));
    changes.extend(added.map(|path| (path.clone(), FileChange::Added)));
    // What replaced a file and is none, such as a link, is a change of that file.
    let replaced = |path: &str| there.left_out.iter().any(|left| left.path == path);
    for (path, change) in &mut changes {
        if *change == FileChange::Missing && replaced(path) {
            *change = FileChange::Changed;
        }
    }
    // What is in a folder that cannot be read is not known to be missing, and the folder was installed.
    let is_below = |path: &str, folder: &str| {
        let folder = folder.trim_end_matches('/');
        folder == "." || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
    };
    let unread: Vec<&str> =
        there.left_out.iter().filter(|left| left.unreadable).map(|left| &*left.path).collect();
    changes.retain(|(path, change)| {
        *change != FileChange::Missing || !unread.iter().any(|folder| is_below(path, folder))
    });
    for left in there.left_out.iter().filter(|left| !before.contains_key(&left.path)) {
        let was_there = left.unreadable && before.keys().any(|path| is_below(path, &left.path));
        let change = if was_there { FileChange::Changed } else { FileChange::Added };
        changes.push((left.path.clone(), change));
    }
    changes.sort();
    changes.dedup();
    changes
}

/// The changes in a folder that cannot be compared as a whole, by the names that are there; none of what is no folder.
pub(crate) fn changes_at(folder: &Path, installed: &Manifest) -> Vec<(String, FileChange)> {
    if !folder.is_dir() {
        return Vec::new();
    }
    made_by_users(changes(installed, &names_in(folder, installed)), folder)
}

/// How a skill differs from the files with a digest.
pub(crate) enum Difference {
    /// These files have other line ends, and nothing else differs.
    LineEnds(Vec<(String, FileChange)>),
    /// These files differ; none when it is not known what was installed.
    Edited(Option<Vec<(String, FileChange)>>),
}

impl Difference {
    /// The difference of the files that are at a path.
    pub(crate) fn of(path: &Path, there: &Manifest, wanted: Option<Digest>, listing: Listing<'_>) -> Self {
        match other_line_ends(path, there, wanted, listing) {
            Some(files) => {
                Self::LineEnds(files.into_iter().map(|file| (file, FileChange::LineEnds)).collect())
            }
            None => Self::Edited(
                wanted.and_then(listing).map(|before| made_by_users(changes(&before, there), path)),
            ),
        }
    }

    /// Each file with its change; none when it is not known what was installed.
    pub(crate) fn files(self) -> Option<Vec<(String, FileChange)>> {
        match self {
            Self::LineEnds(files) => Some(files),
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

/// Whether what is at a path are the files with a digest, perhaps with other line ends.
pub(crate) fn is_unchanged(there: &State, path: &Path, wanted: Option<Digest>, listing: Listing<'_>) -> bool {
    let State::Tree(digest) = there else { return false };
    let line_ends = |files: Manifest| other_line_ends(path, &files, wanted, listing);
    is_tree(*digest, wanted, path, listing) || manifest_of(path).ok().and_then(line_ends).is_some()
}

/// The files at a path that have CRLF, if they are those with a digest once each CRLF is LF. Files with NUL are no text,
/// and a file that is as it was installed keeps its CRLF. None when anything else differs, or nothing.
fn other_line_ends(
    path: &Path,
    there: &Manifest,
    wanted: Option<Digest>,
    listing: Listing<'_>,
) -> Option<Vec<String>> {
    if !there.left_out.is_empty() {
        return None;
    }
    let tree = tree_of(path, there).ok()?;
    let installed = wanted.and_then(listing).map(|installed| installed.files).unwrap_or_default();
    let installed: BTreeMap<&str, _> =
        installed.iter().map(|file| (file.path.as_str(), file.digest)).collect();
    let is_as_installed =
        |file: &FileEntry| file.digest.is_some() && installed.get(file.path.as_str()) == Some(&file.digest);
    let mut changed = Vec::new();
    let files = tree.files().map(|(file, bytes)| {
        let mut file = file.clone();
        if let Cow::Owned(bytes) = with_lf(bytes)
            && !is_as_installed(&file)
        {
            changed.push(file.path.to_string());
            file.measure(bytes.len() as u64, digests::of_bytes(&bytes));
        }
        file
    });
    let digest = digests::of_tree(&Manifest::new(files.collect()))?;
    (!changed.is_empty() && is_tree(digest, wanted, path, listing)).then_some(changed)
}

fn with_lf(bytes: &[u8]) -> Cow<'_, [u8]> {
    let is_crlf = |at: usize| bytes.get(at..).is_some_and(|rest| rest.starts_with(b"\r\n"));
    if bytes.contains(&0) || !(0..bytes.len()).any(is_crlf) {
        return Cow::Borrowed(bytes);
    }
    bytes
        .iter()
        .enumerate()
        .filter(|(at, _)| !is_crlf(*at))
        .map(|(_, byte)| *byte)
        .collect::<Vec<u8>>()
        .into()
}

#[cfg(test)]
mod tests {
    use prowess_core::{LeftOut, RelPath};

    use super::*;

    #[test]
    fn a_folder_that_cannot_be_read_is_one_change() {
        let file = |path: &str| FileEntry::new(RelPath::parse(path).unwrap(), 1);
        let installed = Manifest::new(["SKILL.md", "scripts/a.sh", "scripts/b.sh", "z"].map(file).into());
        let unread = |path: &str| LeftOut::new(path, "permission denied").with_unreadable(true);
        let left_out = vec![unread("scripts"), unread("mine")];
        let there = Manifest::new(vec![file("SKILL.md")]).with_left_out(left_out);
        let expected = [
            ("mine".to_owned(), FileChange::Added),
            ("scripts".to_owned(), FileChange::Changed),
            ("z".to_owned(), FileChange::Missing),
        ];
        assert_eq!(changes(&installed, &there), expected);
    }

    #[test]
    fn only_crlf_of_text_becomes_lf() {
        for (bytes, expected) in
            [("a\r\nb\r\n", "a\nb\n"), ("a\rb\n", "a\rb\n"), ("\r\r\n\r", "\r\n\r"), ("a\r\n\0", "a\r\n\0")]
        {
            assert_eq!(with_lf(bytes.as_bytes()), expected.as_bytes(), "{bytes:?}");
        }
    }
}
