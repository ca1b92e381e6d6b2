//! The bodies of requests: large ones, slow ones, and what is told about them.

use std::time::Duration;

use prowess_mcp::HttpOptions;
use serde_json::json;

use crate::support::LONG;
use crate::support_web::Web;

/// A head whose body comes after `100 Continue`.
fn promise(length: usize) -> Vec<u8> {
    format!("POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nexpect: 100-continue\r\ncontent-length: {length}\r\n\r\n")
        .into_bytes()
}

#[tokio::test]
async fn slow_bodies_take_no_place_among_the_requests() {
    let http = HttpOptions { max_requests: 2, body_time: LONG, ..HttpOptions::default() };
    let web = Web::with(http).await;
    let mut slow = Vec::new();
    for _ in 0..8 {
        let mut open = web.open(&promise(100)).await;
        // From here on the server waits for the body.
        open.until("100 Continue").await;
        slow.push(open);
    }
    assert_eq!(web.ask("skills/list", json!({})).await.0, 200);
    drop(slow);
    web.end().await;
}

#[tokio::test]
async fn a_body_that_is_too_large_by_its_head_is_not_asked_for() {
    let web = Web::with(HttpOptions { max_body: 4096, ..HttpOptions::default() }).await;
    for length in ["4097", "99999999999999999999"] {
        let head =
            String::from_utf8(promise(1)).unwrap().replace("length: 1\r", &format!("length: {length}\r"));
        let answer = web.raw(head.as_bytes()).await;
        assert!([413, 400].contains(&answer.0), "{length}: {}", answer.1);
        assert!(!answer.1.contains("100 continue"), "{}", answer.1);
    }
    let answer = web.raw(&promise(4097)).await;
    assert_eq!((answer.0, answer.header("connection")), (413, Some("close")));
    assert_eq!(answer.json()["error"]["message"], "the body is too large: at most 4096 bytes");
    web.end().await;
}

#[tokio::test]
async fn who_sends_too_much_is_told_so_and_not_cut_off() {
    let web = Web::with(HttpOptions { max_body: 4096, ..HttpOptions::default() }).await;
    // More than sockets hold: it is sent to the end only because it is taken to the end.
    let large = "y".repeat(8 << 20);
    let answer = web.post(&[], &large).await;
    assert_eq!((answer.0, answer.header("connection")), (413, Some("close")));
    let chunked = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{large}\r\n0\r\n\r\n",
        large.len()
    );
    let answer = web.raw(chunked.as_bytes()).await;
    assert_eq!((answer.0, answer.header("connection")), (413, Some("close")));
    web.end().await;
}

#[tokio::test]
async fn a_body_that_does_not_come_ends_its_connection() {
    let web = Web::with(HttpOptions { body_time: Duration::from_millis(50), ..HttpOptions::default() }).await;
    let answer = web.raw(&promise(100)).await;
    // What comes first is the invitation to send.
    assert!(answer.2.starts_with("HTTP/1.1 408") && answer.2.contains("connection: close"), "{}", answer.2);
    web.end().await;
}

#[tokio::test]
async fn json_is_taken_by_its_type_and_not_by_its_spelling() {
    let web = Web::with(HttpOptions::default()).await;
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}).to_string();
    for (kind, status) in [
        ("application/json", 200),
        ("Application/JSON", 200),
        ("application/json; charset=utf-8", 200),
        ("application/json ;charset=utf-8", 200),
        ("application/jsonx", 415),
        ("application/json-seq", 415),
        ("text/plain; application/json", 415),
        ("application/json\r\ncontent-type: text/plain", 415),
        ("", 415),
    ] {
        let answer = web.post(&[("content-type", kind)], &hello).await;
        assert_eq!(answer.0, status, "{kind}");
        assert!(status == 200 || answer.json()["error"]["code"] == -32600);
    }
    web.end().await;
}

#[tokio::test]
async fn a_mark_before_the_text_is_passed_over() {
    let web = Web::with(HttpOptions::default()).await;
    let session = web.begun().await;
    let ask = "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\",\"params\":{}}";
    let answer = web.post(&[("mcp-session-id", &session)], ask).await;
    assert!(answer.json()["result"]["tools"].is_array(), "{}", answer.2);
    web.end().await;
}
