//! Advice in hints for which a program around this library can name its own command or option.

/// For a key of the configuration that does not exist.
pub const LIST_KEYS: &str = "list the keys";
/// For a rule that does not exist.
pub const LIST_RULES: &str = "list the rules";
/// For a skill that is not installed.
pub const LIST_INSTALLED: &str = "list what is installed";
/// For a skill that is not installed, where nothing is.
pub const NOTHING_INSTALLED: &str = "see what is installed elsewhere";
/// For a skill that the lock of a project has and its folder does not.
pub const SYNC_PROJECT: &str = "install what the lock of the project has";
/// For a skill that the lock of the user has and their folder does not.
pub const SYNC_USER: &str = "install what your own lock has";
/// For two skills that would be one folder.
pub const OTHER_NAME: &str = "give one of them another name, or another key in skills.toml";
/// For a source that cannot be read as a whole.
pub const NAME_A_SKILL: &str = "name the skill that you want";
/// For YAML that is not understood: the fix of [`Fact::YamlOther`](prowess_core::client::Fact::YamlOther).
pub const CORRECT_YAML: &str = "correct its YAML";
