//! Folders into one catalog: every capability of discovery, registry and resources, and the defects of other loaders.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::{Arc, Mutex};

use prowess::clients::client;
use prowess::env::Environment;
use prowess::glob::Glob;
use prowess::registry::Disabled;
use prowess::resources::{Contents, Groups};
use prowess::scan::{FileName, MissingRoot, OnError};
use prowess::source::Slice;
use prowess::trust::{Approvals, Trust};
use prowess::{
    DirSource, Duplicates, MemorySource, Obstacle, Profile, Registry, RegistryError, ScanOptions, Scope,
    Skill, Source, SourceError, Standing, TooLarge, discover, load, loads,
};

/// A folder of files, each with its text.
fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        write(folder.path(), path, text);
    }
    folder
}

fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn skill(name: &str) -> String {
    format!("---\nname: {name}\ndescription: Does {name}.\n---\nBody of {name}.\n")
}

fn registry(roots: &[&Path]) -> Registry {
    let mut registry = Registry::new();
    for root in roots {
        registry.add(DirSource::new(*root, ScanOptions::named()));
    }
    registry
}

fn keys(registry: &Registry) -> Vec<String> {
    registry.catalog().list().iter().map(|entry| entry.key.clone()).collect()
}

#[test]
fn one_bad_skill_hides_no_good_one_and_is_explained() {
    let folder = tree(&[("good/SKILL.md", &skill("good")), ("bad/SKILL.md", "no frontmatter\n")]);
    let mut registry = registry(&[folder.path()]);
    registry.refresh().unwrap();
    assert_eq!(keys(&registry), ["good"]);
    let catalog = registry.catalog();
    let why = catalog.why("bad");
    let [(candidate, Standing::Hindered { obstacle: Obstacle::Broken { problems } })] = why.as_slice() else {
        panic!("{why:?}");
    };
    assert_eq!((candidate.entry.key.as_str(), problems[0].code), ("bad", "frontmatter-missing"));
}

#[test]
fn errors_may_also_end_the_list_or_be_passed_over() {
    let folder = tree(&[("good/SKILL.md", &skill("good")), ("bad/SKILL.md", "x\n")]);
    let with = |on_error| {
        let mut registry = Registry::new();
        registry.add(DirSource::new(folder.path(), ScanOptions { on_error, ..ScanOptions::named() }));
        registry.refresh().map(|_| registry.catalog().all().count())
    };
    assert!(matches!(with(OnError::Fail), Err(RegistryError::Source(SourceError::Damaged { .. }))));
    assert_eq!(with(OnError::Report).unwrap(), 2);
    assert_eq!(with(OnError::Ignore).unwrap(), 1);
}

#[test]
fn linked_folders_and_linked_files_are_skills_and_each_is_one() {
    let store = tree(&[("pdf/SKILL.md", &skill("pdf")), ("docx/SKILL.md", &skill("docx"))]);
    let folder = tree(&[("plain/SKILL.md", &skill("plain")), ("docx/notes.md", "")]);
    symlink(store.path().join("pdf"), folder.path().join("pdf")).unwrap();
    symlink(store.path().join("docx/SKILL.md"), folder.path().join("docx/SKILL.md")).unwrap();
    symlink("plain", folder.path().join("again")).unwrap();
    symlink(".", folder.path().join("loop")).unwrap();
    let mut registry = registry(&[folder.path()]);
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
    let mut registry = registry(&[folder.path()]);
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
}

#[test]
fn a_root_may_be_missing_a_file_or_a_skill() {
    let folder = tree(&[("SKILL.md", &skill("root")), ("inner/SKILL.md", &skill("inner"))]);
    let list = |root: &Path, options: ScanOptions| {
        DirSource::new(root, options).list().map(|offer| offer.candidates.len())
    };
    let missing = folder.path().join("nowhere");
    assert_eq!(list(&missing, ScanOptions::default()).unwrap(), 0);
    let strict = ScanOptions { missing_root: MissingRoot::Error, ..ScanOptions::default() };
    assert!(matches!(list(&missing, strict.clone()), Err(SourceError::Missing { .. })));
    assert!(matches!(list(&folder.path().join("SKILL.md"), strict), Err(SourceError::NotFolder { .. })));
    assert_eq!(list(folder.path(), ScanOptions::default()).unwrap(), 1);
    let all = ScanOptions { stop_at_skill: false, ..ScanOptions::default() };
    assert_eq!(list(folder.path(), all).unwrap(), 2);
}

#[test]
fn any_file_name_may_make_a_skill() {
    let folder =
        tree(&[("a/AGENT.md", &skill("a")), ("b/agent.md", &skill("b")), ("c/SKILL.md", &skill("c"))]);
    let names = |file_name| {
        let options = ScanOptions { file_name, ..ScanOptions::named() };
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
        registry.duplicates(duplicates);
        registry.refresh().map(|_| registry.get("shared").unwrap().entry.origin.location.clone())
    };
    assert!(offered(Duplicates::First).unwrap().starts_with(one.path().to_str().unwrap()));
    assert!(offered(Duplicates::Last).unwrap().starts_with(two.path().to_str().unwrap()));
    assert!(matches!(offered(Duplicates::Error), Err(RegistryError::Duplicate(_))));
    let mut prefixed = Registry::new();
    prefixed.add(DirSource::new(one.path(), ScanOptions::named()).with_prefix("proj"));
    prefixed.add(DirSource::new(two.path(), ScanOptions::named()).preloaded());
    prefixed.duplicates(Duplicates::Error).refresh().unwrap();
    assert_eq!(keys(&prefixed), ["proj:only-one", "proj:shared", "shared"]);
    // What is listed under a key is what is read under it.
    for (key, root) in [("proj:shared", one.path()), ("shared", two.path())] {
        assert!(prefixed.get(key).unwrap().entry.origin.location.starts_with(root.to_str().unwrap()));
        assert_eq!(prefixed.document(key).unwrap().body(), "Body of shared.");
    }
    assert_eq!(prefixed.catalog().preloaded().len(), 1);
}

#[test]
fn skills_are_registered_replaced_and_taken_away() {
    let folder = tree(&[("a/SKILL.md", &skill("a"))]);
    let mut registry = registry(&[folder.path()]);
    registry.refresh().unwrap();
    let made = |description: &str| {
        let dict = serde_json::json!({"name": "a", "description": description, "instructions": "By hand."});
        Skill::from_dict(dict.as_object().unwrap()).unwrap()
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
    let mut registry = registry(&[folder.path()]);
    assert_eq!(registry.refresh().unwrap().added, ["a", "b", "c"]);
    write(
        folder.path(),
        "a/SKILL.md",
        "---\nname: a\ndescription: A much longer description.\n---\nNew body.\n",
    );
    assert_eq!(registry.document("a").unwrap().body(), "New body.", "the fence is found again each time");
    fs::remove_dir_all(folder.path().join("b")).unwrap();
    assert!(matches!(registry.document("b"), Err(SourceError::Missing { .. })));
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
        registry.add(DirSource::new(folder.path(), ScanOptions::named()).with_cache(file));
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
fn disabled_skills_are_hidden_and_shadow_nothing() {
    let one = tree(&[("a/SKILL.md", &skill("a")), ("b/SKILL.md", &skill("b"))]);
    let mut registry = registry(&[one.path()]);
    registry.disable([Disabled {
        glob: Glob::parse("a*").unwrap(),
        by: "prowess.toml".into(),
        everyones: false,
    }]);
    registry.refresh().unwrap();
    assert_eq!(keys(&registry), ["b"]);
    assert!(registry.document("a").is_err() && registry.files("a").is_err());
    let catalog = registry.catalog();
    assert!(matches!(catalog.why("a")[0].1, Standing::Hindered { obstacle: Obstacle::Disabled { .. } }));

    // A project that nobody trusts cannot hide the user's own skills.
    for (everyones, offered) in [(false, true), (true, false)] {
        let mut registry = Registry::new();
        registry.add(DirSource::new(one.path(), ScanOptions::named()).in_scope(Scope::User));
        registry.disable([Disabled { glob: Glob::parse("a").unwrap(), by: "x".into(), everyones }]);
        registry.refresh().unwrap();
        assert_eq!(registry.catalog().has("a"), offered);
    }
}

#[test]
fn trust_is_given_to_folders_by_path_and_to_skills_by_their_bytes() {
    let folder =
        tree(&[("a/SKILL.md", &skill("a")), ("a/scripts/x.sh", "echo"), ("b/SKILL.md", &skill("b"))]);
    let user = tree(&[("a/SKILL.md", &skill("a"))]);
    let cache = tempfile::tempdir().unwrap();
    let made = |approvals: Approvals, with_user: bool| {
        let mut registry = Registry::new();
        registry.trust(Trust::in_approved(approvals).with_digests(Some(cache.path().join("digests"))));
        registry.add(DirSource::new(folder.path(), ScanOptions::default()).in_scope(Scope::Project));
        if with_user {
            registry.add(DirSource::new(user.path(), ScanOptions::default()).in_scope(Scope::User));
        }
        registry.refresh().unwrap();
        registry
    };
    let none = made(Approvals::default(), true);
    assert!(none.get("a").unwrap().is_usable(), "an untrusted skill never hides the user's own");
    assert_eq!(none.get("a").unwrap().entry.origin.scope, Scope::User);
    assert!(!none.get("b").unwrap().is_usable(), "it is seen, and marked");

    let mut approvals = Approvals::default();
    let alone = made(Approvals::default(), false);
    approvals.trust_skill(alone.get("a").unwrap(), &alone.files("a").unwrap()).unwrap();
    let state = tempfile::tempdir().unwrap();
    let file = state.path().join("deep/trust.json");
    approvals.save(&file).unwrap();
    let approvals = Approvals::load(&file).unwrap();
    for _ in 0..2 {
        assert!(
            made(approvals.clone(), false).get("a").unwrap().is_usable(),
            "with digests computed, then remembered"
        );
    }
    write(folder.path(), "a/scripts/x.sh", "echo changed");
    assert!(
        !made(approvals.clone(), false).get("a").unwrap().is_usable(),
        "any changed byte takes the approval away"
    );
    let mut approvals = approvals;
    approvals.trust_folder(folder.path().to_owned());
    assert!(made(approvals.clone(), false).get("a").unwrap().is_usable());
    assert_eq!(approvals.revoke("", folder.path()), 1);
    fs::write(&file, "{").unwrap();
    assert!(matches!(Approvals::load(&file), Err(SourceError::Damaged { .. })), "never read as nothing");
}

#[test]
fn resources_are_listed_in_groups_and_read_in_part() {
    let folder = tree(&[
        ("a/SKILL.md", &skill("a")),
        ("a/scripts/run.sh", "echo"),
        ("a/references/deep/x.md", "é".repeat(100).as_str()),
        ("a/assets/b.bin", "\0\u{1}"),
        ("a/LICENSE", "MIT"),
    ]);
    let mut registry = registry(&[folder.path()]);
    registry.refresh().unwrap();
    let paths =
        |paths: &[prowess::RelPath]| paths.iter().map(|path| path.as_str().to_owned()).collect::<Vec<_>>();
    let groups = Groups::of(&registry.files("a").unwrap(), true);
    assert_eq!(paths(&groups.references), ["references/deep/x.md"]);
    assert_eq!(
        (paths(&groups.scripts), paths(&groups.other)),
        (vec!["scripts/run.sh".to_owned()], vec!["LICENSE".to_owned()])
    );
    assert!(Groups::of(&registry.files("a").unwrap(), false).references.is_empty());

    let read = |path: &str, slice, too_large| registry.read_resource("a", path, slice, too_large);
    let all = Slice::first(64 * 1024);
    assert_eq!(
        read(".\\scripts\\run.sh", all, TooLarge::Refuse).unwrap().contents,
        Contents::Text("echo".into())
    );
    assert_eq!(
        read("assets/b.bin", all, TooLarge::Refuse).unwrap().contents,
        Contents::Base64("AAE=".into())
    );
    let small = Slice::first(7);
    let path = "references/deep/x.md";
    assert!(matches!(read(path, small, TooLarge::Refuse), Err(SourceError::TooLarge { size: 200, .. })));
    assert_eq!(read(path, small, TooLarge::List).unwrap().contents, Contents::Omitted);
    let page = read(path, small, TooLarge::Page).unwrap();
    assert_eq!(
        (page.contents, page.next),
        (Contents::Text("ééé".into()), Some(6)),
        "a page ends between characters"
    );
    let next = read(path, Slice { offset: 6, limit: 1000 }, TooLarge::Page).unwrap();
    assert_eq!((next.contents, next.next), (Contents::Text("é".repeat(97)), None));
    assert_eq!(read(path, small, TooLarge::Truncate).unwrap().next, None);
}

#[test]
fn nothing_outside_a_skill_can_be_read() {
    let outside = tree(&[("canary.txt", "CANARY")]);
    let folder = tree(&[
        ("a/SKILL.md", &skill("a")),
        ("a/ok.md", "fine"),
        ("a-evil/secret", "CANARY"),
        ("b/SKILL.md", &skill("b")),
    ]);
    let a = folder.path().join("a");
    symlink(outside.path().join("canary.txt"), a.join("absolute")).unwrap();
    symlink("../a-evil/secret", a.join("relative")).unwrap();
    symlink(outside.path(), a.join("dir")).unwrap();
    symlink("dir/canary.txt", a.join("chain")).unwrap();
    symlink("loop", a.join("loop")).unwrap();
    symlink("/proc/self/root", a.join("magic")).unwrap();
    symlink("ok.md", a.join("inside")).unwrap();
    symlink("/dev/zero", a.join("zero")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(a.join("pipe")).status().unwrap().success());
    let mut registry = registry(&[folder.path()]);
    registry.refresh().unwrap();
    let read = |path: &str| registry.read_resource("a", path, Slice::first(1000), TooLarge::Refuse);
    assert_eq!(read("inside").unwrap().contents, Contents::Text("fine".into()));
    let canary = outside.path().join("canary.txt");
    for path in [
        "absolute",
        "relative",
        "dir/canary.txt",
        "chain",
        "loop",
        "magic/etc/passwd",
        "zero",
        "pipe",
        "../a-evil/secret",
        "/etc/passwd",
        "..\\a-evil\\secret",
        "a/../../a-evil/secret",
        "",
        ".",
        "dir",
        canary.to_str().unwrap(),
        "~/x",
        "ok.md/x",
    ] {
        let result = read(path);
        assert!(result.is_err(), "{path}: {result:?}");
        assert!(!format!("{result:?}").contains("CANARY"));
    }
    assert!(
        registry.read_resource("../a", "ok.md", Slice::first(9), TooLarge::Refuse).is_err(),
        "a key is no path"
    );
    let listed = format!("{:?}", registry.files("a").unwrap());
    assert!(!listed.contains("canary") && !listed.contains("passwd"), "{listed}");
}

#[test]
fn files_that_are_links_into_a_store_are_read_from_there() {
    let store =
        tree(&[("pdf/SKILL.md", &skill("pdf")), ("pdf/scripts/x.sh", "echo"), ("other/secret", "CANARY")]);
    let folder = tree(&[("pdf/notes.md", "n")]);
    let pdf = folder.path().join("pdf");
    symlink(store.path().join("pdf/SKILL.md"), pdf.join("SKILL.md")).unwrap();
    symlink(store.path().join("pdf/scripts"), pdf.join("scripts")).unwrap();
    symlink(store.path().join("other/secret"), pdf.join("secret")).unwrap();
    let mut registry = registry(&[folder.path()]);
    registry.refresh().unwrap();
    let read = |path: &str| registry.read_resource("pdf", path, Slice::first(1000), TooLarge::Refuse);
    assert_eq!(registry.document("pdf").unwrap().body(), "Body of pdf.");
    assert_eq!(read("scripts/x.sh").unwrap().contents, Contents::Text("echo".into()));
    assert_eq!(read("notes.md").unwrap().contents, Contents::Text("n".into()));
    assert!(matches!(read("secret"), Err(SourceError::Outside { .. })));
}

#[test]
fn what_no_digest_covers_cannot_be_read() {
    let folder = tree(&[("a/SKILL.md", &skill("a")), ("a/node_modules/y.js", "CANARY")]);
    let mut registry = registry(&[folder.path()]);
    registry.refresh().unwrap();
    assert_eq!(registry.files("a").unwrap().files.len(), 1);
    assert!(registry.read_resource("a", "node_modules/y.js", Slice::first(99), TooLarge::Refuse).is_err());
}

#[test]
fn a_note_that_a_link_takes_for_a_skill_opens_nothing_beside_it() {
    let folder = tree(&[("note.md", &skill("hh")), (".env", "CANARY"), ("skills/hh/x", "")]);
    let hh = folder.path().join("skills/hh");
    symlink("../../note.md", hh.join("SKILL.md")).unwrap();
    symlink("../../.env", hh.join("e")).unwrap();
    let mut registry = registry(&[&folder.path().join("skills")]);
    registry.refresh().unwrap();
    let read = registry.read_resource("hh", "e", Slice::first(99), TooLarge::Refuse);
    assert!(matches!(read, Err(SourceError::Outside { .. })), "{read:?}");
    assert!(!format!("{:?}", registry.files("hh").unwrap()).contains("\"e\""));
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
    assert_eq!(load(&folder.path().join("a"), &spec).unwrap().instructions, "Body of a.");
    assert_eq!(load(&folder.path().join("a/SKILL.md"), &spec).unwrap().entry.name, "a");
    assert!(matches!(
        load(&folder.path().join("empty"), &spec),
        Err(RegistryError::Source(SourceError::NoSkill { .. }))
    ));
    assert_eq!(loads(&skill("b"), &spec).unwrap().entry.name, "b");
    assert!(loads("x", &spec).is_err());
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
            let options = ScanOptions { max_depth: root.depth, ..ScanOptions::default() };
            registry.add(DirSource::new(root.path, options).in_scope(root.scope).read_by(root.readers));
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
fn the_page_for_programs_shows_the_example_that_runs() {
    let page = fs::read_to_string(crate::data::repository("docs/library.md")).unwrap();
    let shown = page.split("```rust\n").nth(1).unwrap().split("```").next().unwrap();
    let source = fs::read_to_string(crate::data::repository("crates/prowess/src/registry.rs")).unwrap();
    let example = source.split("//! ```\n").nth(1).unwrap();
    let lines = example.lines().map(|line| line.trim_start_matches("//!").strip_prefix(' ').unwrap_or(""));
    let example: Vec<&str> = lines.filter(|line| !line.starts_with("# ")).collect();
    assert_eq!(shown.trim_end(), example.join("\n"));
}
