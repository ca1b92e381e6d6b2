//! Tests of writing frontmatter: exact texts, and that setting a field leaves every other byte alone.

use super::super::yaml;
use super::*;
use proptest::prelude::*;
use serde_json::json;

fn read_json(text: &str) -> Option<Value> {
    let read = yaml::read(text, 0);
    if read.error.is_some() { None } else { read.root.map(|root| root.to_json()) }
}

const TEXT: &str = "---\n# ours\nname: demo   # the name\ndescription: \"old\"\nmetadata:\n  a: b # keep\n  c: d\nlicense:\n---\nBody.\n";

fn set(key: &str, value: Value) -> String {
    parse(TEXT.as_bytes()).with_field(key, &value).unwrap().text().to_owned()
}

#[test]
fn setting_a_field_changes_only_its_bytes() {
    assert_eq!(set("name", json!("other")), TEXT.replace("demo ", "other "));
    assert_eq!(set("description", json!("a: b")), TEXT.replace("\"old\"", "\"a: b\""));
    assert_eq!(set("license", json!("MIT")), TEXT.replace("license:", "license: MIT"));
    assert_eq!(set("metadata", json!({"x": "1.0"})), TEXT.replace("\n  a: b # keep\n  c: d", "\n  x: '1.0'"));
    assert_eq!(set("version", json!("yes")), TEXT.replace("license:\n", "license:\nversion: 'yes'\n"));
    assert_eq!(
        set("tags", json!(["a", "b: c"])),
        TEXT.replace("license:\n", "license:\ntags:\n  - a\n  - 'b: c'\n")
    );
    let removed = parse(TEXT.as_bytes()).without_field("metadata").unwrap();
    assert_eq!(removed.text(), TEXT.replace("metadata:\n  a: b # keep\n  c: d\n", ""));
}

#[test]
fn line_endings_flow_roots_and_missing_names() {
    let crlf = parse(b"---\r\ndescription: d\r\n---\r\nB\r\n").with_field("name", &json!("nn")).unwrap();
    assert_eq!(crlf.text(), "---\r\nname: nn\r\ndescription: d\r\n---\r\nB\r\n");
    let flow = parse(b"---\n{name: n, description: d}\n---\n").with_field("license", &json!("a, b")).unwrap();
    assert_eq!(flow.text(), "---\n{name: n, description: d, license: 'a, b'}\n---\n");
    let block = parse(b"---\nname: n\ndescription: >\n  one\n  two\n---\n")
        .with_field("description", &json!("x\ny\n"))
        .unwrap();
    assert_eq!(block.text(), "---\nname: n\ndescription: |\n  x\n  y\n---\n");
}

#[test]
fn what_cannot_be_written_is_refused() {
    let error = |text: &str, key: &str| parse(text.as_bytes()).with_field(key, &json!("v")).unwrap_err();
    assert_eq!(error("# no\n", "name"), EditError::NoFrontmatter);
    assert_eq!(error("---\na: 1\na: 2\n---\n", "a"), EditError::Ambiguous("a".to_owned()));
    assert_eq!(error("---\nname: !x a\n---\n", "name"), EditError::Unreadable);
    // An alias elsewhere would change with it.
    let aliased = "---\nname: &x a\nb: *x\n---\n";
    assert_eq!(error(aliased, "name"), EditError::NotWritable("name".to_owned()));
    let written = parse(aliased.as_bytes()).with_field("b", &json!("v")).unwrap();
    assert_eq!(written.text(), "---\nname: &x a\nb: v\n---\n");
}

#[test]
fn repaired_frontmatter_is_written_as_it_was_read() {
    let document =
        parse(b"---\nname: a\ndescription: Use when: x\n---\n").with_field("license", &json!("MIT")).unwrap();
    assert_eq!(document.text(), "---\nname: a\ndescription: 'Use when: x'\nlicense: MIT\n---\n");
}

#[test]
fn whole_files_read_back() {
    let fields = json!({"name": "n", "description": "Line one.\nLine two: three\n", "metadata": {"v": "1.0", "on": "off"}, "x": [1, {"a": [true, null]}], "e": {}, "l": []});
    let text = markdown(fields.as_object().unwrap(), "Do it.");
    let document = parse(text.as_bytes());
    assert_eq!(Value::Object(document.frontmatter_json()), fields, "{text}");
    assert_eq!(document.body(), "Do it.");
    assert!(document.findings().iter().all(|finding| finding.code() == "yaml-flow-style"));
}

proptest! {
    #![proptest_config(crate::text::testing::many())]

    #[test]
    fn every_scalar_reads_back(text in any::<String>(), flow in any::<bool>(), style in 0..3usize) {
        let style = [Style::Plain, Style::SingleQuoted, Style::DoubleQuoted][style];
        let yaml = if flow { format!("{{k: {}}}", scalar(&text, style, true)) } else { format!("k: {}\n", scalar(&text, style, false)) };
        prop_assert_eq!(read_json(&yaml), Some(json!({"k": text})), "{}", yaml);
    }
}
