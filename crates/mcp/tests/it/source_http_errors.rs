//! Servers at an address that do not respond, respond with too much or invalid data, or redirect.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use prowess::SourceError;
use prowess::source::Source as _;
use prowess_mcp::McpLimits;
use serde_json::json;

use crate::support::until;
use prowess_mcp::testing::{FakeContent, FakeServer, Reply, json_response, source};

pub(crate) fn content() -> FakeContent {
    let mut content = FakeContent::default();
    content.skill("skill://pdf", "", &[]);
    content
}

/// A short timeout. On a busy machine, connecting may take longer: see [`until`].
pub(crate) fn short() -> McpLimits {
    McpLimits::default().with_time(Duration::from_millis(300)).with_answer_bytes(10_000)
}

pub(crate) fn small_limits() -> McpLimits {
    McpLimits::default().with_answer_bytes(10_000)
}

/// The error of a list when one method gets this reply.
fn list_error(
    method: &'static str,
    limits: McpLimits,
    reply: impl Fn() -> Reply + Send + Sync + 'static,
) -> String {
    let server = FakeServer::with_handler(content(), move |content, sent, params| {
        if sent == method { reply() } else { content.reply(sent, params) }
    });
    // The port differs each time.
    error_text(&server.source(limits).list().unwrap_err()).replace(&server.url, "URL")
}

/// The text of an error, which must have a hint and no control characters.
pub(crate) fn error_text(error: &SourceError) -> String {
    assert!(!error.hint().is_empty());
    let text = error.to_string();
    assert!(!text.contains(char::is_control), "{text}");
    text.strip_prefix("could not take this from an MCP server: far: ")
        .unwrap_or_else(|| panic!("{text}"))
        .to_owned()
}

#[test]
fn a_server_that_never_responds_gives_a_timeout() {
    assert_eq!(
        list_error("server/discover", short(), || Reply::Silence),
        "connecting to URL: there was no answer within 300 ms"
    );
    until(
        || list_error("skills/list", short(), || Reply::Silence),
        |text| text == "skills/list: there was no answer within 300 ms",
    );
}

#[test]
fn requests_are_paused_for_a_while_after_a_timeout() {
    let rests = [Duration::from_secs(3600), Duration::ZERO];
    for (rest, wanted) in rests.into_iter().zip([1, 2]) {
        let ask_twice = || {
            let server = FakeServer::with_handler(content(), |content, sent, params| match sent {
                "skills/list" => Reply::Silence,
                _ => content.reply(sent, params),
            });
            let remote = server.source(short().with_rest(rest));
            let texts: Vec<String> = (0..2).map(|_| error_text(&remote.list().unwrap_err())).collect();
            (texts, server.requests("skills/list").len())
        };
        // On a busy machine, connecting may time out, and a server may note a request later than its client gives up.
        let was_asked = |(texts, asked): &(Vec<String>, usize)| {
            texts.iter().all(|text| text.starts_with("skills/list: ")) && *asked >= wanted
        };
        let (texts, asked) = until(ask_twice, was_asked);
        assert_eq!(texts[0], "skills/list: there was no answer within 300 ms");
        let alone = "skills/list: it did not answer a moment ago, and is left alone for 3600000 ms";
        assert_eq!(texts[1] == alone, wanted == 1, "{texts:?}");
        assert_eq!(asked, wanted);
    }
}

#[test]
fn a_slow_file_keeps_no_other_request_away_from_a_server_that_answers() {
    let ask = || {
        let mut content = content();
        content.skill("skill://slow", "", &[]);
        let server = FakeServer::with_handler(content, |content, sent, params| {
            let is_slow = sent == "resources/read" && params["uri"] == "skill://slow/SKILL.md";
            if is_slow { Reply::Silence } else { content.reply(sent, params) }
        });
        let remote = server.source(short().with_rest(Duration::from_secs(3600)));
        let skills = remote.list().map(|listing| listing.skills).unwrap_or_default();
        let read = |skill: &prowess::Found| {
            let path = prowess::RelPath::parse("SKILL.md").unwrap();
            remote.read(skill.source_skill(), &path, prowess::source::Slice::first(9)).is_ok()
        };
        let [quick, slow] = &*skills else { return (false, false) };
        let slow = std::thread::scope(|scope| {
            let slow = scope.spawn(|| read(slow));
            while !slow.is_finished() {
                read(quick);
            }
            slow.join().unwrap()
        });
        (slow, remote.list().is_ok())
    };
    // On a busy machine, all requests may time out, and the server is left alone.
    assert!(!until(ask, |(_, listed)| *listed).0);
}

#[test]
fn a_list_that_fails_in_the_middle_replaces_no_list() {
    let is_broken = Arc::new(AtomicBool::new(true));
    let broken = Arc::clone(&is_broken);
    let server = FakeServer::with_handler(content(), move |content, sent, params| {
        let mut reply = content.reply(sent, params);
        if sent == "skills/list" && params["cursor"].is_null() {
            let Reply::Result(page) = &mut reply else { panic!() };
            page["nextCursor"] = "more".into();
        } else if sent == "skills/list" {
            let Reply::Result(page) = &mut reply else { panic!() };
            page["skills"][0] =
                serde_json::from_str(&page["skills"][0].to_string().replace("pdf", "doc")).unwrap();
            if broken.load(Ordering::Relaxed) {
                return Reply::Error(-32603);
            }
        }
        reply
    });
    let remote = server.source(small_limits());
    // A part is better than nothing, as often as the rest fails, and whatever was asked for by name.
    for _ in 0..2 {
        let part = remote.list().unwrap();
        assert_eq!((part.skills.len(), part.problems.len()), (1, 1));
        assert!(remote.get("skill://pdf/SKILL.md").is_ok());
    }
    is_broken.store(false, Ordering::Relaxed);
    let skills = remote.list().unwrap().skills;
    assert_eq!(skills.len(), 2);
    is_broken.store(true, Ordering::Relaxed);
    assert_eq!(
        error_text(&remote.list().unwrap_err()),
        "skills/list: it answers with error -32603: no\\u{1b}[31m"
    );
    // What was listed before can still be read.
    assert!(skills.iter().all(|skill| remote.files(skill.source_skill()).is_ok()));
}

#[test]
fn a_server_that_refuses_for_good_keeps_no_list() {
    for status in ["401 Unauthorized", "403 Forbidden", "410 Gone"] {
        let refuses = Arc::new(AtomicBool::new(false));
        let refused = Arc::clone(&refuses);
        let server = FakeServer::with_handler(content(), move |content, sent, params| {
            if sent == "skills/list" && refused.load(Ordering::Relaxed) {
                return Reply::Raw(json_response(status, "{}").into_bytes());
            }
            content.reply(sent, params)
        });
        let mut registry = prowess::Registry::new();
        registry.set_on_error(prowess::fs::walk::OnError::Report);
        registry.add(server.source(small_limits()));
        registry.refresh().unwrap();
        assert_eq!(registry.catalog().all().count(), 1);
        refuses.store(true, Ordering::Relaxed);
        registry.refresh().unwrap();
        assert_eq!((registry.catalog().all().count(), registry.problems().len()), (0, 1), "{status}");
    }
}

#[test]
fn an_incomplete_or_oversized_response_is_an_error() {
    let cut = || {
        Reply::Raw(
            b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{\"id\":"
                .to_vec(),
        )
    };
    let text = list_error("skills/list", small_limits(), cut);
    assert!(text.starts_with("skills/list: "), "{text}");
    let huge =
        || Reply::Raw(json_response("200 OK", &format!("{{\"x\":\"{}\"}}", "y".repeat(20_000))).into_bytes());
    assert_eq!(
        list_error("skills/list", small_limits(), huge),
        "skills/list: its answer has more than 10000 bytes"
    );
    let events = || {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        Reply::Raw(format!("{head}{}", "data: x\n".repeat(5_000)).into_bytes())
    };
    assert_eq!(
        list_error("skills/list", small_limits(), events),
        "skills/list: its answer has more than 10000 bytes"
    );
    let ended = || {
        Reply::Raw(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n: bye\n\n"
                .to_vec(),
        )
    };
    assert_eq!(
        list_error("skills/list", small_limits(), ended),
        "skills/list: its stream ended before the answer"
    );
}

#[test]
fn a_response_with_too_many_values_is_refused_before_it_is_parsed() {
    let few = McpLimits::default().with_answer_values(100);
    let zeros = format!(r#"{{"jsonrpc":"2.0","id":1,"result":[{}0]}}"#, "0,".repeat(100));
    let said_of = "skills/list: its answer has more than 100 values";
    let (plain, event) = (zeros.clone(), zeros);
    assert_eq!(
        list_error("skills/list", few, move || Reply::Raw(json_response("200 OK", &plain).into_bytes())),
        said_of
    );
    let events = move || {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        Reply::Raw(format!("{head}data: {event}\n\n").into_bytes())
    };
    assert_eq!(list_error("skills/list", few, events), said_of);
}

/// Responses to the second request in which an object has two members of one name, and the name.
pub(crate) const TWO_MEMBERS: [(&str, &str); 5] = [
    (r#"{"jsonrpc":"2.0","id":1,"id":1,"result":{"skills":[]}}"#, "id"),
    (r#"{"jsonrpc":"2.0","id":1,"result":{"skills":[]},"result":{"skills":[]}}"#, "result"),
    (r#"{"jsonrpc":"2.0","id":1,"result":{"skills":[],"skills":[]}}"#, "skills"),
    (
        r#"{"jsonrpc":"2.0","id":1,"result":{"skills":[{"frontmatter":{"description":"Does.","\u0064escription":"Shows."}}]}}"#,
        "description",
    ),
    (r#"{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"a","message":"b"}}"#, "message"),
];

#[test]
fn a_response_with_two_members_of_one_name_is_refused() {
    for (response, member) in TWO_MEMBERS {
        let event = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\ndata: {response}\n\n"
        );
        for bytes in [json_response("200 OK", response), event] {
            let text = list_error("skills/list", McpLimits::default(), move || {
                Reply::Raw(bytes.clone().into_bytes())
            });
            let wanted = format!("skills/list: its answer is ambiguous: the member {member} appears twice");
            assert!(text.starts_with(&wanted), "{text}");
        }
    }
}

#[test]
fn an_invalid_response_is_escaped_in_the_error() {
    let page = || Reply::Raw(json_response("200 OK", "<html>\u{1b}[31m").into_bytes());
    let text = list_error("skills/list", small_limits(), page);
    assert!(text.starts_with("skills/list: its response is not a JSON-RPC message: "), "{text}");
    assert!(text.ends_with("<html>\\u{1b}[31m"), "{text}");
    let other =
        || Reply::Raw(json_response("200 OK", r#"{"jsonrpc":"2.0","id":99,"result":{}}"#).into_bytes());
    assert_eq!(
        list_error("skills/list", small_limits(), other),
        "skills/list: it does not answer what was asked"
    );
}

#[test]
fn statuses_and_errors_have_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    std::fs::write(&file, "s3cret").unwrap();
    for (status, token, text, hint) in [
        ("500 Oops", false, "it answers with status 500", "try again later"),
        ("503 Busy", false, "it answers with status 503", "try again later"),
        ("429 Slow", false, "it answers with status 429", "try again later"),
        ("404 Gone", false, "it answers with status 404", "check the address"),
        ("204 Empty", false, "it answers with nothing: status 204", "check the address"),
        ("401 Unauthorized", false, "it refuses with status 401", "name a file with the token"),
        ("403 Forbidden", false, "it refuses with status 403", "name a file with the token"),
        ("401 Unauthorized", true, "it does not accept the token: status 401", "still the right one"),
        ("403 Forbidden", true, "it does not allow this with the token: status 403", "what the token allows"),
    ] {
        // 204 has no content length.
        let response = match status {
            "204 Empty" => "HTTP/1.1 204 Empty\r\nconnection: close\r\n\r\n".to_owned(),
            _ => json_response(status, "no"),
        };
        for method in ["server/discover", "skills/list"] {
            // It may be an older server.
            if method == "server/discover" && status.starts_with("404") {
                continue;
            }
            let response = response.clone();
            let server = FakeServer::with_handler(content(), move |content, sent, params| {
                if sent == method {
                    Reply::Raw(response.clone().into_bytes())
                } else {
                    content.reply(sent, params)
                }
            });
            let token = if token { format!(",token_file={}", file.display()) } else { String::new() };
            let error = source(&format!("mcp={}{token}", server.url)).list().unwrap_err();
            assert!(error_text(&error).ends_with(&format!(": {text}")), "{method}: {error}");
            assert!(error.hint().to_string().contains(hint), "{method} {status}: {}", error.hint());
        }
    }
    let server = FakeServer::with_handler(content(), |content, method, params| match method {
        "skills/list" => Reply::Error(-32601),
        _ => content.reply(method, params),
    });
    let error = server.source(small_limits()).list().unwrap_err();
    assert_eq!(error_text(&error), "skills/list: it answers with error -32601: no\\u{1b}[31m");
    assert_eq!(error.hint().to_string(), "ask the operator of the server");
}

#[test]
fn the_error_for_a_missing_file_names_its_server() {
    for key in ["token_file", "ca_file"] {
        let spec = format!("mcp=https://x.test/mcp,{key}=/no/such/file");
        let prowess::source::spec::Place::Mcp(server) = prowess::SourceSpec::parse(&spec).unwrap().place
        else {
            panic!("{spec}")
        };
        let error = prowess_mcp::McpSource::new("far", &server).unwrap_err();
        assert_eq!(
            error_text(&error),
            format!("https://x.test/mcp: {key}: there is no such file or folder: /no/such/file")
        );
    }
}

#[test]
fn a_redirect_is_not_followed() {
    let other = FakeServer::serving(content());
    let to = format!(
        "HTTP/1.1 307 Elsewhere\r\nlocation: {}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
        other.url
    );
    let url = other.url.clone();
    let text = list_error("server/discover", small_limits(), move || Reply::Raw(to.clone().into_bytes()));
    assert_eq!(text, format!("connecting to URL: it answers with a redirect, which is not followed: {url}"));
    assert!(other.request_heads().is_empty());
}

#[test]
fn the_target_of_a_redirect_is_named_without_what_may_be_a_secret() {
    for (target, shown) in [
        ("http://127.0.0.1:9/mcp?key=s3cret", "http://127.0.0.1:9/mcp"),
        ("https://user:s3cret@x.test/mcp", "https://x.test/mcp"),
        ("//user:s3cret@x.test/mcp", "//x.test/mcp"),
        ("/mcp/?key=s3cret#s3cret", "/mcp/"),
    ] {
        let head = format!("HTTP/1.1 308 There\r\nlocation: {target}\r\n");
        let response = format!("{head}content-length: 0\r\nconnection: close\r\n\r\n").into_bytes();
        let text = list_error("server/discover", small_limits(), move || Reply::Raw(response.clone()));
        assert_eq!(
            text,
            format!("connecting to URL: it answers with a redirect, which is not followed: {shown}")
        );
    }
}

#[test]
fn a_server_without_the_extension_is_an_error() {
    let text = list_error("server/discover", small_limits(), || {
        Reply::Result(
            json!({"supportedVersions": ["2026-07-28"], "capabilities": {"resources": {}}, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}),
        )
    });
    assert_eq!(
        text,
        "connecting to URL: it has no skills extension: io.modelcontextprotocol/skills is not among its capabilities"
    );
}

#[test]
fn a_refused_connection_is_an_error() {
    let error = source("mcp=http://127.0.0.1:1/mcp").list().unwrap_err();
    assert!(error_text(&error).starts_with("connecting to http://127.0.0.1:1/mcp: "), "{error}");
}

#[test]
fn an_older_server_gets_a_handshake_and_its_session_is_closed() {
    let server = FakeServer::with_handler(content(), |content, method, params| match method {
        "server/discover" => Reply::Raw(json_response("400 Bad Request", "what?").into_bytes()),
        "initialize" => {
            let result = json!({"protocolVersion": "2025-11-25", "serverInfo": {"name": "old", "version": "1"},
                "capabilities": {"resources": {}, "extensions": {"io.modelcontextprotocol/skills": {}}}});
            let body = json!({"jsonrpc": "2.0", "id": 1, "result": result}).to_string();
            let response = json_response("200 OK", &body).replacen("\r\n", "\r\nmcp-session-id: s1\r\n", 1);
            Reply::Raw(response.into_bytes())
        }
        "notifications/initialized" => {
            Reply::Raw(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_vec())
        }
        _ => content.reply(method, params),
    });
    let remote = server.source(small_limits());
    assert_eq!(remote.list().unwrap().skills.len(), 1);
    drop(remote);
    let heads = server.request_heads();
    assert!(
        heads.iter().any(|head| head.starts_with("post") && head.contains("mcp-session-id: s1")),
        "{heads:?}"
    );
    assert!(heads.iter().any(|head| head.starts_with("delete /mcp")), "{heads:?}");
}

#[test]
fn a_token_is_sent_only_to_its_server_and_never_in_the_clear() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    std::fs::write(&file, "s3cret\n").unwrap();
    let server = FakeServer::serving(content());
    let remote = source(&format!("mcp={},token_file={}", server.url, file.display()));
    remote.list().unwrap();
    assert!(server.request_heads().iter().all(|head| head.contains("authorization: bearer s3cret")));
    assert!(!format!("{remote:?}").contains("s3cret"));
    for (url, token) in [("http://x.test/mcp", "s3cret"), ("https://x.test/mcp", "two words")] {
        std::fs::write(&file, token).unwrap();
        let server = prowess::source::spec::Server::At {
            url: url.to_owned(),
            ca_file: None,
            token_file: Some(file.clone()),
        };
        assert!(prowess_mcp::McpSource::new("far", &server).is_err(), "{url}");
    }
}
