//! Fixing thousands of real files with the command: one run fixes everything.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::{Place, code};

fn unpack(archive: &Path, folder: &Path) {
    let file = fs::File::open(archive).unwrap();
    let mut tar = tar::Archive::new(ruzstd::decoding::StreamingDecoder::new(file).unwrap());
    for entry in tar.entries().unwrap() {
        let mut entry = entry.unwrap();
        if entry.header().entry_type().is_file() {
            // A file with another name becomes the SKILL.md of a folder with that name.
            let path = entry.path().unwrap().into_owned();
            let named = path.file_name().is_some_and(|name| name.eq_ignore_ascii_case("SKILL.md"));
            let path = folder.join(if named { path } else { path.with_extension("").join("SKILL.md") });
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::io::copy(&mut entry, &mut fs::File::create(path).unwrap()).unwrap();
        }
    }
}

fn contents(folder: &Path, into: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            contents(&path, into);
        } else {
            into.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
}

#[test]
fn fixing_the_corpus_twice_changes_nothing_the_second_time() {
    let Some(data) = std::env::var_os("PROWESS_TEST_DATA").map(PathBuf::from).filter(|data| data.is_dir())
    else {
        return crate::skipped("fixing the corpus needs the folder that PROWESS_TEST_DATA names");
    };
    let place = Place::with(&[]);
    let root = place.path().join("all");
    for archive in ["corpus/natural.tar.zst", "hard-cases/hard.tar.zst"] {
        unpack(&data.join(archive), &root);
    }
    let snapshot = || {
        let mut files = BTreeMap::new();
        contents(&root, &mut files);
        files
    };
    let before = snapshot();
    // Every file is given as an argument, so that the walk skips none.
    let mut arguments: Vec<String> = before.keys().map(|path| path.to_str().unwrap().to_owned()).collect();
    arguments.insert(0, "--json".to_owned());
    arguments.insert(0, "check".to_owned());
    let run = |more: &[&str]| {
        let output = place.command().args(&arguments).args(more).output().unwrap();
        assert_eq!(code(&output), 1, "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice::<Value>(&output.stdout).unwrap()
    };
    let first = run(&["--fix"]);
    let once = snapshot();
    let second = run(&["--fix"]);
    let twice = snapshot();
    assert!(once == twice, "fixing again changes something");
    assert_eq!(second["summary"]["fixed"], 0);
    let changed = before.iter().filter(|(path, bytes)| once[*path] != **bytes).count();
    println!("{changed} of {} files changed, {} problems fixed", before.len(), first["summary"]["fixed"]);
    assert!(changed > 0 && before.len() == once.len(), "no file came and none went");
    let left = run(&[]);
    assert_eq!(left["summary"]["files"], before.len());
    assert_eq!(left["summary"]["fixable"], 0);
    for file in left["files"].as_array().unwrap() {
        for problem in file["problems"].as_array().unwrap() {
            assert_ne!(problem["fix"]["safe"], true, "{}: {problem}", file["path"]);
        }
    }
}

#[test]
fn a_check_of_the_corpus_has_one_line_of_notes_a_file_and_statistics_that_fit_a_screen() {
    let Some(data) = std::env::var_os("PROWESS_TEST_DATA").map(PathBuf::from).filter(|data| data.is_dir())
    else {
        return crate::skipped("checking the corpus needs the folder that PROWESS_TEST_DATA names");
    };
    let place = Place::with(&[]);
    unpack(&data.join("corpus/natural.tar.zst"), &place.path().join("all"));
    let run = |args: &[&str], columns: &str| {
        let output =
            place.command().arg("check").args(args).env("PROWESS_COLUMNS", columns).output().unwrap();
        assert_eq!(code(&output), 1, "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let said = run(&["all"], "80");
    let mut noted = BTreeMap::<&str, usize>::new();
    for line in said.lines().filter_map(|line| line.strip_prefix("note: ")) {
        *noted.entry(line.split(": ").next().unwrap()).or_default() += 1;
    }
    assert!(noted.len() > 1_000, "{} files have notes", noted.len());
    assert_eq!(noted.into_iter().find(|(_, lines)| *lines > 1), None);
    for columns in ["80", "120", "200"] {
        let said = run(&["--statistics", "all"], columns);
        let wide = columns.parse::<usize>().unwrap();
        let table = said.split("\n\n").next().unwrap();
        assert!(table.lines().all(|line| line.chars().count() <= wide), "{columns}: {said}");
        assert!(said.lines().count() <= 24, "{columns}: {said}");
    }
    // Programs get a line for each rule.
    let output = place.command().args(["check", "--statistics", "all"]).output().unwrap();
    assert!(String::from_utf8(output.stdout).unwrap().lines().count() > 24);
}

#[test]
fn a_trial_uses_the_real_skills_of_the_user_beside_the_built_in_ones() {
    let Some(data) = std::env::var_os("PROWESS_TEST_DATA").map(PathBuf::from).filter(|data| data.is_dir())
    else {
        return crate::skipped("trying real skills needs the folder that PROWESS_TEST_DATA names");
    };
    let place = Place::with(&[]);
    let all = place.path().join("all");
    unpack(&data.join("corpus/natural.tar.zst"), &all);
    let mut files = BTreeMap::new();
    contents(&all, &mut files);
    let mut names = std::collections::BTreeSet::new();
    for (path, text) in files {
        let name = path.parent().unwrap().file_name().unwrap().to_owned();
        if names.len() < 60 && names.insert(name.clone()) {
            place.write(&format!("home/.claude/skills/{}/SKILL.md", name.to_str().unwrap()), &text);
        }
    }
    let task = "turn these meeting notes into minutes";
    let run =
        || crate::shelf::command(&place).args(["try", task]).env("PROWESS_COLUMNS", "80").output().unwrap();
    let said = place.transcript(&run());
    let found = |begin: &str| -> usize {
        let line = said.lines().find_map(|line| line.trim_start().strip_prefix(begin)).unwrap();
        line.split_whitespace().next().unwrap().parse().unwrap()
    };
    let (own, built_in) = (found("~/.claude/skills "), found("built in "));
    // A few real skills cannot be loaded, or have the name of another.
    assert!(own > 50 && built_in > 0, "{said}");
    assert!(said.contains(&format!("1. Found: {} skills\n", own + built_in)), "{said}");
    assert!(said.contains("3. Chosen: ") && said.contains("4. Loaded when it is used: "), "{said}");
    assert_eq!(run().stdout, run().stdout);
}
