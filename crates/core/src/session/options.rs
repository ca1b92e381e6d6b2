//! How a session behaves, apart from what it may do.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::interface::naming::{Naming, Tool};
use crate::files::page::{self, TooLarge};
use crate::limits::{MAX_ACTIVATION_BYTES, MAX_KEPT_BYTES};
use crate::render::{ActivationStyle, Budget, CatalogStyle, Shape};

/// What happens when a skill is loaded and the limit of active skills is reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum WhenFull {
    /// The call is refused.
    #[default]
    Refuse,
    /// The skill that was activated first is deactivated, a preloaded one last.
    EvictOldest,
}

/// How long a skill stays active.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Lifetime {
    /// Until it is deactivated.
    #[default]
    Persistent,
    /// Until it has not been used for this many turns.
    Bounded(u64),
    /// Until the end of the turn.
    Ephemeral,
}

/// What the model gets when it activates an active skill again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Repeat {
    /// The full text.
    #[default]
    Full,
    /// A short receipt, unless the skill changed.
    Receipt,
}

/// How a session behaves, apart from what it may do.
///
/// ```
/// use prowess_core::session::{Options, Repeat};
///
/// let options = Options::default().with_max_active(3).with_repeat(Repeat::Receipt);
/// assert_eq!(options.max_active, 3);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Options {
    /// The names of the tools.
    pub naming: Naming,
    /// Which tools are offered. Scripts also need [`super::Policy::run`].
    pub tools: BTreeSet<Tool>,
    /// The maximum number of active skills; 0 for no limit.
    pub max_active: usize,
    /// What happens when this limit or that of kept bytes is reached.
    pub when_full: WhenFull,
    /// How long a skill stays active.
    pub lifetime: Lifetime,
    /// What the model gets when it activates an active skill again.
    pub repeat: Repeat,
    /// Whether the text of an activation lists the files of the skill and says how to read one. The data counts them
    /// in any case.
    pub hint_files: bool,
    /// Whether an activation shows the contents of the skill's files: of those that are text and within
    /// [`ActivationStyle::max_inline_bytes`]. Others are named.
    pub inline_resources: bool,
    /// Whether an activation shows the folder of the skill on disk, which is useful only on the same machine.
    pub show_folders: bool,
    /// What an activation shows.
    pub activation: ActivationStyle,
    /// The longest text of an activation, in bytes; a longer one is refused before it is built.
    pub max_activation_bytes: usize,
    /// The maximum number of bytes that the session keeps of its active skills and pending calls, arguments included. A
    /// text counts with what it takes beside its bytes, about a quarter more. A call beyond it is refused,
    /// or evicts the oldest skills, as [`Options::when_full`] says.
    pub max_kept_bytes: usize,
    /// How `list` and `search` show skills.
    pub catalog: CatalogStyle,
    /// The maximum number of skills that one call of `list` shows.
    pub max_list: usize,
    /// The maximum number of files that one call lists.
    pub max_files: usize,
    /// The catalog in the description of the load tool, within a budget.
    pub catalog_in_tool: Option<(CatalogStyle, Budget)>,
    /// The maximum number of names in the `enum` of a schema; with more visible skills the name is any string. Model
    /// interfaces limit such lists to between 250 and 1 000.
    pub max_enum: usize,
    /// The maximum number of bytes that one call reads of a file.
    pub max_resource_bytes: usize,
    /// What happens to a larger file.
    pub too_large: TooLarge,
    /// The maximum number of search results.
    pub max_hits: usize,
    /// The text above the catalog in a prompt: a default text when absent, no text when empty.
    pub instruction: Option<String>,
    /// The maximum number of events in the log; the effect of older ones is kept in one list.
    pub max_events: usize,
}

with_methods! { Options:
    with_naming naming: Naming;
    with_tools tools: BTreeSet<Tool>;
    with_max_active max_active: usize;
    with_when_full when_full: WhenFull;
    with_lifetime lifetime: Lifetime;
    with_repeat repeat: Repeat;
    with_hint_files hint_files: bool;
    with_inline_resources inline_resources: bool;
    with_show_folders show_folders: bool;
    with_activation activation: ActivationStyle;
    with_max_activation_bytes max_activation_bytes: usize;
    with_max_kept_bytes max_kept_bytes: usize;
    with_catalog catalog: CatalogStyle;
    with_max_list max_list: usize;
    with_max_files max_files: usize;
    with_catalog_in_tool catalog_in_tool: Option<(CatalogStyle, Budget)>;
    with_max_enum max_enum: usize;
    with_max_resource_bytes max_resource_bytes: usize;
    with_too_large too_large: TooLarge;
    with_max_hits max_hits: usize;
    with_instruction instruction: Option<String>;
    with_max_events max_events: usize;
}

impl Default for Options {
    fn default() -> Self {
        Self {
            naming: Naming::default(),
            tools: Tool::ALL.iter().copied().collect(),
            max_active: 0,
            when_full: WhenFull::default(),
            lifetime: Lifetime::default(),
            repeat: Repeat::default(),
            hint_files: true,
            inline_resources: false,
            show_folders: true,
            activation: ActivationStyle::default(),
            max_activation_bytes: MAX_ACTIVATION_BYTES,
            max_kept_bytes: MAX_KEPT_BYTES,
            catalog: CatalogStyle::new(Shape::Compact),
            max_list: 100,
            max_files: 100,
            catalog_in_tool: None,
            max_enum: 250,
            max_resource_bytes: page::DEFAULT_LIMIT,
            too_large: TooLarge::Page,
            max_hits: 50,
            instruction: None,
            max_events: 1_000,
        }
    }
}
