//! [`finish`]: the loop around a session, which may be shared between calls that run at the same time.

use super::Conversation;
use crate::session::{Effect, Outcome, Session, Step, Ticket, ToolResult};

/// Access to a session for one step. While an effect is performed, other calls may use the session.
pub trait SessionAccess {
    /// Uses the session.
    fn with<T>(&mut self, act: impl FnOnce(&mut Session) -> T) -> T;
}

impl SessionAccess for Session {
    fn with<T>(&mut self, act: impl FnOnce(&mut Session) -> T) -> T {
        act(self)
    }
}

impl SessionAccess for Conversation {
    fn with<T>(&mut self, act: impl FnOnce(&mut Session) -> T) -> T {
        act(self.session_mut())
    }
}

/// Continues a call until it is done. If an effect cannot be performed at all, or panics, the call is cancelled.
pub fn finish<E>(
    access: &mut impl SessionAccess,
    mut step: Step,
    mut perform: impl FnMut(&Effect) -> Result<Outcome, E>,
) -> Result<ToolResult, E> {
    loop {
        step = match step {
            Step::Done(result) => return Ok(result),
            Step::Need(ticket, effect) => {
                let mut open = OpenTicket { access, ticket: Some(ticket) };
                let outcome = perform(&effect)?;
                open.ticket = None;
                open.access.with(|session| session.resume(ticket, outcome))
            }
        }
    }
}

/// A ticket that is cancelled if its effect is not performed.
struct OpenTicket<'a, A: SessionAccess> {
    access: &'a mut A,
    ticket: Option<Ticket>,
}

impl<A: SessionAccess> Drop for OpenTicket<'_, A> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            self.access.with(|session| session.cancel(ticket));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::session::{Options, Policy, ToolCall};
    use crate::{Candidate, Catalog, Duplicates, Origin, parse};

    #[test]
    fn a_call_whose_effect_fails_is_cancelled() {
        let document = parse(b"---\nname: a\ndescription: d\n---\n");
        let candidate = Candidate::new(document.skill(&Origin::at("a/SKILL.md")).unwrap());
        let catalog = Catalog::new(vec![Arc::new(candidate)], Duplicates::First).unwrap();
        let mut session = Session::new("s", Arc::new(catalog), Policy::default(), Options::default());
        let step = session.call(ToolCall::new("load_skill", json!({"name": "a"})));
        assert_eq!(session.pending().count(), 1);
        assert_eq!(finish(&mut session, step, |_| Err("the host is closed")), Err("the host is closed"));
        assert_eq!(session.pending().count(), 0);
    }
}
