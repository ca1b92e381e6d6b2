//! [`FileChange`]: how the files of an installed skill differ from what was installed.

use std::collections::BTreeMap;

use prowess_core::Manifest;

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
    let by_path = |manifest: &Manifest| -> BTreeMap<String, (Option<String>, bool)> {
        let files = manifest.files.iter();
        files.map(|file| (file.path.to_string(), (file.digest.clone(), file.executable))).collect()
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
    let added = there.left_out.iter().filter(|left| !before.contains_key(&left.path));
    changes.extend(added.map(|left| (left.path.clone(), FileChange::Added)));
    changes.sort();
    changes.dedup();
    changes
}
