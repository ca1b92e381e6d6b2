//! Commands of this program as text that can be copied and run.

use std::borrow::Cow;
use std::path::Path;

use prowess::internal::escape_control;
use prowess::path::Glob;
use prowess::source::spec::Place;
use prowess::{Preset, env};

use super::clean;
use crate::args::{Places, Scan};

impl Places {
    /// The options that say where to look for skills, as text after a command. Without them, the command would look
    /// elsewhere.
    pub(crate) fn options(&self) -> String {
        let sources = self.sources.iter().map(|source| match source.place {
            Place::Dir(_) | Place::Plugin(_) | Place::Archive(_) | Place::Jsonl(_) | Place::Inline { .. } => {
                ("--in", source.to_string())
            }
            // An address or the arguments of a program may hold secrets, which messages do not repeat.
            _ => ("--in", "SPEC".to_owned()),
        });
        let client = self.clients.iter().map(|client| ("--client", client.clone()));
        let globs = |option, globs: &[Glob]| {
            let globs: Vec<String> = globs.iter().map(ToString::to_string).collect();
            (!globs.is_empty()).then(|| (option, globs.join(",")))
        };
        let Scan { only, except, strict, .. } = &self.scan;
        let strict = strict.map(|profile| ("--strict", profile.name().to_owned()));
        let chosen = globs("--only", only).into_iter().chain(globs("--except", except)).chain(strict);
        sources
            .chain(client)
            .chain(chosen)
            .map(|(option, value)| format!(" {option}{}", value_of(&value)))
            .collect()
    }
}

/// The value of an option, with the separator before it.
pub(crate) fn value_of(value: &str) -> String {
    match shell_word(value).strip_prefix("-- ") {
        Some(word) => format!("={word}"),
        None => format!(" {}", shell_word(value)),
    }
}

/// A text as one word of a shell, so that a command that contains it can be copied and run.
pub(crate) fn shell_word(text: &str) -> String {
    let word = quoted_word(text);
    if text.starts_with('-') { format!("-- {word}") } else { word }
}

/// A text in quotes, unless it is a plain word: for prose beside a command, so that a line that is copied whole runs
/// nothing of it.
pub(crate) fn quoted_word(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ':' | '.' | '/' | '@');
    if !text.is_empty() && !text.starts_with('-') && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", escape_control(text).replace('\'', r"'\''"))
}

/// A command about a skill. The options, each after a space, repeat where the skill was looked for.
pub(crate) fn command_for(verb: &str, name: &str, options: &str) -> String {
    let word = shell_word(name);
    // After `--`, nothing is an option.
    if name.starts_with('-') {
        format!("prowess {verb}{options} {word}")
    } else {
        format!("prowess {verb} {word}{options}")
    }
}

/// The command that shows every problem of a SKILL.md, by the profile that found it broken.
pub(crate) fn check_command(path: &str, profile: Option<Preset>) -> String {
    let options = profile.map(|profile| format!(" --profile {}", profile.name())).unwrap_or_default();
    command_for("check", path, &options)
}

/// A path as one word of a shell. `None` if it is not UTF-8, or if a terminal cannot show it as it is: then no command can
/// name it.
pub(crate) fn word(path: &Path) -> Option<String> {
    let text = path.to_str()?;
    let shown = clean(text);
    matches!(shown, Cow::Borrowed(_)).then(|| shell_word(text))
}

/// The command that trusts a folder.
pub(crate) fn trust_command(folder: &Path) -> String {
    if folder == env::absolute(Path::new(".")) {
        return "prowess trust".to_owned();
    }
    format!("prowess trust {}", shell_word(&folder.to_string_lossy()))
}

/// The command that trusts the skills of an MCP server with their current files.
pub(crate) fn server_command(label: &str, options: &str) -> String {
    format!("prowess trust --server{}{options}", value_of(label))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_for_a_shell_is_quoted_where_it_must_be() {
        assert_eq!(shell_word("team:pdf-tools"), "team:pdf-tools");
        assert_eq!(shell_word("it's"), r"'it'\''s'");
        assert_eq!(shell_word("-x"), "-- '-x'");
        assert_eq!(shell_word(""), "''");
        assert_eq!(command_for("why", "pdf", " --in team"), "prowess why pdf --in team");
        assert_eq!(command_for("why", "-x", " --in team"), "prowess why --in team -- '-x'");
    }

    #[test]
    fn a_path_that_cannot_be_shown_is_in_no_command() {
        assert_eq!(word(Path::new("/a/b c")).as_deref(), Some("'/a/b c'"));
        assert_eq!(word(Path::new("/a/\u{1b}[2J")), None);
        assert_eq!(word(Path::new("/a/\u{202e}b")), None);
    }
}
