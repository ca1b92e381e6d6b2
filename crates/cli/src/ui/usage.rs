//! What is wrong with a command line, help and the version, as the parser of arguments says them.

use std::io::{self, Write as _};
use std::process::ExitCode;

use anstream::AutoStream;
use clap::error::{ContextKind, ContextValue};
use clap::{ColorChoice, Command};
use prowess::text::similar;

use super::{Ui, choice, clean_lines};
use crate::args::help::{self, tip};
use crate::error::{CommandError, Failure};

/// Shows help, the version, or what is wrong with the command line.
pub(crate) fn usage(error: &clap::Error, color: ColorChoice, json: bool) -> ExitCode {
    if error.use_stderr() {
        // An argument may be a file name that the shell expanded.
        let mut text = without_removing(&plain_numbers(&clean_lines(&error.render().to_string())));
        let tip = unknown_command(error)
            .and_then(|word| tip(&word).map(str::to_owned).or_else(|| similar_to(&word, error)));
        if let Some(tip) = &tip {
            // The parser only knows which words look similar.
            let lines = text.lines().filter(|line| !line.trim_start().starts_with("tip:"));
            let mut lines: Vec<&str> = lines.collect();
            lines.dedup();
            let said = format!("  tip: {tip}\n");
            lines.insert(lines.len().min(2), &said);
            text = format!("{}\n", lines.join("\n"));
        }
        let _ = io::stderr().lock().write_all(text.as_bytes());
        if json {
            let said = text.split("\n\n").next().unwrap_or(&text);
            let said: Vec<&str> = said.trim_start_matches("error: ").split_whitespace().collect();
            let help = "list the commands and their options with: prowess help";
            let failure = Failure::new(said.join(" "), tip.as_deref().unwrap_or(help));
            let _ = Ui::new(color).json(&failure.json());
        }
        return ExitCode::from(2);
    }
    let text = error.render().ansi().to_string();
    let mut out = AutoStream::new(io::stdout().lock(), choice(color));
    match out
        .write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(|error| CommandError::writing(&error))
    {
        Err(CommandError::Failed(failure)) => {
            Ui::new(color).failure(&failure);
            ExitCode::from(2)
        }
        _ => ExitCode::SUCCESS,
    }
}

/// The word that is no command, if that is what is wrong with the command line.
fn unknown_command(error: &clap::Error) -> Option<String> {
    match error.get(ContextKind::InvalidSubcommand)? {
        ContextValue::String(word) => Some(word.clone()),
        _ => None,
    }
}

/// A tip with the commands that are similar to a word, in the words of the parser. It has none for what follows `help`.
fn similar_to(word: &str, error: &clap::Error) -> Option<String> {
    if error.get(ContextKind::SuggestedSubcommand).is_some() {
        return None;
    }
    let mut command = &help::command();
    for word in std::env::args_os().skip(1) {
        command = command.find_subcommand(word).unwrap_or(command);
    }
    let names = command.get_subcommands().filter(|command| !command.is_hide_set()).map(Command::get_name);
    match similar(word, names).as_slice() {
        [] => None,
        [one] => Some(format!("a similar subcommand exists: '{one}'")),
        several => Some(format!("some similar subcommands exist: '{}'", several.join("', '"))),
    }
}

/// A message of the parser without tips to remove something: a mistyped word must not lead there.
fn without_removing(text: &str) -> String {
    let lines =
        text.lines().filter(|line| !line.trim_start().starts_with("tip:") || !line.ends_with(": 'rm'"));
    let mut lines: Vec<String> = lines.map(|line| line.replace("'rm', ", "").replace(", 'rm'", "")).collect();
    lines.dedup();
    format!("{}\n", lines.join("\n"))
}

/// A message of the parser with the errors of numbers in plain words.
fn plain_numbers(text: &str) -> String {
    [
        ("invalid digit found in string", "a whole number is wanted"),
        ("cannot parse integer from empty string", "a whole number is wanted"),
        ("number would be zero for non-zero type", "a number from 1 is wanted"),
        ("number too large to fit in target type", "the number is too large"),
        ("invalid float literal", "a number is wanted"),
    ]
    .iter()
    .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}
