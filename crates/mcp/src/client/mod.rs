//! A blocking connection to another MCP server, over HTTP or to a child process, in both eras of the protocol.

mod error;
mod http;
mod process;
mod response;

use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use prowess::internal::ChildProcess;
use prowess::internal::PublicHosts;
use prowess::net::UreqClient;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ClientRequest, Implementation, JsonObject, ProtocolVersion,
    ServerResult,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, PeerRequestOptions, RunningService, ServiceError,
};
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransport, StreamableHttpClientTransportConfig,
};
use rmcp::{ClientServiceExt as _, RoleClient};
use serde_json::Value;
use tokio::runtime::Runtime;

use self::error::TransportLog;
pub(crate) use self::error::{ClientError, shown};
use crate::protocol::wire;
use crate::source::McpLimits;
use prowess::internal::locked;

const CHECK_PROTOCOL: &str = "see whether this is an MCP server with the skills extension";
const ASK_OPERATOR: &str = "ask the operator of the server";
/// How long closing a session may take.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(500);

/// The result of a handshake.
type Handshake = Result<RunningService<RoleClient, ClientConfig>, ClientInitializeError>;

/// How to connect to a server. It may contain a token, so it must not be printed.
pub(crate) enum Endpoint {
    Http {
        url: String,
        token: Option<String>,
        client: UreqClient,
        /// Outlives a connection: a server that was public once must not be private after a reconnect.
        public: Arc<PublicHosts>,
    },
    Process {
        argv: Vec<String>,
        folder: Option<PathBuf>,
    },
}

/// The child process of the server, if it has one.
#[derive(Default)]
struct ServerProcess {
    running: Option<(ChildProcess, process::Input)>,
    /// The end of its standard error, once it has ended.
    last_output: Option<String>,
}

impl ServerProcess {
    /// Ends the process, which also unblocks writes to it.
    fn end(&mut self) {
        if let Some((child, input)) = self.running.take() {
            process::close_input(&input);
            self.last_output = Some(child.last_words());
        }
    }
}

/// A connection. It has its own runtime, so that it can be used from any thread, also from one of another runtime.
pub(crate) struct Connection {
    runtime: Option<Runtime>,
    service: Option<RunningService<RoleClient, ClientConfig>>,
    /// Ends with the connection.
    server_process: Mutex<ServerProcess>,
    log: Arc<TransportLog>,
}

impl Connection {
    /// Connects without a session if the server supports that, else with a handshake.
    pub(crate) fn open(endpoint: &Endpoint, limits: McpLimits) -> Result<Self, ClientError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(8)
            .enable_time()
            .build()
            .map_err(|error| ClientError::new(error.to_string(), "look at the limits of this machine"))?;
        let log = Arc::new(TransportLog::default());
        // From here on, dropping the connection cleans up all of it.
        let mut made = Self { runtime: Some(runtime), service: None, server_process: Mutex::default(), log };
        let waiting = match endpoint {
            Endpoint::Http { url, token, client, public } => {
                let client = http::McpHttpClient::new(
                    client.clone(),
                    limits,
                    Arc::clone(public),
                    Arc::clone(&made.log),
                );
                let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str());
                config.auth_header.clone_from(token);
                made.begin(move || StreamableHttpClientTransport::with_client(client, config))
            }
            Endpoint::Process { argv, folder } => {
                let log = Arc::clone(&made.log);
                let (child, input, pipes) = process::start(argv, folder.as_deref(), limits, log)?;
                locked(&made.server_process).running = Some((child, input));
                made.begin(move || pipes)
            }
        }?;
        match waiting.recv_timeout(limits.time) {
            Ok(Ok(service)) => made.service = Some(service),
            Ok(Err(error)) => return Err(made.handshake_error(&error)),
            Err(_) => return Err(made.close(ClientError::timeout(limits.time))),
        }
        let offers = made.service.as_ref().and_then(|service| service.peer_info()).is_some_and(|info| {
            info.capabilities.extensions.as_ref().is_some_and(|known| known.contains_key(wire::EXTENSION))
        });
        if !offers {
            let reason =
                format!("it has no skills extension: {} is not among its capabilities", wire::EXTENSION);
            return Err(ClientError::new(
                reason,
                "only servers with this extension can be a source of skills",
            ));
        }
        Ok(made)
    }

    fn begin<T: rmcp::transport::Transport<RoleClient> + 'static>(
        &self,
        // Created on the runtime, since a transport may spawn tasks.
        transport: impl FnOnce() -> T + Send + 'static,
    ) -> Result<mpsc::Receiver<Handshake>, ClientError> {
        let mut capabilities = ClientCapabilities::default();
        capabilities.extensions = Some([(wire::EXTENSION.to_owned(), JsonObject::new())].into());
        let config =
            ClientConfig::new(capabilities, Implementation::new("prowess", env!("CARGO_PKG_VERSION")));
        let lifecycle = ClientLifecycleMode::Auto {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
        };
        let (sender, receiver) = mpsc::sync_channel(1);
        self.runtime()?.spawn(async move {
            let _ = sender.send(config.serve_with_lifecycle(transport(), lifecycle).await);
        });
        Ok(receiver)
    }

    fn runtime(&self) -> Result<&Runtime, ClientError> {
        self.runtime.as_ref().ok_or_else(ClientError::closed)
    }

    /// Whether it can still be used.
    pub(crate) fn is_open(&self) -> bool {
        self.service.as_ref().is_some_and(|service| !service.is_transport_closed() && !service.is_closed())
    }

    /// The number of received bytes.
    pub(crate) fn received(&self) -> u64 {
        self.log.received()
    }

    /// Sends a request and waits for the response, up to `time`. After a timeout, the caller must call
    /// [`close`](Self::close).
    pub(crate) fn request(&self, request: ClientRequest, time: Duration) -> Result<Value, ClientError> {
        let peer = self.service.as_ref().ok_or_else(ClientError::closed)?.peer().clone();
        let lists = matches!(&request, ClientRequest::CustomRequest(request) if request.method == wire::LIST);
        let (sender, receiver) = mpsc::sync_channel(1);
        self.runtime()?.spawn(async move {
            let sent = peer.send_request_with_option(request, PeerRequestOptions::with_timeout(time)).await;
            let answer = match sent {
                Ok(handle) => (Some(handle.id.clone()), handle.await_response().await),
                Err(error) => (None, Err(error)),
            };
            let _ = sender.send(answer);
        });
        // rmcp has the shorter timeout; this one is for an overloaded runtime.
        let (id, answer) = match receiver.recv_timeout(time + CLOSE_TIMEOUT) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Timeout) => return Err(ClientError::timeout(time)),
            Err(RecvTimeoutError::Disconnected) => return Err(ClientError::closed()),
        };
        let result = match answer {
            Ok(ServerResult::CustomResult(result)) => result.0,
            Ok(_) => return Err(ClientError::new("it answers with something else", CHECK_PROTOCOL)),
            Err(ServiceError::McpError(error)) => {
                // A process that answered what is not accepted.
                if let Some(own) = id.and_then(|id| self.log.take_own_error(&id)) {
                    return Err(own);
                }
                let hint =
                    if lists { ASK_OPERATOR } else { "see whether it has this skill, and ask its operator" };
                return Err(error_response(error.code.0, &error.message, hint));
            }
            Err(ServiceError::Timeout { .. }) => return Err(ClientError::timeout(time)),
            Err(error) => {
                let known = id.map_or_else(|| self.log.closed(), |id| self.log.take_error(&id));
                let error = known.unwrap_or_else(|| ClientError::new(shown(&error.to_string()), "try again"));
                let closed = !error.timed_out && self.log.closed().is_some();
                return Err(if closed { self.close(error) } else { error });
            }
        };
        match result.get("resultType").and_then(Value::as_str) {
            None | Some("complete") => Ok(result),
            Some(other) => {
                let reason = format!("its answer is not complete: {}", shown(other));
                Err(ClientError::new(reason, "this client answers no questions of a server"))
            }
        }
    }

    fn handshake_error(&self, error: &ClientInitializeError) -> ClientError {
        let error = self.log.first_error().unwrap_or_else(|| match error {
            ClientInitializeError::JsonRpcError(error) => {
                error_response(error.code.0, &error.message, CHECK_PROTOCOL)
            }
            ClientInitializeError::LegacyFallbackFailed { fallback, .. } => ClientError::new(
                format!("it takes no handshake: {}", shown(&fallback.to_string())),
                CHECK_PROTOCOL,
            ),
            ClientInitializeError::NoCompatibleProtocolVersion { .. } => {
                ClientError::new("it speaks no version of the protocol that is known here", "update prowess")
            }
            other => ClientError::new(shown(&other.to_string()), CHECK_PROTOCOL),
        });
        self.close(error)
    }

    /// Ends the process, and adds its last output to the error. Other requests to it fail too: if the process hangs,
    /// each would time out.
    pub(crate) fn close(&self, error: ClientError) -> ClientError {
        let mut error = self.with_noise(error);
        let mut server_process = locked(&self.server_process);
        server_process.end();
        if let Some(output) = &server_process.last_output {
            let mut lines = output.lines().filter(|line| !line.trim().is_empty());
            // Some programs print the reason first, and some last.
            let said = match (lines.next(), lines.next_back()) {
                (Some(first), Some(last)) => format!("; it says: {} … {}", shown(first), shown(last)),
                (Some(only), None) => format!("; it says: {}", shown(only)),
                (None, _) => String::new(),
            };
            error.reason.push_str(&said);
        }
        error
    }

    /// Adds the first output that is not a message, which is often the reason.
    fn with_noise(&self, mut error: ClientError) -> ClientError {
        if let Some(noise) = self.log.noise() {
            error.reason = format!("{}; it also wrote: {noise}", error.reason);
        }
        error
    }
}

/// The error for an error response.
fn error_response(code: i32, message: &str, hint: &'static str) -> ClientError {
    ClientError::new(format!("it answers with error {code}: {}", shown(message)), hint)
}

impl Drop for Connection {
    fn drop(&mut self) {
        let Some(runtime) = self.runtime.take() else { return };
        if let Some(mut service) = self.service.take() {
            // End the session on the server, if that is quick.
            let (sender, receiver) = mpsc::sync_channel::<()>(1);
            runtime.spawn(async move {
                let _ = service.close_with_timeout(CLOSE_TIMEOUT).await;
                drop(sender);
            });
            let _ = receiver.recv_timeout(CLOSE_TIMEOUT);
        }
        let running = locked(&self.server_process).running.take();
        if let Some((child, input)) = running {
            process::close_input(&input);
            drop(child);
        }
        // Dropping a runtime inside another one panics; this does not, and does not block.
        runtime.shutdown_background();
    }
}
