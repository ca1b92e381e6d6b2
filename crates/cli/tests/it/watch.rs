//! `prowess watch`: each change is a line.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::{GOOD, Place, Started};

#[test]
fn each_change_is_a_line() {
    let place = Place::with(&[("skills/good/SKILL.md", GOOD)]);
    let mut command = place.command();
    command.args(["watch", "--in", "skills", "--json"]).stdout(Stdio::piped());
    let mut child = Started::spawn(&mut command);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut line = || -> Value { serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap() };
    let expected = |skills, key: &str, names: &[&str]| {
        let mut line = json!({"version": 1, "skills": skills, "added": [], "changed": [], "removed": [], "newly_broken": []});
        if !key.is_empty() {
            line[key] = json!(names);
        }
        line
    };
    crate::schemas::assert_fits("watch", &expected(1, "added", &["more"]));
    assert_eq!(line(), expected(1, "", &[]));
    // Created elsewhere and moved in, so that it is never seen incomplete.
    place.write("made/SKILL.md", b"---\nname: more\ndescription: Does more.\n---\n");
    std::fs::rename(place.path().join("made"), place.path().join("skills/more")).unwrap();
    assert_eq!(line(), expected(2, "added", &["more"]));
    std::fs::rename(place.path().join("skills/more"), place.path().join("gone")).unwrap();
    assert_eq!(line(), expected(1, "removed", &["more"]));
}

#[test]
fn watch_once_ends_after_the_first_change() {
    let place = Place::with(&[("skills/good/SKILL.md", GOOD)]);
    let mut command = place.command();
    command.args(["watch", "--in", "skills", "--once"]).stdout(Stdio::piped());
    let mut child = Started::spawn(&mut command);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert_eq!(lines.next().unwrap(), "watching 1 skill");
    place.write("broken.md", b"broken\n");
    std::fs::rename(place.path().join("broken.md"), place.path().join("skills/good/SKILL.md")).unwrap();
    assert_eq!(lines.collect::<Vec<_>>(), ["removed  good", "broken  good"]);
    assert!(child.wait().unwrap().success());
}
