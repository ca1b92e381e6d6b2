//! Skills that the host registers, and found skills that it unregisters and restores, while the registry is in use.

use std::sync::Arc;

use prowess_core::{Candidate, Delta};

use super::{Registry, RegistryError};
use crate::internal::write_locked;
use crate::skills::Skill;
use crate::source::{Beside, Held};

impl Registry {
    /// Registers a skill with precedence over all sources. If its key is taken, this is an error unless `replace` is
    /// set.
    ///
    /// A skill that was loaded from a folder keeps its folder and files. A skill that is only text and replaces a found
    /// one takes over its files, if the found one may be used and is on this machine.
    ///
    /// This refreshes local sources, as [`Registry::unregister`] and [`Registry::restore`] do: no server is contacted.
    pub fn register(&self, skill: &Skill, replace: bool) -> Result<Delta, RegistryError> {
        let before = self.hold(skill, replace)?;
        self.refresh_local().inspect_err(|_| self.memory.put_back(&skill.entry().key, before))
    }

    /// Registers a skill for the next refresh, and returns the one that was registered under its key before.
    pub(crate) fn hold(&self, skill: &Skill, replace: bool) -> Result<Option<Held>, RegistryError> {
        let key = &skill.entry().key;
        let (found, before) = (self.catalog().shared(key), self.memory.kept(key));
        if !replace && (found.is_some() || before.is_some()) {
            return Err(RegistryError::Taken(key.clone()));
        }
        let own = skill.beside()?;
        let beside = own.or_else(|| match &before {
            Some(held) => held.beside.clone(),
            None => self.beside(found.as_deref()?),
        });
        self.memory.register(key, skill.to_markdown(), beside);
        Ok(before)
    }

    /// Unregisters a skill: a registered one for good, and one that a source lists until [`Registry::restore`].
    pub fn unregister(&self, key: &str) -> Result<Delta, RegistryError> {
        if !self.memory.remove(key) {
            if !self.catalog().has(key) {
                return Err(self.unknown(key).into());
            }
            write_locked(&self.rules).unregistered.insert(key.to_owned());
        }
        self.refresh_local()
    }

    /// Restores a skill of a source that was removed with [`Registry::unregister`].
    pub fn restore(&self, key: &str) -> Result<Delta, RegistryError> {
        if !write_locked(&self.rules).unregistered.remove(key) {
            return Err(self.unknown(key).into());
        }
        self.refresh_local()
    }

    /// The files of a found skill, for another text that replaces it. Files that were approved by their digests, and
    /// those of another machine, stay with the found skill.
    pub(crate) fn beside(&self, skill: &Candidate) -> Option<Beside> {
        let layer = self.layer(skill).ok().filter(|layer| !layer.traits().remote)?;
        (skill.is_usable() && skill.approved_files.is_none())
            .then(|| Beside { source: Arc::clone(layer.source()), skill: Arc::new(skill.clone()) })
    }
}
