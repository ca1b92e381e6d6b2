//! Reading a skill that was found: its text, its files and their digests, always through the candidate that was checked.
//!
//! After a refresh, a key may refer to another skill. A method that takes a [`Candidate`] reads that skill or fails;
//! one that takes a key looks the candidate up once. Of a skill that was approved by its digest, only bytes that the
//! digest covers are returned.

use std::path::PathBuf;
use std::sync::Arc;

use prowess_core::catalog::Approved;
use prowess_core::internal::MARGIN;
use prowess_core::{Candidate, Digest, Document, FileEntry, Found, Manifest, RelPath, Scope, SourceSkill};

use super::Registry;
use crate::error::{SourceError, SourceErrorKind};
use crate::fs::read::Head;
use crate::registry::digests::{self, DigestLimits};
use crate::source::{self, Chunk, Layer, Slice};
use prowess_core::files::{Resource, TooLarge};

impl Registry {
    /// The SKILL.md of a skill, read now.
    pub fn document(&self, key: &str) -> Result<Document, SourceError> {
        self.document_of(&*self.get(key)?)
    }

    /// The SKILL.md of a skill that was found, offered or not, read now.
    pub fn document_of(&self, candidate: &Candidate) -> Result<Document, SourceError> {
        Ok(self.head_of(candidate)?.document())
    }

    /// The bytes of the SKILL.md of a skill that was found, offered or not, read now.
    pub fn head_of(&self, candidate: &Candidate) -> Result<Head, SourceError> {
        let slice = Slice::first(prowess_core::limits::MAX_FILE_BYTES + 1);
        let Chunk { bytes, size } = self.read(candidate, &source::skill_md()?, slice)?;
        Ok(Head { bytes, size })
    }

    /// The SKILL.md of a skill, if it is a file on this machine.
    pub fn file_of(&self, candidate: &Candidate) -> Option<PathBuf> {
        self.layer(candidate).ok()?.source().file(candidate.source_skill())
    }

    /// The files of a skill, listed now.
    pub fn files(&self, key: &str) -> Result<Manifest, SourceError> {
        self.files_of(&*self.get(key)?)
    }

    /// The files of a skill that was found, offered or not, listed now.
    pub fn files_of(&self, candidate: &Candidate) -> Result<Manifest, SourceError> {
        self.layer(candidate)?.files(candidate.source_skill())
    }

    /// The files of a skill that was found, offered or not: all of them or an error, each with the digest of its
    /// current bytes. The limits are those for approvals.
    pub fn manifest_of(&self, candidate: &Candidate) -> Result<Manifest, SourceError> {
        self.manifest_within(candidate, &self.limits)
    }

    /// The files of a skill that was found, each with its digest, within other limits, such as a size or a time.
    pub fn manifest_within(
        &self,
        candidate: &Candidate,
        limits: &DigestLimits,
    ) -> Result<Manifest, SourceError> {
        // Trust is decided by the current bytes.
        let remembered = limits.remembered && candidate.approved.is_none();
        let limits = DigestLimits { remembered, ..limits.clone() };
        self.layer(candidate)?.source().manifest(candidate.source_skill(), &limits)
    }

    /// The digest that an approval of a skill is bound to, or why there is none. It covers all its files, and its
    /// frontmatter if that is announced.
    pub fn approvable(&self, candidate: &Candidate) -> Result<Digest, SourceError> {
        let skill = candidate.source_skill();
        digests::of_skill(skill, &self.layer(candidate)?.source().manifest(skill, &self.limits.binding())?)
    }

    /// Bytes of a file of a skill that was found, offered or not.
    pub fn read(&self, candidate: &Candidate, path: &RelPath, slice: Slice) -> Result<Chunk, SourceError> {
        let (layer, skill) = (self.layer(candidate)?, candidate.source_skill());
        let Some(files) = &candidate.approved_files else { return layer.source().read(skill, path, slice) };
        let counted = counted(files, skill, path)?;
        let whole = whole(layer, skill, path, counted)?;
        if counted.digest != Some(digests::of_bytes(&whole)) {
            return Err(changed(skill));
        }
        Ok(slice.of(&whole))
    }

    /// Bytes of a file of a skill. `path` is as a model or a user wrote it.
    pub fn read_bytes(&self, key: &str, path: &str, slice: Slice) -> Result<Chunk, SourceError> {
        self.read(&*self.get(key)?, &requested(path)?, slice)
    }

    /// The digest over all files of a skill, which an approval is bound to.
    pub fn digest(&self, key: &str) -> Result<Digest, SourceError> {
        self.digest_of(&*self.get(key)?)
    }

    /// The digest over all current files of a skill that was found.
    pub fn digest_of(&self, candidate: &Candidate) -> Result<Digest, SourceError> {
        digests::of_skill(candidate.source_skill(), &self.manifest_of(candidate)?)
    }

    /// Bytes of a file, and the digest over all files of its skill, computed from the same bytes.
    pub fn read_with_digest(
        &self,
        key: &str,
        path: &RelPath,
        slice: Slice,
    ) -> Result<(Chunk, Digest), SourceError> {
        self.read_with_digest_of(&*self.get(key)?, path, slice)
    }

    /// Bytes of a file of a skill that was found, and the digest over all its files, computed from the same bytes.
    pub fn read_with_digest_of(
        &self,
        candidate: &Candidate,
        path: &RelPath,
        slice: Slice,
    ) -> Result<(Chunk, Digest), SourceError> {
        let skill = candidate.source_skill();
        let mut files = self.manifest_of(candidate)?;
        let file = counted(&files, skill, path)?.clone();
        let whole = whole(self.layer(candidate)?, skill, path, &file)?;
        for counted in files.files.iter_mut().filter(|counted| counted.path == file.path) {
            (counted.digest, counted.size) = (Some(digests::of_bytes(&whole)), whole.len() as u64);
        }
        Ok((slice.of(&whole), digests::of_skill(skill, &files)?))
    }

    /// A file of a skill. `path` is as a model or a user wrote it.
    pub fn read_resource(
        &self,
        key: &str,
        path: &str,
        slice: Slice,
        too_large: TooLarge,
    ) -> Result<Resource, SourceError> {
        self.read_resource_of(&*self.get(key)?, path, slice, too_large)
    }

    /// A file of a skill that was found. `path` is as a model or a user wrote it.
    pub fn read_resource_of(
        &self,
        candidate: &Candidate,
        path: &str,
        slice: Slice,
        too_large: TooLarge,
    ) -> Result<Resource, SourceError> {
        let path = requested(path)?;
        // The size comes with the bytes, so a file that is too large is not read to its end.
        let margin = Slice { offset: slice.offset, limit: slice.limit.saturating_add(MARGIN) };
        let chunk = self.read(candidate, &path, margin)?;
        Resource::of(&path, chunk.bytes, chunk.size, slice.offset, slice.limit, too_large).map_err(|over| {
            let kind = SourceErrorKind::TooLarge { size: over.size, limit: over.limit };
            kind.at_file(&candidate.entry.origin.location, path.as_str())
        })
    }
}

/// Makes the entry of a skill that is approved by its digest from the bytes that were digested, so that its name and
/// description are approved too. The list read the file at another time, or not at all. None when they changed.
pub(super) fn read_approved(
    found: &mut Found,
    layer: &Layer,
    files: Manifest,
    digest: Digest,
) -> Option<Approved> {
    // Nothing of an announced skill is read yet; the digest covers what was announced.
    if found.announced.is_some() {
        return Some(Approved { digest, files: None });
    }
    let read = read_counted(found.source_skill(), layer, &files).ok()?;
    found.read_again(read);
    Some(Approved { digest, files: Some(Arc::new(files)) })
}

fn read_counted(skill: SourceSkill<'_>, layer: &Layer, files: &Manifest) -> Result<Found, SourceError> {
    let own = source::skill_md()?;
    let counted = counted(files, skill, &own)?;
    let bytes = whole(layer, skill, &own, counted)?;
    let read = source::found(&Head::whole(bytes.clone()).document(), &skill.entry.origin);
    // The index of a site may give a skill another name than its SKILL.md does.
    let same = read.entry.name == skill.entry.name || skill.entry.origin.scope == Scope::Remote;
    if !same || counted.digest != Some(digests::of_bytes(&bytes)) {
        return Err(changed(skill));
    }
    Ok(read)
}

/// The file at a path among the digested ones. A skill's own file is requested by one name, whatever it is called.
fn counted<'f>(
    files: &'f Manifest,
    skill: SourceSkill<'_>,
    path: &RelPath,
) -> Result<&'f FileEntry, SourceError> {
    let own = skill.entry.origin.file.as_deref().filter(|_| path.as_str() == "SKILL.md");
    let own = own.and_then(|own| files.files.iter().find(|file| file.path.as_str() == own));
    own.or_else(|| files.get(path))
        .ok_or_else(|| SourceErrorKind::Missing.at_file(skill.location(), path.as_str()))
}

/// All bytes of a digested file; an error when it has grown since.
fn whole(
    layer: &Layer,
    skill: SourceSkill<'_>,
    path: &RelPath,
    counted: &FileEntry,
) -> Result<Vec<u8>, SourceError> {
    let limit = usize::try_from(counted.size).unwrap_or(usize::MAX).saturating_add(1);
    let chunk = layer.source().read(skill, path, Slice::first(limit))?;
    if chunk.size > chunk.bytes.len() as u64 { Err(changed(skill)) } else { Ok(chunk.bytes) }
}

fn changed(skill: SourceSkill<'_>) -> SourceError {
    SourceErrorKind::Changed.at_location(skill.location().clone())
}

/// The path of a file as a model or a user wrote it.
fn requested(path: &str) -> Result<RelPath, SourceError> {
    RelPath::from_request(path).map_err(SourceError::from)
}
