//! `prowess watch`: reports changes of the skills as they happen.

use std::fmt::Write as _;
use std::sync::Arc;

use prowess::Delta;
use prowess::watch::{WatchError, WatchOptions, Watcher};
use serde::Serialize;

use super::registry;
use crate::Outcome;
use crate::args::Watch;
use crate::error::{CommandError, Failure};
use crate::explain::unread::{ended, say_problems};
use crate::report::json::VERSION;
use crate::ui::{Ui, clean, count};

/// A line of the output as JSON.
#[derive(Serialize)]
struct WatchLine {
    version: u32,
    skills: usize,
    #[serde(flatten)]
    delta: Delta,
}

/// Runs the command. It ends by a signal, or when the reader closes the pipe.
pub(crate) fn run(args: &Watch, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    let registry = registry(&args.places)?;
    say_problems(&registry, ui);
    let mut watcher =
        Watcher::new(Arc::new(registry), WatchOptions::default()).map_err(|error| failed(&error))?;
    let skills = watcher.registry().catalog().len();
    if json {
        ui.json_of(&WatchLine { version: VERSION, skills, delta: Delta::default() })?;
    } else {
        ui.print(&format!("watching {}\n", count(skills, "skill")))?;
    }
    ui.finish()?;
    loop {
        let delta = match watcher.next(None) {
            Ok(Some(delta)) => delta,
            Ok(None) => continue,
            // A source that cannot be listed now may be back with the next change.
            Err(error @ WatchError::Registry(_)) => {
                ui.failure(&failed(&error));
                continue;
            }
            Err(error) => return Err(failed(&error).into()),
        };
        if json {
            let skills = watcher.registry().catalog().len();
            ui.json_of(&WatchLine { version: VERSION, skills, delta })?;
        } else {
            ui.print(&lines(&delta))?;
        }
        ui.finish()?;
        if args.once {
            return Ok(ended(Outcome::Fine, &**watcher.registry()));
        }
    }
}

fn failed(error: &WatchError) -> Failure {
    let mut failure = Failure::new(error.to_string(), "check the folders that were named");
    if let WatchError::System(cause) = error {
        failure.causes.push(cause.to_string());
        failure.hints = vec!["the system may allow more with fs.inotify.max_user_instances".into()];
    }
    failure
}

fn lines(delta: &Delta) -> String {
    let mut text = String::new();
    for (word, keys) in [
        ("added", &delta.added),
        ("changed", &delta.changed),
        ("removed", &delta.removed),
        ("broken", &delta.newly_broken),
    ] {
        for key in keys {
            let _ = writeln!(text, "{word}  {}", clean(key));
        }
    }
    text
}
