//! `sync` of the installer: where it fetches from, and what another process changes meanwhile.

use std::fs;

use prowess::install::{InstallErrorKind, InstallScope, Installer, PrivateSource, SyncOptions};

use crate::installer::{Desk, no_git, skill};

const SCOPE: InstallScope = InstallScope::Project;

fn sync(installer: &Installer) -> Result<(), prowess::install::InstallError> {
    let options = SyncOptions::default();
    let plan = installer.plan_sync(SCOPE, &options, &mut |_| {})?;
    let skills = installer.fetch_sync(SCOPE, plan, &mut |_| {})?;
    installer.sync(SCOPE, skills, &options, &mut |_| {}).map(drop)
}

#[test]
fn a_plan_names_the_address_the_ref_and_the_commit_of_what_has_to_be_fetched() {
    if no_git() {
        return;
    }
    let desk = Desk::new();
    desk.repository("pdf", ".", &["one"]);
    let url = format!("file://{}/acme/pdf.git", desk.path("repositories").display());
    let toml = format!("[skills]\npdf = {{ git = \"{url}\", ref = \"v1\" }}\nmail = \"@acme/mail\"\n");
    fs::write(desk.path("project/skills.toml"), toml).unwrap();
    let installer = desk.installer();
    let plan = installer.plan_sync(SCOPE, &SyncOptions::default(), &mut |_| {}).unwrap();
    let [pdf, mail] = plan.sources() else { panic!("{:?}", plan.sources()) };
    assert_eq!(
        (pdf.place.as_str(), pdf.reference.as_deref(), &pdf.commit),
        (url.as_str(), Some("v1"), &None)
    );
    assert_eq!(pdf.private, Some(PrivateSource::LocalRepository));
    // Where an organisation is was said by the user.
    assert!(mail.place.ends_with("/acme/mail.git") && mail.private.is_none());
    assert!(!desk.store().exists(), "nothing is fetched");
    desk.repository("mail", ".", &["one"]);
    sync(&installer).unwrap();
    // What the store has is not fetched; without it, the commit of the lock is.
    fs::remove_dir_all(desk.path("project/.agents")).unwrap();
    let plan = || installer.plan_sync(SCOPE, &SyncOptions::default(), &mut |_| {}).unwrap();
    assert!(plan().sources().is_empty());
    fs::remove_dir_all(desk.store()).unwrap();
    assert!(plan().sources().iter().all(|source| source.commit.as_ref().is_some_and(|id| id.len() == 40)));
}

#[test]
fn a_sync_that_was_overtaken_changes_nothing_and_is_planned_again() {
    let desk = Desk::new();
    let installer = desk.installer();
    let source = desk.folder("pdf");
    installer.install_local(&source, SCOPE).unwrap();
    fs::remove_dir_all(desk.path("project/.agents/skills/pdf")).unwrap();
    let options = SyncOptions::default();
    let plan = installer.plan_sync(SCOPE, &options, &mut |_| {}).unwrap();
    let skills = installer.fetch_sync(SCOPE, plan, &mut |_| {}).unwrap();
    // Another process installs a newer version meanwhile.
    fs::write(source.join("SKILL.md"), skill("pdf", "newer")).unwrap();
    installer.install_local(&source, SCOPE).unwrap();
    let lock = fs::read_to_string(desk.path("project/skills.lock")).unwrap();
    let error = installer.sync(SCOPE, skills, &options, &mut |_| {}).unwrap_err();
    assert_eq!(error.kind(), InstallErrorKind::Changed);
    assert_eq!(fs::read_to_string(desk.path("project/skills.lock")).unwrap(), lock);
    let text = || fs::read_to_string(desk.path("project/.agents/skills/pdf/SKILL.md")).unwrap();
    assert!(text().contains("newer"));
    sync(&installer).unwrap();
    assert!(text().contains("newer"));
}
