//! [`HttpSource`]: the skills of a web site, from an index. Files are fetched when they are read.

mod index;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use index::{Content, Index, Listed};
use prowess_core::text::cut;
use prowess_core::{
    Digest, FileEntry, Found, Location, Manifest, Origin, RelPath, Scope, SourceSkill, parse,
};

use super::archive::Packed;
use super::{Chunk, Listing, Slice, Source, SourceTraits, found, skill_md};
use crate::archive::{ArchiveLimits, unpack};
use crate::error::{SourceError, SourceErrorKind, escape_control, shown_address};
use crate::internal::locked;
use crate::net::{Deadline, Fetcher, HttpClient, HttpError, HttpLimits, Permission, below, checked};
use crate::registry::digests::DigestLimits;

/// The paths of an index below the address of a site, in the order they are tried.
pub const INDEX_PATHS: [&str; 3] =
    [".well-known/agent-skills/index.json", ".well-known/skills/index.json", "index.json"];

/// The number of unpacked archives that are kept in memory.
const KEPT: usize = 8;

/// The skills of a web site.
///
/// The address is that of an index, ending in `.json`, or of a site whose index is at one of [`INDEX_PATHS`] below it.
/// Listing fetches the index and no skill, unless an entry has no description. If an index has a digest of a file,
/// other bytes are never used. All requests of a list share one timeout, and so do those of a skill.
#[derive(Debug)]
pub struct HttpSource {
    id: String,
    url: String,
    fetcher: Fetcher,
    archives: ArchiveLimits,
    unlisted: bool,
    /// The skills of the last index, by location.
    listed: Mutex<BTreeMap<Location, SiteSkill>>,
    unpacked: Mutex<Vec<(Digest, Arc<Packed>)>>,
}

/// Where a skill is, and whether its index came from a private address.
#[derive(Clone, Debug)]
struct SiteSkill {
    id: String,
    content: Content,
    private: bool,
}

impl HttpSource {
    /// The skills of a site. Nothing is fetched before they are listed.
    pub fn new(url: &str, client: Arc<dyn HttpClient>) -> Result<Self, SourceError> {
        let url = checked(url).map_err(|error| SourceErrorKind::Http(error).at_url(url))?.into_string();
        Ok(Self {
            id: url.clone(),
            url,
            fetcher: Fetcher::new(client),
            archives: ArchiveLimits::default(),
            unlisted: false,
            listed: Mutex::default(),
            unpacked: Mutex::default(),
        })
    }

    /// Caches fetched files in a folder, which must not be searched for skills. It is safe to delete.
    #[must_use]
    pub fn with_cache(mut self, folder: impl Into<PathBuf>) -> Self {
        self.fetcher = self.fetcher.with_cache(crate::env::place(&folder.into()));
        self
    }

    /// Sets the limits on fetching and unpacking.
    #[must_use]
    pub fn with_limits(mut self, limits: HttpLimits, archives: ArchiveLimits) -> Self {
        self.fetcher = self.fetcher.within(limits);
        self.archives = archives;
        self
    }

    /// Sets whether files that the index does not list are requested too, of skills whose files it lists without
    /// digests: some indexes name skills and no files. They are below the skill's address on the same site, within the
    /// limit for a file, and in no list or approval.
    #[must_use]
    pub fn with_unlisted(mut self, unlisted: bool) -> Self {
        self.unlisted = unlisted;
        self
    }

    /// The deadline for all files of a skill.
    fn skill_deadline(&self) -> Deadline {
        Deadline::after(self.fetcher.limits().skill_timeout)
    }

    /// The index, whether it came from a private address, and its address.
    fn index(&self, deadline: Deadline) -> Result<(Index, bool, String), SourceError> {
        let limit = self.fetcher.limits().index_bytes;
        // The address was named on purpose, so it may be a private one.
        let permission = Permission { limit, private: true, other_sites: true, deadline };
        let path = checked(&self.url).map(|url| url.path().as_str().to_owned()).unwrap_or_default();
        let tried: Vec<String> = if path.to_ascii_lowercase().ends_with(".json") {
            vec![self.url.clone()]
        } else {
            INDEX_PATHS.iter().filter_map(|path| below(&self.url, path).ok()).collect()
        };
        let mut first = None;
        for url in &tried {
            let error = match self.fetcher.fetch(url, permission) {
                Ok(fetched) => match Index::read(&fetched.body, &fetched.url, self.fetcher.limits()) {
                    Ok(index) => return Ok((index, fetched.private, fetched.url)),
                    Err(reason) => SourceErrorKind::Damaged { reason }.at_url(url),
                },
                Err(HttpError::Status(404 | 410)) => continue,
                Err(error) => {
                    let answered = matches!(error, HttpError::Status(_));
                    let error = SourceErrorKind::Http(error).at_url(url);
                    // A site that cannot be reached at one address cannot be reached at another.
                    if !answered {
                        return Err(error);
                    }
                    error
                }
            };
            // Some sites respond to every address with a page or an error; the index may be at a later address.
            first.get_or_insert(error);
        }
        Err(first.unwrap_or_else(|| SourceErrorKind::NoIndex.at_url(&self.url)))
    }

    fn place(&self, location: &Location) -> Result<SiteSkill, SourceError> {
        let listed = locked(&self.listed);
        listed.get(location).cloned().ok_or_else(|| SourceErrorKind::NotListed.at_location(location.clone()))
    }

    /// The bytes of one file that has no digest.
    fn file(
        &self,
        place: &SiteSkill,
        base: &str,
        path: &RelPath,
        listed: bool,
        deadline: Deadline,
    ) -> Result<Vec<u8>, SourceError> {
        let url = below(base, path.as_str()).map_err(|error| SourceErrorKind::Http(error).at_url(base))?;
        let limit = self.fetcher.limits().file_bytes;
        let permission = Permission { limit, private: place.private, other_sites: listed, deadline };
        match self.fetcher.fetch(&url, permission) {
            Ok(fetched) => Ok(fetched.body),
            Err(HttpError::Status(404 | 410)) => Err(SourceErrorKind::Missing.at_url(&url)),
            Err(error) => Err(SourceErrorKind::Http(error).at_url(&url)),
        }
    }

    fn promised(
        &self,
        place: &SiteSkill,
        url: &str,
        digest: Digest,
        limit: u64,
        deadline: Deadline,
    ) -> Result<Vec<u8>, SourceError> {
        let permission = Permission { limit, private: place.private, other_sites: true, deadline };
        self.fetcher
            .fetch_exactly(url, digest, permission)
            .map_err(|error| SourceErrorKind::Http(error).at_url(url))
    }

    fn archive(
        &self,
        place: &SiteSkill,
        url: &str,
        digest: Digest,
        deadline: Deadline,
    ) -> Result<Arc<Packed>, SourceError> {
        let kept = || locked(&self.unpacked);
        if let Some((_, packed)) = kept().iter().find(|(known, _)| *known == digest) {
            return Ok(Arc::clone(packed));
        }
        let bytes = self.promised(place, url, digest, self.archives.packed_bytes, deadline)?;
        let files =
            unpack(&bytes, &self.archives).map_err(|error| SourceErrorKind::Archive(error).at_url(url))?;
        let packed = Arc::new(Packed::new(files));
        let mut kept = kept();
        if kept.len() >= KEPT {
            kept.remove(0);
        }
        kept.push((digest, Arc::clone(&packed)));
        Ok(packed)
    }

    fn bytes(&self, place: &SiteSkill, path: &RelPath, deadline: Deadline) -> Result<Vec<u8>, SourceError> {
        let missing = || {
            let skill = Location::Url(place.content.address().into());
            SourceErrorKind::Missing.at_file(&skill, path.as_str())
        };
        match &place.content {
            Content::Text { url, digest } if path.as_str() == "SKILL.md" => {
                self.promised(place, url, *digest, self.fetcher.limits().file_bytes, deadline)
            }
            Content::Archive { url, digest } => {
                let packed = self.archive(place, url, *digest, deadline)?;
                // The archive is the skill's folder: its SKILL.md is at the root.
                packed.read(&skill_md()?, path).map(<[u8]>::to_vec).ok_or_else(missing)
            }
            Content::Files { base, files } => {
                let listed = files.contains(path);
                if !listed && !self.unlisted {
                    return Err(missing());
                }
                self.file(place, base, path, listed, deadline)
            }
            Content::Text { .. } => Err(missing()),
        }
    }

    /// The bytes of a SKILL.md, if it is the skill in the index.
    fn own_bytes(&self, place: &SiteSkill, deadline: Deadline) -> Result<Vec<u8>, SourceError> {
        let bytes = self.bytes(place, &skill_md()?, deadline)?;
        let document = parse(&bytes);
        let name = document.field("name").and_then(|node| node.text()).unwrap_or_default();
        if let Content::Text { .. } | Content::Archive { .. } = place.content
            && name.trim() != place.id
        {
            let name = escape_control(&cut(name, Some(100)));
            let reason =
                format!("the index calls it {}, and it calls itself something else: {name}", place.id);
            return Err(SourceErrorKind::Damaged { reason }.at_url(&place.content.address()));
        }
        Ok(bytes)
    }

    /// The skill as the index describes it, or as its SKILL.md does when the index has no description. Its key is the
    /// id in its address; its name is the one in the index.
    fn found(
        &self,
        listed: &Listed,
        location: &Location,
        place: &SiteSkill,
        deadline: Deadline,
    ) -> Result<Found, SourceError> {
        let at = Origin::at(location.clone()).with_scope(Scope::Remote).with_folder(&*listed.id);
        let document = match &listed.description {
            None => parse(&self.own_bytes(place, deadline)?),
            // As everywhere, a skill without a description is broken: it is listed with the reason.
            Some(description) => {
                let quoted = |text: &str| serde_json::Value::from(text).to_string();
                let name = listed.name.as_ref().unwrap_or(&listed.id);
                let (name, description) = (quoted(name), quoted(description));
                parse(format!("---\nname: {name}\ndescription: {description}\n---\n").as_bytes())
            }
        };
        let mut found = found(&document, &at);
        found.entry.key.clone_from(&listed.id);
        if let Some(name) = &listed.name {
            found.entry.name.clone_from(name);
        }
        Ok(found)
    }
}

impl Source for HttpSource {
    fn id(&self) -> &str {
        &self.id
    }

    fn traits(&self) -> SourceTraits {
        SourceTraits::remote()
    }

    fn list(&self) -> Result<Listing, SourceError> {
        let deadline = Deadline::after(self.fetcher.limits().list_timeout);
        let (index, private, url) = self.index(deadline)?;
        let mut listing = Listing::default();
        let damaged = |reason: String| SourceErrorKind::Damaged { reason }.at_url(&url);
        listing.problems.extend(index.problems.into_iter().map(damaged));
        let mut places = BTreeMap::new();
        let mut late = 0;
        for listed in index.skills {
            let location = Location::Url(listed.content.address().into());
            let place = SiteSkill { id: listed.id.clone(), content: listed.content.clone(), private };
            if let Some(SiteSkill { id: other, .. }) = places.get(&location) {
                let ids = format!("{} and {}", escape_control(other), escape_control(&listed.id));
                let place = shown_address(&location.text());
                let reason =
                    format!("two skills have one address, and the second is left out: {ids}: {place}");
                listing.problems.push(damaged(reason));
                continue;
            }
            match self.found(&listed, &location, &place, deadline) {
                Ok(found) => {
                    places.insert(location, place);
                    listing.push(found);
                }
                Err(SourceError { kind: SourceErrorKind::Http(HttpError::NotInTime(_)), .. }) => late += 1,
                Err(error) => listing.problems.push(error),
            }
        }
        if late > 0 {
            let kind = SourceErrorKind::NotFetched { skills: late, error: Box::new(deadline.missed()) };
            listing.problems.push(kind.at_url(&url));
        }
        *locked(&self.listed) = places;
        Ok(listing)
    }

    /// The files in the index. Nothing is fetched, except an archive, whose files are not known before.
    fn files(&self, skill: SourceSkill<'_>) -> Result<Manifest, SourceError> {
        let place = self.place(skill.location())?;
        match &place.content {
            Content::Archive { url, digest } => {
                Ok(self.archive(&place, url, *digest, self.skill_deadline())?.manifest_of(&skill_md()?))
            }
            Content::Files { files, .. } => {
                Ok(Manifest::new(files.iter().cloned().map(FileEntry::unmeasured).collect()))
            }
            Content::Text { .. } => Ok(Manifest::new(vec![FileEntry::unmeasured(skill_md()?)])),
        }
    }

    fn manifest(&self, skill: SourceSkill<'_>, within: &DigestLimits) -> Result<Manifest, SourceError> {
        let place = self.place(skill.location())?;
        let (deadline, limit) = (self.skill_deadline(), self.fetcher.limits().skill_bytes);
        let mut manifest = self.files(skill)?;
        let mut allowed = within.admit(&manifest, skill.location())?;
        let mut total = 0;
        for file in &mut manifest.files {
            let own = file.path.as_str() == "SKILL.md";
            let bytes = if own {
                self.own_bytes(&place, deadline)?
            } else {
                self.bytes(&place, &file.path, deadline)?
            };
            total += bytes.len() as u64;
            if total > limit {
                let kind = SourceErrorKind::TooLarge { size: total, limit };
                return Err(kind.at_url(&place.content.address()));
            }
            let at = |kind: SourceErrorKind| kind.at_file(skill.location(), file.path.as_str());
            let (digest, size) = allowed.digest(at, |running| {
                running.update(&bytes);
                Ok(false)
            })?;
            file.measure(size, digest);
        }
        Ok(manifest)
    }

    fn read(&self, skill: SourceSkill<'_>, path: &RelPath, slice: Slice) -> Result<Chunk, SourceError> {
        let place = self.place(skill.location())?;
        let (own, deadline) = (path.as_str() == "SKILL.md", self.skill_deadline());
        let bytes = if own { self.own_bytes(&place, deadline)? } else { self.bytes(&place, path, deadline)? };
        Ok(slice.of(&bytes))
    }
}
