//! The server under load: 64 clients and one that hardly reads, ten thousand sessions, and the first answer on a pipe.
//!
//! `cargo bench -p prowess-mcp --bench serve -- target/release/prowess [load|sessions|first]` makes its own skills and
//! measures that program, in a process of its own. The generator parses nothing, since it shares the machine with it.
//! Sessions are counted inside this process, where their time to live can be shorter than a second.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a program that measures and prints"
)]

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use prowess::{DirSource, Registry, ScanOptions};
use prowess_mcp::{HttpOptions, ServeOptions, serve_listener};
use tokio_util::sync::CancellationToken;

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"load","version":"1"}}}"#;
const CLIENTS: usize = 64;
const REQUESTS: usize = 10_000;

fn library(skills: usize) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for number in 0..skills {
        let folder = root.path().join(format!("skill-{number:04}"));
        std::fs::create_dir(&folder).unwrap();
        let text = format!(
            "---\nname: skill-{number:04}\ndescription: Does the work of number {number}. Use when a user asks for it.\n---\n{}",
            "One line of instructions, as they are written.\n".repeat(40)
        );
        std::fs::write(folder.join("SKILL.md"), text).unwrap();
    }
    root
}

/// A server in this process, until the token is cancelled.
fn server(root: &Path, http: HttpOptions) -> (SocketAddr, CancellationToken, std::thread::JoinHandle<()>) {
    let mut registry = Registry::new();
    registry.add(DirSource::new(root, ScanOptions::unbounded()));
    let stop = CancellationToken::new();
    let (told, at) = std::sync::mpsc::channel();
    let token = stop.clone();
    let thread = std::thread::spawn(move || {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
            told.send(listener.local_addr().unwrap()).unwrap();
            serve_listener(registry, &ServeOptions::default(), http, listener, token).await;
        });
    });
    (at.recv().unwrap(), stop, thread)
}

struct Client {
    stream: BufReader<TcpStream>,
    at: SocketAddr,
    body: Vec<u8>,
}

impl Client {
    fn new(at: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(at)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        Ok(Self { stream: BufReader::with_capacity(64 * 1024, stream), at, body: Vec::new() })
    }

    fn head(&self, method: &str, name: &str, length: usize) -> String {
        let name = if name.is_empty() { String::new() } else { format!("mcp-name: {name}\r\n") };
        format!(
            "POST /mcp HTTP/1.1\r\nhost: {}\r\naccept: application/json, text/event-stream\r\ncontent-type: application/json\r\n\
             mcp-protocol-version: 2026-07-28\r\nmcp-method: {method}\r\n{name}content-length: {length}\r\n\r\n",
            self.at
        )
    }

    /// Sends one request; whether the answer is there and has the word.
    fn ask(&mut self, method: &str, name: &str, params: &str, word: &[u8]) -> io::Result<bool> {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params}{META}}}}}"#);
        let text = format!("{}{body}", self.head(method, name, body.len()));
        self.stream.get_mut().write_all(text.as_bytes())?;
        let (mut fine, mut length, mut line) = (false, 0, String::new());
        loop {
            line.clear();
            if self.stream.read_line(&mut line)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            fine |= line.starts_with("HTTP/1.1 200");
            if let Some(rest) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = rest.trim().parse().unwrap_or(0);
            }
            if line == "\r\n" {
                break;
            }
        }
        self.body.resize(length, 0);
        self.stream.read_exact(&mut self.body)?;
        // Both words are near the end; searching the whole text would add work of the generator, not of the server.
        let tail = self.body.get(self.body.len().saturating_sub(400)..).unwrap_or_default();
        Ok(fine && tail.windows(word.len()).any(|window| window == word))
    }
}

/// Asks for page after page and takes one byte a second.
fn slow_reader(at: SocketAddr) {
    std::thread::spawn(move || {
        let mut client = Client::new(at).unwrap();
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"skills/list","params":{{{META}}}}}"#);
        let text = format!("{}{body}", client.head("skills/list", "", body.len()));
        for _ in 0..50 {
            let _ = client.stream.get_mut().write_all(text.as_bytes());
        }
        let mut one = [0];
        while client.stream.get_mut().read(&mut one).is_ok_and(|read| read > 0) {
            std::thread::sleep(Duration::from_secs(1));
        }
    });
}

fn load(program: &str) {
    let (root, home) = (library(100), tempfile::tempdir().unwrap());
    let mut child = Command::new(program)
        .args(["serve", "--http", "127.0.0.1:0", "--in"])
        .arg(root.path())
        .env("HOME", home.path())
        .env("XDG_CACHE_HOME", home.path())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
    let at = line.trim().strip_prefix("listening on http://").and_then(|rest| rest.strip_suffix("/mcp"));
    let at: SocketAddr = at.unwrap().parse().unwrap();
    slow_reader(at);
    // As fast as it goes, and at a pace that leaves the machine some room.
    for pace in [None, Some(Duration::from_millis(64))] {
        rounds(at, pace, child.id());
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

/// The processor time a process has had, in hundredths of a second.
fn processor_time(process: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let after_name = text.rsplit_once(')').unwrap().1;
    after_name.split_whitespace().skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap()).sum()
}

fn rounds(at: SocketAddr, pace: Option<Duration>, process: u32) {
    for (method, name, params, word) in [
        ("skills/list", "", "", &b"\"ttlMs\""[..]),
        (
            "tools/call",
            "load_skill",
            r#""name":"load_skill","arguments":{"name":"skill-0042"},"#,
            &b"\"isError\":false"[..],
        ),
    ] {
        let (left, errors) = (AtomicUsize::new(REQUESTS), AtomicUsize::new(0));
        let (begun, had) = (Instant::now(), processor_time(process));
        let mut times: Vec<Duration> = std::thread::scope(|scope| {
            let work = || {
                let mut client = Client::new(at).unwrap();
                let mut times = Vec::new();
                let take = |left: usize| left.checked_sub(1);
                while left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok() {
                    if let Some(pace) = pace {
                        std::thread::sleep(pace);
                    }
                    let begun = Instant::now();
                    match client.ask(method, name, params, word) {
                        Ok(true) => times.push(begun.elapsed()),
                        _ => {
                            errors.fetch_add(1, Ordering::Relaxed);
                            client = Client::new(at).unwrap();
                        }
                    }
                }
                times
            };
            let workers: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(work)).collect();
            workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
        });
        let whole = begun.elapsed();
        times.sort();
        let share = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
        println!(
            "{method}{}: {} answers, {} errors, {:.0} a second, {:.0} µs of a processor each, p50 {:?}, p99 {:?}, \
             longest {:?}",
            if pace.is_some() { " at a pace" } else { "" },
            times.len(),
            errors.load(Ordering::Relaxed),
            times.len() as f64 / whole.as_secs_f64(),
            (processor_time(process) - had) as f64 * 10_000.0 / times.len() as f64,
            share(0.5),
            share(0.99),
            share(1.0)
        );
    }
}

/// What this process holds, in KB.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|line| line.starts_with("VmRSS")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn sessions() {
    let root = library(10);
    let http = HttpOptions::default().with_session_time(Duration::from_millis(50)).with_max_sessions(512);
    let (at, stop, thread) = server(root.path(), http);
    let (mut opened, mut refused) = (0, 0);
    while opened < 30_000 {
        let mut stream = TcpStream::connect(at).unwrap();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nhost: {at}\r\nconnection: close\r\naccept: application/json, text/event-stream\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{HELLO}",
            HELLO.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        if text.starts_with("HTTP/1.1 200") {
            opened += 1;
        } else {
            refused += 1;
        }
        if [1_000, 2_000, 5_000, 10_000, 20_000, 30_000].contains(&opened) && text.starts_with("HTTP/1.1 200")
        {
            std::thread::sleep(Duration::from_millis(500));
            println!("sessions: {opened} opened, {refused} told to come back, {} KB", resident());
        }
    }
    stop.cancel();
    thread.join().unwrap();
}

/// From the start of a program to its answers on a pipe.
fn first_answer(program: &str) {
    let root = library(1000);
    let home = tempfile::tempdir().unwrap();
    let (mut hello, mut list) = (Vec::new(), Vec::new());
    for _ in 0..12 {
        let begun = Instant::now();
        let mut child = Command::new(program)
            .args(["serve", "--in"])
            .arg(root.path())
            .env("HOME", home.path())
            .env("XDG_CACHE_HOME", home.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        writeln!(input, "{HELLO}").unwrap();
        output.read_line(&mut line).unwrap();
        hello.push(begun.elapsed());
        writeln!(input, r#"{{"jsonrpc":"2.0","method":"notifications/initialized"}}"#).unwrap();
        writeln!(input, r#"{{"jsonrpc":"2.0","id":2,"method":"skills/list"}}"#).unwrap();
        line.clear();
        output.read_line(&mut line).unwrap();
        assert!(line.contains("skill-0099"));
        list.push(begun.elapsed());
        drop(input);
        assert!(child.wait().unwrap().success());
        // What changed a moment ago is not remembered; the next start is warm.
        if hello.len() == 2 {
            std::thread::sleep(Duration::from_secs(3));
        }
    }
    for (what, times) in [("initialize", &mut hello), ("initialize and skills/list", &mut list)] {
        let (cold, warm) = times.split_at_mut(3);
        warm.sort();
        println!(
            "{what}: cold {:?}, warm {:?} (median of {}), longest {:?}",
            cold[0],
            warm[warm.len() / 2],
            warm.len(),
            warm[warm.len() - 1]
        );
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let Some((program, parts)) = words.split_first() else {
        println!(
            "name the program to measure: cargo bench -p prowess-mcp --bench serve -- target/release/prowess"
        );
        return;
    };
    let wanted = |part: &str| parts.is_empty() || parts.iter().any(|word| word == part);
    if wanted("load") {
        load(program);
    }
    if wanted("sessions") {
        sessions();
    }
    if wanted("first") {
        first_answer(program);
    }
}
