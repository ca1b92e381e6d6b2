//! Hints can be followed: the command in a hint works when it is copied and run.

use std::path::Path;

use crate::shelf::{command, run};
use crate::{GOOD, Place};
use insta::assert_snapshot;

/// Runs the command in a folder below the place.
fn run_in(place: &Place, folder: &str, args: &[&str]) -> String {
    let output = command(place).current_dir(place.path().join(folder)).args(args).output().unwrap();
    place.transcript(&output)
}

/// The arguments of the last `prowess` command in a text.
fn named_command(text: &str) -> Vec<String> {
    let line = text.lines().rev().find(|line| line.contains("prowess ")).unwrap();
    line.rsplit_once("prowess ").unwrap().1.split(' ').map(str::to_owned).collect()
}

#[test]
fn below_a_project_the_hint_names_its_folder_and_trusting_it_helps() {
    let place = Place::with(&[(".claude/skills/good/SKILL.md", GOOD), ("sub/dir/x", "")]);
    let listed = run_in(&place, "sub/dir", &["list"]);
    assert_snapshot!(listed, @"
    exit 0
    --- stdout
    good  not trusted: Does it well when asked.

    1 skill; 1 not trusted: prowess trust [DIR]
    ");
    assert_snapshot!(run_in(&place, "sub/dir", &["prompt"]), @"
    exit 0
    --- stderr
    no skill is in the prompt, of 1 skill; see why with: prowess why NAME
    1 skill not trusted and left out: prowess trust [DIR]
    ");
    let folder = place.path().to_string_lossy().into_owned();
    let words: Vec<String> =
        named_command(&listed).iter().map(|word| word.replace("[DIR]", &folder)).collect();
    run_in(&place, "sub/dir", &words.iter().map(String::as_str).chain(["--yes"]).collect::<Vec<_>>());
    assert_snapshot!(run_in(&place, "sub/dir", &["list"]), @"
    exit 0
    --- stdout
    good  Does it well when asked.

    1 skill
    ");
}

#[test]
fn what_a_trusted_project_names_outside_of_itself_is_trusted_by_its_own_folder() {
    let place = Place::with(&[
        ("project/.git/HEAD", ""),
        ("project/prowess.toml", "[[skills.sources]]\ndir = '../shared'\n"),
        ("shared/good/SKILL.md", GOOD),
    ]);
    assert_snapshot!(run_in(&place, "project", &["list"]), @"
    exit 2
    --- stdout
    no skills here
    --- stderr
    error: this leads out of a project that is not trusted, and was not looked into: [DIR]/shared
      hint: trust the project's folder with: prowess trust
    ");
    run_in(&place, "project", &["trust", "--yes"]);
    assert_snapshot!(run_in(&place, "project", &["list"]), @"
    exit 0
    --- stdout
    good  not trusted: Does it well when asked.

    1 skill; 1 not trusted: prowess trust [DIR]/shared
    ");
    run_in(&place, "project", &["trust", &place.path().join("shared").to_string_lossy(), "--yes"]);
    assert!(run_in(&place, "project", &["list"]).contains("good  Does it well when asked.\n\n1 skill\n"));
}

#[test]
fn hints_repeat_where_skills_were_looked_for() {
    let place = Place::with(&[
        ("my skills/good/SKILL.md", GOOD),
        ("my skills/nodesc/SKILL.md", "---\nname: nodesc\n---\n"),
        ("more/good/SKILL.md", GOOD),
    ]);
    let places = ["--in", "my skills", "--in", "more"];
    let said = |args: &[&str]| run(&place, &[args, &places[..]].concat());
    assert_snapshot!(said(&["cat", "nope"]), @"
    exit 2
    --- stderr
    error: there is no such skill: nope
      hint: list the skills with: prowess list --in 'my skills' --in more
    ");
    assert_snapshot!(said(&["show", "nope"]), @"
    exit 2
    --- stderr
    error: there is no such file, folder or skill: nope
      hint: check the spelling, or list the skills with: prowess list --in 'my skills' --in more
    ");
    assert_snapshot!(said(&["list"]), @"
    exit 0
    --- stdout
    good  Does it well when asked.

    1 skill
    2 left out (1 broken, 1 shadowed): prowess list --all --in 'my skills' --in more, prowess why NAME --in 'my skills' --in more
    ");
    let client = run(&place, &["cat", "nope", "--client", "codex"]);
    assert!(client.contains("prowess list --client codex\n"), "{client}");
}

#[test]
fn hints_repeat_no_address_and_no_arguments_of_a_program() {
    let place = Place::with(&[("skills/good/SKILL.md", GOOD)]);
    let server = "mcp=/nowhere/server --key secret,prefix=team";
    let said = run(&place, &["cat", "nope", "--in", "skills", "--in", server]);
    assert!(said.contains("prowess list --in skills --in SPEC\n") && !said.contains("secret"), "{said}");
}

#[test]
fn the_hint_of_a_skill_that_a_strict_profile_breaks_leads_to_its_problem() {
    let place =
        Place::with(&[("skills/grün/SKILL.md", "---\nname: grün\ndescription: Green.\n---\nDo it.\n")]);
    let strict = ["--in", "skills", "--strict", "anthropic"];
    let said = |args: &[&str]| run(&place, &[args, &strict[..]].concat());
    let why = said(&["why", "grün"]);
    assert_snapshot!(why, @"
    exit 1
    --- stdout
    grün: broken
      found: [DIR]/skills/grün/SKILL.md
      path for filters: grün
      judged by the profile: anthropic
      error[name-not-ascii]: the name has letters outside a-z and 0-9: grün
      hint: see how to correct it with: prowess check [DIR]/skills/grün/SKILL.md --profile anthropic
    ");
    let path = place.path().join("skills/grün/SKILL.md");
    let checked = run(&place, &[Path::new("check"), &path, Path::new("--profile"), Path::new("anthropic")]);
    assert!(checked.starts_with("exit 1\n") && checked.contains("name-"), "{checked}");
    let listed = said(&["list", "--all"]);
    assert!(listed.contains("; judged by the profile anthropic"), "{listed}");
    let cat = said(&["cat", "grün"]);
    assert!(cat.contains("grün/SKILL.md --profile anthropic\n"), "{cat}");
    let shown = said(&["show", "grün"]);
    assert!(shown.starts_with("exit 1\n"), "{shown}");
    assert!(shown.contains("loads, and is not offered by the profile anthropic; 1 error"), "{shown}");
    assert!(shown.contains("under anthropic: see prowess check "), "{shown}");
    // With another profile, its problems are shown.
    let asked = said(&["show", "grün", "--profile", "lenient"]);
    assert!(asked.starts_with("exit 1\n") && asked.contains("no problems under lenient"), "{asked}");
}

#[test]
fn a_listed_skill_of_a_plugin_is_shown_as_it_is_listed() {
    let place = Place::with(&[
        ("plugin/.claude-plugin/plugin.json", "{\"name\": \"p\"}"),
        ("plugin/skills/pe/SKILL.md", "---\nname: pe\ndescription: d\nmood: grim\n---\nDo it.\n"),
        ("plugin/skills/pe/shared/lib/x.py", ""),
        ("plugin/skills/shared/lib/x.py", ""),
    ]);
    let listed = run(&place, &["list", "--all", "--in", "plugin=plugin"]);
    assert!(listed.starts_with("exit 0\n") && listed.contains("judged by the profile plugin"), "{listed}");
    let shown = run(&place, &["show", "pe", "--in", "plugin=plugin"]);
    assert!(shown.starts_with("exit 1\n") && shown.contains("not offered by the profile plugin"), "{shown}");
}

#[test]
fn with_in_a_name_means_a_listed_skill_even_if_a_local_folder_has_it() {
    let place = Place::with(&[
        ("good/SKILL.md", "---\nname: evil\ndescription: LOCAL\n---\n"),
        ("s/good/SKILL.md", GOOD),
    ]);
    let shown = run(&place, &["show", "good", "--in", "s"]);
    assert!(shown.contains("Does it well when asked.") && !shown.contains("LOCAL"), "{shown}");
    assert!(run(&place, &["show", "good"]).contains("LOCAL"));
    assert!(run(&place, &["show", "good", "--in", "nowhere"]).starts_with("exit 2\n"));
}

#[test]
fn hints_name_what_exists_where_they_are_printed() {
    let place = Place::with(&[("home/.codex/config.toml", ""), ("w/.git/HEAD", "")]);
    // The user's own folder is no project.
    let new = run_in(&place, "home", &["new", "fresh"]);
    assert!(new.contains("prowess add ./fresh --user\n"), "{new}");
    let added = run_in(&place, "home", &["add", "./fresh", "--user", "--yes"]);
    assert!(added.starts_with("exit 0\n"), "{added}");
    let new = run_in(&place, "w", &["new", "fresh"]);
    assert!(new.contains("prowess add ./fresh\n"), "{new}");
    let unknown = run(&place, &["list", "--client", "vscode"]);
    assert!(unknown.contains("prowess connect vscode\n") && !unknown.contains("zcode"), "{unknown}");
    // A client has no built-in skills.
    let tried = run(&place, &["try", "review my changes", "--client", "codex"]);
    assert!(tried.contains("Chosen: none") && !tried.contains("code-review"), "{tried}");
    let text = "---\nname: a\ndescription: >\n  folded text\n  more\n license: MIT\n---\nx\n";
    let checked = place.run_with_input(&["check", "-"], text.as_bytes());
    assert!(checked.contains("help: remove the spaces before it"), "{checked}");
}

#[test]
fn a_client_without_known_folders_is_served_and_no_other_one_is_proposed() {
    let place = Place::with(&[("good/SKILL.md", GOOD)]);
    for args in [&["add", "./good", "--client", "vscode", "--yes"][..], &["sync", "--client", "vscode"]] {
        let said = run(&place, args);
        assert!(said.starts_with("exit 2\n") && said.contains("with: prowess connect vscode"), "{said}");
    }
}

#[test]
fn in_the_users_own_folder_skills_are_installed_with_user() {
    let place = Place::with(&[("home/x", "")]);
    let listed = run_in(&place, "home", &["list", "--installed"]);
    assert!(listed.contains("prowess add SOURCE --user\n"), "{listed}");
    let tried = run_in(&place, "home", &["try", "zzzz"]);
    assert!(tried.contains("prowess add OWNER/REPO --user  install one"), "{tried}");
    assert!(!run_in(&place, "", &["list", "--installed"]).contains("--user"));
}

#[test]
fn a_folder_that_cannot_be_read_is_to_be_made_readable() {
    let place = Place::with(&[("good/SKILL.md", GOOD), ("home/x", "")]);
    let good = place.path().join("good");
    std::fs::set_permissions(&good, std::os::unix::fs::PermissionsExt::from_mode(0o000)).unwrap();
    let said = crate::shelf::run_bound(&place, &["add", "./good", "--yes"]);
    std::fs::set_permissions(&good, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let Some(said) = said else { return };
    assert!(said.contains("hint: make the folder readable for this user"), "{said}");
}

#[test]
fn the_help_for_an_indented_field_says_what_its_fix_does() {
    let place = Place::with(&[]);
    let text = "---\nname: m\ndescription: Text. Use when x.\n license: MIT\n---\nx\n";
    let checked = place.run_with_input(&["check", "-"], text.as_bytes());
    assert!(checked.contains("help: remove the spaces before it"), "{checked}");
    assert!(checked.contains("4 + license: MIT") && !checked.contains("in quotes"), "{checked}");
    // Text that only looks like a key is part of the value above.
    let text = "---\nname: m\ndescription: Text. Use when x.\n also: this\n---\nx\n";
    let checked = place.run_with_input(&["check", "-"], text.as_bytes());
    assert!(checked.contains("put the value of description in quotes"), "{checked}");
}
