//! What a search costs at 10 000 and 100 000 skills with bodies, and what the index costs in time and memory.
//!
//! `cargo bench -p prowess --bench select -- [--pool POOL.jsonl --queries QUERIES.jsonl] [--sizes 10000,100000]`.
//! Without a pool, skills and queries are made up. A pool that is smaller than a size is repeated, and in each copy
//! one word in four of each description and body is replaced by one that only this copy has, so that lists grow with
//! the size and the vocabulary does too. Up to 20 000 skills are also laid down as files, to see what reading them and
//! remembering them costs.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::disallowed_methods,
    reason = "a program that measures and prints"
)]

use std::fmt::Write as _;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use prowess::search::{SearchIndex, gather};
use prowess::select::{Bm25, Postings, Settings, Texts};
use prowess::{DirSource, Registry, ScanOptions};
use serde_json::Value;

struct Skill {
    name: String,
    description: String,
    body: String,
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let option = |name: &str| {
        arguments.iter().position(|argument| argument == name).and_then(|at| arguments.get(at + 1))
    };
    let sizes = option("--sizes").map_or("10000,100000", String::as_str).to_owned();
    let (pool, queries) = match (option("--pool"), option("--queries")) {
        (Some(pool), Some(queries)) => (read_pool(pool), read_queries(queries)),
        _ => made_up(),
    };
    for size in sizes.split(',').map(|size| size.parse().unwrap()) {
        measure(&pool, &queries, size);
    }
}

fn lines(path: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn read_pool(path: &str) -> Vec<Skill> {
    let text = |row: &Value, name: &str| row[name].as_str().unwrap_or_default().to_owned();
    let skill = |row: &Value| Skill {
        name: text(row, "name"),
        description: text(row, "description"),
        body: text(row, "body"),
    };
    lines(path).iter().map(skill).collect()
}

fn read_queries(path: &str) -> Vec<String> {
    lines(path).iter().map(|row| row["query"].as_str().unwrap_or_default().to_owned()).collect()
}

/// Words by Zipf's law, so that some are in most skills and most are in few.
fn made_up() -> (Vec<Skill>, Vec<String>) {
    let mut state = 1_u64;
    let mut words = |count: usize| -> String {
        let mut text = String::new();
        for _ in 0..count {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let chance = (state >> 11) as f64 / (1_u64 << 53) as f64;
            let word = (60_000_f64.powf(chance)) as u64;
            let _ = write!(text, "w{}x{word} ", word % 97);
        }
        text
    };
    let skill = |at| Skill { name: format!("skill-{at}"), description: words(30), body: words(450) };
    let pool = (0..5_000).map(skill).collect();
    (pool, (0..500).map(|_| words(14)).collect())
}

/// The skill at a place in the pool, repeated and changed as often as needed.
fn grown(pool: &[Skill], at: usize) -> Skill {
    let (skill, copy) = (&pool[at % pool.len()], at / pool.len());
    let changed = |text: &str| {
        if copy == 0 {
            return text.to_owned();
        }
        let word = |(at, word): (usize, &str)| {
            if (at * 7 + copy).is_multiple_of(4) && word.len() > 3 {
                format!("{word}{copy}")
            } else {
                word.to_owned()
            }
        };
        text.split(' ').enumerate().map(word).collect::<Vec<_>>().join(" ")
    };
    Skill { name: skill.name.clone(), description: changed(&skill.description), body: changed(&skill.body) }
}

fn texts(skill: &Skill) -> Texts<'_> {
    Texts { name: &skill.name, about: vec![&skill.description], body: Some(&skill.body) }
}

/// The postings, and what both threads used of a processor, but for making up the skills.
fn analyse(pool: &[Skill], size: usize) -> (Postings, Duration) {
    let made_up = AtomicU64::new(0);
    let before = process();
    let postings = gather(size, 2, |at, reader| {
        let start = processor();
        let skill = grown(pool, at);
        made_up.fetch_add(processor().saturating_sub(start).as_nanos() as u64, Ordering::Relaxed);
        reader.add(&texts(&skill));
    });
    let made_up = Duration::from_nanos(made_up.into_inner());
    (postings, process().saturating_sub(before).saturating_sub(made_up))
}

/// What the whole process has used of processors.
fn process() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: u64 = fields.skip(11).take(2).filter_map(|number| number.parse::<u64>().ok()).sum();
    Duration::from_millis(ticks * 10)
}

/// What this thread has used of a processor: unlike the clock, it does not count what others use.
fn processor() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(text.split_whitespace().next().and_then(|number| number.parse().ok()).unwrap_or(0))
}

/// Forgets what the process held at most until now.
fn forget_most() {
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// Kilobytes that the process holds now, and held at most.
fn memory() -> (usize, usize) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let number = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).unwrap_or(0)
    };
    (number("VmRSS:"), number("VmHWM:"))
}

fn measure(pool: &[Skill], queries: &[String], size: usize) {
    let keys = || (0..size).map(|at| format!("key-{at:06}")).collect::<Vec<_>>();
    forget_most();
    let (before, _) = memory();
    let start = Instant::now();
    let (postings, used) = analyse(pool, size);
    let analysed = start.elapsed();
    let index = Bm25::new(keys(), postings, Settings::default());
    let (_, most) = memory();
    let (head, shards) = index.postings().to_blocks();
    let stored = head.len() + shards.iter().map(|shard| shard.len()).sum::<usize>();
    let (mut warm, mut warm_used) = (Duration::MAX, Duration::MAX);
    for _ in 0..if size > 20_000 { 1 } else { 9 } {
        let (keys, shards) = (keys(), shards.iter().map(|shard| shard.to_vec()).collect());
        let (start, before) = (Instant::now(), processor());
        let postings = Postings::from_blocks(&head, shards).unwrap();
        black_box(Bm25::new(keys, postings, Settings::default()));
        warm = warm.min(start.elapsed());
        warm_used = warm_used.min(processor().saturating_sub(before));
    }
    println!("{size} skills with bodies; {} queries", queries.len());
    let millis = |time: Duration| time.as_secs_f64() * 1e3;
    println!(
        "  analysed on 2 threads   {:6.0} ms, {:.0} ms of two processors each",
        millis(analysed),
        millis(used) / 2.0
    );
    println!("  index from stored terms {:6.0} ms, {:.0} ms of a processor", millis(warm), millis(warm_used));
    println!("  stored terms            {:6} MB", stored / 1_000_000);
    println!("  index holds             {:6} MB", index.bytes() / 1_000_000);
    println!("  process while building  {:6} MB at most, {} MB before", most / 1_000, before / 1_000);
    // Each query counts with its best of several rounds: other work on the machine is not ours to measure.
    for limit in [5, 50] {
        let mut best = vec![Duration::MAX; queries.len()];
        for _ in 0..7 {
            for (query, best) in queries.iter().zip(&mut best) {
                let start = Instant::now();
                black_box(index.ranking(query, limit, None));
                *best = (*best).min(start.elapsed());
            }
        }
        best.sort_unstable();
        let at = |share: usize| best[(best.len() - 1) * share / 100].as_nanos() as f64 / 1e3;
        println!("  the best {limit:2}: p50 {:6.0} µs, p90 {:6.0} µs, p99 {:6.0} µs", at(50), at(90), at(99));
    }
    let start = Instant::now();
    let hits: usize = queries.iter().map(|query| index.search(query, 5, None).len()).sum();
    println!(
        "  with reasons, mean      {:6.0} µs for {hits} hits",
        start.elapsed().as_secs_f64() * 1e6 / queries.len() as f64
    );
    if size <= 20_000 {
        on_disk(pool, size);
    }
}

/// What the files of skills and a remembered index cost.
fn on_disk(pool: &[Skill], size: usize) {
    let folder = tempfile::tempdir().unwrap();
    for at in 0..size {
        let Skill { name, description, body } = grown(pool, at);
        let (name, description) = (Value::from(format!("{name}-{at}")), Value::from(description));
        let skill = folder.path().join(format!("skills/{at:06}"));
        std::fs::create_dir_all(&skill).unwrap();
        let text = format!("---\nname: {name}\ndescription: {description}\n---\n{body}\n");
        std::fs::write(skill.join("SKILL.md"), text).unwrap();
    }
    let mut registry = Registry::new();
    registry.add(DirSource::new(folder.path().join("skills"), ScanOptions::unbounded()));
    registry.refresh().unwrap();
    let cache = Some(folder.path().join("terms"));
    let millis = |time: Duration| time.as_secs_f64() * 1e3;
    let (start, before) = (Instant::now(), process());
    let found = SearchIndex::open(&registry, cache.clone()).len();
    let (clock, used) = (start.elapsed(), process().saturating_sub(before) / 2);
    println!("  files of {found} skills read, analysed on 2 threads and remembered");
    println!(
        "                          {:6.0} ms, {:.0} ms of two processors each",
        millis(clock),
        millis(used)
    );
    // What changed a moment ago is read again.
    while SearchIndex::open(&registry, cache.clone()).refresh(&registry).analysed > 0 {}
    let (mut clock, mut used) = (Duration::MAX, Duration::MAX);
    for _ in 0..9 {
        let (start, before) = (Instant::now(), processor());
        black_box(SearchIndex::open(&registry, cache.clone()));
        clock = clock.min(start.elapsed());
        used = used.min(processor().saturating_sub(before));
    }
    println!("  index remembered        {:6.0} ms, {:.0} ms of a processor", millis(clock), millis(used));
}
