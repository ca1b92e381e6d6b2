//! [`ExactDifference`]: in which entries two folders differ, when everything in them counts.
//!
//! What agents get of a skill is less than what its folder has: `.git`, links, names that no other system allows. Only this
//! comparison says that one of two folders can go.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use super::dir::{Folder, Kind, Links, Name};
use super::listing::MAX_LISTED_ENTRIES;

/// The most bytes of files that are compared.
const MAX_BYTES: u64 = 256 << 20;
/// The deepest folder that is looked into.
const MAX_DEPTH: usize = 64;
/// The most entries that are named.
const MAX_NAMED: usize = 20;
/// How many bytes of a file are compared at once.
const AT_ONCE: u64 = 64 * 1024;

/// The entries in which two folders differ.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExactDifference {
    /// The first of them by their names, relative to the folders; an empty one is the folders themselves. What cannot be
    /// compared counts as different.
    pub entries: Vec<PathBuf>,
    /// Whether there may be more.
    pub more: bool,
}

impl ExactDifference {
    /// Compares two folders entry by entry: every name, kind, target of a link, executable bit and byte. No link is
    /// followed, but the given paths may be links. What git keeps of a work tree, and what is mounted in one of them, is
    /// never the same.
    pub fn between(one: &Path, other: &Path) -> Self {
        let mut comparison =
            Comparison { left: MAX_LISTED_ENTRIES, bytes: MAX_BYTES, found: Self::default() };
        let folders = Folder::open(one).and_then(|one| Ok((one, Folder::open(other)?)));
        let compared = folders.and_then(|(one, other)| {
            let both = [&one, &other];
            comparison.folders(both, both, Path::new(""), 0)
        });
        if !compared.unwrap_or(false) {
            comparison.differs(Path::new(""));
        }
        comparison.found
    }

    /// Whether the two are the same in everything.
    pub fn is_none(&self) -> bool {
        self.entries.is_empty() && !self.more
    }
}

struct Comparison {
    /// How many entries may still be looked at.
    left: usize,
    /// How many bytes may still be compared.
    bytes: u64,
    found: ExactDifference,
}

impl Comparison {
    fn differs(&mut self, at: &Path) {
        if self.found.entries.len() < MAX_NAMED {
            self.found.entries.push(at.to_owned());
        } else {
            self.found.more = true;
        }
    }

    /// Compares two folders, each with the folder above it.
    fn folders(
        &mut self,
        both: [&Folder; 2],
        above: [&Folder; 2],
        at: &Path,
        depth: usize,
    ) -> io::Result<bool> {
        let [one, other] = both;
        // What is removed of one folder by its two paths is gone, and so is what a mount shows of another folder.
        let is_mounted = both.into_iter().zip(above).any(|(folder, above)| folder.is_mounted_in(above));
        if one.identity()? == other.identity()? || is_mounted || depth > MAX_DEPTH {
            return Ok(false);
        }
        let (ours, more) = one.entries(self.left)?;
        let (theirs, more_of_theirs) = other.entries(self.left)?;
        self.found.more |= more || more_of_theirs;
        let mut kinds: BTreeMap<OsString, [Option<Kind>; 2]> = BTreeMap::new();
        for Name { name, kind } in ours {
            kinds.entry(name).or_default()[0] = Some(kind);
        }
        for Name { name, kind } in theirs {
            kinds.entry(name).or_default()[1] = Some(kind);
        }
        self.left = self.left.saturating_sub(kinds.len());
        for (name, kinds) in kinds {
            let (name, at) = (Path::new(&name), at.join(&name));
            let same = match kinds {
                _ if name.as_os_str().eq_ignore_ascii_case(".git") => Ok(false),
                [Some(Kind::File), Some(Kind::File)] => self.files(both, name),
                [Some(Kind::Link), Some(Kind::Link)] => links(both, name),
                [Some(Kind::Folder), Some(Kind::Folder)] => self.inner(both, name, &at, depth),
                _ => Ok(false),
            };
            if !same.unwrap_or(false) {
                self.differs(&at);
            }
        }
        Ok(true)
    }

    /// Compares two folders in open ones. The entries in them in which they differ are named by themselves.
    fn inner(&mut self, above: [&Folder; 2], name: &Path, at: &Path, depth: usize) -> io::Result<bool> {
        let [one, other] = above;
        let (one, other) = (one.below(name)?, other.below(name)?);
        self.folders([&one, &other], above, at, depth + 1)
    }

    fn files(&mut self, [one, other]: [&Folder; 2], name: &Path) -> io::Result<bool> {
        if one.is_mount_point(name)? || other.is_mount_point(name)? {
            return Ok(false);
        }
        let (own, theirs) = (one.known_below(name)?, other.known_below(name)?);
        if own.size != theirs.size || own.executable != theirs.executable || own.size > self.bytes {
            return Ok(false);
        }
        self.bytes -= own.size;
        have_same_bytes(one.open_below(name, Links::Refuse)?, other.open_below(name, Links::Refuse)?)
    }
}

fn links([one, other]: [&Folder; 2], name: &Path) -> io::Result<bool> {
    Ok(one.link_target(name)? == other.link_target(name)?)
}

fn have_same_bytes(one: File, other: File) -> io::Result<bool> {
    // Something else may have its name by now, and a device has no end.
    let size = one.metadata()?.len();
    if !one.metadata()?.is_file() || !other.metadata()?.is_file() {
        return Ok(false);
    }
    let (mut one, mut other) = (one.take(size + 1), other.take(size + 1));
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    loop {
        ours.clear();
        theirs.clear();
        one.by_ref().take(AT_ONCE).read_to_end(&mut ours)?;
        other.by_ref().take(AT_ONCE).read_to_end(&mut theirs)?;
        if ours != theirs {
            return Ok(false);
        }
        if ours.is_empty() {
            return Ok(true);
        }
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    /// The entry that a change of the first folder makes another one.
    type Change = (&'static str, fn(&Path));

    /// Two folders that are the same in everything.
    fn twins() -> (tempfile::TempDir, [PathBuf; 2]) {
        let world = tempfile::tempdir().unwrap();
        let both = ["one", "other"].map(|name| world.path().join(name));
        for folder in &both {
            fs::create_dir_all(folder.join("deep/empty")).unwrap();
            fs::write(folder.join("SKILL.md"), "text\n").unwrap();
            fs::write(folder.join("deep/big"), vec![7; 200_000]).unwrap();
            symlink("gone", folder.join("link")).unwrap();
        }
        (world, both)
    }

    fn entries([one, other]: &[PathBuf; 2]) -> Vec<String> {
        let found = ExactDifference::between(one, other);
        assert_eq!(found, ExactDifference::between(other, one), "the order of the two does not matter");
        assert_eq!(found.is_none(), found.entries.is_empty(), "{found:?}");
        found.entries.iter().map(|entry| entry.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn folders_are_the_same_only_in_every_name_kind_target_mode_and_byte() {
        assert_eq!(entries(&twins().1), [""; 0]);
        let changes: [Change; 9] = [
            ("deep/big", |one| {
                let mut bytes = vec![7; 200_000];
                bytes[199_999] = 8;
                fs::write(one.join("deep/big"), bytes).unwrap();
            }),
            ("deep/big", |one| {
                fs::set_permissions(one.join("deep/big"), fs::Permissions::from_mode(0o755)).unwrap();
            }),
            ("deep/empty", |one| fs::remove_dir(one.join("deep/empty")).unwrap()),
            ("deep/empty/.hidden", |one| fs::write(one.join("deep/empty/.hidden"), "").unwrap()),
            ("link", |one| {
                fs::remove_file(one.join("link")).unwrap();
                symlink("other", one.join("link")).unwrap();
            }),
            ("SKILL.md", |one| {
                fs::rename(one.join("SKILL.md"), one.join("../away")).unwrap();
                symlink("../away", one.join("SKILL.md")).unwrap();
            }),
            ("node_modules", |one| fs::create_dir(one.join("node_modules")).unwrap()),
            ("deep/.GIT", |one| {
                fs::write(one.join("deep/.GIT"), "").unwrap();
                fs::write(one.join("../other/deep/.GIT"), "").unwrap();
            }),
            ("", |one| {
                fs::remove_dir_all(one).unwrap();
                symlink("other", one).unwrap();
            }),
        ];
        for (name, change) in changes {
            let (_world, both) = twins();
            change(&both[0]);
            assert_eq!(entries(&both), [name]);
        }
    }

    #[test]
    fn a_folder_with_more_than_is_looked_at_is_not_the_same() {
        let (_world, both) = twins();
        for folder in &both {
            for number in 0..=MAX_LISTED_ENTRIES {
                fs::write(folder.join(format!("deep/{number}")), "").unwrap();
            }
        }
        assert!(!ExactDifference::between(&both[0], &both[1]).is_none());
        let (_world, both) = twins();
        for folder in &both {
            for number in 0..=MAX_NAMED {
                fs::write(folder.join(number.to_string()), folder.to_string_lossy().as_bytes()).unwrap();
            }
        }
        let found = ExactDifference::between(&both[0], &both[1]);
        assert!(found.entries.len() == MAX_NAMED && found.more);
    }

    #[test]
    fn a_folder_that_a_link_in_the_other_leads_to_is_not_a_second_one() {
        let (_world, both) = twins();
        fs::remove_dir_all(both[0].join("deep")).unwrap();
        symlink("../other/deep", both[0].join("deep")).unwrap();
        assert_eq!(entries(&both), ["deep"]);
    }
}
