//! The options of `prowess connect` and `prowess disconnect`.

use prowess::SourceSpec;
use prowess_mcp::ClientConfig;

use super::places::source_specs;
use super::values::clients;

/// Connect a client to your skills over MCP
///
/// Shows the change to the client's configuration, and writes it with --write. The client then starts `prowess serve` with
/// the skills that it does not read by itself. Nothing else in the file changes, and disconnect gives it back as it was.
#[derive(Debug, clap::Args)]
pub(crate) struct Connect {
    #[command(flatten)]
    pub(crate) to: ConnectTo,
    /// Serve the skills from here instead of the folders where agents keep them; may be given more than once
    #[arg(long = "in", value_name = "SPEC", value_parser = source_specs(), conflicts_with = "url")]
    pub(crate) sources: Vec<SourceSpec>,
    /// Serve also the skills that the client reads by itself
    #[arg(long, conflicts_with = "url")]
    pub(crate) all: bool,
    // Attributes, because the marks that a doc comment needs would appear in the help.
    #[arg(
        help = "Connect to a server that runs already, such as http://127.0.0.1:7878/mcp, instead of starting one"
    )]
    #[arg(long, value_name = "URL", value_parser = url)]
    pub(crate) url: Option<String>,
    #[arg(help = "The server wants a token: the client sends that of its variable PROWESS_TOKEN")]
    #[arg(long, requires = "url")]
    pub(crate) token: bool,
}

/// Remove the server of skills from the configuration of a client
///
/// Shows the change, and writes it with --write. If the file is as connect left it, it is the same as before, byte for byte.
#[derive(Debug, clap::Args)]
pub(crate) struct Disconnect {
    #[command(flatten)]
    pub(crate) to: ConnectTo,
}

/// Which configuration is changed, and how.
#[derive(Debug, clap::Args)]
pub(crate) struct ConnectTo {
    /// The client
    #[arg(value_name = "CLIENT", value_parser = clients())]
    pub(crate) client: &'static ClientConfig,
    /// Write the change
    #[arg(long)]
    pub(crate) write: bool,
    /// Only show the change, as without --write
    #[arg(long, conflicts_with = "write")]
    pub(crate) dry_run: bool,
    /// Change the configuration of this project instead of your own
    #[arg(long)]
    pub(crate) project: bool,
    /// Replace an entry called prowess that is not ours, or was changed; with disconnect, remove it
    #[arg(long)]
    pub(crate) overwrite: bool,
}

fn url(text: &str) -> Result<String, &'static str> {
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    let plain = text.chars().all(|it| it.is_ascii_graphic() && !"\"'\\<>`{}".contains(it));
    let host =
        rest.and_then(|rest| rest.split(['/', '?', '#']).next()).filter(|host| plain && !host.is_empty());
    match host {
        Some(host) if host.contains('@') => {
            Err("leave out the name and the password: the file would have them; --token names a variable")
        }
        Some(host) if prowess_mcp::is_host(host) => Ok(text.to_owned()),
        _ => Err("give an address such as http://127.0.0.1:7878/mcp"),
    }
}
