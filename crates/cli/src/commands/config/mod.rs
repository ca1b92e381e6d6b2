//! `prowess config`: the settings that are in force, where they come from, and how they are changed.

mod change;
mod page;

use std::fmt::Write as _;
use std::path::Path;

use clap::ValueEnum as _;
use prowess::HostTools;
use prowess::env::Environment;
use prowess::internal::{
    ConfigFile, ConfigOrigin, ConfigSetting, InForce, KeyPath, OptionValue, WhyUnused, toml_value,
};
use serde_json::{Value, json};

use super::no_library;
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
fn in_force(options: &[OptionValue]) -> Result<InForce, CommandError> {
    InForce::of(Path::new("."), &Environment::current(), options).map_err(|error| no_library(&error))
}

fn show(with: &ConfigOptions, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    let in_force = in_force(&options(with))?;
    if json {
        ui.json(&whole(&in_force))?;
    } else {
        ui.print(&page::page(&in_force, ui.columns()))?;
    }
    for file in &in_force.ignored {
        ui.note(&format!("ignored, because it belongs to another user: {}", file.display()));
    }
    Ok(outcome(&in_force, ui))
}

/// How the command ends: a file that is not used is an error beside what is in force without it.
fn outcome(in_force: &InForce, ui: &mut Ui) -> Outcome {
    let mut outcome = Outcome::Fine;
    let files = [&in_force.user, &in_force.project].into_iter().flatten();
    for error in files.filter_map(|file| file.error.as_ref()) {
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
    let scan = &with.scan;
    let duplicates = scan.duplicates.and_then(|which| which.to_possible_value());
    let all = [
        ("check.profile", with.profile.map(|preset| Value::from(preset.name()))),
        ("skills.enable", texts(&scan.only)),
        ("skills.disable", texts(&scan.except)),
        ("skills.strict", scan.strict.map(|preset| Value::from(preset.name()))),
        ("skills.duplicates", duplicates.map(|which| Value::from(which.get_name()))),
        ("skills.sources", texts(&with.sources)),
        ("scan.depth", scan.depth.map(Value::from)),
        ("scan.nested", scan.no_nested.then_some(Value::from(false))),
        ("scan.skip", texts(&scan.skip)),
        ("session.filter", with.filter.as_ref().map(|filter| Value::from(filter.as_str()))),
        ("session.tools", tools),
    ];
    all.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
}

/// The value of an option that may be given more than once.
fn texts(values: &[impl ToString]) -> Option<Value> {
    let texts: Vec<String> = values.iter().map(ToString::to_string).collect();
    (!texts.is_empty()).then(|| Value::from(texts))
}

fn get(args: &ConfigGet, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    let key = KeyPath::parse(&args.key)?;
    let in_force = in_force(&[])?;
    let whole = KeyPath { entry: None, ..key.clone() }.to_string();
    let mut settings: Vec<ConfigSetting> =
        in_force.settings.iter().filter(|setting| setting.key.to_string() == whole).cloned().collect();
    if let Some(entry) = &key.entry {
        for setting in &mut settings {
            setting.value = setting.value.as_ref().and_then(|value| value.get(entry)).cloned();
        }
        settings.retain(|setting| setting.value.is_some());
    }
    if json {
        let settings: Vec<Value> = settings.iter().map(|setting| self::json(setting, &in_force)).collect();
        ui.json(&json!({"version": VERSION, "key": key.to_string(), "settings": settings}))?;
        return Ok(outcome(&in_force, ui));
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
    Ok(outcome(&in_force, ui))
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

/// The file that a setting comes from.
fn file_of<'f>(setting: &ConfigSetting, in_force: &'f InForce) -> Option<&'f ConfigFile> {
    match setting.origin {
        ConfigOrigin::User => in_force.user.as_ref(),
        ConfigOrigin::Project => in_force.project.as_ref(),
        ConfigOrigin::Default | ConfigOrigin::Option => None,
    }
}

fn json(setting: &ConfigSetting, in_force: &InForce) -> Value {
    let key = setting.key.key;
    let is_option = setting.origin == ConfigOrigin::Option;
    json!({
        "key": setting.key.to_string(),
        "value": setting.value,
        "origin": origin(setting.origin),
        "file": file_of(setting, in_force).map(|file| file.path.to_string_lossy()),
        "line": setting.line,
        "option": is_option.then_some(key.option),
        "own_skills": setting.own_skills,
        "default": key.default.words(""),
        "expects": key.value.replace('`', ""),
    })
}

fn whole(in_force: &InForce) -> Value {
    let file = |file: &ConfigFile| {
        let error = file.error.as_ref().map(ToString::to_string);
        json!({
            "path": file.path.to_string_lossy(),
            "exists": file.exists,
            "trusted": file.trusted,
            "error": error,
        })
    };
    let settings: Vec<Value> = in_force.settings.iter().map(|setting| json(setting, in_force)).collect();
    let unused = |(setting, why): &(ConfigSetting, WhyUnused)| {
        let mut value = json(setting, in_force);
        if let Some(members) = value.as_object_mut() {
            members.insert("reason".to_owned(), Value::from(why.code()));
            members.insert("why".to_owned(), Value::from(why.words()));
        }
        value
    };
    json!({
        "version": VERSION,
        "user": in_force.user.as_ref().map(file),
        "project": in_force.project.as_ref().map(file),
        "settings": settings,
        "unused": in_force.unused.iter().map(unused).collect::<Vec<_>>(),
    })
}
