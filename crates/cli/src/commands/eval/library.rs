//! A folder of skills with trigger queries: whether each query finds its skill, and which skill wins instead.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use prowess::fs::read;
use prowess::limits::MAX_TRIGGER_BYTES;
use prowess::path::RelPath;
use prowess::select::{
    Bm25, OTHER_TRIGGER_FILES, Query, SelectOptions, Selector as _, TRIGGER_FILE, Trigger, TriggerError,
    search, triggers,
};
use prowess::text::similar;
use prowess::{Entry, ScanOptions, SkillFile, SourceError, SourceErrorKind, scan};

use super::report::{Asked, EvalReport, NotUsed};
use super::selectors::{Skill, bm25, selector};
use crate::Outcome;
use crate::args::Eval;
use crate::commands::skill_arg::{FilesByName, Prefer, SkillArg};
use crate::commands::{confined, shown};
use crate::error::{CommandError, Failure};
use crate::rank::{OVERLAPS, described_by, rivals};
use crate::ui::Ui;
use crate::ui::command::command_for;

/// How far down the ranking to look for a skill.
const DEPTH: usize = 50;
/// A word says little about a skill if more than one in so many skills has it in its description, and more than these few.
const COMMON: usize = 5;
const RARE: usize = 2;
/// The most words that an author is told to add.
const MAX_WORDS: usize = 6;
/// The most entries of a folder that are looked at for a similar name.
const MAX_BESIDE: usize = 10_000;

/// Queries, each with the key of the skill that carries it.
type Queries = Vec<(String, Trigger)>;

/// Runs the command over a folder.
pub(super) fn run(args: &Eval, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    let folder = args.folder.as_deref().unwrap_or(Path::new("."));
    let Read { skills, queries, refused, left_out, incomplete } = read(folder, ui)?;
    let top = args.top.get();
    let among: Vec<&Entry> = skills.iter().map(|skill| &skill.entry).collect();
    let overlap = if args.overlap {
        rivals(&bm25(&skills, args.settings.clone()), &among, OVERLAPS)
    } else {
        Vec::new()
    };
    let selector = selector(args, &skills)?;
    let options = SelectOptions::default().with_top_k(Some(DEPTH.max(top)));
    let mut asked = Vec::new();
    for (skill, trigger) in queries {
        let hits = search(&*selector, &Query::text(trigger.query.as_str()), &among, &options)
            .map_err(|error| Failure::new(format!("a query failed: {error}"), "try another selector"))?;
        let rank = hits.iter().position(|hit| hit.key == skill).map(|place| place + 1);
        let winner = hits.into_iter().next().map(|hit| hit.key);
        let passed = if trigger.should { rank.is_some_and(|rank| rank <= top) } else { rank != Some(1) };
        asked.push(Asked { skill, trigger, rank, winner, passed, words: Vec::new() });
    }
    let passed = asked.iter().all(|asked| asked.passed);
    if !passed {
        advise(&mut asked, &bm25(&skills, None), &among);
    }
    let report = EvalReport { args, skills: skills.len(), asked, refused, left_out, incomplete, overlap };
    if json {
        ui.json(&report.json())?;
    } else {
        ui.print(&report.page(ui.columns()))?;
    }
    Ok(if incomplete {
        Outcome::Incomplete
    } else if passed {
        Outcome::Fine
    } else {
        Outcome::Problems
    })
}

/// The skills below a folder, the queries they carry, and what was not read.
#[derive(Default)]
struct Read {
    /// Sorted by key, each key once.
    skills: Vec<Skill>,
    queries: Queries,
    /// Files that were refused, each with the reason.
    refused: Vec<NotUsed>,
    /// Skills that are not tested, each with the reason.
    left_out: Vec<NotUsed>,
    /// Whether something that should have been read could not be.
    incomplete: bool,
}

fn read(folder: &Path, ui: &mut Ui) -> Result<Read, CommandError> {
    let project = confined::project_of(folder);
    let mut found = scan(folder, &ScanOptions::unbounded().with_within(project.clone()));
    if found.skills.is_empty() {
        let problem = found.problems.pop().unwrap_or_else(|| SourceErrorKind::NoSkill.at(folder));
        return Err(match problem.kind {
            SourceErrorKind::Missing => missing(folder, &problem)?.into(),
            _ => problem.into(),
        });
    }
    let mut read = Read::default();
    for problem in &found.problems {
        let link = PathBuf::from(&*problem.at.text());
        match (&problem.kind, &project) {
            (SourceErrorKind::OutsideProject, Some(project)) if confined::is_for_skills(&link, project) => {
                read.failed(&confined::failure(problem, project), ui);
            }
            (SourceErrorKind::OutsideProject, Some(project)) => {
                ui.warning(&confined::failure(problem, project));
            }
            _ => read.failed(&Failure::from(problem), ui),
        }
    }
    let mut skills: BTreeMap<String, (Skill, Vec<Trigger>)> = BTreeMap::new();
    for place in &found.skills {
        if let Some(project) = project.as_ref().filter(|project| confined::leads_out(&place.path, project)) {
            let problem = SourceErrorKind::OutsideProject.at(&place.path);
            read.failed(&confined::failure(&problem, project), ui);
            read.left_out.push(NotUsed { path: shown(&place.path), reason: problem.to_string() });
            continue;
        }
        let document = match read::read_skill(&place.path) {
            Ok(head) => head.document(),
            Err(error) => {
                read.failed(&Failure::from(&error), ui);
                read.left_out.push(NotUsed { path: shown(&place.path), reason: error.to_string() });
                continue;
            }
        };
        let queries = read.queries_of(place, ui);
        let Some(entry) = document.skill(&place.origin()) else {
            let path = shown(&place.path);
            let why = format!("see why with: {}", command_for("check", &path, ""));
            read.leave_out(path, "this skill does not load", &why, &queries, ui);
            continue;
        };
        if skills.contains_key(&entry.key) {
            let reason = format!("another skill has the same name, {}", entry.key);
            let hint = "give each skill a name of its own, or test their folders one by one";
            read.leave_out(shown(&place.path), &reason, hint, &queries, ui);
            continue;
        }
        let body = Some(document.body().to_owned());
        skills.insert(entry.key.clone(), (Skill { entry, body }, queries));
    }
    for (key, (skill, queries)) in skills {
        read.queries.extend(queries.into_iter().map(|trigger| (key.clone(), trigger)));
        read.skills.push(skill);
    }
    if read.queries.is_empty() && !read.refused.is_empty() && !read.incomplete {
        let error = "there are no trigger queries, only files of another kind";
        read.failed(&Failure::new(error, TriggerError::HINT), ui);
    }
    Ok(read)
}

/// The failure of a folder that does not exist, with what may be meant: a similar name, or a skill, which is not a folder
/// with others to compare it with.
fn missing(folder: &Path, problem: &SourceError) -> Result<Failure, CommandError> {
    let mut failure = Failure::from(problem);
    if let Some(skill) = FilesByName::default().file(&SkillArg::read(folder, Prefer::Path))? {
        let skills = skill.parent().and_then(Path::parent).unwrap_or(folder);
        let eval = command_for("eval", &shown(skills), "");
        failure.hints =
            vec![format!("this is the name of a skill; compare it with those beside it: {eval}").into()];
        return Ok(failure);
    }
    let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let beside = std::fs::read_dir(parent).into_iter().flatten().flatten().take(MAX_BESIDE);
    let names: Vec<String> = beside
        .filter(|entry| entry.path().is_dir())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    let name = folder.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    let near = similar(&name, names.iter().map(String::as_str));
    if !near.is_empty() {
        let near: Vec<String> = near.iter().map(|name| shown(&folder.with_file_name(name))).collect();
        failure.error = format!("{}; did you mean {}?", failure.error, near.join(" or "));
    }
    Ok(failure)
}

impl Read {
    fn failed(&mut self, failure: &Failure, ui: &mut Ui) {
        self.incomplete = true;
        ui.failure(failure);
    }

    /// Reports a skill that is not tested. Its queries cannot pass, so with any the result is incomplete.
    fn leave_out(&mut self, path: String, reason: &str, hint: &str, queries: &[Trigger], ui: &mut Ui) {
        let failure = Failure::new(format!("{reason}: {path}"), hint);
        if queries.is_empty() {
            ui.warning(&failure);
        } else {
            self.failed(&failure, ui);
        }
        self.left_out.push(NotUsed { path, reason: reason.to_owned() });
    }

    /// The queries that a skill carries, each once.
    fn queries_of(&mut self, skill: &SkillFile, ui: &mut Ui) -> Vec<Trigger> {
        let mut queries: Vec<Trigger> = Vec::new();
        for name in std::iter::once(TRIGGER_FILE).chain(OTHER_TRIGGER_FILES) {
            let shown = shown(&skill.folder().join(name));
            let bytes = RelPath::parse(name)
                .map_err(SourceError::from)
                .and_then(|path| read::read_of_skill(skill, &path, MAX_TRIGGER_BYTES));
            match bytes.map(|bytes| bytes.map(|bytes| triggers(&bytes))) {
                Ok(None) => {}
                Ok(Some(Ok(found))) => {
                    let new: Vec<Trigger> = found.into_iter().filter(|one| !queries.contains(one)).collect();
                    queries.extend(new);
                }
                // Other tools use this file name for another format, which is not an error.
                Ok(Some(Err(error @ TriggerError::Tasks))) if name.ends_with("evals.json") => {
                    ui.note(&format!("not read: {shown}: {error}; trigger queries belong in {TRIGGER_FILE}"));
                    self.refused.push(NotUsed { path: shown, reason: error.to_string() });
                }
                Ok(Some(Err(error))) => {
                    let reason = error.to_string();
                    let message = format!("this file has no trigger queries: {shown}");
                    self.failed(&Failure::new(message, TriggerError::HINT).with_cause(&reason), ui);
                    self.refused.push(NotUsed { path: shown, reason });
                }
                Err(error) => {
                    self.failed(&Failure::from(&error), ui);
                    self.refused.push(NotUsed { path: shown, reason: error.to_string() });
                }
            }
        }
        queries
    }
}

/// Says for each query that failed which of its words matter: those that the description lacks, or those that led to
/// the skill although they should not.
fn advise(asked: &mut [Asked], index: &Bm25, among: &[&Entry]) {
    let described = |query: &str, entry: &Entry| {
        let hits = index.select(&Query::text(query), &[entry], 1).unwrap_or_default();
        let words = described_by(query, hits.first().map_or(&[], |hit| &hit.why));
        let owned = |words: Vec<&str>| words.into_iter().map(str::to_owned).collect::<Vec<_>>();
        (owned(words.found), owned(words.missing))
    };
    let common = (among.len() / COMMON).max(RARE);
    // Queries of one author have many words in common, and each is looked for in every description.
    let mut known: BTreeMap<String, bool> = BTreeMap::new();
    let mut is_rare = |word: &String| {
        let counted = || {
            let has_it = |entry: &&&Entry| !described(word, entry).0.is_empty();
            among.iter().filter(has_it).take(common + 1).count() <= common
        };
        *known.entry(word.clone()).or_insert_with(counted)
    };
    for asked in asked.iter_mut().filter(|asked| !asked.passed) {
        let Some(entry) = among.iter().find(|entry| entry.key == asked.skill) else { continue };
        let (found, missing) = described(&asked.trigger.query, entry);
        asked.words = if asked.trigger.should {
            missing.into_iter().filter(&mut is_rare).take(MAX_WORDS).collect()
        } else {
            found
        };
    }
}
