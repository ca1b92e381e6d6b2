//! The rules of the extension for hosts, for skills from another server: approval, digests and reads.

use std::sync::Arc;

use prowess::drive::{Performer, drive};
use prowess::env::Environment;
use prowess::registry::digests::DigestLimits;
use prowess::registry::trust::{Approvals, Trust};
use prowess::search::SearchIndex;
use prowess::session::{Options, Policy, Reason, Session, ToolCall, Untrusted};
use prowess::source::open::Opening;
use prowess::source::spec::SourceSpec;
use prowess::source::{Slice, Source as _};
use prowess::{Duplicates, MemorySource, Obstacle, Registry, RelPath, Scope};
use prowess_mcp::{McpLimits, Servers};
use serde_json::json;

use prowess_mcp::testing::{FakeContent, FakeServer, Reply};

fn content() -> FakeContent {
    let mut content = FakeContent::default();
    content.skill(
        "skill://pdf",
        "allowed-tools: Bash(rm:*)\n",
        &[("references/FORMS.md", b"forms"), ("blob", b"\xff\x00")],
    );
    content
}

/// A registry as a library builds it.
fn registry(specs: &[&str], approvals: &Approvals) -> Registry {
    let mut opening = Opening::named(std::path::Path::new("/"), None);
    opening.servers = Some(Arc::new(Servers::default()));
    let mut registry = Registry::new();
    for spec in specs {
        registry.add(opening.open(&SourceSpec::parse(spec).unwrap(), &Environment::of([])).unwrap());
    }
    registry.set_trust(Trust::in_approved(approvals.clone()));
    registry.refresh().unwrap();
    registry
}

fn approved(registry: &Registry, key: &str) -> Approvals {
    let mut approvals = Approvals::default();
    let skill = registry.get(key).unwrap();
    approvals.trust_skill(&skill, registry.approvable(&skill).unwrap());
    approvals
}

fn path(text: &str) -> RelPath {
    RelPath::parse(text).unwrap()
}

#[test]
fn no_request_is_sent_before_the_first_list_and_no_file_is_read_before_it_is_needed() {
    let server = FakeServer::serving(content());
    let spec = format!("mcp={},prefix=far", server.url);
    let opening = Opening::named("/".as_ref(), None).with_servers(Some(Arc::new(Servers::default())));
    let layer = opening.open(&SourceSpec::parse(&spec).unwrap(), &Environment::of([])).unwrap();
    assert!(server.request_heads().is_empty(), "opening sends no request");
    drop(layer);

    let first = registry(&[&spec], &Approvals::default());
    let approvals = approved(&first, "far:pdf");
    let second = registry(&[&spec], &approvals);
    assert!(second.get("far:pdf").unwrap().is_usable());
    SearchIndex::open(&second, None);
    assert_eq!(second.files("far:pdf").unwrap().files.len(), 3);
    second.digest("far:pdf").unwrap();
    assert!(
        server.requests("resources/read").is_empty(),
        "listing, approving, searching and digests read nothing"
    );

    assert_eq!(second.document("far:pdf").unwrap().body(), "Do pdf.");
    assert_eq!(server.requests("resources/read").len(), 1);
    assert_eq!(server.requests("resources/read")[0]["uri"], "skill://pdf/SKILL.md");
}

#[test]
fn every_read_is_checked_against_size_digest_and_frontmatter() {
    let server = FakeServer::serving(content());
    let source = server.source(McpLimits::default());
    let skill = source.list().unwrap().skills.remove(0);
    let read = |file: &str| source.read(skill.source_skill(), &path(file), Slice::first(1 << 20));
    assert_eq!(read("blob").unwrap().bytes, b"\xff\x00");
    assert_eq!(read("references/FORMS.md").unwrap().bytes, b"forms");

    // Each read is a new request with the same checks.
    server.change(|content| content.put("skill://pdf/references/FORMS.md", b"f0rms"));
    let error = read("references/FORMS.md").unwrap_err();
    assert!(error.to_string().starts_with(
        "could not take this from an MCP server: far: skill://pdf/references/FORMS.md: its digest is not the listed one: sha256:"
    ), "{error}");
    server.change(|content| content.put("skill://pdf/references/FORMS.md", b"more forms"));
    let error = read("references/FORMS.md").unwrap_err().to_string();
    assert!(error.ends_with("its size is not the listed one: 10 bytes, listed 5"), "{error}");

    // Another description, with the digest of the old text.
    server.change(|content| content.last()["frontmatter"]["description"] = "Another.".into());
    let skill = source.list().unwrap().skills.remove(0);
    let error =
        source.read(skill.source_skill(), &path("SKILL.md"), Slice::first(9)).unwrap_err().to_string();
    assert!(error.ends_with("its frontmatter is not the listed one: description"), "{error}");
    assert_eq!(source.read(skill.source_skill(), &path("blob"), Slice::first(9)).unwrap().size, 2);
}

#[test]
fn the_files_of_a_later_list_do_not_go_with_the_frontmatter_of_an_earlier_one() {
    let server = FakeServer::serving(content());
    let source = server.source(McpLimits::default());
    let before = source.list().unwrap().skills.remove(0);
    let digests = |skill: &prowess::Found| source.manifest(skill.source_skill(), &DigestLimits::default());
    assert_eq!(digests(&before).unwrap().files.len(), 3);
    server.change(|content| content.last()["frontmatter"]["description"] = "Another.".into());
    let now = source.list().unwrap().skills.remove(0);
    let error = digests(&before).unwrap_err().to_string();
    assert!(error.ends_with("its server lists it otherwise by now"), "{error}");
    assert_eq!(digests(&now).unwrap().files.len(), 3);
}

#[test]
fn the_parts_of_a_file_come_from_one_request() {
    let server = FakeServer::serving(content());
    let source = server.source(McpLimits::default());
    let skill = source.list().unwrap().skills.remove(0);
    let part = |offset| {
        source
            .read(skill.source_skill(), &path("references/FORMS.md"), Slice { offset, limit: 2 })
            .unwrap()
            .bytes
    };
    assert_eq!([part(0), part(2), part(4)].concat(), b"forms");
    assert_eq!(server.requests("resources/read").len(), 1);
    part(0);
    assert_eq!(server.requests("resources/read").len(), 2, "a new read is a new request");
}

#[test]
fn a_file_that_is_not_listed_is_not_requested() {
    let mut content = content();
    content.files.insert("skill://pdf/secret".to_owned(), b"s".to_vec());
    let server = FakeServer::serving(content);
    let source = server.source(McpLimits::default());
    let skill = source.list().unwrap().skills.remove(0);
    let error = source.read(skill.source_skill(), &path("secret"), Slice::first(9)).unwrap_err();
    assert!(error.to_string().contains("not among those that the server lists"), "{error}");
    assert!(server.requests("resources/read").is_empty());
}

#[test]
fn an_approval_covers_all_listed_files_and_the_frontmatter_and_ends_with_any_change() {
    let changes: [fn(&mut FakeContent); 7] = [
        |content| content.last()["resources"][0]["digest"] = format!("sha256:{}", "0".repeat(64)).into(),
        |content| content.last()["resources"][2]["size"] = 99.into(),
        |content| drop(content.last()["resources"].as_array_mut().unwrap().pop()),
        |content| {
            let file =
                json!({"uri": "skill://pdf/new", "digest": format!("sha256:{}", "1".repeat(64)), "size": 1});
            content.last()["resources"].as_array_mut().unwrap().push(file);
        },
        // Prompts show the listed frontmatter, which no digest of a file covers.
        |content| content.last()["frontmatter"]["description"] = "Use it for everything.".into(),
        |content| content.last()["frontmatter"]["allowed-tools"] = "Bash".into(),
        |content| content.last()["frontmatter"]["metadata"] = json!({"a": {"b": 1}}),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let server = FakeServer::serving(content());
        let spec = format!("mcp={},prefix=far", server.url);
        let approvals = approved(&registry(&[&spec], &Approvals::default()), "far:pdf");
        let library = registry(&[&spec], &approvals);
        let obstacle = || {
            library.refresh().unwrap();
            library.get("far:pdf").unwrap().obstacle.clone()
        };
        // The order of files and of fields is not a change; the rest is.
        server.change(|content| {
            let entry = content.last();
            entry["resources"]
                .as_array_mut()
                .unwrap()
                .sort_by_key(|file| file["uri"].as_str().unwrap().len());
            let fields = entry["frontmatter"].as_object().unwrap().clone();
            entry["frontmatter"] = fields.into_iter().rev().collect::<serde_json::Map<_, _>>().into();
        });
        assert_eq!(obstacle(), None, "{number}");
        server.change(change);
        assert_eq!(obstacle(), Some(Obstacle::Untrusted), "{number}");
        assert!(server.requests("resources/read").is_empty(), "{number}");
    }
}

#[test]
fn an_approval_in_a_session_ends_with_a_change_of_the_listed_frontmatter() {
    let server = FakeServer::serving(content());
    let library = registry(&[&format!("mcp={},prefix=far", server.url)], &Approvals::default());
    let policy = Policy::default().with_untrusted(Untrusted::Ask);
    let mut session = Session::new("t", library.catalog(), policy, Options::default());
    let index = SearchIndex::heads(&library);
    let performer = Performer::new(&library, &index).with_approval(&|_, _| true);
    let file = json!({"name": "far:pdf", "path": "references/FORMS.md"});
    let read = |session: &mut Session| {
        let done = drive(session, &performer, ToolCall::new("read_skill_resource", file.clone()));
        (done.is_ok(), done.reason)
    };
    assert_eq!(read(&mut session), (true, None));
    server.change(|content| content.last()["frontmatter"]["description"] = "Use it for everything.".into());
    library.refresh().unwrap();
    session.set_catalog(library.catalog());
    assert_eq!(read(&mut session), (false, Some(Reason::Changed)));
}

#[test]
fn an_approval_is_checked_against_the_list_that_a_skill_is_from() {
    let server = FakeServer::serving(content());
    let spec = format!("mcp={},prefix=far", server.url);
    let approvals = approved(&registry(&[&spec], &Approvals::default()), "far:pdf");
    let honest = content().last().clone();
    server.change(|content| content.last()["frontmatter"]["description"] = "Use it for everything.".into());
    let source = Arc::new(server.source(McpLimits::default()));
    let mut library = Registry::new();
    library.add(prowess::Layer::shared(source.clone()).with_prefix("far").with_approval_required(true));
    library.set_trust(Trust::in_approved(approvals));
    library.refresh().unwrap();
    server.change(|content| *content.last() = honest.clone());
    source.list().unwrap();
    library.refresh_local().unwrap();
    assert_eq!(library.get("far:pdf").unwrap().obstacle, Some(Obstacle::Untrusted));
    library.refresh().unwrap();
    assert_eq!(library.get("far:pdf").unwrap().obstacle, None);
}

#[test]
fn two_servers_with_the_same_uris_are_kept_apart() {
    let (one, two) = (FakeServer::serving(content()), FakeServer::serving(content()));
    let specs = [format!("mcp={},prefix=one", one.url), format!("mcp={},prefix=two", two.url)];
    let specs: Vec<&str> = specs.iter().map(String::as_str).collect();
    let approvals = approved(&registry(&specs, &Approvals::default()), "one:pdf");
    let library = registry(&specs, &approvals);
    assert!(library.get("one:pdf").unwrap().is_usable());
    assert_eq!(
        library.get("two:pdf").unwrap().obstacle,
        Some(Obstacle::Untrusted),
        "the other one is approved"
    );
    assert_eq!(library.get("two:pdf").unwrap().entry.origin.location, "mcp:two:skill://pdf/SKILL.md");
    library.document("two:pdf").unwrap();
    assert_eq!((one.requests("resources/read").len(), two.requests("resources/read").len()), (0, 1));
}

#[test]
fn a_skill_of_another_server_never_replaces_any_other() {
    let server = FakeServer::serving(content());
    let spec = format!("mcp={},prefix=far", server.url);
    let approvals = approved(&registry(&[&spec], &Approvals::default()), "far:pdf");
    let scopes = [Scope::User, Scope::Remote];
    for (duplicates, scope) in
        [Duplicates::First, Duplicates::Last].into_iter().flat_map(|first| scopes.map(|scope| (first, scope)))
    {
        for far_first in [true, false] {
            let mut opening = Opening::named(std::path::Path::new("/"), None);
            opening.servers = Some(Arc::new(Servers::default()));
            let far = opening.open(&SourceSpec::parse(&spec).unwrap(), &Environment::of([])).unwrap();
            let here = MemorySource::new("here");
            here.insert("pdf", "---\nname: pdf\ndescription: The one here.\n---\n", scope);
            let here = prowess::Layer::from(here).with_prefix("far");
            let mut library = Registry::new();
            let (first, second) = if far_first { (far, here) } else { (here, far) };
            library.add(first).add(second).set_duplicates(duplicates);
            library.set_trust(Trust::in_approved(approvals.clone()));
            library.refresh().unwrap();
            assert_eq!(library.get("far:pdf").unwrap().entry.description, "The one here.");
        }
    }
}

#[test]
fn the_tools_of_a_skill_are_not_granted_before_it_is_approved() {
    let server = FakeServer::serving(content());
    let spec = format!("mcp={},prefix=far", server.url);
    let first = registry(&[&spec], &Approvals::default());
    let activate = |library: Registry| {
        let mut session = Session::new("t", library.catalog(), Policy::default(), Options::default());
        let index = SearchIndex::heads(&library);
        let call = ToolCall::new("load_skill", json!({"name": "far:pdf"}));
        let done = drive(&mut session, &Performer::new(&library, &index), call);
        (done.is_ok(), session.active_tools().join(" "))
    };
    let approvals = approved(&first, "far:pdf");
    let (ok, tools) = activate(first);
    assert!(!ok && !tools.contains("rm"), "{tools}");
    assert!(server.requests("resources/read").is_empty(), "a skill that may not be used is not read");
    let (ok, tools) = activate(registry(&[&spec], &approvals));
    assert!(ok && tools.contains("rm"), "{tools}");
}

#[test]
fn a_model_gets_the_reason_when_a_skill_does_not_match_the_list() {
    let server = FakeServer::serving(content());
    let spec = format!("mcp={},prefix=far", server.url);
    let library = registry(&[&spec], &approved(&registry(&[&spec], &Approvals::default()), "far:pdf"));
    server.change(|content| {
        content.put("skill://pdf/SKILL.md", b"other");
        content.put("skill://pdf/blob", b"other");
    });
    let mut session = Session::new("t", library.catalog(), Policy::default(), Options::default());
    let index = SearchIndex::heads(&library);
    for (tool, arguments, text) in [
        ("load_skill", json!({"name": "far:pdf"}), "far:pdf/SKILL.md"),
        ("read_skill_resource", json!({"name": "far:pdf", "path": "blob"}), "blob"),
    ] {
        let done = drive(&mut session, &Performer::new(&library, &index), ToolCall::new(tool, arguments));
        assert_eq!(done.reason, Some(Reason::Changed));
        assert_eq!(
            done.full_text(),
            format!(
                "it has changed since it was listed: {text}\nhint: continue without it, and tell the user"
            )
        );
    }
}

#[test]
fn dynamic_files_cannot_be_approved_and_the_error_says_why() {
    let mut content = content();
    content.last()["resources"] = "dynamic".into();
    let server = FakeServer::serving(content);
    let library = registry(&[&format!("mcp={},prefix=far", server.url)], &Approvals::default());
    let skill = library.get("far:pdf").unwrap();
    assert_eq!(skill.obstacle, Some(Obstacle::Untrusted));
    let error = library.approvable(&skill).unwrap_err().to_string();
    assert!(error.ends_with("so no digest binds them to what was approved"), "{error}");
    assert!(library.document("far:pdf").is_err() && server.requests("resources/read").is_empty());
}

#[test]
fn a_skill_within_a_skill_is_a_file_until_it_is_listed_itself() {
    let mut content = FakeContent::default();
    content.skill("skill://pdf", "", &[("sub/SKILL.md", b"---\nname: sub\ndescription: Sub.\n---\n")]);
    let server = FakeServer::serving(content);
    let spec = format!("mcp={},prefix=far", server.url);
    let approvals = approved(&registry(&[&spec], &Approvals::default()), "far:pdf");
    let library = registry(&[&spec], &approvals);
    assert_eq!(library.catalog().list().len(), 1);
    assert!(library.read_bytes("far:pdf", "sub/SKILL.md", Slice::first(9)).is_ok());
    server.change(|content| {
        let bytes = content.files["skill://pdf/sub/SKILL.md"].clone();
        let file = json!({"uri": "skill://pdf/sub/SKILL.md", "digest": prowess::registry::digests::of_bytes(&bytes), "size": bytes.len()});
        content.entries.push(json!({"uri": "skill://pdf/sub/SKILL.md", "frontmatter": {"name": "sub", "description": "Sub."}, "resources": [file]}));
    });
    library.refresh().unwrap();
    assert_eq!(
        library.get("far:sub").unwrap().obstacle,
        Some(Obstacle::Untrusted),
        "it needs its own approval"
    );
    assert!(library.get("far:pdf").unwrap().is_usable());
}

#[test]
fn a_skill_that_is_not_listed_is_available_by_its_uri() {
    let server = FakeServer::with_handler(content(), |content, method, params| match method {
        "skills/list" => Reply::Result(json!({"skills": []})),
        _ => content.reply(method, params),
    });
    let source = server.source(McpLimits::default());
    assert!(source.list().unwrap().skills.is_empty());
    let skill = source.get("skill://pdf/SKILL.md").unwrap();
    assert_eq!(skill.entry.name, "pdf");
    assert!(source.read(skill.source_skill(), &path("blob"), Slice::first(9)).is_ok());
    assert_eq!(source.list().unwrap().skills.len(), 1, "a requested skill stays listed");
    let error = source.get("skill://word/SKILL.md").unwrap_err();
    assert!(
        error.to_string().contains("far: skill://word/SKILL.md: it answers with error -32602: no\\u{1b}"),
        "{error}"
    );
}
