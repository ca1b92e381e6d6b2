//! Streams over HTTP: how long they live, and how many there may be.

use std::time::Duration;

use prowess_mcp::HttpOptions;
use serde_json::json;

use crate::support::{LONG, skill};
use crate::support_web::Web;

/// Waits until a session that nobody uses has ended `times` times, in a server with one place besides those in use.
async fn session_times(web: &Web, times: usize) {
    let deadline = tokio::time::Instant::now() + LONG;
    for _ in 0..=times {
        while web.session().await.0 != 200 {
            assert!(tokio::time::Instant::now() < deadline);
        }
    }
}

#[tokio::test]
async fn silent_streams_outlive_the_time_of_a_session() {
    let http =
        HttpOptions { max_sessions: 3, session_time: Duration::from_millis(100), ..HttpOptions::default() };
    let web = Web::with(http).await;
    // What is there when the library is first read is no change.
    assert_eq!(web.ask("skills/list", json!({})).await.0, 200);
    let (first, second) = (web.begun().await, web.begun().await);
    let mut plain = web.stream_of(&first, "").await;
    let mut resumed = web.stream_of(&second, "last-event-id: 0\r\n").await;
    plain.until("HTTP/1.1 200").await;
    resumed.until("HTTP/1.1 200").await;
    session_times(&web, 5).await;
    skill(web.root.path(), "gamma", "");
    plain.until("notifications/resources/list_changed").await;
    resumed.until("notifications/resources/list_changed").await;
    let ask = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}"#;
    for id in [&first, &second] {
        assert_eq!(web.post(&[("mcp-session-id", id)], ask).await.0, 200);
    }
    web.end().await;
}

#[tokio::test]
async fn nothing_runs_on_after_the_end_of_the_server() {
    let web = Web::with(HttpOptions::default()).await;
    let session = web.begun().await;
    let mut stream = web.stream_of(&session, "").await;
    stream.until("HTTP/1.1 200").await;
    web.begun().await;
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
    let http = HttpOptions { max_connections: 8, max_streams: 3, ..HttpOptions::default() };
    let web = Web::with(http).await;
    let session = web.begun().await;
    let mut open =
        vec![web.stream_of(&session, "").await, web.subscription().await, web.subscription().await];
    for stream in &mut open {
        stream.until("text/event-stream").await;
    }
    for mut refused in [web.stream_of(&session, "").await, web.subscription().await] {
        refused.until("there are as many streams as there may be: 3").await;
        assert!(refused.text.starts_with("HTTP/1.1 503") && refused.text.contains("retry-after: 1"));
    }
    assert_eq!(web.ask("skills/list", json!({})).await.0, 200);
    let ask = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}"#;
    assert_eq!(web.post(&[("mcp-session-id", &session)], ask).await.0, 200);
    // What is no stream in the end takes no place.
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
    let http = HttpOptions { max_connections: 2, max_streams: 100, ..HttpOptions::default() };
    let web = Web::with(http).await;
    let mut first = web.subscription().await;
    first.until("text/event-stream").await;
    let mut second = web.subscription().await;
    second.until("there are as many streams as there may be: 1").await;
    drop(second);
    let deadline = tokio::time::Instant::now() + LONG;
    while web.ask("skills/list", json!({})).await.0 != 200 {
        assert!(tokio::time::Instant::now() < deadline);
    }
    web.end().await;
}
