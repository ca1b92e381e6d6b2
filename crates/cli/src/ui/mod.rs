//! The only access to the terminal: results go to stdout, everything else to stderr, and no text can control it.

mod bar;
pub(crate) mod cells;
pub(crate) mod command;
mod input;
mod paths;
mod table;
mod text;
mod usage;
mod words;

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write as _};

use anstream::AutoStream;
use anstream::adapter::strip_str;
use anstream::stream::{AsLockedWrite, RawStream};
use anstyle::{AnsiColor, Effects, Style};
use clap::ColorChoice;
use prowess::env::Environment;
use prowess::internal::StateNote;
use serde::Serialize;
use serde_json::Value;

pub(crate) use self::bar::{Bar, note_beside};
pub(crate) use self::input::{read_input, read_line};
pub(crate) use self::paths::ShortPaths;
pub(crate) use self::table::{Cell, Column, Table};
pub(crate) use self::text::Text;
pub(crate) use self::usage::usage;
pub(crate) use self::words::{clean, clean_lines, count, few, number, size, wrap};
use crate::commands::hints;
use crate::error::{CommandError, Failure, Hint};

/// Words that matter most.
pub(crate) const STRONG: Style = Style::new().effects(Effects::BOLD);
/// Words that matter least.
pub(crate) const FAINT: Style = Style::new().effects(Effects::DIMMED);
const ERROR: Style = AnsiColor::BrightRed.on_default().effects(Effects::BOLD);
pub(crate) const HINT: Style = AnsiColor::BrightCyan.on_default().effects(Effects::BOLD);
/// Removed lines of a patch.
pub(crate) const GONE: Style = AnsiColor::Red.on_default();
/// Added lines of a patch.
pub(crate) const COME: Style = AnsiColor::Green.on_default();

/// The longest answer to a question.
const MAX_ANSWER: usize = 64 * 1024;
/// The narrowest screen that results are laid out for.
const MIN_COLUMNS: usize = 20;
/// The columns of a terminal that does not say its size.
const USUAL_COLUMNS: usize = 80;
/// How much text is buffered before it is written.
const CHUNK: usize = 64 * 1024;

/// Writes results, notes and failures.
pub(crate) struct Ui {
    color: anstream::ColorChoice,
    environment: Environment,
    pending: String,
    /// Whether results go to stderr, because stdout is for the text of a file.
    results_to_stderr: bool,
    /// Whether a command goes on when the reader of its results has closed the pipe.
    outlives_reader: bool,
    /// The error of results that were written before a note.
    unwritten: Option<CommandError>,
    /// What is going on, until something is written.
    work: Option<Bar>,
    /// The errors and warnings so far.
    explained: Vec<String>,
}

impl Ui {
    /// Uses colours as this choice says.
    pub(crate) fn new(color: ColorChoice) -> Self {
        Self {
            color: choice(color),
            environment: Environment::current(),
            pending: String::new(),
            results_to_stderr: false,
            outlives_reader: false,
            unwritten: None,
            work: None,
            explained: Vec::new(),
        }
    }

    /// Says what is going on, as [`Self::bar`] does, until something is written.
    pub(crate) fn working(&mut self, doing: &'static str) {
        self.work = Some(self.bar(doing, 0));
    }

    /// Says what the work is at.
    pub(crate) fn at(&self, item: &str) {
        if let Some(bar) = &self.work {
            bar.next(item);
        }
    }

    /// From now on, results that have no reader any more are dropped, and the command goes on to its exit code.
    pub(crate) fn outlive_reader(&mut self) {
        self.outlives_reader = true;
    }

    /// Sends results to stderr from now on, because stdout is for the text of a file.
    pub(crate) fn results_to_stderr(&mut self) {
        self.results_to_stderr = true;
    }

    /// Writes a result. Text from skills in it must have been through [`clean`] or [`clean_lines`].
    pub(crate) fn print(&mut self, text: &str) -> Result<(), CommandError> {
        self.pending.push_str(text);
        if self.pending.len() >= CHUNK { self.flush() } else { Ok(()) }
    }

    /// Writes one JSON object on one line. Characters that could control a terminal are escaped.
    pub(crate) fn json(&mut self, value: &Value) -> Result<(), CommandError> {
        self.json_text(&value.to_string())
    }

    /// The same for any value that can be serialized.
    pub(crate) fn json_of(&mut self, value: &impl Serialize) -> Result<(), CommandError> {
        let text = serde_json::to_string(value).map_err(|error| CommandError::writing(&error.into()))?;
        self.json_text(&text)
    }

    /// The same for an object that is already serialized.
    pub(crate) fn json_text(&mut self, text: &str) -> Result<(), CommandError> {
        let mut line = prowess::text::json(text).into_owned();
        line.push('\n');
        if self.results_to_stderr { self.print(&line) } else { self.bytes(line.as_bytes()) }
    }

    /// Writes a part of a JSON object that is written in parts. Each part begins and ends between two values.
    pub(crate) fn json_part(&mut self, text: &str) -> Result<(), CommandError> {
        self.print(&prowess::text::json(text))
    }

    /// Whether results are shown on a terminal.
    #[expect(clippy::unused_self, reason = "only this type asks about the terminal")]
    pub(crate) fn is_terminal(&self) -> bool {
        io::stdout().is_terminal()
    }

    /// The columns that results are laid out for: those of the terminal, or what the variable COLUMNS says there. `None`
    /// means that they go to a file or a program, which gets plain lines. The variable `PROWESS_COLUMNS` asks for a layout
    /// wherever they go.
    pub(crate) fn columns(&self) -> Option<usize> {
        let said = |name| {
            let text = self.environment.get(name).and_then(OsStr::to_str);
            text.and_then(|text| text.trim().parse().ok())
        };
        let columns = said("PROWESS_COLUMNS").or_else(|| {
            let terminal = || {
                // A terminal that does not say its size, such as one in a container, is taken for a usual one.
                terminal_size::terminal_size_of(io::stdout())
                    .map_or(USUAL_COLUMNS, |(width, _)| width.0.into())
            };
            self.is_terminal().then(|| said("COLUMNS").unwrap_or_else(terminal))
        });
        columns.filter(|columns| *columns > 0).map(|columns: usize| columns.max(MIN_COLUMNS))
    }

    /// Writes a diff: verbatim for programs such as patch, and with colours on a terminal or where they are asked for.
    pub(crate) fn diff(&mut self, diff: &str) -> Result<(), CommandError> {
        if self.is_terminal() || self.color == anstream::ColorChoice::Always {
            self.print(&crate::report::patch::coloured(diff))
        } else {
            self.bytes(diff.as_bytes())
        }
    }

    /// Writes bytes of a file: verbatim, unless a terminal would interpret them.
    pub(crate) fn raw(&mut self, bytes: &[u8]) -> Result<(), CommandError> {
        if self.is_terminal() {
            self.print(&clean_lines(&String::from_utf8_lossy(bytes)))
        } else {
            self.bytes(bytes)
        }
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<(), CommandError> {
        self.flush()?;
        let mut out = io::stdout().lock();
        let written = out.write_all(bytes).and_then(|()| out.flush());
        drop(out);
        self.written(written)
    }

    /// The result of writing results.
    fn written(&self, written: io::Result<()>) -> Result<(), CommandError> {
        match written {
            Err(error) if self.outlives_reader && error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            written => written.map_err(|error| CommandError::writing(&error)),
        }
    }

    /// Writes a note about the run, which is not a result.
    pub(crate) fn note(&mut self, text: &str) {
        self.flush_first();
        let text = format!("{STRONG}{}{STRONG:#}\n", clean(text));
        let _ = write_to(io::stderr().lock(), self.color, &text);
    }

    /// A line that says what is going on, until it is dropped; an empty one unless stderr is a terminal that can redraw it.
    pub(crate) fn bar(&mut self, doing: &'static str, of: usize) -> Bar {
        let dumb = self.environment.get("TERM").is_none_or(|term| term == "dumb");
        if dumb || !io::stderr().is_terminal() {
            return Bar::default();
        }
        self.flush_first();
        Bar::start(doing, of)
    }

    /// Whether the user can be asked: questions go to stderr, answers come from stdin.
    #[expect(clippy::unused_self, reason = "the terminal is reached through this door only")]
    pub(crate) fn can_ask(&self) -> bool {
        io::stdin().is_terminal() && io::stderr().is_terminal()
    }

    /// Tells something before a question. Text of others in it has been through [`clean`].
    pub(crate) fn tell(&mut self, text: &str) {
        self.flush_first();
        let _ = write_to(io::stderr().lock(), self.color, text);
    }

    /// Asks whether to go on. These are the failures where there is no terminal to ask at, and when the answer is no.
    pub(crate) fn confirm(
        &mut self,
        question: &str,
        unasked: Failure,
        refused: Failure,
    ) -> Result<(), CommandError> {
        if !self.can_ask() {
            return Err(unasked.into());
        }
        let answer = self.ask(&format!("{question} [y/N]"))?;
        match answer.trim().to_ascii_lowercase().as_str() {
            "y" | "yes" => Ok(()),
            _ => Err(refused.into()),
        }
    }

    /// Asks the user; the answer is empty when there is none.
    pub(crate) fn ask(&mut self, question: &str) -> Result<String, CommandError> {
        self.tell(&format!("{STRONG}{}{STRONG:#} ", clean(question)));
        let answer = read_line(MAX_ANSWER)?.unwrap_or_default();
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }

    /// Writes what could not be done.
    pub(crate) fn failure(&mut self, failure: &Failure) {
        self.explain(failure, ("error", ERROR));
    }

    /// Writes what could not be done beside what was asked for.
    pub(crate) fn warning(&mut self, failure: &Failure) {
        self.explain(failure, ("warning", HINT));
    }

    /// Tells something about the files of Prowess itself, unless an error or a warning said it.
    pub(crate) fn state_note(&mut self, note: &StateNote) {
        if !self.explained.contains(&note.text) {
            self.note(&note.text);
            if let Some(hint) = &note.hint {
                let _ = write_to(io::stderr().lock(), self.color, &hint_line(&hints::of(hint, "", None)));
            }
        }
    }

    fn explain(&mut self, failure: &Failure, (word, style): (&str, Style)) {
        self.explained.push(failure.error.clone());
        self.explained.extend(failure.causes.iter().cloned());
        // Earlier results should appear first; if stdout is closed, the failure is still written.
        self.flush_first();
        let mut text = format!("{style}{word}{style:#}: {}\n", clean(&failure.error));
        for cause in &failure.causes {
            let _ = writeln!(text, "  {STRONG}cause{STRONG:#}: {}", clean(cause));
        }
        for hint in &failure.hints {
            text.push_str(&hint_line(hint));
        }
        let _ = write_to(io::stderr().lock(), self.color, &text);
    }

    /// Writes what is still pending.
    pub(crate) fn finish(&mut self) -> Result<(), CommandError> {
        self.flush()?;
        self.unwritten.take().map_or(Ok(()), Err)
    }

    /// Writes earlier results. An error is returned at the end.
    fn flush_first(&mut self) {
        if let Err(error) = self.flush() {
            self.unwritten.get_or_insert(error);
        }
    }

    fn flush(&mut self) -> Result<(), CommandError> {
        self.work = None;
        let text = std::mem::take(&mut self.pending);
        if self.results_to_stderr {
            // As with failures, a closed stderr is ignored.
            let _ = write_to(io::stderr().lock(), self.color, &text);
            return Ok(());
        }
        let written = write_to(io::stdout().lock(), self.color, &text);
        self.written(written)
    }
}

/// The line of a hint below what it is about.
fn hint_line(hint: &Hint) -> String {
    format!("  {HINT}hint{HINT:#}: {}\n", clean(&hint.to_string()))
}

/// Writes text in one piece, without its colours if the stream shows none. A stream that removes colours by itself makes a
/// system call for each piece of text between two of them.
fn write_to(
    mut stream: impl RawStream + AsLockedWrite,
    color: anstream::ColorChoice,
    text: &str,
) -> io::Result<()> {
    let color = match color {
        anstream::ColorChoice::Auto => AutoStream::choice(&stream),
        chosen => chosen,
    };
    if color == anstream::ColorChoice::Never {
        let plain = without_styles(text);
        return stream.write_all(plain.as_bytes()).and_then(|()| stream.flush());
    }
    let mut stream = AutoStream::new(stream, color);
    stream.write_all(text.as_bytes()).and_then(|()| stream.flush())
}

/// Text without its colours. Text from skills has no escape character, so every one begins a style of ours; that is
/// several times faster than reading all control sequences there are.
fn without_styles(text: &str) -> String {
    let is_style = |numbers: &str| numbers.bytes().all(|byte| byte.is_ascii_digit() || byte == b';');
    let mut pieces = text.split('\x1b');
    let mut plain = String::with_capacity(text.len());
    plain.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        match piece.strip_prefix('[').and_then(|style| style.split_once('m')) {
            Some((numbers, rest)) if is_style(numbers) => plain.push_str(rest),
            _ => return strip_str(text).to_string(),
        }
    }
    plain
}

/// Whether a user sees stderr.
pub(crate) fn stderr_is_terminal() -> bool {
    io::stderr().is_terminal()
}

/// Whether stdin is a terminal; not any more, once its window is closed.
pub(crate) fn stdin_is_terminal() -> bool {
    io::stdin().is_terminal()
}

/// Writes an entry of a log to stderr, from any thread. A closed stderr is ignored.
pub(crate) fn log_line(line: &str) {
    let line = format!("{}\n", clean_lines(line));
    let _ = io::stderr().lock().write_all(line.as_bytes());
}

fn choice(color: ColorChoice) -> anstream::ColorChoice {
    match color {
        ColorChoice::Auto => anstream::ColorChoice::Auto,
        ColorChoice::Always => anstream::ColorChoice::Always,
        ColorChoice::Never => anstream::ColorChoice::Never,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styles_are_removed_as_a_reader_of_all_sequences_does() {
        let text = format!("{STRONG}a{STRONG:#} [1m {ERROR}b\n{ERROR:#}é{FAINT}{FAINT:#}");
        for text in
            [text.as_str(), "", "plain m [0m", "\u{1b}[2Kgone\u{1b}]0;title\u{7}", "\u{1b}[38;5;1mred\u{1b}"]
        {
            assert_eq!(without_styles(text), strip_str(text).to_string(), "{text:?}");
        }
    }
}
