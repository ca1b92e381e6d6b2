//! [`Waiting`]: who is told that a fetch waits for another process.

use std::fmt;
use std::sync::Arc;

/// A function that gets an address.
type Report = Arc<dyn Fn(&str) + Send + Sync>;

/// A function that gets the address of the repository; nothing by default.
#[derive(Clone, Default)]
pub(crate) struct Waiting(Option<Report>);

impl Waiting {
    pub(crate) fn new(report: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(report)))
    }

    pub(super) fn report(&self, url: &str) {
        if let Some(report) = &self.0 {
            report(url);
        }
    }
}

impl fmt::Debug for Waiting {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(if self.0.is_some() { "Waiting(reported)" } else { "Waiting(quiet)" })
    }
}
