//! What `allowed-tools` of active skills grants, and what it leaves of the tools of the host.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::skill::tool_list::{HostTools, ToolGrant, ToolList, base_name, grant_identity};

/// What `allowed-tools` does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ToolMode {
    /// Nothing.
    Ignore,
    /// It lists the tools that need no confirmation by the user: data for the host.
    #[default]
    Preapprove,
    /// While the skill is active, only these tools may be used. A skill without the field restricts nothing; one with
    /// an empty field allows none.
    Restrict,
}

/// The grants of some lists for tools that the host has: sorted, each once. `Read` and `read` are one tool, and the grant
/// of the first list that has it is the one.
///
/// A grant that is malformed grants nothing.
pub fn grants<'l>(lists: impl IntoIterator<Item = &'l ToolList>, host: &HostTools) -> Vec<&'l ToolGrant> {
    let there = |grant: &ToolGrant| match host {
        HostTools::Unlimited => true,
        HostTools::Only(tools) => tools.iter().any(|tool| grant.names(tool)),
    };
    let mut granted: Vec<&ToolGrant> = lists
        .into_iter()
        .flat_map(|list| &list.grants)
        .filter(|grant| grant.balanced && !grant.name.is_empty())
        .filter(|grant| there(grant))
        .collect();
    let mut seen = BTreeSet::new();
    granted.retain(|grant| seen.insert(grant_identity(&grant.raw)));
    granted.sort_by(|one, other| one.raw.cmp(&other.raw));
    granted
}

/// A grant with the name of its tool as the host spells it, since the host looks its tools up by their names. A grant of
/// several tools, such as `mcp__*`, stays as the skill spells it.
fn spelt(grant: &ToolGrant, host: &HostTools) -> String {
    let HostTools::Only(tools) = host else { return grant.raw.clone() };
    let names = || tools.iter().map(|tool| base_name(tool));
    let same = |name: &&str| name.eq_ignore_ascii_case(&grant.name);
    let of_host = names().find(|name| *name == grant.name).or_else(|| names().find(same));
    match (of_host, grant.raw.find('(')) {
        (Some(name), Some(pattern)) => format!("{name}{}", grant.raw.get(pattern..).unwrap_or_default()),
        (Some(name), None) => name.to_owned(),
        (None, _) => grant.raw.clone(),
    }
}

/// The [`grants`] of some lists as strings, each [spelt](spelt) as the host does: sorted.
pub(super) fn spellings<'l>(lists: impl IntoIterator<Item = &'l ToolList>, host: &HostTools) -> Vec<String> {
    let mut texts: Vec<String> = grants(lists, host).into_iter().map(|grant| spelt(grant, host)).collect();
    texts.sort();
    texts
}

/// The tools that every list allows, in their order. An absent list allows all.
///
/// ```
/// use prowess_core::ToolList;
/// use prowess_core::session::scope_tools;
///
/// let tools = ["bash", "read_file", "Read"];
/// let list = ToolList::parse("Bash(git:*) Read");
/// assert_eq!(scope_tools(&tools, [Some(&list)]), ["bash", "Read"]);
/// assert_eq!(scope_tools(&tools, [None]), tools);
/// ```
pub fn scope_tools<'t, 'l>(
    tools: &[&'t str],
    lists: impl IntoIterator<Item = Option<&'l ToolList>>,
) -> Vec<&'t str> {
    let lists: Vec<&ToolList> = lists.into_iter().flatten().collect();
    let left = |tool: &&&str| {
        lists.iter().all(|list| list.grants.iter().any(|grant| grant.balanced && grant.names(tool)))
    };
    tools.iter().filter(left).copied().collect()
}

/// The grants of one list that are not in the other, however they are spelt there.
pub(super) fn difference(these: &[String], without: &[String]) -> Vec<String> {
    let without: BTreeSet<String> = without.iter().map(|grant| grant_identity(grant)).collect();
    these.iter().filter(|grant| !without.contains(&grant_identity(grant))).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grants_are_capped_by_what_the_host_has() {
        let (one, two) =
            (ToolList::parse("Bash(git:*) Read Bash(oops"), ToolList::parse("Read mcp__github Write"));
        let raw = |host: HostTools| -> Vec<String> {
            grants([&one, &two], &host).iter().map(|grant| grant.raw.clone()).collect()
        };
        assert_eq!(raw(HostTools::Unlimited), ["Bash(git:*)", "Read", "Write", "mcp__github"]);
        let host = HostTools::only(["bash", "mcp__github__list-issues"]);
        assert_eq!(raw(host), ["Bash(git:*)", "mcp__github"]);
        assert!(raw(HostTools::only([""; 0])).is_empty());
    }

    #[test]
    fn a_tool_that_another_list_spells_differently_is_not_taken_away() {
        let (one, two) =
            (ToolList::parse("Refund Bash(git:*)"), ToolList::parse("refund bash(git:*) Bash(ls)"));
        let raw = |lists: &[&ToolList]| -> Vec<String> {
            let granted = grants(lists.iter().copied(), &HostTools::Unlimited);
            granted.iter().map(|grant| grant.raw.clone()).collect()
        };
        let both = raw(&[&one, &two]);
        assert_eq!(both, ["Bash(git:*)", "Bash(ls)", "Refund"]);
        assert_eq!(difference(&both, &raw(&[&two])), [""; 0]);
        assert_eq!(difference(&both, &raw(&[&one])), ["Bash(ls)"]);
    }

    #[test]
    fn a_tool_is_spelt_as_the_host_does_and_otherwise_as_the_first_skill_does() {
        let (one, two) =
            (ToolList::parse("refund bash(git:*) MCP__x"), ToolList::parse("Refund Bash(git:*) Bash"));
        let said = |lists: [&ToolList; 2], host: &HostTools| spellings(lists, host);
        let any = HostTools::Unlimited;
        assert_eq!(said([&one, &two], &any), ["Bash", "MCP__x", "bash(git:*)", "refund"]);
        assert_eq!(said([&two, &one], &any), ["Bash", "Bash(git:*)", "MCP__x", "Refund"]);
        let host = HostTools::only(["REFUND", "bASH", "mcp__x__get"]);
        for lists in [[&one, &two], [&two, &one]] {
            assert_eq!(said(lists, &host), ["MCP__x", "REFUND", "bASH", "bASH(git:*)"]);
        }
        // Two tools of a host that differ in case alone keep their names.
        let both = HostTools::only(["Refund", "refund"]);
        assert_eq!(said([&one, &two], &both), ["refund"]);
    }

    #[test]
    fn an_absent_list_restricts_nothing_and_an_empty_one_leaves_nothing() {
        let (some, empty) = (ToolList::parse("Read, Bash(ls)"), ToolList::parse(""));
        let tools = ["Read", "Bash", "Write"];
        assert_eq!(scope_tools(&tools, [Some(&some), None]), ["Read", "Bash"]);
        assert_eq!(scope_tools(&tools, [Some(&some), Some(&empty)]), [""; 0]);
        assert_eq!(scope_tools(&tools, []), tools);
    }
}
