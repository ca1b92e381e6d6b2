//! What is in a folder of some name when no skill was found there: a link to another skill, or a SKILL.md that cannot be
//! read.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use prowess::env::{self, Environment};
use prowess::fs::read::read_skill;
use prowess::fs::walk::FILE_NAMES;
use prowess::internal::builtin_names;
use prowess::library::clients::{self, CLIENTS};
use prowess::library::is_builtin;
use prowess::text::similar;
use prowess::{Catalog, Registry, SourceError, SourceErrorKind};
use serde::Serialize;

use super::hints::command_for;
use super::shown;
use super::unread::failure;
use crate::args::Places;
use crate::error::Failure;

/// Why a folder with the right name is not a skill.
pub(super) enum NearMiss {
    /// It is a link to another skill, or its SKILL.md is.
    Link(Link),
    /// Its SKILL.md cannot be read.
    Unreadable(SourceError),
    /// It is a link that leads out of a project that is not trusted.
    Outside(Failure),
}

/// A link to a skill that is listed by its own path.
#[derive(Serialize)]
pub(super) struct Link {
    path: PathBuf,
    target: PathBuf,
    /// The key of that skill.
    key: String,
}

impl NearMiss {
    /// Looks for a folder of this name beside the skills that were found, and where skills are looked for.
    pub(super) fn of(name: &str, places: &Places, registry: &Registry) -> Option<Self> {
        let mut parts = Path::new(name).components();
        let (Some(Component::Normal(name)), None) = (parts.next(), parts.next()) else { return None };
        let is_it = |problem: &&Arc<SourceError>| {
            let path = problem.at.path().map(Path::new);
            matches!(problem.kind, SourceErrorKind::OutsideProject)
                && path.and_then(Path::file_name) == Some(name)
        };
        if let Some(problem) = registry.problems().iter().find(is_it) {
            return Some(Self::Outside(failure(problem, registry)));
        }
        let catalog = &registry.catalog();
        folders(places, catalog).into_iter().find_map(|folder| {
            let folder = folder.join(name);
            let mut files = FILE_NAMES.iter().map(|file| folder.join(file));
            let file = files.find(|file| file.symlink_metadata().is_ok())?;
            let links = [folder, file.clone()];
            let link = links.into_iter().find(|path| path.is_symlink());
            match link.and_then(|link| Link::to_listed(link, &file, catalog)) {
                Some(link) => Some(Self::Link(link)),
                None => read_skill(&file).err().map(Self::Unreadable),
            }
        })
    }

    /// The message about it.
    pub(super) fn failure(&self, name: &str, places: &Places) -> Failure {
        match self {
            Self::Link(Link { path, target, key }) => {
                let hint = format!("see that skill with: {}", command_for("why", key, &places.options()));
                Failure::new(format!("no skill of this name was found: {name}"), hint)
                    .with_cause(format!("{} is a link to {}", shown(path), shown(target)))
                    .with_cause(format!("that skill is listed once, as {key}"))
            }
            Self::Unreadable(error) => Failure::from(error),
            Self::Outside(failure) => {
                let error = format!("not read, so it is not known whether this is a skill: {name}");
                let mut whole = Failure { error, ..failure.clone() };
                whole.causes.insert(0, failure.error.clone());
                whole
            }
        }
    }
}

/// The message about a built-in skill, which only some commands offer.
pub(super) fn built_in(name: &str, places: &Places) -> Option<Failure> {
    let is_it = places.sources.is_empty() && is_builtin(name);
    is_it.then(|| {
        Failure::new(
            format!("no agent lists this skill, it is built into prowess: {name}"),
            format!("read it with: {}", command_for("cat", name, "")),
        )
        .with_cause("the commands try, cat, activate and serve offer it".to_owned())
    })
}

/// The built-in skills that were probably meant by a name.
pub(super) fn near_built_in(name: &str, places: &Places) -> Vec<&'static str> {
    if places.sources.is_empty() { similar(name, builtin_names()) } else { Vec::new() }
}

impl Link {
    /// The link, if it leads to a skill that is listed.
    fn to_listed(link: PathBuf, file: &Path, catalog: &Catalog) -> Option<Self> {
        let real = fs::canonicalize(file).ok()?;
        let is_it = |path: &str| fs::canonicalize(path).is_ok_and(|path| path == real);
        let mut listed = catalog.all().map(|(skill, _)| &skill.entry);
        let entry = listed.find(|entry| entry.origin.location.path().is_some_and(is_it))?;
        let target = fs::canonicalize(&link).ok()?;
        Some(Self { path: link, target, key: entry.key.clone() })
    }
}

/// The folders in which skills are found, or are looked for.
fn folders(places: &Places, catalog: &Catalog) -> BTreeSet<PathBuf> {
    let found = catalog.all().filter_map(|(skill, _)| {
        let file = Path::new(skill.entry.origin.location.path()?);
        file.parent()?.parent().map(Path::to_owned)
    });
    let named = places.sources.iter().filter_map(|source| source.place.path().map(env::absolute));
    let of_options = places.clients.iter().filter_map(|id| clients::client(id));
    let clients: Vec<_> = match places.sources.is_empty() {
        true if places.clients.is_empty() => CLIENTS.iter().collect(),
        true => of_options.collect(),
        false => Vec::new(),
    };
    let (here, environment) = (env::absolute(Path::new(".")), Environment::current());
    let roots = clients.into_iter().flat_map(|client| client.roots(&here, &environment));
    found.chain(named).chain(roots.map(|root| root.path)).collect()
}
