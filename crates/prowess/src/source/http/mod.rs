//! Skills on a web site: an index that is listed, and files that are fetched when they are read.

mod index;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use index::{Content, Index, Listed};
use prowess_core::{Candidate, FileEntry, Manifest, Origin, RelPath, Scope, Skill, parse};
use serde_json::Map;

use super::archive::Packed;
use super::{Chunk, Offer, Slice, Source, candidate, skill_md};
use crate::archive::{ArchiveLimits, unpack};
use crate::error::SourceError;
use crate::http::{Fetcher, HttpClient, HttpError, HttpLimits, below, checked, shown};

/// Where an index may lie below the address of a site, in the order they are tried.
pub const INDEX_PATHS: [&str; 3] =
    [".well-known/agent-skills/index.json", ".well-known/skills/index.json", "index.json"];

/// How many unpacked archives are kept at hand.
const KEPT: usize = 8;

/// Skills on a web site.
///
/// The address is that of an index, ending in `.json`, or of a site whose index lies at one of [`INDEX_PATHS`] below
/// it. Listing fetches the index and no skill, unless an entry says nothing about itself. What an index promises by a
/// digest is never used with other bytes.
#[derive(Debug)]
pub struct HttpSource {
    id: String,
    url: String,
    fetcher: Fetcher,
    archives: ArchiveLimits,
    /// What the index offered last, by location.
    listed: Mutex<BTreeMap<String, Place>>,
    unpacked: Mutex<Vec<(String, Arc<Packed>)>>,
}

/// Where a skill lies, and whether the index that said so came from a private address.
#[derive(Clone, Debug)]
struct Place {
    name: String,
    content: Content,
    private: bool,
}

impl HttpSource {
    /// The skills of a site. Nothing is fetched before they are listed.
    pub fn new(url: &str, client: Arc<dyn HttpClient>) -> Result<Self, SourceError> {
        let url =
            checked(url).map_err(|error| SourceError::Http { path: shown(url).into(), error })?.into_string();
        Ok(Self {
            id: url.clone(),
            url,
            fetcher: Fetcher::new(client),
            archives: ArchiveLimits::default(),
            listed: Mutex::default(),
            unpacked: Mutex::default(),
        })
    }

    /// Remembers in a folder what was fetched. It must lie where nobody looks for skills. Safe to delete.
    #[must_use]
    pub fn with_cache(mut self, folder: impl Into<PathBuf>) -> Self {
        self.fetcher = self.fetcher.with_cache(folder);
        self
    }

    /// Fetches and unpacks no more than this.
    #[must_use]
    pub fn within(mut self, limits: HttpLimits, archives: ArchiveLimits) -> Self {
        self.fetcher = self.fetcher.within(limits);
        self.archives = archives;
        self
    }

    /// The index, the address it came from, and whether that is a private one.
    fn index(&self) -> Result<(Index, bool, String), SourceError> {
        let limit = self.fetcher.limits().index_bytes;
        let path = checked(&self.url).map(|url| url.path().as_str().to_owned()).unwrap_or_default();
        let tried: Vec<String> = if path.to_ascii_lowercase().ends_with(".json") {
            vec![self.url.clone()]
        } else {
            INDEX_PATHS.iter().filter_map(|path| below(&self.url, path).ok()).collect()
        };
        let mut first = None;
        for url in &tried {
            // The address was named on purpose, so it may be a private one.
            let error = match self.fetcher.fetch(url, limit, true) {
                Ok(fetched) => match Index::read(&fetched.body, &fetched.url, self.fetcher.limits()) {
                    Ok(index) => return Ok((index, fetched.private, fetched.url)),
                    Err(reason) => SourceError::Damaged { path: url.into(), reason },
                },
                Err(HttpError::Status(404 | 410)) => continue,
                Err(error) => {
                    let answered = matches!(error, HttpError::Status(_));
                    let error = SourceError::Http { path: url.into(), error };
                    // A site that cannot be reached at one address cannot be at another.
                    if !answered {
                        return Err(error);
                    }
                    error
                }
            };
            // Some sites answer every address with a page or a refusal; the index may lie further on.
            first.get_or_insert(error);
        }
        Err(first.unwrap_or_else(|| SourceError::NoIndex { path: self.url.clone().into() }))
    }

    fn place(&self, skill: &Candidate) -> Result<Place, SourceError> {
        let location = &skill.entry.origin.location;
        let listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        listed.get(location).cloned().ok_or_else(|| SourceError::Missing { path: location.into() })
    }

    /// The bytes of one file that has no digest.
    fn file(&self, place: &Place, base: &str, path: &RelPath) -> Result<Vec<u8>, SourceError> {
        let url =
            below(base, path.as_str()).map_err(|error| SourceError::Http { path: base.into(), error })?;
        let limit = self.fetcher.limits().file_bytes;
        let fetched = self.fetcher.fetch(&url, limit, place.private);
        match fetched {
            Ok(fetched) => Ok(fetched.body),
            Err(HttpError::Status(404 | 410)) => Err(SourceError::Missing { path: url.into() }),
            Err(error) => Err(SourceError::Http { path: url.into(), error }),
        }
    }

    /// The bytes that an index promised by their digest.
    fn promised(&self, place: &Place, url: &str, digest: &str, limit: u64) -> Result<Vec<u8>, SourceError> {
        self.fetcher
            .fetch_exactly(url, digest, limit, place.private)
            .map_err(|error| SourceError::Http { path: url.into(), error })
    }

    fn archive(&self, place: &Place, url: &str, digest: &str) -> Result<Arc<Packed>, SourceError> {
        let kept = || self.unpacked.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, packed)) = kept().iter().find(|(known, _)| known == digest) {
            return Ok(Arc::clone(packed));
        }
        let bytes = self.promised(place, url, digest, self.archives.packed_bytes)?;
        let files = unpack(&bytes, &self.archives)
            .map_err(|error| SourceError::Archive { path: url.into(), error })?;
        let packed = Arc::new(Packed::new(files));
        let mut kept = kept();
        if kept.len() >= KEPT {
            kept.remove(0);
        }
        kept.push((digest.to_owned(), Arc::clone(&packed)));
        Ok(packed)
    }

    fn bytes(&self, place: &Place, path: &RelPath) -> Result<Vec<u8>, SourceError> {
        let missing =
            || SourceError::Missing { path: format!("{}: {path}", place.content.location()).into() };
        match &place.content {
            Content::Text { url, digest } if path.as_str() == "SKILL.md" => {
                self.promised(place, url, digest, self.fetcher.limits().file_bytes)
            }
            Content::Archive { url, digest } => {
                let packed = self.archive(place, url, digest)?;
                // The archive is the skill's folder: its SKILL.md lies at the root, under that very name.
                packed.read(&skill_md()?, path).map(<[u8]>::to_vec).ok_or_else(missing)
            }
            Content::Files { base, files } if files.contains(path) => self.file(place, base, path),
            Content::Text { .. } | Content::Files { .. } => Err(missing()),
        }
    }

    /// The bytes of a SKILL.md, if it is the skill that the index spoke of.
    fn own_bytes(&self, place: &Place) -> Result<Vec<u8>, SourceError> {
        let bytes = self.bytes(place, &skill_md()?)?;
        let document = parse(&bytes);
        let name = document.field("name").and_then(|node| node.text()).unwrap_or_default();
        if let Content::Text { .. } | Content::Archive { .. } = place.content
            && name.trim() != place.name
        {
            let path = place.content.location().into();
            let reason = format!("the index calls it {}, and it calls itself something else", place.name);
            return Err(SourceError::Damaged { path, reason });
        }
        Ok(bytes)
    }

    /// What the index says of a skill, or its SKILL.md when that says nothing.
    fn candidate(&self, listed: &Listed, place: &Place) -> Result<Candidate, SourceError> {
        let location = listed.content.location();
        let at = Origin::at(&*location).in_scope(Scope::Remote).in_folder(&*listed.name);
        let Some(description) = &listed.description else {
            return Ok(candidate(&parse(&self.own_bytes(place)?), &at));
        };
        let mut dict = Map::new();
        dict.insert("name".to_owned(), listed.name.clone().into());
        dict.insert("description".to_owned(), description.clone().into());
        let skill = Skill::from_dict(&dict)
            .map_err(|error| SourceError::Damaged { path: (&*location).into(), reason: error.to_string() })?;
        let mut entry = skill.entry;
        entry.origin = at;
        Ok(Candidate::new(entry))
    }
}

impl Source for HttpSource {
    fn id(&self) -> &str {
        &self.id
    }

    fn is_far(&self) -> bool {
        true
    }

    fn list(&self) -> Result<Offer, SourceError> {
        let (index, private, url) = self.index()?;
        let mut offer = Offer::default();
        let damaged = |reason: String| SourceError::Damaged { path: (&*url).into(), reason };
        offer.problems.extend(index.problems.into_iter().map(damaged));
        let mut places = BTreeMap::new();
        let started = Instant::now();
        for listed in index.skills {
            let location = listed.content.location();
            let place = Place { name: listed.name.clone(), content: listed.content.clone(), private };
            if places.contains_key(&location) {
                offer.problems.push(damaged(format!("two skills lie at one address: {location}")));
                continue;
            }
            let limit = self.fetcher.limits().list_timeout;
            if listed.description.is_none() && started.elapsed() > limit {
                let error = HttpError::NotInTime(limit.as_secs());
                offer.problems.push(SourceError::Http { path: location.into(), error });
                continue;
            }
            match self.candidate(&listed, &place) {
                Ok(candidate) => {
                    places.insert(location, place);
                    offer.candidates.push(Arc::new(candidate));
                }
                Err(error) => offer.problems.push(error),
            }
        }
        *self.listed.lock().unwrap_or_else(PoisonError::into_inner) = places;
        Ok(offer)
    }

    fn files(&self, skill: &Candidate) -> Result<Manifest, SourceError> {
        let place = self.place(skill)?;
        if let Content::Archive { url, digest } = &place.content {
            return Ok(self.archive(&place, url, digest)?.manifest_of(&skill_md()?));
        }
        let one = [skill_md()?];
        let paths = match &place.content {
            Content::Files { files, .. } => files.as_slice(),
            _ => &one,
        };
        // Sizes are known only of what was fetched; the files are small and remembered.
        let limit = self.fetcher.limits().skill_bytes;
        let (mut files, mut total) = (Vec::new(), 0);
        for path in paths {
            let size = self.bytes(&place, path)?.len() as u64;
            total += size;
            if total > limit {
                let path = place.content.location().into();
                return Err(SourceError::TooLarge { path, size: total, limit });
            }
            files.push(FileEntry::new(path.clone(), size));
        }
        Ok(Manifest::new(files))
    }

    fn read(&self, skill: &Candidate, path: &RelPath, slice: Slice) -> Result<Chunk, SourceError> {
        let place = self.place(skill)?;
        let own = path.as_str() == "SKILL.md";
        Ok(slice.of(&if own { self.own_bytes(&place)? } else { self.bytes(&place, path)? }))
    }
}
