//! The server of one connection, and what all connections share.

pub(crate) mod blocking;
pub(crate) mod connection;
pub(crate) mod errors;
mod handler;
pub(crate) mod prebuilt;
pub(crate) mod prompts;
pub(crate) mod record;
pub(crate) mod resources;
pub(crate) mod skills;
pub(crate) mod subscriptions;
pub(crate) mod tools;

use std::sync::Arc;

use bytes::Bytes;
use prowess::Registry;
use prowess::session::{Filter, MemoryPool};
use rmcp::model::{PaginatedRequestParams, ServerResult};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::json;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::ServeOptions;
use crate::library::generations::Library;
use crate::library::publication::LibraryView;
use crate::metrics::Metrics;
use crate::protocol::cursor::Cursors;
use crate::protocol::outgoing::Part;
use crate::protocol::response_budget::ResponseBudget;
use crate::protocol::uri;
use crate::protocol::wire::Era;
use crate::server::blocking::{WorkLimit, WorkLimits};
use crate::server::connection::Connection;
use crate::server::errors::excerpt;
use crate::server::prebuilt::ResultSlot;
use crate::server::record::CallRecord;

/// A request, with its connection.
type Context = RequestContext<RoleServer>;

/// Which page of a list is requested.
type PageRequest = Option<PaginatedRequestParams>;

/// The state that all connections of a server share. Those of one token share a view of the library, too.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) library: Arc<Library>,
    pub(crate) live: LibraryView,
    pub(crate) cursors: Arc<Cursors>,
    pub(crate) tools: bool,
    pub(crate) metrics: Arc<Metrics>,
    work_limits: Arc<WorkLimits>,
    budget: Arc<ResponseBudget>,
    /// What the sessions of these connections keep.
    pool: Arc<MemoryPool>,
    pub(crate) stop: CancellationToken,
}

/// What a caller may take of what all callers share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    /// The maximum number of bytes that its sessions keep.
    pub(crate) max_kept: usize,
    /// The maximum number of bytes of its unread responses.
    pub(crate) max_unsent: usize,
}

impl Shared {
    /// Up to `waiting` requests may wait for the response budget before their response is built.
    pub(crate) fn new(
        registry: Registry,
        options: &ServeOptions,
        waiting: usize,
        stop: CancellationToken,
    ) -> Arc<Self> {
        let library = Library::start(registry, options, stop.clone());
        Arc::new(Self {
            live: LibraryView::new(Arc::clone(&library.publication), Filter::all()),
            library,
            cursors: Arc::new(Cursors::new()),
            tools: options.tools,
            metrics: Arc::default(),
            work_limits: Arc::new(WorkLimits::new()),
            budget: Arc::new(ResponseBudget::new(options.max_unsent, waiting)),
            pool: Arc::new(MemoryPool::new(options.max_kept)),
            stop,
        })
    }

    /// The same for the connections of one caller, until `stop` is cancelled: they see what a filter passes. A caller with a
    /// share has only a part of what all callers have: its sessions keep so many bytes, its unread responses take so many.
    pub(crate) fn within(&self, bounds: Filter, share: Option<Share>, stop: CancellationToken) -> Arc<Self> {
        let live = LibraryView::new(Arc::clone(&self.library.publication), bounds);
        let mut shared = Self { live, stop, ..self.clone() };
        if let Some(Share { max_kept, max_unsent }) = share {
            shared.pool = Arc::new(MemoryPool::part_of(&self.pool, max_kept));
            shared.budget = Arc::new(self.budget.part(max_unsent));
            shared.work_limits = Arc::new(WorkLimits::part_of(&self.work_limits));
        }
        Arc::new(shared)
    }

    /// What these callers have together.
    pub(crate) fn whole(&self) -> Share {
        Share { max_kept: self.pool.limit(), max_unsent: self.budget.most() }
    }

    /// The number of bytes that sessions keep.
    pub(crate) fn kept_bytes(&self) -> usize {
        self.pool.kept_bytes()
    }

    /// The key in a cursor of a list.
    pub(crate) fn after(&self, list: &str, cursor: Option<&str>) -> Result<Option<String>, ErrorData> {
        let Some(cursor) = cursor else { return Ok(None) };
        let shown = excerpt(cursor);
        let foreign =
            || ErrorData::invalid_params("this cursor is not of this list", Some(json!({ "cursor": shown })));
        self.cursors.read(list, cursor).map(Some).ok_or_else(foreign)
    }

    /// Rejects every cursor, for a list that has one page.
    fn only_page(&self, list: &str, request: PageRequest) -> Result<(), ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        self.after(list, cursor.as_deref()).map(|_| ())
    }
}

/// The handler of one connection: of a pipe, of a session over HTTP, or of a single request without a session. rmcp
/// creates more of them than it uses, so creating one is cheap.
pub(crate) struct Server {
    shared: Arc<Shared>,
    connection: Arc<Connection>,
    /// The state of the library when this was created. Its client has seen no older one.
    since: (u64, u64),
    /// Ends the notification task of this connection when rmcp drops the handler.
    notifier: CancellationToken,
    _end: DropGuard,
}

impl Server {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        let notifier = shared.stop.child_token();
        let since = shared.live.state();
        let connection = Arc::new(Connection::new(Arc::clone(&shared.pool)));
        Self { shared, connection, since, _end: notifier.clone().drop_guard(), notifier }
    }

    /// Whether a method is within the declared capabilities.
    fn serves(&self, method: &str) -> bool {
        match method {
            "tools/list" | "tools/call" => self.shared.tools,
            "resources/subscribe" | "resources/unsubscribe" | "subscriptions/listen" => {
                self.shared.live.watching()
            }
            _ => true,
        }
    }

    /// The instructions of this server for a model, with the preloaded skills.
    fn instructions(&self) -> String {
        let about = if self.shared.tools { tools::INSTRUCTIONS } else { skills::INSTRUCTIONS };
        match self.shared.live.known().filter(|now| !now.preloaded.is_empty()) {
            Some(now) => format!("{about} These are loaded already:\n\n{}", now.preloaded),
            None => about.to_owned(),
        }
    }

    /// The limit for work on the skill at a URI.
    fn limit_at(&self, context: &Context, uri: &str) -> WorkLimit {
        let key = uri::parse(uri).map(|(key, _)| key);
        self.record_skill(context, key.as_deref());
        match key {
            Some(key) => self.limit_of(&key),
            None => self.shared.work_limits.local.clone(),
        }
    }

    /// Records the skill of a request for the log, if it is served.
    fn record_skill(&self, context: &Context, key: Option<&str>) {
        let known = self.shared.live.known();
        let served = key.filter(|key| known.is_some_and(|now| now.candidate(key).is_some()));
        if let Some(key) = served {
            CallRecord::of(&context.extensions).set_skill(key);
        }
    }

    /// The limit for work on a skill, which may be from a remote source.
    fn limit_of(&self, key: &str) -> WorkLimit {
        match self.shared.live.known().and_then(|now| now.remote_source(key)) {
            Some(source) => self.shared.work_limits.remote(&source),
            None => self.shared.work_limits.local.clone(),
        }
    }

    /// Runs blocking work and leaves its result as text in the slot of the request; rmcp gets an empty result.
    async fn respond<T: Into<ServerResult> + Default>(
        &self,
        limit: &WorkLimit,
        context: &Context,
        work: impl FnOnce(&Shared, &Connection) -> Result<T, ErrorData> + Send + 'static,
    ) -> Result<T, ErrorData> {
        let era = era(context);
        let text = self.work_within(limit, context, move |shared, connection| {
            prebuilt::text_of(work(shared, connection)?, era)
        });
        self.fill_slot(context, text.await?).await?;
        Ok(T::default())
    }

    /// Runs blocking work that builds a page of a list, as [`Self::respond`] does.
    async fn respond_with_page<T: Into<ServerResult> + Default + 'static>(
        &self,
        limit: &WorkLimit,
        request: PageRequest,
        context: &Context,
        list: fn(&Shared, Option<&str>) -> Result<T, ErrorData>,
    ) -> Result<T, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        self.respond(limit, context, move |shared, _| list(shared, cursor.as_deref())).await
    }

    /// Runs blocking work that builds the text of a result, and fills the slot of the request with it.
    async fn respond_with_text(
        &self,
        limit: &WorkLimit,
        context: &Context,
        work: impl FnOnce(&Shared) -> Result<Bytes, ErrorData> + Send + 'static,
    ) -> Result<(), ErrorData> {
        let text = self.work_within(limit, context, move |shared, _| work(shared)).await?;
        self.fill_slot(context, text).await
    }

    /// Fills the slot of a request with the text of its result, once the budget allows it.
    async fn fill_slot(&self, context: &Context, text: Bytes) -> Result<(), ErrorData> {
        let slot = ResultSlot::of(&context.extensions)?;
        let admitted = self.shared.budget.admit(text, slot.timeout());
        let admitted = blocking::unless_cancelled(&context.ct, admitted).await?;
        slot.fill(admitted.map(|text| vec![Part::Json(text)]))
    }

    /// Runs blocking work with a permit.
    async fn work_within<T: Send + 'static>(
        &self,
        limit: &WorkLimit,
        context: &Context,
        work: impl FnOnce(&Shared, &Connection) -> Result<T, ErrorData> + Send + 'static,
    ) -> Result<T, ErrorData> {
        let (shared, connection) = (Arc::clone(&self.shared), Arc::clone(&self.connection));
        blocking::work(limit, &context.ct, move || work(&shared, &connection)).await
    }
}

/// The era of a request: sessionless when the request itself names version 2026-07-28 or later.
pub(crate) fn era(context: &Context) -> Era {
    match context.protocol_version() {
        Some(version) if !version.has_initialize() => Era::Sessionless,
        _ => Era::Handshake,
    }
}
