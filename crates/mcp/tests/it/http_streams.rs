//! Streams over HTTP: how long they live, and their limit.

use std::time::Duration;

use prowess_mcp::HttpOptions;
use serde_json::json;

use crate::support::http::{HttpTestServer, RawConnection};
use crate::support::{LONG, skill};

/// Waits until an unused session has expired `times` times, in a server with one free session.
async fn session_times(web: &HttpTestServer, times: usize) {
    let deadline = tokio::time::Instant::now() + LONG;
    for _ in 0..=times {
        while web.session().await.0 != 200 {
            assert!(tokio::time::Instant::now() < deadline);
        }
    }
}

/// A session and its stream. On a busy machine, a session may expire before its stream is open; then another begins.
async fn session_with_stream(web: &HttpTestServer, more: &str) -> (String, RawConnection) {
    let deadline = tokio::time::Instant::now() + LONG;
    loop {
        let begun = web.session().await;
        if let Some(id) = begun.header("mcp-session-id").map(str::to_owned) {
            let done = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
            web.post(&[("mcp-session-id", &id)], done).await;
            let mut stream = web.stream_of(&id, more).await;
            stream.until("\r\n\r\n").await;
            if stream.text.starts_with("HTTP/1.1 200") {
                return (id, stream);
            }
        }
        assert!(tokio::time::Instant::now() < deadline);
    }
}

#[tokio::test]
async fn idle_streams_keep_their_sessions_alive() {
    let http = HttpOptions::default().with_max_sessions(3).with_session_time(Duration::from_secs(1));
    let web = HttpTestServer::with(http).await;
    // The first read of the library is not a change.
    assert_eq!(web.request("skills/list", json!({})).await.0, 200);
    let (first, mut plain) = session_with_stream(&web, "").await;
    let (second, mut resumed) = session_with_stream(&web, "last-event-id: 0\r\n").await;
    session_times(&web, 2).await;
    skill(web.root.path(), "gamma", "");
    plain.until("notifications/resources/list_changed").await;
    resumed.until("notifications/resources/list_changed").await;
    let request = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}"#;
    for id in [&first, &second] {
        assert_eq!(web.post(&[("mcp-session-id", id)], request).await.0, 200);
    }
    web.end().await;
}

#[tokio::test]
async fn the_newest_stream_of_a_session_gets_its_events_while_older_ones_look_open() {
    let web = HttpTestServer::with(HttpOptions::default()).await;
    assert_eq!(web.request("skills/list", json!({})).await.0, 200);
    let session = web.initialized().await;
    let mut older = Vec::new();
    // With `Last-Event-ID`, and without it: then the kept events come first.
    for (number, more) in ["", "last-event-id: 0\r\n", "", "last-event-id: 2\r\n"].into_iter().enumerate() {
        let mut newest = web.stream_of(&session, more).await;
        newest.until("HTTP/1.1 200").await;
        skill(web.root.path(), &format!("new-{number}"), "");
        newest.until("notifications/resources/list_changed").await;
        if number == 2 {
            assert!(newest.text.contains("\nid: 0\n"), "{}", newest.text);
        }
        older.push(newest);
    }
    for stream in &mut older {
        stream.text.clear();
    }
    let [first, second, third, newest] = &mut *older else { panic!() };
    skill(web.root.path(), "last", "");
    newest.until("notifications/resources/list_changed").await;
    assert!(first.is_silent() && second.is_silent() && third.is_silent());
    // All of them end with the session.
    let delete = format!(
        "DELETE /mcp HTTP/1.1\r\nhost: localhost\r\nmcp-session-id: {session}\r\nconnection: close\r\n\r\n"
    );
    assert_eq!(web.raw(delete.as_bytes()).await.0, 202);
    for stream in &mut older {
        stream.until("0\r\n\r\n").await;
    }
    web.end().await;
}

#[tokio::test]
async fn no_task_runs_after_shutdown() {
    let web = HttpTestServer::with(HttpOptions::default()).await;
    let session = web.initialized().await;
    let mut stream = web.stream_of(&session, "").await;
    stream.until("HTTP/1.1 200").await;
    web.initialized().await;
    web.end().await;
    let deadline = tokio::time::Instant::now() + LONG;
    let runtime = tokio::runtime::Handle::current();
    while runtime.metrics().num_alive_tasks() > 0 {
        assert!(tokio::time::Instant::now() < deadline, "{} tasks", runtime.metrics().num_alive_tasks());
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn streams_leave_connections_for_requests() {
    let http = HttpOptions::default().with_max_connections(8).with_max_streams(3);
    let web = HttpTestServer::with(http).await;
    let session = web.initialized().await;
    let mut open =
        vec![web.stream_of(&session, "").await, web.subscription().await, web.subscription().await];
    for stream in &mut open {
        stream.until("text/event-stream").await;
    }
    for mut refused in [web.stream_of(&session, "").await, web.subscription().await] {
        refused.until("all streams are in use: 3").await;
        assert!(refused.text.starts_with("HTTP/1.1 503") && refused.text.contains("retry-after: 1"));
    }
    assert_eq!(web.request("skills/list", json!({})).await.0, 200);
    let request = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}"#;
    assert_eq!(web.post(&[("mcp-session-id", &session)], request).await.0, 200);
    // A refused stream takes no permit.
    for _ in 0..8 {
        web.stream_of("unknown", "connection: close\r\n").await.until("HTTP/1.1").await;
    }
    drop(open);
    let deadline = tokio::time::Instant::now() + LONG;
    loop {
        let mut again = web.subscription().await;
        again.until("\r\n\r\n").await;
        if again.text.starts_with("HTTP/1.1 200") {
            break;
        }
        assert!(tokio::time::Instant::now() < deadline);
    }
    web.end().await;
}

#[tokio::test]
async fn streams_never_take_every_connection() {
    let http = HttpOptions::default().with_max_connections(2).with_max_streams(100);
    let web = HttpTestServer::with(http).await;
    let mut first = web.subscription().await;
    first.until("text/event-stream").await;
    let mut second = web.subscription().await;
    second.until("all streams are in use: 1").await;
    drop(second);
    let deadline = tokio::time::Instant::now() + LONG;
    while web.request("skills/list", json!({})).await.0 != 200 {
        assert!(tokio::time::Instant::now() < deadline);
    }
    web.end().await;
}
