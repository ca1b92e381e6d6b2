//! Blocks of code: each says by its language how it is tested, and every command and option in it exists.
//!
//! | language | how it is tested |
//! | --- | --- |
//! | `console` | run, and compared with the output (`transcripts.rs`) |
//! | `rust` | compiled, as documentation tests of the library (`pages` in its `lib.rs`) |
//! | `toml` | read as a `prowess.toml` |
//! | `json` | parsed, as one value or as one value a line |
//! | `sh` | parsed by the shell, and its commands and options must exist; it is not run, because it needs a network, a clone or another program, or does not end |
//! | `js` | run by the tests of the package that it imports (`packages/web/tests/pages.mjs`) |
//! | `python` | run by the tests of the package (`packages/python/tests/test_package.py`) |
//! | `yaml`, `text` | not tested |

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use prowess::Config;
use serde_json::Value;

use super::{Page, pages, pages_below};
use crate::Place;

#[test]
fn every_block_says_how_it_is_tested() {
    const KNOWN: [&str; 10] =
        ["console", "rust", "rust,no_run", "toml", "json", "sh", "js", "python", "yaml", "text"];
    for page in pages() {
        for block in page.parts().0 {
            assert!(KNOWN.contains(&block.language), "{}: ```{}", page.name(), block.language);
        }
    }
}

#[test]
fn every_block_of_data_can_be_read() {
    for page in pages().iter().filter(|page| !page.path.starts_with("docs/reference")) {
        for block in page.parts().0 {
            let text = block.text();
            let fault = match block.language {
                "toml" => {
                    Config::parse(&text, Path::new("/p/prowess.toml")).err().map(|error| error.to_string())
                }
                "json" if serde_json::from_str::<Value>(&text).is_ok() => None,
                "json" => text
                    .lines()
                    .find_map(|line| serde_json::from_str::<Value>(line).err())
                    .map(|e| e.to_string()),
                "sh" => {
                    let said = Command::new("sh").args(["-n", "-c", &text]).output().unwrap();
                    (!said.status.success()).then(|| String::from_utf8(said.stderr).unwrap())
                }
                _ => None,
            };
            assert_eq!(fault, None, "{}:\n{text}", page.name());
        }
    }
}

/// The commands in a text, each as its words from `prowess` on.
fn commands(text: &str) -> Vec<Vec<&str>> {
    let mut commands = Vec::new();
    let text = text.split(" # ").next().unwrap();
    let mut words = text.split_whitespace().peekable();
    let mut before = "";
    while let Some(word) = words.next() {
        // `cargo test -p prowess` names the crate.
        let is_program = ["prowess", "$prowess", "target/release/prowess"].contains(&word) && before != "-p";
        before = word;
        if is_program {
            let mut command = Vec::new();
            while let Some(word) =
                words.next_if(|word| !["|", "||", "&&", ">", ">>", "<", ";"].contains(word))
            {
                command.push(word);
            }
            commands.push(command);
        }
    }
    commands
}

/// The code of a page: what is in backticks, and the lines of shell blocks.
fn code(page: &Page) -> Vec<String> {
    let (blocks, prose) = page.parts();
    let spans = prose.into_iter().flat_map(|line| line.split('`').skip(1).step_by(2)).map(str::to_owned);
    let spans = spans.filter(|span| span.starts_with("prowess "));
    let lines =
        blocks.into_iter().filter(|block| ["sh", "console"].contains(&block.language)).flat_map(|block| {
            let is_console = block.language == "console";
            let command = move |line: &&str| !is_console || line.starts_with("$ ");
            block.lines.into_iter().filter(command).map(str::to_owned).collect::<Vec<_>>()
        });
    spans.chain(lines).collect()
}

#[test]
fn every_command_and_option_that_a_page_names_exists() {
    let place = Place::with(&[]);
    let help = |args: &[&str]| String::from_utf8(place.output(args).stdout).unwrap();
    let options = |help: &str| -> BTreeSet<String> {
        let words = help.split(|c: char| c.is_whitespace() || "[]<>,=`()|'\"".contains(c));
        words
            .filter(|word| word.starts_with("--"))
            .map(|word| word.trim_end_matches(['.', ':', ';']).to_owned())
            .collect()
    };
    let mut known: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let all = help(&["--help"]);
    let names: BTreeSet<&str> = super::reference::command_names(&all).into_iter().collect();
    let (mut wrong, mut found) = (Vec::new(), 0);
    let mut read = pages();
    read.retain(|page| page.path != Path::new("CHANGELOG.md") && !page.path.starts_with("docs/reference"));
    read.extend(pages_below("crates/prowess/skills"));
    for page in &read {
        for line in code(page) {
            for command in commands(&line) {
                let mut words = command.into_iter().skip_while(|word| word.starts_with("--"));
                let Some(name) = words.next() else { continue };
                let name = name.trim_end_matches([',', '.', ';', ')', '"', '\'']);
                // A placeholder, such as COMMAND, or the name of the program alone.
                if !name.starts_with(|c: char| c.is_ascii_lowercase()) || name == "help" {
                    continue;
                }
                let Some(name) = names.get(name).copied() else {
                    wrong.push(format!("{}: no such command: {line}", page.name()));
                    continue;
                };
                found += 1;
                let known = known.entry(name).or_insert_with(|| {
                    let own = help(&[name, "--help"]);
                    let inner = super::reference::inner_commands(&own).into_iter();
                    let inner = inner.flat_map(|inner| options(&help(&[name, inner, "--help"])));
                    options(&own).into_iter().chain(inner).collect()
                });
                for option in options(&words.collect::<Vec<_>>().join(" ")) {
                    if option != "--" && !known.contains(&option) {
                        wrong.push(format!("{}: {name} has no option {option}: {line}", page.name()));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(found > 100, "{found}");
}
