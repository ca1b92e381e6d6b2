//! `prowess doctor`: what each client on this machine sees, what is wrong, and how to fix it.

mod alike;
mod clients;
mod examination;
mod installed;
mod issue;
mod leftovers;
mod moves;
mod page;
mod repair;
mod settings;
mod unlisted;

use std::fmt::Write as _;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Value, json};

use self::clients::ClientReport;
use self::examination::{Examination, Sighted};
use self::issue::{Issue, Kind, Level};
use crate::Outcome;
use crate::args::Doctor;
use crate::error::CommandError;
use crate::report::json::VERSION;
use crate::ui::{Cell, Column, Table, Ui, clean, count};

/// What an examination found.
struct Examined {
    clients: Vec<ClientReport>,
    /// The worst first.
    issues: Vec<Issue>,
    /// Whether no agent was found on this machine.
    no_clients: bool,
    /// Whether no skill was found at all.
    no_skills: bool,
}

/// Runs the command.
pub(crate) fn run(args: &Doctor, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    if args.list {
        return list(json, ui);
    }
    // The exit code is the answer, also for a reader that needs no more lines.
    ui.outlive_reader();
    ui.working("looking at the skills of every client");
    let mut examined = examine(args)?;
    let mut fixed = Vec::new();
    let mut incomplete = false;
    let repairs = if args.fix { repair::repairs(&examined.issues) } else { Vec::new() };
    let nothing_to_repair = repairs.is_empty();
    if !nothing_to_repair {
        for repair in &repair::consent(repairs, args.yes, ui)? {
            match repair.apply(ui) {
                Ok(done) => fixed.push(done),
                Err(CommandError::Failed(failure) | CommandError::OutOfDate(failure)) => {
                    incomplete = true;
                    ui.failure(&failure);
                }
                Err(error) => return Err(error),
            }
        }
        examined = examine(args)?;
    }
    let is_wrong = examined.issues.iter().any(|issue| issue.level != Level::Note);
    if json {
        ui.json_of(&DoctorReport::of(&examined, &fixed))?;
    } else {
        let mut text = String::new();
        for done in &fixed {
            let _ = writeln!(text, "{}", clean(done));
        }
        if args.fix && nothing_to_repair {
            text.push_str("nothing that can be fixed without you\n");
        }
        text.push_str(if text.is_empty() { "" } else { "\n" });
        text.push_str(&page::page(&examined, args.all, ui.columns()));
        ui.print(&text)?;
    }
    Ok(match (incomplete, is_wrong) {
        (true, _) => Outcome::Incomplete,
        (_, true) => Outcome::Problems,
        _ => Outcome::Fine,
    })
}

/// Looks at everything, and changes nothing.
fn examine(args: &Doctor) -> Result<Examined, CommandError> {
    // The process ends soon, and freeing every skill would take as long as finding it.
    let mut examination = ManuallyDrop::new(Examination::open(args)?);
    let mut issues = std::mem::take(&mut examination.issues);
    let (found, compared) = installed::issues(&examination);
    issues.extend(found);
    issues.extend(leftovers::issues(&examination));
    let mut client_reports = Vec::new();
    let mut no_skills = false;
    let mut withheld = 0;
    if let Some(opened) = &examination.opened {
        no_skills = opened.catalog.is_empty() && opened.all.is_empty();
        let sighted = Sighted::of(&examination, opened);
        for (client, sights) in &sighted.sights {
            let (client_report, issue) = clients::examine(&examination, client, sights);
            client_reports.push(client_report);
            issues.extend(issue);
        }
        withheld = settings::withheld(&examination, opened);
        issues.extend(settings::issues(&examination, opened));
        issues.extend(unlisted::issues(&sighted, &compared));
        issues.extend(alike::issues(&sighted));
    }
    // What the installer says about a record is the better message; of a folder that cannot be read, its own is.
    let records: Vec<PathBuf> =
        of_kind(&issues, Kind::RecordsBroken).filter_map(|issue| issue.record.clone()).collect();
    let unread: Vec<PathBuf> =
        of_kind(&issues, Kind::SourceUnread).filter_map(|issue| Some(issue.at.as_ref()?.into())).collect();
    issues.retain(|issue| match (&issue.record, &issue.at) {
        (Some(record), _) => !unread.contains(record),
        (None, Some(at)) => {
            issue.kind != Kind::RecordsBroken
                || !records.iter().any(|record| record.as_path() == Path::new(at))
        }
        (None, None) => true,
    });
    for issue in issues.iter_mut().filter(|issue| issue.kind == Kind::RecordsBroken && withheld > 0) {
        let place = issue.record.as_deref().or(issue.at.as_ref().map(Path::new));
        if place.is_some_and(|place| place.iter().any(|folder| folder == ".agents")) {
            let are = if withheld == 1 { "is" } else { "are" };
            let skills = count(withheld, "skill");
            let _ = write!(issue.what, "; until it can be read, {skills} {are} withheld");
        }
    }
    issues.sort_by(|one, other| one.order().cmp(&other.order()));
    Ok(Examined { clients: client_reports, issues, no_clients: examination.clients.is_empty(), no_skills })
}

fn of_kind(issues: &[Issue], kind: Kind) -> impl Iterator<Item = &Issue> {
    issues.iter().filter(move |issue| issue.kind == kind)
}

/// Lists the kinds of issue.
fn list(json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    if json {
        let kinds: Vec<Value> = Kind::ALL
            .iter()
            .map(|kind| {
                json!({"kind": kind.code(), "level": kind.level(), "title": kind.title(), "about": kind.about()})
            })
            .collect();
        ui.json(&json!({"version": VERSION, "kinds": kinds}))?;
        return Ok(Outcome::Fine);
    }
    let mut table = Table::new(vec![Column::text(""); 3]);
    for kind in Kind::ALL {
        let (code, level) = (Cell::strong(kind.code()), Cell::new(kind.level().word()));
        table.row(vec![code, level, Cell::new(kind.title())]);
    }
    ui.print(&table.page(ui.columns()))?;
    Ok(Outcome::Fine)
}

#[derive(Serialize)]
struct DoctorReport<'r> {
    version: u32,
    clients: &'r [ClientReport],
    #[serde(rename = "troubles")]
    issues: &'r [Issue],
    /// What `--fix` did.
    fixed: &'r [String],
    summary: IssueCounts,
}

#[derive(Serialize)]
struct IssueCounts {
    errors: usize,
    warnings: usize,
    notes: usize,
    /// How many issues `--fix` fixes.
    safe: usize,
}

impl<'r> DoctorReport<'r> {
    fn of(examined: &'r Examined, fixed: &'r [String]) -> Self {
        let number = |level| examined.issues.iter().filter(|issue| issue.level == level).count();
        Self {
            version: VERSION,
            clients: &examined.clients,
            issues: &examined.issues,
            fixed,
            summary: IssueCounts {
                errors: number(Level::Error),
                warnings: number(Level::Warning),
                notes: number(Level::Note),
                safe: examined.issues.iter().filter(|issue| issue.fix.safe).count(),
            },
        }
    }
}
