//! One walk over folders: opens each SKILL.md from the folder above it and lists the inside of no skill.

use std::collections::{BTreeSet, VecDeque};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use prowess_core::Stamp;

use super::ignore::Ignores;
use super::{FILE_NAMES, FileName, MissingRoot, OnError, ScanOptions, is_left_out, is_missing};
use crate::error::SourceError;
use crate::files;
use crate::handle::{Folder, Kind, Links, Name, is_link_error, stamp_of};

/// What the walk has in hand when it found a SKILL.md.
#[derive(Debug)]
pub(crate) enum Opened {
    /// The open file and its state.
    File(File, Stamp),
    /// Its state only, since the visitor knows this state.
    Known(Stamp),
    /// Why it cannot be read.
    Failed(SourceError),
}

/// Who is told of every SKILL.md.
pub(crate) trait Visitor {
    /// Whether the file need not be opened, because its contents in this state are known.
    fn is_known(&mut self, path: &Path, stamp: &Stamp) -> bool;

    /// Whether asking [`Self::is_known`] is worth a look at the file before opening it.
    fn knows_anything(&self) -> bool {
        true
    }

    /// A folder is about to be listed.
    fn entered(&mut self, _: &Path) {}

    /// There is a link that may lead to a folder, now or later.
    fn linked(&mut self, _: &Path) {}

    /// A SKILL.md was found. An error ends the walk.
    fn found(&mut self, path: PathBuf, opened: Opened) -> Result<(), SourceError>;
}

/// Walks over a folder and all below it; returns what could not be looked into and the limits that were reached.
pub(crate) fn walk(root: &Path, options: &ScanOptions, visitor: &mut impl Visitor) -> Vec<SourceError> {
    let mut walk = Walk {
        options,
        visitor,
        problems: Vec::new(),
        folders: VecDeque::new(),
        links: VecDeque::new(),
        linked_files: Vec::new(),
        seen_folders: BTreeSet::new(),
        found_files: Vec::new(),
        seen_files: BTreeSet::new(),
        entries: 0,
        counted: 0,
        outside: 0,
    };
    if let Err(problem) = walk.run(root) {
        walk.problems.push(problem);
    }
    if options.on_error == OnError::Ignore {
        walk.problems
            .retain(|problem| matches!(problem, SourceError::TooMany { .. } | SourceError::TooDeep { .. }));
    }
    walk.problems
}

/// A folder to look into.
struct Place {
    path: PathBuf,
    depth: usize,
    /// Only links lead here.
    linked: bool,
    ignores: Option<Rc<Ignores>>,
}

/// The device and number of a file or folder.
type Identity = (u64, u64);

struct Walk<'w, V> {
    options: &'w ScanOptions,
    visitor: &'w mut V,
    problems: Vec<SourceError>,
    folders: VecDeque<Place>,
    /// Links wait until everything that can be reached without them is known, so that the plain path wins.
    links: VecDeque<Place>,
    linked_files: Vec<PathBuf>,
    seen_folders: BTreeSet<Identity>,
    /// The files found so far; a set of them is made when a link needs one.
    found_files: Vec<Identity>,
    seen_files: BTreeSet<Identity>,
    entries: usize,
    counted: usize,
    outside: usize,
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
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                return Err(SourceError::NotFolder { path: root.to_owned() });
            }
            Err(error) => return Err(SourceError::io(root, error)),
        };
        let start = Place { path: root.to_owned(), depth: 0, linked: false, ignores: None };
        if !(self.probe(&folder, root, Path::new(""), false)? && self.options.stop_at_skill) {
            self.look_into(&folder, &start)?;
        }
        loop {
            if let Some(place) = self.folders.pop_front() {
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

    /// A problem that ends the walk or is noted, as the options say.
    fn note(&mut self, problem: SourceError) -> Result<(), SourceError> {
        if self.options.on_error == OnError::Fail {
            return Err(problem);
        }
        self.problems.push(problem);
        Ok(())
    }

    fn enter(&mut self, place: &Place) -> Result<(), SourceError> {
        match Folder::open(&place.path) {
            Ok(folder) => self.look_into(&folder, place),
            // A folder that vanished since it was listed is no problem of anyone.
            Err(error) if is_missing(&error) => Ok(()),
            Err(error) => self.note(SourceError::io(&place.path, error)),
        }
    }

    fn enter_link(&mut self, place: Place) -> Result<(), SourceError> {
        let folder = match Folder::open(&place.path) {
            Ok(folder) => folder,
            // A link to a file, or to nothing, is no folder to look into.
            Err(error) if is_missing(&error) || is_link_error(&error) => return Ok(()),
            Err(error) => return self.note(SourceError::io(&place.path, error)),
        };
        let identity = folder.identity().map_err(|error| SourceError::io(&place.path, error))?;
        if self.seen_folders.contains(&identity) || !self.count_outside(&place.path)? {
            return Ok(());
        }
        if self.probe(&folder, &place.path, Path::new(""), true)? && self.options.stop_at_skill {
            return Ok(());
        }
        self.look_into(&folder, &place)
    }

    /// Counts a folder that only links lead to; false when there were too many, which is said once.
    fn count_outside(&mut self, path: &Path) -> Result<bool, SourceError> {
        self.outside += 1;
        let limit = self.options.max_outside;
        if self.outside == limit + 1 {
            self.note(SourceError::TooMany { path: path.to_owned(), what: "folders behind links", limit })?;
        }
        Ok(self.outside <= limit)
    }

    fn count(&mut self, path: &Path) -> Result<(), SourceError> {
        self.counted += 1;
        let limit = self.options.max_folders;
        if self.counted > limit {
            return Err(SourceError::TooMany { path: path.to_owned(), what: "folders", limit });
        }
        Ok(())
    }

    /// Looks at every folder in a folder.
    fn look_into(&mut self, folder: &Folder, place: &Place) -> Result<(), SourceError> {
        let failed = |error| SourceError::io(&place.path, error);
        if !self.seen_folders.insert(folder.identity().map_err(failed)?) {
            return Ok(());
        }
        self.count(&place.path)?;
        self.visitor.entered(&place.path);
        let left = self.options.max_entries - self.entries.min(self.options.max_entries);
        let (names, more) = match folder.entries(left) {
            Ok(names) => names,
            Err(error) => return self.note(failed(error)),
        };
        self.entries += names.len();
        let ignores = self.ignores(folder, place, &names);
        let mut too_deep = None;
        for Name { name, kind } in names {
            if !matches!(kind, Kind::Folder | Kind::Link) || is_left_out(&name, self.options) {
                continue;
            }
            let path = place.path.join(&name);
            if ignores.as_ref().is_some_and(|ignores| ignores.leaves_out(&path)) {
                continue;
            }
            if place.depth >= self.options.max_depth {
                if kind == Kind::Folder {
                    too_deep.get_or_insert(path);
                }
                continue;
            }
            let below =
                Place { path, depth: place.depth + 1, linked: place.linked, ignores: ignores.clone() };
            if kind == Kind::Link {
                self.visitor.linked(&below.path);
                self.links.push_back(Place { linked: true, ..below });
                continue;
            }
            if below.linked && !self.count_outside(&below.path)? {
                continue;
            }
            if self.probe(folder, &below.path, Path::new(&name), below.linked)? && self.options.stop_at_skill
            {
                continue;
            }
            self.folders.push_back(below);
        }
        if more {
            let limit = self.options.max_entries;
            return Err(SourceError::TooMany { path: place.path.clone(), what: "entries", limit });
        }
        match too_deep {
            Some(path) => self.note(SourceError::TooDeep { path, limit: self.options.max_depth }),
            None => Ok(()),
        }
    }

    fn ignores(&self, folder: &Folder, place: &Place, names: &[Name]) -> Option<Rc<Ignores>> {
        if !self.options.gitignore {
            return None;
        }
        let own = names.iter().any(|name| name.name == ".gitignore");
        let file = own.then(|| folder.open_below(Path::new(".gitignore"), Links::Refuse).ok()).flatten();
        match file.and_then(|file| files::read_text(file, super::ignore::MAX_BYTES)) {
            Some(text) => Some(Rc::new(Ignores::new(&place.path, &text, place.ignores.clone()))),
            None => place.ignores.clone(),
        }
    }

    /// Whether the folder `below` (empty for the folder itself) is a skill; if so, the visitor is told.
    fn probe(
        &mut self,
        folder: &Folder,
        path: &Path,
        below: &Path,
        linked: bool,
    ) -> Result<bool, SourceError> {
        let options = self.options;
        let found = match &options.file_name {
            FileName::Either => {
                let [first, second] = FILE_NAMES;
                self.probe_file(folder, path, below, first.as_ref(), linked)?
                    || self.probe_file(folder, path, below, second.as_ref(), linked)?
            }
            FileName::Exact(name) => self.probe_file(folder, path, below, name.as_ref(), linked)?,
            FileName::AnyCase(name) => {
                let inside = Folder::open(path).and_then(|inside| inside.entries(options.max_entries));
                let entries = inside.map(|(names, _)| names).unwrap_or_default();
                let same =
                    |entry: &Name| entry.name.to_str().is_some_and(|other| other.eq_ignore_ascii_case(name));
                let mut names: Vec<_> = entries.into_iter().filter(same).map(|entry| entry.name).collect();
                // The name as given wins over other spellings of it.
                names.sort_by_key(|found| found.to_str() != Some(name.as_str()));
                let mut found = false;
                for name in names {
                    found = found || self.probe_file(folder, path, below, &name, linked)?;
                }
                found
            }
        };
        if found && !below.as_os_str().is_empty() {
            self.count(path)?;
        }
        Ok(found)
    }

    fn probe_file(
        &mut self,
        folder: &Folder,
        path: &Path,
        below: &Path,
        name: &OsStr,
        linked: bool,
    ) -> Result<bool, SourceError> {
        let (path, below) = (path.join(name), below.join(name));
        let below = below.as_path();
        if self.visitor.knows_anything()
            && let Ok((stamp, Kind::File)) = folder.state_below(below)
            && self.visitor.is_known(&path, &stamp)
        {
            if self.is_first(&stamp, linked) {
                self.visitor.found(path, Opened::Known(stamp))?;
            }
            return Ok(true);
        }
        match folder.open_below(below, Links::Refuse) {
            Ok(file) => self.take(path, file, linked),
            Err(error) if is_missing(&error) => Ok(false),
            Err(error) if is_link_error(&error) => {
                // The loop may be in the folder and not in the file.
                if matches!(folder.state_below(below), Ok((_, Kind::Link))) {
                    self.linked_files.push(path);
                    return Ok(true);
                }
                Ok(false)
            }
            // A folder that may not be looked into is said to be so when it is its turn.
            Err(error)
                if error.kind() == io::ErrorKind::PermissionDenied && folder.state_below(below).is_err() =>
            {
                Ok(false)
            }
            Err(error) => {
                self.visitor.found(path.clone(), Opened::Failed(SourceError::io(&path, error)))?;
                Ok(true)
            }
        }
    }

    /// Tells the visitor of an open file; false when it is a folder.
    fn take(&mut self, path: PathBuf, file: File, linked: bool) -> Result<bool, SourceError> {
        let opened = match file.metadata() {
            Ok(metadata) if metadata.is_dir() => return Ok(false),
            Ok(metadata) => match files::regular(&path, &metadata) {
                Ok(()) => {
                    let stamp = stamp_of(&metadata);
                    if !self.is_first(&stamp, linked) {
                        return Ok(true);
                    }
                    Opened::File(file, stamp)
                }
                Err(problem) => Opened::Failed(problem),
            },
            Err(error) => Opened::Failed(SourceError::io(&path, error)),
        };
        self.visitor.found(path, opened)?;
        Ok(true)
    }

    /// A SKILL.md that is itself a link: one skill with its target, if that was found.
    fn take_link(&mut self, path: PathBuf) -> Result<(), SourceError> {
        let folder = path.parent().map(Folder::open);
        let file = match (folder, path.file_name()) {
            (Some(Ok(folder)), Some(name)) => folder.open_below(Path::new(name), Links::Follow),
            (Some(Err(error)), _) => Err(error),
            _ => return Ok(()),
        };
        match file {
            Ok(file) => self.take(path, file, true).map(|_| ()),
            // A link that leads nowhere is found all the same: reading it says what is wrong.
            Err(error) => self.visitor.found(path.clone(), Opened::Failed(SourceError::io(&path, error))),
        }
    }

    /// Whether a file was not found before; only what links lead to can have been.
    fn is_first(&mut self, stamp: &Stamp, linked: bool) -> bool {
        let identity = (stamp.device, stamp.inode);
        if !linked || stamp.inode == 0 {
            self.found_files.push(identity);
            return true;
        }
        self.seen_files.extend(self.found_files.drain(..));
        self.seen_files.insert(identity)
    }
}
