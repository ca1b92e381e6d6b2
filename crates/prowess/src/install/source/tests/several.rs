//! Several sources at once: each version of a repository is fetched once.

use std::sync::Mutex;

use super::*;
use crate::install::source::git::{FetchedRef, GitEntry, GitObject};

/// A git that records what is fetched.
#[derive(Debug)]
struct Counting {
    git: GitCommand,
    fetches: Mutex<Vec<String>>,
}

impl Git for Counting {
    fn refs(&self, url: &str) -> Result<Vec<String>, InstallError> {
        self.git.refs(url)
    }

    fn fetch(&self, url: &str, wanted: &GitVersion) -> Result<FetchedRef, InstallError> {
        self.fetches.lock().unwrap().push(format!("{wanted:?}"));
        self.git.fetch(url, wanted)
    }

    fn tree(&self, url: &str, commit: &str) -> Result<Option<Vec<GitEntry>>, InstallError> {
        self.git.tree(url, commit)
    }

    fn objects(
        &self,
        url: &str,
        names: &[String],
        limit: usize,
    ) -> Result<Vec<Option<GitObject>>, InstallError> {
        self.git.objects(url, names, limit)
    }

    fn sizes(&self, url: &str, names: &[String]) -> Result<Vec<Option<u64>>, InstallError> {
        self.git.sizes(url, names)
    }

    fn bring(&self, url: &str, ids: &[String]) -> Result<(), InstallError> {
        self.fetches.lock().unwrap().push(format!("{} files", ids.len()));
        self.git.bring(url, ids)
    }

    fn refetch(&self, url: &str, commit: &str) -> Result<(), InstallError> {
        self.git.refetch(url, commit)
    }

    fn reachable(&self, url: &str, commits: &[String]) -> Result<Vec<bool>, InstallError> {
        self.git.reachable(url, commits)
    }
}

#[test]
fn several_sources_of_one_version_are_fetched_once() {
    let Some(world) = World::new() else { return };
    world.two_skills();
    world.git("repo", &["tag", "v1"]);
    world.skill("local/c");
    let git = GitCommand::new(world.path("store/git"), Environment::of([]), GitLimits::default());
    let git = Arc::new(Counting { git: git.with_program(&world.program), fetches: Mutex::default() });
    let fetcher =
        Fetcher::with_git(Store::at(world.path("store")), Arc::clone(&git) as _, FetchOptions::default());
    let spec = |skill: &str, reference: Option<&str>| {
        let mut spec = InstallSpec::of(InstallPlace::Git(world.url("repo")));
        (spec.skill, spec.reference) = (Some(skill.to_owned()), reference.map(str::to_owned));
        spec
    };
    let local = InstallSpec::of(InstallPlace::Folder(world.path("local/c")));
    let specs = [spec("b", None), spec("a", Some("v1")), local, spec("a", None), spec("b", Some("v1"))];
    let sources = specs.map(|spec| fetcher.resolve(&spec).unwrap());
    let mut opened = Vec::new();
    let taken = fetcher
        .take_each(&sources.each_ref().map(|source| ("name", source)), &|_, _| false, &mut |at| {
            opened.push(at);
        })
        .unwrap();
    let names: Vec<&str> = taken.iter().map(Prepared::name).collect();
    assert_eq!((names, opened), (vec!["b", "a", "c", "a", "b"], vec![0, 3, 1, 4, 2]));
    assert_eq!(*git.fetches.lock().unwrap(), ["Default", "Named(\"v1\")"]);
}
