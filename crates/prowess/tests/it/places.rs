//! Paths that a program gives: they become absolute at once, whatever the current folder is later.

use std::path::Path;
use std::process::{Command, Output};

use prowess::source::Slice;
use prowess::{
    DirSource, JsonlSource, PluginSource, Registry, ScanOptions, Skill, Source, SourceError, SourceErrorKind,
    TooLarge, discover,
};

use crate::trees::{keys, skill, tree, write};

/// Runs one of the functions below in a process of its own, since the current folder belongs to a process.
fn alone(function: &str, folder: &Path, home: Option<&Path>) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", &format!("places::{function}"), "--ignored", "--nocapture"]);
    command.current_dir(folder).env_remove("HOME").env_remove("USERPROFILE");
    if let Some(home) = home {
        command.env("HOME", home);
    }
    let output = command.env("PROWESS_ALONE", "1").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    output
}

fn is_alone() -> bool {
    std::env::var_os("PROWESS_ALONE").is_some()
}

#[test]
fn a_relative_root_keeps_its_place_when_the_current_folder_changes() {
    let folder = tree(&[
        ("skills/a/SKILL.md", &skill("a")),
        ("skills/a/references/x.md", "x"),
        ("lines.jsonl", "{\"name\": \"b\", \"description\": \"Does b.\"}\n"),
        ("plugin/.claude-plugin/plugin.json", "{\"name\": \"p\"}"),
        ("plugin/skills/c/SKILL.md", &skill("c")),
        ("elsewhere/x", ""),
    ]);
    alone("changes_its_folder", folder.path(), None);
}

#[test]
#[ignore = "run by the test above, in a process of its own"]
fn changes_its_folder() {
    if !is_alone() {
        return;
    }
    let here = std::env::current_dir().unwrap();
    let mut registry = Registry::new();
    registry
        .add(
            DirSource::new("skills", ScanOptions::unbounded())
                .with_base(".")
                .with_cache(Some("index".into())),
        )
        .add(JsonlSource::new("lines.jsonl"))
        .add(PluginSource::new("./plugin"));
    #[cfg(feature = "archive")]
    let archive = prowess::ArchiveSource::new("gone.zip");
    std::env::set_current_dir("elsewhere").unwrap();
    registry.refresh().unwrap();
    assert_eq!(keys(&registry), ["a", "b", "c"]);
    let a = registry.get("a").unwrap();
    assert_eq!(Path::new(a.entry.origin.location.path().unwrap()), here.join("skills/a/SKILL.md"));
    assert_eq!(a.virtual_path, "skills/a");
    assert_eq!(registry.document("b").unwrap().field("name").and_then(|node| node.text()), Some("b"));
    assert!(registry.read_resource("a", "references/x.md", Slice::first(9), TooLarge::Refuse).is_ok());
    assert!(!Path::new("index").exists(), "nothing is remembered in another folder");
    #[cfg(feature = "archive")]
    assert!(archive.id().starts_with(here.to_str().unwrap()), "{}", archive.id());
}

#[test]
fn a_leading_tilde_is_the_users_folder_for_every_source() {
    let home = tempfile::tempdir().unwrap();
    write(home.path(), ".agents/skills/a/SKILL.md", &skill("a"));
    write(home.path(), "lines.jsonl", "{\"name\": \"b\", \"description\": \"Does b.\"}\n");
    write(home.path(), "plugin/.claude-plugin/plugin.json", "{\"name\": \"p\"}");
    write(home.path(), "plugin/skills/c/SKILL.md", &skill("c"));
    let elsewhere = tempfile::tempdir().unwrap();
    alone("lists_what_a_tilde_names", elsewhere.path(), Some(home.path()));
}

#[test]
#[ignore = "run by the test above, in a process of its own"]
fn lists_what_a_tilde_names() {
    if !is_alone() {
        return;
    }
    let mut registry = Registry::new();
    registry
        .add(DirSource::new("~/.agents/skills", ScanOptions::default()).with_base("~"))
        .add(JsonlSource::new("~/lines.jsonl"))
        .add(PluginSource::new("~/plugin"));
    registry.refresh().unwrap();
    assert_eq!(keys(&registry), ["a", "b", "c"]);
    assert_eq!(registry.get("a").unwrap().virtual_path, ".agents/skills/a");
    assert_eq!(discover(&[Path::new("~/.agents/skills")], &ScanOptions::default()).unwrap().len(), 1);
    assert_eq!(Skill::load("~/.agents/skills/a").unwrap().entry().name, "a");
}

#[test]
fn a_tilde_without_a_users_folder_is_an_error_and_not_an_empty_list() {
    let elsewhere = tempfile::tempdir().unwrap();
    alone("lists_without_a_home", elsewhere.path(), None);
}

#[test]
#[ignore = "run by the test above, in a process of its own"]
fn lists_without_a_home() {
    if !is_alone() {
        return;
    }
    let listed = DirSource::new("~/.agents/skills", ScanOptions::default()).list();
    assert!(matches!(listed, Err(SourceError { kind: SourceErrorKind::NoHome, .. })), "{listed:?}");
    assert!(JsonlSource::new("~/lines.jsonl").list().is_err());
    assert!(PluginSource::new("~/plugin").list().is_err());
    assert!(discover(&[Path::new("~/.agents/skills")], &ScanOptions::default()).is_err());
}
