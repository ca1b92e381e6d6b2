//! What operators ask of a server over HTTP: metrics and readiness.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use prowess::source::{Chunk, Layer, Listing, Slice, Source, SourceTraits};
use prowess::{Registry, RelPath, SourceError, SourceSkill};
use prowess_mcp::testing::RemoteSource;
use prowess_mcp::{HttpOptions, ServeOptions};
use serde_json::json;

use crate::support::LONG;
use crate::support::http::HttpTestServer;

#[tokio::test]
async fn a_server_is_ready_once_every_source_was_asked() {
    let (source, gate) = RemoteSource::with_skill("far").gated();
    let mut registry = Registry::new();
    registry.add(Layer::shared(source));
    let web = HttpTestServer::over(registry, tempfile::tempdir().unwrap(), HttpOptions::default()).await;
    assert_eq!(web.get("/healthz", "").await.0, 200);
    let waiting = web.get("/readyz", "").await;
    assert_eq!(waiting.0, 503);
    assert!(waiting.2.contains("not ready") && !waiting.2.contains("far"), "{}", waiting.2);
    // Local skills do not wait for remote sources; readiness does.
    assert_eq!(web.until("/readyz", "a source has not answered yet").await, 503);
    gate.open();
    assert_eq!(web.until("/readyz", r#"{"status":"ready"}"#).await, 200);
    drop(gate);
    web.end().await;
}

#[tokio::test]
async fn metrics_count_calls_requests_sessions_and_streams() {
    let web = HttpTestServer::with(HttpOptions::default()).await;
    for name in ["alpha", "nothing", "beta"] {
        web.request("tools/call", json!({"name": "load_skill", "arguments": {"name": name}})).await;
    }
    web.request("tools/call", json!({"name": "made_up", "arguments": {}})).await;
    web.request("made/up", json!({})).await;
    web.post(&[("host", "evil.example")], "{}").await;
    let session = web.initialized().await;
    for tool in ["load_skill", "unload_skill"] {
        let params = json!({"name": tool, "arguments": {"name": "staff"}});
        let call =
            json!({"jsonrpc": "2.0", "id": tool, "method": "tools/call", "params": params}).to_string();
        assert_eq!(web.post(&[("mcp-session-id", &session)], &call).await.json()["result"]["isError"], false);
    }
    let mut stream = web.stream_of(&session, "").await;
    stream.until("HTTP/1.1 200").await;
    let page = web.get("/metrics", "").await;
    assert_eq!(page.0, 200);
    assert_eq!(page.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    for line in [
        r#"prowess_calls_total{tool="load_skill",skill="alpha",reason="ok"} 1"#,
        r#"prowess_calls_total{tool="load_skill",skill="beta",reason="ok"} 1"#,
        r#"prowess_calls_total{tool="load_skill",skill="",reason="unknown-skill"} 1"#,
        r#"prowess_calls_total{tool="unload_skill",skill="staff",reason="ok"} 1"#,
        r#"prowess_calls_total{tool="unknown",skill="",reason="unknown-tool"} 1"#,
        r#"prowess_requests_total{method="other",status="404"} 1"#,
        r#"prowess_requests_total{method="initialize",status="200"} 1"#,
        r#"prowess_refusals_total{reason="host"} 1"#,
        "prowess_sessions 1",
        "prowess_streams 1",
        r#"prowess_skills{state="served"} 5"#,
        "prowess_last_refresh_success 1",
    ] {
        assert!(page.2.lines().any(|own| own == line), "{line}: {}", page.2);
    }
    assert!(!page.2.contains("made"), "{}", page.2);
    assert_eq!(
        web.raw(b"POST /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").await.0,
        405
    );
    web.end().await;
}

#[tokio::test]
async fn requests_that_are_refused_before_they_are_read_are_counted() {
    let web = HttpTestServer::with(HttpOptions::default().with_max_head(8192)).await;
    let large = format!("GET /mcp HTTP/1.1\r\nhost: localhost\r\nx: {}\r\n\r\n", "x".repeat(20_000));
    assert_eq!(web.raw(large.as_bytes()).await.0, 431);
    assert_eq!(web.raw(b"this is not HTTP\r\n\r\n").await.0, 400);
    let body = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}).to_string();
    assert_eq!(web.post(&[("mcp-session-id", "gone")], &body).await.0, 404);
    assert_eq!(web.post(&[("accept", "text/html")], &body).await.0, 406);
    let post =
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n";
    let chunks = format!("{post}transfer-encoding: chunked\r\n\r\nno size\r\n");
    assert_eq!(web.raw(chunks.as_bytes()).await.0, 400);
    for reason in ["head-size", "head", "session", "accept", "body"] {
        let wanted = format!(r#"prowess_refusals_total{{reason="{reason}"}} 1"#);
        assert_eq!(web.until("/metrics", &wanted).await, 200);
    }
    web.end().await;
}

#[tokio::test]
async fn scrapers_that_hang_hold_nothing_up() {
    let http = HttpOptions::default().with_max_connections(2).with_max_newcomers(8).with_header_time(LONG);
    let web = HttpTestServer::with(http).await;
    let mut hanging = Vec::new();
    for _ in 0..40 {
        hanging.push(web.open(b"GET /metrics HTTP/1.1\r\nhost: local").await);
    }
    // The oldest gave way to the others.
    assert_eq!(web.until("/metrics", r#"prowess_refusals_total{reason="newcomer"} "#).await, 200);
    assert_eq!(web.until("/readyz", r#"{"status":"ready"}"#).await, 200);
    assert_eq!(web.request("skills/list", json!({})).await.0, 200);
    web.end().await;
    drop(hanging);
}

#[tokio::test]
async fn a_library_of_which_nothing_could_be_read_is_no_success() {
    let mut registry = Registry::new();
    registry.add(RemoteSource::dead()).set_on_error(prowess::fs::walk::OnError::Report);
    let web = HttpTestServer::over(registry, tempfile::tempdir().unwrap(), HttpOptions::default()).await;
    assert_eq!(web.until("/readyz", "no source could be read").await, 503);
    web.until("/metrics", "prowess_last_refresh_success 0\n").await;
    web.end().await;
}

#[tokio::test]
async fn half_a_head_does_not_delay_the_end() {
    // Longer than a test may take.
    let http = HttpOptions::default().with_header_time(2 * LONG).with_grace(2 * LONG);
    let web = HttpTestServer::with(http).await;
    let first = web.open(b"GET /metr").await;
    let mut second = web.open(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\nGET /metr").await;
    second.until("ok").await;
    // Both, and the one that asks.
    assert_eq!(web.until("/metrics", "prowess_connections 3\n").await, 200);
    web.end().await;
    drop((first, second));
}

/// A source whose list fails while it is away.
struct Away {
    skills: prowess::MemorySource,
    is_away: AtomicBool,
}

impl Source for Away {
    fn id(&self) -> &'static str {
        "away"
    }

    fn traits(&self) -> SourceTraits {
        SourceTraits::remote()
    }

    fn list(&self) -> Result<Listing, SourceError> {
        if self.is_away.load(Ordering::SeqCst) {
            return Err(SourceError::io("away", std::io::ErrorKind::TimedOut.into()));
        }
        self.skills.list()
    }

    fn read(&self, skill: SourceSkill<'_>, path: &RelPath, slice: Slice) -> Result<Chunk, SourceError> {
        self.skills.read(skill, path, slice)
    }
}

#[tokio::test]
async fn a_library_of_which_no_source_can_be_listed_is_not_read_also_while_its_skills_are_kept() {
    let skills = prowess::MemorySource::new("away");
    skills.insert("far", "---\nname: far\ndescription: d\n---\n", prowess::Scope::Remote);
    let source = Arc::new(Away { skills, is_away: AtomicBool::new(false) });
    let mut registry = Registry::new();
    registry.add(Layer::shared(Arc::clone(&source) as Arc<dyn Source>));
    registry.set_on_error(prowess::fs::walk::OnError::Report);
    let options = ServeOptions::default().with_ask_again(std::time::Duration::from_millis(20));
    let root = tempfile::tempdir().unwrap();
    let web = HttpTestServer::serving(registry, root, options, HttpOptions::default()).await;
    for (is_away, success) in [(false, 1), (true, 0), (false, 1)] {
        source.is_away.store(is_away, Ordering::SeqCst);
        web.until("/metrics", &format!("\nprowess_last_refresh_success {success}\n")).await;
        web.until("/metrics", "\nprowess_skills{state=\"served\"} 1\n").await;
        assert_eq!(web.get("/readyz", "").await.0, 200, "kept skills are listed");
    }
    web.end().await;
}
