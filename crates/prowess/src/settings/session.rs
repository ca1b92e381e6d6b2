//! The table `[session]`: the defaults of sessions.

use std::path::PathBuf;

use prowess_core::session::{Filter, Options, Policy};
use prowess_core::skill::HostTools;

/// The contents of the table `[session]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SessionConfig {
    /// The virtual paths of the visible skills. Those of sources that a configuration names begin at its folder.
    pub filter: Option<Filter>,
    /// The configuration with this filter.
    pub filter_file: Option<PathBuf>,
    /// The tools of the host. Skills are granted no others, and prompts leave out skills that need others.
    pub tools: Option<HostTools>,
    /// Whether an activation is only the instructions, without a wrapper.
    pub plain: Option<bool>,
    /// Whether an activation contains the contents of the skill's files.
    pub inline: Option<bool>,
    /// Whether the catalog in a prompt has the location of each SKILL.md.
    pub location: Option<bool>,
    /// The maximum size of an activation, in bytes.
    pub max_activation_bytes: Option<usize>,
    /// The maximum number of bytes that a session keeps of its active skills and pending calls.
    pub max_kept_bytes: Option<usize>,
}

impl SessionConfig {
    /// These settings, completed by those of another file. Where both set a key, one of them does not count, and is
    /// here no more.
    pub(super) fn or(&self, other: &Self) -> Self {
        let Self { filter, filter_file, tools, .. } = self.clone();
        Self {
            filter: filter.or_else(|| other.filter.clone()),
            filter_file: filter_file.or_else(|| other.filter_file.clone()),
            tools: tools.or_else(|| other.tools.clone()),
            plain: self.plain.or(other.plain),
            inline: self.inline.or(other.inline),
            location: self.location.or(other.location),
            max_activation_bytes: self.max_activation_bytes.or(other.max_activation_bytes),
            max_kept_bytes: self.max_kept_bytes.or(other.max_kept_bytes),
        }
    }

    /// The policy of sessions.
    pub fn policy(&self) -> Policy {
        Policy::default()
            .with_filter(self.filter.clone().unwrap_or_default())
            .with_host_tools(self.tools.clone().unwrap_or_default())
    }

    /// The options of sessions.
    pub fn options(&self) -> Options {
        let mut options = Options::default();
        options.activation.plain = self.plain.unwrap_or(options.activation.plain);
        options.inline_resources = self.inline.unwrap_or(options.inline_resources);
        options.max_activation_bytes = self.max_activation_bytes.unwrap_or(options.max_activation_bytes);
        options.max_kept_bytes = self.max_kept_bytes.unwrap_or(options.max_kept_bytes);
        options
    }
}
