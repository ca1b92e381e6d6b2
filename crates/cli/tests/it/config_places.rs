//! `prowess config` where the files are not at their usual places, broken or links to nothing.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::shelf::{command, json_of, output, run};
use crate::{Place, code};

const TOOLS: &str = "[session]\ntools = ['Read']\n";

/// Runs the command that a text prints after these words, with `--yes`.
fn run_printed(place: &Place, folder: &Path, text: &str, words: &str) {
    let printed = text.split_once(words).unwrap_or_else(|| panic!("{words}: {text}")).1;
    let line = printed.lines().next().unwrap().trim();
    let line = line.strip_prefix("prowess ").unwrap_or_else(|| panic!("{line}"));
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", &format!("{} {line} --yes", env!("CARGO_BIN_EXE_prowess"))]).current_dir(folder);
    shell.env_clear().envs(command(place).get_envs().filter_map(|(name, value)| Some((name, value?))));
    let done = shell.output().unwrap();
    assert_eq!(code(&done), 0, "{line}: {}", place.transcript(&done));
}

fn run_in(place: &Place, folder: &Path, args: &[&str]) -> String {
    let mut command = command(place);
    let output = command.current_dir(folder).args(args).output().unwrap();
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn the_command_that_set_prints_trusts_the_project_from_a_subfolder_too() {
    for in_repository in [true, false] {
        let place = Place::with(&[("w/prowess.toml", ""), ("w/sub/x", "")]);
        if in_repository {
            place.write("w/.git/HEAD", b"ref: refs/heads/main\n");
        }
        let sub = place.path().join("w/sub");
        let set = ["config", "set", "--project", "session.tools", "Read"];
        let said = run_in(&place, &sub, &set);
        run_printed(&place, &sub, &said, "trust it with: ");
        assert!(!run_in(&place, &sub, &set).contains("no effect"), "{said}");
    }
}

#[test]
fn the_command_that_doctor_prints_trusts_the_project_from_a_subfolder_too() {
    for in_repository in [true, false] {
        let place = Place::with(&[("w/prowess.toml", TOOLS), ("w/sub/x", ""), ("home/.claude/x", "")]);
        if in_repository {
            place.write("w/.git/HEAD", b"ref: refs/heads/main\n");
        }
        let sub = place.path().join("w/sub");
        let said = run_in(&place, &sub, &["doctor"]);
        assert!(said.contains("session.tools"), "{said}");
        run_printed(&place, &sub, &said, "then trust the project; fix: ");
        let again = run_in(&place, &sub, &["doctor"]);
        assert!(!again.contains("session.tools"), "{again}");
    }
}

#[test]
fn a_broken_file_of_the_project_is_an_error_of_get_too() {
    let place = Place::with(&[("prowess.toml", "[skils]\n")]);
    let got = run(&place, &["config", "get", "check.profile"]);
    assert!(got.starts_with("exit 2\n") && got.contains("no such key: skils"), "{got}");
    assert!(run(&place, &["config", "get", "check.profile", "--json"]).starts_with("exit 2\n"));
}

#[test]
fn a_link_to_nothing_is_not_taken_for_no_file() {
    let place = Place::with(&[("x", ""), ("config/prowess/x", "")]);
    symlink("nowhere.toml", place.path().join("config/prowess/prowess.toml")).unwrap();
    for args in [&["config"][..], &["config", "get", "scan.depth"], &["list"]] {
        let said = run(&place, args);
        assert!(said.starts_with("exit 2\n") && said.contains("config/prowess/prowess.toml"), "{said}");
    }
    let files = json_of(&place, &["config", "path", "--json"]);
    assert_eq!((&files["files"][0]["name"], &files["files"][0]["exists"]), (&"user".into(), &true.into()));
}

#[test]
fn a_source_outside_of_an_untrusted_project_is_not_said_to_be_in_force() {
    let place = Place::with(&[
        ("p/prowess.toml", "[[skills.sources]]\ndir = '../own'\n[[skills.sources]]\ndir = 'mine'\n"),
        ("p/mine/x", ""),
        ("own/x", ""),
    ]);
    let folder = place.path().join("p");
    let shown = |place: &Place| -> Value {
        serde_json::from_str(&run_in(place, &folder, &["config", "--json"])).unwrap()
    };
    let sources = |value: &Value, member: &str| -> Vec<Value> {
        let all = value[member].as_array().unwrap().iter();
        all.filter(|one| one["key"] == "skills.sources").map(|one| one["value"].clone()).collect()
    };
    let before = shown(&place);
    assert_eq!(sources(&before, "settings"), [serde_json::json!([{"dir": "mine"}])]);
    assert_eq!(sources(&before, "unused"), [serde_json::json!([{"dir": "../own"}])]);
    run_in(&place, &folder, &["trust", "--yes"]);
    let after = shown(&place);
    assert_eq!(sources(&after, "settings"), [serde_json::json!([{"dir": "../own"}, {"dir": "mine"}])]);
    assert!(sources(&after, "unused").is_empty());
}

#[test]
fn an_entry_that_is_not_set_has_no_origin() {
    let place = Place::with(&[("prowess.toml", "[check.levels]\nname-too-long = 'off'\n")]);
    let got = json_of(&place, &["config", "get", "check.levels.name-missing", "--json"]);
    assert_eq!(got["settings"], serde_json::json!([]));
    assert_eq!(code(&output(&place, &["config", "get", "check.levels.name-too-long"])), 0);
}

#[test]
fn a_setting_that_is_said_to_have_no_effect_has_none() {
    // Augment looks to any depth, and Prowess 6 deep by default.
    let deep = ".augment/skills/1/2/3/4/5/6/7/8/9/deep/SKILL.md";
    let skills = [
        (deep, "---\nname: deep\ndescription: Sorts socks when asked.\n---\n"),
        (".augment/skills/1/2/near/SKILL.md", "---\nname: near\ndescription: Sorts socks when asked.\n---\n"),
        (".claude/skills/flat/SKILL.md", "---\nname: flat\ndescription: Sorts socks when asked.\n---\n"),
        (".claude/skills/flat/in/SKILL.md", "---\nname: in\ndescription: Sorts socks when asked.\n---\n"),
        (".claude/skills/_x/SKILL.md", "---\nname: x\ndescription: Sorts socks when asked.\n---\n"),
    ];
    let values = (1..14).map(|depth| format!("depth = {depth}"));
    let others = ["nested = true", "nested = false", "skip = ['_']"].map(ToOwned::to_owned);
    let mut without_effect = 0;
    for value in values.chain(others) {
        let (place, plain) = (Place::with(&skills), Place::with(&skills));
        place.write("prowess.toml", format!("[scan]\n{value}\n").as_bytes());
        for client in [[].as_slice(), &["--client", "augment"], &["--client", "claude-code"]] {
            for route in [
                &["try", "sort socks", "--json"],
                &["tools", "--dialect", "mcp"],
                &["show", "deep", "--json"],
            ] {
                let args = [route.as_slice(), client].concat();
                let said = run(&place, &args);
                if said.contains("so these settings have no effect") {
                    without_effect += 1;
                    let without =
                        said.lines().filter(|line| !line.contains("have no effect") && *line != "--- stderr");
                    let as_before = run(&plain, &args);
                    let as_before = as_before.lines().filter(|line| *line != "--- stderr");
                    assert!(without.eq(as_before), "{value} {args:?}: {said}");
                }
            }
        }
    }
    assert!(without_effect >= 9, "{without_effect}");
}

#[test]
fn a_configuration_of_another_user_is_a_warning_that_decides_no_exit_code() {
    let place = Place::with(&[("prowess.toml", "[skills]\n"), ("sub/x", ""), ("home/.claude/x", "")]);
    let file = place.path().join("prowess.toml");
    if std::os::unix::fs::chown(&file, Some(12_345), None).is_err() {
        crate::skipped("only root can give a file to another user");
        return;
    }
    let in_sub = |args: &[&str]| {
        let output = command(&place).current_dir(place.path().join("sub")).args(args).output().unwrap();
        place.transcript(&output)
    };
    for args in [&["list"][..], &["list", "--client", "installed"], &["prompt"], &["search", "x"]] {
        let said = in_sub(args);
        assert!(said.starts_with("exit 0\n"), "{args:?}: {said}");
        assert!(said.contains("warning: ") && !said.contains("error: "), "{args:?}: {said}");
    }
    let not_used = "[DIR]/prowess.toml (not used: it belongs to another user)\n";
    for (args, title) in [(&["config", "path"][..], "project  "), (&["config"], "file of the project: ")] {
        let said = in_sub(args);
        assert!(said.contains(&format!("{title}{not_used}")), "{said}");
    }
}
