//! The configuration that each MCP client needs to start or connect to this server, as one table.

mod rows;

use prowess::env::{Environment, TOKEN};
use prowess::internal::{ConfigFormat, EntryPath};
use prowess::library::clients::{self, Client};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

pub use rows::CLIENT_CONFIGS;

/// The name of the server in configurations.
pub const SERVER_NAME: &str = "prowess";

/// An MCP client and the format of its configuration.
#[derive(Debug)]
pub struct ClientConfig {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its display name, if it is not that of the client with this name.
    title: Option<&'static str>,
    /// The user's configuration; of several, the first that exists counts.
    user: &'static [&'static str],
    /// The configuration of a project, relative to its folder.
    project: &'static [&'static str],
    /// Its own command that adds a server, if it has one; `{scope}` is `user` or `project`, and the server's command line
    /// follows.
    adds: Option<&'static str>,
    /// The same for a server at an address, with `{url}`; what follows adds the token.
    adds_http: Option<(&'static str, &'static str)>,
    /// The format of the file.
    pub format: ConfigFormat,
    /// The keys that lead to the servers.
    servers: &'static [&'static str],
    local: StdioFormat,
    remote: HttpFormat,
    /// The token in a header, by the variable that holds it; if the client does not expand variables, a placeholder.
    token: &'static str,
}

/// How a client configures a server that it starts.
#[derive(Clone, Copy, Debug)]
enum StdioFormat {
    /// `{"command": …, "args": […]}`
    Command,
    /// `Command` with `"type": "stdio"`
    TypedCommand,
    /// `TypedCommand` with `"tools": ["*"]`
    CommandWithTools,
    /// `{"type": "local", "command": […], "enabled": true}`
    Words,
    /// `{"type": "stdio", "name": …, "enabled": true, "cmd": …, "args": […]}`
    Extension,
}

/// How a client configures a server at an address.
#[derive(Clone, Copy, Debug)]
enum HttpFormat {
    /// `{"url": …, "headers": …}`
    Url,
    /// `Url` with `"type": "http"`
    TypedUrl,
    /// `TypedUrl` with `"tools": ["*"]`
    UrlWithTools,
    /// `{"httpUrl": …, "headers": …}`
    HttpUrl,
    /// `{"serverUrl": …, "headers": …}`
    ServerUrl,
    /// `{"type": "remote", "url": …, "enabled": true, "headers": …}`
    EnabledUrl,
    /// `{"url": …, "bearer_token_env_var": …}`
    TokenVariable,
    /// `{"type": "streamable_http", "name": …, "enabled": true, "uri": …, "headers": …}`
    Extension,
}

/// How a client connects to the server.
#[derive(Clone, Debug)]
pub enum ServerTransport {
    /// It starts the program with these arguments and uses its standard input and output.
    Stdio(Vec<String>),
    /// It connects to an address.
    Http {
        /// The address, with `/mcp`.
        url: String,
        /// Whether the server requires a token.
        token: bool,
    },
}

/// Whose configuration of a client is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigOwner {
    /// The user's own, which applies in every folder.
    User,
    /// That of a project.
    Project,
}

impl ClientConfig {
    /// The client among those that read skills, if it is one.
    pub fn reader(&self) -> Option<&'static Client> {
        clients::client(self.name)
    }

    /// Its display name.
    pub fn title(&self) -> &'static str {
        self.title.or_else(|| Some(self.reader()?.name)).unwrap_or(self.name)
    }

    /// Where its entry is in the file.
    pub fn path(&self) -> EntryPath<'static> {
        EntryPath { keys: self.servers, name: SERVER_NAME }
    }

    /// Its configuration file. Of several that it reads, the first that exists; `None` if it has none for this owner.
    pub fn file(&self, owner: ConfigOwner, from: &Path, environment: &Environment) -> Option<PathBuf> {
        let files: Vec<PathBuf> = match owner {
            ConfigOwner::User => self.user.iter().filter_map(|path| environment.expand(path)).collect(),
            ConfigOwner::Project => self.project.iter().map(|path| from.join(path)).collect(),
        };
        let exists = |file: &&PathBuf| file.symlink_metadata().is_ok();
        files.iter().find(exists).or(files.first()).cloned()
    }

    /// Its own command that adds the server, if it has one.
    pub fn command(&self, transport: &ServerTransport, owner: ConfigOwner) -> Option<String> {
        let scope = match owner {
            ConfigOwner::User => "user",
            ConfigOwner::Project => "project",
        };
        let command = match transport {
            ServerTransport::Stdio(args) => {
                let words: Vec<String> = args.iter().map(|word| quoted(word)).collect();
                format!("{} prowess {}", self.adds?, words.join(" "))
            }
            ServerTransport::Http { url, token } => {
                let (adds, with_token) = self.adds_http?;
                format!("{}{}", adds.replace("{url}", &quoted(url)), if *token { with_token } else { "" })
            }
        };
        // Some commands have no such option, and always write the user's configuration.
        let has_owner = owner == ConfigOwner::User || command.contains("{scope}");
        has_owner.then(|| command.replace("{scope}", scope))
    }

    /// Where the text belongs, and the alternatives to that.
    pub fn destination(&self, transport: &ServerTransport) -> String {
        let user = self.user.first().map(|path| shown(path));
        let project = self.project.first().map(|path| match user {
            Some(_) => format!("or {path} in a project"),
            None => format!("{path} in a project"),
        });
        let command = self.command(transport, ConfigOwner::User).map(|command| format!("or: {command}"));
        [user, project, command].into_iter().flatten().collect::<Vec<_>>().join("; ")
    }

    /// Whether its file belongs to the user and not to a project, so that it applies in every working folder.
    pub fn is_personal(&self) -> bool {
        !self.user.is_empty()
    }

    /// Whether the entry has a placeholder for the token, because the client does not expand variables.
    pub fn wants_token(&self, transport: &ServerTransport) -> bool {
        let has_header = !matches!(self.remote, HttpFormat::TokenVariable);
        matches!(transport, ServerTransport::Http { token: true, .. })
            && has_header
            && self.token == PLACEHOLDER
    }

    /// The entry of the server. It never contains a token.
    pub fn entry(&self, transport: &ServerTransport) -> Value {
        match transport {
            ServerTransport::Stdio(args) => match self.local {
                StdioFormat::Command => json!({"command": "prowess", "args": args}),
                StdioFormat::TypedCommand => json!({"type": "stdio", "command": "prowess", "args": args}),
                StdioFormat::CommandWithTools => {
                    json!({"type": "stdio", "command": "prowess", "args": args, "tools": ["*"]})
                }
                StdioFormat::Words => {
                    let words: Vec<&str> =
                        ["prowess"].into_iter().chain(args.iter().map(String::as_str)).collect();
                    json!({"type": "local", "command": words, "enabled": true})
                }
                StdioFormat::Extension => json!({
                    "type": "stdio", "name": SERVER_NAME, "enabled": true, "cmd": "prowess", "args": args, "timeout": 300,
                }),
            },
            ServerTransport::Http { url, token } => {
                let mut entry = match self.remote {
                    HttpFormat::Url => json!({"url": url}),
                    HttpFormat::TypedUrl | HttpFormat::UrlWithTools => json!({"type": "http", "url": url}),
                    HttpFormat::HttpUrl => json!({"httpUrl": url}),
                    HttpFormat::ServerUrl => json!({"serverUrl": url}),
                    HttpFormat::EnabledUrl => json!({"type": "remote", "url": url, "enabled": true}),
                    HttpFormat::TokenVariable if *token => {
                        return json!({"url": url, "bearer_token_env_var": TOKEN});
                    }
                    HttpFormat::TokenVariable => return json!({"url": url}),
                    HttpFormat::Extension => json!({
                        "type": "streamable_http", "name": SERVER_NAME, "enabled": true, "uri": url, "timeout": 300,
                    }),
                };
                if let Some(entry) = entry.as_object_mut() {
                    if *token {
                        let header = format!("Bearer {}", self.token);
                        entry.insert("headers".to_owned(), json!({"Authorization": header}));
                    }
                    if matches!(self.remote, HttpFormat::UrlWithTools) {
                        entry.insert("tools".to_owned(), json!(["*"]));
                    }
                }
                entry
            }
        }
    }

    /// The text of a file with nothing but the entry.
    pub fn text(&self, transport: &ServerTransport) -> String {
        let change = self.format.insert("", self.path(), &self.entry(transport));
        change.map(|change| change.new).unwrap_or_default()
    }
}

/// The placeholder for a token.
const PLACEHOLDER: &str = "TOKEN";

/// A path without the variable that moves it.
fn shown(path: &str) -> String {
    let inside = path.strip_prefix("${").and_then(|rest| rest.split_once('}'));
    match inside {
        Some((variable, below)) => {
            let default = variable.split_once(":-").map_or(variable, |(_, default)| default);
            format!("{default}{below}")
        }
        None => path.to_owned(),
    }
}

/// A word quoted for a shell.
fn quoted(word: &str) -> String {
    let plain = |it: char| it.is_ascii_alphanumeric() || "-_./=:@%+,~".contains(it);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn transports() -> [ServerTransport; 3] {
        let words = ["serve", "--in", "a \"b\""].map(str::to_owned).to_vec();
        let at = |token| ServerTransport::Http { url: "http://127.0.0.1:7878/mcp".to_owned(), token };
        [ServerTransport::Stdio(words), at(true), at(false)]
    }

    #[test]
    fn the_configuration_of_every_client_is_valid() {
        for client in &CLIENT_CONFIGS {
            for transport in &transports() {
                let (text, entry) = (client.text(transport), client.entry(transport));
                assert_eq!(
                    client.format.entry(&text, client.path()),
                    Ok(Some(entry)),
                    "{}: {text}",
                    client.name
                );
                let said = match transport {
                    ServerTransport::Stdio(_) => "serve",
                    ServerTransport::Http { token: true, .. } if client.wants_token(transport) => {
                        "Bearer TOKEN"
                    }
                    ServerTransport::Http { token: true, .. } => "PROWESS_TOKEN",
                    ServerTransport::Http { .. } => "127.0.0.1",
                };
                assert!(text.contains(said), "{}: {text}", client.name);
            }
            assert!(!client.user.is_empty() || !client.project.is_empty());
        }
        assert!(CLIENT_CONFIGS.is_sorted_by_key(|client| client.name));
    }

    #[test]
    fn connecting_and_disconnecting_any_client_gives_back_its_file() {
        for client in &CLIENT_CONFIGS {
            let (format, path) = (client.format, client.path());
            let key = client.servers.join(".");
            let texts: Vec<String> = match format {
                ConfigFormat::Json => vec![
                    String::new(),
                    "{}".to_owned(),
                    "{}\n".to_owned(),
                    format!(
                        "{{\n  \"theme\": \"dark\", // mine\n  \"{key}\": {{\n    \"a\": {{ \"command\": \"x\" }},\n  }},\n}}\n"
                    ),
                    format!("{{\r\n\t\"{key}\": {{}}\r\n}}\r\n"),
                    format!("{{\"a\":1,\"{key}\":{{\"b\":{{}}}}}}"),
                    "\u{feff}{\n    \"projects\": {\n        \"/p\": { \"history\": [1, 2] }\n    }\n}"
                        .to_owned(),
                ],
                ConfigFormat::Toml => vec![
                    String::new(),
                    "model = \"m\" # mine\n\n[mcp_servers.a]\ncommand = \"x\"\n".to_owned(),
                    "[projects.\"/p\"]\r\ntrust_level = \"trusted\"\r\n".to_owned(),
                    "a = 1".to_owned(),
                ],
                _ => vec![
                    String::new(),
                    format!("MODEL: m # mine\n{key}:\n  a:\n    enabled: true\n    type: builtin\nLAST: 1\n"),
                    format!("{key}: {{}}\r\n"),
                    "MODEL: m".to_owned(),
                ],
            };
            for (text, transport) in
                texts.iter().flat_map(|text| transports().map(|transport| (text, transport)))
            {
                let change = format.insert(text, path, &client.entry(&transport)).unwrap();
                let after = change.apply(text).unwrap();
                assert_eq!(change.undo(&after).as_ref(), Some(text), "{}", client.name);
                let removed =
                    format.remove(&after, path, change.tables).unwrap().unwrap().apply(&after).unwrap();
                assert_eq!(format.entry(&removed, path), Ok(None), "{}: {removed}", client.name);
            }
        }
    }

    #[test]
    fn a_clients_own_command_can_be_copied() {
        let client = |name: &str| CLIENT_CONFIGS.iter().find(|client| client.name == name).unwrap();
        let [start, with_token, _] = transports();
        let claude = client("claude-code");
        assert_eq!(
            claude.destination(&start),
            "~/.claude.json; or .mcp.json in a project; or: claude mcp add --scope user prowess -- prowess serve --in 'a \"b\"'"
        );
        assert_eq!(
            claude.command(&with_token, ConfigOwner::Project).unwrap(),
            "claude mcp add --transport http --scope project prowess http://127.0.0.1:7878/mcp --header 'Authorization: Bearer ${PROWESS_TOKEN}'"
        );
        assert_eq!(client("codex").command(&start, ConfigOwner::Project), None);
        assert_eq!(
            client("codex").command(&with_token, ConfigOwner::User).unwrap(),
            "codex mcp add prowess --url http://127.0.0.1:7878/mcp --bearer-token-env-var PROWESS_TOKEN"
        );
        assert_eq!(client("zed").command(&start, ConfigOwner::User), None);
    }
}
