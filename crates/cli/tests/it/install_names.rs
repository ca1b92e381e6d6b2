//! The names of installed skills: two of one name side by side, and the trust in them.

use std::fs;

use crate::install::{place, read, skill};
use crate::shelf::{command, json_of, run};

#[test]
fn a_skill_installed_under_another_name_is_listed_under_it_beside_its_namesake() {
    let place = place();
    place.write("other/pdf/SKILL.md", skill("pdf", "other").as_bytes());
    run(&place, &["add", "./from/pdf", "--yes", "--client", "claude-code"]);
    let said = run(&place, &["add", "./other/pdf", "--as", "pdf-2", "--yes"]);
    assert!(said.contains("agents see the name  pdf"), "{said}");
    assert!(read(&place, "skills.lock").contains("upstream-name = \"pdf\""));
    for args in [&["list", "--json"][..], &["list", "--json", "--client", "claude-code"]] {
        let listed = json_of(&place, args);
        let keys: Vec<&str> =
            listed["skills"].as_array().unwrap().iter().filter_map(|skill| skill["key"].as_str()).collect();
        assert!(keys.contains(&"pdf") && keys.contains(&"pdf-2"), "{listed}");
    }
    let prompt = run(&place, &["prompt"]);
    assert!(prompt.contains("pdf-2"), "{prompt}");
    let said = run(&place, &["activate", "pdf-2"]);
    assert!(said.starts_with("exit 0") && said.contains("other"), "{said}");
    let said = run(&place, &["activate", "pdf"]);
    assert!(said.starts_with("exit 0") && said.contains("one"), "{said}");
    let listed = run(&place, &["list", "--installed"]);
    assert!(listed.contains("from other/pdf, called pdf by its author"), "{listed}");
    let why = run(&place, &["why", "pdf-2"]);
    assert!(why.starts_with("exit 0") && why.contains("pdf-2"), "{why}");
}

#[test]
fn a_skill_of_the_user_that_changed_after_it_was_accepted_is_withheld() {
    let place = place();
    place.write("home/.agents/skills/own/SKILL.md", skill("own", "mine").as_bytes());
    run(&place, &["add", "./from/pdf", "--yes", "--user"]);
    assert!(!run(&place, &["list"]).contains("trusted"));
    place.write("home/.agents/skills/pdf/SKILL.md", skill("pdf", "evil").as_bytes());
    let said = run(&place, &["list"]);
    assert!(said.contains("pdf  changed since it was trusted"), "{said}");
    let said = run(&place, &["activate", "pdf"]);
    assert!(said.starts_with("exit 2") && said.contains("prowess trust pdf"), "{said}");
    assert!(!said.contains("evil"), "{said}");
    // What was never installed needs no approval.
    assert!(run(&place, &["activate", "own"]).starts_with("exit 0"));
    assert!(run(&place, &["trust", "pdf", "--yes"]).starts_with("exit 0"));
    assert!(run(&place, &["activate", "pdf"]).contains("evil"));
    place.write("home/.agents/skills/pdf/SKILL.md", skill("pdf", "more").as_bytes());
    run(&place, &["sync", "--user", "--overwrite", "--yes"]);
    assert!(run(&place, &["activate", "pdf"]).contains("one"));
}

#[test]
fn a_home_that_is_no_folder_is_one_error_that_names_it() {
    let place = place();
    for args in [&["list"][..], &["add", "./from/pdf", "--yes"], &["list", "--installed"]] {
        let output = command(&place).env("HOME", "/dev/null").args(args).output().unwrap();
        let said = place.transcript(&output);
        assert!(said.starts_with("exit 2"), "{said}");
        assert_eq!(said.matches("error: ").count(), 1, "{said}");
        assert!(said.contains("this variable is not a folder: HOME=/dev/null"), "{said}");
    }
}

#[test]
fn revoking_by_name_means_the_skill_of_this_project() {
    let place = place();
    fs::create_dir_all(place.path().join("other/.git")).unwrap();
    run(&place, &["add", "./from/pdf", "--yes"]);
    run(&place, &["add", "./from/pdf", "--yes", "--project", "other", "--client", "claude-code"]);
    let from = |folder: &str| {
        let output = command(&place)
            .args(["trust", "--revoke", "pdf"])
            .current_dir(place.path().join(folder))
            .output();
        place.transcript(&output.unwrap())
    };
    let said = from("other");
    assert!(said.starts_with("exit 0"), "{said}");
    let left = run(&place, &["trust", "--list"]);
    // With the link of a client.
    assert!(left.contains("[DIR]/.agents/skills/pdf") && !left.contains("[DIR]/other/"), "{left}");
    run(&place, &["add", "./from/notes", "--yes", "--user"]);
    let said = run(&place, &["trust", "--revoke", "notes"]);
    assert!(said.starts_with("exit 2") && said.contains("prowess remove --user notes"), "{said}");
}

#[test]
fn approvals_that_cannot_be_written_say_so() {
    let place = place();
    place.write("file", b"");
    let output = command(&place)
        .env("XDG_STATE_HOME", place.path().join("file"))
        .args(["trust", ".", "--yes"])
        .output()
        .unwrap();
    let said = place.transcript(&output);
    assert!(
        said.starts_with("exit 2") && said.contains("could not write: [DIR]/file/prowess/trust.json"),
        "{said}"
    );
}

#[test]
fn a_version_with_control_characters_leaves_the_lock_readable() {
    let place = place();
    let text =
        "---\nname: pdf\nversion: \"1\\e\"\nmetadata: {version: \"2\\e\"}\ndescription: Reads.\n---\nDo.\n";
    place.write("from/pdf/SKILL.md", text.as_bytes());
    let said = run(&place, &["add", "./from/pdf", "--yes"]);
    assert!(said.starts_with("exit 0") && !said.contains('\u{1b}'), "{said}");
    assert!(run(&place, &["verify"]).starts_with("exit 0"));
}

#[test]
fn a_check_takes_an_installed_skill_for_what_its_author_called_it() {
    let place = place();
    let added = place
        .transcript(&command(&place).args(["add", "./from/pdf", "--as", "paper", "--yes"]).output().unwrap());
    assert!(added.starts_with("exit 0"), "{added}");
    let checked = place.transcript(&command(&place).args(["check", ".agents/skills"]).output().unwrap());
    assert!(checked.starts_with("exit 0"), "{checked}");
}

#[test]
fn fetching_or_locking_alone_is_not_called_installing() {
    let place = place();
    place.write("skills.toml", b"[skills]\npdf = { path = \"./from/pdf\" }\n");
    for (option, said) in [("--fetch-only", "fetched"), ("--lock-only", "locked")] {
        let output = command(&place).args(["sync", option, "--yes"]).output().unwrap();
        let text = place.transcript(&output);
        assert!(text.contains(&format!("pdf ({said}, not installed)")), "{text}");
        assert!(!text.contains("+ pdf") && !text.contains("installed 1 skill"), "{text}");
        assert!(!place.path().join(".agents/skills/pdf").exists());
    }
}

#[test]
fn a_lock_without_skills_toml_stops_every_change() {
    let place = place();
    let run = |args: &[&str]| place.transcript(&command(&place).args(args).output().unwrap());
    assert!(run(&["add", "./from/pdf", "--yes"]).starts_with("exit 0"));
    fs::remove_file(place.path().join("skills.toml")).unwrap();
    for args in [&["add", "./from/pdf", "--as", "other", "--yes"][..], &["remove", "pdf"], &["sync", "--yes"]]
    {
        let said = run(args);
        assert!(said.starts_with("exit 2") && said.contains("no skills.toml"), "{said}");
    }
    assert!(place.path().join(".agents/skills/pdf/SKILL.md").exists());
}

#[test]
fn a_false_name_in_the_lock_is_found_by_verify() {
    let place = place();
    run(&place, &["add", "./from", "--all", "--yes"]);
    run(&place, &["add", "./from/pdf", "--as", "other", "--yes"]);
    assert!(run(&place, &["verify"]).ends_with("3 skills as installed\n"));
    let lock = read(&place, "skills.lock");
    for (lock, said) in [
        (
            format!("{lock}upstream-name = \"beta\"\n"),
            "pdf\n  name  beta in skills.lock, pdf in its SKILL.md\n",
        ),
        (
            lock.replace("upstream-name = \"pdf\"\n", ""),
            "other\n  name  other in skills.lock, pdf in its SKILL.md\n",
        ),
    ] {
        place.write("skills.lock", lock.as_bytes());
        let found = run(&place, &["verify"]);
        assert!(found.starts_with("exit 1") && found.contains(said), "{found}");
        assert!(
            found.contains("1 of 3 skills with a false name in skills.lock; correct it with: prowess sync\n"),
            "{found}"
        );
        let dated = lock.clone();
        for option in ["--locked", "--frozen"] {
            let said = run(&place, &["sync", option, "--yes"]);
            let name = " in its SKILL.md is pdf\n";
            assert!(said.starts_with("exit 1") && said.contains(name), "{said}");
            assert_eq!(read(&place, "skills.lock"), dated);
        }
        let listed = run(&place, &["list", "--installed"]);
        assert!(listed.contains("  false name in skills.lock; see: prowess verify  "), "{listed}");
        assert!(listed.contains("called pdf by its author") && !listed.contains("called beta"), "{listed}");
        let json = json_of(&place, &["verify", "--json"]);
        crate::schemas::assert_fits("verify", &json);
        assert_eq!(json["summary"]["wrong"], 1, "{json}");
    }
    // As the message says.
    run(&place, &["sync"]);
    assert_eq!(read(&place, "skills.lock"), lock);
    assert!(run(&place, &["verify"]).ends_with("3 skills as installed\n"));
    assert!(run(&place, &["sync", "--locked"]).starts_with("exit 0"));
}

#[test]
fn a_name_of_a_folder_that_agents_do_not_look_into_is_refused() {
    let place = place();
    let said = run(&place, &["add", "./from/pdf", "--as", "node_modules", "--yes"]);
    assert!(said.starts_with("exit 2") && said.contains("agents do not look into such a folder"), "{said}");
}

#[test]
fn a_folder_without_its_dot_is_not_looked_up_on_github() {
    let place = place();
    let said = run(&place, &["add", "from/pdf", "--yes"]);
    assert!(said.starts_with("exit 2"), "{said}");
    assert!(
        said.contains("install it with: prowess add ./from/pdf; for the repository write https://github.com/from/pdf.git"),
        "{said}"
    );
    let said = run(&place, &["add", "from", "--yes"]);
    assert!(said.starts_with("exit 2") && said.contains("install it with: prowess add ./from\n"), "{said}");
}

#[test]
fn a_skill_without_a_name_in_its_file_has_no_false_one_in_the_lock() {
    let place = place();
    place.write("from/plain/SKILL.md", b"---\ndescription: Does it.\n---\nDo.\n");
    run(&place, &["add", "./from/plain", "--as", "other", "--yes"]);
    assert!(read(&place, "skills.lock").contains("upstream-name = \"plain\""));
    assert!(run(&place, &["verify"]).ends_with("1 skill as installed\n"));
}
