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
use crate::error::SourceError;
use crate::fs::atomic::{self, WriteError, is_temporary};
use crate::fs::dir::Kind;
use crate::fs::listing;
use crate::fs::sandbox::SkillFolder;
use crate::install::error::InstallError;
use crate::install::tree::SkillTree;
use crate::registry::digests::{self, DigestLimits};
use crate::registry::trust::Approvals;

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

    /// Has a file written.
    pub(crate) fn write(&mut self, path: PathBuf, before: Option<String>, after: String) {
        if before.as_deref() != Some(&*after) {
            self.journal.files.push(FileStep { path, before, after });
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
pub(crate) fn recover(books: &Books, swept: &[&Path]) -> Result<bool, InstallError> {
    let file = &books.journal;
    let failed = |error| InstallError::io("complete an interrupted installation by its journal", file, error);
    let journal = Journal::load(file).map_err(failed)?;
    let mut leftovers: Vec<PathBuf> = swept.iter().map(|folder| (*folder).to_owned()).collect();
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
            write(&file.path, file.before.as_deref(), Some(&file.after), looking)?;
        }
        Ok(())
    }

    /// Undoes every step that was done.
    fn backward(&self) -> Result<(), InstallError> {
        for file in self.journal.files.iter().rev() {
            write(&file.path, Some(&file.after), file.before.as_deref(), true)?;
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
fn write(path: &Path, before: Option<&str>, after: Option<&str>, looking: bool) -> Result<(), InstallError> {
    let failed = |error: io::Error| InstallError::io("write", path, error);
    if looking {
        let now = match std::fs::read(path) {
            Ok(bytes) => Some(bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(failed(error)),
        };
        if now.as_deref() != before.map(str::as_bytes) {
            return Ok(());
        }
    }
    let done = match (before, after) {
        (Some(before), Some(after)) => atomic::replace(path, before.as_bytes(), after.as_bytes()),
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
            approvals.trust_file(&accepted.name, &accepted.skill_file, &accepted.digest);
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

#[cfg(test)]
mod tests {
    use std::fs;

    use prowess_core::RelPath;

    use super::*;
    use crate::install::tree::{InstallLimits, TreeFile};

    fn tree(text: &str) -> SkillTree {
        let file = |path: &str, bytes: &str| TreeFile {
            path: RelPath::parse(path).unwrap(),
            executable: path.starts_with("scripts/"),
            bytes: bytes.as_bytes().into(),
        };
        SkillTree::new(
            vec![file("SKILL.md", text), file("scripts/deep/run.sh", "run")],
            &InstallLimits::default(),
        )
        .unwrap()
    }

    struct Place {
        _root: tempfile::TempDir,
        skills: PathBuf,
        lock: PathBuf,
        books: Books,
    }

    /// A place with the skills `a` and `gone`, and a lock that says `old`.
    fn place() -> Place {
        let root = tempfile::tempdir().unwrap();
        let skills = root.path().join("skills");
        fs::create_dir(&skills).unwrap();
        let books = Books {
            journal: root.path().join("state/journal"),
            approvals: root.path().join("state/trust.json"),
        };
        let lock = root.path().join("skills.lock");
        let mut first = Transaction::begin(&books, 2);
        first.put(&skills, "a", &tree("old"), None).unwrap();
        first.put(&skills, "gone", &tree("gone"), None).unwrap();
        first.write(lock.clone(), None, "old".to_owned());
        first.commit().unwrap();
        Place { _root: root, skills, lock, books }
    }

    fn before(text: &str) -> State {
        State::Tree(tree(text).digest().to_owned())
    }

    /// A transaction that changes `a`, adds `b` with a link to it, and removes `gone`.
    fn prepared<'b>(place: &Place, books: &'b Books) -> Transaction<'b> {
        let mut next = Transaction::begin(books, 2);
        next.put(&place.skills, "a", &tree("new"), Some(before("old"))).unwrap();
        next.put(&place.skills, "b", &tree("b"), None).unwrap();
        next.link(&place.skills, "c", "b", None).unwrap();
        next.remove(&place.skills, "gone", before("gone")).unwrap();
        next.write(place.lock.clone(), Some("old".to_owned()), "new".to_owned());
        next
    }

    /// What is there, in words.
    fn shown(place: &Place) -> Vec<String> {
        let dir = Dir::open(&place.skills).unwrap();
        let named = |name: String| {
            let text = fs::read_to_string(place.skills.join(&name).join("SKILL.md")).unwrap_or_default();
            let link = matches!(dir.kind(&name), Ok(Some(Kind::Link)));
            format!("{name}{} {text}", if link { " ->" } else { "" })
        };
        let mut lines: Vec<String> = dir.names().unwrap().into_iter().map(named).collect();
        lines.push(fs::read_to_string(&place.lock).unwrap());
        lines
    }

    const OLD: [&str; 3] = ["a old", "gone gone", "old"];
    const NEW: [&str; 4] = ["a new", "b b", "c -> b", "new"];

    #[test]
    fn a_transaction_changes_adds_links_and_removes_and_leaves_nothing_behind() {
        let place = place();
        assert_eq!(shown(&place), OLD);
        prepared(&place, &place.books).commit().unwrap();
        assert_eq!(shown(&place), NEW);
        assert!(!place.books.journal.exists());
    }

    #[test]
    fn a_transaction_that_is_dropped_or_fails_changes_nothing() {
        let place = place();
        drop(prepared(&place, &place.books));
        assert_eq!(shown(&place), OLD);
        let next = prepared(&place, &place.books);
        // Another program takes the name meanwhile.
        fs::create_dir(place.skills.join("c")).unwrap();
        next.commit().unwrap_err();
        fs::remove_dir(place.skills.join("c")).unwrap();
        assert_eq!(shown(&place), OLD);
        let next = prepared(&place, &place.books);
        fs::write(&place.lock, "edited").unwrap();
        next.commit().unwrap_err();
        assert_eq!(shown(&place), ["a old", "gone gone", "edited"]);
        assert!(!place.books.journal.exists());
    }

    /// A process that is killed after this many steps, with its journal on the disk.
    fn killed_after(place: &Place, steps: usize) {
        let mut next = prepared(place, &place.books);
        next.journal.save(&place.books.journal).unwrap();
        let journal = std::mem::take(&mut next.journal);
        for step in journal.steps.iter().take(steps) {
            let (dir, stage) = &next.folders[&step.folder];
            swap(step, dir, stage).unwrap();
        }
        if steps > journal.steps.len() {
            fs::write(&place.lock, "new").unwrap();
        }
    }

    #[test]
    fn the_next_process_completes_what_a_killed_one_began() {
        for steps in 0..=5 {
            let place = place();
            killed_after(&place, steps);
            assert!(recover(&place.books, &[&place.skills]).unwrap(), "{steps}");
            assert_eq!(shown(&place), NEW, "{steps}");
            assert!(!recover(&place.books, &[&place.skills]).unwrap(), "{steps}");
        }
    }

    #[test]
    fn edits_after_a_kill_are_kept_and_the_rest_is_undone() {
        let place = place();
        killed_after(&place, 0);
        fs::write(place.skills.join("gone/SKILL.md"), "edited").unwrap();
        recover(&place.books, &[&place.skills]).unwrap();
        assert_eq!(shown(&place), ["a old", "gone edited", "old"]);
    }

    #[test]
    fn an_exchange_by_three_moves_is_completed_from_each_of_them() {
        for moves in 0..3 {
            let place = place();
            let mut next = prepared(&place, &place.books);
            next.journal.save(&place.books.journal).unwrap();
            let journal = std::mem::take(&mut next.journal);
            let step = &journal.steps[0];
            let (dir, stage) = &next.folders[&step.folder];
            if moves > 0 {
                dir.move_new(&step.name, stage, &aside(step)).unwrap();
            }
            if moves > 1 {
                stage.move_new(&step.staged, dir, &step.name).unwrap();
            }
            drop(next);
            recover(&place.books, &[&place.skills]).unwrap();
            assert_eq!(shown(&place), NEW, "{moves}");
        }
    }

    #[test]
    fn a_digest_of_what_is_installed_is_that_of_the_tree() {
        let place = place();
        let dir = Dir::open(&place.skills).unwrap();
        assert_eq!(state_of(&dir, "a").unwrap(), Some(before("old")));
        fs::create_dir_all(place.skills.join("a/node_modules")).unwrap();
        assert_eq!(state_of(&dir, "a").unwrap(), Some(State::Other));
    }
}
