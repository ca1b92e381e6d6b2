//! A transaction that succeeds, fails or is killed between its steps.

use std::fs;

use prowess_core::RelPath;

use super::super::contents::state_of;
use super::super::steps::{aside, swap};
use super::*;
use crate::fs::read;
use crate::install::tree::{InstallLimits, TreeFile};

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
    let skills = root.path().join("skills");
    fs::create_dir(&skills).unwrap();
    let books =
        Books { journal: root.path().join("state/journal"), approvals: root.path().join("state/trust.json") };
    let lock = root.path().join("skills.lock");
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
    State::Tree(tree(text).digest().to_owned())
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
    let dir = Dir::open(&place.skills).unwrap();
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

/// A process that is killed after this many steps, with its journal on the disk.
fn killed_after(place: &Place, steps: usize) {
    let mut next = prepared(place, &place.books);
    next.prepare().unwrap();
    next.journal.save(&place.books.journal).unwrap();
    let journal = std::mem::take(&mut next.journal);
    for step in journal.steps.iter().take(steps) {
        let (dir, stage) = &next.folders[&step.folder];
        swap(step, dir, stage).unwrap();
    }
    if steps > journal.steps.len() {
        fs::write(&place.lock, "new").unwrap();
    }
}

#[test]
fn the_next_process_completes_what_a_killed_one_began() {
    for steps in 0..=5 {
        let place = place();
        killed_after(&place, steps);
        assert!(recover(&place.books, std::slice::from_ref(&place.skills)).unwrap(), "{steps}");
        assert_eq!(shown(&place), NEW, "{steps}");
        assert!(!recover(&place.books, std::slice::from_ref(&place.skills)).unwrap(), "{steps}");
    }
}

#[test]
fn edits_after_a_kill_are_kept_and_the_rest_is_undone() {
    let place = place();
    killed_after(&place, 0);
    fs::write(place.skills.join("gone/SKILL.md"), "edited").unwrap();
    recover(&place.books, std::slice::from_ref(&place.skills)).unwrap();
    assert_eq!(shown(&place), ["a old", "gone edited", "old"]);
}

#[test]
fn a_record_that_a_killed_process_had_begun_to_write_is_swept_also_when_all_is_undone() {
    let place = place();
    killed_after(&place, 0);
    fs::write(place.skills.join("gone/SKILL.md"), "edited").unwrap();
    let begun = place.lock.with_file_name(crate::fs::atomic::unused_name());
    fs::write(&begun, "ne").unwrap();
    recover(&place.books, std::slice::from_ref(&place.skills)).unwrap();
    assert_eq!(shown(&place), ["a old", "gone edited", "old"]);
    assert!(!begun.exists());
}

#[test]
fn an_exchange_by_three_moves_is_completed_from_each_of_them() {
    for moves in 0..3 {
        let place = place();
        let mut next = prepared(&place, &place.books);
        next.prepare().unwrap();
        next.journal.save(&place.books.journal).unwrap();
        let journal = std::mem::take(&mut next.journal);
        let step = &journal.steps[0];
        let (dir, stage) = &next.folders[&step.folder];
        if moves > 0 {
            dir.move_new(&step.name, stage, &aside(step)).unwrap();
        }
        if moves > 1 {
            stage.move_new(&step.staged, dir, &step.name).unwrap();
        }
        drop(next);
        recover(&place.books, std::slice::from_ref(&place.skills)).unwrap();
        assert_eq!(shown(&place), NEW, "{moves}");
    }
}

#[test]
fn a_digest_of_what_is_installed_is_that_of_the_tree() {
    let place = place();
    let dir = Dir::open(&place.skills).unwrap();
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
fn what_was_removed_meanwhile_is_not_recorded_as_installed() {
    let place = place();
    killed_after(&place, 0);
    // Another program cleans up what it does not know.
    let stage =
        Dir::open(&place.skills).unwrap().names().unwrap().into_iter().find(|name| is_stage(name)).unwrap();
    fs::remove_dir_all(place.skills.join(stage)).unwrap();
    recover(&place.books, std::slice::from_ref(&place.skills)).unwrap();
    assert_eq!(shown(&place), OLD);
    // A folder of skills that is gone as a whole stops nothing either.
    killed_after(&place, 1);
    fs::remove_dir_all(&place.skills).unwrap();
    recover(&place.books, &[]).unwrap();
    assert!(!place.books.journal.exists());
}

#[test]
fn a_journal_that_is_damaged_is_set_aside_and_named() {
    let place = place();
    fs::create_dir_all(place.books.journal.parent().unwrap()).unwrap();
    fs::write(&place.books.journal, "{").unwrap();
    let error = recover(&place.books, &[]).unwrap_err();
    assert!(error.to_string().contains("journal-set-aside"), "{error}");
    assert!(!recover(&place.books, &[]).unwrap());
}

#[test]
fn a_staging_folder_in_use_is_not_removed_by_another_process() {
    let place = place();
    let next = prepared(&place, &place.books);
    let other = Books { journal: place.books.journal.with_extension("other"), ..place.books.clone() };
    recover(&other, std::slice::from_ref(&place.skills)).unwrap();
    next.commit().unwrap();
    assert_eq!(shown(&place), NEW);
}

#[test]
fn a_record_that_was_changed_after_a_kill_stays_and_the_rest_is_undone() {
    let place = place();
    killed_after(&place, 2);
    fs::write(&place.lock, "mine").unwrap();
    assert!(recover(&place.books, &[]).unwrap());
    assert_eq!(shown(&place), ["a old", "gone gone", "mine"]);
}

/// A process that is killed before it removes its journal: the skill `b` is installed, and its acceptance is recorded or not.
fn killed_with_an_acceptance(place: &Place, recorded: bool) -> Approvals {
    let mut next = Transaction::begin(&place.books, 2);
    next.put(&place.skills, "b", &tree("b"), None).unwrap();
    let digest = Some(tree("b").digest().to_owned());
    let skill_file = place.skills.join("b/SKILL.md");
    next.accept(Accepted { name: "b".to_owned(), key: None, skill_file, digest });
    next.prepare().unwrap();
    next.journal.save(&place.books.journal).unwrap();
    let journal = std::mem::take(&mut next.journal);
    for step in &journal.steps {
        let (dir, stage) = &next.folders[&step.folder];
        swap(step, dir, stage).unwrap();
    }
    if recorded {
        record(&journal, &place.books.approvals, |_| true).unwrap();
    }
    Approvals::load(&place.books.approvals).unwrap()
}

#[test]
fn an_acceptance_is_recorded_by_the_next_process_and_never_after_it_was_revoked() {
    for recorded in [false, true] {
        for revoked in [false, true] {
            let place = place();
            let accepted = killed_with_an_acceptance(&place, recorded).skills.len();
            assert_eq!(accepted, usize::from(recorded));
            if revoked && recorded {
                Approvals::update(&place.books.approvals, |approvals| {
                    approvals.revoke_folder(&place.skills);
                    Ok::<(), SourceError>(())
                })
                .unwrap();
            }
            assert!(recover(&place.books, &[]).unwrap());
            let now = Approvals::load(&place.books.approvals).unwrap().skills;
            assert_eq!(now.len(), usize::from(!(recorded && revoked)), "{recorded} {revoked}: {now:?}");
        }
    }
}

#[test]
fn approvals_that_changed_after_a_kill_are_not_added_to() {
    let place = place();
    killed_with_an_acceptance(&place, false);
    Approvals::update(&place.books.approvals, |approvals| {
        approvals.trust_folder(place.root.path().join("other"));
        Ok::<(), SourceError>(())
    })
    .unwrap();
    assert!(recover(&place.books, &[]).unwrap());
    assert!(place.skills.join("b/SKILL.md").exists());
    assert!(Approvals::load(&place.books.approvals).unwrap().skills.is_empty());
}

#[test]
fn the_end_of_a_skill_ends_the_approvals_of_all_that_is_in_its_folder() {
    let place = place();
    let accept = |next: &mut Transaction<'_>, file: &str, digest: Option<&str>| {
        let (skill_file, digest) = (place.skills.join(file), digest.map(str::to_owned));
        next.accept(Accepted { name: "x".to_owned(), key: None, skill_file, digest });
    };
    let mut next = Transaction::begin(&place.books, 0);
    for file in ["a/SKILL.md", "a/in/skill.md", "a-2/SKILL.md"] {
        accept(&mut next, file, Some("sha256:0"));
    }
    next.commit().unwrap();
    let mut next = Transaction::begin(&place.books, 0);
    accept(&mut next, "a/SKILL.md", None);
    next.commit().unwrap();
    let left = Approvals::load(&place.books.approvals).unwrap().skills;
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(left[0].location.text().ends_with("a-2/SKILL.md"));
}
