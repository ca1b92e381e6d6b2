//! The files of skills as MCP resources: the list, the description and the content of each.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use prowess::registry::digests;
use prowess::source::Slice;
use prowess::text::visible;
use prowess::{FileEntry, RelPath};
use rmcp::ErrorData;
use rmcp::model::{
    Annotations, ListResourcesResult, ReadResourceResult, Resource, ResourceContents, ResourceTemplate, Role,
};
use serde_json::Value;

use crate::library::published::{Published, own_path};
use crate::library::snapshot::Snapshot;
use crate::protocol::outgoing::Part;
use crate::protocol::response_budget::Reservation;
use crate::protocol::wire::Era;
use crate::protocol::{uri, wire};
use crate::server::Shared;
use crate::server::errors::{not_served, uri_data};
use crate::server::{blocking, prebuilt};

/// The URI template of all files.
pub(crate) const TEMPLATE: &str = "skill://{name}/{+path}";

/// SKILL.md of each listed skill, in pages. The other files are in the entry of the skill and in its folders.
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
    // No time to live: rmcp adds one where it belongs, and would not remove ours for older clients.
    let mut result = ListResourcesResult::with_all_items(items);
    result.next_cursor = next;
    Ok(result)
}

/// Describes a file. SKILL.md has the name and the description of its frontmatter, with hidden characters made visible.
pub(crate) fn describe(published: &Published, key: &str, file: &FileEntry) -> Resource {
    let own = file.path.as_str() == "SKILL.md";
    let text = |field: &str| {
        visible(published.frontmatter.get(field).and_then(Value::as_str).unwrap_or_default()).into_owned()
    };
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
pub(crate) struct ServedFile {
    snapshot: Arc<Snapshot>,
    uri: String,
    key: String,
    path: RelPath,
    listed: FileEntry,
}

/// Finds the file at a URI.
pub(crate) fn find(shared: &Shared, uri: String) -> Result<ServedFile, ErrorData> {
    let not_found = || not_served("no resource is served at", &uri);
    let (key, path) = uri::parse(&uri).filter(|(_, path)| !path.is_empty()).ok_or_else(not_found)?;
    let path = RelPath::from_request(&path).map_err(|_| not_found())?;
    let snapshot = shared.live.current();
    let published = snapshot.published(&key).ok_or_else(not_found)?;
    // Only listed files are served, also by name.
    let listed = published.files.get(&path).ok_or_else(not_found)?.clone();
    if listed.size > wire::MAX_BYTES {
        return Err(not_served("too large to be served:", &uri));
    }
    Ok(ServedFile { snapshot, uri, key, path, listed })
}

impl ServedFile {
    /// The size of the file when it was listed.
    pub(crate) fn size(&self) -> usize {
        usize::try_from(self.listed.size).unwrap_or(usize::MAX)
    }

    /// The result with the content of the file, which holds the reservation: as text when it is UTF-8 that is short
    /// enough in JSON, else as Base64. The bytes are not normalized, since the digest is computed from them.
    pub(crate) fn read(
        self,
        shared: &Shared,
        era: Era,
        reservation: Option<Reservation>,
    ) -> Result<Vec<Part>, ErrorData> {
        // Errors name the URI, never a path of the file system.
        let not_found = || not_served("no resource is served at", &self.uri);
        let registry = &self.snapshot.sessions.registry;
        let candidate = self.snapshot.candidate(&self.key).ok_or_else(not_found)?;
        // A file that has grown since it was listed is not read beyond its reservation.
        let chunk = registry.read(candidate, &self.path, Slice::first(self.size())).map_err(|error| {
            if !registry.is_remote(candidate) {
                return not_found();
            }
            // The URI was valid, and the list of the remote server may have changed.
            tracing::warn!(target: "prowess", reason = %error, "a file could not be read from another server");
            shared.live.poll_soon();
            ErrorData::internal_error("another server does not give this file", Some(uri_data(&self.uri)))
        })?;
        if chunk.size > chunk.bytes.len() as u64 {
            // The next request finds the new size.
            self.snapshot.published_now(&self.key);
            return Err(not_served("this file was changed a moment ago, ask again:", &self.uri));
        }
        // The content must match a digest: the listed one or, if the file was changed since, the current one.
        let digest = digests::of_bytes(&chunk.bytes);
        let matches = |listed: &FileEntry| listed.digest.is_none_or(|listed| listed == digest);
        if !matches(&self.listed) {
            let now = self.snapshot.published_now(&self.key);
            if !now.is_some_and(|now| now.files.get(&self.path).is_some_and(matches)) {
                return Err(not_found());
            }
        }
        let is_text = std::str::from_utf8(&chunk.bytes).is_ok();
        let bytes = Bytes::from(chunk.bytes);
        let bytes = match reservation {
            Some(reservation) => reservation.hold(bytes),
            None => bytes,
        };
        let file = if is_text { Part::text(bytes).unwrap_or_else(Part::Base64) } else { Part::Base64(bytes) };
        // An empty result, split where the content belongs. The mark cannot occur in a string, where quotes are escaped.
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

/// The URI templates.
pub(crate) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new(TEMPLATE, "skill-file")
            .with_title("A file of a skill")
            .with_description("SKILL.md holds the instructions; the entry of a skill lists its other files"),
    ]
}

/// The MIME type of a file, from its extension.
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
