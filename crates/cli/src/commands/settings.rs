//! What the settings do that a user may not expect: settings of a project that have no effect, and those that leave out a
//! skill.

use std::path::{Path, PathBuf};

use prowess::env::{self, Environment};
use prowess::fs::walk::ScanChanges;
use prowess::internal::{ConfigSetting, EffectiveSettings, toml_value};
use prowess::library::{clients, library};
use prowess::{Catalog, Config, Location, Scope};
use serde::Serialize;
use serde_json::Value;

use super::hints::{command_for, trust_command};
use super::skill_arg::SkillArg;
use super::{Purpose, clients_named, library_options};
use crate::args::Places;
use crate::error::Failure;
use crate::ui::{Ui, clean, count, few};

/// The most names of skills in one sentence.
const MAX_NAMES: usize = 5;

/// Says in a line which settings of the project have no effect.
pub(super) fn say(catalog: &Catalog, ui: &mut Ui) {
    for sentence in notes(catalog) {
        ui.note(&sentence);
    }
}

/// Which settings of the project have no effect, in a sentence for each reason.
pub(super) fn notes(catalog: &Catalog) -> Vec<String> {
    // Most folders have no such file, and every command asks.
    if Config::find(&env::absolute(Path::new("."))).file.is_none() {
        return Vec::new();
    }
    let Ok(settings) = EffectiveSettings::of(Path::new("."), &Environment::current(), &[]) else {
        return Vec::new();
    };
    [untrusted(&settings), not_its_own(&settings, catalog)].into_iter().flatten().collect()
}

/// The keys that have no effect because the project is not trusted, without sources: each of them is reported by itself.
pub(super) fn waiting_keys(settings: &EffectiveSettings) -> Vec<String> {
    settings.untrusted().into_iter().filter(|key| key != "skills.sources").collect()
}

/// The settings that have no effect because the project is not trusted.
pub(super) fn untrusted(settings: &EffectiveSettings) -> Option<String> {
    let keys = waiting_keys(settings);
    let file = &settings.project.as_ref()?.path;
    if keys.is_empty() {
        return None;
    }
    Some(format!(
        "the project is not trusted, so these settings have no effect: {} in {}; trust it with: {}",
        keys.join(", "),
        file.display(),
        trust_command(folder_of_project(file))
    ))
}

/// The folder to trust, so that a `prowess.toml` takes effect.
pub(super) fn folder_of_project(file: &Path) -> &Path {
    file.parent().map_or(file, clients::project)
}

/// The skills that a project would turn off, and that are not its own.
pub(super) fn not_its_own(settings: &EffectiveSettings, catalog: &Catalog) -> Option<String> {
    let project = settings.project.as_ref()?;
    let globs = &project.counts.disabled;
    let is_meant = |key: &str, name: &str| globs.iter().any(|glob| glob.matches(key) || glob.matches(name));
    let mut names: Vec<&str> = catalog
        .iter()
        .map(|skill| &skill.entry)
        .filter(|entry| entry.origin.scope != Scope::Project && is_meant(&entry.key, &entry.name))
        .map(|entry| entry.key.as_str())
        .collect();
    if names.is_empty() {
        return None;
    }
    names.sort_unstable();
    Some(format!(
        "a project turns off only its own skills, so skills.disable in {} leaves these: {}",
        project.path.display(),
        few(&names, MAX_NAMES)
    ))
}

/// A skill that is there, and the setting that leaves it out.
#[derive(Serialize)]
pub(super) struct LeftOutBy {
    path: Location,
    key: String,
    value: Value,
    file: PathBuf,
}

impl LeftOutBy {
    /// Looks for a skill without the settings, and then with each of them. No server is asked.
    pub(super) fn of(arg: &SkillArg<'_>, places: &Places) -> Option<Self> {
        let environment = Environment::current();
        let settings = EffectiveSettings::of(Path::new("."), &environment, &[]).ok()?;
        let scans = scans(&settings);
        if scans.is_empty() {
            return None;
        }
        let client = clients_named::one(places).ok()?;
        let find = |scan: &ScanChanges| {
            let options = library_options(places, Purpose::Look)
                .with_client(client)
                .with_cache(false)
                .with_ignore_scan(true)
                .with_scan(places.scan.changes().over(scan));
            let registry = library(Path::new("."), &environment, &options).ok()?;
            registry.refresh_local().ok()?;
            let catalog = registry.catalog();
            arg.matching(&catalog).first().map(|(skill, _)| skill.entry.origin.location.clone())
        };
        let path = find(&ScanChanges::default())?;
        let (setting, _) = scans.iter().find(|(_, scan)| find(scan).is_none())?;
        Some(Self {
            path,
            key: setting.key.to_string(),
            value: setting.value.clone()?,
            file: settings.file_of(setting)?.path.clone(),
        })
    }

    /// The message about it.
    pub(super) fn failure(&self, name: &str) -> Failure {
        let Self { path, key, value, file } = self;
        let folder = path.path().and_then(|file| Path::new(file).parent());
        let folder = folder.map_or_else(|| path.to_string(), |folder| folder.to_string_lossy().into_owned());
        let show = command_for("show", &folder, "");
        let error = format!(
            "this skill is left out by {key} = {} in {}: {}",
            clean(&toml_value(value)),
            clean(&file.to_string_lossy()),
            clean(name)
        );
        Failure::new(error, format!("change that setting, or see the skill with: {show}"))
            .with_cause(format!("it is at {}", clean(&path.text())))
    }
}

/// What leaves out every skill there is: an option, or a setting of a file.
pub(super) struct AllLeftOut {
    by: String,
    skills: usize,
}

impl AllLeftOut {
    /// Looks for skills without the options and settings of the search, if no skill was found with them.
    pub(super) fn of(places: &Places) -> Option<Self> {
        let environment = Environment::current();
        let settings = EffectiveSettings::of(Path::new("."), &environment, &[]).unwrap_or_default();
        let scans = scans(&settings);
        let options = places.scan.changes();
        // What a client lists does not depend on them.
        if !places.clients.is_empty() || scans.is_empty() && options == ScanChanges::default() {
            return None;
        }
        let count = |scan: &ScanChanges| {
            let options = library_options(places, Purpose::Look)
                .with_cache(false)
                .with_ignore_scan(true)
                .with_scan(scan.clone());
            let registry = library(Path::new("."), &environment, &options).ok()?;
            registry.refresh_local().ok()?;
            Some(registry.catalog().all().count())
        };
        let skills = count(&ScanChanges::default()).filter(|skills| *skills > 0)?;
        let by = if count(&options)? == 0 {
            match places.scan.depth {
                Some(depth) => format!("--depth {depth}"),
                None => "what the options skip".to_owned(),
            }
        } else {
            let (setting, _) = scans.iter().find(|(_, scan)| count(&options.over(scan)) == Some(0))?;
            let file = settings.file_of(setting)?;
            format!("{} = {} in {}", setting.key, toml_value(setting.value.as_ref()?), file.path.display())
        };
        Some(Self { by, skills })
    }

    /// What it leaves out, in words.
    pub(super) fn words(&self) -> String {
        format!("{} leaves out {}", clean(&self.by), count(self.skills, "skill"))
    }
}

/// The settings of files that change the search for skills, and how.
fn scans(settings: &EffectiveSettings) -> Vec<(&ConfigSetting, ScanChanges)> {
    let of_files = settings.values.iter().filter(|setting| settings.file_of(setting).is_some());
    of_files.filter_map(|setting| Some((setting, changes(setting)?))).collect()
}

/// What a setting of a file changes in the search for skills.
fn changes(setting: &ConfigSetting) -> Option<ScanChanges> {
    let (none, value) = (ScanChanges::default(), setting.value.as_ref()?);
    Some(match &*setting.key.to_string() {
        "scan.depth" => none.with_depth(Some(usize::try_from(value.as_u64()?).unwrap_or(usize::MAX))),
        "scan.nested" => none.with_nested(Some(value.as_bool()?)),
        "scan.skip" => {
            let prefixes = value.as_array()?.iter().filter_map(Value::as_str);
            none.with_skip(prefixes.map(str::to_owned).collect())
        }
        _ => return None,
    })
}
