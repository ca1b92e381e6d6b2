//! Hot reload: watches folders, and turns their changes into a new catalog and a [`Delta`].
//!
//! A notification is only a hint to refresh. A refresh is complete if every folder that it read was watched before it
//! began: any later change is another hint. So nothing is missed, whether files are renamed over each other, moved,
//! deleted and created again, or a thousand change at once.

#[cfg(target_os = "linux")]
mod inotify;
#[cfg(not(target_os = "linux"))]
mod polling;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use prowess_core::Delta;
use prowess_core::with_methods;

use crate::registry::{Registry, RegistryError};
#[cfg(target_os = "linux")]
use inotify::Hints;
#[cfg(not(target_os = "linux"))]
use polling::Hints;

/// The timing of a watcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WatchOptions {
    /// How long to wait without further changes before a refresh.
    pub quiet: Duration,
    /// The maximum time that a change waits for this.
    pub longest: Duration,
    /// How often to poll where the system sends no notifications, or not for all folders.
    pub poll: Duration,
    /// How often to refresh remote sources, which send no notifications; `None` for never.
    pub ask: Option<Duration>,
}

with_methods! { WatchOptions:
    with_quiet quiet: Duration;
    with_longest longest: Duration;
    with_poll poll: Duration;
    with_ask ask: Option<Duration>;
}

impl Default for WatchOptions {
    fn default() -> Self {
        Self {
            quiet: Duration::from_millis(100),
            longest: Duration::from_secs(2),
            poll: Duration::from_secs(2),
            ask: Some(Duration::from_secs(60)),
        }
    }
}

/// Why folders cannot be watched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WatchError {
    /// The system refuses to watch folders.
    #[error("folders cannot be watched")]
    System(#[from] io::Error),
    /// A source could not be listed. The catalog stays the same, and a later refresh may succeed.
    #[error(transparent)]
    Registry(#[from] RegistryError),
}

/// A registry that follows its folders.
///
/// ```
/// use prowess::watch::{WatchOptions, Watcher};
/// use prowess::{DirSource, Registry, ScanOptions};
///
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path();
/// let mut registry = Registry::new();
/// registry.add(DirSource::new(folder, ScanOptions::unbounded()));
/// let mut watcher = Watcher::new(registry.into(), WatchOptions::default())?;
///
/// std::fs::create_dir(folder.join("tidy-up"))?;
/// std::fs::write(folder.join("tidy-up/SKILL.md"), "---\nname: tidy-up\ndescription: Tidies up.\n---\n")?;
/// // A host would call `next`, which waits. This takes the changes so far.
/// assert_eq!(watcher.settle()?.added, ["tidy-up"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Watcher {
    registry: Arc<Registry>,
    options: WatchOptions,
    hints: Hints,
    /// Whether the last refresh was incomplete, so that another one follows.
    unfinished: bool,
    /// When to refresh remote sources.
    ask_at: Option<Instant>,
}

impl Watcher {
    /// Lists the sources of a registry and watches their folders from now on.
    pub fn new(registry: Arc<Registry>, options: WatchOptions) -> Result<Self, WatchError> {
        let hints = Hints::new()?;
        let ask_at = options.ask.filter(|_| registry.has_remote()).map(|_| Instant::now());
        let mut watcher = Self { registry, options, hints, unfinished: false, ask_at };
        watcher.look()?;
        Ok(watcher)
    }

    /// The registry, whose catalog changes with every refresh.
    pub fn registry(&self) -> &Arc<Registry> {
        &self.registry
    }

    /// Waits for a change of the catalog; `None` if the timeout is reached first.
    pub fn next(&mut self, timeout: Option<Duration>) -> Result<Option<Delta>, WatchError> {
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        loop {
            if !self.wait(deadline)? {
                return Ok(None);
            }
            let delta = self.look()?;
            if !delta.is_empty() {
                return Ok(Some(delta));
            }
        }
    }

    /// Takes all changes so far, without waiting.
    pub fn settle(&mut self) -> Result<Delta, WatchError> {
        self.look()
    }

    /// Waits for a hint and then until there are no more; false if the deadline is reached without a hint.
    fn wait(&mut self, deadline: Option<Instant>) -> Result<bool, WatchError> {
        if self.unfinished {
            return Ok(true);
        }
        let poll = self.hints.must_poll().then(|| Instant::now() + self.options.poll);
        let poll = poll.into_iter().chain(self.ask_at).min();
        loop {
            let until = match (deadline, poll) {
                (Some(deadline), Some(poll)) => Some(deadline.min(poll)),
                (deadline, poll) => deadline.or(poll),
            };
            if self.hints.wait(until)? {
                break;
            }
            let now = Instant::now();
            if poll.is_some_and(|poll| now >= poll) {
                return Ok(true);
            }
            if deadline.is_some_and(|deadline| now >= deadline) {
                return Ok(false);
            }
        }
        let longest = Instant::now() + self.options.longest;
        while Instant::now() < longest && self.hints.wait(Some(Instant::now() + self.options.quiet))? {}
        Ok(true)
    }

    /// Refreshes until every folder that was read had been watched before. If changes never stop, it returns what it
    /// has after the longest time, and the next refresh follows at once.
    fn look(&mut self) -> Result<Delta, WatchError> {
        let before = self.registry.catalog();
        let longest = Instant::now() + self.options.longest;
        loop {
            self.hints.drain()?;
            let refreshed = if self.ask_at.is_some_and(|at| at <= Instant::now()) {
                let refreshed = self.registry.refresh();
                self.ask_at = self.options.ask.and_then(|often| Instant::now().checked_add(often));
                refreshed
            } else {
                self.registry.refresh_local()
            };
            let folders: Vec<PathBuf> = self.registry.folders();
            let complete = self.hints.watch(&folders)?;
            self.unfinished = !complete;
            refreshed?;
            if complete || Instant::now() >= longest {
                return Ok(self.registry.catalog().since(&before));
            }
        }
    }
}
