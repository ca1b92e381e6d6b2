//! The facts that clients treat differently, recorded while a folder is walked.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use prowess_core::client::{Fact, Facts, Sighting};
use prowess_core::{Document, Entry, Found, parse};

use super::Policies;
use crate::error::{SourceError, SourceErrorKind};
use crate::fs::dir::{self, Folder};
use crate::fs::read;
use crate::fs::stamp::FileStamp;
use crate::fs::walk::MODULES;

/// The largest `agents/openai.yaml` that is read.
const MAX_POLICY: usize = 64 * 1024;

/// A body of more bytes is not looked at to see whether it is blank.
const MAX_BLANK: u64 = 256;

/// The links that a walk met.
#[derive(Debug, Default)]
pub(super) struct Links {
    /// Links that may lead to folders.
    pub(super) folders: BTreeSet<PathBuf>,
    /// Each SKILL.md that is a link.
    pub(super) files: BTreeSet<PathBuf>,
}

/// Whether the body after a frontmatter is so short that it may be blank.
pub(super) fn may_be_blank(stamp: &FileStamp, head: &[u8]) -> bool {
    stamp.size.saturating_sub(head.len() as u64) <= MAX_BLANK
}

/// The facts about a SKILL.md itself. `read` is the beginning of the file, if it was read.
pub(super) fn of(document: &Document, entry: &Entry, size: u64, read: Option<&[u8]>) -> Sighting {
    let body = |bytes: &[u8]| {
        let whole = bytes.len() as u64 >= size;
        let body = document.fences().and_then(|fences| bytes.get(fences.body..));
        whole && body.is_some_and(|body| body.trim_ascii().is_empty())
    };
    Sighting::new(0, Facts::of_document(document, entry, size, read.is_some_and(body)))
}

/// A SKILL.md that is not read. Prowess does not read a link to a file of another name, or one that leads out of a
/// project that is not trusted, but clients do.
pub(super) fn unread(problem: &SourceError) -> Sighting {
    let fact = match problem.kind {
        SourceErrorKind::OtherFile | SourceErrorKind::OutsideProject => Fact::NotRead,
        _ => Fact::Unreadable,
    };
    Sighting::new(0, Facts::of(&[fact]))
}

/// Adds the facts from the files beside a SKILL.md.
pub(super) fn with_policies(mut sighting: Sighting, policies: Policies, skill_md: &Path) -> Sighting {
    let not_implicit = || {
        // No link is followed: it could lead out of a project that is not trusted.
        let folder = Folder::open(skill_md.parent()?).ok()?;
        let file = folder.open_below(Path::new("agents/openai.yaml"), dir::Links::RefuseAll).ok()?;
        let text = read::read_text(file, MAX_POLICY)?;
        let document = parse(format!("---\n{text}\n---\n").as_bytes());
        let allowed = document.field("policy")?.get("allow_implicit_invocation")?.text()?.to_owned();
        Some(allowed == "false")
    };
    if policies == Policies::Read && not_implicit() == Some(true) {
        sighting.facts = sighting.facts.with(Fact::NotImplicit);
    }
    sighting
}

/// Adds the depth of each skill below the root, and the facts about its place.
pub(super) fn place(root: &Path, links: &Links, skills: &mut [Box<Found>]) {
    let folder_of = |found: &Found| Some(Path::new(found.entry.origin.location.path()?).parent()?.to_owned());
    let folders: Vec<Option<PathBuf>> = skills.iter().map(|found| folder_of(found)).collect();
    let root_file = folders.iter().any(|folder| folder.as_deref() == Some(root));
    // A root with a SKILL.md is still a folder of skills.
    let inside: BTreeSet<&Path> =
        folders.iter().flatten().map(PathBuf::as_path).filter(|at| *at != root).collect();
    for (found, folder) in skills.iter_mut().zip(&folders) {
        let (Some(folder), Some(sighting)) = (folder, &mut found.sighting) else { continue };
        let Ok(below) = folder.strip_prefix(root) else { continue };
        let mut note = |fact, holds| {
            if holds {
                sighting.facts = sighting.facts.with(fact);
            }
        };
        let mut hidden = false;
        let mut depth = 0;
        let mut above: Vec<&Path> = folder.ancestors().take_while(|at| *at != root).collect();
        above.reverse();
        for (at, part) in above.iter().zip(below.components()) {
            note(Fact::BelowHidden, hidden);
            hidden = part.as_os_str().as_encoded_bytes().starts_with(b".");
            note(Fact::InModules, part.as_os_str() == MODULES);
            note(Fact::LinkedFolder, links.folders.contains(*at));
            note(Fact::InsideSkill, *at != folder.as_path() && inside.contains(at));
            depth += 1;
        }
        note(Fact::HiddenFolder, hidden);
        note(Fact::RootFile, depth == 0);
        note(Fact::BesideRootFile, depth > 0 && root_file);
        let file = found.entry.origin.location.path().map(Path::new);
        note(Fact::LinkedFile, file.is_some_and(|file| links.files.contains(file)));
        sighting.depth = depth;
    }
}
