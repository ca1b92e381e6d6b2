//! Sites by their rules, from a real server on loopback: times for a list and a skill, hosts that move, files that no
//! list names.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use prowess::archive::ArchiveLimits;
use prowess::net::{HttpClient, HttpError, HttpLimits, HttpRequest, HttpResponse, UreqClient};
use prowess::source::Slice;
use prowess::{HttpSource, Obstacle, Registry, SourceError, SourceErrorKind, TooLarge};
use serde_json::json;

use crate::trees::{keys, skill};
use crate::web_server::{Answer, Server, http_error, index, listed, text};

const HOUR: Duration = Duration::from_secs(3_600);
const MOMENT: Duration = Duration::from_millis(300);

/// A site with one skill of this many files beside its SKILL.md, which all give this answer.
fn site_of_files(number: usize, answer: &Answer) -> Server {
    let mut files = vec!["SKILL.md".to_owned()];
    files.extend((0..number).map(|at| format!("references/{at}.md")));
    let entry = json!({"skills": [{"name": "many", "description": "Has many.", "files": files}]});
    let site = Server::start(&[("/index.json", index(&entry)), ("/many/SKILL.md", text("many"))]);
    for file in files.iter().skip(1) {
        site.set(&format!("/many/{file}"), answer.clone());
    }
    site
}

fn within(site: &Server, limits: HttpLimits) -> Registry {
    listed(site.source("/index.json").with_limits(limits, ArchiveLimits::default())).unwrap()
}

fn error_of<T: std::fmt::Debug>(result: Result<T, SourceError>) -> HttpError {
    match result {
        Err(SourceError { kind: SourceErrorKind::Http(error), .. }) => error,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_files_of_a_skill_on_a_site_are_listed_without_fetching_them() {
    let site = site_of_files(40, &Answer::Silent);
    let registry = within(&site, HttpLimits::default().with_timeout(HOUR));
    let files = registry.files("many").unwrap();
    assert_eq!(files.files.len(), 41);
    assert!(files.files.iter().all(|file| file.unmeasured && file.size == 0));
    assert_eq!(registry.document("many").unwrap().body(), "Body of many.");
    assert_eq!(site.asked(), ["/index.json", "/many/SKILL.md"]);
}

#[test]
fn an_index_with_too_many_values_is_refused_before_it_is_read() {
    let site = site_of_files(100, &Answer::Silent);
    let list = |index_values| {
        let limits = HttpLimits::default().with_index_values(index_values);
        listed(site.source("/index.json").with_limits(limits, ArchiveLimits::default()))
    };
    assert!(list(200).is_ok());
    let error = list(100).unwrap_err().to_string();
    assert!(error.contains("it has more than 100 values"), "{error}");
}

#[test]
fn all_files_of_a_skill_share_one_time() {
    let site = site_of_files(40, &Answer::Silent);
    let limits = HttpLimits::default().with_timeout(HOUR).with_skill_timeout(MOMENT);
    let registry = within(&site, limits);
    let many = registry.get("many").unwrap();
    // A request may take an hour, but not when the skill may take a moment.
    assert!(matches!(error_of(registry.manifest_of(&many)), HttpError::TooSlow(_) | HttpError::NotInTime(_)));
    let none = limits.with_skill_timeout(Duration::ZERO);
    let registry = within(&site, none);
    let many = registry.get("many").unwrap();
    site.asked();
    assert_eq!(error_of(registry.manifest_of(&many)), HttpError::NotInTime(1));
    assert!(site.asked().is_empty(), "nothing is asked when there is no time left");
}

#[test]
fn a_list_has_one_time_for_all_that_it_fetches() {
    let limits = HttpLimits::default().with_timeout(HOUR).with_list_timeout(MOMENT);
    let site = Server::start(&[("/index.json", Answer::Silent)]);
    let source = site.source("/index.json").with_limits(limits, ArchiveLimits::default());
    assert!(matches!(http_error(listed(source)), HttpError::TooSlow(_) | HttpError::NotInTime(_)));

    // Entries that say nothing of themselves are asked; those that say something need no answer.
    let entries = json!(["silent", "late", {"name": "said", "description": "Says it."}]);
    let site = Server::start(&[("/index.json", index(&entries)), ("/silent/SKILL.md", Answer::Silent)]);
    let limits = limits.with_list_timeout(Duration::from_secs(2));
    let source = site.source("/index.json").with_limits(limits, ArchiveLimits::default());
    let registry = match listed(source) {
        Ok(registry) => registry,
        // On a machine that stalls, the index itself may come too late.
        late => return assert!(matches!(http_error(late), HttpError::TooSlow(_) | HttpError::NotInTime(_))),
    };
    assert_eq!(keys(&registry), ["said"]);
    assert!(!site.asked().contains(&"/late/SKILL.md".to_owned()), "the time was over before");
    // Each that is late is said, or all at once if the index itself took nearly all the time.
    let problems = registry.problems();
    assert!((1..=2).contains(&problems.len()), "{problems:?}");
}

#[test]
fn a_site_that_fails_for_a_moment_keeps_its_skills() {
    let site = site_of_files(1, &Answer::Silent);
    let mut registry = Registry::new();
    registry.set_on_error(prowess::fs::walk::OnError::Report).add(site.source("/index.json"));
    registry.refresh().unwrap();
    site.set("/index.json", Answer::Status(503));
    for _ in 0..2 {
        assert!(registry.refresh().unwrap().is_empty());
        assert_eq!((keys(&registry), registry.unlisted().len()), (vec!["many".to_owned()], 1));
    }
    assert_eq!(registry.document("many").unwrap().body(), "Body of many.");
    // A refusal is meant.
    let index_of_one = site_of_files(1, &Answer::Silent);
    let mut other = Registry::new();
    other.set_on_error(prowess::fs::walk::OnError::Ignore).add(index_of_one.source("/index.json"));
    other.refresh().unwrap();
    index_of_one.set("/index.json", Answer::Status(503));
    assert!(other.refresh().unwrap().is_empty(), "an error that is ignored is one for a moment too");
    index_of_one.set("/index.json", Answer::Status(410));
    assert_eq!(other.refresh().unwrap().removed, ["many"]);
    // One that it no longer lists is gone.
    site.set("/index.json", index(&json!([])));
    assert_eq!(registry.refresh().unwrap().removed, ["many"]);
    assert!(registry.unlisted().is_empty());
}

/// A client that says of a server on loopback that it is in public, until it moves.
struct Moving {
    inner: UreqClient,
    moved: Arc<AtomicBool>,
}

impl HttpClient for Moving {
    fn get(&self, request: &HttpRequest<'_>) -> Result<HttpResponse, HttpError> {
        let moved = self.moved.load(Ordering::SeqCst);
        // As the real one does when the name leads to a private address.
        if moved && !request.private {
            return Err(HttpError::Private(request.url.to_owned()));
        }
        let url = request.url.replace("rebinding.test", "127.0.0.1");
        let answer = self.inner.get(&HttpRequest { url: &url, private: true, ..*request })?;
        Ok(HttpResponse { private: moved, ..answer })
    }
}

#[test]
fn a_site_that_was_public_once_is_never_asked_at_a_private_address() {
    let site = Server::start(&[("/index.json", Answer::Ok(b"[\"a\"]".to_vec())), ("/a/SKILL.md", text("a"))]);
    let url = format!("{}/index.json", site.url.replace("127.0.0.1", "rebinding.test"));
    let moved = Arc::new(AtomicBool::new(false));
    let client = Moving { inner: UreqClient::new(None).unwrap(), moved: Arc::clone(&moved) };
    let registry = listed(HttpSource::new(&url, Arc::new(client)).unwrap()).unwrap();
    assert_eq!(keys(&registry), ["a"]);
    moved.store(true, Ordering::SeqCst);
    site.asked();
    let error = registry.refresh().unwrap_err().to_string();
    assert!(error.contains("a private address"), "{error}");
    assert!(site.asked().is_empty(), "it was not asked");

    // One that is private from the start was named on purpose, and stays reachable.
    let client = Moving { inner: UreqClient::new(None).unwrap(), moved };
    let registry = listed(HttpSource::new(&url, Arc::new(client)).unwrap()).unwrap();
    registry.refresh().unwrap();
    assert_eq!(registry.document("a").unwrap().body(), "Body of a.");
}

#[test]
fn a_file_that_no_list_names_is_asked_for_only_when_that_was_wanted() {
    let elsewhere = Server::start(&[("/x.md", Answer::Ok(b"elsewhere".to_vec()))]);
    let site = Server::start(&[
        ("/index.json", index(&json!([{"id": "a", "name": "a", "description": "Does a."}]))),
        ("/a/SKILL.md", text("a")),
        ("/a/references/x%20y.md", Answer::Ok(b"more".to_vec())),
        ("/a/large.md", Answer::Ok(vec![b'x'; 200])),
        ("/a/moved.md", Answer::Redirect("/a/references/x%20y.md".into())),
        ("/a/away.md", Answer::Redirect(format!("{}/x.md", elsewhere.url))),
    ]);
    let read = |registry: &Registry, path: &str| {
        let resource = registry.read_resource("a", path, Slice::first(999), TooLarge::Refuse);
        resource.map(|resource| resource.size)
    };
    let usual = listed(site.source("/index.json")).unwrap();
    site.asked();
    assert!(read(&usual, "references/x y.md").is_err());
    assert!(site.asked().is_empty());

    let limits = HttpLimits::default().with_file_bytes(100);
    let source = site.source("/index.json").with_limits(limits, ArchiveLimits::default());
    let registry = listed(source.with_unlisted(true)).unwrap();
    assert_eq!(read(&registry, "references/x y.md").unwrap(), 4);
    assert_eq!(read(&registry, "moved.md").unwrap(), 4, "a redirect on the same site is followed");
    assert!(matches!(read(&registry, "gone.md"), Err(SourceError { kind: SourceErrorKind::Missing, .. })));
    assert_eq!(error_of(read(&registry, "large.md")), HttpError::TooLarge(100));
    assert!(matches!(error_of(read(&registry, "away.md")), HttpError::OtherSite(_)));
    assert!(elsewhere.asked().is_empty());
    site.asked();
    for path in ["../index.json", "/index.json", "a/../../b", "..\\index.json"] {
        assert!(
            matches!(read(&registry, path), Err(SourceError { kind: SourceErrorKind::BadPath(_), .. })),
            "{path}"
        );
    }
    assert!(site.asked().is_empty());
    // No list has it, so no approval covers it.
    assert_eq!(registry.files("a").unwrap().files.len(), 1);
}

#[test]
fn an_entry_keeps_its_name_and_goes_by_its_id() {
    let site = Server::start(&[
        (
            "/index.json",
            index(&json!([
                {"id": "git-helper", "name": "Git Helper", "description": "Helps with git."},
                {"name": "Big Thing", "description": "Is big."},
                {"id": "asked", "name": "Asked First"},
            ])),
        ),
        ("/git-helper/SKILL.md", text("git-helper")),
        ("/Big%20Thing/SKILL.md", text("big-thing")),
        ("/asked/SKILL.md", text("asked")),
    ]);
    let registry = listed(site.source("/index.json")).unwrap();
    assert!(registry.problems().is_empty(), "{:?}", registry.problems());
    let catalog = registry.catalog();
    let names: Vec<(&str, &str)> =
        catalog.iter().map(|skill| (skill.entry.key.as_str(), skill.entry.name.as_str())).collect();
    assert_eq!(names, [("Big Thing", "Big Thing"), ("asked", "Asked First"), ("git-helper", "Git Helper")]);
    for (key, body) in [
        ("git-helper", "Body of git-helper."),
        ("Big Thing", "Body of big-thing."),
        ("asked", "Body of asked."),
    ] {
        assert_eq!(registry.document(key).unwrap().body(), body, "{key}");
    }
}

#[test]
fn an_entry_without_a_description_is_a_broken_skill_and_no_broken_list() {
    let site = Server::start(&[
        (
            "/index.json",
            index(&json!({"skills": [
                {"name": "empty", "description": ""},
                {"name": "spaces", "description": "  "},
                {"name": "good", "description": "Does it."},
            ]})),
        ),
        ("/good/SKILL.md", Answer::Ok(skill("good").into_bytes())),
    ]);
    let registry = listed(site.source("/index.json")).unwrap();
    assert!(registry.problems().is_empty(), "{:?}", registry.problems());
    assert_eq!(keys(&registry), ["good"]);
    for key in ["empty", "spaces"] {
        let catalog = registry.catalog();
        let why = catalog.why(key);
        let Some(Obstacle::Broken { problems, .. }) = &why[0].0.obstacle else { panic!("{:?}", why[0].0) };
        assert!(problems.iter().any(|problem| problem.code.starts_with("description-")), "{problems:?}");
    }
}
