//! What discovering a folder of skills costs beside a bare walk that opens and reads each SKILL.md, in the same run.
//!
//! `cargo bench -p prowess --bench discover -- FOLDER` prints CPU time and ratios; docs/performance.md has the
//! commands that make the folders.

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

use prowess::{DirSource, Registry, ScanOptions};

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

fn discover(folder: &Path, cache: Option<PathBuf>) -> usize {
    let mut registry = Registry::new();
    registry.add(DirSource::new(folder, ScanOptions::named()).with_cache(cache));
    registry.refresh().unwrap();
    black_box(registry.catalog()).len()
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

fn main() {
    let Some(folder) =
        std::env::args().skip(1).find(|argument| !argument.starts_with('-')).map(PathBuf::from)
    else {
        println!("usage: cargo bench -p prowess --bench discover -- FOLDER");
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
