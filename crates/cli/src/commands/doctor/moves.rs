//! Commands that put a skill where clients find it: by moving, renaming, copying or linking it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use prowess::client::{Fact, Facts};
use prowess::library::clients::{self, Client};
use prowess::{Candidate, Scope};

use super::super::install::scope_option;
use super::examination::Examination;
use crate::explain::copies::folder_of;
use crate::ui::command::word;

/// The facts about a place that a command changes.
const PLACES: Facts = Facts::of(&[
    Fact::RootFile,
    Fact::OtherFileName,
    Fact::NameNotFolder,
    Fact::LinkedFolder,
    Fact::LinkedFile,
]);

/// The command that puts a skill where clients find it. `too_deep` says that its folder is too far down, and `taken` are
/// the places to which other commands move something. `None` if more than its place is wrong, or if something is in the
/// way.
pub(super) fn placing(
    skill: &Candidate,
    facts: Facts,
    too_deep: bool,
    taken: &mut BTreeSet<PathBuf>,
) -> Option<String> {
    if !facts.without(PLACES).is_empty() {
        return None;
    }
    let file = PathBuf::from(skill.entry.origin.location.path()?);
    let folder = file.parent()?;
    let mut wrong = facts.iter();
    match (wrong.next(), wrong.next(), too_deep) {
        (None, None, true) => moved(folder, &Path::new(&*skill.source).join(folder.file_name()?), taken),
        (Some(Fact::RootFile), None, false) => {
            let own = reserved(folder.join(plain(&skill.entry.name)?), taken)?;
            let (file, own) = (word(&file)?, word(&own)?);
            Some(format!("mkdir {own} && mv {file} {own}"))
        }
        (Some(Fact::OtherFileName), None, false) => moved(&file, &folder.join("SKILL.md"), taken),
        (Some(Fact::NameNotFolder), None, false) => {
            moved(folder, &folder.parent()?.join(plain(&skill.entry.name)?), taken)
        }
        (Some(Fact::LinkedFolder), None, false) if folder.is_symlink() => copied(folder, "-RL"),
        (Some(Fact::LinkedFile), None, false) if file.is_symlink() => copied(&file, "-L"),
        _ => None,
    }
}

/// The command that links a skill into a folder of a client here, for one that no client reads.
pub(super) fn linking(skill: &Candidate, examination: &Examination) -> Option<(&'static Client, String)> {
    let folder = folder_of(skill)?;
    let installed = examination.origins.of(skill);
    examination.clients.iter().find_map(|client| {
        let of_project = skill.entry.origin.scope == Scope::Project;
        let project = clients::project(&examination.here);
        let root = if of_project {
            project.join(client.project.first()?)
        } else {
            examination.environment.expand(client.user.first()?)?
        };
        let follows = !client.reads().refuses.has(Fact::LinkedFolder);
        let link = free(root.join(folder.file_name()?))?;
        if let Some(origin) = installed {
            // A client does not get a skill in the folder that it comes from.
            let source = origin.locked.source_folder(origin.scope, &origin.path);
            let real = |path: &Path| std::fs::canonicalize(path).ok();
            let is_in = |source: PathBuf| Some(real(&source)?.starts_with(real(&root)?));
            let user = scope_option(origin.scope);
            return (source.and_then(is_in) != Some(true))
                .then(|| (*client, format!("prowess sync{user} --client {}", client.id)));
        }
        // A link in a project leads to the same place in every clone of it.
        let inside = folder.strip_prefix(project).ok().filter(|_| of_project && follows);
        let target = inside.zip(root.strip_prefix(project).ok()).map(|(inside, root)| {
            let up: PathBuf = root.iter().map(|_| "..").collect();
            up.join(inside)
        });
        let (root, target, link) = (word(&root)?, word(target.as_deref().unwrap_or(folder))?, word(&link)?);
        let put = if follows { "ln -s" } else { "cp -R" };
        Some((*client, format!("mkdir -p {root} && {put} {target} {link}")))
    })
}

fn moved(from: &Path, to: &Path, taken: &mut BTreeSet<PathBuf>) -> Option<String> {
    let to = reserved(to.to_owned(), taken)?;
    Some(format!("mv {} {}", word(from)?, word(&to)?))
}

/// Replaces a link by a copy of its target.
fn copied(link: &Path, option: &str) -> Option<String> {
    let copy = free(link.with_file_name(format!("{}.copy", link.file_name()?.to_str()?)))?;
    let (link, copy) = (word(link)?, word(&copy)?);
    Some(format!("cp {option} {link} {copy} && rm {link} && mv {copy} {link}"))
}

/// A path at which there is nothing, and to which no other command moves something.
fn reserved(path: PathBuf, taken: &mut BTreeSet<PathBuf>) -> Option<PathBuf> {
    free(path).filter(|path| taken.insert(path.clone()))
}

/// A path at which there is nothing.
fn free(path: PathBuf) -> Option<PathBuf> {
    path.symlink_metadata().is_err().then_some(path)
}

/// A name that is one plain part of a path.
fn plain(name: &str) -> Option<&str> {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    (!name.is_empty() && !name.starts_with('-') && name.chars().all(is_plain)).then_some(name)
}
