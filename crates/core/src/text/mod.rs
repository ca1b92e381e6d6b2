//! Text from outside: the one table of invisible characters, comments in Markdown, all escaping, edit distance, and JSON
//! within limits.

mod chars;
mod comments;
pub(crate) mod distance;
mod escape;
pub(crate) mod json;
mod percent;
#[cfg(test)]
pub(crate) mod testing;

pub use chars::{Unseen, hidden, unseen};
pub(crate) use chars::{is_blank, may_have_hidden};
pub use comments::{comments, html_comments};
pub use distance::similar;
pub(crate) use distance::{distance, typos};
pub use escape::{collapse, cut, inline, json, neutralize, visible, xml};
pub(crate) use percent::percent_decode;
pub use percent::{uri_path, uri_segment};
