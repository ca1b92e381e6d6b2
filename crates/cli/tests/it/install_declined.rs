//! What a command leaves whose skills the user declines: the same, however the user says no, and nothing in the log of
//! what was fetched.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Place;
use crate::install::place;
use crate::install_git::{commit, git};
use crate::shelf::run;
use crate::terminal::Terminal;

/// How the question is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum No {
    Word,
    EndOfInput,
    ControlC,
    Signal(&'static str),
}

/// Runs a command on a terminal up to its question, and says no. False where there is no terminal.
fn decline(place: &Place, args: &str, question: &str, no: No) -> bool {
    let Some(mut terminal) = Terminal::start(place, args) else { return false };
    let is_asked = terminal.read_until(question);
    match no {
        // No is the answer to nothing.
        No::Word => terminal.type_in(if question.ends_with("[y/N]") { "n\n" } else { "\n" }),
        No::EndOfInput => terminal.type_in("\u{4}"),
        No::ControlC => terminal.type_in("\u{3}"),
        No::Signal(name) => terminal.signal(name),
    }
    let said = terminal.end();
    assert!(is_asked, "{said}");
    true
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
    for no in ALL {
        let place = place();
        let url = commit(&place, "from");
        // What was accepted before stays.
        run(&place, &["add", "./from/notes", "--yes"]);
        let (before, logged) = (store(&place), log(&place));
        assert!(!before.is_empty() && !logged.is_empty());
        let add = format!("add {url} --skill pdf");
        if !decline(&place, &add, "[y/N]", no) {
            return;
        }
        assert_eq!((store(&place), log(&place)), (before.clone(), logged.clone()), "{no:?}");
        // The question which skills to install can be declined too.
        assert!(decline(&place, &format!("add {url}"), "or all)", no));
        assert_eq!((store(&place), log(&place)), (before.clone(), logged.clone()), "{no:?}");
        place.write(
            "skills.toml",
            format!("[skills]\npdf = {{ git = \"{url}\", path = \"pdf\" }}\n").as_bytes(),
        );
        fs::remove_file(place.path().join("skills.lock")).unwrap();
        assert!(decline(&place, "sync", "[y/N]", no));
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
    if !decline(&place, &add, "[y/N]", No::Signal("KILL")) {
        return;
    }
    assert!(store(&place).len() > before.len());
    // Nor does anything stay of this one.
    run(&place, &["add", "./from/pdf", "--dry-run"]);
    assert_eq!(store(&place), before);
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

#[test]
fn nothing_stays_of_a_dry_run_whose_skills_are_not_installed() {
    let place = place();
    let url = commit(&place, "from");
    run(&place, &["add", "./from/notes", "--yes"]);
    let (before, logged) = (store(&place), log(&place));
    let said = run(&place, &["add", &url, "--skill", "pdf", "--dry-run"]);
    assert!(said.starts_with("exit 0") && said.contains("pdf"), "{said}");
    assert_eq!((store(&place), log(&place)), (before.clone(), logged.clone()));
    place.write("skills.toml", format!("[skills]\npdf = {{ git = \"{url}\", path = \"pdf\" }}\n").as_bytes());
    fs::remove_file(place.path().join("skills.lock")).unwrap();
    let said = run(&place, &["sync", "--dry-run", "--yes"]);
    assert!(said.starts_with("exit 0") && said.contains("pdf"), "{said}");
    assert_eq!((store(&place), log(&place)), (before, logged));
}
