//! Fetching the skills of remote sources.

use prowess::search::LazyIndex;
use prowess::session::{Options, Policy};
use prowess::source::{Chunk, Layer, Listing, Slice, Source, SourceTraits};
use prowess::{MemorySource, Registry, Scope, SourceError, SourceSkill};

use super::*;

/// A source whose skills must be fetched.
struct Remote(MemorySource);

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
        self.0.read(skill, path, slice)
    }
}

fn snapshot_of_remote(names: &[&str]) -> (Snapshot, Arc<str>) {
    let source = MemorySource::new("remote");
    for name in names {
        source.insert(*name, format!("---\nname: {name}\ndescription: d\n---\n"), Scope::Remote);
    }
    let mut registry = Registry::new();
    registry.add(Layer::shared(Arc::new(Remote(source))));
    registry.refresh().unwrap();
    let (catalog, registry) = (registry.catalog(), Arc::new(registry));
    let index = Arc::new(LazyIndex::new(Arc::clone(&registry)));
    let sessions = Sessions::new(registry, index, catalog, Policy::default(), Options::default());
    let snapshot = Snapshot::new(1, None, sessions, Arc::default());
    let sources = snapshot.fetched_sources();
    (snapshot, sources.into_iter().next().unwrap())
}

#[test]
fn fetching_continues_where_the_time_budget_ended() {
    let names = ["a", "b", "c"];
    let (snapshot, source) = snapshot_of_remote(&names);
    let listed = || names.map(|name| snapshot.published_by_now(name).is_some());
    assert_eq!(listed(), [false; 3]);
    for expected in [[true, false, false], [true, true, false], [true; 3]] {
        let before = snapshot.state();
        snapshot.fetch(&source, Duration::ZERO, || false);
        assert_eq!(listed(), expected);
        assert_ne!(snapshot.state(), before, "clients are notified of each");
    }
    snapshot.fetch("another", Duration::ZERO, || false);
    assert_eq!(listed(), [true; 3]);
}

#[test]
fn a_remote_skill_stays_on_the_list_while_it_is_fetched_again() {
    let (snapshot, source) = snapshot_of_remote(&["a"]);
    snapshot.fetch(&source, Duration::ZERO, || false);
    let _fetching = locked(&snapshot.served["a"].inspections.running);
    assert!(snapshot.published_by_now("a").is_some());
    assert!(snapshot.state_of("skill://a/SKILL.md").is_some());
}
