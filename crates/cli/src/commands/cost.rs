//! What a skill costs in tokens, for `prowess list --cost`.

use std::collections::BTreeSet;
use std::sync::Arc;

use prowess::library::config::SessionConfig;
use prowess::render::{Budget, CatalogStyle, Shape, estimate_tokens, render_catalog};
use prowess::select::{All, Query, SelectOptions};
use prowess::session::{PromptOptions, Session, Untrusted};
use prowess::{Candidate, Catalog, Entry, Registry, Standing};
use serde::Serialize;

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
        let catalog = if *standing == Standing::Listed { prompts.tokens_more(entry) } else { 0 };
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

/// The prompts of sessions, as the configurations set them up.
pub(super) struct Prompts {
    /// The keys of the skills that are in them, or would be if they were trusted.
    shown: BTreeSet<String>,
    style: CatalogStyle,
}

impl Prompts {
    pub(super) fn new(catalog: Arc<Catalog>, said: &SessionConfig) -> Self {
        let mut style = CatalogStyle::new(Shape::Xml);
        style.location |= said.location.unwrap_or_default();
        let policy = said.policy().with_untrusted(Untrusted::Ask);
        let mut session = Session::new("list", catalog, policy, said.options());
        let available_tools = said.tools.clone().unwrap_or_default();
        let select = SelectOptions::default().with_available_tools(available_tools);
        let every = Query::default();
        let options = PromptOptions::new(&style, Budget::Unlimited).with_query(&every, &All, &select);
        // An empty query asks no selector, so there is no error.
        let shown = session.prompt(&options).map(|prompt| prompt.skills.into_iter().collect());
        Self { shown: shown.unwrap_or_default(), style }
    }

    /// About how many tokens the skills that may be used have in a prompt, as `prompt` writes and counts them.
    pub(super) fn tokens(&self, skills: &[&Candidate]) -> usize {
        let entries = skills.iter().filter(|skill| skill.is_usable()).map(|skill| &skill.entry);
        self.count(&entries.filter(|entry| self.shown.contains(&entry.key)).collect::<Vec<_>>())
    }

    /// How many more tokens a prompt has with a skill than without it.
    fn tokens_more(&self, skill: &Entry) -> u64 {
        if !self.shown.contains(&skill.key) {
            return 0;
        }
        (self.count(&[skill, skill]) - self.count(&[skill])) as u64
    }

    fn count(&self, skills: &[&Entry]) -> usize {
        estimate_tokens(&render_catalog(skills, &self.style))
    }
}
