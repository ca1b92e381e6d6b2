//! [`Transaction`]: stage, journal, swap, record; and how the next process completes what a killed one began.
//!
//! Everything new is staged inside the folder of skills, under a hidden name that no reader takes for a skill, and brought
//! to the disk. Then the journal is written. From that moment the transaction counts as done: each name is changed in one
//! step of the system, then the files are written, then the journal is removed. A process that finds a journal completes
//! it. When a step fails, the steps before it are undone.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use prowess_core::{LeftOut, Manifest};

use super::dir::Dir;
use super::journal::{Accepted, FileStep, Journal, State, Step};
use crate::error::{SourceError, SourceErrorKind};
use crate::fs::atomic::{self, WriteError, is_temporary};
use crate::fs::dir::Kind;
use crate::fs::sandbox::SkillFolder;
use crate::fs::{listing, read};
use crate::install::error::InstallError;
use crate::install::tree::{InstallLimits, SkillTree, TreeFile};
use crate::registry::digests::{self, DigestLimits};
use crate::registry::trust::Approvals;

/// The largest file of an installed skill that is copied for a client: as large as an approval allows.
const MAX_FILE_BYTES: usize = 64 << 20;
/// With more files than this, the whole file system is synced once instead of each file: fewer waits for the disk.
const SYNC_EACH: usize = 64;

/// Where a transaction keeps what must survive it.
#[derive(Clone, Debug)]
pub(crate) struct Books {
    /// The journal of this place.
    pub(crate) journal: PathBuf,
    /// The user's approvals.
    pub(crate) approvals: PathBuf,
}

/// Changes that are made together.
#[derive(Debug)]
pub(crate) struct Transaction<'b> {
    books: &'b Books,
    journal: Journal,
    folders: BTreeMap<PathBuf, (Dir, Dir)>,
    /// Whether files are synced one by one.
    sync_each: bool,
}

impl<'b> Transaction<'b> {
    /// Begins, with about this many files to be written. The caller holds the lock of the place.
    pub(crate) fn begin(books: &'b Books, files: usize) -> Self {
        let journal = Journal::new(atomic::unused_name());
        let sync_each = files <= SYNC_EACH || !cfg!(target_os = "linux");
        Self { books, journal, folders: BTreeMap::new(), sync_each }
    }

    /// Stages a skill that takes a name in a folder.
    pub(crate) fn put(
        &mut self,
        folder: &Path,
        name: &str,
        tree: &SkillTree,
        before: Option<State>,
    ) -> Result<(), InstallError> {
        let sync_each = self.sync_each;
        let staged = self.step(folder, name, before, Some(State::Tree(tree.digest().to_owned())))?;
        let (_, stage) = self.folder(folder)?;
        write_tree(stage, &staged, tree, sync_each)
            .map_err(|error| InstallError::io("write the files of a skill in", stage.path(), error))
    }

    /// Stages a link that takes a name in a folder.
    pub(crate) fn link(
        &mut self,
        folder: &Path,
        name: &str,
        target: &str,
        before: Option<State>,
    ) -> Result<(), InstallError> {
        let staged = self.step(folder, name, before, Some(State::Link(target.to_owned())))?;
        let (_, stage) = self.folder(folder)?;
        stage.link(&staged, target).map_err(|error| InstallError::io("make a link in", stage.path(), error))
    }

    /// Has a name in a folder removed.
    pub(crate) fn remove(&mut self, folder: &Path, name: &str, before: State) -> Result<(), InstallError> {
        self.step(folder, name, Some(before), None).map(drop)
    }

    /// Has a file written, unless it is a link out of the folder that it must be in.
    pub(crate) fn write(
        &mut self,
        path: PathBuf,
        before: Option<String>,
        after: String,
        within: Option<PathBuf>,
    ) {
        if before.as_deref() != Some(&*after) {
            self.journal.files.push(FileStep { path, before, after, within });
        }
    }

    /// Records what the user accepted.
    pub(crate) fn accept(&mut self, accepted: Accepted) {
        self.journal.accepted.push(accepted);
    }

    /// Whether there is nothing to do.
    pub(crate) fn is_empty(&self) -> bool {
        self.journal.steps.is_empty() && self.journal.files.is_empty() && self.journal.accepted.is_empty()
    }

    /// Does all of it, or nothing.
    pub(crate) fn commit(mut self) -> Result<(), InstallError> {
        if self.is_empty() {
            return Ok(());
        }
        let file = &self.books.journal;
        for (dir, stage) in self.folders.values() {
            let synced = stage
                .sync()
                .and_then(|()| dir.sync())
                .and_then(|()| if self.sync_each { Ok(()) } else { dir.sync_file_system().map(drop) });
            synced.map_err(|error| InstallError::io("write to the disk", dir.path(), error))?;
        }
        let saved = self.journal.save(file);
        saved.map_err(|error| InstallError::io("write the journal", file, error))?;
        let journal = std::mem::take(&mut self.journal);
        let done = Work { journal: &journal, folders: &self.folders }.forward(false);
        let recorded = done.and_then(|()| record(&journal, &self.books.approvals));
        if let Err(error) = recorded {
            // What was done is undone; if that fails too, the journal stays for the next command.
            let work = Work { journal: &journal, folders: &self.folders };
            if work.backward().is_ok() {
                let _ = Journal::clear(file);
                self.journal = journal;
            }
            return Err(error);
        }
        Journal::clear(file).map_err(|error| InstallError::io("remove the journal", file, error))?;
        self.journal = journal;
        Ok(())
    }

    /// The open folder of skills and its staging folder.
    fn folder(&mut self, path: &Path) -> Result<&(Dir, Dir), InstallError> {
        if !self.folders.contains_key(path) {
            let failed = |error| InstallError::io("open the folder of skills", path, error);
            let dir = Dir::open(path).map_err(failed)?;
            let stage = dir.make(&self.journal.stage).map_err(failed)?;
            self.folders.insert(path.to_owned(), (dir, stage));
        }
        self.folders.get(path).ok_or_else(|| {
            InstallError::io("open the folder of skills", path, io::ErrorKind::NotFound.into())
        })
    }

    /// Adds a step; the name under which it is staged.
    fn step(
        &mut self,
        folder: &Path,
        name: &str,
        before: Option<State>,
        after: Option<State>,
    ) -> Result<String, InstallError> {
        self.folder(folder)?;
        let staged = self.journal.steps.len().to_string();
        let (folder, name) = (folder.to_owned(), name.to_owned());
        self.journal.steps.push(Step { folder, name, staged: staged.clone(), before, after });
        Ok(staged)
    }
}

impl Drop for Transaction<'_> {
    /// Removes the staging folders, which hold what was not needed or is old. One that is still needed has its journal
    /// on the disk and was taken from here.
    fn drop(&mut self) {
        for (dir, _) in self.folders.values().filter(|_| !self.journal.stage.is_empty()) {
            let _ = dir.remove(&self.journal.stage);
        }
    }
}

/// Completes what a process left behind that was killed, and removes its leftovers; whether there was anything to complete.
/// The caller holds the lock of the place.
pub(crate) fn recover(books: &Books, swept: &[PathBuf]) -> Result<bool, InstallError> {
    let file = &books.journal;
    let failed = |error| InstallError::io("complete an interrupted installation by its journal", file, error);
    let journal = Journal::load(file).map_err(failed)?;
    let mut leftovers = swept.to_vec();
    if let Some(journal) = &journal {
        let mut folders = BTreeMap::new();
        for path in journal.folders() {
            let dir = Dir::open(path).map_err(failed)?;
            let stage = dir.make(&journal.stage).map_err(failed)?;
            folders.insert(path.to_owned(), (dir, stage));
        }
        let work = Work { journal, folders: &folders };
        if let Err(error) = work.forward(true).and_then(|()| record(journal, &books.approvals)) {
            work.backward().map_err(|_| error)?;
        }
        Journal::clear(file).map_err(failed)?;
        leftovers.extend(folders.into_keys());
    }
    for folder in leftovers {
        sweep(&folder);
    }
    Ok(journal.is_some())
}

/// Removes staging folders that no journal names.
fn sweep(folder: &Path) {
    let Ok(dir) = Dir::open(folder) else { return };
    for name in dir.names().unwrap_or_default() {
        if is_temporary(&name) && matches!(dir.kind(&name), Ok(Some(Kind::Folder))) {
            let _ = dir.remove(&name);
        }
    }
}

/// The steps of a journal on open folders.
struct Work<'w> {
    journal: &'w Journal,
    folders: &'w BTreeMap<PathBuf, (Dir, Dir)>,
}

impl Work<'_> {
    /// Does every step. With `looking`, a step that was done already is left as it is.
    fn forward(&self, looking: bool) -> Result<(), InstallError> {
        for step in &self.journal.steps {
            self.act(step, |dir, stage| {
                if !looking {
                    return swap(step, dir, stage);
                }
                if is_done(step, dir, stage)? {
                    return Ok(());
                }
                // What a person changed since then must not be lost.
                if state_of(dir, &step.name)? != step.before {
                    return Err(io::Error::other("it was changed after the installation was interrupted"));
                }
                swap(step, dir, stage)
            })?;
        }
        for (dir, _) in self.folders.values() {
            dir.sync().map_err(|error| InstallError::io("write to the disk", dir.path(), error))?;
        }
        for file in &self.journal.files {
            write(file, file.before.as_deref(), Some(&file.after), looking)?;
        }
        Ok(())
    }

    /// Undoes every step that was done.
    fn backward(&self) -> Result<(), InstallError> {
        for file in self.journal.files.iter().rev() {
            write(file, Some(&file.after), file.before.as_deref(), true)?;
        }
        for step in self.journal.steps.iter().rev() {
            self.act(
                step,
                |dir, stage| if is_done(step, dir, stage)? { unswap(step, dir, stage) } else { Ok(()) },
            )?;
        }
        Ok(())
    }

    fn act(
        &self,
        step: &Step,
        action: impl FnOnce(&Dir, &Dir) -> io::Result<()>,
    ) -> Result<(), InstallError> {
        let path = step.folder.join(&step.name);
        let (dir, stage) = self
            .folders
            .get(&step.folder)
            .ok_or_else(|| InstallError::io("open", &step.folder, io::ErrorKind::NotFound.into()))?;
        action(dir, stage).map_err(|error| InstallError::io("change", &path, error))
    }
}

/// Where something old waits while two things change places on a file system that cannot exchange them.
fn aside(step: &Step) -> String {
    format!("{}.old", step.staged)
}

/// Whether a step was done.
fn is_done(step: &Step, dir: &Dir, stage: &Dir) -> io::Result<bool> {
    // Killed between the moves of an exchange: back to the beginning, or on to the end.
    if stage.kind(&aside(step))?.is_some() {
        match dir.kind(&step.name)? {
            None => stage.move_new(&aside(step), dir, &step.name)?,
            Some(_) => stage.move_new(&aside(step), stage, &step.staged)?,
        }
    }
    let staged = stage.kind(&step.staged)?.is_some();
    Ok(match (&step.before, &step.after) {
        (Some(_), Some(after)) => staged && state_of(stage, &step.staged)?.as_ref() != Some(after),
        (_, None) => staged,
        (None, Some(_)) => !staged,
    })
}

/// Does a step.
fn swap(step: &Step, dir: &Dir, stage: &Dir) -> io::Result<()> {
    match (&step.before, &step.after) {
        (None, Some(_)) => stage.move_new(&step.staged, dir, &step.name),
        (Some(_), None) => dir.move_new(&step.name, stage, &step.staged),
        (Some(_), Some(_)) => exchange(step, dir, stage),
        (None, None) => Ok(()),
    }
}

/// Undoes a step.
fn unswap(step: &Step, dir: &Dir, stage: &Dir) -> io::Result<()> {
    match (&step.before, &step.after) {
        (None, Some(_)) => dir.move_new(&step.name, stage, &step.staged),
        (Some(_), None) => stage.move_new(&step.staged, dir, &step.name),
        (Some(_), Some(_)) => exchange(step, dir, stage),
        (None, None) => Ok(()),
    }
}

fn exchange(step: &Step, dir: &Dir, stage: &Dir) -> io::Result<()> {
    if dir.exchange(&step.name, stage, &step.staged)? {
        return Ok(());
    }
    dir.move_new(&step.name, stage, &aside(step))?;
    stage.move_new(&step.staged, dir, &step.name)?;
    stage.move_new(&aside(step), stage, &step.staged)
}

/// Writes a text in the place of another; nothing in the place of a text removes the file. With `looking`, a file that has
/// neither text was changed by a person meanwhile, and stays.
fn write(
    file: &FileStep,
    before: Option<&str>,
    after: Option<&str>,
    looking: bool,
) -> Result<(), InstallError> {
    let path = &*file.path;
    let failed = |error: io::Error| InstallError::io("write", path, error);
    if looking {
        let now = match read::read_small(path, MAX_FILE_BYTES) {
            Ok(bytes) => Some(bytes),
            Err(error) if matches!(error.kind, SourceErrorKind::Missing) => None,
            Err(error) => return Err(failed(io::Error::other(error.with_cause()))),
        };
        if now.as_deref() != before.map(str::as_bytes) {
            return Ok(());
        }
    }
    let done = match (before, after) {
        (Some(before), Some(after)) => {
            let may = |target: &Path| file.within.as_ref().is_none_or(|folder| target.starts_with(folder));
            atomic::replace_where(path, before.as_bytes(), after.as_bytes(), may)
        }
        (None, Some(after)) => atomic::create(path, after.as_bytes()),
        (_, None) => return std::fs::remove_file(path).map_err(failed),
    };
    done.map_err(|error| match error {
        WriteError::Io { source, .. } => failed(source),
        other => failed(io::Error::other(other)),
    })
}

/// Adds what the user accepted to the approvals.
fn record(journal: &Journal, approvals: &Path) -> Result<(), InstallError> {
    if journal.accepted.is_empty() {
        return Ok(());
    }
    let recorded = Approvals::update(approvals, |approvals| {
        for accepted in &journal.accepted {
            approvals.trust_file(&accepted.name, &accepted.skill_file, accepted.digest.as_deref());
        }
        Ok::<(), SourceError>(())
    });
    recorded.map_err(|error| {
        InstallError::io(
            "record that you accepted the skill",
            approvals,
            io::Error::other(error.with_cause()),
        )
    })
}

/// Writes the files of a skill below a new folder.
fn write_tree(stage: &Dir, name: &str, tree: &SkillTree, sync_each: bool) -> io::Result<()> {
    let mut folders: BTreeMap<String, Dir> = BTreeMap::new();
    folders.insert(String::new(), stage.make(name)?);
    for (file, bytes) in tree.files() {
        let (parent, own) = file.path.as_str().rsplit_once('/').unwrap_or(("", file.path.as_str()));
        if !folders.contains_key(parent) {
            let mut at = String::new();
            for part in parent.split('/') {
                let above = at.clone();
                at = if at.is_empty() { part.to_owned() } else { format!("{at}/{part}") };
                if !folders.contains_key(&at)
                    && let Some(dir) = folders.get(&above)
                {
                    let inner = dir.make(part)?;
                    folders.insert(at.clone(), inner);
                }
            }
        }
        let dir = folders.get(parent).ok_or(io::ErrorKind::NotFound)?;
        let written = dir.write_new(own, bytes, file.executable)?;
        if sync_each {
            written.sync_all()?;
        }
    }
    if sync_each {
        folders.values().try_for_each(Dir::sync)?;
    }
    Ok(())
}

/// What has a name in a folder; nothing when it is free.
pub(crate) fn state_of(dir: &Dir, name: &str) -> io::Result<Option<State>> {
    Ok(match dir.kind(name)? {
        None => None,
        Some(Kind::Link) => Some(State::Link(dir.link_target(name)?.to_string_lossy().into_owned())),
        Some(Kind::Folder) => {
            let digest = manifest_of(&dir.path().join(name)).ok().filter(|files| files.left_out.is_empty());
            let digest = digest.and_then(|files| digests::of_tree(&files));
            Some(digest.map_or(State::Other, State::Tree))
        }
        Some(_) => Some(State::Other),
    })
}

/// The files in an installed skill's folder, each with the digest of the bytes that are there now. What no digest covers
/// is left out of it, and said to be.
pub(crate) fn manifest_of(path: &Path) -> Result<Manifest, SourceError> {
    let folder = SkillFolder::first_seen(path)?;
    let listing = listing::list_in(&folder)?;
    let apart: Vec<LeftOut> = listing
        .apart
        .iter()
        .map(|path| LeftOut::new(path.to_string_lossy(), "it is no part of a skill"))
        .collect();
    let mut manifest = listing.complete(path)?;
    manifest.left_out.extend(apart);
    let limits = DigestLimits::approving();
    let mut allowed = limits.admit(&manifest, path)?;
    for entry in &mut manifest.files {
        let mut file = folder.file(&entry.path)?;
        let (digest, size) = digests::of_file(&path.join(entry.path.as_str()), &mut file, &mut allowed)?;
        entry.measure(size, digest);
    }
    Ok(manifest)
}

/// The files of an installed skill with their bytes.
pub(crate) fn read_tree(path: &Path) -> Result<SkillTree, SourceError> {
    let manifest = manifest_of(path)?;
    let folder = SkillFolder::first_seen(path)?;
    let files = manifest.files.iter().map(|entry| {
        let at = path.join(entry.path.as_str());
        let bytes = read::read_whole(folder.file(&entry.path)?, &at, MAX_FILE_BYTES)?;
        Ok(TreeFile { path: entry.path.clone(), executable: entry.executable, bytes: bytes.into() })
    });
    let files = files.collect::<Result<Vec<TreeFile>, SourceError>>()?;
    let limits =
        InstallLimits { files: usize::MAX, bytes: u64::MAX, file_bytes: u64::MAX, depth: usize::MAX - 1 };
    SkillTree::new(files, &limits)
        .map_err(|error| SourceErrorKind::Damaged { reason: error.with_cause() }.at(path))
}

#[cfg(test)]
mod tests;
