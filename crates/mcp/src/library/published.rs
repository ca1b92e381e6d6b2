//! What is published of one skill: its entry, made of one look at its bytes, and its files under the names clients use.

use std::sync::Arc;
use std::time::{Duration, Instant};

use prowess::check::strict;
use prowess::registry::digests;
use prowess::registry::digests::DigestLimits;
use prowess::{Candidate, Document, FileEntry, Manifest, Registry, RelPath, parse};
use serde_json::{Map, Value};

use crate::protocol::uri;
use crate::protocol::wire::{self, File, Resources, Skill};

/// How often a skill is looked at again when it changes under our eyes.
const LOOKS: usize = 3;
/// How long the files of one skill may be read: one that takes longer is not published, and delays no other.
const LOOK_TIME: Duration = Duration::from_secs(2);

/// A skill as clients see it.
#[derive(Debug)]
pub(crate) struct Published {
    /// Its entry in the list.
    pub(crate) entry: Value,
    /// Its files; its own is called SKILL.md, whatever it is called on the disk.
    pub(crate) files: Manifest,
    /// Its frontmatter, verbatim.
    pub(crate) frontmatter: Map<String, Value>,
}

/// The path by which a skill's own file is known.
pub(crate) fn own_path() -> Option<RelPath> {
    RelPath::parse("SKILL.md").ok()
}

/// Looks at a skill; the reason when it is gone, is not what was approved, or is withheld. What has not changed since
/// `before` is not made again. Digests may be `remembered` until a read shows that they are not those of the bytes.
pub(crate) fn look(
    registry: &Registry,
    candidate: &Candidate,
    before: Option<&Arc<Published>>,
    remembered: bool,
) -> Result<Arc<Published>, String> {
    let key = candidate.entry.key.as_str();
    let mut limits = DigestLimits { remembered, ..DigestLimits::publishing() };
    // What is elsewhere has a time of its own.
    if !registry.is_far(candidate) {
        limits = limits.until(Instant::now() + LOOK_TIME);
    }
    for _ in 0..LOOKS {
        let found = registry.manifest_within(candidate, &limits).map_err(|error| error.to_string())?;
        // An approval is for these bytes and no others.
        if candidate.approved.is_some() && candidate.approved != digests::of_skill(candidate, &found).ok() {
            return Err("it is not what was approved".to_owned());
        }
        let files = presented(found, candidate).ok_or("it has no SKILL.md")?;
        if let Some(before) = before.filter(|before| before.files == files) {
            return Ok(Arc::clone(before));
        }
        let document = match registry.announced(candidate) {
            Some(frontmatter) if candidate.announced != Some(digests::of_frontmatter(&frontmatter)) => {
                return Err("its server lists it otherwise by now".to_owned());
            }
            // Its source holds every read to this, and nothing is read before somebody wants it.
            Some(frontmatter) => announced(&frontmatter),
            None => {
                let head = registry.head_of(candidate).map_err(|error| error.to_string())?;
                if !head.is_whole() {
                    return Err("its SKILL.md is too large".to_owned());
                }
                // The list and the text are two looks at the disk: they must be of one state.
                let own = own_path().and_then(|own| files.get(&own)).ok_or("it has no SKILL.md")?;
                if own.digest.as_deref().is_some_and(|digest| digest != digests::of_bytes(&head.bytes)) {
                    limits.remembered = false;
                    continue;
                }
                head.document()
            }
        };
        if let Some(reason) = strict::withheld(&document, &candidate.entry.name) {
            return Err(reason.to_string());
        }
        let (count, size) = (files.files.len(), files.total_size());
        if count > wire::MAX_RESOURCES || size > wire::MAX_BYTES {
            tracing::warn!(target: "prowess", skill = key, files = count, bytes = size,
                "larger than every client must take");
        }
        if let Some(left) = files.left_out.first() {
            tracing::warn!(target: "prowess", skill = key, number = files.left_out.len(), first = left.path.as_str(),
                reason = left.reason.as_str(), "something in the folder of a skill is left out");
        }
        return published(key, &document, files).map(Arc::new).ok_or_else(|| "it has no SKILL.md".to_owned());
    }
    Err("it changes all the time".to_owned())
}

/// A frontmatter by itself as a document, so that one reader and one set of rules are for all skills.
pub(crate) fn announced(frontmatter: &Map<String, Value>) -> Document {
    parse(prowess::document::markdown(frontmatter, "").as_bytes())
}

/// The files under the names clients use.
fn presented(mut files: Manifest, candidate: &Candidate) -> Option<Manifest> {
    let own = own_path()?;
    let called = candidate.entry.origin.file.as_deref().filter(|name| *name != own.as_str());
    if let Some(called) = called.filter(|_| !files.contains(&own)) {
        for file in files.files.iter_mut().filter(|file| file.path.as_str() == called) {
            *file = FileEntry { path: own.clone(), ..file.clone() };
        }
        files = Manifest { left_out: files.left_out, ..Manifest::new(files.files) };
    }
    Some(files)
}

fn published(key: &str, document: &Document, files: Manifest) -> Option<Published> {
    let resources = files
        .files
        .iter()
        .map(|file| {
            Some(File { uri: uri::file(key, &file.path), digest: file.digest.clone()?, size: file.size })
        })
        .collect::<Option<Vec<_>>>();
    let frontmatter = document.frontmatter_json();
    let entry = Skill {
        uri: uri::file(key, &own_path()?),
        frontmatter: frontmatter.clone(),
        // A source that has no digests before reading says so, instead of half a list.
        resources: resources.map_or(Resources::Dynamic, Resources::Files),
    };
    Some(Published { entry: serde_json::to_value(entry).ok()?, files, frontmatter })
}
