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
pub(super) const MAX_BLANK: u64 = 256;

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
        // A longer body counts as text, whether it was read or is in the cache.
        let blank = |body: &[u8]| body.len() as u64 <= MAX_BLANK && body.trim_ascii().is_empty();
        whole && body.is_some_and(blank)
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
        let document = parse(format!("---\n{}\n---\n", one_document(&text)?).as_bytes());
        let allowed = document.field("policy")?.get("allow_implicit_invocation")?.text()?.to_owned();
        Some(allowed == "false")
    };
    if policies == Policies::Read && not_implicit() == Some(true) {
        sighting.facts = sighting.facts.with(Fact::NotImplicit);
    }
    sighting
}

/// The one YAML document of a text, without the lines that begin and end it; none if there are several, which clients
/// refuse.
fn one_document(text: &str) -> Option<&str> {
    let is_mark = |line: &str, mark: &str| {
        line.strip_prefix(mark)
            .is_some_and(|rest| rest.trim().is_empty() || rest.trim_start().starts_with('#'))
    };
    let text = text.trim_start_matches('\u{feff}');
    let mut body = text;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        at += line.len();
        if is_mark(line, "---") {
            body = text.get(at..)?;
            break;
        }
        if !(line.trim().is_empty() || line.starts_with(['#', '%'])) {
            break;
        }
    }
    let mut end = 0;
    for line in body.split_inclusive('\n') {
        if is_mark(line, "...") {
            let after = body.get(end + line.len()..)?;
            let nothing = |line: &str| line.trim().is_empty() || line.starts_with('#');
            return after.lines().all(nothing).then(|| body.get(..end)).flatten();
        }
        if is_mark(line, "---") {
            return None;
        }
        end += line.len();
    }
    Some(body)
}

/// Adds the depth of each skill below the root, and the facts about its place.
pub(super) fn place(root: &Path, links: &Links, skills: &mut [Box<Found>]) {
    let folder_of = |found: &Found| Some(Path::new(found.entry.origin.location.path()?).parent()?.to_owned());
    let folders: Vec<Option<PathBuf>> = skills.iter().map(|found| folder_of(found)).collect();
    // To a client that does not know another spelling, only this one makes a skill of a folder. The clients that do know
    // others look into all folders, whatever is in them.
    let is_exact =
        |found: &Found| found.entry.origin.location.path().is_some_and(|path| path.ends_with("/SKILL.md"));
    let exact = skills.iter().zip(&folders).filter(|(found, _)| is_exact(found));
    let mut inside: BTreeSet<PathBuf> = exact.filter_map(|(_, folder)| folder.clone()).collect();
    // A root with a SKILL.md is still a folder of skills.
    let root_file = inside.remove(root);
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
            note(Fact::InsideSkill, *at != folder.as_path() && inside.contains(*at));
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

#[cfg(test)]
mod tests {
    use super::one_document;

    #[test]
    fn the_marks_of_a_yaml_document_are_not_part_of_it() {
        let body = "policy:\n  a: false\n";
        assert_eq!(one_document(body), Some(body));
        for before in
            ["---\n", "\u{feff}---\n", "--- # begin\n", "# a comment\n\n---\n", "%YAML 1.2\n---\r\n"]
        {
            assert_eq!(one_document(&format!("{before}{body}")), Some(body), "{before:?}");
            assert_eq!(one_document(&format!("{before}{body}...\n# end\n")), Some(body), "{before:?}");
        }
        assert_eq!(one_document(&format!("{body}---\nb: c\n")), None, "two documents");
        assert_eq!(one_document(&format!("---\n{body}...\n{body}")), None, "text after the end");
        assert_eq!((one_document(""), one_document("---")), (Some(""), Some("")));
    }
}
