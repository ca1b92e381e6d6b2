//! The preview of a skill that was found, before the user trusts it.

use std::path::Path;

use prowess_core::path::RelPath;
use prowess_core::{Candidate, FileEntry};

use super::{OtherNames, Preview, files};
use crate::fs::listing;
use crate::install::source::tree::InstallLimits;
use crate::registry::Registry;
use crate::source::Slice;

/// What a skill that was found could do, beside other skills with these names. Of a skill on another machine no file is
/// read, so that its preview is what the list of its source says.
///
/// `budget` is the most bytes that are read, and goes down by what was read. What does not fit is named.
pub fn preview_of_found(
    registry: &Registry,
    skill: &Candidate,
    others: &[&str],
    budget: &mut u64,
) -> Preview {
    let mut preview = said_by_source(skill);
    let name = skill.entry.key.as_str();
    match registry.files_of(skill) {
        Err(error) => preview.unseen.push(format!("its files: {error}")),
        Ok(manifest) => {
            (preview.files, preview.bytes) = (manifest.files.len(), manifest.total_size());
            let is_remote = skill.wants_approval || registry.is_remote(skill);
            let repository = manifest.repository();
            let repository =
                repository.map(|found| format!("{}: a repository of {}", found.folder, found.system));
            preview.loaded_by_others.extend(repository);
            let own = manifest.own().map(|own| own.path.clone());
            for file in &manifest.files {
                let path = file.path.as_str();
                if is_remote {
                    if files::can_be_run(path, file.executable, &[]) {
                        preview.executables.push(path.to_owned());
                    }
                    if files::is_loaded_by_others(path) {
                        preview.loaded_by_others.push(path.to_owned());
                    }
                    continue;
                }
                let most = InstallLimits::default().file_bytes.min(*budget);
                let slice = Slice::first(usize::try_from(most).unwrap_or(usize::MAX));
                match registry.read(skill, &file.path, slice) {
                    Ok(chunk) => {
                        let read = chunk.bytes.len() as u64;
                        *budget = budget.saturating_sub(read);
                        preview.look_at(file, own.as_ref() == Some(&file.path), name, &chunk.bytes);
                        if read < chunk.size {
                            preview.unseen.push(format!("{path} after {read} bytes"));
                        }
                    }
                    Err(_) => preview.unseen.push(path.to_owned()),
                }
            }
            preview.unseen.extend(manifest.left_out.iter().map(|left| left.path.clone()));
            preview.unseen.extend(no_part(registry, skill));
            if is_remote {
                preview.unseen.push("its files, which are on another machine".to_owned());
            }
        }
    }
    let declared = preview.declared_name.clone();
    let others = others.iter().copied().filter(|other| *other != name && *other != declared);
    preview.looks_like = OtherNames::new(others).like([name, &declared]);
    preview
}

/// What the text of a SKILL.md asks for, without the files beside it.
pub fn preview_of_text(bytes: &[u8]) -> Preview {
    let mut preview = Preview { files: 1, bytes: bytes.len() as u64, ..Preview::default() };
    if let Ok(path) = RelPath::parse("SKILL.md") {
        preview.look_at(&FileEntry::new(path, preview.bytes), true, "", bytes);
    }
    preview
}

/// The entries in the folder of a skill that are not its files, such as `node_modules`: its scripts can use them.
fn no_part(registry: &Registry, skill: &Candidate) -> Vec<String> {
    // The file of a skill in an archive is the archive.
    let file = registry.file_of(skill).filter(|_| skill.entry.origin.location.path().is_some());
    let listing = file.as_deref().and_then(Path::parent).map(listing::list);
    let no_part = listing.and_then(Result::ok).map(|listing| listing.no_part).unwrap_or_default();
    no_part.iter().map(|path| path.to_string_lossy().into_owned()).collect()
}

/// What the source says about a skill, without its files.
fn said_by_source(skill: &Candidate) -> Preview {
    let entry = &skill.entry;
    let grants = entry.allowed_tools.iter().flat_map(|tools| &tools.grants);
    Preview {
        declared_name: entry.name.clone(),
        description: entry.description.clone(),
        tools: grants.map(ToString::to_string).collect(),
        hooks: entry.client.hooks.is_some(),
        ..Preview::default()
    }
}
