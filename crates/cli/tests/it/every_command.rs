//! Every command in bad surroundings: it ends with a documented exit code, and a failure is one message with a hint.

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::{GOOD, Place, shelf, skipped};

/// What a command needs of its surroundings.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Needs {
    /// Nothing of the user: it ends in the same way without a home.
    Nothing,
    /// A home that it can read or write.
    Home,
}
use Needs::{Home, Nothing};

/// A call of each command, what it needs, and its usual exit code. `watch` does not end by itself.
pub(crate) const CALLS: &[(&[&str], Needs, i32)] = &[
    (&["check", "s"], Nothing, 0),
    (&["check", "-"], Nothing, 2),
    (&["show", "s/good"], Nothing, 0),
    (&["show", "good", "--in", "s"], Nothing, 0),
    (&["rule"], Nothing, 0),
    (&["rule", "name-too-long"], Nothing, 0),
    (&["eval", "s"], Nothing, 0),
    (&["new", "fresh", "--dir", "s"], Nothing, 0),
    (&["try", "turn these meeting notes into minutes"], Nothing, 0),
    (&["list"], Nothing, 0),
    (&["list", "--all", "--cost"], Nothing, 0),
    (&["list", "--client", "installed"], Home, 0),
    (&["list", "--installed"], Home, 0),
    (&["search", "do", "it", "well"], Nothing, 0),
    (&["prompt"], Nothing, 0),
    (&["cat", "good", "--in", "s"], Nothing, 0),
    (&["why", "good", "--in", "s"], Nothing, 0),
    (&["why", "good", "--query", "do it", "--in", "s"], Nothing, 0),
    (&["activate", "good", "--in", "s"], Nothing, 0),
    (&["tools"], Nothing, 0),
    (&["replay", "calls.jsonl", "--in", "s"], Nothing, 0),
    (&["replay", "-", "--in", "s"], Nothing, 0),
    (&["serve", "--in", "s"], Nothing, 0),
    (&["serve", "--print-config", "codex"], Nothing, 0),
    (&["completions", "bash"], Nothing, 0),
    (&["man"], Nothing, 0),
    (&["trust", "--yes"], Home, 0),
    (&["trust", "--list"], Home, 0),
    (&["trust", "--dry-run"], Home, 0),
    (&["config"], Nothing, 0),
    (&["config", "get", "scan.depth"], Nothing, 0),
    (&["config", "path"], Nothing, 0),
    (&["config", "set", "scan.depth", "3"], Home, 0),
    (&["config", "set", "check.profile", "anthropic", "--project"], Home, 0),
    (&["config", "unset", "check.profile", "--project"], Home, 0),
    (&["trust", "--revoke"], Home, 0),
    (&["add", "./s/good", "--yes"], Home, 0),
    (&["add", "./s/good", "--yes", "--user"], Home, 0),
    (&["sync"], Home, 0),
    (&["verify"], Home, 0),
    (&["remove", "good"], Home, 0),
    (&["remove", "good", "--user"], Home, 0),
    (&["doctor"], Home, 1),
    (&["connect", "codex"], Home, 0),
    (&["connect", "codex", "--write"], Home, 0),
    (&["disconnect", "codex", "--write"], Home, 0),
    (&["--version"], Nothing, 0),
    (&["help", "list"], Nothing, 0),
];

pub(crate) fn place() -> Place {
    Place::with(&[
        ("s/good/SKILL.md", GOOD),
        ("home/.claude/skills/good/SKILL.md", GOOD),
        (".claude/skills/of-project/SKILL.md", "---\nname: of-project\ndescription: Does it here.\n---\n"),
        ("calls.jsonl", "{\"tool\":\"list_skills\",\"arguments\":{}}\n"),
    ])
}

/// The command, run by a shell as a script says.
fn through_shell(place: &Place, script: &str, args: &[&str]) -> Command {
    let usual = shelf::command(place);
    let mut command = Command::new("sh");
    command.current_dir(place.path()).env_clear().env("PATH", "/usr/bin:/bin").stdin(Stdio::null());
    command.envs(usual.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.args(["-c", script, "sh", env!("CARGO_BIN_EXE_prowess")]).args(args);
    command
}

/// Checks how a command ended: by itself, and with one message and a hint if it could not do its work.
fn judge(about: &str, args: &[&str], output: &Output) -> i32 {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let said = format!("{about}: {args:?}: {:?}\n{out}\n{err}", output.status);
    let code = output.status.code();
    assert!(matches!(code, Some(0..=2)) && !err.contains("panicked at"), "{said}");
    let errors = err.lines().filter(|line| line.starts_with("error: ")).count();
    assert_eq!(errors, usize::from(code == Some(2)), "{said}");
    let has_hint = ["hint: ", "tip: ", "For more information, try"].iter().any(|hint| err.contains(hint));
    assert!(has_hint || code != Some(2), "{said}");
    assert!(!err.contains("os error"), "{said}");
    code.unwrap()
}

/// Runs every call in one place, and compares those that need nothing with how they end usually.
fn every_call(about: &str, run: impl Fn(&Place, &[&str]) -> Output) {
    let place = place();
    for &(args, needs, usual) in CALLS {
        let code = judge(about, args, &run(&place, args));
        assert!(needs == Home || code == usual, "{about}: {args:?} ends with {code}, not {usual}");
    }
}

/// The commands that the help lists.
pub(crate) fn commands_of(help: &str) -> impl Iterator<Item = &str> {
    help.lines()
        .filter_map(|line| line.strip_prefix("  ")?.split_once("  "))
        .map(|(name, _)| name)
        .filter(|name| !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase()))
}

#[test]
fn every_command_of_the_help_is_called() {
    let help = String::from_utf8(place().output(&["--help"]).stdout).unwrap();
    for name in commands_of(&help) {
        let is_called = CALLS.iter().any(|(args, ..)| args.first() == Some(&name));
        assert!(is_called || name == "watch", "{name}");
    }
}

#[test]
fn every_command_works_as_usual() {
    let place = place();
    for &(args, _, usual) in CALLS {
        assert_eq!(judge("as usual", args, &shelf::output(&place, args)), usual, "{args:?}");
    }
}

#[test]
fn every_command_refuses_an_option_that_it_does_not_have() {
    let place = place();
    let help = String::from_utf8(shelf::output(&place, &["help"]).stdout).unwrap();
    let named = |line: &str| {
        let (name, about) = line.strip_prefix("  ")?.split_once("  ")?;
        (name.chars().all(|c| c.is_ascii_lowercase()) && !about.is_empty()).then(|| name.to_owned())
    };
    let commands: Vec<String> = help.lines().filter_map(named).filter(|name| name != "help").collect();
    assert!(commands.len() > 20 && commands.iter().any(|name| name == "list"), "{commands:?}");
    for command in &commands {
        for args in [&[command.as_str(), "--no-such-option"][..], &[command, "--json", "--no-such-option"]] {
            assert_eq!(judge("a wrong option", args, &shelf::output(&place, args)), 2, "{args:?}");
        }
    }
}

#[test]
fn without_a_home_what_needs_none_works_and_the_rest_says_so() {
    every_call("no home", |place, args| place.output(args));
    every_call("a home that does not exist", |place, args| {
        place.command().args(args).env("HOME", place.path().join("no/home")).output().unwrap()
    });
    every_call("an empty variable", |place, args| {
        place.command().args(args).env("HOME", "").output().unwrap()
    });
    let place = place();
    place.write("file", b"");
    for &(args, ..) in CALLS {
        let output = place.command().args(args).env("HOME", place.path().join("file")).output().unwrap();
        judge("a home that is a file", args, &output);
    }
}

#[test]
fn closed_streams_and_a_narrow_screen_change_no_exit_code() {
    for script in ["\"$@\" <&-", "\"$@\" >&-"] {
        every_call(script, |place, args| through_shell(place, script, args).output().unwrap());
    }
    every_call("a narrow screen", |place, args| {
        shelf::command(place).args(args).env("PROWESS_COLUMNS", "20").output().unwrap()
    });
    // Without stderr, the exit code is all that is left.
    let place = place();
    for &(args, needs, usual) in CALLS {
        let output = through_shell(&place, "\"$@\" 2>&-", args).output().unwrap();
        let code = output.status.code();
        assert!(needs == Home || code == Some(usual), "{args:?}: {code:?}");
    }
}

#[test]
fn a_result_that_cannot_be_written_is_an_error() {
    if !Path::new("/dev/full").exists() {
        return skipped("there is no /dev/full");
    }
    for &(args, ..) in CALLS {
        let usual = shelf::output(&place(), args);
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = shelf::command(&place()).args(args).stdout(full).output().unwrap();
        let code = judge("a full device", args, &output);
        let err = String::from_utf8_lossy(&output.stderr);
        let told = err.contains("could not write the result\n  cause: no space left on device\n  hint: ");
        let writes = !usual.stdout.is_empty() && usual.status.code() != Some(2);
        assert!(!writes || (code == 2 && told), "{args:?}: {code}: {err}");
    }
}

#[test]
fn a_folder_that_is_gone_or_has_a_name_without_text_is_no_crash() {
    let place = place();
    for &(args, ..) in CALLS {
        let script = "mkdir -p gone && cd gone && rmdir ../gone && exec \"$@\"";
        judge("a folder that is gone", args, &through_shell(&place, script, args).output().unwrap());
    }
    let odd = place.path().join(OsStr::from_bytes(b"caf\xe9"));
    fs::create_dir_all(odd.join("s/good")).unwrap();
    fs::write(odd.join("s/good/SKILL.md"), GOOD).unwrap();
    fs::write(odd.join("calls.jsonl"), "").unwrap();
    for &(args, ..) in CALLS {
        let output = shelf::command(&place).args(args).current_dir(&odd).output().unwrap();
        judge("a folder whose name is not UTF-8", args, &output);
    }
    let output = shelf::command(&place).args(["trust", "."]).current_dir(&odd).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("a folder whose path is not UTF-8 cannot be trusted: "), "{said}");
    for command in ["check", "show", "new", "cat", "why", "trust", "add", "replay", "eval"] {
        let mut run = shelf::command(&place);
        run.arg(command).arg(OsStr::from_bytes(b"nope\xff"));
        assert_eq!(judge("an argument that is not UTF-8", &[command], &run.output().unwrap()), 2);
    }
}

#[test]
fn a_read_only_home_and_project_can_be_looked_at() {
    let place = place();
    let program = place.path().join("prowess");
    fs::copy(env!("CARGO_BIN_EXE_prowess"), &program).unwrap();
    fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(place.path(), Permissions::from_mode(0o755)).unwrap();
    for &(args, needs, usual) in CALLS {
        // Permissions do not bind root, so the command runs as the user nobody, who owns nothing here.
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"]);
        command.arg(&program).args(args).current_dir(place.path()).env_clear().stdin(Stdio::null());
        let output = match command.env("HOME", place.path().join("home")).output() {
            Ok(output) if !String::from_utf8_lossy(&output.stderr).contains("setpriv:") => output,
            _ => return skipped("setpriv cannot run here, or this is not root"),
        };
        let code = judge("read-only", args, &output);
        let writes = needs == Home || args[0] == "new";
        assert!(writes || code == usual, "{args:?} ends with {code}, not {usual}");
    }
}

#[test]
fn on_a_full_disk_what_writes_says_so_and_the_rest_works() {
    let place = place();
    fs::create_dir(place.path().join("full")).unwrap();
    // In a mount namespace of its own: a home with a skill, and no room.
    let script = "mount -t tmpfs -o size=16k tmpfs full && mkdir -p full/.claude/skills \
         && cp -r s/good full/.claude/skills && { cat /dev/zero >full/filled 2>/dev/null; \
         HOME=$PWD/full exec \"$@\"; }";
    for &(args, needs, usual) in CALLS {
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", script, "sh", env!("CARGO_BIN_EXE_prowess")]).args(args);
        command.current_dir(place.path()).env_clear().env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin");
        let output = match command.stdin(Stdio::null()).output() {
            Ok(output) if !is_refused(&output) => output,
            _ => return skipped("unshare and mount cannot run here"),
        };
        let code = judge("a full disk", args, &output);
        assert!(needs == Home || code == usual, "{args:?} ends with {code}, not {usual}");
        let err = String::from_utf8_lossy(&output.stderr);
        if matches!(args, ["trust", "--yes"] | ["add", ..]) {
            assert!(
                err.contains("hint: make room on the disk, then run the command again"),
                "{args:?}: {err}"
            );
        }
    }
}

fn is_refused(output: &Output) -> bool {
    let err = String::from_utf8_lossy(&output.stderr);
    ["unshare:", "mount:"].iter().any(|program| err.contains(program))
}
