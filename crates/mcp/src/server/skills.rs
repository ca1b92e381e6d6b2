//! The methods of the skills extension: a page of skills, one skill, the children of a folder.

use std::collections::BTreeMap;
use std::time::Instant;

use bytes::Bytes;
use prowess::RelPath;
use rmcp::ErrorData;
use rmcp::model::{CacheScope, Resource};

use crate::protocol::uri;
use crate::protocol::wire::{self, DirectoryParams, DirectoryResult, Era, GetResult, ListParams, ListResult};
use crate::server::errors::{internal, not_served};
use crate::server::{Shared, blocking, prebuilt, resources};

/// The instructions for a model when the server offers no tools.
pub(crate) const INSTRUCTIONS: &str = "Skills are instructions for particular tasks. Before you begin a task, look \
     whether a skill fits it, read its SKILL.md, and follow it. Its other files are read when it points to them.";

/// A page of the list: entries in the order of their keys.
pub(crate) fn list(shared: &Shared, params: ListParams, era: Era) -> Result<Bytes, ErrorData> {
    let after = shared.after("skills", params.cursor.as_deref())?;
    let snapshot = shared.live.current();
    let (_, changes) = snapshot.state();
    let mut result = ListResult::default();
    let (mut last, end) = (None, blocking::end_of_list());
    for key in snapshot.listed_after(after.as_deref()) {
        if last.is_some() && (result.skills.len() == snapshot.page_size() || Instant::now() >= end) {
            result.next_cursor = last.map(|key: &str| shared.cursors.make("skills", key));
            break;
        }
        // A skill that is gone or not published is left out.
        if let Some(published) = snapshot.published_by_now(key) {
            result.skills.push(published.entry.clone());
        }
        last = Some(key);
    }
    let page =
        wire::finish(&result, era, Some((shared.live.ttl_ms(), CacheScope::Private))).map_err(internal)?;
    let page = prebuilt::text(&page)?;
    snapshot.cache_page(params.cursor, era, changes, page.clone());
    Ok(page)
}

/// One skill by its URI, listed or not.
pub(crate) fn get(shared: &Shared, uri: &str, era: Era) -> Result<Bytes, ErrorData> {
    let snapshot = shared.live.current();
    let found = uri::parse(uri)
        .filter(|(_, path)| path == "SKILL.md")
        .and_then(|(key, _)| snapshot.published(&key))
        .ok_or_else(|| not_served("no skill is served at", uri))?;
    let result = GetResult { skill: found.entry.clone() };
    let result =
        wire::finish(&result, era, Some((shared.live.ttl_ms(), CacheScope::Private))).map_err(internal)?;
    prebuilt::text(&result)
}

/// The direct children of a folder of a skill.
pub(crate) fn directory(shared: &Shared, params: DirectoryParams, era: Era) -> Result<Bytes, ErrorData> {
    let snapshot = shared.live.current();
    let not_a_folder = || not_served("no folder is served at", &params.uri);
    let (key, path) = uri::parse(&params.uri).ok_or_else(not_a_folder)?;
    let published = snapshot.published(&key).ok_or_else(not_a_folder)?;
    let below = if path.is_empty() { String::new() } else { format!("{path}/") };
    let mut children: BTreeMap<String, Resource> = BTreeMap::new();
    for file in &published.files.files {
        let rest = file.path.as_str().strip_prefix(below.as_str());
        let Some(rest) = rest.filter(|rest| !rest.is_empty()) else { continue };
        match rest.split_once('/') {
            Some((folder, _)) => {
                let path = RelPath::parse(&format!("{below}{folder}")).map_err(|_| not_a_folder())?;
                children.entry(folder.to_owned()).or_insert_with(|| {
                    Resource::new(uri::file(&key, &path), folder).with_mime_type(wire::FOLDER_TYPE)
                });
            }
            None => {
                children.insert(rest.to_owned(), resources::describe(&published, &key, file));
            }
        }
    }
    // Every skill has a SKILL.md, and empty folders are not listed: no children means no folder.
    if children.is_empty() {
        return Err(not_a_folder());
    }
    let list = format!("folder {}", params.uri);
    let after = shared.after(&list, params.cursor.as_deref())?;
    let mut rest = children.into_iter().filter(|(name, _)| after.as_ref().is_none_or(|after| name > after));
    let page: Vec<(String, Resource)> = rest.by_ref().take(snapshot.page_size()).collect();
    let more = rest.next().is_some();
    let next_cursor = page.last().filter(|_| more).map(|(name, _)| shared.cursors.make(&list, name));
    let resources = page.into_iter().map(|(_, resource)| resource).collect();
    prebuilt::text(&wire::finish(&DirectoryResult { resources, next_cursor }, era, None).map_err(internal)?)
}
