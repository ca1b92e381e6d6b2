//! Sets and unsets a key of a `prowess.toml`, atomically. Everything else in the file stays, byte for byte.
//!
//! The result is read as a configuration before it is written.

use std::fs;
use std::io;
use std::path::PathBuf;

use prowess_core::HostTools;
use toml_edit::{Array, Document, Value};

use super::toml;
use super::{EditedFile, EditedFileError, TRIES, changed_meanwhile};
use crate::advice::Hint;
use crate::env::Environment;
use crate::error::SourceErrorKind;
use crate::fs::atomic::{self, WriteError};
use crate::fs::parsed::ParsedLimits;
#[cfg(feature = "install")]
use crate::install::{InstallPlace, InstallSpec, SkillRef};
use crate::settings::key_path::KeyPath;
use crate::settings::keys::ConfigKind;
use crate::settings::{Config, ConfigError};
use crate::source::spec::{Place, Server};

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
    /// The file cannot be edited.
    #[error(transparent)]
    File(#[from] EditedFileError),
    /// The value does not fit the key.
    #[error("this value cannot be set: {message}")]
    Value {
        /// The key, and what is wrong with its value.
        message: String,
        /// What to do.
        hint: Hint,
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
    pub fn hint(&self) -> Hint {
        match self {
            Self::File(error) => error.hint(),
            Self::Value { hint, .. } => hint.clone(),
            Self::Broken(error) => error.hint().after("; nothing was changed"),
            Self::Form { .. } => "change the file yourself; nothing was changed".into(),
            Self::Write(error) => error.hint().into(),
            Self::Lock { .. } => "wait for the other process, then run the command again".into(),
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
        let file =
            EditedFile { file: &self.file, within: self.within.as_deref(), limits: ParsedLimits::PROJECT };
        let mut tries = 0;
        loop {
            file.real()?;
            if self.within.is_none() {
                self.judge()?;
            }
            let before = file.read()?;
            let after = self.edited(before.as_deref().unwrap_or_default(), key, value)?;
            let set = ConfigSet { before, after };
            if !set.is_change() {
                return Ok(set);
            }
            let written = match &set.before {
                Some(before) => file.replace(before, &set.after),
                None => self.make_folder().and_then(|()| file.create(&set.after, self.within.is_none())),
            };
            match written {
                Ok(()) => return Ok(set),
                Err(error) if changed_meanwhile(&error) && tries + 1 < TRIES => tries += 1,
                Err(error) => return Err(ConfigSetError::Write(error)),
            }
        }
    }

    /// An error if the user's own file is one that another user wrote, or can: the new one would be believed.
    fn judge(&self) -> Result<(), EditedFileError> {
        match Config::text_of_user(&self.file) {
            Err(ConfigError::Read(error)) if matches!(error.kind, SourceErrorKind::Distrusted { .. }) => {
                Err(error.into())
            }
            _ => Ok(()),
        }
    }

    /// Makes the folder of the user's own file, for this user alone.
    fn make_folder(&self) -> Result<(), WriteError> {
        let folder = atomic::folder_of(&self.file);
        let own = self.within.is_none().then(|| atomic::make_own_folders(Some(folder), folder));
        own.unwrap_or(Ok(())).map_err(|error| WriteError::io(folder, error))
    }

    /// The text with the change, which is a valid configuration.
    fn edited(&self, text: &str, key: &KeyPath, value: Option<&str>) -> Result<String, ConfigSetError> {
        let old = Config::parse(text, &self.file);
        // Only a file that is no TOML at all cannot be mended by setting a key.
        if Document::parse(text.strip_prefix('\u{feff}').unwrap_or(text)).is_err() {
            return Err(match old {
                Err(error) => ConfigSetError::Broken(error),
                Ok(_) => self.form(key),
            });
        }
        let value = value.map(|value| value_of(key, value)).transpose()?.map(|value| value.to_string());
        let after = toml::edit(text, &key.parts(), value.as_deref()).ok_or_else(|| self.form(key))?;
        match Config::parse(&after, &self.file) {
            Ok(config) => {
                let name = key.to_string();
                let is_about_sources = name.starts_with(SOURCES) || SOURCES.starts_with(&name);
                let has_password = || config.sources.iter().any(|spec| has_password(&spec.place));
                if value.is_some() && is_about_sources && has_password() {
                    let message = format!("{key}: an address has a user or a password in it");
                    let hint = "leave them out; a server that needs a token is named with token_file".into();
                    return Err(ConfigSetError::Value { message, hint });
                }
                ParsedLimits::PROJECT.check(after.as_bytes(), &self.file).map_err(EditedFileError::from)?;
                Ok(after)
            }
            // A mistake that was there before is not that of the value.
            Err(new) if old.is_err_and(|old| what(&old) == what(&new)) => Err(ConfigSetError::Broken(new)),
            Err(ConfigError::Content { message, hint, .. }) => Err(ConfigSetError::Value { message, hint }),
            Err(other) => Err(ConfigSetError::Broken(other)),
        }
    }

    fn form(&self, key: &KeyPath) -> ConfigSetError {
        ConfigSetError::Form { file: self.file.clone(), key: key.to_string() }
    }
}

/// The key of the sources.
const SOURCES: &str = "skills.sources";

/// Whether a place is an address with a user or a password, which no command accepts.
fn has_password(place: &Place) -> bool {
    let (Place::Url { url, .. } | Place::Mcp(Server::At { url, .. })) = place else { return false };
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    rest.split(['/', '?', '#']).next().unwrap_or_default().contains('@')
}

/// Holds the lock of configurations. Where the state of the user cannot be written, there is none: a file is replaced only
/// if it is the one that was read.
fn lock(environment: &Environment) -> Result<Option<fs::File>, ConfigSetError> {
    let Some(state) = environment.xdg("XDG_STATE_HOME", ".local/state") else { return Ok(None) };
    let file = state.join("prowess/config.lock");
    match atomic::lock_own(file.parent(), &file) {
        Ok(lock) => Ok(Some(lock)),
        Err(source) if source.kind() == io::ErrorKind::TimedOut => Err(ConfigSetError::Lock { file, source }),
        Err(_) => Ok(None),
    }
}

/// The value of a key as a user writes it: a text verbatim, otherwise TOML. A list may also be names with commas; tools are
/// separated as in `--tools`.
fn value_of(key: &KeyPath, text: &str) -> Result<Value, ConfigSetError> {
    let kind = if key.entry.is_some() { ConfigKind::Text } else { key.key.kind };
    #[cfg(feature = "install")]
    if let Some(org) = key.entry.as_deref().filter(|_| key.key.name == "registries") {
        check_registry(key, org, text)?;
    }
    if kind == ConfigKind::Text {
        return Ok(Value::from(text));
    }
    let value = text.trim().parse().ok();
    if kind == ConfigKind::Texts {
        return match value {
            Some(value @ Value::Array(_)) => Ok(value),
            Some(Value::String(text)) => Ok(Value::Array([text.value().as_str()].into_iter().collect())),
            _ if text.trim_start().starts_with('[') => Ok(Value::from(text)),
            _ => names(key, text).map(Value::Array),
        };
    }
    Ok(value.unwrap_or_else(|| Value::from(text)))
}

/// An error if `@org/name` could not be installed from an address.
#[cfg(feature = "install")]
fn check_registry(key: &KeyPath, org: &str, address: &str) -> Result<(), ConfigSetError> {
    let hint =
        "write an address such as https://git.acme.example/{org}/{name}.git for an organisation such as acme";
    let wrong = |what: String| ConfigSetError::Value { message: format!("{key}: {what}"), hint: hint.into() };
    if format!("@{org}/name").parse::<SkillRef>().is_err() {
        return Err(wrong(format!("this is not an organisation: {org}")));
    }
    let text = address.replace("{org}", org).replace("{name}", "name");
    let spec = text.parse::<InstallSpec>().map_err(|error| wrong(error.to_string()))?;
    if matches!(spec.place, InstallPlace::Reference(_)) {
        return Err(wrong(format!("this is not an address: {address}")));
    }
    Ok(())
}

/// Names that are separated by commas.
fn names(key: &KeyPath, text: &str) -> Result<Array, ConfigSetError> {
    if text.contains(['"', '\'']) {
        return Err(ConfigSetError::Value {
            message: format!("{key}: names with quotes are written as a list: {text}"),
            hint: "write [\"a\", \"b\"], or a, b without quotes".into(),
        });
    }
    if key.key.name == "tools"
        && let HostTools::Only(tools) = HostTools::parse(text)
    {
        return Ok(tools.into_iter().collect());
    }
    Ok(text.split(',').map(str::trim).filter(|name| !name.is_empty()).collect())
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
