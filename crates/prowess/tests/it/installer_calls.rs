//! Single calls of the installer: what a reference names, where it leads, and what a call that fails leaves.

use std::fs;
use std::sync::Barrier;
use std::thread;

use prowess::env::Environment;
use prowess::install::{
    InstallError, InstallErrorKind, InstallLimit, InstallLimits, InstallOptions, InstallPlace, InstallScope,
    InstallSpec, Installer, Prepared, SyncOptions,
};

use crate::installer::{Desk, no_git, reference};

#[test]
fn full_name_is_the_reference_without_its_version() {
    assert_eq!(reference("@acme/pdf@v1").full_name(), "@acme/pdf");
    assert_eq!(reference("@acme/pdf").full_name(), "@acme/pdf");
}

#[test]
fn repository_of_a_reference_is_that_of_its_organisation_or_on_github() {
    let desk = Desk::new();
    let installer = desk.installer();
    let repository = |text: &str| {
        let spec = InstallSpec::of(InstallPlace::Reference(reference(text)));
        installer.source(&spec).unwrap().repository().map(str::to_owned)
    };
    let own = format!("file://{}/acme/pdf.git", desk.path("repositories").display());
    assert_eq!(repository("@acme/pdf@v1"), Some(own));
    assert_eq!(repository("@other/pdf").as_deref(), Some("https://github.com/other/pdf.git"));
    let folder = InstallSpec::of(InstallPlace::Folder(desk.path("local")));
    assert_eq!(installer.source(&folder).unwrap().repository(), None);
}

#[test]
fn of_user_finds_the_folders_of_the_user_and_fails_without_a_home() {
    let desk = Desk::new();
    let (home, project) = (desk.path("home"), desk.path("project"));
    let environment = Environment::of([("HOME", home.to_str().unwrap())]);
    let installer = Installer::of_user(environment, &project).unwrap();
    assert_eq!(installer.user_dir().unwrap(), home.join(".agents/skills"));
    let folders = installer.folders();
    assert_eq!((&folders.project, folders.user.as_ref()), (&project, Some(&home)));
    assert_eq!(folders.state, home.join(".local/state/prowess"));
    assert_eq!(folders.store, home.join(".cache/prowess/store/v1"));
    let error = Installer::of_user(Environment::default(), &project).err().unwrap();
    assert_eq!(error.kind(), InstallErrorKind::NotFound);
    assert!(error.hint().to_string().contains("HOME"), "{error}");
}

#[test]
fn install_without_git_says_that_git_is_missing() {
    let desk = Desk::new();
    let home = desk.path("home");
    let environment = Environment::of([("HOME", home.to_str().unwrap()), ("PATH", home.to_str().unwrap())]);
    let installer = Installer::of_user(environment, &desk.path("project")).unwrap();
    let error = installer.install(&reference("@acme/pdf"), InstallScope::Project, None).unwrap_err();
    assert_eq!(error.kind(), InstallErrorKind::Git, "{error}");
    assert!(error.to_string().contains("git is not installed"), "{error}");
    assert!(!desk.path("project/.agents").exists());
}

#[test]
fn resolve_passes_over_a_lock_entry_without_a_folder() {
    if no_git() {
        return;
    }
    let desk = Desk::new();
    desk.repository("pdf", ".", &["first"]);
    let (installer, pdf) = (desk.installer(), reference("@acme/pdf"));
    let project = installer.install(&pdf, InstallScope::Project, None).unwrap();
    // A fresh clone has the lock and not the files.
    fs::remove_dir_all(&project).unwrap();
    let error = installer.resolve(&pdf).unwrap_err();
    assert_eq!(error.kind(), InstallErrorKind::Missing);
    assert!(error.to_string().contains("in skills.lock and not installed"), "{error}");
    assert_eq!(error.hint().to_string(), "install what the lock of the project has");
    let user = installer.install(&pdf, InstallScope::User, None).unwrap();
    assert_eq!(installer.resolve(&pdf).unwrap(), user);
    // What is removed is still the entry of the project.
    installer.remove(&pdf).unwrap();
    assert!(user.exists() && !fs::read_to_string(desk.path("project/skills.lock")).unwrap().contains("pdf"));
}

#[test]
fn install_into_that_fails_leaves_no_folders() {
    let desk = Desk::new();
    let source = desk.folder("notes");
    // Locks and journals cannot be written.
    fs::write(desk.path("state"), "").unwrap();
    let error = desk.installer().install_local_into(&source, &desk.path("new/skills")).unwrap_err();
    assert!(!desk.path("new").exists(), "{error}");
    fs::remove_file(desk.path("state")).unwrap();
    assert!(desk.installer().install_local_into(&source, &desk.path("new/skills")).is_ok());
}

#[test]
fn install_succeeds_once_of_many_calls_at_once() {
    let desk = Desk::new();
    let source = desk.folder("notes");
    let begin = Barrier::new(8);
    let install = || {
        let installer = desk.installer();
        begin.wait();
        installer.install_local(&source, InstallScope::Project)
    };
    let results: Vec<_> = thread::scope(|scope| {
        let calls: Vec<_> = (0..8).map(|_| scope.spawn(install)).collect();
        calls.into_iter().map(|call| call.join().unwrap()).collect()
    });
    let errors: Vec<_> = results.into_iter().filter_map(Result::err).collect();
    assert_eq!(errors.len(), 7);
    assert!(errors.iter().all(|error| error.kind() == InstallErrorKind::Exists), "{errors:?}");
}

/// Text of this size that cannot be compressed by more than half.
fn noise(seed: u64, size: usize) -> String {
    let mut state = seed;
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'a' + u8::try_from((state >> 33) % 26).unwrap())
    };
    std::iter::repeat_with(next).take(size).collect()
}

/// The skills `one`, `two` and `three`, each in a repository of about 70 KB, and an installer that fetches 110 KB in one
/// command.
fn large_skills(desk: &Desk) -> Installer {
    for (seed, name) in [(1, "one"), (2, "two"), (3, "three")] {
        desk.repository(name, ".", &[&noise(seed, 60_000)]);
    }
    let mut limits = InstallLimits::default();
    limits.fetched_bytes = 110_000;
    desk.installer().with_limits(limits)
}

fn prepare(installer: &Installer, name: &str) -> Result<Vec<Prepared>, InstallError> {
    let spec = InstallSpec::of(InstallPlace::Reference(reference(&format!("@acme/{name}"))));
    let mut available = installer.find(InstallScope::Project, &installer.source(&spec)?)?;
    let chosen = available.choose(&[], false)?;
    installer.prepare(InstallScope::Project, &mut available, &chosen, None, &mut |_| {})
}

/// How many repositories and stored skills there are.
fn kept(desk: &Desk) -> (usize, usize) {
    let entries = |folder: &str| fs::read_dir(desk.store().join(folder)).into_iter().flatten().flatten();
    (entries("git").filter(|entry| entry.path().is_dir()).count(), entries("trees").count())
}

#[test]
fn one_installer_fetches_up_to_the_limit_for_each_skill_that_it_installs() {
    if no_git() {
        return;
    }
    let desk = Desk::new();
    let installer = large_skills(&desk);
    for name in ["one", "two", "three"] {
        let skills = prepare(&installer, name).unwrap();
        installer.add(InstallScope::Project, skills, &InstallOptions::default(), &mut |_| {}).unwrap();
    }
    assert_eq!(kept(&desk), (3, 3));
}

#[test]
fn discarding_removes_nothing_that_was_installed_before() {
    if no_git() {
        return;
    }
    let desk = Desk::new();
    let installer = large_skills(&desk);
    installer.install(&reference("@acme/one"), InstallScope::Project, None).unwrap();
    prepare(&installer, "two").unwrap();
    assert_eq!(kept(&desk), (2, 2));
    installer.discard_fetched();
    assert_eq!(kept(&desk), (1, 1));
}

#[test]
fn what_was_fetched_for_a_sync_that_is_planned_again_is_not_accepted() {
    if no_git() {
        return;
    }
    let desk = Desk::new();
    let installer = large_skills(&desk);
    let (scope, options) = (InstallScope::Project, SyncOptions::default());
    let toml = desk.path("project/skills.toml");
    let overtaken = || {
        fs::write(&toml, "[skills]\none = \"@acme/one\"\n").unwrap();
        let plan = installer.plan_sync(scope, &options, &mut |_| {}).unwrap();
        let skills = installer.fetch_sync(scope, plan, &mut |_| {}).unwrap();
        // Another process changes the records meanwhile.
        fs::write(&toml, "[skills]\none = \"@acme/two\"\n").unwrap();
        let error = installer.sync(scope, skills, &options, &mut |_| {}).unwrap_err();
        assert_eq!(error.kind(), InstallErrorKind::Changed);
    };
    // What it fetched counts for the next plan, and goes when the user declines.
    overtaken();
    let error = prepare(&installer, "two").map(drop).unwrap_err();
    assert_eq!(error.limit(), Some(InstallLimit::FetchedBytes), "{error}");
    overtaken();
    installer.discard_fetched();
    assert_eq!(kept(&desk), (0, 0));
}

#[test]
fn a_source_of_a_project_that_is_the_folder_of_the_user_is_protected_from_the_users_commands() {
    let desk = Desk::new();
    let home = desk.path("home");
    let folder = |below: &str| desk.path(below).to_str().unwrap().to_owned();
    let environment = Environment::of([
        ("HOME", &*folder("home")),
        ("XDG_STATE_HOME", &folder("state")),
        ("XDG_CACHE_HOME", &folder("cache")),
    ]);
    let installer = Installer::of_user(environment, &home).unwrap();
    let installed = installer.install_local(&desk.folder("pdf"), InstallScope::User).unwrap();
    let records = home.join("skills.toml");
    fs::write(&records, "[skills]\ncopy = { path = \".agents/skills/pdf\" }\n").unwrap();
    let remove = || {
        let (names, options) = (["pdf".to_owned()], InstallOptions::default());
        installer.uninstall(InstallScope::User, &names, &options, &mut |_| {})
    };
    assert_eq!(remove().unwrap_err().kind(), InstallErrorKind::HoldsSource);
    // There, a file of that name may be anything.
    fs::write(&records, "{{").unwrap();
    remove().unwrap();
    assert!(!installed.exists());
}

#[test]
fn an_installer_that_fetched_too_much_is_not_refused_the_next_time() {
    if no_git() {
        return;
    }
    let desk = Desk::new();
    let installer = large_skills(&desk);
    prepare(&installer, "one").unwrap();
    let error = prepare(&installer, "two").unwrap_err();
    assert_eq!(error.limit(), Some(InstallLimit::FetchedBytes), "{error}");
    assert_eq!(kept(&desk), (0, 0), "nothing stays of a command that fetched too much");
    prepare(&installer, "two").unwrap();
}

#[test]
fn what_was_fetched_for_a_skill_whose_name_is_taken_is_not_accepted() {
    if no_git() {
        return;
    }
    let desk = Desk::new();
    let installer = large_skills(&desk);
    installer.install(&reference("@acme/one"), InstallScope::Project, None).unwrap();
    let error = installer.install(&reference("@acme/two"), InstallScope::Project, Some("one")).unwrap_err();
    assert_eq!(error.kind(), InstallErrorKind::Exists);
    installer.discard_fetched();
    assert_eq!(kept(&desk), (1, 1));
}
