//! The environment of a command: files of other users, environment variables, child processes.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, chown};
use std::path::Path;
use std::process::{Command, Stdio};

use insta::assert_snapshot;

use crate::{BAD, GOOD, Place, skipped};

#[test]
fn a_configuration_of_another_user_is_ignored_with_a_warning() {
    let place = Place::with(&[
        ("prowess.toml", "[[check.paths]]\nglob = '**'\nignore = true\n"),
        ("work/Bad/SKILL.md", BAD),
        ("work/good/SKILL.md", GOOD),
    ]);
    let config = place.path().join("prowess.toml");
    assert!(place.run(&["check", "work"]).contains("2 ignored"), "a file of one's own counts");
    let other = fs::metadata(&config).unwrap().uid() ^ 1;
    if let Err(error) = chown(&config, Some(other), None) {
        return skipped(&format!("this user cannot give a file away: {error}"));
    }
    let text = place.run(&["check", "--format", "github", "work"]);
    assert!(text.starts_with("exit 1"), "{text}");
    let said = "warning: this configuration belongs to another user, and was ignored: [DIR]/prowess.toml\n  hint: write a prowess.toml of your own in a folder below it\n";
    assert_eq!(text.matches(said).count(), 1, "once, for all skills below it: {text}");
    let list = place.run(&["list"]);
    assert!(list.contains("belongs to another user"), "{list}");
    // The owner of a folder may configure how it is checked: in a container, a clone often belongs to the user outside.
    for folder in ["work", "work/Bad", "work/good"] {
        chown(place.path().join(folder), Some(other), None).unwrap();
    }
    assert!(place.run(&["check", "work"]).contains("2 ignored"));
}

#[test]
fn a_relative_home_is_refused_so_that_no_repository_counts_as_the_users_own() {
    let place = Place::with(&[
        (".claude/skills/trap/SKILL.md", "---\nname: trap\ndescription: A trap.\n---\n"),
        (".config/prowess/prowess.toml", "[[skills.sources]]\nmcp = 'touch pwned'\n"),
    ]);
    let trusted = serde_json::json!({"version": 1, "folders": [place.path()], "skills": []});
    place.write(".local/state/prowess/trust.json", trusted.to_string().as_bytes());
    let run = |name: &str, value: &str, args: &[&str]| {
        place.transcript(&place.command().env(name, value).args(args).output().unwrap())
    };
    assert_snapshot!(run("HOME", ".", &["list"]), @"
    exit 2
    --- stderr
    error: this variable is not an absolute path: HOME=.
      hint: set HOME to an absolute path, or unset it
    ");
    for args in
        [&["trust", "--yes"][..], &["trust", "--list"], &["prompt"], &["cat", "trap"], &["why", "trap"]]
    {
        let text = run("XDG_STATE_HOME", "state", args);
        assert!(
            text.starts_with("exit 2") && text.contains("not an absolute path: XDG_STATE_HOME=state"),
            "{text}"
        );
    }
    assert!(!place.path().join("state").exists() && !place.path().join("pwned").exists());
    assert!(run("HOME", ".", &["check", "--json"]).starts_with("exit 0"), "what needs no home goes on");
}

#[test]
fn processes_that_a_server_leaves_in_another_session_end_with_the_command() {
    if !cfg!(target_os = "linux") || !Path::new("/usr/bin/setsid").exists() {
        return skipped("setsid is not here");
    }
    // The parent of the first has ended, and the second has started another process.
    let script = "#!/bin/sh
for name in one two; do
    (setsid sh -c 'sleep 600 & echo $$ $! > \"$0.new\"; mv \"$0.new\" \"$0\"; wait' \"$name\" >/dev/null 2>&1 </dev/null &)
done
while [ ! -s one ] || [ ! -s two ]; do sleep 0.01; done
exec \"$PROWESS\" serve --in skills
";
    let place = Place::with(&[("skills/good/SKILL.md", GOOD), ("server.sh", script)]);
    let mut command = place.command();
    command.env("PATH", "/usr/bin:/bin").env("PROWESS", env!("CARGO_BIN_EXE_prowess"));
    command.env("HOME", place.path().join("home"));
    let output = command.args(["list", "--in", "mcp=sh server.sh,prefix=s"]).output().unwrap();
    let text = place.transcript(&output);
    assert!(text.contains("s:good"), "{text}");
    for name in ["one", "two"] {
        let ids = fs::read_to_string(place.path().join(name)).unwrap();
        for id in ids.split_whitespace() {
            assert!(!Path::new(&format!("/proc/{id}")).exists(), "{name}: {id} survived");
        }
    }
}

#[test]
fn programs_that_ran_before_the_command_are_left_alone() {
    if !cfg!(target_os = "linux") {
        return skipped("only Linux gives children to another process");
    }
    let place = Place::with(&[("skills/good/SKILL.md", GOOD)]);
    // The shell becomes the command with `exec`, so its children are children of the command.
    let script = "sleep 600 >/dev/null 2>&1 & echo $! >sidecar; exec \"$PROWESS\" \"$@\"";
    let mut command = Command::new("sh");
    command.current_dir(place.path()).env_clear().stdin(Stdio::null());
    command.env("PATH", "/usr/bin:/bin").env("PROWESS", env!("CARGO_BIN_EXE_prowess"));
    command.env("HOME", place.path().join("home"));
    let server = format!("mcp={} serve --in skills,prefix=s", env!("CARGO_BIN_EXE_prowess"));
    let output = command.args(["-c", script, "sh", "list", "--in", &server]).output().unwrap();
    let id = fs::read_to_string(place.path().join("sidecar")).unwrap();
    // A process that has ended may still be there as a zombie.
    let stat = fs::read_to_string(format!("/proc/{}/stat", id.trim())).unwrap_or_default();
    let alive = stat.rsplit_once(')').is_some_and(|(_, state)| !state.trim_start().starts_with('Z'));
    if alive {
        Command::new("kill").arg(id.trim()).status().unwrap();
    }
    let text = place.transcript(&output);
    assert!(text.contains("s:good"), "{text}");
    assert!(alive, "the program {id} was ended");
}
