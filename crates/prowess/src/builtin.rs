//! The skills that come with Prowess.

use prowess_core::{Origin, Scope};

/// A skill that is part of the program.
#[derive(Clone, Copy, Debug)]
pub struct Builtin {
    /// The name of its folder.
    pub folder: &'static str,
    /// Its SKILL.md.
    pub text: &'static str,
}

impl Builtin {
    /// Where it comes from.
    pub fn origin(&self) -> Origin {
        Origin::at(format!("builtin/{}/SKILL.md", self.folder)).in_scope(Scope::Builtin)
    }
}

/// All of them, in the order of their names.
pub const BUILTINS: [Builtin; 2] = [
    Builtin { folder: "commit-messages", text: include_str!("../skills/commit-messages/SKILL.md") },
    Builtin { folder: "pdf-forms", text: include_str!("../skills/pdf-forms/SKILL.md") },
];

#[cfg(test)]
mod tests {
    use super::*;
    use prowess_core::rule::Preset;
    use prowess_core::{Manifest, Profile, parse};

    #[test]
    fn built_in_skills_have_no_problem_under_any_profile() {
        for skill in BUILTINS {
            let document = parse(skill.text.as_bytes());
            for preset in Preset::ALL {
                let problems =
                    Profile::new(preset).check(&document, Some(&Manifest::default()), &skill.origin());
                assert_eq!(problems, [], "{} under {}", skill.folder, preset.name());
            }
        }
    }
}
