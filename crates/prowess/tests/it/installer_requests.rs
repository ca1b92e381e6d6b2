//! What a user asks for is what is installed, recorded and installed again without the lock: versions, folders and
//! choices.

use std::fs;

use prowess::install::{
    InstallError, InstallErrorKind, InstallOptions, InstallScope, InstallSpec, Installer, SyncOptions,
};

use crate::installer::{Desk, git, no_git, reference, skill, text};

const SCOPE: InstallScope = InstallScope::Project;

fn add(installer: &Installer, spec: &InstallSpec, names: &[&str], all: bool) -> Result<(), InstallError> {
    let mut available = installer.find(SCOPE, &installer.source(spec)?)?;
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let chosen = available.choose(&names, all)?;
    let skills = installer.prepare(SCOPE, &mut available, &chosen, None, &mut |_| {})?;
    installer.add(SCOPE, skills, &InstallOptions::default(), &mut |_| {}).map(drop)
}

fn sync(installer: &Installer, options: &SyncOptions) -> Result<(), InstallError> {
    let plan = installer.plan_sync(SCOPE, options, &mut |_| {})?;
    let skills = installer.fetch_sync(SCOPE, plan, &mut |_| {})?;
    installer.sync(SCOPE, skills, options, &mut |_| {}).map(drop)
}

fn locked() -> SyncOptions {
    let mut options = SyncOptions::default();
    options.locked = true;
    options
}

/// A repository `@acme/r` with the skills `a` and `b`, each in its folder, and two versions.
fn two_skills() -> Desk {
    let desk = Desk::new();
    let work = desk.path("work-r");
    for version in ["one", "two"] {
        for name in ["a", "b"] {
            fs::create_dir_all(work.join("skills").join(name)).unwrap();
            fs::write(work.join("skills").join(name).join("SKILL.md"), skill(name, version)).unwrap();
        }
        if version == "one" {
            git(&work, &["init", "-q", "-b", "main"]);
        }
        git(&work, &["add", "-A"]);
        git(&work, &["commit", "-q", "-m", version]);
        git(&work, &["tag", if version == "one" { "v1" } else { "v2" }]);
    }
    git(&work, &["clone", "-q", "--bare", ".", &desk.path("repositories/acme/r.git").to_string_lossy()]);
    desk
}

#[test]
fn a_reference_takes_the_version_and_the_folder_that_are_asked_for_beside_it() {
    if no_git() {
        return;
    }
    let desk = two_skills();
    let installer = desk.installer();
    let mut spec: InstallSpec = "@acme/r".parse().unwrap();
    spec.reference = Some("v1".to_owned());
    spec.path = prowess::RelPath::parse("skills/b").ok();
    add(&installer, &spec, &[], false).unwrap();
    assert_eq!(text(&desk.path("project/.agents/skills/b")), "one");
    assert!(!desk.path("project/.agents/skills/a").exists());
    let toml = fs::read_to_string(desk.path("project/skills.toml")).unwrap();
    assert_eq!(toml, "[skills]\nb = { source = \"@acme/r@v1\", path = \"skills/b\" }\n");
    sync(&installer, &locked()).unwrap();
    fs::remove_file(desk.path("project/skills.lock")).unwrap();
    fs::remove_dir_all(desk.path("project/.agents")).unwrap();
    sync(&installer, &SyncOptions::default()).unwrap();
    assert_eq!(text(&desk.path("project/.agents/skills/b")), "one");
}

#[test]
fn a_version_or_folder_that_is_named_twice_is_refused_by_name() {
    let desk = Desk::new();
    let installer = desk
        .installer()
        .with_registry("local", "/srv/{name}")
        .with_registry("page", "https://git.example.org/group/{name}/-/tree/main/skills");
    for (source, reference, path, part) in [
        ("@acme/r@v1", Some("v2"), None, "two versions"),
        ("@local/r@v1", None, None, "no versions"),
        ("@local/r", Some("v1"), None, "no versions"),
        ("@page/r@v1", None, None, "already"),
        ("@page/r", None, Some("x"), "already"),
        ("https://github.com/o/r/tree/main/skills", Some("v1"), None, "already"),
        ("https://github.com/o/r/tree/main/skills", None, Some("x"), "already"),
    ] {
        let mut spec: InstallSpec = source.parse().unwrap();
        spec.reference = reference.map(str::to_owned);
        spec.path = path.map(|path| prowess::RelPath::parse(path).unwrap());
        let error = installer.source(&spec).and_then(|source| installer.find(SCOPE, &source)).unwrap_err();
        assert_eq!(error.kind(), InstallErrorKind::Request, "{source}: {error}");
        assert!(error.to_string().contains(part) && !error.hint().is_empty(), "{source}: {error}");
    }
    assert!(!desk.store().exists(), "nothing is fetched");
}

#[test]
fn the_choice_of_a_skill_by_reference_is_recorded_so_that_sync_needs_no_lock() {
    if no_git() {
        return;
    }
    let desk = two_skills();
    let installer = desk.installer();
    let mut spec: InstallSpec = "@acme/r".parse().unwrap();
    add(&installer, &spec, &[], true).unwrap();
    let toml = || fs::read_to_string(desk.path("project/skills.toml")).unwrap();
    let both = "[skills]\na = { source = \"@acme/r\", skill = \"a\" }\nb = { source = \"@acme/r\", skill = \"b\" }\n";
    assert_eq!(toml(), both);
    sync(&installer, &locked()).unwrap();
    // Two skills were installed by one reference, and it names none of them.
    let error = installer.resolve(&reference("@acme/r")).unwrap_err();
    assert!(error.to_string().contains("a, b"), "{error}");
    fs::remove_file(desk.path("project/skills.lock")).unwrap();
    fs::remove_dir_all(desk.path("project/.agents")).unwrap();
    sync(&installer, &SyncOptions::default()).unwrap();
    for name in ["a", "b"] {
        assert_eq!(text(&desk.path("project/.agents/skills").join(name)), "two", "{name}");
    }
    fs::remove_file(desk.path("project/skills.toml")).unwrap();
    fs::remove_file(desk.path("project/skills.lock")).unwrap();
    fs::remove_dir_all(desk.path("project/.agents")).unwrap();
    spec.skill = Some("b".to_owned());
    add(&installer, &spec, &[], false).unwrap();
    assert_eq!(toml(), "[skills]\nb = { source = \"@acme/r\", skill = \"b\" }\n");
}

#[test]
fn a_ref_by_its_whole_name_or_a_commit_in_capitals_fits_its_own_lock() {
    if no_git() {
        return;
    }
    let desk = two_skills();
    let installer = desk.installer();
    let url = format!("file://{}/acme/r.git", desk.path("repositories").display());
    let commit = git(&desk.path("work-r"), &["rev-parse", "v1"]).to_uppercase();
    for reference in ["refs/heads/main", "refs/tags/v1", "main", "v2", &commit] {
        let entry = format!("[skills]\na = {{ git = \"{url}\", ref = \"{reference}\", skill = \"a\" }}\n");
        fs::write(desk.path("project/skills.toml"), entry).unwrap();
        sync(&installer, &SyncOptions::default()).unwrap();
        sync(&installer, &locked()).unwrap_or_else(|error| panic!("{reference}: {error}"));
    }
}

#[test]
fn several_entries_of_one_repository_and_version_are_from_one_commit() {
    if no_git() {
        return;
    }
    let desk = two_skills();
    let url = format!("file://{}/acme/r.git", desk.path("repositories").display());
    let entries = format!(
        "[skills]\na = {{ git = \"{url}\", skill = \"a\" }}\nb = {{ git = \"{url}\", path = \"skills/b\" }}\n\
         old = {{ git = \"{url}\", ref = \"v1\", skill = \"a\" }}\nmore = {{ source = \"@acme/r\", skill = \"b\" }}\n"
    );
    fs::write(desk.path("project/skills.toml"), entries).unwrap();
    sync(&desk.installer(), &SyncOptions::default()).unwrap();
    let lock = fs::read_to_string(desk.path("project/skills.lock")).unwrap();
    let commits: std::collections::BTreeSet<&str> =
        lock.lines().filter_map(|line| line.strip_prefix("commit = ")).collect();
    assert_eq!(commits.len(), 2, "{lock}");
    for (name, version) in [("a", "two"), ("b", "two"), ("old", "one"), ("more", "two")] {
        assert_eq!(text(&desk.path("project/.agents/skills").join(name)), version, "{name}");
    }
}

#[test]
fn resolve_and_remove_take_every_way_to_write_a_version() {
    if no_git() {
        return;
    }
    let desk = Desk::new();
    desk.repository("pdf", ".", &["first", "second"]);
    let installer = desk.installer();
    let commit = git(&desk.path("work-pdf"), &["rev-parse", "v1"]);
    let capitals = commit.to_uppercase();
    for written in [
        &["v1", "refs/tags/v1"][..],
        &["main", "refs/heads/main"],
        &[&commit, &capitals],
        &[&capitals, &commit],
    ] {
        let by = |version: &str| reference(&format!("@acme/pdf@{version}"));
        let folder = installer.install(&by(written[0]), InstallScope::Project, None).unwrap();
        for version in written {
            assert_eq!(installer.resolve(&by(version)).unwrap(), folder, "{version}");
        }
        // Without a version, every one is meant; another one is not installed.
        assert_eq!(installer.resolve(&reference("@acme/pdf")).unwrap(), folder);
        let other = installer.resolve(&by("v2")).unwrap_err();
        assert_eq!(other.kind(), InstallErrorKind::NotFound, "{other}");
        assert_eq!(installer.remove(&by("v2")).unwrap_err().kind(), InstallErrorKind::NotFound);
        installer.remove(&by(written[1])).unwrap();
        assert!(!folder.exists(), "{written:?}");
    }
}
