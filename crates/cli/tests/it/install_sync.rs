//! `sync`: what it shows and asks before it reads a source, and what it never installs without consent.

use std::fs;

use insta::{allow_duplicates, assert_snapshot};

use crate::Place;
use crate::install::{place, read, say, skill};
use crate::shelf::{json_of, run};
use crate::terminal::Terminal;

/// The project `project` beside the skills of [`place`], which names some of them.
fn project(toml: &str) -> Place {
    let place = place();
    place.write("project/skills.toml", toml.as_bytes());
    place
}

fn in_project<'a>(args: &[&'a str]) -> Vec<&'a str> {
    args.iter().copied().chain(["--project", "project"]).collect()
}

#[test]
fn a_source_outside_of_the_project_is_read_only_with_consent() {
    let place = project("[skills]\npdf = { path = \"../from/pdf\" }\n");
    for command in
        [&["sync"][..], &["sync", "--dry-run"], &["sync", "--fetch-only"], &["sync", "--lock-only"]]
    {
        allow_duplicates! {
        assert_snapshot!(say(&place, &in_project(command)), @"
        exit 2
        --- stderr
        from [DIR]/from/pdf
        error: skills.toml names a source that needs your consent, so nothing was read: pdf: [DIR]/from/pdf: it is outside of the project
          hint: look at skills.toml, then accept its sources with --yes
        ");
        }
        assert!(!place.path().join("project/.agents").exists() && !place.path().join("cache").exists());
    }
    assert_snapshot!(say(&place, &in_project(&["sync", "--yes"])), @"
    exit 0
    --- stdout
    + pdf  [DIR]/from/pdf
    wrote [DIR]/project/skills.lock
    --- stderr
    from [DIR]/from/pdf
    fetched 1 skill in [N] ms
    pdf  2 files, 84 bytes
      can be run  scripts/run.sh
      asks for tools  Read
    installed 1 skill in [N] ms
    ");
    // What was accepted by its digest is installed again without a question.
    fs::remove_dir_all(place.path().join("project/.agents")).unwrap();
    let said = say(&place, &in_project(&["sync", "--frozen"]));
    assert!(said.starts_with("exit 0") && said.contains("+ pdf"), "{said}");
}

#[test]
fn private_names_in_a_cloned_manifest_are_contacted_only_with_consent() {
    let place = place();
    for host in [
        "git.corp",
        "nas.home",
        "nas.lan",
        "wiki.intranet",
        "git.internal",
        "git.private",
        "ci.test",
        "printer.local",
        "x.localhost",
        "localhost.localdomain",
        "git.home.arpa",
        "fritz.box",
        "nas.fritz.box",
        "x.invalid",
        "x.example",
        "x.onion",
        "x.alt",
        "server",
    ] {
        place.write(
            "skills.toml",
            format!("[skills]\npdf = {{ git = \"https://{host}/x.git\" }}\n").as_bytes(),
        );
        let said = run(&place, &["sync"]);
        let why = format!(
            "needs your consent, so nothing was read: pdf: https://{host}/x.git: it is a host of this machine or of your network"
        );
        assert!(said.starts_with("exit 2") && said.contains(&why), "{host}: {said}");
    }
}

#[test]
fn every_place_that_only_its_user_can_reach_needs_consent() {
    for entry in [
        "{ path = \"../from/pdf\" }",
        "{ path = \"~/secret\" }",
        "{ path = \"/etc/skills\" }",
        "\"../from/pdf\"",
        "{ path = \"link\" }",
        "{ git = \"file:///srv/skills.git\" }",
        "{ git = \"http://localhost:1/x.git\" }",
        "{ git = \"https://192.168.0.1/x.git\", ref = \"v1\" }",
        "{ git = \"ssh://git@internal-host/x.git\" }",
        "\"git@10.0.0.1:x.git\"",
    ] {
        let place = project(&format!("[skills]\npdf = {entry}\n"));
        std::os::unix::fs::symlink("../from/pdf", place.path().join("project/link")).unwrap();
        let said = run(&place, &in_project(&["sync"]));
        assert!(said.starts_with("exit 2") && said.contains("needs your consent"), "{entry}: {said}");
        assert!(!place.path().join("cache").exists(), "{entry}: nothing is fetched");
    }
}

#[test]
fn a_ref_in_skills_toml_is_no_refspec_and_no_option() {
    for reference in ["+a:b", "*", "^x", "--upload-pack=touch x"] {
        let entry = format!("[skills]\npdf = {{ git = \"file:///srv/x.git\", ref = \"{reference}\" }}\n");
        let place = project(&entry);
        let said = run(&place, &in_project(&["sync", "--yes"]));
        assert!(said.starts_with("exit 2") && said.contains("cannot be installed: pdf: "), "{said}");
        assert!(!place.path().join("cache").exists(), "nothing is fetched");
    }
}

#[test]
fn without_a_terminal_nothing_is_installed_that_was_not_accepted() {
    let place = project("[skills]\nnotes = { path = \"own/notes\" }\n");
    place.write("project/own/notes/SKILL.md", skill("notes", "one").as_bytes());
    assert_snapshot!(say(&place, &in_project(&["sync"])), @"
    exit 2
    --- stderr
    fetched 1 skill in [N] ms
    notes  1 file, 69 bytes
      asks for tools  Read
    error: there is no terminal to ask for your consent, so nothing was installed or trusted
      hint: look at it with --dry-run, then accept it with --yes
    ");
    assert!(!place.path().join("project/.agents/skills/notes").exists());
    assert!(!place.path().join("project/skills.lock").exists());
    assert_snapshot!(say(&place, &in_project(&["sync", "--dry-run"])), @"
    exit 0
    --- stdout
    notes  1 file, 69 bytes
      asks for tools  Read
    + notes  [DIR]/project/own/notes
    would write [DIR]/project/skills.lock
    nothing was changed
    --- stderr
    fetched 1 skill in [N] ms
    without --dry-run this needs your consent: on a terminal it asks, elsewhere it needs --yes
    ");
    let json = json_of(&place, &in_project(&["sync", "--dry-run", "--json"]));
    assert_eq!(json["skills"][0]["preview"]["tools"], serde_json::json!(["Read"]));
    // Writing the lock installs nothing, so it needs no consent.
    let said = run(&place, &in_project(&["sync", "--lock-only"]));
    assert!(said.starts_with("exit 0"), "{said}");
    assert!(!place.path().join("project/.agents/skills/notes").exists());
    assert!(run(&place, &in_project(&["sync", "--frozen"])).starts_with("exit 2"));
    assert!(run(&place, &in_project(&["sync", "--frozen", "--yes"])).starts_with("exit 0"));
}

#[test]
fn another_source_in_skills_toml_replaces_what_was_installed() {
    let place = place();
    run(&place, &["add", "./from/notes", "--yes"]);
    place.write("more/notes/SKILL.md", skill("notes", "two").as_bytes());
    place.write("skills.toml", b"[skills]\nnotes = { path = \"more/notes\" }\n");
    let said = run(&place, &["sync", "--yes"]);
    assert!(said.starts_with("exit 0") && said.contains("~ notes"), "{said}");
    assert!(read(&place, ".agents/skills/notes/SKILL.md").contains("two"));
    // Something that was not installed is not taken away, and the hint names what sync has.
    fs::remove_file(place.path().join("skills.lock")).unwrap();
    place.write(".agents/skills/notes/SKILL.md", skill("notes", "mine").as_bytes());
    let said = run(&place, &["sync", "--yes"]);
    assert!(
        said.starts_with("exit 2")
            && said
                .contains("hint: move it away, leave it alone with --keep, or replace it with --overwrite"),
        "{said}"
    );
    assert!(read(&place, ".agents/skills/notes/SKILL.md").contains("mine"));
}

#[test]
fn verify_names_what_skills_toml_wants_and_was_never_installed() {
    let place = place();
    place.write("skills.toml", b"[skills]\npdf = { path = \"from/pdf\" }\n");
    assert_snapshot!(say(&place, &["verify"]), @"
    exit 1
    --- stdout
    pdf  not installed; install it with: prowess sync
    1 of 1 skill not installed
    ");
    let json: serde_json::Value =
        serde_json::from_str(run(&place, &["verify", "--json"]).split_once("--- stdout\n").unwrap().1.trim())
            .unwrap();
    assert_eq!(json["not_installed"], serde_json::json!(["pdf"]));
    assert!(run(&place, &["verify", "pdf"]).starts_with("exit 1"));
    run(&place, &["sync", "--yes"]);
    assert!(run(&place, &["verify"]).starts_with("exit 0"));
}

#[test]
fn options_that_cannot_be_meant_are_errors_and_make_nothing() {
    let place = place();
    assert_snapshot!(say(&place, &["add", "./from/pdf", "--yes", "--ref", "main"]), @"
    exit 2
    --- stderr
    error: a folder has no versions: ./from/pdf: --ref main
      hint: leave out --ref, or name a git repository such as file:///folder
    ");
    assert_snapshot!(say(&place, &["add", "./from/pdf", "--yes", "--project", "nowhere"]), @"
    exit 2
    --- stderr
    error: the project is no folder that is there: nowhere
      hint: check the path behind --project, or make the folder first
    ");
    assert!(!place.path().join("nowhere").exists() && !place.path().join("skills.toml").exists());
    let said = run(&place, &["add", "./from/pdf", "--yes", "--client", "claude-cod"]);
    assert!(said.contains("did you mean claude-code"), "{said}");
    for (args, part) in [
        (["add", "o/r#v1", "--ref", "v2"], "the source names another version already: o/r#v1: --ref v2"),
        (["add", "o/r/a", "--path", "b"], "the source names another folder already: o/r/a: --path b"),
        (
            ["add", "https://github.com/o/r/tree/main/a", "--ref", "v2"],
            "names its version and its path already",
        ),
        (
            ["add", "https://github.com/o/r/tree/main/a", "--path", "b"],
            "names its version and its path already",
        ),
        (["add", "@o/r@v1", "--ref", "v2"], "it names two versions: @o/r@v1: v2"),
    ] {
        let said = run(&place, &args);
        assert!(
            said.starts_with("exit 2") && said.contains(part) && said.contains("hint: "),
            "{args:?}: {said}"
        );
    }
}

#[test]
fn a_skill_that_is_named_twice_is_removed_once_and_an_unknown_one_changes_nothing() {
    let place = place();
    run(&place, &["add", "./from", "--all", "--yes"]);
    assert_snapshot!(say(&place, &["remove", "pdf", "nope"]), @"
    exit 2
    --- stderr
    error: no skill of this name is installed for this project: nope
      hint: installed are: notes, pdf
    ");
    let said = run(&place, &["remove", "pdf", "pdf", "notes"]);
    assert!(said.starts_with("exit 0"), "{said}");
    let said = run(&place, &["remove", "pdf"]);
    assert!(
        said.contains("hint: nothing is installed for this project; see all that is with: prowess list"),
        "{said}"
    );
}

#[test]
fn a_limit_that_is_reached_names_the_skill_and_the_one_option() {
    let place = place();
    assert_snapshot!(say(&place, &["add", "./from", "--all", "--yes", "--max-files", "1"]), @"
    exit 1
    --- stdout
    + notes  from/notes
    wrote [DIR]/skills.toml
    wrote [DIR]/skills.lock
    left out: 1 skill; see above
    --- stderr
    resolved 2 skills in [N] ms
    left out: pdf: the skill has more than 1 files; raise the limit with --max-files N
    notes  1 file, 69 bytes
      asks for tools  Read
    installed 1 skill in [N] ms
    ");
    let said = run(&place, &["add", "./from", "--skill", "pdf", "--yes", "--max-files", "1"]);
    assert!(
        said.starts_with("exit 2") && said.contains("hint: raise the limit with --max-files N"),
        "{said}"
    );
}

#[cfg(target_os = "linux")]
#[test]
fn a_project_whose_path_is_not_utf_8_is_an_error_that_says_so() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let place = place();
    let project = place.path().join(OsStr::from_bytes(b"bad\xff"));
    fs::create_dir(&project).unwrap();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_prowess"));
    command.args(["add", "./from/pdf", "--yes", "--project"]).arg(&project).current_dir(place.path());
    command.env_clear().env("HOME", place.path().join("home"));
    let said = place.transcript(&command.output().unwrap());
    assert!(
        said.contains("the path of this folder is not UTF-8") && said.contains("rename the folder"),
        "{said}"
    );
}

#[test]
fn overwriting_edits_names_the_files_and_asks_first() {
    let place = project("[skills]\npdf = { path = \"from/pdf\" }\n");
    place.write("project/from/pdf/SKILL.md", skill("pdf", "one").as_bytes());
    let sync = |more: &[&'static str]| run(&place, &in_project(&[&["sync"][..], more].concat()));
    assert!(sync(&["--yes"]).starts_with("exit 0"));
    let file = "project/.agents/skills/pdf/SKILL.md";
    place.write(file, b"edited");
    let said = sync(&["--overwrite"]);
    assert!(said.starts_with("exit 2") && said.contains("pdf\n  changed  SKILL.md\n"), "{said}");
    assert!(said.contains("hint: keep them with --keep, or lose them with --overwrite --yes"), "{said}");
    let said = sync(&["--overwrite", "--dry-run"]);
    assert!(said.starts_with("exit 0") && said.contains("this needs your consent"), "{said}");
    for (answer, kept) in [("n\n", true), ("y\n", false)] {
        let Some(said) = Terminal::run(&place, "sync --overwrite --project project", answer) else { return };
        assert!(said.contains("changed  SKILL.md") && said.contains("Replace them?"), "{said}");
        assert_eq!(read(&place, file) == "edited", kept, "{said}");
    }
    // Edits in a copy for a client are edits too.
    assert!(sync(&["--client", "claude-code", "--link", "copy", "--yes"]).starts_with("exit 0"));
    place.write("project/.claude/skills/pdf/SKILL.md", b"edited");
    let said = sync(&["--overwrite"]);
    assert!(
        said.starts_with("exit 2")
            && said.contains("[DIR]/project/.claude/skills/pdf\n    changed  SKILL.md"),
        "{said}"
    );
}

#[test]
fn a_lock_that_would_change_in_its_form_is_out_of_date() {
    let place = place();
    run(&place, &["add", "./from", "--all", "--yes"]);
    let lock = read(&place, "skills.lock");
    for other in [format!("{lock}# mine\n"), format!("{lock}\n"), lock.replace("\"pdf\"", "\"\\u0070df\"")] {
        place.write("skills.lock", other.as_bytes());
        for option in ["--locked", "--frozen"] {
            let said = run(&place, &["sync", option]);
            assert!(said.starts_with("exit 1") && said.contains("so it would change"), "{said}");
            assert_eq!(read(&place, "skills.lock"), other);
        }
    }
    run(&place, &["sync"]);
    assert_eq!(read(&place, "skills.lock"), lock);
    place.write("skills.lock", lock.replace('\n', "\r\n").as_bytes());
    assert!(run(&place, &["sync", "--locked"]).starts_with("exit 0"));
}

#[test]
fn another_version_that_was_installed_before_is_no_edit() {
    let place = place();
    run(&place, &["add", "./from/pdf", "--yes"]);
    let lock = read(&place, "skills.lock");
    place.write("from/pdf/SKILL.md", skill("pdf", "two").as_bytes());
    run(&place, &["add", "./from/pdf", "--yes"]);
    place.write("skills.lock", lock.as_bytes());
    let said = run(&place, &["verify"]);
    assert!(said.starts_with("exit 1"), "{said}");
    assert!(said.contains("pdf  another version that you installed before\n"), "{said}");
    assert!(said.contains("restore with: prowess sync\n"), "{said}");
    assert!(run(&place, &["list", "--installed"]).contains("pdf  another version  "));
    crate::schemas::assert_fits("verify", &crate::shelf::json_of(&place, &["verify", "--json"]));
    run(&place, &["sync", "--yes"]);
    assert!(run(&place, &["verify"]).ends_with("1 skill as installed\n"));
}

#[test]
fn list_advises_sync_for_skills_that_the_lock_names() {
    let place = place();
    run(&place, &["add", "./from", "--all", "--yes"]);
    fs::remove_dir_all(place.path().join("state")).unwrap();
    let said = run(&place, &["list"]);
    assert!(said.contains("2 not trusted: prowess sync\n"), "{said}");
}

#[test]
fn a_skill_that_no_record_names_any_more_is_named() {
    let place = place();
    run(&place, &["add", "./from/pdf", "--yes"]);
    let (toml, lock) = (read(&place, "skills.toml"), read(&place, "skills.lock"));
    run(&place, &["add", "./from/notes", "--yes"]);
    place.write(".agents/skills/own/SKILL.md", skill("own", "mine").as_bytes());
    place.write("skills.toml", toml.as_bytes());
    place.write("skills.lock", lock.as_bytes());
    for args in [&["verify"][..], &["sync"], &["list", "--installed"]] {
        let said = run(&place, args);
        assert!(
            said.contains("in no record now, but agents still use it: [DIR]/.agents/skills/notes;"),
            "{said}"
        );
        assert!(said.starts_with("exit 0") && !said.contains("skills/own"), "{said}");
    }
    run(&place, &["add", "./from/notes", "--yes", "--overwrite"]);
    assert!(!run(&place, &["verify"]).contains("in no record"));
}

#[test]
fn what_prowess_placed_for_another_branch_is_another_version_and_never_edited() {
    for (source, link) in [("git", "symlink"), ("git", "copy"), ("folder", "copy")] {
        let place = place();
        let commit = |text: &str| {
            place.write("from/pdf/SKILL.md", skill("pdf", text).as_bytes());
            if source == "git" { crate::install_git::commit(&place, "from") } else { "./from".to_owned() }
        };
        let add = |from: &str| {
            let said = run(
                &place,
                &["add", from, "--skill", "pdf", "--yes", "--client", "claude-code", "--link", link],
            );
            assert!(said.starts_with("exit 0"), "{said}");
            ["skills.toml", "skills.lock"].map(|file| (file, read(&place, file)))
        };
        let one = add(&commit("first"));
        add(&commit("second"));
        // Another branch.
        for (file, text) in one {
            place.write(file, text.as_bytes());
        }
        let said = run(&place, &["verify"]);
        assert!(said.contains("another version") && said.contains("restore with: prowess sync\n"), "{said}");
        for args in [&["verify"][..], &["why", "pdf"], &["doctor"], &["list", "--installed"]] {
            let said = run(&place, args);
            assert!(
                !said.contains("edit") && !said.contains("--overwrite"),
                "{source} {link}: {args:?}: {said}"
            );
        }
        let said = run(&place, &["why", "pdf"]);
        assert!(said.contains("another version: its files are those that you installed before"), "{said}");
        let said = run(&place, &["remove", "pdf"]);
        assert!(said.starts_with("exit 0") && !place.path().join(".agents/skills/pdf").exists(), "{said}");
        assert!(!place.path().join(".claude/skills/pdf").exists(), "{said}");
    }
}
