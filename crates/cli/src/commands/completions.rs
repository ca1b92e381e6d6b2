//! `prowess completions`: the script that lets a shell complete commands, options and names. The script asks `prowess`
//! itself, by a variable of the environment.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::Command;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::{CompleteEnv, Shells};
use prowess::check;
use prowess::library::clients::CLIENTS;

use super::{Purpose, install, unread_registry};
use crate::Outcome;
use crate::args::{Completions, Places, help};
use crate::error::{CommandError, Failure};
use crate::ui::Ui;

/// The variable by which a shell asks for completions.
const VARIABLE: &str = "PROWESS_COMPLETE";

/// Runs the command.
pub(crate) fn run(args: &Completions, ui: &mut Ui) -> Result<Outcome, CommandError> {
    let mut script = Vec::new();
    let shells = Shells::builtins();
    if let Some(shell) = shells.completer(&args.shell) {
        shell
            .write_registration(VARIABLE, "prowess", "prowess", "prowess", &mut script)
            .map_err(|error| CommandError::writing(&error))?;
    }
    ui.print(&String::from_utf8_lossy(&script))?;
    Ok(Outcome::Fine)
}

/// Answers a shell that asks for completions. `false` if this process was started for something else.
pub(crate) fn answer(words: &[OsString]) -> Result<bool, Failure> {
    CompleteEnv::with_factory(command)
        .var(VARIABLE)
        .try_complete(words.iter().cloned(), Some(Path::new(".")))
        .map_err(|error| {
            Failure::new(error.to_string(), "write the script of your shell again: prowess completions")
        })
}

/// The grammar, with the names that each argument takes.
fn command() -> Command {
    help::command().mut_subcommands(|command| {
        let installed = matches!(command.get_name(), "remove" | "verify");
        let makes = command.get_name() == "new";
        command.mut_args(|arg| {
            let kind = arg.get_value_names().and_then(<[_]>::first).map(ToString::to_string);
            match kind.as_deref() {
                Some("NAME") if installed => arg.add(ArgValueCompleter::new(installed_names)),
                // `new` makes a new name, and options such as `--only` take patterns.
                Some("NAME") if makes || arg.get_long().is_some() => arg,
                Some("NAME" | "PATH|NAME" | "NAME|FOLDER") => arg.add(ArgValueCompleter::new(skill_names)),
                // The grammar has the clients that it takes.
                Some("CLIENT") if !arg.get_possible_values().is_empty() => arg,
                Some("CLIENT") => arg.add(ArgValueCompleter::new(clients)),
                Some("CODE") => arg.add(ArgValueCompleter::new(rules)),
                _ => arg,
            }
        })
    })
}

/// The skills that `list` shows, without those of remote sources: a completion must not wait for a network.
fn skill_names(typed: &OsStr) -> Vec<CompletionCandidate> {
    let Ok((registry, _)) = unread_registry(&Places::default(), Purpose::Use, None) else {
        return Vec::new();
    };
    if registry.refresh_local().is_err() {
        return Vec::new();
    }
    let catalog = registry.catalog();
    candidates(
        typed,
        catalog.iter().map(|skill| (skill.entry.key.as_str(), skill.entry.description.as_str())),
    )
}

fn installed_names(typed: &OsStr) -> Vec<CompletionCandidate> {
    let installed = install::here().and_then(|installer| Ok(installer.list()?)).unwrap_or_default();
    candidates(typed, installed.iter().map(|skill| (skill.name.as_str(), "")))
}

fn clients(typed: &OsStr) -> Vec<CompletionCandidate> {
    let all = ("installed", "the clients on this machine");
    candidates(typed, CLIENTS.iter().map(|client| (client.id, client.name)).chain([all]))
}

fn rules(typed: &OsStr) -> Vec<CompletionCandidate> {
    candidates(typed, check::rules().map(|rule| (rule.code, rule.summary)))
}

/// The names that begin with what was typed. A name with characters that a shell treats specially is left out.
fn candidates<'n>(
    typed: &OsStr,
    names: impl Iterator<Item = (&'n str, &'n str)>,
) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    // Of a list with commas, the last item is completed.
    let (before, last) = typed.rsplit_once(',').map_or(("", typed.as_ref()), |(before, last)| (before, last));
    let before = if before.is_empty() { String::new() } else { format!("{before},") };
    let is_plain = |name: &str| name.chars().all(|c| c.is_alphanumeric() || "-_.:/@".contains(c));
    let mut found: Vec<(&str, &str)> =
        names.filter(|(name, _)| name.starts_with(last) && is_plain(name)).collect();
    found.sort_unstable();
    found.dedup_by_key(|(name, _)| *name);
    let candidate = |(name, help): (&str, &str)| {
        let help = crate::ui::clean(help);
        let help = (!help.is_empty()).then(|| prowess::text::cut(&help, Some(60)).into_owned().into());
        CompletionCandidate::new(format!("{before}{name}")).help(help)
    };
    found.into_iter().map(candidate).collect()
}
