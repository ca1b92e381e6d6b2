//! All clients together: which of them are on this machine, and the folders that any of them looks into.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use prowess_core::Scope;

use super::places::Here;
use super::{CLIENTS, Client, Root};
use crate::env::Environment;
use crate::fs::walk::ScanOptions;

/// The clients that are found on this machine: those with a folder of their own in the user's home.
pub fn installed(environment: &Environment) -> Vec<&'static Client> {
    let shared: Vec<PathBuf> = SHARED.iter().filter_map(|path| environment.expand(path)).collect();
    let is_own = |path: &PathBuf| !shared.contains(path);
    // The folders of each client that contain one with skills.
    let folders_of = |client: &'static Client| {
        let parent = |path: &str| environment.expand(path)?.parent().map(Path::to_owned);
        let paths = client.user_folders().iter().chain(client.user);
        let mut folders: Vec<PathBuf> = paths.filter_map(|path| parent(path)).filter(is_own).collect();
        let mut seen = HashSet::new();
        folders.retain(|folder| seen.insert(folder.clone()));
        (client, folders)
    };
    let clients: Vec<(&'static Client, Vec<PathBuf>)> = CLIENTS.iter().map(folders_of).collect();
    let mut users: HashMap<&Path, usize> = HashMap::new();
    for folder in clients.iter().flat_map(|(_, folders)| folders) {
        *users.entry(folder).or_default() += 1;
    }
    let mut existing: HashMap<&Path, bool> = HashMap::new();
    let mut found = Vec::new();
    for (client, folders) in &clients {
        // The first folder shows that the client is installed, and so does any that no other client reads.
        let is_sign = |at: usize, folder: &Path| at == 0 || users.get(folder) == Some(&1);
        let mut exists =
            |folder| *existing.entry(folder).or_insert_with_key(|folder: &&Path| folder.is_dir());
        if folders.iter().enumerate().any(|(at, folder)| is_sign(at, folder) && exists(folder)) {
            found.push(*client);
        }
    }
    found
}

/// The folder of the user that is of no client.
const OWN: &str = "~/.agents/skills";

/// The folders of the user that do not show which client is installed.
const SHARED: [&str; 4] =
    ["~/.agents", "~/.agent", "~/.config/agents", "${XDG_CONFIG_HOME:-~/.config}/agents"];

/// The folders in which users keep their own skills, for any client.
pub fn own_folders(environment: &Environment) -> impl Iterator<Item = PathBuf> {
    let paths = CLIENTS.iter().flat_map(|client| client.user_folders().iter().chain(client.user));
    std::iter::once(&OWN).chain(paths).filter_map(|path| environment.expand(path))
}

/// The folders of all clients together, each once with the clients that look there: first the project's, then the
/// user's. Those of a project are in this folder and in those above it, up to the root of the git repository; a folder
/// above may have no readers, if its clients look only where they are started.
pub fn common_roots(from: &Path, environment: &Environment) -> Vec<Root> {
    let here = Here::new(from, environment);
    let mut clients: Vec<&'static Client> = CLIENTS.iter().collect();
    // The folder that most clients share comes first.
    clients.sort_by_key(|client| (!client.project.contains(&".agents/skills"), client.id));
    let mut roots = Roots::default();
    let none = |path, scope, depth| Root { path, scope, readers: Vec::new(), depth, project: None };
    let mut depths: BTreeMap<&str, usize> = BTreeMap::new();
    for client in &clients {
        for path in client.project_folders() {
            let depth = depths.entry(path).or_default();
            *depth = (*depth).max(client.reads().depth.into());
        }
    }
    // The table of where to install gives the order of precedence, and the rows decide which folders there are.
    let installed = clients.iter().flat_map(|client| client.project.iter().copied());
    for path in installed.chain(clients.iter().flat_map(|client| client.project_folders())) {
        // A folder that is not hidden belongs to the user, not to a client.
        if let Some(depth) = depths.get(path).filter(|_| path.starts_with('.')) {
            for folder in here.upwards() {
                let (place, scope) = here.place(folder, path);
                roots.add(none(place, scope, *depth));
            }
        }
    }
    let users = clients.iter().flat_map(|client| client.user);
    for path in users.filter_map(|path| environment.expand(path)) {
        roots.add(none(path, Scope::User, 0));
    }
    for client in clients {
        for root in client.roots_from(&here) {
            // What clients read above the repository is not part of this project.
            if root.scope != Scope::Project || roots.places.contains_key(&root.path) {
                roots.add(root);
            }
        }
    }
    let Roots { roots, places } = roots;
    // A folder inside another is walked with it.
    let is_inside = |path: &Path| path.ancestors().skip(1).any(|above| places.contains_key(above));
    // Some clients look as deep as a tree goes; that is too far for the folders of all.
    let most = ScanOptions::default().max_depth;
    let bounded = roots.into_iter().map(|root| Root { depth: root.depth.min(most), ..root });
    let (project, mut user): (Vec<Root>, Vec<Root>) = bounded.partition(|root| root.scope == Scope::Project);
    user.retain(|root| !root.readers.is_empty() && !is_inside(&root.path));
    [project, user].concat()
}

/// Folders, each once. Ordering paths compares them part by part, which is slow for the folders of all clients.
#[derive(Default)]
struct Roots {
    roots: Vec<Root>,
    places: HashMap<PathBuf, usize>,
}

impl Roots {
    fn add(&mut self, root: Root) {
        let at = *self.places.entry(root.path.clone()).or_insert(self.roots.len());
        match self.roots.get_mut(at) {
            Some(known) => {
                known.depth = known.depth.max(root.depth);
                known.readers.extend(root.readers);
                // In the user's home, a folder is the user's own.
                if root.scope == Scope::User {
                    known.scope = Scope::User;
                }
            }
            None => self.roots.push(root),
        }
    }
}
