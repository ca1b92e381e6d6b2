//! Copies of a skill in several folders of one source, which count as one skill.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::contents::{Kind, files_of};
use super::trees::tree_of;
use super::{Available, Fetcher, OpenSource};
use crate::install::records::folder_key;

impl Fetcher {
    /// Marks every skill that has the name and the files of an earlier one. Only skills that share a name are compared.
    pub(super) fn mark_copies(&self, available: &mut Available) {
        let mut named: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (at, skill) in available.skills.iter().enumerate() {
            named.entry(folder_key(&skill.name)).or_default().push(at);
        }
        for same in named.into_values().filter(|same| same.len() > 1) {
            let mut seen: BTreeMap<(String, String), usize> = BTreeMap::new();
            for at in same {
                let Some(skill) = available.skills.get_mut(at) else { continue };
                let Some(files) = self.identity(&mut available.place, skill.folder()) else { continue };
                let first = *seen.entry((skill.name.clone(), files)).or_insert(at);
                skill.copy_of = (first != at).then_some(first);
            }
        }
    }

    /// A text that is equal for folders with the same files. None when the files cannot be read, or a link among them
    /// must be fetched first: such a folder is not compared.
    fn identity(&self, place: &mut OpenSource, folder: &str) -> Option<String> {
        let (planned, whole) = files_of(place.contents(), folder, &self.options.limits).ok()?;
        match place {
            OpenSource::Folder(_) => {
                Some(tree_of(place, &planned, &self.options.limits).ok()?.digest().to_string())
            }
            OpenSource::Git(_) => whole.then(|| {
                let mut text = String::new();
                for file in &planned {
                    let run = file.item.kind == Kind::File { executable: true };
                    let _ = writeln!(text, "{run} {} {}", file.item.id, file.path);
                }
                text
            }),
        }
    }
}
