//! Where skills are found, and what commands say about skills in other places.

use std::fs;
use std::os::unix::fs::symlink;

use crate::shelf::{command, json_of, output, run};
use crate::{Place, code};

fn skill(name: &str) -> String {
    format!("---\nname: {name}\ndescription: Does {name}.\n---\nBody.\n")
}

/// The names that `list` shows.
fn listed(place: &Place, args: &[&str]) -> Vec<String> {
    let report = json_of(place, &[&["list", "--json"], args].concat());
    let names = report["skills"].as_array().unwrap().iter();
    names.map(|row| row["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_skill_inside_a_skill_and_one_beside_a_skill_md_are_checked_listed_and_explained() {
    let place = Place::with(&[
        ("skills/SKILL.md", &skill("top")),
        ("skills/outer/SKILL.md", &skill("outer")),
        ("skills/outer/references/inner/SKILL.md", &skill("inner")),
    ]);
    assert_eq!(listed(&place, &["--in", "skills"]), ["inner", "outer", "top"]);
    assert!(run(&place, &["why", "inner", "--in", "skills"]).contains("inner: offered"));
    let checked = json_of(&place, &["check", "skills", "--json"]);
    assert_eq!(checked["summary"]["files"], 3, "{checked}");
    // The same for the folders where agents keep skills.
    fs::create_dir(place.path().join(".agents")).unwrap();
    fs::rename(place.path().join("skills"), place.path().join(".agents/skills")).unwrap();
    assert_eq!(listed(&place, &[]), ["inner", "outer", "top"]);
    assert_eq!(listed(&place, &["--client", "codex"]), ["inner", "outer", "top"]);
}

#[test]
fn why_says_where_a_skill_is_that_a_client_does_not_read() {
    let place = Place::with(&[
        ("home/.claude/skills/pdf/SKILL.md", &skill("pdf")),
        ("home/.claude/skills/team/forms/deep/SKILL.md", &skill("deep")),
    ]);
    let said = run(&place, &["why", "pdf", "--client", "codex"]);
    assert!(said.starts_with("exit 1"), "{said}");
    assert!(said.contains("error: Codex does not read this skill: pdf"), "{said}");
    assert!(said.contains("home/.claude/skills/pdf/SKILL.md, a folder that Codex does not read"), "{said}");
    assert!(said.contains("; read by Claude Code, "), "{said}");
    assert!(said.contains("Codex looks in ") && said.contains("home/.codex/skills"), "{said}");
    let json = json_of(&place, &["why", "pdf", "--client", "codex", "--json"]);
    assert_eq!(json["candidates"].as_array().unwrap().len(), 0);
    assert!(json["elsewhere"][0]["path"].as_str().unwrap().ends_with("home/.claude/skills/pdf/SKILL.md"));
    assert!(json["looks_in"].as_array().unwrap().len() >= 4, "{json}");
    // Also if the skill is in a folder of the client, but too deep.
    let deep = run(&place, &["why", "deep", "--client", "claude-code"]);
    assert!(deep.starts_with("exit 1"), "{deep}");
    assert!(deep.contains("it is 3 folders deep, and the client looks 1 deep"), "{deep}");
    assert!(deep.contains("hint: move its folder further up"), "{deep}");
    // Also with `--in`, and never for a skill that does not exist.
    let named = run(&place, &["why", "pdf", "--in", "home/.claude/skills/team"]);
    assert!(named.contains("it is at ") && named.contains("none of the places that were named"), "{named}");
    let nowhere = run(&place, &["why", "xyzzy", "--client", "codex"]);
    assert!(nowhere.contains("no skill of this name was found: xyzzy"), "{nowhere}");
    assert_eq!(json_of(&place, &["why", "xyzzy", "--json"])["elsewhere"].as_array().unwrap().len(), 0);
}

/// A project, and a folder outside of it with a source of every kind.
fn project_with_an_outside() -> Place {
    let lines = "{\"name\": \"lines-outside\", \"description\": \"Secret lines.\"}\n";
    let place = Place::with(&[
        ("project/.git/HEAD", ""),
        ("project/.claude/skills/mine/SKILL.md", &skill("mine")),
        ("outside/secret/SKILL.md", &skill("secret")),
        ("outside/lines.jsonl", lines),
        ("outside/plugin/.claude-plugin/plugin.json", "{\"name\": \"p\"}"),
        ("outside/plugin/skills/plugged/SKILL.md", &skill("plugged")),
        ("outside/one/SKILL.md", &skill("single")),
    ]);
    let zip = zip_of("packed/SKILL.md", skill("packed").as_bytes());
    place.write("outside/packed.zip", &zip);
    place
}

/// An archive with one file that is stored and not compressed.
pub(crate) fn zip_of(name: &str, bytes: &[u8]) -> Vec<u8> {
    let mut crc = !0u32;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 };
        }
    }
    let size = u32::try_from(bytes.len()).unwrap();
    let mut common = Vec::new();
    for part in [20u16, 0, 0, 0, 0x21] {
        common.extend(part.to_le_bytes());
    }
    for part in [!crc, size, size] {
        common.extend(part.to_le_bytes());
    }
    common.extend(u16::try_from(name.len()).unwrap().to_le_bytes());
    common.extend([0, 0]);
    let mut zip = [b"PK\x03\x04", common.as_slice(), name.as_bytes(), bytes].concat();
    let start = u32::try_from(zip.len()).unwrap();
    let mut entry = [b"PK\x01\x02\x14\0", common.as_slice()].concat();
    entry.extend([0; 14]);
    entry.extend(name.as_bytes());
    let length = u32::try_from(entry.len()).unwrap();
    zip.extend(entry);
    zip.extend(b"PK\x05\x06\0\0\0\0\x01\0\x01\0");
    zip.extend(length.to_le_bytes());
    zip.extend(start.to_le_bytes());
    zip.extend([0, 0]);
    zip
}

#[test]
fn links_and_sources_of_an_untrusted_project_lead_nowhere_outside_of_it() {
    let place = project_with_an_outside();
    let project = place.path().join("project");
    let link = |target: &str, at: &str| {
        let at = project.join(at);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        symlink(target, at).unwrap();
    };
    link("../outside", "link");
    link("../outside/lines.jsonl", "lines.jsonl");
    link("../outside/packed.zip", "packed.zip");
    link("../outside/plugin", "plugin");
    link("../../../outside/secret", ".claude/skills/secret");
    link("../../../../outside/one/SKILL.md", ".claude/skills/one/SKILL.md");
    link("../../outside", ".agents/skills");
    link("/", ".codex/skills");
    let absolute = place.path().join("outside").display().to_string();
    let sources = [
        "dir = 'link'",
        "dir = 'link/secret'",
        "dir = './link/../link'",
        "dir = '../outside'",
        &format!("dir = '{absolute}'"),
        "jsonl = 'lines.jsonl'",
        "jsonl = 'link/lines.jsonl'",
        "archive = 'packed.zip'",
        "archive = 'link'",
        "plugin = 'plugin'",
        "plugin = 'link/plugin'",
    ];
    let config: String = sources.iter().map(|source| format!("[[skills.sources]]\n{source}\n")).collect();
    place.write("project/prowess.toml", config.as_bytes());
    let list = |args: &[&str]| {
        let output = command(&place).current_dir(&project).args(args).output().unwrap();
        place.transcript(&output)
    };
    let untrusted = list(&["list", "--all"]);
    assert!(untrusted.starts_with("exit 2"), "{untrusted}");
    assert!(untrusted.contains("mine  not trusted: Does mine."), "{untrusted}");
    for secret in ["Does secret", "Secret lines", "Does packed", "Does plugged", "Does single"] {
        assert!(!untrusted.contains(secret), "{secret}: {untrusted}");
    }
    let refused = untrusted.matches("leads out of a project that is not trusted").count();
    assert!(refused >= sources.len(), "{refused}: {untrusted}");
    // No command shows a file from outside.
    for args in [["show", "one", "--raw"], ["cat", "one", "SKILL.md"], ["why", "one", "--json"]] {
        assert!(!list(&args).contains("Does single"), "{args:?}");
    }
    // Links are followed for what the user trusts or names.
    list(&["trust", ".", "--yes"]);
    fs::remove_file(project.join(".codex/skills")).unwrap();
    let trusted = list(&["list", "--all"]);
    for open in ["Does secret", "Secret lines", "Does packed", "Does plugged", "Does single"] {
        assert!(trusted.contains(open), "{open}: {trusted}");
    }
    let named = command(&place).current_dir(&project).args(["list", "--in", "link"]).output().unwrap();
    assert!(place.transcript(&named).contains("Does secret"));
}

#[test]
fn a_link_inside_the_project_is_followed_before_it_is_trusted() {
    let place = Place::with(&[
        ("project/.git/HEAD", ""),
        ("project/.agents/skills/shared/SKILL.md", &skill("shared")),
        ("project/sub/x", ""),
    ]);
    let project = place.path().join("project");
    fs::create_dir(project.join("sub/.claude")).unwrap();
    symlink("../../.agents/skills", project.join("sub/.claude/skills")).unwrap();
    let output = command(&place)
        .current_dir(project.join("sub"))
        .args(["list", "--client", "claude-code"])
        .output()
        .unwrap();
    assert_eq!(code(&output), 0);
    assert!(place.transcript(&output).contains("shared  not trusted"), "{}", place.transcript(&output));
}

#[test]
fn the_home_folder_is_not_a_project() {
    let place =
        Place::with(&[("store/x/SKILL.md", &skill("x")), ("home/.claude/skills/y/SKILL.md", &skill("y"))]);
    symlink("../../../store/x", place.path().join("home/.claude/skills/x")).unwrap();
    let home = place.path().join("home");
    let output = command(&place).current_dir(&home).args(["list", "--all"]).output().unwrap();
    let said = place.transcript(&output);
    assert!(said.starts_with("exit 0") && said.contains("x  Does x."), "{said}");
    assert!(!said.contains("not trusted") && !said.contains("shadowed"), "{said}");
}

/// A folder with skills of several kinds.
fn mixed() -> Place {
    Place::with(&[
        ("one/alpha/SKILL.md", &skill("alpha")),
        ("one/alpha/inner/SKILL.md", &skill("inner")),
        ("one/team/beta/SKILL.md", &skill("beta")),
        ("one/_draft/SKILL.md", &skill("draft")),
        ("one/odd/SKILL.md", "---\nname: Odd_one\ndescription: d\n---\n"),
        ("two/alpha/SKILL.md", "---\nname: alpha\ndescription: The second.\n---\n"),
    ])
}

#[test]
fn the_command_line_says_which_skills_are_found_and_offered() {
    let place = mixed();
    let list = |args: &[&str]| listed(&place, &[&["--in", "one"], args].concat());
    assert_eq!(list(&[]), ["Odd_one", "alpha", "beta", "draft", "inner"]);
    assert_eq!(list(&["--only", "al*,beta"]), ["alpha", "beta"]);
    assert_eq!(list(&["--except", "al*", "--except", "Odd_one"]), ["beta", "draft", "inner"]);
    assert_eq!(list(&["--skip", "_,team"]), ["Odd_one", "alpha", "inner"]);
    assert_eq!(list(&["--no-nested"]), ["Odd_one", "alpha", "beta", "draft"]);
    assert_eq!(list(&["--depth", "1", "--skip", "team"]), ["Odd_one", "alpha", "draft"]);
    assert_eq!(list(&["--strict", "spec"]), ["alpha", "beta", "inner"]);
    let why = run(&place, &["why", "Odd_one", "--in", "one", "--strict", "spec"]);
    for code in ["name-uppercase", "name-underscore", "name-folder-mismatch"] {
        assert!(why.contains(&format!("error[{code}]")), "{why}");
    }
    // `search` and `prompt` use the same library.
    for command in ["prompt", "search"] {
        let query: &[&str] = if command == "search" { &["beta"] } else { &[] };
        let said = run(&place, &[&[command, "--in", "one", "--only", "beta"], query].concat());
        assert!(said.contains("beta") && !said.contains("alpha"), "{said}");
    }
}

#[test]
fn the_command_line_says_which_of_two_namesakes_is_offered() {
    let place = mixed();
    let both = ["--in", "one", "--in", "two", "--only", "alpha"];
    let description = |args: &[&str]| {
        let report = json_of(&place, &[&["list", "--json"], &both[..], args].concat());
        report["skills"][0]["description"].as_str().unwrap().to_owned()
    };
    assert_eq!(description(&[]), "Does alpha.");
    assert_eq!(description(&["--duplicates", "first"]), "Does alpha.");
    assert_eq!(description(&["--duplicates", "last"]), "The second.");
    let failed = run(&place, &[&["list", "--duplicates", "error"], &both[..]].concat());
    assert!(failed.starts_with("exit 2") && failed.contains("two skills have the name alpha"), "{failed}");
}

#[test]
fn a_missing_folder_is_reported_and_an_optional_one_is_not() {
    let place = mixed();
    for args in [&["list"][..], &["prompt"], &["search", "beta"], &["why", "beta"], &["cat", "beta"]] {
        let said = run(&place, &[args, &["--in", "one", "--in", "gone"]].concat());
        assert!(said.contains("beta") || said.contains("Body."), "{args:?}: {said}");
        let fine = output(&place, &[args, &["--in", "one", "--in", "dir=gone,optional=true"]].concat());
        assert_eq!((code(&fine), fine.stderr.as_slice()), (0, &b""[..]), "{args:?}");
    }
    let alone = run(&place, &["list", "--in", "dir=gone,optional=true"]);
    assert!(alone.starts_with("exit 0") && alone.contains("no skills here"), "{alone}");
    assert!(run(&place, &["list", "--in", "gone"]).starts_with("exit 2"));
}

#[test]
fn a_configuration_says_which_skills_are_found_and_offered() {
    let place = Place::with(&[
        ("project/.git/HEAD", ""),
        ("project/.agents/skills/alpha/SKILL.md", &skill("alpha")),
        ("project/.agents/skills/alpha/inner/SKILL.md", &skill("inner")),
        ("project/.agents/skills/_draft/SKILL.md", &skill("draft")),
        ("project/.agents/skills/odd/SKILL.md", "---\nname: Odd_one\ndescription: d\n---\n"),
        ("home/.agents/skills/mine/SKILL.md", &skill("mine")),
        ("home/.agents/skills/mine/deep/SKILL.md", &skill("deep")),
        ("home/.agents/skills/bad/SKILL.md", "---\nname: Bad_one\ndescription: d\n---\n"),
    ]);
    let within = |args: &[&str]| {
        command(&place).current_dir(place.path().join("project")).args(args).output().unwrap()
    };
    let offered = |args: &[&str]| {
        let report: serde_json::Value =
            serde_json::from_slice(&within(&[&["list", "--json"], args].concat()).stdout).unwrap();
        let names = report["skills"].as_array().unwrap().iter();
        names.map(|row| row["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let all = ["Bad_one", "Odd_one", "alpha", "deep", "draft", "inner", "mine"];
    assert_eq!(offered(&[]), all);
    // A project's file is about its own skills.
    place.write("project/prowess.toml", b"[skills]\nenable = ['a*', 'i*']\n");
    assert_eq!(offered(&[]), ["Bad_one", "alpha", "deep", "inner", "mine"]);
    place.write("project/prowess.toml", b"[skills]\nstrict = 'spec'\nduplicates = 'error'\n");
    assert_eq!(offered(&[]), ["Bad_one", "alpha", "deep", "inner", "mine"]);
    place.write("project/prowess.toml", b"[scan]\nnested = false\nskip = ['_']\n");
    assert_eq!(offered(&[]), ["Bad_one", "Odd_one", "alpha", "deep", "mine"]);
    // The user's file is about all skills, and a project cannot undo it.
    place.write("project/prowess.toml", b"[skills]\nstrict = 'lenient'\nenable = ['*']\n");
    place.write(
        "config/prowess/prowess.toml",
        b"[skills]\nstrict = 'spec'\nenable = ['*a*', 'm*']\n[scan]\ndepth = 1\n",
    );
    assert_eq!(offered(&[]), ["alpha", "mine"]);
    // The command line has precedence.
    assert_eq!(offered(&["--strict", "lenient", "--depth", "3", "--only", "*e*"]), ["Bad_one", "mine"]);
    for (text, reason) in [
        ("[scan]\ndepth = 'x'\n", "scan.depth: a number is wanted"),
        ("[scan]\ndepth = -1\n", "scan.depth: a number is wanted"),
        ("[scan]\nnested = 1\n", "scan.nested: true or false is wanted"),
        ("[scan]\nskip = ['']\n", "scan.skip: it is empty"),
        ("[scan]\ndeep = 1\n", "no such key: scan.deep"),
        ("[skills]\nstrict = 'hard'\n", "skills.strict: "),
        ("[skills]\nduplicates = 'both'\n", "skills.duplicates: no such word"),
        ("[skills]\nenable = 'a'\n", "skills.enable: a list of names is wanted"),
    ] {
        place.write("config/prowess/prowess.toml", text.as_bytes());
        let said = place.transcript(&within(&["list"]));
        assert!(said.starts_with("exit 2") && said.contains(reason), "{text}: {said}");
    }
}

#[test]
fn a_skill_that_an_installer_linked_for_another_client_is_one_skill_that_both_read() {
    let place = Place::with(&[("home/.agents/skills/pdf/SKILL.md", &skill("pdf"))]);
    fs::create_dir_all(place.path().join("home/.claude/skills")).unwrap();
    symlink("../../.agents/skills/pdf", place.path().join("home/.claude/skills/pdf")).unwrap();
    let rows = json_of(&place, &["list", "--all", "--json"]);
    let rows: Vec<_> = rows["skills"].as_array().unwrap().iter().filter(|row| row["name"] == "pdf").collect();
    assert_eq!(rows.len(), 1, "{rows:?}");
    assert_eq!(rows[0]["state"], "active");
    let readers = rows[0]["readers"].as_array().unwrap();
    assert!(["codex", "claude-code"].iter().all(|client| readers.iter().any(|it| it == client)));
    let said = run(&place, &["why", "pdf"]);
    assert!(said.contains("  also at: ") && !said.contains("shadowed"), "{said}");
    let keyed = listed(&place, &["--in", "dir=home/.agents/skills,key_from=folder"]);
    assert_eq!(keyed, ["pdf"]);
}
