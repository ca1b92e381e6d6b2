//! A published skill: its list entry and its files under the names that clients use.

use std::sync::Arc;
use std::time::{Duration, Instant};

use prowess::internal::withheld;
use prowess::registry::digests;
use prowess::registry::digests::DigestLimits;
use prowess::{Candidate, Document, Manifest, Registry, RelPath, parse};
use serde_json::{Map, Value};

use crate::protocol::uri;
use crate::protocol::wire::{self, File, Resources, Skill};

/// How often an inspection is repeated when the skill changes during it.
const ATTEMPTS: usize = 3;
/// The timeout for reading the files of one skill. A skill that takes longer is not published, and delays no other.
const READ_TIMEOUT: Duration = Duration::from_secs(2);

/// A published skill.
#[derive(Debug)]
pub(crate) struct Published {
    /// Its entry in the list.
    pub(crate) entry: Value,
    /// Its files. Its document is called SKILL.md, whatever its name on disk.
    pub(crate) files: Manifest,
    /// Its frontmatter, verbatim.
    pub(crate) frontmatter: Map<String, Value>,
}

/// The path of a skill's document.
pub(crate) fn own_path() -> Option<RelPath> {
    RelPath::parse("SKILL.md").ok()
}

/// Inspects a skill; the error is the reason why it is not published: it is gone, not the approved one, or withheld.
/// Returns `before` if its files are unchanged. Cached digests are used if `remembered`, until a read shows that they
/// are outdated.
pub(crate) fn inspect(
    registry: &Registry,
    candidate: &Candidate,
    before: Option<&Arc<Published>>,
    remembered: bool,
) -> Result<Arc<Published>, String> {
    let key = candidate.entry.key.as_str();
    let mut limits = DigestLimits::publishing().with_remembered(remembered);
    // Remote sources have their own timeout.
    if !registry.is_remote(candidate) {
        limits = limits.with_deadline(Some(Instant::now() + READ_TIMEOUT));
    }
    for _ in 0..ATTEMPTS {
        let found = registry.manifest_within(candidate, &limits).map_err(|error| error.to_string())?;
        // An approval is for exact bytes.
        if candidate.approved.is_some()
            && candidate.approved != digests::of_skill(candidate.source_skill(), &found).ok()
        {
            return Err("it is not what was approved".to_owned());
        }
        if let Some(found) = found.repository() {
            return Err(format!("{} takes a folder of it for a repository: {}", found.system, found.folder));
        }
        let files = presented(found, candidate).ok_or("it has no SKILL.md")?;
        if let Some(before) = before.filter(|before| before.files == files) {
            return Ok(Arc::clone(before));
        }
        let document = match &candidate.announced {
            // Its source checks every read against this, and nothing is read before a client requests it.
            Some(said) => announced(&said.frontmatter),
            None => {
                let head = registry.head_of(candidate).map_err(|error| error.to_string())?;
                if !head.is_whole() {
                    return Err("its SKILL.md is too large".to_owned());
                }
                // The digests and the text are from two reads, which must match.
                let own = own_path().and_then(|own| files.get(&own)).ok_or("it has no SKILL.md")?;
                if own.digest.is_some_and(|digest| digest != digests::of_bytes(&head.bytes)) {
                    limits.remembered = false;
                    continue;
                }
                head.document()
            }
        };
        if let Some(reason) = withheld(&document, &candidate.entry.name) {
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

/// A document with this frontmatter and no body, so that the same parser and rules apply to all skills.
pub(crate) fn announced(frontmatter: &Map<String, Value>) -> Document {
    parse(prowess::document::markdown(frontmatter, "").as_bytes())
}

/// The files under the names that clients use.
fn presented(mut files: Manifest, candidate: &Candidate) -> Option<Manifest> {
    let own = own_path()?;
    let called = candidate.entry.origin.file.as_deref().filter(|name| *name != own.as_str());
    if let Some(called) = called.filter(|_| !files.contains(&own)) {
        for file in files.files.iter_mut().filter(|file| file.path.as_str() == called) {
            file.path = own.clone();
        }
        files = Manifest::new(files.files).with_left_out(files.left_out).with_incomplete(files.incomplete);
    }
    Some(files)
}

fn published(key: &str, document: &Document, files: Manifest) -> Option<Published> {
    let resources = files
        .files
        .iter()
        .map(|file| Some(File { uri: uri::file(key, &file.path), digest: file.digest?, size: file.size }))
        .collect::<Option<Vec<_>>>();
    let frontmatter = document.frontmatter_json();
    let entry = Skill {
        uri: uri::file(key, &own_path()?),
        frontmatter: frontmatter.clone(),
        // A source without digests before reading is dynamic; a partial list is not valid.
        resources: resources.map_or(Resources::Dynamic, Resources::Files),
    };
    Some(Published { entry: serde_json::to_value(entry).ok()?, files, frontmatter })
}
