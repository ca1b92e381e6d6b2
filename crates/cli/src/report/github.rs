//! Problems as workflow commands, which GitHub shows beside the lines of a change.

use std::fmt::Write as _;

use prowess::{LineIndex, Severity};

use super::{Checked, Reporter, Summary, Unlisted};
use crate::error::{CommandError, Failure};
use crate::ui::{Ui, clean};

/// Writes one command for each problem.
pub(crate) struct Github {
    /// Leaves out problems of severity info.
    pub(crate) quiet: bool,
}

impl Reporter for Github {
    fn file(&mut self, file: &Checked, ui: &mut Ui) -> Result<(), CommandError> {
        let lines = LineIndex::new(file.document.text());
        for problem in file.shown(self.quiet) {
            let command = match problem.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Info => "notice",
            };
            let mut line = format!("::{command} file={}", property(&file.path));
            if let Some(span) = problem.span {
                let (start, end) = (lines.position(span.start), lines.position(span.end));
                let _ = write!(line, ",line={},col={},endLine={}", start.line, start.column, end.line);
                if start.line == end.line {
                    let _ = write!(line, ",endColumn={}", end.column);
                }
            }
            let help = problem.help.as_deref().map(|help| format!("\nhelp: {help}")).unwrap_or_default();
            let message = data(&format!("{}{help}", problem.message));
            ui.print(&format!("{line},title={}::{message}\n", property(problem.code)))?;
        }
        Ok(())
    }

    fn unlisted(&mut self, skill: &Unlisted, ui: &mut Ui) -> Result<(), CommandError> {
        let (file, title, message) =
            (property(&skill.path), property(skill.why.code), data(&skill.message()));
        ui.print(&format!("::error file={file},title={title}::{message}\n"))
    }

    fn failure(&mut self, failure: &Failure, ui: &mut Ui) -> Result<(), CommandError> {
        let file =
            failure.path.as_deref().map(|path| format!("file={},", property(path))).unwrap_or_default();
        let hints: String = failure.hints.iter().map(|hint| format!("\nhint: {hint}")).collect();
        let message = data(&format!("{}{hints}", failure.error));
        ui.print(&format!("::error {file}title=not done::{message}\n"))
    }

    fn finish(&mut self, summary: &Summary, ui: &mut Ui) -> Result<(), CommandError> {
        ui.print(&format!("{}\n", summary.line(self.quiet)))
    }
}

/// A message. Only the line breaks between its own lines stay line breaks.
fn data(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(|line| clean(line).replace('%', "%25")).collect();
    lines.join("%0A")
}

/// A value of a property, escaped.
fn property(text: &str) -> String {
    clean(text).replace('%', "%25").replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_value_can_end_it() {
        assert_eq!(property("a,b:c%\n::x"), "a%2Cb%3Ac%25\\n%3A%3Ax");
        assert_eq!(data("50%\n::set-output\r"), "50%25%0A::set-output\\r");
    }
}
