//! A host's own git in place of the command `git`.

use std::collections::BTreeMap;

use prowess::install::{
    FetchedRef, Git, GitEntry, GitObject, GitVersion, InstallError, InstallErrorKind, InstallScope,
};

use crate::installer::{Desk, reference, skill, text};

const COMMIT: &str = "1111111111111111111111111111111111111111";
const TREE: &str = "2222222222222222222222222222222222222222";
const FILE: &str = "3333333333333333333333333333333333333333";

/// Repositories in memory: each has one file, by its address and its path.
#[derive(Debug)]
struct InMemory(BTreeMap<&'static str, (&'static str, String)>);

impl InMemory {
    fn file(&self, url: &str) -> Result<&(&'static str, String), InstallError> {
        let message = format!("no such repository: {url}");
        self.0.get(url).ok_or_else(|| InstallError::new(InstallErrorKind::NotFound, message, "name another"))
    }
}

impl Git for InMemory {
    fn refs(&self, _: &str) -> Result<Vec<String>, InstallError> {
        Ok(vec!["refs/heads/main".to_owned()])
    }

    fn fetch(&self, url: &str, version: &GitVersion) -> Result<FetchedRef, InstallError> {
        self.file(url)?;
        Ok(FetchedRef { id: COMMIT.to_owned(), requested: version.requested() })
    }

    fn tree(&self, url: &str, _: &str) -> Result<Option<Vec<GitEntry>>, InstallError> {
        let (path, _) = self.file(url)?;
        Ok(Some(vec![GitEntry { mode: 0o100_644, id: FILE.to_owned(), path: path.as_bytes().to_vec() }]))
    }

    fn objects(&self, url: &str, names: &[String], _: usize) -> Result<Vec<Option<GitObject>>, InstallError> {
        let (_, text) = self.file(url)?;
        let object = |name: &String| {
            let (id, text) = if name.starts_with(COMMIT) {
                (COMMIT, format!("tree {TREE}\n"))
            } else {
                (FILE, text.clone())
            };
            Some(GitObject { id: id.to_owned(), bytes: text.into_bytes() })
        };
        Ok(names.iter().map(object).collect())
    }

    fn sizes(&self, url: &str, names: &[String]) -> Result<Vec<Option<u64>>, InstallError> {
        let (_, text) = self.file(url)?;
        Ok(names.iter().map(|_| Some(text.len() as u64)).collect())
    }

    fn bring(&self, _: &str, _: &[String]) -> Result<(), InstallError> {
        Ok(())
    }

    fn refetch(&self, _: &str, _: &str) -> Result<(), InstallError> {
        Ok(())
    }

    fn reachable(&self, url: &str, commits: &[String]) -> Result<Vec<bool>, InstallError> {
        self.file(url)?;
        Ok(commits.iter().map(|commit| commit == COMMIT).collect())
    }
}

#[test]
fn a_host_can_replace_git_and_its_answers_are_checked_like_those_of_a_server() {
    let desk = Desk::new();
    let files = [
        ("https://host.example/pdf.git", ("SKILL.md", skill("pdf", "in memory"))),
        ("https://host.example/evil.git", ("../SKILL.md", skill("evil", "outside"))),
    ];
    let installer = desk
        .installer()
        .with_git(InMemory(files.into()))
        .with_registry("host", "https://host.example/{name}.git");
    let folder = installer.install(&reference("@host/pdf"), InstallScope::Project, None).unwrap();
    assert_eq!(text(&folder), "in memory");
    assert_eq!(installer.list().unwrap()[0].locked.commit.as_deref(), Some(COMMIT));
    for (name, part) in [("evil", "SKILL.md"), ("none", "no such repository")] {
        let error =
            installer.install(&reference(&format!("@host/{name}")), InstallScope::User, None).unwrap_err();
        assert!(error.to_string().contains(part), "{error}");
    }
    assert!(!desk.path("home/.agents").exists());
}
