//! Invalid lists of another server: an invalid entry never hides the others, and every list ends.

use prowess::SourceError;
use prowess::source::{Listing, Source as _};
use prowess_mcp::McpLimits;
use serde_json::{Value, json};

use prowess_mcp::testing::{FakeContent, FakeServer, Reply, json_response};

fn content() -> FakeContent {
    let mut content = FakeContent::default();
    content.skill("skill://good", "", &[]).skill("skill://bad", "", &[("file", b"x")]);
    content
}

/// A change that makes the content invalid.
type Change<'l> = &'l dyn Fn(&mut FakeContent);

/// The result of listing this content.
fn listed(content: FakeContent) -> Listing {
    FakeServer::serving(content)
        .source(McpLimits::default().with_files(4).with_skill_bytes(1000))
        .list()
        .unwrap()
}

fn names(listing: &Listing) -> Vec<&str> {
    listing.skills.iter().map(|skill| skill.entry.name.as_str()).collect()
}

#[test]
fn an_invalid_entry_is_reported_and_the_others_are_kept() {
    let file = |uri: &str| json!({"uri": uri, "digest": format!("sha256:{}", "0".repeat(64)), "size": 1});
    let push = |content: &mut FakeContent, uri: &str| {
        content.last()["resources"].as_array_mut().unwrap().push(file(uri));
    };
    let changes: [(Change<'_>, &str); 11] = [
        (
            &|content| push(content, "skill://good/SKILL.md"),
            "this is not a path in the skill: skill://good/SKILL.md",
        ),
        (
            &|content| push(content, "skill://bad/../good/x"),
            "this path is refused: skill://bad/../good/x: path steps out with `..`",
        ),
        (&|content| push(content, "skill://bad/file"), "this file is listed twice: skill://bad/file"),
        (
            &|content| (0..5).for_each(|at| push(content, &format!("skill://bad/{at}"))),
            "it has 7 files, at most 4",
        ),
        (
            &|content| content.last()["resources"][0]["size"] = 1001.into(),
            "its files have more than 1000 bytes",
        ),
        (
            &|content| content.last()["frontmatter"]["name"] = "worse".into(),
            "is not the last segment of the uri before SKILL.md: bad",
        ),
        (
            &|content| content.last()["resources"][0]["digest"] = "md5:0".into(),
            "64 hexadecimal digits in lower case are wanted",
        ),
        (
            &|content| drop(content.last()["resources"][0].as_object_mut().unwrap().remove("size")),
            "size: a number of bytes is wanted",
        ),
        (
            &|content| drop(content.last().as_object_mut().unwrap().remove("resources")),
            "resources: a list or \"dynamic\" is wanted",
        ),
        (&|content| content.last()["frontmatter"] = json!("name: bad"), "frontmatter: an object is wanted"),
        (
            &|content| drop(content.last()["resources"].as_array_mut().unwrap().remove(0)),
            "SKILL.md is missing",
        ),
    ];
    for (change, reason) in changes {
        let mut content = content();
        change(&mut content);
        let listing = listed(content);
        assert_eq!(names(&listing), ["good"], "{reason}");
        let [problem] = listing.problems.as_slice() else { panic!("{reason}: {:?}", listing.problems) };
        let text = problem.to_string();
        assert!(
            text.starts_with("could not take this from an MCP server: far: skill://bad/SKILL.md: "),
            "{text}"
        );
        assert!(text.contains(reason), "{text}");
        assert!(!problem.hint().is_empty());
    }
}

#[test]
fn many_invalid_entries_are_counted_and_not_all_reported() {
    let mut content = content();
    content.entries.extend((0..50).map(|_| json!(7)));
    content.entries.push(json!({"uri": "skill://\u{1b}[31m/SKILL.md"}));
    let again = content.entries[0].clone();
    content
        .entries
        .insert(0, json!({"uri": "skill://\u{1b}]0;x/SKILL.md", "frontmatter": {}, "resources": []}));
    content.entries.insert(2, again);
    let listing = listed(content);
    assert_eq!(names(&listing), ["good", "bad"]);
    assert_eq!(listing.problems.len(), 21);
    let text: Vec<String> = listing.problems.iter().map(ToString::to_string).collect();
    assert!(
        text[0].contains("skill://\\u{1b}]0;x/SKILL.md") && !text.concat().contains('\u{1b}'),
        "{text:?}"
    );
    assert!(text[1].ends_with("skill://good/SKILL.md: it is listed twice"), "{text:?}");
    assert!(text[2].contains("far: skills/list[4]: uri: "), "{text:?}");
    assert!(text[20].ends_with("33 more of its entries are not believed"), "{text:?}");
}

#[test]
fn a_frontmatter_without_a_description_is_a_broken_skill() {
    let changes: [Change<'_>; 2] = [
        &|content| drop(content.last()["frontmatter"].as_object_mut().unwrap().remove("description")),
        // A null description is absent, and not the text `null`.
        &|content| content.last()["frontmatter"]["description"] = Value::Null,
    ];
    for change in changes {
        let mut content = content();
        change(&mut content);
        let listing = listed(content);
        assert_eq!(names(&listing), ["good", "bad"]);
        let bad = &listing.skills[1];
        assert!(matches!(bad.obstacle, Some(prowess::Obstacle::Broken { .. })), "{:?}", bad.entry);
        assert_ne!(bad.entry.description, "null");
    }
}

/// A list of pages: the function returns the skills and the next cursor of each page.
fn paged(
    limits: McpLimits,
    page: impl Fn(u64) -> (Vec<Value>, Value) + Send + Sync + 'static,
) -> (FakeServer, Result<Listing, SourceError>) {
    let server = FakeServer::with_handler(content(), move |content, method, params| {
        if method != "skills/list" {
            return content.reply(method, params);
        }
        let number = params["cursor"].as_str().map_or(0, |cursor| cursor.parse().unwrap());
        let (skills, next) = page(number);
        Reply::Result(json!({"skills": skills, "nextCursor": next}))
    });
    let listing = server.source(limits).list();
    (server, listing)
}

fn one(number: u64) -> Vec<Value> {
    let mut content = FakeContent::default();
    content.skill(&format!("skill://s{number}"), "", &[]);
    content.entries
}

#[test]
fn all_pages_are_read() {
    let next = |number: u64| if number < 4 { json!((number + 1).to_string()) } else { Value::Null };
    let (_, listing) = paged(McpLimits::default(), move |number| (one(number), next(number)));
    assert_eq!(names(&listing.unwrap()), ["s0", "s1", "s2", "s3", "s4"]);
}

#[test]
fn an_endless_list_is_cut_and_earlier_skills_are_kept() {
    let small = McpLimits::default().with_pages(5).with_skills(3);
    let many = McpLimits::default().with_pages(5);
    let bytes = McpLimits::default().with_list_bytes(1000);
    let on = |number: u64| json!((number + 1).to_string());
    let (server, listing) = paged(many, move |number| (one(number), on(number)));
    assert_eq!(server.requests("skills/list").len(), 5);
    let circle = paged(many, |number| (one(number), json!(((number + 1) % 2).to_string()))).1;
    let all = [
        (listing, 5, "its list has more than 5 pages"),
        (circle, 2, "its list goes in a circle: a cursor came twice"),
        (paged(small, move |number| (one(number), on(number))).1, 3, "it has more than 3 skills"),
        (paged(bytes, move |number| (one(number), on(number))).1, 4, "its list has more than 1000 bytes"),
        (paged(many, |number| (one(number), json!(7))).1, 1, "nextCursor: a text is wanted"),
    ];
    for (listing, count, reason) in all {
        let listing = listing.unwrap();
        let text: Vec<String> = listing.problems.iter().map(ToString::to_string).collect();
        assert!(
            text.last().is_some_and(|text| text.ends_with(&format!("far: skills/list: {reason}"))),
            "{text:?}"
        );
        assert_eq!(listing.skills.len(), count, "{reason}");
    }
}

#[test]
fn a_result_without_a_list_is_an_error() {
    for result in [json!({}), json!({"skills": 1}), json!({"skills": [], "resultType": "input_required"})] {
        let server = FakeServer::with_handler(content(), move |content, method, params| match method {
            "skills/list" => Reply::Result(result.clone()),
            _ => content.reply(method, params),
        });
        let error = server.source(McpLimits::default()).list().unwrap_err();
        assert!(error.to_string().contains("far: skills/list: "), "{error}");
    }
}

#[test]
fn unknown_members_are_ignored() {
    let server =
        FakeServer::with_handler(content(), |content, method, params| match content.reply(method, params) {
            Reply::Result(mut result) => {
                result["_meta"] =
                    json!({"io.modelcontextprotocol/serverInfo": {"name": "x", "version": "1"}});
                result["more"] = json!([1]);
                Reply::Result(result)
            }
            other => other,
        });
    assert_eq!(names(&server.source(McpLimits::default()).list().unwrap()), ["good", "bad"]);
}

#[test]
fn an_entry_with_a_text_or_a_depth_that_cannot_be_read_takes_no_other_with_it() {
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    for (from, to) in [("About bad.", r"Half \ud83d of a pair."), (r#""About bad.""#, &*deep)] {
        let (from, to) = (from.to_owned(), to.to_owned());
        let server = FakeServer::with_handler(content(), move |content, method, params| {
            let Reply::Result(result) = content.reply(method, params) else { panic!() };
            if method != "skills/list" {
                return Reply::Result(result);
            }
            let body = json!({"jsonrpc": "2.0", "id": 1, "result": result}).to_string();
            assert!(body.contains(&from));
            Reply::Raw(json_response("200 OK", &body.replace(&from, &to)).into_bytes())
        });
        let remote = server.source(McpLimits::default());
        let listing = remote.list().unwrap();
        assert_eq!((names(&listing).as_slice(), listing.problems.len()), (&["good", "bad"][..], 0));
        // Its file is another one than was listed.
        let read = |at: usize| {
            let path = prowess::RelPath::parse("SKILL.md").unwrap();
            remote.read(listing.skills[at].source_skill(), &path, prowess::source::Slice::first(99)).map(drop)
        };
        assert!(read(0).is_ok());
        assert!(read(1).unwrap_err().to_string().contains("description"));
    }
}
