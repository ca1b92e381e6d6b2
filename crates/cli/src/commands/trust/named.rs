//! What the argument of `prowess trust` names: a skill or a folder.

use std::path::Path;

use prowess::fs::walk::FILE_NAMES;

use crate::commands::skill_arg::{begins_as_path, is_server_location};
use crate::error::{CommandError, Failure};
use crate::ui::clean;
use crate::ui::command::command_for;

/// What a text names, by its spelling alone: a repository could have a folder with the name of a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Named {
    /// A skill, by its name or its location.
    Skill,
    /// A folder.
    Folder,
    /// A text with a slash that does not begin as a path does: a folder, or a skill with a slash in its name.
    Either,
}

impl Named {
    pub(super) fn of(what: &str) -> Self {
        if is_server_location(what) || is_skill_file(what) {
            return Self::Skill;
        }
        if begins_as_path(what) {
            return Self::Folder;
        }
        if what.contains(['/', '\\']) { Self::Either } else { Self::Skill }
    }
}

/// Whether this is the path of the file of a skill.
pub(super) fn is_skill_file(what: &str) -> bool {
    let path = Path::new(what);
    what.contains(['/', '\\']) && FILE_NAMES.iter().any(|name| path.ends_with(name)) && !path.is_dir()
}

/// The error for a text that names both a skill and a folder.
pub(super) fn ambiguous(verb: &str, what: &str, locations: &[String]) -> CommandError {
    let error = format!("this is the name of a skill and of a folder: {}", clean(what));
    let folder = command_for(verb, &format!("./{what}"), "");
    let mut failure = Failure::new(error, format!("for the folder: {folder}"));
    failure.hints.extend(
        locations.iter().map(|place| format!("for the skill: {}", command_for(verb, place, "")).into()),
    );
    failure.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_spelling_decides_what_is_named() {
        for (what, named) in [
            ("pdf", Named::Skill),
            ("team:refunds", Named::Skill),
            ("mcp:team:skill://refunds/SKILL.md", Named::Skill),
            ("/p/pdf/SKILL.md", Named::Skill),
            (".claude/skills/pdf/skill.md", Named::Skill),
            ("SKILL.md", Named::Skill),
            (".", Named::Folder),
            ("..", Named::Folder),
            ("./team/pdf", Named::Folder),
            ("/", Named::Folder),
            ("~", Named::Folder),
            ("team/pdf", Named::Either),
            ("a\\b", Named::Either),
        ] {
            assert_eq!(Named::of(what), named, "{what}");
        }
    }
}
