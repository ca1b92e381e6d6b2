//! Problems as JSON: one envelope with every checked file.

use std::fmt::Write as _;

use prowess::{Fix, LineIndex, Problem, Related};
use serde_json::{Map, Value, json};

use super::{Checked, MAX_EDITS, Reporter, Summary, Unlisted};
use crate::error::{CommandError, Failure};
use crate::ui::Ui;

/// The version of every envelope.
pub(crate) const VERSION: u32 = 1;

/// Writes each file when it has been checked, so that memory does not grow with the number of files.
#[derive(Default)]
pub(crate) struct Json {
    begun: bool,
    unlisted: Vec<Value>,
    failures: Vec<Value>,
}

impl Json {
    /// What comes before a file, or before the end when there was none.
    fn separator(&mut self) -> String {
        if std::mem::replace(&mut self.begun, true) {
            return ",".to_owned();
        }
        format!(r#"{{"version":{VERSION},"files":["#)
    }
}

impl Reporter for Json {
    fn file(&mut self, file: &Checked, ui: &mut Ui) -> Result<(), CommandError> {
        let lines = LineIndex::new(file.document.text());
        let mut text = self.separator();
        let _ = write!(text, r#"{{"path":{},"problems":["#, json!(file.path));
        for (at, problem) in file.problems.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            let _ = write!(text, "{comma}{}", self::problem(problem, &lines));
        }
        let fixed: Vec<Value> = file.fixed.iter().map(applied).collect();
        let _ = write!(text, r#"],"fixed":{}}}"#, json!(fixed));
        ui.json_part(&text)
    }

    fn unlisted(&mut self, skill: &Unlisted, _: &mut Ui) -> Result<(), CommandError> {
        self.unlisted.push(json!(skill));
        Ok(())
    }

    fn failure(&mut self, failure: &Failure, _: &mut Ui) -> Result<(), CommandError> {
        self.failures.push(json!({
            "path": failure.path,
            "error": failure.error,
            "cause": failure.causes.first(),
            "hint": failure.hints.first().map(ToString::to_string),
            "code": failure.code,
            "action": failure.action(),
        }));
        Ok(())
    }

    fn finish(&mut self, summary: &Summary, ui: &mut Ui) -> Result<(), CommandError> {
        let sums = json!({
            "files": summary.files,
            "errors": summary.errors,
            "warnings": summary.warnings,
            "infos": summary.infos,
            "ignored": summary.ignored,
            "fixed": summary.fixed,
            "fixable": summary.fixable,
            "unsafe_fixable": summary.unsafe_fixable,
        });
        let head = if self.begun { String::new() } else { self.separator() };
        let (unlisted, failures) = (json!(self.unlisted), json!(self.failures));
        ui.json_part(&format!(
            "{head}],\"summary\":{sums},\"not_listed\":{unlisted},\"failures\":{failures}}}\n"
        ))
    }
}

/// One problem in short: what it is, and where it begins.
pub(crate) fn brief(problem: &Problem, lines: &LineIndex<'_>) -> Map<String, Value> {
    let start = problem.span.map(|span| lines.position(span.start));
    members([
        ("code", json!(problem.code)),
        ("field", json!(problem.field)),
        ("severity", json!(problem.severity.name())),
        ("message", json!(problem.message)),
        ("line", json!(start.map(|position| position.line))),
        ("column", json!(start.map(|position| position.column))),
    ])
}

/// One problem with everything that is known about it.
fn problem(problem: &Problem, lines: &LineIndex<'_>) -> Value {
    let end = problem.span.map(|span| lines.position(span.end));
    let mut whole = brief(problem, lines);
    whole.extend(members([
        ("end_line", json!(end.map(|position| position.line))),
        ("end_column", json!(end.map(|position| position.column))),
        ("span", json!(problem.span)),
        ("help", json!(problem.help)),
        ("related", problem.related.iter().map(|place| related(place, lines)).collect()),
        ("fix", json!(problem.fix.as_ref().map(fix))),
    ]));
    Value::Object(whole)
}

fn members<const N: usize>(pairs: [(&str, Value); N]) -> Map<String, Value> {
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// A fix. One with very many edits is named without them: applying only some would be wrong.
fn fix(fix: &Fix) -> Value {
    match fix.edits.len() {
        0..=MAX_EDITS => json!(fix),
        edits => json!({ "title": fix.title, "edits": [], "safe": fix.safe, "edits_left_out": edits }),
    }
}

/// A problem that was fixed, and its fix.
fn applied(problem: &Problem) -> Value {
    let (title, safe) = problem.fix.as_ref().map(|fix| (fix.title.as_str(), fix.safe)).unzip();
    json!({ "code": problem.code, "message": problem.message, "title": title, "safe": safe })
}

fn related(place: &Related, lines: &LineIndex<'_>) -> Value {
    let position = lines.position(place.span.start);
    json!({ "message": place.message, "line": position.line, "column": position.column, "span": place.span })
}
