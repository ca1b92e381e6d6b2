//! What is known of a skill that was not found: where else it is, or what is in the folder of its name, such as a link to
//! another skill or a SKILL.md that cannot be read.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use prowess::client::{Climb, Fact};
use prowess::env::{self, Environment};
use prowess::fs::read::read_skill;
use prowess::fs::walk::FILE_NAMES;
use prowess::install::{InstallScope, Origins};
use prowess::internal::builtin_names;
use prowess::library::clients::{self, CLIENTS, Client, Root};
use prowess::library::views::{Reach, Views};
use prowess::library::{is_builtin, library};
use prowess::text::similar;
use prowess::{Catalog, Location, Registry, Scope, SourceError, SourceErrorKind, Standing};
use serde::Serialize;

use crate::args::Places;
use crate::commands::install::scope_option;
use crate::commands::new::add_command;
use crate::commands::skill_arg::SkillArg;
use crate::commands::{Purpose, library_options, shown, unread_registry};
use crate::error::{CommandError, Failure};
use crate::explain::clients_named;
use crate::explain::left_out::LeftOutBy;
use crate::explain::unread::{Unread, failure};
use crate::ui::clean;
use crate::ui::command::command_for;

/// How many folders above the current one are looked at.
const MAX_ABOVE: usize = 32;

/// The skills with a name in the folders of other clients, and the folders of the given client.
#[derive(Default, Serialize)]
struct Elsewhere {
    /// The skills.
    #[serde(rename = "elsewhere")]
    skills: Vec<FoundElsewhere>,
    /// The folders of the given client.
    looks_in: Vec<PathBuf>,
    /// The folder above in which the client would have to be started.
    #[serde(skip_serializing_if = "Option::is_none")]
    start_in: Option<PathBuf>,
    /// A folder of the user in which the client follows a link.
    #[serde(skip)]
    link_in: Option<PathBuf>,
    /// Whose skill it is, if it was installed and the client can get it.
    #[serde(skip)]
    installed: Option<InstallScope>,
    #[serde(skip)]
    client: Option<&'static Client>,
    /// Whether Prowess skips the folders of the skills.
    #[serde(skip)]
    is_skipped: bool,
}

/// What is in folders that Prowess skips, and why it does.
const SKIPPED: [(Fact, &str); 3] = [
    (Fact::InModules, "in node_modules, which Prowess skips"),
    (Fact::HiddenFolder, "in a hidden folder, which Prowess skips"),
    (Fact::BelowHidden, "below a hidden folder, which Prowess skips"),
];

/// A skill that was found elsewhere.
#[derive(PartialEq, Eq, Serialize)]
struct FoundElsewhere {
    path: Location,
    /// The clients that look there.
    readers: Vec<&'static str>,
    /// Why the client does not see it.
    reason: String,
}

/// What is known of a skill that was not found.
#[derive(Default, Serialize)]
pub(crate) struct Missing {
    #[serde(flatten)]
    elsewhere: Elsewhere,
    #[serde(skip_serializing_if = "Option::is_none")]
    link: Option<Link>,
    #[serde(skip_serializing_if = "Option::is_none")]
    left_out_by: Option<LeftOutBy>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    built_in: bool,
    #[serde(skip)]
    unreadable: Option<SourceError>,
    /// What is said about it.
    #[serde(skip)]
    pub(crate) failure: Option<Failure>,
}

impl Missing {
    /// Looks for a skill that an argument names and that was not found.
    pub(crate) fn of(
        arg: &SkillArg<'_>,
        name: &str,
        places: &Places,
        registry: &Registry,
        origins: &Origins,
    ) -> Result<Self, CommandError> {
        let folder = arg.file().and_then(|file| file.parent().map(Path::to_owned));
        let mut missing = Self::default();
        let found = match NearMiss::of(name, places, registry) {
            Some(near_miss) => {
                let failure = near_miss.failure(name, places);
                match near_miss {
                    NearMiss::Link(link) => missing.link = Some(link),
                    NearMiss::Unreadable(error) => missing.unreadable = Some(error),
                    NearMiss::Outside(_) => {}
                }
                Some(failure)
            }
            None => {
                // A path names the skill in its folder.
                let named = folder.as_deref().map(env::absolute);
                let named = named.as_deref().and_then(Path::file_name);
                let named = named.map_or(name.into(), |named| named.to_string_lossy());
                missing.elsewhere = Elsewhere::of(&named, places, origins)?;
                // What a client lists does not depend on our settings.
                let is_ours = places.clients.is_empty();
                missing.left_out_by = if is_ours { LeftOutBy::of(arg, places) } else { None };
                let left_out = missing.left_out_by.as_ref().map(|left_out| left_out.failure(name));
                left_out.or_else(|| missing.elsewhere.failure(&named))
            }
        };
        let built_in = built_in(name, places);
        missing.built_in = built_in.is_some();
        let here = folder.filter(|_| places.options().is_empty());
        let failure = gone(name, origins).or(found).or(built_in.filter(|_| here.is_none()));
        missing.failure = Some(failure.unwrap_or_else(|| {
            let catalog = registry.catalog();
            let mut similar = catalog.similar(name);
            similar.extend(near_built_in(name, places));
            let hint = match here {
                Some(here) => format!(
                    "a folder of this name is here, where no agent looks; install it for them with: {}",
                    add_command(&here)
                ),
                None if similar.is_empty() => {
                    "a skill is a folder with a SKILL.md in a place where agents look; --in names another"
                        .to_owned()
                }
                None => format!("there is {}", similar.join(", ")),
            };
            Failure::new(format!("no skill of this name was found: {}", clean(name)), hint)
        }));
        Ok(missing)
    }

    /// Its SKILL.md, if that could not be read.
    pub(crate) fn unread(&self) -> Option<Unread> {
        self.unreadable.as_ref().map(Unread::of)
    }

    /// Adds what is known in the view of another client.
    pub(crate) fn add(&mut self, other: Self) {
        join(&mut self.elsewhere.skills, other.elsewhere.skills);
        join(&mut self.elsewhere.looks_in, other.elsewhere.looks_in);
        self.elsewhere.start_in = self.elsewhere.start_in.take().or(other.elsewhere.start_in);
        self.link = self.link.take().or(other.link);
        self.left_out_by = self.left_out_by.take().or(other.left_out_by);
        self.built_in |= other.built_in;
    }
}

impl Elsewhere {
    /// Looks in every folder of every client for a skill that is not in the given places. No server is asked.
    fn of(name: &str, places: &Places, origins: &Origins) -> Result<Self, CommandError> {
        let client = clients_named::one(places)?;
        if client.is_none() && places.sources.is_empty() {
            return Ok(Self::skipped(name, places).unwrap_or_default());
        }
        let everywhere = Places { no_cache: places.no_cache, ..Places::default() };
        let (registry, _) = unread_registry(&everywhere, Purpose::Look, None)?;
        registry
            .refresh_local()
            .map_err(|error| Failure::new(error.to_string(), "list all skills with: prowess list --all"))?;
        let here = env::absolute(Path::new("."));
        let mut roots = client.map_or_else(Vec::new, |client| client.roots(&here, &Environment::current()));
        // A folder inside another is one that the client fills itself.
        let all: Vec<PathBuf> = roots.iter().map(|root| root.path.clone()).collect();
        let is_inside = |path: &Path| all.iter().any(|other| path != other && path.starts_with(other));
        roots.retain(|root| !is_inside(&root.path));
        let above = client.and_then(|client| Above::of(name, client, &here, places));
        let catalog = registry.catalog();
        let mut skills: Vec<FoundElsewhere> = Vec::new();
        for (candidate, _) in catalog.why(name) {
            let path = candidate.entry.origin.location.clone();
            let is_above = above.as_ref().is_some_and(|above| above.path == path);
            let reason = match client {
                Some(client) if is_above => above_reason(client),
                _ => reason(Path::new(&*path.text()), client, &roots),
            };
            skills.push(FoundElsewhere { path, readers: candidate.readers.clone(), reason });
        }
        if let (Some(client), Some(above)) = (client, &above)
            && !skills.iter().any(|place| place.path == above.path)
        {
            let (path, reason) = (above.path.clone(), above_reason(client));
            skills.insert(0, FoundElsewhere { path, readers: Vec::new(), reason });
        }
        let follows = client.is_some_and(|client| !client.reads().refuses.has(Fact::LinkedFolder));
        // A folder of the system is not the user's to change.
        let home = Environment::current().home();
        let is_own = |root: &&Root| home.as_ref().is_some_and(|home| root.path.starts_with(home));
        let of_user = roots.iter().filter(|root| root.scope == Scope::User && follows).find(is_own);
        let installed =
            origins.named(name).next().filter(|_| !client.is_some_and(|client| client.user.is_empty()));
        Ok(Self {
            skills,
            link_in: of_user.map(|root| root.path.clone()),
            looks_in: roots.into_iter().map(|root| root.path).collect(),
            start_in: above.map(|above| above.folder),
            installed: installed.map(|origin| origin.scope),
            client,
            is_skipped: false,
        })
    }

    /// The skills with a name in folders of clients that Prowess skips: hidden ones, and `node_modules`.
    fn skipped(name: &str, places: &Places) -> Option<Self> {
        let clients: Vec<&Client> =
            CLIENTS.iter().filter(|client| client.reads().checked.is_some()).collect();
        let options = library_options(places, Purpose::Look);
        let (here, environment) = (Path::new("."), Environment::current());
        let views = Views::open(here, &environment, &options, &clients, Reach::Everywhere).ok()?;
        views.refresh().ok()?;
        let catalog = views.registry().catalog();
        let mut skills: Vec<FoundElsewhere> = Vec::new();
        for (candidate, _) in catalog.why(name) {
            let Some((_, reason)) =
                SKIPPED.iter().find(|(fact, _)| candidate.sighting.is_some_and(|seen| seen.facts.has(*fact)))
            else {
                continue;
            };
            let path = candidate.entry.origin.location.clone();
            let lists = |client: &&&Client| {
                let mut sights = views.of(client, &catalog).into_iter();
                sights.any(|sight| sight.skill.entry.origin.location == path && sight.seen.is_ok())
            };
            let readers = clients.iter().filter(lists).map(|client| client.id).collect();
            skills.push(FoundElsewhere { path, readers, reason: (*reason).to_owned() });
        }
        (!skills.is_empty()).then(|| Self { skills, is_skipped: true, ..Self::default() })
    }

    /// The message if the skill is elsewhere.
    fn failure(&self, name: &str) -> Option<Failure> {
        if self.skills.is_empty() {
            return None;
        }
        let (error, hint) = match self.client {
            Some(client) => {
                (format!("{} does not read this skill: {}", client.name, clean(name)), self.hint(client))
            }
            None if self.is_skipped => {
                let reader = self.skills.iter().find_map(|skill| skill.readers.first());
                let see = reader.map(|id| command_for("why", name, &format!(" --client {id}")));
                let see = see.map(|see| format!("; see it as {} does with: {see}", reader.unwrap_or(&"")));
                (
                    format!("no skill of this name was found: {}", clean(name)),
                    format!("rename the folder, or move the skill out of it{}", see.unwrap_or_default()),
                )
            }
            None => (
                format!("no skill of this name was found in the places that were named: {}", clean(name)),
                "name its folder with --in, or leave --in out".to_owned(),
            ),
        };
        let mut failure = Failure::new(error, hint);
        let here = clients::installed(&Environment::current());
        failure.causes.extend(self.skills.iter().map(|place| {
            let readers = match place.readers.as_slice() {
                [] => String::new(),
                readers => format!("; read by {}", clients_named::few_of(readers, &here)),
            };
            format!("it is at {}, {}{readers}", clean(&place.path.text()), clean(&place.reason))
        }));
        Some(failure)
    }

    /// What to do so that a client reads the skill.
    fn hint(&self, client: &Client) -> String {
        if let Some(scope) = self.installed {
            return format!(
                "install it for {} with: prowess sync --client {}{}",
                client.name,
                client.id,
                scope_option(scope)
            );
        }
        let text = |path: &PathBuf| clean(&path.to_string_lossy()).into_owned();
        if let Some(folder) = &self.start_in {
            let climbs = |place: &prowess::client::ProjectFolder| {
                !matches!(place.climb, Climb::Here | Climb::BeyondRepository)
            };
            let outside = !clients::project(&env::absolute(Path::new("."))).join(".git").exists();
            let git = outside && client.reads().project.iter().any(climbs);
            let git = if git { ", or run git init there" } else { "" };
            return format!("start {} in {}{git}", client.name, text(folder));
        }
        let looks_in: Vec<String> = self.looks_in.iter().map(text).collect();
        let link = self.link_in.as_ref().map(|folder| format!(", or a link to it into {}", text(folder)));
        format!(
            "{} looks in {}; put the skill into one of these{}",
            client.name,
            looks_in.join(", "),
            link.unwrap_or_default()
        )
    }
}

/// A skill that the client would list if it were started in a folder above.
struct Above {
    folder: PathBuf,
    path: Location,
}

impl Above {
    /// The closest folder above from which the client lists a skill with this name, below the user's home.
    fn of(name: &str, client: &'static Client, here: &Path, places: &Places) -> Option<Self> {
        let environment = Environment::current();
        let options = library_options(places, Purpose::Look)
            .with_client(Some(client))
            .with_as_client(Some(Reach::Clients));
        here.ancestors()
            .skip(1)
            .take(MAX_ABOVE)
            .take_while(|folder| !environment.has_home_in(folder))
            .find_map(|folder| {
                let registry = library(folder, &environment, &options).ok()?;
                registry.refresh_local().ok()?;
                let catalog = registry.catalog();
                let found = catalog.why(name).into_iter().find(|(_, at)| **at == Standing::Listed)?;
                Some(Self { folder: folder.to_owned(), path: found.0.entry.origin.location.clone() })
            })
    }
}

fn above_reason(client: &Client) -> String {
    format!("in a folder above, where {} does not look from here", client.name)
}

/// Why the skill at a path is not found by the client, or in the given places.
fn reason(path: &Path, client: Option<&Client>, roots: &[Root]) -> String {
    let Some(client) = client else { return "which is in none of the places that were named".to_owned() };
    let folder = path.parent().unwrap_or(path);
    let below = |root: &Root| Some(folder.strip_prefix(&root.path).ok()?.components().count());
    match roots.iter().find_map(|root| Some((root, below(root)?))) {
        Some((root, depth)) => format!(
            "{depth} folders below {}, where {} looks {} deep",
            root.path.display(),
            client.name,
            root.depth
        ),
        None => format!("a folder that {} does not read", client.name),
    }
}

/// Why a folder with the right name is not a skill.
enum NearMiss {
    /// It is a link to another skill, or its SKILL.md is.
    Link(Link),
    /// Its SKILL.md cannot be read.
    Unreadable(SourceError),
    /// It is a link that leads out of a project that is not trusted.
    Outside(Failure),
}

/// A link to a skill that is listed by its own path.
#[derive(Serialize)]
struct Link {
    path: PathBuf,
    target: PathBuf,
    /// The key of that skill.
    key: String,
}

impl NearMiss {
    /// Looks for a folder of this name beside the skills that were found, and where skills are looked for.
    fn of(name: &str, places: &Places, registry: &Registry) -> Option<Self> {
        let mut parts = Path::new(name).components();
        let (Some(Component::Normal(name)), None) = (parts.next(), parts.next()) else { return None };
        let is_it = |problem: &&Arc<SourceError>| {
            let path = problem.at.path().map(Path::new);
            matches!(problem.kind, SourceErrorKind::OutsideProject)
                && path.and_then(Path::file_name) == Some(name)
        };
        if let Some(problem) = registry.problems().iter().find(is_it) {
            return Some(Self::Outside(failure(problem, registry)));
        }
        let catalog = &registry.catalog();
        folders(places, catalog).into_iter().find_map(|folder| {
            let folder = folder.join(name);
            let mut files = FILE_NAMES.iter().map(|file| folder.join(file));
            let file = files.find(|file| file.symlink_metadata().is_ok())?;
            let links = [folder, file.clone()];
            let link = links.into_iter().find(|path| path.is_symlink());
            match link.and_then(|link| Link::to_listed(link, &file, catalog)) {
                Some(link) => Some(Self::Link(link)),
                None => read_skill(&file).err().map(Self::Unreadable),
            }
        })
    }

    /// The message about it.
    fn failure(&self, name: &str, places: &Places) -> Failure {
        match self {
            Self::Link(Link { path, target, key }) => {
                let hint = format!("see that skill with: {}", command_for("why", key, &places.options()));
                Failure::new(format!("no skill of this name was found: {name}"), hint)
                    .with_cause(format!("{} is a link to {}", shown(path), shown(target)))
                    .with_cause(format!("that skill is listed once, as {key}"))
            }
            Self::Unreadable(error) => Failure::from(error),
            Self::Outside(failure) => {
                let error = format!("not read, so it is not known whether this is a skill: {name}");
                let mut whole = Failure { error, ..failure.clone() };
                whole.causes.insert(0, failure.error.clone());
                whole
            }
        }
    }
}

/// The message about a built-in skill, which only some commands offer.
pub(crate) fn built_in(name: &str, places: &Places) -> Option<Failure> {
    let is_it = places.sources.is_empty() && is_builtin(name);
    is_it.then(|| {
        Failure::new(
            format!("no agent lists this skill, it is built into prowess: {name}"),
            format!("read it with: {}", command_for("cat", name, "")),
        )
        .with_cause("the commands try, cat, activate and serve offer it".to_owned())
    })
}

/// The built-in skills that were probably meant by a name.
pub(crate) fn near_built_in(name: &str, places: &Places) -> Vec<&'static str> {
    if places.sources.is_empty() { similar(name, builtin_names()) } else { Vec::new() }
}

impl Link {
    /// The link, if it leads to a skill that is listed.
    fn to_listed(link: PathBuf, file: &Path, catalog: &Catalog) -> Option<Self> {
        let real = fs::canonicalize(file).ok()?;
        let is_it = |path: &str| fs::canonicalize(path).is_ok_and(|path| path == real);
        let mut listed = catalog.all().map(|(skill, _)| &skill.entry);
        let entry = listed.find(|entry| entry.origin.location.path().is_some_and(is_it))?;
        let target = fs::canonicalize(&link).ok()?;
        Some(Self { path: link, target, key: entry.key.clone() })
    }
}

/// The folders in which skills are found, or are looked for.
fn folders(places: &Places, catalog: &Catalog) -> BTreeSet<PathBuf> {
    let found = catalog.all().filter_map(|(skill, _)| {
        let file = Path::new(skill.entry.origin.location.path()?);
        file.parent()?.parent().map(Path::to_owned)
    });
    let named = places.sources.iter().filter_map(|source| source.place.path().map(env::absolute));
    let of_options = places.clients.iter().filter_map(|id| clients::client(id));
    let clients: Vec<_> = match places.sources.is_empty() {
        true if places.clients.is_empty() => CLIENTS.iter().collect(),
        true => of_options.collect(),
        false => Vec::new(),
    };
    let (here, environment) = (env::absolute(Path::new(".")), Environment::current());
    let roots = clients.into_iter().flat_map(|client| client.roots(&here, &environment));
    found.chain(named).chain(roots.map(|root| root.path)).collect()
}

/// The failure of a skill that the lock names and whose folder is gone.
fn gone(name: &str, origins: &Origins) -> Option<Failure> {
    let origin = origins.named(name).find(|origin| origin.path.symlink_metadata().is_err())?;
    let error = format!(
        "this skill is installed, and its folder is missing: {}",
        clean(&origin.path.to_string_lossy())
    );
    let sync = format!("prowess sync{}", scope_option(origin.scope));
    Some(Failure::new(error, format!("restore it with: {sync}")))
}

/// Adds what a list does not have yet.
pub(crate) fn join<T: PartialEq>(list: &mut Vec<T>, others: Vec<T>) {
    for other in others {
        if !list.contains(&other) {
            list.push(other);
        }
    }
}
