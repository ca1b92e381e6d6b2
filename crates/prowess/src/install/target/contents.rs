//! What is in the folder of a skill: written from a tree, read back as a digest.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use prowess_core::{LeftOut, Manifest};

use super::dir::Dir;
use super::journal::State;
use crate::error::{SourceError, SourceErrorKind};
use crate::fs::dir::Kind;
use crate::fs::sandbox::SkillFolder;
use crate::fs::{listing, read};
use crate::install::tree::{InstallLimits, SkillTree, TreeFile};
use crate::registry::digests::{self, DigestLimits};

/// The largest file of an installed skill that is copied for a client: as large as an approval allows.
const MAX_FILE_BYTES: usize = 64 << 20;

/// Writes the files of a skill below a new folder.
pub(super) fn write_tree(stage: &Dir, name: &str, tree: &SkillTree, sync_each: bool) -> io::Result<()> {
    let mut folders: BTreeMap<String, Dir> = BTreeMap::new();
    folders.insert(String::new(), stage.make(name)?);
    for (file, bytes) in tree.files() {
        let (parent, own) = file.path.as_str().rsplit_once('/').unwrap_or(("", file.path.as_str()));
        if !folders.contains_key(parent) {
            let mut at = String::new();
            for part in parent.split('/') {
                let above = at.clone();
                at = if at.is_empty() { part.to_owned() } else { format!("{at}/{part}") };
                if !folders.contains_key(&at)
                    && let Some(dir) = folders.get(&above)
                {
                    let inner = dir.make(part)?;
                    folders.insert(at.clone(), inner);
                }
            }
        }
        let dir = folders.get(parent).ok_or(io::ErrorKind::NotFound)?;
        let written = dir.write_new(own, bytes, file.executable)?;
        if sync_each {
            written.sync_all()?;
        }
    }
    if sync_each {
        folders.values().try_for_each(Dir::sync)?;
    }
    Ok(())
}

/// What has a name in a folder; nothing when it is free.
pub(crate) fn state_of(dir: &Dir, name: &str) -> io::Result<Option<State>> {
    Ok(match dir.kind(name)? {
        None => None,
        Some(Kind::Link) => Some(State::Link(dir.link_target(name)?.to_string_lossy().into_owned())),
        Some(Kind::Folder) => Some(match manifest_of(&dir.readable(name)) {
            Ok(files) if files.left_out.is_empty() => {
                digests::of_tree(&files).map_or(State::Other, State::Tree)
            }
            // What cannot be read now may be anything: nothing is decided by it.
            Err(SourceError { kind: SourceErrorKind::Io(error), .. }) => return Err(error),
            Ok(_) | Err(_) => State::Other,
        }),
        Some(_) => Some(State::Other),
    })
}

/// The files in an installed skill's folder, each with the digest of the bytes that are there now. What no digest covers
/// is left out of it, and said to be.
pub(crate) fn manifest_of(path: &Path) -> Result<Manifest, SourceError> {
    let folder = SkillFolder::first_seen(path)?;
    let listing = listing::list_in(&folder)?;
    let apart: Vec<LeftOut> = listing
        .apart
        .iter()
        .map(|path| LeftOut::new(path.to_string_lossy(), "it is no part of a skill"))
        .collect();
    let mut manifest = listing.complete(path)?;
    manifest.left_out.extend(apart);
    let limits = DigestLimits::approving();
    let mut allowed = limits.admit(&manifest, path)?;
    for entry in &mut manifest.files {
        let mut file = folder.file(&entry.path)?;
        let (digest, size) = digests::of_file(&path.join(entry.path.as_str()), &mut file, &mut allowed)?;
        entry.measure(size, digest);
    }
    Ok(manifest)
}

/// The files of an installed skill with their bytes.
pub(crate) fn read_tree(path: &Path) -> Result<SkillTree, SourceError> {
    let manifest = manifest_of(path)?;
    let folder = SkillFolder::first_seen(path)?;
    let files = manifest.files.iter().map(|entry| {
        let at = path.join(entry.path.as_str());
        let bytes = read::read_whole(folder.file(&entry.path)?, &at, MAX_FILE_BYTES)?;
        Ok(TreeFile { path: entry.path.clone(), executable: entry.executable, bytes: bytes.into() })
    });
    let files = files.collect::<Result<Vec<TreeFile>, SourceError>>()?;
    SkillTree::new(files, &InstallLimits::NONE)
        .map_err(|error| SourceErrorKind::Damaged { reason: error.with_cause() }.at(path))
}
