//! Files that cannot be read: each is named with a hint, and the others are still checked.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

use crate::{GOOD, Place, code};
use insta::assert_snapshot;

#[test]
fn a_missing_path_and_a_folder_without_a_skill_are_named() {
    let place = Place::with(&[("good/SKILL.md", GOOD), ("empty/notes.md", "")]);
    assert_snapshot!(place.run(&["check", "nope", "empty", "good", "good/SKILL.md/x"]), @"
    exit 2
    --- stdout
    1 skill checked: no problems; 3 could not be checked
    --- stderr
    error: there is no such file, folder or skill: nope
      hint: check the spelling, or list the skills with: prowess list
    error: there is no SKILL.md in this folder or below it: empty
      hint: a skill is a folder with a file SKILL.md; give such a folder or one above it
    error: there is no such file, folder or skill: good/SKILL.md/x
      hint: check the spelling, or list the skills with: prowess list
    ");
    let report = place.json(&["check", "--json", "nope", "good"]);
    assert_eq!(report["summary"]["files"], 1);
    assert_snapshot!(report["failures"].to_string(), @r#"
    [{"path":"nope","error":"there is no such file, folder or skill: nope","cause":null,"hint":"check the spelling, or list the skills with: prowess list","code":"failed","action":null}]
    "#);
    assert_snapshot!(place.run(&["check", "--format", "github", "nope"]), @"
    exit 2
    --- stdout
    ::error file=nope,title=not done::there is no such file, folder or skill: nope%0Ahint: check the spelling, or list the skills with: prowess list
    0 skills checked; 1 could not be checked
    --- stderr
    error: there is no such file, folder or skill: nope
      hint: check the spelling, or list the skills with: prowess list
    ");
}

#[test]
fn a_fifo_a_device_a_folder_and_a_dead_link_do_not_stop_the_others() {
    let place = Place::with(&[("good/SKILL.md", GOOD), ("folder/SKILL.md/x", "")]);
    let fifo = place.path().join("fifo");
    fs::create_dir(&fifo).unwrap();
    let made = Command::new("mkfifo").arg(fifo.join("SKILL.md")).status();
    if !made.is_ok_and(|status| status.success()) {
        crate::skipped("mkfifo cannot run here");
        return;
    }
    for (folder, target) in [("device", "/dev/zero"), ("dead", "nowhere")] {
        fs::create_dir(place.path().join(folder)).unwrap();
        symlink(target, place.path().join(folder).join("SKILL.md")).unwrap();
    }
    assert_snapshot!(place.run(&["check"]), @"
    exit 2
    --- stdout
    1 skill checked: no problems; 3 could not be checked
    --- stderr
    error: there is no such file or folder: dead/SKILL.md
      hint: check the spelling, and that a link is not broken
    error: this is a device, not a regular file: device/SKILL.md
      hint: put a regular file in its place, or leave it out
    error: this is a FIFO, not a regular file: fifo/SKILL.md
      hint: put a regular file in its place, or pipe the text into: prowess check -
    ");
    assert_snapshot!(place.run(&["check", "fifo/SKILL.md", "folder/SKILL.md"]), @"
    exit 2
    --- stdout
    0 skills checked; 2 could not be checked
    --- stderr
    error: this is a FIFO, not a regular file: fifo/SKILL.md
      hint: put a regular file in its place, or pipe the text into: prowess check -
    error: there is no SKILL.md in this folder or below it: folder/SKILL.md
      hint: a skill is a folder with a file SKILL.md; give such a folder or one above it
    ");
    assert_eq!(code(&place.output(&["show", "fifo"])), 2);
}

#[test]
fn a_file_of_50_mb_is_a_problem_with_its_true_size() {
    let place = Place::with(&[("good/SKILL.md", GOOD)]);
    fs::create_dir(place.path().join("big")).unwrap();
    let file = File::create(place.path().join("big/SKILL.md")).unwrap();
    std::io::Write::write_all(&mut &file, b"---\nname: big\ndescription: d\n---\n").unwrap();
    file.set_len(50 << 20).unwrap();
    let report = place.json(&["check", "--json"]);
    let problems = report["files"][0]["problems"].as_array().unwrap();
    let found: Vec<&str> = problems.iter().map(|problem| problem["message"].as_str().unwrap()).collect();
    assert!(found.contains(&"the file has 52428800 bytes, more than 1048576"), "{found:?}");
    assert_eq!((report["summary"]["files"].as_u64(), code(&place.output(&["check"]))), (Some(2), 1));
}

#[test]
fn bytes_that_are_not_utf8_are_a_finding() {
    let place = Place::with(&[]);
    place.write("a/SKILL.md", b"---\nname: a\ndescription: caf\xe9\n---\n");
    assert_snapshot!(place.run(&["check"]), @"
    exit 1
    --- stdout
    error[not-utf8]: the bytes from offset 28 on are not UTF-8
     --> a/SKILL.md:3:17
      |
    3 | description: caf?
      |                 ^
      |
      = help: save the file as UTF-8

    note: a/SKILL.md: description-too-short (description)

    1 skill checked: 1 error, 0 warnings in 1 file, 1 note
    ");
}

#[test]
fn unreadable_files_are_named_and_the_others_are_checked() {
    let place = Place::with(&[("good/SKILL.md", GOOD), ("file/SKILL.md", GOOD), ("folder/SKILL.md", GOOD)]);
    // Root may read everything, so the command runs as user nobody, from a copy that this user can reach.
    let program = place.path().join("prowess");
    fs::copy(env!("CARGO_BIN_EXE_prowess"), &program).unwrap();
    for (path, mode) in [("", 0o755), ("prowess", 0o755), ("file/SKILL.md", 0o000), ("folder", 0o000)] {
        fs::set_permissions(place.path().join(path), Permissions::from_mode(mode)).unwrap();
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--clear-groups"]).arg(&program).arg("check").arg(".");
    let output = command.env_clear().current_dir(place.path()).output();
    // Restored before the test can fail: a folder that cannot be read cannot be removed.
    fs::set_permissions(place.path().join("folder"), Permissions::from_mode(0o755)).unwrap();
    let output = match output {
        Ok(output) if !String::from_utf8_lossy(&output.stderr).contains("setpriv:") => output,
        _ => {
            return crate::skipped("setpriv cannot run here, or this is not root");
        }
    };
    assert_snapshot!(place.transcript(&output), @"
    exit 2
    --- stdout
    1 skill checked: no problems; 2 could not be checked
    --- stderr
    error: could not read: folder
      cause: permission denied
      hint: make it readable for this user, or leave it out of what you name
    error: could not read: file/SKILL.md
      cause: permission denied
      hint: make it readable for this user, or leave it out of what you name
    ");
}

#[test]
fn any_bytes_give_a_report_and_never_a_panic() {
    let place = Place::with(&[]);
    let long = format!("---\nname: a\ndescription: {}\n---\n{}", "x".repeat(60_000), "[a](b) ".repeat(3_000));
    let hostile: [&[u8]; 12] = [
        b"",
        b"\n",
        b"---",
        b"---\n---",
        b"---\r\n\xff\xfe\r\n---\r\n",
        b"---\nname: [\n---\n",
        b"---\n\tname: a\n---\n",
        b"\x00\x01\x02",
        "---\nname: \u{202e}a\u{e0041}\ndescription: \u{1f468}\u{200d}\u{1f469}\n---\n".as_bytes(),
        b"---\nname: a\nname: a\nname: a\ndescription: d\n---\n",
        "---\ndescription: \u{3000}\u{85}\u{2028}x: y: z\n---\n".as_bytes(),
        long.as_bytes(),
    ];
    for (number, bytes) in hostile.iter().enumerate() {
        place.write(&format!("h{number}/SKILL.md"), bytes);
    }
    for format in ["human", "json", "github"] {
        let output = place.output(&["check", "--format", format]);
        assert_eq!(code(&output), 1, "{format}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(output.stderr.is_empty());
    }
    for number in 0..hostile.len() {
        let ended = code(&place.output(&[Path::new("show"), Path::new(&format!("h{number}"))]));
        assert!(ended < 2, "{number}: {ended}");
    }
}

#[test]
fn a_file_with_very_many_problems_shows_the_most_severe_and_counts_the_rest() {
    let place = Place::with(&[]);
    // One line of a megabyte, so that counting columns from its start each time would take minutes.
    let text = format!("---\nname: many\ndescription: d\n---\n{}", "[x](y.md) ".repeat(100_000));
    place.write("many/SKILL.md", text.as_bytes());
    place.write("many/z/SKILL.md", format!("{text}\u{e0041}").as_bytes());
    let shown = place.run(&["check", "many/SKILL.md"]);
    assert_eq!(
        shown.matches("warning[link-missing]").count() + shown.matches("warning[file-large]").count(),
        100
    );
    assert!(shown.contains("more in many/SKILL.md; --format json lists every one"), "{shown}");
    let report = place.json(&["check", "--json", "many/SKILL.md"]);
    assert!(report["files"][0]["problems"].as_array().unwrap().len() > 150);
    // The error is the last problem of the file, and is still shown.
    assert!(place.run(&["check", "many/z/SKILL.md"]).contains("error[hidden-tag-characters]"));
}

#[test]
fn hints_fit_what_was_found() {
    let place = Place::with(&[("folder/SKILL.md", GOOD), ("folder/prowess.toml/x", "")]);
    fs::create_dir(place.path().join("loop")).unwrap();
    symlink("SKILL.md", place.path().join("loop/SKILL.md")).unwrap();
    assert_snapshot!(place.run(&["check", "loop/SKILL.md", "folder"]), @"
    exit 2
    --- stdout
    0 skills checked; 2 could not be checked
    --- stderr
    error: could not read: loop/SKILL.md
      cause: too many levels of symbolic links
      hint: the link leads in a circle; remove it, or let it lead to a file
    error: could not read the configuration
      cause: this is a folder, not a file: [DIR]/folder/prowess.toml
      hint: a file is required here; rename or remove the folder
    ");
}
