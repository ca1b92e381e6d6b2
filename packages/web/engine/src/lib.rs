//! What the packages of Prowess for other languages share: the pure core behind JSON.
//!
//! Input and output are JSON with names in camel case. Places in a text count UTF-16 units, as JavaScript does, or
//! characters if the input says `"units": "characters"`, as Python does.
//! The bytes of files are beside the JSON. [`run`] has the operations without state, [`Library`] is a set of skills, and
//! [`Session`] answers the calls of a model. The packages wrap these for WebAssembly, and with
//! `packages/native` for Python and Node.

#![forbid(unsafe_code)]

mod calls;
mod failure;
pub mod input;
mod library;
mod operations;
mod output;
pub mod policy;
mod render;
mod search;
mod session;

pub use calls::Response;
pub use failure::{Cause, Failure, read};
pub use library::{Library, delta_json, over_catalog, search_catalog};
pub use operations::{document_json, load_failure, problems_json, run};
pub use output::{
    brief as problem_json, candidate as candidate_json, effect_json, event as event_json, hits as hits_json,
    result_json,
};
pub use render::GivenSkill;
pub use session::{Session, Usual};
