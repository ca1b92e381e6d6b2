//! A pipe whose other end misbehaves: it does not read, sends too much, or goes away.

use prowess_mcp::{ServeOptions, serve_pipe};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio_util::sync::CancellationToken;

use crate::support::{LONG, Lines, library, meta, registry, served, write};

#[tokio::test]
async fn complaints_come_whole_however_slowly_they_are_read() {
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
    let (mut answers, mut no_json, mut no_message) = (0, 0, 0);
    let mut lines = BufReader::with_capacity(512, reader).lines();
    while answers + no_json + no_message < 3 * rounds {
        let line =
            tokio::time::timeout(LONG, lines.next_line()).await.expect("an answer in time").unwrap().unwrap();
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line:.200}"));
        match message["error"]["code"].as_i64() {
            None => answers += 1,
            Some(-32700) => no_json += 1,
            // An id of any length would be a way to make us say it.
            Some(-32600) => {
                assert!(message.get("id").is_none());
                no_message += 1;
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((answers, no_json, no_message), (rounds, rounds, rounds));
    writing.await.unwrap();
}

#[tokio::test]
async fn what_is_too_long_is_answered_by_its_own_id_or_not_at_all() {
    let root = library();
    let mut client = Lines::begun(served(registry(root.path()), ServeOptions::default()), true).await;
    let large = "x".repeat(1 << 20);
    let inside = json!({"id": 7, "x": large});
    client
        .send(&format!(
            r#"{{"method":"tools/call","params":{{"arguments":{inside}}},"jsonrpc":"2.0","id":8}}"#
        ))
        .await;
    let answer = client.next().await;
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(8), &json!(-32600)));
    // A notification has no answer, whatever it holds.
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/x", "params": inside}).to_string()).await;
    assert!(client.result("skills/list", json!({})).await["skills"].is_array());
}

#[tokio::test]
async fn a_pipe_has_a_number_of_subscriptions_and_gets_them_back() {
    let root = library();
    let mut client = Lines::begun(served(registry(root.path()), ServeOptions::default()), true).await;
    let listen = |id: usize| {
        let params = json!({"notifications": {"resourcesListChanged": true}, "_meta": meta()});
        json!({"jsonrpc": "2.0", "id": format!("l{id}"), "method": "subscriptions/listen", "params": params})
            .to_string()
    };
    for id in 0..64 {
        client.send(&listen(id)).await;
        client.told("notifications/subscriptions/acknowledged").await;
    }
    client.send(&listen(64)).await;
    let refused = client.next().await;
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!("l64"), &json!(-32600)), "{refused}");
    let cancel =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "l3"}});
    client.send(&cancel.to_string()).await;
    client.send(&listen(65)).await;
    client.told("notifications/subscriptions/acknowledged").await;
}

/// A server that has a large answer for somebody who does not read.
async fn stuck(stop: CancellationToken) -> (tokio::io::DuplexStream, tokio::task::JoinHandle<()>) {
    let root = library();
    write(root.path(), "beta/large.txt", "x".repeat(3_000_000));
    let (mut client, server) = tokio::io::duplex(1 << 10);
    let serving = tokio::spawn(async move {
        let (reader, writer) = tokio::io::split(server);
        let root = root;
        serve_pipe(registry(root.path()), &ServeOptions::default(), reader, writer, stop).await.unwrap();
    });
    let read = json!({"jsonrpc": "2.0", "id": 1, "method": "resources/read",
        "params": {"uri": "skill://beta/large.txt", "_meta": meta()}});
    client.write_all(format!("{read}\n").as_bytes()).await.unwrap();
    // The answer has begun.
    let mut first = [0];
    tokio::io::AsyncReadExt::read_exact(&mut client, &mut first).await.unwrap();
    (client, serving)
}

#[tokio::test]
async fn the_end_does_not_wait_for_a_reader_who_does_not_read() {
    let stop = CancellationToken::new();
    let (client, serving) = stuck(stop.clone()).await;
    stop.cancel();
    tokio::time::timeout(LONG, serving).await.expect("an end in time").unwrap();
    drop(client);
    // The same when the client says that it will ask no more.
    let (mut client, serving) = stuck(CancellationToken::new()).await;
    client.shutdown().await.unwrap();
    tokio::time::timeout(LONG, serving).await.expect("an end in time").unwrap();
}

#[tokio::test]
async fn a_reader_who_is_gone_ends_the_pipe() {
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
    // The way in stays open.
    tokio::time::timeout(LONG, serving).await.expect("an end in time").unwrap();
    drop(asking);
}
