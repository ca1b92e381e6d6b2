//! [`ArchiveSource`]: skills in an archive (`.skill`, `.zip` or `.tar.gz`), read without unpacking it to disk.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use prowess_core::{FileEntry, Location, Manifest, RelPath, Scope, SourceSkill, parse, parse_prefix};

use super::file::{SkillsFile, file_source};
use super::{Chunk, Listing, Slice, Source, SourceTraits, check_still, found};
use crate::archive::{ArchiveLimits, Files, PackedFile, unpack};
use crate::error::{SourceError, SourceErrorKind};
use crate::fs::dir::stamp_of;
use crate::fs::location::location_of;
use crate::fs::stamp::FileStamp;
use crate::fs::walk::FILE_NAMES;
use crate::internal::locked;
use crate::source::budget::{self, Cost, ProjectBudget};

/// The files of an archive, and which of its folders are skills.
#[derive(Debug, Default)]
pub(crate) struct Packed {
    files: Files,
    /// The paths of the SKILL.md files, one for each skill, sorted.
    skills: Vec<RelPath>,
}

impl Packed {
    pub(crate) fn new(files: Files) -> Self {
        let found = files.keys().filter(|path| FILE_NAMES.contains(&path.file_name()));
        let mut skills: Vec<RelPath> = found.cloned().collect();
        let rank = |path: &RelPath| FILE_NAMES.iter().position(|name| *name == path.file_name());
        // One for each folder, also inside another skill.
        skills.sort_by_key(|path| (path.parent(), rank(path)));
        skills.dedup_by_key(|path| path.parent());
        skills.sort();
        Self { files, skills }
    }

    pub(crate) fn skills(&self) -> &[RelPath] {
        &self.skills
    }

    pub(crate) fn get(&self, path: &RelPath) -> Option<&PackedFile> {
        self.files.get(path)
    }

    /// The files of the skill with this SKILL.md, each with the path it has in the skill.
    pub(crate) fn files_of<'p>(
        &'p self,
        skill: &'p RelPath,
    ) -> impl Iterator<Item = (RelPath, &'p PackedFile)> {
        let folder = skill.parent();
        self.files.iter().filter_map(move |(path, file)| match &folder {
            Some(folder) => Some((path.strip_prefix(folder)?, file)),
            None => Some((path.clone(), file)),
        })
    }

    pub(crate) fn manifest_of(&self, skill: &RelPath) -> Manifest {
        let entries = self.files_of(skill).map(|(path, file)| {
            let mut entry = FileEntry::new(path, file.bytes.len() as u64);
            entry.executable = file.executable;
            entry
        });
        Manifest::new(entries.collect())
    }

    /// The bytes of a file of a skill. `SKILL.md` is that skill's own file, whatever it is called.
    pub(crate) fn read(&self, skill: &RelPath, path: &RelPath) -> Option<&[u8]> {
        if path.as_str() == "SKILL.md" {
            return self.get(skill).map(|file| file.bytes.as_slice());
        }
        let whole = match skill.parent() {
            Some(folder) => folder.join(path.as_str()).ok()?,
            None => path.clone(),
        };
        self.get(&whole).map(|file| file.bytes.as_slice())
    }
}

/// The skills in an archive.
#[derive(Debug)]
pub struct ArchiveSource {
    file: SkillsFile,
    limits: ArchiveLimits,
    /// The last unpacked contents, and the state of the file at that time.
    unpacked: Mutex<Option<(FileStamp, Arc<Packed>)>>,
}

file_source!(ArchiveSource, ArchiveLimits, "Unpacks no more than this.");

impl ArchiveSource {
    /// The skills in an archive. A relative path is relative to the current folder as it is now, and a leading `~` is the
    /// user's folder.
    pub fn new(file: impl Into<PathBuf>) -> Self {
        let file = SkillsFile::new(file.into());
        Self { file, limits: ArchiveLimits::default(), unpacked: Mutex::default() }
    }

    /// The contents of the archive, if the budget allows it. An archive that cannot be unpacked costs what was read.
    fn packed_within_budget(&self) -> Result<Arc<Packed>, SourceError> {
        let Some(budget) = &self.file.budget else { return self.packed() };
        budget.spend(Cost::Read(0), || location_of(&self.file.path))?;
        let packed = self.packed();
        let bytes = match &packed {
            Ok(packed) => packed.files.values().map(|file| file.bytes.len() as u64).sum(),
            Err(SourceError { kind: SourceErrorKind::Archive(_), .. }) => {
                let packed = std::fs::metadata(&self.file.path).map_or(0, |metadata| metadata.len());
                self.limits.most_unpacked(packed)
            }
            Err(_) => 0,
        };
        budget.spend(Cost::Read(bytes), || location_of(&self.file.path)).inspect_err(|_| {
            *locked(&self.unpacked) = None;
        })?;
        packed
    }

    fn packed(&self) -> Result<Arc<Packed>, SourceError> {
        let failed = |error| SourceError::io(&self.file.path, error);
        let file = self.file.open()?;
        let stamp = stamp_of(&file.metadata().map_err(failed)?);
        let mut unpacked = locked(&self.unpacked);
        if let Some((_, packed)) = unpacked.as_ref().filter(|(known, _)| *known == stamp) {
            return Ok(Arc::clone(packed));
        }
        if stamp.size > self.limits.packed_bytes {
            let (size, limit) = (stamp.size, self.limits.packed_bytes);
            return Err(SourceErrorKind::TooLarge { size, limit }.at(&self.file.path));
        }
        let mut bytes = Vec::new();
        file.take(self.limits.packed_bytes).read_to_end(&mut bytes).map_err(failed)?;
        let files = unpack(&bytes, &self.limits)
            .map_err(|error| SourceErrorKind::Archive(error).at(&self.file.path))?;
        let packed = Arc::new(Packed::new(files));
        *unpacked = Some((stamp, Arc::clone(&packed)));
        Ok(packed)
    }

    fn location(&self, skill: &RelPath) -> Location {
        Location::Packed { archive: self.file.id.clone(), path: skill.as_str().into() }
    }

    /// The path in the archive of the SKILL.md of a skill.
    fn skill(&self, packed: &Packed, skill: SourceSkill<'_>) -> Result<RelPath, SourceError> {
        let location = skill.location();
        let found = packed.skills().iter().find(|path| self.location(path) == *location);
        let found = found.ok_or_else(|| SourceErrorKind::NotListed.at_location(location.clone()))?;
        // The archive may have been replaced.
        let document = packed.get(found).and_then(|file| parse_prefix(&file.bytes, true));
        if let Some(document) = document.filter(|_| !skill.broken) {
            check_still(&document, skill, || location.clone())?;
        }
        Ok(found.clone())
    }
}

impl Source for ArchiveSource {
    fn id(&self) -> &str {
        &self.file.id
    }

    fn traits(&self) -> SourceTraits {
        self.file.traits()
    }

    fn list(&self) -> Result<Listing, SourceError> {
        let packed = match self.packed_within_budget() {
            Err(SourceError { kind: SourceErrorKind::ProjectTooLarge { .. }, .. }) => {
                return Ok(Listing::default());
            }
            packed => packed?,
        };
        if packed.skills().is_empty() {
            return Err(SourceErrorKind::NoSkill.at(&self.file.path));
        }
        let mut listing = Listing::default();
        for path in packed.skills() {
            let Some(file) = packed.get(path) else { continue };
            let at = self.file.origin(self.location(path));
            let document = parse(&file.bytes);
            let head = document.fences().map_or(0, |fences| fences.body);
            let place = || location_of(&self.file.path);
            if budget::spend(self.file.budget.as_deref(), Cost::Skill(head), place).is_err() {
                break;
            }
            let mut listed = found(&document, &at);
            listed.virtual_path = match path.parent() {
                Some(folder) => folder.as_str().to_owned(),
                None => stem(&self.file.path),
            };
            listing.push(listed);
        }
        Ok(listing)
    }

    fn files(&self, skill: SourceSkill<'_>) -> Result<Manifest, SourceError> {
        let packed = self.packed()?;
        Ok(packed.manifest_of(&self.skill(&packed, skill)?))
    }

    fn read(&self, skill: SourceSkill<'_>, path: &RelPath, slice: Slice) -> Result<Chunk, SourceError> {
        let packed = self.packed()?;
        let own = self.skill(&packed, skill)?;
        let bytes = packed.read(&own, path);
        let missing = || SourceErrorKind::Missing.at_file(skill.location(), path.as_str());
        bytes.map(|bytes| slice.of(bytes)).ok_or_else(missing)
    }
}

/// The name of an archive without its extensions.
fn stem(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let lower = name.to_ascii_lowercase();
    let ending = [".tar.gz", ".tgz", ".zip", ".skill"].iter().find(|ending| lower.ends_with(**ending));
    let length = name.len() - ending.map_or(0, |ending| ending.len());
    name.get(..length).unwrap_or(&name).to_owned()
}
