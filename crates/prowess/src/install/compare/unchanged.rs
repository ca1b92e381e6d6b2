//! [`is_unchanged`]: whether an installed skill has nothing that a user wrote, though its line ends may differ.
//!
//! With `core.autocrlf`, git writes CRLF into a committed skill when it checks a project out.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use prowess_core::{Digest, FileEntry, Manifest};

use super::{Listing, is_tree};
use crate::install::target::{State, manifest_of, tree_of};
use crate::registry::digests;

/// Whether what is at a path are the files with a digest, perhaps with other line ends.
pub(crate) fn is_unchanged(there: &State, path: &Path, wanted: Option<Digest>, listing: Listing<'_>) -> bool {
    let State::Tree(digest) = there else { return false };
    let line_ends = |files: Manifest| other_line_ends(path, &files, wanted, listing);
    is_tree(*digest, wanted, path, listing) || manifest_of(path).ok().and_then(line_ends).is_some()
}

/// The files at a path that have CRLF, if they are those with a digest once each CRLF is LF. Files with NUL are no text,
/// and a file that is as it was installed keeps its CRLF. None when anything else differs, or nothing.
pub(super) fn other_line_ends(
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
    use super::*;

    #[test]
    fn only_crlf_of_text_becomes_lf() {
        for (bytes, expected) in
            [("a\r\nb\r\n", "a\nb\n"), ("a\rb\n", "a\rb\n"), ("\r\r\n\r", "\r\n\r"), ("a\r\n\0", "a\r\n\0")]
        {
            assert_eq!(with_lf(bytes.as_bytes()), expected.as_bytes(), "{bytes:?}");
        }
    }
}
