//! The rules a skill is checked against. Each file declares the rules of one subject beside the code that finds
//! them; this one concatenates the table and runs them all.

pub(crate) mod body;
pub(crate) mod description;
pub(crate) mod fields;
pub(crate) mod files;
pub(crate) mod fixes;
pub(crate) mod hidden;
pub(crate) mod links;
pub(crate) mod name;
pub(crate) mod tools;

pub use description::check_description;
pub use name::{check_name, suggest_name};

use crate::document::{self, Document, Node, Style};
use crate::manifest::Manifest;
use crate::origin::Origin;
use crate::problem::{Finding, Problem, Severity};
use crate::profile::UnknownRule;
use crate::rule::Rule;
use crate::span::Span;

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
        UnknownRule { code: code.to_owned(), nearest }
    })
}

/// Everything remarkable about a skill, without an opinion: what reading found and what the rules find.
///
/// `files` are those of its folder; without them, links and sizes are not looked at.
pub fn check(document: &Document, files: Option<&Manifest>, at: &Origin) -> Vec<Finding> {
    let mut findings = findings(document, files, at, name::RESERVED_WORDS);
    fixes::attach(document, at, &mut findings);
    findings
}

/// The same with a host's own reserved words.
pub(crate) fn findings<Word: AsRef<str>>(
    document: &Document,
    files: Option<&Manifest>,
    at: &Origin,
    reserved_words: &[Word],
) -> Vec<Finding> {
    let mut findings = document.findings().to_vec();
    findings.extend(identity(document, at));
    // Without readable frontmatter there is nothing more to say about its fields.
    if document.root().is_some_and(|root| root.pairs().is_some()) {
        name::check(document, at, reserved_words, &mut findings);
        description::check(document, &mut findings);
        fields::check(document, &mut findings);
        tools::check(document, &mut findings);
    }
    hidden::check(document, &mut findings);
    if document.has_body() {
        body::check(document, &mut findings);
        links::check(document, files, &mut findings);
    }
    files::check(files, at, &mut findings);
    findings
}

/// What is wrong with the two fields without which there is no skill.
pub(crate) fn identity(document: &Document, at: &Origin) -> Vec<Finding> {
    let mut findings = Vec::new();
    if document.root().is_some_and(|root| root.pairs().is_some()) {
        name::check_presence(document, at, &mut findings);
        description::check_presence(document, &mut findings);
    }
    findings
}

/// What is wrong with the parts of a skill that a catalog shows, by a profile: what reading found, its name, its
/// description and the name of its file.
pub fn heading(document: &Document, at: &Origin, profile: &crate::Profile) -> Vec<Problem> {
    let plain = |name: &str| {
        let letters = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        name.len() <= 64
            && name.bytes().all(letters)
            && name.as_bytes().first().is_some_and(u8::is_ascii_lowercase)
    };
    let text = |field: &str| document.field(field).and_then(Node::text).unwrap_or_default();
    // Nearly every skill is plainly fine, and a catalog looks at very many.
    if document.findings().is_empty()
        && plain(text("name"))
        && !text("name").contains("--")
        && !text("name").ends_with('-')
        && (1..=1_024).contains(&text("description").len())
        && at.file.as_deref().is_none_or(|file| file == "SKILL.md")
    {
        return Vec::new();
    }
    let mut findings = document.findings().to_vec();
    findings.extend(identity(document, at));
    if document.root().is_some_and(|root| root.pairs().is_some()) {
        name::check(document, at, name::RESERVED_WORDS, &mut findings);
        description::check(document, &mut findings);
    }
    files::check(None, at, &mut findings);
    let mut problems = profile.judge(findings);
    problems.retain(|problem| problem.severity > Severity::Info);
    problems
}

/// The advice for a field that is there in other letters.
pub(crate) fn misspelt(document: &Document, field: &str) -> Option<String> {
    let pair =
        document.pairs().iter().find(|pair| pair.key.eq_ignore_ascii_case(field) && pair.key != field)?;
    Some(format!("write `{field}` in lower case instead of `{}`", pair.key))
}

/// The place of a part of a scalar's text, or of the whole scalar when the text is not in the file as it is.
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

/// How many edits turn one word into another.
pub(crate) fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (y, above) in b.iter().zip(row.iter_mut().skip(1)) {
            let cost = (diagonal + usize::from(x != *y)).min(left + 1).min(*above + 1);
            diagonal = *above;
            *above = cost;
            left = cost;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(0)
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

    #[test]
    fn distance_counts_edits() {
        assert_eq!(
            [distance("", "abc"), distance("abc", "abc"), distance("abc", "axc"), distance("ab", "abc")],
            [3, 0, 1, 1]
        );
    }
}
