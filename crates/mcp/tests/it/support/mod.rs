//! Shared helpers: libraries on disk, servers on pipes, and a client for them.

pub(crate) mod http;
pub(crate) mod late_read;

use std::path::Path;
use std::time::Duration;

use prowess::{DirSource, Registry, ScanOptions};
use prowess_mcp::{ServeOptions, serve_pipe};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio_util::sync::CancellationToken;

/// The timeout of tests for what must happen.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// Repeats an attempt until its result is the wanted one: on a busy machine, what comes before it may time out.
pub(crate) fn until<T: std::fmt::Debug>(mut attempt: impl FnMut() -> T, wanted: impl Fn(&T) -> bool) -> T {
    let deadline = std::time::Instant::now() + LONG;
    loop {
        let result = attempt();
        if wanted(&result) {
            return result;
        }
        assert!(std::time::Instant::now() < deadline, "{result:?}");
    }
}

const LIST_CHANGED: &str = "notifications/resources/list_changed";

/// The `_meta` of a request of the sessionless era.
pub(crate) fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

pub(crate) fn write(root: &Path, path: &str, bytes: impl AsRef<[u8]>) {
    let file = root.join(path);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, bytes).unwrap();
}

pub(crate) fn skill(root: &Path, name: &str, more: &str) {
    let text = format!("---\nname: {name}\ndescription: About {name}.\n{more}---\nDo {name}.\n");
    write(root, &format!("{name}/SKILL.md"), text);
}

/// A library with files of every kind.
pub(crate) fn library() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    skill(root.path(), "alpha", "license: MIT\nmetadata:\n  version: \"1.0\"\n");
    write(root.path(), "alpha/references/deep/more.md", "more\r\n");
    write(root.path(), "alpha/a b & ä.txt", "\u{feff}text");
    write(root.path(), "alpha/blob.bin", [0, 159, 146, 150]);
    write(root.path(), "alpha/empty", "");
    skill(root.path(), "beta", "");
    skill(root.path(), "quiet", "disable-model-invocation: true\n");
    skill(root.path(), "staff", "user-invocable: false\n");
    write(root.path(), "mended/SKILL.md", "---\nname: mended\ndescription: Use when: always\n---\nDo.\n");
    root
}

pub(crate) fn registry(root: &Path) -> Registry {
    let mut registry = Registry::new();
    registry.add(DirSource::new(root, ScanOptions::unbounded()));
    registry
}

/// Starts a server, and returns the client's end of its pipe.
pub(crate) fn served(registry: Registry, options: ServeOptions) -> DuplexStream {
    let (client, server) = tokio::io::duplex(1 << 16);
    tokio::spawn(async move {
        let (reader, writer) = tokio::io::split(server);
        serve_pipe(registry, &options, reader, writer, CancellationToken::new()).await
    });
    client
}

/// A client that writes and reads lines.
pub(crate) struct PipeClient {
    reader: BufReader<ReadHalf<DuplexStream>>,
    writer: WriteHalf<DuplexStream>,
    next: u64,
    sessionless: bool,
    passed_change: bool,
}

impl PipeClient {
    pub(crate) fn new(pipe: DuplexStream, sessionless: bool) -> Self {
        let (reader, writer) = tokio::io::split(pipe);
        Self { reader: BufReader::new(reader), writer, next: 1, sessionless, passed_change: false }
    }

    /// A client after the handshake of its era.
    pub(crate) async fn initialized(pipe: DuplexStream, sessionless: bool) -> Self {
        let mut client = Self::new(pipe, sessionless);
        if !sessionless {
            let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
            assert!(client.request("initialize", hello).await["result"].is_object());
            client.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        }
        client
    }

    pub(crate) async fn send(&mut self, line: &str) {
        self.writer.write_all(line.as_bytes()).await.unwrap();
        self.writer.write_all(b"\n").await.unwrap();
    }

    /// The next message of the server.
    pub(crate) async fn next(&mut self) -> Value {
        let mut line = String::new();
        let read =
            tokio::time::timeout(LONG, self.reader.read_line(&mut line)).await.expect("an answer in time");
        assert!(read.unwrap() > 0, "the server hung up");
        serde_json::from_str(&line).unwrap()
    }

    /// Sends a request and returns the response; notifications before it are skipped.
    pub(crate) async fn request(&mut self, method: &str, mut params: Value) -> Value {
        let id = self.next;
        self.next += 1;
        if self.sessionless {
            params["_meta"] = meta();
        }
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()).await;
        self.response(id).await
    }

    /// The response to a request that was sent; notifications before it are skipped.
    pub(crate) async fn response(&mut self, id: u64) -> Value {
        loop {
            let message = self.next().await;
            if message["id"] == id {
                return message;
            }
            self.passed_change |= message["method"] == LIST_CHANGED;
        }
    }

    /// Waits for a notification.
    pub(crate) async fn notification(&mut self, method: &str) -> Value {
        loop {
            let message = self.next().await;
            if message["method"] == method {
                return message;
            }
        }
    }

    /// Repeats a request after each change of a list, until the response is the wanted one. The first one is sent at
    /// once: the change may have come before the client was connected.
    pub(crate) async fn until(
        &mut self,
        method: &str,
        params: Value,
        wanted: impl Fn(&Value) -> bool,
    ) -> Value {
        loop {
            let response = self.request(method, params.clone()).await;
            if wanted(&response) {
                return response;
            }
            // Skipped notifications count too.
            if !std::mem::take(&mut self.passed_change) {
                self.notification(LIST_CHANGED).await;
            }
        }
    }

    pub(crate) async fn result(&mut self, method: &str, params: Value) -> Value {
        let response = self.request(method, params).await;
        assert!(response["error"].is_null(), "{method}: {response}");
        response["result"].clone()
    }

    pub(crate) async fn error(&mut self, method: &str, params: Value) -> i64 {
        let response = self.request(method, params).await;
        response["error"]["code"].as_i64().unwrap_or_else(|| panic!("{method}: {response}"))
    }
}
