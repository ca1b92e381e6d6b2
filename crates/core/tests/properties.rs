//! Properties of reading that hold for any input.

use proptest::prelude::*;
use prowess_core::internal::{Split, split, split_prefix};
use prowess_core::{Document, Origin, Preset, Profile, Severity, parse, read_frontmatter};

/// Text that resembles a SKILL.md often enough to reach the interesting corners.
fn skill_like() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => Just("---".to_owned()),
        4 => Just("\n".to_owned()),
        1 => Just("\r\n".to_owned()),
        1 => Just("\u{feff}".to_owned()),
        2 => Just("name: demo\n".to_owned()),
        2 => Just("description: Use when: asked\n".to_owned()),
        1 => Just("metadata:\n  a: [b, {c: d}]\n".to_owned()),
        1 => Just("allowed-tools: Bash(git:*) Read\n".to_owned()),
        1 => Just("...\n".to_owned()),
        1 => Just("<!-- x -->\n".to_owned()),
        1 => Just("\t- \"a\": 'b\n".to_owned()),
        1 => Just("[x](../y.md)".to_owned()),
        2 => "[ -~]{0,12}",
        1 => "\\PC{0,6}",
    ];
    let text = prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat().into_bytes());
    let bytes = prop::collection::vec(any::<u8>(), 0..200);
    prop_oneof![6 => text, 1 => bytes]
}

/// 10³ cases, or as many as `PROWESS_PROPERTY_CASES` says; `.ci/nightly` says 10⁴.
fn many() -> ProptestConfig {
    #[expect(clippy::disallowed_methods, reason = "this is a test")]
    let asked = std::env::var("PROWESS_PROPERTY_CASES").ok().and_then(|number| number.parse().ok());
    ProptestConfig { cases: asked.unwrap_or(1_000), failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(many())]

    #[test]
    fn the_parts_of_a_file_are_in_order_and_make_up_the_whole(bytes in skill_like()) {
        if let Split::Found(fences) = split(&bytes).split {
            prop_assert!(fences.open.end <= fences.yaml.start);
            prop_assert!(fences.yaml.end <= fences.close.start);
            prop_assert!(fences.close.end <= fences.body && fences.body <= bytes.len());
            prop_assert_eq!(&bytes[fences.open.start..fences.open.end], b"---");
            prop_assert_eq!(&bytes[fences.close.start..fences.close.end], b"---");
            prop_assert!(fences.body == bytes.len() || bytes[fences.body - 1] == b'\n');
        }
    }

    #[test]
    fn a_prefix_never_contradicts_the_whole(bytes in skill_like(), cut in any::<prop::sample::Index>()) {
        let cut = cut.index(bytes.len() + 1);
        let prefix = split_prefix(&bytes[..cut]);
        if prefix.split != Split::NeedMore {
            prop_assert_eq!(prefix, split(&bytes));
        }
    }

    #[test]
    fn reading_never_fails_and_every_place_is_true(bytes in skill_like()) {
        let document = parse(&bytes);
        prop_assert_eq!(document.raw(), bytes.as_slice());
        prop_assert_eq!(document.text().len(), bytes.len());
        let at = Origin::at("x/demo/SKILL.md");
        let problems = Profile::lenient().check(&document, None, &at);
        for problem in &problems {
            if let Some(span) = problem.span {
                prop_assert!(span.slice(document.text()).is_some(), "{} at {span:?}", problem.code);
            }
        }
        let failed = problems.iter().any(|problem| problem.severity == Severity::Error);
        prop_assert_eq!(failed, document.skill(&at).is_none());
    }

    #[test]
    fn a_frontmatter_is_judged_the_same_with_and_without_its_body(bytes in skill_like(), preset in prop::sample::select(Preset::ALL)) {
        let profile = Profile::new(preset);
        let at = Origin::at("x/demo/SKILL.md");
        let whole = parse(&bytes);
        let said = |document: &Document| -> Vec<(&str, String)> {
            profile.check_frontmatter(document, &at).into_iter().map(|p| (p.code, p.message)).collect()
        };
        let prefix = read_frontmatter(bytes.as_slice()).unwrap();
        prop_assert_eq!(said(&prefix), said(&whole));
        // What the whole file is checked for besides is about its body.
        let mut checked = profile.check(&whole, None, &at);
        let judged = profile.check_frontmatter(&whole, &at);
        checked.retain(|problem| judged.iter().any(|p| (p.code, &p.message, p.span) == (problem.code, &problem.message, problem.span)));
        prop_assert_eq!(checked.len(), judged.len());
    }

    #[test]
    fn the_stream_reader_stops_at_the_first_byte_of_the_body(bytes in skill_like()) {
        let document = parse(&bytes);
        let mut reader: &[u8] = &bytes;
        let prefix = read_frontmatter(&mut reader).unwrap();
        prop_assert_eq!(prefix.body_offset(), document.body_offset());
        prop_assert_eq!(prefix.frontmatter_json(), document.frontmatter_json());
        if let Split::Found(fences) = split(&bytes).split {
            prop_assert_eq!(reader, &bytes[fences.body..]);
        }
    }
}
