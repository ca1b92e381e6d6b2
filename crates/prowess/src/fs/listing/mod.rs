//! Lists the files of a skill's folder with bounded work, and says what was left out and why.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use prowess_core::files::is_generated;
use prowess_core::path::MAX_DEPTH;
use prowess_core::{FileEntry, LeftOut, Manifest, RelPath};

use crate::error::{Counted, SourceError, SourceErrorKind};
use crate::fs::dir::{Folder, Kind, Name, Want};
use crate::fs::read::special;
use crate::fs::sandbox::SkillFolder;
use crate::fs::walk::{FILE_NAMES, is_no_part};

/// The maximum number of entries that are listed in a skill's folder: twenty times what a skill may have.
pub const MAX_LISTED_ENTRIES: usize = 10_000;

/// The number of entries from which a folder is listed after the others, so that it does not hide them.
const LARGE_FOLDER: usize = MAX_LISTED_ENTRIES / 10;

/// The maximum number of links to listed folders that are followed. Skills have one or two, if any.
pub const MAX_LISTED_AGAIN: usize = 16;

/// The files of a skill's folder, and what was left out of the list.
#[derive(Clone, Debug, Default)]
pub struct FileListing {
    /// The files, and what was left out.
    pub manifest: Manifest,
    /// Entries that are not part of a skill, such as `.git`.
    pub no_part: Vec<PathBuf>,
    /// Whether a limit cut the list, so that readable files are missing from it.
    pub cut: bool,
}

impl FileListing {
    /// All files of the folder. An error when a limit cut the list.
    pub fn complete(self, folder: &Path) -> Result<Manifest, SourceError> {
        if self.cut {
            let limit = MAX_LISTED_ENTRIES;
            return Err(SourceErrorKind::TooMany { what: Counted::EntriesOfSkill, limit }.at(folder));
        }
        Ok(self.manifest)
    }

    /// The first entry of the folder that no digest of its files covers, if there is one.
    pub fn uncovered(&self) -> Option<&Path> {
        let left_out = self.manifest.left_out.iter().map(|left| Path::new(&left.path));
        left_out.chain(self.no_part.iter().map(PathBuf::as_path)).next()
    }
}

/// Lists the files below a skill's folder.
///
/// A link is followed if its target is inside the folder, or inside the folder that contains the target of a linked
/// SKILL.md. Any other link is reported as left out. `.git` and `node_modules` are not part of a skill.
pub fn list(folder: &Path) -> Result<FileListing, SourceError> {
    list_in(&SkillFolder::first_seen(folder)?)
}

/// Lists the files of a skill whose folder is open.
pub(crate) fn list_in(skill: &SkillFolder<'_>) -> Result<FileListing, SourceError> {
    list_by(skill, false)
}

/// The same for a skill that was installed: only files and folders are a part of it, since an installation creates
/// nothing else. A link, and what is mounted, is left out.
#[cfg(feature = "install")]
pub(crate) fn list_installed(skill: &SkillFolder<'_>) -> Result<FileListing, SourceError> {
    list_by(skill, true)
}

fn list_by(skill: &SkillFolder<'_>, installed: bool) -> Result<FileListing, SourceError> {
    let mut lister = Lister {
        skill,
        installed,
        entries: 0,
        again: 0,
        linked: BTreeSet::new(),
        large: Some(Vec::new()),
        files: Vec::new(),
        left_out: Vec::new(),
        listing: FileListing::default(),
    };
    let failed = |error| SourceError::io(skill.path(), error);
    let root = skill.root().to_list().map_err(failed)?;
    let identity = root.identity().map_err(failed)?;
    lister.folder(&root, "", &mut vec![identity]).map_err(failed)?;
    lister.list_large();
    lister.keep_one_own_file();
    lister.listing.manifest =
        Manifest::new(lister.files).with_left_out(lister.left_out).with_incomplete(lister.listing.cut);
    Ok(lister.listing)
}

/// The device and inode number of a folder.
type Identity = (u64, u64);

struct Lister<'l> {
    skill: &'l SkillFolder<'l>,
    /// Whether links and mounts are left out.
    installed: bool,
    entries: usize,
    /// The number of followed links to folders that are listed under another path too.
    again: usize,
    /// The folders outside the skill that links led to.
    linked: BTreeSet<Identity>,
    /// The large folders, and those that tools generate, with the folders above each. `None` when it is their turn.
    large: Option<Vec<(String, Vec<Identity>)>>,
    files: Vec<FileEntry>,
    left_out: Vec<LeftOut>,
    listing: FileListing,
}

impl Lister<'_> {
    /// Lists one folder. `above` contains its parents and the folder itself.
    fn folder(&mut self, folder: &Folder, prefix: &str, above: &mut Vec<Identity>) -> io::Result<()> {
        let left = MAX_LISTED_ENTRIES.saturating_sub(self.entries);
        if let Some(large) = self.large.as_mut().filter(|_| !prefix.is_empty()) {
            let generated = prefix.rsplit('/').next().is_some_and(is_generated);
            if generated || left > LARGE_FOLDER && folder.entries(LARGE_FOLDER)?.1 {
                large.push((prefix.to_owned(), above.clone()));
                return Ok(());
            }
        }
        let (names, more) = folder.entries(left)?;
        self.entries += names.len();
        // The limit cuts what comes last.
        let mut names = names;
        names.sort_by(|a, b| order(&a.name).cmp(&order(&b.name)).then_with(|| a.name.cmp(&b.name)));
        for Name { name, kind } in names {
            let below =
                |name: &str| if prefix.is_empty() { name.to_owned() } else { format!("{prefix}/{name}") };
            let Some(text) = name.to_str() else {
                self.skip(&below(&name.to_string_lossy()), Unlisted::from("the name is not UTF-8"));
                continue;
            };
            let relative = below(text);
            if is_no_part(text) {
                self.listing.no_part.push(relative.into());
                continue;
            }
            if let Err(reason) = self.entry(folder, Path::new(text), kind, &relative, above) {
                self.skip(&relative, reason);
            }
        }
        // Every folder is named that has entries beyond the limit: what is not looked into can be a script.
        if more {
            self.skip(prefix, Unlisted::from(format!("more than {MAX_LISTED_ENTRIES} entries in the skill")));
            self.listing.cut = true;
        }
        Ok(())
    }

    /// Lists the folders that had to wait, those that tools generate last.
    fn list_large(&mut self) {
        let mut large = self.large.take().unwrap_or_default();
        large.sort_by_key(|(path, _)| path.rsplit('/').next().is_some_and(is_generated));
        for (path, mut above) in large {
            let reached = self.skill.reach(Path::new(&path), Want::Look);
            let folder = reached.map_err(|error| Unlisted::from(error.to_string()));
            let listed = folder.and_then(|(target, _)| {
                let folder = Folder::of(&target, self.skill.path().join(&path))?;
                Ok(self.folder(&folder, &path, &mut above)?)
            });
            if let Err(reason) = listed {
                self.skip(&path, reason);
            }
        }
    }

    /// Lists an entry or the target of a link. An error is the reason why it is left out.
    fn entry(
        &mut self,
        folder: &Folder,
        name: &Path,
        kind: Kind,
        relative: &str,
        above: &mut Vec<Identity>,
    ) -> Result<(), Unlisted> {
        if self.installed {
            if kind == Kind::Link {
                return Err(Unlisted::from("a symlink, which is never installed"));
            }
            if folder.is_mount_point(name)? {
                return Err(Unlisted::from(MOUNTED));
            }
        }
        match kind {
            Kind::Folder => {
                let inner = folder.below(name)?;
                self.enter(&inner, relative, above)
            }
            Kind::Link => self.link(relative, above),
            Kind::File | Kind::Special => {
                let known = folder.known_below(name)?;
                if known.kind != Kind::File {
                    // The path is only needed for the message.
                    let metadata = fs::symlink_metadata(self.skill.path().join(relative))?;
                    return Err(Unlisted::from(format!(
                        "{}, not a regular file",
                        special(metadata.file_type())
                    )));
                }
                self.file(relative, known.size, known.executable)
            }
        }
    }

    fn file(&mut self, relative: &str, size: u64, executable: bool) -> Result<(), Unlisted> {
        let path = RelPath::parse(relative).map_err(|error| Unlisted::from(error.to_string()))?;
        let mut file = FileEntry::new(path, size);
        file.executable = executable;
        self.files.push(file);
        Ok(())
    }

    fn enter(&mut self, folder: &Folder, relative: &str, above: &mut Vec<Identity>) -> Result<(), Unlisted> {
        if above.len() > MAX_DEPTH {
            return Err(Unlisted::from(format!("more than {MAX_DEPTH} folders deep")));
        }
        above.push(folder.identity()?);
        let listed = self.folder(folder, relative, above);
        above.pop();
        Ok(listed?)
    }

    /// Lists the target of a link. The files of a folder are also listed under the path of a link to it, since they can
    /// be read by that path. Links that form a cycle would make endless paths, so only the first few are followed.
    fn link(&mut self, relative: &str, above: &mut Vec<Identity>) -> Result<(), Unlisted> {
        let (target, inside) =
            self.skill.reach(Path::new(relative), Want::Look).map_err(|error| match error {
                SourceError { kind: SourceErrorKind::Outside, .. } => {
                    Unlisted::from("the link leads out of the skill")
                }
                _ => Unlisted::from("the link leads nowhere"),
            })?;
        let metadata = target.metadata()?;
        if metadata.is_file() {
            return self.file(relative, metadata.len(), executable(&metadata));
        }
        if !metadata.is_dir() {
            return Err(Unlisted::from(format!("{}, not a regular file", special(metadata.file_type()))));
        }
        let folder = Folder::of(&target, self.skill.path().join(relative))?;
        let identity = folder.identity()?;
        if above.contains(&identity) {
            return Err(Unlisted::from("the link leads back to a folder above it"));
        }
        // A folder inside the skill is always listed under its own path.
        if inside || !self.linked.insert(identity) {
            self.again += 1;
            if self.again > MAX_LISTED_AGAIN {
                return Err(Unlisted::from(format!(
                    "more than {MAX_LISTED_AGAIN} links to folders that are listed already"
                )));
            }
        }
        self.enter(&folder, relative, above)
    }

    fn skip(&mut self, below: &str, Unlisted { reason, unreadable }: Unlisted) {
        // The path of the folder itself is empty here.
        let path = if below.is_empty() { "." } else { below };
        self.left_out.push(LeftOut::new(path, reason).with_unreadable(unreadable));
    }

    /// Leaves out files whose name differs from that of the SKILL.md only in case: other systems see one file.
    fn keep_one_own_file(&mut self) {
        let is_there = |name: &&str| self.files.iter().any(|file| file.path.as_str() == *name);
        let Some(own) = FILE_NAMES.into_iter().find(is_there) else { return };
        let left_out = &mut self.left_out;
        self.files.retain(|file| {
            let path = file.path.as_str();
            let is_other = path != own && path.eq_ignore_ascii_case(own);
            if is_other {
                left_out.push(LeftOut::new(path, format!("its name and {own} differ only in case")));
            }
            !is_other
        });
    }
}

/// When an entry of a folder is listed: what agents use first, what tools generate last.
fn order(name: &OsStr) -> u8 {
    match name.to_str().unwrap_or_default() {
        "scripts" => 0,
        "references" => 1,
        "assets" => 2,
        name if is_generated(name) => 4,
        _ => 3,
    }
}

/// The reason for an entry that this user may not read.
pub(crate) const DENIED: &str = "permission denied";

/// The reason for an entry of an installed skill that is a mount point.
pub(crate) const MOUNTED: &str = "something is mounted here";

/// Why an entry is not listed.
struct Unlisted {
    reason: String,
    unreadable: bool,
}

impl From<String> for Unlisted {
    fn from(reason: String) -> Self {
        Self { reason, unreadable: false }
    }
}

impl From<&str> for Unlisted {
    fn from(reason: &str) -> Self {
        Self::from(reason.to_owned())
    }
}

impl From<io::Error> for Unlisted {
    fn from(error: io::Error) -> Self {
        let denied = error.kind() == io::ErrorKind::PermissionDenied;
        let reason = if denied { DENIED.to_owned() } else { error.to_string() };
        Self { reason, unreadable: true }
    }
}

/// Adds a skill's folder and the folders below it. Links are not followed.
#[cfg(feature = "watch")]
pub(crate) fn folders_below(folder: &Path, found: &mut Vec<PathBuf>) {
    let start = found.len();
    found.push(folder.to_owned());
    let mut at = start;
    while let Some(folder) = found.get(at).cloned() {
        at += 1;
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let is_no_part = entry.file_name().to_str().is_some_and(is_no_part);
            if found.len() - start >= MAX_LISTED_ENTRIES {
                return;
            }
            if !is_no_part && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                found.push(entry.path());
            }
        }
    }
}

/// Whether the owner of a file may execute it.
pub(crate) fn executable(metadata: &Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        metadata.permissions().mode() & 0o100 != 0
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        false
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
