//! The generated reference pages: `PROWESS_UPDATE_DOCS=1` writes them, otherwise they must be current.

use std::fmt::Write as _;
use std::path::Path;

use prowess::Level;
use prowess::finding::Preset;

use crate::Place;

fn compare(page: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference").join(page);
    if std::env::var_os("PROWESS_UPDATE_DOCS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == text,
        "docs/reference/{page} is out of date: run PROWESS_UPDATE_DOCS=1 cargo test --workspace"
    );
}

#[test]
fn the_page_of_rules_is_current() {
    let mut text = String::from(
        "# Rules\n\nThis page is generated from the table of rules; `PROWESS_UPDATE_DOCS=1 cargo test --workspace` \
         writes it.\n\nA rule marked with * keeps a skill from loading under every profile, and its level cannot \
         be lowered.\n\n| rule | what is wrong |",
    );
    for preset in Preset::ALL {
        let _ = write!(text, " `{}` |", preset.name());
    }
    let _ = writeln!(text, "\n| --- | --- |{}", " --- |".repeat(Preset::ALL.len()));
    for rule in prowess::check::rules() {
        let star = if rule.refuses() { " *" } else { "" };
        let _ = write!(text, "| [`{0}`](#{0}){star} | {1} |", rule.code, rule.summary.replace('|', "\\|"));
        for preset in Preset::ALL {
            let word = match rule.level(preset) {
                Level::Off => "–",
                level => level.name(),
            };
            let _ = write!(text, " {word} |");
        }
        text.push('\n');
    }
    for rule in prowess::check::rules() {
        let _ = write!(text, "\n## {}\n\n{}.\n\n{}\n", rule.code, rule.summary, rule.explanation);
    }
    compare("rules.md", &text);
}

#[test]
fn the_page_of_commands_is_current() {
    let place = Place::with(&[]);
    let help = |args: &[&str]| {
        let text = String::from_utf8(place.output(args).stdout).unwrap();
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        lines.join("\n").trim_end().to_owned()
    };
    let mut text = String::from(
        "# The command line\n\nThis page is generated from the help of the commands; \
         `PROWESS_UPDATE_DOCS=1 cargo test --workspace` writes it.\n",
    );
    let _ = write!(text, "\n## prowess\n\n```text\n{}\n```\n", help(&["--help"]));
    for command in [
        "check", "new", "show", "rule", "eval", "try", "list", "search", "prompt", "cat", "why", "trust",
        "watch", "activate", "tools", "replay", "serve",
    ] {
        let _ = write!(text, "\n## prowess {command}\n\n```text\n{}\n```\n", help(&[command, "--help"]));
    }
    compare("cli.md", &text);
}

#[test]
fn the_page_of_configurations_for_clients_is_current() {
    let place = Place::with(&[("token", "0123456789abcdef\n")]);
    let config = |args: &[&str]| String::from_utf8(place.output(args).stdout).unwrap();
    let mut text = String::from(
        "# Configurations for clients\n\nThis page is generated from the table of configurations; `PROWESS_UPDATE_DOCS=1 cargo test --workspace` \
         writes it. `prowess serve --print-config CLIENT` prints each text, with the options that were given. `TOKEN` \
         is a placeholder for the token.\n",
    );
    for client in &prowess_mcp::CLIENTS {
        let kind = if client.name == "codex" { "toml" } else { "json" };
        let start = config(&["serve", "--print-config", client.name]);
        let find = config(&[
            "serve",
            "--http",
            "127.0.0.1:7878",
            "--token-file",
            "token",
            "--print-config",
            client.name,
        ]);
        let _ = write!(
            text,
            "\n## {}\n\nIn {}.\n\n```{kind}\n{start}```\n\nA server that runs already:\n\n```{kind}\n{find}```\n",
            client.title,
            client.destination(&prowess_mcp::ServerTransport::Stdio(vec!["serve".to_owned()]))
        );
    }
    compare("mcp-clients.md", &text);
}
