//! Tests of repair: frontmatter that is not YAML, and its repaired form.

use super::*;

fn repaired(yaml: &str) -> String {
    assert!(yaml::read(yaml, 0).error.is_some(), "not broken: {yaml}");
    let repaired = repair(yaml).unwrap_or_else(|| panic!("not repaired: {yaml}"));
    yaml::read(&repaired.text, 0).root.unwrap().to_json().to_string()
}

#[test]
fn a_colon_in_a_plain_value() {
    assert_eq!(
        repaired("name: a\ndescription: Use when: the user's asking\nlicense: MIT\n"),
        r#"{"name":"a","description":"Use when: the user's asking","license":"MIT"}"#
    );
}

#[test]
fn an_alias_stays_one_when_something_else_is_broken() {
    assert_eq!(
        repaired("name: &n x\ndescription: Use when: asked\nlicense: *n\nfoo: *bar\n"),
        r#"{"name":"x","description":"Use when: asked","license":"x","foo":"*bar"}"#
    );
}

#[test]
fn continuation_lines_are_joined_indented_or_not() {
    assert_eq!(
        repaired("description: Build: this\n  and that\nand more\nname: x\n"),
        r#"{"description":"Build: this and that and more","name":"x"}"#
    );
    assert_eq!(
        repaired("name: x\ndescription:\nstarts below: y: z\n"),
        r#"{"name":"x","description":"starts below: y: z"}"#
    );
}

#[test]
fn values_that_begin_with_an_indicator() {
    assert_eq!(
        repaired(
            "name: x\ndescription: **bold** text\nargument-hint: [a] | --b\nz: `code`\ny: @at\nw: *star\nv: %p\n"
        ),
        r#"{"name":"x","description":"**bold** text","argument-hint":"[a] | --b","z":"`code`","y":"@at","w":"*star","v":"%p"}"#
    );
}

#[test]
fn quotes_inside_quotes() {
    assert_eq!(repaired("description: \"Use \"this\" now\"\n"), r#"{"description":"Use \"this\" now"}"#);
    assert_eq!(repaired("description: \"one\" and \"two\"\n"), r#"{"description":"\"one\" and \"two\""}"#);
    assert_eq!(repaired("a: 'it's'\nb: \"open\n"), r#"{"a":"it's","b":"open"}"#);
    assert_eq!(repaired("a: \"C:\\path\\q: \\\"x\\\"\"\n"), r#"{"a":"C:\\path\\q: \"x\""}"#);
}

#[test]
fn tabs_and_nested_entries() {
    assert_eq!(
        repaired("name: x\nmetadata:\n\ta: b\n\tc: d: e\n"),
        r#"{"name":"x","metadata":{"a":"b","c":"d: e"}}"#
    );
    assert_eq!(repaired("tags:\n  - a: b: c\n  - @x\n  - fine\n"), r#"{"tags":[{"a":"b: c"},"@x","fine"]}"#);
}

#[test]
fn block_scalars_without_indentation() {
    assert_eq!(
        repaired("description: |\nOne.\nTwo! [\nname: x\n"),
        r#"{"description":"One.\nTwo! [","name":"x"}"#
    );
}

#[test]
fn a_broken_block_of_text_keeps_its_blank_lines_and_indents() {
    assert_eq!(repaired("description: |\n    a\n\n      b\n  c\n"), r#"{"description":"a\n\n    b\nc"}"#);
    assert_eq!(repaired("description: >\n    a\n    b\n\n  c: d\n  e\n"), r#"{"description":"a b\nc: d e"}"#);
}

#[test]
fn a_comment_line_below_a_broken_value_is_no_part_of_it() {
    assert_eq!(
        repaired("description: Use when: a\n  and: b\n  # third\nlicense: x\n"),
        r#"{"description":"Use when: a and: b","license":"x"}"#
    );
}

#[test]
fn fields_indented_by_mistake_are_fields() {
    assert_eq!(
        repaired("name: demo\n description: Does it\n   at length\n  license: MIT\n"),
        r#"{"name":"demo","description":"Does it at length","license":"MIT"}"#
    );
    assert_eq!(repaired("name: demo\n description: a: b\n"), r#"{"name":"demo","description":"a: b"}"#);
}

#[test]
fn sound_entries_are_left_alone() {
    let yaml = "name: 'x' # why\nmetadata: {a: 1}\ndescription: a: b\n";
    let repaired = repair(yaml).unwrap();
    assert_eq!(repaired.text, "name: 'x' # why\nmetadata: {a: 1}\ndescription: 'a: b'\n");
    let root = yaml::read(&repaired.text, 0).root.unwrap();
    let span = repaired.span_to_source(root.get("description").unwrap().span);
    assert_eq!(span.slice(yaml), Some("a: b"));
}

#[test]
fn metadata_that_becomes_text_is_no_safe_repair() {
    for broken in ["{a: 1, b: two: three}", "a: b: c", "[a: b: c"] {
        let metadata = repair(&format!("name: x\nmetadata: {broken}\n")).unwrap();
        assert!(!metadata.safe, "{broken}");
        assert!(repair(&format!("name: x\ndescription: {broken}\n")).unwrap().safe, "{broken}");
    }
    // A value in it is a text.
    assert!(repair("name: x\nmetadata:\n  a: b: c\n").unwrap().safe);
}

#[test]
fn a_body_without_a_fence_before_it_is_no_value() {
    assert!(repair("name: x\ndescription: d\n\nBody text here\n").is_none());
}

#[test]
fn prose_is_kept_as_comments_and_nonsense_stays_broken() {
    assert_eq!(repaired("Some prose here, [\nname: x\n"), r#"{"name":"x"}"#);
    assert!(repair("[[[").is_none());
}
