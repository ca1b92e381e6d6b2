//! The operation `discover`: every skill in the folders of some roots, with its text, also where several have one name; and
//! what is left out, with the reason.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use prowess::fs::read::read_skill;
use prowess::fs::walk::{MissingRoot, Scan, SkillFile, scan};
use prowess::{Preset, Profile, ScanOptions};
use prowess_engine::input::Judge;
use prowess_engine::{Failure, document_json};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::errors::of_source;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Discover {
    roots: Vec<PathBuf>,
    /// Whether to look below the folders in each root. No skill is looked for inside another.
    #[serde(default)]
    recursive: bool,
}

/// The skills that load, root by root, each root sorted by path, and the problems of what is left out. A root is never a
/// skill itself.
pub(crate) fn discovered(asked: Discover) -> Result<Value, Failure> {
    let profile = Judge::default().profile(Preset::Lenient)?;
    let (mut skills, mut problems) = (Vec::new(), Vec::new());
    for root in &asked.roots {
        let Scan { skills: files, problems: unread, .. } = below(&prowess::env::place(root), asked.recursive);
        problems.extend(unread.iter().map(of_source));
        for file in files {
            match whole(&file, &profile) {
                Ok(skill) => skills.push(skill),
                Err(failure) => problems.push(failure),
            }
        }
    }
    let problem = |failure: Failure| json!({"code": failure.code, "message": failure.message});
    Ok(json!({"skills": skills, "problems": problems.into_iter().map(problem).collect::<Value>()}))
}

/// What is in the folders of a root.
fn below(root: &Path, recursive: bool) -> Scan {
    let mut options = ScanOptions::unbounded().with_missing_root(MissingRoot::Skip);
    // A walk that ends at a skill would end at a root that has a SKILL.md.
    let of_root = ["SKILL.md", "skill.md"].iter().any(|name| root.join(name).is_file());
    options.stop_at_skill = recursive && !of_root;
    if !recursive {
        options = options.with_max_depth(1).with_report_deeper(false);
    }
    let mut scan = scan(root, &options);
    let skills = &mut scan.skills;
    skills.retain(|skill| skill.folder() != root);
    if recursive && of_root {
        let folders: BTreeSet<PathBuf> = skills.iter().map(|skill| skill.folder().to_owned()).collect();
        skills.retain(|skill| !skill.folder().ancestors().skip(1).any(|folder| folders.contains(folder)));
    }
    scan
}

/// A skill with its text.
fn whole(file: &SkillFile, profile: &Profile) -> Result<Value, Failure> {
    let (read, at) = (read_skill(&file.path).map_err(|error| of_source(&error))?, file.origin());
    let document = read.document();
    if let Err(error) = document.load(&at, None, profile) {
        return Err(Failure::new("load", error.to_string()));
    }
    let mut value = document_json(&document, &at);
    // The text is there once, as it is.
    for other in ["body", "bodyOffset", "frontmatter", "data"] {
        value.as_object_mut().map(|members| members.remove(other));
    }
    Ok(value)
}
