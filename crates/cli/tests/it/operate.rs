//! `prowess serve --http` as operators run it: reloads, tokens, the access log, and a socket of systemd.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use insta::assert_snapshot;
use prowess_mcp::testing::{FakeContent, FakeServer};
use serde_json::{Value, json};

use crate::Place;

/// The timeout of what must happen.
const LONG: Duration = Duration::from_secs(60);
const TOKEN: &str = "0123456789abcdef";
const OTHER: &str = "fedcba9876543210";
const SKILL: (&str, &str) =
    ("skills/tidy-up/SKILL.md", "---\nname: tidy-up\ndescription: Tidies up.\n---\nPut things away.\n");

/// A running server. It is killed when a test fails.
struct Running {
    child: Child,
    log: Receiver<String>,
    at: String,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Running {
    fn start(place: &Place, args: &[&str]) -> Self {
        let mut command = place.command();
        command
            .args(["serve", "--http", "0", "--log", "json"])
            .args(args)
            .env("HOME", place.path().join("home"));
        Self::spawn(command)
    }

    fn spawn(mut command: Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let (lines, log) = channel();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        std::thread::spawn(move || {
            stderr.lines().map_while(Result::ok).try_for_each(|line| lines.send(line))
        });
        let mut running = Self { child, log, at: String::new() };
        let line: Value = serde_json::from_str(&running.logged("listening")).unwrap();
        let url = line["listening"].as_str().unwrap();
        let at = url.strip_prefix("http://").and_then(|rest| rest.strip_suffix("/mcp")).unwrap();
        at.clone_into(&mut running.at);
        running
    }

    /// Waits for a line of the log that contains a text.
    fn logged(&self, text: &str) -> String {
        let begun = Instant::now();
        let mut lines =
            std::iter::from_fn(|| self.log.recv_timeout(LONG.saturating_sub(begun.elapsed())).ok());
        lines.find(|line| line.contains(text)).unwrap_or_else(|| panic!("{text} was not logged"))
    }

    /// A number of the metrics.
    fn metric(&self, series: &str) -> usize {
        let mut stream = TcpStream::connect(&self.at).unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").unwrap();
        let mut page = String::new();
        stream.read_to_string(&mut page).unwrap();
        let number = page.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        number.unwrap_or_else(|| panic!("{series}: {page}")).parse().unwrap()
    }

    /// The number of reloads.
    fn reloads(&self) -> usize {
        self.metric(r#"prowess_reloads_total{result="ok"}"#)
    }

    fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
    }

    fn end(&mut self) {
        self.signal("-TERM");
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }

    fn client(&self) -> Client {
        let stream = TcpStream::connect(&self.at).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        Client { reader: BufReader::new(stream.try_clone().unwrap()), stream }
    }

    /// The status and the body of a request of the latest version of the protocol.
    fn ask(&self, token: &str, method: &str, params: Value) -> (u16, String) {
        self.client().ask(token, method, params)
    }

    /// Asks until the status is the wanted one.
    fn until_status(&self, token: &str, status: u16) {
        let begun = Instant::now();
        while self.ask(token, "skills/list", json!({})).0 != status {
            assert!(begun.elapsed() < LONG, "no {status}");
        }
    }
}

/// Ends the load when it is dropped.
struct End<'o>(&'o AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A connection that stays open.
struct Client {
    stream: TcpStream,
    reader: BufReader<TcpStream>,
}

impl Client {
    fn ask(&mut self, token: &str, method: &str, mut params: Value) -> (u16, String) {
        params["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {}});
        let name = params["name"].as_str().map(|name| format!("mcp-name: {name}\r\n")).unwrap_or_default();
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\nmcp-method: {method}\r\n\
             {name}content-length: {}\r\n\r\n",
            body.len()
        );
        self.stream.write_all((head + &body).as_bytes()).unwrap();
        let (mut status, mut length) = (0, 0);
        loop {
            let mut line = String::new();
            assert!(self.reader.read_line(&mut line).unwrap() > 0, "the server hung up");
            let line = line.trim_end().to_ascii_lowercase();
            if let Some(rest) = line.strip_prefix("http/1.1 ") {
                status = rest.split(' ').next().unwrap().parse().unwrap();
            } else if let Some(rest) = line.strip_prefix("content-length: ") {
                length = rest.parse().unwrap();
            } else if line.is_empty() {
                break;
            }
        }
        let mut body = vec![0; length];
        self.reader.read_exact(&mut body).unwrap();
        (status, String::from_utf8(body).unwrap())
    }

    /// The page of the metrics, after which the connection is closed.
    fn metrics(mut self, token: &str) -> String {
        let head = format!("GET /metrics HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n");
        self.stream.write_all((head + "connection: close\r\n\r\n").as_bytes()).unwrap();
        let mut page = String::new();
        self.reader.read_to_string(&mut page).unwrap();
        page
    }
}

fn table(name: &str, token: &str, rest: &str) -> String {
    let filter = if rest.contains("filter") { "" } else { "filter = \"**\"\n" };
    format!("[[token]]\nname = \"{name}\"\ntoken = \"{token}\"\n{filter}{rest}\n")
}

#[test]
fn two_hundred_hangups_under_load_lose_no_request() {
    let place = Place::with(&[SKILL]);
    let mut running = Running::start(&place, &["--in", "skills"]);
    let over = AtomicBool::new(false);
    let answered: usize = std::thread::scope(|scope| {
        let load = |method: &'static str, params: Value, wanted: &'static str| {
            let (mut client, over) = (running.client(), &over);
            scope.spawn(move || {
                let mut answered = 0;
                while !over.load(Ordering::Relaxed) {
                    let (status, body) = client.ask("", method, params.clone());
                    assert!(status == 200 && body.contains(wanted), "{status}: {body}");
                    answered += 1;
                }
                answered
            })
        };
        let clients = [
            load("skills/list", json!({}), "tidy-up"),
            load("tools/list", json!({}), "tidy-up"),
            // A refusal names the skill too, but not its text.
            load(
                "tools/call",
                json!({"name": "load_skill", "arguments": {"name": "tidy-up"}}),
                "Put things away.",
            ),
        ];
        // Whatever fails below, the load must end.
        let _end = End(&over);
        let signals =
            format!("for i in 1 2 3 4 5 6 7 8 9 10; do kill -HUP {} || exit 1; done", running.child.id());
        for burst in 1..=20 {
            assert!(Command::new("sh").args(["-c", &signals]).status().unwrap().success());
            let begun = Instant::now();
            // Signals during a reload lead to one more, so each burst is at least one.
            while running.reloads() < burst {
                assert!(begun.elapsed() < LONG, "burst {burst}");
            }
        }
        over.store(true, Ordering::Relaxed);
        clients.into_iter().map(|client| client.join().unwrap()).sum()
    });
    assert!(answered > 0);
    running.end();
}

#[test]
fn a_reload_brings_new_sources_and_a_broken_configuration_changes_nothing() {
    let place = Place::with(&[
        SKILL,
        ("more/billing/SKILL.md", "---\nname: billing\ndescription: Bills.\n---\nBill.\n"),
    ]);
    let source =
        |folder: &str| format!("[[skills.sources]]\ndir = '{}'\n", place.path().join(folder).display());
    let config = "home/.config/prowess/prowess.toml";
    place.write(config, source("skills").as_bytes());
    let mut running = Running::start(&place, &[]);
    let list = |running: &Running| running.ask("", "skills/list", json!({})).1;
    assert!(list(&running).contains("tidy-up"));
    place.write(config, b"[[skills.sources");
    running.signal("-HUP");
    let line = running.logged("not reloaded, the old configuration stays");
    assert!(line.contains("prowess.toml") && line.contains("warning"), "{line}");
    assert!(list(&running).contains("tidy-up"));
    // The session settings come with it: this filter hides the built-in skills and the old ones.
    place.write(config, format!("{}[session]\nfilter = 'bill*'\n", source("more")).as_bytes());
    running.signal("-HUP");
    running.logged("reloaded");
    let listed = list(&running);
    assert!(listed.contains("billing") && !listed.contains("tidy-up"), "{listed}");
    running.end();
}

#[test]
fn a_folder_of_state_that_is_closed_is_said_at_the_start_and_after_a_reload() {
    let place = Place::with(&[SKILL]);
    let open = |folder: &str| {
        let folder = place.path().join("home").join(folder);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o777)).unwrap();
    };
    open(".local/state/prowess");
    let mut running = Running::start(&place, &["--in", "skills"]);
    let said = running.logged("closed a folder that other users could");
    assert!(said.contains("state/prowess") && said.contains(r#""level":"warning""#), "{said}");
    open(".cache/prowess");
    running.signal("-HUP");
    let said = running.logged("closed a folder that other users could");
    assert!(said.contains("cache/prowess"), "{said}");
    running.end();
}

#[test]
fn a_half_written_token_file_keeps_the_old_tokens() {
    let whole = table("laptop", TOKEN, "metrics = true") + &table("phone", OTHER, "filter = \"tidy-up\"");
    let place = Place::with(&[SKILL, ("tokens", &whole)]);
    let mut running = Running::start(&place, &["--in", "skills", "--token-file", "tokens"]);
    running.until_status(TOKEN, 200);
    let (without_filter, _) = whole.split_once("filter = \"tidy-up\"").unwrap();
    for half in [
        "",
        "[[token]]\nname = \"lap",
        "[[token]]\nname = \"laptop\"\ntoken = \"0123",
        "short",
        without_filter,
    ] {
        place.write("tokens", half.as_bytes());
        let line = running.logged("the old tokens stay valid");
        assert!(!line.contains("0123") && !line.contains("fedc"), "{line}");
        for token in [TOKEN, OTHER] {
            assert_eq!(running.ask(token, "skills/list", json!({})).0, 200, "{half:?}");
        }
    }
    running.signal("-HUP");
    running.logged("reloaded, except the tokens");
    let page = running.client().metrics(TOKEN);
    for (result, count) in [("ok", 0), ("tokens_failed", 1), ("failed", 0)] {
        let line = format!("prowess_reloads_total{{result=\"{result}\"}} {count}\n");
        assert!(page.contains(&line), "{line}: {page}");
    }
    let double = table("laptop", TOKEN, "") + &table("laptop", OTHER, "");
    place.write("tokens", double.as_bytes());
    assert!(running.logged("the old tokens stay valid").contains("two tokens have this name: laptop"));
    std::fs::remove_file(place.path().join("tokens")).unwrap();
    running.logged("the old tokens stay valid");
    assert_eq!(running.ask(OTHER, "skills/list", json!({})).0, 200);
    // One token in a plain file is another form, which needs another start.
    place.write("tokens", format!("{TOKEN}\n").as_bytes());
    let line = running.logged("the old tokens stay valid");
    assert!(line.contains("from a list of tokens to one token"), "{line}");
    assert_eq!(running.ask(OTHER, "skills/list", json!({})).0, 200);
    place.write("tokens", table("laptop", TOKEN, "").as_bytes());
    running.until_status(OTHER, 401);
    assert_eq!(running.ask(TOKEN, "skills/list", json!({})).0, 200);
    running.end();
}

#[test]
fn a_filter_or_name_without_skills_and_a_refused_token_file_are_warnings_with_a_hint() {
    let whole = table("laptop", TOKEN, "");
    let place = Place::with(&[SKILL, ("tokens", whole.trim_end())]);
    let args = ["--in", "skills", "--token-file", "tokens", "--filter", "zzz"];
    let mut running = Running::start(&place, &args);
    // The file of the start may lack the line break that every change needs.
    let mut wanted = vec!["the token file does not end with a line break", "the filter passes no skill"];
    while !wanted.is_empty() {
        let line = running.logged("warning");
        wanted.retain(|text| !line.contains(text));
    }
    place.write("tokens", (whole.clone() + &table("laptop", OTHER, "")).as_bytes());
    let line = running.logged("two tokens have this name");
    assert!(line.contains("a table [[token]]") && !line.contains("as a whole"), "{line}");
    place.write("tokens", (whole + &table("phone", OTHER, "")).trim_end().as_bytes());
    let line = running.logged("may be cut off");
    assert!(line.contains("replace it as a whole"), "{line}");
    running.end();
    let running = Running::start(&place, &["--in", "skills", "--only", "tidy-pu"]);
    assert!(running.logged("no skill is served").contains("--only"));
}

#[test]
fn the_access_log_names_the_client_and_never_its_token() {
    let place = Place::with(&[SKILL, ("tokens", &table("laptop", TOKEN, ""))]);
    let mut running = Running::start(&place, &["--in", "skills", "--token-file", "tokens"]);
    running.ask(TOKEN, "tools/call", json!({"name": "load_skill", "arguments": {"name": "tidy-up"}}));
    let line: Value = serde_json::from_str(&running.logged("tools/call")).unwrap();
    assert!(line["time_ms"].is_u64() && line["ms"].is_u64() && line["bytes"].is_u64(), "{line}");
    assert!(line["peer"].as_str().unwrap().starts_with("127.0.0.1:"), "{line}");
    for (field, value) in [
        ("token", "laptop"),
        ("verb", "POST"),
        ("path", "/mcp"),
        ("method", "tools/call"),
        ("tool", "load_skill"),
        ("skill", "tidy-up"),
    ] {
        assert_eq!(line[field], value, "{line}");
    }
    running.ask(
        TOKEN,
        "tools/call",
        json!({"name": "load_skill", "arguments": {"name": "\u{1b}[31m\u{202e}"}}),
    );
    let line: Value = serde_json::from_str(&running.logged("tools/call")).unwrap();
    assert_eq!((&line["reason"], &line["skill"]), (&json!("unknown-skill"), &Value::Null));
    running.ask(OTHER, "made\u{202e}up", json!({}));
    let line = running.logged("401");
    assert!(line.contains(r#""reason":"token""#), "{line}");
    running.ask(TOKEN, "made/\u{202e}/up", json!({}));
    let line = running.logged("made/");
    assert!(line.is_ascii() && serde_json::from_str::<Value>(&line).is_ok(), "{line}");
    running.end();
    let rest: Vec<String> = running.log.iter().collect();
    assert!(!rest.iter().any(|line| line.contains(TOKEN) || line.contains(OTHER)), "{rest:?}");
}

#[test]
fn a_skill_that_breaks_or_vanishes_while_it_is_served_is_a_warning() {
    let place =
        Place::with(&[SKILL, ("skills/gone/SKILL.md", "---\nname: gone\ndescription: Soon.\n---\nGo.\n")]);
    let mut running = Running::start(&place, &["--in", "skills"]);
    assert!(running.ask("", "skills/list", json!({})).1.contains("gone"));
    place.write("skills/tidy-up/SKILL.md", b"no frontmatter\n");
    let line = running.logged("a skill is no longer served");
    assert!(line.contains("tidy-up") && line.contains("it is broken: there is no frontmatter"), "{line}");
    std::fs::remove_dir_all(place.path().join("skills/gone")).unwrap();
    let line = running.logged("a skill is no longer served");
    assert!(line.contains("gone") && line.contains("it is gone"), "{line}");
    running.end();
}

#[test]
fn scripts_that_remote_clients_cannot_run_are_reported_at_the_start() {
    let place = Place::with(&[SKILL, ("skills/tidy-up/scripts/sweep.sh", "echo"), ("tokens", TOKEN)]);
    let mut running = Running::start(&place, &["--in", "skills", "--token-file", "tokens"]);
    let line = running.logged("can read the scripts of skills, but not run them");
    assert!(line.contains("tidy-up"), "{line}");
    running.end();
    // A local client sees the folder.
    let mut running = Running::start(&place, &["--in", "skills"]);
    assert!(running.ask("", "skills/list", json!({})).1.contains("tidy-up"));
    running.end();
    assert!(!running.log.iter().any(|line| line.contains("not run them")));
}

#[test]
fn a_socket_that_systemd_passes_is_served() {
    let place = Place::with(&[SKILL]);
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = socket.local_addr().unwrap().to_string();
    let mut command = place.command();
    // systemd passes sockets from number 3 on; this test has number 0 to give.
    command
        .args(["serve", "--http", "systemd", "--log", "json", "--in", "skills"])
        .envs([("LISTEN_FDS", "1"), ("LISTEN_FDS_FIRST_FD", "0")])
        .stdin(Stdio::from(OwnedFd::from(socket)));
    let mut running = Running::spawn(command);
    assert_eq!(running.at, at);
    assert!(running.ask("", "skills/list", json!({})).1.contains("tidy-up"));
    running.end();
    assert_snapshot!(place.run(&["serve", "--http", "systemd"]), @"
    exit 2
    --- stderr
    error: systemd passed no socket
      hint: start it from a socket unit; see docs/serve/operate.md
    ");
}

#[test]
fn a_port_alone_is_on_this_machine() {
    let place = Place::with(&[SKILL]);
    for port in [":0", "0"] {
        let mut command = place.command();
        command.args(["serve", "--log", "json", "--in", "skills", "--http", port]);
        let mut running = Running::spawn(command);
        assert!(running.at.starts_with("127.0.0.1:"), "{}", running.at);
        running.end();
    }
    for wrong in ["", ":", "+80", "70000", "localhost", "7878:"] {
        let text = place.run(&["serve", "--http", wrong]);
        assert!(
            text.starts_with("exit 2\n") && text.contains("127.0.0.1:7878, a port, or systemd"),
            "{text}"
        );
    }
}

#[test]
fn the_log_and_the_metrics_count_the_same_skills_and_say_what_is_left_out() {
    let skill = |name: &str| format!("---\nname: {name}\ndescription: Does {name}.\n---\nDo it.\n");
    let place = Place::with(&[
        (".git/config", ""),
        (".agents/skills/of-project/SKILL.md", &skill("of-project")),
        ("home/.agents/skills/own/SKILL.md", &skill("own")),
        ("home/.agents/skills/draft/SKILL.md", &skill("draft")),
        ("home/.agents/skills/bad/SKILL.md", "no frontmatter\n"),
        ("home/.config/prowess/prowess.toml", "[skills]\ndisable = [\"draft\"]\n"),
    ]);
    let mut server = Running::start(&place, &[]);
    let left_out = "1 broken, 1 turned off, 1 not trusted";
    let check = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["left_out"], left_out, "{line}");
        let counts = ["served", "broken", "disabled", "untrusted", "hidden", "shadowed"];
        let counts = counts.map(|state| server.metric(&format!("prowess_skills{{state=\"{state}\"}}")));
        assert_eq!(line["skills"], counts[0], "{line}");
        assert_eq!(counts[1..], [1, 1, 1, 0, 0], "{line}");
    };
    check(&server.logged("\"library\""));
    server.signal("-HUP");
    check(&server.logged("reloaded"));
    server.end();
    // What the filter hides is left out too.
    let mut server = Running::start(&place, &["--filter", "own"]);
    let line: Value = serde_json::from_str(&server.logged("\"library\"")).unwrap();
    assert_eq!(line["skills"], 1, "{line}");
    assert_eq!(server.metric("prowess_skills{state=\"served\"}"), 1);
    let hidden = server.metric("prowess_skills{state=\"hidden\"}");
    assert!(
        line["left_out"].as_str().unwrap().starts_with(&format!("{hidden} hidden by the filter, ")),
        "{line}"
    );
    server.end();
}

#[test]
fn skills_that_wait_for_trust_are_not_said_to_be_hidden_by_the_filter() {
    let place = Place::with(&[SKILL]);
    let program = place.command().get_program().to_string_lossy().into_owned();
    let mut server = Running::start(&place, &["--in", &format!("mcp={program} serve --in skills")]);
    let line: Value = serde_json::from_str(&server.logged("\"warning\"")).unwrap();
    assert_eq!(line["message"], "no skill is served: they wait for trust", "{line}");
    assert_eq!(line["skills"], 1, "{line}");
    let hint = "look at them with: prowess list --all --in SPEC; trust them with: prowess trust --server prowess --in SPEC";
    assert_eq!(line["hint"], hint, "{line}");
    server.end();
}

#[test]
fn a_server_of_skills_that_cannot_be_trusted_is_not_told_to_trust_them() {
    let place = Place::with(&[SKILL]);
    let mut content = FakeContent::default();
    content.skill("skill://deep", "", &[]);
    content.last()["resources"] = "dynamic".into();
    let far = FakeServer::serving(content);
    let mut server = Running::start(&place, &["--in", &format!("mcp={},prefix=team", far.url)]);
    let line: Value = serde_json::from_str(&server.logged("no skill is served")).unwrap();
    let hint = "look at them with: prowess list --all --in SPEC; \
                see why a skill cannot be trusted with: prowess why team:deep --in SPEC";
    assert_eq!(line["hint"], hint, "{line}");
    server.end();
}

#[test]
fn a_duplicate_that_appears_later_is_named_and_the_last_library_stays() {
    let place = Place::with(&[SKILL]);
    let server = Running::start(&place, &["--in", "skills", "--duplicates", "error"]);
    server.logged("\"library\"");
    place.write("skills/more/tidy-up/SKILL.md", SKILL.1.as_bytes());
    let said = server.logged("two skills have the name tidy-up");
    assert!(said.contains("skills/tidy-up/SKILL.md") && said.contains("more/tidy-up/SKILL.md"), "{said}");
    assert_eq!(server.metric("prowess_skills{state=\"served\"}"), 1);
}

#[test]
fn a_missing_folder_of_the_users_own_sources_is_a_problem_of_the_library() {
    let config = "[[skills.sources]]\ndir = \"/no/such/folder\"\n";
    let place = Place::with(&[SKILL, ("home/.config/prowess/prowess.toml", config)]);
    for command in ["list", "doctor"] {
        let output = place.command().arg(command).env("HOME", place.path().join("home")).output().unwrap();
        let text = place.transcript(&output);
        assert!(text.contains("there is no such file or folder: /no/such/folder"), "{command}: {text}");
    }
    let server = Running::start(&place, &[]);
    server.logged("/no/such/folder");
    let begun = Instant::now();
    while server.metric("prowess_library_problems") != 1 {
        assert!(begun.elapsed() < LONG, "the problem is not counted");
        std::thread::yield_now();
    }
}

#[test]
fn a_file_of_prowess_that_a_request_finds_ignored_is_logged_as_every_other_warning() {
    let place = Place::with(&[SKILL]);
    let cached = place.path().join("home/.cache/prowess/terms");
    for (more, while_serving) in [(&[][..], true), (&["--no-watch"][..], false)] {
        let mut command = place.command();
        command.args(["search", "--in", "skills", "tidy"]).env("HOME", place.path().join("home"));
        assert!(command.output().unwrap().status.success());
        let file = std::fs::read_dir(&cached).unwrap().next().unwrap().unwrap().path();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o666)).unwrap();
        let mut server = Running::start(&place, &[&["--in", "skills"], more].concat());
        // The file is read only now.
        let search = json!({"name": "search_skills", "arguments": {"query": "tidy"}});
        let (status, found) = server.ask("", "tools/call", search);
        assert!(status == 200 && found.contains("tidy-up"), "{found}");
        let name = file.to_str().unwrap();
        let while_served = while_serving.then(|| server.logged(name));
        server.end();
        let lines: Vec<String> = while_served.into_iter().chain(server.log.iter()).collect();
        assert_eq!(lines.iter().filter(|line| line.contains(name)).count(), 1, "{lines:#?}");
        for line in &lines {
            let line: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("{lines:#?}"));
            assert!(!line.to_string().contains(name) || line["level"] == "warning", "{line}");
        }
    }
}

#[test]
fn skills_whose_source_cannot_be_read_or_that_changed_since_they_were_trusted_are_named_as_such() {
    let text = |name: &str| format!("---\nname: {name}\ndescription: d\n---\nDo {name}.\n");
    let place = Place::with(&[
        SKILL,
        ("away/a/SKILL.md", &text("a")),
        ("away/b/SKILL.md", &text("b")),
        (".claude/skills/pdf/SKILL.md", &text("pdf")),
    ]);
    let server = Running::start(&place, &["--in", "skills", "--in", "away"]);
    server.logged("\"library\"");
    std::fs::rename(place.path().join("away"), place.path().join("gone")).unwrap();
    let line = server.logged("their source could not be read");
    assert!(line.contains(r#""skills":2"#) && line.contains("away"), "{line}");

    let mut trust = place.command();
    trust.args(["trust", "pdf", "--yes"]).env("HOME", place.path().join("home"));
    assert!(trust.output().unwrap().status.success());
    let server = Running::start(&place, &[]);
    server.logged("\"library\"");
    place.write(".claude/skills/pdf/SKILL.md", text("pdf").replace("Do", "Now do").as_bytes());
    let line = server.logged("a skill is no longer served");
    assert!(line.contains("pdf") && line.contains("it changed since it was trusted"), "{line}");
}

#[test]
fn skills_that_the_filter_passes_and_that_wait_for_trust_are_named_beside_those_that_it_hides() {
    let place = Place::with(&[("skills/deep/tidy-up/SKILL.md", SKILL.1)]);
    let mut content = FakeContent::default();
    content.skill("skill://one", "", &[]);
    let far = FakeServer::serving(content);
    let spec = format!("mcp={},prefix=team", far.url);
    let server = Running::start(&place, &["--in", &spec, "--in", "skills", "--filter", "*"]);
    let line: Value = serde_json::from_str(&server.logged("no skill is served")).unwrap();
    assert_eq!(line["message"], "no skill is served: those that the filter passes wait for trust", "{line}");
    assert_eq!((&line["skills"], &line["hidden"]), (&json!(1), &json!(1)), "{line}");
    assert!(line["hint"].as_str().unwrap().contains("prowess trust"), "{line}");
}

#[test]
fn a_preloaded_skill_that_the_filter_of_a_token_hides_is_no_warning() {
    let tokens = table("all", TOKEN, "") + &table("few", OTHER, "filter = \"other\"");
    let other = SKILL.1.replace("tidy-up", "other");
    let place = Place::with(&[SKILL, ("more/other/SKILL.md", &other), ("tokens", &tokens)]);
    let args = ["--in", "dir=skills,preload=true", "--in", "more", "--token-file", "tokens"];
    let mut server = Running::start(&place, &args);
    for token in [TOKEN, OTHER] {
        assert_eq!(server.ask(token, "skills/list", json!({})).0, 200);
    }
    server.end();
    let warnings: Vec<String> = server.log.iter().filter(|line| line.contains("not preloaded")).collect();
    assert!(warnings.is_empty(), "{warnings:#?}");
}
