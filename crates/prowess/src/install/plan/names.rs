//! Names of skills that would be one folder, on this system or another.

use std::collections::BTreeMap;

use super::prepare::Prepared;
use super::{Order, installs};
use crate::advice::{Hint, HintAction};
use crate::fs::dir::Folder;
use crate::fs::walk::MODULES;
use crate::install::error::{InstallError, InstallErrorKind};
use crate::install::records::{SkillsLock, check_folder_name, folder_key};

/// An error when two skills would be installed under one name.
pub(super) fn check_distinct(orders: &[Order]) -> Result<(), InstallError> {
    let mut names = BTreeMap::new();
    let twice = installs(orders).find_map(|new| Some((names.insert(folder_key(new.name()), new)?, new)));
    let at = |new: &Prepared| match &new.locked.path {
        Some(path) => path.to_string(),
        None => new.locked.source.place().to_owned(),
    };
    twice.map_or(Ok(()), |(one, other)| Err(same_name(one.name(), &at(one), &at(other))))
}

/// An error when no skill can be installed under a name.
pub(crate) fn check_installable(name: &str) -> Result<(), InstallError> {
    let reason = check_folder_name(name).err();
    // No agent would find it.
    let reason = reason.or_else(|| (name == MODULES).then(|| "agents do not look into such a folder".into()));
    reason.map_or(Ok(()), |reason| {
        let message = format!("a skill cannot be installed under this name: {name}: {reason}");
        Err(InstallError::new(InstallErrorKind::Request, message, "give it another name"))
    })
}

/// The error for two skills of one name, by their paths.
pub(crate) fn same_name(name: &str, one: &str, other: &str) -> InstallError {
    let message = format!("two of these skills have one name: {name}: {one} and {other}");
    let hint = "install them one by one, by their paths, one of them under another name";
    InstallError::new(InstallErrorKind::SameName, message, hint)
}

/// The names in use in a place, by the form in which two names are equal on some system.
pub(super) struct Names(BTreeMap<String, String>);

impl Names {
    pub(super) fn of(dir: Option<&Folder>, lock: &SkillsLock) -> Result<Self, InstallError> {
        let there = match dir {
            Some(dir) => dir.names().map_err(|error| InstallError::io("list", dir.path(), error))?,
            None => Vec::new(),
        };
        let locked = lock.skills().iter().map(|skill| skill.name.clone());
        Ok(Self(there.into_iter().chain(locked).map(|name| (folder_key(&name), name)).collect()))
    }

    /// Takes a name; an error when another one is the same on some system.
    pub(super) fn take(&mut self, name: &str) -> Result<(), InstallError> {
        let hint = Hint::from(HintAction::Rename).after("; or remove one first");
        match self.0.insert(folder_key(name), name.to_owned()) {
            Some(other) if other != name => Err(InstallError::new(
                InstallErrorKind::Request,
                format!("two skills would be one folder on some systems: {name}: {other}"),
                hint,
            )
            .in_entry(name)),
            _ => Ok(()),
        }
    }
}
