//! [`Watch`]: waits for changes of the folders of some skills.

use std::fmt;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use prowess::watch::{WatchOptions, Watcher};
use prowess::{Delta, SkillsError};
use prowess_engine::{Failure, delta_json, read};
use serde::Deserialize;

use crate::asked::{Cancel, within};
use crate::errors::of_skills;
use crate::selector::locked;
use crate::skills::Skills;

/// How often a watch that waits looks whether it should stop.
const PATIENCE: Duration = Duration::from_millis(100);

/// The changes of some skills, each read before it is returned.
pub struct Watch {
    skills: Skills,
    watcher: Mutex<Watcher>,
    /// What changed before the watch began, if it was not returned yet.
    first: Mutex<Option<Delta>>,
}

impl fmt::Debug for Watch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Watch").field(&self.skills).finish()
    }
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Timing {
    quiet: Option<f64>,
    longest: Option<f64>,
    poll: Option<f64>,
    ask: Option<f64>,
}

fn seconds(value: f64) -> Result<Duration, Failure> {
    Duration::try_from_secs_f64(value)
        .map_err(|_| Failure::argument(format!("{value} is no number of seconds")))
}

impl Watch {
    pub(crate) fn new(skills: Skills, options: &str) -> Result<Self, Failure> {
        let timing: Timing = read(options)?;
        let mut options = WatchOptions::default();
        options.quiet = timing.quiet.map_or(Ok(options.quiet), seconds)?;
        options.longest = timing.longest.map_or(Ok(options.longest), seconds)?;
        options.poll = timing.poll.map_or(Ok(options.poll), seconds)?;
        options.ask = timing.ask.map(seconds).transpose()?.or(options.ask);
        let registry = std::sync::Arc::clone(&skills.parts().registry);
        let before = registry.catalog();
        let watcher = Watcher::new(registry, options).map_err(|error| of_skills(SkillsError::from(error)))?;
        let first = Some(skills.catalog().since(&before)).filter(|delta| !delta.is_empty());
        Ok(Self { skills, watcher: Mutex::new(watcher), first: Mutex::new(first) })
    }

    /// The next changes, `{added, changed, removed, newlyBroken}`, or `None` after this many seconds. Without a number it
    /// waits until it is cancelled or the skills are closed.
    pub fn next(&self, timeout: Option<f64>, cancel: &Cancel) -> Result<Option<String>, Failure> {
        self.skills.parts().rules.not_in_callback("watch")?;
        // Before the lock, which a thread of another process may have held when it was forked.
        let _in_use = self.skills.enter()?;
        let until = timeout.map(seconds).transpose()?.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut watcher = locked(self.watcher.lock());
        if let Some(delta) = locked(self.first.lock()).take() {
            return Ok(Some(delta_json(&delta).to_string()));
        }
        loop {
            cancel.check()?;
            self.skills.enter()?;
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            let wait = PATIENCE.min(left.unwrap_or(PATIENCE));
            let next = within(cancel, || watcher.next(Some(wait)));
            if let Some(delta) = next.map_err(|error| of_skills(SkillsError::from(error)))? {
                return Ok(Some(delta_json(&delta).to_string()));
            }
            if left.is_some_and(|left| left.is_zero()) {
                return Ok(None);
            }
        }
    }
}
