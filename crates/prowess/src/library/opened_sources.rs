//! [`OpenedSources`]: the sources that were named so far, by options and configurations. None is opened twice, and no two
//! servers have the same label.

use std::collections::BTreeSet;

use prowess_core::Location;

use super::visibility::Visibility;
use crate::env::{self, Environment};
use crate::error::{SourceError, SourceErrorKind};
use crate::fs::walk::{MissingRoot, ScanOptions};
use crate::registry::Registry;
use crate::settings::resolve::{ConfigFile, opening_in};
use crate::source::Layer;
use crate::source::open::Opening;
use crate::source::spec::{Place, SourceSpec};

/// The sources that were named so far.
#[derive(Default)]
pub(super) struct OpenedSources {
    /// The labels of the MCP servers. A label identifies the server of a skill, so no two servers share one.
    labels: BTreeSet<String>,
    /// Files and folders, and how their skills appear: a source that is named twice is opened once.
    places: BTreeSet<String>,
}

impl OpenedSources {
    /// An error if another server has the same label.
    fn free(&self, spec: &SourceSpec) -> Result<(), SourceError> {
        let Place::Mcp(server) = &spec.place else { return Ok(()) };
        let label = spec.label_of(server);
        if self.labels.contains(&label) {
            let server = Location::Text(format!("{label}: {}", server.shown()).into());
            return Err(SourceErrorKind::SameLabel.at_location(server));
        }
        Ok(())
    }

    /// Opens a source; `None` if it is open already. One that could not be opened takes no label.
    pub(super) fn open(
        &mut self,
        spec: &SourceSpec,
        opening: &Opening,
        environment: &Environment,
    ) -> Result<Option<Layer>, SourceError> {
        self.free(spec)?;
        if let Some(place) = opening.place(spec, environment)? {
            let real = env::real(&place);
            // The kind of source is part of the key: the folder of a plugin may be named as a folder too.
            let kind = std::mem::discriminant(&spec.place);
            let appears = (kind, opening.scope, real, &spec.mount, &spec.prefix, spec.key_from, spec.preload);
            if !self.places.insert(format!("{appears:?}")) {
                return Ok(None);
            }
        }
        let layer = opening.open(spec, environment)?;
        if let Place::Mcp(server) = &spec.place {
            self.labels.insert(spec.label_of(server));
        }
        Ok(Some(layer))
    }

    /// Adds the sources that a configuration names. Those of a project are project skills.
    pub(super) fn add(
        &mut self,
        file: &mut ConfigFile,
        opening: &Opening,
        visibility: &Visibility,
        environment: &Environment,
        registry: &mut Registry,
    ) {
        let folder = file.folder().to_owned();
        let mut opening = opening_in(&file.path, file.own, opening.clone());
        let searched = || ScanOptions { missing_root: MissingRoot::Error, ..ScanOptions::default() };
        let scan = if file.own { ScanOptions::unbounded() } else { searched() };
        opening.scan = visibility.scan(opening.scope, scan);
        opening.project = (!file.trusted).then(|| folder.clone());
        for (entry, spec) in file.counts.sources.iter().enumerate() {
            if let Some(error) = file.refused.remove(&entry) {
                registry.note(error);
                continue;
            }
            match self.open(spec, &opening, environment) {
                Ok(Some(layer)) => {
                    _ = registry.add(visibility.layer(opening.scope, layer).named_in(&folder));
                }
                Ok(None) => {}
                Err(error) if spec.optional && error.is_not_installed() => {}
                Err(error) if matches!(error.kind, SourceErrorKind::SameLabel) => drop(registry.note(error)),
                Err(error) => {
                    let error = SourceErrorKind::Entry { entry, error: Box::new(error) };
                    registry.note(error.at(&file.path));
                }
            }
        }
    }
}
