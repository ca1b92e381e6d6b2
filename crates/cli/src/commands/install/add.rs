//! `prowess add`: installs skills.

use std::path::Path;
use std::time::Instant;

use prowess::RelPath;
use prowess::install::{Edits, InstallError, InstallErrorKind, InstallPlace, InstallSpec, Progress};

use super::choose::{self, Chosen};
use super::consent::{self, Unanswered};
use super::{installer, is_own_folder, report, with_hint};
use crate::Outcome;
use crate::args::Add;
use crate::error::{CommandError, Failure};
use crate::explain::clients_named;
use crate::ui::command::command_for;
use crate::ui::{Ui, count};

/// Runs the command.
pub(crate) fn run(args: &Add, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    crate::signals::end_programs_too();
    let spec = spec(args)?;
    let scope = args.installing.common.scope();
    let installer = installer(&args.installing.common)?.with_limits(args.installing.limits.limits());
    let mut options = args.installing.options();
    clients_named::check(&options.clients)?;
    if !options.dry_run {
        // Before the plan, which changes nothing.
        installer.settle(scope, &mut |what| report::progress(what, ui))?;
    }
    installer.check_request(scope, &options, args.alias.as_deref())?;
    let started = Instant::now();
    let source = installer.source(&spec)?;
    if let Some(url) = source.repository() {
        ui.note(&format!("from {url}"));
    }
    let unanswered = Unanswered::new(&installer);
    let bar = report::bar("resolving", 0, json, ui);
    bar.next(&args.source);
    let mut available = installer.find(scope, &source)?;
    drop(bar);
    let resolved = started.elapsed();
    let Chosen { skills: chosen, all } = choose::chosen(&available, &spec, args, ui)?;
    report::phase("resolved", chosen.len(), resolved, ui);
    let started = Instant::now();
    let alias = args.alias.as_deref();
    let bar = report::bar("fetching", 0, json, ui);
    bar.next(&count(chosen.len(), "skill"));
    let mut progress = |what: Progress<'_>| report::in_bar(what, &bar, ui);
    let mut left_out = if all { available.left_out() } else { Vec::new() };
    let skills = if all && alias.is_none() {
        let prepared = installer.prepare_fit(scope, &mut available, &chosen, &mut progress);
        prepared.map(|(skills, skipped)| {
            left_out.extend(skipped);
            skills
        })
    } else {
        installer.prepare(scope, &mut available, &chosen, alias, &mut progress)
    };
    let skills = skills.and_then(|skills| {
        if !all {
            return Ok(skills);
        }
        let (skills, taken) = installer.fit(scope, skills, &options, &mut progress)?;
        left_out.extend(taken);
        Ok(skills)
    });
    drop(bar);
    choose::say_left_out(&left_out, ui);
    let skills = skills.map_err(|error| match error.kind() {
        InstallErrorKind::Refused if chosen.len() > 1 => {
            with_hint(&error, "nothing was installed; install the others without it: --skill NAME for each")
        }
        _ => error.into(),
    })?;
    if source.repository().is_some() {
        report::phase("fetched", skills.len(), started.elapsed(), ui);
    }
    let mut previews = installer.previews(scope, &skills)?;
    let overwrites = options.edits == Edits::Overwrite;
    if overwrites || (ui.can_ask() && !args.installing.yes) {
        // Plan first, so that the question names what would be lost, and nothing is asked that fails anyway.
        let mut looking = options.clone();
        looking.dry_run = true;
        let planned =
            installer.add(scope, skills.clone(), &looking, &mut |what| report::progress(what, ui))?;
        if overwrites {
            report::name_replaced(&mut previews, &planned);
            options.shown = Some(planned.losses());
        }
    }
    if options.dry_run {
        consent::would_ask(!previews.is_empty(), args.installing.yes, ui);
    } else {
        consent::ask(&previews, args.installing.yes, ui)?;
    }
    // What a dry run fetched goes with it, as what is declined.
    let _unanswered = unanswered.accept_unless(options.dry_run);
    options.accepted = true;
    let started = Instant::now();
    let bar = report::bar("installing", 0, json, ui);
    bar.next(&count(skills.len(), "skill"));
    let changes = installer.add(scope, skills, &options, &mut |what| report::in_bar(what, &bar, ui))?;
    drop(bar);
    if !options.dry_run {
        report::finished(&changes, started, ui);
        report::left_behind(&installer, scope, &changes, ui);
    }
    let is_whole = left_out.is_empty();
    report::added(&changes, (&previews, all.then_some(left_out)), &args.installing.common, json, ui)?;
    Ok(if is_whole { Outcome::Fine } else { Outcome::Problems })
}

/// The folder that a source may mean which does not begin as a path does, if it exists.
fn folder_meant(source: &str) -> Option<&str> {
    let folder = source.split(['#', '@']).next()?.trim_end_matches('/');
    let is_name = !folder.is_empty() && !folder.starts_with(['.', '/', '~']) && !folder.contains([':', '\\']);
    Some(folder).filter(|folder| is_name && Path::new(folder).is_dir())
}

/// The spec that the source and the options make together.
fn spec(args: &Add) -> Result<InstallSpec, CommandError> {
    let parsed: Result<InstallSpec, InstallError> = args.source.parse();
    if let Some(folder) = folder_meant(&args.source) {
        // Otherwise the owner of this name on GitHub would answer.
        let error = format!("a folder of this machine begins with ./, and there is one: {}", args.source);
        let user = if args.installing.common.user || is_own_folder() { " --user" } else { "" };
        let add = command_for("add", &format!("./{folder}"), user);
        let hint = match &parsed {
            Ok(InstallSpec { place: InstallPlace::Git(url), .. }) => {
                format!("install it with: {add}; for the repository write {url}")
            }
            _ => format!("install it with: {add}"),
        };
        return Err(Failure::new(error, hint).into());
    }
    let mut spec = parsed?;
    if let Some(reference) = &args.reference {
        if matches!(spec.place, InstallPlace::Folder(_)) {
            let hint = "leave out --ref, or name a git repository such as file:///folder";
            return Err(Failure::new(
                format!("a folder has no versions: {}: --ref {reference}", args.source),
                hint,
            )
            .into());
        }
        // Parsed as a part of a source, so that the same rules apply.
        let with: InstallSpec = format!("owner/repo#{reference}").parse().map_err(|_| {
            let hint = "name a branch, a tag or a whole commit, as git allows them";
            Failure::new(format!("this cannot be a branch, tag or commit: --ref {reference}"), hint)
        })?;
        if spec.reference.is_some() && spec.reference != with.reference {
            let error =
                format!("the source names another version already: {}: --ref {reference}", args.source);
            return Err(Failure::new(error, "leave out --ref, or the version in the source").into());
        }
        spec.reference = with.reference;
    }
    if let Some(path) = &args.path {
        let path = RelPath::from_request(path.trim_end_matches('/'));
        let path =
            path.map_err(|error| Failure::new(error.to_string(), "name a folder inside of the repository"))?;
        if spec.path.as_ref().is_some_and(|other| *other != path) {
            let error = format!("the source names another folder already: {}: --path {path}", args.source);
            return Err(Failure::new(error, "leave out --path, or the folder in the source").into());
        }
        spec.path = Some(path);
    }
    if let Some(named) = &spec.skill {
        let other = args.skill.iter().find(|skill| *skill != named).map(|skill| format!("--skill {skill}"));
        if let Some(option) = other.or_else(|| args.all.then(|| "--all".to_owned())) {
            let error = format!("the source names one of its skills already: {}: {option}", args.source);
            let option = option.split(' ').next().unwrap_or_default();
            return Err(Failure::new(error, format!("leave out {option}, or @{named} in the source")).into());
        }
    }
    if let [skill] = &*args.skill {
        spec.skill = Some(skill.clone());
    }
    Ok(spec)
}
