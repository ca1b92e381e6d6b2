//! The library in one state: which skills are served to whom, and what was published of them a moment ago.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use prowess::render::estimate_tokens;
use prowess::session::{Actor, ReinjectBudget, Session};
use prowess::{Candidate, Catalog, Registry, RelPath};

use crate::address;
use crate::lock::locked;
use crate::publish::{Published, look};
use crate::wire::Era;

/// For how long a look at the files of a skill counts. The watcher tells of SKILL.md at once; the files beside it are
/// looked at again when somebody asks, and no more often than this.
const FRESH: Duration = Duration::from_millis(250);
/// The same for a skill whose files are fetched from elsewhere for it. They are looked at by the thread that asks their
/// source, and lists wait for none of them.
const FRESH_FAR: Duration = Duration::from_secs(30);
/// The most pages that are kept; only cursors of ours get this far, and there are as many as pages.
const MAX_PAGES: usize = 4096;

/// One skill that is served, and what was last seen of it.
#[derive(Default)]
struct Served {
    /// Whether the model may start it: what a list shows.
    listed: bool,
    /// Whether a user may start it: what prompts show.
    invocable: bool,
    /// Whether its files have to be fetched from elsewhere before it can be published.
    fetched: bool,
    seen: Mutex<Option<Seen>>,
}

#[derive(Clone)]
struct Seen {
    at: Instant,
    published: Result<Arc<Published>, String>,
}

struct Kept {
    made: Instant,
    /// The changes of files that it may know of.
    changes: u64,
    /// Whether somebody makes it anew.
    looking: bool,
    page: Bytes,
}

/// The library in one state.
pub(crate) struct Snapshot {
    /// Counts the states.
    pub(crate) number: u64,
    pub(crate) registry: Arc<Registry>,
    /// Sessions in which nothing has happened, to be copied: for a connection, and for a single call.
    pub(crate) session: Session,
    pub(crate) single: Session,
    /// The texts of the skills that are active from the start, within the usual budget; empty when there are none.
    pub(crate) preloaded: String,
    served: BTreeMap<String, Served>,
    /// Counts how often the files of a skill were found to be others, over all states.
    file_changes: Arc<AtomicU64>,
    pages: Mutex<BTreeMap<(Option<String>, Era), Kept>>,
}

impl Snapshot {
    /// The state of a registry. What the sessions' policy shows to nobody does not exist here, by any name. What was
    /// fetched of a skill that is still the same is known from the state before.
    pub(crate) fn new(
        number: u64,
        before: Option<&Self>,
        registry: Arc<Registry>,
        session: Session,
        single: Session,
        file_changes: Arc<AtomicU64>,
    ) -> Self {
        let mut served: BTreeMap<String, Served> = BTreeMap::new();
        let seen_by =
            |by| session.visible(by, session.filter()).into_iter().map(|skill| skill.entry.key.clone());
        for key in seen_by(Actor::Host) {
            served.entry(key).or_default();
        }
        for key in seen_by(Actor::Model) {
            served.entry(key).or_default().listed = true;
        }
        for key in seen_by(Actor::User) {
            served.entry(key).or_default().invocable = true;
        }
        for (key, served) in &mut served {
            let Some(skill) = session.catalog().get(key) else { continue };
            served.fetched = skill.announced.is_none() && registry.is_far(skill);
            let known = before.filter(|before| before.catalog().get(key) == Some(skill));
            if let Some(known) = known.filter(|_| served.fetched).and_then(|before| before.served.get(key)) {
                served.seen = Mutex::new(locked(&known.seen).clone());
            }
        }
        let preloaded = session.reinject(ReinjectBudget::default(), &estimate_tokens).text;
        Self { number, registry, session, single, preloaded, served, file_changes, pages: Mutex::default() }
    }

    /// A skill for a list, if it is published. What has to be fetched for it is not waited for: until then it is not on
    /// the list.
    pub(crate) fn published_by_now(&self, key: &str) -> Option<Arc<Published>> {
        let served = self.served.get(key)?;
        if !served.fetched {
            return self.published(key);
        }
        // Held while it is fetched.
        let seen = served.seen.try_lock().ok()?;
        seen.as_ref().and_then(|seen| seen.published.clone().ok())
    }

    /// Fetches what the skills from elsewhere are published by, for so long and until `stopped`.
    pub(crate) fn fetch(&self, budget: Duration, stopped: impl Fn() -> bool) {
        let begun = Instant::now();
        let fetched = self.served.iter().filter(|(_, served)| served.fetched);
        for (key, served) in fetched.take_while(|_| begun.elapsed() < budget && !stopped()) {
            let new = locked(&served.seen).is_none();
            if self.published(key).is_some() && new {
                // It is on the list from now on.
                self.file_changes.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    fn catalog(&self) -> &Catalog {
        self.session.catalog()
    }

    /// A skill that is served.
    pub(crate) fn candidate(&self, key: &str) -> Option<&Candidate> {
        self.served.get(key).and_then(|_| self.catalog().get(key))
    }

    /// A skill, if it is published.
    pub(crate) fn published(&self, key: &str) -> Option<Arc<Published>> {
        let fresh = if self.served.get(key)?.fetched { FRESH_FAR } else { FRESH };
        self.published_within(key, fresh)
    }

    /// A skill as it is now, if it is published.
    pub(crate) fn published_now(&self, key: &str) -> Option<Arc<Published>> {
        self.published_within(key, Duration::ZERO)
    }

    fn published_within(&self, key: &str, fresh: Duration) -> Option<Arc<Published>> {
        let served = self.served.get(key)?;
        // Two who ask for one skill do the work once; nobody else waits.
        let mut seen = locked(&served.seen);
        if let Some(seen) = seen.as_ref().filter(|seen| seen.at.elapsed() < fresh) {
            return seen.published.clone().ok();
        }
        let before = seen.take().map(|seen| seen.published);
        let known = before.as_ref().and_then(|before| before.as_ref().ok());
        let published = look(&self.registry, self.catalog().get(key)?, known);
        if let Err(reason) = &published
            && before.as_ref().and_then(|before| before.as_ref().err()) != Some(reason)
        {
            tracing::info!(target: "prowess", skill = key, reason = reason.as_str(), "not published");
        }
        let same = match (&before, &published) {
            (Some(Ok(before)), Ok(now)) => Arc::ptr_eq(before, now),
            (Some(Err(before)), Err(now)) => before == now,
            (None, _) => true,
            _ => false,
        };
        if !same {
            self.file_changes.fetch_add(1, Ordering::Relaxed);
        }
        *seen = Some(Seen { at: Instant::now(), published: published.clone() });
        published.ok()
    }

    /// Looks again at skills that somebody was told of, for so long, and says behind which one to go on.
    pub(crate) fn look_again(&self, after: Option<&str>, budget: Duration) -> Option<String> {
        let begun = Instant::now();
        let told = |(_, served): &(&String, &Served)| !served.fetched && locked(&served.seen).is_some();
        for (key, _) in self.after(after).filter(told) {
            self.published(key);
            if begun.elapsed() >= budget {
                return Some(key.clone());
            }
        }
        None
    }

    /// What changes when anything does that clients are told of.
    pub(crate) fn state(&self) -> (u64, u64) {
        (self.number, self.file_changes.load(Ordering::Relaxed))
    }

    /// How many entries a page has: clients walk no more than fifty pages.
    pub(crate) fn page_size(&self) -> usize {
        100.max(self.served.len().div_ceil(40))
    }

    /// The keys behind a key, in order: of the skills that a list shows.
    pub(crate) fn listed_after(&self, after: Option<&str>) -> impl Iterator<Item = &str> {
        self.after(after).filter(|(_, served)| served.listed).map(|(key, _)| key.as_str())
    }

    /// The skills behind a key, in order: those that a user may start.
    pub(crate) fn invocable_after(&self, after: Option<&str>) -> impl Iterator<Item = &Candidate> {
        self.after(after)
            .filter(|(_, served)| served.invocable)
            .filter_map(|(key, _)| self.catalog().get(key))
    }

    /// Whether a user may start a skill.
    pub(crate) fn is_invocable(&self, key: &str) -> bool {
        self.served.get(key).is_some_and(|served| served.invocable)
    }

    fn after(&self, after: Option<&str>) -> impl Iterator<Item = (&String, &Served)> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.served.range::<str, _>((from, Bound::Unbounded))
    }

    /// A page of the list that was made a moment ago. When it is time to make it anew, one asker gets nothing and
    /// makes it; the others have the last one until then.
    pub(crate) fn page(&self, cursor: Option<&str>, era: Era) -> Option<Bytes> {
        let mut pages = locked(&self.pages);
        let kept = pages.get_mut(&(cursor.map(str::to_owned), era))?;
        // Whoever is told of a change and asks must not be given what was so before.
        if kept.changes != self.state().1 {
            return None;
        }
        let age = kept.made.elapsed();
        if age < FRESH || (kept.looking && age < 2 * FRESH) {
            return Some(kept.page.clone());
        }
        kept.looking = true;
        None
    }

    /// Keeps a page for those who ask next. `changes` were known when it was begun.
    pub(crate) fn keep_page(&self, cursor: Option<String>, era: Era, changes: u64, page: Bytes) {
        let mut pages = locked(&self.pages);
        if pages.len() < MAX_PAGES {
            pages.insert((cursor, era), Kept { made: Instant::now(), changes, looking: false, page });
        }
    }

    /// What tells two states of a resource apart; nothing when it is not served.
    pub(crate) fn state_of(&self, uri: &str) -> Option<String> {
        let (key, path) = address::parse(uri)?;
        let published = self.published(&key)?;
        let file = published.files.get(&RelPath::from_request(&path).ok()?)?;
        Some(file.digest.clone().unwrap_or_default())
    }

    /// What tells two states of each list apart.
    pub(crate) fn marks(&self) -> Marks {
        let shown = |skill: &&Candidate| {
            let (entry, client) = (&skill.entry, &skill.entry.client);
            let shown = format!("{:?}", (&entry.description, &client.arguments, &client.argument_hint));
            (entry.key.clone(), shown)
        };
        let skills = || self.served.keys().filter_map(|key| self.catalog().get(key));
        Marks {
            files: self.state().1,
            // Tools name the skills; beyond a number of them they name none.
            tools: self.session.tools().into_iter().map(|tool| tool.input_schema.to_string()).collect(),
            prompts: self.invocable_after(None).map(|skill| shown(&skill)).collect(),
            resources: skills()
                .map(|skill| {
                    (skill.entry.key.clone(), format!("{:?} {}", skill.stamp, skill.entry.invocation.model))
                })
                .collect(),
        }
    }
}

/// What tells two states of each list apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    pub(crate) files: u64,
    pub(crate) tools: Vec<String>,
    pub(crate) prompts: BTreeMap<String, String>,
    pub(crate) resources: BTreeMap<String, String>,
}
