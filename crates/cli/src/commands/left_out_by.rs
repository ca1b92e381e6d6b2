//! The setting in `[scan]` that leaves out a skill which was not found by its name.

use std::path::{Path, PathBuf};

use prowess::Location;
use prowess::env::Environment;
use prowess::fs::walk::ScanChanges;
use prowess::internal::{ConfigOrigin, ConfigSetting, InForce, toml_value};
use prowess::library::library;
use serde::Serialize;
use serde_json::Value;

use super::hints::command_for;
use super::skill_arg::SkillArg;
use super::{Purpose, clients_named, library_options};
use crate::args::Places;
use crate::error::Failure;
use crate::ui::{clean, count};

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
        let in_force = InForce::of(Path::new("."), &environment, &[]).ok()?;
        let settings: Vec<(&ConfigSetting, ScanChanges)> =
            in_force.settings.iter().filter_map(|setting| Some((setting, changes(setting)?))).collect();
        if settings.is_empty() {
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
        let (setting, _) = settings.iter().find(|(_, scan)| find(scan).is_none())?;
        let file = match setting.origin {
            ConfigOrigin::User => in_force.user.as_ref(),
            _ => in_force.project.as_ref(),
        };
        Some(Self {
            path,
            key: setting.key.to_string(),
            value: setting.value.clone()?,
            file: file?.path.clone(),
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
        let in_force = InForce::of(Path::new("."), &environment, &[]).ok();
        let settings: Vec<(&ConfigSetting, ScanChanges)> = in_force
            .iter()
            .flat_map(|in_force| &in_force.settings)
            .filter_map(|setting| Some((setting, changes(setting)?)))
            .collect();
        let options = places.scan.changes();
        // What a client lists does not depend on them.
        if !places.clients.is_empty() || settings.is_empty() && options == ScanChanges::default() {
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
            let is_it = |(_, scan): &&(&ConfigSetting, ScanChanges)| count(&options.over(scan)) == Some(0);
            let (setting, _) = settings.iter().find(is_it)?;
            let in_force = in_force.as_ref()?;
            let file = match setting.origin {
                ConfigOrigin::User => in_force.user.as_ref(),
                _ => in_force.project.as_ref(),
            };
            format!("{} = {} in {}", setting.key, toml_value(setting.value.as_ref()?), file?.path.display())
        };
        Some(Self { by, skills })
    }

    /// What it leaves out, in words.
    pub(super) fn words(&self) -> String {
        format!("{} leaves out {}", clean(&self.by), count(self.skills, "skill"))
    }
}

/// What a setting of a file changes in the search for skills.
fn changes(setting: &ConfigSetting) -> Option<ScanChanges> {
    if !matches!(setting.origin, ConfigOrigin::User | ConfigOrigin::Project) {
        return None;
    }
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
