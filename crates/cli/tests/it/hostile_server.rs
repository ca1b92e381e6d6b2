//! A server over skills that attack their reader answers every request, and shows no file from outside.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;

use serde_json::{Value, json};

use crate::Started;
use crate::hostile::{CANARY, Ended, FILES, NAMES, NEIGHBOUR, Tree};

/// The requests of a client about hostile skills, by every route. The first are for lists.
fn questions() -> Vec<(&'static str, Value)> {
    let mut asked = vec![
        ("skills/list", json!({})),
        ("resources/list", json!({})),
        ("prompts/list", json!({})),
        ("tools/list", json!({})),
        ("tools/call", json!({"name": "list_skills", "arguments": {}})),
        ("tools/call", json!({"name": "search_skills", "arguments": {"query": "neighbour"}})),
    ];
    for name in NAMES {
        let uri = format!("skill://{name}/SKILL.md");
        asked.push(("skills/get", json!({ "uri": uri })));
        asked.push(("resources/directory/read", json!({"uri": format!("skill://{name}")})));
        asked.push(("resources/read", json!({ "uri": uri })));
        asked.push(("tools/call", json!({"name": "load_skill", "arguments": {"name": name}})));
        let arguments = json!({"arguments": "x".repeat(100_000)});
        asked.push(("prompts/get", json!({"name": name, "arguments": arguments})));
    }
    for (name, file) in FILES {
        asked.push(("resources/read", json!({"uri": format!("skill://{name}/{file}")})));
        let arguments = json!({"name": name, "path": file});
        asked.push(("tools/call", json!({"name": "read_skill_resource", "arguments": arguments})));
    }
    asked
}

/// Checks that each request has a result or an error, and that the lists have the harmless skill.
fn answered(questions: &[(&str, Value)], answers: &[Value]) {
    assert_eq!(questions.len(), answers.len());
    for ((method, params), answer) in questions.iter().zip(answers) {
        let params: String = params.to_string().chars().take(200).collect();
        assert!(answer["result"].is_object() || answer["error"].is_object(), "{method} {params}: {answer}");
    }
    for (at, answer) in answers.iter().enumerate().take(6) {
        let (method, params) = &questions[at];
        assert!(answer.to_string().contains(NEIGHBOUR), "{method} {params}: {answer}");
    }
}

#[test]
fn a_server_on_a_pipe_answers_everything_about_hostile_skills() {
    let Some(tree) = Tree::write() else { return };
    let args = ["serve", "--in", "skills"];
    let mut child = tree.command(".", &args).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let questions = questions();
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let mut input =
        format!("{}\n", json!({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": hello}));
    input.push_str("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
    for (id, (method, params)) in questions.iter().enumerate() {
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        input.push_str(&message.to_string());
        input.push('\n');
    }
    let mut answers = vec![Value::Null; questions.len()];
    std::thread::scope(|scope| {
        let writing = scope.spawn(move || {
            stdin.write_all(input.as_bytes()).unwrap();
            stdin
        });
        let mut open: BTreeSet<usize> = (0..questions.len()).collect();
        while !open.is_empty() {
            let mut line = String::new();
            assert!(out.read_line(&mut line).unwrap() > 0, "the server has ended: {open:?} are open");
            assert!(!line.contains(CANARY), "the server has shown what is outside");
            let message: Value = serde_json::from_str(&line).unwrap();
            if let Some(id) = message["id"].as_u64().and_then(|id| usize::try_from(id).ok()) {
                open.remove(&id);
                answers[id] = message;
            }
        }
        // It ends with its input.
        drop(writing.join().unwrap());
    });
    answered(&questions, &answers);
    Ended::of(&args, &child.wait_with_output().unwrap()).ends(0);
}

/// One request without a session, on its own connection.
fn post(at: &str, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let name = params.get("name").or_else(|| params.get("uri")).and_then(Value::as_str);
    let name = name.map(|name| format!("mcp-name: {name}\r\n")).unwrap_or_default();
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\nmcp-method: {method}\r\n\
         {name}content-length: {}\r\n\r\n",
        body.len()
    );
    let mut stream = TcpStream::connect(at).unwrap();
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let answer = String::from_utf8_lossy(&answer);
    assert!(!answer.contains(CANARY), "the server has shown what is outside");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap_or_else(|_| panic!("{method}: {head}: {body}"))
}

#[test]
fn a_server_at_an_address_answers_everything_about_hostile_skills() {
    let Some(tree) = Tree::write() else { return };
    let args = ["serve", "--in", "skills", "--http", "127.0.0.1:0", "--log", "json"];
    let mut serving = Started::spawn(&mut tree.command(".", &args));
    let mut log = BufReader::new(serving.stderr.take().unwrap());
    let mut line = String::new();
    log.read_line(&mut line).unwrap();
    let url = serde_json::from_str::<Value>(&line).unwrap()["listening"].as_str().unwrap().to_owned();
    let at = url.strip_prefix("http://").and_then(|rest| rest.strip_suffix("/mcp")).unwrap();
    let questions = questions();
    let answers: Vec<Value> =
        questions.iter().map(|(method, params)| post(at, method, params.clone())).collect();
    answered(&questions, &answers);
    let id = serving.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    let mut rest = String::new();
    log.read_to_string(&mut rest).unwrap();
    assert!(!rest.contains(CANARY) && !rest.contains("panicked at"), "{rest}");
    let status = serving.wait().unwrap();
    assert_eq!(status.code(), Some(0), "{rest}");
}
