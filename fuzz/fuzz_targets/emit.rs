//! Setting a field of any document: it reads back, and nothing else changes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prowess_core::document::Node;
use prowess_core::{FixMode, Origin, Profile, fix, parse};

fuzz_target!(|input: (&str, u8, &str)| {
    let (yaml, key, value) = input;
    let text = format!("---\n{yaml}\n---\nbody\n");
    let document = parse(text.as_bytes());
    assert_eq!(document.to_markdown(), text.as_bytes());
    let key = ["name", "description", "license", "metadata", "x"][usize::from(key) % 5];
    if let Ok(changed) = document.with_field(key, &value.into()) {
        assert_eq!(changed.field(key).and_then(Node::text), Some(value));
        assert_eq!(changed.body_raw(), document.body_raw());
        for pair in changed.pairs().iter().filter(|pair| pair.key != key) {
            assert_eq!(
                document.field(&pair.key).map(Node::to_json),
                changed.field(&pair.key).map(Node::to_json)
            );
        }
    }
    let at = Origin::at("skills/demo/SKILL.md");
    let once = fix(&document, None, &at, &Profile::spec(), FixMode::Safe).document;
    let twice = fix(&once, None, &at, &Profile::spec(), FixMode::Safe).document;
    assert_eq!(once.raw(), twice.raw());
    assert_eq!((once.name(&at), once.description()), (document.name(&at), document.description()));
});
