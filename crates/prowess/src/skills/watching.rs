//! [`Watching`]: the thread that refreshes skills when their folders change.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use prowess_core::Delta;

use super::SkillsError;
use crate::registry::Registry;
use crate::watch::{WatchError, WatchOptions, Watcher};

/// How often the thread checks whether to stop.
const PATIENCE: Duration = Duration::from_millis(250);

/// A thread that watches. It ends soon after this is dropped.
pub(super) struct Watching {
    ended: Arc<AtomicBool>,
}

impl Watching {
    pub(super) fn start(
        registry: Arc<Registry>,
        options: WatchOptions,
        changed: impl Fn(Result<Delta, SkillsError>) + Send + 'static,
    ) -> Result<Self, SkillsError> {
        let mut watcher = Watcher::new(registry, options)?;
        let ended = Arc::new(AtomicBool::new(false));
        let thread = std::thread::Builder::new().name("prowess-watch".to_owned());
        let until = Arc::clone(&ended);
        // The panic hook has reported it, and the catalog is that of the last refresh.
        let changed = move |change| drop(catch_unwind(AssertUnwindSafe(|| changed(change))));
        let watch = move || {
            while !until.load(Ordering::Relaxed) {
                match watcher.next(Some(PATIENCE)) {
                    Ok(None) => {}
                    Ok(Some(delta)) => changed(Ok(delta)),
                    // A later refresh may succeed.
                    Err(error @ WatchError::Registry(_)) => changed(Err(error.into())),
                    Err(error @ WatchError::System(_)) => return changed(Err(error.into())),
                }
            }
        };
        thread.spawn(watch).map_err(SkillsError::Watch)?;
        Ok(Self { ended })
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
    }
}
