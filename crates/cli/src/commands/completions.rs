//! `prowess completions`: the script that lets a shell complete commands, options and names. The script asks `prowess`
//! itself, by a variable of the environment.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::{Arg, Command, FromArgMatches as _, ValueHint};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter as _};
use clap_complete::env::{CompleteEnv, Shells};
use prowess::check;
use prowess::env::Environment;
use prowess::internal::config_keys;
use prowess::library::clients::CLIENTS;

use super::{Purpose, install, unread_registry};
use crate::Outcome;
use crate::args::{Cat, Completions, Places, help};
use crate::error::{CommandError, Failure};
use crate::ui::Ui;

/// The variable by which a shell asks for completions.
const VARIABLE: &str = "PROWESS_COMPLETE";

/// Where the script for bash asks, and what it does before: bash makes three words of `--client=codex`, and completes the
/// last one.
const BASH_ASKS: &str = "    COMPREPLY=( $( \\\n";
const BASH_JOINS: &str = r#"    local at joined=()
    for at in "${!words[@]}"; do
        if [[ "${COMP_WORDS[at]}" != "=" ]]; then
            joined+=("${words[at]}")
        elif (( at == COMP_CWORD )); then
            joined+=("")
        elif (( at < COMP_CWORD )); then
            (( _CLAP_COMPLETE_INDEX -= 1 ))
        fi
    done
    words=("${joined[@]}")
"#;

/// Runs the command.
pub(crate) fn run(args: &Completions, ui: &mut Ui) -> Result<Outcome, CommandError> {
    let mut script = Vec::new();
    let shells = Shells::builtins();
    if let Some(shell) = shells.completer(&args.shell) {
        shell
            .write_registration(VARIABLE, "prowess", "prowess", "prowess", &mut script)
            .map_err(|error| CommandError::writing(&error))?;
    }
    let mut script = String::from_utf8_lossy(&script).into_owned();
    if args.shell == "bash" {
        script = script.replacen(BASH_ASKS, &format!("{BASH_JOINS}{BASH_ASKS}"), 1);
    }
    ui.print(&script)?;
    Ok(Outcome::Fine)
}

/// Answers a shell that asks for completions. `false` if this process was started for something else.
pub(crate) fn answer(words: &[OsString]) -> Result<bool, Failure> {
    CompleteEnv::with_factory(|| command(words))
        .var(VARIABLE)
        .try_complete(words.iter().cloned(), Some(Path::new(".")))
        .map_err(|error| {
            Failure::new(error.to_string(), "write the script of your shell again: prowess completions SHELL")
        })
}

/// The grammar, with the names that each argument takes.
fn command(words: &[OsString]) -> Command {
    help::command().mut_subcommands(|command| {
        let installed = matches!(command.get_name(), "remove" | "verify");
        let makes = command.get_name() == "new";
        // These are about what agents list, which does not have the built-in skills.
        let lists = matches!(command.get_name(), "why" | "trust" | "show" | "check");
        let names_command = command.get_name() == "man";
        only_hidden_aliases(command)
            .mut_args(|arg| {
                let kind = arg.get_value_names().and_then(<[_]>::first).map(ToString::to_string);
                match kind.as_deref() {
                    Some("NAME") if installed => arg.add(ArgValueCompleter::new(installed_names)),
                    // `new` makes a new name, and options such as `--only` take patterns.
                    Some("NAME") if makes || arg.get_long().is_some() => arg,
                    Some("NAME|FOLDER") if lists => arg.add(ArgValueCompleter::new(listed_names_and_folders)),
                    Some("PATH|NAME") if lists => arg.add(ArgValueCompleter::new(listed_names_and_paths)),
                    Some("PATH|NAME") => arg.add(ArgValueCompleter::new(names_and_paths)),
                    Some("NAME" | "NAME|FOLDER") => arg.add(ArgValueCompleter::new(skill_names)),
                    Some("RESOURCE") => {
                        let words = words.to_vec();
                        arg.add(ArgValueCompleter::new(move |typed: &OsStr| files_of(&words, typed)))
                    }
                    Some("SOURCE" | "SPEC") => arg.add(ArgValueCompleter::new(sources)),
                    Some("COMMAND") if names_command => arg.add(ArgValueCompleter::new(commands)),
                    // The grammar has the clients that it takes.
                    Some("CLIENT") if !arg.get_possible_values().is_empty() => arg,
                    Some("CLIENT") => arg.add(ArgValueCompleter::new(clients)),
                    Some("CODE") if arg.get_long() == Some("deny") => arg.add(ArgValueCompleter::new(denied)),
                    Some("CODE") => arg.add(ArgValueCompleter::new(rules)),
                    _ => path_argument(arg),
                }
            })
            .mut_subcommands(|command| command.mut_args(key_of_configuration))
    })
}

/// A command whose other names are completed only if nothing else is: else one of them takes the place of its name.
fn only_hidden_aliases(command: Command) -> Command {
    // The process ends after it answered.
    let aliases: Vec<&'static str> =
        command.get_visible_aliases().map(|alias| &*alias.to_owned().leak()).collect();
    command.visible_alias(None::<&'static str>).aliases(aliases)
}

/// The argument of `config get` and others that takes a key.
fn key_of_configuration(arg: Arg) -> Arg {
    let kind = arg.get_value_names().and_then(<[_]>::first).map(ToString::to_string);
    if kind.as_deref() == Some("KEY") { arg.add(ArgValueCompleter::new(keys)) } else { path_argument(arg) }
}

/// An argument that takes a path, completed by [`paths`]: the parser itself would complete names that a shell executes.
fn path_argument(arg: Arg) -> Arg {
    match arg.get_value_hint() {
        ValueHint::AnyPath | ValueHint::FilePath => {
            arg.add(ArgValueCompleter::new(|typed: &OsStr| paths(&PathCompleter::any(), typed)))
        }
        ValueHint::DirPath => {
            arg.add(ArgValueCompleter::new(|typed: &OsStr| paths(&PathCompleter::dir(), typed)))
        }
        _ => arg,
    }
}

fn skill_names(typed: &OsStr) -> Vec<CompletionCandidate> {
    names_for(Purpose::Use, typed)
}

fn listed_names_and_paths(typed: &OsStr) -> Vec<CompletionCandidate> {
    let mut found = names_for(Purpose::Look, typed);
    found.extend(paths(&PathCompleter::any(), typed));
    found
}

fn names_and_paths(typed: &OsStr) -> Vec<CompletionCandidate> {
    let mut found = skill_names(typed);
    found.extend(paths(&PathCompleter::any(), typed));
    found
}

fn listed_names_and_folders(typed: &OsStr) -> Vec<CompletionCandidate> {
    let mut found = names_for(Purpose::Look, typed);
    found.extend(paths(&PathCompleter::dir(), typed));
    found
}

/// The paths that begin with what was typed; `~` is the home folder, as in a shell.
fn paths(completer: &PathCompleter, typed: &OsStr) -> Vec<CompletionCandidate> {
    let home = Environment::current().home().and_then(|home| Some(format!("{}/", home.to_str()?)));
    let below = typed.to_str().and_then(|typed| typed.strip_prefix("~/"));
    let (found, home) = match below.zip(home) {
        Some((below, home)) => (completer.complete(OsStr::new(&format!("{home}{below}"))), Some(home)),
        None => (completer.complete(typed), None),
    };
    let short = |candidate: &CompletionCandidate| {
        let path = candidate.get_value().to_str()?;
        let path = match &home {
            Some(home) => format!("~/{}", path.strip_prefix(home.as_str())?),
            None => path.to_owned(),
        };
        is_plain(path.trim_start_matches('~')).then(|| CompletionCandidate::new(path))
    };
    found.iter().filter_map(short).collect()
}

/// The skills that a command finds, without those of remote sources: a completion must not wait for a network.
fn names_for(purpose: Purpose, typed: &OsStr) -> Vec<CompletionCandidate> {
    let Ok((registry, _)) = unread_registry(&Places::default(), purpose, None) else {
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

/// The files of the skill that a line of `cat` names, where it says that the skill is.
fn files_of(words: &[OsString], typed: &OsStr) -> Vec<CompletionCandidate> {
    // The shell writes the line after `--`.
    let line = words.iter().skip_while(|word| *word != "--").skip(1);
    let Ok(matches) = help::command().ignore_errors(true).try_get_matches_from(line) else {
        return Vec::new();
    };
    let cat = matches.subcommand_matches("cat").and_then(|cat| Cat::from_arg_matches(cat).ok());
    let files = cat.and_then(|cat| {
        let (registry, _) = unread_registry(&cat.places, Purpose::Use, None).ok()?;
        registry.refresh_local().ok()?;
        registry.files_of(&*registry.named(&cat.name).ok()?).ok()
    });
    let files = files.unwrap_or_default();
    candidates(typed, files.files.iter().map(|file| (file.path.as_str(), "")))
}

fn installed_names(typed: &OsStr) -> Vec<CompletionCandidate> {
    let installed = install::here().and_then(|installer| Ok(installer.list()?)).unwrap_or_default();
    candidates(typed, installed.iter().map(|skill| (skill.name.as_str(), "")))
}

/// The sources of installed skills, and folders.
fn sources(typed: &OsStr) -> Vec<CompletionCandidate> {
    let installed = install::here().and_then(|installer| Ok(installer.list()?)).unwrap_or_default();
    let known = installed.iter().filter_map(|skill| skill.locked.source.git());
    let mut found = candidates(typed, known.map(|source| (source, "")));
    found.extend(paths(&PathCompleter::dir(), typed));
    found
}

fn commands(typed: &OsStr) -> Vec<CompletionCandidate> {
    let whole = help::command();
    let about = |command: &Command| command.get_about().map(ToString::to_string).unwrap_or_default();
    let all: Vec<(String, String)> =
        whole.get_subcommands().map(|command| (command.get_name().to_owned(), about(command))).collect();
    candidates(typed, all.iter().map(|(name, about)| (name.as_str(), about.as_str())))
}

fn clients(typed: &OsStr) -> Vec<CompletionCandidate> {
    let all = ("installed", "the clients on this machine");
    candidates(typed, CLIENTS.iter().map(|client| (client.id, client.name)).chain([all]))
}

fn keys(typed: &OsStr) -> Vec<CompletionCandidate> {
    let mut keys: Vec<(String, &str)> =
        config_keys().map(|(table, key)| (format!("{}.{}", table.name, key.name), key.meaning)).collect();
    // The level of a rule is a key of its own.
    keys.extend(check::rules().map(|rule| (format!("check.levels.{}", rule.code), rule.summary)));
    candidates(typed, keys.iter().map(|(key, meaning)| (key.as_str(), *meaning)))
}

fn rules(typed: &OsStr) -> Vec<CompletionCandidate> {
    candidates(typed, check::rules().map(|rule| (rule.code, rule.summary)))
}

fn denied(typed: &OsStr) -> Vec<CompletionCandidate> {
    let all = ("warnings", "every warning");
    candidates(typed, check::rules().map(|rule| (rule.code, rule.summary)).chain([all]))
}

/// Whether no shell treats a character of the text specially.
fn is_plain(text: &str) -> bool {
    text.chars().all(|c| c.is_alphanumeric() || "-_.:/@".contains(c))
}

/// The names that begin with what was typed. A name with characters that a shell treats specially is left out.
fn candidates<'n>(
    typed: &OsStr,
    names: impl Iterator<Item = (&'n str, &'n str)>,
) -> Vec<CompletionCandidate> {
    // The script for bash gets and gives words as they are on the line; those of other shells quote them.
    let in_bash = Environment::current().get("_CLAP_COMPLETE_COMP_TYPE").is_some();
    let typed = typed.to_string_lossy();
    let typed = if in_bash { typed.replace("\\ ", " ").into() } else { typed };
    // Of a list with commas, the last item is completed.
    let (before, last) = typed.rsplit_once(',').map_or(("", typed.as_ref()), |(before, last)| (before, last));
    let before = if before.is_empty() { String::new() } else { format!("{before},") };
    let is_offered = |name: &str| name.split(' ').all(|word| !word.is_empty() && is_plain(word));
    let mut found: Vec<(&str, &str)> =
        names.filter(|(name, _)| name.starts_with(last) && is_offered(name)).collect();
    found.sort_unstable();
    found.dedup_by_key(|(name, _)| *name);
    let candidate = |(name, help): (&str, &str)| {
        let help = crate::ui::clean(help);
        let help = (!help.is_empty()).then(|| prowess::text::cut(&help, Some(60)).into_owned().into());
        let word = format!("{before}{name}");
        CompletionCandidate::new(if in_bash { word.replace(' ', "\\ ") } else { word }).help(help)
    };
    found.into_iter().map(candidate).collect()
}
