//! Prowess, the Agent Skills runtime: reads, judges and finds skills.
//!
//! This crate is everything of [`prowess_core`] and what touches the world: folders, files and the
//! environment. From a folder to an opinion about each skill below it:
//!
//! ```
//! use prowess::fs::read;
//! use prowess::{Profile, ScanOptions, scan};
//!
//! # let folder = tempfile::tempdir()?;
//! # std::fs::create_dir(folder.path().join("tidy-up"))?;
//! # std::fs::write(folder.path().join("tidy-up/SKILL.md"), "---\nname: tidy-up\ndescription: Tidies up.\n---\n")?;
//! # let folder = folder.path();
//! let found = scan(folder, &ScanOptions::named());
//! for skill in &found.skills {
//!     let document = read::read_skill(&skill.path)?.document();
//!     let listing = read::list(skill.folder())?;
//!     let problems = Profile::spec().check(&document, Some(&listing.manifest), &skill.origin());
//!     assert!(problems.is_empty());
//! }
//! assert_eq!(found.skills.len(), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use prowess_core::session::Dialect;
pub use prowess_core::*;

#[cfg(feature = "archive")]
pub mod archive;
pub mod drive;
pub mod env;
mod error;
pub mod fs;
pub mod library;
#[cfg(feature = "http")]
pub mod net;
pub mod process;
pub mod registry;
pub mod resources;
pub mod search;
pub mod skills;
pub mod source;
#[cfg(feature = "watch")]
pub mod watch;

pub use error::{SourceError, harmless, shell_word};
pub use fs::atomic::WriteError;
pub use fs::walk::{Found, Scan, ScanChanges, ScanOptions, scan};
pub use library::config::{Config, ConfigError};
pub use process::{ProcessError, ProcessLimits};
pub use registry::{Registry, RegistryError};
pub use resources::{Resource, TooLarge};
pub use search::command::{CommandSelector, SELECT_TIMEOUT};
pub use skills::{Chat, Skill, Skills, SkillsBuilder, SkillsError, discover, discover_judged};
#[cfg(feature = "archive")]
pub use source::ArchiveSource;
#[cfg(feature = "http")]
pub use source::HttpSource;
pub use source::budget::{ProjectBudget, ProjectLimits};
pub use source::spec::SourceSpec;
pub use source::{DirSource, JsonlSource, Layer, MemorySource, MergedSource, PluginSource, Source};

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
