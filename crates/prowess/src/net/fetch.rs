//! Fetches with rules: safe redirects, verified digests, and a cache.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::address::{checked, names_private, resolved, same_site};
use super::{Deadline, HttpClient, HttpError, HttpRequest, HttpResponse, PublicHosts};
use prowess_core::{Digest, with_methods};

use crate::fs::atomic::{self, Durability};
use crate::fs::own;
use crate::registry::digests;

/// The limits of fetching.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpLimits {
    /// The maximum size of an index, in bytes.
    pub index_bytes: u64,
    /// The maximum number of values in an index: 50 for each of 10 000 skills.
    pub index_values: usize,
    /// The maximum size of a file, in bytes.
    pub file_bytes: u64,
    /// The maximum number of skills in an index.
    pub skills: usize,
    /// The maximum number of files of a skill that is listed file by file.
    pub files: usize,
    /// The maximum size of all files of such a skill, in bytes.
    pub skill_bytes: u64,
    /// The maximum number of redirects in a row.
    pub redirects: usize,
    /// The timeout for one request.
    pub timeout: Duration,
    /// The timeout for a list with everything that it fetches.
    pub list_timeout: Duration,
    /// The timeout for all files of a skill that are fetched together, such as for its digests.
    pub skill_timeout: Duration,
}

with_methods! { HttpLimits:
    with_index_bytes index_bytes: u64;
    with_index_values index_values: usize;
    with_file_bytes file_bytes: u64;
    with_skills skills: usize;
    with_files files: usize;
    with_skill_bytes skill_bytes: u64;
    with_redirects redirects: usize;
    with_timeout timeout: Duration;
    with_list_timeout list_timeout: Duration;
    with_skill_timeout skill_timeout: Duration;
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            index_bytes: 16 << 20,
            index_values: 500_000,
            file_bytes: 10 << 20,
            skills: 10_000,
            files: 1_000,
            skill_bytes: 25 << 20,
            redirects: 5,
            timeout: Duration::from_secs(10),
            list_timeout: Duration::from_secs(30),
            // Less than our server's timeout for a request, so that the client gets the reason.
            skill_timeout: Duration::from_secs(15),
        }
    }
}

/// The result of a fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fetched {
    /// The bytes.
    pub body: Vec<u8>,
    /// The address they came from, after all redirects.
    pub url: String,
    /// Whether the bytes came from a private address.
    pub private: bool,
}

/// What a fetch may do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Permission {
    /// The maximum size in bytes.
    pub limit: u64,
    /// Whether the address may be private. A host that once answered from a public address may not, whatever this says.
    pub private: bool,
    /// Whether a redirect may lead to another site.
    pub other_sites: bool,
    /// The deadline for the whole fetch.
    pub deadline: Deadline,
}

/// Fetches with rules.
#[derive(Clone)]
pub(crate) struct Fetcher {
    client: Arc<dyn HttpClient>,
    limits: HttpLimits,
    cache: Option<PathBuf>,
    /// Shared by clones: they fetch from the same sites.
    public: Arc<PublicHosts>,
}

impl fmt::Debug for Fetcher {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { client: _, limits, cache, public: _ } = self;
        formatter
            .debug_struct("Fetcher")
            .field("limits", limits)
            .field("cache", cache)
            .finish_non_exhaustive()
    }
}

/// The metadata of a cached response. It precedes the body in one file.
#[derive(Serialize, Deserialize)]
struct Remembered {
    url: String,
    etag: String,
    digest: Digest,
}

impl Fetcher {
    /// Fetches with a client.
    pub(crate) fn new(client: Arc<dyn HttpClient>) -> Self {
        Self { client, limits: HttpLimits::default(), cache: None, public: Arc::default() }
    }

    /// The same with other limits.
    #[must_use]
    pub(crate) fn within(mut self, limits: HttpLimits) -> Self {
        self.limits = limits;
        self
    }

    /// Caches responses in a folder. It can be deleted at any time. No file in it has the name of a file of a skill.
    #[must_use]
    pub(crate) fn with_cache(mut self, folder: impl Into<PathBuf>) -> Self {
        self.cache = Some(folder.into());
        self
    }

    /// The limits.
    pub(crate) fn limits(&self) -> &HttpLimits {
        &self.limits
    }

    /// Fetches the current content of an address.
    pub(crate) fn fetch(&self, url: &str, permission: Permission) -> Result<Fetched, HttpError> {
        let remembered = self.recall(url, permission.limit);
        let etag = remembered.as_ref().map(|(remembered, _)| remembered.etag.as_str());
        let (answer, at) = self.follow(url, etag, permission)?;
        if let (304, Some((_, body))) = (answer.status, &remembered) {
            return Ok(Fetched { body: body.clone(), url: at, private: answer.private });
        }
        if answer.status != 200 {
            return Err(HttpError::Status(answer.status));
        }
        if let Some(etag) = answer.etag {
            self.remember(url, etag, &answer.body);
        }
        Ok(Fetched { body: answer.body, url: at, private: answer.private })
    }

    /// Fetches content with this digest, or takes it from the cache. Never returns other bytes.
    pub(crate) fn fetch_exactly(
        &self,
        url: &str,
        digest: Digest,
        permission: Permission,
    ) -> Result<Vec<u8>, HttpError> {
        let file = self.cache.as_deref().map(|cache| cache.join("bytes").join(format!("{digest:x}")));
        if let Some(bytes) = file.as_deref().and_then(|file| self.read(file, permission.limit))
            && digests::of_bytes(&bytes) == digest
        {
            return Ok(bytes);
        }
        let (answer, _) = self.follow(url, None, permission)?;
        if answer.status != 200 {
            return Err(HttpError::Status(answer.status));
        }
        let got = digests::of_bytes(&answer.body);
        if got != digest {
            return Err(HttpError::Digest { wanted: digest.into(), got: got.into() });
        }
        if let Some(file) = file {
            // If the cache cannot be written, the next fetch is only slower.
            let _ = atomic::write_own(self.cache.as_deref(), &file, &[&answer.body], Durability::Rebuilt);
        }
        Ok(answer.body)
    }

    /// Requests an address, and follows redirects.
    fn follow(
        &self,
        url: &str,
        etag: Option<&str>,
        permission: Permission,
    ) -> Result<(HttpResponse, String), HttpError> {
        let Permission { limit, mut private, other_sites, deadline } = permission;
        let mut url = checked(url)?.into_string();
        for _ in 0..=self.limits.redirects {
            let allowed = private && self.public.may_be_private(&url);
            if !allowed && names_private(&url) {
                return Err(HttpError::Private(url));
            }
            let timeout = deadline.for_one(self.limits.timeout)?;
            let request = HttpRequest { url: &url, etag, limit, timeout, private: allowed };
            let answer = self.client.get(&request)?;
            // The client should refuse this; a client of the host may not know the rule.
            if answer.private && !allowed {
                return Err(HttpError::Private(url));
            }
            self.public.note(&url, answer.private);
            if !matches!(answer.status, 301 | 302 | 303 | 307 | 308) {
                return Ok((answer, url));
            }
            let Some(location) = &answer.location else { return Err(HttpError::Status(answer.status)) };
            let next = resolved(&url, location)?;
            if !other_sites && !same_site(&url, &next) {
                return Err(HttpError::OtherSite(next));
            }
            // After a public address, a private one is never allowed.
            private &= answer.private;
            url = next;
        }
        Err(HttpError::Redirects(self.limits.redirects))
    }

    fn file_for(&self, url: &str) -> Option<PathBuf> {
        let digest = digests::of_bytes(url.as_bytes());
        Some(self.cache.as_deref()?.join("tagged").join(format!("{digest:x}")))
    }

    fn recall(&self, url: &str, limit: u64) -> Option<(Remembered, Vec<u8>)> {
        let bytes = self.read(&self.file_for(url)?, limit.saturating_add(16 * 1024))?;
        let line = bytes.iter().position(|byte| *byte == b'\n')?;
        let remembered: Remembered = serde_json::from_slice(bytes.get(..line)?).ok()?;
        let body = bytes.get(line + 1..)?.to_vec();
        (remembered.url == url && digests::of_bytes(&body) == remembered.digest).then_some((remembered, body))
    }

    fn remember(&self, url: &str, etag: String, body: &[u8]) {
        let Some(file) = self.file_for(url) else { return };
        let remembered = Remembered { url: url.to_owned(), etag, digest: digests::of_bytes(body) };
        if let Ok(line) = serde_json::to_vec(&remembered) {
            // If the cache cannot be written, the next fetch is only slower.
            let _ =
                atomic::write_own(self.cache.as_deref(), &file, &[&line, b"\n", body], Durability::Rebuilt);
        }
    }

    fn read(&self, file: &Path, limit: u64) -> Option<Vec<u8>> {
        own::read(self.cache.as_deref()?, file, usize::try_from(limit).unwrap_or(usize::MAX - 1)).ok()
    }
}
