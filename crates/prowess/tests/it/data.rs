//! Test data that live outside the repository, named by `PROWESS_TEST_DATA`, and generated documents inside it.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::PathBuf;

/// The folder of external test data; prints why a test skips when there is none.
pub(crate) fn external(what: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("PROWESS_TEST_DATA").map(PathBuf::from).filter(|folder| folder.is_dir());
    if folder.is_none() {
        // Straight to standard error: what a passing test prints is otherwise not shown.
        let _ = writeln!(std::io::stderr(), "skipped: {what} needs the folder that PROWESS_TEST_DATA names");
    }
    folder
}

/// Every regular file of a `.tar.zst`, by its path in the archive.
pub(crate) fn unpack(archive: PathBuf) -> BTreeMap<String, Vec<u8>> {
    let file = fs::File::open(archive).unwrap();
    let mut tar = tar::Archive::new(ruzstd::decoding::StreamingDecoder::new(file).unwrap());
    let mut files = BTreeMap::new();
    for entry in tar.entries().unwrap() {
        let mut entry = entry.unwrap();
        if entry.header().entry_type().is_file() {
            let path = entry.path().unwrap().to_str().unwrap().to_owned();
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).unwrap();
            files.insert(path, bytes);
        }
    }
    files
}

/// The lines of a `.jsonl` file.
pub(crate) fn json_lines(path: PathBuf) -> Vec<serde_json::Value> {
    fs::read_to_string(path).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A file of the repository.
pub(crate) fn repository(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// Compares a generated document with the one in the repository, or writes it when `PROWESS_UPDATE_DOCS` is set.
pub(crate) fn assert_current(path: &str, generated: &str) {
    let file = repository(path);
    if std::env::var_os("PROWESS_UPDATE_DOCS").is_some() {
        fs::write(file, generated).unwrap();
        return;
    }
    let committed = fs::read_to_string(file).unwrap_or_default();
    assert!(
        committed == generated,
        "{path} is out of date; run: PROWESS_UPDATE_DOCS=1 cargo test --workspace"
    );
}

/// Says why a test does nothing here. Straight to standard error: what a passing test prints is otherwise not shown.
pub(crate) fn skipped(reason: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stderr(), "skipped: {reason}");
}
