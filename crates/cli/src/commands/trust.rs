//! `prowess trust`: which skills of a project or of an MCP server agents may use.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use prowess::env::{self, Environment};
use prowess::library::clients::CLIENTS;
use prowess::library::views::Reach;
use prowess::registry::trust::{Approval, Approvals};
use prowess::{Candidate, Catalog, Entry, Location, LookupError, Obstacle, Registry};
use serde_json::json;

use super::advice::{kept_from_its_key_by, name_of};
use super::hints::command_for;
use super::unread::say_problems;
use super::{not_found, registry, seen};
use crate::Outcome;
use crate::args::Trust;
use crate::error::{CommandError, Failure};
use crate::report::json::VERSION;
use crate::ui::{Ui, clean};

/// Runs the command.
pub(crate) fn run(args: &Trust, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    let environment = Environment::current();
    environment.check().map_err(|error| Failure::from(&error))?;
    let Some(file) = Approvals::file(&environment) else {
        return Err(Failure::new("there is no place to keep approvals", "set HOME or XDG_STATE_HOME").into());
    };
    if args.list {
        let approvals = Approvals::load(&file).map_err(|error| Failure::from(&error))?;
        return list(&approvals, json, ui);
    }
    let what = args.what.as_deref().unwrap_or(".");
    let done = if args.revoke {
        Approvals::update(&file, |approvals| revoke(what, approvals))?
    } else if names_folder(what) {
        trust_folder(what, &file)?
    } else {
        trust_skill(args, what, &file, ui)?
    };
    if json {
        ui.json(&json!({"version": VERSION, "done": done}))?;
    } else {
        ui.print(&format!("{done}\n"))?;
    }
    Ok(Outcome::Fine)
}

/// Revokes trust by the approvals alone: what is trusted may be unreachable or gone.
fn revoke(what: &str, approvals: &mut Approvals) -> Result<String, CommandError> {
    let own_folders = own_folders();
    let is_of_user = |approval: &Approval| is_of_user(approval, &own_folders);
    // A text that names a folder means no skill that is called so: a skill could have any name.
    let is_meant = |approval: &&&Approval| !names_folder(what) || approval.location == what;
    let called = approvals.called(what);
    let called: Vec<&Approval> = called.iter().filter(is_meant).copied().collect();
    let here = env::absolute(Path::new("."));
    let project = prowess::library::clients::project(&here);
    let (own, _): (Vec<&Approval>, Vec<&Approval>) = called.iter().partition(|approval| {
        let path = approval.location.path();
        path.is_some_and(|path| Path::new(path).starts_with(project)) && !is_of_user(approval)
    });
    // If several have this name, those of this project count.
    let here = !own.is_empty();
    let called = if here { own } else { called };
    // An installed skill is trusted where it is, and where clients have a link to it or a copy.
    let same = called.windows(2).all(|two| matches!(two, [a, b] if a.digest == b.digest));
    if same
        && !here
        && let Some(installed) = called.iter().find(|approval| is_of_user(approval))
    {
        return Err(used_until_removed(installed, &own_folders));
    }
    let meant: Vec<String> = called.iter().map(|approval| approval.location.to_string()).collect();
    if meant.len() > 1 && !(same && here) {
        let error = format!("several trusted skills have this name: {}", clean(what));
        let one = |place: &String| format!("revoke the trust in one: {}", revoke_command(place));
        let hints = meant.iter().map(one).collect();
        return Err(Failure { hints, ..Failure::new(error, "") }.into());
    }
    let as_folder = meant.is_empty() && names_folder(what);
    let folder = env::absolute(Path::new(what));
    let count = if as_folder {
        // Without its approval, a skill in the user's own folders would be trusted with any content.
        let skills = std::mem::take(&mut approvals.skills);
        let (of_user, others): (Vec<Approval>, Vec<Approval>) = skills.into_iter().partition(is_of_user);
        approvals.skills = others;
        let count = approvals.revoke_folder(&folder);
        let is_within = |approval: &&Approval| {
            approval.location.path().is_some_and(|path| Path::new(path).starts_with(&folder))
        };
        if let Some(installed) = of_user.iter().find(is_within).filter(|_| count == 0) {
            return Err(used_until_removed(installed, &own_folders));
        }
        approvals.skills.extend(of_user);
        approvals.skills.sort_by(|a, b| a.location.cmp(&b.location));
        count
    } else {
        meant.iter().map(|place| approvals.revoke_skill(place)).sum()
    };
    let place = if as_folder { Some(folder.as_path()) } else { meant.first().map(Path::new) };
    let still = place.and_then(|place| approvals.folder_of(place));
    let still = still.map(|folder| clean(&folder.to_string_lossy()).into_owned());
    let shown = if as_folder { folder.to_string_lossy() } else { what.into() };
    let shown = clean(&shown);
    match (count, still) {
        (0, None) => {
            let error = format!("this is not trusted by itself: {}", clean(what));
            let mut failure = Failure::new(error, "list what is trusted with: prowess trust --list");
            if !as_folder && !approvals.folders.is_empty() {
                failure.hints.push("a skill in a trusted folder is trusted with it".to_owned());
            }
            Err(failure.into())
        }
        (0, Some(still)) => {
            let error = format!("this is trusted through a folder that it is in: {still}");
            let hint = format!("revoke the trust in the folder: {}", revoke_command(&still));
            Err(Failure::new(error, hint).into())
        }
        (_, None) => Ok(format!("no longer trusted: {shown}")),
        (_, Some(still)) => {
            Ok(format!("no longer trusted by itself: {shown}; still trusted through: {still}"))
        }
    }
}

/// The folders in which clients look for the user's own skills.
fn own_folders() -> Vec<PathBuf> {
    let environment = Environment::current();
    let home = environment.home().map(|home| home.join(prowess::install::SKILLS_FOLDER));
    let paths = CLIENTS.iter().flat_map(|client| client.user.iter().chain(client.user_folders()));
    let of_clients = paths.filter_map(|path| environment.expand(path));
    home.into_iter().chain(of_clients).collect()
}

/// Whether a skill is in one of the user's own folders. Skills that were not installed there need no trust, so without
/// its approval an installed one would count as such a skill.
fn is_of_user(approval: &Approval, own_folders: &[PathBuf]) -> bool {
    let path = approval.location.path().map(Path::new);
    path.is_some_and(|path| own_folders.iter().any(|folder| path.starts_with(folder)))
}

/// The error for a skill whose approval stays as long as the skill is there.
fn used_until_removed(installed: &Approval, own_folders: &[PathBuf]) -> CommandError {
    let place = installed.location.text();
    let error = format!(
        "a skill that you installed for yourself is used as you accepted it until it is removed: {place}"
    );
    // It may be inside of the one that was installed.
    let mut below = own_folders.iter().filter_map(|folder| Path::new(&*place).strip_prefix(folder).ok());
    let name = below.next().and_then(|below| below.iter().next()).unwrap_or_default();
    let remove = command_for("remove --user", &name.to_string_lossy(), "");
    let mut failure = Failure::new(clean(&error), format!("remove it with: {remove}"));
    failure.hints.push("if it is no longer installed, delete its folder".to_owned());
    failure.into()
}

fn revoke_command(what: &str) -> String {
    command_for("trust --revoke", what, "")
}

fn trust_folder(what: &str, file: &Path) -> Result<String, CommandError> {
    let folder = env::absolute(Path::new(what));
    if !folder.is_dir() {
        let (error, hint) = if folder.exists() {
            ("this is a file, not a folder", "name the folder that it is in, or a skill by its name")
        } else {
            ("there is no such folder", "check the spelling")
        };
        return Err(Failure::new(format!("{error}: {}", clean(what)), hint).into());
    }
    let shown = clean(&folder.to_string_lossy()).into_owned();
    if folder.to_str().is_none() {
        let error = format!("a folder whose path is not UTF-8 cannot be trusted: {shown}");
        return Err(Failure::new(error, "rename the folder").into());
    }
    let environment = Environment::current();
    let is_top = folder.components().count() <= 2 && environment.has_home_in(&folder);
    if is_top || environment.is_home(&folder) || folder.parent().is_none() {
        let error = format!("this folder is too much to trust: {shown}");
        let mut failure = Failure::new(error, "name the folder of one project");
        failure.causes.push("it holds everything in your home, also what you download later".to_owned());
        return Err(failure.into());
    }
    Approvals::update(file, |approvals| {
        approvals.trust_folder(folder);
        Ok::<_, CommandError>(())
    })?;
    Ok(format!("trusted, with everything in it: {shown}"))
}

/// Whether the argument names a folder, not a skill. Only its spelling decides: a repository could have a folder with the
/// name of a skill.
fn names_folder(what: &str) -> bool {
    let path = matches!(what, "." | "..") || what.contains(['/', '\\']) || what.starts_with('~');
    path && !names_server_location(what)
}

/// Whether this is the location of a skill of a server, such as `mcp:team:skill://refunds/SKILL.md`.
fn names_server_location(what: &str) -> bool {
    matches!(Location::parse(what), Location::Mcp { .. })
}

fn trust_skill(args: &Trust, what: &str, file: &Path, ui: &mut Ui) -> Result<String, CommandError> {
    // With a client, by the name that it shows, whether it lists the skill or not.
    let registry = if args.places.clients.is_empty() {
        registry(&args.places)?
    } else {
        seen(&args.places, Reach::Everywhere)?.0
    };
    let catalog = registry.catalog();
    let skill = meant(args, what, &registry, &catalog, ui)?;
    let digest = registry.approvable(skill).map_err(|error| Failure::from(&error))?;
    // The file is locked only now, so that another `prowess trust` does not wait for a server.
    Approvals::update(file, |approvals| {
        approvals.trust_skill(skill, digest.clone());
        Ok::<_, CommandError>(())
    })?;
    let Entry { key, origin, .. } = &skill.entry;
    let mut done =
        format!("trusted with its current files: {} {} {digest}", clean(key), clean(&origin.location.text()));
    if let Some(other) = kept_from_its_key_by(skill, &catalog) {
        let place = other.entry.origin.location.text();
        let _ = write!(done, "; it is not used as long as another skill has its key: {}", clean(&place));
    }
    Ok(done)
}

/// The skill to trust. A skill of a server must be named by its whole key or its location: a server can choose any name,
/// so a bare name always means a local skill.
fn meant<'c>(
    args: &Trust,
    what: &str,
    registry: &Registry,
    catalog: &'c Catalog,
    ui: &mut Ui,
) -> Result<&'c Candidate, CommandError> {
    if names_server_location(what) {
        let mut all = catalog.all().map(|(candidate, _)| candidate);
        return all.find(|candidate| candidate.entry.origin.location == what).ok_or_else(|| {
            say_problems(registry, ui);
            let error = format!("no server lists a skill at this location: {}", clean(what));
            let hint = format!("see the locations with: prowess why NAME{}", args.places.options());
            Failure::new(error, hint).into()
        });
    }
    let found = catalog.why(what).into_iter().map(|(candidate, _)| candidate);
    let (of_servers, here): (Vec<_>, Vec<_>) = found.partition(|candidate| candidate.wants_approval);
    // A skill that is not trusted may be shadowed by one that needs no trust.
    let untrusted = |candidate: &&&Candidate| candidate.obstacle == Some(Obstacle::Untrusted);
    let same_key = |candidate: &&&Candidate| candidate.entry.key == what;
    let offered = catalog.get(what);
    let first = here.iter().filter(same_key).find(untrusted).copied();
    let first = first.or(offered.filter(|offered| offered.wants_approval));
    if let Some(skill) = first.or(here.iter().find(untrusted).copied()) {
        return Ok(skill);
    }
    if let Some(skill) = offered.filter(|offered| registry.needs_trust(offered)) {
        return Ok(skill);
    }
    let nameable = |candidate: &&&Candidate| candidate.is_usable() || untrusted(candidate);
    let others: Vec<String> = of_servers
        .iter()
        .filter(nameable)
        .map(|other| {
            let command = command_for("trust", &name_of(other, catalog), &args.places.options());
            format!("trust the one of a server: {command}")
        })
        .collect();
    let mut failure = match registry.get(what) {
        Ok(offered) => {
            let place = offered.entry.origin.location.text();
            let error = format!("this skill needs no trust: {}: {}", clean(what), clean(&place));
            Failure::new(error, "only a project's own skills do, and those of MCP servers")
        }
        // A bare word never means a folder, since a repository could have a folder of that name.
        Err(LookupError::Unknown { .. }) if others.is_empty() && Path::new(what).is_dir() => {
            let error = format!("there is no such skill: {}", clean(what));
            let command = command_for("trust", &format!("./{what}"), "");
            Failure::new(error, format!("the folder of this name is trusted by: {command}"))
        }
        Err(error) if others.is_empty() => return Err(not_found(&error, registry, &args.places, ui)),
        Err(_) => {
            let error = format!("a skill of an MCP server is trusted by its whole key: {}", clean(what));
            Failure { hints: Vec::new(), ..Failure::new(error, "") }
        }
    };
    failure.hints.extend(others);
    Err(failure.into())
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
            clean(&approval.location.text()),
            approval.digest
        );
    }
    if text.is_empty() {
        text.push_str("nothing is trusted\n");
    }
    ui.print(&text)?;
    Ok(Outcome::Fine)
}
