//! `prowess.toml` as `check` uses it.

use crate::{BAD, GOOD, Place};
use insta::assert_snapshot;
use serde_json::json;

const CONFIG: &str = "[check]
profile = \"spec\"
[check.levels]
name-folder-mismatch = \"off\"
[[check.paths]]
glob = \"vendor/**\"
ignore = true
[[check.paths]]
glob = \"drafts/*\"
levels = { name-uppercase = \"warning\" }
";

#[test]
fn a_configuration_sets_ignored_paths_and_levels() {
    let place = Place::with(&[
        ("prowess.toml", CONFIG),
        ("vendor/x/SKILL.md", BAD),
        ("drafts/bad/SKILL.md", BAD),
        ("good/SKILL.md", GOOD),
    ]);
    let report = place.json(&["check", "--json"]);
    assert_eq!(
        report["summary"],
        json!({
            "files": 2, "errors": 0, "warnings": 2, "infos": 1, "ignored": 1, "fixed": 0, "fixable": 0,
            "unsafe_fixable": 1,
        })
    );
    assert_snapshot!(place.run(&["check", "vendor"]), @"
    exit 0
    --- stdout
    0 skills checked; 1 ignored
    ");
    let text = place.run_with_input(&["check", "-", "--path", "vendor/new/SKILL.md"], BAD.as_bytes());
    assert_snapshot!(text, @"
    exit 0
    --- stdout
    0 skills checked; 1 ignored
    ");
    // The command line has precedence over the file.
    let report = place.json(&["check", "--json", "--deny", "name-uppercase", "drafts"]);
    assert_eq!(report["summary"]["errors"], 1);
    let report = place.json(&["check", "--json", "--profile", "anthropic", "drafts"]);
    assert_eq!(report["summary"]["errors"], 1, "the unknown field");
}

#[test]
fn an_invalid_configuration_is_named_and_its_skills_are_not_checked() {
    let place = Place::with(&[
        ("a/prowess.toml", "[check.levels]\nname-to-long = \"off\"\n"),
        ("a/one/SKILL.md", BAD),
        ("a/two/SKILL.md", BAD),
        ("good/SKILL.md", GOOD),
    ]);
    assert_snapshot!(place.run(&["check"]), @"
    exit 2
    --- stdout
    1 skill checked: no problems; 2 could not be checked
    --- stderr
    error: the configuration is not understood: [DIR]/a/prowess.toml:2: check.levels.name-to-long: no such rule: name-to-long; did you mean name-too-long?
      hint: list the rules with: prowess rule
    ");
    place.write("a/prowess.toml", b"[check]\nstrict = true\n");
    assert_snapshot!(place.run(&["check", "a"]), @"
    exit 2
    --- stdout
    0 skills checked; 2 could not be checked
    --- stderr
    error: the configuration is not understood: [DIR]/a/prowess.toml:2: no such key: check.strict
      hint: the keys here are: profile, levels, paths
    ");
}

#[test]
fn every_skill_below_a_broken_configuration_is_counted() {
    let place = Place::with(&[
        ("prowess.toml", "mood = 1\n"),
        ("a/SKILL.md", GOOD),
        ("b/SKILL.md", GOOD),
        ("c/SKILL.md", GOOD),
    ]);
    let shown = place.run(&["check"]);
    assert!(shown.contains("0 skills checked; 3 could not be checked"), "{shown}");
    assert_eq!(shown.matches("error:").count(), 1, "{shown}");
}

#[test]
fn a_configuration_that_is_not_utf8_is_named_with_its_line() {
    let place = Place::with(&[("good/SKILL.md", GOOD)]);
    place.write("prowess.toml", b"# one\n# caf\xe9\n[check]\nprofile = 'spec'\n");
    let said = place.run(&["check", "good"]);
    assert!(
        said.contains("prowess.toml:2: this line is not UTF-8\n  hint: save the file as UTF-8\n"),
        "{said}"
    );
}
