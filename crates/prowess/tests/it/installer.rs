//! The installer as a library: every way to install, list, resolve and remove a skill, from folders and repositories.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use prowess::env::Environment;
use prowess::fs::walk::OnError;
use prowess::install::{
    InstallErrorKind, InstallFolders, InstallOptions, InstallScope, InstalledState, Installer, SkillRef,
    is_local_path,
};
use prowess::{DirSource, Registry, ScanOptions};
use prowess_testing::without_settings;

pub(crate) struct Desk {
    root: tempfile::TempDir,
}

impl Desk {
    pub(crate) fn new() -> Self {
        let desk = Self { root: tempfile::tempdir().unwrap() };
        for folder in ["project", "home", "repositories", "bin"] {
            fs::create_dir_all(desk.path(folder)).unwrap();
        }
        #[cfg(unix)]
        desk.isolate_git();
        desk
    }

    /// Removes what was installed, fetched and recorded; what can be installed stays.
    #[cfg(unix)]
    pub(crate) fn empty(&self) {
        for folder in ["project", "home", "state", "cache"] {
            let _ = fs::remove_dir_all(self.path(folder));
        }
        for folder in ["project", "home"] {
            fs::create_dir(self.path(folder)).unwrap();
        }
    }

    /// Writes a git for the installer that does not read the configuration of the user who runs the tests.
    #[cfg(unix)]
    fn isolate_git(&self) {
        // Written by another process: one that this process still had open for writing could not be started.
        let script = "git=$(command -v git) || exit 0; printf '#!/bin/sh\\nGIT_CONFIG_GLOBAL=/dev/null \
            GIT_CONFIG_NOSYSTEM=1 exec %s \"$@\"\\n' \"$git\" > git && chmod +x git";
        let written = Command::new("sh").args(["-c", script]).current_dir(self.path("bin")).status();
        assert!(written.unwrap().success());
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.root.path().join(below)
    }

    pub(crate) fn installer(&self) -> Installer {
        let folder = |below: &str| self.path(below).to_str().unwrap().to_owned();
        let environment = Environment::of([
            ("HOME", &*folder("home")),
            ("XDG_STATE_HOME", &folder("state")),
            ("XDG_CACHE_HOME", &folder("cache")),
            #[cfg(unix)]
            ("PATH", &folder("bin")),
        ]);
        let repositories = format!("file://{}/{{org}}/{{name}}.git", self.path("repositories").display());
        let installer = Installer::of_user(environment, &self.path("project")).unwrap();
        installer.with_registry("acme", repositories)
    }

    /// The folder of fetched skills.
    pub(crate) fn store(&self) -> PathBuf {
        self.path("cache/prowess/store/v1")
    }

    /// A repository of the organisation `acme` with one commit for each text; each is tagged `v1`, `v2` and so on.
    pub(crate) fn repository(&self, name: &str, skill_folder: &str, texts: &[&str]) {
        let work = self.path(&format!("work-{name}"));
        fs::create_dir_all(&work).unwrap();
        if skill_folder != "." {
            fs::create_dir_all(work.join(skill_folder)).unwrap();
        }
        git(&work, &["init", "-q", "-b", "main"]);
        for (at, text) in texts.iter().enumerate() {
            fs::write(work.join(skill_folder).join("SKILL.md"), skill(name, text)).unwrap();
            git(&work, &["add", "-A"]);
            git(&work, &["commit", "-q", "-m", text]);
            git(&work, &["tag", &format!("v{}", at + 1)]);
        }
        let bare = self.path(&format!("repositories/acme/{name}.git"));
        git(&work, &["clone", "-q", "--bare", ".", &bare.to_string_lossy()]);
    }

    /// A skill in a folder.
    pub(crate) fn folder(&self, name: &str) -> PathBuf {
        let folder = self.path("local").join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("SKILL.md"), skill(name, "local")).unwrap();
        folder
    }
}

pub(crate) fn skill(name: &str, text: &str) -> String {
    format!("---\nname: {name}\ndescription: Does {name}.\n---\n{text}\n")
}

/// git in a folder, without the repository, the configuration and the hooks of the user who runs the tests.
pub(crate) fn git_in(folder: &Path) -> Command {
    let mut git = Command::new("git");
    without_settings(&mut git);
    git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").env("HOME", folder);
    git.args(["-c", "user.name=a", "-c", "user.email=a@example.org"]).current_dir(folder);
    git
}

pub(crate) fn git(folder: &Path, words: &[&str]) -> String {
    let done = git_in(folder).args(words).output().unwrap();
    assert!(done.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap().trim().to_owned()
}

pub(crate) fn text(folder: &Path) -> String {
    let text = fs::read_to_string(folder.join("SKILL.md")).unwrap();
    text.lines().last().unwrap().to_owned()
}

pub(crate) fn reference(text: &str) -> SkillRef {
    text.parse().unwrap()
}

pub(crate) fn no_git() -> bool {
    let missing = Command::new("git").arg("--version").output().is_err();
    if missing {
        println!("skipped: git is not installed");
    }
    missing
}

#[test]
fn parse_reads_an_organisation_a_name_and_perhaps_a_version() {
    let skill = reference("@acme/pdf@v1");
    assert_eq!((&*skill.org, &*skill.name, skill.version.as_deref()), ("acme", "pdf", Some("v1")));
    assert_eq!(reference("@acme/pdf").version, None);
    for bad in ["@acme/pdf@", "@/pdf", "@acme/", "@acme/pdf/x", "acme/pdf"] {
        assert!(bad.parse::<SkillRef>().is_err(), "{bad}");
    }
}

#[test]
fn is_local_path_is_true_for_a_dot_step_or_a_slash_at_the_beginning() {
    for path in ["./a", "../a", "/a"] {
        assert!(is_local_path(path), "{path}");
    }
    for other in ["@a/b", "a/b", "a", "", ".", "~/a", "https://host/a"] {
        assert!(!is_local_path(other), "{other}");
    }
}

#[test]
fn project_dir_is_the_folder_that_agents_share_in_a_project() {
    let desk = Desk::new();
    assert_eq!(desk.installer().project_dir(), desk.path("project/.agents/skills"));
    assert!(!desk.path("project/.agents").exists(), "it is only named");
}

#[test]
fn user_dir_is_the_folder_that_agents_share_of_a_user_and_fails_without_one() {
    let desk = Desk::new();
    let installer = desk.installer();
    assert_eq!(installer.user_dir().unwrap(), desk.path("home/.agents/skills"));
    let homeless = Installer::new(InstallFolders { user: None, ..installer.folders().clone() });
    assert_eq!(homeless.user_dir().unwrap_err().kind(), InstallErrorKind::NotFound);
}

#[test]
fn install_takes_the_latest_or_a_version_for_the_project_or_the_user() {
    if no_git() {
        return;
    }
    let desk = Desk::new();
    desk.repository("pdf", ".", &["first", "second"]);
    let installer = desk.installer();
    let latest = installer.install(&reference("@acme/pdf"), InstallScope::Project, None).unwrap();
    assert_eq!(
        (latest.clone(), text(&latest)),
        (desk.path("project/.agents/skills/pdf"), "second".to_owned())
    );
    let old = installer.install(&reference("@acme/pdf@v1"), InstallScope::User, Some("old-pdf")).unwrap();
    assert_eq!((old.clone(), text(&old)), (desk.path("home/.agents/skills/old-pdf"), "first".to_owned()));
    // The name is taken, and what is there stays.
    let again = installer.install(&reference("@acme/pdf@v1"), InstallScope::Project, None).unwrap_err();
    assert_eq!((again.kind(), text(&latest)), (InstallErrorKind::Exists, "second".to_owned()));
}

#[test]
fn install_finds_a_skill_anywhere_in_the_repository_and_fails_without_one() {
    if no_git() {
        return;
    }
    let desk = Desk::new();
    desk.repository("deep", "skills/deep", &["deep"]);
    let installer = desk.installer();
    let deep = installer.install(&reference("@acme/deep"), InstallScope::Project, None).unwrap();
    assert_eq!(text(&deep), "deep");
    let work = desk.path("work-none");
    fs::create_dir_all(&work).unwrap();
    git(&work, &["init", "-q", "-b", "main"]);
    fs::write(work.join("README.md"), "nothing").unwrap();
    git(&work, &["add", "-A"]);
    git(&work, &["commit", "-q", "-m", "one"]);
    git(&work, &["clone", "-q", "--bare", ".", &desk.path("repositories/acme/none.git").to_string_lossy()]);
    for (skill, kind, part) in [
        ("@acme/none", InstallErrorKind::NotFound, "no SKILL.md"),
        ("@acme/missing", InstallErrorKind::NotFound, "no such repository"),
        ("@acme/deep@v9", InstallErrorKind::NotFound, "no such branch or tag"),
    ] {
        let error = installer.install(&reference(skill), InstallScope::User, None).unwrap_err();
        assert_eq!(error.kind(), kind, "{skill}: {error}");
        assert!(error.to_string().contains(part), "{skill}: {error}");
        assert!(!error.hint().is_empty());
    }
    // A failure leaves nothing.
    assert!(!desk.path("home/.agents/skills").exists());
}

#[test]
fn install_local_into_copies_a_folder_into_any_other_and_records_nothing() {
    let desk = Desk::new();
    let (installer, target) = (desk.installer(), desk.path("elsewhere/skills"));
    let source = desk.folder("notes");
    let copied = installer.install_local_into(&source, &target).unwrap();
    assert_eq!((copied.clone(), text(&copied)), (target.join("notes"), "local".to_owned()));
    assert!(installer.list().unwrap().is_empty() && !desk.path("project/skills.toml").exists());
    // What is there stays, and a failure leaves nothing.
    fs::write(source.join("SKILL.md"), skill("notes", "newer")).unwrap();
    let again = installer.install_local_into(&source, &target).unwrap_err();
    assert_eq!((again.kind(), text(&copied)), (InstallErrorKind::Exists, "local".to_owned()));
    let none = installer.install_local_into(&desk.path("nowhere"), &desk.path("other")).unwrap_err();
    assert_eq!(none.kind(), InstallErrorKind::NotFound);
    assert!(!desk.path("other").exists());
}

#[test]
fn install_into_fills_any_folder_and_records_nothing() {
    if no_git() {
        return;
    }
    let desk = Desk::new();
    desk.repository("pdf", ".", &["first"]);
    let installer = desk.installer();
    let target = desk.path("elsewhere/skills");
    let from_git = installer.install_into(&reference("@acme/pdf"), &target).unwrap();
    assert_eq!((from_git.clone(), text(&from_git)), (target.join("pdf"), "first".to_owned()));
    assert!(installer.list().unwrap().is_empty());
    let again = installer.install_into(&reference("@acme/pdf"), &target).unwrap_err();
    assert_eq!(again.kind(), InstallErrorKind::Exists);
}

#[test]
fn install_local_copies_a_folder_and_keeps_no_link_to_it() {
    let desk = Desk::new();
    let source = desk.folder("notes");
    let installed = desk.installer().install_local(&source, InstallScope::Project).unwrap();
    assert_eq!(installed, desk.path("project/.agents/skills/notes"));
    fs::remove_dir_all(&source).unwrap();
    assert_eq!(text(&installed), "local");
    let error = desk.installer().install_local(&desk.path("nowhere"), InstallScope::Project).unwrap_err();
    assert_eq!(error.kind(), InstallErrorKind::NotFound, "{error}");
}

#[test]
fn list_is_sorted_by_scope_then_organisation_and_name_with_the_state() {
    if no_git() {
        return;
    }
    let desk = Desk::new();
    desk.repository("pdf", ".", &["first"]);
    let installer = desk.installer();
    installer.install(&reference("@acme/pdf"), InstallScope::User, None).unwrap();
    installer.install(&reference("@acme/pdf"), InstallScope::Project, None).unwrap();
    for name in ["zebra", "apple"] {
        installer.install_local(&desk.folder(name), InstallScope::Project).unwrap();
    }
    fs::write(desk.path("project/.agents/skills/apple/SKILL.md"), "edited").unwrap();
    fs::remove_dir_all(desk.path("project/.agents/skills/zebra")).unwrap();
    let skills = installer.list().unwrap();
    let shown: Vec<(InstallScope, Option<&str>, &str)> =
        skills.iter().map(|skill| (skill.scope, skill.org.as_deref(), &*skill.name)).collect();
    let expected = [
        (InstallScope::Project, None, "apple"),
        (InstallScope::Project, None, "zebra"),
        (InstallScope::Project, Some("acme"), "pdf"),
        (InstallScope::User, Some("acme"), "pdf"),
    ];
    assert_eq!(shown, expected);
    assert!(matches!(&skills[0].state, InstalledState::Edited(files) if files[0].0 == "SKILL.md"));
    assert_eq!((&skills[1].state, &skills[2].state), (&InstalledState::Missing, &InstalledState::Clean));
}

#[test]
fn remove_takes_a_skill_with_its_records_and_stops_at_edits() {
    if no_git() {
        return;
    }
    let desk = Desk::new();
    desk.repository("pdf", ".", &["first"]);
    let (installer, pdf) = (desk.installer(), reference("@acme/pdf"));
    assert_eq!(installer.remove(&pdf).unwrap_err().kind(), InstallErrorKind::NotFound);
    let folder = installer.install(&pdf, InstallScope::Project, Some("mine")).unwrap();
    fs::write(folder.join("SKILL.md"), skill("pdf", "edited")).unwrap();
    assert_eq!(installer.remove(&pdf).unwrap_err().kind(), InstallErrorKind::Edited);
    assert_eq!(text(&folder), "edited");
    fs::write(folder.join("SKILL.md"), skill("pdf", "first")).unwrap();
    installer.remove(&pdf).unwrap();
    assert!(!folder.exists() && installer.list().unwrap().is_empty());
    assert!(!fs::read_to_string(desk.path("project/skills.toml")).unwrap().contains("mine"));
    // The same by its reference among names.
    installer.install(&pdf, InstallScope::Project, Some("mine")).unwrap();
    let uninstall = |name: &str| {
        installer.uninstall(
            InstallScope::Project,
            &[name.to_owned()],
            &InstallOptions::default(),
            &mut |_| {},
        )
    };
    assert_eq!(uninstall("@acme/other").unwrap_err().kind(), InstallErrorKind::NotFound);
    assert_eq!(uninstall("@acme/pdf").unwrap().skills[0].name, "mine");
}

#[test]
fn resolve_prefers_the_project_and_remove_takes_what_it_finds() {
    if no_git() {
        return;
    }
    let desk = Desk::new();
    desk.repository("pdf", ".", &["first"]);
    let installer = desk.installer();
    let pdf = reference("@acme/pdf");
    assert_eq!(installer.resolve(&pdf).unwrap_err().kind(), InstallErrorKind::NotFound);
    let user = installer.install(&pdf, InstallScope::User, None).unwrap();
    assert_eq!(installer.resolve(&pdf).unwrap(), user);
    let project = installer.install(&pdf, InstallScope::Project, Some("mine")).unwrap();
    assert_eq!(installer.resolve(&pdf).unwrap(), project);
    installer.remove(&pdf).unwrap();
    assert!(!project.exists());
    assert_eq!(installer.resolve(&pdf).unwrap(), user);
    installer.remove(&pdf).unwrap();
    assert_eq!(installer.remove(&pdf).unwrap_err().kind(), InstallErrorKind::NotFound);
    assert!(installer.list().unwrap().is_empty());
}

#[test]
fn resolve_ref_finds_the_skill_that_a_registry_lists_at_the_installed_folder() {
    if no_git() {
        return;
    }
    let desk = Desk::new();
    desk.repository("pdf", ".", &["first"]);
    let installer = desk.installer();
    let pdf = reference("@acme/pdf");
    let mut registry = Registry::new();
    registry.add(DirSource::new(installer.project_dir(), ScanOptions::unbounded()));
    registry.set_on_error(OnError::Report);
    registry.refresh().unwrap();
    assert_eq!(registry.resolve_ref(&pdf, &installer).unwrap_err().kind(), InstallErrorKind::NotFound);
    installer.install(&pdf, InstallScope::Project, Some("mine")).unwrap();
    let unlisted = registry.resolve_ref(&pdf, &installer).unwrap_err();
    assert!(unlisted.to_string().contains("not listed"), "{unlisted}");
    registry.refresh().unwrap();
    assert_eq!(registry.resolve_ref(&pdf, &installer).unwrap().entry.key, "pdf");
}
