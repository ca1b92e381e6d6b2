//! Fetching the skills of remote sources, and the skills that only views have.

use std::collections::BTreeSet;

use prowess::search::LazyIndex;
use prowess::session::{Options, Policy};
use prowess::source::{Chunk, Layer, Listing, Slice, Source, SourceTraits};
use prowess::{MemorySource, Registry, Scope, SourceError, SourceSkill};

use super::*;
use crate::library::turns::Turns;

/// A source whose skills must be fetched, and the files that were read.
struct Remote(MemorySource, Arc<Mutex<Vec<String>>>);

impl Source for Remote {
    fn id(&self) -> &'static str {
        "remote"
    }

    fn traits(&self) -> SourceTraits {
        SourceTraits::remote()
    }

    fn list(&self) -> Result<Listing, SourceError> {
        self.0.list()
    }

    fn read(&self, skill: SourceSkill<'_>, path: &RelPath, slice: Slice) -> Result<Chunk, SourceError> {
        locked(&self.1).push(format!("{} {path}", skill.location()));
        self.0.read(skill, path, slice)
    }
}

fn snapshot_of(layer: Layer) -> Arc<Snapshot> {
    let mut registry = Registry::new();
    registry.add(layer);
    registry.refresh().unwrap();
    let (catalog, registry) = (registry.catalog(), Arc::new(registry));
    let index = Arc::new(LazyIndex::new(Arc::clone(&registry)));
    let sessions = Sessions::new(registry, index, catalog, Policy::default(), Options::default());
    Arc::new(Snapshot::new(1, None, sessions, Arc::default()))
}

fn skills(keys: &[&str]) -> MemorySource {
    let source = MemorySource::new("memory");
    for key in keys {
        let name = key.rsplit('/').next().unwrap();
        source.insert(*key, format!("---\nname: {name}\ndescription: d\n---\n"), Scope::Remote);
    }
    source
}

fn views(whole: &Snapshot, filters: &[&str]) -> Vec<Arc<Snapshot>> {
    filters.iter().map(|filter| Arc::new(whole.view(&filter.parse::<Filter>().unwrap()))).collect()
}

/// A snapshot of a remote source, the label of the source, and the files that were read.
fn snapshot_of_remote(keys: &[&str]) -> (Arc<Snapshot>, Arc<str>, Arc<Mutex<Vec<String>>>) {
    let reads = Arc::<Mutex<Vec<String>>>::default();
    let snapshot = snapshot_of(Layer::shared(Arc::new(Remote(skills(keys), Arc::clone(&reads)))));
    let source = Turns::new(Arc::clone(&snapshot), []).fetched_sources().into_iter().next().unwrap();
    (snapshot, source, reads)
}

#[test]
fn fetching_continues_where_the_time_budget_ended() {
    let names = ["a", "b", "c"];
    let (snapshot, source, _) = snapshot_of_remote(&names);
    let turns = Turns::new(Arc::clone(&snapshot), []);
    let listed = || names.map(|name| snapshot.published_by_now(name).is_some());
    assert_eq!(listed(), [false; 3]);
    for expected in [[true, false, false], [true, true, false], [true; 3]] {
        let before = snapshot.state();
        turns.fetch(&source, Duration::ZERO, || false);
        assert_eq!(listed(), expected);
        assert_ne!(snapshot.state(), before, "clients are notified of each");
    }
    turns.fetch("another", Duration::ZERO, || false);
    assert_eq!(listed(), [true; 3]);
}

#[test]
fn each_file_is_fetched_once_for_the_library_and_all_its_views() {
    let (whole, source, reads) = snapshot_of_remote(&["first/twin", "second/twin", "second/third"]);
    let views = views(&whole, &["second/**", "second/*", "second/twin"]);
    let turns = Turns::new(Arc::clone(&whole), &views);
    // The budget is shared: one skill in each call.
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for _ in 0..3 {
        turns.fetch(&source, Duration::ZERO, || false);
        let read: Vec<String> = std::mem::take(&mut *locked(&reads));
        let of_call: BTreeSet<&String> = read.iter().collect();
        assert_eq!(of_call.len(), 1, "{read:?}");
        for file in read {
            *counts.entry(file).or_default() += 1;
        }
    }
    let times: BTreeSet<usize> = counts.values().copied().collect();
    assert_eq!((counts.len(), times.len()), (3, 1), "{counts:?}");
    assert!(views.iter().all(|view| view.published_by_now("twin").is_some()));
    assert!(locked(&reads).is_empty());
    // What is known stays known when the library is published again, also what the whole library had before.
    let again = Arc::new(Snapshot::new(2, Some(&whole), whole.sessions.clone(), Arc::default()));
    assert!(again.view(&"second/**".parse().unwrap()).published_by_now("twin").is_some());
}

#[test]
fn a_skill_that_only_a_view_had_stays_published_when_the_whole_library_has_it() {
    let source = Arc::new(Remote(skills(&["first/twin", "second/twin"]), Arc::default()));
    let mut registry = Registry::new();
    registry.add(Layer::shared(Arc::clone(&source) as Arc<dyn Source>));
    registry.refresh().unwrap();
    let registry = Arc::new(registry);
    let sessions = || {
        let index = Arc::new(LazyIndex::new(Arc::clone(&registry)));
        let (policy, options) = (Policy::default(), Options::default());
        Sessions::new(Arc::clone(&registry), index, registry.catalog(), policy, options)
    };
    let before = Arc::new(Snapshot::new(1, None, sessions(), Arc::default()));
    let second: Filter = "second/**".parse().unwrap();
    let view = Arc::new(before.view(&second));
    let label = before.fetched_source("twin").unwrap();
    Turns::new(Arc::clone(&before), [&view]).fetch(label, Duration::from_secs(60), || false);
    view.served["twin"].inspections.asked.store(true, Ordering::Relaxed);
    assert!(view.published_by_now("twin").is_some());

    source.0.remove("first/twin");
    registry.refresh().unwrap();
    let now = Snapshot::new(2, Some(&before), sessions(), Arc::default());
    assert_eq!(now.candidate("twin").unwrap().virtual_path, "second/twin");
    for snapshot in [&now, &now.view(&second)] {
        assert!(snapshot.published_by_now("twin").is_some(), "it is listed while it is fetched again");
        assert!(snapshot.served["twin"].inspections.asked.load(Ordering::Relaxed));
    }
}

#[test]
fn what_a_connection_keeps_of_the_lists_does_not_grow_with_the_library() {
    // It has no parts elsewhere in memory.
    fn size_of_copy<T: Copy>(_: &T) -> usize {
        size_of::<T>()
    }
    let snapshot = |keys: &[&str]| snapshot_of(Layer::shared(Arc::new(skills(keys))));
    let [one, same, other] = [&["a"][..], &["a"], &["a", "b"]].map(|keys| snapshot(keys).list_versions());
    assert!(size_of_copy(&one) <= 128 && one == same);
    assert!(one.prompts != other.prompts && one.resources != other.resources && one.tools != other.tools);
}

#[test]
fn skills_that_only_views_have_are_inspected_in_turn_within_one_budget() {
    let keys: Vec<String> = ["first", "second", "third"]
        .iter()
        .flat_map(|team| ["a", "b", "c"].map(|name| format!("{team}/{name}")))
        .collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let whole = snapshot_of(Layer::shared(Arc::new(skills(&keys))));
    let views = views(&whole, &["first/**", "second/**", "second/*", "third/**"]);
    let turns = Turns::new(Arc::clone(&whole), &views);
    for view in &views {
        view.served.values().for_each(|served| served.inspections.asked.store(true, Ordering::Relaxed));
    }
    let inspected = || {
        let all = views.iter().flat_map(|view| view.served.values());
        let known = all.filter(|served| served.inspections.at().is_some());
        known.map(|served| Arc::as_ptr(&served.inspections)).collect::<BTreeSet<_>>().len()
    };
    let mut after = None;
    for call in 1..=9 {
        after = turns.inspect_again(after.as_ref(), Duration::ZERO);
        assert_eq!(inspected(), call);
    }
    assert!(turns.inspect_again(after.as_ref(), Duration::ZERO).is_none(), "then from the beginning");
}

#[test]
fn a_remote_skill_stays_on_the_list_while_it_is_fetched_again() {
    let (snapshot, source, _) = snapshot_of_remote(&["a"]);
    Turns::new(Arc::clone(&snapshot), []).fetch(&source, Duration::ZERO, || false);
    let _fetching = locked(&snapshot.served["a"].inspections.running);
    assert!(snapshot.published_by_now("a").is_some());
    assert!(snapshot.state_of("skill://a/SKILL.md").is_some());
}
