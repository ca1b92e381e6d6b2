//! The approvals of the user in a transaction, also in one that was killed.

use super::recovery::completed;
use super::*;
use crate::install::apply::steps::swap;

/// A process that is killed before it removes its journal: the skill `b` is installed, and its acceptance is recorded or not.
fn killed_with_an_acceptance(place: &Place, recorded: bool) -> Approvals {
    let mut next = Transaction::begin(&place.books, 2);
    next.put(&place.skills, "b", &tree("b"), None).unwrap();
    let digest = Some(tree("b").digest());
    let skill_file = place.skills.join("b/SKILL.md");
    next.accept(Accepted { name: "b".to_owned(), key: None, skill_file, digest });
    next.prepare(holds_modes).unwrap();
    next.journal.save(&place.books.journal).unwrap();
    let journal = std::mem::take(&mut next.journal);
    for step in &journal.steps {
        let (dir, stage) = &next.folders[&step.folder];
        swap(step, dir, stage).unwrap();
    }
    if recorded {
        record(&journal, &place.books, |_| true).unwrap();
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
            completed(&place);
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
    completed(&place);
    assert!(place.skills.join("b/SKILL.md").exists());
    assert!(Approvals::load(&place.books.approvals).unwrap().skills.is_empty());
}

#[test]
fn the_end_of_a_skill_ends_the_approvals_of_all_that_is_in_its_folder() {
    let place = place();
    let accept = |next: &mut Transaction<'_>, file: &str, digest: Option<Digest>| {
        let skill_file = place.skills.join(file);
        next.accept(Accepted { name: "x".to_owned(), key: None, skill_file, digest });
    };
    let mut next = Transaction::begin(&place.books, 0);
    for file in ["a/SKILL.md", "a/in/skill.md", "a-2/SKILL.md"] {
        accept(&mut next, file, Some([0; 32].into()));
    }
    next.commit().unwrap();
    let mut next = Transaction::begin(&place.books, 0);
    accept(&mut next, "a/SKILL.md", None);
    next.commit().unwrap();
    let left = Approvals::load(&place.books.approvals).unwrap().skills;
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(left[0].location.text().ends_with("a-2/SKILL.md"));
}
