//! The contents of a skill's folder: written from a tree, read back as a digest.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use prowess_core::{Digest, FileEntry, LeftOut, Manifest, RelPath};

use super::journal::State;
use crate::error::{SourceError, SourceErrorKind};
use crate::fs::dir::{Folder, Kind, Want};
use crate::fs::location::location_of;
use crate::fs::sandbox::SkillFolder;
use crate::fs::{listing, read};
use crate::install::source::tree::{InstallLimits, SkillTree, TreeFile};
use crate::registry::digests::{self, DigestLimits};

/// The largest file of an installed skill that is copied for a client: as large as an approval allows.
const MAX_FILE_BYTES: usize = 64 << 20;
/// The most entries of a folder without a digest that are named and compared.
const MAX_ENTRIES: usize = 100_000;

/// Writes the files of a skill below a new folder. Where the file system keeps no executable bits, setting one may fail.
pub(super) fn write_tree(
    stage: &Folder,
    name: &str,
    tree: &SkillTree,
    keeps_modes: bool,
    sync_each: bool,
) -> io::Result<()> {
    let leave = |dir: &Folder| if sync_each { dir.sync() } else { Ok(()) };
    let root = stage.make(name)?;
    // The open folders on the path to the last file. Files are sorted, so a folder that the path leaves is complete and
    // can be closed; a skill with many folders would otherwise need more handles than some systems allow.
    let mut way: Vec<(&str, Folder)> = Vec::new();
    for (file, bytes) in tree.files() {
        let (parent, own) = file.path.as_str().rsplit_once('/').unwrap_or(("", file.path.as_str()));
        let parts = || parent.split('/').filter(|part| !part.is_empty());
        let shared = way.iter().zip(parts()).take_while(|((open, _), part)| open == part).count();
        for (_, left) in way.drain(shared..).rev() {
            leave(&left)?;
        }
        for part in parts().skip(shared) {
            let inner = way.last().map_or(&root, |(_, dir)| dir).make(part)?;
            way.push((part, inner));
        }
        let dir = way.last().map_or(&root, |(_, dir)| dir);
        let written = dir.write_new(own, bytes, file.executable && keeps_modes)?;
        if sync_each {
            written.sync_all()?;
        }
    }
    way.iter().rev().try_for_each(|(_, dir)| leave(dir))?;
    leave(&root)
}

/// The state of a name in a folder; none when it is free. What this user may not read is not what was installed, and may
/// be replaced only on request.
pub(crate) fn state_of(dir: &Folder, name: &str) -> io::Result<Option<State>> {
    match known_state_of(dir, name) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Ok(dir.kind(name)?.map(|_| State::Other))
        }
        state => state,
    }
}

/// The state of a name in a folder, all of which could be read. Anything that cannot be read may contain anything, so it
/// is an error: it must be taken neither for an edit nor for what was installed.
pub(super) fn known_state_of(dir: &Folder, name: &str) -> io::Result<Option<State>> {
    Ok(match dir.kind(name)? {
        None => None,
        Some(Kind::Link) => Some(State::Link(dir.link_target(name)?.to_string_lossy().into_owned())),
        // What is mounted was not installed, whatever is in it.
        Some(Kind::Folder) if dir.is_mount_point(name)? => Some(State::Other),
        Some(Kind::Folder) => Some(match manifest_of(&dir.readable(name)) {
            Ok(files) => match files.left_out.iter().find(|left| left.unreadable) {
                Some(left) => return Err(unread(left)),
                None if files.left_out.is_empty() => {
                    digests::of_tree(&files).map_or(State::Other, State::Tree)
                }
                None => State::Other,
            },
            Err(SourceError { kind: SourceErrorKind::Io(error), .. }) => return Err(error),
            Err(_) => State::Other,
        }),
        Some(_) => Some(State::Other),
    })
}

/// The error for a part of a skill that could not be read. A disk that fails says nothing about what is there, so it must
/// not count as something that this user may not read.
fn unread(LeftOut { path, reason, .. }: &LeftOut) -> io::Error {
    let denied = reason == listing::DENIED;
    let kind = if denied { io::ErrorKind::PermissionDenied } else { io::ErrorKind::Other };
    io::Error::new(kind, format!("{path}: {reason}"))
}

/// The files in an installed skill's folder, each with the digest of its current bytes. Files that no digest covers are
/// reported as left out.
pub(crate) fn manifest_of(path: &Path) -> Result<Manifest, SourceError> {
    let folder = SkillFolder::first_seen(path)?;
    let listing = listing::list_installed(&folder)?;
    let no_part: Vec<LeftOut> = listing
        .no_part
        .iter()
        .map(|path| LeftOut::new(path.to_string_lossy(), "it is no part of a skill"))
        .collect();
    let mut manifest = listing.complete(path)?;
    manifest.left_out.extend(no_part);
    let limits = DigestLimits::approving();
    let mut allowed = limits.admit(&manifest, &location_of(&path.join("SKILL.md")))?;
    for entry in &mut manifest.files {
        let mut file = open(&folder, path, entry)?;
        let (digest, size) = digests::of_file(&path.join(entry.path.as_str()), &mut file, &mut allowed)?;
        entry.measure(size, digest);
    }
    Ok(manifest)
}

/// Everything in a folder, by its names, so that also what cannot be compared is named. Only files with the size of one
/// in `before` get a digest. What is no file is left out. So is a folder that cannot be listed, and a `.git`, each with a
/// `/` behind its path.
pub(crate) fn names_in(path: &Path, before: &Manifest) -> Manifest {
    let (mut files, mut left_out, mut entries) = (Vec::new(), Vec::new(), 0_usize);
    let mut folders = vec![String::new()];
    while let Some(prefix) = folders.pop() {
        let listed = fs::read_dir(path.join(&prefix)).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let listed = listed.ok().filter(|listed| entries + listed.len() <= MAX_ENTRIES);
        let Some(listed) = listed else {
            let folder = if prefix.is_empty() { "./" } else { &prefix };
            left_out.push(LeftOut::new(folder, "it cannot be listed").with_unreadable(true));
            continue;
        };
        entries += listed.len();
        for entry in listed {
            let below = format!("{prefix}{}", entry.file_name().to_string_lossy());
            let metadata = entry.metadata().ok();
            match (&metadata, RelPath::parse(&below)) {
                (Some(there), _) if there.is_dir() && entry.file_name() == ".git" => {
                    left_out.push(LeftOut::new(below + "/", "a repository"));
                }
                (Some(there), _) if there.is_dir() => folders.push(below + "/"),
                (Some(there), Ok(path)) if there.is_file() => {
                    let mut file = FileEntry::new(path, there.len());
                    file.executable = listing::executable(there);
                    files.push(file);
                }
                _ => left_out.push(LeftOut::new(below, "it cannot be compared")),
            }
        }
    }
    measure(path, &mut files, before);
    Manifest::new(files).with_left_out(left_out)
}

/// Computes the digests of files that may be the same as before, where they can be read.
fn measure(path: &Path, files: &mut [FileEntry], before: &Manifest) {
    let sizes: BTreeMap<&str, u64> =
        before.files.iter().map(|file| (file.path.as_str(), file.size)).collect();
    let may_be_same = |file: &FileEntry| sizes.get(file.path.as_str()) == Some(&file.size);
    let same = Manifest::new(files.iter().filter(|file| may_be_same(file)).cloned().collect());
    let limits = DigestLimits::approving();
    let Ok(mut allowed) = limits.admit(&same, &location_of(&path.join("SKILL.md"))) else { return };
    let Ok(folder) = SkillFolder::first_seen(path) else { return };
    for entry in files.iter_mut().filter(|file| may_be_same(file)) {
        let digest = open(&folder, path, entry)
            .and_then(|mut file| digests::of_file(&path.join(entry.path.as_str()), &mut file, &mut allowed));
        if let Ok((digest, size)) = digest {
            entry.measure(size, digest);
        }
    }
}

/// What differs after anything at a path has changed: the digest of a skill; else a digest over the names, sizes and
/// times of everything below it.
pub(crate) fn mark_of(path: &Path, there: &State) -> Digest {
    match there {
        State::Tree(digest) => return *digest,
        State::Link(to) => return digests::of_bytes(format!("link {to}").as_bytes()),
        State::Other => {}
    }
    let (mut lines, mut left) = (String::new(), vec![path.to_owned()]);
    for _ in 0..MAX_ENTRIES {
        let Some(path) = left.pop() else { break };
        let _ = write!(lines, "{}\0", path.to_string_lossy());
        if let Ok(metadata) = path.symlink_metadata() {
            let changed = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
            let _ = writeln!(lines, "{} {:?}", metadata.len(), changed);
            if metadata.is_dir() {
                let below = fs::read_dir(&path).into_iter().flatten().flatten();
                let mut below: Vec<PathBuf> = below.map(|entry| entry.path()).collect();
                below.sort();
                left.extend(below);
            }
        }
    }
    digests::of_bytes(lines.as_bytes())
}

/// Opens a file of an installed skill. A link that has replaced it, or a folder above it, is not followed.
fn open(folder: &SkillFolder<'_>, path: &Path, entry: &FileEntry) -> Result<File, SourceError> {
    let at = path.join(entry.path.as_str());
    let failed = |error| SourceError::io(&at, error);
    let file = folder.root().without_links(Path::new(entry.path.as_str()), Want::Bytes).map_err(failed)?;
    read::regular(&at, &file.metadata().map_err(failed)?)?;
    Ok(file)
}

/// The files of an installed skill with their bytes.
pub(crate) fn read_tree(path: &Path) -> Result<SkillTree, SourceError> {
    tree_of(path, &manifest_of(path)?)
}

/// These files of an installed skill with their bytes.
pub(crate) fn tree_of(path: &Path, files: &Manifest) -> Result<SkillTree, SourceError> {
    let folder = SkillFolder::first_seen(path)?;
    let files = files.files.iter().map(|entry| {
        let at = path.join(entry.path.as_str());
        let bytes = read::read_whole(open(&folder, path, entry)?, &at, MAX_FILE_BYTES)?;
        Ok(TreeFile { path: entry.path.clone(), executable: entry.executable, bytes: bytes.into() })
    });
    let files = files.collect::<Result<Vec<TreeFile>, SourceError>>()?;
    SkillTree::new(files, &InstallLimits::NONE)
        .map_err(|error| SourceErrorKind::Damaged { reason: error.full_message() }.at(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_cannot_be_read_because_the_disk_fails_is_not_taken_for_the_users_own() {
        let kind = |reason: &str| unread(&LeftOut::new("scripts", reason)).kind();
        assert_eq!(kind(listing::DENIED), io::ErrorKind::PermissionDenied);
        assert_eq!(kind("Input/output error (os error 5)"), io::ErrorKind::Other);
    }
}
