//! A small HTTP server on this machine around `git http-backend`, and git's daemon, with faults that tests choose.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use prowess_testing::without_settings;

use super::World;

/// How a server answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// As a server should.
    Plain,
    /// Only with the user `joe` and the password `hunter2`.
    Private,
    /// In the first version of the protocol.
    Old,
    /// With the beginning of an answer.
    Cut,
    /// Not at all.
    Silent,
    /// With a redirect to another port.
    Elsewhere(u16),
    /// With a redirect of `moved` to `repo`, on the same host.
    Moved,
    /// By git's own daemon.
    Daemon,
}

/// A server that ends when it is dropped.
pub(super) struct Server {
    port: u16,
    mode: Mode,
    requests: Arc<Mutex<Vec<String>>>,
    open: Arc<Mutex<Vec<TcpStream>>>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Nothing when this git cannot serve, which is said.
    pub(super) fn start(world: &World, mode: Mode) -> Option<Self> {
        let folder = Command::new("git").arg("--exec-path").output().unwrap().stdout;
        let folder = String::from_utf8(folder).unwrap().trim().to_owned();
        let program = if mode == Mode::Daemon { "git-daemon" } else { "git-http-backend" };
        let program = format!("{folder}/{program}");
        if !std::path::Path::new(&program).exists() {
            println!("skipped: this git has no {program}");
            return None;
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let requests: Arc<Mutex<Vec<String>>> = Arc::default();
        let open: Arc<Mutex<Vec<TcpStream>>> = Arc::default();
        let root = world.path("").to_str().unwrap().trim_end_matches('/').to_owned();
        let (seen, held) = (Arc::clone(&requests), Arc::clone(&open));
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                held.lock().unwrap().push(stream.try_clone().unwrap());
                let (program, root, seen) = (program.clone(), root.clone(), Arc::clone(&seen));
                // Dropping the server says so by a connection without a request.
                if seen.lock().unwrap().iter().any(|request| request == "end") {
                    return;
                }
                std::thread::spawn(move || {
                    let answered = match mode {
                        Mode::Silent => Some(()),
                        Mode::Daemon => daemon(&stream, &program, &root),
                        _ => answer(&stream, mode, &program, &root, &seen),
                    };
                    if mode != Mode::Silent || answered.is_none() {
                        let _ = stream.shutdown(Shutdown::Both);
                    }
                });
            }
        });
        Some(Self { port, mode, requests, open, thread: Some(thread) })
    }

    pub(super) fn url(&self, repository: &str) -> String {
        let scheme = if self.mode == Mode::Daemon { "git" } else { "http" };
        format!("{scheme}://127.0.0.1:{}/{repository}/.git", self.port)
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// How often a connection of git began.
    pub(super) fn fetches(&self) -> usize {
        let requests = self.requests.lock().unwrap();
        requests.iter().filter(|request| request.contains("/info/refs")).count()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.requests.lock().unwrap().push("end".to_owned());
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        self.thread.take().unwrap().join().unwrap();
        for stream in self.open.lock().unwrap().iter() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn daemon(stream: &TcpStream, program: &str, root: &str) -> Option<()> {
    let pipe = || Some(Stdio::from(OwnedFd::from(stream.try_clone().ok()?)));
    without_settings(&mut Command::new(program))
        .args(["--inetd", "--export-all", &format!("--base-path={root}")])
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "safe.directory")
        .env("GIT_CONFIG_VALUE_0", "*")
        .stdin(pipe()?)
        .stdout(pipe()?)
        .stderr(Stdio::null())
        .status()
        .ok()
        .map(drop)
}

/// Answers one request, as CGI says it.
fn answer(
    stream: &TcpStream,
    mode: Mode,
    program: &str,
    root: &str,
    seen: &Mutex<Vec<String>>,
) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut first = String::new();
    reader.read_line(&mut first).ok()?;
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        match line.trim_end().split_once(": ") {
            Some((name, value)) => headers.push((name.to_ascii_lowercase(), value.to_owned())),
            None => break,
        }
    }
    let header = |name: &str| headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
    let mut words = first.split(' ');
    let (method, target) = (words.next()?, words.next()?);
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    seen.lock().unwrap().push(format!("{method} {target}"));
    let mut body = Vec::new();
    if header("transfer-encoding").is_some() {
        loop {
            let mut size = String::new();
            reader.read_line(&mut size).ok()?;
            let size = u64::from_str_radix(size.trim(), 16).ok()?;
            (&mut reader).take(size + 2).read_to_end(&mut body).ok()?;
            body.truncate(body.len() - 2);
            if size == 0 {
                break;
            }
        }
    } else {
        let size = header("content-length").and_then(|size| size.parse().ok()).unwrap_or(0);
        reader.take(size).read_to_end(&mut body).ok()?;
    }
    let mut stream = stream;
    let location = match mode {
        Mode::Elsewhere(port) => Some(format!("http://127.0.0.1:{port}{path}?{query}")),
        Mode::Moved if path.starts_with("/moved/") => {
            Some(format!("{}?{query}", path.replacen("/moved/", "/repo/", 1)))
        }
        _ => None,
    };
    if let Some(location) = location {
        return write!(
            stream,
            "HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        )
        .ok();
    }
    // `joe:hunter2`
    if mode == Mode::Private && header("authorization").as_deref() != Some("Basic am9lOmh1bnRlcjI=") {
        return write!(stream, "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"t\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").ok();
    }
    let protocol = header("git-protocol").filter(|_| mode != Mode::Old).unwrap_or_default();
    let mut child = without_settings(&mut Command::new(program))
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "safe.directory")
        .env("GIT_CONFIG_VALUE_0", "*")
        .env("PATH_INFO", path)
        .env("QUERY_STRING", query)
        .env("REQUEST_METHOD", method)
        .env("CONTENT_TYPE", header("content-type").unwrap_or_default())
        .env("CONTENT_LENGTH", body.len().to_string())
        .env("HTTP_CONTENT_ENCODING", header("content-encoding").unwrap_or_default())
        .env("GIT_PROTOCOL", protocol)
        .env("REMOTE_ADDR", "127.0.0.1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let mut input = child.stdin.take()?;
    let writer = std::thread::spawn(move || drop(input.write_all(&body)));
    let output = child.wait_with_output().ok()?.stdout;
    writer.join().ok()?;
    let end = output.windows(4).position(|four| four == b"\r\n\r\n")?;
    let (head, rest) = output.split_at(end);
    let head = String::from_utf8_lossy(head).into_owned();
    let status = head.lines().find_map(|line| line.strip_prefix("Status: ")).unwrap_or("200 OK").to_owned();
    let cut = mode == Mode::Cut && method == "POST" && rest.len() > 1_000;
    let rest = if cut { &rest[..rest.len() / 2] } else { rest };
    let size = if cut { rest.len() * 2 } else { rest.len() - 4 };
    write!(stream, "HTTP/1.1 {status}\r\n{head}\r\nContent-Length: {size}\r\nConnection: close").ok()?;
    stream.write_all(rest).ok()
}
