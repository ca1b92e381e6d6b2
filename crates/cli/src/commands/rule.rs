//! `prowess rule`: explains one rule, or lists them all.

use std::fmt::Write as _;

use prowess::finding::Preset;
use prowess::{Level, Rule as RuleRow, check};
use serde_json::{Map, Value, json};

use crate::Outcome;
use crate::args::Rule;
use crate::error::{CommandError, Failure};
use crate::report::json::VERSION;
use crate::ui::{Cell, Column, FAINT, STRONG, Table, Ui};

/// Runs the command.
pub(crate) fn run(args: &Rule, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    match &args.code {
        None if json => {
            let rules: Vec<Value> = check::rules().map(row).collect();
            ui.json(&json!({ "version": VERSION, "rules": rules }))?;
        }
        None => ui.print(&table(ui.columns()))?,
        Some(code) => {
            let rule = check::rule(code)
                .map_err(|unknown| Failure::new(unknown.to_string(), "list the rules with: prowess rule"))?;
            if json {
                ui.json(&json!({ "version": VERSION, "rule": row(rule) }))?;
            } else {
                ui.print(&page(rule))?;
            }
        }
    }
    Ok(Outcome::Fine)
}

fn letter(level: Level) -> char {
    match level {
        Level::Off => '-',
        Level::Info => 'I',
        Level::Warning => 'W',
        Level::Error => 'E',
    }
}

fn row(rule: &RuleRow) -> Value {
    let levels: Map<String, Value> = Preset::ALL
        .iter()
        .map(|preset| (preset.name().to_owned(), rule.level(*preset).name().into()))
        .collect();
    json!({
        "code": rule.code,
        "summary": rule.summary,
        "explanation": rule.explanation,
        "levels": levels,
        "always_error": rule.refuses(),
    })
}

fn table(columns: Option<usize>) -> String {
    let profiles = Preset::ALL.iter().map(|one| one.name()).collect::<Vec<_>>().join(", ");
    let mut text =
        format!("{FAINT}E error, W warning, I info, - off; in the profiles {profiles}{FAINT:#}\n\n");
    let mut table = Table::new(vec![Column::text(""), Column::text(""), Column::text("")]);
    for rule in check::rules() {
        let levels: Vec<String> =
            Preset::ALL.iter().map(|preset| letter(rule.level(*preset)).to_string()).collect();
        table.row(vec![Cell::new(&levels.join(" ")), Cell::strong(rule.code), Cell::new(rule.summary)]);
    }
    text.push_str(&table.screen(columns.unwrap_or(usize::MAX)));
    text
}

fn page(rule: &RuleRow) -> String {
    let mut text = format!("{STRONG}{}{STRONG:#}: {}\n\n{}\n\n", rule.code, rule.summary, rule.explanation);
    for &preset in Preset::ALL {
        let _ = writeln!(text, "{:12}{}", preset.name(), rule.level(preset).name());
    }
    if rule.refuses() {
        text.push_str("\nAlways an error: without this there is no skill to load.\n");
    }
    text
}
