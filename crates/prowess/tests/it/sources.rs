//! Every other source, layers and mounts: the catalog cannot tell them apart.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use prowess::source::{Chunk, Layer, Listing, Mount, Slice};
use prowess::{
    DirSource, Duplicates, JsonlSource, LeftOut, Manifest, MemorySource, Obstacle, PluginSource, Profile,
    Registry, RelPath, ScanOptions, Scope, Source, SourceError, SourceErrorKind, SourceSkill, Standing,
    TooLarge,
};

use crate::trees::{keys, skill, tree, write};

fn refreshed(source: impl Into<Layer>) -> Registry {
    let mut registry = Registry::new();
    registry.add(source);
    registry.refresh().unwrap();
    registry
}

fn memory(id: &str, key: &str, body: &str) -> MemorySource {
    let source = MemorySource::new(id);
    let text = format!("---\nname: {key}\ndescription: From {id}.\n---\n{body}\n");
    source.insert(key, text, Scope::Explicit);
    source
}

#[test]
fn of_namesakes_in_several_layers_the_one_that_is_listed_is_read() {
    // One of five systems lists the second of two namesakes and reads the first.
    for (duplicates, expected) in [(Duplicates::First, "first"), (Duplicates::Last, "second")] {
        let mut registry = Registry::new();
        registry
            .add(memory("memory", "shared", "first"))
            .add(memory("memory", "shared", "second"))
            .add(Layer::from(memory("third", "shared", "third")).with_prefix("proj"))
            .set_duplicates(duplicates);
        registry.refresh().unwrap();
        assert_eq!(keys(&registry), ["proj:shared", "shared"]);
        assert_eq!(registry.document("shared").unwrap().body(), expected);
        assert_eq!(registry.document("proj:shared").unwrap().body(), "third");
        let catalog = registry.catalog();
        let found = catalog.why("shared");
        assert_eq!(found.len(), 3, "the shadowed one is in the catalog");
        for (candidate, standing) in found {
            let body = registry.head_of(candidate).unwrap().document().body().to_owned();
            let files = registry.files_of(candidate).unwrap();
            assert_eq!(files.total_size(), registry.head_of(candidate).unwrap().size);
            match standing {
                Standing::Shadowed { .. } => assert_ne!(body, expected),
                _ => assert!(body == expected || body == "third"),
            }
        }
    }
}

#[test]
fn a_candidate_of_another_registry_is_not_read() {
    let (one, other) = (refreshed(memory("one", "a", "x")), refreshed(memory("other", "a", "y")));
    let skill = one.get("a").unwrap();
    assert!(one.document_of(&skill).is_ok());
    assert!(other.document_of(&skill).is_err() && other.files_of(&skill).is_err());
}

/// A source that says that it leaves something out of its lists of files.
struct LeavesOut(MemorySource);

impl Source for LeavesOut {
    fn id(&self) -> &str {
        self.0.id()
    }

    fn list(&self) -> Result<Listing, SourceError> {
        self.0.list()
    }

    fn files(&self, skill: SourceSkill<'_>) -> Result<Manifest, SourceError> {
        let left_out = vec![LeftOut::new("device", "this is no file")];
        let mut files = self.0.files(skill)?;
        files.left_out = left_out;
        Ok(files)
    }

    fn read(&self, skill: SourceSkill<'_>, path: &RelPath, slice: Slice) -> Result<Chunk, SourceError> {
        self.0.read(skill, path, slice)
    }
}

#[test]
fn what_a_source_leaves_out_keeps_a_skill_from_being_approved_and_not_from_being_listed() {
    let registry = refreshed(LeavesOut(memory("one", "a", "x")));
    let skill = registry.get("a").unwrap();
    assert_eq!(registry.manifest_of(&skill).unwrap().files.len(), 1);
    let error = registry.approvable(&skill).unwrap_err();
    assert!(matches!(error.kind, SourceErrorKind::Uncovered), "{error}");
}

#[test]
fn a_mount_is_what_filters_see_and_reads_go_to_the_real_place() {
    let folder = tree(&[("billing/refunds/SKILL.md", &skill("refunds")), ("billing/refunds/notes.md", "n")]);
    let mounted = || {
        let source = DirSource::new(folder.path(), ScanOptions::unbounded());
        Layer::from(source).with_mount(Mount::parse("team/finance").unwrap())
    };
    let registry = refreshed(mounted());
    let catalog = registry.catalog();
    assert_eq!(catalog.get("refunds").unwrap().virtual_path, "team/finance/billing/refunds");
    assert_eq!(catalog.list_for_dir("team/finance").len(), 1);
    assert_eq!(catalog.list_for_dir("team/fin").len(), 0);
    assert!(registry.read_resource("refunds", "notes.md", Slice::first(9), TooLarge::Refuse).is_ok());
    let manifest = registry.manifest_of(&registry.get("refunds").unwrap()).unwrap();
    assert!(manifest.files.iter().all(|file| file.digest.is_some()));
}

#[test]
fn virtual_paths_may_be_relative_to_another_folder() {
    let folder = tree(&[("repo/skills/billing/refunds/SKILL.md", &skill("refunds"))]);
    let root = folder.path().join("repo/skills");
    let path = |source: DirSource| refreshed(source).get("refunds").unwrap().virtual_path.clone();
    assert_eq!(path(DirSource::new(&root, ScanOptions::unbounded())), "billing/refunds");
    let based = DirSource::new(&root, ScanOptions::unbounded()).with_base(folder.path().join("repo"));
    assert_eq!(path(based), "skills/billing/refunds");
    let elsewhere = DirSource::new(&root, ScanOptions::unbounded()).with_base("/somewhere/else");
    assert!(matches!(
        elsewhere.list().unwrap().problems.as_slice(),
        [SourceError { kind: SourceErrorKind::NotBelow { .. }, .. }]
    ));
    assert_eq!(path(elsewhere), "billing/refunds");
}

#[test]
fn a_strict_host_refuses_what_lines_say_too() {
    let folder = tree(&[(
        "skills.jsonl",
        "{\"name\": \"good\", \"description\": \"Does it.\"}\n{\"name\": \"Not good\", \"description\": \"d\"}\n",
    )]);
    let mut registry = Registry::new();
    registry
        .add(Layer::from(JsonlSource::new(folder.path().join("skills.jsonl"))).with_profile(Profile::spec()));
    registry.refresh().unwrap();
    assert_eq!(keys(&registry), ["good"]);
    assert_eq!(registry.catalog().all().count(), 2, "the other is in the catalog");
}

#[test]
fn what_is_optional_may_be_absent() {
    let folder = tree(&[("here/a/SKILL.md", &skill("a"))]);
    let mut registry = Registry::new();
    registry
        .add(DirSource::new(folder.path().join("here"), ScanOptions::unbounded()))
        .add(
            Layer::from(DirSource::new(folder.path().join("gone"), ScanOptions::unbounded()))
                .with_optional(true),
        )
        .add(Layer::from(JsonlSource::new(folder.path().join("gone.jsonl"))).with_optional(true))
        .add(Layer::from(PluginSource::new(folder.path().join("plugin"))).with_optional(true));
    registry.refresh().unwrap();
    assert_eq!(keys(&registry), ["a"]);
    assert!(registry.problems().is_empty());
    registry.add(DirSource::new(folder.path().join("gone"), ScanOptions::unbounded()));
    assert!(registry.refresh().is_err(), "what is not optional must be there");
}

#[test]
fn what_virtual_paths_are_relative_to_may_be_written_in_any_way() {
    let folder = tree(&[("repo/skills/billing/refunds/SKILL.md", &skill("refunds")), ("repo/other/x", "")]);
    let at = |path: &str| folder.path().join(path);
    symlink("repo", at("by-link")).unwrap();
    for (root, base) in [
        ("repo/skills", "repo/"),
        ("repo/skills", "repo/other/.."),
        ("repo/./skills", "repo/."),
        ("repo/other/../skills/", "repo"),
        ("repo/skills", "by-link"),
        ("by-link/skills", "repo"),
    ] {
        let source = DirSource::new(at(root), ScanOptions::unbounded()).with_base(at(base));
        let registry = refreshed(source);
        assert!(registry.problems().is_empty(), "{root} {base}");
        assert_eq!(registry.get("refunds").unwrap().virtual_path, "skills/billing/refunds", "{root} {base}");
    }
    let itself = DirSource::new(at("repo/skills"), ScanOptions::unbounded()).with_base(at("repo/skills"));
    assert_eq!(refreshed(itself).get("refunds").unwrap().virtual_path, "billing/refunds");
}

#[test]
fn a_skill_that_is_written_in_place_can_be_filtered() {
    // One of five systems gives such a skill no path, so that every filter hides it.
    let source =
        MemorySource::inline("inline", "greet", "Says hello.", "Say hello.", Scope::Explicit).unwrap();
    let registry = refreshed(source);
    assert_eq!(registry.get("greet").unwrap().virtual_path, "greet");
    assert_eq!(registry.catalog().list_for_dir("greet").len(), 1);
    assert_eq!(registry.document("greet").unwrap().body(), "Say hello.");
    assert!(MemorySource::inline("inline", "", "x", "", Scope::Explicit).is_err());
}

#[test]
fn a_file_with_a_skill_on_each_line_is_a_source() {
    let folder = tree(&[(
        "team.jsonl",
        "\u{feff}{\"name\":\"a\",\"description\":\"Does a.\",\"body\":\"Do a.\\n---\\nMore.\",\"metadata\":{\"v\":\"1.0\"}}\n\
         \n\
         {\"id\":\"b-2\",\"name\":\"b\",\"description\":\"Does b.\"}\r\n\
         not json\n\
         {\"name\":\"c\"}\n\
         {\"name\":\"a\",\"description\":\"Again.\"}\n\
         {\"id\":[],\"name\":\"d\",\"description\":\"x\"}\n\
         {\"id\":7,\"name\":\"e\",\"description\":\"Last, without an end.\"}",
    )]);
    let file = folder.path().join("team.jsonl");
    let registry = refreshed(JsonlSource::new(&file));
    assert_eq!(keys(&registry), ["7", "a", "b-2"]);
    assert!(registry.problems().iter().all(|problem| problem.at.path() == file.to_str()));
    let problems: Vec<String> = registry.problems().iter().map(ToString::to_string).collect();
    assert_eq!(problems.len(), 4, "{problems:?}");
    for (problem, line) in problems.iter().zip([4, 5, 6, 7]) {
        assert!(problem.contains(&format!("team.jsonl:{line}: ")), "{problem}");
    }
    assert_eq!(registry.document("a").unwrap().body(), "Do a.\n---\nMore.");
    assert_eq!(registry.get("a").unwrap().entry.metadata, [("v".to_owned(), "1.0".to_owned())]);
    assert_eq!(registry.document("b-2").unwrap().body(), "", "only that much is known of it");
    assert_eq!(registry.document("7").unwrap().body(), "");
    assert_eq!(registry.files("a").unwrap().files.len(), 1, "it has no resources");
    let error =
        registry.read_resource("a", "references/x.md", Slice::first(9), TooLarge::Refuse).unwrap_err();
    assert!(matches!(error.kind, SourceErrorKind::Missing));
    assert_eq!(
        (error.at.clone(), error.file.as_deref()),
        (registry.get("a").unwrap().entry.origin.location.clone(), Some("references/x.md"))
    );

    // The lines move; what is read is the skill that was asked for, or nothing.
    let text = fs::read_to_string(&file).unwrap();
    let moved =
        format!("{{\"name\":\"first\",\"description\":\"x\"}}\n{}", text.trim_start_matches('\u{feff}'));
    fs::write(&file, moved.replace("Do a.", "Do it now.")).unwrap();
    assert!(registry.document("a").unwrap().body().starts_with("Do it now."));
    fs::write(&file, "{\"name\":\"first\",\"description\":\"x\"}\n").unwrap();
    let gone = registry.document("a").unwrap_err();
    assert!(matches!(gone.kind, SourceErrorKind::NotListed), "{gone}");
    assert!(gone.to_string().starts_with("the source no longer lists this skill: "), "{gone}");
}

#[test]
fn a_line_without_end_is_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("big.jsonl");
    let mut text = vec![b'x'; prowess::source::JsonlLimits::default().line_bytes + 100];
    text.extend_from_slice(b"\n{\"name\":\"a\",\"description\":\"Does a.\"}\n");
    fs::write(&file, text).unwrap();
    let registry = refreshed(JsonlSource::new(&file));
    assert_eq!(keys(&registry), ["a"]);
    assert_eq!(registry.problems().len(), 1);
    assert!(registry.document("a").is_ok());
}

const PLUGIN: &str =
    r#"{"$schema":"https://agent-plugins.org/schemas/1.0.0/plugin.schema.json","name":"tools"}"#;

#[test]
fn a_plugin_has_the_skills_right_below_its_folder_and_only_strict_ones() {
    let outside = tree(&[("evil/SKILL.md", &skill("evil"))]);
    let folder = tree(&[
        ("plugin.json", PLUGIN),
        ("skills/good/SKILL.md", &skill("good")),
        ("skills/Bad/SKILL.md", &skill("Bad")),
        ("skills/lower/skill.md", &skill("lower")),
        ("skills/group/deep/SKILL.md", &skill("deep")),
        ("other/SKILL.md", &skill("other")),
    ]);
    symlink(outside.path().join("evil"), folder.path().join("skills/evil")).unwrap();
    let registry = refreshed(PluginSource::new(folder.path()));
    assert_eq!(keys(&registry), ["good"]);
    let catalog = registry.catalog();
    let codes = |key: &str| -> Vec<&str> {
        match &catalog.why(key)[0].0.obstacle {
            Some(Obstacle::Broken { problems, .. }) => problems.iter().map(|problem| problem.code).collect(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(codes("Bad"), ["name-uppercase"]);
    assert_eq!(codes("lower"), ["file-name-case"]);
    assert_eq!(codes("evil"), ["file-unreadable"]);
    assert_eq!(registry.document("good").unwrap().body(), "Body of good.");
}

#[test]
fn the_manifest_of_a_plugin_is_held_to_its_rules() {
    let with = |path: &str, text: &str| {
        let folder = tree(&[("skills/good/SKILL.md", &skill("good"))]);
        write(folder.path(), path, text);
        let listed = PluginSource::new(folder.path()).list();
        listed.map(|listing| (listing.skills.len(), listing.problems.len()))
    };
    assert_eq!(with("plugin.json", PLUGIN).unwrap(), (1, 0));
    let extra = PLUGIN.replace('}', ",\"mood\":\"grim\"}");
    assert_eq!(with("plugin.json", &extra).unwrap(), (1, 1), "an unknown key is said and passed over");
    assert_eq!(with(".claude-plugin/plugin.json", "{\"name\":\"x\",\"mood\":1}").unwrap(), (1, 0));
    for text in
        ["{", "[]", "{\"name\":\"x\"}", &PLUGIN.replace("1.0.0", "2.0.0"), &PLUGIN.replace("tools", "To_ols")]
    {
        assert!(
            matches!(
                with("plugin.json", text),
                Err(SourceError { kind: SourceErrorKind::Damaged { .. }, .. })
            ),
            "{text}"
        );
    }
    let none = with("readme", "").unwrap_err();
    assert!(matches!(none, SourceError { kind: SourceErrorKind::NotPlugin, .. }), "{none}");
    assert!(none.hint().to_string().contains("dir="), "{}", none.hint());
    let nowhere = PluginSource::new(Path::new("/nowhere/at/all")).list();
    assert!(matches!(nowhere, Err(SourceError { kind: SourceErrorKind::Missing, .. })));
}
