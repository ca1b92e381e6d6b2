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

use super::ahead::{MIN_FOLDERS, available, in_order};
use super::ignore::Ignores;
use super::limits::{has_other_spelling, may_contain_skills, may_have_skills};
use super::probe::Probe;
use super::visitor::{Reader, Visitor};
use super::{MAX_THREADS, MissingRoot, OnError, ScanOptions, in_place, is_left_out, is_missing, joined};
use crate::error::{Counted, SourceError, SourceErrorKind};
use crate::fs::confine::Within;
use crate::fs::dir::{Folder, Kind, Name, is_link_error};

/// Walks over a folder and everything below it. Returns what could not be read and the limits that were reached.
pub(crate) fn walk<R: Reader>(
    root: &Path,
    options: &ScanOptions,
    reader: &R,
    visitor: &mut impl Visitor<R::Skill>,
) -> Vec<SourceError> {
    let mut problems = Vec::new();
    if let Err(problem) = walk_from(root, options, reader, visitor, &mut problems) {
        problems.push(problem);
    }
    if options.on_error == OnError::Ignore {
        problems.retain(|problem| {
            matches!(problem.kind, SourceErrorKind::TooMany { .. } | SourceErrorKind::TooDeep { .. })
        });
    }
    problems
}

/// The same, with the problems that do not end the walk in a list.
fn walk_from<R: Reader>(
    root: &Path,
    options: &ScanOptions,
    reader: &R,
    visitor: &mut impl Visitor<R::Skill>,
    problems: &mut Vec<SourceError>,
) -> Result<(), SourceError> {
    let folder = match Folder::open(root) {
        Ok(folder) => folder,
        Err(error)
            if error.kind() == io::ErrorKind::NotFound && options.missing_root == MissingRoot::Skip =>
        {
            return Ok(());
        }
        Err(error) if options.missing_root == MissingRoot::Skip => return Err(in_place(root, error)),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            return Err(SourceErrorKind::NotFolder.at(root));
        }
        Err(error) => return Err(SourceError::io(root, error)),
    };
    // Most roots do not exist, so this is looked up only now.
    let within = options.within.as_deref().map(Within::new).transpose()?;
    let whole = visitor.counts_all();
    let mut walk = Walk {
        options,
        reader,
        visitor,
        problems,
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
        within: within.as_ref(),
        whole,
    };
    walk.run(&folder, root)
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
}

/// What a thread found out about a folder: whether it is a skill, and whether it is known to contain no folders.
struct Ahead<S> {
    probe: Probe<S>,
    leaf: bool,
}

/// The device and inode number of a file or folder.
pub(super) type Identity = (u64, u64);

pub(super) struct Walk<'w, R, V> {
    pub(super) options: &'w ScanOptions,
    pub(super) reader: &'w R,
    pub(super) visitor: &'w mut V,
    /// The problems that do not end the walk.
    problems: &'w mut Vec<SourceError>,
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
    pub(super) within: Option<&'w Within>,
    /// Whether the visitor wants to know what is passed over, and nothing was so far.
    pub(super) whole: bool,
}

impl<R: Reader, V: Visitor<R::Skill>> Walk<'_, R, V> {
    fn run(&mut self, folder: &Folder, root: &Path) -> Result<(), SourceError> {
        if !self.holds(folder) {
            return Err(SourceErrorKind::OutsideProject.at(root));
        }
        // A root with a SKILL.md is still a folder of skills: what is beside that file is not inside a skill.
        let start =
            FolderToVisit { path: root.to_owned(), depth: 0, linked: false, inside: false, ignores: None };
        if !(self.probe(folder, root, Path::new(""), false)? && self.options.stop_at_skill) {
            self.look_into(folder, &start)?;
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
    fn holds(&self, folder: &Folder) -> bool {
        self.look().holds(folder)
    }

    fn enter(&mut self, place: &FolderToVisit) -> Result<(), SourceError> {
        match Folder::open(&place.path) {
            // A link may have replaced it since it was listed.
            Ok(folder) if !self.holds(&folder) => self.note(SourceErrorKind::OutsideProject.at(&place.path)),
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
        if (seen && !self.options.repeat_linked) || !self.count_outside(|| place.path.clone())? {
            return Ok(());
        }
        if !self.holds(&folder) {
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
            self.count(|| place.path.clone())?;
            (self.options.max_entries, self.entries)
        };
        self.visitor.entered(&place.path);
        let (names, more) = match folder.first_entries(limit.saturating_sub(seen)) {
            Ok(names) => names,
            Err(error) => return self.note(failed(error)),
        };
        *(if place.inside { &mut self.inside } else { &mut self.entries }) += names.len();
        self.visitor.listed(&place.path, names.len())?;
        let options = self.options;
        let above = place.ignores.as_ref();
        let ignores = options.gitignore.then(|| Ignores::of(folder, &place.path, &names, above)).flatten();
        let passed = Cell::new(self.whole && has_other_spelling(&names, options));
        let children = names.into_iter().filter_map(|Name { name, kind }| {
            let wanted = kind == Kind::Folder || (kind == Kind::Link && !place.inside);
            if !wanted || is_left_out(&name, options) {
                passed.set(passed.get() || (wanted && may_have_skills(&name)));
                return None;
            }
            let is_ignored = |ignores: &Rc<Ignores>| ignores.leaves_out(&joined(&place.path, &name));
            (!ignores.as_ref().is_some_and(is_ignored)).then_some(Child { name, kind })
        });
        let mut too_deep = None;
        if place.depth >= options.max_depth {
            let mut children = children.inspect(|_| passed.set(true));
            let deeper = |child: &Child| child.kind == Kind::Folder || !options.report_deeper;
            too_deep = children.find(deeper).filter(|_| options.report_deeper);
        } else {
            let children: Vec<Child> = children.collect();
            self.look_at_all(folder, place, ignores.as_ref(), &children)?;
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
            Some(Child { name, .. }) => {
                let kind = SourceErrorKind::TooDeep { limit: self.options.max_depth };
                self.note(kind.at(joined(&place.path, &name)))
            }
            None => Ok(()),
        }
    }

    /// Visits the folders in a folder. If there are many, several threads read ahead.
    fn look_at_all(
        &mut self,
        folder: &Folder,
        place: &FolderToVisit,
        ignores: Option<&Rc<Ignores>>,
        children: &[Child],
    ) -> Result<(), SourceError> {
        let options = self.options;
        let threads =
            || *self.threads.get_or_init(|| options.threads.unwrap_or_else(|| available(MAX_THREADS)));
        if place.linked || children.len() < MIN_FOLDERS || threads() < 2 {
            return children.iter().try_for_each(|child| self.look_at(folder, place, ignores, child, None));
        }
        let (look, counting, threads) = (self.look(), self.counting(folder), threads());
        let (above, depth, inside) = (&place.path, place.depth, place.inside);
        // With a handle of its own, a thread does not compete with the others for one reference count of the system.
        let prepare = || (folder.to_list().ok(), Vec::new());
        let read = |child: &Child, (own, buffer): &mut (Option<Folder>, Vec<u8>)| {
            let (folder, name) = (own.as_ref().unwrap_or(folder), Path::new(&child.name));
            (child.kind == Kind::Folder).then(|| {
                let path = joined(above, &child.name);
                let probe = look.probe_and_read(folder, &path, name, buffer);
                let skill = probe.encloses(options);
                let leaf = (skill || inside)
                    && goes_on(options, depth, skill)
                    && is_leaf(folder, &child.name, counting);
                Ahead { probe, leaf }
            })
        };
        in_order(children, threads, prepare, read, |child, ahead| {
            self.look_at(folder, place, ignores, child, ahead)
        })
    }

    /// Visits a folder in a folder, or keeps a link for later.
    fn look_at(
        &mut self,
        folder: &Folder,
        place: &FolderToVisit,
        ignores: Option<&Rc<Ignores>>,
        Child { name, kind }: &Child,
        ahead: Option<Ahead<R::Skill>>,
    ) -> Result<(), SourceError> {
        // Of most skills that were read ahead, the path is not needed any more.
        let path = || joined(&place.path, name);
        let below = |linked, inside| FolderToVisit {
            path: path(),
            depth: place.depth + 1,
            linked,
            inside,
            ignores: ignores.cloned(),
        };
        if *kind == Kind::Link {
            self.visitor.linked(&path());
            self.links.push_back(below(true, place.inside));
            return Ok(());
        }
        if place.linked && !place.inside && !self.count_outside(path)? {
            return Ok(());
        }
        let (skill, leaf) = match ahead {
            Some(Ahead { probe, leaf }) => (self.take(probe, place.linked, |_, skill, _| skill)?, Some(leaf)),
            None => (self.probe(folder, &path(), Path::new(name), place.linked)?, None),
        };
        if skill && !place.inside {
            self.count(path)?;
        }
        if !skill && !place.inside {
            self.folders.push_back(below(place.linked, false));
        } else {
            let goes_on = goes_on(self.options, place.depth, skill);
            let is_leaf = || is_leaf(folder, name, self.counting(folder));
            if goes_on && !leaf.unwrap_or_else(is_leaf) {
                self.insides.push_back(below(place.linked, true));
            } else if self.whole && !goes_on && !is_leaf() && may_contain_skills(&path()) {
                self.pass_over();
            }
        }
        Ok(())
    }

    /// The device of a folder, if link counts there tell whether a folder contains folders.
    fn counting(&self, folder: &Folder) -> Option<u64> {
        *self.counting.get_or_init(|| folder.counting_device())
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
