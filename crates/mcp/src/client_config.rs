//! The configuration that each MCP client needs to start or connect to this server, as one table.

use serde_json::{Map, Value, json};

/// An MCP client and the format of its configuration.
#[derive(Debug)]
pub struct ClientConfig {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its display name.
    pub title: &'static str,
    /// Its configuration file.
    pub file: &'static str,
    /// An alternative to the file; may be empty.
    note: &'static str,
    /// Its own command that adds a server, if it has one; the server's command line follows.
    adds: Option<&'static str>,
    /// The member that contains the servers.
    servers: &'static str,
    local: StdioFormat,
    remote: HttpFormat,
    /// Whether an entry says which tools of the server are used: all.
    names_tools: bool,
}

/// How a client configures a server that it starts.
#[derive(Clone, Copy, Debug)]
enum StdioFormat {
    /// `{"command": …, "args": […]}`
    Command,
    /// `Command` with `"type": "stdio"`
    TypedCommand,
    /// `{"type": "local", "command": […], "enabled": true}`
    Words,
    /// `Command` in TOML
    Toml,
}

/// How a client configures a server at an address.
#[derive(Clone, Copy, Debug)]
enum HttpFormat {
    /// `{"url": …, "headers": …}`
    Url,
    /// `Url` with `"type": "http"`
    TypedUrl,
    /// `{"httpUrl": …, "headers": …}`
    HttpUrl,
    /// `{"type": "remote", "url": …, "enabled": true, "headers": …}`
    EnabledUrl,
    /// `Url` in TOML, with the token in a variable
    Toml,
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

/// The clients, by name.
pub const CLIENTS: [ClientConfig; 8] = [
    ClientConfig {
        name: "claude-code",
        title: "Claude Code",
        file: ".mcp.json",
        note: "",
        adds: Some("claude mcp add prowess --"),
        servers: "mcpServers",
        local: StdioFormat::Command,
        remote: HttpFormat::TypedUrl,
        names_tools: false,
    },
    ClientConfig {
        name: "codex",
        title: "Codex",
        file: "~/.codex/config.toml",
        note: "",
        adds: Some("codex mcp add prowess --"),
        servers: "mcp_servers",
        local: StdioFormat::Toml,
        remote: HttpFormat::Toml,
        names_tools: false,
    },
    ClientConfig {
        name: "cursor",
        title: "Cursor",
        file: "~/.cursor/mcp.json",
        note: "or .cursor/mcp.json in a project",
        adds: None,
        servers: "mcpServers",
        local: StdioFormat::Command,
        remote: HttpFormat::Url,
        names_tools: false,
    },
    ClientConfig {
        name: "gemini-cli",
        title: "Gemini CLI",
        file: "~/.gemini/settings.json",
        note: "or .gemini/settings.json in a project",
        adds: None,
        servers: "mcpServers",
        local: StdioFormat::Command,
        remote: HttpFormat::HttpUrl,
        names_tools: false,
    },
    ClientConfig {
        name: "github-copilot",
        title: "GitHub Copilot CLI",
        file: "~/.copilot/mcp-config.json",
        note: "or .mcp.json in a project",
        adds: Some("copilot mcp add prowess --"),
        servers: "mcpServers",
        local: StdioFormat::TypedCommand,
        remote: HttpFormat::TypedUrl,
        names_tools: true,
    },
    ClientConfig {
        name: "opencode",
        title: "opencode",
        file: "opencode.json",
        note: "or ~/.config/opencode/opencode.json",
        adds: None,
        servers: "mcp",
        local: StdioFormat::Words,
        remote: HttpFormat::EnabledUrl,
        names_tools: false,
    },
    ClientConfig {
        name: "vscode",
        title: "VS Code",
        file: ".vscode/mcp.json",
        note: "or the user's own: MCP: Open User Configuration",
        adds: None,
        servers: "servers",
        local: StdioFormat::TypedCommand,
        remote: HttpFormat::TypedUrl,
        names_tools: false,
    },
    ClientConfig {
        name: "zed",
        title: "Zed",
        file: "~/.config/zed/settings.json",
        note: "or .zed/settings.json in a project",
        adds: None,
        servers: "context_servers",
        local: StdioFormat::Command,
        remote: HttpFormat::Url,
        names_tools: false,
    },
];

impl ClientConfig {
    /// Where the text belongs, and the alternatives to that.
    pub fn destination(&self, transport: &ServerTransport) -> String {
        let adds = match transport {
            ServerTransport::Stdio(args) => self.adds.map(|adds| {
                let words: Vec<String> = args.iter().map(|word| quoted(word)).collect();
                format!("or: {adds} prowess {}", words.join(" "))
            }),
            ServerTransport::Http { .. } => None,
        };
        let note = Some(self.note.to_owned()).filter(|note| !note.is_empty());
        [Some(self.file.to_owned()), note, adds].into_iter().flatten().collect::<Vec<_>>().join("; ")
    }

    /// Whether its file belongs to the user and not to a project, so that it applies in every working folder.
    pub fn is_personal(&self) -> bool {
        self.file.starts_with('~')
    }

    /// The text for its file. It never contains a token; `TOKEN` is a placeholder.
    pub fn text(&self, transport: &ServerTransport) -> String {
        let mut entry = match transport {
            ServerTransport::Stdio(args) => match self.local {
                StdioFormat::Command => json!({"command": "prowess", "args": args}),
                StdioFormat::TypedCommand => json!({"type": "stdio", "command": "prowess", "args": args}),
                StdioFormat::Words => {
                    let words: Vec<&str> =
                        ["prowess"].into_iter().chain(args.iter().map(String::as_str)).collect();
                    json!({"type": "local", "command": words, "enabled": true})
                }
                StdioFormat::Toml => {
                    return self.toml(&[("command", json!("prowess")), ("args", json!(args))]);
                }
            },
            ServerTransport::Http { url, token } => {
                let mut entry = match self.remote {
                    HttpFormat::Url => json!({"url": url}),
                    HttpFormat::TypedUrl => json!({"type": "http", "url": url}),
                    HttpFormat::HttpUrl => json!({"httpUrl": url}),
                    HttpFormat::EnabledUrl => json!({"type": "remote", "url": url, "enabled": true}),
                    HttpFormat::Toml => {
                        let token = token.then(|| ("bearer_token_env_var", json!(prowess::env::TOKEN)));
                        let lines: Vec<_> = [("url", json!(url))].into_iter().chain(token).collect();
                        return self.toml(&lines);
                    }
                };
                if let Some(entry) = entry.as_object_mut().filter(|_| *token) {
                    entry.insert("headers".to_owned(), json!({"Authorization": "Bearer TOKEN"}));
                }
                entry
            }
        };
        if let Some(entry) = entry.as_object_mut().filter(|_| self.names_tools) {
            entry.insert("tools".to_owned(), json!(["*"]));
        }
        let mut whole = Map::new();
        whole.insert(self.servers.to_owned(), json!({ "prowess": entry }));
        let text = serde_json::to_string_pretty(&Value::Object(whole)).unwrap_or_default();
        format!("{text}\n")
    }

    /// A TOML table; strings and lists of strings are written as in JSON.
    fn toml(&self, lines: &[(&str, Value)]) -> String {
        let lines: String = lines.iter().map(|(key, value)| format!("{key} = {value}\n")).collect();
        format!("[{}.prowess]\n{lines}", self.servers)
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

    #[test]
    fn the_configuration_of_every_client_is_valid() {
        let start = ServerTransport::Stdio(vec!["serve".to_owned(), "--in".to_owned(), "a \"b\"".to_owned()]);
        let find = ServerTransport::Http { url: "http://127.0.0.1:7878/mcp".to_owned(), token: true };
        for client in &CLIENTS {
            for transport in [&start, &find] {
                let text = client.text(transport);
                if client.name == "codex" {
                    assert!(text.starts_with("[mcp_servers.prowess]\n"), "{text}");
                    continue;
                }
                let read: Value = serde_json::from_str(&text).unwrap();
                let entry = &read[client.servers]["prowess"];
                assert!(
                    entry.is_object()
                        && text.contains(if matches!(transport, ServerTransport::Stdio(_)) {
                            "serve"
                        } else {
                            "Bearer TOKEN"
                        })
                );
            }
        }
        assert!(CLIENTS.is_sorted_by_key(|client| client.name));
        let destination = CLIENTS[0].destination(&start);
        assert_eq!(destination, ".mcp.json; or: claude mcp add prowess -- prowess serve --in 'a \"b\"'");
        assert_eq!(CLIENTS[0].destination(&find), ".mcp.json");
    }
}
