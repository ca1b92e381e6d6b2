//! The server over HTTP, asked on raw sockets of this machine.

use std::sync::Arc;
use std::time::Duration;

use prowess_mcp::{HttpOptions, Token};
use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use crate::support::{LONG, meta, skill};
use crate::support_web::{Web, sessionless};

fn request(method: &str) -> String {
    json!({"jsonrpc": "2.0", "id": 2, "method": method, "params": {}}).to_string()
}

#[tokio::test]
async fn both_eras_are_served_on_one_address() {
    let web = Web::with(HttpOptions::default()).await;
    let listed = web.ask("skills/list", json!({})).await.json();
    assert_eq!(listed["result"]["skills"].as_array().unwrap().len(), 3, "{listed}");
    let read = web.ask("resources/read", json!({"uri": "skill://alpha/SKILL.md"})).await.json();
    assert!(read["result"]["contents"][0]["text"].is_string(), "{read}");
    let loaded =
        web.ask("tools/call", json!({"name": "load_skill", "arguments": {"name": "alpha"}})).await.json();
    assert_eq!(loaded["result"]["isError"], false, "{loaded}");

    let hello = web.session().await;
    let id = hello.header("mcp-session-id").unwrap().to_owned();
    let session = [("mcp-session-id", id.as_str())];
    let done = web.post(&session, r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    assert_eq!(done.0, 202);
    let old = web.post(&session, &request("skills/list")).await.json();
    assert_eq!(old["result"]["skills"], listed["result"]["skills"]);
    let head = format!(
        "DELETE /mcp HTTP/1.1\r\nhost: localhost\r\nmcp-session-id: {id}\r\nconnection: close\r\n\r\n"
    );
    assert!((200..300).contains(&web.raw(head.as_bytes()).await.0));
    assert_eq!(web.post(&session, &request("tools/list")).await.0, 404);
    web.end().await;
}

#[tokio::test]
async fn bad_requests_get_their_error_and_others_live_on() {
    let web = Web::with(HttpOptions { max_body: 4096, ..HttpOptions::default() }).await;
    let large =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":"{}"}}}}"#, "y".repeat(5000));
    for (body, status, code) in [
        ("nonsense", 400, -32700),
        ("[]", 400, -32600),
        (r#"{"jsonrpc":"2.0"}"#, 400, -32600),
        (large.as_str(), 413, -32600),
    ] {
        let answer = web.post(&[], body).await;
        assert_eq!((answer.0, &answer.json()["error"]["code"]), (status, &json!(code)), "{body}");
    }
    assert_eq!(web.ask("no/such", json!({})).await.0, 404);
    let mismatch =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta()}}).to_string();
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "prompts/list")];
    assert_eq!(web.post(&headers, &mismatch).await.json()["error"]["code"], -32020);
    // Gone in the middle of a body.
    let mut gone = TcpStream::connect(web.at).await.unwrap();
    gone.write_all(b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{").await.unwrap();
    drop(gone);
    assert_eq!(web.raw(b"GET /other HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await.0, 404);
    assert_eq!(web.raw(b"PUT /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await.0, 405);
    let health = web.raw(b"GET /healthz HTTP/1.1\r\nhost: anything\r\nconnection: close\r\n\r\n").await;
    assert_eq!((health.0, health.2.as_str()), (200, r#"{"status":"ok"}"#));
    assert_eq!(web.ask("skills/list", json!({})).await.0, 200);
    web.end().await;
}

#[tokio::test]
async fn foreign_names_and_origins_are_refused() {
    let web =
        Web::with(HttpOptions { hosts: vec!["box.example".to_owned()], ..HttpOptions::default() }).await;
    let port = web.at.port();
    for (header, value, fine) in [
        ("host", format!("localhost:{port}"), true),
        ("host", "box.example".to_owned(), true),
        ("host", "evil.example".to_owned(), false),
        ("host", format!("127.0.0.1.evil.example:{port}"), false),
        ("origin", format!("http://localhost:{port}"), true),
        ("origin", "http://evil.example".to_owned(), false),
        ("origin", "null".to_owned(), false),
        ("origin", "http://localhost.evil.example".to_owned(), false),
        ("origin", "http://localhost:80.evil.com".to_owned(), false),
        ("origin", format!("https://127.0.0.1:{port}"), true),
        ("origin", format!("https://[::1]:{port}"), true),
    ] {
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta()}})
            .to_string();
        let headers =
            [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/list"), (header, value.as_str())];
        let status = web.post(&headers, &body).await.0;
        assert_eq!(status == 200, fine, "{header}: {value}: {status}");
        assert!(fine || status == 403, "{status}");
    }
    // Names that could be read in two ways.
    for (target, headers, status) in [
        ("/mcp", "host: localhost\r\nhost: localhost", 400),
        ("/mcp", "host: localhost\r\nhost: evil.example", 400),
        ("/mcp", "host: user@localhost", 400),
        ("/mcp", "host: localhost:abc", 400),
        ("/mcp", "host: localhost\r\norigin: http://localhost\r\norigin: http://localhost", 403),
        ("http://evil.example/mcp", "host: localhost", 403),
        ("http://localhost/mcp", "host: evil.example", 403),
        ("http://localhost/mcp", "host: localhost", 202),
    ] {
        let head = format!(
            "DELETE {target} HTTP/1.1\r\n{headers}\r\nmcp-session-id: none\r\nconnection: close\r\n\r\n"
        );
        let answer = web.raw(head.as_bytes()).await;
        // The end of a session that is not there is accepted.
        assert_eq!(answer.0, status, "{target} {headers}");
    }
    web.end().await;
}

#[tokio::test]
async fn a_token_is_wanted_when_there_is_one() {
    let web =
        Web::with(HttpOptions { token: Token::new("0123456789abcdef"), ..HttpOptions::default() }).await;
    let body =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta()}}).to_string();
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/list")];
    let without = web.post(&headers, &body).await;
    assert_eq!((without.0, without.header("www-authenticate")), (401, Some("bearer")));
    for (value, status) in
        [("Bearer wrong", 401), ("Basic 0123456789abcdef", 401), ("bearer 0123456789abcdef", 200)]
    {
        let with = [headers[0], headers[1], ("authorization", value)];
        assert_eq!(web.post(&with, &body).await.0, status, "{value}");
    }
    web.end().await;
}

#[tokio::test]
async fn folders_are_told_on_this_machine_and_to_nobody_with_a_token() {
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "load_skill",
        "arguments": {"name": "alpha"}, "_meta": meta()}})
    .to_string();
    for token in [None, Token::new("0123456789abcdef")] {
        let near = token.is_none();
        let web = Web::with(HttpOptions { token, ..HttpOptions::default() }).await;
        let headers = [
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", "load_skill"),
            ("authorization", "Bearer 0123456789abcdef"),
        ];
        let answer = web.post(&headers, &call).await;
        assert_eq!(answer.json()["result"]["isError"], false, "{}", answer.2);
        assert_eq!(answer.2.contains(web.root.path().to_str().unwrap()), near, "{}", answer.2);
        web.end().await;
    }
}

#[tokio::test]
async fn sessions_have_a_cap_and_end_by_themselves() {
    let http =
        HttpOptions { max_sessions: 2, session_time: Duration::from_millis(300), ..HttpOptions::default() };
    let web = Web::with(http).await;
    let first = web.session().await;
    let id = first.header("mcp-session-id").unwrap().to_owned();
    assert_eq!((first.0, web.session().await.0), (200, 200));
    // More than there may be: told to come back, until the others have ended.
    let mut told = 0;
    let deadline = tokio::time::Instant::now() + LONG;
    loop {
        let answer = web.session().await;
        match answer.0 {
            200 => break,
            503 => {
                assert_eq!(answer.header("retry-after"), Some("1"));
                let message = "there are as many sessions as there may be: 2";
                assert_eq!(answer.json()["error"]["message"], message);
            }
            other => panic!("{other}"),
        }
        told += 1;
        assert!(tokio::time::Instant::now() < deadline);
    }
    assert!(told > 0);
    assert_eq!(web.post(&[("mcp-session-id", &id)], &request("tools/list")).await.0, 404);
    web.end().await;
}

#[tokio::test]
async fn sessions_asked_for_at_once_keep_to_the_cap() {
    let web = Arc::new(Web::with(HttpOptions { max_sessions: 5, ..HttpOptions::default() }).await);
    let mut asking = tokio::task::JoinSet::new();
    for _ in 0..40 {
        let web = Arc::clone(&web);
        asking.spawn(async move { web.session().await.0 });
    }
    let answers = asking.join_all().await;
    let count = |status: u16| answers.iter().filter(|answer| **answer == status).count();
    assert_eq!((count(200), count(503)), (5, 35), "{answers:?}");
    Arc::into_inner(web).unwrap().end().await;
}

#[tokio::test]
async fn sessions_know_nothing_of_each_other() {
    let web = Web::with(HttpOptions::default()).await;
    let mut ids = Vec::new();
    for _ in 0..2 {
        ids.push(web.begun().await);
    }
    let call = |name: &str| {
        json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": name, "arguments": {"name": "alpha"}}}).to_string()
    };
    let in_session = |at: usize, name: &str| {
        let (id, body) = (ids[at].clone(), call(name));
        let web = &web;
        async move { web.post(&[("mcp-session-id", &id)], &body).await.json() }
    };
    assert_eq!(in_session(0, "load_skill").await["result"]["isError"], false);
    assert_eq!(in_session(1, "unload_skill").await["result"]["structuredContent"]["reason"], "not-active");
    assert_eq!(in_session(0, "unload_skill").await["result"]["isError"], false);
    web.end().await;
}

#[tokio::test]
async fn an_end_closes_what_is_open() {
    let web = Web::with(HttpOptions::default()).await;
    // What is there when the library is first read is no change.
    assert_eq!(web.ask("skills/list", json!({})).await.0, 200);
    let mut stream = web.subscription().await;
    stream.until("notifications/subscriptions/acknowledged").await;
    skill(web.root.path(), "gamma", "");
    stream.until("notifications/resources/list_changed").await;
    web.stop.cancel();
    stream.until("\"result\"").await;
    web.end().await;
}

#[tokio::test]
async fn slow_clients_hold_up_nobody() {
    let short = Duration::from_millis(200);
    let http =
        HttpOptions { body_time: short, header_time: short, stall_time: short, ..HttpOptions::default() };
    let web = Web::with(http).await;
    // A body that does not come, and a head that does not.
    let part = b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: 100\r\n\r\n{";
    assert_eq!(web.raw(part).await.0, 408);
    assert!([0, 408].contains(&web.raw(b"POST /mcp HTTP/1.1\r\nhost: ").await.0));
    // A reader who takes nothing is cut off in the end, and the others are answered all the while.
    let text = sessionless("skills/list", "", json!({}));
    let mut slow = TcpStream::connect(web.at).await.unwrap();
    let cut = async { while slow.write_all(&text).await.is_ok() {} };
    let others = async {
        for _ in 0..20 {
            assert_eq!(web.ask("skills/list", json!({})).await.0, 200);
        }
    };
    tokio::join!(async { tokio::time::timeout(LONG, cut).await.expect("an end in time") }, others);
    web.end().await;
}

#[tokio::test]
async fn a_head_has_the_size_it_may_have_and_no_more() {
    let web = Web::with(HttpOptions::default()).await;
    // To the byte, in one header and in many.
    for (length, status) in [(65_536, 200), (65_537, 431), (100_000, 431), (1_000_000, 431)] {
        for part in [length, 1000] {
            let mut head = "GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n".to_owned();
            while head.len() + 2 < length {
                let room = length - 2 - head.len();
                // Nothing shorter than a header is left over.
                let part = if room < part + 10 { room } else { part };
                head.extend(["a: ", &"x".repeat(part - 5), "\r\n"]);
            }
            head.push_str("\r\n");
            assert_eq!(head.len(), length);
            let answer = web.raw(head.as_bytes()).await;
            assert_eq!(answer.0, status, "{length} in parts of {part}");
        }
    }
    web.end().await;
}
