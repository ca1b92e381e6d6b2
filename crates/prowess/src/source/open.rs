//! Opens a source from its spec.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess_core::with_methods;
use prowess_core::{Location, Scope};

use crate::env::{self, Environment};
use crate::error::{SourceError, SourceErrorKind};
use crate::fs::codec::checksum;
use crate::fs::walk::ScanOptions;
use crate::registry::digests::Digests;
use crate::source::budget::ProjectBudget;
use crate::source::spec::{Place, Server, SourceSpec};
use crate::source::{DirSource, JsonlSource, Layer, MemorySource, PluginSource, Source};

/// Opens MCP servers. The crate `prowess-mcp` has an implementation; this crate does not depend on it.
pub trait OpenServer: fmt::Debug + Send + Sync {
    /// The skills of a server, under a label that no other server of the library has. Nothing is contacted or started
    /// before they are listed.
    fn open(&self, server: &Server, label: &str) -> Result<Arc<dyn Source>, SourceError>;
}

/// What is needed to open a source besides its spec.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Opening {
    /// The absolute folder that relative paths are relative to.
    pub base: PathBuf,
    /// The folder that virtual paths are relative to. By default, each source's own folder.
    pub relative_to: Option<PathBuf>,
    /// Where the specs of the sources are written, such as the path of a configuration. Inline skills have this
    /// location.
    pub written: String,
    /// The scope of the skills.
    pub scope: Scope,
    /// A folder that links must not lead out of: that of an untrusted project.
    pub project: Option<PathBuf>,
    /// The budget of all sources of that project together.
    pub(crate) budget: Option<Arc<ProjectBudget>>,
    /// How folders are walked.
    pub scan: ScanOptions,
    /// The cache folder, which is safe to delete; without it, nothing is cached.
    pub cache: Option<PathBuf>,
    /// The digests of files.
    pub digests: Arc<Digests>,
    /// Opens MCP servers; without it they are an error.
    pub servers: Option<Arc<dyn OpenServer>>,
    /// Whether `${VARIABLE}` at the beginning of a path is replaced by its value. A repository must not be able to read
    /// the environment: errors would show the values, and the disk would be searched for them.
    pub variables: bool,
}

with_methods! { Opening:
    with_base base: PathBuf;
    with_relative_to relative_to: Option<PathBuf>;
    with_written written: String;
    with_scope scope: Scope;
    with_project project: Option<PathBuf>;
    with_scan scan: ScanOptions;
    with_cache cache: Option<PathBuf>;
    with_digests digests: Arc<Digests>;
    with_servers servers: Option<Arc<dyn OpenServer>>;
    with_variables variables: bool;
}

impl Opening {
    /// The options for sources that the user names.
    pub fn named(base: &Path, cache: Option<PathBuf>) -> Self {
        let digests = Arc::new(Digests::load(cache.as_deref().map(|cache| cache.join("digests"))));
        let written = "inline".to_owned();
        let scan = ScanOptions::unbounded();
        let scope = Scope::Explicit;
        Self {
            base: env::absolute(base),
            relative_to: None,
            written,
            scope,
            project: None,
            budget: None,
            scan,
            cache: cache.map(|cache| env::place(&cache)),
            digests,
            servers: None,
            variables: true,
        }
    }

    /// The source that a spec names. Nothing is read before it is listed.
    pub fn open(&self, spec: &SourceSpec, environment: &Environment) -> Result<Layer, SourceError> {
        if let Some(reference) = spec.place.reference() {
            return self.installed(reference, spec, environment);
        }
        let path = |path: &Path| self.path(path, environment);
        let mut layer = match &spec.place {
            Place::Dir(dir) => {
                let source = self.dir(path(dir)?);
                // An explicit mount decides where the skills appear.
                let base = self.relative_to.as_ref().filter(|_| spec.mount.is_none());
                Layer::from(match base.filter(|base| source.root().starts_with(base)) {
                    Some(base) => source.with_base(base),
                    None => source,
                })
            }
            Place::Plugin(folder) => {
                let source = PluginSource::new(path(folder)?).with_scope(self.scope);
                let mut source = source.with_project(self.project.clone()).spending(self.budget.clone());
                if self.scope == Scope::Project {
                    source = source.with_limits(&self.scan);
                }
                Layer::from(source.with_digests(Arc::clone(&self.digests)))
            }
            Place::Jsonl(file) => {
                let source = JsonlSource::new(path(file)?).with_scope(self.scope);
                Layer::from(source.with_project(self.project.clone()).spending(self.budget.clone()))
            }
            // The extension is only a hint.
            Place::Archive(file) if path(file)?.is_dir() => {
                return self.open(&spec.at(Place::Dir(file.clone())), environment);
            }
            Place::Archive(file) => self.archive(&path(file)?)?,
            Place::Url { url, ca_file, unlisted } => {
                self.site(url, ca_file.as_deref().map(path).transpose()?, *unlisted)?
            }
            Place::Mcp(server) => return self.server(server, spec, environment),
            Place::Inline { name, description, instructions } => {
                let source = MemorySource::inline(&self.written, name, description, instructions, self.scope);
                let at =
                    || Location::Memory { source: self.written.as_str().into(), key: name.as_str().into() };
                Layer::from(source.map_err(|error| {
                    SourceErrorKind::Damaged { reason: error.to_string() }.at_location(at())
                })?)
            }
        };
        if let Some(prefix) = &spec.prefix {
            layer = layer.with_prefix(prefix);
        }
        Ok(appearing(layer.spending(self.budget.clone()), spec))
    }

    /// The skills of an MCP server, with its label as the prefix. Each needs an approval.
    fn server(
        &self,
        server: &Server,
        spec: &SourceSpec,
        environment: &Environment,
    ) -> Result<Layer, SourceError> {
        let Some(servers) = &self.servers else {
            return Err(SourceErrorKind::NoServers.at_location(Location::Text(server.shown().into())));
        };
        // From the unresolved spec, as labels are compared.
        let label = spec.label_of(server);
        let mut server = server.clone();
        match &mut server {
            Server::At { ca_file, token_file, .. } => {
                for file in [ca_file, token_file].into_iter().flatten() {
                    *file = self.path(file, environment)?;
                }
            }
            Server::Started { argv, folder } => {
                // Programs look for modules and packages where they are started. That is the folder of the
                // configuration, never the repository that is the current folder.
                *folder = Some(self.base.clone());
                if let Some(program) = argv.first_mut().filter(|program| is_path(program)) {
                    *program = self.path(Path::new(program), environment)?.to_string_lossy().into_owned();
                }
            }
        }
        let layer =
            Layer::shared(servers.open(&server, &label)?).with_prefix(label).with_approval_required(true);
        Ok(appearing(layer, spec))
    }

    /// The place on the disk that a spec names, if it names one.
    pub fn place(
        &self,
        spec: &SourceSpec,
        environment: &Environment,
    ) -> Result<Option<PathBuf>, SourceError> {
        if let Some(reference) = spec.place.reference() {
            return self.installed_folder(reference, environment).map(|(folder, _)| Some(folder));
        }
        spec.place.path().map(|path| self.path(path, environment)).transpose()
    }

    /// An installed skill. One of a project belongs to the project: its lock may have come with a repository, and is
    /// not a decision of the user.
    fn installed(
        &self,
        reference: &str,
        spec: &SourceSpec,
        environment: &Environment,
    ) -> Result<Layer, SourceError> {
        let (folder, project) = self.installed_folder(reference, environment)?;
        let spec = spec.at(Place::Dir(folder));
        match project {
            Some(_) => Self { scope: Scope::Project, project, ..self.clone() }.open(&spec, environment),
            None => self.open(&spec, environment),
        }
    }

    /// The folder of an installed skill, and its project if it is one of a project.
    #[cfg(feature = "install")]
    fn installed_folder(
        &self,
        reference: &str,
        environment: &Environment,
    ) -> Result<(PathBuf, Option<PathBuf>), SourceError> {
        crate::install::named(reference, &self.base, environment)
    }

    #[cfg(not(feature = "install"))]
    #[expect(clippy::unused_self, reason = "with the feature it is used")]
    fn installed_folder(
        &self,
        reference: &str,
        _: &Environment,
    ) -> Result<(PathBuf, Option<PathBuf>), SourceError> {
        Err(SourceErrorKind::NotBuilt { feature: "install" }.at_location(Location::Text(reference.into())))
    }

    fn path(&self, path: &Path, environment: &Environment) -> Result<PathBuf, SourceError> {
        // A path that is not UTF-8 contains no `~` and no variable.
        let Some(text) = path.to_str() else { return Ok(env::absolute(&self.base.join(path))) };
        if text.starts_with("${") && !self.variables {
            return Err(SourceErrorKind::NoVariables.at(path));
        }
        let expanded = environment.expand(text);
        let expanded = expanded.ok_or_else(|| SourceErrorKind::NoValue.at(path))?;
        Ok(env::absolute(&self.base.join(expanded)))
    }

    /// The skills in a folder.
    pub(crate) fn dir(&self, dir: PathBuf) -> DirSource {
        let index = self.index(&dir);
        let source = DirSource::new(dir, self.scan.clone()).with_scope(self.scope).with_cache(index);
        let source = source.with_project(self.project.clone()).spending(self.budget.clone());
        source.with_digests(Arc::clone(&self.digests))
    }

    /// The cache file of a folder, named by the path of the folder.
    pub(crate) fn index(&self, root: &Path) -> Option<PathBuf> {
        Some(self.cache.as_deref()?.join("index").join(file_name(&root.to_string_lossy())))
    }

    #[cfg(feature = "archive")]
    #[expect(clippy::unnecessary_wraps, reason = "without the feature it is an error")]
    fn archive(&self, file: &Path) -> Result<Layer, SourceError> {
        let source = crate::source::ArchiveSource::new(file).with_scope(self.scope);
        Ok(Layer::from(source.with_project(self.project.clone()).spending(self.budget.clone())))
    }

    #[cfg(not(feature = "archive"))]
    #[expect(clippy::unused_self, reason = "with the feature it is used")]
    fn archive(&self, file: &Path) -> Result<Layer, SourceError> {
        Err(SourceErrorKind::NotBuilt { feature: "archive" }.at(file))
    }

    #[cfg(feature = "http")]
    fn site(&self, url: &str, ca_file: Option<PathBuf>, unlisted: bool) -> Result<Layer, SourceError> {
        let client = crate::net::UreqClient::new(ca_file.as_deref())?;
        let source = crate::source::HttpSource::new(url, Arc::new(client))?;
        let mut source = source.with_unlisted(unlisted);
        if let Some(cache) = &self.cache {
            source = source.with_cache(cache.join("http"));
        }
        Ok(Layer::from(source))
    }

    #[cfg(not(feature = "http"))]
    #[expect(clippy::unused_self, reason = "with the feature it is used")]
    fn site(&self, url: &str, _: Option<PathBuf>, _: bool) -> Result<Layer, SourceError> {
        Err(SourceErrorKind::NotBuilt { feature: "http" }.at_url(url))
    }
}

/// A layer with the options of a spec.
fn appearing(mut layer: Layer, spec: &SourceSpec) -> Layer {
    if let Some(mount) = &spec.mount {
        layer = layer.with_mount(mount.clone());
    }
    if let Some(key_from) = spec.key_from {
        layer = layer.with_key_from(key_from);
    }
    layer.with_optional(spec.optional).with_preload(spec.preload)
}

/// Whether a program is named by its path, and not searched by the system.
fn is_path(program: &str) -> bool {
    program.contains(std::path::is_separator)
}

/// The name of a cache file.
pub(crate) fn file_name(what: &str) -> String {
    let plain = |character: char| {
        if character.is_ascii_alphanumeric() || character == '-' { character } else { '_' }
    };
    // Two paths may become the same letters; their checksums differ.
    let sum = checksum(what.as_bytes());
    let tail: Vec<char> = what.chars().rev().take(80).map(plain).collect();
    format!("{}-{sum:016x}", tail.into_iter().rev().collect::<String>())
}
