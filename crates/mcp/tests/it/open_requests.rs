//! Requests whose handler has not ended: their ids in a session, and clients that do not wait for them.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Sender;

use prowess::source::Layer;
use prowess::{Registry, Source};
use prowess_mcp::HttpOptions;
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::support::LONG;
use crate::support::http::{HttpResponse, HttpTestServer};
use crate::support::late_read::LateRead;

struct Gated {
    web: HttpTestServer,
    gate: Arc<LateRead>,
    begun: UnboundedReceiver<()>,
    open: Sender<()>,
    session: String,
}

impl Gated {
    async fn new() -> Self {
        let (gate, begun, open) = LateRead::new();
        let mut registry = Registry::new();
        let source: Arc<dyn Source> = Arc::clone(&gate) as Arc<dyn Source>;
        registry.add(Layer::shared(source));
        let web = HttpTestServer::over(registry, tempfile::tempdir().unwrap(), HttpOptions::default()).await;
        let session = web.initialized().await;
        Self { web, gate, begun, open, session }
    }

    fn body(id: &Value) -> String {
        let params = json!({"name": "load_skill", "arguments": {"name": "slow"}});
        json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string()
    }

    /// Sends a call whose handler waits, on a connection of its own.
    async fn begin(&mut self, id: &Value) -> crate::support::http::RawConnection {
        self.gate.armed.store(true, Ordering::SeqCst);
        let (session, body) = (&self.session, Self::body(id));
        let head = format!(
            "POST /mcp HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\nmcp-session-id: {session}\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let connection = self.web.open((head + &body).as_bytes()).await;
        tokio::time::timeout(LONG, self.begun.recv()).await.expect("a read in time").unwrap();
        connection
    }

    async fn call(&self, id: &Value) -> HttpResponse {
        self.web.post(&[("mcp-session-id", &self.session)], &Self::body(id)).await
    }

    async fn metric(&self, line: &str) {
        self.web.until("/metrics", &format!("{line}\n")).await;
    }
}

#[tokio::test]
async fn a_request_with_the_id_of_an_open_one_is_refused_at_once() {
    let mut gated = Gated::new().await;
    for id in [json!(7), json!("seven")] {
        let mut first = gated.begin(&id).await;
        for _ in 0..3 {
            let second = gated.call(&id).await;
            assert_eq!(second.0, 400, "{}", second.2);
            let (error, given) = (second.json()["error"].clone(), second.json()["id"].clone());
            assert_eq!((error["code"].as_i64(), given), (Some(-32600), id.clone()));
            assert_eq!(error["message"], "a request with this id is not answered yet");
        }
        // Another id, and the same one in another session, are answered meanwhile.
        assert!(gated.call(&json!(8)).await.2.contains("The whole text."));
        let other = gated.web.initialized().await;
        let elsewhere = gated.web.post(&[("mcp-session-id", &other)], &Gated::body(&id)).await;
        assert!(elsewhere.2.contains("The whole text."), "{}", elsewhere.2);
        gated.open.send(()).unwrap();
        first.until("The whole text.").await;
        first.end().await;
        // An id whose request was answered may be used again.
        assert!(gated.call(&id).await.2.contains("The whole text."));
    }
    gated.metric(r#"prowess_refusals_total{reason="id"} 6"#).await;
    gated.web.end().await;
}

#[tokio::test]
async fn a_request_never_gets_the_response_to_an_abandoned_one_with_its_id() {
    let mut gated = Gated::new().await;
    drop(gated.begin(&json!(7)).await);
    // A request whose client has disconnected is logged and counted too.
    gated.metric(r#"prowess_requests_total{method="tools/call",status="499"} 1"#).await;
    assert_eq!(gated.call(&json!(7)).await.0, 400);
    gated.open.send(()).unwrap();
    let deadline = tokio::time::Instant::now() + LONG;
    loop {
        let response = gated.call(&json!(7)).await;
        if response.0 == 200 {
            assert!(response.2.contains("The whole text."), "{}", response.2);
            break;
        }
        assert!(response.0 == 400 && tokio::time::Instant::now() < deadline, "{}", response.2);
    }
    gated.web.end().await;
}
