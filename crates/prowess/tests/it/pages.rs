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

/// The `Type::name` in a page, outside of its blocks of code.
fn named_in(text: &str) -> impl Iterator<Item = &str> {
    let spans = text.split("```").step_by(2).flat_map(|prose| prose.split('`').skip(1).step_by(2));
    spans.filter_map(|span| {
        let end = span.find(|letter: char| !letter.is_alphanumeric() && !"_:".contains(letter));
        let name = span.get(..end.unwrap_or(span.len()))?;
        let (of, member) = name.split_once("::")?;
        (of.starts_with(char::is_uppercase) && !member.contains("::")).then_some(name)
    })
}

#[test]
fn every_member_that_a_page_for_hosts_names_is_in_the_public_api() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let lists = ["prowess.txt", "prowess-core.txt"].map(|list| {
        let list = std::fs::read_to_string(top.join("surface").join(list)).unwrap();
        // Generic arguments are no part of a name: `Performer<'h>::new`.
        let mut depth = 0_u32;
        list.chars()
            .filter(move |letter| {
                depth += u32::from(*letter == '<');
                let kept = depth == 0;
                depth = depth.saturating_sub(u32::from(*letter == '>'));
                kept
            })
            .collect::<String>()
    });
    let mut pages = Vec::new();
    pages_in(&top.join("docs/embed"), &mut pages);
    let mut found = 0;
    for page in pages {
        let text = std::fs::read_to_string(&page).unwrap();
        // The crate prowess-mcp has no list.
        for name in named_in(&text).filter(|name| !name.starts_with("McpSource::")) {
            let member = format!("::{name}");
            let is_end = |letter: char| !letter.is_alphanumeric() && letter != '_';
            let has = |list: &String| {
                let mut places = list.match_indices(&member).map(|(at, found)| at + found.len());
                places.any(|end| list.get(end..).is_some_and(|rest| rest.starts_with(is_end)))
            };
            assert!(lists.iter().any(has), "{}: there is no {name}", page.display());
            found += 1;
        }
    }
    assert!(found >= 50, "only {found} names");
}
