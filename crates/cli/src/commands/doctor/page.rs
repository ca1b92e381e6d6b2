//! The page of `prowess doctor`: the clients as a table and the issues by kind on a terminal, else lines.

use std::fmt::Write as _;

use super::Examined;
use super::clients::ClientReport;
use super::issue::{Fix, Issue, Kind, Level, MARKS};
use crate::ui::{Cell, Column, FAINT, HINT, STRONG, ShortPaths, Table, clean, count, number, wrap};

/// How many issues of one kind are shown.
const SHOWN: usize = 5;

/// The page, for a screen with this many columns, or as lines.
pub(super) fn page(examined: &Examined, all: bool, columns: Option<usize>) -> String {
    let mut text = String::new();
    let shown = if all { usize::MAX } else { SHOWN };
    match columns {
        Some(columns) => screen(examined, shown, columns, &mut text),
        None => lines(examined, shown, &mut text),
    }
    totals(examined, &mut text);
    text
}

/// The issues of each kind that has any.
fn by_kind(issues: &[Issue]) -> impl Iterator<Item = (Kind, &[Issue])> {
    let groups = issues.chunk_by(|one, other| one.kind == other.kind);
    groups.filter_map(|group| Some((group.first()?.kind, group)))
}

fn more(hidden: usize) -> String {
    format!("and {hidden} more: prowess doctor --all")
}

fn screen(examined: &Examined, shown: usize, columns: usize, text: &mut String) {
    if !examined.clients.is_empty() {
        let numbers = ["skills", "tokens", "budget"].map(Column::number);
        let mut titles = vec![Column::text("client")];
        titles.extend(numbers);
        titles.push(Column::text(""));
        let mut table = Table::new(titles);
        for client_report in &examined.clients {
            let cell = |tokens: Option<usize>| {
                Cell::new(&tokens.map(|tokens| number(tokens as u64)).unwrap_or_default())
            };
            let numbers =
                [Some(client_report.skills), Some(client_report.tokens), client_report.budget].map(cell);
            let mut cells = vec![Cell::strong(client_report.name)];
            cells.extend(numbers);
            cells.push(Cell::faint(&remarks(client_report).join(", ")));
            table.row(cells);
        }
        text.push_str(&table.screen(columns));
        text.push('\n');
    }
    let paths = ShortPaths::new();
    for (kind, issues) in by_kind(&examined.issues) {
        let title = format!("{}: {}", kind.code(), kind.title());
        let _ = write!(text, "{STRONG}{}{STRONG:#} ", kind.level().word());
        text.push_str(&wrap(&title, columns.saturating_sub(kind.level().word().len() + 1), ""));
        let fixes: Vec<&Fix> = issues.iter().take(shown).map(|issue| &issue.fix).collect();
        // What is the same for all is shown once.
        let all = |same: fn(&Fix, &Fix) -> bool| {
            fixes.len() > 1 && fixes.windows(2).all(|two| matches!(two, [a, b] if same(a, b)))
        };
        let common = InCommon {
            words: all(|one, other| one.what == other.what),
            commands: all(|one, other| one.commands == other.commands),
        };
        for issue in issues.iter().take(shown) {
            entry(issue, common, &paths, columns, text);
        }
        if let Some(hidden @ 1..) = issues.len().checked_sub(shown) {
            let _ = writeln!(text, "  {}", more(hidden));
        }
        if let Some(fix) = fixes.first() {
            let theirs = InCommon { words: !common.words, commands: !common.commands };
            fix_lines(fix, theirs, "  ", columns, text);
        }
        text.push('\n');
    }
}

/// What all issues of a kind have in common, and what is not shown with each.
#[derive(Clone, Copy)]
struct InCommon {
    words: bool,
    commands: bool,
}

fn entry(issue: &Issue, common: InCommon, paths: &ShortPaths, columns: usize, text: &mut String) {
    let place = issue.at.as_ref().map(|at| paths.of(at)).unwrap_or_default();
    let width = columns.saturating_sub(4);
    let indent = match (&issue.skill, place.is_empty()) {
        (None, true) => "  ",
        (skill, _) => {
            let mut head = Table::new(vec![Column::text("")]);
            let skill = skill.as_deref().unwrap_or_default();
            let gap = if skill.is_empty() || place.is_empty() { "" } else { "  " };
            head.row(vec![Cell::strong(skill).and(FAINT, &format!("{gap}{place}"))]);
            for line in head.screen(columns.saturating_sub(2)).lines() {
                let _ = writeln!(text, "  {line}");
            }
            "    "
        }
    };
    text.push_str(&wrap(&clean(&issue.what), width, indent));
    if let Some(look) = &issue.look {
        let _ = writeln!(text, "{indent}{FAINT}see: {}{FAINT:#}", clean(look));
    }
    fix_lines(&issue.fix, common, indent, columns, text);
}

/// A fix in lines, without what is shown elsewhere. A command is never broken, so that it can be copied.
fn fix_lines(fix: &Fix, elsewhere: InCommon, indent: &str, columns: usize, text: &mut String) {
    if let Some(what) = fix.what.as_ref().filter(|_| !elsewhere.words) {
        text.push_str(&wrap(&clean(what), columns.saturating_sub(4), indent));
    }
    for command in fix.commands.iter().filter(|_| !elsewhere.commands) {
        let _ = writeln!(text, "{indent}{HINT}fix{HINT:#}: {}", clean(command));
    }
}

/// What is special about a client, beside its budget.
fn remarks(client_report: &ClientReport) -> Vec<String> {
    let mut remarks = Vec::new();
    if client_report.left_out > 0 {
        remarks.push(format!("{} left out", client_report.left_out));
    }
    if client_report.shortened > 0 {
        remarks.push(format!("{} shortened", client_report.shortened));
    }
    match client_report.skills - client_report.offered {
        0 => {}
        hidden => remarks.push(format!("{hidden} not for its model")),
    }
    if client_report.folders.is_empty() {
        remarks.push("none of its folders is there".to_owned());
    }
    if !client_report.verified {
        remarks.push("folders only, not verified".to_owned());
    }
    remarks
}

fn lines(examined: &Examined, shown: usize, text: &mut String) {
    for client_report in &examined.clients {
        let budget = client_report.budget.map(|budget| {
            let over = if client_report.tokens > budget { "over" } else { "within" };
            format!("{over} its {} tokens", number(budget as u64))
        });
        let unit = if client_report.tokens == 1 { "token" } else { "tokens" };
        let mut line = format!("about {} {unit}", number(client_report.tokens as u64));
        for remark in budget.into_iter().chain(remarks(client_report)) {
            let _ = write!(line, ", {remark}");
        }
        let skills = count(client_report.skills, "skill");
        let _ = writeln!(text, "{STRONG}{}{STRONG:#}  {skills}, {line}", client_report.client);
    }
    for (kind, issues) in by_kind(&examined.issues) {
        for issue in issues.iter().take(shown) {
            let place: Vec<&str> = [&issue.skill, &issue.at].into_iter().flatten().map(|at| &**at).collect();
            let mut line = format!("{}: {}", kind.level().word(), kind.code());
            for part in place.into_iter().chain([&*issue.what]) {
                let _ = write!(line, ": {}", without_marks(part));
            }
            if let Some(look) = &issue.look {
                let _ = write!(line, "; see: {}", clean(look));
            }
            // The words come first: a command alone may be the wrong one.
            if let Some(words) = &issue.fix.what {
                let _ = write!(line, "; hint: {}", without_marks(words));
            }
            for fix in &issue.fix.commands {
                let _ = write!(line, "; fix: {}", clean(fix));
            }
            let _ = writeln!(text, "{line}");
        }
        if let Some(hidden @ 1..) = issues.len().checked_sub(shown) {
            let _ = writeln!(text, "{}: {}: {}", kind.level().word(), kind.code(), more(hidden));
        }
    }
}

/// A text that may contain names of files, without what marks a command in a line.
fn without_marks(text: &str) -> String {
    let mut text = clean(text).into_owned();
    for mark in MARKS {
        text = text.replace(mark, &mark.replace(';', "\\u{3b}"));
    }
    text
}

fn totals(examined: &Examined, text: &mut String) {
    let of = |level| examined.issues.iter().filter(|issue| issue.level == level).count();
    let levels = [Level::Error, Level::Warning, Level::Note];
    let words: Vec<String> = levels
        .into_iter()
        .filter(|level| of(*level) > 0)
        .map(|level| count(of(level), level.word()))
        .collect();
    let _ = match words.as_slice() {
        [] => writeln!(text, "nothing is wrong"),
        words => writeln!(text, "{}", words.join(", ")),
    };
    let safe = examined.issues.iter().filter(|issue| issue.fix.safe).count();
    if safe > 0 {
        let these = if safe == 1 { "1 of them is" } else { &format!("{safe} of them are") };
        let _ = writeln!(text, "{these} fixed by: prowess doctor --fix");
    }
    if examined.no_clients {
        text.push_str(NO_CLIENTS);
    } else if examined.no_skills && examined.issues.is_empty() {
        text.push_str(NO_SKILLS);
    }
}

/// What to do where no agent is.
const NO_CLIENTS: &str = "no agent was found here: none of the folders that agents make in your home is there\n\
    \x20 if you use one, name it:  prowess doctor --client claude-code\n\
    \x20 install skills:           prowess add SOURCE --user\n\
    \x20 write one:                prowess new NAME\n";

/// What to do where no skill is.
const NO_SKILLS: &str = "no skills here\n\
    \x20 install skills:  prowess add SOURCE --user\n\
    \x20 write one:       prowess new NAME\n";
