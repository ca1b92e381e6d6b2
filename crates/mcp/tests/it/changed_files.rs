//! Files that change while the server does not watch.

use std::os::unix::fs::symlink;
use std::sync::Arc;

use prowess::registry::digests::DigestLimits;
use prowess::source::{Chunk, Layer, Listing, Slice, Source};
use prowess::{Manifest, MemorySource, Registry, RelPath, Scope, SourceError, SourceSkill};
use prowess_mcp::ServeOptions;
use serde_json::{Value, json};

use crate::support::{LONG, PipeClient, library, registry, served, write};

const KEY: &str = "PRIVATE-KEY";

fn everything(name: &str) -> [(&'static str, Value); 5] {
    let uri = format!("skill://{name}/SKILL.md");
    [
        ("resources/read", json!({ "uri": uri })),
        ("skills/get", json!({ "uri": uri })),
        ("prompts/get", json!({"name": name})),
        ("tools/call", json!({"name": "load_skill", "arguments": {"name": name}})),
        (
            "tools/call",
            json!({"name": "read_skill_resource", "arguments": {"name": name, "path": "SKILL.md"}}),
        ),
    ]
}

#[tokio::test]
async fn a_file_that_became_a_link_to_a_key_is_not_served_by_any_route() {
    let outside = tempfile::tempdir().unwrap();
    write(outside.path(), "key", format!("---\nname: alpha\ndescription: {KEY}\n---\n{KEY}\n"));
    for sessionless in [false, true] {
        let root = library();
        let options = ServeOptions::default().with_watch(false);
        let mut client = PipeClient::initialized(served(registry(root.path()), options), sessionless).await;
        for (method, params) in everything("alpha") {
            client.result(method, params).await;
        }
        for file in ["alpha/SKILL.md", "alpha/references/deep/more.md"] {
            std::fs::remove_file(root.path().join(file)).unwrap();
            symlink(outside.path().join("key"), root.path().join(file)).unwrap();
        }
        let deep = json!({"uri": "skill://alpha/references/deep/more.md"});
        let read = json!({"name": "alpha", "path": "references/deep/more.md"});
        let more = [
            ("resources/read", deep),
            ("tools/call", json!({"name": "read_skill_resource", "arguments": read})),
        ];
        for (method, params) in everything("alpha").into_iter().chain(more) {
            let response = client.request(method, params).await.to_string();
            assert!(!response.contains(KEY), "{method}: {response}");
        }
        client.result("resources/read", json!({"uri": "skill://beta/SKILL.md"})).await;
    }
}

#[tokio::test]
async fn the_content_of_a_file_matches_its_listed_digest() {
    let root = library();
    let options = ServeOptions::default().with_watch(false);
    let mut client = PipeClient::initialized(served(registry(root.path()), options), true).await;
    let skill = json!({"uri": "skill://alpha/SKILL.md"});
    let deadline = std::time::Instant::now() + LONG;
    let (mut round, mut given) = (0, 0);
    // A read between two inspections may fail, but not each one.
    while round < 20 || given < 5 {
        assert!(std::time::Instant::now() < deadline, "{given} of {round} reads were answered");
        round += 1;
        // Longer and shorter, and read while the last inspection is still fresh.
        let text = "x".repeat(if round % 2 == 0 { 10 } else { 5000 });
        write(root.path(), "alpha/references/deep/more.md", &text);
        let read =
            client.request("resources/read", json!({"uri": "skill://alpha/references/deep/more.md"})).await;
        let listed = client.result("skills/get", skill.clone()).await["skill"].to_string();
        if let Some(read) = read["result"]["contents"][0]["text"].as_str() {
            assert_eq!(read, text);
            assert!(
                listed.contains(&prowess::registry::digests::of_bytes(read.as_bytes()).to_string()),
                "{listed}"
            );
            given += 1;
        }
    }
}

/// A source whose cached digests are wrong.
struct StaleDigests(MemorySource);

impl Source for StaleDigests {
    fn id(&self) -> &str {
        self.0.id()
    }

    fn list(&self) -> Result<Listing, SourceError> {
        self.0.list()
    }

    fn manifest(&self, skill: SourceSkill<'_>, within: &DigestLimits) -> Result<Manifest, SourceError> {
        let mut files = self.0.manifest(skill, within)?;
        for file in files.files.iter_mut().filter(|_| within.remembered) {
            file.digest = Some(prowess::registry::digests::of_bytes(b"something else"));
        }
        Ok(files)
    }

    fn read(&self, skill: SourceSkill<'_>, path: &RelPath, slice: Slice) -> Result<Chunk, SourceError> {
        self.0.read(skill, path, slice)
    }
}

#[tokio::test]
async fn a_file_whose_cached_digest_is_wrong_is_served() {
    let source = MemorySource::new("memory");
    source.insert("gamma", "---\nname: gamma\ndescription: Does gamma.\n---\n", Scope::User);
    source.insert_file("gamma", RelPath::parse("note.md").unwrap(), "note");
    let mut registry = Registry::new();
    registry.add(Layer::shared(Arc::new(StaleDigests(source))));
    let mut client = PipeClient::initialized(served(registry, ServeOptions::default()), true).await;
    for file in ["SKILL.md", "note.md"] {
        let uri = format!("skill://gamma/{file}");
        let read = client.result("resources/read", json!({ "uri": uri })).await;
        assert!(read["contents"][0]["text"].is_string(), "{read}");
    }
}
