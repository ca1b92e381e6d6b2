//! Properties of writing frontmatter, over documents as people write them: comments, any quoting, blocks,
//! brackets, either line ending.

#![allow(clippy::string_slice, reason = "these are tests")]

use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::json;

use super::*;

const KEYS: [&str; 9] =
    ["name", "description", "license", "metadata", "allowed-tools", "x y", "tags", "version", "größe"];

/// A value as an author may write it, after the colon and with its last line end.
fn written() -> impl Strategy<Value = String> {
    let word = || select(vec!["one", "two: x", "it's", "né", "#a", "a#b", "x y z", "- a", "1.0", "yes"]);
    let plain =
        select(vec!["word", "two words", "1.0", "true", "~", "a:b", "http://x/y#z", "né", "null", "*"])
            .prop_map(|text| if text == "*" { "star".to_owned() } else { text.to_owned() });
    let comment = || select(vec!["", "", " # why", "   #", "  "]);
    let inline = prop_oneof![
        3 => plain,
        1 => word().prop_map(|text| format!("'{}'", text.replace('\'', "''"))),
        1 => word().prop_map(|text| format!("\"{text}\\n\\u00e9\"")),
        1 => Just("\"folded\n  over \\\n  lines\"".to_owned()),
        1 => Just("plain over\n  several\n\n  lines".to_owned()),
        1 => Just("\n  below the key".to_owned()),
        1 => Just("[a, 'b, c', {d: e}]".to_owned()),
        1 => Just("[a,\n  b, # in\n  c]".to_owned()),
        1 => Just("{a: 1, \"b\": [2]}".to_owned()),
        1 => Just("[]".to_owned()),
        1 => Just(String::new()),
    ];
    let one = (select(vec![" ", "  ", "\t"]), inline, comment()).prop_map(|(gap, value, comment)| {
        let gap = if value.is_empty() || value.starts_with('\n') { "" } else { gap };
        format!("{gap}{value}{comment}\n")
    });
    let header = (select(vec!["|", ">", "|-", ">-", "|+", ">+", "|2", ">2-"]), comment());
    let lines = prop::collection::vec(
        select(vec!["  text", "  more: text", "   deeper", "", "  # no comment"]),
        1..4,
    );
    let block = (header, lines).prop_map(|((header, comment), lines)| {
        format!(" {header}{comment}\n  first\n{}\n", lines.join("\n"))
    });
    let sequence = (comment(), select(vec!["", "  "])).prop_map(|(comment, indent)| {
        format!(
            "{comment}\n{indent}- a # x\n{indent}# between\n{indent}- 'b'\n{indent}- c: d\n{indent}  e: f\n"
        )
    });
    let mapping = comment().prop_map(|comment| {
        format!("{comment}\n  a: b # keep\n\n  # own line\n  \"c\": |\n    text\n  e: [f]\n")
    });
    prop_oneof![8 => one, 2 => block, 1 => sequence, 1 => mapping]
}

/// A document that needs no repair, with various fences, comments and line ends.
fn documents() -> impl Strategy<Value = String> {
    let between = select(vec!["", "", "", "# a comment\n", "\n", "  # indented\n\n"]);
    let fields = prop::sample::subsequence(KEYS.to_vec(), 1..KEYS.len()).prop_shuffle();
    let quotes = select(vec!["", "'", "\""]);
    let lines = prop::collection::vec((between, quotes, written()), KEYS.len());
    let body = select(vec!["", "Body.\n", "\n# Title\n---\nmore", "\r\nx\r\n", "name: no\n"]);
    let fence = select(vec!["---\n", "---\n", "---  \n"]);
    let block = (fields, lines, fence).prop_map(|(fields, lines, fence)| {
        let fields: String = fields
            .iter()
            .zip(&lines)
            .map(|(key, (between, quote, value))| format!("{between}{quote}{key}{quote}:{value}"))
            .collect();
        (format!("---\n{fields}"), fence)
    });
    let flow = (
        prop::sample::subsequence(KEYS.to_vec(), 0..KEYS.len()),
        select(vec!["v", "'v, w'", "\"x\"", "[a, b]", "{c: d}", "1.0"]),
        select(vec![", ", ",\n  ", ", # c\n  "]),
        select(vec!["", " ", "\n", ","]),
    )
        .prop_map(|(keys, value, comma, end)| {
            let end = if end == "," && keys.is_empty() { "" } else { end };
            let fields: Vec<String> = keys.iter().map(|key| format!("{key}: {value}")).collect();
            (format!("---\n{{{}{end}}}\n", fields.join(comma)), "---\n")
        });
    (prop_oneof![6 => block, 1 => flow], body, any::<bool>()).prop_map(|((head, fence), body, crlf)| {
        let head = format!("{head}{fence}");
        let head = if crlf { head.replace('\n', "\r\n") } else { head };
        format!("{head}{body}")
    })
}

/// Texts that YAML would misread, between any others.
fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        2 => any::<String>(),
        2 => select(vec!["", "a", "a: b", "yes", "1.0", "# a", "- a", "a\nb", "a\nb\n", " a\n b", "---", "x\n---\ny", "\n", "'", "\"", "a #b", "null", "|", "é\r\n"]).prop_map(str::to_owned),
        1 => "[ -~\n]{0,30}",
    ]
}

fn values() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        6 => texts().prop_map(Value::String),
        1 => any::<bool>().prop_map(Value::Bool),
        1 => any::<i32>().prop_map(Value::from),
        1 => Just(Value::Null),
    ];
    scalar.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map(texts(), inner, 0..3).prop_map(|map| json!(map)),
        ]
    })
}

/// The number of bytes that two texts share at their start and, in the rest, at their end.
fn shared(a: &str, b: &str) -> (usize, usize) {
    let start = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a.as_bytes()[start..], &b.as_bytes()[start..]);
    (start, a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count())
}

proptest! {
    #![proptest_config(crate::text::testing::many())]

    #[test]
    fn parsing_what_was_written_gives_the_same_document(text in prop_oneof![4 => documents(), 1 => any::<String>()]) {
        let document = parse(text.as_bytes());
        prop_assert_eq!(document.to_markdown(), text.as_bytes());
        let again = parse(document.to_markdown());
        prop_assert_eq!(again.frontmatter_json(), document.frontmatter_json());
        prop_assert_eq!(again.body_raw(), document.body_raw());
        prop_assert_eq!(again.findings(), document.findings());
    }

    #[test]
    fn setting_a_field_leaves_all_other_bytes(text in documents(), which in any::<Index>(), value in values()) {
        let document = parse(text.as_bytes());
        prop_assert!(!document.repaired(), "the generator makes sound documents: {text:?} {:?}", document.findings());
        let key = *which.get(&KEYS);
        let changed = match document.with_field(key, &value) {
            Ok(changed) => changed,
            Err(error) => return Err(TestCaseError::fail(format!("{error} {:?}", document.findings()))),
        };
        prop_assert_eq!(changed.field(key).map(Node::to_json), Some(value.clone()));
        let (start, end) = shared(&text, changed.text());
        let field = document.pair(key).map(|pair| {
            let from = if pair.value.scalar().is_some() && changed.field(key).is_some_and(|new| new.scalar().is_some()) {
                pair.value.span.start
            } else {
                pair.key_span.end + 1
            };
            (from, pair.value.span.end.max(pair.key_span.end))
        });
        match field {
            Some((from, to)) => {
                prop_assert!(start + end >= text.len() - (to - from), "{:?}", changed.text());
                prop_assert!(text.is_char_boundary(from) && changed.text().starts_with(&text[..from]), "{:?}", changed.text());
                prop_assert!(changed.text().ends_with(&text[to..]), "{:?}", changed.text());
            }
            // A new field is an insertion: no byte is removed.
            None => prop_assert!(start + end >= text.len(), "{:?}", changed.text()),
        }
        // A comment between the key and a value below it stays, unless a block takes its line.
        let notes = |text: &str| text.matches("# why").count();
        let between = document.pair(key).map_or("", |pair| &text[pair.key_span.end..pair.value.span.start]);
        let block = changed.field(key).and_then(Node::scalar).is_some_and(|new| new.style == Style::Literal);
        if between.contains("# why") && !block {
            prop_assert_eq!(notes(changed.text()), notes(&text), "{:?}", changed.text());
        }
        // Comments outside the field are still there, and the rest of the fields say the same.
        for pair in document.pairs().iter().filter(|pair| pair.key != key) {
            prop_assert_eq!(changed.field(&pair.key).map(Node::to_json), Some(pair.value.to_json()));
        }
        // Lines end as they did.
        let head = |document: &Document| document.frontmatter().unwrap_or("").to_owned();
        if text.starts_with("---\r\n") {
            prop_assert_eq!(head(&changed).matches('\n').count(), head(&changed).matches("\r\n").count());
        }
    }

    #[test]
    fn removing_a_field_leaves_all_other_bytes(text in documents(), which in any::<Index>()) {
        let document = parse(text.as_bytes());
        let key = *which.get(&KEYS);
        let Ok(changed) = document.without_field(key) else { return Ok(()) };
        prop_assert!(changed.field(key).is_none());
        let (start, end) = shared(changed.text(), &text);
        prop_assert!(start + end >= changed.text().len(), "{:?}", changed.text());
    }
}
