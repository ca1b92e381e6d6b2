//! An archive is unpacked within its limits or refused, and what comes out cannot escape.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prowess::archive::{ArchiveLimits, unpack};

fuzz_target!(|bytes: &[u8]| {
    let limits = ArchiveLimits::default().with_bytes(1 << 20).with_file_bytes(1 << 19).with_entries(50);
    if let Ok(files) = unpack(bytes, &limits) {
        assert!(files.len() <= limits.entries);
        let total: u64 = files.values().map(|file| file.bytes.len() as u64).sum();
        assert!(total <= limits.bytes);
        assert_eq!(unpack(bytes, &limits).as_ref(), Ok(&files));
    }
});
