//! A skill and its state, as `list`, `search` and `why` write it.

use prowess::catalog::{TurnedOffBy, WhyNot};
use prowess::client::Fact;
use prowess::{Candidate, Location, Obstacle, Problem, Registry, Scope, Standing};
use serde::Serialize;

use super::advice;
use super::copies::Copy;
use super::cost::Cost;
use super::provenance::Provenance;

/// A skill and its state.
#[derive(Serialize)]
pub(super) struct Row<'r> {
    pub(super) name: &'r str,
    pub(super) key: &'r str,
    /// The client whose view this is.
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<&'static str>,
    /// The name under which the client shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) shown_as: Option<&'r str>,
    /// Why the client does not offer it to its model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) not_for_model: Option<&'static str>,
    /// Why the client does not list it.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_seen: Option<NotSeen<'r>>,
    pub(super) description: &'r str,
    path: &'r Location,
    pub(super) source: &'r str,
    /// The position of its source in the order of precedence.
    #[serde(skip)]
    pub(super) layer: usize,
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
    pub(super) readers: &'r [&'static str],
    /// Where else the same folder was found, through links.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    also_at: &'r [Location],
    problems: Vec<Brief<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) shadowed_by: Option<&'r Location>,
    /// How it differs from the skill that shadows it, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) copy: Option<Copy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) disabled_by: Option<&'r TurnedOffBy>,
    #[serde(skip)]
    pub(super) why_not: Option<WhyNot>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cost: Option<Cost>,
    /// Where it came from, if it was installed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) installed: Option<Provenance<'r>>,
}

/// Why a client does not list a skill.
#[derive(Serialize)]
struct NotSeen<'r> {
    code: &'static str,
    reason: &'r str,
    fix: &'r str,
}

/// Why the client whose view a registry has does not offer a skill to its model.
pub(super) fn not_for_model(candidate: &Candidate, registry: &Registry) -> Option<Fact> {
    let hides = registry.client()?.reads().hides;
    candidate.sighting?.facts.common(hides).iter().next()
}

/// What became of a skill, in one word.
pub(super) fn state(candidate: &Candidate, standing: &Standing) -> &'static str {
    match (standing, obstacle_of(candidate, standing)) {
        (Standing::Unseen { .. }, _) => "unseen",
        (Standing::Shadowed { .. }, _) => "shadowed",
        (_, Some(Obstacle::Broken { .. })) => "broken",
        (_, Some(Obstacle::Disabled { .. })) => "disabled",
        (_, Some(Obstacle::Untrusted)) => "untrusted",
        (_, None) => "active",
    }
}

/// The obstacle that decided it. A skill that a client lists may be withheld by Prowess.
fn obstacle_of<'r>(candidate: &'r Candidate, standing: &'r Standing) -> Option<&'r Obstacle> {
    match standing {
        Standing::Listed => candidate.obstacle.as_ref(),
        Standing::Blocked { obstacle } => Some(obstacle),
        Standing::Unseen { .. } | Standing::Shadowed { .. } => None,
    }
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
        let (mut shadowed_by, mut disabled_by, mut not_seen) = (None, None, None);
        match (standing, obstacle_of(candidate, standing)) {
            (_, Some(Obstacle::Broken { problems: why, .. })) => problems = why.iter().map(brief).collect(),
            (_, Some(Obstacle::Disabled { by })) => disabled_by = Some(by),
            (Standing::Unseen { code, reason, fix }, _) => not_seen = Some(NotSeen { code, reason, fix }),
            (Standing::Shadowed { by }, _) => shadowed_by = Some(by),
            _ => {}
        }
        let listed = *standing == Standing::Listed;
        Self {
            name: &entry.name,
            key: &entry.key,
            client: registry.client().map(|client| client.id),
            shown_as: registry.client().filter(|_| listed).map(|_| entry.key.as_str()),
            not_for_model: not_for_model(candidate, registry).filter(|_| listed).map(Fact::code),
            not_seen,
            description: &entry.description,
            path: &entry.origin.location,
            source: &candidate.source,
            layer: candidate.layer.at,
            virtual_path: &candidate.virtual_path,
            scope: entry.origin.scope,
            state: state(candidate, standing),
            trusted: !untrusted,
            changed_since_trusted: registry.changed_since_approval(candidate),
            never_trusted: advice::never(candidate, registry),
            preload: candidate.preload,
            repaired: entry.repaired,
            readers: &candidate.readers,
            also_at: &candidate.also_at,
            problems,
            shadowed_by,
            copy: None,
            disabled_by,
            why_not: standing.why_not(),
            cost: None,
            installed: None,
        }
    }
}
