//! The tool that searches skills.

use std::collections::BTreeSet;

use serde_json::json;

use crate::catalog::Candidate;
use crate::render::render_catalog;
use crate::select::{Hit, Query};
use crate::session::calls::list::skill_rows;
use crate::session::effect::{Outcome, Step};
use crate::session::event::{Actor, EventKind};
use crate::session::interface::naming::Tool;
use crate::session::interface::result::{Reason, ToolResult};
use crate::session::policy::Act;
use crate::session::state::{Goal, PendingCall, Stage};
use crate::session::{Filter, Session};
use crate::skill::Entry;

impl Session {
    pub(in crate::session) fn search(&mut self, query: String, limit: usize, filter: Option<Filter>) -> Step {
        let own = self.filter_for(filter.as_ref());
        let seen = |candidate: &Candidate| self.judge(candidate, Act::See, Actor::Model, own).is_ok();
        if !self.catalog.iter().any(seen) {
            return Step::Done(nothing_found());
        }
        let want = Goal::Search { query: Query::text(query), limit };
        self.suspend(Actor::Model, filter, want, Stage::Hits)
    }

    pub(in crate::session) fn search_result(
        &mut self,
        waiting: &PendingCall,
        limit: usize,
        outcome: Outcome,
    ) -> Step {
        let hits = match outcome {
            Outcome::Hits { hits } => hits,
            Outcome::Failed { .. } => {
                let hint = match self.offered_name(Tool::List) {
                    Some(list) => format!("see all skills with {list}"),
                    None => "try again later, or continue without a skill".to_owned(),
                };
                return self.refuse(Reason::SearchFailed, "the skills could not be searched", hint);
            }
            _ => return self.wrong_outcome(),
        };
        let catalog = self.shared_catalog();
        let filter = self.filter_for(waiting.filter.as_ref());
        let mut once = BTreeSet::new();
        let seen = |hit: &Hit| {
            let candidate = catalog.get(&hit.key)?;
            self.judge(candidate, Act::See, waiting.by, filter).ok()?;
            once.insert(&candidate.entry.key).then_some((hit.score, &candidate.entry))
        };
        let found: Vec<(f32, &Entry)> = hits.iter().filter_map(seen).take(limit).collect();
        if found.is_empty() {
            return Step::Done(nothing_found());
        }
        let entries: Vec<&Entry> = found.iter().map(|(_, entry)| *entry).collect();
        let mut skills = skill_rows(&entries);
        for (row, (score, _)) in skills.iter_mut().zip(&found) {
            if let Some(row) = row.as_object_mut() {
                row.insert("score".to_owned(), json!(score));
            }
        }
        let text = render_catalog(&entries, &self.options.catalog);
        self.record(EventKind::Found { keys: entries.iter().map(|entry| entry.key.clone()).collect() });
        Step::Done(ToolResult::done(text, json!({"skills": skills})))
    }
}

fn nothing_found() -> ToolResult {
    ToolResult::done("no skill fits; continue without one", json!({"skills": []}))
}
