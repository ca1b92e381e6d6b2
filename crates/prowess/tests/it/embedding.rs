//! What a host writes is what it gets: approvals are asked for, and what cannot work is an error.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use prowess::registry::trust::{Approvals, Trust};
use prowess::select::{Hit, Query, SelectError, Selector};
use prowess::session::{CatalogChange, Effect, Options, Policy, Session, Step, Tool, ToolCall, Untrusted};
use prowess::source::{Chunk, Layer, Listing, Slice, SourceTraits};
use prowess::{
    DirSource, Entry, MemorySource, Obstacle, Registry, RelPath, ScanOptions, Scope, Skill, Skills,
    SkillsBuilder, Source, SourceError, SourceSkill, SourceSpec,
};
use serde_json::json;
use tempfile::TempDir;

use crate::trees::{skill, tree, write};

/// A builder over one skill, `a`, whose layer requires approval, and what counts the questions.
fn required(folder: &TempDir, answer: bool) -> (SkillsBuilder, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let layer =
        Layer::from(DirSource::new(folder.path(), ScanOptions::default())).with_approval_required(true);
    let builder = Skills::builder().with_layer(layer).with_approval(move |_, _| {
        count.fetch_add(1, Ordering::Relaxed);
        answer
    });
    (builder, asked)
}

#[test]
fn a_layer_that_requires_approval_needs_one_though_no_trust_is_set() {
    let folder = tree(&[("a/SKILL.md", &skill("a"))]);
    let asking = Policy::default().with_untrusted(Untrusted::Ask);
    for answer in [false, true] {
        let (builder, asked) = required(&folder, answer);
        let skills = builder.with_policy(asking.clone()).build().unwrap();
        assert_eq!(skills.registry().get("a").unwrap().obstacle, Some(Obstacle::Untrusted));
        let mut chat = skills.chat("chat-1");
        assert_eq!(chat.activate("a", "").is_ok(), answer);
        assert_eq!((chat.active().len(), asked.load(Ordering::Relaxed)), (usize::from(answer), 1));
    }

    // Without a policy that asks, the skill is hidden.
    let (builder, asked) = required(&folder, true);
    let skills = builder.build().unwrap();
    let mut chat = skills.chat("chat-2");
    assert_eq!(chat.prompt().unwrap(), "");
    assert!(!chat.activate("a", "").is_ok());
    assert_eq!(asked.load(Ordering::Relaxed), 0);

    // Only a host that trusts everything, and says so, uses it without an approval.
    let (builder, asked) = required(&folder, false);
    let skills = builder.with_trust(Trust::everything()).build().unwrap();
    assert!(skills.chat("chat-3").activate("a", "").is_ok());
    assert_eq!(asked.load(Ordering::Relaxed), 0);
}

/// A source whose `list` or `read` runs code of the test.
struct Using {
    skills: MemorySource,
    traits: SourceTraits,
    on_list: Box<dyn Fn() + Send + Sync>,
    on_read: Box<dyn Fn() + Send + Sync>,
}

impl Source for Using {
    fn id(&self) -> &'static str {
        "using"
    }

    fn list(&self) -> Result<Listing, SourceError> {
        (self.on_list)();
        self.skills.list()
    }

    fn read(&self, skill: SourceSkill<'_>, path: &RelPath, slice: Slice) -> Result<Chunk, SourceError> {
        (self.on_read)();
        self.skills.read(skill, path, slice)
    }

    fn traits(&self) -> SourceTraits {
        self.traits.clone()
    }
}

/// Skills with such a source, once built, and what the code of the source was told.
type Told = Arc<Mutex<Vec<String>>>;

fn using(traits: SourceTraits, lists: bool, act: fn(&Skills) -> String) -> (Skills, Told) {
    let (shared, told): (Arc<OnceLock<Skills>>, Told) = Default::default();
    let run: Arc<dyn Fn() + Send + Sync> = {
        let (shared, told) = (Arc::clone(&shared), Arc::clone(&told));
        Arc::new(move || {
            if let Some(skills) = shared.get() {
                let heard = act(skills);
                told.lock().unwrap().push(heard);
            }
        })
    };
    let when = |on: bool| -> Box<dyn Fn() + Send + Sync> {
        let run = Arc::clone(&run);
        Box::new(move || {
            if on {
                run();
            }
        })
    };
    let source =
        Using { skills: MemorySource::new("using"), traits, on_list: when(lists), on_read: when(!lists) };
    source.skills.insert("a", skill("a"), Scope::Explicit);
    let skills = Skills::builder().with_layer(source).build().unwrap();
    shared.set(skills.clone()).unwrap();
    (skills, told)
}

#[test]
fn a_source_that_refreshes_its_own_skills_gets_an_error_and_does_not_wait_for_itself() {
    let refresh = |skills: &Skills| skills.refresh().unwrap_err().to_string();
    let unregister = |skills: &Skills| skills.registry().unregister("a").unwrap_err().to_string();
    for act in [refresh, unregister] {
        for traits in [SourceTraits::default(), SourceTraits::remote(), SourceTraits::calling_thread()] {
            let (skills, told) = using(traits, true, act);
            skills.refresh().unwrap();
            let nested = "a source refreshed the skills while a refresh was reading it";
            assert_eq!(*told.lock().unwrap(), [nested]);
        }
    }
}

#[test]
fn a_source_that_searches_its_own_skills_while_it_is_searched_ends() {
    let search = |skills: &Skills| match skills.search("body") {
        Ok(hits) => format!("{} found", hits.len()),
        Err(error) => error.to_string(),
    };
    for traits in [SourceTraits::default(), SourceTraits::remote(), SourceTraits::calling_thread()] {
        let (skills, told) = using(traits, false, search);
        assert_eq!(skills.search("body").unwrap().len(), 1);
        let stopped = "the search was stopped: a source searched the skills while a search was reading it";
        assert_eq!(told.lock().unwrap()[0], stopped);
    }
}

#[test]
fn a_skill_says_whether_it_is_trusted() {
    let folder = tree(&[("a/SKILL.md", &skill("a"))]);
    let skills = required(&folder, false).0.build().unwrap();
    assert!(!skills.get("a").unwrap().is_usable());
    assert!(Skills::open([folder.path()]).unwrap().get("a").unwrap().is_usable());
    assert!(Skill::load(folder.path().join("a")).unwrap().is_usable());
}

/// A selector that returns what it must not.
struct Careless;

impl Selector for Careless {
    fn select(&self, _: &Query, _: &[&Entry], _: usize) -> Result<Vec<Hit>, SelectError> {
        Ok(["b", "denied", "unknown", "b", "a"].map(|key| Hit::new(key, 1.0, Vec::new())).into())
    }
}

#[test]
fn a_search_drops_what_a_selector_must_not_return() {
    let folder = tree(&[
        ("a/SKILL.md", &skill("a")),
        ("b/SKILL.md", &skill("b")),
        ("denied/SKILL.md", &skill("denied")),
    ]);
    let skills = Skills::builder()
        .with_source(SourceSpec::dir(folder.path()))
        .with_policy(Policy::default().with_deny(["denied"]))
        .with_selector(Careless)
        .build()
        .unwrap();
    let keys: Vec<String> = skills.search("x").unwrap().into_iter().map(|hit| hit.key).collect();
    assert_eq!(keys, ["b", "a"]);
    let found = skills.chat("chat-1").call(ToolCall::new("search_skills", json!({"query": "x"})));
    let rows = found.data["skills"].as_array().unwrap();
    assert_eq!(rows.iter().map(|row| row["name"].as_str().unwrap()).collect::<Vec<_>>(), ["b", "a"]);
}

#[test]
fn a_folder_that_cannot_be_read_is_an_error_and_an_empty_path_is_not_the_current_folder() {
    let message = |path: &str| Skills::open([path]).unwrap_err().to_string();
    assert_eq!(message(""), "there is no such file or folder: \"\"");
    let nul = message("a\0b");
    assert!(nul.starts_with("could not read: ") && nul.ends_with("a\\u{0}b"), "{nul}");
    #[cfg(unix)]
    {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("loop");
        std::os::unix::fs::symlink("loop", &link).unwrap();
        assert!(message(link.to_str().unwrap()).starts_with("could not read: "));
    }
}

#[test]
fn an_error_about_a_path_shows_its_control_characters() {
    let error = Skill::load("\u{1b}[31mno\n\u{202e}").unwrap_err().to_string();
    assert!(error.ends_with("\\u{1b}[31mno\\n\\u{202e}"), "{error}");
}

#[test]
fn a_restored_chat_reports_what_changed_while_it_was_stored() {
    let folder = tree(&[("a/SKILL.md", &skill("a")), ("b/SKILL.md", &skill("b"))]);
    let skills = Skills::open([folder.path()]).unwrap();
    let mut chat = skills.chat("chat-1");
    assert!(chat.activate("a", "").is_ok() && chat.activate("b", "").is_ok());
    let stored = chat.state().clone();
    assert_eq!(skills.restore(stored.clone()).unwrap().changes(), CatalogChange::default());

    write(folder.path(), "a/SKILL.md", "---\nname: a\ndescription: Does something else.\n---\nOther.\n");
    std::fs::remove_dir_all(folder.path().join("b")).unwrap();
    skills.refresh().unwrap();
    let mut restored = skills.restore(stored).unwrap();
    let changes = restored.changes();
    assert_eq!((changes.deactivated, changes.changed), (vec!["b".to_owned()], vec!["a".to_owned()]));
    // Once: not again by the same chat, nor after it was stored again.
    assert_eq!(restored.changes(), CatalogChange::default());
    assert_eq!(skills.restore(restored.state().clone()).unwrap().changes(), CatalogChange::default());
}

#[cfg(feature = "watch")]
#[test]
fn a_panic_of_the_callback_does_not_end_the_watching() {
    let folder = tree(&[("a/SKILL.md", &skill("a"))]);
    let skills = Skills::open([folder.path()]).unwrap();
    let (send, receive) = std::sync::mpsc::channel();
    let changed = move |change: Result<prowess::Delta, prowess::SkillsError>| {
        send.send(change.is_ok()).unwrap();
        panic!("the callback of a test");
    };
    skills.watch(prowess::watch::WatchOptions::default(), changed).unwrap();
    for name in ["b", "c"] {
        write(folder.path(), &format!("{name}/SKILL.md"), &skill(name));
        assert!(receive.recv_timeout(std::time::Duration::from_secs(60)).unwrap());
    }
}

#[test]
fn only_a_file_that_was_approved_is_run() {
    let folder = tree(&[("a/SKILL.md", &skill("a")), ("a/scripts/run.sh", "echo run")]);
    let mut registry = Registry::new();
    let source = DirSource::new(folder.path(), ScanOptions::default());
    registry.add(Layer::from(source).with_approval_required(true));
    registry.refresh().unwrap();
    let candidate = registry.get("a").unwrap();
    let mut approvals = Approvals::default();
    let digest = registry.approvable(&candidate).unwrap();
    approvals.trust_skill(&candidate, digest);
    registry.set_trust(Trust::in_approved(approvals));
    registry.refresh().unwrap();

    let options = Options::default().with_tools([Tool::Run].into());
    let mut session = Session::new("chat-1", registry.catalog(), Policy::default().with_run(true), options);
    let mut run =
        |path: &str| session.call(ToolCall::new("run_skill_script", json!({"name": "a", "path": path})));
    for path in ["scripts/none.sh", "scripts"] {
        assert!(matches!(run(path), Step::Done(result) if !result.is_ok()), "{path}");
    }
    let step = run("scripts/run.sh");
    assert!(
        matches!(&step, Step::Need(_, Effect::Run { expect_digest, .. }) if *expect_digest == Some(digest))
    );
}
