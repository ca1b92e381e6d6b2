//! What to do about skills that are not trusted: what trusts one of them, or why nothing does, and the commands for all.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use prowess::install::{InstallScope, Origins};
use prowess::library::clients;
use prowess::{
    Candidate, Catalog, Entry, Location, Obstacle, Registry, Scope, SourceError, SourceErrorKind, env,
};

use crate::args::Places;
use crate::commands::install::scope_option;
use crate::explain::provenance::are_line_ends;
use crate::ui::command::{command_for, server_command, trust_command};
use crate::ui::{Text, count};

/// The maximum number of folders in one line.
const MAX_FOLDERS: usize = 3;

/// What makes a skill trusted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Advice {
    /// `prowess trust` with this name.
    Trust(String),
    /// Trust alone is not enough: another skill has its key, and keeps it.
    Behind,
    /// Nothing: it cannot be approved, for this reason.
    Never(String),
}

impl Advice {
    /// The advice on a skill; none when trust is not what it lacks.
    pub(crate) fn on(skill: &Candidate, registry: &Registry, catalog: &Catalog) -> Option<Self> {
        if skill.obstacle != Some(Obstacle::Untrusted) {
            return None;
        }
        if let Some(reason) = never(skill, registry) {
            return Some(Self::Never(reason));
        }
        if kept_from_its_key_by(skill, catalog).is_some() {
            return Some(Self::Behind);
        }
        Some(Self::Trust(name_of(skill, catalog).into_owned()))
    }
}

/// Why a skill of a server can never be approved. For other skills this is not checked, since it would read their files.
pub(crate) fn never(skill: &Candidate, registry: &Registry) -> Option<String> {
    if !skill.wants_approval || skill.obstacle != Some(Obstacle::Untrusted) {
        return None;
    }
    registry.approvable(skill).err().map(|error| match error {
        SourceError { kind: SourceErrorKind::Server { reason, .. }, .. } => reason,
        other => other.to_string(),
    })
}

/// The argument of `prowess trust` for a skill. A skill of a server is named by its key, or by its location when another
/// skill has the key; a local skill is always named by its key.
pub(crate) fn name_of<'c>(skill: &'c Candidate, catalog: &Catalog) -> Cow<'c, str> {
    let Entry { key, origin, .. } = &skill.entry;
    let holds = catalog.get(key).is_some_and(|holder| holder.entry.origin.location == origin.location);
    if holds || !skill.wants_approval { key.into() } else { origin.location.text() }
}

/// The skill that has the key of a skill of a server, and keeps it whether that one is trusted or not.
pub(crate) fn kept_from_its_key_by<'c>(skill: &Candidate, catalog: &'c Catalog) -> Option<&'c Candidate> {
    let place = |candidate: &Candidate| candidate.entry.origin.location.clone();
    let holder = catalog.get(&skill.entry.key).filter(|holder| holder.is_usable())?;
    let either = [place(skill), place(holder)];
    let first = catalog.all().map(|(candidate, _)| place(candidate)).find(|place| either.contains(place));
    let stronger = !holder.wants_approval || first == Some(place(holder));
    (skill.wants_approval && stronger && place(holder) != place(skill)).then_some(holder)
}

/// What to do about skills that are not trusted.
pub(crate) struct TrustHint {
    /// The commands that trust them, if any can be trusted.
    pub(crate) trust: Option<Text>,
    /// How many can never be trusted.
    pub(crate) never: usize,
    /// The command that says why, if there are such.
    pub(crate) why: Option<String>,
}

impl TrustHint {
    /// All of it.
    pub(crate) fn text(self) -> Text {
        Text::join(self.trust.into_iter().chain(self.why.map(|why| Text::default().command(why))), ", ")
    }
}

/// The hint for skills that are not trusted.
pub(crate) fn trust_hint<'c>(
    skills: impl IntoIterator<Item = &'c Candidate>,
    registry: &Registry,
    origins: &Origins,
    places: &Places,
) -> TrustHint {
    let (never, skills): (Vec<&Candidate>, Vec<&Candidate>) =
        skills.into_iter().partition(|skill| never(skill, registry).is_some());
    let name = match never.as_slice() {
        [skill] => &*skill.entry.key,
        _ => "NAME",
    };
    TrustHint {
        trust: (!skills.is_empty()).then(|| trust_commands(skills, registry, origins, places)),
        never: never.len(),
        why: (!never.is_empty()).then(|| command_for("why", name, &places.options())),
    }
}

/// The commands that trust these skills: their folders and their servers, each once. A skill that changed since it was
/// trusted is trusted by its name: trust in its folder would accept everything in there.
fn trust_commands(skills: Vec<&Candidate>, registry: &Registry, origins: &Origins, places: &Places) -> Text {
    let (of_servers, of_projects): (Vec<&Candidate>, Vec<&Candidate>) =
        skills.into_iter().partition(|skill| skill.wants_approval);
    let (changed, new): (Vec<&Candidate>, Vec<&Candidate>) =
        of_projects.into_iter().partition(|skill| registry.changed_since_approval(skill));
    let is_installed = |skill: &&Candidate| origins.of(skill).or_else(|| origins.around(skill)).is_some();
    // The lock names exactly their files, so `sync` accepts no more than these.
    let (locked, new): (Vec<&Candidate>, Vec<&Candidate>) = new.into_iter().partition(is_installed);
    let mut folders: Vec<PathBuf> = new.into_iter().map(folder_to_trust).collect();
    let servers: BTreeSet<&str> = of_servers.iter().filter_map(|skill| label_of(skill)).collect();
    if folders.is_empty() && changed.is_empty() && locked.is_empty() && servers.is_empty() {
        return Text::default().command(format!("prowess trust NAME{}", places.options()));
    }
    folders.sort();
    folders.dedup();
    let is_own = |skill: &&Candidate| skill.entry.origin.scope == Scope::User;
    let (own, of_project): (Vec<&Candidate>, Vec<&Candidate>) = locked.into_iter().partition(is_own);
    let accepted = [(of_project, InstallScope::Project), (own, InstallScope::User)];
    let accept = |(skills, scope): (Vec<&Candidate>, _)| accept_command(&skills, scope, (origins, places));
    let command = |command: String| Text::default().command(command);
    let mut commands: Vec<Text> = accepted.into_iter().filter_map(accept).map(command).collect();
    commands.extend(folders.iter().take(MAX_FOLDERS).map(|folder| command(trust_command(folder))));
    if folders.len() > MAX_FOLDERS {
        commands.push(format!("and {}", count(folders.len() - MAX_FOLDERS, "more folder")).into());
    }
    // One that `remove --keep` left is not installed, so nothing restores it.
    let (installed, others): (Vec<&Candidate>, Vec<&Candidate>) = changed.into_iter().partition(is_installed);
    commands.extend(accept_or_restore(&installed, origins, places));
    commands.extend(accept_or_restore(&others, origins, places));
    let options = places.options();
    commands.extend(servers.iter().take(MAX_FOLDERS).map(|label| command(server_command(label, &options))));
    if servers.len() > MAX_FOLDERS {
        commands.push(format!("and {}", count(servers.len() - MAX_FOLDERS, "more server")).into());
    }
    Text::join(commands, ", ")
}

/// The command that accepts installed skills as they are in the lock, none if there are none: one by its name if it has
/// these files, and else `sync`, which accepts no more than the lock names, and replaces other files only on request.
pub(crate) fn accept_command(
    skills: &[&Candidate],
    scope: InstallScope,
    (origins, places): (&Origins, &Places),
) -> Option<String> {
    let is_as_locked = |skill: &Candidate| {
        let origin = origins.of(skill).or_else(|| origins.around(skill));
        origin.is_some_and(|it| origins.is_edited(it) == Some(false) && !origins.is_other_version(it))
    };
    let is_replaced = |skill: &&Candidate| {
        let origin = origins.of(skill).or_else(|| origins.around(skill));
        origin.is_some_and(|it| origins.is_as_locked(it) == Some(false) && !origins.is_other_version(it))
    };
    match skills {
        [] => None,
        [skill] if is_as_locked(skill) => Some(command_for("trust", &skill.entry.key, &places.options())),
        _ => {
            let overwrite = if skills.iter().any(is_replaced) { " --overwrite" } else { "" };
            Some(format!("prowess sync{overwrite}{}", scope_option(scope)))
        }
    }
}

/// The label of the MCP server that a skill is of.
pub(crate) fn label_of(skill: &Candidate) -> Option<&str> {
    match &skill.entry.origin.location {
        Location::Mcp { label, .. } => Some(label),
        _ => None,
    }
}

/// What to do about skills that changed since they were trusted: restore the installed ones, or trust one by its name.
fn accept_or_restore(changed: &[&Candidate], origins: &Origins, places: &Places) -> Option<Text> {
    let name = match changed {
        [] => return None,
        [skill] => &*skill.entry.key,
        _ => "NAME",
    };
    let installed: Vec<_> =
        changed.iter().filter_map(|skill| origins.of(skill).or_else(|| origins.around(skill))).collect();
    let mut scopes: Vec<InstallScope> = installed.iter().map(|origin| origin.scope).collect();
    scopes.sort();
    scopes.dedup();
    let accept = command_for("trust", name, &places.options());
    // A lock that names other files than the user accepted restores nothing.
    if !installed.iter().all(|origin| origins.restores_accepted(origin)) {
        let show = command_for("show", name, &places.options());
        let text = Text::from("the lock changed too, so look at it with ").command(show);
        return Some(text.words(", then ").command(accept));
    }
    // Other line ends are no edits that could be lost.
    let overwrite =
        if installed.iter().all(|origin| are_line_ends(&origins.edits(origin).unwrap_or_default())) {
            ""
        } else {
            " --overwrite"
        };
    let restore = scopes.into_iter().map(|scope| format!("prowess sync{overwrite}{}", scope_option(scope)));
    Some(Text::join(restore.chain([accept]).map(|command| Text::default().command(command)), " or "))
}

/// The folder to trust for a skill: the folder of the project, or for a source outside of it that source itself.
pub(crate) fn folder_to_trust(skill: &Candidate) -> PathBuf {
    let location = &*skill.entry.origin.location.text();
    let location = Path::new(location);
    let here = env::absolute(Path::new("."));
    let source = Path::new(&*skill.source);
    // The skills of an archive or a JSON Lines file are trusted by the folder of that file.
    let around = [Some(clients::project(&here)), Some(source), source.parent()];
    let found = around.into_iter().flatten().find(|folder| folder.is_dir() && location.starts_with(folder));
    found.or(location.parent()).unwrap_or(location).to_owned()
}
