//! No character of a skill, a path or an argument can control a terminal.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader};
use std::os::unix::ffi::OsStringExt as _;
use std::process::Stdio;

use crate::terminal::Terminal;
use crate::{Place, Started};

/// Whether a character may be written.
fn escape_control(character: char) -> bool {
    let hidden = matches!(character,
        '\u{61C}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{FEFF}'
        | '\u{2028}' | '\u{2029}' | '\u{E0000}'..='\u{E0FFF}');
    character == '\n' || !(character.is_control() || hidden)
}

/// Every control or hidden character, in one text without line breaks.
fn nasty() -> String {
    let codes = (0..0x20).chain(0x7F..0xA0).chain([0x61C, 0xFEFF]).chain(0x200B..0x2010);
    let codes = codes.chain(0x2028..0x202F).chain(0x2060..0x2070).chain(0xE0000..0xE0080);
    codes.filter(|code| !matches!(code, 0 | 0x0A | 0x0D)).filter_map(char::from_u32).collect::<String>()
        + "\u{1b}[31m\u{1b}]0;title\u{7}\u{9b}2J"
}

#[test]
fn control_characters_of_a_skill_a_path_or_an_argument_never_reach_the_terminal() {
    let place = Place::with(&[]);
    let nasty = nasty();
    let quoted: String = nasty.chars().map(|c| format!("\\U{:08X}", u32::from(c))).collect();
    let folder = format!("f{}", nasty.chars().filter(|c| *c != '/').take(40).collect::<String>());
    let texts = [
        format!(
            "---\nname: \"x{quoted}\"\ndescription: \"d{quoted}\"\nlicense: \"{quoted}\"\n\"k{quoted}\": 1\nmetadata:\n  \"{quoted}\": \"{quoted}\"\nallowed-tools: \"Bash({quoted})\"\n---\n{nasty}\n[x](a{nasty}b)\n"
        ),
        format!("---\nname: x{nasty}\ndescription: d{nasty}: {nasty}\n{nasty}: {nasty}\n---\n{nasty}\n"),
        format!("---\nname: a\n{nasty}: b\n{nasty}: c\ndescription: d\ndescription: {nasty}\n"),
        format!("{nasty}\n---\nname: a\ndescription: b\n---\n"),
    ];
    for (number, text) in texts.iter().enumerate() {
        place.write(&format!("{folder}{number}/SKILL.md"), text.as_bytes());
        place.write(&format!("{folder}{number}/scripts/{}.sh", &folder), b"");
        std::fs::write(place.path().join(format!("{folder}{number}/notes")), "").unwrap();
    }
    std::fs::create_dir(place.path().join(OsString::from_vec(b"raw\xff\x9b".to_vec()))).unwrap();
    place.write(&format!("{folder}bad/prowess.toml"), format!("\"{quoted}\" = 1\n").as_bytes());
    place.write(&format!("{folder}bad/x/SKILL.md"), b"");
    std::fs::create_dir(place.path().join(format!("{folder}empty"))).unwrap();
    let missing = format!("missing{nasty}");
    let show: Vec<String> = (0..texts.len()).map(|number| format!("{folder}{number}")).collect();
    let empty = format!("{folder}empty");
    let mut runs: Vec<Vec<&str>> = vec![
        vec!["check"],
        vec!["check", "--format", "json"],
        vec!["check", "--format", "github"],
        vec!["check", "--format", "sarif"],
        vec!["new", &missing],
        vec!["new", "x", "--description", &missing],
        vec!["new", "x", "--dir", &missing],
        vec!["check", "--profile", "lenient"],
        vec!["check", &missing, &empty],
        vec!["check", "--json", &missing, &empty],
        vec!["check", "--allow", &missing],
        vec!["check", "--profile", &missing],
        vec![&missing],
        vec!["show", &missing],
        vec!["show", &empty],
        vec!["rule", &missing],
        vec!["try", &missing],
        vec!["try", "--json", &missing],
    ];
    let last = [vec!["check", "--fix"], vec!["check", "--unsafe-fixes"]];
    for folder in &show {
        runs.push(vec!["show", folder]);
        runs.push(vec!["show", "--json", folder]);
    }
    runs.extend(last);
    for mut args in runs {
        // The argument is left out on purpose.
        args.insert(0, "never");
        args.insert(0, "--color");
        let output = place.output(&args);
        for bytes in [&output.stdout, &output.stderr] {
            let text = std::str::from_utf8(bytes).unwrap();
            let bad = text.chars().find(|character| !escape_control(*character));
            assert_eq!(bad, None, "{args:?}: {}", text.escape_debug());
        }
        assert!(!output.stdout.is_empty() || !output.stderr.is_empty(), "{args:?}");
    }
}

#[test]
fn a_prompt_as_json_escapes_hidden_characters_and_check_reports_them() {
    let hidden = "\u{1F3F4}\u{E0072}\u{E006D}\u{E0020}\u{E002D}\u{E0072}\u{E0066}\u{E0020}\u{E002F}\u{E007F} a\u{FE01}b\u{FE02} \u{3164}";
    let text = format!("---\nname: a\ndescription: \"d {hidden} \\x9b2J\"\n---\nDo it.\n");
    let place = Place::with(&[("skills/a/SKILL.md", &text)]);
    let output = place.output(&["prompt", "--in", "skills", "--format", "json"]);
    let shown = String::from_utf8(output.stdout).unwrap();
    assert_eq!(
        shown.chars().find(|character| prowess::text::unseen(*character).is_some()),
        None,
        "{shown:?}"
    );
    let read: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(read[0]["description"], format!("d {hidden} \u{9b}2J"));
    let checked = place.json(&["check", "--json", "skills"]);
    let codes: Vec<&str> = checked["files"][0]["problems"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p["code"].as_str().unwrap())
        .collect();
    for code in
        ["hidden-tag-characters", "hidden-variation-selectors", "hidden-zero-width", "control-character"]
    {
        assert!(codes.contains(&code), "{code}: {codes:?}");
    }
}

#[test]
fn bytes_of_a_skill_are_cleaned_for_a_terminal() {
    let place = Place::with(&[("a/SKILL.md", "---\nname: a\ndescription: d\n---\n\u{1b}[31mred\u{9b}2J\n")]);
    for option in ["show --raw", "show --body", "check --color never --diff --unsafe-fixes"] {
        let Some(text) = Terminal::run(&place, &format!("{option} a"), "") else { return };
        assert!(text.contains("\\u{1b}[31mred\\u{9b}2J"), "{text:?}");
        assert!(!text.contains(['\u{1b}', '\u{9b}']), "{text:?}");
    }
}

#[test]
fn no_command_lets_a_hostile_skill_control_the_terminal_that_shows_it() {
    let text = "---\nname: evil\ndescription: \"Does evil \\e]0;t\\a \\e[2J \\u202E \\x9b2J when asked.\"\nlicense: \"\\e[31m\"\nmetadata:\n  tags: \"\\e[1m\"\nallowed-tools: \"Bash(\\e[5m)\"\n---\nBody \u{1b}[2J \u{9b}2J \u{202e} end.\n[x](a\u{1b}[2Jb)\n";
    let calls = "{\"tool\":\"load_skill\",\"arguments\":{\"name\":\"evil\"}}\n{\"tool\":\"list_skills\",\"arguments\":{}}\n";
    let requests = concat!(
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}"#,
        "\n",
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"load_skill","arguments":{"name":"evil"}}}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"load_skill","arguments":{"name":"no\u001b[2J"}}}"#,
        "\n",
    );
    let place = Place::with(&[
        ("home/.claude/skills/evil/SKILL.md", text),
        ("home/.claude/skills/evil/notes.md", "notes \u{1b}[2J\n"),
        ("home/.claude/skills/evil/f\u{1b}[31m.md", ""),
        ("s/evil/SKILL.md", text),
        ("calls.jsonl", calls),
        ("requests.jsonl", requests),
    ]);
    // The name of a skill and of its folder may control a terminal too.
    for folder in ["home/.claude/skills", "s"] {
        let named = text.replace("name: evil", "name: \"evil\\e[2J\\x9b\"");
        place.write(&format!("{folder}/n\u{1b}[2J\u{9b}\u{202e}/SKILL.md"), named.as_bytes());
    }
    // `watch` has a test of its own, and the others show nothing of a skill.
    let others = ["watch", "rule", "completions", "man", "help"];
    let calls = [
        "check s",
        "check s --format concise",
        "check s --format github",
        "check s --statistics",
        "check s --diff --unsafe-fixes",
        "show evil",
        "show evil --raw",
        "eval s",
        "try 'does evil'",
        "list",
        "list --all --cost",
        "list --client installed",
        "list --in s",
        "search evil --why --why",
        "why evil --query evil",
        "prompt",
        "prompt --format plain",
        "cat evil",
        "cat evil notes.md",
        "activate evil",
        "tools",
        "replay calls.jsonl",
        "trust evil",
        "trust --list",
        "add ./s --yes",
        "add ./s --list",
        "list --installed",
        "verify",
        "sync",
        "remove evil",
        "doctor",
        "config",
        "connect codex",
        "disconnect codex",
        "serve --in s < requests.jsonl",
        "serve --print-config codex",
        "new evil --dir s",
    ];
    let help = String::from_utf8(place.output(&["--help"]).stdout).unwrap();
    for name in crate::every_command::commands_of(&help) {
        let is_called = calls.iter().any(|args| args.split(' ').next() == Some(name));
        assert_ne!(is_called, others.contains(&name), "{name}");
    }
    for args in calls {
        for json in ["", " --json"] {
            let Some(text) = Terminal::run(&place, &format!("--color never {args}{json}"), "") else {
                return;
            };
            let bad = text.chars().find(|character| !escape_control(*character));
            assert_eq!(bad, None, "{args}{json}: {}", text.escape_debug());
            assert!(!text.is_empty(), "{args}{json}");
        }
    }
}

#[test]
fn watch_lets_no_name_of_a_skill_control_the_terminal() {
    let place = Place::with(&[("skills/good/SKILL.md", crate::GOOD)]);
    for json in [&[][..], &["--json"]] {
        let mut command = place.command();
        command.args(["watch", "--in", "skills", "--once"]).args(json).stdout(Stdio::piped());
        let mut child = Started::spawn(&mut command);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        assert!(lines.next().is_some());
        // Created elsewhere and moved in, so that it is never seen incomplete.
        let text = format!("---\nname: \"evil{}\\e[2J\\x9b\"\ndescription: d\n---\n", json.len());
        place.write("made/SKILL.md", text.as_bytes());
        let folder = format!("skills/n\u{1b}[2J\u{9b}\u{202e}{}", json.len());
        std::fs::rename(place.path().join("made"), place.path().join(folder)).unwrap();
        let said = lines.collect::<Vec<_>>().join("\n");
        assert!(said.contains("evil") && said.chars().all(escape_control), "{}", said.escape_debug());
        assert!(child.wait().unwrap().success());
    }
}
