//! `prowess check`: every problem of the skills at some paths.

mod given;
mod in_client;
mod levels;
mod patch_base;
mod stdin;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use prowess::env::{self, Environment};
use prowess::finding::Preset;
use prowess::fs::read::{self, Head};
use prowess::install::{InstallFolders, Origins, upstream_name};
use prowess::internal::{WriteError, replace_where};
use prowess::library::clients::{self, Client};
use prowess::settings::ConfigLimits;
use prowess::{
    Config, FixMode, Manifest, Origin, Profile, ScanOptions, SkillFile, SourceError, SourceErrorKind, fix,
    scan,
};

use self::in_client::InClient;
use self::levels::Levels;
use self::patch_base::PatchBase;
use super::confined::{self, approvals};
use super::fixable::Fixable;
use super::skill_arg::{FilesByName, Prefer, SkillArg};
use super::{STDIN, not_a_skill, read_skill, shown, skill_file};
use crate::Outcome;
use crate::args::{Check, Format};
use crate::commands::hints;
use crate::error::{CommandError, Failure};
use crate::explain::clients_named;
use crate::explain::provenance::origins_of;
use crate::report::concise::Concise;
use crate::report::github::Github;
use crate::report::human::{Human, Notes};
use crate::report::json::Json;
use crate::report::sarif::Sarif;
use crate::report::statistics::Statistics;
use crate::report::{Checked, Promised, Reporter, Summary, patch};
use crate::ui::{Ui, count};

/// Runs the command.
pub(crate) fn run(args: &Check, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    let reads_stdin = args.paths.iter().any(|path| path.as_os_str() == STDIN);
    if args.path.is_some() && !reads_stdin {
        let hint = "write: prowess check - --path skills/pdf/SKILL.md";
        return Err(Failure::new("--path is for standard input, and - is not among the paths", hint).into());
    }
    let format = match (args.format, json) {
        (None | Some(Format::Json), true) => Format::Json,
        (Some(_), true) => {
            let error = "--json and --format name different formats";
            return Err(Failure::new(error, "leave one of the two out").into());
        }
        (format, false) => format.unwrap_or(Format::Human),
    };
    let notes = match (args.quiet, args.notes) {
        (true, _) => Notes::Hidden,
        (false, true) => Notes::Whole,
        (false, false) => Notes::Folded,
    };
    let reporter: Box<dyn Reporter> = match format {
        Format::Human if args.statistics => Box::new(Statistics::new(args.quiet)),
        Format::Json => Box::new(Json::default()),
        Format::Human => Box::new(Human { notes }),
        Format::Concise => Box::new(Concise { quiet: args.quiet }),
        Format::Github => Box::new(Github { quiet: args.quiet }),
        Format::Sarif => Box::new(Sarif::new(args.quiet)),
    };
    let fixing = match (args.unsafe_fixes, args.fix || args.diff) {
        (true, _) => Some(FixMode::All),
        (false, true) => Some(FixMode::Safe),
        (false, false) => None,
    };
    if reads_stdin && fixing.is_some() && !args.diff {
        ui.results_to_stderr();
    }
    let of_client = args.client.as_deref().map(|id| InClient::of(id, ui)).transpose()?;
    let here = [PathBuf::from(".")];
    let by_name = FilesByName::default();
    let given = given::files(&args.paths, &by_name, ui)?;
    let paths = match &of_client {
        Some(found) => &found.files,
        None if given.is_empty() => here.as_slice(),
        None => &given,
    };
    let mut checker = Checker {
        client: args.client.as_deref().and_then(clients::client),
        fixable: Fixable::of(paths, &Environment::current()),
        only_stdin: reads_stdin && paths.len() == 1,
        preset: args.profile,
        levels: Levels::of(args)?,
        fixing,
        diff: args.diff,
        base: PatchBase::of(paths),
        changes: 0,
        configs: BTreeMap::new(),
        ignored_configs: BTreeSet::new(),
        seen: BTreeSet::new(),
        origins: BTreeMap::new(),
        summary: Summary::default(),
        reporter,
        ui,
    };
    checker.ui.working("checking");
    for path in paths {
        match SkillArg::read(path, Prefer::Path) {
            SkillArg::Stdin => checker.stdin(args.path.as_deref())?,
            SkillArg::Name(name) => checker.failed(by_name.unknown(name)?)?,
            SkillArg::Location(_) => checker.failed(given::of_server(path))?,
            SkillArg::Path(path) if path.is_dir() => checker.folder(path)?,
            SkillArg::Path(path) => match not_a_skill(path) {
                Some(failure) => checker.failed(failure)?,
                None => checker.file(&SkillFile { path: path.to_owned() })?,
            },
        }
    }
    let mut unlisted = false;
    if let Some(InClient { unlisted: skills, failures, .. }) = of_client {
        unlisted = !skills.is_empty();
        for failure in failures {
            checker.failed(failure)?;
        }
        for skill in &skills {
            checker.reporter.unlisted(skill, checker.ui)?;
        }
    }
    let outcome = checker.finish()?;
    Ok(if outcome == Outcome::Fine && unlisted { Outcome::Problems } else { outcome })
}

/// Which clients act on a field, in words, as far as that is known.
fn acting_on(field: &str) -> Option<Cow<'static, str>> {
    let clients: Vec<&str> = clients::acting_on(field).iter().map(|client| client.name).collect();
    (!clients.is_empty()).then(|| format!("known to act on it: {}", clients.join(", ")).into())
}

/// What is checked: the bytes, the files beside them, and their origin.
struct Subject {
    head: Head,
    files: Option<Manifest>,
    at: Origin,
    /// The path as it is shown.
    path: String,
}

struct Checker<'a> {
    /// The client that is asked about.
    client: Option<&'static Client>,
    /// Where fixes may be written.
    fixable: Fixable,
    /// Whether standard input is all that is checked.
    only_stdin: bool,
    preset: Option<Preset>,
    levels: Levels,
    fixing: Option<FixMode>,
    /// Whether changes are shown and not made.
    diff: bool,
    /// The folder that the paths in a diff are relative to.
    base: PatchBase,
    /// How many files would change.
    changes: usize,
    /// Each configuration is read once; `None` for one that cannot be used, which is reported once.
    configs: BTreeMap<PathBuf, Option<Config>>,
    /// Configurations of other users that were reported as ignored.
    ignored_configs: BTreeSet<PathBuf>,
    seen: BTreeSet<PathBuf>,
    /// What is installed, by its project.
    origins: BTreeMap<PathBuf, Origins>,
    summary: Summary,
    reporter: Box<dyn Reporter>,
    ui: &'a mut Ui,
}

impl Checker<'_> {
    fn folder(&mut self, path: &Path) -> Result<(), CommandError> {
        let project = confined::project_of(path);
        let scan = scan(path, &ScanOptions::unbounded().with_within(project.clone()));
        for problem in &scan.problems {
            match (&problem.kind, &project) {
                (SourceErrorKind::OutsideProject, Some(project)) => self.link(problem, project)?,
                _ => self.failed(problem)?,
            }
        }
        if scan.skills.is_empty() && scan.problems.is_empty() {
            // There may be a SKILL.md that is not a file.
            let unread = skill_file(path).and_then(|file| read_skill(&file).err());
            self.failed(unread.unwrap_or_else(|| Failure::from(&SourceErrorKind::NoSkill.at(path))))?;
        }
        for skill in &scan.skills {
            match project.as_ref().filter(|project| confined::leads_out(&skill.path, project)) {
                Some(project) => self.link(&SourceErrorKind::OutsideProject.at(&skill.path), project)?,
                None => self.file(skill)?,
            }
        }
        Ok(())
    }

    /// A link that leads out of a project that is not trusted. It is followed into what was named and into the user's own
    /// folders of skills, to which installers link.
    fn link(&mut self, problem: &SourceError, project: &Path) -> Result<(), CommandError> {
        let link = PathBuf::from(&*problem.at.text());
        let target = std::fs::canonicalize(&link).ok().filter(|target| self.fixable.reads(target));
        let failure = confined::failure(problem, project);
        match target {
            Some(target) if target.is_dir() => {
                let scan = scan(&link, &ScanOptions::unbounded().with_within(Some(target)));
                scan.problems.iter().try_for_each(|problem| self.failed(problem))?;
                scan.skills.iter().try_for_each(|skill| self.file(skill))
            }
            Some(_) => self.file(&SkillFile { path: link }),
            None if confined::is_for_skills(&link, project) => self.failed(failure),
            None => {
                self.ui.warning(&failure);
                Ok(())
            }
        }
    }

    fn file(&mut self, skill: &SkillFile) -> Result<(), CommandError> {
        if !self.seen.insert(env::absolute(&skill.path)) {
            return Ok(());
        }
        self.ui.at(&skill.path.to_string_lossy());
        let Some(profile) = self.profile(&skill.path)? else { return Ok(()) };
        let head = match read_skill(&skill.path) {
            Ok(head) => head,
            Err(failure) => return self.failed(failure),
        };
        let files = self.manifest(skill)?;
        let mut at = skill.origin();
        // Installed under another name, it is still in the folder that its author means.
        at.folder = upstream_name(&skill.path).or(at.folder);
        let subject = Subject { head, files, at, path: shown(&skill.path) };
        self.judge(subject, &profile, Some(&skill.path))
    }

    /// The files of a skill.
    fn manifest(&mut self, skill: &SkillFile) -> Result<Option<Manifest>, CommandError> {
        match read::list(skill.folder()) {
            Ok(listing) => Ok(Some(listing.manifest)),
            Err(error) => self.failed(&error).map(|()| None),
        }
    }

    /// Fixes the subject if asked to, and checks it. Without a file, the text is from standard input.
    fn judge(
        &mut self,
        subject: Subject,
        profile: &Profile,
        file: Option<&Path>,
    ) -> Result<(), CommandError> {
        let Subject { head, files, at, path } = subject;
        let mut document = head.document();
        let mut applied = Vec::new();
        if let Some(mode) = self.fixing {
            let fixed = fix(&document, files.as_ref(), &at, profile, mode);
            let changed = fixed.document.raw() != document.raw();
            // Agents do not get an installed skill that was edited.
            let installed = file.filter(|_| changed).and_then(|file| self.installed_from(file));
            if let Some(source) = &installed {
                let note = format!(
                    "installed, so it is left as it is: {path}; fix it in {source}, then add it again"
                );
                self.ui.note(&note);
            }
            let changed = changed && installed.is_none();
            if self.diff {
                self.summary.files += 1;
                // A fix that would not be written is not shown.
                let refused = file.filter(|_| changed).and_then(|file| self.refused(file));
                if let Some(error) = refused {
                    self.failed(&error)?;
                } else if changed {
                    self.changes += 1;
                    self.summary.fixed += fixed.applied.len();
                    let shown = self.base.header(file, &path);
                    let diff = patch::unified(&shown, document.text(), fixed.document.text());
                    self.ui.diff(&diff)?;
                }
                return Ok(());
            }
            let written = match file {
                Some(file) if changed => {
                    let may = |target: &Path| self.fixable.allows(file, target);
                    replace_where(file, &head.bytes, fixed.document.raw(), may)
                }
                Some(_) => Ok(()),
                None => {
                    self.ui.raw(fixed.document.raw())?;
                    Ok(())
                }
            };
            match written {
                Ok(()) if installed.is_some() => {}
                Ok(()) => (document, applied) = (fixed.document, fixed.applied),
                Err(error) => {
                    self.summary.unwritten += 1;
                    self.report(&Failure::from(&error))?;
                }
            }
        }
        let mut problems = self.levels.denied(profile.check(&document, files.as_ref(), &at));
        for problem in problems.iter_mut().filter(|problem| problem.code == "field-client") {
            problem.help = problem.help.take().or_else(|| acting_on(problem.field.as_deref()?));
        }
        for problem in &mut problems {
            problem.help = problem
                .help
                .take()
                .or_else(|| clients_named::who_runs(problem.code, self.client).map(Cow::Owned));
        }
        let is_fixable = problems.iter().any(|problem| problem.fix.is_some())
            && file.and_then(|file| self.installed_from(file)).is_none();
        let fixable = if is_fixable {
            // A fix may make others possible, so that they are counted by trying.
            let fixed = |mode| fix(&document, files.as_ref(), &at, profile, mode).applied.len();
            let safe = fixed(FixMode::Safe);
            Promised { safe, others: fixed(FixMode::All).saturating_sub(safe) }
        } else {
            Promised::default()
        };
        self.summary.add(&problems, applied.len(), fixable);
        self.reporter.file(&Checked { path, document, problems, fixed: applied }, self.ui)
    }

    /// Where an installed skill comes from; none of any other skill.
    fn installed_from(&mut self, file: &Path) -> Option<String> {
        let file = env::absolute(file);
        let environment = Environment::current();
        let project = InstallFolders::project_of(file.parent()?, &environment);
        let origins = self.origins.entry(project).or_insert_with_key(|project| origins_of(project));
        let origin = origins.holding(&file)?;
        Some(origin.locked.origin_from(&env::absolute(Path::new(".")), origin.scope, &origin.path))
    }

    /// Why a fix of a file would not be written, if it would not.
    fn refused(&self, file: &Path) -> Option<WriteError> {
        let target = std::fs::canonicalize(file).ok().filter(|target| !self.fixable.allows(file, target))?;
        Some(WriteError::Outside { path: file.to_owned(), target })
    }

    /// The profile for a path, unless the path is ignored or its configuration cannot be used.
    fn profile(&mut self, path: &Path) -> Result<Option<Profile>, CommandError> {
        let path = env::absolute(path);
        let found = path.parent().map(Config::find).unwrap_or_default();
        for path in found.ignored {
            if self.ignored_configs.insert(path.clone()) {
                let error = SourceErrorKind::OtherOwner.at(path);
                self.ui.note(&format!("warning: {error}"));
                self.ui.note(&format!("  hint: {}", hints::of_source(&error)));
            }
        }
        let Some(file) = found.file else {
            return Ok(Some(self.levels.apply(Profile::new(self.preset.unwrap_or(Preset::Spec)))));
        };
        if let Some(None) = self.configs.get(&file) {
            self.summary.failures += 1;
        } else if !self.configs.contains_key(&file) {
            let config = match Config::read_of_project(&file, ConfigLimits::default(), &approvals()) {
                Ok(config) => Some(config),
                Err(error) => {
                    self.failed(&error)?;
                    None
                }
            };
            self.configs.insert(file.clone(), config);
        }
        let Some(config) = self.configs.get(&file).and_then(Option::as_ref) else { return Ok(None) };
        if config.ignores(&path) {
            self.summary.ignored += 1;
            return Ok(None);
        }
        Ok(Some(self.levels.apply(config.profile(&path, self.preset))))
    }

    fn failed(&mut self, failure: impl Into<Failure>) -> Result<(), CommandError> {
        self.summary.failures += 1;
        self.report(&failure.into())
    }

    fn report(&mut self, failure: &Failure) -> Result<(), CommandError> {
        self.ui.failure(failure);
        self.reporter.failure(failure, self.ui)
    }

    fn finish(mut self) -> Result<Outcome, CommandError> {
        if self.diff {
            let files = count(self.changes, "file");
            let word = if self.summary.fixed == 1 { "fix" } else { "fixes" };
            self.ui.note(&match self.changes {
                0 => "no file would change".to_owned(),
                _ => format!("{files} would change: {} {word}", self.summary.fixed),
            });
            if let Some(apply) = self.base.command().filter(|_| self.changes > 0) {
                self.ui.note(&format!("apply it with: {apply}"));
            }
            return Ok(match (self.summary.failures, self.changes) {
                (0, 0) => Outcome::Fine,
                (0, _) => Outcome::Problems,
                _ => Outcome::Incomplete,
            });
        }
        self.reporter.finish(&self.summary, self.ui)?;
        Ok(match (self.summary.failures + self.summary.unwritten, self.summary.errors) {
            (0, 0) => Outcome::Fine,
            (0, _) => Outcome::Problems,
            _ => Outcome::Incomplete,
        })
    }
}
