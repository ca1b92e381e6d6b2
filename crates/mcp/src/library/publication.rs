//! The published library: the current snapshot, a view of it for each filter of a token, and what is known about reading it.
//!
//! The threads that read the library put snapshots in, and requests take them out. A reload replaces those threads; this
//! state stays, so that no request ever finds it empty.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime};

use prowess::internal::{locked, state_notes};
use prowess::session::Filter;
use tokio::sync::watch;

use crate::library::sessions::Sessions;
use crate::library::snapshot::{FileChanges, Snapshot};
use crate::library::states::Lost;
use crate::library::turns::Turns;

/// How long clients may cache results when changes are not watched, in milliseconds.
const UNWATCHED_TTL: u64 = 60_000;
/// The maximum number of skills that are named in the log when they are no longer served.
const MAX_NAMED: usize = 20;

/// The published library.
pub(crate) struct Publication {
    state: Mutex<State>,
    first: Condvar,
    /// Locked while a snapshot or a view is built, since several threads build them.
    publishing: Mutex<()>,
    file_changes: Arc<FileChanges>,
    changed: watch::Sender<u64>,
    watching: bool,
    /// What was said about the files of Prowess itself.
    notes: Mutex<BTreeSet<String>>,
    /// When it was requested that remote sources are polled soon, if it was since the last poll.
    poll_requested: Mutex<Option<Instant>>,
}

#[derive(Default)]
struct State {
    /// The latest generation that published something.
    generation: u64,
    /// `None` until the library was read for the first time.
    current: Option<Current>,
    /// The filters of tokens, by their text.
    filters: BTreeMap<String, Filter>,
    reading: Reading,
}

#[derive(Clone)]
struct Current {
    whole: Arc<Snapshot>,
    /// By the text of their filters.
    views: BTreeMap<String, Arc<Snapshot>>,
    turns: Arc<Turns>,
}

impl Current {
    fn new(whole: Arc<Snapshot>, views: BTreeMap<String, Arc<Snapshot>>) -> Self {
        let turns = Turns::new(Arc::clone(&whole), views.values());
        Self { whole, views, turns }
    }
}

/// What is known about reading the library.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reading {
    /// When the sources were last read.
    pub(crate) last: Option<SystemTime>,
    /// Whether that succeeded. Problems of single sources do not count; [`Publication::could_read`] does when all have some.
    pub(crate) ok: bool,
    /// Whether all sources, remote ones too, were asked at least once.
    pub(crate) asked: bool,
    /// The number of sources and parts of them that could not be read.
    pub(crate) problems: usize,
    /// Whether no source at all could be listed. Remote ones may have skills that they listed before.
    pub(crate) lists_nothing: bool,
}

impl Publication {
    pub(crate) fn new(watching: bool) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::default(),
            first: Condvar::new(),
            publishing: Mutex::default(),
            file_changes: Arc::default(),
            changed: watch::Sender::new(0),
            watching,
            notes: Mutex::default(),
            poll_requested: Mutex::default(),
        })
    }

    /// Keeps other threads from building snapshots and views.
    pub(crate) fn publishing(&self) -> MutexGuard<'_, ()> {
        locked(&self.publishing)
    }

    /// Whether a generation may publish: not after a later one has.
    pub(crate) fn accepts(&self, generation: u64) -> bool {
        locked(&self.state).generation <= generation
    }

    /// Makes a snapshot of these sessions the current one. The caller holds [`Self::publishing`].
    pub(crate) fn publish(&self, generation: u64, sessions: Sessions) {
        let (before, filters) = {
            let state = locked(&self.state);
            (state.current.clone(), state.filters.clone())
        };
        let before = before.map(|Current { whole, .. }| whole);
        let number = before.as_ref().map_or(1, |before| before.number + 1);
        // Built outside of the lock, which the threads of the runtime take too.
        let changes = Arc::clone(&self.file_changes);
        let whole = Arc::new(Snapshot::new(number, before.as_deref(), sessions, changes));
        let views = filters.into_iter().map(|(text, filter)| (text, Arc::new(whole.view(&filter)))).collect();
        let current = Current::new(Arc::clone(&whole), views);
        {
            let mut state = locked(&self.state);
            state.generation = generation;
            state.current = Some(current);
        }
        // Logged only now: a reader of the log finds these skills in the metrics.
        let counts = whole.counts();
        let left_out = counts.left_out();
        tracing::info!(target: "prowess", state = number, skills = counts.served(), left_out, "library");
        if let Some(before) = before {
            log_lost(&whole, &before);
        }
        self.first.notify_all();
        self.changed.send_replace(number);
    }

    /// Builds the views for these filters, and drops all others. Reads files, so it must not be called on a thread of the
    /// runtime.
    pub(crate) fn set_filters(&self, filters: impl IntoIterator<Item = Filter>) {
        let _one_at_a_time = self.publishing();
        let filters = filters.into_iter().map(|filter| (filter.as_str().to_owned(), filter));
        let filters: BTreeMap<String, Filter> = filters.filter(|(text, _)| !text.is_empty()).collect();
        let current = locked(&self.state).current.clone();
        let current = current.map(|Current { whole, views: known, .. }| {
            let view = |(text, filter): (&String, &Filter)| {
                let known = known.get(text).map(Arc::clone);
                (text.clone(), known.unwrap_or_else(|| Arc::new(whole.view(filter))))
            };
            let views = filters.iter().map(view).collect();
            Current::new(whole, views)
        });
        let mut state = locked(&self.state);
        state.current = current;
        state.filters = filters;
    }

    /// The current snapshot, if there is one.
    pub(crate) fn whole(&self) -> Option<Arc<Snapshot>> {
        locked(&self.state).current.as_ref().map(|current| Arc::clone(&current.whole))
    }

    /// The skills of the current snapshot and its views, for inspecting them in turn.
    pub(crate) fn turns(&self) -> Option<Arc<Turns>> {
        locked(&self.state).current.as_ref().map(|current| Arc::clone(&current.turns))
    }

    /// Notifies clients of changed files.
    pub(crate) fn announce(&self, number: u64) {
        self.changed.send_replace(number);
    }

    /// Whether there are clients to notify.
    pub(crate) fn has_listeners(&self) -> bool {
        self.changed.receiver_count() > 0
    }

    /// Logs which files of Prowess itself were ignored or closed, each once while the server runs. Otherwise this would be
    /// said when it ends.
    pub(crate) fn log_notes(&self) {
        for note in state_notes() {
            if locked(&self.notes).insert(note.text.clone()) {
                tracing::warn!(target: "prowess", hint = note.hint.map(|hint| hint.to_string()), "{}", note.text);
            }
        }
    }

    /// When it was first requested that remote sources are polled soon, since the last poll.
    pub(crate) fn poll_requested(&self) -> Option<Instant> {
        *locked(&self.poll_requested)
    }

    /// Forgets the requests of a poll that is made now.
    pub(crate) fn end_poll_request(&self) {
        *locked(&self.poll_requested) = None;
    }

    /// Records what a generation knows about reading the library. It counts for the generation that is served, or for the
    /// first before it is: a remote source may answer long after a reload has removed it.
    pub(crate) fn record(&self, generation: u64, reading: Reading) {
        let mut state = locked(&self.state);
        if generation == state.generation.max(1) {
            state.reading = reading;
        }
    }

    pub(crate) fn reading(&self) -> Reading {
        locked(&self.state).reading
    }

    /// Whether anything could be read: not when no source could be listed, or nothing was found and sources have problems.
    pub(crate) fn could_read(&self) -> bool {
        let state = locked(&self.state);
        let (whole, reading) =
            (state.current.as_ref().map(|current| Arc::clone(&current.whole)), state.reading);
        drop(state);
        let found = whole.is_some_and(|now| now.catalog().all().next().is_some());
        reading.ok && !reading.lists_nothing && (found || reading.problems == 0)
    }
}

/// Logs the skills that were served and are not any more.
fn log_lost(now: &Snapshot, before: &Snapshot) {
    let Lost { alone: lost, with_their_source } = now.lost_since(before);
    for (source, skills) in &with_their_source {
        let source = &**source;
        tracing::warn!(target: "prowess", source, skills, "skills are no longer served: their source could not be read");
    }
    for (skill, reason) in lost.iter().take(MAX_NAMED) {
        tracing::warn!(target: "prowess", skill, reason, "a skill is no longer served");
    }
    if let Some(more) = lost.len().checked_sub(MAX_NAMED).filter(|more| *more > 0) {
        tracing::warn!(target: "prowess", skills = more, "more skills are no longer served");
    }
}

/// The part of the library that one client sees.
#[derive(Clone)]
pub(crate) struct LibraryView {
    publication: Arc<Publication>,
    /// The filter of the client's token.
    bounds: Filter,
}

impl LibraryView {
    /// The view through a filter, for which [`Publication::set_filters`] has built a snapshot.
    pub(crate) fn new(publication: Arc<Publication>, bounds: Filter) -> Self {
        Self { publication, bounds }
    }

    fn of(&self, current: &Current) -> Option<Arc<Snapshot>> {
        match self.bounds.as_str() {
            "" => Some(Arc::clone(&current.whole)),
            text => current.views.get(text).cloned(),
        }
    }

    /// The current snapshot. Blocks until there is one, so it must not be called on a thread of the runtime.
    pub(crate) fn current(&self) -> Arc<Snapshot> {
        let mut state = locked(&self.publication.state);
        loop {
            if let Some(current) = state.current.as_ref() {
                if let Some(snapshot) = self.of(current) {
                    return snapshot;
                }
                // The token was revoked a moment ago, and its view is gone.
                let whole = Arc::clone(&current.whole);
                drop(state);
                return Arc::new(whole.view(&self.bounds));
            }
            state = self.publication.first.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The current snapshot, if there is one.
    pub(crate) fn known(&self) -> Option<Arc<Snapshot>> {
        locked(&self.publication.state).current.as_ref().and_then(|current| self.of(current))
    }

    /// The state of the newest snapshot, as [`Snapshot::state`]; its number is 0 before the first.
    pub(crate) fn state(&self) -> (u64, u64) {
        (*self.publication.changed.borrow(), self.publication.file_changes.count())
    }

    /// Receives the numbers of new snapshots.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.publication.changed.subscribe()
    }

    /// Requests a poll of remote sources, after one returned another file than it listed, or none.
    pub(crate) fn poll_soon(&self) {
        locked(&self.publication.poll_requested).get_or_insert_with(Instant::now);
    }

    /// Whether changes are watched.
    pub(crate) fn watching(&self) -> bool {
        self.publication.watching
    }

    /// How long clients may cache results. With notifications, not at all.
    pub(crate) fn ttl_ms(&self) -> u64 {
        if self.watching() { 0 } else { UNWATCHED_TTL }
    }
}
