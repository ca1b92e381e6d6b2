//! What the packages for Python and Node share: the library `prowess` behind JSON, with parts that the host writes.
//!
//! # The interface
//!
//! Input and output are JSON texts with names in camel case, as in `packages/web/engine`; the bytes of files are beside
//! them. Every failure is a [`Failure`] with a stable `code`, a message, perhaps a hint, the `problems` of a skill that
//! does not load, and the `cause` that a callback threw.
//!
//! - [`run`] has the operations without state: those of the engine (`parse`, `check`, `fix`, `search`, …) and those that
//!   read files: [`files`](mod@files) lists them.
//! - [`Skills`] are the skills of folders, of the user, of sources of the host. [`Skills::run`] has their operations.
//! - [`Offered`] are the skills that were offered at one moment.
//! - [`Chat`] is one conversation. [`Chat::run`] answers calls and performs their effects; [`Chat::step`] is the session
//!   below it, for a host that performs effects itself.
//! - [`Watch`] waits for changes of the folders.
//!
//! Everything blocks, is `Send + Sync`, and may be used from several threads at once. No lock of a chat or an index is
//! held while a callback runs, so a callback may use the skills and the chat that it serves; it may not refresh them.
//!
//! # Parts of the host
//!
//! [`ForeignSource`], [`ForeignSelector`], [`ForeignEmbedder`] and [`ForeignHost`] are what a host may write itself;
//! [`Foreign`] has them. Each call of one has a limit ([`Foreign::timeout`]): it then runs on a thread of its own, which
//! is abandoned when the limit is over, when the operation is cancelled ([`Cancel`]) or when the skills are closed. Each
//! of these ends an operation, also a search that reads its skills. Without a limit a callback runs on the thread of the
//! caller, also if [`apart`] runs the operation on another one, so that it can be cancelled while it waits for a site.
//!
//! # Codes
//!
//! `invalid` (an argument), `load` (a skill does not load), `source`, `missing`, `outside`, `not-a-file`, `too-large`,
//! `broken`, `not-as-listed` (a source or a file), `not-found` (no such skill), `duplicate`, `taken`, `select`,
//! `restore`, `config`, `watch`, `timeout` (a callback did not return), `cancelled`, `closed`, `forked` (opened in
//! another process), `busy` (a callback refreshes what it serves).

#![forbid(unsafe_code)]

mod apart;
mod asked;
mod chat;
mod discover;
mod errors;
pub mod files;
mod foreign;
mod handle;
mod offered;
mod opening;
mod perform;
mod selector;
mod skills;
mod source;
mod watch;

pub use apart::apart;
pub use asked::Cancel;
pub use chat::Chat;
pub use errors::of_source as source_failure;
pub use files::run;
pub use foreign::{
    Foreign, ForeignEmbedder, ForeignError, ForeignHost, ForeignSelector, ForeignSource, Listed,
};
pub use offered::Offered;
pub use prowess_engine::{Cause, Failure, read};
pub use skills::Skills;
pub use watch::Watch;

/// How long a callback may take by default.
pub const CALLBACK_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(60);
