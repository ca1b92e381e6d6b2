//! [`LateRead`]: a source whose reads end when they are told to.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use prowess::source::{Chunk, Listing, Slice};
use prowess::{MemorySource, RelPath, Scope, Source, SourceError, SourceSkill};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::support::LONG;

/// A source with the skill `slow`. Once it is armed, the next read is reported, and waits until it may end.
pub(crate) struct LateRead {
    skills: MemorySource,
    pub(crate) armed: AtomicBool,
    begun: UnboundedSender<()>,
    open: Mutex<Receiver<()>>,
}

impl LateRead {
    /// The source, what it reports, and what lets a read end.
    pub(crate) fn new() -> (Arc<Self>, UnboundedReceiver<()>, Sender<()>) {
        let skills = MemorySource::new("gate");
        skills.insert("slow", "---\nname: slow\ndescription: d\n---\nThe whole text.\n", Scope::User);
        let ((begin, begun), (open, gate)) = (unbounded_channel(), channel());
        let (armed, open_at) = (AtomicBool::new(false), Mutex::new(gate));
        (Arc::new(Self { skills, armed, begun: begin, open: open_at }), begun, open)
    }
}

impl Source for LateRead {
    fn id(&self) -> &'static str {
        "gate"
    }

    fn list(&self) -> Result<Listing, SourceError> {
        self.skills.list()
    }

    fn read(&self, skill: SourceSkill<'_>, path: &RelPath, slice: Slice) -> Result<Chunk, SourceError> {
        if self.armed.swap(false, Ordering::SeqCst) {
            self.begun.send(()).unwrap();
            let _ = self.open.lock().unwrap().recv_timeout(LONG);
        }
        self.skills.read(skill, path, slice)
    }
}
