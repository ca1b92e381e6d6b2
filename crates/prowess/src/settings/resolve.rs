//! [`EffectiveSettings`]: for every key the value that counts as seen from a folder, where it comes from, and for each
//! value that does not count why not.
//!
//! One order holds for all keys: an option, the user's own file, the file of the project, the default. What the file of a
//! project may do is a column of the table of keys. What does not count is taken out of a file before commands get it, so
//! none can act on a setting that has no effect.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use prowess_core::{Location, Scope};
use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::key_path::{KeyPath, config_keys};
use super::keys::{ConfigKey, InProject};
use super::read::Reader;
use super::values::of_toml;
use super::{Config, ConfigError, ConfigLimits, SessionConfig, SettingsError};
use crate::env::{self, Environment};
use crate::error::{SourceError, SourceErrorKind};
use crate::fs::atomic;
use crate::fs::walk::ScanChanges;
use crate::registry::trust::Approvals;
use crate::source::open::Opening;
use crate::source::spec::{Place, SourceSpec};

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
    /// Whether it is the user's own.
    pub own: bool,
    /// Whether it exists.
    pub exists: bool,
    /// Whether it is trusted: it is the user's own, or in a folder that the user trusts.
    pub trusted: bool,
    /// Why it is not used.
    pub error: Option<ConfigError>,
    /// What counts of it, and every source that it names.
    pub counts: Config,
    /// Why sources are not used, by their numbers in the file.
    pub(crate) refused: BTreeMap<usize, SourceError>,
}

/// The settings as seen from a folder.
#[derive(Debug, Default)]
pub struct EffectiveSettings {
    /// The user's own file; none if the home folder is not known.
    pub user: Option<ConfigFile>,
    /// The file of the project.
    pub project: Option<ConfigFile>,
    /// Files that are ignored, because they belong to another user.
    pub ignored: Vec<PathBuf>,
    /// Every key in the order of the documentation, with its value or with its values.
    pub values: Vec<ConfigSetting>,
    /// Settings without effect.
    pub unused: Vec<(ConfigSetting, WhyUnused)>,
}

/// The value of an option, by the key that has its meaning.
pub type OptionValue = (&'static str, Value);

impl EffectiveSettings {
    /// The settings as seen from a folder, with these options.
    pub fn of(
        from: &Path,
        environment: &Environment,
        options: &[OptionValue],
    ) -> Result<Self, SettingsError> {
        environment.check()?;
        let approvals = Approvals::file(environment).map(|file| Approvals::load(&file)).transpose()?;
        let approvals = approvals.unwrap_or_default();
        let from = env::absolute(from);
        Ok(Self::within(&from, environment, options, ConfigLimits::default(), &approvals)?)
    }

    /// The same from an absolute folder, with these limits and approvals. Only an error in the user's own file is one.
    pub(crate) fn within(
        from: &Path,
        environment: &Environment,
        options: &[OptionValue],
        limits: ConfigLimits,
        approvals: &Approvals,
    ) -> Result<Self, ConfigError> {
        let found = Config::find(from);
        let mut all = Self { ignored: found.ignored, ..Self::default() };
        let (mut user, mut project) = (Written::default(), Written::default());
        let own = Config::place_of_user(environment);
        if let Some(path) = own.clone() {
            let exists = Config::file_of_user(environment).is_some();
            let mut error = None;
            if exists {
                match Config::text_of_user(&path).and_then(|text| Written::read(text, &path, limits)) {
                    Ok(written) => user = written,
                    Err(distrust) if distrust.is_distrust() => error = Some(distrust),
                    Err(other) => return Err(other),
                }
            }
            all.user = Some(ConfigFile {
                own: true,
                exists,
                trusted: error.is_none(),
                error,
                ..ConfigFile::at(path)
            });
        }
        if let Some(path) = found.file.filter(|file| Some(file) != own.as_ref()) {
            let trusted = approvals.folder_of(&path).is_some();
            let text = Config::text_of_project(&path, approvals);
            let error = match text.and_then(|text| Written::read(text, &path, limits)) {
                Ok(written) => {
                    project = written;
                    None
                }
                Err(error) => Some(error),
            };
            let refused = project.refuse_sources(trusted, environment, &mut all.unused);
            all.project = Some(ConfigFile { trusted, error, refused, ..ConfigFile::at(path) });
        }
        let refused = all.unused.len();
        let narrowed = project.config.scan.of_untrusted();
        for (table, key) in config_keys() {
            let path = KeyPath::of(table, key);
            let setting = |value: &Value, origin, line| {
                let own_skills = origin == ConfigOrigin::Project && is_about_own_skills(key);
                ConfigSetting { key: path.clone(), value: Some(value.clone()), origin, line, own_skills }
            };
            let name = path.to_string();
            let option = options.iter().find(|(option, _)| *option == name);
            let option = option.map(|(_, value)| setting(value, ConfigOrigin::Option, None));
            let [user, project] =
                [(&user, ConfigOrigin::User), (&project, ConfigOrigin::Project)].map(|(written, origin)| {
                    let (_, value, line) = written.values.iter().find(|(known, ..)| *known == name)?;
                    Some(setting(value, origin, Some(*line)))
                });
            all.add(path, &narrowed, option, user, project);
        }
        let unused = all.unused.get(refused..).unwrap_or_default();
        let files =
            [(&mut all.user, user, ConfigOrigin::User), (&mut all.project, project, ConfigOrigin::Project)];
        for (file, written, origin) in files {
            let of_file =
                unused.iter().map(|(setting, _)| setting).filter(|setting| setting.origin == origin);
            if let Some(file) = file {
                file.counts = written.without(of_file.map(|setting| &setting.key), limits);
            }
        }
        Ok(all)
    }

    /// Adds a key that is set in these places.
    fn add(
        &mut self,
        path: KeyPath,
        narrowed: &ScanChanges,
        option: Option<ConfigSetting>,
        user: Option<ConfigSetting>,
        project: Option<ConfigSetting>,
    ) {
        let (key, before) = (path.key, self.values.len());
        let trusted = self.project.as_ref().is_some_and(|project| project.trusted);
        let why = user.as_ref().and_then(|_| key.never_in(ConfigOrigin::User));
        let user = self.unless(why, user);
        let why = project.as_ref().and_then(|set| why_not(key, trusted, narrowed, set, user.as_ref()));
        let project = self.unless(why, project);
        match key.project {
            InProject::Adds => self.values.extend([option, user, project].into_iter().flatten()),
            InProject::AddsWithoutOption if option.is_none() => {
                self.values.extend([user, project].into_iter().flatten());
            }
            InProject::Lowers => self.first([option, project, user]),
            _ => self.first([option, user, project]),
        }
        if self.values.len() == before {
            let value = key.default.value();
            let (origin, line) = (ConfigOrigin::Default, None);
            self.values.push(ConfigSetting { key: path, value, origin, line, own_skills: false });
        }
    }

    /// A setting, unless there is a reason why it has no effect.
    fn unless(&mut self, why: Option<WhyUnused>, setting: Option<ConfigSetting>) -> Option<ConfigSetting> {
        let Some(why) = why else { return setting };
        self.unused.extend(setting.map(|setting| (setting, why)));
        None
    }

    /// Adds the first of these settings; the others have no effect.
    fn first<const N: usize>(&mut self, settings: [Option<ConfigSetting>; N]) {
        let mut settings = settings.into_iter().flatten();
        let Some(first) = settings.next() else { return };
        let why = WhyUnused::Overridden(first.origin);
        self.unused.extend(settings.map(|setting| (setting, why)));
        self.values.push(first);
    }

    /// The files: the user's own, then that of the project.
    pub fn files(&self) -> impl Iterator<Item = &ConfigFile> {
        [&self.user, &self.project].into_iter().flatten()
    }

    /// The file that a setting comes from.
    pub fn file_of(&self, setting: &ConfigSetting) -> Option<&ConfigFile> {
        match setting.origin {
            ConfigOrigin::User => self.user.as_ref(),
            ConfigOrigin::Project => self.project.as_ref(),
            ConfigOrigin::Default | ConfigOrigin::Option => None,
        }
    }

    /// The settings of sessions.
    pub fn session(&self) -> SessionConfig {
        self.files().fold(SessionConfig::default(), |session, file| session.or(&file.counts.session))
    }

    /// The keys in the file of a project that have no effect because the project is not trusted.
    pub fn untrusted(&self) -> Vec<String> {
        let unused = self.unused.iter().filter(|(_, why)| *why == WhyUnused::Untrusted);
        let mut keys: Vec<String> = unused.map(|(setting, _)| setting.key.to_string()).collect();
        keys.dedup();
        keys
    }
}

impl ConfigFile {
    fn at(path: PathBuf) -> Self {
        let (error, counts, refused) = Default::default();
        Self { path, own: false, exists: true, trusted: true, error, counts, refused }
    }

    /// The folder of the file.
    pub fn folder(&self) -> &Path {
        atomic::folder_of(&self.path)
    }
}

/// Whether a setting of a project is about its own skills only.
fn is_about_own_skills(key: &ConfigKey) -> bool {
    matches!(key.project, InProject::Adds | InProject::AddsWithoutOption | InProject::Narrows)
        && key.name != "sources"
}

impl ConfigKey {
    /// Why it never counts in the file of the user or of a project.
    pub fn never_in(&self, origin: ConfigOrigin) -> Option<WhyUnused> {
        match (self.project, origin) {
            (InProject::Decides, ConfigOrigin::User) => Some(WhyUnused::OnlyInProject),
            (InProject::Nothing, ConfigOrigin::Project) => Some(WhyUnused::OnlyInOwn),
            _ => None,
        }
    }
}

/// Why the setting of a project has no effect, whether an option is given or not.
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
    match key.project {
        InProject::Narrows if narrows => None,
        InProject::Trusted | InProject::Narrows | InProject::Lowers if !trusted => Some(WhyUnused::Untrusted),
        InProject::Lowers => {
            let most = user.and_then(|user| user.value.clone()).or_else(|| key.default.value());
            let number = |value: Option<&Value>| value.and_then(Value::as_u64);
            let is_lower = number(project.value.as_ref()) < number(most.as_ref());
            let why = user.map_or(WhyUnused::NotLower, |_| WhyUnused::Overridden(ConfigOrigin::User));
            (!is_lower).then_some(why)
        }
        _ => key.never_in(ConfigOrigin::Project),
    }
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

/// The text of a file, what it says, and its values with their lines.
#[derive(Default)]
struct Written {
    text: String,
    config: Config,
    values: Vec<(String, Value, usize)>,
}

impl Written {
    fn read(text: String, file: &Path, limits: ConfigLimits) -> Result<Self, ConfigError> {
        let reader = Reader::new(&text, file, limits);
        let table = reader.table_of(&text)?;
        let config = reader.read(&table)?;
        let mut values = Vec::new();
        for (table_of_keys, key) in config_keys() {
            let inner = table.get(table_of_keys.name).and_then(|table| table.get_ref().as_table());
            let Some((name, value)) = inner.and_then(|inner| inner.get_key_value(key.name)) else { continue };
            let is_list = matches!(value.get_ref(), DeValue::Array(_) | DeValue::Table(_));
            let at = if is_list { value.span().start.min(name.span().start) } else { name.span().start };
            let path = KeyPath::of(table_of_keys, key).to_string();
            values.push((path, of_toml(value.get_ref()), reader.line(at)));
        }
        drop((table, reader));
        Ok(Self { text, config, values })
    }

    /// What the file says without some keys.
    fn without<'k>(self, keys: impl Iterator<Item = &'k KeyPath>, limits: ConfigLimits) -> Config {
        let mut keys = keys.peekable();
        if keys.peek().is_none() {
            return self.config;
        }
        // The whole was read, so its parts can be read too.
        let reader = Reader::new(&self.text, &self.config.file, limits);
        let mut table = reader.table_of(&self.text).unwrap_or_default();
        for key in keys {
            if let Some(DeValue::Table(table)) = table.get_mut(key.table.name).map(Spanned::get_mut) {
                table.remove(key.key.name);
            }
        }
        reader.read(&table).unwrap_or_default()
    }

    /// Takes the sources out that do not count in the file of a project, and says why.
    fn refuse_sources(
        &mut self,
        trusted: bool,
        environment: &Environment,
        unused: &mut Vec<(ConfigSetting, WhyUnused)>,
    ) -> BTreeMap<usize, SourceError> {
        let mut refused = BTreeMap::new();
        let Ok(key) = KeyPath::parse("skills.sources") else { return refused };
        let name = key.to_string();
        let at = self.values.iter_mut().find(|(known, ..)| *known == name);
        let Some((_, Value::Array(items), line)) = at else { return refused };
        let mut kept = Vec::new();
        for (number, (item, spec)) in items.drain(..).zip(&self.config.sources).enumerate() {
            let Some((why, error)) = refusal(spec, &self.config.file, trusted, environment) else {
                kept.push(item);
                continue;
            };
            let (value, origin) = (Some(Value::from(vec![item])), ConfigOrigin::Project);
            let setting =
                ConfigSetting { key: key.clone(), value, origin, line: Some(*line), own_skills: false };
            unused.push((setting, why));
            refused.insert(number, error);
        }
        *items = kept;
        if items.is_empty() {
            self.values.retain(|(known, ..)| *known != name);
        }
        refused
    }
}

/// Why a source in the file of a project is not used. A project never starts a program or contacts an MCP server, trusted
/// or not: trusting instructions is not trusting a program. Before it is trusted, its sites are not contacted, and places
/// outside of it are not read: opening a repository must not reach beyond it.
fn refusal(
    spec: &SourceSpec,
    file: &Path,
    trusted: bool,
    environment: &Environment,
) -> Option<(WhyUnused, SourceError)> {
    let folder = atomic::folder_of(file);
    // Every kind of place is named here, so that a new one is judged.
    let error = match &spec.place {
        Place::Mcp(server) => {
            let error = SourceErrorKind::ServerOfProject.at_location(Location::Text(server.shown().into()));
            return Some((WhyUnused::Server, error));
        }
        Place::Inline { .. } => return None,
        _ if trusted => return None,
        Place::Url { url, .. } => SourceErrorKind::SiteOfProject.at_url(url),
        Place::Dir(_) | Place::Plugin(_) | Place::Archive(_) | Place::Jsonl(_) => {
            // A place that cannot be determined is an error when the source is opened.
            let opening = opening_in(file, false, Opening::named(folder, None));
            let place = opening.place(spec, environment).ok()??;
            (!place.starts_with(folder)).then(|| SourceErrorKind::OutsideProject.at(place))?
        }
    };
    Some((WhyUnused::Untrusted, error))
}

/// How the sources of a file are opened.
pub(crate) fn opening_in(file: &Path, own: bool, opening: Opening) -> Opening {
    let folder = atomic::folder_of(file).to_owned();
    let (written, relative_to) = (file.display().to_string(), Some(folder.clone()));
    let opening = Opening { base: folder, written, relative_to, ..opening };
    // Trusted or not: trusting instructions does not give them access to the environment.
    if own { opening } else { Opening { scope: Scope::Project, variables: false, ..opening } }
}

#[cfg(test)]
mod tests;
