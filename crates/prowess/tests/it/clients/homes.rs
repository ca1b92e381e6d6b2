//! Homes and projects in unusual places: behind a link, in worktrees and submodules, moved by variables, very large.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use prowess::SourceErrorKind;
use prowess::env::Environment;
use prowess::library::LibraryOptions;
use prowess::library::clients::{CLIENTS, Client, client, installed};
use prowess::library::views::{ClientLimits, Reach, Views};
use prowess_core::Scope;
use prowess_core::client::Fact;

use super::home::{put, skill};

/// An empty folder, by its path without links.
fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = fs::canonicalize(folder.path()).unwrap();
    (folder, path)
}

fn write(at: &Path, path: &str, name: &str) {
    put(&at.join(path).join("SKILL.md"), skill(name, "d").as_bytes());
}

fn opened(clients: &[&'static Client], environment: &Environment, from: &Path, reach: Reach) -> Views {
    let views = Views::open(from, environment, &LibraryOptions::default(), clients, reach).unwrap();
    views.refresh().unwrap();
    views
}

fn home_at(home: &Path) -> Environment {
    Environment::of([("HOME", home.to_str().unwrap())])
}

/// What a client lists: the name, whose skill it is, and what its model may not use it for.
fn listed(
    client: &'static Client,
    environment: &Environment,
    from: &Path,
    reach: Reach,
) -> Vec<(String, Scope, Option<Fact>)> {
    let views = opened(&[client], environment, from, reach);
    let catalog = views.registry().catalog();
    let sights = views.of(client, &catalog).into_iter();
    let seen = sights.filter_map(|sight| {
        let seen = sight.seen.ok()?;
        Some((seen.shown_as.into_owned(), sight.skill.entry.origin.scope, seen.hidden))
    });
    seen.collect()
}

fn names(client: &str, environment: &Environment, from: &Path) -> Vec<String> {
    let client = prowess::library::clients::client(client).unwrap();
    let mut names: Vec<String> =
        listed(client, environment, from, Reach::Clients).into_iter().map(|(name, ..)| name).collect();
    names.sort();
    names
}

#[test]
fn the_order_of_clients_does_not_decide_whose_a_skill_is() {
    let (_folder, home) = folder();
    write(&home, ".claude/skills/mine", "mine");
    write(&home, ".github/skills/theirs", "theirs");
    let environment = home_at(&home);
    let [copilot, claude] = ["github-copilot", "claude-code"].map(|id| client(id).unwrap());
    for clients in [vec![copilot, claude], vec![claude, copilot], vec![copilot]] {
        let views = opened(&clients, &environment, &home, Reach::Clients);
        let catalog = views.registry().catalog();
        let mut found: Vec<(&str, Scope)> =
            catalog.iter().map(|skill| (skill.entry.name.as_str(), skill.entry.origin.scope)).collect();
        found.sort_unstable();
        assert_eq!(found, [("mine", Scope::User), ("theirs", Scope::Project)], "{}", clients[0].id);
    }
}

#[test]
fn a_folder_that_a_variable_makes_the_users_is_theirs_in_every_client() {
    let (_folder, top) = folder();
    write(&top, "p/.codex/skills/mine", "mine");
    fs::create_dir_all(top.join("home")).unwrap();
    let paths = [top.join("home"), top.join("p/.codex")];
    let [home, codex] = paths.each_ref().map(|path| path.to_str().unwrap());
    let environment = Environment::of([("HOME", home), ("CODEX_HOME", codex)]);
    for id in ["codex", "cursor"] {
        let seen = listed(client(id).unwrap(), &environment, &top.join("p"), Reach::Clients);
        assert_eq!(seen, [("mine".to_owned(), Scope::User, None)], "{id}");
    }
}

#[test]
fn a_home_behind_a_link_gives_the_same_answers() {
    let (_folder, top) = folder();
    let home = top.join("data/real");
    for path in
        [".agents", ".claude", ".codex", ".github", ".copilot", ".config/opencode", ".pi/agent", ".grok"]
    {
        write(
            &home,
            &format!("{path}/skills/in-home"),
            &format!("home-{}", path.trim_matches('.').replace('/', "-")),
        );
        for (place, at) in
            [("data", "above"), ("data/real/p", "p"), ("data/real/p/sub", "sub"), ("data/beside", "beside")]
        {
            let name = format!("{at}-{}", path.trim_matches('.').replace('/', "-"));
            write(&top.join(place), &format!("{path}/skills/{at}"), &name);
        }
    }
    symlink(&home, top.join("link")).unwrap();
    for from in ["data/real", "data/real/p", "data/real/p/sub", "data/beside"] {
        for client in CLIENTS {
            let from = top.join(from);
            let real = listed(client, &home_at(&home), &from, Reach::Clients);
            let linked = listed(client, &home_at(&top.join("link")), &from, Reach::Clients);
            assert_eq!(real, linked, "{} in {}", client.id, from.display());
        }
    }
    let through = home_at(&top.join("link"));
    assert!(through.is_home(&home) && through.has_home_in(&top.join("data")) && !through.is_home(&top));
    // The folder may be the one that is reached through the link.
    for client in CLIENTS {
        let real = listed(client, &home_at(&home), &home.join("p"), Reach::Clients);
        let linked = listed(client, &home_at(&home), &top.join("link/p"), Reach::Clients);
        assert_eq!(real, linked, "{}", client.id);
    }
}

/// A repository with a worktree beside it, one inside it, and a submodule.
fn repositories(top: &Path, gitdir: impl Fn(&str, &str) -> String) {
    for (at, name) in
        [("main", "main"), ("main/trees/inner", "inner"), ("beside", "beside"), ("main/sub", "sub")]
    {
        for folder in [".kilo/skills", ".agents/skills"] {
            write(&top.join(at), &format!("{folder}/{name}"), name);
        }
        fs::create_dir_all(top.join(at).join("deep/er")).unwrap();
    }
    for (at, below) in
        [("main/trees/inner", "worktrees/inner"), ("beside", "worktrees/beside"), ("main/sub", "modules/sub")]
    {
        fs::create_dir_all(top.join("main/.git").join(below)).unwrap();
        put(&top.join(at).join(".git"), format!("gitdir: {}\n", gitdir(at, below)).as_bytes());
    }
}

#[test]
fn a_relative_gitdir_of_a_worktree_leads_to_the_main_checkout() {
    let (_one, absolute) = folder();
    repositories(&absolute, |_, below| absolute.join("main/.git").join(below).display().to_string());
    let (_two, relative) = folder();
    repositories(&relative, |at, below| match at {
        "beside" => format!("../main/.git/{below}"),
        "main/sub" => format!("../.git/{below}"),
        _ => format!("../../.git/{below}"),
    });
    for top in [&absolute, &relative] {
        let environment = home_at(&top.join("home"));
        for from in ["beside", "beside/deep/er"] {
            assert_eq!(names("kilo", &environment, &top.join(from)), ["beside", "main"], "{}", top.display());
        }
        let kilo = client("kilo").unwrap();
        let roots = kilo.roots(&top.join("beside"), &environment);
        assert!(roots.iter().any(|root| root.path == top.join("main/.kilo/skills")), "{roots:?}");
        assert_eq!(
            names("codex", &environment, &top.join("beside")),
            ["beside"],
            "it reads no main checkout"
        );
    }
    // A worktree that is reached through a link.
    symlink(relative.join("beside"), absolute.join("linked")).unwrap();
    let environment = home_at(&relative.join("home"));
    assert_eq!(names("kilo", &environment, &absolute.join("linked")), ["beside", "main"]);
}

#[test]
fn a_nested_worktree_and_a_submodule_are_repositories_of_their_own() {
    let (_folder, top) = folder();
    repositories(&top, |_, below| top.join("main/.git").join(below).display().to_string());
    let environment = home_at(&top.join("home"));
    for (from, codex, kilo) in [
        ("main/trees/inner", vec!["inner"], vec!["inner", "main"]),
        ("main/trees/inner/deep/er", vec!["inner"], vec!["inner", "main"]),
        ("main/sub", vec!["sub"], vec!["sub"]),
        ("main/sub/deep/er", vec!["sub"], vec!["sub"]),
        ("main/deep/er", vec!["main"], vec!["main"]),
    ] {
        assert_eq!(names("codex", &environment, &top.join(from)), codex, "{from}");
        assert_eq!(names("kilo", &environment, &top.join(from)), kilo, "{from}");
    }
}

#[test]
fn clients_follow_the_folder_of_configurations_that_a_variable_names() {
    let (_folder, top) = folder();
    let (home, config) = (top.join("home"), top.join("settings"));
    let environment =
        Environment::of([("HOME", home.to_str().unwrap()), ("XDG_CONFIG_HOME", config.to_str().unwrap())]);
    let ids = || installed(&environment).iter().map(|client| client.id).collect::<Vec<_>>();
    for client in ["opencode", "kilo", "goose", "crush", "devin"] {
        write(&home, &format!(".config/{client}/skills/unread"), "unread");
    }
    assert!(ids().is_empty(), "the variable moves them: {:?}", ids());
    write(&home, ".config/agents/skills/fixed", "fixed");
    write(&config, "agents/skills/moved", "moved");
    assert!(ids().is_empty(), "a shared folder tells nothing: {:?}", ids());
    for client in ["opencode", "kilo", "goose", "amp", "crush", "devin"] {
        write(&config, &format!("{client}/skills/own"), "own");
    }
    assert_eq!(ids(), ["crush", "devin", "goose", "kilo", "opencode"], "Amp does not follow the variable");
    write(&home, ".config/amp/skills/fixed-own", "fixed-own");
    assert_eq!(ids(), ["amp", "crush", "devin", "goose", "kilo", "opencode"]);
    for (client, expected) in [
        ("opencode", vec!["own"]),
        ("kilo", vec!["own"]),
        ("goose", vec!["fixed", "own"]),
        ("amp", vec!["fixed", "fixed-own"]),
        ("universal", vec!["moved"]),
        ("crush", vec!["own"]),
    ] {
        assert_eq!(names(client, &environment, &top), expected, "{client}");
    }
}

#[test]
fn a_client_is_found_in_a_moved_folder_whatever_its_name() {
    let (_folder, top) = folder();
    for name in ["agents", ".agent", ".config"] {
        fs::create_dir_all(top.join(name).join("skills")).unwrap();
        let codex = top.join(name);
        let home = top.join("home");
        let environment =
            Environment::of([("HOME", home.to_str().unwrap()), ("CODEX_HOME", codex.to_str().unwrap())]);
        assert_eq!(installed(&environment).iter().map(|client| client.id).collect::<Vec<_>>(), ["codex"]);
    }
}

#[test]
fn a_home_with_thousands_of_skills_is_listed_and_a_limit_that_is_reached_is_said() {
    let (_folder, home) = folder();
    for number in 0..2_100 {
        write(&home, &format!(".agents/skills/skill-{number:04}"), &format!("skill-{number:04}"));
    }
    let environment = home_at(&home);
    let codex = client("codex").unwrap();
    let views = opened(&[codex], &environment, &home, Reach::Everywhere);
    assert!(views.registry().problems().is_empty(), "{:?}", views.registry().problems());
    assert_eq!(views.registry().catalog().len(), 2_100);
    let limits = ClientLimits::default().with_folders(100);
    let options = LibraryOptions::default().with_client_limits(limits);
    let views = Views::open(&home, &environment, &options, &[codex], Reach::Clients).unwrap();
    views.refresh().unwrap();
    let problems = views.registry().problems();
    assert!(
        matches!(
            &*problems[0],
            prowess::SourceError { kind: SourceErrorKind::TooMany { limit: 100, .. }, .. }
        ),
        "{problems:?}"
    );
    assert!(views.registry().catalog().len() < 2_100);
}

#[test]
fn a_file_in_another_spelling_does_not_hide_the_skills_beside_it() {
    let (_folder, home) = folder();
    let (mixed, lower) = (home.join("skills/mixed"), home.join("skills/lower"));
    put(&mixed.join("Skill.md"), skill("mixed", "d").as_bytes());
    put(&lower.join("skill.md"), skill("lower", "d").as_bytes());
    for (at, name) in [(&mixed, "in-mixed"), (&lower, "in-lower")] {
        write(at, name, name);
        write(&home, &format!("store/linked-{name}"), &format!("linked-{name}"));
        symlink(home.join(format!("store/linked-{name}")), at.join(format!("linked-{name}"))).unwrap();
    }
    let folders = [
        ".agents",
        ".factory",
        ".copilot",
        ".openclaw",
        ".qoder",
        ".claude",
        ".config/opencode",
        ".pi/agent",
    ];
    for folder in folders {
        fs::create_dir_all(home.join(folder)).unwrap();
        fs::rename(home.join("skills"), home.join(folder).join("skills")).unwrap();
        for client in CLIENTS {
            let names = |reach| {
                let seen = listed(client, &home_at(&home), &home.join("store"), reach).into_iter();
                seen.map(|(name, ..)| name).collect::<Vec<_>>()
            };
            let (listed, explained) = (names(Reach::Clients), names(Reach::Everywhere));
            assert_eq!(listed, explained, "{} in {folder}: the list, and why", client.id);
            let looks_deeper = client.reads.is_some_and(|reads| reads.depth > 1) && !listed.is_empty();
            for name in ["in-mixed", "in-lower", "linked-in-mixed", "linked-in-lower"] {
                assert!(
                    !looks_deeper || listed.iter().any(|other| other == name),
                    "{}: {listed:?}",
                    client.id
                );
            }
        }
        fs::rename(home.join(folder).join("skills"), home.join("skills")).unwrap();
    }
}

#[test]
fn a_policy_file_that_begins_with_a_mark_of_yaml_is_obeyed() {
    let (_folder, home) = folder();
    let policy = "policy:\n  allow_implicit_invocation: false\n";
    let several = format!("---\n{policy}---\nmore: true\n");
    for (name, text) in [
        ("plain", policy.to_owned()),
        ("marked", format!("---\n{policy}")),
        ("commented", format!("# Of OpenAI\n--- # begin\n{policy}...\n")),
        ("windows", format!("---\n{policy}").replace('\n', "\r\n")),
        ("several", several),
    ] {
        write(&home, &format!(".agents/skills/{name}"), name);
        put(&home.join(".agents/skills").join(name).join("agents/openai.yaml"), text.as_bytes());
    }
    let seen = listed(client("codex").unwrap(), &home_at(&home), &home, Reach::Clients);
    for (name, _, hidden) in seen {
        let expected = (name != "several").then_some(Fact::NotImplicit);
        assert_eq!(hidden, expected, "{name}");
    }
}

#[test]
fn names_that_differ_only_in_case_are_one_to_the_clients_that_ignore_it() {
    let (_folder, home) = folder();
    for folder in [".agents", ".claude"] {
        write(&home, &format!("{folder}/skills/one"), "pdf");
        write(&home, &format!("{folder}/skills/two"), "PDF");
        write(&home, &format!("{folder}/skills/ONE"), "third");
    }
    if fs::read_dir(home.join(".agents/skills")).unwrap().count() < 3 {
        return crate::data::skipped("names of files that differ in case are one here");
    }
    let environment = home_at(&home);
    for (client, expected) in [
        ("codex", vec!["PDF", "pdf", "third"]),
        ("cline", vec!["PDF", "third"]),
        ("kimi-code-cli", vec!["pdf", "third"]),
        ("claude-code", vec!["ONE", "one", "two"]),
        ("grok", vec!["pdf", "third"]),
    ] {
        assert_eq!(names(client, &environment, &home), expected, "{client}");
    }
}
