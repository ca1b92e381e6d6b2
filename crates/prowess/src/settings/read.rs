//! Reads the text of a `prowess.toml` into a [`Config`], with the line of every mistake.

use std::ops::Range;
use std::path::Path;
use std::string::FromUtf8Error;

use prowess_core::finding::Preset;
use prowess_core::internal::did_you_mean;
use prowess_core::path::Glob;
use prowess_core::session::Filter;
use prowess_core::text::similar;
use prowess_core::{Duplicates, HostTools, Level, LineIndex};
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::values::number;
use super::{Config, ConfigError, ConfigLimits, PathConfig, keys, refuse_level};
use crate::advice::Hint;
use crate::env;
use crate::error::{SourceError, SourceErrorKind};
use crate::fs::parsed::ParsedLimits;
use crate::source::spec::{FLAG_KEYS, Pairs, SourceSpec, Wrong};

impl ConfigError {
    /// The error for a file that is not UTF-8.
    pub(super) fn not_text(file: &Path, error: &FromUtf8Error) -> Self {
        Self::Content {
            file: file.to_owned(),
            line: line_of(error),
            message: "this line is not UTF-8".to_owned(),
            hint: "save the file as UTF-8".into(),
        }
    }
}

/// What to do about a file with too much in it.
const NAME_FEWER: &str = "name fewer: a folder covers all skills below it, and a glob all names it matches";

/// A value of a TOML file, with its place.
type Toml<'i> = Spanned<DeValue<'i>>;

/// Reads TOML with spans, so that every error has a line.
pub(super) struct Reader<'a> {
    file: &'a Path,
    lines: LineIndex<'a>,
    limits: ConfigLimits,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str, file: &'a Path, limits: ConfigLimits) -> Self {
        Self { file, lines: LineIndex::new(text), limits }
    }

    /// The line of a place.
    pub(super) fn line(&self, at: usize) -> usize {
        self.lines.position(at).line
    }

    fn fail<T>(&self, at: Range<usize>, message: impl Into<String>, hint: &str) -> Result<T, ConfigError> {
        Err(self.error(at, message, hint.to_owned().into()))
    }

    fn error(&self, at: Range<usize>, message: impl Into<String>, hint: Hint) -> ConfigError {
        let line = self.line(at.start);
        ConfigError::Content { file: self.file.to_owned(), line, message: message.into(), hint }
    }

    /// The text as a table, if it is TOML within the limits.
    pub(super) fn table_of(&self, text: &'a str) -> Result<DeTable<'a>, ConfigError> {
        if let Err(SourceError { kind: SourceErrorKind::Damaged { reason }, .. }) =
            ParsedLimits::PROJECT.check(text.as_bytes(), self.file)
        {
            return self.fail(0..0, reason, NAME_FEWER);
        }
        DeTable::parse(text)
            .map(Spanned::into_inner)
            .or_else(|error| self.fail(error.span().unwrap_or(0..0), error.message(), "correct the TOML"))
    }

    /// Reads a table.
    pub(super) fn read(&self, table: &DeTable<'_>) -> Result<Config, ConfigError> {
        let mut config = Config { file: env::absolute(self.file), ..Config::default() };
        for (name, table) in table {
            let name = self.known("", name)?;
            for (key, value) in self.table(name, table)? {
                let key = format!("{name}.{}", self.known(name, key)?);
                self.set(&mut config, &key, value)?;
            }
        }
        Ok(config)
    }

    /// Sets a key. One that is in the table of keys and not here would have no effect; a test of that table finds it.
    fn set(&self, config: &mut Config, key: &str, value: &Toml<'_>) -> Result<(), ConfigError> {
        let session = &mut config.session;
        match key {
            "check.profile" => config.profile = Some(self.preset(key, value)?),
            "check.levels" => config.levels = self.levels(key, value)?,
            "check.paths" => {
                let paths = self.tables(key, value, self.limits.paths)?.map(|item| self.path(item));
                config.paths = paths.collect::<Result<_, _>>()?;
            }
            "skills.disable" => config.disabled = self.globs(key, value)?,
            "skills.enable" => config.enabled = Some(self.globs(key, value)?),
            "skills.strict" => config.strict = Some(self.preset(key, value)?),
            "skills.duplicates" => config.duplicates = Some(self.duplicates(key, value)?),
            "skills.sources" => {
                let items = self.tables(key, value, self.limits.sources)?.enumerate();
                let sources = items.map(|(number, item)| self.source(&format!("{key}[{number}]"), item));
                config.sources = sources.collect::<Result<_, _>>()?;
            }
            "scan.depth" => {
                let hint = "write it as digits, such as 6";
                config.scan.depth = Some(self.number(key, value, "a number", hint)?);
            }
            "scan.nested" => config.scan.nested = Some(self.flag(key, value)?),
            "scan.skip" => config.scan.skip = self.prefixes(key, value)?,
            "session.filter" => {
                session.filter = Some(self.filter(key, value)?);
                session.filter_file = Some(env::absolute(self.file));
            }
            "session.tools" => session.tools = Some(self.tools(key, value)?),
            "session.plain" => session.plain = Some(self.flag(key, value)?),
            "session.inline" => session.inline = Some(self.flag(key, value)?),
            "session.location" => session.location = Some(self.flag(key, value)?),
            "session.max_activation_bytes" => session.max_activation_bytes = Some(self.bytes(key, value)?),
            "session.max_kept_bytes" => session.max_kept_bytes = Some(self.bytes(key, value)?),
            "install.registries" => {
                for (org, url) in self.table(key, value)? {
                    config.registries.insert(org.get_ref().to_string(), self.text(key, url)?.to_owned());
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The folders whose name begins with one of these are skipped.
    fn prefixes(&self, key: &str, value: &Toml<'_>) -> Result<Vec<String>, ConfigError> {
        let hint = "write skip = [\"_\"]; folders whose name begins so are left out";
        let prefix = |item| match self.text(key, item)? {
            "" => self.fail(item.span(), format!("{key}: it is empty"), hint),
            prefix => Ok(prefix.to_owned()),
        };
        self.list(key, value, hint)?.map(prefix).collect()
    }

    /// Which of two skills with the same key is offered.
    fn duplicates(&self, key: &str, value: &Toml<'_>) -> Result<Duplicates, ConfigError> {
        match self.text(key, value)? {
            "first" => Ok(Duplicates::First),
            "last" => Ok(Duplicates::Last),
            "error" => Ok(Duplicates::Error),
            _ => self.fail(value.span(), format!("{key}: no such word"), "write first, last or error"),
        }
    }

    /// The name of a profile.
    fn preset(&self, key: &str, value: &Toml<'_>) -> Result<Preset, ConfigError> {
        self.text(key, value)?.parse::<Preset>().or_else(|error| {
            let hint = "take one of the profiles that come with Prowess";
            self.fail(value.span(), format!("{key}: {error}"), hint)
        })
    }

    /// A list of names of skills.
    fn globs(&self, key: &str, value: &Toml<'_>) -> Result<Vec<Glob>, ConfigError> {
        let hint = format!("write {} = [\"name\"]; `*` matches any text", last(key));
        let glob = |item| {
            Glob::parse(self.text(key, item)?)
                .or_else(|reason| self.fail(item.span(), format!("{key}: {reason}"), &hint))
        };
        self.list(key, value, &hint)?.map(glob).collect()
    }

    fn filter(&self, key: &str, value: &Toml<'_>) -> Result<Filter, ConfigError> {
        self.text(key, value)?.parse().or_else(|error| {
            let hint = "write a path such as skills/billing/*, or none";
            self.fail(value.span(), format!("{key}: {error}"), hint)
        })
    }

    fn tools(&self, key: &str, value: &Toml<'_>) -> Result<HostTools, ConfigError> {
        let hint = "write tools = [\"Read\", \"Bash\"], or tools = [] for a host without any";
        let items = self.wanted(value.get_ref().as_array(), "a list of names", hint, key, value)?;
        let names: Result<Vec<&str>, ConfigError> = items.iter().map(|item| self.text(key, item)).collect();
        Ok(HostTools::only(names?))
    }

    fn flag(&self, key: &str, value: &Toml<'_>) -> Result<bool, ConfigError> {
        let hint = format!("write {} = true", last(key));
        self.wanted(value.get_ref().as_bool(), "true or false", &hint, key, value)
    }

    fn bytes(&self, key: &str, value: &Toml<'_>) -> Result<usize, ConfigError> {
        self.number(key, value, "a number of bytes", &format!("write {} = 1000000", last(key)))
    }

    fn number(&self, key: &str, value: &Toml<'_>, what: &str, hint: &str) -> Result<usize, ConfigError> {
        let number = value.get_ref().as_integer().and_then(number);
        let number = number.and_then(|number| usize::try_from(number).ok());
        self.wanted(number, what, hint, key, value)
    }

    /// The items of a list of names, up to a limit.
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

    fn at_most(&self, number: usize, most: usize, key: &str, value: &Toml<'_>) -> Result<(), ConfigError> {
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
                "glob" => {
                    let hint = "write a path such as vendor/** or drafts/*";
                    let parsed = Glob::parse(self.text("check.paths.glob", value)?);
                    glob = Some(parsed.or_else(|reason| {
                        self.fail(value.span(), format!("check.paths.glob: {reason}"), hint)
                    })?);
                }
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
                return Err(self.error(at, format!("{key}: {message}"), hint));
            }
            levels.push((name.to_owned(), level));
        }
        Ok(levels)
    }

    /// What a value was read as; none is an error that says what is wanted.
    fn wanted<T>(
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

    fn table<'t, 'i>(&self, key: &str, value: &'t Toml<'i>) -> Result<&'t DeTable<'i>, ConfigError> {
        self.wanted(value.get_ref().as_table(), "a table", "write it as a TOML table", key, value)
    }

    fn text<'t>(&self, key: &str, value: &'t Toml<'_>) -> Result<&'t str, ConfigError> {
        self.wanted(value.get_ref().as_str(), "a text", "put the value in quotes", key, value)
    }

    /// The name of a key, if the table of keys has it.
    fn known<'k>(&self, table: &str, key: &'k Spanned<DeString<'_>>) -> Result<&'k str, ConfigError> {
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

/// The name of a key without its table.
fn last(key: &str) -> &str {
    key.rsplit('.').next().unwrap_or(key)
}

/// The number of the first line that is not UTF-8.
pub(super) fn line_of(error: &FromUtf8Error) -> usize {
    let valid = error.as_bytes().iter().take(error.utf8_error().valid_up_to());
    1 + valid.filter(|byte| **byte == b'\n').count()
}
