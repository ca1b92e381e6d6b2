//! Tests of the sessions of a server, in paused time.

use rmcp::serve_server;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::*;

const TIME: Duration = Duration::from_secs(300);
const HOUR: Duration = Duration::from_secs(3600);

struct EmptyServer;
impl rmcp::ServerHandler for EmptyServer {}

fn message(value: Value) -> ClientJsonRpcMessage {
    serde_json::from_value(value).unwrap()
}

/// An initialized session, and the task that serves it.
async fn initialized(sessions: &Sessions) -> (SessionId, JoinHandle<()>) {
    let (id, transport) = sessions.create_session().await.unwrap();
    let serving = tokio::spawn(async move {
        let _ = serve_server(EmptyServer, transport).await.unwrap().waiting().await;
    });
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello});
    sessions.initialize_session(&id, message(hello)).await.unwrap();
    let done = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    sessions.accept_message(&id, message(done)).await.unwrap();
    (id, serving)
}

/// Whether a session is open after expired ones were closed.
async fn lives(sessions: &Sessions, id: &SessionId) -> bool {
    sessions.expire().await;
    locked(&sessions.open).contains_key(id)
}

/// Fails unless a session outlives its time while a stream without messages is open.
async fn assert_keeps_alive<T>(sessions: &Sessions, id: &SessionId, stream: impl Stream<Item = T>) {
    let mut stream = std::pin::pin!(stream);
    assert!(timeout(HOUR, stream.next()).await.is_err(), "the stream ended or sent something");
    assert!(lives(sessions, id).await);
}

#[tokio::test(start_paused = true)]
async fn an_open_stream_keeps_its_session_alive_without_messages() {
    let sessions = Sessions::new(1, TIME);
    let (id, _serving) = initialized(&sessions).await;
    let stream = sessions.create_standalone_stream(&id).await.unwrap();
    assert_keeps_alive(&sessions, &id, stream).await;
}

#[tokio::test(start_paused = true)]
async fn a_resumed_stream_keeps_its_session_alive() {
    let sessions = Sessions::new(1, TIME);
    let (id, _serving) = initialized(&sessions).await;
    let stream = sessions.resume(&id, "0".to_owned()).await.unwrap();
    assert_keeps_alive(&sessions, &id, stream).await;
}

#[tokio::test(start_paused = true)]
async fn a_stream_is_resumed_after_the_last_event_that_its_client_has() {
    let sessions = Sessions::new(1, TIME);
    let (id, transport) = sessions.create_session().await.unwrap();
    let (peer, serving) = tokio::sync::oneshot::channel();
    tokio::spawn(async move {
        let running = serve_server(EmptyServer, transport).await.unwrap();
        peer.send(running.peer().clone()).ok().unwrap();
        let _ = running.waiting().await;
    });
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello});
    sessions.initialize_session(&id, message(hello)).await.unwrap();
    let done = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    sessions.accept_message(&id, message(done)).await.unwrap();
    let peer = serving.await.unwrap();
    for _ in 0..3 {
        peer.notify_tool_list_changed().await.unwrap();
    }
    for (last, wanted) in [("0", &["1", "2"][..]), ("1", &["2"]), ("2", &[])] {
        let mut stream = Box::pin(sessions.resume(&id, last.to_owned()).await.unwrap());
        for wanted in wanted {
            assert_eq!(stream.next().await.unwrap().event_id.as_deref(), Some(*wanted), "after {last}");
        }
        assert!(timeout(Duration::from_secs(1), stream.next()).await.is_err(), "after {last}");
    }
    for (last, next) in
        [("7/3", "8/3"), ("x", "x"), ("", ""), ("18446744073709551615", "18446744073709551615")]
    {
        assert_eq!(event_after(last), next);
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_has_its_whole_time_to_live_after_its_stream_closes() {
    let sessions = Sessions::new(1, TIME);
    let (id, _serving) = initialized(&sessions).await;
    let stream = sessions.create_standalone_stream(&id).await.unwrap();
    tokio::time::advance(HOUR).await;
    drop(stream);
    assert!(lives(&sessions, &id).await);
    tokio::time::advance(TIME).await;
    assert!(lives(&sessions, &id).await);
    tokio::time::advance(Duration::from_millis(1)).await;
    assert!(!lives(&sessions, &id).await);
}

#[tokio::test(start_paused = true)]
async fn expired_sessions_release_all_resources() {
    let sessions = Sessions::new(2, TIME);
    let (first, first_serving) = initialized(&sessions).await;
    let (second, second_serving) = initialized(&sessions).await;
    drop(sessions.create_standalone_stream(&first).await.unwrap());
    assert!(matches!(sessions.create_session().await, Err(SessionsError::Full(2))));
    tokio::time::advance(TIME * 2).await;
    assert!(!lives(&sessions, &first).await && !lives(&sessions, &second).await);
    // The tasks that serve end only when rmcp's workers have.
    for serving in [first_serving, second_serving] {
        serving.await.unwrap();
    }
    assert!(locked(&sessions.open).is_empty() && sessions.inner.sessions.read().await.is_empty());
    assert_eq!(sessions.permits.available_permits(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_session_exists_only_for_its_owner() {
    let sessions = Sessions::new(2, TIME);
    let (own, other) = (sessions.owned_by(1, 2), sessions.owned_by(2, 2));
    let (id, serving) = initialized(&own).await;
    let (kept, _serving) = initialized(&other).await;
    other.close_session(&id).await.unwrap();
    assert!(own.has_session(&id).await.unwrap() && !other.has_session(&id).await.unwrap());
    own.end_own().await;
    serving.await.unwrap();
    assert!(!own.has_session(&id).await.unwrap() && other.has_session(&kept).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn shutdown_ends_sessions_with_open_streams() {
    let sessions = Sessions::new(1, TIME);
    let (id, serving) = initialized(&sessions).await;
    let mut stream = Box::pin(sessions.create_standalone_stream(&id).await.unwrap());
    sessions.end_all().await;
    serving.await.unwrap();
    assert!(stream.next().await.is_none());
    assert!(!sessions.has_session(&id).await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn an_owner_with_its_whole_share_takes_no_session_of_all_even_for_a_moment() {
    let sessions = Sessions::new(2, TIME);
    let (own, other) = (sessions.owned_by(1, 1), sessions.owned_by(2, 2));
    let (_own, _other) = (own.permits().await.unwrap(), other.permits().await.unwrap());
    // Of all there is none left either, and it is not asked for.
    assert!(matches!(own.full().await, Some(SessionsError::ShareFull(1))));
    assert!(matches!(other.full().await, Some(SessionsError::Full(2))));
}

#[tokio::test(start_paused = true)]
async fn an_owner_with_its_whole_share_leaves_sessions_for_the_others() {
    let sessions = Sessions::new(3, TIME);
    let (own, other) = (sessions.owned_by(1, 2), sessions.owned_by(2, 2));
    let (first, serving) = initialized(&own).await;
    let (_second, _serving) = initialized(&own).await;
    assert!(matches!(own.create_session().await, Err(SessionsError::ShareFull(2))));
    let (_third, _serving) = initialized(&other).await;
    assert!(matches!(other.create_session().await, Err(SessionsError::Full(3))));
    own.close_session(&first).await.unwrap();
    serving.await.unwrap();
    assert!(own.create_session().await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn an_id_is_open_until_transport_and_handler_have_dropped_it() {
    let sessions = Sessions::new(2, TIME);
    let (own, other) = (sessions.owned_by(1, 2), sessions.owned_by(2, 2));
    let (id, _serving) = initialized(&own).await;
    let mut headers = HeaderMap::new();
    headers.insert(SESSION_ID, id.parse().unwrap());
    let seven = RequestId::Number(7);
    let transport = own.open_request(&headers, &seven).unwrap().unwrap();
    let handler = transport.clone();
    // A token does not learn about the sessions of another one, nor change them.
    assert!(other.open_request(&headers, &seven).unwrap().is_none());
    assert!(own.open_request(&headers, &RequestId::Number(8)).unwrap().is_some());
    drop(transport);
    assert!(own.open_request(&headers, &seven).is_err());
    drop(handler);
    assert!(own.open_request(&headers, &seven).unwrap().is_some());
}
