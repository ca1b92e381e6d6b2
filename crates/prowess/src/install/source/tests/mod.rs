//! Tests of fetching with real repositories: over `file://`, by git's own daemon and by HTTP, all on this machine.

#![allow(clippy::disallowed_methods, clippy::similar_names, reason = "these are tests")]

mod hostile;
mod http;
mod local;
mod reachable;
mod repositories;
mod servers;
mod several;
mod versions;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use prowess_testing::without_settings;

use super::git::GitVersion;
use super::*;
use crate::install::plan::prepare::Prepared;
use crate::install::records::LockedSkill;

/// Settings of the caller that would change what git does, and that the code does not set itself.
const INHERITED: &str = "GIT_CONFIG_COUNT GIT_CONFIG_PARAMETERS GIT_SSH_COMMAND GIT_TEMPLATE_DIR \
     all_proxy http_proxy https_proxy no_proxy ALL_PROXY HTTP_PROXY HTTPS_PROXY NO_PROXY";

/// A folder with repositories, a store, and a git that knows no configuration but its own.
struct World {
    folder: tempfile::TempDir,
    program: String,
}

impl World {
    /// Nothing without git, which is said.
    fn new() -> Option<Self> {
        if !Command::new("git").arg("--version").output().is_ok_and(|output| output.status.success()) {
            println!("skipped: git is not installed here");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("git-alone");
        fs::write(folder.path().join("gitconfig"), "").unwrap();
        // Written by another process: one that this process still had open for writing could not be started.
        let script = format!(
            "printf '#!/bin/sh\\nunset %s\\nexport GIT_CONFIG_GLOBAL=%s GIT_CONFIG_NOSYSTEM=1 HOME=%s\\nexec git \"$@\"\\n' \
             '{INHERITED}' '{0}/gitconfig' '{0}' > '{0}/git-alone' && chmod +x '{0}/git-alone'",
            folder.path().display()
        );
        assert!(Command::new("sh").args(["-c", &script]).status().unwrap().success());
        Some(Self { program: program.to_str().unwrap().to_owned(), folder })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs git in a repository, and gives what it says.
    fn git(&self, repository: &str, arguments: &[&str]) -> String {
        self.git_with(repository, arguments, b"")
    }

    fn git_with(&self, repository: &str, arguments: &[&str], input: &[u8]) -> String {
        let mut child = without_settings(&mut Command::new(&self.program))
            .current_dir(self.path(repository))
            .args(["-c", "user.name=T", "-c", "user.email=t@t", "-c", "core.autocrlf=false"])
            .args(["-c", "protocol.file.allow=always", "-c", "core.protectNTFS=false"])
            .args(arguments)
            .env("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z")
            .env("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A skill in a folder.
    fn skill(&self, folder: &str) {
        let name = folder.rsplit('/').next().unwrap();
        self.write(
            &format!("{folder}/SKILL.md"),
            &format!("---\nname: {name}\ndescription: Does {name}.\nversion: 1.2.0\n---\n"),
        );
        self.write(&format!("{folder}/scripts/run.sh"), "echo\n");
    }

    fn init(&self, repository: &str) {
        fs::create_dir_all(self.path(repository)).unwrap();
        self.git(repository, &["init", "--quiet", "--initial-branch=main"]);
        self.git(repository, &["config", "uploadpack.allowFilter", "true"]);
    }

    fn commit(&self, repository: &str) -> String {
        self.git(repository, &["add", "--all"]);
        self.git(repository, &["commit", "--quiet", "--allow-empty", "--message=x"]);
        self.git(repository, &["rev-parse", "HEAD"])
    }

    /// A repository with the skills `a` and `b`, and a file that is none of theirs.
    fn two_skills(&self) -> String {
        self.init("repo");
        self.skill("repo/skills/a");
        self.skill("repo/skills/b");
        self.write("repo/unrelated.bin", "unrelated\n");
        self.commit("repo")
    }

    fn url(&self, repository: &str) -> String {
        format!("file://{}", self.path(repository).display())
    }

    fn fetcher_with(&self, options: FetchOptions) -> Fetcher {
        let store = Store::at(self.path("store"));
        let git = GitCommand::new(self.path("store/git"), Environment::of([]), options.git);
        let git = git.with_received(Arc::clone(&options.received));
        Fetcher::with_git(store, Arc::new(git.with_program(&self.program)), options)
    }

    fn fetcher(&self) -> Fetcher {
        self.fetcher_with(FetchOptions::default())
    }

    /// The only repository that was fetched into.
    fn bare(&self) -> PathBuf {
        let entries = fs::read_dir(self.path("store/git")).unwrap().map(|entry| entry.unwrap().path());
        let mut folders: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
        assert_eq!(folders.len(), 1);
        folders.remove(0)
    }
}

impl Fetcher {
    fn find_asked(&self, asked: &InstallSpec) -> Result<Available, InstallError> {
        self.find(&self.resolve(asked)?)
    }
}

/// Takes all skills of a place.
fn take(fetcher: &Fetcher, text: &str) -> Result<Vec<Prepared>, InstallError> {
    let mut found = fetcher.find_asked(&text.parse()?)?;
    // Also those with one name, which cannot be installed together.
    let all = found.named(&[], true)?;
    fetcher.take(&mut found, &all, Refusal::OfAll)?.into_iter().collect()
}

fn names(found: &Available) -> Vec<&str> {
    found.skills.iter().map(|skill| skill.name.as_str()).collect()
}

fn locked(skill: &Prepared) -> LockedSkill {
    skill.locked.clone()
}

fn empty_store(world: &World) {
    let _ = fs::remove_dir_all(world.path("store/trees"));
}

fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}
