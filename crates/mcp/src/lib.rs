//! Skills over the Model Context Protocol: a server that speaks the skills extension, with plain tools for hosts without
//! it, and a client that takes skills from such servers.
//!
//! [`serve_stdio`] serves one client on standard input and output until it hangs up, [`serve_http`] many on an address.
//! They block and bring a runtime. A host with a runtime of its own has [`serve_pipe`] and [`serve_listener`].
//!
//! The other way round, [`McpSource`] takes skills from another server, and [`Servers`] opens those that a library names.

mod client;
mod client_config;
mod http;
mod library;
mod lock;
mod log;
mod protocol;
mod server;
mod source;
mod stdio;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use prowess::session::{Filter, Naming};
use prowess::{HostTools, Registry};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

pub use crate::client_config::{CLIENTS, ClientConfig, Reach};
pub use crate::http::options::{HttpOptions, Token, may_serve};
pub use crate::http::origin_check::{is_host, is_origin};
pub use crate::log::{LogEnd, LogFormat, Sink, log_to};
use crate::server::Shared;
pub use crate::source::{McpLimits, McpSource, Servers};

/// What a person may choose about serving.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// What the tools are called.
    pub naming: Naming,
    /// Whether there are tools at all.
    pub tools: bool,
    /// The most skills that are active at once in a connection; 0 for no limit.
    pub max_active: usize,
    /// The skills that are served, by their virtual paths.
    pub filter: Filter,
    /// The tools the host has: skills are granted no others.
    pub host_tools: HostTools,
    /// Whether an activation is the instructions alone: see [`prowess::render::ActivationStyle::plain`].
    pub plain: bool,
    /// The longest text of an activation, in bytes.
    pub max_activation_bytes: usize,
    /// Whether a model is told in which folders skills lie, so that it can run what is in them. An address that other
    /// machines reach never tells.
    pub show_folders: bool,
    /// Whether changes are followed and told.
    pub watch: bool,
    /// How often sources elsewhere are asked what they have, since they tell of nothing.
    pub ask_again: Duration,
    /// The most bytes of answers that are not read yet, in all. Answers up to 64 KiB, and what is told on streams, are
    /// not counted. An answer that is larger than this is sent alone.
    pub max_unsent: usize,
    /// The file with what a person trusts, if that is to be followed too: trust that is taken back counts at once.
    pub approvals: Option<PathBuf>,
    /// The file that remembers what was analysed for searches.
    pub terms: Option<PathBuf>,
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
            // Several answers of the largest size.
            max_unsent: 256 << 20,
            approvals: None,
            terms: None,
        }
    }
}

/// Why nothing is served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The system does not give what serving needs.
    #[error("cannot serve")]
    System(#[from] io::Error),
    /// Others could reach the address, and nothing keeps them out.
    #[error("an address that other machines reach needs a token: {0}")]
    NeedsToken(SocketAddr),
    /// The address cannot be listened on.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The client did not begin as the protocol wants.
    #[error("the client did not begin as the protocol wants: {0}")]
    Handshake(String),
}

/// Serves one client on standard input and output, until it hangs up or the process is told to end.
pub fn serve_stdio(registry: Registry, options: &ServeOptions) -> Result<(), ServeError> {
    let runtime = runtime()?;
    let stop = CancellationToken::new();
    let served = runtime.block_on(async {
        let ending = tokio::spawn(signals(stop.clone()));
        let (reader, writer) = rmcp::transport::stdio_pipes();
        let served = serve_pipe(registry, options, reader, writer, stop.clone()).await;
        ending.abort();
        served
    });
    stop.cancel();
    // A read of standard input that cannot be taken back must not hold up the end.
    runtime.shutdown_background();
    served
}

/// Serves one client on a pipe, until it hangs up or until `stop`.
pub async fn serve_pipe<R, W>(
    registry: Registry,
    options: &ServeOptions,
    reader: R,
    writer: W,
    stop: CancellationToken,
) -> Result<(), ServeError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    // What follows the library ends with the pipe.
    let stop = stop.child_token();
    let _end = stop.clone().drop_guard();
    stdio::serve(Shared::new(registry, options, stdio::MAX_OPEN, stop.clone()), reader, writer, stop).await
}

/// Serves clients at `/mcp` of an address until the process is told to end. `listening` is told the address, with the
/// port that the system chose when none was asked for.
pub fn serve_http(
    registry: Registry,
    options: &ServeOptions,
    http: HttpOptions,
    address: SocketAddr,
    listening: impl FnOnce(SocketAddr),
) -> Result<(), ServeError> {
    if !may_serve(address, &http) {
        return Err(ServeError::NeedsToken(address));
    }
    let runtime = runtime()?;
    let stop = CancellationToken::new();
    let served = runtime.block_on(async {
        let bound = TcpListener::bind(address).await;
        let listener = bound.map_err(|source| ServeError::Listen { address, source })?;
        listening(listener.local_addr()?);
        let ending = tokio::spawn(signals(stop.clone()));
        serve_listener(registry, options, http, listener, stop.clone()).await;
        ending.abort();
        Ok(())
    });
    stop.cancel();
    runtime.shutdown_background();
    served
}

/// Serves clients that come to a listener, until `stop`; then lets what is under way end, for a while. The caller has
/// asked [`may_serve`].
pub async fn serve_listener(
    registry: Registry,
    options: &ServeOptions,
    http: HttpOptions,
    listener: TcpListener,
    stop: CancellationToken,
) {
    let stop = stop.child_token();
    let _end = stop.clone().drop_guard();
    // Whoever comes with a token comes from elsewhere: our folders are nothing to them.
    let near = http.token.is_none() && listener.local_addr().is_ok_and(|address| address.ip().is_loopback());
    let options = ServeOptions { show_folders: options.show_folders && near, ..options.clone() };
    // Half of the requests may wait for room, so that small answers always have a way.
    let waiting = (http.max_requests / 2).max(1);
    http::listener::serve(listener, Shared::new(registry, &options, waiting, stop.clone()), http, stop).await;
}

fn runtime() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(32)
        .enable_all()
        .build()
}

/// Waits for the signals that end a process.
async fn signals(stop: CancellationToken) {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let Ok(mut term) = signal(SignalKind::terminate()) else { return };
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = term.recv() => {}
        }
    }
    #[cfg(not(unix))]
    let _ = tokio::signal::ctrl_c().await;
    stop.cancel();
}
