//! What is never installed or written, and the errors that say so.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use insta::assert_snapshot;

use crate::install::{place, read, say};
use crate::shelf::run;

#[test]
fn nothing_is_written_where_a_link_of_the_project_leads() {
    let place = place();
    place.write("outside/canary", b"here");
    let project = place.path().join("project");
    fs::create_dir_all(project.join(".git")).unwrap();
    symlink("../outside", project.join(".agents")).unwrap();
    assert_snapshot!(say(&place, &["add", "./from/pdf", "--yes", "--project", "project"]), @"
    exit 2
    --- stderr
    resolved 1 skill in [N] ms
    pdf  2 files, 84 bytes
      can be run  scripts/run.sh
      asks for tools  Read
    error: a link leads out of the project: [DIR]/project/.agents: [DIR]/outside
      hint: remove the link, or let it lead to a place inside of the project
    ");
    assert_eq!(fs::read_dir(place.path().join("outside")).unwrap().count(), 1);
    assert!(!project.join("skills.lock").exists());
}

#[test]
fn a_link_out_of_the_source_is_refused_and_named() {
    let place = place();
    place.write("secret/key", b"canary");
    symlink("../../secret/key", place.path().join("from/pdf/key")).unwrap();
    assert_snapshot!(say(&place, &["add", "./from/pdf", "--yes"]), @"
    exit 2
    --- stderr
    resolved 1 skill in [N] ms
    error: a link leads out of the repository: key
      hint: nothing was installed; ask the author to change this, or install another version
    ");
    assert!(!place.path().join(".agents").exists());
}

#[test]
fn a_damaged_lock_stops_every_command_and_stays_as_it_is() {
    let place = place();
    run(&place, &["add", "./from/pdf", "--yes"]);
    place.write("skills.lock", b"<<<<<<< ours\n");
    for args in [&["add", "./from/notes", "--yes"][..], &["sync"], &["remove", "pdf"], &["verify"]] {
        let said = run(&place, args);
        assert!(said.starts_with("exit 2") && said.contains("not understood"), "{said}");
        assert_eq!(read(&place, "skills.lock"), "<<<<<<< ours\n");
    }
    assert!(place.path().join(".agents/skills/pdf/SKILL.md").exists());
}

#[test]
fn names_that_are_one_folder_on_some_systems_are_refused() {
    let place = place();
    run(&place, &["add", "./from/pdf", "--yes"]);
    assert_snapshot!(say(&place, &["add", "./from/notes", "--yes", "--as", "PDF"]), @"
    exit 2
    --- stderr
    resolved 1 skill in [N] ms
    PDF  1 file, 69 bytes
      agents see the name  notes
      not the name of a skill  the name has upper-case letters: PDF
      asks for tools  Read
      looks like  pdf, by one of its two names; check which one you want
    error: two skills would be one folder on some systems: PDF: pdf
      hint: give one of them another name: with --as NAME, or by its key in skills.toml; or remove one first
    ");
    assert_snapshot!(say(&place, &["add", "./from/notes", "--yes", "--as", "../up"]), @"
    exit 2
    --- stderr
    error: a skill cannot be installed under this name: ../up: the name begins with a dot: ../up
      hint: give it another name
    ");
    assert_snapshot!(say(&place, &["add", "./from/notes", "--yes", "--as", "pdf"]), @"
    exit 2
    --- stderr
    resolved 1 skill in [N] ms
    pdf  1 file, 69 bytes
      agents see the name  notes
      asks for tools  Read
    error: a skill of this name is installed from another source: pdf: path+from/pdf
      hint: give it another name with --as NAME, or replace what is there with --overwrite
    ");
}

#[test]
fn a_project_that_cannot_be_written_stays_as_it_is_and_the_error_names_it() {
    let place = place();
    run(&place, &["add", "./from/pdf", "--yes"]);
    // Root may write everything, so the command runs as user nobody, from a copy that this user can reach.
    let program = place.path().join("prowess");
    fs::copy(env!("CARGO_BIN_EXE_prowess"), &program).unwrap();
    fs::create_dir(place.path().join("own")).unwrap();
    for (path, mode) in [("", 0o755), ("prowess", 0o755), ("own", 0o777)] {
        fs::set_permissions(place.path().join(path), std::os::unix::fs::PermissionsExt::from_mode(mode))
            .unwrap();
    }
    let before = (read(&place, "skills.toml"), read(&place, "skills.lock"));
    for args in [&["add", "./from/notes", "--yes"][..], &["remove", "pdf"]] {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--clear-groups"]).arg(&program).args(args);
        let output =
            command.env_clear().env("HOME", place.path().join("own")).current_dir(place.path()).output();
        let output = match output {
            Ok(output) if !String::from_utf8_lossy(&output.stderr).contains("setpriv:") => output,
            _ => return crate::skipped("setpriv cannot run here, or this is not root"),
        };
        let said = place.transcript(&output);
        assert!(said.starts_with("exit 2"), "{said}");
        assert!(said.contains("[DIR]/.agents/skills") && said.contains("permission denied"), "{said}");
        assert!(said.contains("make the folder writable for this user"), "{said}");
        assert_eq!((read(&place, "skills.toml"), read(&place, "skills.lock")), before);
        let names: Vec<_> = fs::read_dir(place.path().join(".agents/skills"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert_eq!(names, ["pdf"]);
    }
    assert_eq!(say(&place, &["verify"]), "exit 0\n--- stdout\n1 skill as installed\n");
}

#[test]
fn on_a_full_disk_remove_names_what_can_be_deleted_and_changes_nothing() {
    let place = place();
    let disk = place.path().join("disk");
    fs::create_dir(&disk).unwrap();
    let program = env!("CARGO_BIN_EXE_prowess");
    // The mount is seen and ends with this shell alone. With pages of any size, one file fills the rest of it, and the
    // store with the data of a skill has room for all that a removal writes.
    let script = format!(
        "mount -t tmpfs -o size=16m tmpfs {disk} || exit 77; cd {disk}; mkdir home .git; cp -R ../from .; export HOME={disk}/home
         head -c 1000000 /dev/urandom >from/pdf/data
         {program} add ./from --all --yes >/dev/null 2>&1 || exit 1
         cat /dev/zero >fill 2>/dev/null
         {program} remove pdf && exit 1
         {program} verify || exit 1
         rm -rf {disk}/home/.cache/prowess/store
         {program} remove pdf",
        disk = disk.display()
    );
    let mut unshare = Command::new("unshare");
    unshare.args(["--mount", "sh", "-c", &script]).env_clear().env("PATH", "/usr/bin:/bin");
    let output = match unshare.output() {
        Ok(output) if output.status.code() != Some(77) && !output.stderr.starts_with(b"unshare:") => output,
        _ => return crate::skipped("a tmpfs cannot be mounted here"),
    };
    let said = crate::install::without_times(&place.transcript(&output));
    assert_snapshot!(said, @"
    exit 0
    --- stdout
    2 skills as installed
    - pdf  from/pdf
    wrote [DIR]/disk/skills.toml
    wrote [DIR]/disk/skills.lock
    --- stderr
    error: could not write to the folder of the state: [DIR]/disk/home/.local/state/prowess/install
      cause: no space left on device
      hint: make room on the disk, then run the command again; fetched skills can be deleted, and then one whose source has changed or is gone cannot be restored: rm -rf [DIR]/disk/home/.cache/prowess/store
    ");
}

#[test]
fn records_that_are_links_out_of_the_project_are_refused() {
    let place = place();
    place.write("outside/victim.toml", b"# mine\n");
    fs::create_dir_all(place.path().join("project/.git")).unwrap();
    symlink("../outside/victim.toml", place.path().join("project/skills.toml")).unwrap();
    let said = run(&place, &["add", "./from/pdf", "--yes", "--project", "project"]);
    assert!(said.starts_with("exit 2") && said.contains("a link leads out of the project"), "{said}");
    assert_eq!(read(&place, "outside/victim.toml"), "# mine\n");
}
