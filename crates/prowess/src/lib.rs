//! Prowess, the Agent Skills runtime: gives skills to a model, from folders to tool results.
//!
//! A skill is a folder with a `SKILL.md`: a name, a description and instructions, and files beside it. This is a whole
//! host:
//!
//! ```
//! use prowess::{Dialect, Skills};
//!
//! # let folder = tempfile::tempdir()?;
//! # std::fs::create_dir(folder.path().join("tidy-up"))?;
//! # std::fs::write(folder.path().join("tidy-up/SKILL.md"), "---\nname: tidy-up\ndescription: Tidies up.\n---\nDo.\n")?;
//! # let folder = folder.path();
//! # let tool_use = serde_json::json!({"id": "t1", "name": "load_skill", "input": {"name": "tidy-up"}});
//! let skills = Skills::open([folder])?;
//! let mut chat = skills.chat("chat-1");
//!
//! let system = chat.prompt()?; // text for the system prompt
//! let tools = chat.tools(Dialect::Anthropic); // JSON for the request
//! let answer = chat.answer(Dialect::Anthropic, &tool_use); // None when the call is not ours
//! # assert!(system.contains("tidy-up") && tools.is_array() && answer.unwrap()["is_error"] == false);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The main API
//!
//! - [`Skills`] are the skills of some folders, of the user ([`Skills::of_user`]) or of any sources
//!   ([`Skills::builder`]). Clones share one catalog, and a refresh reaches every chat.
//! - [`Chat`] is one conversation: the text for its prompt, the tools, and the answers to the model's calls, in the form
//!   of each [`Dialect`].
//! - [`Skill`] is one skill: its fields, its instructions, its files, and the text that gives it to a model.
//! - [`SkillsError`] is the error type of all three.
//!
//! # The parts
//!
//! A host can also use the parts that these types are built from. They are the steps from bytes to a model:
//!
//! 1. A [`Source`] lists skills and reads their files: [`DirSource`], [`MemorySource`], [`JsonlSource`] and others.
//!    [`SourceSpec`] is how a command line or a configuration names one.
//! 2. [`parse`] makes a [`Document`] of any bytes, and [`Document::load`] an [`Entry`]. A [`Manifest`] lists the files of
//!    a skill by [`RelPath`].
//! 3. [`check`](fn@check) reports facts about a document, and a [`Profile`] decides which [`Finding`] is a
//!    [`Problem`]. [`fix`] applies the fixes.
//! 4. A [`Registry`] combines its sources into one [`Catalog`], according to what the user trusts
//!    ([`registry::trust`]).
//! 5. A [`Selector`](select::Selector) finds the skills that fit a task; [`SearchIndex`](search::SearchIndex) is the one
//!    over names, descriptions and bodies.
//! 6. [`render`] writes catalogs and skills as text for a model, within a budget.
//! 7. A [`Session`](session::Session) is what a model talks to. It asks for an [`Effect`](session::Effect) where it needs
//!    a file or a search, and [`drive`] performs it on a registry. A [`Policy`](session::Policy) decides what it may show.
//!
//! [`library`] knows where clients keep skills, and [`settings`] reads `prowess.toml`. The features `archive`, `http`,
//! `install` and `watch` add skills in archives, skills on web sites, installing, and hot reload.

// The main API.
pub use prowess_core::session::Dialect;
pub use skills::{Chat, Skill, Skills, SkillsBuilder, SkillsError, discover, discover_judged};

// 1. Sources.
pub use fs::walk::{Scan, ScanChanges, ScanOptions, SkillFile, scan};
#[cfg(feature = "archive")]
pub use source::ArchiveSource;
#[cfg(feature = "http")]
pub use source::HttpSource;
pub use source::budget::ProjectLimits;
pub use source::spec::SourceSpec;
pub use source::{DirSource, JsonlSource, Layer, MemorySource, PluginSource, Source};

// 2. Documents, skills and their files.
pub use prowess_core::{
    ClientFields, Digest, Document, Entry, EntryBuilder, FileEntry, FileKind, HostTools, Invocation,
    JsonError, LeftOut, LineIndex, LoadError, Location, Manifest, Origin, Position, RelPath, Resource, Scope,
    SkillData, Span, TooLarge, ToolGrant, ToolList, parse, parse_head, parse_prefix, read_frontmatter,
};
pub use prowess_core::{client, digest, document, files, limits, path, skill, span, text};

// 3. Checks.
pub use prowess_core::{
    Edit, Finding, Fix, FixMode, Fixed, Level, NameRule, Preset, Problem, Profile, Related, Rule, Severity,
    UnknownRule, check, check_description, check_name, finding, fix,
};

// 4. The catalog.
pub use prowess_core::catalog;
pub use prowess_core::{
    Candidate, Catalog, Delta, Duplicates, Found, Obstacle, SourceSkill, Stamp, Standing,
};
pub use registry::{Registry, RegistryError};

// 5. to 7. Selection, rendering and sessions.
pub use prowess_core::{conversation, render, select, session};
pub use search::command::{CommandSelector, SELECT_TIMEOUT};

// The library of a user, and errors.
pub use error::advice;
pub use error::{Counted, LookupError, SourceError, SourceErrorKind, SpecialFile};
pub use settings::{Config, ConfigError};

#[cfg(feature = "archive")]
pub mod archive;
pub mod drive;
pub mod env;
mod error;
pub mod fs;
#[cfg(feature = "install")]
pub mod install;
pub mod library;
#[cfg(feature = "http")]
pub mod net;
pub mod process;
pub mod registry;
pub mod search;
pub mod settings;
pub mod skills;
pub mod source;
#[cfg(feature = "watch")]
pub mod watch;

#[doc(hidden)]
pub mod internal;

#[cfg(test)]
#[global_allocator]
static ALLOCATOR: prowess_testing::Counting = prowess_testing::Counting;

/// The pages whose Rust examples are compiled with the tests; a test checks that none is missing here.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../../../README.md")]
    struct Readme;
    #[doc = include_str!("../../../docs/embed/start.md")]
    struct Embed;
    #[cfg(feature = "install")]
    #[doc = include_str!("../../../docs/use/install.md")]
    struct Install;
    #[doc = include_str!("../../../docs/embed/library.md")]
    struct Library;
    #[doc = include_str!("../../../docs/embed/sessions.md")]
    struct Sessions;
    #[doc = include_str!("../../../docs/write/check.md")]
    struct Check;
}
