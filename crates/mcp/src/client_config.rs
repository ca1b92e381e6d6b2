//! What goes into the configuration of each client so that it starts or finds this server: one table.

use serde_json::{Map, Value, json};

/// One client.
#[derive(Debug)]
pub struct ClientConfig {
    /// The word on the command line.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// The file that the text goes into.
    pub file: &'static str,
    /// What else to know.
    note: &'static str,
    /// Its own command that adds a program, if it has one: the program's words follow.
    adds: Option<&'static str>,
    /// The member that holds the servers.
    servers: &'static str,
    local: Local,
    remote: Remote,
}

/// How a client writes a server that it starts.
#[derive(Clone, Copy, Debug)]
enum Local {
    /// `{"command": …, "args": […]}`
    Command,
    /// the same with `"type": "stdio"`
    TypedCommand,
    /// `{"type": "local", "command": […], "enabled": true}`
    Words,
    /// the first in TOML
    Toml,
}

/// How a client writes a server at an address.
#[derive(Clone, Copy, Debug)]
enum Remote {
    /// `{"url": …, "headers": …}`
    Url,
    /// the same with `"type": "http"`
    TypedUrl,
    /// `{"httpUrl": …, "headers": …}`
    HttpUrl,
    /// `{"type": "remote", "url": …, "enabled": true, "headers": …}`
    EnabledUrl,
    /// the first in TOML, with the token in a variable
    Toml,
}

/// How a client reaches the server.
#[derive(Clone, Debug)]
pub enum Reach {
    /// It starts the program with these arguments.
    Start(Vec<String>),
    /// It finds it at an address.
    Find {
        /// The address, with `/mcp`.
        url: String,
        /// Whether the server wants a token.
        token: bool,
    },
}

/// The clients, by name.
pub const CLIENTS: [ClientConfig; 7] = [
    ClientConfig {
        name: "claude-code",
        title: "Claude Code",
        file: ".mcp.json",
        note: "",
        adds: Some("claude mcp add prowess --"),
        servers: "mcpServers",
        local: Local::Command,
        remote: Remote::TypedUrl,
    },
    ClientConfig {
        name: "codex",
        title: "Codex",
        file: "~/.codex/config.toml",
        note: "",
        adds: Some("codex mcp add prowess --"),
        servers: "mcp_servers",
        local: Local::Toml,
        remote: Remote::Toml,
    },
    ClientConfig {
        name: "cursor",
        title: "Cursor",
        file: "~/.cursor/mcp.json",
        note: "or .cursor/mcp.json in a project",
        adds: None,
        servers: "mcpServers",
        local: Local::Command,
        remote: Remote::Url,
    },
    ClientConfig {
        name: "gemini-cli",
        title: "Gemini CLI",
        file: "~/.gemini/settings.json",
        note: "or .gemini/settings.json in a project",
        adds: None,
        servers: "mcpServers",
        local: Local::Command,
        remote: Remote::HttpUrl,
    },
    ClientConfig {
        name: "opencode",
        title: "opencode",
        file: "opencode.json",
        note: "or ~/.config/opencode/opencode.json",
        adds: None,
        servers: "mcp",
        local: Local::Words,
        remote: Remote::EnabledUrl,
    },
    ClientConfig {
        name: "vscode",
        title: "VS Code",
        file: ".vscode/mcp.json",
        note: "or the user's own: MCP: Open User Configuration",
        adds: None,
        servers: "servers",
        local: Local::TypedCommand,
        remote: Remote::TypedUrl,
    },
    ClientConfig {
        name: "zed",
        title: "Zed",
        file: "~/.config/zed/settings.json",
        note: "or .zed/settings.json in a project",
        adds: None,
        servers: "context_servers",
        local: Local::Command,
        remote: Remote::Url,
    },
];

impl ClientConfig {
    /// Where the text goes, and what does the same.
    pub fn place(&self, reach: &Reach) -> String {
        let adds = match reach {
            Reach::Start(args) => self.adds.map(|adds| {
                let words: Vec<String> = args.iter().map(|word| quoted(word)).collect();
                format!("or: {adds} prowess {}", words.join(" "))
            }),
            Reach::Find { .. } => None,
        };
        let note = Some(self.note.to_owned()).filter(|note| !note.is_empty());
        [Some(self.file.to_owned()), note, adds].into_iter().flatten().collect::<Vec<_>>().join("; ")
    }

    /// Whether its file is a person's and not a project's: what is in it counts wherever the client is started.
    pub fn is_personal(&self) -> bool {
        self.file.starts_with('~')
    }

    /// The text for its file. A token is never part of it: `TOKEN` stands in its place.
    pub fn text(&self, reach: &Reach) -> String {
        let entry = match reach {
            Reach::Start(args) => match self.local {
                Local::Command => json!({"command": "prowess", "args": args}),
                Local::TypedCommand => json!({"type": "stdio", "command": "prowess", "args": args}),
                Local::Words => {
                    let words: Vec<&str> =
                        ["prowess"].into_iter().chain(args.iter().map(String::as_str)).collect();
                    json!({"type": "local", "command": words, "enabled": true})
                }
                Local::Toml => return self.toml(&[("command", json!("prowess")), ("args", json!(args))]),
            },
            Reach::Find { url, token } => {
                let mut entry = match self.remote {
                    Remote::Url => json!({"url": url}),
                    Remote::TypedUrl => json!({"type": "http", "url": url}),
                    Remote::HttpUrl => json!({"httpUrl": url}),
                    Remote::EnabledUrl => json!({"type": "remote", "url": url, "enabled": true}),
                    Remote::Toml => {
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
        let mut whole = Map::new();
        whole.insert(self.servers.to_owned(), json!({ "prowess": entry }));
        let text = serde_json::to_string_pretty(&Value::Object(whole)).unwrap_or_default();
        format!("{text}\n")
    }

    /// JSON's strings and lists of strings are TOML's too.
    fn toml(&self, lines: &[(&str, Value)]) -> String {
        let lines: String = lines.iter().map(|(key, value)| format!("{key} = {value}\n")).collect();
        format!("[{}.prowess]\n{lines}", self.servers)
    }
}

/// A word as a shell takes it.
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
    fn every_client_gets_what_it_can_read() {
        let start = Reach::Start(vec!["serve".to_owned(), "--in".to_owned(), "a \"b\"".to_owned()]);
        let find = Reach::Find { url: "http://127.0.0.1:7878/mcp".to_owned(), token: true };
        for client in &CLIENTS {
            for reach in [&start, &find] {
                let text = client.text(reach);
                if client.name == "codex" {
                    assert!(text.starts_with("[mcp_servers.prowess]\n"), "{text}");
                    continue;
                }
                let read: Value = serde_json::from_str(&text).unwrap();
                let entry = &read[client.servers]["prowess"];
                assert!(
                    entry.is_object()
                        && text.contains(if matches!(reach, Reach::Start(_)) {
                            "serve"
                        } else {
                            "Bearer TOKEN"
                        })
                );
            }
        }
        assert!(CLIENTS.is_sorted_by_key(|client| client.name));
        let place = CLIENTS[0].place(&start);
        assert_eq!(place, ".mcp.json; or: claude mcp add prowess -- prowess serve --in 'a \"b\"'");
        assert_eq!(CLIENTS[0].place(&find), ".mcp.json");
    }
}
