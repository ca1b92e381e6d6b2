//! `prowess search` and `prowess prompt`: which skills fit a task, and what an agent sees of them.

use crate::{Place, code, shelf};
use insta::assert_snapshot;
use serde_json::{Value, json};

/// Skills that share words, one with a tool, tags and a word only in its body.
fn skills() -> Place {
    Place::with(&[
        (
            "pdf/SKILL.md",
            "---\nname: pdf-forms\ndescription: Fill in PDF forms. Use when a form has fields.\ntags: [office, pdf]\n---\nTake the zebra library.\n",
        ),
        (
            "web/SKILL.md",
            "---\nname: web-forms\ndescription: Fill in forms of web pages.\nallowed-tools: Browser\n---\nOpen the page.\n",
        ),
        (
            "git/SKILL.md",
            "---\nname: commits\ndescription: Write git commit messages.\ndisable-model-invocation: true\n---\nLook at the diff.\n",
        ),
    ])
}

fn run(place: &Place, args: &[&str]) -> String {
    place.transcript(&shelf::command(place).args(args).output().unwrap())
}

fn found(place: &Place, args: &[&str]) -> Vec<String> {
    let value = shelf::json_of(place, &[&["search", "--json", "--in", "."], args].concat());
    let hits = value["hits"].as_array().unwrap_or_else(|| panic!("{args:?}: {value}"));
    hits.iter().map(|hit| hit["key"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_best_comes_first_and_says_why() {
    let place = skills();
    assert_snapshot!(run(&place, &["search", "--in", ".", "fill", "a", "pdf", "form"]), @"
    exit 0
    --- stdout
    1  pdf-forms  2.080  fill, pdf, form  Fill in PDF forms. Use when a form has fields.
    2  web-forms  0.583  fill, form  Fill in forms of web pages.

    2 of 3 skills
    ");
    assert_snapshot!(run(&place, &["search", "--in", ".", "zebra comit", "--why"]), @"
    exit 0
    --- stdout
    1  commits  0.382  comit  Write git commit messages.
      in the name: comit; in the description: comit; nowhere: zebra
    2  pdf-forms  0.100  zebra  Fill in PDF forms. Use when a form has fields.
      in the instructions: zebra; nowhere: comit

    2 of 3 skills
    ");
    assert_snapshot!(run(&place, &["search", "--in", ".", "bread"]), @"
    exit 0
    --- stdout
    no skill fits, of 3 skills; all of them: prowess list --in .
    ");
    assert_snapshot!(run(&place, &["search", "--in", ".", "--json", "--why", "zebra"]), @r#"
    exit 0
    --- stdout
    {"version":1,"query":"zebra","selector":"bm25","hits":[{"name":"pdf-forms","key":"pdf-forms","description":"Fill in PDF forms. Use when a form has fields.","path":"[DIR]/pdf/SKILL.md","source":"[DIR]","virtual_path":"pdf","scope":"explicit","state":"active","trusted":true,"preload":false,"repaired":false,"readers":[],"problems":[{"code":"name-folder-mismatch","severity":"info","message":"the name is not the name of the folder: pdf-forms in pdf"}],"rank":1,"score":0.11299875,"words":{"found":["zebra"],"missing":[]},"why":[{"term":"zebra","field":"body","score":0.112998754}]}],"unread":[],"summary":{"skills":3,"hits":1}}
    "#);
}

#[test]
fn options_narrow_what_is_found() {
    let place = skills();
    assert_eq!(found(&place, &["forms"]), ["pdf-forms", "web-forms"]);
    assert_eq!(found(&place, &["forms", "--limit", "1"]), ["pdf-forms"]);
    assert_eq!(found(&place, &["forms", "--limit", "all"]), ["pdf-forms", "web-forms"]);
    assert_eq!(found(&place, &["forms", "--tools", "Read,Bash"]), ["pdf-forms"]);
    assert_eq!(found(&place, &["forms", "--min-score", "100"]), [""; 0]);
    assert_eq!(found(&place, &["--selector", "tags", "office, x"]), ["pdf-forms"]);
    assert_eq!(found(&place, &["--selector", "keyword", "git", "pages"]), ["commits", "web-forms"]);
    assert_eq!(found(&place, &["--selector", "all", "x"]), ["commits", "pdf-forms", "web-forms"]);
}

#[test]
fn a_skill_that_is_not_trusted_is_marked_and_its_body_is_not_read() {
    let place = Place::with(&[
        (".claude/skills/own/SKILL.md", "---\nname: own\ndescription: Paints walls.\n---\nzebra\n"),
        ("home/.claude/skills/mine/SKILL.md", "---\nname: mine\ndescription: Paints doors.\n---\nzebra\n"),
    ]);
    assert_snapshot!(run(&place, &["search", "paint"]), @"
    exit 0
    --- stdout
    1  mine  0.119  paint  Paints doors.
    2  own  0.119  paint  not trusted: Paints walls.

    2 of 2 skills
    ");
    let keys = |query: &str| -> Vec<Value> {
        let found = shelf::json_of(&place, &["search", "--json", query]);
        found["hits"].as_array().unwrap().iter().map(|hit| hit["key"].clone()).collect()
    };
    assert_eq!(keys("zebra"), ["mine"]);
    assert_snapshot!(run(&place, &["prompt", "--format", "plain"]), @"
    exit 0
    --- stdout
    Available skills:
    - mine: Paints doors.
    --- stderr
    1 skill not trusted and left out: prowess trust
    ");
    run(&place, &["trust", "--yes"]);
    assert_eq!(keys("zebra"), ["mine", "own"]);
}

#[test]
fn a_program_can_rank() {
    let place = skills();
    place.write(
        "rank.sh",
        br#"cat >/dev/null; echo '{"selected":["web-forms",{"key":"commits","score":3},"none"]}'"#,
    );
    let ranked = found(&place, &["--selector", "command:sh rank.sh", "x"]);
    assert_eq!(ranked, ["web-forms", "commits"], "the order that the program gives");
    assert_eq!(found(&place, &["--selector", "command:[\"sh\", \"rank.sh\"]", "x"]), ranked);
    let eval = shelf::json_of(&place, &["eval", "--json", "--selector", "command:sh rank.sh"]);
    assert_eq!((eval["selector"].as_str(), eval["skills"].as_u64()), (Some("command"), Some(3)));
    for (program, said) in [
        ("command:echo no", "its output is not JSON"),
        ("command:false", "exit status: 1"),
        ("command:./nowhere", "it could not be started"),
    ] {
        let output =
            shelf::command(&place).args(["search", "--in", ".", "x", "--selector", program]).output();
        let output = output.unwrap();
        let error = String::from_utf8(output.stderr.clone()).unwrap();
        assert!(code(&output) == 2 && error.contains(said), "{program}: {error}");
    }
    assert_snapshot!(run(&place, &["search", "x", "--selector", "command:"]), @"
    exit 2
    --- stderr
    error: name a program after command:, as words separated by spaces or as a JSON list of strings
    ");
}

#[test]
fn every_query_has_an_answer() {
    let place = skills();
    let long = "forms ".repeat(17_000);
    let mixed = "форма 表单 form נייר";
    let queries: &[(&str, &[&str])] = &[
        ("x", &[]),
        ("a", &[]),
        ("🦓🦓", &[]),
        ("\u{1b}[31m\u{7}", &[]),
        ("zebra\u{1b}\u{0b}", &["pdf-forms"]),
        (mixed, &["pdf-forms", "web-forms"]),
        (&long, &["pdf-forms", "web-forms"]),
        ("the of and", &[]),
    ];
    for (query, expected) in queries {
        let shown: String = query.chars().take(20).collect();
        assert_eq!(found(&place, &["--", query]), *expected, "{shown:?}");
        for args in [&["search", "--in", ".", "--", query][..], &["prompt", "--in", ".", "--query", query]] {
            let output = shelf::command(&place).args(args).output().unwrap();
            assert_eq!(code(&output), 0, "{shown:?}");
            let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
            assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{shown:?}: {text:?}");
        }
    }
}

#[test]
fn search_works_with_no_skill_one_skill_and_copies_of_a_skill() {
    let place = Place::with(&[("none/file", "")]);
    assert_snapshot!(run(&place, &["search", "--in", "none", "x"]), @"
    exit 0
    --- stdout
    no skills here
    ");
    assert_snapshot!(run(&place, &["prompt", "--in", "none", "--query", "x", "--format", "plain"]), @"
    exit 0
    --- stdout
    No skills available.
    --- stderr
    no skills here
    ");
    place.write("one/a/SKILL.md", b"---\nname: a\ndescription: Bakes bread.\n---\n");
    assert_eq!(shelf::json_of(&place, &["search", "--json", "--in", "one", "bread"])["summary"]["hits"], 1);
    for number in (0..30).rev() {
        let text = format!("---\nname: copy-{number:02}\ndescription: Bakes bread.\n---\nKnead.\n");
        place.write(&format!("many/{number}/SKILL.md"), text.as_bytes());
    }
    let value = shelf::json_of(&place, &["search", "--json", "--in", "many", "bread", "--limit", "all"]);
    let keys: Vec<&str> =
        value["hits"].as_array().unwrap().iter().map(|hit| hit["key"].as_str().unwrap()).collect();
    assert!(keys.len() == 30 && keys.is_sorted(), "{keys:?}");
}

#[test]
fn a_prompt_keeps_within_its_budget_and_says_what_it_cut() {
    let place = skills();
    assert_snapshot!(run(&place, &["prompt", "--in", ".", "--format", "compact"]), @"
    exit 0
    --- stdout
    <available_skills>
    - pdf-forms: Fill in PDF forms. Use when a form has fields.
    - web-forms: Fill in forms of web pages.
    </available_skills>
    --- stderr
    left out 1 skill that only a user may start
    ");
    assert_snapshot!(run(&place, &["prompt", "--in", ".", "--format", "compact", "--query", "pdf"]), @"
    exit 0
    --- stdout
    <available_skills>
    - pdf-forms: Fill in PDF forms. Use when a form has fields.
    </available_skills>
    ");
    assert_snapshot!(run(&place, &["prompt", "--in", ".", "--format", "compact", "--budget", "80c"]), @"
    exit 0
    --- stdout
    <available_skills>
    - pdf-forms: Fill i…
    - web-forms: Fill i…
    </available_skills>
    --- stderr
    shortened 2 descriptions to 7 characters or less
    left out 1 skill that only a user may start
    ");
    assert_snapshot!(run(&place, &["prompt", "--in", ".", "--format", "plain", "--budget", "20", "--query", "forms"]), @"
    exit 0
    --- stdout
    Available skills:
    - pdf-forms: Fill in PDF fo…
    - web-forms: Fill in forms…
    --- stderr
    shortened 2 descriptions to 15 characters or less
    ");
    assert_snapshot!(run(&place, &["prompt", "--in", ".", "--format", "plain", "--budget", "1"]), @"
    exit 0
    --- stdout
    2 skills are not shown here.
    --- stderr
    left out 2 skills: pdf-forms, web-forms
    the budget is too small for any skill
    left out 1 skill that only a user may start
    ");
    assert_snapshot!(run(&place, &["prompt", "--in", ".", "--format", "compact", "--query", "bread"]), @"
    exit 0
    --- stdout
    <available_skills>
    - pdf-forms: Fill in PDF forms. Use when a form has fields.
    - web-forms: Fill in forms of web pages.
    </available_skills>
    --- stderr
    no skill fits the query: all are shown
    ");
    assert_snapshot!(run(&place, &["prompt", "--in", ".", "--format", "compact", "--query", "x", "--selector", "command:false"]), @"
    exit 0
    --- stdout
    <available_skills>
    - pdf-forms: Fill in PDF forms. Use when a form has fields.
    - web-forms: Fill in forms of web pages.
    </available_skills>
    --- stderr
    error: the selector program failed: false: exit status: 1
      hint: correct the program, or take another selector: prowess help search
    the selector failed: all skills are shown
    ");
    let share = |budget: &str| {
        let args = ["prompt", "--json", "--in", ".", "--window", "1000", "--budget", budget];
        let report = shelf::json_of(&place, &args)["report"].clone();
        (report["unit"].clone(), report["limit"].clone())
    };
    assert_eq!(share("1%"), (json!("tokens"), json!(10)));
    assert_eq!(share("2%"), (json!("tokens"), json!(20)));
    assert_eq!(share("none"), (json!("characters"), json!(null)));
}

#[test]
fn the_cache_changes_no_answer() {
    let place = skills();
    let args = ["search", "--json", "--why", "--in", ".", "fill zebra forms"];
    let fresh = run(&place, &[&args[..], &["--no-cache"]].concat());
    let remembered = place.path().join("cache/prowess/terms");
    assert!(!remembered.exists());
    for _ in 0..3 {
        assert_eq!(run(&place, &args), fresh);
    }
    let file = std::fs::read_dir(&remembered).unwrap().next().unwrap().unwrap().path();
    let bytes = std::fs::read(&file).unwrap();
    for damaged in [&b""[..], b"x", &bytes[..bytes.len() / 2], &[&bytes[..], b"x"].concat()] {
        std::fs::write(&file, damaged).unwrap();
        assert_eq!(run(&place, &args), fresh);
        assert_eq!(std::fs::read(&file).unwrap().len(), bytes.len(), "rebuilt");
    }
    place.write("new/SKILL.md", b"---\nname: zoo\ndescription: Zebra zebra.\n---\n");
    let after = run(&place, &args);
    assert_eq!(after, run(&place, &[&args[..], &["--no-cache"]].concat()));
    assert!(after.contains("zoo"));
}

#[test]
fn a_prompt_leaves_out_skills_whose_tools_are_missing_with_or_without_a_query() {
    let place = skills();
    let shown = |args: &[&str]| {
        let value = shelf::json_of(&place, &[&["prompt", "--json", "--in", "."], args].concat());
        let keys = value["skills"].as_array().unwrap().iter().map(|key| key.as_str().unwrap().to_owned());
        (keys.collect::<Vec<_>>().join(" "), value["narrowed"].as_str().unwrap().to_owned())
    };
    let of = |keys: &str, narrowed: &str| (keys.to_owned(), narrowed.to_owned());
    assert_eq!(shown(&[]), of("pdf-forms web-forms", "no-query"));
    assert_eq!(shown(&["--tools", "Read"]), of("pdf-forms", "no-query"));
    assert_eq!(shown(&["--tools", ""]), of("pdf-forms", "no-query"));
    assert_eq!(shown(&["--tools", "Read", "--query", "bread"]), of("pdf-forms", "nothing-found"));
    assert_eq!(shown(&["--tools", "Read", "--query", "forms"]), of("pdf-forms", "hits"));
    let broken = ["--tools", "Read", "--query", "forms", "--selector", "command:false"];
    assert_eq!(shown(&broken), of("pdf-forms", "failed"));
    assert_eq!(shown(&["--tools", "Browser"]), of("pdf-forms web-forms", "no-query"));
}

#[cfg(unix)]
#[test]
fn a_program_can_give_negative_scores_and_min_score_decides() {
    let place = skills();
    place.write("rank", b"#!/bin/sh\necho '{\"selected\":[{\"key\":\"web-forms\",\"score\":-0.5},{\"key\":\"pdf-forms\",\"score\":-7}]}'\n");
    let selector = ["--selector", "command:sh rank", "forms"];
    assert_eq!(found(&place, &selector), ["web-forms", "pdf-forms"]);
    assert_eq!(found(&place, &[&["--min-score", "-5"], &selector[..]].concat()), ["web-forms"]);
    assert_eq!(found(&place, &[&["--min-score", "0"], &selector[..]].concat()), [""; 0]);
}

#[test]
fn a_prompt_has_the_text_of_preloaded_skills() {
    let place = skills();
    let args = ["prompt", "--in", "dir=pdf,preload=true", "--in", "web"];
    let text = run(&place, &args);
    assert!(text.contains("Take the zebra library.") && !text.contains("Open the page."), "{text}");
    let json = run(&place, &[&args[..], &["--format", "json"]].concat());
    assert!(!json.contains("zebra") && json.contains("1 skill preloaded"), "{json}");
    let value = shelf::json_of(&place, &[&args[..], &["--json"]].concat());
    assert_eq!(value["preloaded"][0]["key"], "pdf-forms");
    assert!(value["preloaded"][0]["text"].as_str().unwrap().contains("zebra"));
}

#[test]
fn skills_that_only_a_user_may_start_are_counted_in_words() {
    let skill =
        |name: &str, field: &str| format!("---\nname: {name}\ndescription: Does {name}.\n{field}---\n");
    let place = Place::with(&[("s/open/SKILL.md", &skill("open", ""))]);
    let said = || run(&place, &["prompt", "--in", "s"]);
    assert!(!said().contains("only a user"), "{}", said());
    for (name, words) in [
        ("one", "left out 1 skill that only a user may start\n"),
        ("two", "left out 2 skills that only a user may start\n"),
    ] {
        place
            .write(&format!("s/{name}/SKILL.md"), skill(name, "disable-model-invocation: true\n").as_bytes());
        assert!(said().contains(words), "{}", said());
    }
}
