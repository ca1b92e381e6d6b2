//! Large responses, and clients that do not read them.

use prowess_mcp::{HttpOptions, ServeOptions};
use serde_json::{Value, json};

use crate::support::http::{HttpTestServer, sessionless};
use crate::support::{LONG, PipeClient, library, registry, served, write};

/// Files of several kinds, each much larger than one piece.
fn files() -> [(&'static str, Vec<u8>); 4] {
    [
        ("text.txt", "plain ä \"quoted\" \\ text\r\n".repeat(20_000).into_bytes()),
        ("bytes.bin", (0..=255).cycle().take(500_001).collect()),
        ("controls.txt", vec![1; 300_000]),
        ("marks.txt", r#""text":"","blob":"""#.repeat(5_000).into_bytes()),
    ]
}

#[tokio::test]
async fn a_large_file_is_complete_on_every_transport_and_control_characters_are_base64() {
    let root = library();
    for (name, bytes) in files() {
        write(root.path(), &format!("alpha/{name}"), bytes);
    }
    let mut pipes = Vec::new();
    for sessionless in [false, true] {
        let pipe = served(registry(root.path()), ServeOptions::default());
        pipes.push(PipeClient::initialized(pipe, sessionless).await);
    }
    let registry = registry(root.path());
    let web = HttpTestServer::over(registry, root, HttpOptions::default()).await;
    let session = web.initialized().await;
    for (name, bytes) in files() {
        let uri = format!("skill://alpha/{name}");
        let body = json!({"jsonrpc": "2.0", "id": 7, "method": "resources/read", "params": {"uri": uri}});
        let mut results = vec![
            web.request("resources/read", json!({ "uri": uri })).await.json()["result"].clone(),
            web.post(&[("mcp-session-id", &session)], &body.to_string()).await.json()["result"].clone(),
        ];
        for pipe in &mut pipes {
            results.push(pipe.result("resources/read", json!({ "uri": uri })).await);
        }
        let (member, expected) = match String::from_utf8(bytes) {
            Ok(text) if !text.contains('\u{1}') => ("text", text),
            Ok(text) => ("blob", prowess::internal::base64(text.as_bytes())),
            Err(error) => ("blob", prowess::internal::base64(error.as_bytes())),
        };
        for result in results {
            assert_eq!(result["contents"][0]["uri"], uri);
            assert!(result["contents"][0][member] == expected, "{uri} is another file as {member}");
        }
    }
    web.end().await;
}

#[tokio::test]
async fn every_kind_of_response_counts_until_its_client_reads_it() {
    let root = library();
    let body = "Do it well.\n".repeat(20_000);
    write(root.path(), "long/SKILL.md", format!("---\nname: long\ndescription: Is long.\n---\n{body}"));
    for number in 0..600 {
        write(root.path(), &format!("long/references/{number:0100}.md"), "");
    }
    write(root.path(), "alpha/large.txt", "x".repeat(8 << 20));
    // The budget fits the large file and nothing else.
    let options = ServeOptions::default().with_max_unsent(9 << 20);
    let http =
        HttpOptions::default().with_request_time(std::time::Duration::from_secs(2)).with_stall_time(LONG);
    let registry = registry(root.path());
    let web = HttpTestServer::serving(registry, root, options, http).await;
    let asked = [
        ("skills/list", json!({})),
        ("skills/get", json!({"uri": "skill://long/SKILL.md"})),
        ("resources/read", json!({"uri": "skill://long/SKILL.md"})),
        ("tools/call", json!({"name": "load_skill", "arguments": {"name": "long"}})),
        ("prompts/get", json!({"name": "long"})),
    ];
    let until = async |status: u16, method: &str, params: &Value| {
        // A busy machine may time out before.
        let deadline = tokio::time::Instant::now() + LONG;
        loop {
            let response = web.request(method, params.clone()).await;
            if response.0 == status {
                return response;
            }
            assert!(tokio::time::Instant::now() < deadline, "{method}: {} {}", response.0, response.2.len());
        }
    };
    for (method, params) in &asked {
        assert!(until(200, method, params).await.2.len() > 64 * 1024, "{method}");
    }
    let file = "skill://alpha/large.txt";
    // This one may time out too, and is then requested again.
    let deadline = tokio::time::Instant::now() + LONG;
    let slow = loop {
        let mut slow = web.open_slow(&sessionless("resources/read", file, json!({ "uri": file }))).await;
        slow.until("HTTP/1.1 ").await;
        slow.until("\r\n").await;
        if slow.text.starts_with("HTTP/1.1 200") {
            break slow;
        }
        assert!(tokio::time::Instant::now() < deadline, "{}", slow.text);
    };
    // At once: each waits for the budget as long as a request may take.
    let [list, get, read, load, prompt] = asked.each_ref().map(|(method, params)| until(503, method, params));
    let refusals = tokio::join!(list, get, read, load, prompt);
    for refused in <[_; 5]>::from(refusals) {
        let said = "the budget for responses that clients have not read is exhausted: 9437184 bytes";
        assert_eq!(refused.json()["error"]["message"], said);
    }
    // Small responses get through.
    until(200, "resources/read", &json!({"uri": "skill://beta/SKILL.md"})).await;
    drop(slow);
    for (method, params) in &asked {
        until(200, method, params).await;
    }
    web.end().await;
}

#[tokio::test]
async fn a_pipe_has_the_same_budget_and_an_error_when_it_is_exhausted() {
    let root = library();
    write(root.path(), "alpha/large.txt", "x".repeat(8 << 20));
    let options = ServeOptions::default().with_max_unsent(12 << 20);
    let mut client = PipeClient::initialized(served(registry(root.path()), options), false).await;
    // The client reads nothing until all requests are sent; the second waits for the budget or times out.
    let deadline = tokio::time::Instant::now() + LONG;
    let mut read = 0;
    while read == 0 {
        assert!(tokio::time::Instant::now() < deadline, "no file was read in time");
        for id in 100..104 {
            let read = json!({"jsonrpc": "2.0", "id": id, "method": "resources/read", "params": {"uri": "skill://alpha/large.txt"}});
            client.send(&read.to_string()).await;
        }
        for _ in 0..4 {
            let response = client.next().await;
            match response["error"]["message"].as_str() {
                None => {
                    assert_eq!(
                        response["result"]["contents"][0]["text"].as_str().map(str::len),
                        Some(8 << 20)
                    );
                    read += 1;
                }
                // On a stalled machine, the inspection of the files may time out; then they are requested again.
                Some(said) if said.starts_with("no resource is served") => {}
                Some(said) => assert!(said.starts_with("the budget for responses"), "{said}"),
            }
        }
    }
}

#[tokio::test]
async fn one_skill_that_is_too_large_is_left_out_and_the_others_are_listed() {
    let root = library();
    write(root.path(), "huge/SKILL.md", "---\nname: huge\ndescription: Is huge.\n---\n");
    let file = std::fs::File::create(root.path().join("huge/huge.bin")).unwrap();
    // Sparse: it takes no space on disk.
    file.set_len(1 << 40).unwrap();
    let mut client =
        PipeClient::initialized(served(registry(root.path()), ServeOptions::default()), true).await;
    let listed = client.result("skills/list", json!({})).await.to_string();
    assert!(listed.contains("skill://alpha/SKILL.md") && !listed.contains("huge"), "{listed}");
    let listed = client.result("resources/list", json!({})).await.to_string();
    assert!(listed.contains("skill://alpha/SKILL.md") && !listed.contains("huge"), "{listed}");
    assert_eq!(client.error("skills/get", json!({"uri": "skill://huge/SKILL.md"})).await, -32602);
    assert_eq!(client.error("resources/read", json!({"uri": "skill://huge/huge.bin"})).await, -32602);
    assert_eq!(client.error("resources/directory/read", json!({"uri": "skill://huge"})).await, -32602);
    // Tools read SKILL.md alone, and no more of a file than fits.
    let loaded =
        client.result("tools/call", json!({"name": "load_skill", "arguments": {"name": "huge"}})).await;
    assert!(loaded["content"].is_array() && loaded != Value::Null);
}

#[tokio::test]
async fn a_message_with_too_many_values_is_refused_before_it_is_parsed() {
    let web = HttpTestServer::with(HttpOptions::default()).await;
    let mut pipe =
        PipeClient::initialized(served(registry(web.root.path()), ServeOptions::default()), true).await;
    let many = json!({"name": "load_skill", "arguments": {"name": vec![0; 400_000]}});
    let said = "a message has more than 10000 values";
    let refused = web.request("tools/call", many.clone()).await;
    assert_eq!((refused.0, &refused.json()["error"]["message"]), (400, &json!(said)));
    // With its own id, and the pipe stays open.
    assert_eq!(pipe.request("tools/call", many).await["error"]["message"], said);
    let long = json!({"name": "load_skill", "arguments": {"name": "beta, [{:".repeat(50_000)}});
    assert_eq!(web.request("tools/call", long.clone()).await.0, 200);
    assert_eq!(pipe.result("tools/call", long).await["isError"], true);
    web.end().await;
}
