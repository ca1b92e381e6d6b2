//! What a model sees of a session: the prompt, the tools with their names and arguments, and the results of calls.

pub(in crate::session) mod arguments;
pub(in crate::session) mod dialect;
mod message;
pub(in crate::session) mod naming;
pub(in crate::session) mod prompt;
pub(in crate::session) mod result;
pub(in crate::session) mod schema;
pub(crate) mod shown;
