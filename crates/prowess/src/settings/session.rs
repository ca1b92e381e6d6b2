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
    /// Adds the settings of a project where the user's own file has none. A project cannot loosen anything: its
    /// settings for plain text, files and locations are ignored, and its limits count only if they are lower.
    pub fn add_project(&mut self, project: &Self) {
        if self.filter.is_none() {
            (self.filter, self.filter_file) = (project.filter.clone(), project.filter_file.clone());
        }
        self.tools = self.tools.take().or_else(|| project.tools.clone());
        let lower = |own: &mut Option<usize>, project: Option<usize>, default: usize| {
            *own = project.filter(|limit| *limit < own.unwrap_or(default)).or(*own);
        };
        let Options { max_activation_bytes, max_kept_bytes, .. } = Options::default();
        lower(&mut self.max_activation_bytes, project.max_activation_bytes, max_activation_bytes);
        lower(&mut self.max_kept_bytes, project.max_kept_bytes, max_kept_bytes);
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::Config;

    fn parse(text: &str) -> Result<SessionConfig, String> {
        let config = Config::parse(&format!("[session]\n{text}"), Path::new("/p/prowess.toml"));
        config.map(|config| config.session).map_err(|error| error.to_string())
    }

    #[test]
    fn a_project_sets_what_the_user_leaves_open_and_loosens_nothing() {
        let project =
            parse("filter = 'a/*'\ntools = []\nplain = true\nmax_activation_bytes = 99999999\nmax_kept_bytes = 99999999").unwrap();
        let mut own = parse("filter = 'none'").unwrap();
        own.add_project(&project);
        assert_eq!(own.policy().filter, Filter::none());
        assert_eq!(own.policy().host_tools, HostTools::Only(Vec::new()));
        assert_eq!(own.options(), Options::default());
        let mut own = parse("max_activation_bytes = 5000").unwrap();
        own.add_project(&parse("max_activation_bytes = 10\nmax_kept_bytes = 20").unwrap());
        assert_eq!((own.options().max_activation_bytes, own.options().max_kept_bytes), (10, 20));
    }
}
