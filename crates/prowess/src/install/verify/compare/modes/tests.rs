//! Skills on a file system that keeps no executable bits, in every place that compares them.

#![allow(clippy::disallowed_methods, reason = "these are tests")]

use std::cell::Cell;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use prowess_core::{Digest, FileEntry, RelPath};

use super::*;
use crate::install::apply::manifest_of;
use crate::install::installer::{InstallFolders, InstallOptions, Installer};
use crate::install::plan::change::Action;
use crate::install::plan::sync::SyncOptions;
use crate::install::records::{InstallScope, LinkMode};
use crate::install::spec::{InstallPlace, InstallSpec};
use crate::install::verify::InstalledSkill;
use crate::registry::trust::Approvals;

const SCOPE: InstallScope = InstallScope::Project;

thread_local! {
    /// Whether every file system of this thread counts as one that keeps no executable bits.
    pub(super) static WITHOUT_MODES: Cell<bool> = const { Cell::new(false) };
}

/// A project with a client that gets copies, and a skill with a script and a skill inside it.
struct Desk {
    root: tempfile::TempDir,
    installer: Installer,
}

impl Drop for Desk {
    fn drop(&mut self) {
        WITHOUT_MODES.set(false);
    }
}

impl Desk {
    fn new() -> Self {
        WITHOUT_MODES.set(true);
        let root = tempfile::tempdir().unwrap();
        let path = |below: &str| root.path().join(below);
        let (project, state, store) = (path("project"), path("state"), path("store"));
        fs::create_dir(&project).unwrap();
        let installer = Installer::new(InstallFolders { project, user: None, state, store });
        Self { root, installer }
    }

    fn path(&self, below: &str) -> PathBuf {
        self.root.path().join(below)
    }

    /// Installs the skill with this text. Returns what was done.
    fn add(&self, text: &str) -> Action {
        for (file, text) in [
            ("SKILL.md", format!("---\nname: pdf\ndescription: Does it.\n---\n{text}\n")),
            ("run.sh", format!("echo {text}\n")),
            ("in/SKILL.md", "---\nname: in\ndescription: Does it.\n---\n".to_owned()),
            ("in/run.sh", "echo in\n".to_owned()),
        ] {
            let file = self.path("pdf").join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, text).unwrap();
            let mode = if file.ends_with("run.sh") { 0o755 } else { 0o644 };
            fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        }
        let spec = InstallSpec::of(InstallPlace::Folder(self.path("pdf")));
        let mut available = self.installer.find(SCOPE, &self.installer.source(&spec).unwrap()).unwrap();
        let chosen = available.choose(&[], false).unwrap();
        let skills = self.installer.prepare(SCOPE, &mut available, &chosen, None, &mut |_| {}).unwrap();
        let clients = vec!["claude-code".to_owned()];
        let options = InstallOptions {
            accepted: true,
            clients,
            link: Some(LinkMode::Copy),
            ..InstallOptions::default()
        };
        let changes = self.installer.add(SCOPE, skills, &options, &mut |_| {}).unwrap();
        changes.skills.first().unwrap().action
    }

    fn sync(&self) -> Action {
        let mut options = SyncOptions::default();
        options.install.accepted = true;
        let plan = self.installer.plan_sync(SCOPE, &options, &mut |_| {}).unwrap();
        let skills = self.installer.fetch_sync(SCOPE, plan, &mut |_| {}).unwrap();
        self.installer.sync(SCOPE, skills, &options, &mut |_| {}).unwrap().skills.first().unwrap().action
    }

    /// Fails unless all is as installed, and trusted with the files that are there.
    fn check(&self, what: &str) {
        let skills = self.installer.verify(SCOPE).unwrap();
        assert!(skills.len() == 1 && skills.iter().all(InstalledSkill::is_clean), "{what}: {skills:?}");
        let approvals = Approvals::load(&self.path("state/trust.json")).unwrap().skills;
        assert_eq!(approvals.len(), 4, "{what}: {approvals:?}");
        for approval in approvals {
            let folder = Path::new(approval.location.path().unwrap()).parent().unwrap();
            let there = digests::of_tree(&manifest_of(folder).unwrap()).unwrap();
            assert_eq!(approval.digest, Some(there), "{what}: {}", folder.display());
        }
        let origins = self.installer.origins();
        let origin = origins.named("pdf").next().unwrap();
        assert_eq!(origins.is_edited(origin), Some(false), "{what}");
        assert!(origins.restores_accepted(origin), "{what}");
    }
}

#[test]
fn without_modes_a_skill_with_a_script_is_installed_trusted_copied_and_removed_as_anywhere() {
    let desk = Desk::new();
    assert_eq!(desk.add("one"), Action::Installed);
    let script = desk.path("project/.agents/skills/pdf/run.sh");
    assert!(!listing::executable(&script.metadata().unwrap()), "the file system would not keep it");
    desk.check("added");
    assert_eq!(desk.add("one"), Action::Unchanged);
    desk.check("added again");
    assert_eq!(desk.add("two"), Action::Updated);
    desk.check("updated");
    assert!(fs::read_to_string(desk.path("project/.claude/skills/pdf/run.sh")).unwrap().contains("two"));
    assert_eq!(desk.sync(), Action::Unchanged);
    desk.check("synchronised");
    // An edit names the edited file alone.
    fs::write(&script, "edited").unwrap();
    let origins = desk.installer.origins();
    let edits = origins.edits(origins.named("pdf").next().unwrap());
    assert_eq!(edits, Some(vec![("run.sh".to_owned(), FileChange::Changed)]));
    fs::write(&script, "echo two\n").unwrap();
    let options = InstallOptions::default();
    desk.installer.uninstall(SCOPE, &["pdf".to_owned()], &options, &mut |_| {}).unwrap();
    assert!(!desk.path("project/.agents/skills/pdf").exists());
    assert!(!desk.path("project/.claude/skills/pdf").exists());
    assert!(Approvals::load(&desk.path("state/trust.json")).unwrap().skills.is_empty());
}

#[test]
fn without_modes_a_lock_that_changed_elsewhere_is_followed_and_lost_approvals_are_given_again() {
    let desk = Desk::new();
    desk.add("one");
    let lock = fs::read(desk.path("project/skills.lock")).unwrap();
    desk.add("two");
    fs::write(desk.path("project/skills.lock"), lock).unwrap();
    // The files of the first version are stored.
    assert_eq!(desk.sync(), Action::Updated);
    desk.check("followed");
    fs::remove_file(desk.path("state/trust.json")).unwrap();
    assert_eq!(desk.sync(), Action::Unchanged);
    desk.check("accepted again");
}

fn files(modes: [bool; 2], text: &str) -> Manifest {
    let file = |path: &str, executable: bool| {
        let mut file = FileEntry::new(RelPath::parse(path).unwrap(), 1);
        (file.executable, file.digest) = (executable, Some(digests::of_bytes(text.as_bytes())));
        file
    };
    Manifest::new(vec![file("SKILL.md", modes[0]), file("run.sh", modes[1])])
}

fn digest(modes: [bool; 2], text: &str) -> Digest {
    digests::of_tree(&files(modes, text)).unwrap()
}

#[test]
fn without_modes_a_tree_is_compared_by_everything_else() {
    let installed = || files([false, true], "a");
    assert!(is_modeless(digest([false, false], "a"), installed()));
    assert!(is_modeless(digest([true, true], "a"), installed()));
    for other in [digest([false, false], "b"), digest([true, false], "a"), digest([false, true], "a")] {
        assert!(!is_modeless(other, installed()), "{other}");
    }
}

#[test]
fn where_modes_are_kept_another_mode_is_an_edit() {
    let folder = tempfile::tempdir().unwrap();
    if !holds_modes(folder.path()) {
        println!("skipped: this file system keeps no modes");
        return;
    }
    let (wanted, there) = (digest([false, true], "a"), digest([false, false], "a"));
    let listing = |_: Digest| Some(files([false, true], "a"));
    assert!(is_tree(wanted, Some(wanted), folder.path(), &listing));
    assert!(!is_tree(there, Some(wanted), folder.path(), &listing));
}
