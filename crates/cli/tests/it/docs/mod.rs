//! The documentation is true: generated pages are current, transcripts are run, links lead somewhere.

mod blocks;
mod links;
mod reference;
mod transcripts;

use std::fs;
use std::path::{Path, PathBuf};

/// A page of the documentation.
pub(crate) struct Page {
    /// Its path in the repository.
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

/// A block of code in a page.
pub(crate) struct Block<'p> {
    /// What its fence says after the backticks.
    pub(crate) language: &'p str,
    pub(crate) lines: Vec<&'p str>,
}

/// The top folder of the repository.
pub(crate) fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

#[test]
fn the_readme_is_short_and_begins_with_two_commands() {
    let text = fs::read_to_string(top().join("README.md")).unwrap();
    assert!(text.lines().count() < 200, "{} lines", text.lines().count());
    let commands = text.split_once("```sh\n").unwrap().1.split_once("```").unwrap().0;
    assert_eq!(
        commands,
        "cargo run -- try \"turn these meeting notes into minutes\"\ncargo test --workspace\n"
    );
}

/// Whether pages are rewritten instead of compared.
pub(crate) fn updating() -> bool {
    std::env::var_os("PROWESS_UPDATE_DOCS").is_some()
}

/// Every page in a folder and below it.
pub(crate) fn pages_below(folder: &str) -> Vec<Page> {
    let mut pages = Vec::new();
    for file in fs::read_dir(top().join(folder)).unwrap() {
        let path = Path::new(folder).join(file.unwrap().file_name());
        if top().join(&path).is_dir() {
            pages.extend(pages_below(path.to_str().unwrap()));
        } else if path.extension().is_some_and(|kind| kind == "md") {
            let text = fs::read_to_string(top().join(&path)).unwrap();
            pages.push(Page { path, text });
        }
    }
    pages.sort_by(|a, b| a.path.cmp(&b.path));
    pages
}

/// Every page for readers: those in `docs/`, and those at the top of the repository.
pub(crate) fn pages() -> Vec<Page> {
    let mut pages = pages_below("docs");
    pages.extend(pages_below("conformance"));
    for name in ["README", "ARCHITECTURE", "CHANGELOG", "CONTRIBUTING", "SECURITY", "STYLE"] {
        let path = PathBuf::from(format!("{name}.md"));
        let text = fs::read_to_string(top().join(&path)).unwrap();
        pages.push(Page { path, text });
    }
    pages
}

impl Page {
    pub(crate) fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// The blocks of code, and the lines outside of them.
    pub(crate) fn parts(&self) -> (Vec<Block<'_>>, Vec<&str>) {
        let (mut blocks, mut prose) = (Vec::new(), Vec::new());
        let mut open: Option<Block<'_>> = None;
        for line in self.text.lines() {
            match (line.trim_start().strip_prefix("```"), &mut open) {
                (Some(_), Some(_)) => blocks.extend(open.take()),
                (Some(language), None) => open = Some(Block { language, lines: Vec::new() }),
                (None, Some(block)) => block.lines.push(line),
                (None, None) => prose.push(line),
            }
        }
        assert!(open.is_none(), "{}: a block is not closed", self.name());
        (blocks, prose)
    }
}

impl Block<'_> {
    pub(crate) fn text(&self) -> String {
        self.lines.iter().map(|line| format!("{line}\n")).collect()
    }
}
