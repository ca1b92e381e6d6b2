//! What `doctor` suggests, and what it must never suggest or write.

use super::*;

#[test]
fn fix_does_not_write_through_a_link_that_leads_out_of_the_project() {
    let loose = skill("secret", &format!("Use when: {}", own_words(1, 8)));
    for linked in ["work/.github/skills/secret/SKILL.md", "work/.github/skills/secret"] {
        let place = place(&[("home/priv/secret/SKILL.md", &loose)], &[".copilot"]);
        let (link, target) = match linked.strip_suffix("/SKILL.md") {
            Some(folder) => {
                fs::create_dir_all(place.path().join(folder)).unwrap();
                (linked, "home/priv/secret/SKILL.md")
            }
            None => {
                fs::create_dir_all(place.path().join("work/.github/skills")).unwrap();
                (linked, "home/priv/secret")
            }
        };
        symlink(place.path().join(target), place.path().join(link)).unwrap();
        let report = examined(&place);
        assert_eq!(report["summary"]["safe"], 0, "{report:#}");
        let output = doctor(&place, &["--fix", "--yes"]);
        assert_eq!(fs::read_to_string(place.path().join("home/priv/secret/SKILL.md")).unwrap(), loose);
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(said.contains("nothing that can be fixed without you"), "{said}");
    }
    // One of the project itself is fixed, also through a link that stays in it.
    let place = place(&[("work/kept/secret/SKILL.md", &loose)], &[".copilot"]);
    fs::create_dir_all(place.path().join("work/.github/skills")).unwrap();
    symlink("../../kept/secret", place.path().join("work/.github/skills/secret")).unwrap();
    doctor(&place, &["--fix", "--yes"]);
    let fixed = fs::read_to_string(place.path().join("work/kept/secret/SKILL.md")).unwrap();
    assert!(fixed.contains("description: 'Use when: "), "{fixed}");
}

#[test]
fn no_command_removes_or_moves_a_folder_of_skills_for_a_skill_directly_in_it() {
    let place = place(
        &[
            ("home/.copilot/skills/SKILL.md", &skill("pdf", &own_words(1, 8))),
            ("home/.copilot/skills/other/SKILL.md", &skill("other", &own_words(2, 8))),
            ("home/.claude/skills/pdf/SKILL.md", &skill("pdf", &own_words(3, 8))),
            ("home/.kiro/skills/SKILL.md", &skill("lonely", &own_words(4, 8))),
        ],
        &[".copilot", ".claude"],
    );
    let report = examined(&place);
    let troubles = report["troubles"].as_array().unwrap();
    assert!(troubles.iter().any(|trouble| text(trouble, "kind") == "copy-differs"), "{report:#}");
    for trouble in troubles {
        for command in trouble["fix"]["commands"].as_array().unwrap() {
            let command = command.as_str().unwrap();
            for word in command.split(' ') {
                let is_root = word.ends_with(".copilot/skills") || word.ends_with(".kiro/skills");
                assert!(!is_root || command.starts_with("mkdir"), "{command}");
            }
        }
    }
}

#[test]
fn words_that_come_before_a_command_are_not_lost_in_lines() {
    let place = place(
        &[
            ("home/.claude/skills/pdf/SKILL.md", &skill("pdf", &own_words(1, 8))),
            ("home/.codex/skills/pdf/SKILL.md", &skill("pdf", &own_words(2, 8))),
        ],
        &[".claude", ".codex"],
    );
    let said = |clients: &str| {
        let output = doctor(&place, &["--client", clients]);
        place.transcript(&output).lines().find(|line| line.contains("copy-differs")).unwrap().to_owned()
    };
    assert_snapshot!(said("claude-code,codex"), @"warning: copy-differs: pdf: [DIR]/home/.codex/skills/pdf: differs in 1 line from ~/.claude/skills/pdf, which Claude Code lists; this one Codex lists; see: diff -r [DIR]/home/.claude/skills/pdf [DIR]/home/.codex/skills/pdf; hint: compare them, then keep the right one and remove the other, or rename one if you need both");
    // The order of the clients does not decide which of the two is replaced.
    assert_eq!(
        said("claude-code,codex").split("; fix: ").nth(1),
        said("codex,claude-code").split("; fix: ").nth(1)
    );
    // A fix is a command.
    let place = Place::with(&[("work/x", ""), ("home/.config/x", "")]);
    programs(&place);
    let said = place.transcript(&doctor(&place, &[]));
    assert!(said.contains("git-missing: git is in no folder of PATH; hint: install git"), "{said}");
}

#[test]
fn a_skill_that_one_client_lists_twice_is_named() {
    let same = skill("ident", &own_words(1, 8));
    let place = place(
        &[("home/.codex/skills/ident/SKILL.md", &same), ("home/.agents/skills/ident/SKILL.md", &same)],
        &[".codex"],
    );
    let report = examined(&place);
    let trouble = &report["troubles"][0];
    assert_eq!(text(trouble, "kind"), "copy-identical", "{report:#}");
    run_as_printed(&place, trouble["fix"]["commands"][0].as_str().unwrap());
    assert!(place.path().join("home/.agents/skills/ident").exists());
    let left = examined(&place);
    assert!(!left.to_string().contains("copy-identical"), "{left:#}");
}

#[test]
fn no_command_removes_or_replaces_a_copy_that_differs() {
    // Not by a copy of a project that is not trusted, not an installed one, and not in the order of the clients.
    let place = place(
        &[
            ("src/pdf/SKILL.md", &skill("pdf", &own_words(1, 8))),
            ("home/.claude/skills/pdf/SKILL.md", &skill("pdf", &own_words(2, 8))),
            ("home/.agents/skills/q/SKILL.md", &skill("q", &own_words(3, 8))),
            ("work/.agents/skills/q/SKILL.md", &skill("q", &own_words(4, 8))),
            ("home/.agents/skills/same/SKILL.md", &skill("same", &own_words(5, 8))),
            ("work/.agents/skills/same/SKILL.md", &skill("same", &own_words(5, 8))),
        ],
        &[".claude", ".codex"],
    );
    let program = place.path().join("bin/prowess");
    let added = command(&place, &program).args(["add", "../src/pdf", "--user", "--yes"]).output().unwrap();
    assert!(added.status.success(), "{}", place.transcript(&added));
    let report = examined(&place);
    let troubles = report["troubles"].as_array().unwrap();
    let differing: Vec<&Value> =
        troubles.iter().filter(|trouble| text(trouble, "kind") == "copy-differs").collect();
    assert_eq!(differing.len(), 2, "{report:#}");
    for trouble in &differing {
        assert_eq!(trouble["fix"]["commands"], serde_json::json!([]), "{trouble:#}");
        assert!(text(trouble, "look").starts_with("diff -r "), "{trouble:#}");
    }
    // Of identical copies, the user's own stays.
    let own = place.path().join("home/.agents/skills/same");
    assert!(!report.to_string().contains(&format!("rm -r {}", own.display())), "{report:#}");
    // The project's stays too: its other users may need it.
    assert!(
        report.to_string().contains("keep both: the project has other users")
            && !report.to_string().contains("rm -r"),
        "{report:#}"
    );
}

#[test]
fn a_link_in_place_of_the_own_configuration_that_leads_to_nothing_is_an_error() {
    let place = place(&[("home/.claude/skills/a/SKILL.md", &skill("a", &own_words(1, 8)))], &[".claude"]);
    fs::create_dir_all(place.path().join("config/prowess")).unwrap();
    symlink("../gone", place.path().join("config/prowess/prowess.toml")).unwrap();
    let report = examined(&place);
    assert!(report.to_string().contains("config-broken"), "{report:#}");
    let program = place.path().join("bin/prowess");
    let listed = command(&place, &program).arg("list").output().unwrap();
    assert_eq!(code(&listed), 2, "{}", place.transcript(&listed));
}

#[test]
fn a_skill_that_a_connected_client_gets_is_not_unseen() {
    let place =
        place(&[("home/.agents/skills/tidy/SKILL.md", &skill("tidy", &own_words(1, 8)))], &[".claude"]);
    let before = place.transcript(&doctor(&place, &[]));
    assert!(
        before.contains("skill-unseen") && before.contains("prowess connect claude-code --write"),
        "{before}"
    );
    let program = place.path().join("bin/prowess");
    command(&place, &program).args(["connect", "claude-code", "--write"]).output().unwrap();
    let after = place.transcript(&doctor(&place, &[]));
    assert!(!after.contains("skill-unseen"), "{after}");
    // An entry that serves a part, or that is switched off, does not give it the skill.
    let file = place.path().join("home/.claude.json");
    let connected = fs::read_to_string(&file).unwrap();
    for changed in [
        connected.replace("\"serve\"", "\"serve\", \"--only\", \"x\""),
        connected.replace("\"args\"", "\"disabled\": true, \"args\""),
    ] {
        assert_ne!(changed, connected);
        fs::write(&file, changed).unwrap();
        let said = place.transcript(&doctor(&place, &[]));
        assert!(said.contains("skill-unseen"), "{said}");
    }
}

#[test]
fn skills_that_move_to_one_place_do_not_get_the_same_command() {
    let place = place(
        &[
            ("home/.claude/skills/t1/x/SKILL.md", &skill("x", &own_words(1, 8))),
            ("home/.claude/skills/t2/x/SKILL.md", &skill("x", &own_words(2, 8))),
        ],
        &[".claude"],
    );
    let report = examined(&place);
    let commands: Vec<&str> = report["troubles"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|trouble| trouble["fix"]["commands"].as_array().unwrap())
        .filter_map(Value::as_str)
        .filter(|command| command.ends_with("/skills/x"))
        .collect();
    assert_eq!(commands.len(), 1, "{report:#}");
}

#[test]
fn a_project_gets_links_that_work_in_every_clone_and_installed_skills_one_command() {
    let place = place(
        &[
            ("work/.kiro/skills/lonely/SKILL.md", &skill("lonely", &own_words(1, 8))),
            ("src/inst/SKILL.md", &skill("inst", &own_words(2, 8))),
        ],
        &[".claude"],
    );
    let program = place.path().join("bin/prowess");
    let added = command(&place, &program).args(["add", "../src/inst", "--yes"]).output().unwrap();
    assert!(added.status.success(), "{}", place.transcript(&added));
    let said = place.transcript(&doctor(&place, &[]));
    assert!(said.contains("ln -s ../../.kiro/skills/lonely "), "{said}");
    assert!(said.contains("fix: prowess sync --client claude-code"), "{said}");
}

#[test]
fn a_skill_file_that_is_a_folder_or_a_loop_is_named() {
    let place = place(&[("home/.claude/skills/c/SKILL.md/x", "")], &[".claude"]);
    fs::create_dir_all(place.path().join("home/.claude/skills/loop")).unwrap();
    symlink("SKILL.md", place.path().join("home/.claude/skills/loop/SKILL.md")).unwrap();
    let said = place.transcript(&doctor(&place, &[]));
    assert!(said.contains("its SKILL.md is a folder"), "{said}");
    assert!(!said.contains("edit its SKILL.md"), "{said}");
}

#[test]
fn a_skill_whose_source_a_client_lists_is_not_unseen() {
    let place = place(&[("home/.claude/skills/cl/SKILL.md", &skill("cl", &own_words(1, 8)))], &[".claude"]);
    with_git(&place);
    let program = place.path().join("bin/prowess");
    let add = ["add", "../home/.claude/skills/cl", "--user", "--yes"];
    let added = command(&place, &program).args(add).output().unwrap();
    assert!(added.status.success(), "{}", place.transcript(&added));
    let report = examined(&place);
    assert!(!report.to_string().contains("skill-unseen"), "{report:#}");
}

#[test]
fn what_a_project_wishes_is_no_command_that_changes_settings_of_the_user() {
    let place = place(
        &[
            ("home/.claude/skills/mine/SKILL.md", &skill("mine", &own_words(1, 8))),
            ("work/prowess.toml", "[skills]\ndisable = [\"mine\"]\n"),
            ("config/prowess/prowess.toml", "[skills]\ndisable = [\"old-pdf\"]\n"),
        ],
        &[".claude"],
    );
    let report = examined(&place);
    let troubles = report["troubles"].as_array().unwrap();
    let ignored: Vec<&Value> =
        troubles.iter().filter(|other| text(other, "kind") == "config-ignored").collect();
    assert!(!ignored.is_empty(), "{report:#}");
    assert!(!report.to_string().contains("config set"), "{report:#}");
}
