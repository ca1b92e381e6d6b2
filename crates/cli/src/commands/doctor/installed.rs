//! Installed skills: interrupted installations, records that cannot be read, skills that are not as installed, and git.

use std::collections::BTreeMap;
use std::path::Path;

use prowess::install::{
    ClientState, InstallError, InstallScope, InstalledOrigin, InstalledSkill, InstalledState, Installer,
    Leftover, LeftoverKind,
};
use prowess::internal::{Denied, closed, first_mount};
use prowess::{Candidate, Obstacle, Scope};

use super::super::install::scope_option;
use super::super::shown;
use super::examination::{Examination, of_failure, stays};
use super::issue::{Issue, Kind, Repair};
use crate::error::{CommandError, Failure};
use crate::ui::command::{command_for, word};
use crate::ui::{clean, count};

/// The most entries of a skill's folder that are looked at.
const MAX_ENTRIES: usize = 10_000;

/// The installed skills of each scope, as they were compared; none of a scope in which that failed.
pub(super) type Compared = BTreeMap<InstallScope, Vec<InstalledSkill>>;

/// All of them, and what was compared.
pub(super) fn issues(examination: &Examination) -> (Vec<Issue>, Compared) {
    let (mut issues, mut compared) = (Vec::new(), Compared::new());
    if let Some(installer) = &examination.installer {
        for scope in installer.listed_scopes() {
            let skills = of_scope(examination, installer, scope, &mut issues);
            compared.extend(skills.map(|skills| (scope, skills)));
        }
    }
    let from_git = compared.values().flatten().any(|skill| skill.locked.commit.is_some());
    if examination.environment.program("git").is_none() {
        let kind = if from_git { Kind::GitNeeded } else { Kind::GitMissing };
        issues.push(
            Issue::new(kind, "git is in no folder of PATH")
                .fixed("install git with the package manager of your system, or add its folder to PATH"),
        );
    }
    (issues, compared)
}

/// The issues of a project or of the user. Returns the installed skills, if they could be compared.
fn of_scope(
    examination: &Examination,
    installer: &Installer,
    scope: InstallScope,
    issues: &mut Vec<Issue>,
) -> Option<Vec<InstalledSkill>> {
    let leftovers = match installer.check_usable(scope).and_then(|()| installer.leftovers(scope)) {
        Ok(leftovers) => leftovers,
        Err(error) => {
            issues.push(unread(error));
            return None;
        }
    };
    let interrupted = leftovers.iter().any(|left| left.kind == LeftoverKind::Journal);
    issues.extend(leftovers.into_iter().map(|left| leftover(left, scope)));
    if interrupted {
        // Skills that are partly old and partly new say nothing that the completed installation does not.
        return None;
    }
    let found = installer.compare(scope).and_then(|skills| Ok((skills, installer.not_locked(scope)?)));
    let (skills, absent) = match found {
        Ok(found) => found,
        Err(error) => {
            issues.push(unread(error));
            return None;
        }
    };
    for skill in skills.iter().filter(|skill| !skill.is_intact()) {
        let found = in_its_folder(examination, skill);
        // Edits that the user accepted are as they should be.
        let is_accepted = matches!(skill.state, InstalledState::Edited(_))
            && skill.clients.is_empty()
            && found.is_some_and(|found| found.approved.is_some());
        if !is_accepted {
            issues.push(differs(examination, skill, found));
        }
    }
    let user = scope_option(scope);
    issues.extend(absent.into_iter().map(|name| {
        let what = format!("{} of the {} names it", prowess::install::SKILLS_FILE, scope.word());
        Issue::new(Kind::InstalledMissing, what).of_skill(&name).fixed_by(Some(format!("prowess sync{user}")))
    }));
    Some(skills)
}

fn unread(error: InstallError) -> Issue {
    let record = error.path().map(Path::to_owned);
    let failure = match CommandError::from(error) {
        CommandError::Failed(failure) | CommandError::OutOfDate(failure) => failure,
        CommandError::ClosedPipe => Failure::new("the records cannot be read", ""),
    };
    Issue { record, ..of_failure(Kind::RecordsBroken, &failure) }
}

fn leftover(Leftover { path, kind, .. }: Leftover, scope: InstallScope) -> Issue {
    let user = scope_option(scope);
    let removed_by_hand = |what: &str, first: &str| {
        Issue::new(Kind::InstallLeftover, what)
            .at(&path)
            .seen_by(Some(format!("prowess verify{user}")))
            .fixed(format!("{first}, then remove it"))
    };
    match kind {
        LeftoverKind::Journal => {
            let what = format!("skills of the {} are partly old and partly new", scope.word());
            Issue::new(Kind::InstallInterrupted, what).at(&path).repaired(Repair::Settle(scope), None)
        }
        LeftoverKind::Unfinished => {
            let what = "it is not needed any more";
            Issue::new(Kind::InstallLeftover, what).at(&path).repaired(Repair::Settle(scope), None)
        }
        LeftoverKind::SetAside => {
            let what = "a journal that could be neither completed nor undone";
            let remove = word(&path).map(|path| format!("rm {path}"));
            removed_by_hand(what, "compare what is installed with the lock").fixed_by(remove)
        }
        _ => {
            let what = "another user is installing, or it came with a copy of the project";
            // It may be all that there is of what is in it: no command deletes it.
            removed_by_hand(what, "take what you need from it")
        }
    }
}

/// The skill that was found in the folder of an installed one.
fn in_its_folder<'l>(examination: &'l Examination, skill: &InstalledSkill) -> Option<&'l Candidate> {
    let is_there = |found: &Candidate| {
        let file = found.entry.origin.location.path().map(Path::new);
        file.and_then(Path::parent) == Some(&skill.path)
    };
    examination.opened.as_ref()?.all.all().map(|(found, _)| found).find(|found| is_there(found))
}

/// What this user may not read of a skill that could not be compared: what belongs to another user first. Nothing is looked
/// at where a link leads: it may be any folder of the user, and not that of the skill.
fn closed_in(examination: &Examination, skill: &InstalledSkill) -> Option<Denied> {
    let bounds = match skill.scope {
        InstallScope::Project => examination.bounds(Scope::Project),
        InstallScope::User => None,
    };
    if !matches!(skill.state, InstalledState::Replaced { .. })
        || skill.path.is_symlink()
        || !stays(&skill.path, bounds.as_deref())
    {
        return None;
    }
    let mut folders = vec![skill.path.clone()];
    let mut left = MAX_ENTRIES;
    let mut own = None;
    while let Some(folder) = folders.pop() {
        let mut paths = Vec::new();
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten().take(left) {
            left -= 1;
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => folders.push(entry.path()),
                Ok(kind) if kind.is_file() => paths.push(entry.path()),
                _ => {}
            }
        }
        paths.push(folder);
        for path in paths {
            match closed(&path) {
                denied @ Some(Denied::Owner { .. }) => return denied,
                denied => own = own.or(denied),
            }
        }
    }
    own
}

/// The issue of a skill that is not as it was installed.
fn differs(examination: &Examination, skill: &InstalledSkill, found: Option<&Candidate>) -> Issue {
    let user = scope_option(skill.scope);
    let mut parts = Vec::new();
    match &skill.state {
        InstalledState::Clean | InstalledState::LineEnds(_) => {}
        InstalledState::Missing => parts.push("its folder is missing".to_owned()),
        InstalledState::OtherVersion => parts.push("it is another version that you installed".to_owned()),
        InstalledState::Edited(files) if files.is_empty() => parts.push("its files changed".to_owned()),
        InstalledState::Edited(files) => parts.push(format!("{} changed", count(files.len(), "file"))),
        InstalledState::Replaced { reason, .. } => parts.push(reason.clone()),
        _ => parts.push("it is not as installed".to_owned()),
    }
    for difference in skill.clients.iter().filter(|other| other.state != ClientState::Left) {
        let what = match difference.state {
            ClientState::Missing => "is missing",
            ClientState::Edited(_) => "is an edited copy",
            ClientState::LineEnds(_) => "has other line ends",
            ClientState::OtherVersion => "is a copy of another version",
            _ => "is something else",
        };
        parts.push(format!("for {} {} {what}", difference.client, difference.path.display()));
    }
    let issue = Issue::new(Kind::InstalledDiffers, parts.join("; "))
        .of_skill(&skill.name)
        .at(&skill.path)
        .seen_by(Some(command_for(&format!("verify{user}"), &skill.name, "")));
    // What cannot be read can be neither compared nor replaced.
    match closed_in(examination, skill) {
        Some(Denied::Owner { path, .. }) => {
            let whose = "belongs to another user: have its owner make it readable for this user";
            return issue.fixed(format!("{} {whose}", shown(&path)));
        }
        Some(Denied::Mode(_)) => {
            let command = word(&skill.path).map(|path| format!("chmod -R u+rwX {path}"));
            return issue.fixed("make it readable for this user").fixed_by(command);
        }
        None => {}
    }
    let mut paths = std::iter::once(&skill.path).chain(skill.clients.iter().map(|client| &client.path));
    if let Some(mount) = paths.find_map(|path| first_mount(path)) {
        // Nothing is replaced through a mount.
        return issue.fixed(format!("unmount {}, then look again", shown(&mount)));
    }
    if skill.has_losable_edits() {
        // Only files that agents do not use as they are can be accepted.
        let untrusted = found.filter(|found| found.obstacle == Some(Obstacle::Untrusted));
        let accept = untrusted.map(|found| {
            format!("; or accept them with: {}", clean(&command_for("trust", &found.entry.key, "")))
        });
        issue
            .fixed(format!("restore it, which loses the edits{}", accept.unwrap_or_default()))
            .fixed_by(Some(format!("prowess sync --overwrite{user}")))
    } else {
        issue.fixed_by(Some(format!("prowess sync{user}")))
    }
}

/// How to mend an installed skill that agents cannot use: in words, and the command.
pub(super) fn mending(compared: &Compared, origin: &InstalledOrigin) -> (&'static str, Option<String>) {
    let mut skills = compared.get(&origin.scope).into_iter().flatten();
    match skills.find(|skill| skill.name == origin.locked.name) {
        Some(skill) if skill.has_losable_edits() => {
            let restore = format!("prowess sync --overwrite{}", scope_option(origin.scope));
            ("it is installed: restore it, which loses the edits", Some(restore))
        }
        Some(_) => ("it is installed: tell its author, or remove it", removing(origin)),
        None => ("it is installed: look at what keeps it from being compared first", None),
    }
}

/// The command that removes an installed skill which was not edited.
pub(super) fn removing(origin: &InstalledOrigin) -> Option<String> {
    let verb = format!("remove{}", scope_option(origin.scope));
    word(std::path::Path::new(&origin.locked.name)).map(|_| command_for(&verb, &origin.locked.name, ""))
}
