//! What each caller may take of what all callers share: of a token file, no token can take all of anything.

use crate::http::options::HttpOptions;
use crate::server::Share;

/// The limits of one caller.
#[derive(Clone, Copy)]
pub(crate) struct CallerLimits {
    pub(crate) sessions: usize,
    pub(crate) connections: usize,
    pub(crate) streams: usize,
    pub(crate) requests: usize,
    /// Its part of the memory and of the work; `None` for the only caller.
    pub(crate) share: Option<Share>,
}

impl CallerLimits {
    /// The limits of the only caller: those of the server.
    pub(crate) fn all(options: &HttpOptions) -> Self {
        Self {
            sessions: options.max_sessions,
            connections: options.max_connections,
            // The limit of all streams is lower.
            streams: options.max_connections,
            requests: options.max_requests,
            share: None,
        }
    }

    /// The limits of each token of a token file, where all callers together have `whole`.
    pub(crate) fn of_token(options: &HttpOptions, whole: Share) -> Self {
        Self {
            sessions: part(options.max_token_sessions, options.max_sessions, 4),
            connections: part(options.max_token_connections, options.max_connections, 2),
            streams: part(options.max_token_streams, options.streams(), 2),
            requests: part(options.max_token_requests, options.max_requests, 2),
            share: Some(Share {
                max_kept: part(options.max_token_kept, whole.max_kept, 4),
                max_unsent: part(options.max_token_unsent, whole.max_unsent, 2),
            }),
        }
    }
}

/// What a token may take of `all`: what is set, else one of so many `parts`. At most half, so that one token cannot take
/// all; of a single place, that one.
fn part(set: Option<usize>, all: usize, parts: usize) -> usize {
    set.unwrap_or(all / parts).min(all / 2).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The limits of the server, and what a token may take of each.
    fn pairs(options: &HttpOptions, whole: Share) -> [(usize, usize); 6] {
        let of_token = CallerLimits::of_token(options, whole);
        let share = of_token.share.unwrap();
        [
            (options.max_sessions, of_token.sessions),
            (options.max_connections, of_token.connections),
            (options.streams(), of_token.streams),
            (options.max_requests, of_token.requests),
            (whole.max_kept, share.max_kept),
            (whole.max_unsent, share.max_unsent),
        ]
    }

    #[test]
    fn no_token_can_take_all_of_anything_whatever_the_options_are() {
        for all in [2, 3, 10, 255, 256, 1024, usize::MAX] {
            for set in [None, Some(1), Some(2), Some(all / 2), Some(all), Some(usize::MAX)] {
                let mut options = HttpOptions::default()
                    .with_max_sessions(all)
                    .with_max_connections(all)
                    .with_max_requests(all)
                    .with_max_streams(all);
                options = options
                    .with_max_token_sessions(set)
                    .with_max_token_connections(set)
                    .with_max_token_requests(set)
                    .with_max_token_streams(set)
                    .with_max_token_kept(set)
                    .with_max_token_unsent(set);
                for (all, own) in pairs(&options, Share { max_kept: all, max_unsent: all }) {
                    let most = set.unwrap_or(all).min(all / 2).max(1);
                    assert!((1..=most).contains(&own), "{own} of {all}, set {set:?}");
                }
            }
        }
    }

    #[test]
    fn without_settings_a_token_has_a_quarter_of_what_is_kept_and_half_of_the_rest() {
        let options = HttpOptions::default().with_max_sessions(200).with_max_connections(40);
        let options = options.with_max_streams(20).with_max_requests(10);
        assert_eq!(
            pairs(&options, Share { max_kept: 4000, max_unsent: 1000 }),
            [(200, 50), (40, 20), (20, 10), (10, 5), (4000, 1000), (1000, 500)]
        );
    }
}
