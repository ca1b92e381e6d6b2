//! Links of a project that lead out of it or into its `.git`: no command writes through them.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::Place;
use crate::shelf::command;

/// A skill that a safe fix changes.
const FIXABLE: &str = "---\nname: mail\ndescription: Use when: mail piles up\n---\nSort it.\n";
/// A file that every parser of ours takes for an empty one.
const EMPTY: &str = "\n";

/// Commands that write in a project: a link in it, where it leads below `.git` or a folder beside the project, and the
/// arguments.
const WRITERS: &[(&str, &str, &[&str])] = &[
    (".codex/config.toml", "info/exclude", &["connect", "codex", "--project", "--write"]),
    (".codex", "info", &["connect", "codex", "--project", "--write"]),
    (".codex/config.toml", "info/exclude", &["disconnect", "codex", "--project", "--write"]),
    (".mcp.json", "info/exclude", &["connect", "claude-code", "--project", "--write"]),
    (".cursor", "hooks", &["connect", "cursor", "--project", "--write"]),
    ("prowess.toml", "info/exclude", &["config", "set", "--project", "scan.depth", "3"]),
    ("prowess.toml", "info/exclude", &["config", "unset", "--project", "scan.depth"]),
    (".claude/skills", "hooks", &["new", "sweep", "--dir", ".claude/skills"]),
    (".claude", "hooks", &["new", "sweep", "--dir", ".claude/skills"]),
    (
        "ranked",
        "info/exclude",
        &["eval", "--pool", "pool.jsonl", "--queries", "queries.jsonl", "--run", "ranked"],
    ),
    // A file that is still to be made.
    (
        "ranked",
        "hooks/new",
        &["eval", "--pool", "pool.jsonl", "--queries", "queries.jsonl", "--run", "ranked"],
    ),
    (".agents", "hooks", &["add", "./from/tidy", "--yes"]),
    (".agents/skills", "hooks", &["add", "./from/tidy", "--yes"]),
    ("skills.toml", "info/exclude", &["add", "./from/tidy", "--yes"]),
    ("skills.lock", "info/exclude", &["add", "./from/tidy", "--yes"]),
    ("skills.lock", "info/exclude", &["sync"]),
    (".claude/skills", "hooks", &["add", "./from/tidy", "--yes", "--client", "claude-code"]),
];

/// A project with files in its `.git`, and beside it a folder with the same files.
fn world() -> Place {
    let mut files = vec![
        ("project/from/tidy/SKILL.md", "---\nname: tidy\ndescription: Tidies up.\n---\nDo.\n"),
        ("project/pool.jsonl", "{\"id\": \"a\", \"text\": \"---\\nname: a\\ndescription: A.\\n---\\n\"}\n"),
        ("project/queries.jsonl", "{\"id\": \"q\", \"query\": \"a\", \"relevant\": [\"a\"]}\n"),
    ];
    for folder in ["project/.git", "outside"] {
        for (name, text) in [("info/exclude", EMPTY), ("hooks/mail/SKILL.md", FIXABLE), ("config", EMPTY)] {
            files.push((Box::leak(format!("{folder}/{name}").into_boxed_str()), text));
        }
    }
    Place::with(&files)
}

/// The files below a folder, with their contents.
fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            found.insert(path.to_string_lossy().into_owned(), Vec::new());
            found.append(&mut contents(&path));
        } else {
            found.insert(path.to_string_lossy().into_owned(), fs::read(&path).unwrap());
        }
    }
    found
}

fn run(place: &Place, args: &[&str]) -> String {
    let output = command(place).args(args).current_dir(place.path().join("project")).output().unwrap();
    place.transcript(&output)
}

fn link(place: &Place, link: &str, target: &Path) {
    let link = place.path().join("project").join(link);
    fs::create_dir_all(link.parent().unwrap()).unwrap();
    symlink(target, link).unwrap();
}

#[test]
fn no_command_writes_through_a_link_of_a_project_out_of_it_or_into_its_git_folder() {
    for (folder, words) in [("project/.git", "into .git"), ("outside", "out of the project")] {
        for (from, to, args) in WRITERS {
            let place = world();
            let target = place.path().join(folder).join(to);
            link(&place, from, &target);
            let before = contents(&place.path().join(folder));
            let said = run(&place, args);
            let refusal =
                format!("error: a link leads {words}: [DIR]/project/{from}: [DIR]/{folder}/{to}\n  hint: ");
            assert!(said.starts_with("exit 2") && said.contains(&refusal), "{from} {args:?}: {said}");
            assert_eq!(contents(&place.path().join(folder)), before, "{from} {args:?}");
        }
    }
}

#[test]
fn no_fix_is_written_through_a_link_of_a_project_out_of_it_or_into_its_git_folder() {
    for folder in ["project/.git", "outside"] {
        for (from, to) in [
            (".claude/skills", "hooks"),
            (".claude/skills/mail", "hooks/mail"),
            ("mail/SKILL.md", "hooks/mail/SKILL.md"),
        ] {
            let place = world();
            link(&place, from, &place.path().join(folder).join(to));
            let before = contents(&place.path().join(folder));
            for args in [
                &["check", "--fix", "."][..],
                &["check", "--fix", from],
                &["doctor", "--fix", "--yes", "--client", "claude-code"],
            ] {
                // A named link is as good as its target, unless that is in `.git`.
                let named = args.contains(&from) && folder == "outside";
                if !named {
                    let said = run(&place, args);
                    assert_eq!(contents(&place.path().join(folder)), before, "{from} {args:?}: {said}");
                }
            }
        }
    }
}
