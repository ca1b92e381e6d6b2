//! `--client` in unusual places: what is listed, why not, what to do, and with which exit code.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::process::Command;

use serde_json::{Value, json};

use crate::shelf::{command, json_of, output, run};
use crate::{Place, code};

pub(crate) fn skill(name: &str) -> String {
    format!("---\nname: {name}\ndescription: Does {name}.\n---\nDo it.\n")
}

/// A place with skills at these paths, each with a name.
pub(crate) fn with(skills: &[(&str, &str)]) -> Place {
    let place = Place::with(&[("home/x", "")]);
    for (path, name) in skills {
        place.write(&format!("{path}/SKILL.md"), skill(name).as_bytes());
    }
    place
}

fn texts(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
}

#[test]
fn a_depth_limit_of_a_client_is_no_error_on_any_route() {
    let place = with(&[("home/.agents/skills/one", "one"), ("home/.agents/skills/team/two", "two")]);
    place.write("calls.jsonl", b"");
    for args in [
        ["list", "--json"].as_slice(),
        &["prompt"],
        &["search", "one"],
        &["why", "one"],
        &["cat", "one"],
        &["activate", "one"],
        &["show", "one"],
        &["tools"],
        &["replay", "calls.jsonl"],
        &["serve"],
    ] {
        let args = [args, &["--client", "gemini-cli"]].concat();
        let output = output(&place, &args);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!((code(&output), said.contains("deep")), (0, false), "{args:?}: {said}");
    }
}

#[test]
fn the_readers_of_a_skill_are_the_clients_that_list_it() {
    let place = with(&[("home/.agents/skills/shared", "shared"), ("home/.claude/skills/own", "own")]);
    let list = json_of(&place, &["list", "--json"]);
    for at in [0, 1] {
        let (name, readers) = (&list["skills"][at]["name"], texts(&list["skills"][at]["readers"]));
        assert!(!readers.is_empty());
        for client in prowess::library::clients::CLIENTS {
            let seen = json_of(&place, &["list", "--client", client.id, "--json"]);
            let lists = seen["skills"].as_array().unwrap().iter().any(|skill| skill["name"] == *name);
            assert_eq!(readers.contains(&client.id), lists, "{name} in {}", client.id);
        }
    }
}

#[test]
fn a_plain_list_has_the_skills_of_every_folder_in_the_rows() {
    let folders = [
        ".cline/skills",
        ".pi/agent/skills",
        ".kimi-code/skills",
        ".kilo/skill",
        ".opencode/skills",
        ".openclaw/workspace/skills",
        "../config/kilo/skill",
        ".config/amp/skills",
    ];
    for folder in folders {
        let place = with(&[(&format!("home/{folder}/mine"), "mine")]);
        let list = json_of(&place, &["list", "--json"]);
        assert_eq!(list["skills"][0]["name"], "mine", "{folder}");
        assert!(!texts(&list["skills"][0]["readers"]).is_empty(), "{folder}");
    }
}

#[test]
fn a_system_skill_of_codex_is_listed_once() {
    let place = with(&[("home/.codex/skills/.system/sys", "sys"), ("home/.codex/skills/own", "own")]);
    let list = json_of(&place, &["list", "--all", "--client", "codex", "--json"]);
    let names: Vec<_> = list["skills"].as_array().unwrap().iter().map(|skill| &skill["name"]).collect();
    assert_eq!(names, ["own", "sys"]);
    assert_eq!(list["summary"]["left_out"], 0);
    let why = json_of(&place, &["why", "sys", "--client", "codex", "--json"]);
    assert_eq!(why["candidates"].as_array().unwrap().len(), 1, "{why}");
    let several = json_of(&place, &["list", "--all", "--client", "codex,grok", "--json"]);
    let sys = &several["skills"][1];
    assert_eq!((&sys["seen_by"][0]["client"], &sys["not_seen_by"]), (&json!("codex"), &json!([])));
    assert_eq!(several["summary"], json!({"skills": 2, "left_out": 0, "filtered": 0}));
    let elsewhere = run(&with(&[("home/.hermes/skills/h", "h")]), &["why", "h", "--client", "codex"]);
    assert!(!elsewhere.contains(".system"), "{elsewhere}");
}

#[test]
fn why_in_a_subfolder_says_in_which_folder_the_client_must_start() {
    let place = with(&[("home/p/.agents/skills/pj", "pj"), ("home/p/sub/x", "x")]);
    fs::remove_dir(place.path().join(".git")).unwrap();
    let why = |client: &str| {
        let mut command = command(&place);
        command.current_dir(place.path().join("home/p/sub")).args(["why", "pj", "--client", client]);
        place.transcript(&command.output().unwrap())
    };
    let codex = why("codex");
    assert!(codex.contains("in a folder above, where Codex does not look from here"), "{codex}");
    assert!(codex.contains("hint: start Codex in [DIR]/home/p, or run git init there"), "{codex}");
    fs::create_dir(place.path().join("home/p/.git")).unwrap();
    let gemini = why("gemini-cli");
    assert!(gemini.contains("hint: start Gemini CLI in [DIR]/home/p\n"), "{gemini}");
    assert!(!gemini.contains("gemini-cli"), "{gemini}");
    assert!(why("codex").starts_with("exit 0"));
}

#[test]
fn advice_for_a_client_works_when_it_is_followed() {
    let place = with(&[
        ("home/.hermes/skills/far", "far"),
        ("home/.claude/skills/x", "first"),
        (".claude/skills/x", "second"),
        ("home/.copilot/skills/beside", "beside"),
        ("home/.copilot/skills", "top"),
    ]);
    let advice = run(&place, &["why", "far", "--client", "continue"]);
    assert!(advice.contains("put the skill into one of these\n"), "it follows no links: {advice}");
    let advice = run(&place, &["why", "far", "--client", "codex"]);
    assert!(advice.contains("or a link to it into [DIR]/home/.agents/skills\n"), "{advice}");
    let shadowed = run(&place, &["why", "second", "--client", "claude-code"]);
    assert!(shadowed.contains("hint: rename the folder of one of the two"), "{shadowed}");
    let by_folder = json_of(&place, &["why", "x", "--client", "claude-code", "--json"]);
    assert_eq!(by_folder["candidates"].as_array().unwrap().len(), 2, "{by_folder}");
    assert_eq!(by_folder["candidates"][1]["not_seen"]["code"], "same-name");
    let beside = run(&place, &["why", "beside", "--client", "github-copilot"]);
    assert!(beside.contains("hint: move that SKILL.md into a folder of its own"), "{beside}");
    let fifo = place.path().join("home/.copilot/skills/fifo");
    fs::create_dir(&fifo).unwrap();
    assert!(Command::new("mkfifo").arg(fifo.join("SKILL.md")).status().unwrap().success());
    let fifo = run(&place, &["why", "fifo", "--client", "github-copilot"]);
    assert!(fifo.contains("make it a regular file that you may read"), "{fifo}");
}

#[test]
fn a_check_for_a_client_says_what_it_could_not_read() {
    let place = with(&[("home/.agents/skills/own", "own")]);
    fs::create_dir_all(place.path().join("home/.codex")).unwrap();
    symlink("skills", place.path().join("home/.codex/skills")).unwrap();
    let said = run(&place, &["check", "--client", "codex", "--quiet"]);
    assert!(
        said.starts_with("exit 2") && said.contains("could not read: [DIR]/home/.codex/skills\n"),
        "{said}"
    );
    assert_eq!(
        said.matches("could not read").count(),
        1,
        "the folder inside it is not a second problem: {said}"
    );
}

#[test]
fn what_a_client_does_not_list_is_in_every_format_of_a_check() {
    let place = with(&[
        ("home/.agents/skills/team/two", "two"),
        ("home/.agents/skills/a", "same"),
        ("home/.gemini/skills/b", "same"),
    ]);
    let check = |format: &str| {
        let output = output(&place, &["check", "--client", "gemini-cli", "--format", format]);
        (code(&output), String::from_utf8(output.stdout).unwrap())
    };
    let (code, text) = check("json");
    let json: Value = serde_json::from_str(&text).unwrap();
    let codes: Vec<_> = json["not_listed"].as_array().unwrap().iter().map(|skill| &skill["code"]).collect();
    assert_eq!(code, 1);
    assert_eq!(codes, ["too-deep", "same-name"], "{json}");
    let (code, text) = check("github");
    assert!(code == 1 && text.contains("title=too-deep::Gemini CLI does not list it"), "{text}");
    let (code, text) = check("sarif");
    let sarif: Value = serde_json::from_str(&text).unwrap();
    let mut results = sarif["runs"][0]["results"].as_array().unwrap().iter();
    assert!(code == 1 && results.any(|result| result["ruleId"] == "not-listed/too-deep"), "{sarif}");
}

#[test]
fn a_check_for_a_client_reads_a_folder_whose_name_is_not_utf8() {
    let place = with(&[]);
    let folder = place.path().join("home/.codex/skills").join(OsStr::from_bytes(b"bad\xff"));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("SKILL.md"), skill("bad")).unwrap();
    let check = json_of(&place, &["check", "--client", "codex", "--json"]);
    assert_eq!((&check["summary"]["files"], &check["failures"]), (&json!(1), &json!([])), "{check}");
}

#[test]
fn a_client_of_which_only_the_folders_are_known_is_said_to_be_so() {
    let place = with(&[("home/.agents/skills/own", "own")]);
    let note = "Cursor: folders only, not verified";
    for args in [["list"].as_slice(), &["why", "own"], &["prompt"], &["search", "own"], &["check"]] {
        let said = run(&place, &[args, &["--client", "cursor"]].concat());
        assert!(said.contains(note), "{said}");
    }
    assert!(run(&place, &["list", "--client", "cursor,codex"]).contains(note));
    let several = json_of(&place, &["list", "--client", "codex,cursor", "--json"]);
    assert_eq!(
        (&several["clients"][0]["verified"], &several["clients"][1]["verified"]),
        (&json!(true), &json!(false))
    );
    let one = json_of(&place, &["list", "--client", "cursor", "--json"]);
    assert_eq!(one["skills"][0]["client_verified"], false);
}

#[test]
fn a_winner_that_is_not_always_the_same_is_not_stated_as_a_fact() {
    let place = with(&[("home/.agents/skills/a", "same"), ("home/.claude/skills/b", "same")]);
    let list = run(&place, &["list", "--client", "opencode"]);
    assert!(list.contains("same  one of several, not always this one: Does same."), "{list}");
    let why = run(&place, &["why", "same", "--client", "opencode"]);
    assert!(why.contains("lists one skill with this name, not always this one"), "{why}");
    let several = run(&place, &["list", "--client", "opencode,gemini-cli"]);
    assert!(several.contains("opencode (not always this one)"), "{several}");
    let codex = json_of(&place, &["list", "--client", "gemini-cli", "--json"]);
    assert!(codex["skills"][0].get("one_of_several").is_none(), "{codex}");
}

#[test]
fn a_client_is_installed_if_it_has_any_folder_of_its_own() {
    for (folder, id) in [
        (".openclaw/skills", "openclaw"),
        (".opencode/skills", "opencode"),
        (".kilocode/skills", "kilo"),
        ("../config/kilo/skills", "kilo"),
    ] {
        let place = with(&[(&format!("home/{folder}/mine"), "mine")]);
        let list = json_of(&place, &["list", "--client", "installed", "--json"]);
        let ids: Vec<_> =
            list["clients"].as_array().unwrap().iter().map(|client| &client["client"]).collect();
        assert_eq!(ids, [id], "{folder}");
    }
    let none = with(&[]);
    assert!(run(&none, &["list", "--client", "installed"]).contains("no client was found"));
    let with_codex = json_of(&none, &["list", "--client", "codex", "--client", "installed", "--json"]);
    assert_eq!(with_codex["clients"][0]["client"], "codex");
}

#[test]
fn an_option_without_effect_on_a_client_is_refused_by_name() {
    let place = with(&[("home/.agents/skills/own", "own")]);
    for (args, option) in [
        (["list", "--depth", "3"].as_slice(), "--depth"),
        (&["list", "--skip", "o"], "--skip"),
        (&["list", "--no-nested"], "--no-nested"),
        (&["search", "own", "--duplicates", "last"], "--duplicates"),
        (&["why", "own", "--filter", "x"], "--filter"),
    ] {
        let said = run(&place, &[args, &["--client", "codex"]].concat());
        assert!(said.starts_with("exit 2") && said.contains(&format!("error: {option} ")), "{said}");
    }
    let said = run(&place, &["list", "--depth", "3", "--client", "codex,gemini-cli"]);
    assert!(said.contains("error: --depth "), "{said}");
    let budget = json_of(&place, &["why", "own", "--client", "codex", "--budget", "1", "--json"]);
    assert_eq!(budget["prompt"], "cut", "a budget is obeyed");
}

#[test]
fn a_folder_that_may_be_entered_and_not_listed_is_the_same_to_list_and_to_why() {
    let place = with(&[("home/.codex/skills/c", "c")]);
    let folder = place.path().join("home/.codex/skills/c");
    let mode = |path: &std::path::Path, mode: u32| {
        let permissions = std::os::unix::fs::PermissionsExt::from_mode(mode);
        fs::set_permissions(path, permissions).unwrap();
    };
    // The command runs as another user, from a copy that this user can reach.
    let program = place.path().join("prowess");
    fs::copy(env!("CARGO_BIN_EXE_prowess"), &program).unwrap();
    mode(place.path(), 0o755);
    mode(&program, 0o755);
    mode(&folder, 0o111);
    let as_other = |args: &[&str]| {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&program);
        command.args(args).current_dir(place.path()).env_clear().env("HOME", place.path().join("home"));
        match command.env("PATH", "/usr/bin:/bin").output() {
            Ok(output) if !String::from_utf8_lossy(&output.stderr).contains("setpriv:") => Some(output),
            _ => None,
        }
    };
    let args = ["why", "c", "--client", "codex", "--json"];
    let (Some(list), Some(why)) = (as_other(&["list", "--client", "codex", "--json"]), as_other(&args))
    else {
        mode(&folder, 0o755);
        return crate::skipped("setpriv cannot run here");
    };
    mode(&folder, 0o755);
    let (list, why): (Value, Value) =
        (serde_json::from_slice(&list.stdout).unwrap(), serde_json::from_slice(&why.stdout).unwrap());
    assert_eq!((&list["skills"][0]["name"], &why["offered"]), (&json!("c"), &json!(true)), "{list} {why}");
}

#[test]
fn another_name_in_a_client_is_shown_with_its_reason() {
    let place = with(&[("home/.agents/skills/folder", "Loud Mail"), ("home/.qoder/x", "x")]);
    let why = |client: &str| run(&place, &["why", "Loud Mail", "--client", client]);
    let qoder = why("qoder");
    assert!(
        qoder.contains("seen as: folder; its file says Loud Mail, and Qoder takes the name of"),
        "{qoder}"
    );
    let grok = why("grok");
    assert!(grok.contains("seen as: loud-mail; its file says Loud Mail, and Grok Build writes"), "{grok}");
    assert!(why("codex").contains("seen as: Loud Mail\n"));
    let search = run(&place, &["search", "mail", "--client", "grok"]);
    assert!(search.contains("loud-mail") && search.contains("(Loud Mail)"), "{search}");
}

#[test]
fn a_skill_that_is_not_for_the_model_says_what_to_do() {
    let place = with(&[]);
    let text = "---\nname: own\ndescription: d\ndisable-model-invocation: true\n---\nDo it.\n";
    place.write("home/.claude/skills/own/SKILL.md", text.as_bytes());
    let why = run(&place, &["why", "own", "--client", "claude-code"]);
    assert!(why.contains("hint: remove disable-model-invocation\n"), "{why}");
    let list = json_of(&place, &["list", "--client", "claude-code", "--json"]);
    let because = &list["skills"][0]["not_for_model_because"];
    assert_eq!(because["reason"], "it says disable-model-invocation: true");
    assert_eq!(because["fix"], "remove disable-model-invocation");
}

#[test]
fn a_file_in_the_place_of_a_folder_is_named_once_with_what_to_do() {
    let place = with(&[("home/.claude/skills/ok", "ok")]);
    place.write("home/.codex/skills", b"x");
    place.write("home/.agents", b"x");
    let list = run(&place, &["list", "--client", "codex"]);
    let file = "this is a file, and a folder is looked for in its place: [DIR]/home/";
    assert!(
        list.contains(&format!("{file}.agents\n")) && list.contains(&format!("{file}.codex/skills\n")),
        "{list}"
    );
    assert_eq!((list.matches(file).count(), list.matches("move the file away").count()), (2, 2), "{list}");
}

#[test]
fn a_client_that_is_written_in_another_way_is_suggested() {
    let place = with(&[("home/.agents/skills/own", "own")]);
    for (written, meant) in [
        ("claude", "claude-code"),
        ("copilot", "github-copilot"),
        ("gemini", "gemini-cli"),
        ("Codex", "codex"),
        ("opncode", "opencode"),
    ] {
        for command in ["list", "check"] {
            let said = run(&place, &[command, "--client", written]);
            assert!(said.contains(&format!("hint: did you mean {meant}?")), "{said}");
        }
    }
    let unknown = run(&place, &["list", "--client", "nothing-like-it"]);
    assert!(unknown.contains("prowess list --client installed") && unknown.len() < 300, "{unknown}");
    let both = json_of(&place, &["list", "--client", "codex,gemini-cli", "--json"]);
    assert_eq!(both["clients"].as_array().unwrap().len(), 2);
    assert!(run(&place, &["serve", "--print-config", "github-copilot"]).contains("mcp-config.json"));
}

#[test]
fn a_configuration_that_cannot_be_written_ends_with_two() {
    let place = with(&[]);
    let Ok(full) = fs::File::options().write(true).open("/dev/full") else {
        return crate::skipped("there is no /dev/full");
    };
    let output = command(&place).args(["serve", "--print-config", "codex"]).stdout(full).output().unwrap();
    assert_eq!(code(&output), 2);
}
