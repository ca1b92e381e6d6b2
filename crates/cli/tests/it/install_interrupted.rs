//! Commands after one that was killed: which complete or undo its work, which only say that it is pending, and that no git
//! stays behind.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use insta::assert_snapshot;

use crate::Place;
use crate::install::{place, read, skill};
use crate::install_places::kept_for_project;
use crate::shelf::{command, json_of, run};

#[test]
fn the_next_command_removes_temporary_files_of_the_state_whose_process_was_killed() {
    let place = place();
    run(&place, &["add", "./from/pdf", "--yes"]);
    let install = kept_for_project(&place, "lock").parent().unwrap().to_owned();
    for command in [&["verify"][..], &["sync", "--frozen"]] {
        let left = [install.join(".prowess-0123.tmp"), install.parent().unwrap().join(".prowess-4567.tmp")];
        let used = install.join(".prowess-89ab.tmp");
        for file in left.iter().chain([&used]) {
            fs::write(file, "x").unwrap();
        }
        let held = fs::File::open(&used).unwrap();
        held.lock().unwrap();
        assert!(run(&place, command).starts_with("exit 0"), "{command:?}");
        assert!(left.iter().all(|file| !file.exists()), "{command:?}");
        // A process that still writes it holds its lock.
        assert!(used.exists(), "{command:?}");
    }
}

#[test]
fn the_next_command_says_that_an_interrupted_installation_was_undone() {
    for command in [
        &["verify"][..],
        &["remove", "pdf"],
        &["add", "./from/pdf", "--yes"],
        &["add", "./from", "--all", "--yes"],
        &["sync", "--yes"],
        &["sync", "--overwrite", "--yes"],
    ] {
        let place = place();
        run(&place, &["add", "./from/pdf", "--yes"]);
        let lock = place.path().join("skills.lock");
        let file = serde_json::json!({"path": lock, "before": "old", "after": "new"});
        let journal = serde_json::json!({
            "version": 1, "stage": ".prowess-0123.stage", "steps": [], "files": [file], "accepted": [],
        });
        fs::write(kept_for_project(&place, "journal"), journal.to_string()).unwrap();
        let said = run(&place, command);
        assert!(said.starts_with("exit 0"), "{said}");
        assert!(said.contains("an interrupted installation was undone: "), "{said}");
        assert!(!run(&place, &["verify"]).contains("interrupted"));
    }
}

/// A place in which `add ./from --all` was killed after its journal was written: `pdf` is old, `notes` is not there yet.
fn killed() -> Place {
    let place = place();
    run(&place, &["add", "./from/pdf", "--yes"]);
    let records = ["skills.toml", "skills.lock"];
    let before = records.map(|file| read(&place, file));
    let digest = |name: &str| {
        let lock = read(&place, "skills.lock");
        let entry =
            lock.split("[[skill]]").find(|entry| entry.contains(&format!("name = \"{name}\""))).unwrap();
        entry.split("digest = \"").nth(1).unwrap().split('"').next().unwrap().to_owned()
    };
    let old = digest("pdf");
    place.write("from/pdf/SKILL.md", skill("pdf", "two").as_bytes());
    run(&place, &["add", "./from", "--all", "--yes"]);
    let (new, added) = (digest("pdf"), digest("notes"));
    let after = records.map(|file| read(&place, file));
    // Back to the state before, with the new skills in a staging folder.
    let skills = fs::canonicalize(place.path().join(".agents/skills")).unwrap();
    let stage = skills.join(".prowess-0123.stage");
    fs::create_dir(&stage).unwrap();
    fs::rename(skills.join("pdf"), stage.join("0")).unwrap();
    fs::rename(skills.join("notes"), stage.join("1")).unwrap();
    place.write(".agents/skills/pdf/SKILL.md", skill("pdf", "one").as_bytes());
    place.write(".agents/skills/pdf/scripts/run.sh", read(&place, "from/pdf/scripts/run.sh").as_bytes());
    let script = skills.join("pdf/scripts/run.sh");
    fs::set_permissions(script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let file = |at: usize| {
        place.write(records[at], before[at].as_bytes());
        let path = place.path().join(records[at]);
        serde_json::json!({"path": path, "before": before[at], "after": after[at]})
    };
    let journal = serde_json::json!({
        "version": 1,
        "stage": ".prowess-0123.stage",
        "steps": [
            {"folder": skills, "name": "pdf", "staged": "0", "before": {"tree": old}, "after": {"tree": new}},
            {"folder": skills, "name": "notes", "staged": "1", "before": null, "after": {"tree": added}},
        ],
        "files": [file(0), file(1)],
        "accepted": [],
    });
    fs::write(kept_for_project(&place, "journal"), journal.to_string()).unwrap();
    place
}

/// Every file below a folder with its bytes, except the locks, which are empty.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(self::files(&path));
        } else if path.extension().is_none_or(|end| end != "lock") || path.ends_with("skills.lock") {
            files.insert(path.clone(), fs::read(path).unwrap());
        }
    }
    files
}

#[test]
fn dry_runs_and_lists_write_nothing_while_an_interrupted_installation_is_pending() {
    let place = killed();
    // A temporary file of a killed process is not swept either.
    place.write("state/prowess/install/.prowess-0123.tmp", b"x");
    let state = || [".agents", "state"].map(|folder| files(&place.path().join(folder)));
    let before = (state(), read(&place, "skills.toml"), read(&place, "skills.lock"));
    for args in [
        &["sync", "--dry-run"][..],
        &["sync", "--dry-run", "--overwrite"],
        &["add", "./from", "--all", "--dry-run"],
        &["add", "./from/pdf", "--overwrite", "--dry-run"],
        &["remove", "pdf", "--dry-run"],
        &["remove", "pdf", "--overwrite", "--dry-run"],
        &["verify", "--dry-run"],
        &["list", "--installed"],
        &["why", "pdf"],
    ] {
        let said = run(&place, args);
        let is_pending = said.contains("an interrupted installation is pending");
        assert!(
            is_pending && said.contains("with: prowess verify") || args == ["why", "pdf"],
            "{args:?}: {said}"
        );
        assert!(!said.contains("nothing was changed"), "{args:?}: {said}");
        assert_eq!((state(), read(&place, "skills.toml"), read(&place, "skills.lock")), before, "{args:?}");
    }
    assert_snapshot!(run(&place, &["sync", "--dry-run"]), @"
    exit 2
    --- stderr
    error: an interrupted installation is pending, so it is not known what would change: [DIR]
      hint: complete it first with: prowess verify
    ");
    let listed = json_of(&place, &["list", "--installed", "--json"]);
    assert_eq!(listed["interrupted"], serde_json::json!(["project"]));
}

#[test]
fn verify_says_which_skills_of_an_interrupted_installation_it_completed() {
    let place = killed();
    assert_snapshot!(run(&place, &["verify"]), @"
    exit 0
    --- stdout
    2 skills as installed
    --- stderr
    an interrupted installation was completed: notes, pdf
    ");
    assert!(read(&place, ".agents/skills/pdf/SKILL.md").contains("two"));
    assert!(!place.path().join(".agents/skills/.prowess-0123.stage").exists());
    assert!(!run(&place, &["verify"]).contains("interrupted"));
    let recovered = json_of(&killed(), &["verify", "--json"])["recovered"].clone();
    assert_eq!(recovered, serde_json::json!(["an interrupted installation was completed: notes, pdf"]));
}

#[test]
fn skills_of_a_killed_installation_can_be_restored_without_their_source() {
    let place = place();
    run(&place, &["add", "./from/pdf", "--yes"]);
    place.write("from/pdf/SKILL.md", skill("pdf", "two").as_bytes());
    let journal = kept_for_project(&place, "journal");
    // It waits for this lock after it has written the journal.
    let held = fs::File::create(place.path().join("state/prowess/trust.lock")).unwrap();
    held.lock().unwrap();
    // On a slow machine it may end before it is killed.
    let deadline = Instant::now() + Duration::from_secs(60);
    let waits = || {
        assert!(Instant::now() < deadline, "no journal was written");
        !journal.exists()
    };
    while waits() {
        let mut add = command(&place);
        add.args(["add", "./from", "--all", "--yes"]).stdin(Stdio::null()).stderr(Stdio::null());
        let mut add = add.stdout(Stdio::null()).spawn().unwrap();
        while waits() && add.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        add.kill().unwrap();
        add.wait().unwrap();
    }
    drop(held);
    assert!(run(&place, &["verify"]).contains("an interrupted installation was completed: notes, pdf"));
    fs::remove_dir_all(place.path().join("from")).unwrap();
    place.write(".agents/skills/pdf/SKILL.md", b"edited");
    fs::remove_dir_all(place.path().join(".agents/skills/notes")).unwrap();
    let said = run(&place, &["sync", "--overwrite", "--yes"]);
    assert!(said.starts_with("exit 0"), "{said}");
    assert_eq!(read(&place, ".agents/skills/pdf/SKILL.md"), skill("pdf", "two"));
    assert!(run(&place, &["verify"]).contains("2 skills as installed"));
}

/// A server that accepts connections and says nothing. Each connection is sent to the test, which keeps it open.
fn silent_server() -> (String, mpsc::Receiver<TcpStream>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("git://{}/x.git", listener.local_addr().unwrap());
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            if sender.send(connection.unwrap()).is_err() {
                return;
            }
        }
    });
    (url, receiver)
}

/// Reads a connection until its other end is closed.
fn until_closed(mut connection: TcpStream) {
    let _ = connection.read_to_end(&mut Vec::new());
}

#[test]
fn git_ends_with_the_command_that_started_it_and_blocks_no_later_one() {
    if !Command::new("setpriv")
        .args(["--pdeathsig", "TERM", "true"])
        .status()
        .is_ok_and(|done| done.success())
    {
        return crate::skipped("there is no setpriv that ends a program with its parent");
    }
    let place = place();
    for signal in ["-KILL", "-TERM"] {
        let (url, connections) = silent_server();
        let mut add = command(&place);
        add.args(["add", &url, "--yes"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut add = add.spawn().unwrap();
        let connection = connections.recv().unwrap();
        assert!(Command::new("kill").args([signal, &add.id().to_string()]).status().unwrap().success());
        add.wait().unwrap();
        // git would keep it open.
        until_closed(connection);
        let server = std::thread::spawn(move || drop(connections.recv()));
        let said = run(&place, &["add", &url, "--yes", "--lock-timeout", "600"]);
        assert!(said.starts_with("exit 2") && !said.contains("another process"), "{signal}: {said}");
        server.join().unwrap();
    }
}

#[test]
fn a_fetch_that_waits_for_another_one_says_so_and_gives_up_in_time() {
    let place = place();
    let (url, connections) = silent_server();
    let mut add = command(&place);
    add.args(["add", &url, "--yes"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut add = add.spawn().unwrap();
    let connection = connections.recv().unwrap();
    let said = run(&place, &["add", &url, "--yes", "--lock-timeout", "1"]);
    drop(connection);
    add.wait().unwrap();
    let said = said.replace(&url, "[URL]");
    assert!(said.contains("waiting for another process that fetches from [URL]\n"), "{said}");
    assert!(said.contains("error: another process works on the same repository: [URL]\n"), "{said}");
    assert!(said.contains("--lock-timeout SECONDS"), "{said}");
}
