//! Problems as SARIF 2.1.0, with the table of rules and the fixes.

use prowess::finding::Preset;
use prowess::text::uri_path;
use prowess::{Edit, Fix, Level, LineIndex, Problem, Rule, Severity, Span, check};
use serde_json::{Map, Value, json};

use super::{Checked, MAX_EDITS, Reporter, Summary, Unlisted};
use crate::error::{CommandError, Failure};
use crate::ui::Ui;

/// Writes each result when its file has been checked, so that memory does not grow with the number of files.
#[derive(Default)]
pub(crate) struct Sarif {
    /// Leaves out problems of severity info.
    pub(crate) quiet: bool,
    begun: bool,
    failures: Vec<Value>,
}

impl Sarif {
    /// A reporter, quiet or not.
    pub(crate) fn new(quiet: bool) -> Self {
        Self { quiet, ..Self::default() }
    }

    /// What comes before the first result.
    fn head(&mut self) -> String {
        self.begun = true;
        let rules: Vec<Value> = check::rules().map(row).collect();
        let driver = json!({ "name": "prowess", "version": env!("CARGO_PKG_VERSION"), "rules": rules });
        format!(
            r#"{{"$schema":"https://json.schemastore.org/sarif-2.1.0.json","version":"2.1.0","runs":[{{"tool":{{"driver":{driver}}},"columnKind":"unicodeCodePoints","results":["#
        )
    }
}

impl Reporter for Sarif {
    fn file(&mut self, file: &Checked, ui: &mut Ui) -> Result<(), CommandError> {
        let lines = LineIndex::new(file.document.text());
        for problem in file.shown(self.quiet) {
            let before = if self.begun { ",".to_owned() } else { self.head() };
            ui.json_part(&format!("{before}{}", result(problem, &file.path, &lines)))?;
        }
        Ok(())
    }

    fn unlisted(&mut self, skill: &Unlisted, ui: &mut Ui) -> Result<(), CommandError> {
        let before = if self.begun { ",".to_owned() } else { self.head() };
        let result = json!({
            "ruleId": format!("not-listed/{}", skill.why.code),
            "level": "error",
            "message": { "text": skill.message() },
            "locations": [place(&skill.path, None)],
        });
        ui.json_part(&format!("{before}{result}"))
    }

    fn failure(&mut self, failure: &Failure, _: &mut Ui) -> Result<(), CommandError> {
        let hints: String = failure.hints.iter().map(|hint| format!("\nhint: {hint}")).collect();
        let mut notification =
            json!({ "level": "error", "message": { "text": format!("{}{hints}", failure.error) } });
        if let (Some(path), Some(members)) = (&failure.path, notification.as_object_mut()) {
            members.insert("locations".to_owned(), json!([place(path, None)]));
        }
        self.failures.push(notification);
        Ok(())
    }

    fn finish(&mut self, _: &Summary, ui: &mut Ui) -> Result<(), CommandError> {
        let head = if self.begun { String::new() } else { self.head() };
        let invocation = json!({
            "executionSuccessful": self.failures.is_empty(),
            "toolExecutionNotifications": self.failures,
        });
        ui.json_part(&format!("{head}],\"invocations\":[{invocation}]}}]}}\n"))
    }
}

fn row(rule: &Rule) -> Value {
    let configuration = match rule.level(Preset::Spec) {
        Level::Off => json!({ "enabled": false }),
        Level::Info => json!({ "level": "note" }),
        Level::Warning => json!({ "level": "warning" }),
        Level::Error => json!({ "level": "error" }),
    };
    json!({
        "id": rule.code,
        "shortDescription": { "text": rule.summary },
        "help": { "text": rule.explanation, "markdown": rule.explanation },
        "defaultConfiguration": configuration,
    })
}

fn result(problem: &Problem, path: &str, lines: &LineIndex<'_>) -> Value {
    let level = match problem.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    };
    let help = problem.help.as_deref().map(|help| format!("\nhelp: {help}")).unwrap_or_default();
    let related: Vec<Value> = problem
        .related
        .iter()
        .map(|related| {
            let mut location = place(path, Some((related.span, lines)));
            location.insert("message".to_owned(), json!({ "text": related.message }));
            Value::Object(location)
        })
        .collect();
    let mut result = Map::new();
    result.insert("ruleId".to_owned(), problem.code.into());
    if let Some(index) = check::rules().position(|rule| rule.code == problem.code) {
        result.insert("ruleIndex".to_owned(), index.into());
    }
    result.insert("level".to_owned(), level.into());
    result.insert("message".to_owned(), json!({ "text": format!("{}{help}", problem.message) }));
    result.insert("locations".to_owned(), json!([place(path, problem.span.map(|span| (span, lines)))]));
    if !related.is_empty() {
        result.insert("relatedLocations".to_owned(), related.into());
    }
    if let Some(fix) = problem.fix.as_ref().filter(|fix| fix.edits.len() <= MAX_EDITS) {
        result.insert("fixes".to_owned(), json!([change(fix, path, lines)]));
    }
    Value::Object(result)
}

fn change(fix: &Fix, path: &str, lines: &LineIndex<'_>) -> Value {
    let replacement = |edit: &Edit| json!({ "deletedRegion": region(edit.span, lines), "insertedContent": { "text": edit.replacement } });
    let replacements: Vec<Value> = fix.edits.iter().map(replacement).collect();
    json!({
        "description": { "text": fix.title },
        "artifactChanges": [{ "artifactLocation": { "uri": uri(path) }, "replacements": replacements }],
        "properties": { "safe": fix.safe },
    })
}

fn place(path: &str, span: Option<(Span, &LineIndex<'_>)>) -> Map<String, Value> {
    let mut physical = Map::from_iter([("artifactLocation".to_owned(), json!({ "uri": uri(path) }))]);
    if let Some((span, lines)) = span {
        physical.insert("region".to_owned(), region(span, lines));
    }
    Map::from_iter([("physicalLocation".to_owned(), Value::Object(physical))])
}

fn region(span: Span, lines: &LineIndex<'_>) -> Value {
    let (start, end) = (lines.position(span.start), lines.position(span.end));
    json!({
        "startLine": start.line,
        "startColumn": start.column,
        "endLine": end.line,
        "endColumn": end.column,
        "byteOffset": span.start,
        "byteLength": span.len(),
    })
}

/// A path as a relative reference or, when it is absolute, as the address of a file.
fn uri(path: &str) -> String {
    let scheme = if path.starts_with('/') { "file://" } else { "" };
    // The text before a colon in the first segment of a relative reference would be read as a scheme.
    format!("{scheme}{}", uri_path(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_references() {
        for (path, reference) in [("a b/é:1.md", "a%20b/%C3%A9%3A1.md"), ("/a/%.md", "file:///a/%25.md")] {
            assert_eq!(uri(path), reference);
        }
    }
}
