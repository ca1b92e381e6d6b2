//! Which clients run the hooks of a skill and the commands in its instructions, and how that is known.
//!
//! A "no" means that the source was read: the loader takes no `hooks`, and the text goes to the model as it is. Seen in
//! November 2026; nothing was run for it.

use prowess_core::client::Execution;
use prowess_core::client::Runs::{self, No, Sometimes, Unknown, Yes};

const fn runs(hooks: Runs, commands: Runs, evidence: &'static str) -> Execution {
    Execution { hooks, commands, evidence }
}

pub(super) const AMP: Execution = runs(Unknown, Unknown, "closed source");
pub(super) const AUGMENT: Execution =
    runs(Unknown, Unknown, "closed source; docs.augmentcode.com/cli/skills names neither");
pub(super) const CLAUDE_CODE: Execution = runs(
    Yes,
    Yes,
    "CHANGELOG.md of anthropics/claude-code: 2.1.0 adds hooks, 2.1.91 a setting that ends commands; not for skills synced from claude.ai",
);
pub(super) const CLINE: Execution =
    runs(No, No, "cline/cline at 21cb8d2525: user-instruction-config-loader.ts, runtime-commands.ts");
pub(super) const CODEX: Execution =
    runs(No, No, "openai/codex at 343074d420: codex-rs/skills/src/parser.rs, ext/skills/src/fragments.rs");
pub(super) const CONTINUE: Execution = runs(
    No,
    No,
    "package 1.5.47, and continuedev/continue at d0a3c0b626: loadMarkdownSkills.ts, tools/skills.ts",
);
pub(super) const DEEPAGENTS: Execution = runs(
    No,
    No,
    "package deepagents-code 0.1.88, and langchain-ai/deepagents at 23b83ad50: middleware/skills.py",
);
pub(super) const DROID: Execution =
    runs(Unknown, Unknown, "closed source; the fields in its documentation have neither");
pub(super) const GEMINI_CLI: Execution = runs(
    No,
    No,
    "package 0.61.0, and google-gemini/gemini-cli at 5411f113ca: skillLoader.ts, activate-skill.ts",
);
pub(super) const GITHUB_COPILOT: Execution = runs(
    Unknown,
    Unknown,
    "closed source; the fields in its documentation have neither, and github/copilot-cli issue 4088 asks for commands",
);
pub(super) const GOOSE: Execution =
    runs(No, No, "aaif-goose/goose at ca26f01d3a: crates/goose/src/skills/mod.rs, skills/arguments.rs");
pub(super) const GROK: Execution =
    runs(No, No, "xai-org/grok-build at 19d42e3: skills/discovery.rs, skill.rs");
pub(super) const HERMES_AGENT: Execution = runs(
    No,
    Sometimes("if skills.inline_shell is set, which it is not by default"),
    "package 0.19.0: agent/skill_preprocessing.py, hermes_cli/config.py",
);
pub(super) const KILO: Execution = runs(
    No,
    Sometimes("of the skills that it trusts"),
    "Kilo-Org/kilocode at ff74e2ea3f: kilocode/skills/inject.ts, session/prompt.ts",
);
pub(super) const KIMI_CODE_CLI: Execution =
    runs(No, No, "package 2.1.0, and MoonshotAI/kimi-code at d723cc47e: skillCatalog/parser.ts, registry.ts");
pub(super) const MISTRAL_VIBE: Execution =
    runs(No, No, "package 3.0.2: vibe/core/skills/models.py, tools/builtins/skill.py");
pub(super) const OPENCLAW: Execution = runs(No, No, "package 2026.9.6, docs/tools/skills.md");
pub(super) const OPENCODE: Execution = runs(
    No,
    Sometimes("when the user starts the skill by its name"),
    "anomalyco/opencode at d545d8fba5: command/index.ts, session/prompt.ts, tool/skill.ts",
);
pub(super) const OPENHANDS: Execution = runs(
    No,
    Sometimes("when its model invokes the skill"),
    "package openhands-sdk 1.58.0: sdk/tool/builtins/invoke_skill.py, sdk/skills/execute.py",
);
pub(super) const PI: Execution = runs(No, No, "package 0.87.1: core/skills.js, core/agent-session.js");
pub(super) const QODER: Execution =
    runs(Yes, Sometimes("after a check of permissions"), "package @qoder-ai/qodercli 1.1.52");
pub(super) const QWEN_CODE: Execution = runs(
    Sometimes("except of skills of extensions"),
    No,
    "package 0.24.4, and QwenLM/qwen-code at db0519563d: skill-manager.ts, skill-load.ts",
);
pub(super) const REASONIX: Execution =
    runs(No, No, "esengine/DeepSeek-Reasonix at 06d49ec: internal/skill/skill.go, tools.go");
pub(super) const UNIVERSAL: Execution = runs(Unknown, Unknown, "any agent that reads .agents/skills");
