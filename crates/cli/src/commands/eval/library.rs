//! A folder of skills and the queries they carry: is each found for what its author wrote, and who wins instead.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use prowess::select::{Bm25, Options, Query, Selector as _, TRIGGER_FILES, Trigger, search, triggers};
use prowess::{Entry, ScanOptions, SourceError, files, scan};
use serde_json::{Value, json};

use super::percent;
use super::selectors::{Skill, bm25, selector};
use crate::Outcome;
use crate::args::Eval;
use crate::error::{CommandError, Failure};
use crate::report::json::VERSION;
use crate::ui::{FAINT, STRONG, Ui, clean, count};

/// The most bytes of a file with queries.
const MAX_TRIGGER_BYTES: usize = 1 << 20;
/// How far down the ranking a skill is looked for.
const DEPTH: usize = 50;
/// How many places a prompt usually shows.
const SHOWN: usize = 5;
/// A skill whose own description finds another with this share of its own score competes with it.
const RIVAL: f32 = 0.5;

/// Queries, each with the key of the skill that carries it.
type Queries = Vec<(String, Trigger)>;

/// One query, and what became of it.
struct Asked {
    skill: String,
    trigger: Trigger,
    /// The place of the skill, from 1.
    rank: Option<usize>,
    /// The best skill that is another.
    winner: Option<String>,
}

impl Asked {
    /// A query that should lead to the skill must show it; one that should not must not put it first.
    fn passed(&self) -> bool {
        if self.trigger.should { self.rank.is_some_and(|rank| rank <= SHOWN) } else { self.rank != Some(1) }
    }
}

/// Runs the command over a folder.
pub(super) fn run(args: &Eval, json: bool, ui: &mut Ui) -> Result<Outcome, CommandError> {
    let folder = args.folder.as_deref().unwrap_or(Path::new("."));
    let mut incomplete = false;
    let (skills, queries) = read(folder, ui, &mut incomplete)?;
    let among: Vec<&Entry> = skills.iter().map(|skill| &skill.entry).collect();
    let overlap =
        if args.overlap { rivals(&bm25(&skills, args.settings.clone()), &among) } else { Vec::new() };
    let selector = selector(args, &skills)?;
    let options = Options { top_k: Some(DEPTH), ..Options::default() };
    let mut asked = Vec::new();
    for (skill, trigger) in queries {
        let hits = search(&*selector, &Query::text(trigger.query.as_str()), &among, &options)
            .map_err(|error| Failure::new(format!("a query failed: {error}"), "try another selector"))?;
        let rank = hits.iter().position(|hit| hit.key == skill).map(|place| place + 1);
        let winner = hits.into_iter().map(|hit| hit.key).find(|key| *key != skill);
        asked.push(Asked { skill, trigger, rank, winner });
    }
    if json {
        ui.json(&envelope(args, &skills, &asked, &overlap))?;
    } else {
        ui.print(&page(args, &skills, &asked, &overlap))?;
    }
    let passed = asked.iter().all(Asked::passed);
    Ok(if incomplete {
        Outcome::Incomplete
    } else if passed {
        Outcome::Fine
    } else {
        Outcome::Problems
    })
}

/// The skills below a folder, sorted by key, each key once; and the queries they carry.
fn read(folder: &Path, ui: &mut Ui, incomplete: &mut bool) -> Result<(Vec<Skill>, Queries), CommandError> {
    let mut found = scan(folder, &ScanOptions::named());
    if found.skills.is_empty() {
        let nothing = || SourceError::NoSkill { path: folder.to_owned() };
        return Err(found.problems.pop().unwrap_or_else(nothing).into());
    }
    let mut failed = |failure: Failure, ui: &mut Ui| {
        *incomplete = true;
        ui.failure(&failure);
    };
    for problem in &found.problems {
        failed(Failure::from(problem), ui);
    }
    let mut skills: BTreeMap<String, (Skill, Vec<Trigger>)> = BTreeMap::new();
    for place in &found.skills {
        let document = match files::read_skill(&place.path) {
            Ok(head) => head.document(),
            Err(error) => {
                failed(Failure::from(&error), ui);
                continue;
            }
        };
        let Some(entry) = document.skill(&place.origin()) else { continue };
        if skills.contains_key(&entry.key) {
            continue;
        }
        let mut queries = Vec::new();
        for name in TRIGGER_FILES {
            let path = place.folder().join(name);
            if !path.is_file() {
                continue;
            }
            match files::read_small(&path, MAX_TRIGGER_BYTES).map(|bytes| triggers(&bytes)) {
                Ok(Ok(found)) => queries.extend(found),
                Ok(Err(error)) => {
                    let mut failure = Failure::new(
                        format!("these queries are not JSON: {}", super::super::shown(&path)),
                        "write a list of objects with query and should_trigger",
                    );
                    failure.causes.push(error.to_string());
                    failed(failure, ui);
                }
                Err(error) => failed(Failure::from(&error), ui),
            }
        }
        let body = Some(document.body().to_owned());
        skills.insert(entry.key.clone(), (Skill { entry, body }, queries));
    }
    let mut asked = Vec::new();
    let mut list = Vec::new();
    for (key, (skill, queries)) in skills {
        asked.extend(queries.into_iter().map(|trigger| (key.clone(), trigger)));
        list.push(skill);
    }
    Ok((list, asked))
}

/// Pairs of skills that compete: the description of one finds the other nearly as well as itself.
fn rivals(index: &Bm25, among: &[&Entry]) -> Vec<(String, String, f32)> {
    let mut pairs: BTreeMap<(String, String), f32> = BTreeMap::new();
    for entry in among {
        let query = Query::text(entry.description.as_str());
        let hits = index.select(&query, among, SHOWN + 1).unwrap_or_default();
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

/// Passed and asked, for queries that should and for those that should not.
fn tally(asked: &[Asked], should: bool) -> (usize, usize) {
    let of = || asked.iter().filter(|asked| asked.trigger.should == should);
    (of().filter(|asked| asked.passed()).count(), of().count())
}

fn envelope(args: &Eval, skills: &[Skill], asked: &[Asked], overlap: &[(String, String, f32)]) -> Value {
    let (found, should) = tally(asked, true);
    let (spared, should_not) = tally(asked, false);
    let queries: Vec<Value> = asked
        .iter()
        .map(|asked| {
            json!({
                "skill": asked.skill, "query": asked.trigger.query, "should_trigger": asked.trigger.should,
                "passed": asked.passed(), "rank": asked.rank, "winner": asked.winner,
            })
        })
        .collect();
    let mut value = json!({
        "version": VERSION,
        "selector": args.selector.name(),
        "skills": skills.len(),
        "should": { "queries": should, "passed": found },
        "should_not": { "queries": should_not, "passed": spared },
        "queries": queries,
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
    for asked in asked.iter().filter(|asked| !asked.passed()) {
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
    let (found, should) = tally(asked, true);
    let (spared, should_not) = tally(asked, false);
    let first = asked.iter().filter(|asked| asked.trigger.should && asked.rank == Some(1)).count();
    let whole = |part: usize, all: usize| percent(f64::from(u32::try_from(part).unwrap_or(u32::MAX)), all);
    let _ = writeln!(
        text,
        "{}, selector {}\n  should be found: {found} of {should} in the first {SHOWN} ({:.1} %), {first} first\n  \
         should not be first: {spared} of {should_not} are not ({:.1} %)",
        count(skills.len(), "skill"),
        args.selector.name(),
        whole(found, should),
        whole(spared, should_not),
    );
    if asked.is_empty() {
        let _ =
            writeln!(text, "{FAINT}no skill carries queries: put them in evals/eval_queries.json{FAINT:#}");
    }
    text
}
