//! Prowess, the Agent Skills runtime: reads, judges and finds skills.
//!
//! This crate is everything of [`prowess_core`] and what touches the world: folders, files and the
//! environment. From a folder to an opinion about each skill below it:
//!
//! ```
//! use prowess::{Profile, ScanOptions, files, scan};
//!
//! # let folder = tempfile::tempdir()?;
//! # std::fs::create_dir(folder.path().join("tidy-up"))?;
//! # std::fs::write(folder.path().join("tidy-up/SKILL.md"), "---\nname: tidy-up\ndescription: Tidies up.\n---\n")?;
//! # let folder = folder.path();
//! let found = scan(folder, &ScanOptions::named());
//! for skill in &found.skills {
//!     let document = files::read_skill(&skill.path)?.document();
//!     let listing = files::list(skill.folder())?;
//!     let problems = Profile::spec().check(&document, Some(&listing.manifest), &skill.origin());
//!     assert!(problems.is_empty());
//! }
//! assert_eq!(found.skills.len(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use prowess_core::*;

#[cfg(feature = "archive")]
pub mod archive;
pub mod atomic;
mod beneath;
mod budget;
pub mod builtin;
mod cache;
pub mod clients;
pub mod config;
mod confine;
pub mod digests;
pub mod drive;
pub mod env;
mod error;
pub mod files;
mod handle;
#[cfg(feature = "http")]
pub mod http;
pub mod index;
pub mod library;
mod load;
pub mod open;
pub mod process;
pub mod registry;
pub mod resources;
pub mod scaffold;
pub mod scan;
mod select_command;
pub mod source;
pub mod spec;
pub mod trust;
#[cfg(feature = "watch")]
pub mod watch;

pub use atomic::WriteError;
pub use budget::{ProjectBudget, ProjectLimits};
pub use config::{Config, ConfigError};
pub use error::{SourceError, harmless, shell_word};
pub use load::{discover, discover_judged, load, loads};
pub use process::{ProcessError, ProcessLimits};
pub use registry::{Registry, RegistryError};
pub use resources::{Resource, TooLarge};
pub use scan::{Found, Scan, ScanChanges, ScanOptions, scan};
pub use select_command::{CommandSelector, SELECT_TIMEOUT};
#[cfg(feature = "archive")]
pub use source::ArchiveSource;
#[cfg(feature = "http")]
pub use source::HttpSource;
pub use source::{DirSource, JsonlSource, Layer, MemorySource, MergedSource, PluginSource, Source};
pub use spec::SourceSpec;

/// The pages whose Rust is compiled with the tests; a test looks whether any is missing here.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../../README.md")]
    struct Readme;
    #[doc = include_str!("../../../docs/library.md")]
    struct Library;
    #[doc = include_str!("../../../docs/sessions.md")]
    struct Sessions;
}
