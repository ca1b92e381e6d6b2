//! [`MemorySource`]: skills in memory, written by the host or made from data.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, RwLock};

use prowess_core::{
    Candidate, FileEntry, Location, Manifest, Origin, RelPath, Scope, SkillData, SourceSkill, Stamp, parse,
};

use super::{Chunk, Listing, Slice, Source, found};
use crate::error::{SourceError, SourceErrorKind};
use crate::fs::codec::checksum;
use crate::internal::{read_locked, write_locked};

/// The skills in memory, by key.
#[derive(Debug)]
pub struct MemorySource {
    id: Arc<str>,
    /// Whether keys are the keys of the skills, whatever their names are, and shadow all others.
    registered: bool,
    skills: RwLock<BTreeMap<String, Held>>,
}

/// One skill: its text and its other files.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    text: String,
    scope: Scope,
    files: BTreeMap<RelPath, Vec<u8>>,
    /// The skill whose files it has, beside its own text.
    pub(crate) beside: Option<Beside>,
}

/// A skill of another source whose files a text in memory uses.
#[derive(Clone)]
pub(crate) struct Beside {
    pub(crate) source: Arc<dyn Source>,
    pub(crate) skill: Arc<Candidate>,
}

impl Beside {
    fn is_at(&self, location: &Location) -> bool {
        self.skill.entry.origin.location == *location
    }
}

impl fmt::Debug for Beside {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Beside").field(&self.skill.entry.origin.location).finish()
    }
}

impl MemorySource {
    /// An empty source.
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Self { id: id.into(), registered: false, skills: RwLock::default() }
    }

    /// The source of the skills that a host registers.
    pub(crate) fn registered() -> Self {
        Self { registered: true, ..Self::new("registered") }
    }

    /// Inserts a skill under its key, with the files of another.
    pub(crate) fn register(&self, key: &str, text: String, beside: Option<Beside>) {
        let held = Held { text, scope: Scope::Explicit, files: BTreeMap::new(), beside };
        write_locked(&self.skills).insert(key.to_owned(), held);
    }

    /// Inserts a SKILL.md under a key, and replaces the one that was there.
    pub fn insert(&self, key: impl Into<String>, skill_md: impl Into<String>, scope: Scope) {
        let held = Held { text: skill_md.into(), scope, files: BTreeMap::new(), beside: None };
        write_locked(&self.skills).insert(key.into(), held);
    }

    /// Inserts a skill made from data under its own key.
    pub fn insert_skill(&self, skill: &SkillData, scope: Scope) {
        self.insert(skill.entry.key.clone(), skill.to_markdown(), scope);
    }

    /// Whether it has no skills.
    pub(crate) fn is_empty(&self) -> bool {
        read_locked(&self.skills).is_empty()
    }

    /// The skill under a key, to be restored later.
    pub(crate) fn kept(&self, key: &str) -> Option<Held> {
        read_locked(&self.skills).get(key).cloned()
    }

    /// Restores the skill under a key.
    pub(crate) fn put_back(&self, key: &str, before: Option<Held>) {
        let mut skills = write_locked(&self.skills);
        match before {
            Some(held) => skills.insert(key.to_owned(), held),
            None => skills.remove(key),
        };
    }

    /// A source with one skill that is written in a configuration or a command. Its name is its virtual path, and `at`
    /// says where it is written.
    pub fn inline(
        at: &str,
        name: &str,
        description: &str,
        instructions: &str,
        scope: Scope,
    ) -> Result<Self, prowess_core::JsonError> {
        let mut dict = serde_json::Map::new();
        for (key, text) in [("name", name), ("description", description), ("instructions", instructions)] {
            dict.insert(key.to_owned(), text.into());
        }
        let source = Self::new(at);
        source.insert_skill(&SkillData::from_dict(&dict)?, scope);
        Ok(source)
    }

    /// Adds a file to a skill; false when there is no such skill.
    pub fn insert_file(&self, key: &str, path: RelPath, bytes: impl Into<Vec<u8>>) -> bool {
        let mut skills = write_locked(&self.skills);
        skills.get_mut(key).is_some_and(|held| {
            held.files.insert(path, bytes.into());
            true
        })
    }

    /// Removes a skill; false when there is none.
    pub fn remove(&self, key: &str) -> bool {
        write_locked(&self.skills).remove(key).is_some()
    }

    fn held(&self, skill: SourceSkill<'_>) -> Result<Held, SourceError> {
        let skills = read_locked(&self.skills);
        let location = skill.location();
        let held = match location {
            Location::Memory { key, .. } => skills.get(&**key),
            _ => skills.values().find(|held| held.beside.as_ref().is_some_and(|it| it.is_at(location))),
        };
        held.cloned().ok_or_else(|| SourceErrorKind::NotListed.at_location(location.clone()))
    }
}

impl Source for MemorySource {
    fn id(&self) -> &str {
        &self.id
    }

    fn list(&self) -> Result<Listing, SourceError> {
        let skills = read_locked(&self.skills);
        let mut listing = Listing::default();
        for (key, held) in skills.iter() {
            let location = || Location::Memory { source: self.id.clone(), key: key.as_str().into() };
            let at = held.beside.as_ref().map(|beside| beside.skill.entry.origin.clone());
            let at = at.unwrap_or_else(|| Origin::at(location())).with_scope(held.scope);
            let mut listed = found(&parse(held.text.as_bytes()), &at);
            listed.virtual_path.clone_from(held.beside.as_ref().map_or(key, |it| &it.skill.virtual_path));
            if self.registered {
                listed.entry.key.clone_from(key);
                listed.overrides = true;
            }
            // The text itself distinguishes two states.
            let sum = checksum(held.text.as_bytes());
            listed.stamp = Stamp::new(0, [held.text.len() as u64, sum, 0, 0]);
            listing.push(listed);
        }
        Ok(listing)
    }

    fn files(&self, skill: SourceSkill<'_>) -> Result<Manifest, SourceError> {
        let held = self.held(skill)?;
        if let Some(Beside { source, skill }) = &held.beside {
            let skill = skill.source_skill();
            let mut files = source.files(skill)?;
            for own in files.files.iter_mut().filter(|file| skill.is_own(&file.path)) {
                own.size = held.text.len() as u64;
            }
            return Ok(files);
        }
        let mut files: Vec<FileEntry> =
            held.files.iter().map(|(path, bytes)| FileEntry::new(path.clone(), bytes.len() as u64)).collect();
        if let Ok(path) = RelPath::parse("SKILL.md") {
            files.push(FileEntry::new(path, held.text.len() as u64));
        }
        Ok(Manifest::new(files))
    }

    fn read(&self, skill: SourceSkill<'_>, path: &RelPath, slice: Slice) -> Result<Chunk, SourceError> {
        let held = self.held(skill)?;
        if let Some(beside) = held.beside.as_ref().filter(|_| !skill.is_own(path)) {
            return beside.source.read(beside.skill.source_skill(), path, slice);
        }
        let bytes = match held.files.get(path) {
            Some(bytes) => bytes.as_slice(),
            None if skill.is_own(path) => held.text.as_bytes(),
            None => return Err(SourceErrorKind::Missing.at_file(skill.location(), path.as_str())),
        };
        Ok(slice.of(bytes))
    }
}
