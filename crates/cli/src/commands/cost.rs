//! What a skill costs in tokens, for `prowess list --cost`.

use std::collections::BTreeMap;

use prowess::library::config::SessionConfig;
use prowess::render::{Budget, CatalogStyle, Shape, estimate_tokens, render_catalog};
use prowess::select::{All, Query, SelectOptions};
use prowess::session::{PromptOptions, Session, Untrusted};
use prowess::{Candidate, Entry, Location, Registry, Standing};
use serde::Serialize;

use super::client_prompt::ClientPrompt;
use crate::args::CatalogSize;

/// About how many tokens a skill costs at each level. Prompts are estimated as `prompt` does it, files at four bytes per
/// token.
#[derive(Clone, Copy, Serialize)]
pub(super) struct Cost {
    pub(super) catalog: u64,
    /// `None` if the sizes of the files are not known without fetching them.
    pub(super) instructions: Option<u64>,
    pub(super) resources: Option<u64>,
}

impl Cost {
    pub(super) fn of(
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
        let catalog = if *standing == Standing::Listed { prompts.tokens_more(candidate) } else { 0 };
        if files.files.iter().any(|file| file.unmeasured) {
            return Self { catalog, instructions: None, resources: None };
        }
        let own =
            files.files.iter().find(|file| names.contains(&file.path.as_str())).map_or(0, |file| file.size);
        Self {
            catalog,
            instructions: Some(tokens(own.saturating_sub(entry.body_offset as u64))),
            resources: Some(tokens(files.total_size().saturating_sub(own))),
        }
    }
}

/// The prompts of a client, or of sessions as the configurations set them up.
pub(super) struct Prompts {
    /// The skills that are in them, or would be if they were trusted, as they are written there.
    shown: BTreeMap<Location, Entry>,
    style: CatalogStyle,
    client: Option<ClientPrompt>,
}

/// About how many tokens the skills of a list have in a prompt.
#[derive(Clone, Copy)]
pub(super) struct PromptTokens {
    /// The whole catalog.
    pub(super) all: usize,
    /// The skills in it, without the text around them.
    pub(super) skills: u64,
    /// The skills that are not in it because they are not trusted.
    pub(super) untrusted: u64,
}

impl Prompts {
    pub(super) fn new(registry: &Registry, said: &SessionConfig) -> Self {
        let by_place = |skill: &Candidate| (skill.entry.origin.location.clone(), skill.entry.clone());
        if let Some(client) = ClientPrompt::of(registry, &CatalogSize::default()) {
            let (shown, style) = (client.catalog.iter().map(by_place).collect(), client.listing());
            return Self { shown, style, client: Some(client) };
        }
        let mut style = CatalogStyle::new(Shape::Xml);
        style.location |= said.location.unwrap_or_default();
        let catalog = registry.catalog();
        let policy = said.policy().with_untrusted(Untrusted::Ask);
        let mut session = Session::new("list", registry.catalog(), policy, said.options());
        let available_tools = said.tools.clone().unwrap_or_default();
        let select = SelectOptions::default().with_available_tools(available_tools);
        let every = Query::default();
        let options = PromptOptions::new(&style, Budget::Unlimited).with_query(&every, &All, &select);
        // An empty query asks no selector, so there is no error.
        let keys = session.prompt(&options).map(|prompt| prompt.skills).unwrap_or_default();
        let shown = keys.iter().filter_map(|key| catalog.get(key)).map(by_place).collect();
        Self { shown, style, client: None }
    }

    /// About how many tokens some skills have in a prompt, as `prompt` writes and counts them.
    pub(super) fn tokens(&self, skills: &[&Candidate]) -> PromptTokens {
        // Trust is a matter of Prowess: a client offers the others too.
        let (read, untrusted): (Vec<&Candidate>, Vec<&Candidate>) =
            skills.iter().copied().partition(|skill| self.client.is_some() || skill.is_usable());
        let sum = |skills: &[&Candidate]| skills.iter().map(|skill| self.tokens_more(skill)).sum::<u64>();
        let entries: Vec<&Entry> =
            read.iter().filter_map(|skill| self.shown.get(&skill.entry.origin.location)).collect();
        let all = match &self.client {
            Some(client) if entries.len() == self.shown.len() => client.tokens(),
            Some(_) if entries.is_empty() => 0,
            _ => self.count(&entries),
        };
        PromptTokens { all, skills: sum(&read), untrusted: sum(&untrusted) }
    }

    /// How many more tokens a prompt has with a skill than without it.
    fn tokens_more(&self, skill: &Candidate) -> u64 {
        let Some(entry) = self.shown.get(&skill.entry.origin.location) else { return 0 };
        (self.count(&[entry, entry]) - self.count(&[entry])) as u64
    }

    fn count(&self, skills: &[&Entry]) -> usize {
        estimate_tokens(&render_catalog(skills, &self.style))
    }
}
