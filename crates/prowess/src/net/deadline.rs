//! [`Deadline`]: one timeout for everything that a list or a skill fetches, however many requests that takes.

use std::time::{Duration, Instant};

use super::HttpError;

/// When a series of requests must be done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline {
    started: Instant,
    time: Duration,
}

impl Deadline {
    /// A deadline after this time.
    pub(crate) fn after(time: Duration) -> Self {
        Self { started: Instant::now(), time }
    }

    /// The timeout for one request: the time that is left, at most `most`. An error if none is left.
    pub(crate) fn for_one(&self, most: Duration) -> Result<Duration, HttpError> {
        let left = self.time.saturating_sub(self.started.elapsed());
        if left.is_zero() { Err(self.missed()) } else { Ok(left.min(most)) }
    }

    /// The error for a request that was not sent in time.
    pub(crate) fn missed(&self) -> HttpError {
        HttpError::NotInTime(self.time.as_secs().max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_share_one_deadline_and_none_begins_after_it() {
        let deadline = Deadline::after(Duration::from_secs(3_600));
        let short = Duration::from_secs(10);
        assert_eq!(deadline.for_one(short), Ok(short));
        assert!(deadline.for_one(Duration::MAX).unwrap() <= Duration::from_secs(3_600));
        let over = Deadline::after(Duration::ZERO);
        assert_eq!(over.for_one(short), Err(HttpError::NotInTime(1)));
    }
}
