//! `prowess eval`: trigger queries of skills, and pools with known answers.

use crate::Place;
use insta::assert_snapshot;
use serde_json::json;

const PDF: &str =
    "---\nname: pdf-forms\ndescription: Fill in PDF forms. Use when a form has fields.\n---\nFill it.\n";
const FILL: &str =
    "---\nname: form-filler\ndescription: Fill in forms of web pages.\n---\nFill it in the browser.\n";
const GIT: &str = "---\nname: commits\ndescription: Write git commit messages.\n---\nLook at the diff.\n";

fn library() -> Place {
    Place::with(&[
        ("pdf/SKILL.md", PDF),
        ("fill/SKILL.md", FILL),
        ("git/SKILL.md", GIT),
        (
            "pdf/evals/eval_queries.json",
            r#"[{"query":"fill the pdf"},{"query":"bake bread"},{"query":"fill the web form","should_trigger":false}]"#,
        ),
        ("git/eval_queries.json", r#"[{"query":"git commit text","should_trigger":false}]"#),
    ])
}

#[test]
fn eval_runs_the_trigger_queries_of_a_library() {
    let place = library();
    assert_snapshot!(place.run(&["eval"]), @"
    exit 1
    --- stdout
    commits
      git commit text
        first, but should not be
        its name or description has: git, commit
    pdf-forms
      bake bread
        not found, nor is any other
        add to the description: bake, bread

    3 skills, selector bm25
      should be first: 1 of 2 are (50.0 %)
      should not be first: 1 of 2 are not (50.0 %)
    ");
    assert_snapshot!(place.run(&["eval", "--overlap", "--selector", "keyword", "."]), @"
    exit 1
    --- stdout
    commits
      git commit text
        first, but should not be
        its name or description has: git, commit
    pdf-forms
      bake bread
        not found, nor is any other
        add to the description: bake, bread

    Skills that compete
      none

    3 skills, selector keyword
      should be first: 1 of 2 are (50.0 %)
      should not be first: 1 of 2 are not (50.0 %)
    ");
    let value = place.json(&["eval", "--json", "--overlap"]);
    assert_eq!((value["version"].as_u64(), value["skills"].as_u64()), (Some(1), Some(3)));
    assert_eq!(value["should"], serde_json::json!({ "queries": 2, "passed": 1 }));
    assert_eq!(value["queries"][0]["skill"], "commits");
}

#[test]
fn of_many_skills_with_one_description_each_one_competes() {
    let names: Vec<String> = (0..9).map(|number| format!("form-{number}")).collect();
    let place = Place::with(&[]);
    for name in &names {
        let text = format!("---\nname: {name}\ndescription: Fill in forms.\n---\nFill it.\n");
        place.write(&format!("{name}/SKILL.md"), text.as_bytes());
    }
    let value = place.json(&["eval", "--json", "--overlap"]);
    let pairs = value["overlap"].as_array().unwrap();
    for name in &names {
        let competes = |pair: &serde_json::Value| pair["skills"].as_array().unwrap().contains(&json!(name));
        assert!(pairs.iter().any(competes), "{name}: {value}");
    }
}

#[test]
fn help_and_messages_name_one_file_for_trigger_queries() {
    let place = Place::with(&[("pdf/SKILL.md", PDF)]);
    let (help, said) = (place.run(&["eval", "--help"]), place.run(&["eval"]));
    for text in [help, said] {
        assert!(text.contains("evals/eval_queries.json") && !text.contains("evals/evals.json"), "{text}");
    }
}

#[test]
fn tasks_with_expected_outputs_are_not_read_as_trigger_queries() {
    let tasks =
        r#"{"skill_name":"pdf-forms","evals":[{"id":1,"prompt":"fill the pdf","expected_output":"a form"}]}"#;
    let place = Place::with(&[("pdf/SKILL.md", PDF), ("pdf/evals/evals.json", tasks)]);
    assert_snapshot!(place.run(&["eval"]), @r#"
    exit 2
    --- stdout
    1 skill, selector bm25
    no trigger queries were read
    --- stderr
    not read: pdf/evals/evals.json: it has tasks with expected outputs for an agent, and no trigger queries; trigger queries belong in evals/eval_queries.json
    error: there are no trigger queries, only files of another kind
      hint: write a list of objects: [{"query": "a task", "should_trigger": true}]
    "#);
    let value = place.json(&["eval", "--json"]);
    assert_eq!(
        (&value["queries"], &value["refused"][0]["path"]),
        (&json!([]), &json!("pdf/evals/evals.json"))
    );
    // Beside trigger queries, such a file is not an error.
    place.write("pdf/evals/eval_queries.json", br#"[{"query":"fill the pdf"}]"#);
    assert!(place.run(&["eval"]).starts_with("exit 0"));
    // In place of the trigger queries it is.
    place.write("pdf/evals/eval_queries.json", tasks.as_bytes());
    assert_snapshot!(place.run(&["eval"]), @r#"
    exit 2
    --- stdout
    1 skill, selector bm25
    no trigger queries were read
    --- stderr
    error: this file has no trigger queries: pdf/evals/eval_queries.json
      cause: it has tasks with expected outputs for an agent, and no trigger queries
      hint: write a list of objects: [{"query": "a task", "should_trigger": true}]
    not read: pdf/evals/evals.json: it has tasks with expected outputs for an agent, and no trigger queries; trigger queries belong in evals/eval_queries.json
    "#);
}

#[test]
fn a_query_passes_when_its_skill_is_first_or_within_the_given_top() {
    let place = Place::with(&[
        ("pdf/SKILL.md", PDF),
        ("fill/SKILL.md", FILL),
        ("pdf/evals/eval_queries.json", r#"[{"query":"fill forms of web pages"}]"#),
    ]);
    let value = place.json(&["eval", "--json"]);
    let query = &value["queries"][0];
    assert_eq!(
        (&query["passed"], &query["rank"], &query["winner"], &value["top"]),
        (&json!(false), &json!(2), &json!("form-filler"), &json!(1))
    );
    assert_snapshot!(place.run(&["eval"]), @"
    exit 1
    --- stdout
    pdf-forms
      fill forms of web pages
        place 2, first is form-filler
        add to the description: web, pages

    2 skills, selector bm25
      should be first: 0 of 1 are (0.0 %)
    ");
    let value = place.json(&["eval", "--json", "--top", "2"]);
    assert_eq!((&value["queries"][0]["passed"], &value["should"]["passed"]), (&json!(true), &json!(1)));
    assert!(place.run(&["eval", "--top", "2"]).starts_with("exit 0"));
    assert!(place.run(&["eval", "--top", "0"]).starts_with("exit 2"));
    place.write("pdf/evals/eval_queries.json", br#"[{"query":"fields of a pdf"}]"#);
    let value = place.json(&["eval", "--json"]);
    assert_eq!(
        (&value["queries"][0]["rank"], &value["queries"][0]["winner"]),
        (&json!(1), &json!("pdf-forms"))
    );
}

#[test]
fn queries_that_a_link_out_of_the_skill_leads_to_are_not_read() {
    let place = Place::with(&[
        ("skills/pdf/SKILL.md", PDF),
        ("outside/queries.json", r#"[{"query":"the secret words"}]"#),
    ]);
    std::fs::create_dir(place.path().join("skills/pdf/evals")).unwrap();
    let link = place.path().join("skills/pdf/evals/eval_queries.json");
    std::os::unix::fs::symlink(place.path().join("outside/queries.json"), &link).unwrap();
    assert_snapshot!(place.run(&["eval", "skills"]), @"
    exit 2
    --- stdout
    1 skill, selector bm25
    no trigger queries were read
    --- stderr
    error: this leads out of the skill: skills/pdf/evals/eval_queries.json
      hint: only files below the skill's own folder can be read
    ");
    std::fs::remove_file(&link).unwrap();
    std::fs::remove_dir(place.path().join("skills/pdf/evals")).unwrap();
    std::os::unix::fs::symlink(place.path().join("outside"), place.path().join("skills/pdf/evals")).unwrap();
    place.write("outside/eval_queries.json", br#"[{"query":"the secret words"}]"#);
    let output = place.run(&["eval", "skills"]);
    assert!(output.starts_with("exit 2") && !output.contains("secret"), "{output}");
    // A link within the skill is followed.
    std::fs::remove_file(place.path().join("skills/pdf/evals")).unwrap();
    place.write("skills/pdf/own/eval_queries.json", br#"[{"query":"fields of a pdf"}]"#);
    std::os::unix::fs::symlink("own", place.path().join("skills/pdf/evals")).unwrap();
    assert_eq!(place.json(&["eval", "skills", "--json"])["should"], json!({ "queries": 1, "passed": 1 }));
}

#[test]
fn unreadable_queries_are_reported_and_the_others_run() {
    let place = library();
    place.write("fill/trigger-evals.json", b"{");
    assert_snapshot!(place.run(&["eval", "--selector", "bm25"]), @r#"
    exit 2
    --- stdout
    commits
      git commit text
        first, but should not be
        its name or description has: git, commit
    pdf-forms
      bake bread
        not found, nor is any other
        add to the description: bake, bread

    3 skills, selector bm25
      should be first: 1 of 2 are (50.0 %)
      should not be first: 1 of 2 are not (50.0 %)
    --- stderr
    error: this file has no trigger queries: fill/trigger-evals.json
      cause: it is not JSON: EOF while parsing an object at line 1 column 1
      hint: write a list of objects: [{"query": "a task", "should_trigger": true}]
    "#);
    assert_snapshot!(place.run(&["eval", "nowhere"]), @"
    exit 2
    --- stderr
    error: there is no such file or folder: nowhere
      hint: check the spelling, and that a link is not broken
    ");
}

#[test]
fn json_names_the_skills_that_are_not_tested() {
    let queries = r#"[{"query":"a"}]"#;
    let place = Place::with(&[
        ("skills/nodesc/SKILL.md", "---\nname: nodesc\n---\n"),
        ("skills/nodesc/evals/eval_queries.json", queries),
        ("skills/one/SKILL.md", "---\nname: one\ndescription: One.\n---\n"),
        ("skills/other/SKILL.md", "---\nname: one\ndescription: Two.\n---\n"),
    ]);
    assert_eq!(
        place.json(&["eval", "skills", "--json"])["left_out"],
        json!([
            { "path": "skills/nodesc/SKILL.md", "reason": "this skill does not load" },
            { "path": "skills/other/SKILL.md", "reason": "another skill has the same name, one" },
        ])
    );
    let said = place.run(&["eval", "skills"]);
    assert!(said.starts_with("exit 2\n") && said.contains("no trigger queries were read"), "{said}");
    assert!(!said.contains("put them into"), "{said}");
}

#[test]
fn errors_in_a_pool_or_its_queries_name_the_line() {
    let (skill, query) =
        (r#"{"id":"a","name":"pdf","description":"Forms"}"#, r#"{"id":"1","query":"forms"}"#);
    for (pool, queries, said) in [
        (format!("{skill}\n\n{skill}"), query.to_owned(), "two skills have one id: pool.jsonl:3: a"),
        ("[1]".to_owned(), query.to_owned(), "a skill has no id and no name: pool.jsonl:1"),
        (
            skill.to_owned(),
            format!("{query}\n[1]"),
            "this is not a query: queries.jsonl:2: query is not a string",
        ),
        (
            skill.to_owned(),
            r#"{"query":5}"#.to_owned(),
            "this is not a query: queries.jsonl:1: query is not a string",
        ),
        (
            skill.to_owned(),
            r#"{"query":"x","relevant":["a",1]}"#.to_owned(),
            "this is not a query: queries.jsonl:1: relevant is not a list of strings",
        ),
        (
            skill.to_owned(),
            r#"{"query":"x","relevant":"a"}"#.to_owned(),
            "this is not a query: queries.jsonl:1: relevant is not a list of strings",
        ),
    ] {
        let place = Place::with(&[("pool.jsonl", &pool), ("queries.jsonl", &queries)]);
        let output = place.run(&["eval", "--pool", "pool.jsonl", "--queries", "queries.jsonl"]);
        assert!(output.starts_with("exit 2") && output.contains(said), "{said}: {output}");
    }
}

#[test]
fn a_min_score_that_is_not_finite_is_refused() {
    let place = Place::with(&[("skills/good/SKILL.md", crate::GOOD)]);
    for score in ["nan", "inf", "much"] {
        let output = place.run(&["search", "good", "--in", "skills", "--min-score", score]);
        assert!(output.starts_with("exit 2"), "{score}: {output}");
    }
}

#[test]
fn a_pool_gives_rankings_and_figures() {
    let place = Place::with(&[
        (
            "pool.jsonl",
            "{\"id\":\"a\",\"name\":\"pdf\",\"description\":\"Fill forms\",\"body\":\"Fields\"}\n\n{\"id\":\"b\",\"name\":\"git\",\"description\":\"Commit\"}\n",
        ),
        (
            "queries.jsonl",
            "{\"id\":\"1\",\"query\":\"commit\",\"relevant\":[\"b\"]}\n{\"id\":\"2\",\"query\":\"\",\"relevant\":[\"a\"]}\n",
        ),
        (
            "vectors.jsonl",
            "{\"text\":\"pdf: Fill forms\",\"vector\":[1,0]}\n{\"text\":\"git: Commit\",\"vector\":[0,1]}\n{\"text\":\"commit\",\"vector\":[1,1]}\n",
        ),
    ]);
    let run = ["eval", "--pool", "pool.jsonl", "--queries", "queries.jsonl", "--run", "run.jsonl"];
    assert_snapshot!(place.run(&run), @"
    exit 0
    --- stdout
    2 queries over 2 skills, selector bm25: first 50.0 %, in the first ten 50.0 %, MRR 50.0, nDCG@10 50.0
    ");
    let written = std::fs::read_to_string(place.path().join("run.jsonl")).unwrap();
    assert_eq!(written, "{\"id\":\"1\",\"ranked\":[\"b\"]}\n{\"id\":\"2\",\"ranked\":[]}\n");
    let fused = [&run[..5], &["--selector", "fused", "--vectors", "vectors.jsonl", "--json"]].concat();
    assert_snapshot!(place.run(&fused), @r#"
    exit 0
    --- stdout
    {"version":1,"selector":"fused","skills":2,"queries":2,"judged":2,"hit_at_1":50.0,"recall_at_10":50.0,"mrr":50.0,"ndcg_at_10":50.0}
    "#);
    assert_snapshot!(place.run(&[&run[..5], &["--selector", "embedding"]].concat()), @r#"
    exit 2
    --- stderr
    error: this selector needs vectors: --vectors
      hint: write one {"text", "vector"} per line for every skill and query; docs/project/retrieval.md shows how
    "#);
    assert_snapshot!(place.run(&["eval", "--pool", "pool.jsonl"]), @"
    exit 2
    --- stderr
    error: a pool and its queries belong together
      hint: give both --pool and --queries, or a folder with skills
    ");
    assert_snapshot!(place.run(&["eval", "--pool", "queries.jsonl", "--queries", "none.jsonl"]), @"
    exit 2
    --- stderr
    error: there is no such file or folder: none.jsonl
      hint: check the spelling, and that a link is not broken
    ");
}

#[test]
fn rankings_never_replace_an_input_or_a_file_of_another_kind() {
    let pool = "{\"id\":\"a\",\"name\":\"pdf\",\"description\":\"Fill forms\"}\n";
    let queries = "{\"id\":\"1\",\"query\":\"forms\",\"relevant\":[\"a\"]}\n";
    let ranked = "{\"id\":\"1\",\"ranked\":[\"a\"]}\n";
    let notes = format!("{ranked}mine\n");
    let more = "{\"id\":\"1\",\"ranked\":[],\"mine\":1}\n";
    let place = Place::with(&[("pool", pool), ("queries", queries), ("notes", &notes), ("more", more)]);
    std::os::unix::fs::symlink("pool", place.path().join("link")).unwrap();
    place.write("vectors", b"{\"text\":\"x\",\"vector\":[1]}\n");
    let eval = |run: &str| {
        let args = ["eval", "--pool", "pool", "--queries", "queries", "--vectors", "vectors", "--run", run];
        place.run(&args)
    };
    let files = ["pool", "./pool", "link", "queries", "vectors", "notes", "more"];
    for (at, file) in files.iter().enumerate() {
        let before = std::fs::read(place.path().join(file)).unwrap();
        let said = eval(file);
        let why = if at < 5 { "would replace an input" } else { "would replace a file of another kind" };
        let wanted = format!("exit 2\n--- stderr\nerror: the rankings {why}: {file}\n");
        assert!(said.starts_with(&wanted), "{said}");
        assert_eq!(std::fs::read(place.path().join(file)).unwrap(), before, "{file}");
    }
    // It would wait for a reader.
    let fifo = std::process::Command::new("mkfifo").arg(place.path().join("fifo")).status();
    assert!(fifo.unwrap().success());
    let said = eval("fifo");
    assert!(
        said.starts_with("exit 2\n--- stderr\nerror: this is a FIFO, not a regular file: fifo\n"),
        "{said}"
    );
    // A run, an empty file, and what has nothing to lose are written again.
    place.write("run", ranked.as_bytes());
    place.write("empty", b"");
    for file in ["run", "empty", "new", "/dev/null"] {
        assert!(eval(file).starts_with("exit 0\n"), "{file}");
    }
    assert_eq!(std::fs::read_to_string(place.path().join("empty")).unwrap(), ranked);
}

#[test]
fn a_skill_that_is_not_tested_is_reported_with_its_queries() {
    let query = r#"[{"query":"fill the pdf"}]"#;
    for (path, text) in [("twin/SKILL.md", PDF), ("torn/SKILL.md", "---\nname: torn\n---\nText.\n")] {
        let place =
            Place::with(&[("pdf/SKILL.md", PDF), ("pdf/evals/eval_queries.json", query), (path, text)]);
        let said = place.run(&["eval"]);
        assert!(said.starts_with("exit 0") && said.contains("warning: "), "{said}");
        assert!(said.contains(path), "{said}");
        place.write(&path.replace("SKILL.md", "evals/eval_queries.json"), query.as_bytes());
        let said = place.run(&["eval"]);
        assert!(said.starts_with("exit 2") && said.contains("error: ") && said.contains(path), "{said}");
    }
}
