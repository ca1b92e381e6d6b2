//! The built-in skills.

use prowess_core::{Origin, RelPath, Scope};

use crate::source::MemorySource;

/// A built-in skill.
#[derive(Clone, Copy, Debug)]
pub struct Builtin {
    /// The name of its folder.
    pub folder: &'static str,
    /// Its SKILL.md.
    pub text: &'static str,
    /// Its other files: paths and texts.
    pub files: &'static [(&'static str, &'static str)],
}

impl Builtin {
    /// Its origin.
    pub fn origin(&self) -> Origin {
        Origin::at(format!("builtin/{}/SKILL.md", self.folder)).in_scope(Scope::Builtin)
    }
}

/// All built-in skills, sorted by name.
pub const BUILTINS: [Builtin; 2] = [
    Builtin {
        folder: "commit-messages",
        text: include_str!("../../skills/commit-messages/SKILL.md"),
        files: &[(
            "references/examples.md",
            include_str!("../../skills/commit-messages/references/examples.md"),
        )],
    },
    Builtin { folder: "pdf-forms", text: include_str!("../../skills/pdf-forms/SKILL.md"), files: &[] },
];

/// The source of the built-in skills.
pub fn source() -> MemorySource {
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
    use prowess_core::{Profile, parse};

    use crate::Registry;

    #[test]
    fn built_in_skills_have_no_problem_under_any_profile() {
        let mut registry = Registry::new();
        registry.add(source());
        registry.refresh().unwrap();
        for skill in BUILTINS {
            let document = parse(skill.text.as_bytes());
            assert_eq!(withheld(&document, skill.folder), None);
            let files = registry.files(skill.folder).unwrap();
            assert_eq!(files.files.len(), 1 + skill.files.len());
            for preset in Preset::ALL {
                let problems = Profile::new(preset).check(&document, Some(&files), &skill.origin());
                assert_eq!(problems, [], "{} under {}", skill.folder, preset.name());
            }
        }
    }
}
