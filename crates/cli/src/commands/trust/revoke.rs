//! `prowess trust --revoke`: ends trust in a skill, or in a folder and in what is in it.

use std::path::{Path, PathBuf};

use prowess::env::{self, Environment};
use prowess::library::clients;
use prowess::registry::trust::{Approval, Approvals};
use serde_json::json;

use super::is_too_much;
use super::named::{self, Named, is_skill_file};
use crate::Outcome;
use crate::error::{CommandError, Failure};
use crate::explain::provenance::read_origins;
use crate::report::json::VERSION;
use crate::ui::command::command_for;
use crate::ui::{Ui, clean};

/// What is no longer trusted.
struct Revoked {
    /// In words.
    done: String,
    /// The folders and the locations of skills that were trusted.
    was: Vec<String>,
}

/// Revokes trust. For the home of the user, and folders above it, the user is asked: that is everything that is trusted.
pub(super) fn run(
    what: &str,
    yes: bool,
    file: &Path,
    json: bool,
    ui: &mut Ui,
) -> Result<Outcome, CommandError> {
    let folder = env::absolute(Path::new(what));
    if Named::of(what) != Named::Skill && is_too_much(&folder) && !yes {
        let mut approvals = Approvals::load(file).map_err(|error| Failure::from(&error))?;
        let revoked = revoke(what, &mut approvals)?;
        ui.tell(&lines(&revoked.was));
        let unasked = Failure::new(
            "this folder holds everything that is listed above, and there is no terminal to ask at, so nothing was \
             changed",
            format!("name one of them, or end trust in all with: {} --yes", revoke_command(what)),
        );
        let refused = "name one of them, or answer y to end trust in all";
        let refused = Failure::new("you did not agree, so nothing was changed", refused);
        ui.confirm("End trust in all of them?", unasked, refused)?;
    }
    let revoked = Approvals::update(file, |approvals| revoke(what, approvals))?;
    if json {
        ui.json(&json!({"version": VERSION, "done": revoked.done, "revoked": revoked.was}))?;
        return Ok(Outcome::Fine);
    }
    ui.print(&format!("{}\n", revoked.done))?;
    // What was trusted below a folder is named too.
    let is_other = |place: &String| Path::new(place) != folder;
    if Named::of(what) != Named::Skill && revoked.was.iter().any(is_other) {
        ui.print(&lines(&revoked.was))?;
    }
    Ok(Outcome::Fine)
}

fn lines(places: &[String]) -> String {
    places.iter().map(|place| format!("  {}\n", clean(place))).collect()
}

/// Revokes trust by the approvals alone: what is trusted may be unreachable or gone.
fn revoke(what: &str, approvals: &mut Approvals) -> Result<Revoked, CommandError> {
    let before = approvals.clone();
    let own_folders = own_folders();
    let is_of_user = |approval: &Approval| is_of_user(approval, &own_folders);
    // A text that names a folder means no skill that is called so: a skill could have any name.
    let named = Named::of(what);
    let place = env::absolute(Path::new(what));
    let is_meant = |approval: &&&Approval| {
        named != Named::Folder || [what, &place.to_string_lossy()].contains(&&*approval.location.text())
    };
    let mut called = approvals.called(what);
    if called.is_empty() && what.contains(['/', '\\']) {
        called = approvals.called(&place.to_string_lossy());
    }
    let called: Vec<&Approval> = called.iter().filter(is_meant).copied().collect();
    let has_below = || approvals.clone().revoke_folder(&place) > 0;
    if named == Named::Either && !called.is_empty() && has_below() {
        let places: Vec<String> = called.iter().map(|approval| approval.location.to_string()).collect();
        return Err(named::ambiguous("trust --revoke", what, &places));
    }
    let here = env::absolute(Path::new("."));
    let project = clients::project(&here);
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
        let (installed, all) = ((*installed).clone(), called.into_iter().cloned().collect::<Vec<_>>());
        return withhold(what, &all, approvals).ok_or_else(|| used_until_removed(&installed, &own_folders));
    }
    let meant: Vec<String> = called.iter().map(|approval| approval.location.to_string()).collect();
    if meant.len() > 1 && !(same && here) && !is_skill_file(what) {
        let error = format!("several trusted skills have this name: {}", clean(what));
        let one = |place: &String| format!("revoke the trust in one: {}", revoke_command(place)).into();
        let hints = meant.iter().map(one).collect();
        return Err(Failure { hints, ..Failure::new(error, "") }.into());
    }
    let as_folder = meant.is_empty() && named != Named::Skill;
    let folder = place.clone();
    // Without its approval, a skill in the user's own folders would be trusted with any content.
    let (of_user, others) = std::mem::take(&mut approvals.skills).into_iter().partition(is_of_user);
    approvals.skills = others;
    let count = if as_folder {
        approvals.revoke_folder(&folder)
    } else {
        meant.iter().map(|place| approvals.revoke_skill(place)).sum()
    };
    let mut users = Approvals::default();
    users.skills = of_user;
    if as_folder && count == 0 {
        let mut left = users.clone();
        left.revoke_folder(&folder);
        let within: Vec<Approval> =
            users.skills.iter().filter(|approval| !left.skills.contains(approval)).cloned().collect();
        if let Some(installed) = within.first() {
            approvals.skills.extend(users.skills);
            return withhold(what, &within, approvals)
                .ok_or_else(|| used_until_removed(installed, &own_folders));
        }
    }
    let revoked = if as_folder { Some(folder.as_path()) } else { meant.first().map(Path::new) };
    let still = revoked.and_then(|place| approvals.folder_of(place)).map(Path::to_string_lossy);
    // The same file may be accepted as a skill that was installed for the user.
    let ended = before.skills.iter().filter(|skill| !approvals.skills.contains(skill) && !is_of_user(skill));
    let of_user = ended.flat_map(|skill| users.called(skill.location.path().unwrap_or_default())).next();
    let still = still.or_else(|| of_user.map(|skill| skill.location.text()));
    let still = still.map(|place| clean(&place).into_owned());
    approvals.skills.extend(users.skills);
    approvals.skills.sort_by(|a, b| a.location.cmp(&b.location));
    let shown = if as_folder { folder.to_string_lossy() } else { what.into() };
    let shown = clean(&shown);
    match (count, still) {
        (0, None) => {
            let error = format!("this is not trusted by itself: {}", clean(what));
            let mut failure = Failure::new(error, "list what is trusted with: prowess trust --list");
            if !as_folder && !approvals.folders.is_empty() {
                failure.hints.push("a skill in a trusted folder is trusted with it".into());
            }
            Err(failure.into())
        }
        (0, Some(still)) => {
            let error = format!("this is trusted through a folder that it is in: {still}");
            let hint = format!("revoke the trust in the folder: {}", revoke_command(&still));
            Err(Failure::new(error, hint).into())
        }
        (_, still) => {
            let done = match still {
                None => format!("no longer trusted: {shown}"),
                Some(still) => {
                    format!("no longer trusted by itself: {shown}; still trusted through: {still}")
                }
            };
            let folders = before.folders.iter().filter(|folder| !approvals.folders.contains(folder));
            let folders = folders.map(|folder| folder.to_string_lossy().into_owned());
            let skills = before.skills.iter().filter(|skill| !approvals.skills.contains(skill));
            let skills = skills.map(|skill| skill.location.to_string());
            Ok(Revoked { done, was: folders.chain(skills).collect() })
        }
    }
}

/// The folders in which clients look for the user's own skills.
pub(super) fn own_folders() -> Vec<PathBuf> {
    clients::own_folders(&Environment::current()).collect()
}

/// Whether a skill is in one of the user's own folders. Skills that were not installed there need no trust, so without
/// its approval an installed one would count as such a skill.
fn is_of_user(approval: &Approval, own_folders: &[PathBuf]) -> bool {
    let path = approval.location.path().map(Path::new);
    path.is_some_and(|path| own_folders.iter().any(|folder| path.starts_with(folder)))
}

/// Withholds skills of the user that were accepted with other files than were installed, until these are restored. Their
/// approvals stay without a digest: without one, the skills would count as the user's own. None if there are none.
fn withhold(what: &str, skills: &[Approval], approvals: &mut Approvals) -> Option<Revoked> {
    let origins = read_origins();
    let is_edited = |approval: &&Approval| {
        let origin = origins.of_file(&approval.location);
        approval.digest.is_some()
            && origin.is_some_and(|origin| {
                approval.digest != origin.locked.digest && !origins.restores_accepted(origin)
            })
    };
    let edited: Vec<&Approval> = skills.iter().filter(is_edited).collect();
    let mut others = approvals.clone();
    for approval in &edited {
        others.revoke_skill(&approval.location.text());
    }
    let withheld = approvals.skills.iter_mut().filter(|approval| !others.skills.contains(approval));
    withheld.for_each(|approval| approval.digest = None);
    edited.first()?;
    let restore = "restore what was installed with: prowess sync --overwrite --user";
    let done = format!("no longer trusted as it is now: {}; {restore}", clean(what));
    Some(Revoked { done, was: edited.iter().map(|approval| approval.location.to_string()).collect() })
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
    failure.hints.push("if it is no longer installed, delete its folder".into());
    failure.into()
}

fn revoke_command(what: &str) -> String {
    command_for("trust --revoke", what, "")
}
