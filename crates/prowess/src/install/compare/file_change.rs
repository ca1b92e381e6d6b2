//! [`FileChange`]: how the files of an installed skill differ from what was installed.

use std::collections::BTreeMap;

use prowess_core::{Digest, Manifest};

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
    let is_below =
        |path: &str, folder: &str| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
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

#[cfg(test)]
mod tests {
    use prowess_core::{FileEntry, LeftOut, RelPath};

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
}
