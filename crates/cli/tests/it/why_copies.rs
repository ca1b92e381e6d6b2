//! `prowess why` about copies that several agents need, about paths, and on a narrow screen.

use insta::assert_snapshot;

use crate::shelf::{command, output, run};
use crate::{GOOD, Place, code};

/// One skill in two folders. Claude Code reads only the first, Codex only the second.
fn copies() -> Place {
    let place = Place::with(&[
        ("home/.claude/skills/good/SKILL.md", GOOD),
        ("home/.agents/skills/good/SKILL.md", GOOD),
    ]);
    std::fs::create_dir_all(place.path().join("home/.codex")).unwrap();
    place
}

fn screen(place: &Place, columns: usize, args: &[&str]) -> String {
    let output = command(place).args(args).env("PROWESS_COLUMNS", columns.to_string()).output().unwrap();
    place.transcript(&output)
}

#[test]
fn a_copy_that_another_agent_needs_is_to_be_kept() {
    let place = copies();
    assert_snapshot!(screen(&place, 100, &["why", "good"]), @"
    exit 0
    --- stdout
    good: offered
      found: ~/.agents/skills/good/SKILL.md
      path for filters: good
      clients that look there: Codex, Amp, Antigravity and 29 more
    good: shadowed
      found: ~/.claude/skills/good/SKILL.md
      path for filters: good
      clients that look there: Claude Code, Amp, Cursor and 6 more
      shadowed by: ~/.agents/skills/good/SKILL.md
      compared with it: identical copy
      hint: keep both: Claude Code reads only this one, Codex reads only the other
    ");
    let keep = "keep both: Claude Code reads only this one, Codex reads only the other";
    assert!(run(&place, &["why", "good"]).contains(keep));
    // Cursor reads both, and lists one.
    std::fs::create_dir_all(place.path().join("home/.cursor")).unwrap();
    let said = run(&place, &["check", "--client", "cursor"]);
    assert!(said.contains(keep) && !said.contains("remove"), "{said}");
}

#[test]
fn a_copy_that_no_client_needs_may_go_and_one_that_differs_is_made_alike() {
    let place = copies();
    std::fs::remove_dir(place.path().join("home/.codex")).unwrap();
    let said = run(&place, &["why", "good"]);
    assert!(
        said.contains("  hint: keep this one, and remove the other: Claude Code reads only this\n"),
        "{said}"
    );
    let place = copies();
    place.write("home/.claude/skills/good/SKILL.md", GOOD.replace("well", "better").as_bytes());
    let said = run(&place, &["why", "good"]);
    let alike = "  hint: rename one of the two, or make them alike: Claude Code reads only this one\n";
    assert!(said.contains(alike), "{said}");
}

#[test]
fn the_path_of_a_listed_skill_is_as_good_as_its_name() {
    let place = copies();
    let at = |folder: &str, name: &str| {
        let mut command = command(&place);
        command.current_dir(place.path().join(folder)).args(["why", name]);
        place.transcript(&command.output().unwrap())
    };
    let absolute = place.path().join("home/.agents/skills/good").display().to_string();
    for (folder, name) in [
        (".", &*absolute),
        (".", "home/.agents/skills/good/SKILL.md"),
        ("home/.agents/skills", "./good"),
        ("home/.agents/skills", "good/"),
        ("home/.agents/skills/good", "."),
        ("home/.agents/skills/good", "SKILL.md"),
    ] {
        let said = at(folder, name);
        assert!(said.starts_with("exit 0\n--- stdout\ngood: offered\n"), "{name}: {said}");
        assert!(
            said.contains("/home/.agents/skills/good/SKILL.md\n") && !said.contains("shadowed"),
            "{said}"
        );
    }
    let other = run(&place, &["why", "home/.claude/skills/good"]);
    assert!(other.starts_with("exit 1\n--- stdout\ngood: shadowed\n"), "{other}");
    let unread = run(&place, &["why", &absolute, "--client", "claude-code"]);
    assert!(unread.contains("error: Claude Code does not read this skill: good\n"), "{unread}");
    // Where no agent looks, the sentence is true.
    place.write("elsewhere/good-two/SKILL.md", GOOD.replace("good", "good-two").as_bytes());
    let said = run(&place, &["why", "elsewhere/good-two"]);
    assert!(
        said.contains("where no agent looks; install it for them with: prowess add ./elsewhere/good-two"),
        "{said}"
    );
}

#[test]
fn an_answer_fits_its_screen_and_names_the_clients_of_this_machine_first() {
    let place = copies();
    for columns in [40, 60, 80] {
        let said = screen(&place, columns, &["why", "good"]);
        assert!(said.contains("Codex, "), "{said}");
        for line in said.lines().filter(|line| !line.contains("prowess ")) {
            assert!(line.chars().count() <= columns, "{columns}: {line}");
        }
        assert!(said.contains("found: ~/.agents/skills/good/SKILL.md"), "{said}");
    }
    place.write("home/.agents/skills/only/SKILL.md", GOOD.replace("good", "only").as_bytes());
    let said = run(&place, &["why", "only", "--client", "claude-code"]);
    assert!(said.contains("; read by Codex, ") && said.contains(" more\n"), "{said}");
}

#[test]
fn what_one_of_several_clients_does_not_see_is_part_of_the_answer() {
    let place = Place::with(&[("home/.claude/skills/good/SKILL.md", GOOD), ("home/.codex/x", "")]);
    assert_snapshot!(run(&place, &["why", "good", "--client", "installed"]), @"
    exit 0
    --- stdout
    Claude Code
    good: Claude Code lists it
      seen as: good
      found: [DIR]/home/.claude/skills/good/SKILL.md
      path for filters: good
    Codex
      Codex does not read this skill: good
      cause: it is at [DIR]/home/.claude/skills/good/SKILL.md, a folder that Codex does not read; read by Claude Code, Amp, Cursor and 6 more
      hint: Codex looks in [DIR]/.agents/skills, [DIR]/.codex/skills, [DIR]/home/.agents/skills, [DIR]/home/.codex/skills, /etc/codex/skills; put the skill into one of these, or a link to it into [DIR]/home/.agents/skills
    ");
    assert_eq!(code(&output(&place, &["why", "nothing", "--client", "installed"])), 1);
}

/// What is said in a project about copies in it and in the folders of the user.
fn said_in_project(place: &Place, args: &[&str]) -> String {
    let mut command = command(place);
    command.current_dir(place.path().join("work")).args(args);
    place.transcript(&command.output().unwrap())
}

#[test]
fn your_own_copy_is_not_advised_away_because_a_project_has_the_same() {
    let place = Place::with(&[
        ("src/good/SKILL.md", GOOD),
        ("work/.git/x", ""),
        ("home/.claude/x", ""),
        ("home/.codex/skills/better/SKILL.md", &GOOD.replace("good", "better")),
        ("work/.agents/skills/better/SKILL.md", &GOOD.replace("good", "better")),
    ]);
    std::fs::create_dir_all(place.path().join("home/.copilot")).unwrap();
    for scope in [&["--user", "--client", "claude-code"][..], &[]] {
        let added = said_in_project(&place, &[&["add", "../src/good", "--yes"], scope].concat());
        assert!(added.starts_with("exit 0\n"), "{added}");
    }
    for name in ["good", "better"] {
        let said = said_in_project(&place, &["why", name]);
        assert!(said.contains("identical copy") && said.contains("hint: "), "{said}");
        assert!(!said.contains("remove"), "{said}");
    }
    let said = said_in_project(&place, &["doctor"]);
    assert!(!said.contains("remove"), "{said}");
}

#[test]
fn an_installed_copy_is_removed_by_prowess() {
    let place = Place::with(&[
        ("src/good/SKILL.md", GOOD),
        ("work/.git/x", ""),
        ("home/.codex/x", ""),
        ("home/.claude/skills/good/SKILL.md", GOOD),
    ]);
    let added = said_in_project(&place, &["add", "../src/good", "--user", "--yes"]);
    assert!(added.starts_with("exit 0\n"), "{added}");
    // Claude Code and Codex read the one in the folder of Codex.
    std::fs::create_dir_all(place.path().join("home/.codex/skills")).unwrap();
    let link = place.path().join("home/.codex/skills/good");
    std::os::unix::fs::symlink("../../.claude/skills/good", link).unwrap();
    let said = said_in_project(&place, &["why", "good"]);
    assert!(said.contains("remove the other: Claude Code reads only this; it is installed, so do it with: prowess remove --user good\n"), "{said}");
}
