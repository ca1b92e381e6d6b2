//! What the program that runs a server over HTTP gives to it: where to listen, what to call, and how to reload.

use std::fmt;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;

use prowess::Registry;
use tokio_util::sync::CancellationToken;

use crate::ServeOptions;
use crate::http::HttpServer;
use crate::library::scripts;
use crate::library::states::SkillCounts;
use crate::metrics::ReloadResult;

/// Where a server listens.
#[derive(Debug)]
pub enum Listen {
    /// At an address.
    Address(SocketAddr),
    /// On a socket that is open already, such as one that systemd passes.
    Socket(TcpListener),
}

/// What a reload brings.
#[derive(Debug)]
pub enum Reloaded {
    /// New sources, and the options that come with them. Naming, tools and limits stay those of the start.
    Library(Box<(Registry, ServeOptions)>),
    /// The server is to stop.
    Stop,
}

/// Reads the configuration again. On an error the server keeps what it has, and logs the text.
pub type Reload = Box<dyn Fn() -> Result<Reloaded, String> + Send + Sync>;

/// What a server over HTTP calls.
#[derive(Default)]
pub struct HttpHooks {
    /// Called with the bound address, which has the chosen port when port 0 was asked for.
    pub listening: Option<Box<dyn FnOnce(SocketAddr) + Send>>,
    /// Called with the numbers of skills when the library was read for the first time.
    pub ready: Option<Box<dyn FnOnce(SkillCounts) + Send>>,
    /// Called on SIGHUP; without it, SIGHUP has its usual effect. Other systems than Unix have no such signal.
    pub reload: Option<Reload>,
}

impl fmt::Debug for HttpHooks {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("HttpHooks").finish_non_exhaustive()
    }
}

/// The hooks of a server that is listening.
#[derive(Default)]
pub(crate) struct Running {
    pub(crate) ready: Option<Box<dyn FnOnce(SkillCounts) + Send>>,
    pub(crate) reload: Option<(Reload, Hangups)>,
}

/// The program that runs a server.
pub(crate) struct Host {
    pub(crate) hooks: Running,
    /// Whether clients see the folders of skills. They do not, if they may be on other machines.
    pub(crate) local: bool,
    /// The file of tokens.
    pub(crate) token_file: Option<PathBuf>,
}

impl Host {
    /// Starts the tasks beside the requests. They end when `stop` is cancelled.
    pub(crate) fn start(self, server: &Arc<HttpServer>, stop: &CancellationToken) {
        let (shared, callers) = (Arc::clone(&server.shared), Arc::clone(&server.callers));
        let (Running { ready, reload }, local) = (self.hooks, self.local);
        tokio::task::spawn_blocking(move || {
            let snapshot = shared.live.current();
            if let Some(ready) = ready {
                ready(snapshot.counts());
            }
            callers.warn_of_empty();
            if !local {
                scripts::warn(&snapshot);
            }
        });
        if let Some(file) = self.token_file.clone() {
            tokio::spawn(Arc::clone(&server.callers).follow(file, stop.clone()));
        }
        if let Some((reload, hangups)) = reload {
            let reloading = Reloading { reload: Arc::new(reload), local, token_file: self.token_file };
            tokio::spawn(reloading.follow(hangups, Arc::clone(server), stop.clone()));
        }
    }
}

/// What a reload needs.
struct Reloading {
    reload: Arc<Reload>,
    local: bool,
    token_file: Option<PathBuf>,
}

impl Reloading {
    /// Reloads on each SIGHUP. Signals during a reload lead to one more.
    async fn follow(self, mut hangups: Hangups, server: Arc<HttpServer>, stop: CancellationToken) {
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                () = hangups.next() => {}
            }
            let tokens = match &self.token_file {
                Some(file) => server.callers.read_again(file).await,
                None => true,
            };
            let (reload, shared, local) = (Arc::clone(&self.reload), Arc::clone(&server.shared), self.local);
            let reloaded = tokio::task::spawn_blocking(move || match reload()? {
                Reloaded::Stop => Ok(true),
                Reloaded::Library(new) => {
                    let (registry, mut options) = *new;
                    options.session.show_folders &= local;
                    shared.library.replace(registry, &options)?;
                    if !local {
                        scripts::warn(&shared.live.current());
                    }
                    Ok::<_, String>(false)
                }
            });
            let stops = match reloaded.await {
                Ok(Ok(stops)) => stops,
                Ok(Err(reason)) => {
                    tracing::warn!(target: "prowess", reason, "not reloaded, the old configuration stays");
                    server.shared.metrics.count_reload(ReloadResult::Failed);
                    continue;
                }
                Err(_panic) => {
                    let reason = "it failed unexpectedly";
                    tracing::warn!(target: "prowess", reason, "not reloaded, the old configuration stays");
                    server.shared.metrics.count_reload(ReloadResult::Failed);
                    continue;
                }
            };
            if stops {
                stop.cancel();
                return;
            }
            server.shared.metrics.count_reload(if tokens {
                ReloadResult::Ok
            } else {
                ReloadResult::TokensFailed
            });
            let counts = server.shared.live.known().map(|now| now.counts());
            let (skills, left_out) =
                (counts.map_or(0, |now| now.served()), counts.and_then(|now| now.left_out()));
            if tokens {
                tracing::info!(target: "prowess", skills, left_out, "reloaded");
            } else {
                tracing::warn!(target: "prowess", skills, left_out, "reloaded, except the tokens");
            }
        }
    }
}

/// The SIGHUPs that the process receives.
pub(crate) struct Hangups(#[cfg(unix)] tokio::signal::unix::Signal);

impl Hangups {
    /// From here on, SIGHUP does not end the process.
    pub(crate) fn new() -> std::io::Result<Self> {
        #[cfg(unix)]
        return tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup()).map(Self);
        #[cfg(not(unix))]
        Ok(Self())
    }

    async fn next(&mut self) {
        #[cfg(unix)]
        if self.0.recv().await.is_some() {
            return;
        }
        std::future::pending::<()>().await;
    }
}
