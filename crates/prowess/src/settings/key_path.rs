//! [`KeyPath`]: a key of `prowess.toml` as a user writes it, such as `scan.depth` or `check.levels.name-too-long`.

use std::fmt;

use prowess_core::internal::did_you_mean;
use prowess_core::text::similar;

use super::keys::{CONFIG_TABLES, ConfigKey, ConfigKind, ConfigTable};
use crate::advice::{Hint, HintAction};

/// A key that exists.
#[derive(Clone, Debug)]
pub struct KeyPath {
    /// Its table.
    pub table: &'static ConfigTable,
    /// The key.
    pub key: &'static ConfigKey,
    /// The name in its value, for a key with a table as value.
    pub entry: Option<String>,
}

/// A text that is no key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct UnknownKey {
    message: String,
    hint: Hint,
}

impl UnknownKey {
    /// What to do about it.
    pub fn hint(&self) -> &Hint {
        &self.hint
    }
}

/// Every key with its table, in the order of the documentation, without those inside of lists.
pub fn config_keys() -> impl Iterator<Item = (&'static ConfigTable, &'static ConfigKey)> {
    let tables = CONFIG_TABLES.iter().filter(|table| !table.is_list);
    tables.flat_map(|table| table.keys.iter().map(move |key| (table, key)))
}

impl KeyPath {
    /// The path of a key without an entry.
    pub(super) fn of(table: &'static ConfigTable, key: &'static ConfigKey) -> Self {
        Self { table, key, entry: None }
    }

    /// Reads a text such as `scan.depth`.
    pub fn parse(text: &str) -> Result<Self, UnknownKey> {
        for (table, key) in config_keys() {
            let Some(rest) = text.strip_prefix(table.name).and_then(|rest| rest.strip_prefix('.')) else {
                continue;
            };
            let Some(rest) = rest.strip_prefix(key.name) else { continue };
            match rest.strip_prefix('.') {
                None if rest.is_empty() => return Ok(Self::of(table, key)),
                Some(entry) if key.kind == ConfigKind::Map && !entry.is_empty() => {
                    return Ok(Self { table, key, entry: Some(entry.to_owned()) });
                }
                Some(_) if key.kind == ConfigKind::Tables => {
                    let list = format!("{}.{}", table.name, key.name);
                    return Err(UnknownKey {
                        message: format!("this is inside of a list, which is set as a whole: {text}"),
                        hint: format!("set the list {list}, or edit the file, in which each is a [[{list}]]")
                            .into(),
                    });
                }
                _ => {}
            }
        }
        Err(Self::unknown(text))
    }

    fn unknown(text: &str) -> UnknownKey {
        let all: Vec<String> =
            config_keys().map(|(table, key)| format!("{}.{}", table.name, key.name)).collect();
        let below: Vec<&str> = all.iter().map(String::as_str).filter(|key| is_below(key, text)).collect();
        if !below.is_empty() {
            let message = format!("this is a table, not a key: {text}");
            return UnknownKey { message, hint: format!("its keys are: {}", below.join(", ")).into() };
        }
        // A word without a dot may be a table that is spelt wrongly.
        let tables = CONFIG_TABLES.iter().filter(|table| !table.is_list).map(|table| table.name);
        if let [table] = similar(text, tables).as_slice()
            && !text.contains('.')
        {
            let keys: Vec<&str> = all.iter().map(String::as_str).filter(|key| is_below(key, table)).collect();
            let hint = format!("did you mean the table {table}? its keys are: {}", keys.join(", "));
            return UnknownKey { message: format!("no such key: {text}"), hint: hint.into() };
        }
        // A key without its table is closer than any other spelling.
        let last = text.rsplit('.').next().unwrap_or(text);
        let same: Vec<&str> =
            all.iter().map(String::as_str).filter(|key| key.rsplit('.').next() == Some(last)).collect();
        let near = if same.is_empty() { similar(text, all.iter().map(String::as_str)) } else { same };
        let near = if near.is_empty() {
            let near = config_keys().filter(|(_, key)| similar(last, [key.name].into_iter()).len() == 1);
            near.map(|(table, key)| format!("{}.{}", table.name, key.name)).collect()
        } else {
            near.into_iter().map(str::to_owned).collect::<Vec<String>>()
        };
        let suggestion = did_you_mean(&near).map(|meant| format!("{meant} ")).unwrap_or_default();
        let hint = Hint::from(HintAction::ListKeys).before(suggestion);
        UnknownKey { message: format!("no such key: {text}"), hint }
    }

    /// The names from the top of the file to the value.
    pub(super) fn parts(&self) -> Vec<&str> {
        let names = self.table.name.split('.').chain([self.key.name]);
        names.chain(self.entry.as_deref()).collect()
    }
}

fn is_below(key: &str, table: &str) -> bool {
    key.strip_prefix(table).is_some_and(|rest| rest.starts_with('.'))
}

impl fmt::Display for KeyPath {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.parts().join("."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_found_by_its_name() {
        for (table, key) in config_keys() {
            let text = format!("{}.{}", table.name, key.name);
            assert_eq!(KeyPath::parse(&text).unwrap().to_string(), text);
        }
        let level = KeyPath::parse("check.levels.name-too-long").unwrap();
        assert_eq!(level.parts(), ["check", "levels", "name-too-long"]);
        assert_eq!(KeyPath::parse("install.registries.a.b").unwrap().entry.as_deref(), Some("a.b"));
    }

    #[test]
    fn an_unknown_key_is_an_error_with_the_nearest_one() {
        for (text, message, hint) in [
            ("scan.dept", "no such key: scan.dept", "did you mean scan.depth? "),
            ("disable", "no such key: disable", "did you mean skills.disable? "),
            ("skill.disabel", "no such key: skill.disabel", "did you mean skills.disable? "),
            ("skils", "no such key: skils", "did you mean the table skills? its keys are: "),
            ("disabel", "no such key: disabel", "did you mean skills.disable? "),
            ("scan", "this is a table, not a key: scan", "its keys are: scan.depth, scan.nested, scan.skip"),
            ("skills.sources.dir", "this is inside of a list", "set the list skills.sources"),
            ("scan.depth.x", "no such key: scan.depth.x", ""),
            ("check.levels.", "no such key: check.levels.", ""),
            ("", "no such key: ", "list the keys"),
        ] {
            let error = KeyPath::parse(text).unwrap_err();
            assert!(error.to_string().starts_with(message), "{text}: {error}");
            assert!(error.hint().to_string().starts_with(hint), "{text}: {}", error.hint());
        }
    }
}
