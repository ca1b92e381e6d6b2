//! Records and stores that attack the installer or are damaged: each is refused by name, and stays as it is.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use prowess::install::{InstallErrorKind, InstallOptions, InstallScope, SyncOptions};

use crate::installer::{Desk, reference, skill};
use crate::installer_attacks::Canaries;
use crate::installer_names::BAD_NAMES;

/// Every way to use the records of the project.
fn every_way(desk: &Desk) -> Vec<prowess::install::InstallError> {
    let installer = desk.installer();
    let (scope, options) = (InstallScope::Project, InstallOptions::default());
    vec![
        installer.install_local(&desk.folder("fresh"), scope).unwrap_err(),
        installer.verify(scope).unwrap_err(),
        installer.list().unwrap_err(),
        installer.resolve(&reference("@acme/pdf")).unwrap_err(),
        installer.remove(&reference("@acme/pdf")).unwrap_err(),
        installer.uninstall(scope, &["pdf".to_owned()], &options, &mut |_| {}).unwrap_err(),
        installer.plan_sync(scope, &SyncOptions::default(), &mut |_| {}).unwrap_err(),
    ]
}

#[test]
fn a_lock_that_attacks_is_refused_in_every_way_and_stays_as_it_is() {
    let entry = |name: &str, source: &str, path: &str| {
        let name = serde_json::to_string(name).unwrap();
        let digest = "a".repeat(64);
        format!(
            "version = 1\n[[skill]]\nname = {name}\nsource = \"{source}\"\n{path}digest = \"sha256:{digest}\"\n"
        )
    };
    let mut locks: Vec<String> = BAD_NAMES.iter().map(|name| entry(name, "path+from", "")).collect();
    locks.push(entry("pdf", "path+/etc", ""));
    locks.push(entry("pdf", "git+--upload-pack=x", ""));
    locks.push(entry("pdf", "ext::sh -c x", ""));
    locks.push(entry("pdf", "path+from", "path = \"../../outside\"\n"));
    locks.push(format!(
        "{}{}",
        entry("pdf", "path+a", ""),
        entry("PDF", "path+a", "").split_once('\n').unwrap().1
    ));
    for lock in locks {
        let desk = Desk::new();
        let outside = Canaries::of(&desk);
        fs::write(desk.path("project/skills.lock"), &lock).unwrap();
        for error in every_way(&desk) {
            assert_eq!(error.kind(), InstallErrorKind::Damaged, "{lock}: {error}");
            assert!(error.to_string().contains("skills.lock"), "{error}");
        }
        outside.check(&lock);
        assert_eq!(fs::read_to_string(desk.path("project/skills.lock")).unwrap(), lock);
    }
}

#[test]
fn a_record_that_is_a_fifo_or_a_folder_or_a_link_out_is_an_error_and_no_wait() {
    type Make = fn(&Path, &Path);
    let makes: [(&str, Make); 3] = [
        ("a FIFO", |file, _| assert!(Command::new("mkfifo").arg(file).status().unwrap().success())),
        ("a folder", |file, _| fs::create_dir(file).unwrap()),
        ("a link", |file, outside| symlink(outside, file).unwrap()),
    ];
    for record in ["skills.lock", "skills.toml"] {
        for (what, make) in makes {
            let desk = Desk::new();
            // What a link leads to could be a record of another project.
            let other = desk.path("other");
            fs::write(&other, if record == "skills.lock" { "version = 1\n" } else { "" }).unwrap();
            make(&desk.path("project").join(record), &other);
            let error =
                desk.installer().install_local(&desk.folder("fresh"), InstallScope::Project).unwrap_err();
            assert!(
                error.full_message().contains(what) && error.to_string().contains(record),
                "{}",
                error.full_message()
            );
            assert!(fs::read_to_string(&other).unwrap().len() < 20);
            assert!(!desk.path("project/.agents/skills/fresh").exists(), "{record}: {what}");
        }
    }
}

#[test]
fn a_damaged_store_is_filled_again_or_refused_and_never_installed() {
    let desk = Desk::new();
    let (installer, scope) = (desk.installer(), InstallScope::Project);
    let source = desk.folder("pdf");
    let installed = installer.install_local(&source, scope).unwrap();
    let sync = || {
        fs::remove_dir_all(&installed).unwrap();
        let options = SyncOptions::default();
        let plan = installer.plan_sync(scope, &options, &mut |_| {})?;
        let skills = installer.fetch_sync(scope, plan, &mut |_| {})?;
        installer.sync(scope, skills, &options, &mut |_| {})
    };
    let damage = || {
        let mut folders = vec![desk.store()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let mut bytes = fs::read(&path).unwrap();
                if let Some(last) = bytes.last_mut() {
                    *last ^= 1;
                }
                fs::remove_file(&path).unwrap();
                fs::write(&path, bytes).unwrap();
            }
        }
    };
    damage();
    sync().unwrap();
    assert_eq!(fs::read(installed.join("SKILL.md")).unwrap(), fs::read(source.join("SKILL.md")).unwrap());
    damage();
    // The source has other bytes by now, so the bytes of the lock are nowhere.
    fs::write(source.join("SKILL.md"), skill("pdf", "other")).unwrap();
    let lock = fs::read(desk.path("project/skills.lock")).unwrap();
    let error = sync().unwrap_err();
    assert!(!error.hint().is_empty() && error.to_string().contains("pdf"), "{error}");
    assert!(!installed.exists());
    assert_eq!(fs::read(desk.path("project/skills.lock")).unwrap(), lock);
}

#[test]
fn records_that_another_process_is_creating_are_never_a_lock_without_skills_toml() {
    let lock = format!(
        "version = 1\n[[skill]]\nname = \"pdf\"\nsource = \"path+from\"\ndigest = \"sha256:{}\"\n",
        "a".repeat(64)
    );
    for _ in 0..50 {
        let desk = Desk::new();
        let (installer, options) = (desk.installer(), InstallOptions::default());
        let (toml, file) = (desk.path("project/skills.toml"), desk.path("project/skills.lock"));
        std::thread::scope(|scope| {
            // In the order of a transaction.
            scope.spawn(|| {
                fs::write(&toml, "[skills]\npdf = { path = \"from\" }\n").unwrap();
                fs::write(file.with_extension("new"), &lock).unwrap();
                fs::rename(file.with_extension("new"), &file).unwrap();
            });
            let mut last = false;
            while !last {
                last = file.exists();
                installer.check_request(InstallScope::Project, &options, None).unwrap();
            }
        });
    }
}
