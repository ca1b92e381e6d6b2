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
    assert!(
        document.findings().iter().any(|finding| finding.code() == "yaml-syntax"),
        "the original error stays"
    );
    // A repaired text may also have its fence mended; only both together are what was read.
    let fixes = document.findings().iter().filter_map(|finding| finding.fix.as_ref()).filter(|fix| fix.safe);
    let mut edits: Vec<_> = fixes.flat_map(|fix| &fix.edits).collect();
    edits.sort_by_key(|edit| edit.span);
    let mut fixed = String::new();
    let mut from = 0;
    for edit in edits {
        fixed.push_str(&text[from..edit.span.start]);
        fixed.push_str(&edit.replacement);
        from = edit.span.end;
    }
    fixed.push_str(&text[from..]);
    let again = parse(fixed.as_bytes());
    assert!(!again.repaired(), "{fixed:?}");
    assert_eq!(again.frontmatter_json(), document.frontmatter_json());
});
