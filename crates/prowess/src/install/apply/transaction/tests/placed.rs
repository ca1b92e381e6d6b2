//! The record of who created a folder: it stays as it was when a transaction fails, and is never overwritten unread.

use std::collections::BTreeMap;

use super::*;
use crate::fs::own;
use crate::install::apply::placements::Placement;

fn file(place: &Place) -> PathBuf {
    place.books.journal.with_extension("placed")
}

fn set_aside(place: &Place) -> PathBuf {
    place.root.path().join("state/1.placed-set-aside")
}

/// Who created the folders, by their names.
fn placed(place: &Place) -> Vec<(&'static str, Option<Placement>)> {
    let placements = Placements::load(&place.books).unwrap();
    ["a", "b", "gone", "users"].map(|name| (name, placements.get(&place.skills.join(name)).cloned())).into()
}

/// A transaction that also accepts a skill, and leaves a folder to the user.
fn accepting<'b>(place: &Place, books: &'b Books) -> Transaction<'b> {
    let mut next = prepared(place, books);
    let skill_file = place.skills.join("b/SKILL.md");
    next.accept(Accepted { name: "b".to_owned(), key: None, skill_file, digest: Some([0; 32].into()) });
    next.leave_to_user(place.skills.join("users"));
    next
}

#[test]
fn approvals_that_cannot_be_written_leave_the_record_of_placed_folders_as_it_was() {
    let place = place();
    let before = placed(&place);
    let locked = place.books.approvals.with_extension("lock");
    let next = accepting(&place, &place.books);
    // Nothing can be locked there.
    fs::create_dir_all(&locked).unwrap();
    next.commit().unwrap_err();
    let after = placed(&place);
    assert_eq!((shown(&place), &after[..3]), (OLD.map(str::to_owned).into(), &before[..3]));
    // What was left to the user stays the user's, which loses nothing.
    assert_eq!(after[3].1, Some(Placement::Users));
    fs::remove_dir(&locked).unwrap();
    accepting(&place, &place.books).commit().unwrap();
    let [a, b, gone, users] = &*placed(&place) else { panic!() };
    let is = |text: &str| Some(Placement::Placed(tree(text).digest()));
    assert_eq!((&a.1, &b.1, &gone.1, &users.1), (&is("new"), &is("b"), &None, &Some(Placement::Users)));
}

#[test]
fn approvals_that_cannot_be_written_leave_the_record_of_edited_skills_that_were_left_as_it_was() {
    let place = place();
    let left = |place: &Place| {
        let placements = Placements::load(&place.books).unwrap();
        ["a", "gone", "users"].map(|name| placements.left(&place.skills.join(name)))
    };
    let mut first = Transaction::begin(&place.books, 0);
    let [a, users, later] = [[1; 32], [2; 32], [0; 32]].map(Digest::from);
    for (name, digest) in [("a", a), ("users", users)] {
        first.leave_edited(place.skills.join(name), &State::Tree(digest));
    }
    first.write(place.lock.clone(), Some("old".to_owned()), "older".to_owned(), None);
    first.commit().unwrap();
    let before = left(&place);
    assert_eq!(before, [Some(a), None, Some(users)]);
    let next = || {
        let mut next = Transaction::begin(&place.books, 0);
        next.put(&place.skills, "a", &tree("new"), Some(before_of(&place, "a"))).unwrap();
        for name in ["gone", "users"] {
            next.leave_edited(place.skills.join(name), &State::Tree(later));
        }
        let skill_file = place.skills.join("a/SKILL.md");
        next.accept(Accepted { name: "a".to_owned(), key: None, skill_file, digest: None });
        next.commit()
    };
    let locked = place.books.approvals.with_extension("lock");
    fs::create_dir_all(&locked).unwrap();
    next().unwrap_err();
    assert_eq!(left(&place), before);
    fs::remove_dir(&locked).unwrap();
    next().unwrap();
    assert_eq!(left(&place), [None, Some(later), Some(later)]);
}

/// What is there under a name.
fn before_of(place: &Place, name: &str) -> State {
    state_of(&Folder::open_resolved(&place.skills).unwrap(), name).unwrap().unwrap()
}

#[test]
fn a_record_without_a_version_is_read_and_gets_one() {
    let place = place();
    let own = |name: &str| place.skills.join(name).to_string_lossy().into_owned();
    let folders = BTreeMap::from([(own("users"), Placement::Users)]);
    fs::write(file(&place), serde_json::to_vec(&folders).unwrap()).unwrap();
    assert_eq!(placed(&place)[3].1, Some(Placement::Users));
    prepared(&place, &place.books).commit().unwrap();
    assert_eq!(placed(&place)[3].1, Some(Placement::Users));
    let text = text_of(&file(&place));
    assert!(text.starts_with(r#"{"version":1,"lost":false,"folders":{"#), "{text}");
    assert!(!set_aside(&place).exists());
}

#[test]
fn a_record_that_cannot_be_used_is_set_aside_and_said_and_its_loss_is_remembered() {
    for text in ["{\"version\":2,\"folders\":{}}", "no record", ""] {
        let place = place();
        fs::write(file(&place), text).unwrap();
        assert!(Placements::load(&place.books).unwrap().is_lost());
        assert_eq!(text_of(&file(&place)), text, "a look changes nothing");
        prepared(&place, &place.books).commit().unwrap();
        assert_eq!(text_of(&set_aside(&place)), text);
        let name = set_aside(&place).to_string_lossy().into_owned();
        let said = own::state_notes().into_iter().filter(|note| note.text.contains(&name)).count();
        assert_eq!(said, 1, "{text}");
        assert!(placed(&place)[1].1.is_some() && Placements::load(&place.books).unwrap().is_lost());
        // The next one has another name.
        fs::write(file(&place), "again").unwrap();
        let mut next = Transaction::begin(&place.books, 0);
        next.leave_to_user(place.skills.join("users"));
        next.commit().unwrap();
        assert_eq!(text_of(&set_aside(&place)), text);
        assert_eq!(text_of(&place.root.path().join("state/1.placed-set-aside-2")), "again");
    }
}

#[test]
fn a_record_that_is_missing_after_it_was_set_aside_is_lost() {
    let place = place();
    fs::rename(file(&place), set_aside(&place)).unwrap();
    assert!(Placements::load(&place.books).unwrap().is_lost());
    fs::remove_file(set_aside(&place)).unwrap();
    assert!(!Placements::load(&place.books).unwrap().is_lost());
}
