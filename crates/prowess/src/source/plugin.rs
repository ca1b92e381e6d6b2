//! [`PluginSource`]: the skills of an agent plugin, in the folders directly below its `skills/`, judged by the strict
//! rules for plugins.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use prowess_core::finding::Preset;
use prowess_core::{Manifest, Profile, RelPath, Scope, SourceSkill};
use serde_json::{Map, Value};

use super::{Chunk, DirSource, Listing, Slice, Source, SourceTraits, Watched, judge, unread};
use crate::env;
use crate::error::{SourceError, SourceErrorKind};
use crate::fs::confine;
use crate::fs::parsed::ParsedLimits;
use crate::fs::walk::{FileName, MissingRoot, ScanOptions};
use crate::registry::digests::{DigestLimits, Digests};
use crate::source::budget::ProjectBudget;

/// The two places of a plugin's manifest: that of the open specification, and that of Claude Code.
pub const PLUGIN_FILES: [&str; 2] = ["plugin.json", ".claude-plugin/plugin.json"];

/// The maximum number of unknown keys of a manifest that are reported one by one.
const MAX_PROBLEMS: usize = 20;

/// The beginning of `$schema` in a plugin of the open specification that this reader supports. It is never fetched.
const SCHEMA: &str = "https://agent-plugins.org/schemas/1.";

/// The keys of a manifest of the open specification.
const KEYS: [&str; 10] = [
    "$schema",
    "name",
    "version",
    "description",
    "author",
    "homepage",
    "repository",
    "license",
    "keywords",
    "extensions",
];

/// The skills of an agent plugin.
///
/// These are the folders directly below `skills/` with a SKILL.md. A skill that breaks a rule of the profile `plugin`,
/// for example because its file is called `skill.md`, is broken, with the reason; the others are used.
pub struct PluginSource {
    folder: PathBuf,
    project: Option<PathBuf>,
    inner: DirSource,
    budget: Option<Arc<ProjectBudget>>,
}

impl PluginSource {
    /// The plugin in a folder. A relative path is relative to the current folder as it is now, and a leading `~` is the
    /// user's folder.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        let folder = env::place(&folder.into());
        let options = ScanOptions {
            max_depth: 1,
            // Only folders directly below `skills/` are skills of a plugin; deeper ones are ignored.
            report_deeper: false,
            // A skill.md is found and judged: it breaks a rule of the profile.
            file_name: FileName::Either,
            missing_root: MissingRoot::Skip,
            ..ScanOptions::unbounded()
        };
        let inner = DirSource::new(folder.join("skills"), options);
        Self { folder, project: None, inner, budget: None }
    }

    /// Sets the scope of the skills.
    #[must_use]
    pub fn with_scope(mut self, scope: Scope) -> Self {
        self.inner = self.inner.with_scope(scope);
        self
    }

    /// Restricts the source to the folder of a project, also through links: for a project that is not trusted.
    #[must_use]
    pub fn with_project(mut self, folder: Option<PathBuf>) -> Self {
        self.inner = self.inner.with_project(folder.clone());
        self.project = folder;
        self
    }

    /// Limits the number of folders and entries, instead of the limits for a folder that was named.
    #[must_use]
    pub fn with_limits(mut self, limits: &ScanOptions) -> Self {
        self.inner = self.inner.limited_to(limits);
        self
    }

    /// Sets a budget that is spent when skills are listed and judged.
    pub(crate) fn spending(mut self, budget: Option<Arc<ProjectBudget>>) -> Self {
        self.inner = self.inner.spending(budget.clone());
        self.budget = budget;
        self
    }

    /// Sets the cache of digests.
    #[must_use]
    pub fn with_digests(mut self, digests: Arc<Digests>) -> Self {
        self.inner = self.inner.with_digests(digests);
        self
    }

    /// Whether a file is in the plugin, also through links.
    fn holds(&self, file: &Path) -> bool {
        let real = |path: &Path| fs::canonicalize(path).ok();
        real(&self.folder).is_some_and(|plugin| real(file).is_some_and(|file| file.starts_with(plugin)))
    }

    fn own_file(&self, skill: SourceSkill<'_>) -> PathBuf {
        self.inner.folder(skill.location()).join(skill.own_name())
    }

    /// Reads the manifest. An error when it is invalid, otherwise the problems in it.
    fn oddities(&self) -> Result<Vec<SourceError>, SourceError> {
        let file = PLUGIN_FILES.iter().map(|file| self.folder.join(file)).find(|file| file.exists());
        let Some(file) = file else {
            // Distinguishes a missing folder from one that is not a plugin.
            fs::metadata(&self.folder).map_err(|error| SourceError::io(&self.folder, error))?;
            return Err(SourceErrorKind::NotPlugin.at(&self.folder));
        };
        let damaged = |reason: String| SourceErrorKind::Damaged { reason }.at(&file);
        let bytes = confine::read_small(&file, ParsedLimits::PROJECT.bytes, self.project.as_deref())?;
        ParsedLimits::PROJECT.check(&bytes, &file)?;
        let manifest: Map<String, Value> =
            serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
        let name = manifest.get("name").and_then(Value::as_str).unwrap_or_default();
        if !is_plugin_name(name) {
            let reason = "name: 1 to 64 of a-z, 0-9, - and . are wanted, with letters or digits at both ends";
            return Err(damaged(reason.to_owned()));
        }
        let mut odd = Vec::new();
        // The manifest of Claude Code has no schema and is open.
        if file.ends_with("plugin.json") && !file.parent().is_some_and(|at| at.ends_with(".claude-plugin")) {
            let schema = manifest.get("$schema").and_then(Value::as_str).unwrap_or_default();
            if !schema.starts_with(SCHEMA) {
                return Err(damaged(format!("$schema: an address that begins with {SCHEMA} is wanted")));
            }
            let unknown = || manifest.keys().filter(|key| !KEYS.contains(&key.as_str()));
            let told = unknown().take(MAX_PROBLEMS);
            odd.extend(told.map(|key| damaged(format!("this key is not known and is passed over: {key}"))));
            let more = unknown().count().saturating_sub(MAX_PROBLEMS);
            odd.extend((more > 0).then(|| damaged(format!("{more} more of its keys are not known"))));
        }
        Ok(odd)
    }
}

fn is_plugin_name(name: &str) -> bool {
    let edge = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let bytes = name.as_bytes();
    bytes.len() <= 64
        && edge(bytes.first().copied())
        && edge(bytes.last().copied())
        && bytes.iter().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(byte))
        && !name.contains("--")
        && !name.contains("..")
}

impl Source for PluginSource {
    fn id(&self) -> &str {
        self.inner.id()
    }

    fn traits(&self) -> SourceTraits {
        let mut traits = self.inner.traits();
        traits.folders.extend([&self.folder, &self.folder.join(".claude-plugin")].map(Watched::folder));
        traits
    }

    fn list(&self) -> Result<Listing, SourceError> {
        let odd = self.oddities()?;
        let mut listing = self.inner.list()?;
        listing.problems.extend(odd);
        // Only folders directly below `skills/` are skills of the plugin.
        listing.skills.retain(|found| self.inner.folder(&found.entry.origin.location) != self.inner.root());
        let profile = Profile::new(Preset::Plugin);
        for found in &mut listing.skills {
            let own = self.own_file(found.source_skill());
            if self.holds(&own) {
                judge(&self.inner, false, found, &profile, self.budget.as_deref());
            } else {
                let problem = SourceErrorKind::Outside.at(own);
                found.obstacle = unread(&problem, &found.entry.origin).obstacle;
            }
        }
        Ok(listing)
    }

    fn files(&self, skill: SourceSkill<'_>) -> Result<Manifest, SourceError> {
        self.inner.files(skill)
    }

    fn manifest(&self, skill: SourceSkill<'_>, within: &DigestLimits) -> Result<Manifest, SourceError> {
        self.inner.manifest(skill, within)
    }

    fn read(&self, skill: SourceSkill<'_>, path: &RelPath, slice: Slice) -> Result<Chunk, SourceError> {
        // A skill that was found outside is never read, not even to explain what is wrong with it.
        let own = self.own_file(skill);
        if skill.broken && !self.holds(&own) {
            return Err(SourceErrorKind::Outside.at(own));
        }
        self.inner.read(skill, path, slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_plugins() {
        for name in ["a", "a.b-c", "9x"] {
            assert!(is_plugin_name(name), "{name}");
        }
        for name in ["", "-a", "a-", "a--b", "a..b", "A", "a_b", &"a".repeat(65)] {
            assert!(!is_plugin_name(name), "{name}");
        }
    }
}
