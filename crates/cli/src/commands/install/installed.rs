//! `prowess list --installed`: the skills in `skills.lock`, of the project and of the user.

use std::fmt::Write as _;

use prowess::install::{
    ClientDifference, ClientState, FileChange, InstallScope, InstalledSkill, InstalledState,
};
use serde_json::{Value, json};

use super::{report, verify};
use crate::Outcome;
use crate::error::CommandError;
use crate::report::json::VERSION;
use crate::ui::{FAINT, STRONG, Ui, clean, count};

/// Runs the command.
pub(crate) fn run(json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    let installer = super::here()?;
    let user = installer.folders().user.as_ref().map(|_| InstallScope::User);
    for scope in [InstallScope::Project].into_iter().chain(user) {
        installer.settle(scope, &mut |what| report::progress(what, ui))?;
    }
    let skills = installer.list()?;
    if json {
        let skills: Vec<Value> = skills.iter().map(value).collect();
        ui.json(&json!({"version": VERSION, "installed": skills}))?;
        return Ok(Outcome::Fine);
    }
    let mut text = String::new();
    for skill in &skills {
        let source = skill.locked.source.split_once('+').map_or("", |(_, place)| place);
        let state = match state(skill) {
            "clean" if skill.is_clean() => String::new(),
            "clean" => {
                let clients: Vec<&str> = skill.clients.iter().map(|other| &*other.client).collect();
                format!("  not as installed for {}; see: prowess verify", clean(&clients.join(", ")))
            }
            other => format!("  {other}"),
        };
        let name = skill.locked.upstream_name.as_deref();
        let name = name.map(|name| format!(", called {name} by its author")).unwrap_or_default();
        let _ = writeln!(
            text,
            "{STRONG}{}{STRONG:#}{state}  {FAINT}{}, {}, from {}{}{FAINT:#}",
            clean(&skill.name),
            skill.scope.word(),
            clean(&report::place(&skill.path)),
            clean(source),
            clean(&name)
        );
    }
    let _ = match skills.len() {
        0 => writeln!(text, "no skills are installed; install some with: prowess add SOURCE"),
        many => writeln!(text, "\n{} installed", count(many, "skill")),
    };
    ui.print(&text)?;
    Ok(Outcome::Fine)
}

/// An installed skill as JSON.
pub(super) fn value(skill: &InstalledSkill) -> Value {
    let reason = match &skill.state {
        InstalledState::Replaced(reason) => Some(reason),
        _ => None,
    };
    let files = match &skill.state {
        InstalledState::Edited(files) => &**files,
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
        "commit": skill.locked.commit,
        "digest": skill.locked.digest,
    })
}

fn client(difference: &ClientDifference) -> Value {
    let (state, files) = match &difference.state {
        ClientState::Missing => ("missing", &[][..]),
        ClientState::Edited(files) => ("edited", &**files),
        _ => ("other", &[][..]),
    };
    let path = difference.path.to_string_lossy();
    json!({"client": difference.client, "path": path, "state": state, "changes": changes(files)})
}

fn changes(files: &[(String, FileChange)]) -> Vec<Value> {
    let change =
        |(path, change): &(String, FileChange)| json!({"path": path, "change": verify::word(*change)});
    files.iter().map(change).collect()
}

fn state(skill: &InstalledSkill) -> &'static str {
    match skill.state {
        InstalledState::Clean => "clean",
        InstalledState::Missing => "missing",
        _ => "edited",
    }
}
