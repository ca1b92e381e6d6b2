//! `prowess connect` and `prowess disconnect`: the server of skills in the configuration of a client.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use prowess::env::{self, Environment};
use prowess::internal::{Connection, PlannedConnection, is_exposed};
use prowess::library::{clients, library};
use prowess_mcp::{ConfigOwner, SERVER_NAME, ServerTransport};
use serde_json::json;

use super::serve::check_exist;
use super::source_in_config::{in_config, not_utf8};
use super::{Purpose, library_options, no_library};
use crate::Outcome;
use crate::args::{Connect, ConnectTo, Disconnect, Places};
use crate::error::{CommandError, Failure};
use crate::report::json::VERSION;
use crate::report::patch;
use crate::ui::command::{command_for, value_of};
use crate::ui::{Ui, clean, count};

/// The maximum number of skills that are named.
const MAX_NAMED: usize = 8;

/// Runs `connect`.
pub(crate) fn run(args: &Connect, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    let target = Target::of(&args.to)?;
    let client = args.to.client;
    let transport = transport(args, &target)?;
    let entry = client.entry(&transport);
    // What fails comes before anything is written.
    let served = match transport {
        ServerTransport::Stdio(_) => Some(served(args)?),
        ServerTransport::Http { .. } => None,
    };
    let plan = target.connection().connect(&entry, args.to.overwrite, args.to.write, &target.environment);
    let plan = plan.map_err(|error| Failure::of_connection(&error, client.name))?;
    let command = client.command(&transport, target.owner);
    if json {
        let mut value = target.json(&plan, args.to.write);
        if let Some(members) = value.as_object_mut() {
            members.insert("entry".to_owned(), entry);
            members.insert("skills".to_owned(), json!(served));
            members.insert("command".to_owned(), json!(command));
        }
        ui.json(&value)?;
        return target.finish(&plan, args.to.write, ui);
    }
    if plan.is_change() {
        ui.print(&target.diff(&plan))?;
        if args.to.write {
            ui.print(&format!("connected {}: {}\n", client.title(), target.shown()))?;
        }
    } else {
        ui.print(&format!("{} is connected already: {}\n", client.title(), target.shown()))?;
    }
    if let Some(names) = served {
        ui.note(&serves(&names, reader(args).map(|_| client.title())));
        if target.environment.program("prowess").is_none() {
            ui.note(&format!(
                "warning: prowess is in no folder of PATH, so {} cannot start it; put the program into \
                 one of them",
                client.title()
            ));
        }
    }
    if client.wants_token(&transport) {
        ui.note("put the token in the place of TOKEN: this client does not read it from a variable");
    }
    if args.url.as_deref().is_some_and(has_no_path) {
        ui.note("warning: the address has no path; prowess serve answers at /mcp");
    }
    if args.token && args.url.as_deref().is_some_and(is_exposed) {
        ui.note("warning: the token goes to another machine without encryption; use an https address");
    }
    target.note(&args.to, &plan, &("connect", options(args)), ui);
    if let Some(command) = command.filter(|_| plan.is_change() && !args.to.write) {
        ui.note(&format!("or with its own command: {command}"));
    }
    target.finish(&plan, args.to.write, ui)
}

/// Runs `disconnect`.
pub(crate) fn disconnect(args: &Disconnect, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    let target = Target::of(&args.to)?;
    let client = args.to.client;
    let plan = target.connection().disconnect(args.to.overwrite, args.to.write, &target.environment);
    let plan = plan.map_err(|error| Failure::of_connection(&error, client.name))?;
    if json {
        ui.json(&target.json(&plan, args.to.write))?;
        return target.finish(&plan, args.to.write, ui);
    }
    if !plan.is_change() {
        ui.print(&format!("{} is not connected: {}\n", client.title(), target.shown()))?;
        return Ok(Outcome::Fine);
    }
    ui.print(&target.diff(&plan))?;
    let gone = if plan.after.is_none() { "; the file was made by connect, and is removed" } else { "" };
    if args.to.write {
        ui.print(&format!("disconnected {}: {}{gone}\n", client.title(), target.shown()))?;
    }
    target.note(&args.to, &plan, &("disconnect", String::new()), ui);
    target.finish(&plan, args.to.write, ui)
}

/// The configuration that is changed.
struct Target {
    to: &'static prowess_mcp::ClientConfig,
    owner: ConfigOwner,
    file: PathBuf,
    /// The folder of the project.
    project: PathBuf,
    environment: Environment,
}

impl Target {
    fn of(to: &ConnectTo) -> Result<Self, CommandError> {
        let environment = Environment::current();
        environment.check().map_err(|error| Failure::from(&error))?;
        let owner = if to.project { ConfigOwner::Project } else { ConfigOwner::User };
        let project = clients::project(&env::absolute(Path::new("."))).to_owned();
        let Some(file) = to.client.file(owner, &project, &environment) else {
            let (error, hint) = match owner {
                ConfigOwner::Project => {
                    ("this client has no configuration in projects", "leave out --project")
                }
                ConfigOwner::User => {
                    ("the folder of this client is not known", "set HOME, or give --project")
                }
            };
            return Err(Failure::new(format!("{error}: {}", to.client.name), hint).into());
        };
        Ok(Self { to: to.client, owner, file, project, environment })
    }

    /// Writes the rest of the result. If that fails, the configuration may have been changed all the same.
    fn finish(&self, plan: &PlannedConnection, write: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
        ui.finish().map(|()| Outcome::Fine).map_err(|error| match error {
            CommandError::Failed(mut failure) if write && plan.is_change() => {
                failure.hints.insert(0, format!("the configuration was changed: {}", self.shown()).into());
                CommandError::Failed(failure)
            }
            other => other,
        })
    }

    fn connection(&self) -> Connection<'_> {
        Connection {
            file: &self.file,
            format: self.to.format,
            path: self.to.path(),
            within: (self.owner == ConfigOwner::Project).then_some(&*self.project),
            others: self.others().map(|other| other.name).collect(),
            plain: self.to.entry(&ServerTransport::Stdio(vec!["serve".to_owned()])),
        }
    }

    /// The other clients that read the same entry.
    fn others(&self) -> impl Iterator<Item = &'static prowess_mcp::ClientConfig> {
        let is_same = |other: &&prowess_mcp::ClientConfig| {
            let file = other.file(self.owner, &self.project, &self.environment);
            other.name != self.to.name && file.as_ref() == Some(&self.file) && other.path() == self.to.path()
        };
        prowess_mcp::CLIENT_CONFIGS.iter().filter(is_same)
    }

    /// The file as messages name it.
    fn shown(&self) -> String {
        let file = self.file.to_string_lossy();
        clean(&file).into_owned()
    }

    /// The change as a diff, with colours.
    fn diff(&self, plan: &PlannedConnection) -> String {
        patch::coloured(&self.plain_diff(plan))
    }

    fn plain_diff(&self, plan: &PlannedConnection) -> String {
        let [before, after] = [&plan.before, &plan.after].map(|text| text.as_deref().unwrap_or_default());
        patch::short_unified(&self.file, before, after)
    }

    fn json(&self, plan: &PlannedConnection, write: bool) -> serde_json::Value {
        json!({
            "version": VERSION,
            "client": self.to.name,
            "name": SERVER_NAME,
            "file": self.file.to_string_lossy(),
            "owner": if self.owner == ConfigOwner::User { "user" } else { "project" },
            "changed": plan.is_change(),
            "written": write && plan.is_change(),
            "removes_file": plan.before.is_some() && plan.after.is_none(),
            "diff": if plan.is_change() { self.plain_diff(plan) } else { String::new() },
        })
    }

    /// What else there is to know: where a link leads, and how the change is written by a verb with options.
    fn note(&self, to: &ConnectTo, plan: &PlannedConnection, (verb, options): &(&str, String), ui: &mut Ui) {
        let is_link = self.file.symlink_metadata().is_ok_and(|file| file.is_symlink());
        if let Some(target) = self.file.canonicalize().ok().filter(|_| is_link) {
            ui.note(&format!(
                "the file is a link, and stays one; its target is changed: {}",
                target.display()
            ));
        }
        for other in self.others().filter(|_| plan.is_change()) {
            ui.note(&match *verb {
                "connect" => format!("{} reads this file too, and gets the same server", other.title()),
                _ => format!("{} reads this file too, and loses the server", other.title()),
            });
        }
        if to.client.name == "claude-code"
            && self.owner == ConfigOwner::Project
            && plan.is_change()
            && *verb == "connect"
        {
            ui.note("Claude Code asks each user once before it starts a server of a project");
        }
        if plan.is_change() && !to.write {
            let project = if to.project { " --project" } else { "" };
            let overwrite = if to.overwrite { " --overwrite" } else { "" };
            let again = command_for(verb, to.client.name, &format!("{options}{project}{overwrite} --write"));
            ui.note(&format!("nothing is written yet; write it with: {again}"));
        }
    }
}

/// The client whose own skills are left out, if its reading is known. A source that was named is served as a whole.
fn reader(args: &Connect) -> Option<&'static clients::Client> {
    args.to.client.reader().filter(|_| !args.all && args.sources.is_empty())
}

/// The options that say what is connected, as text after a command.
fn options(args: &Connect) -> String {
    let mut options: String =
        args.sources.iter().map(|source| format!(" --in{}", value_of(&source.to_string()))).collect();
    options.push_str(if args.all { " --all" } else { "" });
    options.extend(args.url.iter().map(|url| format!(" --url{}", value_of(url))));
    options.push_str(if args.token { " --token" } else { "" });
    options
}

/// Whether an address is only that of a machine.
fn has_no_path(url: &str) -> bool {
    let (_, rest) = url.split_once("://").unwrap_or_default();
    rest.split_once('/').is_none_or(|(_, path)| path.is_empty())
}

/// How the client reaches the server.
fn transport(args: &Connect, target: &Target) -> Result<ServerTransport, Failure> {
    if let Some(url) = &args.url {
        return Ok(ServerTransport::Http { url: url.clone(), token: args.token });
    }
    let here = env::absolute(Path::new("."));
    // A server of a project starts in the folder of the project.
    let is_elsewhere = target.owner == ConfigOwner::User || here != target.project;
    let mut words = vec!["serve".to_owned()];
    for source in &args.sources {
        if let Some(path) = source.place.path().filter(|path| path.to_str().is_none()) {
            return Err(not_utf8(path.as_os_str()));
        }
        words.extend(["--in".to_owned(), in_config(is_elsewhere, &source.to_string())?]);
    }
    let reader = reader(args);
    words.extend(reader.into_iter().flat_map(|client| ["--not-read-by".to_owned(), client.id.to_owned()]));
    Ok(ServerTransport::Stdio(words))
}

/// The skills that the server has for this client here, without those of other machines.
fn served(args: &Connect) -> Result<Vec<String>, CommandError> {
    let places = Places { sources: args.sources.clone(), ..Places::default() };
    // The server would end at once.
    check_exist(&places)?;
    let reader = reader(args);
    let options =
        library_options(&places, Purpose::Use).with_not_read_by(reader).with_builtins(reader.is_none());
    let registry =
        library(Path::new("."), &Environment::current(), &options).map_err(|error| no_library(&error))?;
    registry
        .refresh_local()
        .map_err(|error| Failure::new(error.to_string(), "check the folders that were named"))?;
    let catalog = registry.catalog();
    Ok(catalog.iter().filter(|skill| skill.is_usable()).map(|skill| skill.entry.key.clone()).collect())
}

/// What is served, and to which client if that leaves out what the client reads by itself.
fn serves(names: &[String], client: Option<&str>) -> String {
    let lacks = client.map(|client| format!(" that {client} does not read by itself")).unwrap_or_default();
    if names.is_empty() {
        return format!(
            "in this folder, there are no skills{lacks}; the server serves them once there are some"
        );
    }
    let mut shown = names.iter().take(MAX_NAMED).cloned().collect::<Vec<_>>().join(", ");
    if names.len() > MAX_NAMED {
        let _ = write!(shown, ", and {} more", names.len() - MAX_NAMED);
    }
    format!("in this folder, it serves {}{lacks}: {shown}", count(names.len(), "skill"))
}
