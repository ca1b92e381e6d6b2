//! One walk over folders: opens each SKILL.md through its folder's handle, and visits each real folder once.
//!
//! Everything that is reachable without links comes first, so that the plain path of a skill wins. Folders inside a
//! skill are visited too, since a skill may contain others. They have a limit of their own: the files of one large
//! skill must not use up the limits of the walk. Links inside a skill are not followed: if they stay in the skill they
//! lead to what is found anyway, and if they lead out they are not part of it.

use std::cell::{Cell, OnceCell};
use std::collections::{BTreeSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use super::ahead::{FIRST_BATCH, MAX_BATCH, available, in_order};
use super::ignore::Ignores;
use super::limits::{has_other_spelling, may_contain_skills, may_have_skills};
use super::probe::Probe;
use super::visitor::Visitor;
use super::{MAX_THREADS, MissingRoot, OnError, ScanOptions, in_place, is_left_out, is_missing, joined};
use crate::error::{Counted, SourceError, SourceErrorKind};
use crate::fs::confine::Within;
use crate::fs::dir::{Folder, Kind, Links, Name, is_link_error};
use crate::fs::read;

/// Walks over a folder and everything below it. Returns what could not be read and the limits that were reached.
pub(crate) fn walk(root: &Path, options: &ScanOptions, visitor: &mut impl Visitor) -> Vec<SourceError> {
    let whole = visitor.counts_all();
    let mut walk = Walk {
        options,
        visitor,
        problems: Vec::new(),
        folders: VecDeque::new(),
        insides: VecDeque::new(),
        links: VecDeque::new(),
        linked_files: Vec::new(),
        seen_folders: BTreeSet::new(),
        found_files: Vec::new(),
        seen_files: BTreeSet::new(),
        entries: 0,
        counted: 0,
        outside: 0,
        inside: 0,
        inside_cut: false,
        counting: OnceCell::new(),
        threads: OnceCell::new(),
        buffer: Vec::new(),
        within: None,
        whole,
    };
    if let Err(problem) = walk.run(root) {
        walk.problems.push(problem);
    }
    if options.on_error == OnError::Ignore {
        walk.problems.retain(|problem| {
            matches!(problem.kind, SourceErrorKind::TooMany { .. } | SourceErrorKind::TooDeep { .. })
        });
    }
    walk.problems
}

/// A folder to visit.
struct FolderToVisit {
    path: PathBuf,
    depth: usize,
    /// It is only reachable through links.
    linked: bool,
    /// It is the folder of a skill, or inside one.
    inside: bool,
    ignores: Option<Rc<Ignores>>,
}

/// A folder in a folder, or a link that may lead to one.
struct Child {
    name: OsString,
    kind: Kind,
    path: PathBuf,
}

/// What a thread found out about a folder: whether it is a skill, and whether it is known to contain no folders.
struct Ahead<S> {
    probe: Probe<S>,
    leaf: bool,
}

/// The device and inode number of a file or folder.
pub(super) type Identity = (u64, u64);

pub(super) struct Walk<'w, V> {
    pub(super) options: &'w ScanOptions,
    pub(super) visitor: &'w mut V,
    problems: Vec<SourceError>,
    folders: VecDeque<FolderToVisit>,
    /// The folders of skills and those in them.
    insides: VecDeque<FolderToVisit>,
    /// Links wait until everything that is reachable without them is known, so that the plain path wins.
    links: VecDeque<FolderToVisit>,
    pub(super) linked_files: Vec<PathBuf>,
    seen_folders: BTreeSet<Identity>,
    /// The files found so far. They become a set when a link needs one.
    pub(super) found_files: Vec<Identity>,
    pub(super) seen_files: BTreeSet<Identity>,
    entries: usize,
    pub(super) counted: usize,
    pub(super) outside: usize,
    /// The number of entries looked at inside skills.
    inside: usize,
    /// Whether the limit inside skills was reported, which happens once.
    inside_cut: bool,
    /// The device of the first skills, if link counts there tell whether a folder contains folders. Looked up once.
    counting: OnceCell<Option<u64>>,
    /// The number of threads for large folders. Looked up once.
    threads: OnceCell<usize>,
    /// A buffer for reading SKILL.md files.
    pub(super) buffer: Vec<u8>,
    /// The folder that the walk must not leave.
    pub(super) within: Option<Within>,
    /// Whether the visitor wants to know what is passed over, and nothing was so far.
    pub(super) whole: bool,
}

impl<V: Visitor> Walk<'_, V> {
    fn run(&mut self, root: &Path) -> Result<(), SourceError> {
        let folder = match Folder::open(root) {
            Ok(folder) => folder,
            Err(error)
                if error.kind() == io::ErrorKind::NotFound
                    && self.options.missing_root == MissingRoot::Skip =>
            {
                return Ok(());
            }
            Err(error) if self.options.missing_root == MissingRoot::Skip => {
                return Err(in_place(root, error));
            }
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                return Err(SourceErrorKind::NotFolder.at(root));
            }
            Err(error) => return Err(SourceError::io(root, error)),
        };
        // Most roots do not exist, so this is looked up only now.
        self.within = self.options.within.as_deref().map(Within::new).transpose()?;
        if !self.holds(&folder, root) {
            return Err(SourceErrorKind::OutsideProject.at(root));
        }
        // A root with a SKILL.md is still a folder of skills: what is beside that file is not inside a skill.
        let start =
            FolderToVisit { path: root.to_owned(), depth: 0, linked: false, inside: false, ignores: None };
        if !(self.probe(&folder, root, Path::new(""), false)? && self.options.stop_at_skill) {
            self.look_into(&folder, &start)?;
        }
        loop {
            if let Some(place) = self.folders.pop_front().or_else(|| self.insides.pop_front()) {
                self.enter(&place)?;
            } else if let Some(place) = self.links.pop_front() {
                self.enter_link(place)?;
            } else {
                break;
            }
        }
        self.linked_files.sort();
        for path in std::mem::take(&mut self.linked_files) {
            self.take_link(path)?;
        }
        Ok(())
    }

    /// Ends the walk with a problem or notes it, as the options say.
    pub(super) fn note(&mut self, problem: SourceError) -> Result<(), SourceError> {
        if self.options.on_error == OnError::Fail {
            return Err(problem);
        }
        self.problems.push(problem);
        Ok(())
    }

    /// Whether an open folder is in the folder that the walk must not leave.
    fn holds(&self, folder: &Folder, path: &Path) -> bool {
        self.look().holds(folder, path)
    }

    fn enter(&mut self, place: &FolderToVisit) -> Result<(), SourceError> {
        match Folder::open(&place.path) {
            // A link may have replaced it since it was listed.
            Ok(folder) if !self.holds(&folder, &place.path) => {
                self.note(SourceErrorKind::OutsideProject.at(&place.path))
            }
            Ok(folder) => self.look_into(&folder, place),
            // A folder that was deleted since it was listed is not a problem.
            Err(error) if is_missing(&error) => Ok(()),
            Err(error) => self.note(SourceError::io(&place.path, error)),
        }
    }

    fn enter_link(&mut self, place: FolderToVisit) -> Result<(), SourceError> {
        let folder = match Folder::open(&place.path) {
            Ok(folder) => folder,
            // A link to a file, or to nothing, is not a folder to visit.
            Err(error) if is_missing(&error) || is_link_error(&error) => return Ok(()),
            Err(error) => return self.note(SourceError::io(&place.path, error)),
        };
        let identity = folder.identity().map_err(|error| SourceError::io(&place.path, error))?;
        let seen = self.seen_folders.contains(&identity);
        if (seen && !self.options.repeat_linked) || !self.count_outside(&place.path)? {
            return Ok(());
        }
        if !self.holds(&folder, &place.path) {
            return self.note(SourceErrorKind::OutsideProject.at(place.path));
        }
        let skill = self.probe(&folder, &place.path, Path::new(""), true)?;
        let ends = skill && (self.options.stop_at_skill || place.depth >= self.options.max_depth);
        if seen || ends {
            if ends && !seen {
                self.pass_over();
            }
            return Ok(());
        }
        self.look_into(&folder, &FolderToVisit { inside: skill, ..place })
    }

    /// Visits every folder in a folder.
    fn look_into(&mut self, folder: &Folder, place: &FolderToVisit) -> Result<(), SourceError> {
        let failed = |error| SourceError::io(&place.path, error);
        if !self.seen_folders.insert(folder.identity().map_err(failed)?) {
            return Ok(());
        }
        let (limit, seen) = if place.inside {
            (self.options.max_inside, self.inside)
        } else {
            self.count(&place.path)?;
            (self.options.max_entries, self.entries)
        };
        self.visitor.entered(&place.path);
        let (names, more) = match folder.first_entries(limit.saturating_sub(seen)) {
            Ok(names) => names,
            Err(error) => return self.note(failed(error)),
        };
        *(if place.inside { &mut self.inside } else { &mut self.entries }) += names.len();
        self.visitor.listed(&place.path, names.len())?;
        let ignores = self.ignores(folder, place, &names);
        let options = self.options;
        let passed = Cell::new(self.whole && has_other_spelling(&names, options));
        let mut children = names.into_iter().filter_map(|Name { name, kind }| {
            let wanted = kind == Kind::Folder || (kind == Kind::Link && !place.inside);
            if !wanted || is_left_out(&name, options) {
                passed.set(passed.get() || (wanted && may_have_skills(&name)));
                return None;
            }
            let path = joined(&place.path, &name);
            let left_out = ignores.as_ref().is_some_and(|ignores| ignores.leaves_out(&path));
            (!left_out).then_some(Child { name, kind, path })
        });
        let mut too_deep = None;
        if place.depth >= options.max_depth {
            let mut children = children.inspect(|_| passed.set(true));
            let deeper = |child: &Child| child.kind == Kind::Folder || !options.report_deeper;
            too_deep = children.find(deeper).filter(|_| options.report_deeper).map(|child| child.path);
        } else {
            let (mut size, mut large) = (FIRST_BATCH, false);
            loop {
                let batch: Vec<Child> = children.by_ref().take(size).collect();
                if batch.is_empty() {
                    break;
                }
                large |= batch.len() >= FIRST_BATCH;
                size = (size * 2).min(MAX_BATCH);
                let several = large && !place.linked;
                let ahead = several.then(|| self.look_ahead(folder, place, &batch));
                let mut ahead = ahead.into_iter().flatten();
                for child in batch {
                    self.look_at(folder, place, ignores.as_ref(), child, ahead.next().flatten())?;
                }
            }
        }
        if passed.get() {
            self.pass_over();
        }
        if more && place.inside {
            self.insides.clear();
            // Each skill behind a link gets here again.
            if std::mem::replace(&mut self.inside_cut, true) {
                return Ok(());
            }
            let what = Counted::EntriesInsideSkills;
            return self.note(SourceErrorKind::TooMany { what, limit }.at(&place.path));
        }
        if more {
            return Err(SourceErrorKind::TooMany { what: Counted::Entries, limit }.at(&place.path));
        }
        match too_deep {
            Some(path) => self.note(SourceErrorKind::TooDeep { limit: self.options.max_depth }.at(path)),
            None => Ok(()),
        }
    }

    /// Visits a folder in a folder, or keeps a link for later.
    fn look_at(
        &mut self,
        folder: &Folder,
        place: &FolderToVisit,
        ignores: Option<&Rc<Ignores>>,
        Child { name, kind, path }: Child,
        ahead: Option<Ahead<V::Skill>>,
    ) -> Result<(), SourceError> {
        let below = FolderToVisit {
            path,
            depth: place.depth + 1,
            linked: place.linked,
            inside: place.inside,
            ignores: ignores.cloned(),
        };
        if kind == Kind::Link {
            self.visitor.linked(&below.path);
            self.links.push_back(FolderToVisit { linked: true, ..below });
            return Ok(());
        }
        if below.linked && !below.inside && !self.count_outside(&below.path)? {
            return Ok(());
        }
        let (skill, leaf) = match ahead {
            Some(Ahead { probe, leaf }) => {
                (self.take(probe, below.linked, |_, _, skill, _| skill)?, Some(leaf))
            }
            None => (self.probe(folder, &below.path, Path::new(&name), below.linked)?, None),
        };
        if skill && !below.inside {
            self.count(&below.path)?;
        }
        if !skill && !below.inside {
            self.folders.push_back(below);
        } else {
            let goes_on = goes_on(self.options, place.depth, skill);
            let is_leaf = || is_leaf(folder, &name, self.counting(folder));
            if goes_on && !leaf.unwrap_or_else(is_leaf) {
                self.insides.push_back(FolderToVisit { inside: true, ..below });
            } else if self.whole && !goes_on && !is_leaf() && may_contain_skills(&below.path) {
                self.pass_over();
            }
        }
        Ok(())
    }

    /// Reads many folders ahead; none if there is one thread.
    fn look_ahead(
        &self,
        folder: &Folder,
        place: &FolderToVisit,
        children: &[Child],
    ) -> Vec<Option<Ahead<V::Skill>>> {
        let options = self.options;
        let threads =
            || *self.threads.get_or_init(|| options.threads.unwrap_or_else(|| available(MAX_THREADS)));
        if threads() < 2 {
            return Vec::new();
        }
        let (look, counting, inside) = (self.look(), self.counting(folder), place.inside);
        let depth = place.depth;
        in_order(children, threads(), |child, buffer| {
            let name = Path::new(&child.name);
            (child.kind == Kind::Folder).then(|| {
                let probe = look.probe_and_read(folder, &child.path, name, buffer);
                let skill = probe.encloses(options);
                let leaf = (skill || inside)
                    && goes_on(options, depth, skill)
                    && is_leaf(folder, &child.name, counting);
                Ahead { probe, leaf }
            })
        })
    }

    /// The device of a folder, if link counts there tell whether a folder contains folders.
    fn counting(&self, folder: &Folder) -> Option<u64> {
        *self.counting.get_or_init(|| folder.counting_device())
    }

    fn ignores(&self, folder: &Folder, place: &FolderToVisit, names: &[Name]) -> Option<Rc<Ignores>> {
        if !self.options.gitignore {
            return None;
        }
        let own = names.iter().any(|name| name.name == ".gitignore");
        let file = own.then(|| folder.open_below(Path::new(".gitignore"), Links::Refuse).ok()).flatten();
        match file.and_then(|file| read::read_text(file, super::ignore::MAX_BYTES)) {
            Some(text) => Some(Rc::new(Ignores::new(&place.path, &text, place.ignores.clone()))),
            None => place.ignores.clone(),
        }
    }
}

/// Whether the walk goes on below a folder of a skill, itself below one at this depth. Deeper folders only contain
/// files of the skill, so a limit of depth is not reported there.
fn goes_on(options: &ScanOptions, depth: usize, skill: bool) -> bool {
    depth + 1 < options.max_depth && !(skill && options.stop_at_skill)
}

/// Whether a folder is known to contain no folders.
fn is_leaf(folder: &Folder, name: &OsStr, counting: Option<u64>) -> bool {
    counting.is_some_and(|device| folder.is_leaf(Path::new(name), device))
}
