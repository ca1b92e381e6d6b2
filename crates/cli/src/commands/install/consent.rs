//! Asks for the user's consent before anything is installed.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use prowess::install::{HiddenComment, NestedSkill, Preview, PrivateSource, RunText, SyncSource};

use super::report;
use crate::commands::hints::command_for;

use crate::error::{CommandError, Failure};
use crate::ui::{FAINT, HINT, STRONG, Ui, clean, count};

/// With more files than this, the files of each folder get a line of their own.
const MAX_IN_LINE: usize = 6;

/// Shows what skills could do and asks for consent; an error when the answer is no, or when there is no terminal to ask
/// at.
pub(super) fn ask(previews: &[(String, Preview)], yes: bool, ui: &mut Ui) -> Result<(), CommandError> {
    if previews.is_empty() {
        return Ok(());
    }
    ui.tell(&previews.iter().map(|(name, preview)| shown(name, preview)).collect::<String>());
    if yes {
        return Ok(());
    }
    if !ui.can_ask() {
        let hint = "look at it with --dry-run, then accept it with --yes";
        return Err(Failure::new(
            "there is no terminal to ask for your consent, so nothing was installed or trusted",
            hint,
        )
        .into());
    }
    let these = if previews.len() == 1 { "this skill" } else { "these skills" };
    let answer = ui.ask(&format!("Install {these}, and trust as shown? [y/N]"))?;
    if is_yes(&answer) {
        return Ok(());
    }
    Err(Failure::new("you did not accept it, so nothing was installed or trusted", "answer y to install it")
        .into())
}

/// The question before edits are replaced.
pub(super) const REPLACE: &str = "Replace them? The edits are lost. [y/N]";
/// The question before edits are deleted.
pub(super) const DELETE: &str = "Delete them? The edits are lost. [y/N]";

/// Shows which edits would be lost, in lines for each skill, and asks whether to lose them.
pub(super) fn ask_to_lose(lost: &str, question: &str, yes: bool, ui: &mut Ui) -> Result<(), CommandError> {
    if lost.is_empty() {
        return Ok(());
    }
    ui.tell(lost);
    if yes {
        return Ok(());
    }
    if !ui.can_ask() {
        let hint = "keep them with --keep, or lose them with --overwrite --yes";
        let error = "there is no terminal to ask whether these edits may be lost, so nothing was changed";
        return Err(Failure::new(error, hint).into());
    }
    if is_yes(&ui.ask(question)?) {
        return Ok(());
    }
    let error = "you did not agree to lose the edits, so nothing was changed";
    Err(Failure::new(error, "keep them with --keep, or answer y to lose them").into())
}

/// Shows in a dry run which edits would be lost.
pub(super) fn would_lose(lost: &str, ui: &mut Ui) {
    if !lost.is_empty() {
        ui.note("these edits would be lost:");
        ui.tell(lost);
    }
}

/// Reports in a dry run that the command itself would ask.
pub(super) fn would_ask(is_needed: bool, yes: bool, ui: &mut Ui) {
    if is_needed && !yes {
        ui.note("without --dry-run this needs your consent: on a terminal it asks, elsewhere it needs --yes");
    }
}

/// Asks for consent before anything is read from sources that a project must not choose alone.
pub(super) fn ask_for_sources(
    sources: &[SyncSource],
    yes: bool,
    offline: bool,
    ui: &mut Ui,
) -> Result<(), CommandError> {
    // Without a network no host is asked, so there is nothing to agree to.
    let is_asked = |why: PrivateSource| !(offline && why == PrivateSource::LocalHost);
    let private = sources.iter().filter_map(|source| Some((source, source.private?)));
    let private: Vec<(&SyncSource, PrivateSource)> = private.filter(|(_, why)| is_asked(*why)).collect();
    if private.is_empty() || yes {
        return Ok(());
    }
    if !ui.can_ask() {
        let place = |(source, why): &(&SyncSource, PrivateSource)| {
            format!("{}: {}: {}", source.skill, report::source_line(source), why.words())
        };
        let places: Vec<String> = private.iter().map(place).collect();
        let what = if places.len() == 1 { "a source that needs" } else { "sources that need" };
        let error =
            format!("skills.toml names {what} your consent, so nothing was read: {}", places.join("; "));
        return Err(Failure::new(error, "look at skills.toml, then accept its sources with --yes").into());
    }
    let mut text = String::new();
    for (source, why) in &private {
        let place = report::source_line(source);
        let _ =
            writeln!(text, "{STRONG}{}{STRONG:#}  {}: {}", clean(&source.skill), clean(&place), why.words());
    }
    ui.tell(&text);
    let these = if private.len() == 1 { "this source" } else { "these sources" };
    let answer = ui.ask(&format!("Read from {these}? [y/N]"))?;
    if is_yes(&answer) {
        return Ok(());
    }
    Err(Failure::new("you did not agree, so nothing was read", "answer y to read it").into())
}

pub(in crate::commands) fn is_yes(answer: &str) -> bool {
    matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

/// What one skill could do, in lines. Every cut in a long text is shown, since a skill could hide something behind it.
pub(in crate::commands) fn shown(name: &str, preview: &Preview) -> String {
    let mut text = format!(
        "{STRONG}{}{STRONG:#}  {FAINT}{}, {} bytes{FAINT:#}\n",
        clean(name),
        count(preview.files, "file"),
        preview.bytes
    );
    let mut line = |title: &str, what: &str| {
        let _ = writeln!(text, "  {HINT}{title}{HINT:#}  {}", clean(what));
    };
    if !["", name].contains(&&*preview.declared_name) {
        line("agents see the name", &preview.declared_name);
    }
    for problem in &preview.name_problems {
        line("not the name of a skill", problem);
    }
    if let Some(source) = &preview.claimed_source {
        line("the lock says it is from", &format!("{source}; you have not fetched it from there"));
    }
    for path in &preview.replaces {
        line("replaces, and deletes", path);
    }
    for path in &preview.loses {
        line("deletes your file", path);
    }
    for path in &preview.shadows {
        line("hides your own skill", path);
    }
    for path in &preview.accepted_in {
        line("you accepted the same files in", path);
    }
    for other in &preview.installed_as {
        let remove = format!("{other}; remove it with: {}", command_for("remove", other, ""));
        line("also installed as", &remove);
    }
    files("can be run", &preview.executables, &mut line);
    can_do((&preview.tools, preview.hooks, preview.commands), &mut line);
    for RunText { path, kind, text, cut, .. } in &preview.runs {
        let more = if *cut == 0 { String::new() } else { format!(" … and {cut} more characters") };
        line(kind, &format!("{path}: {text}{more}"));
    }
    if preview.more_runs > 0 {
        line("commands", &format!("{} more; read the files", count(preview.more_runs, "hook or command")));
    }
    for hidden in &preview.hidden {
        line("hidden text", &format!("{}: {}", hidden.path, hidden.rules.join(", ")));
    }
    for HiddenComment { path, line: at, text, cut, .. } in &preview.comments {
        let more = if *cut == 0 { String::new() } else { format!(" … and {cut} more characters") };
        line("hidden text", &format!("{path}:{at}: comment: {text}{more}"));
    }
    if preview.more_comments > 0 {
        line("hidden text", &format!("{} more; read the files", count(preview.more_comments, "comment")));
    }
    files("loaded by other programs", &preview.loaded_by_others, &mut line);
    files("only a pointer of git LFS, without the file", &preview.lfs_pointers, &mut line);
    for NestedSkill { path, name, tools, hooks, commands, .. } in &preview.nested {
        line("another skill inside", &format!("{name}, {path}"));
        can_do((tools, *hooks, *commands), &mut |title, what| line(&format!("  {title}"), what));
    }
    for unseen in &preview.unseen {
        line("not looked into", unseen);
    }
    if !preview.same_name_as.is_empty() {
        let others = preview.same_name_as.join(", ");
        line("same name as", &format!("{others}; prowess keeps them apart, other clients may use only one"));
    }
    if !preview.looks_like.is_empty() {
        let both =
            if ["", name].contains(&&*preview.declared_name) { "" } else { ", by one of its two names" };
        line("looks like", &format!("{}{both}; check which one you want", preview.looks_like.join(", ")));
    }
    text
}

/// What a SKILL.md asks for.
fn can_do((tools, hooks, commands): (&[String], bool, bool), line: &mut dyn FnMut(&str, &str)) {
    if !tools.is_empty() {
        line("asks for tools", &tools.join(", "));
    }
    if hooks {
        line("hooks", "asks for hooks, which prowess never runs; other clients may");
    }
    if commands {
        line("commands", "some clients run commands in its text while they load it");
    }
}

/// All files of a list: a few in one line, many by their folders.
fn files(title: &str, paths: &[String], line: &mut dyn FnMut(&str, &str)) {
    if paths.len() <= MAX_IN_LINE {
        if !paths.is_empty() {
            line(title, &paths.join(", "));
        }
        return;
    }
    let mut folders: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for path in paths {
        let (folder, name) = path.rsplit_once('/').unwrap_or((".", path));
        folders.entry(folder).or_default().push(name);
    }
    for (folder, names) in folders {
        line(title, &format!("{folder}/: {}", names.join(", ")));
    }
}
