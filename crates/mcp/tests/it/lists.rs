//! Lists that break the rules: one bad entry never hides the others, and no list is without end.

use prowess::SourceError;
use prowess::source::{Offer, Source as _};
use prowess_mcp::McpLimits;
use serde_json::{Value, json};

use crate::liar::{Liar, Reply, Story};

fn story() -> Story {
    let mut story = Story::default();
    story.skill("skill://good", "", &[]).skill("skill://bad", "", &[("file", b"x")]);
    story
}

/// What makes a story untrue.
type Lie<'l> = &'l dyn Fn(&mut Story);

/// What a server with this list makes of it.
fn offered(story: Story) -> Offer {
    Liar::telling(story)
        .source(McpLimits { files: 4, skill_bytes: 1000, ..McpLimits::default() })
        .list()
        .unwrap()
}

fn names(offer: &Offer) -> Vec<&str> {
    offer.candidates.iter().map(|skill| skill.entry.name.as_str()).collect()
}

#[test]
fn an_entry_that_is_wrong_is_named_and_the_others_stand() {
    let file = |uri: &str| json!({"uri": uri, "digest": format!("sha256:{}", "0".repeat(64)), "size": 1});
    let push =
        |story: &mut Story, uri: &str| story.last()["resources"].as_array_mut().unwrap().push(file(uri));
    let lies: [(Lie<'_>, &str); 11] = [
        (
            &|story| push(story, "skill://good/SKILL.md"),
            "this is not a path in the skill: skill://good/SKILL.md",
        ),
        (
            &|story| push(story, "skill://bad/../good/x"),
            "this path is refused: skill://bad/../good/x: path steps out with `..`",
        ),
        (&|story| push(story, "skill://bad/file"), "this file is listed twice: skill://bad/file"),
        (
            &|story| (0..5).for_each(|at| push(story, &format!("skill://bad/{at}"))),
            "it has 7 files, at most 4",
        ),
        (&|story| story.last()["resources"][0]["size"] = 1001.into(), "its files have more than 1000 bytes"),
        (
            &|story| story.last()["frontmatter"]["name"] = "worse".into(),
            "is not the last segment of the uri before SKILL.md: bad",
        ),
        (
            &|story| story.last()["resources"][0]["digest"] = "md5:0".into(),
            "64 hexadecimal digits in lower case are wanted",
        ),
        (
            &|story| drop(story.last()["resources"][0].as_object_mut().unwrap().remove("size")),
            "size: a number of bytes is wanted",
        ),
        (
            &|story| drop(story.last().as_object_mut().unwrap().remove("resources")),
            "resources: a list or \"dynamic\" is wanted",
        ),
        (&|story| story.last()["frontmatter"] = json!("name: bad"), "frontmatter: an object is wanted"),
        (&|story| drop(story.last()["resources"].as_array_mut().unwrap().remove(0)), "SKILL.md is missing"),
    ];
    for (lie, reason) in lies {
        let mut story = story();
        lie(&mut story);
        let offer = offered(story);
        assert_eq!(names(&offer), ["good"], "{reason}");
        let [problem] = offer.problems.as_slice() else { panic!("{reason}: {:?}", offer.problems) };
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
fn entries_that_are_nothing_at_all_are_counted_and_not_shouted() {
    let mut story = story();
    story.entries.extend((0..50).map(|_| json!(7)));
    story.entries.push(json!({"uri": "skill://\u{1b}[31m/SKILL.md"}));
    let again = story.entries[0].clone();
    story
        .entries
        .insert(0, json!({"uri": "skill://\u{1b}]0;x/SKILL.md", "frontmatter": {}, "resources": []}));
    story.entries.insert(2, again);
    let offer = offered(story);
    assert_eq!(names(&offer), ["good", "bad"]);
    assert_eq!(offer.problems.len(), 21);
    let text: Vec<String> = offer.problems.iter().map(ToString::to_string).collect();
    assert!(
        text[0].contains("skill://\\u{1b}]0;x/SKILL.md") && !text.concat().contains('\u{1b}'),
        "{text:?}"
    );
    assert!(text[1].ends_with("skill://good/SKILL.md: it is listed twice"), "{text:?}");
    assert!(text[2].contains("far: skills/list[4]: uri: "), "{text:?}");
    assert!(text[20].ends_with("33 more of its entries are not believed"), "{text:?}");
}

#[test]
fn a_frontmatter_that_makes_no_skill_is_a_broken_one() {
    let lies: [Lie<'_>; 2] = [
        &|story| drop(story.last()["frontmatter"].as_object_mut().unwrap().remove("description")),
        // A description of nothing is none, and not the word for it.
        &|story| story.last()["frontmatter"]["description"] = Value::Null,
    ];
    for lie in lies {
        let mut story = story();
        lie(&mut story);
        let offer = offered(story);
        assert_eq!(names(&offer), ["good", "bad"]);
        let bad = &offer.candidates[1];
        assert!(matches!(bad.obstacle, Some(prowess::Obstacle::Broken { .. })), "{:?}", bad.entry);
        assert_ne!(bad.entry.description, "null");
    }
}

/// A list of pages: each has what the function gives for its number, and leads to the cursor it gives.
fn paged(
    limits: McpLimits,
    page: impl Fn(u64) -> (Vec<Value>, Value) + Send + Sync + 'static,
) -> (Liar, Result<Offer, SourceError>) {
    let liar = Liar::with(story(), move |story, method, params| {
        if method != "skills/list" {
            return story.answer(method, params);
        }
        let number = params["cursor"].as_str().map_or(0, |cursor| cursor.parse().unwrap());
        let (skills, next) = page(number);
        Reply::Result(json!({"skills": skills, "nextCursor": next}))
    });
    let offer = liar.source(limits).list();
    (liar, offer)
}

fn one(number: u64) -> Vec<Value> {
    let mut story = Story::default();
    story.skill(&format!("skill://s{number}"), "", &[]);
    story.entries
}

#[test]
fn pages_are_walked_to_the_end() {
    let next = |number: u64| if number < 4 { json!((number + 1).to_string()) } else { Value::Null };
    let (_, offer) = paged(McpLimits::default(), move |number| (one(number), next(number)));
    assert_eq!(names(&offer.unwrap()), ["s0", "s1", "s2", "s3", "s4"]);
}

#[test]
fn a_list_without_end_is_cut_and_what_came_before_stands() {
    let small = McpLimits { pages: 5, skills: 3, ..McpLimits::default() };
    let many = McpLimits { pages: 5, ..McpLimits::default() };
    let bytes = McpLimits { list_bytes: 1000, ..McpLimits::default() };
    let on = |number: u64| json!((number + 1).to_string());
    let (liar, offer) = paged(many, move |number| (one(number), on(number)));
    assert_eq!(liar.asked("skills/list").len(), 5);
    let circle = paged(many, |number| (one(number), json!(((number + 1) % 2).to_string()))).1;
    let all = [
        (offer, 5, "its list has more than 5 pages"),
        (circle, 2, "its list goes in a circle: a cursor came twice"),
        (paged(small, move |number| (one(number), on(number))).1, 3, "it has more than 3 skills"),
        (paged(bytes, move |number| (one(number), on(number))).1, 4, "its list has more than 1000 bytes"),
        (paged(many, |number| (one(number), json!(7))).1, 1, "nextCursor: a text is wanted"),
    ];
    for (offer, count, reason) in all {
        let offer = offer.unwrap();
        let text: Vec<String> = offer.problems.iter().map(ToString::to_string).collect();
        assert!(
            text.last().is_some_and(|text| text.ends_with(&format!("far: skills/list: {reason}"))),
            "{text:?}"
        );
        assert_eq!(offer.candidates.len(), count, "{reason}");
    }
}

#[test]
fn a_list_that_is_none_is_an_error() {
    for result in [json!({}), json!({"skills": 1}), json!({"skills": [], "resultType": "input_required"})] {
        let liar = Liar::with(story(), move |story, method, params| match method {
            "skills/list" => Reply::Result(result.clone()),
            _ => story.answer(method, params),
        });
        let error = liar.source(McpLimits::default()).list().unwrap_err();
        assert!(error.to_string().contains("far: skills/list: "), "{error}");
    }
}

#[test]
fn members_that_nobody_asked_for_change_nothing() {
    let liar = Liar::with(story(), |story, method, params| match story.answer(method, params) {
        Reply::Result(mut result) => {
            result["_meta"] = json!({"io.modelcontextprotocol/serverInfo": {"name": "x", "version": "1"}});
            result["more"] = json!([1]);
            Reply::Result(result)
        }
        other => other,
    });
    assert_eq!(names(&liar.source(McpLimits::default()).list().unwrap()), ["good", "bad"]);
}
