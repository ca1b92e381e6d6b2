//! A [`Profile`] turns findings into problems. Only profiles give severity.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::check;
use crate::check::rules::description::DESCRIPTION_ANGLE_BRACKET;
use crate::check::rules::fields::{FIELD_CLIENT, FIELD_MISSPELT, FIELD_UNKNOWN};
use crate::check::rules::name::{
    CHARACTER_RULES, NAME_DOUBLE_HYPHEN, NAME_EDGE_HYPHEN, NAME_FOLDER_MISMATCH, NAME_NOT_ASCII,
    NAME_RESERVED_WORD, NAME_STARTS_WITH_DIGIT, NAME_UNDERSCORE, RESERVED_WORDS,
};
use crate::document::Document;
use crate::files::manifest::Manifest;
use crate::finding::rule::{Level, Preset, Rule};
use crate::finding::{Finding, Problem, Severity};
use crate::skill::Entry;
use crate::skill::location::Origin;

/// Which rules apply, and the level of each.
///
/// ```
/// use prowess_core::{Level, Origin, Profile, parse};
///
/// let document = parse(b"---\nname: my_skill\ndescription: Does it well when asked.\n---\n");
/// let at = Origin::at("my_skill/SKILL.md");
/// let strict = Profile::spec();
/// assert_eq!(strict.check(&document, None, &at)[0].code, "name-underscore");
/// let ours = strict.with_level("name-underscore", Level::Off)?;
/// assert!(ours.check(&document, None, &at).is_empty());
/// # Ok::<(), prowess_core::UnknownRule>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    preset: Preset,
    levels: BTreeMap<String, Level>,
    reserved_words: Vec<String>,
}

/// The rule that was named does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no such rule: {code}{}", .nearest.map(|code| format!("; did you mean {code}?")).unwrap_or_default())]
#[non_exhaustive]
pub struct UnknownRule {
    /// The code that was given.
    pub code: String,
    /// The most similar code.
    pub nearest: Option<&'static str>,
}

/// Which characters a name may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum NameRule {
    /// The specification: lower-case letters and digits of any script, single hyphens inside.
    Spec,
    /// The same in ASCII only.
    AsciiKebab,
    /// The same in ASCII only, and the first character is a letter.
    AsciiKebabLetterFirst,
    /// Lower-case ASCII, digits, underscores and hyphens anywhere.
    Underscore,
    /// Lower-case ASCII, digits and hyphens anywhere.
    Loose,
}

impl NameRule {
    /// Whether a name may break a rule about its characters.
    fn allows(self, rule: &Rule) -> bool {
        match self {
            Self::Spec => [&NAME_NOT_ASCII, &NAME_STARTS_WITH_DIGIT].contains(&rule),
            Self::AsciiKebab => rule == &NAME_STARTS_WITH_DIGIT,
            Self::AsciiKebabLetterFirst => false,
            Self::Underscore => rule == &NAME_UNDERSCORE || Self::Loose.allows(rule),
            Self::Loose => [&NAME_STARTS_WITH_DIGIT, &NAME_EDGE_HYPHEN, &NAME_DOUBLE_HYPHEN].contains(&rule),
        }
    }
}

impl Profile {
    /// The profile of a preset.
    pub fn new(preset: Preset) -> Self {
        let reserved_words = RESERVED_WORDS.iter().map(|word| (*word).to_owned()).collect();
        Self { preset, levels: BTreeMap::new(), reserved_words }
    }

    /// The profile of the specification, which is the default.
    pub fn spec() -> Self {
        Self::new(Preset::Spec)
    }

    /// The profile that loads every skill that can be loaded.
    pub fn lenient() -> Self {
        Self::new(Preset::Lenient)
    }

    /// The preset it started from.
    pub fn preset(&self) -> Preset {
        self.preset
    }

    /// Gives a rule another level. A hard refusal stays an error, because there is no skill to load.
    pub fn with_level(mut self, code: &str, level: Level) -> Result<Self, UnknownRule> {
        self.set_level(code, level)?;
        Ok(self)
    }

    /// Sets the level of one rule in place; nothing changes when there is no such rule.
    pub fn set_level(&mut self, code: &str, level: Level) -> Result<(), UnknownRule> {
        self.put(check::rule(code)?, level);
        Ok(())
    }

    fn put(&mut self, rule: &Rule, level: Level) {
        self.levels.insert(rule.code.to_owned(), level);
    }

    /// Sets which characters a name may have.
    #[must_use]
    pub fn with_names(mut self, names: NameRule) -> Self {
        for rule in CHARACTER_RULES {
            let level = if names.allows(rule) { Level::Off } else { Level::Error };
            self.put(rule, level);
        }
        self
    }

    /// Sets words that a name must not contain, and makes this an error. An empty list allows all.
    #[must_use]
    pub fn with_reserved_words(mut self, words: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.reserved_words = words.into_iter().map(|word| word.into().to_lowercase()).collect();
        self.put(&NAME_RESERVED_WORD, Level::Error);
        self
    }

    /// Sets the level of `<` or `>` in a description.
    #[must_use]
    pub fn with_angle_brackets(mut self, level: Level) -> Self {
        self.put(&DESCRIPTION_ANGLE_BRACKET, level);
        self
    }

    /// Sets the level of a name that differs from its folder.
    #[must_use]
    pub fn with_folder_match(mut self, level: Level) -> Self {
        self.put(&NAME_FOLDER_MISMATCH, level);
        self
    }

    /// Sets the level of fields outside the specification.
    #[must_use]
    pub fn with_unknown_fields(mut self, level: Level) -> Self {
        self.put(&FIELD_UNKNOWN, level);
        self.put(&FIELD_CLIENT, level);
        self.put(&FIELD_MISSPELT, level);
        self
    }

    /// The level of a rule in this profile.
    pub fn level(&self, rule: &Rule) -> Level {
        if rule.refuses() {
            return Level::Error;
        }
        self.levels.get(rule.code).copied().unwrap_or_else(|| rule.level(self.preset))
    }

    /// Everything wrong with a skill, in the order of the file. `files` are those of its folder, if known.
    pub fn check(&self, document: &Document, files: Option<&Manifest>, at: &Origin) -> Vec<Problem> {
        // A fix costs a second reading, so only findings that are reported get one.
        let mut findings = check::findings(document, files, at, Some(self));
        check::fixes::attach(document, at, Some(self), &mut findings);
        self.judge(in_order(findings))
    }

    /// The problems of [`check`](Self::check) without fixes, for a host that only asks whether a skill is valid.
    pub fn check_only(&self, document: &Document, files: Option<&Manifest>, at: &Origin) -> Vec<Problem> {
        let mut findings = check::findings(document, files, at, Some(self));
        for finding in &mut findings {
            finding.fix = None;
        }
        self.judge(in_order(findings))
    }

    /// Everything wrong with a skill that its frontmatter and the name of its file show, in the order of the file.
    ///
    /// These are the problems of [`check`](Self::check) that are not about the body or about other files, without
    /// fixes. They are the same whether the document [has a body](Document::has_body) or not, so a catalog can report
    /// them without reading bodies. An error means that the skill does not load under this profile.
    ///
    /// ```
    /// use prowess_core::{Origin, Profile, Severity, parse_prefix};
    ///
    /// let head = parse_prefix(b"---\nname: My_Skill\ndescription: Does it.\n---\n", false).unwrap();
    /// let at = Origin::at("my-skill/SKILL.md");
    /// let is_error = |problem: &prowess_core::Problem| problem.severity == Severity::Error;
    /// assert!(Profile::spec().check_frontmatter(&head, &at).iter().any(is_error));
    /// assert!(!Profile::lenient().check_frontmatter(&head, &at).iter().any(is_error));
    /// ```
    pub fn check_frontmatter(&self, document: &Document, at: &Origin) -> Vec<Problem> {
        self.check_read(document, at, None)
    }

    /// Checks the frontmatter, with the entry of the document if the caller has it.
    pub(crate) fn check_read(&self, document: &Document, at: &Origin, entry: Option<&Entry>) -> Vec<Problem> {
        let mut findings = check::frontmatter(document, at, self, entry);
        for finding in &mut findings {
            finding.fix = None;
        }
        self.judge(in_order(findings))
    }

    /// The words that a name must not contain, in lower case.
    pub(crate) fn reserved_words(&self) -> impl Iterator<Item = &str> {
        self.reserved_words.iter().map(String::as_str)
    }

    /// Turns findings into problems.
    pub fn judge(&self, findings: Vec<Finding>) -> Vec<Problem> {
        findings
            .into_iter()
            .filter_map(|finding| {
                let severity = Severity::from_level(self.level(finding.rule))?;
                Some(Problem::new(finding, severity))
            })
            .collect()
    }
}

/// Findings in the order of the file; those without a place are about the whole file and come first.
fn in_order(mut findings: Vec<Finding>) -> Vec<Finding> {
    findings.sort_by_key(|finding| finding.span.map_or(0, |span| span.start + 1));
    findings
}

impl Default for Profile {
    fn default() -> Self {
        Self::spec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    fn codes(profile: &Profile, name: &str) -> Vec<&'static str> {
        let text = format!("---\nname: {name}\ndescription: d\n---\n");
        let at = Origin::at(format!("{name}/SKILL.md"));
        let problems = profile.check(&parse(text.as_bytes()), None, &at);
        problems.iter().filter(|p| p.severity == Severity::Error).map(|p| p.code).collect()
    }

    #[test]
    fn name_rules_cover_what_other_loaders_accept() {
        let with = |rule| Profile::spec().with_names(rule);
        assert!(codes(&with(NameRule::Underscore), "-a__b--c-").is_empty());
        assert_eq!(codes(&with(NameRule::Loose), "a_b"), ["name-underscore"]);
        assert!(codes(&with(NameRule::Loose), "-a--b").is_empty());
        assert_eq!(codes(&with(NameRule::AsciiKebabLetterFirst), "3d"), ["name-starts-with-digit"]);
        assert!(codes(&with(NameRule::AsciiKebab), "3d").is_empty());
        assert_eq!(codes(&with(NameRule::AsciiKebab), "café"), ["name-not-ascii"]);
        assert!(codes(&with(NameRule::Spec), "café").is_empty());
    }

    #[test]
    fn reserved_words_are_the_hosts_choice() {
        assert!(codes(&Profile::spec(), "claude-x").is_empty());
        assert_eq!(codes(&Profile::new(Preset::Anthropic), "claude-x"), ["name-reserved-word"]);
        let ours = Profile::spec().with_reserved_words(["Acme"]);
        assert_eq!(codes(&ours, "my-acme-tool"), ["name-reserved-word"]);
        assert!(codes(&ours, "claude-x").is_empty());
    }

    #[test]
    fn a_hard_refusal_cannot_be_allowed() {
        let profile = Profile::lenient().with_level("description-missing", Level::Off).unwrap();
        let problems = profile.check(&parse(b"---\nname: a\n---\n"), None, &Origin::at("a/SKILL.md"));
        assert_eq!(problems[0].severity, Severity::Error);
    }

    #[test]
    fn an_unknown_rule_suggests_the_nearest_one() {
        let error = Profile::spec().with_level("name-to-long", Level::Off).unwrap_err();
        assert_eq!(error.to_string(), "no such rule: name-to-long; did you mean name-too-long?");
    }
}
