//! What a session keeps of its skills and callers, counted in bytes, and [`MemoryPool`], which many sessions share.
//!
//! Every text that a caller can make a session keep counts: the texts of active skills with their arguments, their tools,
//! and what pending calls wait with. The log is limited by [`super::Options::max_events`] instead: a full log drops its
//! oldest events, and refuses no call.

use std::collections::BTreeMap;
use std::mem::size_of;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::calls::{fingerprint, join_names};
use super::interface::arguments::for_message;
use super::interface::naming::Tool;
use super::interface::result::{Reason, ToolResult};
use super::options::WhenFull;
use super::state::{Active, Approval, Goal, PendingCall, Stage};
use super::{Filter, Session};
use crate::files::manifest::{FileEntry, LeftOut, Manifest};
use crate::path::RelPath;
use crate::render::{Activation, WeakActivation};
use crate::skill::tool_list::{ToolGrant, ToolList};

/// A pending call that keeps no more is never refused, so that the files of active skills can be read in a session that
/// keeps as much as it may.
const SMALL_CALL: usize = 16 * 1024;

/// What a text takes besides its bytes: two headers of allocations, and its entry in the table of a pool. Large texts among
/// short-lived ones also leave gaps, up to a quarter of their size.
const TEXT_OVERHEAD: usize = 256;
const GAPS: usize = 4;

/// What many sessions keep together, within a limit: each text once, however many sessions have it.
///
/// A host with many sessions gives them one pool with [`Session::join`]. A call that would exceed the limit is refused.
///
/// ```
/// use std::sync::Arc;
/// use prowess_core::session::MemoryPool;
///
/// let server = Arc::new(MemoryPool::new(256 << 20));
/// let user = MemoryPool::part_of(&server, 64 << 20);
/// assert_eq!((user.limit(), server.kept_bytes()), (64 << 20, 0));
/// ```
#[derive(Debug)]
pub struct MemoryPool {
    limit: usize,
    /// The pool that this one is a part of. What is kept here counts there too.
    whole: Option<Arc<Self>>,
    table: Mutex<Table>,
}

/// The texts of a pool, and the rest that its sessions keep.
#[derive(Debug, Default)]
struct Table {
    /// The bytes that sessions keep besides the texts.
    rest: usize,
    /// By a checksum. Entries of texts that no session keeps any more are removed from time to time.
    texts: BTreeMap<u64, Vec<WeakActivation>>,
    /// The bytes of these texts, and the number of entries, also of those that no session keeps any more.
    text_bytes: usize,
    entries: usize,
    /// The number of entries that were live when they were last looked through.
    live: usize,
}

impl Table {
    fn find(&self, text: &Activation) -> Option<Activation> {
        let same = self.texts.get(&checksum(text))?;
        same.iter().filter_map(WeakActivation::upgrade).find(|known| known == text)
    }

    fn insert(&mut self, text: &Activation) {
        // In steps, so that a busy server does not look through the whole table with every text.
        if self.entries > 2 * self.live + 64 {
            self.sweep();
        }
        self.texts.entry(checksum(text)).or_default().push(text.downgrade());
        self.text_bytes += text_bytes(text);
        self.entries += 1;
    }

    /// Removes the entries of texts that no session keeps any more.
    fn sweep(&mut self) {
        (self.text_bytes, self.entries) = (0, 0);
        self.texts.retain(|_, same| {
            same.retain(|text| {
                let size = text.upgrade().map(|text| text_bytes(&text));
                self.text_bytes += size.unwrap_or_default();
                self.entries += usize::from(size.is_some());
                size.is_some()
            });
            !same.is_empty()
        });
        self.live = self.entries;
    }

    fn has_room(&mut self, more: usize, limit: usize) -> bool {
        let fits = |table: &Self| table.rest.saturating_add(table.text_bytes).saturating_add(more) <= limit;
        fits(self) || {
            self.sweep();
            fits(self)
        }
    }
}

fn checksum(text: &Activation) -> u64 {
    fingerprint(text.instructions().as_bytes())
}

/// The bytes of a text, as sessions and pools count them.
fn text_bytes(text: &Activation) -> usize {
    text.size() + text.size() / GAPS + TEXT_OVERHEAD
}

/// A pool has no room.
#[derive(Debug, PartialEq, Eq)]
struct PoolFull {
    limit: usize,
    /// Whether it is a part of another pool.
    part: bool,
}

impl MemoryPool {
    /// A pool with a limit in bytes.
    pub fn new(limit: usize) -> Self {
        Self { limit, whole: None, table: Mutex::default() }
    }

    /// A part of a pool, with a limit of its own: for the sessions of one user or token. What they keep counts in both.
    pub fn part_of(whole: &Arc<Self>, limit: usize) -> Self {
        Self { whole: Some(Arc::clone(whole)), ..Self::new(limit) }
    }

    /// The maximum number of bytes.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// The number of bytes that its sessions keep, each text counted once.
    pub fn kept_bytes(&self) -> usize {
        let mut table = self.table();
        table.sweep();
        table.rest + table.text_bytes
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn full(&self) -> PoolFull {
        PoolFull { limit: self.limit, part: self.whole.is_some() }
    }

    /// The text as another session keeps it already, else this one, from now on shared.
    fn share(&self, text: Activation) -> Result<Activation, PoolFull> {
        let mut table = self.table();
        if let Some(known) = table.find(&text) {
            return Ok(known);
        }
        if !table.has_room(text_bytes(&text), self.limit) {
            return Err(self.full());
        }
        let shared = match &self.whole {
            Some(whole) => whole.share(text)?,
            None => text.shrunk(),
        };
        table.insert(&shared);
        Ok(shared)
    }

    /// Counts what a session keeps besides texts: `to` bytes, `from` until now. Without `within`, the limit is not looked
    /// at.
    fn recount(&self, from: usize, to: usize, within: bool) -> Result<(), PoolFull> {
        let mut table = self.table();
        let more = to.saturating_sub(from);
        if within && more > 0 && !table.has_room(more, self.limit) {
            return Err(self.full());
        }
        if let Some(whole) = &self.whole {
            whole.recount(from, to, within)?;
        }
        table.rest = table.rest.saturating_sub(from).saturating_add(to);
        Ok(())
    }
}

/// The pool of a session, and the bytes that are counted there for it.
#[derive(Debug)]
pub(super) struct PoolShare {
    pool: Arc<MemoryPool>,
    bytes: usize,
}

impl PoolShare {
    fn recount(&mut self, to: usize, within: bool) -> Result<(), PoolFull> {
        self.pool.recount(self.bytes, to, within)?;
        self.bytes = to;
        Ok(())
    }
}

impl Clone for PoolShare {
    fn clone(&self) -> Self {
        let mut share = Self { pool: Arc::clone(&self.pool), bytes: 0 };
        let _ = share.recount(self.bytes, false);
        share
    }
}

impl Drop for PoolShare {
    fn drop(&mut self) {
        let _ = self.recount(0, false);
    }
}

impl Session {
    /// The number of bytes that the session keeps of its active skills and pending calls, at most
    /// [`super::Options::max_kept_bytes`]. The texts of a pool count in each session that has them.
    pub fn kept_bytes(&self) -> usize {
        self.rest_bytes()
            + self.state.active.iter().map(|active| text_bytes(&active.activation)).sum::<usize>()
    }

    /// Shares the texts of active skills with the other sessions of a pool, and counts there what this session keeps.
    pub fn join(&mut self, pool: Arc<MemoryPool>) {
        for active in &mut self.state.active {
            if let Ok(shared) = pool.share(active.activation.clone()) {
                active.activation = shared;
            }
        }
        self.share = Some(PoolShare { pool, bytes: 0 });
        self.recount();
    }

    /// What the session keeps besides the texts of active skills.
    fn rest_bytes(&self) -> usize {
        let approvals = self.state.approvals.keys();
        self.state.active.iter().map(active_rest).sum::<usize>()
            + self.state.pending.values().map(pending_bytes).sum::<usize>()
            + approvals.map(|key| size_of::<Approval>() + key.len()).sum::<usize>()
    }

    /// Counts in the pool what the session keeps now.
    pub(super) fn recount(&mut self) {
        let rest = self.rest_bytes();
        if let Some(share) = &mut self.share {
            let _ = share.recount(rest, false);
        }
    }

    /// Whether a call may begin to wait; else the refusal.
    pub(super) fn admit_call(&mut self, call: &PendingCall) -> Result<(), Box<ToolResult>> {
        let size = pending_bytes(call);
        if size <= SMALL_CALL {
            return Ok(());
        }
        let key = call.want.key().unwrap_or_default();
        let arguments = matches!(&call.want, Goal::Load { arguments: Some(given), .. } if !given.is_empty());
        let total = self.kept_bytes().saturating_add(size);
        if total > self.options.max_kept_bytes {
            return Err(self.keeps_too_much(key, total, arguments).into());
        }
        self.reserve(size).map_err(|full| self.pool_is_full(key, &full, arguments).into())
    }

    /// Whether a skill may become active in place of `old`; else the refusal. Its text is shared from now on.
    pub(super) fn admit_active(
        &mut self,
        coming: &mut Active,
        old: Option<usize>,
        arguments: bool,
    ) -> Result<(), Box<ToolResult>> {
        let rest = active_rest(coming);
        let size = rest + text_bytes(&coming.activation);
        let evicts = self.options.when_full == WhenFull::EvictOldest;
        // What is replaced and what can be evicted makes room.
        let gone = self.state.active.iter().enumerate();
        let gone = gone.filter(|(at, active)| Some(*at) == old || (evicts && !active.preloaded));
        let gone: usize = gone.map(|(_, active)| active_bytes(active)).sum();
        let total = (self.kept_bytes() - gone).saturating_add(size);
        // A stored session may have had a higher limit: its skills can be loaded again.
        let grows = old.and_then(|at| self.state.active.get(at)).is_none_or(|old| active_bytes(old) < size);
        if grows && total > self.options.max_kept_bytes {
            return Err(self.keeps_too_much(&coming.key, total, arguments).into());
        }
        let Some(share) = &self.share else { return Ok(()) };
        let shared = share.pool.share(coming.activation.clone());
        let replaced = old.and_then(|at| self.state.active.get(at)).map_or(0, active_rest);
        let shared = shared.and_then(|shared| self.reserve(rest.saturating_sub(replaced)).map(|()| shared));
        coming.activation =
            shared.map_err(|full| Box::new(self.pool_is_full(&coming.key, &full, arguments)))?;
        Ok(())
    }

    /// Whether so many bytes more are within the limit, once others are freed.
    pub(super) fn has_room(&self, more: usize, freed: usize) -> bool {
        self.kept_bytes().saturating_sub(freed).saturating_add(more) <= self.options.max_kept_bytes
    }

    /// Counts bytes that are about to be kept.
    fn reserve(&mut self, more: usize) -> Result<(), PoolFull> {
        match &mut self.share {
            Some(share) => share.recount(share.bytes.saturating_add(more), true),
            None => Ok(()),
        }
    }

    fn keeps_too_much(&self, key: &str, total: usize, arguments: bool) -> ToolResult {
        let most = self.options.max_kept_bytes;
        let error = format!(
            "the active skills of this session would take too much memory with this one: {}: {total} bytes, at most \
             {most}",
            for_message(key)
        );
        let hint = match (self.state.active.is_empty(), self.offered_name(Tool::Unload)) {
            (true, _) if arguments => "give it shorter arguments".to_owned(),
            (true, _) => "continue without it".to_owned(),
            (false, Some(unload)) => {
                let shorter = if arguments { "give it shorter arguments, or " } else { "" };
                let active = join_names(self.active_skills().into_iter());
                format!("{shorter}first unload one with {unload}; active are {active}")
            }
            (false, None) => {
                format!(
                    "continue with those that are active: {}",
                    join_names(self.active_skills().into_iter())
                )
            }
        };
        ToolResult::refused(Reason::MemoryFull, error, hint)
    }

    fn pool_is_full(&self, key: &str, full: &PoolFull, arguments: bool) -> ToolResult {
        let of_part = if full.part { " of this token" } else { "" };
        let error = format!(
            "the active skills of all sessions{of_part} would take too much memory with this one: {}: at most {} bytes",
            for_message(key),
            full.limit
        );
        let shorter = if arguments { "give it shorter arguments, " } else { "" };
        let unload = match self.offered_name(Tool::Unload) {
            Some(unload) if !self.state.active.is_empty() => format!("unload a skill with {unload}, "),
            _ => String::new(),
        };
        let hint = format!("{shorter}{unload}end a session that is no longer used, or try again later");
        ToolResult::refused(Reason::MemoryFull, error, hint)
    }
}

/// The bytes of an active skill.
pub(super) fn active_bytes(active: &Active) -> usize {
    active_rest(active) + text_bytes(&active.activation)
}

/// The bytes of an active skill besides its text. The catalog shares its location.
fn active_rest(active: &Active) -> usize {
    // The log has the key, too, once it is full.
    size_of::<Active>()
        + 2 * (size_of::<String>() + active.key.len())
        + filter_bytes(active.filter.as_ref())
        + active.tools.as_ref().map_or(0, tools_bytes)
}

fn tools_bytes(tools: &ToolList) -> usize {
    let grant = |grant: &ToolGrant| {
        let texts = grant.raw.len() + grant.name.len() + grant.pattern.as_ref().map_or(0, String::len);
        size_of::<ToolGrant>() + texts
    };
    tools.raw.len() + tools.grants.iter().map(grant).sum::<usize>()
}

fn filter_bytes(filter: Option<&Filter>) -> usize {
    // The text, and the glob that was made of it.
    filter.map_or(0, |filter| 2 * filter.as_str().len())
}

/// The bytes of a pending call.
fn pending_bytes(call: &PendingCall) -> usize {
    let text = |text: &String| size_of::<String>() + text.len();
    let want = match &call.want {
        Goal::Load { arguments, .. } => arguments.as_ref().map_or(0, super::Arguments::kept_bytes),
        Goal::Search { query, .. } => query.text.len() + query.tags.iter().map(text).sum::<usize>(),
        Goal::Run { args, .. } => args.iter().map(text).sum(),
        Goal::ListFiles { .. } | Goal::ReadFile { .. } => 0,
    };
    let path = |path: &RelPath| size_of::<RelPath>() + path.as_str().len();
    let read =
        |read: &[(RelPath, String)]| read.iter().map(|(at, read)| path(at) + text(read)).sum::<usize>();
    let stage = match &call.stage {
        Stage::Inline { files, read: done, left, .. } => {
            files.as_ref().map_or(0, manifest_bytes) + read(done) + left.iter().map(path).sum::<usize>()
        }
        Stage::Bytes { files, inlined, .. } => files.as_ref().map_or(0, manifest_bytes) + read(inlined),
        Stage::Approval | Stage::Files | Stage::Hits | Stage::Exit { .. } => 0,
    };
    let key = call.want.key().unwrap_or_default().len();
    size_of::<PendingCall>() + key + filter_bytes(call.filter.as_ref()) + want + stage
}

fn manifest_bytes(files: &Manifest) -> usize {
    let file = |file: &FileEntry| size_of::<FileEntry>() + file.path.as_str().len();
    files.files.iter().map(file).sum::<usize>() + files.left_out.len() * size_of::<LeftOut>()
}
