//! The library in one state: which skills are served to whom, and what was published of them a moment ago.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use prowess::render::estimate_tokens;
use prowess::session::{Actor, ReinjectBudget, Session};
use prowess::{Candidate, Catalog, Registry, RelPath};

use crate::library::published::{Published, look};
use crate::lock::locked;
use crate::protocol::uri;
use crate::protocol::wire::Era;

/// For how long a look at the files of a skill counts. The watcher tells of SKILL.md at once; the files beside it are
/// looked at again when somebody asks, and no more often than this.
const FRESH: Duration = Duration::from_millis(250);
/// The same for a skill whose files are fetched from elsewhere for it. They are looked at by the thread that asks their
/// source, and lists wait for none of them.
const FRESH_FAR: Duration = Duration::from_secs(30);
/// The same when a file that was read is not the listed one: each such read would fetch the whole skill otherwise.
const FRESH_FAR_CHANGED: Duration = Duration::from_secs(5);
/// The most pages that are kept; only cursors of ours get this far, and there are as many as pages.
const MAX_PAGES: usize = 4096;

/// One skill that is served, and what was last seen of it.
#[derive(Default)]
struct Served {
    /// Whether the model may start it: what a list shows.
    listed: bool,
    /// Whether a user may start it: what prompts show.
    invocable: bool,
    /// The remote source that it is read from, if it is.
    remote: Option<Arc<str>>,
    /// Whether its files have to be fetched from there before it can be published.
    fetched: bool,
    /// Shared with the states before and after in which a skill that is fetched is the same.
    looks: Arc<Looks>,
}

/// The last look at the files of a skill.
#[derive(Default)]
struct Looks {
    /// Held while the files are looked at, which takes long if they are fetched.
    looking: Mutex<()>,
    /// Held for a moment only.
    seen: Mutex<Option<Seen>>,
}

impl Looks {
    fn last(&self) -> Option<Seen> {
        locked(&self.seen).clone()
    }

    /// When the files were last looked at.
    fn at(&self) -> Option<Instant> {
        locked(&self.seen).as_ref().map(|seen| seen.at)
    }
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
    /// The state of a registry. Skills that the sessions' policy hides are not part of it, by any name. What was
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
            let Some(skill) = session.catalog().get(key).filter(|skill| registry.is_far(skill)) else {
                continue;
            };
            served.remote = Some(Arc::clone(&skill.source));
            served.fetched = skill.announced.is_none();
            let known = before.filter(|before| before.catalog().get(key) == Some(skill));
            if let Some(known) = known.filter(|_| served.fetched).and_then(|before| before.served.get(key)) {
                // Also what is fetched for the state before right now counts here.
                served.looks = Arc::clone(&known.looks);
            }
        }
        let preloaded = session.reinject(ReinjectBudget::default(), &estimate_tokens).text;
        let pages = Mutex::default();
        Self { number, registry, session, single, preloaded, served, file_changes, pages }
    }

    /// The remote source that the skill of this key is read from, if it is.
    pub(crate) fn remote_source(&self, key: &str) -> Option<Arc<str>> {
        self.served.get(key)?.remote.clone()
    }

    /// A skill for a list, if it is published. What has to be fetched for it is not waited for: until then it is not on
    /// the list.
    pub(crate) fn published_by_now(&self, key: &str) -> Option<Arc<Published>> {
        let served = self.served.get(key)?;
        if !served.fetched {
            return self.published(key);
        }
        // While it is fetched again, what was fetched before counts.
        served.looks.last().and_then(|seen| seen.published.ok())
    }

    /// The sources whose skills have to be fetched.
    pub(crate) fn fetched_sources(&self) -> BTreeSet<Arc<str>> {
        let fetched = self.served.values().filter(|served| served.fetched);
        fetched.filter_map(|served| served.remote.clone()).collect()
    }

    /// Fetches the files of one source's skills, at least those of one, for so long and until `stopped`: first of new
    /// skills, then of those that were looked at longest ago. So the next call goes on where this one ends, and skills
    /// that take all the time keep no others off the list.
    pub(crate) fn fetch(&self, source: &str, budget: Duration, stopped: impl Fn() -> bool) {
        let begun = Instant::now();
        let of_source = |served: &Served| served.fetched && served.remote.as_deref() == Some(source);
        let mut due: Vec<(Option<Instant>, &str)> = self
            .served
            .iter()
            .filter(|(_, served)| of_source(served))
            .map(|(key, served)| (served.looks.at(), key.as_str()))
            .collect();
        due.sort_unstable();
        for (_, key) in due {
            if stopped() {
                return;
            }
            self.published(key);
            if begun.elapsed() >= budget {
                return;
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
        self.published_within(key, fresh, true)
    }

    /// A skill after a read has shown that it is not what was seen of it: the digests are made of the bytes that are
    /// there now.
    pub(crate) fn published_now(&self, key: &str) -> Option<Arc<Published>> {
        let fresh = if self.served.get(key)?.fetched { FRESH_FAR_CHANGED } else { Duration::ZERO };
        self.published_within(key, fresh, false)
    }

    fn published_within(&self, key: &str, fresh: Duration, remembered: bool) -> Option<Arc<Published>> {
        let served = self.served.get(key)?;
        // Two who ask for one skill do the work once; nobody else waits.
        let _one_at_a_time = locked(&served.looks.looking);
        let before = served.looks.last();
        if let Some(seen) = before.as_ref().filter(|seen| seen.at.elapsed() < fresh) {
            return seen.published.clone().ok();
        }
        let before = before.map(|seen| seen.published);
        let known = before.as_ref().and_then(|before| before.as_ref().ok());
        let published = look(&self.registry, self.catalog().get(key)?, known, remembered);
        if let Err(reason) = &published
            && before.as_ref().and_then(|before| before.as_ref().err()) != Some(reason)
        {
            tracing::info!(target: "prowess", skill = key, reason = reason.as_str(), "not published");
        }
        let same = match (&before, &published) {
            (Some(Ok(before)), Ok(now)) => Arc::ptr_eq(before, now),
            (Some(Err(before)), Err(now)) => before == now,
            // What was fetched is on the list from now on.
            (None, Ok(_)) => !served.fetched,
            (None, Err(_)) => true,
            _ => false,
        };
        if !same {
            self.file_changes.fetch_add(1, Ordering::Relaxed);
        }
        *locked(&served.looks.seen) = Some(Seen { at: Instant::now(), published: published.clone() });
        published.ok()
    }

    /// Looks again at skills that somebody was told of, for so long, and says behind which one to go on.
    pub(crate) fn look_again(&self, after: Option<&str>, budget: Duration) -> Option<String> {
        let begun = Instant::now();
        let told = |(_, served): &(&String, &Served)| !served.fetched && served.looks.at().is_some();
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

    /// What tells two states of a resource apart; nothing when it is not served. It waits for no remote source.
    pub(crate) fn state_of(&self, uri: &str) -> Option<String> {
        let (key, path) = uri::parse(uri)?;
        let published = self.published_by_now(&key)?;
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

#[cfg(test)]
mod tests {
    use prowess::session::{Options, Policy};
    use prowess::source::{Chunk, Layer, Offer, Slice, Source};
    use prowess::{MemorySource, Scope, SourceError};

    use super::*;

    /// A source whose skills have to be fetched.
    struct Remote(MemorySource);

    impl Source for Remote {
        fn id(&self) -> &'static str {
            "remote"
        }

        fn is_far(&self) -> bool {
            true
        }

        fn list(&self) -> Result<Offer, SourceError> {
            self.0.list()
        }

        fn read(&self, skill: &Candidate, path: &RelPath, slice: Slice) -> Result<Chunk, SourceError> {
            self.0.read(skill, path, slice)
        }
    }

    fn of_remote(names: &[&str]) -> (Snapshot, Arc<str>) {
        let source = MemorySource::new("remote");
        for name in names {
            source.insert(*name, format!("---\nname: {name}\ndescription: d\n---\n"), Scope::Remote);
        }
        let mut registry = Registry::new();
        registry.add(Layer::shared(Arc::new(Remote(source))));
        registry.refresh().unwrap();
        let session = || Session::new("mcp", registry.catalog(), Policy::default(), Options::default());
        let (session, single) = (session(), session());
        let snapshot = Snapshot::new(1, None, Arc::new(registry), session, single, Arc::default());
        let sources = snapshot.fetched_sources();
        (snapshot, sources.into_iter().next().unwrap())
    }

    #[test]
    fn what_is_fetched_goes_on_where_the_time_was_over() {
        let names = ["a", "b", "c"];
        let (snapshot, source) = of_remote(&names);
        let listed = || names.map(|name| snapshot.published_by_now(name).is_some());
        assert_eq!(listed(), [false; 3]);
        for expected in [[true, false, false], [true, true, false], [true; 3]] {
            let told = snapshot.state();
            snapshot.fetch(&source, Duration::ZERO, || false);
            assert_eq!(listed(), expected);
            assert_ne!(snapshot.state(), told, "clients are told of each");
        }
        snapshot.fetch("another", Duration::ZERO, || false);
        assert_eq!(listed(), [true; 3]);
    }

    #[test]
    fn a_remote_skill_stays_on_the_list_while_it_is_fetched_again() {
        let (snapshot, source) = of_remote(&["a"]);
        snapshot.fetch(&source, Duration::ZERO, || false);
        let _fetching = locked(&snapshot.served["a"].looks.looking);
        assert!(snapshot.published_by_now("a").is_some());
        assert!(snapshot.state_of("skill://a/SKILL.md").is_some());
    }
}
