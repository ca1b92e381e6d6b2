//! The options of serving, and the errors that keep a server from starting.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use prowess::internal::with_methods;
use prowess::session::{Options, Policy};
use prowess::{Candidate, Registry, SourceError};

/// What a server offers, and the limits that all transports share.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServeOptions {
    /// How the session of each connection behaves. Scripts are never run, folders are never shown on an address that other
    /// machines can reach, and the events of a session are not kept, whatever these options say.
    pub session: Options,
    /// What sessions may show: the filter chooses the skills to serve, by their virtual paths.
    pub policy: Policy,
    /// Whether tools are offered at all.
    pub tools: bool,
    /// Whether to watch for changes and send notifications.
    pub watch: bool,
    /// How often to poll remote sources, which announce no changes.
    pub ask_again: Duration,
    /// The maximum size of all responses that clients have not read yet, in bytes. Responses up to 64 KiB and
    /// notifications are not counted. A response that is larger than the limit is sent alone.
    pub max_unsent: usize,
    /// The maximum number of bytes that all sessions keep of their active skills and pending calls, each text counted once.
    /// A call beyond it is refused. [`Options::max_kept_bytes`] is the limit of each session.
    pub max_kept: usize,
    /// The file of approvals to watch, if any: revoked trust takes effect at once.
    pub approvals: Option<PathBuf>,
    /// The file that caches the search index.
    pub terms: Option<PathBuf>,
    /// The hint that the log gives for a problem of the library. A program with commands of its own can name them.
    pub hint: fn(&SourceError) -> String,
    /// The hint that the log gives when skills wait for trust and none is served.
    pub trust_hint: TrustHint,
}

/// Makes a hint from the skills that wait for trust.
#[derive(Clone)]
pub struct TrustHint(Arc<MakeHint>);

type MakeHint = dyn Fn(&Registry, &[&Candidate]) -> String + Send + Sync;

impl TrustHint {
    /// A hint made by a function. A program with commands of its own can name them.
    pub fn new(hint: impl Fn(&Registry, &[&Candidate]) -> String + Send + Sync + 'static) -> Self {
        Self(Arc::new(hint))
    }

    pub(crate) fn of(&self, registry: &Registry, waiting: &[&Candidate]) -> String {
        (self.0)(registry, waiting)
    }
}

impl Default for TrustHint {
    fn default() -> Self {
        Self::new(|_, _| "approve them".to_owned())
    }
}

impl fmt::Debug for TrustHint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TrustHint")
    }
}

impl Default for ServeOptions {
    fn default() -> Self {
        Self {
            session: Options::default(),
            policy: Policy::default(),
            tools: true,
            watch: true,
            ask_again: Duration::from_secs(60),
            // Several responses of the largest size.
            max_unsent: 256 << 20,
            // Thirty-two sessions that keep as much as they may, or thousands of usual ones.
            max_kept: 256 << 20,
            approvals: None,
            terms: None,
            hint: |error| error.hint().to_string(),
            trust_hint: TrustHint::default(),
        }
    }
}

with_methods! { ServeOptions:
    with_session session: Options;
    with_policy policy: Policy;
    with_tools tools: bool;
    with_watch watch: bool;
    with_ask_again ask_again: Duration;
    with_max_unsent max_unsent: usize;
    with_max_kept max_kept: usize;
    with_approvals approvals: Option<PathBuf>;
    with_terms terms: Option<PathBuf>;
    with_hint hint: fn(&SourceError) -> String;
    with_trust_hint trust_hint: TrustHint;
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
    /// The client closed its end of the pipe before it read the first answer.
    #[error("the client closed the pipe before it read an answer")]
    Closed,
    /// The client did not begin with a valid handshake.
    #[error("the client did not begin as the protocol wants: {0}")]
    Handshake(String),
}
