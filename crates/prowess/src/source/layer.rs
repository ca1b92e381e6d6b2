//! A source among others: the label it is routed by, and how its skills appear beside those of the rest.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess_core::catalog::KeyFrom;
use prowess_core::{Candidate, Manifest, Profile, RelPath, Scope};
use serde_json::{Map, Value};

use super::{Chunk, Offer, Slice, Source, judge};
use crate::error::{SourceError, SourceErrorKind, escape_control};
use crate::fs::location::is_in;
use crate::registry::digests::{self, DigestLimits};
use crate::source::budget::ProjectBudget;

/// What stands between the labels of a source and of one inside it.
const WITHIN: &str = " › ";

/// A folder of virtual paths: a literal prefix that a source's skills are seen under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount(String);

/// Why a text is no mount.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a mount is a plain path such as team/billing: {text}: {reason}")]
pub struct MountError {
    /// The text, made harmless.
    pub text: String,
    /// What is wrong with it.
    pub reason: &'static str,
}

impl Mount {
    /// Reads a mount. It is literal: no globs, no steps up, not the root.
    pub fn parse(text: &str) -> Result<Self, MountError> {
        let fail = |reason| Err(MountError { text: escape_control(text), reason });
        if text.contains(['*', '?', '[', ']', '{', '}']) {
            return fail("it is no glob");
        }
        if text.starts_with('/') || text.contains('\\') {
            return fail("it is relative and has / between its segments");
        }
        let plain = text.strip_prefix("./").unwrap_or(text).trim_end_matches('/');
        if plain.is_empty() {
            return fail("it is empty");
        }
        if plain.split('/').any(|segment| matches!(segment, "" | "." | "..")) {
            return fail("it has no empty segment, and none that is . or ..");
        }
        if plain.chars().any(char::is_control) {
            return fail("it has no control characters");
        }
        Ok(Self(plain.to_owned()))
    }

    /// The path.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A source, and how its skills appear.
///
/// ```
/// use prowess::source::{Layer, Mount};
/// use prowess::{MemorySource, Registry, Scope};
///
/// let team = MemorySource::new("team");
/// team.insert("tidy-up", "---\nname: tidy-up\ndescription: Tidies up.\n---\nDo.\n", Scope::Explicit);
/// let mut registry = Registry::new();
/// registry.add(Layer::from(team).with_prefix("team").mounted_at(Mount::parse("shared")?));
/// registry.refresh()?;
/// let skill = registry.get("team:tidy-up")?;
/// assert_eq!((skill.entry.name.as_str(), skill.virtual_path.as_str()), ("tidy-up", "shared/tidy-up"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Layer {
    source: Arc<dyn Source>,
    label: Arc<str>,
    prefix: Option<String>,
    key_from: Option<KeyFrom>,
    mount: Option<Mount>,
    preload: bool,
    readers: Vec<&'static str>,
    approval: bool,
    profile: Option<Arc<Profile>>,
    optional: bool,
    named_in: Option<PathBuf>,
    budget: Option<Arc<ProjectBudget>>,
}

/// The labels of layers side by side, and which of them has each.
#[derive(Debug, Default)]
pub(crate) struct Labels {
    taken: BTreeMap<Arc<str>, usize>,
    /// The number to try next for a label that is taken.
    next: BTreeMap<Arc<str>, usize>,
}

impl Labels {
    /// Takes a label that no other layer has: this one, or this one with a number.
    fn free(&mut self, wanted: Arc<str>) -> Arc<str> {
        let at = self.taken.len();
        let mut label = Arc::clone(&wanted);
        if self.taken.contains_key(&label) {
            let number = self.next.entry(Arc::clone(&wanted)).or_insert(2);
            loop {
                label = format!("{wanted} ({number})").into();
                *number += 1;
                if !self.taken.contains_key(&label) {
                    break;
                }
            }
        }
        self.taken.insert(Arc::clone(&label), at);
        label
    }

    /// The number of the layer that a candidate is from, in the order in which they were labelled.
    pub(crate) fn owner(&self, skill: &Candidate) -> Option<usize> {
        let label = skill.source.split_once(WITHIN).map_or(&*skill.source, |(label, _)| label);
        self.taken.get(label).copied()
    }
}

impl<S: Source + 'static> From<S> for Layer {
    fn from(source: S) -> Self {
        Self::shared(Arc::new(source))
    }
}

impl Layer {
    /// A source that is shared.
    pub fn shared(source: Arc<dyn Source>) -> Self {
        // What separates labels must not be a part of one.
        let label = source.id().replace(WITHIN, " > ").into();
        let readers = Vec::new();
        Self {
            source,
            label,
            prefix: None,
            key_from: None,
            mount: None,
            preload: false,
            readers,
            approval: false,
            profile: None,
            optional: false,
            named_in: None,
            budget: None,
        }
    }

    /// Puts `prefix:` before every key, so that namesakes of other sources live beside them.
    #[must_use]
    pub fn with_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = Some(prefix.into());
        self
    }

    /// Says what the keys are made of. If nothing is said, it is the name; a site and a file with records use their ids.
    #[must_use]
    pub fn keyed_by(mut self, key_from: KeyFrom) -> Self {
        self.key_from = Some(key_from);
        self
    }

    /// Shows the skills to filters below a folder of virtual paths; the folders they lie in are kept.
    #[must_use]
    pub fn mounted_at(mut self, mount: Mount) -> Self {
        self.mount = Some(mount);
        self
    }

    /// Asks for every skill to be active from the start.
    #[must_use]
    pub fn preloaded(mut self) -> Self {
        self.preload = true;
        self
    }

    /// Whether its skills are to be active from the start.
    pub(crate) fn preloads(&self) -> bool {
        self.preload
    }

    /// Asks for each skill to be approved as it is before it is used, wherever it comes from.
    #[must_use]
    pub fn needing_approval(mut self) -> Self {
        self.approval = true;
        self
    }

    /// Offers only skills that a profile finds no error in, as a strict host wants it. The others are there as broken
    /// ones, with every error. Without a profile, what can be loaded is offered.
    #[must_use]
    pub fn judged_by(mut self, profile: impl Into<Arc<Profile>>) -> Self {
        self.profile = Some(profile.into());
        self
    }

    /// Makes it fine that the source's file or folder is not there: it then has no skills.
    #[must_use]
    pub fn optional(mut self) -> Self {
        self.optional = true;
        self
    }

    /// Says in which folder the configuration is that names the source.
    pub(crate) fn named_in(mut self, folder: &Path) -> Self {
        self.named_in = Some(folder.to_owned());
        self
    }

    /// Whether a skill is one of a folder: it is in there, or a configuration in there names its source.
    pub(crate) fn is_of(&self, skill: &Candidate, folder: &Path) -> bool {
        is_in(&skill.entry.origin.location, folder) || self.named_in.as_deref() == Some(folder)
    }

    /// Spends a budget when skills are judged.
    pub(crate) fn spending(mut self, budget: Option<Arc<ProjectBudget>>) -> Self {
        self.budget = budget;
        self
    }

    /// Whether a skill of this layer is used only after an approval.
    pub(crate) fn needs_trust(&self, skill: &Candidate) -> bool {
        self.approval || skill.wants_approval || skill.entry.origin.scope == Scope::Project
    }

    /// Says which clients look there.
    #[must_use]
    pub fn read_by(mut self, readers: Vec<&'static str>) -> Self {
        self.readers = readers;
        self
    }

    /// The name it is routed by: that of its source, unless another layer has it.
    pub(crate) fn label(&self) -> &str {
        &self.label
    }

    /// Gives it a label that none of the others has.
    pub(crate) fn beside(mut self, labels: &mut Labels) -> Self {
        self.label = labels.free(self.label);
        self
    }

    /// The skills of the source as they appear here, judged by the profile of this layer and by the one that is given.
    pub(crate) fn list(&self, profile: Option<&Profile>) -> Result<Offer, SourceError> {
        let mut offer = match self.source.list() {
            Err(SourceError { kind: SourceErrorKind::Missing, .. }) if self.optional => Offer::default(),
            listed => listed?,
        };
        let profiles = [self.profile.as_deref(), profile];
        for candidate in &mut offer.candidates {
            let candidate = Arc::make_mut(candidate);
            for profile in profiles.into_iter().flatten() {
                judge(&*self.source, candidate, profile, self.budget.as_deref());
            }
            // Of this very list: the source may announce something else by the time it is judged.
            if candidate.announced.is_none() {
                let announced = self.source.announced(candidate);
                candidate.announced = announced.as_ref().map(digests::of_frontmatter);
            }
            if let Some(key_from) = self.key_from {
                candidate.entry.key = key_from.key(&candidate.entry).to_owned();
            }
            if let Some(prefix) = &self.prefix {
                candidate.entry.key = format!("{prefix}:{}", candidate.entry.key);
            }
            if let Some(Mount(mount)) = &self.mount {
                candidate.virtual_path = format!("{mount}/{}", candidate.virtual_path);
            }
            candidate.preload |= self.preload;
            candidate.wants_approval |= self.approval;
            if !self.readers.is_empty() {
                candidate.readers.clone_from(&self.readers);
            }
            candidate.source = if candidate.source.is_empty() {
                Arc::clone(&self.label)
            } else {
                format!("{}{WITHIN}{}", self.label, candidate.source).into()
            };
        }
        Ok(offer)
    }

    pub(crate) fn source(&self) -> Arc<dyn Source> {
        Arc::clone(&self.source)
    }

    pub(crate) fn is_far(&self) -> bool {
        self.source.is_far()
    }

    #[cfg(feature = "watch")]
    pub(crate) fn folders(&self) -> Vec<std::path::PathBuf> {
        self.source.folders()
    }

    pub(crate) fn files(&self, skill: &Candidate) -> Result<Manifest, SourceError> {
        let files = self.source.files(&self.within(skill))?;
        Ok(match &skill.entry.origin.file {
            Some(own) => files.of_skill(own),
            None => files,
        })
    }

    pub(crate) fn approvable(
        &self,
        skill: &Candidate,
        within: &DigestLimits,
    ) -> Result<Manifest, SourceError> {
        self.source.approvable(&self.within(skill), within)
    }

    pub(crate) fn announced(&self, skill: &Candidate) -> Option<Map<String, Value>> {
        self.source.announced(&self.within(skill))
    }

    pub(crate) fn manifest(&self, skill: &Candidate, within: &DigestLimits) -> Result<Manifest, SourceError> {
        self.source.manifest(&self.within(skill), within)
    }

    pub(crate) fn read(&self, skill: &Candidate, path: &RelPath, slice: Slice) -> Result<Chunk, SourceError> {
        self.source.read(&self.within(skill), path, slice)
    }

    /// The candidate as the source itself knows it: labels of what lies around the source are its own no more.
    pub(crate) fn within<'c>(&self, skill: &'c Candidate) -> Cow<'c, Candidate> {
        let inner = skill.source.strip_prefix(&*self.label).and_then(|rest| rest.strip_prefix(WITHIN));
        match inner {
            Some(inner) => {
                let mut skill = skill.clone();
                skill.source = inner.into();
                Cow::Owned(skill)
            }
            None => Cow::Borrowed(skill),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_is_literal_and_stays_below_its_root() {
        for (text, plain) in [("team", "team"), ("./a/b/", "a/b"), ("a b", "a b")] {
            assert_eq!(Mount::parse(text).unwrap().as_str(), plain);
        }
        for text in
            ["", "/", "/a", ".", "..", "a/../b", "../a", "a//b", "a*", "a?", "[a]", "{a}", "a\\b", "a\nb"]
        {
            assert!(Mount::parse(text).is_err(), "{text:?}");
        }
    }
}
