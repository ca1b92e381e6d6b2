//! What sessions keep is counted, shared and limited.

use super::*;

/// A large text, in bytes.
const LARGE: usize = 20_000;

/// Skills `s0`, `s1`, … with instructions of so many bytes that show their arguments.
fn large(count: usize, bytes: usize) -> Shelf {
    let mut shelf = Shelf::default();
    for number in 0..count {
        shelf.put(&format!("s{number}"), "", &format!("{} $ARGUMENTS", "x".repeat(bytes)));
    }
    shelf
}

fn start(shelf: &Shelf, session: &mut Session, name: &str, arguments: &str) -> ToolResult {
    let step = session.activate(name, Actor::User, Some(Arguments::line(arguments)), None);
    shelf.finish(session, step)
}

#[test]
fn the_arguments_of_active_skills_count_and_a_full_session_says_what_to_do() {
    let shelf = large(14, 10);
    let mut session = shelf.session(Policy::default(), Options::default().with_max_kept_bytes(215_000));
    let arguments = "y".repeat(LARGE);
    let results: Vec<ToolResult> =
        (0..14).map(|number| start(&shelf, &mut session, &format!("s{number}"), &arguments)).collect();
    let codes: Vec<&str> = results.iter().map(code).collect();
    assert_eq!(codes, [vec!["ok"; 7], vec!["memory-full"; 7]].concat());
    assert!(session.kept_bytes() <= session.options().max_kept_bytes);
    let said = results[7].full_text();
    assert!(said.contains("at most 215000"), "{said}");
    assert!(
        said.contains("give it shorter arguments, or first unload one with unload_skill; active are s0,"),
        "{said}"
    );
    assert!(start(&shelf, &mut session, "s8", "short").is_ok(), "small arguments fit");
    assert!(shelf.call(&mut session, "unload_skill", json!({"name": "s0"})).is_ok());
    assert!(start(&shelf, &mut session, "s9", &arguments).is_ok());
}

#[test]
fn pending_calls_count_with_their_arguments() {
    let shelf = large(2, 10);
    let mut session = shelf.session(Policy::default(), Options::default().with_max_kept_bytes(100_000));
    let given = || Some(Arguments::line(&"y".repeat(30_000)));
    // The line, and its one word.
    let Step::Need(ticket, _) = session.activate("s0", Actor::User, given(), None) else {
        panic!("it waits")
    };
    assert!(session.kept_bytes() > 60_000);
    let Step::Done(refused) = session.activate("s1", Actor::User, given(), None) else {
        panic!("it is full")
    };
    assert_eq!(code(&refused), "memory-full");
    assert_eq!(session.state().waiting(), 1);
    session.cancel(ticket);
    assert_eq!(session.kept_bytes(), 0);
    // Many small words take many times their length.
    let words = Some(Arguments::line(&"y ".repeat(4_000)));
    let Step::Done(refused) = session.activate("s1", Actor::User, words, None) else { panic!("it is full") };
    assert!(refused.full_text().contains("give it shorter arguments"), "{refused:?}");
}

#[test]
fn the_files_of_active_skills_can_be_read_in_a_full_session() {
    let mut shelf = large(2, 50_000);
    shelf.skills.get_mut("s0").unwrap().files.insert("x.md".into(), "File of s0.".into());
    let mut session = shelf.session(Policy::default(), Options::default().with_max_kept_bytes(65_000));
    assert!(shelf.load(&mut session, "s0").is_ok());
    assert_eq!(code(&shelf.load(&mut session, "s1")), "memory-full");
    for (tool, arguments) in [
        ("read_skill_resource", json!({"name": "s0", "path": "x.md"})),
        ("search_skills", json!({"query": "about"})),
        ("load_skill", json!({"name": "s0"})),
        ("unload_skill", json!({"name": "s0"})),
        ("load_skill", json!({"name": "s1"})),
    ] {
        assert!(shelf.call(&mut session, tool, arguments).is_ok(), "{tool}");
    }
}

#[test]
fn the_oldest_skills_give_way_for_bytes_if_the_host_wants_that() {
    let shelf = large(4, 30_000);
    let options = Options::default().with_max_kept_bytes(125_000).with_when_full(WhenFull::EvictOldest);
    let mut session = shelf.session(Policy::default(), options);
    let step = session.preload(&["s0"]).remove(0).1;
    assert!(shelf.finish(&mut session, step).is_ok());
    for name in ["s1", "s2"] {
        assert!(shelf.load(&mut session, name).is_ok());
    }
    assert_eq!(shelf.load(&mut session, "s3").data["evicted"], json!(["s1"]));
    assert_eq!(session.active_skills(), ["s0", "s2", "s3"]);
    let options = session.options().clone().with_max_kept_bytes(40_000);
    let mut session = shelf.session(Policy::default(), options);
    let step = session.preload(&["s0"]).remove(0).1;
    assert!(shelf.finish(&mut session, step).is_ok());
    assert_eq!(code(&shelf.load(&mut session, "s1")), "memory-full", "a preloaded skill stays");
}

#[test]
fn sessions_of_a_pool_keep_each_text_once() {
    let shelf = large(7, LARGE);
    let pool = Arc::new(MemoryPool::new(1 << 20));
    let sessions: Vec<Session> = (0..50)
        .map(|_| {
            let mut session = shelf.session(Policy::default(), Options::default());
            session.join(Arc::clone(&pool));
            for number in 0..7 {
                assert!(shelf.load(&mut session, &format!("s{number}")).is_ok());
            }
            session
        })
        .collect();
    let each = sessions[0].kept_bytes();
    assert!(each > 7 * LARGE);
    assert!(pool.kept_bytes() < each + 50 * 7 * 1_000, "{}", pool.kept_bytes());
    let copied = sessions[0].clone();
    assert_eq!(copied.state(), sessions[0].state());
    drop((copied, sessions));
    assert_eq!(pool.kept_bytes(), 0);
}

#[test]
fn a_session_and_its_pool_count_the_same() {
    let shelf = large(3, LARGE);
    let pool = Arc::new(MemoryPool::new(1 << 20));
    let mut session = shelf.session(Policy::default(), Options::default());
    session.join(Arc::clone(&pool));
    for number in 0..3 {
        assert!(start(&shelf, &mut session, &format!("s{number}"), &"y".repeat(100)).is_ok());
        assert_eq!(session.kept_bytes(), pool.kept_bytes());
    }
}

#[test]
fn a_pool_and_each_part_of_it_have_a_limit() {
    let shelf = large(2, 10);
    let whole = Arc::new(MemoryPool::new(11 * LARGE));
    let parts = [(); 3].map(|()| Arc::new(MemoryPool::part_of(&whole, 5 * LARGE)));
    let mut kept = Vec::new();
    let mut codes = Vec::new();
    for part in &parts {
        for number in 0..5 {
            let mut session = shelf.session(Policy::default(), Options::default());
            session.join(Arc::clone(part));
            let arguments = number.to_string().repeat(LARGE + kept.len());
            let result = start(&shelf, &mut session, "s0", &arguments);
            if let Some(hint) = &result.hint {
                assert!(hint.contains("end a session that is no longer used"), "{hint}");
            }
            codes.push(code(&result));
            kept.push(session);
        }
        assert!(part.kept_bytes() <= part.limit());
    }
    let (ok, full) = ("ok", "memory-full");
    let four = [ok, ok, ok, full, full];
    assert_eq!(codes, [four, four, [ok, ok, full, full, full]].concat());
    assert!(whole.kept_bytes() <= whole.limit());
    kept.truncate(5);
    assert_eq!(whole.kept_bytes(), parts[0].kept_bytes(), "the sessions that ended keep nothing");
    assert!(start(&shelf, &mut kept[4], "s1", "short").is_ok());
}

#[test]
fn a_full_pool_is_named_by_whose_limit_it_is() {
    let shelf = large(1, 10);
    let said = |whole: usize, part: usize| {
        let whole = Arc::new(MemoryPool::new(whole));
        let mut session = shelf.session(Policy::default(), Options::default());
        session.join(Arc::new(MemoryPool::part_of(&whole, part)));
        let result = start(&shelf, &mut session, "s0", &"x".repeat(LARGE));
        assert_eq!(code(&result), "memory-full");
        result.text.clone()
    };
    assert!(said(usize::MAX, 7).contains("of all sessions of this token would"), "{}", said(usize::MAX, 7));
    assert!(said(7, usize::MAX).contains("of all sessions would"), "{}", said(7, usize::MAX));
}

#[test]
fn keys_and_tools_of_active_skills_count_in_a_pool() {
    let mut shelf = Shelf::default();
    for number in 0..200 {
        let tools: Vec<String> = (0..100).map(|tool| format!("tool-{tool}")).collect();
        shelf.put(&format!("s{number}"), &format!("allowed-tools: {}", tools.join(" ")), "Short.");
    }
    let pool = Arc::new(MemoryPool::new(500_000));
    let mut session = shelf.session(Policy::default(), Options::default());
    session.join(Arc::clone(&pool));
    let refused =
        (0..200).map(|number| shelf.load(&mut session, &format!("s{number}"))).find(|result| !result.is_ok());
    assert_eq!(refused.as_ref().map(code), Some("memory-full"));
    assert!(pool.kept_bytes() <= 500_000);
    assert!(shelf.call(&mut session, "unload_skill", json!({"name": "s0"})).is_ok());
    assert!(pool.kept_bytes() < 490_000);
}

#[test]
fn a_stored_session_above_the_limit_keeps_its_skills_and_their_texts() {
    let shelf = large(3, 50_000);
    let mut session = shelf.session(Policy::default(), Options::default());
    for name in ["s0", "s1"] {
        assert!(shelf.load(&mut session, name).is_ok());
    }
    let stored = serde_json::to_string(session.state()).unwrap();
    let state = SessionState::from_json(&stored).unwrap();
    let options = Options::default().with_max_kept_bytes(60_000);
    let mut restored = Session::restore(state, shelf.catalog(), Policy::default(), options).unwrap();
    restored.join(Arc::new(MemoryPool::new(10)));
    let count = |text: &str| text.len();
    let budget = ReinjectBudget::default()
        .with_each(crate::render::Budget::Unlimited)
        .with_total(crate::render::Budget::Unlimited);
    assert_eq!(restored.reinject(budget, &count), session.reinject(budget, &count));
    assert_eq!(serde_json::to_string(restored.state()).unwrap(), stored);
    assert_eq!(code(&shelf.load(&mut restored, "s2")), "memory-full");
}
