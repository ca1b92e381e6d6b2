//! Broken frontmatter: a repair reads as YAML and, written down, reads as the same fields without repair.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prowess_core::parse;

fuzz_target!(|yaml: &str| {
    let text = format!("---\n{yaml}\n---\nbody\n");
    let document = parse(text.as_bytes());
    if !document.repaired() {
        return;
    }
    let syntax = document.findings().iter().find(|finding| finding.code() == "yaml-syntax").expect("the original error stays");
    let fix = syntax.fix.as_ref().expect("a repair is a fix");
    let mut fixed = String::new();
    let mut from = 0;
    for edit in &fix.edits {
        fixed.push_str(&text[from..edit.span.start]);
        fixed.push_str(&edit.replacement);
        from = edit.span.end;
    }
    fixed.push_str(&text[from..]);
    let again = parse(fixed.as_bytes());
    assert!(!again.repaired(), "{fixed:?}");
    assert_eq!(again.frontmatter_json(), document.frontmatter_json());
});
