//! Settings of a project that have no effect, because the project is not trusted or because they are about skills that are
//! not its own.

use std::path::Path;

use prowess::env::{self, Environment};
use prowess::internal::InForce;
use prowess::library::clients;
use prowess::{Catalog, Config, Scope};

use super::hints::trust_command;
use crate::ui::Ui;

/// The most names of skills in one sentence.
const MAX_NAMES: usize = 5;

/// Says in a line which settings of the project have no effect.
pub(super) fn say(catalog: &Catalog, ui: &mut Ui) {
    for sentence in said(catalog) {
        ui.note(&sentence);
    }
}

/// Which settings of the project have no effect, in a sentence for each reason.
pub(super) fn said(catalog: &Catalog) -> Vec<String> {
    // Most folders have no such file, and every command asks.
    if Config::find(&env::absolute(Path::new("."))).file.is_none() {
        return Vec::new();
    }
    let Ok(in_force) = InForce::of(Path::new("."), &Environment::current(), &[]) else { return Vec::new() };
    [untrusted(&in_force), not_its_own(&in_force, catalog)].into_iter().flatten().collect()
}

/// The keys that have no effect because the project is not trusted, without sources: each of them is reported by itself.
pub(super) fn waiting_keys(in_force: &InForce) -> Vec<String> {
    in_force.untrusted().into_iter().filter(|key| key != "skills.sources").collect()
}

/// The settings that have no effect because the project is not trusted.
pub(super) fn untrusted(in_force: &InForce) -> Option<String> {
    let keys = waiting_keys(in_force);
    let file = &in_force.project.as_ref()?.path;
    if keys.is_empty() {
        return None;
    }
    Some(format!(
        "the project is not trusted, so these settings have no effect: {} in {}; trust it with: {}",
        keys.join(", "),
        file.display(),
        trust_command(folder_of_project(file))
    ))
}

/// The folder to trust, so that a `prowess.toml` takes effect.
pub(super) fn folder_of_project(file: &Path) -> &Path {
    file.parent().map_or(file, clients::project)
}

/// The names of the skills that a project would turn off, and that are not its own.
pub(super) fn left_by_project<'c>(in_force: &InForce, catalog: &'c Catalog) -> Vec<&'c str> {
    let globs = in_force.disabled_by_project();
    let is_meant = |key: &str, name: &str| globs.iter().any(|glob| glob.matches(key) || glob.matches(name));
    let mut names: Vec<&str> = catalog
        .iter()
        .map(|skill| &skill.entry)
        .filter(|entry| entry.origin.scope != Scope::Project && is_meant(&entry.key, &entry.name))
        .map(|entry| entry.key.as_str())
        .collect();
    names.sort_unstable();
    names
}

/// The skills that a project would turn off, and that are not its own.
pub(super) fn not_its_own(in_force: &InForce, catalog: &Catalog) -> Option<String> {
    let file = &in_force.project.as_ref()?.path;
    let mut names = left_by_project(in_force, catalog);
    if names.is_empty() {
        return None;
    }
    let more = names.len().saturating_sub(MAX_NAMES);
    names.truncate(MAX_NAMES);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    Some(format!(
        "a project turns off only its own skills, so skills.disable in {} leaves these: {}{more}",
        file.display(),
        names.join(", ")
    ))
}
