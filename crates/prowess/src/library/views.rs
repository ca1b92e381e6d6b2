//! Which skills clients list, as seen from a folder: their folders are walked once, and the row of each client decides.

mod reach;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use prowess_core::catalog::TurnedOffBy;
use prowess_core::client::{Fact, NotListed, Reads, Same, Seeing, Seen, view};
use prowess_core::{Candidate, Catalog, Location, Obstacle, Stamp, Standing};

pub use reach::{ClientLimits, Reach};
pub(super) use reach::{Looking, SightedRoot};

use super::{LibraryOptions, add, own_once};
use crate::advice::Hint;
use crate::env::{self, Environment};
use crate::fs::stamp::FileStamp;
use crate::library::clients::{self, Client, Root, roots_of};
use crate::registry::{Registry, RegistryError};
use crate::settings::{SessionConfig, SettingsError};

/// The views of clients, as seen from a folder.
#[derive(Debug)]
pub struct Views {
    registry: Registry,
    session: SessionConfig,
    clients: Vec<(&'static Client, Vec<usize>)>,
}

/// A skill in a folder of a client, and whether the client lists it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Sight<'v> {
    /// The skill as Prowess reads it. Its obstacle is why Prowess does not offer it.
    pub skill: &'v Candidate,
    /// The name under which the client shows it, or why it does not list it.
    pub seen: Result<Seen<'v>, NotSeen<'v>>,
}

/// Why a client does not list a skill.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NotSeen<'v> {
    /// Why.
    pub why: NotListed,
    /// The skill that the client lists instead, if there is one.
    pub by: Option<&'v Candidate>,
    /// How the client reads.
    reads: Reads,
}

impl NotSeen<'_> {
    /// The code of the reason.
    pub fn code(&self) -> &'static str {
        match self.why {
            NotListed::TooDeep { .. } => "too-deep",
            NotListed::Refused(facts) => facts.iter().next().map_or("refused", Fact::code),
            NotListed::SameFile { .. } => "same-file",
            NotListed::SameName { .. } => "same-name",
            _ => "unseen",
        }
    }

    /// The reason in words, as a sentence without a full stop.
    pub fn reason(&self) -> String {
        let by = || self.by.map(|by| by.entry.origin.location.to_string()).unwrap_or_default();
        match self.why {
            NotListed::TooDeep { depth, limit } => {
                format!("it is {depth} folders deep, and the client looks {limit} deep")
            }
            NotListed::Refused(facts) => facts.iter().map(Fact::what).collect::<Vec<_>>().join("; "),
            NotListed::SameFile { .. } => format!("the client lists the same file as {}", by()),
            NotListed::SameName { .. } if self.reads.same == Same::Unstable => {
                format!("the client lists one skill with this name, not always the same one: {}", by())
            }
            NotListed::SameName { .. } => format!("the client lists another skill with this name: {}", by()),
            _ => "the client does not list it".to_owned(),
        }
    }

    /// What would make the client list it.
    pub fn hints(&self) -> Vec<Hint> {
        hints(self.why, &self.reads)
    }
}

/// What would make a client list a skill.
pub fn hints(why: NotListed, reads: &Reads) -> Vec<Hint> {
    match why {
        NotListed::TooDeep { .. } => vec!["move its folder further up".into()],
        NotListed::Refused(facts) => {
            let mut hints: Vec<Hint> = facts.iter().map(Hint::from).collect();
            hints.dedup();
            hints
        }
        NotListed::SameFile { .. } => vec!["nothing is missing: it is the same file".into()],
        _ => vec![same_name_fix(reads).into()],
    }
}

/// What to do about two skills with one name in a client.
pub fn same_name_fix(reads: &Reads) -> String {
    let why = if reads.by_folder { ": the client takes its name from the folder" } else { "" };
    format!("{}, or remove one that no other client needs{why}", rename_fix(reads))
}

/// The part of it that needs no skill removed.
pub fn rename_fix(reads: &Reads) -> &'static str {
    if reads.by_folder { "rename the folder of one of the two" } else { "rename one of the two" }
}

impl Views {
    /// Finds the skills in the folders of these clients, as seen from a folder.
    pub fn open(
        from: &Path,
        environment: &Environment,
        options: &LibraryOptions,
        clients: &[&'static Client],
        reach: Reach,
    ) -> Result<Self, SettingsError> {
        let from = env::absolute(from);
        let mut roots: Vec<(Root, Vec<Reads>)> = Vec::new();
        let mut of_clients = Vec::new();
        for (client, looked_into) in roots_of(clients, &from, environment) {
            let reads = client.reads();
            let mut layers = Vec::new();
            for root in own_once(looked_into) {
                let at = match roots.iter().position(|(other, _)| other.path == root.path) {
                    Some(at) => at,
                    None => {
                        roots.push((root, Vec::new()));
                        roots.len() - 1
                    }
                };
                if let Some((root, rows)) = roots.get_mut(at) {
                    if !root.readers.contains(&client.id) {
                        root.readers.push(client.id);
                    }
                    rows.push(reads);
                }
                // The first layer of a registry has what is registered.
                layers.push(at + 1);
            }
            of_clients.push((client, layers));
        }
        let looking = Looking { reach, limits: options.client_limits };
        let sighted = roots.into_iter().map(|(root, rows)| SightedRoot::new(root, &rows, looking));
        let mut registry = Registry::new();
        registry.arrange(Catalog::apart);
        let session = add(&mut registry, &from, environment, options, Some(sighted.collect()))?;
        Ok(Self { registry, session, clients: of_clients })
    }

    /// The registry with all skills that were found, also those that no client lists. Refresh it before asking for a
    /// view.
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// The session settings of the configurations.
    pub fn session(&self) -> &SessionConfig {
        &self.session
    }

    /// The clients, in the order in which they were given.
    pub fn clients(&self) -> impl Iterator<Item = &'static Client> {
        self.clients.iter().map(|(client, _)| *client)
    }

    /// The clients that look into the folder that a path is in.
    pub fn readers_of(&self, path: &Path) -> Vec<&'static Client> {
        let roots: Vec<&Path> = self.registry.labels().map(Path::new).collect();
        let is_in = |layer: &usize| roots.get(*layer).is_some_and(|root| path.starts_with(root));
        let readers = self.clients.iter().filter(|(_, layers)| layers.iter().any(is_in));
        readers.map(|(client, _)| *client).collect()
    }

    /// Reads the disk again.
    pub fn refresh(&self) -> Result<(), RegistryError> {
        self.registry.refresh_local().map(|_| ())
    }

    /// The skills in the folders of a client, in its order of precedence, and whether it lists each. The catalog is
    /// that of the registry.
    pub fn of<'v>(&self, client: &Client, catalog: &'v Catalog) -> Vec<Sight<'v>> {
        let all: Vec<&Candidate> = catalog.all().map(|(skill, _)| skill).collect();
        let layers = self.clients.iter().find(|(other, _)| other.id == client.id);
        let layers = layers.map(|(_, layers)| layers.as_slice()).unwrap_or_default();
        let mut found: Vec<&Candidate> = Vec::new();
        for layer in layers {
            found.extend(all.get(range(&all, *layer)).unwrap_or_default());
        }
        let repeated = repeated(&found);
        let mut at = 0..;
        found.retain(|_| at.next().is_some_and(|at| !repeated.contains(&at)));
        sights(client, &found)
    }
}

impl Registry {
    /// The client whose view the catalog is, if it is one.
    pub fn client(&self) -> Option<&'static Client> {
        clients::client(self.view_of()?)
    }
}

/// The catalog of a client. The skills of its folders are given in its order. The key of a listed skill is the name
/// under which the client shows it. Obstacles stay: they are why Prowess does not offer a skill.
pub(crate) fn catalog(client: &Client, mut candidates: Vec<Arc<Candidate>>) -> Catalog {
    let skills: Vec<&Candidate> = candidates.iter().map(AsRef::as_ref).collect();
    let repeated = repeated(&skills);
    let mut at = 0..;
    candidates.retain(|_| at.next().is_some_and(|at| !repeated.contains(&at)));
    let skills: Vec<&Candidate> = candidates.iter().map(AsRef::as_ref).collect();
    let decided: Vec<Decided> = sights(client, &skills).into_iter().map(decided).collect();
    let mut standings = Vec::with_capacity(decided.len());
    for (candidate, Decided { key, one_of_several, standing }) in candidates.iter_mut().zip(decided) {
        standings.push(standing);
        if key.is_none() && !one_of_several {
            continue;
        }
        let Some(candidate) = Arc::get_mut(candidate) else { continue };
        if let Some(sighting) = candidate.sighting.as_mut().filter(|_| one_of_several) {
            sighting.facts = sighting.facts.with(Fact::OneOfSeveral);
        }
        candidate.entry.key = key.unwrap_or_else(|| std::mem::take(&mut candidate.entry.key));
    }
    Catalog::decided(candidates, standings)
}

/// The skills that were found again from a folder further up, as in a folder of a client that is inside another one.
fn repeated(skills: &[&Candidate]) -> BTreeSet<usize> {
    let mut repeated = BTreeSet::new();
    let mut folders: Vec<&Path> = skills.iter().map(|skill| Path::new(&*skill.source)).collect();
    folders.dedup();
    let inside = |one: &Path| folders.iter().any(|other| one != *other && one.starts_with(other));
    if !folders.iter().any(|folder| inside(folder)) {
        return repeated;
    }
    let mut nearest: BTreeMap<&Location, usize> = BTreeMap::new();
    let depth = |at: usize| skills.get(at).and_then(|skill| skill.sighting).map(|sighting| sighting.depth);
    for (at, skill) in skills.iter().enumerate() {
        let first = *nearest.entry(&skill.entry.origin.location).or_insert(at);
        if first == at {
            continue;
        }
        let (keep, drop) = if depth(at) < depth(first) { (at, first) } else { (first, at) };
        nearest.insert(&skill.entry.origin.location, keep);
        repeated.insert(drop);
    }
    repeated
}

/// What is decided about a skill in the view of a client.
struct Decided {
    /// Its key, if it differs from its own.
    key: Option<String>,
    one_of_several: bool,
    standing: Standing,
}

fn decided(Sight { skill, seen }: Sight<'_>) -> Decided {
    let as_it_is = |standing| Decided { key: None, one_of_several: false, standing };
    // Options of the command line select skills in every view; a configuration only affects Prowess.
    if let Some(obstacle @ Obstacle::Disabled { by: TurnedOffBy::Option(_) }) = &skill.obstacle {
        return as_it_is(Standing::Blocked { obstacle: obstacle.clone() });
    }
    let key = |shown_as: Cow<'_, str>| (shown_as != skill.entry.key).then(|| shown_as.into_owned());
    match seen {
        Ok(Seen { shown_as, one_of_several, .. }) => {
            Decided { key: key(shown_as), one_of_several, standing: Standing::Listed }
        }
        Err(NotSeen { why: NotListed::SameName { .. }, by: Some(by), reads }) => {
            let facts = skill.sighting.unwrap_or_default().facts;
            Decided {
                key: key(reads.shown_as(&skill.entry, facts)),
                one_of_several: reads.same == Same::Unstable,
                standing: Standing::Shadowed { by: by.entry.origin.location.clone() },
            }
        }
        Err(why) => as_it_is(Standing::Unseen { code: why.code(), reason: why.reason(), why: why.why }),
    }
}

/// Whether a client lists each of these skills, which are given in its order.
fn sights<'v>(client: &Client, skills: &[&'v Candidate]) -> Vec<Sight<'v>> {
    let seeing = |skill: &&'v Candidate| Seeing {
        entry: &skill.entry,
        sighting: skill.sighting.unwrap_or_default(),
        file: file_of(skill),
    };
    let seeings: Vec<Seeing<'v>> = skills.iter().map(seeing).collect();
    let reads = client.reads();
    let seen = view(&reads, &seeings);
    let by = |why: NotListed| match why {
        NotListed::SameFile { by } | NotListed::SameName { by } => skills.get(by).copied(),
        _ => None,
    };
    let sight = |(skill, seen): (&&'v Candidate, Result<Seen<'v>, NotListed>)| Sight {
        skill,
        seen: seen.map_err(|why| NotSeen { why, by: by(why), reads }),
    };
    skills.iter().zip(seen).map(sight).collect()
}

/// The indexes of a layer's skills among all skills, which are sorted by layer.
fn range(all: &[&Candidate], layer: usize) -> Range<usize> {
    let start = all.partition_point(|skill| skill.layer.at < layer);
    let end = all.partition_point(|skill| skill.layer.at <= layer);
    start..end
}

/// The identity of a skill's file, if the file system has one: two paths to it are one skill.
pub fn file_of(skill: &Candidate) -> Option<(u64, u64)> {
    identity_of(skill.stamp)
}

/// The identity of the file with a stamp, if the file system has one.
pub(super) fn identity_of(stamp: Stamp) -> Option<(u64, u64)> {
    let FileStamp { device, inode, .. } = stamp.into();
    (inode != 0).then_some((device, inode))
}
