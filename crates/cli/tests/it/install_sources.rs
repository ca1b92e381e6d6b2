//! Sources that are where skills are installed, contain such a place or are in it: no command loses what a user wrote.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use insta::assert_snapshot;

use crate::install::{skill, without_times};
use crate::shelf::command;
use crate::{Place, skipped};

pub(crate) const NOTES: &str = "written by hand\n";

/// Makes a source below the folder of a project or of the user. Returns what the user names as the source, the options
/// beside it, and the folder with the files that the user wrote.
type Make = fn(&Path) -> (PathBuf, &'static [&'static str], PathBuf);

/// A skill called `mine` in a folder, with a second file.
pub(crate) fn written(folder: PathBuf) -> PathBuf {
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("SKILL.md"), skill("mine", "by hand")).unwrap();
    fs::write(folder.join("notes.txt"), NOTES).unwrap();
    folder
}

fn link(to: &Path, at: PathBuf) -> PathBuf {
    fs::create_dir_all(at.parent().unwrap()).unwrap();
    symlink(to, &at).unwrap();
    at
}

fn repository(folder: &Path) {
    for args in [
        &["init", "--quiet"][..],
        &["add", "."],
        &["-c", "user.name=u", "-c", "user.email=u@example.org", "commit", "--quiet", "--message", "one"],
    ] {
        let status = Command::new("git").args(args).current_dir(folder).status().unwrap();
        assert!(status.success());
    }
}

/// Every way in which a source and a place where skills are installed overlap.
const OVERLAPS: &[(&str, Make)] = &[
    ("the folder of a client", |base| {
        let own = written(base.join(".claude/skills/mine"));
        (own.clone(), &[], own)
    }),
    ("the folder of a client, under another name", |base| {
        let own = written(base.join(".claude/skills/mine"));
        (own.clone(), &["--as", "other"], own)
    }),
    ("the folder of installed skills", |base| {
        let own = written(base.join(".agents/skills/mine"));
        (own.clone(), &[], own)
    }),
    ("all skills of a client", |base| {
        let own = written(base.join(".claude/skills/mine"));
        (base.join(".claude/skills"), &["--all"], own)
    }),
    ("all skills that are below a folder", |base| {
        let own = written(base.join(".claude/skills/mine"));
        (base.join(".claude"), &["--all"], own)
    }),
    ("above the folder of a client", |base| {
        let own = written(base.join(".claude"));
        (own.clone(), &[], own)
    }),
    ("above the folder of installed skills", |base| {
        let own = written(base.join(".agents"));
        (own.clone(), &[], own)
    }),
    ("the project or the user's folder itself", |base| {
        let own = written(base.to_owned());
        (own.clone(), &["--skill", "mine"], own)
    }),
    ("inside of the target", |base| {
        fs::create_dir_all(base.join(".claude/skills/mine")).unwrap();
        fs::write(base.join(".claude/skills/mine/beside.txt"), NOTES).unwrap();
        let own = written(base.join(".claude/skills/mine/mine"));
        (own.clone(), &[], own)
    }),
    ("a link in the folder of a client", |base| {
        let own = written(base.join("work/mine"));
        (link(&own, base.join(".claude/skills/mine")), &[], own)
    }),
    ("a link in the folder of installed skills", |base| {
        let own = written(base.join("work/mine"));
        (link(&own, base.join(".agents/skills/mine")), &[], own)
    }),
    ("linked from the folder of a client", |base| {
        let own = written(base.join("work/mine"));
        link(&own, base.join(".claude/skills/mine"));
        (own.clone(), &[], own)
    }),
    ("linked from the folder of installed skills", |base| {
        let own = written(base.join("work/mine"));
        link(&own, base.join(".agents/skills/mine"));
        (own.clone(), &[], own)
    }),
    ("a folder of a client that is a link", |base| {
        let own = written(base.join("work/mine"));
        link(&base.join("work"), base.join(".claude/skills"));
        (own.clone(), &[], own)
    }),
    ("a folder of installed skills that is a link", |base| {
        let own = written(base.join("work/mine"));
        link(&base.join("work"), base.join(".agents/skills"));
        (own.clone(), &[], own)
    }),
    ("a link above the folder of a client", |base| {
        let own = written(base.join(".claude/skills/mine"));
        (link(&base.join(".claude"), base.join("work")).join("skills/mine"), &[], own)
    }),
    ("a link to the folder of installed skills", |base| {
        let own = written(base.join(".agents/skills/mine"));
        (link(&base.join(".agents/skills"), base.join("work")).join("mine"), &[], own)
    }),
    ("the same files by hard links", |base| {
        let own = written(base.join("work/mine"));
        fs::create_dir_all(base.join(".claude/skills/mine")).unwrap();
        for name in ["SKILL.md", "notes.txt"] {
            fs::hard_link(own.join(name), base.join(".claude/skills/mine").join(name)).unwrap();
        }
        (own.clone(), &[], own)
    }),
    ("a repository in the folder of a client", |base| {
        let own = written(base.join(".claude/skills/mine"));
        repository(&own);
        (PathBuf::from(format!("file://{}", own.display())), &[], own)
    }),
    ("a clone in the folder of a client", |base| {
        let own = written(base.join(".claude/skills/mine"));
        repository(&own);
        (own.clone(), &[], own)
    }),
];

/// A project in `project` and its user in `home`, and the folder of one of them.
pub(crate) fn world(user: bool) -> (Place, PathBuf) {
    let place = Place::with(&[("project/.git/HEAD", ""), ("home/x", "")]);
    let base = place.path().join(if user { "home" } else { "project" });
    (place, base)
}

pub(crate) fn in_project(place: &Place, args: &[&str]) -> String {
    let mut command = command(place);
    let said =
        place.transcript(&command.current_dir(place.path().join("project")).args(args).output().unwrap());
    without_times(&said)
}

fn records_of(base: &Path) -> PathBuf {
    if base.ends_with("home") { base.join(".agents") } else { base.to_owned() }
}

/// Checks that what the user wrote is where the user wrote it, and that no record names an installed skill as a source.
fn check(base: &Path, own: &Path, what: &str) {
    assert_eq!(fs::read_to_string(own.join("notes.txt")).unwrap_or_default(), NOTES, "{what}");
    assert_eq!(
        fs::read_to_string(own.join("SKILL.md")).unwrap_or_default(),
        skill("mine", "by hand"),
        "{what}"
    );
    assert!(!own.is_symlink(), "{what}");
    let records = records_of(base);
    let toml = fs::read_to_string(records.join("skills.toml")).unwrap_or_default();
    for line in toml.lines().filter(|line| line.contains("path = ")) {
        let path = line.split("path = \"").nth(1).unwrap().split('"').next().unwrap();
        let real = fs::canonicalize(records.join(path)).unwrap();
        let targets = [base.join(".agents/skills"), base.join(".claude/skills")];
        let is_target =
            |target: &PathBuf| fs::canonicalize(target).is_ok_and(|target| real.starts_with(target));
        assert!(!targets.iter().any(is_target), "{what}: {toml}");
    }
}

#[test]
fn no_command_loses_what_the_user_wrote_where_source_and_target_overlap() {
    for (overlap, make) in OVERLAPS {
        for user in [false, true] {
            for mode in ["symlink", "copy"] {
                for existing in [None, Some("--overwrite")] {
                    let (place, base) = world(user);
                    let (source, options, own) = make(&base);
                    let source = source.to_string_lossy().into_owned();
                    let scope = if user { &["--user"][..] } else { &[] };
                    let clients = ["--client", "claude-code", "--link", mode, "--yes"];
                    let add = [&["add", &source], options, &clients[..], scope].concat();
                    let add: Vec<&str> = add.into_iter().chain(existing).collect();
                    let mut said = in_project(&place, &add);
                    check(&base, &own, &format!("{overlap}, {add:?}: {said}"));
                    // What was refused has no records, and nothing more can happen to it.
                    if !said.starts_with("exit 0") {
                        assert!(
                            !records_of(&base).join("skills.toml").exists(),
                            "{overlap}, {add:?}: {said}"
                        );
                        continue;
                    }
                    let name = if options.contains(&"other") { "other" } else { "mine" };
                    let other = if mode == "copy" { "symlink" } else { "copy" };
                    for next in [
                        &["sync", "--yes", "--overwrite"][..],
                        &["sync", "--yes", "--link", other, "--overwrite"],
                        &["remove", name, "--overwrite", "--yes"],
                        &["sync", "--yes", "--overwrite"],
                    ] {
                        said += &in_project(&place, &[next, scope].concat());
                        check(&base, &own, &format!("{overlap}, {add:?}, then {next:?}: {said}"));
                    }
                }
            }
        }
    }
}

/// Where a user writes a skill by hand, below the folder that has the project and the user's folder.
const WRITTEN: &[&str] =
    &["home/.claude/skills", "home/.agents/skills", "project/.claude/skills", "project/.agents/skills"];

/// Commands that install a skill from one folder to the next; `HAND` is the one that the user wrote. Each is run in a
/// project, by its folder.
const CHAINS: &[&[(&str, &str)]] = &[
    &[("project", "add HAND"), ("project", "add ./.agents/skills/mine --user")],
    &[("project", "add HAND --user"), ("project", "add ../home/.agents/skills/mine")],
    &[
        ("project", "add HAND"),
        ("other", "add ../project/.agents/skills/mine --user"),
        ("other", "add ../home/.agents/skills/mine"),
        ("project", "add ../other/.agents/skills/mine --user"),
    ],
    &[
        ("other", "add HAND"),
        ("project", "add ../other/.agents/skills/mine --user"),
        ("project", "add ../home/.agents/skills/mine"),
    ],
];

const REMOVALS: [(&str, &str); 3] =
    [("project", "remove mine"), ("project", "remove mine --user"), ("other", "remove mine")];

#[test]
fn no_chain_of_installations_and_removals_loses_what_the_user_wrote() {
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    let clients = ["", " --client claude-code --link symlink", " --client claude-code --link copy"];
    let mut nth = 0;
    for written_in in WRITTEN {
        for chain in CHAINS {
            for client in clients {
                for existing in ["", " --keep"] {
                    let place =
                        Place::with(&[("project/.git/HEAD", ""), ("other/.git/HEAD", ""), ("home/x", "")]);
                    let hand = written(place.path().join(written_in).join("mine"));
                    // Every second world has the same skill in another folder too.
                    let second =
                        WRITTEN.iter().cycle().skip_while(|other| *other != written_in).nth(1 + nth % 3);
                    let second = second.filter(|_| nth % 2 == 0);
                    let own: Vec<PathBuf> = std::iter::once(hand.clone())
                        .chain(second.map(|second| written(place.path().join(second).join("mine"))))
                        .collect();
                    let adds = chain.iter().map(|(at, add)| {
                        let add = add.replace("HAND", hand.to_str().unwrap());
                        (*at, format!("{add}{client}{existing} --yes"))
                    });
                    let removals = orders[nth % orders.len()].map(|at| REMOVALS[at]);
                    let removals = removals.map(|(at, remove)| (at, format!("{remove}{existing}")));
                    let syncs =
                        ["", " --user"].map(|scope| ("project", format!("sync --yes{scope}{existing}")));
                    let mut said = String::new();
                    for (at, line) in adds.chain(syncs).chain(removals) {
                        let mut command = command(&place);
                        command.current_dir(place.path().join(at)).args(line.split(' '));
                        said +=
                            &[at, "$ ", &line, "\n", &place.transcript(&command.output().unwrap())].concat();
                        for own in &own {
                            let is_there = !own.is_symlink()
                                && fs::read_to_string(own.join("notes.txt"))
                                    .is_ok_and(|notes| notes == NOTES)
                                && own.join("SKILL.md").is_file();
                            assert!(is_there, "{}: {said}", own.display());
                        }
                    }
                    nth += 1;
                }
            }
        }
    }
}

#[test]
fn a_skill_with_the_same_files_that_the_user_wrote_stays_and_is_said() {
    let (place, base) = world(true);
    let own = written(base.join(".claude/skills/mine"));
    let work = written(base.join("work/mine"));
    let work = work.to_str().unwrap();
    let linked = ["add", work, "--user", "--client", "claude-code", "--yes"];
    let refused = in_project(&place, &linked);
    assert_snapshot!(refused, @"
    exit 2
    --- stderr
    resolved 1 skill in [N] ms
    mine  2 files, 87 bytes
      asks for tools  Read
    error: this skill is there already, and was not installed: [DIR]/home/.claude/skills/mine
      hint: move it away, leave it alone with --keep, or replace it with --overwrite
    ");
    // A copy would have the same files.
    let copied = [&linked[..], &["--link", "copy"]].concat();
    assert_eq!(in_project(&place, &copied), refused);
    for fine in
        [&[&copied[..], &["--keep"]].concat()[..], &["sync", "--user", "--yes"], &["verify", "--user"]]
    {
        let said = in_project(&place, fine);
        assert!(said.starts_with("exit 0"), "{said}");
    }
    assert_snapshot!(in_project(&place, &["remove", "--user", "mine"]), @"
    exit 0
    --- stdout
    - mine  [DIR]/home/work/mine
      left alone: [DIR]/home/.claude/skills/mine
    wrote [DIR]/home/.agents/skills.toml
    wrote [DIR]/home/.agents/skills.lock
    ");
    assert_eq!(fs::read_to_string(own.join("notes.txt")).unwrap(), NOTES);
    // In the folder of installed skills.
    let own = written(base.join(".agents/skills/mine"));
    assert_snapshot!(in_project(&place, &["add", work, "--user", "--yes"]), @"
    exit 2
    --- stderr
    resolved 1 skill in [N] ms
    mine  2 files, 87 bytes
      asks for tools  Read
    error: this skill is there already, and was not installed: [DIR]/home/.agents/skills/mine
      hint: give it another name with --as NAME, or replace what is there with --overwrite
    ");
    let said = in_project(&place, &["add", work, "--user", "--yes", "--keep"]);
    assert!(said.starts_with("exit 0"), "{said}");
    let said = in_project(&place, &["remove", "--user", "mine"]);
    assert!(said.starts_with("exit 2"), "{said}");
    assert_eq!(fs::read_to_string(own.join("notes.txt")).unwrap(), NOTES);
}

#[test]
fn what_prowess_placed_is_its_own_after_the_records_were_lost_or_came_with_a_clone() {
    let (place, base) = world(false);
    written(base.join("work/mine"));
    let add = ["add", "./work/mine", "--client", "claude-code", "--link", "copy", "--yes"];
    let run = |at: &str, args: &[&str]| {
        let output = command(&place).current_dir(place.path().join(at)).args(args).output().unwrap();
        let said = place.transcript(&output);
        assert!(said.starts_with("exit 0"), "{args:?}: {said}");
    };
    run("project", &add);
    for file in ["skills.toml", "skills.lock"] {
        fs::remove_file(base.join(file)).unwrap();
    }
    run("project", &add);
    assert!(
        Command::new("cp")
            .args(["-r", "project", "clone"])
            .current_dir(place.path())
            .status()
            .unwrap()
            .success()
    );
    for at in ["project", "clone"] {
        run(at, &["remove", "mine"]);
        for folder in [".agents/skills/mine", ".claude/skills/mine"] {
            assert!(!place.path().join(at).join(folder).exists(), "{at}: {folder}");
        }
    }
}

#[test]
fn a_refused_source_says_who_finds_it_and_what_to_do() {
    let (place, base) = world(true);
    let own = written(base.join(".claude/skills/mine"));
    let own = own.to_str().unwrap();
    assert_snapshot!(in_project(&place, &["add", own, "--user", "--client", "claude-code", "--yes"]), @"
    exit 2
    --- stderr
    resolved 1 skill in [N] ms
    mine  2 files, 87 bytes
      asks for tools  Read
    error: this is where skills are installed for claude-code: [DIR]/home/.claude/skills/mine
      hint: claude-code finds it there already; to install it, move it to another folder and name that
    ");
    assert_snapshot!(in_project(&place, &["add", own, "--user", "--client", "codex", "--yes"]), @"
    exit 0
    --- stdout
    + mine  [DIR]/home/.claude/skills/mine
    wrote [DIR]/home/.agents/skills.toml
    wrote [DIR]/home/.agents/skills.lock
    --- stderr
    resolved 1 skill in [N] ms
    mine  2 files, 87 bytes
      asks for tools  Read
    installed 1 skill in [N] ms
    ");
    // A client that is added later finds the source where its link would be.
    written(base.join("work/other"));
    let other = base.join("work/other");
    let add = ["add", other.to_str().unwrap(), "--as", "other", "--user", "--client", "claude-code", "--yes"];
    assert_snapshot!(in_project(&place, &add), @"
    exit 0
    --- stdout
    + other  [DIR]/home/work/other
      linked for claude-code: [DIR]/home/.claude/skills/other
    = mine  [DIR]/home/.claude/skills/mine
      left alone, since mine comes from there: [DIR]/home/.claude/skills/mine
    wrote [DIR]/home/.agents/skills.toml
    wrote [DIR]/home/.agents/skills.lock
    --- stderr
    resolved 1 skill in [N] ms
    other  2 files, 87 bytes
      agents see the name  mine
      asks for tools  Read
      same name as  mine; prowess keeps them apart, other clients may use only one
    installed 1 skill in [N] ms
    ");
    for next in [
        &[&add[..], &["--overwrite"]].concat()[..],
        &["sync", "--user", "--keep", "--yes"],
        &["sync", "--user", "--keep", "--link", "copy", "--yes"],
        &["remove", "--user", "mine"],
    ] {
        let said = in_project(&place, next);
        assert!(said.starts_with("exit 0"), "{said}");
        assert_eq!(fs::read_to_string(Path::new(own).join("notes.txt")).unwrap(), NOTES, "{said}");
    }
}

#[test]
fn all_hand_made_skills_of_a_client_stay_and_each_is_said() {
    let (place, base) = world(true);
    for n in 0..26 {
        let folder = base.join(format!(".claude/skills/s{n}"));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("SKILL.md"), skill(&format!("s{n}"), "by hand")).unwrap();
    }
    let all = base.join(".claude/skills");
    let add = ["add", all.to_str().unwrap(), "--all", "--user", "--client", "claude-code", "--yes"];
    let said = in_project(&place, &add);
    assert!(said.starts_with("exit 2") && said.contains("this is where skills are installed"), "{said}");
    for n in 0..26 {
        let folder = all.join(format!("s{n}"));
        assert!(!folder.is_symlink() && folder.join("SKILL.md").is_file(), "{n}");
    }
    assert!(!base.join(".agents").exists());
}

/// Records that name a link to the installed skill as its source, as earlier versions wrote them.
fn own_link(place: &Place, base: &Path) {
    written(base.join("work/mine"));
    let said = in_project(place, &["add", "./work/mine", "--client", "claude-code", "--yes"]);
    assert!(said.starts_with("exit 0"), "{said}");
    for file in ["skills.toml", "skills.lock"] {
        let text = fs::read_to_string(base.join(file)).unwrap();
        fs::write(base.join(file), text.replace("work/mine", ".claude/skills/mine")).unwrap();
    }
    fs::remove_dir_all(base.join("work")).unwrap();
}

#[test]
fn an_installed_skill_that_is_its_own_source_is_removed_from_the_records_only() {
    let (place, base) = world(false);
    own_link(&place, &base);
    let installed = base.join(".agents/skills/mine");
    let is_there = || fs::read_to_string(installed.join("notes.txt")).is_ok_and(|notes| notes == NOTES);
    assert_snapshot!(in_project(&place, &["sync", "--yes"]), @"
    exit 0
    --- stdout
    = mine  .claude/skills/mine, says the lock; not fetched by you
    everything is as it should be
    ");
    assert_snapshot!(in_project(&place, &["remove", "mine"]), @"
    exit 2
    --- stderr
    error: an installed skill comes from this folder, so it is not replaced or removed: [DIR]/project/.agents/skills/mine
      hint: keep its files and forget where they came from with --keep
    ");
    assert!(is_there());
    for refused in
        [&["remove", "mine", "--overwrite", "--yes"][..], &["sync", "--yes", "--overwrite", "--link", "copy"]]
    {
        let said = in_project(&place, refused);
        assert!(said.starts_with("exit 2") && is_there(), "{said}");
    }
    // What the user wrote since is not replaced by what was installed.
    fs::write(installed.join("SKILL.md"), skill("mine", "more by hand")).unwrap();
    let said = in_project(&place, &["sync", "--yes", "--overwrite"]);
    assert!(said.starts_with("exit 2"), "{said}");
    assert!(fs::read_to_string(installed.join("SKILL.md")).unwrap().contains("more by hand"));
    assert_snapshot!(in_project(&place, &["remove", "mine", "--keep"]), @"
    exit 0
    --- stdout
    = mine (not as installed, kept)  .claude/skills/mine, says the lock; not fetched by you
      left alone, since mine comes from there: [DIR]/project/.claude/skills/mine
    wrote [DIR]/project/skills.toml
    wrote [DIR]/project/skills.lock
    ");
    assert!(is_there() && base.join(".claude/skills/mine/notes.txt").is_file());
    assert!(!fs::read_to_string(base.join("skills.toml")).unwrap().contains("mine"));
}

#[test]
fn a_source_that_is_mounted_where_skills_are_installed_stays() {
    let mounts: &[(&str, &str)] = &[
        ("work", "project/.agents/skills"),
        ("work", "project/.claude/skills"),
        ("work/mine", "project/.claude/skills/mine"),
        ("work/mine", "project/.claude/skills/mine/inner"),
        ("work/mine", "project/.agents/skills/mine"),
        ("work/mine", "project/.agents/skills/mine/inner"),
    ];
    for (source, target) in mounts {
        for existing in ["", "--overwrite"] {
            let (place, _) = world(false);
            let own = written(place.path().join("work/mine"));
            let target = place.path().join(target);
            fs::create_dir_all(&target).unwrap();
            let script = format!(
                "mount --bind '{}' '{}' || exit 77; cd project; \
                 \"$PROWESS\" add ../work/mine --client claude-code --yes {existing}; \
                 \"$PROWESS\" sync --yes --overwrite; \"$PROWESS\" remove mine --overwrite --yes; exit 0",
                place.path().join(source).display(),
                target.display()
            );
            let mut shell = Command::new("/usr/bin/unshare");
            shell.args(["--mount", "--propagation", "private", "/bin/sh", "-c", &script]);
            let own_command = command(&place);
            shell.current_dir(place.path()).env("PROWESS", own_command.get_program());
            shell.envs(own_command.get_envs().filter_map(|(name, value)| Some((name, value?))));
            let Ok(output) = shell.output() else { return skipped("there is no unshare") };
            let said = format!("{source} at {}: {}", target.display(), place.transcript(&output));
            if !output.status.success() {
                return skipped("this user cannot mount");
            }
            assert_eq!(fs::read_to_string(own.join("notes.txt")).unwrap_or_default(), NOTES, "{said}");
            assert!(own.join("SKILL.md").is_file(), "{said}");
        }
    }
}

#[test]
fn a_source_below_a_folder_whose_name_begins_with_a_tilde_stays() {
    let (place, base) = world(false);
    let own = written(base.join("~drafts/mine"));
    fs::create_dir_all(base.join(".claude")).unwrap();
    symlink("../~drafts", base.join(".claude/skills")).unwrap();
    fs::create_dir(base.join("sub")).unwrap();
    for from in ["sub", ""] {
        let mut add = command(&place);
        add.args(["add", own.to_str().unwrap(), "--client", "claude-code", "--overwrite", "--yes"]);
        let said = place.transcript(&add.current_dir(base.join(from)).output().unwrap());
        assert!(said.starts_with("exit 2") && !own.is_symlink(), "{from}: {said}");
        check(&base, &own, from);
    }
}

/// A home whose `.agents` is a link to a folder at another depth, as those have who keep such folders in a repository.
fn linked_agents() -> (Place, PathBuf) {
    let (place, base) = world(true);
    fs::create_dir_all(base.join("dot/x/agents")).unwrap();
    symlink("dot/x/agents", base.join(".agents")).unwrap();
    (place, base)
}

#[test]
fn a_source_stays_when_the_folder_of_the_records_is_a_link() {
    let (place, base) = linked_agents();
    let own = written(base.join(".claude/skills/mine"));
    let other = written(base.join("other/mine"));
    fs::write(other.join("SKILL.md"), skill("mine", "another")).unwrap();
    let add = |from: &Path, more: &[&'static str]| {
        in_project(&place, &[&["add", from.to_str().unwrap(), "--user", "--yes"], more].concat())
    };
    let said = add(&own, &[]);
    assert!(said.starts_with("exit 0") && said.contains("+ mine  [DIR]/home/.claude/skills/mine"), "{said}");
    let said = in_project(&place, &["list", "--installed"]);
    assert!(said.contains("[DIR]/home/.claude/skills/mine"), "{said}");
    fs::write(own.join("notes.txt"), "edited\n").unwrap();
    let said = add(&other, &["--as", "mine", "--client", "claude-code", "--overwrite"]);
    assert_eq!(fs::read_to_string(own.join("notes.txt")).unwrap(), "edited\n", "{said}");
}

#[test]
fn sync_installs_from_the_folder_that_was_added_when_the_records_are_behind_a_link() {
    for home_is_a_link in [false, true] {
        let (place, base) = if home_is_a_link { world(true) } else { linked_agents() };
        let home = if home_is_a_link {
            fs::create_dir_all(place.path().join("deep/er")).unwrap();
            fs::rename(&base, place.path().join("deep/er/home")).unwrap();
            symlink("deep/er/home", &base).unwrap();
            place.path().join("deep/er/home")
        } else {
            base.clone()
        };
        let own = written(base.join("src/mine"));
        // Where the path leads from the link, as it is written.
        for decoy in
            [place.path().join("src/mine"), base.join("dot/src/mine"), place.path().join("deep/src/mine")]
        {
            let decoy = written(decoy);
            fs::write(decoy.join("SKILL.md"), skill("mine", "DECOY")).unwrap();
        }
        let said = in_project(&place, &["add", own.to_str().unwrap(), "--user", "--yes"]);
        assert!(said.starts_with("exit 0"), "{said}");
        fs::remove_dir_all(home.join(".agents/skills")).unwrap();
        fs::remove_file(home.join(".agents/skills.lock")).unwrap();
        let said = in_project(&place, &["sync", "--user", "--yes"]);
        assert!(said.starts_with("exit 0"), "{said}");
        let there = fs::read_to_string(home.join(".agents/skills/mine/SKILL.md")).unwrap();
        assert_eq!(there, skill("mine", "by hand"), "{said}");
    }
}
