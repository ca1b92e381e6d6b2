//! Searches over sources that run code of the host: on the calling thread, ended by the host, and from inside a read.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::{self, ThreadId};

use prowess::search::{LazyIndex, SearchIndex};
use prowess::select::{Query, SelectError, Selector};
use prowess::source::{Chunk, Listing, Slice, SourceTraits, found};
use prowess::{
    Location, MemorySource, Origin, Registry, RelPath, Scope, Source, SourceError, SourceErrorKind,
    SourceSkill, parse,
};

type OnRead = dyn Fn() -> Option<io::ErrorKind> + Send + Sync;

/// A source of the host with some skills. Each read calls a function, which may make it fail.
struct Host {
    count: usize,
    on_read: Box<OnRead>,
}

fn text(key: &str) -> String {
    format!("---\nname: {key}\ndescription: Of the host.\n---\nA zebra is in {key}.\n")
}

impl Source for Host {
    fn id(&self) -> &'static str {
        "host"
    }

    fn traits(&self) -> SourceTraits {
        SourceTraits::calling_thread()
    }

    fn list(&self) -> Result<Listing, SourceError> {
        let mut listing = Listing::default();
        for number in 0..self.count {
            let key = format!("h{number}");
            let at = Location::Memory { source: "host".into(), key: key.as_str().into() };
            listing.push(found(&parse(text(&key).as_bytes()), &Origin::at(at)));
        }
        Ok(listing)
    }

    fn read(&self, skill: SourceSkill<'_>, path: &RelPath, slice: Slice) -> Result<Chunk, SourceError> {
        if let Some(kind) = (self.on_read)() {
            let error = io::Error::new(kind, "the host ended it");
            return Err(SourceErrorKind::Io(error).at_file(skill.location(), path.as_str()));
        }
        let Location::Memory { key, .. } = skill.location() else { panic!("{:?}", skill.location()) };
        Ok(slice.of(text(key).as_bytes()))
    }
}

fn registry(
    count: usize,
    on_read: impl Fn() -> Option<io::ErrorKind> + Send + Sync + 'static,
) -> Arc<Registry> {
    let memory = MemorySource::new("memory");
    for number in 0..10 {
        let key = format!("m{number}");
        memory.insert(key.as_str(), text(&key), Scope::Explicit);
    }
    let mut registry = Registry::new();
    registry.add(memory);
    registry.add(Host { count, on_read: Box::new(on_read) });
    registry.refresh().unwrap();
    Arc::new(registry)
}

fn zebras(index: &LazyIndex<Arc<Registry>>, registry: &Registry) -> Result<usize, SelectError> {
    let hits = index.select(&Query::text("zebra"), &registry.catalog().list(), usize::MAX)?;
    Ok(hits.len())
}

#[test]
fn a_source_of_the_host_is_read_on_the_calling_thread() {
    let seen: Arc<Mutex<Vec<ThreadId>>> = Arc::default();
    let noted = Arc::clone(&seen);
    let registry = registry(50, move || {
        noted.lock().unwrap().push(thread::current().id());
        None
    });
    let index = LazyIndex::new(Arc::clone(&registry));
    assert_eq!(zebras(&index, &registry).unwrap(), 60);
    assert_eq!(*seen.lock().unwrap(), vec![thread::current().id(); 50]);
    // The order of the parts changes nothing.
    let whole = SearchIndex::open(&registry, None);
    let catalog = registry.catalog();
    let hits = |selector: &dyn Selector| {
        selector.select(&Query::text("zebra h7 m3 host"), &catalog.list(), 20).unwrap()
    };
    assert_eq!(hits(&index), hits(&whole));
}

#[test]
fn an_end_of_a_read_ends_the_search_and_the_next_one_reads_the_rest() {
    for kind in [io::ErrorKind::Interrupted, io::ErrorKind::TimedOut] {
        let reads = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&reads);
        let registry = registry(20, move || (counted.fetch_add(1, Ordering::Relaxed) == 3).then_some(kind));
        let index = LazyIndex::new(Arc::clone(&registry));
        let Err(SelectError::Stopped { reason }) = zebras(&index, &registry) else {
            panic!("the search goes on")
        };
        assert!(reason.contains("the host ended it"), "{reason}");
        assert_eq!(reads.load(Ordering::Relaxed), 4, "nothing is read after the end");
        assert_eq!(zebras(&index, &registry).unwrap(), 30);
    }
}

#[test]
fn a_read_that_fails_by_itself_ends_no_search() {
    let reads = AtomicUsize::new(0);
    let denied = Some(io::ErrorKind::PermissionDenied);
    let registry = registry(20, move || denied.filter(|_| reads.fetch_add(1, Ordering::Relaxed) == 3));
    let index = LazyIndex::new(Arc::clone(&registry));
    assert_eq!(zebras(&index, &registry).unwrap(), 29);
}

#[test]
fn a_read_may_search_the_skills_that_it_is_read_for() {
    type Slot = OnceLock<(Arc<LazyIndex<Arc<Registry>>>, Arc<Registry>)>;
    let slot: Arc<Slot> = Arc::default();
    let inner: Arc<Mutex<Vec<usize>>> = Arc::default();
    let (known, found, reads) = (Arc::clone(&slot), Arc::clone(&inner), AtomicUsize::new(0));
    let registry = registry(5, move || {
        if reads.fetch_add(1, Ordering::Relaxed) == 0 {
            let (index, registry) = known.get().unwrap();
            found.lock().unwrap().push(zebras(index, registry).unwrap());
        }
        None
    });
    let index = Arc::new(LazyIndex::new(Arc::clone(&registry)));
    slot.set((Arc::clone(&index), Arc::clone(&registry))).ok().unwrap();
    assert_eq!(zebras(&index, &registry).unwrap(), 15);
    assert_eq!(*inner.lock().unwrap(), [15]);
}
