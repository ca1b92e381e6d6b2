//! A [`Rule`]: its code, its level in each built-in profile, and its explanation.

use serde::{Deserialize, Serialize};

/// The level of a rule in a profile. Exhaustive: these four will stay the only ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Not reported.
    Off,
    /// Worth knowing; nothing to do.
    Info,
    /// Should be changed; the skill works.
    Warning,
    /// Must be changed; under this profile the skill does not load.
    Error,
}

impl Level {
    /// All levels, the mildest first.
    pub const ALL: [Self; 4] = [Self::Off, Self::Info, Self::Warning, Self::Error];

    /// The word used in `prowess.toml`, in JSON and in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl std::str::FromStr for Level {
    type Err = UnknownLevel;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let level = Self::ALL.into_iter().find(|level| level.name() == text);
        level.ok_or_else(|| UnknownLevel(text.to_owned()))
    }
}

/// The level does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no such level: {0}")]
pub struct UnknownLevel(String);

/// The profiles that come with Prowess, in the order of the columns of every rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Preset {
    /// The prose of the Agent Skills specification.
    Spec,
    /// What the reference validator `skills-ref` accepts.
    SkillsRef,
    /// What Anthropic's upload accepts.
    Anthropic,
    /// What an Agent Plugins host loads.
    Plugin,
    /// Every skill that can be loaded loads; only hard refusals are errors.
    Lenient,
}

impl Preset {
    /// All presets, in column order.
    pub const ALL: &'static [Self] =
        &[Self::Spec, Self::SkillsRef, Self::Anthropic, Self::Plugin, Self::Lenient];

    /// The name used on the command line and in `prowess.toml`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Spec => "spec",
            Self::SkillsRef => "skills-ref",
            Self::Anthropic => "anthropic",
            Self::Plugin => "plugin",
            Self::Lenient => "lenient",
        }
    }

    fn names() -> String {
        Self::ALL.iter().map(|preset| preset.name()).collect::<Vec<_>>().join(", ")
    }

    /// One line that says whose rules these are.
    pub const fn summary(self) -> &'static str {
        match self {
            Self::Spec => "the Agent Skills specification; the default",
            Self::SkillsRef => "what the reference validator skills-ref accepts",
            Self::Anthropic => {
                "what Anthropic's upload accepts: ASCII names, no reserved words, the six fields"
            }
            Self::Plugin => "what an Agent Plugins host loads: strict, non-conforming skills are skipped",
            Self::Lenient => "load whatever can be loaded; only hard refusals are errors",
        }
    }
}

impl std::str::FromStr for Preset {
    type Err = UnknownPreset;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let preset = Self::ALL.iter().find(|preset| preset.name() == text);
        preset.copied().ok_or_else(|| UnknownPreset(text.to_owned()))
    }
}

/// The profile does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no such profile: {0}; the profiles are {names}", names = Preset::names())]
pub struct UnknownPreset(String);

/// Something that can be wrong with a skill. Every finding is an instance of a rule.
#[derive(Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rule {
    /// The stable kebab-case code, `subject-defect`.
    pub code: &'static str,
    /// One line: what is wrong when the rule is broken.
    pub summary: &'static str,
    /// Why it matters and what to do about it, in Markdown.
    pub explanation: &'static str,
    /// The level in each preset, in the order of [`Preset::ALL`].
    pub(crate) levels: [Level; 5],
}

impl Rule {
    /// The level this rule has in a preset.
    pub const fn level(&self, preset: Preset) -> Level {
        let [spec, skills_ref, anthropic, plugin, lenient] = self.levels;
        match preset {
            Preset::Spec => spec,
            Preset::SkillsRef => skills_ref,
            Preset::Anthropic => anthropic,
            Preset::Plugin => plugin,
            Preset::Lenient => lenient,
        }
    }

    /// Whether it keeps a skill from loading in every profile, the lenient one included.
    pub const fn refuses(&self) -> bool {
        matches!(self.level(Preset::Lenient), Level::Error)
    }
}

/// Declares rules beside the code that finds them: the statics, and the `RULES` list of the file.
///
/// The letters are the levels in the order of [`Preset::ALL`]: `E`rror, `W`arning, `I`nfo, `O`ff.
/// An `E` in the last column (lenient) is a hard refusal.
macro_rules! rules {
    ($($id:ident = $code:literal [$($level:ident)*], $summary:literal, $explanation:literal;)*) => {
        $(
            #[doc = $summary]
            pub(crate) static $id: $crate::finding::rule::Rule = $crate::finding::rule::Rule {
                code: $code,
                summary: $summary,
                explanation: $explanation,
                levels: [$($crate::finding::rule::rules!(@level $level)),*],
            };
        )*
        /// The rules this file declares.
        pub(crate) static RULES: &[&$crate::finding::rule::Rule] = &[$(&$id),*];
    };
    (@level E) => { $crate::finding::rule::Level::Error };
    (@level W) => { $crate::finding::rule::Level::Warning };
    (@level I) => { $crate::finding::rule::Level::Info };
    (@level O) => { $crate::finding::rule::Level::Off };
}
pub(crate) use rules;
