//! `prowess trust`: which skills of a project or of an MCP server agents may use.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use prowess::Obstacle;
use prowess::env::{self, Environment};
use prowess::trust::Approvals;
use serde_json::json;

use super::{not_had, registry};
use crate::Outcome;
use crate::args::Trust;
use crate::error::{CommandError, Failure};
use crate::report::json::VERSION;
use crate::ui::{Ui, clean};

/// Runs the command.
pub(crate) fn run(args: &Trust, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    let environment = Environment::current();
    let Some(file) = Approvals::file(&environment) else {
        return Err(Failure::new("there is no place to keep approvals", "set HOME or XDG_STATE_HOME").into());
    };
    if args.list {
        let approvals = Approvals::load(&file).map_err(|error| Failure::from(&error))?;
        return list(&approvals, json, ui);
    }
    let what = args.what.as_deref().unwrap_or(".");
    let done = Approvals::update(&file, |approvals| {
        if args.revoke { revoke(args, what, approvals) } else { trust(args, what, approvals, ui) }
    })?;
    if json {
        ui.json(&json!({"version": VERSION, "done": done}))?;
    } else {
        ui.print(&format!("{done}\n"))?;
    }
    Ok(Outcome::Fine)
}

fn revoke(args: &Trust, what: &str, approvals: &mut Approvals) -> Result<String, CommandError> {
    let folder = env::absolute(Path::new(what));
    let as_folder = names_folder(what);
    // The places that are meant: the folder, or where skills of this name lie.
    let mut places: Vec<PathBuf> = vec![folder.clone()];
    let mut by_key = 0;
    if !as_folder {
        let approved = approvals.skills.iter().filter(|approval| approval.name == what);
        places = approved.map(|approval| PathBuf::from(&approval.location)).collect();
        let registry = registry(&args.places)?;
        let catalog = registry.catalog();
        let found = catalog.why(what);
        places.extend(found.iter().map(|(skill, _)| PathBuf::from(&skill.entry.origin.location)));
        // Approvals know no keys: a skill with a prefix is found by its place.
        let keyed = found.iter().filter(|(skill, _)| skill.entry.key == what);
        by_key = keyed.map(|(skill, _)| approvals.revoke_skill(&skill.entry.origin.location)).sum();
    }
    // The place of an approved skill is a path as well.
    let folders = if as_folder { approvals.revoke_folder(&folder) } else { 0 };
    let count = folders + by_key + approvals.revoke_skill(what);
    let still = places.iter().find_map(|place| approvals.folder_of(place));
    let still = still.map(|folder| clean(&folder.to_string_lossy()).into_owned());
    let shown = if as_folder { folder.to_string_lossy() } else { what.into() };
    let shown = clean(&shown);
    match (count, still) {
        (0, None) => {
            let error = format!("this is not trusted: {}", clean(what));
            Err(Failure::new(error, "list what is trusted with: prowess trust --list").into())
        }
        (0, Some(still)) => {
            let error = format!("this is trusted through a folder that it lies in: {still}");
            let hint = format!("take the trust from the folder: prowess trust --revoke {still}");
            Err(Failure::new(error, hint).into())
        }
        (_, None) => Ok(format!("no longer trusted: {shown}")),
        (_, Some(still)) => {
            Ok(format!("no longer trusted by itself: {shown}; still trusted through: {still}"))
        }
    }
}

fn trust(args: &Trust, what: &str, approvals: &mut Approvals, ui: &mut Ui) -> Result<String, CommandError> {
    if !names_folder(what) {
        return trust_skill(args, what, approvals, ui);
    }
    let folder = env::absolute(Path::new(what));
    if !folder.is_dir() {
        let error = format!("there is no such folder: {}", clean(what));
        return Err(Failure::new(error, "check the spelling").into());
    }
    approvals.trust_folder(folder.clone());
    Ok(format!("trusted, whatever is in it: {}", clean(&folder.to_string_lossy())))
}

/// Whether a folder is meant and not a skill: a repository must not be able to steer that by a folder of its name.
fn names_folder(what: &str) -> bool {
    matches!(what, "." | "..") || what.contains(['/', '\\']) || what.starts_with('~')
}

fn trust_skill(
    args: &Trust,
    name: &str,
    approvals: &mut Approvals,
    ui: &mut Ui,
) -> Result<String, CommandError> {
    let registry = registry(&args.places)?;
    let catalog = registry.catalog();
    // A skill that is not trusted may stand behind one that needs no trust.
    let found = catalog.why(name);
    let untrusted = found.iter().map(|(candidate, _)| *candidate);
    let untrusted = untrusted.into_iter().find(|candidate| candidate.obstacle == Some(Obstacle::Untrusted));
    let offered;
    let skill = match untrusted {
        Some(skill) => skill,
        None => {
            offered = registry.get(name).map_err(|error| not_had(&error, &registry, ui))?;
            &*offered
        }
    };
    if !registry.needs_trust(skill) {
        let error = format!("this skill needs no trust: {}", clean(name));
        return Err(Failure::new(error, "only a project's own skills do, and those of MCP servers").into());
    }
    let files = registry.approvable(skill).map_err(|error| Failure::from(&error))?;
    let Some(digest) = approvals.trust_skill(skill, &files) else {
        let error = format!("the files of this skill have no digests: {}", clean(name));
        return Err(Failure::new(error, "trust the folder it lies in").into());
    };
    Ok(format!("trusted as it is: {} {digest}", clean(name)))
}

fn list(approvals: &Approvals, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    if json {
        ui.json(&json!({"version": VERSION, "folders": approvals.folders, "skills": approvals.skills}))?;
        return Ok(Outcome::Fine);
    }
    let mut text = String::new();
    for folder in &approvals.folders {
        let _ = writeln!(text, "folder  {}", clean(&folder.to_string_lossy()));
    }
    for approval in &approvals.skills {
        let _ = writeln!(
            text,
            "skill   {}  {}  {}",
            clean(&approval.name),
            clean(&approval.location),
            approval.digest
        );
    }
    if text.is_empty() {
        text.push_str("nothing is trusted\n");
    }
    ui.print(&text)?;
    Ok(Outcome::Fine)
}
