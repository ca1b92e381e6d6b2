//! Sources elsewhere that are slow, silent or change: what lies here is served all the while.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use prowess::source::{Chunk, Offer, Slice, Source};
use prowess::{Candidate, MemorySource, Registry, RelPath, Scope, SourceError};
use prowess_mcp::ServeOptions;
use serde_json::{Value, json};

use crate::support::{LONG, Lines, library, registry, served, skill};

/// A source elsewhere that answers when it is let.
struct Elsewhere {
    skills: MemorySource,
    silent: Mutex<bool>,
    spoken: Condvar,
    /// How many have found it silent.
    waiting: AtomicUsize,
    /// Whether it lists also while it is silent.
    lists: bool,
}

impl Elsewhere {
    fn new(silent: bool) -> Arc<Self> {
        Self::of(silent, false)
    }

    /// One that lists its skills at any time, and gives their files when it is let.
    fn listing(silent: bool) -> Arc<Self> {
        Self::of(silent, true)
    }

    fn of(silent: bool, lists: bool) -> Arc<Self> {
        let silent = Mutex::new(silent);
        let (skills, spoken) = (MemorySource::new("elsewhere"), Condvar::new());
        Arc::new(Self { skills, silent, spoken, waiting: AtomicUsize::new(0), lists })
    }

    fn with(self: Arc<Self>, name: &str) -> Arc<Self> {
        let text = format!("---\nname: {name}\ndescription: About {name}.\n---\nDo {name}.\n");
        self.skills.insert(name, &text, Scope::Remote);
        self
    }

    fn set_silent(&self, silent: bool) {
        *self.silent.lock().unwrap() = silent;
        self.spoken.notify_all();
    }

    fn wait(&self) {
        let silent = self.silent.lock().unwrap();
        if *silent {
            self.waiting.fetch_add(1, Ordering::SeqCst);
        }
        drop(self.spoken.wait_while(silent, |silent| *silent).unwrap());
    }

    /// Waits until a request has arrived that is not answered.
    async fn asked_in_vain(&self) {
        let deadline = Instant::now() + LONG;
        while self.waiting.load(Ordering::SeqCst) == 0 {
            assert!(Instant::now() < deadline, "no request arrives");
            tokio::task::yield_now().await;
        }
    }
}

/// Lets a source speak in the end, also when a test fails: no thread may be left waiting.
struct Speak(Arc<Elsewhere>);

impl Drop for Speak {
    fn drop(&mut self) {
        self.0.set_silent(false);
    }
}

impl Source for Elsewhere {
    fn id(&self) -> &'static str {
        "elsewhere"
    }

    fn is_far(&self) -> bool {
        true
    }

    fn list(&self) -> Result<Offer, SourceError> {
        if !self.lists {
            self.wait();
        }
        self.skills.list()
    }

    fn read(&self, skill: &Candidate, path: &RelPath, slice: Slice) -> Result<Chunk, SourceError> {
        self.wait();
        self.skills.read(skill, path, slice)
    }
}

fn both(root: &std::path::Path, far: &Arc<Elsewhere>) -> Registry {
    let mut registry = registry(root);
    registry.add(prowess::source::Layer::shared(Arc::clone(far) as Arc<dyn Source>));
    registry
}

#[tokio::test]
async fn what_lies_here_is_served_while_a_server_says_nothing_and_the_rest_comes_later() {
    let (root, far) = (library(), Elsewhere::new(true).with("remote"));
    let _speak = Speak(Arc::clone(&far));
    let mut client = Lines::begun(served(both(root.path(), &far), ServeOptions::default()), false).await;
    let listed = client.result("skills/list", json!({})).await.to_string();
    assert!(listed.contains("skill://alpha") && !listed.contains("skill://remote"), "{listed}");
    far.set_silent(false);
    let there = |answer: &Value| answer.to_string().contains("skill://remote");
    let listed = client.until("skills/list", json!({}), there).await.to_string();
    assert!(listed.contains("skill://alpha"), "{listed}");
}

#[tokio::test]
async fn a_server_that_does_not_answer_takes_no_place_of_what_lies_here() {
    let (root, far) = (library(), Elsewhere::new(false).with("remote"));
    let _speak = Speak(Arc::clone(&far));
    let mut client = Lines::begun(served(both(root.path(), &far), ServeOptions::default()), false).await;
    assert!(
        client.result("skills/get", json!({"uri": "skill://remote/SKILL.md"})).await["skill"].is_object()
    );
    far.set_silent(true);
    let call = json!({"name": "load_skill", "arguments": {"name": "remote"}});
    for id in 100..112 {
        let ask = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call});
        client.send(&ask.to_string()).await;
    }
    let loaded =
        client.result("tools/call", json!({"name": "load_skill", "arguments": {"name": "alpha"}})).await;
    assert_eq!(loaded["isError"], false);
    let read = client.result("resources/read", json!({"uri": "skill://alpha/SKILL.md"})).await;
    assert!(read["contents"][0]["text"].is_string());
    far.set_silent(false);
    let mut answered = 0;
    while answered < 12 {
        let answer = client.next().await;
        answered += u32::from(answer["id"].is_u64());
    }
}

#[tokio::test]
async fn a_server_is_asked_again() {
    let (root, far) = (library(), Elsewhere::new(false));
    let options = ServeOptions { ask_again: Duration::from_millis(20), ..ServeOptions::default() };
    let mut client = Lines::begun(served(both(root.path(), &far), options), false).await;
    assert!(!client.result("skills/list", json!({})).await.to_string().contains("skill://late"));
    let far = far.with("late");
    client.until("skills/list", json!({}), |answer| answer.to_string().contains("skill://late")).await;
    drop(far);
}

#[tokio::test]
async fn a_list_waits_for_no_file_from_elsewhere() {
    let (root, far) = (library(), Elsewhere::listing(true).with("remote"));
    let _speak = Speak(Arc::clone(&far));
    let mut client = Lines::begun(served(both(root.path(), &far), ServeOptions::default()), false).await;
    for method in ["skills/list", "resources/list"] {
        let listed = client.result(method, json!({})).await.to_string();
        assert!(listed.contains("skill://alpha") && !listed.contains("skill://remote"), "{listed}");
    }
    far.set_silent(false);
    client.until("skills/list", json!({}), |answer| answer.to_string().contains("skill://remote")).await;
}

#[tokio::test]
async fn a_source_that_does_not_answer_takes_no_place_of_another() {
    let (root, slow, quick) =
        (library(), Elsewhere::listing(false).with("slow"), Elsewhere::listing(false).with("quick"));
    let _speak = Speak(Arc::clone(&slow));
    let mut registry = both(root.path(), &slow);
    registry.add(prowess::source::Layer::shared(Arc::clone(&quick) as Arc<dyn Source>));
    let mut client = Lines::begun(served(registry, ServeOptions::default()), false).await;
    for name in ["slow", "quick"] {
        let uri = json!({"uri": format!("skill://{name}/SKILL.md")});
        while !client.ask("skills/get", uri.clone()).await["error"].is_null() {}
    }
    slow.set_silent(true);
    let load = |name: &str| json!({"name": "load_skill", "arguments": {"name": name}});
    for id in 100..112 {
        let ask = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": load("slow")});
        client.send(&ask.to_string()).await;
    }
    assert_eq!(client.result("tools/call", load("quick")).await["isError"], false);
    slow.set_silent(false);
    let mut answered = 0;
    while answered < 12 {
        answered += u32::from(client.next().await["id"].is_u64());
    }
}

/// Waits until a skill is on the list.
async fn listed(client: &mut Lines, uri: &str) {
    let deadline = Instant::now() + LONG;
    while !client.result("skills/list", json!({})).await.to_string().contains(uri) {
        assert!(Instant::now() < deadline, "{uri} is not listed");
    }
}

/// Sends twelve calls that load a skill, and does not wait for their answers.
async fn load_twelve_times(client: &mut Lines, arguments: Value) {
    let load = json!({"name": "load_skill", "arguments": arguments});
    for id in 100..112 {
        let ask = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": load});
        client.send(&ask.to_string()).await;
    }
}

#[tokio::test]
async fn a_remote_skill_that_is_loaded_by_its_bare_name_takes_no_local_place() {
    let (root, far) = (library(), Elsewhere::listing(false).with("remote").with("beta"));
    let _speak = Speak(Arc::clone(&far));
    let mut registry = registry(root.path());
    let layer = prowess::source::Layer::shared(Arc::clone(&far) as Arc<dyn Source>);
    registry.add(layer.with_prefix("label"));
    let mut client = Lines::begun(served(registry, ServeOptions::default()), false).await;
    listed(&mut client, "skill://_label/remote").await;
    far.set_silent(true);
    // Spaces do not count in an argument.
    load_twelve_times(&mut client, json!({"name": " remote "})).await;
    client.result("tools/list", json!({})).await;
    // A key means its own skill, also when another skill has the name.
    for name in ["alpha", "beta"] {
        let load = json!({"name": "load_skill", "arguments": {"name": name}});
        assert_eq!(client.result("tools/call", load).await["isError"], false);
    }
    far.set_silent(false);
    let mut answered = 0;
    while answered < 12 {
        answered += u32::from(client.next().await["id"].is_u64());
    }
}

#[tokio::test]
async fn a_local_change_is_told_while_a_remote_file_is_fetched() {
    let (root, far) = (library(), Elsewhere::listing(true).with("remote"));
    let _speak = Speak(Arc::clone(&far));
    let mut client = Lines::begun(served(both(root.path(), &far), ServeOptions::default()), false).await;
    client.result("skills/list", json!({})).await;
    far.asked_in_vain().await;
    skill(root.path(), "fresh", "");
    let there = |answer: &Value| answer.to_string().contains("skill://fresh");
    let listed = client.until("skills/list", json!({}), there).await.to_string();
    assert!(!listed.contains("skill://remote"), "{listed}");
    // What was fetched for the state before counts in the state of now.
    far.set_silent(false);
    client.until("skills/list", json!({}), |answer| answer.to_string().contains("skill://remote")).await;
}

#[tokio::test]
async fn skills_of_one_site_are_listed_while_another_says_nothing() {
    let (root, slow, quick) = (library(), Elsewhere::listing(true), Elsewhere::listing(false).with("zeta"));
    let slow = ["a-1", "a-2", "a-3", "a-4", "a-5"].into_iter().fold(slow, Elsewhere::with);
    let _speak = Speak(Arc::clone(&slow));
    let mut registry = both(root.path(), &slow);
    registry.add(prowess::source::Layer::shared(Arc::clone(&quick) as Arc<dyn Source>));
    let mut client = Lines::begun(served(registry, ServeOptions::default()), false).await;
    listed(&mut client, "skill://zeta").await;
    assert!(client.result("resources/list", json!({})).await.to_string().contains("skill://zeta"));
}

#[tokio::test]
async fn a_request_with_the_id_of_an_open_one_is_refused_and_the_open_one_is_answered() {
    let (root, far) = (library(), Elsewhere::listing(false).with("remote"));
    let _speak = Speak(Arc::clone(&far));
    let mut client = Lines::begun(served(both(root.path(), &far), ServeOptions::default()), false).await;
    listed(&mut client, "skill://remote").await;
    far.set_silent(true);
    let call = json!({"name": "load_skill", "arguments": {"name": "remote"}});
    for (method, params) in [("tools/call", call), ("tools/list", json!({}))] {
        let ask = json!({"jsonrpc": "2.0", "id": 100, "method": method, "params": params});
        client.send(&ask.to_string()).await;
    }
    let refused = client.answer(100).await;
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    assert!(refused["error"]["message"].as_str().unwrap().contains("this id"), "{refused}");
    far.set_silent(false);
    let answer = client.answer(100).await;
    assert!(answer["result"]["content"].to_string().contains("Do remote."), "{answer}");
    // The id is free again.
    let ask = json!({"jsonrpc": "2.0", "id": 100, "method": "tools/list"});
    client.send(&ask.to_string()).await;
    assert!(client.answer(100).await["result"]["tools"].is_array());
}
