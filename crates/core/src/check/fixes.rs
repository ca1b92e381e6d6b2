//! The edits that remove findings: what is safe to write without asking, and what only the author can decide.
//!
//! A fix is safe when it writes down what the lenient reader reads anyway. Whatever changes the skill's identity,
//! its meaning or its text is not.

use serde_json::Value;

use super::rules::name::suggest_name;
use crate::document::edit::scalar;
use crate::document::{Document, Style};
use crate::finding::{Edit, Finding, Fix};
use crate::skill::location::Origin;
use crate::skill::{normalize, tool_list};
use crate::span::Span;

/// How many findings of one document get a fix at a time: each is tried out on the whole document. Whoever applies
/// them asks again for the next ones.
const MAX_FIXES: usize = 32;

/// Whether the text can be written back without losing bytes: all of it is there, and all of it is text.
pub(crate) fn is_writable(document: &Document) -> bool {
    document.has_body()
        && document.raw() == document.text().as_bytes()
        && document.findings().iter().all(|finding| finding.code() != "file-too-large")
}

/// Adds a fix to the findings that have one, the first [`MAX_FIXES`] of them.
pub(crate) fn attach(document: &Document, at: &Origin, findings: &mut [Finding]) {
    if !is_writable(document) {
        for finding in findings {
            finding.fix = None;
        }
        return;
    }
    // Edits are offered only where the frontmatter reads as it is; broken YAML is repaired first.
    let mut left = MAX_FIXES;
    // The value of an alias stands elsewhere, and so an edit at its place could change another field.
    let disturbs = |finding: &Finding| finding.rule.refuses() || finding.code() == "yaml-anchor";
    let sound = !document.repaired() && !document.findings().iter().any(disturbs);
    for finding in findings.iter_mut().filter(|finding| finding.fix.is_none()) {
        if left == 0 {
            break;
        }
        finding.fix = match finding.code() {
            "hidden-bidi"
            | "hidden-zero-width"
            | "hidden-tag-characters"
            | "hidden-variation-selectors"
            | "control-character" => {
                finding.span.and_then(|span| remove_characters(document, span, finding.code()))
            }
            "fence-leading-text" => finding.span.map(|span| Fix {
                title: "remove what stands before the fence".to_owned(),
                edits: vec![Edit { span, replacement: String::new() }],
                safe: false,
            }),
            _ if !sound => None,
            code => in_frontmatter(document, at, code, finding),
        };
        left -= usize::from(finding.fix.is_some());
    }
}

fn in_frontmatter(document: &Document, at: &Origin, code: &str, finding: &Finding) -> Option<Fix> {
    match code {
        "name-missing" => {
            // What the lenient reader takes for the name; a folder with an unfit name gets a better one.
            let folder = normalize(at.folder.as_deref()?);
            let name = suggest_name(&folder);
            set(document, "name", name.clone().into(), format!("call it {name}"), name == folder)
        }
        "name-typed" | "description-typed" => {
            let key = finding.field.as_deref()?;
            let text = document.field(key)?.text()?;
            set(document, key, text.into(), "put the value in quotes".to_owned(), true)
        }
        "name-padded" | "name-normalized" => {
            let name = document.name(at)?;
            set(document, "name", name.clone().into(), format!("write {name}"), true)
        }
        "name-uppercase"
        | "name-underscore"
        | "name-invalid-character"
        | "name-edge-hyphen"
        | "name-double-hyphen"
        | "name-too-long" => {
            let name = suggest_name(&document.name(at)?);
            set(document, "name", name.clone().into(), format!("call it {name}"), false)
        }
        "name-folder-mismatch" | "name-not-text" | "name-null" => {
            let name = suggest_name(at.folder.as_deref()?);
            set(document, "name", name.clone().into(), format!("call it {name}"), false)
        }
        "license-empty" | "compatibility-empty" => {
            let key = finding.field.as_deref()?;
            remove(document, key, format!("remove the empty {key}"), true)
        }
        "tools-empty" => {
            let key = finding.field.as_deref()?;
            remove(document, key, format!("remove the empty {key}"), false)
        }
        "tools-list" | "tools-commas" => {
            let key = finding.field.as_deref()?;
            let tools = tool_list(document.field(key)?);
            let sound = !tools.grants.is_empty() && tools.grants.iter().all(|grant| grant.balanced);
            let title = "write one text, separated by blanks";
            sound.then(|| set(document, key, tools.to_spec_string().into(), title.to_owned(), true))?
        }
        "yaml-flow-style" => {
            let pair = document
                .pairs()
                .iter()
                .find(|pair| Some(pair.value.span.start) == finding.span.map(|span| span.start))?;
            let source = pair.value.span.slice(document.text())?;
            let value = pair.value.to_json();
            let empty = value.as_array().is_some_and(Vec::is_empty)
                || value.as_object().is_some_and(serde_json::Map::is_empty);
            let simple = !empty
                && !source.contains(['#', '\n'])
                && !holds_collections(&value)
                && holds_texts_only(&value);
            simple.then(|| {
                set(document, &pair.key, value, "write the items on lines of their own".to_owned(), true)
            })?
        }
        "metadata-not-text" => {
            let key = finding.field.as_deref()?.strip_prefix("metadata.")?;
            let pairs = document.field("metadata")?.pairs()?;
            let pair = pairs.iter().find(|pair| pair.key == key)?;
            let behind = document.text().get(pair.key_span.end..)?;
            let span = Span::new(pair.key_span.end + behind.find(':')? + 1, pair.value.span.end);
            let replacement = format!(" {}", scalar(&pair.value.to_text(), Style::SingleQuoted, false));
            let edits = vec![Edit { span, replacement }];
            Some(Fix { title: "write the value as JSON text".to_owned(), edits, safe: false })
        }
        "invocation-not-boolean" => {
            let key = finding.field.as_deref()?;
            remove(document, key, format!("remove {key}, which is ignored"), false)
        }
        _ => None,
    }
}

/// Whether writing the items anew cannot change how a number, a date or a word such as `True` is spelt.
fn holds_texts_only(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().all(Value::is_string),
        Value::Object(map) => map.values().all(Value::is_string),
        _ => true,
    }
}

/// Whether an edit would take a comment with it; then it is for the author to decide.
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

/// Removes a hidden character, when it stands in the file as it is and not as an escape; in the body, all of its kind.
fn remove_characters(document: &Document, span: Span, code: &str) -> Option<Fix> {
    if span.start >= document.body_offset() {
        let places = super::rules::hidden::in_body(document, code);
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
