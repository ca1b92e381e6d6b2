//! The clients and their configurations.

use prowess::internal::ConfigFormat;

use super::{ClientConfig, HttpFormat, PLACEHOLDER, StdioFormat};

/// What most clients have.
const ROW: ClientConfig = ClientConfig {
    name: "",
    title: None,
    user: &[],
    project: &[],
    adds: None,
    adds_http: None,
    format: ConfigFormat::Json,
    servers: &["mcpServers"],
    local: StdioFormat::Command,
    remote: HttpFormat::Url,
    token: "${PROWESS_TOKEN}",
};

/// Where VS Code keeps the user's configuration.
const VSCODE_USER: &str = if cfg!(target_os = "macos") {
    "~/Library/Application Support/Code/User/mcp.json"
} else if cfg!(windows) {
    "${APPDATA}/Code/User/mcp.json"
} else {
    "${XDG_CONFIG_HOME:-~/.config}/Code/User/mcp.json"
};

/// The clients, by name.
pub const CLIENT_CONFIGS: [ClientConfig; 13] = [
    ClientConfig {
        name: "amp",
        user: &[
            "${XDG_CONFIG_HOME:-~/.config}/amp/settings.json",
            "${XDG_CONFIG_HOME:-~/.config}/amp/settings.jsonc",
        ],
        project: &[".amp/settings.json"],
        adds: Some("amp mcp add prowess --"),
        servers: &["amp.mcpServers"],
        ..ROW
    },
    ClientConfig {
        name: "claude-code",
        user: &["${CLAUDE_CONFIG_DIR:-~}/.claude.json"],
        project: &[".mcp.json"],
        adds: Some("claude mcp add --scope {scope} prowess --"),
        adds_http: Some((
            "claude mcp add --transport http --scope {scope} prowess {url}",
            " --header 'Authorization: Bearer ${PROWESS_TOKEN}'",
        )),
        remote: HttpFormat::TypedUrl,
        ..ROW
    },
    ClientConfig {
        name: "codex",
        user: &["${CODEX_HOME:-~/.codex}/config.toml"],
        project: &[".codex/config.toml"],
        adds: Some("codex mcp add prowess --"),
        adds_http: Some(("codex mcp add prowess --url {url}", " --bearer-token-env-var PROWESS_TOKEN")),
        format: ConfigFormat::Toml,
        servers: &["mcp_servers"],
        remote: HttpFormat::TokenVariable,
        ..ROW
    },
    ClientConfig {
        name: "cursor",
        user: &["~/.cursor/mcp.json"],
        project: &[".cursor/mcp.json"],
        token: "${env:PROWESS_TOKEN}",
        ..ROW
    },
    ClientConfig {
        name: "gemini-cli",
        user: &["~/.gemini/settings.json"],
        project: &[".gemini/settings.json"],
        // What follows `--` is passed on to the server.
        adds: Some("gemini mcp add --scope {scope} prowess --"),
        adds_http: Some((
            "gemini mcp add --transport http --scope {scope} prowess {url}",
            " --header 'Authorization: Bearer ${PROWESS_TOKEN}'",
        )),
        remote: HttpFormat::HttpUrl,
        ..ROW
    },
    ClientConfig {
        name: "github-copilot",
        title: Some("GitHub Copilot CLI"),
        user: &["~/.copilot/mcp-config.json"],
        project: &[".mcp.json"],
        adds: Some("copilot mcp add prowess --"),
        local: StdioFormat::CommandWithTools,
        remote: HttpFormat::UrlWithTools,
        token: PLACEHOLDER,
        ..ROW
    },
    ClientConfig {
        name: "goose",
        user: &["${XDG_CONFIG_HOME:-~/.config}/goose/config.yaml"],
        format: ConfigFormat::Yaml,
        servers: &["extensions"],
        local: StdioFormat::Extension,
        remote: HttpFormat::Extension,
        token: PLACEHOLDER,
        ..ROW
    },
    ClientConfig {
        name: "kiro-cli",
        title: Some("Kiro"),
        user: &["~/.kiro/settings/mcp.json"],
        project: &[".kiro/settings/mcp.json"],
        ..ROW
    },
    ClientConfig {
        name: "opencode",
        title: Some("opencode"),
        user: &[
            "${XDG_CONFIG_HOME:-~/.config}/opencode/opencode.json",
            "${XDG_CONFIG_HOME:-~/.config}/opencode/opencode.jsonc",
            "${XDG_CONFIG_HOME:-~/.config}/opencode/config.json",
        ],
        project: &["opencode.json", "opencode.jsonc"],
        servers: &["mcp"],
        local: StdioFormat::Words,
        remote: HttpFormat::EnabledUrl,
        token: "{env:PROWESS_TOKEN}",
        ..ROW
    },
    ClientConfig {
        name: "qwen-code",
        user: &["~/.qwen/settings.json"],
        project: &[".qwen/settings.json"],
        remote: HttpFormat::HttpUrl,
        ..ROW
    },
    ClientConfig {
        name: "vscode",
        title: Some("VS Code"),
        user: &[VSCODE_USER],
        project: &[".vscode/mcp.json"],
        servers: &["servers"],
        local: StdioFormat::TypedCommand,
        remote: HttpFormat::TypedUrl,
        token: "${env:PROWESS_TOKEN}",
        ..ROW
    },
    ClientConfig {
        name: "windsurf",
        user: &["~/.codeium/windsurf/mcp_config.json"],
        remote: HttpFormat::ServerUrl,
        token: "${env:PROWESS_TOKEN}",
        ..ROW
    },
    ClientConfig {
        name: "zed",
        user: &["${XDG_CONFIG_HOME:-~/.config}/zed/settings.json"],
        project: &[".zed/settings.json"],
        servers: &["context_servers"],
        token: PLACEHOLDER,
        ..ROW
    },
];
