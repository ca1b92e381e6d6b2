//! `prowess check`: which rules count, and how severe each is.

use insta::assert_snapshot;

use crate::check::two;
use crate::{BAD, Place, code};

#[test]
fn levels_change_severities_and_the_exit_code() {
    let place = two();
    let run = |args: &[&str]| {
        let mut all = vec!["check", "--json", ".claude/skills/bad"];
        all.extend(args);
        let output = place.output(&all);
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let found: Vec<String> = report["files"][0]["problems"]
            .as_array()
            .unwrap()
            .iter()
            .map(|p| format!("{} {}", p["severity"].as_str().unwrap(), p["code"].as_str().unwrap()))
            .collect();
        (code(&output), found)
    };
    let (ended, found) = run(&["--allow", "name-uppercase,name-folder-mismatch", "--warn", "field-unknown"]);
    assert_eq!((ended, found), (0, vec!["warning field-unknown".into(), "warning link-missing".into()]));
    let (ended, found) = run(&["--profile", "lenient", "--deny", "link-missing"]);
    assert_eq!(ended, 1);
    assert!(found.contains(&"error link-missing".to_owned()), "{found:?}");
}

#[test]
fn rules_can_be_selected_and_ignored() {
    let place = Place::with(&[("bad/SKILL.md", BAD)]);
    let codes = |args: &[&str]| -> Vec<String> {
        let args = [&["check", "--json"], args].concat();
        let checked = place.json(&args);
        let problems = checked["files"][0]["problems"].as_array().unwrap();
        problems.iter().map(|problem| problem["code"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(codes(&["--select", "name-uppercase"]), ["name-uppercase"]);
    assert!(!codes(&["--ignore", "name-uppercase"]).contains(&"name-uppercase".to_owned()));
    let fixed = place.run(&["check", "--unsafe-fixes", "--select", "link-missing"]);
    assert!(!fixed.contains("fixed"), "{fixed}");
    assert_snapshot!(place.run(&["check", "--ignore", "description-missing"]), @"
    exit 2
    --- stderr
    error: --ignore: this rule is always an error, because the skill cannot be loaded: description-missing
      hint: leave the path out of the check instead
    ");
}

#[test]
fn every_warning_is_an_error_when_warnings_are_denied() {
    let place = Place::with(&[(
        "good/SKILL.md",
        "---\nname: good\ndescription: Does it well when asked.\n---\n[more](more.md)\n",
    )]);
    assert_eq!(code(&place.output(&["check"])), 0);
    let denied = place.json(&["check", "--deny", "warnings", "--json"]);
    assert_eq!((&denied["summary"]["errors"], &denied["summary"]["warnings"]), (&1.into(), &0.into()));
    assert_eq!(code(&place.output(&["check", "--deny", "warnings"])), 1);
}
