//! The help of `prowess` itself: the commands in groups, by what a reader wants to do, and tips for words that are none.

use std::fmt::Write as _;

use clap::{Command, CommandFactory as _};

use super::Args;
use crate::ui::wrap;

/// The groups of commands, in the order of the help.
const GROUPS: [(&str, &[&str]); 5] = [
    ("Use skills", &["try", "list", "search", "why", "doctor", "show", "cat", "trust"]),
    ("Install skills", &["add", "remove", "sync", "verify"]),
    ("Write skills", &["new", "check", "rule", "eval"]),
    (
        "Give skills to a model",
        &["prompt", "activate", "tools", "replay", "serve", "connect", "disconnect", "watch"],
    ),
    ("Set up", &["config", "completions", "man", "help"]),
];

/// Examples below the options of each command; others have their own text there.
const EXAMPLES: [(&str, &str); 23] = [
    ("try", "prowess try \"turn these meeting notes into minutes\""),
    ("list", "prowess list --client claude-code\nprowess list --sort cost"),
    ("search", "prowess search fill in a pdf form"),
    ("why", "prowess why pdf-forms\nprowess why pdf-forms --query \"fill in a form\""),
    ("doctor", "prowess doctor\nprowess doctor --fix"),
    ("show", "prowess show ./my-skill"),
    ("cat", "prowess cat code-review\nprowess cat code-review references/checklist.md"),
    ("trust", "prowess trust pdf-forms\nprowess trust --list"),
    ("remove", "prowess remove pdf-forms"),
    ("sync", "prowess sync\nprowess sync --frozen"),
    ("verify", "prowess verify"),
    ("new", "prowess new my-skill\nprowess new my-skill --with evals"),
    (
        "check",
        "prowess check skills\nprowess check skills --diff\nprowess check - --path my-skill/SKILL.md < SKILL.md",
    ),
    ("rule", "prowess rule\nprowess rule name-folder-mismatch"),
    ("eval", "prowess eval skills\nprowess eval skills --overlap"),
    ("prompt", "prowess prompt\nprowess prompt --in skills"),
    ("activate", "prowess activate code-review"),
    ("tools", "prowess tools"),
    ("replay", "prowess replay calls.jsonl --in skills"),
    ("serve", "prowess serve\nprowess serve --http 7878 --token-file tokens.toml"),
    ("connect", "prowess connect claude-code\nprowess connect claude-code --write"),
    ("disconnect", "prowess disconnect claude-code --write"),
    ("config", "prowess config\nprowess config set scan.depth 3"),
];

/// The columns that the list of commands is written for.
const COLUMNS: usize = 80;

/// Words that people try as commands, each with what to run in its place.
const TIPS: [(&[&str], &str); 16] = [
    (&["update", "upgrade"], "take the newest version of a skill with: prowess add SOURCE, as you added it"),
    (&["outdated"], "see what another version would change with: prowess add SOURCE --dry-run"),
    (&["get", "i"], "install skills with: prowess add SOURCE"),
    (&["delete", "prune"], "remove an installed skill with: prowess remove NAME"),
    (
        &["init", "create", "generate"],
        "write a new skill with: prowess new NAME; install one with: prowess add SOURCE",
    ),
    (&["version"], "see the version with: prowess --version"),
    (&["status"], "compare installed skills with: prowess verify; see all problems with: prowess doctor"),
    (
        &["disable", "enable"],
        "turn skills off in prowess.toml, with disable in [skills]; for one command, with --except NAME",
    ),
    (&["ci"], "in CI, install what the lock names with: prowess sync --locked --yes"),
    (&["validate", "fmt", "format"], "check skills with: prowess check"),
    (&["fix", "repair"], "fix skills with: prowess check --fix; see all problems with: prowess doctor"),
    (&["test"], "test whether skills are found for their tasks with: prowess eval"),
    (
        &["view", "open", "read"],
        "look at a skill with: prowess show NAME; read its files with: prowess cat NAME",
    ),
    (&["run", "use"], "print the instructions of a skill with: prowess activate NAME"),
    (
        &["export", "publish"],
        "put the folder of a skill into a git repository; others install it with: prowess add OWNER/REPO",
    ),
    (&["mcp"], "serve skills over MCP with: prowess serve"),
];

/// What to run in place of a word that is no command.
pub(crate) fn tip(word: &str) -> Option<&'static str> {
    TIPS.iter().find(|(words, _)| words.contains(&word)).map(|(_, tip)| *tip)
}

/// The whole grammar, with the commands grouped in its help.
pub(crate) fn command() -> Command {
    let mut command = Args::command();
    for (name, lines) in EXAMPLES {
        command = command.mut_subcommand(name, |command| {
            let lines: String = lines.lines().map(|line| format!("\n  {line}")).collect();
            command.after_help(format!("Examples:{lines}"))
        });
    }
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
            // What does not fit goes on in the next line, below the words.
            let words = wrap(&format!("{about}{aliases}"), COLUMNS - width - 4, &" ".repeat(width + 4));
            let _ = writeln!(text, "  {:width$}  {}", command.get_name(), words.trim());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_command_has_examples_and_the_list_fits_80_columns() {
        let mut built = command();
        built.build();
        for command in built.get_subcommands().filter(|command| !command.is_hide_set()) {
            let has_text =
                command.get_after_help().is_some() || matches!(command.get_name(), "help" | "watch");
            assert!(has_text, "{}", command.get_name());
        }
        for line in groups(&built).lines() {
            assert!(line.len() <= COLUMNS, "{line}");
        }
    }

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

    #[test]
    fn no_tip_is_about_a_command_and_each_word_has_one_tip() {
        let mut built = command();
        built.build();
        let mut words: Vec<&str> = TIPS.iter().flat_map(|(words, _)| words.iter().copied()).collect();
        for word in &words {
            assert!(built.find_subcommand(word).is_none(), "{word}");
        }
        let all = words.len();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), all);
    }
}
