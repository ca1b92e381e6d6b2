//! The skills that a client reads by itself, so that a server for it can leave them out.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use prowess_core::Found;
use prowess_core::catalog::TurnedOffBy;

use super::LibraryOptions;
use super::clients::Client;
use super::views::{Reach, Views, identity_of};
use crate::env::Environment;
use crate::settings::SettingsError;

/// What a client reads by itself, as seen from a folder.
pub(crate) struct ReadBy {
    client: &'static Client,
    option_prefix: &'static str,
    views: Views,
}

impl fmt::Debug for ReadBy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("ReadBy").field("client", &self.client.id).finish_non_exhaustive()
    }
}

/// The skills that a client lists: their names and their files.
#[derive(Debug)]
pub(crate) struct OwnSkills {
    /// The option that leaves them to the client.
    option: String,
    names: BTreeSet<String>,
    files: BTreeSet<(u64, u64)>,
}

impl ReadBy {
    /// What the client reads as seen from a folder.
    pub(super) fn new(
        client: &'static Client,
        from: &Path,
        environment: &Environment,
        options: &LibraryOptions,
    ) -> Result<Self, SettingsError> {
        let option_prefix = options.option_prefix;
        let options = LibraryOptions::default()
            .with_cache(options.cache)
            .with_limits(options.limits)
            .with_project_limits(options.project_limits)
            .with_client_limits(options.client_limits);
        let views = Views::open(from, environment, &options, &[client], Reach::Clients)?;
        Ok(Self { client, option_prefix, views })
    }

    /// Lists them. What cannot be read is not listed by the client either.
    pub(crate) fn list(&self) -> OwnSkills {
        let (mut names, mut files) = (BTreeSet::new(), BTreeSet::new());
        if self.views.refresh().is_ok() {
            let catalog = self.views.registry().catalog();
            for sight in self.views.of(self.client, &catalog) {
                let Ok(seen) = &sight.seen else { continue };
                names.insert(seen.shown_as.to_string());
                names.insert(sight.skill.entry.name.clone());
                files.extend(identity_of(sight.skill.stamp));
            }
        }
        OwnSkills { option: format!("{}not-read-by {}", self.option_prefix, self.client.id), names, files }
    }

    /// The folders whose changes may change the list.
    #[cfg(feature = "watch")]
    pub(crate) fn folders(&self) -> Vec<std::path::PathBuf> {
        self.views.registry().folders()
    }
}

impl OwnSkills {
    /// Why a skill is left out: the client lists the same file, or another skill with this name.
    pub(crate) fn leave_out(&self, found: &Found) -> Option<TurnedOffBy> {
        let same_file = identity_of(found.stamp).is_some_and(|file| self.files.contains(&file));
        let named = [&found.entry.key, &found.entry.name].iter().any(|name| self.names.contains(*name));
        (same_file || named).then(|| TurnedOffBy::Option(self.option.clone()))
    }
}
