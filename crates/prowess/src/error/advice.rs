//! [`Hint`]: what to do about an error, and the [`HintAction`] in it for which a host may have a command or a button.

use std::borrow::Cow;
use std::fmt;

use prowess_core::Location;
use prowess_core::client::Fact;
use prowess_core::finding::Preset;

/// What to do about an error: words, and the action among them, if there is one that a host can name in its own way.
///
/// ```
/// use prowess::SourceErrorKind;
/// use prowess::advice::HintAction;
///
/// let hint = SourceErrorKind::Busy.at("skills.lock").hint();
/// assert_eq!(hint.to_string(), "wait until it is done, then try again");
/// assert_eq!(hint.action(), Some(&HintAction::RunAgain));
/// assert_eq!(hint.action().map(HintAction::code), Some("run-again"));
/// assert_eq!(hint.parts(), ("wait until it is done, then ", Some(&HintAction::RunAgain), ""));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hint {
    before: Cow<'static, str>,
    action: Option<Box<HintAction>>,
    after: Cow<'static, str>,
}

impl Hint {
    /// With words before all others.
    #[must_use]
    pub fn before(mut self, words: impl Into<Cow<'static, str>>) -> Self {
        self.before = words.into() + self.before;
        self
    }

    /// With words after all others.
    #[must_use]
    pub fn after(mut self, words: impl Into<Cow<'static, str>>) -> Self {
        let end = if self.action.is_some() { &mut self.after } else { &mut self.before };
        *end = std::mem::take(end) + words.into();
        self
    }

    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        self.action.is_none() && self.before.is_empty()
    }

    /// The action, if there is one.
    pub fn action(&self) -> Option<&HintAction> {
        self.action.as_deref()
    }

    /// The words before the action, the action, and the words after it. A hint without an action is all words before.
    pub fn parts(&self) -> (&str, Option<&HintAction>, &str) {
        (&self.before, self.action(), &self.after)
    }
}

/// The hint in words.
impl fmt::Display for Hint {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (before, action, after) = self.parts();
        to.write_str(before)?;
        action.map_or(Ok(()), |action| action.fmt(to))?;
        to.write_str(after)
    }
}

impl From<HintAction> for Hint {
    fn from(action: HintAction) -> Self {
        Self { action: Some(Box::new(action)), ..Self::default() }
    }
}

impl From<&'static str> for Hint {
    fn from(words: &'static str) -> Self {
        Self { before: words.into(), ..Self::default() }
    }
}

impl From<String> for Hint {
    fn from(words: String) -> Self {
        Self { before: words.into(), ..Self::default() }
    }
}

/// What makes clients list a skill with this fact.
impl From<Fact> for Hint {
    fn from(fact: Fact) -> Self {
        match fact {
            Fact::YamlOther => HintAction::CorrectYaml.into(),
            fact => fact.fix().into(),
        }
    }
}

/// Something to do about an error that a host may have its own way for, such as a command. It contains what that needs to
/// know. The variants are exhaustive on purpose: a host that names commands learns of a new one when it is compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HintAction {
    /// Do the same again.
    RunAgain,
    /// List the keys of the configuration.
    ListKeys,
    /// List the rules.
    ListRules,
    /// List the skills.
    ListSkills,
    /// List the installed skills.
    ListInstalled {
        /// Whether nothing is installed in the scope that was asked about.
        elsewhere: bool,
    },
    /// Install what a lock has and its folder does not.
    Sync {
        /// Whether it is the lock of the user, not that of a project.
        user: bool,
    },
    /// Give one of two skills that would be one folder another name.
    Rename,
    /// Name one skill of a source that cannot be read as a whole.
    NameSkill,
    /// Correct the YAML of a SKILL.md.
    CorrectYaml,
    /// Check a skill that does not load.
    Check {
        /// Its key.
        key: String,
        /// The place of its SKILL.md.
        location: Location,
        /// The profile that found it broken.
        profile: Option<Preset>,
    },
    /// See why a skill is not offered.
    Why {
        /// Its key.
        key: String,
    },
    /// Look at a skill, then trust it.
    Trust {
        /// Its key.
        key: String,
    },
    /// Leave out the option that turns a skill off.
    LeaveOptionOut,
    /// Trust the folder of the project.
    TrustProject,
    /// Trust the folder of a project with more than is looked at, or name some folders in it.
    TrustLargeProject,
    /// Trust the folder of the project that a skill is in.
    TrustProjectOfSkill,
    /// Name an MCP server of a project as one of the user.
    NameServer,
    /// Name a folder as a source of skills, so that no limit counts for it.
    NameFolder,
    /// Look for skills in deeper folders.
    LookDeeper,
}

impl HintAction {
    /// The stable code, for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::RunAgain => "run-again",
            Self::ListKeys => "list-keys",
            Self::ListRules => "list-rules",
            Self::ListSkills => "list-skills",
            Self::ListInstalled { .. } => "list-installed",
            Self::Sync { .. } => "sync",
            Self::Rename => "rename",
            Self::NameSkill => "name-skill",
            Self::CorrectYaml => "correct-yaml",
            Self::Check { .. } => "check",
            Self::Why { .. } => "why",
            Self::Trust { .. } => "trust",
            Self::LeaveOptionOut => "leave-option-out",
            Self::TrustProject | Self::TrustLargeProject | Self::TrustProjectOfSkill => "trust-project",
            Self::NameServer | Self::NameFolder => "name-source",
            Self::LookDeeper => "look-deeper",
        }
    }
}

/// The action in words.
impl fmt::Display for HintAction {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            Self::RunAgain => "try again",
            Self::ListKeys => "list the keys",
            Self::ListRules => "list the rules",
            Self::ListSkills => "list the skills to see their keys",
            Self::ListInstalled { elsewhere: false } => "list what is installed",
            Self::ListInstalled { elsewhere: true } => "see what is installed elsewhere",
            Self::Sync { user: false } => "install what the lock of the project has",
            Self::Sync { user: true } => "install what your own lock has",
            Self::Rename => "give one of them another name, or another key in skills.toml",
            Self::NameSkill => "name the skill that you want",
            Self::CorrectYaml => "correct its YAML",
            Self::Check { .. } => "check the skill to see every problem",
            Self::Why { .. } => "see all skills of this name with Catalog::why",
            Self::Trust { .. } => "look at it, then approve it or trust its folder",
            Self::LeaveOptionOut => "leave that option out to use it",
            Self::TrustProject => "trust the project's folder",
            Self::TrustLargeProject => "trust the project's folder, or name the folders you want",
            Self::TrustProjectOfSkill => "trust the folder that the skill is in",
            Self::NameServer => "name it in your own prowess.toml",
            Self::NameFolder => "name it as a source, which has no limit",
            Self::LookDeeper => {
                "look deeper with depth in [scan] of prowess.toml, or give a folder closer to the skills"
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_around_an_action_stay_around_it() {
        let hint = Hint::from(HintAction::ListKeys).before("b ").before("a ").after(" c").after(" d");
        assert_eq!(hint.parts(), ("a b ", Some(&HintAction::ListKeys), " c d"));
        assert_eq!(hint.to_string(), "a b list the keys c d");
        assert_eq!(Hint::from(Fact::YamlOther).to_string(), Fact::YamlOther.fix());
        let words = Hint::from("look").before("first ").after(" there");
        assert_eq!((words.to_string(), words.action()), ("first look there".to_owned(), None));
    }
}
