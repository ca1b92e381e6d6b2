//! The tokenizer of `allowed-tools` never loses a character.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prowess_core::ToolList;
use prowess_core::internal::tokens;

fuzz_target!(|text: &str| {
    let mut from = 0;
    for token in tokens(text) {
        let gap = text.get(from..token.start).expect("tokens are ordered and on boundaries");
        assert!(gap.chars().all(|c| c.is_whitespace() || c == ','), "{gap:?} was lost from {text:?}");
        assert!(token.start < token.end);
        from = token.end;
    }
    assert!(text[from..].chars().all(|c| c.is_whitespace() || c == ','));
    let list = ToolList::parse(text);
    assert_eq!(list.grants.len(), tokens(text).len());
    for grant in &list.grants {
        let _ = grant.matches("Bash", Some("git status"));
        let _ = grant.matches(grant.base_name(), None);
    }
});
