//! Helpers for the tests of this crate and of the command line: above all a fake MCP server, over HTTP on loopback,
//! with one response per connection. It may return invalid data.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    clippy::missing_panics_doc,
    missing_docs,
    reason = "only tests use this module"
)]

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use prowess::registry::digests;
use prowess::source::spec::{Place, SourceSpec};
use prowess::source::{Chunk, Listing, Slice, SourceTraits};
use prowess::{MemorySource, RelPath, Scope, Source, SourceError, SourceSkill};
use serde_json::{Value, json};

use crate::{McpLimits, McpSource};

/// A text of a conformance vector: a string, or parts of which some are repeated.
pub fn vector_text(given: &Value) -> String {
    let part = |part: &Value| match part.as_str() {
        Some(text) => text.to_owned(),
        None => {
            part["repeat"].as_str().unwrap().repeat(usize::try_from(part["times"].as_u64().unwrap()).unwrap())
        }
    };
    given.as_array().map_or_else(|| part(given), |parts| parts.iter().map(part).collect())
}

/// The skills that a fake server lists, and the files that it serves. Tests change one without the other.
#[derive(Clone, Default)]
pub struct FakeContent {
    pub entries: Vec<Value>,
    pub files: BTreeMap<String, Vec<u8>>,
}

impl FakeContent {
    /// Adds a skill at a root such as `skill://pdf`, with files beside its SKILL.md, and a valid entry in the list.
    pub fn skill(&mut self, root: &str, more: &str, files: &[(&str, &[u8])]) -> &mut Self {
        let name = root.rsplit('/').next().unwrap();
        let text = format!("---\nname: {name}\ndescription: About {name}.\n{more}---\nDo {name}.\n");
        self.files.insert(format!("{root}/SKILL.md"), text.clone().into_bytes());
        for (path, bytes) in files {
            self.files.insert(format!("{root}/{path}"), bytes.to_vec());
        }
        let resources: Vec<Value> = self
            .files
            .iter()
            .filter(|(uri, _)| uri.starts_with(&format!("{root}/")))
            .map(|(uri, bytes)| json!({"uri": uri, "digest": digests::of_bytes(bytes), "size": bytes.len()}))
            .collect();
        let frontmatter = prowess::parse(text.as_bytes()).frontmatter_json();
        self.entries.push(
            json!({"uri": format!("{root}/SKILL.md"), "frontmatter": frontmatter, "resources": resources}),
        );
        self
    }

    /// Replaces the bytes of a file without a change of the list.
    pub fn put(&mut self, uri: &str, bytes: &[u8]) {
        self.files.insert(uri.to_owned(), bytes.to_vec());
    }

    /// The entry of the skill that was added last.
    pub fn last(&mut self) -> &mut Value {
        self.entries.last_mut().unwrap()
    }

    /// The reply of a correct server.
    pub fn reply(&self, method: &str, params: &Value) -> Reply {
        let uri = params["uri"].as_str().unwrap_or_default();
        match method {
            "server/discover" => Reply::Result(json!({
                "resultType": "complete", "ttlMs": 0, "cacheScope": "private",
                "supportedVersions": ["2026-07-28"],
                "capabilities": {"resources": {}, "extensions": {"io.modelcontextprotocol/skills": {}}},
            })),
            "skills/list" => Reply::Result(json!({
                "resultType": "complete", "skills": self.entries, "ttlMs": 0, "cacheScope": "private",
            })),
            "skills/get" => match self.entries.iter().find(|entry| entry["uri"] == uri) {
                Some(entry) => Reply::Result(json!({"resultType": "complete", "skill": entry})),
                None => Reply::Error(-32602),
            },
            "resources/read" => {
                match self.files.get(uri).map(|bytes| std::str::from_utf8(bytes).map_err(|_| bytes)) {
                    Some(Ok(text)) => Reply::Result(json!({"contents": [{"uri": uri, "text": text}]})),
                    Some(Err(bytes)) => {
                        let blob = prowess::internal::base64(bytes);
                        Reply::Result(json!({"contents": [{"uri": uri, "blob": blob}]}))
                    }
                    None => Reply::Error(-32602),
                }
            }
            _ => Reply::Error(-32601),
        }
    }
}

/// The reply to a request.
pub enum Reply {
    Result(Value),
    Error(i64),
    /// A whole HTTP response.
    Raw(Vec<u8>),
    /// None, until the client disconnects.
    Silence,
}

type Handler = Box<dyn Fn(&FakeContent, &str, &Value) -> Reply + Send + Sync>;

struct Shared {
    content: Mutex<FakeContent>,
    requests: Mutex<Vec<(String, Value)>>,
    heads: Mutex<Vec<String>>,
    handler: Handler,
}

/// A fake server, which runs until the process ends.
pub struct FakeServer {
    pub url: String,
    shared: Arc<Shared>,
}

impl FakeServer {
    /// A server that replies correctly.
    pub fn serving(content: FakeContent) -> Self {
        Self::with_handler(content, FakeContent::reply)
    }

    /// A server that replies with the result of a function.
    pub fn with_handler(
        content: FakeContent,
        handler: impl Fn(&FakeContent, &str, &Value) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let shared = Arc::new(Shared {
            content: Mutex::new(content),
            requests: Mutex::default(),
            heads: Mutex::default(),
            handler: Box::new(handler),
        });
        let own = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&own);
                std::thread::spawn(move || shared.serve(stream));
            }
        });
        Self { url, shared }
    }

    /// Changes the content.
    pub fn change(&self, change: impl FnOnce(&mut FakeContent)) {
        change(&mut self.shared.content.lock().unwrap());
    }

    /// The parameters of all requests of a method, in order.
    pub fn requests(&self, method: &str) -> Vec<Value> {
        let requests = self.shared.requests.lock().unwrap();
        requests.iter().filter(|(sent, _)| sent == method).map(|(_, params)| params.clone()).collect()
    }

    /// The heads of all requests, in lower case.
    pub fn request_heads(&self) -> Vec<String> {
        self.shared.heads.lock().unwrap().clone()
    }

    /// A source for this server, with these limits.
    pub fn source(&self, limits: McpLimits) -> McpSource {
        source(&format!("mcp={}", self.url)).with_limits(limits)
    }
}

/// The source of a spec, with the label `far`.
pub fn source(spec: &str) -> McpSource {
    let Place::Mcp(server) = SourceSpec::parse(spec).unwrap().place else { panic!("{spec}") };
    McpSource::new("far", &server).unwrap()
}

impl Shared {
    fn serve(&self, stream: TcpStream) {
        let mut reader = BufReader::new(stream);
        let (mut head, mut length) = (String::new(), 0);
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            let line = line.trim_end().to_ascii_lowercase();
            if line.is_empty() {
                break;
            }
            length = line.strip_prefix("content-length: ").map_or(length, |length| length.parse().unwrap());
            head.push_str(&line);
            head.push('\n');
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        self.heads.lock().unwrap().push(head);
        let message: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
        let method = message["method"].as_str().unwrap_or_default().to_owned();
        let params = message["params"].clone();
        self.requests.lock().unwrap().push((method.clone(), params.clone()));
        let reply = (self.handler)(&self.content.lock().unwrap(), &method, &params);
        let answer = match reply {
            Reply::Result(result) => json!({"jsonrpc": "2.0", "id": message["id"], "result": result}),
            Reply::Error(code) => {
                json!({"jsonrpc": "2.0", "id": message["id"], "error": {"code": code, "message": "no\u{1b}[31m"}})
            }
            Reply::Raw(bytes) => {
                let _ = reader.get_mut().write_all(&bytes);
                return;
            }
            Reply::Silence => {
                let _ = reader.read_to_end(&mut body);
                return;
            }
        };
        let answer = answer.to_string();
        let _ = reader.get_mut().write_all(json_response("200 OK", &answer).as_bytes());
    }
}

/// A whole HTTP response with a JSON body.
pub fn json_response(status: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

/// A remote source that lists when its gate is opened, or at once: its skills, or an error if it has none.
pub struct RemoteSource {
    skills: Option<MemorySource>,
    gate: Option<(SyncSender<()>, Mutex<Receiver<()>>)>,
}

/// Holds a remote source that was asked for its list.
pub struct Gate {
    asked: Receiver<()>,
    open: Sender<()>,
}

impl Gate {
    /// Waits until the source is asked for its list.
    pub fn wait_until_asked(&self) {
        self.asked.recv_timeout(RemoteSource::LONG).unwrap();
    }

    /// Lets one list through.
    pub fn open(&self) {
        self.open.send(()).unwrap();
    }
}

impl RemoteSource {
    /// How long it waits for its gate, and a test for it.
    const LONG: Duration = Duration::from_secs(60);

    /// A source that cannot be reached.
    pub fn dead() -> Self {
        Self { skills: None, gate: None }
    }

    /// A source with one skill.
    pub fn with_skill(name: &str) -> Self {
        let skills = MemorySource::new("remote");
        skills.insert(name, format!("---\nname: {name}\ndescription: d\n---\n"), Scope::Remote);
        Self { skills: Some(skills), gate: None }
    }

    /// The same source, which lists when the gate is opened.
    pub fn gated(mut self) -> (Arc<dyn Source>, Gate) {
        let (open, opened) = channel();
        // The first question is enough: a source that is asked again does not wait for the test.
        let (ask, asked) = sync_channel(1);
        self.gate = Some((ask, Mutex::new(opened)));
        (Arc::new(self), Gate { asked, open })
    }

    fn skills(&self) -> Result<&MemorySource, SourceError> {
        let error = || SourceError::io("remote", std::io::ErrorKind::TimedOut.into());
        self.skills.as_ref().ok_or_else(error)
    }
}

impl Source for RemoteSource {
    fn id(&self) -> &'static str {
        "remote"
    }

    fn traits(&self) -> SourceTraits {
        SourceTraits::remote()
    }

    fn list(&self) -> Result<Listing, SourceError> {
        if let Some((ask, opened)) = &self.gate {
            let _ = ask.try_send(());
            let _ = opened.lock().unwrap().recv_timeout(Self::LONG);
        }
        self.skills()?.list()
    }

    fn read(&self, skill: SourceSkill<'_>, path: &RelPath, slice: Slice) -> Result<Chunk, SourceError> {
        self.skills()?.read(skill, path, slice)
    }
}
