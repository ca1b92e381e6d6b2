//! What discovery costs in system calls: counted by `strace` over a process of its own.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use prowess::{DirSource, Registry, ScanOptions};

/// How many skills there are.
const SKILLS: usize = 50;
/// The calls that are about no skill: opening and listing the folder of the skills.
const MAX_OTHERS: usize = 20;
/// The calls that look for skills inside a skill without folders: one look says that it has none.
const FLAT: usize = 1;
/// Those for a skill with one folder: that look; opening its folder twice, asking which it is, listing it to the end and
/// closing it; and in the folder inside the two names of a SKILL.md and a look.
const WITH_FOLDER: usize = FLAT + 8 + 3;
/// The most bytes that are read of each SKILL.md.
const MAX_BYTES: usize = 2048;

#[test]
fn a_skill_is_opened_once_and_not_at_all_when_it_is_known() {
    let folder = tempfile::tempdir().unwrap();
    if !counts_folders(folder.path()) {
        let _ =
            writeln!(std::io::stderr(), "skipped: the file system does not count the folders in a folder");
        return;
    }
    check_calls("named", false, FLAT * SKILLS + MAX_OTHERS);
    check_calls("named", true, WITH_FOLDER * SKILLS + MAX_OTHERS);
    check_calls("stop", true, MAX_OTHERS);
}

/// Whether a folder has one link more for each folder in it.
fn counts_folders(folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let links = || fs::metadata(folder).unwrap().nlink();
    let before = links();
    fs::create_dir(folder.join("one")).unwrap();
    before == 2 && links() == 3
}

fn check_calls(options: &str, with_folder: bool, max_others: usize) {
    let folder = tempfile::tempdir().unwrap();
    // Links in the name of the folder for temporary files would hide it from the counting.
    let folder = folder.path().canonicalize().unwrap();
    for number in 0..SKILLS {
        let skill = folder.join(format!("skills/s{number:02}"));
        fs::create_dir_all(&skill).unwrap();
        if with_folder {
            fs::create_dir(skill.join("references")).unwrap();
            fs::write(skill.join("references/more.md"), "more").unwrap();
        }
        let text =
            format!("---\nname: s{number:02}\ndescription: Does it.\n---\n{}", "Do it. ".repeat(4_000));
        fs::write(skill.join("SKILL.md"), text).unwrap();
    }
    let Some(cold) = Calls::of_listing(&folder, options) else { return };
    let expected = BTreeMap::from([("open", SKILLS), ("state", SKILLS), ("read", SKILLS), ("close", SKILLS)]);
    assert_eq!(cold.about_skills, expected, "cold");
    assert!(cold.bytes <= SKILLS * MAX_BYTES, "cold: {} bytes", cold.bytes);
    assert!(cold.others <= max_others, "cold, {options}, {with_folder}: {} other calls", cold.others);

    // What changed a moment ago may change again unseen and is not remembered, so the first looks may still read.
    let warm = std::iter::repeat_with(|| Calls::of_listing(&folder, options).unwrap())
        .take(100)
        .find(|calls| !calls.about_skills.contains_key("open"))
        .expect("an index that settles");
    assert_eq!(warm.about_skills, BTreeMap::from([("state", SKILLS)]), "warm");
    assert!(warm.bytes == 0);
    assert!(warm.others <= max_others, "warm, {options}, {with_folder}: {} other calls", warm.others);
}

/// The calls of a process below the folder of the skills.
#[derive(Debug, Default)]
struct Calls {
    /// Calls about a SKILL.md, by what they do.
    about_skills: BTreeMap<&'static str, usize>,
    /// Bytes that were read of them.
    bytes: usize,
    /// Calls about anything else there.
    others: usize,
}

impl Calls {
    /// Counts the calls of a process that lists the skills; nothing when they cannot be counted here.
    fn of_listing(folder: &Path, options: &str) -> Option<Self> {
        let trace = folder.join("trace");
        let child = Command::new("strace")
            .args(["-f", "-y", "-s", "0", "-e", "trace=%file,%desc", "-o"])
            .arg(&trace)
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "io_count::child", "--ignored", "--nocapture", "--test-threads=1"])
            .env("PROWESS_IO_FOLDER", folder)
            .env("PROWESS_IO_OPTIONS", options)
            .output();
        let lines = match child {
            Ok(child) if child.status.success() => fs::read_to_string(&trace).unwrap(),
            Ok(child) if !String::from_utf8_lossy(&child.stderr).contains("ptrace") => {
                panic!("{}", String::from_utf8_lossy(&child.stderr))
            }
            // Straight to standard error: what a passing test prints is otherwise not shown.
            _ => {
                let _ =
                    writeln!(std::io::stderr(), "skipped: counting calls needs strace, and leave to trace");
                return None;
            }
        };
        let below = folder.join("skills");
        let mut calls = Self::default();
        for line in lines.lines().filter(|line| line.contains(below.to_str().unwrap())) {
            calls.count(line);
        }
        Some(calls)
    }

    fn count(&mut self, line: &str) {
        // A line is the process, then the call: `12 read(3</tmp/skills/s01/SKILL.md>, ""..., 2048) = 2048`.
        let call = line.split_once(' ').map_or("", |(_, call)| call.trim_start());
        let name = call.split('(').next().unwrap();
        // Debug builds of the standard library ask before they close.
        if name == "fcntl" && line.contains("F_GETFD") {
            return;
        }
        // The folder itself might be a skill; that it is none costs a call or two.
        if !line.contains("SKILL.md") || line.contains("= -1 ENOENT") {
            self.others += 1;
            return;
        }
        let kind = match name {
            "open" | "openat" | "openat2" => "open",
            "stat" | "lstat" | "fstat" | "newfstatat" | "fstatat64" | "statx" => "state",
            "read" | "pread64" | "readv" => "read",
            "close" => "close",
            other => panic!("another call about a skill: {other}: {line}"),
        };
        *self.about_skills.entry(kind).or_default() += 1;
        if kind == "read" {
            self.bytes += line.rsplit("= ").next().unwrap().trim().parse::<usize>().unwrap();
        }
    }
}

/// Not a test by itself: lists skills, with an index beside them.
#[test]
#[ignore = "run by the test above, in a process of its own"]
fn child() {
    let Some(folder) = std::env::var_os("PROWESS_IO_FOLDER") else { return };
    let folder = Path::new(&folder);
    let stop_at_skill = std::env::var_os("PROWESS_IO_OPTIONS").is_some_and(|options| options == "stop");
    let options = ScanOptions::unbounded().with_stop_at_skill(stop_at_skill);
    let mut registry = Registry::new();
    registry.add(DirSource::new(folder.join("skills"), options).with_cache(Some(folder.join("index"))));
    registry.refresh().unwrap();
    assert_eq!(registry.catalog().len(), SKILLS);
}
