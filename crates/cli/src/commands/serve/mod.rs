//! `prowess serve`: skills for every agent that speaks MCP.

mod http;
mod print_config;

use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use prowess::env::Environment;
use prowess::library::{library_with_session, terms_file};
use prowess::registry::trust::Approvals;
use prowess::source::open::Opening;
use prowess::{Duplicates, Registry, RegistryError, SourceErrorKind};
use prowess_mcp::{LogFormat, ServeError, ServeOptions, TrustHint, log_to};

use self::print_config::print_config;
use super::{Purpose, hints, library_options, no_library, session_defaults};
use crate::Outcome;
use crate::args::{Log, Places, Serve};
use crate::error::{CommandError, Failure};
use crate::explain::provenance::read_origins;
use crate::explain::{clients_named, left_out, trust};
use crate::ui::{Ui, log_line};

/// Runs the command. It ends with its client, or by a signal.
pub(crate) fn run(args: &Serve, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    if json {
        return Err(no_json(args).into());
    }
    if let Some(client) = args.print_config {
        return print_config(client, args, ui);
    }
    let listen = args.http.map(http::listen).transpose()?;
    let format = match args.log {
        Log::Off => None,
        Log::Warnings => Some(LogFormat::Warnings),
        Log::Text => Some(LogFormat::Text),
        Log::Json => Some(LogFormat::Json),
    };
    let _said = format.map(|format| log_to(format, Box::new(log_line)));
    let listening = listen.map(|listen| http::listening(listen, args)).transpose()?;
    let (registry, options) = library(args)?;
    refuse_duplicates(&registry)?;
    for sentence in left_out::notes(&registry.catalog()) {
        tracing::warn!(target: "prowess", "{sentence}");
    }
    let served = match listening {
        Some(listening) => listening.serve(registry, &options, args),
        None => {
            if ui.can_ask() && args.log != Log::Json {
                ui.note("waiting for a client on standard input; stop with Ctrl-C, or serve at an address: --http 7878");
            }
            prowess_mcp::serve_stdio(registry, &options)
        }
    };
    // What was not logged while it served is a part of the log, in its format, and of none without one.
    for note in prowess::internal::state_notes() {
        tracing::warn!(target: "prowess", hint = note.hint.map(|hint| hint.to_string()), "{}", note.text);
    }
    served.map_err(|error| failed(&error))?;
    Ok(Outcome::Fine)
}

/// The refusal of `--json`, and what has JSON output in its place.
fn no_json(args: &Serve) -> Failure {
    let (error, hint) = match args.print_config {
        Some(client) => (
            "a printed configuration has the format of its client, and no JSON output",
            format!("leave out --json, or write: prowess connect {} --json", client.name),
        ),
        None => (
            "serve has no JSON output: its standard output is for MCP",
            "leave out --json; for a log in JSON, write: --log json".to_owned(),
        ),
    };
    Failure::new(error, hint)
}

/// The library that is served, not read yet, and the options that its configurations set.
fn library(args: &Serve) -> Result<(Registry, ServeOptions), CommandError> {
    check_exist(&args.places)?;
    let purpose = Purpose::Serve { http: args.http.is_some() };
    let mut options = library_options(&args.places, purpose).with_client(clients_named::one(&args.places)?);
    if args.not_read_by.is_some() {
        options = options.with_not_read_by(args.not_read_by).with_builtins(false);
    }
    let (registry, session_config) = library_with_session(Path::new("."), &Environment::current(), &options)
        .map_err(|error| no_library(&error))?;
    let terms = if args.places.no_cache { None } else { terms_file(&Environment::current(), &registry) };
    let session_config = session_defaults(session_config, args.session.filter.as_ref(), None);
    let session = session_config
        .options()
        .with_naming(args.session.naming.clone())
        .with_max_active(args.session.max_active)
        .with_show_folders(!args.hide_folders);
    let options = ServeOptions::default()
        .with_session(session)
        .with_policy(session_config.policy())
        .with_tools(!args.no_tools)
        .with_watch(!args.no_watch)
        .with_approvals(Approvals::file(&Environment::current()))
        .with_ask_again(Duration::from_secs(args.ask_again))
        .with_max_unsent(args.max_unsent)
        .with_max_kept(args.max_kept)
        .with_terms(terms)
        .with_hint(|error| hints::of_source(error).to_string())
        .with_trust_hint(trust_hint(&args.places));
    Ok((registry, options))
}

/// Where two skills with one name are an error, reads the local ones before any client is answered.
/// Other errors are reported while the rest is served.
fn refuse_duplicates(registry: &Registry) -> Result<(), CommandError> {
    if registry.duplicates() != Duplicates::Error {
        return Ok(());
    }
    match registry.refresh_local() {
        Err(error @ RegistryError::Duplicate(_)) => {
            Err(Failure::new(error.to_string(), error.hint().to_string()).into())
        }
        _ => Ok(()),
    }
}

/// How to trust skills that wait for it.
fn trust_hint(places: &Places) -> TrustHint {
    let places = places.clone();
    TrustHint::new(move |registry, waiting| {
        let hint = trust::trust_hint(waiting.iter().copied(), registry, &read_origins(), &places);
        let trust = hint.trust.map(|trust| format!("; trust them with: {trust}")).unwrap_or_default();
        let why = hint
            .why
            .map(|why| format!("; see why a skill cannot be trusted with: {why}"))
            .unwrap_or_default();
        format!("look at them with: prowess list --all{}{trust}{why}", places.options())
    })
}

/// Checks that the given files and folders exist. Other errors are reported when they are read, so that no client waits
/// for them.
pub(super) fn check_exist(places: &Places) -> Result<(), CommandError> {
    let environment = Environment::current();
    for source in &places.sources {
        let Some(path) = source.place.path() else { continue };
        if source.place.reference().is_some() {
            // The error says whether the skill is installed.
            Opening::named(Path::new("."), None)
                .place(source, &environment)
                .map_err(|error| Failure::from(&error))?;
            continue;
        }
        let expanded = path.to_str().and_then(|text| environment.expand(text));
        if !expanded.as_deref().unwrap_or(path).exists() {
            return Err(Failure::from(&SourceErrorKind::Missing.at(path)).into());
        }
    }
    Ok(())
}

/// What to do about an address that cannot be listened at.
fn not_listening(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::AddrInUse => "choose another port, or 0 for a free one",
        ErrorKind::AddrNotAvailable => {
            "name an address of this machine, such as 127.0.0.1, or 0.0.0.0 for all of them"
        }
        ErrorKind::PermissionDenied => "choose a port from 1024, or start it from a socket of systemd",
        _ => "choose another address, such as 127.0.0.1:7878",
    }
}

fn failed(error: &ServeError) -> Failure {
    let (hint, cause) = match error {
        ServeError::NeedsToken(_) => ("give a token with --token-file, or listen on 127.0.0.1", None),
        ServeError::Listen { source, .. } => (not_listening(source.kind()), Some(source)),
        ServeError::System(source) => ("check the limits of this machine", Some(source)),
        ServeError::Closed => ("let the client read the answers until the server ends", None),
        ServeError::Handshake(_) => ("check what the client sends first", None),
        _ => ("look at the log of the server", None),
    };
    let mut failure = Failure::new(error.to_string(), hint);
    failure.causes.extend(cause.map(ToString::to_string));
    failure
}
