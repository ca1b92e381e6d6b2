//! An entry is inserted into any text or refused, and the insertion can be undone.
#![no_main]

use libfuzzer_sys::fuzz_target;
use prowess::internal::{ConfigFormat, EntryPath};

fuzz_target!(|text: &str| {
    let path = EntryPath { keys: &["mcpServers"], name: "prowess" };
    let entry = serde_json::json!({"command": "prowess", "args": ["serve"]});
    for format in [ConfigFormat::Json, ConfigFormat::Toml, ConfigFormat::Yaml] {
        let Ok(change) = format.insert(text, path, &entry) else { continue };
        let after = change.apply(text).unwrap();
        assert_eq!(format.entry(&after, path), Ok(Some(entry.clone())));
        if format.entry(text, path) == Ok(None) {
            assert_eq!(change.undo(&after).as_deref(), Some(text));
        }
        if let Ok(Some(removal)) = format.remove(&after, path, change.tables) {
            assert_eq!(format.entry(&removal.apply(&after).unwrap(), path), Ok(None));
        }
    }
});
