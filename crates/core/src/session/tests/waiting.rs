//! Pending calls: distinguished from those of other sessions, restored from a stored state, cancelled.

use super::*;

fn need(session: &mut Session, tool: &str, arguments: Value) -> (Ticket, Effect) {
    match session.call(ToolCall::new(tool, arguments)) {
        Step::Need(ticket, effect) => (ticket, effect),
        Step::Done(result) => panic!("{result:?}"),
    }
}

#[test]
fn the_same_call_in_two_sessions_has_two_tickets() {
    let shelf = Shelf::with(&[("a", "")]);
    let session = |id: &str| Session::new(id, shelf.catalog(), Policy::default(), Options::default());
    let (mut one, mut two) = (session("one"), session("two"));
    let (ticket, effect) = need(&mut one, "load_skill", json!({"name": "a"}));
    let (foreign, _) = need(&mut two, "load_skill", json!({"name": "a"}));
    assert_ne!(ticket, foreign);
    let step = one.resume(foreign, shelf.perform(&effect));
    assert_eq!(code(&shelf.finish(&mut one, step)), "unknown-ticket");
    assert!(!one.cancel(foreign));
    let step = one.resume(ticket, shelf.perform(&effect));
    assert!(shelf.finish(&mut one, step).is_ok(), "a foreign ticket does no harm to the call itself");
}

#[test]
fn a_stored_session_says_what_its_calls_wait_for() {
    let mut shelf = Shelf::with(&[("a", ""), ("b", "")]);
    shelf.skills.get_mut("a").unwrap().files.insert("x.md".into(), "File of a.".into());
    let mut session = shelf.session(Policy::default(), Options::default());
    let waiting = vec![
        need(&mut session, "load_skill", json!({"name": "a"})),
        need(&mut session, "read_skill_resource", json!({"name": "a", "path": "x.md", "offset": 2})),
        need(&mut session, "search_skills", json!({"query": "about"})),
        need(&mut session, "load_skill", json!({"name": "b"})),
    ];
    let stored = serde_json::to_string(session.state()).unwrap();
    drop(session);
    let state = SessionState::from_json(&stored).unwrap();
    let mut again = Session::restore(state, shelf.catalog(), Policy::default(), Options::default()).unwrap();
    let pending: Vec<(Ticket, Effect)> = again.pending().collect();
    assert_eq!(pending, waiting);
    let (given_up, _) = pending[3];
    assert!(again.cancel(given_up) && !again.cancel(given_up));
    for (ticket, effect) in &pending[..3] {
        let step = again.resume(*ticket, shelf.perform(effect));
        assert!(shelf.finish(&mut again, step).is_ok());
    }
    assert_eq!((again.active_skills(), again.pending().count()), (vec!["a"], 0));
}

#[test]
fn a_skill_that_moved_while_a_call_waited_is_another_skill() {
    let mut shelf = Shelf::with(&[("a", "")]);
    let mut session = shelf.session(Policy::default(), Options::default());
    let (ticket, effect) = need(&mut session, "load_skill", json!({"name": "a"}));
    let outcome = shelf.perform(&effect);
    shelf.skills.get_mut("a").unwrap().change = |c| c.entry.origin.location = "/elsewhere/a/SKILL.md".into();
    session.set_catalog(shelf.catalog());
    let step = session.resume(ticket, outcome);
    assert_eq!(code(&shelf.finish(&mut session, step)), "unknown-skill");
}

#[test]
#[cfg(unix)]
fn an_effect_for_a_name_of_this_system_reads_back_from_json() {
    let shelf = Shelf::with(&[("a", "")]);
    let mut session = shelf.session(Policy::default(), Options::default());
    let (_, effect) = need(&mut session, "read_skill_resource", json!({"name": "a", "path": "a:b.md"}));
    let stored = serde_json::to_string(&effect).unwrap();
    assert_eq!(serde_json::from_str::<Effect>(&stored).unwrap(), effect);
}
