//! [`InstalledNames`]: lists a skill under the name that it was installed under, so that two skills with the same name
//! in their frontmatter can be used side by side.

use std::path::{Path, PathBuf};

use prowess_core::{Found, Scope};

use crate::env::Environment;
use crate::install::records::{InstallScope, InstallTarget, LOCK_FILE};

/// How many levels above a folder of skills the lock of a project is searched: as deep as clients keep them.
const MAX_ABOVE: usize = 4;

/// The names under which the skills in a folder were installed.
#[derive(Clone, Debug)]
pub(crate) struct InstalledNames {
    root: PathBuf,
    /// The user's folder, when the skills belong to the user.
    user: Option<PathBuf>,
}

impl InstalledNames {
    /// The names in a folder of skills; none when no skills are installed there.
    pub(crate) fn of(root: &Path, scope: Scope, environment: &Environment) -> Option<Self> {
        let user = match scope {
            Scope::Project => None,
            Scope::User => Some(environment.home()?),
            _ => return None,
        };
        Some(Self { root: root.to_owned(), user })
    }

    /// Gives each skill the key under which it was installed. The lock is read only when the folder of a skill has another
    /// name than the skill.
    pub(crate) fn give(&self, skills: &mut [Box<Found>]) {
        let mut others = skills.iter_mut().filter(|found| self.folder(found).is_some()).peekable();
        if others.peek().is_none() {
            return;
        }
        let place = match &self.user {
            Some(home) => Some((InstallScope::User, home.as_path())),
            None => {
                let mut above = self.root.ancestors().skip(1).take(MAX_ABOVE);
                above.find(|above| above.join(LOCK_FILE).exists()).map(|above| (InstallScope::Project, above))
            }
        };
        // A lock that cannot be read is reported by `Origins`.
        let lock = place.and_then(|(scope, base)| InstallTarget::new(scope, base, Path::new("")).lock().ok());
        let Some(lock) = lock else { return };
        for found in others {
            let folder = self.folder(found).map(str::to_owned).unwrap_or_default();
            let upstream = lock.get(&folder).and_then(|locked| locked.upstream_name.as_deref());
            if upstream == Some(&*found.entry.name) {
                found.entry.key = folder;
            }
        }
    }

    /// The name of a skill's folder, when it is directly in the folder of skills and differs from the skill's name.
    fn folder<'f>(&self, found: &'f Found) -> Option<&'f str> {
        let origin = &found.entry.origin;
        let folder = origin.folder.as_deref().filter(|folder| *folder != found.entry.name)?;
        let above = Path::new(origin.location.path()?).parent()?.parent()?;
        (above == self.root).then_some(folder)
    }
}

/// The name that the author gave a skill which was installed under another name, from the lock of its project or user.
pub fn upstream_name(skill_file: &Path) -> Option<String> {
    let folder = skill_file.parent()?;
    let name = folder.file_name()?.to_str()?;
    // In a project the lock is beside `.agents`, for a user in it.
    let base = folder.ancestors().skip(2).take(MAX_ABOVE).find(|above| above.join(LOCK_FILE).exists())?;
    let scope = if base.ends_with(".agents") { InstallScope::User } else { InstallScope::Project };
    let base = if scope == InstallScope::User { base.parent()? } else { base };
    let lock = InstallTarget::new(scope, base, Path::new("")).lock().ok()?;
    lock.get(name)?.upstream_name.clone()
}
