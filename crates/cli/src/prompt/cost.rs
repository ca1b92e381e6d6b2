//! What a skill costs in tokens, for `prowess list --cost`.

use std::collections::BTreeMap;

use prowess::render::{
    Budget, BudgetReport, CatalogStyle, Shape, estimate_tokens, render_catalog, render_within,
};
use prowess::select::{All, Query, SelectOptions};
use prowess::session::{PromptOptions, Session, Untrusted};
use prowess::settings::SessionConfig;
use prowess::{Candidate, Entry, Location, Registry, Standing};
use serde::Serialize;

use super::ClientPrompt;
use crate::args::CatalogSize;
use crate::ui::{count, number};

/// About how many tokens a skill costs at each level. Prompts are estimated as `prompt` does it, files at four bytes per
/// token.
#[derive(Clone, Copy, Serialize)]
pub(crate) struct Cost {
    pub(crate) catalog: u64,
    /// The same before the budget of the prompt, if that cuts something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) uncut: Option<u64>,
    /// `None` if the sizes of the files are not known without fetching them.
    pub(crate) instructions: Option<u64>,
    pub(crate) resources: Option<u64>,
}

impl Cost {
    pub(crate) fn of(
        candidate: &Candidate,
        standing: &Standing,
        registry: &Registry,
        prompts: &Prompts,
    ) -> Self {
        let entry = &candidate.entry;
        let tokens = |bytes: u64| bytes.div_ceil(4);
        let files = registry.files_of(candidate).unwrap_or_default();
        let own = entry.origin.file.as_deref().unwrap_or("SKILL.md");
        let names = [own, "SKILL.md"];
        let is_listed = *standing == Standing::Listed;
        let catalog = if is_listed { prompts.tokens_more(candidate) } else { 0 };
        let uncut = prompts.uncut(candidate).map(|tokens| if is_listed { tokens } else { 0 });
        if files.files.iter().any(|file| file.unmeasured) {
            return Self { catalog, uncut, instructions: None, resources: None };
        }
        let own =
            files.files.iter().find(|file| names.contains(&file.path.as_str())).map_or(0, |file| file.size);
        Self {
            catalog,
            uncut,
            instructions: Some(tokens(own.saturating_sub(entry.body_offset as u64))),
            resources: Some(tokens(files.total_size().saturating_sub(own))),
        }
    }
}

/// The prompts of a client, or of sessions as the configurations set them up, within their budget.
pub(crate) struct Prompts {
    /// The skills that are in them, or would be if they were trusted and fitted, as they are written there.
    whole: BTreeMap<Location, Entry>,
    /// The same without those that do not fit.
    shown: BTreeMap<Location, Entry>,
    /// The style before the budget, and within it.
    whole_style: CatalogStyle,
    style: CatalogStyle,
    /// What the budget did.
    report: Option<BudgetReport>,
    /// Whether they are the prompts of a client.
    of_client: bool,
}

/// About how many tokens the skills of a list have in a prompt.
#[derive(Clone)]
pub(crate) struct PromptTokens {
    /// The whole catalog.
    pub(crate) all: usize,
    /// The skills in it, without the text around them.
    pub(crate) skills: u64,
    /// The skills that are not in it because they are not trusted.
    pub(crate) untrusted: u64,
    /// What a budget cut.
    pub(crate) cut: Option<Cut>,
}

/// What a budget cut from a catalog.
#[derive(Clone)]
pub(crate) struct Cut {
    /// About how many tokens the catalog has before.
    pub(crate) uncut: usize,
    pub(crate) report: BudgetReport,
}

impl Cut {
    /// The size before, and the budget, in words.
    pub(crate) fn sizes(&self) -> String {
        let limit = budget_words(self.report.budget);
        format!("about {} tokens where {limit} fit", number(self.uncut as u64))
    }

    /// What is left out, in words.
    pub(crate) fn effects(&self) -> String {
        let BudgetReport { total, shortened, ref omitted, max_description, .. } = self.report;
        let mut effects = Vec::new();
        if !omitted.is_empty() {
            effects.push(format!("{} of {} left out", number(omitted.len() as u64), count(total, "skill")));
        }
        if shortened > 0 {
            effects.push(match max_description {
                Some(2..) => format!("{} shortened", count(shortened, "description")),
                _ => format!("{} without description", number(shortened as u64)),
            });
        }
        effects.join(", ")
    }
}

impl Prompts {
    pub(crate) fn new(registry: &Registry, session_config: &SessionConfig) -> Self {
        let by_place = |skill: &Candidate| (skill.entry.origin.location.clone(), skill.entry.clone());
        let size = CatalogSize::default();
        if let Some(client) = ClientPrompt::of(registry, &size) {
            return Self {
                whole: client.whole.iter().map(|skill| by_place(skill)).collect(),
                shown: client.catalog.iter().map(by_place).collect(),
                whole_style: client.uncut(),
                style: client.listing(),
                report: client.fitted,
                of_client: true,
            };
        }
        let mut style = CatalogStyle::new(Shape::Xml);
        style.location |= session_config.location.unwrap_or_default();
        let catalog = registry.catalog();
        let policy = session_config.policy().with_untrusted(Untrusted::Ask);
        let mut session = Session::new("list", registry.catalog(), policy, session_config.options());
        let available_tools = session_config.tools.clone().unwrap_or_default();
        let select = SelectOptions::default().with_available_tools(available_tools);
        let every = Query::default();
        let options = PromptOptions::new(&style, Budget::Unlimited).with_query(&every, &All, &select);
        // An empty query asks no selector, so there is no error.
        let keys = session.prompt(&options).map(|prompt| prompt.skills).unwrap_or_default();
        let whole: Vec<&Candidate> = keys.iter().filter_map(|key| catalog.get(key)).collect();
        let usable: Vec<&Candidate> = whole.iter().copied().filter(|skill| skill.is_usable()).collect();
        let entries: Vec<&Entry> = usable.iter().map(|skill| &skill.entry).collect();
        let report = render_within(&entries, &style, size.budget(), &estimate_tokens).report;
        let untrusted = whole.iter().copied().filter(|skill| !skill.is_usable());
        let shown = usable.iter().copied().take(report.included).chain(untrusted);
        Self {
            shown: shown.map(by_place).collect(),
            whole: whole.into_iter().map(by_place).collect(),
            style: style.clone().with_max_description(report.max_description),
            whole_style: style,
            report: Some(report),
            of_client: false,
        }
    }

    /// Whether a budget cuts them.
    fn is_cut(&self) -> bool {
        self.report.as_ref().is_some_and(|report| report.shortened + report.omitted.len() > 0)
    }

    /// About how many tokens some skills have in a prompt, as `prompt` writes and counts them.
    pub(crate) fn tokens(&self, skills: &[&Candidate]) -> PromptTokens {
        // Trust is a matter of Prowess: a client offers the others too.
        let (read, untrusted): (Vec<&Candidate>, Vec<&Candidate>) =
            skills.iter().copied().partition(|skill| self.of_client || skill.is_usable());
        let sum = |skills: &[&Candidate]| skills.iter().map(|skill| self.tokens_more(skill)).sum::<u64>();
        let among = |entries: &BTreeMap<Location, Entry>| -> Vec<Entry> {
            read.iter().filter_map(|skill| entries.get(&skill.entry.origin.location)).cloned().collect()
        };
        let (shown, whole) = (among(&self.shown), among(&self.whole));
        let all = match &self.report {
            _ if self.of_client && shown.is_empty() => 0,
            Some(report) if whole.len() == report.total && report.total > 0 => report.used,
            _ => count_tokens(&shown.iter().collect::<Vec<_>>(), &self.style),
        };
        let cut = self.report.clone().filter(|report| self.is_cut() && whole.len() == report.total);
        let uncut = || count_tokens(&whole.iter().collect::<Vec<_>>(), &self.whole_style);
        PromptTokens {
            all,
            skills: sum(&read),
            untrusted: sum(&untrusted),
            cut: cut.map(|report| Cut { uncut: uncut(), report }),
        }
    }

    /// How many more tokens a prompt has with a skill than without it.
    fn tokens_more(&self, skill: &Candidate) -> u64 {
        more_with(self.shown.get(&skill.entry.origin.location), &self.style)
    }

    /// The same before a budget, if one cuts the prompts.
    fn uncut(&self, skill: &Candidate) -> Option<u64> {
        let entry = self.whole.get(&skill.entry.origin.location);
        self.is_cut().then(|| more_with(entry, &self.whole_style))
    }
}

fn more_with(entry: Option<&Entry>, style: &CatalogStyle) -> u64 {
    let Some(entry) = entry else { return 0 };
    (count_tokens(&[entry, entry], style) - count_tokens(&[entry], style)) as u64
}

fn count_tokens(skills: &[&Entry], style: &CatalogStyle) -> usize {
    estimate_tokens(&render_catalog(skills, style))
}

/// A budget in words, without the unit if that is tokens.
fn budget_words(budget: Budget) -> String {
    match budget {
        Budget::Tokens(tokens) => number(tokens as u64),
        Budget::Characters(characters) => count(characters, "character"),
        Budget::Unlimited => "all".to_owned(),
    }
}
