//! The schemas in `docs/schemas`: real output fits them, and that of the frontmatter agrees with the profile `spec`.

use std::collections::BTreeSet;
use std::path::Path;

use prowess::{Origin, Profile, Severity, parse};
use serde_json::{Value, json};

use crate::{BAD, GOOD, Place, shelf};

fn repository(path: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

fn schema(name: &str) -> Value {
    let schema: Value = serde_json::from_str(&repository(&format!("docs/schemas/{name}.json"))).unwrap();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    schema
}

/// The part of JSON Schema that our schemas use; any other keyword fails, so that none is ignored.
struct Validator<'s> {
    root: &'s Value,
}

impl Validator<'_> {
    /// Why a value does not fit, if it does not.
    fn fault(&self, schema: &Value, value: &Value, at: &str) -> Option<String> {
        for (word, rule) in schema.as_object().unwrap() {
            let fits = match word.as_str() {
                "$schema" | "title" | "description" | "$defs" => true,
                "$ref" => {
                    let pointer = rule.as_str().unwrap().strip_prefix('#').unwrap();
                    match self.fault(self.root.pointer(pointer).unwrap(), value, at) {
                        Some(fault) => return Some(fault),
                        None => true,
                    }
                }
                "type" => match rule {
                    Value::Array(types) => types.iter().any(|name| is_a(value, name.as_str().unwrap())),
                    name => is_a(value, name.as_str().unwrap()),
                },
                "const" => value == rule,
                "enum" => rule.as_array().unwrap().contains(value),
                "minimum" => value.as_f64().is_none_or(|number| number >= rule.as_f64().unwrap()),
                "minLength" => length(value).is_none_or(|length| length >= rule.as_u64().unwrap()),
                "maxLength" => length(value).is_none_or(|length| length <= rule.as_u64().unwrap()),
                "pattern" => value.as_str().is_none_or(|text| matches(rule.as_str().unwrap(), text)),
                "required" => value.as_object().is_none_or(|map| {
                    rule.as_array().unwrap().iter().all(|key| map.contains_key(key.as_str().unwrap()))
                }),
                "anyOf" => rule.as_array().unwrap().iter().any(|one| self.fault(one, value, at).is_none()),
                "properties" | "additionalProperties" | "items" => {
                    if let Some(fault) = self.inside(schema, word, rule, value, at) {
                        return Some(fault);
                    }
                    true
                }
                other => panic!("the validator does not know this word: {other}"),
            };
            if !fits {
                return Some(format!("{at}: {value} does not fit {word}: {rule}"));
            }
        }
        None
    }

    fn inside(&self, schema: &Value, word: &str, rule: &Value, value: &Value, at: &str) -> Option<String> {
        if word == "items" {
            let items = value.as_array()?.iter().enumerate();
            return items.into_iter().find_map(|(n, item)| self.fault(rule, item, &format!("{at}/{n}")));
        }
        value.as_object()?.iter().find_map(|(key, inner)| {
            let at = format!("{at}/{key}");
            match (word, schema["properties"].get(key), rule) {
                ("properties", Some(named), _) => self.fault(named, inner, &at),
                ("properties", None, _) | (_, Some(_), _) | (_, None, Value::Bool(true)) => None,
                (_, None, Value::Bool(false)) => Some(format!("{at}: no such member")),
                (_, None, rule) => self.fault(rule, inner, &at),
            }
        })
    }
}

fn is_a(value: &Value, name: &str) -> bool {
    match name {
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("no such type: {other}"),
    }
}

fn length(value: &Value) -> Option<u64> {
    value.as_str().map(|text| text.chars().count() as u64)
}

/// The patterns of our schemas, written by hand to avoid a regex engine.
fn matches(pattern: &str, text: &str) -> bool {
    let limited = |most: usize| (1..=most).contains(&text.trim().chars().count());
    match pattern {
        r"^[\p{Ll}\p{Lm}\p{Lo}\p{N}]+(?:-[\p{Ll}\p{Lm}\p{Lo}\p{N}]+)*$" => {
            let letter = |c: char| c.is_alphanumeric() && c.to_lowercase().eq([c]);
            text.split('-').all(|part| !part.is_empty() && part.chars().all(letter))
        }
        r"^\s*\S(?:[\s\S]{0,1022}\S)?\s*$" => limited(1024),
        r"^\s*\S(?:[\s\S]{0,498}\S)?\s*$" => limited(500),
        other => panic!("no such pattern: {other}"),
    }
}

pub(crate) fn assert_fits(name: &str, value: &Value) {
    let mut schema = schema(name);
    // A later version may add a member, but a schema names every member of its own version.
    if schema["additionalProperties"] == true {
        schema["additionalProperties"] = false.into();
    }
    let fault = Validator { root: &schema }.fault(&schema, value, "");
    assert_eq!(fault, None, "docs/schemas/{name}.json");
}

#[test]
#[should_panic(expected = "/forgotten: no such member")]
fn a_member_of_output_that_its_schema_does_not_name_is_noticed() {
    let mut report = Place::with(&[("good/SKILL.md", GOOD)]).json(&["check", "--json", "good"]);
    report["forgotten"] = true.into();
    assert_fits("check", &report);
}

#[test]
fn every_output_fits_its_schema() {
    let place = Place::with(&[
        ("good/SKILL.md", GOOD),
        ("bad/SKILL.md", BAD),
        ("twice/SKILL.md", "---\nname: twice\nname: b\ndescription: x\n---\n"),
        ("none/SKILL.md", "nothing"),
        (
            "rich/SKILL.md",
            "---\nname: rich\ndescription: Use when: rich\nallowed-tools: [Read, Grep]\nmetadata: {a: 1}\nwhen_to_use: now\nargument-hint: '[x]'\narguments: [a]\ndisallowed-tools: Bash\nmodel: m\neffort: high\ncontext: fork\nagent: a\npaths: [b]\nhooks: {c: d}\nextra: [1, {x: y}]\ntags: [t]\nversion: 1.0\n---\n",
        ),
        ("rich/scripts/a.sh", ""),
        ("rich/references/a.md", ""),
        ("rich/assets/a", ""),
    ]);
    let report = place.json(&["check", "--json", ".", "missing"]);
    assert_eq!(
        (report["summary"]["files"].clone(), report["failures"].as_array().unwrap().len()),
        (json!(5), 1)
    );
    assert_fits("check", &report);
    for folder in ["good", "bad", "none", "rich"] {
        assert_fits("show", &place.json(&["show", "--json", folder]));
    }
    assert_fits("check", &place.json(&["check", "--json", "--fix"]));
    assert_fits("rules", &place.json(&["rule", "--json"]));
    assert_fits("rule", &place.json(&["rule", "--json", "name-too-long"]));
    for task in ["fill in a pdf form", "bake bread"] {
        assert_fits("try", &place.json(&["try", "--json", task]));
    }
    assert_fits("new", &place.json(&["new", "--json", "fresh", "--with", "scripts"]));
    place.write("good/evals/evals.json", br#"["do it well", "bake bread"]"#);
    assert_fits("eval", &place.json(&["eval", "--json", "--overlap"]));
    place.write("pool.jsonl", br#"{"id":"a","name":"pdf","description":"Fill forms"}"#);
    place.write("queries.jsonl", br#"{"id":"1","query":"forms","relevant":["a"]}"#);
    let pool = place.json(&["eval", "--json", "--pool", "pool.jsonl", "--queries", "queries.jsonl"]);
    assert_eq!(pool["ndcg_at_10"], 100.0);
    assert_fits("eval", &pool);
}

#[test]
fn every_output_about_the_library_fits_its_schema() {
    let place = shelf::shelf();
    let json_of = |args: &[&str]| shelf::json_of(&place, args);
    let list = json_of(&["list", "--json", "--all"]);
    assert_eq!(list["skills"].as_array().unwrap().len(), 6);
    assert_fits("list", &list);
    assert_fits("list", &json_of(&["list", "--json", "--cost"]));
    let parts = [&["mail"][..], &["mail", "SKILL.md"]].map(|words| {
        let cat = json_of(&[&["cat", "--json"], words].concat());
        assert_fits("cat", &cat);
        cat["part"].clone()
    });
    assert_eq!(parts, ["instructions", "file"]);
    let found = json_of(&["search", "--json", "--why", "loud letters"]);
    assert_eq!(found["summary"]["hits"], 2);
    for args in
        [&["search", "--json", "lettres"][..], &["search", "--json", "--selector", "keyword", "letters"]]
    {
        assert_fits("search", &json_of(args));
    }
    assert_fits("search", &found);
    let prompts: &[&[&str]] = &[
        &[],
        &["--query", "letters", "--budget", "12c"],
        &["--query", "bread", "--budget", "1%"],
        &["--query", "letters", "--selector", "command:false", "--budget", "none"],
    ];
    for args in prompts {
        assert_fits("prompt", &json_of(&[&["prompt", "--json"], *args].concat()));
    }
    assert_fits("activate", &json_of(&["activate", "--json", "mail"]));
    assert_fits("tools", &json_of(&["tools", "--json", "--dialect", "gemini"]));
    for call in [r#"{"tool":"list_skills"}"#, r#"{"tool":"load_skill","arguments":{"name":"draft"}}"#, "{"] {
        place.write("calls.jsonl", call.as_bytes());
        assert_fits("replay", &json_of(&["replay", "calls.jsonl"]));
    }
    let known: Vec<&str> = prowess::session::Reason::ALL.iter().map(|reason| reason.code()).collect();
    let listed = schema("replay")["properties"]["reason"]["enum"].as_array().unwrap().clone();
    assert_eq!(known.iter().map(|code| json!(code)).chain([Value::Null]).collect::<Vec<_>>(), listed);
    for name in ["loud", "pdf", "torn", "draft", "pfd"] {
        assert_fits("why", &json_of(&["why", "--json", name]));
    }
    for clients in [&["--client", "claude-code"][..], &["--client", "codex", "--client", "claude-code"]] {
        assert_fits("list", &json_of(&[&["list", "--json", "--all"], clients].concat()));
        for name in ["loud", "pdf", "torn", "draft", "pfd", "mail"] {
            assert_fits("why", &json_of(&[&["why", "--json", name], clients].concat()));
        }
    }
    assert_fits("prompt", &json_of(&["prompt", "--json", "--client", "claude-code"]));
    assert_fits("search", &json_of(&["search", "--json", "d", "--client", "claude-code"]));
    for args in [
        &["trust", "--json", "pdf", "--yes"][..],
        &["trust", "--json", "--yes"],
        &["trust", "--json", "--list"],
    ] {
        assert_fits("trust", &json_of(args));
    }
    assert_fits("trust", &json_of(&["trust", "--json", "--revoke", "pdf"]));
    assert!(Validator { root: &json!({}) }.fault(&schema("trust"), &json!({"version": 1}), "").is_some());
}

#[test]
fn every_output_about_installed_skills_fits_its_schema() {
    let place = Place::with(&[("from/good/SKILL.md", GOOD), ("from/good/run.sh", "")]);
    let fits = |name: &str, args: &[&str]| {
        let said = shelf::json_of(&place, args);
        assert_fits(name, &said);
        said
    };
    let added = fits("add", &["add", "--json", "./from/good", "--yes", "--dry-run"]);
    assert_eq!(
        (added["dry_run"].clone(), added["skills"][0]["action"].clone()),
        (json!(true), json!("installed"))
    );
    fits("add", &["add", "--json", "./from/good", "--yes"]);
    fits("add", &["add", "--json", "./from/good", "--yes", "--user"]);
    assert_eq!(
        fits("verify", &["verify", "--json"])["summary"],
        json!({"skills": 1, "wrong": 0, "line_ends": 0})
    );
    place.write(".agents/skills/good/run.sh", b"edited");
    place.write(".agents/skills/good/more.md", b"edited");
    assert_eq!(fits("verify", &["verify", "--json"])["skills"][0]["changes"][0]["change"], "added");
    let listed = fits("installed", &["list", "--json", "--installed"]);
    assert_eq!(
        (listed["installed"][0]["state"].clone(), listed["installed"][1]["state"].clone()),
        (json!("edited"), json!("clean"))
    );
    fits("sync", &["sync", "--json", "--keep"]);
    assert_eq!(fits("sync", &["sync", "--json", "--overwrite", "--yes"])["skills"][0]["action"], "updated");
    fits("remove", &["remove", "--json", "good"]);
    assert_eq!(
        fits("installed", &["list", "--json", "--installed"])["installed"].as_array().unwrap().len(),
        1
    );
    assert_eq!(fits("sync", &["sync", "--json"])["skills"], json!([]));
}

#[test]
fn every_command_that_fails_says_so_in_json_too() {
    let place = Place::with(&[]);
    let failing: &[&[&str]] = &[
        &["show", "--json", "nope"],
        &["rule", "--json", "nope"],
        &["new", "--json", "My_Skill"],
        &["check", "--json", "--deny", "nope"],
        &["check", "--format", "json", "--path", "a"],
        &["list", "--json", "--in", "nope"],
        &["list", "--json", "--client", "nope"],
        &["why", "--json", "a", "--client", "nope"],
        &["trust", "--json", "nope", "--yes"],
        &["activate", "--json", "nope"],
        &["tools", "--json", "--in", "nope"],
        &["show", "--json", "--nope"],
        &["search", "--json", "a", "--client", "nope"],
        &["search", "--json", "a", "--in", "nope"],
        &["search", "--json", "a", "--selector", "command:false"],
        &["prompt", "--json", "--in", "nope"],
        &["prompt", "--json", "--budget", "much"],
        &["add", "--json", "./nope"],
        &["remove", "--json", "nope"],
        &["verify", "--json", "nope"],
    ];
    for args in failing {
        let output = shelf::command(&place).args(*args).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let said: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_fits("error", &said);
        let error = format!("error: {}\n", said["error"]["message"].as_str().unwrap());
        assert!(String::from_utf8(output.stderr).unwrap().starts_with(&error), "{args:?}: {said}");
    }
}

#[test]
fn a_schema_refuses_what_does_not_fit() {
    let place = Place::with(&[("bad/SKILL.md", BAD)]);
    let good = place.json(&["check", "--json"]);
    let schema = schema("check");
    let refuses = |pointer: &str, value: Value| {
        let mut changed = good.clone();
        *changed.pointer_mut(pointer).unwrap() = value;
        Validator { root: &schema }.fault(&schema, &changed, "").is_some()
    };
    assert!(refuses("/version", json!(2)));
    assert!(refuses("/files/0/problems/0/severity", json!("grave")));
    assert!(refuses("/files/0/problems/0/span/start", json!(-1)));
    assert!(refuses("/files/0/problems/0", json!({})));
    assert!(refuses("/summary", json!(null)));
}

/// Errors of `spec` about values; the others are about the file, the folder or YAML.
fn about_values(code: &str) -> bool {
    let subjects =
        ["name-", "description-", "license-", "compatibility-", "metadata-", "tools-", "frontmatter-empty"];
    code != "name-folder-mismatch" && subjects.iter().any(|subject| code.starts_with(subject))
}

/// Cases that a schema cannot express as the profile does, with the reason.
const BEYOND: &[(&str, &str)] = &[
    ("53 fullwidth hyphen U+FF0D -> -", "a name is judged as NFKC writes it"),
    ("V21", "a name is judged as NFKC writes it"),
    ("full-width-hyphen", "a name is judged as NFKC writes it"),
];

#[test]
fn the_schema_of_the_frontmatter_agrees_with_the_profile() {
    let schema = schema("frontmatter");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/documents");
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| format!("documents/{}", entry.unwrap().file_name().to_str().unwrap()))
        .collect();
    files.extend([
        "five-systems/cases.json".to_owned(),
        "skills-ref/official.json".to_owned(),
        "skills-ref/probes.json".to_owned(),
    ]);
    let (mut compared, mut refused) = (0, 0);
    let mut different = BTreeSet::new();
    for file in files {
        let vectors: Value = serde_json::from_str(&repository(&format!("conformance/{file}"))).unwrap();
        for case in vectors["cases"].as_array().unwrap() {
            let Some(input) = case["input"].as_str() else { continue };
            let at =
                Origin::at("skills/demo/SKILL.md").with_folder(case["folder"].as_str().unwrap_or("demo"));
            let document = parse(input.as_bytes());
            let errors: Vec<&str> = Profile::spec()
                .check(&document, None, &at)
                .iter()
                .filter(|problem| problem.severity == Severity::Error)
                .map(|problem| problem.code)
                .collect();
            // A file with unreadable frontmatter has no values to compare.
            let unread = [
                "yaml-",
                "duplicate-",
                "frontmatter-missing",
                "frontmatter-unclosed",
                "frontmatter-not",
                "frontmatter-too",
                "file-too",
            ];
            if errors.iter().any(|code| unread.iter().any(|part| code.starts_with(part))) {
                continue;
            }
            let accepted = !errors.iter().any(|code| about_values(code));
            let value = Value::Object(document.frontmatter_json());
            let fault = Validator { root: &schema }.fault(&schema, &value, "");
            compared += 1;
            refused += usize::from(!accepted);
            if accepted != fault.is_none() {
                different.insert(format!("{}: {errors:?} but {fault:?}", case["id"]));
            }
        }
    }
    let different: Vec<&String> = different
        .iter()
        .filter(|case| !BEYOND.iter().any(|(id, _)| case.starts_with(&format!("\"{id}\""))))
        .collect();
    assert!(different.is_empty(), "{different:#?}");
    assert!(compared > 100 && refused > 20, "{compared} compared, {refused} refused");
}
