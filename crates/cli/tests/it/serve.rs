//! `prowess serve` as clients use it: on a pipe and at an address, until it is stopped.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, Stdio};
use std::time::Duration;

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::{Place, Started, answered};

const SKILL: (&str, &str) = (
    "skills/tidy-up/SKILL.md",
    "---\nname: tidy-up\ndescription: Tidies up.\n---\nPut things where they belong.\n",
);

fn lines(messages: &[Value]) -> Vec<u8> {
    messages.iter().flat_map(|message| format!("{message}\n").into_bytes()).collect()
}

/// A server at an address, its log after the first line, and the address.
fn listening(place: &Place) -> (Started, BufReader<ChildStderr>, String) {
    let mut command = place.command();
    command
        .args(["serve", "--in", "skills", "--http", "127.0.0.1:0", "--log", "json"])
        .stderr(Stdio::piped());
    let mut child = Started::spawn(&mut command);
    let mut log = BufReader::with_capacity(64, child.stderr.take().unwrap());
    let mut line = String::new();
    log.read_line(&mut line).unwrap();
    let url = serde_json::from_str::<Value>(&line).unwrap()["listening"].as_str().unwrap().to_owned();
    let at = url.strip_prefix("http://").and_then(|rest| rest.strip_suffix("/mcp")).unwrap().to_owned();
    (child, log, at)
}

/// Asks a server to end, and checks that it does.
fn end(child: &mut Child) {
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

fn hello() -> Value {
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
}

#[test]
fn a_pipe_is_answered_until_its_end() {
    let place = Place::with(&[SKILL]);
    let messages = [
        hello(),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "skills/list"}),
    ];
    let text = place.transcript(&answered(place.command().args(["serve", "--in", "skills"]), &messages));
    let answers: Vec<&str> = text.lines().filter(|line| line.starts_with('{')).collect();
    assert!(text.starts_with("exit 0\n") && answers.len() == 2, "{text}");
    assert_snapshot!(answers[1], @r#"{"jsonrpc":"2.0","id":2,"result":{"skills":[{"uri":"skill://tidy-up/SKILL.md","frontmatter":{"name":"tidy-up","description":"Tidies up."},"resources":[{"uri":"skill://tidy-up/SKILL.md","digest":"sha256:f543cf2378fae0dfd19fc4f8d2c03fb589e5dbaa4a762e81a353611695b3e14c","size":76}]}]}}"#);
}

/// What a client is told after it loads a skill, with and without a key of `[session]`.
#[test]
fn serve_obeys_every_key_of_session() {
    let load = |name: &str| json!({"name": "load_skill", "arguments": {"name": name}});
    let answers = |config: &str| {
        let place = Place::with(&[
            SKILL,
            ("skills/tidy-up/notes.md", "Notes about tidying.\n"),
            (
                "skills/wash-up/SKILL.md",
                "---\nname: wash-up\ndescription: d\nallowed-tools: Bash\n---\nWash.\n",
            ),
            ("config/prowess/prowess.toml", config),
        ]);
        let messages = [
            hello(),
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
            json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": load("tidy-up")}),
            json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": load("wash-up")}),
        ];
        let mut command = place.command();
        command.args(["serve", "--in", "skills"]).env("XDG_CONFIG_HOME", place.path().join("config"));
        let text = place.transcript(&answered(&mut command, &messages));
        assert!(text.starts_with("exit 0\n"), "{text}");
        let mut answers: Vec<Value> =
            text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        answers.sort_by_key(|answer| answer["id"].as_u64());
        let said = |at: usize| {
            format!("{} {}", answers[at]["result"]["content"], answers[at]["result"]["structuredContent"])
        };
        (said(1), said(2))
    };
    let (tidy, wash) = answers("");
    assert!(
        tidy.contains("<skill_content") && !tidy.contains("Notes about") && wash.contains("Bash"),
        "{tidy}{wash}"
    );
    let table = prowess::internal::CONFIG_TABLES.iter().find(|table| table.name == "session").unwrap();
    for key in table.keys {
        let (value, obeyed): (&str, fn(&str, &str) -> bool) = match key.name {
            "filter" => ("'wash-up'", |tidy, wash| tidy.contains("unknown-skill") && wash.contains("Wash.")),
            "tools" => ("['Read']", |_, wash| wash.contains(r#""active_tools":[]"#)),
            "plain" => ("true", |tidy, _| !tidy.contains("<skill_content")),
            "inline" => ("true", |tidy, _| tidy.contains("Notes about tidying.")),
            // It is about the catalog in a prompt, and a server writes none.
            "location" => ("true", |tidy, wash| tidy.contains("<skill_content") && wash.contains("Wash.")),
            "max_activation_bytes" => ("10", |tidy, _| tidy.contains("too-large")),
            "max_kept_bytes" => ("10", |tidy, _| tidy.contains("memory-full")),
            other => panic!("no test of this key: {other}"),
        };
        let (tidy, wash) = answers(&format!("[session]\n{} = {value}\n", key.name));
        assert!(obeyed(&tidy, &wash), "{}: {tidy} {wash}", key.name);
    }
}

#[test]
fn the_built_in_skills_are_served_where_there_are_no_others() {
    let place = Place::with(&[]);
    let messages = [hello(), json!({"jsonrpc": "2.0", "id": 2, "method": "prompts/list"})];
    let text = place.transcript(&answered(place.command().arg("serve"), &messages));
    assert!(text.contains("commit-messages") && text.contains("pdf-forms"), "{text}");
    assert!(place.run_with_input(&["serve"], b"").starts_with("exit 0"));
}

#[test]
fn the_address_is_printed_and_served_until_shutdown() {
    let place = Place::with(&[SKILL]);
    let (mut child, mut log, at) = listening(&place);
    let mut stream = TcpStream::connect(&at).unwrap();
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200") && answer.ends_with(r#"{"status":"ok"}"#), "{answer}");
    end(&mut child);
    let mut rest = String::new();
    log.read_to_string(&mut rest).unwrap();
    assert!(
        rest.lines().all(|line| serde_json::from_str::<Value>(line).is_ok_and(|line| line.is_object())),
        "{rest}"
    );
}

#[test]
fn every_line_of_a_json_log_is_json() {
    let place = Place::with(&[
        SKILL,
        ("token", "0123456789abcdef\n"),
        ("prowess.toml", "[skills]\nduplicates = \"last\"\n"),
    ]);
    let mut command = place.command();
    command
        .args(["serve", "--in", "skills", "--http", "127.0.0.1:0", "--log", "json", "--token-file", "token"])
        .env("PROWESS_TOKEN", "0123456789abcdef")
        .stderr(Stdio::piped());
    let mut child = Started::spawn(&mut command);
    // Read beside the test, which fails when a line is missing.
    let (tell, log) = std::sync::mpsc::channel();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    std::thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| tell.send(line)));
    let json = |line: String| serde_json::from_str::<Value>(&line).unwrap();
    let mut wanted = vec![
        "\"listening\"",
        "\"PROWESS_TOKEN is not accepted, since --token-file names the tokens\"",
        "these settings have no effect: skills.duplicates",
    ];
    while !wanted.is_empty() {
        let line = log.recv_timeout(Duration::from_secs(60));
        let line = json(line.unwrap_or_else(|_| panic!("not in the log: {wanted:?}")));
        assert!(line["listening"].is_string() || line["level"].is_string(), "{line}");
        wanted.retain(|text| !line.to_string().contains(text));
    }
    end(&mut child);
    assert!(log.iter().map(json).all(|line| line.is_object()));
}

#[test]
fn a_log_that_is_not_read_delays_no_request() {
    let place = Place::with(&[SKILL]);
    // Kept open, and not read any further.
    let (mut child, _log, at) = listening(&place);
    // Many times what a pipe holds. A connection without a token ends with its response.
    for _ in 0..5000 {
        let mut stream = TcpStream::connect(&at).unwrap();
        stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        assert!(answer.ends_with(br#"{"status":"ok"}"#));
    }
    end(&mut child);
}

#[test]
fn sources_that_cannot_be_read_are_reported() {
    let place = Place::with(&[SKILL, ("prowess.toml", "disable = [")]);
    assert_snapshot!(place.run_with_input(&["serve", "--in", "nowhere"], b""), @"
    exit 2
    --- stderr
    error: there is no such file or folder: nowhere
      hint: check the spelling, and that a link is not broken
    ");
    // Problems with other sources are logged when they are found.
    let messages = [hello(), json!({"jsonrpc": "2.0", "id": 2, "method": "prompts/list"})];
    let text = place.transcript(&answered(place.command().arg("serve"), &messages));
    assert!(text.starts_with("exit 0") && text.contains("pdf-forms"), "{text}");
    assert!(
        text.contains(
            "warning: a part of the library could not be read: the configuration is not understood"
        ),
        "{text}"
    );
}

#[test]
fn other_machines_need_a_token() {
    let place = Place::with(&[("token", "short\n")]);
    assert_snapshot!(place.run(&["serve", "--http", "0.0.0.0:0"]), @"
    exit 2
    --- stderr
    error: an address that other machines reach needs a token: 0.0.0.0:0
      hint: give a token with --token-file, or listen on 127.0.0.1
    ");
    assert_snapshot!(place.run(&["serve", "--http", "127.0.0.1:0", "--token-file", "token"]), @"
    exit 2
    --- stderr
    error: this is not a token, nor a list of tokens: token: a token is at least 16 visible characters without spaces
      hint: write one token, or a table [[token]] with a name, a token and a filter for each client
    ");
}

#[test]
fn a_token_variable_that_is_empty_does_not_open_the_server() {
    let place = Place::with(&[]);
    for value in ["", " "] {
        let mut command = place.command();
        command.args(["serve", "--http", "0", "--allow-host", "skills.example"]).env("PROWESS_TOKEN", value);
        let said = place.transcript(&command.output().unwrap());
        let error =
            "error: this variable is set, and empty: PROWESS_TOKEN\n  hint: give it a token, or unset it";
        assert!(said.starts_with(&format!("exit 2\n--- stderr\n{error}")), "{said}");
    }
}

#[test]
fn a_token_file_that_is_no_regular_file_is_named_with_what_to_do() {
    let place = Place::with(&[]);
    let serve = |file: &str| place.run(&["serve", "--http", "0", "--token-file", file]);
    assert_snapshot!(serve("/dev/null"), @"
    exit 2
    --- stderr
    error: this is a device, not a regular file: /dev/null
      hint: put the tokens into a regular file: it is read again when it changes
    ");
    let large = "# a comment\n".repeat(10_000);
    place.write("large", large.as_bytes());
    assert_snapshot!(serve("large"), @"
    exit 2
    --- stderr
    error: the file is too large: large: 120000 bytes, at most 65536
      hint: leave out tokens that no client sends
    ");
    let made = std::process::Command::new("mkfifo").arg(place.path().join("fifo")).status();
    if !made.is_ok_and(|status| status.success()) {
        crate::skipped("mkfifo cannot run here");
        return;
    }
    assert_snapshot!(serve("fifo"), @"
    exit 2
    --- stderr
    error: this is a FIFO, not a regular file: fifo
      hint: put the tokens into a regular file: it is read again when it changes
    ");
}

#[test]
fn the_hint_about_an_address_that_cannot_be_listened_at_fits() {
    let place = Place::with(&[("token", "0123456789abcdef\n")]);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let said = place.run(&["serve", "--http", &port]).replace(&port, "PORT");
    assert!(said.ends_with("hint: choose another port, or 0 for a free one\n"), "{said}");
    let said = place.run(&["serve", "--http", "192.0.2.1:7878", "--token-file", "token"]);
    assert!(said.contains("hint: name an address of this machine"), "{said}");
}

#[test]
fn options_of_an_address_need_one() {
    let place = Place::with(&[("token", "0123456789abcdef\n")]);
    for (option, value) in [
        ("--token-file", "token"),
        ("--allow-host", "x"),
        ("--allow-origin", "https://x"),
        ("--max-sessions", "1"),
        ("--max-token-sessions", "1"),
        ("--session-time", "1"),
        ("--max-connections", "1"),
        ("--max-token-connections", "1"),
        ("--max-newcomers", "1"),
        ("--max-streams", "1"),
        ("--max-token-streams", "1"),
        ("--max-body", "1"),
        ("--max-token-kept", "1"),
        ("--max-token-unsent", "1"),
    ] {
        let text = place.run(&["serve", option, value]);
        assert!(text.starts_with("exit 2\n") && text.contains("--http <ADDRESS>"), "{text}");
    }
}

#[test]
fn limits_of_zero_are_refused() {
    let place = Place::with(&[]);
    for option in [
        "--max-sessions",
        "--max-token-sessions",
        "--session-time",
        "--max-connections",
        "--max-token-connections",
        "--max-newcomers",
        "--max-streams",
        "--max-token-streams",
        "--max-body",
        "--max-unsent",
        "--max-kept",
        "--max-token-kept",
        "--max-token-unsent",
    ] {
        for value in ["0", "99999999999999999999"] {
            let text = place.run(&["serve", "--http", "127.0.0.1:0", option, value]);
            assert!(text.starts_with("exit 2\n") && text.contains(option), "{text}");
        }
    }
    for (option, value) in [("--allow-host", "http://x"), ("--allow-origin", "x"), ("--allow-origin", "null")]
    {
        let text = place.run(&["serve", "--http", "127.0.0.1:0", option, value]);
        assert!(text.starts_with("exit 2\n") && text.contains("such as"), "{text}");
    }
}

#[test]
fn as_many_streams_as_connections_are_refused() {
    let place = Place::with(&[]);
    for given in [
        &["--max-connections", "4", "--max-streams", "4"][..],
        &["--max-connections", "4", "--max-streams", "5"],
        &["--max-streams", "256"],
    ] {
        let text = place.run(&[&["serve", "--http", "127.0.0.1:0"], given].concat());
        assert!(text.starts_with("exit 2\n"), "{text}");
        assert!(text.contains("--max-streams") && text.contains("--max-connections"), "{text}");
    }
}

#[test]
fn a_server_does_not_start_with_duplicates_that_are_errors() {
    let skill = "---\nname: tidy-up\ndescription: Tidies up.\n---\n";
    let place = Place::with(&[("a/tidy-up/SKILL.md", skill), ("b/tidy-up/SKILL.md", skill)]);
    let args = ["serve", "--in", "a", "--in", "b", "--duplicates", "error"];
    for transport in [&[][..], &["--http", "127.0.0.1:0"]] {
        let text = place.run_with_input(&[&args, transport].concat(), &lines(&[hello()]));
        assert!(text.starts_with("exit 2\n"), "{text}");
        assert!(text.contains("a/tidy-up/SKILL.md") && text.contains("b/tidy-up/SKILL.md"), "{text}");
        assert!(!text.contains("listening"), "{text}");
    }
}

#[test]
fn a_client_that_closes_the_pipe_is_said_to_have_closed_it() {
    let place = Place::with(&[SKILL]);
    let mut command = place.command();
    command
        .args(["serve", "--in", "skills"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = Started::spawn(&mut command);
    drop(child.stdout.take());
    let mut input = child.stdin.take().unwrap();
    input.write_all(&lines(&[hello()])).unwrap();
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_snapshot!(said, @"
    error: the client closed the pipe before it read an answer
      hint: let the client read the answers until the server ends
    ");
    assert_eq!(child.wait().unwrap().code(), Some(2));
}

#[test]
fn a_configuration_for_every_folder_has_absolute_paths_only() {
    let place = Place::with(&[]);
    for (given, wanted) in [
        ("mcp=./srv --x ./y", "mcp=[DIR]/srv --x ./y"),
        ("mcp=srv", "mcp=srv"),
        ("mcp=~/srv", "mcp=~/srv"),
        (
            "mcp=https://x.test/mcp,token_file=tok,ca_file=c.pem",
            "mcp=https://x.test/mcp,ca_file=[DIR]/c.pem,token_file=[DIR]/tok",
        ),
        ("url=https://x.test,ca_file=c.pem", "url=https://x.test,ca_file=[DIR]/c.pem"),
    ] {
        let text = place.run(&["serve", "--in", given, "--print-config", "codex"]);
        assert!(text.contains(&format!("\"--in\", \"{wanted}\"]")), "{text}");
    }
}

#[test]
fn the_configuration_has_the_options_that_were_given() {
    let place = Place::with(&[]);
    assert_snapshot!(place.run(&["serve", "--in", "skills", "--print-config", "vscode", "--no-tools"]), @r#"
    exit 0
    --- stdout
    {
      "servers": {
        "prowess": {
          "type": "stdio",
          "command": "prowess",
          "args": [
            "serve",
            "--in",
            "[DIR]/skills",
            "--no-tools"
          ]
        }
      }
    }
    --- stderr
    for VS Code, into ~/.config/Code/User/mcp.json; or .vscode/mcp.json in a project
    "#);
    // In a file that applies in every folder, paths must be absolute.
    let text = place.run(&["serve", "--in", "skills", "--in=dir=more,prefix=m", "--print-config", "codex"]);
    assert_snapshot!(text, @r#"
    exit 0
    --- stdout
    [mcp_servers.prowess]
    command = "prowess"
    args = ["serve", "--in", "[DIR]/skills", "--in=dir=[DIR]/more,prefix=m"]
    --- stderr
    for Codex, into ~/.codex/config.toml; or .codex/config.toml in a project; or: codex mcp add prowess -- prowess serve --in [DIR]/skills --in=dir=[DIR]/more,prefix=m
    "#);
    let find =
        |options: &[&str]| place.run(&[&["serve", "--print-config", "cursor", "--http"], options].concat());
    assert_snapshot!(find(&["0.0.0.0:7878"]), @r#"
    exit 0
    --- stdout
    {
      "mcpServers": {
        "prowess": {
          "url": "http://HOST:7878/mcp",
          "headers": {
            "Authorization": "Bearer ${env:PROWESS_TOKEN}"
          }
        }
      }
    }
    --- stderr
    for Cursor, into ~/.cursor/mcp.json; or .cursor/mcp.json in a project
    "#);
    assert_snapshot!(find(&["127.0.0.1:0"]), @"
    exit 2
    --- stderr
    error: a configuration needs a port: 127.0.0.1:0
      hint: name a port; 0 picks another one at each start
    ");
}
