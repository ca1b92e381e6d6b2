//! `prowess config set`, `unset` and `path`: which file is changed, and what that changes.

use std::path::{Path, PathBuf};

use prowess::env::{self, Environment};
use prowess::internal::{
    ConfigEditor, ConfigOrigin, ConfigSetting, KeyPath, WhyUnused, config_of_user, toml_value, value_in_toml,
};
use prowess::library::clients;
use prowess::registry::trust::Approvals;
use prowess::settings::FILE_NAME;
use prowess::{Config, SourceErrorKind};
use serde_json::{Value, json};

use super::effective_settings;
use crate::Outcome;
use crate::args::{ConfigPath, Whose};
use crate::error::{CommandError, Failure};
use crate::explain::left_out::folder_of_project;
use crate::report::json::VERSION;
use crate::ui::command::{command_for, shell_word, trust_command};
use crate::ui::{Ui, clean};

/// Sets a key, or unsets it without a value.
pub(super) fn run(
    text: &str,
    value: Option<&str>,
    whose: Whose,
    json: bool,
    ui: &mut Ui,
) -> Result<Outcome, CommandError> {
    let key = KeyPath::parse(text)?;
    let environment = Environment::current();
    environment.check().map_err(|error| Failure::from(&error))?;
    if let Some(value) = value {
        refuse_without_effect(&key, value, whose)?;
    }
    let editor = editor(whose, &environment)?;
    let set = editor.set(&key, value, &environment).map_err(|error| Failure::from(&error))?;
    let why = value.and_then(|_| why_unused(&key, whose));
    let file = editor.file.to_string_lossy();
    if json {
        ui.json(&json!({
            "version": VERSION,
            "key": key.to_string(),
            "file": file,
            "owner": if whose.project { "project" } else { "user" },
            "changed": set.is_change(),
            "reason": why.map(WhyUnused::code),
        }))?;
        return Ok(Outcome::Fine);
    }
    let done = match (value, set.is_change()) {
        (Some(_), true) => "set",
        (Some(_), false) => "it is set so already",
        (None, true) => "no longer set",
        (None, false) => "it is not set",
    };
    let written = value_in_toml(&set.after, &key).filter(|_| value.is_some());
    let written = written.map(|value| format!(" = {}", toml_value(&value))).unwrap_or_default();
    ui.print(&format!("{done}: {}{}: {}\n", clean(&key.to_string()), clean(&written), clean(&file)))?;
    if editor.file.symlink_metadata().is_ok_and(|file| file.is_symlink())
        && let Ok(target) = editor.file.canonicalize()
        && set.is_change()
    {
        ui.note(&format!("the file is a link, and stays one; its target was changed: {}", target.display()));
    }
    if let Some(why) = why {
        let trust = trust_command(folder_of_project(&editor.file));
        let trust =
            if why == WhyUnused::Untrusted { format!("; trust it with: {trust}") } else { String::new() };
        ui.note(&format!("it has no effect now: {}{trust}", why.words()));
    }
    Ok(Outcome::Fine)
}

/// An error if the key never counts in this file.
fn refuse_without_effect(key: &KeyPath, value: &str, whose: Whose) -> Result<(), CommandError> {
    let (error, option) = match key.key.never_in(origin(whose)) {
        None => return Ok(()),
        Some(WhyUnused::OnlyInProject) => ("this key counts only in the file of a project", "--project"),
        Some(_) => ("this key counts only in your own file", "--user"),
    };
    let value = shell_word(value);
    let command = command_for(&format!("config set {option}"), &key.to_string(), &format!(" {value}"));
    Err(Failure::new(format!("{error}: {key}"), format!("set it there with: {command}")).into())
}

/// Why what was set has no effect now.
fn why_unused(key: &KeyPath, whose: Whose) -> Option<WhyUnused> {
    let effective = effective_settings(&[]).ok()?;
    let same =
        |setting: &ConfigSetting| setting.origin == origin(whose) && std::ptr::eq(setting.key.key, key.key);
    if effective.values.iter().any(same) {
        return None;
    }
    effective.unused.iter().find(|(setting, _)| same(setting)).map(|(_, why)| *why)
}

fn origin(whose: Whose) -> ConfigOrigin {
    if whose.project { ConfigOrigin::Project } else { ConfigOrigin::User }
}

/// The file that is changed.
fn editor(whose: Whose, environment: &Environment) -> Result<ConfigEditor, CommandError> {
    if whose.project {
        let (file, ignored) = of_project();
        if ignored.contains(&file) {
            return Err(SourceErrorKind::OtherOwner.at(&file).into());
        }
        let within = file.parent().map(Path::to_owned);
        return Ok(ConfigEditor { file, within });
    }
    match config_of_user(environment) {
        Some(file) => Ok(ConfigEditor { file, within: None }),
        None => {
            Err(Failure::new("there is no place for your own file", "set HOME or XDG_CONFIG_HOME").into())
        }
    }
}

/// The file of the project, which need not exist, and files that belong to other users.
fn of_project() -> (PathBuf, Vec<PathBuf>) {
    let here = env::absolute(Path::new("."));
    let found = Config::find(&here);
    (found.file.unwrap_or_else(|| clients::project(&here).join(FILE_NAME)), found.ignored)
}

/// Says where the files are.
pub(super) fn path(args: &ConfigPath, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    let environment = Environment::current();
    environment.check().map_err(|error| Failure::from(&error))?;
    let whose = args.whose;
    if whose.user || whose.project {
        let file = editor(whose, &environment)?.file;
        if json {
            ui.json(&json!({"version": VERSION, "files": [entry(if whose.project { "project" } else { "user" }, &file)]}))?;
        } else {
            ui.print(&format!("{}\n", clean(&file.to_string_lossy())))?;
        }
        return Ok(Outcome::Fine);
    }
    let cache = environment.xdg("XDG_CACHE_HOME", ".cache").map(|cache| cache.join("prowess"));
    let (project, ignored) = of_project();
    let files = [
        ("user", config_of_user(&environment)),
        ("project", Some(project)),
        ("trust", Approvals::file(&environment)),
        ("cache", cache),
    ];
    let files: Vec<(&str, PathBuf)> =
        files.into_iter().filter_map(|(name, file)| Some((name, file?))).collect();
    if json {
        let files: Vec<Value> = files.iter().map(|(name, file)| entry(name, file)).collect();
        ui.json(&json!({"version": VERSION, "files": files}))?;
        return Ok(Outcome::Fine);
    }
    for (name, file) in files {
        let state = match exists(&file) {
            false => " (does not exist)",
            true if ignored.contains(&file) => " (not used: it belongs to another user)",
            true => "",
        };
        ui.print(&format!("{name}  {}{state}\n", clean(&file.to_string_lossy())))?;
    }
    Ok(Outcome::Fine)
}

fn entry(name: &str, file: &Path) -> Value {
    json!({"name": name, "path": file.to_string_lossy(), "exists": exists(file)})
}

/// Whether there is a file. A link that leads to nothing is one, which cannot be read.
fn exists(file: &Path) -> bool {
    file.symlink_metadata().is_ok()
}
