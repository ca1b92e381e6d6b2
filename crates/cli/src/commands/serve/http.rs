//! `prowess serve --http`: where it listens, who may connect, what it prints, and how it reloads.

use std::collections::BTreeSet;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use listenfd::ListenFd;
use prowess::Registry;
use prowess::env::{Environment, TOKEN};
use prowess_mcp::{
    BearerToken, HttpHooks, HttpOptions, Listen, Reload, Reloaded, ServeError, ServeOptions, SkillCounts,
    Tokens, TokensError,
};
use serde_json::json;

use super::library;
use crate::args::{HttpAddress, Log, Serve};
use crate::error::{CommandError, Failure};
use crate::ui::{count, log_line, stderr_is_terminal, stdin_is_terminal};

/// The socket to serve at, and who may connect.
pub(super) struct Listening {
    listen: Listen,
    http: HttpOptions,
}

/// Where `--http` asks to listen. A socket of systemd is taken before any thread starts, since that changes the
/// environment.
pub(super) fn listen(address: HttpAddress) -> Result<Listen, CommandError> {
    Ok(match address {
        HttpAddress::At(address) => Listen::Address(address),
        HttpAddress::Systemd => Listen::Socket(passed_socket()?),
    })
}

/// What the options of `--http` ask for.
pub(super) fn listening(listen: Listen, args: &Serve) -> Result<Listening, CommandError> {
    if args.token_file.is_some() && Environment::current().get(TOKEN).is_some() {
        tracing::warn!(target: "prowess", "{TOKEN} is not accepted, since --token-file names the tokens");
    }
    check_streams(args)?;
    let http = HttpOptions::default()
        .with_tokens(tokens(args)?)
        .with_hosts(args.allow_host.clone())
        .with_origins(args.allow_origin.clone())
        .with_max_body(args.max_body)
        .with_max_connections(args.max_connections)
        .with_max_token_connections(args.max_token_connections)
        .with_max_newcomers(args.max_newcomers)
        .with_max_streams(args.max_streams.unwrap_or(args.max_connections / 2))
        .with_max_token_streams(args.max_token_streams)
        .with_max_sessions(args.max_sessions)
        .with_max_token_sessions(args.max_token_sessions)
        .with_max_token_kept(args.max_token_kept)
        .with_max_token_unsent(args.max_token_unsent)
        .with_session_time(Duration::from_secs(args.session_time));
    Ok(Listening { listen, http })
}

/// Refuses as many streams as connections: then streams could take every connection.
fn check_streams(args: &Serve) -> Result<(), CommandError> {
    match args.max_streams {
        Some(streams) if streams >= args.max_connections => {
            let error = format!(
                "--max-streams must be less than --max-connections: {streams}, and {} connections",
                args.max_connections
            );
            Err(Failure::new(error, "lower --max-streams, or raise --max-connections").into())
        }
        _ => Ok(()),
    }
}

impl Listening {
    /// Serves until a signal ends it.
    pub(super) fn serve(
        self,
        registry: Registry,
        options: &ServeOptions,
        args: &Serve,
    ) -> Result<(), ServeError> {
        let json = args.log == Log::Json;
        let address = Arc::new(Mutex::new(None));
        let bound = Arc::clone(&address);
        // One line for a person, with the number of skills; a program needs the address at once.
        let terminal = stderr_is_terminal() && !json;
        let listening = move |at: SocketAddr| {
            *bound.lock().unwrap_or_else(PoisonError::into_inner) = Some(at);
            if !terminal {
                print_address(at, json);
            }
        };
        let options_of_places = args.places.options();
        let ready = move |counts: SkillCounts| {
            let at = *address.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(at) = at.filter(|_| terminal) {
                let skills = count(counts.served(), "skill");
                log_line(&format!("serving {skills} at http://{at}/mcp; stop with Ctrl-C"));
                if let Some(left_out) = counts.left_out() {
                    log_line(&format!("not served: {left_out}; see: prowess list --all{options_of_places}"));
                }
            }
        };
        let hooks = HttpHooks {
            listening: Some(Box::new(listening)),
            ready: Some(Box::new(ready)),
            reload: Some(reload(args.clone(), &registry)),
        };
        prowess_mcp::serve_http(registry, options, self.http, self.listen, hooks)
    }
}

/// The socket that systemd passes to a service.
fn passed_socket() -> Result<TcpListener, CommandError> {
    let mut passed = ListenFd::from_env();
    let hint = "start it from a socket unit; see docs/serve/operate.md";
    match passed.take_tcp_listener(0) {
        Ok(Some(socket)) if passed.len() == 1 => Ok(socket),
        Ok(Some(_)) => {
            let error = format!("systemd passed {} sockets, and one is served", passed.len());
            Err(Failure::new(error, "name one address in the socket unit").into())
        }
        Ok(None) => Err(Failure::new("systemd passed no socket", hint).into()),
        Err(error) => {
            let mut failure = Failure::new("the socket that systemd passed is not for TCP", hint);
            failure.causes.push(error.to_string());
            Err(failure.into())
        }
    }
}

/// Prints the address: with port 0 there is no other way to know it.
fn print_address(at: SocketAddr, json: bool) {
    let url = format!("http://{at}/mcp");
    log_line(&if json { json!({ "listening": url }).to_string() } else { format!("listening on {url}") });
}

/// The tokens, from their file or from a variable; on the command line, other users could see them.
pub(super) fn tokens(args: &Serve) -> Result<Option<Tokens>, CommandError> {
    if let Some(file) = &args.token_file {
        return Tokens::read(file).map(Some).map_err(|error| {
            let failure = match &error {
                TokensError::Read(error) => Failure::from(error),
                other => Failure::new(other.to_string(), ""),
            };
            Failure { hints: vec![error.hint().into()], ..failure }.into()
        });
    }
    // A variable that another one was to fill would otherwise open the server to everyone.
    if Environment::current().is_empty(TOKEN) {
        let hint = format!("give it a token, or unset it to serve without one: unset {TOKEN}");
        return Err(Failure::new(format!("this variable is set, and empty: {TOKEN}"), hint).into());
    }
    let Some(text) = Environment::current().get(TOKEN).map(|text| text.to_string_lossy().into_owned()) else {
        return Ok(None);
    };
    let token = BearerToken::new(&text).ok_or_else(|| {
        let hint = "a token is at least 16 visible characters without spaces";
        CommandError::from(Failure::new(format!("this is not a token: {TOKEN}"), hint))
    })?;
    Ok(Some(token.into()))
}

/// Reads the configuration again. New problems in it change nothing: the configuration is being edited, and the old one is
/// served.
fn reload(args: Serve, registry: &Registry) -> Reload {
    let known = Mutex::new(problems(registry));
    let terminal = stdin_is_terminal();
    Box::new(move || {
        // The signal comes from the terminal too, when its window is closed.
        if terminal && !stdin_is_terminal() {
            return Ok(Reloaded::Stop);
        }
        let (registry, options) = library(&args).map_err(|error| match error {
            CommandError::Failed(failure) | CommandError::OutOfDate(failure) => {
                let hint = Some(failure.hint().to_string()).filter(|hint| !hint.is_empty());
                std::iter::once(failure.sentence()).chain(hint).collect::<Vec<_>>().join("; ")
            }
            CommandError::ClosedPipe => "the output is closed".to_owned(),
        })?;
        let now = problems(&registry);
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(new) = now.iter().find(|problem| !known.contains(*problem)) {
            return Err(new.clone());
        }
        *known = now;
        Ok(Reloaded::Library(Box::new((registry, options))))
    })
}

/// The problems of the configurations and the sources that they name.
fn problems(registry: &Registry) -> BTreeSet<String> {
    registry.problems().iter().map(ToString::to_string).collect()
}
