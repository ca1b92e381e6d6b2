//! Sets and unsets a key of a `prowess.toml`, atomically. Everything else in the file stays, byte for byte.
//!
//! The result is read as a configuration before it is written.

mod comments;
mod text;
mod value;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use toml::de::DeTable;

use super::key_path::KeyPath;
use super::{Config, ConfigError, MAX_CONFIG_BYTES};
use crate::env::Environment;
use crate::error::{SourceError, SourceErrorKind};
use crate::fs::atomic::{self, WriteError};
use crate::fs::read;
use crate::library::clients;

/// How often a change is tried when the file changes at the same time.
const TRIES: usize = 3;

/// A file in which keys are set.
#[derive(Clone, Debug)]
pub struct ConfigEditor {
    /// The file; it need not exist.
    pub file: PathBuf,
    /// The folder of the project that the file must not lead out of.
    pub within: Option<PathBuf>,
}

/// What setting a key did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigSet {
    /// The text of the file before; `None` if there was no file.
    pub before: Option<String>,
    /// The text after it.
    pub after: String,
}

impl ConfigSet {
    /// Whether anything changed.
    pub fn is_change(&self) -> bool {
        self.before.as_deref().unwrap_or_default() != self.after
    }
}

/// Why a key was not set.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigSetError {
    /// The file could not be read.
    #[error("could not read the configuration")]
    Read(#[from] SourceError),
    /// The file is not text.
    #[error("the configuration is not UTF-8: {}:{line}", .file.display())]
    NotText {
        /// The file.
        file: PathBuf,
        /// The first line that is not.
        line: usize,
    },
    /// The value does not fit the key.
    #[error("this value cannot be set: {message}")]
    Value {
        /// The key, and what is wrong with its value.
        message: String,
        /// What to do.
        hint: String,
    },
    /// The file has another mistake.
    #[error(transparent)]
    Broken(ConfigError),
    /// The file has a form in which the key cannot be set.
    #[error("the key cannot be set in this file: {}: {key}", .file.display())]
    Form {
        /// The file.
        file: PathBuf,
        /// The key.
        key: String,
    },
    /// A link of a project leads out of it.
    #[error("the configuration leads out of the project: {}: {}", .file.display(), .target.display())]
    Outside {
        /// The file.
        file: PathBuf,
        /// Where the link leads.
        target: PathBuf,
    },
    /// It could not be written.
    #[error("could not change the configuration")]
    Write(#[source] WriteError),
    /// Another process holds the lock.
    #[error("could not lock the configuration: {}", .file.display())]
    Lock {
        /// The lock.
        file: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
}

impl ConfigSetError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Read(error) => error.hint().into_owned(),
            Self::NotText { .. } => "save the file as UTF-8; nothing was changed".to_owned(),
            Self::Value { hint, .. } => hint.clone(),
            Self::Broken(error) => format!("{}; nothing was changed", error.hint()),
            Self::Form { .. } => "change the file yourself; nothing was changed".to_owned(),
            Self::Outside { .. } => "edit the target of the link itself; nothing was changed".to_owned(),
            Self::Write(error) => error.hint().to_owned(),
            Self::Lock { .. } => "wait for the other process, then run the command again".to_owned(),
        }
    }
}

impl ConfigEditor {
    /// Sets a key to a value as a user writes it, or unsets it without one. The file and its folder are made if needed.
    pub fn set(
        &self,
        key: &KeyPath,
        value: Option<&str>,
        environment: &Environment,
    ) -> Result<ConfigSet, ConfigSetError> {
        let _lock = lock(environment)?;
        let mut tries = 0;
        loop {
            self.check_target()?;
            let before = self.read()?;
            let after = self.edited(before.as_deref().unwrap_or_default(), key, value)?;
            let set = ConfigSet { before, after };
            if !set.is_change() {
                return Ok(set);
            }
            match self.write(&set) {
                Ok(()) => return Ok(set),
                Err(WriteError::Changed { .. } | WriteError::Exists { .. }) if tries + 1 < TRIES => {
                    tries += 1;
                }
                Err(error) => return Err(ConfigSetError::Write(error)),
            }
        }
    }

    /// The text with the change, which is a valid configuration.
    fn edited(&self, text: &str, key: &KeyPath, value: Option<&str>) -> Result<String, ConfigSetError> {
        let old = Config::parse(text, &self.file);
        // Only a file that is no TOML at all cannot be mended by setting a key.
        if DeTable::parse(text.strip_prefix('\u{feff}').unwrap_or(text)).is_err() {
            return Err(match old {
                Err(error) => ConfigSetError::Broken(error),
                Ok(_) => self.form(key),
            });
        }
        let value = value.map(|value| value::written(key, value)).transpose()?;
        let after = text::edit(text, &key.parts(), value.as_deref()).ok_or_else(|| self.form(key))?;
        match Config::parse(&after, &self.file) {
            Ok(_) if after.len() > MAX_CONFIG_BYTES => {
                let kind =
                    SourceErrorKind::TooLarge { size: after.len() as u64, limit: MAX_CONFIG_BYTES as u64 };
                Err(ConfigSetError::Read(kind.at(&self.file)))
            }
            Ok(_) => Ok(after),
            // A mistake that was there before is not that of the value.
            Err(new) if old.is_err_and(|old| what(&old) == what(&new)) => Err(ConfigSetError::Broken(new)),
            Err(ConfigError::Content { message, hint, .. }) => Err(ConfigSetError::Value { message, hint }),
            Err(other) => Err(ConfigSetError::Broken(other)),
        }
    }

    fn form(&self, key: &KeyPath) -> ConfigSetError {
        ConfigSetError::Form { file: self.file.clone(), key: key.to_string() }
    }

    /// The text of the file; `None` if there is none.
    fn read(&self) -> Result<Option<String>, ConfigSetError> {
        if self.file.symlink_metadata().is_err_and(|error| is_missing(&error)) {
            return Ok(None);
        }
        match String::from_utf8(read::read_small(&self.file, MAX_CONFIG_BYTES)?) {
            Ok(text) => Ok(Some(text)),
            Err(error) => {
                let valid = error.as_bytes().iter().take(error.utf8_error().valid_up_to());
                let line = 1 + valid.filter(|byte| **byte == b'\n').count();
                Err(ConfigSetError::NotText { file: self.file.clone(), line })
            }
        }
    }

    /// An error if the file of a project leads out of it: a repository could contain a link to a file of the user.
    fn check_target(&self) -> Result<(), ConfigSetError> {
        let Some(project) = &self.within else { return Ok(()) };
        let unread = |error| ConfigSetError::Read(SourceError::io(&self.file, error));
        match self.file.symlink_metadata() {
            Err(error) if is_missing(&error) => return Ok(()),
            Err(error) => return Err(unread(error)),
            Ok(_) => {}
        }
        let target = fs::canonicalize(&self.file).map_err(unread)?;
        let project = fs::canonicalize(clients::project(project)).map_err(unread)?;
        if target.starts_with(project) {
            return Ok(());
        }
        Err(ConfigSetError::Outside { file: self.file.clone(), target })
    }

    fn write(&self, set: &ConfigSet) -> Result<(), WriteError> {
        match &set.before {
            Some(before) => {
                // Asked again at the write, since a link may have been exchanged.
                let may = |target: &Path| clients::holds(self.within.as_deref(), target);
                atomic::replace_where(&self.file, before.as_bytes(), set.after.as_bytes(), may)
            }
            None => {
                let folder = self.file.parent().unwrap_or(Path::new("."));
                fs::create_dir_all(folder).map_err(|error| WriteError::io(folder, error))?;
                atomic::create(&self.file, set.after.as_bytes())
            }
        }
    }
}

/// Holds the lock of configurations. Where the state of the user cannot be written, there is none: a file is replaced only
/// if it is the one that was read.
fn lock(environment: &Environment) -> Result<Option<fs::File>, ConfigSetError> {
    let Some(state) = environment.xdg("XDG_STATE_HOME", ".local/state") else { return Ok(None) };
    let file = state.join("prowess/config.lock");
    match atomic::lock_own(&file) {
        Ok(lock) => Ok(Some(lock)),
        Err(source) if source.kind() == io::ErrorKind::TimedOut => Err(ConfigSetError::Lock { file, source }),
        Err(_) => Ok(None),
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// A mistake without its line, which an edit may move.
fn what(error: &ConfigError) -> String {
    match error {
        ConfigError::Content { message, .. } => message.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests;
