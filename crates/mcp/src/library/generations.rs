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
        let replaced = match &read {
            Ok(()) => std::mem::replace(&mut *running, Running { number, stop, follower: Some(follower) }),
            Err(_) => Running { number, stop, follower: Some(follower) },
        };
        replaced.stop.cancel();
        let _ = replaced.follower.map(JoinHandle::join);
        read
    }
}
