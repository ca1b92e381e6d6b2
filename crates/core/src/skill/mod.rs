//! One skill as data: its [`Entry`], the fields of its frontmatter, where it comes from, the tools it asks for.

mod entry;
mod fields;
pub mod json;
pub mod location;
mod pairs;
pub mod tool_list;

pub use entry::*;
pub use fields::*;
