//! A transaction that succeeds or fails.

mod approvals;
mod meanwhile;
mod placed;
mod recovery;

use std::fs;

use prowess_core::{Digest, RelPath};

use super::*;
use crate::fs::dir::Kind;
use crate::fs::read;
use crate::install::apply::contents::state_of;
use crate::install::apply::recover::{Recovered, recover as recover_with};
use crate::install::source::tree::{InstallLimits, TreeFile};

/// Recovers a place whose clients have no folder elsewhere.
fn recover(books: &Books) -> Result<Option<Recovered>, InstallError> {
    recover_with(books, &Vec::new)
}

fn tree(text: &str) -> SkillTree {
    let file = |path: &str, bytes: &str| TreeFile {
        path: RelPath::parse(path).unwrap(),
        executable: path.starts_with("scripts/"),
        bytes: bytes.as_bytes().into(),
    };
    SkillTree::new(
        vec![file("SKILL.md", text), file("scripts/deep/run.sh", "run")],
        &InstallLimits::default(),
    )
    .unwrap()
}

struct Place {
    root: tempfile::TempDir,
    skills: PathBuf,
    lock: PathBuf,
    books: Books,
}

/// A place with the skills `a` and `gone`, and a lock that says `old`.
fn place() -> Place {
    let root = tempfile::tempdir().unwrap();
    let base = root.path().join("project");
    let skills = base.join("agents/skills");
    fs::create_dir_all(&skills).unwrap();
    let state = |name: &str| root.path().join("state").join(name);
    let lock = base.join("skills.lock");
    let books = Books { base, journal: state("1.journal"), approvals: state("trust.json") };
    let mut first = Transaction::begin(&books, 2);
    first.put(&skills, "a", &tree("old"), None).unwrap();
    first.put(&skills, "gone", &tree("gone"), None).unwrap();
    first.write(lock.clone(), None, "old".to_owned(), None);
    first.commit().unwrap();
    Place { root, skills, lock, books }
}

/// The text of a file; empty when there is none.
fn text_of(path: &Path) -> String {
    read::read_small(path, 1000).map(|bytes| String::from_utf8(bytes).unwrap()).unwrap_or_default()
}

fn before(text: &str) -> State {
    State::Tree(tree(text).digest())
}

/// A transaction that changes `a`, adds `b` with a link to it, and removes `gone`.
fn prepared<'b>(place: &Place, books: &'b Books) -> Transaction<'b> {
    let mut next = Transaction::begin(books, 2);
    next.put(&place.skills, "a", &tree("new"), Some(before("old"))).unwrap();
    next.put(&place.skills, "b", &tree("b"), None).unwrap();
    next.link(&place.skills, "c", "b", None).unwrap();
    next.remove(&place.skills, "gone", before("gone")).unwrap();
    next.write(place.lock.clone(), Some("old".to_owned()), "new".to_owned(), None);
    next
}

/// What is there, in words.
fn shown(place: &Place) -> Vec<String> {
    let dir = Folder::open_resolved(&place.skills).unwrap();
    let named = |name: String| {
        let text = text_of(&place.skills.join(&name).join("SKILL.md"));
        let link = matches!(dir.kind(&name), Ok(Some(Kind::Link)));
        format!("{name}{} {text}", if link { " ->" } else { "" })
    };
    let mut lines: Vec<String> = dir.names().unwrap().into_iter().map(named).collect();
    lines.push(text_of(&place.lock));
    lines
}

const OLD: [&str; 3] = ["a old", "gone gone", "old"];
const NEW: [&str; 4] = ["a new", "b b", "c -> b", "new"];

#[test]
fn a_transaction_changes_adds_links_and_removes_and_leaves_nothing_behind() {
    let place = place();
    assert_eq!(shown(&place), OLD);
    prepared(&place, &place.books).commit().unwrap();
    assert_eq!(shown(&place), NEW);
    assert!(!place.books.journal.exists());
}

#[test]
fn a_transaction_that_is_dropped_or_fails_changes_nothing() {
    let place = place();
    drop(prepared(&place, &place.books));
    assert_eq!(shown(&place), OLD);
    let next = prepared(&place, &place.books);
    // Another program takes the name meanwhile.
    fs::create_dir(place.skills.join("c")).unwrap();
    next.commit().unwrap_err();
    fs::remove_dir(place.skills.join("c")).unwrap();
    assert_eq!(shown(&place), OLD);
    let next = prepared(&place, &place.books);
    fs::write(&place.lock, "edited").unwrap();
    next.commit().unwrap_err();
    assert_eq!(shown(&place), ["a old", "gone gone", "edited"]);
    assert!(!place.books.journal.exists());
}

#[test]
fn a_digest_of_what_is_installed_is_that_of_the_tree() {
    let place = place();
    let dir = Folder::open_resolved(&place.skills).unwrap();
    assert_eq!(state_of(&dir, "a").unwrap(), Some(before("old")));
    fs::create_dir_all(place.skills.join("a/node_modules")).unwrap();
    assert_eq!(state_of(&dir, "a").unwrap(), Some(State::Other));
}

#[cfg(unix)]
#[test]
fn nothing_is_written_where_a_link_leads_that_takes_the_place_of_the_folder_of_skills() {
    let place = place();
    let root = place.root.path();
    let (outside, moved) = (root.join("outside"), root.join("moved"));
    fs::create_dir_all(outside.join("gone")).unwrap();
    fs::write(outside.join("gone/SKILL.md"), "canary").unwrap();
    let swap = || {
        fs::rename(&place.skills, &moved).unwrap();
        std::os::unix::fs::symlink(&outside, &place.skills).unwrap();
    };
    let next = prepared(&place, &place.books);
    swap();
    next.commit().unwrap();
    // The folder that was opened got everything, and the one that the link leads to got nothing.
    assert_eq!(text_of(&moved.join("a/SKILL.md")), "new");
    assert!(moved.join("b").exists() && !moved.join("gone").exists());
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    assert_eq!(text_of(&outside.join("gone/SKILL.md")), "canary");
}

#[cfg(unix)]
#[test]
fn a_record_that_becomes_a_link_out_of_its_folder_is_not_written() {
    let place = place();
    let root = fs::canonicalize(place.root.path()).unwrap();
    let outside = root.join("outside.lock");
    fs::write(&outside, "old").unwrap();
    let mut next = Transaction::begin(&place.books, 0);
    let within = Some(root.join("project"));
    next.put(&place.skills, "b", &tree("b"), None).unwrap();
    next.write(place.lock.clone(), Some("old".to_owned()), "new".to_owned(), within);
    fs::remove_file(&place.lock).unwrap();
    std::os::unix::fs::symlink(&outside, &place.lock).unwrap();
    next.commit().unwrap_err();
    assert_eq!(text_of(&outside), "old");
    assert_eq!(shown(&place), ["a old", "gone gone", "old"]);
}

#[test]
fn an_edit_while_a_skill_is_installed_is_kept_and_nothing_is_changed() {
    let place = place();
    let next = prepared(&place, &place.books);
    fs::write(place.skills.join("a/SKILL.md"), "edited").unwrap();
    next.commit().unwrap_err();
    assert_eq!(shown(&place), ["a edited", "gone gone", "old"]);
    assert!(!place.books.journal.exists());
}

#[test]
fn a_staging_folder_in_use_is_not_removed_by_another_process() {
    let place = place();
    let next = prepared(&place, &place.books);
    let other = Books { journal: place.books.journal.with_file_name("other"), ..place.books.clone() };
    recover(&other).unwrap();
    next.commit().unwrap();
    assert_eq!(shown(&place), NEW);
}
