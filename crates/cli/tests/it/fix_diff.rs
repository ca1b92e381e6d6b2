//! `prowess check --diff`: the fixes as a patch, which changes nothing by itself.

use std::process::Command;

use insta::assert_snapshot;

use crate::fix::{LOOSE, NAMED, TIDY, loose, text};
use crate::{Place, code};

#[test]
fn a_diff_shows_everything_and_changes_nothing() {
    let place = loose();
    assert_snapshot!(place.run(&["check", "--diff"]), @"
    exit 1
    --- stdout
    --- loose/SKILL.md
    +++ loose/SKILL.md
    @@ -1,6 +1,6 @@
     ---
     name: loose # ours
    -description: Use when: asked for it
    -allowed-tools: Read, Grep
    +description: 'Use when: asked for it'
    +allowed-tools: Read Grep
     ---
     Body
    --- stderr
    1 file would change: 2 fixes
    ");
    let all = place.run(&["check", "--diff", "--unsafe-fixes"]);
    assert!(
        all.contains("-name: Bad\n+name: bad\n") && all.contains("2 files would change: 4 fixes"),
        "{all}"
    );
    assert_eq!((text(&place, "loose/SKILL.md"), text(&place, "bad/SKILL.md")), (LOOSE.into(), NAMED.into()));
    assert_snapshot!(place.run(&["check", "--diff", "--fix", "bad"]), @"
    exit 0
    --- stderr
    no file would change
    ");
    assert_eq!(code(&place.output(&["check", "--diff", "nope"])), 2);
    for format in [&["--format", "json"][..], &["--json"]] {
        assert_eq!(code(&place.output(&[&["check", "--diff"], format].concat())), 2);
    }
}

#[test]
fn a_diff_can_be_applied_by_patch() {
    let crlf = LOOSE.replace('\n', "\r\n");
    let place = Place::with(&[("loose/SKILL.md", crlf.trim_end())]);
    let diff = place.output(&["check", "--diff"]).stdout;
    place.write("diff", &diff);
    let mut command = Command::new("patch");
    command.args(["--binary", "-p0", "-i", "diff"]).current_dir(place.path());
    match command.output() {
        Ok(output) => assert!(output.status.success(), "{output:?}"),
        Err(error) => return crate::skipped(&format!("patch cannot run here: {error}")),
    }
    assert_eq!(text(&place, "loose/SKILL.md"), TIDY.replace('\n', "\r\n").trim_end());
}

#[test]
fn a_diff_has_colours_only_where_they_are_asked_for() {
    let place = loose();
    let diff = |args: &[&str]| String::from_utf8(place.output(args).stdout).unwrap();
    let plain = diff(&["check", "--diff", "loose"]);
    assert!(!plain.contains('\u{1b}'), "{plain}");
    let coloured = diff(&["check", "--diff", "loose", "--color", "always"]);
    assert!(
        coloured.contains("\u{1b}[31m-description") && coloured.contains("\u{1b}[32m+description"),
        "{coloured}"
    );
    assert_eq!(anstream::adapter::strip_str(&coloured).to_string(), plain);
}
