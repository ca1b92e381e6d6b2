//! The options of `prowess serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::ValueEnum;
use prowess::internal::{client_meant, did_you_mean};
use prowess::library::clients::{self, Client};
use prowess_mcp::{ClientConfig, HttpOptions, ServeOptions, is_host, is_origin};

use super::places::Places;
use super::using::SessionArgs;
use super::values;

/// Serve skills over the Model Context Protocol
///
/// Supports the skills extension, and offers tools and prompts to hosts without it. Serves one client on standard input
/// and output, or with --http many clients at /mcp. Without --in, the skills that come with Prowess are served too. A
/// project's skills are served once they are trusted, and scripts are never run.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Serve {
    #[command(flatten)]
    pub(crate) places: Places,
    #[command(flatten)]
    pub(crate) session: SessionArgs,
    /// Leave out the skills that this client reads by itself, and those that come with Prowess; connect sets it
    #[arg(long, value_name = "CLIENT", value_parser = reader, conflicts_with = "clients")]
    pub(crate) not_read_by: Option<&'static Client>,
    /// Offer no tools: only the extension, resources and prompts
    #[arg(long)]
    pub(crate) no_tools: bool,
    /// Do not show models the folders of skills; they are never shown on an address with a token, or one that other machines
    /// can reach
    #[arg(long)]
    pub(crate) hide_folders: bool,
    /// Do not watch for changes: serve the skills as they are at the start
    #[arg(long)]
    pub(crate) no_watch: bool,
    /// How often to poll other servers and sites for their skills, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = seconds)]
    pub(crate) ask_again: u64,
    /// Listen on this address instead, such as 127.0.0.1:7878; a port alone is on this machine only, port 0 picks a free
    /// port, and `systemd` takes the socket that systemd passes
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    pub(crate) http: Option<HttpAddress>,
    // An attribute, because the backticks that a doc comment needs would appear in the help.
    #[arg(
        help = "The file with the bearer token that clients must send, or with a table [[token]] for each client; it is \
                read again when it changes. PROWESS_TOKEN can hold a token instead. Every address except loopback \
                needs one"
    )]
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(crate) token_file: Option<PathBuf>,
    /// Another name of this machine that clients may use, with or without a port; may be given more than once
    #[arg(long, value_name = "HOST", requires = "http", value_parser = host)]
    pub(crate) allow_host: Vec<String>,
    #[arg(
        help = "Another origin that browsers may send requests from, such as https://app.example, with :* for any port; may be \
                given more than once"
    )]
    #[arg(long, value_name = "ORIGIN", requires = "http", value_parser = origin)]
    pub(crate) allow_origin: Vec<String>,
    /// The maximum number of sessions
    #[arg(long, value_name = "NUMBER", requires = "http", default_value_t = HttpOptions::default().max_sessions, value_parser = some)]
    pub(crate) max_sessions: usize,
    /// The maximum number of sessions of each token of the token file, at most half of the sessions [default: a
    /// quarter]
    #[arg(long, value_name = "NUMBER", requires = "http", value_parser = some)]
    pub(crate) max_token_sessions: Option<usize>,
    /// How long a session lives without a request and without a stream, in seconds
    #[arg(long, value_name = "SECONDS", requires = "http", default_value_t = 300, value_parser = seconds)]
    pub(crate) session_time: u64,
    /// The maximum number of connections
    #[arg(long, value_name = "NUMBER", requires = "http", default_value_t = HttpOptions::default().max_connections, value_parser = some)]
    pub(crate) max_connections: usize,
    /// The maximum number of connections of each token of the token file, at most half of the connections [default: half]
    #[arg(long, value_name = "NUMBER", requires = "http", value_parser = some)]
    pub(crate) max_token_connections: Option<usize>,
    /// The maximum number of connections besides these on which no request had a valid token yet; the oldest one of the
    /// address with the most gives way to the next
    #[arg(long, value_name = "NUMBER", requires = "http", default_value_t = HttpOptions::default().max_newcomers, value_parser = some)]
    pub(crate) max_newcomers: usize,
    /// The maximum number of open streams [default: half of the connections]
    #[arg(long, value_name = "NUMBER", requires = "http", value_parser = some)]
    pub(crate) max_streams: Option<usize>,
    /// The maximum number of open streams of each token of the token file, at most half of the streams [default: half]
    #[arg(long, value_name = "NUMBER", requires = "http", value_parser = some)]
    pub(crate) max_token_streams: Option<usize>,
    /// The maximum size of a request, in bytes
    #[arg(long, value_name = "BYTES", requires = "http", default_value_t = HttpOptions::default().max_body, value_parser = some)]
    pub(crate) max_body: usize,
    /// The maximum size of all large responses that clients have not read yet, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = ServeOptions::default().max_unsent, value_parser = some)]
    pub(crate) max_unsent: usize,
    /// The maximum size of what all sessions keep of their active skills, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = ServeOptions::default().max_kept, value_parser = some)]
    pub(crate) max_kept: usize,
    /// The maximum size of what the sessions of each token of the token file keep, in bytes, at most half of that of all
    /// sessions [default: a quarter]
    #[arg(long, value_name = "BYTES", requires = "http", value_parser = some)]
    pub(crate) max_token_kept: Option<usize>,
    /// The maximum size of all large responses that the clients of each token of the token file have not read yet, in
    /// bytes, at most half of that of all responses [default: half]
    #[arg(long, value_name = "BYTES", requires = "http", value_parser = some)]
    pub(crate) max_token_unsent: Option<usize>,
    /// What to log to standard error
    #[arg(long, value_name = "FORMAT", default_value = "warnings")]
    pub(crate) log: Log,
    /// Write the configuration for a client, and exit
    #[arg(long, value_name = "CLIENT", value_parser = values::clients())]
    pub(crate) print_config: Option<&'static ClientConfig>,
}

/// Where the server listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HttpAddress {
    /// At an address.
    At(SocketAddr),
    /// On the socket that systemd passes.
    Systemd,
}

/// What the server logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Log {
    /// Only the address it listens on
    Off,
    /// Problems that need attention
    Warnings,
    /// Each request and each state of the library
    Text,
    /// One JSON object per line, with the same fields
    Json,
}

/// Parses a limit. It is at least 1, and fits into 32 bits, as some counters do.
fn some(text: &str) -> Result<usize, String> {
    positive(text).map(|number| number as usize)
}

/// Parses a number of seconds.
fn seconds(text: &str) -> Result<u64, String> {
    positive(text).map(u64::from)
}

fn positive(text: &str) -> Result<u32, String> {
    let positive = text.parse().ok().filter(|number| *number > 0);
    positive.ok_or_else(|| format!("give a number from 1 to {}", u32::MAX))
}

/// Parses an address. A port alone is one of this machine, since other machines are not meant to reach it by accident.
fn address(text: &str) -> Result<HttpAddress, &'static str> {
    if text == "systemd" {
        return Ok(HttpAddress::Systemd);
    }
    let port = text.strip_prefix(':').unwrap_or(text);
    if port.bytes().all(|byte| byte.is_ascii_digit())
        && let Ok(port) = port.parse()
    {
        return Ok(HttpAddress::At(SocketAddr::from(([127, 0, 0, 1], port))));
    }
    let numeric = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    numeric
        .as_deref()
        .unwrap_or(text)
        .parse()
        .map(HttpAddress::At)
        .map_err(|_| "give an address such as 127.0.0.1:7878, a port, or systemd")
}

fn reader(text: &str) -> Result<&'static Client, String> {
    clients::client(text).ok_or_else(|| {
        let meant = did_you_mean(&client_meant(text)).map(|meant| format!("; {meant}"));
        format!("no such client{}", meant.unwrap_or_default())
    })
}

fn host(text: &str) -> Result<String, &'static str> {
    is_host(text)
        .then(|| text.to_owned())
        .ok_or("give a name or an address, such as box.example or [::1]:7878")
}

fn origin(text: &str) -> Result<String, &'static str> {
    is_origin(text).then(|| text.to_owned()).ok_or("give a scheme and a host, such as https://app.example")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_port_or_has_one() {
        let local = HttpAddress::At(SocketAddr::from(([127, 0, 0, 1], 7878)));
        for text in ["7878", ":7878", "localhost:7878", "127.0.0.1:7878"] {
            assert_eq!(address(text).unwrap(), local, "{text}");
        }
        for text in ["localhost", "localhost:x", "box:7878", ""] {
            assert!(address(text).is_err(), "{text}");
        }
    }
}
