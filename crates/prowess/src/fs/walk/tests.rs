//! Tests of what a walk finds, what it leaves out and where it ends.

use super::*;
use crate::error::SourceErrorKind;
use crate::fs::stamp::FileStamp;
use std::fs;
use std::os::unix::fs::symlink;

fn tree(files: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for file in files {
        let path = folder.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    folder
}

fn found(folder: &Path, options: &ScanOptions) -> (Vec<String>, Vec<String>) {
    let scan = scan(folder, options);
    let below = |path: &Path| path.strip_prefix(folder).unwrap().to_string_lossy().into_owned();
    (
        scan.skills.iter().map(|skill| below(&skill.path)).collect(),
        scan.problems.iter().map(|problem| below(Path::new(problem.at.path().unwrap()))).collect(),
    )
}

#[test]
fn client_folders_are_walked_and_other_hidden_ones_are_not() {
    let folder = tree(&[
        ".claude/skills/a/SKILL.md",
        ".hidden/b/SKILL.md",
        ".git/c/SKILL.md",
        "node_modules/d/SKILL.md",
        "e/Skill.md",
        "f/skill.md",
        "g/SKILL.md",
        "g/skill.md",
        "g/nested/SKILL.md",
    ]);
    let (skills, problems) = found(folder.path(), &ScanOptions::default());
    assert_eq!(skills, [".claude/skills/a/SKILL.md", "f/skill.md", "g/SKILL.md", "g/nested/SKILL.md"]);
    assert!(problems.is_empty());
    let stop = ScanOptions { stop_at_skill: true, ..ScanOptions::default() };
    assert_eq!(found(folder.path(), &stop).0, [".claude/skills/a/SKILL.md", "f/skill.md", "g/SKILL.md"]);
    let exact = ScanOptions { file_name: FileName::Exact("SKILL.md".into()), ..ScanOptions::default() };
    assert_eq!(
        found(folder.path(), &exact).0,
        [".claude/skills/a/SKILL.md", "g/SKILL.md", "g/nested/SKILL.md"]
    );
    let any = ScanOptions { file_name: FileName::AnyCase("SKILL.md".into()), ..ScanOptions::default() };
    assert_eq!(
        found(folder.path(), &any).0,
        [".claude/skills/a/SKILL.md", "e/Skill.md", "f/skill.md", "g/SKILL.md", "g/nested/SKILL.md"]
    );
    let all = ScanOptions { skip_hidden: false, skip_prefixes: vec!["f".into()], ..ScanOptions::default() };
    assert_eq!(
        found(folder.path(), &all).0,
        [".claude/skills/a/SKILL.md", ".hidden/b/SKILL.md", "g/SKILL.md", "g/nested/SKILL.md"]
    );
    let hidden = scan(&folder.path().join(".hidden"), &ScanOptions::default());
    assert_eq!(hidden.skills.len(), 1, "a folder that was named is looked into whatever its name");
}

#[test]
fn loops_end_and_a_skill_reached_twice_is_one() {
    let folder = tree(&["z/real/SKILL.md", "z/other/notes.md"]);
    symlink("z/real", folder.path().join("a-link")).unwrap();
    symlink("..", folder.path().join("z/up")).unwrap();
    symlink("self", folder.path().join("self")).unwrap();
    symlink("../real/SKILL.md", folder.path().join("z/other/SKILL.md")).unwrap();
    let (skills, problems) = found(folder.path(), &ScanOptions::default());
    assert_eq!(skills, ["z/real/SKILL.md"]);
    assert!(problems.is_empty(), "{problems:?}");
}

#[test]
fn a_skill_outside_the_tree_is_found_through_its_link() {
    let elsewhere = tree(&["pdf/SKILL.md"]);
    let folder = tree(&["notes.md"]);
    symlink(elsewhere.path().join("pdf"), folder.path().join("pdf")).unwrap();
    fs::create_dir(folder.path().join("gone")).unwrap();
    symlink("/nowhere", folder.path().join("gone/SKILL.md")).unwrap();
    let (skills, _) = found(folder.path(), &ScanOptions::default());
    assert_eq!(skills, ["gone/SKILL.md", "pdf/SKILL.md"]);
}

#[test]
fn every_limit_is_reported_where_it_was_reached() {
    let folder = tree(&["1/2/3/SKILL.md", "a/SKILL.md", "b/SKILL.md"]);
    let depth = ScanOptions { max_depth: 2, ..ScanOptions::unbounded() };
    let (skills, problems) = found(folder.path(), &depth);
    assert_eq!((skills.len(), problems), (2, vec!["1/2/3".to_owned()]));
    let folders = ScanOptions { max_folders: 3, ..ScanOptions::unbounded() };
    let (skills, problems) = found(folder.path(), &folders);
    assert_eq!((skills.len(), problems), (2, vec!["1".to_owned()]));
    let elsewhere = tree(&["x/y/SKILL.md", "z/SKILL.md"]);
    symlink(elsewhere.path(), folder.path().join("0-link")).unwrap();
    let outside = ScanOptions { max_outside: 2, ..ScanOptions::unbounded() };
    let (skills, problems) = found(folder.path(), &outside);
    assert_eq!((skills.len(), problems), (3, vec!["0-link/z".to_owned()]));
    let entries = ScanOptions { max_entries: 4, ..ScanOptions::unbounded() };
    assert_eq!(found(folder.path(), &entries).1.len(), 1);
}

#[test]
fn a_root_may_be_a_skill_a_file_or_missing() {
    let folder = tree(&["SKILL.md", "inner/SKILL.md"]);
    assert_eq!(found(folder.path(), &ScanOptions::default()).0, ["SKILL.md", "inner/SKILL.md"]);
    let stop = ScanOptions { stop_at_skill: true, ..ScanOptions::default() };
    assert_eq!(found(folder.path(), &stop).0, ["SKILL.md"]);
    let file = scan(&folder.path().join("SKILL.md"), &ScanOptions::default());
    assert!(
        matches!(file.problems.as_slice(), [SourceError { kind: SourceErrorKind::FileInPlace, .. }]),
        "{:?}",
        file.problems
    );
    let nowhere = folder.path().join("nowhere");
    assert!(scan(&nowhere, &ScanOptions::default()).problems.is_empty());
    assert!(matches!(
        scan(&nowhere, &ScanOptions::unbounded()).problems.as_slice(),
        [SourceError { kind: SourceErrorKind::Missing, .. }]
    ));
}

#[test]
fn folders_inside_a_skill_have_their_own_limit_and_depth_there_is_not_reported() {
    let folder = tree(&["a/SKILL.md", "a/1/2/3/SKILL.md", "b/SKILL.md", "b/x/y", "c/d/SKILL.md"]);
    let few = ScanOptions { max_folders: 6, max_entries: 5, ..ScanOptions::default() };
    let (skills, problems) = found(folder.path(), &few);
    assert_eq!((skills.len(), problems), (4, vec![]), "the folders inside a and b are not among the six");
    let shallow = ScanOptions { max_depth: 2, ..ScanOptions::default() };
    let (skills, problems) = found(folder.path(), &shallow);
    assert_eq!((skills.len(), problems), (3, vec![]), "what is deep in a skill is a file of it");
    let (skills, problems) = found(folder.path(), &ScanOptions { max_inside: 3, ..ScanOptions::default() });
    assert_eq!(skills, ["a/SKILL.md", "b/SKILL.md", "c/d/SKILL.md"], "what is not inside is found first");
    assert_eq!(problems, ["b"]);
}

#[test]
fn a_limit_inside_skills_is_reported_once_also_with_links_to_more_skills() {
    let elsewhere = tree(&["a/SKILL.md", "a/x/y", "b/SKILL.md", "b/x/y", "c/SKILL.md", "c/x/y"]);
    let folder = tree(&[]);
    for name in ["a", "b", "c"] {
        symlink(elsewhere.path().join(name), folder.path().join(name)).unwrap();
    }
    let (skills, problems) = found(folder.path(), &ScanOptions { max_inside: 1, ..ScanOptions::default() });
    assert_eq!((skills.len(), problems.len()), (3, 1), "{problems:?}");
}

#[test]
fn a_skill_inside_a_skill_is_found_by_its_plain_path() {
    let folder = tree(&["z/SKILL.md", "z/references/inner/SKILL.md", "z/references/notes.md"]);
    symlink("z/references/inner", folder.path().join("a-link")).unwrap();
    symlink("inner", folder.path().join("z/references/again")).unwrap();
    let (skills, problems) = found(folder.path(), &ScanOptions::default());
    assert_eq!(skills, ["z/SKILL.md", "z/references/inner/SKILL.md"]);
    assert!(problems.is_empty(), "{problems:?}");
}

#[test]
fn links_inside_a_skill_are_not_followed_and_links_beside_a_skill_in_the_root_are() {
    let elsewhere = tree(&["one/SKILL.md", "two/SKILL.md"]);
    let folder = tree(&["SKILL.md", "b/SKILL.md", "b/c/x"]);
    symlink(elsewhere.path().join("one"), folder.path().join("one")).unwrap();
    symlink(elsewhere.path().join("two"), folder.path().join("b/two")).unwrap();
    assert_eq!(found(folder.path(), &ScanOptions::default()).0, ["SKILL.md", "b/SKILL.md", "one/SKILL.md"]);
}

#[test]
fn folders_that_link_to_each_other_are_visited_once() {
    struct Entered(Vec<PathBuf>);
    impl Visitor<PathBuf> for Entered {
        fn entered(&mut self, path: &Path) {
            self.0.push(path.to_owned());
        }
        fn found(&mut self, _: PathBuf) -> Result<(), SourceError> {
            Ok(())
        }
    }
    let elsewhere = tempfile::tempdir().unwrap();
    let folder = tree(&["a/SKILL.md"]);
    for at in 0..30 {
        let room = elsewhere.path().join(at.to_string());
        fs::create_dir(&room).unwrap();
        for other in 0..30 {
            symlink(format!("../{other}"), room.join(format!("to-{other}"))).unwrap();
        }
    }
    symlink(elsewhere.path(), folder.path().join("maze")).unwrap();
    let mut entered = Entered(Vec::new());
    assert!(walk(folder.path(), &ScanOptions::default(), &OnlyPaths, &mut entered).is_empty());
    assert_eq!(entered.0.len(), 32, "the start, the maze, and its thirty folders");
}

#[test]
fn a_confined_walk_does_not_leave_its_folder() {
    let outside = tree(&["secret/SKILL.md", "notes/SKILL.md"]);
    let folder = tree(&["project/skills/a/SKILL.md", "project/store/b/SKILL.md", "project/skills/c/x"]);
    let (project, skills) = (folder.path().join("project"), folder.path().join("project/skills"));
    symlink("../store/b", skills.join("b")).unwrap();
    symlink(outside.path().join("secret"), skills.join("out")).unwrap();
    symlink(outside.path().join("notes/SKILL.md"), skills.join("c/SKILL.md")).unwrap();
    symlink(outside.path(), project.join("root")).unwrap();
    let held = ScanOptions { within: Some(project.clone()), ..ScanOptions::default() };
    let (found_here, problems) = found(&skills, &held);
    // The link that is a SKILL.md is found, and cannot be read.
    assert_eq!(found_here, ["a/SKILL.md", "b/SKILL.md", "c/SKILL.md"]);
    assert_eq!(problems, ["out"]);
    let root = scan(&project.join("root"), &held);
    assert!(root.skills.is_empty());
    assert!(matches!(root.problems.as_slice(), [SourceError { kind: SourceErrorKind::OutsideProject, .. }]));
    assert_eq!(found(&skills, &ScanOptions::default()).0.len(), 4, "without it links are followed");
    // The folder itself may be reached through a link.
    symlink(&project, folder.path().join("by-link")).unwrap();
    let by_link = ScanOptions { within: Some(folder.path().join("by-link")), ..ScanOptions::default() };
    assert_eq!(found(&skills, &by_link).0.len(), 3);
}

#[test]
fn a_folder_that_becomes_a_link_during_the_walk_does_not_lead_outside() {
    /// Opens everything.
    struct Opens;
    impl Reader for Opens {
        type Skill = (PathBuf, Opened);
        fn known(&self, _: &Path, _: &FileStamp) -> Option<usize> {
            None
        }
        fn read(&self, path: PathBuf, opened: Opened, _: &mut Vec<u8>) -> (PathBuf, Opened) {
            (path, opened)
        }
    }
    /// Replaces `b` by a link once `a` was found, and keeps what is found after that.
    struct Swap {
        project: PathBuf,
        outside: PathBuf,
        found: Vec<PathBuf>,
    }
    impl Visitor<(PathBuf, Opened)> for Swap {
        fn found(&mut self, (path, opened): (PathBuf, Opened)) -> Result<(), SourceError> {
            if self.found.is_empty() {
                fs::rename(self.project.join("b"), self.project.join("old")).unwrap();
                symlink(&self.outside, self.project.join("b")).unwrap();
            }
            assert!(matches!(opened, Opened::File(..)), "{opened:?}");
            self.found.push(path);
            Ok(())
        }
    }
    let outside = tree(&["SKILL.md", "deep/SKILL.md"]);
    let folder = tree(&["a/SKILL.md", "b/SKILL.md", "b/deep/SKILL.md"]);
    let project = folder.path().to_owned();
    let mut swap = Swap { project: project.clone(), outside: outside.path().to_owned(), found: Vec::new() };
    let held = ScanOptions { within: Some(project.clone()), ..ScanOptions::default() };
    let problems = walk(&project, &held, &Opens, &mut swap);
    assert_eq!(swap.found, [project.join("a/SKILL.md")]);
    assert!(
        matches!(problems.as_slice(), [SourceError { kind: SourceErrorKind::OutsideProject, at, .. }] if at.text().ends_with("/b")),
        "{problems:?}"
    );
}

#[test]
fn what_git_ignores_is_left_out_on_request() {
    let folder = tree(&["a/SKILL.md", "out/b/SKILL.md", "x/out/c/SKILL.md"]);
    fs::write(folder.path().join(".gitignore"), "/out/\n").unwrap();
    let options = ScanOptions { gitignore: true, ..ScanOptions::default() };
    assert_eq!(found(folder.path(), &options).0, ["a/SKILL.md", "x/out/c/SKILL.md"]);
    assert_eq!(found(folder.path(), &ScanOptions::default()).0.len(), 3);
}

#[test]
fn the_folder_of_a_bare_file_name_is_the_current_one() {
    let skill = SkillFile { path: PathBuf::from("SKILL.md") };
    assert_eq!(skill.folder(), Path::new("."));
    assert_eq!(skill.origin().folder.as_deref(), Some("prowess"));
}
