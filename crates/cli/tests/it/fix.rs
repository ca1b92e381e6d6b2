//! `prowess check --fix`, `--unsafe-fixes`, and fixes in SARIF.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::process::Command;

use crate::{GOOD, Place, code};
use insta::assert_snapshot;
use serde_json::json;

/// A skill with two safe fixes.
pub(crate) const LOOSE: &str =
    "---\nname: loose # ours\ndescription: Use when: asked for it\nallowed-tools: Read, Grep\n---\nBody\n";
pub(crate) const TIDY: &str =
    "---\nname: loose # ours\ndescription: 'Use when: asked for it'\nallowed-tools: Read Grep\n---\nBody\n";
/// A skill with an unsafe fix.
pub(crate) const NAMED: &str = "---\nname: Bad\ndescription: Does it well when asked.\n---\n";

pub(crate) fn loose() -> Place {
    Place::with(&[("bad/SKILL.md", NAMED), ("loose/SKILL.md", LOOSE), ("good/SKILL.md", GOOD)])
}

pub(crate) fn text(place: &Place, path: &str) -> String {
    fs::read_to_string(place.path().join(path)).unwrap()
}

fn entries(place: &Place, path: &str) -> usize {
    fs::read_dir(place.path().join(path)).unwrap().count()
}

#[test]
fn human_output_shows_the_patch_of_a_fix() {
    assert_snapshot!(loose().run(&["check", "bad", "loose"]), @"
    exit 1
    --- stdout
    error[name-uppercase, name-folder-mismatch]: the name has upper-case letters: Bad
     --> bad/SKILL.md:2:7
      |
    2 | name: Bad
      |       ^^^
      |
      = error: the name is not the name of the folder: Bad in bad
      = help: give the folder and the skill the same name
    help: call it bad (unsafe; --unsafe-fixes applies it)
      |
    2 - name: Bad
    2 + name: bad

    error[yaml-syntax]: the frontmatter is not valid YAML: a colon and a space inside a value without quotes
     --> loose/SKILL.md:3:22
      |
    3 | description: Use when: asked for it
      |                      ^
      |
      = help: put the value of description in quotes
    help: write it as the lenient reader reads it
      |
    3 - description: Use when: asked for it
    3 + description: 'Use when: asked for it'

    warning[tools-commas]: the tools are separated by commas
     --> loose/SKILL.md:4:16
      |
    4 | allowed-tools: Read, Grep
      |                ^^^^^^^^^^
      |
      = help: write `Read Grep`

    2 skills checked: 3 errors, 1 warning in 2 files; 2 fixable with --fix, 2 more with --unsafe-fixes
    ");
}

#[test]
fn safe_fixes_are_applied_and_the_remaining_problems_decide_the_exit_code() {
    let place = loose();
    assert_snapshot!(place.run(&["check", "--fix", "loose", "good"]), @"
    exit 0
    --- stdout
    2 skills checked: no problems; 2 fixed
    ");
    assert_eq!(text(&place, "loose/SKILL.md"), TIDY);
    assert_eq!(entries(&place, "loose"), 1);
    let output = place.output(&["check", "--fix"]);
    assert_eq!(code(&output), 1);
    assert_eq!(
        (text(&place, "bad/SKILL.md"), text(&place, "good/SKILL.md")),
        (NAMED.to_owned(), GOOD.to_owned())
    );
    assert_snapshot!(place.run(&["check", "--unsafe-fixes"]), @"
    exit 0
    --- stdout
    3 skills checked: no problems; 2 fixed
    ");
    assert_eq!(text(&place, "bad/SKILL.md"), "---\nname: bad\ndescription: Does it well when asked.\n---\n");
}

#[test]
fn a_misspelt_field_is_named_and_its_spelling_is_a_safe_fix() {
    let place = Place::with(&[(
        "foo/SKILL.md",
        "---\nname: foo\ndescripton: Fills in forms. Use when a form has fields.\n---\nFill it.\n",
    )]);
    assert_snapshot!(place.run(&["check"]), @"
    exit 1
    --- stdout
    error[description-missing]: there is no description
     --> foo/SKILL.md:1:1
      |
    1 | ---
      | ^^^
      |
      = help: write `description` instead of `descripton`

    warning[field-misspelt]: the field is misspelt: descripton
     --> foo/SKILL.md:3:1
      |
    3 | descripton: Fills in forms. Use when a form has fields.
      | ^^^^^^^^^^
      |
      = help: did you mean `description`?
    help: write description
      |
    3 - descripton: Fills in forms. Use when a form has fields.
    3 + description: Fills in forms. Use when a form has fields.

    1 skill checked: 1 error, 1 warning in 1 file; 1 fixable with --fix
    ");
    assert_snapshot!(place.run(&["check", "--fix"]), @"
    exit 0
    --- stdout
    1 skill checked: no problems; 1 fixed
    ");
    let text = std::fs::read_to_string(place.path().join("foo/SKILL.md")).unwrap();
    assert!(text.contains("\ndescription: Fills in forms."), "{text}");
    // Which name or which tools are meant, only the author knows.
    place.write(
        "foo/SKILL.md",
        b"---\nnmae: bar\ndescription: Fills in forms when asked.\nallowed_tools: Bash\n---\nDo.\n",
    );
    let kept = place.run(&["check", "--diff"]);
    assert!(!kept.contains("\n-nmae") && !kept.contains("\n-allowed"), "{kept}");
}

#[test]
fn json_lists_what_was_fixed() {
    let report = loose().json(&["check", "--fix", "--json", "loose"]);
    assert_eq!(report["files"][0]["problems"], json!([]));
    assert_eq!(report["summary"]["fixed"], 2);
    assert_eq!(
        report["files"][0]["fixed"][1],
        json!({
            "code": "tools-commas", "message": "the tools are separated by commas",
            "title": "write one text, separated by spaces", "safe": true,
        })
    );
}

#[test]
fn the_fixed_text_of_standard_input_goes_to_stdout() {
    let place = loose();
    assert_snapshot!(place.run_with_input(&["check", "--fix", "-"], LOOSE.as_bytes()), @"
    exit 0
    --- stdout
    ---
    name: loose # ours
    description: 'Use when: asked for it'
    allowed-tools: Read Grep
    ---
    Body
    --- stderr
    1 skill checked: no problems; 2 fixed
    ");
    // Text that cannot be fixed is written unchanged, and the report says so.
    let odd = "---\nname: x\n---\n";
    let transcript = place.run_with_input(&["check", "--fix", "-", "--json"], odd.as_bytes());
    assert!(
        transcript.starts_with(&format!("exit 1\n--- stdout\n{odd}--- stderr\n{{\"version\":1")),
        "{transcript}"
    );
    place.write("prowess.toml", b"[[check.paths]]\nglob = \"vendor/**\"\nignore = true\n");
    let transcript = place.run_with_input(&["check", "--fix", "-", "--path", "vendor/x"], LOOSE.as_bytes());
    assert!(transcript.starts_with(&format!("exit 0\n--- stdout\n{LOOSE}--- stderr\n")), "{transcript}");
    let large = vec![b'x'; (1 << 20) + 1];
    let transcript = place.run_with_input(&["check", "--fix", "-"], &large);
    assert!(transcript.starts_with("exit 2\n--- stderr\nerror: the file is too large"), "{transcript}");
    let diff = place.run_with_input(&["check", "--diff", "-", "--path", "loose"], LOOSE.as_bytes());
    assert!(diff.starts_with("exit 1\n--- stdout\n--- loose/SKILL.md\n"), "{diff}");
}

#[test]
fn a_fix_keeps_mode_and_line_endings() {
    let place = Place::with(&[("loose/SKILL.md", &LOOSE.replace('\n', "\r\n"))]);
    let path = place.path().join("loose/SKILL.md");
    fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    assert_eq!(code(&place.output(&["check", "--fix"])), 0);
    assert_eq!(text(&place, "loose/SKILL.md"), TIDY.replace('\n', "\r\n"));
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o7777, 0o640);
}

#[test]
fn fixing_a_linked_file_changes_its_target_and_keeps_the_link() {
    let place = Place::with(&[("store/loose/SKILL.md", LOOSE)]);
    fs::create_dir(place.path().join("loose")).unwrap();
    symlink("../store/loose/SKILL.md", place.path().join("loose/SKILL.md")).unwrap();
    assert_eq!(code(&place.output(&["check", "--fix", "loose"])), 0);
    assert_eq!(text(&place, "store/loose/SKILL.md"), TIDY);
    assert!(fs::symlink_metadata(place.path().join("loose/SKILL.md")).unwrap().is_symlink());
    assert_eq!((entries(&place, "store/loose"), entries(&place, "loose")), (1, 1));
}

#[test]
fn a_read_only_file_is_named_and_the_others_are_fixed() {
    let place = loose();
    place.write("other/SKILL.md", LOOSE.replace("loose", "other").as_bytes());
    let path = place.path().join("loose/SKILL.md");
    fs::set_permissions(&path, Permissions::from_mode(0o444)).unwrap();
    let transcript = place.run(&["check", "--fix", "loose", "other"]);
    assert!(transcript.starts_with("exit 2\n") && transcript.contains("error[yaml-syntax]"), "{transcript}");
    assert!(
        transcript.ends_with(
            "; 2 fixed; 2 fixable with --fix; 1 could not be written\n--- stderr\n\
             error: the file is read-only, so it is left alone: loose/SKILL.md\n  \
             hint: make the file writable for this user, or leave it out\n"
        ),
        "{transcript}"
    );
    assert_eq!(text(&place, "loose/SKILL.md"), LOOSE);
    assert_eq!(text(&place, "other/SKILL.md"), TIDY.replace("loose", "other"));
    assert_eq!(entries(&place, "loose"), 1);
}

#[test]
fn a_folder_that_may_not_be_written_loses_nothing() {
    let place = loose();
    let folder = place.path().join("loose");
    fs::set_permissions(place.path(), Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(folder.join("SKILL.md"), Permissions::from_mode(0o666)).unwrap();
    fs::set_permissions(&folder, Permissions::from_mode(0o555)).unwrap();
    // Permissions do not bind root, so the command runs as user nobody.
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"]);
    command.args([env!("CARGO_BIN_EXE_prowess"), "check", "--fix", "loose"]).current_dir(place.path());
    let output = command.output();
    let mode = fs::metadata(&folder).unwrap().permissions().mode();
    // Restored before the test can fail: files in a read-only folder cannot be removed.
    fs::set_permissions(&folder, Permissions::from_mode(0o755)).unwrap();
    assert_eq!(mode & 0o777, 0o555);
    let output = match output {
        Ok(output) if code(&output) != 127 && code(&output) != 126 => output,
        other => return crate::skipped(&format!("setpriv cannot run here: {other:?}")),
    };
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("setpriv") {
        return crate::skipped(&format!("setpriv cannot run here: {said}"));
    }
    assert_eq!(code(&output), 2);
    assert!(said.contains("error: could not write: loose/SKILL.md\n  cause: permission denied\n"), "{said}");
    assert_eq!(text(&place, "loose/SKILL.md"), LOOSE);
    assert_eq!(entries(&place, "loose"), 1);
}

#[test]
fn files_that_cannot_be_written_completely_are_not_changed() {
    let mut bytes = LOOSE.as_bytes().to_vec();
    bytes.push(0xFF);
    let place = Place::with(&[]);
    place.write("loose/SKILL.md", &bytes);
    let large = format!("\u{feff}{GOOD}{}", "x\n".repeat(1 << 20));
    place.write("good/SKILL.md", large.as_bytes());
    let report = place.json(&["check", "--unsafe-fixes", "--json"]);
    assert_eq!((&report["summary"]["fixed"], &report["summary"]["fixable"]), (&json!(0), &json!(0)));
    assert_eq!(fs::read(place.path().join("loose/SKILL.md")).unwrap(), bytes);
    assert_eq!(text(&place, "good/SKILL.md"), large);
}

#[test]
fn sarif_has_rules_places_and_fixes() {
    let place = loose();
    let report = place.json(&["check", "--format", "sarif", ".", "nope"]);
    let run = &report["runs"][0];
    assert_eq!(
        (report["version"].as_str(), run["columnKind"].as_str()),
        (Some("2.1.0"), Some("unicodeCodePoints"))
    );
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    assert_eq!(rules.len(), prowess::check::rules().count());
    assert!(rules.iter().all(|rule| rule["help"]["text"].is_string()));
    let results = run["results"].as_array().unwrap();
    for result in results {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[index]["id"], result["ruleId"]);
    }
    let result = results.iter().find(|result| result["ruleId"] == "yaml-syntax").unwrap();
    assert_snapshot!(result["locations"][0].to_string(), @r#"{"physicalLocation":{"artifactLocation":{"uri":"loose/SKILL.md"},"region":{"startLine":3,"startColumn":22,"endLine":3,"endColumn":23,"byteOffset":44,"byteLength":1}}}"#);
    assert_snapshot!(result["fixes"].to_string(), @r#"[{"description":{"text":"write it as the lenient reader reads it"},"artifactChanges":[{"artifactLocation":{"uri":"loose/SKILL.md"},"replacements":[{"deletedRegion":{"startLine":3,"startColumn":14,"endLine":3,"endColumn":36,"byteOffset":36,"byteLength":22},"insertedContent":{"text":"'Use when: asked for it'"}}]}],"properties":{"safe":true}}]"#);
    let name = results.iter().find(|result| result["ruleId"] == "name-uppercase").unwrap();
    assert_eq!(
        (name["level"].as_str(), &name["fixes"][0]["properties"]["safe"]),
        (Some("error"), &json!(false))
    );
    assert_eq!(run["invocations"][0]["executionSuccessful"], false);
    assert_eq!(
        run["invocations"][0]["toolExecutionNotifications"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
            ["uri"],
        "nope"
    );
}

#[test]
fn a_report_leaves_out_the_edits_of_a_fix_that_has_very_many() {
    let body = |times: usize| {
        format!(
            "---\nname: many\ndescription: Has many characters when asked.\n---\n{}\n",
            "x\u{200b}".repeat(times)
        )
    };
    for (times, left_out) in [(1_000, None), (1_001, Some(1_001))] {
        let place = Place::with(&[("many/SKILL.md", &body(times))]);
        let report = place.json(&["check", "many", "--json"]);
        let fix = &report["files"][0]["problems"][0]["fix"];
        assert_eq!(fix["edits_left_out"].as_u64(), left_out, "{fix}");
        assert_eq!(fix["edits"].as_array().unwrap().len(), if left_out.is_none() { times } else { 0 });
        let sarif = place.json(&["check", "many", "--format", "sarif"]);
        assert_eq!(sarif["runs"][0]["results"][0]["fixes"].is_array(), left_out.is_none());
        place.output(&["check", "many", "--fix", "--unsafe-fixes"]);
        assert!(!text(&place, "many/SKILL.md").contains('\u{200b}'), "all of them are applied");
    }
}

#[test]
fn what_is_promised_to_be_fixed_is_fixed_and_no_new_error_comes() {
    let named = |name: &str| format!("---\nname: {name}\ndescription: Does it well when asked.\n---\n");
    let place = Place::with(&[
        ("ok_one/SKILL.md", &named("ok_one")),
        ("Big-Name/SKILL.md", &named("Big Name")),
        ("plain/SKILL.md", &named("Plain")),
    ]);
    let codes = |report: &serde_json::Value| -> std::collections::BTreeSet<String> {
        let files = report["files"].as_array().unwrap();
        let problems = files.iter().flat_map(|file| file["problems"].as_array().unwrap());
        problems.map(|problem| problem["code"].as_str().unwrap().to_owned()).collect()
    };
    let before = place.json(&["check", "--json"]);
    let promised = before["summary"]["fixable"].as_u64().unwrap()
        + before["summary"]["unsafe_fixable"].as_u64().unwrap();
    let after = place.json(&["check", "--unsafe-fixes", "--json"]);
    assert_eq!(after["summary"]["fixed"].as_u64(), Some(promised), "{before:#}");
    assert!(codes(&after).is_subset(&codes(&before)), "{after:#}");
    assert_eq!(text(&place, "ok_one/SKILL.md"), named("ok_one"));
}

#[test]
fn problems_of_one_field_share_a_block() {
    let place = Place::with(&[(
        "Big-Name/SKILL.md",
        "---\nname: Big Name\ndescription: Does it well when asked.\n---\n",
    )]);
    let said = place.run(&["check"]);
    assert_eq!(said.matches("help: call it big-name").count(), 1, "{said}");
    assert!(said.contains("error[name-uppercase, name-folder-mismatch, name-invalid-character]"), "{said}");
}
