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
