//! The files of Prowess itself: their folders are the user's alone, and what another user wrote is not believed.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::install::{place, skill};
use crate::install_git::commit;
use crate::shelf::command;
use crate::{Place, skipped};

/// Two users who share a group, by numbers that need no names.
pub(crate) const USER: u32 = 61_001;
pub(crate) const OTHER: u32 = 61_002;
pub(crate) const GROUP: u32 = 61_000;

/// A copy of the program: its own folder may be closed to other users, as the home of root is.
const PROGRAM: &str = "bin/prowess";

/// A program as one of the users, with the umask of a group.
pub(crate) fn as_user(place: &Place, user: u32, program: &OsStr, args: &[&str]) -> Command {
    let own = command(place);
    let mut other = Command::new("/usr/bin/setpriv");
    other.arg(format!("--reuid={user}")).arg(format!("--regid={GROUP}"));
    other.args(["--clear-groups", "--inh-caps=-all", "/bin/sh", "-c", "umask 002; exec \"$0\" \"$@\""]);
    other.arg(program).args(args).env_clear();
    other.envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
    other.current_dir(place.path());
    other
}

/// What the command says as one of the users.
pub(crate) fn run_as(place: &Place, user: u32, args: &[&str]) -> String {
    let program = place.path().join(PROGRAM);
    // Another test that starts a process just now may hold the new program open for writing.
    for _ in 0..1_000 {
        let output = as_user(place, user, program.as_os_str(), args).output().unwrap();
        let said = place.transcript(&output);
        if !(output.status.code() == Some(126) && said.contains("busy")) {
            return said;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("the program stays busy");
}

/// Runs a line of a shell as one of the users.
pub(crate) fn shell_as(place: &Place, user: u32, line: &str) {
    let output = as_user(place, user, OsStr::new("/bin/sh"), &["-ec", line]).output().unwrap();
    assert!(output.status.success(), "{line}: {}", place.transcript(&output));
}

/// Gives everything below a folder to the first user.
pub(crate) fn give(folder: &Path) {
    let owner = format!("{USER}:{GROUP}");
    assert!(Command::new("chown").args(["-hR", &owner]).arg(folder).status().unwrap().success());
}

/// A place that belongs to the first user; none without the right to change users.
pub(crate) fn shared() -> Option<Place> {
    let place = place();
    place.write("home/x", b"");
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o775)).unwrap();
    let is_root = fs::metadata("/proc/self").is_ok_and(|metadata| metadata.uid() == 0);
    if !is_root || chown(place.path(), Some(USER), Some(GROUP)).is_err() {
        skipped("only root can run commands as two users");
        return None;
    }
    fs::create_dir(place.path().join("bin")).unwrap();
    fs::copy(command(&place).get_program(), place.path().join(PROGRAM)).unwrap();
    give(place.path());
    let can = as_user(&place, USER, OsStr::new("/bin/true"), &[]).output();
    if !can.is_ok_and(|output| output.status.success()) {
        skipped("setpriv cannot change users here");
        return None;
    }
    let said = run_as(&place, USER, &["--version"]);
    assert!(said.starts_with("exit 0"), "{said}");
    Some(place)
}

pub(crate) fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & 0o777
}

#[test]
fn folders_of_state_and_caches_are_made_for_their_user_alone() {
    let Some(place) = shared() else { return };
    let said = run_as(&place, USER, &["add", "./from/pdf", "--yes"]);
    assert!(said.starts_with("exit 0"), "{said}");
    for folder in ["state/prowess", "state/prowess/install", "cache/prowess"] {
        assert_eq!(mode(&place.path().join(folder)), 0o700, "{folder}");
    }
    // A folder of the project is not ours.
    assert_eq!(mode(&place.path().join(".agents/skills")), 0o775);
}

#[test]
fn a_folder_that_others_could_write_is_closed_and_this_is_said_once() {
    let Some(place) = shared() else { return };
    run_as(&place, USER, &["add", "./from/pdf", "--yes"]);
    let state = place.path().join("state/prowess");
    fs::set_permissions(&state, fs::Permissions::from_mode(0o775)).unwrap();
    let said = run_as(&place, USER, &["list"]);
    assert!(said.contains("closed a folder that other users could write: [DIR]/state/prowess"), "{said}");
    assert_eq!(mode(&state), 0o700);
    let said = run_as(&place, USER, &["list"]);
    assert!(!said.contains("other users"), "{said}");
}

#[test]
fn approvals_of_another_user_are_ignored_and_this_is_said() {
    let Some(place) = shared() else { return };
    place.write(".claude/skills/theirs/SKILL.md", skill("theirs", "one").as_bytes());
    give(place.path());
    let trusted = format!("{{\"version\":1,\"folders\":[\"{}\"],\"skills\":[]}}", place.path().display());
    place.write("state/prowess/trust.json", trusted.as_bytes());
    let (state, file) = (place.path().join("state/prowess"), place.path().join("state/prowess/trust.json"));
    for (folder, owner, is_believed) in
        [(USER, USER, true), (USER, OTHER, false), (OTHER, USER, false), (OTHER, OTHER, false)]
    {
        chown(&state, Some(folder), Some(GROUP)).unwrap();
        chown(&file, Some(owner), Some(GROUP)).unwrap();
        fs::set_permissions(&state, fs::Permissions::from_mode(0o775)).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
        let said = run_as(&place, USER, &["list"]);
        assert_eq!(said.contains("ignored, since it"), !is_believed, "{folder} {owner}: {said}");
        assert_eq!(said.contains("not trusted"), !is_believed, "{folder} {owner}: {said}");
    }
}

#[test]
fn approvals_that_another_user_can_write_are_ignored_also_once_their_folder_is_closed() {
    let Some(place) = shared() else { return };
    place.write(".claude/skills/theirs/SKILL.md", skill("theirs", "one").as_bytes());
    place.write("state/prowess/trust.json", b"{\"version\":1,\"folders\":[],\"skills\":[]}");
    give(place.path());
    let (state, file) = (place.path().join("state/prowess"), place.path().join("state/prowess/trust.json"));
    fs::set_permissions(&state, fs::Permissions::from_mode(0o775)).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o664)).unwrap();
    // The owner stays.
    let trusted = format!("{{\"version\":1,\"folders\":[\"{}\"],\"skills\":[]}}", place.path().display());
    shell_as(&place, OTHER, &format!("printf '%s' '{trusted}' > state/prowess/trust.json"));
    for _ in 0..2 {
        let said = run_as(&place, USER, &["list"]);
        assert!(said.contains("not trusted"), "{said}");
        assert!(said.contains("ignored, since other users can write it: "), "{said}");
        assert!(
            said.contains("hint: look at it; if it is yours, let no other user write it and its folder"),
            "{said}"
        );
        assert_eq!(mode(&state), 0o700);
    }
    // A group that has the number of the user may have other members, too.
    chown(&file, Some(USER), Some(USER)).unwrap();
    assert!(run_as(&place, USER, &["list"]).contains("ignored, since other users can write it: "));
    // After the user has looked at it, it counts.
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    assert!(!run_as(&place, USER, &["list"]).contains("not trusted"));
}

#[test]
fn files_of_ours_are_written_for_their_user_alone() {
    let Some(place) = shared() else { return };
    for number in 0..40 {
        let path = format!("home/.claude/skills/s{number}/SKILL.md");
        place.write(&path, skill(&format!("s{number}"), "sorts socks").as_bytes());
    }
    give(place.path());
    for command in [
        &["add", "./from/pdf", "--yes"][..],
        &["config", "set", "--user", "scan.depth", "5"],
        &["list"],
        &["search", "socks"],
        &["doctor"],
        &["connect", "codex", "--write"],
        &["trust", ".", "--yes"],
    ] {
        run_as(&place, USER, command);
    }
    let ours =
        ["state/prowess", "cache/prowess", "config/prowess"].map(|folder| files(&place.path().join(folder)));
    let ours = ours.concat();
    assert!(ours.len() > 6, "{ours:?}");
    for file in ours {
        assert_eq!(mode(&file) & 0o022, 0, "{}", file.display());
    }
}

#[test]
fn a_journal_of_another_user_changes_nothing() {
    let Some(place) = shared() else { return };
    run_as(&place, USER, &["add", "./from/pdf", "--yes"]);
    let install = place.path().join("state/prowess/install");
    let lock = fs::read_dir(&install).unwrap().map(|entry| entry.unwrap().path());
    let lock = lock.into_iter().find(|path| path.extension().is_some_and(|end| end == "lock")).unwrap();
    let victim = place.path().join("victim");
    let journal = format!(
        "{{\"version\":1,\"stage\":\".prowess-stage-0123456789abcdef\",\"steps\":[],\"accepted\":[],\
         \"files\":[{{\"path\":\"{}\",\"before\":null,\"after\":\"planted\"}}]}}",
        victim.display()
    );
    let file = lock.with_extension("journal");
    fs::write(&file, journal).unwrap();
    chown(&file, Some(OTHER), Some(GROUP)).unwrap();
    let said = run_as(&place, USER, &["verify"]);
    assert!(!victim.exists() && said.contains("ignored, since it belongs to another user"), "{said}");
}

#[test]
fn what_root_wrote_is_believed() {
    let Some(place) = shared() else { return };
    place.write(".claude/skills/theirs/SKILL.md", skill("theirs", "one").as_bytes());
    give(place.path());
    let trusted = format!("{{\"version\":1,\"folders\":[\"{}\"],\"skills\":[]}}", place.path().display());
    place.write("state/prowess/trust.json", trusted.as_bytes());
    let (state, file) = (place.path().join("state/prowess"), place.path().join("state/prowess/trust.json"));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    for folder in [USER, 0] {
        chown(&state, Some(folder), Some(0)).unwrap();
        chown(&file, Some(0), Some(0)).unwrap();
        fs::set_permissions(&state, fs::Permissions::from_mode(0o755)).unwrap();
        let said = run_as(&place, USER, &["list"]);
        assert!(!said.contains("ignored") && !said.contains("not trusted"), "{folder}: {said}");
    }
}

/// The files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

#[test]
fn caches_and_indexes_of_another_user_are_ignored_and_this_is_said() {
    let Some(place) = shared() else { return };
    for number in 0..40 {
        let path = format!("home/.claude/skills/s{number}/SKILL.md");
        place.write(&path, skill(&format!("s{number}"), "sorts socks").as_bytes());
    }
    give(place.path());
    let commands: [&[&str]; 3] = [&["list"], &["search", "socks"], &["doctor"]];
    let asked = || commands.map(|args| run_as(&place, USER, args));
    asked();
    let before = asked();
    let caches = files(&place.path().join("cache/prowess"));
    assert!(caches.len() >= 2, "{caches:?}");
    for cache in &caches {
        chown(cache, Some(OTHER), Some(GROUP)).unwrap();
        let said = asked().concat();
        let ignored = format!("ignored, since it belongs to another user: {}", cache.display());
        let ignored = ignored.replace(&*place.path().to_string_lossy(), "[DIR]");
        assert!(said.contains(&ignored), "{ignored}: {said}");
        chown(cache, Some(USER), Some(GROUP)).unwrap();
    }
    assert_eq!(asked(), before);
}

/// Commits what is in `from`, as root, since git works in no repository of another user, and gives all to the first user.
fn committed_by_root(place: &Place) {
    let from = place.path().join("from");
    assert!(Command::new("chown").args(["-hR", "0:0"]).arg(&from).status().unwrap().success());
    commit(place, "from");
    give(place.path());
}

#[test]
fn a_skill_that_another_user_put_into_the_store_is_refused_by_its_digest() {
    let Some(place) = shared() else { return };
    committed_by_root(&place);
    let url = format!("file://{}/from", place.path().display());
    let said = run_as(&place, USER, &["add", &url, "--skill", "pdf", "--yes"]);
    assert!(said.starts_with("exit 0"), "{said}");
    let stored = files(&place.path().join("cache/prowess"));
    let mut changed = 0;
    for file in stored {
        let mut bytes = fs::read(&file).unwrap();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some(at) = text.find("name: pdf").filter(|_| text.is_ascii()) {
            bytes[at..at + 9].copy_from_slice(b"name: pwn");
            fs::write(&file, bytes).unwrap();
            chown(&file, Some(OTHER), Some(GROUP)).unwrap();
            changed += 1;
        }
    }
    assert!(changed > 0, "the store has the skill as text");
    fs::remove_dir_all(place.path().join(".agents")).unwrap();
    let said = run_as(&place, USER, &["sync", "--locked", "--yes"]);
    let installed = fs::read_to_string(place.path().join(".agents/skills/pdf/SKILL.md")).unwrap_or_default();
    assert!(!installed.contains("pwn"), "{said}");
    assert!(said.starts_with("exit 0") && installed.contains("name: pdf"), "{said}");
}

#[test]
fn a_repository_that_another_user_put_into_the_store_runs_nothing() {
    let Some(place) = shared() else { return };
    committed_by_root(&place);
    let url = format!("file://{}/from", place.path().display());
    let add = ["add", &*url, "--skill", "pdf", "--yes"];
    assert!(run_as(&place, USER, &add).starts_with("exit 0"));
    let store = place.path().join("cache/prowess/store");
    let repositories: Vec<PathBuf> =
        fs::read_dir(store.join("v1/git")).unwrap().map(|entry| entry.unwrap().path()).collect();
    let repository = repositories.iter().find(|path| path.is_dir()).unwrap();
    // Its own configuration is as it was, and names another folder for the rest.
    let ran = place.path().join("ran");
    let config = fs::read_to_string(repository.join("config")).unwrap();
    let planted = format!(
        "{config}[remote \"prowess\"]\n\tuploadpack = \"touch {}; git-upload-pack\"\n",
        ran.display()
    );
    place.write("planted/config", planted.as_bytes());
    fs::create_dir_all(place.path().join("planted/objects")).unwrap();
    fs::create_dir_all(place.path().join("planted/refs")).unwrap();
    fs::write(repository.join("commondir"), place.path().join("planted").to_str().unwrap()).unwrap();
    give(&place.path().join("planted"));
    // A plain git runs it, so the test notices.
    let mut git = Command::new("git");
    let _ = git.env("GIT_DIR", repository).args(["ls-remote", "prowess"]).output().unwrap();
    if fs::remove_file(&ran).is_err() {
        return skipped("the installed git reads no folder that commondir names");
    }
    let own = |path: &Path, user: u32| {
        let owner = format!("{user}:{GROUP}");
        assert!(Command::new("chown").args(["-R", &owner]).arg(path).status().unwrap().success());
    };
    let cache = place.path().join("cache/prowess");
    for (foreign, said_of) in [(Some(&store), true), (Some(&cache), true), (None, false)] {
        own(&cache, USER);
        if let Some(foreign) = foreign {
            own(foreign, OTHER);
            assert!(Command::new("chmod").args(["-R", "a+rwX"]).arg(foreign).status().unwrap().success());
        }
        let said = run_as(&place, USER, &add);
        assert!(said.starts_with("exit 0") && !ran.exists(), "{foreign:?}: {said}");
        let ignored = said.contains("ignored, since it belongs to another user: [DIR]/cache/prowess");
        assert_eq!(ignored, said_of, "{foreign:?}: {said}");
    }
}

#[test]
fn a_link_that_another_user_put_into_the_store_removes_no_file() {
    let Some(place) = shared() else { return };
    place.write("home/documents/x", b"mine");
    give(&place.path().join("home"));
    assert!(run_as(&place, USER, &["add", "./from/pdf", "--yes"]).starts_with("exit 0"));
    let store = place.path().join("cache/prowess/store/v1");
    let plant = "rm -rf tmp; ln -s \"$0\" tmp; touch -d 2001-01-01 \"$0/x\"; chown -h \"$1\" tmp";
    let documents = place.path().join("home/documents");
    let mut planted = Command::new("/bin/sh");
    planted.args(["-ec", plant]).arg(&documents).arg(OTHER.to_string()).current_dir(&store);
    assert!(planted.status().unwrap().success());
    let said = run_as(&place, USER, &["add", "./from/notes", "--yes"]);
    assert!(said.starts_with("exit 0"), "{said}");
    assert!(documents.join("x").exists(), "{said}");
}

#[test]
fn a_record_of_fetches_that_another_user_planted_removes_nothing() {
    let Some(place) = shared() else { return };
    place.write("home/projects/x", b"mine");
    committed_by_root(&place);
    let git =
        |args: &str| Command::new("/bin/sh").args(["-ec", args]).current_dir(place.path()).status().unwrap();
    assert!(git("mkdir -p cache/prowess/store/v1/unaccepted").success());
    place.write("cache/prowess/store/v1/unaccepted/r", b"git/projects\ntrees/x\n");
    std::os::unix::fs::symlink(place.path().join("home"), place.path().join("cache/prowess/store/v1/git"))
        .unwrap();
    std::os::unix::fs::symlink(
        place.path().join("home/projects"),
        place.path().join("cache/prowess/store/v1/trees"),
    )
    .unwrap();
    assert!(git(&format!("chown -h {USER} cache cache/prowess; chown -hR {OTHER} cache/prowess/store; chmod -R a+rwX cache/prowess/store/v1/unaccepted; chmod a+rwx cache/prowess/store cache/prowess/store/v1")).success());
    let url = format!("file://{}/from", place.path().display());
    let said = run_as(&place, USER, &["add", &url, "--skill", "pdf", "--yes", "--max-store-bytes", "1"]);
    assert!(
        said.starts_with("exit 0") && said.contains("ignored, since it belongs to another user"),
        "{said}"
    );
    let left: Vec<String> = files(&place.path().join("home"))
        .iter()
        .map(|file| file.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    assert!(left.contains(&"x".to_owned()), "{left:?}: {said}");
    assert!(!left.iter().any(|name| name.starts_with("projects")), "{left:?}: {said}");
}
