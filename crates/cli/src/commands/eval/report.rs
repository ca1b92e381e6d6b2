//! What became of trigger queries: as a table for authors, in plain lines, and as JSON.

use std::fmt::Write as _;

use anstyle::Style;
use prowess::select::{TRIGGER_FILE, Trigger};
use serde_json::{Value, json};

use super::percent;
use crate::args::Eval;
use crate::report::json::VERSION;
use crate::ui::{Cell, Column, FAINT, STRONG, Table, clean, count};

/// One query and its result.
pub(super) struct Asked {
    /// The key of the skill that has the query.
    pub(super) skill: String,
    pub(super) trigger: Trigger,
    /// The place of the skill, from 1.
    pub(super) rank: Option<usize>,
    /// The skill that came first.
    pub(super) winner: Option<String>,
    /// Whether a query that should lead to the skill found it high enough, or one that should not did not put it first.
    pub(super) passed: bool,
    /// Of a query that failed: the words to add to the description, or those that led to the skill.
    pub(super) words: Vec<String>,
}

/// A file that was not used: one without trigger queries, or a skill.
pub(super) struct NotUsed {
    pub(super) path: String,
    pub(super) reason: String,
}

/// The results of all queries.
pub(super) struct EvalReport<'r> {
    pub(super) args: &'r Eval,
    /// How many skills compete.
    pub(super) skills: usize,
    pub(super) asked: Vec<Asked>,
    /// Files that were refused, each with the reason.
    pub(super) refused: Vec<NotUsed>,
    /// Skills that are not tested, each with the reason.
    pub(super) left_out: Vec<NotUsed>,
    /// Whether something that should have been read could not be.
    pub(super) incomplete: bool,
    /// Pairs of skills that compete, and how much.
    pub(super) overlap: Vec<(String, String, f32)>,
}

impl Asked {
    /// What is wrong, in words.
    fn fault(&self) -> String {
        match (self.trigger.should, self.rank, &self.winner) {
            (false, ..) => "first, but should not be".to_owned(),
            (true, Some(rank), Some(winner)) => format!("place {rank}, first is {winner}"),
            (true, _, Some(winner)) => format!("not found, first is {winner}"),
            (true, _, None) => "not found, nor is any other".to_owned(),
        }
    }

    /// What to do about it, if something can be said.
    fn advice(&self) -> Option<String> {
        let words = self.words.join(", ");
        match (words.is_empty(), self.trigger.should) {
            (true, _) => None,
            (false, true) => Some(format!("add to the description: {words}")),
            (false, false) => Some(format!("its name or description has: {words}")),
        }
    }
}

impl EvalReport<'_> {
    /// How many queries passed, of how many: of those that should trigger, or those that should not.
    fn tally(&self, should: bool) -> (usize, usize) {
        let of = || self.asked.iter().filter(|asked| asked.trigger.should == should);
        (of().filter(|asked| asked.passed).count(), of().count())
    }

    pub(super) fn json(&self) -> Value {
        let (found, should) = self.tally(true);
        let (spared, should_not) = self.tally(false);
        let queries = self.asked.iter().map(|asked| {
            let mut query = json!({
                "skill": asked.skill, "query": asked.trigger.query, "should_trigger": asked.trigger.should,
                "passed": asked.passed, "rank": asked.rank, "winner": asked.winner,
            });
            if let Some(members) = query.as_object_mut().filter(|_| !asked.passed) {
                let member = if asked.trigger.should { "add" } else { "found_by" };
                members.insert(member.to_owned(), json!(asked.words));
            }
            query
        });
        let reasons = |list: &[NotUsed]| -> Vec<Value> {
            list.iter().map(|one| json!({ "path": one.path, "reason": one.reason })).collect()
        };
        let mut value = json!({
            "version": VERSION,
            "selector": self.args.selector.name(),
            "skills": self.skills,
            "top": self.args.top,
            "should": { "queries": should, "passed": found },
            "should_not": { "queries": should_not, "passed": spared },
            "queries": queries.collect::<Vec<_>>(),
            "refused": reasons(&self.refused),
            "left_out": reasons(&self.left_out),
        });
        if let Some(members) = value.as_object_mut().filter(|_| self.args.overlap) {
            let pairs = self.overlap.iter().map(|(one, other, share)| {
                json!({ "skills": [one, other], "share": (share * 100.0).round() / 100.0 })
            });
            members.insert("overlap".to_owned(), pairs.collect::<Vec<_>>().into());
        }
        value
    }

    /// For a screen with columns, a table of all queries; else lines about those that failed.
    pub(super) fn page(&self, columns: Option<usize>) -> String {
        let mut text = match columns {
            Some(columns) => self.table(columns),
            None => self.failures(),
        };
        if !text.is_empty() {
            text.push('\n');
        }
        if self.args.overlap {
            let _ = writeln!(text, "{STRONG}Skills that compete{STRONG:#}");
            for (one, other, share) in &self.overlap {
                let _ = writeln!(text, "  {:3.0} %  {} and {}", share * 100.0, clean(one), clean(other));
            }
            if self.overlap.is_empty() {
                text.push_str("  none\n");
            }
            text.push('\n');
        }
        self.totals(&mut text);
        text
    }

    fn table(&self, columns: usize) -> String {
        let mut table = Table::new(vec![Column::text(""), Column::number(""), Column::text("")]);
        let mut last = "";
        for asked in &self.asked {
            if asked.skill != last {
                last = &asked.skill;
                let own = || self.asked.iter().filter(|asked| asked.skill == last);
                let passed = own().filter(|asked| asked.passed).count();
                let about = format!("  {passed} of {} passed", own().count());
                table.title(Cell::strong(last).and(FAINT, &about));
            }
            let result = Cell::new(if asked.passed { "passed" } else { "FAILED" });
            let rank = Cell::new(&asked.rank.map_or_else(|| "-".to_owned(), |rank| rank.to_string()));
            let should = if asked.trigger.should { "" } else { "should not be first: " };
            table.row(vec![result, rank, Cell::faint(should).and(Style::new(), &asked.trigger.query)]);
            if !asked.passed {
                table.more(Style::new(), &asked.fault());
                if let Some(advice) = asked.advice() {
                    table.more(Style::new(), &advice);
                }
            }
        }
        table.screen(columns)
    }

    fn failures(&self) -> String {
        let mut text = String::new();
        let mut last = "";
        for asked in self.asked.iter().filter(|asked| !asked.passed) {
            if asked.skill != last {
                let _ = writeln!(text, "{STRONG}{}{STRONG:#}", clean(&asked.skill));
                last = &asked.skill;
            }
            let _ = writeln!(text, "  {}\n    {}", clean(&asked.trigger.query), clean(&asked.fault()));
            if let Some(advice) = asked.advice() {
                let _ = writeln!(text, "    {}", clean(&advice));
            }
        }
        text
    }

    fn totals(&self, text: &mut String) {
        let _ = writeln!(text, "{}, selector {}", count(self.skills, "skill"), self.args.selector.name());
        if self.asked.is_empty() {
            let none = if self.incomplete {
                "no trigger queries were read".to_owned()
            } else {
                format!("no skill has trigger queries: put them into {TRIGGER_FILE}")
            };
            let _ = writeln!(text, "{FAINT}{none}{FAINT:#}");
            return;
        }
        let place = match self.args.top.get() {
            1 => "first".to_owned(),
            top => format!("among the first {top}"),
        };
        let share =
            |part: usize, all: usize| percent(f64::from(u32::try_from(part).unwrap_or(u32::MAX)), all);
        for (should, wish, done) in
            [(true, format!("should be {place}"), "are"), (false, "should not be first".into(), "are not")]
        {
            let (passed, all) = self.tally(should);
            if all > 0 {
                let _ = writeln!(text, "  {wish}: {passed} of {all} {done} ({:.1} %)", share(passed, all));
            }
        }
    }
}
