//! The operations that write the text of a model: catalogs, activations, dictionaries, and what they cost.

use std::collections::BTreeMap;

use prowess_core::render::{Activation, Inlined, Shape, compose, describe, estimate_tokens, render_within};
use prowess_core::{Entry, Location, Origin, Profile, Scope, SkillData, parse};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::failure::Failure;
use crate::input::{ActivationLook, GivenFile, Limit, Place, Style, Units, budget, manifest, rel_path};
use crate::operations::{document_json, load_failure};

/// A skill that a program gives: one that Prowess returned, or its fields in the specification's form.
#[derive(Deserialize)]
#[serde(transparent)]
pub struct GivenSkill(Map<String, Value>);

impl GivenSkill {
    /// The skill.
    pub fn skill(self) -> Result<SkillData, Failure> {
        let Self(mut given) = self;
        let mut take = |name: &str| given.shift_remove(name).filter(|value| !value.is_null());
        let (key, scope, location) = (take("key"), take("scope"), take("location"));
        let (fields, body) = (take("fields"), take("body"));
        // What Prowess returned has its fields in one place; everything else in it is derived from them.
        let mut dict = match fields {
            Some(Value::Object(fields)) => fields,
            _ => given,
        };
        if let Some(body) = body {
            dict.insert("instructions".to_owned(), body);
        }
        let mut skill = SkillData::from_dict(&dict).map_err(|error| Failure::argument(error.to_string()))?;
        if let Some(key) = key.as_ref().and_then(Value::as_str) {
            key.clone_into(&mut skill.entry.key);
        }
        if let Some(location) = location.as_ref().and_then(Value::as_str) {
            let scope = skill.entry.origin.scope;
            skill.entry.origin = Origin::at(Location::parse(location)).with_scope(scope);
        }
        if let Some(scope) = scope {
            skill.entry.origin.scope = serde_json::from_value::<Scope>(scope).map_err(|_| {
                Failure::argument("the scope is one of explicit, project, user, builtin, remote")
            })?;
        }
        Ok(skill)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CatalogOf {
    skills: Vec<GivenSkill>,
    #[serde(default)]
    style: Style,
    budget: Option<Limit>,
}

pub(crate) fn catalog(asked: CatalogOf) -> Result<Value, Failure> {
    let skills: Vec<Entry> = asked
        .skills
        .into_iter()
        .map(|skill| skill.skill().map(|skill| skill.entry))
        .collect::<Result<_, _>>()?;
    let entries: Vec<&Entry> = skills.iter().collect();
    let made =
        render_within(&entries, &asked.style.style(Shape::Xml), budget(asked.budget), &estimate_tokens);
    Ok(json!({
        "text": made.text,
        "tokens": estimate_tokens(&made.text),
        "included": made.report.included,
        "omitted": made.report.omitted,
        "shortened": made.report.shortened,
        "within": made.report.within,
    }))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ActivationOf {
    skill: GivenSkill,
    folder: Option<String>,
    #[serde(default)]
    files: Vec<GivenFile>,
    /// The texts of files that are shown.
    #[serde(default)]
    inlined: BTreeMap<String, String>,
    #[serde(default)]
    style: ActivationLook,
}

pub(crate) fn activation(asked: ActivationOf) -> Result<Value, Failure> {
    let skill = asked.skill.skill()?;
    let files = manifest(asked.files)?;
    let inlined = asked
        .inlined
        .iter()
        .map(|(path, text)| Ok(Inlined { path: rel_path(path)?, bytes: text.as_bytes() }))
        .collect::<Result<Vec<_>, Failure>>()?;
    let style = asked.style.style();
    let folder = asked.folder.as_deref();
    let text = Activation::new(&skill.entry, &skill.instructions, folder, &files, &inlined, &style).text();
    Ok(text.into())
}

pub(crate) fn composed(texts: Vec<String>) -> Value {
    compose(&texts).into()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Described {
    skill: GivenSkill,
    #[serde(default)]
    files: Vec<GivenFile>,
}

pub(crate) fn described(asked: Described) -> Result<Value, Failure> {
    Ok(describe(&asked.skill.skill()?.entry, &manifest(asked.files)?).into())
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct DictOf {
    place: Place,
    /// Whether the instructions and the path belong to it.
    whole: bool,
    units: Units,
}

pub(crate) fn to_dict(asked: DictOf, bytes: &[u8]) -> Result<Value, Failure> {
    let (document, at) = (parse(bytes), asked.place.origin());
    let Some(skill) = SkillData::from_document(&document, &at) else {
        let loaded = document.load(&at, None, &Profile::lenient());
        let unknown = || Failure::new("load", "this text is no skill that can be loaded; check it");
        return Err(loaded.err().map_or_else(unknown, |error| load_failure(&document, &error, asked.units)));
    };
    Ok(Value::Object(if asked.whole { skill.to_dict() } else { skill.entry.to_dict() }))
}

pub(crate) fn from_dict(dict: Map<String, Value>) -> Result<Value, Failure> {
    let (skill, document) =
        SkillData::read_dict(&dict).map_err(|error| Failure::argument(error.to_string()))?;
    let mut value = document_json(&document, &skill.entry.origin);
    if let Some(members) = value.as_object_mut() {
        members.insert("markdown".to_owned(), skill.to_markdown().into());
        members.insert("fields".to_owned(), skill.entry.to_dict().into());
    }
    Ok(value)
}

pub(crate) fn tokens(text: String) -> Value {
    estimate_tokens(&text).into()
}
