//! The skills that a client reads by itself, so that a server for it can leave them out.

use std::collections::BTreeSet;
use std::path::Path;

use prowess_core::catalog::TurnedOffBy;

use super::LibraryOptions;
use super::clients::Client;
use super::views::{Reach, Views, identity_of};
use crate::env::Environment;
use crate::registry::{Elsewhere, LeaveOut};
use crate::settings::SettingsError;

/// What a client reads by itself, as seen from a folder.
pub(super) struct ReadBy {
    client: &'static Client,
    option_prefix: &'static str,
    views: Views,
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
}

impl Elsewhere for ReadBy {
    /// What cannot be read is not listed by the client either.
    fn list(&self) -> LeaveOut {
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
        let option = format!("{}not-read-by {}", self.option_prefix, self.client.id);
        // The client lists the same file, or another skill with this name.
        Box::new(move |found| {
            let same_file = identity_of(found.stamp).is_some_and(|file| files.contains(&file));
            let named = [&found.entry.key, &found.entry.name].iter().any(|name| names.contains(*name));
            (same_file || named).then(|| TurnedOffBy::Option(option.clone()))
        })
    }

    #[cfg(feature = "watch")]
    fn folders(&self) -> Vec<std::path::PathBuf> {
        self.views.registry().folders()
    }
}
