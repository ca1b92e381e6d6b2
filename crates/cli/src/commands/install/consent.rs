//! Whether the user accepts what is about to be installed.

use std::fmt::Write as _;

use prowess::install::Preview;

use crate::error::{CommandError, Failure};
use crate::ui::{FAINT, HINT, STRONG, Ui, clean, count};

/// How many names a line shows.
const MAX_NAMED: usize = 6;

/// Shows what skills could do and asks for consent; an error when the answer is no, or when there is no terminal to ask at.
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
            "there is no terminal to ask for your consent, so nothing was installed",
            hint,
        )
        .into());
    }
    let these = if previews.len() == 1 { "this skill" } else { "these skills" };
    let answer = ui.ask(&format!("Install {these}, and trust as shown? [y/N]"))?;
    if matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes") {
        return Ok(());
    }
    Err(Failure::new("you did not accept it, so nothing was installed", "answer y to install it").into())
}

/// What one skill could do, in lines.
pub(super) fn shown(name: &str, preview: &Preview) -> String {
    let mut text = format!(
        "{STRONG}{}{STRONG:#}  {FAINT}{}, {} bytes{FAINT:#}\n",
        clean(name),
        count(preview.files, "file"),
        preview.bytes
    );
    let mut line = |title: &str, what: String| {
        let _ = writeln!(text, "  {HINT}{title}{HINT:#}  {}", clean(&what));
    };
    if !preview.executables.is_empty() {
        line("executable files", some(&preview.executables));
    }
    if !preview.tools.is_empty() {
        line("asks for tools", preview.tools.join(", "));
    }
    if preview.hooks {
        line("hooks", "asks for hooks, which prowess never runs; other clients may".to_owned());
    }
    if preview.commands {
        line("commands", "some clients run commands in its text while they load it".to_owned());
    }
    if !preview.hidden.is_empty() {
        line("hidden text", some(&preview.hidden));
    }
    if !preview.loaded_by_others.is_empty() {
        line("loaded by other programs", preview.loaded_by_others.join(", "));
    }
    if !preview.nested.is_empty() {
        line("more skills inside", some(&preview.nested));
    }
    if !preview.looks_like.is_empty() {
        line("looks like", format!("{}, which is installed", some(&preview.looks_like)));
    }
    text
}

fn some(names: &[String]) -> String {
    let more = names.len().saturating_sub(MAX_NAMED);
    let mut shown: Vec<&str> = names.iter().take(MAX_NAMED).map(String::as_str).collect();
    let rest = format!("and {more} more");
    if more > 0 {
        shown.push(&rest);
    }
    shown.join(", ")
}
