//! Installing skills: `add`, `remove`, `sync`, `verify` and `list --installed`. Long, because transcripts of whole commands
//! are.

use std::fs;
use std::process::Command;

use insta::assert_snapshot;

use crate::Place;
use crate::shelf::{json_of, run};

const RUN: &str = "#!/bin/sh\necho run\n";

pub(crate) fn skill(name: &str, text: &str) -> String {
    format!("---\nname: {name}\ndescription: Does {name}.\nallowed-tools: Read\n---\n{text}\n")
}

/// A folder with two skills to install, one of them with a script.
pub(crate) fn place() -> Place {
    let place = Place::with(&[
        ("from/pdf/SKILL.md", &skill("pdf", "one")),
        ("from/pdf/scripts/run.sh", RUN),
        ("from/notes/SKILL.md", &skill("notes", "one")),
    ]);
    let script = place.path().join("from/pdf/scripts/run.sh");
    fs::set_permissions(script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    place
}

/// What a command says, without the times.
pub(crate) fn say(place: &Place, args: &[&str]) -> String {
    without_times(&run(place, args))
}

pub(crate) fn without_times(said: &str) -> String {
    let mut words: Vec<&str> = said.split(' ').collect();
    for at in 1..words.len() {
        if words[at].starts_with("ms") && words[at - 1].bytes().all(|byte| byte.is_ascii_digit()) {
            words[at - 1] = "[N]";
        }
    }
    words.join(" ")
}

pub(crate) fn read(place: &Place, path: &str) -> String {
    fs::read_to_string(place.path().join(path)).unwrap()
}

#[test]
fn adding_shows_what_a_skill_could_do_and_asks_for_consent() {
    let place = place();
    assert_snapshot!(say(&place, &["add", "./from", "--all"]), @"
    exit 2
    --- stderr
    resolved 2 skills in [N] ms
    notes  1 file, 69 bytes
      asks for tools  Read
    pdf  2 files, 84 bytes
      can be run  scripts/run.sh
      asks for tools  Read
    error: there is no terminal to ask for your consent, so nothing was installed or trusted
      hint: look at it with --dry-run, then accept it with --yes
    ");
    assert!(!place.path().join(".agents").exists() && !place.path().join("skills.toml").exists());
    assert_snapshot!(say(&place, &["add", "./from/pdf", "--dry-run"]), @"
    exit 0
    --- stdout
    pdf  2 files, 84 bytes
      can be run  scripts/run.sh
      asks for tools  Read
    + pdf  from/pdf
    would write [DIR]/skills.toml
    would write [DIR]/skills.lock
    nothing was changed
    --- stderr
    resolved 1 skill in [N] ms
    without --dry-run this needs your consent: on a terminal it asks, elsewhere it needs --yes
    ");
    assert!(!place.path().join(".agents").exists() && !place.path().join("skills.toml").exists());
    assert_snapshot!(say(&place, &["add", "./from"]), @"
    exit 2
    --- stderr
    error: there are several skills: notes, pdf
      hint: name one with --skill NAME, or take them all with --all
    ");
}

#[test]
fn a_skill_is_added_listed_verified_and_removed() {
    let place = place();
    assert_snapshot!(say(&place, &["add", "./from", "--all", "--yes"]), @"
    exit 0
    --- stdout
    + notes  from/notes
    + pdf  from/pdf
    wrote [DIR]/skills.toml
    wrote [DIR]/skills.lock
    --- stderr
    resolved 2 skills in [N] ms
    notes  1 file, 69 bytes
      asks for tools  Read
    pdf  2 files, 84 bytes
      can be run  scripts/run.sh
      asks for tools  Read
    installed 2 skills in [N] ms
    ");
    assert_snapshot!(read(&place, "skills.toml"), @r#"
    [skills]
    notes = { path = "from/notes" }
    pdf = { path = "from/pdf" }
    "#);
    assert_snapshot!(read(&place, "skills.lock"), @r#"
    # Written by prowess. It says which bytes are installed; commit it, and do not edit it.
    version = 1

    [[skill]]
    name = "notes"
    source = "path+from/notes"
    digest = "sha256:8b6b3a2d50ec3d68a495e11266d3cb5abbf65adddba27138625bbc79f0139638"

    [[skill]]
    name = "pdf"
    source = "path+from/pdf"
    digest = "sha256:5f8d401183d8bbdae66bdf4b1f3516e8fddf194b6f1458ad1f84f79130af510f"
    "#);
    assert_snapshot!(say(&place, &["list", "--installed"]), @"
    exit 0
    --- stdout
    notes  project, [DIR]/.agents/skills/notes, from from/notes
    pdf  project, [DIR]/.agents/skills/pdf, from from/pdf

    2 skills installed
    ");
    assert_snapshot!(say(&place, &["verify"]), @"
    exit 0
    --- stdout
    2 skills as installed
    ");
    assert_snapshot!(say(&place, &["add", "./from/pdf", "--yes"]), @"
    exit 0
    --- stdout
    = pdf  from/pdf
    everything is as it should be
    --- stderr
    resolved 1 skill in [N] ms
    pdf  2 files, 84 bytes
      can be run  scripts/run.sh
      asks for tools  Read
    ");
    assert_snapshot!(say(&place, &["remove", "pdf"]), @"
    exit 0
    --- stdout
    - pdf  from/pdf
    wrote [DIR]/skills.toml
    wrote [DIR]/skills.lock
    ");
    assert_snapshot!(say(&place, &["remove", "pdf"]), @"
    exit 2
    --- stderr
    error: no skill of this name is installed for this project: pdf
      hint: installed are: notes
    ");
    assert!(!place.path().join(".agents/skills/pdf").exists());
    assert!(!read(&place, "skills.toml").contains("pdf") && !read(&place, "skills.lock").contains("pdf"));
}

#[test]
fn an_edited_skill_stops_a_command_that_would_lose_the_edits() {
    let place = place();
    run(&place, &["add", "./from", "--all", "--yes"]);
    place.write(".agents/skills/pdf/SKILL.md", skill("pdf", "mine").as_bytes());
    place.write(".agents/skills/pdf/extra.md", b"mine");
    fs::remove_file(place.path().join(".agents/skills/pdf/scripts/run.sh")).unwrap();
    assert_snapshot!(say(&place, &["verify"]), @"
    exit 1
    --- stdout
    pdf
      changed  SKILL.md
      added  extra.md
      missing  scripts/run.sh
    1 of 2 skills not as installed; restore with: prowess sync --overwrite
    ");
    place.write("from/pdf/SKILL.md", skill("pdf", "two").as_bytes());
    assert_snapshot!(say(&place, &["add", "./from/pdf", "--yes"]), @"
    exit 2
    --- stderr
    resolved 1 skill in [N] ms
    pdf  2 files, 84 bytes
      can be run  scripts/run.sh
      asks for tools  Read
    error: this skill was edited after it was installed: [DIR]/.agents/skills/pdf: SKILL.md, extra.md, scripts/run.sh
      hint: keep the edits with --keep, or lose them with --overwrite; see them with: prowess verify
    ");
    assert_snapshot!(say(&place, &["sync"]), @"
    exit 2
    --- stderr
    error: this skill was edited after it was installed: [DIR]/.agents/skills/pdf: SKILL.md, extra.md, scripts/run.sh
      hint: keep the edits with --keep, or lose them with --overwrite; see them with: prowess verify
    ");
    assert_snapshot!(say(&place, &["remove", "pdf"]), @"
    exit 2
    --- stderr
    error: this skill was edited after it was installed: [DIR]/.agents/skills/pdf: SKILL.md, extra.md, scripts/run.sh
      hint: keep the edits with --keep, or lose them with --overwrite; see them with: prowess verify
    ");
    assert_snapshot!(say(&place, &["add", "./from/pdf", "--yes", "--keep"]), @"
    exit 0
    --- stdout
    = pdf (not as installed, kept)  from/pdf
    --- stderr
    resolved 1 skill in [N] ms
    pdf  2 files, 84 bytes
      can be run  scripts/run.sh
      asks for tools  Read
    ");
    assert!(read(&place, ".agents/skills/pdf/SKILL.md").contains("mine"));
    assert_snapshot!(say(&place, &["add", "./from/pdf", "--yes", "--overwrite"]), @"
    exit 0
    --- stdout
    ~ pdf  from/pdf
      replaced: [DIR]/.agents/skills/pdf
    wrote [DIR]/skills.lock
    --- stderr
    resolved 1 skill in [N] ms
    pdf  2 files, 84 bytes
      replaces, and deletes  [DIR]/.agents/skills/pdf
      deletes your file  [DIR]/.agents/skills/pdf/SKILL.md
      deletes your file  [DIR]/.agents/skills/pdf/extra.md
      can be run  scripts/run.sh
      asks for tools  Read
    installed 1 skill in [N] ms
    ");
    assert!(read(&place, ".agents/skills/pdf/SKILL.md").contains("two"));
    assert_snapshot!(say(&place, &["verify"]), @"
    exit 0
    --- stdout
    2 skills as installed
    ");
}

#[test]
fn sync_installs_what_the_records_say_and_frozen_changes_no_record() {
    let place = place();
    run(&place, &["add", "./from", "--all", "--yes"]);
    let lock = read(&place, "skills.lock");
    fs::remove_dir_all(place.path().join(".agents")).unwrap();
    assert_snapshot!(say(&place, &["sync", "--frozen"]), @"
    exit 0
    --- stdout
    + notes  from/notes
    + pdf  from/pdf
    --- stderr
    installed 2 skills in [N] ms
    ");
    assert_eq!(read(&place, "skills.lock"), lock);
    // The bytes of the lock, although the folder has others by now.
    place.write("from/notes/SKILL.md", skill("notes", "two").as_bytes());
    fs::remove_dir_all(place.path().join(".agents")).unwrap();
    assert_snapshot!(say(&place, &["sync", "--locked"]), @"
    exit 0
    --- stdout
    + notes  from/notes
    + pdf  from/pdf
    --- stderr
    installed 2 skills in [N] ms
    ");
    assert!(read(&place, ".agents/skills/notes/SKILL.md").contains("one"));
    let toml = read(&place, "skills.toml").replace("notes = { path = \"from/notes\" }\n", "# none\n");
    place.write("skills.toml", toml.as_bytes());
    assert_snapshot!(say(&place, &["sync", "--frozen"]), @"
    exit 1
    --- stderr
    error: the lock does not fit: [DIR]/skills.lock: notes is in it and not in skills.toml
      hint: update the lock with: prowess sync
    ");
    assert_snapshot!(say(&place, &["sync"]), @"
    exit 0
    --- stdout
    = pdf  from/pdf
    - notes  from/notes
    wrote [DIR]/skills.lock
    --- stderr
    removed 1 skill in [N] ms
    ");
    assert!(!place.path().join(".agents/skills/notes").exists());
    assert!(read(&place, "skills.toml").contains("# none"));
    fs::remove_file(place.path().join("skills.toml")).unwrap();
    assert_snapshot!(say(&place, &["sync"]), @"
    exit 2
    --- stderr
    error: there is a skills.lock and no skills.toml: [DIR]/skills.toml
      hint: restore skills.toml from version control, or remove skills.lock as well
    ");
    assert!(place.path().join(".agents/skills/pdf").exists());
}

#[test]
fn a_lock_that_came_with_a_repository_grants_no_trust() {
    let place = place();
    run(&place, &["add", "./from/pdf", "--yes"]);
    assert!(!run(&place, &["list"]).contains("not trusted"));
    // Another user clones the repository.
    fs::remove_dir_all(place.path().join("state")).unwrap();
    fs::remove_dir_all(place.path().join(".agents")).unwrap();
    let said = run(&place, &["sync"]);
    assert!(said.starts_with("exit 2") && said.contains("no terminal to ask for your consent"), "{said}");
    // The files may come with the repository too.
    fs::create_dir_all(place.path().join(".agents/skills")).unwrap();
    let copied =
        Command::new("cp").args(["-r", "from/pdf", ".agents/skills/pdf"]).current_dir(place.path()).status();
    assert!(copied.unwrap().success());
    assert!(run(&place, &["list"]).contains("1 not trusted"));
    run(&place, &["sync", "--yes"]);
    assert!(!run(&place, &["list"]).contains("not trusted"));
    // The consent is bound to the bytes.
    place.write(".agents/skills/pdf/SKILL.md", skill("pdf", "other").as_bytes());
    assert!(run(&place, &["list"]).contains("1 not trusted"));
}

#[test]
fn a_client_that_looks_elsewhere_gets_links_or_copies_and_keeps_them() {
    let place = place();
    run(&place, &["add", "./from/pdf", "--yes", "--client", "claude-code"]);
    run(&place, &["add", "./from/notes", "--yes"]);
    for name in ["pdf", "notes"] {
        let link = fs::read_link(place.path().join(".claude/skills").join(name)).unwrap();
        assert_eq!(link.to_string_lossy(), format!("../../.agents/skills/{name}"));
    }
    // What was accepted is trusted by the client's path too.
    assert!(!run(&place, &["list", "--client", "claude-code"]).contains("not trusted"));
    run(&place, &["sync", "--link", "copy"]);
    assert!(!run(&place, &["list", "--client", "claude-code"]).contains("not trusted"));
    assert!(!place.path().join(".claude/skills/pdf").is_symlink());
    assert_eq!(read(&place, ".claude/skills/pdf/SKILL.md"), read(&place, ".agents/skills/pdf/SKILL.md"));
    assert!(read(&place, "skills.toml").contains("link = \"copy\""));
    run(&place, &["remove", "pdf", "notes"]);
    assert_eq!(fs::read_dir(place.path().join(".claude/skills")).unwrap().count(), 0);
}

#[test]
fn the_digest_of_the_lock_can_be_made_with_the_usual_tools() {
    let place = place();
    place.write("from/pdf/sub/Ä b.md", "ünï\n".as_bytes());
    let chmod = |file: &str, mode| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        fs::set_permissions(place.path().join(file), mode).unwrap();
    };
    // Only the bit of the owner counts, in every way to see it.
    chmod("from/pdf/SKILL.md", 0o654);
    let added = json_of(&place, &["add", "./from/pdf", "--yes", "--json"]);
    chmod(".agents/skills/pdf/SKILL.md", 0o655);
    chmod(".agents/skills/pdf/scripts/run.sh", 0o744);
    assert!(run(&place, &["verify"]).starts_with("exit 0"));
    assert!(run(&place, &["activate", "pdf"]).starts_with("exit 0"));
    let page = include_str!("../../../../docs/use/install.md");
    let section = page.split_once("## The digest").unwrap().1;
    let script = section.split_once("```sh\n").unwrap().1.split_once("```").unwrap().0;
    let folder = place.path().join(".agents/skills/pdf");
    let made = Command::new("sh").args(["-c", script]).current_dir(folder).output().unwrap();
    let made = String::from_utf8(made.stdout).unwrap();
    let digest = added["skills"][0]["digest"].as_str().unwrap();
    assert_eq!(digest, format!("sha256:{}", made.split(' ').next().unwrap()));
    assert!(read(&place, "skills.lock").contains(digest));
}

#[test]
fn a_lock_that_changed_elsewhere_is_followed_and_is_no_edit() {
    let place = place();
    run(&place, &["add", "./from/pdf", "--yes", "--client", "claude-code", "--link", "copy"]);
    let first = read(&place, "skills.lock");
    place.write("from/pdf/SKILL.md", skill("pdf", "two").as_bytes());
    run(&place, &["add", "./from/pdf", "--yes"]);
    place.write("skills.lock", first.as_bytes());
    let said = run(&place, &["sync", "--yes"]);
    assert!(said.starts_with("exit 0") && said.contains("~ pdf"), "{said}");
    assert!(read(&place, ".agents/skills/pdf/SKILL.md").contains("one"));
    assert!(read(&place, ".claude/skills/pdf/SKILL.md").contains("one"));
}

#[test]
fn a_folder_without_records_stays_without_them() {
    let place = place();
    let said = run(&place, &["sync"]);
    assert!(said.starts_with("exit 0"), "{said}");
    assert!(!place.path().join("skills.toml").exists() && !place.path().join("skills.lock").exists());
}
