//! Skills and a project that attack their reader. Whatever they try, each command ends by itself with an answer, a
//! refusal or an error that it documents, within limits that the system enforces, and shows no file from outside. Long,
//! because every command is in one table.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::skipped;

/// The content of the file that no command may show.
pub(crate) const CANARY: &str = "CANARY-7f3a";
/// The harmless skill, which must always be offered.
pub(crate) const NEIGHBOUR: &str = "good-neighbour";
/// Limits that the system enforces: memory, CPU time, the size of written files, and no core dump.
const LIMITS: [&str; 4] = ["--data=268435456", "--cpu=120", "--fsize=16777216", "--core=0"];
/// The time after which a command that hangs is ended, in seconds. The test then fails.
const HANGS: &str = "600";

pub(crate) const NAMES: [&str; 18] = [
    NEIGHBOUR,
    "arguments-bomb",
    "arguments-index-bomb",
    "closer-0",
    "controls",
    "deep",
    "fifo-skill-md",
    "flag-tags",
    "link-maze",
    "linked-to-secret",
    "links-out",
    "newline-name",
    "sparse-file",
    "sparse-many",
    "sparse-skill-md",
    "specials",
    "terminal",
    "wide",
];

/// Files that are large, special, deep, or outside of the skill.
pub(crate) const FILES: [(&str, &str); 15] = [
    ("sparse-file", "huge.bin"),
    ("sparse-many", "part-000.bin"),
    ("controls", "controls.txt"),
    ("deep", "d/d/d"),
    ("link-maze", "f00/to01/to02"),
    ("links-out", "notes.md"),
    ("links-out", "env"),
    ("links-out", "zero"),
    ("links-out", "loop/loop/notes.md"),
    ("links-out", "../../secret"),
    ("linked-to-secret", "SKILL.md"),
    ("specials", "fifo"),
    ("specials", "socket"),
    ("sparse-skill-md", "SKILL.md"),
    ("wide", "f00000"),
];

/// The tree, written for one test.
pub(crate) struct Tree {
    root: TempDir,
}

impl Tree {
    /// `None` if a program is missing that writes the tree or limits the command.
    pub(crate) fn write() -> Option<Self> {
        for program in ["python3", "prlimit", "timeout"] {
            if !Command::new(program).arg("--version").output().is_ok_and(|run| run.status.success()) {
                skipped(&format!("{program} cannot run here"));
                return None;
            }
        }
        let root = tempfile::tempdir().unwrap();
        let script =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/hostile-tree/hostile_tree.py");
        let run = Command::new("python3").arg(script).arg(root.path()).arg("--small").output().unwrap();
        assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        std::fs::create_dir(root.path().join("home")).unwrap();
        // The search for prowess.toml and for the root of a project ends here.
        std::fs::create_dir(root.path().join(".git")).unwrap();
        std::fs::create_dir(root.path().join("project/.git")).unwrap();
        Some(Self { root })
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }

    /// The command within its limits, in a folder of the tree.
    pub(crate) fn command(&self, folder: &str, args: &[&str]) -> Command {
        let mut command = Command::new("timeout");
        command
            .args(["--signal=KILL", HANGS, "prlimit"])
            .args(LIMITS)
            .arg(env!("CARGO_BIN_EXE_prowess"))
            .args(args);
        command.current_dir(self.path(folder)).stdin(Stdio::piped());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        // The program that sets the limits must be found.
        command.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        command.env("HOME", self.path("home")).env("PROWESS_CANARY", CANARY);
        command
    }

    /// Runs the command to its end.
    fn run(&self, folder: &str, args: &[&str], input: &[u8]) -> Ended {
        let mut child = self.command(folder, args).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let ended = std::thread::scope(|scope| {
            // A command that reads no input may have ended before.
            scope.spawn(move || stdin.write_all(input));
            child.wait_with_output().unwrap()
        });
        Ended::of(args, &ended)
    }

    /// Runs the command on the skills of the tree.
    fn on_skills(&self, args: &[&str]) -> Ended {
        self.run(".", &[args, &["--in", "skills"]].concat(), b"")
    }
}

/// How a command ended.
pub(crate) struct Ended {
    command: String,
    code: i32,
    out: String,
}

impl Ended {
    /// Checks that it ended by itself with a documented exit code, and showed no secret.
    pub(crate) fn of(args: &[&str], output: &Output) -> Self {
        let command: String = args.join(" ").chars().take(200).collect();
        let out = String::from_utf8_lossy(&output.stdout).into_owned();
        let err = String::from_utf8_lossy(&output.stderr);
        let begin: String = err.chars().take(2000).collect();
        // A code of 128 or more means that a signal ended it: a limit was reached.
        assert!(matches!(output.status.code(), Some(0..=2)), "{command}: {:?}: {begin}", output.status);
        assert!(!err.contains("panicked at"), "{command}: {begin}");
        assert!(!out.contains(CANARY) && !err.contains(CANARY), "{command} has shown what is outside");
        Self { command, code: output.status.code().unwrap(), out }
    }

    fn names(&self, name: &str) {
        assert!(self.out.contains(name), "{} does not name {name}: {}", self.command, self.out);
    }

    pub(crate) fn ends(&self, code: i32) {
        assert_eq!(self.code, code, "{}: {}", self.command, self.out);
    }
}

#[test]
fn commands_over_a_hostile_library_offer_the_good_neighbour() {
    let Some(tree) = Tree::write() else { return };
    for args in [
        &["list"][..],
        &["list", "--json"],
        &["list", "--all", "--cost"],
        &["search", "always be listed, found and loaded"],
        &["search", "--json", "good neighbour"],
        &["prompt"],
        &["prompt", "--format", "json"],
        &["tools"],
    ] {
        tree.on_skills(args).names(NEIGHBOUR);
    }
}

#[test]
fn checks_of_a_hostile_library_end_and_change_nothing_outside() {
    let Some(tree) = Tree::write() else { return };
    let secret = std::fs::read(tree.path("secret")).unwrap();
    for args in [
        &["check", "skills"][..],
        &["check", "skills", "--json"],
        &["check", "skills", "--format", "sarif"],
        &["check", "skills", "--diff"],
        &["eval", "skills"],
        &["eval", "skills", "--overlap"],
        &["check", "skills", "--fix"],
        &["check", "skills", "--unsafe-fixes"],
    ] {
        tree.run(".", args, b"");
    }
    assert_eq!(std::fs::read(tree.path("secret")).unwrap(), secret);
    assert!(tree.path("skills/linked-to-secret/SKILL.md").is_symlink());
}

#[test]
fn a_doctor_of_a_hostile_home_ends_and_changes_nothing_outside() {
    let Some(tree) = Tree::write() else { return };
    let secret = std::fs::read(tree.path("secret")).unwrap();
    std::fs::create_dir_all(tree.path("home/.codex")).unwrap();
    std::os::unix::fs::symlink(tree.path("skills"), tree.path("home/.codex/skills")).unwrap();
    for args in [&["doctor"][..], &["doctor", "--all"], &["doctor", "--json"], &["doctor", "--fix", "--yes"]]
    {
        tree.run(".", args, b"").ends(1);
    }
    assert_eq!(std::fs::read(tree.path("secret")).unwrap(), secret);
    assert!(tree.path("skills/linked-to-secret/SKILL.md").is_symlink());
}

#[test]
fn each_hostile_skill_is_shown_explained_and_loaded_or_refused() {
    let Some(tree) = Tree::write() else { return };
    for name in NAMES {
        for args in [&["why", name][..], &["cat", name], &["show", name], &["activate", name]] {
            let ended = tree.on_skills(args);
            if name == NEIGHBOUR {
                ended.ends(0);
            }
        }
    }
    // The maximum size of an argument.
    let argument = "x".repeat(100_000);
    for name in ["arguments-bomb", "arguments-index-bomb"] {
        tree.on_skills(&["activate", name, &argument]);
    }
    tree.run(".", &["show", "skills/sparse-skill-md/SKILL.md"], b"");
    tree.run(".", &["show", "skills/linked-to-secret", "--raw"], b"");
}

#[test]
fn each_hostile_file_is_given_or_refused() {
    let Some(tree) = Tree::write() else { return };
    for (name, file) in FILES {
        let ended = tree.on_skills(&["cat", name, file]);
        if name == "links-out" || name == "specials" {
            ended.ends(2);
        }
    }
}

#[test]
fn a_hostile_library_changes_nothing_for_commands_that_do_not_read_it() {
    let Some(tree) = Tree::write() else { return };
    tree.run("skills", &["try", "write a commit message"], b"").ends(0);
    tree.run("skills", &["new", "fresh"], b"").ends(0);
    tree.run("skills", &["new", "wide"], b"").ends(2);
    tree.run("skills", &["rule"], b"").ends(0);
    tree.run("skills", &["rule", "name-too-long"], b"").ends(0);
    tree.run("skills", &["trust", "--list"], b"").ends(0);
}

#[test]
fn a_hostile_project_reads_nothing_outside_and_starts_nothing() {
    let Some(tree) = Tree::write() else { return };
    for args in [
        &["list"][..],
        &["list", "--all"],
        &["list", "--json"],
        &["prompt"],
        &["tools"],
        &["search", "outsider"],
        &["check"],
        &["check", "--json"],
        &["why", "outsider"],
        &["cat", "outsider"],
        &["activate", "outsider"],
        &["eval"],
        &["serve"],
        &["trust", "outsider", "--yes"],
        &["doctor", "--client", "claude-code,codex,gemini-cli"],
        &["doctor", "--fix", "--yes", "--client", "claude-code,codex,gemini-cli"],
    ] {
        tree.run("project", args, b"");
    }
    for args in [&["list", "--all"][..], &["prompt"], &["search", "outsider"]] {
        let ended = tree.run("project", args, b"");
        assert!(!ended.out.contains("Tries outsider"), "{} lists what is outside", ended.command);
    }
    // A trusted project may lead outside; one of its links leads to the whole file system.
    std::fs::remove_file(tree.path("project/.claude/skills")).unwrap();
    for args in [&["trust", "--yes"][..], &["list"], &["trust", "--revoke"], &["list"]] {
        tree.run("project", args, b"");
    }
    assert!(!tree.path("project/started").exists(), "a program of the project was started");
}

#[test]
fn installs_of_hostile_skills_end_and_change_nothing_outside() {
    let Some(tree) = Tree::write() else { return };
    let secret = std::fs::read(tree.path("secret")).unwrap();
    std::fs::create_dir_all(tree.path("place/.git")).unwrap();
    for args in [
        &["add", "../skills", "--all", "--dry-run"][..],
        &["add", "../skills", "--all", "--yes"],
        &["add", "../skills/good-neighbour", "--yes", "--client", "codex"],
        &["list", "--installed"],
        &["verify"],
        &["sync"],
        &["trust", "../skills", "--dry-run"],
        &["remove", NEIGHBOUR],
        &["config"],
        &["connect", "codex", "--project"],
        &["disconnect", "codex", "--project"],
    ] {
        tree.run("place", args, b"");
    }
    assert_eq!(std::fs::read(tree.path("secret")).unwrap(), secret);
    assert!(tree.path("skills/good-neighbour/SKILL.md").is_file());
}

#[test]
fn no_command_runs_what_a_skill_contains() {
    let Some(tree) = Tree::write() else { return };
    let marker = tree.path("ran");
    let touch = format!("touch {}", marker.display());
    let skill = format!(
        "---\nname: runner\ndescription: Runs things when it is loaded.\nhooks:\n  PreToolUse:\n    - hooks:\n        - type: command\n          command: {touch}\n---\n!`{touch}`\n\n```!\n{touch}\n```\n\n$({touch}) `{touch}`\n"
    );
    let folder = tree.path("own/runner");
    std::fs::create_dir_all(folder.join("scripts")).unwrap();
    std::fs::write(folder.join("SKILL.md"), skill).unwrap();
    for script in ["scripts/run.sh", "SKILL.sh", "setup.py", "install.sh"] {
        let path = folder.join(script);
        std::fs::write(&path, format!("#!/bin/sh\n{touch}\n")).unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    std::fs::create_dir_all(tree.path("place/.git")).unwrap();
    let here = &["--in", "../own"][..];
    for args in [
        &["list"][..],
        &["show", "runner"],
        &["why", "runner"],
        &["activate", "runner"],
        &["cat", "runner", "scripts/run.sh"],
        &["search", "run things"],
        &["prompt"],
        &["tools"],
        &["try", "run things when it is loaded"],
    ] {
        tree.run("place", &[args, here].concat(), b"");
    }
    for args in [
        &["check", "../own/runner"][..],
        &["check", "../own/runner", "--unsafe-fixes"],
        &["eval", "../own/runner"],
        &["add", "../own/runner", "--yes", "--client", "claude-code"],
        &["verify"],
        &["sync"],
        &["trust", "--yes"],
        &["doctor"],
        &["remove", "runner"],
    ] {
        tree.run("place", args, b"");
    }
    let load = json!({"tool": "load_skill", "arguments": {"name": "runner"}});
    let loaded = tree.run("place", &["replay", "-", "--in", "../own"], format!("{load}\n").as_bytes());
    loaded.names("touch");
    assert!(!marker.exists(), "something of the skill was run");
}

#[test]
fn a_session_with_hostile_skills_answers_every_call() {
    let Some(tree) = Tree::write() else { return };
    let load = |name: &str| json!({"tool": "load_skill", "arguments": {"name": name}});
    let read = |(name, file): (&str, &str)| json!({"tool": "read_skill_resource", "arguments": {"name": name, "path": file}});
    let list = ["list_skills", "search_skills"]
        .map(|tool| json!({"tool": tool, "arguments": if tool == "list_skills" { json!({}) } else { json!({"query": "neighbour"}) }}));
    let calls: Vec<Value> =
        list.into_iter().chain(NAMES.map(load)).chain(FILES.map(read)).chain([load(NEIGHBOUR)]).collect();
    let input: String = calls.iter().map(|call| format!("{call}\n")).collect();
    let ended = tree.run(".", &["replay", "-", "--in", "skills"], input.as_bytes());
    let answers: Vec<Value> = ended.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), calls.len());
    assert!(answers.last().unwrap()["text"].as_str().unwrap().contains("must always be listed"));
}

#[test]
fn a_watch_of_a_hostile_library_reports_the_first_change() {
    let Some(tree) = Tree::write() else { return };
    let args = ["watch", "--once", "--in", "skills"];
    let mut child = tree.command(".", &args).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    out.read_line(&mut first).unwrap();
    assert!(first.starts_with("watching "), "{first}");
    std::fs::create_dir(tree.path("made")).unwrap();
    std::fs::write(tree.path("made/SKILL.md"), "---\nname: newcomer\ndescription: Is new.\n---\n").unwrap();
    std::fs::rename(tree.path("made"), tree.path("skills/newcomer")).unwrap();
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    let mut output = child.wait_with_output().unwrap();
    output.stdout = rest.into_bytes();
    Ended::of(&args, &output).names("newcomer");
}
