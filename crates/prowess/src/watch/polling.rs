//! Systems without notifications of changes: the watcher polls.

use std::io;
use std::path::PathBuf;
use std::time::Instant;

#[derive(Debug)]
pub(super) struct Hints;

impl Hints {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self)
    }

    pub(super) fn must_poll(&self) -> bool {
        true
    }

    pub(super) fn wait(&mut self, until: Option<Instant>) -> io::Result<bool> {
        if let Some(until) = until {
            std::thread::sleep(until.saturating_duration_since(Instant::now()));
        }
        Ok(false)
    }

    pub(super) fn drain(&mut self) -> io::Result<bool> {
        Ok(false)
    }

    pub(super) fn watch(&mut self, _: &[PathBuf]) -> io::Result<bool> {
        Ok(true)
    }
}
