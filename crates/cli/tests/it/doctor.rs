//! `prowess doctor`: every trouble is named with a fix that works, and afterwards none is named.

mod copies;
mod ill;
mod records;
mod screens;
mod suggestions;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use insta::assert_snapshot;
use serde_json::Value;

use crate::schemas::assert_fits;
use crate::{Place, code, shelf};

/// The programs that the commands of fixes are made of.
const TOOLS: [&str; 8] = ["cp", "diff", "ln", "mkdir", "mv", "rm", "sh", "touch"];

/// A folder of programs, so that each test decides whether git is there.
fn programs(place: &Place) -> PathBuf {
    let bin = place.path().join("bin");
    fs::create_dir_all(&bin).unwrap();
    for tool in TOOLS {
        let found = ["/bin", "/usr/bin"].iter().map(|folder| Path::new(folder).join(tool));
        let tool_file = found.into_iter().find(|file| file.exists()).unwrap();
        symlink(tool_file, bin.join(tool)).unwrap();
    }
    symlink(env!("CARGO_BIN_EXE_prowess"), bin.join("prowess")).unwrap();
    bin
}

/// Puts a program called git into the folder of programs. Nothing runs it.
fn with_git(place: &Place) {
    let git = place.path().join("bin/git");
    fs::write(&git, "#!/bin/sh\nexit 1\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&git, mode).unwrap();
}

/// The command in the project of a place.
fn command(place: &Place, program: &Path) -> Command {
    let own = shelf::command(place);
    let mut command = Command::new(program);
    let variables = own.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())));
    command.env_clear().envs(variables);
    command.current_dir(place.path().join("work")).env("PATH", place.path().join("bin"));
    command.stdin(std::process::Stdio::null());
    command
}

fn doctor(place: &Place, args: &[&str]) -> Output {
    let program = place.path().join("bin/prowess");
    command(place, &program).arg("doctor").args(args).output().unwrap()
}

fn examined(place: &Place) -> Value {
    let output = doctor(place, &["--json"]);
    let report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    assert_fits("doctor", &report);
    let wrong =
        report["summary"]["errors"].as_u64().unwrap() + report["summary"]["warnings"].as_u64().unwrap();
    assert_eq!(code(&output), i32::from(wrong > 0), "{report:#}");
    report
}

fn text<'v>(value: &'v Value, member: &str) -> &'v str {
    value[member].as_str().unwrap_or_default()
}

/// A place with a project and a home that has these clients, without git.
fn place(files: &[(&str, &str)], clients: &[&str]) -> Place {
    let place = Place::with(files);
    programs(&place);
    fs::create_dir_all(place.path().join("work/.git")).unwrap();
    fs::create_dir_all(place.path().join("home")).unwrap();
    for client in clients {
        fs::create_dir_all(place.path().join("home").join(client).join("skills")).unwrap();
    }
    place
}

fn skill(name: &str, description: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\nDo it.\n")
}

/// A description of words that no other description has.
fn own_words(number: usize, words: usize) -> String {
    (0..words).map(|word| format!("w{number}x{word}")).collect::<Vec<_>>().join(" ")
}

/// Runs a command as it was printed. Commands that would ask are told yes.
fn run_as_printed(place: &Place, printed: &str) -> Output {
    let asks = printed.starts_with("prowess sync") || printed == "prowess doctor --fix";
    let printed = if asks { format!("{printed} --yes") } else { printed.to_owned() };
    command(place, Path::new("/bin/sh")).args(["-c", &printed]).output().unwrap()
}

/// Files that are the same afterwards: those of skills, and the records.
fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_type().unwrap().is_dir() {
            found.extend(contents(&entry.path()));
        } else {
            found.push((entry.path(), fs::read(entry.path()).unwrap_or_default()));
        }
    }
    found.sort();
    found
}

#[test]
fn doctor_changes_nothing_without_fix_and_fix_needs_consent() {
    let place = place(
        &[
            ("home/.copilot/skills/colon/SKILL.md", &skill("colon", "Use when: asked for it")),
            ("home/.claude/skills/mine/SKILL.md", &skill("mine", "Does mine.")),
            ("home/.claude/skills/.prowess-00000000000000ab.tmp", "half"),
            ("cache/prowess/index/old", "prowess index 1\n"),
        ],
        &[".claude", ".copilot"],
    );
    with_git(&place);
    // Caches that are current may be written by any command.
    let stale = place.path().join("cache/prowess/index/old");
    let homes = || (contents(&place.path().join("home")), fs::read(&stale).ok());
    examined(&place);
    let before = homes();
    assert_eq!(code(&doctor(&place, &[])), 1);
    let refused = doctor(&place, &["--fix"]);
    assert_snapshot!(place.transcript(&refused), @"
    exit 2
    --- stderr
    remove unfinished files in [DIR]/home/.claude/skills
    remove the stale cache [DIR]/cache/prowess/index/old
    apply the safe fixes of check to [DIR]/home/.copilot/skills/colon/SKILL.md
    --- [DIR]/home/.copilot/skills/colon/SKILL.md
    +++ [DIR]/home/.copilot/skills/colon/SKILL.md
    @@ -1,5 +1,5 @@
     ---
     name: colon
    -description: Use when: asked for it
    +description: 'Use when: asked for it'
     ---
     Do it.
    error: there is no terminal to ask for your consent, so nothing was changed
      hint: accept these fixes with: prowess doctor --fix --yes
    ");
    assert_eq!(homes(), before, "nothing may change without consent");
    assert_snapshot!(place.transcript(&doctor(&place, &["--fix", "--yes"])), @"
    exit 0
    --- stdout
    removed unfinished files in [DIR]/home/.claude/skills
    removed the stale cache [DIR]/cache/prowess/index/old
    applied 1 safe fix to [DIR]/home/.copilot/skills/colon/SKILL.md

    claude-code  1 skill, about 15 tokens, within its 2,000 tokens
    github-copilot  1 skill, about 18 tokens
    nothing is wrong
    --- stderr
    remove unfinished files in [DIR]/home/.claude/skills
    remove the stale cache [DIR]/cache/prowess/index/old
    apply the safe fixes of check to [DIR]/home/.copilot/skills/colon/SKILL.md
    --- [DIR]/home/.copilot/skills/colon/SKILL.md
    +++ [DIR]/home/.copilot/skills/colon/SKILL.md
    @@ -1,5 +1,5 @@
     ---
     name: colon
    -description: Use when: asked for it
    +description: 'Use when: asked for it'
     ---
     Do it.
    ");
    let colon = fs::read_to_string(place.path().join("home/.copilot/skills/colon/SKILL.md")).unwrap();
    assert!(
        colon.contains("\"Use when: asked for it\"") || colon.contains("'Use when: asked for it'"),
        "{colon}"
    );
    assert!(!stale.exists());
    assert!(!place.path().join("home/.claude/skills/.prowess-00000000000000ab.tmp").exists());
    assert_snapshot!(place.transcript(&doctor(&place, &["--fix", "--yes"])), @"
    exit 0
    --- stdout
    nothing that can be fixed without you

    claude-code  1 skill, about 15 tokens, within its 2,000 tokens
    github-copilot  1 skill, about 18 tokens
    nothing is wrong
    ");
}

#[test]
fn what_a_killed_installation_left_is_named_and_stays_without_fix() {
    let place = place(&[("src/tidy/SKILL.md", &skill("tidy", "Tidies up."))], &[".codex"]);
    with_git(&place);
    let program = place.path().join("bin/prowess");
    let added = command(&place, &program).args(["add", "../src/tidy", "--user", "--yes"]).output().unwrap();
    assert_eq!(code(&added), 0);
    place.write("state/prowess/.prowess-00000000000000cd.tmp", b"half");
    let stage = left_stage(&place);
    let folders = || ["home", "state"].map(|folder| contents(&place.path().join(folder)));
    let before = folders();
    for _ in 0..2 {
        let report = examined(&place);
        assert_eq!(report["troubles"][0]["kind"], "install-leftover", "{report:#}");
        assert_eq!(folders(), before);
    }
    assert_eq!(code(&doctor(&place, &["--fix", "--yes"])), 0);
    assert!(!stage.exists());
    assert_eq!(code(&doctor(&place, &[])), 0);
}

#[test]
fn what_fix_cannot_remove_is_not_called_removed() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = place(&[("src/tidy/SKILL.md", &skill("tidy", "Tidies up."))], &[".codex"]);
    with_git(&place);
    let program = place.path().join("bin/prowess");
    let added = command(&place, &program).args(["add", "../src/tidy", "--user", "--yes"]).output().unwrap();
    assert_eq!(code(&added), 0);
    let stage = left_stage(&place);
    let closed = stage.join("x");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    let mut own = command(&place, Path::new(env!("CARGO_BIN_EXE_prowess")));
    own.args(["doctor", "--fix", "--yes"]);
    let Some(mut bound) = shelf::bound_by_permissions(&place, &own) else { return };
    let said = place.transcript(&bound.output().unwrap());
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
    assert!(said.contains("could not remove what an installation left: "), "{said}");
    assert!(!said.contains("completed or undid"), "{said}");
}

/// A staging folder of the user's, recorded as an interrupted installation leaves it.
fn left_stage(place: &Place) -> PathBuf {
    place.write("home/.agents/skills/.prowess-00000000000000ab.stage/x/SKILL.md", b"half");
    let stage = fs::canonicalize(place.path().join("home/.agents/skills/.prowess-00000000000000ab.stage"));
    let stage = stage.unwrap();
    let install = place.path().join("state/prowess/install");
    let mut locks = fs::read_dir(&install).unwrap().map(|entry| entry.unwrap().path());
    let lock = locks.find(|file| file.extension().is_some_and(|end| end == "lock")).unwrap();
    fs::write(lock.with_extension("stages"), serde_json::json!([&stage]).to_string()).unwrap();
    stage
}

#[test]
fn a_broken_configuration_of_the_user_is_named_with_everything_that_does_not_need_it() {
    let place = place(&[("config/prowess/prowess.toml", "[skils]\n")], &[".claude"]);
    with_git(&place);
    symlink("../gone", place.path().join("home/.claude/skills/dangling")).unwrap();
    assert_snapshot!(place.transcript(&doctor(&place, &[])), @"
    exit 1
    --- stdout
    error: config-broken: [DIR]/config/prowess/prowess.toml: the configuration is not understood: [DIR]/config/prowess/prowess.toml:1: no such key: skils; hint: did you mean skills? the keys here are: check, skills, scan, session, install
    error: link-broken: [DIR]/home/.claude/skills/dangling: it leads to ../gone, which is not there; hint: restore what it leads to, or remove the link; fix: rm [DIR]/home/.claude/skills/dangling
    2 errors
    ");
}

#[test]
fn a_configuration_of_another_user_is_named_and_its_fix_works() {
    use std::os::unix::fs::chown;
    let place = place(&[("prowess.toml", "[skills]\n")], &[".claude"]);
    with_git(&place);
    fs::remove_dir(place.path().join(".git")).unwrap();
    fs::remove_dir(place.path().join("work/.git")).unwrap();
    if chown(place.path().join("prowess.toml"), Some(12_345), None).is_err() {
        crate::skipped("only root can give a file to another user");
        return;
    }
    let report = examined(&place);
    let trouble = &report["troubles"][0];
    assert_eq!(text(trouble, "kind"), "config-ignored", "{report:#}");
    assert!(run_as_printed(&place, trouble["fix"]["commands"][0].as_str().unwrap()).status.success());
    assert_eq!(examined(&place)["troubles"], Value::Array(Vec::new()));
}

#[test]
fn no_command_removes_the_configuration_of_another_user_in_this_folder() {
    use std::os::unix::fs::chown;
    let place = place(&[("work/prowess.toml", "[skills]\n")], &[".claude"]);
    with_git(&place);
    if chown(place.path().join("work/prowess.toml"), Some(12_345), None).is_err() {
        crate::skipped("only root can give a file to another user");
        return;
    }
    let report = examined(&place);
    let trouble = &report["troubles"][0];
    assert_eq!(text(trouble, "kind"), "config-ignored", "{report:#}");
    assert_eq!(trouble["fix"]["commands"], Value::Array(Vec::new()), "{report:#}");
    let said = place.transcript(&doctor(&place, &[]));
    assert!(
        said.contains("write a prowess.toml of your own in a folder below") && !said.contains("fix: rm"),
        "{said}"
    );
}

#[test]
fn hostile_names_and_texts_show_no_control_character() {
    let nasty: String = (1..0x20_u32)
        .chain(0x7F..0xA0)
        .chain([0x61C, 0x200B, 0x200E, 0x2028, 0x202E, 0x2066, 0xFEFF, 0xE0041])
        .filter(|code| *code != 0x0A)
        .filter_map(char::from_u32)
        .collect();
    let quoted: String = nasty.chars().map(|c| format!("\\U{:08X}", u32::from(c))).collect();
    let place = place(&[], &[".claude", ".codex", ".gemini"]);
    let named =
        |name: &str| format!("---\nname: \"{name}{quoted}\"\ndescription: \"x: {quoted}\"\n---\n{nasty}\n");
    place.write(&format!("home/.claude/skills/a{nasty}/SKILL.md"), named("a").as_bytes());
    place.write(&format!("home/.codex/skills/b{nasty}/SKILL.md"), named("a").as_bytes());
    place.write(&format!("home/.codex/skills/c{nasty}/deep/er/SKILL.md"), named("c").as_bytes());
    let torn = format!("---\nname: \"{quoted}\"\n\"{quoted}\": 1\n\"{quoted}\": 2\ndescription: \n---\n");
    place.write(&format!("home/.claude/skills/d{nasty}/SKILL.md"), torn.as_bytes());
    place.write(&format!("work/.claude/skills/e{nasty}/SKILL.md"), named("e").as_bytes());
    place.write(&format!("work/.kiro/skills/f{nasty}/SKILL.md"), named("f").as_bytes());
    symlink(format!("../{nasty}"), place.path().join(format!("home/.claude/skills/g{nasty}"))).unwrap();
    place.write("work/prowess.toml", format!("\"{quoted}\" = 1\n").as_bytes());
    place.write(&format!("cache/prowess/index/h{nasty}"), b"old");
    let may_show = |c: char| {
        let hidden = matches!(c, '\u{61C}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}'
            | '\u{FEFF}' | '\u{E0000}'..='\u{E0FFF}');
        c == '\n' || !(c.is_control() || hidden)
    };
    for columns in ["", "80"] {
        for args in [&["--color", "never"][..], &["--color", "never", "--all"], &["--json"]] {
            let program = place.path().join("bin/prowess");
            let output = command(&place, &program)
                .arg("doctor")
                .args(args)
                .env("PROWESS_COLUMNS", columns)
                .output()
                .unwrap();
            assert_eq!(code(&output), 1, "{}", String::from_utf8_lossy(&output.stderr));
            for stream in [output.stdout, output.stderr] {
                let stream = String::from_utf8(stream).unwrap();
                let shown = stream.chars().find(|c| !may_show(*c));
                assert_eq!(shown, None, "{args:?}: {}", stream.escape_debug());
            }
        }
    }
}

#[test]
fn wrong_usage_is_said() {
    let place = place(&[], &[]);
    assert_snapshot!(place.transcript(&doctor(&place, &["--client", "codx"])), @"
    exit 2
    --- stderr
    error: no such client: codx
      hint: did you mean codex?
    ");
    assert_eq!(code(&doctor(&place, &["--yes"])), 2);
    assert_eq!(code(&doctor(&place, &["--fix", "--list"])), 2);
}
