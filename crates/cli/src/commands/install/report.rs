//! The output of the commands that install skills: progress to stderr, results to stdout.

use std::fmt::Write as _;
use std::time::Instant;

use prowess::install::{
    Action, Change, InstallError, InstallScope, InstallSpec, Installer, LockedSkill, Prepared, Preview,
    Progress, SyncSource,
};
use serde_json::{Value, json};

use super::consent;
use crate::args::Common;
use crate::commands::shown;
use crate::error::CommandError;
use crate::report::json::VERSION;
use crate::ui::{Bar, FAINT, STRONG, Ui, clean, count};

/// A progress line, on a terminal; none with `--json`.
pub(super) fn bar(doing: &'static str, of: usize, json: bool, ui: &mut Ui) -> Bar {
    if json { Bar::default() } else { ui.bar(doing, of) }
}

/// Shows the progress of an installer, in the line of a bar or beside it.
pub(super) fn in_bar(what: Progress<'_>, bar: &Bar, ui: &mut Ui) {
    match what {
        Progress::Fetching(name) => bar.next(name),
        other => bar.aside(|| progress(other, ui)),
    }
}

/// Reports the progress of an installer as notes.
pub(super) fn progress(what: Progress<'_>, ui: &mut Ui) {
    match what {
        Progress::Waiting => ui.note("waiting for another process that changes the same skills"),
        Progress::NotStored(note) | Progress::Recovered(note) => ui.note(note),
        _ => {}
    }
}

/// Reports which repository a reference refers to, before anything is fetched from it.
pub(super) fn source(installer: &Installer, spec: &InstallSpec, ui: &mut Ui) -> Result<(), InstallError> {
    if let Some(url) = installer.repository(spec)? {
        ui.note(&format!("from {url}"));
    }
    Ok(())
}

/// Reports where `sync` fetches from, before it does. Folders of the project itself are not reported.
pub(super) fn sources(sources: &[SyncSource], ui: &mut Ui) {
    let mut lines: Vec<String> = Vec::new();
    for source in sources.iter().filter(|source| source.is_git || source.private.is_some()) {
        let line = format!("from {}", source_line(source));
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    for line in &lines {
        ui.note(line);
    }
}

/// A source in one line: its address, the requested version, and the commit.
pub(super) fn source_line(source: &SyncSource) -> String {
    let mut line = source.place.clone();
    if let Some(reference) = &source.reference {
        let _ = write!(line, " #{reference}");
    }
    if let Some(commit) = &source.commit {
        let _ = write!(line, " @{commit}");
    }
    line
}

/// Reports that one phase is done.
pub(super) fn phase(done: &str, skills: usize, started: Instant, ui: &mut Ui) {
    ui.note(&format!("{done} {} in {} ms", count(skills, "skill"), started.elapsed().as_millis()));
}

/// Reports how many skills were installed and removed.
pub(super) fn finished(changes: &[Change], started: Instant, ui: &mut Ui) {
    let count = |wanted: fn(Action) -> bool| changes.iter().filter(|change| wanted(change.action)).count();
    let installed = count(|action| matches!(action, Action::Installed | Action::Updated));
    let removed = count(|action| action == Action::Removed);
    for (done, skills) in [("installed", installed), ("removed", removed)] {
        if skills > 0 {
            phase(done, skills, started, ui);
        }
    }
}

/// What each skill could do.
pub(super) fn previews(
    installer: &Installer,
    scope: InstallScope,
    skills: &[Prepared],
) -> Result<Vec<(String, Preview)>, InstallError> {
    installer.previews(scope, skills)
}

/// Adds to previews what each skill would replace.
pub(super) fn name_replaced(previews: &mut [(String, Preview)], planned: &[Change]) {
    for (name, preview) in previews {
        let lost = planned.iter().filter(|change| change.name == *name).flat_map(|change| &change.replaced);
        preview.replaces = lost.map(|path| path.to_string_lossy().into_owned()).collect();
    }
}

/// Shows what was installed, and in a dry run what it could do.
pub(super) fn added(
    changes: &[Change],
    previews: &[(String, Preview)],
    common: &Common,
    json: bool,
    ui: &mut Ui,
) -> Result<(), CommandError> {
    if json {
        let skills: Vec<Value> = changes
            .iter()
            .map(|change| {
                let mut value = value(change);
                let preview =
                    previews.iter().find(|(name, _)| *name == change.name).map(|(_, preview)| preview);
                if let (Some(object), Some(preview)) = (value.as_object_mut(), preview) {
                    object.insert("preview".to_owned(), json!(preview));
                }
                value
            })
            .collect();
        return envelope(skills, common, ui);
    }
    if common.dry_run {
        let text: String = previews.iter().map(|(name, preview)| consent::shown(name, preview)).collect();
        ui.print(&text)?;
    }
    changes_as_text(changes, common, ui)
}

/// Shows what was changed.
pub(super) fn changes(
    changes: &[Change],
    common: &Common,
    json: bool,
    ui: &mut Ui,
) -> Result<(), CommandError> {
    if json {
        return envelope(changes.iter().map(value).collect(), common, ui);
    }
    changes_as_text(changes, common, ui)
}

fn envelope(skills: Vec<Value>, common: &Common, ui: &mut Ui) -> Result<(), CommandError> {
    let scope = common.scope().word();
    ui.json(&json!({"version": VERSION, "scope": scope, "dry_run": common.dry_run, "skills": skills}))
}

fn value(change: &Change) -> Value {
    let locked = &change.locked;
    json!({
        "name": change.name,
        "action": change.action,
        "path": change.path.to_string_lossy(),
        "source": locked.source,
        "source_path": locked.path.as_ref().map(prowess::RelPath::as_str),
        "requested": locked.requested,
        "commit": locked.commit,
        "digest": locked.digest,
        "fetched": change.fetched,
        "replaced": change.replaced,
        "left": change.left,
    })
}

fn changes_as_text(changes: &[Change], common: &Common, ui: &mut Ui) -> Result<(), CommandError> {
    let mut text = String::new();
    for change in changes {
        let mark = match change.action {
            Action::Installed => "+",
            Action::Updated => "~",
            Action::Removed => "-",
            Action::NotInstalled => "!",
            _ => "=",
        };
        let kept = match change.action {
            Action::Kept => " (edited, kept)",
            Action::Fetched => " (fetched, not installed)",
            Action::Locked => " (locked, not installed)",
            Action::NotInstalled if common.user => " (not installed; install it with: prowess sync --user)",
            Action::NotInstalled => " (not installed; install it with: prowess sync)",
            _ => "",
        };
        let _ = writeln!(
            text,
            "{mark} {STRONG}{}{STRONG:#}{kept}  {FAINT}{}{FAINT:#}",
            clean(&change.name),
            clean(&origin(&change.locked, change.fetched))
        );
        for path in &change.replaced {
            let done = match (change.action, common.dry_run) {
                (Action::Removed, false) => "deleted",
                (Action::Removed, true) => "would delete",
                (_, false) => "replaced",
                (_, true) => "would replace",
            };
            let _ = writeln!(text, "  {done}: {}", clean(&place(path)));
        }
        for left in &change.left {
            let path = place(&left.path);
            let _ = match change.action {
                Action::Removed => writeln!(text, "  left alone: {}", clean(&path)),
                _ => writeln!(
                    text,
                    "  left alone, so {} does not get the skill: {}",
                    clean(&left.client),
                    clean(&path)
                ),
            };
        }
    }
    if changes.is_empty() {
        text.push_str("no skills are installed here\n");
    } else if changes.iter().all(|change| change.action == Action::Unchanged && change.left.is_empty()) {
        text.push_str("everything is as it should be\n");
    }
    if common.dry_run {
        text.push_str("nothing was changed\n");
    }
    ui.print(&text)
}

/// Where a skill comes from, in short. A source that only the lock names is shown as such.
pub(in crate::commands) fn origin(locked: &LockedSkill, fetched: bool) -> String {
    let origin = locked.origin();
    if fetched { origin } else { format!("{origin}, says the lock; not fetched by you") }
}

/// The path of a skill for display.
pub(super) fn place(path: &std::path::Path) -> String {
    shown(path)
}
