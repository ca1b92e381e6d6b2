//! Calls that wait: their tickets, the effects they wait for, and how they go on or end.

use super::effect::{Effect, Outcome, Step, Ticket};
use super::event::{Actor, EventKind};
use super::interface::result::Reason;
use super::state::{Goal, PendingCall, Stage};
use super::{Filter, Session};
use crate::files::page::MARGIN;
use crate::limits::MAX_FILE_BYTES;
use crate::path::RelPath;
use crate::skill::location::Scope;

/// The last offset that is asked for: no file of a skill reaches it, and file systems still take it for an offset.
const MAX_OFFSET: u64 = 1 << 42;

impl Session {
    /// The calls that wait, in the order in which they came to wait, each with its ticket and what it waits for.
    ///
    /// That is all a host needs to go on with a session that it stored in the midst of calls.
    pub fn pending(&self) -> impl Iterator<Item = (Ticket, Effect)> {
        self.state.pending.iter().map(|(number, waiting)| {
            (Ticket { number: *number, check: waiting.check }, self.effect_of(waiting))
        })
    }

    /// Forgets a call that waits; false when none waits for this ticket.
    pub fn cancel(&mut self, ticket: Ticket) -> bool {
        let Some(waiting) = self.take_waiting(ticket) else { return false };
        if let Goal::Load { key, preload: true, .. } = waiting.want {
            self.record(EventKind::NotPreloaded { key, reason: "cancelled".to_owned() });
        }
        true
    }

    /// Goes on with a call after its effect. A ticket is good for one effect.
    pub fn resume(&mut self, ticket: Ticket, outcome: Outcome) -> Step {
        let Some(waiting) = self.take_waiting(ticket) else {
            let error = "no call waits for this ticket".to_owned();
            return self.refuse(Reason::UnknownTicket, error, "call the tool again");
        };
        if let Goal::Search { limit, .. } = waiting.want {
            return self.search_result(&waiting, limit, outcome);
        }
        let preloaded = match &waiting.want {
            Goal::Load { key, preload: true, .. } => Some(key.clone()),
            _ => None,
        };
        let step = self.advance(waiting, outcome);
        if let Some(key) = preloaded {
            self.record_preload(&key, &step);
        }
        step
    }

    fn take_waiting(&mut self, ticket: Ticket) -> Option<PendingCall> {
        self.state.pending.get(&ticket.number).filter(|waiting| waiting.check == ticket.check)?;
        self.state.pending.remove(&ticket.number)
    }

    /// Makes a call wait for an effect.
    pub(super) fn suspend(&mut self, by: Actor, filter: Option<Filter>, want: Goal, stage: Stage) -> Step {
        let number = self.state.next_ticket;
        self.state.next_ticket += 1;
        let about = match &want {
            Goal::ReadFile { path, .. } | Goal::Run { path, .. } => path.as_str(),
            _ => "",
        };
        let key = want.key().unwrap_or_default();
        let check = checksum(&[&self.state.id, key, about], number);
        let location = self.catalog.get(key).map(|candidate| candidate.entry.origin.location.clone());
        let waiting = PendingCall { check, by, filter, want, location: location.unwrap_or_default(), stage };
        let effect = self.effect_of(&waiting);
        self.state.pending.insert(number, waiting);
        Step::Need(Ticket { number, check }, effect)
    }

    /// What a call waits for. It follows from the state, so that it need not be stored beside it.
    fn effect_of(&self, waiting: &PendingCall) -> Effect {
        let (key, location) = (waiting.want.key().unwrap_or_default().to_owned(), waiting.location.clone());
        let read = |path: RelPath, offset: u64, limit: usize, expect_digest: Option<String>| Effect::Read {
            key: key.clone(),
            location: location.clone(),
            path,
            offset: offset.min(MAX_OFFSET),
            limit,
            expect_digest,
        };
        match (&waiting.stage, &waiting.want) {
            (_, Goal::Search { query, limit }) => {
                let visible = self.visible(waiting.by, self.filter_for(waiting.filter.as_ref()));
                let among = visible.iter().map(|candidate| candidate.entry.key.clone()).collect();
                Effect::Search { query: query.clone(), among, limit: *limit }
            }
            (Stage::Approval, _) => {
                // A skill that is gone by now is asked about as if it came from the least trusted place.
                let scope = self.catalog.get(&key).map_or(Scope::Remote, |now| now.entry.origin.scope);
                Effect::Approve { key, location, scope }
            }
            (Stage::Exit { expect_digest }, Goal::Run { path, args, .. }) => Effect::Run {
                key,
                location,
                path: path.clone(),
                args: args.clone(),
                expect_digest: expect_digest.clone(),
            },
            (Stage::Bytes { expect_digest, .. }, Goal::ReadFile { path, offset, limit, .. }) => {
                // A little more, so that a page can begin and end with whole characters.
                read(path.clone(), *offset, limit.saturating_add(MARGIN), expect_digest.clone())
            }
            (Stage::Inline { left, expect_digest, .. }, _) if !left.is_empty() => {
                let path = left.first().cloned().unwrap_or_else(RelPath::skill_file);
                read(
                    path,
                    0,
                    self.options.activation.max_inline_bytes.saturating_add(1),
                    expect_digest.clone(),
                )
            }
            (Stage::Bytes { expect_digest, .. }, _) => {
                read(RelPath::skill_file(), 0, MAX_FILE_BYTES + 1, expect_digest.clone())
            }
            _ => Effect::Files { key, location },
        }
    }
}

/// A number made of some texts and another number: the same everywhere, told apart by any change.
fn checksum(texts: &[&str], number: u64) -> u64 {
    let mut sum = 0xcbf2_9ce4_8422_2325_u64 ^ number;
    for text in texts {
        // 0xFF stands in no text, so that parts cannot flow into each other.
        for byte in text.bytes().chain([0xFF]) {
            sum = (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    sum
}
