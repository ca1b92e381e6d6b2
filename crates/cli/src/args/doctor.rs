//! The options of `doctor`.

use super::places::Places;

/// Say what is wrong with the skills on this machine, and how to fix it
///
/// Lists the agents on this machine, how many skills each lists and what they cost in every prompt; then what is wrong, the
/// worst first, each with the command that fixes it. Nothing is changed without --fix. The exit code is 1 if there are
/// errors or warnings; notes do not count.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Doctor {
    /// Only for these clients, such as codex or claude-code [default: those on this machine]
    #[arg(long = "client", value_name = "CLIENT", value_delimiter = ',')]
    pub(crate) clients: Vec<String>,
    /// Apply the fixes that lose nothing, after showing them: complete interrupted installations, remove unfinished files
    /// and stale caches, and apply the safe fixes of check
    #[arg(long, conflicts_with = "list")]
    pub(crate) fix: bool,
    /// Do not ask before fixing
    #[arg(long, short, requires = "fix")]
    pub(crate) yes: bool,
    /// Show every trouble, not only the first of each kind
    #[arg(long)]
    pub(crate) all: bool,
    /// List the kinds of trouble that doctor looks for
    #[arg(long)]
    pub(crate) list: bool,
    /// Read every skill again instead of using the cache
    #[arg(long)]
    pub(crate) no_cache: bool,
}

impl Doctor {
    /// Where skills are looked for.
    pub(crate) fn places(&self) -> Places {
        Places { clients: self.clients.clone(), no_cache: self.no_cache, ..Places::default() }
    }
}
