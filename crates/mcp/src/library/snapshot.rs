//! A snapshot of the library: the served skills, who may see each, and what was last published of it.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use bytes::Bytes;
use prowess::render::estimate_tokens;
use prowess::session::{Actor, Filter, ReinjectBudget};
use prowess::{Candidate, Catalog, Digest, Location, Registry, RelPath};
use sha2::{Digest as _, Sha256};

use crate::library::pages::PageCache;
use crate::library::published::{Published, inspect};
use crate::library::sessions::Sessions;
use crate::protocol::uri;
use crate::protocol::wire::Era;
use prowess::internal::locked;

/// How long an inspection of the files of a skill is fresh. The watcher reports changes of SKILL.md at once; the other
/// files are inspected again on request, at most this often.
const FRESH: Duration = Duration::from_millis(250);
/// How long an inspection is fresh for a skill whose files must be fetched from a remote source. The thread that polls
/// the source inspects them, and lists do not wait for that.
const FRESH_REMOTE: Duration = Duration::from_secs(30);
/// How long it is fresh after a read of a file that did not match its digest, so that not each such read fetches the
/// whole skill.
const FRESH_REMOTE_CHANGED: Duration = Duration::from_secs(5);

/// One served skill, and the last inspection of its files.
#[derive(Clone, Default)]
struct Served {
    /// Whether the model may start it, so that lists show it.
    listed: bool,
    /// Whether a user may start it, so that it is a prompt.
    invocable: bool,
    /// Its remote source, if it has one.
    remote: Option<Arc<str>>,
    /// Whether its files must be fetched from there before it can be published.
    fetched: bool,
    /// Shared with views, and with earlier and later snapshots in which the skill is unchanged.
    inspections: Arc<Inspections>,
}

impl Served {
    /// Sets the remote source of the skill, if it has one.
    fn set_source(&mut self, registry: &Registry, skill: &Candidate) {
        if registry.is_remote(skill) {
            self.remote = Some(Arc::clone(&skill.source));
            self.fetched = skill.announced.is_none();
        }
    }

    /// Takes over what an earlier snapshot knows about the files of the skill.
    fn take_over(&mut self, before: Option<&Snapshot>, skill: &Candidate) {
        let key = skill.entry.key.as_str();
        let Some(before) = before else { return };
        let known = before.served.get(key).map(|served| &served.inspections);
        self.inspections = match (known, before.others.known(skill)) {
            // An inspection that still runs for the snapshot before counts here too.
            (Some(known), _) if before.catalog().get(key).is_some_and(|old| is_same(old, skill)) => {
                Arc::clone(known)
            }
            // Only views had this one, or another one replaced it in the whole library.
            (known, Some(others)) => {
                if known.is_some_and(|known| known.asked.load(Ordering::Relaxed)) {
                    others.asked.store(true, Ordering::Relaxed);
                }
                others
            }
            (Some(known), None) => Arc::new(Inspections::after(known)),
            (None, None) => return,
        };
    }
}

/// The last inspection of the files of a skill.
#[derive(Default)]
struct Inspections {
    /// Locked during an inspection, which takes long if files are fetched.
    running: Mutex<()>,
    /// Locked only for a moment.
    last: Mutex<Option<Inspection>>,
    /// Whether a client has listed or read the skill, in this snapshot or an earlier one.
    asked: AtomicBool,
    /// The number of the last change of its files that an inspection found: see [`FileChanges`].
    changed: AtomicU64,
}

/// Counts the inspections that found changed files, over all snapshots. Each skill knows the number of its last one, so
/// that a client is notified only of skills that it sees.
#[derive(Default)]
pub(crate) struct FileChanges {
    count: AtomicU64,
    counting: Mutex<()>,
}

impl FileChanges {
    /// How many there were.
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Acquire)
    }

    /// Counts a change of a skill. A reader of the new count sees the number of the skill too.
    fn add(&self, changed: &AtomicU64) {
        let _one_at_a_time = locked(&self.counting);
        let number = self.count.load(Ordering::Relaxed) + 1;
        changed.store(number, Ordering::Relaxed);
        self.count.store(number, Ordering::Release);
    }
}

impl Inspections {
    /// Those of a skill that is another one than before: its files are not known, and clients still ask for them.
    fn after(before: &Self) -> Self {
        let asked = AtomicBool::new(before.asked.load(Ordering::Relaxed));
        Self { asked, changed: AtomicU64::new(before.changed.load(Ordering::Relaxed)), ..Self::default() }
    }

    fn last(&self) -> Option<Inspection> {
        locked(&self.last).clone()
    }

    /// The time of the last inspection.
    fn at(&self) -> Option<Instant> {
        locked(&self.last).as_ref().map(|last| last.at)
    }
}

#[derive(Clone)]
struct Inspection {
    at: Instant,
    published: Result<Arc<Published>, String>,
}

/// The library at one point in time.
pub(crate) struct Snapshot {
    /// The number of this snapshot; later ones have higher numbers.
    pub(crate) number: u64,
    pub(crate) sessions: Sessions,
    /// The texts of the preloaded skills, within the usual budget; empty when there are none.
    pub(crate) preloaded: String,
    served: BTreeMap<String, Served>,
    /// The skills of a view that the whole library does not have.
    own: Vec<SkillId>,
    /// What is known about those of all views of this snapshot.
    others: Others,
    file_changes: Arc<FileChanges>,
    pages: PageCache,
    /// Computed once for all clients, when the first is to be notified.
    lists: OnceLock<[Digest; 3]>,
}

/// A skill by its key and its place: in the whole library, another one may have its key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SkillId {
    pub(crate) key: String,
    location: Location,
}

impl SkillId {
    fn of(skill: &Candidate) -> Self {
        Self { key: skill.entry.key.clone(), location: skill.entry.origin.location.clone() }
    }
}

/// What is known about the files of skills that only views have, so that each is inspected once for all views, and of those
/// that the whole library had before.
#[derive(Default)]
struct Others {
    /// Of the snapshot before, and of skills that the whole library had then.
    before: BTreeMap<SkillId, (Candidate, Arc<Inspections>)>,
    now: Mutex<BTreeMap<SkillId, (Candidate, Arc<Inspections>)>>,
}

impl Others {
    fn after(before: &Snapshot, now: &Catalog) -> Self {
        let mut known = locked(&before.others.now).clone();
        for (key, served) in &before.served {
            let Some(old) = before.catalog().get(key) else { continue };
            if !now.get(key).is_some_and(|new| is_same(old, new)) {
                known.insert(SkillId::of(old), (old.clone(), Arc::clone(&served.inspections)));
            }
        }
        Self { before: known, now: Mutex::default() }
    }

    /// What is known about this very skill.
    fn known(&self, skill: &Candidate) -> Option<Arc<Inspections>> {
        let (id, now) = (SkillId::of(skill), locked(&self.now));
        let (old, known) = now.get(&id).or_else(|| self.before.get(&id))?;
        is_same(old, skill).then(|| Arc::clone(known))
    }

    fn inspections(&self, skill: &Candidate) -> Arc<Inspections> {
        let (id, mut now) = (SkillId::of(skill), locked(&self.now));
        let known = now.get(&id).or_else(|| self.before.get(&id));
        let inspections = match known {
            Some((old, known)) if is_same(old, skill) => Arc::clone(known),
            Some((_, known)) => Arc::new(Inspections::after(known)),
            None => Arc::default(),
        };
        now.insert(id, (skill.clone(), Arc::clone(&inspections)));
        inspections
    }
}

impl Snapshot {
    /// A snapshot of the library. It contains no skills that the policy of the sessions hides. What is known about the files
    /// of unchanged skills is taken over from the snapshot before.
    pub(crate) fn new(
        number: u64,
        before: Option<&Self>,
        sessions: Sessions,
        file_changes: Arc<FileChanges>,
    ) -> Self {
        let mut snapshot = Self::with_visible(number, sessions, file_changes);
        snapshot.others = before.map(|before| Others::after(before, snapshot.catalog())).unwrap_or_default();
        let Self { sessions, served, .. } = &mut snapshot;
        for (key, served) in served {
            let Some(skill) = sessions.connection.catalog().get(key) else { continue };
            served.set_source(&sessions.registry, skill);
            served.take_over(before, skill);
        }
        snapshot
    }

    /// The part of this snapshot that a filter passes. Its skills are inspected once for all views.
    pub(crate) fn view(&self, bounds: &Filter) -> Self {
        let policy = self.sessions.connection.policy().clone().with_bounds(bounds.clone());
        let sessions = self.sessions.with_policy(policy);
        let mut view = Self::with_visible(self.number, sessions, Arc::clone(&self.file_changes));
        let Self { sessions, served, own, .. } = &mut view;
        for (key, served) in served {
            let Some(skill) = sessions.connection.catalog().get(key) else { continue };
            match self.served.get(key).filter(|_| self.catalog().get(key) == Some(skill)) {
                Some(whole) => {
                    let Served { listed, invocable, .. } = *served;
                    *served = Served { listed, invocable, ..whole.clone() };
                }
                // A skill that another one shadows in the whole library.
                None => {
                    served.set_source(&sessions.registry, skill);
                    served.inspections = self.others.inspections(skill);
                    own.push(SkillId::of(skill));
                }
            }
        }
        view
    }

    /// A snapshot of the skills that its sessions show, before their files are known.
    fn with_visible(number: u64, sessions: Sessions, file_changes: Arc<FileChanges>) -> Self {
        let mut served: BTreeMap<String, Served> = BTreeMap::new();
        let session = &sessions.connection;
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
        let preloaded = session.reinject(ReinjectBudget::default(), &estimate_tokens).text;
        let (own, others, pages) = (Vec::new(), Others::default(), PageCache::default());
        let lists = OnceLock::new();
        Self { number, sessions, preloaded, served, own, others, file_changes, pages, lists }
    }

    /// The keys of all served skills, in order.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &str> {
        self.served.keys().map(String::as_str)
    }

    /// The number of served skills.
    pub(crate) fn len(&self) -> usize {
        self.served.len()
    }

    /// Whether a skill is served.
    pub(crate) fn serves(&self, key: &str) -> bool {
        self.served.contains_key(key)
    }

    /// The remote source of a skill, if it has one.
    pub(crate) fn remote_source(&self, key: &str) -> Option<Arc<str>> {
        self.served.get(key)?.remote.clone()
    }

    /// A published skill for a list. A skill whose files must be fetched is not listed before that, and this does not
    /// wait for it.
    pub(crate) fn published_by_now(&self, key: &str) -> Option<Arc<Published>> {
        let served = self.served.get(key)?;
        if !served.fetched {
            return self.published(key);
        }
        // While it is fetched again, the last result counts.
        served.inspections.last().and_then(|last| last.published.ok())
    }

    /// The skills of a view that the whole library does not have.
    pub(crate) fn own(&self) -> &[SkillId] {
        &self.own
    }

    /// The source from which the files of a skill must be fetched.
    pub(crate) fn fetched_source(&self, key: &str) -> Option<&Arc<str>> {
        self.served.get(key).filter(|served| served.fetched)?.remote.as_ref()
    }

    /// When the files of a skill were last inspected.
    pub(crate) fn inspected_at(&self, key: &str) -> Option<Instant> {
        self.served.get(key)?.inspections.at()
    }

    pub(crate) fn catalog(&self) -> &Catalog {
        self.sessions.connection.catalog()
    }

    /// A served skill.
    pub(crate) fn candidate(&self, key: &str) -> Option<&Candidate> {
        self.served.get(key).and_then(|_| self.catalog().get(key))
    }

    /// A published skill.
    pub(crate) fn published(&self, key: &str) -> Option<Arc<Published>> {
        let fresh = if self.served.get(key)?.fetched { FRESH_REMOTE } else { FRESH };
        self.published_within(key, fresh, true)
    }

    /// A published skill after a read did not match its digest: cached digests are not used.
    pub(crate) fn published_now(&self, key: &str) -> Option<Arc<Published>> {
        let fresh = if self.served.get(key)?.fetched { FRESH_REMOTE_CHANGED } else { Duration::ZERO };
        self.published_within(key, fresh, false)
    }

    fn published_within(&self, key: &str, fresh: Duration, remembered: bool) -> Option<Arc<Published>> {
        let served = self.served.get(key)?;
        served.inspections.asked.store(true, Ordering::Relaxed);
        // Concurrent requests for one skill inspect it once; requests for other skills do not wait.
        let _running = locked(&served.inspections.running);
        let before = served.inspections.last();
        if let Some(last) = before.as_ref().filter(|last| last.at.elapsed() < fresh) {
            return last.published.clone().ok();
        }
        let before = before.map(|last| last.published);
        let known = before.as_ref().and_then(|before| before.as_ref().ok());
        let published = inspect(&self.sessions.registry, self.catalog().get(key)?, known, remembered);
        if let Err(reason) = &published
            && before.as_ref().and_then(|before| before.as_ref().err()) != Some(reason)
        {
            match before {
                Some(Ok(_)) => {
                    tracing::warn!(target: "prowess", skill = key, reason, "a skill is no longer published");
                }
                _ => tracing::info!(target: "prowess", skill = key, reason, "not published"),
            }
        }
        let same = match (&before, &published) {
            (Some(Ok(before)), Ok(now)) => Arc::ptr_eq(before, now),
            (Some(Err(before)), Err(now)) => before == now,
            // A fetched skill is listed from now on.
            (None, Ok(_)) => !served.fetched,
            (None, Err(_)) => true,
            _ => false,
        };
        *locked(&served.inspections.last) =
            Some(Inspection { at: Instant::now(), published: published.clone() });
        // Counted only now: a client that is notified must find the change.
        if !same {
            self.file_changes.add(&served.inspections.changed);
        }
        published.ok()
    }

    /// Inspects the files of a skill again if a client has listed or read it, and they need not be fetched. Returns whether
    /// it did.
    pub(crate) fn inspect_if_asked(&self, key: &str) -> bool {
        let asked = |served: &Served| !served.fetched && served.inspections.asked.load(Ordering::Relaxed);
        let due = self.served.get(key).is_some_and(asked);
        if due {
            self.published(key);
        }
        due
    }

    /// Identifies the state that clients are notified of: the snapshot and its file changes.
    pub(crate) fn state(&self) -> (u64, u64) {
        (self.number, self.file_changes.count())
    }

    /// The number of entries per page. Clients read no more than fifty pages.
    pub(crate) fn page_size(&self) -> usize {
        100.max(self.served.len().div_ceil(40))
    }

    /// The keys of listed skills after a key, in order.
    pub(crate) fn listed_after(&self, after: Option<&str>) -> impl Iterator<Item = &str> {
        self.after(after).filter(|(_, served)| served.listed).map(|(key, _)| key.as_str())
    }

    /// The user-invocable skills after a key, in order.
    pub(crate) fn invocable_after(&self, after: Option<&str>) -> impl Iterator<Item = &Candidate> {
        self.after(after)
            .filter(|(_, served)| served.invocable)
            .filter_map(|(key, _)| self.catalog().get(key))
    }

    /// Whether a user may start a skill.
    pub(crate) fn is_invocable(&self, key: &str) -> bool {
        self.served.get(key).is_some_and(|served| served.invocable)
    }

    /// The keys of served skills after a key, in order.
    pub(crate) fn keys_after(&self, after: Option<&str>) -> impl Iterator<Item = &str> {
        self.after(after).map(|(key, _)| key.as_str())
    }

    fn after(&self, after: Option<&str>) -> impl Iterator<Item = (&String, &Served)> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.served.range::<str, _>((from, Bound::Unbounded))
    }

    /// A cached page of the list. When it must be rebuilt, one request gets `None`.
    pub(crate) fn cached_page(&self, cursor: Option<&str>, era: Era) -> Option<Bytes> {
        self.pages.get(cursor, era, self.state().1, FRESH)
    }

    /// Caches a page. `changes` is the number of file changes when it was begun.
    pub(crate) fn cache_page(&self, cursor: Option<String>, era: Era, changes: u64, page: Bytes) {
        self.pages.insert(cursor, era, changes, page);
    }

    /// The digest of a served resource, which changes with its content. It does not wait for remote sources.
    pub(crate) fn state_of(&self, uri: &str) -> Option<String> {
        let (key, path) = uri::parse(uri)?;
        let published = self.published_by_now(&key)?;
        let file = published.files.get(&RelPath::from_request(&path).ok()?)?;
        Some(file.digest.map(String::from).unwrap_or_default())
    }

    /// The versions of the lists, which change with their content.
    pub(crate) fn list_versions(&self) -> ListVersions {
        let changed = |served: &Served| served.inspections.changed.load(Ordering::Relaxed);
        let files = self.served.values().map(changed).max().unwrap_or(0);
        let [tools, prompts, resources] = *self.lists.get_or_init(|| self.list_digests());
        ListVersions { files, tools, prompts, resources }
    }

    /// The digests of the lists of tools, prompts and resources.
    fn list_digests(&self) -> [Digest; 3] {
        let shown = |skill: &Candidate| {
            let (entry, client) = (&skill.entry, &skill.entry.client);
            format!("{:?}", (&entry.key, &entry.description, &client.arguments, &client.argument_hint))
        };
        let resource = |skill: &Candidate| {
            format!("{:?}", (&skill.entry.key, skill.stamp, skill.entry.invocation.model))
        };
        // The schemas of tools name the skills, up to a number of them.
        let tools = self.sessions.connection.tools().into_iter();
        let skills = self.served.keys().filter_map(|key| self.catalog().get(key));
        [
            digest(tools.map(|tool| tool.input_schema.to_string())),
            digest(self.invocable_after(None).map(shown)),
            digest(skills.map(resource)),
        ]
    }
}

/// A digest of texts, in this order.
fn digest(texts: impl Iterator<Item = String>) -> Digest {
    let mut digest = Sha256::new();
    for text in texts {
        digest.update(text);
        digest.update("\n");
    }
    Digest::from(<[u8; 32]>::from(digest.finalize()))
}

/// Whether two skills have the same files, as far as their listing says: a reload reads the same skill through another
/// registry, and two views may have it with and without preload.
fn is_same(old: &Candidate, new: &Candidate) -> bool {
    old == new || {
        let mut old = old.clone();
        (old.layer, old.preload) = (new.layer, new.preload);
        old == *new
    }
}

/// The versions of the lists, which change with their content. Every connection keeps those that its client knows, so they
/// are digests and not the content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ListVersions {
    /// The number of the last change of files, among those of these skills.
    pub(crate) files: u64,
    pub(crate) tools: Digest,
    pub(crate) prompts: Digest,
    pub(crate) resources: Digest,
}

#[cfg(test)]
mod tests;
