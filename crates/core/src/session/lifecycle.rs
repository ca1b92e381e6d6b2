//! How active skills end: with another filter, policy or catalog, by a host, or at the end of a turn.

use std::sync::Arc;

use super::event::{Actor, EndReason, EventKind};
use super::kept::active_bytes;
use super::policy::{Act, Policy};
use super::state::Active;
use super::tool_scope::difference;
use super::{Filter, Session};
use crate::catalog::Catalog;

/// How a new catalog changed the active skills.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CatalogChange {
    /// The skills that are no longer active.
    pub deactivated: Vec<String>,
    /// The skills that changed since they were activated; activate them again to get their present text.
    pub changed: Vec<String>,
}

impl Session {
    /// Sets the filter, and returns the skills that it deactivated.
    pub fn set_filter(&mut self, filter: Filter) -> Vec<String> {
        self.state.filter = Some(filter);
        for active in &mut self.state.active {
            active.filter = None;
        }
        self.reconcile()
    }

    /// Sets the policy, and returns the skills that it deactivated.
    pub fn set_policy(&mut self, policy: Policy) -> Vec<String> {
        self.policy = policy;
        self.reconcile()
    }

    /// Sets the catalog.
    pub fn set_catalog(&mut self, catalog: Arc<Catalog>) -> CatalogChange {
        let old = std::mem::replace(&mut self.catalog, catalog);
        let mut newly = Vec::new();
        for active in &mut self.state.active {
            let (before, now) = (old.get(&active.key), self.catalog.get(&active.key));
            if !active.changed && now.is_some() && before != now {
                active.changed = true;
                newly.push(active.key.clone());
            }
        }
        for key in newly {
            self.record(EventKind::Changed { key });
        }
        let deactivated = self.reconcile();
        let changed = self.changed_since().into_iter().map(str::to_owned).collect();
        CatalogChange { deactivated, changed }
    }

    /// Uses the policy, the options and the catalog of another session.
    pub(crate) fn adopt(&mut self, other: &Self) {
        let Self { catalog, policy, options, .. } = other.clone();
        (self.catalog, self.policy, self.options) = (catalog, policy, options);
        self.reconcile();
    }

    /// Deactivates a skill for the host or the user, and returns the tools that no other active skill grants. None when
    /// it is not active.
    pub fn deactivate(&mut self, key: &str) -> Option<Vec<String>> {
        let before = self.active_tools();
        self.state.deactivate(key, EndReason::Asked, self.options.max_events)?;
        self.recount();
        Some(difference(&before, &self.active_tools()))
    }

    /// Ends a turn, and returns the skills whose lifetime is over. Preloaded skills stay.
    pub fn end_turn(&mut self) -> Vec<String> {
        let turn = self.state.turn;
        let over = |used: u64| match self.options.lifetime {
            super::Lifetime::Persistent => None,
            super::Lifetime::Bounded(turns) => (turn - used.min(turn) >= turns).then_some(EndReason::Unused),
            super::Lifetime::Ephemeral => Some(EndReason::TurnOver),
        };
        let ending: Vec<(String, EndReason)> = self
            .state
            .active
            .iter()
            .filter(|active| !active.preloaded)
            .filter_map(|active| Some((active.key.clone(), over(active.used)?)))
            .collect();
        for (key, why) in &ending {
            self.state.deactivate(key, *why, self.options.max_events);
        }
        self.state.turn += 1;
        self.recount();
        ending.into_iter().map(|(key, _)| key).collect()
    }

    /// Deactivates what is gone or hidden, and marks what changed.
    pub(super) fn reconcile(&mut self) -> Vec<String> {
        let mut ending = Vec::new();
        let mut changed = Vec::new();
        for active in &self.state.active {
            // A skill with the same key at another location is another skill.
            let now =
                self.catalog.get(&active.key).filter(|now| now.entry.origin.location == active.location);
            match now {
                None => ending.push((active.key.clone(), EndReason::Vanished)),
                Some(now)
                    if self.needs_approval(now)
                        || self
                            .judge(now, Act::Keep, Actor::Host, self.filter_for(active.filter.as_ref()))
                            .is_err() =>
                {
                    ending.push((active.key.clone(), EndReason::Hidden));
                }
                Some(now) if !active.changed && now.stamp != active.stamp => changed.push(active.key.clone()),
                Some(_) => {}
            }
        }
        for (key, why) in &ending {
            self.state.deactivate(key, *why, self.options.max_events);
        }
        let mut deactivated: Vec<String> = ending.into_iter().map(|(key, _)| key).collect();
        // A stored session may have had a higher limit.
        deactivated.extend(self.evict(0, 0));
        for key in changed {
            if let Some(active) = self.state.active.iter_mut().find(|active| active.key == key) {
                active.changed = true;
            }
            self.record(EventKind::Changed { key });
        }
        self.record_discovered();
        self.recount();
        deactivated
    }

    /// Deactivates the oldest skills until the limits leave room for `coming` more, of so many bytes. Preloaded ones are
    /// the last, and never give way for bytes.
    pub(super) fn evict(&mut self, coming: usize, bytes: usize) -> Vec<String> {
        let most = if self.options.max_active == 0 { usize::MAX } else { self.options.max_active };
        let mut excess = (self.state.active.len() + coming).saturating_sub(most);
        let mut freed = 0;
        let (last, first): (Vec<&Active>, Vec<&Active>) =
            self.state.active.iter().partition(|active| active.preloaded);
        let gives_way = |active: &&Active| {
            let too_many = excess > 0;
            let too_large = bytes > 0 && !active.preloaded && !self.has_room(bytes, freed);
            excess = excess.saturating_sub(1);
            freed += active_bytes(active);
            too_many || too_large
        };
        let giving_way = first.into_iter().chain(last).take_while(gives_way);
        let keys: Vec<String> = giving_way.map(|active| active.key.clone()).collect();
        for key in &keys {
            self.state.deactivate(key, EndReason::Evicted, self.options.max_events);
        }
        keys
    }

    /// Records how many skills are visible, if that changed.
    pub(super) fn record_discovered(&mut self) {
        let visible = self.visible(Actor::Model, self.filter()).len();
        let hidden = self.catalog.all().count().saturating_sub(visible);
        if self.state.discovered != Some((visible, hidden)) {
            self.state.discovered = Some((visible, hidden));
            self.record(EventKind::Discovered { visible, hidden });
        }
    }
}
