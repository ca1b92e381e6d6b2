//! The pages of the documentation are true: their Rust is compiled.

use std::path::{Path, PathBuf};

/// Every page in a folder and below it.
fn pages_in(folder: &Path, pages: &mut Vec<PathBuf>) {
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if path.is_dir() {
            pages_in(&path, pages);
        } else if path.extension().is_some_and(|kind| kind == "md") {
            pages.push(path);
        }
    }
}

#[test]
fn every_page_with_rust_is_compiled_with_the_tests() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages = vec![top.join("README.md")];
    pages_in(&top.join("docs"), &mut pages);
    let compiled = include_str!("../../src/lib.rs");
    let mut found = 0;
    for page in &pages {
        let text = std::fs::read_to_string(page).unwrap();
        let page = page.strip_prefix(&top).unwrap().display();
        if text.contains("```rust") {
            assert!(!text.contains("```rust,ignore"), "{page}");
            let include = format!("include_str!(\"../../../{page}\")");
            assert!(compiled.contains(&include), "crates/prowess/src/lib.rs lacks {include}");
            found += 1;
        }
    }
    assert!(found >= 5, "only {found} pages have Rust");
}
