//! The keys of `prowess.toml` that decide which skills are found and offered.

use prowess_core::Duplicates;
use prowess_core::finding::Preset;
use toml::de::DeTable;

use super::read::Toml;
use super::{Config, ConfigError, Reader};
use crate::settings::values::number;
use prowess_core::path::Glob;

impl Reader<'_> {
    /// The table `[scan]`.
    pub(super) fn scan(&self, table: &DeTable<'_>, config: &mut Config) -> Result<(), ConfigError> {
        for (key, value) in table {
            match self.known("scan", key)? {
                "depth" => config.scan.depth = Some(self.number("scan.depth", value)?),
                "nested" => config.scan.nested = Some(self.flag("scan.nested", value)?),
                "skip" => {
                    let hint = "write skip = [\"_\"]; folders whose name begins so are left out";
                    for item in self.list("scan.skip", value, hint)? {
                        match self.text("scan.skip", item)? {
                            "" => return self.fail(item.span(), "scan.skip: it is empty", hint),
                            prefix => config.scan.skip.push(prefix.to_owned()),
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Which of two skills with the same key is offered.
    pub(super) fn duplicates(&self, value: &Toml<'_>) -> Result<Duplicates, ConfigError> {
        match self.text("skills.duplicates", value)? {
            "first" => Ok(Duplicates::First),
            "last" => Ok(Duplicates::Last),
            "error" => Ok(Duplicates::Error),
            _ => self.fail(value.span(), "skills.duplicates: no such word", "write first, last or error"),
        }
    }

    /// The name of a profile.
    pub(super) fn preset(&self, key: &str, value: &Toml<'_>) -> Result<Preset, ConfigError> {
        self.text(key, value)?.parse::<Preset>().or_else(|error| {
            let hint = "take one of the profiles that come with Prowess";
            self.fail(value.span(), format!("{key}: {error}"), hint)
        })
    }

    /// A list of names of skills.
    pub(super) fn globs(&self, key: &str, value: &Toml<'_>) -> Result<Vec<Glob>, ConfigError> {
        let word = key.rsplit('.').next().unwrap_or(key);
        let hint = format!("write {word} = [\"name\"]; `*` matches any text");
        let mut globs = Vec::new();
        for item in self.list(key, value, &hint)? {
            match Glob::parse(self.text(key, item)?) {
                Ok(glob) => globs.push(glob),
                Err(reason) => return self.fail(item.span(), format!("{key}: {reason}"), &hint),
            }
        }
        Ok(globs)
    }

    /// A boolean.
    pub(super) fn flag(&self, key: &str, value: &Toml<'_>) -> Result<bool, ConfigError> {
        let word = key.rsplit('.').next().unwrap_or(key);
        let hint = format!("write {word} = true");
        self.wanted(value.get_ref().as_bool(), "true or false", &hint, key, value)
    }

    fn number(&self, key: &str, value: &Toml<'_>) -> Result<usize, ConfigError> {
        let number = value.get_ref().as_integer().and_then(number);
        let number = number.and_then(|number| usize::try_from(number).ok());
        self.wanted(number, "a number", "write it as digits, such as 6", key, value)
    }

    fn list<'t, 'i>(
        &self,
        key: &str,
        value: &'t Toml<'i>,
        hint: &str,
    ) -> Result<impl Iterator<Item = &'t Toml<'i>>, ConfigError>
    where
        'i: 't,
    {
        let items = self.wanted(value.get_ref().as_array(), "a list of names", hint, key, value)?;
        self.at_most(items.len(), self.limits.disabled, key, value)?;
        Ok(items.iter())
    }
}
