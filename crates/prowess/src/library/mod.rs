//! The skills of a user: the folders of one client or of all, with the configuration and the approvals.

pub(crate) mod builtin;
pub mod clients;
pub mod config;
pub(crate) mod scaffold;

mod shown;
pub mod views;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess_core::with_methods;
use prowess_core::{Duplicates, Location, Profile, Scope};

use crate::env::{self, Environment, RelativePath};
use crate::error::{SourceError, SourceErrorKind};
use crate::fs::walk::{MissingRoot, OnError, ScanChanges, ScanOptions};
use crate::library::clients::{Client, Root};
use crate::library::config::{Config, ConfigError, ConfigLimits, SessionConfig};
use crate::registry::Registry;
use crate::registry::installed::UserRecords;
use crate::registry::trust::{Approvals, Trust};
use crate::source::Layer;
use crate::source::budget::{ProjectBudget, ProjectLimits};
use crate::source::open::{OpenServer, Opening, file_name};
use crate::source::spec::{Place, SourceSpec};
use prowess_core::path::Glob;
use shown::Shown;
use views::{Reach, SightedRoot};

/// The options of a library.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct LibraryOptions {
    /// Sources that the user named. If there are any, no others are used.
    pub sources: Vec<SourceSpec>,
    /// The client whose folders are used; `None` for all clients.
    pub client: Option<&'static Client>,
    /// Whether the catalog is what that client lists, and not what Prowess offers of its folders; and how far they are
    /// walked for that.
    pub as_client: Option<Reach>,
    /// Whether to cache what was read.
    pub cache: bool,
    /// Whether the built-in skills are included, with the lowest precedence. Not if the user named sources.
    pub builtins: bool,
    /// Opens MCP servers. Without it, a server is an error.
    pub servers: Option<Arc<dyn OpenServer>>,
    /// The limits of a configuration.
    pub limits: ConfigLimits,
    /// The limits of an untrusted project.
    pub project_limits: ProjectLimits,
    /// The options of walks. They override those of configurations.
    pub scan: ScanChanges,
    /// The names of the skills that are offered; empty for all.
    pub only: Vec<Glob>,
    /// The names of hidden skills.
    pub except: Vec<Glob>,
    /// Hides skills with an error under this profile. Overrides the user's configuration.
    pub strict: Option<Profile>,
    /// Which of two skills with the same key is offered. Overrides configurations.
    pub duplicates: Option<Duplicates>,
}

with_methods! { LibraryOptions:
    with_sources sources: Vec<SourceSpec>;
    with_client client: Option<&'static Client>;
    with_as_client as_client: Option<Reach>;
    with_cache cache: bool;
    with_builtins builtins: bool;
    with_servers servers: Option<Arc<dyn OpenServer>>;
    with_limits limits: ConfigLimits;
    with_project_limits project_limits: ProjectLimits;
    with_scan scan: ScanChanges;
    with_only only: Vec<Glob>;
    with_except except: Vec<Glob>;
    with_strict strict: Option<Profile>;
    with_duplicates duplicates: Option<Duplicates>;
}

/// Why a library could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LibraryError {
    /// A configuration could not be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The approvals could not be read.
    #[error(transparent)]
    Approvals(#[from] SourceError),
    /// An environment variable for the user's files is not an absolute path.
    #[error(transparent)]
    Environment(#[from] RelativePath),
}

impl LibraryError {
    /// What to do about it.
    pub fn hint(&self) -> Cow<'_, str> {
        match self {
            Self::Config(error) => error.hint(),
            Self::Approvals(error) => error.hint(),
            Self::Environment(error) => error.hint().into(),
        }
    }
}

/// The library as seen from a folder, before its first refresh.
pub fn library(
    from: &Path,
    environment: &Environment,
    options: &LibraryOptions,
) -> Result<Registry, LibraryError> {
    library_with_session(from, environment, options).map(|(registry, _)| registry)
}

/// The same, with the session settings of the configurations: see [`session_config`].
pub fn library_with_session(
    from: &Path,
    environment: &Environment,
    options: &LibraryOptions,
) -> Result<(Registry, SessionConfig), LibraryError> {
    let mut registry = Registry::new();
    let said = add_library(&mut registry, from, environment, options)?;
    Ok((registry, said))
}

/// Adds the library as seen from a folder after the sources of a registry. Returns the session settings of its
/// configurations.
pub(crate) fn add_library(
    registry: &mut Registry,
    from: &Path,
    environment: &Environment,
    options: &LibraryOptions,
) -> Result<SessionConfig, LibraryError> {
    add(registry, from, environment, options, None)
}

/// The same, or only the folders of some clients with what these clients differ about.
fn add(
    registry: &mut Registry,
    from: &Path,
    environment: &Environment,
    options: &LibraryOptions,
    sighted: Option<Vec<SightedRoot>>,
) -> Result<SessionConfig, LibraryError> {
    environment.check()?;
    let from = env::absolute(from);
    let cache = environment.xdg("XDG_CACHE_HOME", ".cache").filter(|_| options.cache);
    let mut opening = Opening::named(&from, cache.map(|cache| cache.join("prowess")));
    opening.servers.clone_from(&options.servers);
    let approvals = approvals(environment)?;
    let budget = Arc::new(ProjectBudget::new(options.project_limits));
    registry.set_budget(Arc::clone(&budget));
    // A missing folder or an unreachable site does not affect the others.
    registry.set_on_error(OnError::Report);
    let configs = configs(&from, environment, options.limits, &approvals, registry)?;
    let shown = Shown::of(options, &configs, registry);
    opening.scan = options.scan.apply(ScanOptions::unbounded());
    let finding = Finding {
        project: clients::project(&from),
        approvals: &approvals,
        opening: &opening,
        environment,
        shown: &shown,
        budget: &budget,
    };
    let mut named = Named::default();
    if let Some(roots) = sighted {
        for root in roots {
            registry.add(finding.open_sighted(root));
        }
    } else if !options.sources.is_empty() {
        for spec in &options.sources {
            match named.open(spec, &opening, environment) {
                Ok(layer) => drop(layer.map(|layer| registry.add(layer))),
                Err(error) if spec.optional && error.is_not_installed() => {}
                Err(error) => drop(registry.note(error)),
            }
        }
    } else if let (Some(client), Some(reach)) = (options.client, options.as_client) {
        for root in SightedRoot::of(client, &from, environment, reach) {
            registry.add(finding.open_sighted(root));
        }
        registry.seen_by(client);
    } else if let Some(client) = options.client {
        for root in own_once(client.roots(&from, environment)) {
            registry.add(finding.open(root)?);
        }
    } else {
        let roots = own_once(clients::common_roots(&from, environment));
        let (project, others): (Vec<Root>, Vec<Root>) =
            roots.into_iter().partition(|root| root.scope == Scope::Project);
        // Sources that a project names come with its own skills. Those that the user names come before the user's
        // folders.
        for root in project {
            registry.add(finding.open(root)?);
        }
        for config in configs.iter().rev() {
            let opening =
                Opening { budget: (!config.trusted).then(|| Arc::clone(&budget)), ..opening.clone() };
            config.add_sources(&opening, &shown, environment, registry, &mut named);
        }
        for root in others {
            registry.add(finding.open(root)?);
        }
    }
    if options.builtins && options.sources.is_empty() {
        registry.add(builtin::source());
    }
    registry.set_trust(Trust::in_approved(approvals));
    registry.set_user_records(UserRecords::of(environment));
    Ok(said_of_sessions(&configs))
}

/// The user's approvals; empty if there is no file.
fn approvals(environment: &Environment) -> Result<Approvals, SourceError> {
    Approvals::file(environment).map_or_else(|| Ok(Approvals::default()), |file| Approvals::load(&file))
}

/// The session settings as seen from a folder: those of the user's configuration, then those of a trusted project.
pub fn session_config(
    from: &Path,
    environment: &Environment,
    limits: ConfigLimits,
) -> Result<SessionConfig, LibraryError> {
    let approvals = approvals(environment)?;
    // Errors in a project's configuration are reported with the skills.
    let configs = configs(&env::absolute(from), environment, limits, &approvals, &mut Registry::new())?;
    Ok(said_of_sessions(&configs))
}

/// The session settings of these configurations: the user's, then those of a trusted project.
fn said_of_sessions(configs: &[FoundConfig]) -> SessionConfig {
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
struct FoundConfig {
    config: Config,
    /// Whether it is the user's own.
    own: bool,
    /// Whether it is trusted: it is the user's own, or in a folder that the user trusts.
    trusted: bool,
}

/// The configurations that are used: the user's own, and that of the project.
fn configs(
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
            Config::read_within(&file, limits)
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
            Err(error) => return Err(error.into()),
        }
    }
    Ok(found)
}

impl FoundConfig {
    /// Adds the sources of a configuration. Those of a project are project skills. If the project is not trusted, its
    /// sites are not contacted, and places outside of it are not read: opening a repository must not reach beyond it. A
    /// project never starts a program or contacts an MCP server, trusted or not: trusting instructions is not trusting
    /// a program.
    fn add_sources(
        &self,
        opening: &Opening,
        shown: &Shown,
        environment: &Environment,
        registry: &mut Registry,
        named: &mut Named,
    ) {
        let folder = self.config.file.parent().unwrap_or(Path::new("/"));
        let mut opening = Opening {
            base: folder.to_owned(),
            written: self.config.file.display().to_string(),
            relative_to: Some(folder.to_owned()),
            ..opening.clone()
        };
        if !self.own {
            opening.scope = Scope::Project;
            // Trusted or not: trusting instructions does not give them access to the environment.
            opening.variables = false;
        }
        let searched = || ScanOptions { missing_root: MissingRoot::Error, ..ScanOptions::default() };
        let scan = if self.own { ScanOptions::unbounded() } else { searched() };
        opening.scan = shown.scan(opening.scope, scan);
        opening.project = (!self.trusted).then(|| folder.to_owned());
        for (entry, spec) in self.config.sources.iter().enumerate() {
            let unused = |error: SourceError| {
                SourceErrorKind::Entry { entry, error: Box::new(error) }.at(&self.config.file)
            };
            let outside = match opening.place(spec, environment) {
                Ok(place) => place.filter(|place| !place.starts_with(folder)),
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
            match (&spec.place, outside) {
                (Place::Url { url, .. }, _) if !self.trusted => {
                    registry.note(SourceErrorKind::SiteOfProject.at_url(url));
                }
                (_, Some(path)) if !self.trusted => {
                    registry.note(SourceErrorKind::OutsideProject.at(path));
                }
                _ => match named.open(spec, &opening, environment) {
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
            _ => Ok(()),
        }
    }
}

/// The sources that were named so far.
#[derive(Default)]
struct Named {
    /// The labels of the MCP servers. A label identifies the server of a skill, so no two servers share one.
    labels: BTreeSet<String>,
    /// Files and folders, and how their skills appear: a source that is named twice is opened once.
    places: BTreeSet<String>,
}

impl Named {
    /// An error if another server has the same label.
    fn free(&self, spec: &SourceSpec) -> Result<(), SourceError> {
        let Place::Mcp(server) = &spec.place else { return Ok(()) };
        let label = spec.label_of(server);
        if self.labels.contains(&label) {
            let server = Location::Text(format!("{label}: {}", server.shown()).into());
            return Err(SourceErrorKind::SameLabel.at_location(server));
        }
        Ok(())
    }

    /// Opens a source; `None` if it is open already. One that could not be opened takes no label.
    fn open(
        &mut self,
        spec: &SourceSpec,
        opening: &Opening,
        environment: &Environment,
    ) -> Result<Option<Layer>, SourceError> {
        self.free(spec)?;
        if let Some(place) = opening.place(spec, environment)? {
            let real = std::fs::canonicalize(&place).unwrap_or(place);
            // The kind of source is part of it: the folder of a plugin may be named as a folder too.
            let kind = std::mem::discriminant(&spec.place);
            let appears = (kind, opening.scope, real, &spec.mount, &spec.prefix, spec.key_from, spec.preload);
            if !self.places.insert(format!("{appears:?}")) {
                return Ok(None);
            }
        }
        let layer = opening.open(spec, environment)?;
        if let Place::Mcp(server) = &spec.place {
            self.labels.insert(spec.label_of(server));
        }
        Ok(Some(layer))
    }
}

/// Removes folders of a project that are also the user's own, as in the user's home.
fn own_once(mut roots: Vec<Root>) -> Vec<Root> {
    let own: BTreeSet<PathBuf> =
        roots.iter().filter(|root| root.scope != Scope::Project).map(|root| root.path.clone()).collect();
    roots.retain(|root| root.scope != Scope::Project || !own.contains(&root.path));
    roots
}

/// How the folders of clients are opened.
struct Finding<'l> {
    /// The folder of the project.
    project: &'l Path,
    approvals: &'l Approvals,
    opening: &'l Opening,
    environment: &'l Environment,
    shown: &'l Shown,
    budget: &'l Arc<ProjectBudget>,
}

impl Finding<'_> {
    /// The skills in a folder. If the project is not trusted, nothing outside of it is read.
    fn open(&self, root: Root) -> Result<Layer, SourceError> {
        let Root { path, scope, readers, depth, project } = root;
        let scan = ScanOptions { max_depth: depth, ..ScanOptions::default() };
        let opening = self.opening_of(&path, scope, project, scan);
        #[cfg(feature = "install")]
        let names = crate::install::InstalledNames::of(&path, scope, self.environment);
        let layer = opening.open(&SourceSpec::dir(path), self.environment)?.read_by(readers);
        #[cfg(feature = "install")]
        let layer = layer.named_as_installed(names);
        Ok(self.shown.layer(scope, layer))
    }

    /// The same, with what clients differ about. No configuration changes how a client walks.
    fn open_sighted(&self, SightedRoot { root, scan, policies }: SightedRoot) -> Layer {
        let Root { path, scope, readers, project, .. } = root;
        let mut opening = self.opening_of(&path, scope, project, ScanOptions::default());
        opening.scan = ScanOptions { within: opening.scan.within.take(), ..scan };
        Layer::from(opening.dir(path).sighted(policies)).read_by(readers)
    }

    /// How a folder of a client is opened, with these options of its walk.
    fn opening_of(&self, path: &Path, scope: Scope, project: Option<PathBuf>, scan: ScanOptions) -> Opening {
        let trusted = scope != Scope::Project || self.approvals.folder_of(path).is_some();
        // A folder above the project is a project of its own.
        let own = || project.filter(|_| !path.starts_with(self.project));
        let project = (!trusted).then(|| own().unwrap_or_else(|| self.project.to_owned()));
        let budget = (!trusted).then(|| Arc::clone(self.budget));
        let scan = self.shown.scan(scope, scan);
        Opening { scope, project, budget, scan, ..self.opening.clone() }
    }
}

/// The file that caches the terms of the skills of a registry: one for each set of sources.
pub fn terms_file(environment: &Environment, registry: &Registry) -> Option<PathBuf> {
    let cache = environment.xdg("XDG_CACHE_HOME", ".cache")?;
    let labels: Vec<&str> = registry.labels().collect();
    Some(cache.join("prowess/terms").join(file_name(&labels.join("\n"))))
}
