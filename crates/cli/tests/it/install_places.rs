//! What the installer finds and leaves where it and clients keep skills: links, copies, edits, foreign folders.

use std::fs;
use std::os::unix::fs::symlink;

use insta::assert_snapshot;

use crate::Place;
use crate::install::{place, read, say, skill};
use crate::shelf::{json_of, run, run_bound};

#[test]
fn verify_looks_at_the_links_and_copies_of_clients() {
    let place = place();
    run(&place, &["add", "./from/pdf", "--yes", "--client", "claude-code"]);
    let link = place.path().join(".claude/skills/pdf");
    fs::remove_file(&link).unwrap();
    assert_snapshot!(say(&place, &["verify"]), @"
    exit 1
    --- stdout
    pdf
      missing for claude-code: [DIR]/.claude/skills/pdf
    1 of 1 skill not as installed; restore with: prowess sync
    ");
    symlink("/etc", &link).unwrap();
    let said = run(&place, &["verify"]);
    assert!(said.contains("something else for claude-code: [DIR]/.claude/skills/pdf"), "{said}");
    assert!(run(&place, &["sync", "--overwrite", "--yes"]).starts_with("exit 0"));
    assert!(run(&place, &["verify"]).starts_with("exit 0"));
    run(&place, &["sync", "--link", "copy"]);
    place.write(".claude/skills/pdf/SKILL.md", b"edited");
    assert_snapshot!(say(&place, &["verify"]), @"
    exit 1
    --- stdout
    pdf
      edited copy for claude-code: [DIR]/.claude/skills/pdf
        changed  SKILL.md
    1 of 1 skill not as installed; restore with: prowess sync --overwrite
    ");
    let said = run(&place, &["sync"]);
    assert!(
        said.contains(
            "error: this copy of an installed skill was edited: [DIR]/.claude/skills/pdf: SKILL.md"
        ),
        "{said}"
    );
    assert_snapshot!(say(&place, &["remove", "pdf"]), @"
    exit 0
    --- stdout
    - pdf  from/pdf
      left alone: [DIR]/.claude/skills/pdf
    wrote [DIR]/skills.toml
    wrote [DIR]/skills.lock
    ");
    assert_eq!(read(&place, ".claude/skills/pdf/SKILL.md"), "edited");
}

#[test]
fn overwriting_names_each_foreign_folder_before_and_after() {
    let place = place();
    place.write("home/.claude/skills/pdf/SKILL.md", b"mine");
    place.write("home/.agents/skills/pdf/SKILL.md", b"mine");
    let add = |more: &[&'static str]| {
        let args = ["add", "./from/pdf", "--user", "--client", "claude-code", "--overwrite"];
        [&args[..], more].concat()
    };
    let said = run(&place, &add(&["--dry-run"]));
    for folder in [".agents", ".claude"] {
        let path = format!("[DIR]/home/{folder}/skills/pdf");
        assert!(said.contains(&format!("replaces, and deletes  {path}")), "{said}");
        assert!(said.contains(&format!("would replace: {path}")), "{said}");
    }
    let planned = json_of(&place, &add(&["--dry-run", "--json"]));
    assert_eq!(planned["skills"][0]["preview"]["replaces"].as_array().unwrap().len(), 2, "{planned}");
    assert_eq!(planned["skills"][0]["replaced"].as_array().unwrap().len(), 2, "{planned}");
    assert_eq!(read(&place, "home/.claude/skills/pdf/SKILL.md"), "mine");
    // Without consent nothing is lost.
    let said = run(&place, &add(&[]));
    assert!(said.starts_with("exit 2") && said.contains("replaces, and deletes"), "{said}");
    assert_eq!(read(&place, "home/.claude/skills/pdf/SKILL.md"), "mine");
}

#[test]
fn keeping_says_which_client_does_not_get_the_skill() {
    let place = place();
    place.write(".claude/skills/pdf/SKILL.md", b"mine");
    let said = run(&place, &["add", "./from/pdf", "--yes", "--client", "claude-code"]);
    assert!(said.contains("something else is where a client looks for an installed skill"), "{said}");
    assert!(said.contains("--keep") && !said.contains("--as"), "{said}");
    // A failure leaves nothing.
    assert!(!place.path().join(".agents").exists() && !place.path().join("skills.toml").exists());
    let said = run(&place, &["add", "./from/pdf", "--yes", "--client", "claude-code", "--keep"]);
    let left = "left alone, so claude-code does not get the installed files: [DIR]/.claude/skills/pdf";
    assert!(said.starts_with("exit 0") && said.contains(left), "{said}");
    // It was chosen, so it is no difference, and it is said.
    let said = run(&place, &["verify"]);
    let kept = "yours is kept for claude-code: [DIR]/.claude/skills/pdf";
    assert!(said.starts_with("exit 0") && said.contains(kept), "{said}");
}

#[test]
fn a_skill_is_not_installed_from_or_into_itself() {
    let place = place();
    place.write("SKILL.md", skill("whole", "one").as_bytes());
    let said = run(&place, &["add", ".", "--yes"]);
    assert!(said.starts_with("exit 2") && said.contains("cannot be installed inside of itself"), "{said}");
    place.write(".agents/skills/own/SKILL.md", skill("own", "one").as_bytes());
    let said = run(&place, &["add", "./.agents/skills/own", "--yes"]);
    assert!(said.starts_with("exit 2") && said.contains("this is where skills are installed"), "{said}");
    assert!(!place.path().join("skills.toml").exists());
    assert!(read(&place, ".agents/skills/own/SKILL.md").contains("own"));
}

#[test]
fn verify_says_why_files_cannot_be_compared_and_how_to_restore_the_users() {
    let place = place();
    run(&place, &["add", "./from/pdf", "--yes", "--user"]);
    let folder = place.path().join("home/.agents/skills/pdf");
    fs::remove_dir_all(&folder).unwrap();
    symlink("/etc", &folder).unwrap();
    assert_snapshot!(say(&place, &["verify", "--user"]), @"
    exit 1
    --- stdout
    pdf  changed: it is a link to /etc
    1 of 1 skill not as installed; restore with: prowess sync --overwrite --user
    ");
}

#[test]
fn a_command_that_only_reads_writes_nothing_to_the_users_folder() {
    let place = place();
    run(&place, &["add", "./from/pdf", "--yes"]);
    // Another user: no lock was ever taken.
    fs::remove_dir_all(place.path().join("state")).unwrap();
    for args in [&["verify"][..], &["list", "--installed"], &["sync", "--dry-run"], &["remove", "pdf", "-n"]]
    {
        let said = run(&place, args);
        assert!(said.starts_with("exit 0"), "{said}");
        assert!(!place.path().join("state/prowess/install").exists(), "{args:?}");
    }
}

#[test]
fn the_users_skills_are_listed_in_the_users_own_folder() {
    let place = place();
    run(&place, &["add", "./from/pdf", "--yes", "--user"]);
    let output = crate::shelf::command(&place)
        .args(["list", "--installed"])
        .current_dir(place.path().join("home"))
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("pdf  user"), "{output:?}");
}

#[test]
fn removing_a_skill_ends_the_trust_in_a_file_of_either_name() {
    let place = place();
    fs::rename(place.path().join("from/pdf/SKILL.md"), place.path().join("from/pdf/skill.md")).unwrap();
    run(&place, &["add", "./from/pdf", "--yes"]);
    assert!(run(&place, &["trust", "--list"]).contains("skill.md"));
    run(&place, &["remove", "pdf"]);
    assert!(!run(&place, &["trust", "--list"]).contains("skill.md"));
}

#[test]
fn a_skill_may_have_more_folders_than_a_process_has_handles() {
    let place = place();
    for number in 0..120 {
        place.write(&format!("from/pdf/references/{number}/a/notes.md"), b"x");
    }
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "ulimit -n 40; exec \"$0\" add ./from/pdf --yes", env!("CARGO_BIN_EXE_prowess")]);
    command.env_clear().env("HOME", place.path().join("home")).current_dir(place.path());
    let said = place.transcript(&command.output().unwrap());
    assert!(said.starts_with("exit 0"), "{said}");
    assert!(place.path().join(".agents/skills/pdf/references/119/a/notes.md").exists());
}

/// A file that the installer keeps for the project, by its ending.
pub(crate) fn kept_for_project(place: &Place, ending: &str) -> std::path::PathBuf {
    let mut files = fs::read_dir(place.path().join("state/prowess/install")).unwrap();
    let lock = files.find_map(|file| {
        Some(file.unwrap().path()).filter(|path| path.extension().is_some_and(|own| own == "lock"))
    });
    lock.unwrap().with_extension(ending)
}

#[test]
fn the_next_command_removes_what_a_killed_process_staged_and_nothing_else() {
    let place = place();
    run(&place, &["add", "./from/pdf", "--yes"]);
    // A repository can contain a folder of such a name.
    for stage in ["0123", "4567"] {
        place.write(&format!(".agents/skills/.prowess-{stage}.stage/0/SKILL.md"), b"x");
    }
    let staged = fs::canonicalize(place.path().join(".agents/skills/.prowess-0123.stage")).unwrap();
    fs::write(kept_for_project(&place, "stages"), serde_json::to_vec(&[&staged]).unwrap()).unwrap();
    assert!(run(&place, &["verify"]).starts_with("exit 0"));
    assert!(!staged.exists());
    assert!(place.path().join(".agents/skills/.prowess-4567.stage/0/SKILL.md").exists());
}

#[test]
fn a_replaced_skill_that_cannot_be_read_is_no_edit_and_is_put_back() {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let place = place();
    run(&place, &["add", "./from/pdf", "--yes"]);
    let lock = read(&place, "skills.lock");
    let digest = lock.split("digest = \"").nth(1).unwrap().split('"').next().unwrap();
    let skills = fs::canonicalize(place.path().join(".agents/skills")).unwrap();
    // A process was killed when it had replaced a skill: the old one is in the staging folder.
    let stage = skills.join(".prowess-0123.stage");
    fs::create_dir(&stage).unwrap();
    let copied =
        std::process::Command::new("cp").arg("-a").arg(skills.join("pdf")).arg(stage.join("0")).status();
    assert!(copied.unwrap().success());
    let step = serde_json::json!({
        "folder": skills, "name": "pdf", "staged": "0", "before": {"tree": digest}, "after": {"tree": digest},
        "moved": fs::metadata(skills.join("pdf")).unwrap().ino(),
    });
    let journal = serde_json::json!({
        "version": 1, "stage": ".prowess-0123.stage", "steps": [step], "files": [], "accepted": [],
    });
    let file = kept_for_project(&place, "journal");
    fs::write(&file, journal.to_string()).unwrap();
    let scripts = stage.join("0/scripts");
    fs::set_permissions(&scripts, fs::Permissions::from_mode(0o000)).unwrap();
    let Some(said) = run_bound(&place, &["verify"]) else { return };
    assert!(said.contains("an interrupted installation was undone: "), "{said}");
    assert!(said.contains(".prowess-0123.stage/0: scripts: permission denied"), "{said}");
    assert!(!said.contains("are kept in") && !file.exists() && !stage.exists(), "{said}");
    let old = skills.join("pdf/scripts");
    assert_eq!(fs::metadata(&old).unwrap().mode() & 0o777, 0);
    fs::set_permissions(&old, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(run_bound(&place, &["verify"]).unwrap().starts_with("exit 0"));
}

#[test]
fn a_script_can_be_run_whatever_the_umask_is() {
    let place = place();
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "umask 0111 && exec \"$@\"", "sh", env!("CARGO_BIN_EXE_prowess")]);
    shell.args(["add", "./from/pdf", "--yes"]).current_dir(place.path());
    let environment = crate::shelf::command(&place);
    let environment = environment.get_envs().filter_map(|(name, value)| Some((name, value?)));
    let said = place.transcript(&shell.envs(environment).output().unwrap());
    if said.contains("permission denied") {
        return crate::skipped("only root enters folders that no umask lets others enter");
    }
    assert!(said.starts_with("exit 0"), "{said}");
    assert_eq!(run(&place, &["verify"]), "exit 0\n--- stdout\n1 skill as installed\n");
}

#[test]
fn a_folder_that_cannot_be_read_does_not_keep_a_skill_beside_it_from_being_installed() {
    let place = place();
    place.write("from/closed/SKILL.md", b"x");
    let program = place.path().join("prowess");
    fs::copy(env!("CARGO_BIN_EXE_prowess"), &program).unwrap();
    fs::create_dir(place.path().join("own")).unwrap();
    let mode = |path: &str, mode| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        fs::set_permissions(place.path().join(path), mode).unwrap();
    };
    for (path, bits) in [("", 0o777), ("prowess", 0o755), ("own", 0o777), ("from/closed", 0o000)] {
        mode(path, bits);
    }
    let run = |args: &[&str]| {
        let mut command = std::process::Command::new("setpriv");
        command.args(["--reuid=65534", "--clear-groups"]).arg(&program).args(args);
        command.env_clear().env("HOME", place.path().join("own")).current_dir(place.path());
        command.output().map(|output| place.transcript(&output)).unwrap_or_default()
    };
    let named = run(&["add", "./from", "--skill", "notes", "--yes"]);
    let all = run(&["add", "./from", "--all", "--yes"]);
    mode("from/closed", 0o755);
    if named.is_empty() || named.contains("setpriv:") {
        return crate::skipped("setpriv cannot run here, or this is not root");
    }
    assert!(named.starts_with("exit 0") && named.contains("+ notes"), "{named}");
    assert!(all.starts_with("exit 1") && all.contains("left out: closed: "), "{all}");
    assert!(all.contains("+ pdf"), "{all}");
}
