//! Caches that no command will use again: those of folders that are gone, those of another version, and unfinished ones.
//!
//! Everything in the cache folder is safe to delete. A cache that may still be used is never stale.

use std::fs;
use std::path::{Path, PathBuf};

use crate::env::Environment;
use crate::fs::atomic;
use crate::fs::file_cache::FileCache;
use crate::search;

/// The most skills of one cache that are looked for. A cache with more is kept.
const MAX_LOOKED_FOR: usize = 10_000;

/// A file in the cache folder that no command will use again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaleCache {
    /// The file.
    pub path: PathBuf,
    /// Why it is stale.
    pub why: Staleness,
    /// Its size in bytes.
    pub bytes: u64,
}

/// Why a cache is stale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Staleness {
    /// None of its skills is there any more.
    Gone,
    /// It is damaged, or another version wrote it.
    Unusable,
    /// A process was killed while it wrote it.
    Unfinished,
}

/// The stale files in the user's cache folder, sorted by path.
pub fn stale_caches(environment: &Environment) -> Vec<StaleCache> {
    let Some(cache) = environment.xdg("XDG_CACHE_HOME", ".cache") else { return Vec::new() };
    let cache = cache.join("prowess");
    let (index, terms) = (cache.join("index"), cache.join("terms"));
    let mut stale = Vec::new();
    for folder in [&cache, &index, &terms] {
        stale.extend(atomic::abandoned(folder).into_iter().map(|path| (path, Staleness::Unfinished)));
    }
    stale.extend(files(&index).into_iter().filter_map(|file| {
        let why = match FileCache::paths_in(&file) {
            None => Staleness::Unusable,
            Some(paths) if are_gone(&paths) => Staleness::Gone,
            Some(_) => return None,
        };
        Some((file, why))
    }));
    stale.extend(files(&terms).into_iter().filter_map(|file| {
        let why = match search::places_in(&file) {
            None => Staleness::Unusable,
            Some(places) => {
                // Built-in skills are always there, and say nothing about the others.
                let others = places.iter().filter(|place| !place.path().is_some_and(is_built_in));
                let paths: Option<Vec<PathBuf>> =
                    others.map(|place| place.path().map(PathBuf::from)).collect();
                // Skills of a server or an archive are not looked for.
                paths.filter(|paths| are_gone(paths)).map(|_| Staleness::Gone)?
            }
        };
        Some((file, why))
    }));
    let mut stale: Vec<StaleCache> = stale
        .into_iter()
        .map(|(path, why)| {
            let bytes = fs::symlink_metadata(&path).map_or(0, |metadata| metadata.len());
            StaleCache { path, why, bytes }
        })
        .collect();
    stale.sort_by(|one, other| one.path.cmp(&other.path));
    stale
}

/// The regular files in a folder, without temporary ones, sorted.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
        .filter(|entry| !entry.file_name().to_str().is_some_and(atomic::is_temporary))
        .map(|entry| entry.path())
        .collect();
    files.sort();
    files
}

/// Whether this is the path of a built-in skill: that of a file is absolute.
fn is_built_in(path: &str) -> bool {
    Path::new(path).is_relative()
}

/// Whether there are skills, and none of them is there any more.
fn are_gone(skills: &[PathBuf]) -> bool {
    !skills.is_empty()
        && skills.len() <= MAX_LOOKED_FOR
        && skills.iter().all(|path| {
            fs::symlink_metadata(path).is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::stamp::FileStamp;

    #[test]
    fn a_cache_is_stale_when_its_skills_are_gone_or_it_cannot_be_read() {
        let home = tempfile::tempdir().unwrap();
        let environment = Environment::of([("XDG_CACHE_HOME", home.path().to_str().unwrap())]);
        let index = home.path().join("prowess/index");
        let there = home.path().join("SKILL.md");
        fs::write(&there, "").unwrap();
        let cache = |name: &str, paths: &[&Path]| {
            let stamp = FileStamp::default();
            let files = paths.iter().map(|path| (path.as_os_str().as_encoded_bytes(), stamp, &b"x"[..]));
            FileCache::save(files, &index.join(name)).unwrap();
        };
        let gone = home.path().join("gone/SKILL.md");
        cache("a-used", &[&gone, &there]);
        cache("b-empty", &[]);
        cache("c-gone", &[&gone]);
        fs::write(index.join("d-old"), "prowess index 1\nsomething").unwrap();
        fs::write(index.join(".prowess-00000000000000ab.tmp"), "half").unwrap();
        fs::create_dir_all(home.path().join("prowess/terms")).unwrap();
        fs::write(home.path().join("prowess/terms/e-old"), "prowess terms 0\n").unwrap();
        let stale: Vec<(String, Staleness)> = stale_caches(&environment)
            .into_iter()
            .map(|cache| (cache.path.file_name().unwrap().to_string_lossy().into_owned(), cache.why))
            .collect();
        let expected = [
            (".prowess-00000000000000ab.tmp", Staleness::Unfinished),
            ("c-gone", Staleness::Gone),
            ("d-old", Staleness::Unusable),
            ("e-old", Staleness::Unusable),
        ];
        assert_eq!(stale, expected.map(|(name, why)| (name.to_owned(), why)));
    }
}
