//! Tests of the full reader: the values it reads, and what it refuses.

use super::*;
use serde_json::Value;

fn json(yaml: &str) -> Value {
    let read = read(yaml, 0);
    assert_eq!(read.error, None, "{yaml}");
    read.root.unwrap().to_json()
}

fn codes(yaml: &str) -> Vec<&'static str> {
    read(yaml, 0).findings.iter().map(Finding::code).collect()
}

#[test]
fn the_typed_view_is_yaml_1_2_core() {
    let value = json(
        "a: 1.0\nb: yes\nc: null\nd: 0x1F\ne: 0o17\nf: '1'\ng: -3\nh: 1e3\ni: .5\nj: 2026-03-05\nk: 1.2.3\nl: .inf\nm: True\nn: 99999999999999999999",
    );
    assert_eq!(
        value.to_string(),
        r#"{"a":1.0,"b":"yes","c":null,"d":31,"e":15,"f":"1","g":-3,"h":1000.0,"i":0.5,"j":"2026-03-05","k":"1.2.3","l":".inf","m":true,"n":"99999999999999999999"}"#
    );
}

#[test]
fn scalars_keep_their_source_text() {
    let read = read("version: 1.0\nfolded: >\n  a\n  b\n", 0);
    let root = read.root.unwrap();
    assert_eq!(root.get("version").unwrap().text(), Some("1.0"));
    assert_eq!(root.get("folded").unwrap().text(), Some("a b\n"));
}

#[test]
fn a_value_that_is_not_written_is_an_empty_text() {
    let root = read("a:\nb: ~\nc: ''\nd: # none\n", 0).root.unwrap();
    let texts: Vec<_> = ["a", "b", "c", "d"].map(|key| root.get(key).unwrap().text().unwrap()).into();
    assert_eq!(texts, ["", "~", "", ""]);
    assert_eq!(root.to_json().to_string(), r#"{"a":null,"b":null,"c":"","d":null}"#);
}

#[test]
fn spans_cover_the_value_in_the_file() {
    let yaml = "name: 'a b'\ndescription: >-\n  one\n  two\nlist: [x, y]\n";
    let text = format!("---\n{yaml}---\n");
    let root = read(yaml, 4).root.unwrap();
    assert_eq!(root.get("name").unwrap().span.slice(&text), Some("'a b'"));
    assert_eq!(root.get("list").unwrap().span.slice(&text), Some("[x, y]"));
    assert_eq!(root.get("description").unwrap().span.slice(&text), Some(">-\n  one\n  two"));
    assert_eq!(root.pairs().unwrap()[1].key_span.slice(&text), Some("description"));
}

#[test]
fn blocks_and_missing_values_have_exact_spans() {
    let yaml = "a: | # why\n\n  x\n\n\nb :  # none\nc:\n  - |\n    y\n  - z\n\n# tail\nd:\n  e: f\n\n";
    let root = read(yaml, 0).root.unwrap();
    let slice = |key: &str| root.get(key).unwrap().span.slice(yaml);
    assert_eq!(slice("a"), Some("| # why\n\n  x"));
    assert_eq!(slice("c"), Some("- |\n    y\n  - z"));
    assert_eq!(root.get("c").unwrap().items().unwrap()[0].span.slice(yaml), Some("|\n    y"));
    assert_eq!(slice("d"), Some("e: f"));
    let nothing = root.get("b").unwrap();
    assert_eq!((nothing.text(), nothing.span), (Some(""), Span::at(yaml.find("b :").unwrap() + 3)));
}

#[test]
fn fields_before_an_error_are_kept() {
    let read = read("name: a\ndescription: b\nmetadata: [c", 0);
    assert!(read.error.is_some());
    assert_eq!(read.root.unwrap().get("description").unwrap().text(), Some("b"));
}

#[test]
fn forbidden_constructs_are_named() {
    assert_eq!(codes("name: &x a\ndescription: *x"), ["yaml-anchor"]);
    assert_eq!(codes("name: !!str a"), ["yaml-tag"]);
    assert_eq!(codes("<<: {a: 1}"), ["yaml-merge-key", "yaml-flow-style"]);
    assert_eq!(codes("a: b\n...\n---\nc: d"), ["yaml-several-documents"]);
    assert_eq!(codes("? [a]\n: b"), ["yaml-flow-style", "yaml-complex-key"]);
}

#[test]
fn an_alias_is_the_value_of_its_anchor_at_its_own_place() {
    let yaml = "a: &x {b: [1, t]}\nc: *x\nd: [&y z, *y, *x]\n&k e: f\n";
    let root = read(yaml, 0).root.unwrap();
    assert_eq!(
        root.to_json().to_string(),
        r#"{"a":{"b":[1,"t"]},"c":{"b":[1,"t"]},"d":["z","z",{"b":[1,"t"]}],"e":"f"}"#
    );
    let c = root.get("c").unwrap();
    assert_eq!(c.span.slice(yaml), Some("*x"));
    assert_eq!(c.get("b").unwrap().span.slice(yaml), Some("*x"));
    // An alias refers to the last anchor of its name before it.
    assert_eq!(json("a: &x 1\nb: *x\nc: &x 2\nd: *x\n").to_string(), r#"{"a":1,"b":1,"c":2,"d":2}"#);
}

#[test]
fn copies_count_and_an_alias_in_its_own_value_is_refused() {
    assert_eq!(codes("a: &a [*a]"), ["yaml-anchor", "yaml-flow-style", "yaml-limit"]);
    let bomb: String = ('b'..'k').fold("a: &a [x,x,x,x,x,x,x,x,x]\n".to_owned(), |text, name| {
        let before = char::from(name as u8 - 1);
        text + &format!("{name}: &{name} [{}]\n", vec![format!("*{before}"); 9].join(","))
    });
    assert_eq!(codes(&bomb).last(), Some(&"yaml-limit"));
    let wide = format!("a: &a {}\nb: [{}]\n", "x".repeat(60_000), ["*a"; 9].join(", "));
    assert_eq!(codes(&wide).last(), Some(&"yaml-limit"));
    let deep =
        format!("a: &a {}x{}\nb: {}*a{}\n", "[".repeat(20), "]".repeat(20), "[".repeat(20), "]".repeat(20));
    assert_eq!(codes(&deep).last(), Some(&"yaml-limit"));
}

#[test]
fn duplicate_keys_show_both_places() {
    let few = read("a: 1\nname: x\na: 2\nname: y", 0).findings;
    assert_eq!(few.iter().map(Finding::code).collect::<Vec<_>>(), ["duplicate-key", "duplicate-identity"]);
    assert_eq!((few[0].related[0].span, few[0].span), (Span::new(0, 1), Some(Span::new(13, 14))));
    let many: String = (0..40).map(|n| format!("k{n}: v\n")).collect::<String>() + "k7: again\n";
    assert_eq!(read(&many, 0).findings.len(), 1);
}

#[test]
fn depth_and_size_are_bounded() {
    assert_eq!(codes(&format!("a: {}1{}", "[".repeat(32), "]".repeat(32))).last(), Some(&"yaml-limit"));
    for tower in ["[".repeat(1000), format!("{}{}", "[".repeat(99), "]".repeat(99)), "{a: ".repeat(99)] {
        assert_eq!(codes(&format!("a: {tower}")).last(), Some(&"yaml-limit"), "{tower}");
    }
    assert_eq!(codes(&"k: v\n".repeat(6000)).last().copied(), Some("duplicate-key"));
    let wide: String = (0..6000).map(|n| format!("k{n}: v\n")).collect();
    assert_eq!(codes(&wide), ["yaml-limit"]);
}
