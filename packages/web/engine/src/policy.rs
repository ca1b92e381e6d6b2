//! [`GivenPolicy`]: what a session may show and do, as a caller gives it.

use std::collections::BTreeMap;

use prowess_core::session::{Filter, Policy, ToolMode, Untrusted};
use prowess_core::{HostTools, Scope};
use serde::Deserialize;

use crate::input::given;

/// The rule for the skills of a scope.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct ScopeRule {
    visible: Option<bool>,
    approve: Option<bool>,
    tools: Option<bool>,
}

/// What a session may show and do: each member that is given, over the usual policy.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct GivenPolicy {
    #[serde(deserialize_with = "given")]
    #[expect(clippy::option_option, reason = "null allows every skill")]
    allow: Option<Option<Vec<String>>>,
    deny: Option<Vec<String>>,
    filter: Option<Filter>,
    bounds: Option<Filter>,
    untrusted: Option<Untrusted>,
    scopes: BTreeMap<Scope, ScopeRule>,
    tool_mode: Option<ToolMode>,
    /// Null is a host with every tool.
    #[serde(deserialize_with = "given")]
    host_tools: Option<HostTools>,
    run: Option<bool>,
}

impl GivenPolicy {
    /// The policy, over a usual one.
    pub fn over(self, usual: &Policy) -> Policy {
        let mut policy = usual.clone();
        let names = |given: Vec<String>| given.into_iter().collect();
        policy.allow = self.allow.map_or(policy.allow, |given| given.map(names));
        policy.deny = self.deny.map_or(policy.deny, names);
        policy.filter = self.filter.unwrap_or(policy.filter);
        policy.bounds = self.bounds.unwrap_or(policy.bounds);
        policy.untrusted = self.untrusted.unwrap_or(policy.untrusted);
        policy.tools = self.tool_mode.unwrap_or(policy.tools);
        policy.host_tools = self.host_tools.unwrap_or(policy.host_tools);
        policy.run = self.run.unwrap_or(policy.run);
        for (scope, rule) in self.scopes {
            let usual = policy.origin(scope);
            let rule = usual
                .with_visible(rule.visible.unwrap_or(usual.visible))
                .with_approve(rule.approve.unwrap_or(usual.approve))
                .with_tools(rule.tools.unwrap_or(usual.tools));
            policy = policy.with_origin(scope, rule);
        }
        policy
    }
}
