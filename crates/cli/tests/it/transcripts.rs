//! What every command writes, for people and with `--json`, as files in `transcripts/`; `PROWESS_UPDATE_DOCS=1` rewrites them.
//! `watch` does not end by itself and has tests of its own.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::every_command::{CALLS, place};
use crate::{docs, shelf};

/// The most lines of one output that are kept: lists of rules and manual pages are compared elsewhere.
const MAX_LINES: usize = 80;

#[test]
fn every_command_writes_what_its_transcript_shows() {
    let mut found: BTreeMap<&str, String> = BTreeMap::new();
    for json in [false, true] {
        // Each form has a place of its own, because some commands change it.
        let place = place();
        for (args, ..) in CALLS {
            let mut args = args.to_vec();
            if json {
                args.push("--json");
            }
            let text = written(&place.transcript(&shelf::output(&place, &args)));
            let name = args[0].trim_start_matches('-');
            let _ = writeln!(found.entry(name).or_default(), "$ prowess {}\n{text}", args.join(" "));
        }
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/transcripts");
    if docs::updating() {
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).unwrap();
        for (name, text) in &found {
            fs::write(folder.join(format!("{name}.txt")), text).unwrap();
        }
    }
    for (name, text) in &found {
        let kept = fs::read_to_string(folder.join(format!("{name}.txt"))).unwrap_or_default();
        assert!(
            kept == *text,
            "tests/it/transcripts/{name}.txt is out of date; run PROWESS_UPDATE_DOCS=1 cargo test -p prowess-cli --test it \
             transcripts, and read the difference:\n{text}"
        );
    }
    assert_eq!(fs::read_dir(&folder).unwrap().count(), found.len(), "a transcript of no command is left");
}

/// An output without what differs between machines and versions, with JSON in lines, and cut.
fn written(transcript: &str) -> String {
    let lines = transcript.lines().flat_map(|line| match serde_json::from_str::<Value>(line) {
        Ok(value @ Value::Object(_)) => {
            let pretty = serde_json::to_string_pretty(&value).unwrap();
            pretty.lines().map(str::to_owned).collect()
        }
        _ => vec![line.to_owned()],
    });
    let lines: Vec<String> =
        lines.map(|line| timeless(&line).replace(env!("CARGO_PKG_VERSION"), "[VERSION]")).collect();
    let mut text: String =
        lines.iter().take(MAX_LINES).map(|line| format!("{}\n", line.trim_end())).collect();
    if lines.len() > MAX_LINES {
        let _ = writeln!(text, "[{} more lines]", lines.len() - MAX_LINES);
    }
    text
}

/// A line without how long the work took.
fn timeless(line: &str) -> String {
    match line.rsplit_once(" in ") {
        Some((work, time)) if time.ends_with(" ms") || time.ends_with(" s") => format!("{work} in [TIME]"),
        _ => line.to_owned(),
    }
}
