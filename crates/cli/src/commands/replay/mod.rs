//! `prowess replay`: answers tool calls from a file in one session, a result for every line.

mod host;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use prowess::fs::read;
use prowess::session::{Filter, Reason, ToolCall, ToolResult};
use prowess::text::inline;
use prowess::{Chat, Skills};
use serde_json::{Map, Value};

use super::{STDIN, opened, session_defaults};
use crate::Outcome;
use crate::args::Replay;
use crate::error::{CommandError, Failure};
use crate::explain::unread::{answered, say_beside};
use crate::ui::{self, Ui};

/// The maximum length of a line.
const MAX_LINE: usize = 4 << 20;
/// The maximum size of a file of calls.
const MAX_FILE: usize = 256 << 20;

/// Runs the command.
pub(crate) fn run(args: &Replay, ui: &mut Ui) -> Result<Outcome, CommandError> {
    let (registry, session_config) = opened(&args.places)?;
    say_beside(&registry, &args.places, ui);
    let session_config =
        session_defaults(session_config, args.session.filter.as_ref(), args.tools.as_deref());
    let options = session_config
        .options()
        .with_naming(args.session.naming.clone())
        .with_max_active(args.session.max_active);
    let approving = Arc::new(AtomicBool::new(false));
    let approves = Arc::clone(&approving);
    let skills = Skills::builder()
        .with_policy(session_config.policy())
        .with_options(options)
        .with_approval(move |_, _| approves.load(Ordering::Relaxed))
        .build_on(registry);
    let mut replay =
        Host { chat: skills.chat("replay"), approving, model_only: args.model_only, is_misled: false };
    if args.calls == Path::new(STDIN) {
        while let Some(line) = ui::read_line(MAX_LINE)? {
            replay.line(&line, ui)?;
        }
    } else {
        let bytes = read::read_small(&args.calls, MAX_FILE).map_err(|error| Failure::from(&error))?;
        // After the last line break there is no line.
        let lines = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        for line in lines.split(|byte| *byte == b'\n').filter(|_| !bytes.is_empty()) {
            replay.line(line, ui)?;
        }
    }
    let answered = answered(skills.registry(), &args.places);
    Ok(if replay.is_misled && answered == Outcome::Fine { Outcome::Problems } else { answered })
}

/// A host whose model is a file.
struct Host {
    chat: Chat,
    /// Whether the host approves skills.
    approving: Arc<AtomicBool>,
    /// Whether lines for the host are refused.
    model_only: bool,
    /// Whether a line was no call.
    is_misled: bool,
}

/// Why a line was refused, and a hint.
type Fault = (String, &'static str);

/// The members of a line.
const CALL: [&str; 3] = ["tool", "arguments", "filter"];
const ACT: [&str; 2] = ["host", "arguments"];

impl Host {
    /// Answers one line.
    fn line(&mut self, line: &[u8], ui: &mut Ui) -> Result<(), CommandError> {
        let result = self.answer(line).unwrap_or_else(|(reason, hint)| {
            self.is_misled = true;
            ToolResult::refused(
                Reason::BadCall,
                format!("this line is not a call: {}", inline(&reason)),
                hint,
            )
        });
        ui.json_of(&result)
    }

    fn answer(&mut self, line: &[u8]) -> Result<ToolResult, Fault> {
        const CALL_HINT: &str = r#"write {"tool": NAME, "arguments": {…}}"#;
        const HOST_HINT: &str = r#"write {"host": WORD, "arguments": {…}}; docs/embed/sessions.md lists the words and their arguments"#;
        let of_call = |reason: String| (reason, CALL_HINT);
        if line.len() > MAX_LINE {
            return Err(of_call(format!("it is longer than {MAX_LINE} bytes")));
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            return Err(of_call("it is empty".to_owned()));
        }
        let line = prowess::internal::parse_json(line).map_err(|error| of_call(error.to_string()))?;
        let line = line.as_object().ok_or_else(|| of_call("it is not an object".to_owned()))?;
        let is_host = line.contains_key("host");
        let (members, hint) = if is_host { (&ACT[..], HOST_HINT) } else { (&CALL[..], CALL_HINT) };
        let done = match line.keys().find(|name| !members.contains(&name.as_str())) {
            Some(name) => Err(format!("it has an unknown member: {name}")),
            None if is_host && self.model_only => {
                return Err(("this channel is for the calls of a model".to_owned(), CALL_HINT));
            }
            None if is_host => self.act(line),
            None if self.model_only && line.contains_key("filter") => {
                return Err((
                    "the filter is set by the host, not by a call of a model".to_owned(),
                    CALL_HINT,
                ));
            }
            None => self.call(line),
        };
        done.map_err(|reason| (reason, hint))
    }

    fn act(&mut self, line: &Map<String, Value>) -> Result<ToolResult, String> {
        let what = line.get("host").and_then(Value::as_str).ok_or("host is not a text")?;
        host::act(self, what, line.get("arguments").cloned().unwrap_or_default())
    }

    fn call(&mut self, line: &Map<String, Value>) -> Result<ToolResult, String> {
        let arguments = line.get("arguments").cloned().unwrap_or_default();
        let tool = line.get("tool").ok_or("it has no tool")?;
        let tool = tool.as_str().ok_or("the tool is not a text")?;
        let filter = match line.get("filter") {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text.parse::<Filter>().map_err(|error| error.to_string())?),
            Some(_) => return Err("the filter is not a text".to_owned()),
        };
        let mut call = ToolCall::new(tool, arguments);
        call.filter = filter;
        Ok(self.chat.call(call))
    }
}
