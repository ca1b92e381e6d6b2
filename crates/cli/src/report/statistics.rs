//! How often each rule was broken, the most frequent first.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use prowess::Severity;

use super::{Checked, Reporter, Summary};
use crate::error::CommandError;
use crate::ui::cells::pad;
use crate::ui::{FAINT, STRONG, Ui, count, wrap};

/// How many rules of each severity have a row of their own on a screen.
const MOST_ROWS: usize = 3;
/// What is before the rules without one.
const INDENT: &str = "          ";

/// Counts the problems by rule and severity, and writes a table at the end.
#[derive(Default)]
pub(crate) struct Statistics {
    /// Leaves out notes.
    pub(crate) quiet: bool,
    counts: BTreeMap<(Reverse<Severity>, &'static str), Counted>,
}

impl Statistics {
    pub(crate) fn new(quiet: bool) -> Self {
        Self { quiet, ..Self::default() }
    }
}

/// How often one rule was broken.
#[derive(Default)]
struct Counted {
    problems: usize,
    files: usize,
    fixable: usize,
}

impl Reporter for Statistics {
    fn file(&mut self, file: &Checked, _: &mut Ui) -> Result<(), CommandError> {
        let mut last = None;
        let mut problems: Vec<_> = file
            .problems
            .iter()
            .map(|problem| {
                let fixable = problem.fix.is_some();
                ((Reverse(problem.severity), problem.code), fixable)
            })
            .collect();
        problems.sort_unstable();
        for (key, fixable) in problems {
            if self.quiet && key.0.0 == Severity::Info {
                continue;
            }
            let counted = self.counts.entry(key).or_default();
            counted.problems += 1;
            counted.fixable += usize::from(fixable);
            counted.files += usize::from(last.replace(key) != Some(key));
        }
        Ok(())
    }

    fn finish(&mut self, summary: &Summary, ui: &mut Ui) -> Result<(), CommandError> {
        let mut rows: Vec<_> = self.counts.iter().collect();
        rows.sort_by_key(|((severity, code), counted)| (*severity, Reverse(counted.problems), *code));
        if !rows.is_empty() {
            let width = rows.iter().map(|((_, code), _)| code.len()).max().unwrap_or(0);
            let code = pad("rule", width);
            ui.print(&format!("{FAINT}severity  {code}  problems  files  fixable{FAINT:#}\n"))?;
            // Thousands of skills break most rules, so on a screen only the most frequent have a row.
            let screen = ui.columns();
            for rows in rows.chunk_by(|((one, _), _), ((other, _), _)| one == other) {
                let folds = screen.is_some() && rows.len() > MOST_ROWS + 1;
                let shown = if folds { MOST_ROWS } else { rows.len() };
                let (shown, others) = rows.split_at_checked(shown).unwrap_or((rows, &[]));
                for ((Reverse(severity), code), Counted { problems, files, fixable }) in shown {
                    let (severity, code) = (pad(severity.name(), 8), pad(code, width));
                    let fixable = if *fixable == 0 { String::new() } else { fixable.to_string() };
                    let line = format!(
                        "{severity}  {STRONG}{code}{STRONG:#}  {problems:>8}  {files:>5}  {fixable:>7}"
                    );
                    ui.print(&format!("{}\n", line.trim_end()))?;
                }
                if !others.is_empty() {
                    let others: Vec<String> = others
                        .iter()
                        .map(|((_, code), counted)| format!("{code} {}", counted.problems))
                        .collect();
                    let room = screen.unwrap_or(0).saturating_sub(INDENT.len());
                    ui.print(&wrap(&format!("and {}", others.join(", ")), room, INDENT))?;
                }
            }
            ui.print("\n")?;
        }
        let rules = count(self.counts.len(), "rule");
        let line = summary.line(self.quiet);
        ui.print(&format!("{STRONG}{line}{STRONG:#}; {rules} broken\n"))
    }
}
