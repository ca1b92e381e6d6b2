//! The options of `prowess serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{ValueEnum, value_parser};
use prowess_mcp::{ClientConfig, HttpOptions, ServeOptions, is_host, is_origin};

use super::places::Places;
use super::using::SessionArgs;
use super::values::clients;

/// Serve skills over the Model Context Protocol
///
/// Speaks the skills extension, and offers plain tools and prompts to hosts without it. Serves one client on standard
/// input and output, or with --http many at /mcp of an address. Without --in, the skills that come with Prowess are
/// served too. A project's skills are served after they are trusted, and scripts are never run.
#[derive(Debug, clap::Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) places: Places,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    /// Offer no tools: only the extension, resources and prompts
    #[arg(long)]
    pub(crate) no_tools: bool,
    /// Do not tell models in which folders skills lie; an address with a token or beyond this machine never tells
    #[arg(long)]
    pub(crate) hide_folders: bool,
    /// Do not follow changes: no skill comes, goes or is found by new words until the end
    #[arg(long)]
    pub(crate) no_watch: bool,
    /// How often other servers and sites are asked what skills they have, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) ask_again: u64,
    /// Listen here instead, such as 127.0.0.1:7878; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) http: Option<SocketAddr>,
    // In an attribute, since the marks that Markdown wants would be shown to people.
    #[arg(
        help = "The file with the bearer token that clients must show; PROWESS_TOKEN may hold it instead. Any \
                  address but loopback needs one"
    )]
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(crate) token_file: Option<PathBuf>,
    /// Another name that clients may know this machine by, with or without a port; may be given more than once
    #[arg(long, value_name = "HOST", requires = "http", value_parser = host)]
    pub(crate) allow_host: Vec<String>,
    #[arg(
        help = "Another origin that browsers may come from, such as https://app.example, with :* for any port; may be \
                given more than once"
    )]
    #[arg(long, value_name = "ORIGIN", requires = "http", value_parser = origin)]
    pub(crate) allow_origin: Vec<String>,
    /// The most sessions of clients that keep one
    #[arg(long, value_name = "NUMBER", requires = "http", default_value_t = HttpOptions::default().max_sessions, value_parser = some)]
    pub(crate) max_sessions: usize,
    /// How long a session lives without a word or a stream of its client, in seconds
    #[arg(long, value_name = "SECONDS", requires = "http", default_value_t = 300, value_parser = value_parser!(u64).range(1..=u64::from(u32::MAX)))]
    pub(crate) session_time: u64,
    /// The most connections at once
    #[arg(long, value_name = "NUMBER", requires = "http", default_value_t = HttpOptions::default().max_connections, value_parser = some)]
    pub(crate) max_connections: usize,
    /// The most streams that stay open; half of the connections, if nothing else is said
    #[arg(long, value_name = "NUMBER", requires = "http", value_parser = some)]
    pub(crate) max_streams: Option<usize>,
    /// The most bytes of a request
    #[arg(long, value_name = "BYTES", requires = "http", default_value_t = HttpOptions::default().max_body, value_parser = some)]
    pub(crate) max_body: usize,
    /// The most bytes of large answers that are not read yet, in all
    #[arg(long, value_name = "BYTES", default_value_t = ServeOptions::default().max_unsent, value_parser = some)]
    pub(crate) max_unsent: usize,
    /// What to write to standard error
    #[arg(long, value_name = "FORMAT", default_value = "warnings")]
    pub(crate) log: Log,
    /// Write what goes into the configuration of a client, and end
    #[arg(long, value_name = "CLIENT", value_parser = clients())]
    pub(crate) print_config: Option<&'static ClientConfig>,
}

/// How the server tells what it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Log {
    /// Nothing but where it listens
    Off,
    /// Problems that need attention
    Warnings,
    /// Each request and each state of the library
    Text,
    /// The same, an object a line
    Json,
}

/// A limit under which something can still happen; more than a u32 is no limit, and some counters end there.
fn some(text: &str) -> Result<usize, String> {
    match text.parse::<u32>() {
        Ok(number) if number > 0 => Ok(number as usize),
        _ => Err(format!("a number from 1 to {} is wanted", u32::MAX)),
    }
}

fn host(text: &str) -> Result<String, &'static str> {
    is_host(text)
        .then(|| text.to_owned())
        .ok_or("a name or address is wanted, such as box.example or [::1]:7878")
}

fn origin(text: &str) -> Result<String, &'static str> {
    is_origin(text)
        .then(|| text.to_owned())
        .ok_or("a scheme and a host are wanted, such as https://app.example")
}
