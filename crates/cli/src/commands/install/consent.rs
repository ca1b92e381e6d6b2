//! Asks for the user's consent before anything is installed.

use std::fmt::Write as _;

use prowess::install::{Installer, Preview, PrivateSource, SyncSource};

use super::{preview, report};
use crate::error::{CommandError, Failure};
use crate::signals::LastAction;
use crate::ui::{STRONG, Ui, clean};

/// What a command fetches before the user answers, unless the user accepts it: a refusal, an error or a signal discards
/// it.
pub(super) struct Unanswered<'i> {
    installer: &'i Installer,
    is_answered: bool,
    _signal: LastAction,
}

impl<'i> Unanswered<'i> {
    pub(super) fn new(installer: &'i Installer) -> Self {
        Self { installer, is_answered: false, _signal: LastAction::new(installer.discarding()) }
    }

    /// What was fetched stays from here on, unless this is a dry run: then it goes with what is returned.
    pub(super) fn accept_unless(mut self, dry_run: bool) -> Option<Self> {
        self.is_answered = !dry_run;
        dry_run.then_some(self)
    }
}

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        if !self.is_answered {
            self.installer.discard_fetched();
        }
    }
}

/// Shows what skills could do and asks for consent; an error when the answer is no, or when there is no terminal to ask
/// at.
pub(super) fn ask(previews: &[(String, Preview)], yes: bool, ui: &mut Ui) -> Result<(), CommandError> {
    if previews.is_empty() {
        return Ok(());
    }
    ui.tell(&preview::all(previews));
    if yes {
        return Ok(());
    }
    let unasked = Failure::new(
        "there is no terminal to ask for your consent, so nothing was installed or trusted",
        "look at it with --dry-run, then accept it with --yes",
    );
    let refused =
        Failure::new("you did not accept it, so nothing was installed or trusted", "answer y to install it");
    let these = if previews.len() == 1 { "this skill" } else { "these skills" };
    ui.confirm(&format!("Install {these}, and trust as shown?"), unasked, refused)
}

/// The question before edits are replaced.
pub(super) const REPLACE: &str = "Replace them? The edits are lost.";
/// The question before edits are deleted.
pub(super) const DELETE: &str = "Delete them? The edits are lost.";

/// Shows which edits would be lost, in lines for each skill, and asks whether to lose them.
pub(super) fn ask_to_lose(lost: &str, question: &str, yes: bool, ui: &mut Ui) -> Result<(), CommandError> {
    if lost.is_empty() {
        return Ok(());
    }
    ui.tell(lost);
    if yes {
        return Ok(());
    }
    let unasked = Failure::new(
        "there is no terminal to ask whether these edits may be lost, so nothing was changed",
        "keep them with --keep, or lose them with --overwrite --yes",
    );
    let refused = Failure::new(
        "you did not agree to lose the edits, so nothing was changed",
        "keep them with --keep, or answer y to lose them",
    );
    ui.confirm(question, unasked, refused)
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
    let (mut places, mut text) = (Vec::new(), String::new());
    for (source, why) in &private {
        let (skill, place, why) = (&source.skill, report::source_line(source), why.words());
        let _ = writeln!(text, "{STRONG}{}{STRONG:#}  {}: {why}", clean(skill), clean(&place));
        places.push(format!("{skill}: {place}: {why}"));
    }
    if ui.can_ask() {
        ui.tell(&text);
    }
    let what = if private.len() == 1 { "a source that needs" } else { "sources that need" };
    let unasked = Failure::new(
        format!("skills.toml names {what} your consent, so nothing was read: {}", places.join("; ")),
        "look at skills.toml, then accept its sources with --yes",
    );
    let refused = Failure::new("you did not agree, so nothing was read", "answer y to read it");
    let these = if private.len() == 1 { "this source" } else { "these sources" };
    ui.confirm(&format!("Read from {these}?"), unasked, refused)
}
