//! The files of a skill: listed in groups, read in part, and nothing outside the skill.

use std::os::unix::fs::symlink;

use prowess::files::{Contents, Groups};
use prowess::session::{Policy, Session, ToolCall};
use prowess::source::Slice;
use prowess::{DirSource, Registry, RelPath, ScanOptions, SourceError, SourceErrorKind, TooLarge};

use crate::trees::{registry, skill, tree};

#[test]
fn resources_are_listed_in_groups_and_read_in_part() {
    let folder = tree(&[
        ("a/SKILL.md", &skill("a")),
        ("a/scripts/run.sh", "echo"),
        ("a/references/deep/x.md", "é".repeat(100).as_str()),
        ("a/assets/b.bin", "\0\u{1}"),
        ("a/LICENSE", "MIT"),
    ]);
    let registry = registry(&[folder.path()]);
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
    assert!(matches!(
        read(path, small, TooLarge::Refuse),
        Err(SourceError { kind: SourceErrorKind::TooLarge { size: 200, .. }, .. })
    ));
    assert_eq!(read(path, small, TooLarge::List).unwrap().contents, Contents::Omitted);
    let page = read(path, small, TooLarge::Page).unwrap();
    assert_eq!(
        (page.contents, page.next),
        (Contents::Text("ééé".into()), Some(6)),
        "a page ends between characters"
    );
    let next = read(path, Slice { offset: 6, limit: 1000 }, TooLarge::Page).unwrap();
    assert_eq!((next.contents, next.next), (Contents::Text("é".repeat(97)), None));
    let cut = read(path, small, TooLarge::Truncate).unwrap();
    assert_eq!(
        cut.next,
        read(path, small, TooLarge::Page).unwrap().next,
        "what is cut says where it goes on"
    );
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
    symlink(a.join("ok.md"), a.join("inside-absolute")).unwrap();
    symlink("/dev/zero", a.join("zero")).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(a.join("pipe")).status().unwrap().success());
    let registry = registry(&[folder.path()]);
    registry.refresh().unwrap();
    let read = |path: &str| registry.read_resource("a", path, Slice::first(1000), TooLarge::Refuse);
    for path in ["inside", "inside-absolute"] {
        assert_eq!(read(path).unwrap().contents, Contents::Text("fine".into()), "{path}");
    }
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
    let registry = registry(&[folder.path()]);
    registry.refresh().unwrap();
    let read = |path: &str| registry.read_resource("pdf", path, Slice::first(1000), TooLarge::Refuse);
    assert_eq!(registry.document("pdf").unwrap().body(), "Body of pdf.");
    assert_eq!(read("scripts/x.sh").unwrap().contents, Contents::Text("echo".into()));
    assert_eq!(read("notes.md").unwrap().contents, Contents::Text("n".into()));
    assert!(matches!(read("secret"), Err(SourceError { kind: SourceErrorKind::Outside, .. })));
}

#[test]
fn what_no_digest_covers_cannot_be_read() {
    let folder = tree(&[("a/SKILL.md", &skill("a")), ("a/node_modules/y.js", "CANARY")]);
    let registry = registry(&[folder.path()]);
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
    let registry = registry(&[&folder.path().join("skills")]);
    registry.refresh().unwrap();
    let catalog = registry.catalog();
    let (candidate, _) = catalog.why("hh")[0];
    let read = registry.read(candidate, &RelPath::parse("e").unwrap(), Slice::first(99));
    assert!(matches!(read, Err(SourceError { kind: SourceErrorKind::Outside, .. })), "{read:?}");
    let files = registry.files_of(candidate).unwrap();
    assert!(!format!("{:?}", files.files).contains("\"e\""));
    assert!(files.left_out.iter().any(|left| left.path == "e"));
}

#[test]
fn a_link_in_the_place_of_a_skill_opens_nothing() {
    let folder = tree(&[("a/SKILL.md", &skill("a")), ("a/note.md", "note"), ("elsewhere/note.md", "canary")]);
    let skills = folder.path().join("a");
    let registry = registry(&[&skills]);
    registry.refresh().unwrap();
    let read = |path: &str| registry.read_resource("a", path, Slice::first(1024), TooLarge::Refuse);
    assert_eq!(read("note.md").unwrap().contents, Contents::Text("note".into()));
    std::fs::rename(&skills, folder.path().join("away")).unwrap();
    symlink(folder.path().join("elsewhere"), &skills).unwrap();
    assert!(matches!(read("note.md"), Err(SourceError { kind: SourceErrorKind::Missing, .. })));
    assert!(read("SKILL.md").is_err());
}

#[test]
fn files_whose_names_only_this_system_has_can_be_asked_for() {
    let files = ["-x.md", "a:b.md", "docs/what?.md", "docs/a.md"];
    let mut all = vec![("a/SKILL.md".to_owned(), skill("a"))];
    all.extend(files.iter().map(|file| (format!("a/{file}"), format!("in {file}"))));
    let all: Vec<(&str, &str)> = all.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let folder = tree(&all);
    let registry = registry(&[folder.path()]);
    registry.refresh().unwrap();
    let read = |path: &str| registry.read_resource("a", path, Slice::first(99), TooLarge::Refuse);
    for file in files {
        assert_eq!(read(file).unwrap().contents, Contents::Text(format!("in {file}")), "{file}");
    }
    for loose in ["docs//a.md", "docs/./a.md", ".//docs/././/a.md", "docs\\a.md"] {
        assert_eq!(read(loose).unwrap().contents, Contents::Text("in docs/a.md".into()), "{loose}");
    }
    for out in ["/docs/a.md", "//docs/a.md", "docs/../docs/a.md", "docs/.//../a.md", "..//a", "C:\\a.md"] {
        assert!(matches!(read(out), Err(SourceError { kind: SourceErrorKind::BadPath(_), .. })), "{out}");
    }
}

#[test]
fn a_skill_with_a_file_of_another_name_does_not_count_that_as_a_resource() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("a");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("AGENT.md"), "---\nname: a\ndescription: d\n---\nDo.\n").unwrap();
    std::fs::write(folder.join("notes.md"), "n\n").unwrap();
    let options =
        ScanOptions::unbounded().with_file_name(prowess::fs::walk::FileName::Exact("AGENT.md".into()));
    let mut registry = Registry::new();
    registry.add(DirSource::new(place.path(), options));
    registry.refresh().unwrap();
    let files = registry.files("a").unwrap();
    assert_eq!(files.own().unwrap().path.as_str(), "AGENT.md");
    assert_eq!(
        Groups::of(&files, true).other.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["notes.md"]
    );
    let mut session =
        Session::new("test", registry.catalog(), Policy::default(), prowess::session::Options::default());
    let performer = prowess::drive::Performer::new(&registry, &prowess::select::All);
    let call = ToolCall::new("load_skill", serde_json::json!({"name": "a"}));
    let loaded = prowess::drive::drive(&mut session, &performer, call);
    assert_eq!(loaded.data["resources"]["other"], 1, "{}", loaded.text);
    assert!(!loaded.text.contains("AGENT.md") && loaded.text.contains("notes.md"), "{}", loaded.text);
}
