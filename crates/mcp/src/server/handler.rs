//! The request handlers of one connection: rmcp calls them, and the modules beside this one build the results.

use std::borrow::Cow;
use std::sync::Arc;

use prowess::session::ToolCall;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, CustomRequest,
    CustomResult, ExtensionCapabilities, GetPromptRequestParams, GetPromptResponse, Implementation,
    JsonObject, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PromptsCapability, ProtocolVersion, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult,
    ResourcesCapability, ServerCapabilities, ServerConfig, SubscribeRequestParams, SubscriptionFilter,
    ToolsCapability, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};

use crate::protocol::methods;
use crate::protocol::response_budget::SMALL_RESPONSE;
use crate::protocol::wire::{self, Era};
use crate::server::connection::Connection;
use crate::server::errors::no_such_method;
use crate::server::prebuilt::ResultSlot;
use crate::server::record::CallRecord;
use crate::server::{
    Context, PageRequest, Server, Shared, blocking, era, prompts, resources, skills, subscriptions, tools,
};

/// Whether rmcp has types for a method: such a custom request has params that do not fit them.
fn is_malformed(method: &str, era: Era) -> bool {
    // A method of another version is unknown (HTTP 404, -32601), whatever its params.
    let of_version: &[&str] = match era {
        Era::Handshake => &methods::HANDSHAKE,
        Era::Sessionless => &methods::SESSIONLESS,
    };
    methods::COMMON.contains(&method) || of_version.contains(&method)
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
        context: Context,
    ) -> Result<CustomResult, ErrorData> {
        let era = era(&context);
        let CustomRequest { method, params, .. } = request;
        match method.as_str() {
            wire::LIST => {
                let params: wire::ListParams = params_of(params)?;
                // A cached page needs no file and no thread.
                let known = self.shared.live.known();
                match known.and_then(|now| now.cached_page(params.cursor.as_deref(), era)) {
                    Some(page) => self.fill_slot(&context, page).await?,
                    None => {
                        let limit = &self.shared.work_limits.lists;
                        let list = move |shared: &Shared| skills::list(shared, params, era);
                        self.respond_with_text(limit, &context, list).await?;
                    }
                }
            }
            wire::GET => {
                let params: wire::GetParams = params_of(params)?;
                let limit = self.limit_at(&context, &params.uri);
                let get = move |shared: &Shared| skills::get(shared, &params.uri, era);
                self.respond_with_text(&limit, &context, get).await?;
            }
            wire::DIRECTORY => {
                let params: wire::DirectoryParams = params_of(params)?;
                let limit = self.limit_at(&context, &params.uri);
                let directory = move |shared: &Shared| skills::directory(shared, params, era);
                self.respond_with_text(&limit, &context, directory).await?;
            }
            known if self.serves(known) && is_malformed(known, era) => {
                let text = format!("the params of {known} are missing or have another shape");
                return Err(ErrorData::invalid_params(text, None));
            }
            _ => return Err(no_such_method(&method)),
        }
        Ok(CustomResult::new(Value::Null))
    }

    async fn list_resources(
        &self,
        request: PageRequest,
        context: Context,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.respond_with_page(&self.shared.work_limits.lists, request, &context, resources::list).await
    }

    async fn list_resource_templates(
        &self,
        request: PageRequest,
        _context: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        self.shared.only_page("templates", request)?;
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        // Reading SKILL.md activates nothing.
        let limit = self.limit_at(&context, &request.uri);
        let era = era(&context);
        let slot = ResultSlot::of(&context.extensions)?;
        let found = self.work_within(&limit, &context, move |shared, _| {
            let found = resources::find(shared, request.uri)?;
            if found.size() <= SMALL_RESPONSE {
                found.read(shared, era, None).map(Ok)
            } else {
                Ok(Err(found))
            }
        });
        match found.await? {
            Ok(result) => slot.fill(Ok(result))?,
            // Reserve memory first, then read the file: a waiting request holds none.
            Err(found) => {
                let reserved = self.shared.budget.reserve(found.size(), slot.timeout());
                match blocking::unless_cancelled(&context.ct, reserved).await? {
                    Err(exhausted) => slot.fill(Err(exhausted))?,
                    Ok(reservation) => {
                        let read = self.work_within(&limit, &context, move |shared, _| {
                            found.read(shared, era, Some(reservation))
                        });
                        slot.fill(Ok(read.await?))?;
                    }
                }
            }
        }
        Ok(ReadResourceResult::new(Vec::new()).into())
    }

    // Subscriptions of versions with a handshake.
    async fn subscribe(&self, request: SubscribeRequestParams, context: Context) -> Result<(), ErrorData> {
        if !self.shared.live.watching() {
            return Err(no_such_method("resources/subscribe"));
        }
        let limit = self.limit_at(&context, &request.uri);
        let work = move |shared: &Shared, connection: &Connection| connection.subscribe(shared, request.uri);
        self.work_within(&limit, &context, work).await
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: Context,
    ) -> Result<(), ErrorData> {
        if !self.shared.live.watching() {
            return Err(no_such_method("resources/unsubscribe"));
        }
        self.connection.unsubscribe(&request.uri);
        Ok(())
    }

    // From 2026-07-28 on: one long request per subscription, which has its own notifications.
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
        // One task per connection, which ends with this handler.
        if self.shared.live.watching() {
            tokio::spawn(subscriptions::notify(
                Arc::clone(&self.shared),
                Arc::clone(&self.connection),
                self.since,
                context.peer,
                self.notifier.clone(),
            ));
        }
    }

    async fn list_tools(&self, request: PageRequest, context: Context) -> Result<ListToolsResult, ErrorData> {
        if !self.shared.tools {
            return Err(no_such_method("tools/list"));
        }
        self.shared.only_page("tools", request)?;
        let (era, limit) = (era(&context), &self.shared.work_limits.local);
        self.respond(limit, &context, move |shared, connection| Ok(tools::list(shared, connection, era)))
            .await
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: Context,
    ) -> Result<CallToolResponse, ErrorData> {
        if !self.shared.tools {
            return Err(no_such_method("tools/call"));
        }
        let era = era(&context);
        // An unknown tool or invalid arguments give a result that the model can read, never a protocol error.
        let call = ToolCall::new(request.name, Value::Object(request.arguments.unwrap_or_default()));
        let has_remote = self.shared.live.known().is_some_and(|now| now.sessions.registry.has_remote());
        let (key, call) = if has_remote {
            let local = &self.shared.work_limits.local;
            let find = move |shared: &Shared, connection: &Connection| {
                Ok((tools::skill_of(connection, &shared.live.current(), era, &call), call))
            };
            self.work_within(local, &context, find).await?
        } else {
            (None, call)
        };
        let limit = self.limit_of(key.as_deref().unwrap_or_default());
        let record = CallRecord::of(&context.extensions);
        let called = self.respond(&limit, &context, move |shared, connection| {
            Ok(tools::call(shared, connection, era, call, &record))
        });
        called.await.map(Into::into)
    }

    async fn list_prompts(
        &self,
        request: PageRequest,
        context: Context,
    ) -> Result<ListPromptsResult, ErrorData> {
        self.respond_with_page(&self.shared.work_limits.local, request, &context, prompts::list).await
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: Context,
    ) -> Result<GetPromptResponse, ErrorData> {
        let era = era(&context);
        let is_key = self.shared.live.known().is_some_and(|now| now.is_invocable(&request.name));
        let key = if is_key {
            Some(request.name.clone())
        } else {
            let (local, name) = (&self.shared.work_limits.local, request.name.clone());
            self.work_within(local, &context, move |shared, _| Ok(prompts::key_of(shared, &name))).await?
        };
        let limit = self.limit_of(key.as_deref().unwrap_or_default());
        self.record_skill(&context, key.as_deref());
        let got = self.respond(&limit, &context, move |shared, connection| {
            prompts::get(shared, connection, era, &request)
        });
        got.await.map(Into::into)
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: Context,
    ) -> Result<CompleteResult, ErrorData> {
        let limit = &self.shared.work_limits.lists;
        self.respond(limit, &context, move |shared, _| prompts::complete(shared, &request)).await
    }
}

fn params_of<T: serde::de::DeserializeOwned>(params: Option<Value>) -> Result<T, ErrorData> {
    serde_json::from_value(params.unwrap_or_else(|| json!({})))
        .map_err(|error| ErrorData::invalid_params(error.to_string(), None))
}
