//! Effects for a host that drives sessions itself, with [`Chat::step`](crate::Chat::step): files and searches over the
//! sources that this crate reads.

use std::sync::Arc;

use prowess::source::Slice;
use prowess::{Candidate, Location, RelPath, SourceErrorKind};
use prowess_engine::{Failure, read, search_catalog};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::asked::{forget_thrown, thrown};
use crate::errors::{of_callback, of_lookup, of_source};
use crate::files::manifest_json;
use crate::skills::Skills;

/// What is wanted of a skill, by its key and the place where the session saw it.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase", deny_unknown_fields)]
enum Wanted {
    Files {
        key: String,
        location: Location,
    },
    Read {
        key: String,
        location: Location,
        path: String,
        /// A number of JavaScript, which has no exact form of every `u64`.
        offset: f64,
        limit: f64,
        /// Whether the digest over all files is wanted, from the same bytes.
        #[serde(default)]
        digest: bool,
    },
    Digest {
        key: String,
        location: Location,
    },
}

impl Skills {
    /// Performs an effect: `{kind: "files"}` returns `{files}`, `{kind: "read", path, offset, limit, digest}` returns
    /// `{size, digest}` and the bytes, `{kind: "digest"}` returns `{digest}` for an approval. Each has the `key` and the `location` of a
    /// skill, and fails as `missing` if the skill is no longer there.
    pub fn perform(&self, wanted: &str) -> Result<(String, Vec<u8>), Failure> {
        let _in_use = self.enter()?;
        let registry = &self.parts().registry;
        let failed = |error| of_source(&error);
        let (value, bytes): (Value, Vec<u8>) = match read(wanted)? {
            Wanted::Files { key, location } => {
                let files = registry.files_of(&*self.at(&key, &location)?).map_err(failed)?;
                (json!({"files": manifest_json(&files)}), Vec::new())
            }
            Wanted::Read { key, location, path, offset, limit, digest } => {
                let skill = self.at(&key, &location)?;
                let path = RelPath::from_request(&path)
                    .map_err(|error| Failure::new("outside", error.to_string()))?;
                let slice = Slice {
                    offset: whole(offset),
                    limit: usize::try_from(whole(limit)).unwrap_or(usize::MAX),
                };
                let (chunk, digest) = if digest {
                    let (chunk, digest) =
                        registry.read_with_digest_of(&skill, &path, slice).map_err(failed)?;
                    (chunk, Some(digest))
                } else {
                    (registry.read(&skill, &path, slice).map_err(failed)?, None)
                };
                (json!({"size": chunk.size, "digest": digest}), chunk.bytes)
            }
            Wanted::Digest { key, location } => {
                let digest = registry.approvable(&*self.at(&key, &location)?).map_err(failed)?;
                (json!({"digest": digest}), Vec::new())
            }
        };
        Ok((value.to_string(), bytes))
    }

    /// Ranks some of the skills: `{among, asked}` in, hits out.
    pub(crate) fn rank(&self, input: &str) -> Result<String, Failure> {
        forget_thrown();
        search_catalog(&self.catalog(), &*self.parts().selector, input).map_err(|failure| {
            // What a callback threw counts before what the selector made of it.
            match thrown().filter(|_| failure.code == "select") {
                Some(error) => of_callback(error, "select"),
                None => failure,
            }
        })
    }

    /// The skill with this key, if it is still at the place where the session saw it.
    fn at(&self, key: &str, location: &Location) -> Result<Arc<Candidate>, Failure> {
        let skill = self.parts().registry.get(key).map_err(|error| of_lookup(&error))?;
        if skill.entry.origin.location == *location {
            return Ok(skill);
        }
        Err(of_source(&SourceErrorKind::NotListed.at_location(location.clone())))
    }
}

/// A number of bytes.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a cast saturates")]
fn whole(number: f64) -> u64 {
    number as u64
}
