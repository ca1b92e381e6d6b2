//! The skills a person has: the folders of one client or of all, what the configuration turns off, what is trusted.

use std::path::{Path, PathBuf};

use crate::clients::{self, Client, Root};
use crate::config::{self, Config, ConfigError};
use crate::env::{self, Environment};
use crate::error::SourceError;
use crate::registry::{Disabled, Registry};
use crate::scan::ScanOptions;
use crate::source::DirSource;
use crate::trust::{Approvals, Trust};

/// What makes up a library.
#[derive(Clone, Debug, Default)]
pub struct LibraryOptions {
    /// Folders named on purpose; when there are any, they are all that is looked into.
    pub roots: Vec<PathBuf>,
    /// The client whose eyes to look through; all clients together, if none is given.
    pub client: Option<&'static Client>,
    /// Whether to remember what was read.
    pub cache: bool,
}

/// Why there is no library.
#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    /// A configuration could not be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The approvals could not be read.
    #[error(transparent)]
    Approvals(#[from] SourceError),
}

/// The library as seen from a folder, before its first refresh.
pub fn library(
    from: &Path,
    environment: &Environment,
    options: &LibraryOptions,
) -> Result<Registry, LibraryError> {
    let from = env::absolute(from);
    let mut registry = Registry::new();
    let cache = environment.xdg("XDG_CACHE_HOME", ".cache").filter(|_| options.cache);
    if options.roots.is_empty() {
        let roots = match options.client {
            Some(client) => client.roots(&from, environment),
            None => clients::common_roots(&from, environment),
        };
        for root in roots {
            registry.add(found(root, cache.as_deref()));
        }
    } else {
        for root in &options.roots {
            let root = environment.expand(&root.to_string_lossy()).unwrap_or_else(|| root.clone());
            let root = env::absolute(&root);
            let index = cache.as_deref().map(|cache| index_file(cache, &root));
            registry.add(DirSource::new(root, ScanOptions::named()).with_cache(index));
        }
    }
    let approvals = match Approvals::file(environment) {
        Some(file) => Approvals::load(&file)?,
        None => Approvals::default(),
    };
    let own = environment
        .xdg("XDG_CONFIG_HOME", ".config")
        .map(|folder| folder.join("prowess").join(config::FILE_NAME));
    let own = own.filter(|file| file.exists());
    for (file, own) in
        own.into_iter().map(|file| (file, true)).chain(Config::find(&from).map(|file| (file, false)))
    {
        let config = Config::read(&file)?;
        let by = config.file.display().to_string();
        let everyones = own || approvals.folders.iter().any(|folder| config.file.starts_with(folder));
        registry.disable(config.disabled.iter().map(|glob| Disabled {
            glob: glob.clone(),
            by: by.clone(),
            everyones,
        }));
    }
    let digests = cache.map(|cache| cache.join("prowess/digests"));
    registry.trust(Trust::in_approved(approvals).with_digests(digests));
    Ok(registry)
}

/// Where the terms of the skills of a registry are remembered: one file for each set of sources.
pub fn terms_file(environment: &Environment, registry: &Registry) -> Option<PathBuf> {
    let cache = environment.xdg("XDG_CACHE_HOME", ".cache")?;
    let ids: Vec<&str> = registry.source_ids().collect();
    Some(cache.join("prowess/terms").join(file_name(&ids.join("\n"))))
}

/// The skills in a folder that was found by itself.
fn found(root: Root, cache: Option<&Path>) -> DirSource {
    let options = ScanOptions { max_depth: root.depth, ..ScanOptions::default() };
    let index = cache.map(|cache| index_file(cache, &root.path));
    DirSource::new(root.path, options).in_scope(root.scope).read_by(root.readers).with_cache(index)
}

/// The index of a folder: named by its path, so that each has its own.
fn index_file(cache: &Path, root: &Path) -> PathBuf {
    cache.join("prowess/index").join(file_name(&root.to_string_lossy()))
}

/// A name for the file that remembers what is known of something.
fn file_name(what: &str) -> String {
    let plain = |character: char| {
        if character.is_ascii_alphanumeric() || character == '-' { character } else { '_' }
    };
    // Two paths may come to the same letters; the sum of their bytes tells most of these apart, and a stamp the rest.
    let sum = what.bytes().fold(5381u32, |sum, byte| sum.wrapping_mul(33) ^ u32::from(byte));
    let tail: Vec<char> = what.chars().rev().take(80).map(plain).collect();
    format!("{}-{sum:08x}", tail.into_iter().rev().collect::<String>())
}
