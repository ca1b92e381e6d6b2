//! Sources that answer when they are told to, or never.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use prowess::source::{Chunk, Layer, Listing, Slice, SourceTraits};
use prowess::{MemorySource, Registry, RelPath, Scope, Source, SourceError, SourceSkill};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::support::LONG;

/// A remote source that lists its skill when it is told to.
struct LateList {
    skills: MemorySource,
    open: Mutex<Receiver<()>>,
}

/// A registry with a remote source that lists the skill `far` when it is told to.
pub(crate) fn late_list() -> (Registry, Sender<()>) {
    let skills = MemorySource::new("remote");
    skills.insert("far", "---\nname: far\ndescription: d\n---\n", Scope::Remote);
    let (open, gate) = channel();
    let mut registry = Registry::new();
    let source: Arc<dyn Source> = Arc::new(LateList { skills, open: Mutex::new(gate) });
    registry.add(Layer::shared(source));
    (registry, open)
}

impl Source for LateList {
    fn id(&self) -> &'static str {
        "remote"
    }

    fn traits(&self) -> SourceTraits {
        SourceTraits::remote()
    }

    fn list(&self) -> Result<Listing, SourceError> {
        let _ = self.open.lock().unwrap().recv_timeout(LONG);
        self.skills.list()
    }

    fn read(&self, skill: SourceSkill<'_>, path: &RelPath, slice: Slice) -> Result<Chunk, SourceError> {
        self.skills.read(skill, path, slice)
    }
}

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

/// A remote source that cannot be reached.
pub(crate) struct Dead;

impl Source for Dead {
    fn id(&self) -> &'static str {
        "dead"
    }

    fn traits(&self) -> SourceTraits {
        SourceTraits::remote()
    }

    fn list(&self) -> Result<Listing, SourceError> {
        Err(SourceError::io("dead", std::io::ErrorKind::TimedOut.into()))
    }

    fn read(&self, _: SourceSkill<'_>, _: &RelPath, _: Slice) -> Result<Chunk, SourceError> {
        Err(SourceError::io("dead", std::io::ErrorKind::TimedOut.into()))
    }
}
