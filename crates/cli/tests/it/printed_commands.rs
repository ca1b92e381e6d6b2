//! Every command that is printed works where it is printed.
//!
//! The scenes make the program print its hints. Each printed command runs in a fresh copy of its scene. The kinds of
//! commands that the sources can print are read from the sources, and each of them must be in a scene, or in
//! [`WITHOUT_SCENE`] with the reason.

#![allow(clippy::string_slice, reason = "every place was found in the text")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::install_git::commit;
use crate::places::zip_of;
use crate::shelf::{command, run};
use crate::{BAD, GOOD, Place};

/// Kinds of commands without a scene here, each with the reason. A new hint needs a scene or a line.
const WITHOUT_SCENE: &[(&str, &str)] = &[
    ("completions", "only a shell reads it, which asks for completions; it names a placeholder: SHELL"),
    ("man", "the help of man shows into which file its page is written"),
    (
        "eval --overlap",
        "names a placeholder, FOLDER, where two descriptions are alike; the tests of doctor have it",
    ),
];

/// A folder with files, the folder below it in which commands run, and the commands that print hints.
struct Scene {
    files: Vec<(&'static str, String)>,
    /// Commands that prepare the scene.
    before: &'static [&'static [&'static str]],
    at: &'static str,
    runs: Vec<&'static [&'static str]>,
}

fn skill(name: &str, description: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\nDo it.\n")
}

/// What is asked about installed skills, whatever became of them.
const ABOUT_INSTALLED: &[&[&str]] =
    &[&["verify"], &["list", "--installed"], &["list"], &["why", "a"], &["doctor"]];

/// A project with a skill that can be installed, and what is asked about it beside [`ABOUT_INSTALLED`].
fn installed(also: &'static [&'static [&'static str]]) -> Scene {
    let words = "Sorts woollen socks into drawers by colour and size. Use when socks are loose.";
    Scene {
        files: vec![
            ("home/.codex/config.toml", String::new()),
            ("src/a/SKILL.md", skill("a", words)),
            ("src/b/SKILL.md", skill("b", "Folds shirts. Use when asked.")),
        ],
        before: &[],
        at: "",
        runs: [ABOUT_INSTALLED, also].concat(),
    }
}

fn scenes() -> Vec<Scene> {
    let good = || ("home/.claude/skills/good/SKILL.md", GOOD.to_owned());
    let codex = || ("home/.codex/config.toml", String::new());
    let words = "Sorts woollen socks into drawers by colour and size. Use when socks are loose.";
    vec![
        // A home without anything.
        Scene {
            files: vec![("home/x", String::new())],
            before: &[&["!zip", "skills.zip"]],
            at: "",
            runs: vec![
                &["list"],
                &["doctor"],
                &["try", "sort socks"],
                &["verify"],
                &["list", "--installed"],
                &["list", "--installed", "--user"],
                &["sync"],
                &["cat", "nothing"],
                &["check", "nothing"],
                &["config", "set", "nothing", "x"],
                &["rule", "nothing"],
                &["remove", "nothing"],
                &["search", "nothing", "--selector", "command:false"],
                &["try"],
                &["check", "x", "--path", "skills/pdf/SKILL.md"],
                &["check", "skills.zip"],
                &["trust", "--revoke", "--yes", "nothing"],
                &["list", "--client", "vscode"],
                &["list", "--client", "gemini"],
                &["serve", "--print-config", "codex"],
                &["connect", "codex"],
                &["why", "using-prowess"],
                &["show", "using-prowess"],
            ],
        },
        // Skills of an MCP server, which wait for trust.
        Scene {
            files: vec![
                (
                    "config/prowess/prowess.toml",
                    format!(
                        "[[skills.sources]]\nmcp = \"'{}' serve --in served\"\nprefix = 'team'\n",
                        env!("CARGO_BIN_EXE_prowess")
                    ),
                ),
                ("config/prowess/served/a/SKILL.md", skill("a", words)),
            ],
            before: &[],
            at: "",
            runs: vec![
                &["list"],
                &["why", "team:a"],
                &["trust", "--server", "team"],
                &["trust", "--server", "none"],
            ],
        },
        // The user's own folder, in which `new` and `why` print how to install.
        Scene {
            files: vec![("home/mine/SKILL.md", skill("mine", words))],
            before: &[],
            at: "home",
            runs: vec![&["new", "fresh"], &["why", "mine"], &["why", "./mine"]],
        },
        // A project with skills that are not trusted, broken, shadowed and turned off.
        Scene {
            files: vec![
                good(),
                codex(),
                (
                    ".claude/skills/good/SKILL.md",
                    skill("good", "Another one, not the user's. Use when asked."),
                ),
                (".claude/skills/theirs/SKILL.md", skill("theirs", words)),
                (".claude/skills/a b/SKILL.md", skill("a b", "Sorts hats. Use when hats are loose.")),
                (
                    ".claude/skills/torn/SKILL.md",
                    "---\nname: torn\nname: again\ndescription: d\n---\n".to_owned(),
                ),
                (".claude/skills/bad/SKILL.md", BAD.to_owned()),
                (
                    ".claude/skills/tab/SKILL.md",
                    "---\nname: tab\ndescription: Use when: tabs\n---\n".to_owned(),
                ),
                ("home/.claude/skills/off/SKILL.md", skill("off", "Is off. Use when off.")),
                ("home/.claude/skills/one/SKILL.md", skill("one", words)),
                ("home/.claude/skills/two/SKILL.md", skill("two", words)),
                ("config/prowess/prowess.toml", "[skills]\ndisable = [\"off\"]\n".to_owned()),
                (
                    "prowess.toml",
                    "[session]\ntools = [\"Read\"]\n\n[skills]\ndisable = [\"one\"]\n".to_owned(),
                ),
                ("sub/dir/x", String::new()),
                ("new/SKILL.md", skill("new", words)),
                ("skills/pdf/SKILL.md", skill("pdf", words)),
            ],
            before: &[],
            at: "",
            runs: vec![
                &["list"],
                &["list", "--all"],
                &["list", "--client", "claude-code"],
                &["list", "--client", "claude-code,codex"],
                &["prompt"],
                &["prompt", "--client", "claude-code"],
                &["search", "zebra"],
                &["why", "theirs"],
                &["why", "a b"],
                &["why", "good"],
                &["why", "torn"],
                &["why", "tab"],
                &["why", "off"],
                &["why", "one", "--client", "codex"],
                &["why", "theirs", "--client", "claude-code"],
                &["why", "new"],
                &["show", "torn"],
                &["show", "theirs"],
                &["show", "nothing"],
                &["cat", "torn"],
                &["activate", "theirs"],
                &["activate", "nothing"],
                &["check", "."],
                &["check", "good"],
                &["eval", "good"],
                &["eval", "."],
                &["try", "sort socks"],
                &["try", "hats"],
                &["doctor"],
                &["trust", "--yes", "sub"],
                &["new", "fresh"],
                &["add", "skills/pdf"],
                &["config", "set", "--project", "session.tools", "Read"],
                &["config"],
                &["list", "--only", "godo"],
            ],
        },
        // A skill that is trusted with the folder around it.
        Scene {
            files: vec![
                (".git/x", String::new()),
                (".claude/skills/theirs/SKILL.md", skill("theirs", words)),
            ],
            before: &[&["trust", "--yes", "."]],
            at: "",
            runs: vec![
                &["trust", "--revoke", "--yes", "theirs"],
                &["trust", "--revoke", "--yes", ".claude/skills"],
                &["trust", "--revoke", "--yes", ".claude/skills/theirs/SKILL.md"],
                &["trust", "--list"],
            ],
        },
        // The same kind of project, from a folder inside of it.
        Scene {
            files: vec![
                good(),
                (".claude/skills/theirs/SKILL.md", skill("theirs", words)),
                ("sub/x", String::new()),
            ],
            before: &[],
            at: "sub",
            runs: vec![&["list"], &["prompt"], &["doctor"], &["why", "theirs"]],
        },
        // Installed skills: intact, edited, missing, and left behind.
        Scene {
            before: &[&["add", "./src", "--all", "--yes"], &["add", "./src/a", "--user", "--yes"]],
            ..installed(&[
                &["why", "a", "--client", "claude-code"],
                &["remove", "nothing"],
                // Words that are tried as commands.
                &["mcp"],
                &["fix"],
                &["ci"],
                &["status"],
                &["test"],
                &["fmt"],
                &["get"],
                &["delete"],
                &["init"],
                &["update"],
                &["outdated"],
                &["view"],
                &["run"],
                &["publish"],
            ])
        },
        Scene {
            before: &[&["add", "./src/a", "--yes"], &["!edit", ".agents/skills/a/SKILL.md"]],
            ..installed(&[&["sync"], &["sync", "--locked"], &["trust", "--revoke", ".agents/skills"]])
        },
        Scene {
            before: &[&["add", "./src/a", "--yes"], &["!remove", ".agents/skills/a"]],
            ..installed(&[&["sync", "--frozen"], &["sync", "--locked"]])
        },
        Scene {
            before: &[&["add", "./src/a", "--user", "--yes"], &["!remove", "home/.agents/skills/a"]],
            ..installed(&[&["verify", "--user"], &["list", "--installed", "--user"], &["remove", "a"]])
        },
        // Installed for the user, edited, and accepted as edited.
        Scene {
            before: &[
                &["add", "./src/a", "--user", "--yes"],
                &["!edit", "home/.agents/skills/a/SKILL.md"],
                &["trust", "a", "--yes"],
            ],
            ..installed(&[&["trust", "--revoke", "--yes", "home/.agents/skills/a"]])
        },
        // Installed for the user, edited, and installed again by another name.
        Scene {
            before: &[
                &["add", "./src/a", "--user", "--yes"],
                &["add", "./src/a", "--yes"],
                &[
                    "!write",
                    "src/a/SKILL.md",
                    "---\nname: b\ndescription: Folds shirts. Use when asked.\n---\n",
                ],
            ],
            ..installed(&[
                &["add", "./src/a", "--dry-run"],
                &["trust", "--revoke", "--yes", "home/.agents/skills/a"],
            ])
        },
        // A skill from a repository whose copy in the store is gone.
        Scene {
            before: &[
                &["!commit", "src"],
                &["add", "file://./src", "--skill", "a", "--yes"],
                &["!edit", ".agents/skills/a/SKILL.md"],
                &["!remove", "cache"],
            ],
            ..installed(&[&["sync", "--frozen"]])
        },
        // Clients that share a configuration, or have one that is not understood.
        Scene {
            files: vec![
                (".git/x", String::new()),
                (".claude/skills/theirs/SKILL.md", skill("theirs", words)),
                ("home/.cursor/mcp.json", "{\"mcpServers\": []}".to_owned()),
            ],
            before: &[&["connect", "claude-code", "--project", "--write"]],
            at: "",
            runs: vec![
                &["disconnect", "github-copilot", "--project", "--write"],
                &["connect", "cursor", "--write"],
                &["connect", "cursor", "--url", "https://skills.example.org", "--write"],
            ],
        },
        // More trouble than doctor shows, and more descriptions than a client takes.
        Scene {
            files: vec![
                good(),
                codex(),
                ("home/.copilot/config.json", String::new()),
                ("home/.copilot/skills/colon/SKILL.md", skill("colon", "Use when: colons are loose")),
                ("cache/prowess/index/old", "prowess index 1\n".to_owned()),
                ("home/.claude/skills/group/deep/SKILL.md", skill("deep", words)),
            ],
            before: &[&["!torn", "home/.claude/skills"], &["!large", "home/.codex/skills"]],
            at: "",
            runs: vec![&["doctor"], &["doctor", "--all"], &["doctor", "--fix"]],
        },
    ]
}

impl Scene {
    fn place(&self) -> Place {
        let place = Place::with(&[]);
        for (path, text) in &self.files {
            place.write(path, text.as_bytes());
        }
        for args in self.before {
            match args {
                ["!edit", path] => {
                    let path = place.path().join(path);
                    let text = fs::read_to_string(&path).unwrap();
                    fs::write(path, text + "More.\n").unwrap();
                }
                ["!remove", path] => fs::remove_dir_all(place.path().join(path)).unwrap(),
                ["!write", path, text] => place.write(path, text.as_bytes()),
                ["!zip", path] => place.write(path, &zip_of("good/SKILL.md", GOOD.as_bytes())),
                ["!torn", folder] => {
                    for number in 0..8 {
                        let path = format!("{folder}/torn-{number}/SKILL.md");
                        place.write(&path, b"---\nname: torn\nname: again\ndescription: d\n---\n");
                    }
                }
                ["!large", folder] => {
                    for number in 0..20 {
                        let name = format!("large-{number}");
                        let words: String = (0..140).map(|word| format!("w{number}x{word} ")).collect();
                        let text = skill(&name, &words);
                        place.write(&format!("{folder}/{name}/SKILL.md"), text.as_bytes());
                    }
                }
                ["!commit", folder] => drop(commit(&place, folder)),
                args => {
                    let here = format!("file://{}", place.path().display());
                    let args: Vec<String> = args.iter().map(|word| word.replace("file://.", &here)).collect();
                    let args: Vec<&str> = args.iter().map(String::as_str).collect();
                    let said = run(&place, &args);
                    assert!(said.starts_with("exit 0"), "{args:?}: {said}");
                }
            }
        }
        place
    }

    fn run(&self, place: &Place, args: &[&str]) -> String {
        let output = command(place).current_dir(place.path().join(self.at)).args(args).output().unwrap();
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    }
}

/// The names of all commands.
fn verbs() -> BTreeSet<String> {
    let help = Place::with(&[]).run(&["help"]);
    let first = |line: &str| line.strip_prefix("  ")?.split_whitespace().next().map(str::to_owned);
    help.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   ")).filter_map(first).collect()
}

/// The commands in a text, as they would be copied: each is a word `prowess`, a verb, and what follows in the same
/// sentence.
fn printed(text: &str, verbs: &BTreeSet<String>) -> Vec<String> {
    let mut found = Vec::new();
    for line in text.lines() {
        for (at, _) in line.match_indices("prowess ") {
            let before = &line[..at];
            let rest = &line[at + "prowess ".len()..];
            let verb: String = rest.chars().take_while(char::is_ascii_lowercase).collect();
            // A command follows a colon, a comma or the beginning; "prowess serve withholds" is a sentence.
            let follows = before.trim_end().ends_with([':', ',', '`'])
                || before.trim().is_empty()
                || before.ends_with("or ");
            let follows = follows || before.ends_with("with ") || before.ends_with("see ");
            if !verbs.contains(&verb) || !follows || rest[verb.len()..].starts_with(" withholds") {
                continue;
            }
            found.push(format!("prowess {}", sentence(rest)));
        }
    }
    found
}

/// The words of a command: until an unquoted `;`, a comma before a space, a closing bracket, or two spaces.
fn sentence(rest: &str) -> &str {
    let mut quoted = false;
    for (at, character) in rest.char_indices() {
        let next = rest[at + character.len_utf8()..].chars().next();
        match character {
            '\'' => quoted = !quoted,
            _ if quoted => {}
            ';' | ')' | '`' => return rest[..at].trim_end(),
            ',' if next.is_none_or(char::is_whitespace) => return rest[..at].trim_end(),
            ' ' if next == Some(' ') => return &rest[..at],
            ' ' if rest[at..].starts_with(" or prowess") || rest[at..].starts_with(" records it") => {
                return &rest[..at];
            }
            ' ' if rest[at..].starts_with(" and ") || rest[at..].starts_with(" to ") => return &rest[..at],
            _ => {}
        }
    }
    rest.trim_end()
}

/// Whether a word of a command stands for something that the reader knows.
fn has_placeholder(command: &str) -> bool {
    command.split(' ').any(|word| {
        word.contains("OWNER/")
            || word.starts_with(['<', '['])
            || (word.len() > 1 && word.chars().all(|letter| letter.is_ascii_uppercase()))
    })
}

/// The kind of a command: its verb and its options.
fn kind(command: &str) -> String {
    let words = command.split(' ').skip(1);
    let option = |word: &str| word.split('=').next().unwrap_or(word).to_owned();
    let mut words = words
        .enumerate()
        .filter(|(at, word)| *at == 0 || word.starts_with("--"))
        .map(|(_, word)| option(word));
    let verb = words.next().unwrap_or_default();
    let options: BTreeSet<String> = words.collect();
    std::iter::once(verb).chain(options).collect::<Vec<_>>().join(" ")
}

#[test]
fn every_printed_command_works_where_it_is_printed() {
    let verbs = verbs();
    assert!(verbs.len() > 15, "{verbs:?}");
    let mut seen = BTreeSet::new();
    let mut failed = Vec::new();
    let mut tried = 0;
    for scene in scenes() {
        let mut commands: BTreeMap<String, String> = BTreeMap::new();
        for args in &scene.runs {
            let place = scene.place();
            let said = scene.run(&place, args);
            let said = said.replace(&*place.path().to_string_lossy(), "\u{1}");
            for command in printed(&said, &verbs) {
                seen.insert(kind(&command));
                commands.entry(command).or_insert_with(|| format!("{args:?}"));
            }
        }
        for (printed, by) in commands {
            if has_placeholder(&printed) {
                continue;
            }
            tried += 1;
            let place = scene.place();
            // What `new` was asked to make is there when its hint is followed.
            if by.contains("\"new\"") {
                scene.run(&place, &["new", "fresh"]);
            }
            // The skills were moved there, as doctor says beside it.
            if let Some(folder) = printed.strip_prefix("prowess serve --in \u{1}/") {
                place.write(&format!("{folder}/good/SKILL.md"), GOOD.as_bytes());
            }
            let words = printed.replace('\u{1}', &place.path().to_string_lossy());
            let asks = ["add", "trust", "sync", "remove", "doctor --fix"]
                .iter()
                .any(|verb| words.starts_with(&format!("prowess {verb}")));
            let words = if asks && !words.contains("--yes") && !words.contains("--list") {
                format!("{words} --yes")
            } else {
                words
            };
            // A command that reads standard input gets a skill, and a server the end of its input.
            let typed = if words.contains(" - ") { place.path().join("typed") } else { "/dev/null".into() };
            place.write("typed", GOOD.as_bytes());
            let program = Path::new(env!("CARGO_BIN_EXE_prowess")).parent().unwrap();
            let mut shell = Command::new("/bin/sh");
            shell
                .args(["-c", &words])
                .current_dir(place.path().join(scene.at))
                .stdin(fs::File::open(&typed).unwrap());
            shell
                .env_clear()
                .envs(command(&place).get_envs().filter_map(|(name, value)| Some((name, value?))));
            shell.env("PATH", format!("{}:/usr/bin:/bin", program.display()));
            let output = shell.output().unwrap();
            let said = place.transcript(&output);
            if output.status.code() == Some(2) || output.status.code().is_none() {
                failed.push(format!(
                    "{printed}\n  printed by {by} in {:?}\n  {}",
                    scene.at,
                    said.replace('\n', "\n  ")
                ));
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
    assert!(tried > 40, "{tried}");
    kinds_are_in_scenes(&seen, &verbs);
}

/// Fails if the sources can print a kind of command that no scene shows.
fn kinds_are_in_scenes(seen: &BTreeSet<String>, verbs: &BTreeSet<String>) {
    let mut kinds = BTreeSet::new();
    let mut folders = vec![PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            let text = text.split("#[cfg(test)]").next().unwrap();
            // Examples of usage name skills that are not there.
            let examples = text.find("const EXAMPLES").map(|at| at..at + text[at..].find("];").unwrap());
            let text = examples.map_or(text.to_owned(), |examples| text.replace(&text[examples], ""));
            let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
            for line in code {
                for (at, _) in line.match_indices("prowess ") {
                    let rest = &line[at..];
                    let end = rest.find(['"', ';', ',', '{', '\\', ')', ':']).unwrap_or(rest.len());
                    let command = rest[..end].trim_end();
                    if command.split(' ').nth(1).is_some_and(|verb| verbs.contains(verb)) {
                        kinds.insert(kind(command));
                    }
                }
                for (at, call) in line.match_indices("command_for(\"") {
                    let verb = line[at + call.len()..].split('"').next().unwrap();
                    kinds.insert(kind(&format!("prowess {verb}")));
                }
            }
        }
    }
    let covers = |wanted: &String| {
        let words = |kind: &str| kind.split(' ').map(str::to_owned).collect::<BTreeSet<_>>();
        let verb = |kind: &str| kind.split(' ').next().unwrap_or_default().to_owned();
        seen.iter().any(|other| verb(other) == verb(wanted) && words(wanted).is_subset(&words(other)))
    };
    let missing: BTreeSet<&str> = kinds.iter().filter(|kind| !covers(kind)).map(String::as_str).collect();
    let excused: BTreeSet<&str> = WITHOUT_SCENE.iter().map(|(kind, _)| *kind).collect();
    assert_eq!(missing, excused, "kinds of printed commands without a scene, against those with a reason");
}
