//! One skill as data: its [`Entry`], the fields of its frontmatter, where it comes from, the tools it asks for.

mod entry;
mod fields;
mod json;
pub(crate) mod location;
mod pairs;
pub(crate) mod tool_list;

pub(crate) use entry::normalize;
pub use entry::{Entry, Invocation};
pub(crate) use fields::*;
pub use fields::{ClientFields, Fields};
pub use json::{JsonError, SkillData};
pub use location::{Location, Origin, Scope};
pub use tool_list::{HostTools, ToolForm, ToolGrant, ToolList};
