//! `prowess check --fix` and links: which targets are written, and which are left alone.

use std::fs;
use std::os::unix::fs::symlink;

use crate::Place;
use crate::shelf::{output, run};
use insta::assert_snapshot;

/// A skill that a safe fix changes.
const FIXABLE: &str = "---\nname: mail\ndescription: Use when: mail piles up\n---\nSort it.\n";

fn is_fixed(place: &Place, path: &str) -> bool {
    fs::read_to_string(place.path().join(path)).unwrap() != FIXABLE
}

/// A repository with a tree of skills, and something beside the repository.
fn repository() -> Place {
    let place = Place::with(&[
        ("repo/skills/own/SKILL.md", "---\nname: own\ndescription: Its own.\n---\nDo.\n"),
        ("outside/mail/SKILL.md", FIXABLE),
    ]);
    // The repository is the inner folder alone.
    fs::remove_dir(place.path().join(".git")).unwrap();
    fs::create_dir(place.path().join("repo/.git")).unwrap();
    fs::create_dir(place.path().join("repo/skills/mail")).unwrap();
    place
}

fn link(place: &Place, from: &str, to: &str) {
    symlink(place.path().join(to), place.path().join(from)).unwrap();
}

#[test]
fn a_linked_file_outside_of_the_tree_is_left_alone() {
    let place = repository();
    link(&place, "repo/skills/mail/SKILL.md", "outside/mail/SKILL.md");
    let text = run(&place, &["check", "--fix", "repo/skills"]);
    assert!(text.contains("leads out of a project that is not trusted"), "{text}");
    assert!(!is_fixed(&place, "outside/mail/SKILL.md"));
    run(&place, &["trust", "./repo", "--yes"]);
    let text = run(&place, &["check", "--fix", "repo/skills"]);
    assert!(text.starts_with("exit 2") && text.contains("1 could not be written"), "{text}");
    assert_snapshot!(text.split("--- stderr\n").nth(1).unwrap(), @"
    error: a link leads to a file outside of what was named, so it is left alone: repo/skills/mail/SKILL.md: [DIR]/outside/mail/SKILL.md
      hint: name the file itself to have it changed
    ");
    assert!(!is_fixed(&place, "outside/mail/SKILL.md"));
    assert_snapshot!(run(&place, &["check", "--diff", "repo/skills"]), @"
    exit 2
    --- stderr
    error: a link leads to a file outside of what was named, so it is left alone: repo/skills/mail/SKILL.md: [DIR]/outside/mail/SKILL.md
      hint: name the file itself to have it changed
    no file would change
    ");
    // Naming the folder of the skill does not name the file.
    run(&place, &["check", "--fix", "repo/skills/mail"]);
    assert!(!is_fixed(&place, "outside/mail/SKILL.md"));
    let value = crate::shelf::json_of(&place, &["check", "--fix", "--json", "repo/skills"]);
    assert!(value["failures"].to_string().contains("outside/mail/SKILL.md"), "{value}");
}

#[test]
fn a_linked_folder_outside_of_the_tree_is_left_alone() {
    let place = repository();
    fs::remove_dir(place.path().join("repo/skills/mail")).unwrap();
    link(&place, "repo/skills/mail", "outside/mail");
    run(&place, &["trust", "./repo", "--yes"]);
    let text = run(&place, &["check", "--fix", "repo/skills"]);
    assert!(text.starts_with("exit 2") && text.contains("outside of what was named"), "{text}");
    assert!(!is_fixed(&place, "outside/mail/SKILL.md"));
}

#[test]
fn a_linked_file_that_is_named_itself_is_fixed() {
    for named in ["repo/skills/mail/SKILL.md", "outside/mail/SKILL.md", "outside"] {
        let place = repository();
        link(&place, "repo/skills/mail/SKILL.md", "outside/mail/SKILL.md");
        let output = output(&place, &["check", "--fix", "repo/skills", named]);
        assert!(is_fixed(&place, "outside/mail/SKILL.md"), "{named}: {}", place.transcript(&output));
        let is_link =
            fs::symlink_metadata(place.path().join("repo/skills/mail/SKILL.md")).unwrap().is_symlink();
        assert!(is_link, "{named}");
    }
    // A link that is given as an argument means its target.
    let place = repository();
    fs::remove_dir(place.path().join("repo/skills/mail")).unwrap();
    link(&place, "repo/skills/mail", "outside/mail");
    run(&place, &["check", "--fix", "repo/skills/mail"]);
    assert!(is_fixed(&place, "outside/mail/SKILL.md"));
}

#[test]
fn a_link_within_the_repository_is_fixed_and_one_to_the_users_own_skills_if_it_is_trusted() {
    let place = repository();
    place.write("repo/store/mail/SKILL.md", FIXABLE.as_bytes());
    place.write("home/.agents/skills/post/SKILL.md", FIXABLE.as_bytes());
    link(&place, "repo/skills/mail/SKILL.md", "repo/store/mail/SKILL.md");
    link(&place, "repo/skills/post", "home/.agents/skills/post");
    let text = run(&place, &["check", "--fix", "repo/skills"]);
    assert!(is_fixed(&place, "repo/store/mail/SKILL.md"));
    // A clone must not change what the user wrote.
    assert!(!is_fixed(&place, "home/.agents/skills/post/SKILL.md"));
    assert!(text.starts_with("exit 2") && text.contains("[DIR]/home/.agents/skills/post/SKILL.md"), "{text}");
    // Not even if the target is a repository, too.
    fs::create_dir(place.path().join("home/.agents/skills/post/.git")).unwrap();
    run(&place, &["check", "--fix", "repo/skills"]);
    assert!(!is_fixed(&place, "home/.agents/skills/post/SKILL.md"));
    fs::remove_dir(place.path().join("home/.agents/skills/post/.git")).unwrap();
    run(&place, &["trust", "./repo", "--yes"]);
    run(&place, &["check", "--fix", "repo/skills"]);
    assert!(is_fixed(&place, "home/.agents/skills/post/SKILL.md"));
}

#[test]
fn an_installed_skill_is_fixed_where_it_comes_from() {
    let place = Place::with(&[("s/mail/SKILL.md", FIXABLE)]);
    run(&place, &["add", "./s/mail", "--yes", "--client", "claude-code", "--link", "copy"]);
    let text = run(&place, &["check"]);
    assert!(text.contains("1 fixable"), "{text}");
    let text = run(&place, &["check", "--fix"]);
    let note = "installed, so it is left as it is: .agents/skills/mail/SKILL.md; fix it in s/mail, then add it again";
    assert!(text.contains(note), "{text}");
    assert!(is_fixed(&place, "s/mail/SKILL.md"));
    assert!(
        !is_fixed(&place, ".agents/skills/mail/SKILL.md")
            && !is_fixed(&place, ".claude/skills/mail/SKILL.md")
    );
    let text = run(&place, &["check", "--diff"]);
    assert!(text.contains("no file would change"), "{text}");
    let text = run(&place, &["list"]);
    assert!(text.contains("Use when: mail") && !text.contains("changed since"), "{text}");
}

#[test]
fn files_in_the_git_folder_are_left_alone() {
    let place = repository();
    place.write("repo/.git/mail/SKILL.md", FIXABLE.as_bytes());
    link(&place, "repo/skills/mail/SKILL.md", "repo/.git/mail/SKILL.md");
    run(&place, &["check", "--fix", "repo/skills"]);
    assert!(!is_fixed(&place, "repo/.git/mail/SKILL.md"));
}

#[test]
fn a_new_skill_is_never_created_through_an_existing_link() {
    let place = repository();
    link(&place, "repo/skills/fresh", "outside/fresh");
    let text = run(&place, &["new", "fresh", "--dir", "repo/skills"]);
    assert!(text.starts_with("exit 2") && !place.path().join("outside/fresh").exists(), "{text}");
}
