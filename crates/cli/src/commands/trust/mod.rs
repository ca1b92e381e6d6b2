//! `prowess trust`: which skills of a project or of an MCP server agents may use.

mod folder;
mod named;
mod revoke;
mod server;
mod shown;

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use prowess::env::{self, Environment};
use prowess::library::clients;
use prowess::library::views::Reach;
use prowess::registry::trust::Approvals;
use prowess::{Candidate, Catalog, Digest, Entry, LookupError, Obstacle, Registry};
use serde_json::json;

use self::named::Named;
use self::shown::TrustPreview;
use super::skill_arg::is_server_location;
use super::{not_found, registry, seen};
use crate::Outcome;
use crate::args::Trust;
use crate::error::{CommandError, Failure, Hint};
use crate::explain::trust::{kept_from_its_key_by, name_of};
use crate::explain::unread::say_problems;
use crate::report::json::VERSION;
use crate::ui::command::{command_for, server_command};
use crate::ui::{Ui, clean};

/// Runs the command.
pub(crate) fn run(args: &Trust, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    let environment = Environment::current();
    environment.check().map_err(|error| Failure::from(&error))?;
    let Some(file) = Approvals::file(&environment) else {
        return Err(Failure::new("there is no place to keep approvals", "set HOME or XDG_STATE_HOME").into());
    };
    if args.list {
        let approvals = Approvals::load(&file).map_err(|error| Failure::from(&error))?;
        return list(&approvals, json, ui);
    }
    let project = clients::project(&env::absolute(Path::new("."))).to_owned();
    if let Some(label) = &args.server {
        return if args.revoke {
            server::revoke(label, &file, json, ui)
        } else {
            server::trust(args, label, &file, json, ui)
        };
    }
    let what = match (&args.what, project.to_str()) {
        (Some(what), _) => what.as_str(),
        // In a subfolder, too, the skills are those of the project.
        (None, Some(project)) => project,
        (None, None) => ".",
    };
    if args.revoke {
        return revoke::run(what, args.yes, &file, json, ui);
    }
    let opened = match named::Named::of(what) {
        Named::Folder => return trust_folder(args, what, &file, json, ui),
        Named::Skill => TrustChoice::new(args)?,
        Named::Either => {
            let opened = TrustChoice::new(args)?;
            let is_skill = opened.catalog.why(what).iter().any(|(skill, _)| skill.entry.key == what);
            match (is_skill, Path::new(what).is_dir()) {
                (false, _) => return trust_folder(args, what, &file, json, ui),
                (true, true) => return Err(named::ambiguous("trust", what, &opened.locations(what))),
                (true, false) => opened,
            }
        }
    };
    trust_skill(args, what, &opened, &file, json, ui)
}

/// The skills among which one is trusted.
struct TrustChoice {
    registry: Registry,
    catalog: Arc<Catalog>,
}

impl TrustChoice {
    fn new(args: &Trust) -> Result<Self, CommandError> {
        // With a client, by the name that it shows, whether it lists the skill or not.
        let registry = if args.places.clients.is_empty() {
            registry(&args.places)?
        } else {
            seen(&args.places, Reach::Everywhere)?.0
        };
        let catalog = registry.catalog();
        Ok(Self { registry, catalog })
    }

    /// Where the skills with a key are.
    fn locations(&self, key: &str) -> Vec<String> {
        let skills = self.catalog.why(key).into_iter();
        skills.map(|(skill, _)| skill.entry.origin.location.to_string()).collect()
    }
}

/// What is about to be trusted.
struct Trusted {
    /// What would be done, as a question.
    question: String,
    shown: TrustPreview,
}

impl Trusted {
    /// Shows it and asks for consent. Without a terminal, consent is an option.
    fn ask(&self, args: &Trust, json: bool, ui: &mut Ui) -> Result<(), CommandError> {
        // With JSON it is a part of the result.
        if !json || !args.yes {
            ui.tell(&self.shown.text());
        }
        if args.yes {
            return Ok(());
        }
        let options = format!("{} --yes", args.places.options());
        let command = match (&args.server, &args.what) {
            (Some(label), _) => server_command(label, &options),
            (None, Some(what)) => command_for("trust", what, &options),
            (None, None) => format!("prowess trust{options}"),
        };
        let unasked = "there is no terminal to ask for your consent, so nothing was trusted";
        let unasked = Failure::new(unasked, format!("look at it, then trust it with: {command}"));
        let refused = Failure::new("you did not accept it, so nothing was trusted", "answer y to trust it");
        ui.confirm(&self.question, unasked, refused)
    }

    /// Reports what would be trusted; without JSON, everything that it is comes before.
    fn preview(&self, would: &str, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
        if !json {
            ui.print(&self.shown.text())?;
        }
        self.report("would", would, json, ui)
    }

    /// Reports what was done, or would be.
    fn report(&self, member: &str, said: &str, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
        if json {
            ui.json(&self.shown.json(member, said))?;
        } else {
            ui.print(&format!("{said}\n"))?;
        }
        Ok(Outcome::Fine)
    }
}

fn trust_folder(
    args: &Trust,
    what: &str,
    file: &Path,
    json: bool,
    ui: &mut Ui,
) -> Result<Outcome, CommandError> {
    let folder = env::absolute(Path::new(what));
    if !folder.is_dir() {
        let (error, hint) = if folder.exists() {
            ("this is a file, not a folder", "name the folder that it is in, or a skill by its name")
        } else {
            ("there is no such folder", "check the spelling")
        };
        return Err(Failure::new(format!("{error}: {}", clean(what)), hint).into());
    }
    let shown = clean(&folder.to_string_lossy()).into_owned();
    if folder.to_str().is_none() {
        let error = format!("a folder whose path is not UTF-8 cannot be trusted: {shown}");
        return Err(Failure::new(error, "rename the folder").into());
    }
    if is_too_much(&folder) {
        let error = format!("this folder is too much to trust: {shown}");
        let mut failure = Failure::new(error, "name the folder of one project");
        failure.causes.push("it holds everything in your home, also what you download later".to_owned());
        return Err(failure.into());
    }
    // Damaged approvals are an error before anything is asked.
    Approvals::load(file).map_err(|error| Failure::from(&error))?;
    let contents = TrustPreview::of_folder(&folder)?;
    if contents.is_empty() && revoke::own_folders().iter().any(|own| folder.starts_with(own)) {
        let error = format!("the skills in this folder are your own, and need no trust: {shown}");
        let hint = "an installed skill that changed is trusted by its name: prowess trust NAME";
        return Err(Failure::new(error, hint).into());
    }
    let question = format!("Trust this folder, with everything in it now and later: {shown}?");
    let trusted = Trusted { question, shown: contents };
    if args.dry_run {
        let would = format!("would be trusted, with everything in it: {shown}");
        return trusted.preview(&would, json, ui);
    }
    trusted.ask(args, json, ui)?;
    Approvals::update(file, |approvals| {
        approvals.trust_folder(folder);
        Ok::<_, CommandError>(())
    })?;
    trusted.report("done", &format!("trusted, with everything in it: {shown}"), json, ui)
}

/// Whether a folder holds more than one project: the home of the user, or a folder above it.
fn is_too_much(folder: &Path) -> bool {
    let environment = Environment::current();
    let is_top = folder.components().count() <= 2 && environment.has_home_in(folder);
    is_top || environment.is_home(folder) || folder.parent().is_none()
}

fn trust_skill(
    args: &Trust,
    what: &str,
    opened: &TrustChoice,
    file: &Path,
    json: bool,
    ui: &mut Ui,
) -> Result<Outcome, CommandError> {
    let TrustChoice { registry, catalog } = opened;
    let skill = meant(args, what, registry, catalog, ui)?;
    let digest = registry.approvable(skill).map_err(|error| Failure::from(&error))?;
    let question = format!("Trust this skill with its current files: {}?", clean(&skill.entry.key));
    trust_digests(args, vec![(skill, digest)], question, opened, file, json, ui)
}

/// Shows skills with their digests and asks, then trusts exactly these.
fn trust_digests(
    args: &Trust,
    digests: Vec<(&Candidate, Digest)>,
    question: String,
    TrustChoice { registry, catalog }: &TrustChoice,
    file: &Path,
    json: bool,
    ui: &mut Ui,
) -> Result<Outcome, CommandError> {
    // Damaged approvals are an error before anything is asked.
    Approvals::load(file).map_err(|error| Failure::from(&error))?;
    let trusted = Trusted { question, shown: TrustPreview::of_skills(&digests, registry, catalog) };
    // What was shown is what is trusted.
    for (skill, digest) in &digests {
        if registry.approvable(skill).map_err(|error| Failure::from(&error))? != *digest {
            let place = skill.entry.origin.location.text();
            let error =
                format!("its files changed while they were read, so nothing was trusted: {}", clean(&place));
            return Err(Failure::new(error, "run the command again").into());
        }
    }
    let lines = |verb: &str| -> String {
        let line = |(skill, digest): &(&Candidate, Digest)| {
            let Entry { key, origin, .. } = &skill.entry;
            let place = origin.location.text();
            let mut line =
                format!("{verb} with its current files: {} {} {digest}", clean(key), clean(&place));
            if let Some(other) = kept_from_its_key_by(skill, catalog) {
                let place = other.entry.origin.location.text();
                let _ =
                    write!(line, "; it is not used as long as another skill has its key: {}", clean(&place));
            }
            line
        };
        digests.iter().map(line).collect::<Vec<_>>().join("\n")
    };
    if args.dry_run {
        return trusted.preview(&lines("would be trusted"), json, ui);
    }
    trusted.ask(args, json, ui)?;
    let done = lines("trusted");
    // The file is locked only now, so that another `prowess trust` does not wait for a server or an answer.
    Approvals::update(file, |approvals| {
        for (skill, digest) in &digests {
            approvals.trust_skill(skill, *digest);
        }
        Ok::<_, CommandError>(())
    })?;
    trusted.report("done", &done, json, ui)
}

/// The skill to trust. A skill of a server must be named by its whole key or its location: a server can choose any name,
/// so a bare name always means a local skill.
fn meant<'c>(
    args: &Trust,
    what: &str,
    registry: &Registry,
    catalog: &'c Catalog,
    ui: &mut Ui,
) -> Result<&'c Candidate, CommandError> {
    let is_on_server = is_server_location(what);
    if is_on_server || named::is_skill_file(what) {
        return at_location(args, what, is_on_server, registry, catalog, ui);
    }
    let found = catalog.why(what).into_iter().map(|(candidate, _)| candidate);
    let (of_servers, here): (Vec<_>, Vec<_>) = found.partition(|candidate| candidate.wants_approval);
    // A skill that is not trusted may be shadowed by one that needs no trust.
    let untrusted = |candidate: &&&Candidate| candidate.obstacle == Some(Obstacle::Untrusted);
    let same_key = |candidate: &&&Candidate| candidate.entry.key == what;
    let offered = catalog.get(what);
    let first = here.iter().filter(same_key).find(untrusted).copied();
    let first = first.or(offered.filter(|offered| offered.wants_approval));
    if let Some(skill) = first.or(here.iter().find(untrusted).copied()) {
        return Ok(skill);
    }
    if let Some(skill) = offered.filter(|offered| registry.needs_trust(offered)) {
        return Ok(skill);
    }
    let nameable = |candidate: &&&Candidate| candidate.is_usable() || untrusted(candidate);
    let others: Vec<Hint> = of_servers
        .iter()
        .filter(nameable)
        .map(|other| {
            let command = command_for("trust", &name_of(other, catalog), &args.places.options());
            format!("trust the one of a server: {command}").into()
        })
        .collect();
    let mut failure = match registry.get(what) {
        Ok(offered) => needs_none(what, &offered.entry.origin.location.text()),
        // A bare word never means a folder, since a repository could have a folder of that name.
        Err(LookupError::Unknown { .. }) if others.is_empty() && Path::new(what).is_dir() => {
            let error = format!("there is no such skill: {}", clean(what));
            let command = command_for("trust", &format!("./{what}"), "");
            Failure::new(error, format!("the folder of this name is trusted by: {command}"))
        }
        Err(error) if others.is_empty() => return Err(not_found(&error, registry, &args.places, ui)),
        Err(_) => {
            let error = format!("a skill of an MCP server is trusted by its whole key: {}", clean(what));
            Failure { hints: Vec::new(), ..Failure::new(error, "") }
        }
    };
    failure.hints.extend(others);
    Err(failure.into())
}

/// The skill at a location.
fn at_location<'c>(
    args: &Trust,
    what: &str,
    is_on_server: bool,
    registry: &Registry,
    catalog: &'c Catalog,
    ui: &mut Ui,
) -> Result<&'c Candidate, CommandError> {
    let absolute = env::absolute(Path::new(what));
    let place = if is_on_server { what.into() } else { absolute.to_string_lossy() };
    let mut all = catalog.all().map(|(candidate, _)| candidate);
    let Some(skill) = all.find(|candidate| candidate.entry.origin.location == *place) else {
        say_problems(registry, ui);
        let who = if is_on_server { "no server lists a skill" } else { "no skill is found" };
        let error = format!("{who} at this location: {}", clean(what));
        let hint = format!("see the locations with: prowess why NAME{}", args.places.options());
        return Err(Failure::new(error, hint).into());
    };
    if is_on_server || skill.obstacle == Some(Obstacle::Untrusted) || registry.needs_trust(skill) {
        return Ok(skill);
    }
    Err(needs_none(what, &place).into())
}

fn needs_none(what: &str, place: &str) -> Failure {
    let error = format!("this skill needs no trust: {}: {}", clean(what), clean(place));
    Failure::new(error, "only a project's own skills do, and those of MCP servers")
}

fn list(approvals: &Approvals, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    if json {
        ui.json(&json!({"version": VERSION, "folders": approvals.folders, "skills": approvals.skills}))?;
        return Ok(Outcome::Fine);
    }
    let mut text = String::new();
    for folder in &approvals.folders {
        let _ = writeln!(text, "folder  {}", clean(&folder.to_string_lossy()));
    }
    for approval in &approvals.skills {
        let _ = writeln!(
            text,
            "skill   {}  {}  {}",
            clean(&approval.name),
            clean(&approval.location.text()),
            approval.digest.map(String::from).unwrap_or_default()
        );
    }
    if text.is_empty() {
        text.push_str("nothing is trusted\n");
    }
    ui.print(&text)?;
    Ok(Outcome::Fine)
}
