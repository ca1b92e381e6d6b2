//! Problems in one line each, as compilers and linters write them: `path:line:column: severity[code] message`.

use prowess::LineIndex;

use super::{Checked, Reporter, Summary};
use crate::error::CommandError;
use crate::ui::{STRONG, Ui, clean};

/// Writes one line for each problem.
pub(crate) struct Concise {
    /// Leaves out notes.
    pub(crate) quiet: bool,
}

impl Reporter for Concise {
    fn file(&mut self, file: &Checked, ui: &mut Ui) -> Result<(), CommandError> {
        let lines = LineIndex::new(file.document.text());
        for problem in file.shown(self.quiet) {
            let place = problem.span.map(|span| lines.position(span.start));
            let place = place.map(|place| format!(":{}:{}", place.line, place.column)).unwrap_or_default();
            let (severity, code) = (problem.severity.name(), problem.code);
            let (path, message) = (clean(&file.path), clean(&problem.message));
            ui.print(&format!("{path}{place}: {STRONG}{severity}{STRONG:#}[{code}] {message}\n"))?;
        }
        Ok(())
    }

    fn finish(&mut self, summary: &Summary, ui: &mut Ui) -> Result<(), CommandError> {
        ui.print(&format!("{STRONG}{}{STRONG:#}\n", summary.line(self.quiet)))
    }
}
