//! The edits that fix findings: which are safe, and which only the author can decide.
//!
//! A fix is safe when it writes what the lenient reader reads anyway. A fix that changes the identity, the meaning or the
//! text of the skill is not safe. Each fix of a field is tried: one that does not resolve its finding, or that leads to an
//! error of another kind, is not offered.

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
use super::trial::{Candidate, Trial, Writes};
use crate::document::edit::scalar;
use crate::document::rules::{FENCE_LEADING_TEXT, FILE_TOO_LARGE, YAML_ANCHOR, YAML_FLOW_STYLE};
use crate::document::{Document, Style};
use crate::finding::rule::Rule;
use crate::finding::{Edit, Finding, Fix};
use crate::skill::location::Origin;
use crate::skill::{normalize, tool_list};
use crate::span::Span;

/// Whether the text can be written without losing bytes: the whole file was read, and all of it is text.
pub(crate) fn is_writable(document: &Document) -> bool {
    document.has_body()
        && document.raw() == document.text().as_bytes()
        && document.findings().iter().all(|finding| finding.rule != &FILE_TOO_LARGE)
}

/// Adds a fix to the findings that have one. The profile says what an error is.
pub(crate) fn attach(document: &Document, at: &Origin, profile: Option<&Profile>, findings: &mut [Finding]) {
    if !is_writable(document) {
        for finding in findings {
            finding.fix = None;
        }
        return;
    }
    // Only valid frontmatter gets edits; broken YAML is repaired first.
    // The value of an alias is elsewhere, so an edit there could change another field.
    let disturbs = |finding: &Finding| finding.rule.refuses() || finding.rule == &YAML_ANCHOR;
    let sound = !document.repaired() && !document.findings().iter().any(disturbs);
    let (mut untried, mut offers) = (Vec::new(), Vec::new());
    for finding in findings.iter_mut().filter(|finding| finding.fix.is_none()) {
        let candidate = if hidden::RULES.contains(&finding.rule) {
            remove_characters(document, finding)
        } else if finding.rule == &FENCE_LEADING_TEXT {
            finding.span.map(|span| Candidate {
                fix: Fix {
                    title: "remove everything before the fence".to_owned(),
                    edits: vec![Edit { span, replacement: String::new() }],
                    safe: false,
                },
                writes: Writes::Text,
            })
        } else if sound {
            in_frontmatter(document, at, finding)
        } else {
            None
        };
        let Some(candidate) = candidate else { continue };
        let in_head = |edit: &Edit| edit.span.end <= document.body_offset();
        // Without a profile, only what is written to fields is tried.
        let is_tried = profile.is_some() || matches!(candidate.writes, Writes::Field(..));
        if sound && is_tried && candidate.fix.edits.iter().all(in_head) {
            offers.push((finding.rule, candidate));
            untried.push(finding);
        } else {
            finding.fix = Some(candidate.fix);
        }
    }
    if offers.is_empty() {
        return;
    }
    let passing = Trial::of(document, at, profile).passing(&offers);
    for ((finding, (_, candidate)), _) in
        untried.into_iter().zip(offers).zip(passing).filter(|(_, passes)| *passes)
    {
        finding.fix = Some(candidate.fix);
    }
}

fn in_frontmatter(document: &Document, at: &Origin, finding: &Finding) -> Option<Candidate> {
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
        let fix = Fix { title: "write the value as JSON text".to_owned(), edits, safe: false };
        Some(Candidate { fix, writes: Writes::Fields(vec!["metadata".to_owned()]) })
    } else if is(&[&FIELD_MISSPELT]) {
        let pair = document.pair(finding.field.as_deref()?)?;
        let meant = fields::meant(document, &pair.key)?;
        // Only the author knows whether another name or other tools are meant.
        let safe = !matches!(meant, "name" | "allowed-tools") && document.pair(meant).is_none();
        let edits = vec![Edit { span: pair.key_span, replacement: meant.to_owned() }];
        let fix = Fix { title: format!("write {meant}"), edits, safe };
        Some(Candidate { fix, writes: Writes::Fields(vec![pair.key.clone(), meant.to_owned()]) })
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

/// The fix that sets a field.
fn set(document: &Document, key: &str, value: Value, title: String, safe: bool) -> Option<Candidate> {
    let edit = document.setting(key, &value).ok()?;
    let safe = safe && !drops_comment(document, &edit);
    (edit.span.slice(document.text()) != Some(edit.replacement.as_str())).then(|| Candidate {
        fix: Fix { title, edits: vec![edit], safe },
        writes: Writes::Field(key.to_owned(), Some(value)),
    })
}

fn remove(document: &Document, key: &str, title: String, safe: bool) -> Option<Candidate> {
    let edit = document.removal(key)?;
    let safe = safe && !drops_comment(document, &edit);
    let fix = Fix { title, edits: vec![edit], safe };
    Some(Candidate { fix, writes: Writes::Field(key.to_owned(), None) })
}

/// Removes the hidden characters of a finding that are in the file itself and not escapes: in the body, the field or the
/// frontmatter, all of the kind.
fn remove_characters(document: &Document, finding: &Finding) -> Option<Candidate> {
    let span = finding.span?;
    let body = document.body_offset();
    let place = match &finding.field {
        _ if span.start >= body => Span::new(body, document.text().len()),
        Some(field) => document.field(field)?.span,
        None => Span::new(0, body),
    };
    let text = span.slice(document.text())?;
    let is_escape = !(text.chars().count() == 1 && !text.is_ascii()
        || text.chars().all(|c| c.is_control() && !c.is_whitespace()));
    if is_escape && span.start < body {
        return None;
    }
    let places = hidden::places(document, place, finding.rule);
    let title =
        if places.len() > 1 || span.start >= body { "remove the characters" } else { "remove the character" };
    let edits = places.into_iter().map(|span| Edit { span, replacement: String::new() }).collect();
    Some(Candidate { fix: Fix { title: title.to_owned(), edits, safe: false }, writes: Writes::Text })
}
