//! Skills that are checked by their names: only folders of skills on this machine are searched.

use std::path::{Path, PathBuf};

use prowess::env::{self, Environment};
use prowess::internal::did_you_mean;
use prowess::library::clients;
use prowess::source::Source as _;
use prowess::text::similar;
use prowess::{DirSource, ScanOptions};

use crate::commands::confined::{approvals, project_of_root};
use crate::error::Failure;

/// The paths, with each name of a skill replaced by its SKILL.md. A path that exists is never a name.
pub(super) fn resolved(paths: &[PathBuf]) -> Vec<PathBuf> {
    paths.iter().map(|path| named(path).unwrap_or_else(|| path.clone())).collect()
}

/// The failure of a word that is neither a path nor the name of a skill, if there are skills with similar names.
pub(super) fn misspelt(path: &Path) -> Option<Failure> {
    let name = path.to_str().filter(|name| is_name(name) && path.symlink_metadata().is_err())?;
    let found = sources().filter_map(|source| source.list().ok()).flat_map(|listed| listed.skills);
    let names: Vec<String> = found.map(|skill| skill.entry.name).collect();
    let meant = did_you_mean(&similar(name, names.iter().map(String::as_str)))?;
    let error = format!("there is no such file, folder or skill: {name}; {meant}");
    Some(Failure::new(error, "check the spelling, or list the skills with: prowess list"))
}

/// The folders where agents keep skills, as sources. No link leads out of a project that is not trusted.
fn sources() -> impl Iterator<Item = DirSource> {
    let (from, approvals) = (env::absolute(Path::new(".")), approvals());
    let roots = clients::common_roots(&from, &Environment::current());
    roots.into_iter().map(move |root| {
        let within = project_of_root(&root, &from, &approvals);
        DirSource::new(root.path, ScanOptions::default().with_max_depth(root.depth).with_within(within))
    })
}

/// The SKILL.md of the first skill with this name, in the folders where agents keep skills.
pub(in crate::commands) fn named(path: &Path) -> Option<PathBuf> {
    let name = path.to_str().filter(|name| is_name(name) && path.symlink_metadata().is_err())?;
    sources().find_map(|source| {
        let skill = source.list().ok()?.skills.into_iter().find(|skill| {
            // A skill that was installed under another name answers to both.
            skill.entry.name == name || skill.entry.origin.folder.as_deref() == Some(name)
        })?;
        skill.entry.origin.location.path().map(PathBuf::from)
    })
}

fn is_name(word: &str) -> bool {
    word != "-" && !word.contains(['/', '\\', '.'])
}
