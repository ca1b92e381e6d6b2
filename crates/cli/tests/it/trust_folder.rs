//! `prowess trust FOLDER`: what is trusted is what was shown, and what was not looked into is named.

use std::fs;
use std::os::unix::fs::symlink;

use crate::shelf::{command, json_of, run};
use crate::{Place, code};

const EVIL: &str = "---\nname: evil\ndescription: Does it.\nallowed-tools: Bash\n---\n";

/// What is shown before the folder is trusted.
fn shown(place: &Place) -> String {
    let shown = run(place, &["trust", "--dry-run"]);
    assert!(shown.starts_with("exit 0"), "{shown}");
    shown
}

/// Whether a skill can be used from a folder, after the whole place was trusted.
fn is_used_from(place: &Place, folder: &str, name: &str) -> bool {
    assert!(run(place, &["trust", "--yes"]).starts_with("exit 0"));
    let mut activate = command(place);
    activate.args(["activate", name]).current_dir(place.path().join(folder));
    code(&activate.output().unwrap()) == 0
}

#[test]
fn skills_of_folders_below_are_shown_before_they_are_trusted() {
    for folder in ["packages/a", "node_modules/a", ".hidden/a", "a/b/c/d/e/f/g/h/i"] {
        let place = Place::with(&[(&*format!("{folder}/.claude/skills/evil/SKILL.md"), EVIL)]);
        let shown = shown(&place);
        assert!(shown.contains(&format!("at  [DIR]/{folder}/.claude/skills/evil/SKILL.md")), "{shown}");
        assert!(shown.contains("asks for tools  Bash"), "{shown}");
        assert!(is_used_from(&place, folder, "evil"), "{folder}");
    }
}

#[test]
fn a_folder_that_is_never_looked_into_is_not_covered_by_trust() {
    for folder in [".git/a", "a/.git/b"] {
        let place = Place::with(&[
            (&*format!("{folder}/.claude/skills/evil/SKILL.md"), EVIL),
            (&*format!("{folder}/prowess.toml"), "[session]\ntools = ['Read']\n"),
        ]);
        let shown = shown(&place);
        assert!(!shown.contains("evil") && shown.contains("no skills are found there now"), "{shown}");
        assert!(!is_used_from(&place, folder, "evil"), "{folder}");
        let mut config = command(&place);
        config.args(["config", "--json"]).current_dir(place.path().join(folder));
        let config: serde_json::Value = serde_json::from_slice(&config.output().unwrap().stdout).unwrap();
        assert_eq!(config["project"]["trusted"], false, "{config}");
    }
}

#[test]
fn settings_of_folders_below_are_shown_before_they_are_trusted() {
    let place = Place::with(&[
        (
            "packages/a/prowess.toml",
            "[session]\ntools = ['Read']\n[[skills.sources]]\njsonl = 'list.jsonl'\n",
        ),
        ("packages/a/list.jsonl", "{\"name\":\"evil\",\"description\":\"Does it.\",\"content\":\"Do.\"}\n"),
    ]);
    let shown = shown(&place);
    let line = "takes effect  session.tools = [\"Read\"] in [DIR]/packages/a/prowess.toml";
    assert!(shown.contains(line) && shown.contains("at  [DIR]/packages/a/list.jsonl"), "{shown}");
}

#[test]
fn folders_of_a_skill_that_are_not_listed_are_named() {
    let place = Place::with(&[
        (".claude/skills/evil/SKILL.md", EVIL),
        (".claude/skills/evil/node_modules/x.js", "1"),
        (".claude/skills/evil/sub/.git/hooks/x", "1"),
    ]);
    let shown = shown(&place);
    assert!(shown.contains("not looked into  node_modules\n"), "{shown}");
    assert!(shown.contains("not looked into  sub/.git\n"), "{shown}");
}

#[test]
fn the_limits_of_an_untrusted_project_hide_nothing_from_the_question() {
    let place = Place::with(&[("zzz/.claude/skills/evil/SKILL.md", EVIL)]);
    // The folder of a client that is not trusted may have 2,000 folders.
    for number in 0..2_100 {
        let folder = place.path().join(format!(".claude/skills/a{number}"));
        fs::create_dir_all(folder).unwrap();
    }
    place.write(".claude/skills/last/SKILL.md", EVIL.replace("evil", "last").as_bytes());
    place.write(".claude/skills/a/b/c/d/e/f/g/h/SKILL.md", EVIL.replace("evil", "deep").as_bytes());
    let shown = shown(&place);
    for name in ["last", "evil", "deep"] {
        assert!(shown.contains(&format!("\n{name}  1 file")), "{name}: {shown}");
    }
    assert!(!shown.contains("not looked into"), "{shown}");
}

#[test]
fn what_the_project_leaves_out_of_its_walk_is_shown() {
    let place = Place::with(&[
        (".claude/skills/evil/SKILL.md", EVIL),
        (".claude/skills/good/SKILL.md", &EVIL.replace("evil", "good")),
        (".claude/skills/good/in/SKILL.md", &EVIL.replace("evil", "inner")),
        ("prowess.toml", "[scan]\nskip = ['evil']\nnested = false\ndepth = 1\n"),
    ]);
    let shown = shown(&place);
    for name in ["good", "evil", "inner"] {
        assert!(shown.contains(&format!("\n{name}  ")), "{name}: {shown}");
    }
}

#[test]
fn a_skill_behind_a_link_out_of_the_project_is_shown_with_what_it_asks_for() {
    let outside = Place::with(&[("evil/SKILL.md", EVIL)]);
    let place = Place::with(&[(".claude/skills/x/y", "")]);
    symlink(outside.path().join("evil"), place.path().join(".claude/skills/evil")).unwrap();
    let shown = shown(&place);
    assert!(shown.contains("at  [DIR]/.claude/skills/evil/SKILL.md"), "{shown}");
    assert!(shown.contains("asks for tools  Bash") && shown.contains("will also be read  "), "{shown}");
    assert!(is_used_from(&place, ".", "evil"));
}

#[test]
fn a_skill_whose_file_is_a_link_out_of_the_project_is_shown_with_what_it_asks_for() {
    let outside = Place::with(&[("evil/SKILL.md", EVIL)]);
    let place = Place::with(&[(".claude/skills/x/y", "")]);
    fs::create_dir(place.path().join(".claude/skills/c")).unwrap();
    symlink(outside.path().join("evil/SKILL.md"), place.path().join(".claude/skills/c/SKILL.md")).unwrap();
    let shown = shown(&place);
    assert!(shown.contains("\nevil  1 file,"), "{shown}");
    assert!(shown.contains("at  [DIR]/.claude/skills/c/SKILL.md"), "{shown}");
    assert!(shown.contains("asks for tools  Bash") && !shown.contains("not looked into"), "{shown}");
    assert!(is_used_from(&place, ".", "evil"));
}

#[test]
fn a_folder_with_too_many_files_hides_no_script_beside_it() {
    let place = Place::with(&[
        (".claude/skills/evil/SKILL.md", EVIL),
        (".claude/skills/evil/data/x.sh", "1"),
        (".claude/skills/evil/zzz/y.py", "1"),
    ]);
    let many = place.path().join(".claude/skills/evil/aaa");
    fs::create_dir(&many).unwrap();
    for number in 0..=10_000 {
        fs::write(many.join(number.to_string()), "").unwrap();
    }
    let shown = shown(&place);
    assert!(shown.contains("can be run  data/x.sh, zzz/y.py\n"), "{shown}");
    assert!(shown.contains("not looked into  aaa\n"), "{shown}");
    let run = run(&place, &["trust", "evil", "--yes"]);
    assert!(
        run.contains("the skill has more than 10000 entries") && run.contains("prowess trust\n"),
        "{run}"
    );
}

#[test]
fn what_cannot_be_read_is_named_before_it_is_trusted() {
    let place = Place::with(&[
        ("prowess.toml", "[[skills.sources]]\narchive = 'pack.zip'\n[[skills.sources]]\ndir = 'nowhere'\n"),
        ("pack.zip", "no archive"),
        ("below/prowess.toml", "[scan\n"),
    ]);
    let shown = json_of(&place, &["trust", "--dry-run", "--json"]);
    crate::schemas::assert_fits("trust", &shown);
    let unseen: Vec<&str> =
        shown["unseen"].as_array().unwrap().iter().map(|one| one.as_str().unwrap()).collect();
    for part in ["pack.zip", "nowhere", "below/prowess.toml"] {
        assert!(unseen.iter().any(|line| line.contains(part)), "{part}: {unseen:?}");
    }
}

#[test]
fn a_folder_that_cannot_be_read_is_named_once() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::with(&[(".claude/skills/evil/SKILL.md", EVIL), (".claude/skills/locked/x/y", "")]);
    let mode = |path: &str, mode| {
        fs::set_permissions(place.path().join(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(".", 0o755);
    mode(".claude/skills/locked", 0o000);
    // Permissions do not bind root, so the command runs as the user nobody.
    let mut command = std::process::Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"]);
    command.args([env!("CARGO_BIN_EXE_prowess"), "trust", "--dry-run", "."]).current_dir(place.path());
    let output = command.env("HOME", place.path().join("nowhere")).output();
    mode(".claude/skills/locked", 0o755);
    let output = match output {
        Ok(output) if !matches!(code(&output), 126 | 127) => output,
        other => return crate::skipped(&format!("setpriv cannot run here: {other:?}")),
    };
    let said = place.transcript(&output);
    if said.contains("setpriv") {
        return crate::skipped("setpriv cannot run here");
    }
    assert_eq!(said.matches("skills/locked").count(), 1, "{said}");
}

#[test]
fn a_link_to_a_configuration_outside_of_the_folder_is_named() {
    let outside = Place::with(&[("other.toml", "[session]\nfilter = 'none'\n")]);
    let place = Place::with(&[("x", "")]);
    symlink(outside.path().join("other.toml"), place.path().join("prowess.toml")).unwrap();
    let shown = shown(&place);
    assert!(shown.contains("will also be read  ") && shown.contains("/other.toml\n"), "{shown}");
}

#[test]
fn a_skill_that_is_written_in_the_projects_configuration_is_trusted_with_its_folder() {
    let text =
        "[[skills.sources]]\nname = \"jot\"\ndescription = \"Jots.\"\ninstructions = \"Write it down.\"\n";
    let place = Place::with(&[("prowess.toml", text)]);
    let state = |place: &Place| json_of(place, &["list", "--json", "--all"])["skills"][0]["state"].clone();
    assert_eq!(state(&place), "untrusted");
    let doctor = json_of(&place, &["doctor", "--json"]);
    assert_eq!(doctor["troubles"][0]["kind"], "skill-untrusted", "{doctor:#}");
    assert!(shown(&place).contains("--- stdout\njot  1 file"), "{}", shown(&place));
    let trusted = run(&place, &["trust", "--yes"]);
    assert!(trusted.starts_with("exit 0\n") && trusted.contains("jot  1 file"), "{trusted}");
    assert_eq!(state(&place), "active");
    let doctor = json_of(&place, &["doctor", "--json"]);
    assert!(!doctor.to_string().contains("skill-untrusted"), "{doctor:#}");
    run(&place, &["trust", "--revoke"]);
    assert_eq!(state(&place), "untrusted");
}

#[test]
fn trust_without_a_name_is_about_the_project_also_in_a_subfolder() {
    let place = Place::with(&[
        (".claude/skills/tidy/SKILL.md", "---\nname: tidy\ndescription: Tidies.\n---\n"),
        ("below/empty/x", ""),
    ]);
    let below = place.path().join("below/empty");
    let there =
        |args: &[&str]| place.transcript(&command(&place).args(args).current_dir(&below).output().unwrap());
    let said = there(&["trust", "--yes"]);
    assert!(
        said.contains("trusted, with everything in it: [DIR]\n") && said.contains("tidy  1 file"),
        "{said}"
    );
    assert!(run(&place, &["activate", "tidy"]).starts_with("exit 0\n"));
    let said = there(&["trust", "--revoke"]);
    assert!(said.starts_with("exit 0\n"), "{said}");
    assert!(!run(&place, &["activate", "tidy"]).starts_with("exit 0\n"));
    // A folder that is named is that folder.
    assert!(there(&["trust", ".", "--yes"]).contains("everything in it: [DIR]/below/empty\n"));
}
