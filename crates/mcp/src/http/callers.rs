//! Who may call: one service for each token, which sees what the filter of the token passes.
//!
//! A token that is revoked, or whose filter is changed, takes its service with it: its subscriptions, streams and sessions
//! end. The other tokens keep theirs.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use prowess::internal::locked;
use prowess::session::Filter;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::sync::Semaphore;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::http::caller_limits::CallerLimits;
use crate::http::options::HttpOptions;
use crate::http::sessions::Sessions;
use crate::http::tokens::{Form, NamedToken, Stamp, Tokens};
use crate::http::{MAX_OWN_BODIES, MAX_OWN_LARGE, body_budget};
use crate::server::{Server, Shared};

/// How long subscriptions have to send their result before all streams are closed.
pub(crate) const SUBSCRIPTION_GRACE: Duration = Duration::from_millis(200);
/// How often the token file is looked at. A change counts once it is the same twice, so that a file which is being
/// written is left alone.
const POLL: Duration = Duration::from_millis(200);

/// A client with a token, or any client of a server without tokens.
pub(crate) struct Caller {
    token: Option<NamedToken>,
    pub(crate) service: StreamableHttpService<Server, Sessions>,
    shared: Arc<Shared>,
    pub(crate) sessions: Arc<Sessions>,
    /// For its connections and streams.
    pub(crate) connections: Arc<Semaphore>,
    pub(crate) max_connections: usize,
    pub(crate) open_streams: Arc<Semaphore>,
    /// For its requests.
    pub(crate) requests: Semaphore,
    pub(crate) max_requests: usize,
    /// For its requests with a large body.
    pub(crate) large: Semaphore,
    /// For the bytes of its large bodies.
    pub(crate) bodies: Semaphore,
    /// Ends the streams that do not end by themselves.
    streams: CancellationToken,
}

impl Caller {
    /// The name of its token.
    pub(crate) fn name(&self) -> Option<&str> {
        self.token.as_ref().map(|token| token.name.as_str())
    }

    /// Whether it may read the metrics.
    pub(crate) fn sees_metrics(&self) -> bool {
        self.token.as_ref().is_none_or(|token| token.metrics)
    }

    /// Ends its subscriptions with their result, then its sessions and streams.
    async fn end(&self) {
        self.shared.stop.cancel();
        sleep(SUBSCRIPTION_GRACE).await;
        self.sessions.end_own().await;
        self.streams.cancel();
    }
}

/// The callers of a server.
pub(crate) struct Callers {
    shared: Arc<Shared>,
    sessions: Arc<Sessions>,
    streams: CancellationToken,
    max_body: usize,
    limits: CallerLimits,
    next: AtomicU64,
    current: Mutex<Arc<Vec<Arc<Caller>>>>,
    /// The form of the file of tokens, which a change of it keeps.
    form: Form,
    /// Whether the file of tokens could be used when it was last read; `None` without one.
    read: Mutex<Option<bool>>,
    /// Held while the tokens are replaced.
    replacing: tokio::sync::Mutex<()>,
}

impl Callers {
    /// The callers with the tokens of the options, or any caller. `streams` ends the streams of all.
    pub(crate) fn new(
        options: &HttpOptions,
        shared: Arc<Shared>,
        sessions: Arc<Sessions>,
        streams: CancellationToken,
    ) -> Arc<Self> {
        let tokens = options.tokens.as_ref();
        let in_file = tokens.and_then(Tokens::file).is_some();
        if tokens.is_some_and(|tokens| !tokens.is_ended()) {
            let hint = "end it with a line break; until then, every change of it counts as cut off";
            tracing::warn!(target: "prowess", hint, "the token file does not end with a line break");
        }
        let limits = if in_file {
            CallerLimits::of_token(options, shared.whole())
        } else {
            CallerLimits::all(options)
        };
        let callers = Self {
            shared,
            sessions,
            streams,
            max_body: options.max_body,
            limits,
            next: AtomicU64::new(1),
            current: Mutex::default(),
            form: tokens.map_or(Form::Single, Tokens::form),
            read: Mutex::new(in_file.then_some(true)),
            replacing: tokio::sync::Mutex::default(),
        };
        let list =
            tokens.map_or_else(|| vec![None], |tokens| tokens.list().iter().cloned().map(Some).collect());
        callers.publication().set_filters(filters(list.iter().flatten()));
        let list = list.into_iter().map(|token| callers.caller(token)).collect();
        *locked(&callers.current) = Arc::new(list);
        Arc::new(callers)
    }

    fn publication(&self) -> &crate::library::publication::Publication {
        &self.shared.library.publication
    }

    fn caller(&self, token: Option<NamedToken>) -> Arc<Caller> {
        let bounds = token.as_ref().map_or_else(Filter::all, |token| token.filter.clone());
        let CallerLimits { sessions, connections, streams, requests, share } = self.limits;
        let shared = self.shared.within(bounds, share, self.shared.stop.child_token());
        let owner = self.next.fetch_add(1, Ordering::Relaxed);
        let sessions = Arc::new(self.sessions.owned_by(owner, sessions));
        let (max_connections, open_streams) = (connections, Arc::new(Semaphore::new(streams)));
        let streams = self.streams.child_token();
        let config = StreamableHttpServerConfig::default()
            .with_json_response(true)
            .with_legacy_session_mode(true)
            .with_max_request_body_bytes(self.max_body)
            .with_sse_keep_alive(Some(Duration::from_secs(15)))
            .with_sse_retry(None)
            .with_cancellation_token(streams.clone())
            // `OriginCheck` reads names more exactly; a second list could only differ from the first.
            .disable_allowed_hosts();
        let own = Arc::clone(&shared);
        let service = StreamableHttpService::new(
            move || Ok(Server::new(Arc::clone(&own))),
            Arc::clone(&sessions),
            config,
        );
        let (large, bodies) = (Semaphore::new(MAX_OWN_LARGE), body_budget(MAX_OWN_BODIES, self.max_body));
        let connections = Arc::new(Semaphore::new(max_connections));
        Arc::new(Caller {
            token,
            service,
            shared,
            sessions,
            connections,
            max_connections,
            open_streams,
            max_requests: requests,
            requests: Semaphore::new(requests.min(Semaphore::MAX_PERMITS)),
            large,
            bodies,
            streams,
        })
    }

    /// The caller that sent these headers.
    pub(crate) fn find(&self, headers: &HeaderMap) -> Option<Arc<Caller>> {
        let current = Arc::clone(&locked(&self.current));
        let given = bearer(headers);
        // Every token is compared, also after a match.
        let mut found = None;
        for caller in current.iter() {
            let matches = match &caller.token {
                Some(NamedToken { token, .. }) => given.is_some_and(|given| token.matches(given)),
                None => true,
            };
            if matches {
                found = Some(caller);
            }
        }
        found.cloned()
    }

    /// The number of tokens.
    pub(crate) fn tokens(&self) -> usize {
        locked(&self.current).iter().filter(|caller| caller.token.is_some()).count()
    }

    /// Whether the file of tokens could be used when it was last read; `None` without one.
    pub(crate) fn could_read(&self) -> Option<bool> {
        *locked(&self.read)
    }

    /// Reads the token file again. If it cannot be used, the old tokens stay, and the log says why.
    pub(crate) async fn read_again(self: &Arc<Self>, file: &Path) -> bool {
        let _one_at_a_time = self.replacing.lock().await;
        let (own, file) = (Arc::clone(self), file.to_owned());
        let read = tokio::task::spawn_blocking(move || {
            let before: Vec<NamedToken> =
                locked(&own.current).iter().filter_map(|caller| caller.token.clone()).collect();
            let tokens = Tokens::read_after(&file, own.form, &before)?;
            // Views of the library are built before a request needs one.
            own.publication().set_filters(filters(tokens.list()));
            Ok::<_, crate::http::tokens::TokensError>(tokens)
        });
        let read = read.await;
        *locked(&self.read) = Some(matches!(read, Ok(Ok(_))));
        match read {
            Ok(Ok(tokens)) => {
                self.replace(&tokens);
                true
            }
            Ok(Err(error)) => {
                let hint = error.hint();
                tracing::warn!(target: "prowess", reason = %error, hint = &*hint, "the old tokens stay valid");
                false
            }
            Err(_panic) => {
                let reason = "the file could not be read: it failed unexpectedly";
                tracing::warn!(target: "prowess", reason, "the old tokens stay valid");
                false
            }
        }
    }

    fn replace(&self, tokens: &Tokens) {
        let before = Arc::clone(&locked(&self.current));
        let known = |token: &NamedToken| before.iter().find(|caller| caller.token.as_ref() == Some(token));
        let list: Vec<Arc<Caller>> = tokens
            .list()
            .iter()
            .map(|token| known(token).cloned().unwrap_or_else(|| self.caller(Some(token.clone()))))
            .collect();
        let is_in =
            |list: &[Arc<Caller>], caller: &Arc<Caller>| list.iter().any(|own| Arc::ptr_eq(own, caller));
        let revoked: Vec<_> = before.iter().filter(|caller| !is_in(&list, caller)).cloned().collect();
        let added = list.iter().filter(|caller| !is_in(&before, caller)).count();
        if revoked.is_empty() && added == 0 {
            return;
        }
        tracing::info!(target: "prowess", tokens = list.len(), added, revoked = revoked.len(), "the tokens were read");
        *locked(&self.current) = Arc::new(list);
        for caller in revoked {
            tokio::spawn(async move { caller.end().await });
        }
        self.warn_of_empty();
    }

    /// Logs the tokens whose filter passes no skill of the library.
    pub(crate) fn warn_of_empty(&self) {
        // When the server itself serves none, the reason is another one, and the log has it.
        if self.publication().whole().is_none_or(|now| now.len() == 0) {
            return;
        }
        for caller in locked(&self.current).iter() {
            let Some(token) = &caller.token else { continue };
            let empty = caller.shared.live.known().is_some_and(|now| now.len() == 0);
            if empty && token.filter != Filter::none() {
                let (name, filter) = (token.name.as_str(), token.filter.as_str());
                tracing::warn!(target: "prowess", token = name, filter, "the filter of a token passes no skill");
            }
        }
    }

    /// Reads the token file again whenever it changes, until `stop` is cancelled.
    pub(crate) async fn follow(self: Arc<Self>, file: PathBuf, stop: CancellationToken) {
        // The first look reads it once more, for a change since the start.
        let (mut read, mut seen) = (None, None);
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = sleep(POLL) => {}
            }
            let own = file.clone();
            let Ok(now) = tokio::task::spawn_blocking(move || Stamp::of(&own)).await else { continue };
            if seen.replace(now) == Some(now) && read != Some(now) {
                read = Some(now);
                self.read_again(&file).await;
            }
        }
    }
}

fn filters<'t>(tokens: impl IntoIterator<Item = &'t NamedToken>) -> impl Iterator<Item = Filter> {
    tokens.into_iter().map(|token| token.filter.clone())
}

/// The token of a request. Of two headers, a proxy may judge the other one, so neither counts.
fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    let value = value.as_bytes();
    let (scheme, token) = value.split_at_checked(7)?;
    scheme.eq_ignore_ascii_case(b"bearer ").then_some(token.trim_ascii())
}
