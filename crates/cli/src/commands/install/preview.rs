//! What skills could do, in lines for the user to read before they are installed or trusted.
//!
//! A skill must not hide something behind a flood of lines: each kind has a limit, every cut is counted, and a long
//! preview ends with a line that counts each kind. JSON has everything.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use prowess::install::{HiddenComment, HiddenText, NestedSkill, Preview, RunText};

use super::verify::is_git;
use crate::explain::clients_named;
use crate::ui::command::command_for;
use crate::ui::{FAINT, HINT, STRONG, clean, count, few};

/// With more files than this, the files of each folder get a line of their own.
const MAX_IN_LINE: usize = 6;
/// The most lines of one kind, and the most names in one line.
const MAX_LINES: usize = 30;
/// The most characters of a name, a tool or a path.
const MAX_WORD: usize = 200;
/// A preview with more lines than this has a line in the end that counts each kind.
const MAX_AT_A_GLANCE: usize = 15;

/// What an inner and an outer skill with the same name mean for agents.
const OUTER: &str = "prowess offers only one, the outer before the inner; other clients may use the other";

/// What each of some skills could do, and in the end how much that is.
pub(super) fn all(previews: &[(String, Preview)]) -> String {
    let mut text: String = previews.iter().map(|(name, preview)| shown(name, preview)).collect();
    let counts = counts(previews.iter().map(|(_, preview)| preview));
    if text.lines().count() > MAX_AT_A_GLANCE && !counts.is_empty() {
        let _ = writeln!(text, "{STRONG}in all{STRONG:#}  {}", counts.join(", "));
    }
    text
}

/// How many there are of each kind.
fn counts<'p>(previews: impl Iterator<Item = &'p Preview>) -> Vec<String> {
    let [mut run, mut tools, mut runs, mut hidden, mut loaded, mut inside] = [0; 6];
    for preview in previews {
        run += preview.executables.len();
        tools += preview.tools.len() + preview.nested.iter().map(|nested| nested.tools.len()).sum::<usize>();
        runs += preview.runs.len() + preview.more_runs;
        hidden += preview.hidden.len() + preview.comments.len() + preview.more_comments;
        loaded += preview.loaded_by_others.len();
        inside += preview.nested.len();
    }
    let kinds = [
        (run, count(run, "file"), " that can be run"),
        (tools, count(tools, "tool"), ""),
        (runs, count(runs, "command"), " and hooks"),
        (hidden, count(hidden, "place"), " with hidden text"),
        (loaded, count(loaded, "file"), " loaded by other programs"),
        (inside, count(inside, "skill"), " inside others"),
    ];
    let there = kinds.into_iter().filter(|(number, ..)| *number > 0);
    there.map(|(_, counted, what)| format!("{counted}{what}")).collect()
}

/// What one skill could do, in lines.
pub(in crate::commands) fn shown(name: &str, preview: &Preview) -> String {
    let mut text = format!(
        "{STRONG}{}{STRONG:#}  {FAINT}{}, {} bytes{FAINT:#}\n",
        clean(&cut(name)),
        count(preview.files, "file"),
        preview.bytes
    );
    let mut line = |title: &str, what: &str| {
        let _ = writeln!(text, "  {HINT}{title}{HINT:#}  {}", clean(what));
    };
    if !["", name].contains(&&*preview.declared_name) {
        line("agents see the name", &cut(&preview.declared_name));
    }
    each("not the name of a skill", &preview.name_problems, &mut line);
    if let Some(source) = &preview.claimed_source {
        line("the lock says it is from", &format!("{source}; you have not fetched it from there"));
    }
    if let Some(commit) = &preview.unverified_commit {
        let may_be = "not known to be on a branch or tag of its repository; it may be from a fork";
        line("commit", &format!("{commit}: {may_be}"));
    }
    each("replaces, and deletes", &preview.replaces, &mut line);
    let (folders, files_lost): (Vec<_>, Vec<_>) =
        preview.loses.iter().cloned().partition(|path| path.ends_with('/'));
    let (repositories, unlisted): (Vec<_>, Vec<_>) =
        folders.into_iter().partition(|path| is_git(path.trim_end_matches('/')));
    each("deletes your git repository", &repositories, &mut line);
    each("deletes files that cannot be listed in", &unlisted, &mut line);
    each("deletes your file", &files_lost, &mut line);
    each("hides your own skill", &preview.shadows, &mut line);
    each("you accepted the same files in", &preview.accepted_in, &mut line);
    for other in &preview.installed_as {
        let remove = format!("{other}; remove it with: {}", command_for("remove", other, ""));
        line("also installed as", &remove);
    }
    files("can be run", &preview.executables, &mut line);
    can_do((&preview.tools, preview.hooks, preview.commands), &mut line);
    for RunText { path, kind, text, cut, .. } in &preview.runs {
        line(kind, &format!("{}: {text}{}", self::cut(path), characters(*cut)));
    }
    if preview.more_runs > 0 {
        line("commands", &format!("{} more; read the files", count(preview.more_runs, "hook or command")));
    }
    let hidden = |hidden: &HiddenText| format!("{}: {}", hidden.path, hidden.rules.join(", "));
    let hidden: Vec<String> = preview.hidden.iter().map(hidden).collect();
    each("hidden text", &hidden, &mut line);
    for HiddenComment { path, line: at, text, cut, .. } in &preview.comments {
        line("hidden text", &format!("{}:{at}: not displayed: {text}{}", self::cut(path), characters(*cut)));
    }
    if preview.more_comments > 0 {
        line(
            "hidden text",
            &format!("{} more; read the files", count(preview.more_comments, "undisplayed text")),
        );
    }
    files("loaded by other programs", &preview.loaded_by_others, &mut line);
    files("only a pointer of git LFS, without the file", &preview.lfs_pointers, &mut line);
    for nested in preview.nested.iter().take(MAX_LINES) {
        let NestedSkill { path, name, tools, hooks, commands, same_name_as, shadows, .. } = nested;
        line("another skill inside", &format!("{}, {}", cut(name), cut(path)));
        let mut line = |title: &str, what: &str| line(&format!("  {title}"), what);
        each("hides your own skill", shadows, &mut line);
        if !same_name_as.is_empty() {
            line("same name as", &format!("{}; {OUTER}", words(same_name_as)));
        }
        can_do((tools, *hooks, *commands), &mut line);
    }
    more("another skill inside", preview.nested.len(), &mut line);
    each("not looked into", &preview.unseen, &mut line);
    let (inner, others): (Vec<_>, Vec<_>) =
        preview.same_name_as.iter().cloned().partition(|other| other.contains('/'));
    if !others.is_empty() {
        let others = words(&others);
        line("same name as", &format!("{others}; prowess keeps them apart, other clients may use only one"));
    }
    if !inner.is_empty() {
        line("same name as", &format!("{}; {OUTER}", words(&inner)));
    }
    if !preview.looks_like.is_empty() {
        let both =
            if ["", name].contains(&&*preview.declared_name) { "" } else { ", by one of its two names" };
        line("looks like", &format!("{}{both}; check which one you want", words(&preview.looks_like)));
    }
    text
}

/// What a SKILL.md asks for.
fn can_do((tools, hooks, commands): (&[String], bool, bool), line: &mut dyn FnMut(&str, &str)) {
    if !tools.is_empty() {
        line("asks for tools", &words(tools));
    }
    if hooks {
        line(
            "hooks",
            &format!("asks for hooks, which prowess never runs; {}", clients_named::who_runs_hooks()),
        );
    }
    if commands {
        let who = clients_named::who_runs_commands();
        line("commands", &format!("has commands in its text, which prowess never runs; {who}"));
    }
}

/// The files of a list: a few in one line, many by their folders.
fn files(title: &str, paths: &[String], line: &mut dyn FnMut(&str, &str)) {
    if paths.len() <= MAX_IN_LINE {
        if !paths.is_empty() {
            line(title, &words(paths));
        }
        return;
    }
    let mut folders: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for path in paths {
        let (folder, name) = path.rsplit_once('/').unwrap_or((".", path));
        folders.entry(folder).or_default().push(name);
    }
    for (folder, names) in folders.iter().take(MAX_LINES) {
        line(title, &format!("{}/: {}", cut(folder), words(names)));
    }
    let rest: usize = folders.values().skip(MAX_LINES).map(Vec::len).sum();
    if rest > 0 {
        let folders = count(folders.len() - MAX_LINES, "more folder");
        line(title, &format!("and {} in {folders}", count(rest, "file")));
    }
}

/// A line for each of the first values, and how many more there are.
fn each(title: &str, values: &[String], line: &mut dyn FnMut(&str, &str)) {
    for value in values.iter().take(MAX_LINES) {
        line(title, &cut(value));
    }
    more(title, values.len(), line);
}

/// How many of these are not shown.
fn more(title: &str, of: usize, line: &mut dyn FnMut(&str, &str)) {
    if of > MAX_LINES {
        line(title, &format!("and {} more", of - MAX_LINES));
    }
}

/// The first of some words in one line, and how many more there are.
fn words(all: &[impl AsRef<str>]) -> String {
    few(&all.iter().map(|word| cut(word.as_ref())).collect::<Vec<_>>(), MAX_LINES)
}

/// The beginning of a long text, and how much is missing.
fn cut(text: &str) -> String {
    let shown: String = text.chars().take(MAX_WORD).collect();
    let missing = characters(text.chars().skip(MAX_WORD).count());
    shown + &missing
}

fn characters(missing: usize) -> String {
    if missing == 0 { String::new() } else { format!(" … and {missing} more characters") }
}
