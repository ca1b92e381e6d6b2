//! What a person writes to install from is read or refused, and says the same when it is written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prowess::install::InstallSpec;

fuzz_target!(|text: &str| {
    if let Ok(spec) = text.parse::<InstallSpec>() {
        assert_eq!(spec.to_string().parse::<InstallSpec>().unwrap(), spec);
    }
});
