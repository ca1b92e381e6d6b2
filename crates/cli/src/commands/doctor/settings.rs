//! Configuration that is broken or ignored, sources that cannot be read, and skills that are not trusted.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use prowess::install::{InstallScope, LOCK_FILE, SKILLS_FILE};
use prowess::internal::{ConfigFile, EffectiveSettings, WhyUnused};
use prowess::library::clients;
use prowess::settings::FILE_NAME;
use prowess::source::open::Opening;
use prowess::{Candidate, Obstacle, Registry, Scope, SourceError, SourceErrorKind};

use super::examination::{Examination, Opened, of_failure};
use super::issue::{Fix, Issue, Kind};
use crate::args::Places;
use crate::explain::left_out::{AllLeftOut, folder_of_project, not_its_own, waiting_keys};
use crate::explain::trust::{accept_command, folder_to_trust};
use crate::explain::unread::failure;
use crate::ui::command::{command_for, trust_command, word};
use crate::ui::{count, few};

/// The most names of skills in one sentence.
const MAX_NAMES: usize = 5;

/// All of them.
pub(super) fn issues(examination: &Examination, opened: &Opened) -> Vec<Issue> {
    let mut issues: Vec<Issue> = Vec::new();
    let settings =
        EffectiveSettings::of(&examination.here, &examination.environment, &[]).unwrap_or_default();
    let registries = [opened.views.registry(), &opened.library];
    for registry in registries.into_iter().take(if examination.named { 1 } else { 2 }) {
        for problem in registry.problems() {
            let issue = unread(&problem, registry, examination, &settings);
            if !issues.iter().any(|other| other.what == issue.what && other.at == issue.at) {
                issues.push(issue);
            }
        }
    }
    issues.extend(ignored_settings(&settings, opened));
    issues.extend(all_left_out(opened));
    issues.extend(untrusted(examination, opened));
    issues
}

/// The issue of something that was not read.
fn unread(
    problem: &SourceError,
    registry: &Registry,
    examination: &Examination,
    settings: &EffectiveSettings,
) -> Issue {
    use SourceErrorKind as Kinds;
    let kind = match &problem.kind {
        Kinds::Config(_) => Kind::ConfigBroken,
        _ if is_record(problem, examination) => Kind::RecordsBroken,
        // A link of the project, and not a source in its configuration.
        Kinds::OutsideProject if is_in_project(problem, examination) => Kind::SkillUntrusted,
        Kinds::OtherOwner
        | Kinds::Distrusted { .. }
        | Kinds::SiteOfProject
        | Kinds::ServerOfProject
        | Kinds::OutsideProject
        | Kinds::Entry { .. }
        | Kinds::SameLabel => Kind::ConfigIgnored,
        _ => Kind::SourceUnread,
    };
    let mut failed = failure(problem, registry);
    if let Some(file) = named_by(problem, examination, settings).filter(|_| kind == Kind::SourceUnread) {
        failed = failed.with_cause(format!("a source in {}", file.display()));
    }
    let issue = of_failure(kind, &failed);
    if !matches!(problem.kind, Kinds::OtherOwner) {
        return issue;
    }
    let file = PathBuf::from(&*problem.at.text());
    let own = examination.here.join(FILE_NAME);
    // The search for a configuration ends at the first that counts.
    let (words, command) = if file == own {
        // It may be what its owner uses here, so no command removes it.
        ("write a prowess.toml of your own in a folder below this one, or ask the owner of this one", None)
    } else {
        (
            "write a prowess.toml of your own in this folder; an empty one will do",
            word(&own).map(|own| format!("touch {own}")),
        )
    };
    Issue { fix: Fix::default(), ..issue }.fixed(words).fixed_by(command)
}

/// Whether a problem is about the user's records of installed skills.
fn is_record(problem: &SourceError, examination: &Examination) -> bool {
    let folder = examination.environment.home().map(|home| home.join(".agents"));
    let names = folder.iter().flat_map(|folder| [SKILLS_FILE, LOCK_FILE].map(|name| folder.join(name)));
    problem.at.path().is_some_and(|path| names.into_iter().any(|name| name == Path::new(path)))
}

fn is_in_project(problem: &SourceError, examination: &Examination) -> bool {
    problem.at.path().is_some_and(|path| Path::new(path).starts_with(clients::project(&examination.here)))
}

/// How many skills of the user are withheld because the records of installed skills cannot be read: any of them could
/// be one that was installed and changed.
pub(super) fn withheld(examination: &Examination, opened: &Opened) -> usize {
    let registry = opened.views.registry();
    if !registry.problems().iter().any(|problem| is_record(problem, examination)) {
        return 0;
    }
    let is_withheld = |skill: &Candidate| {
        skill.entry.origin.scope == Scope::User && skill.obstacle == Some(Obstacle::Untrusted)
    };
    opened.catalog.all().filter(|(skill, _)| is_withheld(skill)).count()
}

/// The configuration that names the source of a problem.
fn named_by<'s>(
    problem: &SourceError,
    examination: &Examination,
    settings: &'s EffectiveSettings,
) -> Option<&'s Path> {
    let path = Path::new(problem.at.path()?);
    let names_it = |file: &&ConfigFile| {
        let opening = Opening::named(file.folder(), None);
        file.counts.sources.iter().any(|spec| {
            let place = opening.place(spec, &examination.environment).ok().flatten();
            place.is_some_and(|place| path.starts_with(place))
        })
    };
    settings.files().find(names_it).map(|file| &*file.path)
}

/// The settings that have no effect: those of a project that is not trusted, and those in the wrong file.
fn ignored_settings(settings: &EffectiveSettings, opened: &Opened) -> Vec<Issue> {
    let mut issues = Vec::new();
    let keys = waiting_keys(settings);
    if let Some(project) = settings.project.as_ref().filter(|_| !keys.is_empty()) {
        let what = format!("the project is not trusted, so these do not count: {}", keys.join(", "));
        let folder = folder_of_project(&project.path);
        issues.push(
            Issue::new(Kind::ConfigIgnored, what)
                .at(&project.path)
                .fixed("look at the file, then trust the project")
                .fixed_by(word(folder).map(|_| trust_command(folder))),
        );
    }
    for (setting, why) in &settings.unused {
        let (file, words, option) = match why {
            WhyUnused::OnlyInProject => {
                (&settings.user, "set it in the file of a project, or unset it", "--user")
            }
            WhyUnused::OnlyInOwn => (&settings.project, "set it in your own file, or unset it", "--project"),
            _ => continue,
        };
        let Some(file) = file else { continue };
        let key = setting.key.to_string();
        issues.push(
            Issue::new(Kind::ConfigIgnored, format!("{key}: {}", why.words()))
                .at(&file.path)
                .fixed(words)
                .fixed_by(Some(format!("prowess config unset {option} {key}"))),
        );
    }
    if let Some(project) = &settings.project
        && let Some(what) = not_its_own(settings, &opened.all)
    {
        // What a project wishes is no setting of the user, who would turn them off in every folder.
        issues.push(
            Issue::new(Kind::ConfigIgnored, what)
                .at(&project.path)
                .fixed("leave it so, or take them out of the list: it turns off only what is in the project"),
        );
    }
    issues
}

/// A setting that leaves out every skill.
fn all_left_out(opened: &Opened) -> Option<Issue> {
    let is_empty = opened.all.all().next().is_none();
    let left_out = is_empty.then(|| AllLeftOut::of(&Places::default())).flatten()?;
    let issue = Issue::new(Kind::AllLeftOut, left_out.words());
    Some(issue.seen_by(Some("prowess config".to_owned())).fixed("change the setting, or unset it"))
}

/// Skills that are not trusted: together by the folder that would be trusted, and those that changed one by one.
fn untrusted(examination: &Examination, opened: &Opened) -> Vec<Issue> {
    let mut issues = Vec::new();
    // The installed ones are apart: the lock names their files.
    let mut by_folder: BTreeMap<(PathBuf, bool), Vec<&Candidate>> = BTreeMap::new();
    let views = opened.catalog.all().map(|(skill, _)| (skill, opened.views.registry()));
    // The folders of clients that are not here are not reported, but what a configuration names is.
    let is_meant = |skill: &Candidate| {
        !examination.named && (examination.clients.is_empty() || skill.readers.is_empty())
    };
    let library = opened.all.all().map(|(skill, _)| (skill, &opened.library));
    let library = library.filter(|(skill, _)| is_meant(skill));
    let withheld = withheld(examination, opened);
    let mut seen = std::collections::BTreeSet::new();
    for (skill, registry) in views.chain(library) {
        if skill.obstacle != Some(Obstacle::Untrusted) || !seen.insert(&skill.entry.origin.location) {
            continue;
        }
        // The skills of the user are trusted by their names, and none while their records cannot be read.
        if skill.entry.origin.scope == Scope::User && !registry.changed_since_approval(skill) {
            let key = &skill.entry.key;
            issues.extend((withheld == 0).then(|| {
                Issue::new(Kind::SkillUntrusted, "it was installed, and you did not accept its files")
                    .of_skill(key)
                    .at(&*skill.entry.origin.location.text())
                    .fixed("look at it, then trust it")
                    .fixed_by(word(Path::new(key)).map(|_| command_for("trust", key, "")))
            }));
            continue;
        }
        if skill.entry.origin.scope == Scope::User && withheld > 0 {
            continue;
        }
        if !registry.changed_since_approval(skill) {
            let is_installed =
                examination.origins.of(skill).or_else(|| examination.origins.around(skill)).is_some();
            by_folder.entry((folder_to_trust(skill), is_installed)).or_default().push(skill);
            continue;
        }
        // An installed skill that changed is reported as such.
        if examination.origins.of(skill).is_none() {
            let key = &skill.entry.key;
            let name = word(Path::new(key));
            issues.push(
                Issue::new(Kind::SkillChanged, "its files are not those that you trusted")
                    .of_skill(key)
                    .at(&*skill.entry.origin.location.text())
                    .seen_by(name.as_ref().map(|_| command_for("why", key, "")))
                    .fixed("look at it, then trust it again")
                    .fixed_by(name.map(|_| command_for("trust", key, ""))),
            );
        }
    }
    for ((folder, is_installed), skills) in by_folder {
        let mut names: Vec<&str> = skills.iter().map(|skill| &*skill.entry.key).collect();
        names.sort_unstable();
        names.dedup();
        // A name that is in several folders counts once, as in `list`.
        let what = format!("{}: {}", count(names.len(), "skill"), few(&names, MAX_NAMES));
        let (words, command) = if is_installed {
            let can_be_shown = skills.iter().all(|skill| word(Path::new(&skill.entry.key)).is_some());
            let accept =
                accept_command(&skills, InstallScope::Project, (&examination.origins, &Places::default()));
            ("look at them, then accept their files", accept.filter(|_| can_be_shown))
        } else {
            ("look at them, then trust the folder", word(&folder).map(|_| trust_command(&folder)))
        };
        issues.push(
            Issue::new(Kind::SkillUntrusted, what)
                .at(&folder)
                .seen_by(Some("prowess list".to_owned()))
                .fixed(words)
                .fixed_by(command),
        );
    }
    issues
}
