//! Escaped text has nothing hidden in it, JSON keeps its meaning, and escaping twice changes nothing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prowess_core::text::{hidden, inline, json, neutralize, visible, xml};

fuzz_target!(|text: &str| {
    for escaped in [xml(text), visible(text), inline(text), neutralize(text, &["file"])] {
        assert_eq!(hidden(&escaped).next(), None, "{}", escaped.escape_unicode());
    }
    let once = inline(text);
    assert_eq!(inline(&once), once);
    let quoted = serde_json::to_string(text).expect("a text is JSON");
    let escaped = json(&quoted);
    assert_eq!(hidden(&escaped).next(), None);
    assert_eq!(serde_json::from_str::<String>(&escaped).expect("still JSON"), text);
});
