//! Every key of `prowess.toml`: the one table behind the reader, its hints and the reference page.

use prowess_core::limits::{MAX_ACTIVATION_BYTES, MAX_KEPT_BYTES};
use serde_json::Value;

use self::ConfigDefault::{Flag, Number, NumberBut, Pattern, Text, Words};
use crate::source::spec::SOURCE_KEYS;

/// A table of `prowess.toml`.
#[derive(Debug)]
#[non_exhaustive]
pub struct ConfigTable {
    /// Its name, with dots.
    pub name: &'static str,
    /// Whether there may be several, each in `[[double brackets]]`.
    pub is_list: bool,
    /// What it is for, and what the file of a project may set.
    pub about: &'static str,
    /// Its keys, in the order of the documentation.
    pub keys: &'static [ConfigKey],
    /// A text with every key.
    pub example: &'static str,
}

/// A key of a table.
#[derive(Debug)]
#[non_exhaustive]
pub struct ConfigKey {
    /// Its name.
    pub name: &'static str,
    /// What its value is.
    pub value: &'static str,
    /// What applies without it.
    pub default: ConfigDefault,
    /// What it does.
    pub meaning: &'static str,
    /// The type of its value.
    pub kind: ConfigKind,
    /// What its value in the file of a project does.
    pub project: InProject,
    /// The option with the same meaning; empty if there is none.
    pub option: &'static str,
}

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigKind {
    /// A text.
    Text,
    /// True or false.
    Flag,
    /// A number.
    Number,
    /// A list of texts.
    Texts,
    /// A table with a text for each name.
    Map,
    /// A list of tables.
    Tables,
}

/// What applies without a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigDefault {
    /// True or false.
    Flag(bool),
    /// A number.
    Number(usize),
    /// A number, and words about where it does not apply.
    NumberBut(usize, &'static str),
    /// A text.
    Text(&'static str),
    /// Not a value of this key, but written as one.
    Pattern(&'static str),
    /// No value, in words.
    Words(&'static str),
}

impl ConfigDefault {
    /// The value, if it is one.
    pub fn value(self) -> Option<Value> {
        match self {
            Self::Flag(flag) => Some(flag.into()),
            Self::Number(number) | Self::NumberBut(number, _) => Some(number.into()),
            Self::Text(text) => Some(text.into()),
            Self::Pattern(_) | Self::Words(_) => None,
        }
    }

    /// In words, with this mark around a value.
    pub fn words(self, mark: &str) -> String {
        let (value, words) = match self {
            Self::Words(words) => return words.to_owned(),
            Self::Pattern(pattern) => (pattern.to_owned(), ""),
            Self::NumberBut(number, words) => (number.to_string(), words),
            Self::Flag(_) | Self::Number(_) | Self::Text(_) => {
                (self.value().map(|value| value.to_string()).unwrap_or_default(), "")
            }
        };
        format!("{mark}{value}{mark}{words}")
    }
}

/// What a value in the file of a project does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InProject {
    /// It alone counts: that of the user's own file does not.
    Decides,
    /// It counts for the project's own skills, beside those of the user and of the option.
    Adds,
    /// The same, but the option replaces both.
    AddsWithoutOption,
    /// It counts once the project is trusted, where the user's own file has none.
    Trusted,
    /// The same, but before the project is trusted, a value that finds less counts too.
    Narrows,
    /// It counts once the project is trusted, if it is lower.
    Lowers,
    /// It never counts.
    Nothing,
}

pub(crate) const fn key(
    name: &'static str,
    value: &'static str,
    default: ConfigDefault,
    meaning: &'static str,
) -> ConfigKey {
    let (kind, project) = (ConfigKind::Text, InProject::Trusted);
    ConfigKey { name, value, default, meaning, kind, project, option: "" }
}

impl ConfigKey {
    const fn kind(self, kind: ConfigKind) -> Self {
        Self { kind, ..self }
    }

    const fn project(self, project: InProject) -> Self {
        Self { project, ..self }
    }

    const fn option(self, option: &'static str) -> Self {
        Self { option, ..self }
    }
}

/// Every table, in the order of the documentation.
pub static CONFIG_TABLES: [ConfigTable; 7] = [
    ConfigTable {
        name: "check",
        is_list: false,
        about: "How `prowess check` judges the skills in and below the folder of the file. Your own file has no effect \
                here: the levels of a project are the same for everyone.",
        keys: &[
            key(
                "profile",
                "the name of a profile",
                Text("spec"),
                "the profile to check by; `--profile` has precedence",
            ).project(InProject::Decides).option("--profile"),
            key(
                "levels",
                "a table: `off`, `info`, `warning` or `error` for each rule",
                Words("those of the profile"),
                "the level of single rules; a rule that keeps a skill from loading cannot be lowered",
            ).kind(ConfigKind::Map).project(InProject::Decides),
            key(
                "paths",
                "a list of tables",
                Words("none"),
                "settings for some paths only; of two that match, the later one counts",
            ).kind(ConfigKind::Tables).project(InProject::Decides),
        ],
        example: "[check]\nprofile = \"anthropic\"\nlevels = { name-folder-mismatch = \"off\" }\n\
                  paths = [{ glob = \"vendor/**\", ignore = true }]\n",
    },
    ConfigTable {
        name: "check.paths",
        is_list: true,
        about: "Settings for the paths that a glob matches. At most 1 024.",
        keys: &[
            key(
                "glob",
                "a glob",
                Words("required"),
                "the paths, relative to the folder of the file; `*` matches within a folder, `**` across folders",
            ),
            key("ignore", "true or false", Flag(false), "whether these paths are not checked"),
            key("levels", "as in `[check]`", Words("none"), "the level of single rules for these paths"),
        ],
        example: "[[check.paths]]\nglob = \"drafts/*\"\nignore = false\nlevels = { description-too-long = \"warning\" }\n",
    },
    ConfigTable {
        name: "skills",
        is_list: false,
        about: "Which skills are offered. The file of a project applies to the project's own skills only, and its \
                `duplicates` once the project is trusted; it cannot undo `enable`, `disable` or `strict` of your own file.",
        keys: &[
            key(
                "enable",
                "a list of names",
                Words("every skill"),
                "offers only skills with these names; `*` matches any text",
            ).kind(ConfigKind::Texts).project(InProject::Adds).option("--only"),
            key(
                "disable",
                "a list of names, at most 1 024",
                Words("none"),
                "hides skills with these names; `*` matches any text",
            ).kind(ConfigKind::Texts).project(InProject::Adds).option("--except"),
            key(
                "strict",
                "the name of a profile",
                Words("none"),
                "hides skills that have an error under this profile",
            ).project(InProject::AddsWithoutOption).option("--strict"),
            key(
                "duplicates",
                "`\"first\"`, `\"last\"` or `\"error\"`",
                Text("first"),
                "which of two skills with the same key is offered",
            ).option("--duplicates"),
            key("sources", "a list of tables", Words("none"), "more places with skills").kind(ConfigKind::Tables).project(InProject::AddsWithoutOption).option("--in"),
        ],
        example: "[skills]\nenable = [\"pdf-*\", \"mail\"]\ndisable = [\"draft-*\"]\nstrict = \"spec\"\n\
                  duplicates = \"first\"\nsources = [{ dir = \"vendor/skills\" }]\n",
    },
    ConfigTable {
        name: "skills.sources",
        is_list: true,
        about: "A place with skills, and how they appear; `--in` takes the same keys. Exactly one key names the place: \
                `dir`, `plugin`, `archive`, `jsonl`, `url`, `mcp`, or `name` with a `description`. At most 256. Skills of a \
                source in a project's file are used once their folder is trusted; a `url` there is not requested before \
                that, and an `mcp` never.",
        keys: SOURCE_KEYS,
        example: "[[skills.sources]]\ndir = \"vendor/skills\"\nprefix = \"vendor\"\nmount_as = \"third-party\"\n\
                  key_from = \"folder\"\noptional = true\n\n\
                  [[skills.sources]]\npath = \"@acme/invoices\"\n\n\
                  [[skills.sources]]\nplugin = \"my-plugin\"\n\n\
                  [[skills.sources]]\narchive = \"tools.skill\"\n\n\
                  [[skills.sources]]\njsonl = \"team.jsonl\"\npreload = true\n\n\
                  [[skills.sources]]\nurl = \"https://skills.example.com\"\nca_file = \"company.pem\"\nunlisted = true\n\n\
                  [[skills.sources]]\nmcp = \"https://example.com/mcp\"\ntoken_file = \"~/.config/example/token\"\n\n\
                  [[skills.sources]]\nname = \"greet\"\ndescription = \"Says hello.\"\ninstructions = \"Say hello.\"\n",
    },
    ConfigTable {
        name: "scan",
        is_list: false,
        about: "How folders are searched: those where agents keep skills and those that the file names, not those of \
                `--in`. The file of a project can only narrow the search before the project is trusted.",
        keys: &[
            key(
                "depth",
                "a number",
                NumberBut(6, ", or unlimited for your own sources"),
                "how many levels of folders are searched",
            ).kind(ConfigKind::Number).project(InProject::Narrows).option("--depth"),
            key(
                "nested",
                "true or false",
                Flag(true),
                "whether skills are found inside a skill, and beside a `SKILL.md` at the top of a source",
            ).kind(ConfigKind::Flag).project(InProject::Narrows).option("--no-nested"),
            key("skip", "a list of texts", Words("none"), "folders whose name begins with one of these are skipped").kind(ConfigKind::Texts).project(InProject::Adds).option("--skip"),
        ],
        example: "[scan]\ndepth = 2\nnested = false\nskip = [\"_\"]\n",
    },
    ConfigTable {
        name: "session",
        is_list: false,
        about: "The defaults of sessions, for `activate`, `prompt`, `replay`, `serve`, `tools` and `why`. The file of a \
                project is used once the project is trusted; there, `plain`, `inline` and \
                `location` have no effect, and the two limits can only be lower.",
        keys: &[
            key(
                "filter",
                "a glob of virtual paths, or `\"none\"`",
                Words("every skill"),
                "the skills that sessions see; `--filter` has precedence",
            ).option("--filter"),
            key(
                "tools",
                "a list of names",
                Words("no limit"),
                "the tools of the host: skills are granted no others, and prompts leave out skills that need others; `[]` for none",
            ).kind(ConfigKind::Texts).option("--tools"),
            key("plain", "true or false", Flag(false), "activations without a wrapper").kind(ConfigKind::Flag).project(InProject::Nothing),
            key("inline", "true or false", Flag(false), "activations with the text of the skill's files").kind(ConfigKind::Flag).project(InProject::Nothing),
            key("location", "true or false", Flag(false), "prompts with the location of each `SKILL.md`").kind(ConfigKind::Flag).project(InProject::Nothing),
            key("max_activation_bytes", "a number", Number(MAX_ACTIVATION_BYTES), "the maximum size of an activation").kind(ConfigKind::Number).project(InProject::Lowers),
            key("max_kept_bytes", "a number", Number(MAX_KEPT_BYTES), "the maximum that a session keeps of its active skills and pending calls, arguments included").kind(ConfigKind::Number).project(InProject::Lowers),
        ],
        example: "[session]\nfilter = \"skills/billing/*\"\ntools = [\"Read\", \"Bash\"]\nplain = true\ninline = true\n\
                  location = true\nmax_activation_bytes = 1000000\nmax_kept_bytes = 4000000\n",
    },
    ConfigTable {
        name: "install",
        is_list: false,
        about: "Where `prowess add` finds the skills of organisations. Only your own file is used.",
        keys: &[key(
            "registries",
            "a table: an address with `{org}` and `{name}` for each organisation",
            Pattern("https://github.com/{org}/{name}.git"),
            "the repository of `@org/name`",
        ).kind(ConfigKind::Map).project(InProject::Nothing)],
        example: "[install]\nregistries = { acme = \"https://git.acme.example/{org}/{name}.git\" }\n",
    },
];

/// The names of the keys in a table; an empty name is the top of the file.
pub(super) fn names(table: &str) -> Vec<&'static str> {
    if table.is_empty() {
        return CONFIG_TABLES.iter().map(|table| table.name).filter(|name| !name.contains('.')).collect();
    }
    let table = CONFIG_TABLES.iter().find(|known| known.name == table);
    table.into_iter().flat_map(|table| table.keys).map(|key| key.name).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::Config;

    #[test]
    fn the_reader_uses_every_key_of_the_table() {
        let read = |text: &str| Config::parse(text, Path::new("/p/prowess.toml")).ok();
        for table in &CONFIG_TABLES {
            let complete = read(table.example);
            assert!(complete.is_some(), "{}", table.name);
            for key in table.keys {
                let is_key = |line: &&str| line.split(" = ").next() == Some(key.name);
                assert!(table.example.lines().any(|line| is_key(&line)), "{}.{}", table.name, key.name);
                let others: Vec<&str> = table.example.lines().filter(|line| !is_key(line)).collect();
                assert_ne!(read(&others.join("\n")), complete, "{}.{}", table.name, key.name);
            }
        }
    }

    #[test]
    fn defaults_are_those_of_the_code() {
        let mut keys = CONFIG_TABLES.iter().flat_map(|table| table.keys);
        let depth = keys.find(|key| key.name == "depth").unwrap().default;
        assert_eq!(depth.value(), Some(crate::ScanOptions::default().max_depth.into()));
        let limits = crate::settings::ConfigLimits::default();
        assert_eq!(
            (limits.sources, limits.disabled, limits.paths),
            (256, 1_024, 1_024),
            "the texts name them"
        );
    }
}
