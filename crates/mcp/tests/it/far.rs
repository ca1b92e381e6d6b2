//! Sources elsewhere that are slow, silent or change: what lies here is served all the while.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use prowess::source::{Chunk, Offer, Slice, Source};
use prowess::{Candidate, MemorySource, Registry, RelPath, Scope, SourceError};
use prowess_mcp::ServeOptions;
use serde_json::{Value, json};

use crate::support::{Lines, library, registry, served};

/// A source elsewhere that answers when it is let.
struct Elsewhere {
    skills: MemorySource,
    silent: Mutex<bool>,
    spoken: Condvar,
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
        Arc::new(Self { skills: MemorySource::new("elsewhere"), silent, spoken: Condvar::new(), lists })
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
        drop(self.spoken.wait_while(self.silent.lock().unwrap(), |silent| *silent).unwrap());
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
