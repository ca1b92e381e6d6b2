//! Messages and hints are about what the user typed.

use crate::shelf::{json_of, run};
use crate::{GOOD, Place, code};
use insta::assert_snapshot;

/// The lines of a run that begin with `hint:`.
fn hint(transcript: &str) -> &str {
    transcript.split_once("hint: ").map_or(transcript, |(_, hint)| hint)
}

#[test]
fn a_folder_with_the_name_of_no_skill_is_trusted_as_a_path() {
    let place = Place::with(&[("s/good/SKILL.md", GOOD), ("file.txt", "")]);
    let said = run(&place, &["trust", "s", "--yes"]);
    assert!(said.contains("there is no such skill: s\n"), "{said}");
    assert!(hint(&said).contains("prowess trust ./s\n"), "{said}");
    let said = run(&place, &["trust", "./file.txt", "--yes"]);
    assert!(said.contains("this is a file, not a folder: ./file.txt"), "{said}");
}

#[test]
fn the_hint_for_a_folder_in_place_of_a_file_does_not_say_to_remove_it() {
    let place = Place::with(&[("s/good/SKILL.md", GOOD), ("s/good/references/x.md", ""), ("d.jsonl/x", "")]);
    for args in [
        &["cat", "good", "references", "--in", "s"][..],
        &["replay", "s", "--in", "s"],
        &["list", "--in", "d.jsonl"],
    ] {
        let said = run(&place, args);
        assert!(said.contains("this is a folder, not a file"), "{said}");
        assert!(hint(&said).starts_with("name a file"), "{said}");
    }
}

#[test]
fn a_file_in_the_place_of_a_folder_is_named_as_the_cause() {
    let place = Place::with(&[("file.txt", "")]);
    let said = run(&place, &["new", "fresh", "--dir", "file.txt"]);
    assert!(said.starts_with("exit 2") && hint(&said).contains("is a file; name a folder"), "{said}");
}

#[test]
fn a_wrong_key_of_a_source_has_a_hint_about_that_key() {
    let place = Place::with(&[("s/good/SKILL.md", GOOD)]);
    for (source, error, wanted) in [
        ("dir=s,prefix=A b", "a word without spaces, : and / is wanted: A b", "write one word"),
        ("dir=s,mount_as=../x", "mount_as: ", "write the folder"),
        ("dir=s,preload=yes", "preload: true or false is wanted", "write true or false"),
        ("dir=s,unlisted=true", "unlisted belongs to a url", "leave that key out"),
        ("prefix=a", "no place is named", "name one place"),
    ] {
        let said = run(&place, &["list", "--in", source]);
        assert!(said.contains(error) && hint(&said).starts_with(wanted), "{source}: {said}");
    }
}

#[test]
fn a_folder_without_a_plugin_json_is_reported_as_not_a_plugin() {
    let place = Place::with(&[("s/good/SKILL.md", GOOD)]);
    let said = run(&place, &["list", "--in", "plugin=s"]);
    assert!(said.contains("this folder is no plugin: [DIR]/s: it has no file plugin.json or"), "{said}");
}

#[test]
fn an_activation_above_the_limit_has_a_hint_that_helps() {
    let place = Place::with(&[
        ("s/good/SKILL.md", GOOD),
        ("config/prowess/prowess.toml", "[session]\nmax_activation_bytes = 10\n"),
    ]);
    let said = run(&place, &["activate", "good", "--in", "s"]);
    assert!(hint(&said).starts_with("make the skill shorter, or raise max_activation_bytes"), "{said}");
    assert!(!said.contains("prowess why"), "{said}");
    let said = run(&place, &["activate", "good", "--in", "s", "some", "words"]);
    assert!(hint(&said).starts_with("give it shorter arguments, or raise"), "{said}");
}

#[test]
fn an_activation_from_an_archive_names_no_folder() {
    let place = Place::with(&[("s/good/SKILL.md", GOOD)]);
    let packed = std::process::Command::new("tar")
        .args(["-czf", "all.tar.gz", "-C", "s", "good"])
        .current_dir(place.path())
        .status();
    if !packed.is_ok_and(|status| status.success()) {
        return crate::skipped("there is no tar");
    }
    let said = run(&place, &["activate", "good", "--in", "all.tar.gz"]);
    assert!(said.contains("# Good") && !said.contains("directory"), "{said}");
    for command in ["check", "show"] {
        let said = run(&place, &[command, "all.tar.gz"]);
        assert!(said.starts_with("exit 2"), "{said}");
        assert!(said.contains("this is an archive, not a SKILL.md: all.tar.gz"), "{said}");
    }
    place.write("plain.tar", b"");
    let said = run(&place, &["list", "--in", "plain.tar"]);
    assert!(hint(&said).contains(".tar.gz or .tgz archive"), "{said}");
}

#[test]
fn an_error_in_a_jsonl_file_has_one_line_number_and_no_rust_types() {
    let place = Place::with(&[("team.jsonl", "{\"name\":\"a\",\"description\":\"A.\"}\nnul\n[]\n")]);
    let said = run(&place, &["list", "--in", "team.jsonl"]);
    assert!(said.contains("team.jsonl:2: this is not valid JSON at column "), "{said}");
    assert!(said.contains("team.jsonl:3: a JSON object is wanted\n"), "{said}");
}

#[test]
fn a_skill_in_a_jsonl_file_has_the_same_problems_as_in_a_folder() {
    let line = "{\"name\":\"Bad Name\",\"description\":\"Does it badly when asked.\",\"body\":\"Do.\"}\n";
    let place = Place::with(&[
        ("team.jsonl", line),
        ("s/x/SKILL.md", "---\nname: Bad Name\ndescription: Does it badly when asked.\n---\nDo.\n"),
    ]);
    let codes = |source: &str| -> Vec<String> {
        let why = json_of(&place, &["why", "Bad Name", "--in", source, "--json"]);
        let problems = why["candidates"][0]["problems"].as_array().unwrap().clone();
        problems.iter().map(|problem| problem["code"].as_str().unwrap().to_owned()).collect()
    };
    let mut in_folder = codes("s");
    // A record of a JSON Lines file has no folder.
    in_folder.retain(|code| code != "name-folder-mismatch");
    assert!(!in_folder.is_empty());
    assert_eq!(codes("team.jsonl"), in_folder);
    let shown = run(&place, &["show", "Bad Name", "--in", "team.jsonl"]);
    assert!(!shown.contains("other files") && !shown.contains("see prowess check"), "{shown}");
    assert!(shown.contains("error[name-"), "{shown}");
}

#[test]
fn a_problem_that_breaks_a_skill_of_a_plugin_is_shown_once() {
    let place = Place::with(&[
        (".claude-plugin/plugin.json", "{\"name\":\"p\"}"),
        ("skills/other/SKILL.md", "---\nname: pb\ndescription: Does it.\n---\nDo.\n"),
        ("skills/lower/skill.md", "---\nname: lower\ndescription: Does it.\n---\nDo.\n"),
    ]);
    let said = run(&place, &["why", "pb", "--in", "plugin=."]);
    assert_eq!(said.matches("name-folder-mismatch").count(), 1, "{said}");
    let said = run(&place, &["why", "lower", "--in", "plugin=."]);
    assert!(said.contains("lower: broken") && said.contains("error[file-name-case]"), "{said}");
}

#[test]
fn a_match_in_the_tags_is_not_attributed_to_the_description() {
    let place = Place::with(&[(
        "s/toolsy/SKILL.md",
        "---\nname: toolsy\ndescription: needs tools\nmetadata:\n  tags: pdf, office\n---\nbody\n",
    )]);
    let said = run(&place, &["search", "pdf", "--in", "s", "--why"]);
    assert!(said.contains("  in the description or tags: pdf\n"), "{said}");
}

#[test]
fn errors_of_replay_name_no_rust_types_and_refuse_unknown_event_kinds() {
    let place = Place::with(&[("s/good/SKILL.md", GOOD)]);
    place.write(
        "calls.jsonl",
        b"{\"host\":\"prompt\",\"arguments\":{\"style\":\"compact\"}}\n{\"host\":\"log\",\"arguments\":{\"events\":[\"bogus\"]}}\n",
    );
    let said = run(&place, &["replay", "calls.jsonl", "--in", "s"]);
    assert!(said.contains("expected an object") && !said.contains("CatalogStyle"), "{said}");
    assert!(said.contains("there is no such kind of event: bogus; the kinds are discovered, "), "{said}");
}

#[test]
fn a_second_own_file_is_a_finding_and_is_not_listed() {
    let place = Place::with(&[("both/SKILL.md", GOOD), ("both/skill.md", GOOD)]);
    let said = run(&place, &["check", "both", "--allow", "name-folder-mismatch"]);
    assert!(said.contains("file-left-out"), "{said}");
    assert!(said.contains("skill.md: its name and SKILL.md differ only in case"), "{said}");
    let shown = json_of(&place, &["show", "both", "--json"]);
    assert_eq!(shown["files"].as_array().unwrap().len(), 1);
}

#[test]
fn links_into_an_unreadable_folder_are_not_reported_as_missing() {
    use std::os::unix::fs::PermissionsExt as _;
    let linking = "---\nname: good\ndescription: Does it well when asked.\n---\n[x](references/x.md)\n";
    let place = Place::with(&[("good/SKILL.md", linking), ("good/references/x.md", "")]);
    let references = place.path().join("good/references");
    std::fs::set_permissions(&references, std::fs::Permissions::from_mode(0o000)).unwrap();
    for above in [place.path(), &place.path().join("good")] {
        std::fs::set_permissions(above, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    // Permissions do not bind root, so the command runs as the user nobody.
    let mut command = std::process::Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"]);
    command.args([env!("CARGO_BIN_EXE_prowess"), "check", "good"]).current_dir(place.path());
    let output = command.output();
    std::fs::set_permissions(&references, std::fs::Permissions::from_mode(0o755)).unwrap();
    let output = match output {
        Ok(output) if !matches!(code(&output), 126 | 127) => output,
        other => return crate::skipped(&format!("setpriv cannot run here: {other:?}")),
    };
    if String::from_utf8_lossy(&output.stderr).contains("setpriv") {
        return crate::skipped("setpriv cannot run here");
    }
    let said = place.transcript(&output);
    assert!(!said.contains("link-missing"), "{said}");
    assert!(said.contains("references: permission denied"), "{said}");
    assert!(said.contains("make it readable for this user"), "{said}");
}

#[test]
fn a_word_after_help_that_is_no_command_has_similar_commands() {
    let place = Place::with(&[]);
    assert_snapshot!(run(&place, &["help", "lst"]), @"
    exit 2
    --- stderr
    error: unrecognized subcommand 'lst'

      tip: a similar subcommand exists: 'list'

    Usage: prowess [OPTIONS] <COMMAND>

    For more information, try '--help'.
    ");
    let said = run(&place, &["help", "config", "sett"]);
    assert!(said.contains("tip: a similar subcommand exists: 'set'"), "{said}");
    assert!(!run(&place, &["help", "xyzzy"]).contains("tip:"));
    let json = json_of(&place, &["help", "serch", "--json"]);
    assert_eq!(json["error"]["hint"], "some similar subcommands exist: 'search', 'serve'");
}

#[test]
fn a_folder_for_eval_that_does_not_exist_has_similar_names_or_is_known_as_a_skill() {
    let place = Place::with(&[("skills/good/SKILL.md", GOOD), ("home/.claude/skills/mine/SKILL.md", GOOD)]);
    assert_snapshot!(run(&place, &["eval", "skilsl"]), @"
    exit 2
    --- stderr
    error: there is no such file or folder: skilsl; did you mean skills?
      hint: check the spelling, and that a link is not broken
    ");
    assert_snapshot!(run(&place, &["eval", "mine"]), @"
    exit 2
    --- stderr
    error: there is no such file or folder: mine
      hint: this is the name of a skill; compare it with those beside it: prowess eval [DIR]/home/.claude/skills
    ");
    let said = run(&place, &["eval", "skills/goood"]);
    assert!(said.contains("did you mean skills/good?"), "{said}");
}

#[test]
fn a_file_that_a_skill_does_not_have_has_similar_paths() {
    let place = Place::with(&[("s/good/SKILL.md", GOOD), ("s/good/references/forms.md", "")]);
    assert_snapshot!(run(&place, &["cat", "good", "references/form.md", "--in", "s"]), @"
    exit 2
    --- stderr
    error: there is no such file in the skill: references/form.md; did you mean references/forms.md?
      hint: list its files with: prowess show good --in s
    ");
    assert_snapshot!(run(&place, &["cat", "good", "zzz", "--in", "s"]), @"
    exit 2
    --- stderr
    error: there is no such file in the skill: zzz
      hint: list its files with: prowess show good --in s
    ");
}

#[test]
fn serve_refuses_json_and_names_what_has_it() {
    let place = Place::with(&[("s/good/SKILL.md", GOOD)]);
    assert_snapshot!(run(&place, &["serve", "--json", "--in", "s"]), @r#"
    exit 2
    --- stdout
    {"version":1,"error":{"message":"serve has no JSON output: its standard output is for MCP","causes":[],"hint":"leave out --json; for a log in JSON, write: --log json","code":"failed","action":null}}
    --- stderr
    error: serve has no JSON output: its standard output is for MCP
      hint: leave out --json; for a log in JSON, write: --log json
    "#);
    assert_snapshot!(run(&place, &["serve", "--print-config", "codex", "--json"]), @r#"
    exit 2
    --- stdout
    {"version":1,"error":{"message":"a printed configuration has the format of its client, and no JSON output","causes":[],"hint":"leave out --json, or write: prowess connect codex --json","code":"failed","action":null}}
    --- stderr
    error: a printed configuration has the format of its client, and no JSON output
      hint: leave out --json, or write: prowess connect codex --json
    "#);
}
