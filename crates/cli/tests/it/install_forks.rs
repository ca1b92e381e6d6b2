//! A lock that names a commit which is on no branch or tag of its repository, as commits of forks are.

use std::fs;

use crate::Place;
use crate::install::{place, read};
use crate::install_git::{commit, git};
use crate::schemas::assert_fits;
use crate::shelf::{json_of, run};

/// A project whose lock says that skills are from a tag of a repository, with a commit that is not there. Returns the
/// address and the commit.
fn claimed(skills: &[&str]) -> (Place, String, String) {
    let place = place();
    let url = commit(&place, "from");
    git(&place, "from", &["tag", "v1"]);
    git(&place, "from", &["config", "uploadpack.allowAnySHA1InWant", "true"]);
    for name in ["pdf", "notes"] {
        place.write(&format!("from/{name}/more.txt"), b"of a fork\n");
    }
    git(&place, "from", &["add", "-A"]);
    git(&place, "from", &["commit", "-q", "-m", "two"]);
    let strange = git(&place, "from", &["rev-parse", "HEAD"]);
    git(&place, "from", &["update-ref", "refs/pull/1/head", "HEAD"]);
    git(&place, "from", &["reset", "-q", "--hard", "v1"]);
    let mut add = vec!["add".to_owned(), format!("{url}#{strange}"), "--yes".to_owned()];
    add.extend(skills.iter().flat_map(|name| ["--skill".to_owned(), (*name).to_owned()]));
    let add: Vec<&str> = add.iter().map(String::as_str).collect();
    let said = run(&place, &add);
    assert!(said.starts_with("exit 0"), "{said}");
    place.write("skills.toml", read(&place, "skills.toml").replace(&strange, "v1").as_bytes());
    let lock = read(&place, "skills.lock").replace(&format!("commit:{strange}"), "tag:v1");
    place.write("skills.lock", lock.as_bytes());
    forget(&place);
    (place, url, strange)
}

/// Removes what was fetched and installed, as for another user.
fn forget(place: &Place) {
    for folder in [".agents", "cache", "state"] {
        let _ = fs::remove_dir_all(place.path().join(folder));
    }
}

/// Everything in a place, without the files that are only locked.
fn files(place: &Place) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    let (mut files, mut folders) = (Vec::new(), vec![place.path().to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let is_locked_only = path.extension().is_some_and(|end| end == "lock" || end == "used");
            if path.is_dir() {
                folders.push(path);
            } else if path.ends_with("skills.lock") || !is_locked_only {
                files.push((path.clone(), fs::read(&path).unwrap()));
            }
        }
    }
    files.sort();
    files
}

#[test]
fn sync_refuses_a_commit_on_no_branch_or_tag_and_names_the_command_that_locks_anew() {
    let (place, url, strange) = claimed(&["pdf"]);
    let before = files(&place);
    for args in [&["sync", "--locked", "--yes"][..], &["sync", "--yes"], &["sync", "--fetch-only", "--yes"]] {
        let said = run(&place, args).replace(&strange, "[COMMIT]");
        insta::allow_duplicates! {
            insta::assert_snapshot!(said, @"
            exit 2
            --- stderr
            from file://[DIR]/from #v1 @[COMMIT]
            error: this commit is on no branch or tag of its repository: pdf: file://[DIR]/from @[COMMIT]
              cause: either upstream rewrote its history since (a force-push or a moved tag), or the commit is from a fork: forges serve those under the same address
              hint: if upstream rewrote its history, lock what is there now with: prowess add 'file://[DIR]/from#v1' --path pdf; otherwise do not install it
            ");
        }
        assert_eq!(files(&place), before, "{args:?}");
    }
    let said = run(&place, &["add", &format!("{url}#v1"), "--path", "pdf", "--yes"]);
    assert!(said.starts_with("exit 0"), "{said}");
    assert!(!read(&place, "skills.lock").contains(&strange));
    let said = run(&place, &["sync", "--locked", "--yes"]);
    assert!(said.starts_with("exit 0"), "{said}");
}

#[test]
fn without_a_network_no_repository_is_asked_for_a_commit_also_on_this_machine() {
    let (place, _, _) = claimed(&["pdf"]);
    let before = files(&place);
    for option in ["--offline", "--frozen"] {
        let said = run(&place, &["sync", option, "--yes"]);
        assert!(said.starts_with("exit 2") && !said.contains("on no branch or tag"), "{option}: {said}");
        assert_eq!(files(&place), before, "{option}");
    }
}

#[test]
fn skills_of_one_commit_are_locked_anew_by_one_command() {
    let (place, url, _) = claimed(&["pdf", "notes"]);
    let said = run(&place, &["sync", "--locked", "--yes"]);
    let shown = url.replace(&place.path().display().to_string(), "[DIR]");
    assert!(said.contains(&format!("prowess add '{shown}#v1' --skill pdf --skill notes; ")), "{said}");
    let said = run(&place, &["add", &format!("{url}#v1"), "--skill", "pdf", "--skill", "notes", "--yes"]);
    assert!(said.starts_with("exit 0"), "{said}");
    assert!(run(&place, &["sync", "--locked", "--yes"]).starts_with("exit 0"));
}

#[test]
fn a_skill_under_another_name_is_locked_anew_under_that_name() {
    let (place, url, strange) = claimed(&["pdf"]);
    fs::remove_file(place.path().join("skills.toml")).unwrap();
    fs::remove_file(place.path().join("skills.lock")).unwrap();
    run(&place, &["add", &format!("{url}#{strange}"), "--skill", "pdf", "--as", "forms", "--yes"]);
    forget(&place);
    let said = run(&place, &["sync", "--locked", "--yes"]);
    let shown = url.replace(&place.path().display().to_string(), "[DIR]");
    // The version in skills.toml is the commit itself, so the default branch is named.
    assert!(said.contains(&format!("prowess add {shown} --path pdf --as forms; ")), "{said}");
    let said = run(&place, &["add", &url, "--path", "pdf", "--as", "forms", "--yes"]);
    assert!(said.starts_with("exit 0"), "{said}");
    assert!(run(&place, &["sync", "--locked", "--yes"]).starts_with("exit 0"));
}

#[test]
fn frozen_says_that_a_commit_was_not_checked_and_no_command_says_where_it_is_from() {
    let (place, url, strange) = claimed(&["pdf"]);
    // The store has the files, from whatever source.
    let lock = ["skills.toml", "skills.lock"].map(|file| (file, read(&place, file)));
    run(&place, &["add", &format!("{url}#{strange}"), "--skill", "pdf", "--yes"]);
    for folder in [".agents", "state"] {
        fs::remove_dir_all(place.path().join(folder)).unwrap();
    }
    for (file, text) in &lock {
        place.write(file, text.as_bytes());
    }
    let note = "not checked without a network: whether the commits in skills.lock are on a branch or tag of their \
                repositories: pdf; check them with: prowess sync --fetch-only\n";
    for args in [&["sync", "--frozen", "--yes"][..], &["sync", "--offline", "--yes"], &["sync", "--frozen"]] {
        let said = run(&place, args);
        assert!(said.starts_with("exit 0") && said.contains(note), "{args:?}: {said}");
        assert!(said.contains(", says the lock; not fetched by you"), "{args:?}: {said}");
    }
    for args in [&["list"][..], &["list", "--installed"]] {
        let said = run(&place, args);
        assert!(said.contains(", says the lock; not fetched by you"), "{args:?}: {said}");
    }
    let said = run(&place, &["why", "pdf"]);
    assert!(said.contains("the lock says it is from: ") && !said.contains("installed from"), "{said}");
    let verified = json_of(&place, &["verify", "--json"]);
    assert_eq!(verified["skills"][0]["fetched"], false, "{verified}");
    // The command of the note checks it.
    let before = files(&place);
    for args in [&["sync", "--fetch-only", "--yes"][..], &["sync", "--locked", "--yes"]] {
        let said = run(&place, args);
        assert!(said.starts_with("exit 2") && said.contains("on no branch or tag"), "{args:?}: {said}");
        assert_eq!(files(&place), before, "{args:?}");
    }
}

#[test]
fn add_takes_a_commit_on_no_branch_or_tag_and_says_so_before_it_asks() {
    let (place, url, strange) = claimed(&["pdf"]);
    let official = git(&place, "from", &["rev-parse", "v1"]);
    let add = |version: &str, option: &str| {
        let source = format!("{url}#{version}");
        run(&place, &["add", &source, "--skill", "pdf", "--overwrite", option])
    };
    let warning = format!(
        "commit  {strange}: not known to be on a branch or tag of its repository; it may be from a fork"
    );
    for version in [&*strange, "refs/pull/1/head", "pull/1/head"] {
        // Also the second time, when it is on this machine.
        for option in ["--dry-run", "--yes", "--yes"] {
            let said = add(version, option);
            assert!(said.starts_with("exit 0") && said.contains(&warning), "{version}: {said}");
        }
    }
    let source = format!("{url}#{strange}");
    let added = json_of(&place, &["add", &source, "--skill", "pdf", "--yes", "--json"]);
    assert_fits("add", &added);
    assert_eq!(added["skills"][0]["preview"]["unverified_commit"], *strange, "{added}");
    for version in [&*official, "v1", "main"] {
        let said = add(version, "--yes");
        assert!(said.starts_with("exit 0") && !said.contains("not known to be"), "{version}: {said}");
    }
}
