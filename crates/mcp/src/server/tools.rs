//! The tools of a session as MCP tools, for hosts without the skills extension.

use std::borrow::Cow;
use std::sync::Arc;

use prowess::conversation::SessionAccess;
use prowess::drive::finish;
use prowess::session::{Reason, Session, Step, Tool, ToolCall, ToolDef, ToolResult};
use rmcp::model::{CallToolResult, ContentBlock, ListToolsResult, Tool as McpTool, ToolAnnotations};
use serde_json::Value;

use crate::library::snapshot::Snapshot;
use crate::protocol::wire::Era;
use crate::server::Shared;
use crate::server::connection::Connection;
use crate::server::record::CallRecord;

/// The instructions for a model.
pub(crate) const INSTRUCTIONS: &str = "Skills are instructions for particular tasks. Before you begin a task, look \
     whether a skill fits it, load the skill, and follow it. Its other files are read when it points to them.";

/// The tools, in the order of a session: the first needs no arguments.
pub(crate) fn list(shared: &Shared, connection: &Connection, era: Era) -> ListToolsResult {
    let snapshot = shared.live.current();
    let tools = match era {
        Era::Handshake => connection.with_session(&snapshot, |session| session.tools()),
        Era::Sessionless => snapshot.sessions.single.tools(),
    };
    ListToolsResult::with_all_items(tools.iter().map(described).collect())
}

fn described(tool: &ToolDef) -> McpTool {
    let schema = tool.input_schema.as_object().cloned().unwrap_or_default();
    let annotations = ToolAnnotations::from_raw(
        title(tool.tool).map(str::to_owned),
        Some(tool.read_only),
        Some(false),
        Some(tool.idempotent),
        Some(false),
    );
    McpTool::new(tool.name.clone(), tool.description.clone(), Arc::new(schema)).with_annotations(annotations)
}

/// The display name of a tool; a client shows the name of a tool without one.
fn title(tool: Tool) -> Option<&'static str> {
    Some(match tool {
        Tool::List => "List skills",
        Tool::Search => "Search skills",
        Tool::Load => "Load a skill",
        Tool::Unload => "Unload a skill",
        Tool::Read => "Read a file of a skill",
        Tool::Run => "Run a script of a skill",
        _ => return None,
    })
}

/// The key of the skill that a call is about. Only the session that handles the call can resolve a name, and it may compare
/// the name with every skill.
pub(crate) fn skill_of(
    connection: &Connection,
    snapshot: &Snapshot,
    era: Era,
    call: &ToolCall,
) -> Option<String> {
    let key = |session: &Session| session.skill_of(call).map(|skill| skill.entry.key.clone());
    match era {
        Era::Handshake => connection.with_session(snapshot, |session| key(session)),
        Era::Sessionless => key(&snapshot.sessions.single),
    }
}

/// Handles a call, in the session of a connection or in a session for this call alone.
pub(crate) fn call(
    shared: &Shared,
    connection: &Connection,
    era: Era,
    call: ToolCall,
    record: &CallRecord,
) -> CallToolResult {
    let snapshot = shared.live.current();
    let naming = &snapshot.sessions.connection.options().naming;
    // Only names from our own tables are recorded: a client can send any text.
    let known = naming.tool(&call.tool);
    let tool = known.map(|tool| naming.tool_name(tool));
    let mut skill = skill_of(connection, &snapshot, era, &call);
    let result = run(connection, &snapshot, era, |session| session.call(call));
    if known == Some(Tool::Unload) && result.is_ok() {
        skill = result.data.get("skill").and_then(Value::as_str).map(str::to_owned);
    }
    if result.reason == Some(Reason::ReadFailed) {
        shared.live.poll_soon();
    }
    let tool = tool.unwrap_or(Cow::Borrowed("unknown"));
    let reason = result.reason.map(Reason::code);
    shared.metrics.count_call(&tool, skill.as_deref(), reason.unwrap_or("ok"));
    record.set_call(tool, skill, reason);
    described_result(result)
}

/// Begins a step in the session of the era, and performs its effects until there is a result.
///
/// The session of a connection is locked for each step and not while a file is read: concurrent calls have a ticket
/// each, and a slow source delays only its own calls.
pub(crate) fn run(
    connection: &Connection,
    snapshot: &Snapshot,
    era: Era,
    begin: impl FnOnce(&mut Session) -> Step,
) -> ToolResult {
    let performer = snapshot.sessions.performer();
    if era == Era::Sessionless {
        let mut session = snapshot.sessions.single.clone();
        let step = begin(&mut session);
        return finish(&mut session, &performer, step);
    }
    let mut shared = SessionOf { connection, snapshot };
    let step = shared.with(begin);
    finish(&mut shared, &performer, step)
}

/// The session of a connection.
struct SessionOf<'a> {
    connection: &'a Connection,
    snapshot: &'a Snapshot,
}

impl SessionAccess for SessionOf<'_> {
    fn with<T>(&mut self, act: impl FnOnce(&mut Session) -> T) -> T {
        self.connection.with_session(self.snapshot, act)
    }
}

fn described_result(result: ToolResult) -> CallToolResult {
    let content = vec![ContentBlock::text(result.full_text())];
    let mut called =
        if result.is_ok() { CallToolResult::success(content) } else { CallToolResult::error(content) };
    called.structured_content = result.into_structured_content();
    called
}

#[cfg(test)]
mod tests {
    use prowess::session::{Dialect, ReceivedCall};
    use serde_json::json;

    use super::*;

    #[test]
    fn the_server_and_the_dialect_build_the_same_result() {
        let received = ReceivedCall { id: None, call: ToolCall::new("load_skill", json!({})) };
        for result in [
            ToolResult::done("text", json!({"skill": "pdf"})),
            ToolResult::done("text", json!(null)),
            ToolResult::failed("output", json!({"code": 1})),
            ToolResult::refused(Reason::UnknownSkill, "there is no such skill: pdf", "the skills are mail"),
            ToolResult::refused(Reason::BadPath, "the path is empty", "").with_data(json!({"rule": "empty"})),
        ] {
            let dialect = Dialect::Mcp.result(&received, &result);
            let mut served = serde_json::to_value(described_result(result)).unwrap();
            // rmcp adds this member, and takes it away for versions of the protocol without it.
            served.as_object_mut().unwrap().remove("resultType");
            assert_eq!(served, dialect);
        }
    }
}
