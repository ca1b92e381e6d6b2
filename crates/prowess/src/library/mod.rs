//! The skills of a user: the folders of one client or of all, with the configuration and the approvals.

pub(crate) mod below;
pub(crate) mod builtin;
pub(crate) mod caches;
pub mod clients;
#[cfg(feature = "edit")]
pub(crate) mod connections;
pub(crate) mod scaffold;

mod opened_sources;
mod read_by;
mod user_records;
pub mod views;
mod visibility;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess_core::with_methods;
use prowess_core::{Duplicates, Profile, Scope};
use serde_json::Value;

pub use builtin::is_builtin;

use crate::env::{self, Environment};
use crate::error::{SourceError, SourceErrorKind};
use crate::fs::own;
use crate::fs::walk::{OnError, ScanChanges, ScanOptions};
use crate::library::clients::{CLIENTS, Client, Root};
use crate::registry::Registry;
use crate::registry::trust::{Approvals, Trust};
use crate::settings::resolve::{EffectiveSettings, OptionValue};
use crate::settings::{ConfigError, ConfigLimits, SessionConfig, SettingsError};
use crate::source::Layer;
use crate::source::budget::{ProjectBudget, ProjectLimits};
use crate::source::open::{OpenServer, Opening, file_name};
use crate::source::spec::SourceSpec;
use opened_sources::OpenedSources;
use prowess_core::path::{Glob, MAX_DEPTH};
use user_records::UserRecords;
use views::{ClientLimits, Looking, Reach, SightedRoot};
use visibility::Visibility;

/// The options of a library.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct LibraryOptions {
    /// Sources that the user named. If there are any, no others are used.
    pub sources: Vec<SourceSpec>,
    /// The client whose folders are used; `None` for all clients.
    pub client: Option<&'static Client>,
    /// If set, the catalog is what that client lists, and not what Prowess offers from its folders; the value says how
    /// far they are walked.
    pub as_client: Option<Reach>,
    /// A client whose own skills are left out: those that it lists itself, by their file or their name.
    pub not_read_by: Option<&'static Client>,
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
    /// The limits of a walk through a folder of a client, for what the client lists.
    pub client_limits: ClientLimits,
    /// The options of walks. They override those of configurations.
    pub scan: ScanChanges,
    /// Whether `[scan]` of configurations is ignored, to find what it leaves out.
    pub ignore_scan: bool,
    /// The names of the skills that are offered; empty for all.
    pub only: Vec<Glob>,
    /// The names of hidden skills.
    pub except: Vec<Glob>,
    /// Hides skills with an error under this profile. Overrides the user's configuration.
    pub strict: Option<Profile>,
    /// Which of two skills with the same key is offered. Overrides configurations.
    pub duplicates: Option<Duplicates>,
    /// Whether links in a folder that `sources` names are kept inside of its git repository, unless that is trusted.
    pub confined: bool,
    /// What the users of the host write before the name of an option, such as `except`: `--` on a command line. It is
    /// for messages about skills that an option turned off.
    pub option_prefix: &'static str,
}

with_methods! { LibraryOptions:
    with_sources sources: Vec<SourceSpec>;
    with_client client: Option<&'static Client>;
    with_as_client as_client: Option<Reach>;
    with_not_read_by not_read_by: Option<&'static Client>;
    with_cache cache: bool;
    with_builtins builtins: bool;
    with_servers servers: Option<Arc<dyn OpenServer>>;
    with_limits limits: ConfigLimits;
    with_project_limits project_limits: ProjectLimits;
    with_client_limits client_limits: ClientLimits;
    with_scan scan: ScanChanges;
    with_ignore_scan ignore_scan: bool;
    with_only only: Vec<Glob>;
    with_except except: Vec<Glob>;
    with_strict strict: Option<Profile>;
    with_duplicates duplicates: Option<Duplicates>;
    with_confined confined: bool;
    with_option_prefix option_prefix: &'static str;
}

impl LibraryOptions {
    /// The keys of configurations that these options set, with their values.
    pub fn settings(&self) -> Vec<OptionValue> {
        let duplicates = self.duplicates.map(|duplicates| match duplicates {
            Duplicates::Last => "last",
            Duplicates::Error => "error",
            Duplicates::First => "first",
        });
        let all = [
            ("skills.enable", texts(&self.only)),
            ("skills.disable", texts(&self.except)),
            ("skills.strict", self.strict.as_ref().map(|profile| profile.preset().name().into())),
            ("skills.duplicates", duplicates.map(Value::from)),
            ("skills.sources", texts(&self.sources)),
            ("scan.depth", self.scan.depth.map(Value::from)),
            ("scan.nested", self.scan.nested.map(Value::from)),
            ("scan.skip", texts(&self.scan.skip)),
        ];
        all.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
    }
}

/// The value of an option that may be given more than once.
fn texts(values: &[impl ToString]) -> Option<Value> {
    (!values.is_empty()).then(|| values.iter().map(ToString::to_string).collect())
}

/// The library as seen from a folder, before its first refresh.
pub fn library(
    from: &Path,
    environment: &Environment,
    options: &LibraryOptions,
) -> Result<Registry, SettingsError> {
    library_with_session(from, environment, options).map(|(registry, _)| registry)
}

/// The library as seen from a folder, and the session settings of the configurations.
pub fn library_with_session(
    from: &Path,
    environment: &Environment,
    options: &LibraryOptions,
) -> Result<(Registry, SessionConfig), SettingsError> {
    let mut registry = Registry::new();
    let session_config = add_library(&mut registry, from, environment, options)?;
    Ok((registry, session_config))
}

/// Adds the library as seen from a folder after the sources of a registry. Returns the session settings of its
/// configurations.
pub(crate) fn add_library(
    registry: &mut Registry,
    from: &Path,
    environment: &Environment,
    options: &LibraryOptions,
) -> Result<SessionConfig, SettingsError> {
    add(registry, from, environment, options, None)
}

/// Adds the library, or only the folders of some clients, with the facts that these clients treat differently.
fn add(
    registry: &mut Registry,
    from: &Path,
    environment: &Environment,
    options: &LibraryOptions,
    sighted: Option<Vec<SightedRoot>>,
) -> Result<SessionConfig, SettingsError> {
    environment.check()?;
    let from = env::absolute(from);
    own::close_roots(environment);
    let cache = environment.xdg("XDG_CACHE_HOME", ".cache").filter(|_| options.cache);
    let cache = cache.map(|cache| cache.join("prowess")).filter(|cache| own::may_cache(cache));
    let mut opening = Opening::named(&from, cache);
    opening.servers.clone_from(&options.servers);
    let approvals = approvals(environment, registry)?;
    let budget = Arc::new(ProjectBudget::new(options.project_limits));
    registry.set_budget(Arc::clone(&budget));
    // A missing folder or an unreachable site does not affect the others.
    registry.set_on_error(OnError::Report);
    let mut settings =
        EffectiveSettings::within(&from, environment, &options.settings(), options.limits, &approvals)?;
    for path in &settings.ignored {
        registry.note(SourceErrorKind::OtherOwner.at(path));
    }
    for file in [&mut settings.user, &mut settings.project].into_iter().flatten() {
        // An error in a project's configuration must not hide the user's own skills.
        match file.error.take() {
            Some(ConfigError::Read(error)) if file.own => drop(registry.note(error)),
            Some(error) => drop(registry.note(error.into())),
            None => {}
        }
    }
    let visibility = Visibility::of(options, &settings, registry);
    opening.scan = options.scan.apply(ScanOptions::unbounded());
    let finding = Finding {
        project: clients::project(&from),
        approvals: &approvals,
        opening: &opening,
        environment,
        visibility: &visibility,
        budget: &budget,
    };
    let mut opened = OpenedSources::default();
    if let Some(roots) = sighted {
        for root in roots {
            registry.add(finding.open_sighted(root));
        }
    } else if !options.sources.is_empty() {
        for spec in &options.sources {
            let named = opening.place(spec, environment).ok().flatten().filter(|_| options.confined);
            let project = named
                .and_then(|place| confining_project(&place, environment, &approvals))
                .filter(|project| project.join(".git").exists());
            match opened.open(spec, &Opening { project, ..opening.clone() }, environment) {
                Ok(layer) => drop(layer.map(|layer| registry.add(layer))),
                Err(error) if spec.optional && error.is_not_installed() => {}
                Err(error) => drop(registry.note(error)),
            }
        }
    } else if let (Some(client), Some(reach)) = (options.client, options.as_client) {
        let looking = Looking { reach, limits: options.client_limits };
        for root in SightedRoot::of(client, &from, environment, looking) {
            registry.add(finding.open_sighted(root));
        }
        registry.arrange(move |candidates| views::catalog(client, candidates)).set_view_of(client.id);
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
        for file in [&mut settings.project, &mut settings.user].into_iter().flatten() {
            let opening = Opening { budget: (!file.trusted).then(|| Arc::clone(&budget)), ..opening.clone() };
            opened.add(file, &opening, &visibility, environment, registry);
        }
        for root in others {
            registry.add(finding.open(root)?);
        }
    }
    if options.builtins && options.sources.is_empty() {
        registry.add(builtin::source());
    }
    if let Some(client) = options.not_read_by {
        registry.leave_out(read_by::ReadBy::new(client, &from, environment, options)?);
    }
    registry.set_trust(Trust::in_approved(approvals));
    registry.set_installed(UserRecords::of(environment));
    Ok(settings.session())
}

/// The user's approvals; empty if there is no file. What is not believed becomes a problem of the registry.
fn approvals(environment: &Environment, registry: &mut Registry) -> Result<Approvals, SourceError> {
    let Some(file) = Approvals::file(environment) else { return Ok(Approvals::default()) };
    match Approvals::load_judged(&file) {
        Err(error) if matches!(error.kind, SourceErrorKind::Distrusted { .. }) => {
            registry.note(error);
            Ok(Approvals::default())
        }
        approvals => approvals,
    }
}

/// Removes folders of a project that are also the user's own, as in the user's home.
fn own_once(mut roots: Vec<Root>) -> Vec<Root> {
    let own: HashSet<PathBuf> =
        roots.iter().filter(|root| root.scope != Scope::Project).map(|root| root.path.clone()).collect();
    roots.retain(|root| root.scope != Scope::Project || !own.contains(&root.path));
    roots
}

/// The project that links below a named folder must not lead out of. The folder itself may be a link: the user named it.
///
/// `None` in a trusted project, in the user's own folders of skills, and for the home or a folder above it.
pub fn confining_project(folder: &Path, environment: &Environment, approvals: &Approvals) -> Option<PathBuf> {
    let real_of = |path: PathBuf| std::fs::canonicalize(path).ok();
    let real = real_of(folder.to_owned())?;
    let project = clients::project(&real);
    let is_trusted = approvals.folder_of(&real).or(approvals.folder_of(&env::absolute(folder))).is_some();
    let is_above_home = || environment.home().and_then(real_of).is_some_and(|home| home.starts_with(project));
    let is_own = || {
        let own = CLIENTS.iter().flat_map(|client| client.user.iter().chain(client.admin));
        let mut own = own.filter_map(|path| real_of(environment.expand(path)?));
        own.any(|own| real.starts_with(own))
    };
    (!is_trusted && !is_above_home() && !is_own()).then(|| project.to_owned())
}

/// How the folders of clients are opened.
struct Finding<'l> {
    /// The folder of the project.
    project: &'l Path,
    approvals: &'l Approvals,
    opening: &'l Opening,
    environment: &'l Environment,
    visibility: &'l Visibility,
    budget: &'l Arc<ProjectBudget>,
}

impl Finding<'_> {
    /// The skills in a folder. If the project is not trusted, nothing outside of it is read.
    fn open(&self, root: Root) -> Result<Layer, SourceError> {
        let Root { path, scope, readers, depth, project } = root;
        // The depth that a client is known to have is not a problem. A lower one is a limit of Prowess, and so is that of
        // clients of which only the folders are known.
        let clients: Vec<&Client> = readers.iter().filter_map(|id| clients::client(id)).collect();
        let is_lower = clients.iter().any(|client| usize::from(client.reads().depth) > depth);
        let is_assumed = !clients.is_empty() && clients.iter().all(|client| client.reads.is_none());
        let report_deeper = is_lower || is_assumed;
        let scan = ScanOptions { max_depth: depth.min(MAX_DEPTH), report_deeper, ..ScanOptions::of(scope) };
        let opening = self.opening_of(&path, scope, project, scan);
        #[cfg(feature = "install")]
        let names = crate::install::InstalledNames::of(&path, scope, self.environment);
        let layer = opening.open(&SourceSpec::dir(path), self.environment)?.with_readers(readers);
        #[cfg(feature = "install")]
        let layer = layer.named_as_installed(names);
        Ok(self.visibility.layer(scope, layer))
    }

    /// Opens a folder of a client, with the facts that clients treat differently. No configuration changes how a client
    /// walks.
    fn open_sighted(&self, SightedRoot { root, scan, policies }: SightedRoot) -> Layer {
        let Root { path, scope, readers, project, .. } = root;
        let mut opening = self.opening_of(&path, scope, project, ScanOptions::default());
        opening.scan = ScanOptions { within: opening.scan.within.take(), ..scan };
        Layer::from(opening.dir(path).with_sightings(policies)).with_readers(readers)
    }

    /// How a folder of a client is opened, with these options of its walk.
    fn opening_of(&self, path: &Path, scope: Scope, project: Option<PathBuf>, scan: ScanOptions) -> Opening {
        let trusted = scope != Scope::Project || self.approvals.folder_of(path).is_some();
        // A folder above the project is a project of its own.
        let own = || project.filter(|_| !path.starts_with(self.project));
        let project = (!trusted).then(|| own().unwrap_or_else(|| self.project.to_owned()));
        let budget = (!trusted).then(|| Arc::clone(self.budget));
        let scan = self.visibility.scan(scope, scan);
        Opening { scope, project, budget, scan, ..self.opening.clone() }
    }
}

/// The file that caches the terms of the skills of a registry: one for each set of sources.
pub fn terms_file(environment: &Environment, registry: &Registry) -> Option<PathBuf> {
    let cache = environment.xdg("XDG_CACHE_HOME", ".cache")?.join("prowess");
    let labels: Vec<&str> = registry.labels().collect();
    own::may_cache(&cache).then(|| cache.join("terms").join(file_name(&labels.join("\n"))))
}
