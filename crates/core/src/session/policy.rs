//! [`Policy`]: what a session may show and do. Every route asks [`Policy::judge`].

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::event::Actor;
use super::filter::Filter;
use super::tool_scope::ToolMode;
use crate::catalog::{Candidate, Obstacle};
use crate::skill::Invocation;
use crate::skill::location::Scope;
use crate::skill::tool_list::HostTools;

/// Keys or names of skills, in the host's order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    listed: Vec<String>,
    known: BTreeSet<String>,
}

impl Names {
    /// Whether a skill is listed, by its key or its name.
    pub fn name(&self, candidate: &Candidate) -> bool {
        self.known.contains(&candidate.entry.key) || self.known.contains(&candidate.entry.name)
    }

    /// Whether this key or name is listed.
    pub fn contains(&self, name: &str) -> bool {
        self.known.contains(name)
    }

    /// The names, in the host's order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.listed.iter().map(String::as_str)
    }
}

impl<T: Into<String>> FromIterator<T> for Names {
    fn from_iter<I: IntoIterator<Item = T>>(names: I) -> Self {
        let mut made = Self::default();
        for name in names {
            let name = name.into();
            if made.known.insert(name.clone()) {
                made.listed.push(name);
            }
        }
        made
    }
}

/// The rule for the skills of one scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct OriginRule {
    /// Whether they are visible.
    pub visible: bool,
    /// Whether each must be approved before it is used.
    pub approve: bool,
    /// Whether their `allowed-tools` apply before they are approved.
    pub tools: bool,
}

with_methods! { OriginRule:
    with_visible visible: bool;
    with_approve approve: bool;
    with_tools tools: bool;
}

impl OriginRule {
    /// The default rule for a scope: remote skills get no tools before they are approved.
    pub const fn usual(scope: Scope) -> Self {
        Self { visible: true, approve: false, tools: !matches!(scope, Scope::Remote) }
    }
}

/// What happens to skills that are not trusted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Untrusted {
    /// They are hidden.
    #[default]
    Hide,
    /// They are visible, and the host is asked before one is used.
    Ask,
}

/// What a session may show and do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Policy {
    /// The only visible skills, when given; also their order in prompts.
    pub allow: Option<Names>,
    /// Skills that are always hidden.
    pub deny: Names,
    /// The virtual paths that are visible.
    pub filter: Filter,
    /// The virtual paths that are visible at most, whatever filter is in force: those of the client of a server.
    pub bounds: Filter,
    /// What happens to skills that are not trusted.
    pub untrusted: Untrusted,
    /// Rules for scopes that differ from [`OriginRule::usual`].
    pub origins: BTreeMap<Scope, OriginRule>,
    /// What `allowed-tools` does.
    pub tools: ToolMode,
    /// The tools of the host: skills are granted no others.
    pub host_tools: HostTools,
    /// Whether scripts of skills may be run.
    pub run: bool,
}

/// What an actor does with a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Act {
    /// See it in a list, a prompt or a search.
    See,
    /// Get its instructions.
    Activate,
    /// Read its files.
    Read,
    /// Keep it active.
    Keep,
    /// Run a script of it.
    Run,
}

/// A question to the policy.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// The act.
    pub act: Act,
    /// The actor.
    pub by: Actor,
    /// The filter in force: the session's, or that of the call.
    pub filter: &'a Filter,
    /// Whether the skill is active already.
    pub active: bool,
    /// Whether its present content is approved.
    pub approved: bool,
    /// Who may start it, as its file says.
    pub invocation: Invocation,
}

/// Why a skill may not be seen or used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Hidden {
    /// [`Policy::deny`] lists it.
    Denied,
    /// [`Policy::allow`] does not list it.
    NotAllowed,
    /// The filter excludes it.
    Filtered,
    /// Its scope is not visible.
    Origin,
    /// It is broken or turned off.
    #[serde(rename = "hindered")]
    Blocked,
    /// It is not trusted.
    Untrusted,
    /// Only a user may start it.
    NotForModel,
    /// Only a model may start it.
    NotForUser,
    /// Scripts are not run.
    NoRun,
}

with_methods! { Policy:
    with_filter filter: Filter;
    with_bounds bounds: Filter;
    with_untrusted untrusted: Untrusted;
    with_tools tools: ToolMode;
    with_host_tools host_tools: HostTools;
    with_run run: bool;
}

impl Policy {
    /// Shows only these skills, by key or name.
    #[must_use]
    pub fn with_allow<T: Into<String>>(mut self, names: impl IntoIterator<Item = T>) -> Self {
        self.allow = Some(names.into_iter().collect());
        self
    }

    /// Hides these skills, by key or name.
    #[must_use]
    pub fn with_deny<T: Into<String>>(mut self, names: impl IntoIterator<Item = T>) -> Self {
        self.deny = names.into_iter().collect();
        self
    }

    /// Sets the rule for a scope.
    #[must_use]
    pub fn with_origin(mut self, scope: Scope, rule: OriginRule) -> Self {
        self.origins.insert(scope, rule);
        self
    }

    /// Decides whether an act is allowed. Lists, searches, activations, reads and active skills all ask here.
    pub fn judge(&self, candidate: &Candidate, ask: &Ask<'_>) -> Result<(), Hidden> {
        if self.deny.name(candidate) {
            return Err(Hidden::Denied);
        }
        if self.allow.as_ref().is_some_and(|allow| !allow.name(candidate)) {
            return Err(Hidden::NotAllowed);
        }
        if !self.origin(candidate.entry.origin.scope).visible {
            return Err(Hidden::Origin);
        }
        match &candidate.obstacle {
            None => {}
            Some(Obstacle::Untrusted) if ask.approved || self.untrusted == Untrusted::Ask => {}
            Some(Obstacle::Untrusted) => return Err(Hidden::Untrusted),
            Some(Obstacle::Broken { .. } | Obstacle::Disabled { .. }) => return Err(Hidden::Blocked),
        }
        let path = &candidate.virtual_path;
        if !ask.filter.passes(path) || !self.bounds.passes(path) {
            return Err(Hidden::Filtered);
        }
        if ask.act == Act::Run && !self.run {
            return Err(Hidden::NoRun);
        }
        // A skill that a user started is known to the model, which may read its files and unload it.
        let known = ask.active && !matches!(ask.act, Act::Activate | Act::See);
        match ask.by {
            _ if ask.act == Act::Keep || known => Ok(()),
            Actor::Model if !ask.invocation.model => Err(Hidden::NotForModel),
            Actor::User if !ask.invocation.user => Err(Hidden::NotForUser),
            _ => Ok(()),
        }
    }

    /// The rule for a scope.
    pub fn origin(&self, scope: Scope) -> OriginRule {
        self.origins.get(&scope).copied().unwrap_or(OriginRule::usual(scope))
    }

    /// Whether a skill must be approved before it is used.
    pub fn needs_approval(&self, candidate: &Candidate, approved: bool) -> bool {
        !approved && (!candidate.is_usable() || self.origin(candidate.entry.origin.scope).approve)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::TurnedOffBy;
    use crate::select::testing::entry;

    #[test]
    fn each_rule_hides_by_itself() {
        let mut candidate = Candidate::new(entry("pdf", "d"));
        candidate.virtual_path = "office/pdf".to_owned();
        let filter = Filter::all();
        let ask = Ask {
            act: Act::See,
            by: Actor::Model,
            filter: &filter,
            active: false,
            approved: false,
            invocation: Invocation::default(),
        };
        let open = Policy::default();
        assert_eq!(open.judge(&candidate, &ask), Ok(()));
        let denied = Policy { deny: ["pdf"].into_iter().collect(), ..Policy::default() };
        assert_eq!(denied.judge(&candidate, &ask), Err(Hidden::Denied));
        let others = Policy { allow: Some(["mail"].into_iter().collect()), ..Policy::default() };
        assert_eq!(others.judge(&candidate, &ask), Err(Hidden::NotAllowed));
        let rule = OriginRule { visible: false, ..OriginRule::usual(Scope::Explicit) };
        let scoped = Policy { origins: [(Scope::Explicit, rule)].into(), ..Policy::default() };
        assert_eq!(scoped.judge(&candidate, &ask), Err(Hidden::Origin));
        let elsewhere: Filter = "mail/**".parse().unwrap();
        assert_eq!(open.judge(&candidate, &Ask { filter: &elsewhere, ..ask }), Err(Hidden::Filtered));
        assert_eq!(open.judge(&candidate, &Ask { act: Act::Run, ..ask }), Err(Hidden::NoRun));
        let user_only = Ask { invocation: Invocation { model: false, user: true }, ..ask };
        assert_eq!(open.judge(&candidate, &user_only), Err(Hidden::NotForModel));
        assert_eq!(open.judge(&candidate, &Ask { by: Actor::User, ..user_only }), Ok(()));
        assert_eq!(open.judge(&candidate, &Ask { by: Actor::Host, ..user_only }), Ok(()));
        // Once a user started it, its files can be read.
        assert_eq!(open.judge(&candidate, &Ask { act: Act::Read, active: true, ..user_only }), Ok(()));
        candidate.obstacle = Some(Obstacle::Untrusted);
        assert_eq!(open.judge(&candidate, &ask), Err(Hidden::Untrusted));
        assert_eq!(open.judge(&candidate, &Ask { approved: true, ..ask }), Ok(()));
        let asking = Policy { untrusted: Untrusted::Ask, ..Policy::default() };
        assert_eq!(asking.judge(&candidate, &ask), Ok(()));
        assert!(asking.needs_approval(&candidate, false) && !asking.needs_approval(&candidate, true));
        candidate.obstacle = Some(Obstacle::Disabled { by: TurnedOffBy::List("me".into()) });
        assert_eq!(asking.judge(&candidate, &ask), Err(Hidden::Blocked));
    }
}
