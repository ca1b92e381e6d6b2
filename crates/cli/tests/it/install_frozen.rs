//! `sync` with a lock that must not change, without a network, and without touching skills.

use std::fs;

use crate::install::{place, read, skill};
use crate::install_git::commit;
use crate::shelf::run;

#[test]
fn what_must_be_fetched_offline_names_the_option_that_forbids_it() {
    let place = place();
    let url = commit(&place, "from");
    // Only a repository on another machine needs a network; the address is never asked.
    place.write("skills.toml", b"[skills]\npdf = { git = \"https://host.example/x.git\" }\n");
    let said = run(&place, &["sync", "--offline"]);
    assert!(said.starts_with("exit 2") && said.contains("run the command again without --offline"), "{said}");
    fs::remove_file(place.path().join("skills.toml")).unwrap();
    run(&place, &["add", &url, "--skill", "pdf", "--yes"]);
    for file in ["skills.toml", "skills.lock"] {
        place.write(file, read(&place, file).replace(&url, "https://host.example/x.git").as_bytes());
    }
    for folder in [".agents", "cache"] {
        fs::remove_dir_all(place.path().join(folder)).unwrap();
    }
    let said = run(&place, &["sync", "--frozen", "--yes"]);
    assert!(said.starts_with("exit 2") && !said.contains("--offline"), "{said}");
    assert!(said.contains("prowess sync --fetch-only; or use --locked in place of --frozen"), "{said}");
}

#[test]
fn in_ci_locked_fetches_and_frozen_takes_what_was_fetched() {
    let place = place();
    let url = commit(&place, "from");
    run(&place, &["add", &url, "--all", "--yes"]);
    let lock = read(&place, "skills.lock");
    for args in [&["--locked"][..], &["--frozen"]] {
        fs::remove_dir_all(place.path().join(".agents")).unwrap();
        if args == ["--locked"] {
            fs::remove_dir_all(place.path().join("cache")).unwrap();
        }
        let said = run(&place, &[&["sync", "--yes"][..], args].concat());
        assert!(said.starts_with("exit 0") && said.contains("+ pdf"), "{args:?}: {said}");
        assert_eq!(said.contains("fetched 2 skills"), args == ["--locked"], "{said}");
        assert_eq!(read(&place, "skills.lock"), lock);
    }
}

#[test]
fn fetching_or_locking_alone_does_not_stop_at_edits() {
    let place = place();
    run(&place, &["add", "./from/pdf", "--yes"]);
    place.write("from/pdf/SKILL.md", skill("pdf", "two").as_bytes());
    place.write("more/pdf/SKILL.md", skill("pdf", "more").as_bytes());
    place.write(".agents/skills/pdf/SKILL.md", skill("pdf", "edited").as_bytes());
    let said = run(&place, &["sync", "--fetch-only"]);
    assert!(said.starts_with("exit 0"), "{said}");
    place.write("skills.toml", b"[skills]\npdf = { path = \"more/pdf\" }\n");
    let said = run(&place, &["sync", "--lock-only"]);
    assert!(said.starts_with("exit 0") && said.contains("= pdf (locked, not installed)"), "{said}");
    assert!(read(&place, "skills.lock").contains("path+more/pdf"));
    assert!(read(&place, ".agents/skills/pdf/SKILL.md").contains("edited"));
    // Installing would lose the edits.
    let said = run(&place, &["sync", "--yes"]);
    assert!(said.starts_with("exit 2") && said.contains("was edited after it was installed"), "{said}");
}

#[test]
fn an_older_version_that_the_user_restored_by_hand_is_an_edit() {
    let place = place();
    run(&place, &["add", "./from/notes", "--yes"]);
    let first = read(&place, ".agents/skills/notes/SKILL.md");
    place.write("from/notes/SKILL.md", skill("notes", "two").as_bytes());
    run(&place, &["add", "./from/notes", "--yes"]);
    place.write(".agents/skills/notes/SKILL.md", first.as_bytes());
    let said = run(&place, &["sync", "--yes"]);
    assert!(said.starts_with("exit 2") && said.contains("was edited after it was installed"), "{said}");
    assert_eq!(read(&place, ".agents/skills/notes/SKILL.md"), first);
    assert!(run(&place, &["sync", "--yes", "--overwrite"]).starts_with("exit 0"));
    assert!(read(&place, ".agents/skills/notes/SKILL.md").contains("two"));
}

#[test]
fn several_skills_in_one_entry_name_what_to_write_in_skills_toml() {
    let place = place();
    for entry in ["{ path = \"from\" }".to_owned(), format!("{{ git = \"{}\" }}", commit(&place, "from"))] {
        place.write("skills.toml", format!("[skills]\nx = {entry}\n").as_bytes());
        let said = run(&place, &["sync", "--yes"]);
        assert!(said.starts_with("exit 2") && said.contains("there are several skills"), "{said}");
        assert!(said.contains("say in skills.toml which one") && !said.contains("--skill"), "{said}");
    }
    place.write("skills.toml", b"[skills]\nx = { path = \"from\", skill = \"pdf\" }\n");
    let said = run(&place, &["sync", "--yes"]);
    assert!(said.starts_with("exit 2") && said.contains("skills.x has a skill and no git"), "{said}");
}

#[test]
fn without_the_store_verify_says_how_to_see_which_files_changed() {
    let place = place();
    let url = commit(&place, "from");
    run(&place, &["add", &url, "--skill", "pdf", "--yes"]);
    place.write(".agents/skills/pdf/SKILL.md", skill("pdf", "edited").as_bytes());
    fs::remove_dir_all(place.path().join("cache")).unwrap();
    let said = run(&place, &["verify"]);
    assert!(said.contains("fetch what was installed: prowess sync --fetch-only"), "{said}");
    let on_screen =
        crate::shelf::command(&place).arg("verify").env("PROWESS_COLUMNS", "120").output().unwrap();
    let said = String::from_utf8(on_screen.stdout).unwrap();
    assert!(said.contains("fetch what was installed: prowess sync --fetch-only"), "{said}");
    assert!(run(&place, &["sync", "--fetch-only", "--yes"]).starts_with("exit 0"));
    assert!(run(&place, &["verify"]).contains("changed  SKILL.md"));
}
