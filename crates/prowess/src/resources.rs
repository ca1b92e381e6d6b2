//! The files beside a SKILL.md as they are given to a model: in groups, in part, as text or base64.

pub use prowess_core::files::page::{
    Contents, DEFAULT_LIMIT, Groups, Resource, TooLarge, base64, from_base64,
};
