//! What the sessions of a server keep is counted, each text once, and limited for each session, token and server.

use prowess::Registry;
use prowess::session::Options;
use prowess_mcp::{HttpOptions, ServeOptions, Tokens};
use serde_json::{Value, json};

use crate::support::http::HttpTestServer;
use crate::support::{LONG, PipeClient, registry, served, write};

const ONE: &str = "one-0123456789abcdef";
const TWO: &str = "two-0123456789abcdef";
const THREE: &str = "three-0123456789abcdef";

/// The arguments of a call that count: most of a kept text.
const LARGE: usize = 40_000;

/// A library of skills `s0`, `s1`, … that show their arguments.
fn skills(count: usize, bytes: usize) -> (Registry, tempfile::TempDir) {
    let root = tempfile::tempdir().unwrap();
    for number in 0..count {
        let body = "x".repeat(bytes);
        let text = format!("---\nname: s{number}\ndescription: About s{number}.\n---\n$ARGUMENTS\n{body}\n");
        write(root.path(), &format!("s{number}/SKILL.md"), text);
    }
    (registry(root.path()), root)
}

/// A session of a client with a token.
struct ClientSession<'w> {
    web: &'w HttpTestServer,
    bearer: String,
    id: String,
}

impl<'w> ClientSession<'w> {
    async fn begin(web: &'w HttpTestServer, token: &str) -> Self {
        let bearer = format!("Bearer {token}");
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}).to_string();
        let id =
            web.post(&[("authorization", &bearer)], &body).await.header("mcp-session-id").unwrap().to_owned();
        let session = Self { web, bearer, id };
        let done = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(session.post(&done).await.0, 202);
        session
    }

    async fn post(&self, message: &Value) -> crate::support::http::HttpResponse {
        let headers = [("authorization", self.bearer.as_str()), ("mcp-session-id", self.id.as_str())];
        self.web.post(&headers, &message.to_string()).await
    }

    async fn ask(&self, method: &str, params: Value) -> Value {
        self.post(&json!({"jsonrpc": "2.0", "id": 2, "method": method, "params": params})).await.json()
    }

    /// Starts a skill with long arguments; the message of a refusal.
    async fn start(&self, skill: usize) -> Option<String> {
        let arguments = "y".repeat(LARGE - self.id.len()) + &self.id;
        let started = self
            .ask("prompts/get", json!({"name": format!("s{skill}"), "arguments": {"arguments": arguments}}));
        started.await["error"]["message"].as_str().map(str::to_owned)
    }

    async fn end(self) {
        let (web, bearer, id) = (self.web, self.bearer, self.id);
        let head = format!(
            "DELETE /mcp HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: {bearer}\r\nmcp-session-id: {id}\r\n\r\n"
        );
        assert!(web.raw(head.as_bytes()).await.0 < 300);
    }
}

/// The bytes that the sessions of a server keep.
async fn kept(web: &HttpTestServer) -> usize {
    let page = web.get("/metrics", &format!("authorization: Bearer {ONE}\r\n")).await.2;
    let line = page.lines().find_map(|line| line.strip_prefix("prowess_kept_bytes "));
    line.unwrap_or_else(|| panic!("{page}")).parse().unwrap()
}

async fn until_kept(web: &HttpTestServer, wanted: impl Fn(usize) -> bool) {
    let deadline = tokio::time::Instant::now() + LONG;
    while !wanted(kept(web).await) {
        assert!(tokio::time::Instant::now() < deadline, "{} bytes", kept(web).await);
        tokio::task::yield_now().await;
    }
}

async fn with_tokens(
    count: usize,
    bytes: usize,
    options: ServeOptions,
    http: HttpOptions,
) -> (HttpTestServer, tempfile::TempDir) {
    let (registry, root) = skills(count, bytes);
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("tokens.toml");
    let table = |name: &str, token: &str| {
        format!("[[token]]\nname = \"{name}\"\ntoken = \"{token}\"\nfilter = \"**\"\nmetrics = true\n")
    };
    std::fs::write(&file, table("one", ONE) + &table("two", TWO) + &table("three", THREE)).unwrap();
    let http = http.with_tokens(Some(Tokens::read(&file).unwrap()));
    (HttpTestServer::serving(registry, root, options, http).await, home)
}

#[tokio::test]
async fn arguments_of_callers_are_limited_for_each_session_token_and_server() {
    let session = Options::default().with_max_kept_bytes(5 * LARGE);
    let options = ServeOptions::default().with_session(session).with_max_kept(18 * LARGE);
    let http = HttpOptions::default().with_max_token_kept(Some(9 * LARGE));
    let (web, _home) = with_tokens(6, 10, options, http).await;
    let first = ClientSession::begin(&web, ONE).await;
    // A call waits with its arguments twice: the line, and its words.
    for skill in 0..3 {
        assert_eq!(first.start(skill).await, None);
    }
    let refused = first.start(3).await.unwrap();
    assert!(
        refused.contains("of this session") && refused.contains("unload one with unload_skill"),
        "{refused}"
    );
    let unload = json!({"name": "unload_skill", "arguments": {"name": "s0"}});
    assert_eq!(first.ask("tools/call", unload).await["result"]["isError"], false);
    assert_eq!(first.start(3).await, None);
    // The token has a limit of its own, and leaves room for the other.
    let mut of_one = vec![first];
    let refused = loop {
        let session = ClientSession::begin(&web, ONE).await;
        let refused = session.start(0).await;
        of_one.push(session);
        if let Some(refused) = refused {
            break refused;
        }
    };
    assert!(refused.contains("of all sessions") && refused.contains("end a session"), "{refused}");
    assert!(kept(&web).await <= 9 * LARGE, "{}", kept(&web).await);
    // The server has one, too, which three tokens could exceed.
    for token in [TWO, THREE] {
        let session = ClientSession::begin(&web, token).await;
        let refused = session.start(0).await;
        assert!(refused.is_none() || token == THREE, "{refused:?}");
        while session.start(1).await.is_none()
            && ClientSession::begin(&web, token).await.start(0).await.is_none()
        {}
    }
    assert!(kept(&web).await <= 18 * LARGE, "{}", kept(&web).await);
    // What ended sessions kept can be used again.
    let before = kept(&web).await;
    for session in of_one {
        session.end().await;
    }
    until_kept(&web, |kept| kept < before - 5 * LARGE).await;
    assert_eq!(ClientSession::begin(&web, ONE).await.start(0).await, None);
    web.end().await;
}

#[tokio::test]
async fn what_a_session_or_a_stream_keeps_of_its_request_is_small() {
    let web = HttpTestServer::with(HttpOptions::default()).await;
    let begin = async |client: Value, experimental: Value| {
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {"experimental": experimental}, "clientInfo": client});
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello});
        web.post(&[], &body.to_string()).await
    };
    let members = |count: usize| (0..count).map(|number| (number.to_string(), json!({}))).collect::<Value>();
    let client = json!({"name": "t", "version": "1"});
    assert_eq!(begin(json!({"name": "t".repeat(10_000), "version": "1"}), members(50)).await.0, 200);
    for refused in [
        begin(json!({"name": "t".repeat(17_000), "version": "1"}), json!({})).await,
        begin(client, members(200)).await,
    ] {
        assert_eq!(refused.0, 413);
        let message = "the request initialize is too large: at most 16384 bytes and 256 values";
        assert_eq!(refused.json()["error"]["message"], message);
    }
    // The `_meta` of a subscription is kept too, and so are URIs that name nothing.
    for wish in [
        json!({"notifications": {"resourceSubscriptions": ["u".repeat(140_000)]}}),
        json!({"notifications": {"resourceSubscriptions": vec!["u"; 2_000]}}),
    ] {
        let refused = web.request("subscriptions/listen", wish).await;
        assert_eq!(refused.0, 413);
        let message = "the request subscriptions/listen is too large: at most 131072 bytes and 1024 values";
        assert_eq!(refused.json()["error"]["message"], message);
    }
    // Refused before there is a session.
    let page = web.get("/metrics", "").await.2;
    assert!(page.contains("prowess_sessions 1\n"), "{page}");
    assert!(page.contains("prowess_refusals_total{reason=\"kept-size\"} 4\n"), "{page}");
    web.end().await;
}

#[tokio::test]
async fn the_text_of_a_skill_is_kept_once_for_all_sessions() {
    let (web, _home) = with_tokens(3, LARGE, ServeOptions::default(), HttpOptions::default()).await;
    let mut sessions = Vec::new();
    for number in 0..20 {
        let session = ClientSession::begin(&web, if number % 2 == 0 { ONE } else { TWO }).await;
        for skill in 0..3 {
            let load = json!({"name": "load_skill", "arguments": {"name": format!("s{skill}")}});
            assert_eq!(session.ask("tools/call", load).await["result"]["isError"], false);
        }
        sessions.push(session);
    }
    let kept = kept(&web).await;
    assert!((3 * LARGE..4 * LARGE + 20 * 3 * 1_000).contains(&kept), "{kept}");
    web.end().await;
}

#[tokio::test]
async fn lists_and_searches_leave_nothing_in_a_session() {
    let (web, _home) = with_tokens(100, 10, ServeOptions::default(), HttpOptions::default()).await;
    let session = ClientSession::begin(&web, ONE).await;
    for _ in 0..20 {
        for call in [
            json!({"name": "list_skills", "arguments": {}}),
            json!({"name": "search_skills", "arguments": {"query": "about", "limit": 50}}),
            json!({"name": "read_skill_resource", "arguments": {"name": "s0", "path": "SKILL.md"}}),
            json!({"name": "load_skill", "arguments": {"name": "x".repeat(LARGE)}}),
        ] {
            session.ask("tools/call", call).await;
        }
    }
    assert_eq!(kept(&web).await, 0);
    web.end().await;
}

#[tokio::test]
async fn the_session_of_a_pipe_has_the_same_limit() {
    let (registry, _root) = skills(5, 10);
    let options = ServeOptions::default().with_session(Options::default().with_max_kept_bytes(4 * LARGE));
    let mut client = PipeClient::initialized(served(registry, options), false).await;
    let start = |skill: usize| json!({"name": format!("s{skill}"), "arguments": {"arguments": "y".repeat(LARGE - 1_000)}});
    client.result("prompts/get", start(0)).await;
    client.result("prompts/get", start(2)).await;
    assert_eq!(client.error("prompts/get", start(1)).await, -32602);
    client.result("tools/call", json!({"name": "unload_skill", "arguments": {"name": "s0"}})).await;
    client.result("prompts/get", start(1)).await;
}
