//! A client on a pipe that misbehaves: it does not read, sends too much, or disconnects.

use std::time::Duration;

use prowess_mcp::{HttpOptions, ServeOptions, serve_pipe};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::support::http::HttpTestServer;
use crate::support::{LONG, PipeClient, library, meta, registry, served, write};

#[tokio::test]
async fn errors_are_complete_lines_for_a_slow_reader() {
    let root = library();
    write(root.path(), "beta/large.txt", "x".repeat(200_000));
    let (reader, mut writer) = tokio::io::split(served(registry(root.path()), ServeOptions::default()));
    let rounds = 100;
    let writing = tokio::spawn(async move {
        for id in 0..rounds {
            let read = json!({"jsonrpc": "2.0", "id": id, "method": "resources/read",
                "params": {"uri": "skill://beta/large.txt", "_meta": meta()}});
            let bad = json!({"jsonrpc": "1.0", "id": "z".repeat(100_000)});
            writer.write_all(format!("{read}\n{{bad\n{bad}\n").as_bytes()).await.unwrap();
        }
        writer
    });
    let (mut responses, mut no_json, mut no_message) = (0, 0, 0);
    let mut lines = BufReader::with_capacity(512, reader).lines();
    while responses + no_json + no_message < 3 * rounds {
        let line =
            tokio::time::timeout(LONG, lines.next_line()).await.expect("an answer in time").unwrap().unwrap();
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line:.200}"));
        match message["error"]["code"].as_i64() {
            None => responses += 1,
            Some(-32700) => no_json += 1,
            // A long id is not sent back.
            Some(-32600) => {
                assert!(message.get("id").is_none());
                no_message += 1;
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((responses, no_json, no_message), (rounds, rounds, rounds));
    writing.await.unwrap();
}

#[tokio::test]
async fn an_oversized_line_gets_an_error_with_its_own_id_or_none() {
    let root = library();
    let mut client =
        PipeClient::initialized(served(registry(root.path()), ServeOptions::default()), true).await;
    let large = "x".repeat(1 << 20);
    let inside = json!({"id": 7, "x": large});
    client
        .send(&format!(
            r#"{{"method":"tools/call","params":{{"arguments":{inside}}},"jsonrpc":"2.0","id":8}}"#
        ))
        .await;
    let response = client.next().await;
    assert_eq!((&response["id"], &response["error"]["code"]), (&json!(8), &json!(-32600)));
    // A notification gets no response, whatever it contains.
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/x", "params": inside}).to_string()).await;
    assert!(client.result("skills/list", json!({})).await["skills"].is_array());
}

#[tokio::test]
async fn a_pipe_has_a_limit_of_subscriptions_and_cancelling_releases_one() {
    let root = library();
    let mut client =
        PipeClient::initialized(served(registry(root.path()), ServeOptions::default()), true).await;
    let listen = |id: usize| {
        let params = json!({"notifications": {"resourcesListChanged": true}, "_meta": meta()});
        json!({"jsonrpc": "2.0", "id": format!("l{id}"), "method": "subscriptions/listen", "params": params})
            .to_string()
    };
    for id in 0..64 {
        client.send(&listen(id)).await;
        client.notification("notifications/subscriptions/acknowledged").await;
    }
    client.send(&listen(64)).await;
    let refused = client.next().await;
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!("l64"), &json!(-32600)), "{refused}");
    let cancel =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "l3"}});
    client.send(&cancel.to_string()).await;
    client.send(&listen(65)).await;
    client.notification("notifications/subscriptions/acknowledged").await;
}

#[tokio::test]
async fn the_number_and_the_bytes_of_subscribed_resources_are_limited() {
    let root = library();
    let long = "x".repeat(200);
    for number in 0..=512 {
        write(root.path(), &format!("alpha/f/{number}"), "");
        write(root.path(), &format!("alpha/f/{number}{long}"), "");
    }
    for (rest, most, message) in
        [("", 512, "at most 512 subscriptions"), (&*long, 512, "have at most 65536 bytes")]
    {
        let pipe = served(registry(root.path()), ServeOptions::default());
        let mut client = PipeClient::initialized(pipe, false).await;
        let mut kept = (0, 0);
        let refused = loop {
            let uri = format!("skill://alpha/f/{}{rest}", kept.0);
            let response = client.request("resources/subscribe", json!({ "uri": uri })).await;
            if response["error"].is_object() {
                break response;
            }
            kept = (kept.0 + 1, kept.1 + uri.len());
        };
        assert!(refused["error"]["message"].as_str().unwrap().contains(message), "{refused}");
        assert!(kept.0 <= most && kept.1 <= 65536 && (kept.0 == most || kept.1 > 65000), "{kept:?}");
        // One of them makes room for another.
        let (gone, new) = (format!("skill://alpha/f/0{rest}"), format!("skill://alpha/f/{}{rest}", kept.0));
        client.result("resources/unsubscribe", json!({ "uri": gone })).await;
        if rest.is_empty() {
            client.result("resources/subscribe", json!({ "uri": new })).await;
        }
    }
}

/// A server with large responses to this many requests of a client that does not read.
async fn stuck(
    requests: usize,
    stop: CancellationToken,
) -> (tokio::io::DuplexStream, tokio::task::JoinHandle<()>) {
    let root = library();
    write(root.path(), "beta/large.txt", "x".repeat(3_000_000));
    let (mut client, server) = tokio::io::duplex(1 << 10);
    let serving = tokio::spawn(async move {
        let (reader, writer) = tokio::io::split(server);
        let root = root;
        serve_pipe(registry(root.path()), &ServeOptions::default(), reader, writer, stop).await.unwrap();
    });
    for id in 0..requests {
        let read = json!({"jsonrpc": "2.0", "id": id, "method": "resources/read",
            "params": {"uri": "skill://beta/large.txt", "_meta": meta()}});
        client.write_all(format!("{read}\n").as_bytes()).await.unwrap();
    }
    // A response has begun.
    let mut first = [0];
    tokio::io::AsyncReadExt::read_exact(&mut client, &mut first).await.unwrap();
    (client, serving)
}

#[tokio::test]
async fn shutdown_does_not_wait_for_a_client_that_does_not_read() {
    let stop = CancellationToken::new();
    let (client, serving) = stuck(1, stop.clone()).await;
    // The server waits for a while, which need not be real time.
    tokio::time::pause();
    stop.cancel();
    tokio::time::timeout(LONG, serving).await.expect("an end in time").unwrap();
    drop(client);
}

#[tokio::test]
async fn the_end_of_the_input_is_noticed_while_no_request_is_read() {
    // Reading stops at 16. The last ones are read ahead, and never handled.
    for requests in [1, 16, 17, 40] {
        let (mut client, serving) = stuck(requests, CancellationToken::new()).await;
        tokio::time::pause();
        let begun = Instant::now();
        client.shutdown().await.unwrap();
        tokio::time::timeout(LONG, serving).await.expect("an end in time").unwrap();
        assert!(begun.elapsed() < Duration::from_secs(13), "{requests}: {:?}", begun.elapsed());
        tokio::time::resume();
        drop(client);
    }
}

#[tokio::test]
async fn a_write_without_progress_ends_the_pipe() {
    for requests in [1, 16] {
        // The client keeps its end open.
        let (client, serving) = stuck(requests, CancellationToken::new()).await;
        tokio::time::pause();
        let begun = Instant::now();
        tokio::time::timeout(LONG, serving).await.expect("an end in time").unwrap();
        assert!(begun.elapsed() > Duration::from_secs(25), "{requests}: {:?}", begun.elapsed());
        tokio::time::resume();
        drop(client);
    }
}

#[tokio::test(start_paused = true)]
async fn more_requests_than_are_read_at_once_all_get_their_responses_after_the_end_of_the_input() {
    let root = library();
    write(root.path(), "beta/large.txt", "x".repeat(100_000));
    let (mut reader, mut writer) = tokio::io::split(served(registry(root.path()), ServeOptions::default()));
    let requests = 40;
    for id in 0..requests {
        let read = json!({"jsonrpc": "2.0", "id": id, "method": "resources/read",
            "params": {"uri": "skill://beta/large.txt", "_meta": meta()}});
        writer.write_all(format!("{read}\n").as_bytes()).await.unwrap();
    }
    writer.shutdown().await.unwrap();
    let mut all = Vec::new();
    let reading = tokio::io::AsyncReadExt::read_to_end(&mut reader, &mut all);
    tokio::time::timeout(LONG, reading).await.expect("an end in time").unwrap();
    assert_eq!(all.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count(), requests);
}

#[tokio::test(start_paused = true)]
async fn a_last_line_without_a_line_break_is_answered() {
    let root = library();
    let (mut reader, mut writer) = tokio::io::split(served(registry(root.path()), ServeOptions::default()));
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "skills/list", "params": {"_meta": meta()}});
    writer.write_all(list.to_string().as_bytes()).await.unwrap();
    writer.shutdown().await.unwrap();
    let mut said = String::new();
    let reading = tokio::io::AsyncReadExt::read_to_string(&mut reader, &mut said);
    tokio::time::timeout(LONG, reading).await.expect("an end in time").unwrap();
    assert!(said.contains("skill://alpha"), "{said}");
}

#[tokio::test]
async fn a_client_that_closes_its_reading_end_ends_the_pipe() {
    let root = library();
    let (asking, answering) = (tokio::io::duplex(1 << 16), tokio::io::duplex(1 << 10));
    let serving = tokio::spawn(async move {
        let root = root;
        let stop = CancellationToken::new();
        serve_pipe(registry(root.path()), &ServeOptions::default(), asking.1, answering.1, stop)
            .await
            .unwrap();
    });
    drop(answering.0);
    let mut asking = asking.0;
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "skills/list", "params": {"_meta": meta()}});
    asking.write_all(format!("{list}\n").as_bytes()).await.unwrap();
    // The input stays open.
    tokio::time::timeout(LONG, serving).await.expect("an end in time").unwrap();
    drop(asking);
}

#[tokio::test]
async fn a_message_with_two_members_of_one_name_is_refused_on_every_transport() {
    let root = library();
    let web = HttpTestServer::with(HttpOptions::default()).await;
    for sessionless in [false, true] {
        let pipe = served(registry(root.path()), ServeOptions::default());
        let mut client = PipeClient::initialized(pipe, sessionless).await;
        for (params, member) in [
            (r#""params": {"name": "load_skill", "arguments": {"name": "alpha", "name": "beta"}}"#, "name"),
            (r#""params": {"name": "load_skill", "name": "list_skills", "arguments": {}}"#, "name"),
            (
                r#""params": {"name": "list_skills", "arguments": {}}, "params": {"name": "list_skills"}"#,
                "params",
            ),
            (r#""params": {"name": "list_skills", "arguments": {"x": [{"a": 1, "\u0061": 2}]}}"#, "a"),
            (r#""params": {"name": "list_skills"}, "method": "ping""#, "method"),
        ] {
            let message = format!(r#"{{"jsonrpc": "2.0", "id": 7, "method": "tools/call", {params}}}"#);
            client.send(&message).await;
            let over_http = web.post(&[], &message).await;
            assert_eq!(over_http.0, 400, "{message}");
            for response in [client.response(7).await, over_http.json()] {
                let said = response["error"]["message"].as_str().unwrap();
                let wanted = format!("this message is ambiguous: the member {member} appears twice");
                assert!(said.starts_with(&wanted) && response["id"] == 7, "{response}");
                assert_eq!(response["error"]["code"], -32600, "{response}");
            }
        }
        // Neither of two ids is that of the message.
        let message = r#"{"jsonrpc": "2.0", "id": 7, "id": 8, "method": "ping"}"#;
        client.send(message).await;
        for response in [client.next().await, web.post(&[], message).await.json()] {
            assert!(response["error"]["code"] == -32600 && response["id"].is_null(), "{response}");
        }
        assert!(client.result("tools/list", json!({})).await["tools"].is_array());
    }
    web.end().await;
}

#[tokio::test]
async fn a_message_with_a_text_or_a_depth_that_cannot_be_read_is_refused_with_its_id() {
    let root = library();
    let web = HttpTestServer::with(HttpOptions::default()).await;
    let mut client =
        PipeClient::initialized(served(registry(root.path()), ServeOptions::default()), true).await;
    for value in [r#""\ud83d""#.to_owned(), format!("{}{}", "[".repeat(200), "]".repeat(200))] {
        let message = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{{"x":{value}}}}}"#);
        client.send(&message).await;
        for response in [client.next().await, web.post(&[], &message).await.json()] {
            let said = response["error"]["message"].as_str().unwrap();
            assert!(said.starts_with("this message cannot be read: "), "{response}");
            assert_eq!(
                (&response["error"]["code"], &response["id"]),
                (&json!(-32600), &json!(7)),
                "{response}"
            );
        }
    }
    web.end().await;
}

#[tokio::test]
async fn an_error_about_a_text_of_a_client_shows_it_escaped_and_cut() {
    let web = HttpTestServer::with(HttpOptions::default()).await;
    let message = |method: &str, version: &str| {
        let meta = json!({"io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientCapabilities": {}});
        json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": {"_meta": meta}}).to_string()
    };
    let long = "z".repeat(20_000);
    for (name, method, version) in [
        ("tools/list", "tools/list", "\u{202e}2026"),
        ("\u{202e}meth", "\u{202e}meth", "2026-07-28"),
        ("x\u{202e}y", "tools/list", "2026-07-28"),
        ("\u{1b}[31m", "tools/list", "2026-07-28"),
        (&*long, "tools/list", "2026-07-28"),
    ] {
        let encoded = format!("=?base64?{}?=", prowess::internal::base64(name.as_bytes()));
        let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", &*encoded)];
        let response = web.post(&headers, &message(method, version)).await;
        let shown = response.json()["error"].to_string();
        assert!(response.0 >= 400 && shown.contains("message"), "{name}: {}", response.2);
        assert!(!shown.contains(['\u{202e}', '\u{1b}']) && shown.len() < 10_000, "{name}: {shown}");
    }
    let mut client =
        PipeClient::initialized(served(registry(web.root.path()), ServeOptions::default()), false).await;
    let unknown = client.request("logging/setLevel", json!({"level": "info"})).await;
    assert_eq!(unknown["error"]["message"], "no such method: logging/setLevel", "{unknown}");
    web.end().await;
}

#[tokio::test]
async fn a_cursor_that_is_no_text_is_refused_by_every_list_on_every_transport() {
    let root = library();
    let web = HttpTestServer::with(HttpOptions::default()).await;
    let mut client =
        PipeClient::initialized(served(registry(root.path()), ServeOptions::default()), true).await;
    for method in ["skills/list", "resources/list", "prompts/list", "tools/list", "resources/templates/list"]
    {
        for cursor in [json!(1), json!({}), json!([]), json!(true)] {
            let params = json!({"cursor": cursor, "_meta": meta()});
            let message = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
            client.send(&message.to_string()).await;
            let over_http = web.request(method, json!({ "cursor": cursor })).await.json();
            for response in [client.response(7).await, over_http] {
                assert_eq!(response["error"]["code"], -32602, "{method} {cursor}: {response}");
            }
        }
        let first = client.request(method, json!({"cursor": null})).await;
        assert!(first["result"].is_object(), "{method}: {first}");
    }
    web.end().await;
}

#[tokio::test]
async fn the_error_for_too_many_values_has_the_id_on_every_transport() {
    let root = library();
    let web = HttpTestServer::with(HttpOptions::default()).await;
    let mut client =
        PipeClient::initialized(served(registry(root.path()), ServeOptions::default()), true).await;
    let params = json!({"many": vec![0; 20_000]});
    let message = json!({"jsonrpc": "2.0", "id": 7, "method": "skills/list", "params": params}).to_string();
    client.send(&message).await;
    for response in [client.response(7).await, web.post(&[], &message).await.json()] {
        assert!(response["error"]["code"] == -32600 && response["id"] == 7, "{response}");
    }
    web.end().await;
}

#[tokio::test]
async fn the_error_for_a_broken_response_of_a_client_has_none_of_its_ids() {
    let root = library();
    let web = HttpTestServer::with(HttpOptions::default()).await;
    let mut client =
        PipeClient::initialized(served(registry(root.path()), ServeOptions::default()), false).await;
    let many = json!(vec![0; 20_000]);
    let broken = [
        r#"{"jsonrpc": "2.0", "id": 7, "result": {"a": 1, "a": 2}}"#,
        r#"{"jsonrpc": "2.0", "id": 7, "error": {"code": 1, "code": 1, "message": "x"}}"#,
        r#"{"jsonrpc": "1.0", "id": 7, "result": {}}"#,
        &format!(r#"{{"jsonrpc": "2.0", "id": 7, "result": {{"many": {many}}}}}"#),
    ];
    // Over HTTP, a body of this length is refused before any of it is read.
    let long = format!(r#"{{"jsonrpc": "2.0", "result": {{"long": "{}"}}, "id": 7}}"#, "x".repeat(1 << 20));
    for message in broken.into_iter().chain([&*long]) {
        client.send(message).await;
        let response = client.next().await;
        assert!(response["error"]["code"] == -32600 && response["id"].is_null(), "{message:.80}: {response}");
    }
    for message in broken {
        let over_http = web.post(&[], message).await;
        assert!(over_http.0 == 400 && !over_http.2.contains("\"id\":7"), "{message:.80}: {}", over_http.2);
    }
    web.end().await;
}
