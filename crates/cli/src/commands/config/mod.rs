//! `prowess config`: the settings that are in force, where they come from, and how they are changed.

mod change;
mod page;

use std::fmt::Write as _;
use std::path::Path;

use prowess::HostTools;
use prowess::env::Environment;
use prowess::internal::{
    ConfigFile, ConfigOrigin, ConfigSetting, EffectiveSettings, KeyPath, OptionValue, WhyUnused, toml_value,
};
use serde_json::{Value, json};

use super::{no_library, scanning};
use crate::Outcome;
use crate::args::{Config, ConfigAction, ConfigGet, ConfigOptions};
use crate::error::{CommandError, Failure};
use crate::report::json::VERSION;
use crate::ui::{Ui, clean};

/// Runs the command.
pub(crate) fn run(args: &Config, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    match &args.action {
        None => show(&args.with, json, ui),
        Some(ConfigAction::Get(get)) => self::get(get, json, ui),
        Some(ConfigAction::Set(set)) => change::run(&set.key, Some(&set.value), set.whose, json, ui),
        Some(ConfigAction::Unset(unset)) => change::run(&unset.key, None, unset.whose, json, ui),
        Some(ConfigAction::Path(path)) => change::path(path, json, ui),
    }
}

/// The settings as seen from the current folder.
fn effective_settings(options: &[OptionValue]) -> Result<EffectiveSettings, CommandError> {
    EffectiveSettings::of(Path::new("."), &Environment::current(), options)
        .map_err(|error| no_library(&error))
}

fn show(with: &ConfigOptions, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    let effective = effective_settings(&options(with))?;
    if json {
        ui.json(&whole(&effective))?;
    } else {
        ui.print(&page::page(&effective, ui.columns()))?;
    }
    for file in &effective.ignored {
        ui.note(&format!("ignored, because it belongs to another user: {}", file.display()));
    }
    Ok(outcome(&effective, ui))
}

/// How the command ends: a file that is not used is an error beside what is in force without it.
fn outcome(effective: &EffectiveSettings, ui: &mut Ui) -> Outcome {
    let mut outcome = Outcome::Fine;
    for error in effective.files().filter_map(|file| file.error.as_ref()) {
        ui.failure(&Failure::from(error));
        outcome = Outcome::Incomplete;
    }
    outcome
}

/// The options as values of the keys with the same meaning.
fn options(with: &ConfigOptions) -> Vec<OptionValue> {
    let tools = with.tools.as_deref().map(|tools| match HostTools::parse(tools) {
        HostTools::Only(tools) => Value::from(tools),
        HostTools::Unlimited => Value::from(Vec::<String>::new()),
    });
    let mut all = scanning(&with.scan).with_sources(with.sources.clone()).settings();
    all.extend(with.profile.map(|preset| ("check.profile", Value::from(preset.name()))));
    all.extend(with.filter.as_ref().map(|filter| ("session.filter", Value::from(filter.as_str()))));
    all.extend(tools.map(|tools| ("session.tools", tools)));
    all
}

fn get(args: &ConfigGet, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    let key = KeyPath::parse(&args.key)?;
    let effective = effective_settings(&[])?;
    let whole = KeyPath { entry: None, ..key.clone() }.to_string();
    let mut settings: Vec<ConfigSetting> =
        effective.values.iter().filter(|setting| setting.key.to_string() == whole).cloned().collect();
    if let Some(entry) = &key.entry {
        for setting in &mut settings {
            setting.value = setting.value.as_ref().and_then(|value| value.get(entry)).cloned();
        }
        settings.retain(|setting| setting.value.is_some());
    }
    if json {
        let settings: Vec<Value> = settings.iter().map(|setting| self::json(setting, &effective)).collect();
        ui.json(&json!({"version": VERSION, "key": key.to_string(), "settings": settings}))?;
        return Ok(outcome(&effective, ui));
    }
    let mut text = String::new();
    for value in settings.iter().filter_map(|setting| setting.value.as_ref()) {
        match value {
            Value::String(plain) => drop(writeln!(text, "{}", clean(plain))),
            other => drop(writeln!(text, "{}", clean(&toml_value(other)))),
        }
    }
    if text.is_empty() {
        ui.note(&format!("not set: {key}; the default is: {}", key.key.default.words("")));
    }
    ui.print(&text)?;
    Ok(outcome(&effective, ui))
}

/// The word of an origin in JSON.
fn origin(origin: ConfigOrigin) -> &'static str {
    match origin {
        ConfigOrigin::Default => "default",
        ConfigOrigin::Project => "project",
        ConfigOrigin::User => "user",
        ConfigOrigin::Option => "option",
    }
}

fn json(setting: &ConfigSetting, effective: &EffectiveSettings) -> Value {
    let key = setting.key.key;
    let is_option = setting.origin == ConfigOrigin::Option;
    json!({
        "key": setting.key.to_string(),
        "value": setting.value,
        "origin": origin(setting.origin),
        "file": effective.file_of(setting).map(|file| file.path.to_string_lossy()),
        "line": setting.line,
        "option": is_option.then_some(key.option),
        "own_skills": setting.own_skills,
        "default": key.default.words(""),
        "expects": key.value.replace('`', ""),
    })
}

fn whole(effective: &EffectiveSettings) -> Value {
    let file = |file: &ConfigFile| {
        let error = file.error.as_ref().map(ToString::to_string);
        json!({
            "path": file.path.to_string_lossy(),
            "exists": file.exists,
            "trusted": file.trusted,
            "error": error,
        })
    };
    let settings: Vec<Value> = effective.values.iter().map(|setting| json(setting, effective)).collect();
    let unused = |(setting, why): &(ConfigSetting, WhyUnused)| {
        let mut value = json(setting, effective);
        if let Some(members) = value.as_object_mut() {
            members.insert("reason".to_owned(), Value::from(why.code()));
            members.insert("why".to_owned(), Value::from(why.words()));
        }
        value
    };
    json!({
        "version": VERSION,
        "user": effective.user.as_ref().map(file),
        "project": effective.project.as_ref().map(file),
        "settings": settings,
        "unused": effective.unused.iter().map(unused).collect::<Vec<_>>(),
    })
}
