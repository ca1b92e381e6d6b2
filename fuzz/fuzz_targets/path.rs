//! A path that passes cannot escape, with `/` or `\` as the separator.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prowess_core::RelPath;

fuzz_target!(|bytes: &[u8]| {
    let request = std::str::from_utf8(bytes).ok().and_then(|text| RelPath::from_request(text).ok());
    if let Some(path) = &request {
        assert_eq!(RelPath::from_request(path.as_str()).as_ref(), Ok(path), "nothing is left to collapse");
    }
    let stored = RelPath::from_bytes(bytes).ok();
    if let Some(path) = &stored {
        assert_eq!(RelPath::parse(path.as_str()).as_ref(), Ok(path));
        assert!(!path.as_str().contains(':'));
    }
    for path in stored.into_iter().chain(request) {
        let text = path.as_str();
        assert!(!text.starts_with('/') && !text.contains('\\'));
        assert!(text.chars().all(|character| !character.is_control()));
        for component in text.split('/') {
            assert!(!matches!(component, "" | "." | ".."), "{text:?}");
            assert!(!component.eq_ignore_ascii_case(".git"));
        }
    }
});
