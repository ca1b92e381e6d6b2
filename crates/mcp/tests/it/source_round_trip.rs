//! The client with this server: over HTTP and on pipes, in both eras, and one server behind another.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};

use prowess::registry::digests::DigestLimits;
use prowess::source::{Slice, Source as _};
use prowess::{DirSource, Registry, ScanOptions};
use prowess_mcp::{HttpOptions, McpSource, ServeOptions, serve_listener, serve_stdio};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::support::{library, registry};
use prowess_mcp::testing::{FakeContent, FakeServer, source};

/// The library that the child process serves.
const ROOT: &str = "PROWESS_TEST_ROOT";

/// A server at an address, until the guard is dropped.
fn served(registry: Registry) -> (SocketAddr, DropGuard) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let at = listener.local_addr().unwrap();
    let stop = CancellationToken::new();
    let token = stop.clone();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            serve_listener(registry, &ServeOptions::default(), HttpOptions::default(), listener, token).await;
        });
    });
    (at, stop.drop_guard())
}

/// A proxy that does not know `server/discover`, as an older server.
fn older(server: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || pass(stream, server));
        }
    });
    at
}

fn pass(stream: TcpStream, server: SocketAddr) {
    let mut client = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    while !head.ends_with("\r\n\r\n") {
        let at = head.len();
        if client.read_line(&mut head).unwrap() == 0 {
            return;
        }
        let line = head[at..].trim_end().to_ascii_lowercase();
        length = line.strip_prefix("content-length: ").map_or(length, |length| length.parse().unwrap());
    }
    let mut body = vec![0; length];
    client.read_exact(&mut body).unwrap();
    if String::from_utf8_lossy(&body).contains("server/discover") {
        let refusal = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        client.get_mut().write_all(refusal.as_bytes()).unwrap();
        return;
    }
    let mut server = TcpStream::connect(server).unwrap();
    let head = head.replacen("\r\n", "\r\nconnection: close\r\n", 1);
    server.write_all(head.as_bytes()).unwrap();
    server.write_all(&body).unwrap();
    let mut response = Vec::new();
    server.read_to_end(&mut response).unwrap();
    let _ = client.get_mut().write_all(&response);
}

/// Checks that the whole library is available, with the same bytes.
fn whole_library(remote: &McpSource) {
    let listing = remote.list().unwrap();
    assert!(listing.problems.is_empty(), "{:?}", listing.problems);
    let names: Vec<&str> = listing.skills.iter().map(|skill| skill.entry.name.as_str()).collect();
    assert_eq!(names, ["alpha", "beta", "staff"]);
    let root = library();
    let here = DirSource::new(root.path(), ScanOptions::unbounded());
    for skill in here.list().unwrap().skills {
        let name = skill.entry.name.as_str();
        let Some(same) = listing.skills.iter().find(|remote| remote.entry.name == name) else { continue };
        assert_eq!(same.entry.origin.location.to_string(), format!("mcp:far:skill://{name}/SKILL.md"));
        let files = here.manifest(skill.source_skill(), &DigestLimits::default()).unwrap();
        assert_eq!(remote.manifest(same.source_skill(), &DigestLimits::default()).unwrap(), files, "{name}");
        for file in &files.files {
            let bytes = |source: &dyn prowess::Source, skill| {
                source.read(skill, &file.path, Slice::first(1 << 20)).unwrap()
            };
            assert_eq!(
                bytes(remote, same.source_skill()),
                bytes(&here, skill.source_skill()),
                "{name} {}",
                file.path
            );
        }
    }
    // Only users may start it, so it is not listed, but it is available by its URI.
    assert_eq!(remote.get("skill://quiet/SKILL.md").unwrap().entry.name, "quiet");
    let names: Vec<String> =
        remote.list().unwrap().skills.iter().map(|skill| skill.entry.name.clone()).collect();
    assert_eq!(names, ["alpha", "beta", "staff", "quiet"]);
}

#[test]
fn over_http_in_both_eras() {
    let root = library();
    let (at, _guard) = served(registry(root.path()));
    whole_library(&source(&format!("mcp=http://{at}/mcp")));
    whole_library(&source(&format!("mcp=http://{}/mcp", older(at))));
}

/// Not a test: the child process that other tests start as a server.
#[test]
#[ignore = "the other end of a pipe"]
fn other_end() {
    if let Ok(root) = std::env::var(ROOT) {
        serve_stdio(registry(root.as_ref()), &ServeOptions::default()).unwrap();
    }
}

#[cfg(unix)]
/// The command line of that process. The output of the test harness is noise on the pipe.
fn program(root: &std::path::Path) -> String {
    let own = std::env::current_exe().unwrap();
    format!(
        "env {ROOT}='{}' '{}' --ignored --exact source_round_trip::other_end --nocapture --test-threads=2",
        root.display(),
        own.display()
    )
}

#[cfg(unix)]
#[test]
fn on_a_pipe_in_both_eras() {
    let root = library();
    whole_library(&source(&format!("mcp=\"{}\"", program(root.path()))));
    // A script in between that does not know `server/discover`, and responds without an id.
    let refusal = r#"{"jsonrpc":"2.0","error":{"code":-32601,"message":"no such method"}}"#;
    let script = format!(
        "exec 3>&1; while read -r line; do case $line in *server/discover*) printf '%s\\n' '{refusal}' >&3 ;; \
         *) printf '%s\\n' \"$line\" ;; esac; done | {}",
        program(root.path())
    );
    let argv = ["sh", "-c", &script].map(str::to_owned).to_vec();
    whole_library(&McpSource::new("far", &prowess::source::spec::Server::started(argv)).unwrap());
}

#[test]
fn skills_of_another_server_are_served_and_their_files_read_on_demand() {
    let mut content = FakeContent::default();
    content.skill("skill://acme/pdf", "license: MIT\n", &[("references/a.md", b"a")]);
    let server = FakeServer::serving(content);
    let mut between = Registry::new();
    between.add(prowess::Layer::from(source(&format!("mcp={}", server.url))).with_prefix("far"));
    between.refresh().unwrap();
    let (at, _guard) = served(between);
    let local = source(&format!("mcp=http://{at}/mcp"));
    let skill = local.list().unwrap().skills.remove(0);
    assert_eq!(skill.entry.origin.location, "mcp:far:skill://_far/pdf/SKILL.md");
    assert_eq!(local.manifest(skill.source_skill(), &DigestLimits::default()).unwrap().files.len(), 2);
    assert!(server.requests("resources/read").is_empty(), "a list reads no files");
    for file in ["SKILL.md", "references/a.md"] {
        let path = prowess::RelPath::parse(file).unwrap();
        local.read(skill.source_skill(), &path, Slice::first(1 << 20)).unwrap();
    }
    let read: Vec<String> =
        server.requests("resources/read").iter().map(|params| params["uri"].to_string()).collect();
    assert!(read.iter().all(|uri| uri.contains("skill://acme/pdf/")) && read.len() >= 2, "{read:?}");
}
