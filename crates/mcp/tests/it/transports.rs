//! Servers at an address that say nothing, say too much, say what is no message, or send us elsewhere.

use std::time::Duration;

use prowess::SourceError;
use prowess::source::Source as _;
use prowess_mcp::McpLimits;
use serde_json::json;

use crate::liar::{Liar, Reply, Story, json_answer, source};

pub(crate) fn story() -> Story {
    let mut story = Story::default();
    story.skill("skill://pdf", "", &[]);
    story
}

/// Long enough for a loaded machine, and short enough to be waited for.
pub(crate) fn short() -> McpLimits {
    McpLimits { time: Duration::from_secs(2), answer_bytes: 10_000, ..McpLimits::default() }
}

pub(crate) fn patient() -> McpLimits {
    McpLimits { answer_bytes: 10_000, ..McpLimits::default() }
}

/// What is said when one method is answered so.
fn said(
    method: &'static str,
    limits: McpLimits,
    reply: impl Fn() -> Reply + Send + Sync + 'static,
) -> String {
    let liar = Liar::with(
        story(),
        move |story, asked, params| {
            if asked == method { reply() } else { story.answer(asked, params) }
        },
    );
    // Where it listens is another place each time.
    complaint(&liar.source(limits).list().unwrap_err()).replace(&liar.url, "URL")
}

/// An error in words, which always has a hint and never a control character.
pub(crate) fn complaint(error: &SourceError) -> String {
    assert!(!error.hint().is_empty());
    let text = error.to_string();
    assert!(!text.contains(char::is_control), "{text}");
    text.strip_prefix("could not take this from an MCP server: far: ")
        .unwrap_or_else(|| panic!("{text}"))
        .to_owned()
}

#[test]
fn a_server_that_never_answers_is_not_waited_for() {
    assert_eq!(
        said("server/discover", short(), || Reply::Silence),
        "connecting to URL: there was no answer within 2000 ms"
    );
    assert_eq!(
        said("skills/list", short(), || Reply::Silence),
        "skills/list: there was no answer within 2000 ms"
    );
}

#[test]
fn a_server_that_did_not_answer_is_left_alone_for_a_while_and_no_longer() {
    let rests = [Duration::from_secs(3600), Duration::ZERO];
    for (rest, wanted) in rests.into_iter().zip([1, 2]) {
        let liar = Liar::with(story(), |story, asked, params| match asked {
            "skills/list" => Reply::Silence,
            _ => story.answer(asked, params),
        });
        let far = liar.source(McpLimits { rest, ..short() });
        let texts: Vec<String> = (0..2).map(|_| complaint(&far.list().unwrap_err())).collect();
        assert_eq!(texts[0], "skills/list: there was no answer within 2000 ms");
        let alone = "skills/list: it did not answer a moment ago, and is left alone for 3600000 ms";
        assert_eq!(texts[1] == alone, wanted == 1, "{texts:?}");
        assert_eq!(liar.asked("skills/list").len(), wanted);
    }
}

#[test]
fn an_answer_that_breaks_off_or_is_too_large_is_none() {
    let cut = || {
        Reply::Raw(
            b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{\"id\":"
                .to_vec(),
        )
    };
    let text = said("skills/list", patient(), cut);
    assert!(text.starts_with("skills/list: "), "{text}");
    let huge =
        || Reply::Raw(json_answer("200 OK", &format!("{{\"x\":\"{}\"}}", "y".repeat(20_000))).into_bytes());
    assert_eq!(said("skills/list", patient(), huge), "skills/list: its answer has more than 10000 bytes");
    let events = || {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        Reply::Raw(format!("{head}{}", "data: x\n".repeat(5_000)).into_bytes())
    };
    assert_eq!(said("skills/list", patient(), events), "skills/list: its answer has more than 10000 bytes");
    let ended = || {
        Reply::Raw(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n: bye\n\n"
                .to_vec(),
        )
    };
    assert_eq!(said("skills/list", patient(), ended), "skills/list: its stream ended before the answer");
}

#[test]
fn an_answer_with_too_many_values_is_refused_before_it_is_read() {
    let few = McpLimits { answer_values: 100, ..McpLimits::default() };
    let zeros = format!(r#"{{"jsonrpc":"2.0","id":1,"result":[{}0]}}"#, "0,".repeat(100));
    let said_of = "skills/list: its answer has more than 100 values";
    let (plain, event) = (zeros.clone(), zeros);
    assert_eq!(
        said("skills/list", few, move || Reply::Raw(json_answer("200 OK", &plain).into_bytes())),
        said_of
    );
    let events = move || {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
        Reply::Raw(format!("{head}data: {event}\n\n").into_bytes())
    };
    assert_eq!(said("skills/list", few, events), said_of);
}

#[test]
fn what_is_no_message_is_shown_harmlessly() {
    let page = || Reply::Raw(json_answer("200 OK", "<html>\u{1b}[31m").into_bytes());
    let text = said("skills/list", patient(), page);
    assert!(text.starts_with("skills/list: its answer is no JSON-RPC message: "), "{text}");
    assert!(text.ends_with("<html>\\u{1b}[31m"), "{text}");
    let other = || Reply::Raw(json_answer("200 OK", r#"{"jsonrpc":"2.0","id":99,"result":{}}"#).into_bytes());
    assert_eq!(said("skills/list", patient(), other), "skills/list: it does not answer what was asked");
}

#[test]
fn statuses_and_errors_are_named_with_what_helps() {
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
        (
            "403 Forbidden",
            true,
            "it does not allow this with the token: status 403",
            "what the token is good",
        ),
    ] {
        // No content has no length.
        let answer = match status {
            "204 Empty" => "HTTP/1.1 204 Empty\r\nconnection: close\r\n\r\n".to_owned(),
            _ => json_answer(status, "no"),
        };
        for method in ["server/discover", "skills/list"] {
            // There an older server is what it may be.
            if method == "server/discover" && status.starts_with("404") {
                continue;
            }
            let answer = answer.clone();
            let liar = Liar::with(story(), move |story, asked, params| {
                if asked == method {
                    Reply::Raw(answer.clone().into_bytes())
                } else {
                    story.answer(asked, params)
                }
            });
            let token = if token { format!(",token_file={}", file.display()) } else { String::new() };
            let error = source(&format!("mcp={}{token}", liar.url)).list().unwrap_err();
            assert!(complaint(&error).ends_with(&format!(": {text}")), "{method}: {error}");
            assert!(error.hint().contains(hint), "{method} {status}: {}", error.hint());
        }
    }
    let liar = Liar::with(story(), |story, method, params| match method {
        "skills/list" => Reply::Error(-32601),
        _ => story.answer(method, params),
    });
    let error = liar.source(patient()).list().unwrap_err();
    assert_eq!(complaint(&error), "skills/list: it answers with error -32601: no\\u{1b}[31m");
    assert_eq!(error.hint(), "ask whoever runs the server");
}

#[test]
fn a_file_that_is_missing_is_told_with_the_server_it_was_named_for() {
    for key in ["token_file", "ca_file"] {
        let spec = format!("mcp=https://x.test/mcp,{key}=/no/such/file");
        let prowess::source::spec::Place::Mcp(server) = prowess::SourceSpec::parse(&spec).unwrap().place
        else {
            panic!("{spec}")
        };
        let error = prowess_mcp::McpSource::new("far", &server).unwrap_err();
        assert_eq!(
            complaint(&error),
            format!("https://x.test/mcp: {key}: there is no such file or folder: /no/such/file")
        );
    }
}

#[test]
fn a_redirect_is_not_followed() {
    let other = Liar::telling(story());
    let to = format!(
        "HTTP/1.1 307 Elsewhere\r\nlocation: {}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n",
        other.url
    );
    let url = other.url.clone();
    let text = said("server/discover", patient(), move || Reply::Raw(to.clone().into_bytes()));
    assert_eq!(text, format!("connecting to URL: it answers with a redirect, which is not followed: {url}"));
    assert!(other.heads().is_empty());
}

#[test]
fn a_server_without_the_extension_is_no_source() {
    let text = said("server/discover", patient(), || {
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
fn nobody_at_an_address_is_an_error_and_others_stand() {
    let error = source("mcp=http://127.0.0.1:1/mcp").list().unwrap_err();
    assert!(complaint(&error).starts_with("connecting to http://127.0.0.1:1/mcp: "), "{error}");
}

#[test]
fn an_older_server_is_asked_in_its_own_way_and_its_session_ended() {
    let liar = Liar::with(story(), |story, method, params| match method {
        "server/discover" => Reply::Raw(json_answer("400 Bad Request", "what?").into_bytes()),
        "initialize" => {
            let result = json!({"protocolVersion": "2025-11-25", "serverInfo": {"name": "old", "version": "1"},
                "capabilities": {"resources": {}, "extensions": {"io.modelcontextprotocol/skills": {}}}});
            let body = json!({"jsonrpc": "2.0", "id": 1, "result": result}).to_string();
            let answer = json_answer("200 OK", &body).replacen("\r\n", "\r\nmcp-session-id: s1\r\n", 1);
            Reply::Raw(answer.into_bytes())
        }
        "notifications/initialized" => {
            Reply::Raw(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_vec())
        }
        _ => story.answer(method, params),
    });
    let far = liar.source(patient());
    assert_eq!(far.list().unwrap().candidates.len(), 1);
    drop(far);
    let heads = liar.heads();
    assert!(
        heads.iter().any(|head| head.starts_with("post") && head.contains("mcp-session-id: s1")),
        "{heads:?}"
    );
    assert!(heads.iter().any(|head| head.starts_with("delete /mcp")), "{heads:?}");
}

#[test]
fn a_token_goes_to_its_server_and_nowhere_in_the_open() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("token");
    std::fs::write(&file, "s3cret\n").unwrap();
    let liar = Liar::telling(story());
    let far = source(&format!("mcp={},token_file={}", liar.url, file.display()));
    far.list().unwrap();
    assert!(liar.heads().iter().all(|head| head.contains("authorization: bearer s3cret")));
    assert!(!format!("{far:?}").contains("s3cret"));
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
