//! The live library: read on its own threads, and kept current as sources change.

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
use prowess::{Delta, Registry, SourceError};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::ServeOptions;
use crate::library::snapshot::Snapshot;
use prowess::internal::locked;

/// How often the background threads check whether to stop.
const TICK: Duration = Duration::from_millis(250);
/// How often folders are polled where the system reports no changes.
const POLL: Duration = Duration::from_secs(2);
/// How soon remote sources are polled again after a file did not match what its source listed.
const POLL_SOON: Duration = Duration::from_secs(5);
/// How long the first snapshot waits for remote sources. Slower ones are in a later snapshot.
const FIRST_POLL: Duration = Duration::from_secs(2);
/// How long the files of one remote source's skills may be fetched after each poll.
const FETCH_TIME: Duration = Duration::from_secs(60);
/// How long clients may cache results when changes are not watched, in milliseconds.
const UNWATCHED_TTL: u64 = 60_000;

/// The library with its current snapshot.
pub(crate) struct LiveLibrary {
    pub(crate) registry: Arc<Registry>,
    policy: Policy,
    options: Options,
    watching: bool,
    ask_again: Duration,
    approvals: Option<PathBuf>,
    hint: fn(&SourceError) -> String,
    /// The problems that were logged last.
    problems: Mutex<BTreeSet<String>>,
    /// `None` until the library was read for the first time.
    current: Mutex<Option<Arc<Snapshot>>>,
    first: Condvar,
    /// Counts the inspections that found changed files.
    file_changes: Arc<AtomicU64>,
    changed: watch::Sender<u64>,
    /// Locked while a snapshot is built, since two threads build them.
    publishing: Mutex<()>,
    /// Whether remote sources are to be polled soon.
    poll_requested: AtomicBool,
    /// The remote sources from which files are being fetched.
    fetching: Mutex<BTreeSet<Arc<str>>>,
    /// The search index, built at the first search.
    pub(crate) index: LazyIndex<Arc<Registry>>,
}

impl LiveLibrary {
    /// Begins to read the library in the background. Requests that do not need it, such as a handshake, do not wait.
    pub(crate) fn start(registry: Registry, options: &ServeOptions, stop: CancellationToken) -> Arc<Self> {
        let mut session = Options::default()
            .with_naming(options.naming.clone())
            .with_max_active(options.max_active)
            .with_show_folders(options.show_folders)
            .with_max_activation_bytes(options.max_activation_bytes);
        session.activation.plain = options.plain;
        // The server runs no scripts.
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
            hint: options.hint,
            problems: Mutex::default(),
            current: Mutex::default(),
            first: Condvar::new(),
            file_changes: Arc::default(),
            changed: watch::Sender::new(0),
            publishing: Mutex::default(),
            poll_requested: AtomicBool::new(false),
            fetching: Mutex::default(),
        });
        let (polled, first_poll) = sync_channel(1);
        if live.registry.has_remote() {
            let (own, stop) = (Arc::clone(&live), stop.clone());
            std::thread::spawn(move || poll_remote(&own, &polled, &stop));
        } else {
            drop(polled);
        }
        let own = Arc::clone(&live);
        std::thread::spawn(move || own.follow(&first_poll, &stop));
        if live.registry.has_preloads() {
            // Their texts are part of the instructions in the handshake.
            live.current();
        }
        live
    }

    /// Fetches the files of remote skills, which are needed to publish them. Each source has its own thread, so that a
    /// slow one delays no other. The thread that follows the library sends the notifications.
    fn fetch(self: &Arc<Self>, stop: &CancellationToken) {
        let Some(snapshot) = self.known() else { return };
        for source in snapshot.fetched_sources() {
            // The last fetch may still be running.
            if !locked(&self.fetching).insert(Arc::clone(&source)) {
                continue;
            }
            let (own, snapshot, stop) = (Arc::clone(self), Arc::clone(&snapshot), stop.clone());
            std::thread::spawn(move || {
                let _guard = FetchGuard { live: &own, source: &source };
                snapshot.fetch(&source, FETCH_TIME, || stop.is_cancelled());
            });
        }
    }

    /// Requests a poll of remote sources, after one returned another file than it listed, or none.
    pub(crate) fn poll_soon(&self) {
        self.poll_requested.store(true, Ordering::Relaxed);
    }

    /// Reads the library, and again whenever it changes, until `stop` is cancelled.
    fn follow(&self, first_poll: &Receiver<()>, stop: &CancellationToken) {
        self.refresh(Registry::refresh_local);
        let _ = first_poll.recv_timeout(FIRST_POLL);
        self.publish();
        if !self.watching {
            return;
        }
        // The watcher begins with a refresh, which finds changes since the first one.
        let options = WatchOptions::default().with_ask(None);
        let mut watcher = match Watcher::new(Arc::clone(&self.registry), options) {
            Ok(watcher) => watcher,
            Err(error) => {
                tracing::warn!(target: "prowess", reason = %error, "folders are polled");
                return self.poll(stop);
            }
        };
        self.publish();
        let mut state = PollState::default();
        while !stop.is_cancelled() {
            match watcher.next(Some(TICK)) {
                Ok(Some(_)) => self.publish(),
                Ok(None) => {}
                // Keep serving the old snapshot; a later refresh may succeed.
                Err(error @ WatchError::Registry(_)) => {
                    tracing::warn!(target: "prowess", reason = %error, "the library could not be read");
                }
                Err(error) => {
                    tracing::warn!(target: "prowess", reason = %error, "folders are polled");
                    return self.poll(stop);
                }
            }
            self.poll_unwatched(&mut state);
        }
    }

    /// Polls folders, where they cannot be watched.
    fn poll(&self, stop: &CancellationToken) {
        let mut state = PollState::default();
        while !stop.is_cancelled() {
            std::thread::sleep(POLL);
            self.refresh(Registry::refresh_local);
            self.publish();
            self.poll_unwatched(&mut state);
        }
    }

    /// Polls what the watcher does not report.
    fn poll_unwatched(&self, state: &mut PollState) {
        self.poll_approvals(state);
        self.poll_files(state);
    }

    /// Applies changes of the approvals file. A file that cannot be read changes nothing.
    fn poll_approvals(&self, state: &mut PollState) {
        let Some(file) = &self.approvals else { return };
        let stamp = std::fs::metadata(file).ok().and_then(|now| Some((now.modified().ok()?, now.len())));
        if std::mem::replace(&mut state.stamp, stamp) == stamp {
            return;
        }
        match Approvals::load(file) {
            Ok(approvals) if state.approvals.as_ref() == Some(&approvals) => {}
            Ok(approvals) => {
                self.registry.set_trust(Trust::in_approved(approvals.clone()));
                state.approvals = Some(approvals);
                self.refresh(Registry::refresh_local);
                self.publish();
            }
            Err(error) => {
                tracing::warn!(target: "prowess", reason = %error, "what is trusted could not be read");
            }
        }
    }

    /// Polls the files beside SKILL.md, which the watcher does not report: those of skills that a client has listed or
    /// read, while there are clients to notify, and for a hundredth of the time.
    fn poll_files(&self, state: &mut PollState) {
        let Some(snapshot) = self.known().filter(|_| self.changed.receiver_count() > 0) else { return };
        state.after = snapshot.inspect_again(state.after.as_deref(), TICK / 100);
        let changes = snapshot.state().1;
        if std::mem::replace(&mut state.changes, changes) != changes {
            self.changed.send_replace(snapshot.number);
        }
    }

    /// Refreshes the registry, and logs an error.
    fn refresh(&self, how: fn(&Registry) -> Result<Delta, RegistryError>) {
        if let Err(error) = how(&self.registry) {
            tracing::warn!(target: "prowess", reason = %error, "the library could not be read");
        }
    }

    /// Logs new problems of the registry. The rest of the library is served.
    fn log_problems(&self) {
        let mut logged = locked(&self.problems);
        let now = self.registry.problems();
        for problem in &now {
            if !logged.contains(&problem.to_string()) {
                let (reason, hint) = (problem.to_string(), (self.hint)(problem));
                tracing::warn!(target: "prowess", reason, hint = %hint, "a part of the library could not be read");
            }
        }
        *logged = now.iter().map(ToString::to_string).collect();
    }

    /// Activates the preloaded skills. A remote one would delay the library, so it is read when it is loaded.
    fn preload(&self, session: &mut Session) {
        let performer = Performer::new(&self.registry, &self.index);
        for (name, step) in session.preload(&[]) {
            let remote = session.catalog().get(&name).is_some_and(|skill| self.registry.is_remote(skill));
            let result = match step {
                Step::Need(ticket, _) if remote => {
                    session.cancel(ticket);
                    tracing::info!(target: "prowess", skill = name, "not preloaded: it is in a remote source");
                    continue;
                }
                step => finish(session, &performer, step),
            };
            if let Some(reason) = result.reason {
                tracing::warn!(target: "prowess", skill = name, reason = reason.code(), "not preloaded");
            }
        }
    }

    /// Makes a new snapshot of the registry the current one, if the catalog changed.
    fn publish(&self) {
        let _one_at_a_time = locked(&self.publishing);
        self.log_problems();
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
        // A single call has no limit of active skills, and nothing to unload.
        let mut options = self.options.clone().with_max_active(0);
        options.tools.remove(&Tool::Unload);
        let single = Session::new("mcp", catalog, self.policy.clone(), options);
        tracing::info!(target: "prowess", state = number, skills = session.catalog().len(), "library");
        // Built outside of the lock, which the threads of the runtime take too.
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

    /// The current snapshot. Blocks until there is one, so it must not be called on a thread of the runtime.
    pub(crate) fn current(&self) -> Arc<Snapshot> {
        let mut current = locked(&self.current);
        loop {
            if let Some(snapshot) = current.as_ref() {
                return Arc::clone(snapshot);
            }
            current = self.first.wait(current).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The current snapshot, if there is one.
    pub(crate) fn known(&self) -> Option<Arc<Snapshot>> {
        locked(&self.current).clone()
    }

    /// Receives the numbers of new snapshots.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Whether changes are watched.
    pub(crate) fn watching(&self) -> bool {
        self.watching
    }

    /// How long clients may cache results. With notifications, not at all.
    pub(crate) fn ttl_ms(&self) -> u64 {
        if self.watching { 0 } else { UNWATCHED_TTL }
    }
}

/// Polls remote sources from time to time. Local skills do not wait for them.
fn poll_remote(live: &Arc<LiveLibrary>, polled: &SyncSender<()>, stop: &CancellationToken) {
    while !stop.is_cancelled() {
        live.refresh(Registry::refresh);
        live.publish();
        let _ = polled.try_send(());
        live.fetch(stop);
        if !live.watching {
            return;
        }
        let begun = Instant::now();
        let due = || {
            let soon = live.poll_requested.load(Ordering::Relaxed);
            begun.elapsed() >= if soon { POLL_SOON.min(live.ask_again) } else { live.ask_again }
        };
        while !stop.is_cancelled() && !due() {
            std::thread::sleep(TICK.min(live.ask_again));
        }
        live.poll_requested.store(false, Ordering::Relaxed);
    }
}

/// Marks a source as being fetched until it is dropped, also when the source panics.
struct FetchGuard<'l> {
    live: &'l LiveLibrary,
    source: &'l str,
}

impl Drop for FetchGuard<'_> {
    fn drop(&mut self) {
        locked(&self.live.fetching).remove(self.source);
    }
}

/// The state of polling what the watcher does not report.
#[derive(Default)]
struct PollState {
    /// The key after which polling of files continues.
    after: Option<String>,
    /// The number of file changes that clients were notified of.
    changes: u64,
    /// The modification time and size of the approvals file, if there is one.
    stamp: Option<(SystemTime, u64)>,
    /// The approvals that are in effect.
    approvals: Option<Approvals>,
}
