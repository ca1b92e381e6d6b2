//! The skills of another MCP server as a source: listed without reading files, and checked against the list when read.

mod limits;
mod listing;
mod reconnect;
mod servers;
mod token_file;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use prowess::internal::{is_exposed, is_fetchable, locked};
use prowess::net::{HttpError, UreqClient};
use prowess::registry::digests::{self, DigestLimits};
use prowess::source::spec::Server;
use prowess::source::{Chunk, Listing, Slice, Source, SourceTraits, found};
use prowess::{
    Found, Location, Manifest, Obstacle, Origin, RelPath, Scope, SourceError, SourceErrorKind, SourceSkill,
};
use rmcp::model::{ClientRequest, CustomRequest};
use serde_json::{Value, json};

pub use self::limits::McpLimits;
use self::listing::{InvalidEntry, ListedFile, ListedSkill};
use self::reconnect::{Reconnecting, RequestError};
pub use self::servers::Servers;
use self::token_file::token;
use crate::client::{Endpoint, shown};
use crate::protocol::wire;

/// The method that reads a file.
const READ: &str = "resources/read";
/// The maximum number of invalid entries that are reported one by one.
const MAX_PROBLEMS: usize = 20;
const REPORT: &str = "report this to the operator of the server; its list must match its files";

/// The skills of another MCP server.
///
/// A skill is identified by the label that the host gave the server, and its URI. No request is sent before the first
/// list, and no file is read before it is needed: lists and approvals use what the server says of its files. Every read
/// is checked against that. In a library, the layer around the source has the label as its prefix and requires approval.
pub struct McpSource {
    label: Arc<str>,
    id: String,
    /// Its address or command line.
    at: String,
    connection: Reconnecting,
    limits: McpLimits,
    /// The latest list, by location.
    listed: Mutex<BTreeMap<Location, Arc<ListedSkill>>>,
    /// Whether that list was read to its end.
    is_whole: AtomicBool,
    /// The URIs of skills that were requested by name, listed or not.
    named: Mutex<BTreeSet<String>>,
    /// The file that was read last, so that it can be read in parts.
    last: Mutex<Option<(String, Arc<Vec<u8>>)>>,
}

impl fmt::Debug for McpSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The endpoint may contain a token.
        formatter.debug_struct("McpSource").field("id", &self.id).finish_non_exhaustive()
    }
}

impl McpSource {
    /// The skills of a server, under a label that is unique among the servers of the host.
    pub fn new(label: &str, server: &Server) -> Result<Self, SourceError> {
        let endpoint = match server {
            Server::Started { argv, folder } => {
                Endpoint::Process { argv: argv.clone(), folder: folder.clone() }
            }
            Server::At { url, ca_file, token_file } => {
                let refused = |reason: String, hint| {
                    let request = Some(server.shown().into());
                    SourceErrorKind::Server { request, reason, hint }
                        .at_location(Location::Text(label.into()))
                };
                if !is_fetchable(url) {
                    return Err(refused(HttpError::BadAddress.to_string(), "check the address"));
                }
                // The error of a file does not name the server.
                let file = |key: &str, error: SourceError| {
                    refused(format!("{key}: {error}"), "check the file that is named for this server")
                };
                let token = token_file.as_deref().map(token).transpose();
                let token = token.map_err(|error| file("token_file", error))?;
                if token.is_some() && is_exposed(url) {
                    let reason = "a token is sent over https, or to this machine".to_owned();
                    return Err(refused(reason, "name an https:// address"));
                }
                let client = UreqClient::new(ca_file.as_deref()).map_err(|error| file("ca_file", error))?;
                Endpoint::Http { url: url.clone(), token, client, public: Arc::default() }
            }
        };
        Ok(Self {
            label: label.into(),
            id: format!("mcp:{label}"),
            at: server.shown(),
            connection: Reconnecting::new(endpoint),
            limits: McpLimits::default(),
            listed: Mutex::default(),
            is_whole: AtomicBool::new(false),
            named: Mutex::default(),
            last: Mutex::default(),
        })
    }

    /// Sets the limits.
    #[must_use]
    pub fn with_limits(mut self, limits: McpLimits) -> Self {
        self.limits = limits;
        self
    }

    /// A skill by the URI of its SKILL.md, which the server need not list. From now on lists have it too.
    pub fn get(&self, uri: &str) -> Result<Found, SourceError> {
        let (found, listed) = self.named(uri, self.limits)?;
        locked(&self.listed).insert(found.entry.origin.location.clone(), Arc::new(listed));
        locked(&self.named).insert(uri.to_owned());
        Ok(found)
    }

    fn named(&self, uri: &str, limits: McpLimits) -> Result<(Found, ListedSkill), SourceError> {
        let request = CustomRequest::new(wire::GET, Some(json!({ "uri": uri })));
        let about = About::Resource(uri);
        let result = self.request(ClientRequest::CustomRequest(request), about, limits)?;
        let listed = ListedSkill::read(result.get("skill").unwrap_or(&Value::Null), &self.limits);
        let listed = listed.map_err(|bad| self.invalid_entry(&bad, about))?;
        if listed.uri != uri {
            let reason = format!("it answers with another skill: {}", shown(&listed.uri));
            return Err(self.error(about, reason, REPORT));
        }
        Ok((self.found(&listed), listed))
    }

    /// Reads the list page by page. Skills that were read before an error are kept.
    fn pages(
        &self,
        started: Instant,
        listing: &mut Listing,
        listed: &mut BTreeMap<Location, Arc<ListedSkill>>,
    ) -> Result<(), ListError> {
        let failed = |failed: RequestError| {
            let end = if failed.error.is_final { ListError::Final } else { ListError::Failed };
            end(self.request_error(LIST, failed))
        };
        let connection = self.connection.connection(self.limits).map_err(failed)?;
        let before = connection.received();
        let mut cursors = BTreeSet::new();
        let mut cursor: Option<String> = None;
        let (mut bad, mut seen) = (0, 0);
        let stop = |reason: String| Err(ListError::Refused(self.error(LIST, reason, REPORT)));
        for page in 1.. {
            let params = cursor.as_ref().map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
            let request = CustomRequest::new(wire::LIST, Some(params));
            let limits = self.remaining(started, LIST).map_err(ListError::Failed)?;
            let request = ClientRequest::CustomRequest(request);
            let result = self.connection.request(request, limits).map_err(failed)?;
            let Some(skills) = result.get("skills").and_then(Value::as_array) else {
                return stop("skills: a list is wanted".to_owned());
            };
            for skill in skills {
                if listed.len() >= self.limits.skills {
                    return stop(format!("it has more than {} skills", self.limits.skills));
                }
                let at = seen;
                seen += 1;
                if let Err(error) = self.add(skill, at, listing, listed) {
                    bad += 1;
                    listing.problems.extend((bad <= MAX_PROBLEMS).then_some(error));
                }
            }
            match result.get("nextCursor") {
                None | Some(Value::Null) => break,
                Some(Value::String(next)) if !cursors.insert(next.clone()) => {
                    return stop("its list goes in a circle: a cursor came twice".to_owned());
                }
                Some(Value::String(next)) => cursor = Some(next.clone()),
                Some(_) => return stop("nextCursor: a text is wanted".to_owned()),
            }
            if page >= self.limits.pages {
                return stop(format!("its list has more than {} pages", self.limits.pages));
            }
            if connection.received() - before > self.limits.list_bytes {
                return stop(format!("its list has more than {} bytes", self.limits.list_bytes));
            }
        }
        if bad > MAX_PROBLEMS {
            let reason = format!("{} more of its entries are not believed", bad - MAX_PROBLEMS);
            listing.problems.push(self.error(LIST, reason, REPORT));
        }
        Ok(())
    }

    /// The limits for the next request of a list: all its requests share one timeout.
    fn remaining(&self, started: Instant, about: About<'_>) -> Result<McpLimits, SourceError> {
        let left = self.limits.list_time.saturating_sub(started.elapsed());
        if left.is_zero() {
            let reason = format!("its list took more than {} ms", self.limits.list_time.as_millis());
            return Err(self.error(about, reason, REPORT));
        }
        Ok(self.limits.with_time(self.limits.time.min(left)))
    }

    fn add(
        &self,
        skill: &Value,
        at: usize,
        listing: &mut Listing,
        listed: &mut BTreeMap<Location, Arc<ListedSkill>>,
    ) -> Result<(), SourceError> {
        let place = format!("{}[{at}]", wire::LIST);
        let read = ListedSkill::read(skill, &self.limits)
            .map_err(|bad| self.invalid_entry(&bad, About::Request(&place)))?;
        let found = self.found(&read);
        let location = found.entry.origin.location.clone();
        if listed.contains_key(&location) {
            return Err(self.error(About::Resource(&read.uri), "it is listed twice".to_owned(), REPORT));
        }
        listed.insert(location, Arc::new(read));
        listing.push(found);
        Ok(())
    }

    /// What is known of a listed skill.
    fn found(&self, listed: &ListedSkill) -> Found {
        let location = Location::Mcp { label: self.label.clone(), uri: listed.uri.as_str().into() };
        let at = Origin::at(location).with_scope(Scope::Remote);
        let mut found = found(&listed.document(), &at);
        found.announced = Some(digests::announced(listed.frontmatter.clone()));
        if listed.files.is_none() && found.obstacle.is_none() {
            // Without digests there is nothing to approve.
            found.obstacle = Some(Obstacle::Untrusted);
        }
        found
    }

    fn listed(&self, skill: SourceSkill<'_>) -> Result<Arc<ListedSkill>, SourceError> {
        let location = skill.location();
        let listed = locked(&self.listed);
        listed.get(location).cloned().ok_or_else(|| SourceErrorKind::NotListed.at_location(location.clone()))
    }

    /// The bytes of a file, if they match the list.
    fn fetch(&self, listed: &ListedSkill, path: &str, file: &ListedFile) -> Result<Vec<u8>, SourceError> {
        let request = CustomRequest::new(READ, Some(json!({ "uri": file.uri })));
        let mut result =
            self.request(ClientRequest::CustomRequest(request), About::Resource(&file.uri), self.limits)?;
        let contents = result.get_mut("contents").and_then(Value::as_array_mut);
        let one = contents.and_then(|contents| {
            contents.iter_mut().find(|part| part.get("uri").and_then(Value::as_str) == Some(&file.uri))
        });
        let bytes = match (
            one.as_ref().and_then(|one| one.get("text")),
            one.as_ref().and_then(|one| one.get("blob")),
        ) {
            (Some(Value::String(text)), None) => Some(text.clone().into_bytes()),
            (None, Some(Value::String(blob))) => prowess::internal::from_base64(blob),
            _ => None,
        };
        let Some(bytes) = bytes else {
            let reason = "contents: text or base64 of this very file is wanted".to_owned();
            return Err(self.error(About::Resource(&file.uri), reason, REPORT));
        };
        match listed.mismatch(path, file, &bytes) {
            None => Ok(bytes),
            Some(reason) => {
                Err(SourceErrorKind::NotAsListed { reason }.at_location(self.resource(&file.uri)))
            }
        }
    }

    fn request(
        &self,
        request: ClientRequest,
        about: About<'_>,
        limits: McpLimits,
    ) -> Result<Value, SourceError> {
        self.connection.request(request, limits).map_err(|failed| self.request_error(about, failed))
    }

    fn request_error(
        &self,
        about: About<'_>,
        RequestError { connecting, error }: RequestError,
    ) -> SourceError {
        let place = format!("connecting to {}", self.at);
        let about = if connecting { About::Request(&place) } else { about };
        self.error(about, error.reason, error.hint)
    }

    /// The error for an invalid entry, named by its position when it has no URI.
    fn invalid_entry(&self, bad: &InvalidEntry, place: About<'_>) -> SourceError {
        let about = if bad.uri.is_empty() { place } else { About::Resource(&bad.uri) };
        self.error(about, bad.reason.clone(), REPORT)
    }

    fn error(&self, about: About<'_>, reason: String, hint: &'static str) -> SourceError {
        let (at, request) = match about {
            About::Resource(uri) => (self.resource(uri), None),
            About::Request(request) => (Location::Text(self.label.clone()), Some(shown(request).into())),
        };
        SourceErrorKind::Server { request, reason, hint }.at_location(at)
    }

    /// The location of a resource.
    fn resource(&self, uri: &str) -> Location {
        Location::Mcp { label: self.label.clone(), uri: shown(uri).into() }
    }

    fn dynamic_files(&self, listed: &ListedSkill) -> SourceError {
        let reason = "its files are made on demand, so no digest binds them to what was approved".to_owned();
        self.error(About::Resource(&listed.uri), reason, "ask the operator of the server to list its files")
    }
}

impl Source for McpSource {
    fn id(&self) -> &str {
        &self.id
    }

    fn traits(&self) -> SourceTraits {
        SourceTraits::remote()
    }

    fn list(&self) -> Result<Listing, SourceError> {
        let mut listing = Listing::default();
        let mut listed = BTreeMap::new();
        let started = Instant::now();
        let mut is_whole = true;
        match self.pages(started, &mut listing, &mut listed) {
            Ok(()) => {}
            // A part is better than nothing, and a whole list than a part.
            // The server has no list any more, or gives none to this host: what it listed is forgotten.
            Err(ListError::Final(error)) if !locked(&self.listed).is_empty() => {
                (listing, listed) = Default::default();
                listing.problems.push(error);
            }
            Err(ListError::Final(error)) => return Err(error),
            Err(ListError::Failed(error)) if listed.is_empty() || self.is_whole.load(Ordering::Relaxed) => {
                return Err(error);
            }
            Err(ListError::Refused(error)) if listed.is_empty() => return Err(error),
            Err(ListError::Failed(error) | ListError::Refused(error)) => {
                is_whole = false;
                listing.problems.push(error);
            }
        }
        let named = locked(&self.named).clone();
        for uri in named {
            if listed.values().any(|skill| skill.uri == uri) {
                continue;
            }
            match self.remaining(started, About::Resource(&uri)).and_then(|limits| self.named(&uri, limits)) {
                Ok((found, named)) => {
                    listed.insert(found.entry.origin.location.clone(), Arc::new(named));
                    listing.push(found);
                }
                Err(error) => listing.problems.push(error),
            }
        }
        *locked(&self.listed) = listed;
        self.is_whole.store(is_whole, Ordering::Relaxed);
        Ok(listing)
    }

    fn files(&self, skill: SourceSkill<'_>) -> Result<Manifest, SourceError> {
        let listed = self.listed(skill)?;
        listed.manifest().ok_or_else(|| self.dynamic_files(&listed))
    }

    /// The listed files, without reading them: any change of a path, a size or a digest is another manifest.
    fn manifest(&self, skill: SourceSkill<'_>, _: &DigestLimits) -> Result<Manifest, SourceError> {
        // The files of one list do not go with the frontmatter of another.
        let listed = self.listed(skill)?;
        if skill.announced.is_some_and(|announced| announced.frontmatter != listed.frontmatter) {
            let reason = "its server lists it otherwise by now".to_owned();
            return Err(SourceErrorKind::NotAsListed { reason }.at_location(self.resource(&listed.uri)));
        }
        listed.manifest().ok_or_else(|| self.dynamic_files(&listed))
    }

    fn read(&self, skill: SourceSkill<'_>, path: &RelPath, slice: Slice) -> Result<Chunk, SourceError> {
        let listed = self.listed(skill)?;
        let files = listed.files.as_ref().ok_or_else(|| self.dynamic_files(&listed))?;
        // Only listed files are requested.
        let Some(file) = files.get(path.as_str()) else {
            let reason = "this file is not among those that the server lists".to_owned();
            let mut error = self.error(About::Resource(&listed.uri), reason, "ask for one that is listed");
            error.file = Some(path.as_str().into());
            return Err(error);
        };
        let mark = format!("{} {}", file.uri, file.digest);
        // Later parts come from the bytes that were checked when the first part was read.
        if slice.offset > 0
            && let Some((_, bytes)) = locked(&self.last).as_ref().filter(|(last, _)| *last == mark)
        {
            return Ok(slice.of(bytes));
        }
        let bytes = Arc::new(self.fetch(&listed, path.as_str(), file)?);
        let chunk = slice.of(&bytes);
        let more = slice.offset.saturating_add(chunk.bytes.len() as u64) < chunk.size;
        *locked(&self.last) = more.then_some((mark, bytes));
        Ok(chunk)
    }
}

/// Why a list ended early.
enum ListError {
    /// The server did not answer.
    Failed(SourceError),
    /// It answered that it gives no list, and not only for a moment.
    Final(SourceError),
    /// What it answered is not accepted.
    Refused(SourceError),
}

/// The subject of an error.
#[derive(Clone, Copy)]
enum About<'a> {
    /// The resource with this URI.
    Resource(&'a str),
    /// A request that is about no resource.
    Request(&'a str),
}

/// The request for the list of skills.
const LIST: About<'static> = About::Request(wire::LIST);
