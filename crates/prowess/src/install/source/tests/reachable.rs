//! Commits that records name and that are on no branch or tag of their repository: nothing of them is installed.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::http::{Mode, Server};
use super::*;
use crate::install::{
    Changes, InstallFolders, InstallOptions, InstallScope, Installer, Requested, SkillsLock, SyncOptions,
};

const PROJECT: InstallScope = InstallScope::Project;

/// A repository whose server serves every commit, as forges do, and a user who has fetched nothing of it yet.
struct Forge {
    world: World,
    /// The commits, by what leads to them.
    commits: BTreeMap<&'static str, String>,
}

impl Forge {
    fn new() -> Option<Self> {
        let world = World::new()?;
        world.init("repo");
        world.git("repo", &["config", "uploadpack.allowAnySHA1InWant", "true"]);
        let mut commits = BTreeMap::new();
        let mut commit = |name: &'static str| {
            world.skill("repo/skills/a");
            world.skill("repo/skills/b");
            world.write("repo/skills/a/version.txt", name);
            commits.insert(name, world.commit("repo"));
        };
        commit("deep");
        commit("under a branch");
        commit("tip");
        for (name, ref_name) in [
            ("of an annotated tag", None),
            ("of a pull request", Some("refs/pull/1/head")),
            ("of a merge request", Some("refs/merge-requests/1/head")),
            ("on nothing", None),
        ] {
            commit(name);
            let kept = ref_name.map(|name| ["update-ref", name, "HEAD"]);
            kept.map(|words| world.git("repo", &words));
            if name == "of an annotated tag" {
                world.git("repo", &["tag", "--annotate", "signed", "--message=x"]);
            }
            world.git("repo", &["reset", "--quiet", "--hard", "main~1"]);
        }
        world.git("repo", &["tag", "v1"]);
        fs::create_dir_all(world.path("project")).unwrap();
        Some(Self { world, commits })
    }

    /// The records of a project that say that skills are from these commits.
    fn record(
        &self,
        url: &str,
        skills: &[(&str, &str)],
        (reference, requested): (Option<&str>, Option<&str>),
    ) {
        let (mut lock, mut wanted) = (SkillsLock::default(), String::from("[skills]\n"));
        for (name, commit) in skills {
            let commit = &self.commits[commit];
            let source = format!("{}#{commit}", self.world.url("repo"));
            let fetched = take(&self.world.fetcher(), &source).unwrap();
            let mut locked = locked(fetched.iter().find(|skill| skill.locked.name == *name).unwrap());
            locked.source = Upstream::Git { url: url.to_owned() };
            locked.requested = requested.map(Requested::read);
            lock.insert(locked);
            let reference = reference.map(|reference| format!(", ref = \"{reference}\"")).unwrap_or_default();
            writeln!(wanted, "{name} = {{ git = \"{url}\", path = \"skills/{name}\"{reference} }}").unwrap();
        }
        self.world.write("project/skills.toml", &wanted);
        self.world.write("project/skills.lock", &lock.to_text());
    }

    fn installer(&self) -> Installer {
        let folders = InstallFolders {
            project: self.world.path("project"),
            user: Some(self.world.path("home")),
            state: self.world.path("user/state"),
            store: self.world.path("user/store"),
        };
        let git = GitCommand::new(folders.store.join("git"), Environment::of([]), GitLimits::default());
        Installer::new(folders).with_git(git.with_program(&self.world.program))
    }

    /// Everything in the project and the user's folders, without the files that are only locked and without repositories
    /// that are empty.
    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        let mut folders: Vec<PathBuf> = ["project", "home", "user"].map(|name| self.world.path(name)).into();
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten() {
                let path = entry.unwrap().path();
                let is_locked_only = path.extension().is_some_and(|end| end == "lock" || end == "used");
                let is_of_repository = path.ends_with("HEAD") || path.ends_with("config");
                if path.is_dir() {
                    folders.push(path);
                } else if path.ends_with("skills.lock") || !(is_locked_only || is_of_repository) {
                    files.insert(path.clone(), fs::read(&path).unwrap());
                }
            }
        }
        files
    }

    /// Removes what the user fetched and installed.
    fn forget(&self) {
        for folder in ["user", "project", "home"] {
            let _ = fs::remove_dir_all(self.world.path(folder));
        }
        fs::create_dir(self.world.path("project")).unwrap();
    }
}

fn sync(installer: &Installer, options: &SyncOptions) -> Result<Changes, InstallError> {
    let plan = installer.plan_sync(PROJECT, options, &mut |_| {})?;
    let skills = installer.fetch_sync(PROJECT, plan, &mut |_| {})?;
    installer.sync(PROJECT, skills, options, &mut |_| {})
}

fn locked_options() -> SyncOptions {
    SyncOptions { locked: true, ..SyncOptions::default() }
}

fn all_options() -> [SyncOptions; 5] {
    let dry_run = InstallOptions { dry_run: true, ..InstallOptions::default() };
    [
        locked_options(),
        SyncOptions::default(),
        SyncOptions { fetch_only: true, ..SyncOptions::default() },
        SyncOptions { lock_only: true, ..SyncOptions::default() },
        SyncOptions { install: dry_run, ..SyncOptions::default() },
    ]
}

/// Each way of synchronising is refused, and no file is changed.
fn refused(forge: &Forge, commit: &str) -> InstallError {
    let before = forge.files();
    let mut last = None;
    for options in all_options() {
        let error = sync(&forge.installer(), &options).unwrap_err();
        assert_eq!(error.kind(), InstallErrorKind::Unreachable, "{commit}: {error}: {options:?}");
        assert!(error.to_string().contains(&forge.commits[commit]), "{error}");
        assert_eq!(forge.files(), before, "{commit}: {options:?}");
        last = Some(error);
    }
    last.unwrap()
}

const STRANGE: [&str; 3] = ["of a pull request", "of a merge request", "on nothing"];
const OFFICIAL: [&str; 4] = ["deep", "under a branch", "tip", "of an annotated tag"];

#[test]
fn a_locked_commit_that_is_on_no_branch_or_tag_is_refused_and_nothing_is_written() {
    let Some(forge) = Forge::new() else { return };
    for mode in [Mode::Plain, Mode::Old, Mode::Daemon] {
        let Some(server) = Server::start(&forge.world, mode) else { continue };
        let url = server.url("repo");
        for requested in [Some("v1"), Some("main"), None] {
            let of_lock = match requested {
                Some("v1") => Some("tag:v1"),
                Some(_) => Some("branch:main"),
                None => None,
            };
            for commit in STRANGE {
                forge.record(&url, &[("a", commit)], (requested, of_lock));
                let error = refused(&forge, commit);
                assert_eq!(error.relocks()[0].spec.reference.as_deref(), requested, "{error:?}");
                forge.forget();
            }
        }
    }
}

#[test]
fn a_locked_commit_on_a_branch_or_tag_is_installed_and_its_history_does_not_stay() {
    let Some(forge) = Forge::new() else { return };
    for (mode, filters) in
        [(Mode::Plain, "true"), (Mode::Plain, "false"), (Mode::Old, "true"), (Mode::Daemon, "true")]
    {
        let Some(server) = Server::start(&forge.world, mode) else { continue };
        forge.world.git("repo", &["config", "uploadpack.allowFilter", filters]);
        let url = server.url("repo");
        for commit in OFFICIAL {
            // The tag leads to another commit by now, and this one is still on a branch or another tag.
            forge.record(&url, &[("a", commit)], (Some("v1"), Some("tag:v1")));
            let changes = sync(&forge.installer(), &locked_options()).unwrap();
            assert!(changes.skills[0].fetched, "{commit}: {changes:?}");
            let text = fs::read_to_string(forge.world.path("project/.agents/skills/a/version.txt")).unwrap();
            assert_eq!(text, commit);
            let clones = fs::read_dir(forge.world.path("user/store/git")).unwrap();
            let clones = clones.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir());
            let history = |path: &PathBuf| path.to_str().unwrap().ends_with("-history");
            assert_eq!(clones.filter(history).count(), 0, "{commit}");
            forge.forget();
        }
    }
}

#[test]
fn a_force_pushed_branch_and_a_moved_tag_are_explained_and_named_to_be_added_again() {
    let Some(forge) = Forge::new() else { return };
    let Some(server) = Server::start(&forge.world, Mode::Plain) else { return };
    let url = server.url("repo");
    let git = |words: &[&str]| forge.world.git("repo", words);
    git(&["branch", "gone"]);
    for (reference, requested) in [("v1", "tag:v1"), ("main", "branch:main"), ("gone", "branch:gone")] {
        forge.record(&url, &[("a", "tip"), ("b", "tip")], (Some(reference), Some(requested)));
        git(&["branch", "--force", "gone", "main"]);
        // What was locked is replaced everywhere.
        let tip = forge.commits["tip"].clone();
        git(&["reset", "--quiet", "--hard", "main~1"]);
        git(&["tag", "--delete", "signed"]);
        git(&["tag", "--force", "v1"]);
        git(&["branch", "--delete", "--force", "gone"]);
        let error = refused(&forge, "tip");
        let words = error.full_message();
        assert!(
            words.contains("force-push") && words.contains("moved tag") && words.contains("fork"),
            "{words}"
        );
        assert!(words.contains(": a, b: "), "{words}");
        let kept = Some(reference).filter(|reference| *reference != "gone");
        for relock in error.relocks() {
            assert_eq!(relock.spec.reference.as_deref(), kept, "a version that is gone is not named");
            // What is named can be found.
            let installer = forge.installer();
            let mut found = installer.find(PROJECT, &installer.source(&relock.spec).unwrap()).unwrap();
            let chosen = found.choose(&[], false).unwrap();
            let skills = installer.prepare(PROJECT, &mut found, &chosen, None, &mut |_| {}).unwrap();
            installer.add(PROJECT, skills, &InstallOptions::default(), &mut |_| {}).unwrap();
        }
        sync(&forge.installer(), &locked_options()).unwrap();
        git(&["reset", "--quiet", "--hard", &tip]);
        git(&["tag", "--force", "v1"]);
        git(&["tag", "--annotate", "signed", "--message=x", &forge.commits["of an annotated tag"]]);
        forge.forget();
    }
}

#[test]
fn a_store_that_has_the_files_says_nothing_about_their_commit() {
    let Some(forge) = Forge::new() else { return };
    let Some(server) = Server::start(&forge.world, Mode::Plain) else { return };
    let url = server.url("repo");
    forge.record(&url, &[("a", "on nothing")], (Some("v1"), Some("tag:v1")));
    let git = GitCommand::new(forge.world.path("user/store/git"), Environment::of([]), GitLimits::default());
    let git = Arc::new(git.with_program(&forge.world.program));
    let store = Store::at(forge.world.path("user/store"));
    let fetcher = Fetcher::with_git(store, git, FetchOptions::default());
    take(&fetcher, &format!("{url}#{}", forge.commits["on nothing"])).unwrap();
    refused(&forge, "on nothing");
    // Without a network it is installed if the user wants that, and no one is told that it is from there.
    let frozen = SyncOptions { frozen: true, ..SyncOptions::default() };
    let offline = || forge.installer().with_offline(true);
    let changes = sync(&offline(), &frozen).unwrap();
    assert!(!changes.skills[0].fetched, "{changes:?}");
    assert!(!offline().list().unwrap()[0].fetched);
    // It is installed, and `--locked` still checks it.
    let before = forge.files();
    let error = sync(&forge.installer(), &locked_options()).unwrap_err();
    assert_eq!(error.kind(), InstallErrorKind::Unreachable, "{error}");
    assert_eq!(forge.files(), before);
}

#[test]
fn without_a_network_a_commit_that_was_never_checked_is_not_fetched_from_a_cache() {
    let Some(forge) = Forge::new() else { return };
    let Some(server) = Server::start(&forge.world, Mode::Plain) else { return };
    let url = server.url("repo");
    forge.record(&url, &[("a", "deep")], (None, None));
    let installer = forge.installer();
    sync(&installer, &locked_options()).unwrap();
    // The repository is there, and what the user fetched is forgotten.
    for folder in ["user/state", "user/store/trees", "project/.agents"] {
        let _ = fs::remove_dir_all(forge.world.path(folder));
    }
    let before = forge.files();
    let requests = server.fetches();
    for options in all_options() {
        let error = sync(&forge.installer().with_offline(true), &options).unwrap_err();
        assert_eq!(error.kind(), InstallErrorKind::Offline, "{error}");
        assert_eq!((forge.files(), server.fetches()), (before.clone(), requests));
    }
    sync(&forge.installer(), &locked_options()).unwrap();
    // Once it is fetched, nothing is asked any more.
    let requests = server.fetches();
    sync(&forge.installer().with_offline(true), &locked_options()).unwrap();
    sync(&forge.installer(), &locked_options()).unwrap();
    assert_eq!(server.fetches(), requests);
}

#[test]
fn a_repository_is_asked_once_for_all_skills_and_commits_of_it() {
    let Some(forge) = Forge::new() else { return };
    let Some(server) = Server::start(&forge.world, Mode::Plain) else { return };
    let url = server.url("repo");
    let requests = |skills: &[(&str, &str)]| {
        forge.record(&url, skills, (None, None));
        let before = server.fetches();
        sync(&forge.installer(), &locked_options()).unwrap();
        forge.forget();
        server.fetches() - before
    };
    // A list of refs is enough for what a branch leads to: no history is fetched.
    let tip = requests(&[("a", "tip")]);
    let deep = requests(&[("a", "deep")]);
    assert_eq!(deep, tip + 1);
    assert_eq!(requests(&[("a", "deep"), ("b", "deep")]), deep);
    let other = requests(&[("a", "under a branch")]);
    let both = requests(&[("a", "deep"), ("b", "under a branch")]);
    assert_eq!(both, deep + other - 2, "the list and the history are fetched once");
}

#[test]
fn a_commit_that_skills_toml_names_must_be_on_a_branch_or_tag_unless_the_user_added_it() {
    let Some(forge) = Forge::new() else { return };
    let Some(server) = Server::start(&forge.world, Mode::Plain) else { return };
    let url = server.url("repo");
    let write = |reference: &str| {
        let entry =
            format!("[skills]\na = {{ git = \"{url}\", path = \"skills/a\", ref = \"{reference}\" }}\n");
        forge.world.write("project/skills.toml", &entry);
    };
    for (reference, commit) in [
        (&*forge.commits["on nothing"], "on nothing"),
        ("refs/pull/1/head", "of a pull request"),
        ("pull/1/head", "of a pull request"),
    ] {
        write(reference);
        let before = forge.files();
        for options in all_options().into_iter().filter(|options| !options.locked) {
            let error = sync(&forge.installer(), &options).unwrap_err();
            assert_eq!(error.kind(), InstallErrorKind::Unreachable, "{reference}: {error}");
            assert!(error.to_string().contains(&forge.commits[commit]), "{error}");
            assert_eq!(error.relocks()[0].spec.reference, None, "{reference}");
            let git = forge.world.path("user/store/git");
            let mut files = forge.files();
            files.retain(|path, _| !path.starts_with(&git));
            assert_eq!(files, before, "{reference}: {options:?}");
        }
        forge.forget();
    }
    for reference in [&*forge.commits["deep"], "v1", "main", "signed"] {
        write(reference);
        sync(&forge.installer(), &SyncOptions::default()).unwrap();
        forge.forget();
    }
    // What the user asks for by its id is the user's own choice, then and later.
    let strange = &forge.commits["on nothing"];
    let spec: InstallSpec = format!("{url}#{strange}").parse().unwrap();
    let installer = forge.installer();
    let mut found = installer.find(PROJECT, &installer.source(&spec).unwrap()).unwrap();
    let chosen = found.choose(&["a".to_owned()], false).unwrap();
    let skills = installer.prepare(PROJECT, &mut found, &chosen, None, &mut |_| {}).unwrap();
    write(strange);
    // Once it is accepted, and not before.
    let error = sync(&forge.installer(), &SyncOptions::default()).unwrap_err();
    assert_eq!(error.kind(), InstallErrorKind::Unreachable, "{error}");
    installer.add(PROJECT, skills, &InstallOptions::default(), &mut |_| {}).unwrap();
    sync(&forge.installer(), &SyncOptions::default()).unwrap();
    sync(&forge.installer(), &locked_options()).unwrap();
}

#[test]
fn the_history_counts_against_the_limits_of_a_command() {
    let Some(forge) = Forge::new() else { return };
    let Some(server) = Server::start(&forge.world, Mode::Plain) else { return };
    let url = server.url("repo");
    let limits = GitLimits { repository_bytes: 10, ..GitLimits::default() };
    let git = GitCommand::new(forge.world.path("user/store/git"), Environment::of([]), limits);
    let git = git.with_program(&forge.world.program);
    let error = git.reachable(&url, &[forge.commits["deep"].clone()]).unwrap_err();
    assert_eq!(error.kind(), InstallErrorKind::TooLarge, "{error}");
    let left = fs::read_dir(forge.world.path("user/store/git")).unwrap();
    assert!(left.map(|entry| entry.unwrap().path()).all(|path| !path.is_dir()));
}
