//! Where each agent looks for skills: the table of clients, and the folders that it gives for a project and its user.

mod all;
mod execution;
pub(crate) mod meant;
mod places;
// Lists of facts are lines, not columns.
#[rustfmt::skip]
mod rows;

use std::path::{Path, PathBuf};

use prowess_core::Scope;
use prowess_core::client::{Execution, Fact, Reads, Runs};

use crate::env::Environment;
pub use all::{common_roots, installed, own_folders};
use places::Here;

/// An agent that reads skills.
///
/// Paths may begin with `~`, and with `${VARIABLE:-default}` for a folder that an environment variable moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Client {
    /// Its id, used in options.
    pub id: &'static str,
    /// Its display name.
    pub name: &'static str,
    /// The folders of a project into which skills for it are installed, relative to the root of the project.
    pub project: &'static [&'static str],
    /// The folders of a user into which skills for it are installed.
    pub user: &'static [&'static str],
    /// Folders of the machine's administrator.
    pub admin: &'static [&'static str],
    /// The maximum depth below a root.
    pub depth: usize,
    /// Where it looks and how it reads, if that was compared with the client itself. Without it, the client is assumed
    /// to look in the folders above and to read as Prowess does.
    pub reads: Option<&'static Reads>,
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
    /// The folder of the project that it is in, if that may be another than the project of the current folder.
    pub project: Option<PathBuf>,
}

/// The client with this id.
pub fn client(id: &str) -> Option<&'static Client> {
    CLIENTS.iter().find(|client| client.id == id)
}

/// The clients that are known to act on a field of the frontmatter that the specification does not have, by their rows.
pub fn acting_on(field: &str) -> Vec<&'static Client> {
    let facts = || Fact::ALL.iter().filter(|fact| fact.fields().contains(&field));
    let acts = |reads: &Reads| facts().any(|fact| reads.hides.has(*fact) || reads.refuses.has(*fact));
    CLIENTS.iter().filter(|client| client.reads.is_some_and(acts)).collect()
}

/// The clients that are known to run something of a SKILL.md, such as its hooks.
pub fn running(what: fn(&Execution) -> Runs) -> Vec<&'static Client> {
    CLIENTS.iter().filter(|client| what(&client.reads().runs).is_known_to()).collect()
}

impl Client {
    /// How it reads. If only its folders are known, it is assumed to read as Prowess does.
    pub fn reads(&self) -> Reads {
        match self.reads {
            Some(reads) => *reads,
            None => Reads { depth: u16::try_from(self.depth).unwrap_or(u16::MAX), ..Reads::UNKNOWN },
        }
    }

    /// The folders of the user that it looks into.
    pub fn user_folders(&self) -> &'static [&'static str] {
        self.reads.map_or(self.user, |reads| reads.user)
    }

    /// The folders of a project that it looks into.
    pub(crate) fn project_folders(&self) -> Vec<&'static str> {
        match self.reads {
            Some(reads) => reads.project.iter().map(|folder| folder.path).collect(),
            None => self.project.to_vec(),
        }
    }

    /// The folders it looks into from a folder, in the order of precedence.
    pub fn roots(&self, from: &Path, environment: &Environment) -> Vec<Root> {
        self.roots_from(&Here::new(from, environment))
    }

    fn roots_from(&self, here: &Here<'_>) -> Vec<Root> {
        if let Some(reads) = self.reads {
            return places::roots(self.id, reads, here);
        }
        let root =
            |path, scope| Root { path, scope, readers: vec![self.id], depth: self.depth, project: None };
        let own = self.user.iter().chain(self.admin).filter_map(|path| here.environment.expand(path));
        let own: Vec<PathBuf> = own.collect();
        let project = self.project.iter().map(|path| here.place(here.from, path));
        let project = project.filter(|(path, _)| !own.contains(path));
        let project: Vec<Root> = project.map(|(path, scope)| root(path, scope)).collect();
        project.into_iter().chain(own.into_iter().map(|path| root(path, Scope::User))).collect()
    }
}

/// The folders that each of these clients looks into from a folder, in the order of precedence.
pub(crate) fn roots_of(
    clients: &[&'static Client],
    from: &Path,
    environment: &Environment,
) -> Vec<(&'static Client, Vec<Root>)> {
    let here = Here::new(from, environment);
    clients.iter().map(|client| (*client, client.roots_from(&here))).collect()
}

/// The project of a folder: the root of its git repository, or the folder itself.
pub fn project(from: &Path) -> &Path {
    places::repository(from).unwrap_or(from)
}

/// The defaults of the rows.
const USUAL: Client = Client { id: "", name: "", project: &[], user: &[], admin: &[], depth: 6, reads: None };

/// The clients, sorted by name.
#[rustfmt::skip]
pub const CLIENTS: &[Client] = &[
    Client { id: "adal", name: "AdaL", project: &[".adal/skills"], user: &["~/.adal/skills"], ..USUAL },
    Client { id: "aider-desk", name: "AiderDesk", project: &[".aider-desk/skills"], user: &["~/.aider-desk/skills"], ..USUAL },
    Client { id: "amp", name: "Amp", project: &[".agents/skills"], user: &["~/.config/agents/skills", "~/.agents/skills"], reads: Some(&rows::AMP), ..USUAL },
    Client { id: "antigravity", name: "Antigravity", project: &[".agents/skills"], user: &["~/.gemini/antigravity/skills", "~/.agents/skills"], ..USUAL },
    Client { id: "antigravity-cli", name: "Antigravity CLI", project: &[".agents/skills"], user: &["~/.gemini/antigravity-cli/skills", "~/.agents/skills"], ..USUAL },
    Client { id: "astrbot", name: "AstrBot", project: &["data/skills"], user: &["~/.astrbot/data/skills"], ..USUAL },
    Client { id: "augment", name: "Augment", project: &[".augment/skills"], user: &["~/.augment/skills"], reads: Some(&rows::AUGMENT), ..USUAL },
    Client { id: "autohand-code", name: "Autohand Code CLI", project: &[".autohand/skills"], user: &["${AUTOHAND_HOME:-~/.autohand}/skills"], ..USUAL },
    Client { id: "bob", name: "IBM Bob", project: &[".bob/skills"], user: &["~/.bob/skills"], ..USUAL },
    Client { id: "claude-code", name: "Claude Code", project: &[".claude/skills"], user: &["${CLAUDE_CONFIG_DIR:-~/.claude}/skills"], admin: &["/etc/claude-code/.claude/skills"], depth: 1, reads: Some(&rows::CLAUDE_CODE) },
    Client { id: "cline", name: "Cline", project: &[".agents/skills"], user: &["~/.agents/skills"], reads: Some(&rows::CLINE), ..USUAL },
    Client { id: "codearts-agent", name: "CodeArts Agent", project: &[".codeartsdoer/skills"], user: &["~/.codeartsdoer/skills"], ..USUAL },
    Client { id: "codebuddy", name: "CodeBuddy", project: &[".codebuddy/skills"], user: &["~/.codebuddy/skills"], ..USUAL },
    Client { id: "codemaker", name: "Codemaker", project: &[".codemaker/skills"], user: &["~/.codemaker/skills"], ..USUAL },
    Client { id: "codestudio", name: "Code Studio", project: &[".codestudio/skills"], user: &["~/.codestudio/skills"], ..USUAL },
    Client { id: "codex", name: "Codex", project: &[".agents/skills", ".codex/skills"], user: &["~/.agents/skills", "${CODEX_HOME:-~/.codex}/skills"], admin: &["/etc/codex/skills"], reads: Some(&rows::CODEX), ..USUAL },
    Client { id: "command-code", name: "Command Code", project: &[".commandcode/skills"], user: &["~/.commandcode/skills"], ..USUAL },
    Client { id: "continue", name: "Continue", project: &[".continue/skills"], user: &["~/.continue/skills"], reads: Some(&rows::CONTINUE), ..USUAL },
    Client { id: "cortex", name: "Cortex Code", project: &[".cortex/skills"], user: &["~/.snowflake/cortex/skills"], ..USUAL },
    Client { id: "crush", name: "Crush", project: &[".crush/skills"], user: &["${XDG_CONFIG_HOME:-~/.config}/crush/skills"], ..USUAL },
    Client { id: "cursor", name: "Cursor", project: &[".agents/skills", ".cursor/skills", ".claude/skills", ".codex/skills"], user: &["~/.agents/skills", "~/.cursor/skills", "~/.claude/skills", "~/.codex/skills"], ..USUAL },
    Client { id: "deepagents", name: "Deep Agents", project: &[".agents/skills"], user: &["~/.deepagents/agent/skills", "~/.agents/skills"], reads: Some(&rows::DEEPAGENTS), ..USUAL },
    Client { id: "devin", name: "Devin for Terminal", project: &[".devin/skills"], user: &["${XDG_CONFIG_HOME:-~/.config}/devin/skills"], ..USUAL },
    Client { id: "dexto", name: "Dexto", project: &[".agents/skills"], user: &["~/.agents/skills"], ..USUAL },
    Client { id: "droid", name: "Droid", project: &[".agents/skills"], user: &["~/.factory/skills", "~/.agents/skills"], reads: Some(&rows::DROID), ..USUAL },
    Client { id: "eve", name: "Eve", project: &["agent/skills"], user: &[], ..USUAL },
    Client { id: "firebender", name: "Firebender", project: &[".agents/skills"], user: &["~/.firebender/skills", "~/.agents/skills"], ..USUAL },
    Client { id: "forgecode", name: "ForgeCode", project: &[".forge/skills"], user: &["~/.forge/skills"], ..USUAL },
    Client { id: "fx", name: "fx", project: &[".agents/skills"], user: &["~/.agents/skills"], ..USUAL },
    Client { id: "gemini-cli", name: "Gemini CLI", project: &[".agents/skills", ".gemini/skills"], user: &["~/.agents/skills", "~/.gemini/skills"], depth: 1, reads: Some(&rows::GEMINI_CLI), ..USUAL },
    Client { id: "github-copilot", name: "GitHub Copilot", project: &[".github/skills", ".claude/skills", ".agents/skills"], user: &["~/.copilot/skills", "~/.claude/skills", "~/.agents/skills"], depth: 1, reads: Some(&rows::GITHUB_COPILOT), ..USUAL },
    Client { id: "goose", name: "Goose", project: &[".goose/skills"], user: &["${XDG_CONFIG_HOME:-~/.config}/goose/skills"], reads: Some(&rows::GOOSE), ..USUAL },
    Client { id: "grok", name: "Grok Build", project: &[".grok/skills"], user: &["${GROK_HOME:-~/.grok}/skills"], reads: Some(&rows::GROK), ..USUAL },
    Client { id: "hermes-agent", name: "Hermes Agent", project: &[".hermes/skills"], user: &["${HERMES_HOME:-~/.hermes}/skills"], reads: Some(&rows::HERMES_AGENT), ..USUAL },
    Client { id: "iflow-cli", name: "iFlow CLI", project: &[".iflow/skills"], user: &["~/.iflow/skills"], ..USUAL },
    Client { id: "inference-sh", name: "inference.sh", project: &[".inferencesh/skills"], user: &["~/.inferencesh/skills"], ..USUAL },
    Client { id: "jazz", name: "Jazz", project: &[".jazz/skills"], user: &["~/.jazz/skills"], ..USUAL },
    Client { id: "junie", name: "Junie", project: &[".junie/skills"], user: &["~/.junie/skills"], ..USUAL },
    Client { id: "kilo", name: "Kilo Code", project: &[".agents/skills"], user: &["~/.kilo/skills", "~/.agents/skills"], reads: Some(&rows::KILO), ..USUAL },
    Client { id: "kimchi", name: "Kimchi", project: &[".kimchi/skills"], user: &["~/.config/kimchi/harness/skills"], ..USUAL },
    Client { id: "kimi-code-cli", name: "Kimi Code CLI", project: &[".agents/skills"], user: &["~/.agents/skills"], reads: Some(&rows::KIMI_CODE_CLI), ..USUAL },
    Client { id: "kiro-cli", name: "Kiro CLI", project: &[".kiro/skills"], user: &["~/.kiro/skills"], ..USUAL },
    Client { id: "kode", name: "Kode", project: &[".kode/skills"], user: &["~/.kode/skills"], ..USUAL },
    Client { id: "lingma", name: "Lingma", project: &[".lingma/skills"], user: &["~/.lingma/skills"], ..USUAL },
    Client { id: "loaf", name: "Loaf", project: &[".agents/skills"], user: &["~/.agents/skills"], ..USUAL },
    Client { id: "mcpjam", name: "MCPJam", project: &[".mcpjam/skills"], user: &["~/.mcpjam/skills"], ..USUAL },
    Client { id: "minimax-code", name: "MiniMax Code", project: &[".minimax/skills"], user: &["~/.minimax/skills"], ..USUAL },
    Client { id: "mistral-vibe", name: "Mistral Vibe", project: &[".vibe/skills"], user: &["${VIBE_HOME:-~/.vibe}/skills"], reads: Some(&rows::MISTRAL_VIBE), ..USUAL },
    Client { id: "moxby", name: "Moxby", project: &[".moxby/skills"], user: &["~/.moxby/skills"], ..USUAL },
    Client { id: "mux", name: "Mux", project: &[".mux/skills"], user: &["~/.mux/skills"], ..USUAL },
    Client { id: "neovate", name: "Neovate", project: &[".neovate/skills"], user: &["~/.neovate/skills"], ..USUAL },
    Client { id: "ona", name: "Ona", project: &[".ona/skills"], user: &["~/.ona/skills"], ..USUAL },
    Client { id: "openclaw", name: "OpenClaw", project: &["skills"], user: &["~/.openclaw/skills"], reads: Some(&rows::OPENCLAW), ..USUAL },
    Client { id: "opencode", name: "OpenCode", project: &[".opencode/skills", ".opencode/skill", ".claude/skills", ".agents/skills"], user: &["${XDG_CONFIG_HOME:-~/.config}/opencode/skills", "~/.claude/skills", "~/.agents/skills"], reads: Some(&rows::OPENCODE), ..USUAL },
    Client { id: "openhands", name: "OpenHands", project: &[".openhands/skills"], user: &["~/.openhands/skills"], reads: Some(&rows::OPENHANDS), ..USUAL },
    Client { id: "pi", name: "Pi", project: &[".agents/skills"], user: &["~/.agents/skills"], reads: Some(&rows::PI), ..USUAL },
    Client { id: "pochi", name: "Pochi", project: &[".pochi/skills"], user: &["~/.pochi/skills"], ..USUAL },
    Client { id: "posit-assistant", name: "Posit Assistant", project: &[".posit/assistant/skills"], user: &["~/.posit/assistant/skills"], ..USUAL },
    Client { id: "promptscript", name: "PromptScript", project: &[".agents/skills"], user: &[], ..USUAL },
    Client { id: "qoder", name: "Qoder", project: &[".qoder/skills"], user: &["~/.qoder/skills"], reads: Some(&rows::QODER), ..USUAL },
    Client { id: "qoder-cn", name: "Qoder CN", project: &[".qoder/skills"], user: &["~/.qoder-cn/skills"], ..USUAL },
    Client { id: "qwen-code", name: "Qwen Code", project: &[".qwen/skills"], user: &["~/.qwen/skills"], reads: Some(&rows::QWEN_CODE), ..USUAL },
    Client { id: "reasonix", name: "Reasonix", project: &[".reasonix/skills"], user: &["~/.reasonix/skills"], reads: Some(&rows::REASONIX), ..USUAL },
    Client { id: "replit", name: "Replit", project: &[".agents/skills"], user: &["${XDG_CONFIG_HOME:-~/.config}/agents/skills", "~/.agents/skills"], ..USUAL },
    Client { id: "roo", name: "Roo Code", project: &[".roo/skills"], user: &["~/.roo/skills"], ..USUAL },
    Client { id: "rovodev", name: "Rovo Dev", project: &[".rovodev/skills"], user: &["~/.rovodev/skills"], ..USUAL },
    Client { id: "sarvam-code", name: "Sarvam Code", project: &[".agents/skills"], user: &["~/.agents/skills"], ..USUAL },
    Client { id: "tabnine-cli", name: "Tabnine CLI", project: &[".tabnine/agent/skills"], user: &["~/.tabnine/agent/skills"], ..USUAL },
    Client { id: "terramind", name: "Terramind", project: &[".terramind/skills"], user: &["~/.terramind/skills"], ..USUAL },
    Client { id: "tinycloud", name: "Tinycloud", project: &[".tinycloud/skills"], user: &["~/.tinycloud/skills"], ..USUAL },
    Client { id: "trae", name: "Trae", project: &[".trae/skills"], user: &["~/.trae/skills"], ..USUAL },
    Client { id: "trae-cn", name: "Trae CN", project: &[".trae/skills"], user: &["~/.trae-cn/skills"], ..USUAL },
    Client { id: "universal", name: "Universal", project: &[".agents/skills"], user: &["${XDG_CONFIG_HOME:-~/.config}/agents/skills", "~/.agents/skills"], reads: Some(&rows::UNIVERSAL), ..USUAL },
    Client { id: "warp", name: "Warp", project: &[".agents/skills"], user: &["~/.agents/skills"], ..USUAL },
    Client { id: "windsurf", name: "Windsurf", project: &[".windsurf/skills"], user: &["~/.codeium/windsurf/skills"], ..USUAL },
    Client { id: "zcode", name: "ZCode", project: &[".zcode/skills"], user: &["~/.zcode/skills"], ..USUAL },
    Client { id: "zed", name: "Zed", project: &[".agents/skills"], user: &["~/.agents/skills"], ..USUAL },
    Client { id: "zencoder", name: "Zencoder", project: &[".zencoder/skills"], user: &["~/.zencoder/skills"], ..USUAL },
    Client { id: "zenflow", name: "Zenflow", project: &[".zencoder/skills"], user: &["~/.zencoder/skills"], ..USUAL },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::walk::DOT_FOLDERS;

    #[test]
    fn the_tables_are_sorted_and_agree() {
        assert!(DOT_FOLDERS.is_sorted());
        assert!(CLIENTS.is_sorted_by_key(|client| client.id));
        for client in CLIENTS {
            let paths = client.project.iter().copied().chain(client.project_folders());
            for path in paths.filter(|path| path.starts_with('.')) {
                let top = path.split('/').next().unwrap();
                assert!(DOT_FOLDERS.binary_search(&top).is_ok(), "{top} of {} is not walked", client.id);
            }
        }
    }

    #[test]
    fn the_rows_say_which_clients_act_on_a_field() {
        let ids = |field| acting_on(field).iter().map(|client| client.id).collect::<Vec<_>>();
        assert!(ids("disable-model-invocation").contains(&"claude-code"));
        assert!(!ids("disable-model-invocation").contains(&"codex"));
        assert!(ids("paths").contains(&"claude-code"));
        assert!(ids("mood").is_empty());
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
                "/home/me/.codex/skills/.system",
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

    #[test]
    fn a_client_that_was_compared_says_what_it_runs_and_how_that_is_known() {
        for client in CLIENTS.iter().filter(|client| client.reads.is_some()) {
            assert!(!client.reads().runs.evidence.is_empty(), "{}", client.id);
        }
        let ids = |what| running(what).iter().map(|client| client.id).collect::<Vec<_>>();
        assert_eq!(ids(|runs| runs.hooks), ["claude-code", "qoder", "qwen-code"]);
        assert!(ids(|runs| runs.commands).contains(&"claude-code"));
    }
}
