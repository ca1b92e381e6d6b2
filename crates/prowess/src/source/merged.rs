//! Several sources as one: layers in an order, where a skill that is listed is the one that is read.

use prowess_core::{Candidate, Manifest, RelPath};
use serde_json::{Map, Value};

use super::{Chunk, Labels, Layer, Offer, Slice, Source};
use crate::error::{SourceError, SourceErrorKind};
use crate::registry::digests::DigestLimits;

/// Several sources as one.
///
/// Of namesakes in two layers the first counts, or the last when later layers override. The others stay in the list
/// behind it, so that `why` can explain it. Each skill is read through the layer that listed it.
pub struct MergedSource {
    id: String,
    layers: Vec<Layer>,
    labels: Labels,
    overriding: bool,
}

impl MergedSource {
    /// No layers yet.
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into(), layers: Vec::new(), labels: Labels::default(), overriding: false }
    }

    /// Adds a layer behind the others.
    #[must_use]
    pub fn with(mut self, layer: impl Into<Layer>) -> Self {
        let layer = layer.into().beside(&mut self.labels);
        self.layers.push(layer);
        self
    }

    /// Lets later layers override earlier ones.
    #[must_use]
    pub fn overriding(mut self) -> Self {
        self.overriding = true;
        self
    }

    fn layer(&self, skill: &Candidate) -> Result<&Layer, SourceError> {
        let layer = self.labels.owner(skill).and_then(|at| self.layers.get(at));
        layer.ok_or_else(|| SourceErrorKind::Missing.at_location(skill.entry.origin.location.clone()))
    }
}

impl Source for MergedSource {
    fn id(&self) -> &str {
        &self.id
    }

    fn is_far(&self) -> bool {
        self.layers.iter().any(Layer::is_far)
    }

    #[cfg(feature = "watch")]
    fn folders(&self) -> Vec<std::path::PathBuf> {
        self.layers.iter().flat_map(Layer::folders).collect()
    }

    /// A layer that cannot be listed is a problem of its own; the others stand.
    fn list(&self) -> Result<Offer, SourceError> {
        let mut offer = Offer::default();
        let mut add = |layer: &Layer| match layer.list(None) {
            Ok(mut listed) => {
                offer.candidates.append(&mut listed.candidates);
                offer.problems.append(&mut listed.problems);
            }
            Err(error) => offer.problems.push(error),
        };
        // The strongest comes first, as everywhere.
        if self.overriding {
            self.layers.iter().rev().for_each(&mut add);
        } else {
            self.layers.iter().for_each(&mut add);
        }
        Ok(offer)
    }

    fn files(&self, skill: &Candidate) -> Result<Manifest, SourceError> {
        self.layer(skill)?.files(skill)
    }

    fn approvable(&self, skill: &Candidate, within: &DigestLimits) -> Result<Manifest, SourceError> {
        self.layer(skill)?.approvable(skill, within)
    }

    fn announced(&self, skill: &Candidate) -> Option<Map<String, Value>> {
        self.layer(skill).ok()?.announced(skill)
    }

    fn manifest(&self, skill: &Candidate, within: &DigestLimits) -> Result<Manifest, SourceError> {
        self.layer(skill)?.manifest(skill, within)
    }

    fn read(&self, skill: &Candidate, path: &RelPath, slice: Slice) -> Result<Chunk, SourceError> {
        self.layer(skill)?.read(skill, path, slice)
    }
}
