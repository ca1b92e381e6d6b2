//! What the server says about itself: a line an event, handed to the caller, who alone prints.
//!
//! Lines are written on a thread of their own. A client need not read what its server logs, and a server that waits for
//! somebody to read serves nobody: what does not fit is left out and counted.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// How many lines may wait to be written.
const WAITING: usize = 1024;
/// How long the last lines may take.
const LAST_LINES: Duration = Duration::from_millis(500);

/// Takes a finished line.
pub type Sink = Box<dyn Fn(&str) + Send + Sync>;

/// What is said, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// Only what somebody should do something about, as text.
    Warnings,
    /// Everything, as text.
    Text,
    /// Everything, an object a line.
    Json,
}

enum Told {
    Line(String),
    /// Says that all before it is written.
    Flush(SyncSender<()>),
}

/// Writes down what our own code says.
struct Lines {
    format: LogFormat,
    waiting: SyncSender<Told>,
    dropped: AtomicU64,
    next: AtomicU64,
}

/// Waits, when it is dropped, until what was said is written, or for a moment.
#[must_use]
pub struct LogEnd(SyncSender<Told>);

impl Drop for LogEnd {
    fn drop(&mut self) {
        let (done, wait) = sync_channel(1);
        if self.0.try_send(Told::Flush(done)).is_ok() {
            let _ = wait.recv_timeout(LAST_LINES);
        }
    }
}

/// Hands every line to `sink` from now on, until the process ends; the first caller wins.
pub fn log_to(format: LogFormat, sink: Sink) -> LogEnd {
    let (waiting, lines) = sync_channel(WAITING);
    let end = LogEnd(waiting.clone());
    let subscriber = Lines { format, waiting, dropped: AtomicU64::new(0), next: AtomicU64::new(1) };
    if tracing::subscriber::set_global_default(subscriber).is_ok() {
        std::thread::spawn(move || write_all(&lines, &sink));
    }
    end
}

fn write_all(lines: &Receiver<Told>, sink: &Sink) {
    while let Ok(told) = lines.recv() {
        match told {
            Told::Line(line) => sink(&line),
            Told::Flush(done) => {
                let _ = done.try_send(());
            }
        }
    }
}

impl Lines {
    /// One event as a line.
    fn line(&self, level: &str, fields: Map<String, Value>) -> String {
        if self.format == LogFormat::Json {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis());
            let mut line = Map::new();
            line.insert("time_ms".to_owned(), u64::try_from(now).unwrap_or(u64::MAX).into());
            line.insert("level".to_owned(), level.into());
            line.extend(fields);
            return Value::Object(line).to_string();
        }
        // A line stays one line, whatever a skill or a path holds.
        let text = |value: &Value| {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            text.replace(char::is_control, " ")
        };
        let mut line = format!("{level}: {}", fields.get("message").map(text).unwrap_or_default());
        for (name, value) in fields.iter().filter(|(name, _)| *name != "message") {
            let _ = match name.as_str() {
                // Why is the rest of the sentence, and what to do is one of its own.
                "reason" => write!(line, ": {}", text(value)),
                "hint" => write!(line, "\n  hint: {}", text(value)),
                name => write!(line, ", {name} {}", text(value)),
            };
        }
        line
    }

    /// Puts a line where the writer finds it; what was left out before is said first.
    fn say(&self, level: &str, fields: Map<String, Value>) {
        let dropped = self.dropped.swap(0, Ordering::Relaxed);
        if dropped > 0 {
            let mut told = Map::new();
            told.insert("message".to_owned(), "lines of the log were left out".into());
            told.insert("lines".to_owned(), dropped.into());
            if self.waiting.try_send(Told::Line(self.line("warning", told))).is_err() {
                self.dropped.fetch_add(dropped + 1, Ordering::Relaxed);
                return;
            }
        }
        if self.waiting.try_send(Told::Line(self.line(level, fields))).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
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
        // It may be what a client sent: not all of it.
        let text: String = text.chars().take(500).collect();
        self.0.insert(field.name().to_owned(), text.into());
    }
}

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        // What others say may quote what a client sent, and what matters of it we say ourselves.
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
        self.say(level, fields.0);
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}
