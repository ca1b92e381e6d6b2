//! [`Layer`]: a source with a label and options for how its skills appear.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess_core::catalog::KeyFrom;
use prowess_core::internal::Appearance;
use prowess_core::{Location, Manifest, Profile, SourceSkill};

use super::{Listing, Source, SourceTraits, judge};
use crate::error::{SourceError, SourceErrorKind, escape_control};
use crate::fs::location::is_in;
use crate::source::budget::ProjectBudget;

/// A folder of virtual paths in which the skills of a source appear. It is a literal prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount(String);

/// Why a text is not a valid mount.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a mount is a plain path such as team/billing: {text}: {reason}")]
#[non_exhaustive]
pub struct MountError {
    /// The text, with control characters escaped.
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
/// registry.add(Layer::from(team).with_prefix("team").with_mount(Mount::parse("shared")?));
/// registry.refresh()?;
/// let skill = registry.get("team:tidy-up")?;
/// assert_eq!((skill.entry.name.as_str(), skill.virtual_path.as_str()), ("tidy-up", "shared/tidy-up"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Layer {
    source: Arc<dyn Source>,
    traits: SourceTraits,
    label: Arc<str>,
    appearance: Appearance,
    profile: Option<Arc<Profile>>,
    optional: bool,
    named_in: Option<PathBuf>,
    budget: Option<Arc<ProjectBudget>>,
    #[cfg(feature = "install")]
    installed: Option<crate::install::InstalledNames>,
}

impl fmt::Debug for Layer {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Layer").field("label", &self.label).finish_non_exhaustive()
    }
}

/// The labels of layers, each unique. They are for display; layers are identified by their number.
#[derive(Debug, Default)]
pub(crate) struct Labels {
    /// Each label, and the number to try next for it.
    taken: BTreeMap<Arc<str>, usize>,
}

impl Labels {
    /// Takes a label that no other layer has: this one, or this one with a number.
    fn free(&mut self, wanted: Arc<str>) -> Arc<str> {
        let mut label = Arc::clone(&wanted);
        while self.taken.contains_key(&label) {
            let next = self.taken.entry(Arc::clone(&wanted)).or_insert(2);
            label = format!("{wanted} ({next})").into();
            *next += 1;
        }
        self.taken.insert(Arc::clone(&label), 2);
        label
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
        Self {
            traits: source.traits(),
            label: source.id().into(),
            source,
            appearance: Appearance::default(),
            profile: None,
            optional: false,
            named_in: None,
            budget: None,
            #[cfg(feature = "install")]
            installed: None,
        }
    }

    /// Puts `prefix:` before every key, so that skills with the same name can coexist.
    #[must_use]
    pub fn with_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.appearance.prefix = Some(prefix.into());
        self
    }

    /// Sets how the keys are made: by default from the name, and for a site or a file with records from their ids.
    #[must_use]
    pub fn with_key_from(mut self, key_from: KeyFrom) -> Self {
        self.appearance.key_from = Some(key_from);
        self
    }

    /// Shows the skills to filters below a folder of virtual paths. The folders that they are in are kept.
    #[must_use]
    pub fn with_mount(mut self, mount: Mount) -> Self {
        self.appearance.mount = Some(mount.0);
        self
    }

    /// Sets whether every skill is preloaded.
    #[must_use]
    pub fn with_preload(mut self, preload: bool) -> Self {
        self.appearance.preload = preload;
        self
    }

    /// Whether its skills are preloaded.
    pub(crate) fn preloads(&self) -> bool {
        self.appearance.preload
    }

    /// Sets whether each skill needs an approval before it is used, whatever its scope. [`Trust::in_approved`] has the
    /// stored approvals. Other skills are hidden, or with [`Untrusted::Ask`] the host is asked about them. Only
    /// [`Trust::everything`] overrides it.
    ///
    /// [`Trust::in_approved`]: crate::registry::trust::Trust::in_approved
    /// [`Trust::everything`]: crate::registry::trust::Trust::everything
    /// [`Untrusted::Ask`]: prowess_core::session::Untrusted::Ask
    #[must_use]
    pub fn with_approval_required(mut self, required: bool) -> Self {
        self.appearance.approval = required;
        self
    }

    /// Sets the profile that skills must pass. Those with errors are in the catalog as broken skills, with every error.
    /// Without a profile, every skill that loads is offered.
    #[must_use]
    pub fn with_profile(mut self, profile: impl Into<Arc<Profile>>) -> Self {
        self.profile = Some(profile.into());
        self
    }

    /// Sets whether the file or folder of the source may be missing: it then has no skills.
    #[must_use]
    pub fn with_optional(mut self, optional: bool) -> Self {
        self.optional = optional;
        self
    }

    /// Sets the folder of the configuration that names the source.
    pub(crate) fn named_in(mut self, folder: &Path) -> Self {
        self.named_in = Some(folder.to_owned());
        self
    }

    /// Whether a skill belongs to a folder: it is in it, or a configuration in it names its source.
    pub(crate) fn is_of(&self, skill: &Location, folder: &Path) -> bool {
        is_in(skill, folder) || self.named_in.as_deref() == Some(folder)
    }

    /// Lists installed skills under the names that they were installed under.
    #[cfg(feature = "install")]
    pub(crate) fn named_as_installed(mut self, names: Option<crate::install::InstalledNames>) -> Self {
        self.installed = names;
        self
    }

    /// Sets a budget that is spent when skills are judged.
    pub(crate) fn spending(mut self, budget: Option<Arc<ProjectBudget>>) -> Self {
        self.budget = budget;
        self
    }

    /// Sets which clients read the source.
    #[must_use]
    pub fn with_readers(mut self, readers: Vec<&'static str>) -> Self {
        self.appearance.readers = readers;
        self
    }

    /// Its label: the name of its source, with a number if another layer has that.
    pub(crate) fn label(&self) -> &Arc<str> {
        &self.label
    }

    /// Sets a label that no other layer has.
    pub(crate) fn beside(mut self, labels: &mut Labels) -> Self {
        self.label = labels.free(self.label);
        self
    }

    /// The skills of the source as they appear through this layer, judged by its profile and by the given one.
    pub(crate) fn list(&self, profile: Option<&Profile>) -> Result<Listing, SourceError> {
        let mut listing = match self.source.list() {
            Err(SourceError { kind: SourceErrorKind::Missing, .. }) if self.optional => Listing::default(),
            listed => listed?,
        };
        #[cfg(feature = "install")]
        if let Some(installed) = &self.installed {
            installed.give(&mut listing.skills);
        }
        let profiles = [self.profile.as_deref(), profile];
        for found in &mut listing.skills {
            for profile in profiles.into_iter().flatten() {
                judge(&*self.source, self.traits.remote, found, profile, self.budget.as_deref());
            }
            found.appear_as(&self.appearance);
        }
        Ok(listing)
    }

    pub(crate) fn source(&self) -> &Arc<dyn Source> {
        &self.source
    }

    pub(crate) fn traits(&self) -> &SourceTraits {
        &self.traits
    }

    /// The files of a skill, and which of them is its own.
    pub(crate) fn files(&self, skill: SourceSkill<'_>) -> Result<Manifest, SourceError> {
        let files = self.source.files(skill)?;
        Ok(match &skill.entry.origin.file {
            Some(own) => files.with_own(own),
            None => files,
        })
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
