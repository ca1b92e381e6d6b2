//! Text from outside, made harmless: the one table of characters that people do not see, and all escaping.

mod chars;
mod escape;
mod json_values;

pub use chars::{Unseen, hidden, unseen};
pub(crate) use chars::{is_blank, may_have_hidden};
pub use escape::{collapse, cut, inline, json, neutralize, visible, xml};
pub use json_values::json_values;
