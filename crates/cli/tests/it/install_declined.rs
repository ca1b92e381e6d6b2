//! What a command leaves whose skills the user declines: the same, however the user says no, and nothing in the log of
//! what was fetched.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Place;
use crate::install::place;
use crate::install_git::{commit, git};
use crate::shelf::{command, run};
use crate::skipped;

/// How the question is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum No {
    Word,
    EndOfInput,
    ControlC,
    Signal(&'static str),
}

/// Runs a command on a terminal up to its question, and says no. Returns what it said; none where there is no terminal.
fn decline(place: &Place, args: &str, question: &str, no: No) -> Option<String> {
    let version = Command::new("script").arg("--version").stdin(Stdio::null()).output();
    if !version.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("util-linux")) {
        skipped("the script of util-linux is not here");
        return None;
    }
    let inner = command(place);
    let id = place.path().join("id");
    let program = inner.get_program().to_string_lossy();
    let line = format!("echo $$ > {}; exec {program} {args}", id.display());
    let mut outer = Command::new("script");
    outer.current_dir(place.path()).env_clear().env("PATH", "/usr/bin:/bin").env("TERM", "dumb");
    outer.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    outer.args(["-qec", &line, "/dev/null"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = outer.spawn().unwrap();
    let (mut said, mut byte) = (Vec::new(), [0]);
    let mut out = child.stdout.take().unwrap();
    while !said.ends_with(question.as_bytes()) && out.read(&mut byte).unwrap() == 1 {
        said.push(byte[0]);
    }
    let mut type_in = |bytes: &[u8]| child.stdin.as_mut().unwrap().write_all(bytes).unwrap();
    match no {
        // No is the answer to nothing.
        No::Word => type_in(if question.ends_with("[y/N]") { b"n\n" } else { b"\n" }),
        No::EndOfInput => type_in(b"\x04"),
        No::ControlC => type_in(b"\x03"),
        No::Signal(name) => {
            let id = fs::read_to_string(id).unwrap();
            let done = Command::new("kill").args([&format!("-{name}"), id.trim()]).status().unwrap();
            assert!(done.success());
        }
    }
    out.read_to_end(&mut said).unwrap();
    child.wait().unwrap();
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(said.contains(question), "{said}");
    Some(said)
}

/// The files below a folder, without those that only hold locks.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if !path.extension().is_some_and(|end| end == "lock" || end == "used") {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn store(place: &Place) -> Vec<PathBuf> {
    files(&place.path().join("cache/prowess/store"))
}

fn log(place: &Place) -> String {
    fs::read_to_string(place.path().join("state/prowess/install/fetched")).unwrap_or_default()
}

const ALL: [No; 6] =
    [No::Word, No::EndOfInput, No::ControlC, No::Signal("TERM"), No::Signal("HUP"), No::Signal("INT")];

#[test]
fn every_way_to_decline_removes_what_was_fetched() {
    // A program that was started with SIGHUP ignored, as by nohup, goes on ignoring it.
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default();
    for no in ALL {
        if no == No::Signal("HUP") && ignored & 1 != 0 {
            skipped("SIGHUP is ignored here");
            continue;
        }
        let place = place();
        let url = commit(&place, "from");
        // What was accepted before stays.
        run(&place, &["add", "./from/notes", "--yes"]);
        let (before, logged) = (store(&place), log(&place));
        assert!(!before.is_empty() && !logged.is_empty());
        let add = format!("add {url} --skill pdf");
        if decline(&place, &add, "[y/N]", no).is_none() {
            return;
        }
        assert_eq!((store(&place), log(&place)), (before.clone(), logged.clone()), "{no:?}");
        // The question which skills to install can be declined too.
        decline(&place, &format!("add {url}"), "or all)", no).unwrap();
        assert_eq!((store(&place), log(&place)), (before.clone(), logged.clone()), "{no:?}");
        place.write(
            "skills.toml",
            format!("[skills]\npdf = {{ git = \"{url}\", path = \"pdf\" }}\n").as_bytes(),
        );
        fs::remove_file(place.path().join("skills.lock")).unwrap();
        decline(&place, "sync", "[y/N]", no).unwrap();
        assert_eq!((store(&place), log(&place)), (before, logged), "{no:?}");
    }
}

#[test]
fn the_next_command_that_fetches_removes_what_a_killed_one_fetched() {
    let place = place();
    let url = commit(&place, "from");
    run(&place, &["add", "./from/notes", "--yes"]);
    let before = store(&place);
    let add = format!("add {url} --skill pdf");
    if decline(&place, &add, "[y/N]", No::Signal("KILL")).is_none() {
        return;
    }
    assert!(store(&place).len() > before.len());
    // This one stores the skill of the folder that it looks at, and no repository.
    run(&place, &["add", "./from/pdf", "--dry-run"]);
    assert_eq!(store(&place).iter().filter(|file| !before.contains(file)).count(), 1, "{:?}", store(&place));
    assert!(!store(&place).iter().any(|file| file.to_string_lossy().contains("/git/")));
    // What was accepted is removed by no command.
    let said = run(&place, &["add", &url, "--skill", "pdf", "--yes"]);
    assert!(said.starts_with("exit 0"), "{said}");
    let accepted = store(&place);
    run(&place, &["add", "./from/pdf", "--dry-run"]);
    assert_eq!(store(&place), accepted);
}

#[test]
fn a_commit_that_was_declined_does_not_count_as_fetched() {
    let place = place();
    let url = commit(&place, "from");
    let commit = git(&place, "from", &["rev-parse", "HEAD"]);
    let pinned = format!("{url}#{commit}");
    let said = run(&place, &["add", &pinned, "--skill", "pdf"]);
    assert!(said.starts_with("exit 2") && said.contains("consent"), "{said}");
    run(&place, &["add", &pinned, "--skill", "pdf", "--dry-run"]);
    run(&place, &["add", &pinned, "--skill", "pdf", "--as", "a/b", "--yes"]);
    assert_eq!(log(&place), "");
    let said = run(&place, &["add", &pinned, "--skill", "pdf", "--yes"]);
    assert!(said.starts_with("exit 0") && log(&place).contains(&commit), "{said}");
}

#[test]
fn what_was_fetched_does_not_stay_when_a_command_fails_before_it_asks() {
    let place = place();
    commit(&place, "from");
    let url = format!("file://{}/from", place.path().display());
    let store = place.path().join("cache/prowess/store");
    let said = run(&place, &["add", &url, "--skill", "none", "--yes"]);
    assert!(said.starts_with("exit 2"), "{said}");
    assert_eq!(files(&store), Vec::<PathBuf>::new(), "{said}");
    let said = run(&place, &["add", &url, "--skill", "pdf", "--yes"]);
    assert!(said.starts_with("exit 0") && !files(&store).is_empty(), "{said}");
}
