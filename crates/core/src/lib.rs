//! The pure part of Prowess, the Agent Skills runtime: bytes in, values out.
//!
//! A skill is a folder with a `SKILL.md`: YAML frontmatter with a name and a description, then instructions. This crate
//! touches no files, network, environment, clock, threads or randomness; the `prowess` crate does that, and is the one
//! to add to a program.
//!
//! From bytes to a skill:
//!
//! ```
//! use prowess_core::{Origin, Profile, Severity, parse};
//!
//! let bytes = b"---\nname: tidy-up\ndescription: Use when: the desk is full\n---\n# Tidy up\n";
//!
//! // Reading never fails. The second colon is not valid YAML, so the reader puts the value in quotes.
//! let document = parse(bytes);
//! assert!(document.repaired());
//!
//! // A profile turns findings into problems.
//! let at = Origin::at("skills/tidy-up/SKILL.md");
//! let problems = Profile::spec().check(&document, None, &at);
//! assert_eq!(problems[0].code, "yaml-syntax");
//! assert_eq!(problems[0].severity, Severity::Error);
//!
//! // The lenient profile loads every skill that can be loaded.
//! let entry = document.load(&at, None, &Profile::lenient())?;
//! assert_eq!(entry.description, "Use when: the desk is full");
//! assert_eq!(document.body(), "# Tidy up");
//! # Ok::<(), prowess_core::LoadError>(())
//! ```
//!
//! # The stages
//!
//! Each module uses only those before it.
//!
//! 1. [`limits`], [`text`], [`path`], [`span`] and [`digest`] are used by all others: named limits, escaping,
//!    [`RelPath`], places in a file, and [`Digest`].
//! 2. [`finding`]: a [`Finding`] is a fact about the input, an instance of a [`Rule`]. A [`Problem`] is a finding with a
//!    [`Severity`].
//! 3. [`document`]: [`parse`] makes a [`Document`] of any bytes, with the place of every value.
//! 4. [`skill`]: an [`Entry`] is the data of one skill in a catalog. Its [`Origin`] says where it comes from, and its
//!    [`ToolList`] which tools it asks for. [`Entry::builder`] makes one in a program.
//! 5. [`files`]: a [`Manifest`] lists the files of a skill; a [`Resource`] is a part of one of them.
//! 6. [`check`](mod@check): a [`Profile`] decides which findings are problems, and whether a document
//!    [loads](Document::load). [`fix`] applies the fixes.
//! 7. [`client`]: [`Reads`](client::Reads) describes where a client looks and how it reads;
//!    [`view`](client::view()) computes what it lists.
//! 8. [`catalog`]: a [`Catalog`] orders the [`Candidate`]s of all sources, and says which are offered and why the others
//!    are not.
//!    An [`Assembly`](assembly::Assembly) makes it of what the sources list.
//! 9. [`select`]: a [`Selector`](select::Selector) finds the skills that fit a query, the best first.
//! 10. [`render`]: the text that a model sees, within a [`Budget`](render::Budget).
//! 11. [`session`]: a [`Session`](session::Session) answers the tool calls of a model, and asks its host for an
//!     [`Effect`](session::Effect) where it needs a file or a search.
//! 12. [`conversation`]: a [`Conversation`](conversation::Conversation) is a session that follows new catalogs.

/// Methods that take a value, change one field and return it. A private field, which is an option that is set with
/// `Some`, has its own documentation. For the crates of this project only.
#[doc(hidden)]
#[macro_export]
macro_rules! with_methods {
    ($type:ty: $($with:ident $field:ident: $kind:ty;)+) => {
        impl $type {
            $(
                #[doc = concat!("Sets [`", stringify!($field), "`](Self::", stringify!($field), ").")]
                #[must_use]
                pub fn $with(mut self, $field: $kind) -> Self {
                    self.$field = $field;
                    self
                }
            )+
        }
    };
    ($type:ty: $($(#[$doc:meta])+ $with:ident Some($field:ident): $kind:ty;)+) => {
        impl $type {
            $(
                $(#[$doc])+
                #[must_use]
                pub fn $with(mut self, $field: $kind) -> Self {
                    self.$field = Some($field);
                    self
                }
            )+
        }
    };
}

pub mod assembly;
pub mod catalog;
pub mod check;
pub mod client;
pub mod conversation;
pub mod digest;
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
pub mod text;

pub use catalog::{Candidate, Catalog, Delta, Duplicates, Found, Obstacle, SourceSkill, Stamp, Standing};
pub use check::{
    EntryBuilder, FixMode, Fixed, LoadError, NameRule, Profile, UnknownRule, check, check_description,
    check_name, fix,
};
pub use digest::Digest;
pub use document::{Document, parse, parse_head, parse_prefix, read_frontmatter};
pub use files::{FileEntry, FileKind, LeftOut, Manifest, Resource, TooLarge};
pub use finding::{Edit, Finding, Fix, Level, Preset, Problem, Related, Rule, Severity};
pub use path::RelPath;
pub use skill::{
    ClientFields, Entry, HostTools, Invocation, JsonError, Location, Origin, Scope, SkillData, ToolGrant,
    ToolList,
};
pub use span::{LineIndex, Position, Span};

/// What the other crates and the tests of this project use. It is not part of the public API: anything in it may change
/// in any release.
#[doc(hidden)]
pub mod internal {
    pub use crate::catalog::candidate::Decision;
    pub use crate::catalog::found::Appearance;
    pub use crate::catalog::state::{STATES, obstacle_of, state_of};
    pub use crate::check::rules::hidden::rule_of;
    pub use crate::check::rules::quality::{TEMPLATE_BODY, TEMPLATE_WHEN};
    pub use crate::check::strict::{Withheld, withheld};
    pub use crate::document::plain::quick_reader_agrees;
    pub use crate::document::split::{Outline, Split, split, split_prefix};
    pub use crate::document::yaml::read_yaml;
    pub use crate::files::page::{MARGIN, base64, from_base64};
    pub use crate::files::repository::{is_never_listed, is_passed_over};
    pub use crate::session::interface::shown::ShownName;
    pub use crate::skill::tool_list::{Token, tokens};
    pub use crate::text::distance::did_you_mean;
    pub use crate::text::json::{json_values, parse_json, without_depths, without_halves};
}
