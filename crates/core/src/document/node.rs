//! A value of the frontmatter: the text its author wrote (`1.0` stays `1.0`), its place, and a typed JSON view.

use serde_json::{Map, Number, Value};

use crate::span::Span;

/// A value in the frontmatter and its place in the file.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Node {
    /// The bytes of the value in the file, quotes and block indicators included.
    pub span: Span,
    /// The value.
    pub kind: NodeKind,
}

/// The three shapes of a YAML value.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum NodeKind {
    /// A text, number, boolean or null.
    Scalar(Scalar),
    /// A list.
    Sequence(Vec<Node>),
    /// A mapping, in the order of the file.
    Mapping(Vec<Pair>),
}

/// A key and its value.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Pair {
    /// The key as text; a key that is a collection is its JSON text.
    pub key: String,
    /// The place of the key.
    pub key_span: Span,
    /// The value.
    pub value: Node,
}

/// A scalar: the text after quotes and folding, and how it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Scalar {
    /// The text; for a plain scalar exactly what the author wrote.
    pub text: String,
    /// How it was written.
    pub style: Style,
}

/// How a scalar was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Style {
    /// Without quotes.
    Plain,
    /// `'…'`
    SingleQuoted,
    /// `"…"`
    DoubleQuoted,
    /// `|`
    Literal,
    /// `>`
    Folded,
}

impl Scalar {
    /// Whether it is a plain `null`, `~` or nothing at all.
    pub fn is_null(&self) -> bool {
        self.style == Style::Plain && matches!(self.text.as_str(), "" | "~" | "null" | "Null" | "NULL")
    }

    /// The type that other readers, also those of YAML 1.1, give the value when it is not text: a number, a boolean or a
    /// date.
    pub fn other_type(&self) -> Option<&'static str> {
        // Most texts begin with a letter and are longer than any of the words.
        let text = self.text.as_str();
        let begins =
            text.as_bytes().first().is_some_and(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.'));
        if self.style != Style::Plain || !(begins || text.len() <= 5) {
            return None;
        }
        let words = ["true", "false", "yes", "no", "on", "off"];
        if text.len() <= 5 && words.iter().any(|word| text.eq_ignore_ascii_case(word)) {
            return Some("a boolean");
        }
        if looks_like_number(text) {
            return Some("a number");
        }
        let shape = text.bytes().map(|byte| if byte.is_ascii_digit() { b'0' } else { byte });
        shape.eq(*b"0000-00-00").then_some("a date")
    }

    /// The typed view of YAML 1.2's core schema; quoted and block scalars are always strings.
    ///
    /// Numbers that JSON cannot hold (infinities, integers beyond 64 bits) stay strings.
    pub fn to_json(&self) -> Value {
        let text = self.text.as_str();
        if self.style != Style::Plain {
            return Value::String(text.to_owned());
        }
        match text {
            "" | "~" | "null" | "Null" | "NULL" => Value::Null,
            "true" | "True" | "TRUE" => Value::Bool(true),
            "false" | "False" | "FALSE" => Value::Bool(false),
            _ => number(text).map_or_else(|| Value::String(text.to_owned()), Value::Number),
        }
    }
}

/// A number of the core schema: decimal, `0o` octal, `0x` hexadecimal, or a float.
fn number(text: &str) -> Option<Number> {
    let first = text.bytes().next()?;
    if !(first.is_ascii_digit() || matches!(first, b'+' | b'-' | b'.')) {
        return None;
    }
    if let Some(octal) = text.strip_prefix("0o") {
        return digits(octal, 8);
    }
    if let Some(hexadecimal) = text.strip_prefix("0x") {
        return digits(hexadecimal, 16);
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if !unsigned.is_empty() && unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
        let text = text.strip_prefix('+').unwrap_or(text);
        return text.parse::<i64>().map(Number::from).or_else(|_| text.parse::<u64>().map(Number::from)).ok();
    }
    let (mantissa, exponent) =
        unsigned.split_once(['e', 'E']).map_or((unsigned, None), |(m, e)| (m, Some(e)));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits_only = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let exponent_ok = exponent.is_none_or(|exponent| {
        let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !digits.is_empty() && digits_only(digits)
    });
    if digits_only(whole)
        && digits_only(fraction)
        && !(whole.is_empty() && fraction.is_empty())
        && exponent_ok
    {
        return text.strip_prefix('+').unwrap_or(text).parse().ok().and_then(Number::from_f64);
    }
    None
}

/// A number of YAML's core schema, also one that is too large or not finite.
pub(crate) fn looks_like_number(text: &str) -> bool {
    // Most texts are not numbers, and their first letter shows it.
    if !text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.')) {
        return false;
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return true;
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return !digits.is_empty() && digits.bytes().all(|byte| (b'0'..=b'7').contains(&byte));
    }
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let (mantissa, exponent) = unsigned
        .split_once(['e', 'E'])
        .map_or((unsigned, None), |(mantissa, exponent)| (mantissa, Some(exponent)));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let scaled = exponent.is_none_or(|exponent| {
        let power = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !power.is_empty() && digits(power)
    });
    digits(whole) && digits(fraction) && !(whole.is_empty() && fraction.is_empty()) && scaled
}

fn digits(text: &str, radix: u32) -> Option<Number> {
    if text.is_empty() || !text.chars().all(|character| character.is_digit(radix)) {
        return None;
    }
    u64::from_str_radix(text, radix).ok().map(Number::from)
}

impl Node {
    /// The scalar, when it is one.
    pub fn scalar(&self) -> Option<&Scalar> {
        match &self.kind {
            NodeKind::Scalar(scalar) => Some(scalar),
            NodeKind::Sequence(_) | NodeKind::Mapping(_) => None,
        }
    }

    /// The text of a scalar as its author wrote it.
    pub fn text(&self) -> Option<&str> {
        self.scalar().map(|scalar| scalar.text.as_str())
    }

    /// The text of a scalar that is not null.
    pub fn said(&self) -> Option<&str> {
        self.scalar().filter(|scalar| !scalar.is_null()).map(|scalar| scalar.text.as_str())
    }

    /// The pairs, when it is a mapping.
    pub fn pairs(&self) -> Option<&[Pair]> {
        match &self.kind {
            NodeKind::Mapping(pairs) => Some(pairs),
            NodeKind::Scalar(_) | NodeKind::Sequence(_) => None,
        }
    }

    /// The items, when it is a list.
    pub fn items(&self) -> Option<&[Node]> {
        match &self.kind {
            NodeKind::Sequence(items) => Some(items),
            NodeKind::Scalar(_) | NodeKind::Mapping(_) => None,
        }
    }

    /// The value of a key; the last one when a key appears twice.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.pairs()?.iter().rev().find(|pair| pair.key == key).map(|pair| &pair.value)
    }

    /// Whether it is a plain null or nothing at all.
    pub fn is_null(&self) -> bool {
        self.scalar().is_some_and(Scalar::is_null)
    }

    /// The typed view: what a YAML 1.2 reader makes of it, as JSON.
    pub fn to_json(&self) -> Value {
        match &self.kind {
            NodeKind::Scalar(scalar) => scalar.to_json(),
            NodeKind::Sequence(items) => Value::Array(items.iter().map(Node::to_json).collect()),
            NodeKind::Mapping(pairs) => Value::Object(pairs_to_json(pairs)),
        }
    }

    /// The value as JSON with the source text of every scalar: `1.10` stays `1.10`.
    pub fn to_json_texts(&self) -> Value {
        match &self.kind {
            NodeKind::Scalar(scalar) => Value::String(scalar.text.clone()),
            NodeKind::Sequence(items) => Value::Array(items.iter().map(Node::to_json_texts).collect()),
            NodeKind::Mapping(pairs) => {
                pairs.iter().map(|pair| (pair.key.clone(), pair.value.to_json_texts())).collect()
            }
        }
    }

    /// The value as a string: the source text of a scalar, the JSON text of anything else.
    pub fn to_text(&self) -> String {
        self.text().map_or_else(|| self.to_json().to_string(), str::to_owned)
    }

    /// The word for its shape in a message.
    pub fn shape(&self) -> &'static str {
        match &self.kind {
            NodeKind::Scalar(scalar) if scalar.is_null() => "nothing",
            NodeKind::Scalar(_) => "a text",
            NodeKind::Sequence(_) => "a list",
            NodeKind::Mapping(_) => "a mapping",
        }
    }
}

/// Pairs as a JSON object in the order of the file; of two equal keys the last wins.
pub(crate) fn pairs_to_json(pairs: &[Pair]) -> Map<String, Value> {
    pairs.iter().map(|pair| (pair.key.clone(), pair.value.to_json())).collect()
}

/// Replaces the spans of a value and of everything in it.
pub(super) fn move_spans(node: &mut Node, to: &impl Fn(Span) -> Span) {
    node.span = to(node.span);
    match &mut node.kind {
        NodeKind::Scalar(_) => {}
        NodeKind::Sequence(items) => items.iter_mut().for_each(|item| move_spans(item, to)),
        NodeKind::Mapping(pairs) => {
            for pair in pairs {
                pair.key_span = to(pair.key_span);
                move_spans(&mut pair.value, to);
            }
        }
    }
}
