//! The edits that fix findings: which are safe, and which only the author can decide.
//!
//! A fix is safe when it writes what the lenient reader reads anyway. A fix that changes the identity, the meaning or the
//! text of the skill is not safe. Each fix of a field is tried: one that does not resolve its finding, or that leads to an
//! error of another kind, is not offered.

use std::collections::BTreeMap;

use serde_json::Value;

use super::profile::Profile;
use super::rules::description::DESCRIPTION_TYPED;
use super::rules::fields::{
    self, COMPATIBILITY_EMPTY, FIELD_MISSPELT, INVOCATION_NOT_BOOLEAN, LICENSE_EMPTY, METADATA_NOT_TEXT,
    QUOTES_CURLY,
};
use super::rules::hidden;
use super::rules::name::{
    NAME_DOUBLE_HYPHEN, NAME_EDGE_HYPHEN, NAME_FOLDER_MISMATCH, NAME_INVALID_CHARACTER, NAME_MISSING,
    NAME_NORMALIZED, NAME_NOT_TEXT, NAME_NULL, NAME_PADDED, NAME_TOO_LONG, NAME_TYPED, NAME_UNDERSCORE,
    NAME_UPPERCASE, better_name, suggest_name,
};
use super::rules::tools::{TOOLS_COMMAS, TOOLS_EMPTY, TOOLS_LIST};
use crate::check;
use crate::document::edit::scalar;
use crate::document::rules::{FENCE_LEADING_TEXT, FILE_TOO_LARGE, YAML_ANCHOR, YAML_FLOW_STYLE};
use crate::document::{Document, Style, parse, repair};
use crate::finding::rule::{Level, Rule};
use crate::finding::{Edit, Finding, Fix};
use crate::skill::location::Origin;
use crate::skill::{normalize, tool_list};
use crate::span::Span;

/// The most findings of one document that get a fix in one check, since each fix is tried on the whole document. The
/// next check offers the next ones.
const MAX_FIXES: usize = 32;

/// Whether the text can be written without losing bytes: the whole file was read, and all of it is text.
pub(crate) fn is_writable(document: &Document) -> bool {
    document.has_body()
        && document.raw() == document.text().as_bytes()
        && document.findings().iter().all(|finding| finding.rule != &FILE_TOO_LARGE)
}

/// Adds a fix to the findings that have one, the first [`MAX_FIXES`] of them. The profile says what an error is.
pub(crate) fn attach(document: &Document, at: &Origin, profile: Option<&Profile>, findings: &mut [Finding]) {
    if !is_writable(document) {
        for finding in findings {
            finding.fix = None;
        }
        return;
    }
    // Only valid frontmatter gets edits; broken YAML is repaired first.
    let mut left = MAX_FIXES;
    // The value of an alias is elsewhere, so an edit there could change another field.
    let disturbs = |finding: &Finding| finding.rule.refuses() || finding.rule == &YAML_ANCHOR;
    let sound = !document.repaired() && !document.findings().iter().any(disturbs);
    let mut trial = None;
    for finding in findings.iter_mut().filter(|finding| finding.fix.is_none()) {
        if left == 0 {
            break;
        }
        finding.fix = if hidden::RULES.contains(&finding.rule) {
            finding.span.and_then(|span| remove_characters(document, span, finding.rule))
        } else if finding.rule == &FENCE_LEADING_TEXT {
            finding.span.map(|span| Fix {
                title: "remove everything before the fence".to_owned(),
                edits: vec![Edit { span, replacement: String::new() }],
                safe: false,
            })
        } else if sound {
            in_frontmatter(document, at, finding)
        } else {
            None
        };
        left -= usize::from(finding.fix.is_some());
        if sound && let Some(profile) = profile {
            let trial = trial.get_or_insert_with(|| Trial::of(document, at, profile));
            finding.fix = finding.fix.take().filter(|fix| trial.passes(fix, finding.rule));
        }
    }
}

/// How often each rule about the frontmatter is broken, before and after a fix.
struct Trial<'t> {
    document: &'t Document,
    at: &'t Origin,
    profile: &'t Profile,
    before: BTreeMap<&'static str, usize>,
}

impl<'t> Trial<'t> {
    fn of(document: &'t Document, at: &'t Origin, profile: &'t Profile) -> Self {
        let before = Self::counts(document, at, profile);
        Self { document, at, profile, before }
    }

    fn counts(document: &Document, at: &Origin, profile: &Profile) -> BTreeMap<&'static str, usize> {
        let mut counts = BTreeMap::new();
        for finding in check::frontmatter(document, at, profile, None) {
            *counts.entry(finding.rule.code).or_default() += 1;
        }
        counts
    }

    /// Whether a fix resolves a finding of this rule, and leads to no error of another rule.
    fn passes(&self, fix: &Fix, rule: &Rule) -> bool {
        let head = self.document.text().get(..self.document.body_offset()).unwrap_or_default();
        if fix.edits.iter().any(|edit| edit.span.end > head.len()) {
            return true;
        }
        let after = Self::counts(&parse(repair::apply(head, &fix.edits).as_bytes()), self.at, self.profile);
        let number = |counts: &BTreeMap<&'static str, usize>, code| counts.get(code).copied().unwrap_or(0);
        let is_error =
            |code: &str| check::rule(code).is_ok_and(|rule| self.profile.level(rule) == Level::Error);
        let resolves =
            hidden::RULES.contains(&rule) || number(&after, rule.code) < number(&self.before, rule.code);
        resolves && after.keys().all(|code| self.before.contains_key(code) || !is_error(code))
    }
}

fn in_frontmatter(document: &Document, at: &Origin, finding: &Finding) -> Option<Fix> {
    let is = |rules: &[&Rule]| rules.contains(&finding.rule);
    if is(&[&NAME_MISSING]) {
        // The name that the lenient reader uses; an invalid folder name is improved.
        let folder = normalize(at.folder.as_deref()?);
        let name = suggest_name(&folder);
        set(document, "name", name.clone().into(), format!("call it {name}"), name == folder)
    } else if is(&[&NAME_TYPED, &DESCRIPTION_TYPED]) {
        let key = finding.field.as_deref()?;
        let text = document.field(key)?.text()?;
        set(document, key, text.into(), "put the value in quotes".to_owned(), true)
    } else if is(&[&NAME_PADDED, &NAME_NORMALIZED]) {
        let name = document.name(at)?;
        set(document, "name", name.clone().into(), format!("write {name}"), true)
    } else if is(&[
        &NAME_UPPERCASE,
        &NAME_UNDERSCORE,
        &NAME_INVALID_CHARACTER,
        &NAME_EDGE_HYPHEN,
        &NAME_DOUBLE_HYPHEN,
        &NAME_TOO_LONG,
    ]) {
        let name = better_name(&document.name(at)?, at.folder.as_deref());
        set(document, "name", name.clone().into(), format!("call it {name}"), false)
    } else if is(&[&NAME_FOLDER_MISMATCH, &NAME_NOT_TEXT, &NAME_NULL]) {
        let name = suggest_name(at.folder.as_deref()?);
        set(document, "name", name.clone().into(), format!("call it {name}"), false)
    } else if is(&[&LICENSE_EMPTY, &COMPATIBILITY_EMPTY]) {
        let key = finding.field.as_deref()?;
        remove(document, key, format!("remove the empty {key}"), true)
    } else if is(&[&TOOLS_EMPTY]) {
        let key = finding.field.as_deref()?;
        remove(document, key, format!("remove the empty {key}"), false)
    } else if is(&[&TOOLS_LIST, &TOOLS_COMMAS]) {
        let key = finding.field.as_deref()?;
        let tools = tool_list(document.field(key)?);
        let sound = !tools.grants.is_empty() && tools.grants.iter().all(|grant| grant.balanced);
        let title = "write one text, separated by spaces";
        sound.then(|| set(document, key, tools.to_spec_string().into(), title.to_owned(), true))?
    } else if is(&[&YAML_FLOW_STYLE]) {
        let pair = document
            .pairs()
            .iter()
            .find(|pair| Some(pair.value.span.start) == finding.span.map(|span| span.start))?;
        let source = pair.value.span.slice(document.text())?;
        let value = pair.value.to_json();
        let empty = value.as_array().is_some_and(Vec::is_empty)
            || value.as_object().is_some_and(serde_json::Map::is_empty);
        let simple =
            !empty && !source.contains(['#', '\n']) && !holds_collections(&value) && holds_texts_only(&value);
        simple.then(|| {
            set(document, &pair.key, value, "write the items on lines of their own".to_owned(), true)
        })?
    } else if is(&[&METADATA_NOT_TEXT]) {
        let key = finding.field.as_deref()?.strip_prefix("metadata.")?;
        let pairs = document.field("metadata")?.pairs()?;
        let pair = pairs.iter().find(|pair| pair.key == key)?;
        let behind = document.text().get(pair.key_span.end..)?;
        let span = Span::new(pair.key_span.end + behind.find(':')? + 1, pair.value.span.end);
        let replacement = format!(" {}", scalar(&pair.value.to_text(), Style::SingleQuoted, false));
        let edits = vec![Edit { span, replacement }];
        Some(Fix { title: "write the value as JSON text".to_owned(), edits, safe: false })
    } else if is(&[&FIELD_MISSPELT]) {
        let pair = document.pair(finding.field.as_deref()?)?;
        let meant = fields::meant(document, &pair.key)?;
        // Only the author knows whether another name or other tools are meant.
        let safe = !matches!(meant, "name" | "allowed-tools") && document.pair(meant).is_none();
        let edits = vec![Edit { span: pair.key_span, replacement: meant.to_owned() }];
        Some(Fix { title: format!("write {meant}"), edits, safe })
    } else if is(&[&QUOTES_CURLY]) {
        let key = finding.field.as_deref()?;
        let text = fields::unquoted(document.field(key)?.text()?)?;
        set(document, key, text.into(), "use straight quotes".to_owned(), false)
    } else if is(&[&INVOCATION_NOT_BOOLEAN]) {
        let key = finding.field.as_deref()?;
        remove(document, key, format!("remove {key}, which is ignored"), false)
    } else {
        None
    }
}

/// Whether writing the items again keeps the spelling of numbers, dates and words such as `True`.
fn holds_texts_only(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().all(Value::is_string),
        Value::Object(map) => map.values().all(Value::is_string),
        _ => true,
    }
}

/// Whether an edit would remove a comment, so that the author has to decide.
fn drops_comment(document: &Document, edit: &Edit) -> bool {
    edit.span.slice(document.text()).is_some_and(|text| text.contains('#'))
}

fn holds_collections(value: &Value) -> bool {
    let is_collection = |value: &Value| value.is_array() || value.is_object();
    match value {
        Value::Array(items) => items.iter().any(is_collection),
        Value::Object(map) => map.values().any(is_collection),
        _ => false,
    }
}

/// The fix that sets a field, when writing it changes nothing else.
fn set(document: &Document, key: &str, value: Value, title: String, safe: bool) -> Option<Fix> {
    document.with_field(key, &value).ok()?;
    let edit = document.setting(key, &value).ok()?;
    let safe = safe && !drops_comment(document, &edit);
    (edit.span.slice(document.text()) != Some(edit.replacement.as_str())).then(|| Fix {
        title,
        edits: vec![edit],
        safe,
    })
}

fn remove(document: &Document, key: &str, title: String, safe: bool) -> Option<Fix> {
    document.without_field(key).ok()?;
    let edit = document.removal(key)?;
    let safe = safe && !drops_comment(document, &edit);
    Some(Fix { title, edits: vec![edit], safe })
}

/// Removes a hidden character that is in the file itself and not an escape; in the body, all of its kind.
fn remove_characters(document: &Document, span: Span, rule: &Rule) -> Option<Fix> {
    if span.start >= document.body_offset() {
        let places = hidden::in_body(document, rule);
        let edits = places.into_iter().map(|span| Edit { span, replacement: String::new() }).collect();
        return Some(Fix { title: "remove the characters".to_owned(), edits, safe: false });
    }
    let text = span.slice(document.text())?;
    let single = text.chars().count() == 1 && !text.is_ascii()
        || text.chars().all(|c| c.is_control() && !c.is_whitespace());
    single.then(|| Fix {
        title: "remove the character".to_owned(),
        edits: vec![Edit { span, replacement: String::new() }],
        safe: false,
    })
}
