//! Names that attack the installer: none leads out of the folder of skills.

use std::fs;
use std::path::Path;

use prowess::install::{
    InstallError, InstallErrorKind, InstallOptions, InstallScope, InstallSpec, Installer,
};

use crate::installer::{Desk, skill};
use crate::installer_attacks::{Canaries, state};

const SCOPE: InstallScope = InstallScope::Project;

/// Adds a skill of a folder under another name.
fn add_as(installer: &Installer, folder: &Path, alias: &str) -> Result<(), InstallError> {
    let spec: InstallSpec = folder.to_str().unwrap().parse()?;
    let mut available = installer.find(SCOPE, &installer.source(&spec)?)?;
    let chosen = available.choose(&[], false)?;
    let skills = installer.prepare(SCOPE, &mut available, &chosen, Some(alias), &mut |_| {})?;
    installer.add(SCOPE, skills, &InstallOptions::default(), &mut |_| {}).map(drop)
}

/// Names that lead out of a folder, or mean something else on some system.
pub(crate) const BAD_NAMES: &[&str] = &[
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
        let folder = desk.installer().install_local(&source, SCOPE);
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
    installer.install_local(&desk.folder("pdf"), SCOPE).unwrap();
    let before = state(&desk.path("project"));
    for name in ["PDF", "Pdf"] {
        let error = add_as(&installer, &desk.folder("other"), name).unwrap_err();
        assert_eq!(error.kind(), InstallErrorKind::Request, "{error}");
        assert!(
            error.hint().to_string().contains("another name")
                && !error.hint().to_string().contains("overwrite"),
            "{error}"
        );
        assert!(error.to_string().contains("pdf") && error.to_string().contains(name), "{error}");
    }
    assert_eq!(state(&desk.path("project")), before);
}
