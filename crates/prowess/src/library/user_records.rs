//! [`UserRecords`]: which of the user's own folders contain installed skills. These come from elsewhere, so unlike the
//! user's own skills they need an accepted digest.
//!
//! A program without the feature `install` reads the same folders. It does not know which of them `--keep` left to the
//! user, so these count as installed there.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess_core::Location;
use toml::de::{DeTable, DeValue};

use crate::env::Environment;
use crate::error::{SourceError, SourceErrorKind};
use crate::fs::location::is_in;
use crate::fs::read;
use crate::library::clients::{self, CLIENTS};
use crate::registry::trust::{InstalledFolders, InstalledRecords};

/// The largest record that is read.
const MAX_BYTES: usize = 16 << 20;
/// The folder that skills are installed in, below the user's folder.
const SKILLS_FOLDER: &str = ".agents/skills";

/// Where a user's `skills.lock` and `skills.toml` are, and the folders of clients.
#[derive(Clone, Debug)]
pub(super) struct UserRecords {
    environment: Environment,
}

impl UserRecords {
    pub(super) fn of(environment: &Environment) -> Self {
        Self { environment: environment.clone() }
    }

    fn folders_of(&self, paths: &'static [&'static str]) -> impl Iterator<Item = PathBuf> {
        paths.iter().filter_map(|path| self.environment.expand(path))
    }
}

impl InstalledRecords for UserRecords {
    /// Without a lock there are none, and nothing else is read. If a record is not
    /// valid, everything that it could be about counts as installed.
    fn read(&self) -> InstalledFolders {
        let mut installed = InstalledFolders::default();
        let Some(home) = self.environment.home() else { return installed };
        let lock = match record(&home.join(".agents/skills.lock"), names) {
            Ok(None) => return installed,
            Ok(Some(names)) => Some(names),
            Err(problem) => {
                installed.problems.push(Arc::new(problem));
                None
            }
        };
        let wanted = record(&home.join(".agents/skills.toml"), client_ids);
        let mut roots = vec![home.join(SKILLS_FOLDER)];
        match wanted.map(Option::unwrap_or_default) {
            Ok(ids) => {
                let known = ids.iter().filter_map(|id| clients::client(id));
                roots.extend(known.flat_map(|client| self.folders_of(client.user)));
            }
            Err(problem) => {
                installed.problems.push(Arc::new(problem));
                roots.extend(CLIENTS.iter().flat_map(|client| self.folders_of(client.user)));
            }
        }
        #[cfg(feature = "install")]
        let is_users_own = crate::install::users_own(&self.environment);
        #[cfg(not(feature = "install"))]
        let is_users_own = |_: &Path, _: &str| false;
        for root in roots {
            match &lock {
                Some(names) => {
                    let copies = names.iter().filter(|name| !is_users_own(&root, name));
                    installed.folders.extend(copies.map(|name| text(&root.join(name))));
                }
                None => drop(installed.folders.insert(text(&root))),
            }
        }
        installed
    }

    fn is_in_own_folder(&self, location: &Location) -> bool {
        clients::own_folders(&self.environment).any(|folder| is_in(location, &folder))
    }
}

/// The names of the skills in a lock; none when it is not valid.
fn names(lock: &DeTable<'_>) -> Option<Vec<String>> {
    let Some(skills) = value(lock, "skill") else { return Some(Vec::new()) };
    let name = |skill: &DeValue<'_>| value(skill.as_table()?, "name")?.as_str().map(str::to_owned);
    skills.as_array()?.iter().map(|skill| name(skill.get_ref())).collect()
}

/// The clients that get links or copies; none when the file is not valid.
fn client_ids(wanted: &DeTable<'_>) -> Option<Vec<String>> {
    let Some(settings) = value(wanted, "settings") else { return Some(Vec::new()) };
    let Some(ids) = value(settings.as_table()?, "clients") else { return Some(Vec::new()) };
    ids.as_array()?.iter().map(|id| id.get_ref().as_str().map(str::to_owned)).collect()
}

fn value<'t, 'i>(table: &'t DeTable<'i>, key: &str) -> Option<&'t DeValue<'i>> {
    table.iter().find(|(name, _)| name.get_ref().as_ref() == key).map(|(_, value)| value.get_ref())
}

/// The contents of a record; none when it does not exist.
fn record<T>(file: &Path, read: impl FnOnce(&DeTable<'_>) -> Option<T>) -> Result<Option<T>, SourceError> {
    let bytes = match read::read_small(file, MAX_BYTES) {
        Err(SourceError { kind: SourceErrorKind::Missing, .. }) => return Ok(None),
        bytes => bytes?,
    };
    let damaged = |reason: String| SourceErrorKind::Damaged { reason }.at(file);
    let text = String::from_utf8(bytes).map_err(|_| damaged("it is not valid UTF-8".to_owned()))?;
    let table = DeTable::parse(&text).map_err(|error| damaged(error.message().to_owned()))?;
    let said = read(table.get_ref())
        .ok_or_else(|| damaged("it does not list names as Prowess writes them".to_owned()))?;
    Ok(Some(said))
}

fn text(path: &Path) -> Box<str> {
    path.to_string_lossy().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folders(lock: &str, wanted: Option<&str>) -> (tempfile::TempDir, InstalledFolders) {
        let home = tempfile::tempdir().unwrap();
        let agents = home.path().join(".agents");
        std::fs::create_dir(&agents).unwrap();
        std::fs::write(agents.join("skills.lock"), lock).unwrap();
        if let Some(wanted) = wanted {
            std::fs::write(agents.join("skills.toml"), wanted).unwrap();
        }
        let environment = Environment::of([("HOME", &*home.path().to_string_lossy())]);
        let read = UserRecords::of(&environment).read();
        (home, read)
    }

    #[test]
    fn what_a_lock_names_is_installed_with_all_that_is_in_it() {
        let lock = "version = 1\n[[skill]]\nname = \"pdf\"\nsource = \"path+x\"\n";
        let (home, installed) = folders(lock, Some("[settings]\nclients = [\"claude-code\"]\n"));
        let holds = |path: &str| installed.hold(&text(&home.path().join(path)));
        for path in
            [".agents/skills/pdf/SKILL.md", ".agents/skills/pdf/in/SKILL.md", ".claude/skills/pdf/SKILL.md"]
        {
            assert!(holds(path), "{path}");
        }
        for path in
            [".agents/skills/pdf-2/SKILL.md", ".agents/skills/SKILL.md", ".cursor/skills/pdf/SKILL.md"]
        {
            assert!(!holds(path), "{path}");
        }
        assert!(installed.problems.is_empty());
    }

    #[test]
    fn a_record_that_is_not_understood_never_makes_a_skill_trusted() {
        let (home, installed) = folders("<<<<<<< a\n", None);
        assert!(installed.hold(&text(&home.path().join(".agents/skills/any/SKILL.md"))));
        assert_eq!(installed.problems.len(), 1);
        let lock = "version = 1\n[[skill]]\nname = \"pdf\"\n";
        let (home, installed) = folders(lock, Some("[settings\n"));
        assert!(installed.hold(&text(&home.path().join(".claude/skills/pdf/SKILL.md"))));
        assert!(!installed.hold(&text(&home.path().join(".claude/skills/own/SKILL.md"))));
    }
}
