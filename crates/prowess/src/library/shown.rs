//! Which skills of a library are found and offered: the caller decides, then the user's configuration, then the
//! project's.
//!
//! A project decides only about its own skills, and never overrides the user.

use std::path::Path;

use prowess_core::catalog::TurnedOffBy;
use prowess_core::{Profile, Scope};

use super::LibraryOptions;
use super::found_config::FoundConfig;
use crate::fs::walk::{ScanChanges, ScanOptions};
use crate::registry::{Allowed, Disabled, Registry};
use crate::source::Layer;

/// How the folders of a project and all others are walked, and which profile a project requires of its skills.
#[derive(Default)]
pub(super) struct Shown {
    of_caller: ScanChanges,
    /// What counts of the changes of the project.
    of_project: ScanChanges,
    /// Whether the project is trusted. If not, it widens no walk.
    trusted: bool,
    of_user: ScanChanges,
    strict: Option<Profile>,
}

impl Shown {
    /// Configures a registry, and keeps the settings for folders.
    pub(super) fn of(options: &LibraryOptions, configs: &[FoundConfig], registry: &mut Registry) -> Self {
        for FoundConfig { config, own, .. } in configs {
            let by = TurnedOffBy::List(config.file.display().to_string());
            let within = config.file.parent().filter(|_| !own).map(Path::to_owned);
            let off = |glob| Disabled::new(glob, by.clone()).with_within(within.clone());
            registry.disable(config.disabled.iter().cloned().map(off));
            if let Some(globs) = config.enabled.clone() {
                registry.allow_only(Allowed::new(globs, by).with_within(within));
            }
        }
        let option = |name| TurnedOffBy::Option(format!("{}{name}", options.option_prefix));
        let off = |glob| Disabled::new(glob, option("except"));
        registry.disable(options.except.iter().cloned().map(off));
        if !options.only.is_empty() {
            registry.allow_only(Allowed::new(options.only.clone(), option("only")));
        }
        let own = configs.iter().find(|config| config.own).map(|found| &found.config);
        let project = configs.iter().find(|config| !config.own);
        let strict = options.strict.clone().or_else(|| own?.strict.map(Profile::new));
        if let Some(profile) = strict {
            registry.set_profile(profile);
        }
        // An untrusted project must not decide which of two skills is offered.
        let trusted = project.filter(|found| found.trusted).and_then(|found| found.config.duplicates);
        if let Some(duplicates) = options.duplicates.or_else(|| own?.duplicates).or(trusted) {
            registry.set_duplicates(duplicates);
        }
        let trusted = project.is_some_and(|found| found.trusted);
        let project = project.map(|found| &found.config);
        Self {
            of_caller: options.scan.clone(),
            of_project: project
                .filter(|_| !options.ignore_scan)
                .map(|project| if trusted { project.scan.clone() } else { project.scan.of_untrusted() })
                .unwrap_or_default(),
            trusted,
            of_user: own.filter(|_| !options.ignore_scan).map(|own| own.scan.clone()).unwrap_or_default(),
            strict: project
                .and_then(|project| project.strict)
                .filter(|_| options.strict.is_none())
                .map(Profile::new),
        }
    }

    /// The options of a walk, for the skills of this scope.
    pub(super) fn scan(&self, scope: Scope, options: ScanOptions) -> ScanOptions {
        let project = match scope {
            Scope::Project if self.trusted => self.of_project.clone(),
            Scope::Project => self.of_project.narrowing(&options),
            _ => ScanChanges::default(),
        };
        self.of_caller.over(&self.of_user).over(&project).apply(options)
    }

    /// A layer with skills of this scope, and the profile that is required of them.
    pub(super) fn layer(&self, scope: Scope, layer: Layer) -> Layer {
        match self.strict.as_ref().filter(|_| scope == Scope::Project) {
            Some(profile) => layer.with_profile(profile.clone()),
            None => layer,
        }
    }
}
