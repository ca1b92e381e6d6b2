//! What commands that install suggest: names that exist, folders that are there, commands that help.

use std::fs;

use crate::Place;
use crate::install::{place, skill};
use crate::install_git::commit;
use crate::shelf::{json_of, run};

/// Makes the folder of skills a repository of an organisation.
fn acme(place: &Place) {
    let url = format!("file://{}/{{name}}", place.path().display());
    run(place, &["config", "set", "install.registries.acme", &url]);
    commit(place, "from");
}

#[test]
fn several_skills_of_one_reference_name_a_folder_only_if_it_is_there() {
    let place = place();
    acme(&place);
    run(&place, &["add", "@acme/from", "--all", "--yes"]);
    let hint = "name one of them, such as notes; as a source, its folder [DIR]/.agents/skills/notes\n";
    let said = run(&place, &["list", "--in", "@acme/from"]);
    assert!(said.contains(hint), "{said}");
    fs::remove_dir_all(place.path().join(".agents/skills/notes")).unwrap();
    let said = run(&place, &["list", "--in", "@acme/from"]);
    assert!(said.contains("such as pdf; as a source, its folder [DIR]/.agents/skills/pdf\n"), "{said}");
    fs::remove_dir_all(place.path().join(".agents")).unwrap();
    let said = run(&place, &["list", "--in", "@acme/from"]);
    let hint = "such as notes; no folder of them is there: install it with: prowess sync\n";
    assert!(said.contains(hint), "{said}");
}

#[test]
fn a_name_in_another_case_is_suggested() {
    let place = place();
    let said = run(&place, &["add", "./from", "--skill", "PDF", "--yes"]);
    assert!(said.contains("hint: did you mean pdf?"), "{said}");
    run(&place, &["add", "./from", "--all", "--yes"]);
    for args in [["remove", "PDF"], ["verify", "Pdf"]] {
        let said = run(&place, &args);
        assert!(said.starts_with("exit 2") && said.contains("hint: did you mean pdf?"), "{args:?}: {said}");
    }
    let said = run(&place, &["add", "./from/pdf", "--client", "nope", "--yes"]);
    assert!(said.starts_with("exit 2") && !said.contains("did you mean"), "{said}");
}

#[test]
fn a_version_that_cannot_be_one_is_named_as_it_was_typed() {
    let place = place();
    let said = run(&place, &["add", "file:///nowhere", "--ref=-x"]);
    assert!(said.contains("error: this cannot be a branch, tag or commit: --ref -x\n"), "{said}");
    assert!(!said.contains("owner/repo"), "{said}");
}

#[test]
fn after_keeping_what_is_there_verify_names_a_command_that_helps() {
    let place = place();
    run(&place, &["add", "./from/pdf", "--yes"]);
    fs::remove_file(place.path().join("skills.lock")).unwrap();
    place.write(".agents/skills/pdf/SKILL.md", skill("pdf", "edited").as_bytes());
    let said = run(&place, &["sync", "--yes"]);
    assert!(said.starts_with("exit 2") && said.contains("leave it alone with --keep"), "{said}");
    assert!(run(&place, &["sync", "--keep", "--yes"]).starts_with("exit 0"));
    for args in [&["verify"][..], &["list", "--installed"]] {
        let said = run(&place, args);
        assert!(said.contains("something is there: [DIR]/.agents/skills/pdf; "), "{said}");
        assert!(said.contains("prowess sync --overwrite replaces it\n"), "{said}");
    }
    run(&place, &["sync", "--overwrite", "--yes"]);
    assert!(run(&place, &["verify"]).ends_with("1 skill as installed\n"));
}

#[test]
fn nothing_restores_a_skill_that_remove_left() {
    let place = place();
    run(&place, &["add", "./from", "--all", "--yes"]);
    for name in ["pdf", "notes"] {
        place.write(&format!(".agents/skills/{name}/SKILL.md"), skill(name, "edited").as_bytes());
    }
    run(&place, &["remove", "notes", "--keep"]);
    let said = run(&place, &["list"]);
    let hint = "2 not trusted: prowess sync --overwrite or prowess trust pdf, prowess trust notes\n";
    assert!(said.contains(hint), "{said}");
}

#[test]
fn the_list_of_installed_skills_counts_what_is_missing_and_is_in_the_order_of_its_names() {
    let place = place();
    acme(&place);
    run(&place, &["add", "@acme/from", "--skill", "notes", "--yes"]);
    run(&place, &["add", "./from/pdf", "--as", "zz", "--yes"]);
    run(&place, &["add", "./from/pdf", "--user", "--yes"]);
    let said = run(&place, &["list", "--installed"]);
    let names: Vec<&str> = said.lines().skip(2).take(3).filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(names, ["notes", "zz", "pdf"], "{said}");
    assert!(said.ends_with("\n3 skills installed\n"), "{said}");
    fs::remove_dir_all(place.path().join(".agents")).unwrap();
    let said = run(&place, &["list", "--installed"]);
    assert!(said.ends_with("\n1 skill installed, 2 missing\n"), "{said}");
    let said = run(&place, &["list", "--installed", "--user"]);
    assert!(said.ends_with("\n1 skill installed\n") && !said.contains("zz"), "{said}");
    let json = json_of(&place, &["list", "--installed", "--user", "--json"]);
    crate::schemas::assert_fits("installed", &json);
    assert_eq!(json["installed"].as_array().unwrap().len(), 1, "{json}");
    assert!(run(&place, &["list", "--user"]).starts_with("exit 2"));
}

#[test]
fn an_installed_skill_of_a_clone_is_accepted_by_its_name_only_with_the_files_of_the_lock() {
    let place = place();
    run(&place, &["add", "./from/pdf", "--yes"]);
    // Another user, who cloned the project.
    for folder in ["state", "cache"] {
        fs::remove_dir_all(place.path().join(folder)).unwrap();
    }
    let said = |args: &[&str], command: &str| {
        let said = run(&place, args);
        assert!(said.contains(command), "{args:?}: {said}");
        said
    };
    said(&["list"], "1 not trusted: prowess trust pdf\n");
    said(&["doctor"], "prowess trust pdf");
    place.write(".agents/skills/pdf/SKILL.md", skill("pdf", "evil").as_bytes());
    said(&["list"], "1 not trusted: prowess sync --overwrite\n");
    assert!(!said(&["doctor"], "prowess sync --overwrite").contains("fix: prowess trust pdf"));
}
