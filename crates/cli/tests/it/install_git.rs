//! Installing from git repositories on this machine: which git runs, and where.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use prowess_testing::without_settings;

use crate::Place;
use crate::install::place;
use crate::shelf::{command, run};

/// git in a folder, without the repository, the configuration and the hooks of the user who runs the tests.
pub(crate) fn git_in(folder: &Path) -> Command {
    let mut git = Command::new("git");
    without_settings(&mut git);
    git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").env("HOME", folder);
    git.args(["-c", "user.name=a", "-c", "user.email=a@example.org"]).current_dir(folder);
    git
}

/// Runs git in a folder of a place.
pub(crate) fn git(place: &Place, folder: &str, words: &[&str]) -> String {
    let done = git_in(&place.path().join(folder)).args(words).output().unwrap();
    assert!(done.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap().trim().to_owned()
}

/// Commits everything in a folder of a place, which becomes a repository. Returns its address.
pub(crate) fn commit(place: &Place, folder: &str) -> String {
    git(place, folder, &["init", "-q", "-b", "main"]);
    git(place, folder, &["add", "-A"]);
    git(place, folder, &["commit", "-q", "--allow-empty", "-m", "one"]);
    format!("file://{}/{folder}", place.path().display())
}

#[test]
fn a_git_of_the_project_is_never_run() {
    let place = place();
    let url = commit(&place, "from");
    let ran = place.path().join("ran");
    let program = format!("#!/bin/sh\necho ran > {}\nexit 1\n", ran.display());
    for file in ["git", "ssh", "bin/git", "node_modules/.bin/git"] {
        place.write(file, program.as_bytes());
        fs::set_permissions(place.path().join(file), PermissionsExt::from_mode(0o755)).unwrap();
    }
    place.write("skills.toml", format!("[skills]\npdf = {{ git = \"{url}\", path = \"pdf\" }}\n").as_bytes());
    let path = std::env::var("PATH").unwrap();
    for first in ["./bin", "bin", "node_modules/.bin", ".", ""] {
        for args in [&["sync", "--dry-run", "--yes"][..], &["add", &url, "--all", "--dry-run"]] {
            let output = command(&place).env("PATH", format!("{first}:{path}")).args(args).output().unwrap();
            let said = place.transcript(&output);
            assert!(said.starts_with("exit 0") && !ran.exists(), "{first}: {said}");
        }
    }
}

#[test]
fn without_git_in_an_absolute_folder_the_error_says_which_are_searched() {
    let place = place();
    let output =
        command(&place).env("PATH", "./bin:.").args(["add", "https://host.example/x.git"]).output().unwrap();
    insta::assert_snapshot!(place.transcript(&output), @"
    exit 2
    --- stderr
    from https://host.example/x.git
    error: git is not installed
      hint: install git 2.36 or newer; only folders with an absolute path in PATH are searched for it
    ");
}

#[test]
fn a_skill_that_the_source_names_is_not_replaced_by_options() {
    let place = place();
    let url = commit(&place, "from");
    let github = place.path().join("gh/o");
    fs::create_dir_all(&github).unwrap();
    git(&place, ".", &["clone", "-q", "--bare", &url, &github.join("r.git").to_string_lossy()]);
    let instead =
        format!("[url \"file://{}/gh/\"]\n\tinsteadOf = https://github.com/\n", place.path().display());
    place.write("home/.gitconfig", instead.as_bytes());
    for (options, named) in [(&["--skill", "notes"][..], "--skill notes"), (&["--all"], "--all")] {
        let said = crate::shelf::run(&place, &[&["add", "o/r@pdf", "--yes"], options].concat());
        let error = format!("error: the source names one of its skills already: o/r@pdf: {named}\n");
        assert!(said.starts_with("exit 2") && said.contains(&error), "{said}");
        assert!(!place.path().join(".agents").exists(), "{said}");
    }
    let said = crate::shelf::run(&place, &["add", "o/r@pdf", "--skill", "pdf", "--yes"]);
    assert!(said.starts_with("exit 0") && said.contains("+ pdf") && !said.contains("notes"), "{said}");
}

#[test]
fn a_tag_of_a_file_or_a_folder_is_no_version() {
    let place = place();
    let url = commit(&place, "from");
    git(&place, "from", &["tag", "file", "HEAD:pdf/SKILL.md"]);
    git(&place, "from", &["tag", "folder", "HEAD:pdf"]);
    for tag in ["file", "folder"] {
        let said = crate::shelf::run(&place, &["add", &format!("{url}#{tag}"), "--yes"]);
        assert!(
            said.starts_with("exit 2") && said.contains("error: this branch or tag is no commit: "),
            "{said}"
        );
    }
}

#[test]
fn a_repository_of_a_declined_skill_does_not_stay_on_the_disk() {
    let place = place();
    let url = commit(&place, "from");
    let kept = || {
        let clones = fs::read_dir(place.path().join("cache/prowess/store/v1/git")).into_iter().flatten();
        clones.flatten().filter(|entry| entry.path().is_dir()).count()
    };
    let said = run(&place, &["add", &url, "--all"]);
    assert!(said.starts_with("exit 2") && said.contains("nothing was installed or trusted"), "{said}");
    assert_eq!(kept(), 0);
    assert!(run(&place, &["add", &url, "--all", "--yes"]).starts_with("exit 0"));
    assert_eq!(kept(), 1);
    // What was fetched before stays.
    run(&place, &["add", &url, "--all", "--user"]);
    assert_eq!(kept(), 1);
}

/// The bytes of all files below a folder.
fn bytes_below(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(
            |entry| {
                if entry.path().is_dir() {
                    bytes_below(&entry.path())
                } else {
                    entry.metadata().unwrap().len()
                }
            },
        )
        .sum()
}

#[test]
fn no_byte_of_a_declined_skill_stays_in_the_cache() {
    let place = place();
    let url = commit(&place, "from");
    let cache = place.path().join("cache");
    // From a repository and from a folder, one skill and several.
    for args in [&["--all"][..], &["--skill", "pdf"]] {
        for source in [&*url, "./from"] {
            let said = run(&place, &[&["add", source], args].concat());
            assert!(
                said.starts_with("exit 2") && said.contains("nothing was installed or trusted"),
                "{said}"
            );
            assert_eq!(bytes_below(&cache), 0, "{source} {args:?}");
        }
    }
    assert!(run(&place, &["add", &url, "--all", "--yes"]).starts_with("exit 0"));
    let kept = bytes_below(&cache);
    assert!(kept > 0);
    // What was stored before stays.
    run(&place, &["add", &url, "--all", "--user"]);
    assert_eq!(bytes_below(&cache), kept);
}

#[test]
fn stored_skills_count_for_the_limit_of_the_store_and_make_room() {
    let place = place();
    let trees = place.path().join("cache/prowess/store/v1/trees");
    let stored =
        || fs::read_dir(&trees).into_iter().flatten().flatten().map(|entry| entry.path()).collect::<Vec<_>>();
    let add = |name: &str| {
        place.write(
            &format!("one/{name}/SKILL.md"),
            format!("---\nname: {name}\ndescription: Does {name}.\n---\n{}\n", "word ".repeat(2000))
                .as_bytes(),
        );
        let source = format!("./one/{name}");
        let said = run(&place, &["add", &source, "--yes", "--max-store-bytes", "25000"]);
        assert!(said.starts_with("exit 0"), "{said}");
    };
    let used = |file: &Path, second: u64| {
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(second);
        fs::File::open(file).unwrap().set_modified(time).unwrap();
    };
    add("alpha");
    let alpha = stored().remove(0);
    add("beta");
    let beta = stored().into_iter().find(|file| *file != alpha).unwrap();
    used(&alpha, 2000);
    used(&beta, 1000);
    add("gamma");
    assert_eq!(stored().len(), 2);
    assert!(alpha.exists() && !beta.exists(), "the one that was not used for the longest time is removed");
    // All are installed; one that is not stored is taken from its source again.
    fs::remove_dir_all(place.path().join(".agents/skills/beta")).unwrap();
    let said = run(&place, &["sync", "--yes"]);
    assert!(
        said.starts_with("exit 0") && place.path().join(".agents/skills/beta/SKILL.md").exists(),
        "{said}"
    );
}
