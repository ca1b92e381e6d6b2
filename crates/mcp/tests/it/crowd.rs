//! Many at once, and one that breaks: everybody else is answered as if alone.

use std::sync::Arc;

use prowess::source::{Chunk, Offer, Slice, Source};
use prowess::{Candidate, DirSource, Registry, RelPath, ScanOptions, SourceError};
use prowess_mcp::{HttpOptions, ServeOptions};
use serde_json::{Value, json};

use crate::support::{LONG, Lines, library, meta, registry, served, write};
use crate::support_web::{Web, sessionless};

#[tokio::test]
async fn a_page_is_the_same_on_every_way_and_for_every_id() {
    let web = Web::with(HttpOptions::default()).await;
    let mut pipe = Lines::begun(served(registry(web.root.path()), ServeOptions::default()), true).await;
    let on_pipe = pipe.result("skills/list", json!({})).await;
    assert_eq!(on_pipe["skills"].as_array().unwrap().len(), 3);
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "skills/list")];
    for id in [json!(0), json!(-7), json!("a \"quoted\" \\ id\n"), json!("")] {
        // The first asker makes the page, the others are given it.
        for _ in 0..2 {
            let body =
                json!({"jsonrpc": "2.0", "id": id, "method": "skills/list", "params": {"_meta": meta()}});
            let answer = web.post(&headers, &body.to_string()).await;
            assert_eq!((answer.0, answer.header("content-type")), (200, Some("application/json")));
            assert_eq!(answer.json(), json!({"jsonrpc": "2.0", "id": id, "result": on_pipe}));
        }
    }
    web.end().await;
}

const HEALTH: &[u8] = b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";

#[tokio::test]
async fn more_connections_than_there_may_be_are_told_to_come_back() {
    let http = HttpOptions { max_connections: 256, header_time: LONG, ..HttpOptions::default() };
    let web = Web::with(http).await;
    let mut inside = Vec::new();
    for _ in 0..256 {
        inside.push(web.open(b"").await);
    }
    let told = web.ask("skills/list", json!({})).await;
    assert_eq!(
        (told.0, told.header("retry-after"), told.header("connection")),
        (503, Some("1"), Some("close"))
    );
    assert_eq!(told.json()["error"]["message"], "there are as many connections as there may be: 256");
    let health = web.raw(HEALTH).await;
    assert_eq!((health.0, health.2.as_str()), (200, r#"{"status":"ok"}"#));
    // Those who have a place keep it.
    for open in &mut inside {
        open.send(HEALTH).await;
        open.until("HTTP/1.1 200").await;
    }
    drop(inside);
    let deadline = tokio::time::Instant::now() + LONG;
    while web.ask("skills/list", json!({})).await.0 != 200 {
        assert!(tokio::time::Instant::now() < deadline);
    }
    web.end().await;
}

#[tokio::test]
async fn those_without_a_place_cannot_keep_others_from_hearing_so() {
    let http = HttpOptions { max_connections: 2, header_time: LONG, ..HttpOptions::default() };
    let web = Web::with(http).await;
    let mut idle = Vec::new();
    for _ in 0..50 {
        idle.push(web.open(b"").await);
    }
    assert_eq!(web.raw(HEALTH).await.0, 200);
    assert_eq!(web.ask("skills/list", json!({})).await.0, 503);
    web.end().await;
}

#[tokio::test]
async fn answers_that_nobody_reads_are_bounded_by_their_bytes() {
    let root = library();
    write(root.path(), "alpha/large.txt", "x".repeat(8 << 20));
    let big = json!({"uri": "skill://alpha/large.txt"});
    let http = HttpOptions {
        request_time: std::time::Duration::from_secs(1),
        stall_time: LONG,
        ..HttpOptions::default()
    };
    let registry = registry(root.path());
    let options = ServeOptions { max_unsent: 12 << 20, ..ServeOptions::default() };
    let web = Web::serving(registry, root, options, http).await;
    let session = web.begun().await;
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "resources/read", "params": &big}).to_string();
    // Both eras, until the answer is the one that must come; a busy machine may be late with others.
    let until = async |status: u16| {
        let mut answers = Vec::new();
        for era in [0, 1] {
            let deadline = tokio::time::Instant::now() + LONG;
            loop {
                let answer = if era == 0 {
                    web.ask("resources/read", big.clone()).await
                } else {
                    web.post(&[("mcp-session-id", &session)], &body).await
                };
                if answer.0 == status {
                    answers.push(answer);
                    break;
                }
                assert!(tokio::time::Instant::now() < deadline, "{}: {}", answer.0, answer.1);
            }
        }
        answers
    };
    until(200).await;
    let mut slow = web.narrow(&sessionless("resources/read", "skill://alpha/large.txt", big.clone())).await;
    slow.until("HTTP/1.1 200").await;
    let message = "there is no room for more answers that nobody reads: 12582912 bytes";
    for refused in until(503).await {
        assert_eq!(refused.header("retry-after"), Some("1"));
        assert_eq!(refused.json()["error"]["message"], message);
    }
    assert_eq!(web.ask("skills/list", json!({})).await.0, 200);
    drop(slow);
    until(200).await;
    web.end().await;
}

#[tokio::test]
async fn requests_beyond_the_limit_wait_and_all_are_answered() {
    let web = Arc::new(Web::with(HttpOptions { max_requests: 4, ..HttpOptions::default() }).await);
    let mut asking = tokio::task::JoinSet::new();
    for number in 0..64 {
        let web = Arc::clone(&web);
        asking.spawn(async move {
            match number % 4 {
                0 => web.ask("skills/list", json!({})).await,
                1 => web.ask("resources/read", json!({"uri": "skill://alpha/SKILL.md"})).await,
                2 => {
                    web.ask("tools/call", json!({"name": "load_skill", "arguments": {"name": "beta"}})).await
                }
                _ => web.ask("skills/get", json!({"uri": "skill://quiet/SKILL.md"})).await,
            }
        });
    }
    while let Some(answer) = asking.join_next().await {
        let answer = answer.unwrap();
        assert!(answer.0 == 200 && answer.json()["error"].is_null(), "{}", answer.2);
    }
    Arc::into_inner(web).unwrap().end().await;
}

#[tokio::test]
async fn requests_on_one_pipe_are_answered_each_with_its_id() {
    let root = library();
    let mut client = Lines::begun(served(registry(root.path()), ServeOptions::default()), false).await;
    for id in 100..164 {
        let ask = json!({"jsonrpc": "2.0", "id": id, "method": "skills/get", "params": {"uri": "skill://alpha/SKILL.md"}});
        client.send(&ask.to_string()).await;
    }
    let mut ids = Vec::new();
    while ids.len() < 64 {
        let answer = client.next().await;
        assert_eq!(answer["result"]["skill"]["frontmatter"]["name"], "alpha", "{answer}");
        ids.push(answer["id"].as_u64().unwrap());
    }
    ids.sort_unstable();
    assert_eq!(ids, (100..164).collect::<Vec<u64>>());
}

/// A source that breaks when a file of one of its skills is read.
struct Brittle(DirSource);

impl Source for Brittle {
    fn id(&self) -> &'static str {
        "brittle"
    }

    fn list(&self) -> Result<Offer, SourceError> {
        self.0.list()
    }

    fn files(&self, skill: &Candidate) -> Result<prowess::Manifest, SourceError> {
        self.0.files(skill)
    }

    fn read(&self, skill: &Candidate, path: &RelPath, slice: Slice) -> Result<Chunk, SourceError> {
        assert_ne!(skill.entry.name, "beta", "this source is broken");
        self.0.read(skill, path, slice)
    }
}

fn brittle(root: &std::path::Path) -> Registry {
    let mut registry = Registry::new();
    registry.add(Brittle(DirSource::new(root, ScanOptions::unbounded())));
    registry
}

#[tokio::test]
async fn a_source_that_panics_is_an_error_and_the_others_live_on() {
    let root = library();
    let beta = json!({"uri": "skill://beta/SKILL.md"});
    let alpha = json!({"uri": "skill://alpha/SKILL.md"});
    for sessionless in [false, true] {
        let mut client =
            Lines::begun(served(brittle(root.path()), ServeOptions::default()), sessionless).await;
        assert_eq!(client.error("skills/get", beta.clone()).await, -32603);
        assert_eq!(client.error("resources/read", beta.clone()).await, -32603);
        assert!(client.result("skills/get", alpha.clone()).await["skill"].is_object());
        let loaded =
            client.ask("tools/call", json!({"name": "load_skill", "arguments": {"name": "beta"}})).await;
        assert!(loaded["error"]["code"] == -32603, "{loaded}");
        let loaded =
            client.result("tools/call", json!({"name": "load_skill", "arguments": {"name": "alpha"}})).await;
        assert_eq!(loaded["isError"], false, "{loaded}");
    }
    let registry = brittle(root.path());
    let web = Web::over(registry, root, HttpOptions::default()).await;
    assert_eq!(web.ask("skills/get", beta).await.json()["error"]["code"], -32603);
    let answer: Value = web.ask("skills/get", alpha).await.json();
    assert!(answer["result"]["skill"].is_object(), "{answer}");
    web.end().await;
}
