//! A source to install from is read or refused, and reads back as the same one.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prowess::install::InstallSpec;

fuzz_target!(|text: &str| {
    if let Ok(spec) = text.parse::<InstallSpec>() {
        assert_eq!(spec.to_string().parse::<InstallSpec>().unwrap(), spec);
    }
});
