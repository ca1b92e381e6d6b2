//! Edits of configurations that belong to other programs: one entry is inserted or removed, and every other byte stays.
//!
//! An edit is computed as one replaced region of the text, never by printing the file anew. The result is read again: only
//! the entry may differ, or the edit is refused.

#[cfg(test)]
pub(super) mod tests;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{json, json_edit, lines, toml, yaml};

/// The format of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigFormat {
    /// JSON; comments and trailing commas are accepted and kept.
    Json,
    /// TOML.
    Toml,
    /// YAML in block style.
    Yaml,
}

/// Where an entry is: below these keys, under this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryPath<'p> {
    /// The keys that lead to the table with the entries.
    pub keys: &'p [&'p str],
    /// The name of the entry.
    pub name: &'p str,
}

/// A replaced region of a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigChange {
    /// Where it begins, in bytes.
    pub at: usize,
    /// The text before the change.
    pub old: String,
    /// The text after it.
    pub new: String,
    /// How many tables around the entry are new.
    pub tables: usize,
}

impl ConfigChange {
    /// A change of no text, inside this many tables that are new.
    pub fn nothing(tables: usize) -> Self {
        Self { at: 0, old: String::new(), new: String::new(), tables }
    }

    /// The text with this change.
    pub fn apply(&self, text: &str) -> Option<String> {
        replaced(text, self.at, &self.old, &self.new)
    }

    /// The text without this change, if the new text is still where it was, or in exactly one place.
    pub fn undo(&self, text: &str) -> Option<String> {
        replaced(text, self.at, &self.new, &self.old).or_else(|| {
            let mut places = text.match_indices(&*self.new);
            let (at, _) = places.next().filter(|_| !self.new.is_empty())?;
            if places.next().is_some() { None } else { replaced(text, at, &self.new, &self.old) }
        })
    }
}

fn replaced(text: &str, at: usize, old: &str, new: &str) -> Option<String> {
    let (before, rest) = text.split_at_checked(at)?;
    Some([before, new, rest.strip_prefix(old)?].concat())
}

/// Why a configuration cannot be edited.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigEditError {
    /// The text is not valid in its format.
    #[error("line {line}: {reason}")]
    Invalid {
        /// The line, starting at one.
        line: usize,
        /// Why.
        reason: String,
    },
    /// A key that should have a table has something else.
    #[error("line {line}: {key} {}", if *.twice { "appears twice" } else { "is not a table of servers" })]
    Shape {
        /// The line, starting at one.
        line: usize,
        /// The key.
        key: String,
        /// Whether the key appears twice.
        twice: bool,
    },
    /// The text is valid, but written in a way that cannot be edited safely.
    #[error("line {line}: {what}")]
    Style {
        /// The line, starting at one.
        line: usize,
        /// What is written so.
        what: String,
    },
}

impl ConfigEditError {
    pub(super) fn invalid(text: &str, at: usize, reason: impl Into<String>) -> Self {
        Self::Invalid { line: lines::number(text, at), reason: reason.into() }
    }

    pub(super) fn style(text: &str, at: usize, what: impl Into<String>) -> Self {
        Self::Style { line: lines::number(text, at), what: what.into() }
    }
}

impl ConfigFormat {
    /// The value of the entry, if there is one.
    pub fn entry(self, text: &str, path: EntryPath<'_>) -> Result<Option<Value>, ConfigEditError> {
        self.check_shape(text, path)?;
        Ok(entry_of(&self.value(text)?, path).cloned())
    }

    /// The change that inserts an entry, or replaces the one of that name.
    pub fn insert(
        self,
        text: &str,
        path: EntryPath<'_>,
        entry: &Value,
    ) -> Result<ConfigChange, ConfigEditError> {
        self.check_shape(text, path)?;
        let change = match self {
            Self::Json => json_edit::insert(text, path, entry),
            Self::Toml => toml::insert(text, path, entry),
            Self::Yaml => yaml::insert(text, path, entry),
        }?;
        self.verified(text, change, path, Some(entry))
    }

    /// The change that removes an entry; `None` if there is none. `tables` is how many tables around it are removed too,
    /// once they are empty.
    pub fn remove(
        self,
        text: &str,
        path: EntryPath<'_>,
        tables: usize,
    ) -> Result<Option<ConfigChange>, ConfigEditError> {
        if self.entry(text, path)?.is_none() {
            return Ok(None);
        }
        // A table that has other members stays.
        let value = self.value(text)?;
        let emptied = |levels: &usize| {
            let kept = path.keys.len().saturating_sub(*levels);
            path.keys.iter().enumerate().skip(kept).all(|(at, _)| {
                let table = at_keys(&value, path.keys.get(..=at).unwrap_or_default());
                table.and_then(Value::as_object).is_some_and(|table| table.len() == 1)
            })
        };
        let removal = |tables: usize| match self {
            Self::Json => json_edit::remove(text, path, tables),
            Self::Toml => toml::remove(text, path),
            Self::Yaml => yaml::remove(text, path, tables),
        };
        // Nor does a table go that has a comment beside the entry.
        let signs = |change: ConfigChange| {
            let [old, new] = [&change.old, &change.new].map(|text| text.matches(['/', '#']).count());
            old.saturating_sub(new)
        };
        let without = removal(0).map(signs);
        let is_bare = |levels: &usize| *levels == 0 || removal(*levels).map(signs) == without;
        let most = (0..=tables.min(path.keys.len())).rev();
        let tables = most.filter(emptied).find(is_bare).unwrap_or(0);
        let change = removal(tables)?;
        // A table of TOML ends with its last table, unless it has a header of its own.
        let tables = if self == Self::Toml { path.keys.len() } else { tables };
        self.verified(text, ConfigChange { tables, ..change }, path, None).map(Some)
    }

    /// The text without a change that inserted an entry, if only the entry differs after that: what was added to the
    /// text since may belong to the entry by its place.
    pub fn undone(self, text: &str, change: &ConfigChange, path: EntryPath<'_>) -> Option<String> {
        let undone = change.undo(text)?;
        let (mut now, mut then) = (self.value(text).ok()?, self.value(&undone).ok()?);
        if entry_of(&then, path).is_some() {
            return None;
        }
        cut(&mut now, path, change.tables);
        cut(&mut then, path, change.tables);
        is_same(&now, &then).then_some(undone)
    }

    /// Whether a text has nothing in it, not even a comment: it is blank, or an empty table.
    pub fn is_blank(self, text: &str) -> bool {
        let bare: String = text.split_whitespace().collect();
        bare.is_empty() || self == Self::Json && bare == "{}"
    }

    /// The whole text as a value. Nothing at all is `null`.
    pub(crate) fn value(self, text: &str) -> Result<Value, ConfigEditError> {
        match self {
            Self::Json => json::read(text).map(|root| root.map_or(Value::Null, |root| root.to_value(text))),
            Self::Toml => toml::value(text),
            Self::Yaml => yaml::value(text),
        }
    }

    fn check_shape(self, text: &str, path: EntryPath<'_>) -> Result<(), ConfigEditError> {
        if self == Self::Json {
            return json_edit::check_shape(text, path);
        }
        let value = self.value(text)?;
        for depth in 0..=path.keys.len() {
            let keys = path.keys.get(..depth).unwrap_or_default();
            let found = at_keys(&value, keys);
            if found.is_some_and(|found| !found.is_object() && !found.is_null()) {
                let key = if keys.is_empty() { "the top of the file".to_owned() } else { keys.join(".") };
                let line = keys.last().map_or(1, |last| lines::of_key(text, last));
                return Err(ConfigEditError::Shape { line, key, twice: false });
            }
        }
        Ok(())
    }

    /// The change, if only the entry differs after it.
    fn verified(
        self,
        text: &str,
        change: ConfigChange,
        path: EntryPath<'_>,
        entry: Option<&Value>,
    ) -> Result<ConfigChange, ConfigEditError> {
        let refused = || {
            let key = path.keys.first().filter(|key| text.contains(**key));
            let line = key.map_or_else(|| lines::number(text, change.at), |key| lines::of_key(text, key));
            let what = "the entry cannot be changed without changing more".to_owned();
            ConfigEditError::Style { line, what }
        };
        let after = change.apply(text).ok_or_else(refused)?;
        let (before, mut after) = (self.value(text)?, self.value(&after).map_err(|_| refused())?);
        if entry_of(&after, path) != entry {
            return Err(refused());
        }
        // Both without the entry, and without tables that are there only for it.
        let (mut bare, tables) = (before.clone(), change.tables);
        cut(&mut bare, path, tables);
        cut(&mut after, path, tables);
        if is_same(&bare, &after) { Ok(change) } else { Err(refused()) }
    }
}

/// Whether two texts say the same. A text that says nothing is an empty table.
fn is_same(one: &Value, other: &Value) -> bool {
    let is_empty = |value: &Value| value.is_null() || value.as_object().is_some_and(Map::is_empty);
    one == other || (is_empty(one) && is_empty(other))
}

/// Removes the entry, and as many of the tables around it as are empty, up to this number.
pub(crate) fn cut(value: &mut Value, path: EntryPath<'_>, tables: usize) {
    // In YAML, a table without entries is nothing.
    for depth in 0..path.keys.len() {
        let Some((key, above)) = path.keys.get(..=depth).and_then(<[_]>::split_last) else { return };
        let nothing = at_keys_mut(value, above).and_then(|table| table.get_mut(*key));
        if let Some(nothing) = nothing.filter(|value| value.is_null()) {
            *nothing = Value::Object(Map::new());
        }
    }
    if let Some(table) = at_keys_mut(value, path.keys) {
        table.shift_remove(path.name);
    }
    for depth in (0..path.keys.len()).rev().take(tables) {
        let Some((key, above)) = path.keys.get(..=depth).and_then(<[_]>::split_last) else { return };
        let Some(table) = at_keys_mut(value, above) else { continue };
        let is_empty = |value: &Value| value.as_object().is_some_and(Map::is_empty);
        if table.get(*key).is_some_and(is_empty) {
            table.shift_remove(*key);
        }
    }
}

pub(super) fn entry_of<'v>(value: &'v Value, path: EntryPath<'_>) -> Option<&'v Value> {
    at_keys(value, path.keys)?.get(path.name)
}

pub(super) fn at_keys<'v>(value: &'v Value, keys: &[&str]) -> Option<&'v Value> {
    keys.iter().try_fold(value, |value, key| value.get(key))
}

fn at_keys_mut<'v>(value: &'v mut Value, keys: &[&str]) -> Option<&'v mut Map<String, Value>> {
    keys.iter().try_fold(value, |value, key| value.get_mut(key))?.as_object_mut()
}

/// An entry inside tables with these keys.
pub(super) fn nested(keys: &[&str], name: &str, entry: &Value) -> Value {
    let inner = Value::Object(Map::from_iter([(name.to_owned(), entry.clone())]));
    keys.iter().rev().fold(inner, |inner, key| Value::Object(Map::from_iter([((*key).to_owned(), inner)])))
}
