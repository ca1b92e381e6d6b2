//! `--client` where folders cannot be read, lead out of a project, or are reached through a link; and what is counted.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::shelf::{command, json_of, run};
use crate::{Place, code};

fn skill(name: &str) -> String {
    format!("---\nname: {name}\ndescription: Does {name}.\n---\nDo it.\n")
}

/// A place with skills at these paths, each with the name of its folder.
fn with(skills: &[&str]) -> Place {
    let place = Place::with(&[("home/x", "")]);
    for path in skills {
        let name = path.rsplit('/').next().unwrap();
        place.write(&format!("{path}/SKILL.md"), skill(name).as_bytes());
    }
    place
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Runs the command as another user, from a copy that this user can reach; nothing if that cannot be done here.
fn as_other(place: &Place, args: &[&str]) -> Option<Output> {
    let program = place.path().join("prowess");
    if !program.exists() {
        fs::copy(env!("CARGO_BIN_EXE_prowess"), &program).unwrap();
        mode(place.path(), 0o755);
        mode(&program, 0o755);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&program);
    command.args(args).current_dir(place.path()).env_clear().env("HOME", place.path().join("home"));
    let output = command.env("PATH", "/usr/bin:/bin").output().ok()?;
    (!String::from_utf8_lossy(&output.stderr).contains("setpriv:")).then_some(output)
}

#[test]
fn a_folder_that_may_not_be_read_is_named_and_hides_nothing_else() {
    let place = with(&["home/.agents/skills/good", "home/.agents/skills/shut", "home/.codex/skills/gone"]);
    let shut = [place.path().join("home/.agents/skills/shut"), place.path().join("home/.codex/skills")];
    for folder in &shut {
        mode(folder, 0o000);
    }
    let answers = [
        ["list", "--client", "codex"].as_slice(),
        &["list", "--client", "codex,grok"],
        &["list", "--client", "codex", "--json"],
    ]
    .map(|args| as_other(&place, args));
    let why = as_other(&place, &["why", "good", "--client", "codex"]);
    for folder in &shut {
        mode(folder, 0o755);
    }
    let ([Some(one), Some(several), Some(data)], Some(why)) = (answers, why) else {
        return crate::skipped("setpriv cannot run here");
    };
    for output in [&one, &several, &why] {
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(code(output), 2, "{err}");
        assert!(out.contains("good"), "{out}");
        for folder in &shut {
            assert!(err.contains(&format!("could not read: {}\n", folder.display())), "{err}");
        }
        assert!(err.contains("permission denied") && err.contains("make it readable for this user"), "{err}");
    }
    let data: Value = serde_json::from_slice(&data.stdout).unwrap();
    assert_eq!((&data["skills"][0]["name"], &data["summary"]["skills"]), (&json!("good"), &json!(1)));
    assert_eq!(data["unread"].as_array().unwrap().len(), 2, "{data}");
}

#[test]
fn a_skill_file_that_may_not_be_read_is_listed_by_no_client_and_explained() {
    let place = with(&["home/.agents/skills/good", "home/.agents/skills/shut"]);
    let file = place.path().join("home/.agents/skills/shut/SKILL.md");
    mode(&file, 0o000);
    let list = as_other(&place, &["list", "--client", "codex", "--json"]);
    let why = as_other(&place, &["why", "shut", "--client", "codex"]);
    mode(&file, 0o644);
    let (Some(list), Some(why)) = (list, why) else { return crate::skipped("setpriv cannot run here") };
    let list: Value = serde_json::from_slice(&list.stdout).unwrap();
    assert_eq!((&list["summary"]["skills"], &list["summary"]["left_out"]), (&json!(1), &json!(1)), "{list}");
    let why = String::from_utf8_lossy(&why.stdout).into_owned();
    assert!(why.contains("Codex does not list it: its SKILL.md cannot be read"), "{why}");
    assert!(why.contains("hint: make it a regular file that you may read"), "{why}");
}

#[test]
fn several_clients_say_which_of_them_follow_a_link_out_of_an_untrusted_project() {
    let place = with(&["home/store/ext", "p/.agents/skills/own", "p/.continue/skills/own"]);
    fs::create_dir_all(place.path().join("p/.git")).unwrap();
    let link = |folder: &str| {
        let to = place.path().join("p").join(folder).join("skills/ext");
        symlink(place.path().join("home/store/ext"), to).unwrap();
    };
    let in_project = |args: &[&str]| {
        let output = command(&place).current_dir(place.path().join("p")).args(args).output().unwrap();
        place.transcript(&output)
    };
    link(".continue");
    let none = in_project(&["list", "--client", "continue,codex"]);
    assert!(none.starts_with("exit 0") && !none.contains("cause"), "only Continue looks there: {none}");
    link(".agents");
    let both = in_project(&["list", "--client", "continue,codex,gemini-cli"]);
    let cause =
        "cause: Codex, Gemini CLI follow links; Prowess does not, out of a project that is not trusted";
    assert!(both.starts_with("exit 2") && both.contains(cause), "{both}");
    assert_eq!(both.matches("cause:").count(), 1, "{both}");
    let output = command(&place)
        .current_dir(place.path().join("p"))
        .args(["list", "--client", "codex,continue", "--json"])
        .output()
        .unwrap();
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let cause = json["unread"][0]["cause"].as_str().unwrap();
    assert!(cause.starts_with("Codex follows links; "), "{json}");
    assert_eq!(json["unread"].as_array().unwrap().len(), 1, "{json}");
    let why = in_project(&["why", "ext", "--client", "codex,continue"]);
    assert!(why.contains("not read, so it is not known whether this is a skill: ext"), "{why}");
}

#[test]
fn what_is_left_out_is_counted_exactly_where_nothing_was_passed_over() {
    let place = with(&["home/.agents/skills/one"]);
    place.write("home/.agents/skills/bad/SKILL.md", format!("\u{feff}{}", skill("bad")).as_bytes());
    let says = |client: &str, words: &str| {
        let list = run(&place, &["list", "--client", client]);
        assert!(list.contains(words), "{client}: {list}");
        json_of(&place, &["list", "--client", client, "--json"])["summary"]["left_out_at_least"].clone()
    };
    assert_eq!(says("codex", "\n1 left out (1 not seen)"), json!(null));
    assert_eq!(says("gemini-cli", "\n1 left out (1 not seen)"), json!(null), "its skills contain no folders");
    assert_eq!(says("codex,augment", "\n1 that no client lists"), json!(null));
    for (path, codex, gemini) in [
        ("home/.agents/skills/one/scripts/x.sh", "\n1 left out", "\nat least 1 left out"),
        ("home/.agents/skills/team/two/SKILL.md", "\n1 left out", "\nat least 1 left out"),
        ("home/.agents/skills/Case/Skill.md", "\nat least 1 left out", "\nat least 1 left out"),
        ("home/.agents/skills/.dot/SKILL.md", "\nat least 1 left out", "\nat least 1 left out"),
    ] {
        place.write(path, skill("more").as_bytes());
        says("codex", codex);
        says("gemini-cli", gemini);
    }
    assert_eq!(says("codex", "at least"), json!(true));
    let all = run(&place, &["list", "--all", "--client", "codex"]);
    assert!(all.contains("\n3 left out (3 not seen)"), "{all}");
}

#[test]
fn a_budget_that_is_an_estimate_is_said_to_be_one() {
    let place = with(&["home/.codex/skills/one", "home/.claude/skills/one", "home/.gemini/skills/one"]);
    for (client, about) in [("codex", "about 2 %"), ("claude-code", "about 1 %")] {
        let limits = &json_of(&place, &["prompt", "--client", client, "--json"])["limits"];
        let said = limits["catalog"].as_str().unwrap();
        assert!(
            said.contains(&format!("its catalog has {about} of the context, as Prowess estimates tokens")),
            "{said}"
        );
        assert_eq!(limits["approximate"], true);
    }
    let exact = json_of(&place, &["prompt", "--client", "gemini-cli", "--json"]);
    assert_eq!(exact["limits"]["approximate"], false);
}

#[test]
fn a_home_behind_a_link_is_not_trusted_as_a_whole_and_is_no_project() {
    let place = with(&["home/.claude/skills/mine", "home/p/.claude/skills/own"]);
    symlink(place.path().join("home"), place.path().join("link")).unwrap();
    let through_link = |from: &str, args: &[&str]| {
        let mut command = command(&place);
        command.env("HOME", place.path().join("link")).current_dir(place.path().join(from)).args(args);
        command.output().unwrap()
    };
    let trust = place.transcript(&through_link("home", &["trust", ".", "--yes"]));
    assert!(trust.starts_with("exit 2") && trust.contains("too much to trust"), "{trust}");
    fs::remove_dir(place.path().join(".git")).unwrap();
    for from in ["home", "home/p"] {
        let list = through_link(from, &["list", "--client", "github-copilot,claude-code", "--json"]);
        let list: Value = serde_json::from_slice(&list.stdout).unwrap();
        let mine: Vec<&Value> =
            list["skills"].as_array().unwrap().iter().filter(|skill| skill["name"] == "mine").collect();
        assert_eq!(mine.len(), 1, "once: {list}");
        assert_eq!((&mine[0]["scope"], &mine[0]["trusted"]), (&json!("user"), &json!(true)), "{list}");
    }
    let why = place.transcript(&through_link("home/p", &["why", "none", "--client", "codex"]));
    assert!(why.starts_with("exit 1"), "{why}");
}

#[test]
fn a_skill_file_that_may_not_be_read_is_to_be_made_readable_and_not_edited() {
    let place = with(&["home/.claude/skills/shut"]);
    let file = place.path().join("home/.claude/skills/shut/SKILL.md");
    mode(&file, 0o000);
    let answers = [["doctor"].as_slice(), &["why", "shut"]].map(|args| as_other(&place, args));
    mode(&file, 0o644);
    let [Some(doctor), Some(why)] = answers else { return crate::skipped("setpriv cannot run here") };
    for (output, said) in [(doctor, "make it readable for this user"), (why, "readable for this user")] {
        let text = place.transcript(&output);
        assert!(text.contains(said) && !text.contains("prowess check"), "{text}");
    }
}
