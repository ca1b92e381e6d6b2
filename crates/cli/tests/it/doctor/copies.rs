//! What is said about two copies of a skill, and when a command removes one.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;

use super::*;

/// One skill in two folders that Codex reads. The first one is kept.
fn twins() -> Place {
    let same = skill("ident", &own_words(1, 8));
    place(
        &[("home/.agents/skills/ident/SKILL.md", &same), ("home/.codex/skills/ident/SKILL.md", &same)],
        &[".codex"],
    )
}

fn said_by(place: &Place, args: &[&str]) -> String {
    let program = place.path().join("bin/prowess");
    place.transcript(&command(place, &program).args(args).output().unwrap())
}

/// Every command of every fix.
fn commands(report: &Value) -> Vec<String> {
    let troubles = report["troubles"].as_array().unwrap();
    let commands = troubles.iter().flat_map(|trouble| trouble["fix"]["commands"].as_array().unwrap());
    commands.map(|command| command.as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_copy_that_has_anything_besides_is_not_called_identical_and_no_command_removes_it() {
    type Planted = (&'static str, fn(&Path, &Path));
    let planted: [Planted; 11] = [
        (".git", |copy, _| {
            fs::create_dir_all(copy.join(".git/refs/heads")).unwrap();
            fs::write(copy.join(".git/refs/heads/mywork"), "0123\n").unwrap();
        }),
        // What git keeps is never compared: the same files can be different work.
        (".git", |copy, kept| {
            for folder in [copy, kept] {
                fs::write(folder.join(".git"), "gitdir: elsewhere\n").unwrap();
            }
        }),
        ("node_modules", |copy, _| {
            fs::create_dir(copy.join("node_modules")).unwrap();
            fs::write(copy.join("node_modules/mine.js"), "1\n").unwrap();
        }),
        ("dangling", |copy, _| symlink("../gone", copy.join("dangling")).unwrap()),
        ("more.md", |copy, kept| {
            fs::write(kept.join("more.md"), fs::read(kept.join("SKILL.md")).unwrap()).unwrap();
            symlink("SKILL.md", copy.join("more.md")).unwrap();
        }),
        ("fifo", |copy, _| {
            let fifo = copy.join("fifo");
            // Without the program, something else that is no part of a skill.
            if !Command::new("mkfifo").arg(&fifo).status().is_ok_and(|status| status.success()) {
                symlink("../gone", fifo).unwrap();
            }
        }),
        ("a:b", |copy, _| fs::write(copy.join("a:b"), "mine\n").unwrap()),
        ("aux.md", |copy, _| fs::write(copy.join("aux.md"), "mine\n").unwrap()),
        ("'caf\u{fffd}'", |copy, _| {
            // Where the file system refuses that name, the one that would be shown for it.
            if fs::write(copy.join(OsStr::from_bytes(b"caf\xe9")), "mine\n").is_err() {
                symlink("../gone", copy.join("caf\u{fffd}")).unwrap();
            }
        }),
        ("SKILL.md", |copy, _| {
            let file = copy.join("SKILL.md");
            fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
        }),
        ("empty", |copy, _| fs::create_dir(copy.join("empty")).unwrap()),
    ];
    for (name, plant) in planted {
        let place = twins();
        let at = |path: &str| place.path().join(path);
        plant(&at("home/.codex/skills/ident"), &at("home/.agents/skills/ident"));
        let report = examined(&place);
        assert_eq!(
            commands(&report).iter().find(|command| command.contains("rm ")),
            None,
            "{name}: {report:#}"
        );
        let said = report.to_string();
        assert!(said.contains(&format!("identical except for {name}")), "{report:#}");
        for args in [&["why", "ident"][..], &["list", "--all"]] {
            let said = said_by(&place, args);
            assert!(said.contains(&format!("identical except for {name}")), "{name}: {said}");
            assert!(!said.contains("identical copy") && !said.contains("remove this copy"), "{said}");
        }
    }
}

#[test]
fn a_command_removes_a_copy_only_while_it_is_identical() {
    let place = twins();
    let report = examined(&place);
    let [remove] = &*commands(&report) else { panic!("{report:#}") };
    let copy = place.path().join("home/.codex/skills/ident");
    fs::write(copy.join("mine.md"), "written after the command was printed\n").unwrap();
    assert!(!run_as_printed(&place, remove).status.success());
    assert!(copy.join("mine.md").exists());
    fs::remove_file(copy.join("mine.md")).unwrap();
    assert!(run_as_printed(&place, remove).status.success());
    assert!(!copy.exists() && place.path().join("home/.agents/skills/ident/SKILL.md").exists());
}

#[test]
fn a_copy_to_which_a_link_leads_or_from_which_a_skill_was_installed_is_kept() {
    let place = twins();
    fs::create_dir_all(place.path().join("home/.claude/skills")).unwrap();
    symlink("../../.codex/skills/ident", place.path().join("home/.claude/skills/ident")).unwrap();
    let report = examined(&place);
    assert_eq!(commands(&report).iter().find(|command| command.contains("rm ")), None, "{report:#}");
    let said = said_by(&place, &["why", "ident"]);
    assert!(!said.contains("remove this copy"), "{said}");
    fs::remove_dir_all(place.path().join("home/.claude")).unwrap();
    fs::remove_dir_all(place.path().join("home/.agents/skills/ident")).unwrap();
    let added = said_by(&place, &["add", "../home/.codex/skills/ident", "--user", "--yes"]);
    assert!(added.starts_with("exit 0\n"), "{added}");
    let report = examined(&place);
    assert_eq!(commands(&report).iter().find(|command| command.contains("rm ")), None, "{report:#}");
    assert!(report.to_string().contains("an installed skill comes from it"), "{report:#}");
}
