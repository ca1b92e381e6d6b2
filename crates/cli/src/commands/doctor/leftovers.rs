//! What is left over in folders of skills and in the cache: broken links, unfinished files, stale caches.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use prowess::Scope;
use prowess::env::Environment;
use prowess::install::SKILLS_FOLDER;
use prowess::internal::{StaleCache, Staleness, abandoned, plain_cause, stale_caches, unread_connections};
use prowess::library::clients::{self, Root};

use super::super::hints::{free_name, of_disbelieved};
use super::examination::{Examination, stays};
use super::issue::{Bounded, Issue, Kind, Repair};
use crate::ui::command::word;
use crate::ui::size;

/// The most entries of a folder that are looked at.
const MAX_ENTRIES: usize = 10_000;

/// All of them.
pub(super) fn issues(examination: &Examination) -> Vec<Issue> {
    let mut issues: Vec<Issue> = connections(examination).into_iter().collect();
    let roots = examination.roots();
    for Root { path, readers, .. } in &roots {
        issues.extend(links(path, readers));
    }
    let mut folders: BTreeMap<PathBuf, Scope> =
        roots.into_iter().map(|root| (root.path, root.scope)).collect();
    // Skills are installed there, whether a client that reads it is here or not.
    folders.insert(clients::project(&examination.here).join(SKILLS_FOLDER), Scope::Project);
    folders.extend(examination.environment.home().map(|home| (home.join(SKILLS_FOLDER), Scope::User)));
    for (path, scope) in folders {
        let folder = Bounded { path, within: examination.bounds(scope) };
        let own = stays(&folder.path, folder.within.as_deref());
        // Its name does not show who wrote it, and a repository can have a file of any name.
        let is_certain = scope == Scope::User && !is_in_repository(&folder.path, &examination.environment);
        for path in own.then(|| abandoned(&folder.path)).into_iter().flatten() {
            let issue = if is_certain {
                Issue::new(Kind::InstallLeftover, "a process was killed while it wrote this")
                    .repaired(Repair::Sweep(folder.clone()), None)
            } else {
                Issue::new(Kind::InstallLeftover, "a process may have been killed while it wrote this")
                    .fixed("look at it, and remove it if you do not need it")
            };
            issues.push(issue.at(path));
        }
    }
    issues.extend(stale_caches(&examination.environment).into_iter().map(stale));
    issues
}

/// Whether a folder is in a repository, such as one of dotfiles that it is linked into; above the home this does not count.
/// A folder that cannot be looked up counts as in one.
fn is_in_repository(folder: &Path, environment: &Environment) -> bool {
    let Ok(folder) = folder.canonicalize() else { return true };
    let home = environment.home().and_then(|home| home.canonicalize().ok());
    let home = home.filter(|home| folder.starts_with(home)).unwrap_or_default();
    folder.ancestors().take_while(|above| above.starts_with(&home)).any(|above| above.join(".git").exists())
}

/// The record of what was connected, if it cannot be read.
fn connections(examination: &Examination) -> Option<Issue> {
    let (file, error) = unread_connections(&examination.environment)?;
    let what = plain_cause(&error.to_string());
    if error.kind() == ErrorKind::Unsupported {
        let issue = Issue::new(Kind::ConnectionsBroken, what).at(&file);
        return Some(issue.fixed("use that version of prowess, or a newer one"));
    }
    if error.kind() == ErrorKind::PermissionDenied {
        return Some(Issue::new(Kind::ConnectionsBroken, what).at(&file).advised(of_disbelieved(&file)));
    }
    // It is all that is known of the bytes before `connect`.
    let free = free_name(&file, "broken").and_then(|free| word(&free));
    let away = word(&file).zip(free).map(|(file, free)| format!("mv {file} {free}"));
    Some(
        Issue::new(Kind::ConnectionsBroken, what)
            .at(&file)
            .fixed(
                "restore it from a copy, or move it away: disconnect then removes the entry and nothing else",
            )
            .fixed_by(away),
    )
}

/// The links in a folder of skills that lead to nothing, and the folder itself if it is one.
fn links(folder: &Path, readers: &[&'static str]) -> Vec<Issue> {
    // A link whose target may not be looked at is not known to be broken; links in a circle are.
    let is_broken = |path: &Path| {
        path.is_symlink()
            && fs::metadata(path).is_err_and(|error| error.kind() != ErrorKind::PermissionDenied)
    };
    let mut broken: Vec<PathBuf> =
        Some(folder.to_owned()).filter(|path| is_broken(path)).into_iter().collect();
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().take(MAX_ENTRIES);
    let links = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()));
    broken.extend(links.map(|entry| entry.path()).filter(|path| is_broken(path)));
    broken.sort();
    let folders = fs::read_dir(folder).into_iter().flatten().flatten().take(MAX_ENTRIES);
    let mut unreadable: Vec<PathBuf> =
        folders.map(|entry| entry.path().join("SKILL.md")).filter(|file| file.is_dir()).collect();
    unreadable.sort();
    let no_file = |path: PathBuf| {
        Issue::new(Kind::SkillBroken, "its SKILL.md is a folder")
            .at(&path)
            .for_clients(readers.to_vec())
            .fixed("put a file in its place")
    };
    let issue = |path: PathBuf| {
        let target = fs::read_link(&path).unwrap_or_default();
        let what = match fs::metadata(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                format!("it leads to {}: {}", target.display(), plain_cause(&error.to_string()))
            }
            _ => format!("it leads to {}, which is not there", target.display()),
        };
        let remove = word(&path).map(|path| format!("rm {path}"));
        Issue::new(Kind::LinkBroken, what)
            .at(&path)
            .for_clients(readers.to_vec())
            .fixed("restore what it leads to, or remove the link")
            .fixed_by(remove)
    };
    broken.into_iter().map(issue).chain(unreadable.into_iter().map(no_file)).collect()
}

fn stale(cache: StaleCache) -> Issue {
    let why = match cache.why {
        Staleness::Gone => "its skills are gone",
        Staleness::Unusable => "it is damaged, or another version wrote it",
        Staleness::Unfinished => "a process was killed while it wrote it",
    };
    let what = format!("{why}: {}", size(cache.bytes));
    Issue::new(Kind::CacheStale, what).at(&cache.path).repaired(Repair::Remove(cache.path), None)
}
