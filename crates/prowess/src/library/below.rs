//! [`Below`]: everything in a folder that trust in the folder covers.
//!
//! Trust in a folder does not depend on where a command is started, which client looks, and what a configuration leaves
//! out. So the walk asks none of them: it visits every folder, except those that such trust never covers.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};

use prowess_core::Scope;

use crate::fs::walk::{FileName, OnError, ScanOptions, is_never_entered};
use crate::registry::{Registry, RegistryError};
use crate::settings::FILE_NAME;
use crate::source::DirSource;

/// The most entries of folders that are looked at. A repository with its packages has fewer.
const MAX_ENTRIES: usize = 1_000_000;

/// The most folders with a configuration.
const MAX_CONFIGURED: usize = 100;

/// What is in a folder and below it.
#[derive(Debug)]
pub struct Below {
    /// Every skill, and what was not looked into.
    pub registry: Registry,
    /// The folders with a `prowess.toml`.
    pub configured: Vec<PathBuf>,
    /// The folders in which no `prowess.toml` was looked for, and those with one too many.
    pub unseen: Vec<PathBuf>,
}

impl Below {
    /// Looks into a folder. Nothing is cached, and nothing on another machine is requested.
    pub fn of(folder: &Path) -> Result<Self, RegistryError> {
        let scan = ScanOptions {
            max_entries: MAX_ENTRIES,
            skip_hidden: false,
            skip_modules: false,
            file_name: FileName::AnyCase("SKILL.md".to_owned()),
            ..ScanOptions::unbounded()
        };
        let mut registry = Registry::new();
        registry.set_on_error(OnError::Report);
        registry.add(DirSource::new(folder, scan).with_scope(Scope::Project));
        registry.refresh_local()?;
        let mut below = Self { registry, configured: Vec::new(), unseen: Vec::new() };
        below.look_for_configurations(folder, MAX_ENTRIES);
        Ok(below)
    }

    /// Finds every `prowess.toml` among a number of entries. Links to folders are not followed: a command that is started
    /// there is somewhere else.
    fn look_for_configurations(&mut self, folder: &Path, mut left: usize) {
        let mut folders = VecDeque::from([folder.to_owned()]);
        while let Some(folder) = folders.pop_front() {
            let Ok(entries) = fs::read_dir(&folder) else {
                self.unseen.push(folder);
                continue;
            };
            for entry in entries {
                let kind = entry.and_then(|entry| Ok((entry.file_type()?.is_dir(), entry)));
                let (Some(after), Ok((is_folder, entry))) = (left.checked_sub(1), kind) else {
                    self.unseen.push(folder);
                    break;
                };
                left = after;
                let name = entry.file_name();
                if name == FILE_NAME {
                    let kept = if self.configured.len() < MAX_CONFIGURED {
                        &mut self.configured
                    } else {
                        &mut self.unseen
                    };
                    kept.push(folder.clone());
                } else if is_folder && !is_never_entered(&name) {
                    folders.push_back(entry.path());
                }
            }
        }
        self.configured.sort();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_folder_beyond_the_limit_is_named() {
        let root = tempfile::tempdir().unwrap();
        let folders = ["a", "b", "c"].map(|name| root.path().join(name));
        for folder in &folders {
            std::fs::create_dir(folder).unwrap();
            std::fs::write(folder.join(FILE_NAME), "").unwrap();
        }
        let mut below = Below { registry: Registry::new(), configured: Vec::new(), unseen: Vec::new() };
        below.look_for_configurations(root.path(), 4);
        assert_eq!((below.configured.len(), below.unseen.len()), (1, 2));
        let mut named = [below.configured, below.unseen].concat();
        named.sort();
        assert_eq!(named, folders);
    }
}
