//! Skills over the Model Context Protocol: a server with the skills extension and plain tools, and a client for such
//! servers.
//!
//! To serve a [`prowess::Registry`]:
//!
//! 1. Choose [`ServeOptions`], and for HTTP also [`HttpOptions`]: limits, allowed hosts and origins, [`Tokens`].
//! 2. Call [`serve_stdio`] for one client on standard input and output, or [`serve_http`] for many clients at an address.
//!    Both block and start their own runtime.
//! 3. In a program with a Tokio runtime, call [`serve_pipe`] or [`serve_listener`] instead.
//! 4. Print the log with [`log_to`], and the configuration of a client with [`ClientConfig`].
//!
//! To use the skills of another server, open it as an [`McpSource`]. [`Servers`] opens the servers that a library names,
//! and [`McpLimits`] bounds what is accepted from them.

mod client;
mod client_config;
mod host;
mod http;
mod library;
mod log;
mod metrics;
mod options;
mod protocol;
mod server;
mod source;
mod stdio;
#[cfg(feature = "testing")]
#[doc(hidden)]
pub mod testing;

use std::io;
use std::net::SocketAddr;

use prowess::Registry;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket};
use tokio_util::sync::CancellationToken;

pub use crate::client_config::{CLIENT_CONFIGS, ClientConfig, ConfigOwner, SERVER_NAME, ServerTransport};
use crate::host::{Hangups, Host, Running};
pub use crate::host::{HttpHooks, Listen, Reload, Reloaded};
pub use crate::http::options::{BearerToken, HttpOptions, may_serve};
pub use crate::http::origin_check::{is_host, is_origin};
pub use crate::http::tokens::{NamedToken, Tokens, TokensError};
pub use crate::library::states::SkillCounts;
pub use crate::log::{LogFormat, LogGuard, LogSink, log_to};
pub use crate::options::{ServeError, ServeOptions, TrustHint};
use crate::server::Shared;
pub use crate::source::{McpLimits, McpSource, Servers};
use crate::stdio::Pipe;

/// Serves one client on standard input and output, until it disconnects or the process receives a signal to stop.
pub fn serve_stdio(registry: Registry, options: &ServeOptions) -> Result<(), ServeError> {
    let runtime = runtime()?;
    let stop = CancellationToken::new();
    let served = runtime.block_on(async {
        let signals = tokio::spawn(stop_on_signal(stop.clone()));
        let (reader, writer) = rmcp::transport::stdio_pipes();
        let served = serve_pipe(registry, options, reader, writer, stop.clone()).await;
        signals.abort();
        served
    });
    stop.cancel();
    // A read of standard input cannot be cancelled, so do not wait for it.
    runtime.shutdown_background();
    served
}

/// Serves one client on a pipe, until it disconnects or `stop` is cancelled.
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
    // The threads that watch the library end with the pipe.
    let stop = stop.child_token();
    let _end = stop.clone().drop_guard();
    let shared = Shared::new(registry, options, stdio::MAX_OPEN, stop.clone());
    stdio::serve(shared, Pipe::new(reader, writer), stop).await
}

/// Serves clients at `/mcp` until the process receives a signal to stop.
pub fn serve_http(
    registry: Registry,
    options: &ServeOptions,
    http: HttpOptions,
    listen: Listen,
    hooks: HttpHooks,
) -> Result<(), ServeError> {
    if let Listen::Address(address) = listen
        && !may_serve(address, &http)
    {
        return Err(ServeError::NeedsToken(address));
    }
    metrics::started();
    let runtime = runtime()?;
    let stop = CancellationToken::new();
    let served = runtime.block_on(async {
        let listener = match listen {
            Listen::Address(address) => {
                listener_at(address).map_err(|source| ServeError::Listen { address, source })?
            }
            Listen::Socket(socket) => {
                socket.set_nonblocking(true)?;
                TcpListener::from_std(socket)?
            }
        };
        let address = listener.local_addr()?;
        if !may_serve(address, &http) {
            return Err(ServeError::NeedsToken(address));
        }
        let reload = match hooks.reload {
            Some(reload) => Some((reload, Hangups::new()?)),
            None => None,
        };
        let signals = tokio::spawn(stop_on_signal(stop.clone()));
        if let Some(listening) = hooks.listening {
            listening(address);
        }
        run_listener(registry, options, http, listener, Running { ready: hooks.ready, reload }, stop.clone())
            .await;
        signals.abort();
        Ok(())
    });
    stop.cancel();
    runtime.shutdown_background();
    served
}

/// How many connections the system keeps until they are accepted. When many come at once, further ones would try again
/// after a second.
const BACKLOG: u32 = 1024;

fn listener_at(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // On Windows, another program could take the port then.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Serves the clients of a listener until `stop` is cancelled, then gives running requests
/// [`grace`](HttpOptions::grace) to finish. The caller must check the address with [`may_serve`] first.
pub async fn serve_listener(
    registry: Registry,
    options: &ServeOptions,
    http: HttpOptions,
    listener: TcpListener,
    stop: CancellationToken,
) {
    metrics::started();
    run_listener(registry, options, http, listener, Running::default(), stop).await;
}

async fn run_listener(
    registry: Registry,
    options: &ServeOptions,
    http: HttpOptions,
    listener: TcpListener,
    hooks: Running,
    stop: CancellationToken,
) {
    let stop = stop.child_token();
    let _end = stop.clone().drop_guard();
    // A client with a token may be on another machine, where local folders mean nothing.
    let local =
        http.tokens.is_none() && listener.local_addr().is_ok_and(|address| address.ip().is_loopback());
    let mut options = options.clone();
    options.session.show_folders &= local;
    // Only half of the requests may wait for the response budget, so that small responses always get through.
    let waiting = (http.max_requests / 2).max(1);
    let token_file = http.tokens.as_ref().and_then(Tokens::file).map(Into::into);
    let shared = Shared::new(registry, &options, waiting, stop.clone());
    http::listener::serve(listener, shared, http, Host { hooks, local, token_file }, stop).await;
}

fn runtime() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(server::blocking::max_threads())
        .enable_all()
        .build()
}

/// Cancels `stop` when the process receives SIGINT or SIGTERM. They have no other effect from the call on, not only once
/// the future runs.
fn stop_on_signal(stop: CancellationToken) -> impl Future<Output = ()> + Send + 'static {
    #[cfg(unix)]
    let signals = {
        use tokio::signal::unix::{SignalKind, signal};
        signal(SignalKind::interrupt()).and_then(|int| Ok((int, signal(SignalKind::terminate())?)))
    };
    async move {
        #[cfg(unix)]
        {
            let Ok((mut int, mut term)) = signals else { return };
            tokio::select! {
                _ = int.recv() => {}
                _ = term.recv() => {}
            }
        }
        #[cfg(not(unix))]
        let _ = tokio::signal::ctrl_c().await;
        stop.cancel();
    }
}
