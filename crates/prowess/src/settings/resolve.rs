//! [`InForce`]: the value of every key as seen from a folder, where it comes from, and which settings have no effect.
//!
//! One order holds for all keys: an option, the user's own file, the file of the project, the default. What the file of a
//! project may do is a column of the table of keys.

use std::path::{Path, PathBuf};

use prowess_core::LineIndex;
use prowess_core::path::Glob;
use serde_json::Value;
use toml::de::{DeTable, DeValue};

use super::key_path::{KeyPath, config_keys};
use super::keys::{ConfigKey, InProject};
use super::{Config, ConfigError, ConfigLimits, confined};
use crate::env::{self, Environment};
use crate::fs::walk::ScanChanges;
use crate::library::LibraryError;
use crate::library::found_config::waits_for_trust;
use crate::registry::trust::Approvals;
use crate::settings::values::of_toml;
use crate::source::spec::Place;

/// Where a value comes from, the last one first in precedence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConfigOrigin {
    /// No file and no option sets it.
    Default,
    /// The file of the project.
    Project,
    /// The user's own file.
    User,
    /// An option of the command.
    Option,
}

/// The value of a key, from one place.
#[derive(Clone, Debug)]
pub struct ConfigSetting {
    /// The key.
    pub key: KeyPath,
    /// Its value; none for a default that is not a value.
    pub value: Option<Value>,
    /// Where it comes from.
    pub origin: ConfigOrigin,
    /// The line in the file it comes from.
    pub line: Option<usize>,
    /// Whether it is about the project's own skills only.
    pub own_skills: bool,
}

/// Why a setting has no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhyUnused {
    /// The project is not trusted.
    Untrusted,
    /// Another place has precedence.
    Overridden(ConfigOrigin),
    /// It counts only in the file of a project.
    OnlyInProject,
    /// It counts only in the user's own file.
    OnlyInOwn,
    /// A project can only lower it.
    NotLower,
    /// A project cannot name a server.
    Server,
}

impl WhyUnused {
    /// The reason for programs.
    pub fn code(self) -> &'static str {
        match self {
            Self::Untrusted => "untrusted",
            Self::Overridden(_) => "overridden",
            Self::OnlyInProject => "only-in-project",
            Self::OnlyInOwn => "only-in-own-file",
            Self::NotLower => "not-lower",
            Self::Server => "server-of-project",
        }
    }

    /// The reason in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Untrusted => "the project is not trusted",
            Self::Overridden(ConfigOrigin::Option) => "an option has precedence",
            Self::Overridden(ConfigOrigin::User) => "your own file has precedence",
            Self::Overridden(_) => "the lower limit of the project counts",
            Self::OnlyInProject => "it counts only in the file of a project",
            Self::OnlyInOwn => "it counts only in your own file",
            Self::NotLower => "a project can only lower it",
            Self::Server => "a project cannot name an MCP server",
        }
    }
}

/// The file of the user or of a project.
#[derive(Debug)]
pub struct ConfigFile {
    /// Where it is, or would be.
    pub path: PathBuf,
    /// Whether it exists.
    pub exists: bool,
    /// Whether it is trusted: it is the user's own, or in a folder that the user trusts.
    pub trusted: bool,
    /// Why it is not used.
    pub error: Option<ConfigError>,
}

/// The values that are in force.
#[derive(Debug)]
pub struct InForce {
    /// The user's own file; none if the home folder is not known.
    pub user: Option<ConfigFile>,
    /// The file of the project.
    pub project: Option<ConfigFile>,
    /// Files that are ignored, because they belong to another user.
    pub ignored: Vec<PathBuf>,
    /// Every key in the order of the documentation, with its value or with its values.
    pub settings: Vec<ConfigSetting>,
    /// Settings without effect.
    pub unused: Vec<(ConfigSetting, WhyUnused)>,
    /// The names that the file of the project turns off.
    disabled: Vec<Glob>,
    /// What the project changes in the search for skills before it is trusted.
    narrowed: ScanChanges,
}

/// The value of an option, by the key that has its meaning.
pub type OptionValue = (&'static str, Value);

impl InForce {
    /// The values that are in force in a folder, with these options.
    pub fn of(from: &Path, environment: &Environment, options: &[OptionValue]) -> Result<Self, LibraryError> {
        environment.check()?;
        let from = env::absolute(from);
        let approvals = Approvals::file(environment).map(|file| Approvals::load(&file)).transpose()?;
        let approvals = approvals.unwrap_or_default();
        let mut gathered = Self {
            user: None,
            project: None,
            ignored: Vec::new(),
            settings: Vec::new(),
            unused: Vec::new(),
            disabled: Vec::new(),
            narrowed: ScanChanges::default(),
        };
        let mut user = Written::default();
        if let Some(path) = Config::place_of_user(environment) {
            let exists = Config::file_of_user(environment).is_some();
            let mut error = None;
            if exists {
                match Written::read(&path, None) {
                    Ok(written) => user = written,
                    Err(distrust) if distrust.is_distrust() => error = Some(distrust),
                    Err(other) => return Err(other.into()),
                }
            }
            gathered.user = Some(ConfigFile { path, exists, trusted: error.is_none(), error });
        }
        let found = Config::find(&from);
        gathered.ignored = found.ignored;
        let own = gathered.user.as_ref().map(|user| user.path.clone());
        let mut project = Written::default();
        if let Some(path) = found.file.filter(|file| Some(file) != own.as_ref()) {
            let trusted = approvals.folder_of(&path).is_some();
            let error = match Written::read(&path, Some(&approvals)) {
                Ok(written) => {
                    project = written;
                    None
                }
                Err(error) => Some(error),
            };
            gathered.project = Some(ConfigFile { path, exists: true, trusted, error });
        }
        project.take_refused_sources(&mut gathered, environment);
        gathered.disabled = project.config.as_ref().map(|config| config.disabled.clone()).unwrap_or_default();
        gathered.narrowed =
            project.config.as_ref().map(|config| config.scan.of_untrusted()).unwrap_or_default();
        for (table, key) in config_keys() {
            let path = KeyPath::of(table, key);
            let name = path.to_string();
            let setting = |value: &Value, origin, line| {
                let own_skills = origin == ConfigOrigin::Project && is_about_own_skills(key);
                ConfigSetting { key: path.clone(), value: Some(value.clone()), origin, line, own_skills }
            };
            let option = options.iter().find(|(option, _)| *option == name);
            let option = option.map(|(_, value)| setting(value, ConfigOrigin::Option, None));
            let [user, project] =
                [(&user, ConfigOrigin::User), (&project, ConfigOrigin::Project)].map(|(written, origin)| {
                    let (value, line) = written.get(&path)?;
                    Some(setting(value, origin, Some(*line)))
                });
            gathered.add(path, option, user, project);
        }
        Ok(gathered)
    }

    /// Adds a key that is set in these places.
    fn add(
        &mut self,
        path: KeyPath,
        option: Option<ConfigSetting>,
        user: Option<ConfigSetting>,
        project: Option<ConfigSetting>,
    ) {
        let key = path.key;
        let before = self.settings.len();
        let unused = |setting: Option<ConfigSetting>, why| setting.map(|setting| (setting, why));
        match key.project {
            InProject::Adds => self.settings.extend([option, user, project].into_iter().flatten()),
            InProject::AddsWithoutOption if option.is_some() => {
                let why = WhyUnused::Overridden(ConfigOrigin::Option);
                self.unused.extend([user, project].into_iter().filter_map(|other| unused(other, why)));
                self.settings.extend(option);
            }
            InProject::AddsWithoutOption => self.settings.extend([user, project].into_iter().flatten()),
            InProject::Decides => {
                self.unused.extend(unused(user, WhyUnused::OnlyInProject));
                self.first([option, project]);
            }
            InProject::Nothing => {
                self.unused.extend(unused(project, WhyUnused::OnlyInOwn));
                self.first([option, user]);
            }
            InProject::Trusted | InProject::Narrows | InProject::Lowers => {
                let trusted = self.project.as_ref().is_some_and(|project| project.trusted);
                let why = project
                    .as_ref()
                    .and_then(|project| why_not(key, trusted, &self.narrowed, project, user.as_ref()));
                match (why, project) {
                    (Some(why), project) => {
                        self.unused.extend(unused(project, why));
                        self.first([option, user]);
                    }
                    (None, project) if key.project == InProject::Lowers => {
                        self.first([option, project, user]);
                    }
                    (None, project) => self.first([option, user, project]),
                }
            }
        }
        if self.settings.len() == before {
            let value = key.default.value();
            let (origin, line) = (ConfigOrigin::Default, None);
            self.settings.push(ConfigSetting { key: path, value, origin, line, own_skills: false });
        }
    }

    /// Adds the first of these settings; the others have no effect.
    fn first<const N: usize>(&mut self, settings: [Option<ConfigSetting>; N]) {
        let mut settings = settings.into_iter().flatten();
        let Some(first) = settings.next() else { return };
        let why = WhyUnused::Overridden(first.origin);
        self.unused.extend(settings.map(|setting| (setting, why)));
        self.settings.push(first);
    }

    /// The names that the file of the project turns off. Only the project's own skills are meant.
    pub fn disabled_by_project(&self) -> &[Glob] {
        &self.disabled
    }

    /// The keys in the file of a project that have no effect because the project is not trusted.
    pub fn untrusted(&self) -> Vec<String> {
        let unused = self.unused.iter().filter(|(_, why)| *why == WhyUnused::Untrusted);
        let mut keys: Vec<String> = unused.map(|(setting, _)| setting.key.to_string()).collect();
        keys.dedup();
        keys
    }
}

/// Whether a setting of a project is about its own skills only.
fn is_about_own_skills(key: &ConfigKey) -> bool {
    matches!(key.project, InProject::Adds | InProject::AddsWithoutOption | InProject::Narrows)
        && key.name != "sources"
}

/// Why the setting of a project has no effect, whatever the user's own file says.
fn why_not(
    key: &ConfigKey,
    trusted: bool,
    narrowed: &ScanChanges,
    project: &ConfigSetting,
    user: Option<&ConfigSetting>,
) -> Option<WhyUnused> {
    let narrows = match key.name {
        "depth" => narrowed.depth.is_some(),
        "nested" => narrowed.nested.is_some(),
        _ => false,
    };
    if !trusted && (key.project != InProject::Narrows || !narrows) {
        return Some(WhyUnused::Untrusted);
    }
    if key.project == InProject::Lowers {
        let most = user.and_then(|user| user.value.clone()).or_else(|| key.default.value());
        let is_lower = project.value.as_ref().and_then(Value::as_u64) < most.as_ref().and_then(Value::as_u64);
        return (!is_lower).then_some(if user.is_some() {
            WhyUnused::Overridden(ConfigOrigin::User)
        } else {
            WhyUnused::NotLower
        });
    }
    None
}

/// The value of a key in the text of a file.
pub fn value_in_toml(text: &str, key: &KeyPath) -> Option<Value> {
    let whole = DeTable::parse(text.strip_prefix('\u{feff}').unwrap_or(text)).ok()?;
    let parts = key.parts();
    let (last, above) = parts.split_last()?;
    let mut table = whole.get_ref();
    for name in above {
        table = table.get(*name)?.get_ref().as_table()?;
    }
    table.get(*last).map(|value| of_toml(value.get_ref()))
}

/// Where the user's own file is, or would be.
pub fn config_of_user(environment: &Environment) -> Option<PathBuf> {
    Config::place_of_user(environment)
}

/// The values in a file, with their lines.
#[derive(Default)]
struct Written {
    config: Option<Config>,
    values: Vec<(String, (Value, usize))>,
}

impl Written {
    /// Reads the user's own file, or that of a project.
    fn read(file: &Path, project: Option<&Approvals>) -> Result<Self, ConfigError> {
        let text = match project {
            Some(approvals) => Config::text_in(file, confined(file, approvals))?,
            None => Config::text_of_user(file)?,
        };
        let config = Config::parse_within(&text, file, ConfigLimits::default())?;
        // The text was read just now, so it is valid.
        let Ok(whole) = DeTable::parse(&text) else { return Ok(Self::default()) };
        let lines = LineIndex::new(&text);
        let mut values = Vec::new();
        for (table, key) in config_keys() {
            let inner = whole.get_ref().get(table.name).and_then(|table| table.get_ref().as_table());
            let Some((name, value)) = inner.and_then(|inner| inner.get_key_value(key.name)) else { continue };
            let is_list = matches!(value.get_ref(), DeValue::Array(_) | DeValue::Table(_));
            let at = if is_list { value.span().start.min(name.span().start) } else { name.span().start };
            let path = KeyPath::of(table, key).to_string();
            values.push((path, (of_toml(value.get_ref()), lines.position(at).line)));
        }
        Ok(Self { config: Some(config), values })
    }

    fn get(&self, key: &KeyPath) -> Option<&(Value, usize)> {
        let name = key.to_string();
        self.values.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// Takes the sources out that do not count in the file of a project: sites and places outside before it is trusted,
    /// servers always.
    fn take_refused_sources(&mut self, gathered: &mut InForce, environment: &Environment) {
        let trusted = gathered.project.as_ref().is_some_and(|project| project.trusted);
        let (Some(config), Ok(key)) = (&self.config, KeyPath::parse("skills.sources")) else { return };
        let name = key.to_string();
        let Some((_, (Value::Array(items), line))) = self.values.iter_mut().find(|(known, _)| *known == name)
        else {
            return;
        };
        let mut kept = Vec::new();
        for (item, spec) in items.drain(..).zip(&config.sources) {
            let why = match &spec.place {
                Place::Mcp(_) => WhyUnused::Server,
                _ if !trusted && waits_for_trust(spec, &config.file, environment) => WhyUnused::Untrusted,
                _ => {
                    kept.push(item);
                    continue;
                }
            };
            let (value, origin) = (Some(Value::from(vec![item])), ConfigOrigin::Project);
            let setting =
                ConfigSetting { key: key.clone(), value, origin, line: Some(*line), own_skills: false };
            gathered.unused.push((setting, why));
        }
        *items = kept;
        if items.is_empty() {
            self.values.retain(|(known, _)| *known != name);
        }
    }
}

#[cfg(test)]
mod tests;
