//! Limits, policy, tools, the stored state and the log stay consistent after any sequence of calls.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::test_runner::Config;

use super::*;
use crate::catalog::Obstacle;
use crate::session::kept::active_bytes;

/// What each skill asks for; by its first letter it is ordinary, for users only, denied or not trusted.
const SKILLS: [(&str, &str); 8] = [
    ("o1", "Read Bash(git:*)"),
    ("o2", "Read Write"),
    ("o3", ""),
    ("o4", "mcp__hub Grep"),
    ("u1", "Write"),
    ("d1", "Bash"),
    ("t1", "Bash"),
    ("o5", "Bash(oops"),
];
const HOST: [&str; 3] = ["Read", "bash", "mcp__hub__list"];
const FILTERS: [&str; 5] = ["", "none", "shelf/o*", "shelf/o1", "**/u1"];

#[derive(Clone, Debug)]
enum Op {
    /// A tool call; what it waits for is answered later.
    Call {
        tool: usize,
        skill: usize,
        filter: Option<usize>,
    },
    /// The host answers one of the waiting effects, rightly or not.
    Answer {
        which: usize,
        how: u8,
    },
    User {
        skill: usize,
    },
    Preload {
        skill: usize,
    },
    SetFilter {
        filter: usize,
    },
    EndTurn,
    Deactivate {
        skill: usize,
    },
    /// Another policy: untrusted skills are asked about, every skill needs approval, one more skill is denied.
    SetPolicy {
        ask: bool,
        approve: bool,
        deny: bool,
    },
    /// A call is given up.
    Cancel {
        which: usize,
    },
    /// A catalog without the skills whose bits are set, with others rewritten.
    Swap {
        gone: u8,
        edited: u8,
    },
}

fn op() -> impl Strategy<Value = Op> {
    let skill = 0..SKILLS.len();
    prop_oneof![
        6 => (0..5usize, skill.clone(), proptest::option::weighted(0.1, 0..FILTERS.len()))
            .prop_map(|(tool, skill, filter)| Op::Call { tool, skill, filter }),
        12 => (0..4usize, 0..20u8).prop_map(|(which, how)| Op::Answer { which, how }),
        2 => skill.clone().prop_map(|skill| Op::User { skill }),
        1 => skill.clone().prop_map(|skill| Op::Preload { skill }),
        1 => (0..FILTERS.len()).prop_map(|filter| Op::SetFilter { filter }),
        1 => Just(Op::EndTurn),
        1 => skill.prop_map(|skill| Op::Deactivate { skill }),
        1 => (any::<bool>(), any::<bool>(), any::<bool>())
            .prop_map(|(ask, approve, deny)| Op::SetPolicy { ask, approve, deny }),
        1 => (0..4usize).prop_map(|which| Op::Cancel { which }),
        1 => (any::<u8>(), any::<u8>()).prop_map(|(gone, edited)| Op::Swap { gone: gone & edited, edited }),
    ]
}

fn shelf(gone: u8, edited: u8) -> Shelf {
    let mut shelf = Shelf::default();
    for (at, (name, tools)) in SKILLS.iter().enumerate() {
        if gone >> at & 1 == 1 {
            continue;
        }
        let user = if name.starts_with('u') { "\ndisable-model-invocation: true" } else { "" };
        let tools = if tools.is_empty() { String::new() } else { format!("\nallowed-tools: \"{tools}\"") };
        let edit = if edited >> at & 1 == 1 { "Edited." } else { "As it was." };
        let held = shelf.put(name, &format!("license: MIT{tools}{user}"), &format!("Mark of {name}. {edit}"));
        held.files.insert("x.md".into(), format!("File of {name}."));
        held.digest = [edited >> at & 1; 32].into();
        if name.starts_with('t') {
            held.change = |candidate| candidate.obstacle = Some(Obstacle::Untrusted);
        }
    }
    shelf
}

fn policy(ask: bool, approve: bool, deny: bool) -> Policy {
    let rule = OriginRule { approve, ..OriginRule::usual(Scope::Explicit) };
    Policy {
        deny: ["d1"].into_iter().chain(deny.then_some("o2")).collect(),
        untrusted: if ask { Untrusted::Ask } else { Untrusted::Hide },
        origins: [(Scope::Explicit, rule)].into(),
        host_tools: HostTools::only(HOST),
        ..Policy::default()
    }
}

/// A session, the effects it waits for, and its host.
struct Run {
    session: Session,
    open: Vec<(Ticket, Effect)>,
    /// The keys under a filter of their own call, which the session's filter need not let through.
    excused: BTreeSet<String>,
    shelf: Shelf,
    pool: Arc<MemoryPool>,
}

impl Run {
    fn took(&mut self, step: Step) -> Option<ToolResult> {
        match step {
            Step::Done(result) => Some(result),
            Step::Need(ticket, effect) => {
                self.open.push((ticket, effect));
                None
            }
        }
    }

    /// Does one thing and tells all that a model could see of it.
    fn act(&mut self, op: &Op) -> Vec<ToolResult> {
        let name = |at: &usize| SKILLS[*at].0;
        match op {
            Op::Call { tool, skill, filter } => {
                let tool =
                    ["load_skill", "unload_skill", "read_skill_resource", "list_skills", "search_skills"]
                        [*tool];
                let arguments = match tool {
                    "list_skills" => json!({}),
                    "search_skills" => json!({"query": "mark"}),
                    "read_skill_resource" => json!({"name": name(skill), "path": "x.md"}),
                    _ => json!({"name": name(skill)}),
                };
                let filter = filter.map(|at| FILTERS[at].parse().unwrap());
                if filter.is_some() {
                    self.excused.insert(name(skill).to_owned());
                }
                let step = self.session.call(ToolCall { filter, ..ToolCall::new(tool, arguments) });
                self.took(step).into_iter().collect()
            }
            Op::Answer { which, how } => {
                if self.open.is_empty() {
                    return Vec::new();
                }
                let (ticket, effect) = self.open.remove(which % self.open.len());
                let outcome = match how {
                    0 => Outcome::Failed { why: Failure::Failed },
                    1 => Outcome::Declined,
                    2 => Outcome::Read { bytes: b"\xff---".to_vec(), size: 9, digest: None },
                    _ => self.shelf.perform(&effect),
                };
                let step = self.session.resume(ticket, outcome);
                let again = self.session.resume(ticket, Outcome::Declined);
                assert!(matches!(again, Step::Done(ToolResult { reason: Some(Reason::UnknownTicket), .. })));
                self.took(step).into_iter().collect()
            }
            Op::User { skill } => {
                let steps = self.session.invoke(&format!("/{} now", name(skill)));
                steps.into_iter().filter_map(|step| self.took(step)).filter(ToolResult::is_ok).collect()
            }
            Op::Preload { skill } => {
                let steps = self.session.preload(&[name(skill)]);
                steps.into_iter().filter_map(|(_, step)| self.took(step)).filter(ToolResult::is_ok).collect()
            }
            Op::SetFilter { filter } => {
                self.session.set_filter(FILTERS[*filter].parse().unwrap());
                self.excused.clear();
                // Calls that wait may still be excused by a filter of their own.
                self.excused.extend(
                    SKILLS.map(|(name, _)| name.to_owned()).into_iter().filter(|_| !self.open.is_empty()),
                );
                Vec::new()
            }
            Op::EndTurn => {
                self.session.end_turn();
                Vec::new()
            }
            Op::Deactivate { skill } => {
                self.session.deactivate(name(skill));
                Vec::new()
            }
            Op::SetPolicy { ask, approve, deny } => {
                self.session.set_policy(policy(*ask, *approve, *deny));
                Vec::new()
            }
            Op::Cancel { which } => {
                if !self.open.is_empty() {
                    let (ticket, _) = self.open.remove(which % self.open.len());
                    assert!(self.session.cancel(ticket) && !self.session.cancel(ticket));
                }
                Vec::new()
            }
            Op::Swap { gone, edited } => {
                self.shelf = shelf(*gone, *edited);
                self.session.set_catalog(self.shelf.catalog());
                Vec::new()
            }
        }
    }

    /// Whether the model may have what a skill says.
    fn open_to_all(&self, name: &str) -> bool {
        let (session, all) = (&self.session, Filter::all());
        session.catalog().get(name).is_some_and(|candidate| {
            session.judge(candidate, Act::Keep, Actor::Host, &all).is_ok()
                && !session.needs_approval(candidate)
        })
    }

    /// Stores the session, forgets it, and takes it up again: the calls that wait are in what was stored.
    fn restore(&mut self) {
        let text = serde_json::to_string(self.session.state()).unwrap();
        let (policy, options) = (self.session.policy().clone(), self.session.options().clone());
        let state = SessionState::from_json(&text).unwrap();
        self.session = Session::restore(state, self.session.shared_catalog(), policy, options).unwrap();
        self.session.join(Arc::clone(&self.pool));
        let tickets = |open: &[(Ticket, Effect)]| open.iter().map(|(ticket, _)| *ticket).collect::<Vec<_>>();
        let pending: Vec<(Ticket, Effect)> = self.session.pending().collect();
        assert_eq!(tickets(&pending), tickets(&self.open));
    }

    fn check(&self) {
        let session = &self.session;
        let active = session.active_skills();
        let most = session.options().max_active;
        assert!(most == 0 || active.len() <= most, "{active:?}");
        for key in &active {
            assert!(self.open_to_all(key), "the policy never lets this be active: {key}");
            assert!(self.shelf.skills.contains_key(*key), "this is gone: {key}");
            let path = format!("shelf/{key}");
            assert!(session.filter().passes(&path) || self.excused.contains(*key), "{key}");
        }
        let granted: BTreeSet<String> = active
            .iter()
            .flat_map(|key| SKILLS.iter().find(|(name, _)| name == key).unwrap().1.split(' '))
            .filter(|grant| ["Read", "Bash", "Bash(git:*)", "mcp__hub"].contains(grant))
            .map(|grant| grant.replace("Bash", "bash"))
            .collect();
        assert_eq!(session.active_tools(), granted.into_iter().collect::<Vec<_>>());
        let state = session.state();
        let order: Vec<&str> = state.active().iter().map(|active| active.key.as_str()).collect();
        assert_eq!(replay(state.active_before(), state.log()), order);
        assert_eq!(state.waiting(), self.open.len());
        let pending = session.kept_bytes() - state.active().iter().map(active_bytes).sum::<usize>();
        assert!(session.kept_bytes() - pending <= session.options().max_kept_bytes, "{active:?}");
        assert_eq!(self.pool.kept_bytes(), session.kept_bytes(), "the pool counts what its session keeps");
    }
}

proptest! {
    #![proptest_config(Config { cases: crate::text::testing::many().cases.min(2_000), ..crate::text::testing::many() })]

    #[test]
    fn whatever_happens_a_session_keeps_its_word(
        ops in proptest::collection::vec(op(), 1..60),
        max_active in 0..4usize,
        evict in any::<bool>(),
        lifetime in 0..3u8,
        receipts in any::<bool>(),
        max_kept_bytes in prop_oneof![Just(3_000usize), Just(1 << 20)],
        max_events in prop_oneof![Just(4usize), Just(1_000)],
    ) {
        let options = Options {
            max_active,
            when_full: if evict { WhenFull::EvictOldest } else { WhenFull::Refuse },
            lifetime: [Lifetime::Persistent, Lifetime::Bounded(2), Lifetime::Ephemeral][usize::from(lifetime)],
            repeat: if receipts { Repeat::Receipt } else { Repeat::Full },
            max_kept_bytes,
            max_events,
            ..Options::default()
        };
        let begin = || {
            let shelf = shelf(0, 0);
            let mut session = shelf.session(policy(false, false, false), options.clone());
            let pool = Arc::new(MemoryPool::new(1 << 20));
            session.join(Arc::clone(&pool));
            Run { session, open: Vec::new(), excused: BTreeSet::new(), shelf, pool }
        };
        let (mut run, mut stored) = (begin(), begin());
        for op in &ops {
            stored.restore();
            let (seen, again) = (run.act(op), stored.act(op));
            prop_assert_eq!(&seen, &again);
            let states = [&run, &stored].map(|run| serde_json::to_string(run.session.state()).unwrap());
            prop_assert_eq!(&states[0], &states[1]);
            run.check();
            for result in &seen {
                let said = serde_json::to_string(result).unwrap();
                for (name, _) in SKILLS {
                    for mark in [format!("Mark of {name}"), format!("File of {name}")] {
                        prop_assert!(!said.contains(&mark) || run.open_to_all(name), "{}", said);
                    }
                    let asked = run.session.policy().untrusted == Untrusted::Ask && name.starts_with('t');
                    let seen = said.contains(&format!("About {name}"));
                    prop_assert!(!seen || asked || !name.starts_with(['d', 't']) || run.open_to_all(name));
                }
            }
        }
    }
}
