//! Names in `--only` and `--except` that no skill has, which are often misspelt.

use prowess::internal::did_you_mean;
use prowess::path::Glob;
use prowess::text::similar;
use prowess::{Candidate, Registry};

use super::settings::AllLeftOut;
use crate::args::Places;
use crate::error::Failure;
use crate::ui::Ui;

/// Warns of each name in `--only` and `--except` that no skill has.
pub(super) fn say(places: &Places, registry: &Registry, ui: &mut Ui) {
    let catalog = registry.catalog();
    let options = [("--only", &places.scan.only), ("--except", &places.scan.except)];
    // Without skills, the name is not what is wrong.
    if options.iter().all(|(_, globs)| globs.is_empty()) || catalog.all().next().is_none() {
        return;
    }
    let keys = || catalog.all().map(|(skill, _)| &*skill.entry.key);
    for (option, globs) in options {
        for glob in globs.iter().filter(|glob| !has(registry, glob)) {
            let (text, lower) = (glob.to_string(), glob.to_string().to_lowercase());
            let near = match keys().find(|key| key.to_lowercase() == lower) {
                Some(key) => vec![key],
                None => similar(&text, keys()),
            };
            let all = || format!("see the names with: prowess list --all{}", places.options());
            let hint = did_you_mean(&near).unwrap_or_else(all);
            ui.warning(&Failure::new(format!("no skill has this name of {option}: {text}"), hint));
        }
    }
}

/// What is said of a library that offers no skill.
pub(super) fn nothing(places: &Places, registry: &Registry) -> String {
    if registry.catalog().all().next().is_none() {
        let left_out = AllLeftOut::of(places).map(|left_out| format!(": {}", left_out.words()));
        return format!("no skills here{}", left_out.unwrap_or_default());
    }
    let only = &places.scan.only;
    // A skill with such a name may have another fault.
    if only.is_empty() || only.iter().any(|glob| has(registry, glob)) {
        "no skills here".to_owned()
    } else {
        "no skill has a name that --only takes".to_owned()
    }
}

/// Whether a glob matches a name of a skill.
fn has(registry: &Registry, glob: &Glob) -> bool {
    let is_meant = |skill: &Candidate| registry.names_of(&skill.entry).any(|name| glob.matches(name));
    registry.catalog().all().any(|(skill, _)| is_meant(skill))
}
