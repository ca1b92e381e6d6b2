//! Rules about the other fields: known, of the right shape, within their limits, and inert.

use crate::check::findings::Findings;
use crate::document::{Document, Node, Pair, SPEC_FIELDS, Style};
use crate::finding::Finding;
use crate::finding::rule::rules;
use crate::limits::MAX_COMPATIBILITY_CHARS;
use crate::skill::{FieldShape, boolean, client_field, shape};
use crate::text::{inline, typos};

rules! {
    FIELD_UNKNOWN = "field-unknown" [I E E E O],
        "a field is not in the specification",
        "The specification names six fields. Others are kept and handed on, but strict validators refuse them.\n\nPut it below `metadata:`.";
    FIELD_MISSPELT = "field-misspelt" [W E E E W],
        "a field of the specification is misspelt",
        "The field is nearly one of the specification, which the skill lacks, so its value is not used. `licence` is one of the usual ones.\n\nCorrect the spelling.";
    QUOTES_CURLY = "quotes-curly" [W O W W O],
        "a value is in curly quotes",
        "Curly quotes are not quotes in YAML: they become a part of the value, and what is inside is read as if there were none.\n\n```\nname: “pdf”   # wrong: the name has two quotes in it\nname: \"pdf\"   # right\n```";
    FIELD_CLIENT = "field-client" [I E E E O],
        "a field belongs to some clients, not to the specification",
        "Clients such as Claude Code understand it, and Prowess does too; strict validators refuse it.";
    FIELD_NOT_TEXT = "field-not-text" [W O W W W],
        "a client's field is a list or a mapping and should be text",
        "The field is read as text, or as a list of texts. The value is kept and not used.";
    FIELD_NULL = "field-null" [W O W W I],
        "a field or a metadata value is null",
        "A plain `null` or `~`, or an empty value, is null in YAML. It is read as if the key were missing; other readers may see the text `null`.\n\nWrite a value, put the word in quotes, or leave the key out.";
    FIELD_TYPED = "field-typed" [I O I I O],
        "a text is a number, a boolean or a date to other readers",
        "A value without quotes that looks like `1.0`, `true`, `yes` or `2024-01-31` is not text to readers with typed values, so `1.0` may become `1`. Prowess reads the text verbatim.\n\nPut it in quotes.";
    LICENSE_NOT_TEXT = "license-not-text" [E O E E W],
        "the license is a list or a mapping",
        "The license is a short name such as `MIT`, or the name of a file in the skill.";
    LICENSE_EMPTY = "license-empty" [W O W W O],
        "the license is empty",
        "Name the license or leave the field out.";
    COMPATIBILITY_NOT_TEXT = "compatibility-not-text" [E E E E W],
        "the compatibility note is a list or a mapping",
        "The compatibility note is one text about what the skill needs.";
    COMPATIBILITY_EMPTY = "compatibility-empty" [E O E E O],
        "the compatibility note is empty",
        "The specification requires 1 to 500 characters if the field is present.\n\nSay what the skill needs, or leave the field out.";
    COMPATIBILITY_TOO_LONG = "compatibility-too-long" [E E E E W],
        "the compatibility note has more than 500 characters",
        "The specification allows 500 characters.";
    METADATA_NOT_MAPPING = "metadata-not-mapping" [E O E E W],
        "metadata is not a list of keys and values",
        "Write lines of `key: value` below `metadata:`.";
    METADATA_NOT_TEXT = "metadata-not-text" [E O E E O],
        "a metadata value is a list or a mapping",
        "The specification requires text for every value. Read leniently, it becomes JSON text.";
    METADATA_RESERVED_KEY = "metadata-reserved-key" [W O W W O],
        "a metadata key is reserved for MCP",
        "Keys that begin with `io.modelcontextprotocol/` are reserved for the skills extension of MCP.";
    INVOCATION_NOT_BOOLEAN = "invocation-not-boolean" [W O W W W],
        "an invocation switch is neither true nor false",
        "`disable-model-invocation` and `user-invocable` take `true` or `false`. Anything else is ignored.";
    HOOKS_PRESENT = "hooks-present" [I O I I I],
        "the skill asks for hooks",
        "Hooks are commands that a client would run. Prowess reports them and never runs them.";
}

/// Checks every field except name, description and tools.
pub(in crate::check) fn check(document: &Document, findings: &mut Findings<'_>) {
    for pair in document.pairs() {
        let key = pair.key.as_str();
        check_quotes(pair, findings);
        if matches!(key, "name" | "description" | "allowed-tools") {
            continue;
        }
        let shape = shape(key);
        if client_field(key).is_some() {
            if findings.wants(&FIELD_CLIENT) {
                let message = format!("the field belongs to some clients, not to the specification: {key}");
                findings.push(about(pair, Finding::new(&FIELD_CLIENT, message)));
            }
            // Tools have rules of their own.
            let fits = shape.is_none_or(|shape| shape == FieldShape::Tools || shape.fits(&pair.value));
            if !fits {
                let message = format!("{key} is {}, not text", pair.value.shape());
                findings.push(about(pair, Finding::new(&FIELD_NOT_TEXT, message)).with_span(pair.value.span));
            }
        } else if let Some(meant) = meant(document, key) {
            let message = format!("the field is misspelt: {}", inline(key));
            let help = format!("did you mean `{meant}`?");
            findings.push(about(pair, Finding::new(&FIELD_MISSPELT, message).with_help(help)));
        } else if !SPEC_FIELDS.contains(&key) && findings.wants(&FIELD_UNKNOWN) {
            let message = format!("the field is not in the specification: {}", inline(key));
            let meant = SPEC_FIELDS.iter().find(|field| field.eq_ignore_ascii_case(key));
            let help = meant.map_or_else(
                || "put it below `metadata:`".to_owned(),
                |field| format!("write `{field}` in lower case"),
            );
            findings.push(about(pair, Finding::new(&FIELD_UNKNOWN, message).with_help(help)));
        }
        if matches!(shape, Some(FieldShape::Text | FieldShape::Bracketed)) {
            check_value(key, pair, findings);
        }
        match key {
            "license" => check_license(pair, findings),
            "compatibility" => check_compatibility(pair, findings),
            "metadata" => check_metadata(pair, findings),
            _ if shape == Some(FieldShape::Switch) && boolean(&pair.value).is_none() => {
                let message = format!("{key} is neither true nor false: {}", inline(&pair.value.to_text()));
                let finding =
                    Finding::new(&INVOCATION_NOT_BOOLEAN, message).with_help("write `true` or `false`");
                findings.push(about(pair, finding));
            }
            "hooks" if !pair.value.is_null() => {
                findings.push(about(
                    pair,
                    Finding::new(
                        &HOOKS_PRESENT,
                        "the skill asks for hooks; Prowess never runs them, some agents do",
                    ),
                ));
            }
            _ => {}
        }
    }
}

/// The field of the specification that a misspelt key means: one that is nearly the same, and that the skill lacks.
pub(in crate::check) fn meant(document: &Document, key: &str) -> Option<&'static str> {
    // In another case, it has a message of its own.
    if SPEC_FIELDS.iter().any(|field| field.eq_ignore_ascii_case(key)) {
        return None;
    }
    let near = |field: &&&str| {
        let most = if field.len() < 6 { 1 } else { 2 };
        typos(key, field, most).is_some() && document.pair(field).is_none()
    };
    SPEC_FIELDS.iter().find(near).copied()
}

/// Checks for a value that is wrapped in curly quotes.
fn check_quotes(pair: &Pair, findings: &mut Findings<'_>) {
    let plain = pair.value.scalar().filter(|scalar| scalar.style == Style::Plain);
    let wrapped = plain.is_some_and(|scalar| unquoted(&scalar.text).is_some());
    if wrapped {
        let message = format!("the value is in curly quotes: {}", inline(&pair.key));
        let finding = Finding::new(&QUOTES_CURLY, message).with_help("use straight quotes");
        findings.push(about(pair, finding).with_span(pair.value.span));
    }
}

/// The text inside curly quotes, if there are some around it and none in it.
pub(in crate::check) fn unquoted(text: &str) -> Option<&str> {
    let double = ['\u{201c}', '\u{201d}', '\u{201e}'];
    let single = ['\u{2018}', '\u{2019}', '\u{201a}'];
    [double, single].into_iter().find_map(|quotes| {
        let inside = text.trim().strip_prefix(quotes)?.strip_suffix(quotes)?;
        (!inside.contains(double)).then_some(inside)
    })
}

/// Checks for a value that is null, or that readers with types read differently.
fn check_value(field: &str, pair: &Pair, findings: &mut Findings<'_>) {
    // An empty license and an empty note have rules of their own.
    let written = pair.value.text().is_some_and(|text| !text.is_empty());
    let own = matches!(field, "license" | "compatibility");
    if pair.value.is_null() && (written || !own) && findings.wants(&FIELD_NULL) {
        let finding = Finding::new(&FIELD_NULL, format!("{} is null", inline(field)))
            .with_field(field.to_owned())
            .with_span(if written { pair.value.span } else { pair.key_span });
        findings.push(finding.with_help("write a value, or leave the key out"));
    }
    crate::check::check_type(&FIELD_TYPED, field, &pair.value, findings);
}

fn about(pair: &Pair, finding: Finding) -> Finding {
    finding.with_field(pair.key.clone()).with_span(pair.key_span)
}

fn check_license(pair: &Pair, findings: &mut Findings<'_>) {
    match pair.value.text() {
        Some(text) if pair.value.is_null() && !text.is_empty() => {}
        None => {
            let message = format!("the license is {}", pair.value.shape());
            findings.push(about(pair, Finding::new(&LICENSE_NOT_TEXT, message)));
        }
        Some(text) if text.trim().is_empty() => {
            findings.push(about(pair, Finding::new(&LICENSE_EMPTY, "the license is empty")));
        }
        Some(_) => {}
    }
}

fn check_compatibility(pair: &Pair, findings: &mut Findings<'_>) {
    let Some(text) = pair.value.text() else {
        let message = format!("the compatibility note is {}", pair.value.shape());
        findings.push(about(pair, Finding::new(&COMPATIBILITY_NOT_TEXT, message)));
        return;
    };
    // Null is the same as an empty text.
    let length = if pair.value.is_null() { 0 } else { text.trim().chars().count() };
    if length == 0 {
        let finding = Finding::new(&COMPATIBILITY_EMPTY, "the compatibility note is empty")
            .with_help("say what the skill needs, or leave the field out");
        findings.push(about(pair, finding));
    } else if length > MAX_COMPATIBILITY_CHARS {
        let message =
            format!("the compatibility note has {length} characters, more than {MAX_COMPATIBILITY_CHARS}");
        findings.push(about(pair, Finding::new(&COMPATIBILITY_TOO_LONG, message)).with_span(pair.value.span));
    }
}

fn check_metadata(pair: &Pair, findings: &mut Findings<'_>) {
    let Some(pairs) = pair.value.pairs() else {
        if !pair.value.is_null() {
            let message = format!("metadata is {}, not keys and values", pair.value.shape());
            findings.push(about(pair, Finding::new(&METADATA_NOT_MAPPING, message)));
        }
        return;
    };
    for inner in pairs {
        let field = || format!("metadata.{}", inner.key);
        if inner.value.is_null() || findings.wants(&FIELD_TYPED) {
            check_value(&field(), inner, findings);
        }
        if Node::scalar(&inner.value).is_none() {
            let message = format!("the metadata value is {}: {}", inner.value.shape(), inline(&inner.key));
            findings.push(
                Finding::new(&METADATA_NOT_TEXT, message)
                    .with_field(field())
                    .with_span(inner.value.span)
                    .with_help("write the value as one text"),
            );
        }
        if inner.key.starts_with("io.modelcontextprotocol/") {
            let message = format!("the metadata key is reserved for MCP: {}", inline(&inner.key));
            findings.push(
                Finding::new(&METADATA_RESERVED_KEY, message).with_field(field()).with_span(inner.key_span),
            );
        }
    }
}
