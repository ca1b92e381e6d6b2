//! Statements about a skill: a [`Finding`] is a fact about the input, a [`Problem`] is a finding judged by a profile.

pub(crate) mod rule;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

pub use rule::{Level, Preset, Rule, UnknownLevel, UnknownPreset};

use crate::span::Span;

/// A fact about the input, without severity: the rule that was broken, where, and a message.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The rule this is an instance of.
    pub rule: &'static Rule,
    /// The frontmatter field it is about, `metadata.author` for a nested one.
    pub field: Option<Cow<'static, str>>,
    /// The bytes of the file it is about.
    pub span: Option<Span>,
    /// What is wrong, with the value.
    pub message: String,
    /// What to do about it, when that is more specific than the explanation of the rule.
    pub help: Option<Cow<'static, str>>,
    /// Other places that belong to it, such as the first of two duplicate keys.
    pub related: Vec<Related>,
    /// The edits that remove it.
    pub fix: Option<Fix>,
}

impl Finding {
    /// A finding with a rule and a message. The `with_` methods add the other parts.
    pub fn new(rule: &'static Rule, message: impl Into<String>) -> Self {
        Self {
            rule,
            field: None,
            span: None,
            message: message.into(),
            help: None,
            related: Vec::new(),
            fix: None,
        }
    }

    /// The code of its rule.
    pub fn code(&self) -> &'static str {
        self.rule.code
    }

    /// Sets the field that it is about.
    #[must_use]
    pub fn with_field(mut self, field: impl Into<Cow<'static, str>>) -> Self {
        self.field = Some(field.into());
        self
    }

    /// Sets its place.
    #[must_use]
    pub fn with_span(mut self, span: impl Into<Option<Span>>) -> Self {
        self.span = span.into();
        self
    }

    /// Sets the advice.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<Cow<'static, str>>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds another place that belongs to it.
    #[must_use]
    pub fn with_related(mut self, span: Span, message: impl Into<String>) -> Self {
        self.related.push(Related { span, message: message.into() });
        self
    }

    /// Adds the edits that remove it.
    #[must_use]
    pub fn with_fix(mut self, fix: impl Into<Option<Fix>>) -> Self {
        self.fix = fix.into();
        self
    }
}

/// Another place that belongs to a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Related {
    /// Where.
    pub span: Span,
    /// What is there.
    pub message: String,
}

/// Edits that remove a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fix {
    /// What applying it does, as an instruction: `quote the value`.
    pub title: String,
    /// The edits, ordered and disjoint.
    pub edits: Vec<Edit>,
    /// Whether it may be applied without asking: it changes neither the skill's identity nor its meaning.
    pub safe: bool,
}

/// One replacement of bytes by text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edit {
    /// The bytes that are replaced; empty for an insertion.
    pub span: Span,
    /// The new text.
    pub replacement: String,
}

/// How serious a problem is, as a profile judged it. Exhaustive: these three will stay the only ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Should be changed.
    Warning,
    /// Must be changed.
    Error,
}

impl Severity {
    /// The severity of a level; none when the rule is off.
    pub const fn from_level(level: Level) -> Option<Self> {
        match level {
            Level::Off => None,
            Level::Info => Some(Self::Info),
            Level::Warning => Some(Self::Warning),
            Level::Error => Some(Self::Error),
        }
    }

    /// The word shown to users and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// A finding judged by a profile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Problem {
    /// The code of the rule.
    pub code: &'static str,
    /// How serious it is under the profile.
    pub severity: Severity,
    /// The field it is about.
    pub field: Option<Cow<'static, str>>,
    /// The bytes of the file it is about.
    pub span: Option<Span>,
    /// What is wrong, with the value.
    pub message: String,
    /// What to do about it.
    pub help: Option<Cow<'static, str>>,
    /// Other places that belong to it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub related: Vec<Related>,
    /// The edits that remove it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<Fix>,
}

impl Problem {
    /// A finding with the severity that a profile assigned. Only profiles call this.
    pub(crate) fn new(finding: Finding, severity: Severity) -> Self {
        let Finding { rule, field, span, message, help, related, fix } = finding;
        Self { code: rule.code, severity, field, span, message, help, related, fix }
    }
}
