//! The forms of tools, calls and results in model interfaces: MCP, Anthropic, OpenAI, Gemini.

use serde_json::{Map, Value, json};

use crate::session::effect::ToolCall;
use crate::session::interface::result::ToolResult;
use crate::session::interface::schema::ToolDef;

/// A model interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Dialect {
    /// The Model Context Protocol: the tools of `tools/list`.
    #[default]
    Mcp,
    /// The Messages API of Anthropic.
    Anthropic,
    /// The Chat Completions API of OpenAI, which many other servers support.
    OpenAi,
    /// The Gemini API of Google.
    Gemini,
}

/// A call as an interface sent it.
#[derive(Clone, Debug, PartialEq)]
pub struct ReceivedCall {
    /// The id that its result must have; some interfaces have none.
    pub id: Option<String>,
    /// The call.
    pub call: ToolCall,
}

impl Dialect {
    /// All dialects, in the order of the documentation.
    pub const ALL: &'static [Self] = &[Self::Mcp, Self::Anthropic, Self::OpenAi, Self::Gemini];

    /// The name used in options.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mcp => "mcp",
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
            Self::Gemini => "gemini",
        }
    }

    /// The tools in the form of the interface: the value of `tools` in a request.
    pub fn tools(self, tools: &[ToolDef]) -> Value {
        let each = tools.iter().map(|tool| self.tool(tool)).collect();
        match self {
            Self::Gemini if tools.is_empty() => json!([]),
            Self::Gemini => json!([{"functionDeclarations": Value::Array(each)}]),
            Self::Mcp | Self::Anthropic | Self::OpenAi => Value::Array(each),
        }
    }

    fn tool(self, tool: &ToolDef) -> Value {
        let ToolDef { name, description, input_schema, .. } = tool;
        match self {
            Self::Mcp => json!({
                "name": name,
                "description": description,
                "inputSchema": input_schema,
                "annotations": {
                    "readOnlyHint": tool.read_only,
                    "destructiveHint": !tool.read_only,
                    "idempotentHint": tool.idempotent,
                    "openWorldHint": false,
                },
            }),
            Self::Anthropic => {
                json!({"name": name, "description": description, "input_schema": input_schema})
            }
            Self::OpenAi => json!({
                "type": "function",
                "function": {"name": name, "description": description, "parameters": input_schema},
            }),
            Self::Gemini => {
                json!({"name": name, "description": description, "parameters": gemini(input_schema)})
            }
        }
    }

    /// Reads a call in the form of the interface; none when it is not a call. Invalid arguments are kept: the session
    /// refuses them with an error that the model can use.
    pub fn call(self, message: &Value) -> Option<ReceivedCall> {
        let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
        let given = |value: &Value, key: &str| value.get(key).cloned().unwrap_or_default();
        let (id, tool, arguments) = match self {
            Self::Mcp => (None, text(message, "name")?, given(message, "arguments")),
            Self::Anthropic => {
                // The interface itself performs other kinds of calls, such as `mcp_tool_use`.
                if message.get("type").is_some_and(|kind| kind != "tool_use") {
                    return None;
                }
                (text(message, "id"), text(message, "name")?, given(message, "input"))
            }
            Self::OpenAi => {
                let function = message.get("function")?;
                (text(message, "id"), text(function, "name")?, given(function, "arguments"))
            }
            Self::Gemini => {
                // The lists of calls in Google's libraries have them without the part around them.
                let call = message.get("functionCall").unwrap_or(message);
                (text(call, "id"), text(call, "name")?, given(call, "args"))
            }
        };
        Some(ReceivedCall { id, call: ToolCall::new(tool, arguments) })
    }

    /// The result of a call as the interface takes it.
    pub fn result(self, received: &ReceivedCall, result: &ToolResult) -> Value {
        let (id, text) = (received.id.as_deref(), result.full_text());
        match self {
            Self::Mcp => {
                let mut message = Map::new();
                message.insert("content".to_owned(), json!([{"type": "text", "text": text}]));
                if let Some(structured) = result.clone().into_structured_content() {
                    message.insert("structuredContent".to_owned(), structured);
                }
                message.insert("isError".to_owned(), (!result.is_ok()).into());
                Value::Object(message)
            }
            Self::Anthropic => json!({
                "type": "tool_result",
                "tool_use_id": id,
                "content": text,
                "is_error": !result.is_ok(),
            }),
            Self::OpenAi => json!({"role": "tool", "tool_call_id": id, "content": text}),
            Self::Gemini => {
                let mut response = Map::new();
                response.insert("name".to_owned(), received.call.tool.as_str().into());
                if let Some(id) = id {
                    response.insert("id".to_owned(), id.into());
                }
                let key = if result.is_ok() { "output" } else { "error" };
                response.insert("response".to_owned(), json!({key: text}));
                json!({"functionResponse": response})
            }
        }
    }
}

/// A schema without the keywords that Gemini rejects.
fn gemini(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some(map) = schema.as_object_mut() {
        map.remove("additionalProperties");
        if map.get("required").and_then(Value::as_array).is_some_and(Vec::is_empty) {
            map.remove("required");
        }
    }
    schema
}

impl std::str::FromStr for Dialect {
    type Err = UnknownDialect;

    fn from_str(name: &str) -> Result<Self, UnknownDialect> {
        let found = Self::ALL.iter().find(|dialect| dialect.name() == name);
        found.copied().ok_or_else(|| UnknownDialect(crate::text::inline(name).into_owned()))
    }
}

/// The dialect does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no such dialect: {0}")]
pub struct UnknownDialect(String);
