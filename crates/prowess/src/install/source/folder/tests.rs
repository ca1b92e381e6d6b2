//! Tests of reading folders: links that stay inside, links that do not, and entries that are not files.

#![allow(clippy::disallowed_methods, reason = "these are tests")]

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::time::{Duration, SystemTime};

use super::*;
use crate::install::SkillTree;
use crate::install::source::contents::{FindLimits, file_at, files_of, skills_below};

/// A folder `repo` with a skill `skills/a`, and a secret beside it that nothing may read.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let place = Self { folder: tempfile::tempdir().unwrap() };
        place.write("repo/skills/a/SKILL.md", "---\nname: a\ndescription: Does a.\n---\n");
        place.write("secret/key", "SECRET");
        // Reading it would set this to the present, where the system keeps it.
        let past = fs::FileTimes::new().set_accessed(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000));
        fs::File::options().write(true).open(place.path("secret/key")).unwrap().set_times(past).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn link(&self, target: &str, name: &str) {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        symlink(target, self.path(name)).unwrap();
    }

    fn tree(&self) -> Result<SkillTree, InstallError> {
        let limits = InstallLimits::default();
        let mut contents = FolderContents::open(&self.path("repo"))?;
        let (planned, whole) = files_of(&mut contents, "skills/a", &limits)?;
        assert!(whole);
        let files: Result<Vec<TreeFile>, InstallError> =
            planned.iter().map(|planned| contents.read(planned, &limits)).collect();
        SkillTree::new(files?, &limits)
    }

    fn files(&self) -> Vec<(String, String)> {
        let tree = self.tree().unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        tree.files().map(|(file, bytes)| (file.path.to_string(), text(bytes))).collect()
    }

    fn was_read(&self) -> bool {
        let accessed = fs::metadata(self.path("secret/key")).unwrap().accessed().unwrap();
        accessed != SystemTime::UNIX_EPOCH + Duration::from_secs(1_000)
    }
}

#[test]
fn links_that_stay_inside_become_plain_files() {
    let place = Place::new();
    place.write("repo/shared/doc.md", "doc");
    place.write("repo/shared/more/deep.md", "deep");
    place.link("../../shared/doc.md", "repo/skills/a/doc.md");
    place.link("../../shared/more", "repo/skills/a/more");
    place.link("more/deep.md", "repo/skills/a/through.md");
    place.link("../../aliases/doc", "repo/skills/a/twice.md");
    place.link("../shared/./doc.md", "repo/aliases/doc");
    fs::set_permissions(place.path("repo/shared/doc.md"), fs::Permissions::from_mode(0o755)).unwrap();
    let files = place.files();
    let others: Vec<(&str, &str)> = files.iter().skip(1).map(|(path, text)| (&**path, &**text)).collect();
    assert_eq!(
        others,
        [("doc.md", "doc"), ("more/deep.md", "deep"), ("through.md", "deep"), ("twice.md", "doc")]
    );
    let tree = place.tree().unwrap();
    let executable = tree.manifest().files.iter().filter(|file| file.executable);
    assert_eq!(executable.map(|file| file.path.to_string()).collect::<Vec<_>>(), ["doc.md", "twice.md"]);
}

#[test]
fn links_that_lead_out_to_nothing_or_in_a_circle_are_refused_by_name_and_read_nothing() {
    let place = Place::new();
    let inside_but_absolute = place.path("repo/skills/a/SKILL.md");
    for (target, words) in [
        (place.path("secret/key").to_str().unwrap(), "absolute"),
        (inside_but_absolute.to_str().unwrap(), "absolute"),
        ("/proc/self/root/etc/passwd", "absolute"),
        ("../../../secret/key", "leads out of the repository"),
        ("../../../secret", "leads out of the repository"),
        ("../../../repo/skills/a/SKILL.md", "leads out of the repository"),
        ("nowhere", "leads to nothing"),
        ("SKILL.md/x", "leads to nothing"),
        ("bad", "in a circle"),
        ("..", "in a circle"),
        (".", "in a circle"),
        ("../../.git/config", "leads into .git"),
    ] {
        place.write("repo/.git/config", "[remote] url = https://token@host/");
        place.link(target, "repo/skills/a/bad");
        let error = place.tree().unwrap_err();
        assert_eq!(error.kind(), InstallErrorKind::Refused, "{target}: {error}");
        assert!(error.to_string().contains(words), "{target}: {error}");
        assert!(error.to_string().ends_with(": skills/a/bad"), "{target}: {error}");
        fs::remove_file(place.path("repo/skills/a/bad")).unwrap();
        assert!(!place.was_read(), "{target}");
    }
    // A chain that leads out at its end is named by its beginning.
    place.link("../b/next", "repo/skills/a/first");
    place.link("../../../secret/key", "repo/skills/b/next");
    let error = place.tree().unwrap_err();
    assert_eq!(error.to_string(), "a link leads out of the repository: skills/a/first");
    assert!(!place.was_read());
}

#[test]
fn a_folder_that_links_repeat_without_end_stops_at_the_limit() {
    let place = Place::new();
    for level in 0..20 {
        for link in ["x", "y", "z"] {
            place.link(&format!("../l{}", level + 1), &format!("repo/skills/l{level}/{link}"));
        }
    }
    fs::create_dir_all(place.path("repo/skills/l20")).unwrap();
    place.link("../l0", "repo/skills/a/start");
    assert_eq!(place.tree().unwrap_err().kind(), InstallErrorKind::TooLarge);
}

#[test]
fn what_is_no_file_is_refused_without_being_opened() {
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    let place = Place::new();
    mknodat(CWD, place.path("repo/skills/a/pipe"), FileType::Fifo, Mode::RWXU, 0).unwrap();
    let error = place.tree().unwrap_err();
    assert_eq!(error.kind(), InstallErrorKind::Refused);
    assert!(error.to_string().contains("a FIFO") && error.to_string().ends_with("skills/a/pipe"), "{error}");
    fs::remove_file(place.path("repo/skills/a/pipe")).unwrap();
    place.link("../pipe", "repo/skills/a/link");
    mknodat(CWD, place.path("repo/skills/pipe"), FileType::Fifo, Mode::RWXU, 0).unwrap();
    assert!(place.tree().unwrap_err().to_string().contains("leads to a device, a FIFO or a socket"));
    // One that takes the place of a file after the folder was listed.
    let contents = FolderContents::open(&place.path("repo")).unwrap();
    let item = Item { name: "pipe".to_owned(), kind: Kind::File { executable: false }, id: String::new() };
    let planned = Planned { path: "pipe".parse().unwrap(), real: "skills/pipe".to_owned(), item };
    let error = contents.read(&planned, &InstallLimits::default()).unwrap_err();
    assert!(error.to_string().contains("no regular file"), "{error}");
}

#[test]
fn a_file_or_folder_that_becomes_a_link_after_it_was_listed_is_not_followed() {
    let place = Place::new();
    place.write("repo/skills/a/sub/key", "plain");
    let mut contents = FolderContents::open(&place.path("repo")).unwrap();
    let (planned, _) = files_of(&mut contents, "skills/a", &InstallLimits::default()).unwrap();
    fs::rename(place.path("repo/skills/a/sub"), place.path("repo/moved")).unwrap();
    place.link("../../../secret", "repo/skills/a/sub");
    let file = planned.iter().find(|planned| planned.real == "skills/a/sub/key").unwrap();
    let error = contents.read(file, &InstallLimits::default()).unwrap_err();
    assert!(error.to_string().contains("replaced while it was read"), "{error}");
    let mut again = FolderContents::open(&place.path("repo")).unwrap();
    assert!(again.list("skills/a/sub").is_err());
    assert!(!place.was_read());
}

#[test]
fn names_that_are_not_safe_everywhere_are_refused_by_name() {
    for name in ["GIT~1", "aux.md", "-rf", "a\\b", "a:b", "x.", "\u{ff0e}\u{ff0e}", ".GIT", "a\u{202e}b"] {
        let place = Place::new();
        place.write(&format!("repo/skills/a/{name}"), "x");
        let error = place.tree().unwrap_err();
        assert_eq!(error.kind(), InstallErrorKind::Refused, "{name}: {error}");
    }
    let place = Place::new();
    fs::write(place.path("repo/skills/a").join(std::ffi::OsStr::from_bytes(b"\xff")), "").unwrap();
    assert!(place.tree().unwrap_err().to_string().contains("not UTF-8"));
    let place = Place::new();
    place.write("repo/skills/a/A.md", "x");
    place.write("repo/skills/a/a.md", "x");
    assert!(place.tree().unwrap_err().to_string().contains("A.md: a.md"));
}

#[test]
fn only_git_is_left_out_and_packages_are_refused() {
    let place = Place::new();
    place.write("repo/skills/a/.git/config", "x");
    place.write("repo/skills/a/sub/.git", "gitdir: elsewhere");
    place.write("repo/skills/a/.hidden", "x");
    let files = place.files();
    assert_eq!(files.iter().map(|(path, _)| &**path).collect::<Vec<_>>(), [".hidden", "SKILL.md"]);
    place.write("repo/skills/a/node_modules/x.js", "x");
    assert!(place.tree().unwrap_err().to_string().contains("node_modules"));
}

#[test]
fn a_file_above_the_limit_is_named_and_not_read() {
    let place = Place::new();
    fs::File::create(place.path("repo/skills/a/big")).unwrap().set_len(1 << 40).unwrap();
    let error = place.tree().unwrap_err();
    assert_eq!(error.kind(), InstallErrorKind::TooLarge);
    assert!(error.to_string().contains("big: 1099511627776 bytes"), "{error}");
}

#[test]
fn skills_are_found_at_any_depth_and_inside_each_other() {
    let place = Place::new();
    for path in
        ["SKILL.md", "skills/a/inner/SKILL.md", "one/two/three/four/five/six/SKILL.md", "low/skill.md"]
    {
        place.write(&format!("repo/{path}"), "x");
    }
    for path in ["1/2/3/4/5/6/7/SKILL.md", "node_modules/x/SKILL.md", ".git/x/SKILL.md"] {
        place.write(&format!("repo/{path}"), "x");
    }
    place.link("skills/a", "repo/alias");
    place.link("../skills/a/SKILL.md", "repo/linked/SKILL.md");
    let mut contents = FolderContents::open(&place.path("repo")).unwrap();
    let (found, _) = skills_below(&mut contents, "", &FindLimits::default()).unwrap();
    let paths: Vec<&str> = found.iter().map(|skill| skill.path.as_str()).collect();
    assert_eq!(paths, ["", "linked", "low", "one/two/three/four/five/six", "skills/a", "skills/a/inner"]);
    let (real, _) = file_at(&mut contents, "linked", &found[1].file).unwrap().unwrap();
    assert_eq!(real, "skills/a/SKILL.md");
    let limits = FindLimits { folders: 3, ..FindLimits::default() };
    assert_eq!(skills_below(&mut contents, "", &limits).unwrap_err().kind(), InstallErrorKind::TooLarge);
}

#[test]
fn a_folder_that_is_not_there_or_is_a_file_says_so() {
    let place = Place::new();
    let kind = |name: &str| FolderContents::open(&place.path(name)).unwrap_err().kind();
    assert_eq!(kind("nowhere"), InstallErrorKind::NotFound);
    assert_eq!(kind("secret/key"), InstallErrorKind::Request);
}
