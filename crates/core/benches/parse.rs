//! What reading a 4 KB SKILL.md costs beside the bare YAML events over its frontmatter, in the same run.
//!
//! `cargo bench -p prowess-core --bench parse` prints times and ratios. With `-- --count WHAT N` it only does `WHAT`
//! (`nothing`, `events`, `parse` or `skill`) N times, for counting instructions, with `--folded` for the full reader; docs/project/performance.md has the commands.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a program that measures and prints"
)]

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::Instant;

use granit_parser::Parser;
use prowess_core::{Origin, parse};

/// A skill as authors write them: six fields, four kilobytes. The ordinary one is for the narrow reader; with a folded
/// description it needs the full one.
fn sample(folded: bool) -> String {
    let text = ordinary();
    if folded { text.replace("description: Extract", "description: >-\n  Extract") } else { text }
}

fn ordinary() -> String {
    let mut text = String::from(
        "---\nname: extract-invoice-lines\ndescription: Extract line items from invoice files and check their sums against \
         the totals. Use when the user asks to read an invoice, to compare two invoices, or mentions receipts, tax \
         lines or bookkeeping exports.\nlicense: MIT\ncompatibility: Requires python3 and poppler\nmetadata:\n  author: \
         team-7\n  version: \"1.4\"\n---\n\n# Extract invoice lines\n",
    );
    let mut step = 1;
    while text.len() < 4_200 {
        let _ = write!(
            text,
            "\n## Step {step}\n\nRun the script on one page at a time and compare the sum with the total.\n\n```bash\npython3 \
             scripts/lines.py --page {step}\n```\n\n- a page without a table is skipped\n- a sum that differs is reported\n"
        );
        step += 1;
    }
    text
}

fn run(what: &str, text: &str, yaml: &str, times: usize) {
    let at = Origin::at("extract-invoice-lines/SKILL.md");
    for _ in 0..times {
        match what {
            "events" => {
                let mut parser = Parser::new_from_str(black_box(yaml));
                while let Some(event) = parser.next_event() {
                    black_box(event.unwrap());
                }
            }
            "parse" => drop(black_box(parse(black_box(text.as_bytes())))),
            "skill" => drop(black_box(parse(black_box(text.as_bytes())).skill(&at).unwrap())),
            _ => {}
        }
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|argument| argument == "--count") {
        let text = sample(arguments.iter().any(|argument| argument == "--folded"));
        let yaml = parse(text.as_bytes()).frontmatter().unwrap().to_owned();
        let times = arguments.get(at + 2).and_then(|times| times.parse().ok()).unwrap_or(1000);
        return run(arguments.get(at + 1).map_or("", String::as_str), &text, &yaml, times);
    }
    for (reader, folded) in [("narrow", false), ("full", true)] {
        let text = sample(folded);
        let yaml = parse(text.as_bytes()).frontmatter().unwrap().to_owned();
        println!(
            "{} bytes, {} of them frontmatter, {reader} reader; the best of 40 rounds",
            text.len(),
            yaml.len()
        );
        let kinds = ["events", "parse", "skill"];
        let mut best = [f64::MAX; 3];
        for _ in 0..40 {
            for (kind, best) in kinds.iter().zip(&mut best) {
                let start = Instant::now();
                run(kind, &text, &yaml, 500);
                *best = best.min(start.elapsed().as_secs_f64() / 500.0 * 1e6);
            }
        }
        let labels = ["bare granit-parser events", "parse", "parse and skill"];
        for (label, time) in labels.iter().zip(best) {
            println!("{label:28} {time:6.2} µs  {:4.2} times the events", time / best[0]);
        }
    }
}
