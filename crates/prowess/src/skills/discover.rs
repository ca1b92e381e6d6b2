//! [`discover`]: the skills of some folders in one call.

use std::path::Path;

use prowess_core::{Entry, Profile};

use super::SkillsError;
use crate::env::Environment;
use crate::fs::walk::ScanOptions;
use crate::registry::Registry;
use crate::source::DirSource;

/// The skills in some folders, as one list. If two skills have the same name, the first one wins, in the order of the
/// folders. A leading `~` is expanded to the user's home folder.
pub fn discover(roots: &[&Path], options: &ScanOptions) -> Result<Vec<Entry>, SkillsError> {
    discovered(roots, options, None)
}

/// The skills in some folders that have no error under a profile, for a strict host. `on_error` in the options decides
/// what happens to the others.
pub fn discover_judged(
    roots: &[&Path],
    options: &ScanOptions,
    profile: &Profile,
) -> Result<Vec<Entry>, SkillsError> {
    discovered(roots, options, Some(profile))
}

fn discovered(
    roots: &[&Path],
    options: &ScanOptions,
    profile: Option<&Profile>,
) -> Result<Vec<Entry>, SkillsError> {
    let mut registry = Registry::new();
    let environment = Environment::current();
    for root in roots {
        let expanded = root.to_str().and_then(|root| environment.expand(root));
        let source = DirSource::new(expanded.as_deref().unwrap_or(root), options.clone());
        registry.add(match profile {
            Some(profile) => source.with_profile(profile.clone()),
            None => source,
        });
    }
    registry.refresh()?;
    Ok(registry.catalog().list().into_iter().cloned().collect())
}
