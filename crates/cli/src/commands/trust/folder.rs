//! What trust in a folder covers: everything below it, wherever a command is started and whatever the project's own
//! file leaves out.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use prowess::env::Environment;
use prowess::install::Origins;
use prowess::internal::{Below, EffectiveSettings, WhyUnused, file_of};
use prowess::library::library;
use prowess::registry::RegistryError;
use prowess::{Candidate, Catalog, Duplicates, ProjectLimits, Registry, Scope, SourceError, SourceErrorKind};

use super::shown::{MAX_BYTES, Setting, ShownSkill, TrustPreview, names, previewed};
use crate::args::Places;
use crate::commands::hints::of_registry;
use crate::commands::{Purpose, library_options, no_library};
use crate::error::{CommandError, Failure};
use crate::explain::provenance::read_origins;

/// A look at a folder that may become trusted.
pub(super) struct FolderLook<'l> {
    folder: &'l Path,
    environment: Environment,
    shown: TrustPreview,
    /// The skills that were shown or need no trust, by the paths of their files, or by their locations.
    seen: HashSet<PathBuf>,
    /// The skills that could not be read, with the paths of their files: perhaps only because a link leads out of the
    /// project, and the walk over everything below reads them.
    unread: Vec<(PathBuf, ShownSkill)>,
    /// The entries in the locks.
    origins: Origins,
    /// The bytes that may still be read.
    left: u64,
}

impl<'l> FolderLook<'l> {
    pub(super) fn at(folder: &'l Path) -> Result<TrustPreview, CommandError> {
        let below = Below::of(folder).map_err(|error| unread(&error))?;
        let mut look = Self {
            folder,
            environment: Environment::current(),
            shown: TrustPreview { is_folder: true, ..TrustPreview::default() },
            seen: HashSet::new(),
            unread: Vec::new(),
            origins: read_origins(),
            left: MAX_BYTES,
        };
        look.from(folder)?;
        for configured in below.configured.iter().filter(|configured| *configured != folder) {
            look.from(configured)?;
        }
        let catalog = below.registry.catalog();
        let names = names(&catalog);
        look.skills(&below.registry, &catalog, &names);
        for (place, skill) in std::mem::take(&mut look.unread) {
            if look.seen.insert(place) {
                look.shown.skills.push(skill);
            }
        }
        let problems = below.registry.problems();
        look.shown.unseen.extend(problems.iter().map(|problem| problem.full_message()));
        // Settings in a folder that cannot be read need no line of their own.
        let unreadable: HashSet<&Path> = problems
            .iter()
            .filter(|problem| matches!(problem.kind, SourceErrorKind::Io(_)))
            .filter_map(|problem| problem.at.path().map(Path::new))
            .collect();
        let unseen = below.unseen.iter().filter(|folder| !unreadable.contains(folder.as_path()));
        look.shown.unseen.extend(unseen.map(|folder| format!("settings in {}", folder.display())));
        let mut seen = HashSet::new();
        look.shown.unseen.retain(|line| seen.insert(line.clone()));
        Ok(look.shown)
    }

    /// Adds what a command that is started in a folder finds, and what its configuration names.
    fn from(&mut self, start: &Path) -> Result<(), CommandError> {
        // The limits of a project that is not trusted would hide what comes after them.
        let limits = ProjectLimits::default().with_skills(usize::MAX).with_entries(usize::MAX);
        let limits = limits.with_listed_bytes(MAX_BYTES).with_read_bytes(MAX_BYTES);
        let options = library_options(&Places::default(), Purpose::Look);
        let options = options.with_cache(false).with_project_limits(limits);
        let options = options.with_duplicates(Some(Duplicates::First));
        let registry = library(start, &self.environment, &options).map_err(|error| no_library(&error))?;
        registry.refresh_local().map_err(|error| unread(&error))?;
        let catalog = registry.catalog();
        self.skills(&registry, &catalog, &names(&catalog));
        for problem in registry.problems() {
            self.problem(&problem);
        }
        self.settings(start)
    }

    fn skills(&mut self, registry: &Registry, catalog: &Catalog, names: &[&str]) {
        for (skill, _) in catalog.all() {
            let location = &skill.entry.origin.location;
            let place = PathBuf::from(location.to_string());
            if !self.is_covered(skill) {
                self.seen.insert(place);
                continue;
            }
            if skill.is_broken() {
                let skill = previewed(skill, registry, names, &self.origins, &mut self.left);
                self.unread.push((place, skill));
                continue;
            }
            // A link to a skill is not another skill.
            let real = if location.path().is_some() { real(&place) } else { place.clone() };
            if !self.seen.contains(&place) && self.seen.insert(real) {
                self.seen.insert(place);
                self.shown.skills.push(previewed(skill, registry, names, &self.origins, &mut self.left));
            }
        }
    }

    /// Whether trust in the folder is about this skill.
    fn is_covered(&self, skill: &Candidate) -> bool {
        let file = file_of(&skill.entry.origin.location);
        skill.entry.origin.scope == Scope::Project && file.is_some_and(|file| file.starts_with(self.folder))
    }

    fn problem(&mut self, problem: &SourceError) {
        let is_here = problem.at.file().is_some_and(|file| Path::new(file).starts_with(self.folder));
        let (kept, said) = match &problem.kind {
            SourceErrorKind::SiteOfProject | SourceErrorKind::OutsideProject => {
                (&mut self.shown.reads, problem.at.text().into_owned())
            }
            // These are not used, trusted or not.
            SourceErrorKind::ServerOfProject
            | SourceErrorKind::OtherOwner
            | SourceErrorKind::Distrusted { .. } => return,
            // The walk over everything below has larger limits, and says by itself what is beyond them.
            SourceErrorKind::TooDeep { .. } | SourceErrorKind::TooMany { .. }
                if problem.at.path().is_some_and(|path| Path::new(path).is_dir()) =>
            {
                return;
            }
            _ if is_here => (&mut self.shown.unseen, problem.full_message()),
            _ => return,
        };
        if !kept.contains(&said) {
            kept.push(said);
        }
    }

    /// Adds the settings that wait for trust, of a file in this folder.
    fn settings(&mut self, start: &Path) -> Result<(), CommandError> {
        let settings =
            EffectiveSettings::of(start, &self.environment, &[]).map_err(|error| no_library(&error))?;
        let Some(project) = settings.project.as_ref().filter(|file| file.path.parent() == Some(start)) else {
            return Ok(());
        };
        // Also a link is a file of the project.
        let target = real(&project.path);
        if !target.starts_with(real(self.folder)) {
            self.shown.reads.push(target.to_string_lossy().into_owned());
        }
        for (setting, why) in &settings.unused {
            if *why == WhyUnused::Untrusted {
                self.shown.settings.push(Setting {
                    key: setting.key.to_string(),
                    value: setting.value.clone().unwrap_or_default(),
                    file: project.path.clone(),
                });
            }
        }
        Ok(())
    }
}

/// A path without links.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

fn unread(error: &RegistryError) -> CommandError {
    Failure::new(error.to_string(), of_registry(error, false)).into()
}
