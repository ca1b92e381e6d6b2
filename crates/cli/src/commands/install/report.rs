//! The output of the commands that install skills: progress to stderr, results to stdout.

use std::fmt::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use prowess::env;
use prowess::install::{
    Action, Change, Changes, ClientAction, ClientChange, FileChange, InstallError, InstallScope, Installer,
    LeftoverKind, LockedSkill, Loss, Preview, Progress, SkippedSkill, SyncSource,
};
use prowess::internal::first_mount;
use serde_json::{Value, json};

use super::{place_of, place_option, preview, scope_option, verify};
use crate::args::Common;
use crate::commands::shown;
use crate::error::CommandError;
use crate::report::json::VERSION;
use crate::ui::{Bar, FAINT, STRONG, Ui, clean, count};

/// A time that is shown in seconds.
const LONG: Duration = Duration::from_secs(10);

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
pub(in crate::commands) fn progress(what: Progress<'_>, ui: &mut Ui) {
    match what {
        Progress::Waiting => ui.note("waiting for another process that changes the same skills"),
        Progress::NotStored(note) | Progress::Recovered(note) => ui.note(note),
        _ => {}
    }
}

/// Whether an interrupted installation is pending, for a command that writes nothing; it is reported.
pub(super) fn is_pending(
    installer: &Installer,
    scope: InstallScope,
    ui: &mut Ui,
) -> Result<bool, InstallError> {
    let is_pending = installer.is_interrupted(scope)?;
    if is_pending {
        let (whose, here) = (scope.word(), place_option(place_of(installer, scope)));
        ui.note(&format!(
            "an interrupted installation is pending for this {whose}; complete it with: prowess verify{here}"
        ));
    }
    Ok(is_pending)
}

/// Reports skills that were installed and that no record names any more.
pub(super) fn unrecorded(installer: &Installer, scope: InstallScope, ui: &mut Ui) {
    for path in installer.unrecorded(scope).unwrap_or_default() {
        ui.note(&format!(
            "installed before, and in no record now, but agents still use it: {}; delete the folder, or record it again \
             with: prowess add SOURCE{}",
            place(&path),
            place_option(place_of(installer, scope))
        ));
    }
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

/// Reports the skills of repositories that only the lock says are from there, because the network was not used.
pub(super) fn unchecked(changes: &Changes, (installer, scope): (&Installer, InstallScope), ui: &mut Ui) {
    let is_claim = |change: &&Change| {
        let is_there = !matches!(
            change.action,
            Action::Removed | Action::LeftThere | Action::NotPlaced | Action::StillInstalled
        );
        is_there && !change.fetched && change.locked.commit.is_some()
    };
    let names: Vec<&str> = changes.skills.iter().filter(is_claim).map(|change| &*change.name).collect();
    if !names.is_empty() {
        ui.note(&format!(
            "not checked without a network: whether the commits in skills.lock are on a branch or tag of their \
             repositories: {}; check them with: prowess sync --fetch-only{}",
            names.join(", "),
            place_option(place_of(installer, scope))
        ));
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
pub(super) fn phase(done: &str, skills: usize, took: Duration, ui: &mut Ui) {
    ui.note(&format!("{done} {} in {}", count(skills, "skill"), time(took)));
}

/// A time in milliseconds, or a long one in seconds.
fn time(took: Duration) -> String {
    if took < LONG { format!("{} ms", took.as_millis()) } else { format!("{:.1} s", took.as_secs_f64()) }
}

/// Reports how many skills were installed and removed.
pub(super) fn finished(changes: &Changes, started: Instant, ui: &mut Ui) {
    let count =
        |wanted: fn(Action) -> bool| changes.skills.iter().filter(|change| wanted(change.action)).count();
    let installed = count(|action| matches!(action, Action::Installed | Action::Updated));
    let removed = count(|action| action == Action::Removed);
    for (done, skills) in [("installed", installed), ("removed", removed)] {
        if skills > 0 {
            phase(done, skills, started.elapsed(), ui);
        }
    }
}

/// Reports what could not be deleted of the files that were replaced or removed.
pub(super) fn left_behind(installer: &Installer, scope: InstallScope, changes: &Changes, ui: &mut Ui) {
    let is_deleted = |change: &Change| {
        matches!(change.action, Action::Updated | Action::Removed) || !change.replaced.is_empty()
    };
    if !changes.skills.iter().any(is_deleted) {
        return;
    }
    let left = installer.leftovers(scope).unwrap_or_default().into_iter();
    for left in left.filter(|left| left.kind == LeftoverKind::Unfinished) {
        let path = place(&left.path);
        let what = "some of what was replaced or removed could not be deleted";
        ui.note(&match first_mount(&left.path) {
            // Deleting it with everything in it would delete what is mounted, too.
            Some(mount) => {
                format!("{what}, since something is mounted in it; unmount {} first: {path}", place(&mount))
            }
            None => format!("{what}; delete it yourself: {path}"),
        });
    }
}

/// Adds to previews what each skill would replace.
pub(super) fn name_replaced(previews: &mut [(String, Preview)], planned: &Changes) {
    for (name, preview) in previews {
        let lost =
            planned.skills.iter().filter(|change| change.name == *name).flat_map(|change| &change.replaced);
        for loss in lost {
            let path = &loss.path;
            preview.replaces.push(path.to_string_lossy().into_owned());
            preview.loses.extend(lost_files(loss));
        }
    }
}

/// The files of a path whose edits are lost.
fn lost_files(loss: &Loss) -> impl Iterator<Item = String> {
    let there = loss.files.iter().filter(|(_, change)| *change != FileChange::Missing);
    there.map(|(file, _)| {
        let path = loss.path.to_string_lossy();
        match &**file {
            "" => path.into_owned(),
            "./" => format!("{path}/"),
            _ => format!("{path}/{file}"),
        }
    })
}

/// What would be lost of some skills, in lines that name the files.
pub(super) fn lost(planned: &Changes, of: impl Fn(&Change) -> bool) -> String {
    let mut text = String::new();
    for change in planned.skills.iter().filter(|change| !change.replaced.is_empty() && of(change)) {
        let _ = writeln!(text, "{STRONG}{}{STRONG:#}", clean(&change.name));
        for Loss { path, files, .. } in &change.replaced {
            // The folder of the skill itself needs no line, unless no file in it is known.
            let named = files.iter().filter(|(file, _)| !file.is_empty()).cloned().collect::<Vec<_>>();
            let own = *path == change.path && !named.is_empty();
            if !own {
                let _ = writeln!(text, "  {}", clean(&place(path)));
            }
            verify::changes(&named, if own { "  " } else { "    " }, &mut text);
        }
    }
    text
}

/// Shows what was installed, and in a dry run what it could do.
pub(super) fn added(
    changes: &Changes,
    (previews, left_out): (&[(String, Preview)], Option<Vec<SkippedSkill>>),
    common: &Common,
    json: bool,
    ui: &mut Ui,
) -> Result<(), CommandError> {
    if json {
        let value = |change: &Change| {
            let mut value = value(change);
            let preview = previews.iter().find(|(name, _)| *name == change.name);
            if let (Some(object), Some((_, preview))) = (value.as_object_mut(), preview) {
                object.insert("preview".to_owned(), json!(preview));
            }
            value
        };
        return envelope((changes.skills.iter().map(value).collect(), left_out), changes, common, ui);
    }
    if common.dry_run {
        ui.print(&preview::all(previews))?;
    }
    let some_left_out = left_out.as_ref().map(Vec::len).filter(|left_out| *left_out > 0);
    changes_as_text(changes, common, ui)?;
    match some_left_out {
        Some(left_out) => ui.print(&format!("left out: {}; see above\n", count(left_out, "skill"))),
        None => Ok(()),
    }
}

/// Shows what was changed.
pub(super) fn changes(
    changes: &Changes,
    common: &Common,
    json: bool,
    ui: &mut Ui,
) -> Result<(), CommandError> {
    if json {
        let skills = changes.skills.iter().map(value).collect();
        return envelope((skills, None), changes, common, ui);
    }
    changes_as_text(changes, common, ui)
}

fn envelope(
    (skills, left_out): (Vec<Value>, Option<Vec<SkippedSkill>>),
    changes: &Changes,
    common: &Common,
    ui: &mut Ui,
) -> Result<(), CommandError> {
    let mut value = json!({
        "version": VERSION,
        "scope": common.scope().word(),
        "dry_run": common.dry_run,
        "skills": skills,
        "records": changes.records,
    });
    if let (Some(object), Some(left_out)) = (value.as_object_mut(), left_out) {
        let left_out = left_out.iter().map(|skill| json!({"name": skill.name, "reason": skill.reason}));
        object.insert("left_out".to_owned(), left_out.collect());
    }
    ui.json(&value)
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
        "digest": locked.digest_text(),
        "fetched": change.fetched,
        "recorded": change.recorded,
        "newly_trusted": change.newly_trusted,
        "clients": change.clients,
        "replaced": change.replaced.iter().map(|loss| &loss.path).collect::<Vec<_>>(),
        "lost_files": change.replaced.iter().flat_map(lost_files).collect::<Vec<_>>(),
        "left": change.left,
    })
}

fn changes_as_text(changes: &Changes, common: &Common, ui: &mut Ui) -> Result<(), CommandError> {
    let mut text = String::new();
    for change in &changes.skills {
        let mark = match change.action {
            Action::Installed => "+",
            Action::Updated => "~",
            Action::Removed => "-",
            Action::NotInstalled | Action::NotPlaced | Action::StillInstalled => "!",
            _ => "=",
        };
        let user = scope_option(common.scope());
        let kept = match change.action {
            Action::Kept => " (not as installed, kept)",
            Action::LeftThere => " (left out: something that was not installed has its name)",
            Action::NotPlaced => " (not in skills.lock any more)",
            Action::Fetched => " (fetched, not installed)",
            Action::Locked => " (locked, not installed)",
            Action::NotInstalled => &format!(" (not installed; install it with: prowess sync{user})"),
            Action::StillInstalled => {
                &format!(" (still installed, so it stays in the lock; remove it with: prowess sync{user})")
            }
            _ => "",
        };
        let _ = writeln!(
            text,
            "{mark} {STRONG}{}{STRONG:#}{kept}  {FAINT}{}{FAINT:#}",
            clean(&change.name),
            clean(&origin(&change.locked, (common.scope(), &change.path), change.fetched))
        );
        if change.newly_trusted && change.action == Action::Unchanged {
            let trusted = if common.dry_run { "would be trusted" } else { "trusted" };
            let _ = writeln!(text, "  {trusted} as it is");
        }
        if change.action == Action::NotPlaced {
            let left = if common.dry_run { "would be left" } else { "left" };
            let _ = writeln!(
                text,
                "  {left}, since it is not known that prowess placed it; if you do not need it, delete the folder \
                 yourself: {}",
                clean(&place(&change.path))
            );
        }
        for ClientChange { client, action, path, .. } in &change.clients {
            let done = client_words(*action, common.dry_run);
            let _ = writeln!(text, "  {done} for {}: {}", clean(client), clean(&place(path)));
        }
        for Loss { path, .. } in &change.replaced {
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
            let so = if left.is_source || leads_to_source(&left.path, change, common.scope()) {
                format!(", since {} comes from there", clean(&change.name))
            } else if change.recorded {
                format!(", so {} does not get the installed files", clean(&left.client))
            } else {
                String::new()
            };
            let _ = writeln!(text, "  left alone{so}: {}", clean(&path));
        }
    }
    for file in &changes.records {
        let wrote = if common.dry_run { "would write" } else { "wrote" };
        let _ = writeln!(text, "{wrote} {}", clean(&place(file)));
    }
    if changes.skills.is_empty() {
        text.push_str("no skills are installed here\n");
    } else if changes.records.is_empty() && changes.skills.iter().all(is_unchanged) {
        text.push_str("everything is as it should be\n");
    }
    if common.dry_run {
        text.push_str("nothing was changed\n");
    }
    ui.print(&text)
}

/// Whether a path that was left alone is a link to the folder that a skill comes from, so that the client has the skill.
fn leads_to_source(path: &Path, change: &Change, scope: InstallScope) -> bool {
    let source = change.locked.source_folder(scope, &change.path);
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    source.and_then(|source| real(&source)).is_some_and(|source| real(path) == Some(source))
}

/// Whether nothing happened to a skill, here and for every client.
fn is_unchanged(change: &Change) -> bool {
    change.action == Action::Unchanged
        && !change.newly_trusted
        && change.clients.is_empty()
        && change.left.is_empty()
}

/// What was done for a client, or would be.
fn client_words(action: ClientAction, dry_run: bool) -> &'static str {
    match (action, dry_run) {
        (ClientAction::Linked, false) => "linked",
        (ClientAction::Linked, true) => "would link",
        (ClientAction::Copied, false) => "copied",
        (ClientAction::Copied, true) => "would copy",
        (_, false) => "removed",
        (_, true) => "would remove",
    }
}

/// Where an installed skill comes from, in short, as seen from the current folder. A source that only the lock names is
/// shown as such.
pub(crate) fn origin(
    locked: &LockedSkill,
    (scope, path): (InstallScope, &std::path::Path),
    fetched: bool,
) -> String {
    let origin = locked.origin_from(&env::absolute(".".as_ref()), scope, path);
    // An entry of the lock has a digest, and from git a commit; without them, only skills.toml names it.
    let is_locked = locked.digest.is_some() && (locked.commit.is_some() || locked.source.folder().is_some());
    if fetched || !is_locked { origin } else { format!("{origin}, says the lock; not fetched by you") }
}

/// The path of a skill for display.
pub(super) fn place(path: &std::path::Path) -> String {
    shown(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_time_is_shown_in_seconds() {
        assert_eq!(time(Duration::from_millis(9_999)), "9999 ms");
        assert_eq!(time(Duration::from_millis(91_323)), "91.3 s");
    }
}
