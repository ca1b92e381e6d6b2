//! Folders of skills for tests, and the registries over them.

use std::fs;
use std::path::Path;

use prowess::{DirSource, Registry, ScanOptions};

/// A folder of files, each with its text.
pub(crate) fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        write(folder.path(), path, text);
    }
    folder
}

pub(crate) fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

pub(crate) fn skill(name: &str) -> String {
    format!("---\nname: {name}\ndescription: Does {name}.\n---\nBody of {name}.\n")
}

pub(crate) fn registry(roots: &[&Path]) -> Registry {
    let mut registry = Registry::new();
    for root in roots {
        registry.add(DirSource::new(*root, ScanOptions::unbounded()));
    }
    registry
}

pub(crate) fn keys(registry: &Registry) -> Vec<String> {
    registry.catalog().list().iter().map(|entry| entry.key.clone()).collect()
}
