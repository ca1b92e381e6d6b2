//! The pure heart of Prowess, the Agent Skills runtime: bytes in, values out.
//!
//! A skill is a folder with a `SKILL.md`: YAML frontmatter with a name and a description, then instructions.
//! This crate reads such files, says exactly what is wrong with them, and describes them as data. It touches no
//! files, network, environment, clock, thread or randomness; the `prowess` crate does that.
//!
//! From bytes to an opinion:
//!
//! ```
//! use prowess_core::{Origin, Profile, Severity, parse};
//!
//! let bytes = b"---\nname: tidy-up\ndescription: Use when: the desk is full\n---\n# Tidy up\n";
//!
//! // Reading never fails. The colon is no YAML, so the value was put in quotes.
//! let document = parse(bytes);
//! assert!(document.repaired());
//!
//! // A profile turns findings into problems.
//! let at = Origin::at("skills/tidy-up/SKILL.md");
//! let problems = Profile::spec().check(&document, None, &at);
//! assert_eq!(problems[0].code, "yaml-syntax");
//! assert_eq!(problems[0].severity, Severity::Error);
//!
//! // What can be loaded, loads.
//! let entry = document.load(&at, None, &Profile::lenient())?;
//! assert_eq!(entry.description, "Use when: the desk is full");
//! assert_eq!(document.body(), "# Tidy up");
//! # Ok::<(), prowess_core::LoadError>(())
//! ```

pub mod catalog;
pub mod check;
pub mod dict;
pub mod document;
pub mod fix;
pub mod glob;
pub mod limits;
pub mod manifest;
pub mod origin;
mod pairs;
pub mod path;
pub mod problem;
pub mod profile;
pub mod publish;
pub mod render;
pub mod resource;
pub mod rule;
pub mod select;
pub mod session;
pub mod skill;
pub mod span;
#[cfg(test)]
mod testing;
pub mod text;
pub mod tools;

pub use catalog::{Candidate, Catalog, Delta, Duplicates, Obstacle, Stamp, Standing};
pub use check::{check, check_description, check_name};
pub use dict::{DictError, Skill};
pub use document::{Document, parse, parse_head, parse_prefix, read_frontmatter};
pub use fix::{FixMode, Fixed, fix};
pub use manifest::{FileEntry, FileKind, LeftOut, Manifest};
pub use origin::{Origin, Scope};
pub use path::RelPath;
pub use problem::{Edit, Finding, Fix, Problem, Related, Severity};
pub use profile::{NameRule, Profile, UnknownRule};
pub use resource::{Resource, TooLarge};
pub use rule::{Level, Preset, Rule};
pub use skill::{ClientFields, Entry, Invocation, LoadError};
pub use span::{LineIndex, Position, Span};
pub use tools::{HostTools, ToolGrant, ToolList};
