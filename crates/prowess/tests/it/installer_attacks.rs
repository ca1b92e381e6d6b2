//! Folders, names and records that attack the installer: each is refused by name or does no harm, and nothing outside
//! changes. Long, because it is one list of attacks.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use prowess::install::{
    InstallErrorKind, InstallOptions, InstallScope, InstallSpec, InstalledState, Installer, SyncOptions,
};

use crate::installer::{Desk, reference, skill};

/// Files outside of everything that an installer may change, and how they were.
struct Canaries {
    folder: PathBuf,
    before: Vec<String>,
}

impl Canaries {
    fn of(desk: &Desk) -> Self {
        let folder = desk.path("outside");
        fs::create_dir_all(folder.join("folder")).unwrap();
        for file in ["secret", "folder/secret", "SKILL.md"] {
            fs::write(folder.join(file), "canary").unwrap();
        }
        let before = state(&folder);
        Self { folder, before }
    }

    fn check(&self, what: &str) {
        assert_eq!(state(&self.folder), self.before, "{what}");
    }
}

/// Every file below a folder with its bytes, mode and time.
fn state(folder: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let metadata = path.symlink_metadata().unwrap();
            let bytes = if metadata.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
            let (mode, time) = (metadata.mode(), (metadata.mtime(), metadata.mtime_nsec()));
            lines.push(format!("{} {mode:o} {time:?} {bytes:?}", path.display()));
            if metadata.is_dir() {
                folders.push(path);
            }
        }
    }
    lines.sort();
    lines
}

/// What is expected of an attack.
#[derive(Clone, Copy)]
enum Expected {
    /// An error that has this in it.
    Refused(&'static str),
    /// The skill is installed, as plain files.
    Harmless,
}

use Expected::{Harmless, Refused};

type Attack = (&'static str, Expected, fn(&Path, &Path));

fn file(folder: &Path, name: &str) {
    fs::write(folder.join(name), "x").unwrap();
}

fn link(target: impl AsRef<Path>, folder: &Path, name: &str) {
    symlink(target, folder.join(name)).unwrap();
}

/// What is done to the folder of a skill; the second folder is outside of it.
const ATTACKS: &[Attack] = &[
    ("a backslash", Refused(r"..\x"), |skill, _| file(skill, r"..\x")),
    ("mixed separators", Refused(r"a\..\b"), |skill, _| file(skill, r"a\..\b")),
    ("a drive", Refused("C:x"), |skill, _| file(skill, "C:x")),
    ("a share", Refused("server"), |skill, _| file(skill, r"\\server\share")),
    ("a line feed", Refused(r"a\nb"), |skill, _| file(skill, "a\nb")),
    ("an escape", Refused("a"), |skill, _| file(skill, "a\u{1b}[2Jb")),
    ("a trailing dot", Refused("a."), |skill, _| file(skill, "a.")),
    ("a trailing space", Refused("a "), |skill, _| file(skill, "a ")),
    ("a device", Refused("CON"), |skill, _| file(skill, "CON")),
    ("a device with an ending", Refused("aux.md"), |skill, _| file(skill, "aux.md")),
    ("a superscript device", Refused("COM¹"), |skill, _| file(skill, "COM¹")),
    ("a stream", Refused("a.md:evil"), |skill, _| file(skill, "a.md:evil")),
    ("bytes that are no text", Refused("UTF-8"), |skill, _| {
        fs::write(skill.join(OsStr::from_bytes(b"a\xff")), "x").unwrap();
    }),
    ("two normal forms", Refused("é"), |skill, _| {
        file(skill, "\u{e9}");
        file(skill, "e\u{301}");
    }),
    ("two cases", Refused("A.md"), |skill, _| {
        file(skill, "A.md");
        file(skill, "a.md");
    }),
    ("full-width dots", Refused("．．"), |skill, _| file(skill, "．．／x")),
    ("a git folder in capitals", Refused(".GIT"), |skill, _| {
        fs::create_dir(skill.join(".GIT")).unwrap();
        file(&skill.join(".GIT"), "config");
    }),
    ("a git folder with a hidden character", Refused("it"), |skill, _| {
        fs::create_dir(skill.join(".g\u{200c}it")).unwrap();
        file(&skill.join(".g\u{200c}it"), "config");
    }),
    ("a short name of a git folder", Refused("GIT~1"), |skill, _| file(skill, "GIT~1")),
    ("too many folders", Refused("too deep"), |skill, _| {
        let deep = skill.join(["d"; 20].join("/"));
        fs::create_dir_all(&deep).unwrap();
        file(&deep, "x");
    }),
    ("an absolute link", Refused("key"), |skill, outside| link(outside.join("secret"), skill, "key")),
    ("a link out", Refused("key"), |skill, _| link("../../outside/secret", skill, "key")),
    ("a link to a folder outside", Refused("data"), |skill, outside| {
        link(outside.join("folder"), skill, "data");
    }),
    ("a chain of links out", Refused("one"), |skill, outside| {
        link("two", skill, "one");
        link(outside.join("secret"), skill, "two");
    }),
    ("a circle of links", Refused("one"), |skill, _| {
        link("two", skill, "one");
        link("one", skill, "two");
    }),
    ("a link to nothing", Refused("key"), |skill, _| link("nothing", skill, "key")),
    ("a link to the skill itself", Refused("again"), |skill, _| link(".", skill, "again")),
    ("a SKILL.md that is a link out", Refused("SKILL.md"), |skill, outside| {
        fs::remove_file(skill.join("SKILL.md")).unwrap();
        link(outside.join("SKILL.md"), skill, "SKILL.md");
    }),
    ("a link of the process", Refused("root"), |skill, _| link("/proc/self/root/etc/passwd", skill, "root")),
    ("a FIFO", Refused("pipe"), |skill, _| {
        assert!(Command::new("mkfifo").arg(skill.join("pipe")).status().unwrap().success());
    }),
    ("a socket", Refused("socket"), |skill, _| drop(UnixListener::bind(skill.join("socket")).unwrap())),
    ("a hard link to a file outside", Harmless, |skill, outside| {
        fs::hard_link(outside.join("secret"), skill.join("key")).unwrap();
    }),
    ("modes that grant rights", Harmless, |skill, _| {
        file(skill, "run");
        fs::set_permissions(skill.join("run"), fs::Permissions::from_mode(0o6777)).unwrap();
    }),
    ("records of its own", Harmless, |skill, _| {
        file(skill, "skills.lock");
        file(skill, "skills.toml");
    }),
    ("a slash that is none", Refused("passes for"), |skill, _| file(skill, "a\u{2215}b")),
    ("percent escapes", Refused("%2e"), |skill, _| file(skill, "%2e%2e%2fx")),
];

/// Fails unless everything below a folder is a plain file or folder without special modes or other names.
fn assert_plain(folder: &Path, what: &str) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let metadata = path.symlink_metadata().unwrap();
        let kind = metadata.file_type();
        assert!(!kind.is_symlink() && !kind.is_fifo() && !kind.is_socket(), "{what}: {}", path.display());
        assert_eq!(metadata.mode() & 0o7022, 0, "{what}: {}", path.display());
        if metadata.is_dir() {
            assert_plain(&path, what);
        } else {
            assert_eq!(metadata.nlink(), 1, "{what}: {}", path.display());
        }
    }
}

#[test]
fn a_folder_that_attacks_is_refused_by_name_or_installed_as_plain_files() {
    for (what, expected, attack) in ATTACKS {
        let desk = Desk::new();
        let source = desk.folder("evil");
        let outside = Canaries::of(&desk);
        attack(&source, &outside.folder);
        // A hard link changes how the file outside looks, so it is looked at afterwards.
        let outside = Canaries { before: state(&outside.folder), ..outside };
        let done = desk.installer().install_local(&source, InstallScope::Project);
        outside.check(what);
        match (expected, done) {
            (Refused(part), Err(error)) => {
                let kinds =
                    [InstallErrorKind::Refused, InstallErrorKind::TooLarge, InstallErrorKind::NotFound];
                assert!(kinds.contains(&error.kind()), "{what}: {:?}: {error}", error.kind());
                assert!(error.to_string().contains(part), "{what}: {error}");
                assert!(!error.to_string().chars().any(char::is_control), "{what}: {error}");
                assert!(!error.hint().is_empty(), "{what}");
                assert_eq!(fs::read_dir(desk.path("project")).unwrap().count(), 0, "{what}");
            }
            (Harmless, Ok(folder)) => {
                assert_eq!(folder, desk.path("project/.agents/skills/evil"), "{what}");
                assert_plain(&folder, what);
                let state = desk.installer().verify(InstallScope::Project).unwrap().remove(0).state;
                assert_eq!(state, InstalledState::Clean, "{what}");
            }
            (_, done) => panic!("{what}: {done:?}"),
        }
    }
}

/// Adds a skill of a folder under another name.
fn add_as(installer: &Installer, folder: &Path, alias: &str) -> Result<(), prowess::install::InstallError> {
    let spec: InstallSpec = folder.to_str().unwrap().parse()?;
    let mut available = installer.find(InstallScope::Project, &spec)?;
    let chosen = available.choose(&[], false)?;
    let scope = InstallScope::Project;
    let skills = installer.prepare(scope, &spec, &mut available, &chosen, Some(alias), &mut |_| {})?;
    installer.add(scope, skills, &InstallOptions::default(), &mut |_| {}).map(drop)
}

const BAD_NAMES: &[&str] = &[
    "../x",
    "a/../../x",
    "/abs",
    "..",
    ".",
    "",
    "a//b",
    "./x",
    r"..\x",
    r"C:\x",
    "C:x",
    r"\\server\share",
    "a\nb",
    "a\u{1b}b",
    "a.",
    "a ",
    "CON",
    "aux.md",
    "COM¹",
    "a:evil",
    ".git",
    ".hidden",
    "．．／x",
    "a\0b",
];

#[test]
fn a_name_never_leads_out_of_the_folder_of_skills() {
    for name in BAD_NAMES {
        let desk = Desk::new();
        let outside = Canaries::of(&desk);
        let source = desk.folder("plain");
        let error = add_as(&desk.installer(), &source, name).expect_err(name);
        assert!(!error.to_string().chars().any(char::is_control) && !error.hint().is_empty(), "{error}");
        assert!(!desk.path("project/skills.lock").exists(), "{name:?}");
        // In the frontmatter it is trimmed, or the folder keeps its name.
        let quoted = serde_json::to_string(name).unwrap();
        fs::write(source.join("SKILL.md"), skill(&quoted, "text")).unwrap();
        let folder = desk.installer().install_local(&source, InstallScope::Project);
        let trimmed = if *name == "a " { "a" } else { "plain" };
        if let Ok(folder) = folder {
            assert_eq!(folder, desk.path("project/.agents/skills").join(trimmed), "{name:?}");
        }
        outside.check(name);
        let skills = desk.path("project/.agents/skills");
        let names: Vec<_> =
            fs::read_dir(skills).into_iter().flatten().map(|entry| entry.unwrap().file_name()).collect();
        assert!(names.iter().all(|name| name == trimmed), "{name:?}: {names:?}");
    }
}

#[test]
fn names_that_differ_by_case_are_refused_and_the_first_stays() {
    let desk = Desk::new();
    let installer = desk.installer();
    installer.install_local(&desk.folder("pdf"), InstallScope::Project).unwrap();
    let before = state(&desk.path("project"));
    for name in ["PDF", "Pdf"] {
        let error = add_as(&installer, &desk.folder("other"), name).unwrap_err();
        assert_eq!(error.kind(), InstallErrorKind::Request, "{error}");
        assert!(error.hint().contains("another name") && !error.hint().contains("overwrite"), "{error}");
        assert!(error.to_string().contains("pdf") && error.to_string().contains(name), "{error}");
    }
    assert_eq!(state(&desk.path("project")), before);
}

/// Every way to use the records of the project.
fn every_way(desk: &Desk) -> Vec<prowess::install::InstallError> {
    let installer = desk.installer();
    let (scope, options) = (InstallScope::Project, InstallOptions::default());
    vec![
        installer.install_local(&desk.folder("fresh"), scope).unwrap_err(),
        installer.verify(scope).unwrap_err(),
        installer.list().unwrap_err(),
        installer.resolve(&reference("@acme/pdf")).unwrap_err(),
        installer.remove(&reference("@acme/pdf")).unwrap_err(),
        installer.uninstall(scope, &["pdf".to_owned()], &options, &mut |_| {}).unwrap_err(),
        installer.plan_sync(scope, &SyncOptions::default(), &mut |_| {}).unwrap_err(),
    ]
}

#[test]
fn a_lock_that_attacks_is_refused_in_every_way_and_stays_as_it_is() {
    let entry = |name: &str, source: &str, path: &str| {
        let name = serde_json::to_string(name).unwrap();
        let digest = "a".repeat(64);
        format!(
            "version = 1\n[[skill]]\nname = {name}\nsource = \"{source}\"\n{path}digest = \"sha256:{digest}\"\n"
        )
    };
    let mut locks: Vec<String> = BAD_NAMES.iter().map(|name| entry(name, "path+from", "")).collect();
    locks.push(entry("pdf", "path+/etc", ""));
    locks.push(entry("pdf", "git+--upload-pack=x", ""));
    locks.push(entry("pdf", "ext::sh -c x", ""));
    locks.push(entry("pdf", "path+from", "path = \"../../outside\"\n"));
    locks.push(format!(
        "{}{}",
        entry("pdf", "path+a", ""),
        entry("PDF", "path+a", "").split_once('\n').unwrap().1
    ));
    for lock in locks {
        let desk = Desk::new();
        let outside = Canaries::of(&desk);
        fs::write(desk.path("project/skills.lock"), &lock).unwrap();
        for error in every_way(&desk) {
            assert_eq!(error.kind(), InstallErrorKind::Damaged, "{lock}: {error}");
            assert!(error.to_string().contains("skills.lock"), "{error}");
        }
        outside.check(&lock);
        assert_eq!(fs::read_to_string(desk.path("project/skills.lock")).unwrap(), lock);
    }
}

#[test]
fn a_record_that_is_a_fifo_or_a_folder_or_a_link_out_is_an_error_and_no_wait() {
    type Make = fn(&Path, &Path);
    let makes: [(&str, Make); 3] = [
        ("a FIFO", |file, _| assert!(Command::new("mkfifo").arg(file).status().unwrap().success())),
        ("a folder", |file, _| fs::create_dir(file).unwrap()),
        ("a link", |file, outside| symlink(outside, file).unwrap()),
    ];
    for record in ["skills.lock", "skills.toml"] {
        for (what, make) in makes {
            let desk = Desk::new();
            // What a link leads to could be a record of another project.
            let other = desk.path("other");
            fs::write(&other, if record == "skills.lock" { "version = 1\n" } else { "" }).unwrap();
            make(&desk.path("project").join(record), &other);
            let error =
                desk.installer().install_local(&desk.folder("fresh"), InstallScope::Project).unwrap_err();
            assert!(
                error.with_cause().contains(what) && error.to_string().contains(record),
                "{}",
                error.with_cause()
            );
            assert!(fs::read_to_string(&other).unwrap().len() < 20);
            assert!(!desk.path("project/.agents/skills/fresh").exists(), "{record}: {what}");
        }
    }
}

#[test]
fn a_damaged_store_is_filled_again_or_refused_and_never_installed() {
    let desk = Desk::new();
    let (installer, scope) = (desk.installer(), InstallScope::Project);
    let source = desk.folder("pdf");
    let installed = installer.install_local(&source, scope).unwrap();
    let sync = || {
        fs::remove_dir_all(&installed).unwrap();
        let options = SyncOptions::default();
        let plan = installer.plan_sync(scope, &options, &mut |_| {})?;
        let skills = installer.fetch_sync(scope, plan, &mut |_| {})?;
        installer.sync(scope, skills, &options, &mut |_| {})
    };
    let damage = || {
        let mut folders = vec![desk.path("store")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let mut bytes = fs::read(&path).unwrap();
                if let Some(last) = bytes.last_mut() {
                    *last ^= 1;
                }
                fs::remove_file(&path).unwrap();
                fs::write(&path, bytes).unwrap();
            }
        }
    };
    damage();
    sync().unwrap();
    assert_eq!(fs::read(installed.join("SKILL.md")).unwrap(), fs::read(source.join("SKILL.md")).unwrap());
    damage();
    // The source has other bytes by now, so the bytes of the lock are nowhere.
    fs::write(source.join("SKILL.md"), skill("pdf", "other")).unwrap();
    let lock = fs::read(desk.path("project/skills.lock")).unwrap();
    let error = sync().unwrap_err();
    assert!(!error.hint().is_empty() && error.to_string().contains("pdf"), "{error}");
    assert!(!installed.exists());
    assert_eq!(fs::read(desk.path("project/skills.lock")).unwrap(), lock);
}
