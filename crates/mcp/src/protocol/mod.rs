//! The protocol: the types of the extension, URIs of skills, cursors of lists, and outgoing messages.

pub(crate) mod ambiguity;
pub(crate) mod cursor;
pub(crate) mod methods;
pub(crate) mod outgoing;
pub(crate) mod response_budget;
pub(crate) mod uri;
pub(crate) mod values;
pub(crate) mod wire;
