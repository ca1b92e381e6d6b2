//! The narrow reader of frontmatter reads what the full one reads, or gives up.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prowess_core::internal::quick_reader_agrees;

fuzz_target!(|yaml: &str| {
    assert_ne!(quick_reader_agrees(yaml), Some(false), "{yaml:?}");
});
