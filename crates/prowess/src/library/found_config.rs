//! The configurations that are used: the user's own and that of the project, and the sources and settings that they
//! add.

use std::path::Path;

use prowess_core::{Location, Scope};

use super::LibraryError;
use super::named::Named;
use super::shown::Shown;
use crate::env::Environment;
use crate::error::{SourceError, SourceErrorKind};
use crate::fs::walk::{MissingRoot, ScanOptions};
use crate::registry::Registry;
use crate::registry::trust::Approvals;
use crate::settings::{Config, ConfigError, ConfigLimits, SessionConfig};
use crate::source::open::Opening;
use crate::source::spec::{Place, SourceSpec};

/// The session settings of these configurations: the user's, then those of a trusted project.
pub(super) fn said_of_sessions(configs: &[FoundConfig]) -> SessionConfig {
    let mut said = SessionConfig::default();
    for found in configs {
        match (found.own, found.trusted) {
            (true, _) => said = found.config.session.clone(),
            (false, true) => said.add_project(&found.config.session),
            (false, false) => {}
        }
    }
    said
}

/// A configuration that is used.
pub(super) struct FoundConfig {
    pub(super) config: Config,
    /// Whether it is the user's own.
    pub(super) own: bool,
    /// Whether it is trusted: it is the user's own, or in a folder that the user trusts.
    pub(super) trusted: bool,
}

/// The configurations that are used: the user's own, and that of the project.
pub(super) fn configs(
    from: &Path,
    environment: &Environment,
    limits: ConfigLimits,
    approvals: &Approvals,
    registry: &mut Registry,
) -> Result<Vec<FoundConfig>, LibraryError> {
    let own = Config::file_of_user(environment);
    let project = Config::find(from);
    for path in project.ignored {
        registry.note(SourceErrorKind::OtherOwner.at(path));
    }
    let project = project.file.filter(|file| Some(file) != own.as_ref());
    let mut found = Vec::new();
    for (file, own) in own.map(|file| (file, true)).into_iter().chain(project.map(|file| (file, false))) {
        let read = if own {
            Config::read_of_user(&file, limits)
        } else {
            Config::read_of_project(&file, limits, approvals)
        };
        match read {
            Ok(config) => {
                let trusted = own || approvals.folder_of(&config.file).is_some();
                found.push(FoundConfig { config, own, trusted });
            }
            // An error in a project's configuration must not hide the user's own skills.
            Err(error) if !own => {
                registry.note(error.into());
            }
            Err(ConfigError::Read(error)) if matches!(error.kind, SourceErrorKind::Distrusted { .. }) => {
                registry.note(error);
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(found)
}

/// How the sources of a configuration are opened.
fn opening_in(file: &Path, own: bool, opening: Opening) -> Opening {
    let folder = file.parent().unwrap_or(Path::new("/"));
    let opening = Opening {
        base: folder.to_owned(),
        written: file.display().to_string(),
        relative_to: Some(folder.to_owned()),
        ..opening
    };
    // Trusted or not: trusting instructions does not give them access to the environment.
    if own { opening } else { Opening { scope: Scope::Project, variables: false, ..opening } }
}

/// Why a source of a project is not used before the project is trusted: it is a site, or outside of its folder.
fn withheld(
    spec: &SourceSpec,
    opening: &Opening,
    folder: &Path,
    environment: &Environment,
) -> Result<Option<SourceError>, SourceError> {
    let outside = opening.place(spec, environment)?.filter(|place| !place.starts_with(folder));
    let outside = outside.map(|path| SourceErrorKind::OutsideProject.at(path));
    // Every kind of place is named here, so that a new one is judged.
    Ok(match &spec.place {
        Place::Url { url, .. } => Some(SourceErrorKind::SiteOfProject.at_url(url)),
        Place::Dir(_) | Place::Plugin(_) | Place::Archive(_) | Place::Jsonl(_) => outside,
        // A project never names a server, trusted or not: `server_allowed` says so.
        Place::Mcp(_) | Place::Inline { .. } => None,
    })
}

/// Whether a source of the project with this file is not used before the project is trusted.
pub(crate) fn waits_for_trust(spec: &SourceSpec, file: &Path, environment: &Environment) -> bool {
    let folder = file.parent().unwrap_or(Path::new("/"));
    let opening = opening_in(file, false, Opening::named(folder, None));
    withheld(spec, &opening, folder, environment).is_ok_and(|withheld| withheld.is_some())
}

impl FoundConfig {
    /// Adds the sources of a configuration. Those of a project are project skills. If the project is not trusted, its
    /// sites are not contacted, and places outside of it are not read: opening a repository must not reach beyond it. A
    /// project never starts a program or contacts an MCP server, trusted or not: trusting instructions is not trusting
    /// a program.
    pub(super) fn add_sources(
        &self,
        opening: &Opening,
        shown: &Shown,
        environment: &Environment,
        registry: &mut Registry,
        named: &mut Named,
    ) {
        let folder = self.config.file.parent().unwrap_or(Path::new("/"));
        let mut opening = opening_in(&self.config.file, self.own, opening.clone());
        let searched = || ScanOptions { missing_root: MissingRoot::Error, ..ScanOptions::default() };
        let scan = if self.own { ScanOptions::unbounded() } else { searched() };
        opening.scan = shown.scan(opening.scope, scan);
        opening.project = (!self.trusted).then(|| folder.to_owned());
        for (entry, spec) in self.config.sources.iter().enumerate() {
            let unused = |error: SourceError| {
                SourceErrorKind::Entry { entry, error: Box::new(error) }.at(&self.config.file)
            };
            let withheld = match withheld(spec, &opening, folder, environment) {
                Ok(withheld) => withheld.filter(|_| !self.trusted),
                Err(error) if spec.optional && error.is_not_installed() => continue,
                Err(error) => {
                    registry.note(unused(error));
                    continue;
                }
            };
            if let Err(error) = self.server_allowed(spec).and_then(|()| named.free(spec)) {
                registry.note(error);
                continue;
            }
            match withheld {
                Some(problem) => drop(registry.note(problem)),
                None => match named.open(spec, &opening, environment) {
                    Ok(Some(layer)) => {
                        _ = registry.add(shown.layer(opening.scope, layer).named_in(folder));
                    }
                    Ok(None) => {}
                    Err(error) => drop(registry.note(unused(error))),
                },
            }
        }
    }

    fn server_allowed(&self, spec: &SourceSpec) -> Result<(), SourceError> {
        match &spec.place {
            Place::Mcp(server) if !self.own => {
                Err(SourceErrorKind::ServerOfProject.at_location(Location::Text(server.shown().into())))
            }
            Place::Mcp(_)
            | Place::Dir(_)
            | Place::Plugin(_)
            | Place::Archive(_)
            | Place::Jsonl(_)
            | Place::Url { .. }
            | Place::Inline { .. } => Ok(()),
        }
    }
}
