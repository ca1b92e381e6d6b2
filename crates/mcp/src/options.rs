//! The options of serving, and the errors that keep a server from starting.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use prowess::session::{Filter, Naming};
use prowess::{HostTools, SourceError};

/// Declares a struct of options: its fields with their defaults, and a `with_…` method for each. Programs that set some of
/// them still compile when there are more.
macro_rules! options {
    (
        $(#[$about:meta])*
        pub struct $name:ident {
            $($(#[$field_about:meta])* pub $field:ident: $kind:ty = $default:expr,)*
        }
    ) => { pastey::paste! {
        $(#[$about])*
        #[non_exhaustive]
        pub struct $name {
            $($(#[$field_about])* pub $field: $kind,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        impl $name {
            $(
                #[doc = concat!("Sets [`", stringify!($field), "`](Self::", stringify!($field), ").")]
                #[must_use]
                pub fn [<with_ $field>](mut self, $field: $kind) -> Self {
                    self.$field = $field;
                    self
                }
            )*
        }
    } };
}
pub(crate) use options;

options! {
    /// What a server offers, and the limits that all transports share.
    #[derive(Clone, Debug)]
    pub struct ServeOptions {
        /// The names of the tools.
        pub naming: Naming = Naming::default(),
        /// Whether tools are offered at all.
        pub tools: bool = true,
        /// The maximum number of active skills per connection; 0 for no limit.
        pub max_active: usize = 0,
        /// The skills to serve, by their virtual paths.
        pub filter: Filter = Filter::all(),
        /// The tools of the host: skills are granted no others.
        pub host_tools: HostTools = HostTools::Unlimited,
        /// Whether an activation is the instructions alone: see [`prowess::render::ActivationStyle::plain`].
        pub plain: bool = false,
        /// The maximum size of an activation, in bytes.
        pub max_activation_bytes: usize = prowess::limits::MAX_ACTIVATION_BYTES,
        /// Whether an activation names the folder of its skill, so that an agent can run the scripts in it. Folders are
        /// never shown on an address that other machines can reach.
        pub show_folders: bool = true,
        /// Whether to watch for changes and send notifications.
        pub watch: bool = true,
        /// How often to poll remote sources, which announce no changes.
        pub ask_again: Duration = Duration::from_secs(60),
        /// The maximum size of all responses that clients have not read yet, in bytes. Responses up to 64 KiB and
        /// notifications are not counted. A response that is larger than the limit is sent alone.
        // Several responses of the largest size.
        pub max_unsent: usize = 256 << 20,
        /// The file of approvals to watch, if any: revoked trust takes effect at once.
        pub approvals: Option<PathBuf> = None,
        /// The file that caches the search index.
        pub terms: Option<PathBuf> = None,
        /// The hint that the log gives for a problem of the library. A program with commands of its own can name them.
        pub hint: fn(&SourceError) -> String = |error| error.hint().into_owned(),
    }
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
