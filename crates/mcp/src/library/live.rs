//! One generation of the live library: its sources are read on their own threads, and followed as they change.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use prowess::registry::RegistryError;
use prowess::registry::trust::{Approvals, Trust};
use prowess::search::LazyIndex;
use prowess::session::{Filter, Options, Policy};
use prowess::watch::{WatchError, WatchOptions, Watcher};
use prowess::{Candidate, Catalog, Delta, Obstacle, Registry, SourceError, Standing};
use tokio_util::sync::CancellationToken;

use crate::ServeOptions;
use crate::library::publication::{Publication, Reading};
use crate::library::sessions::{self, Index, Sessions};
use crate::library::snapshot::Snapshot;
use crate::library::turns::{Turn, Turns};
use crate::options::TrustHint;
use prowess::internal::{locked, none_listed};

/// How often the background threads check whether to stop.
const TICK: Duration = Duration::from_millis(250);
/// How often folders are polled where the system reports no changes.
const POLL: Duration = Duration::from_secs(2);
/// How soon remote sources are polled again after a file did not match what its source listed.
const POLL_SOON: Duration = Duration::from_secs(5);
/// How long the first snapshot waits for remote sources. Slower ones are in a later snapshot.
const FIRST_POLL: Duration = Duration::from_secs(2);
/// The same for a reload, which replaces a library that has them.
const RELOAD_POLL: Duration = Duration::from_secs(30);
/// How long the files of one remote source's skills may be fetched after each poll.
const FETCH_TIME: Duration = Duration::from_secs(60);

/// The sources of a library, and how they are published.
pub(crate) struct LiveLibrary {
    registry: Arc<Registry>,
    index: Arc<Index>,
    policy: Policy,
    options: Options,
    watching: bool,
    ask_again: Duration,
    approvals: Option<PathBuf>,
    hint: fn(&SourceError) -> String,
    trust_hint: TrustHint,
    /// The problems that were logged last.
    problems: Mutex<BTreeSet<String>>,
    /// The remote sources from which files are being fetched.
    fetching: Mutex<BTreeSet<Arc<str>>>,
    /// Whether the sources were read at least once.
    read: AtomicBool,
    reading: Mutex<Reading>,
    generation: u64,
    publication: Arc<Publication>,
    stop: CancellationToken,
}

impl LiveLibrary {
    /// The sources of a registry, until `stop` is cancelled. Later generations have higher numbers.
    pub(crate) fn new(
        registry: Registry,
        options: &ServeOptions,
        publication: Arc<Publication>,
        generation: u64,
        stop: CancellationToken,
    ) -> Arc<Self> {
        let registry = Arc::new(registry);
        Arc::new(Self {
            index: Arc::new(LazyIndex::new(Arc::clone(&registry)).with_cache(options.terms.clone())),
            registry,
            policy: options.policy.clone(),
            options: sessions::options(options),
            watching: options.watch,
            ask_again: options.ask_again,
            approvals: options.approvals.clone(),
            hint: options.hint,
            trust_hint: options.trust_hint.clone(),
            problems: Mutex::default(),
            fetching: Mutex::default(),
            read: AtomicBool::new(false),
            reading: Mutex::default(),
            generation,
            publication,
            stop,
        })
    }

    /// Begins to read in the background. `first` gets a message when the first snapshot is published, or the reason why
    /// there is none.
    pub(crate) fn start(self: &Arc<Self>, first: SyncSender<Result<(), String>>) -> JoinHandle<()> {
        let (polled, first_poll) = sync_channel(1);
        if self.registry.has_remote() {
            let own = Arc::clone(self);
            std::thread::spawn(move || poll_remote(&own, &polled));
        } else {
            drop(polled);
        }
        let own = Arc::clone(self);
        std::thread::spawn(move || own.follow(&first_poll, first))
    }

    /// Fetches the files of remote skills, which are needed to publish them. Each source has its own thread, so that a
    /// slow one delays no other. The thread that follows the library sends the notifications.
    fn fetch(self: &Arc<Self>) {
        let Some(turns) = self.turns() else { return };
        for source in turns.fetched_sources() {
            // The last fetch may still be running.
            if !locked(&self.fetching).insert(Arc::clone(&source)) {
                continue;
            }
            let (own, turns) = (Arc::clone(self), Arc::clone(&turns));
            std::thread::spawn(move || {
                let _guard = FetchGuard { live: &own, source: &source };
                turns.fetch(&source, FETCH_TIME, || own.stop.is_cancelled());
            });
        }
    }

    /// The current snapshot, if it is of this generation.
    fn published(&self) -> Option<Arc<Snapshot>> {
        self.turns().map(|turns| Arc::clone(&turns.whole))
    }

    /// The skills of the current snapshot and its views, if it is of this generation.
    fn turns(&self) -> Option<Arc<Turns>> {
        let turns = self.publication.turns();
        turns.filter(|turns| Arc::ptr_eq(&turns.whole.sessions.registry, &self.registry))
    }

    /// Reads the library, and again whenever it changes, until it is stopped.
    fn follow(&self, first_poll: &Receiver<()>, first: SyncSender<Result<(), String>>) {
        if let Err(error) = self.refresh(Registry::refresh_local)
            && self.generation > 1
        {
            let _ = first.send(Err(error.to_string()));
            return;
        }
        let _ = first_poll.recv_timeout(if self.generation > 1 { RELOAD_POLL } else { FIRST_POLL });
        self.publish();
        let _ = first.send(Ok(()));
        drop(first);
        if !self.registry.has_remote() {
            self.record(|reading| reading.asked = true);
        }
        if !self.watching {
            return;
        }
        // The watcher begins with a refresh, which finds changes since the first one.
        let options = WatchOptions::default().with_ask(None);
        let mut watcher = match Watcher::new(Arc::clone(&self.registry), options) {
            Ok(watcher) => watcher,
            Err(error) => {
                tracing::warn!(target: "prowess", reason = %error, "folders are polled");
                return self.poll();
            }
        };
        self.publish();
        let (mut state, mut compared) = (PollState::default(), self.registry.catalog());
        while !self.stop.is_cancelled() {
            match watcher.next(Some(TICK)) {
                Ok(Some(_)) => {
                    self.record_refresh(true);
                    self.publish();
                }
                // A change of a skill that another one shadows is none for the watcher. Comparing takes a while, so each
                // catalog is compared once.
                Ok(None) => {
                    let catalog = self.registry.catalog();
                    if !Arc::ptr_eq(&compared, &catalog) {
                        compared = catalog;
                        self.publish();
                    }
                }
                // Keep serving the old snapshot; a later refresh may succeed.
                Err(error @ WatchError::Registry(_)) => {
                    self.record_refresh(false);
                    tracing::warn!(target: "prowess", reason = %error, "the library could not be read");
                }
                Err(error) => {
                    tracing::warn!(target: "prowess", reason = %error, "folders are polled");
                    return self.poll();
                }
            }
            self.poll_unwatched(&mut state);
        }
    }

    /// Polls folders, where they cannot be watched.
    fn poll(&self) {
        let mut state = PollState::default();
        while !self.stop.is_cancelled() {
            std::thread::sleep(POLL);
            let _ = self.refresh(Registry::refresh_local);
            self.publish();
            self.poll_unwatched(&mut state);
        }
    }

    /// Polls what the watcher does not report.
    fn poll_unwatched(&self, state: &mut PollState) {
        self.poll_approvals(state);
        self.poll_files(state);
        // Any request may find a file of Prowess that it ignores, such as the first search.
        self.publication.log_notes();
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
                let _ = self.refresh(Registry::refresh_local);
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
        let Some(turns) = self.turns().filter(|_| self.publication.has_listeners()) else { return };
        state.after = turns.inspect_again(state.after.as_ref(), TICK / 100);
        let (number, changes) = turns.whole.state();
        if std::mem::replace(&mut state.changes, changes) != changes {
            self.publication.announce(number);
        }
    }

    /// Refreshes the registry, and logs an error.
    fn refresh(&self, how: fn(&Registry) -> Result<Delta, RegistryError>) -> Result<(), RegistryError> {
        let refreshed = how(&self.registry).map(|_| ());
        match &refreshed {
            Ok(()) => self.read.store(true, Ordering::Relaxed),
            Err(_) if self.is_over() => {}
            Err(error) => tracing::warn!(target: "prowess", reason = %error, "the library could not be read"),
        }
        self.record_refresh(refreshed.is_ok());
        refreshed
    }

    /// Changes what is known about reading this generation.
    fn record(&self, change: impl FnOnce(&mut Reading)) {
        let mut reading = locked(&self.reading);
        change(&mut reading);
        self.publication.record(self.generation, *reading);
    }

    fn record_refresh(&self, ok: bool) {
        self.record(|reading| (reading.last, reading.ok) = (Some(SystemTime::now()), ok));
    }

    /// Whether a later generation has replaced this one, or its reload was given up. The first one always publishes
    /// something, since requests wait for it.
    fn is_over(&self) -> bool {
        (self.generation > 1 && self.stop.is_cancelled()) || !self.publication.accepts(self.generation)
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
        let lists_nothing = none_listed(&self.registry);
        self.record(|reading| (reading.problems, reading.lists_nothing) = (now.len(), lists_nothing));
    }

    /// Makes a new snapshot of the registry the current one, if the catalog changed.
    fn publish(&self) {
        self.publication.log_notes();
        let _one_at_a_time = self.publication.publishing();
        // A later generation replaces the one before only when it was read.
        if self.is_over() || (self.generation > 1 && !self.read.load(Ordering::Relaxed)) {
            return;
        }
        self.log_problems();
        let catalog = self.registry.catalog();
        if let Some(now) = self.published() {
            let known = now.sessions.connection.shared_catalog();
            // The client of a token may be offered a skill that another one shadows.
            let is_same = || catalog.since(&known).is_empty() && shadowed(&catalog).eq(shadowed(&known));
            if Arc::ptr_eq(&known, &catalog) || is_same() {
                return;
            }
        }
        let (registry, index) = (Arc::clone(&self.registry), Arc::clone(&self.index));
        let sessions = Sessions::new(registry, index, catalog, self.policy.clone(), self.options.clone());
        self.publication.publish(self.generation, sessions);
        // What was recorded before counts from here on.
        self.record(|_| {});
        self.warn_of_empty();
    }

    /// Logs that skills were found and none is served, and why.
    fn warn_of_empty(&self) {
        let Some(now) = self.published() else { return };
        let counts = now.counts();
        let Some(left_out) = counts.left_out().filter(|_| counts.served() == 0) else { return };
        let filter = &self.policy.filter;
        let (hidden, untrusted, disabled) =
            (counts.of("hidden"), counts.of("untrusted"), counts.of("disabled"));
        // Only trust in those that the filter passes would help.
        let waiting: Vec<&Candidate> = now
            .catalog()
            .all()
            .map(|(skill, _)| skill)
            .filter(|skill| skill.obstacle == Some(Obstacle::Untrusted) && filter.passes(&skill.virtual_path))
            .collect();
        if !waiting.is_empty() {
            let (skills, hint) = (waiting.len(), self.trust_hint.of(&self.registry, &waiting));
            if hidden > 0 {
                let filter = filter.as_str();
                tracing::warn!(target: "prowess", filter, skills, hidden, hint, "no skill is served: those that the filter passes wait for trust");
            } else {
                tracing::warn!(target: "prowess", skills, hint, "no skill is served: they wait for trust");
            }
        } else if hidden + untrusted > 0 {
            if *filter != Filter::none() {
                let skills = hidden + untrusted;
                tracing::warn!(target: "prowess", filter = filter.as_str(), skills, "the filter passes no skill");
            }
        } else if disabled > 0 {
            let by = now.catalog().all().find_map(|(_, standing)| match standing {
                Standing::Blocked { obstacle: Obstacle::Disabled { by } } => Some(by.to_string()),
                _ => None,
            });
            tracing::warn!(target: "prowess", by, skills = disabled, "no skill is served: they are turned off");
        } else {
            tracing::warn!(target: "prowess", left_out, "no skill is served");
        }
    }
}

/// The skills that others shadow.
fn shadowed(catalog: &Catalog) -> impl Iterator<Item = &Candidate> {
    let is_shadowed = |standing: &Standing| matches!(standing, Standing::Shadowed { .. });
    catalog.all().filter(move |(_, standing)| is_shadowed(standing)).map(|(skill, _)| skill)
}

/// Polls remote sources from time to time. Local skills do not wait for them.
fn poll_remote(live: &Arc<LiveLibrary>, polled: &SyncSender<()>) {
    let mut retry = Retry::default();
    while !live.stop.is_cancelled() {
        let refreshed = live.refresh(Registry::refresh);
        live.publish();
        live.record(|reading| reading.asked = true);
        let _ = polled.try_send(());
        live.fetch();
        if !live.watching {
            return;
        }
        let failed = refreshed.is_err() || !live.registry.unlisted().is_empty();
        let wait = retry.wait(failed, live.ask_again);
        let begun = Instant::now();
        let due = || {
            // Counted from the request: a server that has just failed is left alone for a while.
            let requested = live.publication.poll_requested();
            let soon = POLL_SOON.min(live.ask_again);
            begun.elapsed() >= wait || requested.is_some_and(|at| at.elapsed() >= soon)
        };
        while !live.stop.is_cancelled() && !due() {
            std::thread::sleep(TICK.min(live.ask_again));
        }
        live.publication.end_poll_request();
    }
}

/// When sources are asked again: soon if one failed, which may be for a moment, and more and more rarely if it stays away.
#[derive(Default)]
struct Retry {
    failures: u32,
}

impl Retry {
    fn wait(&mut self, failed: bool, ask_again: Duration) -> Duration {
        if !failed {
            self.failures = 0;
            return ask_again;
        }
        let wait = POLL_SOON.saturating_mul(2_u32.saturating_pow(self.failures));
        self.failures = self.failures.saturating_add(1);
        wait.min(ask_again)
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
    /// The skill after which polling of files continues.
    after: Option<Turn>,
    /// The number of file changes that clients were notified of.
    changes: u64,
    /// The modification time and size of the approvals file, if there is one.
    stamp: Option<(SystemTime, u64)>,
    /// The approvals that are in effect.
    approvals: Option<Approvals>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_that_fails_is_asked_again_soon_and_then_more_rarely() {
        let mut retry = Retry::default();
        let mut wait = |failed| retry.wait(failed, Duration::from_secs(60)).as_secs();
        assert_eq!([false, true, true, true, true, true, true].map(&mut wait), [60, 5, 10, 20, 40, 60, 60]);
        assert_eq!([false, true].map(&mut wait), [60, 5]);
        assert_eq!(retry.wait(true, Duration::from_millis(20)), Duration::from_millis(20));
    }
}
