//! The tool calls in a whole response of a model interface.

use serde_json::Value;

use crate::session::interface::dialect::Dialect;

impl Dialect {
    /// The calls in a message of a model, in their order, each as [`Dialect::call`] takes it. The message may be the
    /// whole response, the message in it, or its list of parts; text and other parts are left out.
    ///
    /// ```
    /// use prowess_core::session::Dialect;
    /// use serde_json::json;
    ///
    /// let message = json!({"role": "assistant", "content": [
    ///     {"type": "text", "text": "I'll look."},
    ///     {"type": "tool_use", "id": "t1", "name": "load_skill", "input": {"name": "pdf"}},
    /// ]});
    /// let calls = Dialect::Anthropic.calls(&message);
    /// assert_eq!(calls.len(), 1);
    /// assert_eq!(calls[0]["id"], "t1");
    /// ```
    pub fn calls(self, message: &Value) -> Vec<&Value> {
        let at = |path: &str| message.pointer(path).and_then(Value::as_array);
        let parts = match self {
            Self::Mcp => None,
            Self::Anthropic => at("/content"),
            Self::OpenAi => at("/choices/0/message/tool_calls").or_else(|| at("/tool_calls")),
            Self::Gemini => at("/candidates/0/content/parts")
                .or_else(|| at("/content/parts"))
                .or_else(|| at("/parts"))
                .or_else(|| at("/functionCalls")),
        };
        let parts = parts.or_else(|| message.as_array()).map_or(std::slice::from_ref(message), Vec::as_slice);
        parts.iter().filter(|part| self.call(part).is_some()).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_calls_of_a_response_a_message_and_a_list_are_the_same() {
        let anthropic =
            json!([{"type": "text", "text": "x"}, {"type": "tool_use", "id": "1", "name": "a", "input": {}}]);
        let openai = json!([{"id": "1", "type": "function", "function": {"name": "a", "arguments": "{}"}}]);
        let gemini = json!([{"text": "x"}, {"functionCall": {"name": "a", "args": {}}}]);
        for (dialect, forms) in [
            (Dialect::Anthropic, vec![json!({"content": anthropic}), anthropic]),
            (
                Dialect::OpenAi,
                vec![
                    json!({"choices": [{"message": {"tool_calls": openai}}]}),
                    json!({"role": "assistant", "tool_calls": openai}),
                    openai,
                ],
            ),
            (
                Dialect::Gemini,
                vec![
                    json!({"candidates": [{"content": {"parts": gemini}}]}),
                    json!({"content": {"parts": gemini}}),
                    json!({"parts": gemini}),
                    gemini,
                    json!({"functionCalls": [{"id": "1", "name": "a", "args": {}}]}),
                    json!([{"name": "a", "args": {}}]),
                ],
            ),
            (Dialect::Mcp, vec![json!([{"name": "a"}]), json!({"name": "a"})]),
        ] {
            for form in forms {
                let calls = dialect.calls(&form);
                assert_eq!(calls.len(), 1, "{form}");
                assert_eq!(dialect.call(calls[0]).unwrap().call.tool, "a");
                assert_eq!(dialect.calls(calls[0]).len(), 1, "one call is a list of one: {form}");
            }
        }
    }

    #[test]
    fn a_message_without_calls_has_none() {
        for &dialect in Dialect::ALL {
            for message in [json!(null), json!("text"), json!({"content": "text"}), json!([1, {}]), json!({})]
            {
                assert!(dialect.calls(&message).is_empty(), "{}: {message}", dialect.name());
            }
        }
    }
}
