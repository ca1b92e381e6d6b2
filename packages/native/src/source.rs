//! A source of the host as a source of the library.

use std::collections::BTreeMap;
use std::sync::{Arc, RwLock};

use prowess::source::{Chunk, Listing, Slice, Source, SourceTraits, found};
use prowess::{
    FileEntry, Location, Manifest, Obstacle, Origin, RelPath, Scope, SourceError, SourceErrorKind,
    SourceSkill, Stamp, parse,
};
use prowess_engine::input::{GivenFile, manifest};

use crate::asked::Rules;
use crate::errors::source_error;
use crate::foreign::{ForeignError, ForeignSource, Listed};
use crate::selector::locked;

/// A source of the host, and how its skills appear.
pub(crate) struct HostSource {
    pub(crate) source: Arc<dyn ForeignSource>,
    pub(crate) label: Arc<str>,
    pub(crate) scope: Scope,
    pub(crate) untrusted: bool,
    pub(crate) rules: Rules,
    /// What it listed last, by location.
    pub(crate) listed: RwLock<BTreeMap<Location, Kept>>,
}

/// A skill that was listed: its id, and its text if the list had it.
#[derive(Clone)]
pub(crate) struct Kept {
    id: Arc<str>,
    text: Option<Arc<[u8]>>,
}

impl HostSource {
    fn location(&self, skill: &Listed) -> Location {
        match &skill.location {
            Some(location) => Location::parse(location),
            None => Location::Memory { source: Arc::clone(&self.label), key: skill.id.as_str().into() },
        }
    }

    fn at_itself(&self, kind: SourceErrorKind) -> SourceError {
        kind.at_location(Location::Text(Arc::clone(&self.label)))
    }

    /// Asks the host's source for the bytes of a file.
    fn ask(&self, id: &str, path: &str) -> Result<Option<Vec<u8>>, ForeignError> {
        let (source, id, path) = (Arc::clone(&self.source), id.to_owned(), path.to_owned());
        self.rules.ask("read of a source", move || source.read(&id, &path))
    }

    fn kept(&self, skill: SourceSkill<'_>) -> Result<Kept, SourceError> {
        let kept = locked(self.listed.read()).get(skill.location()).cloned();
        kept.ok_or_else(|| SourceErrorKind::NotListed.at_location(skill.location().clone()))
    }
}

impl Source for HostSource {
    fn id(&self) -> &str {
        &self.label
    }

    /// Only the thread of the operation knows whether it was cancelled, and what a callback threw.
    fn traits(&self) -> SourceTraits {
        SourceTraits::calling_thread()
    }

    fn list(&self) -> Result<Listing, SourceError> {
        let source = Arc::clone(&self.source);
        let skills = self
            .rules
            .ask("list of a source", move || source.list())
            .map_err(|error| source_error(error, |kind| self.at_itself(kind)))?;
        let (mut listing, mut listed) = (Listing::default(), BTreeMap::new());
        for skill in skills {
            let location = self.location(&skill);
            let bytes = match &skill.text {
                Some(text) => text.clone(),
                None => match self.ask(&skill.id, "SKILL.md") {
                    Ok(Some(bytes)) => bytes,
                    Ok(None) => {
                        listing.problems.push(SourceErrorKind::Missing.at_file(&location, "SKILL.md"));
                        continue;
                    }
                    // A skill that cannot be read hides no other; an operation that ended does.
                    Err(error) => {
                        let ended = error.ends_operation() || error.code == "timeout";
                        let problem = source_error(error, |kind| kind.at_file(&location, "SKILL.md"));
                        if ended {
                            return Err(problem);
                        }
                        listing.problems.push(problem);
                        continue;
                    }
                },
            };
            let mut at = Origin::at(location.clone()).with_scope(self.scope);
            at.folder = at.folder.or_else(|| skill.id.rsplit('/').next().map(str::to_owned));
            let mut found = found(&parse(&bytes), &at);
            if self.untrusted && found.obstacle.is_none() {
                found.obstacle = Some(Obstacle::Untrusted);
            }
            found.stamp = stamp(&bytes);
            found.virtual_path.clone_from(&skill.id);
            let text = skill.text.map(Arc::from);
            listed.insert(location, Kept { id: skill.id.into(), text });
            listing.push(found);
        }
        *locked(self.listed.write()) = listed;
        Ok(listing)
    }

    fn files(&self, skill: SourceSkill<'_>) -> Result<Manifest, SourceError> {
        let kept = self.kept(skill)?;
        let at = skill.location();
        let (source, id) = (Arc::clone(&self.source), Arc::clone(&kept.id));
        let files = self
            .rules
            .ask("files of a source", move || source.files(&id))
            .map_err(|error| source_error(error, |kind| kind.at_location(at.clone())))?;
        let Some(files) = files else {
            let path = RelPath::parse("SKILL.md")?;
            let size = self.read(skill, &path, Slice::first(0))?.size;
            return Ok(Manifest::new(vec![FileEntry::new(path, size)]));
        };
        let read = |file| serde_json::from_value::<GivenFile>(file).map_err(|error| error.to_string());
        let files: Result<Vec<GivenFile>, String> = files.into_iter().map(read).collect();
        let damaged = |reason: String| SourceErrorKind::Damaged { reason }.at_location(at.clone());
        manifest(files.map_err(|error| damaged(format!("its list of files: {error}")))?)
            .map_err(|failure| damaged(format!("its list of files: {}", failure.message)))
    }

    fn read(&self, skill: SourceSkill<'_>, path: &RelPath, slice: Slice) -> Result<Chunk, SourceError> {
        let kept = self.kept(skill)?;
        if let Some(text) = kept.text.filter(|_| skill.is_own(path)) {
            return Ok(slice.of(&text));
        }
        let name = if skill.is_own(path) { "SKILL.md" } else { path.as_str() };
        let at = |kind: SourceErrorKind| kind.at_file(skill.location(), path.as_str());
        match self.ask(&kept.id, name) {
            Ok(Some(bytes)) => Ok(slice.of(&bytes)),
            Ok(None) => Err(at(SourceErrorKind::Missing)),
            Err(error) => Err(source_error(error, at)),
        }
    }
}

/// A mark that differs after each change of a text.
fn stamp(bytes: &[u8]) -> Stamp {
    let hash = |seed: u64| {
        bytes.iter().fold(seed, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
    };
    Stamp::new(0, [hash(0xcbf2_9ce4_8422_2325), hash(0x8422_2325_cbf2_9ce4), bytes.len() as u64, 0])
}
