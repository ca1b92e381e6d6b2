//! What a configuration may ask for, and what the environment may say: a repository reaches nothing beyond itself.

use std::fmt::Write as _;
use std::fs::{self, File};

use prowess::env::Environment;
use prowess::library::{LibraryOptions, library};
use prowess::registry::trust::Approvals;
use prowess::settings::{Config, ConfigLimits, SettingsError};
use prowess::source::JsonlLimits;
use prowess::{ConfigError, JsonlSource, Registry, Source, SourceError, SourceErrorKind, SourceSpec};

use crate::data::skipped;
use crate::trees::{keys, skill, tree};

fn of_project(home: &tempfile::TempDir, variables: [(&str, &str); 1]) -> Registry {
    let folder = home.path().join("home");
    let environment = Environment::of([("HOME", folder.to_str().unwrap()), variables[0]]);
    let registry = library(&home.path().join("project"), &environment, &LibraryOptions::default()).unwrap();
    registry.refresh().unwrap();
    registry
}

fn trust_project(home: &tempfile::TempDir) {
    let mut approvals = Approvals::default();
    approvals.trust_folder(home.path().join("project"));
    approvals.save(&home.path().join("home/.local/state/prowess/trust.json")).unwrap();
}

fn problems(registry: &Registry) -> String {
    registry.problems().iter().map(|problem| format!("{problem}: {}\n", problem.hint())).collect()
}

#[test]
fn a_project_never_reads_the_environment_trusted_or_not() {
    let config = "[[skills.sources]]\njsonl = '${SECRET:-x}'\n[[skills.sources]]\ndir = '${SECRET}/skills'\n";
    let home = tree(&[
        ("project/.git/HEAD", ""),
        ("project/prowess.toml", config),
        ("outside/skills/a/SKILL.md", &skill("a")),
    ]);
    let secret = home.path().join("outside");
    let variables = [("SECRET", secret.to_str().unwrap())];
    for trusted in [false, true] {
        if trusted {
            trust_project(&home);
        }
        let registry = of_project(&home, variables);
        let said = problems(&registry);
        assert!(!said.contains("outside"), "{said}");
        assert_eq!(said.matches("skills.sources[").count(), 2, "{said}");
        assert_eq!(
            said.matches(": a project's configuration has no variables: ${SECRET").count(),
            2,
            "{said}"
        );
        assert_eq!(said.matches(": write the path itself\n").count(), 2, "{said}");
        assert!(keys(&registry).is_empty());
    }
    // The user's own file may.
    let own = home.path().join("home/.config/prowess");
    fs::create_dir_all(&own).unwrap();
    fs::write(own.join("prowess.toml"), "[[skills.sources]]\ndir = '${SECRET}/skills'\n").unwrap();
    fs::remove_file(home.path().join("project/prowess.toml")).unwrap();
    assert_eq!(keys(&of_project(&home, variables)), ["a"]);
}

#[test]
fn a_project_with_more_sources_than_the_limit_is_said_and_takes_nothing_else_along() {
    let mut config = String::new();
    for number in 0..=ConfigLimits::default().sources {
        let _ = writeln!(config, "[[skills.sources]]\ndir = 's{number}'");
    }
    let home = tree(&[
        ("project/.git/HEAD", ""),
        ("project/prowess.toml", &config),
        ("project/s0/a/SKILL.md", &skill("a")),
        ("home/.claude/skills/mine/SKILL.md", &skill("mine")),
    ]);
    let registry = of_project(&home, [("X", "x")]);
    assert_eq!(keys(&registry), ["mine"]);
    let said = problems(&registry);
    assert!(said.contains("skills.sources: there are 257, at most 256: name fewer"), "{said}");
    // A host that wants more says so.
    let limits = ConfigLimits::default().with_sources(1_000);
    let options = LibraryOptions::default().with_limits(limits);
    let folder = home.path().join("home");
    let environment = Environment::of([("HOME", folder.to_str().unwrap())]);
    let registry = library(&home.path().join("project"), &environment, &options).unwrap();
    registry.refresh().unwrap();
    assert_eq!(keys(&registry), ["a", "mine"]);
}

#[test]
fn a_folder_that_is_named_many_times_is_opened_once() {
    let home = tree(&[("project/.git/HEAD", ""), ("project/skills/a/SKILL.md", &skill("a"))]);
    std::os::unix::fs::symlink("skills", home.path().join("project/link")).unwrap();
    let environment = Environment::of([("HOME", home.path().join("home").to_str().unwrap())]);
    let mut named = vec!["skills", "./skills/", "skills/../skills", "link"];
    named.extend(std::iter::repeat_n("skills", 5_000));
    named.push("dir=skills,prefix=team");
    let sources = named.iter().map(|source| SourceSpec::parse(source).unwrap()).collect();
    let options = LibraryOptions::default().with_sources(sources);
    let registry = library(&home.path().join("project"), &environment, &options).unwrap();
    registry.refresh().unwrap();
    assert_eq!(keys(&registry), ["a", "team:a"]);
    assert_eq!(registry.catalog().all().count(), 2, "no copy is shadowed by another");
    assert_eq!(registry.labels().count(), 3, "what is registered, and the folder in two ways");
}

#[test]
fn thousands_of_sources_with_one_name_each_have_a_label_and_are_read_by_it() {
    let mut registry = Registry::new();
    for number in 0..5_000 {
        let name = format!("s{number}");
        let source = prowess::MemorySource::new("same");
        source.insert(&name, skill(&name), prowess::Scope::Explicit);
        registry.add(source);
    }
    registry.refresh().unwrap();
    assert_eq!(registry.document("s4999").unwrap().body(), "Body of s4999.");
    assert_eq!(registry.get("s1").unwrap().source.as_ref(), "same (2)");
}

#[test]
fn a_home_that_is_no_absolute_path_is_an_error_that_names_it() {
    let home = tree(&[("project/.local/state/prowess/trust.json", "")]);
    for (name, value) in [("HOME", "."), ("HOME", "home"), ("XDG_STATE_HOME", "state")] {
        let environment = Environment::of([("HOME", "/nowhere"), (name, value)]);
        let error = library(home.path(), &environment, &LibraryOptions::default()).unwrap_err();
        let SettingsError::Environment(error) = error else { panic!("{error}") };
        assert_eq!((error.name.as_str(), error.value.as_str()), (name, value));
        assert!(error.hint().contains("absolute path"));
    }
    // A client's own variable names nothing then, and never the folder that one is in.
    let folder = tree(&[("skills/trap/SKILL.md", &skill("trap"))]);
    let environment = Environment::of([("HOME", "/nowhere"), ("CODEX_HOME", "."), ("CLAUDE_CONFIG_DIR", "")]);
    let registry = library(folder.path(), &environment, &LibraryOptions::default()).unwrap();
    assert!(registry.labels().all(|label| label == "registered" || label.starts_with('/')));
}

/// A file of two terabytes that takes no room; nothing where the file system has no such files.
fn huge(path: &std::path::Path) -> Option<()> {
    File::create(path).unwrap().set_len(2 << 40).ok()
}

#[test]
fn a_file_is_refused_by_its_size_wherever_one_is_read_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for name in ["huge.jsonl", "prowess.toml", "trust.json", "huge.zip", "ca.pem"] {
        if huge(&path(name)).is_none() {
            return skipped("this file system has no files of two terabytes");
        }
    }
    let too_large = |error: &SourceError| matches!(error, SourceError { kind: SourceErrorKind::TooLarge { size, .. }, .. } if *size == 2 << 40);
    assert!(too_large(&JsonlSource::new(path("huge.jsonl")).list().unwrap_err()));
    assert!(too_large(&Approvals::load(&path("trust.json")).unwrap_err()));
    assert!(
        matches!(Config::read_of_project(&path("prowess.toml"), ConfigLimits::default(), &Approvals::default()), Err(ConfigError::Read(error)) if too_large(&error))
    );
    #[cfg(feature = "archive")]
    assert!(too_large(&prowess::ArchiveSource::new(path("huge.zip")).list().unwrap_err()));
    #[cfg(feature = "http")]
    assert!(too_large(&prowess::net::UreqClient::new(Some(&path("ca.pem"))).unwrap_err()));
}

#[test]
fn a_file_of_lines_has_limits_and_what_is_within_them_stands() {
    let line = |name: &str| format!("{{\"name\":\"{name}\",\"description\":\"Does {name}.\"}}\n");
    let folder = tree(&[
        ("three.jsonl", &format!("{}\n{}{}", line("a"), line("b"), line("c"))),
        ("bad.jsonl", &format!("{}{}", "x\n".repeat(1_000), line("good"))),
    ]);
    let list = |name: &str, limits: JsonlLimits| {
        JsonlSource::new(folder.path().join(name)).with_limits(limits).list()
    };
    let usual = JsonlLimits::default();
    let cut = list("three.jsonl", usual.with_lines(2)).unwrap();
    assert_eq!(cut.skills.len(), 2);
    assert!(
        matches!(cut.problems[..], [SourceError { kind: SourceErrorKind::TooMany { limit: 2, .. }, .. }]),
        "{:?}",
        cut.problems
    );
    assert_eq!(list("three.jsonl", usual.with_lines(3)).unwrap().problems.len(), 0);
    let large = list("three.jsonl", usual.with_file_bytes(20)).unwrap_err();
    assert!(
        matches!(large, SourceError { kind: SourceErrorKind::TooLarge { limit: 20, .. }, .. }),
        "{large}"
    );
    let long = list("three.jsonl", usual.with_line_bytes(20)).unwrap();
    assert_eq!((long.skills.len(), long.problems.len()), (0, 3));
    let crowded = list("three.jsonl", usual.with_line_values(4)).unwrap();
    assert_eq!((crowded.skills.len(), crowded.problems.len()), (0, 3));
    assert!(crowded.problems[0].to_string().contains("more than 4 values"), "{}", crowded.problems[0]);
    assert_eq!(list("three.jsonl", usual.with_line_values(5)).unwrap().skills.len(), 3);
    let bad = list("bad.jsonl", usual).unwrap();
    assert_eq!((bad.skills.len(), bad.problems.len()), (1, 21), "twenty, and how many more");
    assert!(bad.problems[20].to_string().contains("980 more"), "{}", bad.problems[20]);
}
