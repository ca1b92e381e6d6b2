//! The built-in skills: useful by themselves, and available when a user has no skills yet.

use prowess_core::{RelPath, Scope};

use crate::source::MemorySource;

/// A built-in skill.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Builtin {
    /// The name of its folder.
    pub folder: &'static str,
    /// Its SKILL.md.
    pub text: &'static str,
    /// Its other files: paths and texts.
    pub files: &'static [(&'static str, &'static str)],
}

/// One built-in skill from its folder in `skills/`.
macro_rules! builtin {
    ($folder:literal $(, $file:literal)*) => {
        Builtin {
            folder: $folder,
            text: include_str!(concat!("../../skills/", $folder, "/SKILL.md")),
            files: &[$(($file, include_str!(concat!("../../skills/", $folder, "/", $file)))),*],
        }
    };
}

/// All built-in skills, sorted by name.
pub(crate) const BUILTINS: &[Builtin] = &[
    builtin!("code-review", "references/checklist.md"),
    builtin!("commit-messages", "references/examples.md"),
    builtin!("csv-report", "scripts/profile.py"),
    builtin!("debugging"),
    builtin!("meeting-minutes", "assets/minutes.md"),
    builtin!("pdf-forms", "scripts/form.py"),
    builtin!("release-notes", "references/voice.md", "scripts/changes.sh"),
    builtin!("using-prowess", "references/commands.md"),
    builtin!("writing-skills", "assets/skill-template.md", "references/descriptions.md"),
];

/// Whether a built-in skill has this name.
pub fn is_builtin(name: &str) -> bool {
    BUILTINS.iter().any(|skill| skill.folder == name)
}

/// The names of the built-in skills.
pub fn builtin_names() -> impl Iterator<Item = &'static str> {
    BUILTINS.iter().map(|skill| skill.folder)
}

/// The source of the built-in skills.
pub(crate) fn source() -> MemorySource {
    let source = MemorySource::new("builtin");
    for skill in BUILTINS {
        source.insert(skill.folder, skill.text, Scope::Builtin);
        for (path, text) in skill.files {
            // These paths are constants, and a test reads each.
            if let Ok(path) = RelPath::parse(path) {
                source.insert_file(skill.folder, path, *text);
            }
        }
    }
    source
}

#[cfg(test)]
mod tests {
    use super::*;
    use prowess_core::finding::Preset;
    use prowess_core::internal::withheld;
    use prowess_core::{Origin, Profile, parse};

    use crate::{DirSource, Registry, ScanOptions};

    #[test]
    fn built_in_skills_have_no_problem_under_any_profile() {
        let mut registry = Registry::new();
        registry.add(source());
        registry.refresh().unwrap();
        for skill in BUILTINS {
            let document = parse(skill.text.as_bytes());
            assert_eq!(withheld(&document, skill.folder), None);
            // Every user gets these, and clients may grant the tools without asking.
            assert_eq!(registry.get(skill.folder).unwrap().entry.allowed_tools, None, "{}", skill.folder);
            let files = registry.files(skill.folder).unwrap();
            assert_eq!(files.files.len(), 1 + skill.files.len());
            for &preset in Preset::ALL {
                let at = Origin::at(format!("builtin/{}/SKILL.md", skill.folder)).with_scope(Scope::Builtin);
                let problems = Profile::new(preset).check(&document, Some(&files), &at);
                assert_eq!(problems, [], "{} under {}", skill.folder, preset.name());
            }
        }
    }

    #[test]
    fn every_file_of_the_built_in_skills_is_carried() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/skills");
        let mut registry = Registry::new();
        registry.add(DirSource::new(folder, ScanOptions::default()));
        registry.refresh().unwrap();
        let listed: Vec<String> = registry.catalog().iter().map(|skill| skill.entry.key.clone()).collect();
        assert_eq!(listed, BUILTINS.iter().map(|skill| skill.folder).collect::<Vec<_>>());
        for skill in BUILTINS {
            let files = registry.files(skill.folder).unwrap();
            let mut files: Vec<&str> = files.files.iter().map(|file| file.path.as_str()).collect();
            let mut carried: Vec<&str> =
                skill.files.iter().map(|(path, _)| *path).chain(["SKILL.md"]).collect();
            files.sort_unstable();
            carried.sort_unstable();
            assert_eq!(files, carried, "{}", skill.folder);
        }
    }
}
