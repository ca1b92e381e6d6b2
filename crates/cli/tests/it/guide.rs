//! The transcripts of the guide, run in one folder from top to bottom.

use std::process::Command;

use crate::Place;

#[test]
fn every_transcript_of_the_guide_is_what_the_commands_write() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/write/first-skill.md");
    let page = std::fs::read_to_string(page).unwrap();
    let place = Place::with(&[]);
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_prowess")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    let mut commands = 0;
    for block in page.split("```console\n").skip(1).map(|block| block.split("```").next().unwrap()) {
        for transcript in block.split("$ ").skip(1) {
            let (line, expected) = transcript.split_once('\n').unwrap();
            let output = Command::new("sh")
                .args(["-c", &format!("{line} 2>&1")])
                .current_dir(place.path())
                .env_clear()
                .env("PATH", &path)
                .env("HOME", place.path().join("home"))
                .output()
                .unwrap();
            let found = String::from_utf8(output.stdout).unwrap();
            let found = found.replace(&*place.path().to_string_lossy(), "[HERE]");
            assert_eq!(found, expected, "$ {line}");
            commands += 1;
        }
    }
    assert!(commands >= 10, "{commands}");
}
