//! What is left over in folders of skills and in the cache: broken links, unfinished files, stale caches.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use prowess::install::SKILLS_FOLDER;
use prowess::internal::{StaleCache, Staleness, abandoned, stale_caches};
use prowess::library::clients::{self, Root};

use super::look::Look;
use super::trouble::{Kind, Repair, Trouble, word};
use crate::ui::size;

/// The most entries of a folder that are looked at.
const MAX_ENTRIES: usize = 10_000;

/// All of them.
pub(super) fn troubles(look: &Look) -> Vec<Trouble> {
    let mut troubles = Vec::new();
    let roots = look.roots();
    for Root { path, readers, .. } in &roots {
        troubles.extend(links(path, readers));
    }
    let mut folders: BTreeSet<PathBuf> = roots.into_iter().map(|root| root.path).collect();
    // Skills are installed there, whether a client that reads it is here or not.
    folders.insert(clients::project(&look.here).join(SKILLS_FOLDER));
    folders.extend(look.environment.home().map(|home| home.join(SKILLS_FOLDER)));
    for folder in folders {
        for path in abandoned(&folder) {
            let what = "a process was killed while it wrote this";
            let sweep = Repair::Sweep(folder.clone());
            troubles.push(Trouble::new(Kind::InstallLeftover, what).at(path).repaired(sweep, None));
        }
    }
    troubles.extend(stale_caches(&look.environment).into_iter().map(stale));
    troubles
}

/// The links in a folder of skills that lead to nothing, and the folder itself if it is one.
fn links(folder: &Path, readers: &[&'static str]) -> Vec<Trouble> {
    let is_broken = |path: &Path| {
        path.is_symlink()
            && fs::metadata(path).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
    };
    let mut broken: Vec<PathBuf> =
        Some(folder.to_owned()).filter(|path| is_broken(path)).into_iter().collect();
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().take(MAX_ENTRIES);
    let links = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()));
    broken.extend(links.map(|entry| entry.path()).filter(|path| is_broken(path)));
    broken.sort();
    let trouble = |path: PathBuf| {
        let target = fs::read_link(&path).unwrap_or_default();
        let what = format!("it leads to {}, which is not there", target.display());
        let remove = word(&path).map(|path| format!("rm {path}"));
        Trouble::new(Kind::LinkBroken, what)
            .at(&path)
            .for_clients(readers.to_vec())
            .fixed("restore what it leads to, or remove the link")
            .fixed_by(remove)
    };
    broken.into_iter().map(trouble).collect()
}

fn stale(cache: StaleCache) -> Trouble {
    let why = match cache.why {
        Staleness::Gone => "its skills are gone",
        Staleness::Unusable => "it is damaged, or another version wrote it",
        Staleness::Unfinished => "a process was killed while it wrote it",
    };
    let what = format!("{why}: {}", size(cache.bytes));
    Trouble::new(Kind::CacheStale, what).at(&cache.path).repaired(Repair::Remove(cache.path), None)
}
