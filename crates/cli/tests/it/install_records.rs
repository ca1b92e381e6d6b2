//! Records that were edited, lost or written on another system, and what commands say about them.

use std::fs;

use insta::assert_snapshot;

use crate::Place;
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
fn a_source_with_a_plus_in_it_is_shown_whole() {
    let place = place();
    let wanted = "[skills]\n\
         address = \"https://h.test/a+b.git\"\n\
         folder = { path = \"../c++/folder\" }\n\
         name = \"acme/c++@name\"\n\
         repository = { git = \"https://h.test/a+b.git\", path = \"skills/repository\" }\n";
    place.write("skills.toml", wanted.as_bytes());
    let removed = |name: &str| {
        let said = run(&place, &["remove", name, "--dry-run"]);
        said.lines().find(|line| line.starts_with("- ")).unwrap_or(&said).to_owned()
    };
    assert_snapshot!(["address", "folder", "name", "repository"].map(removed).join("\n"), @"
    - address  https://h.test/a+b.git
    - folder  ../c++/folder
    - name  acme/c++@name
    - repository  https://h.test/a+b.git skills/repository
    ");
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

/// The first error of a command and its hint.
fn refusal(place: &Place, args: &[&str]) -> String {
    let said = run(place, args);
    let lines = said.lines().skip_while(|line| !line.contains("error:"));
    lines.take(2).collect::<Vec<_>>().join("\n")
}

#[test]
fn records_of_a_project_over_their_limits_are_refused_before_they_are_parsed() {
    let place = place();
    let write = |file: &str, text: &str| fs::write(place.path().join(file), text).unwrap();
    // Either would be refused for its contents too, if it were parsed.
    write("skills.lock", &format!("version = 1\n{}", "[[skill]]\n".repeat(1_000_000)));
    assert_snapshot!(refusal(&place, &["sync"]), @"
    error: the file is too large: [DIR]/skills.lock: 10000012 bytes, at most 1048576
      hint: nothing was changed; install fewer skills for the project, or restore the file from version control
    ");
    assert_snapshot!(run(&place, &["list"]), @"
    exit 0
    --- stdout
    no skills here
    --- stderr
    it is not known where some skills came from: the file is too large: [DIR]/skills.lock: 10000012 bytes, at most 1048576
    ");
    write("skills.lock", &format!("version = 1\n{}", "[[skill]]\n".repeat(50_000)));
    assert_snapshot!(refusal(&place, &["add", "./from/pdf", "--yes"]), @"
    error: this file is not understood: [DIR]/skills.lock: it has too many values: 100002, at most 65536
      hint: nothing was changed; install fewer skills for the project, or restore the file from version control
    ");
    fs::remove_file(place.path().join("skills.lock")).unwrap();
    write("skills.toml", &(0..40_000).map(|number| format!("[skills.s{number}]\n")).collect::<String>());
    assert_snapshot!(refusal(&place, &["sync"]), @"
    error: this file is not understood: [DIR]/skills.toml: it has too many values: 80001, at most 65536
      hint: nothing was changed; install fewer skills for the project, or restore the file from version control
    ");
    assert_snapshot!(refusal(&place, &["doctor"]), @"
    error: records-broken: this file is not understood: [DIR]/skills.toml: it has too many values: 80001, at most 65536; hint: nothing was changed; install fewer skills for the project, or restore the file from version control
    1 error
    ");
}

#[test]
fn a_record_that_could_not_be_read_again_is_not_written() {
    let place = place();
    let digest = "0".repeat(64);
    let locked = |number: usize| {
        format!("\n[[skill]]\nname = \"s{number:04}\"\nsource = \"path+x\"\ndigest = \"sha256:{digest}\"\n")
    };
    // There is room for the heading, and for less than one skill.
    let mut lock = "version = 1\n".to_owned();
    lock.extend((0..((1 << 20) - 100) / locked(0).len()).map(locked));
    fs::write(place.path().join("skills.lock"), &lock).unwrap();
    let wanted = "[skills]\ns0000 = { path = \"x\" }\n";
    fs::write(place.path().join("skills.toml"), wanted).unwrap();
    assert_snapshot!(refusal(&place, &["add", "./from/pdf", "--yes"]), @"
    error: the file is too large: [DIR]/skills.lock: 1048617 bytes, at most 1048576
      hint: nothing was changed; install fewer skills for the project, or restore the file from version control
    ");
    assert_eq!(read(&place, "skills.lock"), lock);
    assert!(!place.path().join(".agents/skills/pdf").exists());
    assert_eq!(read(&place, "skills.toml"), wanted);
}

#[test]
fn files_of_a_project_with_too_many_values_are_refused_before_they_are_parsed() {
    let place = Place::with(&[
        ("prowess.toml", &format!("[skills]\nunknown = [{}]\n", "0,".repeat(100_000))),
        ("plug/plugin.json", &format!("{{\"name\": \"-\", \"keywords\": [{}0]}}", "0,".repeat(100_000))),
        (".mcp.json", &format!("// \"\n{{\"mcpServers\": [{}0]}}", "0,".repeat(100_000))),
    ]);
    assert_snapshot!(refusal(&place, &["list"]), @"
    error: the configuration is not understood: [DIR]/prowess.toml:1: it has too many values: 100004, at most 65536
      hint: name fewer: a folder covers all skills below it, and a glob all names it matches
    ");
    assert_snapshot!(refusal(&place, &["config", "set", "--project", "check.profile", "spec"]), @"
    error: could not read the configuration
      cause: this file is not understood: [DIR]/prowess.toml: it has too many values: 100004, at most 65536
    ");
    assert_snapshot!(refusal(&place, &["connect", "claude-code", "--project"]), @"
    error: could not read the configuration
      cause: this file is not understood: [DIR]/.mcp.json: it has too many values: 100004, at most 65536
    ");
    fs::remove_file(place.path().join("prowess.toml")).unwrap();
    assert_snapshot!(run(&place, &["list", "--in", "plugin=plug"]), @"
    exit 2
    --- stderr
    error: this file is not understood: [DIR]/plug/plugin.json: it has too many values: 100006, at most 65536
      hint: correct it, or restore it from a copy
    ");
}
