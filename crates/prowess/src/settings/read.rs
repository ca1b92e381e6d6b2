//! Reads the text of a `prowess.toml` into a [`Config`], with the line of every mistake.

use std::path::Path;
use std::string::FromUtf8Error;

use prowess_core::{Level, LineIndex};
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::{Config, ConfigError, ConfigLimits, PathConfig, keys, refuse_level};
use crate::error::{SourceError, SourceErrorKind};
use crate::fs::parsed::ParsedLimits;
use crate::source::spec::{FLAG_KEYS, Pairs, SourceSpec, Wrong};
use prowess_core::internal::did_you_mean;
use prowess_core::path::Glob;
use prowess_core::text::similar;

impl ConfigError {
    /// The error for a file that is not UTF-8.
    pub(super) fn not_text(file: &Path, error: &FromUtf8Error) -> Self {
        Self::Content {
            file: file.to_owned(),
            line: line_of(error),
            message: "this line is not UTF-8".to_owned(),
            hint: "save the file as UTF-8".to_owned(),
        }
    }
}

/// What to do about a file with too much in it.
const NAME_FEWER: &str = "name fewer: a folder covers all skills below it, and a glob all names it matches";

/// A value of a TOML file, with its place.
pub(super) type Toml<'i> = Spanned<DeValue<'i>>;

/// Reads TOML with spans, so that every error has a line.
pub(super) struct Reader<'a> {
    pub(super) file: &'a Path,
    lines: LineIndex<'a>,
    pub(super) limits: ConfigLimits,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str, file: &'a Path, limits: ConfigLimits) -> Self {
        Self { file, lines: LineIndex::new(text), limits }
    }

    pub(super) fn fail<T>(
        &self,
        at: std::ops::Range<usize>,
        message: impl Into<String>,
        hint: &str,
    ) -> Result<T, ConfigError> {
        Err(ConfigError::Content {
            file: self.file.to_owned(),
            line: self.lines.position(at.start).line,
            message: message.into(),
            hint: hint.to_owned(),
        })
    }

    pub(super) fn read(&self, text: &str, mut config: Config) -> Result<Config, ConfigError> {
        if let Err(SourceError { kind: SourceErrorKind::Damaged { reason }, .. }) =
            ParsedLimits::PROJECT.check(text.as_bytes(), self.file)
        {
            return self.fail(0..0, reason, NAME_FEWER);
        }
        let table = match DeTable::parse(text) {
            Ok(table) => table,
            Err(error) => {
                return self.fail(error.span().unwrap_or(0..0), error.message(), "correct the TOML");
            }
        };
        for (key, value) in table.get_ref() {
            match self.known("", key)? {
                "check" => self.check(self.table("check", value)?, &mut config)?,
                "skills" => self.skills(self.table("skills", value)?, &mut config)?,
                "session" => config.session = self.session(self.table("session", value)?)?,
                "scan" => self.scan(self.table("scan", value)?, &mut config)?,
                "install" => self.install(self.table("install", value)?, &mut config)?,
                _ => {}
            }
        }
        Ok(config)
    }

    fn install(&self, table: &DeTable<'_>, config: &mut Config) -> Result<(), ConfigError> {
        for (key, value) in table {
            if self.known("install", key)? == "registries" {
                for (org, url) in self.table("install.registries", value)? {
                    let text = self.text("install.registries", url)?;
                    config.registries.insert(org.get_ref().to_string(), text.to_owned());
                }
            }
        }
        Ok(())
    }

    fn check(&self, table: &DeTable<'_>, config: &mut Config) -> Result<(), ConfigError> {
        for (key, value) in table {
            match self.known("check", key)? {
                "profile" => {
                    config.profile = Some(self.preset("check.profile", value)?);
                }
                "levels" => config.levels = self.levels("check.levels", value)?,
                "paths" => {
                    for item in self.tables("check.paths", value, self.limits.paths)? {
                        config.paths.push(self.path(item)?);
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn skills(&self, table: &DeTable<'_>, config: &mut Config) -> Result<(), ConfigError> {
        for (key, value) in table {
            match self.known("skills", key)? {
                "disable" => config.disabled.extend(self.globs("skills.disable", value)?),
                "enable" => config.enabled = Some(self.globs("skills.enable", value)?),
                "strict" => config.strict = Some(self.preset("skills.strict", value)?),
                "duplicates" => config.duplicates = Some(self.duplicates(value)?),
                "sources" => {
                    let items = self.tables("skills.sources", value, self.limits.sources)?;
                    for (number, item) in items.enumerate() {
                        config.sources.push(self.source(&format!("skills.sources[{number}]"), item)?);
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// The items of a list of tables, up to a limit.
    fn tables<'t, 'i>(
        &self,
        key: &str,
        value: &'t Toml<'i>,
        most: usize,
    ) -> Result<impl Iterator<Item = &'t Toml<'i>>, ConfigError>
    where
        'i: 't,
    {
        let hint = format!("write each as [[{key}]]");
        let items = self.wanted(value.get_ref().as_array(), "a list of tables", &hint, key, value)?;
        self.at_most(items.len(), most, key, value)?;
        Ok(items.iter())
    }

    pub(super) fn at_most(
        &self,
        number: usize,
        most: usize,
        key: &str,
        value: &Toml<'_>,
    ) -> Result<(), ConfigError> {
        if number <= most {
            return Ok(());
        }
        self.fail(value.span(), format!("{key}: there are {number}, at most {most}"), NAME_FEWER)
    }

    fn source(&self, entry: &str, item: &Toml<'_>) -> Result<SourceSpec, ConfigError> {
        let mut pairs = Pairs::default();
        for (key, value) in self.table(entry, item)? {
            let name = key.get_ref().as_ref();
            let full = format!("{entry}.{name}");
            if FLAG_KEYS.contains(&name) {
                pairs.set_flag(name, self.flag(&full, value)?);
            } else if !pairs.set(name, self.text(&full, value)?) {
                return self.unknown(&full, key, &keys::names("skills.sources"));
            }
        }
        match pairs.spec() {
            Ok(spec) => Ok(spec),
            Err(Wrong { reason, hint }) => self.fail(item.span(), format!("{entry}: {reason}"), hint),
        }
    }

    fn path(&self, item: &Toml<'_>) -> Result<PathConfig, ConfigError> {
        let (mut glob, mut ignore, mut levels) = (None, None, Vec::new());
        for (key, value) in self.table("check.paths", item)? {
            match self.known("check.paths", key)? {
                "glob" => match Glob::parse(self.text("check.paths.glob", value)?) {
                    Ok(parsed) => glob = Some(parsed),
                    Err(reason) => {
                        let message = format!("check.paths.glob: {reason}");
                        return self.fail(
                            value.span(),
                            message,
                            "write a path such as vendor/** or drafts/*",
                        );
                    }
                },
                "ignore" => ignore = Some(self.flag("check.paths.ignore", value)?),
                "levels" => levels = self.levels("check.paths.levels", value)?,
                _ => {}
            }
        }
        match glob {
            Some(glob) => Ok(PathConfig { glob, ignore, levels }),
            None => self.fail(item.span(), "check.paths: the glob is missing", "say which paths it is about"),
        }
    }

    fn levels(&self, key: &str, value: &Toml<'_>) -> Result<Vec<(String, Level)>, ConfigError> {
        let mut levels = Vec::new();
        for (code, value) in self.table(key, value)? {
            let (name, at) = (code.get_ref().as_ref(), code.span());
            let key = format!("{key}.{name}");
            let level = match self.text(&key, value)?.parse::<Level>() {
                Ok(level) => level,
                Err(message) => {
                    let hint = format!("the levels are {}", Level::ALL.map(Level::name).join(", "));
                    return self.fail(value.span(), format!("{key}: {message}"), &hint);
                }
            };
            if let Err((message, hint)) = refuse_level(name, level) {
                return self.fail(at, format!("{key}: {message}"), &hint);
            }
            levels.push((name.to_owned(), level));
        }
        Ok(levels)
    }

    /// What a value was read as; none is an error that says what is wanted.
    pub(super) fn wanted<T>(
        &self,
        read: Option<T>,
        what: &str,
        hint: &str,
        key: &str,
        value: &Toml<'_>,
    ) -> Result<T, ConfigError> {
        match read {
            Some(read) => Ok(read),
            None => self.fail(value.span(), format!("{key}: {what} is wanted"), hint),
        }
    }

    pub(super) fn table<'t, 'i>(
        &self,
        key: &str,
        value: &'t Toml<'i>,
    ) -> Result<&'t DeTable<'i>, ConfigError> {
        self.wanted(value.get_ref().as_table(), "a table", "write it as a TOML table", key, value)
    }

    pub(super) fn text<'t>(&self, key: &str, value: &'t Toml<'_>) -> Result<&'t str, ConfigError> {
        self.wanted(value.get_ref().as_str(), "a text", "put the value in quotes", key, value)
    }

    /// The name of a key, if the table of keys has it. A key that is in the table and in no `match` would have no
    /// effect; a test of the table finds it.
    pub(super) fn known<'k>(
        &self,
        table: &str,
        key: &'k Spanned<DeString<'_>>,
    ) -> Result<&'k str, ConfigError> {
        let (name, known) = (key.get_ref().as_ref(), keys::names(table));
        if known.contains(&name) {
            return Ok(name);
        }
        let full = if table.is_empty() { name.to_owned() } else { format!("{table}.{name}") };
        self.unknown(&full, key, &known)
    }

    fn unknown<T>(&self, full: &str, key: &Spanned<DeString<'_>>, known: &[&str]) -> Result<T, ConfigError> {
        let near = similar(key.get_ref(), known.iter().copied());
        let suggestion = did_you_mean(&near).map(|meant| format!("{meant} ")).unwrap_or_default();
        let hint = format!("{suggestion}the keys here are: {}", known.join(", "));
        self.fail(key.span(), format!("no such key: {full}"), &hint)
    }
}

/// The number of the first line that is not UTF-8.
pub(super) fn line_of(error: &FromUtf8Error) -> usize {
    let valid = error.as_bytes().iter().take(error.utf8_error().valid_up_to());
    1 + valid.filter(|byte| **byte == b'\n').count()
}
