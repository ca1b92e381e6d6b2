//! One connection's server: what rmcp asks, answered from the library. The routes are here, the answers in their rooms.

pub(crate) mod blocking;
pub(crate) mod connection;
pub(crate) mod prebuilt;
pub(crate) mod prompts;
pub(crate) mod resources;
pub(crate) mod skills;
pub(crate) mod subscriptions;
pub(crate) mod tools;

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use prowess::Registry;
use prowess::session::ToolCall;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, CustomRequest,
    CustomResult, ErrorCode, ExtensionCapabilities, GetPromptRequestParams, GetPromptResponse,
    Implementation, JsonObject, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, PromptsCapability, ProtocolVersion, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, ResourcesCapability, ServerCapabilities, ServerConfig,
    ServerResult, SubscribeRequestParams, SubscriptionFilter, ToolsCapability, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::ServeOptions;
use crate::library::live::Live;
use crate::protocol::cursor::Cursors;
use crate::protocol::outgoing::Part;
use crate::protocol::response_budget::{SMALL, Unsent};
use crate::protocol::uri;
use crate::protocol::wire::{self, Era};
use crate::server::blocking::Gates;
use crate::server::connection::Connection;
use crate::server::prebuilt::Slot;

/// What all connections share.
pub(crate) struct Shared {
    pub(crate) live: Arc<Live>,
    pub(crate) cursors: Cursors,
    pub(crate) tools: bool,
    gates: Gates,
    unsent: Unsent,
    pub(crate) stop: CancellationToken,
}

impl Shared {
    /// Up to `waiting` requests may wait for room for their answers.
    pub(crate) fn new(
        registry: Registry,
        options: &ServeOptions,
        waiting: usize,
        stop: CancellationToken,
    ) -> Arc<Self> {
        Arc::new(Self {
            live: Live::start(registry, options, stop.clone()),
            cursors: Cursors::new(),
            tools: options.tools,
            gates: Gates::new(),
            unsent: Unsent::new(options.max_unsent, waiting),
            stop,
        })
    }

    /// Where a list goes on.
    pub(crate) fn after(&self, list: &str, cursor: Option<&str>) -> Result<Option<String>, ErrorData> {
        let Some(cursor) = cursor else { return Ok(None) };
        let shown: String = cursor.chars().take(200).collect();
        let foreign =
            || ErrorData::invalid_params("this cursor is not of this list", Some(json!({ "cursor": shown })));
        self.cursors.read(list, cursor).map(Some).ok_or_else(foreign)
    }

    /// A list that has one page: every cursor is foreign to it.
    fn only_page(&self, list: &str, request: Option<PaginatedRequestParams>) -> Result<(), ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        self.after(list, cursor.as_deref()).map(|_| ())
    }
}

/// The handler of one connection: of a pipe, of a session over HTTP, of a single request without one. rmcp makes more
/// of them than it uses, so making one costs nothing.
pub(crate) struct Server {
    shared: Arc<Shared>,
    connection: Arc<Connection>,
    /// Ends the notifier of this connection when rmcp drops the handler.
    notifier: CancellationToken,
    _end: DropGuard,
}

impl Server {
    pub(crate) fn new(shared: Arc<Shared>) -> Self {
        let notifier = shared.stop.child_token();
        Self { shared, connection: Arc::default(), _end: notifier.clone().drop_guard(), notifier }
    }

    /// Whether the capabilities that were declared have this method.
    fn serves(&self, method: &str) -> bool {
        match method {
            "tools/list" | "tools/call" => self.shared.tools,
            "resources/subscribe" | "resources/unsubscribe" | "subscriptions/listen" => {
                self.shared.live.watching()
            }
            _ => true,
        }
    }

    /// What a host tells its model about this server, with the skills that are active from the start.
    fn instructions(&self) -> String {
        let about = if self.shared.tools { tools::INSTRUCTIONS } else { skills::INSTRUCTIONS };
        match self.shared.live.known().filter(|now| !now.preloaded.is_empty()) {
            Some(now) => format!("{about} These are loaded already:\n\n{}", now.preloaded),
            None => about.to_owned(),
        }
    }

    /// The gate for work on the skill at an address.
    fn gate_at(&self, uri: &str) -> Arc<Semaphore> {
        match uri::parse(uri) {
            Some((key, _)) => self.gate_of(&key),
            None => Arc::clone(&self.shared.gates.near),
        }
    }

    /// The gate for work on a skill, which may be read from a remote source.
    fn gate_of(&self, key: &str) -> Arc<Semaphore> {
        match self.shared.live.known().and_then(|now| now.remote_source(key)) {
            Some(source) => self.shared.gates.far(&source),
            None => Arc::clone(&self.shared.gates.near),
        }
    }

    /// Does blocking work, and leaves its result as text with the request: rmcp gets an empty one.
    async fn answer<T: Into<ServerResult> + Default>(
        &self,
        gate: &Arc<Semaphore>,
        context: &RequestContext<RoleServer>,
        work: impl FnOnce(&Shared, &Connection) -> Result<T, ErrorData> + Send + 'static,
    ) -> Result<T, ErrorData> {
        let era = era(context);
        let text = self.work_within(gate, context, move |shared, connection| {
            prebuilt::text_of(work(shared, connection)?, era)
        });
        self.leave(context, text.await?).await?;
        Ok(T::default())
    }

    /// Leaves the text of a result with its request, when there is room for it.
    async fn leave(&self, context: &RequestContext<RoleServer>, text: Bytes) -> Result<(), ErrorData> {
        let slot = Slot::of(&context.extensions)?;
        let room = self.shared.unsent.admit(text, slot.patience());
        let room = blocking::unless_cancelled(&context.ct, room).await?;
        slot.fill(room.map(|text| vec![Part::Json(text)]))
    }

    async fn work_within<T: Send + 'static>(
        &self,
        gate: &Arc<Semaphore>,
        context: &RequestContext<RoleServer>,
        work: impl FnOnce(&Shared, &Connection) -> Result<T, ErrorData> + Send + 'static,
    ) -> Result<T, ErrorData> {
        let (shared, connection) = (Arc::clone(&self.shared), Arc::clone(&self.connection));
        blocking::work(gate, &context.ct, move || work(&shared, &connection)).await
    }
}

fn no_such_method(method: &str) -> ErrorData {
    let text = format!("no such method: {}", skills::shown(method));
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, text, None)
}

/// Sessionless when the request itself names 2026-07-28 or later; the handshake's version otherwise.
pub(crate) fn era(context: &RequestContext<RoleServer>) -> Era {
    match context.protocol_version() {
        Some(version) if !version.has_initialize() => Era::Sessionless,
        _ => Era::Handshake,
    }
}

/// Methods that rmcp has types for: one of them that gets here had params that did not fit.
fn is_malformed(method: &str, era: Era) -> bool {
    let always = [
        "completion/complete",
        "prompts/get",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "tools/call",
        "tools/list",
        "server/discover",
    ];
    // Gone since 2026-07-28: there they are unknown methods (HTTP 404, -32601), whatever their params.
    let handshake = ["initialize", "ping", "resources/subscribe", "resources/unsubscribe"];
    let sessionless = ["subscriptions/listen"];
    always.contains(&method)
        || (era == Era::Handshake && handshake.contains(&method))
        || (era == Era::Sessionless && sessionless.contains(&method))
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let mut extensions = ExtensionCapabilities::new();
        let mut settings = JsonObject::new();
        settings.insert("directoryRead".to_owned(), Value::Bool(true));
        extensions.insert(wire::EXTENSION.to_owned(), settings);
        let live = self.shared.live.watching().then_some(true);
        let mut resources = ResourcesCapability::default();
        (resources.subscribe, resources.list_changed) = (live, live);
        let mut prompts = PromptsCapability::default();
        prompts.list_changed = live;
        let mut tools = ToolsCapability::default();
        tools.list_changed = live;
        let mut capabilities = ServerCapabilities::default();
        capabilities.extensions = Some(extensions);
        capabilities.resources = Some(resources);
        capabilities.prompts = Some(prompts);
        capabilities.completions = Some(JsonObject::new());
        capabilities.tools = self.shared.tools.then_some(tools);
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("prowess", env!("CARGO_PKG_VERSION")).with_title("Prowess"))
            .with_instructions(self.instructions())
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(ProtocolVersion::KNOWN_VERSIONS)
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let era = era(&context);
        let CustomRequest { method, params, .. } = request;
        match method.as_str() {
            wire::LIST => {
                let params: wire::ListParams = params_of(params)?;
                // A page that was made a moment ago needs no file and no thread.
                let known = self.shared.live.known();
                match known.and_then(|now| now.page(params.cursor.as_deref(), era)) {
                    Some(page) => self.leave(&context, page).await?,
                    None => {
                        let gate = &self.shared.gates.lists;
                        let made = self
                            .work_within(gate, &context, move |shared, _| skills::list(shared, params, era));
                        self.leave(&context, made.await?).await?;
                    }
                }
                Ok(CustomResult::new(Value::Null))
            }
            wire::GET => {
                let params: wire::GetParams = params_of(params)?;
                let gate = self.gate_at(&params.uri);
                let made =
                    self.work_within(&gate, &context, move |shared, _| skills::get(shared, &params.uri, era));
                self.leave(&context, made.await?).await?;
                Ok(CustomResult::new(Value::Null))
            }
            wire::DIRECTORY => {
                let params: wire::DirectoryParams = params_of(params)?;
                let gate = self.gate_at(&params.uri);
                let made = self
                    .work_within(&gate, &context, move |shared, _| skills::directory(shared, params, era));
                self.leave(&context, made.await?).await?;
                Ok(CustomResult::new(Value::Null))
            }
            known if self.serves(known) && is_malformed(known, era) => Err(ErrorData::invalid_params(
                format!("the params of {known} are missing or have another shape"),
                None,
            )),
            _ => Err(no_such_method(&method)),
        }
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        let gate = &self.shared.gates.lists;
        self.answer(gate, &context, move |shared, _| resources::list(shared, cursor.as_deref())).await
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        self.shared.only_page("templates", request)?;
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        // Reading SKILL.md activates nothing.
        let gate = self.gate_at(&request.uri);
        let era = era(&context);
        let slot = Slot::of(&context.extensions)?;
        let found = self.work_within(&gate, &context, move |shared, _| {
            let found = resources::find(shared, request.uri)?;
            if found.size() <= SMALL { found.read(shared, era, None).map(Ok) } else { Ok(Err(found)) }
        });
        match found.await? {
            Ok(result) => slot.fill(Ok(result))?,
            // Reserve room first, then read the file: a waiting request holds no memory.
            Err(found) => {
                let room = self.shared.unsent.reserve(found.size(), slot.patience());
                match blocking::unless_cancelled(&context.ct, room).await? {
                    Err(full) => slot.fill(Err(full))?,
                    Ok(share) => {
                        let read = self.work_within(&gate, &context, move |shared, _| {
                            found.read(shared, era, Some(share))
                        });
                        slot.fill(Ok(read.await?))?;
                    }
                }
            }
        }
        Ok(ReadResourceResult::new(Vec::new()).into())
    }

    // The subscriptions of the handshake eras: older hosts know no others.
    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if !self.shared.live.watching() {
            return Err(no_such_method("resources/subscribe"));
        }
        let gate = self.gate_at(&request.uri);
        let work = move |shared: &Shared, connection: &Connection| connection.subscribe(shared, request.uri);
        self.work_within(&gate, &context, work).await
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if !self.shared.live.watching() {
            return Err(no_such_method("resources/unsubscribe"));
        }
        self.connection.unsubscribe(&request.uri);
        Ok(())
    }

    // From 2026-07-28 on: one long request per subscription, which carries its own notifications.
    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        self.shared
            .live
            .watching()
            .then(|| subscriptions::accepted(requested, &self.shared, &self.connection))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        subscriptions::listen(&self.shared, &self.connection, context).await
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        // A task for each connection, which ends with this handler.
        if self.shared.live.watching() {
            tokio::spawn(subscriptions::notify(
                Arc::clone(&self.shared),
                Arc::clone(&self.connection),
                self.shared.live.known(),
                context.peer,
                self.notifier.clone(),
            ));
        }
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        if !self.shared.tools {
            return Err(no_such_method("tools/list"));
        }
        self.shared.only_page("tools", request)?;
        let (era, gate) = (era(&context), &self.shared.gates.near);
        self.answer(gate, &context, move |shared, connection| Ok(tools::list(shared, connection, era))).await
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if !self.shared.tools {
            return Err(no_such_method("tools/call"));
        }
        let era = era(&context);
        // An unknown tool or wrong arguments are a result that the model can read, never an error of the protocol.
        let call = ToolCall::new(request.name, Value::Object(request.arguments.unwrap_or_default()));
        let remote = self.shared.live.known().filter(|now| now.registry.has_far());
        // What a name means is known to the session that answers.
        let key = remote.and_then(|now| tools::skill_of(&self.connection, &now, era, &call));
        let gate = self.gate_of(key.as_deref().unwrap_or_default());
        let called = self.answer(&gate, &context, move |shared, connection| {
            Ok(tools::call(shared, connection, era, call))
        });
        called.await.map(Into::into)
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let cursor = request.and_then(|request| request.cursor);
        let gate = &self.shared.gates.near;
        self.answer(gate, &context, move |shared, _| prompts::list(shared, cursor.as_deref())).await
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let era = era(&context);
        let gate = self.gate_of(&request.name);
        let got = self.answer(&gate, &context, move |shared, connection| {
            prompts::get(shared, connection, era, &request)
        });
        got.await.map(Into::into)
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let gate = &self.shared.gates.lists;
        self.answer(gate, &context, move |shared, _| prompts::complete(shared, &request)).await
    }
}

fn params_of<T: serde::de::DeserializeOwned>(params: Option<Value>) -> Result<T, ErrorData> {
    serde_json::from_value(params.unwrap_or_else(|| json!({})))
        .map_err(|error| ErrorData::invalid_params(error.to_string(), None))
}
