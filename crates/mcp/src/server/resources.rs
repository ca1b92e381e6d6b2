//! Skills' files as MCP resources: the list of SKILL.md, one file's bytes as they are, and how each is described.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use prowess::registry::digests;
use prowess::source::Slice;
use prowess::{FileEntry, RelPath};
use rmcp::ErrorData;
use rmcp::model::{
    Annotations, ListResourcesResult, ReadResourceResult, Resource, ResourceContents, ResourceTemplate, Role,
};
use serde_json::Value;

use crate::library::published::{Published, own_path};
use crate::library::snapshot::Snapshot;
use crate::protocol::outgoing::Part;
use crate::protocol::response_budget::Share;
use crate::protocol::wire::Era;
use crate::protocol::{uri, wire};
use crate::server::Shared;
use crate::server::skills::{about, unknown};
use crate::server::{blocking, prebuilt};

/// The template of every address.
pub(crate) const TEMPLATE: &str = "skill://{name}/{+path}";

/// SKILL.md of each listed skill, in pages. The other files are in the skill's entry and in its folders.
pub(crate) fn list(shared: &Shared, cursor: Option<&str>) -> Result<ListResourcesResult, ErrorData> {
    let after = shared.after("resources", cursor)?;
    let snapshot = shared.live.current();
    let (mut items, mut last, mut next) = (Vec::new(), None, None);
    let end = blocking::end_of_list();
    for key in snapshot.listed_after(after.as_deref()) {
        if last.is_some() && (items.len() == snapshot.page_size() || Instant::now() >= end) {
            next = last.map(|key: &str| shared.cursors.make("resources", key));
            break;
        }
        if let Some(published) = snapshot.published_by_now(key)
            && let Some(file) = own_path().and_then(|own| published.files.get(&own).cloned())
        {
            items.push(describe(&published, key, &file));
        }
        last = Some(key);
    }
    // No time to live: rmcp adds one where it belongs, and would not take ours away for older peers.
    let mut result = ListResourcesResult::with_all_items(items);
    result.next_cursor = next;
    Ok(result)
}

/// How a file is described. SKILL.md has the name and the description of its frontmatter, to the letter.
pub(crate) fn describe(published: &Published, key: &str, file: &FileEntry) -> Resource {
    let own = file.path.as_str() == "SKILL.md";
    let text =
        |field: &str| published.frontmatter.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let short = file.path.as_str().rsplit('/').next().unwrap_or_default().to_owned();
    let annotations = Annotations::default().with_audience(vec![Role::Assistant]).with_priority(if own {
        0.75
    } else {
        0.25
    });
    let resource = Resource::new(uri::file(key, &file.path), if own { text("name") } else { short })
        .with_mime_type(mime(file.path.as_str()))
        .with_size(file.size)
        .with_annotations(annotations);
    if own { resource.with_description(text("description")) } else { resource }
}

/// A file that is served.
pub(crate) struct Found {
    snapshot: Arc<Snapshot>,
    uri: String,
    key: String,
    path: RelPath,
    listed: FileEntry,
}

/// Finds the file at an address.
pub(crate) fn find(shared: &Shared, uri: String) -> Result<Found, ErrorData> {
    let not_found = || unknown("no resource is served at", &uri);
    let (key, path) = uri::parse(&uri).filter(|(_, path)| !path.is_empty()).ok_or_else(not_found)?;
    let path = RelPath::from_request(&path).map_err(|_| not_found())?;
    let snapshot = shared.live.current();
    let published = snapshot.published(&key).ok_or_else(not_found)?;
    // On the list, or not served: what the list leaves out cannot be had by name.
    let listed = published.files.get(&path).ok_or_else(not_found)?.clone();
    if listed.size > wire::MAX_BYTES {
        return Err(unknown("too large to be served:", &uri));
    }
    Ok(Found { snapshot, uri, key, path, listed })
}

impl Found {
    /// How many bytes it had when it was listed.
    pub(crate) fn size(&self) -> usize {
        usize::try_from(self.listed.size).unwrap_or(usize::MAX)
    }

    /// The result with the bytes of the file, which keep their share of the room: as text when they are UTF-8 that JSON
    /// can say, as base64 when not. They are what the digest is over: nothing is made uniform.
    pub(crate) fn read(
        self,
        shared: &Shared,
        era: Era,
        share: Option<Share>,
    ) -> Result<Vec<Part>, ErrorData> {
        // Errors name the URI, never a path of this disk.
        let not_found = || unknown("no resource is served at", &self.uri);
        let registry = &self.snapshot.registry;
        let candidate = self.snapshot.candidate(&self.key).ok_or_else(not_found)?;
        // What has grown since it was listed is not read: there is no room for it.
        let chunk = registry.read(candidate, &self.path, Slice::first(self.size())).map_err(|error| {
            if !registry.is_far(candidate) {
                return not_found();
            }
            // What its server does not give is no fault of the address, and its list may be another one by now.
            tracing::warn!(target: "prowess", reason = %error, "a file could not be had from another server");
            shared.live.nudge();
            ErrorData::internal_error("another server does not give this file", Some(about(&self.uri)))
        })?;
        if chunk.size > chunk.bytes.len() as u64 {
            // The next who asks finds its new size.
            self.snapshot.published_now(&self.key);
            return Err(unknown("this file was changed a moment ago, ask again:", &self.uri));
        }
        // What is given is what a list says: that of a moment ago or, if the file was changed since, that of now.
        let digest = digests::of_bytes(&chunk.bytes);
        let is_it = |listed: &FileEntry| listed.digest.as_ref().is_none_or(|listed| *listed == digest);
        if !is_it(&self.listed) {
            let now = self.snapshot.published_now(&self.key);
            if !now.is_some_and(|now| now.files.get(&self.path).is_some_and(is_it)) {
                return Err(not_found());
            }
        }
        let is_text = std::str::from_utf8(&chunk.bytes).is_ok();
        let bytes = Bytes::from(chunk.bytes);
        let bytes = match share {
            Some(share) => share.hold(bytes),
            None => bytes,
        };
        let file = if is_text { Part::text(bytes).unwrap_or_else(Part::Base64) } else { Part::Base64(bytes) };
        // The result with nothing in it, opened where the file belongs. Inside a string the quotes would be escaped.
        let (empty, mark) = match &file {
            Part::Base64(_) => (ResourceContents::blob("", &self.uri), r#""blob":""#),
            _ => (ResourceContents::text("", &self.uri), r#""text":""#),
        };
        let result = ReadResourceResult::new(vec![empty.with_mime_type(mime(self.path.as_str()))]);
        let mut begin = prebuilt::text_of(result, era)?;
        let at = begin.windows(mark.len()).position(|part| part == mark.as_bytes());
        let end = begin.split_off(at.map_or(begin.len(), |at| at + mark.len()));
        Ok(vec![Part::Json(begin), file, Part::Json(end)])
    }
}

/// Where every file can be found.
pub(crate) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new(TEMPLATE, "skill-file")
            .with_title("A file of a skill")
            .with_description("SKILL.md holds the instructions; the entry of a skill lists its other files"),
    ]
}

/// What a file is, by its name alone.
fn mime(path: &str) -> &'static str {
    let extension =
        path.rsplit('/').next().unwrap_or_default().rsplit_once('.').map_or("", |(_, extension)| extension);
    match extension.to_ascii_lowercase().as_str() {
        "md" | "markdown" => "text/markdown",
        "txt" | "text" | "log" | "" => "text/plain",
        "py" => "text/x-python",
        "sh" | "bash" => "application/x-sh",
        "js" | "mjs" | "cjs" => "text/javascript",
        "ts" | "tsx" => "text/x-typescript",
        "json" | "jsonl" => "application/json",
        "yaml" | "yml" => "application/yaml",
        "toml" => "application/toml",
        "xml" | "xsd" => "application/xml",
        "html" | "htm" => "text/html",
        "css" => "text/css",
        "csv" => "text/csv",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "pdf" => "application/pdf",
        "zip" => "application/zip",
        "ttf" => "font/ttf",
        _ => "application/octet-stream",
    }
}
