//! [`Leftover`]: what interrupted installations left behind. Looking at it changes nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::error::InstallError;
use super::installer::Installer;
use super::records::{InstallScope, InstallTarget};
use super::target::{has_leftovers, is_interrupted, own_stages};
use crate::fs::atomic::is_stage;

/// Something that an interrupted installation left behind.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Leftover {
    /// The file or folder.
    pub path: PathBuf,
    /// What it is.
    pub kind: LeftoverKind,
}

/// What an interrupted installation left behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LeftoverKind {
    /// The journal of an installation. [`Installer::settle`] completes the installation, or undoes it.
    Journal,
    /// Unfinished files that are not needed. [`Installer::settle`] removes them.
    Unfinished,
    /// A staging folder that this user does not know: another user is installing, or it came with a copy of the project.
    Unknown,
    /// A journal that could be neither completed nor undone, and was set aside for the user.
    SetAside,
}

impl Installer {
    /// What interrupted installations left behind; nothing while another process installs.
    pub fn leftovers(&self, scope: InstallScope) -> Result<Vec<Leftover>, InstallError> {
        let place = self.place(scope)?;
        let Ok(_held) = place.shared(Duration::ZERO, &mut || {}) else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        let mut add = |path: PathBuf, kind| found.push(Leftover { path, kind });
        let own = own_stages(&place.books);
        if is_interrupted(&place.books) {
            add(place.books.journal.clone(), LeftoverKind::Journal);
        } else if has_leftovers(&place.books) {
            match own.as_slice() {
                [] => add(place.books.journal.with_extension("stages"), LeftoverKind::Unfinished),
                own => own.iter().for_each(|stage| add(stage.clone(), LeftoverKind::Unfinished)),
            }
        }
        for journal in set_aside(&place) {
            add(journal, LeftoverKind::SetAside);
        }
        // A folder of skills that cannot be opened is reported by what opens it.
        if let Some(folder) = place.skills_folder(false).ok().flatten() {
            for stage in stages_in(&folder).into_iter().filter(|stage| !own.contains(stage)) {
                add(stage, LeftoverKind::Unknown);
            }
        }
        Ok(found)
    }
}

/// The journals of a place that were set aside.
fn set_aside(place: &InstallTarget) -> Vec<PathBuf> {
    let journal = &place.books.journal;
    let (Some(folder), Some(stem)) = (journal.parent(), journal.file_stem()) else { return Vec::new() };
    let begin = format!("{}.journal-set-aside", stem.to_string_lossy());
    names_in(folder, &|name| name.starts_with(&begin))
}

/// The staging folders in a folder of skills.
fn stages_in(folder: &Path) -> Vec<PathBuf> {
    let mut stages = names_in(folder, &is_stage);
    stages.retain(|path| path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()));
    stages
}

fn names_in(folder: &Path, is_meant: &dyn Fn(&str) -> bool) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let named = entries.filter(|entry| entry.file_name().to_str().is_some_and(is_meant));
    let mut paths: Vec<PathBuf> = named.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}
