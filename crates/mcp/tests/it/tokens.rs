//! Several tokens: what each may see, and what happens when one is revoked.

use std::path::{Path, PathBuf};

use prowess_mcp::{HttpOptions, ServeOptions, Tokens};
use serde_json::{Value, json};

use crate::support::http::{HttpResponse, HttpTestServer, sessionless};
use crate::support::{LONG, library, registry, skill, write};

const ALL: &str = "all-0123456789abcdef";
const SOME: &str = "some-0123456789abcdef";

fn table(name: &str, token: &str, rest: &str) -> String {
    let filter = if rest.contains("filter") { "" } else { "filter = \"**\"\n" };
    format!("[[token]]\nname = \"{name}\"\ntoken = \"{token}\"\n{filter}{rest}\n")
}

/// Replaces a file as a whole.
fn replace(file: &Path, text: &str) {
    let new = file.with_extension("new");
    std::fs::write(&new, text).unwrap();
    std::fs::rename(new, file).unwrap();
}

/// A server whose tokens are in a file; the second sees a part of the library.
async fn served_with_tokens(rest: &str) -> (HttpTestServer, PathBuf, tempfile::TempDir) {
    served_within(rest, HttpOptions::default()).await
}

/// The same with other limits.
async fn served_within(rest: &str, http: HttpOptions) -> (HttpTestServer, PathBuf, tempfile::TempDir) {
    let (root, home) = (library(), tempfile::tempdir().unwrap());
    let file = home.path().join("tokens.toml");
    std::fs::write(&file, table("all", ALL, "") + &table("some", SOME, rest)).unwrap();
    let http = http.with_tokens(Some(Tokens::read(&file).unwrap()));
    let web = HttpTestServer::serving(registry(root.path()), root, ServeOptions::default(), http).await;
    (web, file, home)
}

async fn ask(web: &HttpTestServer, token: &str, method: &str, params: Value) -> HttpResponse {
    web.request_with(&[("authorization", &format!("Bearer {token}"))], method, params).await
}

/// Asks until the status is the wanted one.
async fn until_status(web: &HttpTestServer, token: &str, status: u16) {
    let deadline = tokio::time::Instant::now() + LONG;
    loop {
        let response = ask(web, token, "skills/list", json!({})).await;
        if response.0 == status {
            return;
        }
        assert!(tokio::time::Instant::now() < deadline, "{}", response.0);
    }
}

/// A session with a token, after the handshake.
async fn session(web: &HttpTestServer, token: &str) -> String {
    let bearer = format!("Bearer {token}");
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}).to_string();
    let begun = web.post(&[("authorization", &bearer)], &body).await;
    let id = begun.header("mcp-session-id").unwrap().to_owned();
    let done = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    assert_eq!(web.post(&[("authorization", &bearer), ("mcp-session-id", &id)], done).await.0, 202);
    id
}

#[tokio::test]
async fn a_token_sees_what_its_filter_passes_and_nothing_else_on_any_route() {
    let (web, _file, _home) = served_with_tokens("filter = \"alpha\"").await;
    for method in ["skills/list", "resources/list", "tools/list", "prompts/list"] {
        let (all, some) = (ask(&web, ALL, method, json!({})).await, ask(&web, SOME, method, json!({})).await);
        assert!(all.2.contains("alpha") && all.2.contains("beta"), "{method}: {}", all.2);
        assert!(some.2.contains("alpha") && !some.2.contains("beta"), "{method}: {}", some.2);
    }
    let uri = json!({"uri": "skill://beta/SKILL.md"});
    let argument = json!({"name": "name", "value": "b"});
    let complete =
        json!({"ref": {"type": "ref/resource", "uri": "skill://{name}/{+path}"}, "argument": argument});
    for (method, params, hidden) in [
        ("skills/get", uri.clone(), "-32602"),
        ("resources/read", uri.clone(), "-32602"),
        ("resources/directory/read", json!({"uri": "skill://beta"}), "-32602"),
        ("prompts/get", json!({"name": "beta"}), "-32602"),
        ("tools/call", json!({"name": "load_skill", "arguments": {"name": "beta"}}), "unknown-skill"),
        (
            "tools/call",
            json!({"name": "read_skill_resource", "arguments": {"name": "beta", "path": "SKILL.md"}}),
            "unknown-skill",
        ),
        ("tools/call", json!({"name": "list_skills", "arguments": {}}), "alpha"),
        ("tools/call", json!({"name": "search_skills", "arguments": {"query": "beta"}}), "result"),
        ("completion/complete", complete, r#""values":[]"#),
    ] {
        let some = ask(&web, SOME, method, params.clone()).await;
        assert!(some.2.contains(hidden) && !some.2.contains("About beta"), "{method}: {}", some.2);
        let all = ask(&web, ALL, method, params).await;
        assert!(all.2.contains("beta") && !all.2.contains("unknown-skill"), "{method}: {}", all.2);
        assert!(!all.2.contains("-32602"), "{method}: {}", all.2);
    }
    // Subscriptions of versions with a handshake.
    let subscribe =
        json!({"jsonrpc": "2.0", "id": 2, "method": "resources/subscribe", "params": uri}).to_string();
    for (token, error) in [(SOME, true), (ALL, false)] {
        let (id, bearer) = (session(&web, token).await, format!("Bearer {token}"));
        let subscribed = web.post(&[("authorization", &bearer), ("mcp-session-id", &id)], &subscribe).await;
        assert_eq!(subscribed.json()["error"]["code"] == -32602, error, "{}", subscribed.2);
    }
    web.end().await;
}

#[tokio::test]
async fn a_skill_that_a_token_may_not_see_takes_away_none_that_it_may_see_on_any_route() {
    let (root, home) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for (team, own) in [("first", "ledgers"), ("second", "boats")] {
        let text = format!("---\nname: twin\ndescription: About {own}.\n---\nDo {own}.\n");
        write(root.path(), &format!("{team}/twin/SKILL.md"), text);
        write(root.path(), &format!("{team}/twin/{own}.md"), own);
    }
    skill(root.path(), "second/third", "");
    let file = home.path().join("tokens.toml");
    let tokens = table("all", ALL, "") + &table("some", SOME, "filter = \"second/**\"");
    std::fs::write(&file, tokens).unwrap();
    let http = HttpOptions::default().with_tokens(Some(Tokens::read(&file).unwrap()));
    let web = HttpTestServer::serving(registry(root.path()), root, ServeOptions::default(), http).await;
    let uri = json!({"uri": "skill://twin/SKILL.md"});
    let complete = |argument: Value, context: Value| json!({"ref": {"type": "ref/resource", "uri": "skill://{name}/{+path}"}, "argument": argument, "context": context});
    let names = complete(json!({"name": "name", "value": "tw"}), json!({}));
    let paths = complete(json!({"name": "path", "value": ""}), json!({"arguments": {"name": "twin"}}));
    for (method, params) in [
        ("skills/list", json!({})),
        ("skills/get", uri.clone()),
        ("resources/list", json!({})),
        ("resources/read", uri.clone()),
        ("resources/directory/read", json!({"uri": "skill://twin"})),
        ("prompts/list", json!({})),
        ("prompts/get", json!({"name": "twin"})),
        ("tools/call", json!({"name": "list_skills", "arguments": {}})),
        ("tools/call", json!({"name": "load_skill", "arguments": {"name": "twin"}})),
        (
            "tools/call",
            json!({"name": "read_skill_resource", "arguments": {"name": "twin", "path": "SKILL.md"}}),
        ),
        ("tools/call", json!({"name": "search_skills", "arguments": {"query": "ledgers boats"}})),
        ("completion/complete", paths),
    ] {
        for (token, seen, hidden) in [(ALL, "ledgers", "boats"), (SOME, "boats", "ledgers")] {
            let response = ask(&web, token, method, params.clone()).await;
            assert!(
                response.2.contains(seen) && !response.2.contains(hidden),
                "{method} {params}: {}",
                response.2
            );
        }
    }
    for token in [ALL, SOME] {
        let named = ask(&web, token, "completion/complete", names.clone()).await;
        assert_eq!(named.json()["result"]["completion"]["values"], json!(["twin"]));
        let tools = ask(&web, token, "tools/list", json!({})).await;
        assert!(tools.2.contains("twin"), "{}", tools.2);
    }
    // The words of a skill that a token does not see find nothing.
    let search = json!({"name": "search_skills", "arguments": {"query": "ledgers"}});
    let found = ask(&web, SOME, "tools/call", search).await;
    assert_eq!(found.json()["result"]["structuredContent"]["skills"], json!([]));
    // In a session: a subscription, and a skill that is loaded.
    let (id, bearer) = (session(&web, SOME).await, format!("Bearer {SOME}"));
    let load = json!({"name": "load_skill", "arguments": {"name": "twin"}});
    for (method, params, wanted) in
        [("resources/subscribe", uri, "\"result\":{}"), ("tools/call", load, "Do boats.")]
    {
        let body = json!({"jsonrpc": "2.0", "id": 2, "method": method, "params": params}).to_string();
        let response = web.post(&[("authorization", &bearer), ("mcp-session-id", &id)], &body).await;
        assert!(response.2.contains(wanted), "{method}: {}", response.2);
    }
    // Its changes are noticed as those of any other skill.
    let twin = web.root.path().join("second/twin/SKILL.md");
    let list = || json!({"name": "list_skills", "arguments": {}});
    for (text, wanted) in [
        (Some("---\nname: twin\ndescription: About trains.\n---\nDo trains.\n"), "About trains."),
        (None, "third"),
        (Some("---\nname: twin\ndescription: About planes.\n---\nDo planes.\n"), "About planes."),
    ] {
        match text {
            Some(text) => std::fs::write(&twin, text).unwrap(),
            None => std::fs::remove_file(&twin).unwrap(),
        }
        let deadline = tokio::time::Instant::now() + LONG;
        loop {
            let listed = ask(&web, SOME, "tools/call", list()).await.2;
            if listed.contains(wanted) && (text.is_some() || !listed.contains("twin")) {
                break;
            }
            assert!(tokio::time::Instant::now() < deadline, "{wanted}: {listed}");
        }
    }
    web.end().await;
}

#[tokio::test]
async fn a_filter_that_passes_nothing_is_a_client_without_skills() {
    for filter in ["none", "nowhere/**"] {
        let (web, _file, _home) = served_with_tokens(&format!("filter = \"{filter}\"")).await;
        let listed = ask(&web, SOME, "skills/list", json!({})).await;
        assert_eq!(listed.json()["result"]["skills"], json!([]), "{filter}");
        assert_eq!(ask(&web, SOME, "tools/list", json!({})).await.0, 200);
        web.end().await;
    }
}

#[tokio::test]
async fn metrics_need_a_token_that_may_see_them() {
    for (rest, status) in [
        ("", 403),
        ("metrics = true", 200),
        ("filter = \"alpha\"", 403),
        ("filter = \"none\"\nmetrics = true", 200),
        ("metrics = false", 403),
    ] {
        let (web, _file, _home) = served_with_tokens(rest).await;
        assert_eq!(web.get("/metrics", "").await.0, 401);
        let bearer = format!("authorization: Bearer {SOME}\r\n");
        assert_eq!(web.get("/metrics", &bearer).await.0, status, "{rest}");
        assert!(!web.get("/readyz", "").await.2.contains("alpha"));
        web.end().await;
    }
}

#[tokio::test]
async fn of_two_authorizations_neither_counts() {
    let (web, _file, _home) = served_with_tokens("metrics = true").await;
    let bearer = format!("authorization: Bearer {SOME}\r\n");
    assert_eq!(web.get("/metrics", &bearer).await.0, 200);
    for other in [&bearer, "authorization: Basic eDp5\r\n", "authorization: \r\n"] {
        for both in [format!("{bearer}{other}"), format!("{other}{bearer}")] {
            assert_eq!(web.get("/metrics", &both).await.0, 401, "{both}");
        }
    }
    web.end().await;
}

#[tokio::test]
async fn a_token_file_that_cannot_be_used_shows_in_the_metrics() {
    let (web, file, _home) = served_with_tokens("metrics = true").await;
    let bearer = format!("authorization: Bearer {SOME}\r\n");
    let until = async |wanted: &str| {
        let deadline = tokio::time::Instant::now() + LONG;
        while !web.get("/metrics", &bearer).await.2.lines().any(|line| line == wanted) {
            assert!(tokio::time::Instant::now() < deadline, "{wanted}");
        }
    };
    until("prowess_tokens_read_success 1").await;
    let whole = std::fs::read_to_string(&file).unwrap();
    replace(&file, "[[token]]\n");
    until("prowess_tokens_read_success 0").await;
    replace(&file, &whole);
    until("prowess_tokens_read_success 1").await;
    web.end().await;
}

#[tokio::test]
async fn a_session_can_be_used_only_with_its_own_token() {
    let (web, _file, _home) = served_with_tokens("").await;
    let id = session(&web, ALL).await;
    let body = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}).to_string();
    for (token, status, ended) in [(SOME, 404, 404), (ALL, 200, 202)] {
        let headers = [("authorization", &*format!("Bearer {token}")), ("mcp-session-id", &id)];
        assert_eq!(web.post(&headers, &body).await.0, status);
        let delete = format!(
            "DELETE /mcp HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\nmcp-session-id: {id}\r\n\
             connection: close\r\n\r\n"
        );
        assert_eq!(web.raw(delete.as_bytes()).await.0, ended);
    }
    web.end().await;
}

#[tokio::test]
async fn a_revoked_token_is_refused_and_its_streams_end() {
    let (web, file, _home) = served_with_tokens("").await;
    until_status(&web, SOME, 200).await;
    let listening = |token: &str| {
        let wish = json!({"notifications": {"resourcesListChanged": true}});
        let text = String::from_utf8(sessionless("subscriptions/listen", "", wish)).unwrap();
        // Otherwise the connection waits for another request when the stream has ended.
        text.replacen("\r\n", &format!("\r\nauthorization: Bearer {token}\r\nconnection: close\r\n"), 1)
    };
    let mut revoked = vec![web.open(listening(SOME).as_bytes()).await];
    let id = session(&web, SOME).await;
    let headers = format!("authorization: Bearer {SOME}\r\nconnection: close\r\n");
    revoked.push(web.stream_of(&id, &headers).await);
    let mut kept = web.open(listening(ALL).as_bytes()).await;
    for open in revoked.iter_mut().chain([&mut kept]) {
        open.until("HTTP/1.1 200").await;
    }
    replace(&file, &table("all", ALL, ""));
    until_status(&web, SOME, 401).await;
    for mut open in revoked {
        open.end().await;
    }
    // The other client notices nothing, and still gets its notifications.
    skill(web.root.path(), "gamma", "");
    kept.until("notifications/resources/list_changed").await;
    // A token that comes back begins anew.
    replace(&file, &(table("all", ALL, "") + &table("some", SOME, "filter = \"beta\"")));
    until_status(&web, SOME, 200).await;
    let listed = ask(&web, SOME, "skills/list", json!({})).await;
    assert!(listed.2.contains("beta") && !listed.2.contains("gamma"), "{}", listed.2);
    let old = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}).to_string();
    let headers = [("authorization", &*format!("Bearer {SOME}")), ("mcp-session-id", &id)];
    assert_eq!(web.post(&headers, &old).await.0, 404);
    web.end().await;
}

#[tokio::test]
async fn a_changed_file_is_announced_after_other_changes_and_only_to_tokens_that_see_its_skill() {
    const CHANGED: &str = "notifications/resources/list_changed";
    let (web, _file, _home) = served_with_tokens("filter = \"beta\"").await;
    let mut streams = Vec::new();
    for token in [ALL, SOME] {
        assert_eq!(ask(&web, token, "skills/list", json!({})).await.0, 200);
        let wish = json!({"notifications": {"resourcesListChanged": true}});
        let text = String::from_utf8(sessionless("subscriptions/listen", "", wish)).unwrap();
        let text = text.replacen("\r\n", &format!("\r\nauthorization: Bearer {token}\r\n"), 1);
        let mut stream = web.open(text.as_bytes()).await;
        stream.until("acknowledged").await;
        streams.push(stream);
    }
    let mut some = streams.pop().unwrap();
    let id = session(&web, ALL).await;
    streams.push(web.stream_of(&id, &format!("authorization: Bearer {ALL}\r\n")).await);
    let mut until_all = async || {
        for stream in &mut streams {
            stream.until(CHANGED).await;
            stream.text.clear();
        }
    };
    // Nothing is listed in between.
    skill(web.root.path(), "gamma", "");
    until_all().await;
    for text in ["once", "and once more"] {
        write(web.root.path(), "alpha/references/deep/more.md", text);
        until_all().await;
    }
    write(web.root.path(), "beta/new.md", "x");
    some.until(CHANGED).await;
    assert_eq!(some.text.matches(CHANGED).count(), 1, "{}", some.text);
    web.end().await;
}

#[tokio::test]
async fn a_view_follows_the_library() {
    let (web, _file, _home) = served_with_tokens("filter = \"g*\"").await;
    assert_eq!(ask(&web, SOME, "skills/list", json!({})).await.json()["result"]["skills"], json!([]));
    skill(web.root.path(), "gamma", "");
    let deadline = tokio::time::Instant::now() + LONG;
    while !ask(&web, SOME, "skills/list", json!({})).await.2.contains("gamma") {
        assert!(tokio::time::Instant::now() < deadline);
    }
    web.end().await;
}

#[tokio::test]
async fn a_token_cannot_take_the_sessions_of_the_others() {
    let http = HttpOptions::default().with_max_sessions(4).with_max_token_sessions(Some(2));
    let (web, _file, _home) = served_within("", http).await;
    session(&web, SOME).await;
    session(&web, SOME).await;
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}).to_string();
    let third = web.post(&[("authorization", &format!("Bearer {SOME}"))], &body).await;
    assert_eq!(third.0, 503);
    assert!(third.2.contains("all sessions of this token are in use: 2"), "{}", third.2);
    session(&web, ALL).await;
    web.end().await;
}

#[tokio::test]
async fn a_token_cannot_take_all_where_the_limits_of_the_server_are_low() {
    let http = HttpOptions::default().with_max_sessions(2);
    let (web, _file, _home) = served_within("", http).await;
    session(&web, SOME).await;
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}).to_string();
    let second = web.post(&[("authorization", &format!("Bearer {SOME}"))], &body).await;
    assert!(second.2.contains("all sessions of this token are in use: 1"), "{} {}", second.0, second.2);
    session(&web, ALL).await;
    web.end().await;
}

#[tokio::test]
async fn one_token_cannot_take_all_connections_and_streams() {
    let http = HttpOptions::default().with_max_token_connections(Some(3)).with_max_token_streams(Some(2));
    let (web, _file, _home) = served_within("", http).await;
    let bearer = format!("authorization: Bearer {ALL}\r\n");
    let wish = json!({"notifications": {"resourcesListChanged": true}});
    let listen = String::from_utf8(sessionless("subscriptions/listen", "", wish)).unwrap();
    let listen = listen.replacen("host:", &format!("{bearer}host:"), 1);
    let mut streams = Vec::new();
    for _ in 0..2 {
        let mut stream = web.open(listen.as_bytes()).await;
        stream.until("acknowledged").await;
        streams.push(stream);
    }
    let mut third = web.open(listen.as_bytes()).await;
    third.until("all streams of this caller are in use").await;
    // Two streams and one connection that stays open.
    let refused = ask(&web, ALL, "skills/list", json!({})).await;
    assert!(
        refused.0 == 503 && refused.2.contains("all connections of this caller are in use: 3"),
        "{}",
        refused.2
    );
    assert_eq!(ask(&web, SOME, "skills/list", json!({})).await.0, 200);
    web.end().await;
    drop((streams, third));
}

#[tokio::test]
async fn a_token_that_reads_nothing_keeps_no_other_waiting() {
    // Two requests at once, of which one may be of a token; its large responses fill its part of the memory.
    let http = HttpOptions::default().with_max_requests(2).with_max_token_requests(Some(1));
    let http = http.with_max_token_unsent(Some(1 << 20)).with_request_time(LONG).with_stall_time(LONG);
    let (web, _file, _home) = served_within("metrics = true", http).await;
    write(web.root.path(), "alpha/large.txt", "x".repeat(8 << 20));
    let large =
        sessionless("resources/read", "skill://alpha/large.txt", json!({"uri": "skill://alpha/large.txt"}));
    let large = String::from_utf8(large).unwrap();
    let large = large.replacen("host:", &format!("authorization: Bearer {ALL}\r\nhost:"), 1);
    let mut first = web.open_slow(large.as_bytes()).await;
    first.until("xxxx").await;
    // These wait for memory, and one of them has the only place of its token.
    let mut waiting = Vec::new();
    for _ in 0..4 {
        waiting.push(web.open_slow(large.as_bytes()).await);
    }
    // With a second place, another of them would be refused at once: only one may wait for the memory.
    let (bearer, deadline) =
        (format!("authorization: Bearer {SOME}\r\n"), tokio::time::Instant::now() + LONG);
    while !web.get("/metrics", &bearer).await.2.contains("\nprowess_requests_in_progress 4\n") {
        assert!(tokio::time::Instant::now() < deadline);
    }
    for _ in 0..10 {
        assert_eq!(ask(&web, SOME, "skills/list", json!({})).await.0, 200);
    }
    drop((first, waiting));
    web.end().await;
}
