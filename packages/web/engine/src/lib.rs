//! What the JavaScript packages of Prowess share: the pure core behind JSON in JavaScript's idiom.
//!
//! Input and output are JSON with names in camel case, and places in a text count UTF-16 units, as JavaScript does.
//! The bytes of files are beside the JSON. [`run`] has the operations without state, [`Library`] is a set of skills, and
//! [`Session`] answers the calls of a model. The packages wrap these for WebAssembly and for Node.

mod failure;
mod input;
mod library;
mod operations;
mod output;
mod render;
mod search;
mod session;

pub use failure::{Failure, read};
pub use library::{Library, delta_json, over_catalog, search_catalog};
pub use operations::run;
pub use output::candidate as candidate_json;
pub use session::{Session, Usual};
