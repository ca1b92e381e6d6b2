//! `prowess verify`: compares installed skills with skills.lock.

use std::fmt::Write as _;

use prowess::install::{FileChange, InstalledSkill, InstalledState};
use serde_json::json;

use super::installer;
use crate::Outcome;
use crate::args::Verify;
use crate::error::{CommandError, Failure};
use crate::report::json::VERSION;
use crate::ui::{STRONG, Ui, clean, count};

/// Runs the command.
pub(crate) fn run(args: &Verify, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    let mut skills = installer(&args.common)?.verify(args.common.scope())?;
    if let Some(name) = args.names.iter().find(|name| !skills.iter().any(|skill| skill.name == **name)) {
        let hint = "list what is installed with: prowess list --installed";
        return Err(Failure::new(format!("no skill of this name is installed: {name}"), hint).into());
    }
    skills.retain(|skill| args.names.is_empty() || args.names.contains(&skill.name));
    let wrong = skills.iter().filter(|skill| skill.state != InstalledState::Clean).count();
    if json {
        let skills: Vec<_> = skills.iter().map(super::installed::value).collect();
        ui.json(&json!({"version": VERSION, "skills": skills, "summary": {"skills": skills.len(), "wrong": wrong}}))?;
    } else {
        let mut text: String = skills.iter().map(lines).collect();
        let of = count(skills.len(), "skill");
        if wrong == 0 {
            let _ = writeln!(text, "{of} as installed");
        } else {
            let _ =
                writeln!(text, "{wrong} of {of} not as installed; restore with: prowess sync --overwrite");
        }
        ui.print(&text)?;
    }
    Ok(if wrong == 0 { Outcome::Fine } else { Outcome::Problems })
}

/// What is wrong with a skill, in lines; none when nothing is.
fn lines(skill: &InstalledSkill) -> String {
    let name = clean(&skill.name);
    match &skill.state {
        InstalledState::Missing => format!("{STRONG}{name}{STRONG:#}  missing\n"),
        InstalledState::Edited(files) if files.is_empty() => {
            format!("{STRONG}{name}{STRONG:#}  changed; the store does not know which files\n")
        }
        InstalledState::Edited(files) => {
            let mut text = format!("{STRONG}{name}{STRONG:#}\n");
            for (path, change) in files {
                let _ = writeln!(text, "  {}  {}", word(*change), clean(path));
            }
            text
        }
        _ => String::new(),
    }
}

/// The word for a change of a file.
pub(super) fn word(change: FileChange) -> &'static str {
    match change {
        FileChange::Changed => "changed",
        FileChange::Mode => "mode",
        FileChange::Added => "added",
        FileChange::Missing => "missing",
        _ => "other",
    }
}
