//! A folder of skills with trigger queries: whether each query finds its skill, and which skill wins instead.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use prowess::fs::read;
use prowess::limits::MAX_TRIGGER_BYTES;
use prowess::path::RelPath;
use prowess::select::{
    Bm25, OTHER_TRIGGER_FILES, Query, SelectOptions, Selector as _, TRIGGER_FILE, Trigger, TriggerError,
    search, triggers,
};
use prowess::{Entry, ScanOptions, SkillFile, SourceError, SourceErrorKind, scan};
use serde_json::{Value, json};

use super::percent;
use super::selectors::{Skill, bm25, selector};
use crate::Outcome;
use crate::args::Eval;
use crate::commands::shown;
use crate::error::{CommandError, Failure};
use crate::report::json::VERSION;
use crate::ui::{FAINT, STRONG, Ui, clean, count};

/// How far down the ranking to look for a skill.
const DEPTH: usize = 50;
/// How many skills each skill is compared with.
const COMPARED: usize = 5;
/// Two skills compete if the description of one finds the other with at least this share of its own score.
const RIVAL: f32 = 0.5;

/// Queries, each with the key of the skill that carries it.
type Queries = Vec<(String, Trigger)>;

/// One query and its result.
struct Asked {
    skill: String,
    trigger: Trigger,
    /// The place of the skill, from 1.
    rank: Option<usize>,
    /// The skill that came first.
    winner: Option<String>,
    /// Whether a query that should lead to the skill found it high enough, or one that should not did not put it first.
    passed: bool,
}

/// Runs the command over a folder.
pub(super) fn run(args: &Eval, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    let folder = args.folder.as_deref().unwrap_or(Path::new("."));
    let Read { skills, queries, refused, incomplete } = read(folder, ui)?;
    let top = args.top.get();
    let among: Vec<&Entry> = skills.iter().map(|skill| &skill.entry).collect();
    let overlap =
        if args.overlap { rivals(&bm25(&skills, args.settings.clone()), &among) } else { Vec::new() };
    let selector = selector(args, &skills)?;
    let options = SelectOptions::default().with_top_k(Some(DEPTH.max(top)));
    let mut asked = Vec::new();
    for (skill, trigger) in queries {
        let hits = search(&*selector, &Query::text(trigger.query.as_str()), &among, &options)
            .map_err(|error| Failure::new(format!("a query failed: {error}"), "try another selector"))?;
        let rank = hits.iter().position(|hit| hit.key == skill).map(|place| place + 1);
        let winner = hits.into_iter().next().map(|hit| hit.key);
        let passed = if trigger.should { rank.is_some_and(|rank| rank <= top) } else { rank != Some(1) };
        asked.push(Asked { skill, trigger, rank, winner, passed });
    }
    if json {
        ui.json(&envelope(args, &skills, &asked, &refused, &overlap))?;
    } else {
        ui.print(&page(args, &skills, &asked, &overlap))?;
    }
    let passed = asked.iter().all(|asked| asked.passed);
    Ok(if incomplete {
        Outcome::Incomplete
    } else if passed {
        Outcome::Fine
    } else {
        Outcome::Problems
    })
}

/// The skills below a folder, the queries they carry, and what was not read.
struct Read {
    /// Sorted by key, each key once.
    skills: Vec<Skill>,
    queries: Queries,
    /// Files that were refused, each with the reason.
    refused: Vec<Refused>,
    /// Whether something that should have been read could not be.
    incomplete: bool,
}

/// A file without trigger queries.
struct Refused {
    path: String,
    reason: String,
}

fn read(folder: &Path, ui: &mut Ui) -> Result<Read, CommandError> {
    let mut found = scan(folder, &ScanOptions::unbounded());
    if found.skills.is_empty() {
        let nothing = || SourceErrorKind::NoSkill.at(folder);
        return Err(found.problems.pop().unwrap_or_else(nothing).into());
    }
    let mut read = Read { skills: Vec::new(), queries: Vec::new(), refused: Vec::new(), incomplete: false };
    for problem in &found.problems {
        read.failed(&Failure::from(problem), ui);
    }
    let mut skills: BTreeMap<String, (Skill, Vec<Trigger>)> = BTreeMap::new();
    for place in &found.skills {
        let document = match read::read_skill(&place.path) {
            Ok(head) => head.document(),
            Err(error) => {
                read.failed(&Failure::from(&error), ui);
                continue;
            }
        };
        let Some(entry) = document.skill(&place.origin()) else { continue };
        if skills.contains_key(&entry.key) {
            continue;
        }
        let queries = read.queries_of(place, ui);
        let body = Some(document.body().to_owned());
        skills.insert(entry.key.clone(), (Skill { entry, body }, queries));
    }
    for (key, (skill, queries)) in skills {
        read.queries.extend(queries.into_iter().map(|trigger| (key.clone(), trigger)));
        read.skills.push(skill);
    }
    if read.queries.is_empty() && !read.refused.is_empty() {
        read.incomplete = true;
    }
    Ok(read)
}

impl Read {
    fn failed(&mut self, failure: &Failure, ui: &mut Ui) {
        self.incomplete = true;
        ui.failure(failure);
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
                    self.refused.push(Refused { path: shown, reason: error.to_string() });
                }
                Ok(Some(Err(error))) => {
                    let reason = error.to_string();
                    let message = format!("this file has no trigger queries: {shown}");
                    self.failed(&Failure::new(message, TriggerError::HINT).with_cause(&reason), ui);
                    self.refused.push(Refused { path: shown, reason });
                }
                Err(error) => {
                    self.failed(&Failure::from(&error), ui);
                    self.refused.push(Refused { path: shown, reason: error.to_string() });
                }
            }
        }
        queries
    }
}

/// Pairs of skills that compete: the description of one finds the other nearly as well as itself.
fn rivals(index: &Bm25, among: &[&Entry]) -> Vec<(String, String, f32)> {
    let mut pairs: BTreeMap<(String, String), f32> = BTreeMap::new();
    for entry in among {
        let query = Query::text(entry.description.as_str());
        let hits = index.select(&query, among, COMPARED + 1).unwrap_or_default();
        let Some(own) = hits.iter().find(|hit| hit.key == entry.key).map(|hit| hit.score) else { continue };
        for hit in hits.iter().filter(|hit| hit.key != entry.key && hit.score >= RIVAL * own) {
            let pair = (entry.key.clone().min(hit.key.clone()), entry.key.clone().max(hit.key.clone()));
            let share = pairs.entry(pair).or_default();
            *share = share.max(hit.score / own);
        }
    }
    let mut list: Vec<_> = pairs.into_iter().map(|((one, other), share)| (one, other, share)).collect();
    list.sort_by(|one, other| {
        other.2.total_cmp(&one.2).then_with(|| (&one.0, &one.1).cmp(&(&other.0, &other.1)))
    });
    list
}

/// How many queries passed, of how many: of those that should trigger, or those that should not.
fn tally(asked: &[Asked], should: bool) -> (usize, usize) {
    let of = || asked.iter().filter(|asked| asked.trigger.should == should);
    (of().filter(|asked| asked.passed).count(), of().count())
}

fn envelope(
    args: &Eval,
    skills: &[Skill],
    asked: &[Asked],
    refused: &[Refused],
    overlap: &[(String, String, f32)],
) -> Value {
    let (found, should) = tally(asked, true);
    let (spared, should_not) = tally(asked, false);
    let queries: Vec<Value> = asked
        .iter()
        .map(|asked| {
            json!({
                "skill": asked.skill, "query": asked.trigger.query, "should_trigger": asked.trigger.should,
                "passed": asked.passed, "rank": asked.rank, "winner": asked.winner,
            })
        })
        .collect();
    let mut value = json!({
        "version": VERSION,
        "selector": args.selector.name(),
        "skills": skills.len(),
        "top": args.top,
        "should": { "queries": should, "passed": found },
        "should_not": { "queries": should_not, "passed": spared },
        "queries": queries,
        "refused": refused.iter().map(|one| json!({ "path": one.path, "reason": one.reason })).collect::<Vec<_>>(),
    });
    if args.overlap {
        let pairs: Vec<Value> = overlap
            .iter()
            .map(|(one, other, share)| json!({ "skills": [one, other], "share": (share * 100.0).round() / 100.0 }))
            .collect();
        if let Some(members) = value.as_object_mut() {
            members.insert("overlap".to_owned(), pairs.into());
        }
    }
    value
}

fn page(args: &Eval, skills: &[Skill], asked: &[Asked], overlap: &[(String, String, f32)]) -> String {
    let mut text = String::new();
    let mut last = "";
    for asked in asked.iter().filter(|asked| !asked.passed) {
        if asked.skill != last {
            let _ = writeln!(text, "{STRONG}{}{STRONG:#}", clean(&asked.skill));
            last = &asked.skill;
        }
        let shown: String = asked.trigger.query.chars().take(70).collect();
        let dots = if shown.len() < asked.trigger.query.len() { "…" } else { "" };
        let winner = asked.winner.as_deref().map(clean).unwrap_or_default();
        let what = match (asked.trigger.should, asked.rank) {
            (false, _) => "first, but should not be".to_owned(),
            (true, Some(rank)) => format!("place {rank}, first is {winner}"),
            (true, None) if winner.is_empty() => "not found, nor is any other".to_owned(),
            (true, None) => format!("not found, first is {winner}"),
        };
        let _ = writeln!(text, "  {}{dots}\n    {what}", clean(&shown));
    }
    if !text.is_empty() {
        text.push('\n');
    }
    if args.overlap {
        let _ = writeln!(text, "{STRONG}Skills that compete{STRONG:#}");
        for (one, other, share) in overlap {
            let _ = writeln!(text, "  {:3.0} %  {} and {}", share * 100.0, clean(one), clean(other));
        }
        if overlap.is_empty() {
            text.push_str("  none\n");
        }
        text.push('\n');
    }
    let _ = writeln!(text, "{}, selector {}", count(skills.len(), "skill"), args.selector.name());
    if asked.is_empty() {
        let _ = writeln!(text, "{FAINT}no skill has trigger queries: put them into {TRIGGER_FILE}{FAINT:#}");
        return text;
    }
    let place = match args.top.get() {
        1 => "first".to_owned(),
        top => format!("among the first {top}"),
    };
    let whole = |part: usize, all: usize| percent(f64::from(u32::try_from(part).unwrap_or(u32::MAX)), all);
    for (should, wish, done) in
        [(true, format!("should be {place}"), "are"), (false, "should not be first".into(), "are not")]
    {
        let (passed, all) = tally(asked, should);
        if all > 0 {
            let _ = writeln!(text, "  {wish}: {passed} of {all} {done} ({:.1} %)", whole(passed, all));
        }
    }
    text
}
