//! `prowess verify`: compares installed skills with skills.lock.

use std::fmt::Write as _;
use std::path::PathBuf;

use anstyle::Style;
use prowess::install::{
    ClientDifference, ClientState, FileChange, InstallScope, InstalledSkill, InstalledState, Installer,
    Progress,
};
use prowess::internal::{did_you_mean, first_mount};
use prowess::text::similar;
use serde_json::json;

use super::installed::{how_to_install, not_installed};
use super::{installer, place_of, place_option, report};
use crate::Outcome;
use crate::args::Verify;
use crate::error::{CommandError, Failure};
use crate::report::json::VERSION;
use crate::ui::{Cell, Column, STRONG, Table, Ui, clean, count};

/// Runs the command.
pub(crate) fn run(args: &Verify, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    let installer = installer(&args.common)?;
    let scope = args.common.scope();
    let mut recovered = Vec::new();
    if args.common.dry_run {
        report::is_pending(&installer, scope, ui)?;
    } else {
        installer.settle(scope, &mut |what| {
            if let Progress::Recovered(note) = what {
                recovered.push(note.to_owned());
            }
            report::progress(what, ui);
        })?;
    }
    let mut skills = installer.compare(scope)?;
    let mut absent = installer.not_locked(scope)?;
    // A run in the wrong folder must not count as a success.
    if !installer.has_records(scope)? {
        return Err(without_records(&installer, scope));
    }
    let is_known = |name: &String| skills.iter().any(|skill| skill.name == *name) || absent.contains(name);
    if let Some(name) = args.names.iter().find(|name| !is_known(name)) {
        let known = skills.iter().map(|skill| &*skill.name).chain(absent.iter().map(String::as_str));
        let hint = did_you_mean(&similar(name, known))
            .unwrap_or_else(|| "list what is installed with: prowess list --installed".to_owned());
        return Err(Failure::new(format!("no skill of this name is installed: {name}"), hint).into());
    }
    if args.names.is_empty() {
        report::unrecorded(&installer, scope, ui);
    }
    skills.retain(|skill| args.names.is_empty() || args.names.contains(&skill.name));
    absent.retain(|name| args.names.is_empty() || args.names.contains(name));
    let changed = skills.iter().filter(|skill| !skill.is_intact()).count();
    let misnamed = skills.iter().filter(|skill| skill.is_intact() && skill.misnamed.is_some()).count();
    let line_ends = || skills.iter().filter(|skill| skill.is_intact() && !skill.is_clean());
    let (unused, line_ends) = (line_ends().filter(|skill| !skill.trusted).count(), line_ends().count());
    let wrong = changed + misnamed + absent.len();
    if json {
        let skills: Vec<_> = skills.iter().map(super::installed::value).collect();
        let summary = json!({"skills": skills.len(), "wrong": wrong, "line_ends": line_ends});
        ui.json(&json!({
            "version": VERSION,
            "skills": skills,
            "not_installed": absent,
            "recovered": recovered,
            "summary": summary,
        }))?;
    } else {
        let here = place_option(place_of(&installer, scope));
        let mut text = match ui.columns() {
            Some(columns) => screen(&skills, (&absent, (&installer, scope)), &here, columns),
            None => {
                let absent = absent
                    .iter()
                    .map(|name| format!("{}\n", not_installed(name, (&installer, scope), &here)));
                skills.iter().map(|skill| lines(skill, &here)).chain(absent).collect()
            }
        };
        let of = count(skills.len() + absent.len(), "skill");
        if wrong == 0 {
            let _ = writeln!(text, "{of} as installed");
        } else if changed > 0 {
            let overwrite =
                if skills.iter().any(InstalledSkill::has_losable_edits) { " --overwrite" } else { "" };
            let restore = format!("prowess sync{overwrite}{here}");
            let changed = changed + absent.len();
            // Nothing is replaced through a mount.
            let first = match mounts_in(&skills).next() {
                Some(mount) => format!("unmount {}, then restore", clean(&report::place(&mount))),
                None => "restore".to_owned(),
            };
            let _ = writeln!(text, "{changed} of {of} not as installed; {first} with: {restore}");
        } else if !absent.is_empty() {
            let _ = writeln!(text, "{} of {of} not installed", absent.len());
        }
        if misnamed > 0 {
            let _ = writeln!(
                text,
                "{misnamed} of {of} with a false name in skills.lock; correct it with: prowess sync{here}"
            );
        }
        if line_ends > 0 {
            let what = "with other line ends, perhaps written by git (core.autocrlf)";
            let restore = match unused {
                0 => "restore".to_owned(),
                all if all == line_ends => "not trusted, so not used until restored".to_owned(),
                some => format!("{some} of them not trusted, so not used until restored"),
            };
            let _ = writeln!(text, "{line_ends} of {of} {what}; {restore} with: prowess sync{here}");
        }
        ui.print(&text)?;
    }
    Ok(if wrong == 0 { Outcome::Fine } else { Outcome::Problems })
}

/// What is mounted in the folders of skills that are not as installed, and in the copies of clients.
fn mounts_in(skills: &[InstalledSkill]) -> impl Iterator<Item = PathBuf> {
    let changed = skills.iter().filter(|skill| !skill.is_intact());
    let paths = changed.flat_map(|skill| {
        std::iter::once(&skill.path).chain(skill.clients.iter().map(|client| &client.path))
    });
    paths.filter_map(|path| first_mount(path))
}

/// The error for a place without `skills.toml` and `skills.lock`.
pub(super) fn without_records(installer: &Installer, scope: InstallScope) -> CommandError {
    let folders = installer.folders();
    let (folder, hint) = match (scope, &folders.user) {
        (InstallScope::User, Some(user)) => {
            (user, "install skills for yourself with: prowess add SOURCE --user")
        }
        _ => {
            let hint = "run it in the project, or name the project with --project FOLDER; --user is for your own skills";
            (&folders.project, hint)
        }
    };
    let message = format!("there is no skills.toml for this folder: {}", report::place(folder));
    Failure::new(message, hint).into()
}

/// What became of each skill, as a table for a terminal.
fn screen(
    skills: &[InstalledSkill],
    (absent, place): (&[String], (&Installer, InstallScope)),
    here: &str,
    columns: usize,
) -> String {
    let mut table = Table::new(vec![Column::text("skill"), Column::text("state"), Column::text("folder")]);
    for skill in skills {
        let state = match &skill.state {
            InstalledState::Missing => "missing",
            InstalledState::OtherVersion => "another version",
            InstalledState::Replaced { .. } | InstalledState::Edited(_) => "changed",
            _ if skill.is_intact() && skill.misnamed.is_some() => "false name",
            _ if skill.is_clean() => "as installed",
            _ if skill.is_intact() => "other line ends",
            _ => "not for each client",
        };
        let place = Cell::faint(&report::place(&skill.path));
        table.row(vec![Cell::strong(&skill.name), Cell::new(state), place]);
        let lines = lines(skill, here);
        for line in lines.lines().skip(1) {
            table.more(Style::new(), line.trim_start());
        }
        match &skill.state {
            InstalledState::Replaced { reason, .. } => table.more(Style::new(), reason),
            InstalledState::Edited(files) if files.is_empty() => table.more(Style::new(), &learn(here)),
            _ => {}
        }
    }
    for name in absent {
        let what = Cell::faint(&how_to_install(name, place, here));
        table.row(vec![Cell::strong(name), Cell::new("not installed"), what]);
    }
    table.screen(columns)
}

/// What is wrong with a skill, in lines; none when nothing is.
fn lines(skill: &InstalledSkill, here: &str) -> String {
    if skill.is_clean() && skill.clients.is_empty() && skill.misnamed.is_none() {
        return String::new();
    }
    let mut text = format!("{STRONG}{}{STRONG:#}", clean(&skill.name));
    match &skill.state {
        InstalledState::Missing => text.push_str("  missing\n"),
        InstalledState::OtherVersion => text.push_str("  another version that you installed before\n"),
        InstalledState::Replaced { reason, files } => {
            let _ = writeln!(text, "  changed: {}", clean(reason));
            changes(files, "  ", &mut text);
        }
        InstalledState::Edited(files) if files.is_empty() => {
            let _ = writeln!(text, "  changed; {}", learn(here));
        }
        InstalledState::Edited(files) | InstalledState::LineEnds(files) => {
            text.push('\n');
            changes(files, "  ", &mut text);
        }
        _ => text.push('\n'),
    }
    if let Some(name) = &skill.misnamed {
        let said = skill.locked.upstream_name.as_deref().unwrap_or(&skill.name);
        let _ = writeln!(text, "  name  {} in skills.lock, {} in its SKILL.md", clean(said), clean(name));
    }
    for ClientDifference { client, path, state, .. } in &skill.clients {
        let what = match state {
            ClientState::Missing => "missing",
            ClientState::Edited(_) => "edited copy",
            ClientState::LineEnds(_) => "copy with other line ends",
            ClientState::OtherVersion => "copy of another version",
            ClientState::Left => "yours is kept",
            _ => "something else",
        };
        let _ = writeln!(text, "  {what} for {}: {}", clean(client), clean(&report::place(path)));
        if let ClientState::Edited(files) | ClientState::LineEnds(files) = state {
            changes(files, "    ", &mut text);
        }
    }
    text
}

/// How to learn which files of a skill changed when what was installed is no longer stored.
fn learn(here: &str) -> String {
    format!("to see which files, fetch what was installed: prowess sync --fetch-only{here}")
}

pub(super) fn changes(files: &[(String, FileChange)], indent: &str, text: &mut String) {
    for (path, change) in files {
        let _ = writeln!(text, "{indent}{}  {}{}", word(*change), clean(path), whole(path));
    }
}

/// What is said of a folder that is named as a whole.
fn whole(path: &str) -> &'static str {
    match path.strip_suffix('/') {
        None => "",
        Some(folder) if is_git(folder) => " (git repository)",
        Some(_) => " (files that cannot be listed)",
    }
}

/// Whether a folder is the repository of git beside the files of it.
pub(super) fn is_git(folder: &str) -> bool {
    folder.rsplit('/').next() == Some(".git")
}

/// The word for a change of a file.
pub(crate) fn word(change: FileChange) -> &'static str {
    match change {
        FileChange::Changed => "changed",
        FileChange::Mode => "mode",
        FileChange::LineEnds => "line ends",
        FileChange::Added => "added",
        FileChange::Missing => "missing",
        _ => "other",
    }
}
