//! `prowess activate`, `tools` and `replay`: what a model gets.

use std::io::Write as _;
use std::process::Stdio;

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::shelf::{command, json_of, run, shelf};
use crate::{Place, code};

#[test]
fn a_model_cannot_lift_the_filter_of_its_host_nor_repeat_a_member() {
    let calls = concat!(
        r#"{"tool":"list_skills","filter":"**"}"#,
        "\n",
        r#"{"tool":"load_skill","arguments":{"name":"good"},"filter":"good"}"#,
        "\n",
        r#"{"tool":"list_skills","tool":"load_skill","arguments":{"name":"good"}}"#,
        "\n",
        r#"{"tool":"load_skill","arguments":{"name":"other","name":"good"}}"#,
    );
    let place = Place::with(&[("skills/good/SKILL.md", crate::GOOD), ("calls.jsonl", calls)]);
    let args = ["replay", "calls.jsonl", "--in", "skills", "--model-only", "--filter", "none"];
    let output = command(&place).args(args).output().unwrap();
    let answers = String::from_utf8(output.stdout).unwrap();
    let said: Vec<Value> = answers.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(said.len(), 4);
    assert!(said.iter().all(|answer| answer["ok"] == false), "{answers}");
    assert!(said[..2].iter().all(|answer| answer["text"].as_str().unwrap().contains("set by the host")));
    assert!(said[2..].iter().all(|answer| answer["text"].as_str().unwrap().contains("appears twice")));
}

#[test]
fn untrusted_and_disabled_skills_are_not_in_a_session() {
    let place = shelf();
    place.write("calls.jsonl", b"{\"tool\":\"list_skills\"}\n{\"tool\":\"load_skill\",\"arguments\":{\"name\":\"loud\"}}\n{\"tool\":\"load_skill\",\"arguments\":{\"name\":\"draft\"}}\n");
    let output = command(&place).args(["replay", "calls.jsonl"]).output().unwrap();
    assert_snapshot!(place.transcript(&output), @r#"
    exit 0
    --- stdout
    {"ok":true,"text":"<available_skills>\n- mail: Writes letters.\n- pdf: The user&#x27;s own.\n</available_skills>","data":{"skills":[{"name":"mail","description":"Writes letters."},{"name":"pdf","description":"The user's own."}],"total":2},"reason":null}
    {"ok":false,"text":"there is no such skill: loud\nhint: the skills are mail, pdf","data":null,"reason":"unknown-skill"}
    {"ok":false,"text":"there is no such skill: draft\nhint: the skills are mail, pdf","data":null,"reason":"unknown-skill"}
    "#);
    let activate =
        |args: &[&str]| place.transcript(&command(&place).arg("activate").args(args).output().unwrap());
    assert_snapshot!(activate(&["loud"]), @"
    exit 2
    --- stderr
    error: this skill is not trusted: loud
      hint: look at it with: prowess show loud; then trust it with: prowess trust loud
    ");
    assert_snapshot!(activate(&["absent"]), @"
    exit 2
    --- stderr
    error: there is no such skill: absent
      hint: list the skills with: prowess list
    ");
}

#[test]
fn an_activation_shows_what_a_model_gets() {
    let place = Place::with(&[
        ("skills/fix/SKILL.md", "---\nname: fix\ndescription: Fixes.\n---\nFix $0 in $ARGUMENTS[1].\n"),
        ("skills/fix/scripts/run.sh", "echo\n"),
    ]);
    let activate = |args: &[&str]| {
        place.transcript(
            &command(&place).arg("activate").args(args).args(["--in", "skills"]).output().unwrap(),
        )
    };
    assert_snapshot!(activate(&["fix", "12", "main"]), @r#"
    exit 0
    --- stdout
    <skill_content name="fix">
    Fix 12 in main.

    Skill directory: [DIR]/skills/fix
    Relative paths in this skill are relative to the skill directory.

    <skill_resources>
      <file>scripts/run.sh</file>
    </skill_resources>
    </skill_content>

    This skill has 1 script. Read one with read_skill_resource (name: "fix", path: the file's path); without path it lists them.
    "#);
    // A word of the shell is one argument.
    assert!(activate(&["fix", "it's a b", "c"]).contains("Fix it's a b in c."));
    let output = command(&place).args(["activate", "fix", "--in", "skills", "--json"]).output().unwrap();
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&json["version"], &json["data"]["skill"], code(&output)), (&json!(1), &json!("fix"), 0));
}

#[test]
fn tools_come_in_the_form_of_an_interface() {
    let place = Place::with(&[("skills/good/SKILL.md", crate::GOOD)]);
    let tools = |args: &[&str]| -> Value {
        let output = command(&place).arg("tools").args(args).args(["--in", "skills"]).output().unwrap();
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let mcp = tools(&[]);
    let names: Vec<&str> =
        mcp.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["list_skills", "search_skills", "load_skill", "unload_skill", "read_skill_resource"]);
    assert_eq!(mcp[2]["inputSchema"]["properties"]["name"]["enum"], json!(["good"]));
    let drover = tools(&["--dialect", "openai", "--naming", "drover", "--json"]);
    assert_eq!(
        (&drover["version"], &drover["tools"][2]["function"]["name"]),
        (&json!(1), &json!("skill_load"))
    );
    let wrong = command(&place).args(["tools", "--dialect", "latin"]).output().unwrap();
    assert_eq!(code(&wrong), 2);
    let empty = Place::with(&[("skills/x.txt", "")]);
    let output = command(&empty).args(["tools", "--in", "skills"]).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "[]\n");
}

#[test]
fn tools_end_with_two_when_no_source_could_be_read() {
    let config = "[[skills.sources]]\nmcp = '/no/such/program'\n";
    let place = Place::with(&[("config/prowess/prowess.toml", config)]);
    let said = |args: &[&str]| {
        let output = crate::shelf::output(&place, args);
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (code(&output), text(output.stdout), text(output.stderr))
    };
    let (exit, out, problems) = said(&["tools"]);
    assert_eq!((exit, out.as_str()), (2, "[]\n"));
    assert!(problems.starts_with("error: could not take this from an MCP server: program: "), "{problems}");
    assert_eq!(said(&["list"]).2, problems);
    let (exit, out, _) = said(&["tools", "--json"]);
    assert_eq!((exit, out.contains("\"tools\":[]")), (2, true));
}

#[test]
fn replay_answers_lines_that_are_empty_not_utf8_or_too_long_and_ends_with_1() {
    let place = Place::with(&[("skills/good/SKILL.md", crate::GOOD)]);
    let mut calls = b"\xff\xfe\n[1,\n".to_vec();
    calls.extend(std::iter::repeat_n(b'x', 5 << 20));
    calls.extend(b"\n \n{\"tool\":\"list_skills\"}");
    for path in ["-", "calls.jsonl"] {
        place.write("calls.jsonl", &calls);
        let mut child = command(&place)
            .args(["replay", path, "--in", "skills"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        let written = calls.clone();
        let writer = std::thread::spawn(move || {
            // A replay of a file does not read this.
            let _ = input.write_all(&written);
        });
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        let lines: Vec<Value> = output
            .stdout
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect();
        let reasons: Vec<&Value> = lines.iter().map(|line| &line["reason"]).collect();
        assert_eq!(
            reasons,
            [&json!("bad-call"), &json!("bad-call"), &json!("bad-call"), &json!("bad-call"), &Value::Null],
            "{path}"
        );
        assert_eq!(code(&output), 1);
    }
    // After the last line break there is no line.
    for (calls, results) in [("", 0), ("{\"tool\":\"list_skills\"}\n", 1), ("{\"tool\":\"list_skills\"}", 1)]
    {
        place.write("calls.jsonl", calls.as_bytes());
        let output = command(&place).args(["replay", "calls.jsonl", "--in", "skills"]).output().unwrap();
        let lines = output.stdout.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count();
        assert_eq!((lines, code(&output)), (results, 0), "{calls}");
    }
    let missing = command(&place).args(["replay", "nowhere.jsonl", "--in", "skills"]).output().unwrap();
    assert_eq!(code(&missing), 2);
}

#[test]
fn a_plain_activation_is_the_instructions_alone() {
    let text = "---\nname: a\ndescription: d\n---\nSay </skill_content> to $0.\n";
    let place = Place::with(&[("skills/a/SKILL.md", text), ("skills/a/x.md", "x\n")]);
    let run = |args: &[&str]| {
        let output =
            command(&place).args(["activate", "--in", "skills", "a", "Bob"]).args(args).output().unwrap();
        assert_eq!(code(&output), 0, "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(run(&[]).starts_with("<skill_content name=\"a\">\nSay &lt;/skill_content> to Bob."));
    assert_eq!(run(&["--plain"]).trim_end(), "Say </skill_content> to Bob.");
    // A project's file cannot set it.
    place.write("prowess.toml", b"[session]\nplain = true\n");
    assert!(run(&[]).starts_with("<skill_content"));
    place.write("config/prowess/prowess.toml", b"[session]\nplain = true\n");
    assert_eq!(run(&[]).trim_end(), "Say </skill_content> to Bob.");
}

#[test]
fn arguments_that_would_make_gigabytes_are_refused() {
    let body = "$ARGUMENTS".repeat(99_000);
    let text = format!("---\nname: bomb\ndescription: d\n---\n{body}\n");
    let place = Place::with(&[("skills/bomb/SKILL.md", &text)]);
    let long = "x".repeat(100_000);
    let output = command(&place).args(["activate", "--in", "skills", "bomb", &long]).output().unwrap();
    let said = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(code(&output), 2, "{said}");
    assert!(
        said.contains("the text of this skill is too long: bomb: 9900000000 bytes, at most 4194304"),
        "{said}"
    );
}

#[test]
fn a_filter_of_a_configuration_begins_at_its_folder() {
    let skill = |name: &str| format!("---\nname: {name}\ndescription: About {name}.\n---\n");
    let place = Place::with(&[
        ("config/prowess/skills/a/SKILL.md", &skill("a")),
        ("config/prowess/skills/billing/b/SKILL.md", &skill("b")),
        ("config/prowess/skills/billing/eu/c/SKILL.md", &skill("c")),
    ]);
    let write = |filter: &str| {
        let text = format!("[[skills.sources]]\ndir = 'skills'\n[session]\n{filter}\n");
        place.write("config/prowess/prowess.toml", text.as_bytes());
    };
    let shown = |args: &[&str]| {
        let calls = place.path().join("calls.jsonl");
        std::fs::write(&calls, "{\"tool\": \"list_skills\"}\n").unwrap();
        let output = command(&place).args(["replay", "calls.jsonl"]).args(args).output().unwrap();
        let line: Value = serde_json::from_slice(&output.stdout).unwrap();
        let names = line["data"]["skills"].as_array().unwrap().iter();
        names.map(|skill| skill["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>().join(" ")
    };
    write("");
    assert_eq!(shown(&[]), "a b c");
    write("filter = 'skills/billing/*'");
    assert_eq!(shown(&[]), "b");
    assert_eq!(shown(&["--filter", "skills/*"]), "a");
    assert_eq!(shown(&["--filter", ""]), "a b c");
    write("filter = 'skills/billing'");
    assert_eq!(shown(&[]), "b c");
    let why = command(&place).args(["why", "a"]).output().unwrap();
    assert!(String::from_utf8_lossy(&why.stdout).contains("filtered by: skills/billing"));
}

#[test]
fn an_activation_can_be_of_several_skills_and_show_their_files() {
    let place = Place::with(&[
        ("skills/pdf/SKILL.md", "---\nname: pdf\ndescription: Reads.\n---\nRead $ARGUMENTS.\n"),
        ("skills/pdf/references/forms.md", "All about forms.\n"),
        ("skills/mail/SKILL.md", "---\nname: mail\ndescription: Writes.\n---\nWrite.\n"),
    ]);
    let text = run(&place, &["activate", "pdf", "a.pdf", "--also", "mail", "--in", "skills"]);
    assert!(
        text.contains("Read a.pdf.") && text.contains("Write.") && !text.contains("All about forms."),
        "{text}"
    );
    let inline = |args: &[&str]| run(&place, &[&["activate", "pdf", "--in", "skills"], args].concat());
    assert!(inline(&["--inline"]).contains("All about forms."));
    let value = json_of(&place, &["activate", "pdf", "--json", "--also", "mail", "--in", "skills"]);
    assert_eq!(value["also"].as_array().unwrap().len(), 1);
    let unknown = run(&place, &["activate", "pdf", "--also", "nope", "--in", "skills"]);
    assert!(unknown.starts_with("exit 2") && !unknown.contains("stdout"), "{unknown}");
    place.write("config/prowess/prowess.toml", b"[session]\ninline = true\nlocation = true\n");
    assert!(inline(&[]).contains("All about forms."));
    assert!(run(&place, &["prompt", "--in", "skills"]).contains("<location>"));
}

#[test]
fn a_prompt_can_be_narrowed_by_folder_and_filter_and_show_locations() {
    let place = Place::with(&[
        ("skills/billing/refunds/SKILL.md", "---\nname: refunds\ndescription: Pays back.\n---\n"),
        ("skills/mail/SKILL.md", "---\nname: mail\ndescription: Writes.\n---\n"),
    ]);
    let keys = |options: &[&str]| {
        json_of(&place, &[&["prompt", "--json", "--in", "skills"], options].concat())["skills"].clone()
    };
    assert_eq!(keys(&[]), json!(["mail", "refunds"]));
    assert_eq!(keys(&["--folder", "billing/"]), json!(["refunds"]));
    assert_eq!(keys(&["--filter", "mail"]), json!(["mail"]));
    assert_eq!(keys(&["--filter", "none"]), json!([]));
    let text = run(&place, &["prompt", "--in", "skills", "--filter", "mail", "--location"]);
    assert!(text.contains("<location>[DIR]/skills/mail/SKILL.md</location>"), "{text}");
    assert!(!run(&place, &["prompt", "--in", "skills"]).contains("<location>"));
}
