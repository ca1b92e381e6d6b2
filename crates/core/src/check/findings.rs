//! The list that rules add their findings to, and which of them a profile wants.

use crate::check::profile::Profile;
use crate::check::rules::name::RESERVED_WORDS;
use crate::finding::Finding;
use crate::finding::rule::{Level, Rule};

/// The list that rules add their findings to. With a profile, it keeps only the findings that the profile reports, so
/// that a rule that is off costs nothing.
#[derive(Debug, Default)]
pub(crate) struct Findings<'p> {
    profile: Option<&'p Profile>,
    findings: Vec<Finding>,
}

impl<'p> Findings<'p> {
    /// A list of the findings that this profile reports; of all findings without one.
    pub(super) fn by(profile: Option<&'p Profile>) -> Self {
        Self { profile, findings: Vec::new() }
    }

    /// Whether a finding of this rule is kept.
    pub(super) fn wants(&self, rule: &Rule) -> bool {
        self.profile.is_none_or(|profile| profile.level(rule) != Level::Off)
    }

    pub(super) fn push(&mut self, finding: Finding) {
        if self.wants(finding.rule) {
            self.findings.push(finding);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.findings.len()
    }

    /// Which of the words that a name must not contain are in this one.
    pub(super) fn reserved_in(&self, lower_case_name: &str) -> Vec<String> {
        let is_in = |word: &&str| !word.is_empty() && lower_case_name.contains(*word);
        match self.profile {
            Some(profile) => profile.reserved_words().filter(is_in).map(str::to_owned).collect(),
            None => RESERVED_WORDS.iter().copied().filter(is_in).map(str::to_owned).collect(),
        }
    }

    pub(super) fn into_findings(self) -> Vec<Finding> {
        self.findings
    }
}
