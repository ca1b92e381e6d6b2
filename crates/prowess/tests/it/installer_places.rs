//! Projects whose folders and records are links: nothing is written where they lead out, into `.git` or to nothing.

use std::fs;
use std::os::unix::fs::symlink;

use prowess::install::{InstallErrorKind, InstallOptions, InstallScope};

use crate::installer::Desk;

const SCOPE: InstallScope = InstallScope::Project;

#[test]
fn nothing_is_written_into_the_git_folder_of_a_project() {
    for (link, target) in [
        (".agents/skills", "../.git"),
        (".agents/skills", "../vendor/../.git/hooks"),
        (".agents", ".git"),
        ("skills.lock", ".git/lock"),
        ("skills.toml", ".git/toml"),
    ] {
        let desk = Desk::new();
        let git = desk.path("project/.git");
        fs::create_dir_all(if target.ends_with("hooks") { git.join("hooks") } else { git.clone() }).unwrap();
        fs::create_dir_all(desk.path("project/vendor")).unwrap();
        fs::write(git.join("lock"), "version = 1\n").unwrap();
        fs::write(git.join("toml"), "").unwrap();
        if link.contains('/') {
            fs::create_dir_all(desk.path("project/.agents")).unwrap();
        }
        symlink(target, desk.path("project").join(link)).unwrap();
        let source = desk.folder("hooks");
        fs::write(source.join("pre-commit"), "#!/bin/sh\n").unwrap();
        let error = desk.installer().install_local(&source, SCOPE).unwrap_err();
        assert_eq!(error.kind(), InstallErrorKind::Refused, "{link}: {error}");
        assert!(error.to_string().contains("into .git") && error.to_string().contains(link), "{error}");
        assert!(!git.join("hooks/pre-commit").exists() && !git.join("hooks/hooks").exists(), "{link}");
        assert!(!git.join("skills").exists(), "{link}");
        assert_eq!(fs::read_to_string(git.join("lock")).unwrap(), "version = 1\n", "{link}");
    }
}

#[test]
fn no_link_for_a_client_is_written_into_the_git_folder_of_a_project() {
    let desk = Desk::new();
    fs::create_dir_all(desk.path("project/.git/hooks")).unwrap();
    fs::create_dir_all(desk.path("project/.claude")).unwrap();
    symlink("../.git/hooks", desk.path("project/.claude/skills")).unwrap();
    let (installer, source) = (desk.installer(), desk.folder("pre-commit"));
    let spec = source.to_str().unwrap().parse().unwrap();
    let mut available = installer.find(SCOPE, &installer.source(&spec).unwrap()).unwrap();
    let skills = installer.prepare(SCOPE, &mut available, &[0], None, &mut |_| {}).unwrap();
    let mut options = InstallOptions::default();
    options.clients = vec!["claude-code".to_owned()];
    let error = installer.add(SCOPE, skills, &options, &mut |_| {}).unwrap_err();
    assert!(error.to_string().contains("into .git"), "{error}");
    assert_eq!(fs::read_dir(desk.path("project/.git/hooks")).unwrap().count(), 0);
    assert!(!desk.path("project/.agents").exists());
}

#[test]
fn a_record_that_is_a_link_to_nothing_is_an_error_that_says_to_remove_the_link() {
    for record in ["skills.lock", "skills.toml"] {
        let desk = Desk::new();
        symlink("nothing", desk.path("project").join(record)).unwrap();
        let error = desk.installer().install_local(&desk.folder("pdf"), SCOPE).unwrap_err();
        assert!(
            error.to_string().contains("leads to nothing") && error.to_string().contains(record),
            "{error}"
        );
        assert!(error.hint().to_string().contains("remove the link"), "{}", error.hint());
        assert!(!desk.path("project/.agents").exists() && !desk.path("project/nothing").exists());
    }
}
