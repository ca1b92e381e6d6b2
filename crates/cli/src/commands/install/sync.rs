//! `prowess sync`: makes the installed skills match `skills.toml` and `skills.lock`.

use std::time::Instant;

use prowess::install::{
    Action, Changes, Edits, InstallError, InstallErrorKind, Installer, Preview, SyncOptions,
};

use super::consent::{self, Unanswered};
use super::{installer, report, verify, with_hint};
use crate::Outcome;
use crate::args::Sync;
use crate::error::{CommandError, Failure};
use crate::explain::clients_named;
use crate::ui::Ui;

/// How often to plan again because another process changed the records.
const MAX_PLANS: usize = 5;

/// The changes, and the preview of each skill that the user had to accept.
type Done = (Changes, Vec<(String, Preview)>);

/// Runs the command.
pub(crate) fn run(args: &Sync, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    crate::signals::end_programs_too();
    let installer = installer(&args.installing.common)?
        .with_limits(args.installing.limits.limits())
        .with_offline(args.offline || args.frozen);
    if args.frozen && args.installing.sets_clients() {
        let error = "--frozen writes no record, so nothing would remember the clients: --client and --link";
        return Err(Failure::new(error, "leave out --frozen, or --client and --link").into());
    }
    let scope = args.installing.common.scope();
    // A run of a CI job in the wrong folder must not count as a success.
    if (args.locked || args.frozen) && !installer.has_records(scope)? {
        return Err(verify::without_records(&installer, scope));
    }
    let mut options = SyncOptions::default();
    (options.locked, options.frozen) = (args.locked, args.frozen);
    (options.fetch_only, options.lock_only) = (args.fetch_only, args.lock_only);
    options.install = args.installing.options();
    clients_named::check(&options.install.clients)?;
    if args.installing.sets_clients() {
        // Before anything is fetched. The plan checks the records itself.
        installer.check_request(scope, &options.install, None)?;
    }
    for left in (0..MAX_PLANS).rev() {
        if let Some((changes, previews)) = once(args, &installer, options.clone(), (left == 0, json), ui)? {
            report::added(&changes, (&previews, None), &args.installing.common, json, ui)?;
            report::unrecorded(&installer, scope, ui);
            if args.offline || args.frozen {
                report::unchecked(&changes, (&installer, scope), ui);
            }
            break;
        }
    }
    Ok(Outcome::Fine)
}

/// An error with the hint that fits `sync`: what to do is in `skills.toml` or in other options than those of `add`.
fn explained(error: InstallError, args: &Sync) -> CommandError {
    let entry = error.entry().unwrap_or("of this source");
    let hint = match error.kind() {
        InstallErrorKind::Exists => {
            "move it away, leave it alone with --keep, or replace it with --overwrite"
        }
        InstallErrorKind::Offline if args.frozen => {
            "fetch it first with: prowess sync --fetch-only; or use --locked in place of --frozen"
        }
        InstallErrorKind::Offline => "run the command again without --offline",
        InstallErrorKind::Ambiguous => &format!(
            "say in skills.toml which one: skill = \"NAME\" in the entry {entry}; of a folder, its own folder as path"
        ),
        InstallErrorKind::SameName => {
            &format!("say in skills.toml which one: its folder as path in the entry {entry}")
        }
        _ => return error.into(),
    };
    with_hint(&error, hint)
}

/// Plans, fetches, asks and installs; none when another process changed the records in the meantime and this is not the
/// last attempt.
fn once(
    args: &Sync,
    installer: &Installer,
    mut options: SyncOptions,
    (last, json): (bool, bool),
    ui: &mut Ui,
) -> Result<Option<Done>, CommandError> {
    let scope = args.installing.common.scope();
    let plan = installer.plan_sync(scope, &options, &mut |what| report::progress(what, ui))?;
    report::sources(plan.sources(), ui);
    let offline = args.offline || args.frozen;
    consent::ask_for_sources(plan.sources(), args.installing.yes, offline, ui)?;
    let started = Instant::now();
    let unanswered = Unanswered::new(installer);
    // What the store has, or the project itself, is not fetched.
    let fetching = plan.sources().len();
    let bar = report::bar("fetching", fetching, json, ui);
    let skills = installer.fetch_sync(scope, plan, &mut |what| report::in_bar(what, &bar, ui));
    drop(bar);
    let skills = skills.map_err(|error| explained(error, args))?;
    if fetching > 0 {
        report::phase("fetched", fetching, started.elapsed(), ui);
    }
    let mut new = Vec::new();
    let overwrites = options.install.edits == Edits::Overwrite;
    if !args.fetch_only && !args.lock_only && (overwrites || !skills.is_empty()) {
        let previews = installer.previews(scope, &skills)?;
        let known = installer.are_accepted(scope, &skills)?;
        new = previews.into_iter().zip(known).filter(|(_, known)| !known).map(|(new, _)| new).collect();
        let (mut lost, mut accepts) = (String::new(), true);
        let mut looking = options.clone();
        looking.install.dry_run = true;
        if options.install.edits == Edits::Keep && !new.is_empty() {
            // What stays as it is needs no consent, and gets no trust.
            let planned = installer.sync(scope, skills.clone(), &looking, &mut |_| {});
            let kept = planned.map(|planned| planned.skills).unwrap_or_default();
            let is_kept = |name: &str| {
                let mut kept = kept.iter().filter(|change| change.name == name);
                kept.any(|change| matches!(change.action, Action::Kept | Action::LeftThere))
            };
            new.retain(|(name, _)| !is_kept(name));
            accepts = !new.is_empty();
        } else if overwrites {
            // Plan first, so that the question names what would be lost.
            let planned = installer
                .sync(scope, skills.clone(), &looking, &mut |what| report::progress(what, ui))
                .unwrap_or_default();
            report::name_replaced(&mut new, &planned);
            // The preview of a new skill names what it replaces.
            lost = report::lost(&planned, |change| !new.iter().any(|(name, _)| *name == change.name));
            options.install.shown = Some(planned.losses());
        }
        if args.installing.common.dry_run {
            consent::would_lose(&lost, ui);
            consent::would_ask(!new.is_empty() || !lost.is_empty(), args.installing.yes, ui);
        } else {
            consent::ask_to_lose(&lost, consent::REPLACE, args.installing.yes, ui)
                // A lock that came with a repository is not the user's consent.
                .and_then(|()| consent::ask(&new, args.installing.yes, ui))?;
        }
        options.install.accepted = accepts;
    }
    let _unanswered = unanswered.accept_unless(args.installing.common.dry_run);
    let started = Instant::now();
    let bar = report::bar("installing", 0, json, ui);
    let changes = installer.sync(scope, skills, &options, &mut |what| report::in_bar(what, &bar, ui));
    drop(bar);
    let changes = match changes {
        Err(error) if error.kind() == InstallErrorKind::Changed && !last => return Ok(None),
        changes => changes.map_err(|error| explained(error, args))?,
    };
    if !args.installing.common.dry_run && !args.lock_only {
        report::finished(&changes, started, ui);
        report::left_behind(installer, scope, &changes, ui);
    }
    Ok(Some((changes, new)))
}
