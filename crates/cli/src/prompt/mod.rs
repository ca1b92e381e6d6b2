//! What prompts have of skills: [`ClientPrompt`], the skills that a client offers to its model within its own limits, the
//! prompt of a session, and what skills cost in either.

pub(crate) mod asked;
mod cost;

use std::sync::Arc;

use prowess::client::{CatalogLimit, Cuts, Fact};
use prowess::library::clients::Client;
use prowess::render::{Budget, BudgetReport, CatalogStyle, Shape, estimate_tokens, render_within};
use prowess::session::{Placement, PromptOptions, Session};
use prowess::settings::SessionConfig;
use prowess::{Candidate, Catalog, Entry, Registry};
use serde_json::{Value, json};

pub(crate) use self::cost::{Cost, Cut, PromptTokens, Prompts};
use crate::args::CatalogSize;
use crate::ui::count;

/// The catalog in the prompt of a client.
pub(crate) struct ClientPrompt {
    client: &'static Client,
    cuts: Cuts,
    /// The skills that the client offers to its model, without their obstacles.
    pub(crate) catalog: Arc<Catalog>,
    /// The same before the client's own budget.
    pub(crate) whole: Vec<Arc<Candidate>>,
    /// The keys of skills that the client may offer, but that Prowess does not read.
    not_read: Vec<String>,
    /// Whether a budget was asked for.
    given: bool,
    /// What the client's own budget does, unless another was asked for.
    pub(crate) fitted: Option<BudgetReport>,
}

impl ClientPrompt {
    /// The prompt of the client whose view a registry has.
    pub(crate) fn of(registry: &Registry, size: &CatalogSize) -> Option<Self> {
        let client = registry.client()?;
        let cuts = client.reads().cuts;
        let catalog = registry.catalog();
        let (not_read, read): (Vec<&Candidate>, Vec<&Candidate>) = catalog
            .iter()
            .filter(|skill| not_for_model(skill, registry).is_none())
            .partition(|skill| is_not_read(skill));
        let offered = |skill: &Candidate| {
            let mut skill = skill.clone();
            (skill.obstacle, skill.entry.invocation.model) = (None, true);
            if let Some(description) = described(&skill.entry, cuts) {
                skill.entry.description = description;
            }
            Arc::new(skill)
        };
        let mut offered: Vec<Arc<Candidate>> = read.into_iter().map(offered).collect();
        let entries: Vec<&Entry> = offered.iter().map(|skill| &skill.entry).collect();
        let fitted = if size.given().is_none() { fitted(&entries, cuts, size) } else { None };
        let whole = offered.clone();
        offered.truncate(fitted.as_ref().map_or(usize::MAX, |report| report.included));
        Some(Self {
            client,
            cuts,
            catalog: Arc::new(Catalog::apart(offered)),
            whole,
            not_read: not_read.iter().map(|skill| skill.entry.key.clone()).collect(),
            given: size.given().is_some(),
            fitted,
        })
    }

    /// The skills with as much of their descriptions as the client shows.
    pub(crate) fn as_shown(&self) -> Arc<Catalog> {
        let most = self.listing().max_description.unwrap_or(usize::MAX);
        let shown = |skill: &Candidate| {
            let mut skill = skill.clone();
            skill.entry.description = skill.entry.description.chars().take(most).collect();
            Arc::new(skill)
        };
        Arc::new(Catalog::apart(self.catalog.iter().map(shown).collect()))
    }

    /// A style with the client's limit for descriptions.
    pub(crate) fn style(&self, style: CatalogStyle) -> CatalogStyle {
        let by_budget = self.fitted.as_ref().and_then(|report| report.max_description);
        style.with_max_description(by_budget.or(self.cuts.description))
    }

    /// The style of the list that the client writes.
    pub(crate) fn listing(&self) -> CatalogStyle {
        self.style(listing(self.cuts))
    }

    /// The style of that list before the client's budget.
    pub(crate) fn uncut(&self) -> CatalogStyle {
        listing(self.cuts)
    }

    /// The budget that was asked for; the client's own is accounted for already.
    pub(crate) fn budget(size: &CatalogSize) -> Budget {
        size.given().unwrap_or(Budget::Unlimited)
    }

    /// Whether the client keeps all names, however long the catalog is.
    fn keeps_names(&self) -> bool {
        matches!(self.cuts.catalog, CatalogLimit::PercentByUse(_))
    }

    /// How many descriptions are longer than the client shows.
    pub(crate) fn too_long(&self) -> usize {
        self.catalog.iter().filter(|skill| self.cut_of(skill).is_some()).count()
    }

    /// The lengths of a description that is longer than the client shows: whole, and shown.
    fn cut_of(&self, skill: &Candidate) -> Option<(usize, usize)> {
        let limit = self.cuts.description?;
        let length = skill.entry.description.chars().count();
        (length > limit).then_some((length, limit))
    }

    /// What is said beside the catalog.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        // A budget that was asked for replaces the client's own, and limits that are known to cut nothing do not matter.
        let is_cut = self.fitted.as_ref().is_none_or(|report| report.shortened + report.omitted.len() > 0);
        if !self.given && (is_cut || self.too_long() > 0) {
            notes.push(format!("{}: {}", self.client.name, self.cuts.words()));
        }
        if let (Some(most), cut @ 1..) = (self.cuts.description, self.too_long()) {
            notes.push(format!("{} cut after {most} characters", count(cut, "description")));
        }
        if self.keeps_names() && self.fitted.as_ref().is_some_and(|report| report.shortened > 0) {
            notes.push("Prowess does not know which skills are used the least, and shortens all".to_owned());
        }
        if !self.not_read.is_empty() {
            notes.push(format!("not read, so not known: {}", self.not_read.join(", ")));
        }
        notes
    }

    /// The same as data.
    pub(crate) fn json(&self) -> Value {
        json!({
            "client": self.client.id,
            "description": self.cuts.description,
            "catalog": self.cuts.words(),
            "approximate": self.cuts.is_approximate(),
            "descriptions_cut": self.too_long(),
            "not_read": self.not_read,
        })
    }

    /// What the prompt does with a skill, and the same in words; no words if the skill is there as it is.
    pub(crate) fn place(&self, key: &str, size: &CatalogSize) -> (Placement, Option<String>) {
        let (placement, limits) = match &self.fitted {
            Some(report) => {
                let length = self.catalog.get(key).map(|skill| skill.entry.description.chars().count());
                let placement = match (length, report.max_description) {
                    (None, _) => Placement::OverBudget,
                    (Some(length), Some(most)) if length > most => Placement::Shortened,
                    _ => Placement::Whole,
                };
                (placement, format!("{}: {}", self.client.name, self.cuts.words()))
            }
            None => (self.given_place(key, size), "the budget that was given".to_owned()),
        };
        let cut = self.catalog.get(key).and_then(|skill| self.cut_of(skill));
        match (placement, cut) {
            (Placement::OverBudget, _) => (placement, Some(format!("in its prompt: no; {limits}"))),
            (Placement::Shortened, _) => {
                let most = self.fitted.as_ref().and_then(|report| report.max_description);
                let how = if most.is_some_and(|most| most < 2) { "without" } else { "with less of" };
                (placement, Some(format!("in its prompt: {how} its description; {limits}")))
            }
            (_, Some((length, limit))) => (
                Placement::Shortened,
                Some(format!("in its prompt: the first {limit} of {length} characters of its description")),
            ),
            _ => (placement, None),
        }
    }

    /// What a budget that was asked for does with a skill.
    fn given_place(&self, key: &str, size: &CatalogSize) -> Placement {
        let session_config = SessionConfig::default();
        let session =
            Session::new("why", Arc::clone(&self.catalog), session_config.policy(), session_config.options());
        let style = self.style(CatalogStyle::new(Shape::Xml));
        // Without a query no selector is called, so there is no error.
        session.placement(key, &PromptOptions::new(&style, Self::budget(size))).unwrap_or(Placement::Whole)
    }
}

/// The description of a skill in the prompt of a client, where it is not that of the skill.
pub(crate) fn described(entry: &Entry, cuts: Cuts) -> Option<String> {
    let when = entry.client.when_to_use.as_deref().filter(|_| cuts.when_to_use)?;
    Some(format!("{} - {when}", entry.description))
}

/// What the budget of a client does. Clients write a list, whatever format is asked for here.
pub(crate) fn fitted(entries: &[&Entry], cuts: Cuts, size: &CatalogSize) -> Option<BudgetReport> {
    let (CatalogLimit::Percent(percent) | CatalogLimit::PercentByUse(percent)) = cuts.catalog else {
        return None;
    };
    let style = listing(cuts);
    let mut report = render_within(entries, &style, size.percent(percent), &estimate_tokens).report;
    if matches!(cuts.catalog, CatalogLimit::PercentByUse(_)) && !report.omitted.is_empty() {
        report.omitted.clear();
        (report.included, report.shortened) = (report.total, report.total);
    }
    Some(report)
}

/// The style of the list that a client writes, before its budget.
pub(crate) fn listing(cuts: Cuts) -> CatalogStyle {
    CatalogStyle::new(Shape::Compact).with_max_description(cuts.description)
}

/// Why the client whose view a registry has does not offer a skill to its model.
pub(crate) fn not_for_model(candidate: &Candidate, registry: &Registry) -> Option<Fact> {
    let hides = registry.client()?.reads().hides;
    candidate.sighting?.facts.common(hides).iter().next()
}

/// Whether a client may list a skill that Prowess does not read.
pub(crate) fn is_not_read(skill: &Candidate) -> bool {
    skill.sighting.is_some_and(|sighting| sighting.facts.has(Fact::NotRead))
}
