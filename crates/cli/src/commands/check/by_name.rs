//! Skills that are checked by their names: only folders of skills on this machine are searched.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use prowess::env::{self, Environment};
use prowess::internal::did_you_mean;
use prowess::library::clients;
use prowess::source::Source as _;
use prowess::text::similar;
use prowess::{DirSource, ScanOptions};

use crate::args::Places;
use crate::commands::confined::{approvals, project_of_root};
use crate::commands::near_miss::built_in;
use crate::commands::{read_skill, shown};
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

/// The failure of a word that is neither a path nor the name of a skill with a file, and of a file that is no SKILL.md.
pub(super) fn not_a_skill(path: &Path) -> Option<Failure> {
    if path.is_file() {
        let is_markdown = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md"));
        return (!is_markdown).then(|| read_skill(path).err().unwrap_or_else(|| no_skill_file(path)));
    }
    let name = path.to_str().filter(|name| is_name(name) && path.symlink_metadata().is_err())?;
    let unknown = || {
        let error = format!("there is no such file, folder or skill: {name}");
        let failure = Failure::new(error, "check the spelling, or list the skills with: prowess list");
        Failure { path: Some(name.to_owned()), ..failure }
    };
    built_in(name, &Places::default()).or_else(|| misspelt(path)).or_else(|| Some(unknown()))
}

fn no_skill_file(path: &Path) -> Failure {
    let error = format!("this is not a SKILL.md: {}", shown(path));
    let hint = "give the SKILL.md or the folder of a skill, or its name";
    Failure { path: Some(shown(path)), ..Failure::new(error, hint) }
}

/// How many other skills have the name of the one that is checked.
pub(super) fn others(name: &Path, checked: &Path) -> usize {
    let Some(name) = name.to_str() else { return 0 };
    let found = sources().filter_map(|source| source.list().ok()).flat_map(|listed| listed.skills);
    let files = found.filter(|skill| skill.entry.name == name).filter_map(|skill| {
        // A folder that several links lead to is one skill.
        skill.entry.origin.location.path().and_then(|path| fs::canonicalize(path).ok())
    });
    let mut files: BTreeSet<PathBuf> = files.collect();
    files.remove(&fs::canonicalize(checked).unwrap_or_default());
    files.len()
}
