//! Another MCP server's skills as a source: listed without reading, read only as listed, believed only when it matches.

mod limits;
mod listing;
mod reconnect;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use prowess::fs::location::path_of;
use prowess::net::{HttpError, UreqClient, is_fetchable, is_local, is_protected};
use prowess::registry::digests::DigestLimits;
use prowess::source::open::OpenServer;
use prowess::source::spec::Server;
use prowess::source::{Chunk, Offer, Slice, Source, candidate};
use prowess::{Candidate, Location, Manifest, Obstacle, Origin, RelPath, Scope, SourceError};
use rmcp::model::{ClientRequest, CustomRequest};
use serde_json::{Map, Value, json};

pub use self::limits::McpLimits;
use self::listing::{Bad, File, Promised};
use self::reconnect::{Link, Unanswered};
use crate::client::{Reach, shown};
use crate::lock::locked;
use crate::protocol::wire;

/// What reads a file of a skill.
const READ: &str = "resources/read";
/// The largest file that is read for a token.
const MAX_TOKEN: usize = 4096;
/// The most entries that are complained about one by one.
const MAX_PROBLEMS: usize = 20;
const TELL: &str = "tell whoever runs the server; what it says of a skill must be so";

/// Opens MCP servers for a library.
#[derive(Clone, Copy, Debug, Default)]
pub struct Servers {
    /// The most that is taken from each.
    pub limits: McpLimits,
}

impl OpenServer for Servers {
    fn open(&self, server: &Server, label: &str) -> Result<Arc<dyn Source>, SourceError> {
        Ok(Arc::new(McpSource::new(label, server)?.within(self.limits)))
    }
}

/// The skills of another MCP server.
///
/// A skill is known by the label that the host gave the server, and its URI. Nothing is asked before the first list,
/// and no file is read before somebody reads it: a list and an approval make do with what the server says of its files.
/// Every read is held to that. In a library the layer around it has the label as its prefix and asks for approval.
pub struct McpSource {
    label: Arc<str>,
    id: String,
    /// Where it is, or what it is started by.
    at: String,
    link: Link,
    limits: McpLimits,
    /// What the server promised last, by location.
    promised: Mutex<BTreeMap<Location, Arc<Promised>>>,
    /// The skills that somebody named, listed or not.
    named: Mutex<BTreeSet<String>>,
    /// The file that was read last, for whoever reads it in parts.
    last: Mutex<Option<(String, Arc<Vec<u8>>)>>,
}

impl fmt::Debug for McpSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The reach may hold a token.
        formatter.debug_struct("McpSource").field("id", &self.id).finish_non_exhaustive()
    }
}

impl McpSource {
    /// The skills of a server, under a label that the host gives it and no other server has.
    pub fn new(label: &str, server: &Server) -> Result<Self, SourceError> {
        let reach = match server {
            Server::Started { argv, folder } => Reach::Program { argv: argv.clone(), folder: folder.clone() },
            Server::At { url, ca_file, token_file } => {
                let refused = |reason: String, hint| {
                    let path = format!("{label}: {}", server.shown()).into();
                    SourceError::Server { path, reason, hint }
                };
                if !is_fetchable(url) {
                    return Err(refused(HttpError::BadAddress.to_string(), "check the address"));
                }
                // Whose file it is cannot be seen from the file.
                let file = |key: &str, error: SourceError| {
                    refused(format!("{key}: {error}"), "check the file that is named for this server")
                };
                let token = token_file.as_deref().map(token).transpose();
                let token = token.map_err(|error| file("token_file", error))?;
                if token.is_some() && !is_protected(url) && !is_local(url) {
                    let reason = "a token is sent over https, or to this machine".to_owned();
                    return Err(refused(reason, "name an https:// address"));
                }
                let client = UreqClient::new(ca_file.as_deref()).map_err(|error| file("ca_file", error))?;
                Reach::Web { url: url.clone(), token, client, public: Arc::default() }
            }
        };
        Ok(Self {
            label: label.into(),
            id: format!("mcp:{label}"),
            at: server.shown(),
            link: Link::new(reach),
            limits: McpLimits::default(),
            promised: Mutex::default(),
            named: Mutex::default(),
            last: Mutex::default(),
        })
    }

    /// Takes no more than this.
    #[must_use]
    pub fn within(mut self, limits: McpLimits) -> Self {
        self.limits = limits;
        self
    }

    /// A skill by the URI of its SKILL.md, which the server need not list. From now on lists have it too.
    pub fn get(&self, uri: &str) -> Result<Arc<Candidate>, SourceError> {
        let (candidate, promised) = self.named(uri, self.limits)?;
        locked(&self.promised).insert(candidate.entry.origin.location.clone(), Arc::new(promised));
        locked(&self.named).insert(uri.to_owned());
        Ok(Arc::new(candidate))
    }

    fn named(&self, uri: &str, limits: McpLimits) -> Result<(Candidate, Promised), SourceError> {
        let request = CustomRequest::new(wire::GET, Some(json!({ "uri": uri })));
        let result = self.ask(ClientRequest::CustomRequest(request), uri, limits)?;
        let promised = Promised::read(result.get("skill").unwrap_or(&Value::Null), &self.limits);
        let promised = promised.map_err(|bad| self.disbelieved(&bad, uri))?;
        if promised.uri != uri {
            let reason = format!("it answers with another skill: {}", shown(&promised.uri));
            return Err(self.error(uri, reason, TELL));
        }
        Ok((self.candidate(&promised), promised))
    }

    /// Lists one page after the other. What came before something went wrong stands.
    fn pages(
        &self,
        started: Instant,
        offer: &mut Offer,
        promised: &mut BTreeMap<Location, Arc<Promised>>,
    ) -> Result<(), SourceError> {
        let connection =
            self.link.connection(self.limits).map_err(|failed| self.unanswered(wire::LIST, failed))?;
        let before = connection.received();
        let mut cursors = BTreeSet::new();
        let mut cursor: Option<String> = None;
        let (mut bad, mut seen) = (0, 0);
        let stop = |reason: String| Err(self.error(wire::LIST, reason, TELL));
        for page in 1.. {
            let params = cursor.as_ref().map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
            let request = CustomRequest::new(wire::LIST, Some(params));
            let limits = self.left(started, wire::LIST)?;
            let result = self.ask(ClientRequest::CustomRequest(request), wire::LIST, limits)?;
            let Some(skills) = result.get("skills").and_then(Value::as_array) else {
                return stop("skills: a list is wanted".to_owned());
            };
            for skill in skills {
                if promised.len() >= self.limits.skills {
                    return stop(format!("it has more than {} skills", self.limits.skills));
                }
                let at = seen;
                seen += 1;
                if let Err(error) = self.take(skill, at, offer, promised) {
                    bad += 1;
                    offer.problems.extend((bad <= MAX_PROBLEMS).then_some(error));
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
            offer.problems.push(self.error(wire::LIST, reason, TELL));
        }
        Ok(())
    }

    /// The limits for the next question of a list: all of its questions share one time.
    fn left(&self, started: Instant, about: &str) -> Result<McpLimits, SourceError> {
        let left = self.limits.list_time.saturating_sub(started.elapsed());
        if left.is_zero() {
            let reason = format!("its list took more than {} ms", self.limits.list_time.as_millis());
            return Err(self.error(about, reason, TELL));
        }
        Ok(McpLimits { time: self.limits.time.min(left), ..self.limits })
    }

    fn take(
        &self,
        skill: &Value,
        at: usize,
        offer: &mut Offer,
        promised: &mut BTreeMap<Location, Arc<Promised>>,
    ) -> Result<(), SourceError> {
        let place = format!("{}[{at}]", wire::LIST);
        let read = Promised::read(skill, &self.limits).map_err(|bad| self.disbelieved(&bad, &place))?;
        let candidate = self.candidate(&read);
        let location = candidate.entry.origin.location.clone();
        if promised.contains_key(&location) {
            return Err(self.error(&read.uri, "it is listed twice".to_owned(), TELL));
        }
        promised.insert(location, Arc::new(read));
        offer.candidates.push(Arc::new(candidate));
        Ok(())
    }

    /// What an entry makes in a catalog.
    fn candidate(&self, promised: &Promised) -> Candidate {
        let location = Location::Mcp { label: self.label.clone(), uri: promised.uri.as_str().into() };
        let at = Origin::at(location).in_scope(Scope::Remote);
        let mut candidate = candidate(&promised.document(), &at);
        if promised.files.is_none() && candidate.obstacle.is_none() {
            // There is nothing that an approval could be bound to.
            candidate.obstacle = Some(Obstacle::Untrusted);
        }
        candidate
    }

    fn promised(&self, skill: &Candidate) -> Result<Arc<Promised>, SourceError> {
        let location = &skill.entry.origin.location;
        let promised = locked(&self.promised);
        promised.get(location).cloned().ok_or_else(|| SourceError::Missing { path: path_of(location) })
    }

    /// The bytes of a file, if they are those that were promised.
    fn fetch(&self, promised: &Promised, path: &str, file: &File) -> Result<Vec<u8>, SourceError> {
        let request = CustomRequest::new(READ, Some(json!({ "uri": file.uri })));
        let mut result = self.ask(ClientRequest::CustomRequest(request), &file.uri, self.limits)?;
        let contents = result.get_mut("contents").and_then(Value::as_array_mut);
        let one = contents.and_then(|contents| {
            contents.iter_mut().find(|part| part.get("uri").and_then(Value::as_str) == Some(&file.uri))
        });
        let bytes = match (
            one.as_ref().and_then(|one| one.get("text")),
            one.as_ref().and_then(|one| one.get("blob")),
        ) {
            (Some(Value::String(text)), None) => Some(text.clone().into_bytes()),
            (None, Some(Value::String(blob))) => prowess::resources::from_base64(blob),
            _ => None,
        };
        let Some(bytes) = bytes else {
            let reason = "contents: text or base64 of this very file is wanted".to_owned();
            return Err(self.error(&file.uri, reason, TELL));
        };
        match promised.broken_by(path, file, &bytes) {
            None => Ok(bytes),
            Some(reason) => Err(SourceError::NotAsListed { path: self.about(&file.uri), reason }),
        }
    }

    fn ask(&self, request: ClientRequest, about: &str, limits: McpLimits) -> Result<Value, SourceError> {
        self.link.ask(request, limits).map_err(|failed| self.unanswered(about, failed))
    }

    fn unanswered(&self, about: &str, Unanswered { connecting, failure }: Unanswered) -> SourceError {
        let place = format!("connecting to {}", self.at);
        self.error(if connecting { &place } else { about }, failure.reason, failure.hint)
    }

    /// What is wrong with an entry, which goes by its place where it has no name.
    fn disbelieved(&self, bad: &Bad, place: &str) -> SourceError {
        self.error(if bad.uri.is_empty() { place } else { &bad.uri }, bad.reason.clone(), TELL)
    }

    fn error(&self, about: &str, reason: String, hint: &'static str) -> SourceError {
        SourceError::Server { path: self.about(about), reason, hint }
    }

    /// What an error is about: the label, and what was asked for.
    fn about(&self, what: &str) -> PathBuf {
        format!("{}: {}", self.label, shown(what)).into()
    }

    fn unpromised(&self, promised: &Promised) -> SourceError {
        let reason = "its files are made on demand, so no digests hold them to what was approved".to_owned();
        self.error(&promised.uri, reason, "ask whoever runs the server to list its files")
    }
}

impl Source for McpSource {
    fn id(&self) -> &str {
        &self.id
    }

    fn is_far(&self) -> bool {
        true
    }

    fn list(&self) -> Result<Offer, SourceError> {
        let mut offer = Offer::default();
        let mut promised = BTreeMap::new();
        let started = Instant::now();
        if let Err(error) = self.pages(started, &mut offer, &mut promised) {
            if promised.is_empty() {
                return Err(error);
            }
            offer.problems.push(error);
        }
        let named = locked(&self.named).clone();
        for uri in named {
            if promised.values().any(|listed| listed.uri == uri) {
                continue;
            }
            match self.left(started, &uri).and_then(|limits| self.named(&uri, limits)) {
                Ok((candidate, named)) => {
                    promised.insert(candidate.entry.origin.location.clone(), Arc::new(named));
                    offer.candidates.push(Arc::new(candidate));
                }
                Err(error) => offer.problems.push(error),
            }
        }
        *locked(&self.promised) = promised;
        Ok(offer)
    }

    fn announced(&self, skill: &Candidate) -> Option<Map<String, Value>> {
        Some(self.promised(skill).ok()?.frontmatter.clone())
    }

    fn files(&self, skill: &Candidate) -> Result<Manifest, SourceError> {
        let promised = self.promised(skill)?;
        promised.manifest().ok_or_else(|| self.unpromised(&promised))
    }

    /// As the entry says, and nothing is read for it: any change of a path, a size or a digest is another manifest.
    fn manifest(&self, skill: &Candidate, _: &DigestLimits) -> Result<Manifest, SourceError> {
        self.files(skill)
    }

    fn read(&self, skill: &Candidate, path: &RelPath, slice: Slice) -> Result<Chunk, SourceError> {
        let promised = self.promised(skill)?;
        let files = promised.files.as_ref().ok_or_else(|| self.unpromised(&promised))?;
        // What the entry does not list is not asked for.
        let Some(file) = files.get(path.as_str()) else {
            let about = format!("{} {path}", promised.uri);
            let reason = "this file is not among those that the server lists".to_owned();
            return Err(self.error(&about, reason, "ask for one that is listed"));
        };
        let mark = format!("{} {}", file.uri, file.digest);
        // Only who goes on with a file gets what was read and held to its digest a moment ago.
        if slice.offset > 0
            && let Some((_, bytes)) = locked(&self.last).as_ref().filter(|(last, _)| *last == mark)
        {
            return Ok(slice.of(bytes));
        }
        let bytes = Arc::new(self.fetch(&promised, path.as_str(), file)?);
        let chunk = slice.of(&bytes);
        let more = slice.offset.saturating_add(chunk.bytes.len() as u64) < chunk.size;
        *locked(&self.last) = more.then_some((mark, bytes));
        Ok(chunk)
    }
}

/// The token in a file.
fn token(file: &Path) -> Result<String, SourceError> {
    let bytes = prowess::fs::read::read_small(file, MAX_TOKEN)?;
    let text = String::from_utf8_lossy(&bytes);
    let token = text.trim();
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        let reason = "a token is visible characters without blanks".to_owned();
        return Err(SourceError::Damaged { path: file.to_owned(), reason });
    }
    Ok(token.to_owned())
}
