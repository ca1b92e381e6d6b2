//! [`Stages`]: the modules of a crate in the order in which data flows, each of which imports only from those to its left.
//!
//! It reads the `crate::` paths in the code of every file. It does not see a method that an earlier module calls and a
//! later one defines on the same type; such methods belong in the earlier module.

use std::path::Path;
use std::{fs, io};

/// The modules at the root of a crate, in order.
#[derive(Clone, Copy, Debug)]
pub struct Stages(pub &'static [&'static str]);

impl Stages {
    /// What is wrong in the folder `src` of a crate, as lines for a person.
    ///
    /// # Errors
    ///
    /// The folder cannot be read, or has no Rust files in it.
    pub fn faults(&self, package: &str) -> io::Result<Vec<String>> {
        let src = Path::new(package).join("src");
        let mut files = Vec::new();
        rust_files(&src, "", &mut files)?;
        files.sort();
        if files.is_empty() {
            return Err(io::Error::new(io::ErrorKind::NotFound, "there are no Rust files"));
        }
        let mut faults = Vec::new();
        for file in files {
            faults.extend(self.faults_in(&file, &fs::read_to_string(src.join(&file))?));
        }
        Ok(faults)
    }

    /// What is wrong in one file, by its path below `src`.
    pub fn faults_in(&self, file: &str, text: &str) -> Vec<String> {
        let modules: Vec<&str> =
            file.trim_end_matches(".rs").split('/').filter(|module| *module != "mod").collect();
        let stage = modules[0];
        let is_test = modules.iter().any(|module| matches!(*module, "tests" | "testing"));
        if matches!(stage, "lib" | "main") || is_test {
            return Vec::new();
        }
        let Some(here) = self.rank(stage) else {
            return vec![format!("src/{file}: `{stage}` is not a stage; add it to the order")];
        };
        let code = code_of(text);
        let mut faults = Vec::new();
        let to_root = "super::".repeat(modules.len());
        for prefix in ["crate::", to_root.as_str()] {
            for (at, _) in code.match_indices(prefix) {
                if code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':') {
                    continue;
                }
                let line = code[..at].matches('\n').count() + 1;
                for name in first_names(&code[at + prefix.len()..]) {
                    let fault = match self.rank(name) {
                        Some(there) if there > here => {
                            format!("`{stage}` imports from `{name}`, which is to its right")
                        }
                        Some(_) => continue,
                        None => format!("`{name}` is not a stage; import it from the stage that defines it"),
                    };
                    faults.push((line, fault));
                }
            }
        }
        faults.sort();
        faults.into_iter().map(|(line, fault)| format!("src/{file}:{line}: {fault}")).collect()
    }

    fn rank(&self, stage: &str) -> Option<usize> {
        self.0.iter().position(|other| *other == stage)
    }
}

/// The paths of all Rust files below a folder, with `/` between their parts.
fn rust_files(folder: &Path, path: &str, files: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = format!("{path}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            rust_files(&entry.path(), &format!("{path}/"), files)?;
        } else if entry.path().extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_from_the_right_are_reported_with_file_line_and_stages() {
        let stages = Stages(&["span", "finding", "document", "skill", "check", "render", "session"]);
        let text = "//! use crate::session::Session;\nuse crate::span::Span;\nuse crate::{finding::Finding, skill::{self, Entry}};\n\nfn f() {\n    crate::check::check();\n    super::render::catalog();\n    crate::parse(b\"\");\n}\n\n#[cfg(test)]\nmod tests {\n    use crate::session::Session;\n}\n";
        assert_eq!(
            stages.faults_in("document/mod.rs", text),
            [
                "src/document/mod.rs:3: `document` imports from `skill`, which is to its right",
                "src/document/mod.rs:6: `document` imports from `check`, which is to its right",
                "src/document/mod.rs:7: `document` imports from `render`, which is to its right",
                "src/document/mod.rs:8: `parse` is not a stage; import it from the stage that defines it",
            ]
        );
        assert_eq!(stages.faults_in("document/yaml/mod.rs", "use super::super::check::check;\n").len(), 1);
        assert_eq!(
            stages.faults_in("document/yaml/mod.rs", "use super::node::Node;\n"),
            Vec::<String>::new()
        );
        assert_eq!(
            stages.faults_in("other.rs", ""),
            ["src/other.rs: `other` is not a stage; add it to the order"]
        );
    }
}
