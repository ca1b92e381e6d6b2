//! The commands that install skills, and what they share: the installer of a project, consent, reports.

pub(crate) mod add;
mod choose;
mod consent;
pub(crate) mod installed;
mod preview;
pub(crate) mod report;
pub(crate) mod sync;
pub(crate) mod verify;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use prowess::env::{self, Environment};
use prowess::install::{
    Edits, InstallError, InstallErrorKind, InstallFolders, InstallLimit, InstallOptions, InstallScope,
    Installer, Relock,
};
use prowess::settings::ConfigLimits;
use prowess::{Config, RelPath};

pub(super) use self::preview::shown as preview_lines;
use crate::Outcome;
use crate::args::{Common, Remove};
use crate::commands::hints;
use crate::commands::hints::{of_denied, of_full_disk};
use crate::commands::shown;
use crate::error::{CommandError, Failure, Hint};
use crate::ui::command::{command_for, shell_word};
use crate::ui::{Text, Ui};

/// Runs `prowess remove`.
pub(crate) fn remove(args: &Remove, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    let (installer, scope) = (installer(&args.common)?, args.common.scope());
    let mut options = InstallOptions::default();
    (options.edits, options.dry_run) = (args.existing.edits(), args.common.dry_run);
    if !options.dry_run {
        installer.settle(scope, &mut |what| report::progress(what, ui))?;
    }
    if options.edits == Edits::Overwrite {
        // Plan first, so that the question names what would be lost.
        let mut looking = options.clone();
        looking.dry_run = true;
        let planned = installer
            .uninstall(scope, &args.names, &looking, &mut |what| report::progress(what, ui))
            .map_err(|error| for_user_only(error, &installer, args))?;
        let lost = report::lost(&planned, |_| true);
        if options.dry_run {
            consent::would_lose(&lost, ui);
            consent::would_ask(!lost.is_empty(), args.yes, ui);
        } else {
            consent::ask_to_lose(&lost, consent::DELETE, args.yes, ui)?;
        }
        options.shown = Some(planned.losses());
    }
    let changes = installer
        .uninstall(scope, &args.names, &options, &mut |what| report::progress(what, ui))
        .map_err(|error| for_user_only(error, &installer, args))?;
    if !options.dry_run {
        report::left_behind(&installer, scope, &changes, ui);
    }
    report::changes(&changes, &args.common, json, ui)?;
    Ok(Outcome::Fine)
}

/// An error about a skill that is not installed for the project, with the hint that it is for the user.
fn for_user_only(error: InstallError, installer: &Installer, args: &Remove) -> CommandError {
    let origins = installer.origins();
    let is_own = |name: &&String| origins.named(name).all(|origin| origin.scope == InstallScope::User);
    let own = args.names.iter().filter(|name| origins.named(name).next().is_some()).find(is_own);
    match own.filter(|_| !args.common.user && error.kind() == InstallErrorKind::NotFound) {
        Some(name) => {
            let remove = command_for("remove", name, " --user");
            with_hint(&error, format!("it is installed for you; remove it with: {remove}"))
        }
        None if error.kind() == InstallErrorKind::HoldsSource => {
            with_hint(&error, "keep its files and forget where they came from with --keep")
        }
        None if error.kind() == InstallErrorKind::Taken => {
            with_hint(&error, "keep its files with --keep, or delete them with --overwrite")
        }
        None => error.into(),
    }
}

/// The installer of the current folder's project, and of the user.
pub(super) fn here() -> Result<Installer, CommandError> {
    of_project(None)
}

fn of_project(project: Option<&Path>) -> Result<Installer, CommandError> {
    let environment = Environment::current();
    environment.check().map_err(|error| Failure::from(&error))?;
    let project = match project {
        Some(folder) if !env::place(folder).is_dir() => {
            let message = format!("the project is no folder that is there: {}", shown(folder));
            return Err(
                Failure::new(message, "check the path behind --project, or make the folder first").into()
            );
        }
        Some(folder) => env::place(folder),
        None => InstallFolders::project_of(&env::absolute(Path::new(".")), &environment),
    };
    // Only the user sets where the skills of an organisation are: a project could point them anywhere.
    let config = Config::of_user(&environment, ConfigLimits::default());
    let config = config.map_err(|error| Failure::from(&error))?;
    let installer = Installer::of_user(environment, &project)?;
    let installer = installer.with_on_wait(|url| {
        crate::ui::note_beside(&format!("waiting for another process that fetches from {url}"));
    });
    let registries = config.into_iter().flat_map(|config| config.registries);
    Ok(registries.fold(installer, |installer, (org, url)| installer.with_registry(org, url)))
}

/// The installer for these options.
fn installer(common: &Common) -> Result<Installer, CommandError> {
    let installer = of_project(common.project.as_deref())?.with_lock_timeout(common.lock_timeout);
    let folders = installer.folders();
    if !common.user && folders.user.as_deref().is_some_and(|user| is_own(user, &folders.project)) {
        let hint = "run the command with --user for your own skills, or name a project with --project FOLDER";
        return Err(Failure::new("this is your own folder, not a project", hint).into());
    }
    Ok(installer)
}

/// Whether the current folder is the user's own, where skills are installed with `--user`.
pub(super) fn is_own_folder() -> bool {
    of_project(None).is_ok_and(|installer| {
        let folders = installer.folders();
        folders.user.as_deref().is_some_and(|user| is_own(user, &folders.project))
    })
}

fn is_own(user: &Path, project: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let (user, project) = (real(user), real(project));
    project == user || project.starts_with(user.join(".agents"))
}

impl From<InstallError> for CommandError {
    fn from(error: InstallError) -> Self {
        use InstallErrorKind as Kind;
        let user = error.scope().zip(error.folder()).map_or_else(String::new, place_option);
        let library = || hints::of(error.hint(), "", None);
        let hint: Hint = match error.kind() {
            Kind::Exists => {
                "give it another name with --as NAME, or replace what is there with --overwrite".into()
            }
            Kind::Taken => "move it away, leave it alone with --keep, or replace it with --overwrite".into(),
            Kind::HoldsSource => {
                "leave it alone with --keep, or move it to another folder and add it from there".into()
            }
            Kind::Edited => Text::from("keep the edits with --keep, or lose them with --overwrite; see them")
                .with(format!("prowess verify{user}"))
                .into(),
            Kind::TooLarge => error.limit().and_then(option_of).map_or_else(library, Hint::from),
            Kind::Ambiguous => "name one with --skill NAME, or take them all with --all".into(),
            Kind::SameName => {
                "name one by its path: --skill PATH; give the other another name: --skill PATH --as NAME"
                    .into()
            }
            Kind::Busy => "wait until it is done, or wait longer with --lock-timeout SECONDS".into(),
            Kind::OutOfDate => Text::from("update the lock").with(format!("prowess sync{user}")).into(),
            Kind::Unreachable => Text::from("if upstream rewrote its history, lock what is there now")
                .with(add_again(error.relocks(), &user))
                .words("; otherwise do not install it")
                .into(),
            Kind::Interrupted => Text::from("complete it first").with(format!("prowess verify{user}")).into(),
            Kind::Io => of_system(&error).map_or_else(library, Hint::from),
            _ => library(),
        };
        match (error.kind(), with_hint(&error, hint)) {
            (Kind::OutOfDate, CommandError::Failed(failure)) => CommandError::OutOfDate(failure),
            (_, failed) => failed,
        }
    }
}

/// What to do where the system refused something; none when only the error itself knows.
fn of_system(error: &InstallError) -> Option<Text> {
    let cause = std::error::Error::source(error)?.downcast_ref::<io::Error>()?;
    match cause.kind() {
        io::ErrorKind::PermissionDenied => of_denied(error.path()?),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            of_full_disk(error.path()?, error.hint())
        }
        _ => None,
    }
}

/// The commands that add skills again, each under the name that it has. Those of one repository are added together.
fn add_again(relocks: &[Relock], here: &str) -> String {
    let option = |name: &str, value: &str| format!(" {name} {}", shell_word(value));
    let (mut by_path, mut commands) = (BTreeMap::<String, Vec<&str>>::new(), Vec::new());
    for Relock { spec, alias, .. } in relocks {
        let (path, skill) = (spec.path.as_ref().map(RelPath::as_str), spec.skill.as_deref());
        let mut source = spec.clone();
        (source.path, source.skill) = (None, None);
        let source = source.to_string();
        if let (Some(path), None, None) = (path, skill, alias) {
            by_path.entry(source).or_default().push(path);
            continue;
        }
        let options = [("--path", path), ("--skill", skill), ("--as", alias.as_deref())];
        let options = options.into_iter().filter_map(|(name, value)| Some(option(name, value?)));
        commands.push(command_for("add", &source, &format!("{}{here}", options.collect::<String>())));
    }
    for (source, paths) in by_path {
        let name = if paths.len() == 1 { "--path" } else { "--skill" };
        let paths: String = paths.into_iter().map(|path| option(name, path)).collect();
        commands.push(command_for("add", &source, &format!("{paths}{here}")));
    }
    commands.join(" && ")
}

/// How to raise a limit.
fn option_of(limit: InstallLimit) -> Option<&'static str> {
    Some(match limit {
        InstallLimit::Files => "raise the limit with --max-files N",
        InstallLimit::Bytes => "raise the limit with --max-bytes N",
        InstallLimit::FileBytes => "raise the limit with --max-file-bytes N",
        InstallLimit::Depth => "raise the limit with --max-depth N",
        InstallLimit::TotalBytes => {
            "install fewer skills at once, or raise the limit with --max-total-bytes N"
        }
        InstallLimit::FetchedBytes => {
            "install from fewer repositories at once, or raise the limit with --max-fetched-bytes N"
        }
        _ => return None,
    })
}

/// The option that repeats a scope, as text after a command.
pub(crate) fn scope_option(scope: InstallScope) -> &'static str {
    match scope {
        InstallScope::Project => "",
        InstallScope::User => " --user",
    }
}

/// The option that repeats a place, as text after a command: of the user, or of another project than the current one.
pub(super) fn place_option((scope, folder): (InstallScope, &Path)) -> String {
    let here = || InstallFolders::project_of(&env::absolute(Path::new(".")), &Environment::current());
    match scope {
        InstallScope::Project if folder != here() => {
            format!(" --project {}", shell_word(&folder.to_string_lossy()))
        }
        _ => scope_option(scope).to_owned(),
    }
}

/// The place that an installer changes in a scope.
fn place_of(installer: &Installer, scope: InstallScope) -> (InstallScope, &Path) {
    let folders = installer.folders();
    let user = folders.user.as_deref().filter(|_| scope == InstallScope::User);
    (scope, user.unwrap_or(&folders.project))
}

/// The failure of an error with all its causes and this hint.
fn with_hint(error: &InstallError, hint: impl Into<Hint>) -> CommandError {
    let mut failure = Failure { code: error.kind().code(), ..Failure::new(error.to_string(), hint) };
    let mut cause = std::error::Error::source(error);
    while let Some(deeper) = cause {
        failure = failure.with_cause(prowess::internal::plain_cause(&deeper.to_string()));
        cause = deeper.source();
    }
    failure.into()
}
