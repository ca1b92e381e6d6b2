//! Skills that attack the installer, through every door: each is refused by name or does no harm, and nothing
//! outside changes.

use std::ffi::OsStr;
use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use prowess::install::{
    InstallError, InstallErrorKind, InstallOptions, InstallScope, InstallSpec, InstalledState, SyncOptions,
};

use crate::installer::{Desk, git, git_in, no_git, reference};

const SCOPE: InstallScope = InstallScope::Project;

/// Files outside of everything that an installer may change, and how they were.
pub(crate) struct Canaries {
    folder: PathBuf,
    before: Vec<String>,
}

impl Canaries {
    pub(crate) fn of(desk: &Desk) -> Self {
        let folder = desk.path("outside");
        fs::create_dir_all(folder.join("folder")).unwrap();
        for file in ["secret", "folder/secret", "SKILL.md"] {
            fs::write(folder.join(file), "canary").unwrap();
        }
        let before = state(&folder);
        Self { folder, before }
    }

    pub(crate) fn check(&self, what: &str) {
        assert_eq!(state(&self.folder), self.before, "{what}");
    }
}

/// Every file below a folder with its bytes, mode and time.
pub(crate) fn state(folder: &Path) -> Vec<String> {
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
    ("a home", Refused("~"), |skill, _| {
        fs::create_dir(skill.join("~")).unwrap();
        file(&skill.join("~"), "x");
    }),
    ("an absolute path of a drive", Refused("C:"), |skill, _| file(skill, r"C:\x")),
    ("a drive", Refused("C:x"), |skill, _| file(skill, "C:x")),
    ("a share", Refused("server"), |skill, _| file(skill, r"\\server\share")),
    ("a long path of a drive", Refused("C:"), |skill, _| file(skill, r"\\?\C:\x")),
    ("a pipe of Windows", Refused("pipe"), |skill, _| file(skill, r"\\.\pipe\x")),
    ("an option", Refused("-rf"), |skill, _| file(skill, "-rf")),
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
    ("too many folders", Refused("d/d/d"), |skill, _| {
        let deep = skill.join(["d"; 70].join("/"));
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

/// Names that only a repository can contain: there, [`name_in_git`] writes them.
const IN_GIT: &[Attack] = &[
    ("a name that is too long", Refused("255 bytes"), |skill, _| file(skill, "long.256")),
    ("a path that is too long", Refused("4096 bytes"), |skill, _| {
        let deep = skill.join(["long.255"; 16].join("/"));
        fs::create_dir_all(&deep).unwrap();
        file(&deep, "x");
    }),
];

/// The name of a file in a repository: after `long.`, the number of its bytes.
fn name_in_git(name: &OsStr) -> Vec<u8> {
    let long = name.to_str().and_then(|name| name.strip_prefix("long.")?.parse().ok());
    long.map_or_else(|| name.as_bytes().to_vec(), |length| vec![b'c'; length])
}

/// Fails unless everything below a folder is a plain file or folder without special modes or other names.
fn assert_plain(folder: &Path, what: &str) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let metadata = path.symlink_metadata().unwrap();
        let kind = metadata.file_type();
        assert!(!kind.is_symlink() && !kind.is_fifo() && !kind.is_socket(), "{what}: {}", path.display());
        // The group may write where the umask says so.
        assert_eq!(metadata.mode() & 0o7002, 0, "{what}: {}", path.display());
        if metadata.is_dir() {
            assert_plain(&path, what);
        } else {
            assert_eq!(metadata.nlink(), 1, "{what}: {}", path.display());
        }
    }
}

/// A way by which a skill gets into a project.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Door {
    /// `add` of a folder.
    Folder,
    /// `sync` of a `skills.toml` that names the folder.
    FolderInRecord,
    /// `sync` of a `skills.lock` that names the folder, whose files are not stored.
    FolderInLock,
    /// A copy of the folder, without records.
    FolderInto,
    /// `add` of a repository.
    Repository,
    /// `sync` of a `skills.toml` that names the repository.
    RepositoryInRecord,
    /// `sync` of a `skills.lock` that names the commit, whose files are not stored.
    RepositoryInLock,
    /// A reference to the repository.
    Reference,
    /// A copy by a reference to the repository, without records.
    ReferenceInto,
}

const DOORS: [Door; 9] = [
    Door::Folder,
    Door::FolderInRecord,
    Door::FolderInLock,
    Door::FolderInto,
    Door::Repository,
    Door::RepositoryInRecord,
    Door::RepositoryInLock,
    Door::Reference,
    Door::ReferenceInto,
];

impl Door {
    fn is_git(self) -> bool {
        !matches!(self, Self::Folder | Self::FolderInRecord | Self::FolderInLock | Self::FolderInto)
    }

    fn has_records(self) -> bool {
        !matches!(self, Self::FolderInto | Self::ReferenceInto)
    }

    /// Writes a lock that names the skill: with its own digest if it can be installed, else with another one.
    fn lock(self, desk: &Desk, url: &str) {
        let (known, source) = match self {
            Self::FolderInLock => (Self::FolderInRecord, "source = \"path+../local/evil\"\n".to_owned()),
            _ => {
                let bare = desk.path("repositories/acme/evil.git");
                let (commit, tree) =
                    (git(&bare, &["rev-parse", "main"]), git(&bare, &["rev-parse", "main:evil"]));
                let rest = format!("commit = \"{commit}\"\ngit-tree = \"{tree}\"\n");
                (Self::RepositoryInRecord, format!("source = \"git+{url}\"\npath = \"evil\"\n{rest}"))
            }
        };
        let lock = desk.path("project/skills.lock");
        if known.install(desk).is_ok() {
            for folder in ["project/.agents", "cache", "state"] {
                fs::remove_dir_all(desk.path(folder)).unwrap();
            }
            // The lock that is written by hand below has the same form.
            let text = fs::read_to_string(&lock).unwrap();
            assert!(source.lines().all(|line| text.contains(line)), "{text}");
        } else {
            let digest = format!("digest = \"sha256:{}\"\n", "0".repeat(64));
            let text = format!("version = 1\n\n[[skill]]\nname = \"evil\"\n{source}{digest}");
            fs::write(&lock, text).unwrap();
        }
    }

    /// Installs the skill in the folder `local/evil`, or that of the repository `@acme/evil`.
    fn install(self, desk: &Desk) -> Result<PathBuf, InstallError> {
        let installer = desk.installer();
        let url = format!("file://{}/acme/evil.git", desk.path("repositories").display());
        let entry = match self {
            Self::Folder => return installer.install_local(&desk.path("local/evil"), SCOPE),
            Self::Reference => return installer.install(&reference("@acme/evil"), SCOPE, None),
            Self::Repository => {
                let spec: InstallSpec = url.parse()?;
                let mut available = installer.find(SCOPE, &installer.source(&spec)?)?;
                let chosen = available.choose(&[], false)?;
                let skills = installer.prepare(SCOPE, &mut available, &chosen, None, &mut |_| {})?;
                installer.add(SCOPE, skills, &InstallOptions::default(), &mut |_| {})?;
                return Ok(desk.path("project/.agents/skills/evil"));
            }
            Self::FolderInto => {
                return installer.install_local_into(&desk.path("local/evil"), &desk.path("project/into"));
            }
            Self::ReferenceInto => {
                return installer.install_into(&reference("@acme/evil"), &desk.path("project/into"));
            }
            Self::FolderInRecord | Self::FolderInLock => "{ path = \"../local/evil\" }".to_owned(),
            Self::RepositoryInRecord | Self::RepositoryInLock => format!("{{ git = \"{url}\" }}"),
        };
        fs::write(desk.path("project/skills.toml"), format!("[skills]\nevil = {entry}\n")).unwrap();
        if matches!(self, Self::FolderInLock | Self::RepositoryInLock) {
            self.lock(desk, &url);
        }
        let options = SyncOptions::default();
        let plan = installer.plan_sync(SCOPE, &options, &mut |_| {})?;
        let skills = installer.fetch_sync(SCOPE, plan, &mut |_| {})?;
        installer.sync(SCOPE, skills, &options, &mut |_| {})?;
        Ok(desk.path("project/.agents/skills/evil"))
    }
}

/// Makes the tree of a folder in a repository, without the checks with which git protects its own index. None when
/// something in the folder cannot be in a repository.
fn tree_of(repository: &Path, folder: &Path) -> Option<String> {
    let run = |words: &[&str], input: &[u8]| {
        let mut child =
            git_in(repository).args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "git {words:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let blob = |bytes: &[u8]| run(&["hash-object", "-w", "--stdin"], bytes);
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let metadata = path.symlink_metadata().unwrap();
        let (mode, kind, id) = if metadata.is_symlink() {
            ("120000", "blob", blob(fs::read_link(&path).unwrap().as_os_str().as_bytes()))
        } else if metadata.is_dir() {
            ("040000", "tree", tree_of(repository, &path)?)
        } else if metadata.is_file() {
            let mode = if metadata.mode() & 0o100 == 0 { "100644" } else { "100755" };
            (mode, "blob", blob(&fs::read(&path).unwrap()))
        } else {
            return None;
        };
        entries.extend(format!("{mode} {kind} {id}\t").into_bytes());
        entries.extend(name_in_git(path.file_name().unwrap()));
        entries.push(0);
    }
    Some(run(&["mktree", "-z"], &entries))
}

/// Makes the repository `@acme/evil` from `local`, in which the skill is. Returns whether it could.
fn commit(desk: &Desk) -> bool {
    let bare = desk.path("repositories/acme/evil.git");
    fs::create_dir_all(&bare).unwrap();
    git(&bare, &["init", "-q", "--bare", "-b", "main"]);
    let Some(tree) = tree_of(&bare, &desk.path("local")) else { return false };
    let commit = git(&bare, &["commit-tree", "-m", "one", &tree]);
    git(&bare, &["update-ref", "refs/heads/main", &commit]);
    true
}

#[test]
fn a_skill_that_attacks_is_refused_by_name_or_installed_as_plain_files_through_every_door() {
    let no_git = no_git();
    let (mut tried, mut unable) = (0, Vec::new());
    let everywhere = ATTACKS.iter().map(|attack| (attack, &DOORS[..]));
    let git_doors = DOORS.into_iter().filter(|door| door.is_git()).collect::<Vec<_>>();
    let in_git = IN_GIT.iter().map(|attack| (attack, &git_doors[..]));
    for ((what, expected, attack), doors) in everywhere.chain(in_git) {
        let desk = Desk::new();
        let source = desk.folder("evil");
        let outside = Canaries::of(&desk);
        attack(&source, &outside.folder);
        // A hard link changes how the file outside looks, so it is looked at afterwards.
        let outside = Canaries { before: state(&outside.folder), ..outside };
        let local = state(&desk.path("local"));
        let is_committed = !no_git && commit(&desk);
        if !is_committed {
            unable.push(*what);
        }
        for door in doors.iter().filter(|door| is_committed || !door.is_git()) {
            tried += 1;
            desk.empty();
            try_door(*door, &desk, &format!("{what} by {door:?}"), *expected);
            outside.check(what);
            assert_eq!(state(&desk.path("local")), local, "{what}");
        }
    }
    // Only what no repository can contain comes through folders alone.
    if !no_git {
        let all = ATTACKS.len() * DOORS.len() + IN_GIT.len() * git_doors.len();
        assert_eq!((unable, tried), (vec!["a FIFO", "a socket"], all - 2 * git_doors.len()));
    }
}

/// Installs an attack, and checks that it was refused by name or does no harm.
fn try_door(door: Door, desk: &Desk, what: &str, expected: Expected) {
    match (expected, door.install(desk)) {
        (Refused(part), Err(error)) => {
            let kinds = [InstallErrorKind::Refused, InstallErrorKind::TooLarge, InstallErrorKind::NotFound];
            assert!(kinds.contains(&error.kind()), "{what}: {:?}: {error}", error.kind());
            assert!(error.to_string().contains(part), "{what}: {error}");
            assert!(!error.to_string().chars().any(char::is_control), "{what}: {error}");
            assert!(!error.hint().is_empty(), "{what}");
            let left = fs::read_dir(desk.path("project")).unwrap().map(|entry| entry.unwrap().file_name());
            assert!(left.into_iter().all(|name| name == "skills.toml" || name == "skills.lock"), "{what}");
        }
        (Harmless, Ok(folder)) => {
            let place = if door.has_records() { "project/.agents/skills" } else { "project/into" };
            assert_eq!(folder, desk.path(place).join("evil"), "{what}");
            assert_plain(&folder, what);
            let states = desk.installer().verify(SCOPE).unwrap().into_iter().map(|skill| skill.state);
            let clean = door.has_records().then_some(InstalledState::Clean);
            assert!(states.eq(clean), "{what}");
        }
        (_, done) => panic!("{what}: {done:?}"),
    }
}
