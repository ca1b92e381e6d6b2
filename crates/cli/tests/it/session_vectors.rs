//! The conformance vectors of sessions and of paths, run with `prowess replay`.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::Stdio;

use prowess_mcp::testing::vector_text;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Place;
use crate::shelf::command;

#[derive(Deserialize)]
struct Vectors {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    id: String,
    pins: String,
    need: Vec<String>,
    files: BTreeMap<String, String>,
    #[serde(default)]
    args: Vec<String>,
    lines: Vec<Line>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Do {
        #[serde(rename = "do")]
        work: Work,
    },
    Call {
        call: Value,
        expect: Box<Expect>,
    },
}

/// Changes to the files between calls.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Work {
    remove: Vec<String>,
    write: BTreeMap<String, String>,
    link: BTreeMap<String, String>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Expect {
    ok: Option<bool>,
    #[serde(deserialize_with = "given")]
    reason: Option<Value>,
    text: Option<String>,
    contains: Vec<String>,
    lacks: Vec<String>,
    data: Value,
    says: Vec<String>,
    lacks_said: Vec<String>,
}

/// A member that is compared even if it is null.
fn given<'de, D: serde::Deserializer<'de>>(value: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(value).map(Some)
}

impl Work {
    fn apply(&self, root: &Path) {
        for path in &self.remove {
            let path = root.join(path);
            if path.is_dir() {
                std::fs::remove_dir_all(path).unwrap();
            } else {
                std::fs::remove_file(path).unwrap();
            }
        }
        for (path, text) in &self.write {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        for (path, target) in &self.link {
            std::os::unix::fs::symlink(target, root.join(path)).unwrap();
        }
    }
}

impl Expect {
    fn check(&self, line: &str, about: &str) {
        let result: Value = serde_json::from_str(line).unwrap();
        let members: Vec<&String> = result.as_object().unwrap().keys().collect();
        assert_eq!(members, ["ok", "text", "data", "reason"], "{about}");
        let text = result["text"].as_str().unwrap();
        assert!(self.ok.is_none_or(|ok| result["ok"] == ok), "{about}: ok: {line}");
        assert_eq!(result["ok"] == true, result["reason"].is_null(), "{about}: {line}");
        assert!(
            self.reason.as_ref().is_none_or(|reason| *reason == result["reason"]),
            "{about}: reason: {line}"
        );
        assert!(self.text.as_ref().is_none_or(|wanted| wanted == text), "{about}: text: {text}");
        for wanted in &self.contains {
            assert!(text.contains(wanted.as_str()), "{about}: {wanted:?} is not in: {text}");
        }
        for unwanted in &self.lacks {
            assert!(!text.contains(unwanted.as_str()), "{about}: {unwanted:?} is in: {text}");
        }
        for wanted in &self.says {
            assert!(line.contains(wanted.as_str()), "{about}: {wanted:?} is not in: {line}");
        }
        for unwanted in &self.lacks_said {
            assert!(!line.contains(unwanted.as_str()), "{about}: {unwanted:?} is in: {line}");
        }
        assert!(covers(&self.data, &result["data"]), "{about}: data: {line}");
    }
}

/// Whether every expected member is there; lists must have the expected length.
fn covers(wanted: &Value, found: &Value) -> bool {
    match (wanted, found) {
        (Value::Null, _) => true,
        (Value::Object(wanted), found) => {
            wanted.iter().all(|(key, value)| found.get(key).is_some_and(|found| covers(value, found)))
        }
        (Value::Array(wanted), Value::Array(found)) => {
            wanted.len() == found.len()
                && wanted.iter().zip(found).all(|(wanted, found)| covers(wanted, found))
        }
        (wanted, found) => wanted == found,
    }
}

/// Runs the lines of a case against one `replay`, each answered before the next is sent.
fn run_case(case: &Case) {
    let place = Place::with(&[]);
    for (path, text) in &case.files {
        place.write(&format!("skills/{path}"), text.as_bytes());
    }
    let root = place.path().join("skills");
    let mut child = command(&place)
        .args(["replay", "-", "--in", "skills"])
        .args(&case.args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut is_misled = false;
    for (at, line) in case.lines.iter().enumerate() {
        match line {
            Line::Do { work } => work.apply(&root),
            Line::Call { call, expect } => {
                let call = match call {
                    Value::String(text) => text.clone(),
                    call => call.to_string(),
                };
                writeln!(input, "{call}").unwrap();
                input.flush().unwrap();
                let mut answer = String::new();
                output.read_line(&mut answer).unwrap();
                is_misled |= answer.contains("this line is not a call");
                let answer = answer.replace(&*place.path().to_string_lossy(), "[DIR]");
                let about = format!("{}: {}: line {}: {call}", case.id, case.pins, at + 1);
                expect.check(&answer, &about);
            }
        }
    }
    drop(input);
    assert_eq!(child.wait().unwrap().code(), Some(i32::from(is_misled)), "{}", case.id);
}

#[test]
fn every_vector_of_sessions_holds_through_replay() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/session");
    let mut count = 0;
    let mut needs = std::collections::BTreeSet::new();
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let vectors: Vectors = serde_json::from_slice(&std::fs::read(&path).unwrap())
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for case in &vectors.cases {
            run_case(case);
            needs.extend(case.need.iter().cloned());
            count += 1;
        }
    }
    assert!(count >= 50, "only {count} vectors were found");
    for system in ["drover", "fizeau", "promptkit", "deuz", "zerodep"] {
        assert!(needs.contains(system), "no vector is about {system}");
    }
}

#[test]
fn every_path_vector_is_refused_or_read_as_it_says() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/paths.json");
    let vectors: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let cases = vectors["cases"].as_array().unwrap();
    let calls: Vec<String> = cases
        .iter()
        .map(|case| {
            json!({"tool": "read_skill_resource", "arguments": {"name": "good", "path": vector_text(&case["path"])}})
                .to_string()
        })
        .collect();
    let place = Place::with(&[("skills/good/SKILL.md", crate::GOOD), ("calls.jsonl", &calls.join("\n"))]);
    let output = command(&place).args(["replay", "calls.jsonl", "--in", "skills"]).output().unwrap();
    let answers = String::from_utf8(output.stdout).unwrap();
    assert_eq!(answers.lines().count(), cases.len());
    for (case, answer) in cases.iter().zip(answers.lines()) {
        let answer: Value = serde_json::from_str(answer).unwrap();
        match case["request"].get("rule") {
            Some(rule) => {
                assert_eq!(
                    (&answer["reason"], &answer["data"]["rule"]),
                    (&json!("bad-path"), rule),
                    "{case}"
                );
            }
            // A valid path: there is no such file here, unless it is the SKILL.md itself.
            None => {
                let reason = answer["reason"].as_str();
                assert!(
                    matches!(reason, None | Some("missing-file" | "bad-path" | "read-failed")),
                    "{case}: {answer}"
                );
            }
        }
        assert!(!answer["text"].as_str().unwrap().contains(&*place.path().to_string_lossy()));
    }
}
