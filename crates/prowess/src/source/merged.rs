//! [`MergedSource`]: several sources as one. Each skill is read through the layer that listed it.

use prowess_core::{Manifest, RelPath, SourceSkill};

use super::{Chunk, Labels, Layer, Listing, Slice, Source, SourceTraits};
use crate::error::{SourceError, SourceErrorKind};
use crate::registry::digests::DigestLimits;

/// Several sources as one.
///
/// Of two skills with the same key the one in the first layer counts, or in the last when later layers override. The
/// others follow it in the list, so that `why` can explain them. Each skill is read through the layer that listed it.
#[derive(Debug)]
pub struct MergedSource {
    id: String,
    layers: Vec<Layer>,
    labels: Labels,
    overriding: bool,
}

impl MergedSource {
    /// A source without layers.
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into(), layers: Vec::new(), labels: Labels::default(), overriding: false }
    }

    /// Adds a layer after the others.
    #[must_use]
    pub fn with_layer(mut self, layer: impl Into<Layer>) -> Self {
        let layer = layer.into().beside(&mut self.labels);
        self.layers.push(layer);
        self
    }

    /// Sets whether later layers override earlier ones.
    #[must_use]
    pub fn with_overriding(mut self, overriding: bool) -> Self {
        self.overriding = overriding;
        self
    }

    /// The layer that listed a skill, and the skill as the source of that layer knows it.
    fn layer<'s>(&self, skill: SourceSkill<'s>) -> Result<(&Layer, SourceSkill<'s>), SourceError> {
        let found = skill.split_layer().and_then(|(at, skill)| Some((self.layers.get(at)?, skill)));
        found.ok_or_else(|| SourceErrorKind::NotListed.at_location(skill.location().clone()))
    }
}

impl Source for MergedSource {
    fn id(&self) -> &str {
        &self.id
    }

    fn traits(&self) -> SourceTraits {
        let traits = || self.layers.iter().map(Layer::traits);
        SourceTraits {
            remote: traits().any(|traits| traits.remote),
            folders: traits().flat_map(|traits| traits.folders.clone()).collect(),
            calling_thread: traits().any(|traits| traits.calling_thread),
        }
    }

    /// A layer that cannot be listed is reported, and the others are used.
    fn list(&self) -> Result<Listing, SourceError> {
        let mut listing = Listing::default();
        let mut add = |(at, layer): (usize, &Layer)| match layer.list(None) {
            Ok(mut listed) => {
                listed.skills.iter_mut().for_each(|found| found.put_within(at, layer.label()));
                listing.skills.append(&mut listed.skills);
                listing.problems.append(&mut listed.problems);
            }
            Err(error) => listing.problems.push(error),
        };
        // The strongest comes first, as everywhere.
        let layers = self.layers.iter().enumerate();
        if self.overriding {
            layers.rev().for_each(&mut add);
        } else {
            layers.for_each(&mut add);
        }
        Ok(listing)
    }

    fn files(&self, skill: SourceSkill<'_>) -> Result<Manifest, SourceError> {
        let (layer, skill) = self.layer(skill)?;
        layer.files(skill)
    }

    fn manifest(&self, skill: SourceSkill<'_>, within: &DigestLimits) -> Result<Manifest, SourceError> {
        let (layer, skill) = self.layer(skill)?;
        layer.source().manifest(skill, within)
    }

    fn read(&self, skill: SourceSkill<'_>, path: &RelPath, slice: Slice) -> Result<Chunk, SourceError> {
        let (layer, skill) = self.layer(skill)?;
        layer.source().read(skill, path, slice)
    }
}
