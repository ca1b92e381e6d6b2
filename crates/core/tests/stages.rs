//! The stages of the core import only from stages to their left, so that data flows one way.

#![allow(clippy::unwrap_used, reason = "the test reads the source files, and fails when it cannot")]

use prowess_testing::Stages;

#[test]
fn a_stage_imports_only_from_its_left() {
    let stages = Stages(&[
        "limits",
        "span",
        "text",
        "path",
        "digest",
        "finding",
        "document",
        "skill",
        "files",
        "check",
        "client",
        "catalog",
        "assembly",
        "select",
        "render",
        "session",
        "conversation",
    ]);
    let faults = stages.faults(env!("CARGO_MANIFEST_DIR")).unwrap();
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
}
