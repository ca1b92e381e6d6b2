//! Trust in skills that the user installed: only with the accepted files, after any revocation, also for skills that
//! are kept or nested.

use std::fs;

use crate::Place;
use crate::install::{place, skill};
use crate::shelf::{command, json_of, run};

const OWN: &str = "home/.agents/skills/pdf/SKILL.md";

/// A skill that was installed for the user and edited since.
fn edited() -> Place {
    let place = place();
    run(&place, &["add", "./from/pdf", "--yes", "--user", "--client", "claude-code"]);
    assert!(run(&place, &["activate", "pdf"]).contains("one"));
    place.write(OWN, skill("pdf", "evil").as_bytes());
    check_withheld(&place, "pdf");
    place
}

fn check_withheld(place: &Place, name: &str) {
    let said = run(place, &["activate", name]);
    assert!(said.starts_with("exit 2") && !said.contains("evil"), "{said}");
}

fn revoke(place: &Place, what: &str) -> String {
    let what =
        if what.contains('/') { place.path().join(what).display().to_string() } else { what.to_owned() };
    run(place, &["trust", "--revoke", &what, "--yes"])
}

#[test]
fn revoking_the_folder_of_installed_skills_does_not_make_them_trusted() {
    let place = edited();
    for folder in ["home/.agents/skills", "home/.agents/skills/pdf", "home/.claude/skills"] {
        let said = revoke(&place, folder);
        assert!(said.starts_with("exit 2") && said.contains("prowess remove --user pdf"), "{said}");
        check_withheld(&place, "pdf");
    }
    // What else is trusted in a folder above is revoked all the same.
    fs::create_dir_all(place.path().join("home/work")).unwrap();
    run(&place, &["trust", &place.path().join("home/work").display().to_string(), "--yes"]);
    assert!(revoke(&place, "home/").starts_with("exit 0"));
    let left = json_of(&place, &["trust", "--list", "--json"]);
    assert_eq!(left["folders"].as_array().unwrap().len(), 0, "{left}");
    assert_eq!(left["skills"].as_array().unwrap().len(), 2, "{left}");
    check_withheld(&place, "pdf");
}

#[test]
fn revoking_where_a_client_looks_for_an_installed_skill_does_not_make_it_trusted() {
    let place = edited();
    let said = revoke(&place, "home/.claude/skills/pdf/SKILL.md");
    assert!(said.starts_with("exit 2") && said.contains("prowess remove --user pdf"), "{said}");
    // The user's folder may be a repository too.
    fs::create_dir_all(place.path().join("home/.git")).unwrap();
    let output =
        command(&place).args(["trust", "--revoke", "pdf"]).current_dir(place.path().join("home")).output();
    let said = place.transcript(&output.unwrap());
    assert!(said.starts_with("exit 2") && said.contains("prowess remove --user pdf"), "{said}");
    check_withheld(&place, "pdf");
    let said = run(&place, &["list", "--client", "claude-code"]);
    assert!(said.contains("pdf  changed since it was trusted"), "{said}");
}

#[test]
fn an_edited_skill_that_is_kept_when_it_is_removed_stays_withheld_until_it_is_trusted() {
    let place = edited();
    let said = run(&place, &["remove", "--user", "--keep", "pdf"]);
    assert!(said.starts_with("exit 0") && place.path().join(OWN).exists(), "{said}");
    check_withheld(&place, "pdf");
    assert!(revoke(&place, "home/.agents/skills/pdf").starts_with("exit 2"));
    check_withheld(&place, "pdf");
    assert!(run(&place, &["trust", "pdf", "--yes"]).starts_with("exit 0"));
    assert!(run(&place, &["activate", "pdf"]).contains("evil"));
}

#[test]
fn an_installed_skill_without_an_approval_is_not_used_and_the_users_own_are() {
    let place = edited();
    place.write("home/.agents/skills/own/SKILL.md", skill("own", "mine").as_bytes());
    fs::remove_file(place.path().join("state/prowess/trust.json")).unwrap();
    check_withheld(&place, "pdf");
    assert!(run(&place, &["activate", "own"]).starts_with("exit 0"));
    // A lock that is not understood names everything.
    place.write("home/.agents/skills.lock", b"<<<<<<< a\n");
    check_withheld(&place, "pdf");
    check_withheld(&place, "own");
    assert!(run(&place, &["list"]).contains("skills.lock"));
}

#[test]
fn a_skill_inside_of_an_installed_one_is_trusted_as_it_was_accepted() {
    for (user, at) in [(&["--user"][..], "home/"), (&[], "")] {
        let place = place();
        place.write("from/pdf/inner/SKILL.md", skill("inner", "one").as_bytes());
        place.write("from/pdf/inner/more/a.md", b"more");
        let add = ["add", "./from/pdf", "--yes", "--client", "claude-code"];
        run(&place, &[&add[..], user].concat());
        let said = run(&place, &["activate", "inner"]);
        assert!(said.starts_with("exit 0") && said.contains("one"), "{said}");
        let folder = format!("{at}.agents/skills/pdf");
        place.write(&format!("{folder}/inner/SKILL.md"), skill("inner", "evil").as_bytes());
        place.write(&format!("{folder}/late/SKILL.md"), skill("late", "evil").as_bytes());
        for name in ["pdf", "inner", "late"] {
            check_withheld(&place, name);
        }
        run(&place, &[&["remove", "pdf", "--overwrite", "--yes"][..], user].concat());
        assert!(run(&place, &["trust", "--list"]).contains("nothing is trusted"));
    }
}

#[test]
fn a_skill_installed_under_another_name_is_revoked_by_that_name() {
    let place = place();
    place.write("other/pdf/SKILL.md", skill("pdf", "other").as_bytes());
    run(&place, &["add", "./from/pdf", "--yes", "--client", "claude-code"]);
    run(&place, &["add", "./other/pdf", "--as", "pdf-2", "--yes"]);
    let said = run(&place, &["trust", "--revoke", "pdf-2"]);
    assert!(said.starts_with("exit 0"), "{said}");
    let left = run(&place, &["trust", "--list"]);
    assert!(left.contains("skills/pdf/") && !left.contains("pdf-2"), "{left}");
    run(&place, &["sync", "--yes"]);
    assert!(run(&place, &["trust", "--revoke", "pdf"]).starts_with("exit 0"));
    let left = run(&place, &["trust", "--list"]);
    assert!(left.contains("skills/pdf-2/") && !left.contains("skills/pdf/"), "{left}");
}

#[test]
fn two_skills_of_one_name_are_named_by_their_paths_with_a_way_to_install_both() {
    let place = place();
    place.write("from/more/pdf/SKILL.md", skill("pdf", "other").as_bytes());
    for args in [&["--all"][..], &["--skill", "pdf", "--skill", "more/pdf"]] {
        let said = run(&place, &[&["add", "./from", "--yes"][..], args].concat());
        assert!(said.starts_with("exit 2"), "{said}");
        assert!(
            said.contains("two of these skills have one name: pdf: more/pdf and pdf")
                || said.contains("two of these skills have one name: pdf: pdf and more/pdf"),
            "{said}"
        );
        assert!(said.contains("--skill PATH --as NAME"), "{said}");
    }
    assert!(run(&place, &["add", "./from", "--skill", "pdf", "--yes"]).starts_with("exit 0"));
    let said = run(&place, &["add", "./from", "--skill", "more/pdf", "--as", "pdf-2", "--yes"]);
    assert!(said.starts_with("exit 0"), "{said}");
    assert!(run(&place, &["sync", "--locked"]).starts_with("exit 0"));
}

#[test]
fn the_list_of_installed_skills_shows_what_clients_lack() {
    let place = place();
    run(&place, &["add", "./from/pdf", "--yes", "--client", "claude-code"]);
    assert!(!run(&place, &["list", "--installed"]).contains("verify"));
    fs::remove_file(place.path().join(".claude/skills/pdf")).unwrap();
    let said = run(&place, &["list", "--installed"]);
    assert!(said.contains("pdf  not as installed for claude-code; see: prowess verify"), "{said}");
}

#[test]
fn trust_does_not_move_with_a_project_and_the_user_sees_what_was_accepted_where() {
    let place = place();
    for folder in ["old", "new"] {
        fs::create_dir(place.path().join(folder)).unwrap();
    }
    run(&place, &["add", "./from/pdf", "--yes", "--project", "old"]);
    fs::remove_dir(place.path().join("new")).unwrap();
    fs::rename(place.path().join("old"), place.path().join("new")).unwrap();
    let in_new = |args: &[&str]| {
        let output = command(&place).args(args).current_dir(place.path().join("new")).output().unwrap();
        place.transcript(&output)
    };
    assert!(in_new(&["activate", "pdf"]).starts_with("exit 2"));
    let said = in_new(&["why", "pdf"]);
    let line = "accepted elsewhere: you accepted these files in [DIR]/old/.agents/skills/pdf; trust does not move with a \
                project; accept them here with: prowess sync\n";
    assert!(said.contains(line), "{said}");
    let said = in_new(&["sync"]);
    assert!(said.contains("  you accepted the same files in  [DIR]/old/.agents/skills/pdf\n"), "{said}");
    assert!(said.starts_with("exit 2"), "{said}");
    assert!(in_new(&["sync", "--yes"]).contains("  trusted as it is\n"));
    assert!(in_new(&["activate", "pdf"]).starts_with("exit 0"));
    assert!(!in_new(&["why", "pdf"]).contains("accepted elsewhere"));
}

/// A clone of a project whose repository has an installed skill, its lock and its skills.toml.
fn cloned() -> Place {
    let place = place();
    run(&place, &["add", "./from/pdf", "--yes"]);
    fs::remove_dir_all(place.path().join("state")).unwrap();
    place
}

/// What a `git pull` brings that changes an installed skill and its lock together.
fn pull(place: &Place, text: &str) {
    let old = fs::read_to_string(place.path().join("skills.lock")).unwrap();
    place.write(".agents/skills/pdf/SKILL.md", skill("pdf", text).as_bytes());
    // Another place computes the digest of the same files.
    let other = crate::install::place();
    other.write("from/pdf/SKILL.md", skill("pdf", text).as_bytes());
    let digest_of = |lock: &str| lock.lines().find(|line| line.starts_with("digest = ")).unwrap().to_owned();
    run(&other, &["add", "./from/pdf", "--yes"]);
    let new = fs::read_to_string(other.path().join("skills.lock")).unwrap();
    place.write("skills.lock", old.replace(&digest_of(&old), &digest_of(&new)).as_bytes());
    assert!(run(place, &["verify"]).starts_with("exit 0"), "the lock fits");
}

#[test]
fn a_lock_that_came_with_a_repository_grants_nothing() {
    let place = cloned();
    assert!(run(&place, &["verify"]).starts_with("exit 0"));
    check_withheld(&place, "pdf");
    // Neither does a lock that changed together with files that were accepted.
    run(&place, &["sync", "--yes"]);
    assert!(run(&place, &["activate", "pdf"]).contains("one"));
    pull(&place, "evil");
    check_withheld(&place, "pdf");
}

#[test]
fn a_trusted_folder_trusts_its_installed_skills_with_any_files() {
    let place = cloned();
    assert!(run(&place, &["trust", "--yes"]).starts_with("exit 0"));
    assert!(run(&place, &["activate", "pdf"]).contains("one"));
    pull(&place, "two");
    assert!(run(&place, &["activate", "pdf"]).contains("two"));
    place.write(".agents/skills/pdf/SKILL.md", skill("pdf", "three").as_bytes());
    assert!(run(&place, &["activate", "pdf"]).contains("three"));
}

#[test]
fn trust_in_an_edited_skill_of_the_user_ends_and_what_was_installed_can_be_restored() {
    for what in ["pdf", "home/.agents/skills/pdf", "home/.claude/skills/pdf/SKILL.md"] {
        let place = edited();
        assert!(run(&place, &["trust", "pdf", "--yes"]).starts_with("exit 0"));
        assert!(run(&place, &["activate", "pdf"]).contains("evil"));
        let said = revoke(&place, what);
        assert!(said.starts_with("exit 0") && said.contains("no longer trusted as it is now: "), "{said}");
        check_withheld(&place, "pdf");
        assert!(run(&place, &["list"]).contains("changed since it was trusted"));
        assert!(run(&place, &["list", "--client", "claude-code"]).contains("changed since it was trusted"));
        // Nothing is trusted by that which was not accepted.
        assert!(revoke(&place, what).starts_with("exit 2"));
        assert!(run(&place, &["sync", "--overwrite", "--user", "--yes"]).starts_with("exit 0"));
        assert!(run(&place, &["activate", "pdf"]).contains("one"));
        assert!(revoke(&place, what).contains("prowess remove --user pdf"));
    }
}
