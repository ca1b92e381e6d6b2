//! The options that a host gives, and the values of the core that they become.

use std::collections::BTreeMap;

use prowess_core::render::{ActivationStyle, Budget, CatalogStyle, Shape};
use prowess_core::select::{OnEmpty, OnSelectError, SelectOptions};
use prowess_core::session::{Lifetime, Naming, Options, Repeat, Tool, WhenFull};
use prowess_core::{
    FileEntry, HostTools, LeftOut, Level, Location, Manifest, NameRule, Origin, Preset, Profile, RelPath,
    TooLarge,
};
use serde::{Deserialize, Deserializer};

use crate::failure::Failure;

/// Where a text comes from.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Place {
    /// The place of the SKILL.md.
    pub(crate) location: Option<String>,
    /// The folder of the skill.
    pub(crate) folder: Option<String>,
    /// The name of the file.
    pub(crate) file: Option<String>,
}

impl Place {
    pub(crate) fn origin(self) -> Origin {
        let file = self.file.as_deref().unwrap_or("SKILL.md");
        match (self.location, self.folder) {
            (Some(location), None) => Origin::at(Location::parse(&location)),
            (Some(location), Some(folder)) => Origin::at(Location::parse(&location)).with_folder(folder),
            (None, Some(folder)) => Origin::at(format!("{folder}/{file}")).with_folder(folder),
            (None, None) => Origin::text("<text>"),
        }
    }
}

/// What places in a text count.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Units {
    /// UTF-16 units.
    #[default]
    Utf16,
    /// Characters, which are code points.
    Characters,
}

impl Units {
    /// How many units a character has.
    pub(crate) fn of(self, character: char) -> usize {
        match self {
            Self::Utf16 => character.len_utf16(),
            Self::Characters => 1,
        }
    }
}

/// A profile with other levels.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Judge {
    pub(crate) profile: Option<Preset>,
    pub(crate) levels: BTreeMap<String, Level>,
    pub(crate) names: Option<NameRule>,
    pub(crate) reserved_words: Option<Vec<String>>,
    pub(crate) folder_match: Option<Level>,
    pub(crate) angle_brackets: Option<Level>,
    pub(crate) unknown_fields: Option<Level>,
}

impl Judge {
    /// The profile.
    pub fn profile(self, usual: Preset) -> Result<Profile, Failure> {
        let mut profile = Profile::new(self.profile.unwrap_or(usual));
        if let Some(names) = self.names {
            profile = profile.with_names(names);
        }
        if let Some(words) = self.reserved_words {
            profile = profile.with_reserved_words(words);
        }
        if let Some(level) = self.folder_match {
            profile = profile.with_folder_match(level);
        }
        if let Some(level) = self.angle_brackets {
            profile = profile.with_angle_brackets(level);
        }
        if let Some(level) = self.unknown_fields {
            profile = profile.with_unknown_fields(level);
        }
        for (code, level) in &self.levels {
            profile.set_level(code, *level).map_err(|error| Failure::argument(error.to_string()))?;
        }
        Ok(profile)
    }
}

/// A file of a skill: its path, or its path with what is known of it.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "a file is its path, or an object with its path and perhaps its size, which is a whole number"
)]
pub enum GivenFile {
    /// Its path.
    Path(String),
    /// Its path with what is known of it.
    #[serde(rename_all = "camelCase")]
    Whole {
        /// Its path.
        path: String,
        /// Its size in bytes.
        size: Option<u64>,
        /// Whether it may be run.
        #[serde(default)]
        executable: bool,
        /// Why it is no file of the skill.
        left_out: Option<String>,
    },
}

/// The manifest of given files. A path that a skill cannot have is an error.
pub fn manifest(files: Vec<GivenFile>) -> Result<Manifest, Failure> {
    let (mut entries, mut left_out) = (Vec::new(), Vec::new());
    for file in files {
        let (path, size, executable) = match file {
            GivenFile::Path(path) => (path, None, false),
            GivenFile::Whole { path, left_out: Some(reason), .. } => {
                left_out.push(LeftOut::new(path, reason));
                continue;
            }
            GivenFile::Whole { path, size, executable, left_out: None } => (path, size, executable),
        };
        let path = rel_path(&path)?;
        let mut entry = size
            .map_or_else(|| FileEntry::unmeasured(path.clone()), |size| FileEntry::new(path.clone(), size));
        entry.executable = executable;
        entries.push(entry);
    }
    Ok(Manifest::new(entries).with_left_out(left_out))
}

/// A path in a skill.
pub fn rel_path(path: &str) -> Result<RelPath, Failure> {
    RelPath::parse(path).map_err(|error| Failure::argument(error.to_string()))
}

/// The layout of a catalog.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Style {
    shape: Option<Shape>,
    location: Option<bool>,
    compatibility: bool,
    max_description: Option<usize>,
    one_line: bool,
    indent: Option<bool>,
    heading: Option<String>,
    intro: Option<String>,
    outro: Option<String>,
    empty: Option<String>,
}

impl Style {
    /// The layout.
    pub fn style(self, usual: Shape) -> CatalogStyle {
        let style = CatalogStyle::new(self.shape.unwrap_or(usual));
        let location = self.location.unwrap_or(style.location);
        style
            .with_location(location)
            .with_compatibility(self.compatibility)
            .with_max_description(self.max_description)
            .with_one_line(self.one_line)
            .with_indent(self.indent.unwrap_or(true))
            .with_heading(self.heading)
            .with_intro(self.intro)
            .with_outro(self.outro)
            .with_empty(self.empty)
    }
}

/// What an activation shows.
#[derive(Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct ActivationLook {
    max_listed: Option<usize>,
    max_inline_bytes: Option<usize>,
    compatibility: bool,
    plain: bool,
}

impl ActivationLook {
    /// The layout.
    pub fn style(&self) -> ActivationStyle {
        let style = ActivationStyle::default().with_compatibility(self.compatibility).with_plain(self.plain);
        let (listed, inline) = (style.max_listed, style.max_inline_bytes);
        style
            .with_max_listed(self.max_listed.unwrap_or(listed))
            .with_max_inline_bytes(self.max_inline_bytes.unwrap_or(inline))
    }
}

/// How long a text may be; without either, there is no limit.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Limit {
    /// Estimated tokens.
    Tokens(usize),
    /// Characters.
    Characters(usize),
}

impl From<Limit> for Budget {
    fn from(limit: Limit) -> Self {
        match limit {
            Limit::Tokens(count) => Self::Tokens(count),
            Limit::Characters(count) => Self::Characters(count),
        }
    }
}

pub(crate) fn budget(limit: Option<Limit>) -> Budget {
    limit.map_or(Budget::Unlimited, Budget::from)
}

/// How many skills a query selects.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Narrowing {
    /// Absent for the usual number, null for all.
    #[serde(deserialize_with = "given")]
    pub top_k: Option<Option<usize>>,
    /// The lowest score that counts.
    pub min_score: Option<f32>,
    /// The tools of the host.
    pub available_tools: HostTools,
    /// What happens when nothing is found.
    pub on_empty: OnEmpty,
    /// What happens when the selector fails.
    pub on_error: OnSelectError,
}

impl Narrowing {
    /// The options of a selection.
    pub fn options(self) -> SelectOptions {
        let usual = SelectOptions::default();
        let top_k = self.top_k.unwrap_or(usual.top_k);
        usual
            .with_top_k(top_k)
            .with_min_score(self.min_score)
            .with_available_tools(self.available_tools)
            .with_on_empty(self.on_empty)
            .with_on_error(self.on_error)
    }
}

/// A member whose null differs from its absence.
pub(crate) fn given<'de, D: Deserializer<'de>, T: Deserialize<'de>>(value: D) -> Result<Option<T>, D::Error> {
    T::deserialize(value).map(Some)
}

/// The catalog in the description of the load tool.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct InTool {
    #[serde(default)]
    style: Style,
    budget: Option<Limit>,
}

/// How a session behaves: each member that is given, over the usual options.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct GivenOptions {
    naming: Option<String>,
    namespace: Option<String>,
    tools: Option<Vec<Tool>>,
    max_active: Option<usize>,
    when_full: Option<WhenFull>,
    lifetime: Option<Lifetime>,
    repeat: Option<Repeat>,
    hint_files: Option<bool>,
    inline_resources: Option<bool>,
    show_folders: Option<bool>,
    activation: Option<ActivationLook>,
    max_activation_bytes: Option<usize>,
    max_kept_bytes: Option<usize>,
    catalog: Option<Style>,
    max_list: Option<usize>,
    max_files: Option<usize>,
    #[serde(deserialize_with = "given")]
    #[expect(clippy::option_option, reason = "null is no catalog there")]
    catalog_in_tool: Option<Option<InTool>>,
    max_enum: Option<usize>,
    max_resource_bytes: Option<usize>,
    too_large: Option<TooLarge>,
    max_hits: Option<usize>,
    #[serde(deserialize_with = "given")]
    #[expect(clippy::option_option, reason = "null is the usual text of the library")]
    instruction: Option<Option<String>>,
    max_events: Option<usize>,
}

impl GivenOptions {
    /// The options, over usual ones.
    pub fn over(self, usual: &Options) -> Result<Options, Failure> {
        let mut options = usual.clone();
        if let Some(name) = &self.naming {
            options.naming = name.parse::<Naming>().map_err(|error| Failure::argument(format!("{error}")))?;
        }
        if let Some(namespace) = &self.namespace {
            let named = options.naming.with_namespace(namespace);
            options.naming = named.map_err(|error| Failure::argument(error.to_string()))?;
        }
        if let Some(tools) = self.tools {
            options.tools = tools.into_iter().collect();
        }
        options.when_full = self.when_full.unwrap_or(options.when_full);
        options.lifetime = self.lifetime.unwrap_or(options.lifetime);
        options.repeat = self.repeat.unwrap_or(options.repeat);
        options.inline_resources = self.inline_resources.unwrap_or(options.inline_resources);
        options.activation = self.activation.map_or(options.activation, |look| look.style());
        options.instruction = self.instruction.unwrap_or(options.instruction);
        let set = |to: &mut usize, value: Option<usize>| *to = value.unwrap_or(*to);
        set(&mut options.max_active, self.max_active);
        set(&mut options.max_activation_bytes, self.max_activation_bytes);
        set(&mut options.max_kept_bytes, self.max_kept_bytes);
        set(&mut options.max_list, self.max_list);
        set(&mut options.max_files, self.max_files);
        set(&mut options.max_enum, self.max_enum);
        set(&mut options.max_resource_bytes, self.max_resource_bytes);
        set(&mut options.max_hits, self.max_hits);
        set(&mut options.max_events, self.max_events);
        options.hint_files = self.hint_files.unwrap_or(options.hint_files);
        options.show_folders = self.show_folders.unwrap_or(options.show_folders);
        options.too_large = self.too_large.unwrap_or(options.too_large);
        if let Some(style) = self.catalog {
            options.catalog = style.style(Shape::Compact);
        }
        if let Some(list) = self.catalog_in_tool {
            options.catalog_in_tool =
                list.map(|list| (list.style.style(Shape::Compact), budget(list.budget)));
        }
        Ok(options)
    }
}
