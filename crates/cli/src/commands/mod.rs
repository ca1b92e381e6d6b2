//! One file for each command.

pub(crate) mod activate;
pub(crate) mod cat;
pub(crate) mod check;
pub(crate) mod eval;
pub(crate) mod list;
pub(crate) mod new;
pub(crate) mod replay;
pub(crate) mod rule;
pub(crate) mod show;
pub(crate) mod tools;
pub(crate) mod trust;
pub(crate) mod try_;
pub(crate) mod why;

use std::path::{Path, PathBuf};

use prowess::Registry;
use prowess::clients::{self, CLIENTS};
use prowess::env::Environment;
use prowess::library::{LibraryError, LibraryOptions, library};

use crate::args::Places;
use crate::error::{CommandError, Failure};
use crate::ui::Ui;

/// The word that means standard input.
const STDIN: &str = "-";

/// A path as people know it: without the `./` that a walk of the current folder begins with.
pub(crate) fn shown(path: &Path) -> String {
    let text = path.to_string_lossy();
    text.strip_prefix("./").filter(|rest| !rest.is_empty()).unwrap_or(&text).to_owned()
}

/// The SKILL.md of a folder, if there is one.
fn skill_file(folder: &Path) -> Option<PathBuf> {
    // A name that differs only in case would be taken on some systems; the folder's own list decides.
    let names: Vec<_> = std::fs::read_dir(folder).ok()?.flatten().map(|entry| entry.file_name()).collect();
    let name =
        prowess::scan::FILE_NAMES.into_iter().find(|wanted| names.iter().any(|name| name == wanted))?;
    Some(folder.join(name))
}

/// The skills in the places that were asked for. What could not be read is said, and the rest stands.
fn registry(places: &Places, ui: &mut Ui) -> Result<Registry, CommandError> {
    let client = match &places.client {
        None => None,
        Some(id) => Some(clients::client(id).ok_or_else(|| {
            let known: Vec<&str> = CLIENTS.iter().map(|client| client.id).collect();
            Failure::new(format!("no such client: {id}"), format!("the clients are {}", known.join(", ")))
        })?),
    };
    let options = LibraryOptions { roots: places.roots.clone(), client, cache: !places.no_cache };
    let mut registry =
        library(Path::new("."), &Environment::current(), &options).map_err(|error| match error {
            LibraryError::Config(error) => CommandError::from(Failure::from(&error)),
            LibraryError::Approvals(error) => CommandError::from(Failure::from(&error)),
        })?;
    registry
        .refresh()
        .map_err(|error| Failure::new(error.to_string(), "check the folders that were named"))?;
    for problem in registry.problems() {
        ui.failure(&Failure::from(problem));
    }
    Ok(registry)
}
