//! [`copy`]: a skill in a folder that has no records.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::CreatedDirs;
use crate::error::shown;
use crate::fs::dir::Folder;
use crate::install::error::{InstallError, InstallErrorKind};
use crate::install::records::{InstallScope, InstallTarget, check_folder_name};
use crate::install::target::{Transaction, recover, state_of};
use crate::install::tree::SkillTree;

/// How long to wait for another process that copies into the same folder.
const COPY_TIMEOUT: Duration = Duration::from_secs(60);

/// Copies a skill into a folder that has no records. An existing entry of that name is never replaced.
pub(crate) fn copy(
    state: &Path,
    folder: &Path,
    name: &str,
    tree: &SkillTree,
) -> Result<PathBuf, InstallError> {
    check_folder_name(name).map_err(|reason| {
        InstallError::new(InstallErrorKind::Request, reason, "the author has to give the skill another name")
    })?;
    // A failure leaves nothing.
    let mut created = CreatedDirs::default();
    created.expect(folder);
    std::fs::create_dir_all(folder).map_err(|error| InstallError::io("make the folder", folder, error))?;
    let place = InstallTarget::new(InstallScope::Project, folder, state);
    let _held = place.exclusive(COPY_TIMEOUT, &mut || {})?;
    let real =
        Folder::open_resolved(folder).map_err(|error| InstallError::io("open the folder", folder, error))?;
    // No client has a folder of it elsewhere.
    recover(&place.books, &Vec::new)?;
    if state_of(&real, name).map_err(|error| InstallError::io("read", folder, error))?.is_some() {
        let message = format!("something of this name is there already: {}", shown(&folder.join(name)));
        return Err(InstallError::new(
            InstallErrorKind::Exists,
            message,
            "remove it first, or choose another folder",
        ));
    }
    let mut transaction = Transaction::begin(&place.books, tree.manifest().files.len());
    transaction.put(real.path(), name, tree, None)?;
    transaction.commit()?;
    created.keep();
    Ok(folder.join(name))
}
