//! `prowess sync`: makes what is installed what skills.toml and skills.lock say.

use std::time::Instant;

use prowess::install::{InstallScope, SyncOptions};

use super::{consent, installer, report};
use crate::Outcome;
use crate::args::Sync;
use crate::error::CommandError;
use crate::ui::Ui;

/// Runs the command.
pub(crate) fn run(args: &Sync, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    let scope = args.installing.common.scope();
    let mut installer = installer(&args.installing.common)?.with_limits(args.installing.limits.limits());
    if args.offline || args.frozen {
        installer = installer.offline();
    }
    let mut options = SyncOptions::default();
    (options.locked, options.frozen) = (args.locked, args.frozen);
    (options.fetch_only, options.lock_only) = (args.fetch_only, args.lock_only);
    options.install = args.installing.options();
    let started = Instant::now();
    let skills = installer.plan_sync(scope, &options, &mut |what| report::progress(what, ui))?;
    if !skills.is_empty() {
        report::phase("fetched", skills.len(), started, ui);
    }
    let mut accepted = args.installing.yes;
    if !args.installing.common.dry_run && !args.fetch_only && !args.lock_only && !skills.is_empty() {
        let previews = report::previews(&installer, scope, &skills)?;
        let known = installer.are_accepted(scope, &skills)?;
        let new: Vec<_> =
            previews.into_iter().zip(known).filter(|(_, known)| !known).map(|(new, _)| new).collect();
        accepted |= new.is_empty();
        if !accepted && ui.can_ask() {
            consent::ask(&new, false, ui)?;
            accepted = true;
        }
        if !accepted && scope == InstallScope::User {
            // What the user has is trusted by its place, so nothing new comes there without consent.
            consent::ask(&new, false, ui)?;
        }
        if !accepted {
            // A lock that came with a repository is no consent. The files are installed, and stay untrusted.
            ui.note("skills that you did not accept are not trusted; accept them with: prowess sync --yes");
        }
    }
    options.install.accepted = accepted;
    let started = Instant::now();
    let changes = installer.sync(scope, skills, &options, &mut |what| report::progress(what, ui))?;
    if !args.installing.common.dry_run && !args.lock_only {
        report::finished(&changes, started, ui);
    }
    report::changes(&changes, &args.installing.common, json, ui)?;
    Ok(Outcome::Fine)
}
