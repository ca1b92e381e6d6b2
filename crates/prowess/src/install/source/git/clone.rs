//! A bare repository that objects are fetched into. It is written without git, which saves starting a process.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::{FetchedRef, GitVersion, is_id};
use crate::env::Environment;
use crate::fs::atomic::unused_name;
use crate::fs::read::read_small;
use crate::fs::removal::remove_tree;
use crate::install::records::Requested;
use crate::install::spec::is_on_this_machine;
use crate::install::store::make_folder;
use crate::registry::digests;

/// The name of the remote. The user's configuration may contain one that is called `origin`.
pub(super) const REMOTE: &str = "prowess";
/// The most bytes of the small files that git and Prowess write there.
const MAX_SMALL: usize = 1 << 20;

/// A repository for one address.
#[derive(Clone, Debug)]
pub(super) struct Bare {
    pub(super) url: String,
    pub(super) folder: PathBuf,
}

impl Bare {
    pub(super) fn of(clones: &Path, url: &str) -> Self {
        Self { url: url.to_owned(), folder: clones.join(name_of(url)) }
    }

    /// A second one for the same address, for the history of its branches and tags: the first has no history.
    pub(super) fn of_history(clones: &Path, url: &str) -> Self {
        Self { url: url.to_owned(), folder: clones.join(format!("{}-history", name_of(url))) }
    }

    /// The file that every process locks that uses the repository, as long as it may read it.
    pub(super) fn use_file(&self) -> PathBuf {
        self.folder.with_extension("used")
    }

    /// The folder of its objects.
    pub(super) fn objects(&self) -> PathBuf {
        self.folder.join("objects")
    }

    pub(super) fn lock_file(&self) -> PathBuf {
        self.folder.with_extension("lock")
    }

    /// The file that git writes its trace of server responses to, on request.
    pub(super) fn trace_file(&self) -> PathBuf {
        self.folder.join("answer")
    }

    /// Reads and removes the trace.
    pub(super) fn take_trace(&self) -> String {
        let bytes = read_small(&self.trace_file(), MAX_SMALL).unwrap_or_default();
        let _ = fs::remove_file(self.trace_file());
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// The file that is there while git fetches. If git or this process is killed, it stays.
    fn fetching_file(&self) -> PathBuf {
        self.folder.join("fetching")
    }

    /// Records that a fetch begins. A repository that another process has removed has nothing to record.
    pub(super) fn begin_fetch(&self) -> io::Result<()> {
        match fs::write(self.fetching_file(), "") {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Records that a fetch has ended.
    pub(super) fn end_fetch(&self) -> io::Result<()> {
        match fs::remove_file(self.fetching_file()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Whether it is there and no fetch was interrupted: git takes a commit for complete that lacks files. The caller
    /// holds the lock, so no other process fetches.
    pub(super) fn is_complete(&self) -> bool {
        self.is_there() && !self.fetching_file().exists()
    }

    /// Whether it has only the newest commits, without their history.
    pub(super) fn is_shallow(&self) -> bool {
        self.folder.join("shallow").exists()
    }

    pub(super) fn is_there(&self) -> bool {
        let config = self.text("config");
        [false, true].iter().any(|long_ids| config.as_deref() == Some(&self.config(*long_ids)))
    }

    /// Creates it unless it exists and its small files are complete; returns whether it existed. If `long_ids` is set, one
    /// with short ids is created again.
    pub(super) fn open_or_make(&self, long_ids: bool) -> io::Result<bool> {
        let fits = !long_ids || self.text("config").as_deref() == Some(&self.config(true));
        if fits && self.is_complete() && !self.was_left() {
            return Ok(true);
        }
        self.remove()?;
        for folder in ["objects/pack", "refs"] {
            make_folder(&self.folder.join(folder))?;
        }
        fs::write(self.folder.join("HEAD"), "ref: refs/heads/main\n")?;
        // Written last: without it the repository counts as missing.
        fs::write(self.folder.join("config"), self.config(long_ids))?;
        Ok(false)
    }

    pub(super) fn remove(&self) -> io::Result<()> {
        match remove_tree(&self.folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Whether a process was killed while it changed the repository. The caller holds the lock, so no other process
    /// works on it.
    fn was_left(&self) -> bool {
        let left = |folder: &str, is_left: fn(&str) -> bool| {
            let entries = fs::read_dir(self.folder.join(folder)).into_iter().flatten().flatten();
            entries.into_iter().any(|entry| entry.file_name().to_str().is_some_and(is_left))
        };
        left("", |name| name.strip_suffix(".lock").is_some())
            || left("objects/pack", |name| name.starts_with("tmp_"))
    }

    /// Its configuration. `long_ids` is for repositories whose ids are SHA-256.
    fn config(&self, long_ids: bool) -> String {
        let quoted = self.url.replace('\\', "\\\\").replace('"', "\\\"");
        let mut text = String::from("[core]\n\trepositoryformatversion = 1\n\tbare = true\n");
        let partial = !is_on_this_machine(&self.url);
        if partial || long_ids {
            text.push_str("[extensions]\n");
        }
        if long_ids {
            text.push_str("\tobjectformat = sha256\n");
        }
        if partial {
            let _ = writeln!(text, "\tpartialclone = {REMOTE}");
        }
        let _ = writeln!(text, "[remote \"{REMOTE}\"]\n\turl = \"{quoted}\"");
        if partial {
            text.push_str("\tpromisor = true\n\tpartialclonefilter = blob:none\n");
        }
        text
    }

    /// The ids of all refs of the last fetch; none when they are not known.
    pub(super) fn fetched_ids(&self, limit: usize) -> Option<Vec<String>> {
        let text = read_small(&self.folder.join("FETCH_HEAD"), limit).ok()?;
        let text = String::from_utf8_lossy(&text);
        let ids = text.lines().filter_map(|line| line.split('\t').next()).filter(|id| is_id(id));
        Some(ids.map(str::to_owned).collect())
    }

    /// The result of the last fetch.
    pub(super) fn fetched(&self, wanted: &GitVersion) -> Option<FetchedRef> {
        let text = self.text("FETCH_HEAD")?;
        let mut parts = text.lines().next()?.split('\t');
        let id = parts.next().filter(|id| is_id(id))?.to_owned();
        let said = parts.nth(1).unwrap_or_default();
        let requested = match wanted {
            GitVersion::Named(name) if said.starts_with(&format!("branch '{name}' of")) => {
                Some(Requested::Branch(name.clone()))
            }
            GitVersion::Named(name) if said.starts_with(&format!("tag '{name}' of")) => {
                Some(Requested::Tag(name.clone()))
            }
            other => other.requested(),
        };
        Some(FetchedRef { id, requested })
    }

    fn text(&self, name: &str) -> Option<String> {
        String::from_utf8(read_small(&self.folder.join(name), MAX_SMALL).ok()?).ok()
    }
}

/// The name of the folder for an address.
fn name_of(url: &str) -> String {
    digests::short_name(url.as_bytes())
}

/// A temporary folder of this process, which is removed when it is dropped.
#[derive(Debug)]
pub(super) struct Temporary {
    pub(super) path: PathBuf,
}

impl Temporary {
    pub(super) fn new(environment: &Environment) -> io::Result<Self> {
        let path = environment.temporary_folder().join(unused_name());
        #[cfg_attr(not(unix), expect(unused_mut, reason = "only Unix has modes to set"))]
        let mut folder = fs::DirBuilder::new();
        #[cfg(unix)]
        {
            use std::os::unix::fs::DirBuilderExt as _;
            folder.mode(0o700);
        }
        // It must be new, since other users may write there too.
        folder.create(&path)?;
        Ok(Self { path })
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = remove_tree(&self.path);
    }
}
