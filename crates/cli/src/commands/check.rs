//! `prowess check`: every problem of the skills at some paths.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use prowess::config::refuse_level;
use prowess::files::{self, Head};
use prowess::limits::MAX_FILE_BYTES;
use prowess::rule::Preset;
use prowess::{Config, Found, Level, Manifest, Origin, Profile, ScanOptions, SourceError, env, scan};

use super::{STDIN, shown};
use crate::Outcome;
use crate::args::{Check, Format};
use crate::error::{CommandError, Failure};
use crate::report::github::Github;
use crate::report::human::Human;
use crate::report::json::Json;
use crate::report::{Checked, Reporter, Summary};
use crate::ui::{self, Ui};

/// Runs the command.
pub(crate) fn run(args: &Check, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    let reads_stdin = args.paths.iter().any(|path| path.as_os_str() == STDIN);
    if args.path.is_some() && !reads_stdin {
        let hint = "write: prowess check - --path skills/pdf/SKILL.md";
        return Err(
            Failure::new("--path belongs to standard input, and - is not among the paths", hint).into()
        );
    }
    let reporter: Box<dyn Reporter> = match args.format {
        _ if json => Box::new(Json::default()),
        Format::Json => Box::new(Json::default()),
        Format::Human => Box::new(Human { quiet: args.quiet }),
        Format::Github => Box::new(Github { quiet: args.quiet }),
    };
    let mut checker = Checker {
        preset: args.profile,
        levels: levels(args)?,
        configs: BTreeMap::new(),
        seen: BTreeSet::new(),
        summary: Summary::default(),
        reporter,
        ui,
    };
    let here = [PathBuf::from(".")];
    for path in if args.paths.is_empty() { here.as_slice() } else { &args.paths } {
        if path.as_os_str() == STDIN {
            checker.stdin(args.path.as_deref())?;
        } else if path.is_dir() {
            checker.folder(path)?;
        } else {
            checker.file(&Found { path: path.clone() })?;
        }
    }
    checker.finish()
}

/// The levels from the command line: the stricter word wins.
fn levels(args: &Check) -> Result<Vec<(String, Level)>, CommandError> {
    let groups = [
        ("--allow", &args.allow, Level::Off),
        ("--warn", &args.warn, Level::Warning),
        ("--deny", &args.deny, Level::Error),
    ];
    let mut levels = Vec::new();
    for (option, codes, level) in groups {
        for code in codes {
            refuse_level(code, level)
                .map_err(|(error, hint)| Failure::new(format!("{option}: {error}"), hint))?;
            levels.push((code.clone(), level));
        }
    }
    Ok(levels)
}

struct Checker<'a> {
    preset: Option<Preset>,
    levels: Vec<(String, Level)>,
    /// Each configuration is read once; one that cannot be used is complained about once.
    configs: BTreeMap<PathBuf, Option<Config>>,
    seen: BTreeSet<PathBuf>,
    summary: Summary,
    reporter: Box<dyn Reporter>,
    ui: &'a mut Ui,
}

impl Checker<'_> {
    fn folder(&mut self, path: &Path) -> Result<(), CommandError> {
        let scan = scan(path, &ScanOptions::named());
        for problem in &scan.problems {
            self.failed(problem)?;
        }
        if scan.skills.is_empty() && scan.problems.is_empty() {
            self.failed(&SourceError::NoSkill { path: path.to_owned() })?;
        }
        for skill in &scan.skills {
            self.file(skill)?;
        }
        Ok(())
    }

    fn file(&mut self, skill: &Found) -> Result<(), CommandError> {
        if !self.seen.insert(env::absolute(&skill.path)) {
            return Ok(());
        }
        let Some(profile) = self.profile(&skill.path)? else { return Ok(()) };
        let head = match files::read_skill(&skill.path) {
            Ok(head) => head,
            Err(error) => return self.failed(&error),
        };
        let manifest = self.manifest(skill)?;
        self.judge(&head, manifest.as_ref(), &skill.origin(), &profile, shown(&skill.path))
    }

    fn stdin(&mut self, path: Option<&Path>) -> Result<(), CommandError> {
        let head = Head::whole(ui::read_input(MAX_FILE_BYTES)?);
        let Some(path) = path else {
            let profile = self.with_levels(Profile::new(self.preset.unwrap_or(Preset::Spec)));
            return self.judge(&head, None, &Origin::text("<stdin>"), &profile, "<stdin>".to_owned());
        };
        let is_file = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md"));
        let skill = Found { path: if is_file { path.to_owned() } else { path.join("SKILL.md") } };
        let Some(profile) = self.profile(&skill.path)? else { return Ok(()) };
        // The folder need not be there yet.
        let manifest = if skill.folder().is_dir() { self.manifest(&skill)? } else { None };
        self.judge(&head, manifest.as_ref(), &skill.origin(), &profile, shown(&skill.path))
    }

    /// The files of a skill; what is left out of the list is no fault of the skill.
    fn manifest(&mut self, skill: &Found) -> Result<Option<Manifest>, CommandError> {
        match files::list(skill.folder()) {
            Ok(listing) => Ok(Some(listing.manifest)),
            Err(error) => self.failed(&error).map(|()| None),
        }
    }

    fn judge(
        &mut self,
        head: &Head,
        files: Option<&Manifest>,
        at: &Origin,
        profile: &Profile,
        path: String,
    ) -> Result<(), CommandError> {
        let document = head.document();
        let problems = profile.check(&document, files, at);
        self.summary.add(&problems);
        self.reporter.file(&Checked { path, document, problems }, self.ui)
    }

    /// The profile for a path, unless the path is ignored or its configuration cannot be used.
    fn profile(&mut self, path: &Path) -> Result<Option<Profile>, CommandError> {
        let path = env::absolute(path);
        let file = path.parent().and_then(Config::find);
        let Some(file) = file else {
            return Ok(Some(self.with_levels(Profile::new(self.preset.unwrap_or(Preset::Spec)))));
        };
        if !self.configs.contains_key(&file) {
            let config = match Config::read(&file) {
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
        Ok(Some(self.with_levels(config.profile(&path, self.preset))))
    }

    fn with_levels(&self, mut profile: Profile) -> Profile {
        for (code, level) in &self.levels {
            // Every code was looked up when the command line was read.
            if let Ok(changed) = profile.clone().with_level(code, *level) {
                profile = changed;
            }
        }
        profile
    }

    fn failed(&mut self, failure: impl Into<Failure>) -> Result<(), CommandError> {
        let failure = failure.into();
        self.summary.failures += 1;
        self.ui.failure(&failure);
        self.reporter.failure(&failure, self.ui)
    }

    fn finish(mut self) -> Result<Outcome, CommandError> {
        self.reporter.finish(&self.summary, self.ui)?;
        Ok(match (self.summary.failures, self.summary.errors) {
            (0, 0) => Outcome::Fine,
            (0, _) => Outcome::Problems,
            _ => Outcome::Incomplete,
        })
    }
}
