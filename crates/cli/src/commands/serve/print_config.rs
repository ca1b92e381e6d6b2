//! `prowess serve --print-config`: the configuration of a client for this server.

use prowess_mcp::{ClientConfig, ServerTransport};

use super::super::source_in_config::{in_config, not_utf8};
use super::http::tokens;
use crate::Outcome;
use crate::args::{HttpAddress, Serve};
use crate::error::{CommandError, Failure};
use crate::ui::{Ui, clean_lines};

/// Writes the configuration of a client.
pub(super) fn print_config(
    client: &ClientConfig,
    args: &Serve,
    ui: &mut Ui,
) -> Result<Outcome, CommandError> {
    let transport = match args.http {
        Some(HttpAddress::Systemd) => {
            let hint = "name the address of the socket unit, such as --http 127.0.0.1:7878";
            return Err(Failure::new("a configuration needs an address: systemd", hint).into());
        }
        Some(HttpAddress::At(address)) if address.port() == 0 => {
            let hint = "name a port; 0 picks another one at each start";
            return Err(Failure::new(format!("a configuration needs a port: {address}"), hint).into());
        }
        Some(HttpAddress::At(address)) => {
            // A client cannot connect to an unspecified address.
            let host = if address.ip().is_unspecified() {
                format!("HOST:{}", address.port())
            } else {
                address.to_string()
            };
            let token = tokens(args)?.is_some() || !address.ip().is_loopback();
            ServerTransport::Http { url: format!("http://{host}/mcp"), token }
        }
        None => {
            let mut words = vec!["serve".to_owned()];
            // The client passes the same options about the library.
            let given = std::env::args_os().map(|word| word.into_string().map_err(|word| not_utf8(&word)));
            let given = given.collect::<Result<Vec<String>, Failure>>()?;
            let mut given = given.into_iter();
            given.by_ref().find(|word| word == "serve");
            let mut given = given.peekable();
            while let Some(word) = given.next() {
                if word == "--print-config" {
                    given.next();
                } else if word == "--json" || word.starts_with("--print-config=") {
                    // Neither changes what is served.
                } else if let Some(place) = word.strip_prefix("--in=") {
                    words.push(format!("--in={}", in_config(client.is_personal(), place)?));
                } else {
                    let is_place = word == "--in";
                    words.push(word);
                    if let Some(place) = given.next_if(|_| is_place) {
                        words.push(in_config(client.is_personal(), &place)?);
                    }
                }
            }
            let is_chosen = !args.places.sources.is_empty() || !args.places.clients.is_empty();
            // The client already has what it reads by itself.
            if let Some(reader) = client.reader().filter(|_| !is_chosen && args.not_read_by.is_none()) {
                words.extend(["--not-read-by".to_owned(), reader.id.to_owned()]);
            }
            ServerTransport::Stdio(words)
        }
    };
    ui.print(&clean_lines(&client.text(&transport)))?;
    ui.note(&format!("for {}, into {}", client.title(), client.destination(&transport)));
    Ok(Outcome::Fine)
}
