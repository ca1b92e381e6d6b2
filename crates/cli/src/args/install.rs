//! The options of the commands that install skills: `add`, `remove`, `sync` and `verify`.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use prowess::install::{Edits, InstallLimits, InstallOptions, InstallScope, LinkMode};

use super::places::client;

/// Install skills from a folder or a git repository
///
/// The files go to .agents/skills of the project, or of your own folder with --user. skills.toml says what is wanted,
/// skills.lock which bytes are installed: commit both. Before anything is installed you see what a skill could do.
/// Nothing of a skill is run, and no host but the source is asked.
#[derive(Debug, clap::Args)]
#[command(after_help = SOURCES)]
pub(crate) struct Add {
    /// Where the skills are
    #[arg(value_name = "SOURCE", required = true, value_parser = NonEmptyStringValueParser::new())]
    pub(crate) source: String,
    /// Install these skills of the source, by name
    #[arg(long, value_name = "NAME")]
    pub(crate) skill: Vec<String>,
    /// Install every skill of the source
    #[arg(long, conflicts_with = "skill")]
    pub(crate) all: bool,
    /// Install the skill under this name
    #[arg(long = "as", value_name = "NAME", conflicts_with = "all")]
    pub(crate) alias: Option<String>,
    /// Take this branch, tag or commit
    #[arg(long = "ref", value_name = "REF")]
    pub(crate) reference: Option<String>,
    /// Take this folder of the repository
    #[arg(long, value_name = "FOLDER")]
    pub(crate) path: Option<String>,
    #[command(flatten)]
    pub(crate) installing: Installing,
}

/// The text below the options of `add`.
const SOURCES: &str = "Sources:\n  ./folder, ../folder, /folder, ~/folder\n  owner/repo[/folder][@skill][#ref]\n  \
    https://host/repo.git, ssh://…, git@host:repo.git, file:///repo.git, each with #ref\n  \
    https://github.com/owner/repo/tree/REF/folder, https://host/group/repo/-/tree/REF/folder\n  @org/name[@version]";

/// Remove installed skills
#[derive(Debug, clap::Args)]
pub(crate) struct Remove {
    /// The names of the skills, or references such as @org/name
    #[arg(value_name = "NAME", required = true)]
    pub(crate) names: Vec<String>,
    /// Do not ask before --overwrite deletes edits
    #[arg(long, short)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) existing: Existing,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Install exactly what skills.toml and skills.lock say
///
/// Skills that are new in skills.toml are fetched and locked, those that are gone from it are removed, and what the
/// lock names is installed byte for byte.
#[derive(Debug, clap::Args)]
pub(crate) struct Sync {
    /// Fail when skills.lock would have to change, and check the commits in it that you have not fetched
    #[arg(long)]
    pub(crate) locked: bool,
    /// As --locked, without a network, so unchecked, and without writing skills.toml or skills.lock
    #[arg(long, conflicts_with = "lock_only")]
    pub(crate) frozen: bool,
    /// Use no network
    #[arg(long)]
    pub(crate) offline: bool,
    /// Only fetch what is missing, for a later sync --offline
    #[arg(long, conflicts_with = "lock_only")]
    pub(crate) fetch_only: bool,
    /// Only write skills.lock
    #[arg(long)]
    pub(crate) lock_only: bool,
    #[command(flatten)]
    pub(crate) installing: Installing,
}

/// Compare installed skills with skills.lock, byte for byte
///
/// The exit code is 1 when a file is changed, added or missing, and 2 without a skills.toml.
#[derive(Debug, clap::Args)]
pub(crate) struct Verify {
    /// The names of the skills; without one, all
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// What every command that installs something knows.
#[derive(Debug, clap::Args)]
pub(crate) struct Installing {
    /// Accept what is installed without being asked; it is trusted as it is
    #[arg(long, short)]
    pub(crate) yes: bool,
    #[command(flatten)]
    clients: Clients,
    #[command(flatten)]
    existing: Existing,
    #[command(flatten)]
    pub(crate) limits: Limits,
    #[command(flatten)]
    pub(crate) common: Common,
}

impl Installing {
    /// How skills are installed, before the user accepted anything.
    pub(crate) fn options(&self) -> InstallOptions {
        let mut options = InstallOptions::default();
        (options.edits, options.replace) = (self.existing.edits(), self.existing.overwrite);
        (options.clients, options.link) = (self.clients.clients.clone(), self.clients.link);
        options.dry_run = self.common.dry_run;
        options
    }
}

impl Installing {
    /// Whether an option says which clients get skills, or how.
    pub(crate) fn sets_clients(&self) -> bool {
        !self.clients.clients.is_empty() || self.clients.link.is_some()
    }
}

/// Which clients get links.
#[derive(Debug, clap::Args)]
pub(crate) struct Clients {
    /// Also link the skills where this client looks, now and later
    #[arg(long = "client", value_name = "CLIENT", value_delimiter = ',', value_parser = client)]
    pub(crate) clients: Vec<String>,
    /// How clients get the skills: auto (a link, or a copy where there are no links), symlink or copy
    #[arg(long, value_name = "MODE", value_parser = link_mode)]
    pub(crate) link: Option<LinkMode>,
}

/// What happens to what is there.
#[derive(Debug, clap::Args)]
pub(crate) struct Existing {
    /// Leave skills alone that were edited after they were installed
    #[arg(long)]
    pub(crate) keep: bool,
    /// Replace skills that were edited, and others of the same name; the edits are lost
    #[arg(long, conflicts_with = "keep")]
    pub(crate) overwrite: bool,
}

impl Existing {
    pub(crate) fn edits(&self) -> Edits {
        match (self.keep, self.overwrite) {
            (true, _) => Edits::Keep,
            (_, true) => Edits::Overwrite,
            _ => Edits::Stop,
        }
    }
}

/// The largest skill that is installed.
#[derive(Debug, clap::Args)]
pub(crate) struct Limits {
    /// The most files of a skill
    #[arg(long = "max-files", value_name = "N", default_value_t = InstallLimits::default().files, hide_short_help = true)]
    files: usize,
    /// The most bytes of a skill
    #[arg(long = "max-bytes", value_name = "N", default_value_t = InstallLimits::default().bytes, hide_short_help = true)]
    bytes: u64,
    /// The most bytes of one file
    #[arg(long = "max-file-bytes", value_name = "N", default_value_t = InstallLimits::default().file_bytes, hide_short_help = true)]
    file_bytes: u64,
    /// The most folders between a skill's folder and a file
    #[arg(long = "max-depth", value_name = "N", default_value_t = InstallLimits::default().depth, hide_short_help = true)]
    depth: usize,
    /// The most bytes of all skills of one source together
    #[arg(long = "max-total-bytes", value_name = "N", default_value_t = InstallLimits::default().total_bytes, hide_short_help = true)]
    total_bytes: u64,
    /// The most bytes that are fetched from all repositories together
    #[arg(long = "max-fetched-bytes", value_name = "N", default_value_t = InstallLimits::default().fetched_bytes, hide_short_help = true)]
    fetched_bytes: u64,
    /// The most bytes of repositories and skills that are kept in the store
    #[arg(long = "max-store-bytes", value_name = "N", default_value_t = InstallLimits::default().store_bytes, hide_short_help = true)]
    store_bytes: u64,
}

impl Limits {
    pub(crate) fn limits(&self) -> InstallLimits {
        let mut limits = InstallLimits::default();
        (limits.files, limits.bytes) = (self.files, self.bytes);
        (limits.file_bytes, limits.depth) = (self.file_bytes, self.depth);
        limits.total_bytes = self.total_bytes;
        (limits.fetched_bytes, limits.store_bytes) = (self.fetched_bytes, self.store_bytes);
        limits
    }
}

/// What every one of these commands knows.
#[derive(Debug, clap::Args)]
pub(crate) struct Common {
    /// Your own skills instead of those of the project
    #[arg(long, short)]
    pub(crate) user: bool,
    /// The folder of the project
    #[arg(long, value_name = "FOLDER", conflicts_with = "user")]
    pub(crate) project: Option<PathBuf>,
    /// Show what would be done, and change nothing
    #[arg(long, short = 'n')]
    pub(crate) dry_run: bool,
    /// How many seconds to wait for another process that changes the same skills
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds, hide_short_help = true)]
    pub(crate) lock_timeout: Duration,
}

impl Common {
    pub(crate) fn scope(&self) -> InstallScope {
        if self.user { InstallScope::User } else { InstallScope::Project }
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    text.parse().map(Duration::from_secs).map_err(|_| "it is no number of seconds".to_owned())
}

fn link_mode(word: &str) -> Result<LinkMode, String> {
    LinkMode::of(word).ok_or_else(|| "it is auto, symlink or copy".to_owned())
}
