//! Listing the files of a folder: links, names and limits.

use std::fs::File;
use std::os::unix::fs::symlink;

use super::*;

#[test]
fn of_two_skill_files_that_differ_in_case_one_is_listed() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["SKILL.md", "skill.md", "Skill.MD", "more/skill.md"] {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, name).unwrap();
    }
    let listing = list(folder.path()).unwrap();
    assert_eq!(paths(&listing), ["SKILL.md", "more/skill.md"]);
    let left: Vec<String> =
        listing.manifest.left_out.iter().map(|left| format!("{}: {}", left.path, left.reason)).collect();
    assert_eq!(left.len(), 2, "{left:?}");
    assert!(left[1].ends_with("md: its name and SKILL.md differ only in case"), "{left:?}");
    fs::remove_file(folder.path().join("SKILL.md")).unwrap();
    assert_eq!(paths(&list(folder.path()).unwrap()), ["more/skill.md", "skill.md"]);
}

fn paths(listing: &FileListing) -> Vec<&str> {
    listing.manifest.files.iter().map(|file| file.path.as_str()).collect()
}

#[test]
fn links_are_listed_only_while_they_stay_inside() {
    let folder = tempfile::tempdir().unwrap();
    let skill = folder.path().join("skill");
    fs::create_dir_all(skill.join("references")).unwrap();
    fs::create_dir_all(skill.join(".git")).unwrap();
    for (path, text) in [("SKILL.md", "x"), ("references/a.md", "abc"), (".git/config", ""), ("CON.txt", "")]
    {
        fs::write(skill.join(path), text).unwrap();
    }
    fs::write(folder.path().join("secret"), "s").unwrap();
    symlink("references", skill.join("docs")).unwrap();
    symlink("..", skill.join("references/up")).unwrap();
    symlink("../secret", skill.join("secret")).unwrap();
    symlink("nowhere", skill.join("dangling")).unwrap();
    let listing = list(&skill).unwrap();
    assert_eq!(paths(&listing), ["SKILL.md", "docs/a.md", "references/a.md"]);
    let reasons: Vec<&str> =
        listing.manifest.left_out.iter().map(|skipped| skipped.reason.as_str()).collect();
    assert!(reasons.contains(&"the link leads out of the skill"), "{reasons:?}");
    assert!(reasons.contains(&"the link leads nowhere"), "{reasons:?}");
    assert!(reasons.contains(&"the link leads back to a folder above it"), "{reasons:?}");
    assert_eq!(listing.manifest.left_out.len(), 5, "{reasons:?}");
}

#[test]
fn a_skill_whose_files_are_links_into_a_store_is_complete() {
    let folder = tempfile::tempdir().unwrap();
    let (store, skill) = (folder.path().join("store/pdf"), folder.path().join("skills/pdf"));
    for path in [&store.join("scripts"), &skill] {
        fs::create_dir_all(path).unwrap();
    }
    fs::write(store.join("SKILL.md"), "x").unwrap();
    fs::write(store.join("scripts/run.sh"), "x").unwrap();
    symlink(store.join("SKILL.md"), skill.join("SKILL.md")).unwrap();
    symlink(store.join("scripts"), skill.join("scripts")).unwrap();
    assert_eq!(paths(&list(&skill).unwrap()), ["SKILL.md", "scripts/run.sh"]);
}

#[test]
fn folders_that_link_to_each_other_are_listed_in_bounded_work() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("SKILL.md"), "x").unwrap();
    for one in 0..30 {
        let inner = folder.path().join(format!("d{one:02}"));
        fs::create_dir(&inner).unwrap();
        fs::write(inner.join("note.md"), "x").unwrap();
        for other in (0..30).filter(|other| *other != one) {
            symlink(format!("../d{other:02}"), inner.join(format!("l{other:02}"))).unwrap();
        }
    }
    let listing = list(folder.path()).unwrap();
    let all = paths(&listing);
    for one in 0..30 {
        assert!(all.contains(&format!("d{one:02}/note.md").as_str()));
    }
    assert!(!listing.cut && all.len() <= 1 + 30 + MAX_LISTED_AGAIN, "{} files", all.len());
    assert!(listing.manifest.left_out.iter().any(|left| left.reason.contains("listed already")));
}

#[test]
fn folders_deeper_than_the_limit_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let deep = folder.path().join(vec!["d"; 900].join("/"));
    fs::create_dir_all(&deep).unwrap();
    fs::write(deep.join("x"), "").unwrap();
    fs::write(folder.path().join("d/y"), "").unwrap();
    let listing = list(folder.path()).unwrap();
    assert_eq!(paths(&listing), ["d/y"]);
    assert_eq!(listing.manifest.left_out.len(), 1);
    assert!(listing.manifest.left_out[0].reason.contains("folders deep"));
}

#[test]
fn a_temporary_file_of_a_killed_write_is_not_a_file_of_the_skill() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("SKILL.md"), "x").unwrap();
    for name in [".prowess-12-0.tmp", ".prowess-0123456789abcdef.tmp", ".prowess-notes.tmp"] {
        fs::write(folder.path().join(name), "x").unwrap();
    }
    let listing = list(folder.path()).unwrap();
    assert_eq!(paths(&listing), [".prowess-notes.tmp", "SKILL.md"]);
    // No digest covers it, so the skill cannot be approved with it.
    assert!(listing.uncovered().is_some());
}

#[test]
fn a_list_ends_at_its_limit_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..=MAX_LISTED_ENTRIES {
        File::create(folder.path().join(number.to_string())).unwrap();
    }
    let listing = list(folder.path()).unwrap();
    assert_eq!(listing.manifest.files.len(), MAX_LISTED_ENTRIES);
    assert_eq!(listing.manifest.left_out.len(), 1);
}

#[test]
fn scripts_are_listed_before_a_virtual_environment_reaches_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    let skill = folder.path();
    for (below, number) in [(".venv/lib", MAX_LISTED_ENTRIES), ("scripts", 1), ("notes", 1)] {
        fs::create_dir_all(skill.join(below)).unwrap();
        for at in 0..number {
            fs::write(skill.join(below).join(format!("f{at}")), "").unwrap();
        }
    }
    fs::write(skill.join("SKILL.md"), "").unwrap();
    let listing = list(skill).unwrap();
    assert!(listing.cut && listing.manifest.incomplete);
    for path in ["SKILL.md", "scripts/f0", "notes/f0"] {
        assert!(listing.manifest.contains(&RelPath::parse(path).unwrap()), "{path}");
    }
}

#[test]
fn a_huge_folder_hides_no_other_and_what_is_beyond_the_limit_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let skill = folder.path();
    let many = MAX_LISTED_ENTRIES;
    for (below, number) in [("aaa", many), ("bbb/deep", many), ("bin", 1), ("data/lib", 1), (".venv", 1)] {
        fs::create_dir_all(skill.join(below)).unwrap();
        for at in 0..number {
            File::create(skill.join(below).join(format!("f{at}"))).unwrap();
        }
    }
    let listing = list(skill).unwrap();
    let left_out: Vec<&str> = listing.manifest.left_out.iter().map(|left| left.path.as_str()).collect();
    assert_eq!(left_out, ["aaa", "bbb/deep", ".venv"]);
    for path in ["bin/f0", "data/lib/f0"] {
        assert!(listing.manifest.contains(&RelPath::parse(path).unwrap()), "{path}");
    }
    assert!(listing.manifest.files.len() > MAX_LISTED_ENTRIES - 100 && listing.cut);
}
