//! [`Visibility`]: which skills of a library are found and offered, by the options of the caller and the settings that
//! count.

use std::path::Path;

use prowess_core::catalog::TurnedOffBy;
use prowess_core::{Profile, Scope};

use super::LibraryOptions;
use crate::fs::walk::{ScanChanges, ScanOptions};
use crate::registry::{Disabled, Registry};
use crate::settings::resolve::{ConfigFile, EffectiveSettings};
use crate::source::Layer;

/// How the folders of a project and all others are walked, and which profile a project requires of its skills.
#[derive(Default)]
pub(super) struct Visibility {
    of_caller: ScanChanges,
    of_user: ScanChanges,
    of_project: ScanChanges,
    /// Whether the project is trusted. If not, it widens no walk.
    trusted: bool,
    strict: Option<Profile>,
}

impl Visibility {
    /// Configures a registry, and keeps the settings for folders.
    pub(super) fn of(
        options: &LibraryOptions,
        settings: &EffectiveSettings,
        registry: &mut Registry,
    ) -> Self {
        let [user, project] = [&settings.user, &settings.project].map(Option::as_ref);
        // A project decides only about its own skills.
        for (file, within) in [(user, None), (project, project.map(ConfigFile::folder))] {
            let Some(file) = file else { continue };
            let by = TurnedOffBy::List(file.path.display().to_string());
            let within = within.map(|folder: &Path| folder.to_string_lossy().into_owned());
            let off = |glob| Disabled::new(glob, by.clone()).with_within(within.clone());
            registry.disable(file.counts.disabled.iter().cloned().map(off));
            if let Some(globs) = file.counts.enabled.clone() {
                registry.disable([Disabled::all_but(globs, by).with_within(within)]);
            }
        }
        let option = |name| TurnedOffBy::Option(format!("{}{name}", options.option_prefix));
        let off = |glob| Disabled::new(glob, option("except"));
        registry.disable(options.except.iter().cloned().map(off));
        if !options.only.is_empty() {
            registry.disable([Disabled::all_but(options.only.clone(), option("only"))]);
        }
        let [user, project] = [user, project].map(|file| file.map(|file| &file.counts));
        let strict = options.strict.clone().or_else(|| user?.strict.map(Profile::new));
        if let Some(profile) = strict {
            registry.set_profile(profile);
        }
        let duplicates = options.duplicates.or_else(|| user?.duplicates).or_else(|| project?.duplicates);
        if let Some(duplicates) = duplicates {
            registry.set_duplicates(duplicates);
        }
        let scan = |file: Option<&crate::Config>| {
            let scan = file.filter(|_| !options.ignore_scan).map(|file| file.scan.clone());
            scan.unwrap_or_default()
        };
        Self {
            of_caller: options.scan.clone(),
            of_user: scan(user),
            of_project: scan(project),
            trusted: settings.project.as_ref().is_some_and(|project| project.trusted),
            strict: project.and_then(|project| project.strict).map(Profile::new),
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
