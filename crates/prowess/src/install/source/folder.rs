//! A folder on this machine, read through its open handle: no link leads out of it, even if it changes while it is
//! read.

use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::contents::{Contents, Item, Kind, Planned};
use super::tree::{InstallLimits, TreeFile, refused};
use crate::fs::dir::{self, Folder, Links};
use crate::fs::listing;
use crate::install::error::{InstallError, InstallErrorKind};

/// The most entries of one folder.
const MAX_ENTRIES: usize = 100_000;

/// An open folder.
#[derive(Debug)]
pub(super) struct FolderContents {
    root: Folder,
    path: PathBuf,
    /// The folder of installed skills below it, which is no source.
    without: Option<String>,
    /// The SKILL.md files that were read for their names, so that none is read twice.
    heads: BTreeMap<String, TreeFile>,
    /// The entries of each folder: the search for skills and the reading of files both need them.
    listed: BTreeMap<String, Arc<[Item]>>,
}

impl FolderContents {
    pub(super) fn open(path: &Path) -> Result<Self, InstallError> {
        let root = Folder::open(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                let message = format!("there is no such folder: {}", path.display());
                InstallError::new(
                    InstallErrorKind::NotFound,
                    message,
                    "check the path, then run the command again",
                )
            }
            io::ErrorKind::NotADirectory => {
                let message = format!("this is no folder: {}", path.display());
                InstallError::new(InstallErrorKind::Request, message, "name the folder that holds SKILL.md")
            }
            io::ErrorKind::PermissionDenied => InstallError::io("open the folder", path, error)
                .with_hint("make the folder readable for this user, then run the command again"),
            _ => InstallError::io("open the folder", path, error),
        })?;
        Ok(Self {
            root,
            path: path.to_owned(),
            without: None,
            heads: BTreeMap::new(),
            listed: BTreeMap::new(),
        })
    }

    /// Leaves out the folder of installed skills, if it is below this one.
    pub(super) fn without(mut self, installed: Option<&Path>) -> Self {
        let real = |path: &Path| std::fs::canonicalize(path).ok();
        let both = installed.and_then(real).zip(real(&self.path));
        let below =
            both.and_then(|(installed, source)| Some(installed.strip_prefix(source).ok()?.to_owned()));
        self.without =
            below.and_then(|below| below.to_str().map(str::to_owned)).filter(|below| !below.is_empty());
        self
    }

    fn failed(&self, doing: &str, below: &str, error: io::Error) -> InstallError {
        // A folder on the path was replaced by a link after it was listed.
        if dir::leads_out(&error) || dir::is_link_error(&error) {
            return refused(format!(
                "this was replaced while it was read: {}",
                self.path.join(below).display()
            ));
        }
        InstallError::io(doing, &self.path.join(below), error)
    }

    fn folder(&self, below: &str) -> Result<Folder, InstallError> {
        let opened = if below.is_empty() {
            self.root.to_list()
        } else {
            self.root.folder_without_links(below.as_ref())
        };
        opened.map_err(|error| self.failed("open the folder", below, error))
    }

    /// Reads a SKILL.md, and caches it.
    pub(super) fn read_head(&mut self, planned: &Planned, limits: &InstallLimits) -> Option<Arc<[u8]>> {
        let file = self.read(planned, limits).ok()?;
        let bytes = Arc::clone(&file.bytes);
        self.heads.insert(planned.real.clone(), file);
        Some(bytes)
    }

    /// Reads a file. Anything but a regular file is refused, and a file that is too large is not read.
    pub(super) fn read(&self, planned: &Planned, limits: &InstallLimits) -> Result<TreeFile, InstallError> {
        if let Some(head) = self.heads.get(&planned.real) {
            return Ok(TreeFile { path: planned.path.clone(), ..head.clone() });
        }
        let failed = |error| self.failed("read the file", &planned.real, error);
        let file = self.root.open_below(planned.real.as_ref(), Links::RefuseAll).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if !metadata.is_file() {
            return Err(refused(format!("this is no regular file: {}", planned.real)));
        }
        limits.check_file(planned.path.as_str(), metadata.len())?;
        let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or_default());
        // It may grow while it is read.
        file.take(limits.file_bytes.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
        limits.check_file(planned.path.as_str(), bytes.len() as u64)?;
        let executable = listing::executable(&metadata);
        Ok(TreeFile { path: planned.path.clone(), executable, bytes: bytes.into() })
    }
}

impl Contents for FolderContents {
    fn list(&mut self, folder: &str) -> Result<Arc<[Item]>, InstallError> {
        if let Some(items) = self.listed.get(folder) {
            return Ok(Arc::clone(items));
        }
        let listed = self.folder(folder)?.first_entries(MAX_ENTRIES);
        let (names, more) = listed.map_err(|error| self.failed("list the folder", folder, error))?;
        if more {
            let message = format!("the folder has more than {MAX_ENTRIES} entries: {folder}");
            return Err(InstallError::new(
                InstallErrorKind::TooLarge,
                message,
                "name the folder of the skill itself",
            ));
        }
        let item = |entry: dir::Name| {
            let text = entry.name.to_str().is_some();
            let kind = match entry.kind {
                _ if !text => Kind::Other("a name that is not UTF-8"),
                // Whether it is executable is read from the open file later.
                dir::Kind::File => Kind::File { executable: false },
                dir::Kind::Folder => Kind::Folder,
                dir::Kind::Link => Kind::Link,
                dir::Kind::Special => Kind::Other("a device, a FIFO or a socket"),
            };
            Item { name: entry.name.to_string_lossy().into_owned(), kind, id: String::new() }
        };
        let is_source = |item: &Item| {
            let path = if folder.is_empty() { item.name.clone() } else { format!("{folder}/{}", item.name) };
            self.without.as_deref() != Some(&*path)
        };
        let items: Arc<[Item]> = names.into_iter().map(item).filter(is_source).collect();
        self.listed.insert(folder.to_owned(), Arc::clone(&items));
        Ok(items)
    }

    fn is_passed_over(&self, item: &Item) -> bool {
        prowess_core::internal::is_passed_over(&item.name) && item.kind == Kind::Folder
            || item.name == ".git" && !matches!(item.kind, Kind::Other(_))
    }

    fn target(&mut self, folder: &str, link: &Item) -> Result<Option<String>, InstallError> {
        let failed = |error| self.failed("read the link", folder, error);
        let target = self.folder(folder)?.link_target(&link.name).map_err(failed)?;
        let text = target.to_str().map(str::to_owned);
        text.map(Some)
            .ok_or_else(|| refused(format!("a link leads to a name that is not UTF-8: {}", link.name)))
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
