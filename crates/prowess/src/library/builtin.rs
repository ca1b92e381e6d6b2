//! The skills that come with Prowess.

use prowess_core::{Origin, RelPath, Scope};

use crate::source::MemorySource;

/// A skill that is part of the program.
#[derive(Clone, Copy, Debug)]
pub struct Builtin {
    /// The name of its folder.
    pub folder: &'static str,
    /// Its SKILL.md.
    pub text: &'static str,
    /// Its other files: path and text.
    pub files: &'static [(&'static str, &'static str)],
}

impl Builtin {
    /// Where it comes from.
    pub fn origin(&self) -> Origin {
        Origin::at(format!("builtin/{}/SKILL.md", self.folder)).in_scope(Scope::Builtin)
    }
}

/// All of them, in the order of their names.
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

/// The source that has them.
pub fn source() -> MemorySource {
    let source = MemorySource::new("builtin");
    for skill in BUILTINS {
        source.insert(skill.folder, skill.text, Scope::Builtin);
        for (path, text) in skill.files {
            // The paths are written above; a test reads each.
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
