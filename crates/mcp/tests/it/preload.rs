//! Preloaded skills, and prompts that are too long.

use prowess::{DirSource, Layer, Registry, ScanOptions};
use prowess_mcp::ServeOptions;
use serde_json::json;

use crate::support::{PipeClient, served, skill, write};

fn preloaded(root: &std::path::Path) -> Registry {
    let mut registry = Registry::new();
    registry
        .add(Layer::from(DirSource::new(root.join("first"), ScanOptions::unbounded())).with_preload(true));
    registry.add(DirSource::new(root.join("others"), ScanOptions::unbounded()));
    registry
}

#[tokio::test]
async fn preloaded_skills_are_active_from_the_start_of_every_connection() {
    let root = tempfile::tempdir().unwrap();
    skill(&root.path().join("first"), "house-style", "");
    write(root.path(), "first/house-style/references/more.md", "more");
    skill(&root.path().join("others"), "beta", "");
    let mut client = PipeClient::new(served(preloaded(root.path()), ServeOptions::default()), false);
    let hello = json!({
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    });
    let response = client.result("initialize", hello).await;
    let said = response["instructions"].as_str().unwrap();
    assert!(said.contains("Do house-style.") && !said.contains("Do beta."), "{said}");
    client.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    let put_away = client
        .result("tools/call", json!({"name": "unload_skill", "arguments": {"name": "house-style"}}))
        .await;
    assert_eq!(put_away["structuredContent"]["skill"], "house-style", "{put_away}");
    // Without sessions, the text is in what the server says of itself.
    let mut client = PipeClient::new(served(preloaded(root.path()), ServeOptions::default()), true);
    let response = client.result("server/discover", json!({})).await;
    assert!(response["instructions"].as_str().unwrap().contains("Do house-style."), "{response}");
}

#[tokio::test]
async fn a_prompt_whose_arguments_would_expand_to_gigabytes_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let body = "$ARGUMENTS".repeat(99_000);
    write(root.path(), "bomb/SKILL.md", format!("---\nname: bomb\ndescription: d\n---\n{body}\n"));
    skill(root.path(), "alpha", "");
    for sessionless in [false, true] {
        let registry = crate::support::registry(root.path());
        let mut client =
            PipeClient::initialized(served(registry, ServeOptions::default()), sessionless).await;
        let long = json!({"name": "bomb", "arguments": {"arguments": "x".repeat(100_000)}});
        assert_eq!(client.error("prompts/get", long).await, -32602);
        let short = json!({"name": "alpha", "arguments": {"arguments": "x"}});
        assert!(client.result("prompts/get", short).await.to_string().contains("Do alpha."));
    }
}
