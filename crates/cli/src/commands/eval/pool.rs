//! A pool of skills and queries with known answers: writes the ranking of each query, and how good it is.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use prowess::select::{Query, SelectOptions, search};
use prowess::{Entry, Origin, parse};
use serde_json::{Value, json};

use super::super::confined::check_written;
use super::percent;
use super::selectors::{Skill, lines, selector};
use crate::Outcome;
use crate::args::Eval;
use crate::error::{CommandError, Failure};
use crate::report::json::VERSION;
use crate::ui::{Ui, count};

/// How many skills of each ranking are written.
const WRITTEN: usize = 50;

/// Sums over all queries with known answers.
#[derive(Default)]
struct Totals {
    judged: usize,
    first: f64,
    recall: f64,
    reciprocal: f64,
    ndcg: f64,
}

/// Runs the command over a pool.
pub(super) fn run(
    args: &Eval,
    pool: &Path,
    queries: &Path,
    json: bool,
    ui: &mut Ui,
) -> Result<Outcome, CommandError> {
    if let Some(path) = &args.run {
        check_run(path, [Some(pool), Some(queries), args.vectors.as_deref()])?;
    }
    let mut skills: Vec<Skill> = Vec::new();
    let mut known = BTreeSet::new();
    for (number, row) in lines(pool)? {
        let skill = skill(&row, pool, number)?;
        if !known.insert(skill.entry.key.clone()) {
            let error = format!("two skills have one id: {}:{number}: {}", pool.display(), skill.entry.key);
            return Err(Failure::new(error, "give each skill an id of its own").into());
        }
        skills.push(skill);
    }
    let selector = selector(args, &skills)?;
    let mut among: Vec<&Entry> = skills.iter().map(|skill| &skill.entry).collect();
    among.sort_by(|one, other| one.key.cmp(&other.key));
    let options = SelectOptions::default().with_top_k(Some(WRITTEN));
    let mut written = String::new();
    let mut totals = Totals::default();
    let path = queries;
    let queries = lines(path)?;
    for (number, row) in &queries {
        let AskedOfPool { text, relevant } = asked(row, path, *number)?;
        let hits = search(&*selector, &Query::text(text), &among, &options).map_err(|error| {
            Failure::new(format!("the query could not be answered: {error}"), "try another selector")
        })?;
        let ranked: Vec<&str> = hits.iter().map(|hit| hit.key.as_str()).collect();
        let _ = writeln!(written, "{}", json!({ "id": row.get("id"), "ranked": ranked }));
        totals.add(&ranked, &relevant);
    }
    if let Some(path) = &args.run {
        std::fs::write(path, &written).map_err(|error| {
            let what = format!("could not write the rankings: {}", path.display());
            Failure::new(what, "check the folder it should be in").with_cause(error)
        })?;
    }
    let name = args.selector.name();
    if json {
        ui.json(&json!({
            "version": VERSION,
            "selector": name,
            "skills": skills.len(),
            "queries": queries.len(),
            "judged": totals.judged,
            "hit_at_1": percent(totals.first, totals.judged),
            "recall_at_10": percent(totals.recall, totals.judged),
            "mrr": percent(totals.reciprocal, totals.judged),
            "ndcg_at_10": percent(totals.ndcg, totals.judged),
        }))?;
    } else {
        ui.print(&format!(
            "{} over {}, selector {name}: first {:.1} %, in the first ten {:.1} %, MRR {:.1}, nDCG@10 {:.1}\n",
            if queries.len() == 1 { "1 query".to_owned() } else { format!("{} queries", queries.len()) },
            count(skills.len(), "skill"),
            percent(totals.first, totals.judged),
            percent(totals.recall, totals.judged),
            percent(totals.reciprocal, totals.judged),
            percent(totals.ndcg, totals.judged),
        ))?;
    }
    Ok(Outcome::Fine)
}

/// An error if the rankings cannot be written to a file without a loss: it is an input, or has something else than
/// rankings in it.
fn check_run(path: &Path, inputs: [Option<&Path>; 3]) -> Result<(), CommandError> {
    check_written(path)?;
    let Ok(real) = path.canonicalize() else { return Ok(()) };
    let refused = |what: &str| {
        let error = format!("{what}: {}", path.display());
        Err(Failure::new(error, "give --run a new file, or one with rankings; nothing was written").into())
    };
    if inputs.into_iter().flatten().any(|input| input.canonicalize().is_ok_and(|input| input == real)) {
        return refused("the rankings would replace an input");
    }
    // Writing to a FIFO would wait for a reader. A terminal has nothing to lose.
    #[cfg(unix)]
    if real.metadata().is_ok_and(|it| std::os::unix::fs::FileTypeExt::is_fifo(&it.file_type())) {
        return refused("this is a FIFO, not a regular file");
    }
    if !real.is_file() {
        return Ok(());
    }
    let is_ranking = |row: &Value| {
        row.as_object()
            .is_some_and(|row| row.len() == 2 && row.contains_key("id") && row.contains_key("ranked"))
    };
    if lines(path).is_ok_and(|rows| rows.iter().all(|(_, row)| is_ranking(row))) {
        return Ok(());
    }
    refused("the rankings would replace a file of another kind")
}

/// A query, and the ids of the skills that answer it.
struct AskedOfPool<'r> {
    text: &'r str,
    relevant: BTreeSet<&'r str>,
}

fn asked<'r>(row: &'r Value, path: &Path, number: usize) -> Result<AskedOfPool<'r>, Failure> {
    let fault = |what: &str| {
        let error = format!("this is not a query: {}:{number}: {what}", path.display());
        Failure::new(
            error,
            "each line is an object with id, query and, if it is known, relevant: a list of ids",
        )
    };
    let text = row.get("query").and_then(Value::as_str).ok_or_else(|| fault("query is not a string"))?;
    let relevant = match row.get("relevant") {
        None | Some(Value::Null) => Some(BTreeSet::new()),
        Some(given) => given.as_array().and_then(|ids| ids.iter().map(Value::as_str).collect()),
    };
    Ok(AskedOfPool { text, relevant: relevant.ok_or_else(|| fault("relevant is not a list of strings"))? })
}

fn skill(row: &Value, pool: &Path, number: usize) -> Result<Skill, Failure> {
    let text = |name: &str| row.get(name).and_then(Value::as_str);
    let Some(id) = text("id").or_else(|| text("name")) else {
        return Err(Failure::new(
            format!("a skill has no id and no name: {}:{number}", pool.display()),
            "each line is an object with id, name, description and, if there is one, body",
        ));
    };
    let mut entry = parse(b"").entry(&Origin::text(id));
    id.clone_into(&mut entry.key);
    text("name").unwrap_or(id).clone_into(&mut entry.name);
    text("description").unwrap_or_default().clone_into(&mut entry.description);
    entry.client.when_to_use = text("when_to_use").map(str::to_owned);
    let tags = row.get("tags").and_then(Value::as_array).into_iter().flatten();
    entry.tags = tags.filter_map(Value::as_str).map(str::to_owned).collect();
    Ok(Skill { entry, body: text("body").map(str::to_owned) })
}

impl Totals {
    fn add(&mut self, ranked: &[&str], relevant: &BTreeSet<&str>) {
        if relevant.is_empty() {
            return;
        }
        let gain = |place: usize| 1.0 / f64::from(u32::try_from(place + 2).unwrap_or(u32::MAX)).log2();
        let places: Vec<usize> =
            ranked.iter().enumerate().filter(|(_, key)| relevant.contains(**key)).map(|(at, _)| at).collect();
        let ten = || places.iter().filter(|place| **place < 10);
        self.judged += 1;
        self.first += f64::from(u8::from(places.first() == Some(&0)));
        self.recall += percent(ten().map(|_| 1.0).sum(), relevant.len()) / 100.0;
        let first = places.first().and_then(|place| u32::try_from(place + 1).ok());
        self.reciprocal += first.map_or(0.0, |place| 1.0 / f64::from(place));
        let ideal: f64 = (0..relevant.len().min(10)).map(gain).sum();
        self.ndcg += ten().map(|place| gain(*place)).sum::<f64>() / ideal;
    }
}
