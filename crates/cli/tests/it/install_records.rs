//! Records that were edited, lost or written on another system, and what commands say about them.

use std::fs;

use crate::install::{place, read, skill};
use crate::install_git::commit;
use crate::shelf::run;

#[test]
fn records_with_line_ends_of_windows_keep_them_and_are_up_to_date() {
    let place = place();
    run(&place, &["add", "./from/pdf", "--yes"]);
    let records = ["skills.toml", "skills.lock"];
    for file in records {
        place.write(file, read(&place, file).replace('\n', "\r\n").as_bytes());
    }
    let before = records.map(|file| read(&place, file));
    for args in [&["sync", "--locked"][..], &["sync"], &["sync", "--frozen"], &["verify"]] {
        let said = run(&place, args);
        assert!(said.starts_with("exit 0") && !said.contains("wrote"), "{args:?}: {said}");
        assert_eq!(records.map(|file| read(&place, file)), before, "{args:?}");
    }
    run(&place, &["add", "./from/notes", "--yes"]);
    for file in records {
        let text = read(&place, file);
        assert!(text.contains("notes") && !text.replace("\r\n", "").contains('\n'), "{text:?}");
    }
}

#[test]
fn locked_and_frozen_fail_where_there_is_no_skills_toml() {
    let place = place();
    for option in ["--locked", "--frozen"] {
        let said = run(&place, &["sync", option, "--yes"]);
        assert!(
            said.starts_with("exit 2") && said.contains("there is no skills.toml for this folder"),
            "{said}"
        );
    }
    assert!(run(&place, &["sync", "--yes"]).starts_with("exit 0"));
}

#[test]
fn a_locked_skill_that_needed_higher_limits_is_installed_without_the_options() {
    let place = place();
    place.write("from/pdf/more.txt", b"x");
    let said = run(&place, &["add", "./from/pdf", "--yes", "--max-files", "2"]);
    assert!(said.contains("raise the limit with --max-files N"), "{said}");
    run(&place, &["add", "./from/pdf", "--yes", "--max-files", "3"]);
    for folder in [".agents", "cache"] {
        fs::remove_dir_all(place.path().join(folder)).unwrap();
    }
    let said = run(&place, &["sync", "--yes", "--max-files", "2"]);
    assert!(said.starts_with("exit 0") && said.contains("+ pdf"), "{said}");
    // Without the lock, the limits apply, and the error names the skill.
    for file in [".agents", "cache", "state"] {
        fs::remove_dir_all(place.path().join(file)).unwrap();
    }
    fs::remove_file(place.path().join("skills.lock")).unwrap();
    let said = run(&place, &["sync", "--yes", "--max-files", "2"]);
    assert!(said.contains("error: pdf: the skill has more than 2 files"), "{said}");
}

#[test]
fn approvals_that_cannot_be_read_are_repaired_or_moved_away() {
    let place = place();
    run(&place, &["add", "./from/pdf", "--yes"]);
    place.write("state/prowess/trust.json", b"{");
    for args in [&["sync", "--yes"][..], &["add", "./from/notes", "--yes"], &["remove", "pdf"]] {
        let said = run(&place, args);
        assert!(said.starts_with("exit 2") && said.contains("state/prowess/trust.json"), "{args:?}: {said}");
        assert!(said.contains("repair the file, or move it away"), "{args:?}: {said}");
    }
}

#[test]
fn removing_a_skill_whose_lock_is_lost_names_its_edits_and_no_command_that_cannot_show_them() {
    let place = place();
    run(&place, &["add", "./from/pdf", "--yes"]);
    place.write(".agents/skills/pdf/SKILL.md", skill("pdf", "mine").as_bytes());
    fs::remove_file(place.path().join("skills.lock")).unwrap();
    let said = run(&place, &["remove", "pdf"]);
    assert!(said.contains("and skills.lock does not have it: [DIR]/.agents/skills/pdf: SKILL.md"), "{said}");
    assert!(said.contains("keep its files with --keep") && !said.contains("prowess verify"), "{said}");
    for folder in ["cache", "state"] {
        fs::remove_dir_all(place.path().join(folder)).unwrap();
    }
    let said = run(&place, &["remove", "pdf"]);
    assert!(said.contains("so it is not known whether it was edited: [DIR]/.agents/skills/pdf\n"), "{said}");
    let said = run(&place, &["remove", "pdf", "--keep"]);
    assert!(said.starts_with("exit 0") && !said.contains("says the lock"), "{said}");
}

#[test]
fn a_lock_whose_commit_has_other_files_is_not_taken_for_a_change_of_the_source() {
    let place = place();
    let url = commit(&place, "from");
    run(&place, &["add", &url, "--skill", "pdf", "--yes"]);
    let lock = read(&place, "skills.lock");
    for key in ["digest = \"sha256:", "git-tree = \""] {
        let at = lock.find(key).unwrap() + key.len();
        let mut changed = lock.clone();
        let other = if lock.as_bytes()[at] == b'0' { "1" } else { "0" };
        changed.replace_range(at..=at, other);
        place.write("skills.lock", changed.as_bytes());
        for folder in [".agents", "cache", "state"] {
            let _ = fs::remove_dir_all(place.path().join(folder));
        }
        let said = run(&place, &["sync", "--yes"]);
        assert!(said.starts_with("exit 2"), "{said}");
        assert!(said.contains("the commit does not have the files that the lock names: pdf: "), "{said}");
        assert!(said.contains("hint: the lock was changed, or the server gives other files"), "{said}");
    }
}

#[test]
fn conflict_markers_are_named_in_both_records() {
    let place = place();
    run(&place, &["add", "./from/pdf", "--yes"]);
    for file in ["skills.lock", "skills.toml"] {
        let before = read(&place, file);
        place.write(file, format!("<<<<<<< ours\n{before}=======\n>>>>>>> theirs\n").as_bytes());
        let said = run(&place, &["verify"]);
        assert!(said.contains(&format!("{file}: it has conflict markers of a merge")), "{said}");
        place.write(file, before.as_bytes());
    }
}
