//! The pages of the documentation are true: their Rust is compiled.

use std::path::{Path, PathBuf};

#[test]
fn every_page_with_rust_is_compiled_with_the_tests() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages: Vec<PathBuf> = vec!["README.md".into()];
    for file in std::fs::read_dir(top.join("docs")).unwrap() {
        pages.push(Path::new("docs").join(file.unwrap().file_name()));
    }
    let compiled = include_str!("../../src/lib.rs");
    let mut found = 0;
    for page in pages.iter().filter(|page| page.extension().is_some_and(|kind| kind == "md")) {
        let text = std::fs::read_to_string(top.join(page)).unwrap();
        if text.contains("```rust") {
            assert!(!text.contains("```rust,ignore"), "{}", page.display());
            let include = format!("include_str!(\"../../../{}\")", page.display());
            assert!(compiled.contains(&include), "crates/prowess/src/lib.rs lacks {include}");
            found += 1;
        }
    }
    assert!(found >= 3, "only {found} pages have Rust");
}
