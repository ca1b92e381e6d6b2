//! The server over HTTP, tested on raw sockets.

use std::sync::Arc;
use std::time::Duration;

use prowess_mcp::{BearerToken, HttpOptions, Tokens};
use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use crate::support::http::{HttpTestServer, StoppedTime, sessionless};
use crate::support::{LONG, meta, skill};

fn request(method: &str) -> String {
    json!({"jsonrpc": "2.0", "id": 2, "method": method, "params": {}}).to_string()
}

#[tokio::test]
async fn both_eras_are_served_on_one_address() {
    let web = HttpTestServer::with(HttpOptions::default()).await;
    let listed = web.request("skills/list", json!({})).await.json();
    assert_eq!(listed["result"]["skills"].as_array().unwrap().len(), 3, "{listed}");
    let read = web.request("resources/read", json!({"uri": "skill://alpha/SKILL.md"})).await.json();
    assert!(read["result"]["contents"][0]["text"].is_string(), "{read}");
    let loaded =
        web.request("tools/call", json!({"name": "load_skill", "arguments": {"name": "alpha"}})).await.json();
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
async fn a_session_that_is_unknown_or_has_ended_cannot_be_ended() {
    let web = HttpTestServer::with(HttpOptions::default()).await;
    let id = web.initialized().await;
    let delete = async |id: &str| {
        let head = format!(
            "DELETE /mcp HTTP/1.1\r\nhost: localhost\r\nmcp-session-id: {id}\r\nconnection: close\r\n\r\n"
        );
        let response = web.raw(head.as_bytes()).await;
        (response.0, response.2)
    };
    let unknown = (404, "Not Found: Session not found".to_owned());
    assert_eq!(delete("none").await, unknown);
    assert_eq!(delete(&id).await.0, 202);
    assert_eq!(delete(&id).await, unknown);
    // As a request in it is answered.
    let request = web.post(&[("mcp-session-id", &id)], &request("tools/list")).await;
    assert_eq!((request.0, request.2), unknown);
    web.end().await;
}

#[tokio::test]
async fn bad_requests_get_an_error_and_later_requests_work() {
    let web = HttpTestServer::with(HttpOptions::default().with_max_body(4096)).await;
    let large =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"x":"{}"}}}}"#, "y".repeat(5000));
    for (body, status, code) in [
        ("nonsense", 400, -32700),
        ("[]", 400, -32600),
        (r#"{"jsonrpc":"2.0"}"#, 400, -32600),
        (large.as_str(), 413, -32600),
    ] {
        let response = web.post(&[], body).await;
        assert_eq!((response.0, &response.json()["error"]["code"]), (status, &json!(code)), "{body}");
    }
    assert_eq!(web.request("no/such", json!({})).await.0, 404);
    let mismatch =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta()}}).to_string();
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "prompts/list")];
    assert_eq!(web.post(&headers, &mismatch).await.json()["error"]["code"], -32020);
    // A client that disconnects in the middle of a body.
    let mut gone = TcpStream::connect(web.at).await.unwrap();
    gone.write_all(b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{").await.unwrap();
    drop(gone);
    assert_eq!(web.raw(b"GET /other HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await.0, 404);
    assert_eq!(web.raw(b"PUT /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await.0, 405);
    let health = web.raw(b"GET /healthz HTTP/1.1\r\nhost: anything\r\nconnection: close\r\n\r\n").await;
    assert_eq!((health.0, health.2.as_str()), (200, r#"{"status":"ok"}"#));
    assert_eq!(web.request("skills/list", json!({})).await.0, 200);
    web.end().await;
}

#[tokio::test]
async fn pages_of_a_named_origin_can_use_the_server_and_others_cannot() {
    let tokens = BearerToken::new("a-token-of-0123456789").map(Tokens::from);
    let http = HttpOptions::default()
        .with_tokens(tokens)
        .with_origins(vec!["https://app.example".to_owned(), "http://localhost:3000".to_owned()]);
    let web = HttpTestServer::with(http).await;
    let preflight = async |origin: &str, more: &str| {
        let head = format!(
            "OPTIONS /mcp HTTP/1.1\r\nhost: localhost\r\norigin: {origin}\r\naccess-control-request-method: POST\r\n\
             access-control-request-headers: authorization\r\n{more}\r\n"
        );
        // The connection is closed without being asked, since no token was sent.
        web.raw(head.as_bytes()).await
    };
    for origin in ["https://app.example", "http://localhost:3000"] {
        let answer = preflight(origin, "").await;
        assert_eq!((answer.0, answer.2.as_str()), (204, ""), "{origin}");
        for (name, value) in [
            ("access-control-allow-origin", origin),
            ("access-control-allow-methods", "get, post, delete"),
            ("access-control-max-age", "7200"),
            ("vary", "origin"),
        ] {
            assert_eq!(answer.header(name), Some(value), "{}", answer.1);
        }
        let allowed = answer.header("access-control-allow-headers").unwrap();
        for name in [
            "authorization",
            "content-type",
            "mcp-session-id",
            "mcp-protocol-version",
            "last-event-id",
            "mcp-method",
            "mcp-name",
        ] {
            assert!(allowed.split(", ").any(|allowed| allowed == name), "{name}: {allowed}");
        }
        assert!(!answer.1.contains("credentials"));
        let bearer = ("authorization", "Bearer a-token-of-0123456789");
        // A refusal can be read too, so that a page can say what is wrong.
        for (headers, status) in [(vec![("origin", origin), bearer], 200), (vec![("origin", origin)], 401)] {
            let response = web.request_with(&headers, "skills/list", json!({})).await;
            assert_eq!(response.0, status);
            assert_eq!(response.header("access-control-allow-origin"), Some(origin));
            assert_eq!(response.header("access-control-expose-headers"), Some("mcp-session-id"));
            assert!(response.1.contains("vary: origin") && !response.1.contains("credentials"));
        }
    }
    for (origin, more) in [
        ("https://evil.example", ""),
        ("http://localhost:4000", ""),
        ("null", ""),
        ("https://app.example", "origin: https://evil.example\r\n"),
    ] {
        let answer = preflight(origin, more).await;
        assert!(answer.0 == 403 && !answer.1.contains("access-control"), "{origin}: {}", answer.1);
        let bearer = ("authorization", "Bearer a-token-of-0123456789");
        let response = web.request_with(&[("origin", origin), bearer], "skills/list", json!({})).await;
        assert!(!response.1.contains("access-control") || !more.is_empty(), "{origin}: {}", response.1);
    }
    // Without the headers of a preflight, and elsewhere, OPTIONS is a request like others.
    for head in [
        "OPTIONS /mcp HTTP/1.1\r\nhost: localhost\r\norigin: https://app.example\r\n",
        "OPTIONS /mcp HTTP/1.1\r\nhost: localhost\r\naccess-control-request-method: POST\r\n",
    ] {
        assert_eq!(web.raw(format!("{head}\r\n").as_bytes()).await.0, 401, "{head}");
    }
    let elsewhere = "OPTIONS /metrics HTTP/1.1\r\nhost: localhost\r\norigin: https://app.example\r\naccess-control-request-method: GET\r\n\r\n";
    let elsewhere = web.raw(elsewhere.as_bytes()).await;
    assert!(elsewhere.0 == 401 && !elsewhere.1.contains("access-control"), "{}", elsewhere.1);
    web.end().await;
}

#[tokio::test]
async fn foreign_names_and_origins_are_refused() {
    let web = HttpTestServer::with(HttpOptions::default().with_hosts(vec!["box.example".to_owned()])).await;
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
    // Ambiguous names.
    for (target, headers, status) in [
        ("/mcp", "host: localhost\r\nhost: localhost", 400),
        ("/mcp", "host: localhost\r\nhost: evil.example", 400),
        ("/mcp", "host: user@localhost", 400),
        ("/mcp", "host: localhost:abc", 400),
        ("/mcp", "host: localhost\r\norigin: http://localhost\r\norigin: http://localhost", 403),
        ("http://evil.example/mcp", "host: localhost", 403),
        ("http://localhost/mcp", "host: evil.example", 403),
        // The request itself is fine; there is no such session.
        ("http://localhost/mcp", "host: localhost", 404),
    ] {
        let head = format!(
            "DELETE {target} HTTP/1.1\r\n{headers}\r\nmcp-session-id: none\r\nconnection: close\r\n\r\n"
        );
        let response = web.raw(head.as_bytes()).await;
        assert_eq!(response.0, status, "{target} {headers}");
    }
    web.end().await;
}

#[tokio::test]
async fn a_configured_token_is_required() {
    let web = HttpTestServer::with(
        HttpOptions::default().with_tokens(BearerToken::new("0123456789abcdef").map(Tokens::from)),
    )
    .await;
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
async fn folders_are_shown_to_local_clients_and_not_with_a_token() {
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "load_skill",
        "arguments": {"name": "alpha"}, "_meta": meta()}})
    .to_string();
    for token in [None, BearerToken::new("0123456789abcdef")] {
        let local = token.is_none();
        let web = HttpTestServer::with(HttpOptions::default().with_tokens(token.map(Tokens::from))).await;
        let headers = [
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", "load_skill"),
            ("authorization", "Bearer 0123456789abcdef"),
        ];
        let response = web.post(&headers, &call).await;
        assert_eq!(response.json()["result"]["isError"], false, "{}", response.2);
        assert_eq!(response.2.contains(web.root.path().to_str().unwrap()), local, "{}", response.2);
        web.end().await;
    }
}

#[tokio::test]
async fn sessions_have_a_limit_and_expire() {
    let two = HttpOptions::default().with_max_sessions(2);
    let web = HttpTestServer::with(two.clone()).await;
    assert_eq!((web.session().await.0, web.session().await.0), (200, 200));
    let refused = web.session().await;
    assert_eq!((refused.0, refused.header("retry-after")), (503, Some("1")));
    assert_eq!(refused.json()["error"]["message"], "all sessions are in use: 2");
    web.end().await;
    // Until the other sessions have expired.
    let web = HttpTestServer::with(two.with_session_time(Duration::from_secs(1))).await;
    let first = web.session().await;
    let id = first.header("mcp-session-id").unwrap().to_owned();
    assert_eq!((first.0, web.session().await.0), (200, 200));
    let deadline = tokio::time::Instant::now() + LONG;
    loop {
        match web.session().await.0 {
            200 => break,
            status => assert_eq!(status, 503),
        }
        assert!(tokio::time::Instant::now() < deadline);
    }
    assert_eq!(web.post(&[("mcp-session-id", &id)], &request("tools/list")).await.0, 404);
    web.end().await;
}

#[tokio::test]
async fn concurrent_sessions_respect_the_limit() {
    let web = Arc::new(HttpTestServer::with(HttpOptions::default().with_max_sessions(5)).await);
    let mut requests = tokio::task::JoinSet::new();
    for _ in 0..40 {
        let web = Arc::clone(&web);
        requests.spawn(async move { web.session().await.0 });
    }
    let responses = requests.join_all().await;
    let count = |status: u16| responses.iter().filter(|response| **response == status).count();
    assert_eq!((count(200), count(503)), (5, 35), "{responses:?}");
    Arc::into_inner(web).unwrap().end().await;
}

#[tokio::test]
async fn sessions_are_independent() {
    let web = HttpTestServer::with(HttpOptions::default()).await;
    let mut ids = Vec::new();
    for _ in 0..2 {
        ids.push(web.initialized().await);
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
async fn shutdown_ends_subscriptions_with_their_result() {
    let web = HttpTestServer::with(HttpOptions::default()).await;
    // The first read of the library is not a change.
    assert_eq!(web.request("skills/list", json!({})).await.0, 200);
    let mut stream = web.subscription().await;
    stream.until("notifications/subscriptions/acknowledged").await;
    skill(web.root.path(), "gamma", "");
    stream.until("notifications/resources/list_changed").await;
    web.stop.cancel();
    stream.until("\"result\"").await;
    web.end().await;
}

#[tokio::test]
async fn slow_clients_do_not_delay_others() {
    let short = Duration::from_secs(1);
    let http = HttpOptions::default().with_body_time(short).with_header_time(short).with_stall_time(short);
    let web = HttpTestServer::with(http).await;
    // A body and a head that do not arrive.
    let part = b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: 100\r\n\r\n{";
    let (body, head) = tokio::join!(web.raw(part), web.raw(b"POST /mcp HTTP/1.1\r\nhost: "));
    assert_eq!(body.0, 408);
    assert!([0, 408].contains(&head.0));
    // A client that reads nothing is disconnected, and the others get responses in the meantime.
    let text = sessionless("skills/list", "", json!({}));
    let mut slow = TcpStream::connect(web.at).await.unwrap();
    let cut = async { while slow.write_all(&text).await.is_ok() {} };
    // On a stalled machine, a good request may be too slow as well; then it is sent again.
    let others = async {
        let deadline = tokio::time::Instant::now() + LONG;
        let mut responses = 0;
        while responses < 20 {
            match web.request("skills/list", json!({})).await.0 {
                200 => responses += 1,
                status => assert!([0, 408].contains(&status), "{status}"),
            }
            assert!(tokio::time::Instant::now() < deadline, "{responses} responses");
        }
    };
    tokio::join!(async { tokio::time::timeout(LONG, cut).await.expect("an end in time") }, others);
    web.end().await;
}

#[tokio::test]
async fn the_size_limit_of_a_head_is_exact() {
    let web = HttpTestServer::with(HttpOptions::default()).await;
    let time = StoppedTime::begin();
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
            let response = web.raw(head.as_bytes()).await;
            assert_eq!(response.0, status, "{length} in parts of {part}");
        }
    }
    // And to the line.
    for (lines, status) in [(100, 200), (101, 431)] {
        let more = "a: b\r\n".repeat(lines - 2);
        assert_eq!(web.get("/healthz", &more).await.0, status, "{lines}");
    }
    drop(time);
    web.end().await;
}
