//! The log of the server: one line per event, passed to a sink of the caller.
//!
//! A separate thread writes the lines. A client need not read the log of its server, and the server must not block on
//! it: lines that do not fit into the queue are dropped and counted.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use chrono::{DateTime, SecondsFormat, Utc};
use prowess::text::inline;
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// The maximum number of lines in the queue.
const QUEUE: usize = 1024;
/// The maximum length of a field that is formatted, in characters. One that is cut ends with `…`.
const MAX_FIELD: usize = 500;
/// How long a [`LogGuard`] waits for the last lines.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(500);

/// A function that prints a finished line.
pub type LogSink = Box<dyn Fn(&str) + Send + Sync>;

/// Which events are logged, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// Warnings and errors only, as text.
    Warnings,
    /// All events, as text.
    Text,
    /// All events, one JSON object per line.
    Json,
}

/// An entry of the queue.
enum LogMessage {
    Line(String),
    /// Reports that all lines before it are written.
    Flush(SyncSender<()>),
}

/// Turns the events of this workspace into lines.
struct LogSubscriber {
    format: LogFormat,
    waiting: SyncSender<LogMessage>,
    dropped: AtomicU64,
    next: AtomicU64,
}

/// Flushes the log when dropped; waits at most half a second.
#[must_use]
pub struct LogGuard(SyncSender<LogMessage>);

impl Drop for LogGuard {
    fn drop(&mut self) {
        let (done, wait) = sync_channel(1);
        if self.0.try_send(LogMessage::Flush(done)).is_ok() {
            let _ = wait.recv_timeout(FLUSH_TIMEOUT);
        }
    }
}

/// Passes every line to `sink` until the process ends. Only the first call in a process has an effect.
pub fn log_to(format: LogFormat, sink: LogSink) -> LogGuard {
    let (waiting, lines) = sync_channel(QUEUE);
    let end = LogGuard(waiting.clone());
    let subscriber = LogSubscriber { format, waiting, dropped: AtomicU64::new(0), next: AtomicU64::new(1) };
    if tracing::subscriber::set_global_default(subscriber).is_ok() {
        std::thread::spawn(move || write_all(&lines, &sink));
    }
    end
}

fn write_all(lines: &Receiver<LogMessage>, sink: &LogSink) {
    while let Ok(message) = lines.recv() {
        match message {
            LogMessage::Line(line) => sink(&line),
            LogMessage::Flush(done) => {
                let _ = done.try_send(());
            }
        }
    }
}

impl LogSubscriber {
    /// Formats an event as a line. Some of its values come from clients and skills: what they hide is shown as in any of
    /// our texts, so that no line controls a terminal, whatever decodes it.
    fn line(&self, level: &str, mut fields: Map<String, Value>) -> String {
        for value in fields.values_mut() {
            if let Value::String(text) = value {
                *value = inline(text).into_owned().into();
            }
        }
        if self.format == LogFormat::Json {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis());
            let mut line = Map::new();
            line.insert("time_ms".to_owned(), u64::try_from(now).unwrap_or(u64::MAX).into());
            line.insert("level".to_owned(), level.into());
            line.extend(fields);
            return Value::Object(line).to_string();
        }
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let time = match self.format {
            LogFormat::Text => {
                let now: DateTime<Utc> = SystemTime::now().into();
                now.to_rfc3339_opts(SecondsFormat::Millis, true) + " "
            }
            _ => String::new(),
        };
        let mut line = format!("{time}{level}: {}", fields.get("message").map(text).unwrap_or_default());
        for (name, value) in fields.iter().filter(|(name, _)| *name != "message") {
            let _ = match name.as_str() {
                // The reason continues the sentence, and the hint has its own line.
                "reason" => write!(line, ": {}", text(value)),
                "hint" => write!(line, "\n  hint: {}", text(value)),
                name => write!(line, ", {name} {}", quoted(&text(value))),
            };
        }
        line
    }

    /// Queues a line, after a line with the number of dropped ones.
    fn queue(&self, level: &str, fields: Map<String, Value>) {
        let dropped = self.dropped.swap(0, Ordering::Relaxed);
        if dropped > 0 {
            let mut notice = Map::new();
            notice.insert("message".to_owned(), "lines of the log were left out".into());
            notice.insert("lines".to_owned(), dropped.into());
            if self.waiting.try_send(LogMessage::Line(self.line("warning", notice))).is_err() {
                self.dropped.fetch_add(dropped + 1, Ordering::Relaxed);
                return;
            }
        }
        if self.waiting.try_send(LogMessage::Line(self.line(level, fields))).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The value of a field, in quotes if it could be taken for more than one field: some come from clients.
fn quoted(value: &str) -> Cow<'_, str> {
    if value.is_empty() || value.contains([' ', ',', '"']) {
        return Value::from(value).to_string().into();
    }
    value.into()
}

struct Fields(Map<String, Value>);

impl Visit for Fields {
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name().to_owned(), value.into());
    }
    fn record_i64(&mut self, field: &Field, value: i64) {
        self.0.insert(field.name().to_owned(), value.into());
    }
    fn record_bool(&mut self, field: &Field, value: bool) {
        self.0.insert(field.name().to_owned(), value.into());
    }
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.into());
    }
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let mut text = String::new();
        let _ = write!(text, "{value:?}");
        // The value may come from a client, so limit its length.
        self.0.insert(field.name().to_owned(), prowess::text::cut(&text, Some(MAX_FIELD)).into());
    }
}

impl Subscriber for LogSubscriber {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        // Events of other crates may quote data of a client; the important ones are logged again by this crate.
        let most = if self.format == LogFormat::Warnings { Level::WARN } else { Level::INFO };
        // Smaller is more severe.
        metadata.target().starts_with("prowess") && *metadata.level() <= most
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(self.next.fetch_add(1, Ordering::Relaxed).max(1))
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields(Map::new());
        event.record(&mut fields);
        let level = match *event.metadata().level() {
            Level::ERROR => "error",
            Level::WARN => "warning",
            _ => "info",
        };
        self.queue(level, fields.0);
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_that_is_cut_says_so() {
        let (waiting, lines) = sync_channel(8);
        let (dropped, next) = (AtomicU64::new(0), AtomicU64::new(1));
        let own = LogSubscriber { format: LogFormat::Json, waiting, dropped, next };
        tracing::subscriber::with_default(own, || {
            for length in [500, 501] {
                tracing::warn!(target: "prowess", reason = %"x".repeat(length), "long");
            }
        });
        for wanted in ["x".repeat(500), format!("{}…", "x".repeat(499))] {
            let Ok(LogMessage::Line(line)) = lines.recv() else { panic!("no line") };
            let line: Value = serde_json::from_str(&line).unwrap();
            assert_eq!(line["reason"], wanted);
        }
    }

    #[test]
    fn control_and_hidden_characters_are_logged_as_any_text_shows_them() {
        for format in [LogFormat::Json, LogFormat::Text] {
            let (waiting, lines) = sync_channel(8);
            let (dropped, next) = (AtomicU64::new(0), AtomicU64::new(1));
            let own = LogSubscriber { format, waiting, dropped, next };
            let texts = ["team:a\nb", "team:a b", "a\u{1b}[31m\u{202e}\u{9b}"];
            tracing::subscriber::with_default(own, || {
                for text in texts {
                    tracing::warn!(target: "prowess", skill = text, path = %text, "call");
                }
            });
            for shown in ["team:a\\nb", "team:a b", "a\\u{1b}[31m\\u{202e}\\u{9b}"] {
                let Ok(LogMessage::Line(line)) = lines.recv() else { panic!("no line") };
                if format == LogFormat::Json {
                    let line: Value = serde_json::from_str(&line).unwrap();
                    assert_eq!((&line["skill"], &line["path"]), (&shown.into(), &shown.into()));
                } else {
                    let shown = quoted(shown);
                    let wanted = format!("warning: call, skill {shown}, path {shown}");
                    assert!(line.ends_with(&wanted), "{line}");
                }
            }
        }
    }

    #[test]
    fn a_client_cannot_forge_a_field_of_the_text_log() {
        assert_eq!(quoted("tools/call"), "tools/call");
        assert_eq!(quoted("x, token admin, status 200"), "\"x, token admin, status 200\"");
        assert_eq!(quoted("a\"b"), "\"a\\\"b\"");
        assert_eq!(quoted(""), "\"\"");
    }
}
