//! What is shown before it is trusted: the skills with their files, scripts, tools and hooks, and the settings that would
//! have an effect.

use std::fmt::Write as _;
use std::path::Path;

use prowess::env::Environment;
use prowess::install::Preview;
use prowess::internal::{InForce, preview_of_found};
use prowess::library::library;
use prowess::{Candidate, Catalog, Registry, Scope, SourceErrorKind};
use serde_json::{Value, json};

use crate::args::Places;
use crate::commands::install::preview_lines;
use crate::commands::{Purpose, library_options, no_library};
use crate::error::{CommandError, Failure};
use crate::report::json::VERSION;
use crate::ui::{HINT, clean};

/// The most bytes of skills that are read for one preview.
const MAX_BYTES: u64 = 256 << 20;

/// Skills with what they could do, and what else trust would change.
pub(super) struct Shown {
    skills: Vec<(String, String, Preview)>,
    /// The keys of the project's file that would have an effect.
    settings: Vec<String>,
    /// What would be read besides: sites, and places outside of the folder.
    reads: Vec<String>,
    is_folder: bool,
}

impl Shown {
    /// One skill.
    pub(super) fn of_skill(skill: &Candidate, registry: &Registry, catalog: &Catalog) -> Self {
        let skills = vec![previewed(skill, registry, &names(catalog), &mut { MAX_BYTES })];
        Self { skills, settings: Vec::new(), reads: Vec::new(), is_folder: false }
    }

    /// The skills in a folder, as a command in that folder finds them.
    pub(super) fn of_folder(folder: &Path) -> Result<Self, CommandError> {
        let environment = Environment::current();
        let options = library_options(&Places::default(), Purpose::Look).with_cache(false);
        let registry = library(folder, &environment, &options).map_err(|error| no_library(&error))?;
        registry.refresh_local().map_err(|error| {
            Failure::new(error.to_string(), "check the folders that the configurations name")
        })?;
        let catalog = registry.catalog();
        let mut left = MAX_BYTES;
        let is_in = |skill: &Candidate| {
            let file = skill.entry.origin.location.file();
            skill.entry.origin.scope == Scope::Project
                && file.is_some_and(|file| Path::new(file).starts_with(folder))
        };
        let (all, names) = (catalog.all().map(|(skill, _)| skill), names(&catalog));
        let skills = all
            .filter(|skill| is_in(skill))
            .map(|skill| previewed(skill, &registry, &names, &mut left))
            .collect();
        let in_force = InForce::of(folder, &environment, &[]).map_err(|error| no_library(&error))?;
        let is_here = in_force.project.as_ref().is_some_and(|project| project.path.starts_with(folder));
        let settings = if is_here { in_force.untrusted() } else { Vec::new() };
        let is_withheld = |kind: &SourceErrorKind| {
            matches!(kind, SourceErrorKind::SiteOfProject | SourceErrorKind::OutsideProject)
        };
        let problems = registry.problems();
        let withheld = problems.iter().filter(|problem| is_withheld(&problem.kind));
        let reads = withheld.map(|problem| problem.at.text().into_owned()).collect();
        Ok(Self { skills, settings, reads, is_folder: true })
    }

    /// In lines, as before an installation.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        for (key, location, preview) in &self.skills {
            let lines = preview_lines(key, preview);
            let (name, rest) = lines.split_once('\n').unwrap_or((&lines, ""));
            let _ = writeln!(text, "{name}\n  {HINT}at{HINT:#}  {}", clean(location));
            text.push_str(rest);
        }
        if self.is_folder && self.skills.is_empty() {
            text.push_str("no skills are found there now\n");
        }
        let mut line = |title: &str, what: &str| {
            let _ = writeln!(text, "{HINT}{title}{HINT:#}  {}", clean(what));
        };
        if !self.settings.is_empty() {
            line("settings that take effect", &self.settings.join(", "));
        }
        for place in &self.reads {
            line("will also be read", place);
        }
        text
    }

    /// As JSON, with what was done or would be.
    pub(super) fn json(&self, member: &str, said: &str) -> Value {
        let skill = |(key, location, preview): &(String, String, Preview)| json!({"name": key, "location": location, "preview": preview});
        let previews: Vec<Value> = self.skills.iter().map(skill).collect();
        json!({
            "version": VERSION,
            member: said,
            "previews": previews,
            "settings": self.settings,
            "reads": self.reads,
        })
    }
}

fn names(catalog: &Catalog) -> Vec<&str> {
    catalog.all().map(|(skill, _)| skill.entry.key.as_str()).collect()
}

fn previewed(
    skill: &Candidate,
    registry: &Registry,
    names: &[&str],
    left: &mut u64,
) -> (String, String, Preview) {
    let location = skill.entry.origin.location.to_string();
    (skill.entry.key.clone(), location, preview_of_found(registry, skill, names, left))
}
