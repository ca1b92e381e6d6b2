//! What opening a folder and searching costs in Rust, for `benches/python`: the milliseconds and the microseconds of each
//! round, as JSON.
//!
//! `figures FOLDER QUERIES ROUNDS`

#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a program that measures and prints"
)]

use std::hint::black_box;
use std::time::Instant;

use prowess::Skills;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let queries = std::fs::read_to_string(&arguments[2]).unwrap();
    let rounds: usize = arguments[3].parse().unwrap();
    let mut open = Vec::new();
    for _ in 0..rounds {
        let start = Instant::now();
        let skills = Skills::open([&arguments[1]]).unwrap();
        for entry in skills.catalog().list() {
            black_box((&entry.name, &entry.description));
        }
        drop(skills);
        open.push(start.elapsed().as_secs_f64() * 1e3);
    }
    let skills = Skills::open([&arguments[1]]).unwrap();
    black_box(skills.search("warm up").unwrap());
    let mut search = Vec::new();
    for _ in 0..rounds {
        for query in queries.lines() {
            let start = Instant::now();
            black_box(skills.search(query).unwrap());
            search.push(start.elapsed().as_secs_f64() * 1e6);
        }
    }
    println!("{{\"open\": {open:?}, \"search\": {search:?}}}");
}
