//! One call for one answer: a skill from its folder or its text, and the skills of some folders.

use std::path::Path;

use prowess_core::{Entry, LoadError, Origin, Profile, Skill, parse};

use crate::env::{self, Environment};
use crate::error::SourceError;
use crate::fs::read;
use crate::fs::walk::{self, ScanOptions};
use crate::registry::{Registry, RegistryError};
use crate::source::DirSource;

/// Loads one skill from its folder or its SKILL.md. `~` is the user's folder.
pub fn load(path: &Path, profile: &Profile) -> Result<Skill, RegistryError> {
    let path = &env::place(path);
    let file = if path.is_dir() {
        let names = walk::FILE_NAMES.map(|name| path.join(name));
        let found = names.into_iter().find(|file| file.symlink_metadata().is_ok());
        found.ok_or_else(|| SourceError::NoSkill { path: path.to_owned() })?
    } else {
        path.to_owned()
    };
    let document = read::read_skill(&file)?.document();
    let found = walk::Found { path: file };
    let listing = read::list(found.folder())?;
    let entry = document.load(&found.origin(), Some(&listing.manifest), profile)?;
    Ok(Skill { entry, instructions: document.body().to_owned() })
}

/// Loads a skill from its text.
pub fn loads(text: &str, profile: &Profile) -> Result<Skill, LoadError> {
    let document = parse(text.as_bytes());
    let entry = document.load(&Origin::text("<text>"), None, profile)?;
    Ok(Skill { entry, instructions: document.body().to_owned() })
}

/// The skills in some folders, as one list; of namesakes the first, in the order of the folders. `~` is the user's
/// folder.
pub fn discover(roots: &[&Path], options: &ScanOptions) -> Result<Vec<Entry>, RegistryError> {
    discovered(roots, options, None)
}

/// The same for a strict host: only skills that a profile finds no error in. What becomes of the others is for `on_error`
/// in the options to say.
pub fn discover_judged(
    roots: &[&Path],
    options: &ScanOptions,
    profile: &Profile,
) -> Result<Vec<Entry>, RegistryError> {
    discovered(roots, options, Some(profile))
}

fn discovered(
    roots: &[&Path],
    options: &ScanOptions,
    profile: Option<&Profile>,
) -> Result<Vec<Entry>, RegistryError> {
    let mut registry = Registry::new();
    let environment = Environment::current();
    for root in roots {
        let expanded = root.to_str().and_then(|root| environment.expand(root));
        let source = DirSource::new(expanded.as_deref().unwrap_or(root), options.clone());
        registry.add(match profile {
            Some(profile) => source.judged_by(profile.clone()),
            None => source,
        });
    }
    registry.refresh()?;
    Ok(registry.catalog().list().into_iter().cloned().collect())
}
