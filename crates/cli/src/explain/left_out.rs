//! What options and settings do that a user may not expect: those of a project without effect, those that leave out a
//! skill, and names in `--only` and `--except` that no skill has.

use std::path::{Path, PathBuf};

use prowess::env::{self, Environment};
use prowess::fs::walk::ScanChanges;
use prowess::internal::{ConfigSetting, EffectiveSettings, did_you_mean, toml_value};
use prowess::library::{clients, library};
use prowess::path::Glob;
use prowess::text::similar;
use prowess::{Candidate, Catalog, Config, Location, Registry, Scope};
use serde::Serialize;
use serde_json::Value;

use crate::args::Places;
use crate::commands::skill_arg::SkillArg;
use crate::commands::{Purpose, library_options};
use crate::error::Failure;
use crate::explain::clients_named;
use crate::ui::command::{command_for, trust_command};
use crate::ui::{Ui, clean, count, few};

/// The most names of skills in one sentence.
const MAX_NAMES: usize = 5;

/// Says in a line which settings of the project have no effect.
pub(crate) fn say_without_effect(catalog: &Catalog, ui: &mut Ui) {
    for sentence in notes(catalog) {
        ui.note(&sentence);
    }
}

/// Which settings of the project have no effect, in a sentence for each reason.
pub(crate) fn notes(catalog: &Catalog) -> Vec<String> {
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
pub(crate) fn waiting_keys(settings: &EffectiveSettings) -> Vec<String> {
    settings.untrusted().into_iter().filter(|key| key != "skills.sources").collect()
}

/// The settings that have no effect because the project is not trusted.
pub(crate) fn untrusted(settings: &EffectiveSettings) -> Option<String> {
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
pub(crate) fn folder_of_project(file: &Path) -> &Path {
    file.parent().map_or(file, clients::project)
}

/// The skills that a project would turn off, and that are not its own.
pub(crate) fn not_its_own(settings: &EffectiveSettings, catalog: &Catalog) -> Option<String> {
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
pub(crate) struct LeftOutBy {
    path: Location,
    key: String,
    value: Value,
    file: PathBuf,
}

impl LeftOutBy {
    /// Looks for a skill without the settings, and then with each of them. No server is asked.
    pub(crate) fn of(arg: &SkillArg<'_>, places: &Places) -> Option<Self> {
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
    pub(crate) fn failure(&self, name: &str) -> Failure {
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
pub(crate) struct AllLeftOut {
    by: String,
    skills: usize,
}

impl AllLeftOut {
    /// Looks for skills without the options and settings of the search, if no skill was found with them.
    pub(crate) fn of(places: &Places) -> Option<Self> {
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
    pub(crate) fn words(&self) -> String {
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

/// Warns of each name in `--only` and `--except` that no skill has.
pub(crate) fn say_unmatched(places: &Places, registry: &Registry, ui: &mut Ui) {
    let catalog = registry.catalog();
    let options = [("--only", &places.scan.only), ("--except", &places.scan.except)];
    // Without skills, the name is not what is wrong.
    if options.iter().all(|(_, globs)| globs.is_empty()) || catalog.all().next().is_none() {
        return;
    }
    let keys = || catalog.all().map(|(skill, _)| &*skill.entry.key);
    for (option, globs) in options {
        for glob in globs.iter().filter(|glob| !has(registry, glob)) {
            let (text, lower) = (glob.to_string(), glob.to_string().to_lowercase());
            let near = match keys().find(|key| key.to_lowercase() == lower) {
                Some(key) => vec![key],
                None => similar(&text, keys()),
            };
            let all = || format!("see the names with: prowess list --all{}", places.options());
            let hint = did_you_mean(&near).unwrap_or_else(all);
            ui.warning(&Failure::new(format!("no skill has this name of {option}: {text}"), hint));
        }
    }
}

/// What is said of a library that offers no skill.
pub(crate) fn nothing(places: &Places, registry: &Registry) -> String {
    if registry.catalog().all().next().is_none() {
        let left_out = AllLeftOut::of(places).map(|left_out| format!(": {}", left_out.words()));
        return format!("no skills here{}", left_out.unwrap_or_default());
    }
    let only = &places.scan.only;
    // A skill with such a name may have another fault.
    if only.is_empty() || only.iter().any(|glob| has(registry, glob)) {
        "no skills here".to_owned()
    } else {
        "no skill has a name that --only takes".to_owned()
    }
}

/// Whether a glob matches a name of a skill.
fn has(registry: &Registry, glob: &Glob) -> bool {
    let is_meant = |skill: &Candidate| registry.names_of(&skill.entry).any(|name| glob.matches(name));
    registry.catalog().all().any(|(skill, _)| is_meant(skill))
}
