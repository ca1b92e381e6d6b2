//! Every command that takes a name, and every state that a skill of this name can be in: the message names the skill,
//! says why, and says what to do.

use std::fmt::Write as _;
use std::io::Read as _;
use std::process::Stdio;

use crate::shelf::{command, json_of, output, run};
use crate::{Place, code};
use insta::assert_snapshot;
use serde_json::{Value, json};

/// The commands that take the name of a skill.
const COMMANDS: [&str; 5] = ["cat", "show", "why", "activate", "trust"];

/// A command about a name. Without a terminal, trust needs consent as an option.
fn about<'n>(command: &'n str, name: &'n str) -> Vec<&'n str> {
    if command == "trust" { vec![command, name, "--yes"] } else { vec![command, name] }
}

/// A project with a skill in each state, and its user's own.
fn shelf() -> Place {
    Place::with(&[
        (".claude/skills/nodesc/SKILL.md", "---\nname: nodesc\n---\nDo.\n"),
        (".claude/skills/loud/SKILL.md", "---\nname: loud\ndescription: Shouts.\n---\nShout.\n"),
        (".claude/skills/draft/SKILL.md", "---\nname: draft\ndescription: Not ready.\n---\nWait.\n"),
        (".claude/skills/reader/SKILL.md", "---\nname: pdf\ndescription: Reads PDF files.\n---\nRead.\n"),
        ("home/.claude/skills/pdf/SKILL.md", "---\nname: pdf\ndescription: The user's own.\n---\nRead.\n"),
        ("prowess.toml", "[skills]\ndisable = [\"draft\"]\n"),
    ])
}

/// The output of each command for a name.
fn said(name: &str) -> String {
    let mut all = String::new();
    for command in COMMANDS {
        let text = run(&shelf(), &about(command, name));
        // Other tests check the digest and the readers.
        let text = text.split("sha256:").next().unwrap_or_default();
        let lines = text.lines().filter(|line| !line.starts_with("  clients that look there: "));
        let _ = writeln!(all, "$ prowess {command} {name}\n{}\n", lines.collect::<Vec<_>>().join("\n"));
    }
    all
}

/// Creates a sparse file that is larger than any memory, and returns its size. The maximum depends on the file system.
fn set_huge(file: &std::fs::File) -> u64 {
    let size = [2 << 40, 1 << 40, 200 << 30].into_iter().find(|size| file.set_len(*size).is_ok());
    size.unwrap()
}

#[test]
fn every_command_says_that_there_is_no_skill_of_a_name() {
    assert_snapshot!(said("nope"), @"
    $ prowess cat nope
    exit 2
    --- stderr
    error: there is no such skill: nope
      hint: list the skills with: prowess list

    $ prowess show nope
    exit 2
    --- stderr
    error: there is no such file, folder or skill: nope
      hint: check the spelling, or list the skills with: prowess list

    $ prowess why nope
    exit 1
    --- stderr
    error: no skill of this name was found: nope
      hint: a skill is a folder with a SKILL.md in a place where agents look; --in names another

    $ prowess activate nope
    exit 2
    --- stderr
    error: there is no such skill: nope
      hint: list the skills with: prowess list

    $ prowess trust nope
    exit 2
    --- stderr
    error: there is no such skill: nope
      hint: list the skills with: prowess list
    ");
}

#[test]
fn every_command_says_what_is_wrong_with_a_broken_skill() {
    assert_snapshot!(said("nodesc"), @"
    $ prowess cat nodesc
    exit 2
    --- stderr
    error: this skill is broken: nodesc: there is no description
      hint: see every problem with: prowess check [DIR]/.claude/skills/nodesc/SKILL.md

    $ prowess show nodesc
    exit 1
    --- stdout
    nodesc  [DIR]/.claude/skills/nodesc/SKILL.md

      (no description)

      instructions  4 bytes, about 1 token

    does not load; 1 error, 0 warnings under spec: see prowess check nodesc

    $ prowess why nodesc
    exit 1
    --- stdout
    nodesc: broken
      found: [DIR]/.claude/skills/nodesc/SKILL.md
      path for filters: nodesc
      error[description-missing]: there is no description
      hint: see how to correct it with: prowess check [DIR]/.claude/skills/nodesc/SKILL.md

    $ prowess activate nodesc
    exit 2
    --- stderr
    error: this skill is broken: nodesc: there is no description
      hint: see every problem with: prowess check [DIR]/.claude/skills/nodesc/SKILL.md

    $ prowess trust nodesc
    exit 2
    --- stderr
    error: this skill is broken: nodesc: there is no description
      hint: see every problem with: prowess check [DIR]/.claude/skills/nodesc/SKILL.md
    ");
}

#[test]
fn every_command_says_that_a_skill_is_not_trusted_or_shows_it() {
    assert_snapshot!(said("loud"), @"
    $ prowess cat loud
    exit 0
    --- stdout
    Shout.
    --- stderr
    this skill is not trusted: loud; its text is for reading, not for following

    $ prowess show loud
    exit 0
    --- stdout
    loud  [DIR]/.claude/skills/loud/SKILL.md

      Shouts.

      instructions  7 bytes, about 1 token

    loads; no problems under spec
    --- stderr
    this skill is not trusted; see: prowess why loud

    $ prowess why loud
    exit 1
    --- stdout
    loud: listed, not trusted
      found: [DIR]/.claude/skills/loud/SKILL.md
      path for filters: loud
      hint: agents may use it after: prowess trust loud

    $ prowess activate loud
    exit 2
    --- stderr
    error: this skill is not trusted: loud
      hint: look at it with: prowess show loud; then trust it with: prowess trust loud

    $ prowess trust loud
    exit 0
    --- stdout
    trusted with its current files: loud [DIR]/.claude/skills/loud/SKILL.md
    ");
}

#[test]
fn every_command_says_what_turned_a_skill_off() {
    assert_snapshot!(said("draft"), @"
    $ prowess cat draft
    exit 2
    --- stderr
    error: this skill is turned off: draft: by [DIR]/prowess.toml
      hint: change skills.disable or skills.enable in that file to use it

    $ prowess show draft
    exit 0
    --- stdout
    draft  [DIR]/.claude/skills/draft/SKILL.md

      Not ready.

      instructions  6 bytes, about 1 token

    loads; no problems under spec
    --- stderr
    this skill is turned off by [DIR]/prowess.toml; see: prowess why draft

    $ prowess why draft
    exit 1
    --- stdout
    draft: turned off
      found: [DIR]/.claude/skills/draft/SKILL.md
      path for filters: draft
      turned off by: [DIR]/prowess.toml
      hint: change skills.disable or skills.enable in that file to use it

    $ prowess activate draft
    exit 2
    --- stderr
    error: this skill is turned off: draft: by [DIR]/prowess.toml
      hint: change skills.disable or skills.enable in that file to use it

    $ prowess trust draft
    exit 2
    --- stderr
    error: this skill is turned off: draft: by [DIR]/prowess.toml
      hint: change skills.disable or skills.enable in that file to use it
    ");
}

#[test]
fn every_command_says_which_skill_shadows_another() {
    assert_snapshot!(said("reader"), @"
    $ prowess cat reader
    exit 2
    --- stderr
    error: this skill is shadowed: reader, which is called pdf: by [DIR]/home/.claude/skills/pdf/SKILL.md
      hint: see all skills of this name with: prowess why pdf

    $ prowess show reader
    exit 0
    --- stdout
    pdf  [DIR]/.claude/skills/reader/SKILL.md

      Reads PDF files.

      instructions  6 bytes, about 1 token

    loads; 1 error, 0 warnings under spec: see prowess check reader
    --- stderr
    this skill is shadowed by [DIR]/home/.claude/skills/pdf/SKILL.md; see: prowess why pdf

    $ prowess why reader
    exit 1
    --- stdout
    pdf: shadowed
      found: [DIR]/.claude/skills/reader/SKILL.md
      path for filters: reader
      error[name-folder-mismatch]: the name is not the name of the folder: pdf in reader
      shadowed by: [DIR]/home/.claude/skills/pdf/SKILL.md
      compared with it: differs in 1 line
      hint: rename one of the two
      hint: it is not trusted; prowess trust pdf

    $ prowess activate reader
    exit 2
    --- stderr
    error: this skill is shadowed: reader, which is called pdf: by [DIR]/home/.claude/skills/pdf/SKILL.md
      hint: see all skills of this name with: prowess why pdf

    $ prowess trust reader
    exit 0
    --- stdout
    trusted with its current files: pdf [DIR]/.claude/skills/reader/SKILL.md
    ");
}

#[test]
fn no_error_suggests_the_name_that_was_asked_for() {
    let place = shelf();
    for name in ["nope", "nodesc", "loud", "draft", "reader", "pdf"] {
        for command in COMMANDS {
            let text = run(&place, &about(command, name));
            let own = [format!("did you mean {name}?"), format!("there is {name}\n")];
            assert!(!own.iter().any(|words| text.contains(words)), "{command} {name}: {text}");
        }
        let similar = json_of(&place, &["why", "--json", name])["similar"].clone();
        assert!(!similar.as_array().unwrap().contains(&json!(name)), "{name}: {similar}");
    }
}

#[test]
fn every_failure_with_json_is_the_envelope() {
    for name in ["nope", "nodesc", "loud", "draft", "reader"] {
        for command in COMMANDS {
            let output = output(&shelf(), &[&["--json"][..], &about(command, name)].concat());
            let value: Value = serde_json::from_slice(&output.stdout).unwrap();
            assert_eq!(value["version"], 1, "{command} {name}: {value}");
            if code(&output) == 2 {
                let error = &value["error"];
                assert!(
                    error["message"].as_str().is_some_and(|text| text.contains(name)),
                    "{command}: {value}"
                );
                assert!(error["hint"].is_string() && error["causes"].is_array(), "{command} {name}: {value}");
            }
        }
    }
}

#[test]
fn a_name_gets_one_answer_however_it_is_written() {
    let text = "---\nname: DOCS-ARCHITECT\ndescription: Plans docs.\n---\nPlan.\n";
    let place = Place::with(&[("skills/docs-architect/SKILL.md", text)]);
    for command in ["why", "cat", "show", "activate"] {
        let answer = |name: &str| run(&place, &[command, name, "--in", "skills"]);
        let one = answer("DOCS-ARCHITECT");
        assert!(one.starts_with("exit 0"), "{command}: {one}");
        assert_eq!((&answer("docs-architect"), &answer("Docs-Architect")), (&one, &one), "{command}");
    }
    let why = |name: &str| json_of(&place, &["why", "--json", name, "--in", "skills"]);
    let (one, other) = (why("DOCS-ARCHITECT"), why("docs-architect"));
    assert_eq!((&one["offered"], &one["similar"]), (&json!(true), &json!([])));
    for member in ["offered", "candidates", "similar", "prompt"] {
        assert_eq!(one[member], other[member], "{member}");
    }
}

#[test]
fn a_name_that_several_skills_have_asks_for_a_key() {
    let skill = "---\nname: pdf\ndescription: Reads.\n---\nRead.\n";
    let place = Place::with(&[("a/pdf/SKILL.md", skill), ("b/pdf/SKILL.md", skill)]);
    let both = ["--in", "dir=a,prefix=one", "--in", "dir=b,prefix=two"];
    let said = |command: &str| run(&place, &[&[command, "pdf"], &both[..]].concat());
    assert_snapshot!(said("cat"), @"
    exit 2
    --- stderr
    error: several skills have this name: pdf: one:pdf, two:pdf
      hint: name one of them by its whole key
    ");
    assert_eq!((said("show"), said("activate")), (said("cat"), said("cat")));
}

#[test]
fn a_file_is_written_in_parts_and_a_closed_pipe_is_not_an_error() {
    let place = Place::with(&[("skills/good/SKILL.md", crate::GOOD)]);
    let bytes: Vec<u8> = (0..3_000_000u32).map(|number| number.to_le_bytes()[0]).collect();
    place.write("skills/good/assets/large.bin", &bytes);
    let args = ["cat", "good", "assets/large.bin", "--in", "skills"];
    assert_eq!(output(&place, &args).stdout, bytes);
    // More than fits in memory, so it must be read in parts.
    let huge = std::fs::File::create(place.path().join("skills/good/assets/huge.bin")).unwrap();
    set_huge(&huge);
    let mut child = command(&place)
        .args(["cat", "good", "assets/huge.bin", "--in", "skills"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = vec![1; 5 << 20];
    child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
    assert!(first.iter().all(|byte| *byte == 0));
    // The pipe is full, so the command waits, and what it has read by now is all that it read ahead.
    if let Some(bytes) = bytes_read(child.id()) {
        assert!(bytes < 32 << 20, "{bytes} bytes were read to write {}", first.len());
    }
    drop(child.stdout.take());
    let ended = child.wait_with_output().unwrap();
    assert_eq!((code(&ended), String::from_utf8(ended.stderr).unwrap()), (0, String::new()));
}

/// How many bytes a process has read, where the system counts them.
fn bytes_read(process: u32) -> Option<u64> {
    let counts = std::fs::read_to_string(format!("/proc/{process}/io")).ok()?;
    counts.lines().find_map(|line| line.strip_prefix("rchar:")?.trim().parse().ok())
}

#[test]
fn a_file_in_json_is_cut_at_a_limit_and_says_so() {
    let place = Place::with(&[("skills/good/SKILL.md", crate::GOOD), ("skills/good/a.txt", "short\n")]);
    let cat = |path: &str| json_of(&place, &["cat", "--json", "good", path, "--in", "skills"]);
    assert_eq!(
        cat("a.txt"),
        json!({"version": 1, "name": "good", "path": "a.txt", "part": "file", "encoding": "text", "contents": "short\n", "size": 6, "truncated": false})
    );
    let huge = std::fs::File::create(place.path().join("skills/good/huge.bin")).unwrap();
    let size = set_huge(&huge);
    let value = cat("huge.bin");
    assert_eq!((&value["size"], &value["truncated"]), (&json!(size), &json!(true)));
    assert_eq!(value["encoding"], "base64");
    assert_eq!(value["contents"].as_str().unwrap().len(), (16_usize << 20).div_ceil(3) * 4);
    // A cut is never inside a character.
    place.write("skills/good/long.txt", "äöü€".repeat((16 << 20) / 9 + 9).as_bytes());
    let value = cat("long.txt");
    assert_eq!((&value["encoding"], &value["truncated"]), (&json!("text"), &json!(true)));
}

#[test]
fn a_skill_that_an_option_turns_off_is_not_blamed_on_a_file() {
    let place = Place::with(&[("skills/good/SKILL.md", crate::GOOD)]);
    let text = run(&place, &["cat", "good", "--in", "skills", "--except", "good"]);
    assert_snapshot!(text, @"
    exit 2
    --- stderr
    error: this skill is turned off: good: by --except
      hint: run the command without that option
    ");
}

#[test]
fn a_name_is_taken_as_texts_show_it() {
    let place = Place::with(&[
        ("home/.claude/skills/one/SKILL.md", "---\nname: \"new\\nline\"\ndescription: One.\n---\nOne.\n"),
        ("home/.claude/skills/two/SKILL.md", "---\nname: \"a\\u202Eb\"\ndescription: Two.\n---\nTwo.\n"),
    ]);
    let list = run(&place, &["list"]);
    let shown: Vec<&str> = list.lines().filter_map(|line| Some(line.split_once("  ")?.0)).collect();
    assert_eq!(shown.len(), 2, "{list}");
    for name in shown {
        for verb in ["cat", "show", "why", "activate"] {
            let said = run(&place, &[verb, name]);
            assert!(said.starts_with("exit 0\n"), "{verb} {name}: {said}");
        }
    }
}
