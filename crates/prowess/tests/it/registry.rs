//! Folders into one catalog: every capability of discovery and registry, and the defects of other loaders. It is one
//! list, in which a missing capability is noticed.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::{Arc, Mutex};

use prowess::catalog::TurnedOffBy;
use prowess::env::Environment;
use prowess::files::Contents;
use prowess::fs::walk::{FileName, MissingRoot, OnError};
use prowess::library::clients::client;
use prowess::path::Glob;
use prowess::registry::Disabled;
use prowess::source::Slice;
use prowess::{
    DirSource, Duplicates, Layer, MemorySource, Obstacle, Profile, Registry, RegistryError, ScanOptions,
    Scope, Skill, SkillData, SkillsError, Source, SourceError, SourceErrorKind, Standing, TooLarge, discover,
};

use crate::trees::{keys, registry, skill, tree, write};

#[test]
fn one_bad_skill_hides_no_good_one_and_is_explained() {
    let folder = tree(&[("good/SKILL.md", &skill("good")), ("bad/SKILL.md", "no frontmatter\n")]);
    let registry = registry(&[folder.path()]);
    registry.refresh().unwrap();
    assert_eq!(keys(&registry), ["good"]);
    let catalog = registry.catalog();
    let why = catalog.why("bad");
    let [(candidate, Standing::Blocked { obstacle: Obstacle::Broken { problems, .. } })] = why.as_slice()
    else {
        panic!("{why:?}");
    };
    assert_eq!((candidate.entry.key.as_str(), problems[0].code), ("bad", "frontmatter-missing"));
}

#[test]
fn errors_may_also_end_the_list_or_be_passed_over() {
    let folder = tree(&[("good/SKILL.md", &skill("good")), ("bad/SKILL.md", "x\n")]);
    let with = |on_error| {
        let mut registry = Registry::new();
        registry.add(DirSource::new(folder.path(), ScanOptions::unbounded().with_on_error(on_error)));
        registry.refresh().map(|_| registry.catalog().all().count())
    };
    assert!(matches!(
        with(OnError::Fail),
        Err(RegistryError::Source(SourceError { kind: SourceErrorKind::Damaged { .. }, .. }))
    ));
    assert_eq!(with(OnError::Report).unwrap(), 2);
    assert_eq!(with(OnError::Ignore).unwrap(), 1);
}

#[test]
fn a_strict_scan_fails_reports_or_passes_over_what_its_profile_refuses() {
    let folder = tree(&[
        ("good/SKILL.md", &skill("good")),
        ("odd/SKILL.md", "---\nname: Very_odd\ndescription: d\n---\n"),
    ]);
    let with = |on_error| {
        let options = ScanOptions::unbounded().with_on_error(on_error);
        prowess::discover_judged(&[folder.path()], &options, &Profile::spec()).map(|found| found.len())
    };
    let error = with(OnError::Fail).unwrap_err().to_string();
    assert!(error.contains("Very_odd") && error.matches("; ").count() >= 2, "every reason is there: {error}");
    assert_eq!(with(OnError::Report).unwrap(), 1);
    assert_eq!(with(OnError::Ignore).unwrap(), 1);
    assert_eq!(
        discover(&[folder.path()], &ScanOptions::unbounded()).unwrap().len(),
        2,
        "leniently both load"
    );
}

#[test]
fn on_problem_is_called_with_every_reason_of_a_refusal() {
    let folder = tree(&[("odd/SKILL.md", "---\nname: Very_odd\ndescription: d\n---\n")]);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    let mut registry = registry(&[folder.path()]);
    registry.set_profile(Profile::spec());
    registry.on_problem(move |problem| sink.lock().unwrap().push(problem.to_string()));
    registry.refresh().unwrap();
    let catalog = registry.catalog();
    let [(_, Standing::Blocked { obstacle: Obstacle::Broken { problems, .. } })] =
        catalog.why("Very_odd")[..]
    else {
        panic!("{:?}", catalog.why("Very_odd"));
    };
    assert!(problems.len() >= 3, "{problems:?}");
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 1);
    for problem in problems {
        assert!(seen[0].contains(&problem.message), "{}: {}", problem.message, seen[0]);
    }
}

#[test]
fn a_skill_of_another_registry_is_not_read_although_its_folder_has_the_same_name() {
    let folder = tree(&[("skills/a/SKILL.md", &skill("a")), ("skills-old/a/SKILL.md", &skill("a"))]);
    let (now, old) = (folder.path().join("skills"), folder.path().join("skills-old"));
    let (here, same, other) = (registry(&[&now]), registry(&[&now]), registry(&[&old]));
    for registry in [&here, &same, &other] {
        registry.refresh().unwrap();
    }
    assert!(here.document_of(&here.get("a").unwrap()).is_ok());
    for of_another in [same.get("a").unwrap(), other.get("a").unwrap()] {
        assert!(here.document_of(&of_another).is_err() && here.files_of(&of_another).is_err());
        assert!(!here.needs_trust(&of_another) && !here.is_remote(&of_another));
    }
}

#[test]
fn lists_of_names_say_what_is_offered_and_each_counts() {
    let folder =
        tree(&[("a/SKILL.md", &skill("a")), ("ab/SKILL.md", &skill("ab")), ("b/SKILL.md", &skill("b"))]);
    let allowed = |glob: &str, within: Option<&Path>| {
        let by = TurnedOffBy::List("a list".to_owned());
        let within = within.map(|folder| folder.to_str().unwrap().to_owned());
        Disabled::all_but(vec![Glob::parse(glob).unwrap()], by).with_within(within)
    };
    let mut registry = registry(&[folder.path()]);
    registry.disable([allowed("a*", None), allowed("none", Some(Path::new("/elsewhere")))]);
    registry.refresh().unwrap();
    assert_eq!(keys(&registry), ["a", "ab"]);
    registry.disable([allowed("*b", Some(folder.path()))]);
    registry.refresh().unwrap();
    assert_eq!(keys(&registry), ["ab"]);
    assert!(matches!(
        registry.catalog().why("a")[0].1,
        Standing::Blocked { obstacle: Obstacle::Disabled { by } } if by.to_string() == "a list"
    ));
}

#[test]
fn linked_folders_and_linked_files_are_skills_and_each_is_one() {
    let store = tree(&[("pdf/SKILL.md", &skill("pdf")), ("docx/SKILL.md", &skill("docx"))]);
    let folder = tree(&[("plain/SKILL.md", &skill("plain")), ("docx/notes.md", "")]);
    symlink(store.path().join("pdf"), folder.path().join("pdf")).unwrap();
    symlink(store.path().join("docx/SKILL.md"), folder.path().join("docx/SKILL.md")).unwrap();
    symlink("plain", folder.path().join("again")).unwrap();
    symlink(".", folder.path().join("loop")).unwrap();
    let registry = registry(&[folder.path()]);
    registry.refresh().unwrap();
    assert_eq!(keys(&registry), ["docx", "pdf", "plain"]);
    assert_eq!(registry.catalog().all().count(), 3);
}

#[test]
fn a_skill_is_found_with_a_mark_with_other_line_ends_and_in_a_category() {
    let folder = tree(&[
        ("bom/SKILL.md", &format!("\u{feff}{}", skill("bom"))),
        ("crlf/SKILL.md", &skill("crlf").replace('\n', "\r\n")),
        ("category/nested/SKILL.md", &skill("nested")),
        ("colon/SKILL.md", "---\nname: colon\ndescription: Build for AWS: ECS\n---\n"),
    ]);
    let registry = registry(&[folder.path()]);
    registry.refresh().unwrap();
    assert_eq!(keys(&registry), ["bom", "colon", "crlf", "nested"]);
}

#[test]
fn special_files_are_named_and_never_waited_for() {
    let folder = tree(&[("good/SKILL.md", &skill("good"))]);
    fs::create_dir(folder.path().join("pipe")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(folder.path().join("pipe/SKILL.md")).status();
    assert!(made.unwrap().success());
    symlink("/dev/zero", folder.path().join("zero")).unwrap();
    fs::create_dir_all(folder.path().join("folder/SKILL.md")).unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let mut registry = registry(&[folder.path()]);
    let sink = Arc::clone(&seen);
    registry.on_problem(move |problem| sink.lock().unwrap().push(problem.to_string()));
    registry.refresh().unwrap();
    assert_eq!(keys(&registry), ["good"]);
    let seen = seen.lock().unwrap();
    assert!(seen.len() == 1 && seen[0].contains("a FIFO"), "{seen:?}");
    assert_eq!(registry.problems().len(), 0, "it is a broken skill, and hides nothing");
    let catalog = registry.catalog();
    let why = catalog.why("pipe");
    let [(_, Standing::Blocked { obstacle: Obstacle::Broken { problems, .. } })] = why.as_slice() else {
        panic!("{why:?}");
    };
    assert_eq!(problems[0].code, "file-unreadable");
}

#[test]
fn a_link_in_a_circle_is_a_broken_skill_that_can_be_asked_about() {
    let folder = tree(&[("good/SKILL.md", &skill("good")), ("round/x", "")]);
    symlink("SKILL.md", folder.path().join("round/SKILL.md")).unwrap();
    let registry = registry(&[folder.path()]);
    registry.refresh().unwrap();
    assert_eq!(keys(&registry), ["good"]);
    assert_eq!(registry.catalog().why("round").len(), 1);
    fs::remove_file(folder.path().join("round/SKILL.md")).unwrap();
    write(folder.path(), "round/SKILL.md", &skill("round"));
    assert_eq!(registry.refresh().unwrap().added, ["round"]);
}

#[test]
fn a_folder_whose_name_is_no_text_is_a_skill_like_any_other() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt as _;
    let folder = tree(&[]);
    for name in [&b"caf\xe9"[..], b"caf\xe8"] {
        let skill = folder.path().join(OsStr::from_bytes(name));
        fs::create_dir_all(skill.join("references")).unwrap();
        let text = format!("---\nname: n{:x}\ndescription: x\n---\nBody.\n", name[3]);
        fs::write(skill.join("SKILL.md"), text).unwrap();
        fs::write(skill.join("references/x.md"), "x").unwrap();
    }
    let registry = registry(&[folder.path()]);
    registry.refresh().unwrap();
    assert_eq!(keys(&registry), ["ne8", "ne9"]);
    assert!(registry.get("ne9").unwrap().entry.origin.location.text().ends_with("caf\\xe9/SKILL.md"));
    assert_eq!(registry.document("ne9").unwrap().body(), "Body.");
    assert_eq!(registry.files("ne8").unwrap().files.len(), 2);
}

#[test]
fn a_root_may_be_missing_a_file_or_a_skill() {
    let folder = tree(&[("SKILL.md", &skill("root")), ("inner/SKILL.md", &skill("inner"))]);
    let list = |root: &Path, options: ScanOptions| {
        DirSource::new(root, options).list().map(|listing| listing.skills.len())
    };
    let missing = folder.path().join("nowhere");
    assert_eq!(list(&missing, ScanOptions::default()).unwrap(), 0);
    let strict = ScanOptions::default().with_missing_root(MissingRoot::Error);
    assert!(matches!(
        list(&missing, strict.clone()),
        Err(SourceError { kind: SourceErrorKind::Missing, .. })
    ));
    assert!(matches!(
        list(&folder.path().join("SKILL.md"), strict),
        Err(SourceError { kind: SourceErrorKind::NotFolder, .. })
    ));
    assert_eq!(list(folder.path(), ScanOptions::default()).unwrap(), 2);
    let alone = ScanOptions::default().with_stop_at_skill(true);
    assert_eq!(list(folder.path(), alone).unwrap(), 1);
}

#[test]
fn a_skill_inside_a_skill_is_a_skill_and_its_files_stay_files_of_the_outer_one() {
    let folder = tree(&[
        ("outer/SKILL.md", &skill("outer")),
        ("outer/references/inner/SKILL.md", &skill("inner")),
        ("outer/references/inner/more.md", "more\n"),
        ("SKILL.md", &skill("top")),
    ]);
    let registry = registry(&[folder.path()]);
    registry.refresh().unwrap();
    assert_eq!(keys(&registry), ["inner", "outer", "top"]);
    assert_eq!(registry.get("inner").unwrap().virtual_path, "outer/references/inner");
    let files = |key: &str| {
        let files = registry.files(key).unwrap().files;
        files.into_iter().map(|file| file.path.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(files("inner"), ["SKILL.md", "more.md"]);
    assert_eq!(files("outer"), ["SKILL.md", "references/inner/SKILL.md", "references/inner/more.md"]);
    assert_eq!(registry.document("inner").unwrap().body(), "Body of inner.");
}

#[test]
fn any_file_name_may_make_a_skill() {
    let folder =
        tree(&[("a/AGENT.md", &skill("a")), ("b/agent.md", &skill("b")), ("c/SKILL.md", &skill("c"))]);
    let names = |file_name| {
        let options = ScanOptions::unbounded().with_file_name(file_name);
        discover(&[folder.path()], &options).unwrap().into_iter().map(|entry| entry.name).collect::<Vec<_>>()
    };
    assert_eq!(names(FileName::Exact("AGENT.md".into())), ["a"]);
    assert_eq!(names(FileName::AnyCase("AGENT.md".into())), ["a", "b"]);
    assert_eq!(names(FileName::Either), ["c"]);
}

#[test]
fn duplicates_and_prefixes() {
    let one = tree(&[("x/SKILL.md", &skill("shared")), ("y/SKILL.md", &skill("only-one"))]);
    let two = tree(&[("x/SKILL.md", &skill("shared"))]);
    let offered = |duplicates| {
        let mut registry = registry(&[one.path(), two.path()]);
        registry.set_duplicates(duplicates);
        registry.refresh().map(|_| registry.get("shared").unwrap().entry.origin.location.to_string())
    };
    assert!(offered(Duplicates::First).unwrap().starts_with(one.path().to_str().unwrap()));
    assert!(offered(Duplicates::Last).unwrap().starts_with(two.path().to_str().unwrap()));
    assert!(matches!(offered(Duplicates::Error), Err(RegistryError::Duplicate(_))));
    let mut prefixed = Registry::new();
    prefixed.add(Layer::from(DirSource::new(one.path(), ScanOptions::unbounded())).with_prefix("proj"));
    prefixed.add(Layer::from(DirSource::new(two.path(), ScanOptions::unbounded())).with_preload(true));
    prefixed.set_duplicates(Duplicates::Error).refresh().unwrap();
    assert_eq!(keys(&prefixed), ["proj:only-one", "proj:shared", "shared"]);
    // What is listed under a key is what is read under it.
    for (key, root) in [("proj:shared", one.path()), ("shared", two.path())] {
        assert!(prefixed.get(key).unwrap().entry.origin.location.text().starts_with(root.to_str().unwrap()));
        assert_eq!(prefixed.document(key).unwrap().body(), "Body of shared.");
    }
    assert_eq!(prefixed.catalog().preloaded().len(), 1);
}

#[test]
fn skills_are_registered_replaced_and_taken_away() {
    let folder = tree(&[("a/SKILL.md", &skill("a"))]);
    let registry = registry(&[folder.path()]);
    registry.refresh().unwrap();
    let made = |description: &str| {
        let dict = serde_json::json!({"name": "a", "description": description, "instructions": "By hand."});
        Skill::from(SkillData::from_dict(dict.as_object().unwrap()).unwrap())
    };
    assert!(matches!(registry.register(&made("x"), false), Err(RegistryError::Taken(_))));
    let delta = registry.register(&made("Ours."), true).unwrap();
    assert_eq!(delta.changed, ["a"]);
    assert_eq!(registry.document("a").unwrap().body(), "By hand.");
    registry.unregister("a").unwrap();
    assert_eq!(registry.get("a").unwrap().entry.description, "Does a.");
    let error = registry.unregister("b").unwrap_err();
    assert!(error.to_string().starts_with("there is no such skill: b"), "{error}");
}

#[test]
fn a_refresh_names_what_changed_and_bodies_are_never_stale() {
    let folder =
        tree(&[("a/SKILL.md", &skill("a")), ("b/SKILL.md", &skill("b")), ("c/SKILL.md", &skill("c"))]);
    let registry = registry(&[folder.path()]);
    assert_eq!(registry.refresh().unwrap().added, ["a", "b", "c"]);
    write(
        folder.path(),
        "a/SKILL.md",
        "---\nname: a\ndescription: A much longer description.\n---\nNew body.\n",
    );
    assert_eq!(registry.document("a").unwrap().body(), "New body.", "the fence is found again each time");
    fs::remove_dir_all(folder.path().join("b")).unwrap();
    assert!(matches!(registry.document("b"), Err(SourceError { kind: SourceErrorKind::Missing, .. })));
    write(folder.path(), "c/SKILL.md", "broken\n");
    write(folder.path(), "d/SKILL.md", &skill("d"));
    let delta = registry.refresh().unwrap();
    assert_eq!((delta.added, delta.changed), (vec!["d".to_owned()], vec!["a".to_owned()]));
    assert_eq!(
        (delta.removed, delta.newly_broken),
        (vec!["b".to_owned(), "c".to_owned()], vec!["c".to_owned()])
    );
}

#[test]
fn the_cache_says_what_the_disk_says() {
    let folder =
        tree(&[("a/SKILL.md", &skill("a")), ("b/SKILL.md", "---\nname: b\ndescription: x: y\n---\n")]);
    let cache = tempfile::tempdir().unwrap();
    let list = |cached: bool| {
        let mut registry = Registry::new();
        let file = cached.then(|| cache.path().join("index"));
        registry.add(DirSource::new(folder.path(), ScanOptions::unbounded()).with_cache(file));
        registry.refresh().unwrap();
        format!("{:?}", registry.catalog().list())
    };
    // Three rounds: without an index, with a fresh one, with one that is out of date.
    for round in 0..3 {
        assert_eq!(list(true), list(false), "{round}");
        write(folder.path(), "a/SKILL.md", &skill("a").replace("Does a", &format!("Does {round}")));
        assert_eq!(list(true), list(false), "{round}");
    }
    fs::write(cache.path().join("index"), "damaged").unwrap();
    assert_eq!(list(true), list(false));
}

#[test]
fn skills_in_memory_have_an_identity_and_files() {
    let memory = MemorySource::new("memory");
    memory.insert("team/a", skill("a"), Scope::Explicit);
    assert!(memory.insert_file("team/a", prowess::RelPath::parse("references/x.md").unwrap(), "x"));
    assert!(!memory.insert_file("nobody", prowess::RelPath::parse("x").unwrap(), "x"));
    let mut registry = Registry::new();
    registry.add(memory);
    registry.refresh().unwrap();
    assert_eq!(registry.catalog().list_for_dir("team").len(), 1);
    assert_eq!(registry.files("a").unwrap().files.len(), 2);
    let read = registry.read_resource("a", "references/x.md", Slice::first(9), TooLarge::Refuse).unwrap();
    assert_eq!(read.contents, Contents::Text("x".into()));
}

#[test]
fn one_skill_is_loaded_from_a_folder_a_file_or_a_text() {
    let folder = tree(&[("a/SKILL.md", &skill("a")), ("empty/x", "")]);
    let spec = Profile::spec();
    assert_eq!(Skill::load_judged(folder.path().join("a"), &spec).unwrap().body(), "Body of a.");
    assert_eq!(Skill::load(folder.path().join("a/SKILL.md")).unwrap().entry().name, "a");
    assert!(matches!(
        Skill::load(folder.path().join("empty")),
        Err(SkillsError::Source(SourceError { kind: SourceErrorKind::NoSkill, .. }))
    ));
    assert_eq!(Skill::parse(&skill("b")).unwrap().entry().name, "b");
    assert!(Skill::parse("x").is_err());
}

#[test]
fn a_client_sees_what_it_would_see() {
    let home = tree(&[
        (".claude/skills/shared/SKILL.md", &skill("shared")),
        (".agents/skills/mine/SKILL.md", &skill("mine")),
    ]);
    let project =
        tree(&[(".git/HEAD", ""), (".claude/skills/shared/SKILL.md", &skill("shared")), ("sub/x", "")]);
    let environment = Environment::of([("HOME", home.path().to_str().unwrap())]);
    let seen = |id: &str| {
        let mut registry = Registry::new();
        for root in client(id).unwrap().roots(&project.path().join("sub"), &environment) {
            let options = ScanOptions::default().with_max_depth(root.depth);
            let source = DirSource::new(root.path, options).with_scope(root.scope);
            registry.add(Layer::from(source).with_readers(root.readers));
        }
        registry.refresh().unwrap();
        registry
    };
    let claude = seen("claude-code");
    assert_eq!(keys(&claude), ["shared"]);
    assert_eq!(
        claude.get("shared").unwrap().entry.origin.scope,
        Scope::User,
        "it puts the user before the project"
    );
    assert_eq!(claude.get("shared").unwrap().readers, ["claude-code"]);
    assert_eq!(keys(&seen("codex")), ["mine"]);
}

#[test]
fn a_skill_that_is_not_offered_is_named_with_the_reason_and_never_suggested_in_its_own_place() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("nodesc", "---\nname: nodesc\n---\n"),
        ("draft", "---\nname: draft\ndescription: Not ready.\n---\n"),
        ("pdf", "---\nname: PDF-Tools\ndescription: Reads.\n---\n"),
    ] {
        fs::create_dir(folder.path().join(name)).unwrap();
        fs::write(folder.path().join(name).join("SKILL.md"), text).unwrap();
    }
    let mut registry = Registry::new();
    registry.add(DirSource::new(folder.path(), ScanOptions::unbounded()));
    registry.disable([Disabled::new(Glob::parse("draft").unwrap(), TurnedOffBy::List("a file".into()))]);
    registry.refresh().unwrap();
    let said = |name: &str| registry.get(name).unwrap_err().to_string();
    assert_eq!(said("nodesc"), "this skill is broken: nodesc: there is no description");
    assert_eq!(said("draft"), "this skill is turned off: draft: by a file");
    assert_eq!(
        said("NODESC"),
        "this skill is broken: NODESC, which is called nodesc: there is no description"
    );
    assert!(registry.get("nodesc").unwrap_err().hint().to_string().contains("check the skill"));
    assert_eq!(said("nope"), "there is no such skill: nope");
    for name in ["pdf", "PDF-Tools", "pdf-tools"] {
        assert_eq!(registry.named(name).unwrap().entry.key, "PDF-Tools");
    }
}
