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

#[test]
fn no_command_removes_a_copy_of_a_skill_that_has_no_folder_of_its_own() {
    let same = skill("ident", &own_words(1, 8));
    for (root, folder) in [(".agents", ".codex"), (".codex", ".agents")] {
        let kept = format!("home/{root}/skills/SKILL.md");
        let copy = format!("home/{folder}/skills/ident");
        let place = place(&[(&kept, &same), (&format!("{copy}/SKILL.md"), &same)], &[".codex"]);
        let work = place.path().join(&copy).join(".git/refs/heads");
        fs::create_dir_all(&work).unwrap();
        fs::write(work.join("mywork"), "0123\n").unwrap();
        let report = examined(&place);
        assert_eq!(commands(&report).iter().find(|command| command.contains("rm ")), None, "{report:#}");
        for args in [&["why", "ident"][..], &["list", "--all"]] {
            let said = said_by(&place, args);
            assert!(!said.contains("identical copy") && !said.contains("remove this copy"), "{said}");
        }
    }
}

/// The skill of Codex is installed for the user, from where it is.
fn installed_from_codex() -> Place {
    let same = skill("ident", &own_words(1, 8));
    let place = place(&[("home/.codex/skills/ident/SKILL.md", &same)], &[".codex"]);
    let added = said_by(&place, &["add", "../home/.codex/skills/ident", "--user", "--yes"]);
    assert!(added.starts_with("exit 0\n"), "{added}");
    place
}

#[test]
fn a_copy_from_which_a_skill_was_installed_is_kept_when_the_records_are_lost() {
    let toml = "home/.agents/skills.toml";
    let written = [
        "[skills]\nident = \"~/.codex/skills/ident\"\n",
        "[skills]\nident = { path = \"../.codex/skills/ident\" }\n",
        "[skills]\nother = \"~/.codex/skills/ident\"\n",
        "[skills]\nident = \"@org/ident\"\n",
    ];
    let gone = [None, Some("")].into_iter().chain(written.map(Some));
    for records in [None].into_iter().chain(gone.map(Some)) {
        let place = installed_from_codex();
        fs::remove_file(place.path().join("home/.agents/skills.lock")).unwrap();
        match records {
            None => {}
            Some(None) => fs::remove_file(place.path().join(toml)).unwrap(),
            Some(Some(text)) => place.write(toml, text.as_bytes()),
        }
        let report = examined(&place);
        assert_eq!(
            commands(&report).iter().find(|command| command.contains("rm ")),
            None,
            "{records:?}: {report:#}"
        );
        let said = said_by(&place, &["why", "ident"]);
        assert!(!said.contains("remove this copy"), "{records:?}: {said}");
    }
}

#[test]
fn a_copy_is_kept_while_skills_toml_cannot_be_read() {
    let place = installed_from_codex();
    fs::remove_file(place.path().join("home/.agents/skills.lock")).unwrap();
    place.write("home/.agents/skills.toml", b"[skills\n");
    let report = examined(&place);
    assert_eq!(commands(&report).iter().find(|command| command.contains("rm ")), None, "{report:#}");
}

#[test]
fn a_copy_that_a_configuration_names_or_another_project_is_installed_from_is_kept() {
    let kept = |place: &Place, why: &str| {
        let report = examined(place);
        assert_eq!(commands(&report).iter().find(|command| command.contains("rm ")), None, "{report:#}");
        assert!(report.to_string().contains(why), "{report:#}");
        let said = said_by(place, &["why", "ident"]);
        assert!(!said.contains("remove this copy"), "{said}");
    };
    let place = twins();
    assert!(commands(&examined(&place)).iter().any(|command| command.contains("rm ")));
    for named in ["~/.codex/skills/ident", "~/.codex/skills", "~/.codex/skills/ident/SKILL.md"] {
        let config = format!("[[skills.sources]]\ndir = \"{named}\"\nprefix = \"mine\"\n");
        place.write("config/prowess/prowess.toml", config.as_bytes());
        let report = examined(&place);
        assert_eq!(commands(&report).iter().find(|command| command.contains("rm -r")), None, "{report:#}");
    }
    let config = "[[skills.sources]]\ndir = \"~/.codex/skills/ident\"\nprefix = \"mine\"\n";
    place.write("config/prowess/prowess.toml", config.as_bytes());
    kept(&place, "prowess.toml names it as a source");
    fs::remove_dir_all(place.path().join("config")).unwrap();
    // The project is another one than that of the current folder.
    fs::create_dir_all(place.path().join("other/.git")).unwrap();
    let program = place.path().join("bin/prowess");
    let add = ["add", "../home/.codex/skills/ident", "--yes"];
    let added = command(&place, &program).current_dir(place.path().join("other")).args(add).output().unwrap();
    assert_eq!(code(&added), 0, "{}", place.transcript(&added));
    kept(&place, "an installed skill comes from it, ident in ");
}
