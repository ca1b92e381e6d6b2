//! The transcripts of the pages, run page by page from top to bottom; `PROWESS_UPDATE_DOCS=1` rewrites them.
//!
//! Each page has a home of its own, `/home/ada`, and runs in a git repository in it. A comment `<!-- $ COMMAND -->` is run
//! like a command of a transcript, but readers do not see it.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{Page, pages, top, updating};

/// The home of the user of a page, and the folder in which its commands run.
const HOME: &str = "home/ada";
const PROJECT: &str = "home/ada/project";

struct Machine {
    root: tempfile::TempDir,
}

impl Machine {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join(PROJECT).join(".git")).unwrap();
        Self { root }
    }

    /// Runs a line in a shell, and returns what it writes.
    fn run(&self, line: &str) -> (String, bool) {
        let program = Path::new(env!("CARGO_BIN_EXE_prowess")).parent().unwrap();
        let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
        let output = Command::new("sh")
            .args(["-c", &format!("exec 2>&1\n{line}")])
            .current_dir(self.root.path().join(PROJECT))
            .env_clear()
            .env("PATH", path)
            .env("HOME", self.root.path().join(HOME))
            .output()
            .unwrap();
        let root = self.root.path().to_string_lossy();
        (String::from_utf8(output.stdout).unwrap().replace(&*root, ""), output.status.success())
    }
}

/// The text with every time in milliseconds alike.
fn without_times(text: &str) -> String {
    let mut parts: Vec<String> = text.split(" ms").map(str::to_owned).collect();
    let last = parts.len() - 1;
    for part in &mut parts[..last] {
        let kept = part.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        part.truncate(kept);
    }
    parts.join("N ms")
}

/// The page with what its commands write now, and the number of commands.
fn rewritten(page: &Page) -> (String, usize) {
    let machine = Machine::new();
    let (mut text, mut commands) = (String::new(), 0);
    let (mut in_transcript, mut in_other) = (false, false);
    let mut lines = page.text.lines().peekable();
    while let Some(line) = lines.next() {
        text.push_str(line);
        text.push('\n');
        if let Some(language) = line.strip_prefix("```") {
            let is_open = in_transcript || in_other;
            in_transcript = !is_open && language == "console";
            in_other = !is_open && language != "console";
        } else if let Some(hidden) = line.strip_prefix("<!-- $ ").filter(|_| !in_other) {
            let hidden = hidden.strip_suffix(" -->").unwrap();
            let (said, fine) = machine.run(hidden);
            assert!(fine, "{}: {hidden}: {said}", page.name());
        } else if in_transcript {
            let Some(command) = line.strip_prefix("$ ") else {
                panic!("{}: a transcript begins with a command, not with: {line}", page.name());
            };
            let mut expected = String::new();
            while let Some(line) = lines.next_if(|line| !line.starts_with("$ ") && !line.starts_with("```")) {
                expected.push_str(line);
                expected.push('\n');
            }
            let (found, _) = machine.run(command);
            text.push_str(if without_times(&found) == without_times(&expected) { &expected } else { &found });
            commands += 1;
        }
    }
    (text, commands)
}

#[test]
fn every_transcript_is_what_its_commands_write() {
    let mut commands = 0;
    for page in pages() {
        let (text, number) = rewritten(&page);
        commands += number;
        if updating() && page.text != text {
            fs::write(top().join(&page.path), &text).unwrap();
        } else {
            let changed = page.text.lines().zip(text.lines()).find(|(old, new)| old != new);
            assert!(
                page.text == text,
                "{}: a transcript is out of date; run PROWESS_UPDATE_DOCS=1 cargo test -p prowess-cli --test it docs\n\
                 the first line that differs: {changed:?}",
                page.name()
            );
        }
    }
    assert!(commands >= 20, "{commands}");
}

#[test]
fn only_times_may_differ_in_a_transcript() {
    assert_eq!(without_times("resolved in 12 ms, fetched in 7 ms\n"), "resolved in N ms, fetched in N ms\n");
    assert_ne!(without_times("12 skills"), without_times("13 skills"));
    let page = Page { path: "page.md".into(), text: "```console\n$ echo a\nb\n```\n".to_owned() };
    assert_eq!(rewritten(&page), ("```console\n$ echo a\na\n```\n".to_owned(), 1));
}
