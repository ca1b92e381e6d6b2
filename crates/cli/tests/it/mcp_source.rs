//! Skills from another MCP server: one `prowess` serves, the other lists, trusts and reads.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use insta::assert_snapshot;

use crate::{Place, Started};
use prowess_mcp::testing::{FakeContent, FakeServer};

const SKILL: (&str, &str) = (
    "skills/tidy-up/SKILL.md",
    "---\nname: tidy-up\ndescription: Tidies up.\nallowed-tools: Read\n---\nPut things where they belong.\n",
);

fn place() -> Place {
    Place::with(&[SKILL, ("skills/tidy-up/references/where.md", "In the drawer.\n")])
}

/// Runs a command whose only source is a server, with the paths of the program and the folder replaced in the output.
fn run(place: &Place, args: &[&str]) -> String {
    let program = env!("CARGO_BIN_EXE_prowess");
    let spec = format!("mcp=\"'{program}' serve --in skills\",prefix=desk");
    let mut command = place.command();
    command.env("HOME", place.path().join("home")).args(args).args(["--in", &spec]);
    place.transcript(&command.output().unwrap()).replace(program, "prowess")
}

/// The files below a folder that contain a text.
fn remembering(folder: &Path, text: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let holds = |path: &PathBuf| String::from_utf8_lossy(&std::fs::read(path).unwrap()).contains(text);
    let below = folders.iter().flat_map(|folder| remembering(folder, text));
    files.into_iter().filter(holds).chain(below).collect()
}

#[test]
fn a_skill_of_a_server_is_listed_trusted_and_read() {
    let place = place();
    assert_snapshot!(run(&place, &["list"]), @"
    exit 0
    --- stdout
    desk:tidy-up  not trusted: Tidies up.

    1 skill; 1 not trusted: prowess trust --server desk --in SPEC
    ");
    assert_snapshot!(run(&place, &["activate", "desk:tidy-up"]), @"
    exit 2
    --- stderr
    error: this skill is not trusted: desk:tidy-up
      hint: look at it with: prowess show desk:tidy-up --in SPEC; then trust it with: prowess trust desk:tidy-up --in SPEC
    ");
    assert_snapshot!(run(&place, &["trust", "desk:tidy-up", "--yes"]), @"
    exit 0
    --- stdout
    trusted with its current files: desk:tidy-up mcp:desk:skill://tidy-up/SKILL.md sha256:b16be2386ddd81b32aeae0fec1751fedd15be51661e2cc36e520c4e57701867d
    --- stderr
    desk:tidy-up  2 files, 111 bytes
      at  mcp:desk:skill://tidy-up/SKILL.md
      description  Tidies up.
      files  SKILL.md, references/where.md
      digest  sha256:b16be2386ddd81b32aeae0fec1751fedd15be51661e2cc36e520c4e57701867d
      agents see the name  tidy-up
      asks for tools  Read
      not looked into  its files, which are on another machine
    ");
    assert_snapshot!(run(&place, &["why", "desk:tidy-up"]), @"
    exit 0
    --- stdout
    desk:tidy-up: offered
      found: mcp:desk:skill://tidy-up/SKILL.md
      path for filters: tidy-up
    ");
    assert_snapshot!(run(&place, &["cat", "desk:tidy-up"]), @"
    exit 0
    --- stdout
    Put things where they belong.
    ");
    assert_snapshot!(run(&place, &["cat", "desk:tidy-up", "references/where.md"]), @"
    exit 0
    --- stdout
    In the drawer.
    ");
    assert_snapshot!(run(&place, &["cat", "desk:tidy-up", "references/../../x"]), @"
    exit 2
    --- stderr
    error: path steps out with `..`: references/../../x
      hint: name the file from its folder down, without `..`
    ");
    assert_snapshot!(run(&place, &["cat", "desk:tidy-up", "references/other.md"]), @"
    exit 2
    --- stderr
    error: could not take this from an MCP server: desk: skill://tidy-up/SKILL.md references/other.md: this file is not among those that the server lists
      hint: ask for one that is listed
    ");
    assert_snapshot!(run(&place, &["show", "desk:tidy-up"]), @"
    exit 0
    --- stdout
    tidy-up  mcp:desk:skill://tidy-up/SKILL.md

      Tidies up.

      allowed tools  Read
      instructions   30 bytes, about 7 tokens

      references
        references/where.md  15 B

      what it can do
        asks for tools  Read
        not looked into  its files, which are on another machine

    loads; no problems under spec
    ");
    assert_snapshot!(run(&place, &["search", "tidies"]), @"
    exit 0
    --- stdout
    1  desk:tidy-up  0.234  tidies  Tidies up.

    1 of 1 skill
    ");
    assert_snapshot!(run(&place, &["prompt"]), @"
    exit 0
    --- stdout
    <available_skills>
      <skill>
        <name>desk:tidy-up</name>
        <description>Tidies up.</description>
      </skill>
    </available_skills>
    ");
    assert_snapshot!(run(&place, &["activate", "desk:tidy-up"]), @r#"
    exit 0
    --- stdout
    <skill_content name="desk:tidy-up" origin="mcp:desk">
    Put things where they belong.

    <skill_resources>
      <file>references/where.md</file>
    </skill_resources>
    </skill_content>

    This skill has 1 reference. Read one with read_skill_resource (name: "desk:tidy-up", path: the file's path); without path it lists them.
    "#);
    assert_snapshot!(run(&place, &["trust", "--list"]), @"
    exit 0
    --- stdout
    skill   tidy-up  mcp:desk:skill://tidy-up/SKILL.md  sha256:b16be2386ddd81b32aeae0fec1751fedd15be51661e2cc36e520c4e57701867d
    ");
    assert_eq!(
        remembering(&place.path().join("home"), "belong"),
        Vec::<PathBuf>::new(),
        "nothing is kept on the disk"
    );
    // Any change of any file ends the approval.
    place.write("skills/tidy-up/references/where.md", b"In the shredder.\n");
    assert_snapshot!(run(&place, &["list"]), @"
    exit 0
    --- stdout
    desk:tidy-up  changed since it was trusted: Tidies up.

    1 skill; 1 not trusted: prowess trust --server desk --in SPEC
    ");
    assert_snapshot!(run(&place, &["trust", "--revoke", "desk:tidy-up"]), @"
    exit 0
    --- stdout
    no longer trusted: desk:tidy-up
    ");
}

#[test]
fn a_program_that_ignores_signals_ends_with_the_server_that_started_it() {
    let place = place();
    let fifo = place.path().join("alive");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    // The program that was started holds the pipe open, and notices neither the end of its input nor a signal.
    let script =
        format!("mcp=sh -c \"trap '' TERM; exec 9>'{}'; while :; do sleep 600; done\"", fifo.display());
    let mut command = place.command();
    // The shell needs the usual PATH.
    command.env("PATH", std::env::var_os("PATH").unwrap());
    command.args(["serve", "--in", &script, "--no-watch"]).stdin(Stdio::piped()).stdout(Stdio::null());
    let mut serving = Started::spawn(&mut command);
    let mut alive = std::fs::File::open(&fifo).unwrap();
    drop(serving.stdin.take());
    assert!(serving.wait().unwrap().success());
    assert_eq!(alive.read_to_end(&mut Vec::new()).unwrap(), 0, "no process holds the pipe any more");
}

/// Waits for the end of a pipe that a process holds open, within a timeout.
fn all_gone(mut alive: std::fs::File) -> bool {
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || tell.send(alive.read_to_end(&mut Vec::new()).unwrap()));
    told.recv_timeout(std::time::Duration::from_secs(60)).is_ok()
}

#[cfg(unix)]
#[test]
fn a_signal_that_ends_a_command_ends_the_programs_it_started_and_theirs() {
    use std::os::unix::process::ExitStatusExt as _;

    for (name, number) in [("INT", 2), ("TERM", 15)] {
        let place = place();
        let fifo = place.path().join("alive");
        assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        // Both hold the pipe open, and would not end by themselves.
        let script = format!("mcp=sh -c \"exec 9>'{}'; sleep 600 & wait; sleep 600\"", fifo.display());
        let mut command = place.command();
        command.env("PATH", std::env::var_os("PATH").unwrap());
        command.args(["list", "--in", &script]).stdout(Stdio::null()).stderr(Stdio::null());
        let mut listing = Started::spawn(&mut command);
        let alive = std::fs::File::open(&fifo).unwrap();
        let id = listing.id().to_string();
        assert!(Command::new("kill").args([&format!("-{name}"), &id]).status().unwrap().success());
        assert_eq!(listing.wait().unwrap().signal(), Some(number), "{name}");
        assert!(all_gone(alive), "{name}");
    }
}

#[test]
fn a_server_that_cannot_be_reached_is_an_error_with_a_hint() {
    let place = place();
    assert_snapshot!(place.run(&["list", "--in", "mcp=/no/such/program"]), @"
    exit 2
    --- stderr
    error: could not take this from an MCP server: program: connecting to /no/such/program: it could not be started: No such file or directory (os error 2)
      hint: check the name of the program, and that it may be run
    ");
    let refused = place.run(&["list", "--in", "mcp=http://127.0.0.1:1/mcp"]);
    let start = "exit 2\n--- stderr\nerror: could not take this from an MCP server: 127.0.0.1: connecting to http://127.0.0.1:1/mcp: ";
    assert!(refused.starts_with(start), "{refused}");
    assert_snapshot!(place.run(&["list", "--in", "skills", "--in", "mcp=false,prefix=x"]), @"
    exit 2
    --- stdout
    tidy-up  Tidies up.

    1 skill
    --- stderr
    error: could not take this from an MCP server: x: connecting to false: the program ended
      hint: run it by itself to see what is wrong; it must speak MCP on standard input and output
    ");
}

#[test]
fn a_project_cannot_name_a_server() {
    let place = Place::with(&[
        SKILL,
        ("prowess.toml", "[[skills.sources]]\nmcp = 'touch pwned'\n[[skills.sources]]\ndir = 'skills'\n"),
    ]);
    assert_snapshot!(place.run(&["list"]), @"
    exit 2
    --- stdout
    tidy-up  not trusted: Tidies up.

    1 skill; 1 not trusted: prowess trust
    --- stderr
    error: a project names an MCP server, which was neither started nor asked: touch
      hint: name it in your own prowess.toml, or with --in
    ");
    assert!(!place.path().join("pwned").exists());
}

#[cfg(unix)]
#[test]
fn a_server_of_the_user_never_runs_a_program_from_the_current_folder() {
    use std::os::unix::fs::PermissionsExt as _;

    // Each of these would find a program in the current folder if it were started there.
    let config =
        "[[skills.sources]]\nmcp = './srv'\nprefix = 'a'\n[[skills.sources]]\nmcp = 'sh srv'\nprefix = 'b'\n";
    let place = Place::with(&[
        ("home/.config/prowess/prowess.toml", config),
        ("home/.config/prowess/srv", "#!/bin/sh\necho \"$0\" >> \"$HOME/own\"\n"),
        ("srv", "#!/bin/sh\necho \"$0\" >> \"$HOME/trapped\"\n"),
    ]);
    for file in ["srv", "home/.config/prowess/srv"] {
        let file = place.path().join(file);
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let home = place.path().join("home");
    let mut command = place.command();
    command.env("HOME", &home).env("PATH", std::env::var_os("PATH").unwrap()).arg("list");
    command.output().unwrap();
    assert!(!home.join("trapped").exists());
    assert_eq!(std::fs::read_to_string(home.join("own")).unwrap().lines().count(), 2);
}

#[test]
fn programs_do_not_get_the_token_of_our_server() {
    let place = place();
    let mut command = place.command();
    command.env("PATH", std::env::var_os("PATH").unwrap()).env("PROWESS_TOKEN", "0123456789abcdef-secret");
    command.env("OTHER", "something").args(["list", "--in", "mcp=sh -c 'env > seen'"]);
    command.output().unwrap();
    let seen = std::fs::read_to_string(place.path().join("seen")).unwrap();
    assert!(seen.contains("OTHER=something") && !seen.contains("secret"), "{seen}");
}

#[test]
fn a_skill_that_is_not_what_its_server_listed_says_so_and_not_to_try_again() {
    let place = Place::with(&[]);
    let mut content = FakeContent::default();
    content.skill("skill://refunds", "", &[]);
    let server = FakeServer::serving(content);
    let spec = format!("mcp={},prefix=team", server.url);
    let run = |args: &[&str]| {
        let mut command = place.command();
        command.env("HOME", place.path().join("home")).args(args).args(["--in", &spec]);
        place.transcript(&command.output().unwrap())
    };
    assert!(run(&["trust", "team:refunds", "--yes"]).starts_with("exit 0\n"));
    server.change(|content| content.put("skill://refunds/SKILL.md", b"---\nname: refunds\n---\n"));
    assert_snapshot!(run(&["activate", "team:refunds"]), @"
    exit 2
    --- stderr
    error: could not take this from an MCP server: team: skill://refunds/SKILL.md: its size is not the listed one: 22 bytes, listed 62
      hint: list the skills again; if it persists, do not use them
    ");
}
