//! The only access to the terminal: results go to stdout, everything else to stderr, and no text can control it.

mod bar;
pub(crate) mod cells;
mod table;

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io::{self, BufRead as _, IsTerminal as _, Read as _, Write as _};
use std::process::ExitCode;

use anstream::AutoStream;
use anstream::adapter::strip_str;
use anstream::stream::{AsLockedWrite, RawStream};
use anstyle::{AnsiColor, Effects, Style};
use clap::ColorChoice;
use prowess::env::Environment;
use prowess::text;
use serde::Serialize;
use serde_json::Value;

pub(crate) use self::bar::Bar;
pub(crate) use self::table::{Cell, Column, Table};
use crate::error::{CommandError, Failure};

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
/// How much text is buffered before it is written.
const CHUNK: usize = 64 * 1024;

/// Writes results, notes and failures.
pub(crate) struct Ui {
    color: anstream::ColorChoice,
    pending: String,
    /// Whether results go to stderr, because stdout is for the text of a file.
    results_to_stderr: bool,
    /// Whether a command goes on when the reader of its results has closed the pipe.
    outlives_reader: bool,
    /// The error of results that were written before a note.
    unwritten: Option<CommandError>,
}

impl Ui {
    /// Uses colours as this choice says.
    pub(crate) fn new(color: ColorChoice) -> Self {
        Self {
            color: choice(color),
            pending: String::new(),
            results_to_stderr: false,
            outlives_reader: false,
            unwritten: None,
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
        let mut line = text::json(text).into_owned();
        line.push('\n');
        if self.results_to_stderr { self.print(&line) } else { self.bytes(line.as_bytes()) }
    }

    /// Writes a part of a JSON object that is written in parts. Each part begins and ends between two values.
    pub(crate) fn json_part(&mut self, text: &str) -> Result<(), CommandError> {
        self.print(&text::json(text))
    }

    /// Whether results are shown on a terminal.
    #[expect(clippy::unused_self, reason = "only this type asks about the terminal")]
    pub(crate) fn is_terminal(&self) -> bool {
        io::stdout().is_terminal()
    }

    /// The columns that results are laid out for: those of the terminal, or what the variable COLUMNS says. `None` means
    /// that they go to a file or a program, which gets plain lines.
    pub(crate) fn columns(&self) -> Option<usize> {
        let environment = Environment::current();
        let said =
            environment.get("COLUMNS").and_then(OsStr::to_str).and_then(|text| text.trim().parse().ok());
        let columns = said.or_else(|| {
            let (width, _) = terminal_size::terminal_size_of(io::stdout())?;
            self.is_terminal().then(|| usize::from(width.0))
        });
        columns.filter(|columns| *columns > 0).map(|columns: usize| columns.max(MIN_COLUMNS))
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
        let dumb = Environment::current().get("TERM").is_none_or(|term| term == "dumb");
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

    /// Asks the user; the answer is empty when there is none.
    pub(crate) fn ask(&mut self, question: &str) -> Result<String, CommandError> {
        self.tell(&format!("{STRONG}{}{STRONG:#} ", clean(question)));
        let answer = read_line(MAX_ANSWER)?.unwrap_or_default();
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }

    /// Writes what could not be done.
    pub(crate) fn failure(&mut self, failure: &Failure) {
        // Earlier results should appear first; if stdout is closed, the failure is still written.
        self.flush_first();
        let mut text = format!("{ERROR}error{ERROR:#}: {}\n", clean(&failure.error));
        for cause in &failure.causes {
            let _ = writeln!(text, "  {STRONG}cause{STRONG:#}: {}", clean(cause));
        }
        for hint in &failure.hints {
            let _ = writeln!(text, "  {HINT}hint{HINT:#}: {}", clean(hint));
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
        let plain = strip_str(text).to_string();
        return stream.write_all(plain.as_bytes()).and_then(|()| stream.flush());
    }
    let mut stream = AutoStream::new(stream, color);
    stream.write_all(text.as_bytes()).and_then(|()| stream.flush())
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

/// Shows help, the version, or what is wrong with the command line.
pub(crate) fn usage(error: &clap::Error, color: ColorChoice, json: bool) -> ExitCode {
    if error.use_stderr() {
        // An argument may be a file name that the shell expanded.
        let text = plain_numbers(&clean_lines(&error.render().to_string()));
        let _ = io::stderr().lock().write_all(text.as_bytes());
        if json {
            let said = text.split("\n\n").next().unwrap_or(&text);
            let said: Vec<&str> = said.trim_start_matches("error: ").split_whitespace().collect();
            let failure =
                Failure::new(said.join(" "), "list the commands and their options with: prowess help");
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

/// Reads standard input, at most one byte more than `limit`.
pub(crate) fn read_input(limit: usize) -> Result<Vec<u8>, CommandError> {
    let mut bytes = Vec::new();
    let read = io::stdin().lock().take(limit as u64 + 1).read_to_end(&mut bytes);
    read.map(|_| bytes).map_err(|error| CommandError::reading_input(&error))
}

/// One line of standard input, without its end; `None` at the end of the input. Of a line longer than `limit`, only one
/// byte more than the limit is kept, so that the caller sees that it was cut.
pub(crate) fn read_line(limit: usize) -> Result<Option<Vec<u8>>, CommandError> {
    let mut input = io::stdin().lock();
    let mut line = Vec::new();
    let mut seen = false;
    loop {
        let buffer = input.fill_buf().map_err(|error| CommandError::reading_input(&error))?;
        if buffer.is_empty() {
            return Ok(seen.then_some(line));
        }
        seen = true;
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let part = buffer.get(..end.unwrap_or(buffer.len())).unwrap_or(buffer);
        let room = (limit + 1).saturating_sub(line.len()).min(part.len());
        line.extend_from_slice(part.get(..room).unwrap_or(part));
        let used = part.len() + usize::from(end.is_some());
        input.consume(used);
        if end.is_some() {
            return Ok(Some(line));
        }
    }
}

/// Text from a skill on one line, with every control or hidden character escaped.
pub(crate) fn clean(text: &str) -> Cow<'_, str> {
    text::inline(text)
}

/// The same for text of several lines: line ends stay, and tabs become spaces.
pub(crate) fn clean_lines(text: &str) -> String {
    let mut cleaned = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        let line = if end.is_empty() { line } else { line.strip_suffix('\r').unwrap_or(line) };
        for (at, part) in line.split('\t').enumerate() {
            cleaned.push_str(if at == 0 { "" } else { "    " });
            cleaned.push_str(&clean(part));
        }
        cleaned.push_str(end);
    }
    cleaned
}

/// Breaks text at spaces into lines of at most `width` cells, as long as words allow.
pub(crate) fn wrap(text: &str, width: usize, indent: &str) -> String {
    let mut lines = String::new();
    let mut column = 0;
    for word in text.split_whitespace() {
        let length = cells::width(word);
        if column > 0 && column + 1 + length > width {
            lines.push('\n');
            column = 0;
        }
        if column == 0 {
            lines.push_str(indent);
        } else {
            lines.push(' ');
            column += 1;
        }
        lines.push_str(word);
        column += length;
    }
    lines.push('\n');
    lines
}

/// A number and its noun: `1 file`, `2 files`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// A size with its unit.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{}.{} KB", bytes / 1_000, bytes % 1_000 / 100),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_control_and_invisible_character_becomes_visible() {
        for code in 0..=0x10_FFFF_u32 {
            let Some(character) = char::from_u32(code) else { continue };
            let cleaned = clean(&character.to_string()).into_owned();
            assert!(!cleaned.chars().any(|c| c.is_control() || text::unseen(c).is_some()), "U+{code:04X}");
            if text::unseen(character).is_some() {
                assert!(cleaned.starts_with('\\') && cleaned.is_ascii(), "U+{code:04X}");
            }
        }
        assert_eq!(clean("a\u{1b}[31m\u{202e}\n"), "a\\u{1b}[31m\\u{202e}\\n");
        assert_eq!(clean_lines("a\tb\r\nc\rd"), "a    b\nc\\rd");
        assert!(matches!(clean("plain é 日本 😀"), Cow::Borrowed(_)));
    }

    #[test]
    fn wrapping_keeps_words_whole() {
        assert_eq!(wrap("aa bb  ccccccc d", 5, "> "), "> aa bb\n> ccccccc\n> d\n");
        assert_eq!([count(1, "file"), count(0, "file")], ["1 file", "0 files"]);
        assert_eq!([size(999), size(1_234), size(52_428_800)], ["999 B", "1.2 KB", "52.4 MB"]);
    }
}
