//! What `--fix` changes: only what loses nothing.

use std::path::Path;

use prowess::client::{Fact, Facts};
use prowess::env::Environment;
use prowess::install::LeftoverKind;
use prowess::internal::{abandoned, first_mount, remove_tree, replace_where, sweep};
use prowess::registry::trust::Approvals;
use prowess::settings::ConfigLimits;
use prowess::{Candidate, Config, Document, FixMode, Preset, Profile, SkillFile, fix};

use super::super::fixable::Fixable;
use super::super::{install, read_skill, shown};
use super::examination::stays;
use super::issue::{Bounded, Repair};
use crate::error::{CommandError, Failure};
use crate::report::patch;
use crate::ui::{Ui, count};

/// What the safe fixes of `check` make of a SKILL.md.
pub(super) struct SafeFix {
    before: Vec<u8>,
    size: u64,
    fixes: usize,
    /// The document afterwards.
    pub(super) document: Document,
}

impl SafeFix {
    /// The facts about the skill afterwards, as far as they are about its text.
    pub(super) fn facts(&self, skill: &Candidate) -> Facts {
        let Some(entry) = self.document.skill(&skill.entry.origin) else { return Facts::of(Fact::ALL) };
        let blank = skill.sighting.unwrap_or_default().facts.has(Fact::BlankBody);
        Facts::of_document(&self.document, &entry, self.size, blank)
    }
}

/// What the safe fixes of `check` make of a SKILL.md; `None` if they change nothing, or must not: nothing is read or
/// written outside the folder that the file must stay in.
pub(super) fn safe_fix(Bounded { path: file, within }: &Bounded) -> Option<SafeFix> {
    if !stays(file, within.as_deref()) {
        return None;
    }
    let skill = SkillFile { path: file.to_owned() };
    let head = read_skill(file).ok().filter(prowess::fs::read::Head::is_whole)?;
    let document = head.document();
    let fixed = fix(&document, None, &skill.origin(), &profile(file)?, FixMode::Safe);
    let size = fixed.document.raw().len() as u64;
    let changed = fixed.document.raw() != document.raw();
    changed.then_some(SafeFix {
        before: head.bytes,
        size,
        fixes: fixed.applied.len(),
        document: fixed.document,
    })
}

/// The profile by which `check` judges a file; `None` if its configuration ignores the file or cannot be used.
fn profile(file: &Path) -> Option<Profile> {
    let Some(found) = file.parent().and_then(|folder| Config::find(folder).file) else {
        return Some(Profile::new(Preset::Spec));
    };
    let approvals = Approvals::file(&Environment::current()).and_then(|file| Approvals::load(&file).ok());
    let config =
        Config::read_of_project(&found, ConfigLimits::default(), &approvals.unwrap_or_default()).ok()?;
    (!config.ignores(file)).then(|| config.profile(file, None))
}

impl Repair {
    /// What it does, in words.
    pub(super) fn words(&self) -> String {
        match self {
            Self::Settle(scope) => format!(
                "complete the interrupted installation of the {}, or undo it, and remove what is no longer needed of it",
                scope.word()
            ),
            Self::Sweep(folder) => format!("remove unfinished files in {}", shown(&folder.path)),
            Self::Remove(file) => format!("remove the stale cache {}", shown(file)),
            Self::Check(file) => format!("apply the safe fixes of check to {}", shown(&file.path)),
        }
    }
}

/// A repair that the user agreed to, as it was shown.
pub(super) struct Agreed {
    repair: Repair,
    /// Computed once, so that what is written is what was shown.
    fix: Option<SafeFix>,
}

impl Agreed {
    /// Does it, and says what was done.
    pub(super) fn apply(&self, ui: &mut Ui) -> Result<String, CommandError> {
        match &self.repair {
            Repair::Settle(scope) => {
                let installer = install::here()?;
                installer.settle(*scope, &mut |what| install::report::progress(what, ui))?;
                let ours = [LeftoverKind::Journal, LeftoverKind::Unfinished];
                let left = installer.leftovers(*scope)?;
                if let Some(left) = left.iter().find(|left| ours.contains(&left.kind)) {
                    let error = format!("could not remove what an installation left: {}", shown(&left.path));
                    let hint = match first_mount(&left.path) {
                        Some(mount) => format!("unmount {}, then run the command again", shown(&mount)),
                        None => {
                            "make everything in it readable and writable for this user, then run the command \
                                 again"
                                .to_owned()
                        }
                    };
                    return Err(Failure::new(error, hint).into());
                }
                Ok(format!("completed or undid the interrupted installation of the {}", scope.word()))
            }
            Repair::Sweep(Bounded { path: folder, within }) => {
                if stays(folder, within.as_deref()) {
                    sweep(folder);
                }
                if !abandoned(folder).is_empty() {
                    let error = format!("could not remove all unfinished files in: {}", shown(folder));
                    return Err(Failure::new(error, "check that you may write to the folder").into());
                }
                Ok(format!("removed unfinished files in {}", shown(folder)))
            }
            Repair::Remove(file) => {
                let failed = |error: std::io::Error| {
                    let hint = "check that you may write to the folder";
                    Failure::new(format!("could not remove: {}", shown(file)), hint)
                        .with_cause(prowess::internal::plain_cause(&error.to_string()))
                };
                match remove_tree(file) {
                    Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(failed(error).into()),
                    _ => Ok(format!("removed the stale cache {}", shown(file))),
                }
            }
            Repair::Check(Bounded { path: file, within }) => {
                let Some(fix) = &self.fix else {
                    return Ok(format!("nothing to fix in {}", shown(file)));
                };
                let fixable = match within {
                    Some(within) => Fixable::within(within),
                    None => Fixable::of(std::slice::from_ref(file), &Environment::current()),
                };
                let may = |target: &Path| fixable.allows(file, target);
                replace_where(file, &fix.before, fix.document.raw(), may)
                    .map_err(|error| Failure::from(&error))?;
                let word = if fix.fixes == 1 { "fix" } else { "fixes" };
                Ok(format!("applied {} safe {word} to {}", fix.fixes, shown(file)))
            }
        }
    }
}

/// The repairs of all issues, each once.
pub(super) fn repairs(issues: &[super::issue::Issue]) -> Vec<Repair> {
    let mut repairs: Vec<Repair> = issues.iter().filter_map(|issue| issue.fix.repair.clone()).collect();
    repairs.sort();
    repairs.dedup();
    repairs
}

/// Shows the repairs and asks; an error if they are not accepted.
pub(super) fn consent(repairs: Vec<Repair>, yes: bool, ui: &mut Ui) -> Result<Vec<Agreed>, CommandError> {
    let mut shown = Vec::new();
    for repair in repairs {
        ui.note(&repair.words());
        let mut fix = None;
        if let Repair::Check(file) = &repair {
            fix = safe_fix(file);
            if let Some(fix) = &fix {
                let before = String::from_utf8_lossy(&fix.before);
                ui.tell(&patch::coloured(&patch::unified(&file.path, &before, fix.document.text())));
            }
        }
        shown.push(Agreed { repair, fix });
    }
    if !yes {
        let unasked = Failure::new(
            "there is no terminal to ask for your consent, so nothing was changed",
            "accept these fixes with: prowess doctor --fix --yes",
        );
        let refused =
            Failure::new("you did not agree, so nothing was changed", "answer y to apply the fixes");
        ui.confirm(&format!("Apply {}?", count(shown.len(), "change")), unasked, refused)?;
    }
    Ok(shown)
}
