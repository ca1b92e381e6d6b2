//! A skill and what became of it, as `list`, `search` and `why` write it.

use prowess::catalog::{TurnedOffBy, WhyNot};
use prowess::{Candidate, Location, Obstacle, Problem, Registry, Scope, Standing};
use serde::Serialize;

use super::advice;
use super::cost::Cost;
use super::provenance::Provenance;

/// A skill and what became of it.
#[derive(Serialize)]
pub(super) struct Row<'r> {
    name: &'r str,
    pub(super) key: &'r str,
    pub(super) description: &'r str,
    path: &'r Location,
    source: &'r str,
    virtual_path: &'r str,
    scope: Scope,
    pub(super) state: &'static str,
    pub(super) trusted: bool,
    /// Whether it was trusted, and changed since then.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(super) changed_since_trusted: bool,
    /// Why it can never be trusted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) never_trusted: Option<String>,
    preload: bool,
    repaired: bool,
    readers: &'r [&'static str],
    /// Where else the same folder was found, through links.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    also_at: &'r [Location],
    problems: Vec<Brief<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shadowed_by: Option<&'r Location>,
    #[serde(skip_serializing_if = "Option::is_none")]
    disabled_by: Option<&'r TurnedOffBy>,
    #[serde(skip)]
    pub(super) why_not: Option<WhyNot>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cost: Option<Cost>,
    /// Where it came from, if it was installed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) installed: Option<Provenance<'r>>,
}

/// A problem in short.
#[derive(Serialize)]
struct Brief<'r> {
    code: &'static str,
    severity: &'static str,
    message: &'r str,
}

impl<'r> Row<'r> {
    pub(super) fn new(candidate: &'r Candidate, standing: &'r Standing, registry: &Registry) -> Self {
        let entry = &candidate.entry;
        let untrusted = candidate.obstacle == Some(Obstacle::Untrusted);
        let brief = |problem: &'r Problem| Brief {
            code: problem.code,
            severity: problem.severity.name(),
            message: &problem.message,
        };
        let mut problems: Vec<Brief<'r>> =
            candidate.problems.iter().flat_map(|problems| problems.iter()).map(brief).collect();
        let (mut shadowed_by, mut disabled_by) = (None, None);
        let state = match standing {
            Standing::Listed if untrusted => "untrusted",
            Standing::Listed => "active",
            Standing::Shadowed { by } => {
                shadowed_by = Some(by);
                "shadowed"
            }
            Standing::Blocked { obstacle: Obstacle::Broken { problems: why, .. } } => {
                problems = why.iter().map(brief).collect();
                "broken"
            }
            Standing::Blocked { obstacle: Obstacle::Disabled { by } } => {
                disabled_by = Some(by);
                "disabled"
            }
            Standing::Blocked { obstacle: Obstacle::Untrusted } => "untrusted",
        };
        Self {
            name: &entry.name,
            key: &entry.key,
            description: &entry.description,
            path: &entry.origin.location,
            source: &candidate.source,
            virtual_path: &candidate.virtual_path,
            scope: entry.origin.scope,
            state,
            trusted: !untrusted,
            changed_since_trusted: registry.changed_since_approval(candidate),
            never_trusted: advice::never(candidate, registry),
            preload: candidate.preload,
            repaired: entry.repaired,
            readers: &candidate.readers,
            also_at: &candidate.also_at,
            problems,
            shadowed_by,
            disabled_by,
            why_not: standing.why_not(),
            cost: None,
            installed: None,
        }
    }
}
