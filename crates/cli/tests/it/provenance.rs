//! Where installed skills came from: `list`, `why`, and `--in @org/name`.

use std::fs;

use insta::assert_snapshot;

use crate::Place;
use crate::install_git::commit;
use crate::schemas::assert_fits;
use crate::shelf::{json_of, run};

fn skill(name: &str) -> String {
    format!("---\nname: {name}\ndescription: Does {name}.\n---\nText.\n")
}

/// A lock that names skills of a repository, each with these bytes or with others.
fn lock(skills: &[(&str, &str)]) -> String {
    let mut text = "version = 1\n".to_owned();
    for (name, reference) in skills {
        let entry = format!(
            "\n[[skill]]\nname = \"{name}\"\nsource = \"git+https://example.org/acme/skills.git\"\n\
             path = \"skills/{name}\"\nrequested = \"tag:v1\"\ncommit = \"{}\"\ndigest = \"sha256:{}\"\n\
             reference = \"{reference}\"\n",
            "0123456789".repeat(4),
            "a".repeat(64),
        );
        text.push_str(&entry);
    }
    text
}

/// A project with an installed skill from a folder, and a user with one from a repository.
fn place() -> Place {
    let place = Place::with(&[
        ("from/pdf/SKILL.md", &skill("pdf")),
        (".agents/skills/own/SKILL.md", &skill("own")),
        ("home/.agents/skills/mail/SKILL.md", &skill("mail")),
        ("home/.agents/skills.lock", &lock(&[("mail", "@acme/mail")])),
    ]);
    run(&place, &["add", "./from/pdf", "--yes"]);
    place
}

/// What `why` says, without the clients, which are a table of their own.
fn why(place: &Place, name: &str) -> String {
    let said = run(place, &["why", name]);
    said.lines()
        .filter(|line| !line.starts_with("  clients that look there: "))
        .map(|line| format!("{line}\n"))
        .collect()
}

#[test]
fn list_and_why_name_where_an_installed_skill_came_from() {
    let place = place();
    assert_snapshot!(run(&place, &["list"]), @"
    exit 0
    --- stdout
    mail  not trusted: Does mail.  (from https://example.org/acme/skills.git skills/mail @012345678, says the lock; not fetched by you)
    own  not trusted: Does own.
    pdf  Does pdf.  (from from/pdf)

    3 skills; 2 not trusted: prowess sync --overwrite --user, prowess trust
    ");
    assert_snapshot!(why(&place, "pdf"), @"
    exit 0
    --- stdout
    pdf: offered
      found: [DIR]/.agents/skills/pdf/SKILL.md
      path for filters: pdf
      installed from: from/pdf
    ");
    assert_snapshot!(why(&place, "mail"), @"
    exit 1
    --- stdout
    mail: listed, not trusted
      found: [DIR]/home/.agents/skills/mail/SKILL.md
      path for filters: mail
      hint: agents may use it after: prowess trust mail
      the lock says it is from: https://example.org/acme/skills.git skills/mail
      requested: tag:v1
      commit: 0123456789012345678901234567890123456789
      not fetched: you have not fetched it from there; do it with: prowess sync --fetch-only --user
      edited: its files are not those of skills.lock; see which with: prowess verify --user
    ");
    let list = json_of(&place, &["list", "--json"]);
    assert_fits("list", &list);
    let installed = |name: &str| {
        let skills = list["skills"].as_array().unwrap();
        skills.iter().find(|skill| skill["name"] == name).unwrap()["installed"].clone()
    };
    assert_eq!(installed("pdf")["source"], "path+from/pdf");
    assert_eq!(installed("mail")["requested"], "tag:v1");
    assert_eq!(installed("mail")["scope"], "user");
    assert!(installed("own").is_null());
    for (name, edited) in [("pdf", false), ("mail", true)] {
        let why = json_of(&place, &["why", "--json", name]);
        assert_fits("why", &why);
        assert_eq!(why["candidates"][0]["installed"]["edited"], edited, "{name}");
    }
}

/// A project that ships the files of a skill, and a lock that says they are from a repository. Returns its address.
fn claimed() -> (Place, String) {
    let place = Place::with(&[("repo/pdf/SKILL.md", &skill("pdf"))]);
    let url = commit(&place, "repo");
    run(&place, &["add", &url, "--skill", "pdf", "--yes"]);
    for folder in ["state", "cache"] {
        fs::remove_dir_all(place.path().join(folder)).unwrap();
    }
    (place, url)
}

#[test]
fn a_source_that_only_the_lock_names_is_never_said_to_be_where_a_skill_came_from() {
    let (place, _) = claimed();
    for file in ["skills.toml", "skills.lock"] {
        let text = fs::read_to_string(place.path().join(file)).unwrap();
        let folder = format!("file://{}/repo", place.path().display());
        place.write(file, text.replace(&folder, "https://example.org/acme/skills.git").as_bytes());
    }
    let said = run(&place, &["sync", "--yes"]);
    let claim = "the lock says it is from  https://example.org/acme/skills.git pdf @";
    assert!(said.starts_with("exit 0") && said.contains(claim), "{said}");
    assert!(
        said.contains("; you have not fetched it from there") && !said.contains("fetched 1 skill"),
        "{said}"
    );
    for args in [&["list"][..], &["list", "--installed"], &["sync"]] {
        let said = run(&place, args);
        assert!(said.contains(", says the lock; not fetched by you"), "{args:?}: {said}");
    }
    let said = run(&place, &["why", "pdf"]);
    assert!(said.contains("the lock says it is from: https://example.org/acme/skills.git pdf"), "{said}");
    assert!(said.contains("prowess sync --fetch-only") && !said.contains("installed from"), "{said}");
    assert_eq!(json_of(&place, &["list", "--json"])["skills"][0]["installed"]["fetched"], false);
    assert_eq!(json_of(&place, &["why", "--json", "pdf"])["candidates"][0]["installed"]["fetched"], false);
    assert_eq!(json_of(&place, &["list", "--installed", "--json"])["installed"][0]["fetched"], false);
    assert_eq!(json_of(&place, &["sync", "--json"])["skills"][0]["fetched"], false);
}

#[test]
fn a_source_is_known_once_the_user_has_fetched_the_same_bytes_from_it() {
    let (place, url) = claimed();
    run(&place, &["sync", "--yes"]);
    assert!(run(&place, &["list"]).contains("not fetched by you"));
    let said = run(&place, &["sync", "--fetch-only", "--yes"]);
    assert!(said.starts_with("exit 0") && said.contains("fetched 1 skill"), "{said}");
    let said = run(&place, &["list"]);
    assert!(
        said.contains(&format!("(from {}", url.replace(&place.path().display().to_string(), "[DIR]"))),
        "{said}"
    );
    assert!(!said.contains("not fetched"), "{said}");
    assert_eq!(json_of(&place, &["list", "--json"])["skills"][0]["installed"]["fetched"], true);
    // The store has the bytes; that says nothing about where others have them from.
    let lock = fs::read_to_string(place.path().join("skills.lock")).unwrap();
    place.write("skills.lock", lock.replace("/repo", "/other").as_bytes());
    assert!(run(&place, &["list"]).contains("not fetched by you"));
}

#[test]
fn a_client_that_gets_links_is_said_where_they_came_from() {
    let place = place();
    run(&place, &["sync", "--client", "claude-code"]);
    let list = json_of(&place, &["list", "--json", "--client", "claude-code"]);
    assert_eq!(list["skills"][0]["installed"]["source"], "path+from/pdf", "{list}");
}

#[test]
fn a_damaged_lock_is_a_note_and_the_skills_are_listed() {
    let place = place();
    place.write("skills.lock", b"<<<<<<< ours\n");
    assert_snapshot!(run(&place, &["list"]), @"
    exit 0
    --- stdout
    mail  not trusted: Does mail.  (from https://example.org/acme/skills.git skills/mail @012345678, says the lock; not fetched by you)
    own  not trusted: Does own.
    pdf  Does pdf.

    3 skills; 2 not trusted: prowess sync --overwrite --user, prowess trust
    --- stderr
    it is not known where some skills came from: this file is not understood: [DIR]/skills.lock: line 1: key with no value, expected `=`
    ");
    fs::remove_file(place.path().join("skills.lock")).unwrap();
    let fifo = std::process::Command::new("mkfifo").arg(place.path().join("skills.lock")).status();
    assert!(fifo.unwrap().success());
    let said = run(&place, &["why", "own"]);
    assert!(said.contains("a FIFO") && said.contains("own: "), "{said}");
}

#[test]
fn an_installed_skill_is_a_source_by_its_reference() {
    let place = place();
    assert_snapshot!(run(&place, &["list", "--in", "@acme/mail"]), @"
    exit 0
    --- stdout
    mail  Does mail.  (from https://example.org/acme/skills.git skills/mail @012345678, says the lock; not fetched by you)

    1 skill
    ");
    assert_snapshot!(run(&place, &["list", "--in", "dir=@acme/mail,prefix=team"]), @"
    exit 0
    --- stdout
    team:mail  Does mail.  (from https://example.org/acme/skills.git skills/mail @012345678, says the lock; not fetched by you)

    1 skill
    ");
    assert_snapshot!(run(&place, &["list", "--in", "@acme/nothing"]), @"
    exit 2
    --- stderr
    error: this skill is not installed: @acme/nothing
      hint: install it with: prowess add @acme/nothing; or write ./ before it, if it is a folder
    ");
    assert_snapshot!(run(&place, &["list", "--in", "@acme/mail/more"]), @"
    exit 2
    --- stderr
    error: this is no reference to a skill: @acme/mail/more: it has more than one /
      hint: write it as @org/name or @org/name@version
    ");
    assert_snapshot!(run(&place, &["list", "--in", "dir=@acme/nothing,optional=true"]), @"
    exit 0
    --- stdout
    no skills here
    ");
    // A folder of that name is written with ./ before it.
    place.write("@acme/mail/SKILL.md", skill("folder").as_bytes());
    let named = json_of(&place, &["list", "--json", "--in", "./@acme/mail"]);
    assert_eq!(named["skills"][0]["name"], "folder");
    place.write("skills.lock", b"<<<<<<< ours\n");
    let said = run(&place, &["list", "--in", "@acme/mail"]);
    assert!(said.starts_with("exit 2") && said.contains("not understood"), "{said}");
}

#[test]
fn a_skill_that_only_the_lock_has_is_installed_from_the_lock() {
    let place = place();
    fs::remove_dir_all(place.path().join("home/.agents/skills/mail")).unwrap();
    let said = run(&place, &["list", "--in", "@acme/mail"]);
    assert!(said.contains("in skills.lock and not installed: @acme/mail"), "{said}");
    assert!(said.contains("hint: install it with: prowess sync --user\n"), "{said}");
}

#[test]
fn a_reference_is_a_source_of_a_server_and_its_organisation_has_no_capital_letters() {
    let place = place();
    let said = run(&place, &["connect", "codex", "--in", "@ACME/mail", "--dry-run"]);
    assert!(said.starts_with("exit 0") && said.contains("\"--in\", \"@ACME/mail\""), "{said}");
    assert!(said.contains("mail"), "{said}");
    let said = run(&place, &["serve", "--in", "@acme/nothing"]);
    assert!(said.contains("error: this skill is not installed: @acme/nothing\n"), "{said}");
    // A server for every folder does not see the skill of one project.
    place.write("skills.lock", lock(&[("own", "@acme/own")]).as_bytes());
    let said = run(&place, &["connect", "codex", "--in", "@acme/own", "--dry-run"]);
    assert!(said.starts_with("exit 2") && said.contains("prowess add @acme/own --user"), "{said}");
}

#[test]
fn a_lock_of_a_project_cannot_pass_a_skill_for_one_that_the_user_trusts() {
    let place = place();
    place.write("skills.lock", lock(&[("own", "@acme/mail")]).as_bytes());
    let named = json_of(&place, &["list", "--json", "--in", "@acme/mail"]);
    let skill = &named["skills"][0];
    assert_eq!((&skill["name"], &skill["trusted"]), (&"own".into(), &false.into()), "{named}");
    assert!(run(&place, &["activate", "own", "--in", "@acme/mail"]).starts_with("exit 2"));
}

#[test]
fn one_remedy_accepts_an_installed_skill_of_a_clone_everywhere() {
    let place = Place::with(&[("home/.claude/x", "")]);
    for name in ["a", "b"] {
        let text = format!("---\nname: {name}\ndescription: Does {name}. Use when needed.\n---\nDo it.\n");
        place.write(&format!("src/{name}/SKILL.md"), text.as_bytes());
    }
    let doctor = |place: &Place| {
        let report = json_of(place, &["doctor", "--json", "--client", "codex"]);
        let troubles = report["troubles"].as_array().unwrap().clone();
        let untrusted = troubles.into_iter().find(|trouble| trouble["kind"] == "skill-untrusted").unwrap();
        untrusted["fix"]["commands"][0].as_str().unwrap().to_owned()
    };
    run(&place, &["add", "./src/a", "--yes"]);
    // The clone of another user.
    fs::remove_dir_all(place.path().join("state")).unwrap();
    let list = run(&place, &["list"]);
    assert!(list.contains("1 not trusted: prowess trust a\n"), "{list}");
    let why = run(&place, &["why", "a"]);
    assert!(why.contains("agents may use it after: prowess trust a\n"), "{why}");
    assert_eq!(doctor(&place), "prowess trust a");
    // `sync` accepts several, and no more than the lock names.
    run(&place, &["add", "./src/b", "--yes"]);
    fs::remove_dir_all(place.path().join("state")).unwrap();
    let list = run(&place, &["list"]);
    assert!(list.contains("2 not trusted: prowess sync\n"), "{list}");
    assert_eq!(doctor(&place), "prowess sync");
}

/// What a command says in a folder below the place.
fn run_in(place: &Place, folder: &str, args: &[&str]) -> String {
    let output =
        crate::shelf::command(place).current_dir(place.path().join(folder)).args(args).output().unwrap();
    place.transcript(&output)
}

#[test]
fn a_clone_cannot_pass_other_files_for_those_of_a_source_that_the_user_fetched() {
    let place = Place::with(&[("repo/pdf/SKILL.md", &skill("pdf")), ("clone/.git/HEAD", "")]);
    let url = commit(&place, "repo");
    run(&place, &["add", &url, "--skill", "pdf", "--yes"]);
    let said = run(&place, &["list"]);
    assert!(said.contains("/repo pdf @") && !said.contains("says the lock"), "{said}");
    for record in ["skills.toml", "skills.lock"] {
        fs::copy(place.path().join(record), place.path().join("clone").join(record)).unwrap();
    }
    place.write("clone/.agents/skills/pdf/SKILL.md", skill("pdf").replace("Text", "Other").as_bytes());
    place.write("clone/.agents/skills/pdf/inner/SKILL.md", skill("inner").as_bytes());
    let differs = "says the lock; its files are not those of the lock)";
    let listed = |named: usize| {
        let said = run_in(&place, "clone", &["list"]);
        assert_eq!(said.matches(differs).count(), named, "{said}");
        let output = crate::shelf::command(&place)
            .current_dir(place.path().join("clone"))
            .args(["list", "--json"])
            .output()
            .unwrap();
        let list: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_fits("list", &list);
        for skill in list["skills"].as_array().unwrap() {
            assert_eq!(skill["installed"]["fetched"], false, "{skill}");
        }
    };
    listed(2);
    let said = run_in(&place, "clone", &["trust", "pdf", "--yes"]);
    assert!(
        said.contains("the lock says it is from  ") && said.contains("its files are not those of the lock"),
        "{said}"
    );
    let said = run_in(&place, "clone", &["trust", ".", "--dry-run"]);
    assert!(said.contains("; its files are not those of the lock"), "{said}");
    // What was accepted is used, and is still not from there.
    listed(2);
    run_in(&place, "clone", &["trust", ".", "--yes"]);
    listed(2);
    let said = run_in(&place, "clone", &["why", "pdf"]);
    assert!(said.contains("the lock says it is from: ") && !said.contains("installed from: "), "{said}");
    // A link of a client's folder is not the installed skill if it leads elsewhere.
    let text = fs::read_to_string(place.path().join("skills.toml")).unwrap();
    place.write("clone/skills.toml", (text + "\n[settings]\nclients = [\"claude-code\"]\n").as_bytes());
    place.write("clone/.agents/skills/pdf/SKILL.md", skill("pdf").as_bytes());
    fs::remove_dir_all(place.path().join("clone/.agents/skills/pdf/inner")).unwrap();
    place.write("clone/other/pdf/SKILL.md", skill("pdf").replace("Does", "Now does").as_bytes());
    fs::create_dir_all(place.path().join("clone/.claude/skills")).unwrap();
    std::os::unix::fs::symlink("../../other/pdf", place.path().join("clone/.claude/skills/pdf")).unwrap();
    let said = run_in(&place, "clone", &["list", "--client", "claude-code"]);
    assert!(said.contains("Now does") && said.contains(differs), "{said}");
}

#[test]
fn a_skill_that_was_put_into_an_installed_one_has_no_part_in_its_source() {
    let place = place();
    place.write(".agents/skills/pdf/inner/SKILL.md", skill("inner").as_bytes());
    run(&place, &["trust", "inner", "--yes"]);
    let list = json_of(&place, &["list", "--json"]);
    let skills = list["skills"].as_array().unwrap();
    let inner = skills.iter().find(|skill| skill["name"] == "inner").unwrap();
    assert_eq!(
        (&inner["installed"]["fetched"], &inner["installed"]["edited"]),
        (&false.into(), &true.into())
    );
    let said = run(&place, &["list"]);
    assert!(said.contains("Does inner.  (from from/pdf, says the lock; its files are not those"), "{said}");
}
