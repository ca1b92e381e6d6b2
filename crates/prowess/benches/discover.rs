//! What discovering a folder of skills costs beside a bare walk that opens and reads each SKILL.md, in the same run.
//!
//! `cargo bench -p prowess --bench discover -- FOLDER` prints CPU time and ratios; docs/project/performance.md has the
//! commands that make the folders. `-- threads [FOLDER]` prints the time by the clock on one thread and on two, and their
//! ratio; without a folder it makes 10 000 skills of its own.

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::cast_precision_loss,
    reason = "a program that measures and prints"
)]

use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Instant;

use prowess::{DirSource, Registry, ScanOptions};

/// How many skills are made for measuring threads.
const SKILLS: usize = 10_000;
/// How often each number of threads is measured; the best counts.
const ROUNDS: usize = 25;

/// The CPU time of this thread so far, in milliseconds.
fn cpu() -> f64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split_whitespace().next().unwrap().parse::<f64>().unwrap() / 1e6
}

fn peak_megabytes() -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1024.0
}

fn bare_walk(folder: &Path) -> usize {
    let mut bytes = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path().join("SKILL.md");
        bytes += black_box(fs::read(path)).map_or(0, |text| text.len());
    }
    bytes
}

/// The skills of a folder on so many threads, and how long that took by the clock, in milliseconds.
fn discovered(folder: &Path, threads: usize, cache: Option<PathBuf>) -> (Registry, f64) {
    let options = ScanOptions::unbounded().with_threads(Some(threads));
    let start = Instant::now();
    let mut registry = Registry::new();
    registry.add(DirSource::new(folder, options).with_cache(cache));
    registry.refresh().unwrap();
    (registry, start.elapsed().as_secs_f64() * 1e3)
}

fn discover(folder: &Path, cache: Option<PathBuf>) -> usize {
    black_box(discovered(folder, 1, cache).0.catalog()).len()
}

/// The least CPU time of one run, over some rounds of as many runs as the clock needs.
fn best(rounds: usize, runs: usize, mut run: impl FnMut()) -> f64 {
    (0..rounds)
        .map(|_| {
            let start = cpu();
            (0..runs).for_each(|_| run());
            (cpu() - start) / runs as f64
        })
        .fold(f64::MAX, f64::min)
}

fn make_skills(folder: &Path) {
    let body = "Look at the file, then at the one beside it, and say what is different.\n".repeat(54);
    for number in 0..SKILLS {
        let skill = folder.join(format!("skill-{number:05}"));
        fs::create_dir(&skill).unwrap();
        let text = format!(
            "---\nname: skill-{number:05}\ndescription: Compares files of kind {number}. Use before a release.\n\
             license: MIT\nallowed-tools: Bash(git:*) Read\n---\n{body}"
        );
        fs::write(skill.join("SKILL.md"), text).unwrap();
    }
}

/// One thread and two by turns, so that what else the machine does hits both.
fn compare_threads(folder: &Path) {
    let mut least = [f64::MAX; 2];
    let mut count = 0;
    for _ in 0..ROUNDS {
        for (least, threads) in least.iter_mut().zip([1, 2]) {
            let (registry, took) = discovered(folder, threads, None);
            *least = least.min(took);
            count = registry.catalog().len();
        }
    }
    let [one, two] = least;
    println!("{count} skills, no index, the best of {ROUNDS} by the clock");
    println!("1 thread  {one:8.1} ms");
    println!("2 threads {two:8.1} ms, {:4.2} times one", two / one);
}

fn main() {
    let arguments: Vec<String> =
        std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).collect();
    if arguments.first().is_some_and(|first| first == "threads") {
        let made = tempfile::tempdir().unwrap();
        match arguments.get(1) {
            Some(folder) => compare_threads(Path::new(folder)),
            None => {
                make_skills(made.path());
                compare_threads(made.path());
            }
        }
        return;
    }
    let Some(folder) = arguments.first().map(PathBuf::from) else {
        println!("usage: cargo bench -p prowess --bench discover -- FOLDER, or -- threads [FOLDER]");
        return;
    };
    let count = discover(&folder, None);
    println!("{count} skills; peak memory after discovering them: {:.1} MB", peak_megabytes());
    let runs = (20_000 / count.max(1)).max(1);
    let cache = std::env::temp_dir().join(format!("prowess-bench-{}", std::process::id()));
    discover(&folder, Some(cache.clone()));
    let walk = best(9, runs, || _ = black_box(bare_walk(&folder)));
    let cold = best(9, runs, || _ = black_box(discover(&folder, None)));
    let warm = best(9, runs, || _ = black_box(discover(&folder, Some(cache.clone()))));
    let index = fs::metadata(&cache).map_or(0, |file| file.len());
    let _ = fs::remove_file(&cache);
    println!("bare walk     {walk:8.1} ms CPU");
    println!("discover cold {cold:8.1} ms CPU  {:4.2} times the walk", cold / walk);
    println!(
        "discover warm {warm:8.1} ms CPU  {:4.2} times the walk, index of {} KiB",
        warm / walk,
        index / 1024
    );
}
