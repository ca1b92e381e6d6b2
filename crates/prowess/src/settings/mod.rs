//! `prowess.toml`: the levels of rules, which paths are ignored, and more sources of skills.

#[cfg(feature = "edit")]
pub(crate) mod edit;
pub(crate) mod key_path;
pub(crate) mod keys;
mod read;
pub(crate) mod resolve;
mod session;
pub(crate) mod values;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use prowess_core::check;
use prowess_core::finding::Preset;
use prowess_core::limits::MAX_PROJECT_FILE_BYTES;
use prowess_core::with_methods;
use prowess_core::{Duplicates, Level, Profile};

use crate::advice::{Hint, HintAction};
use crate::env::{self, RelativePath};
use crate::error::{SourceError, SourceErrorKind};
use crate::fs::walk::ScanChanges;
use crate::fs::{atomic, confine, own};
use crate::library::clients;
use crate::registry::trust::Approvals;
use crate::source::spec::SourceSpec;
use prowess_core::path::Glob;

use read::Reader;
pub use session::SessionConfig;

/// The name of the file.
pub const FILE_NAME: &str = "prowess.toml";

/// The maximum size of a configuration, in bytes.
pub const MAX_CONFIG_BYTES: usize = MAX_PROJECT_FILE_BYTES;

/// The maximum numbers of entries in a configuration. A repository can contain one, and each entry costs work for every
/// command that is run in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfigLimits {
    /// Of `skills.sources`: each is opened and listed.
    pub sources: usize,
    /// Of names in `skills.disable`: each is compared with every skill.
    pub disabled: usize,
    /// Of `check.paths`: each is compared with every path.
    pub paths: usize,
}

with_methods! { ConfigLimits:
    with_sources sources: usize;
    with_disabled disabled: usize;
    with_paths paths: usize;
}

impl Default for ConfigLimits {
    fn default() -> Self {
        Self { sources: 256, disabled: 1_024, paths: 1_024 }
    }
}

/// The configuration for a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundFile {
    /// The file, if there is one.
    pub file: Option<PathBuf>,
    /// Files that were skipped, because they belong to another user.
    pub ignored: Vec<PathBuf>,
}

/// The contents of a `prowess.toml`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Config {
    /// The file it was read from.
    pub file: PathBuf,
    /// The profile to start with.
    pub profile: Option<Preset>,
    /// Levels of rules.
    pub levels: Vec<(String, Level)>,
    /// Settings for some paths only. If two match, the later one counts.
    pub paths: Vec<PathConfig>,
    /// The names of disabled skills.
    pub disabled: Vec<Glob>,
    /// The names of the skills that are offered; `None` for all.
    pub enabled: Option<Vec<Glob>>,
    /// The profile that hides skills with an error under it.
    pub strict: Option<Preset>,
    /// Which of two skills with the same key is offered.
    pub duplicates: Option<Duplicates>,
    /// The options of walks.
    pub scan: ScanChanges,
    /// More sources of skills.
    pub sources: Vec<SourceSpec>,
    /// The options of sessions.
    pub session: SessionConfig,
    /// Where the skills of organisations are: URLs with `{org}` and `{name}` in them, by organisation.
    pub registries: BTreeMap<String, String>,
}

/// Settings for the paths that a glob matches.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PathConfig {
    /// The paths, relative to the folder of the file.
    pub glob: Glob,
    /// Whether they are ignored.
    pub ignore: Option<bool>,
    /// Levels of rules.
    pub levels: Vec<(String, Level)>,
}

/// Why the settings of a user could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// A configuration could not be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The approvals could not be read.
    #[error(transparent)]
    Approvals(#[from] SourceError),
    /// An environment variable for the user's files is not an absolute path.
    #[error(transparent)]
    Environment(#[from] RelativePath),
}

impl SettingsError {
    /// What to do about it.
    pub fn hint(&self) -> Hint {
        match self {
            Self::Config(error) => error.hint(),
            Self::Approvals(error) => error.hint(),
            Self::Environment(error) => error.hint().into(),
        }
    }
}

/// Why a `prowess.toml` could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The file could not be read.
    #[error("could not read the configuration")]
    Read(#[from] SourceError),
    /// Its content is invalid.
    #[error("the configuration is not understood: {}:{line}: {message}", .file.display())]
    Content {
        /// The file.
        file: PathBuf,
        /// The line, starting at one.
        line: usize,
        /// The key, and what is wrong with it.
        message: String,
        /// What to do.
        hint: Hint,
    },
}

impl ConfigError {
    /// The file it is about.
    pub fn path(&self) -> &Path {
        match self {
            Self::Read(error) => Path::new(error.at.path().unwrap_or_default()),
            Self::Content { file, .. } => file,
        }
    }

    /// Whether another user wrote the file, or can.
    pub(crate) fn is_distrust(&self) -> bool {
        matches!(self, Self::Read(SourceError { kind: SourceErrorKind::Distrusted { .. }, .. }))
    }

    /// The stable code, for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Read(error) => error.kind.code(),
            Self::Content { .. } => "config-invalid",
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Hint {
        match self {
            Self::Read(error) => error.hint(),
            Self::Content { hint, .. } => hint.clone(),
        }
    }
}

/// An error if a rule cannot have this level.
pub fn refuse_level(code: &str, level: Level) -> Result<(), (String, Hint)> {
    match check::rule(code) {
        Err(unknown) => Err((unknown.to_string(), HintAction::ListRules.into())),
        // Ignoring the level silently would look as if it counted.
        Ok(rule) if rule.refuses() && level < Level::Error => Err((
            format!("this rule is always an error, because the skill cannot be loaded: {code}"),
            "leave the path out of the check instead".into(),
        )),
        Ok(_) => Ok(()),
    }
}

impl Config {
    /// The configuration for a folder: the closest one in it or above, up to the root of its git repository or of the
    /// file system. `folder` is absolute.
    ///
    /// A file counts if it belongs to this user, to root, or to the owner of the folder. Otherwise, another user could
    /// write one to a shared folder such as `/tmp`, and decide what is checked in the folders below it.
    pub fn find(folder: &Path) -> FoundFile {
        let mut found = FoundFile::default();
        for above in folder.ancestors() {
            let file = above.join(FILE_NAME);
            if let Ok(metadata) = fs::symlink_metadata(&file) {
                if belongs(&metadata, folder) {
                    found.file = Some(file);
                    return found;
                }
                found.ignored.push(file);
            }
            if fs::symlink_metadata(above.join(".git")).is_ok() {
                break;
            }
        }
        found
    }

    /// The path of the user's own configuration, if there is one. A dangling link counts as one, so that reading it fails
    /// and the user's settings are not silently ignored.
    pub fn file_of_user(environment: &env::Environment) -> Option<PathBuf> {
        Self::place_of_user(environment).filter(|file| file.symlink_metadata().is_ok())
    }

    /// Where the user's own configuration is, or would be.
    pub(crate) fn place_of_user(environment: &env::Environment) -> Option<PathBuf> {
        Some(environment.xdg("XDG_CONFIG_HOME", ".config")?.join("prowess").join(FILE_NAME))
    }

    /// Reads the user's own configuration; none if there is no file, or if another user wrote it or can.
    pub fn of_user(
        environment: &env::Environment,
        limits: ConfigLimits,
    ) -> Result<Option<Self>, ConfigError> {
        let Some(file) = Self::file_of_user(environment) else { return Ok(None) };
        match Self::text_of_user(&file).and_then(|text| Self::parse_within(&text, &file, limits)) {
            Err(ConfigError::Read(error)) if matches!(error.kind, SourceErrorKind::Distrusted { .. }) => {
                own::note_ignored(&error);
                Ok(None)
            }
            config => config.map(Some),
        }
    }

    /// The text of the user's own file. It can name programs to run, so only what this user or root wrote is believed.
    fn text_of_user(file: &Path) -> Result<String, ConfigError> {
        let bytes = own::read_judged(atomic::folder_of(file), file, MAX_CONFIG_BYTES)?;
        String::from_utf8(bytes).map_err(|error| ConfigError::not_text(file, &error))
    }

    /// Reads the file of a project. If the project is not trusted, the file must be in it: errors quote the file, and a
    /// link must not expose another one.
    pub fn read_of_project(
        file: &Path,
        limits: ConfigLimits,
        approvals: &Approvals,
    ) -> Result<Self, ConfigError> {
        Self::parse_within(&Self::text_of_project(file, approvals)?, file, limits)
    }

    fn text_of_project(file: &Path, approvals: &Approvals) -> Result<String, ConfigError> {
        let trusted = approvals.folder_of(&env::absolute(file)).is_some();
        let within = file.parent().map(clients::project).filter(|_| !trusted);
        let bytes = confine::read_small(file, MAX_CONFIG_BYTES, within)?;
        String::from_utf8(bytes).map_err(|error| ConfigError::not_text(file, &error))
    }

    /// Reads the text of a file, with the default limits.
    pub fn parse(text: &str, file: &Path) -> Result<Self, ConfigError> {
        Self::parse_within(text, file, ConfigLimits::default())
    }

    /// Reads the text of a file.
    pub fn parse_within(text: &str, file: &Path, limits: ConfigLimits) -> Result<Self, ConfigError> {
        let reader = Reader::new(text, file, limits);
        reader.read(&reader.table_of(text)?)
    }

    /// Whether a path is ignored.
    pub fn ignores(&self, path: &Path) -> bool {
        self.matching(path).filter_map(|part| part.ignore).last().unwrap_or(false)
    }

    /// The profile for a path. `preset` overrides that of the file.
    pub fn profile(&self, path: &Path, preset: Option<Preset>) -> Profile {
        let mut profile = Profile::new(preset.or(self.profile).unwrap_or(Preset::Spec));
        let parts = self.matching(path).flat_map(|part| &part.levels);
        for (code, level) in self.levels.iter().chain(parts) {
            // Every code was checked when the file was read.
            let _ = profile.set_level(code, *level);
        }
        profile
    }

    /// The settings that match a path, in the order of the file.
    fn matching(&self, path: &Path) -> impl Iterator<Item = &PathConfig> {
        let folder = self.file.parent().unwrap_or(Path::new("/"));
        let relative = env::absolute(path).strip_prefix(folder).ok().map(|path| {
            let segments: Vec<_> = path.iter().map(|segment| segment.to_string_lossy()).collect();
            segments.join("/")
        });
        self.paths.iter().filter(move |part| relative.as_deref().is_some_and(|path| part.glob.matches(path)))
    }
}

/// Whether a configuration belongs to this user, to root, or to the owner of the folder that it is for.
#[cfg(unix)]
fn belongs(file: &fs::Metadata, folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let owner = file.uid();
    owner == 0
        || owner == rustix::process::geteuid().as_raw()
        || fs::metadata(folder).is_ok_and(|folder| folder.uid() == owner)
}

#[cfg(not(unix))]
fn belongs(_: &fs::Metadata, _: &Path) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use prowess_core::check::rule;

    fn parse(text: &str) -> Result<Config, String> {
        Config::parse(text, Path::new("/p/prowess.toml")).map_err(|error| error.to_string())
    }

    #[test]
    fn later_settings_override_earlier_ones_and_the_caller_overrides_the_profile() {
        let config = parse(
            "[check]\nprofile = 'anthropic'\n[check.levels]\nname-folder-mismatch = 'off'\n\
             [[check.paths]]\nglob = 'vendor/**'\nignore = true\n\
             [[check.paths]]\nglob = 'vendor/ours'\nignore = false\nlevels = { name-folder-mismatch = 'info' }\n",
        )
        .unwrap();
        assert!(config.ignores(Path::new("/p/vendor/x/SKILL.md")));
        assert!(!config.ignores(Path::new("/p/vendor/ours/SKILL.md")));
        assert!(!config.ignores(Path::new("/elsewhere/vendor/x/SKILL.md")));
        let mismatch = rule("name-folder-mismatch").unwrap();
        let profile = config.profile(Path::new("/p/a/SKILL.md"), None);
        assert_eq!((profile.preset(), profile.level(mismatch)), (Preset::Anthropic, Level::Off));
        let profile = config.profile(Path::new("/p/vendor/ours/SKILL.md"), Some(Preset::Lenient));
        assert_eq!((profile.preset(), profile.level(mismatch)), (Preset::Lenient, Level::Info));
    }

    #[test]
    fn every_mistake_names_the_file_the_line_and_the_key() {
        for (text, expected) in [
            ("x = 1", "1: no such key: x"),
            ("[check]\n\nprofil = 'spec'", "3: no such key: check.profil"),
            ("[check]\nprofile = 'strict'", "2: check.profile: no such profile: strict; the profiles are"),
            ("[check]\nprofile = 1", "2: check.profile: a text is wanted"),
            (
                "[check.levels]\nname-to-long = 'off'",
                "2: check.levels.name-to-long: no such rule: name-to-long;",
            ),
            ("[check.levels]\nname-too-long = 'of'", "2: check.levels.name-too-long: no such level: of"),
            (
                "[check.levels]\ndescription-missing = 'off'",
                "2: check.levels.description-missing: this rule is",
            ),
            ("[[check.paths]]\nignore = true", "1: check.paths: the glob is missing"),
            ("[[check.paths]]\nglob = '../x'", "2: check.paths.glob: a glob has no segments"),
            ("[[check.paths]]\nglob = 'x'\nignore = 1", "3: check.paths.ignore: true or false"),
            ("[[check.paths]]\nglob = 'x'\nskip = true", "3: no such key: check.paths.skip"),
            ("check = 1", "1: check: a table is wanted"),
            ("[check]\npaths = 1", "2: check.paths: a list of tables is wanted"),
            ("[check", "1: "),
            ("[skills]\nsources = 1", "2: skills.sources: a list of tables is wanted"),
            ("[[skills.sources]]\nprefix = 'a'", "1: skills.sources[0]: no place is named"),
            (
                "[[skills.sources]]\ndir = 'a'\n[[skills.sources]]\ndir = 'a'\nurl = 'https://x.test'",
                "3: skills.sources[1]: more than one place is named: dir, url",
            ),
            ("[[skills.sources]]\nfolder = 'a'", "2: no such key: skills.sources[0].folder"),
            ("[[skills.sources]]\ndir = 'a'\npreload = 'yes'", "3: skills.sources[0].preload: true or false"),
            ("[session]\nfilter = '/../x'", "2: session.filter: the filter is not a glob"),
            ("[session]\nfilter = 3", "2: session.filter: a text"),
            ("[session]\ntools = 'Read'", "2: session.tools: a list of names"),
            ("[session]\nplain = 'yes'", "2: session.plain: true or false"),
            ("[session]\ninline = 1", "2: session.inline: true or false"),
            ("[session]\nlocation = 1", "2: session.location: true or false"),
            ("[session]\nmax_activation_bytes = -1", "2: session.max_activation_bytes: a number"),
            ("[session]\nmax_kept_bytes = '1'", "2: session.max_kept_bytes: a number"),
            ("[session]\nfilters = 'a'", "2: no such key: session.filters"),
        ] {
            let error = parse(text).unwrap_err();
            let start = format!("the configuration is not understood: /p/prowess.toml:{expected}");
            assert!(error.starts_with(&start), "{text:?}: {error}");
        }
    }

    #[test]
    fn more_entries_than_the_limit_are_an_error_that_names_the_key_and_the_limit() {
        let limits = ConfigLimits { sources: 2, disabled: 2, paths: 2 };
        for (two, more, key) in [
            ("[skills]\ndisable = ['a', 'b'", ", 'c']", "skills.disable"),
            ("[skills]\nsources = [{dir = 'a'}, {dir = 'b'}", ", {dir = 'c'}]", "skills.sources"),
            ("[check]\npaths = [{glob = 'a'}, {glob = 'b'}", ", {glob = 'c'}]", "check.paths"),
        ] {
            let parse = |text: String| Config::parse_within(&text, Path::new("/p/prowess.toml"), limits);
            assert!(parse(format!("{two}]")).is_ok(), "{key}");
            let error = parse(format!("{two}{more}")).unwrap_err().to_string();
            assert!(error.ends_with(&format!("2: {key}: there are 3, at most 2")), "{error}");
        }
    }

    #[test]
    fn the_closest_file_counts_and_the_search_ends_at_the_repository() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("repo/.git")).unwrap();
        fs::create_dir_all(root.join("repo/a/b")).unwrap();
        fs::write(root.join(FILE_NAME), "").unwrap();
        assert_eq!(Config::find(&root.join("repo/a/b")).file, None);
        fs::write(root.join("repo/prowess.toml"), "").unwrap();
        assert_eq!(Config::find(&root.join("repo/a/b")).file, Some(root.join("repo/prowess.toml")));
        fs::write(root.join("repo/a/prowess.toml"), "").unwrap();
        assert_eq!(Config::find(&root.join("repo/a/b")).file, Some(root.join("repo/a/prowess.toml")));
    }
}
