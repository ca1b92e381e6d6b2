//! Whether a skill needs approval is checked again whenever a call continues, and for every skill that stays active.

use super::*;

/// A policy under which every skill of the shelf must be approved.
fn asking() -> Policy {
    let rule = OriginRule { approve: true, ..OriginRule::usual(Scope::Explicit) };
    Policy { origins: [(Scope::Explicit, rule)].into(), ..Policy::default() }
}

fn shelf() -> Shelf {
    let mut shelf = Shelf::with(&[("a", "")]);
    shelf.skills.get_mut("a").unwrap().files.insert("x.md".into(), "File of a.".into());
    shelf
}

#[test]
fn a_skill_that_needs_approval_by_now_is_asked_about_before_it_is_given() {
    let shelf = shelf();
    for (tool, arguments) in [
        ("load_skill", json!({"name": "a"})),
        ("read_skill_resource", json!({"name": "a"})),
        ("read_skill_resource", json!({"name": "a", "path": "x.md"})),
    ] {
        // At each effect that the call waits for.
        for after in 0..2 {
            let mut session = shelf.session(Policy::default(), Options::default());
            let mut step = session.call(ToolCall::new(tool, arguments.clone()));
            for _ in 0..after {
                let Step::Need(ticket, effect) = step else { break };
                step = session.resume(ticket, shelf.perform(&effect));
            }
            let Step::Need(ticket, effect) = step else { continue };
            session.set_policy(asking());
            let step = session.resume(ticket, shelf.perform(&effect));
            let Step::Need(ticket, Effect::Approve { .. }) = step else { panic!("{tool}: {step:?}") };
            let mut declined = session.clone();
            let step = declined.resume(ticket, Outcome::Declined);
            assert_eq!(code(&shelf.finish(&mut declined, step)), "not-approved");
            assert!(declined.active_skills().is_empty());
            let step = session.resume(ticket, Outcome::Approved { digest: [1; 32].into() });
            assert!(shelf.finish(&mut session, step).is_ok(), "{tool}");
        }
    }
}

#[test]
fn what_was_read_before_an_approval_is_read_again_and_held_to_it() {
    let shelf = shelf();
    let mut session = shelf.session(Policy::default(), Options { hint_files: false, ..Options::default() });
    let Step::Need(early, effect) = session.call(ToolCall::new("load_skill", json!({"name": "a"}))) else {
        panic!()
    };
    session.set_policy(asking());
    assert!(shelf.load(&mut session, "a").is_ok());
    let step = session.resume(early, shelf.perform(&effect));
    assert!(matches!(&step, Step::Need(_, Effect::Read { expect_digest: Some(_), .. })), "{step:?}");
    assert!(shelf.finish(&mut session, step).is_ok());
}

#[test]
fn a_skill_that_needs_approval_by_now_does_not_stay_active() {
    let mut shelf = shelf();
    let mut session = shelf.session(Policy::default(), Options::default());
    shelf.load(&mut session, "a");
    assert_eq!(session.set_policy(asking()), ["a"]);
    // Once approved it stays, until it is found to be another.
    assert!(shelf.load(&mut session, "a").is_ok());
    assert_eq!(session.set_policy(asking()), [""; 0]);
    shelf.skills.get_mut("a").unwrap().digest = [2; 32].into();
    let read = shelf.call(&mut session, "read_skill_resource", json!({"name": "a", "path": "x.md"}));
    assert_eq!((code(&read), session.active_skills().len()), ("changed", 0));
}
