//! What a tool call costs: without input or output, and with the reading of a skill from disk.
//!
//! `cargo bench -p prowess --bench session` makes its own skills, 1 000 unless a number is given, and prints CPU time.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::cast_precision_loss,
    reason = "a program that measures and prints"
)]

use std::fmt::Write as _;
use std::fs;
use std::hint::black_box;
use std::path::Path;

use prowess::drive::{Performer, drive};
use prowess::select::All;
use prowess::session::{Options, Outcome, Policy, Session, Step, ToolCall, ToolResult};
use prowess::{DirSource, Registry, ScanOptions};
use serde_json::{Value, json};

/// The CPU time of this thread so far, in microseconds.
fn cpu() -> f64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split_whitespace().next().unwrap().parse::<f64>().unwrap() / 1e3
}

/// The least CPU time of one run, over some rounds.
fn best(runs: usize, mut run: impl FnMut()) -> f64 {
    (0..15)
        .map(|_| {
            let start = cpu();
            (0..runs).for_each(|_| run());
            (cpu() - start) / runs as f64
        })
        .fold(f64::MAX, f64::min)
}

fn skill(folder: &Path, name: &str, bytes: usize) {
    let mut text = format!(
        "---\nname: {name}\ndescription: Does what {name} is for, whenever it is asked for.\nlicense: MIT\n\
         allowed-tools: Bash(git:*) Read\n---\n# {name}\n\n"
    );
    let mut line = 0;
    while text.len() < bytes {
        let _ = writeln!(
            text,
            "{line}. Look at `file-{line}.md`, then do the next thing that <b>it</b> asks for."
        );
        line += 1;
    }
    fs::create_dir_all(folder.join(name).join("references")).unwrap();
    fs::write(folder.join(name).join("SKILL.md"), text).unwrap();
    fs::write(folder.join(name).join("references/more.md"), "more\n").unwrap();
}

fn call(tool: &str, arguments: &Value) -> ToolCall {
    ToolCall::new(tool, arguments.clone())
}

fn main() {
    let count: usize = std::env::args().find_map(|argument| argument.parse().ok()).unwrap_or(1_000);
    let folder = std::env::temp_dir().join(format!("prowess-bench-session-{}", std::process::id()));
    for number in 0..count {
        skill(&folder, &format!("skill-{number:04}"), 400);
    }
    skill(&folder, "large", 20_000);
    let mut registry = Registry::new();
    registry.add(DirSource::new(&folder, ScanOptions::unbounded()));
    registry.refresh().unwrap();
    println!("{} skills are visible; CPU time of one call, the best of 15 rounds", registry.catalog().len());
    let session = || Session::new("bench", registry.catalog(), Policy::default(), Options::default());
    let filtered = Policy::default().with_filter("**/skill-0*".parse().unwrap());

    let load = json!({"name": "skill-0500"});
    for (label, policy) in
        [("load, until it needs a file", Policy::default()), ("the same with a filter", filtered)]
    {
        let mut session = Session::new("bench", registry.catalog(), policy, Options::default());
        // The ticket is taken back, so that what waits does not grow.
        let time = best(20_000, || {
            let Step::Need(ticket, _) = session.call(call("load_skill", &load)) else { unreachable!() };
            let _ = black_box(session.resume(ticket, Outcome::Declined));
        });
        println!("{label:36} {time:8.2} µs, its refusal included");
    }
    let mut idle = session();
    let mut measure = |label: &str, tool: &str, arguments: Value| {
        let runs = if tool == "list_skills" { 500 } else { 20_000 };
        let time = best(runs, || _ = black_box(idle.call(call(tool, &arguments))));
        println!("{label:36} {time:8.2} µs");
    };
    measure("unload what is not active", "unload_skill", json!({"name": "skill-0500"}));
    measure("a path that leads out", "read_skill_resource", json!({"name": "skill-0500", "path": "../x"}));
    measure("a wrong argument", "load_skill", json!({"nme": "skill-0500"}));
    measure("an unknown tool", "lod_skill", json!({"name": "skill-0500"}));
    measure("an unknown skill, with suggestions", "load_skill", json!({"name": "skil-0500"}));
    measure("list, the first 100 skills", "list_skills", json!({}));

    let performer = Performer::new(&registry, &All);
    let mut active = session();
    let answer = |session: &mut Session, arguments: &Value| -> ToolResult {
        drive(session, &performer, call("load_skill", arguments))
    };
    let large = json!({"name": "large"});
    assert!(answer(&mut active, &large).text.len() > 20_000);
    let time = best(2_000, || _ = black_box(answer(&mut active, &large)));
    println!("{:36} {time:8.2} µs", "load 20 KB from disk, files listed");
    let plain = Options::default().with_hint_files(false);
    let mut active = Session::new("bench", registry.catalog(), Policy::default(), plain);
    let time = best(2_000, || _ = black_box(answer(&mut active, &large)));
    println!("{:36} {time:8.2} µs", "load 20 KB from disk");
    let file = folder.join("large/SKILL.md");
    let time = best(2_000, || _ = black_box(fs::read(&file).unwrap()));
    println!("{:36} {time:8.2} µs", "a bare read of that file");
    let _ = fs::remove_dir_all(folder);
}
