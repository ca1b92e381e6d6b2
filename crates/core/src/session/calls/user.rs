//! Skills that a user starts by name, with `/name arguments` or `$name`, and skills that a host preloads.

use crate::catalog::{Named, Obstacle, Standing, WhyNot};
use crate::session::calls::substitute::Arguments;
use crate::session::effect::Step;
use crate::session::event::{Actor, EventKind};
use crate::session::interface::arguments::for_message;
use crate::session::interface::result::{Reason, ToolResult};
use crate::session::policy::Hidden;
use crate::session::{Act, Filter, Session};

impl Session {
    /// Activates the skills that a message of a user names.
    ///
    /// A message that begins with `/name` starts that skill, with the rest of the message as arguments. In any other
    /// message, each `$name` after a space or at the start activates a skill without arguments. Names of no skill are
    /// text.
    pub fn invoke(&mut self, message: &str) -> Vec<Step> {
        let message = message.trim();
        if let Some(command) = message.strip_prefix('/') {
            let (name, arguments) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
            return self.start_for_user(name, Some(arguments.trim())).into_iter().collect();
        }
        let mut names: Vec<String> = Vec::new();
        for (at, _) in message.match_indices('$') {
            let before = message.get(..at).and_then(|before| before.chars().next_back());
            let rest = message.get(at + 1..).unwrap_or_default();
            let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ':');
            let name = rest.split(|c| !plain(c)).next().unwrap_or_default().trim_end_matches(':');
            if before.is_none_or(char::is_whitespace) && !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
        names.iter().filter_map(|name| self.start_for_user(name, None)).collect()
    }

    /// Activates a skill for a user; none when the name is not that of a skill.
    fn start_for_user(&mut self, name: &str, arguments: Option<&str>) -> Option<Step> {
        let key = match self.resolve(name, Act::Activate, Actor::User, None) {
            Ok(candidate) => candidate.entry.key.clone(),
            // A skill that exists and that the user may not start is refused with the reason; other names are text.
            Err(_) => {
                let hidden = self.why_hidden(name, Act::Activate, Actor::User)?;
                let told = matches!(hidden, Hidden::NotForUser | Hidden::Untrusted);
                return told.then(|| self.load(name, Actor::User, None, None, false));
            }
        };
        let arguments = Arguments::line(arguments.unwrap_or_default());
        Some(self.load(&key, Actor::User, None, Some(arguments), false))
    }

    /// Why a user or a host cannot use a skill that exists. A model never sees this.
    pub(in crate::session) fn explain_to_person(
        &self,
        name: &str,
        by: Actor,
        filter: Option<&Filter>,
    ) -> Option<ToolResult> {
        if by == Actor::Model {
            return None;
        }
        let candidate = match self.catalog().named(name) {
            Named::One(candidate) => candidate,
            Named::NotOffered(found) => {
                return found.iter().find_map(|(_, standing)| not_offered(name, standing));
            }
            Named::Several(_) | Named::Unknown => return None,
        };
        let hidden = self.judge(candidate, Act::Activate, by, self.filter_for(filter)).err()?;
        let (reason, error, hint) = match hidden {
            Hidden::NotForUser => (
                Reason::NotInvocable,
                "only the model starts this skill",
                "describe the task; the model decides",
            ),
            Hidden::Untrusted => (
                Reason::NotApproved,
                "this skill is not trusted yet",
                "look at it, and trust it if you want it",
            ),
            Hidden::Filtered => (Reason::UnknownSkill, "the filter hides this skill", "change the filter"),
            _ => (Reason::UnknownSkill, "the policy hides this skill", "change the policy of the host"),
        };
        Some(ToolResult::refused(reason, format!("{error}: {}", for_message(name)), hint))
    }

    /// Activates the skills that are active from the start: those the catalog marks, and those named here.
    ///
    /// Each is a step of its own, which the host continues. A failure is recorded and does not affect the others.
    /// Their texts are part of the prompt.
    pub fn preload(&mut self, names: &[&str]) -> Vec<(String, Step)> {
        let catalog = self.shared_catalog();
        let mut wanted: Vec<String> = catalog.preloaded().iter().map(|entry| entry.key.clone()).collect();
        wanted.extend(names.iter().map(|name| (*name).to_owned()));
        let mut steps: Vec<(String, Step)> = Vec::with_capacity(wanted.len());
        for name in wanted {
            if !steps.iter().any(|(known, _)| *known == name) {
                let step = self.load(&name, Actor::Host, None, None, true);
                self.record_preload(&name, &step);
                steps.push((name, step));
            }
        }
        steps
    }

    /// Records that a skill could not be preloaded.
    pub(in crate::session) fn record_preload(&mut self, key: &str, step: &Step) {
        if let Step::Done(ToolResult { reason: Some(reason), .. }) = step {
            self.record(EventKind::NotPreloaded { key: key.to_owned(), reason: reason.code().to_owned() });
        }
    }
}

/// The refusal of a skill that exists and is not offered.
fn not_offered(name: &str, standing: &Standing) -> Option<ToolResult> {
    let why = standing.why_not()?;
    let error = WhyNot { reason: for_message(&why.reason), ..why }.about(&for_message(name));
    let hint = match standing {
        Standing::Blocked { obstacle: Obstacle::Broken { .. } } => "correct its SKILL.md",
        Standing::Blocked { .. } => "turn it on again there",
        _ => "rename one of the two",
    };
    Some(ToolResult::refused(Reason::UnknownSkill, error, hint))
}
