//! Remote sources that are slow or change: local skills are served in the meantime.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use prowess::source::{Chunk, Listing, Slice, Source, SourceTraits};
use prowess::{MemorySource, Registry, RelPath, Scope, SourceError, SourceSkill};
use prowess_mcp::ServeOptions;
use prowess_testing::allocated;
use serde_json::{Value, json};

use crate::support::{LONG, PipeClient, library, registry, served, skill};

/// A remote source that can be blocked.
struct BlockingSource {
    skills: MemorySource,
    blocked: Mutex<bool>,
    unblocked: Condvar,
    /// The number of blocked calls.
    waiting: AtomicUsize,
    /// Whether it can be listed while it is blocked.
    lists: bool,
}

impl BlockingSource {
    fn new(blocked: bool) -> Arc<Self> {
        Self::of(blocked, false)
    }

    /// A source that can be listed at any time, and whose reads can be blocked.
    fn listing(blocked: bool) -> Arc<Self> {
        Self::of(blocked, true)
    }

    fn of(blocked: bool, lists: bool) -> Arc<Self> {
        let blocked = Mutex::new(blocked);
        let (skills, unblocked) = (MemorySource::new("elsewhere"), Condvar::new());
        Arc::new(Self { skills, blocked, unblocked, waiting: AtomicUsize::new(0), lists })
    }

    fn with(self: Arc<Self>, name: &str) -> Arc<Self> {
        let text = format!("---\nname: {name}\ndescription: About {name}.\n---\nDo {name}.\n");
        self.skills.insert(name, &text, Scope::Remote);
        self
    }

    fn set_blocked(&self, blocked: bool) {
        *self.blocked.lock().unwrap() = blocked;
        self.unblocked.notify_all();
    }

    fn wait(&self) {
        let blocked = self.blocked.lock().unwrap();
        if *blocked {
            self.waiting.fetch_add(1, Ordering::SeqCst);
        }
        drop(self.unblocked.wait_while(blocked, |blocked| *blocked).unwrap());
    }

    /// Waits until a call is blocked.
    async fn request_blocked(&self) {
        let deadline = Instant::now() + LONG;
        while self.waiting.load(Ordering::SeqCst) == 0 {
            assert!(Instant::now() < deadline, "no request arrives");
            tokio::task::yield_now().await;
        }
    }
}

/// Unblocks a source when dropped, also when a test fails, so that no thread stays blocked.
struct Unblock(Arc<BlockingSource>);

impl Drop for Unblock {
    fn drop(&mut self) {
        self.0.set_blocked(false);
    }
}

impl Source for BlockingSource {
    fn id(&self) -> &'static str {
        "elsewhere"
    }

    fn traits(&self) -> SourceTraits {
        SourceTraits::remote()
    }

    fn list(&self) -> Result<Listing, SourceError> {
        if !self.lists {
            self.wait();
        }
        self.skills.list()
    }

    fn read(&self, skill: SourceSkill<'_>, path: &RelPath, slice: Slice) -> Result<Chunk, SourceError> {
        self.wait();
        self.skills.read(skill, path, slice)
    }
}

fn both(root: &std::path::Path, remote: &Arc<BlockingSource>) -> Registry {
    let mut registry = registry(root);
    registry.add(prowess::source::Layer::shared(Arc::clone(remote) as Arc<dyn Source>));
    registry
}

#[tokio::test]
async fn local_skills_are_served_while_a_remote_source_blocks_and_the_rest_follows() {
    let (root, remote) = (library(), BlockingSource::new(true).with("remote"));
    let _unblock = Unblock(Arc::clone(&remote));
    let mut client =
        PipeClient::initialized(served(both(root.path(), &remote), ServeOptions::default()), false).await;
    let listed = client.result("skills/list", json!({})).await.to_string();
    assert!(listed.contains("skill://alpha") && !listed.contains("skill://remote"), "{listed}");
    remote.set_blocked(false);
    let there = |response: &Value| response.to_string().contains("skill://remote");
    let listed = client.until("skills/list", json!({}), there).await.to_string();
    assert!(listed.contains("skill://alpha"), "{listed}");
}

#[tokio::test]
async fn a_blocked_remote_source_takes_no_permit_of_local_skills() {
    let (root, remote) = (library(), BlockingSource::new(false).with("remote"));
    let _unblock = Unblock(Arc::clone(&remote));
    let mut client =
        PipeClient::initialized(served(both(root.path(), &remote), ServeOptions::default()), false).await;
    let there = |response: &Value| response.to_string().contains("skill://remote");
    client.until("skills/list", json!({}), there).await;
    assert!(
        client.result("skills/get", json!({"uri": "skill://remote/SKILL.md"})).await["skill"].is_object()
    );
    remote.set_blocked(true);
    let call = json!({"name": "load_skill", "arguments": {"name": "remote"}});
    for id in 100..112 {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call});
        client.send(&request.to_string()).await;
    }
    let loaded =
        client.result("tools/call", json!({"name": "load_skill", "arguments": {"name": "alpha"}})).await;
    assert_eq!(loaded["isError"], false);
    let read = client.result("resources/read", json!({"uri": "skill://alpha/SKILL.md"})).await;
    assert!(read["contents"][0]["text"].is_string());
    remote.set_blocked(false);
    let mut answered = 0;
    while answered < 12 {
        let response = client.next().await;
        answered += u32::from(response["id"].is_u64());
    }
}

#[tokio::test]
async fn a_remote_source_is_polled_again() {
    let (root, remote) = (library(), BlockingSource::new(false));
    let options = ServeOptions::default().with_ask_again(Duration::from_millis(20));
    let mut client = PipeClient::initialized(served(both(root.path(), &remote), options), false).await;
    assert!(!client.result("skills/list", json!({})).await.to_string().contains("skill://late"));
    let remote = remote.with("late");
    client.until("skills/list", json!({}), |response| response.to_string().contains("skill://late")).await;
    drop(remote);
}

#[tokio::test]
async fn a_list_does_not_wait_for_remote_files() {
    let (root, remote) = (library(), BlockingSource::listing(true).with("remote"));
    let _unblock = Unblock(Arc::clone(&remote));
    let mut client =
        PipeClient::initialized(served(both(root.path(), &remote), ServeOptions::default()), false).await;
    for method in ["skills/list", "resources/list"] {
        let listed = client.result(method, json!({})).await.to_string();
        assert!(listed.contains("skill://alpha") && !listed.contains("skill://remote"), "{listed}");
    }
    remote.set_blocked(false);
    client.until("skills/list", json!({}), |response| response.to_string().contains("skill://remote")).await;
}

#[tokio::test]
async fn a_blocked_source_takes_no_permit_of_another() {
    let (root, slow, quick) = (
        library(),
        BlockingSource::listing(false).with("slow"),
        BlockingSource::listing(false).with("quick"),
    );
    let _unblock = Unblock(Arc::clone(&slow));
    let mut registry = both(root.path(), &slow);
    registry.add(prowess::source::Layer::shared(Arc::clone(&quick) as Arc<dyn Source>));
    let mut client = PipeClient::initialized(served(registry, ServeOptions::default()), false).await;
    for name in ["slow", "quick"] {
        let uri = json!({"uri": format!("skill://{name}/SKILL.md")});
        while !client.request("skills/get", uri.clone()).await["error"].is_null() {}
    }
    slow.set_blocked(true);
    let load = |name: &str| json!({"name": "load_skill", "arguments": {"name": name}});
    for id in 100..112 {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": load("slow")});
        client.send(&request.to_string()).await;
    }
    assert_eq!(client.result("tools/call", load("quick")).await["isError"], false);
    slow.set_blocked(false);
    let mut answered = 0;
    while answered < 12 {
        answered += u32::from(client.next().await["id"].is_u64());
    }
}

/// Waits until a skill is on the list.
async fn listed(client: &mut PipeClient, uri: &str) {
    let deadline = Instant::now() + LONG;
    while !client.result("skills/list", json!({})).await.to_string().contains(uri) {
        assert!(Instant::now() < deadline, "{uri} is not listed");
    }
}

/// Sends twelve calls that load a skill, without waiting for the responses.
async fn load_twelve_times(client: &mut PipeClient, arguments: Value) {
    let load = json!({"name": "load_skill", "arguments": arguments});
    for id in 100..112 {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": load});
        client.send(&request.to_string()).await;
    }
}

#[tokio::test]
async fn a_remote_skill_that_is_loaded_by_its_bare_name_takes_no_local_permit() {
    let (root, remote) = (library(), BlockingSource::listing(false).with("remote").with("beta"));
    let _unblock = Unblock(Arc::clone(&remote));
    let mut registry = registry(root.path());
    let layer = prowess::source::Layer::shared(Arc::clone(&remote) as Arc<dyn Source>);
    registry.add(layer.with_prefix("label"));
    let mut client = PipeClient::initialized(served(registry, ServeOptions::default()), false).await;
    listed(&mut client, "skill://_label/remote").await;
    remote.set_blocked(true);
    // Spaces around an argument are ignored.
    load_twelve_times(&mut client, json!({"name": " remote "})).await;
    client.result("tools/list", json!({})).await;
    // A key means its own skill, also when another skill has the name.
    for name in ["alpha", "beta"] {
        let load = json!({"name": "load_skill", "arguments": {"name": name}});
        assert_eq!(client.result("tools/call", load).await["isError"], false);
    }
    remote.set_blocked(false);
    let mut answered = 0;
    while answered < 12 {
        answered += u32::from(client.next().await["id"].is_u64());
    }
}

#[tokio::test]
async fn a_local_change_is_announced_while_a_remote_file_is_fetched() {
    let (root, remote) = (library(), BlockingSource::listing(true).with("remote"));
    let _unblock = Unblock(Arc::clone(&remote));
    let mut client =
        PipeClient::initialized(served(both(root.path(), &remote), ServeOptions::default()), false).await;
    client.result("skills/list", json!({})).await;
    remote.request_blocked().await;
    skill(root.path(), "fresh", "");
    let there = |response: &Value| response.to_string().contains("skill://fresh");
    let listed = client.until("skills/list", json!({}), there).await.to_string();
    assert!(!listed.contains("skill://remote"), "{listed}");
    // Files that were fetched for the old snapshot count in the new one.
    remote.set_blocked(false);
    client.until("skills/list", json!({}), |response| response.to_string().contains("skill://remote")).await;
}

#[tokio::test]
async fn skills_of_one_site_are_listed_while_another_blocks() {
    let (root, slow, quick) =
        (library(), BlockingSource::listing(true), BlockingSource::listing(false).with("zeta"));
    let slow = ["a-1", "a-2", "a-3", "a-4", "a-5"].into_iter().fold(slow, BlockingSource::with);
    let _unblock = Unblock(Arc::clone(&slow));
    let mut registry = both(root.path(), &slow);
    registry.add(prowess::source::Layer::shared(Arc::clone(&quick) as Arc<dyn Source>));
    let mut client = PipeClient::initialized(served(registry, ServeOptions::default()), false).await;
    listed(&mut client, "skill://zeta").await;
    assert!(client.result("resources/list", json!({})).await.to_string().contains("skill://zeta"));
}

#[tokio::test]
async fn a_request_with_the_id_of_an_open_one_is_refused_and_the_open_one_gets_its_response() {
    let (root, remote) = (library(), BlockingSource::listing(false).with("remote"));
    let _unblock = Unblock(Arc::clone(&remote));
    let mut client =
        PipeClient::initialized(served(both(root.path(), &remote), ServeOptions::default()), false).await;
    listed(&mut client, "skill://remote").await;
    remote.set_blocked(true);
    let call = json!({"name": "load_skill", "arguments": {"name": "remote"}});
    for (method, params) in [("tools/call", call), ("tools/list", json!({}))] {
        let request = json!({"jsonrpc": "2.0", "id": 100, "method": method, "params": params});
        client.send(&request.to_string()).await;
    }
    let refused = client.response(100).await;
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    assert!(refused["error"]["message"].as_str().unwrap().contains("this id"), "{refused}");
    remote.set_blocked(false);
    let response = client.response(100).await;
    assert!(response["result"]["content"].to_string().contains("Do remote."), "{response}");
    // The id is free again.
    let request = json!({"jsonrpc": "2.0", "id": 100, "method": "tools/list"});
    client.send(&request.to_string()).await;
    assert!(client.response(100).await["result"]["tools"].is_array());
}

#[test]
fn a_name_is_compared_with_all_skills_on_no_async_thread() {
    // All tasks of the runtime run on this thread, whose allocations are counted, and blocking work on others.
    let allocated_for = |skills: usize, method: &str, params: &Value| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let many = MemorySource::new("many");
        for number in 0..skills {
            let text = format!("---\nname: skill-{number:04}\ndescription: d\n---\nDo it.\n");
            many.insert(format!("skill-{number:04}"), &text, Scope::User);
        }
        let mut registry = Registry::new();
        registry.add(many);
        registry.add(prowess::source::Layer::shared(BlockingSource::new(false).with("remote")));
        let options = ServeOptions::default().with_watch(false);
        let mut client = runtime.block_on(async {
            let mut client = PipeClient::initialized(served(registry, options), false).await;
            listed(&mut client, "skill://remote").await;
            client
        });
        let mut ask = || runtime.block_on(client.request(method, params.clone()));
        // What is made at the first use is made in the first, and queues get room for many messages in some of them.
        let counted = std::iter::repeat_with(|| {
            let (response, counted) = allocated(&mut ask);
            assert!(response.to_string().contains("no such"), "{response}");
            counted.total
        });
        counted.take(8).min().unwrap()
    };
    let load = json!({"name": "load_skill", "arguments": {"name": "\"none"}});
    for (method, params) in [("prompts/get", json!({"name": "\"none"})), ("tools/call", load)] {
        let (few, many) = (allocated_for(10, method, &params), allocated_for(5000, method, &params));
        assert!(many < few + 10_000, "{method}: {few} and {many} bytes");
    }
}
