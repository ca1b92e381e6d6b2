//! [`Conversation`]: a session that follows the catalogs of its library. [`finish`] is the loop around a session.
//!
//! Neither has input or output: a host decides when there is a new catalog, and performs the effects.
//!
//! ```
//! use std::convert::Infallible;
//! use std::sync::Arc;
//!
//! use prowess_core::conversation::{Conversation, finish};
//! use prowess_core::session::{Effect, Options, Outcome, Policy, Session, ToolCall};
//! use prowess_core::{Candidate, Catalog, Duplicates, Manifest, Origin, parse};
//! use serde_json::json;
//!
//! let file = b"---\nname: tidy-up\ndescription: Tidies up.\n---\nPut things where they belong.\n";
//! let entry = parse(file).skill(&Origin::at("skills/tidy-up/SKILL.md")).unwrap();
//! let catalog = Catalog::new(vec![Arc::new(Candidate::new(entry))], Duplicates::First)?;
//! let session = Session::new("chat-1", Arc::new(catalog), Policy::default(), Options::default());
//! let mut conversation = Conversation::new(session);
//!
//! let step = conversation.session_mut().call(ToolCall::new("load_skill", json!({"name": "tidy-up"})));
//! let Ok(result) = finish(&mut conversation, step, |effect| {
//!     Ok::<_, Infallible>(match effect {
//!         Effect::Read { .. } => {
//!             Outcome::Read { bytes: file.to_vec(), size: file.len() as u64, digest: None }
//!         }
//!         _ => Outcome::Files { files: Manifest::default() },
//!     })
//! });
//! assert!(result.text.contains("Put things where they belong."));
//!
//! conversation.follow(&Arc::default());
//! assert_eq!(conversation.changes().deactivated, ["tidy-up"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod finish;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use finish::{SessionAccess, finish};

use crate::catalog::Catalog;
use crate::session::{CatalogChange, Options, Policy, RestoreError, Session, SessionState};

/// A session, and what new catalogs changed of its active skills since the host last asked.
#[derive(Clone, Debug)]
pub struct Conversation {
    session: Session,
    changes: CatalogChange,
}

impl Conversation {
    /// A conversation over a session.
    pub fn new(session: Session) -> Self {
        Self { session, changes: CatalogChange::default() }
    }

    /// Restores a stored session, as [`Session::restore`] does. What changed while it was stored is among the
    /// [`changes`](Self::changes).
    pub fn restore(
        state: SessionState,
        catalog: Arc<Catalog>,
        policy: Policy,
        options: Options,
    ) -> Result<Self, RestoreError> {
        let before = marks(&state);
        let mut restored = Self::new(Session::restore(state, catalog, policy, options)?);
        restored.note_since(before);
        Ok(restored)
    }

    /// Uses the catalog of the last refresh.
    pub fn follow(&mut self, now: &Arc<Catalog>) {
        let before = self.session.shared_catalog();
        if Arc::ptr_eq(now, &before) {
            return;
        }
        let CatalogChange { deactivated, mut changed } = self.session.set_catalog(Arc::clone(now));
        // The session also lists skills that an earlier refresh changed.
        changed.retain(|key| before.get(key) != now.get(key));
        self.note(deactivated, changed);
    }

    /// Uses the catalog of another session and, after a reload, its policy and its options.
    pub fn follow_session(&mut self, other: &Session) {
        let own = &self.session;
        if own.policy() == other.policy() && own.options() == other.options() {
            return self.follow(&other.shared_catalog());
        }
        let before = marks(own.state());
        self.session.adopt(other);
        self.note_since(before);
    }

    /// The changes of the active skills since this was last called: skills that are gone, and skills whose SKILL.md
    /// changed. Each change is returned once.
    pub fn changes(&mut self) -> CatalogChange {
        std::mem::take(&mut self.changes)
    }

    /// The session.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The session, for its calls and for what a host changes between them.
    pub fn session_mut(&mut self) -> &mut Session {
        &mut self.session
    }

    fn note_since(&mut self, before: BTreeMap<String, bool>) {
        let (mut deactivated, mut changed) = (Vec::new(), Vec::new());
        for (key, had_changed) in before {
            match self.session.state().active().iter().find(|active| active.key == key) {
                None => deactivated.push(key),
                Some(now) if now.changed && !had_changed => changed.push(key),
                Some(_) => {}
            }
        }
        self.note(deactivated, changed);
    }

    fn note(&mut self, deactivated: Vec<String>, changed: Vec<String>) {
        let known = &mut self.changes;
        known.changed.retain(|key| !deactivated.contains(key));
        for (known, new) in [(&mut known.deactivated, deactivated), (&mut known.changed, changed)] {
            let new: Vec<String> = new.into_iter().filter(|key| !known.contains(key)).collect();
            known.extend(new);
        }
    }
}

/// The active skills, and whether each has changed since it was activated.
fn marks(state: &SessionState) -> BTreeMap<String, bool> {
    state.active().iter().map(|active| (active.key.clone(), active.changed)).collect()
}
