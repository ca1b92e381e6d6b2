//! The library as it is now: read on a thread of its own, followed as it changes, and searched.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, PoisonError, RwLock};
use std::time::Duration;

use prowess::index::SearchIndex;
use prowess::select::{Hit, Query, SelectError, Selector};
use prowess::session::{Options, Policy, Session, Tool};
use prowess::watch::{WatchError, WatchOptions, Watcher};
use prowess::{Entry, Registry};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::ServeOptions;
use crate::snapshot::{Snapshot, locked};

/// How often the thread that follows the library looks whether it is still wanted.
const PATIENCE: Duration = Duration::from_millis(250);
/// How often the library is looked at where the system does not tell of changes.
const POLL: Duration = Duration::from_secs(2);
/// How long clients may keep what nobody watches, in milliseconds.
const UNWATCHED_TTL: u64 = 60_000;

/// The library as it is now.
pub(crate) struct Live {
    registry: Arc<Registry>,
    policy: Policy,
    options: Options,
    watching: bool,
    terms: Option<PathBuf>,
    /// What could not be read, as it was last told.
    problems: Mutex<BTreeSet<String>>,
    /// Nothing until the library was read for the first time.
    current: Mutex<Option<Arc<Snapshot>>>,
    first: Condvar,
    changed: watch::Sender<u64>,
    /// The words of the skills, and the state they are of.
    index: RwLock<Option<(u64, SearchIndex)>>,
}

impl Live {
    /// Begins to read the library. Nobody waits for it who does not need it: a handshake does not.
    pub(crate) fn start(registry: Registry, options: &ServeOptions, stop: CancellationToken) -> Arc<Self> {
        let session =
            Options { naming: options.naming.clone(), max_active: options.max_active, ..Options::default() };
        let live = Arc::new(Self {
            registry: Arc::new(registry),
            policy: Policy { filter: options.filter.clone(), ..Policy::default() },
            options: session,
            watching: options.watch,
            terms: options.terms.clone(),
            problems: Mutex::default(),
            current: Mutex::default(),
            first: Condvar::new(),
            changed: watch::Sender::new(0),
            index: RwLock::default(),
        });
        let own = Arc::clone(&live);
        std::thread::spawn(move || own.follow(&stop));
        live
    }

    /// Reads the library, and again whenever it changes, until it is wanted no more.
    fn follow(&self, stop: &CancellationToken) {
        self.refresh();
        if !self.watching {
            return;
        }
        // Between the first look and the watch something may have changed; the watcher begins with a look.
        let mut watcher = match Watcher::new(Arc::clone(&self.registry), WatchOptions::default()) {
            Ok(watcher) => watcher,
            Err(error) => {
                tracing::warn!(target: "prowess", reason = %error, "folders are looked at from time to time");
                return self.poll(stop);
            }
        };
        self.publish();
        while !stop.is_cancelled() {
            match watcher.next(Some(PATIENCE)) {
                Ok(Some(_)) => self.publish(),
                Ok(None) => {}
                // The old state is served on; a later look may succeed.
                Err(error @ WatchError::Registry(_)) => {
                    tracing::warn!(target: "prowess", reason = %error, "the library could not be read");
                }
                Err(error) => {
                    tracing::warn!(target: "prowess", reason = %error, "folders are looked at from time to time");
                    return self.poll(stop);
                }
            }
        }
    }

    fn poll(&self, stop: &CancellationToken) {
        while !stop.is_cancelled() {
            std::thread::sleep(POLL);
            self.refresh();
        }
    }

    fn refresh(&self) {
        if let Err(error) = self.registry.refresh() {
            tracing::warn!(target: "prowess", reason = %error, "the library could not be read");
        }
        self.publish();
    }

    /// Tells what could not be read, once for as long as it lasts. The rest is served.
    fn tell_problems(&self) {
        let mut told = locked(&self.problems);
        let now = self.registry.problems();
        for problem in &now {
            if !told.contains(&problem.to_string()) {
                let (reason, hint) = (problem.to_string(), problem.hint());
                tracing::warn!(target: "prowess", reason, hint = %hint, "a part of the library could not be read");
            }
        }
        *told = now.iter().map(ToString::to_string).collect();
    }

    /// Makes what the registry knows the state of now, if that is another one.
    fn publish(&self) {
        self.tell_problems();
        let catalog = self.registry.catalog();
        let mut current = locked(&self.current);
        if current.as_ref().is_some_and(|now| Arc::ptr_eq(&now.session.shared_catalog(), &catalog)) {
            return;
        }
        if let Some(now) = current.as_ref()
            && catalog.since(now.session.catalog()).is_empty()
        {
            return;
        }
        let number = current.as_ref().map_or(1, |now| now.number + 1);
        let session = Session::new("mcp", Arc::clone(&catalog), self.policy.clone(), self.options.clone());
        // A call by itself has nothing that could be full or put away.
        let mut options = Options { max_active: 0, ..self.options.clone() };
        options.tools.remove(&Tool::Unload);
        let single = Session::new("mcp", catalog, self.policy.clone(), options);
        tracing::info!(target: "prowess", state = number, skills = session.catalog().len(), "library");
        *current = Some(Arc::new(Snapshot::new(number, Arc::clone(&self.registry), session, single)));
        drop(current);
        self.first.notify_all();
        self.changed.send_replace(number);
    }

    /// The state of now. Waits for the first one: not for the threads of the runtime.
    pub(crate) fn current(&self) -> Arc<Snapshot> {
        let mut current = locked(&self.current);
        loop {
            if let Some(snapshot) = current.as_ref() {
                return Arc::clone(snapshot);
            }
            current = self.first.wait(current).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The state of now, if there is one.
    pub(crate) fn known(&self) -> Option<Arc<Snapshot>> {
        locked(&self.current).clone()
    }

    /// Tells of new states by their numbers.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Whether changes are followed.
    pub(crate) fn watching(&self) -> bool {
        self.watching
    }

    /// How long clients may keep what they were told. What is watched is told of at once.
    pub(crate) fn ttl_ms(&self) -> u64 {
        if self.watching { 0 } else { UNWATCHED_TTL }
    }
}

/// Finds skills of one state by their words. The index is made when somebody first searches, and kept.
pub(crate) struct Finder<'l> {
    pub(crate) live: &'l Live,
    pub(crate) number: u64,
}

impl Selector for Finder<'_> {
    fn select(&self, query: &Query, among: &[&Entry], limit: usize) -> Result<Vec<Hit>, SelectError> {
        let live = self.live;
        if let Some((number, index)) = &*live.index.read().unwrap_or_else(PoisonError::into_inner)
            && *number >= self.number
        {
            return index.select(query, among, limit);
        }
        let mut held = live.index.write().unwrap_or_else(PoisonError::into_inner);
        match &mut *held {
            Some((number, _)) if *number >= self.number => {}
            Some((number, index)) => {
                index.refresh(&live.registry);
                *number = self.number;
            }
            None => *held = Some((self.number, SearchIndex::open(&live.registry, live.terms.clone()))),
        }
        match &*held {
            Some((_, index)) => index.select(query, among, limit),
            None => Ok(Vec::new()),
        }
    }
}
