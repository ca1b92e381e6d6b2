//! One operation a number of times, for counting instructions: `benches/instructions` runs it under callgrind.
//!
//! `count WHAT N` makes its own skills in a temporary folder, then does `WHAT` N times: `discover`, `discover-warm`,
//! `select`, `call` (a tool call without input or output) or `load` (a tool call that reads from disk). With N = 0 only
//! the preparation runs, so the difference of two runs is the cost of the operations.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a program that measures and prints"
)]

use std::fmt::Write as _;
use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use prowess::drive::{Performer, drive};
use prowess::search::SearchIndex;
use prowess::select::All;
use prowess::session::{Options, Outcome, Policy, Session, Step, ToolCall};
use prowess::{DirSource, Registry, ScanOptions};
use serde_json::json;

/// How many skills there are; enough that the cost of one skill outweighs that of a listing.
const SKILLS: usize = 400;

const WORDS: [&str; 16] = [
    "invoice",
    "deploy",
    "review",
    "translate",
    "spreadsheet",
    "meeting",
    "database",
    "migrate",
    "diagram",
    "release",
    "customer",
    "security",
    "image",
    "parse",
    "schedule",
    "report",
];

fn word(at: usize) -> &'static str {
    WORDS.get(at % WORDS.len()).copied().unwrap_or_default()
}

fn make_skills(folder: &Path) {
    for number in 0..SKILLS {
        let name = format!("skill-{number:04}");
        let (first, second, third) = (word(number), word(number / 3 + 5), word(number / 7 + 11));
        let mut text = format!(
            "---\nname: {name}\ndescription: Helps to {first} a {second}. Use when the {third} is due.\nlicense: MIT\n\
             allowed-tools: Bash(git:*) Read\n---\n# {name}\n\n"
        );
        for line in 0..20 {
            let _ = writeln!(
                text,
                "{line}. Look at `file-{line}.md`, then {} the <b>{}</b>.",
                word(line),
                word(number + line)
            );
        }
        fs::create_dir_all(folder.join(&name)).unwrap();
        fs::write(folder.join(&name).join("SKILL.md"), text).unwrap();
    }
}

fn discover(folder: &Path, cache: Option<PathBuf>) -> Registry {
    let mut registry = Registry::new();
    registry.add(DirSource::new(folder, ScanOptions::unbounded()).with_cache(cache));
    registry.refresh().unwrap();
    registry
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| argument != "--bench").collect();
    let (Some(what), Some(times)) =
        (arguments.first(), arguments.get(1).and_then(|times| times.parse::<usize>().ok()))
    else {
        println!("usage: count WHAT N, as benches/instructions does");
        return;
    };
    let made = tempfile::tempdir().unwrap();
    let folder = made.path().join("skills");
    make_skills(&folder);
    let cache = Some(made.path().join("index"));
    // Files that changed a moment ago are not taken from an index.
    thread::sleep(Duration::from_secs(3));
    let registry = discover(&folder, cache.clone());
    match what.as_str() {
        "discover" => (0..times).for_each(|_| drop(black_box(discover(&folder, None)))),
        "discover-warm" => (0..times).for_each(|_| drop(black_box(discover(&folder, cache.clone())))),
        "select" => {
            let index = SearchIndex::open(&registry, None);
            for at in 0..times {
                let query =
                    format!("please {} the {} before the {}", word(at), word(at / 2 + 3), word(at / 5 + 9));
                black_box(index.selector().ranking(&query, 5, None));
            }
        }
        "call" => {
            let mut session =
                Session::new("count", registry.catalog(), Policy::default(), Options::default());
            for _ in 0..times {
                let call = ToolCall::new("load_skill", json!({"name": "skill-0200"}));
                let Step::Need(ticket, _) = session.call(call) else { unreachable!() };
                let _ = black_box(session.resume(ticket, Outcome::Declined));
            }
        }
        "load" => {
            let performer = Performer::new(&registry, &All);
            let mut session =
                Session::new("count", registry.catalog(), Policy::default(), Options::default());
            for _ in 0..times {
                let call = ToolCall::new("load_skill", json!({"name": "skill-0200"}));
                black_box(drive(&mut session, &performer, call));
            }
        }
        other => println!("no such operation: {other}"),
    }
}
