//! Files of Prowess itself that this user may not use: each command says what keeps it from them and what helps, and
//! `doctor` finds them before.

use std::ffi::OsStr;
use std::fs;
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
    let damages: [(&str, Damage); 8] = [
        ("records-broken", |own, _| close(&own.with_extension("placed"))),
        ("records-broken", |own, _| close(&own.with_extension("lock"))),
        ("records-broken", |own, _| closed(&own.with_extension("journal"))),
        ("records-broken", |own, _| closed(&own.with_extension("stages"))),
        ("records-broken", |own, _| close(own.parent().unwrap())),
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
    for mode in [0o700, 0o777] {
        let Some(place) = shared() else { return };
        run_as(&place, USER, &["add", "./from/pdf", "--yes"]);
        let folder = place.path().join("state/prowess/install");
        others(&folder);
        fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
        let said = run_as(&place, USER, &["remove", "pdf"]);
        let hint = format!(
            "[DIR]/state/prowess/install belongs to another user: run the command as that user, or look at it and make \
             it yours, as root, with: chown -R {USER} [DIR]/state/prowess/install\n"
        );
        assert!(said.starts_with("exit 2") && said.contains(&hint), "{mode:o}: {said}");
        let doctor = run_as(&place, USER, &["doctor"]);
        assert!(doctor.contains("records-broken: could not take the lock"), "{mode:o}: {doctor}");
        assert!(doctor.contains(&hint), "{mode:o}: {doctor}");
        chown(&folder, Some(USER), None).unwrap();
        assert!(run_as(&place, USER, &["remove", "pdf"]).starts_with("exit 0"), "{mode:o}");
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
        let fixes = |place: &Place| {
            let program = place.path().join("bin/prowess");
            let args = ["doctor", "--json", "--client", "claude-code"];
            let output = as_user(place, USER, OsStr::new(&program), &args).output().unwrap();
            let report: Value = serde_json::from_slice(&output.stdout).unwrap();
            let troubles = report["troubles"].as_array().unwrap().clone();
            let commands = troubles
                .into_iter()
                .flat_map(|trouble| trouble["fix"]["commands"].as_array().unwrap().clone());
            commands.map(|command| command.as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let found = fixes(&place);
        assert!(found.iter().any(|command| command.starts_with("chmod ")), "{closed}: {found:?}");
        for command in found {
            assert!(!command.starts_with("prowess "), "{closed}: {command}");
            shell_as(&place, USER, &command);
        }
        let said = run_as(&place, USER, &["verify"]);
        assert!(said.contains("1 skill as installed"), "{closed}: {said}");
    }
}
