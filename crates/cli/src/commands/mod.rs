//! One file for each command, and what they share: opening the library, finding a skill by name, hints.

pub(crate) mod activate;
pub(crate) mod cat;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod confined;
pub(crate) mod connect;
pub(crate) mod doctor;
pub(crate) mod eval;
mod fixable;
pub(crate) mod hints;
pub(crate) mod install;
pub(crate) mod list;
pub(crate) mod man;
pub(crate) mod new;
pub(crate) mod prompt;
pub(crate) mod replay;
pub(crate) mod rule;
pub(crate) mod search;
pub(crate) mod serve;
pub(crate) mod show;
pub(crate) mod skill_arg;
mod source_in_config;
pub(crate) mod tools;
pub(crate) mod trust;
pub(crate) mod try_;
pub(crate) mod watch;
pub(crate) mod why;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess::archive::ArchiveFormat;
use prowess::env::Environment;
use prowess::fs::read::{self, Head};
use prowess::fs::walk::FILE_NAMES;
use prowess::library::views::Reach;
use prowess::library::{LibraryOptions, library_with_session};
use prowess::session::Filter;
use prowess::settings::{SessionConfig, SettingsError};
use prowess::source::open::OpenServer;
use prowess::source::spec::{Place, Server};
use prowess::{Candidate, HostTools, LookupError, Profile, Registry, Standing};

use self::hints::of_registry;
use self::skill_arg::{Prefer, Resolved, SkillArg};
use crate::args::{Places, Scan};
use crate::error::{CommandError, Failure};
use crate::explain::clients_named;
use crate::explain::left_out::LeftOutBy;
use crate::explain::trust::Advice;
use crate::explain::unread::say_problems;
use crate::signals::{EndingServers, OwnSignals};
use crate::ui::command::command_for;
use crate::ui::{Text, Ui};

/// The path that means standard input.
pub(crate) const STDIN: &str = "-";

/// A path as it is shown: without the `./` that a walk of the current folder begins with.
pub(crate) fn shown(path: &Path) -> String {
    let text = path.to_string_lossy();
    text.strip_prefix("./").filter(|rest| !rest.is_empty()).unwrap_or(&text).to_owned()
}

/// The SKILL.md of a folder, if there is one.
pub(crate) fn skill_file(folder: &Path) -> Option<PathBuf> {
    // Some file systems ignore case, so the names in the folder decide.
    let names: Vec<_> = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.file_name()).collect();
    let name = FILE_NAMES.into_iter().find(|wanted| names.iter().any(|name| name == wanted))?;
    Some(folder.join(name))
}

/// Reads a file that was given as a SKILL.md; an archive is an error.
fn read_skill(path: &Path) -> Result<Head, Failure> {
    let head = read::read_skill(path).map_err(|error| {
        let hints = vec![hints::of_skill_file(&error)];
        Failure { hints, ..Failure::from(&error) }
    })?;
    let own = FILE_NAMES.iter().any(|name| path.ends_with(name));
    match ArchiveFormat::of(&head.bytes) {
        Some(_) if !own => {
            let error = format!("this is an archive, not a SKILL.md: {}", shown(path));
            let list = command_for("list --in", &path.to_string_lossy(), "");
            let hint = format!("see its skills with: {list}; unpack it to check them");
            Err(Failure { path: Some(shown(path)), ..Failure::new(error, hint) })
        }
        _ => Ok(head),
    }
}

/// The failure of a file that is no SKILL.md.
fn not_a_skill(path: &Path) -> Option<Failure> {
    let is_markdown = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md"));
    if is_markdown || !path.is_file() {
        return None;
    }
    Some(read_skill(path).err().unwrap_or_else(|| {
        let error = format!("this is not a SKILL.md: {}", shown(path));
        let hint = "give the SKILL.md or the folder of a skill, or its name";
        Failure { path: Some(shown(path)), ..Failure::new(error, hint) }
    }))
}

/// What a registry is opened for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A command about the user's skills.
    Look,
    /// A command that uses a skill, which may be a built-in one.
    Use,
    /// A server, which also has the built-in skills, and handles signals itself.
    Serve {
        /// Whether it serves at an address, where SIGHUP makes it reload.
        http: bool,
    },
}

/// The skills in the given places, not read yet.
///
/// With a client and `as_client`, they are what the client lists; without it, what Prowess offers of its folders.
pub(crate) fn unread_registry(
    places: &Places,
    purpose: Purpose,
    as_client: Option<Reach>,
) -> Result<(Registry, SessionConfig), CommandError> {
    let options = library_options(places, purpose).with_client(clients_named::one(places)?);
    library_with_session(Path::new("."), &Environment::current(), &options.with_as_client(as_client))
        .map_err(|error| no_library(&error))
}

/// The options of a library with the skills in the given places, without a client.
pub(crate) fn library_options(places: &Places, purpose: Purpose) -> LibraryOptions {
    let mut sources = places.sources.clone();
    for source in &mut sources {
        // The source's own setting comes first.
        if let Place::Url { ca_file, .. } | Place::Mcp(Server::At { ca_file, .. }) = &mut source.place {
            *ca_file = ca_file.take().or_else(|| places.ca_file.clone());
        }
    }
    let own_signals = match purpose {
        Purpose::Look | Purpose::Use => OwnSignals::None,
        Purpose::Serve { http: false } => OwnSignals::Stop,
        Purpose::Serve { http: true } => OwnSignals::All,
    };
    let servers: Option<Arc<dyn OpenServer>> = Some(Arc::new(EndingServers { own_signals }));
    scanning(&places.scan)
        .with_sources(sources)
        .with_confined(true)
        .with_cache(!places.no_cache)
        .with_builtins(purpose != Purpose::Look)
        .with_servers(servers)
}

/// The options of a library in which these skills count.
fn scanning(scan: &Scan) -> LibraryOptions {
    LibraryOptions::default()
        .with_scan(scan.changes())
        .with_only(scan.only.clone())
        .with_except(scan.except.clone())
        .with_strict(scan.strict.map(Profile::new))
        .with_duplicates(scan.duplicates.map(Into::into))
        .with_option_prefix("--")
}

pub(crate) fn no_library(error: &SettingsError) -> CommandError {
    match error {
        SettingsError::Config(error) => CommandError::from(Failure::from(error)),
        SettingsError::Approvals(error) => CommandError::from(Failure::from(error)),
        SettingsError::Environment(error) => CommandError::from(Failure::from(error)),
        other => CommandError::from(Failure::new(other.to_string(), hints::of(&other.hint(), "", None))),
    }
}

/// The session settings of the configurations. A filter and tools on the command line take precedence.
fn session_defaults(
    mut session_config: SessionConfig,
    filter: Option<&Filter>,
    tools: Option<&str>,
) -> SessionConfig {
    if let Some(filter) = filter {
        session_config.filter = Some(filter.clone());
        session_config.filter_file = None;
    }
    if let Some(tools) = tools {
        session_config.tools = Some(HostTools::parse(tools));
    }
    session_config
}

/// Where the filter of a session is set.
pub(crate) fn filter_place(session_config: &SessionConfig) -> String {
    match &session_config.filter_file {
        Some(file) => format!("session.filter in {}", file.display()),
        None => "--filter".to_owned(),
    }
}

/// The skills in the given places. The command reports what could not be read.
fn registry(places: &Places) -> Result<Registry, CommandError> {
    opened(places).map(|(registry, _)| registry)
}

/// The same, with the session settings of the configurations.
fn opened(places: &Places) -> Result<(Registry, SessionConfig), CommandError> {
    opened_for(places, Purpose::Look)
}

/// The same for another purpose.
fn opened_for(places: &Places, purpose: Purpose) -> Result<(Registry, SessionConfig), CommandError> {
    refreshed(places, purpose, None)
}

/// The same for looking, but with a client what that client lists.
pub(crate) fn seen(places: &Places, reach: Reach) -> Result<(Registry, SessionConfig), CommandError> {
    clients_named::walk_as_they_do(places)?;
    refreshed(places, Purpose::Look, Some(reach))
}

fn refreshed(
    places: &Places,
    purpose: Purpose,
    as_client: Option<Reach>,
) -> Result<(Registry, SessionConfig), CommandError> {
    let (registry, session_config) = unread_registry(places, purpose, as_client)?;
    registry.refresh().map_err(|error| {
        Failure::new(error.to_string(), of_registry(&error, places.scan.duplicates.is_some()))
    })?;
    // If none of the given sources could be read, the command cannot continue.
    let nothing = !places.sources.is_empty() && registry.catalog().all().next().is_none();
    if let Some(problem) = registry.problems().first().filter(|_| nothing) {
        return Err(Failure::from(&**problem).into());
    }
    Ok((registry, session_config))
}

/// The offered skill with this name, or at this place, trusted or not.
fn named(
    name: &str,
    registry: &Registry,
    places: &Places,
    ui: &mut Ui,
) -> Result<Arc<Candidate>, CommandError> {
    let catalog = registry.catalog();
    if let Resolved::One(skill, Standing::Listed) =
        SkillArg::read(Path::new(name), Prefer::Name).resolve(&catalog)
        && let Some(skill) = catalog.shared(&skill.entry.key)
    {
        return Ok(skill);
    }
    registry.named(name).map_err(|error| not_found(&error, registry, places, ui))
}

/// The same for a skill that is to be used, and so must be trusted.
fn usable(
    name: &str,
    registry: &Registry,
    places: &Places,
    ui: &mut Ui,
) -> Result<Arc<Candidate>, CommandError> {
    let skill = named(name, registry, places, ui)?;
    let options = places.options();
    let Some(obstacle) = skill.obstacle.clone() else { return Ok(skill) };
    let mut failure = Failure::from(&LookupError::not_offered(name, &skill, Standing::Blocked { obstacle }));
    match Advice::on(&skill, registry, &registry.catalog()) {
        Some(Advice::Trust(name)) => {
            let command = |verb| command_for(verb, &name, &options);
            let look = Text::from("look at it").with(command("show"));
            failure.hints = vec![look.words("; then trust it").with(command("trust")).into()];
        }
        Some(Advice::Behind) => {
            failure.hints =
                vec![format!("see what has its key: {}", command_for("why", name, &options)).into()];
        }
        Some(Advice::Never(reason)) => {
            failure.causes.push(format!("it cannot be trusted: {reason}"));
            failure.hints =
                vec![format!("see more of it with: {}", command_for("why", name, &options)).into()];
        }
        None => {}
    }
    Err(failure.into())
}

/// The error when a skill was not found. It may be in a source that could not be read, so these are reported too.
fn not_found(error: &LookupError, registry: &Registry, places: &Places, ui: &mut Ui) -> CommandError {
    let mut failure = Failure::from(error);
    if matches!(error, LookupError::Unknown { .. } | LookupError::NotOffered { .. }) {
        say_problems(registry, ui);
        failure.hints = vec![hints::of(&error.hint(), &places.options(), None)];
    }
    if let LookupError::Unknown { key, .. } = error
        && let Some(left_out) = LeftOutBy::of(&SkillArg::Name(key), places)
    {
        return left_out.failure(key).into();
    }
    failure.into()
}
