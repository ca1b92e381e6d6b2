//! Request bodies over HTTP: large, slow and invalid ones.

use std::time::Duration;

use prowess_mcp::HttpOptions;
use serde_json::json;

use crate::support::LONG;
use crate::support::http::{HttpTestServer, StoppedTime, sessionless};

/// A head whose body is sent after `100 Continue`.
fn promise(length: usize) -> Vec<u8> {
    format!("POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nexpect: 100-continue\r\ncontent-length: {length}\r\n\r\n")
        .into_bytes()
}

#[tokio::test]
async fn slow_bodies_take_no_request_permit() {
    let http = HttpOptions::default().with_max_requests(2).with_body_time(LONG);
    let web = HttpTestServer::with(http).await;
    let mut slow = Vec::new();
    for _ in 0..8 {
        let mut open = web.open(&promise(100)).await;
        // From here on the server waits for the body.
        open.until("100 Continue").await;
        slow.push(open);
    }
    assert_eq!(web.request("skills/list", json!({})).await.0, 200);
    drop(slow);
    web.end().await;
}

#[tokio::test]
async fn a_request_is_in_progress_from_before_its_body_arrives_until_its_response_begins() {
    let http = HttpOptions::default().with_body_time(LONG).with_request_time(LONG);
    let web = HttpTestServer::with(http).await;
    let in_progress = async |wanted: usize| {
        web.until("/metrics", &format!("\nprowess_requests_in_progress {wanted}\n")).await
    };
    let mut open = web.open(&promise(1)).await;
    open.until("100 Continue").await;
    in_progress(1).await;
    open.send(b"{").await;
    open.until("HTTP/1.1 400").await;
    in_progress(0).await;
    // There is memory for fewer large bodies, so that some wait before anything of them is read.
    let mut large = Vec::new();
    for _ in 0..9 {
        large.push(web.open(&promise(1 << 20)).await);
    }
    in_progress(9).await;
    drop(large);
    web.end().await;
}

#[tokio::test]
async fn a_body_whose_declared_size_is_too_large_is_not_read() {
    let web = HttpTestServer::with(HttpOptions::default().with_max_body(4096)).await;
    for length in ["4097", "99999999999999999999"] {
        let head =
            String::from_utf8(promise(1)).unwrap().replace("length: 1\r", &format!("length: {length}\r"));
        let response = web.raw(head.as_bytes()).await;
        assert!([413, 400].contains(&response.0), "{length}: {}", response.1);
        assert!(!response.1.contains("100 continue"), "{}", response.1);
    }
    let response = web.raw(&promise(4097)).await;
    assert_eq!((response.0, response.header("connection")), (413, Some("close")));
    assert_eq!(response.json()["error"]["message"], "the body is too large: at most 4096 bytes");
    web.end().await;
}

#[tokio::test]
async fn a_client_that_sends_too_much_gets_a_response_and_no_reset() {
    let web = HttpTestServer::with(HttpOptions::default().with_max_body(4096)).await;
    let time = StoppedTime::begin();
    // More than socket buffers hold: sending it succeeds only if the server reads all of it.
    let large = "y".repeat(8 << 20);
    let response = web.post(&[], &large).await;
    assert_eq!((response.0, response.header("connection")), (413, Some("close")));
    let chunked = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{large}\r\n0\r\n\r\n",
        large.len()
    );
    let response = web.raw(chunked.as_bytes()).await;
    assert_eq!((response.0, response.header("connection")), (413, Some("close")));
    drop(time);
    web.end().await;
}

#[tokio::test]
async fn a_body_that_does_not_arrive_ends_its_connection() {
    let web = HttpTestServer::with(HttpOptions::default().with_body_time(Duration::from_millis(50))).await;
    let response = web.raw(&promise(100)).await;
    // `100 Continue` comes first.
    assert!(
        response.2.starts_with("HTTP/1.1 408") && response.2.contains("connection: close"),
        "{}",
        response.2
    );
    web.end().await;
}

#[tokio::test]
async fn the_content_type_is_compared_by_its_meaning() {
    let web = HttpTestServer::with(HttpOptions::default()).await;
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
        let response = web.post(&[("content-type", kind)], &hello).await;
        assert_eq!(response.0, status, "{kind}");
        assert!(status == 200 || response.json()["error"]["code"] == -32600);
    }
    web.end().await;
}

#[tokio::test]
async fn a_byte_order_mark_is_ignored() {
    let web = HttpTestServer::with(HttpOptions::default()).await;
    let session = web.initialized().await;
    let request = "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\",\"params\":{}}";
    let response = web.post(&[("mcp-session-id", &session)], request).await;
    assert!(response.json()["result"]["tools"].is_array(), "{}", response.2);
    web.end().await;
}

#[tokio::test]
async fn requests_that_a_proxy_could_read_differently_are_refused() {
    let web = HttpTestServer::with(HttpOptions::default()).await;
    let post = "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
    let chunks = "2\r\n{}\r\n0\r\n\r\n";
    for (sent, status) in [
        ("GET /healthz HTTP/1.1\nhost: localhost\r\n\r\n".to_owned(), 400),
        ("GET /healthz HTTP/1.1\r\nhost: localhost\n\r\n".to_owned(), 400),
        ("GET /healthz HTTP/1.1\r\nhost: localhost\r\n\n".to_owned(), 400),
        ("GET /healthz#x HTTP/1.1\r\nhost: localhost\r\n\r\n".to_owned(), 400),
        ("GET /healthz# HTTP/1.1\r\nhost: localhost\r\n\r\n".to_owned(), 400),
        ("GET http://localhost/healthz#x HTTP/1.1\r\nhost: localhost\r\n\r\n".to_owned(), 400),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(), 400),
        (format!("{post}transfer-encoding: gzip, chunked\r\n\r\n{chunks}"), 501),
        (format!("{post}transfer-encoding: gzip\r\ntransfer-encoding: chunked\r\n\r\n{chunks}"), 501),
        (format!("{post}transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n{chunks}"), 400),
        (format!("{post}transfer-encoding: chunked, chunked\r\n\r\n{chunks}"), 400),
        (format!("{post}transfer-encoding: chunked, gzip, Chunked\r\n\r\n{chunks}"), 400),
        (format!("{post}transfer-encoding: , chunked\r\n\r\n{chunks}"), 400),
        (format!("{post}transfer-encoding: identity, chunked\r\n\r\n{chunks}"), 501),
        (format!("{post}transfer-encoding: gzip;x=1, chunked\r\n\r\n{chunks}"), 501),
        (format!("{post}transfer-encoding: gzip\r\n\r\n{chunks}"), 400),
        (format!("{post}transfer-encoding: chunked;x=1\r\n\r\n{chunks}"), 400),
        (format!("{post}transfer-encoding: chunked, gzip\r\n\r\n{chunks}"), 400),
        (format!("{post}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n{chunks}"), 400),
        (format!("{post}transfer-encoding: chunked\r\ncontent-length: 2\r\n\r\n{chunks}"), 400),
        (format!("{post}content-length: 2\r\ncontent-length: 3\r\n\r\n{{}}"), 400),
        (format!("{post}content-length: 2\r\ncontent-length: 2\r\n\r\n{{}}"), 400),
        (format!("{post}content-length: 2\r\ncontent-encoding: gzip\r\n\r\n{{}}"), 415),
        (format!("{post}content-length: 2\r\nmcp-session-id: a\r\nmcp-session-id: b\r\n\r\n{{}}"), 400),
        (format!("DELETE{}mcp-session-id: a\r\nmcp-session-id: b\r\n\r\n", &post[4..]), 400),
        (
            format!(
                "{post}content-length: 2\r\nmcp-protocol-version: 2025-06-18\r\nmcp-protocol-version: 1\r\n\r\n{{}}"
            ),
            400,
        ),
        (
            format!(
                "{post}transfer-encoding: chunked\r\n\r\n2;\n{{}}\r\n37\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\nhost: localhost\r\nx-padding: 123\r\n\r\n\r\n0\r\n\r\n"
            ),
            400,
        ),
        (format!("{post}transfer-encoding: chunked\r\n\r\n2;a=\"\n\"xx\r\n{{}}\r\n0\r\n\r\n"), 400),
        (format!("{post}transfer-encoding: chunked\r\n\r\n2;\0\r\n{{}}\r\n0\r\n\r\n"), 400),
    ] {
        // What follows is never taken for a request.
        let response =
            web.raw(format!("{sent}GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").as_bytes()).await;
        assert_eq!(response.0, status, "{sent}: {}", response.2);
        assert!(!response.2.contains("\"ok\""), "{sent}: {}", response.2);
    }
    web.end().await;
}

#[tokio::test]
async fn a_line_feed_alone_is_refused_after_other_requests_of_the_connection() {
    let web = HttpTestServer::with(HttpOptions::default()).await;
    let request = String::from_utf8(sessionless("skills/list", "", json!({}))).unwrap();
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    let (head, _) = head.split_once("content-length").unwrap();
    // Bodies may have such lines.
    let body = format!("\n{body}\n\n");
    for sent in [
        format!("{head}content-length: {}\r\n\r\n{body}", body.len()),
        format!("{head}transfer-encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n", body.len()),
    ] {
        let mut open = web.open(sent.as_bytes()).await;
        open.until("alpha").await;
        assert!(open.text.starts_with("HTTP/1.1 200"), "{}", open.text);
        open.text.clear();
        open.send(b"GET /healthz HTTP/1.1\r\nhost: localhost\n\r\n").await;
        open.until("HTTP/1.1 400").await;
    }
    web.end().await;
}

#[tokio::test]
async fn bodies_without_a_length_wait_for_memory_once_they_are_large() {
    let http = HttpOptions::default().with_max_body(100_000).with_body_time(LONG).with_request_time(LONG);
    let web = HttpTestServer::with(http).await;
    let head = b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nexpect: 100-continue\r\n\
                transfer-encoding: chunked\r\n\r\n";
    let mut slow = Vec::new();
    for _ in 0..8 {
        let mut open = web.open(head).await;
        open.until("100 Continue").await;
        slow.push(open);
    }
    // Those that send slowly take no place of others, with a length or without.
    let mut large = web.open(&promise(100_000)).await;
    large.until("100 Continue").await;
    let mut other = web.open(head).await;
    other.until("100 Continue").await;
    other.send(b"2\r\n{}\r\n0\r\n\r\n").await;
    other.until("HTTP/1.1 4").await;
    drop((slow, other));
    let mut others = vec![large];
    for _ in 0..3 {
        let mut large = web.open(&promise(100_000)).await;
        large.until("100 Continue").await;
        others.push(large);
    }
    // One that becomes large waits until there is memory for it.
    let mut growing = web.open(head).await;
    growing.until("100 Continue").await;
    growing.text.clear();
    growing.send(format!("{:x}\r\n{}\r\n0\r\n\r\n", 70_000, " ".repeat(70_000)).as_bytes()).await;
    for _ in 0..10 {
        assert_eq!(web.request("skills/list", json!({})).await.0, 200);
    }
    assert!(growing.is_silent(), "more bodies are read than may be in memory");
    drop(others);
    growing.until("HTTP/1.1 4").await;
    web.end().await;
}

#[tokio::test]
async fn large_bodies_wait_for_memory_and_small_ones_do_not() {
    let http = HttpOptions::default().with_max_body(100_000).with_body_time(LONG).with_request_time(LONG);
    let web = HttpTestServer::with(http).await;
    let mut slow = Vec::new();
    for _ in 0..4 {
        let mut open = web.open(&promise(100_000)).await;
        // From here on the server waits for the body.
        open.until("100 Continue").await;
        slow.push(open);
    }
    // The next one is not read, so that it takes no memory.
    let mut waiting = web.open(&promise(100_000)).await;
    for _ in 0..10 {
        assert_eq!(web.request("skills/list", json!({})).await.0, 200);
    }
    assert!(waiting.is_silent(), "more bodies are read than may be in memory");
    drop(slow);
    waiting.until("100 Continue").await;
    web.end().await;
}
