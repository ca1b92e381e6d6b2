//! Many concurrent clients, and a source that panics: the other requests get their responses.

use std::sync::Arc;

use prowess::source::{Chunk, Listing, Slice, Source};
use prowess::{DirSource, Registry, RelPath, ScanOptions, SourceError, SourceSkill};
use prowess_mcp::{HttpOptions, ServeOptions};
use serde_json::{Value, json};

use crate::support::http::{HttpTestServer, sessionless};
use crate::support::{LONG, PipeClient, library, meta, registry, served, write};

#[tokio::test]
async fn a_page_is_the_same_on_every_transport_and_for_every_id() {
    let web = HttpTestServer::with(HttpOptions::default()).await;
    let mut pipe =
        PipeClient::initialized(served(registry(web.root.path()), ServeOptions::default()), true).await;
    let on_pipe = pipe.result("skills/list", json!({})).await;
    assert_eq!(on_pipe["skills"].as_array().unwrap().len(), 3);
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "skills/list")];
    for id in [json!(0), json!(-7), json!("a \"quoted\" \\ id\n"), json!("")] {
        // The first request builds the page, and the second gets the cached one.
        for _ in 0..2 {
            let body =
                json!({"jsonrpc": "2.0", "id": id, "method": "skills/list", "params": {"_meta": meta()}});
            let response = web.post(&headers, &body.to_string()).await;
            assert_eq!((response.0, response.header("content-type")), (200, Some("application/json")));
            assert_eq!(response.json(), json!({"jsonrpc": "2.0", "id": id, "result": on_pipe}));
        }
    }
    web.end().await;
}

const HEALTH: &[u8] = b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";

#[tokio::test]
async fn connections_beyond_the_limit_get_503() {
    let http = HttpOptions::default().with_max_connections(256).with_header_time(LONG);
    let web = HttpTestServer::with(http).await;
    let mut inside = Vec::new();
    for _ in 0..256 {
        let mut open = web.open(&sessionless("skills/list", "", json!({}))).await;
        open.until("HTTP/1.1 200").await;
        inside.push(open);
    }
    let told = web.request("skills/list", json!({})).await;
    assert_eq!(
        (told.0, told.header("retry-after"), told.header("connection")),
        (503, Some("1"), Some("close"))
    );
    assert_eq!(told.json()["error"]["message"], "all connections are in use: 256");
    let health = web.raw(HEALTH).await;
    assert_eq!((health.0, health.2.as_str()), (200, r#"{"status":"ok"}"#));
    // Existing connections still work.
    for open in &mut inside {
        open.text.clear();
        open.send(HEALTH).await;
        open.until("HTTP/1.1 200").await;
    }
    drop(inside);
    let deadline = tokio::time::Instant::now() + LONG;
    while web.request("skills/list", json!({})).await.0 != 200 {
        assert!(tokio::time::Instant::now() < deadline);
    }
    web.end().await;
}

#[tokio::test]
async fn connections_without_a_token_keep_no_client_out() {
    let token = "a-token-of-0123456789";
    let tokens = prowess_mcp::BearerToken::new(token).map(Into::into);
    let http = HttpOptions::default().with_max_connections(4).with_header_time(LONG).with_body_time(LONG);
    let web = HttpTestServer::with(http.with_tokens(tokens)).await;
    let bearer = format!("Bearer {token}");
    let wrong = "POST /mcp HTTP/1.1\r\nhost: x\r\nauthorization: Bearer no\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n";
    for sent in ["", "GET /hea", "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n", wrong, &format!("{wrong}{{}}")] {
        let mut open = Vec::new();
        for number in 0..300 {
            open.push(web.open(sent.as_bytes()).await);
            if number % 30 == 0 {
                let answered =
                    web.request_with(&[("authorization", &bearer)], "skills/list", json!({})).await;
                assert_eq!(answered.0, 200, "{sent}");
            }
        }
        let answered = web.request_with(&[("authorization", &bearer)], "skills/list", json!({})).await;
        assert_eq!(answered.0, 200, "{sent}");
    }
    web.end().await;
}

#[tokio::test]
async fn unread_responses_are_limited_by_their_bytes() {
    let root = library();
    write(root.path(), "alpha/large.txt", "x".repeat(8 << 20));
    let big = json!({"uri": "skill://alpha/large.txt"});
    let http =
        HttpOptions::default().with_request_time(std::time::Duration::from_secs(1)).with_stall_time(LONG);
    let registry = registry(root.path());
    let options = ServeOptions::default().with_max_unsent(12 << 20);
    let web = HttpTestServer::serving(registry, root, options, http).await;
    let session = web.initialized().await;
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "resources/read", "params": &big}).to_string();
    // In both eras, until the expected status arrives: a busy machine may time out before.
    let until = async |status: u16| {
        let mut responses = Vec::new();
        for era in [0, 1] {
            let deadline = tokio::time::Instant::now() + LONG;
            loop {
                let response = if era == 0 {
                    web.request("resources/read", big.clone()).await
                } else {
                    web.post(&[("mcp-session-id", &session)], &body).await
                };
                if response.0 == status {
                    responses.push(response);
                    break;
                }
                assert!(tokio::time::Instant::now() < deadline, "{}: {}", response.0, response.1);
            }
        }
        responses
    };
    until(200).await;
    // This one may time out too, and is then requested again.
    let deadline = tokio::time::Instant::now() + LONG;
    let slow = loop {
        let large = sessionless("resources/read", "skill://alpha/large.txt", big.clone());
        let mut slow = web.open_slow(&large).await;
        slow.until("HTTP/1.1 ").await;
        slow.until("\r\n").await;
        if slow.text.starts_with("HTTP/1.1 200") {
            break slow;
        }
        assert!(tokio::time::Instant::now() < deadline, "{}", slow.text);
    };
    let message = "the budget for responses that clients have not read is exhausted: 12582912 bytes";
    for refused in until(503).await {
        assert_eq!(refused.header("retry-after"), Some("1"));
        assert_eq!(refused.json()["error"]["message"], message);
    }
    assert_eq!(web.request("skills/list", json!({})).await.0, 200);
    drop(slow);
    until(200).await;
    web.end().await;
}

#[tokio::test]
async fn requests_beyond_the_limit_wait_and_all_get_a_response() {
    let web = Arc::new(HttpTestServer::with(HttpOptions::default().with_max_requests(4)).await);
    let mut requests = tokio::task::JoinSet::new();
    for number in 0..64 {
        let web = Arc::clone(&web);
        requests.spawn(async move {
            match number % 4 {
                0 => web.request("skills/list", json!({})).await,
                1 => web.request("resources/read", json!({"uri": "skill://alpha/SKILL.md"})).await,
                2 => {
                    web.request("tools/call", json!({"name": "load_skill", "arguments": {"name": "beta"}}))
                        .await
                }
                _ => web.request("skills/get", json!({"uri": "skill://quiet/SKILL.md"})).await,
            }
        });
    }
    while let Some(response) = requests.join_next().await {
        let response = response.unwrap();
        assert!(response.0 == 200 && response.json()["error"].is_null(), "{}", response.2);
    }
    Arc::into_inner(web).unwrap().end().await;
}

#[tokio::test]
async fn responses_on_one_pipe_have_the_ids_of_their_requests() {
    let root = library();
    let mut client =
        PipeClient::initialized(served(registry(root.path()), ServeOptions::default()), false).await;
    for id in 100..164 {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": "skills/get", "params": {"uri": "skill://alpha/SKILL.md"}});
        client.send(&request.to_string()).await;
    }
    let mut ids = Vec::new();
    while ids.len() < 64 {
        let response = client.next().await;
        assert_eq!(response["result"]["skill"]["frontmatter"]["name"], "alpha", "{response}");
        ids.push(response["id"].as_u64().unwrap());
    }
    ids.sort_unstable();
    assert_eq!(ids, (100..164).collect::<Vec<u64>>());
}

/// A source that panics when a file of one of its skills is read.
struct PanickingSource(DirSource);

impl Source for PanickingSource {
    fn id(&self) -> &'static str {
        "brittle"
    }

    fn list(&self) -> Result<Listing, SourceError> {
        self.0.list()
    }

    fn files(&self, skill: SourceSkill<'_>) -> Result<prowess::Manifest, SourceError> {
        self.0.files(skill)
    }

    fn read(&self, skill: SourceSkill<'_>, path: &RelPath, slice: Slice) -> Result<Chunk, SourceError> {
        assert_ne!(skill.entry.name, "beta", "this source is broken");
        self.0.read(skill, path, slice)
    }
}

fn panicking(root: &std::path::Path) -> Registry {
    let mut registry = Registry::new();
    registry.add(PanickingSource(DirSource::new(root, ScanOptions::unbounded())));
    registry
}

#[tokio::test]
async fn a_source_that_panics_gives_an_error_and_other_requests_work() {
    let root = library();
    let beta = json!({"uri": "skill://beta/SKILL.md"});
    let alpha = json!({"uri": "skill://alpha/SKILL.md"});
    for sessionless in [false, true] {
        let mut client =
            PipeClient::initialized(served(panicking(root.path()), ServeOptions::default()), sessionless)
                .await;
        assert_eq!(client.error("skills/get", beta.clone()).await, -32603);
        assert_eq!(client.error("resources/read", beta.clone()).await, -32603);
        assert!(client.result("skills/get", alpha.clone()).await["skill"].is_object());
        let loaded =
            client.request("tools/call", json!({"name": "load_skill", "arguments": {"name": "beta"}})).await;
        assert!(loaded["error"]["code"] == -32603, "{loaded}");
        let loaded =
            client.result("tools/call", json!({"name": "load_skill", "arguments": {"name": "alpha"}})).await;
        assert_eq!(loaded["isError"], false, "{loaded}");
    }
    let registry = panicking(root.path());
    let web = HttpTestServer::over(registry, root, HttpOptions::default()).await;
    assert_eq!(web.request("skills/get", beta).await.json()["error"]["code"], -32603);
    let response: Value = web.request("skills/get", alpha).await.json();
    assert!(response["result"]["skill"].is_object(), "{response}");
    web.end().await;
}
