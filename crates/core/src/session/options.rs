//! How a session behaves, apart from what it may do.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::interface::naming::{Naming, Tool};
use crate::files::page::{self, TooLarge};
use crate::limits::MAX_ACTIVATION_BYTES;
use crate::render::{ActivationStyle, Budget, CatalogStyle, Shape};

/// What happens when one more skill is to be active than may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum WhenFull {
    /// It is refused.
    #[default]
    Refuse,
    /// The one that was activated longest ago gives way, a preloaded one last.
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
    /// Until it was not used for so many turns.
    Bounded(u64),
    /// Until the end of the turn.
    Ephemeral,
}

/// What activating an active skill again gives.
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
    /// What the tools are called.
    pub naming: Naming,
    /// Which tools are offered. Running scripts needs the policy's word too.
    pub tools: BTreeSet<Tool>,
    /// The most skills that are active at once; 0 for no limit.
    pub max_active: usize,
    /// What happens when one more is wanted.
    pub when_full: WhenFull,
    /// How long a skill stays active.
    pub lifetime: Lifetime,
    /// What activating an active skill again gives.
    pub repeat: Repeat,
    /// Whether the text of an activation lists the files of the skill and says how to read one. The data counts them
    /// in any case.
    pub hint_files: bool,
    /// Whether an activation shows the contents of the skill's files: of those that are text and within
    /// [`ActivationStyle::max_inline_bytes`]. Others are named.
    pub inline_resources: bool,
    /// Whether a model is told in which folder of the disk a skill lies: it can use that only on the same machine.
    pub show_folders: bool,
    /// What an activation shows.
    pub activation: ActivationStyle,
    /// The longest text of an activation, in bytes; a longer one is refused before it is built.
    pub max_activation_bytes: usize,
    /// How `list` and `search` show skills.
    pub catalog: CatalogStyle,
    /// The most skills that one call of `list` shows.
    pub max_list: usize,
    /// The most files that one call lists.
    pub max_files: usize,
    /// The catalog to put into the description of the tool that loads, within a budget.
    pub catalog_in_tool: Option<(CatalogStyle, Budget)>,
    /// The most names that a schema lists; with more visible skills a name is any text. Interfaces of models cap
    /// such lists between 250 and 1 000.
    pub max_enum: usize,
    /// The most bytes of a file that one call reads.
    pub max_resource_bytes: usize,
    /// What a larger file gets.
    pub too_large: TooLarge,
    /// The most hits of a search.
    pub max_hits: usize,
    /// What stands above the catalog in a prompt; a text of ours when absent, nothing when empty.
    pub instruction: Option<String>,
    /// The most events that are kept; older ones are summed up.
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
            tools: Tool::ALL.into_iter().collect(),
            max_active: 0,
            when_full: WhenFull::default(),
            lifetime: Lifetime::default(),
            repeat: Repeat::default(),
            hint_files: true,
            inline_resources: false,
            show_folders: true,
            activation: ActivationStyle::default(),
            max_activation_bytes: MAX_ACTIVATION_BYTES,
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
