//! Files of Prowess itself that this user may not use: each command says what keeps it from them and what helps, and
//! `doctor` finds them before.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::Path;

use serde_json::Value;

use crate::Place;
use crate::install_places::kept_for_project;
use crate::schemas::assert_fits;
use crate::state::{GROUP, OTHER, USER, as_user, run_as, shared, shell_as};

/// The kinds of trouble that `doctor` names as errors, and the commands of their fixes.
fn errors(place: &Place) -> Vec<(String, Vec<String>)> {
    let program = place.path().join("bin/prowess");
    let output = as_user(place, USER, program.as_os_str(), &["doctor", "--json"]).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{error}: {}", place.transcript(&output));
    });
    assert_fits("doctor", &report);
    let errors = report["troubles"].as_array().unwrap().iter().filter(|trouble| trouble["level"] == "error");
    let of = |trouble: &Value| {
        let commands = trouble["fix"]["commands"].as_array().unwrap();
        let commands = commands.iter().map(|command| command.as_str().unwrap().to_owned());
        (trouble["kind"].as_str().unwrap().to_owned(), commands.collect())
    };
    errors.map(of).collect()
}

fn close(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o000)).unwrap();
}

/// Makes a folder one in which nothing can be written.
fn keep_as_it_is(folder: &Path) {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o500)).unwrap();
}

/// Makes an empty file of the user that this user may not read.
fn closed(path: &Path) {
    fs::write(path, "{}").unwrap();
    chown(path, Some(USER), Some(GROUP)).unwrap();
    close(path);
}

fn others(path: &Path) {
    chown(path, Some(OTHER), Some(GROUP)).unwrap();
}

#[test]
fn what_keeps_every_command_from_the_files_of_prowess_is_named_with_a_fix_that_works() {
    type Damage = fn(&Path, &Path);
    let damages: [(&str, Damage); 10] = [
        ("records-broken", |own, _| close(&own.with_extension("placed"))),
        ("records-broken", |own, _| close(&own.with_extension("lock"))),
        ("records-broken", |own, _| closed(&own.with_extension("journal"))),
        ("records-broken", |own, _| closed(&own.with_extension("stages"))),
        ("records-broken", |own, _| close(own.parent().unwrap())),
        ("records-broken", |own, _| keep_as_it_is(own.parent().unwrap())),
        ("records-broken", |_, state| keep_as_it_is(state)),
        ("records-broken", |own, _| others(&own.with_extension("lock"))),
        ("records-broken", |_, state| others(&state.join("trust.lock"))),
        ("approvals-broken", |_, state| close(&state.join("trust.json"))),
    ];
    let Some(place) = shared() else { return };
    for (number, (kind, damage)) in damages.into_iter().enumerate() {
        let added = run_as(&place, USER, &["add", "./from/pdf", "--yes"]);
        assert!(added.starts_with("exit 0") && errors(&place).is_empty(), "{added}");
        let lock = kept_for_project(&place, "lock");
        damage(&lock, &place.path().join("state/prowess"));
        let found = errors(&place);
        assert!(!found.is_empty() && found.iter().all(|(found, _)| found == kind), "{number}: {found:?}");
        let said = run_as(&place, USER, &["remove", "pdf"]);
        for (_, fix) in found {
            let [command] = &*fix else { panic!("{number}: {fix:?}") };
            let shown = command.replace(&*place.path().to_string_lossy(), "[DIR]");
            assert!(said.starts_with("exit 2") && said.contains(&format!(": {shown}\n")), "{number}: {said}");
            shell_as(&place, USER, command);
        }
        // An empty journal is no journal, and is set aside by the first command.
        run_as(&place, USER, &["verify"]);
        assert_eq!(errors(&place), [], "{number}");
        let said = run_as(&place, USER, &["remove", "pdf"]);
        assert!(said.starts_with("exit 0"), "{number}: {said}");
    }
}

#[test]
fn a_folder_of_state_of_another_user_is_named_with_what_its_owner_and_root_can_do() {
    let folder = "[DIR]/state/prowess/install";
    let away = format!(
        "{folder} belongs to another user: run the command as that user, or move it away with: mv {folder} \
         {folder}.other-user\n"
    );
    let given = format!("{folder} belongs to root, who can make it yours with: chown -R {USER} {folder}\n");
    for (owner, mode, hint) in
        [(OTHER, 0o700, &away), (OTHER, 0o777, &away), (0, 0o700, &given), (0, 0o755, &given)]
    {
        let Some(place) = shared() else { return };
        run_as(&place, USER, &["add", "./from/pdf", "--yes"]);
        let path = place.path().join("state/prowess/install");
        chown(&path, Some(owner), Some(0)).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let said = run_as(&place, USER, &["remove", "pdf"]);
        assert!(said.starts_with("exit 2") && said.contains(hint), "{owner} {mode:o}: {said}");
        let doctor = run_as(&place, USER, &["doctor"]);
        assert!(doctor.contains("records-broken: could not take the lock"), "{owner} {mode:o}: {doctor}");
        let (words, command) = hint.trim_end().rsplit_once(" with: ").unwrap();
        assert!(doctor.contains(words) && doctor.contains(command), "{owner} {mode:o}: {doctor}");
        let command = command.replace("[DIR]", &place.path().to_string_lossy());
        // What another user wrote there is not believed after it was moved away.
        shell_as(&place, if owner == 0 { 0 } else { USER }, &command);
        let said = run_as(&place, USER, &["remove", "pdf"]);
        assert!(said.starts_with("exit 0"), "{owner} {mode:o}: {said}");
        assert_eq!(errors(&place), [], "{owner} {mode:o}");
    }
}

#[test]
fn a_lock_of_another_user_stops_no_command_of_root_and_is_no_trouble_then() {
    let Some(place) = shared() else { return };
    shell_as(&place, 0, "chown -R 0:0 . && mkdir -p home/.claude/skills");
    run_as(&place, 0, &["add", "./from/pdf", "--yes"]);
    others(&kept_for_project(&place, "lock"));
    others(&place.path().join("state/prowess/trust.lock"));
    let doctor = run_as(&place, 0, &["doctor"]);
    assert!(!doctor.contains("records-broken"), "{doctor}");
    let said = run_as(&place, 0, &["remove", "pdf"]);
    assert!(said.starts_with("exit 0"), "{said}");
}

#[test]
fn a_command_never_names_another_path_than_the_one_that_is_meant() {
    let Some(place) = shared() else { return };
    let (text, state) = ("state-\u{fffd}", OsStr::from_bytes(b"state-\xff"));
    // What the path would be if it were shown as text.
    for name in [OsStr::new(text), state] {
        if fs::create_dir_all(place.path().join(name).join("prowess/install")).is_err() {
            return crate::skipped("this file system takes no names that are not UTF-8");
        }
        others(&place.path().join(name).join("prowess/install"));
    }
    let run = |state: &OsStr, args: &[&str]| {
        let program = place.path().join("bin/prowess");
        let mut command = as_user(&place, 0, program.as_os_str(), args);
        let output = command.env("XDG_STATE_HOME", place.path().join(state)).output().unwrap();
        place.transcript(&output)
    };
    shell_as(&place, 0, "chown -R 0:0 home state-*; chown 61002 state-*/prowess/install");
    for args in [&["add", "./from/pdf", "--yes"][..], &["doctor"]] {
        let said = run(OsStr::new(text), args);
        assert!(said.contains("mv '[DIR]/state-"), "{args:?}: {said}");
        let said = run(state, args);
        assert!(
            said.contains("move it away") && !said.contains(" with: ") && !said.contains("fix: "),
            "{args:?}: {said}"
        );
    }
}

/// The commands of all fixes of `doctor` for one client, and their words.
fn fixes(place: &Place) -> (Vec<String>, String) {
    let program = place.path().join("bin/prowess");
    let args = ["doctor", "--json", "--client", "claude-code"];
    let output = as_user(place, USER, program.as_os_str(), &args).output().unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let troubles = report["troubles"].as_array().unwrap();
    let commands = troubles.iter().flat_map(|trouble| trouble["fix"]["commands"].as_array().unwrap());
    let commands = commands.map(|command| command.as_str().unwrap().to_owned()).collect();
    (commands, report.to_string())
}

#[test]
fn doctor_looks_at_nothing_that_a_link_in_the_place_of_an_installed_skill_leads_to() {
    for link in ["../../private", "../../private/deep"] {
        let Some(place) = shared() else { return };
        run_as(&place, USER, &["add", "./from/pdf", "--yes", "--client", "claude-code"]);
        shell_as(
            &place,
            USER,
            "mkdir -p home/.claude/skills private/deep; touch private/key private/deep/key",
        );
        close(&place.path().join("private/key"));
        close(&place.path().join("private/deep/key"));
        let skill = place.path().join(".agents/skills/pdf");
        fs::remove_dir_all(&skill).unwrap();
        std::os::unix::fs::symlink(link, &skill).unwrap();
        let (commands, report) = fixes(&place);
        assert!(report.contains("it is a link to"), "{report}");
        assert!(!commands.iter().any(|command| command.contains("chmod")), "{commands:?}");
    }
}

#[test]
fn a_skill_with_a_closed_file_of_another_user_gets_no_command_that_fails() {
    for (file, links) in [("SKILL.md", true), ("scripts/run.sh", true), ("own", false)] {
        let Some(place) = shared() else { return };
        run_as(&place, USER, &["add", "./from/pdf", "--yes", "--client", "claude-code"]);
        shell_as(&place, USER, "mkdir -p home/.claude/skills/own");
        let path = if links {
            place.path().join(".agents/skills/pdf").join(file)
        } else {
            place.write("home/.claude/skills/own/SKILL.md", b"x");
            place.path().join("home/.claude/skills/own/SKILL.md")
        };
        close(&path);
        others(&path);
        let (commands, report) = fixes(&place);
        assert!(report.contains("belongs to another user"), "{file}: {report}");
        assert!(!commands.iter().any(|command| command.contains("chmod")), "{file}: {commands:?}");
    }
}

#[test]
fn approvals_that_cannot_be_read_are_named_with_what_helps_by_every_command() {
    let Some(place) = shared() else { return };
    run_as(&place, USER, &["add", "./from/pdf", "--yes"]);
    let file = place.path().join("state/prowess/trust.json");
    let commands: [&[&str]; 4] = [&["trust"], &["trust", "--list"], &["trust", "--revoke", "pdf"], &["list"]];
    close(&file);
    for args in commands.into_iter().chain([&["sync"][..], &["remove", "pdf"]]) {
        let said = run_as(&place, USER, args);
        let hint =
            "make it readable and writable for this user with: chmod u+rwX [DIR]/state/prowess/trust.json\n";
        assert!(said.starts_with("exit 2") && said.contains(hint), "{args:?}: {said}");
    }
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    chown(&file, Some(USER), Some(GROUP)).unwrap();
    for args in commands {
        let said = run_as(&place, USER, args);
        assert!(said.starts_with("exit 2") && said.contains("or move it away"), "{args:?}: {said}");
    }
    let [(kind, fix)] = &*errors(&place) else { panic!() };
    assert_eq!(kind, "approvals-broken");
    shell_as(&place, USER, &fix[0]);
    assert_eq!(errors(&place), []);
}

#[test]
fn an_installed_skill_that_cannot_be_read_is_made_readable_by_the_fix_of_doctor() {
    for closed in ["SKILL.md", "scripts", ""] {
        let Some(place) = shared() else { return };
        run_as(&place, USER, &["add", "./from/pdf", "--yes", "--client", "claude-code"]);
        shell_as(&place, USER, "mkdir -p home/.claude/skills");
        close(&place.path().join(".agents/skills/pdf").join(closed));
        let (found, _) = fixes(&place);
        assert!(found.iter().any(|command| command.starts_with("chmod ")), "{closed}: {found:?}");
        for command in found {
            assert!(!command.starts_with("prowess "), "{closed}: {command}");
            shell_as(&place, USER, &command);
        }
        let said = run_as(&place, USER, &["verify"]);
        assert!(said.contains("1 skill as installed"), "{closed}: {said}");
    }
}

#[test]
fn a_symlink_of_another_user_to_the_state_is_named_and_not_called_read_only() {
    let Some(place) = shared() else { return };
    assert!(run_as(&place, USER, &["add", "./from/pdf", "--yes"]).starts_with("exit 0"));
    let state = place.path().join("state/prowess");
    fs::rename(&state, place.path().join("state/real")).unwrap();
    std::os::unix::fs::symlink("real", &state).unwrap();
    std::os::unix::fs::lchown(&state, Some(OTHER), Some(GROUP)).unwrap();
    for command in [&["add", "./from/notes", "--yes"][..], &["sync", "--yes"], &["trust", ".", "--yes"]] {
        let said = run_as(&place, USER, command);
        assert!(said.starts_with("exit 2") && !said.contains("writable"), "{command:?}: {said}");
        let hint = "[DIR]/state/prowess belongs to another user: run the command as that user, or move it away with: mv ";
        assert!(said.contains(hint), "{command:?}: {said}");
    }
}
