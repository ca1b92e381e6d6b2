//! The operation `discover`: every skill in the folders of some roots, with its text, also where several have one name.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use prowess::fs::read::read_skill;
use prowess::fs::walk::{MissingRoot, SkillFile, scan};
use prowess::{Preset, Profile, ScanOptions};
use prowess_engine::input::Judge;
use prowess_engine::{Failure, document_json};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Discover {
    roots: Vec<PathBuf>,
    /// Whether to look below the folders in each root. No skill is looked for inside another.
    #[serde(default)]
    recursive: bool,
}

/// The skills that load, root by root, each root sorted by path. A root is never a skill itself.
pub(crate) fn discovered(asked: Discover) -> Result<Value, Failure> {
    let profile = Judge::default().profile(Preset::Lenient)?;
    let files = asked.roots.iter().flat_map(|root| below(&prowess::env::place(root), asked.recursive));
    Ok(files.filter_map(|file| whole(&file, &profile)).collect())
}

/// The skills in the folders of a root.
fn below(root: &Path, recursive: bool) -> Vec<SkillFile> {
    let mut options = ScanOptions::unbounded().with_missing_root(MissingRoot::Skip);
    // A walk that ends at a skill would end at a root that has a SKILL.md.
    let of_root = ["SKILL.md", "skill.md"].iter().any(|name| root.join(name).is_file());
    options.stop_at_skill = recursive && !of_root;
    if !recursive {
        options = options.with_max_depth(1).with_report_deeper(false);
    }
    let mut skills = scan(root, &options).skills;
    skills.retain(|skill| skill.folder() != root);
    if recursive && of_root {
        let folders: BTreeSet<PathBuf> = skills.iter().map(|skill| skill.folder().to_owned()).collect();
        skills.retain(|skill| !skill.folder().ancestors().skip(1).any(|folder| folders.contains(folder)));
    }
    skills
}

/// A skill with its text; none if it does not load.
fn whole(file: &SkillFile, profile: &Profile) -> Option<Value> {
    let (document, at) = (read_skill(&file.path).ok()?.document(), file.origin());
    document.load(&at, None, profile).ok()?;
    let mut value = document_json(&document, &at);
    // The text is there once, as it is.
    for other in ["body", "bodyOffset", "frontmatter", "data"] {
        value.as_object_mut()?.remove(other);
    }
    Some(value)
}
