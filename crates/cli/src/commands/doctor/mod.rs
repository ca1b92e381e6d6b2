//! `prowess doctor`: what each client on this machine sees, what is wrong, and how to fix it.

mod alike;
mod clients;
mod installed;
mod leftovers;
mod look;
mod moves;
mod page;
mod repair;
mod settings;
mod trouble;
mod unlisted;

use std::fmt::Write as _;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Value, json};

use self::clients::Patient;
use self::look::{Look, Sighted};
use self::trouble::{Kind, Level, Trouble};
use crate::Outcome;
use crate::args::Doctor;
use crate::error::CommandError;
use crate::report::json::VERSION;
use crate::ui::{Cell, Column, Table, Ui, clean, count};

/// What an examination found.
struct Examined {
    clients: Vec<Patient>,
    /// The worst first.
    troubles: Vec<Trouble>,
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
    let repairs = if args.fix { repair::repairs(&examined.troubles) } else { Vec::new() };
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
    let is_wrong = examined.troubles.iter().any(|trouble| trouble.level != Level::Note);
    if json {
        ui.json_of(&Report::of(&examined, &fixed))?;
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
    let mut look = ManuallyDrop::new(Look::open(args)?);
    let mut troubles = std::mem::take(&mut look.troubles);
    let (found, compared) = installed::troubles(&look);
    troubles.extend(found);
    troubles.extend(leftovers::troubles(&look));
    let mut patients = Vec::new();
    let mut no_skills = false;
    let mut withheld = 0;
    if let Some(opened) = &look.opened {
        no_skills = opened.catalog.is_empty() && opened.all.is_empty();
        let sighted = Sighted::of(&look, opened);
        for (client, sights) in &sighted.sights {
            let (patient, trouble) = clients::examine(&look, client, sights);
            patients.push(patient);
            troubles.extend(trouble);
        }
        withheld = settings::withheld(&look, opened);
        troubles.extend(settings::troubles(&look, opened));
        troubles.extend(unlisted::troubles(&sighted, &compared));
        troubles.extend(alike::troubles(&sighted));
    }
    // What the installer says about a record is the better message; of a folder that cannot be read, its own is.
    let records: Vec<PathBuf> =
        of_kind(&troubles, Kind::RecordsBroken).filter_map(|trouble| trouble.record.clone()).collect();
    let unread: Vec<PathBuf> = of_kind(&troubles, Kind::SourceUnread)
        .filter_map(|trouble| Some(trouble.at.as_ref()?.into()))
        .collect();
    troubles.retain(|trouble| match (&trouble.record, &trouble.at) {
        (Some(record), _) => !unread.contains(record),
        (None, Some(at)) => {
            trouble.kind != Kind::RecordsBroken
                || !records.iter().any(|record| record.as_path() == Path::new(at))
        }
        (None, None) => true,
    });
    for trouble in troubles.iter_mut().filter(|trouble| trouble.kind == Kind::RecordsBroken && withheld > 0) {
        let place = trouble.record.as_deref().or(trouble.at.as_ref().map(Path::new));
        if place.is_some_and(|place| place.iter().any(|folder| folder == ".agents")) {
            let are = if withheld == 1 { "is" } else { "are" };
            let skills = count(withheld, "skill");
            let _ = write!(trouble.what, "; until it can be read, {skills} {are} withheld");
        }
    }
    troubles.sort_by(|one, other| one.order().cmp(&other.order()));
    Ok(Examined { clients: patients, troubles, no_clients: look.clients.is_empty(), no_skills })
}

fn of_kind(troubles: &[Trouble], kind: Kind) -> impl Iterator<Item = &Trouble> {
    troubles.iter().filter(move |trouble| trouble.kind == kind)
}

/// Lists the kinds of trouble.
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
struct Report<'r> {
    version: u32,
    clients: &'r [Patient],
    troubles: &'r [Trouble],
    /// What `--fix` did.
    fixed: &'r [String],
    summary: Summary,
}

#[derive(Serialize)]
struct Summary {
    errors: usize,
    warnings: usize,
    notes: usize,
    /// How many troubles `--fix` fixes.
    safe: usize,
}

impl<'r> Report<'r> {
    fn of(examined: &'r Examined, fixed: &'r [String]) -> Self {
        let number = |level| examined.troubles.iter().filter(|trouble| trouble.level == level).count();
        Self {
            version: VERSION,
            clients: &examined.clients,
            troubles: &examined.troubles,
            fixed,
            summary: Summary {
                errors: number(Level::Error),
                warnings: number(Level::Warning),
                notes: number(Level::Note),
                safe: examined.troubles.iter().filter(|trouble| trouble.fix.safe).count(),
            },
        }
    }
}
