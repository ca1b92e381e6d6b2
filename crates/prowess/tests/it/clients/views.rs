//! What a client lists in unusual homes, and what it takes to add one.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use prowess::env::Environment;
use prowess::library::clients::{Client, client, installed};
use prowess::library::views::{Reach, Views};
use prowess::library::{LibraryOptions, library};
use prowess_core::client::{Climb, Fact, Facts, ProjectFolder, Reads};

use super::home::{Home, put, skill};

/// A client that is not in the table.
const NEW: Client = Client {
    id: "new-client",
    name: "New Client",
    project: &[".new/skills"],
    user: &["~/.new/skills"],
    admin: &[],
    depth: 6,
    reads: Some(&Reads {
        project: &[ProjectFolder { path: ".new/skills", climb: Climb::Upwards }],
        user: &["~/.new/skills"],
        depth: 1,
        refuses: Facts::of(&[Fact::NameUpper]),
        by_folder: true,
        ..Reads::UNKNOWN
    }),
};

/// What a client lists from a folder: the names, and the others with the reason.
fn listed(client: &'static Client, home: &Path, from: &Path) -> (Vec<String>, Vec<(String, &'static str)>) {
    let environment = Environment::of([("HOME", home.to_str().unwrap())]);
    let options = LibraryOptions::default();
    let views = Views::open(from, &environment, &options, &[client], Reach::Everywhere).unwrap();
    views.refresh().unwrap();
    let catalog = views.registry().catalog();
    let (mut names, mut others) = (Vec::new(), Vec::new());
    for sight in views.of(client, &catalog) {
        match sight.seen {
            Ok(seen) => names.push(seen.shown_as.into_owned()),
            Err(why) => others.push((sight.skill.entry.name.clone(), why.code())),
        }
    }
    (names, others)
}

#[test]
fn a_client_is_one_row() {
    let folder = tempfile::tempdir().unwrap();
    let home = fs::canonicalize(folder.path()).unwrap();
    for (path, name) in [
        ("p/.new/skills/one", "other"),
        ("p/.new/skills/Two", "Two"),
        ("p/.new/skills/a/deep", "deep"),
        (".new/skills/mine", "mine"),
    ] {
        put(&home.join(path).join("SKILL.md"), skill(name, "d").as_bytes());
    }
    fs::create_dir_all(home.join("p/.git")).unwrap();
    fs::create_dir_all(home.join("p/sub")).unwrap();
    let (names, others) = listed(&NEW, &home, &home.join("p/sub"));
    assert_eq!(names, ["one", "mine"]);
    assert_eq!(others, [("Two".to_owned(), "name-upper"), ("deep".to_owned(), "too-deep")]);
}

#[test]
fn a_clients_folder_that_is_a_file_or_a_loop_hides_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let home = fs::canonicalize(folder.path()).unwrap();
    put(&home.join(".agents/skills/mine/SKILL.md"), skill("mine", "d").as_bytes());
    put(&home.join("p/.agents"), b"a file");
    fs::create_dir_all(home.join("p/.codex")).unwrap();
    symlink("skills", home.join("p/.codex/skills")).unwrap();
    symlink(home.join(".agents/skills"), home.join(".agents/skills/again")).unwrap();
    let (names, _) = listed(client("codex").unwrap(), &home, &home.join("p"));
    assert_eq!(names, ["mine"]);
    let nothing = home.join("empty");
    fs::create_dir(&nothing).unwrap();
    assert_eq!(listed(client("codex").unwrap(), &nothing, &nothing).0, Vec::<String>::new());
}

#[test]
fn a_home_inside_a_repository_is_read_once_and_a_repository_inside_a_skill_is_a_project() {
    let folder = tempfile::tempdir().unwrap();
    let top = fs::canonicalize(folder.path()).unwrap();
    let home = top.join("home");
    put(&home.join(".agents/skills/mine/SKILL.md"), skill("mine", "d").as_bytes());
    put(&top.join(".agents/skills/outer/SKILL.md"), skill("outer", "d").as_bytes());
    fs::create_dir_all(top.join(".git")).unwrap();
    let inner = home.join(".agents/skills/mine/repository");
    put(&inner.join(".agents/skills/inner/SKILL.md"), skill("inner", "d").as_bytes());
    fs::create_dir_all(inner.join(".git")).unwrap();
    let gemini = client("gemini-cli").unwrap();
    let (names, others) = listed(gemini, &home, &home);
    assert_eq!((names, others), (vec!["mine".to_owned()], vec![("inner".to_owned(), "too-deep")]));
    assert_eq!(listed(gemini, &home, &inner).0, ["inner", "mine"]);
    let (names, _) = listed(client("codex").unwrap(), &home, &home);
    assert_eq!(names, ["outer", "mine"], "the folder of the user is not also one of the project");
}

#[test]
fn an_untrusted_project_has_the_place_that_its_client_gives_it() {
    let folder = tempfile::tempdir().unwrap();
    let home = fs::canonicalize(folder.path()).unwrap();
    put(&home.join(".agents/skills/pdf/SKILL.md"), skill("pdf", "mine").as_bytes());
    put(&home.join("p/.agents/skills/pdf/SKILL.md"), skill("pdf", "theirs").as_bytes());
    fs::create_dir_all(home.join("p/.git")).unwrap();
    let environment = Environment::of([("HOME", home.to_str().unwrap())]);
    let winner = |options: LibraryOptions| {
        let registry = library(&home.join("p"), &environment, &options).unwrap();
        registry.refresh().unwrap();
        let catalog = registry.catalog();
        let skill = catalog.get("pdf").unwrap();
        (skill.entry.description.clone(), skill.is_usable())
    };
    let gemini = LibraryOptions::default().with_client(client("gemini-cli"));
    assert_eq!(winner(gemini.clone()), ("mine".to_owned(), true), "what Prowess offers");
    let as_client = gemini.with_as_client(Some(Reach::Clients));
    assert_eq!(winner(as_client), ("theirs".to_owned(), false), "what the client lists");
}

#[test]
fn the_clients_on_a_machine_are_found_by_their_own_folders() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    let environment = Environment::of([("HOME", home.to_str().unwrap())]);
    let ids = || installed(&environment).iter().map(|client| client.id).collect::<Vec<_>>();
    fs::create_dir_all(home.join(".agents/skills")).unwrap();
    assert!(ids().is_empty(), "a shared folder tells nothing: {:?}", ids());
    for path in [".codex", ".claude", ".config/opencode", ".gemini"] {
        fs::create_dir_all(home.join(path)).unwrap();
    }
    assert_eq!(ids(), ["claude-code", "codex", "gemini-cli", "opencode"]);
}

#[test]
fn a_view_is_the_same_from_the_cache_and_from_the_disk() {
    let home = Home::new();
    home.shape(".agents/skills", ".agents/skills", &[]);
    let cached = LibraryOptions::default().with_cache(true).with_as_client(Some(Reach::Clients));
    for id in ["codex", "cline", "grok"] {
        let names = |options: &LibraryOptions| {
            let options = options.clone().with_client(client(id));
            let registry = library(&home.at("code/proj"), &home.environment(), &options).unwrap();
            registry.refresh().unwrap();
            let catalog = registry.catalog();
            catalog.iter().map(|skill| skill.entry.key.clone()).collect::<Vec<_>>()
        };
        let fresh = names(&cached.clone().with_cache(false));
        assert_eq!(names(&cached), fresh, "{id}, and it is written");
        assert_eq!(names(&cached), fresh, "{id}, and it is read");
    }
}

#[test]
fn github_copilot_passes_over_an_argument_hint_that_is_a_list() {
    let folder = tempfile::tempdir().unwrap();
    let home = fs::canonicalize(folder.path()).unwrap();
    for (name, hint) in [("listed", "[paper]"), ("quoted", "'[paper]'")] {
        let text = format!("---\nname: {name}\ndescription: d\nargument-hint: {hint}\n---\nDo it.\n");
        put(&home.join(".agents/skills").join(name).join("SKILL.md"), text.as_bytes());
    }
    let (names, others) = listed(client("github-copilot").unwrap(), &home, &home);
    assert_eq!(names, ["quoted"]);
    assert_eq!(others, [("listed".to_owned(), "argument-hint-not-text")]);
    assert_eq!(listed(client("codex").unwrap(), &home, &home).0, ["listed", "quoted"]);
}
