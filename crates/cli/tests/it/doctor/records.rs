//! Records and approvals that are damaged, of a newer version, or of skills whose edits were accepted.

use super::*;

/// A home with two installed skills and one that its user wrote.
fn installed() -> Place {
    let place = place(
        &[
            ("src/one/SKILL.md", &skill("one", &own_words(1, 8))),
            ("src/two/SKILL.md", &skill("two", &own_words(2, 8))),
        ],
        &[".codex"],
    );
    with_git(&place);
    prowess(&place, &["add", "../src", "--all", "--user", "--yes"]);
    place.write("home/.agents/skills/mine/SKILL.md", skill("mine", &own_words(3, 8)).as_bytes());
    place
}

fn prowess(place: &Place, args: &[&str]) -> Output {
    let output = command(place, &place.path().join("bin/prowess")).args(args).output().unwrap();
    assert_eq!(code(&output), 0, "{args:?}: {}", place.transcript(&output));
    output
}

fn kinds(report: &Value) -> Vec<&str> {
    report["troubles"].as_array().unwrap().iter().map(|trouble| text(trouble, "kind")).collect()
}

#[test]
fn damaged_records_are_one_trouble_whatever_the_damage() {
    let place = installed();
    assert_eq!(kinds(&examined(&place)), Vec::<&str>::new());
    for (file, damaged) in [
        ("skills.lock", "{{"),
        ("skills.lock", "[[skill]]\n"),
        ("skills.lock", "{\"version\":1}"),
        ("skills.lock", ""),
        ("skills.lock", "version = 99\n"),
        ("skills.toml", "{{"),
    ] {
        let path = place.path().join("home/.agents").join(file);
        let whole = fs::read(&path).unwrap();
        fs::write(&path, damaged).unwrap();
        let report = examined(&place);
        assert_eq!(kinds(&report), ["records-broken"], "{damaged}: {report:#}");
        fs::write(&path, whole).unwrap();
    }
    place.write("home/.agents/skills.lock", b"{{");
    let report = examined(&place);
    let what = text(&report["troubles"][0], "what");
    assert!(what.ends_with("; until it can be read, 1 skill is withheld"), "{what}");
}

#[test]
fn what_stops_every_command_that_installs_is_a_trouble() {
    let place = installed();
    let install = place.path().join("state/prowess/install");
    let lock = fs::read_dir(&install).unwrap().map(|entry| entry.unwrap().path());
    let lock = lock.into_iter().find(|file| file.extension().is_some_and(|end| end == "lock")).unwrap();
    let toml = place.path().join("home/.agents/skills.toml");
    let program = place.path().join("bin/prowess");
    for (file, is_folder) in [
        (toml.clone(), false),
        (toml, true),
        (place.path().join("home/.agents/skills.lock"), true),
        (lock.clone(), true),
        (lock.with_extension("stages"), true),
        (place.path().join("state/prowess/trust.lock"), true),
    ] {
        let aside = place.path().join("aside");
        let was_there = fs::rename(&file, &aside).is_ok();
        if is_folder {
            fs::create_dir(&file).unwrap();
        }
        let report = examined(&place);
        assert!(kinds(&report).contains(&"records-broken"), "{}: {report:#}", file.display());
        let hint = text(&report["troubles"][0]["fix"], "what");
        assert!(!hint.is_empty() && hint != "run the command again", "{}: {report:#}", file.display());
        let output = command(&place, &program).args(["remove", "one", "--user"]).output().unwrap();
        assert_eq!(code(&output), 2, "{}: {}", file.display(), place.transcript(&output));
        if is_folder {
            fs::remove_dir(&file).unwrap();
        }
        if was_there {
            fs::rename(&aside, &file).unwrap();
        }
    }
    assert_eq!(kinds(&examined(&place)), Vec::<&str>::new());
}

#[test]
fn files_with_the_names_of_records_in_the_users_own_folder_stop_nothing_there() {
    let place = installed();
    for name in ["skills.toml", "skills.lock"] {
        place.write(&format!("home/{name}"), b"{{");
    }
    let program = place.path().join("bin/prowess");
    let mut remove = command(&place, &program);
    let output = remove.current_dir(place.path().join("home")).args(["remove", "one", "--user"]).output();
    let output = output.unwrap();
    assert_eq!(code(&output), 0, "{}", place.transcript(&output));
}

#[test]
fn an_installed_skill_that_was_broken_by_an_edit_is_restored_by_the_fix() {
    let place = installed();
    place.write("home/.agents/skills/one/SKILL.md", b"no frontmatter\n");
    let report = examined(&place);
    assert_eq!(kinds(&report), ["skill-broken", "installed-differs"], "{report:#}");
    assert_eq!(report["troubles"][0]["fix"]["commands"][0], "prowess sync --overwrite --user");
    run_as_printed(&place, "prowess sync --overwrite --user");
    assert_eq!(kinds(&examined(&place)), Vec::<&str>::new());
}

#[test]
fn an_installed_skill_that_could_not_be_compared_gets_no_command_that_removes_it() {
    let place = place(&[("src/one/SKILL.md", &skill("one", &own_words(1, 8)))], &[".codex"]);
    with_git(&place);
    prowess(&place, &["add", "../src/one", "--client", "claude-code", "--yes"]);
    place.write("work/.agents/skills/one/SKILL.md", b"no frontmatter\n");
    // The folder of a client that leads out of its project is an error.
    fs::remove_dir_all(place.path().join("work/.claude/skills")).unwrap();
    symlink(place.path().join("src"), place.path().join("work/.claude/skills")).unwrap();
    let report = examined(&place);
    assert!(kinds(&report).contains(&"records-broken"), "{report:#}");
    let broken =
        report["troubles"].as_array().unwrap().iter().find(|one| text(one, "kind") == "skill-broken");
    assert_eq!(broken.unwrap()["fix"]["commands"], Value::Array(Vec::new()), "{report:#}");
}

#[test]
fn trust_in_a_folder_of_the_users_own_skills_is_refused() {
    let place = installed();
    let own = place.path().join("home/.agents/skills");
    let program = place.path().join("bin/prowess");
    let output = command(&place, &program).args(["trust", own.to_str().unwrap(), "--yes"]).output().unwrap();
    assert_snapshot!(place.transcript(&output), @"
    exit 2
    --- stderr
    error: the skills in this folder are your own, and need no trust: [DIR]/home/.agents/skills
      hint: an installed skill that changed is trusted by its name: prowess trust NAME
    ");
}

#[test]
fn edits_that_were_accepted_are_no_trouble() {
    let place = installed();
    place.write("home/.agents/skills/one/extra.md", b"edited\n");
    let report = examined(&place);
    assert_eq!(kinds(&report), ["installed-differs"]);
    let fix = text(&report["troubles"][0]["fix"], "what");
    let (_, printed) = fix.rsplit_once("or accept them with: ").unwrap();
    run_as_printed(&place, &format!("{printed} --yes"));
    assert_eq!(kinds(&examined(&place)), Vec::<&str>::new());
    // Later edits are new.
    place.write("home/.agents/skills/one/extra.md", b"edited again\n");
    assert_eq!(kinds(&examined(&place)), ["installed-differs"]);
}

#[test]
fn a_link_out_of_an_untrusted_project_is_about_trust_and_its_hint_is_whole() {
    let place = place(&[("elsewhere/far/SKILL.md", &skill("far", "Is far."))], &[".claude"]);
    with_git(&place);
    fs::create_dir_all(place.path().join("work/.claude/skills")).unwrap();
    symlink(place.path().join("elsewhere/far"), place.path().join("work/.claude/skills/far")).unwrap();
    let report = examined(&place);
    let trouble = &report["troubles"][0];
    assert_eq!(text(trouble, "kind"), "skill-untrusted", "{report:#}");
    assert_eq!(text(&trouble["fix"], "what"), "trust the project's folder");
    run_as_printed(&place, &format!("{} --yes", trouble["fix"]["commands"][0].as_str().unwrap()));
    assert_eq!(kinds(&examined(&place)), Vec::<&str>::new());
}

#[test]
fn a_file_of_a_newer_version_is_not_thrown_away() {
    let place = place(&[], &[".claude"]);
    with_git(&place);
    place.write("state/prowess/connections.json", br#"{"version": 2, "connections": []}"#);
    let report = examined(&place);
    assert_eq!(kinds(&report), ["connections-broken"]);
    assert_eq!(report["troubles"][0]["fix"]["commands"], Value::Array(Vec::new()), "{report:#}");
    fs::remove_file(place.path().join("state/prowess/connections.json")).unwrap();
    // Damaged approvals are moved away, and nothing is lost.
    for damaged in ["{", "{{"] {
        place.write("state/prowess/trust.json", damaged.as_bytes());
        let report = examined(&place);
        assert_eq!(kinds(&report), ["approvals-broken"], "{report:#}");
        run_as_printed(&place, report["troubles"][0]["fix"]["commands"][0].as_str().unwrap());
        assert_eq!(kinds(&examined(&place)), Vec::<&str>::new());
    }
    let kept = ["trust.json.broken", "trust.json.broken-2"];
    let kept = kept.map(|name| fs::read_to_string(place.path().join("state/prowess").join(name)).unwrap());
    assert_eq!(kept, ["{", "{{"]);
    place.write("state/prowess/trust.json", br#"{"version": 2, "folders": [], "skills": []}"#);
    let report = examined(&place);
    assert_eq!(report["troubles"][0]["fix"]["commands"], Value::Array(Vec::new()), "{report:#}");
}

#[test]
fn an_identical_copy_of_an_accepted_skill_in_the_folder_of_another_client_is_accepted() {
    let place = place(&[("src/one/SKILL.md", &skill("one", &own_words(1, 8)))], &[".claude", ".codex"]);
    with_git(&place);
    let copy = "home/.codex/skills/one/SKILL.md";
    place.write(copy, skill("one", &own_words(1, 8)).as_bytes());
    prowess(
        &place,
        &["add", "../src/one", "--user", "--client", "claude-code", "--client", "codex", "--yes"],
    );
    let report = examined(&place);
    assert_eq!(kinds(&report), ["copy-identical"], "{report:#}");
    // Other bytes are not accepted, and neither are those in the place of an approval.
    for (path, expected) in
        [(copy, "skill-untrusted"), ("home/.agents/skills/one/SKILL.md", "installed-differs")]
    {
        let whole = fs::read(place.path().join(path)).unwrap();
        place.write(path, skill("one", &own_words(2, 8)).as_bytes());
        let report = examined(&place);
        assert!(kinds(&report).contains(&expected), "{path}: {report:#}");
        place.write(path, &whole);
    }
}

#[test]
fn a_file_with_the_name_of_an_unfinished_one_stays_in_a_project() {
    let name = ".agents/skills/.prowess-0123456789abcdef.tmp";
    let place =
        place(&[(&format!("work/{name}"), "precious"), (&format!("home/{name}"), "mine")], &[".codex"]);
    with_git(&place);
    fs::create_dir_all(place.path().join("home/.git")).unwrap();
    let report = examined(&place);
    assert_eq!(kinds(&report), ["install-leftover", "install-leftover"], "{report:#}");
    let said = doctor(&place, &["--fix", "--yes"]);
    for folder in ["work", "home"] {
        assert!(place.path().join(folder).join(name).exists(), "{}", place.transcript(&said));
    }
    fs::remove_dir(place.path().join("home/.git")).unwrap();
    // Nor one in a repository that the folder is linked into.
    fs::create_dir_all(place.path().join("dotfiles/.git")).unwrap();
    fs::rename(place.path().join("home/.agents"), place.path().join("dotfiles/agents")).unwrap();
    std::os::unix::fs::symlink(place.path().join("dotfiles/agents"), place.path().join("home/.agents"))
        .unwrap();
    doctor(&place, &["--fix", "--yes"]);
    assert!(place.path().join("home").join(name).exists());
    fs::remove_file(place.path().join("home/.agents")).unwrap();
    fs::rename(place.path().join("dotfiles/agents"), place.path().join("home/.agents")).unwrap();
    doctor(&place, &["--fix", "--yes"]);
    assert!(place.path().join("work").join(name).exists() && !place.path().join("home").join(name).exists());
}

#[test]
fn a_damaged_record_of_connections_is_moved_away_and_never_removed() {
    let place = place(&[("state/prowess/connections.json", "{")], &[".codex"]);
    let report = examined(&place);
    let trouble = &report["troubles"][0];
    assert_eq!(text(trouble, "kind"), "connections-broken", "{report:#}");
    let printed = trouble["fix"]["commands"][0].as_str().unwrap();
    assert!(printed.starts_with("mv "), "{printed}");
    let mended = Command::new("/bin/sh").args(["-c", printed]).status().unwrap();
    assert!(mended.success() && place.path().join("state/prowess/connections.json.broken").exists());
}

#[test]
fn two_skills_of_one_name_stop_no_examination_and_the_error_names_the_setting() {
    let place = place(
        &[
            ("home/.agents/skills/c/SKILL.md", &skill("c", &own_words(1, 8))),
            ("home/.codex/skills/c/SKILL.md", &skill("c", &own_words(2, 8))),
            ("config/prowess/prowess.toml", "[skills]\nduplicates = \"error\"\n"),
        ],
        &[".codex"],
    );
    let report = examined(&place);
    assert!(kinds(&report).contains(&"copy-differs"), "{report:#}");
    let listed = command(&place, &place.path().join("bin/prowess")).arg("list").output().unwrap();
    let said = place.transcript(&listed);
    assert!(said.starts_with("exit 2") && said.contains("prowess config unset skills.duplicates"), "{said}");
}
