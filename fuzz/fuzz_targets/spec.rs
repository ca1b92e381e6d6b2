//! A source specification is read or refused, and reads back as the same one.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prowess::SourceSpec;

fuzz_target!(|text: &str| {
    if let Ok(spec) = SourceSpec::parse(text) {
        let table = serde_json::to_string(&spec).unwrap();
        assert_eq!(serde_json::from_str::<SourceSpec>(&table).unwrap(), spec);
    }
});
