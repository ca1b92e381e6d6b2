//! What the server says about itself: one JSON object a line, handed to the caller, who alone prints.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// Takes a finished line.
pub type Sink = Box<dyn Fn(&str) + Send + Sync>;

/// Writes down what our own code and, when it warns, what others say.
struct Lines {
    sink: Sink,
    next: AtomicU64,
}

/// Hands every line to `sink` from now on, until the process ends; the first caller wins.
pub fn log_to(sink: Sink) {
    let _ = tracing::subscriber::set_global_default(Lines { sink, next: AtomicU64::new(1) });
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
        let ours = metadata.target().starts_with("prowess");
        // Smaller is more severe.
        *metadata.level() <= if ours { Level::INFO } else { Level::WARN }
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(self.next.fetch_add(1, Ordering::Relaxed).max(1))
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields(Map::new());
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_millis());
        fields.0.insert("time_ms".to_owned(), u64::try_from(now).unwrap_or(u64::MAX).into());
        fields.0.insert("level".to_owned(), event.metadata().level().as_str().to_ascii_lowercase().into());
        event.record(&mut fields);
        (self.sink)(&Value::Object(fields.0).to_string());
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}
