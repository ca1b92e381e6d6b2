//! The input of [`Skills::open`](crate::Skills::open): where skills come from, and the usual settings of chats.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess::catalog::KeyFrom;
use prowess::env::Environment;
use prowess::fs::walk::OnError;
use prowess::library::{LibraryOptions, clients, terms_file};
use prowess::search::LazyIndex;
use prowess::source::Mount;
use prowess::source::open::Opening as PlacesOpening;
use prowess::source::spec::SpecError;
use prowess::{Duplicates, Layer, Preset, Scope, Skill, SourceSpec};
use prowess_engine::input::{GivenOptions, Judge};
use prowess_engine::policy::GivenPolicy;
use prowess_engine::{Failure, GivenSkill, Usual, read};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::asked::Rules;
use crate::errors::{of_skills, of_source};
use crate::foreign::Foreign;
use crate::selector;
use crate::skills::Parts;
use crate::source::HostSource;

/// The hint when no place is named, or none that is supported.
const PLACES: &str =
    "name one place: a folder, a .skill, .zip or .tar.gz file, a .jsonl file or an https:// address";

/// Where skills come from, what is offered, and how chats behave.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct Opening {
    /// A text as after `--in`, a table with its keys, `{source, …}` for either with options, `{host, …}` for a source of
    /// the host, or `{skill}` for one skill, by its fields or by its path.
    sources: Vec<Value>,
    /// Adds the skills of the user, after the sources.
    user: Option<OfUser>,
    judge: Option<Judge>,
    duplicates: Option<Duplicates>,
    source_errors: SourceErrors,
    policy: Option<GivenPolicy>,
    options: Option<GivenOptions>,
    /// The usual settings of prompts: `{style, budget, narrowing}`.
    prompt: Map<String, Value>,
    /// The name of a selector; `host` for the one of the host.
    selector: Option<String>,
}

/// What happens when a source cannot be listed. If none can be, opening and refreshing fail in any case.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum SourceErrors {
    /// The others are offered, and the error is a problem.
    #[default]
    Report,
    /// Opening and refreshing fail.
    Fail,
}

impl From<SourceErrors> for OnError {
    fn from(given: SourceErrors) -> Self {
        match given {
            SourceErrors::Report => Self::Report,
            SourceErrors::Fail => Self::Fail,
        }
    }
}

/// The skills of the user.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
struct OfUser {
    /// The folder from which projects are looked for; the current one by default.
    from: Option<PathBuf>,
    /// The client whose folders are used; all by default.
    client: Option<String>,
    /// Whether the built-in skills are included.
    builtins: bool,
    /// Whether to cache what was read; it is by default.
    cache: Option<bool>,
}

/// A source of the host, and how its skills appear.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OfHost {
    /// Its index in [`Foreign::sources`].
    host: usize,
    label: Option<String>,
    prefix: Option<String>,
    mount: Option<String>,
    key_from: Option<String>,
    #[serde(default)]
    scope: Scope,
    #[serde(default)]
    preload: bool,
    trusted: Option<bool>,
}

impl OfHost {
    fn layer(self, foreign: &Foreign, rules: &Rules) -> Result<Layer, Failure> {
        let source = foreign.sources.get(self.host).map(Arc::clone);
        let source = source.ok_or_else(|| Failure::argument(format!("there is no source {}", self.host)))?;
        let label = self.label.filter(|label| !label.is_empty());
        let label = label.unwrap_or_else(|| format!("source-{}", self.host + 1));
        let mut layer = Layer::from(HostSource {
            source,
            label: label.into(),
            scope: self.scope,
            untrusted: self.trusted == Some(false),
            rules: rules.clone(),
            listed: std::sync::RwLock::default(),
        });
        if let Some(prefix) = self.prefix {
            layer = layer.with_prefix(prefix);
        }
        if let Some(mount) = self.mount {
            layer = layer.with_mount(self::mount(&mount)?);
        }
        if let Some(word) = self.key_from {
            layer = layer.with_key_from(key_from(&word)?);
        }
        Ok(layer.with_preload(self.preload))
    }
}

fn mount(text: &str) -> Result<Mount, Failure> {
    Mount::parse(text).map_err(|error| Failure::argument(error.to_string()))
}

fn key_from(word: &str) -> Result<KeyFrom, Failure> {
    let wrong = || Failure::argument(format!("keys are not made of {word}; use name, folder or id"));
    KeyFrom::parse(word).ok_or_else(wrong)
}

/// A place that is not of the host, and how its skills appear.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Placed {
    source: Value,
    prefix: Option<String>,
    mount: Option<String>,
    key_from: Option<String>,
    scope: Option<Scope>,
    preload: Option<bool>,
}

impl Placed {
    fn layer(self) -> Result<Layer, Failure> {
        let mut spec = match self.source {
            Value::String(text) => spec(&text)?,
            table => value(table)?,
        };
        spec.prefix = self.prefix.or(spec.prefix);
        spec.preload = self.preload.unwrap_or(spec.preload);
        if let Some(text) = self.mount {
            spec.mount = Some(mount(&text)?);
        }
        if let Some(word) = self.key_from {
            spec.key_from = Some(key_from(&word)?);
        }
        let places = PlacesOpening::named(Path::new("."), None);
        let places = places.with_scope(self.scope.unwrap_or(Scope::Explicit));
        places.open(&spec, &Environment::current()).map_err(|error| of_source(&error))
    }
}

/// Opens skills.
pub(crate) fn open(input: &str, foreign: Foreign, rules: Rules) -> Result<Parts, Failure> {
    let asked: Opening = read(input)?;
    let mut builder = prowess::Skills::builder();
    for source in asked.sources {
        check_nul(&source)?;
        builder = match source {
            Value::String(text) => builder.with_source(spec(&text)?),
            Value::Object(members) if members.contains_key("host") => {
                let given: OfHost = value(Value::Object(members))?;
                builder.with_layer(given.layer(&foreign, &rules)?)
            }
            Value::Object(members) if members.contains_key("source") => {
                let given: Placed = value(Value::Object(members))?;
                builder.with_layer(given.layer()?)
            }
            Value::Object(mut members) if members.contains_key("skill") => {
                builder.with_skill(match members.remove("skill") {
                    Some(Value::String(path)) => Skill::load(path).map_err(of_skills)?,
                    fields => Skill::from(value::<GivenSkill>(fields.unwrap_or_default())?.skill()?),
                })
            }
            Value::Object(members) => builder.with_source(value(Value::Object(members))?),
            _ => return Err(Failure::argument("a source must be a text or an object")),
        };
    }
    let mut cached = None;
    if let Some(user) = asked.user {
        let environment = Environment::current();
        let from = user.from.unwrap_or_else(|| ".".into());
        check_nul(&from.to_string_lossy().into())?;
        let client = match user.client.as_deref() {
            Some(name) => {
                let unknown = || Failure::argument(format!("there is no such client: {name}"));
                Some(clients::client(name).ok_or_else(unknown)?)
            }
            None => None,
        };
        let options = LibraryOptions::default()
            .with_cache(user.cache.unwrap_or(true))
            .with_builtins(user.builtins)
            .with_client(client);
        cached = options.cache.then(|| environment.clone());
        builder = builder.with_library(from, environment, options);
    }
    if let Some(judge) = asked.judge {
        builder = builder.with_profile(judge.profile(Preset::Lenient)?);
    }
    if let Some(duplicates) = asked.duplicates {
        builder = builder.with_duplicates(duplicates);
    }
    let front = builder.with_source_errors(asked.source_errors.into()).build().map_err(of_skills)?;
    let mut usual = Usual { policy: front.policy().clone(), options: front.options().clone() };
    if let Some(policy) = asked.policy {
        usual.policy = policy.over(&usual.policy);
    }
    if let Some(options) = asked.options {
        usual.options = options.over(&usual.options)?;
    }
    let mut prompt = asked.prompt;
    if front.style().location {
        let style = prompt.entry("style").or_insert_with(|| Map::new().into());
        if let Some(style) = style.as_object_mut() {
            style.entry("location").or_insert(true.into());
        }
    }
    let registry = Arc::clone(front.registry());
    let terms = cached.and_then(|environment| terms_file(&environment, &registry));
    let index = LazyIndex::new(Arc::clone(&registry)).with_cache(terms);
    let selector = selector::named(asked.selector.as_deref(), &registry, index, &foreign, &rules)?;
    Ok(Parts { front, registry, selector, usual, prompt, host: foreign.host, rules })
}

/// Reads a source as after `--in`.
pub(crate) fn spec(text: &str) -> Result<SourceSpec, Failure> {
    SourceSpec::parse(text).map_err(|error| {
        let hint = if error.hint == SpecError::HINT { PLACES } else { error.hint };
        Failure { hint: Some(hint.to_owned()), ..Failure::argument(error.to_string()) }
    })
}

/// A failure if the path or the address of a source has a NUL character. Texts of skills may have one.
fn check_nul(source: &Value) -> Result<(), Failure> {
    let is_text = |name: &str, value: &Value| match name {
        "name" | "description" | "instructions" => true,
        "skill" => value.is_object(),
        _ => false,
    };
    match source {
        Value::String(text) if text.contains('\0') => {
            Err(Failure::argument("a source has a NUL character, which no path has"))
        }
        Value::Object(members) => members
            .iter()
            .filter(|(name, value)| !is_text(name, value))
            .try_for_each(|(_, one)| check_nul(one)),
        _ => Ok(()),
    }
}

/// Reads a value of the input.
pub(crate) fn value<T: for<'de> Deserialize<'de>>(value: Value) -> Result<T, Failure> {
    read(&value.to_string())
}
