//! Pending calls: their tickets, the effects they wait for, and how they continue or end.

use super::effect::{Effect, Outcome, Step, Ticket};
use super::event::{Actor, EventKind};
use super::interface::result::Reason;
use super::state::{Goal, PendingCall, Stage};
use super::{Filter, Session};
use crate::digest::Digest;
use crate::files::page::MARGIN;
use crate::limits::MAX_FILE_BYTES;
use crate::path::RelPath;
use crate::skill::location::Scope;

/// The largest offset in an effect: larger than any file of a skill, and valid in every file system.
const MAX_OFFSET: u64 = 1 << 42;

impl Session {
    /// The pending calls, oldest first, each with its ticket and the effect it waits for.
    ///
    /// A host that restores a session performs these effects to continue its calls.
    pub fn pending(&self) -> impl Iterator<Item = (Ticket, Effect)> {
        self.state.pending.iter().map(|(number, waiting)| {
            (Ticket { number: *number, check: waiting.check }, self.effect_of(waiting))
        })
    }

    /// Cancels a pending call; false when none has this ticket.
    pub fn cancel(&mut self, ticket: Ticket) -> bool {
        let Some(waiting) = self.take_waiting(ticket) else { return false };
        if let Goal::Load { key, preload: true, .. } = waiting.want {
            self.record(EventKind::NotPreloaded { key, reason: "cancelled".to_owned() });
        }
        true
    }

    /// Continues a call after its effect. A ticket is valid once.
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
        let waiting = self.state.pending.remove(&ticket.number);
        self.recount();
        waiting
    }

    /// Suspends a call until its effect is performed. A call that would keep too much is refused.
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
        if let Err(refusal) = self.admit_call(&waiting) {
            return self.refused(*refusal);
        }
        let effect = self.effect_of(&waiting);
        self.state.pending.insert(number, waiting);
        self.recount();
        Step::Need(Ticket { number, check }, effect)
    }

    /// The effect that a call waits for. It follows from the state, so it is not stored.
    fn effect_of(&self, waiting: &PendingCall) -> Effect {
        let (key, location) = (waiting.want.key().unwrap_or_default().to_owned(), waiting.location.clone());
        let read = |path: RelPath, offset: u64, limit: usize, expect_digest: Option<Digest>| Effect::Read {
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
                // A skill that is gone by now has the least trusted scope.
                let scope = self.catalog.get(&key).map_or(Scope::Remote, |now| now.entry.origin.scope);
                Effect::Approve { key, location, scope }
            }
            (Stage::Exit { expect_digest }, Goal::Run { path, args, .. }) => Effect::Run {
                key,
                location,
                path: path.clone(),
                args: args.clone(),
                expect_digest: *expect_digest,
            },
            (Stage::Bytes { expect_digest, .. }, Goal::ReadFile { path, offset, limit, .. }) => {
                // A few bytes more, so that a page can begin and end with whole characters.
                read(path.clone(), *offset, limit.saturating_add(MARGIN), *expect_digest)
            }
            (Stage::Inline { left, expect_digest, .. }, _) if !left.is_empty() => {
                let path = left.first().cloned().unwrap_or_else(RelPath::skill_file);
                read(path, 0, self.options.activation.max_inline_bytes.saturating_add(1), *expect_digest)
            }
            (Stage::Bytes { expect_digest, .. }, _) => {
                read(RelPath::skill_file(), 0, MAX_FILE_BYTES + 1, *expect_digest)
            }
            _ => Effect::Files { key, location },
        }
    }
}

/// A checksum of some texts and a number, the same on every machine.
fn checksum(texts: &[&str], number: u64) -> u64 {
    let mut sum = 0xcbf2_9ce4_8422_2325_u64 ^ number;
    for text in texts {
        // 0xFF is not part of any UTF-8 text, so it separates the parts.
        for byte in text.bytes().chain([0xFF]) {
            sum = (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    sum
}
