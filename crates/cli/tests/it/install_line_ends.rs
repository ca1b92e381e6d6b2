//! Installed skills whose line ends git changed: a warning, never an edit.

use std::fs;

use crate::Place;
use crate::install::{place, read, skill};
use crate::shelf::{json_of, run};

const BINARY: &[u8] = b"a\r\n\0";

/// A skill with a copy for a client, both as git checks them out with `core.autocrlf`.
fn converted() -> Place {
    let place = place();
    place.write("from/pdf/data.bin", BINARY);
    run(&place, &["add", "./from/pdf", "--yes", "--client", "claude-code", "--link", "copy"]);
    for folder in [".agents", ".claude"] {
        for file in ["SKILL.md", "scripts/run.sh"] {
            convert(&place, &format!("{folder}/skills/pdf/{file}"));
        }
    }
    place
}

fn convert(place: &Place, file: &str) {
    fs::write(place.path().join(file), read(place, file).replace('\n', "\r\n")).unwrap();
}

#[test]
fn other_line_ends_are_a_warning_of_verify_with_or_without_the_store() {
    let place = converted();
    for store in ["with the store", "without"] {
        let said = run(&place, &["verify"]);
        assert!(said.starts_with("exit 0") && said.contains("1 skill as installed\n"), "{store}: {said}");
        for line in [
            "pdf\n  line ends  SKILL.md\n  line ends  scripts/run.sh\n",
            "  copy with other line ends for claude-code: ",
            "1 of 1 skill with other line ends, perhaps written by git (core.autocrlf); not trusted, so not used until \
             restored with: prowess sync\n",
        ] {
            assert!(said.contains(line), "{store}: {said}");
        }
        let json = json_of(&place, &["verify", "--json"]);
        crate::schemas::assert_fits("verify", &json);
        let skill = &json["skills"][0];
        assert_eq!(
            (&skill["state"], &skill["clients"][0]["state"]),
            (&"line-ends".into(), &"line-ends".into())
        );
        assert_eq!(skill["changes"][1]["change"], "line-ends", "{json}");
        assert_eq!(skill["trusted"], false, "{json}");
        assert_eq!(json["summary"], serde_json::json!({"skills": 1, "wrong": 0, "line_ends": 1}));
        let said = run(&place, &["list", "--installed"]);
        assert!(said.contains("pdf  other line ends  "), "{store}: {said}");
        crate::schemas::assert_fits("installed", &json_of(&place, &["list", "--installed", "--json"]));
        let _ = fs::remove_dir_all(place.path().join("cache"));
    }
}

#[test]
fn list_and_why_call_other_line_ends_no_edit() {
    let place = converted();
    let said = run(&place, &["list"]);
    assert!(said.contains("prowess sync or prowess trust pdf"), "{said}");
    let said = run(&place, &["why", "pdf"]);
    assert!(said.contains("other line ends") && said.contains("restore them with: prowess sync\n"), "{said}");
    assert!(!said.contains("edited"), "{said}");
}

#[test]
fn other_line_ends_beside_an_edit_are_an_edit() {
    let changes: [(&str, &[u8]); 4] = [
        ("SKILL.md", b"---\nname: pdf\n---\nedited\r\n"),
        ("data.bin", b"a\n\0"),
        ("new.md", b"new\r\n"),
        ("scripts/run.sh", b"#!/bin/sh\r\necho run\r\n\r\n"),
    ];
    for (file, bytes) in changes {
        let place = converted();
        place.write(&format!(".agents/skills/pdf/{file}"), bytes);
        let said = run(&place, &["verify"]);
        assert!(said.starts_with("exit 1") && said.contains(file), "{file}: {said}");
        assert!(run(&place, &["remove", "pdf"]).starts_with("exit 2"), "{file}");
    }
}

#[test]
fn a_skill_with_other_line_ends_is_restored_by_sync_and_removed_without_a_question() {
    let place = converted();
    let said = run(&place, &["sync", "--yes"]);
    assert!(said.starts_with("exit 0") && said.contains("~ pdf"), "{said}");
    for folder in [".agents", ".claude"] {
        let file = read(&place, &format!("{folder}/skills/pdf/SKILL.md"));
        assert_eq!(file, skill("pdf", "one"), "{folder}");
    }
    assert!(run(&place, &["verify"]).ends_with("1 skill as installed\n"));
    let place = converted();
    let said = run(&place, &["remove", "pdf"]);
    assert!(said.starts_with("exit 0"), "{said}");
    for folder in [".agents", ".claude"] {
        assert!(!place.path().join(folder).join("skills/pdf").exists(), "{said}");
    }
}

#[test]
fn line_ends_in_a_trusted_project_do_not_keep_a_skill_from_being_used() {
    let place = converted();
    run(&place, &["trust", "--yes"]);
    let said = run(&place, &["verify"]);
    assert!(said.contains("(core.autocrlf); restore with: prowess sync\n"), "{said}");
    assert_eq!(json_of(&place, &["verify", "--json"])["skills"][0]["trusted"], true);
}

#[test]
fn sync_keep_does_not_rewrite_files_with_other_line_ends() {
    let place = converted();
    let said = run(&place, &["sync", "--keep", "--yes"]);
    assert!(said.starts_with("exit 0") && said.contains("= pdf (not as installed, kept)"), "{said}");
    assert!(said.contains("left alone, so claude-code does not get the installed files"), "{said}");
    for folder in [".agents", ".claude"] {
        assert!(read(&place, &format!("{folder}/skills/pdf/SKILL.md")).contains("\r\n"), "{folder}");
    }
    assert!(run(&place, &["activate", "pdf"]).starts_with("exit 2"));
    // A newer version is no local edit that would be lost.
    place.write("from/pdf/SKILL.md", skill("pdf", "two").as_bytes());
    let said = run(&place, &["add", "./from/pdf", "--keep", "--yes"]);
    assert!(said.contains("~ pdf"), "{said}");
    for folder in [".agents", ".claude"] {
        assert_eq!(read(&place, &format!("{folder}/skills/pdf/SKILL.md")), skill("pdf", "two"), "{folder}");
    }
}

#[test]
fn a_file_that_has_crlf_in_the_source_is_no_edit_beside_other_line_ends() {
    let place = place();
    place.write("from/pdf/data.csv", b"a,b\r\n1,2\r\n");
    run(&place, &["add", "./from/pdf", "--yes"]);
    convert(&place, ".agents/skills/pdf/SKILL.md");
    let said = run(&place, &["verify"]);
    assert!(said.starts_with("exit 0") && said.contains("pdf\n  line ends  SKILL.md\n1 skill"), "{said}");
    let said = run(&place, &["sync", "--yes"]);
    assert!(
        said.starts_with("exit 0") && run(&place, &["verify"]).ends_with("1 skill as installed\n"),
        "{said}"
    );
}

#[test]
fn verify_counts_the_skills_with_other_line_ends_that_are_not_trusted() {
    let place = place();
    run(&place, &["add", "./from", "--all", "--yes"]);
    for name in ["pdf", "notes"] {
        convert(&place, &format!(".agents/skills/{name}/SKILL.md"));
    }
    run(&place, &["trust", "pdf", "--yes"]);
    let said = run(&place, &["verify"]);
    assert!(said.contains("2 of 2 skills with other line ends"), "{said}");
    assert!(
        said.contains("; 1 of them not trusted, so not used until restored with: prowess sync\n"),
        "{said}"
    );
}

#[test]
fn keeping_other_line_ends_asks_for_no_consent() {
    let place = converted();
    let _ = fs::remove_dir_all(place.path().join("state"));
    let said = run(&place, &["sync", "--keep"]);
    assert!(said.starts_with("exit 0") && said.contains("= pdf (not as installed, kept)"), "{said}");
    assert!(!said.contains("asks for tools"), "{said}");
}
