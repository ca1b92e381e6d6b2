//! `prowess list`: which skills are offered, and what it says about the others.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::shelf::{json_of, output, run, shelf};
use crate::{GOOD, Place, code, skipped};

#[test]
fn a_list_shows_what_is_offered_and_counts_the_rest() {
    let place = shelf();
    assert_snapshot!(run(&place, &["list"]), @"
    exit 0
    --- stdout
    loud  not trusted: Use when: loud
    mail  Writes letters.
    pdf  The user's own.

    3 skills; 1 not trusted: prowess trust
    3 left out (1 broken, 1 turned off, 1 shadowed): prowess list --all, prowess why NAME
    ");
    // The second time it comes from the index, with the same output.
    assert_eq!(run(&place, &["list"]), run(&place, &["list", "--no-cache"]));
    assert_snapshot!(run(&place, &["list", "--all"]), @"
    exit 0
    --- stdout
    loud  not trusted: Use when: loud
    mail  Writes letters.
    pdf  The user's own.
    again  broken: the key appears twice: name, and 1 more problem
    draft  turned off by [DIR]/prowess.toml: Not ready.
    pdf  shadowed by [DIR]/home/.claude/skills/pdf/SKILL.md, differs in 2 lines and 1 other file: not trusted: Reads PDF files.

    3 skills; 1 not trusted: prowess trust
    3 left out (1 broken, 1 turned off, 1 shadowed)
    ");
    assert_snapshot!(run(&place, &["list", "--cost"]), @"
    exit 0
    --- stdout
    prompt   used   files  tokens, about
        22      0       0  loud  not trusted: Use when: loud
        23      0       0  mail  Writes letters.
        24      0       0  pdf  The user's own.

    3 skills, about 56 tokens in every prompt (skills 47, around them 9, without 22 not trusted); 1 not trusted: prowess trust
    3 left out (1 broken, 1 turned off, 1 shadowed): prowess list --all, prowess why NAME
    ");
}

#[test]
fn list_can_show_one_client_or_named_folders() {
    let place = shelf();
    assert_snapshot!(run(&place, &["list", "--client", "codex"]), @"
    exit 0
    --- stdout
    mail  Writes letters.

    1 skill
    ");
    assert_snapshot!(run(&place, &["list", "--client", "claude-code"]), @"
    exit 0
    --- stdout
    draft  turned off in prowess: Not ready.
    loud  not trusted: Use when: loud
    pdf  The user's own.
    torn  (again)  prowess cannot load it: d

    4 skills; prowess serve withholds 1 not trusted: prowess trust
    at least 1 left out (1 shadowed): prowess list --all --client claude-code, prowess why NAME --client claude-code
    ");
    assert_snapshot!(run(&place, &["list", "--client", "absent"]).chars().take(90).collect::<String>(), @"
    exit 2
    --- stderr
    error: no such client: absent
      hint: name one such as claude-code, code
    ");
    // A folder that was named needs no trust.
    assert_snapshot!(run(&place, &["list", "--in", ".claude/skills/pdf", "--in", "home"]), @"
    exit 0
    --- stdout
    mail  Writes letters.
    pdf  Reads PDF files.

    2 skills
    1 left out (1 shadowed): prowess list --all --in .claude/skills/pdf --in home, prowess why NAME --in .claude/skills/pdf --in home
    ");
    assert_snapshot!(run(&place, &["list", "--in", "nowhere"]), @"
    exit 2
    --- stderr
    error: there is no such file or folder: [DIR]/nowhere
      hint: check the spelling, and that a link is not broken
    ");
    assert_snapshot!(run(&place, &["list", "--in", "prowess.toml"]), @"
    exit 2
    --- stderr
    error: this is a file, not a folder: [DIR]/prowess.toml
      hint: give the folder that holds the skills, or name a .skill, .zip, .tar.gz or .tgz archive or a .jsonl file as a source
    ");
    assert_snapshot!(run(&Place::with(&[]), &["list"]), @"
    exit 0
    --- stdout
    no skills here
    ");
}

#[test]
fn list_as_json_agrees_with_the_text() {
    let place = shelf();
    let list = json_of(&place, &["list", "--json"]);
    assert_eq!((list["version"].clone(), list["unread"].clone()), (json!(1), json!([])));
    assert_eq!(list["summary"]["left_out"], 3);
    let names: Vec<&str> =
        list["skills"].as_array().unwrap().iter().map(|skill| skill["key"].as_str().unwrap()).collect();
    assert_eq!(names, ["loud", "mail", "pdf"]);
    let mut loud = list["skills"][0].clone();
    assert!(loud["readers"].as_array().unwrap().contains(&json!("claude-code")));
    loud["readers"] = json!([]);
    assert_eq!(
        loud,
        json!({
            "name": "loud",
            "key": "loud",
            "description": "Use when: loud",
            "path": place.path().join(".claude/skills/loud/SKILL.md"),
            "source": place.path().join(".claude/skills"),
            "virtual_path": "loud",
            "scope": "project",
            "state": "untrusted",
            "trusted": false,
            "preload": false,
            "repaired": true,
            "readers": [],
            "problems": [{
                "code": "yaml-syntax",
                "severity": "warning",
                "message": "the frontmatter is not valid YAML: a colon and a space inside a value without quotes",
            }],
        })
    );
    let all = json_of(&place, &["list", "--json", "--all"]);
    let states: Vec<&Value> = all["skills"].as_array().unwrap().iter().map(|skill| &skill["state"]).collect();
    assert_eq!(states, ["untrusted", "active", "active", "broken", "disabled", "shadowed"]);
}

/// A name that would set the title of a terminal.
const NAME: &str = "x\u{1b}]0;t\u{7}";

#[test]
fn nothing_of_a_skill_or_a_path_controls_the_terminal() {
    let place = Place::with(&[
        (
            ".claude/skills/a\u{1b}[31m/SKILL.md",
            "---\nname: \"x\\e]0;t\\a\"\ndescription: \"d\\e[2J \\u202E\"\n---\n",
        ),
        (".claude/skills/\u{202e}b/SKILL.md", "---\nname: b\nname: c\ndescription: \"\\e[2J\"\n---\n"),
    ]);
    let odd = OsStr::from_bytes(b".claude/skills/\xff\x1b[5m");
    fs::create_dir(place.path().join(odd)).unwrap();
    fs::write(place.path().join(odd).join("SKILL.md"), "---\nname: odd\ndescription: d\n---\n").unwrap();
    let escaped = OsStr::new("\u{1b}[31m");
    let all: Vec<Vec<&OsStr>> = [
        &["list", "--all", "--cost"][..],
        &["list", "--all", "--json"],
        &["why", NAME],
        &["why", "a\u{1b}[31m"],
        &["why", "\u{202e}b"],
        &["why", "odd"],
        &["why", "--json", NAME],
        &["trust", NAME, "--yes"],
        &["trust", "odd", "--yes"],
        &["trust", ".claude/skills/a\u{1b}[31m", "--yes"],
        &["trust", "--json", ".claude/skills/a\u{1b}[31m", "--yes"],
        &["trust", "--list"],
        &["trust", "--list", "--json"],
        &["trust", "--revoke", NAME],
        &["search", "--in", ".claude/skills", "--why", "x \u{1b}[31m t"],
        &["search", "--in", ".claude/skills", "--json", "--why", "x \u{1b}[31m t"],
        &["search", "--selector", "command:\u{1b}[31m", "x"],
        &["prompt", "--in", ".claude/skills", "--budget", "30c", "--query", "d \u{1b}[31m"],
        &["prompt", "--in", ".claude/skills", "--format", "plain", "--json"],
        &["prompt", "--in", ".claude/skills", "--query", "d", "--selector", "command:\u{1b}[31m"],
        &["list", "--client", "\u{1b}[31m"],
        &["list", "--in", "\u{1b}[31m"],
    ]
    .iter()
    .map(|args| args.iter().map(OsStr::new).collect())
    .chain([vec![OsStr::new("list"), OsStr::new("--in"), odd], vec![OsStr::new("why"), escaped]])
    .collect();
    for args in all {
        let ended = output(&place, &args);
        assert!(!ended.stdout.is_empty() || !ended.stderr.is_empty(), "{args:?}");
        for text in [ended.stdout, ended.stderr] {
            let text = String::from_utf8(text).unwrap();
            let hidden = text.chars().find(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}');
            assert_eq!(hidden, None, "{args:?}: {text:?}");
        }
    }
}

#[test]
fn a_folder_that_may_not_be_read_is_named_and_the_others_are_listed() {
    let place = shelf();
    // Root may read everything, so the command runs as user nobody, from a copy that this user can reach.
    let program = place.path().join("prowess");
    fs::copy(env!("CARGO_BIN_EXE_prowess"), &program).unwrap();
    let closed = place.path().join(".claude/skills/loud");
    fs::set_permissions(place.path(), Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(&closed, Permissions::from_mode(0o000)).unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--clear-groups"]).arg(&program).args(["list", "--in", ".claude/skills"]);
    let ended = command.env_clear().current_dir(place.path()).output();
    fs::set_permissions(&closed, Permissions::from_mode(0o755)).unwrap();
    match ended {
        Ok(ended) if !String::from_utf8_lossy(&ended.stderr).contains("setpriv:") => {
            assert_snapshot!(place.transcript(&ended), @"
            exit 2
            --- stdout
            pdf  Reads PDF files.

            1 skill
            2 left out (1 broken, 1 turned off): prowess list --all --in .claude/skills, prowess why NAME --in .claude/skills
            --- stderr
            error: could not read: [DIR]/.claude/skills/loud
              cause: permission denied
              hint: make it readable for this user, or leave it out of what you name
            ");
        }
        _ => skipped("setpriv cannot run here, or this is not root"),
    }
}

#[test]
fn an_unreadable_skill_is_broken_and_hides_no_other() {
    let place = Place::with(&[("skills/good/SKILL.md", GOOD), ("skills/round/x", "")]);
    std::os::unix::fs::symlink("SKILL.md", place.path().join("skills/round/SKILL.md")).unwrap();
    let listed = output(&place, &["list", "--in", "skills"]);
    assert_eq!(code(&listed), 0);
    assert!(listed.stderr.is_empty());
    let why = run(&place, &["why", "round", "--in", "skills"]);
    assert!(why.starts_with("exit 1\n") && why.contains("error[file-unreadable]: could not read"), "{why}");
    let cat = run(&place, &["cat", "good", "--in", "skills"]);
    insta::assert_snapshot!(cat, @r"
    exit 0
    --- stdout
    # Good
    ");
}

#[test]
fn a_projects_configuration_that_is_not_understood_leaves_the_skills_alone() {
    let place = Place::with(&[(".claude/skills/good/SKILL.md", GOOD), ("prowess.toml", "[skills\n")]);
    let listed = run(&place, &["list"]);
    assert!(listed.starts_with("exit 2\n") && listed.contains("good"), "{listed}");
    assert!(listed.contains("the configuration is not understood: [DIR]/prowess.toml:1"), "{listed}");
}

#[test]
fn skills_come_from_jsonl_files_inline_pairs_and_configured_sources() {
    let place = Place::with(&[
        ("team.jsonl", "{\"name\":\"a\",\"description\":\"Does a.\",\"body\":\"Do a.\"}\nnot json\n"),
        ("more/good/SKILL.md", GOOD),
        (
            "prowess.toml",
            "[[skills.sources]]\ndir = 'more'\nprefix = 'p'\n\
          [[skills.sources]]\nurl = 'https://127.0.0.1:1/'\n",
        ),
        (
            "config/prowess/prowess.toml",
            "[[skills.sources]]\nname = 'hi'\ndescription = 'Says hi.'\ninstructions = 'Hi.'\n",
        ),
    ]);
    assert_snapshot!(run(&place, &["list", "--in", "team.jsonl", "--in", "dir=more,prefix=x,mount_as=m"]), @"
    exit 2
    --- stdout
    a  Does a.
    x:good  Does it well when asked.

    2 skills
    --- stderr
    error: this file is not understood: [DIR]/team.jsonl:2: this is not valid JSON at column 2
      hint: correct it, or restore it from a copy
    ");
    assert_snapshot!(run(&place, &["list"]), @"
    exit 2
    --- stdout
    hi  Says hi.
    p:good  not trusted: Does it well when asked.

    2 skills; 1 not trusted: prowess trust
    --- stderr
    error: this site is named by a project that is not trusted, and was not asked: https://127.0.0.1:1/
      hint: trust the project's folder with: prowess trust
    ");
    assert_snapshot!(run(&place, &["cat", "a", "--in", "team.jsonl"]), @"
    exit 2
    --- stdout

    Do a.
    --- stderr
    error: this file is not understood: [DIR]/team.jsonl:2: this is not valid JSON at column 2
      hint: correct it, or restore it from a copy
    ");
    assert_snapshot!(run(&place, &["list", "--in", "dir=a,url=https://x.test"]), @"
    exit 2
    --- stderr
    error: invalid value 'dir=a,url=https://x.test' for '--in <SPEC>': more than one place is named: dir, url
      hint: name one place: a folder, a .skill, .zip or .tar.gz file, a .jsonl file, an https:// address or mcp= and a server

    For more information, try '--help'.
    ");
}

#[test]
fn a_list_warns_of_a_description_that_a_comment_cuts_as_a_check_does() {
    let place = Place::with(&[
        ("skills/cut/SKILL.md", "---\nname: cut\ndescription: Fix issue #12 today\n---\nDo it.\n"),
        (
            "skills/hooked/SKILL.md",
            "---\nname: hooks\ndescription: d\nhooks: {a: b}\nmodel: [x]\n---\nDo it.\n",
        ),
    ]);
    let listed = json_of(&place, &["list", "--json", "--in", "skills"]);
    let checked = json_of(&place, &["check", "--json", "--profile", "lenient", "skills"]);
    let codes = |problems: &Value| -> Vec<String> {
        let brief = |problem: &Value| format!("{} {}", problem["severity"], problem["code"]);
        problems.as_array().unwrap().iter().map(brief).collect()
    };
    assert_eq!(codes(&listed["skills"][0]["problems"]), [r#""warning" "description-cut""#]);
    for (row, file) in [(0, 0), (1, 1)] {
        assert_eq!(codes(&listed["skills"][row]["problems"]), codes(&checked["files"][file]["problems"]));
    }
}

#[test]
fn a_list_can_be_narrowed_by_folder_filter_and_tools() {
    let skill =
        |name: &str, more: &str| format!("---\nname: {name}\ndescription: Does {name}.\n{more}---\nDo.\n");
    let place = Place::with(&[
        ("skills/billing/refunds/SKILL.md", &skill("refunds", "allowed-tools: Bash Read\n")),
        ("skills/billing/eu/taxes/SKILL.md", &skill("taxes", "allowed-tools: Read\n")),
        ("skills/mail/SKILL.md", &skill("mail", "")),
    ]);
    let keys = |options: &[&str]| -> Vec<String> {
        let list = json_of(&place, &[&["list", "--json", "--in", "skills"], options].concat());
        assert_eq!(list["summary"]["skills"], list["skills"].as_array().unwrap().len());
        list["skills"].as_array().unwrap().iter().map(|row| row["key"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(keys(&[]), ["mail", "refunds", "taxes"]);
    assert_eq!(keys(&["--folder", "billing"]), ["refunds", "taxes"]);
    assert_eq!(keys(&["--folder", "/billing/eu/"]), ["taxes"]);
    assert_eq!(keys(&["--filter", "billing/**"]), ["refunds", "taxes"]);
    assert_eq!(keys(&["--filter", "none"]), [""; 0]);
    assert_eq!(keys(&["--tools", "Read"]), ["mail", "taxes"]);
    assert_eq!(keys(&["--tools", ""]), ["mail"]);
    assert_eq!(keys(&["--tools", "Read,Bash", "--folder", "billing"]), ["refunds", "taxes"]);
    assert_snapshot!(run(&place, &["list", "--in", "skills", "--folder", "nowhere"]), @"
    exit 0
    --- stdout
    no skill matches, of 3 skills
    ");
    let list = json_of(&place, &["list", "--json", "--in", "skills", "--folder", "billing/eu"]);
    assert_eq!(list["skills"][0]["virtual_path"], "billing/eu/taxes");
    let why = run(&place, &["why", "taxes", "--in", "skills"]);
    assert!(why.contains("  path for filters: billing/eu/taxes\n"), "{why}");
}

#[test]
fn a_search_that_leaves_out_every_skill_is_named() {
    let place = Place::with(&[("home/.claude/skills/a/SKILL.md", crate::GOOD), ("home/.claude/x", "")]);
    let wanted = "no skills here: --depth 0 leaves out 1 skill\n";
    for args in [&["list", "--depth", "0"][..], &["search", "x", "--depth", "0"], &["prompt", "--depth", "0"]]
    {
        let said = run(&place, args);
        assert!(said.contains(wanted), "{args:?}: {said}");
    }
    for (setting, shown) in [("depth = 0", "scan.depth = 0"), ("skip = [\"a\"]", "scan.skip = [\"a\"]")] {
        place.write("config/prowess/prowess.toml", format!("[scan]\n{setting}\n").as_bytes());
        let wanted = format!("{shown} in [DIR]/config/prowess/prowess.toml leaves out 1 skill");
        let said = run(&place, &["list"]);
        assert!(said.contains(&format!("no skills here: {wanted}\n")), "{said}");
        let said = run(&place, &["doctor"]);
        assert!(said.contains(&format!("warning: all-left-out: {wanted}")), "{said}");
    }
}

#[test]
fn a_list_of_several_clients_without_skills_begins_with_its_total() {
    let place = Place::with(&[]);
    let said = run(&place, &["list", "--client", "claude-code,codex"]);
    assert!(said.starts_with("exit 0\n--- stdout\n0 skills: "), "{said}");
}
