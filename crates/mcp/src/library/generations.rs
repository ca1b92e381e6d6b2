//! The library of a server through reloads: one generation of sources is read at a time, and the next takes over when it is
//! there.

use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use prowess::Registry;
use prowess::internal::locked;
use tokio_util::sync::CancellationToken;

use crate::ServeOptions;
use crate::library::live::LiveLibrary;
use crate::library::publication::Publication;

/// The library of a server.
pub(crate) struct Library {
    pub(crate) publication: Arc<Publication>,
    running: Mutex<Running>,
    stop: CancellationToken,
}

/// The generation that is read.
struct Running {
    number: u64,
    stop: CancellationToken,
    /// Joined when a reload replaces it: watchers are a limited resource of the system.
    follower: Option<JoinHandle<()>>,
}

impl Library {
    /// Begins to read the library in the background. Requests that do not need it, such as a handshake, do not wait.
    pub(crate) fn start(registry: Registry, options: &ServeOptions, stop: CancellationToken) -> Arc<Self> {
        let publication = Publication::new(options.watch);
        let own = stop.child_token();
        let preloads = registry.has_preloads();
        let live = LiveLibrary::new(registry, options, Arc::clone(&publication), 1, own.clone());
        let (done, first) = sync_channel(1);
        let follower = live.start(done);
        if preloads {
            // Their texts are part of the instructions in the handshake.
            let _ = first.recv();
        }
        let running = Running { number: 1, stop: own, follower: Some(follower) };
        Arc::new(Self { publication, running: Mutex::new(running), stop })
    }

    /// Replaces the sources and the options. Blocks until the new sources were read; until then, and if they cannot be
    /// read, the old ones are served.
    pub(crate) fn replace(&self, registry: Registry, options: &ServeOptions) -> Result<(), String> {
        let mut running = locked(&self.running);
        let number = running.number + 1;
        let stop = self.stop.child_token();
        let publication = Arc::clone(&self.publication);
        let live = LiveLibrary::new(registry, options, publication, number, stop.clone());
        let (done, first) = sync_channel(1);
        let follower = live.start(done);
        let read = first.recv().unwrap_or_else(|_| Err("the library could not be read".to_owned()));
        let new = Running { number, stop, follower: Some(follower) };
        // A number is never used twice: the threads of a generation that was given up may still be reading.
        running.number = number;
        let replaced = if read.is_ok() { std::mem::replace(&mut *running, new) } else { new };
        replaced.stop.cancel();
        let _ = replaced.follower.map(JoinHandle::join);
        read
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Weak;
    use std::time::{Duration, Instant};

    use prowess::source::Layer;
    use prowess::{MemorySource, Scope, Source};

    use super::*;
    use crate::testing::{Gate, RemoteSource};

    const LONG: Duration = Duration::from_secs(60);

    fn dead() -> (Registry, Weak<dyn Source>, Gate) {
        let (source, gate) = RemoteSource::dead().gated();
        let weak = Arc::downgrade(&source);
        let mut registry = Registry::new();
        registry.add(Layer::shared(source)).set_on_error(prowess::fs::walk::OnError::Report);
        (registry, weak, gate)
    }

    fn local() -> Registry {
        let skills = MemorySource::new("local");
        skills.insert("here", "---\nname: here\ndescription: d\n---\n", Scope::User);
        let mut registry = Registry::new();
        registry.add(skills);
        registry
    }

    #[test]
    fn a_source_that_fails_after_a_reload_removed_it_is_no_problem_of_the_library() {
        let (registry, source, gate) = dead();
        let library = Library::start(registry, &ServeOptions::default(), CancellationToken::new());
        // A generation that is replaced before its thread runs asks no source.
        gate.wait_until_asked();
        library.replace(local(), &ServeOptions::default()).unwrap();
        gate.open();
        // The thread that polls it has the last reference.
        let deadline = Instant::now() + LONG;
        while source.strong_count() > 0 {
            assert!(Instant::now() < deadline, "the source is still polled");
            std::thread::yield_now();
        }
        let reading = library.publication.reading();
        assert_eq!((reading.problems, reading.ok, library.publication.could_read()), (0, true, true));
        library.stop.cancel();
    }
}
