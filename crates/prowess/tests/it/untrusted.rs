//! What a project may bring along before it is trusted, and what it may say about skills that are not its own.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use prowess::advice::HintAction;
use prowess::env::Environment;
use prowess::library::{LibraryOptions, library, library_with_session};
use prowess::registry::trust::Approvals;
use prowess::settings::ConfigLimits;
use prowess::{ConfigError, Obstacle, ProjectLimits, Registry, SourceError, SourceErrorKind};

use crate::trees::{keys, skill, tree, write};

fn environment(home: &Path) -> Environment {
    Environment::of([("HOME", home.join("home").to_str().unwrap())])
}

/// The skills as they are seen from `project`.
fn seen(home: &Path, project_limits: ProjectLimits) -> Registry {
    let options = LibraryOptions::default().with_project_limits(project_limits);
    let registry = library(&home.join("project"), &environment(home), &options).unwrap();
    registry.refresh().unwrap();
    registry
}

fn trust(home: &Path) {
    let mut approvals = Approvals::default();
    approvals.trust_folder(home.join("project"));
    approvals.save(&home.join("home/.local/state/prowess/trust.json")).unwrap();
}

/// What was said of the limits of a project, and of nothing else.
fn too_large(registry: &Registry) -> Vec<(&'static str, u64)> {
    let problems = registry.problems();
    let what = |problem: &SourceError| match problem {
        SourceError { kind: SourceErrorKind::ProjectTooLarge { what, limit, .. }, .. } => (*what, *limit),
        other => panic!("{other}"),
    };
    problems.iter().map(|problem| what(problem)).collect()
}

#[test]
fn a_folder_that_a_project_names_and_does_not_have_is_reported() {
    let home = tree(&[
        ("project/.git/HEAD", ""),
        (
            "project/prowess.toml",
            "[[skills.sources]]\ndir = 'gone'\n[[skills.sources]]\ndir = 'may'\noptional = true\n",
        ),
        ("home/x", ""),
    ]);
    trust(home.path());
    let problems = seen(home.path(), ProjectLimits::default()).problems();
    assert!(
        matches!(&*problems[0], SourceError { kind: SourceErrorKind::Missing, at, .. } if at.text().ends_with("/gone")),
        "{problems:?}"
    );
    assert_eq!(problems.len(), 1);
}

#[test]
fn a_trusted_project_does_not_hide_the_skills_of_the_user() {
    let home = tree(&[
        ("project/.git/HEAD", ""),
        ("project/.claude/skills/ours/SKILL.md", &skill("ours")),
        ("project/.claude/skills/draft/SKILL.md", &skill("draft")),
        ("shared/team/SKILL.md", &skill("team")),
        ("shared/old/SKILL.md", &skill("old")),
        ("home/.claude/skills/mine/SKILL.md", &skill("mine")),
    ]);
    let source = "[[skills.sources]]\ndir = '../shared'\n";
    trust(home.path());
    for lists in ["enable = ['ours', 'team']", "disable = ['mine', 'draft', 'old']"] {
        write(home.path(), "project/prowess.toml", &format!("[skills]\n{lists}\n{source}"));
        let registry = seen(home.path(), ProjectLimits::default());
        // It speaks for what is in it and for what it names.
        assert_eq!(keys(&registry), ["mine", "ours", "team"], "{lists}");
    }
}

#[test]
fn one_folder_under_many_prefixes_is_listed_within_the_limits_of_a_project() {
    let mut config = String::new();
    for number in 0..200 {
        let _ = writeln!(config, "[[skills.sources]]\ndir = 'lib'\nprefix = 'p{number:03}'");
    }
    let home = tree(&[
        ("project/.git/HEAD", ""),
        ("project/prowess.toml", &config),
        ("project/.claude/skills/found/SKILL.md", &skill("found")),
        ("home/.claude/skills/mine/SKILL.md", &skill("mine")),
    ]);
    for number in 0..10 {
        let name = format!("s{number}");
        write(home.path(), &format!("project/lib/{name}/SKILL.md"), &skill(&name));
    }
    let limits = ProjectLimits::default().with_skills(25);
    let registry = seen(home.path(), limits);
    // Skills in the user's own folders do not count, and each refresh starts a new budget.
    for _ in 0..2 {
        registry.refresh().unwrap();
        let of_project = registry.catalog().all().filter(|(skill, _)| skill.entry.name != "mine").count();
        assert_eq!(of_project, 25);
        assert!(registry.get("mine").is_ok() && registry.get("found").is_ok());
        assert_eq!(too_large(&registry), [("skills", 25)]);
    }
    let hint = registry.problems()[0].hint();
    assert_eq!(hint.action().map(HintAction::code), Some("trust-project"), "{hint}");
    // By the usual limits all are there, and folders without any skill count too.
    assert_eq!(seen(home.path(), ProjectLimits::default()).catalog().all().count(), 2_002);
    let limits = ProjectLimits::default().with_entries(100);
    assert_eq!(too_large(&seen(home.path(), limits)), [("entries of folders", 100)]);
    // A trusted project has no such limit.
    trust(home.path());
    let limits =
        ProjectLimits::default().with_skills(25).with_entries(1).with_listed_bytes(1).with_read_bytes(1);
    assert_eq!(seen(home.path(), limits).catalog().all().count(), 2_002);
}

#[test]
fn frontmatter_and_lines_of_a_project_are_kept_within_its_limits() {
    let long = format!("---\nname: long\ndescription: {}\n---\n", "d".repeat(9_000));
    let home = tree(&[("project/.git/HEAD", "")]);
    for folder in ["a", "b", "c"] {
        write(home.path(), &format!("project/.claude/skills/{folder}/SKILL.md"), &long);
    }
    let limits = ProjectLimits::default().with_listed_bytes(20_000);
    // The second time the frontmatter comes from the cache.
    let options = LibraryOptions::default().with_cache(true).with_project_limits(limits);
    for _ in 0..2 {
        let registry = library(&home.path().join("project"), &environment(home.path()), &options).unwrap();
        registry.refresh().unwrap();
        assert_eq!(registry.catalog().all().count(), 2);
        assert_eq!(too_large(&registry), [("bytes that describe skills", 20_000)]);
    }

    fs::remove_dir_all(home.path().join("project/.claude")).unwrap();
    let line = |name: &str| format!("{{\"name\": \"{name}\", \"description\": \"{}\"}}\n", "d".repeat(9_000));
    write(home.path(), "project/one.jsonl", &line("one"));
    write(home.path(), "project/more.jsonl", &["x", "y", "z"].map(line).concat());
    write(home.path(), "project/last.jsonl", &line("last"));
    let sources = ["one", "more", "last"].map(|file| format!("[[skills.sources]]\njsonl = '{file}.jsonl'\n"));
    write(home.path(), "project/prowess.toml", &sources.concat());
    let registry = seen(home.path(), limits);
    assert_eq!(keys(&registry), ["one"]);
    assert_eq!(too_large(&registry), [("bytes that describe skills", 20_000)]);
    let limits = ProjectLimits::default().with_skills(2);
    assert_eq!(keys(&seen(home.path(), limits)), ["one", "x"]);
    assert_eq!(keys(&seen(home.path(), ProjectLimits::default())), ["last", "one", "x", "y", "z"]);
}

#[cfg(feature = "archive")]
#[test]
fn archives_of_a_project_are_unpacked_within_its_limits() {
    let mut builder =
        tar::Builder::new(flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best()));
    for (path, bytes) in [("a/SKILL.md", skill("a").into_bytes()), ("a/zeros.bin", vec![0; 500_000])] {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, path, bytes.as_slice()).unwrap();
    }
    let packed = builder.into_inner().unwrap().finish().unwrap();
    let home = tree(&[("project/.git/HEAD", ""), ("project/broken.zip", "no archive")]);
    fs::write(home.path().join("project/a.tar.gz"), packed).unwrap();
    let mut config = String::new();
    for number in 0..20 {
        let _ = writeln!(config, "[[skills.sources]]\narchive = 'a.tar.gz'\nprefix = 'p{number:02}'");
    }
    write(home.path(), "project/prowess.toml", &config);
    let limits = ProjectLimits::default().with_read_bytes(1_200_000);
    let registry = seen(home.path(), limits);
    assert_eq!(keys(&registry), ["p00:a", "p01:a"]);
    assert_eq!(too_large(&registry), [("bytes to unpack and judge", 1_200_000)]);
    assert_eq!(keys(&seen(home.path(), ProjectLimits::default())).len(), 20);
    // One that cannot be unpacked costs what was tried.
    write(home.path(), "project/prowess.toml", &config.replace("a.tar.gz", "broken.zip"));
    let problems = seen(home.path(), limits).problems();
    assert_eq!(problems.len(), 2, "one archive and the limit: {problems:?}");
}

/// A SKILL.md of about this many bytes.
fn large(name: &str, bytes: usize) -> String {
    format!("{}{}\n", skill(name), "word ".repeat(bytes / 5))
}

#[test]
fn what_a_strict_host_judges_of_a_project_is_read_within_its_limits() {
    let home = tree(&[
        ("project/.git/HEAD", ""),
        ("project/prowess.toml", "[skills]\nstrict = 'spec'\n"),
        ("home/.claude/skills/mine/SKILL.md", &large("mine", 50_000)),
    ]);
    for name in ["a", "b", "c", "d"] {
        let path = format!("project/.claude/skills/{name}/SKILL.md");
        write(home.path(), &path, &large(name, 50_000));
    }
    let limits = ProjectLimits::default().with_read_bytes(120_000);
    let registry = seen(home.path(), limits);
    // What was not judged is not offered.
    assert_eq!(keys(&registry), ["a", "b", "mine"]);
    assert_eq!(too_large(&registry), [("bytes to unpack and judge", 120_000)]);
    let broken = |skill: &prowess::Candidate| matches!(skill.obstacle, Some(Obstacle::Broken { .. }));
    assert_eq!(registry.catalog().all().filter(|(skill, _)| broken(skill)).count(), 2);
    assert_eq!(keys(&seen(home.path(), ProjectLimits::default())).len(), 5);
}

#[test]
fn a_plugin_that_a_project_names_has_the_limits_of_a_project() {
    let home = tree(&[
        ("project/.git/HEAD", ""),
        ("project/prowess.toml", "[[skills.sources]]\nplugin = 'plugin'\n"),
        ("project/plugin/.claude-plugin/plugin.json", "{\"name\": \"p\"}"),
    ]);
    for name in ["a", "b", "c", "d"] {
        write(home.path(), &format!("project/plugin/skills/{name}/SKILL.md"), &large(name, 50_000));
    }
    let limits = ProjectLimits::default().with_read_bytes(120_000);
    let registry = seen(home.path(), limits);
    assert_eq!(keys(&registry), ["a", "b"]);
    assert_eq!(too_large(&registry), [("bytes to unpack and judge", 120_000)]);
    assert_eq!(keys(&seen(home.path(), ProjectLimits::default())).len(), 4);
    // The walk has the limits of a folder that was found.
    for number in 0..2_100 {
        fs::create_dir(home.path().join(format!("project/plugin/skills/x{number:04}"))).unwrap();
        write(home.path(), &format!("project/plugin/skills/x{number:04}/SKILL.md"), &skill("x"));
    }
    let registry = seen(home.path(), ProjectLimits::default());
    let said: Vec<String> = registry.problems().iter().map(ToString::to_string).collect();
    assert!(said.iter().any(|said| said.contains("more than 2000 folders")), "{said:?}");
}

#[test]
fn a_manifest_with_many_unknown_keys_is_complained_about_a_few_times() {
    let mut manifest = "{\"$schema\": \"https://agent-plugins.org/schemas/1.0\", \"name\": \"p\"".to_owned();
    for number in 0..1_000 {
        let _ = write!(manifest, ", \"k{number}\": 1");
    }
    let home = tree(&[
        ("project/.git/HEAD", ""),
        ("project/prowess.toml", "[[skills.sources]]\nplugin = 'plugin'\n"),
        ("project/plugin/plugin.json", &format!("{manifest}}}")),
    ]);
    let registry = seen(home.path(), ProjectLimits::default());
    assert_eq!(registry.problems().len(), 21);
    let said = registry.problems()[20].to_string();
    assert!(said.contains("980 more of its keys are not known"), "{said}");
}

#[test]
fn a_project_lowers_the_depth_of_a_walk_and_raises_it_only_when_it_is_trusted() {
    let home = tree(&[
        ("project/.git/HEAD", ""),
        ("project/.claude/skills/one/SKILL.md", &skill("one")),
        ("project/.claude/skills/1/2/SKILL.md", &skill("two")),
        ("project/.claude/skills/1/2/3/4/5/6/7/8/SKILL.md", &skill("eight")),
    ]);
    let names = |depth: usize| {
        write(home.path(), "project/prowess.toml", &format!("[scan]\ndepth = {depth}\n"));
        keys(&seen(home.path(), ProjectLimits::default()))
    };
    assert_eq!(names(1), ["one"]);
    assert_eq!(names(20), ["one", "two"]);
    // Not above what the user says either, however that came about.
    write(home.path(), "home/.config/prowess/prowess.toml", "[scan]\ndepth = 1\n");
    assert_eq!(names(2), ["one"]);
    trust(home.path());
    assert_eq!(names(20), ["one"]);
    std::fs::remove_file(home.path().join("home/.config/prowess/prowess.toml")).unwrap();
    assert_eq!(names(20), ["eight", "one", "two"]);
}

#[test]
fn a_configuration_that_leads_out_of_a_project_is_not_read_before_it_is_trusted() {
    let home = tree(&[
        ("project/.git/HEAD", ""),
        ("secret/credentials", "aws_secret_key = 'CANARY'\n"),
        ("project/.claude/skills/a/SKILL.md", &skill("a")),
    ]);
    symlink("../secret/credentials", home.path().join("project/prowess.toml")).unwrap();
    let said = |registry: &Registry| -> String {
        registry.problems().iter().map(|problem| format!("{problem}: {}\n", problem.hint())).collect()
    };
    let registry = seen(home.path(), ProjectLimits::default());
    assert_eq!(keys(&registry), ["a"]);
    let problems = registry.problems();
    let SourceErrorKind::Config(error) = &problems[0].kind else { panic!("{problems:?}") };
    let outside =
        matches!(&**error, ConfigError::Read(SourceError { kind: SourceErrorKind::OutsideProject, .. }));
    assert!(outside && !said(&registry).contains("aws"), "{}", said(&registry));
    // A link inside of it is a file of it.
    fs::remove_file(home.path().join("project/prowess.toml")).unwrap();
    write(home.path(), "project/configs/prowess.toml", "[skills]\ndisable = ['a']\n");
    symlink("configs/prowess.toml", home.path().join("project/prowess.toml")).unwrap();
    assert!(keys(&seen(home.path(), ProjectLimits::default())).is_empty());
    // A trusted one may share a file with others.
    fs::remove_file(home.path().join("project/prowess.toml")).unwrap();
    write(home.path(), "shared.toml", "[skills]\ndisable = ['a']\n");
    symlink("../shared.toml", home.path().join("project/prowess.toml")).unwrap();
    assert_eq!(keys(&seen(home.path(), ProjectLimits::default())), ["a"]);
    trust(home.path());
    assert!(keys(&seen(home.path(), ProjectLimits::default())).is_empty());
}

#[test]
fn what_is_said_of_sessions_is_read_within_the_limits_of_the_library() {
    let home = tree(&[
        ("project/.git/HEAD", ""),
        ("home/.config/prowess/prowess.toml", "[skills]\ndisable = ['a', 'b', 'c']\n"),
    ]);
    let read = |disabled| {
        let limits = ConfigLimits::default().with_disabled(disabled);
        let options = LibraryOptions::default().with_limits(limits);
        library_with_session(&home.path().join("project"), &environment(home.path()), &options)
    };
    assert!(read(2).is_err() && read(3).is_ok());
}

#[cfg(unix)]
#[test]
fn settings_of_sessions_are_used_although_their_folder_has_to_be_closed_first() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = tree(&[
        ("project/.git/HEAD", ""),
        ("home/.config/prowess/prowess.toml", "[session]\nmax_kept_bytes = 4096\n"),
    ]);
    let folder = home.path().join("home/.config/prowess");
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o777)).unwrap();
    let (from, environment) = (home.path().join("project"), environment(home.path()));
    let (_, session_config) = library_with_session(&from, &environment, &LibraryOptions::default()).unwrap();
    assert_eq!(session_config.options().max_kept_bytes, 4096);
    assert_eq!(std::fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
}
