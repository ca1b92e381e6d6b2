//! [`SkillReport`]: what is known about a skill, as data. The commands that show skills print it.

use std::borrow::Cow;
use std::fmt;

use prowess::catalog::{TurnedOffBy, WhyNot};
use prowess::client::{Fact, Reads};
use prowess::install::Origins;
use prowess::internal::{self, obstacle_of, state_of};
use prowess::library::clients::Client;
use prowess::library::views;
use prowess::{
    Candidate, Catalog, Location, Obstacle, Preset, Problem, Profile, Registry, Scope, Severity, Standing,
};
use serde::Serialize;

use crate::commands::hints;
use crate::explain::copies::Copy;
use crate::explain::provenance::Provenance;
use crate::explain::trust;
use crate::prompt::asked::{AskedPrompt, InPrompt};
use crate::prompt::{Cost, Prompts, not_for_model};
use crate::rank::{Ranked, Rankings};
use crate::ui::clean;

/// The marks of skills that a client lists and Prowess does not offer.
pub(crate) const IN_CLIENT_BROKEN: &str = "prowess cannot load it: ";
pub(crate) const IN_CLIENT_OFF: &str = "turned off in prowess: ";

/// What a command shows of skills beside their state. What is not asked for costs nothing.
#[derive(Clone, Copy, Default)]
pub(crate) struct Facets<'f, 'r> {
    /// What they cost in these prompts.
    pub(crate) cost: Option<&'f Prompts>,
    /// How they differ from the skills of this catalog that shadow them.
    pub(crate) copy: Option<&'f Catalog>,
    /// Where they were installed from.
    pub(crate) provenance: Traced<'r>,
    /// What this prompt does with them.
    pub(crate) prompt: Option<&'f AskedPrompt<'f>>,
    /// Their places in these rankings, and what `check` says about the descriptions that are ranked.
    pub(crate) rank: Option<&'f Rankings<'r>>,
    /// Why the server does not publish them.
    pub(crate) published: bool,
}

/// How it is found out where skills were installed from: by the records, or also by comparing their files with these.
#[derive(Clone, Copy, Default)]
pub(crate) enum Traced<'o> {
    #[default]
    Not,
    Recorded(&'o Origins),
    Compared(&'o Origins),
}

/// A skill and its state.
#[derive(Serialize)]
pub(crate) struct SkillReport<'r> {
    #[serde(skip)]
    pub(crate) skill: &'r Candidate,
    #[serde(skip)]
    pub(crate) standing: &'r Standing,
    #[serde(skip)]
    pub(crate) in_prompt: Option<InPrompt>,
    pub(crate) name: &'r str,
    pub(crate) key: &'r str,
    /// The client whose view this is.
    #[serde(skip_serializing_if = "Option::is_none")]
    client: Option<&'static str>,
    /// The name under which the client shows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) shown_as: Option<&'r str>,
    /// Whether the client was compared with its row; if not, only its folders are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    client_verified: Option<bool>,
    /// Whether the client may list it, but Prowess does not read it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) not_read: bool,
    /// Whether other skills have this name, and the client does not always list the same one.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) one_of_several: bool,
    /// Why the client does not offer it to its model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) not_for_model: Option<&'static str>,
    /// The same in words, and what to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_for_model_because: Option<Because>,
    /// Why the client does not list it.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_seen: Option<NotSeen>,
    pub(crate) description: &'r str,
    pub(crate) path: &'r Location,
    pub(crate) source: &'r str,
    /// The position of its source in the order of precedence.
    #[serde(skip)]
    pub(crate) layer: usize,
    virtual_path: &'r str,
    scope: Scope,
    pub(crate) state: &'static str,
    pub(crate) trusted: bool,
    /// Whether it was trusted, and changed since then.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) changed_since_trusted: bool,
    /// Why it can never be trusted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) never_trusted: Option<String>,
    preload: bool,
    repaired: bool,
    pub(crate) readers: &'r [&'static str],
    /// Where else the same folder was found, through links.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    also_at: &'r [Location],
    problems: Vec<Brief<'r>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) shadowed_by: Option<&'r Location>,
    /// How it differs from the skill that shadows it, if that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) copy: Option<Copy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) disabled_by: Option<&'r TurnedOffBy>,
    #[serde(skip)]
    pub(crate) why_not: Option<WhyNot>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cost: Option<Cost>,
    /// Where it came from, if it was installed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) installed: Option<Provenance<'r>>,
    /// Why the server does not publish it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) not_published: Option<String>,
    /// Its place in the ranking for a query.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ranked: Option<Ranked<'r>>,
    /// Its place by what the prompts of agents have, if `ranked` counts more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) ranked_in_prompts: Option<Ranked<'r>>,
    /// If it is ranked: what `check` says about its description.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) description_notes: Vec<Brief<'r>>,
}

/// Why a client does not list a skill.
#[derive(Serialize)]
pub(crate) struct NotSeen {
    pub(crate) code: &'static str,
    pub(crate) reason: String,
    pub(crate) fix: String,
}

impl NotSeen {
    /// Why a client, which the reason calls `who`, does not list a skill.
    pub(crate) fn of(standing: &Standing, client: Option<&Client>, who: &str) -> Option<Self> {
        match (standing, client) {
            (Standing::Unseen { code, reason, why }, _) => {
                let hints = views::hints(*why, &client.map_or(Reads::UNKNOWN, Client::reads));
                Some(Self { code, reason: reason.clone(), fix: hints::all_of(&hints).to_string() })
            }
            (Standing::Shadowed { by }, Some(client)) => Some(Self {
                code: "same-name",
                reason: format!("{who} lists another skill with this name: {by}"),
                fix: views::same_name_fix(&client.reads()),
            }),
            _ => None,
        }
    }
}

/// A reason, and what to do about it.
#[derive(Serialize)]
struct Because {
    reason: &'static str,
    fix: &'static str,
}

/// A problem in short.
#[derive(Serialize)]
pub(crate) struct Brief<'r> {
    code: &'static str,
    severity: &'static str,
    message: Cow<'r, str>,
}

impl<'r> Brief<'r> {
    /// With this severity, which may not be the one that it was judged to have.
    pub(crate) fn of(problem: &'r Problem, severity: Severity) -> Self {
        Self { code: problem.code, severity: severity.name(), message: (&problem.message).into() }
    }

    pub(crate) fn owned(problem: Problem) -> Brief<'static> {
        Brief { code: problem.code, severity: problem.severity.name(), message: problem.message.into() }
    }
}

impl fmt::Display for Brief<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]: {}", self.severity, self.code, clean(&self.message))
    }
}

impl<'r> SkillReport<'r> {
    /// What is to be known about a skill that a client lists, before its description.
    pub(crate) fn in_client(&self) -> &'static str {
        match self.state {
            _ if self.shown_as.is_none() => "",
            _ if self.not_read => "not read, so not known: ",
            "broken" => IN_CLIENT_BROKEN,
            "disabled" => IN_CLIENT_OFF,
            _ if self.one_of_several => "one of several, not always this one: ",
            _ => "",
        }
    }

    pub(crate) fn new(
        candidate: &'r Candidate,
        standing: &'r Standing,
        registry: &Registry,
        facets: &Facets<'_, 'r>,
    ) -> Self {
        let entry = &candidate.entry;
        let untrusted = candidate.obstacle == Some(Obstacle::Untrusted);
        let brief = |problem: &'r Problem| Brief::of(problem, problem.severity);
        let mut problems: Vec<Brief<'r>> =
            candidate.problems.iter().flat_map(|problems| problems.iter()).map(brief).collect();
        let (mut shadowed_by, mut disabled_by) = (None, None);
        match (standing, obstacle_of(candidate, standing)) {
            (_, Some(Obstacle::Broken { problems: why, .. })) => problems = why.iter().map(brief).collect(),
            (_, Some(Obstacle::Disabled { by })) => disabled_by = Some(by),
            (Standing::Shadowed { by }, _) => shadowed_by = Some(by),
            _ => {}
        }
        let listed = *standing == Standing::Listed;
        let has = |fact| candidate.sighting.is_some_and(|sighting| sighting.facts.has(fact));
        let hidden = not_for_model(candidate, registry).filter(|_| listed);
        let shadow = match standing {
            Standing::Shadowed { by } => Some(by),
            _ => None,
        };
        let (ranked, ranked_in_prompts) =
            facets.rank.filter(|_| listed).map(|rank| rank.of(candidate)).unzip();
        let description_notes = ranked.is_some().then(|| notes_on_description(candidate, registry));
        Self {
            skill: candidate,
            standing,
            in_prompt: facets.prompt.and_then(|prompt| prompt.place(candidate, standing)),
            name: &entry.name,
            key: &entry.key,
            client: registry.client().map(|client| client.id),
            shown_as: registry.client().filter(|_| listed).map(|_| entry.key.as_str()),
            client_verified: registry.client().map(|client| client.reads().checked.is_some()),
            not_read: listed && has(Fact::NotRead),
            one_of_several: has(Fact::OneOfSeveral),
            not_for_model: hidden.map(Fact::code),
            not_for_model_because: hidden.map(|fact| Because { reason: fact.what(), fix: fact.fix() }),
            not_seen: NotSeen::of(standing, registry.client(), "the client"),
            description: &entry.description,
            path: &entry.origin.location,
            source: &candidate.source,
            layer: candidate.layer.at,
            virtual_path: &candidate.virtual_path,
            scope: entry.origin.scope,
            state: state_of(candidate, standing),
            trusted: !untrusted,
            changed_since_trusted: registry.changed_since_approval(candidate),
            never_trusted: trust::never(candidate, registry),
            preload: candidate.preload,
            repaired: entry.repaired,
            readers: &candidate.readers,
            also_at: &candidate.also_at,
            problems,
            shadowed_by,
            copy: facets.copy.zip(shadow).and_then(|(all, by)| Copy::of(candidate, by, all, registry)),
            disabled_by,
            why_not: standing.why_not(),
            cost: facets.cost.map(|prompts| Cost::of(candidate, standing, registry, prompts)),
            installed: match facets.provenance {
                Traced::Not => None,
                Traced::Recorded(origins) => Provenance::listed(candidate, origins),
                Traced::Compared(origins) => Provenance::compared(candidate, origins),
            },
            not_published: if listed && facets.published { withheld(candidate, registry) } else { None },
            ranked,
            ranked_in_prompts: ranked_in_prompts.flatten(),
            description_notes: description_notes.unwrap_or_default(),
        }
    }
}

/// Why `prowess serve` does not publish an offered skill over the extension; its tools still offer it.
fn withheld(candidate: &Candidate, registry: &Registry) -> Option<String> {
    if !candidate.is_usable() {
        return None;
    }
    let document = match &candidate.announced {
        // Its files must not be read just to explain it.
        Some(said) => prowess::parse(prowess::document::markdown(&said.frontmatter, "").as_bytes()),
        None => registry.head_of(candidate).ok()?.document(),
    };
    internal::withheld(&document, &candidate.entry.name).map(|reason| reason.to_string())
}

/// What `prowess check` says about the description of a skill, which is all that most models choose it by.
fn notes_on_description(skill: &Candidate, registry: &Registry) -> Vec<Brief<'static>> {
    // The files of a skill on a server must not be read just to explain it.
    let Some(head) = registry.head_of(skill).ok().filter(|_| skill.announced.is_none()) else {
        return Vec::new();
    };
    let problems = Profile::new(Preset::Spec).check(&head.document(), None, &skill.entry.origin);
    let is_known =
        |problem: &Problem| skill.problems.iter().flatten().any(|other| other.code == problem.code);
    let is_meant = |problem: &Problem| problem.code.starts_with("description-") && !is_known(problem);
    problems.into_iter().filter(is_meant).map(Brief::owned).collect()
}
