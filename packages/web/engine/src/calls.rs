//! The calls of a model that are for a session.

use prowess_core::session::Session;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::session::dialect;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Message {
    dialect: String,
    message: Value,
}

/// The calls in a message that are for the session, each with the id of its result.
pub(crate) fn calls(session: &Session, asked: Message) -> Result<Value, Failure> {
    let dialect = dialect(&asked.dialect)?;
    let calls = dialect.calls(&asked.message).into_iter().filter_map(|part| dialect.call(part));
    let calls = calls.filter(|received| session.owns(&received.call.tool));
    Ok(calls.map(|received| json!({"id": received.id, "call": received.call})).collect())
}
