//! Any bytes are read: offsets are correct, the stream reader agrees, every problem has a place in the file.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prowess_core::client::{Fact, Facts};
use prowess_core::{Origin, Preset, Profile, Severity, parse, read_frontmatter};

/// Facts that may be about the body.
const BODY: Facts = Facts::of(&[Fact::NotUtf8]);

fuzz_target!(|bytes: &[u8]| {
    let document = parse(bytes);
    assert_eq!(document.raw(), bytes);
    assert_eq!(document.text().len(), bytes.len());
    assert!(document.text().is_char_boundary(document.body_offset()));

    let mut rest = bytes;
    let prefix = read_frontmatter(&mut rest).expect("memory does not fail");
    assert_eq!(prefix.frontmatter_json(), document.frontmatter_json());
    assert_eq!(prefix.body_offset(), document.body_offset());

    let at = Origin::at("skills/demo/SKILL.md");
    // What clients differ about is the same with and without the body.
    let facts = |document: &prowess_core::Document| {
        Facts::of_document(document, &document.entry(&at), bytes.len() as u64, false).without(BODY)
    };
    assert_eq!(facts(&prefix), facts(&document));
    for &preset in Preset::ALL {
        let profile = Profile::new(preset);
        let problems = profile.check(&document, None, &at);
        for problem in &problems {
            for span in problem.span.iter().chain(problem.related.iter().map(|related| &related.span)) {
                assert!(span.slice(document.text()).is_some(), "{} at {span:?}", problem.code);
            }
        }
        // The frontmatter is judged the same with and without the body.
        let codes = |document: &prowess_core::Document| -> Vec<&str> {
            profile.check_frontmatter(document, &at).iter().map(|problem| problem.code).collect()
        };
        assert_eq!(codes(&prefix), codes(&document));
        let failed = problems.iter().any(|problem| problem.severity == Severity::Error);
        assert_eq!(failed, document.load(&at, None, &profile).is_err());
        if preset == Preset::Lenient {
            assert_eq!(failed, document.skill(&at).is_none());
        }
    }
});
