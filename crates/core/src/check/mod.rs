//! The rules for a skill. Each file in `rules/` declares the rules of one subject beside the code that checks them;
//! this one joins the tables and runs them all.

mod entry_builder;
mod findings;
mod fix;
pub(crate) mod fixes;
mod load;
pub(crate) mod profile;
pub(crate) mod rules;
pub(crate) mod strict;
mod trial;

pub use entry_builder::EntryBuilder;
pub use fix::{FixMode, Fixed, fix};
pub use load::LoadError;
pub use profile::{NameRule, Profile, UnknownRule};
pub use rules::description::check_description;
pub use rules::name::{check_name, suggest_name};

use findings::Findings;
use rules::{body, description, fields, files, hidden, links, name, quality, tools};

use crate::document::{self, Document, Node, Scalar, Style};
use crate::files::manifest::Manifest;
use crate::finding::Finding;
use crate::finding::rule::Rule;
use crate::skill::Entry;
use crate::skill::location::Origin;
use crate::span::Span;
use crate::text::{distance, inline};

/// Every rule, in the order of the documentation.
pub fn rules() -> impl Iterator<Item = &'static Rule> {
    [
        document::rules::RULES,
        name::RULES,
        description::RULES,
        fields::RULES,
        tools::RULES,
        hidden::RULES,
        body::RULES,
        links::RULES,
        files::RULES,
        quality::RULES,
    ]
    .into_iter()
    .flatten()
    .copied()
}

/// The rule of a code.
pub fn rule(code: &str) -> Result<&'static Rule, UnknownRule> {
    rules().find(|rule| rule.code == code).ok_or_else(|| {
        let nearest = rules().map(|rule| (distance(code, rule.code), rule.code)).min();
        let nearest = nearest.filter(|(distance, _)| *distance <= 3).map(|(_, code)| code);
        // Or the beginning of a longer one.
        let begins = || {
            let is_begin = |rule: &&Rule| {
                let begin = rule.code.get(..code.len().min(rule.code.len())).unwrap_or_default();
                code.len() > 4 && distance(code, begin) <= 2
            };
            rules().find(|rule| is_begin(rule)).map(|rule| rule.code)
        };
        let nearest = nearest.or_else(begins);
        UnknownRule { code: code.to_owned(), nearest }
    })
}

/// The findings about a skill, without severity: those of the reader and those of the rules.
///
/// `files` are the files of its folder; without them, links and sizes are not checked.
pub fn check(document: &Document, files: Option<&Manifest>, at: &Origin) -> Vec<Finding> {
    let mut findings = findings(document, files, at, None);
    fixes::attach(document, at, None, &mut findings);
    findings
}

/// The findings about a skill, without fixes, and only those that the profile reports, if there is one.
pub(crate) fn findings(
    document: &Document,
    files: Option<&Manifest>,
    at: &Origin,
    profile: Option<&Profile>,
) -> Vec<Finding> {
    let mut found = Findings::by(profile);
    for finding in document.findings() {
        found.push(finding.clone());
    }
    frontmatter_rules(document, at, None, &mut found);
    hidden::check_body(document, &mut found);
    if document.has_body() {
        body::check(document, &mut found);
        links::check(document, files, &mut found);
        quality::check_body(document, files, &mut found);
    }
    files::check(files, &mut found);
    found.into_findings()
}

/// The findings that need neither the body nor the other files. They are the same whether the body was read or not:
/// [`findings`] returns all of them, and more only about the body and the files.
///
/// `entry` is the entry of the document, if the caller has it.
pub(crate) fn frontmatter(
    document: &Document,
    at: &Origin,
    profile: &Profile,
    entry: Option<&Entry>,
) -> Vec<Finding> {
    let mut found = Findings::by(Some(profile));
    for finding in document.findings().iter().filter(|finding| !document.is_about_body(finding)) {
        found.push(finding.clone());
    }
    frontmatter_rules(document, at, entry, &mut found);
    found.into_findings()
}

/// The rules that need neither the body nor the other files.
fn frontmatter_rules(document: &Document, at: &Origin, entry: Option<&Entry>, found: &mut Findings<'_>) {
    // Without readable frontmatter there are no fields to check.
    if document.root().is_some_and(|root| root.pairs().is_some()) {
        presence(document, at, found);
        name::check(document, at, found);
        description::check(document, found);
        quality::check_description(document, found);
        fields::check(document, found);
        tools::check(document, entry, found);
    }
    hidden::check_frontmatter(document, found);
    files::check_name(at, found);
}

fn presence(document: &Document, at: &Origin, found: &mut Findings<'_>) {
    name::check_presence(document, at, found);
    description::check_presence(document, found);
}

/// Reports a text that other readers read as a value of another type.
fn check_type(rule: &'static Rule, field: &str, node: &Node, found: &mut Findings<'_>) {
    let Some(other) = node.scalar().and_then(Scalar::other_type).filter(|_| found.wants(rule)) else {
        return;
    };
    let text = inline(node.text().unwrap_or_default());
    let finding = Finding::new(rule, format!("{field} is {other} to other readers: {text}"));
    found
        .push(finding.with_field(field.to_owned()).with_span(node.span).with_help("put the value in quotes"));
}

/// The advice for a field that is written in another case, or misspelt.
pub(crate) fn misspelt(document: &Document, field: &str) -> Option<String> {
    let mut pairs = document.pairs().iter();
    pairs.find_map(|pair| {
        let key = pair.key.as_str();
        if key != field && key.eq_ignore_ascii_case(field) {
            return Some(format!("write `{field}` in lower case instead of `{key}`"));
        }
        let is_near = fields::meant(document, key) == Some(field);
        is_near.then(|| format!("write `{field}` instead of `{}`", inline(key)))
    })
}

/// The place of a part of a scalar's text, or of the whole scalar when the text is not in the file verbatim.
pub(crate) fn part_of(document: &Document, node: &Node, part: std::ops::Range<usize>) -> Span {
    let (Some(scalar), Some(source)) = (node.scalar(), node.span.slice(document.text())) else {
        return node.span;
    };
    let inset = match scalar.style {
        Style::Plain => 0,
        Style::SingleQuoted | Style::DoubleQuoted => 1,
        Style::Literal | Style::Folded => return node.span,
    };
    if source.get(inset..).is_some_and(|inside| inside.starts_with(&scalar.text)) {
        Span::new(part.start, part.end).shift(node.span.start + inset)
    } else {
        node.span
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn codes_are_unique_and_kebab_case() {
        let codes: Vec<&str> = rules().map(|rule| rule.code).collect();
        let unique: BTreeSet<&str> = codes.iter().copied().collect();
        assert_eq!(codes.len(), unique.len());
        for code in codes {
            assert!(
                code.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-'),
                "{code}"
            );
        }
    }

    #[test]
    fn every_rule_follows_the_style_and_explains_itself() {
        for rule in rules() {
            assert!(!rule.summary.ends_with('.'), "{}", rule.code);
            assert!(
                rule.summary.starts_with(|c: char| !c.is_uppercase() || rule.summary.starts_with("SKILL")),
                "{}",
                rule.code
            );
            assert!(rule.explanation.len() > 20, "{}", rule.code);
        }
    }
}
