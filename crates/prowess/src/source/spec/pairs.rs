//! The one table of the keys of a source, and how they are combined into a spec.

use std::path::PathBuf;

use prowess_core::RelPath;
use prowess_core::catalog::KeyFrom;
use serde::{Deserialize, Serialize};

use super::{Place, Server, SourceSpec, SpecError, is_address};
use crate::error::escape_control;
use crate::settings::keys::{ConfigDefault, ConfigKey, key};
use crate::source::Mount;

/// Makes [`Pairs`] and the lists of keys from one table, in the order in which they are written.
macro_rules! source_keys {
    (texts { $($text:ident $value:literal $meaning:literal;)* } flags { $($flag:ident $flag_meaning:literal;)* }) => {
        /// The keys and values, before they are combined.
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub(crate) struct Pairs {
            $(#[serde(skip_serializing_if = "Option::is_none")] $text: Option<String>,)*
            $(#[serde(skip_serializing_if = "std::ops::Not::not")] $flag: bool,)*
        }

        /// The keys with a text as value.
        pub(crate) const TEXT_KEYS: &[&str] = &[$(stringify!($text)),*];

        /// The keys with `true` or `false` as value.
        pub(crate) const FLAG_KEYS: &[&str] = &[$(stringify!($flag)),*];

        /// All keys as keys of a configuration.
        pub(crate) const SOURCE_KEYS: &[ConfigKey] = &[
            $(key(stringify!($text), $value, ConfigDefault::Words("–"), $meaning),)*
            $(key(stringify!($flag), "true or false", ConfigDefault::Flag(false), $flag_meaning),)*
        ];

        impl Pairs {
            /// Sets a key with a text as value; false when there is no such key, or it was set before.
            pub(crate) fn set(&mut self, key: &str, value: &str) -> bool {
                let slot = match key {
                    $(stringify!($text) => &mut self.$text,)*
                    _ => return false,
                };
                slot.replace(value.to_owned()).is_none()
            }

            /// Sets a key with `true` or `false` as value.
            pub(crate) fn set_flag(&mut self, key: &str, flag: bool) {
                match key {
                    $(stringify!($flag) => self.$flag = flag,)*
                    _ => {}
                }
            }
        }
    };
}

source_keys! {
    texts {
        dir "a folder" "a folder with skills in and below it, or `@org/name` for an installed skill";
        path "a folder" "another word for `dir`; `dir` wins if both are given";
        plugin "a folder" "an agent plugin: the skills are directly below its `skills/`";
        archive "a file" "a `.skill`, `.zip`, `.tar.gz` or `.tgz` file with skills in it";
        jsonl "a file" "a file with a skill on each line";
        url "an address" "a site with an index of skills, or the index itself if the address ends in `.json`";
        mcp "an address or a command line" "another MCP server: its `https://` or `http://` address, or the command line that starts it";
        ca_file "a file" "certificates, as PEM, to trust for the `url` or the address of `mcp` instead of the usual ones; `--ca-file` sets it for every `--in`";
        token_file "a file" "the bearer token for the address of `mcp`";
        name "a text" "the name of a skill that is written in the file itself";
        description "a text" "its description";
        instructions "a text" "its instructions";
        mount_as "a path" "the folder of virtual paths in which filters see the skills: no globs, no `..`, and not for a skill that is written in the file itself";
        prefix "a word" "comes before every key, with a colon, so that skills with the same name can coexist; for `mcp` it is the label of the server, which always exists";
        key_from "`\"name\"`, `\"folder\"` or `\"id\"`" "what each key is made of: the name, the name of the folder, or the identifier in the source itself (a key in a map, the `id` of a record or of an entry in an index, otherwise the folder). Without it, keys are names, and ids for `jsonl` and `url`";
    }
    flags {
        unlisted "whether the site of a `url` is asked for files that its index does not list";
        preload "whether the skills are active from the start: `prompt` contains their text, sessions begin with them, and `serve` puts them into its instructions";
        optional "whether the file or folder may be missing; without it, a missing one is reported, the other sources are used, and the exit code is 2";
    }
}

/// All keys, for messages.
pub(crate) fn keys() -> String {
    [TEXT_KEYS, FLAG_KEYS].concat().join(", ")
}

/// What is wrong with the keys of a source, and what to do about it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub(crate) reason: String,
    pub(crate) hint: &'static str,
}

impl From<String> for Wrong {
    /// A problem with the place.
    fn from(reason: String) -> Self {
        Self { reason, hint: SpecError::HINT }
    }
}

impl Pairs {
    /// Combines the keys into a spec.
    pub(crate) fn spec(self) -> Result<SourceSpec, Wrong> {
        let mut places = Vec::new();
        if let Some(dir) = self.dir.or(self.path) {
            places.push(("dir", Place::Dir(named("dir", dir)?.into())));
        }
        if let Some(plugin) = self.plugin {
            places.push(("plugin", Place::Plugin(named("plugin", plugin)?.into())));
        }
        if let Some(archive) = self.archive {
            places.push(("archive", Place::Archive(named("archive", archive)?.into())));
        }
        if let Some(jsonl) = self.jsonl {
            places.push(("jsonl", Place::Jsonl(named("jsonl", jsonl)?.into())));
        }
        let file = |name: &Option<String>| name.clone().map(PathBuf::from);
        if self.token_file.is_some() && self.mcp.is_none() {
            return Err(misplaced("token_file belongs to an mcp server"));
        }
        if self.ca_file.is_some() && self.url.is_none() && self.mcp.is_none() {
            return Err(misplaced("ca_file belongs to a url or an mcp server"));
        }
        if self.unlisted && self.url.is_none() {
            return Err(misplaced("unlisted belongs to a url"));
        }
        if let Some(mcp) = &self.mcp {
            let server = Server::parse(mcp, file(&self.ca_file), file(&self.token_file))?;
            places.push(("mcp", Place::Mcp(server)));
        }
        if let Some(url) = self.url {
            if !is_address(&url) {
                return Err("url: an address begins with https:// or http://".to_owned().into());
            }
            let (ca_file, unlisted) = (file(&self.ca_file), self.unlisted);
            places.push(("url", Place::Url { url, ca_file, unlisted }));
        }
        if self.name.is_some() || self.description.is_some() || self.instructions.is_some() {
            let (Some(name), Some(description)) = (self.name, self.description) else {
                let reason = "a skill that is written here has a name and a description".to_owned();
                return Err(Wrong { reason, hint: "give it both" });
            };
            if let Err(error) = RelPath::from_name(&name) {
                return Err(Wrong { reason: format!("name: {error}"), hint: error.hint() });
            }
            let instructions = self.instructions.unwrap_or_default();
            places.push(("name", Place::Inline { name, description, instructions }));
        }
        let names: Vec<&str> = places.iter().map(|(name, _)| *name).collect();
        let place = match places.len() {
            0 => return Err("no place is named".to_owned().into()),
            1 => places.remove(0).1,
            _ => return Err(format!("more than one place is named: {}", names.join(", ")).into()),
        };
        let mount = match &self.mount_as {
            None => None,
            Some(_) if matches!(place, Place::Inline { .. }) => {
                return Err(misplaced("mount_as: a skill that is written here is in no folder to mount"));
            }
            Some(text) => Some(Mount::parse(text).map_err(|error| {
                let hint = "write the folder that filters see its skills in, such as team/billing";
                Wrong { reason: format!("mount_as: {error}"), hint }
            })?),
        };
        let prefix = match self.prefix {
            Some(prefix)
                if prefix.is_empty()
                    || prefix.contains([':', '/', '\\'])
                    || prefix.chars().any(|it| it.is_control() || it.is_whitespace()) =>
            {
                let reason =
                    format!("prefix: a word without spaces, : and / is wanted: {}", escape_control(&prefix));
                return Err(Wrong { reason, hint: "write one word, such as team" });
            }
            prefix => prefix,
        };
        let key_from = match self.key_from.as_deref() {
            None => None,
            Some(word) => Some(KeyFrom::parse(word).ok_or_else(|| {
                format!("key_from: name, folder or id is wanted: {}", escape_control(word))
            })?),
        };
        if self.optional && place.path().is_none() {
            return Err(misplaced("optional: it belongs to a file or folder"));
        }
        Ok(SourceSpec { place, mount, prefix, key_from, preload: self.preload, optional: self.optional })
    }
}

fn misplaced(reason: &str) -> Wrong {
    Wrong { reason: reason.to_owned(), hint: "leave that key out here" }
}

fn named(key: &str, value: String) -> Result<String, String> {
    if value.trim().is_empty() { Err(format!("{key}: it is empty")) } else { Ok(value) }
}

impl TryFrom<Pairs> for SourceSpec {
    type Error = String;

    fn try_from(pairs: Pairs) -> Result<Self, String> {
        pairs.spec().map_err(|wrong| wrong.reason)
    }
}

impl From<SourceSpec> for Pairs {
    fn from(spec: SourceSpec) -> Self {
        let text = |path: PathBuf| Some(path.to_string_lossy().into_owned());
        let mut pairs = Self {
            mount_as: spec.mount.map(|mount| mount.as_str().to_owned()),
            prefix: spec.prefix,
            key_from: spec.key_from.map(|from| from.word().to_owned()),
            preload: spec.preload,
            optional: spec.optional,
            ..Self::default()
        };
        match spec.place {
            Place::Dir(path) => pairs.dir = text(path),
            Place::Plugin(path) => pairs.plugin = text(path),
            Place::Archive(path) => pairs.archive = text(path),
            Place::Jsonl(path) => pairs.jsonl = text(path),
            Place::Url { url, ca_file, unlisted } => {
                (pairs.url, pairs.ca_file) = (Some(url), ca_file.and_then(text));
                pairs.unlisted = unlisted;
            }
            Place::Mcp(server) => {
                pairs.mcp = Some(server.text());
                if let Server::At { ca_file, token_file, .. } = server {
                    (pairs.ca_file, pairs.token_file) = (ca_file.and_then(text), token_file.and_then(text));
                }
            }
            Place::Inline { name, description, instructions } => {
                (pairs.name, pairs.description) = (Some(name), Some(description));
                pairs.instructions = Some(instructions);
            }
        }
        pairs
    }
}
