//! [`Deadline`]: one time for everything that a list or a skill has to fetch, however many requests that takes.

use std::time::{Duration, Instant};

use super::HttpError;

/// When all of something has to be fetched.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    started: Instant,
    time: Duration,
}

impl Deadline {
    /// So much time from now on.
    pub fn after(time: Duration) -> Self {
        Self { started: Instant::now(), time }
    }

    /// The time for one request: what is left, and no more than `most`. An error when nothing is left.
    pub fn for_one(&self, most: Duration) -> Result<Duration, HttpError> {
        let left = self.time.saturating_sub(self.started.elapsed());
        if left.is_zero() { Err(self.missed()) } else { Ok(left.min(most)) }
    }

    /// The error for what was not asked in time.
    pub fn missed(&self) -> HttpError {
        HttpError::NotInTime(self.time.as_secs().max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_share_one_time_and_none_begins_after_it() {
        let deadline = Deadline::after(Duration::from_secs(3_600));
        let short = Duration::from_secs(10);
        assert_eq!(deadline.for_one(short), Ok(short));
        assert!(deadline.for_one(Duration::MAX).unwrap() <= Duration::from_secs(3_600));
        let over = Deadline::after(Duration::ZERO);
        assert_eq!(over.for_one(short), Err(HttpError::NotInTime(1)));
    }
}
