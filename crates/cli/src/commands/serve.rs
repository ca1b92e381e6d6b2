//! `prowess serve`: skills for every agent that speaks MCP.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use prowess::SourceErrorKind;
use prowess::env::{Environment, TOKEN};
use prowess::fs::read;
use prowess::library::terms_file;
use prowess::registry::trust::Approvals;
use prowess::source::spec::{Place, Server, SourceSpec};
use prowess_mcp::{
    BearerToken, ClientConfig, HttpOptions, LogFormat, ServeError, ServeOptions, ServerTransport, log_to,
};
use serde_json::json;

use super::{Purpose, hints, session_defaults, unread_registry};
use crate::Outcome;
use crate::args::{Log, Places, Serve};
use crate::error::{CommandError, Failure};
use crate::ui::{Ui, clean, clean_lines, log_line};

/// The maximum size of a token file.
const MAX_TOKEN: usize = 4096;

/// Runs the command. It ends with its client, or by a signal.
pub(crate) fn run(args: &Serve, ui: &mut Ui) -> Result<Outcome, CommandError> {
    if let Some(client) = args.print_config {
        return print_config(client, args, ui);
    }
    check_exist(&args.places)?;
    let (registry, said) = unread_registry(&args.places, Purpose::Serve, None)?;
    let terms = if args.places.no_cache { None } else { terms_file(&Environment::current(), &registry) };
    let said = session_defaults(said, args.session.filter.as_ref(), None);
    let session = said.options();
    let options = ServeOptions {
        naming: args.session.naming.clone(),
        tools: !args.no_tools,
        max_active: args.session.max_active,
        filter: said.filter.clone().unwrap_or_default(),
        host_tools: said.tools.clone().unwrap_or_default(),
        plain: session.activation.plain,
        max_activation_bytes: session.max_activation_bytes,
        show_folders: !args.hide_folders,
        watch: !args.no_watch,
        approvals: Approvals::file(&Environment::current()),
        ask_again: Duration::from_secs(args.ask_again),
        max_unsent: args.max_unsent,
        terms,
        hint: hints::of_source,
    };
    let format = match args.log {
        Log::Off => None,
        Log::Warnings => Some(LogFormat::Warnings),
        Log::Text => Some(LogFormat::Text),
        Log::Json => Some(LogFormat::Json),
    };
    let _said = format.map(|format| log_to(format, Box::new(log_line)));
    let served = match args.http {
        None => prowess_mcp::serve_stdio(registry, &options),
        Some(address) => {
            let http = HttpOptions {
                token: token(args)?,
                hosts: args.allow_host.clone(),
                origins: args.allow_origin.clone(),
                max_body: args.max_body,
                max_connections: args.max_connections,
                max_streams: args.max_streams.unwrap_or(args.max_connections / 2),
                max_sessions: args.max_sessions,
                session_time: Duration::from_secs(args.session_time),
                ..HttpOptions::default()
            };
            let json = args.log == Log::Json;
            prowess_mcp::serve_http(registry, &options, http, address, |at| listening(at, json))
        }
    };
    served.map_err(|error| failed(&error))?;
    Ok(Outcome::Fine)
}

/// Checks that the given files and folders exist. Other errors are reported when they are read, so that no client waits
/// for them.
fn check_exist(places: &Places) -> Result<(), CommandError> {
    let environment = Environment::current();
    for source in &places.sources {
        let Some(path) = source.place.path() else { continue };
        let expanded = path.to_str().and_then(|text| environment.expand(text));
        if !expanded.as_deref().unwrap_or(path).exists() {
            return Err(Failure::from(&SourceErrorKind::Missing.at(path)).into());
        }
    }
    Ok(())
}

/// Prints the address: with port 0 there is no other way to know it.
fn listening(at: SocketAddr, json: bool) {
    let url = format!("http://{at}/mcp");
    log_line(&if json { json!({ "listening": url }).to_string() } else { format!("listening on {url}") });
}

/// The token, from its file or its variable; on the command line, other users could see it.
fn token(args: &Serve) -> Result<Option<BearerToken>, CommandError> {
    let (text, place) = match &args.token_file {
        Some(file) => {
            let bytes = read::read_small(file, MAX_TOKEN)?;
            (String::from_utf8_lossy(&bytes).into_owned(), file.display().to_string())
        }
        None => match Environment::current().get(TOKEN) {
            Some(text) => (text.to_string_lossy().into_owned(), TOKEN.to_owned()),
            None => return Ok(None),
        },
    };
    BearerToken::new(&text).map(Some).ok_or_else(|| {
        let error = format!("this is not a token: {}", clean(&place));
        Failure::new(error, "a token is at least 16 visible characters without spaces").into()
    })
}

fn print_config(client: &ClientConfig, args: &Serve, ui: &mut Ui) -> Result<Outcome, CommandError> {
    let transport = match args.http {
        Some(address) if address.port() == 0 => {
            let hint = "name a port; 0 picks another one at each start";
            return Err(Failure::new(format!("a configuration needs a port: {address}"), hint).into());
        }
        Some(address) => {
            // A client cannot connect to an unspecified address.
            let host = if address.ip().is_unspecified() {
                format!("HOST:{}", address.port())
            } else {
                address.to_string()
            };
            let token = token(args)?.is_some() || !address.ip().is_loopback();
            ServerTransport::Http { url: format!("http://{host}/mcp"), token }
        }
        None => {
            let mut words = vec!["serve".to_owned()];
            // The client passes the same options about the library.
            let mut given = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
            given.by_ref().find(|word| word == "serve");
            let mut given = given.peekable();
            while let Some(word) = given.next() {
                if word == "--print-config" {
                    given.next();
                } else if word == "--json" || word.starts_with("--print-config=") {
                    // Neither changes what is served.
                } else if let Some(place) = word.strip_prefix("--in=") {
                    words.push(format!("--in={}", in_config(client, place)));
                } else {
                    let is_place = word == "--in";
                    words.push(word);
                    words.extend(given.next_if(|_| is_place).map(|place| in_config(client, &place)));
                }
            }
            ServerTransport::Stdio(words)
        }
    };
    ui.print(&clean_lines(&client.text(&transport)))?;
    ui.note(&format!("for {}, into {}", client.title, client.destination(&transport)));
    Ok(Outcome::Fine)
}

/// A source in the configuration of a client. In a file that applies in every folder, paths must be absolute.
fn in_config(client: &ClientConfig, source: &str) -> String {
    let Ok(given) = SourceSpec::parse(source) else { return source.to_owned() };
    let mut spec = given.clone();
    let make_absolute = |path: &mut PathBuf| {
        if !path.starts_with("~") && !path.is_absolute() {
            *path = prowess::env::absolute(path);
        }
    };
    match &mut spec.place {
        Place::Dir(path) | Place::Plugin(path) | Place::Archive(path) | Place::Jsonl(path) => {
            make_absolute(path);
        }
        Place::Url { ca_file, .. } => ca_file.iter_mut().for_each(make_absolute),
        Place::Mcp(Server::At { ca_file, token_file, .. }) => {
            ca_file.iter_mut().chain(token_file).for_each(make_absolute);
        }
        Place::Mcp(Server::Started { argv, .. }) => {
            // A name without a separator is searched in PATH.
            let program = argv.first_mut().filter(|program| program.contains(std::path::is_separator));
            if let Some(program) = program {
                let mut path = PathBuf::from(&*program);
                make_absolute(&mut path);
                *program = path.to_string_lossy().into_owned();
            }
        }
        // It has no paths.
        _ => {}
    }
    // The original text, if nothing had to change.
    if !client.is_personal() || spec == given { source.to_owned() } else { spec.to_string() }
}

fn failed(error: &ServeError) -> Failure {
    let (hint, cause) = match error {
        ServeError::NeedsToken(_) => ("give a token with --token-file, or listen on 127.0.0.1", None),
        ServeError::Listen { source, .. } => ("choose another port, or 0 for a free one", Some(source)),
        ServeError::System(source) => ("check the limits of this machine", Some(source)),
        ServeError::Handshake(_) => ("check what the client sends first", None),
    };
    let mut failure = Failure::new(error.to_string(), hint);
    failure.causes.extend(cause.map(ToString::to_string));
    failure
}
