//! [`CreatedDirs`]: the folders that an installation creates, which go again unless it completes.

use std::path::{Path, PathBuf};

/// The folders that an installation creates. Unless it completes, those that are empty are removed again.
#[derive(Debug, Default)]
pub(super) struct CreatedDirs(Vec<PathBuf>);

impl CreatedDirs {
    /// Notes the missing folders on the path to a folder.
    pub(super) fn expect(&mut self, folder: &Path) {
        self.0.extend(folder.ancestors().take_while(|above| !above.exists()).map(Path::to_owned));
    }

    pub(super) fn keep(mut self) {
        self.0.clear();
    }
}

impl Drop for CreatedDirs {
    fn drop(&mut self) {
        // The innermost first.
        self.0.sort_by_key(|folder| std::cmp::Reverse(folder.components().count()));
        for folder in &self.0 {
            let _ = std::fs::remove_dir(folder);
        }
    }
}
