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
pub mod document;
pub mod files;
pub mod finding;
pub mod limits;
pub mod path;
pub mod render;
pub mod select;
pub mod session;
pub mod skill;
pub mod span;
#[cfg(test)]
mod testing;
pub mod text;

pub use catalog::{Candidate, Catalog, Delta, Duplicates, Found, Obstacle, SkillRef, Stamp, Standing};
pub use check::fix::{FixMode, Fixed, fix};
pub use check::load::LoadError;
pub use check::profile::{NameRule, Profile, UnknownRule};
pub use check::{EntryBuilder, check, check_description, check_name};
pub use document::{Document, parse, parse_head, parse_prefix, read_frontmatter};
pub use files::manifest::{FileEntry, FileKind, LeftOut, Manifest};
pub use files::page::{Resource, TooLarge};
pub use finding::rule::{Level, Preset, Rule};
pub use finding::{Edit, Finding, Fix, Problem, Related, Severity};
pub use path::RelPath;
pub use skill::json::{JsonError, SkillData};
pub use skill::location::{Location, Origin, Scope};
pub use skill::tool_list::{HostTools, ToolGrant, ToolList};
pub use skill::{ClientFields, Entry, Invocation};
pub use span::{LineIndex, Position, Span};
