//! The stages of the core import only from stages to their left, so that data flows one way.
//!
//! The test reads the `crate::` paths in the code of every file. It does not see a method that an earlier stage calls
//! and a later stage defines on the same type; such methods belong in the earlier stage.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "the test reads the source files, and fails when it cannot"
)]

use std::fs;
use std::path::Path;

/// The stages in order; those of one row do not depend on the order between them.
const STAGES: &[&[&str]] = &[
    &["limits", "text", "path", "span"],
    &["finding"],
    &["document"],
    &["skill"],
    &["files"],
    &["check"],
    &["client"],
    &["catalog"],
    &["select"],
    &["render"],
    &["session"],
];

fn rank(stage: &str) -> Option<usize> {
    STAGES.iter().position(|row| row.contains(&stage))
}

#[test]
fn a_stage_imports_only_from_its_left() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    rust_files(&src, &mut files);
    files.sort();
    let mut faults = Vec::new();
    for file in &files {
        let text = fs::read_to_string(src.join(file)).unwrap();
        faults.extend(faults_in(file, &text));
    }
    assert!(files.len() > 50, "the source files are where they are looked for");
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}

#[test]
fn imports_from_the_right_are_reported_with_file_line_and_stages() {
    let text = "//! use crate::session::Session;\nuse crate::span::Span;\nuse crate::{finding::Finding, skill::{self, Entry}};\n\nfn f() {\n    crate::check::check();\n    super::render::catalog();\n    crate::parse(b\"\");\n}\n\n#[cfg(test)]\nmod tests {\n    use crate::session::Session;\n}\n";
    assert_eq!(
        faults_in("document/mod.rs", text),
        [
            "src/document/mod.rs:3: `document` imports from `skill`, which is to its right",
            "src/document/mod.rs:6: `document` imports from `check`, which is to its right",
            "src/document/mod.rs:7: `document` imports from `render`, which is to its right",
            "src/document/mod.rs:8: `parse` is not a stage; import it from the stage that defines it",
        ]
    );
    assert_eq!(faults_in("document/yaml/mod.rs", "use super::super::check::check;\n").len(), 1);
    assert_eq!(faults_in("document/yaml/mod.rs", "use super::node::Node;\n"), Vec::<String>::new());
    assert_eq!(faults_in("other.rs", ""), ["src/other.rs: `other` is not a stage; add it to the order"]);
}

fn rust_files(folder: &Path, files: &mut Vec<String>) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let parts = path.strip_prefix(&root).unwrap().iter().map(|part| part.to_str().unwrap());
            files.push(parts.collect::<Vec<_>>().join("/"));
        }
    }
}

/// What is wrong in one file, as lines for a person.
fn faults_in(file: &str, text: &str) -> Vec<String> {
    let modules: Vec<&str> =
        file.trim_end_matches(".rs").split('/').filter(|module| *module != "mod").collect();
    let stage = modules[0];
    let is_test = modules.iter().any(|module| matches!(*module, "tests" | "testing"));
    if stage == "lib" || is_test {
        return Vec::new();
    }
    let Some(here) = rank(stage) else {
        return vec![format!("src/{file}: `{stage}` is not a stage; add it to the order")];
    };
    let code = code_of(text);
    let mut faults = Vec::new();
    let to_root = "super::".repeat(modules.len());
    for prefix in ["crate::", to_root.as_str()] {
        for (at, _) in code.match_indices(prefix) {
            let starts_word = !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':');
            if !starts_word {
                continue;
            }
            let line = code[..at].matches('\n').count() + 1;
            for name in first_names(&code[at + prefix.len()..]) {
                match rank(name) {
                    Some(there) if there > here => {
                        faults
                            .push((line, format!("`{stage}` imports from `{name}`, which is to its right")));
                    }
                    Some(_) => {}
                    None => faults.push((
                        line,
                        format!("`{name}` is not a stage; import it from the stage that defines it"),
                    )),
                }
            }
        }
    }
    faults.sort();
    faults.into_iter().map(|(line, fault)| format!("src/{file}:{line}: {fault}")).collect()
}

/// The text without comments and test modules; every line keeps its number.
fn code_of(text: &str) -> String {
    let mut code = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.trim() == "#[cfg(test)]" {
            let indent = &line[..line.len() - line.trim_start().len()];
            code.push('\n');
            // The item ends in its own line, or with the brace below its first letter.
            let mut item = lines.by_ref().take_while(|line| {
                code.push('\n');
                let ends = line.ends_with(';') && line.starts_with(indent);
                !(ends && !line[indent.len()..].starts_with(' ') || *line == format!("{indent}}}"))
            });
            while item.next().is_some() {}
            continue;
        }
        code.push_str(line.split("//").next().unwrap_or(""));
        code.push('\n');
    }
    code
}

/// The first name of a path, or of each path in braces.
fn first_names(path: &str) -> Vec<&str> {
    let name = |text: &str| text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len());
    let Some(inside) = path.strip_prefix('{') else { return vec![&path[..name(path)]] };
    let (mut names, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, character) in inside.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                let item = inside[start..at].trim();
                if !item.is_empty() {
                    names.push(&item[..name(item)]);
                }
                start = at + 1;
                if character == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    names
}
