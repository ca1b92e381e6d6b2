//! The options of serving, and the errors that keep a server from starting.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use prowess::internal::with_methods;
use prowess::session::{Filter, Naming};
use prowess::{HostTools, SourceError};

/// What a server offers, and the limits that all transports share.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServeOptions {
    /// The names of the tools.
    pub naming: Naming,
    /// Whether tools are offered at all.
    pub tools: bool,
    /// The maximum number of active skills per connection; 0 for no limit.
    pub max_active: usize,
    /// The skills to serve, by their virtual paths.
    pub filter: Filter,
    /// The tools of the host: skills are granted no others.
    pub host_tools: HostTools,
    /// Whether an activation is the instructions alone: see [`prowess::render::ActivationStyle::plain`].
    pub plain: bool,
    /// The maximum size of an activation, in bytes.
    pub max_activation_bytes: usize,
    /// Whether an activation names the folder of its skill, so that an agent can run the scripts in it. Folders are
    /// never shown on an address that other machines can reach.
    pub show_folders: bool,
    /// Whether to watch for changes and send notifications.
    pub watch: bool,
    /// How often to poll remote sources, which announce no changes.
    pub ask_again: Duration,
    /// The maximum size of all responses that clients have not read yet, in bytes. Responses up to 64 KiB and
    /// notifications are not counted. A response that is larger than the limit is sent alone.
    pub max_unsent: usize,
    /// The file of approvals to watch, if any: revoked trust takes effect at once.
    pub approvals: Option<PathBuf>,
    /// The file that caches the search index.
    pub terms: Option<PathBuf>,
    /// The hint that the log gives for a problem of the library. A program with commands of its own can name them.
    pub hint: fn(&SourceError) -> String,
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self {
            naming: Naming::default(),
            tools: true,
            max_active: 0,
            filter: Filter::all(),
            host_tools: HostTools::Unlimited,
            plain: false,
            max_activation_bytes: prowess::limits::MAX_ACTIVATION_BYTES,
            show_folders: true,
            watch: true,
            ask_again: Duration::from_secs(60),
            // Several responses of the largest size.
            max_unsent: 256 << 20,
            approvals: None,
            terms: None,
            hint: |error| error.hint().into_owned(),
        }
    }
}

with_methods! { ServeOptions:
    with_naming naming: Naming;
    with_tools tools: bool;
    with_max_active max_active: usize;
    with_filter filter: Filter;
    with_host_tools host_tools: HostTools;
    with_plain plain: bool;
    with_max_activation_bytes max_activation_bytes: usize;
    with_show_folders show_folders: bool;
    with_watch watch: bool;
    with_ask_again ask_again: Duration;
    with_max_unsent max_unsent: usize;
    with_approvals approvals: Option<PathBuf>;
    with_terms terms: Option<PathBuf>;
    with_hint hint: fn(&SourceError) -> String;
}

/// Why a server did not start or a handshake failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The system refused something that serving needs.
    #[error("cannot serve")]
    System(#[from] io::Error),
    /// Other machines can reach the address, and no token protects it.
    #[error("an address that other machines reach needs a token: {0}")]
    NeedsToken(SocketAddr),
    /// The address cannot be listened on.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The error of the system.
        source: io::Error,
    },
    /// The client did not begin with a valid handshake.
    #[error("the client did not begin as the protocol wants: {0}")]
    Handshake(String),
}
