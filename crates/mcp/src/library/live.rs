//! The library as it is now: read on threads of its own, and followed as it changes.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use prowess::drive::{Performer, finish};
use prowess::registry::RegistryError;
use prowess::registry::trust::{Approvals, Trust};
use prowess::search::LazyIndex;
use prowess::session::{Options, Policy, Session, Step, Tool};
use prowess::watch::{WatchError, WatchOptions, Watcher};
use prowess::{Delta, Registry};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::ServeOptions;
use crate::library::snapshot::Snapshot;
use crate::lock::locked;

/// How often the thread that follows the library looks whether it is still wanted.
const PATIENCE: Duration = Duration::from_millis(250);
/// How often the library is looked at where the system does not tell of changes.
const POLL: Duration = Duration::from_secs(2);
/// How soon sources elsewhere are asked again when something that one gave is not what it said.
const ASK_SOON: Duration = Duration::from_secs(5);
/// How long the first state waits for sources elsewhere. Whoever is slower comes with a later state.
const FIRST_ASK: Duration = Duration::from_secs(2);
/// How long the files of one remote source's skills may be fetched each time that it is asked.
const FETCH_TIME: Duration = Duration::from_secs(60);
/// How long clients may keep what nobody watches, in milliseconds.
const UNWATCHED_TTL: u64 = 60_000;

/// The library as it is now.
pub(crate) struct Live {
    pub(crate) registry: Arc<Registry>,
    policy: Policy,
    options: Options,
    watching: bool,
    ask_again: Duration,
    approvals: Option<PathBuf>,
    /// What could not be read, as it was last told.
    problems: Mutex<BTreeSet<String>>,
    /// Nothing until the library was read for the first time.
    current: Mutex<Option<Arc<Snapshot>>>,
    first: Condvar,
    /// Counts how often the files of a skill were found to be others.
    file_changes: Arc<AtomicU64>,
    changed: watch::Sender<u64>,
    /// Held while a state is made: two threads make them.
    publishing: Mutex<()>,
    /// Whether sources elsewhere are to be asked soon.
    nudged: AtomicBool,
    /// The remote sources from which files are fetched right now.
    fetching: Mutex<BTreeSet<Arc<str>>>,
    /// The words of the skills, read at the first search.
    pub(crate) index: LazyIndex<Arc<Registry>>,
}

impl Live {
    /// Begins to read the library. Nobody waits for it who does not need it: a handshake does not.
    pub(crate) fn start(registry: Registry, options: &ServeOptions, stop: CancellationToken) -> Arc<Self> {
        let mut session = Options::default()
            .with_naming(options.naming.clone())
            .with_max_active(options.max_active)
            .with_show_folders(options.show_folders)
            .with_max_activation_bytes(options.max_activation_bytes);
        session.activation.plain = options.plain;
        // Nothing is run here, so there is no tool for it, by any name.
        session.tools.remove(&Tool::Run);
        let registry = Arc::new(registry);
        let live = Arc::new(Self {
            index: LazyIndex::new(Arc::clone(&registry)).with_cache(options.terms.clone()),
            registry,
            policy: Policy::default()
                .with_filter(options.filter.clone())
                .with_host_tools(options.host_tools.clone()),
            options: session,
            watching: options.watch,
            ask_again: options.ask_again,
            approvals: options.approvals.clone(),
            problems: Mutex::default(),
            current: Mutex::default(),
            first: Condvar::new(),
            file_changes: Arc::default(),
            changed: watch::Sender::new(0),
            publishing: Mutex::default(),
            nudged: AtomicBool::new(false),
            fetching: Mutex::default(),
        });
        let (asked, first) = sync_channel(1);
        if live.registry.has_far() {
            let (own, stop) = (Arc::clone(&live), stop.clone());
            std::thread::spawn(move || ask(&own, &asked, &stop));
        } else {
            drop(asked);
        }
        let own = Arc::clone(&live);
        std::thread::spawn(move || own.follow(&first, &stop));
        if live.registry.has_preloads() {
            // Their texts are part of the first thing that a client is told.
            live.current();
        }
        live
    }

    /// Fetches what the skills of remote sources are published by, for each source on a thread of its own: a slow one
    /// delays no other. What is fetched is told by the thread that follows the library.
    fn fetch(self: &Arc<Self>, stop: &CancellationToken) {
        let Some(snapshot) = self.known() else { return };
        for source in snapshot.fetched_sources() {
            // Its last turn may still be under way.
            if !locked(&self.fetching).insert(Arc::clone(&source)) {
                continue;
            }
            let (own, snapshot, stop) = (Arc::clone(self), Arc::clone(&snapshot), stop.clone());
            std::thread::spawn(move || {
                let _turn = Turn { live: &own, source: &source };
                snapshot.fetch(&source, FETCH_TIME, || stop.is_cancelled());
            });
        }
    }

    /// Says that a source elsewhere gave something else than it had said, or nothing.
    pub(crate) fn nudge(&self) {
        self.nudged.store(true, Ordering::Relaxed);
    }

    /// Reads the library, and again whenever it changes, until it is wanted no more.
    fn follow(&self, asked: &Receiver<()>, stop: &CancellationToken) {
        self.refresh(Registry::refresh_near);
        let _ = asked.recv_timeout(FIRST_ASK);
        self.publish();
        if !self.watching {
            return;
        }
        // Between the first look and the watch something may have changed; the watcher begins with a look.
        let options = WatchOptions { ask: None, ..WatchOptions::default() };
        let mut watcher = match Watcher::new(Arc::clone(&self.registry), options) {
            Ok(watcher) => watcher,
            Err(error) => {
                tracing::warn!(target: "prowess", reason = %error, "folders are looked at from time to time");
                return self.poll(stop);
            }
        };
        self.publish();
        let mut seen = LookedAt::default();
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
            self.look_around(&mut seen);
        }
    }

    fn poll(&self, stop: &CancellationToken) {
        let mut seen = LookedAt::default();
        while !stop.is_cancelled() {
            std::thread::sleep(POLL);
            self.refresh(Registry::refresh_near);
            self.publish();
            self.look_around(&mut seen);
        }
    }

    /// Looks at what no watcher tells of.
    fn look_around(&self, seen: &mut LookedAt) {
        self.look_at_approvals(seen);
        self.look_at_files(seen);
    }

    /// Follows what a person trusts. A file that cannot be read changes nothing.
    fn look_at_approvals(&self, seen: &mut LookedAt) {
        let Some(file) = &self.approvals else { return };
        let stamp = std::fs::metadata(file).ok().and_then(|now| Some((now.modified().ok()?, now.len())));
        if std::mem::replace(&mut seen.stamp, stamp) == stamp {
            return;
        }
        match Approvals::load(file) {
            Ok(approvals) if seen.approvals.as_ref() == Some(&approvals) => {}
            Ok(approvals) => {
                self.registry.set_trust(Trust::in_approved(approvals.clone()));
                seen.approvals = Some(approvals);
                self.refresh(Registry::refresh_near);
                self.publish();
            }
            Err(error) => {
                tracing::warn!(target: "prowess", reason = %error, "what is trusted could not be read");
            }
        }
    }

    /// Looks at the files beside SKILL.md, which the watcher does not tell of: of skills that somebody was told of, while
    /// there is somebody to tell, and for a hundredth of the time.
    fn look_at_files(&self, seen: &mut LookedAt) {
        let Some(snapshot) = self.known().filter(|_| self.changed.receiver_count() > 0) else { return };
        seen.after = snapshot.look_again(seen.after.as_deref(), PATIENCE / 100);
        let changes = snapshot.state().1;
        if std::mem::replace(&mut seen.changes, changes) != changes {
            self.changed.send_replace(snapshot.number);
        }
    }

    fn refresh(&self, how: fn(&Registry) -> Result<Delta, RegistryError>) {
        if let Err(error) = how(&self.registry) {
            tracing::warn!(target: "prowess", reason = %error, "the library could not be read");
        }
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

    /// Activates the skills that are to be active from the start. One that lies elsewhere would hold up the library, so
    /// it is read when it is loaded.
    fn preload(&self, session: &mut Session) {
        let performer = Performer::new(&self.registry, &self.index);
        for (name, step) in session.preload(&[]) {
            let remote = session.catalog().get(&name).is_some_and(|skill| self.registry.is_far(skill));
            let result = match step {
                Step::Need(ticket, _) if remote => {
                    session.cancel(ticket);
                    tracing::info!(target: "prowess", skill = name, "not preloaded: it lies elsewhere");
                    continue;
                }
                step => finish(session, &performer, step),
            };
            if let Some(reason) = result.reason {
                tracing::warn!(target: "prowess", skill = name, reason = reason.code(), "not preloaded");
            }
        }
    }

    /// Makes what the registry knows the state of now, if that is another one.
    fn publish(&self) {
        let _one_at_a_time = locked(&self.publishing);
        self.tell_problems();
        let catalog = self.registry.catalog();
        let known = self.known();
        if let Some(now) = &known
            && (Arc::ptr_eq(&now.session.shared_catalog(), &catalog)
                || catalog.since(now.session.catalog()).is_empty())
        {
            return;
        }
        let number = known.as_ref().map_or(1, |now| now.number + 1);
        let mut session =
            Session::new("mcp", Arc::clone(&catalog), self.policy.clone(), self.options.clone());
        self.preload(&mut session);
        // A call by itself has nothing that could be full or put away.
        let mut options = self.options.clone().with_max_active(0);
        options.tools.remove(&Tool::Unload);
        let single = Session::new("mcp", catalog, self.policy.clone(), options);
        tracing::info!(target: "prowess", state = number, skills = session.catalog().len(), "library");
        // Made outside of the lock that the threads of the runtime take too.
        let snapshot = Arc::new(Snapshot::new(
            number,
            known.as_deref(),
            Arc::clone(&self.registry),
            session,
            single,
            Arc::clone(&self.file_changes),
        ));
        *locked(&self.current) = Some(snapshot);
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

/// Asks sources elsewhere, and again from time to time. Nothing on this machine waits for them.
fn ask(live: &Arc<Live>, asked: &SyncSender<()>, stop: &CancellationToken) {
    while !stop.is_cancelled() {
        live.refresh(Registry::refresh);
        live.publish();
        let _ = asked.try_send(());
        live.fetch(stop);
        if !live.watching {
            return;
        }
        let begun = Instant::now();
        let due = || {
            let soon = live.nudged.load(Ordering::Relaxed);
            begun.elapsed() >= if soon { ASK_SOON.min(live.ask_again) } else { live.ask_again }
        };
        while !stop.is_cancelled() && !due() {
            std::thread::sleep(PATIENCE.min(live.ask_again));
        }
        live.nudged.store(false, Ordering::Relaxed);
    }
}

/// The time in which files are fetched from one source. It ends also when the source panics.
struct Turn<'l> {
    live: &'l Live,
    source: &'l str,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        locked(&self.live.fetching).remove(self.source);
    }
}

/// What was seen of what no watcher tells of.
#[derive(Default)]
struct LookedAt {
    /// The skill behind which the look at files goes on.
    after: Option<String>,
    /// The changes of files that were told.
    changes: u64,
    /// When the file of approvals was last written, and its size; nothing when there is none.
    stamp: Option<(SystemTime, u64)>,
    /// What is trusted.
    approvals: Option<Approvals>,
}
