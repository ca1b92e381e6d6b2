//! The server on a pipe: the extension, tools, notifications and bad input.

use prowess::registry::digests;
use prowess::session::Options;
use prowess_mcp::ServeOptions;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

use crate::support::{PipeClient, library, registry, served, skill, write};

#[tokio::test]
async fn listed_files_can_be_read_and_match_their_digests() {
    let root = library();
    for sessionless in [false, true] {
        let mut client =
            PipeClient::initialized(served(registry(root.path()), ServeOptions::default()), sessionless)
                .await;
        let page = client.result("skills/list", json!({})).await;
        let alpha = &page["skills"][0];
        assert_eq!(
            alpha["frontmatter"],
            json!({"name": "alpha", "description": "About alpha.", "license": "MIT", "metadata": {"version": "1.0"}})
        );
        let files = alpha["resources"].as_array().unwrap();
        assert_eq!(files.len(), 5);
        for file in files {
            let read = client.result("resources/read", json!({"uri": file["uri"]})).await;
            let contents = &read["contents"][0];
            assert_eq!(contents["uri"], file["uri"]);
            let bytes = match contents["text"].as_str() {
                Some(text) => text.as_bytes().to_vec(),
                None => {
                    assert_eq!(contents["blob"], "AJ+Slg==");
                    vec![0, 159, 146, 150]
                }
            };
            assert_eq!(file["digest"], digests::of_bytes(&bytes).to_string());
            assert_eq!(file["size"], bytes.len());
        }
        let got = client.result("skills/get", json!({"uri": "skill://alpha/SKILL.md"})).await;
        assert_eq!(got["skill"], *alpha);
        // Not listed, but available by its URI.
        assert!(
            client.result("skills/get", json!({"uri": "skill://quiet/SKILL.md"})).await["skill"].is_object()
        );
        let folder = client.result("resources/directory/read", json!({"uri": "skill://alpha"})).await;
        let names: Vec<&str> = folder["resources"]
            .as_array()
            .unwrap()
            .iter()
            .map(|child| child["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["alpha", "a b & ä.txt", "blob.bin", "empty", "references"]);
        let deeper =
            client.result("resources/directory/read", json!({"uri": "skill://alpha/references"})).await;
        assert_eq!(deeper["resources"][0]["mimeType"], "inode/directory");
        for (member, there) in [("ttlMs", sessionless), ("resultType", sessionless), ("nextCursor", false)] {
            assert_eq!(page.get(member).is_some(), there, "{member}");
        }
    }
}

#[tokio::test]
async fn an_unknown_uri_gives_the_same_error_everywhere() {
    let root = library();
    for sessionless in [false, true] {
        let mut client =
            PipeClient::initialized(served(registry(root.path()), ServeOptions::default()), sessionless)
                .await;
        for uri in [
            "skill://nowhere/SKILL.md",
            "skill://alpha/../beta/SKILL.md",
            "skill://alpha/%2e%2e/beta/SKILL.md",
            "skill://mended/SKILL.md",
            "skill://alpha/none.md",
            "file:///etc/passwd",
            "",
        ] {
            for method in ["skills/get", "resources/read", "resources/directory/read"] {
                let response = client.request(method, json!({"uri": uri})).await;
                assert_eq!(response["error"]["code"], -32602, "{method} {uri}: {response}");
                assert_eq!(response["error"]["data"]["uri"], uri);
                let root = root.path().to_str().unwrap();
                assert!(!response.to_string().contains(root), "{response}");
            }
        }
        for method in
            ["skills/list", "resources/list", "prompts/list", "tools/list", "resources/templates/list"]
        {
            assert_eq!(client.error(method, json!({"cursor": "foreign"})).await, -32602, "{method}");
        }
        for method in ["skills/get", "resources/read", "prompts/get", "tools/call"] {
            assert_eq!(client.error(method, json!({"uri": 7})).await, -32602, "{method}");
        }
        assert_eq!(
            client.error("resources/directory/read", json!({"uri": "skill://alpha/SKILL.md"})).await,
            -32602
        );
        assert_eq!(client.error("no/such/method", json!({})).await, -32601);
        for tool in ["no_such_tool", "run_skill_script"] {
            let unknown = client.result("tools/call", json!({"name": tool})).await;
            assert_eq!(
                (&unknown["isError"], &unknown["structuredContent"]["reason"]),
                (&json!(true), &json!("unknown-tool"))
            );
        }
    }
}

#[tokio::test]
async fn a_list_in_pages_contains_each_skill_once() {
    let root = tempfile::tempdir().unwrap();
    for number in 0..250 {
        skill(root.path(), &format!("skill-{number:03}"), "");
    }
    let mut client =
        PipeClient::initialized(served(registry(root.path()), ServeOptions::default()), true).await;
    for (method, list) in
        [("skills/list", "skills"), ("resources/list", "resources"), ("prompts/list", "prompts")]
    {
        let (mut seen, mut cursor, mut pages) = (Vec::new(), Value::Null, 0);
        loop {
            let params = if cursor.is_null() { json!({}) } else { json!({"cursor": cursor}) };
            let page = client.result(method, params).await;
            seen.extend(page[list].as_array().unwrap().iter().map(|item| {
                item.get("uri").or_else(|| item.get("name")).unwrap().as_str().unwrap().to_owned()
            }));
            pages += 1;
            cursor = page["nextCursor"].clone();
            if cursor.is_null() {
                break;
            }
        }
        assert_eq!((pages, seen.len()), (3, 250), "{method}");
        assert!(seen.is_sorted());
    }
}

#[tokio::test]
async fn a_connection_has_a_session_and_a_single_call_has_none() {
    let root = library();
    let options = ServeOptions::default().with_session(Options::default().with_max_active(1));
    let mut client = PipeClient::initialized(served(registry(root.path()), options.clone()), false).await;
    let load = |name: &str| json!({"name": "load_skill", "arguments": {"name": name}});
    assert_eq!(client.result("tools/call", load("alpha")).await["isError"], false);
    let full = client.result("tools/call", load("beta")).await;
    assert_eq!(full["structuredContent"]["reason"], "too-many-active");
    let put_away = json!({"name": "unload_skill", "arguments": {"name": "alpha"}});
    assert_eq!(client.result("tools/call", put_away.clone()).await["isError"], false);
    assert_eq!(client.result("tools/call", load("beta")).await["isError"], false);

    let mut client = PipeClient::initialized(served(registry(root.path()), options), true).await;
    for name in ["alpha", "beta"] {
        assert_eq!(client.result("tools/call", load(name)).await["isError"], false);
    }
    assert_eq!(client.result("tools/call", put_away).await["structuredContent"]["reason"], "unknown-tool");
    let search = json!({"name": "search_skills", "arguments": {"query": "about beta"}});
    assert!(
        client.result("tools/call", search).await["content"][0]["text"].as_str().unwrap().contains("beta")
    );
}

#[tokio::test]
async fn prompts_take_arguments_and_names_are_completed() {
    let root = library();
    let text = "---\nname: greet\ndescription: Greets.\narguments: [who, how]\n---\nGreet $who ${how} $how: $ARGUMENTS\n";
    write(root.path(), "greet/SKILL.md", text);
    let mut client =
        PipeClient::initialized(served(registry(root.path()), ServeOptions::default()), false).await;
    let arguments = json!({"who": "Ada L.", "how": "kindly", "arguments": "now"});
    let got = client.result("prompts/get", json!({"name": "greet", "arguments": arguments})).await;
    let message = got["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(message.contains(r#"Greet Ada L. ${how} kindly: "Ada L." kindly now"#), "{message}");

    let unknown = json!({"name": "greet", "arguments": {"who": "Ada", "whom": "x", "where": "y"}});
    let refused = client.request("prompts/get", unknown).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    let said = refused["error"]["message"].as_str().unwrap();
    assert_eq!(said, "this prompt has no such argument: whom, where; its arguments are: who, how, arguments");

    let template = json!({"type": "ref/resource", "uri": "skill://{name}/{+path}"});
    let names = json!({"ref": template, "argument": {"name": "name", "value": "al"}});
    assert_eq!(client.result("completion/complete", names).await["completion"]["values"], json!(["alpha"]));
    let paths = json!({"ref": template, "argument": {"name": "path", "value": "ref"}, "context": {"arguments": {"name": "alpha"}}});
    let values = client.result("completion/complete", paths).await["completion"]["values"].clone();
    assert_eq!(values, json!(["references/deep/more.md"]));
}

#[tokio::test]
async fn without_tools_there_are_none() {
    let root = library();
    let options = ServeOptions::default().with_tools(false);
    let mut client = PipeClient::new(served(registry(root.path()), options), true);
    let info = client.result("server/discover", json!({})).await;
    assert!(info["capabilities"].get("tools").is_none(), "{info}");
    assert_eq!(client.error("tools/list", json!({})).await, -32601);
    assert_eq!(client.error("tools/call", json!({"name": "list_skills"})).await, -32601);
}

#[tokio::test]
async fn invalid_lines_get_an_error_and_the_pipe_stays_open() {
    let root = library();
    let mut client =
        PipeClient::initialized(served(registry(root.path()), ServeOptions::default()), false).await;
    let deep = format!("{}{}", "[".repeat(300), "]".repeat(300));
    let long =
        format!(r#"{{"jsonrpc":"2.0","id":77,"method":"ping","params":{{"x":"{}"}}}}"#, "y".repeat(1 << 20));
    for (line, code, id) in [
        ("nonsense", -32700, Value::Null),
        (deep.as_str(), -32700, Value::Null),
        ("[]", -32600, Value::Null),
        (r#"{"jsonrpc":"1.0","id":5,"method":"ping"}"#, -32600, json!(5)),
        (r#"{"hello":1}"#, -32600, Value::Null),
        (long.as_str(), -32600, json!(77)),
    ] {
        client.send(line).await;
        let response = client.next().await;
        assert_eq!((&response["error"]["code"], &response["id"]), (&json!(code), &id), "{response}");
        assert_eq!(client.request("ping", json!({})).await["result"], json!({}));
    }
}

#[tokio::test]
async fn an_unsupported_version_gives_an_error_with_the_supported_ones() {
    let root = library();
    let mut client = PipeClient::new(served(registry(root.path()), ServeOptions::default()), false);
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2099-01-01", "io.modelcontextprotocol/clientCapabilities": {}});
    let response = client.request("server/discover", json!({"_meta": meta})).await;
    assert_eq!(response["error"]["code"], -32022, "{response}");
    assert!(response["error"]["data"]["supported"].as_array().unwrap().contains(&json!("2026-07-28")));
}

#[tokio::test]
async fn a_change_is_announced_and_the_new_content_is_served() {
    let root = library();
    let mut client =
        PipeClient::initialized(served(registry(root.path()), ServeOptions::default()), false).await;
    client.result("skills/list", json!({})).await;
    let beta = json!({"uri": "skill://beta/SKILL.md"});
    client.result("resources/subscribe", beta.clone()).await;
    assert_eq!(client.error("resources/subscribe", json!({"uri": "skill://none/SKILL.md"})).await, -32602);
    skill(root.path(), "beta", "license: MIT\n");
    let notification = client.notification("notifications/resources/updated").await;
    assert_eq!(notification["params"]["uri"], beta["uri"]);
    let read = client.result("resources/read", beta.clone()).await;
    assert!(read["contents"][0]["text"].as_str().unwrap().contains("license: MIT"));
    skill(root.path(), "gamma", "");
    let gamma = json!({"uri": "skill://gamma/SKILL.md"});
    client.until("skills/get", gamma, |response| response["result"]["skill"].is_object()).await;
    std::fs::remove_dir_all(root.path().join("beta")).unwrap();
    client.until("resources/read", beta, |response| response["error"]["code"] == -32602).await;
}

#[tokio::test]
async fn a_change_of_another_file_is_announced_to_a_client_with_the_list() {
    let root = library();
    let mut client =
        PipeClient::initialized(served(registry(root.path()), ServeOptions::default()), false).await;
    let before = client.result("skills/list", json!({})).await;
    write(root.path(), "alpha/new.md", "new");
    let other = |response: &Value| response["result"]["skills"][0] != before["skills"][0];
    let after = client.until("skills/list", json!({}), other).await;
    assert_eq!(before["skills"][1], after["result"]["skills"][1]);
}

#[tokio::test]
async fn a_method_without_its_capability_is_unknown() {
    let root = library();
    let options = ServeOptions::default().with_watch(false).with_tools(false);
    let mut client = PipeClient::initialized(served(registry(root.path()), options), false).await;
    let uri = json!({"uri": "skill://alpha/SKILL.md"});
    for method in ["resources/subscribe", "resources/unsubscribe"] {
        assert_eq!(client.error(method, uri.clone()).await, -32601, "{method}");
    }
    // Not even with invalid params.
    assert_eq!(client.error("tools/call", json!({})).await, -32601);
    let named =
        json!({"ref": {"type": "ref/prompt", "name": "none"}, "argument": {"name": "a", "value": ""}});
    assert_eq!(client.error("completion/complete", named).await, -32602);
}

#[tokio::test]
async fn a_uri_expanded_from_the_template_is_valid() {
    let root = library();
    write(root.path(), "alpha/it's (1)+&.md", "plain");
    let mut client =
        PipeClient::initialized(served(registry(root.path()), ServeOptions::default()), false).await;
    for uri in ["skill://alpha/it's%20(1)+&.md", "skill://alpha/it%27s%20%281%29%2B%26.md"] {
        let read = client.result("resources/read", json!({"uri": uri})).await;
        assert_eq!(
            (&read["contents"][0]["uri"], &read["contents"][0]["text"]),
            (&json!(uri), &json!("plain"))
        );
    }
    assert_eq!(client.error("resources/read", json!({"uri": "skill://alpha/it's (1)+&.md"})).await, -32602);
}

#[tokio::test]
async fn a_subscription_gets_the_requested_notifications() {
    let root = library();
    let mut client =
        PipeClient::initialized(served(registry(root.path()), ServeOptions::default()), true).await;
    // The first read of the library is not a change.
    client.result("skills/list", json!({})).await;
    let more = "skill://alpha/references/deep/more.md";
    let wanted = json!({"notifications": {"resourcesListChanged": true, "resourceSubscriptions": [more]}, "_meta": crate::support::meta()});
    client
        .send(
            &json!({"jsonrpc": "2.0", "id": "l", "method": "subscriptions/listen", "params": wanted})
                .to_string(),
        )
        .await;
    client.notification("notifications/subscriptions/acknowledged").await;
    write(root.path(), "alpha/references/deep/more.md", "changed");
    assert_eq!(client.notification("notifications/resources/updated").await["params"]["uri"], more);
    skill(root.path(), "gamma", "");
    client.notification("notifications/resources/list_changed").await;
}

#[tokio::test]
async fn the_server_stops_reading_from_a_client_that_does_not_read() {
    let root = library();
    let pipe = served(registry(root.path()), ServeOptions::default());
    let (reader, mut writer) = tokio::io::split(pipe);
    let asked = 5000;
    let writing = tokio::spawn(async move {
        for id in 0..asked {
            let request = json!({"jsonrpc": "2.0", "id": id, "method": "skills/list", "params": {"_meta": crate::support::meta()}});
            writer.write_all(format!("{request}\n").as_bytes()).await.unwrap();
        }
        writer
    });
    // The client does not read: the responses fill the pipe, and the server stops reading.
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
    assert!(!writing.is_finished());
    let mut lines = BufReader::new(reader).lines();
    for _ in 0..asked {
        let line =
            tokio::time::timeout(crate::support::LONG, lines.next_line()).await.expect("an answer in time");
        assert!(line.unwrap().unwrap().contains("skill://alpha"));
    }
    writing.await.unwrap();
}
