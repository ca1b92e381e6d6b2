//! [`Library`]: the skills that sources of the host gave, as a catalog with an index.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use prowess_core::assembly::{Assembly, AssemblyRules};
use prowess_core::catalog::{KeyFrom, LayerId};
use prowess_core::internal::Appearance;
use prowess_core::select::{Bm25, Selector, embedded_text};
use prowess_core::{
    Catalog, Delta, Duplicates, Entry, Found, HostTools, Location, Obstacle, Origin, Preset, Profile, Scope,
    Stamp, parse,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::failure::{Failure, read};
use crate::input::Judge;
use crate::output;
use crate::search::{self, Asked};

/// The options of a library.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct LibraryOptions {
    judge: Judge,
    duplicates: Duplicates,
}

/// A SKILL.md that a source gave.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Given {
    /// The label of the source.
    source: String,
    /// What identifies the skill in its source.
    id: String,
    /// The place of the SKILL.md, when it has one that a reader knows.
    location: Option<String>,
    prefix: Option<String>,
    mount: Option<String>,
    key_from: Option<String>,
    #[serde(default)]
    scope: Scope,
    #[serde(default)]
    preload: bool,
    #[serde(default)]
    untrusted: bool,
}

/// The skills of some sources. Sources add them, and [`Library::seal`] decides which are offered.
#[derive(Debug)]
pub struct Library {
    profile: Profile,
    added: Assembly<()>,
    bodies: BTreeMap<Location, String>,
    catalog: Arc<Catalog>,
    index: OnceLock<Bm25>,
}

impl Library {
    /// An empty library.
    pub fn new(options: &str) -> Result<Self, Failure> {
        let options: LibraryOptions = read(options)?;
        let rules = AssemblyRules::default().with_duplicates(options.duplicates);
        Ok(Self {
            profile: options.judge.profile(Preset::Lenient)?,
            added: Assembly::new(rules, ()),
            bodies: BTreeMap::new(),
            catalog: Arc::default(),
            index: OnceLock::new(),
        })
    }

    /// Adds a SKILL.md. A source that is earlier has precedence.
    pub fn add(&mut self, input: &str, bytes: &[u8]) -> Result<String, Failure> {
        let given: Given = read(input)?;
        let location = match &given.location {
            Some(location) => Location::parse(location),
            None => Location::Memory { source: given.source.as_str().into(), key: given.id.as_str().into() },
        };
        let mut at = Origin::at(location.clone()).with_scope(given.scope);
        at.folder = at.folder.or_else(|| given.id.rsplit('/').next().map(str::to_owned));
        let document = parse(bytes);
        let mut found = Found::judged(&document, &at, &self.profile);
        let unknown = |word: &str| Failure::argument(format!("keys are not made of {word}; use name or id"));
        let key_from = given.key_from.map(|word| KeyFrom::parse(&word).ok_or_else(|| unknown(&word)));
        let key_from = key_from.transpose()?;
        found.stamp = stamp(bytes);
        found.virtual_path = given.id;
        if given.untrusted && found.obstacle.is_none() {
            found.obstacle = Some(Obstacle::Untrusted);
        }
        // The text of a skill that is not trusted must not be found by its words.
        if found.obstacle.is_none() {
            self.bodies.insert(location, document.body().to_owned());
        }
        let mut appearance = Appearance::default();
        appearance.key_from = key_from;
        (appearance.prefix, appearance.mount) = (given.prefix, given.mount);
        appearance.preload = given.preload;
        found.appear_as(&appearance);
        self.added.add(LayerId::default(), &given.source.into(), [Box::new(found)]);
        let added = self.added.candidates().last().map(|skill| output::candidate(skill, None));
        Ok(json!(added).to_string())
    }

    /// Decides which skills are offered.
    pub fn seal(&mut self) -> Result<(), Failure> {
        let catalog = std::mem::take(&mut self.added).catalog();
        self.catalog = Arc::new(catalog.map_err(|error| Failure::new("duplicate", error.to_string()))?);
        self.index = OnceLock::new();
        Ok(())
    }

    /// The skills and what was decided about them.
    pub fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.catalog)
    }

    /// Runs an operation over the skills.
    pub fn run(&self, operation: &str, input: &str) -> Result<String, Failure> {
        if operation == "search" {
            return Ok(self.search(read(input)?)?.to_string());
        }
        over_catalog(&self.catalog, operation, input)
    }

    /// What changed since an earlier library.
    pub fn since(&self, before: &Self) -> String {
        delta_json(&self.catalog.since(&before.catalog)).to_string()
    }

    fn search(&self, input: Among) -> Result<Value, Failure> {
        let words = || -> &dyn Selector {
            self.index.get_or_init(|| {
                search::index(self.catalog.iter().map(|skill| {
                    let body = self.bodies.get(&skill.entry.origin.location);
                    (&skill.entry, body.map(String::as_str))
                }))
            })
        };
        input.hits(&self.catalog, words)
    }
}

/// Runs an operation over the skills of a catalog.
pub fn over_catalog(catalog: &Catalog, operation: &str, input: &str) -> Result<String, Failure> {
    let value: Value = match operation {
        "list" => catalog.iter().map(|skill| output::candidate(skill, None)).collect(),
        "all" => catalog.all().map(|(skill, standing)| output::candidate(skill, Some(standing))).collect(),
        "keys" => catalog.iter().map(|skill| Value::from(skill.entry.key.as_str())).collect(),
        "size" => catalog.len().into(),
        "get" => {
            let key: String = read(input)?;
            json!(catalog.get(&key).map(|skill| output::candidate(skill, None)))
        }
        "equipped" => {
            let Equipped { among, available_tools } = read(input)?;
            let skills = among.iter().filter_map(|key| catalog.get(key));
            let equipped = skills.filter(|skill| available_tools.suffice(skill.entry.allowed_tools.as_ref()));
            equipped.map(|skill| Value::from(skill.entry.key.as_str())).collect()
        }
        "embeddedTexts" => {
            let among: Vec<String> = read(input)?;
            let skills = among.iter().filter_map(|key| catalog.get(key));
            skills.map(|skill| Value::from(embedded_text(&skill.entry))).collect()
        }
        other => return Err(Failure::argument(format!("there is no such operation: {other}"))),
    };
    Ok(value.to_string())
}

/// Searches a catalog with the index of its words: `{among, asked}` in, hits out.
pub fn search_catalog(catalog: &Catalog, words: &dyn Selector, input: &str) -> Result<String, Failure> {
    let among: Among = read(input)?;
    Ok(among.hits(catalog, || words)?.to_string())
}

/// What changed between two catalogs.
pub fn delta_json(delta: &Delta) -> Value {
    json!({
        "added": delta.added,
        "changed": delta.changed,
        "removed": delta.removed,
        "newlyBroken": delta.newly_broken,
    })
}

/// Some of the skills, and the tools that the host has.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Equipped {
    among: Vec<String>,
    #[serde(default)]
    available_tools: HostTools,
}

/// A search among some of the skills.
#[derive(Deserialize)]
struct Among {
    among: Vec<String>,
    asked: Asked,
}

impl Among {
    fn hits<'w>(self, catalog: &Catalog, words: impl Fn() -> &'w dyn Selector) -> Result<Value, Failure> {
        let among: Vec<&Entry> =
            self.among.iter().filter_map(|key| catalog.get(key)).map(|skill| &skill.entry).collect();
        Ok(output::hits(&search::ranked(self.asked, &among, words)?))
    }
}

/// A mark that differs after each change of a text.
fn stamp(bytes: &[u8]) -> Stamp {
    let hash = |seed: u64| {
        bytes.iter().fold(seed, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
    };
    Stamp::new(0, [hash(0xcbf2_9ce4_8422_2325), hash(0x8422_2325_cbf2_9ce4), bytes.len() as u64, 0])
}
