//! The server's answers a number of times, for counting instructions: `benches/instructions` runs it under callgrind.
//!
//! `answers WHAT N` makes its own skills in a temporary folder, then does `WHAT` N times: `connect` (open a pipe, send
//! `initialize`, close it) or `answer` (a fixed set of requests on one open pipe). With N = 0 only the preparation runs,
//! so the difference of two runs is the cost of the operations. All of it runs in this process and without sockets.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a program that measures and prints"
)]

use std::path::Path;

use prowess::{DirSource, Registry, ScanOptions};
use prowess_mcp::{ServeOptions, serve_pipe};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

const SKILLS: usize = 20;

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"count","version":"1"}}}"#;
const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// What a client asks, and a word of the answer.
const REQUESTS: [(&str, &str); 6] = [
    (r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#, "load_skill"),
    (r#"{"jsonrpc":"2.0","id":2,"method":"skills/list"}"#, "skill-0019"),
    (r#"{"jsonrpc":"2.0","id":3,"method":"resources/list"}"#, "skill-0000"),
    (
        r#"{"jsonrpc":"2.0","id":4,"method":"resources/read","params":{"uri":"skill://skill-0007/SKILL.md"}}"#,
        "number 7",
    ),
    (
        r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"load_skill","arguments":{"name":"skill-0007"}}}"#,
        r#""isError":false"#,
    ),
    (
        r#"{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"load_skill","arguments":{"name":"skill-7"}}}"#,
        r#""isError":true"#,
    ),
];

fn make_skills(root: &Path) {
    for number in 0..SKILLS {
        let folder = root.join(format!("skill-{number:04}"));
        std::fs::create_dir(&folder).unwrap();
        let text = format!(
            "---\nname: skill-{number:04}\ndescription: Does the work of number {number}. Use when a user asks for it.\n---\n{}",
            "One line of instructions.\n".repeat(40)
        );
        std::fs::write(folder.join("SKILL.md"), text).unwrap();
    }
}

/// A client whose server runs on the same runtime.
struct Client {
    pipe: BufReader<DuplexStream>,
    line: String,
    server: JoinHandle<()>,
}

impl Client {
    async fn connect(root: &Path) -> Self {
        let mut registry = Registry::new();
        registry.add(DirSource::new(root, ScanOptions::default()));
        let options = ServeOptions::default().with_watch(false);
        let (client, server) = tokio::io::duplex(1 << 16);
        let (reader, writer) = tokio::io::split(server);
        let server = tokio::spawn(async move {
            serve_pipe(registry, &options, reader, writer, CancellationToken::new()).await.unwrap();
        });
        let mut client = Self { pipe: BufReader::new(client), line: String::new(), server };
        client.ask(INITIALIZE, "serverInfo").await;
        client.send(INITIALIZED).await;
        client
    }

    async fn send(&mut self, message: &str) {
        self.pipe.get_mut().write_all(message.as_bytes()).await.unwrap();
        self.pipe.get_mut().write_all(b"\n").await.unwrap();
    }

    async fn ask(&mut self, request: &str, word: &str) {
        self.send(request).await;
        self.line.clear();
        self.pipe.read_line(&mut self.line).await.unwrap();
        assert!(self.line.contains(word), "{request}\n{}", self.line);
    }

    async fn close(self) {
        drop(self.pipe);
        self.server.await.unwrap();
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let (Some(what), Some(times)) =
        (arguments.first(), arguments.get(1).and_then(|times| times.parse::<usize>().ok()))
    else {
        println!("usage: answers WHAT N, as benches/instructions does");
        return;
    };
    let made = tempfile::tempdir().unwrap();
    make_skills(made.path());
    // One thread for the server and one for what blocks, so that every run does the same.
    let runtime =
        tokio::runtime::Builder::new_current_thread().max_blocking_threads(1).enable_all().build().unwrap();
    runtime.block_on(async {
        let mut open = Client::connect(made.path()).await;
        for (request, word) in REQUESTS {
            open.ask(request, word).await;
        }
        for _ in 0..times {
            match what.as_str() {
                "connect" => Client::connect(made.path()).await.close().await,
                _ => {
                    for (request, word) in REQUESTS {
                        open.ask(request, word).await;
                    }
                }
            }
        }
        open.close().await;
    });
}
