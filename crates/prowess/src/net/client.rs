//! HTTP requests with ureq.

use std::io::{self, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ureq::config::Config;
use ureq::http::response::Parts;
use ureq::http::{Request, Uri, header};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};
use ureq::{Agent, Error};

use super::address::{checked, names_private};
use super::{HttpClient, HttpError, HttpRequest, HttpResponse};
use crate::error::{SourceError, SourceErrorKind};
use crate::fs::read;
use crate::source::spec::public_address::is_private;

/// The maximum size of a file of certificates.
const MAX_CERTIFICATES: usize = 16 << 20;

/// A response whose body has not been read yet.
pub struct HttpAnswer {
    /// Its status and headers.
    pub head: Parts,
    /// Its body. Only the timeout of the request limits it.
    pub body: Box<dyn Read + Send + Sync>,
    /// Whether it came from a private address.
    pub private: bool,
}

/// The HTTP client of Prowess. It sends no cookies and no credentials, and keeps no connection open.
#[derive(Clone, Debug)]
pub struct UreqClient {
    tls: TlsConfig,
}

impl UreqClient {
    /// A client that trusts the certificates in a file, or the usual root certificates if there is no file.
    pub fn new(ca_file: Option<&Path>) -> Result<Self, SourceError> {
        let mut tls = TlsConfig::builder();
        if let Some(path) = ca_file {
            let pem = read::read_small(path, MAX_CERTIFICATES)?;
            let certificates: Vec<Certificate<'static>> = parse_pem(&pem)
                .filter_map(|item| match item {
                    Ok(PemItem::Certificate(certificate)) => Some(certificate),
                    _ => None,
                })
                .collect();
            if certificates.is_empty() {
                let reason = "there is no certificate in it".to_owned();
                return Err(SourceErrorKind::Damaged { reason }.at(path));
            }
            tls = tls.root_certs(RootCerts::from(certificates));
        }
        Ok(Self { tls: tls.build() })
    }
}

impl UreqClient {
    /// The agent for one request, and what it observes. It follows no redirects.
    fn agent(&self, timeout: Duration, private: bool) -> (Agent, Arc<Seen>) {
        let config = Config::builder()
            .tls_config(self.tls.clone())
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_global(Some(timeout))
            // Only `env` reads the environment, so proxies are not taken from it.
            .proxy(None)
            .user_agent(concat!("prowess/", env!("CARGO_PKG_VERSION")))
            .build();
        let seen = Arc::new(Seen::default());
        let resolver = Watching { inner: DefaultResolver::default(), private, seen: seen.clone() };
        (Agent::with_parts(config, DefaultConnector::default(), resolver), seen)
    }

    /// Sends any request, and returns the response before its body is read. `timeout` covers both.
    #[doc(hidden)]
    pub fn send(
        &self,
        request: Request<Vec<u8>>,
        timeout: Duration,
        private: bool,
    ) -> Result<HttpAnswer, HttpError> {
        let url = checked(&request.uri().to_string())?.into_string();
        if !private && names_private(&url) {
            return Err(HttpError::Private(url));
        }
        let (agent, seen) = self.agent(timeout, private);
        let response = agent.run(request).map_err(|error| failed(error, &seen, &url, timeout))?;
        let (head, body) = response.into_parts();
        let body = Box::new(body.into_with_config().limit(u64::MAX).reader());
        Ok(HttpAnswer { head, body, private: seen.private.load(Ordering::Relaxed) })
    }
}

fn failed(error: Error, seen: &Seen, url: &str, timeout: Duration) -> HttpError {
    match error {
        Error::Timeout(_) => HttpError::TooSlow(timeout.as_secs().max(1)),
        _ if seen.refused.load(Ordering::Relaxed) => HttpError::Private(url.to_owned()),
        other => HttpError::Failed(other.to_string()),
    }
}

/// Why the body of a response could not be read to its end.
pub fn body_failed(error: &io::Error, timeout: Duration) -> HttpError {
    let text = error.to_string();
    if error.kind() == io::ErrorKind::TimedOut || text.contains("timeout") {
        HttpError::TooSlow(timeout.as_secs().max(1))
    } else {
        HttpError::Failed(text)
    }
}

impl HttpClient for UreqClient {
    fn get(&self, request: &HttpRequest<'_>) -> Result<HttpResponse, HttpError> {
        let (agent, seen) = self.agent(request.timeout, request.private);
        let mut call = agent.get(request.url);
        if let Some(etag) = request.etag {
            call = call.header(header::IF_NONE_MATCH, etag);
        }
        let mut response = call.call().map_err(|error| failed(error, &seen, request.url, request.timeout))?;
        let text = |name| {
            let value = response.headers().get(name)?;
            value.to_str().ok().map(str::to_owned)
        };
        let (location, etag) = (text(header::LOCATION), text(header::ETAG));
        let status = response.status().as_u16();
        let mut body = Vec::new();
        let reader = response.body_mut().with_config().limit(u64::MAX).reader();
        let read = reader.take(request.limit + 1).read_to_end(&mut body);
        read.map_err(|error| body_failed(&error, request.timeout))?;
        if body.len() as u64 > request.limit {
            return Err(HttpError::TooLarge(request.limit));
        }
        Ok(HttpResponse { status, location, etag, body, private: seen.private.load(Ordering::Relaxed) })
    }
}

/// What was observed during name resolution.
#[derive(Debug, Default)]
struct Seen {
    private: AtomicBool,
    refused: AtomicBool,
}

/// Resolves names, and refuses private addresses where they are not allowed. The addresses that are checked are the
/// ones that are connected to.
#[derive(Debug)]
struct Watching {
    inner: DefaultResolver,
    private: bool,
    seen: Arc<Seen>,
}

impl Resolver for Watching {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, Error> {
        let found = self.inner.resolve(uri, config, timeout)?;
        let is_private = |address: &SocketAddr| is_private(address.ip());
        // A name with any public address counts as public, since that address may be the one that answers.
        self.seen.private.store(found.iter().all(is_private), Ordering::Relaxed);
        if self.private {
            return Ok(found);
        }
        let mut public = self.empty();
        for address in found.iter().filter(|address| !is_private(address)) {
            public.push(*address);
        }
        if public.is_empty() {
            self.seen.refused.store(true, Ordering::Relaxed);
            return Err(Error::HostNotFound);
        }
        Ok(public)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_to_a_private_address_needs_permission() {
        let client = UreqClient::new(None).unwrap();
        let ask = |url: &str, private| {
            let request = Request::post(url).body(b"{}".to_vec()).unwrap();
            client
                .send(request, Duration::from_secs(10), private)
                .map(|answer| answer.head.status)
                .unwrap_err()
        };
        for url in ["http://127.0.0.1:1/mcp", "http://localhost:1/mcp", "http://[::1]:1/mcp"] {
            assert_eq!(ask(url, false), HttpError::Private(url.to_owned()));
            assert!(matches!(ask(url, true), HttpError::Failed(_)), "{url}");
        }
        assert_eq!(ask("ftp://x.test/", true), HttpError::BadAddress);
    }
}
