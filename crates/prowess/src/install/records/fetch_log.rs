//! [`FetchLog`]: which skills this user fetched and accepted, and from where. A lock that came with a repository can name any source
//! beside bytes that are not from there.
//!
//! It is in the user's state folder: a line for each skill with its digest, source, path and commit. Lines are only
//! appended. A skill whose line is lost or damaged counts as not fetched.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use prowess_core::{Digest, RelPath};

use super::skills_lock::LockedSkill;
use super::upstream::{FOLDER, Upstream};
use crate::fs::{atomic, own};
use crate::install::verify::compare::Listing;
use crate::internal::locked;

/// The largest file that is read.
const MAX_BYTES: usize = 64 << 20;

/// The log of a user, read once.
#[derive(Debug)]
pub(crate) struct FetchLog {
    state: PathBuf,
    file: PathBuf,
    lines: Mutex<Option<BTreeSet<String>>>,
    /// What was fetched and not accepted yet, which this process knows and no later one.
    noted: Mutex<BTreeSet<String>>,
}

impl FetchLog {
    /// The log in the state folder of a user.
    pub(crate) fn of(state: &Path) -> Self {
        let (state, file) = (state.to_owned(), state.join("install/fetched"));
        Self { state, file, lines: Mutex::default(), noted: Mutex::default() }
    }

    /// Whether this user fetched a skill from the source that its lock entry names.
    pub(crate) fn has(&self, skill: &LockedSkill) -> bool {
        let line = line(skill);
        self.any(&line, |one| *one == line)
    }

    /// Whether this user accepted a skill of this commit from this source.
    pub(crate) fn has_commit(&self, source: &Upstream, commit: &str) -> bool {
        let source = source.to_string();
        let mut lines = locked(&self.lines);
        let lines = lines.get_or_insert_with(|| self.read());
        lines.iter().any(|line| {
            let mut parts = line.split('\t');
            (parts.nth(1), parts.nth(1)) == (Some(&*source), Some(commit))
        })
    }

    /// Whether this user fetched files with this digest, from any source.
    pub(crate) fn has_tree(&self, digest: Digest) -> bool {
        let start = format!("{digest}\t");
        self.any(&start, |line| line.starts_with(&start))
    }

    /// Whether files with this digest came from a source: this log knows them, or the store.
    pub(crate) fn is_from_source(&self, digest: Digest, listing: Listing<'_>) -> bool {
        self.has_tree(digest) || listing(digest).is_some()
    }

    /// Whether files with this digest came from a source, and never from a folder, where the user may have written them.
    pub(crate) fn is_from_repository(&self, digest: Digest, listing: Listing<'_>) -> bool {
        let start = format!("{digest}\t{FOLDER}");
        !self.any(&start, |line| line.starts_with(&start)) && self.is_from_source(digest, listing)
    }

    /// Whether the first line that is not before a text is the one that is meant, among those that were accepted or those
    /// that were not yet.
    fn any(&self, from: &str, is_meant: impl Fn(&String) -> bool) -> bool {
        let is_there =
            |lines: &BTreeSet<String>| lines.range(from.to_owned()..).next().is_some_and(&is_meant);
        is_there(&locked(&self.noted)) || is_there(locked(&self.lines).get_or_insert_with(|| self.read()))
    }

    /// Notes skills that were just fetched, for this process: the user may still decline them.
    pub(crate) fn note<'s>(&self, skills: impl Iterator<Item = &'s LockedSkill>) {
        locked(&self.noted).extend(skills.map(line));
    }

    /// Forgets what was noted and not added, since the user declined it.
    pub(crate) fn forget(&self) {
        locked(&self.noted).clear();
    }

    /// Records skills that were noted and that the user accepts. Skills that were not fetched by this process are not
    /// recorded.
    pub(crate) fn add_noted<'s>(&self, skills: impl Iterator<Item = &'s LockedSkill>) {
        let is_noted = |skill: &&LockedSkill| locked(&self.noted).contains(&line(skill));
        let skills: Vec<&LockedSkill> = skills.filter(is_noted).collect();
        self.add(skills.into_iter());
    }

    /// Records skills that were fetched. If the file cannot be written, only later commands do not know it.
    pub(crate) fn add<'s>(&self, skills: impl Iterator<Item = &'s LockedSkill>) {
        let mut lines = locked(&self.lines);
        let lines = lines.get_or_insert_with(|| self.read());
        let new: Vec<String> = skills.map(line).filter(|line| lines.insert(line.clone())).collect();
        if !new.is_empty() {
            let _ = self.append(&new);
        }
    }

    fn read(&self) -> BTreeSet<String> {
        let bytes = own::read(&self.state, &self.file, MAX_BYTES).unwrap_or_default();
        String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect()
    }

    fn append(&self, lines: &[String]) -> io::Result<()> {
        // Synced, since the journal is in the same folder.
        self.file.parent().map_or(Ok(()), |folder| atomic::make_own_folders(Some(&self.state), folder))?;
        let mut options = File::options();
        options.append(true).create(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt as _;
            // A link could lead to any file of the user.
            options.mode(0o600).custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed());
        }
        // In one write, so that processes do not mix their lines. It begins on a new line, since a killed process may
        // have written only a part of its last one.
        options.open(&self.file)?.write_all(format!("\n{}\n", lines.join("\n")).as_bytes())
    }
}

fn line(skill: &LockedSkill) -> String {
    let path = skill.path.as_ref().map(RelPath::as_str).unwrap_or_default();
    let commit = skill.commit.as_deref().unwrap_or_default();
    // No part of a lock has control characters.
    format!("{}\t{}\t{path}\t{commit}", skill.digest_text(), skill.source)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::fs::read::read_small;

    fn repository(name: &str) -> Upstream {
        Upstream::Git { url: format!("https://h/{name}.git") }
    }

    fn digest(name: &str) -> Digest {
        crate::registry::digests::of_bytes(name.as_bytes())
    }

    fn skill(name: &str, commit: &str) -> LockedSkill {
        let (digest, commit) = (Some(digest(name)), Some(commit.to_owned()));
        LockedSkill { commit, digest, ..LockedSkill::of("x", repository("x")) }
    }

    #[test]
    fn a_skill_counts_as_fetched_from_the_same_source_and_commit_only() {
        let folder = tempfile::tempdir().unwrap();
        let log = FetchLog::of(folder.path());
        assert!(!log.has(&skill("a", "1")));
        log.add([skill("a", "1"), skill("b", "1")].iter());
        for log in [&log, &FetchLog::of(folder.path())] {
            assert!(log.has(&skill("a", "1")) && log.has(&skill("b", "1")));
            assert!(log.has_commit(&repository("x"), "1") && !log.has_commit(&repository("x"), "2"));
            assert!(!log.has_commit(&repository("y"), "1"));
            assert!(log.has_tree(digest("a")) && log.has_tree(digest("b")) && !log.has_tree(digest("c")));
            let other = LockedSkill { source: repository("y"), ..skill("a", "1") };
            let below = LockedSkill { path: RelPath::parse("p").ok(), ..skill("a", "1") };
            for other in [skill("a", "2"), skill("c", "1"), other, below] {
                assert!(!log.has(&other), "{other:?}");
            }
        }
        // A line that was cut off spoils no other.
        let file = folder.path().join("install/fetched");
        fs::write(&file, "sha256:cut").unwrap();
        FetchLog::of(folder.path()).add([skill("a", "1")].iter());
        assert!(FetchLog::of(folder.path()).has(&skill("a", "1")));
    }

    #[test]
    fn what_was_fetched_and_not_accepted_is_known_to_this_process_only() {
        let folder = tempfile::tempdir().unwrap();
        let log = FetchLog::of(folder.path());
        let (one, two) = (skill("a", "1"), skill("b", "2"));
        log.note([&one, &two].into_iter());
        assert!(log.has(&one) && log.has_tree(digest("b")) && !log.has_commit(&repository("x"), "1"));
        assert!(!FetchLog::of(folder.path()).has(&one));
        log.add_noted([&one, &skill("c", "3")].into_iter());
        log.forget();
        for log in [&log, &FetchLog::of(folder.path())] {
            assert!(log.has(&one) && log.has_commit(&repository("x"), "1"));
            assert!(!log.has(&two) && !log.has_tree(digest("b")) && !log.has_tree(digest("c")));
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_log_that_is_a_link_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let victim = folder.path().join("victim");
        fs::write(&victim, "mine").unwrap();
        fs::create_dir(folder.path().join("install")).unwrap();
        std::os::unix::fs::symlink(&victim, folder.path().join("install/fetched")).unwrap();
        FetchLog::of(folder.path()).add([skill("a", "1")].iter());
        assert_eq!(read_small(&victim, 100).unwrap(), b"mine");
    }

    #[test]
    fn a_log_that_cannot_be_written_is_known_to_this_command() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("install"), "a file").unwrap();
        let log = FetchLog::of(folder.path());
        log.add([skill("a", "1")].iter());
        assert!(log.has(&skill("a", "1")) && !FetchLog::of(folder.path()).has(&skill("a", "1")));
    }
}
