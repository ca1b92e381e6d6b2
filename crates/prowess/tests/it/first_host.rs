//! The host with which README.md and docs/embed/start.md begin runs as it is written there, and so do other folders.

use prowess::{Skills, SkillsError};
use serde_json::{Value, json};

use crate::main_api::in_home;
use crate::trees::{skill, tree};

const HOST: &str = include_str!("host_of_readme.rs");

/// The host is included and not a module file: with `pub` lines, it would not be what the pages show.
mod host {
    include!("host_of_readme.rs");

    pub(super) fn run(tool_use: &Value) -> Result<(), SkillsError> {
        converse(tool_use)
    }
}

#[test]
fn the_host_of_the_readme_runs_as_it_is_written_there() {
    for page in [include_str!("../../../../README.md"), include_str!("../../../../docs/embed/start.md")] {
        assert!(page.contains(&format!("```rust\n{HOST}```")), "a page has another host than the tests");
    }
    let folder = tree(&[("skills/a/SKILL.md", &skill("a"))]);
    let said = in_home(folder.path(), folder.path(), "first_host::converses");
    for text in ["- a: Does a.", "load_skill", "tool_result", "Body of a."] {
        assert!(said.contains(text), "{text}: {said}");
    }
}

#[test]
#[ignore = "run by the test above, in a process of its own"]
fn converses() {
    if std::env::var_os("PROWESS_ALONE").is_some() {
        let call: Value =
            json!({"type": "tool_use", "id": "t1", "name": "load_skill", "input": {"name": "a"}});
        host::run(&call).unwrap();
    }
}

#[test]
fn a_folder_whose_name_looks_like_an_installed_skill_can_be_opened() {
    let folder = tree(&[("@acme/pdf/SKILL.md", &skill("pdf"))]);
    in_home(folder.path(), folder.path(), "first_host::opens_the_folder");
}

#[test]
#[ignore = "run by the test above, in a process of its own"]
fn opens_the_folder() -> Result<(), SkillsError> {
    if std::env::var_os("PROWESS_ALONE").is_some() {
        let skills = Skills::open(["@acme/pdf"])?;
        assert_eq!(skills.get("pdf")?.body().trim(), "Body of pdf.");
    }
    Ok(())
}
