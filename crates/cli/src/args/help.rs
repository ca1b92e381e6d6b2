//! The help of `prowess` itself: the commands in groups, by what a reader wants to do.

use std::fmt::Write as _;

use clap::{Command, CommandFactory as _};

use super::Args;

/// The groups of commands, in the order of the help.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Use skills", &["try", "list", "search", "why", "doctor", "show", "cat", "trust"]),
    ("Install skills", &["add", "remove", "sync", "verify"]),
    ("Write skills", &["new", "check", "rule", "eval"]),
    (
        "Give skills to a model",
        &["prompt", "activate", "tools", "replay", "serve", "connect", "disconnect", "watch"],
    ),
    ("Set up", &["completions", "man", "help"]),
];

/// The whole grammar, with the commands grouped in its help.
pub(crate) fn command() -> Command {
    let mut command = Args::command();
    // The command `help` exists only in a command that is built.
    let mut built = command.clone();
    built.build();
    let template = format!(
        "{{before-help}}{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{}\nOptions:\n{{options}}{{after-help}}",
        groups(&built)
    );
    command = command.help_template(template);
    command
}

fn groups(built: &Command) -> String {
    let width = GROUPS.iter().flat_map(|(_, names)| *names).map(|name| name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (title, names) in GROUPS {
        let _ = writeln!(text, "\n{title}:");
        for command in names.iter().filter_map(|name| built.find_subcommand(name)) {
            let about = command.get_about().map(ToString::to_string).unwrap_or_default();
            let aliases: Vec<&str> = command.get_visible_aliases().collect();
            let aliases =
                if aliases.is_empty() { String::new() } else { format!(" [also: {}]", aliases.join(", ")) };
            let _ = writeln!(text, "  {:width$}  {about}{aliases}", command.get_name());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        let mut built = Args::command();
        built.build();
        let all: BTreeSet<&str> =
            built.get_subcommands().filter(|command| !command.is_hide_set()).map(Command::get_name).collect();
        let grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        assert_eq!(grouped.iter().copied().collect::<BTreeSet<_>>(), all);
        assert_eq!(grouped.len(), all.len());
    }
}
