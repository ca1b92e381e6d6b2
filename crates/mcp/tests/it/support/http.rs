//! Shared helpers: a server over HTTP, and requests to it on raw sockets.

use std::net::SocketAddr;
use std::time::Duration;

use prowess::Registry;
use prowess_mcp::{HttpOptions, ServeOptions, serve_listener};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::support::{LONG, library, meta, registry};

pub(crate) struct HttpTestServer {
    pub(crate) root: tempfile::TempDir,
    pub(crate) at: SocketAddr,
    pub(crate) stop: CancellationToken,
    serving: JoinHandle<()>,
}

/// Status, headers in lower case, and body.
pub(crate) struct HttpResponse(pub(crate) u16, pub(crate) String, pub(crate) String);

impl HttpResponse {
    pub(crate) fn json(&self) -> Value {
        // An event stream has the message in the last data line.
        let data = self.2.lines().rev().find_map(|line| line.strip_prefix("data: ")).unwrap_or(&self.2);
        serde_json::from_str(data).unwrap_or_else(|_| panic!("{}: {}", self.0, self.2))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.1.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

/// Keeps the time of the runtime from passing until it is dropped: paused time stands still while blocking work runs. The
/// server reads what follows a refusal for a second, in which a busy client may not have sent all.
pub(crate) struct StoppedTime {
    _end: std::sync::mpsc::Sender<()>,
}

impl StoppedTime {
    pub(crate) fn begin() -> Self {
        let (end, running) = std::sync::mpsc::channel::<()>();
        tokio::task::spawn_blocking(move || running.recv());
        tokio::time::pause();
        Self { _end: end }
    }
}

impl Drop for StoppedTime {
    fn drop(&mut self) {
        tokio::time::resume();
    }
}

/// A connection that is read piece by piece.
pub(crate) struct RawConnection {
    stream: TcpStream,
    pub(crate) text: String,
}

impl RawConnection {
    pub(crate) async fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.unwrap();
    }

    /// Reads until a text has arrived.
    pub(crate) async fn until(&mut self, word: &str) {
        // Comments arrive on every stream, so the timeout is for the whole wait.
        let deadline = tokio::time::Instant::now() + LONG;
        let mut buffer = [0; 4096];
        while !self.text.contains(word) {
            let read = tokio::time::timeout_at(deadline, self.stream.read(&mut buffer));
            let read = read.await.expect("news in time").unwrap();
            assert!(read > 0, "{word} did not come: {}", self.text);
            self.text.push_str(&String::from_utf8_lossy(&buffer[..read]));
        }
    }
}

impl RawConnection {
    /// Whether nothing has arrived yet.
    pub(crate) fn is_silent(&self) -> bool {
        let arrived = self.stream.try_read(&mut [0; 1]);
        arrived.is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
    }

    /// Reads until the server closes the connection.
    pub(crate) async fn end(&mut self) {
        let read = self.stream.read_to_string(&mut self.text);
        tokio::time::timeout(LONG, read).await.expect("an end in time").unwrap();
    }
}

/// A whole request of the sessionless era, on a connection that stays open.
pub(crate) fn sessionless(method: &str, name: &str, mut params: Value) -> Vec<u8> {
    params["_meta"] = meta();
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    let name = if name.is_empty() { String::new() } else { format!("mcp-name: {name}\r\n") };
    format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n\
         mcp-protocol-version: 2026-07-28\r\nmcp-method: {method}\r\n{name}content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

impl HttpTestServer {
    pub(crate) async fn with(http: HttpOptions) -> Self {
        let root = library();
        let registry = registry(root.path());
        Self::over(registry, root, http).await
    }

    /// A server with a registry; the folder is kept until the end.
    pub(crate) async fn over(registry: Registry, root: tempfile::TempDir, http: HttpOptions) -> Self {
        Self::serving(registry, root, ServeOptions::default(), http).await
    }

    /// The same with all options.
    pub(crate) async fn serving(
        registry: Registry,
        root: tempfile::TempDir,
        options: ServeOptions,
        http: HttpOptions,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        let token = stop.clone();
        let serving = tokio::spawn(async move {
            serve_listener(registry, &options, http, listener, token).await;
        });
        Self { root, at, stop, serving }
    }

    /// A connection on which these bytes were sent.
    pub(crate) async fn open(&self, bytes: &[u8]) -> RawConnection {
        let mut open =
            RawConnection { stream: TcpStream::connect(self.at).await.unwrap(), text: String::new() };
        open.send(bytes).await;
        open
    }

    /// The stream of a session.
    pub(crate) async fn stream_of(&self, session: &str, more: &str) -> RawConnection {
        let head = format!(
            "GET /mcp HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\nmcp-session-id: {session}\r\n{more}\r\n"
        );
        self.open(head.as_bytes()).await
    }

    /// A subscription to changes of the library.
    pub(crate) async fn subscription(&self) -> RawConnection {
        let wish = json!({"notifications": {"resourcesListChanged": true}});
        self.open(&sessionless("subscriptions/listen", "", wish)).await
    }

    /// A connection with a tiny receive buffer.
    pub(crate) async fn open_slow(&self, bytes: &[u8]) -> RawConnection {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4096).unwrap();
        let mut open = RawConnection { stream: socket.connect(self.at).await.unwrap(), text: String::new() };
        open.send(bytes).await;
        open
    }

    /// Sends bytes and reads until the server closes the connection.
    pub(crate) async fn raw(&self, bytes: &[u8]) -> HttpResponse {
        let mut stream = TcpStream::connect(self.at).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        let mut text = Vec::new();
        tokio::time::timeout(LONG, stream.read_to_end(&mut text))
            .await
            .expect("an response in time")
            .unwrap();
        let text = String::from_utf8(text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        let head = head.to_ascii_lowercase().replace('\r', "");
        let chunked = head.contains("transfer-encoding: chunked");
        let body = if chunked {
            body.lines().filter(|line| u64::from_str_radix(line, 16).is_err()).collect::<Vec<_>>().join("\n")
        } else {
            body.to_owned()
        };
        HttpResponse(status, head, body)
    }

    pub(crate) async fn post(&self, headers: &[(&str, &str)], body: &str) -> HttpResponse {
        let mut lines = vec![
            format!("host: 127.0.0.1:{}", self.at.port()),
            "connection: close".to_owned(),
            "content-type: application/json".to_owned(),
            "accept: application/json, text/event-stream".to_owned(),
            format!("content-length: {}", body.len()),
        ];
        for (name, value) in headers {
            lines.retain(|line| !line.starts_with(&format!("{name}:")));
            lines.push(format!("{name}: {value}"));
        }
        self.raw(format!("POST /mcp HTTP/1.1\r\n{}\r\n\r\n{body}", lines.join("\r\n")).as_bytes()).await
    }

    /// A request of the sessionless era.
    pub(crate) async fn request(&self, method: &str, params: Value) -> HttpResponse {
        self.request_with(&[], method, params).await
    }

    /// The same with more headers.
    pub(crate) async fn request_with(
        &self,
        more: &[(&str, &str)],
        method: &str,
        mut params: Value,
    ) -> HttpResponse {
        params["_meta"] = meta();
        let name =
            params.get("name").or_else(|| params.get("uri")).and_then(Value::as_str).unwrap_or_default();
        let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", method), ("mcp-name", name)];
        let used = if name.is_empty() { &headers[..2] } else { &headers[..] };
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        self.post(&[used, more].concat(), &body).await
    }

    /// A GET of a path.
    pub(crate) async fn get(&self, path: &str, headers: &str) -> HttpResponse {
        let head = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{headers}\r\n");
        self.raw(head.as_bytes()).await
    }

    /// Repeats a GET until its body contains a text. Returns its status.
    pub(crate) async fn until(&self, path: &str, wanted: &str) -> u16 {
        let deadline = tokio::time::Instant::now() + LONG;
        loop {
            let response = self.get(path, "").await;
            if response.2.contains(wanted) {
                return response.0;
            }
            assert!(tokio::time::Instant::now() < deadline, "{wanted}: {}", response.2);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Begins a session with a handshake.
    pub(crate) async fn session(&self) -> HttpResponse {
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}).to_string();
        self.post(&[], &body).await
    }

    /// The id of an initialized session.
    pub(crate) async fn initialized(&self) -> String {
        let id = self.session().await.header("mcp-session-id").unwrap().to_owned();
        let done = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        assert_eq!(self.post(&[("mcp-session-id", &id)], done).await.0, 202);
        id
    }

    pub(crate) async fn end(self) {
        self.stop.cancel();
        tokio::time::timeout(LONG, self.serving).await.expect("an end in time").unwrap();
    }
}
