//! Words in messages: paths, names and causes as people read them, and commands that can be copied and run.

use std::path::Path;

use prowess_core::finding::rule::Preset;

/// A path as people know it: without the `./` that a walk of the current folder begins with.
pub(crate) fn shown(path: &Path) -> std::path::Display<'_> {
    path.strip_prefix(".").ok().filter(|rest| !rest.as_os_str().is_empty()).unwrap_or(path).display()
}

/// A text from outside on one line, with nothing in it that controls a terminal or is hidden. What is made harmless
/// twice does not grow.
pub fn escape_control(text: &str) -> String {
    prowess_core::text::inline(text).into_owned()
}

/// A text as a shell takes it for one word, so that a command that names it can be copied and run.
pub fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ':' | '.' | '/');
    if !text.is_empty() && !text.starts_with('-') && text.chars().all(plain) {
        return text.to_owned();
    }
    let quoted = format!("'{}'", escape_control(text).replace('\'', r"'\''"));
    if text.starts_with('-') { format!("-- {quoted}") } else { quoted }
}

/// A command about a skill, to be copied and run. The options, each after a space, say again where the skill was found.
pub fn command_for(verb: &str, name: &str, options: &str) -> String {
    let word = shell_word(name);
    // Behind `--` nothing is an option any more.
    if name.starts_with('-') {
        format!("prowess {verb}{options} {word}")
    } else {
        format!("prowess {verb} {word}{options}")
    }
}

/// A message of the system without its number and its capital letter.
pub fn plain_cause(message: &str) -> String {
    let words = message.split(" (os error").next().unwrap_or(message);
    let mut characters = words.chars();
    match (characters.next(), characters.clone().next()) {
        (Some(first), Some(second)) if first.is_uppercase() && second.is_lowercase() => {
            first.to_lowercase().chain(characters).collect()
        }
        _ => words.to_owned(),
    }
}

/// The command that shows every problem of a SKILL.md, by the profile that found it broken.
pub fn check_command(path: &str, profile: Option<Preset>) -> String {
    let options = profile.map(|profile| format!(" --profile {}", profile.name())).unwrap_or_default();
    command_for("check", path, &options)
}

/// The keys that may have been meant.
pub(super) fn also(similar: &[String]) -> String {
    if similar.is_empty() { String::new() } else { format!("; did you mean {}?", similar.join(" or ")) }
}

/// A name, and the key of the skill when that is another.
pub(super) fn called(name: &str, key: &str) -> String {
    if name == key {
        escape_control(key)
    } else {
        format!("{}, which is called {}", escape_control(name), escape_control(key))
    }
}

/// A reason behind a colon, if there is one.
pub(super) fn after_colon(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(": {}", escape_control(reason)) }
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
    fn causes_are_lower_case_and_carry_no_numbers() {
        assert_eq!(plain_cause("Permission denied (os error 13)"), "permission denied");
        assert_eq!(plain_cause("YAML is hard"), "YAML is hard");
        assert_eq!(plain_cause(""), "");
    }

    #[test]
    fn what_is_made_harmless_twice_is_as_after_the_first_time() {
        let text = "\u{1b}[31m it's \"C:\\x\"\n\u{202e}é\\";
        let safe = escape_control(text);
        assert_eq!(safe, "\\u{1b}[31m it's \"C:\\x\"\\n\\u{202e}é\\");
        assert_eq!(escape_control(&safe), safe);
        assert_eq!(escape_control(""), "");
    }
}
