//! The tool that lists skills.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::catalog::{Candidate, is_below};
use crate::render::render_catalog;
use crate::session::effect::Step;
use crate::session::event::{Actor, EventKind};
use crate::session::interface::arguments;
use crate::session::interface::naming::Tool;
use crate::session::interface::result::ToolResult;
use crate::session::{Filter, Session};
use crate::skill::Entry;
use crate::text::visible;

impl Session {
    pub(in crate::session) fn list(&mut self, folder: &str, offset: u64, filter: Option<&Filter>) -> Step {
        let catalog = self.shared_catalog();
        let filter = self.filter_for(filter).clone();
        let visible = self.visible_in(&catalog, Actor::Model, &filter);
        let inside = |candidate: &&&Candidate| is_below(&candidate.virtual_path, folder);
        let entries: Vec<&Entry> = visible.iter().filter(inside).map(|candidate| &candidate.entry).collect();
        let total = entries.len();
        let first = usize::try_from(offset).unwrap_or(total).min(total);
        let shown: Vec<&Entry> = entries.into_iter().skip(first).take(self.options.max_list.max(1)).collect();
        if shown.is_empty() {
            let folder = arguments::for_message(folder);
            let none = match (total, folder.as_str()) {
                (0, _) if visible.is_empty() => "no skill is available".to_owned(),
                (0, folder) => format!("no skill is in this folder: {folder}"),
                _ => format!("this is past the last skill: offset {offset} of {total}"),
            };
            return Step::Done(ToolResult::done(none, json!({"skills": [], "total": total})));
        }
        let mut text = render_catalog(&shown, &self.options.catalog);
        let mut data = json!({"skills": skill_rows(&shown), "total": total});
        let end = first + shown.len();
        if end < total {
            let _ = write!(text, "\n\n{} more skills; continue with offset {end}", total - end);
            if let Some(search) = self.offered_name(Tool::Search) {
                let _ = write!(text, ", or find one with {search}");
            }
            if let Some(data) = data.as_object_mut() {
                data.insert("next".to_owned(), end.into());
            }
        }
        let keys = shown.iter().map(|entry| entry.key.clone()).collect();
        self.record(EventKind::Offered { keys, omitted: total - end });
        Step::Done(ToolResult::done(text, data))
    }
}

pub(in crate::session) fn skill_rows(entries: &[&Entry]) -> Vec<Value> {
    let row = |entry: &&Entry| json!({"name": entry.key, "description": visible(&entry.description)});
    entries.iter().map(row).collect()
}
