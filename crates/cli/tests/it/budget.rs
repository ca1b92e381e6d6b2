//! The number of crates that the core may depend on.

use std::collections::BTreeSet;
use std::process::Command;

/// The maximum number of distinct crates, the core included.
const MAX_CORE_CRATES: usize = 40;

#[test]
fn the_core_stays_within_its_budget_of_crates() {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "-p", "prowess-core", "-e", "normal", "--prefix", "none", "--locked", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output();
    let output = match output {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return crate::skipped("there is no cargo here to count crates");
        }
        output => output.unwrap(),
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let tree = String::from_utf8(output.stdout).unwrap();
    let crates: BTreeSet<&str> = tree.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(crates.contains("prowess-core"), "{tree}");
    assert!(crates.len() <= MAX_CORE_CRATES, "{} crates:\n{tree}", crates.len());
}
