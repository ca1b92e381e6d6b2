//! Skills on web sites, from a real server on loopback: good ones, slow ones, lying ones and those that go away.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use prowess::archive::ArchiveLimits;
use prowess::net::{HttpClient, HttpError, HttpLimits, HttpRequest, HttpResponse, UreqClient};
use prowess::registry::digests;
use prowess::source::Slice;
use prowess::{
    HttpSource, MemorySource, Registry, RegistryError, Scope, Source, SourceError, SourceErrorKind, TooLarge,
};
use serde_json::json;

use crate::data::skipped;
use crate::trees::{keys, skill};
use crate::web_server::{Answer, Server, http_error, index, listed, text};

const SCHEMA: &str = "https://schemas.agentskills.io/discovery/0.2.0/schema.json";

fn quick() -> HttpLimits {
    HttpLimits::default().with_timeout(Duration::from_millis(300)).with_index_bytes(100_000)
}

/// A gzipped tar file with these files.
fn packed(files: &[(&str, &str)]) -> Vec<u8> {
    let mut builder =
        tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast()));
    for (path, text) in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, path, text.as_bytes()).unwrap();
    }
    builder.into_inner().unwrap().finish().unwrap()
}

#[test]
fn a_site_of_version_0_2_is_listed_without_bodies_and_read_with_digests() {
    let archive = packed(&[("SKILL.md", &skill("packed")), ("references/x.md", "more")]);
    let entry = |name: &str, kind: &str, url: &str, bytes: &[u8]| json!({"name": name, "type": kind, "description": format!("Does {name}."), "url": url, "digest": digests::of_bytes(bytes)});
    let site = Server::start(&[]);
    site.set(
        "/.well-known/agent-skills/index.json",
        index(&json!({"$schema": SCHEMA, "skills": [
            entry("plain", "skill-md", "plain/SKILL.md", skill("plain").as_bytes()),
            entry("packed", "archive", "/files/packed.tar.gz", &archive),
            entry("lying", "skill-md", "lying/SKILL.md", b"something else"),
            entry("other", "skill-md", "other/SKILL.md", skill("someone").as_bytes()),
            entry("mistyped", "archive", "plain/SKILL.md?a", skill("plain").as_bytes()),
            entry("future", "hologram", "x", b""),
            {"name": "no-digest", "type": "skill-md", "description": "x", "url": "x", "sha256": "y"},
        ]})),
    );
    for (path, name) in [("plain", "plain"), ("lying", "lying"), ("other", "someone")] {
        site.set(&format!("/.well-known/agent-skills/{path}/SKILL.md"), text(name));
    }
    site.set("/.well-known/agent-skills/plain/SKILL.md?a", text("plain"));
    site.set("/files/packed.tar.gz", Answer::Ok(archive));

    let cache = tempfile::tempdir().unwrap();
    let registry = listed(site.source("").with_cache(cache.path())).unwrap();
    assert_eq!(site.asked(), ["/.well-known/agent-skills/index.json"], "no body is fetched for a list");
    assert_eq!(keys(&registry), ["lying", "mistyped", "other", "packed", "plain"]);
    assert_eq!(registry.problems().len(), 2);
    assert_eq!(registry.get("plain").unwrap().entry.origin.scope, Scope::Remote);

    assert_eq!(registry.document("plain").unwrap().body(), "Body of plain.");
    assert_eq!(registry.document("packed").unwrap().body(), "Body of packed.");
    assert!(registry.read_resource("packed", "references/x.md", Slice::first(99), TooLarge::Refuse).is_ok());
    assert!(registry.read_resource("plain", "references/x.md", Slice::first(99), TooLarge::Refuse).is_err());
    assert_eq!(registry.files("packed").unwrap().files.len(), 2);
    let lying = registry.document("lying").unwrap_err();
    assert!(lying.to_string().contains("not those that were promised"), "{lying}");
    let other = registry.document("other").unwrap_err();
    assert!(other.to_string().contains("calls itself something else"), "{other}");
    let mistyped = registry.document("mistyped").unwrap_err();
    assert!(matches!(mistyped, SourceError { kind: SourceErrorKind::Archive(_), .. }), "{mistyped}");

    // What has a digest is fetched once, and what is remembered is held to it each time.
    site.asked();
    assert!(registry.document("plain").is_ok());
    assert!(site.asked().is_empty());
    let bytes = cache.path().join("bytes");
    for file in std::fs::read_dir(&bytes).unwrap() {
        std::fs::write(file.unwrap().path(), "tampered").unwrap();
    }
    assert_eq!(registry.document("plain").unwrap().body(), "Body of plain.");
    assert_eq!(site.asked(), ["/.well-known/agent-skills/plain/SKILL.md"]);
}

#[test]
fn a_site_of_version_0_1_is_read_by_its_list_of_files() {
    let site = Server::start(&[
        (
            "/docs/.well-known/skills/index.json",
            index(&json!({"skills": [
                {"name": "a", "description": "Does a.", "files": ["SKILL.md", "references/x y.md"]},
                {"name": "evil", "description": "x", "files": ["SKILL.md", "../../secret"]},
            ]})),
        ),
        ("/docs/.well-known/skills/a/SKILL.md", text("a")),
        ("/docs/.well-known/skills/a/references/x%20y.md", Answer::Ok(b"more".to_vec())),
        ("/docs/.well-known/skills/a/unlisted.md", Answer::Ok(b"unlisted".to_vec())),
    ]);
    let registry = listed(site.source("/docs/")).unwrap();
    assert_eq!(keys(&registry), ["a"]);
    assert_eq!(registry.problems().len(), 1);
    let read = |path: &str| registry.read_resource("a", path, Slice::first(99), TooLarge::Refuse);
    assert!(read("references/x y.md").is_ok());
    assert!(read("unlisted.md").is_err(), "only what is listed is asked for");
    let asked = site.asked();
    assert!(!asked.iter().any(|path| path.contains("unlisted")), "{asked:?}");
    assert!(asked.iter().all(|path| path.starts_with("/docs/")), "nothing above the address: {asked:?}");
    let manifest = registry.manifest_of(&registry.get("a").unwrap()).unwrap();
    assert_eq!(manifest.files.len(), 2);
    assert!(manifest.files.iter().all(|file| file.digest.is_some()));
}

#[test]
fn plain_lists_and_that_of_opencode_are_read() {
    let site = Server::start(&[
        (
            "/one/index.json",
            index(&json!({"skills": [{"name": "a", "files": ["SKILL.md"], "version": "3"}]})),
        ),
        ("/one/a/SKILL.md", text("a")),
        ("/two/index.json", index(&json!([{"id": "b", "name": "b", "description": "Does b."}, "c", "gone"]))),
        ("/two/b/SKILL.md", text("b")),
        ("/two/c/SKILL.md", text("c")),
    ]);
    let one = listed(site.source("/one")).unwrap();
    assert_eq!(one.get("a").unwrap().entry.description, "Does a.", "taken from its SKILL.md");
    let two = listed(site.source("/two/index.json")).unwrap();
    assert_eq!(keys(&two), ["b", "c"]);
    assert_eq!(two.problems().len(), 1, "one that is gone hides no other");
    assert_eq!(two.document("c").unwrap().body(), "Body of c.");
}

#[test]
fn an_unknown_schema_is_said_and_not_read() {
    let site =
        Server::start(&[("/index.json", index(&json!({"$schema": "https://x.test/9", "skills": ["a"]})))]);
    let error = listed(site.source("")).err().unwrap().to_string();
    assert!(error.contains("this $schema is not known"), "{error}");
    let empty = Server::start(&[]);
    assert!(matches!(
        listed(empty.source("")),
        Err(RegistryError::Source(SourceError { kind: SourceErrorKind::NoIndex, .. }))
    ));
}

#[test]
fn what_has_not_changed_is_not_sent_again() {
    let site = Server::start(&[
        ("/index.json", Answer::Tagged("\"v1\"", b"[\"a\"]".to_vec())),
        ("/a/SKILL.md", Answer::Tagged("\"a1\"", skill("a").into_bytes())),
    ]);
    let cache = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let registry = listed(site.source("/index.json").with_cache(cache.path())).unwrap();
        assert_eq!(registry.document("a").unwrap().body(), "Body of a.");
    }
    assert!(site.asked().contains(&"/index.json \"v1\"".to_owned()));
    site.set("/a/SKILL.md", Answer::Tagged("\"a2\"", skill("a").replace("Body", "New body").into_bytes()));
    let registry = listed(site.source("/index.json").with_cache(cache.path())).unwrap();
    assert_eq!(registry.document("a").unwrap().body(), "New body of a.");
    assert!(!walk(cache.path()).iter().any(|path| path.to_ascii_lowercase().contains("skill.md")));
}

fn walk(folder: &std::path::Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().map_while(Result::ok) {
        if entry.path().is_dir() {
            found.extend(walk(&entry.path()));
        } else {
            found.push(entry.path().display().to_string());
        }
    }
    found
}

#[test]
fn a_server_that_misbehaves_is_a_problem_of_its_own() {
    for (answer, expected) in [
        (Answer::Vanish, "Failed"),
        (Answer::Trickle, "TooSlow"),
        (Answer::Silent, "TooSlow"),
        (Answer::Flood, "TooLarge"),
        (Answer::Garbage, "Failed"),
        (Answer::Status(500), "Status(500)"),
        (Answer::Redirect("/index.json".into()), "Redirects(5)"),
        (Answer::Redirect("file:///etc/passwd".into()), "BadAddress"),
    ] {
        let site = Server::start(&[("/index.json", answer)]);
        // Only servers that never end reach the timeout; the others have all the time that a loaded machine needs.
        let timeout = if expected == "TooSlow" { quick().timeout } else { Duration::from_secs(60) };
        let limits = quick().with_timeout(timeout);
        let source = site.source("/index.json").with_limits(limits, ArchiveLimits::default());
        let error = format!("{:?}", http_error(listed(source)));
        assert!(error.starts_with(expected), "{expected}: {error}");
    }
    // No server listens there any more.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    let gone = HttpSource::new(&url, Arc::new(UreqClient::new(None).unwrap())).unwrap();
    let mut registry = Registry::new();
    let memory = MemorySource::inline("inline", "here", "Is here.", "x", Scope::Explicit).unwrap();
    registry.set_on_error(prowess::fs::walk::OnError::Report).add(gone).add(memory);
    registry.refresh().unwrap();
    assert_eq!(keys(&registry), ["here"]);
    assert_eq!(registry.problems().len(), 1);
    for url in ["ftp://x.test", "https://u:p@x.test", "x.test", "https://"] {
        assert!(HttpSource::new(url, Arc::new(UreqClient::new(None).unwrap())).is_err(), "{url}");
    }
}

#[test]
fn a_bomb_is_defused() {
    let zeros = "0".repeat(9 << 20);
    let bomb = packed(&[("SKILL.md", &skill("bomb")), ("references/zeros.md", &zeros)]);
    let site = Server::start(&[(
        "/.well-known/agent-skills/index.json",
        index(&json!({"$schema": SCHEMA, "skills": [{"name": "bomb", "type": "archive", "description": "x",
            "url": "/bomb", "digest": digests::of_bytes(&bomb)}]})),
    )]);
    site.set("/bomb", Answer::Ok(bomb));
    let registry = listed(site.source("")).unwrap();
    let error = registry.document("bomb").unwrap_err();
    assert!(matches!(error, SourceError { kind: SourceErrorKind::Archive(_), .. }), "{error}");
}

#[test]
fn remote_never_takes_the_place_of_local() {
    let site = Server::start(&[("/index.json", Answer::Ok(b"[\"a\"]".to_vec())), ("/a/SKILL.md", text("a"))]);
    let mut registry = Registry::new();
    registry.add(site.source("/index.json"));
    registry.add(MemorySource::inline("inline", "a", "The local one.", "x", Scope::Explicit).unwrap());
    registry.refresh().unwrap();
    assert_eq!(registry.get("a").unwrap().entry.description, "The local one.");
}

/// A client that says of one server that it is in public.
struct Pretend {
    inner: UreqClient,
    public: String,
}

impl HttpClient for Pretend {
    fn get(&self, request: &HttpRequest<'_>) -> Result<HttpResponse, HttpError> {
        let mut answer = self.inner.get(request)?;
        answer.private &= !request.url.starts_with(&self.public);
        Ok(answer)
    }
}

#[test]
fn a_public_site_never_leads_to_a_private_address() {
    let inside = Server::start(&[("/secret", text("secret")), ("/index.json", Answer::Ok(b"[]".to_vec()))]);
    let (_, port) = inside.url.rsplit_once(':').unwrap();
    for host in ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]"] {
        let target = format!("http://{host}:{port}");
        let site = Server::start(&[
            ("/moved.json", Answer::Redirect(format!("{target}/index.json"))),
            (
                "/index.json",
                index(&json!({"$schema": SCHEMA, "skills": [{"name": "secret", "type": "skill-md",
                    "description": "x", "url": format!("{target}/secret"),
                    "digest": digests::of_bytes(skill("secret").as_bytes())}]})),
            ),
        ]);
        let source = |path: &str| {
            let inner = UreqClient::new(None).unwrap();
            let client = Pretend { inner, public: site.url.clone() };
            HttpSource::new(&format!("{}{path}", site.url), Arc::new(client)).unwrap()
        };
        assert!(matches!(http_error(listed(source("/moved.json"))), HttpError::Private(_)), "{host}");
        let registry = listed(source("/index.json")).unwrap();
        let error = registry.document("secret").unwrap_err();
        assert!(
            matches!(error, SourceError { kind: SourceErrorKind::Http(HttpError::Private(_)), .. }),
            "{host}: {error}"
        );
    }
    assert!(inside.asked().is_empty(), "it was never asked");
    // The name is looked up where the connection is made, and refused there.
    let client = UreqClient::new(None).unwrap();
    let url = format!("http://localhost:{port}/secret");
    let request =
        HttpRequest { url: &url, etag: None, limit: 100, timeout: Duration::from_secs(5), private: false };
    assert!(matches!(client.get(&request), Err(HttpError::Private(_))));
    assert!(inside.asked().is_empty());
}

#[test]
fn an_error_names_a_site_without_user_password_and_query() {
    let site = Server::start(&[
        ("/moved.json?key=s3cret", Answer::Redirect("http://10.0.0.1/index.json?key=s3cret".to_owned())),
        ("/text.json?key=s3cret", Answer::Ok(b"no index".to_vec())),
    ]);
    for path in ["/gone.json", "/moved.json", "/text.json"] {
        let source = || {
            // What follows from a public address may not be private.
            let inner = UreqClient::new(None).unwrap();
            let client = Pretend { inner, public: site.url.clone() };
            HttpSource::new(&format!("{}{path}?key=s3cret", site.url), Arc::new(client)).unwrap()
        };
        let error = listed(source()).unwrap_err().to_string();
        assert!(error.contains(&format!("{}{path}", site.url)) && !error.contains("s3cret"), "{error}");
    }
    let client = Arc::new(UreqClient::new(None).unwrap());
    let error = HttpSource::new("https://user:s3cret@x.test/a?key=s3cret", client).unwrap_err();
    assert_eq!(
        error.to_string(),
        "could not fetch: https://x.test/a: this is no https:// or http:// address without a password"
    );
}

#[test]
fn certificates_of_ones_own_are_trusted_when_they_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"])
        .args(["-keyout", "key.pem", "-out", "cert.pem", "-days", "2", "-subj", "/CN=localhost"])
        .args(["-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .current_dir(folder.path())
        .stderr(Stdio::null())
        .status();
    if !made.is_ok_and(|status| status.success()) {
        return skipped("openssl is not here");
    }
    std::fs::write(folder.path().join("index.json"), "HTTP/1.0 200 OK\r\n\r\n[]").unwrap();
    let mut server = Command::new("openssl")
        .args(["s_server", "-accept", "127.0.0.1:0", "-cert", "cert.pem", "-key", "key.pem", "-HTTP"])
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines().map_while(Result::ok);
    let accept = lines.find_map(|line| Some(line.strip_prefix("ACCEPT ")?.to_owned()));
    let Some(address) = accept else {
        let _ = server.kill();
        let _ = server.wait();
        return skipped("openssl does not say where it listens");
    };
    // What it goes on to say must not fill the pipe.
    std::thread::spawn(move || lines.for_each(drop));
    let list = |ca_file: Option<&std::path::Path>| {
        let client = UreqClient::new(ca_file).unwrap();
        HttpSource::new(&format!("https://{address}/index.json"), Arc::new(client)).unwrap().list()
    };
    let trusted = list(Some(&folder.path().join("cert.pem")));
    let strange = list(None);
    let _ = server.kill();
    let _ = server.wait();
    assert!(trusted.is_ok(), "{trusted:?}");
    assert!(
        matches!(strange, Err(SourceError { kind: SourceErrorKind::Http(HttpError::Failed(_)), .. })),
        "{strange:?}"
    );
    assert!(UreqClient::new(Some(&folder.path().join("key.pem"))).is_err(), "no certificate in it");
}
