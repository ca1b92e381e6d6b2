//! `prowess list --installed`: the skills in `skills.lock`, of the project and of the user.

use std::fmt::Write as _;

use prowess::install::{
    ClientDifference, ClientState, FileChange, InstallScope, InstalledSkill, InstalledState, Installer,
};
use serde_json::{Value, json};

use super::{report, scope_option};
use crate::Outcome;
use crate::error::CommandError;
use crate::report::json::VERSION;
use crate::ui::{Cell, Column, FAINT, STRONG, Table, Ui, clean, count};

/// Runs the command.
pub(crate) fn run(of_user: bool, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    let installer = super::here()?;
    let user = installer.folders().user.as_ref().map(|_| InstallScope::User);
    let is_asked = |scope: InstallScope| !of_user || scope == InstallScope::User;
    let mut interrupted = Vec::new();
    for scope in [InstallScope::Project].into_iter().chain(user).filter(|scope| is_asked(*scope)) {
        if report::is_pending(&installer, scope, ui)? {
            interrupted.push(scope.word());
        }
    }
    for scope in installer.listed_scopes().filter(|scope| is_asked(*scope)) {
        report::unrecorded(&installer, scope, ui);
    }
    let (mut skills, mut absent) = (installer.list()?, installer.list_not_locked()?);
    skills.retain(|skill| is_asked(skill.scope));
    absent.retain(|(scope, _)| is_asked(*scope));
    if json {
        let skills: Vec<Value> = skills.iter().map(value).collect();
        let absent = absent.iter().map(|(scope, name)| json!({"name": name, "scope": scope.word()}));
        let absent: Vec<Value> = absent.collect();
        ui.json(&json!({
            "version": VERSION,
            "installed": skills,
            "not_installed": absent,
            "interrupted": interrupted,
        }))?;
        return Ok(Outcome::Fine);
    }
    // The lines do not show organisations.
    skills.sort_by(|one, other| (one.scope, &one.name).cmp(&(other.scope, &other.name)));
    let rows: Vec<[String; 4]> = skills.iter().map(row).collect();
    let mut text = String::new();
    match ui.columns().filter(|_| !rows.is_empty()) {
        Some(columns) => {
            let titles = ["skill", "state", "scope", "folder and source"];
            let mut table = Table::new(titles.map(Column::text).to_vec());
            for [name, state, scope, place] in &rows {
                let state = if state.is_empty() { "as installed" } else { state };
                table.row(vec![Cell::strong(name), Cell::new(state), Cell::new(scope), Cell::faint(place)]);
            }
            text.push_str(&table.screen(columns));
        }
        None => {
            for [name, state, scope, place] in rows {
                let state = if state.is_empty() { state } else { format!("  {}", clean(&state)) };
                let (name, place) = (clean(&name), clean(&place));
                let _ = writeln!(text, "{STRONG}{name}{STRONG:#}{state}  {FAINT}{scope}, {place}{FAINT:#}");
            }
        }
    }
    for (scope, name) in &absent {
        let _ = writeln!(text, "{}", not_installed(name, (&installer, *scope), scope_option(*scope)));
    }
    let missing = skills.iter().filter(|skill| skill.state == InstalledState::Missing).count();
    let _ = match (skills.len(), missing) {
        (0, _) if !absent.is_empty() => Ok(()),
        (0, _) => writeln!(
            text,
            "no skills are installed; install some with: prowess add SOURCE{}",
            if of_user || super::is_own_folder() { " --user" } else { "" }
        ),
        (many, 0) => writeln!(text, "\n{} installed", count(many, "skill")),
        (many, missing) => {
            let installed = count(many - missing, "skill");
            writeln!(text, "\n{installed} installed, {missing} missing")
        }
    };
    ui.print(&text)?;
    Ok(Outcome::Fine)
}

/// An installed skill in words: its name, its state unless that is as installed, its scope, its folder and source.
fn row(skill: &InstalledSkill) -> [String; 4] {
    let user = scope_option(skill.scope);
    let state = match state(skill) {
        _ if skill.is_intact() && skill.misnamed.is_some() => {
            format!("false name in skills.lock; see: prowess verify{user}")
        }
        "clean" if skill.is_clean() => String::new(),
        "line-ends" if skill.is_intact() => "other line ends".to_owned(),
        "clean" | "line-ends" => {
            let others = skill.clients.iter().filter(|other| other.state != ClientState::Left);
            let clients: Vec<&str> = others.map(|other| &*other.client).collect();
            format!("not as installed for {}; see: prowess verify{user}", clients.join(", "))
        }
        "other-version" => "another version".to_owned(),
        other => other.to_owned(),
    };
    let name = skill.misnamed.as_ref().or(skill.locked.upstream_name.as_ref());
    let name = name.filter(|name| **name != skill.name);
    let name = name.map(|name| format!(", called {name} by its author")).unwrap_or_default();
    let origin = report::origin(&skill.locked, (skill.scope, &skill.path), skill.fetched);
    let place = format!("{}, from {origin}{name}", report::place(&skill.path));
    [skill.name.clone(), state, skill.scope.word().to_owned(), place]
}

/// The line of a skill that `skills.toml` names and the lock does not.
pub(super) fn not_installed(name: &str, place: (&Installer, InstallScope), here: &str) -> String {
    let install = how_to_install(name, place, here);
    format!("{STRONG}{}{STRONG:#}  not installed; {}", clean(name), clean(&install))
}

/// How to install a skill that the lock does not have. `sync` does not replace what is in its place and differs.
pub(super) fn how_to_install(
    name: &str,
    (installer, scope): (&Installer, InstallScope),
    here: &str,
) -> String {
    let folder = match scope {
        InstallScope::Project => installer.project_dir(),
        InstallScope::User => installer.user_dir().unwrap_or_default(),
    };
    let there = folder.join(name);
    if there.symlink_metadata().is_err() {
        return format!("install it with: prowess sync{here}");
    }
    let there = report::place(&there);
    format!(
        "something is there: {there}; prowess sync{here} records it if it is unchanged, prowess sync --overwrite{here} \
         replaces it"
    )
}

/// An installed skill as JSON.
pub(super) fn value(skill: &InstalledSkill) -> Value {
    let reason = match &skill.state {
        InstalledState::Replaced { reason, .. } => Some(reason),
        _ => None,
    };
    let files = match &skill.state {
        InstalledState::Edited(files)
        | InstalledState::LineEnds(files)
        | InstalledState::Replaced { files, .. } => &**files,
        _ => &[],
    };
    let clients: Vec<Value> = skill.clients.iter().map(client).collect();
    json!({
        "org": skill.org,
        "name": skill.name,
        "upstream_name": skill.locked.upstream_name,
        "scope": skill.scope.word(),
        "path": skill.path.to_string_lossy(),
        "state": state(skill),
        "changes": changes(files),
        "reason": reason,
        "clients": clients,
        "source": skill.locked.source,
        "source_path": skill.locked.path.as_ref().map(prowess::RelPath::as_str),
        "requested": skill.locked.requested,
        "commit": skill.locked.commit,
        "digest": skill.locked.digest,
        "fetched": skill.fetched,
        "trusted": skill.trusted,
        "misnamed": skill.misnamed,
    })
}

fn client(difference: &ClientDifference) -> Value {
    let (state, files) = match &difference.state {
        ClientState::Missing => ("missing", &[][..]),
        ClientState::Edited(files) => ("edited", &**files),
        ClientState::LineEnds(files) => ("line-ends", &**files),
        ClientState::OtherVersion => ("other-version", &[][..]),
        ClientState::Left => ("left", &[][..]),
        _ => ("other", &[][..]),
    };
    let path = difference.path.to_string_lossy();
    json!({"client": difference.client, "path": path, "state": state, "changes": changes(files)})
}

fn changes(files: &[(String, FileChange)]) -> Vec<Value> {
    let change = |(path, change): &(String, FileChange)| json!({"path": path, "change": change});
    files.iter().map(change).collect()
}

fn state(skill: &InstalledSkill) -> &'static str {
    match skill.state {
        InstalledState::Clean => "clean",
        InstalledState::Missing => "missing",
        InstalledState::LineEnds(_) => "line-ends",
        InstalledState::OtherVersion => "other-version",
        _ => "edited",
    }
}
