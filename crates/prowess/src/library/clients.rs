//! Where each agent looks for skills: the table of clients, and the folders that it gives for a project and its user.

use std::path::{Path, PathBuf};

use prowess_core::Scope;

use crate::env::Environment;

/// Hidden folders that are walked, because some client keeps skills there.
pub const DOT_FOLDERS: &[&str] = &[
    ".adal",
    ".agents",
    ".aider-desk",
    ".augment",
    ".autohand",
    ".bob",
    ".claude",
    ".claude-plugin",
    ".cline",
    ".codeartsdoer",
    ".codebuddy",
    ".codemaker",
    ".codestudio",
    ".codex",
    ".commandcode",
    ".continue",
    ".cortex",
    ".crush",
    ".curated",
    ".cursor",
    ".devin",
    ".experimental",
    ".factory",
    ".forge",
    ".gemini",
    ".github",
    ".goose",
    ".grok",
    ".hermes",
    ".iflow",
    ".inferencesh",
    ".jazz",
    ".junie",
    ".kilo",
    ".kilocode",
    ".kimchi",
    ".kiro",
    ".kode",
    ".lingma",
    ".mcpjam",
    ".minimax",
    ".moxby",
    ".mux",
    ".neovate",
    ".ona",
    ".opencode",
    ".openhands",
    ".pi",
    ".pochi",
    ".posit",
    ".qoder",
    ".qwen",
    ".reasonix",
    ".roo",
    ".rovodev",
    ".system",
    ".tabnine",
    ".terramind",
    ".tinycloud",
    ".trae",
    ".vibe",
    ".windsurf",
    ".zcode",
    ".zencoder",
];

/// Whether a client prefers the skill of a project or that of its user, if both have the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum First {
    /// The project's.
    Project,
    /// The user's.
    User,
}

/// An agent that reads skills.
///
/// Paths may begin with `~`, and with `${VARIABLE:-default}` for a folder that an environment variable moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Client {
    /// Its id, used in options.
    pub id: &'static str,
    /// Its display name.
    pub name: &'static str,
    /// Folders of a project, relative to its root. The first one has the highest precedence.
    pub project: &'static [&'static str],
    /// Folders of a user.
    pub user: &'static [&'static str],
    /// Folders of the machine's administrator.
    pub admin: &'static [&'static str],
    /// Whether the folders above the current one count too, up to the root of the git repository.
    pub ancestors: bool,
    /// The maximum depth below a root.
    pub depth: usize,
    /// Whether the project or the user has precedence.
    pub first: First,
}

/// A folder that a client looks into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// The folder; it need not exist.
    pub path: PathBuf,
    /// The scope of the skills in it.
    pub scope: Scope,
    /// The clients that look there.
    pub readers: Vec<&'static str>,
    /// The maximum depth below it.
    pub depth: usize,
}

/// The client with this id.
pub fn client(id: &str) -> Option<&'static Client> {
    CLIENTS.iter().find(|client| client.id == id)
}

impl Client {
    /// The folders it looks into from a folder, in the order of precedence.
    pub fn roots(&self, from: &Path, environment: &Environment) -> Vec<Root> {
        let root = |path: PathBuf, scope| Root { path, scope, readers: vec![self.id], depth: self.depth };
        let mut project = Vec::new();
        for folder in env_folders(from, self.ancestors) {
            project.extend(self.project.iter().map(|path| root(folder.join(path), Scope::Project)));
        }
        let expand = |path: &&str| environment.expand(path);
        let mut user: Vec<Root> =
            self.user.iter().filter_map(expand).map(|path| root(path, Scope::User)).collect();
        let admin = self.admin.iter().filter_map(expand).map(|path| root(path, Scope::User));
        match self.first {
            First::Project => {
                project.extend(user);
                project.extend(admin);
                project
            }
            // These clients prefer the administrator's skills to all others.
            First::User => admin.chain(user.drain(..)).chain(project).collect(),
        }
    }
}

/// The folders of all clients together, each once with its readers: first the project's, then the user's.
pub fn common_roots(from: &Path, environment: &Environment) -> Vec<Root> {
    let mut roots: Vec<Root> = Vec::new();
    for scope in [Scope::Project, Scope::User] {
        // The folder that most clients share comes first.
        let mut found: Vec<Root> = Vec::new();
        let shared = |client: &&Client| !client.project.contains(&".agents/skills");
        let mut clients: Vec<&Client> = CLIENTS.iter().collect();
        clients.sort_by_key(|client| (shared(client), client.id));
        for client in clients {
            // A folder that is not hidden belongs to the user, not to a client.
            let everywhere = Client { ancestors: true, first: First::Project, ..*client };
            for root in everywhere.roots(from, environment).into_iter().filter(|root| root.scope == scope) {
                let plain =
                    scope == Scope::Project && client.project.iter().all(|path| !path.starts_with('.'));
                match found.iter_mut().find(|other| other.path == root.path) {
                    Some(other) => {
                        other.readers.extend(root.readers);
                        other.depth = other.depth.max(root.depth);
                    }
                    None if plain => {}
                    None => found.push(root),
                }
            }
        }
        roots.extend(found);
    }
    roots
}

/// The project of a folder: the root of its git repository, or the folder itself.
pub fn project(from: &Path) -> &Path {
    from.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(from)
}

/// A folder and those above it up to the root of its git repository. Outside of one, only the folder itself.
fn env_folders(from: &Path, ancestors: bool) -> Vec<&Path> {
    let top = project(from);
    if ancestors {
        from.ancestors().take_while(|folder| folder.starts_with(top)).collect()
    } else {
        vec![from]
    }
}

/// The clients, sorted by name.
#[rustfmt::skip]
pub const CLIENTS: &[Client] = &[
    Client { id: "adal", name: "AdaL", project: &[".adal/skills"], user: &["~/.adal/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "aider-desk", name: "AiderDesk", project: &[".aider-desk/skills"], user: &["~/.aider-desk/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "amp", name: "Amp", project: &[".agents/skills"], user: &["${XDG_CONFIG_HOME:-~/.config}/agents/skills", "~/.agents/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "antigravity", name: "Antigravity", project: &[".agents/skills"], user: &["~/.gemini/antigravity/skills", "~/.agents/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "antigravity-cli", name: "Antigravity CLI", project: &[".agents/skills"], user: &["~/.gemini/antigravity-cli/skills", "~/.agents/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "astrbot", name: "AstrBot", project: &["data/skills"], user: &["~/.astrbot/data/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "augment", name: "Augment", project: &[".augment/skills"], user: &["~/.augment/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "autohand-code", name: "Autohand Code CLI", project: &[".autohand/skills"], user: &["${AUTOHAND_HOME:-~/.autohand}/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "bob", name: "IBM Bob", project: &[".bob/skills"], user: &["~/.bob/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "claude-code", name: "Claude Code", project: &[".claude/skills"], user: &["${CLAUDE_CONFIG_DIR:-~/.claude}/skills"], admin: &["/etc/claude-code/.claude/skills"], ancestors: true, depth: 1, first: First::User },
    Client { id: "cline", name: "Cline", project: &[".agents/skills"], user: &["~/.agents/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "codearts-agent", name: "CodeArts Agent", project: &[".codeartsdoer/skills"], user: &["~/.codeartsdoer/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "codebuddy", name: "CodeBuddy", project: &[".codebuddy/skills"], user: &["~/.codebuddy/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "codemaker", name: "Codemaker", project: &[".codemaker/skills"], user: &["~/.codemaker/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "codestudio", name: "Code Studio", project: &[".codestudio/skills"], user: &["~/.codestudio/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "codex", name: "Codex", project: &[".agents/skills", ".codex/skills"], user: &["~/.agents/skills", "${CODEX_HOME:-~/.codex}/skills"], admin: &["/etc/codex/skills"], ancestors: true, depth: 6, first: First::Project },
    Client { id: "command-code", name: "Command Code", project: &[".commandcode/skills"], user: &["~/.commandcode/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "continue", name: "Continue", project: &[".continue/skills"], user: &["~/.continue/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "cortex", name: "Cortex Code", project: &[".cortex/skills"], user: &["~/.snowflake/cortex/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "crush", name: "Crush", project: &[".crush/skills"], user: &["~/.config/crush/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "cursor", name: "Cursor", project: &[".agents/skills", ".cursor/skills", ".claude/skills", ".codex/skills"], user: &["~/.agents/skills", "~/.cursor/skills", "~/.claude/skills", "~/.codex/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "deepagents", name: "Deep Agents", project: &[".agents/skills"], user: &["~/.deepagents/agent/skills", "~/.agents/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "devin", name: "Devin for Terminal", project: &[".devin/skills"], user: &["${XDG_CONFIG_HOME:-~/.config}/devin/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "dexto", name: "Dexto", project: &[".agents/skills"], user: &["~/.agents/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "droid", name: "Droid", project: &[".agents/skills"], user: &["~/.factory/skills", "~/.agents/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "eve", name: "Eve", project: &["agent/skills"], user: &[], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "firebender", name: "Firebender", project: &[".agents/skills"], user: &["~/.firebender/skills", "~/.agents/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "forgecode", name: "ForgeCode", project: &[".forge/skills"], user: &["~/.forge/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "fx", name: "fx", project: &[".agents/skills"], user: &["~/.agents/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "gemini-cli", name: "Gemini CLI", project: &[".agents/skills", ".gemini/skills"], user: &["~/.agents/skills", "~/.gemini/skills"], admin: &[], ancestors: false, depth: 1, first: First::Project },
    Client { id: "github-copilot", name: "GitHub Copilot", project: &[".github/skills", ".claude/skills", ".agents/skills"], user: &["~/.copilot/skills", "~/.claude/skills", "~/.agents/skills"], admin: &[], ancestors: false, depth: 1, first: First::Project },
    Client { id: "goose", name: "Goose", project: &[".goose/skills"], user: &["${XDG_CONFIG_HOME:-~/.config}/goose/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "grok", name: "Grok Build", project: &[".grok/skills"], user: &["${GROK_HOME:-~/.grok}/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "hermes-agent", name: "Hermes Agent", project: &[".hermes/skills"], user: &["${HERMES_HOME:-~/.hermes}/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "iflow-cli", name: "iFlow CLI", project: &[".iflow/skills"], user: &["~/.iflow/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "inference-sh", name: "inference.sh", project: &[".inferencesh/skills"], user: &["~/.inferencesh/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "jazz", name: "Jazz", project: &[".jazz/skills"], user: &["~/.jazz/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "junie", name: "Junie", project: &[".junie/skills"], user: &["~/.junie/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "kilo", name: "Kilo Code", project: &[".agents/skills"], user: &["~/.kilo/skills", "~/.agents/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "kimchi", name: "Kimchi", project: &[".kimchi/skills"], user: &["~/.config/kimchi/harness/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "kimi-code-cli", name: "Kimi Code CLI", project: &[".agents/skills"], user: &["~/.agents/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "kiro-cli", name: "Kiro CLI", project: &[".kiro/skills"], user: &["~/.kiro/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "kode", name: "Kode", project: &[".kode/skills"], user: &["~/.kode/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "lingma", name: "Lingma", project: &[".lingma/skills"], user: &["~/.lingma/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "loaf", name: "Loaf", project: &[".agents/skills"], user: &["~/.agents/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "mcpjam", name: "MCPJam", project: &[".mcpjam/skills"], user: &["~/.mcpjam/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "minimax-code", name: "MiniMax Code", project: &[".minimax/skills"], user: &["~/.minimax/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "mistral-vibe", name: "Mistral Vibe", project: &[".vibe/skills"], user: &["${VIBE_HOME:-~/.vibe}/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "moxby", name: "Moxby", project: &[".moxby/skills"], user: &["~/.moxby/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "mux", name: "Mux", project: &[".mux/skills"], user: &["~/.mux/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "neovate", name: "Neovate", project: &[".neovate/skills"], user: &["~/.neovate/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "ona", name: "Ona", project: &[".ona/skills"], user: &["~/.ona/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "openclaw", name: "OpenClaw", project: &["skills"], user: &["~/.openclaw/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "opencode", name: "OpenCode", project: &[".opencode/skills", ".opencode/skill", ".claude/skills", ".agents/skills"], user: &["${XDG_CONFIG_HOME:-~/.config}/opencode/skills", "~/.claude/skills", "~/.agents/skills"], admin: &[], ancestors: true, depth: 6, first: First::Project },
    Client { id: "openhands", name: "OpenHands", project: &[".openhands/skills"], user: &["~/.openhands/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "pi", name: "Pi", project: &[".agents/skills"], user: &["~/.agents/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "pochi", name: "Pochi", project: &[".pochi/skills"], user: &["~/.pochi/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "posit-assistant", name: "Posit Assistant", project: &[".posit/assistant/skills"], user: &["~/.posit/assistant/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "promptscript", name: "PromptScript", project: &[".agents/skills"], user: &[], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "qoder", name: "Qoder", project: &[".qoder/skills"], user: &["~/.qoder/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "qoder-cn", name: "Qoder CN", project: &[".qoder/skills"], user: &["~/.qoder-cn/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "qwen-code", name: "Qwen Code", project: &[".qwen/skills"], user: &["~/.qwen/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "reasonix", name: "Reasonix", project: &[".reasonix/skills"], user: &["~/.reasonix/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "replit", name: "Replit", project: &[".agents/skills"], user: &["${XDG_CONFIG_HOME:-~/.config}/agents/skills", "~/.agents/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "roo", name: "Roo Code", project: &[".roo/skills"], user: &["~/.roo/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "rovodev", name: "Rovo Dev", project: &[".rovodev/skills"], user: &["~/.rovodev/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "sarvam-code", name: "Sarvam Code", project: &[".agents/skills"], user: &["~/.agents/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "tabnine-cli", name: "Tabnine CLI", project: &[".tabnine/agent/skills"], user: &["~/.tabnine/agent/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "terramind", name: "Terramind", project: &[".terramind/skills"], user: &["~/.terramind/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "tinycloud", name: "Tinycloud", project: &[".tinycloud/skills"], user: &["~/.tinycloud/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "trae", name: "Trae", project: &[".trae/skills"], user: &["~/.trae/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "trae-cn", name: "Trae CN", project: &[".trae/skills"], user: &["~/.trae-cn/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "universal", name: "Universal", project: &[".agents/skills"], user: &["${XDG_CONFIG_HOME:-~/.config}/agents/skills", "~/.agents/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "warp", name: "Warp", project: &[".agents/skills"], user: &["~/.agents/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "windsurf", name: "Windsurf", project: &[".windsurf/skills"], user: &["~/.codeium/windsurf/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "zcode", name: "ZCode", project: &[".zcode/skills"], user: &["~/.zcode/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "zed", name: "Zed", project: &[".agents/skills"], user: &["~/.agents/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "zencoder", name: "Zencoder", project: &[".zencoder/skills"], user: &["~/.zencoder/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
    Client { id: "zenflow", name: "Zenflow", project: &[".zencoder/skills"], user: &["~/.zencoder/skills"], admin: &[], ancestors: false, depth: 6, first: First::Project },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_sorted_and_agree() {
        assert!(DOT_FOLDERS.is_sorted());
        assert!(CLIENTS.is_sorted_by_key(|client| client.id));
        for client in CLIENTS {
            for path in client.project.iter().filter(|path| path.starts_with('.')) {
                let top = path.split('/').next().unwrap();
                assert!(DOT_FOLDERS.binary_search(&top).is_ok(), "{top} of {} is not walked", client.id);
            }
        }
    }

    #[test]
    fn precedence_is_the_clients_own() {
        let environment = Environment::of([("HOME", "/home/me"), ("CODEX_HOME", " ")]);
        let paths = |id: &str| {
            let roots = client(id).unwrap().roots(Path::new("/p"), &environment);
            roots.iter().map(|root| root.path.display().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(
            paths("codex"),
            [
                "/p/.agents/skills",
                "/p/.codex/skills",
                "/home/me/.agents/skills",
                "/home/me/.codex/skills",
                "/etc/codex/skills"
            ]
        );
        assert_eq!(
            paths("claude-code"),
            ["/etc/claude-code/.claude/skills", "/home/me/.claude/skills", "/p/.claude/skills"]
        );
    }

    #[test]
    fn folders_above_count_up_to_the_repository() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("a/b");
        std::fs::create_dir_all(&deep).unwrap();
        std::fs::create_dir(folder.path().join(".git")).unwrap();
        let environment = Environment::of([("HOME", "/nowhere")]);
        let roots = common_roots(&deep, &environment);
        let shared: Vec<&Root> = roots.iter().filter(|root| root.path.ends_with(".agents/skills")).collect();
        assert_eq!(shared.len(), 4, "three folders of the project and the user's");
        assert_eq!(shared[0].path, deep.join(".agents/skills"));
        assert!(shared[0].readers.contains(&"codex") && shared[0].readers.contains(&"cursor"));
        assert!(
            roots.iter().position(|r| r.scope == Scope::User)
                > roots.iter().rposition(|r| r.scope == Scope::Project)
        );
    }
}
