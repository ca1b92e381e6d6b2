//! A server written by hand that tells whatever a test wants: over HTTP on this machine, one answer a connection.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use prowess::registry::digests;
use prowess::source::spec::{Place, SourceSpec};
use prowess_mcp::{McpLimits, McpSource};
use serde_json::{Value, json};

/// What a server has, and says it has. Tests make it lie by changing one and not the other.
#[derive(Clone, Default)]
pub(crate) struct Story {
    pub(crate) entries: Vec<Value>,
    pub(crate) files: BTreeMap<String, Vec<u8>>,
}

impl Story {
    /// Adds a skill at a root such as `skill://pdf`, with files beside its SKILL.md, and lists it as it is.
    pub(crate) fn skill(&mut self, root: &str, more: &str, files: &[(&str, &[u8])]) -> &mut Self {
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

    /// Puts other bytes where a file is, and lists nothing of it.
    pub(crate) fn put(&mut self, uri: &str, bytes: &[u8]) {
        self.files.insert(uri.to_owned(), bytes.to_vec());
    }

    /// The entry of the skill that was added last.
    pub(crate) fn last(&mut self) -> &mut Value {
        self.entries.last_mut().unwrap()
    }

    /// The honest answer.
    pub(crate) fn answer(&self, method: &str, params: &Value) -> Reply {
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
                        let blob = prowess::resources::base64(bytes);
                        Reply::Result(json!({"contents": [{"uri": uri, "blob": blob}]}))
                    }
                    None => Reply::Error(-32602),
                }
            }
            _ => Reply::Error(-32601),
        }
    }
}

/// What comes back.
pub(crate) enum Reply {
    Result(Value),
    Error(i64),
    /// All of it, from the status line on.
    Raw(Vec<u8>),
    /// Nothing, until the client gives up.
    Silence,
}

type Tell = Box<dyn Fn(&Story, &str, &Value) -> Reply + Send + Sync>;

struct Shared {
    story: Mutex<Story>,
    asked: Mutex<Vec<(String, Value)>>,
    heads: Mutex<Vec<String>>,
    tell: Tell,
}

/// A server that tells a story.
pub(crate) struct Liar {
    pub(crate) url: String,
    shared: Arc<Shared>,
}

impl Liar {
    /// A server that tells its story as it is.
    pub(crate) fn telling(story: Story) -> Self {
        Self::with(story, Story::answer)
    }

    /// A server that answers as a function wants.
    pub(crate) fn with(
        story: Story,
        tell: impl Fn(&Story, &str, &Value) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let shared = Arc::new(Shared {
            story: Mutex::new(story),
            asked: Mutex::default(),
            heads: Mutex::default(),
            tell: Box::new(tell),
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

    /// Changes the story from now on.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Story)) {
        change(&mut self.shared.story.lock().unwrap());
    }

    /// What was asked by a method, in order.
    pub(crate) fn asked(&self, method: &str) -> Vec<Value> {
        let asked = self.shared.asked.lock().unwrap();
        asked.iter().filter(|(asked, _)| asked == method).map(|(_, params)| params.clone()).collect()
    }

    /// The heads of all requests, in small letters.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.shared.heads.lock().unwrap().clone()
    }

    /// It as a source, with these limits.
    pub(crate) fn source(&self, limits: McpLimits) -> McpSource {
        source(&format!("mcp={}", self.url)).within(limits)
    }
}

/// The source of a spec, by itself and under the label `far`.
pub(crate) fn source(spec: &str) -> McpSource {
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
        self.asked.lock().unwrap().push((method.clone(), params.clone()));
        let reply = (self.tell)(&self.story.lock().unwrap(), &method, &params);
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
        let _ = reader.get_mut().write_all(json_answer("200 OK", &answer).as_bytes());
    }
}

/// A whole answer over HTTP.
pub(crate) fn json_answer(status: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}
