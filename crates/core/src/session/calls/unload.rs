//! The tool that deactivates a skill.

use serde_json::json;

use crate::session::Session;
use crate::session::calls::join_names;
use crate::session::calls::resolve::ambiguous;
use crate::session::effect::Step;
use crate::session::interface::arguments::for_message;
use crate::session::interface::result::{Reason, ToolResult};
use crate::session::interface::shown::ShownName;

impl Session {
    pub(in crate::session) fn unload(&mut self, wanted: &str) -> Step {
        let shown = ShownName::read(wanted);
        let named = |key: &&str| {
            let name = key.rsplit_once(':').map(|(_, name)| name);
            name == Some(wanted)
                || shown
                    .as_ref()
                    .is_some_and(|shown| shown.is(key) || name.is_some_and(|name| shown.is(name)))
        };
        let keys: Vec<&str> = match self.state.find(wanted) {
            Some(exact) => vec![exact.key.as_str()],
            None => self.active_skills().into_iter().filter(named).collect(),
        };
        if keys.len() > 1 {
            let refusal = ambiguous(wanted, keys.into_iter());
            return self.refused(refusal);
        }
        let Some(key) = keys.first().map(|key| (*key).to_owned()) else {
            let active = self.active_skills();
            let hint = if active.is_empty() {
                "no skill is active".to_owned()
            } else {
                format!("active are {}", join_names(active.into_iter()))
            };
            return self.refuse(
                Reason::NotActive,
                format!("this skill is not active: {}", for_message(wanted)),
                hint,
            );
        };
        let removed = self.deactivate(&key).unwrap_or_default();
        let text = format!(
            "this skill is no longer active: {}; do not follow its instructions any more",
            for_message(&key)
        );
        let data = json!({"skill": key, "removed_tools": removed, "active_tools": self.active_tools()});
        Step::Done(ToolResult::done(text, data))
    }
}
