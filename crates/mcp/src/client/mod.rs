//! A connection to another MCP server, asked from any thread: at an address or on the pipes of a program, in both eras.

mod error;
mod http;
mod process;
mod response;

use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use prowess::net::{PublicHosts, UreqClient};
use prowess::process::ChildProcess;
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

use self::error::Record;
pub(crate) use self::error::{Failure, shown};
use crate::lock::locked;
use crate::protocol::wire;
use crate::source::McpLimits;

/// What a failure of the protocol, as against one of the network, calls for.
const SPEAKS: &str = "see whether this is an MCP server with the skills extension";
const ASK: &str = "ask whoever runs the server";
/// How long a server has to take leave of us.
const LEAVE: Duration = Duration::from_millis(500);

/// What becomes of a handshake.
type Begun = Result<RunningService<RoleClient, ClientConfig>, ClientInitializeError>;

/// How a server is reached. It may hold a token, so it is not to be written anywhere.
pub(crate) enum Reach {
    Web {
        url: String,
        token: Option<String>,
        client: UreqClient,
        /// Outlives a connection: a server that was public once is no private one after it was connected to anew.
        public: Arc<PublicHosts>,
    },
    Program {
        argv: Vec<String>,
        folder: Option<PathBuf>,
    },
}

/// The program at the other end, if it is one.
#[derive(Default)]
struct Program {
    running: Option<(ChildProcess, process::Input)>,
    /// What it said last, once it was ended.
    words: Option<String>,
}

impl Program {
    /// Ends it; whoever is stuck in writing to it is freed by that.
    fn end(&mut self) {
        if let Some((process, input)) = self.running.take() {
            process::hang_up(&input);
            self.words = Some(process.last_words());
        }
    }
}

/// A connection. It has a runtime of its own, so that it can be asked from any thread, also from one of a runtime.
pub(crate) struct Connection {
    runtime: Option<Runtime>,
    service: Option<RunningService<RoleClient, ClientConfig>>,
    /// Its end is the end of the program.
    program: Mutex<Program>,
    record: Arc<Record>,
}

impl Connection {
    /// Connects, in the way without sessions if the server knows it, and by a handshake if not.
    pub(crate) fn open(reach: &Reach, limits: McpLimits) -> Result<Self, Failure> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(8)
            .enable_time()
            .build()
            .map_err(|error| Failure::new(error.to_string(), "look at the limits of this machine"))?;
        let record = Arc::new(Record::default());
        // From here on the end of the connection is the end of all of it, however far it came.
        let mut made = Self { runtime: Some(runtime), service: None, program: Mutex::default(), record };
        let waiting = match reach {
            Reach::Web { url, token, client, public } => {
                let web =
                    http::Web::new(client.clone(), limits, Arc::clone(public), Arc::clone(&made.record));
                let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str());
                config.auth_header.clone_from(token);
                made.begin(move || StreamableHttpClientTransport::with_client(web, config))
            }
            Reach::Program { argv, folder } => {
                let record = Arc::clone(&made.record);
                let (process, input, pipes) = process::start(argv, folder.as_deref(), limits, record)?;
                locked(&made.program).running = Some((process, input));
                made.begin(move || pipes)
            }
        }?;
        match waiting.recv_timeout(limits.time) {
            Ok(Ok(service)) => made.service = Some(service),
            Ok(Err(error)) => return Err(made.not_begun(&error)),
            Err(_) => return Err(made.dying(Failure::late(limits.time))),
        }
        let offers = made.service.as_ref().and_then(|service| service.peer_info()).is_some_and(|info| {
            info.capabilities.extensions.as_ref().is_some_and(|known| known.contains_key(wire::EXTENSION))
        });
        if !offers {
            let reason =
                format!("it has no skills extension: {} is not among its capabilities", wire::EXTENSION);
            return Err(Failure::new(reason, "only servers with this extension can be a source of skills"));
        }
        Ok(made)
    }

    fn begin<T: rmcp::transport::Transport<RoleClient> + 'static>(
        &self,
        // Made on the runtime, since a transport may start tasks of its own.
        transport: impl FnOnce() -> T + Send + 'static,
    ) -> Result<mpsc::Receiver<Begun>, Failure> {
        let mut capabilities = ClientCapabilities::default();
        capabilities.extensions = Some([(wire::EXTENSION.to_owned(), JsonObject::new())].into());
        let config =
            ClientConfig::new(capabilities, Implementation::new("prowess", env!("CARGO_PKG_VERSION")));
        let lifecycle = ClientLifecycleMode::Auto {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
        };
        let (tell, told) = mpsc::sync_channel(1);
        self.runtime()?.spawn(async move {
            let _ = tell.send(config.serve_with_lifecycle(transport(), lifecycle).await);
        });
        Ok(told)
    }

    fn runtime(&self) -> Result<&Runtime, Failure> {
        self.runtime.as_ref().ok_or_else(|| Failure::new("the connection was closed", "try again"))
    }

    /// Whether it can still be asked.
    pub(crate) fn is_open(&self) -> bool {
        self.service.as_ref().is_some_and(|service| !service.is_transport_closed() && !service.is_closed())
    }

    /// How many bytes have come.
    pub(crate) fn received(&self) -> u64 {
        self.record.received()
    }

    /// Asks, and waits for the answer for so long and no longer. Whoever hears that it is late lets it die.
    pub(crate) fn ask(&self, request: ClientRequest, time: Duration) -> Result<Value, Failure> {
        let closed = || Failure::new("the connection was closed", "try again");
        let peer = self.service.as_ref().ok_or_else(closed)?.peer().clone();
        let lists = matches!(&request, ClientRequest::CustomRequest(request) if request.method == wire::LIST);
        let (tell, told) = mpsc::sync_channel(1);
        self.runtime()?.spawn(async move {
            let sent = peer.send_request_with_option(request, PeerRequestOptions::with_timeout(time)).await;
            let answer = match sent {
                Ok(handle) => (Some(handle.id.clone()), handle.await_response().await),
                Err(error) => (None, Err(error)),
            };
            let _ = tell.send(answer);
        });
        // Its own clock is the nearer one; this one is for a runtime that has no time.
        let (id, answer) = match told.recv_timeout(time + LEAVE) {
            Ok(answer) => answer,
            Err(RecvTimeoutError::Timeout) => return Err(Failure::late(time)),
            Err(RecvTimeoutError::Disconnected) => return Err(closed()),
        };
        let result = match answer {
            Ok(ServerResult::CustomResult(result)) => result.0,
            Ok(_) => return Err(Failure::new("it answers with something else", SPEAKS)),
            Err(ServiceError::McpError(error)) => {
                let hint = if lists { ASK } else { "see whether it has this skill, and ask whoever runs it" };
                return Err(refused(error.code.0, &error.message, hint));
            }
            Err(ServiceError::Timeout { .. }) => return Err(Failure::late(time)),
            Err(error) => {
                let known = id.map_or_else(|| self.record.why_broken(), |id| self.record.why(&id));
                let failure = known.unwrap_or_else(|| Failure::new(shown(&error.to_string()), "try again"));
                let dying = !failure.late && self.record.why_broken().is_some();
                return Err(if dying { self.dying(failure) } else { failure });
            }
        };
        match result.get("resultType").and_then(Value::as_str) {
            None | Some("complete") => Ok(result),
            Some(other) => {
                let reason = format!("its answer is not complete: {}", shown(other));
                Err(Failure::new(reason, "this client answers no questions of a server"))
            }
        }
    }

    fn not_begun(&self, error: &ClientInitializeError) -> Failure {
        let failure = self.record.first().unwrap_or_else(|| match error {
            ClientInitializeError::JsonRpcError(error) => refused(error.code.0, &error.message, SPEAKS),
            ClientInitializeError::LegacyFallbackFailed { fallback, .. } => {
                Failure::new(format!("it takes no handshake: {}", shown(&fallback.to_string())), SPEAKS)
            }
            ClientInitializeError::NoCompatibleProtocolVersion { .. } => {
                Failure::new("it speaks no version of the protocol that is known here", "update prowess")
            }
            other => Failure::new(shown(&other.to_string()), SPEAKS),
        });
        self.dying(failure)
    }

    /// Why there is no connection any more, with what the program said to that. It is ended here, also when others
    /// still ask it: one that hangs would let each of them wait as long.
    pub(crate) fn dying(&self, failure: Failure) -> Failure {
        let mut failure = self.with_noise(failure);
        let mut program = locked(&self.program);
        program.end();
        if let Some(words) = &program.words {
            let mut lines = words.lines().filter(|line| !line.trim().is_empty());
            // Some programs give the reason first, and some last.
            let said = match (lines.next(), lines.next_back()) {
                (Some(first), Some(last)) => format!("; it says: {} … {}", shown(first), shown(last)),
                (Some(only), None) => format!("; it says: {}", shown(only)),
                (None, _) => String::new(),
            };
            failure.reason.push_str(&said);
        }
        failure
    }

    /// What a program writes beside its messages is often the reason.
    fn with_noise(&self, mut failure: Failure) -> Failure {
        if let Some(noise) = self.record.heard() {
            failure.reason = format!("{}; it wrote what is no message: {noise}", failure.reason);
        }
        failure
    }
}

/// A refusal in the words of the protocol.
fn refused(code: i32, message: &str, hint: &'static str) -> Failure {
    Failure::new(format!("it answers with error {code}: {}", shown(message)), hint)
}

impl Drop for Connection {
    fn drop(&mut self) {
        let Some(runtime) = self.runtime.take() else { return };
        if let Some(mut service) = self.service.take() {
            // A session on the server is ended, if that is quick.
            let (tell, told) = mpsc::sync_channel::<()>(1);
            runtime.spawn(async move {
                let _ = service.close_with_timeout(LEAVE).await;
                drop(tell);
            });
            let _ = told.recv_timeout(LEAVE);
        }
        let running = locked(&self.program).running.take();
        if let Some((process, input)) = running {
            process::hang_up(&input);
            drop(process);
        }
        // Dropping a runtime inside another one panics; this does not, and waits for nobody.
        runtime.shutdown_background();
    }
}
