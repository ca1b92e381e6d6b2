//! `prowess connect` and `disconnect` over configurations as users have them: with comments, other servers, odd
//! indentation and every kind of line end.

use std::fs;
use std::path::PathBuf;

use prowess_mcp::CLIENT_CONFIGS;

use crate::shelf::output;
use crate::{Place, code};

/// A configuration for each client.
const TEXTS: [(&str, &str); 13] = [
    (
        "amp",
        r#"{
	// Amp
	"amp.notifications.enabled": false,
	"amp.mcpServers": {
		"linear": { "url": "https://mcp.linear.app/sse" }, // issues
		/* off for now
		"old": { "command": "old" }, */
	},
	"amp.permissions": [{ "tool": "Bash", "action": "ask" }],
}
"#,
    ),
    (
        "claude-code",
        r#"{
  "numStartups": 182,
  "tipsHistory": {"shift-enter": 12, "memory": 3},
  "mcpServers": {
    "github": {"type": "http", "url": "https://api.githubcopilot.com/mcp/", "headers": {"Authorization": "Bearer ${GH}"}},
    "db": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-postgres", "postgresql://localhost/mydb"],
      "env": {}
    }
  },
  "projects": {
    "/home/ada/a \"b\"": {"allowedTools": [], "mcpServers": {}, "history": [{"display": "say \u007b}"}]}
  }
}
"#,
    ),
    (
        "codex",
        r#"# Codex
model = "o4"   # the model
approval_policy = "on-request"
notify = [
  "notify-send", # a program
  "Codex",
]

[mcp_servers."docs.server"]
command = "npx"
args = ["-y", "mcp-docs"]
	[mcp_servers."docs.server".env]
	"API_KEY" = 'a # b'

[[profiles.list]]
text = """
[mcp_servers.prowess-like]
# not a comment
"""
# the end
"#,
    ),
    (
        "cursor",
        r#"{"mcpServers":{"a":{"command":"x","args":["y"]},
     "b":{"url":"http://localhost:3000/sse"}}}
"#,
    ),
    (
        "gemini-cli",
        r#"{
  "theme": "Default Dark",
  "selectedAuthType": "oauth-personal",
  "mcpServers": {},
  "usageStatisticsEnabled": false
}
"#,
    ),
    (
        "github-copilot",
        r#"{
    "mcpServers": {
        "playwright": {
            "type": "local",
            "command": "npx",
            "tools": [ "*" ],
            "args": [ "@playwright/mcp@latest" ]
        }
    }
}
"#,
    ),
    (
        "goose",
        "# Goose\nGOOSE_PROVIDER: anthropic   # provider\nGOOSE_MODEL: 'claude: 4'\n\nextensions:\n  # built in\n  \
         developer:\n    bundled: true\n    enabled: true\n    name: developer\n    timeout: 300\n    type: builtin\n\
         \n  fetch:\n    args:\n    - mcp-server-fetch\n    cmd: uvx\n    description: |\n      prowess:\n        x: 1\n    \
         enabled: false\n    envs: {}\n    name: fetch\n    type: stdio\n# end\nother: {a: 1, b: [2]}\n",
    ),
    (
        "kiro-cli",
        r#"{
  "mcpServers": {
    "fetch": {
      "command": "uvx",
      "args": ["mcp-server-fetch"],
      "disabled": true,
      "autoApprove": []
    }
  }
}
"#,
    ),
    (
        "opencode",
        r#"{
  "$schema": "https://opencode.ai/config.json",
  // servers
  "mcp": {
      "weather": {
          "type": "local",
          "command": ["opencode", "x", "@h1deya/mcp-server-weather"],
          "enabled": true,
      },
  },
  "theme": "tokyonight", /* dark */
}
"#,
    ),
    (
        "qwen-code",
        "{\n \"security\": {\"auth\": {\"selectedType\": \"qwen-oauth\"}},\n\n\n \"$version\": 2\n}\n",
    ),
    (
        "vscode",
        r#"{
	"inputs": [
		{ "type": "promptString", "id": "key", "description": "Key // no comment", "password": true }
	],
	"servers": {
		// a server
		"perplexity": {
			"type": "stdio",
			"command": "npx",
			"env": { "KEY": "${input:key}" }
		}
	}
}
"#,
    ),
    ("windsurf", "{\n  \"mcpServers\": {\n  }\n}\n"),
    (
        "zed",
        r#"// Zed settings
//
// For information on how to configure Zed, see the documentation.
{
  "ui_font_size": 16,
  "theme": {
    "mode": "system", // follows the system
    "dark": "One Dark",
  },
  "context_servers": {
    "mine": {
      "source": "custom",
      "command": { "path": "x", "args": [], "env": null },
    },
  },
}
"#,
    ),
];

/// The text with other line ends, a byte order mark, spaces at the ends of lines, or without its last line end.
fn variants(text: &str) -> [String; 5] {
    let spaces: String = text
        .lines()
        .map(|line| format!("{line}{}\n", if line.ends_with(['{', ',']) { "  " } else { "" }))
        .collect();
    [
        text.to_owned(),
        text.replace('\n', "\r\n"),
        format!("\u{feff}{text}"),
        spaces,
        text.trim_end().to_owned(),
    ]
}

#[test]
fn connect_then_disconnect_gives_back_a_real_configuration_of_every_client_byte_for_byte() {
    assert_eq!(TEXTS.map(|(name, _)| name), std::array::from_fn(|at| CLIENT_CONFIGS[at].name));
    let place = Place::with(&[]);
    for (client, text) in TEXTS {
        for scope in [&[][..], &["--project"]] {
            let with =
                |verb: &'static str, rest: &[&'static str]| [&[verb, client][..], scope, rest].concat();
            let plan = output(&place, &with("connect", &["--json"]));
            if code(&plan) != 0 {
                let said = String::from_utf8_lossy(&plan.stdout).into_owned();
                assert!(said.contains("this client has no configuration in projects"), "{said}");
                continue;
            }
            let plan: serde_json::Value = serde_json::from_slice(&plan.stdout).unwrap();
            let file = PathBuf::from(plan["file"].as_str().unwrap());
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            for (number, text) in variants(text).iter().enumerate() {
                fs::write(&file, text).unwrap();
                let url: &[&'static str] = if number % 2 == 0 {
                    &["--write"]
                } else {
                    &["--write", "--url", "http://127.0.0.1:7878/mcp"]
                };
                let connected = output(&place, &with("connect", url));
                let said = place.transcript(&connected);
                assert_eq!(code(&connected), 0, "{client} {number}: {said}");
                let between = fs::read_to_string(&file).unwrap();
                assert!(between.contains("prowess") && between != *text, "{client} {number}");
                // Every line that was there still is, except for the brackets that the entry comes into.
                for line in text.lines().filter(|line| line.len() > 12) {
                    assert!(
                        between.contains(line.trim_end_matches([' ', ',', '{', '}'])),
                        "{client} {number}: {line}\n{between}"
                    );
                }
                assert_eq!(code(&output(&place, &with("disconnect", &["--write"]))), 0, "{client} {number}");
                assert_eq!(fs::read_to_string(&file).unwrap(), *text, "{client} {number}");
            }
            fs::remove_file(&file).unwrap();
        }
    }
}
